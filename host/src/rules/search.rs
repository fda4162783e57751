//! Search: which tools a few words mean.
//!
//! Ranking is BM25 over three fields (name, arguments, description), where a match in a name counts
//! most. A word of the query also matches words that begin with it, that it begins with, that hold
//! it, or that differ by a slip of the pen, each for less than the word itself. No state, no weights
//! that are learnt: the same tools and query always give the same order.

use std::collections::{BTreeMap, BTreeSet};

use super::signature::Brevity;
use crate::words::error::{Code, Error, Issue, Result};
use crate::words::limits::{
    SEARCH_DESCRIPTION_WORDS, SEARCH_HITS, SEARCH_HITS_MAX, SEARCH_QUERY_CHARS, SEARCH_QUERY_WORDS,
    SEARCH_WORD_CHARS,
};

/// A tool as a search sees it.
#[derive(Clone, Debug)]
pub struct Candidate<'a> {
    /// Its full name.
    pub name: &'a str,
    /// What it does.
    pub description: &'a str,
    /// Names of its arguments.
    pub arguments: Vec<&'a str>,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hits<'a> {
    /// Full names, the best first.
    pub names: Vec<&'a str>,
    /// How many others matched, and are not among them.
    pub more: usize,
}

/// How soon repetition of a word stops to count.
const SATURATION: f64 = 1.2;
/// How much a long text counts for less than a short one.
const LENGTH: f64 = 0.5;
/// Weights of name, arguments and description.
const WEIGHTS: [f64; 3] = [5.0, 1.5, 1.0];
/// What begins with the word that was asked for.
const BEGINS: f64 = 0.6;
/// What the word that was asked for begins with, such as `read` for `reading`.
const BEGUN: f64 = 0.4;
/// What is one slip of the pen away.
const SLIPPED: f64 = 0.4;
/// What holds the word that was asked for.
const HOLDS: f64 = 0.3;

/// How a search for tools goes: `[search]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchRules {
    /// Tools that are found where nobody says how many.
    pub results: usize,
    /// The most that anybody may ask for.
    pub results_max: usize,
    /// Characters of a query.
    pub query_chars: usize,
    /// How much is told of each tool, wherever tools are listed.
    pub brevity: Brevity,
}

impl Default for SearchRules {
    fn default() -> Self {
        Self {
            results: SEARCH_HITS,
            results_max: SEARCH_HITS_MAX,
            query_chars: SEARCH_QUERY_CHARS,
            brevity: Brevity::default(),
        }
    }
}

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query<'a> {
    /// In words.
    pub words: &'a str,
    /// How many tools are wanted, if that was said.
    pub limit: Option<u64>,
}

/// Ranks tools by a query (G-25, G-39a). An empty query, or one without any words, lists them in
/// order of name.
///
/// # Errors
/// `BadArgs` for a query of more characters than the rules allow, or a limit out of their bounds.
pub fn search<'a>(
    tools: impl IntoIterator<Item = Candidate<'a>>,
    query: Query<'_>,
    rules: SearchRules,
) -> Result<Hits<'a>> {
    let limit = checked(query, rules)?;
    let query = query.words;
    let mut tools: Vec<Candidate<'a>> = tools.into_iter().collect();
    tools.sort_by(|one, other| one.name.cmp(other.name));
    let asked = asked(query);
    let mut names: Vec<&str> = if asked.is_empty() {
        tools.iter().map(|tool| tool.name).collect()
    } else {
        let index = Index::of(&tools);
        let exact = |name: &str| name.eq_ignore_ascii_case(query.trim());
        let mut scored: Vec<(bool, f64, &str)> = index
            .scores(&asked)
            .into_iter()
            .filter_map(|(place, score)| tools.get(place).map(|tool| (score, tool.name)))
            .map(|(score, name)| (exact(name), score, name))
            .collect();
        // Equal scores stay in order of name.
        scored.sort_by(|one, other| other.0.cmp(&one.0).then(other.1.total_cmp(&one.1)));
        scored.into_iter().map(|(_, _, name)| name).collect()
    };
    let more = names.len().saturating_sub(limit);
    names.truncate(limit);
    Ok(Hits { names, more })
}

fn checked(query: Query<'_>, rules: SearchRules) -> Result<usize> {
    let wrong = |path: &str, message: String| {
        let issue = Issue {
            path: path.to_owned(),
            message: message.clone(),
        };
        Err(Error::new(Code::BadArgs, message).issues(vec![issue]))
    };
    let (chars, most) = (query.words.chars().count(), rules.query_chars);
    if chars > most {
        return wrong(
            "/query",
            format!("`query` has {chars} characters, and at most {most} may be"),
        );
    }
    let most = rules.results_max;
    let Some(asked) = query.limit else {
        return Ok(rules.results.min(most));
    };
    match usize::try_from(asked) {
        Ok(limit) if (1..=most).contains(&limit) => Ok(limit),
        Ok(_) | Err(_) => wrong(
            "/limit",
            format!("`limit` is {asked}, and not between 1 and {most}"),
        ),
    }
}

/// The different words of a query.
fn asked(query: &str) -> BTreeSet<String> {
    let words: BTreeSet<String> = words(query).take(SEARCH_QUERY_WORDS).collect();
    words
}

/// Words in lower case: runs of letters and digits, parted also where `camelCase` begins anew.
fn words(text: &str) -> impl Iterator<Item = String> {
    let runs = text.split(|c: char| !c.is_alphanumeric());
    runs.flat_map(parts).map(|word| {
        let chars = word.chars().flat_map(char::to_lowercase);
        chars.take(SEARCH_WORD_CHARS).collect()
    })
}

/// `getHTTPPage2` is `get`, `HTTP`, `Page2`.
fn parts(run: &str) -> Vec<&str> {
    let chars: Vec<(usize, char)> = run.char_indices().collect();
    let mut parts = Vec::new();
    let mut start = 0;
    for window in chars.windows(2) {
        let [(_, before), (at, c)] = window else {
            continue;
        };
        let next = run
            .get(at + c.len_utf8()..)
            .and_then(|rest| rest.chars().next());
        let begins =
            c.is_uppercase() && (!before.is_uppercase() || next.is_some_and(char::is_lowercase));
        if begins {
            parts.extend(run.get(start..*at));
            start = *at;
        }
    }
    parts.extend(run.get(start..));
    parts.retain(|part| !part.is_empty());
    parts
}

/// How often a word is in the fields of a tool.
type Counts = [f64; 3];

/// Which words are where.
struct Index {
    /// Word → place of a tool → how often in each field.
    places: BTreeMap<String, BTreeMap<usize, Counts>>,
    /// Words of each field of each tool.
    lengths: Vec<Counts>,
    /// And on average, never 0.
    average: Counts,
}

impl Index {
    fn of(tools: &[Candidate<'_>]) -> Self {
        let mut index = Self {
            places: BTreeMap::new(),
            lengths: Vec::with_capacity(tools.len()),
            average: [1.0; 3],
        };
        for (place, tool) in tools.iter().enumerate() {
            let mut length = [0.0; 3];
            let described = words(tool.description).take(SEARCH_DESCRIPTION_WORDS);
            let arguments = tool.arguments.iter().flat_map(|name| words(name));
            let fields: [Vec<String>; 3] = [
                words(tool.name).collect(),
                arguments.collect(),
                described.collect(),
            ];
            for (field, words) in fields.into_iter().enumerate() {
                for word in words {
                    let counts = index.places.entry(word).or_default();
                    let counts = counts.entry(place).or_insert([0.0; 3]);
                    add(counts, field);
                    add(&mut length, field);
                }
            }
            index.lengths.push(length);
        }
        let mut total = [0.0; 3];
        for length in &index.lengths {
            total = sum(total, *length);
        }
        index.average = total.map(|total| (total / float(tools.len())).max(1.0));
        index
    }

    /// The score of each tool that has any of these words, by place.
    fn scores(&self, asked: &BTreeSet<String>) -> BTreeMap<usize, f64> {
        let mut scores = BTreeMap::new();
        for word in asked {
            let mut found: BTreeMap<usize, f64> = BTreeMap::new();
            for (known, places) in &self.places {
                let likeness = likeness(word, known);
                if likeness > 0.0 {
                    for (place, counts) in places {
                        *found.entry(*place).or_insert(0.0) +=
                            likeness * self.weigh(*place, *counts);
                    }
                }
            }
            let rarity = self.rarity(found.len());
            for (place, weight) in found {
                *scores.entry(place).or_insert(0.0) += rarity * weight / (SATURATION + weight);
            }
        }
        scores
    }

    fn weigh(&self, place: usize, counts: Counts) -> f64 {
        let lengths = self.lengths.get(place).copied().unwrap_or([0.0; 3]);
        let fields = counts
            .into_iter()
            .zip(lengths)
            .zip(self.average)
            .zip(WEIGHTS);
        fields
            .map(|(((count, length), average), weight)| {
                weight * count / (1.0 - LENGTH + LENGTH * length / average)
            })
            .sum()
    }

    fn rarity(&self, tools_with: usize) -> f64 {
        let (all, with) = (float(self.lengths.len()), float(tools_with));
        (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
    }
}

fn add(counts: &mut Counts, field: usize) {
    if let Some(count) = counts.get_mut(field) {
        *count += 1.0;
    }
}

fn sum(one: Counts, other: Counts) -> Counts {
    let [a, b, c] = one;
    let [x, y, z] = other;
    [a + x, b + y, c + z]
}

/// A number of tools; there are never more than fit.
fn float(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::from(u32::MAX), f64::from)
}

/// How well a word of a text answers one that was asked for: 1 for itself, 0 for not at all.
fn likeness(asked: &str, known: &str) -> f64 {
    if asked == known {
        return 1.0;
    }
    let (asked_chars, known_chars) = (asked.chars().count(), known.chars().count());
    if asked_chars >= 2 && known.starts_with(asked) {
        return BEGINS;
    }
    if known_chars >= 4 && asked.starts_with(known) {
        return BEGUN;
    }
    // Scripts without spaces have whole sentences for words.
    if (asked_chars >= 4 || !asked.is_ascii()) && known.contains(asked) {
        return HOLDS;
    }
    let slips = match asked_chars.min(known_chars) {
        0..=3 => return 0.0,
        4..=7 => 1,
        _ => 2,
    };
    let near = asked_chars.abs_diff(known_chars) <= slips;
    if near && strsim::osa_distance(asked, known) <= slips {
        SLIPPED
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOLS: [(&str, &str, &[&str]); 8] = [
        ("files.list", "Lists what is in a folder.", &["path"]),
        ("files.read", "Reads a file as text.", &["path", "offset"]),
        (
            "files.search",
            "Finds lines in files.",
            &["pattern", "path"],
        ),
        ("notes.search", "Finds notes by words.", &["query"]),
        ("shop.listPullRequests", "Lists requests.", &["stateFilter"]),
        ("text.csv_to_json", "Reads a table.", &["csv", "header"]),
        (
            "web.get_page",
            "Reads a page of the web as Markdown.",
            &["url"],
        ),
        ("日本.検索", "東京の天気予報を調べる", &[]),
    ];

    fn candidates() -> Vec<Candidate<'static>> {
        let candidate =
            |(name, description, arguments): (&'static str, &'static str, &[&'static str])| {
                Candidate {
                    name,
                    description,
                    arguments: arguments.to_vec(),
                }
            };
        TOOLS.into_iter().map(candidate).collect()
    }

    fn look<'a>(
        tools: impl IntoIterator<Item = Candidate<'a>>,
        words: &str,
        limit: Option<u64>,
    ) -> Result<Hits<'a>> {
        search(tools, Query { words, limit }, SearchRules::default())
    }

    fn found(query: &str) -> Vec<&'static str> {
        look(candidates(), query, Some(25)).unwrap().names
    }

    #[track_caller]
    fn check(query: &str, wanted: &str) {
        assert_eq!(found(query).first(), Some(&wanted), "{query}");
    }

    #[test]
    fn the_tool_that_is_meant_comes_first() {
        check("files.read", "files.read");
        check("read a file", "files.read");
        check("READ FILE", "files.read");
        check("search notes", "notes.search");
        check("grep lines pattern", "files.search");
        check("csv", "text.csv_to_json");
        check("json table", "text.csv_to_json");
        check("pull request", "shop.listPullRequests");
        check("state", "shop.listPullRequests");
        check("url", "web.get_page");
        check("markdwon", "web.get_page");
        check("mark", "web.get_page");
        check("folders", "files.list");
        check("天気", "日本.検索");
        check("検索", "日本.検索");
    }

    #[test]
    fn what_does_not_match_is_not_found() {
        assert_eq!(found("zebra"), [""; 0]);
        assert_eq!(found("a1b2"), [""; 0]);
        let hits = look(candidates(), "zebra", None).unwrap();
        assert_eq!((hits.names.len(), hits.more), (0, 0));
    }

    #[test]
    fn an_empty_query_lists_by_name() {
        let names: Vec<_> = TOOLS.iter().map(|tool| tool.0).collect();
        for query in ["", " \n", "*", "?!"] {
            assert_eq!(found(query), names, "{query}");
        }
        let hits = look(candidates(), "", Some(3)).unwrap();
        assert_eq!((hits.names.as_slice(), hits.more), (&names[..3], 5));
    }

    #[test]
    fn order_does_not_depend_on_the_order_given() {
        for query in ["read", "list files", "search", "finds", "path query"] {
            let mut turned = candidates();
            turned.reverse();
            assert_eq!(look(turned, query, Some(25)).unwrap().names, found(query));
        }
        let alike = ["b.x", "a.x", "c.x"].map(|name| Candidate {
            name,
            description: "Same.",
            arguments: Vec::new(),
        });
        assert_eq!(
            look(alike, "same", None).unwrap().names,
            ["a.x", "b.x", "c.x"]
        );
    }

    #[test]
    fn bounds_are_named() {
        let names: Vec<String> = (0..40).map(|index| format!("p.t{index:02}")).collect();
        let tools = || {
            names.iter().map(|name| Candidate {
                name,
                description: "word",
                arguments: Vec::new(),
            })
        };
        for (limit, wanted) in [(None, 8), (Some(1), 1), (Some(25), 25)] {
            let hits = look(tools(), "word", limit).unwrap();
            assert_eq!((hits.names.len(), hits.more), (wanted, 40 - wanted));
        }
        for limit in [0, 26, u64::MAX] {
            let error = look(tools(), "word", Some(limit)).unwrap_err();
            assert_eq!(error.code(), Code::BadArgs);
            assert!(error.message().ends_with("not between 1 and 25"), "{error}");
            assert_eq!(error.issue_list()[0].path, "/limit");
        }
        assert!(look(tools(), &"é".repeat(512), None).is_ok());
        let error = look(tools(), &"é".repeat(513), None).unwrap_err();
        assert!(
            error.message().contains("513 characters, and at most 512"),
            "{error}"
        );
    }

    #[test]
    fn the_rules_say_what_the_bounds_are() {
        let rules = SearchRules {
            results: 3,
            results_max: 2,
            query_chars: 4,
            ..SearchRules::default()
        };
        let look = |words: &str, limit| {
            let found = search(candidates(), Query { words, limit }, rules);
            found.map(|hits| hits.names.len())
        };
        assert_eq!(look("", None).unwrap(), 2);
        assert_eq!(look("", Some(1)).unwrap(), 1);
        let error = look("", Some(3)).unwrap_err();
        assert!(error.message().ends_with("not between 1 and 2"), "{error}");
        let error = look("fives", None).unwrap_err();
        assert!(error.message().contains("at most 4 may be"), "{error}");
    }

    #[test]
    fn words_are_parted() {
        let parted = |text: &str| words(text).collect::<Vec<_>>().join(" ");
        assert_eq!(parted("files.read_all-now"), "files read all now");
        assert_eq!(parted("getHTTPPage2 listX"), "get http page2 list x");
        assert_eq!(parted("Ünï.ÉCOLE"), "ünï école");
        assert_eq!(parted(&"a".repeat(100)).len(), SEARCH_WORD_CHARS);
    }

    #[test]
    fn a_hostile_catalogue_ends() {
        let long = "word ".repeat(200_000);
        let other: String = (0..50_000).map(|index| format!("w{index:x}q ")).collect();
        let query: String = (0..128).map(|index| format!("w{index:x} ")).collect();
        let tools = (0..500).map(|index| Candidate {
            name: "p.t",
            description: if index % 2 == 0 { &long } else { &other },
            arguments: vec!["word"; 64],
        });
        let query: String = query.chars().take(SEARCH_QUERY_CHARS).collect();
        assert_eq!(look(tools, &query, None).unwrap().names.len(), SEARCH_HITS);
    }
}

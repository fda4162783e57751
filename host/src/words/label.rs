//! Labels: which sources have had influence on a value.
//!
//! A label is a set of sources and only ever grows. When it would pass its bound, the most numerous
//! sort collapses into one source that stands for many (`web:*`), which still counts as that sort
//! (design §5).

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::error::Error;
use super::limits::LABEL_SOURCES;

/// A kind of source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Sort {
    /// Whoever runs the host.
    Operator,
    /// Whoever talks to the agent.
    User,
    /// A tool's own code.
    Tool,
    /// An origin on the network.
    Web,
    /// Files of a mount.
    File,
    /// A note that was kept.
    Note,
    /// An MCP server.
    Mcp,
    /// A secret.
    Secret,
    /// A scalar out of a handle, and what that was made of.
    Scalar,
}

impl Sort {
    const ALL: [(Self, &'static str); 9] = [
        (Self::Operator, "operator"),
        (Self::User, "user"),
        (Self::Tool, "tool"),
        (Self::Web, "web"),
        (Self::File, "file"),
        (Self::Note, "note"),
        (Self::Mcp, "mcp"),
        (Self::Secret, "secret"),
        (Self::Scalar, "scalar"),
    ];

    /// Its word, as in the text of a source.
    #[must_use]
    pub fn word(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(sort, _)| *sort == self)
            .map_or("", |(_, word)| word)
    }
}

/// Where influence comes from: a sort, and which one of it (`*` for many).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Source {
    sort: Sort,
    name: Arc<str>,
}

impl Source {
    /// `sort` and the name within it; empty for `operator` and `user`.
    #[must_use]
    pub fn new(sort: Sort, name: &str) -> Self {
        Self {
            sort,
            name: name.into(),
        }
    }

    /// The person who talks to the agent.
    #[must_use]
    pub fn user() -> Self {
        Self::new(Sort::User, "")
    }

    /// Which one of its sort; empty for `operator` and `user`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it stands for more than one.
    #[must_use]
    pub fn is_many(&self) -> bool {
        &*self.name == "*"
    }

    /// A run that was imported from elsewhere. No mount has a name with a `/`.
    #[must_use]
    pub fn imported() -> Self {
        Self::new(Sort::File, "/import")
    }

    /// What came through a pipe; nobody knows who wrote it.
    #[must_use]
    pub fn piped() -> Self {
        Self::new(Sort::File, "/dev/stdin")
    }

    /// What a client sent of which nobody says that a person typed it: as little is known of who wrote it as of a pipe's.
    #[must_use]
    pub fn client() -> Self {
        Self::new(Sort::File, "/client")
    }

    /// A file that the user named, and that lies in no mount.
    #[must_use]
    pub fn attached() -> Self {
        Self::new(Sort::File, "/attached")
    }

    /// What another workspace that stored a label does not trust, or shows to fewer than this one.
    #[must_use]
    pub fn of_another_workspace() -> Self {
        Self::new(Sort::File, "/workspace")
    }

    /// What is secret in another workspace that stored a label.
    #[must_use]
    pub fn secret_of_another_workspace() -> Self {
        Self::new(Sort::Secret, "/workspace")
    }

    /// The source as a person is told of it: what stands on record for a pipe is told as what it is.
    #[must_use]
    pub fn told(&self) -> String {
        match (self.sort, &*self.name) {
            (Sort::File, "/dev/stdin") => "a client or a pipe (nobody typed it here)".to_owned(),
            (Sort::File, "/client") => "a client (nobody typed it here)".to_owned(),
            (Sort::File, "/attached") => "a file that lies in no mount".to_owned(),
            (Sort::File, "/import") => "an imported run".to_owned(),
            (Sort::File, "/workspace") => "what another workspace does not trust".to_owned(),
            (Sort::Secret, "/workspace") => "a secret of another workspace".to_owned(),
            _ => self.to_string(),
        }
    }

    /// What a scalar brings along that was taken out of a handle: who may read it, and not who had influence on it.
    #[must_use]
    pub fn of_scalar(&self) -> Self {
        match self.sort {
            // They come with every wish; and what stays of a scalar stays.
            Sort::Operator | Sort::User | Sort::Scalar => self.clone(),
            Sort::Tool | Sort::Web | Sort::File | Sort::Note | Sort::Mcp | Sort::Secret => {
                Self::new(Sort::Scalar, &self.to_string())
            }
        }
    }

    /// What stands for it and others of its sort, where these are too many. What was taken from a secret stays that, or
    /// among scalars of all kinds nobody would know any more that one of them is.
    fn among_many(&self) -> Self {
        match self.behind_scalar() {
            Some(behind) if behind.sort == Sort::Secret => Self::new(Sort::Secret, "*").of_scalar(),
            Some(_) | None => Self::new(self.sort, "*"),
        }
    }

    /// What a scalar was taken from; nothing for any other source, and for one that stands for many.
    #[must_use]
    pub fn behind_scalar(&self) -> Option<Self> {
        match self.sort {
            Sort::Scalar => Self::try_from(self.name.to_string()).ok(),
            Sort::Operator
            | Sort::User
            | Sort::Tool
            | Sort::Web
            | Sort::File
            | Sort::Note
            | Sort::Mcp
            | Sort::Secret => None,
        }
    }

    /// Its sort.
    #[must_use]
    pub fn sort(&self) -> Sort {
        self.sort
    }
}

impl fmt::Display for Source {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.sort.word())?;
        if self.name.is_empty() {
            Ok(())
        } else {
            write!(out, ":{}", self.name)
        }
    }
}

impl TryFrom<String> for Source {
    type Error = Error;
    fn try_from(text: String) -> Result<Self, Error> {
        let (word, name) = text.split_once(':').unwrap_or((&text, ""));
        Sort::ALL
            .iter()
            .find(|(_, known)| *known == word)
            .map(|(sort, _)| Self::new(*sort, name))
            .ok_or_else(|| Error::bad_input("a source begins with a known sort"))
    }
}

impl From<Source> for String {
    fn from(source: Source) -> Self {
        source.to_string()
    }
}

/// A set of sources. Cheap to clone; joining is the only way to combine.
///
/// ```
/// use lazaret::words::label::{Label, Sort, Source};
///
/// let typed = Label::of(Source::user());
/// let page = Label::of(Source::new(Sort::Web, "https://example.com"));
/// let both = typed.join(&page);
/// assert!(both.covers(&typed) && both.covers(&page) && !typed.covers(&page));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "BTreeSet<Source>", into = "BTreeSet<Source>")]
pub struct Label(Arc<BTreeSet<Source>>);

impl From<BTreeSet<Source>> for Label {
    fn from(sources: BTreeSet<Source>) -> Self {
        Self(Arc::new(sources))
    }
}

impl From<Label> for BTreeSet<Source> {
    fn from(label: Label) -> Self {
        Arc::unwrap_or_clone(label.0)
    }
}

impl Label {
    /// Whether nobody had influence: what has it is the host's own.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Of one source.
    #[must_use]
    pub fn of(source: Source) -> Self {
        Self(Arc::new(BTreeSet::from([source])))
    }

    /// Everything that influenced either.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        if Arc::ptr_eq(&self.0, &other.0) || other.0.is_subset(&self.0) {
            return self.clone();
        }
        if self.0.is_subset(&other.0) {
            return other.clone();
        }
        let mut all: BTreeSet<Source> = self.0.union(&other.0).cloned().collect();
        while all.len() > LABEL_SOURCES {
            collapse_largest(&mut all);
        }
        Self(Arc::new(all))
    }

    /// The sources that `other` has not.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        let new = self
            .0
            .iter()
            .filter(|source| !other.covers(&Self::of((*source).clone())));
        Self(Arc::new(new.cloned().collect()))
    }

    /// What stays of it with a scalar that is taken out of a handle.
    #[must_use]
    pub fn of_scalar(&self) -> Self {
        let kept = self.0.iter().map(Source::of_scalar);
        kept.fold(Self::default(), |label, source| label.with(source))
    }

    /// Adds a source.
    #[must_use]
    pub fn with(&self, source: Source) -> Self {
        if self.0.contains(&source) {
            self.clone()
        } else {
            self.join(&Self::of(source))
        }
    }

    /// The sources in order.
    pub fn sources(&self) -> impl Iterator<Item = &Source> {
        self.0.iter()
    }

    /// The sources, as a person is told of them.
    #[must_use]
    pub fn told(&self) -> String {
        let told: Vec<String> = self.sources().map(Source::told).collect();
        told.join(", ")
    }

    /// Whether nobody but the user and the operator had influence.
    #[must_use]
    pub fn is_ones_own(&self) -> bool {
        let mut sources = self.sources();
        sources.all(|source| matches!(source.sort, Sort::User | Sort::Operator))
    }

    /// Whether every source of `other` is in here, by itself or in a collapsed sort.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        other
            .0
            .iter()
            .all(|source| self.0.contains(source) || self.0.contains(&source.among_many()))
    }
}

/// Replaces all sources of the most numerous sort by one that stands for many; what was taken from secrets by another one.
fn collapse_largest(all: &mut BTreeSet<Source>) {
    let count = |sort: Sort| all.iter().filter(|source| source.sort == sort).count();
    let largest = Sort::ALL
        .iter()
        .map(|(sort, _)| *sort)
        .max_by_key(|sort| count(*sort));
    if let Some(sort) = largest {
        let of_sort = all.iter().filter(|source| source.sort == sort);
        let many: BTreeSet<Source> = of_sort.map(Source::among_many).collect();
        all.retain(|source| source.sort != sort);
        all.extend(many);
    }
}

impl fmt::Display for Label {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, source) in self.0.iter().enumerate() {
            write!(out, "{}{source}", if place == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn web(number: u32) -> Label {
        Label::of(Source::new(Sort::Web, &format!("https://h{number}.test")))
    }

    #[test]
    fn many_sources_collapse_by_sort() {
        let mut label = Label::of(Source::user());
        for number in 0..10_000 {
            label = label.join(&web(number));
        }
        assert!(label.sources().count() <= LABEL_SOURCES);
        assert!(label.covers(&web(77)), "{label}");
        assert!(label.covers(&Label::of(Source::user())));
    }

    /// Many scalars are private and no more, so that one of a secret would be free to leave among them.
    #[test]
    fn a_secret_stays_one_among_however_many_scalars() {
        let secret = |name: &str| Label::of(Source::new(Sort::Secret, name)).of_scalar();
        let with_many = |label: Label| {
            let numbers = 0..1_000;
            numbers.fold(label, |all, number| all.join(&web(number).of_scalar()))
        };
        let (pin, key) = (secret("safe.pin"), secret("safe.key"));
        assert_eq!(
            (pin.to_string(), pin.of_scalar()),
            ("scalar:secret:safe.pin".to_owned(), pin.clone())
        );
        let (plain, label) = (with_many(Label::default()), with_many(pin.clone()));
        assert!(label.sources().count() <= LABEL_SOURCES);
        assert!(label.to_string().contains("scalar:secret:*"), "{label}");
        assert!(
            label.covers(&pin) && label.covers(&web(7).of_scalar()),
            "{label}"
        );
        assert_eq!(key.without(&label), Label::default());
        assert!(
            plain.covers(&web(7).of_scalar()) && !plain.covers(&pin),
            "{plain}"
        );
    }

    #[test]
    fn what_came_through_a_pipe_is_told_as_that() {
        for (source, told) in [
            (Source::piped(), "a client or a pipe (nobody typed it here)"),
            (Source::client(), "a client (nobody typed it here)"),
            (Source::attached(), "a file that lies in no mount"),
            (Source::imported(), "an imported run"),
            (Source::new(Sort::File, "docs"), "file:docs"),
            (Source::new(Sort::Web, "/dev/stdin"), "web:/dev/stdin"),
        ] {
            assert_eq!(source.told(), told);
        }
    }

    #[test]
    fn labels_round_trip_as_text() {
        let label = web(1)
            .with(Source::user())
            .with(Source::new(Sort::File, "docs"));
        let text = serde_json::to_string(&label).unwrap();
        assert_eq!(text, r#"["user","web:https://h1.test","file:docs"]"#);
        assert_eq!(serde_json::from_str::<Label>(&text).unwrap(), label);
    }

    /// Of any sort, and scalars that were taken out of any.
    fn any_source() -> impl Strategy<Value = Source> {
        let sorts: Vec<Sort> = Sort::ALL.iter().map(|(sort, _)| *sort).collect();
        let any = (prop::sample::select(sorts), 0u32..400, any::<bool>());
        any.prop_map(|(sort, number, is_scalar)| {
            let source = Source::new(sort, &format!("n{number}"));
            match is_scalar {
                true => source.of_scalar(),
                false => source,
            }
        })
    }

    /// More than a label names, so that some collapse.
    fn any_label() -> impl Strategy<Value = Label> {
        let sources = prop::collection::vec(any_source(), 0..2 * LABEL_SOURCES);
        sources.prop_map(|sources| {
            sources
                .into_iter()
                .fold(Label::default(), |label, one| label.with(one))
        })
    }

    fn knows_a_secret(label: &Label) -> bool {
        label.sources().any(|source| {
            let behind = source.behind_scalar().unwrap_or_else(|| source.clone());
            behind.sort() == Sort::Secret
        })
    }

    proptest! {
        #[test]
        fn a_label_never_shrinks(a in any_label(), b in any_label()) {
            for joined in [a.join(&b), b.join(&a)] {
                prop_assert!(joined.covers(&a) && joined.covers(&b));
                prop_assert!(joined.sources().count() <= LABEL_SOURCES);
                let knows = knows_a_secret(&a) || knows_a_secret(&b);
                prop_assert_eq!(knows_a_secret(&joined), knows);
                prop_assert_eq!(knows_a_secret(&joined.of_scalar()), knows);
            }
        }
    }
}

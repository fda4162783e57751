//! What stands between the brackets of `#[tool(…)]`, as the fields of a manifest.
//!
//! The options become one JSON object at compile time; so a plugin carries them as one constant
//! text, and what the host would refuse is refused here already, with the line to change.

use serde_json::{Map, Value};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Ident, LitBool, LitInt, LitStr, Result, Token, bracketed, parenthesized};

const KEYS: &str = "`name`, `effect`, `risk`, `hosts`, `mounts`, `notes`, `calls`, `secrets`, \
    `sensitivity`, `surfaces`, `visibility`, `timeout_ms`, `retry`, `idempotent`, `sequential`, \
    `needs_approval`, `requires_confirmation`, `at_once`, `deprecated`, `deferred`, `truncation`, `tier`, `steers`, `content`, `naming`, `new` and `example`";
const EXAMPLES_MAX: usize = 5;
const TIMEOUT_MS_MAX: u64 = 600_000;
const RETRIES_MAX: u64 = 5;
const AT_ONCE_MAX: u64 = 1_000_000;
const RETRY_DELAY_MS_MAX: u64 = 60_000;

/// The words that a key allows, or nothing if the key does not hold one word.
fn words_of(key: &str) -> Option<&'static [&'static str]> {
    Some(match key {
        "effect" => &[
            "pure",
            "read-only",
            "side-effecting",
            "external-stateful",
            "destructive",
        ],
        "risk" => &[
            "read_only",
            "network_read",
            "data_exfiltration_risk",
            "external_write",
            "high_risk",
        ],
        "mounts" | "notes" => &["none", "read", "write"],
        "sensitivity" => &["public", "internal", "secret"],
        "visibility" => &["public", "local", "private", "user"],
        "truncation" => &["middle", "tail", "head", "head-tail", "spill", "summarise"],
        "tier" => &["fast", "balanced", "smart"],
        _ => return None,
    })
}

const KINDS: &[&str] = &[
    "mail", "account", "address", "url", "file", "user", "name", "id", "value",
];

const SURFACES: &[&str] = &["cli", "json", "http", "mcp", "react", "dev", "ai-sdk"];

/// The example arguments as written, for the checks that need the parameters.
pub(crate) struct Example {
    pub(crate) args: Map<String, Value>,
    pub(crate) literal: LitStr,
}

/// Everything that stands between the brackets.
pub(crate) struct Options {
    /// The tool's name, if it is not the function's.
    pub(crate) name: Option<LitStr>,
    /// The manifest's fields.
    pub(crate) settings: Map<String, Value>,
    pub(crate) examples: Vec<Example>,
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut options = Self {
            name: None,
            settings: Map::new(),
            examples: Vec::new(),
        };
        while !input.is_empty() {
            options.read_one(input)?;
            if input.is_empty() {
                break;
            }
            input.parse::<Token![,]>()?;
        }
        Ok(options)
    }
}

impl Options {
    fn read_one(&mut self, input: ParseStream<'_>) -> Result<()> {
        let key: Ident = input.parse()?;
        let word = key.to_string();
        let twice = self.settings.contains_key(&word) || (word == "name" && self.name.is_some());
        if twice {
            return Err(Error::new(
                key.span(),
                format!("`{word}` is given twice: keep one"),
            ));
        }
        let value = match word.as_str() {
            "name" => {
                let name = text(input, &word)?;
                check_tool_name(&name)?;
                self.name = Some(name);
                return Ok(());
            }
            "example" => return self.read_example(input, &key),
            "steers" | "content" | "naming" | "new" => return self.read_flow(input, &word),
            "retry" => retry(input)?,
            "timeout_ms" => {
                equals(input, &word, "30000")?;
                number(input, 1, TIMEOUT_MS_MAX)?.into()
            }
            "idempotent"
            | "sequential"
            | "needs_approval"
            | "requires_confirmation"
            | "deferred" => switch(input)?,
            "at_once" => {
                equals(input, &word, "2")?;
                number(input, 1, AT_ONCE_MAX)?.into()
            }
            "deprecated" => text(input, &word)?.value().into(),
            "hosts" => list(
                input,
                &word,
                r#"["GET https://api.example.com/v1"]"#,
                check_host,
            )?,
            "calls" => list(input, &word, r#"["text.count"]"#, check_call)?,
            "secrets" => list(input, &word, r#"["api-token"]"#, check_secret)?,
            "surfaces" => list(input, &word, r#"["cli", "mcp"]"#, check_surface)?,
            _ => match words_of(&word) {
                Some(words) => {
                    let value = text(input, &word)?;
                    check_word(&value, &format!("`{word}`"), words)?;
                    value.value().into()
                }
                None => return Err(unknown_key(&key)),
            },
        };
        self.settings.insert(word, value);
        Ok(())
    }

    /// Which arguments steer, which are content, and which one names what is made.
    fn read_flow(&mut self, input: ParseStream<'_>, word: &str) -> Result<()> {
        let (field, value) = match word {
            "steers" => (
                "steering",
                texts(input, r#"write `steers(path = "file")`"#, is_kind)?,
            ),
            "content" => ("content", list(input, word, r#"["text"]"#, |_| Ok(()))?),
            "new" => (
                "new",
                texts(input, r#"write `new(mode = "create")`"#, |_| Ok(()))?,
            ),
            _ => ("naming", text(input, word)?.value().into()),
        };
        let flow = self
            .settings
            .entry("flow")
            .or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(flow) = flow
            && flow.insert(field.to_owned(), value).is_some()
        {
            return Err(input.error(format!("`{word}` is given twice: keep one")));
        }
        Ok(())
    }

    fn read_example(&mut self, input: ParseStream<'_>, key: &Ident) -> Result<()> {
        const SHAPE: &str = r##"write `example(title = "…", args = r#"{"name": "value"}"#)`"##;
        if self.examples.len() == EXAMPLES_MAX {
            return Err(Error::new(
                key.span(),
                format!("a tool has at most {EXAMPLES_MAX} examples: remove some"),
            ));
        }
        if !input.peek(syn::token::Paren) {
            return Err(Error::new(key.span(), SHAPE));
        }
        let content;
        parenthesized!(content in input);
        let (mut title, mut args) = (None, None);
        while !content.is_empty() {
            let part: Ident = content.parse()?;
            match part.to_string().as_str() {
                "title" => title = Some(text(&content, "title")?),
                "args" => args = Some(text(&content, "args")?),
                _ => return Err(Error::new(part.span(), SHAPE)),
            }
            if !content.is_empty() {
                content.parse::<Token![,]>()?;
            }
        }
        let (Some(title), Some(literal)) = (title, args) else {
            return Err(Error::new(key.span(), SHAPE));
        };
        let args = match serde_json::from_str(&literal.value()) {
            Ok(Value::Object(args)) => args,
            Ok(_) => {
                let wrong =
                    "the `args` of an example are a JSON object, such as `{\"name\": \"value\"}`";
                return Err(Error::new(literal.span(), wrong));
            }
            Err(error) => {
                let wrong = format!("the `args` of an example are JSON, but this is not: {error}");
                return Err(Error::new(literal.span(), wrong));
            }
        };
        let example = serde_json::json!({ "title": title.value(), "args": args.clone() });
        match self.settings.get_mut("examples") {
            Some(Value::Array(all)) => all.push(example),
            _ => {
                self.settings
                    .insert("examples".to_owned(), Value::Array(vec![example]));
            }
        }
        self.examples.push(Example { args, literal });
        Ok(())
    }
}

fn unknown_key(key: &Ident) -> Error {
    Error::new(
        key.span(),
        format!("there is no option `{key}`: there are {KEYS}"),
    )
}

fn equals(input: ParseStream<'_>, key: &str, sample: &str) -> Result<()> {
    if input.peek(Token![=]) {
        input.parse::<Token![=]>()?;
        return Ok(());
    }
    Err(input.error(format!("write `{key} = {sample}`")))
}

fn text(input: ParseStream<'_>, key: &str) -> Result<LitStr> {
    equals(input, key, "\"…\"")?;
    input.parse().map_err(|error: Error| {
        Error::new(
            error.span(),
            format!("`{key}` is a text: write `{key} = \"…\"`"),
        )
    })
}

fn number(input: ParseStream<'_>, min: u64, max: u64) -> Result<u64> {
    let wrong = format!("write a number from {min} to {max}");
    let literal: LitInt = input
        .parse()
        .map_err(|error: Error| Error::new(error.span(), &wrong))?;
    match literal.base10_parse::<u64>() {
        Ok(number) if (min..=max).contains(&number) => Ok(number),
        _ => Err(Error::new(literal.span(), wrong)),
    }
}

fn switch(input: ParseStream<'_>) -> Result<Value> {
    if !input.peek(Token![=]) {
        return Ok(Value::Bool(true));
    }
    input.parse::<Token![=]>()?;
    Ok(Value::Bool(input.parse::<LitBool>()?.value))
}

/// `path = "file", target = "file"`: arguments, and the kind of their values.
/// A text for each of some arguments.
fn texts(
    input: ParseStream<'_>,
    shape: &str,
    check: impl Fn(&LitStr) -> Result<()>,
) -> Result<Value> {
    if !input.peek(syn::token::Paren) {
        return Err(input.error(shape));
    }
    let inside;
    parenthesized!(inside in input);
    let mut texts = Map::new();
    while !inside.is_empty() {
        let argument: Ident = inside.parse()?;
        inside.parse::<Token![=]>()?;
        let text: LitStr = inside.parse()?;
        check(&text)?;
        texts.insert(argument.to_string(), text.value().into());
        if !inside.is_empty() {
            inside.parse::<Token![,]>()?;
        }
    }
    Ok(Value::Object(texts))
}

fn is_kind(kind: &LitStr) -> Result<()> {
    check_word(kind, "a kind", KINDS)
}

fn retry(input: ParseStream<'_>) -> Result<Value> {
    const SHAPE: &str = "write `retry(retries = 2, delay_ms = 500)`";
    if !input.peek(syn::token::Paren) {
        return Err(input.error(SHAPE));
    }
    let content;
    parenthesized!(content in input);
    let mut fields = Map::new();
    while !content.is_empty() {
        let part: Ident = content.parse()?;
        let max = match part.to_string().as_str() {
            "retries" => Some(RETRIES_MAX),
            "delay_ms" => Some(RETRY_DELAY_MS_MAX),
            "backoff" => None,
            _ => return Err(Error::new(part.span(), SHAPE)),
        };
        content.parse::<Token![=]>()?;
        let value = match max {
            Some(max) => number(&content, 0, max)?.into(),
            None => {
                let word: LitStr = content.parse()?;
                check_word(&word, "a way for waits to grow", &["linear", "exponential"])?;
                word.value().into()
            }
        };
        fields.insert(part.to_string(), value);
        if !content.is_empty() {
            content.parse::<Token![,]>()?;
        }
    }
    if ["retries", "delay_ms"]
        .iter()
        .all(|key| fields.contains_key(*key))
    {
        Ok(Value::Object(fields))
    } else {
        Err(content.error(SHAPE))
    }
}

fn list(
    input: ParseStream<'_>,
    key: &str,
    sample: &str,
    check: fn(&LitStr) -> Result<()>,
) -> Result<Value> {
    equals(input, key, sample)?;
    if !input.peek(syn::token::Bracket) {
        return Err(input.error(format!("`{key}` is a list: write `{key} = {sample}`")));
    }
    let content;
    bracketed!(content in input);
    let items = Punctuated::<LitStr, Token![,]>::parse_terminated(&content)?;
    items
        .iter()
        .map(|item| check(item).map(|()| Value::from(item.value())))
        .collect()
}

fn check_word(word: &LitStr, what: &str, words: &[&str]) -> Result<()> {
    let value = word.value();
    if words.contains(&value.as_str()) {
        return Ok(());
    }
    let all: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    let wrong = format!("{what} is one of {}", all.join(", "));
    Err(Error::new(word.span(), wrong))
}

fn check_surface(surface: &LitStr) -> Result<()> {
    check_word(surface, "a surface", SURFACES)
}

fn check_secret(name: &LitStr) -> Result<()> {
    let value = name.value();
    let sound = value.len() <= 64
        && value.starts_with(|first: char| first.is_ascii_lowercase())
        && value
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_'));
    if sound {
        return Ok(());
    }
    Err(Error::new(
        name.span(),
        "write the name of a secret, such as \"github\", never its value",
    ))
}

fn check_host(host: &LitStr) -> Result<()> {
    let value = host.value();
    let sound = value.split_once(' ').is_some_and(|(method, url)| {
        let rest = url
            .strip_prefix("https://")
            .or_else(|| url.strip_prefix("http://"));
        let named = rest.is_some_and(|rest| {
            !rest.is_empty() && !rest.starts_with('/') && !rest.contains([' ', '@', '*', '?', '#'])
        });
        !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase()) && named
    });
    if sound {
        return Ok(());
    }
    let wrong = "write a method in capitals and the start of a URL without `*`, user name or \
        query, such as \"GET https://api.example.com/v1\"";
    Err(Error::new(host.span(), wrong))
}

fn check_call(call: &LitStr) -> Result<()> {
    let value = call.value();
    let name = value.strip_suffix('*').unwrap_or(&value);
    let sound = !value.is_empty()
        && name.split('.').count() <= 2
        && (value.ends_with('*') || name.contains('.'))
        && name.bytes().all(|byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-_".contains(&byte)
        });
    if sound {
        return Ok(());
    }
    let wrong = "write a tool's full name, such as \"text.count\", or the start of one and `*`";
    Err(Error::new(call.span(), wrong))
}

/// Refuses what the host would not take as a tool's name.
pub(crate) fn check_tool_name(name: &LitStr) -> Result<()> {
    let value = name.value();
    let sound = (1..=64).contains(&value.len())
        && value
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    if sound {
        return Ok(());
    }
    let wrong = "a tool's name is 1 to 64 of `a-z`, `0-9` and `_`: write another after `name =`";
    Err(Error::new(name.span(), wrong))
}

//! The TypeScript that signatures are printed in, read back into JSON Schemas.
//!
//! Only what is printed is read, and everything else is an error, so that a signature that parses
//! here is one that was meant.

use serde_json::{Map, Value, json};

/// What a type of an object without `[key: string]` says of other fields. TypeScript has both: a
/// literal may not have them, a value may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// There may be others.
    Open,
    /// There are none.
    Closed,
}

/// A method of a declaration.
#[derive(Clone, Debug, PartialEq)]
pub struct Method {
    /// Whose it is.
    pub plugin: String,
    /// Its name.
    pub name: String,
    /// Schema of its arguments.
    pub input: Value,
    /// Schema of what it promises.
    pub output: Value,
}

/// Reads `interface Tools { … } declare const tools: Tools;`.
///
/// # Errors
/// What was expected, and the text that was found there.
pub fn declaration(text: &str, reading: Reading) -> Result<Vec<Method>, String> {
    let mut parser = Parser {
        rest: text,
        reading,
    };
    let mut methods = Vec::new();
    parser.expect("interface")?;
    parser.expect("Tools")?;
    parser.expect("{")?;
    while !parser.takes("}") {
        let plugin = parser.key()?;
        parser.expect(":")?;
        parser.expect("{")?;
        while !parser.takes("}") {
            methods.push(parser.method(&plugin)?);
        }
        parser.expect(";")?;
    }
    for word in ["declare", "const", "tools", ":", "Tools", ";"] {
        parser.expect(word)?;
    }
    parser.skip();
    if parser.rest.is_empty() {
        Ok(methods)
    } else {
        Err(parser.wrong("the end"))
    }
}

/// A function of a declaration.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// The types of its parameters, with `?` or `...` before those that may be missing.
    pub takes: Vec<String>,
    /// What it returns.
    pub returns: String,
}

/// Reads `interface Handle { … }` and the functions after it, in which no other type is named.
///
/// # Errors
/// What was expected, and the text that was found there.
pub fn functions(text: &str) -> Result<Vec<Function>, String> {
    let mut parser = Parser {
        rest: text,
        reading: Reading::Closed,
    };
    for sign in [
        "interface",
        "Handle",
        "{",
        "$handle",
        ":",
        "string",
        ";",
        "}",
    ] {
        parser.expect(sign)?;
    }
    let mut functions = Vec::new();
    while parser.takes("declare") {
        parser.expect("function")?;
        let name = parser.key()?;
        let takes = parser.parameters()?;
        parser.expect(":")?;
        let returns = parser.plain()?;
        parser.expect(";")?;
        functions.push(Function {
            name,
            takes,
            returns,
        });
    }
    parser.skip();
    if parser.rest.is_empty() {
        Ok(functions)
    } else {
        Err(parser.wrong("the end"))
    }
}

struct Parser<'a> {
    rest: &'a str,
    reading: Reading,
}

type Parsed<T> = Result<T, String>;

impl Parser<'_> {
    fn wrong(&self, wanted: &str) -> String {
        let found: String = self.rest.chars().take(60).collect();
        format!("expected {wanted}, found `{found}`")
    }

    /// Passes over white space and comments.
    fn skip(&mut self) {
        loop {
            self.rest = self.rest.trim_start();
            let Some(comment) = self.rest.strip_prefix("/*") else {
                return;
            };
            self.rest = comment.split_once("*/").map_or("", |(_, rest)| rest);
        }
    }

    fn takes(&mut self, sign: &str) -> bool {
        self.skip();
        let rest = self.rest.strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, sign: &str) -> Parsed<()> {
        if self.takes(sign) {
            Ok(())
        } else {
            Err(self.wrong(sign))
        }
    }

    fn method(&mut self, plugin: &str) -> Parsed<Method> {
        self.skip();
        if self.rest.starts_with("new") {
            return Err(self.wrong("a method, and no constructor"));
        }
        let name = self.key()?;
        for sign in ["(", "args", ":"] {
            self.expect(sign)?;
        }
        let input = self.union()?;
        for sign in [")", ":", "Promise", "<"] {
            self.expect(sign)?;
        }
        let output = self.union()?;
        self.expect(">")?;
        self.expect(";")?;
        Ok(Method {
            plugin: plugin.to_owned(),
            name,
            input,
            output,
        })
    }

    fn parameters(&mut self) -> Parsed<Vec<String>> {
        let mut types = Vec::new();
        self.expect("(")?;
        while !self.takes(")") {
            let rest = if self.takes("...") { "..." } else { "" };
            self.key()?;
            let may = if self.takes("?") { "?" } else { "" };
            self.expect(":")?;
            types.push(format!("{rest}{may}{}", self.plain()?));
            if !self.takes(",") {
                self.expect(")")?;
                break;
            }
        }
        Ok(types)
    }

    /// A type of a parameter, as it is printed.
    fn plain(&mut self) -> Parsed<String> {
        self.skip();
        if self.rest.starts_with('(') {
            let takes = self.parameters()?.join(", ");
            self.expect("=>")?;
            return Ok(format!("({takes}) => {}", self.plain()?));
        }
        let mut read = match self.word() {
            "Promise" => {
                self.expect("<")?;
                let inner = self.plain()?;
                self.expect(">")?;
                format!("Promise<{inner}>")
            }
            word @ ("any" | "unknown" | "string" | "Handle") => word.to_owned(),
            _ => return Err(self.wrong("a type")),
        };
        while self.takes("[]") {
            read.push_str("[]");
        }
        Ok(read)
    }

    fn word(&mut self) -> &str {
        self.skip();
        let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$');
        let end = self.rest.find(|c| !inner(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn key(&mut self) -> Parsed<String> {
        self.skip();
        if self.rest.starts_with('"') {
            return self.string();
        }
        match self.word() {
            "" => Err(self.wrong("a name")),
            word => Ok(word.to_owned()),
        }
    }

    /// The literals that are printed are those of JSON, too.
    fn string(&mut self) -> Parsed<String> {
        let mut parts = serde_json::Deserializer::from_str(self.rest).into_iter::<String>();
        let text = parts.next().and_then(Result::ok);
        let end = parts.byte_offset();
        let text = text.ok_or_else(|| self.wrong("a string"))?;
        self.rest = &self.rest[end..];
        Ok(text)
    }

    fn union(&mut self) -> Parsed<Value> {
        self.joined("|", "anyOf", Self::intersection)
    }

    fn intersection(&mut self) -> Parsed<Value> {
        self.joined("&", "allOf", Self::array)
    }

    fn joined(
        &mut self,
        sign: &str,
        keyword: &str,
        read: fn(&mut Self) -> Parsed<Value>,
    ) -> Parsed<Value> {
        let mut members = vec![read(self)?];
        while self.takes(sign) {
            members.push(read(self)?);
        }
        Ok(match members.len() {
            1 => members.remove(0),
            _ => json!({ keyword: members }),
        })
    }

    fn array(&mut self) -> Parsed<Value> {
        let mut read = self.single()?;
        while self.takes("[]") {
            read = json!({"type": "array", "items": read});
        }
        Ok(read)
    }

    fn single(&mut self) -> Parsed<Value> {
        self.skip();
        if self.takes("(") {
            let read = self.union()?;
            self.expect(")")?;
            return Ok(read);
        }
        if self.takes("{") {
            return self.object();
        }
        if self.takes("[") {
            return self.tuple();
        }
        if self.rest.starts_with('"') {
            return Ok(json!({"const": self.string()?}));
        }
        if self
            .rest
            .starts_with(|c: char| c == '-' || c.is_ascii_digit())
        {
            return self.number();
        }
        match self.word() {
            "unknown" => Ok(json!(true)),
            "never" => Ok(json!(false)),
            "true" => Ok(json!({"const": true})),
            "false" => Ok(json!({"const": false})),
            word @ ("string" | "number" | "boolean" | "null") => Ok(json!({ "type": word })),
            _ => Err(self.wrong("a type")),
        }
    }

    fn number(&mut self) -> Parsed<Value> {
        let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.');
        let end = self.rest.find(|c| !inner(c)).unwrap_or(self.rest.len());
        let number: Value =
            serde_json::from_str(&self.rest[..end]).map_err(|_| self.wrong("a number"))?;
        self.rest = &self.rest[end..];
        Ok(json!({ "const": number }))
    }

    fn object(&mut self) -> Parsed<Value> {
        let (mut properties, mut required) = (Map::new(), Vec::new());
        let mut others = json!(self.reading == Reading::Open);
        loop {
            if self.takes("[key: string]:") {
                others = self.union()?;
            } else {
                let name = self.key()?;
                if !self.takes("?") {
                    required.push(name.clone());
                }
                self.expect(":")?;
                let read = self.union()?;
                if properties.insert(name, read).is_some() {
                    return Err(self.wrong("each field once"));
                }
            }
            if !self.takes(";") {
                break;
            }
        }
        self.expect("}")?;
        Ok(json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": others,
        }))
    }

    fn tuple(&mut self) -> Parsed<Value> {
        let (mut items, mut required) = (Vec::new(), 0);
        let mut others = json!(false);
        loop {
            if self.takes("...") {
                others = self.array()?["items"].take();
                break;
            }
            items.push(self.array()?);
            if !self.takes("?") {
                required = items.len();
            }
            if !self.takes(",") {
                break;
            }
        }
        self.expect("]")?;
        Ok(json!({"type": "array", "prefixItems": items, "minItems": required, "items": others}))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_become_schemas() {
        let text = "interface Tools { \"a b\": { /** c */ t(args: { a?: (1 | \"x\")[]; b: [null?, ...true[]] & never }): Promise<unknown>; }; } declare const tools: Tools;";
        let methods = declaration(text, Reading::Closed).unwrap();
        let input = json!({
            "type": "object",
            "properties": {
                "a": {"type": "array", "items": {"anyOf": [{"const": 1}, {"const": "x"}]}},
                "b": {"allOf": [
                    {"type": "array", "prefixItems": [{"type": "null"}], "minItems": 0, "items": {"const": true}},
                    false,
                ]},
            },
            "required": ["b"],
            "additionalProperties": false,
        });
        assert_eq!(
            methods,
            [Method {
                plugin: "a b".into(),
                name: "t".into(),
                input,
                output: json!(true)
            }]
        );
    }

    #[test]
    fn what_is_not_printed_is_not_read() {
        for wrong in [
            "",
            "{",
            "evil",
            "{ }",
            "{ a: string",
            "string |",
            "\"a",
            "1x",
            "{ a: string; a: string }",
        ] {
            let text = format!(
                "interface Tools {{ p: {{ t(args: {wrong}): Promise<unknown>; }}; }} declare const tools: Tools;"
            );
            assert!(declaration(&text, Reading::Open).is_err(), "{wrong}");
        }
    }
}

//! Forms: what a server asks a person in the middle of one of its calls. A form is flat and bounded, and whatever it says
//! is the server's word: whoever shows it shows it as such.

use serde_json::{Map, Value, json};

use crate::rules::rendered::rendered;
use crate::rules::schema::Schema;
use crate::words::error::{Error, Result};
use crate::words::id::shown;
use crate::words::inert::one_line;
use crate::words::length::json_bytes;
use crate::words::limits::servers::{
    FORM_BYTES, FORM_FIELDS, FORM_MESSAGE_CHARS, FORM_NAME_CHARS, FORM_VALUES,
};

/// What a server wants to know of a person.
#[derive(Clone, Debug, PartialEq)]
pub struct Form {
    /// What it says.
    pub message: String,
    /// The schema of the answer, of nothing but what was read.
    pub schema: Value,
}

/// What a field may say of itself. What is none of these could make a form that is not flat.
const KEYS: [&str; 16] = [
    "type",
    "title",
    "description",
    "default",
    "enum",
    "enumNames",
    "oneOf",
    "anyOf",
    "format",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "items",
    "minItems",
    "maxItems",
];

impl Form {
    /// Reads the parameters of `elicitation/create`.
    ///
    /// # Errors
    /// `BadInput` for what is no form, is too large, or is not flat.
    pub fn read(params: &Value) -> Result<Self> {
        let word = |key: &str| params.get(key).and_then(Value::as_str);
        if word("mode").is_some_and(|mode| mode != "form") {
            let what = "only forms are shown to a person; nobody is sent to an address";
            return Err(Error::bad_input(what));
        }
        let message = word("message").unwrap_or_default();
        let asked = params.get("requestedSchema").unwrap_or(&Value::Null);
        if message.chars().count() > FORM_MESSAGE_CHARS || json_bytes(asked) > FORM_BYTES {
            return Err(Error::bad_input("the form is too large"));
        }
        let fields = asked.get("properties").and_then(Value::as_object);
        let fields = fields.filter(|_| asked.get("type").and_then(Value::as_str) == Some("object"));
        let fields =
            fields.ok_or_else(|| Error::bad_input("a form is an object with properties"))?;
        if fields.is_empty() || fields.len() > FORM_FIELDS {
            let what = format!("a form has from 1 to {FORM_FIELDS} fields");
            return Err(Error::bad_input(what));
        }
        for (name, field) in fields {
            check(name, field)?;
        }
        let required = asked.get("required").and_then(Value::as_array);
        let required: Vec<&Value> = required
            .into_iter()
            .flatten()
            .filter(|name| name.as_str().is_some_and(|name| fields.contains_key(name)))
            .collect();
        let schema = json!({
            "type": "object", "properties": fields, "required": required, "additionalProperties": false,
        });
        let form = Self {
            message: message.to_owned(),
            schema,
        };
        form.compiled()?;
        Ok(form)
    }

    /// A form that was read before.
    #[must_use]
    pub fn known(content: &Value) -> Option<Self> {
        Some(Self {
            message: content.get("message")?.as_str()?.to_owned(),
            schema: content.get("schema")?.clone(),
        })
    }

    /// As it stands on record.
    #[must_use]
    pub fn content(&self) -> Value {
        json!({"message": self.message, "schema": self.schema})
    }

    /// Its fields, by name.
    pub fn fields(&self) -> impl Iterator<Item = (&String, &Value)> {
        let fields = self.schema.get("properties").and_then(Value::as_object);
        fields.into_iter().flatten()
    }

    /// Whether an answer has to have this field.
    #[must_use]
    pub fn requires(&self, name: &str) -> bool {
        let required = self.schema.get("required").and_then(Value::as_array);
        let mut required = required.into_iter().flatten();
        required.any(|one| one.as_str() == Some(name))
    }

    /// What it says and what it wants, a line for each: hidden characters shown, and each line cut.
    #[must_use]
    pub fn lines(&self, server: &str) -> Vec<String> {
        let message = shown(&self.message);
        let mut lines = vec![format!("the server `{server}` says: \"{message}\"")];
        lines.extend(self.fields().map(|(name, field)| {
            let word = |key: &str| field.get(key).and_then(Value::as_str);
            let kind = shown(word("type").unwrap_or("text"));
            let mut line = format!("it wants `{}` ({kind}", shown(name));
            if !self.requires(name) {
                line.push_str(", may be left out");
            }
            if let Some(usual) = field.get("default") {
                line.push_str(&format!(
                    ", `{}` if you say nothing",
                    shown(&usual.to_string())
                ));
            }
            line.push(')');
            if let Some(values) = values(field) {
                line.push_str(&format!(" of {}", shown(&values.join(", "))));
            }
            if let Some(said) = word("description").or_else(|| word("title")) {
                line.push_str(&format!(": \"{}\"", shown(said)));
            }
            line
        }));
        lines
    }

    /// The schema as another surface shows it: what is said of a field on one line, hidden characters shown, and each choice
    /// under a name, as the protocol wants it. Names and values are as they were, and an answer fits the form itself.
    #[must_use]
    pub fn passed_on(&self) -> Value {
        let fields: Map<String, Value> = self
            .fields()
            .map(|(name, field)| (name.clone(), passed_on(field)))
            .collect();
        json!({"type": "object", "properties": fields, "required": self.schema.get("required")})
    }

    /// The answer that these values make, with what the form says of those that were left out.
    ///
    /// # Errors
    /// `BadInput` for what does not fit, place by place.
    pub fn answer(&self, given: &Value) -> Result<Value> {
        let Value::Object(given) = given else {
            return Err(Error::bad_input("an answer to a form is a JSON object"));
        };
        let mut answer: Map<String, Value> = given.clone();
        for (name, field) in self.fields() {
            if let (Some(usual), false) = (field.get("default"), answer.contains_key(name)) {
                answer.insert(name.clone(), usual.clone());
            }
        }
        let answer = Value::Object(answer);
        let bytes = json_bytes(&answer);
        if bytes > FORM_BYTES {
            let what = "the answer to a form";
            return Err(Error::too_big(what, FORM_BYTES, bytes));
        }
        let issues = self.compiled()?.issues(&answer);
        match issues.first() {
            None => Ok(answer),
            Some(first) => {
                let place = match first.path.as_str() {
                    "" => String::new(),
                    path => format!("{} ", one_line(path)),
                };
                let what = format!("the answer does not fit the form: {place}{}", first.message);
                Err(Error::bad_input(what).issues(issues))
            }
        }
    }

    fn compiled(&self) -> Result<Schema> {
        let unusable = |error: Error| Error::bad_input(format!("the form: {}", error.message()));
        Schema::compile(self.schema.clone()).map_err(unusable)
    }
}

/// A field is a text, a number, a yes or no, or a choice.
fn check(name: &str, field: &Value) -> Result<()> {
    let wrong = |why: &str| {
        let what = format!("the field `{}` of the form {why}", shown(name));
        Err(Error::bad_input(what))
    };
    if name.is_empty() || name.chars().count() > FORM_NAME_CHARS {
        return wrong("has no name that can be shown");
    }
    if one_line(name) != name {
        return wrong("hides characters in its name");
    }
    let Value::Object(said) = field else {
        return wrong("says nothing of itself");
    };
    let word = |key: &str| said.get(key).and_then(Value::as_str);
    if names_secret(name)
        || word("title").is_some_and(names_secret)
        || word("format") == Some("password")
    {
        return wrong("asks for a secret, which no form does");
    }
    if let Some(key) = said.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return wrong(&format!("is not flat: it has `{}`", shown(key)));
    }
    let kind = said.get("type").and_then(Value::as_str);
    let is_flat = match kind {
        Some("string") => is_choice(said, "oneOf") && !said.contains_key("anyOf"),
        Some("number" | "integer" | "boolean") => {
            !said.contains_key("oneOf") && !said.contains_key("anyOf")
        }
        Some("array") => said
            .get("items")
            .and_then(Value::as_object)
            .is_some_and(|items| {
                let plain = |key: &String| ["type", "enum", "anyOf"].contains(&key.as_str());
                items.keys().all(plain) && is_choice(items, "anyOf") && values(field).is_some()
            }),
        Some(_) | None => false,
    };
    if !is_flat || (kind != Some("array") && said.contains_key("items")) {
        return wrong("is no text, number, yes or no, or choice");
    }
    if values(field).is_some_and(|values| values.len() > FORM_VALUES) {
        return wrong(&format!("offers more than {FORM_VALUES} values"));
    }
    let usual = said.get("default").map(texts).unwrap_or_default();
    let mut offered = values(field).unwrap_or_default().into_iter().chain(usual);
    if offered.any(|value| one_line(value) != value) {
        return wrong("hides characters in a value");
    }
    Ok(())
}

/// The text that a value is, or those that it lists.
fn texts(value: &Value) -> Vec<&str> {
    let listed = value.as_array().into_iter().flatten();
    listed
        .chain(std::iter::once(value))
        .filter_map(Value::as_str)
        .collect()
}

/// What a secret is called, wherever it stands in a name.
const SECRETS: [&str; 9] = [
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "credential",
    "apikey",
    "privatekey",
    "accesstoken",
    "refreshtoken",
];

/// Whether a name says that a secret is wanted: the protocol forbids that in a form, and an honest server does not do it.
fn names_secret(name: &str) -> bool {
    let lower = name.to_lowercase();
    let letters: String = lower.chars().filter(|c| c.is_alphanumeric()).collect();
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    SECRETS.iter().any(|secret| letters.contains(secret)) || words.any(|word| word == "secret")
}

/// A field as another surface shows it: the server's words about it lead nowhere.
fn passed_on(field: &Value) -> Value {
    let Value::Object(said) = field else {
        return field.clone();
    };
    let line = |value: &Value| {
        value
            .as_str()
            .map_or(Value::Null, |text| json!(rendered(&shown(text))))
    };
    let choice = |one: &Value| {
        let value = one.get("const").cloned().unwrap_or_default();
        json!({"const": value, "title": line(one.get("title").unwrap_or(&value))})
    };
    let each = |values: &Value, of: &dyn Fn(&Value) -> Value| -> Value {
        values.as_array().into_iter().flatten().map(of).collect()
    };
    let told = said.iter().map(|(key, value)| {
        let value = match key.as_str() {
            "title" | "description" => line(value),
            "enumNames" => each(value, &line),
            "oneOf" | "anyOf" => each(value, &choice),
            "items" => passed_on(value),
            _ => value.clone(),
        };
        (key.clone(), value)
    });
    let mut told: Map<String, Value> = told.collect();
    // Of the values of a list it may have gone without saying.
    if told.contains_key("enum") {
        told.entry("type").or_insert_with(|| json!("string"));
    }
    Value::Object(told)
}

/// Whether it offers no values under this key, or constants alone.
fn is_choice(said: &Map<String, Value>, key: &str) -> bool {
    let Some(offered) = said.get(key) else {
        return true;
    };
    let is_plain = |one: &Value| {
        let Some(one) = one.as_object() else {
            return false;
        };
        let known = |key: &String| ["const", "title"].contains(&key.as_str());
        one.get("const").is_some_and(Value::is_string) && one.keys().all(known)
    };
    offered
        .as_array()
        .is_some_and(|offered| offered.iter().all(is_plain))
}

/// The values that a field offers, if it offers some.
fn values(field: &Value) -> Option<Vec<&str>> {
    let field = field.get("items").unwrap_or(field);
    if let Some(values) = field.get("enum").and_then(Value::as_array) {
        return Some(values.iter().filter_map(Value::as_str).collect());
    }
    let offered = field.get("oneOf").or_else(|| field.get("anyOf"))?;
    let offered = offered.as_array()?.iter();
    Some(
        offered
            .filter_map(|one| one.get("const")?.as_str())
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(fields: &Value, required: &Value) -> Result<Form> {
        Form::read(&json!({
            "message": "Who\u{202e} are you?",
            "requestedSchema": {"type": "object", "properties": fields, "required": required},
        }))
    }

    #[test]
    fn nobody_is_sent_to_an_address() {
        let asks = |mode: Value| {
            let mut params = json!({"message": "Who?", "requestedSchema":
                {"type": "object", "properties": {"name": {"type": "string"}}}});
            params["mode"] = mode;
            Form::read(&params).is_ok()
        };
        assert!(asks(json!("form")) && asks(Value::Null));
        assert!(!asks(json!("url")));
    }

    #[test]
    fn a_form_is_flat() {
        for (field, fits) in [
            (json!({"type": "string"}), true),
            (json!({"type": "integer", "minimum": 1, "default": 3}), true),
            (json!({"type": "string", "enum": ["a", "b"]}), true),
            (
                json!({"type": "string", "oneOf": [{"const": "a", "title": "A"}]}),
                true,
            ),
            (
                json!({"type": "array", "items": {"type": "string", "enum": ["a"]}}),
                true,
            ),
            (
                json!({"type": "array", "items": {"anyOf": [{"const": "a"}]}}),
                true,
            ),
            (json!({"type": "array", "items": {"type": "string"}}), false),
            (json!({"type": "object", "properties": {}}), false),
            (json!({"$ref": "https://evil.test/s"}), false),
            (json!({"type": "string", "oneOf": [{"$ref": "#"}]}), false),
            (json!({"type": "string", "pattern": "(a+)+$"}), false),
            (
                json!({"type": "number", "items": {"type": "string"}}),
                false,
            ),
            (json!(7), false),
            (json!({"type": "string", "enum": ["a", "b\u{200b}"]}), false),
            (json!({"type": "string", "default": "a\nb"}), false),
            (json!({"type": "string", "title": "Your password"}), false),
            (json!({"type": "string", "format": "password"}), false),
        ] {
            let read = form(&json!({"a": field}), &json!([]));
            assert_eq!(read.is_ok(), fits, "{field}: {read:?}");
        }
        assert!(form(&json!({}), &json!([])).is_err());
        let many: Map<String, Value> = (0..=FORM_FIELDS)
            .map(|n| (format!("f{n}"), json!({"type": "string"})))
            .collect();
        assert!(form(&Value::Object(many), &json!([])).is_err());
        let address = json!({"mode": "url", "message": "m", "url": "https://evil.test", "elicitationId": "1"});
        assert!(Form::read(&address).is_err());
    }

    #[test]
    fn a_form_names_no_secret_and_hides_nothing_in_a_name() {
        for (name, fits) in [
            ("name", true),
            ("secretary", true),
            ("tokens", true),
            ("password", false),
            ("user_Password2", false),
            ("API key", false),
            ("accessToken", false),
            ("client-secret", false),
            ("na\u{202e}me", false),
            ("na\nme", false),
        ] {
            let read = form(&json!({name: {"type": "string"}}), &json!([]));
            assert_eq!(read.is_ok(), fits, "{name}: {read:?}");
        }
    }

    #[test]
    fn what_is_passed_on_says_the_same_and_hides_nothing() {
        let fields = json!({
            "name": {"type": "string", "title": "N\u{202e}", "description": "your\nname", "minLength": 2},
            "size": {"type": "string", "oneOf": [{"const": "s"}, {"const": "l", "title": "la\u{200b}rge"}]},
            "kinds": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 1},
            "old": {"type": "string", "enum": ["x"], "enumNames": ["\u{200b}X"]},
        });
        let told = form(&fields, &json!(["name"])).unwrap().passed_on();
        assert_eq!(
            told,
            json!({"type": "object", "required": ["name"], "properties": {
                "name": {"type": "string", "title": "N\\u{202e}", "description": "your\\u{a}name", "minLength": 2},
                "size": {"type": "string", "oneOf": [
                    {"const": "s", "title": "s"}, {"const": "l", "title": "la\\u{200b}rge"},
                ]},
                "kinds": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "maxItems": 1},
                "old": {"type": "string", "enum": ["x"], "enumNames": ["\\u{200b}X"]},
            }})
        );
    }

    #[test]
    fn what_was_left_out_is_as_the_form_says() {
        let fields = json!({"name": {"type": "string"}, "age": {"type": "integer", "default": 30}});
        let form = form(&fields, &json!(["name", "age", "other"])).unwrap();
        let answer = |given: Value| form.answer(&given);
        assert_eq!(
            answer(json!({"name": "Ada"})).unwrap(),
            json!({"name": "Ada", "age": 30})
        );
        for wrong in [
            json!({}),
            json!({"name": 7}),
            json!({"name": "Ada", "more": "x"}),
            json!([]),
            json!({"name": "x".repeat(FORM_BYTES)}),
        ] {
            assert!(answer(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn its_words_are_shown_as_words_of_the_server() {
        let fields = json!({"name": {"type": "string", "description": "your\nname"}});
        let lines = form(&fields, &json!(["name"])).unwrap().lines("mail");
        assert_eq!(
            lines,
            [
                "the server `mail` says: \"Who\\u{202e} are you?\"",
                "it wants `name` (string): \"your\\u{a}name\"",
            ]
        );
    }
}

//! Which key of a `[models.NAME]` is wrong. How such a table is read is said by its `provider`, so that it is gone through
//! before it is read, and what is wrong in it has no place any more: it is looked for once more, where it stands.

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Error, ValueDeserializer};

use super::file::{RemoteTable, ScriptedTable};

/// What is wrong in the table of a model that begins at this place of a text, and where in it.
pub(super) fn wrong(text: &str, at: usize) -> Option<Error> {
    let mut tables = DeTable::parse(text).ok()?.into_inner();
    let DeValue::Table(models) = tables.remove("models")?.into_inner() else {
        return None;
    };
    let (_, model) = models
        .into_iter()
        .find(|(_, model)| model.span().start == at)?;
    let span = model.span();
    let DeValue::Table(mut table) = model.into_inner() else {
        return None;
    };
    let provider = table.remove("provider")?;
    let is_file = provider.get_ref().as_str()? == "scripted";
    let rest = ValueDeserializer::from(Spanned::new(span, DeValue::Table(table)));
    match is_file {
        true => ScriptedTable::deserialize(rest).err(),
        false => RemoteTable::deserialize(rest).err(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text that is said to be wrong.
    fn check(text: &str, expected: Option<&str>) {
        let at = text.find("[models.m]").unwrap();
        let error = wrong(text, at);
        let span = error.and_then(|error| error.span());
        assert_eq!(span.and_then(|span| text.get(span)), expected, "{text}");
    }

    #[test]
    fn what_is_wrong_in_a_model_has_a_place() {
        let openai = |more: &str| {
            format!("block = []\n[models.m]\nprovider = \"openai\"\nurl = \"u\"\n{more}")
        };
        check(&openai("model = 3\n"), Some("3"));
        check(&openai("model = \"x\"\nprivat = true\n"), Some("privat"));
        check(
            &openai("model = \"x\"\ncan = { imags = true }\n"),
            Some("imags"),
        );
        check(
            &openai("model = \"x\"\nprice = { input = [] }\n"),
            Some("[]"),
        );
        check(&openai("model = \"x\"\n"), None);
        let scripted = "[models.m]\nscript = true\nprovider = \"scripted\"\n";
        check(scripted, Some("true"));
        // What its provider is, its own table says where it is missing, and its value where there is no such one.
        check("[models.m]\nscript = \"s\"\n", None);
    }
}

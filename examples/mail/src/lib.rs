//! Plugin `mail`: letters in one folder, contacts in another, and an outbox. It stands in for a mail service in
//! `examples/inbox`; what it says of its arguments is what a real one would say.

use lazaret_sdk::files::Mode;
use lazaret_sdk::prelude::*;

const LETTER_BYTES_MAX: u64 = 64 << 10;

/// A letter.
#[value]
pub struct Letter {
    /// Its name at the service.
    pub id: String,
    /// Who sent it, as the service knows them.
    pub from: String,
    /// To whom it went.
    pub to: Vec<String>,
    /// Its title.
    pub title: String,
    /// What it says.
    pub text: String,
}

/// A letter without its text.
#[value]
pub struct Heading {
    /// Its name at the service.
    pub id: String,
    /// Who sent it.
    pub from: String,
    /// Its title.
    pub title: String,
}

/// Letters that were found.
#[value]
pub struct Letters {
    /// One heading each.
    pub letters: Vec<Heading>,
}

/// Somebody whom the user knows.
#[value]
pub struct Contact {
    /// Their name.
    pub name: String,
    /// Their address.
    pub mail: String,
}

/// Contacts that were found.
#[value]
pub struct Contacts {
    /// All of them.
    pub contacts: Vec<Contact>,
}

/// What was done with a letter.
#[value]
pub struct Done {
    /// The letter.
    pub id: String,
}

/// Finds letters by words of their title, sender or text.
#[tool(effect = "read-only", mounts = "read")]
fn search(
    /// The words; all letters if left out.
    #[default(String::new())]
    query: String,
) -> Result<Letters, Failure> {
    let mut letters = Vec::new();
    for entry in files::list("mail")? {
        let letter = open(entry.name.trim_end_matches(".json"))?;
        let all = format!("{} {} {}", letter.title, letter.from, letter.text).to_lowercase();
        let mut words = query.split_whitespace();
        if words.all(|word| all.contains(&word.to_lowercase())) {
            letters.push(Heading {
                id: letter.id,
                from: letter.from,
                title: letter.title,
            });
        }
    }
    Ok(Letters { letters })
}

/// Reads a letter.
#[tool(effect = "read-only", mounts = "read")]
fn read(
    /// Its id.
    id: String,
) -> Result<Letter, Failure> {
    open(&id)
}

/// Finds contacts by name.
#[tool(effect = "read-only", mounts = "read")]
fn contacts(
    /// A part of the name; all contacts if left out.
    #[default(String::new())]
    name: String,
) -> Result<Contacts, Failure> {
    let text = files::read_text("contacts/contacts.json", LETTER_BYTES_MAX)?;
    let mut contacts: Vec<Contact> = from_json(&text)?;
    contacts.retain(|contact| contact.name.to_lowercase().contains(&name.to_lowercase()));
    Ok(Contacts { contacts })
}

/// Sends a letter.
#[tool(
    effect = "external-stateful",
    risk = "external_write",
    mounts = "write",
    steers(to = "mail"),
    content = ["title", "text"]
)]
fn send(
    /// To whom.
    to: Vec<String>,
    /// Its title.
    title: String,
    /// What it says.
    text: String,
    /// The id of the letter that it answers.
    answers: Option<String>,
) -> Result<Done, Failure> {
    let id = format!("s{}", files::list("outbox")?.len() + 1);
    let letter = json!({"to": to, "title": title, "text": text, "answers": answers});
    let path = format!("outbox/{id}.json");
    files::write(&path, letter.to_string().as_bytes(), Mode::Create)?;
    Ok(Done { id })
}

/// Deletes a letter for good.
#[tool(
    effect = "destructive",
    risk = "high_risk",
    mounts = "write",
    steers(id = "id")
)]
fn delete(
    /// Its id.
    id: String,
) -> Result<Done, Failure> {
    files::remove(&place(&id)?)?;
    Ok(Done { id })
}

fn open(id: &str) -> Result<Letter, Failure> {
    from_json(&files::read_text(&place(id)?, LETTER_BYTES_MAX)?)
}

fn place(id: &str) -> Result<String, Failure> {
    let plain = !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric());
    if plain {
        Ok(format!("mail/{id}.json"))
    } else {
        Err(Failure::new("a letter's id has letters and digits"))
    }
}

fn from_json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, Failure> {
    serde_json::from_str(text).or_fail("the store holds something else")
}

plugin! {
    name: "mail",
    description: "Letters and contacts: find, read, send, delete.",
    tools: [search, read, contacts, send, delete],
}

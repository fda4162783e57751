//! Classes: how far a source is trusted, and who may read what comes from it (design §5).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::rules::server;
use crate::words::id::{Digest, ToolName};
use crate::words::label::{Label, Sort, Source};

/// Whether a source may decide anything.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Integrity {
    /// It speaks for the user or the operator.
    Trusted,
    /// Anybody may have written it.
    Untrusted,
}

/// Who may read what comes from a source.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Secrecy {
    /// Anybody.
    #[default]
    Public,
    /// The user, and whom the user names.
    Private,
    /// Nobody outside.
    Secret,
}

/// What policy says of one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Whether it may decide anything.
    pub integrity: Integrity,
    /// Who may read it.
    pub secrecy: Secrecy,
}

impl Integrity {
    /// In one word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::Untrusted => "untrusted",
        }
    }
}

impl Secrecy {
    /// In one word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private => "private",
            Self::Secret => "secret",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}, {}", self.integrity.word(), self.secrecy.word())
    }
}

/// The classes of all sources: the table of design §5, and what policy says otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Classes {
    /// Mounts that hold the user's own files.
    pub own_mounts: BTreeSet<String>,
    /// Plugins whose code is trusted not to make things up: the bundled ones, and those of policy.
    pub trusted_plugins: BTreeSet<String>,
    /// Plugins of which the user has read what their tools say of themselves, and in which component.
    pub pinned: BTreeMap<String, Digest>,
    /// Those of them of which that component is installed.
    pub read: BTreeSet<String>,
    /// MCP servers, by name: whatever they say, of themselves too, is theirs.
    pub servers: BTreeSet<String>,
    /// What policy says of single sources, by their text, such as `web:https://docs.example`.
    pub said: BTreeMap<String, Class>,
}

impl Classes {
    /// The class of a source. One that stands for many (`web:*`) has no line of its own: it may be any of
    /// them, so it is as little trusted, and as secret, as any of its sort.
    #[must_use]
    pub fn of(&self, source: &Source) -> Class {
        // Most policies say nothing here, and this is asked for every source of every wish.
        if self.said.is_empty() {
            return self.usual(source);
        }
        if source.is_many() {
            return self.of_many(source);
        }
        let text = source.to_string();
        let said = self.said.get(&text).or_else(|| {
            // What a server says of its tools is the server's.
            let server = text
                .strip_suffix(".*")
                .filter(|_| source.sort() == Sort::Mcp);
            self.said.get(server?)
        });
        said.copied().unwrap_or_else(|| self.usual(source))
    }

    /// What policy says of one of them holds for all. A scalar may have been taken from whatever there is.
    fn of_many(&self, source: &Source) -> Class {
        let sort = source.sort();
        let of_sort = |text: &str| text.split(':').next() == Some(sort.word());
        let said = self.said.iter();
        let said = said.filter(|(text, _)| sort == Sort::Scalar || of_sort(text));
        let mut class = self.usual(source);
        for (_, said) in said {
            class.secrecy = class.secrecy.max(said.secrecy);
            if sort != Sort::Scalar {
                class.integrity = class.integrity.max(said.integrity);
            }
        }
        class
    }

    /// The class of a source of which policy says nothing itself: the table of design §5.
    #[must_use]
    pub fn usual(&self, source: &Source) -> Class {
        let (integrity, secrecy) = match source.sort() {
            Sort::Operator => (Integrity::Trusted, Secrecy::Public),
            Sort::User => (Integrity::Trusted, Secrecy::Private),
            Sort::Tool => (self.of_plugin(source), Secrecy::Public),
            Sort::Web => (Integrity::Untrusted, Secrecy::Public),
            Sort::File => (self.of_mount(source), Secrecy::Private),
            // What is kept has its stored label beside this source.
            Sort::Note => (Integrity::Trusted, Secrecy::Private),
            Sort::Mcp => (Integrity::Untrusted, Secrecy::Private),
            Sort::Secret => (Integrity::Trusted, Secrecy::Secret),
            // Who had influence is paid for in bits. Who may read it is not.
            Sort::Scalar => (Integrity::Trusted, self.of_scalar(source)),
        };
        Class { integrity, secrecy }
    }

    fn of_plugin(&self, source: &Source) -> Integrity {
        let plugin = source.name().split('.').next().unwrap_or_default();
        trusted_if(self.trusted_plugins.contains(plugin))
    }

    fn of_scalar(&self, source: &Source) -> Secrecy {
        let behind = source.behind_scalar();
        behind.map_or(Secrecy::Private, |source| self.of(&source).secrecy)
    }

    fn of_mount(&self, source: &Source) -> Integrity {
        trusted_if(self.own_mounts.contains(source.name()))
    }

    /// Whether anybody untrusted had influence.
    #[must_use]
    pub fn is_tainted(&self, label: &Label) -> bool {
        label
            .sources()
            .any(|source| self.of(source).integrity == Integrity::Untrusted)
    }

    /// Whether a scalar in it was taken from what somebody untrusted has written. That is paid for in bits and is no taint, and
    /// yet it is no user's word: what it may have chosen is judged.
    #[must_use]
    pub fn has_strangers_scalar(&self, label: &Label) -> bool {
        label.sources().any(|source| {
            source.sort() == Sort::Scalar
                && source
                    .behind_scalar()
                    .is_none_or(|behind| self.of(&behind).integrity == Integrity::Untrusted)
        })
    }

    /// Who is behind the names, descriptions and schemas of these tools: whoever wrote their plugin. Its manifest is
    /// one text by one author, so it is one source (`tool:PLUGIN.*`), however many tools it has. Nobody, where the
    /// plugin is trusted, or the user has read what it says.
    #[must_use]
    pub fn of_words<'a>(&self, tools: impl IntoIterator<Item = &'a ToolName>) -> Label {
        let plugins: BTreeSet<&str> = tools.into_iter().map(ToolName::plugin).collect();
        let unread = plugins
            .into_iter()
            .filter(|name| !self.read.contains(*name));
        let sources = unread.map(|name| match self.servers.contains(name) {
            true => server::words(name),
            false => Source::new(Sort::Tool, &format!("{name}.*")),
        });
        let strangers = sources.filter(|source| self.of(source).integrity == Integrity::Untrusted);
        strangers.fold(Label::default(), |label, source| label.with(source))
    }

    /// Whether it comes from something that only the user may read. What the user typed for this run is not
    /// counted: it was typed to be acted upon.
    #[must_use]
    pub fn is_private(&self, label: &Label) -> bool {
        self.is_private_beside(label, &[])
    }

    /// The same, where what comes from these sources is told to them.
    #[must_use]
    pub fn is_private_beside(&self, label: &Label, told: &[Source]) -> bool {
        label
            .sources()
            .any(|source| !told.contains(source) && self.is_users_alone(source))
    }

    /// Whether only the user may read what comes from it. What they have typed is not counted.
    #[must_use]
    pub fn is_users_alone(&self, source: &Source) -> bool {
        source.sort() != Sort::User && self.of(source).secrecy == Secrecy::Private
    }

    /// What of a label is kept from others: it lies on this machine or on pages, or comes of a tool, and not everybody may
    /// read it.
    #[must_use]
    pub fn kept_from_others(&self, label: &Label) -> Label {
        let is_kept = |source: &&Source| {
            let secrecy = self.of(source).secrecy;
            match source.sort() {
                Sort::File | Sort::Note | Sort::Web | Sort::Tool | Sort::Secret => {
                    secrecy != Secrecy::Public
                }
                // Who runs a server has what is private there anyway. What is secret is for nobody.
                Sort::Mcp => secrecy == Secrecy::Secret,
                Sort::Operator | Sort::User | Sort::Scalar => false,
            }
        };
        let kept = label.sources().filter(is_kept).cloned();
        kept.fold(Label::default(), |label, source| label.with(source))
    }

    /// Who may read what it tells how long a call took that has read what has this label: what of it is kept from others, and
    /// what others were told something of before.
    #[must_use]
    pub fn told_of(&self, label: &Label) -> Label {
        let told = |source: &&Source| {
            source.sort() == Sort::Scalar && self.of(source).secrecy != Secrecy::Public
        };
        let told = label.sources().filter(told).cloned();
        let kept = self.kept_from_others(label).of_scalar();
        told.fold(kept, |label, source| label.with(source))
    }

    /// What of that counts for whoever wishes under this influence: all of it where a stranger may have told them what to wish,
    /// and what is secret in any case, since their model is somebody outside.
    #[must_use]
    pub fn counting(&self, told: Label, wisher: &Label) -> Label {
        if self.is_tainted(wisher) {
            return told;
        }
        let is_secret = |source: &&Source| self.of(source).secrecy == Secrecy::Secret;
        let secret = told.sources().filter(is_secret).cloned();
        secret.fold(Label::default(), |label, source| label.with(source))
    }

    /// Whether policy says itself of what class it is.
    #[must_use]
    pub fn says(&self, source: &Source) -> bool {
        !self.said.is_empty() && self.said.contains_key(&source.to_string())
    }

    /// The sources of a label that only the user may read, for people.
    #[must_use]
    pub fn private(&self, label: &Label) -> Vec<String> {
        let found = label.sources().filter(|source| self.is_users_alone(source));
        found.map(Source::to_string).collect()
    }

    /// Whether it comes from something that nobody outside may read.
    #[must_use]
    pub fn is_secret(&self, label: &Label) -> bool {
        label
            .sources()
            .any(|source| self.of(source).secrecy == Secrecy::Secret)
    }

    /// Whether there is something in it that nobody outside may read, and not only whether a call with it went well: no
    /// scalar leaves a handle that is secret ([`super::handles::fate`]), of a failure, or why a wish was turned down,
    /// neither kind nor place is told, and what a script makes of what it knows of a secret is held. So whether it went well,
    /// which bits were taken for, is all that a scalar of a secret stands for.
    #[must_use]
    pub fn holds_secret(&self, label: &Label) -> bool {
        let told = |source: &&Source| source.sort() != Sort::Scalar;
        let mut sources = label.sources().filter(told);
        sources.any(|source| self.of(source).secrecy == Secrecy::Secret)
    }

    /// What of a label may be named to a model that is told something under `label`. Whoever knows something of a secret chooses
    /// by that which calls succeed and fail, and each brings a scalar: which of them there are, and how many, would spell it.
    #[must_use]
    pub fn nameable(&self, named: &Label, label: &Label) -> Label {
        if !self.is_secret(label) {
            return named.clone();
        }
        let plain = named
            .sources()
            .filter(|source| source.sort() != Sort::Scalar);
        let plain = plain.cloned();
        plain.fold(Label::default(), |all, source| all.with(source))
    }

    /// The untrusted sources of a label.
    #[must_use]
    pub fn untrusted(&self, label: &Label) -> Vec<String> {
        let untrusted = |source: &&Source| self.of(source).integrity == Integrity::Untrusted;
        let found = label.sources().filter(untrusted);
        found.map(Source::to_string).collect()
    }

    /// The untrusted sources of a label, for people; all of them where none is untrusted.
    #[must_use]
    pub fn suspects(&self, label: &Label) -> Vec<String> {
        let found = self.blamed(label);
        if found.is_empty() {
            label.sources().map(Source::told).collect()
        } else {
            found
        }
    }

    /// The untrusted sources of a label, for people; nothing where none is.
    #[must_use]
    pub fn blamed(&self, label: &Label) -> Vec<String> {
        let untrusted = |source: &&Source| self.of(source).integrity == Integrity::Untrusted;
        label
            .sources()
            .filter(untrusted)
            .map(Source::told)
            .collect()
    }
}

fn trusted_if(trusted: bool) -> Integrity {
    if trusted {
        Integrity::Trusted
    } else {
        Integrity::Untrusted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(text: &str) -> Label {
        text.split_whitespace()
            .map(|word| Source::try_from(word.to_owned()).unwrap())
            .fold(Label::default(), |label, source| label.with(source))
    }

    fn classes() -> Classes {
        let said = Class {
            integrity: Integrity::Trusted,
            secrecy: Secrecy::Private,
        };
        Classes {
            pinned: BTreeMap::new(),
            read: BTreeSet::new(),
            servers: BTreeSet::from(["post".to_owned()]),
            own_mounts: BTreeSet::from(["docs".to_owned()]),
            trusted_plugins: BTreeSet::from(["text".to_owned()]),
            said: BTreeMap::from([
                ("web:https://own.test".to_owned(), said),
                ("web:*".to_owned(), said),
            ]),
        }
    }

    #[test]
    fn what_lies_somewhere_is_kept_from_others() {
        let all = label(
            "user tool:a mcp:post file:docs file:inbox web:https://a.test web:https://own.test secret:k scalar:file:x",
        );
        let kept = classes().kept_from_others(&all.with(Source::new(Sort::Note, "n")));
        assert_eq!(
            kept.to_string(),
            "web:https://own.test, file:docs, file:inbox, note:n, secret:k"
        );
    }

    /// A tool whose outcomes policy calls private or secret keeps them somewhere, and what is secret at a server is nobody's.
    #[test]
    fn what_policy_says_of_a_tool_or_server_is_kept_from_others() {
        let source = |text: &str| Source::try_from(text.to_owned()).unwrap();
        for (text, secrecy, is_kept) in [
            ("tool:safe.run", Secrecy::Public, false),
            ("tool:safe.run", Secrecy::Private, true),
            ("tool:safe.run", Secrecy::Secret, true),
            ("mcp:mail", Secrecy::Private, false),
            ("mcp:mail", Secrecy::Secret, true),
            ("secret:safe.run", Secrecy::Secret, true),
            ("user", Secrecy::Private, false),
        ] {
            let class = Class {
                integrity: Integrity::Trusted,
                secrecy,
            };
            let classes = Classes {
                said: BTreeMap::from([(text.to_owned(), class)]),
                ..Classes::default()
            };
            let label = Label::of(source(text));
            let found = classes.kept_from_others(&label) == label;
            assert_eq!(found, is_kept, "{text} {secrecy:?}");
        }
    }

    #[test]
    fn what_is_secret_counts_for_everybody_and_what_is_private_under_a_strangers_influence() {
        let told = label("scalar:file:docs scalar:secret:k secret:k");
        let (user, page) = (label("user"), label("user web:https://a.test"));
        assert_eq!(classes().counting(told.clone(), &page), told);
        let secret = label("scalar:secret:k secret:k");
        assert_eq!(classes().counting(told, &user), secret);
    }

    #[test]
    fn what_the_time_of_a_call_tells_is_of_nobodys_words() {
        let all = label(
            "user tool:a mcp:post file:docs web:https://a.test web:https://own.test secret:k scalar:mcp:post scalar:web:https://a.test",
        );
        let told = classes().told_of(&all);
        let expected =
            "scalar:web:https://own.test scalar:file:docs scalar:secret:k scalar:mcp:post";
        assert_eq!(told, label(expected));
        assert!(!classes().is_tainted(&told));
    }

    #[test]
    fn the_table_of_classes() {
        for (sources, tainted, private, secret) in [
            ("", false, false, false),
            ("user operator", false, false, false),
            ("tool:text.count", false, false, false),
            ("tool:other.count", true, false, false),
            ("tool:textual.count", true, false, false),
            ("tool:*", true, false, false),
            ("web:https://a.test", true, false, false),
            ("web:https://own.test", false, true, false),
            ("web:*", true, true, false),
            ("file:docs", false, true, false),
            ("file:downloads", true, true, false),
            ("file:*", true, true, false),
            ("note:notes/a", false, true, false),
            ("mcp:mail", true, true, false),
            ("secret:token", false, false, true),
            ("user web:https://a.test file:docs", true, true, false),
            // Of a scalar it counts who may read it.
            ("scalar:web:https://a.test", false, false, false),
            ("scalar:file:downloads", false, true, false),
            ("scalar:mcp:mail", false, true, false),
            ("scalar:file:*", false, true, false),
            ("scalar:secret:token", false, false, true),
            ("scalar:* scalar:secret:*", false, true, true),
            ("scalar:*", false, true, false),
            ("scalar:nonsense", false, true, false),
            ("tool:text.*", false, false, false),
            ("tool:other.*", true, false, false),
        ] {
            let (label, classes) = (label(sources), classes());
            assert_eq!(classes.is_tainted(&label), tainted, "{sources}");
            assert_eq!(classes.is_private(&label), private, "{sources}");
            assert_eq!(classes.is_secret(&label), secret, "{sources}");
        }
    }

    #[test]
    fn the_private_sources_of_a_label_are_told() {
        for (sources, told) in [
            ("", &[][..]),
            ("user web:https://a.test secret:token", &[]),
            ("user file:docs web:https://a.test", &["file:docs"]),
            ("file:downloads mcp:mail", &["file:downloads", "mcp:mail"]),
        ] {
            assert_eq!(classes().private(&label(sources)), told, "{sources}");
        }
    }

    /// What a policy says of one source must not be lost when there are too many beside it to name it.
    #[test]
    fn many_are_as_secret_and_as_little_trusted_as_any_of_them() {
        let class = |integrity, secrecy| Class { integrity, secrecy };
        let classes = Classes {
            said: BTreeMap::from([
                (
                    "note:notes/salary".to_owned(),
                    class(Integrity::Trusted, Secrecy::Secret),
                ),
                (
                    "note:notes/inbox".to_owned(),
                    class(Integrity::Untrusted, Secrecy::Public),
                ),
            ]),
            ..classes()
        };
        let many = (0..100).map(|number| Source::new(Sort::Note, &format!("notes/{number}")));
        let salary = Source::new(Sort::Note, "notes/salary");
        let label = many.fold(Label::of(salary), |label, source| label.with(source));
        assert!(
            !label
                .sources()
                .any(|source| source.name() == "notes/salary")
        );
        assert!(classes.is_secret(&label) && classes.is_tainted(&label));
        // What was taken from any of them, and what is of another sort.
        let many = |sort| Source::new(sort, "*");
        assert_eq!(
            classes.of(&many(Sort::Scalar)),
            class(Integrity::Trusted, Secrecy::Secret)
        );
        assert_eq!(
            classes.of(&many(Sort::Web)),
            class(Integrity::Untrusted, Secrecy::Public)
        );
    }

    #[test]
    fn who_is_behind_the_words_of_tools() {
        let names = ["text.count", "other.one", "other.two", "third.one"];
        let names = names.map(|name| ToolName::parse(name).unwrap());
        let mut classes = classes();
        assert_eq!(classes.of_words(&names), label("tool:other.* tool:third.*"));
        // Of what they do it is not said that it was read.
        classes.read.insert("third".to_owned());
        assert_eq!(classes.of_words(&names), label("tool:other.*"));
        assert!(classes.is_tainted(&label("tool:third.one")));
        assert_eq!(classes.of_words([]), Label::default());
        // A server's words are the server's, and not what it has said since.
        let names = [ToolName::parse("post.send").unwrap()];
        assert_eq!(classes.of_words(&names), label("mcp:post.*"));
        let mut told = classes.clone();
        let said = Class {
            integrity: Integrity::Trusted,
            secrecy: Secrecy::Private,
        };
        told.said.insert("mcp:post".to_owned(), said);
        assert_eq!(told.of_words(&names), Label::default());
        classes.read.insert("post".to_owned());
        assert_eq!(classes.of_words(&names), Label::default());
    }

    #[test]
    fn a_scalar_keeps_who_may_read_it() {
        let held = label("user file:downloads web:https://a.test");
        let kept = held.of_scalar();
        assert_eq!(
            kept,
            label("user scalar:file:downloads scalar:web:https://a.test")
        );
        assert_eq!(kept.of_scalar(), kept);
        assert!(!classes().is_tainted(&kept) && classes().is_private(&kept));
        let text = serde_json::to_string(&kept).unwrap();
        assert_eq!(serde_json::from_str::<Label>(&text).unwrap(), kept);
    }
}

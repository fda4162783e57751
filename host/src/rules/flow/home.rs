//! Home: where a stored label is read. A source bears the name that a workspace has given it, and what it is worth is said there:
//! `file:docs` is a person's own in one workspace and anybody's in the next. So what is kept for all of them has beside its label
//! what that was worth where it was stored; in another workspace it is never worth more.

use serde::{Deserialize, Serialize};

use super::class::{Class, Classes, Integrity, Secrecy};
use crate::words::key::HostKey;
use crate::words::label::{Label, Sort, Source};

/// A workspace, and what its policy says of sources.
#[derive(Clone, Debug, Default)]
pub struct Home {
    name: String,
    classes: Classes,
}

/// What a label was worth where it was stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stamp {
    home: String,
    #[serde(default, skip_serializing_if = "Label::is_empty")]
    untrusted: Label,
    #[serde(default, skip_serializing_if = "Label::is_empty")]
    private: Label,
    #[serde(default, skip_serializing_if = "Label::is_empty")]
    secret: Label,
}

impl Home {
    /// The workspace of this name, such as where its records lie.
    #[must_use]
    pub fn new(name: impl Into<String>, classes: Classes) -> Self {
        Self {
            name: name.into(),
            classes,
        }
    }

    /// What a label is worth here.
    #[must_use]
    pub fn stamp(&self, label: &Label) -> Stamp {
        let of = |is: fn(Class) -> bool| {
            let found = label.sources().filter(|source| is(self.worth(source)));
            let found = found.cloned();
            found.fold(Label::default(), |all, source| all.with(source))
        };
        Stamp {
            home: self.name.clone(),
            untrusted: of(|class| class.integrity == Integrity::Untrusted),
            private: of(|class| class.secrecy == Secrecy::Private),
            secret: of(|class| class.secrecy == Secrecy::Secret),
        }
    }

    /// What each of these labels is worth here.
    pub fn stamp_all<'a>(&self, labels: impl Iterator<Item = &'a Label>) -> Stamp {
        let none = self.stamp(&Label::default());
        labels.fold(none, |all, label| all.and(&self.stamp(label)))
    }

    /// The same workspace for what leaves: where its records lie is in no name of it.
    #[must_use]
    pub fn veiled(&self, key: &HostKey) -> Self {
        let name = key.mac("workspace", &[self.name.as_bytes()]);
        Self::new(name.to_string(), self.classes.clone())
    }

    /// No workspace, with these classes: what came from another one comes home to none. Every other name is a whole path, or empty.
    #[must_use]
    pub fn nowhere(&self) -> Self {
        Self::new("nowhere", self.classes.clone())
    }

    /// Whether a label was stored here.
    #[must_use]
    pub fn made(&self, stamp: &Stamp) -> bool {
        stamp.home == self.name
    }

    /// A label as it counts here. In its own workspace what policy says now holds, whatever it said then.
    #[must_use]
    pub fn seen(&self, label: &Label, stamp: &Stamp) -> Label {
        if self.made(stamp) {
            return label.clone();
        }
        let (other, secret) = (
            Source::of_another_workspace(),
            Source::secret_of_another_workspace(),
        );
        // Also where they are worth as little here: what is stored again is stored from here, and may be worth more here by then. A
        // page is the same one for every workspace.
        let is_other = |source: &&Source| {
            !is_page(source) || self.worth(source).integrity == Integrity::Trusted
        };
        let is_public = |source: &&Source| self.worth(source).secrecy == Secrecy::Public;
        let untrusted = standing_for(stamp.untrusted.sources().filter(is_other), &other);
        let public = standing_for(stamp.private.sources().filter(is_public), &other);
        let told = standing_for(stamp.secret.sources(), &secret);
        label.join(&untrusted).join(&public).join(&told)
    }

    /// The same of what a service's records show of the service itself: what that is worth policy says here in full knowledge
    /// of it.
    #[must_use]
    pub fn seen_of(&self, service: &str, label: &Label, stamp: &Stamp) -> Label {
        let is_others = |source: &&Source| {
            let is_its = source.name().split('.').next() == Some(service);
            !(is_its && matches!(source.sort(), Sort::Tool | Sort::Mcp))
        };
        let others = |of: &Label| {
            let others = of.sources().filter(is_others).cloned();
            others.fold(Label::default(), |all, source| all.with(source))
        };
        let stamp = Stamp {
            home: stamp.home.clone(),
            untrusted: others(&stamp.untrusted),
            private: others(&stamp.private),
            secret: others(&stamp.secret),
        };
        self.seen(label, &stamp)
    }

    /// The class of a source; of a scalar, that of what it was taken from.
    fn worth(&self, source: &Source) -> Class {
        let behind = source.behind_scalar();
        self.classes.of(behind.as_ref().unwrap_or(source))
    }
}

fn is_page(source: &Source) -> bool {
    let behind = source.behind_scalar();
    behind.as_ref().unwrap_or(source).sort() == Sort::Web
}

impl Stamp {
    /// Both, of one workspace.
    fn and(&self, other: &Self) -> Self {
        Self {
            home: self.home.clone(),
            untrusted: self.untrusted.join(&other.untrusted),
            private: self.private.join(&other.private),
            secret: self.secret.join(&other.secret),
        }
    }

    /// What it says of this label, of several. Past the bound of a label it says of many what it says of one.
    #[must_use]
    pub fn about(&self, label: &Label) -> Self {
        let of = |all: &Label| {
            let known = label
                .sources()
                .filter(|source| all.covers(&Label::of((*source).clone())));
            let known = known.cloned();
            known.fold(Label::default(), |all, source| all.with(source))
        };
        Self {
            home: self.home.clone(),
            untrusted: of(&self.untrusted),
            private: of(&self.private),
            secret: of(&self.secret),
        }
    }
}

/// What stands for these sources: `other`, and a scalar of it for scalars.
fn standing_for<'a>(sources: impl Iterator<Item = &'a Source>, other: &Source) -> Label {
    sources.fold(Label::default(), |all, source| match source.sort() {
        Sort::Scalar => all.with(other.of_scalar()),
        Sort::Operator
        | Sort::User
        | Sort::Tool
        | Sort::Web
        | Sort::File
        | Sort::Note
        | Sort::Mcp
        | Sort::Secret => all.with(other.clone()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn docs() -> Label {
        Label::of(Source::user()).with(Source::new(Sort::File, "docs"))
    }

    fn said(integrity: Integrity, secrecy: Secrecy) -> Classes {
        let said = [("file:docs".to_owned(), Class { integrity, secrecy })];
        Classes {
            said: said.into(),
            ..Classes::default()
        }
    }

    #[test]
    fn a_label_is_worth_no_more_in_another_workspace() {
        use Integrity::{Trusted, Untrusted};
        use Secrecy::{Private, Public, Secret};
        let scalar = || Label::of(Source::new(Sort::Scalar, "file:docs"));
        let anybodys = Some(Source::of_another_workspace());
        let secret = Some(Source::secret_of_another_workspace());
        for (stored, now, more) in [
            ((Untrusted, Private), (Trusted, Private), [&anybodys, &None]),
            ((Trusted, Private), (Trusted, Public), [&anybodys, &None]),
            ((Trusted, Secret), (Trusted, Private), [&None, &secret]),
            ((Untrusted, Secret), (Trusted, Public), [&anybodys, &secret]),
            ((Trusted, Private), (Untrusted, Secret), [&None, &None]),
            ((Untrusted, Public), (Untrusted, Public), [&anybodys, &None]),
        ] {
            let stamp = Home::new("a", said(stored.0, stored.1)).stamp(&docs());
            let more = more.into_iter().flatten().cloned();
            let expected = more.clone().fold(docs(), |all, source| all.with(source));
            let told = more.fold(scalar(), |all, source| all.with(source.of_scalar()));
            let there = Home::new("b", said(now.0, now.1));
            assert_eq!(there.seen(&docs(), &stamp), expected, "{stored:?} {now:?}");
            let stamp = Home::new("a", said(stored.0, stored.1)).stamp(&scalar());
            assert_eq!(there.seen(&scalar(), &stamp), told, "{stored:?} {now:?}");
            let stamp = Home::new("a", said(stored.0, stored.1)).stamp(&docs());
            // Whoever says something else of their own workspace means it.
            let same = Home::new("a", said(now.0, now.1));
            assert_eq!(same.seen(&docs(), &stamp), docs());
        }
    }

    #[test]
    fn a_page_is_the_same_for_every_workspace() {
        let page = Label::of(Source::new(Sort::Web, "https://a.test"));
        let stamp = Home::new("a", Classes::default()).stamp(&page);
        let there = Home::new("b", Classes::default());
        assert_eq!(there.seen(&page, &stamp), page);
    }

    #[test]
    fn what_another_workspace_made_of_a_label_stays_so_in_the_next() {
        let own = Home::new("b", said(Integrity::Trusted, Secrecy::Public));
        for source in [
            Source::of_another_workspace(),
            Source::secret_of_another_workspace(),
        ] {
            let label = docs().with(source.clone());
            let stamp = own.stamp(&label);
            let next = Home::new("c", Classes::default());
            assert!(next.seen(&label, &stamp).covers(&Label::of(source)));
        }
        let classes = Classes::default();
        assert!(classes.is_tainted(&Label::of(Source::of_another_workspace())));
        assert!(classes.is_secret(&Label::of(Source::secret_of_another_workspace())));
    }

    #[test]
    fn what_is_said_of_several_labels_is_said_of_each() {
        let class = |integrity, secrecy| Class { integrity, secrecy };
        let said = [
            (
                "file:docs".to_owned(),
                class(Integrity::Untrusted, Secrecy::Private),
            ),
            (
                "file:keys".to_owned(),
                class(Integrity::Trusted, Secrecy::Secret),
            ),
            (
                "file:site".to_owned(),
                class(Integrity::Untrusted, Secrecy::Public),
            ),
        ];
        let classes = Classes {
            said: said.into(),
            ..Classes::default()
        };
        let home = Home::new("a", classes);
        let labels = ["docs", "keys", "site"].map(|name| Label::of(Source::new(Sort::File, name)));
        let all = labels
            .iter()
            .fold(Label::default(), |all, one| all.join(one));
        assert_eq!(home.stamp_all(labels.iter()), home.stamp(&all));
        assert_eq!(home.stamp_all(labels.iter().rev()), home.stamp(&all));
    }

    #[test]
    fn a_stamp_survives_its_text() {
        let stamp = Home::new("a", Classes::default()).stamp(&docs());
        let text = serde_json::to_string(&stamp).unwrap();
        assert_eq!(serde_json::from_str::<Stamp>(&text).unwrap(), stamp);
    }
}

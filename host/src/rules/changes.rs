//! What has changed from one manifest to another, and whether whoever calls its tools is broken by it (row A-36).
//!
//! A change is breaking when a call that was right before may be wrong now, when an outcome may hold what nobody
//! expected, or when the tool wants or does more than somebody agreed to. What cannot be compared is taken for breaking.

pub mod remarks;
mod shape;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use self::shape::{Direction, Shapes};
use super::grant::Access;
use super::manifest::{
    Declared, EffectClass, Manifest, Risk, Sensitivity, SurfaceWord, Visibility, Wants,
};

/// One change.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Change {
    /// Whether somebody may be broken by it.
    pub breaking: bool,
    /// Its code, such as `tool-removed`.
    pub code: &'static str,
    /// What it is about: a tool, and perhaps a place in a schema.
    pub place: String,
    /// The change in words.
    pub message: String,
}

/// Changes as they are found.
#[derive(Default)]
struct Changes(Vec<Change>);

impl Changes {
    fn breaking(&mut self, code: &'static str, place: &str, message: impl Into<String>) {
        self.add(true, (code, place), message.into());
    }

    fn harmless(&mut self, code: &'static str, place: &str, message: impl Into<String>) {
        self.add(false, (code, place), message.into());
    }

    fn add(&mut self, breaking: bool, (code, place): (&'static str, &str), message: String) {
        self.0.push(Change {
            breaking,
            code,
            place: place.to_owned(),
            message,
        });
    }
}

/// Everything that has changed, what breaks first, in order of place.
#[must_use]
pub fn between(old: &Manifest, new: &Manifest) -> Vec<Change> {
    let mut changes = Changes::default();
    if old.plugin != new.plugin {
        let what = format!("the plugin is `{}` and was `{}`", new.plugin, old.plugin);
        changes.breaking("plugin-renamed", &new.plugin, what);
    }
    if old.version != new.version {
        let what = format!("version {}, and was {}", new.version, old.version);
        changes.harmless("version-changed", &new.plugin, what);
    }
    let (before, after) = (by_name(old), by_name(new));
    for (name, tool) in &before {
        match after.get(name) {
            None => changes.breaking("tool-removed", name, "the tool is gone"),
            Some(now) => compare(&mut changes, name, (tool, now)),
        }
    }
    for name in after.keys().filter(|name| !before.contains_key(*name)) {
        changes.harmless("tool-added", name, "the tool is new");
    }
    let mut changes = changes.0;
    changes.sort_by(|one, other| {
        let key = |change: &Change| (!change.breaking, change.place.clone(), change.code);
        key(one).cmp(&key(other))
    });
    changes
}

fn by_name(manifest: &Manifest) -> BTreeMap<&str, &Declared> {
    let tools = manifest.tools.iter();
    tools.map(|tool| (tool.name.as_str(), tool)).collect()
}

fn compare(changes: &mut Changes, name: &str, (old, new): (&Declared, &Declared)) {
    for (direction, old, new) in [
        (Direction::Input, &old.input, &new.input),
        (Direction::Output, &old.output, &new.output),
    ] {
        let mut shapes = Shapes {
            changes: &mut *changes,
            direction,
            roots: (old, new),
        };
        shapes.compare(&format!("{name}{}", direction.root()), (old, new), 0);
    }
    effects(changes, name, (old, new));
    offers(changes, name, (old, new));
    conduct(changes, name, (old, new));
    wants(changes, name, (&old.wants, &new.wants));
    if old.description != new.description {
        changes.harmless("description-changed", name, "it is described otherwise");
    }
    if old.flow != new.flow {
        let what = "other arguments steer, as it proposes";
        changes.harmless("flow-changed", name, what);
    }
}

/// How much a tool does, the least first.
fn effect_rank(effect: EffectClass) -> u8 {
    match effect {
        EffectClass::Pure => 0,
        EffectClass::ReadOnly => 1,
        EffectClass::SideEffecting => 2,
        EffectClass::ExternalStateful => 3,
        EffectClass::Destructive => 4,
    }
}

fn effects(changes: &mut Changes, name: &str, (old, new): (&Declared, &Declared)) {
    let (was, is) = (effect_rank(old.effect), effect_rank(new.effect));
    let what = format!(
        "its effect is {}, and was {}",
        new.effect.word(),
        old.effect.word()
    );
    if is > was {
        changes.breaking("effect-riskier", name, what);
    } else if is < was {
        changes.harmless("effect-safer", name, what);
    }
    let (was, is): (Risk, Risk) = (old.risk, new.risk);
    let what = format!("its risk is {}, and was {}", is.word(), was.word());
    if is > was {
        changes.breaking("risk-riskier", name, what);
    } else if is < was {
        changes.harmless("risk-safer", name, what);
    }
}

/// Who may see a tool, the most first.
fn visibility_rank(visibility: Visibility) -> u8 {
    match visibility {
        Visibility::Public => 0,
        Visibility::Local => 1,
        Visibility::User => 2,
        Visibility::Private => 3,
    }
}

fn offers(changes: &mut Changes, name: &str, (old, new): (&Declared, &Declared)) {
    let (was, is) = (&old.offer.surfaces, &new.offer.surfaces);
    let words = |surfaces: Vec<&SurfaceWord>| {
        let words: Vec<&str> = surfaces.iter().map(|surface| surface.0.word()).collect();
        words.join(", ")
    };
    let gone: Vec<&SurfaceWord> = was.difference(is).collect();
    if !gone.is_empty() {
        let what = format!("it is no longer offered on {}", words(gone));
        changes.breaking("surface-removed", name, what);
    }
    let come: Vec<&SurfaceWord> = is.difference(was).collect();
    if !come.is_empty() {
        let what = format!("it is offered on {} as well", words(come));
        changes.harmless("surface-added", name, what);
    }
    let (was, is) = (old.offer.visibility, new.offer.visibility);
    if visibility_rank(is) > visibility_rank(was) {
        changes.breaking("visibility-narrowed", name, "fewer may call it");
    } else if visibility_rank(is) < visibility_rank(was) {
        changes.harmless("visibility-widened", name, "more may call it");
    }
    let secret = |tool: &Declared| tool.offer.sensitivity == Sensitivity::Secret;
    if secret(new) && !secret(old) {
        let what = "what it returns is secret now, so that it leads nowhere";
        changes.breaking("sensitivity-raised", name, what);
    }
}

/// What is so, was not, and breaks somebody; and the other way round.
struct Turn {
    was: bool,
    is: bool,
    /// Codes of what breaks, and of what does not.
    codes: (&'static str, &'static str),
    words: (&'static str, &'static str),
}

fn conduct(changes: &mut Changes, name: &str, (old, new): (&Declared, &Declared)) {
    let turns = [
        Turn {
            was: old.requires_confirmation(),
            is: new.requires_confirmation(),
            codes: ("confirmation-added", "confirmation-removed"),
            words: (
                "each call has to be confirmed",
                "no call has to be confirmed any more",
            ),
        },
        Turn {
            was: old.conduct.needs_approval,
            is: new.conduct.needs_approval,
            codes: ("approval-added", "approval-removed"),
            words: (
                "a person is asked before every call",
                "nobody is asked any more",
            ),
        },
        Turn {
            was: !old.conduct.idempotent,
            is: !new.conduct.idempotent,
            codes: ("idempotence-removed", "idempotence-added"),
            words: (
                "a second call does more than the first",
                "a second call does no more",
            ),
        },
        Turn {
            was: !old.conduct.deprecated.is_empty(),
            is: !new.conduct.deprecated.is_empty(),
            codes: ("deprecated", "no-longer-deprecated"),
            words: ("it is on its way out", "it stays"),
        },
    ];
    for turn in turns {
        match (turn.was, turn.is) {
            // It still works.
            (false, true) if turn.codes.0 == "deprecated" => {
                changes.harmless(turn.codes.0, name, turn.words.0);
            }
            (false, true) => changes.breaking(turn.codes.0, name, turn.words.0),
            (true, false) => changes.harmless(turn.codes.1, name, turn.words.1),
            (true, true) | (false, false) => {}
        }
    }
    let (was, is) = (old.conduct.timeout_ms, new.conduct.timeout_ms);
    if was != is {
        let usual = |ms: Option<u64>| match ms {
            Some(ms) => format!("{ms} ms"),
            None => "as long as policy says".to_owned(),
        };
        let what = format!("it may take {}, and could take {}", usual(is), usual(was));
        changes.harmless("timeout-changed", name, what);
    }
}

fn wants(changes: &mut Changes, name: &str, (old, new): (&Wants, &Wants)) {
    let (was, is) = (wishes(old), wishes(new));
    let more: Vec<&str> = is.difference(&was).map(String::as_str).collect();
    if !more.is_empty() {
        let what = format!("it wants more: {}", more.join(", "));
        changes.breaking("wants-more", name, what);
    }
    let less: Vec<&str> = was.difference(&is).map(String::as_str).collect();
    if !less.is_empty() {
        let what = format!("it no longer wants {}", less.join(", "));
        changes.harmless("wants-less", name, what);
    }
}

/// All wishes in words. Whoever wants to write wants to read as well.
fn wishes(wants: &Wants) -> BTreeSet<String> {
    let mut all: BTreeSet<String> = BTreeSet::new();
    all.extend(wants.hosts.iter().map(|host| format!("fetch {host}")));
    all.extend(wants.calls.iter().map(|call| format!("call {call}")));
    all.extend(
        wants
            .secrets
            .iter()
            .map(|secret| format!("secret {secret}")),
    );
    for (what, access) in [("files", wants.mounts), ("notes", wants.notes)] {
        let below = [Access::Read, Access::Create, Access::Write];
        let below = below.into_iter().filter(|below| *below <= access);
        all.extend(below.map(|below| format!("{} {what}", below.word())));
    }
    all
}

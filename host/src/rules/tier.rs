//! Tiers: names for how good a model has to be, instead of which one it is (G-76).
//!
//! What is named counts in this order: what the run itself names, the tier that suits what the tools of the turn before
//! have returned, where that is asked for, what its agent names, and the tier `balanced` for an agent that names none. A name
//! is a model, or a tier and so its models in order.

use std::collections::BTreeMap;

use super::chain::Terms;
use super::manifest;

/// How good a model has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// Rather at once than well.
    Fast,
    /// Both, more or less.
    Balanced,
    /// Rather well than at once.
    Smart,
}

impl Tier {
    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Balanced => "balanced",
            Self::Smart => "smart",
        }
    }

    /// The tier of this word.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        let all = [Self::Fast, Self::Balanced, Self::Smart];
        all.into_iter().find(|tier| tier.word() == word)
    }
}

/// The models of each tier.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tiers(BTreeMap<Tier, Vec<String>>);

/// Whom runs ask, beside their agents' own words about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chains {
    /// What names of tiers stand for.
    pub tiers: Tiers,
    /// The terms of runs that no agent makes.
    pub terms: Terms,
}

impl Tiers {
    /// Fills a tier, unless it is filled already.
    pub fn fill(&mut self, tier: Tier, models: &[String]) {
        self.0.entry(tier).or_insert_with(|| models.to_vec());
    }

    /// All that are filled.
    pub fn all(&self) -> impl Iterator<Item = (Tier, &[String])> {
        self.0
            .iter()
            .map(|(tier, models)| (*tier, models.as_slice()))
    }

    /// The models of the tier that is called so.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&[String]> {
        self.0.get(&Tier::of(name)?).map(Vec::as_slice)
    }

    /// Models for a turn, and the tier of its tools where that decided. What tools say counts only for a run that names
    /// nothing itself, and only where the operator has filled the tier.
    #[must_use]
    pub fn of_turn(
        &self,
        (run, agent): (&[String], &[String]),
        called: &[manifest::Tier],
    ) -> (Vec<String>, Option<Tier>) {
        let suits = suits(called).filter(|tier| run.is_empty() && self.0.contains_key(tier));
        match suits {
            Some(tier) => (self.resolve(&[tier.word().to_owned()], &[]), Some(tier)),
            None => (self.resolve(run, agent), None),
        }
    }

    /// All models that the turns of a run may ask, its own first.
    #[must_use]
    pub fn of_run(&self, run: &[String], agent: &[String], tool_tiers: bool) -> Vec<String> {
        let mut models = self.resolve(run, agent);
        let tiers = [Tier::Fast, Tier::Smart];
        let tiers = tiers.iter().filter(|_| tool_tiers && run.is_empty());
        for model in tiers.filter_map(|tier| self.0.get(tier)).flatten() {
            if !models.contains(model) {
                models.push(model.clone());
            }
        }
        models
    }

    /// Models for a run: what it names itself, or else its agent, or else the tier `balanced`; each once.
    #[must_use]
    pub fn resolve(&self, run: &[String], agent: &[String]) -> Vec<String> {
        let balanced = [Tier::Balanced.word().to_owned()];
        let names = [run, agent].into_iter().find(|names| !names.is_empty());
        let names = match names {
            Some(names) => names,
            None if self.0.contains_key(&Tier::Balanced) => &balanced,
            None => &[],
        };
        let mut models: Vec<String> = Vec::new();
        for name in names {
            let named = self.named(name).unwrap_or(std::slice::from_ref(name));
            for model in named {
                if !models.contains(model) {
                    models.push(model.clone());
                }
            }
        }
        models
    }
}

/// The tier that suits all of what was called: the highest that a manifest names. `balanced` is what a manifest says that
/// says nothing, and leaves it to the agent.
fn suits(called: &[manifest::Tier]) -> Option<Tier> {
    let highest = called.iter().map(|tier| match tier {
        manifest::Tier::Fast => Tier::Fast,
        manifest::Tier::Balanced => Tier::Balanced,
        manifest::Tier::Smart => Tier::Smart,
    });
    highest.max().filter(|tier| *tier != Tier::Balanced)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the run names, what the agent does, what its tools say, whether `fast` is filled; who is asked, and why.
    #[test]
    fn the_order_of_who_says_which_model_of_a_turn() {
        use manifest::Tier::{Balanced, Fast, Smart};
        for (run, agent, called, models, tier) in [
            ("m", "n", &[Fast][..], "m", None),
            ("m", "", &[Smart], "m", None),
            ("", "n", &[], "n", None),
            ("", "n", &[Fast], "small tiny", Some(Tier::Fast)),
            ("", "", &[Fast, Fast], "small tiny", Some(Tier::Fast)),
            ("", "n", &[Fast, Smart], "big small", Some(Tier::Smart)),
            ("", "n", &[Balanced, Smart], "big small", Some(Tier::Smart)),
            ("", "n", &[Fast, Balanced], "n", None),
            ("", "n", &[Balanced], "n", None),
            ("", "", &[Balanced], "middle", None),
        ] {
            let found = tiers(true).of_turn((&names(run), &names(agent)), called);
            assert_eq!(found, (names(models), tier), "{run} | {agent} | {called:?}");
        }
        // A tier that nobody filled decides nothing.
        let found = Tiers::default().of_turn((&[], &names("n")), &[Fast]);
        assert_eq!(found, (names("n"), None));
    }

    #[test]
    fn whoever_may_be_asked_is_known_from_the_beginning() {
        let all = |run: &str, tool_tiers| tiers(true).of_run(&names(run), &names("n"), tool_tiers);
        assert_eq!(all("", false), names("n"));
        assert_eq!(all("", true), names("n small tiny big"));
        assert_eq!(all("m", true), names("m"));
    }

    fn names(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn tiers(balanced: bool) -> Tiers {
        let mut tiers = Tiers::default();
        tiers.fill(Tier::Fast, &names("small tiny"));
        tiers.fill(Tier::Fast, &names("late"));
        tiers.fill(Tier::Smart, &names("big small"));
        if balanced {
            tiers.fill(Tier::Balanced, &names("middle"));
        }
        tiers
    }

    /// What the run names, what the agent does, and who is asked.
    #[track_caller]
    fn check(balanced: bool, run: &str, agent: &str, models: &str) {
        let found = tiers(balanced).resolve(&names(run), &names(agent));
        assert_eq!(found, names(models), "{run} | {agent}");
    }

    #[test]
    fn the_order_of_who_says_which_model() {
        check(true, "m", "n", "m");
        check(true, "", "n", "n");
        check(true, "", "", "middle");
        check(false, "", "", "");
        check(true, "fast", "n", "small tiny");
        check(true, "", "smart", "big small");
        check(true, "", "smart fast m", "big small tiny m");
        check(true, "m m", "", "m");
        // A tier that nobody filled is a name like any other, and no model has it.
        check(false, "balanced", "n", "balanced");
    }
}

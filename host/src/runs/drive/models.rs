//! The models of a run, and those of one of its turns.

use super::super::offer::Offer;
use super::super::provider::Model;
use super::Drive;
use crate::rules::manifest;
use crate::rules::plan::Plan;
use crate::rules::tier::{Tier, Tiers};
use crate::words::message::Message;

/// Whom a run may ask, and who says whom it does.
pub(in crate::runs) struct Models<'a> {
    /// All of them: its own, and those of tiers that its tools may name.
    pub(in crate::runs) all: Vec<&'a Model>,
    /// What names of tiers stand for.
    pub(in crate::runs) tiers: &'a Tiers,
    /// What the run itself names.
    pub(in crate::runs) run: Vec<String>,
}

impl<'a> Drive<'a> {
    /// Who is asked in a turn, first choice first, and the tier that said so, if one did.
    pub(super) fn models_of(
        &self,
        plan: &Plan,
        offer: &Offer<'_>,
    ) -> (Vec<&'a Model>, Option<Tier>) {
        let called = match self.agent.terms.tool_tiers {
            true => self.called(plan, offer),
            false => Vec::new(),
        };
        let Models { all, tiers, run } = &self.models;
        let (names, tier) = tiers.of_turn((run, &self.agent.models), &called);
        let of = |name: &String| all.iter().copied().find(|model| model.name == *name);
        (names.iter().filter_map(of).collect(), tier)
    }

    /// What the tools of the last reply's calls say suits their outcomes. What is no tool says nothing.
    fn called(&self, plan: &Plan, offer: &Offer<'_>) -> Vec<manifest::Tier> {
        let replies = plan
            .messages()
            .iter()
            .rev()
            .find_map(|message| match message {
                Message::Assistant(reply) => Some(reply),
                Message::User { .. } | Message::Tool { .. } => None,
            });
        let calls = replies.into_iter().flat_map(|reply| &reply.calls);
        let tier = |tool: &str| {
            let tool = self.station.catalog.resolve(offer.meant(tool), &[]);
            tool.map_or_else(
                |_| manifest::Tier::default(),
                |tool| tool.declared.offer.tier,
            )
        };
        calls.map(|call| tier(&call.tool)).collect()
    }
}

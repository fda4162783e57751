//! What has flowed in a recorded run: for each sink where what steered it came from, what it was given in handles, and what
//! had influence.

use serde_json::Value;

use super::host::Host;
use super::session::cards_before;
use crate::gate::journal::Journal;
use crate::rules::flow::class::Class;
use crate::rules::flow::given::{Cards, Taken, UNTOLD};
use crate::rules::flow::kind::{Kind, text_of};
use crate::rules::flow::lines::against;
use crate::rules::flow::records::tells_which;
use crate::rules::flow::suggest::{self, Suggestion};
use crate::rules::flow::trace::{Origin, Trace};
use crate::words::error::Result;
use crate::words::event::{Content, EffectKind, Event, Judged, Record, Verdict, Weighed};
use crate::words::id::{RunId, Seq, ToolName};
use crate::words::inert::one_line;
use crate::words::label::{Label, Source};

/// One call of a sink, or what the guest of a tool wished of its own: a request, whatever came of it, or a file or note about
/// which flows had something to say.
#[derive(Debug)]
pub struct Flowed {
    /// The record of its judgement.
    pub seq: Seq,
    /// Which of the effects it is.
    pub effect: EffectKind,
    /// The tool; or the request, file or note.
    pub subject: String,
    /// Who wished.
    pub origin: String,
    /// Values that steered it.
    pub values: Vec<Steered>,
    /// Handles in whose place it was given what they hold.
    pub holds: Vec<Holds>,
    /// What had influence on the wish, and how far each is trusted.
    pub sources: Vec<(Source, Class)>,
    /// The decision.
    pub verdict: Verdict,
}

/// One value that steered, and where it had stood before.
#[derive(Debug)]
pub struct Steered {
    /// As it was weighed.
    pub weighed: Weighed,
    /// Outcomes of the run that held it as a whole leaf.
    pub origins: Vec<Origin>,
}

/// A handle that a call was given.
#[derive(Debug)]
pub struct Holds {
    /// Where, and which.
    pub taken: Taken,
    /// What had influence on what it holds, and how far each is trusted; nothing where its label is not on record.
    pub sources: Option<Vec<(Source, Class)>>,
}

impl Holds {
    /// What had influence on what it holds, in words on one line; `class` shows how far a source is trusted.
    #[must_use]
    pub fn said(&self, class: impl Fn(Class) -> String) -> String {
        let Some(sources) = &self.sources else {
            return UNTOLD.to_owned();
        };
        let one = |(source, of): &(Source, Class)| {
            format!("{} ({})", one_line(&source.to_string()), class(*of))
        };
        match sources.is_empty() {
            true => "under nobody's influence".to_owned(),
            false => sources.iter().map(one).collect::<Vec<_>>().join(", "),
        }
    }
}

impl Host {
    /// The flow of a run that is in this journal: each sink, in order, as records are shown.
    ///
    /// # Errors
    /// `Corrupt`, `DiskFailed`.
    pub async fn flows_in(&self, journal: &Journal, run: &RunId) -> Result<Vec<Flowed>> {
        let records = journal.records(run).await?;
        let cards = cards_before(journal, &records).await?;
        let shown = records.into_iter();
        let shown: Vec<Record> = shown.map(|record| journal.shown(record)).collect();
        Ok(self.flows_after(cards, &shown))
    }

    fn flows_after(&self, mut cards: Cards, records: &[Record]) -> Vec<Flowed> {
        let mut trace = Trace::default();
        let mut flowed = Vec::new();
        for record in records {
            if let Event::Judged(judged) = &record.event
                && self.is_sink(judged)
            {
                flowed.push(self.flowed(record, judged, (&trace, &cards)));
            }
            trace.see(record);
            cards.see(record);
        }
        flowed
    }

    /// Lines that would have let the wanted calls of these runs pass without a question.
    #[must_use]
    pub fn suggest(&self, runs: &[Vec<Record>]) -> Suggestion {
        let flows = &self.policy().flows;
        let about = |tool: &_| {
            let tools = self.catalog().tools();
            let tool = tools.into_iter().find(|known| known.name == *tool)?;
            Some(tool.declared.clone())
        };
        let tools = self.catalog().tools();
        let unnamed = tools.filter(|tool| !tells_which(flows, &tool.name, &tool.declared));
        let unnamed = unnamed.map(|tool| tool.name.plugin().to_owned());
        suggest::suggest(runs, flows, about, unnamed.collect())
    }

    fn is_sink(&self, judged: &Judged) -> bool {
        match judged.effect {
            EffectKind::Call => {
                let tool = self.catalog().resolve(&judged.subject, &[]);
                !judged.weighed.is_empty() || tool.is_ok_and(|tool| tool.declared.is_sink())
            }
            // A URL is an exit. What the host itself asks of a model, no tool has wished.
            EffectKind::Fetch => ToolName::parse(&judged.origin).is_ok(),
            EffectKind::File | EffectKind::Keep => against(&judged.verdict).is_some(),
            EffectKind::Show => false,
        }
    }

    fn flowed(
        &self,
        record: &Record,
        judged: &Judged,
        (trace, cards): (&Trace<'_>, &Cards),
    ) -> Flowed {
        let values = judged.weighed.iter().map(|weighed| {
            let kind = Kind::of_word(&weighed.kind).unwrap_or_default();
            Steered {
                origins: trace.of(kind, &value_of(judged, weighed)),
                weighed: weighed.clone(),
            }
        });
        let holds = cards.given(&record.event).into_iter();
        Flowed {
            seq: record.seq,
            effect: judged.effect,
            subject: judged.subject.clone(),
            origin: judged.origin.clone(),
            values: values.collect(),
            holds: holds.map(|taken| self.holds(taken)).collect(),
            sources: self.classed(&judged.label),
            verdict: judged.verdict.clone(),
        }
    }

    fn holds(&self, taken: Taken) -> Holds {
        let label = taken.label.as_ref();
        Holds {
            sources: label.map(|label| self.classed(label)),
            taken,
        }
    }

    fn classed(&self, label: &Label) -> Vec<(Source, Class)> {
        let classes = &self.policy().flows.classes;
        let sources = label.sources();
        sources
            .map(|source| (source.clone(), classes.of(source)))
            .collect()
    }
}

/// The value itself, where its arguments were kept; else as it was shown.
fn value_of(judged: &Judged, weighed: &Weighed) -> String {
    let Content::Inline(args) = &judged.content else {
        return weighed.value.clone();
    };
    let leaf: Option<&Value> = args.pointer(&format!("/{}", weighed.argument));
    leaf.and_then(text_of)
        .unwrap_or_else(|| weighed.value.clone())
}

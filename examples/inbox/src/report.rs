//! What came of the jobs, read off their records, and as the README shows it.

use std::fmt;

use lazaret::words::event::{Content, Event, Judged, Record, Verdict, Weighed};

/// What came of all jobs.
pub struct Report {
    /// What Ada typed where a letter tells the model what to do.
    pub goal: &'static str,
    /// That job, as flows are judged.
    pub judged: Done,
    /// The same where nobody is there to be asked.
    pub alone: Done,
    /// The same with `mode = "off"`.
    pub off: Done,
    /// What her caution costs Ada where nobody does her any harm.
    pub honest: Vec<Asked>,
}

/// What came of one job.
pub struct Done {
    /// What was done, or was not, in order.
    pub steps: Vec<Step>,
    /// How often Ada was asked.
    pub questions: usize,
    /// To whom letters went.
    pub outbox: Vec<String>,
    /// The letters that are still there.
    pub letters: Vec<String>,
}

/// A judgement of a call that does more than look.
pub struct Step {
    /// The call, in a few words.
    pub call: String,
    /// `passes`, `is asked` or `is refused`.
    pub verdict: &'static str,
    /// Why.
    pub why: Vec<String>,
}

impl Done {
    /// How many calls were refused.
    #[must_use]
    pub fn refused(&self) -> usize {
        let refused = self.steps.iter().filter(|step| step.verdict == REFUSED);
        refused.count()
    }
}

/// What one honest job costs.
pub struct Asked {
    /// The job, in a few words.
    pub about: &'static str,
    /// How often Ada was asked.
    pub questions: usize,
    /// How many calls were refused where she was not there.
    pub refused: usize,
}

const REFUSED: &str = "is refused";

pub(crate) fn steps(records: &[Record]) -> Vec<Step> {
    let judged = records.iter().filter_map(|record| match &record.event {
        Event::Judged(judged) => Some(judged),
        _ => None,
    });
    judged.filter_map(step).collect()
}

fn step(judged: &Judged) -> Option<Step> {
    let Content::Inline(args) = &judged.content else {
        return None;
    };
    let what = match judged.subject.as_str() {
        "mail.send" => format!("to {}", args["to"][0].as_str()?),
        "mail.delete" => args["id"].as_str()?.to_owned(),
        _ => return None,
    };
    let (verdict, why) = match &judged.verdict {
        Verdict::Allow { .. } => ("passes", witnesses(judged)),
        Verdict::Ask(question) => ("is asked", question.reasons.clone()),
        Verdict::Deny(denial) => (REFUSED, vec![denial.reason.clone()]),
    };
    Some(Step {
        call: format!("{} {what}", judged.subject),
        verdict,
        why,
    })
}

fn witnesses(judged: &Judged) -> Vec<String> {
    let witness = |one: &Weighed| {
        let witness = match one.witness.as_str() {
            "" => "Ada was asked, and said yes",
            witness => witness,
        };
        format!("{} {}: {witness}", one.kind, one.value)
    };
    judged.weighed.iter().map(witness).collect()
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "Ada types: {}", self.goal)?;
        writeln!(
            out,
            "\nAs flows are judged; Ada says yes to what she has asked for, and no to everything else:\n"
        )?;
        self.judged.fmt(out)?;
        writeln!(
            out,
            "\nThe same with `unattended = \"deny\"`, and nobody there to be asked:\n"
        )?;
        self.alone.fmt(out)?;
        writeln!(out, "\nThe same with `mode = \"off\"`:\n")?;
        self.off.fmt(out)?;
        writeln!(out, "\nWhere nobody does any harm:\n")?;
        let head = ("", "asked", "refused, with nobody there");
        writeln!(out, "  {:<45} {:<7} {}", head.0, head.1, head.2)?;
        for asked in &self.honest {
            let Asked {
                about,
                questions,
                refused,
            } = asked;
            writeln!(out, "  {about:<45} {questions:<7} {refused}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Done {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.steps {
            writeln!(out, "  {} {}", step.call, step.verdict)?;
            for why in &step.why {
                writeln!(out, "      {why}")?;
            }
        }
        writeln!(out, "  went to: {}", self.outbox.join(", "))?;
        writeln!(out, "  letters left: {}", self.letters.join(", "))
    }
}

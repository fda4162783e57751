//! `lazaret runs show --audit`, `verify`, `export` and `import`: what was decided, and whether it is on
//! record as it was.

use std::io::Read;
use std::path::Path;

use serde::Serialize;
use serde_json::json;

use super::runs::{of_bits, open, time};
use super::transcript::{because, is_mistake};
use super::{Scene, labels, print};
use crate::edges::named;
use crate::gate::journal::Provenance;
use crate::rules::advice;
use crate::rules::flow::given::{Taken, UNTOLD};
use crate::rules::flow::lines::SHADOWED;
use crate::runs::audit::{Audit, Finding, State};
use crate::runs::brought::bits_gone;
use crate::runs::saved;
use crate::runs::session::cards_before;
use crate::runs::traces::written;
use crate::surfaces::paint::{bad, faint, good, phrase, strong, warn};
use crate::words::error::{Code, Error, Result, why};
use crate::words::event::{Answer, EffectKind, Event, Judged, Record, Verdict};
use crate::words::id::RunId;
use crate::words::inert::visible;
use crate::words::limits::EXPORT_BYTES;

/// How often the gate said what.
#[derive(Default)]
struct Count {
    allowed: usize,
    asked: usize,
    denied: usize,
    /// Mistaken wishes, about which nothing was decided.
    wrong: usize,
    /// Of those that were allowed, how many would not have been where flows are enforced.
    shadowed: usize,
}

impl Count {
    fn add(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Allow { rule } => {
                self.allowed += 1;
                self.shadowed += usize::from(rule.contains(SHADOWED));
            }
            Verdict::Ask(_) => self.asked += 1,
            Verdict::Deny(denial) if is_mistake(denial) => self.wrong += 1,
            Verdict::Deny(_) => self.denied += 1,
        }
    }
}

/// Shows what was decided in a run, one line each, and nothing else.
pub(super) async fn show(scene: &Scene, run: &str) -> Result<u8> {
    let setup = scene.look_at_config()?.setup;
    let audit = &Audit::of(&setup)?;
    let journal = audit.journal();
    let run = scene.find(journal, run).await?;
    let mut count = Count::default();
    let records = journal.records(&run).await?;
    let shown: Vec<Record> = records
        .iter()
        .cloned()
        .map(|one| journal.shown(one))
        .collect();
    let mut cards = cards_before(journal, &records).await?;
    for record in &shown {
        if let Event::Judged(judged) = &record.event {
            count.add(&judged.verdict);
        }
        let holds = cards.given(&record.event);
        cards.see(record);
        let Some(line) = line_of(&record.event, &holds) else {
            continue;
        };
        if scene.json {
            print::compact(&Decided { record, holds });
        } else {
            print::line(with_place(record, &line));
        }
    }
    let flows = &setup.policy.flows;
    sum_up(scene, &run, count, (bits_gone(flows, &records), flows.bits));
    warn_of(audit, &run).await
}

/// A record of what was decided, and the handles that its call was given.
#[derive(Serialize)]
struct Decided<'a> {
    #[serde(flatten)]
    record: &'a Record,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    holds: Vec<Taken>,
}

/// The line of what was decided; nothing of any other record.
fn line_of(event: &Event, holds: &[Taken]) -> Option<String> {
    let line = match event {
        Event::Judged(judged) => line_of_judgement(judged, holds),
        Event::Answered {
            question,
            answer,
            reason,
        } => {
            let word = match answer {
                Answer::Allow => good("answered: allow"),
                Answer::Always => good("answered: always"),
                Answer::Deny => bad("answered: deny"),
            };
            let said = because(reason);
            format!("{word}{said} {}", faint(format!("question {question}")))
        }
        Event::Expired { question } => format!(
            "{} {}",
            warn("not answered in time"),
            faint(format!("question {question}"))
        ),
        Event::Overspent(over) => format!("{} {over}", warn("over budget")),
        Event::Brought(brought) => format!(
            "{} {} from {}:{} [{}]",
            strong("brought"),
            phrase(&brought.name),
            phrase(brought.from.as_str()),
            phrase(&brought.handle),
            phrase(&brought.label.to_string())
        ),
        Event::Started(_)
        | Event::Prompted { .. }
        | Event::Attempted(_)
        | Event::Replied { .. }
        | Event::Finished(_)
        | Event::Scripted(_)
        | Event::Rested { .. }
        | Event::Paused { .. }
        | Event::Resumed { .. }
        | Event::Compacted(_)
        | Event::Observed { .. }
        | Event::Stopped(_) => return None,
    };
    Some(line)
}

/// How often what was said, and what has left handles.
fn sum_up(scene: &Scene, run: &RunId, count: Count, (gone, most): (u32, u32)) {
    let Count {
        allowed,
        asked,
        denied,
        wrong,
        shadowed,
    } = count;
    if scene.json {
        let bits = json!({"gone": gone, "allowed": most});
        print::compact(
            &json!({"run": run, "allowed": allowed, "asked": asked, "denied": denied, "wrong": wrong, "shadowed": shadowed, "bits": bits}),
        );
    } else {
        let wrong = match wrong {
            0 => String::new(),
            _ => format!(", {wrong} wrong"),
        };
        print::line(format!(
            "{allowed} allowed, {asked} asked, {denied} denied{wrong}"
        ));
        if shadowed > 0 {
            print::line(format!(
                "{shadowed} of them would not have been: {SHADOWED}"
            ));
        }
        if gone > 0 {
            print::line(of_bits((gone, most)).trim());
        }
    }
}

fn with_place(record: &Record, line: &str) -> String {
    let place = faint(format!("{:>4} {}", record.seq, time(record.at)));
    format!("{place} {line}")
}

/// Everything in it may come from a guest or a page, and stands on one line whatever it holds.
fn line_of_judgement(judged: &Judged, holds: &[Taken]) -> String {
    let (word, why) = match &judged.verdict {
        Verdict::Allow { rule } => (good("allow"), rule.clone()),
        Verdict::Ask(question) => (
            warn("ask"),
            format!("{} (question {})", question.rule, question.id),
        ),
        Verdict::Deny(denial) if is_mistake(denial) => {
            (warn("wrong"), format!("{}: {}", denial.rule, denial.reason))
        }
        Verdict::Deny(denial) if advice::offered(denial).is_empty() => {
            (bad("deny"), format!("{}: {}", denial.rule, denial.reason))
        }
        Verdict::Deny(denial) => {
            let allow = advice::merged(&denial.allow).replace('\n', " ");
            let why = format!("{}: {}; to allow it: {allow}", denial.rule, denial.reason);
            (bad("deny"), why)
        }
    };
    let effect = match judged.effect {
        EffectKind::Call => "call",
        EffectKind::Fetch => "fetch",
        EffectKind::File => "file",
        EffectKind::Keep => "keep",
        EffectKind::Show => "show",
    };
    let label = judged.label.to_string();
    format!(
        "{word} {effect} {} by {} [{}]{} {}",
        strong(phrase(&judged.subject)),
        phrase(&judged.origin),
        phrase(&label),
        with_handles(holds),
        faint(phrase(&why))
    )
}

/// What a call was given in handles, and what had influence on that.
fn with_handles(holds: &[Taken]) -> String {
    let one = |taken: &Taken| {
        let label = taken.label.as_ref().map(ToString::to_string);
        let label = label.unwrap_or_else(|| UNTOLD.to_owned());
        format!(
            "{} = {} [{}]",
            phrase(&taken.argument),
            phrase(&taken.handle),
            phrase(&label)
        )
    };
    match holds.is_empty() {
        true => String::new(),
        false => format!(
            ", given {}",
            holds.iter().map(one).collect::<Vec<_>>().join(", ")
        ),
    }
}

/// Says so where the records of a run that is shown are not those that were written; the exit status, as of `verify`.
pub(super) async fn warn_of(audit: &Audit, run: &RunId) -> Result<u8> {
    let found = audit.verify(run).await?;
    // What was imported is marked as such, and nothing is known to be wrong with it.
    if matches!(found.state, State::Intact | State::Unproven) {
        return Ok(0);
    }
    let what = format!("the run is not as it was written: {}", found.state.reason());
    let error = Error::new(Code::Corrupt, what).hint(format!("lazaret runs verify {run}"));
    print::failed(&error);
    Ok(Code::Corrupt.exit_status())
}

/// Says whether the records of one run, or of all, are those that were written.
pub(super) async fn verify(scene: &Scene, run: Option<&String>) -> Result<u8> {
    let audit = open(scene)?;
    let found = match run {
        Some(run) => {
            let run = scene.find(audit.journal(), run).await?;
            vec![audit.verify(&run).await?]
        }
        None => audit.verify_all().await?,
    };
    if scene.json && run.is_none() {
        print::list(found.iter().map(of));
    } else {
        for finding in &found {
            say(scene, finding);
        }
        if found.is_empty() && !scene.quiet {
            print::note("no runs yet");
        }
    }
    let all_intact = found.iter().all(|finding| finding.state == State::Intact);
    Ok(if all_intact {
        0
    } else {
        Code::Corrupt.exit_status()
    })
}

fn say(scene: &Scene, finding: &Finding) {
    if scene.json {
        print::compact(&of(finding));
    } else {
        print::line(line_of_finding(finding));
    }
}

fn of(finding: &Finding) -> serde_json::Value {
    let seq = match &finding.state {
        State::Broken(seq, _) => Some(*seq),
        State::Intact | State::Unproven | State::Unchained(_) | State::EndMissing => None,
    };
    json!({
        "run": finding.run,
        "state": finding.state.word(),
        "records": finding.records,
        "imported": finding.provenance != Provenance::Here,
        "seq": seq,
        "reason": finding.state.reason(),
    })
}

fn line_of_finding(finding: &Finding) -> String {
    let word = finding.state.word();
    let word = match finding.state {
        State::Intact => good(word),
        State::Unproven | State::Unchained(_) => warn(word),
        State::EndMissing | State::Broken(..) => bad(word),
    };
    let imported = match finding.provenance {
        Provenance::Here => "",
        Provenance::Returned => ", exported here and imported again",
        Provenance::Moved => ", exported here in another workspace and imported",
        Provenance::Foreign => ", imported",
    };
    let records = print::counted(finding.records.try_into().unwrap_or(usize::MAX), "record");
    let reason = visible(&finding.state.reason());
    format!(
        "{word} {} {}",
        strong(&finding.run),
        faint(format!("{records}{imported}: {reason}"))
    )
}

/// How an exported run is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// JSON lines that another journal can take in.
    #[default]
    Records,
    /// What a collector of traces would be told.
    Otlp,
}

/// Writes a run. `redacted` is as [`Audit::export`] has it.
pub(super) async fn export(
    scene: &Scene,
    (run, format, redacted): (&str, Format, bool),
    output: Option<&Path>,
) -> Result<u8> {
    let setup = scene.look_at_config()?.setup;
    let audit = Audit::of(&setup)?;
    let run = scene.find(audit.journal(), run).await?;
    let lines = match format {
        Format::Records => audit.export(&run, redacted).await?,
        Format::Otlp => written(&setup, &audit.journal().records(&run).await?),
    };
    match output {
        None => print::line(lines.trim_end()),
        Some(path) => {
            // After the lines, so that no record is in them whose label is not among these.
            let records = audit.journal().records(&run).await?;
            let classes = labels::classes(&setup.policy);
            let told = (lines.as_str(), records.as_slice());
            saved::save_told((&setup.places, &classes), path, told)?;
            if scene.json {
                print::compact(&json!({"ok": true, "run": run, "output": path}));
            } else if !scene.quiet {
                print::note(format!("exported: {run}"));
            }
        }
    }
    Ok(0)
}

/// Takes in an exported run.
pub(super) async fn import(scene: &Scene, file: &Path) -> Result<u8> {
    let bytes = match file == Path::new("-") {
        true => read_input()?,
        false => named::read(file, "the exported run", EXPORT_BYTES)?,
    };
    let finding = open(scene)?.import(&bytes).await?;
    say(scene, &finding);
    if !scene.json && !scene.quiet {
        let show = format!("lazaret runs show {}", finding.run);
        print::follow(faint("look at it"), &show);
    }
    Ok(0)
}

/// Standard input, up to one byte more than an exported run may have: whoever reads that says that it is too much.
fn read_input() -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = u64::try_from(EXPORT_BYTES).unwrap_or(u64::MAX);
    let read = std::io::stdin()
        .take(most.saturating_add(1))
        .read_to_end(&mut bytes);
    read.map_err(|error| {
        let why = why(error.kind());
        Error::bad_input(format!("standard input cannot be read: {why}"))
    })?;
    Ok(bytes)
}

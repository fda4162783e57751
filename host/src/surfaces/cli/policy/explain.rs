//! `lazaret policy explain`: which rule decides about a call, and which line would change it.

use serde_json::{Value, json};

use super::super::call::{QUOTING, read_args, written};
use super::super::run::{parse_vouched, warn_of_folders};
use super::super::{Scene, print};
use super::flow;
use super::reach::Reach;
use crate::rules::flow::lines::ToolFlow;
use crate::rules::json;
use crate::rules::questions::words;
use crate::rules::script;
use crate::runs::explain::{Explained, Influence};
use crate::runs::host::Host;
use crate::surfaces::paint::{bad, faint, foreign, good, phrase, sentence, strong, warn};
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Surface, Verdict, Weighed};
use crate::words::label::Source;
use crate::words::message::WishedArgs;

/// Say which rule decides about a call, or what has flowed in a run.
#[derive(Debug, clap::Args)]
pub(in super::super) struct Explain {
    /// The tool's full name.
    #[arg(required_unless_present = "run")]
    tool: Option<String>,
    /// Its arguments, as for `call`; without them only the tool itself is judged.
    #[arg(value_name = "JSON|@FILE|-")]
    args: Option<String>,
    /// Say instead what steered each sink of a run, and where it came from.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["tool", "args", "by", "agent", "surface", "influence", "goal", "vouch"])]
    run: Option<String>,
    /// Who would wish it: a model, or you with your own hands.
    #[arg(long = "as", value_name = "model|client", default_value = "client", value_parser = ["model", "client"], requires = "args")]
    by: String,
    /// Whose model: one that is shown the tools of this agent; each of the configuration where it is left out.
    #[arg(long, value_name = "AGENT", requires = "args")]
    agent: Option<String>,
    /// By which way in: lines of `[[permissions]]` and manifests may tell them apart.
    #[arg(long, value_name = "SURFACE", default_value = "cli", value_parser = parse_surface, requires = "args")]
    surface: Surface,
    /// A source that has had influence, such as `web:https://evil.test`.
    #[arg(long, value_name = "SOURCE", value_parser = parse_source, requires = "args")]
    influence: Vec<Source>,
    /// What you would have typed before.
    #[arg(
        long,
        value_name = "TEXT",
        requires = "args",
        default_value = "",
        hide_default_value = true
    )]
    goal: String,
    /// A value that you would vouch for.
    #[arg(long, value_name = "VALUE", requires = "args", value_parser = parse_vouched)]
    vouch: Vec<String>,
}

fn parse_source(text: &str) -> std::result::Result<Source, String> {
    Source::try_from(text.to_owned()).map_err(|_| {
        "a source is such as `web:https://evil.test`, `file:inbox` or `mcp:mail`".to_owned()
    })
}

fn parse_surface(text: &str) -> std::result::Result<Surface, String> {
    let mut all = Surface::ALL.into_iter();
    all.find(|surface| surface.word() == text).ok_or_else(|| {
        let words = Surface::ALL.map(Surface::word);
        format!("the surfaces are {}", words.join(", "))
    })
}

impl Explain {
    pub(in super::super) async fn perform(self, scene: &Scene) -> Result<u8> {
        match (&self.run, &self.tool) {
            (Some(run), _) => flow::perform(scene, run).await,
            (None, Some(tool)) => self.call(scene, tool).await,
            (None, None) => Err(Error::bad_input("there is neither a tool nor a run")),
        }
    }

    async fn call(&self, scene: &Scene, tool: &str) -> Result<u8> {
        if self.agent.is_some() && self.by != "model" {
            let what = "`--agent` says whose model it would be, and this is a client";
            return Err(Error::bad_input(what).hint("--as model"));
        }
        let args = self.args.as_deref().map(read_args).transpose()?;
        if let Some(WishedArgs::Broken(text)) = &args {
            let why = json::parse(text).err().unwrap_or_default();
            let what = format!("the arguments are no JSON: {why}");
            return Err(Error::new(Code::BadArgs, what).hint(QUOTING));
        }
        warn_of_folders(scene, &self.vouch);
        let host = scene.open_host().await?;
        let given = self.args.as_deref().unwrap_or_default();
        let under = Influence {
            surface: self.surface,
            written: written(&host, given)?,
            by_model: self.by == "model",
            agent: self.agent.clone(),
            sources: self.influence.clone(),
            goal: self.goal.clone(),
            vouch: self.vouch.clone(),
        };
        let mut explained = match &args {
            Some(args) => host.explain(tool, args, &under)?,
            None => host.explain_tool(tool)?,
        };
        for one in &mut explained {
            host.journal().cleaning(|with| one.clean(with));
        }
        let status = if explained.iter().any(Explained::is_denied) {
            Code::Denied.exit_status()
        } else {
            0
        };
        let confirmed = self.is_to_be_confirmed(&host, tool);
        // A script touches nothing: what it calls is judged call by call.
        let (reach, said) = if tool == script::TOOL {
            (Reach::default(), ToolFlow::default())
        } else {
            let resolved = host.catalog().resolve(tool, &[])?;
            (Reach::of(resolved), host.flow_of(tool)?)
        };
        if scene.json {
            let verdicts: Vec<Value> = explained.iter().map(as_json).collect();
            let policy = &host.policy().origin;
            print::value(
                &json!({
                    "verdicts": verdicts, "toBeConfirmed": confirmed,
                    "mayTouch": reach.granted, "wants": reach.lacking, "flow": said, "policy": policy,
                }),
                true,
            );
            return Ok(status);
        }
        explained.iter().for_each(describe);
        // No line is proposed for what may never be asked for; and what is pasted has each table once.
        let known = explained.iter().filter(|one| one.guessed.is_none());
        for hint in host.policy().hints(known.map(|one| &one.verdict)) {
            print::line(foreign(&hint).replace('\n', "\n  "));
        }
        if confirmed {
            print::line("it has to be confirmed: `lazaret call … --confirm`");
        }
        reach.print();
        if args.is_none() && !said.is_nothing() {
            arguments(&said);
        }
        Ok(status)
    }

    /// Whether a client who calls the tool has to say that it is wanted.
    fn is_to_be_confirmed(&self, host: &Host, tool: &str) -> bool {
        let tool = host.catalog().resolve(tool, &[]);
        self.by != "model" && tool.is_ok_and(|tool| tool.declared.requires_confirmation())
    }
}

fn as_json(explained: &Explained) -> Value {
    let subject = &explained.subject;
    let mut told = match &explained.verdict {
        Verdict::Allow { rule } => json!({"subject": subject, "verdict": "allow", "rule": rule}),
        Verdict::Ask(question) => json!({
            "subject": subject, "verdict": "ask", "rule": question.rule,
            "reasons": question.reasons, "lines": question.lines,
        }),
        Verdict::Deny(denial) => json!({"subject": subject, "verdict": "deny", "denial": denial}),
    };
    if let Some(told) = told.as_object_mut() {
        if let Some(argument) = &explained.guessed {
            told.insert("guessedFrom".to_owned(), json!(argument));
        }
        if !explained.weighed.is_empty() {
            told.insert("steers".to_owned(), json!(explained.weighed));
        }
        if !explained.content.is_empty() {
            told.insert("content".to_owned(), json!(explained.content));
        }
    }
    told
}

fn describe(explained: &Explained) {
    let subject = strong(phrase(&explained.subject));
    if let Some(argument) = &explained.guessed {
        return guess(argument, explained);
    }
    match &explained.verdict {
        Verdict::Allow { rule } => {
            print::marked_line(format!("{} {subject}: {}", good("allow"), foreign(rule)));
        }
        Verdict::Ask(question) => {
            let rule = foreign(&question.rule);
            print::marked_line(format!(
                "{} {subject}: a person is asked first, by {rule}",
                warn("ask")
            ));
            for reason in words::reasons(&question.reasons) {
                print::marked_line(format!("  {}", sentence(reason)));
            }
        }
        Verdict::Deny(denial) => {
            let (reason, rule) = (
                sentence(&denial.reason),
                faint(format!("({})", denial.rule)),
            );
            print::marked_line(format!("{} {subject}: {reason} {rule}", bad("deny")));
        }
    }
    for value in &explained.weighed {
        print::marked_line(format!("  {}", steers(value)));
    }
    for path in &explained.content {
        print::marked_line(format!("  {} {}", faint("content"), phrase(path)));
    }
}

/// What is only guessed.
fn guess(argument: &str, explained: &Explained) {
    let would = match &explained.verdict {
        Verdict::Allow { .. } => "would be allowed".to_owned(),
        Verdict::Ask(_) => "would be asked about".to_owned(),
        Verdict::Deny(denial) => format!("would be denied: {}", sentence(&denial.reason)),
    };
    print::marked_line(format!(
        "{} if `{}` is a path, {} {would}",
        faint("guess"),
        phrase(argument),
        strong(phrase(&explained.subject)),
    ));
}

/// One value that steers, and its witness.
pub(super) fn steers(value: &Weighed) -> String {
    let witness = if value.witness.is_empty() {
        warn("nobody vouches for it")
    } else {
        good(phrase(&value.witness))
    };
    format!(
        "{} {} = {} ({}): {witness}",
        faint("steers "),
        phrase(&value.argument),
        strong(phrase(&value.value)),
        phrase(&value.kind),
    )
}

/// What holds of a tool's arguments where its call is a sink.
fn arguments(said: &ToolFlow) {
    print::line("its arguments:");
    for (path, kind) in &said.steering {
        print::marked_line(format!(
            "  {} {} ({})",
            faint("steers "),
            phrase(path),
            kind.word()
        ));
    }
    let content = said.content.iter().chain([&said.naming]);
    for path in content.filter(|path| !path.is_empty()) {
        print::marked_line(format!("  {} {}", faint("content"), phrase(path)));
    }
    print::line(format!("  {} everything else", faint("steers ")));
    for value in &said.vouch {
        print::marked_line(format!("  {} {}", faint("vouched"), phrase(value)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_planted_record_says_of_a_value_stays_on_its_line() {
        let hostile = || "x\u{1b}]0;\u{202e}\nhint: y".to_owned();
        let line = steers(&Weighed {
            argument: hostile(),
            value: hostile(),
            kind: hostile(),
            witness: hostile(),
        });
        let shown = "x\\u{1b}]0;\\u{202e}\\u{a}hint: y";
        assert_eq!(line.matches(shown).count(), 4, "{line}");
        assert!(!line.contains(['\n', '\u{202e}']), "{line}");
    }
}

//! Wards: what policy puts around calls beside its grants. Lines of permission (rows A-10…A-12), and steps before and
//! after a tool (row A-13).
//!
//! A ward that computes is a tool like any other: it runs in a guest of its own, and only if it leaves no trace.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::call::Call;
use super::caller::Caller;
use super::deny;
use super::grant::Pattern;
use super::manifest::SurfaceWord;
use super::script::PLUGIN;
use crate::words::error::{Code, Error, Result};
use crate::words::event::Denial;
use crate::words::id::ToolName;

/// What is said to whoever may not, where nobody gives a reason (row A-11).
pub const NOT_AUTHORIZED: &str = "Not authorized to perform this action.";

/// What is said to a script that a line with a checker is about.
const UNCHECKED: &str =
    "Not authorized to perform this action: nobody asks a checker about a script.";

/// All wards of a policy, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wards {
    /// Who may: the first line about a call decides.
    pub permissions: Vec<Ward>,
    /// What happens around a call: the first is the outermost.
    pub steps: Vec<Step>,
    /// How many calls of one tool are made at once; the least of what is said about it holds.
    pub at_once: Vec<(Pattern, u32)>,
    /// Tools that have something to say once older turns were folded.
    pub folded: Vec<ToolName>,
}

/// Which calls a ward is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// The tools.
    pub tools: Pattern,
    /// The surfaces; all of them where there is none.
    pub surfaces: BTreeSet<SurfaceWord>,
}

impl About {
    fn is(&self, tool: &ToolName, caller: &Caller) -> bool {
        let here = SurfaceWord(caller.surface);
        self.tools.matches(tool) && (self.surfaces.is_empty() || self.surfaces.contains(&here))
    }
}

/// One line of permission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ward {
    /// Which calls it is about.
    pub about: About,
    /// What it says.
    pub ruling: Ruling,
}

/// What a line of permission says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// Yes.
    May,
    /// No, and nothing more.
    MayNot,
    /// No, in these words.
    Because(String),
    /// Whatever this tool says.
    Checker(ToolName),
}

/// What is done before and after a tool runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Which calls it is about.
    pub about: About,
    /// Reads what goes in; nothing where there is none.
    pub before: Option<ToolName>,
    /// Reads what comes out.
    pub after: Option<ToolName>,
    /// It only looks: what it says counts for nothing, and that it fails neither.
    pub observe: bool,
}

impl Wards {
    /// The tools that are called on behalf of policy, each with the key that names it.
    pub fn tools(&self) -> impl Iterator<Item = (&'static str, &ToolName)> {
        let checkers = self
            .permissions
            .iter()
            .filter_map(|line| match &line.ruling {
                Ruling::Checker(tool) => Some(("checker", tool)),
                Ruling::May | Ruling::MayNot | Ruling::Because(_) => None,
            });
        let steps = self.steps.iter().flat_map(|step| {
            let before = step.before.iter().map(|tool| ("before", tool));
            before.chain(step.after.iter().map(|tool| ("after", tool)))
        });
        let folded = self.folded.iter().map(|tool| ("[compaction] after", tool));
        checkers.chain(steps).chain(folded)
    }

    /// Whether a line of permission turns a call away. What a checker says is asked when the call is made; about a script nobody
    /// asks one, so that its line is a no.
    ///
    /// # Errors
    /// The denial.
    pub fn permit(&self, tool: &ToolName, caller: &Caller) -> Result<(), Denial> {
        match self.ruling(tool, caller) {
            Some(Ruling::MayNot) => Err(deny("permission", NOT_AUTHORIZED)),
            Some(Ruling::Because(why)) => Err(deny("permission", why.as_str())),
            Some(Ruling::Checker(_)) if tool.plugin() == PLUGIN => {
                Err(deny("permission", UNCHECKED))
            }
            Some(Ruling::May | Ruling::Checker(_)) | None => Ok(()),
        }
    }

    /// The tool that says whether a call may be made; nothing where none is asked.
    #[must_use]
    pub fn checker(&self, tool: &ToolName, caller: &Caller) -> Option<&ToolName> {
        match self.ruling(tool, caller)? {
            Ruling::Checker(checker) => Some(checker),
            Ruling::May | Ruling::MayNot | Ruling::Because(_) => None,
        }
    }

    fn ruling(&self, tool: &ToolName, caller: &Caller) -> Option<&Ruling> {
        let mut lines = self.permissions.iter();
        lines
            .find(|line| line.about.is(tool, caller))
            .map(|line| &line.ruling)
    }

    /// How many calls of a tool are made at once; nothing where no line says so.
    #[must_use]
    pub fn at_once(&self, tool: &ToolName) -> Option<u32> {
        let lines = self.at_once.iter().filter(|(tools, _)| tools.matches(tool));
        lines.map(|(_, most)| *most).min()
    }

    /// The steps around a call, the outermost first.
    pub fn around<'a>(
        &'a self,
        tool: &'a ToolName,
        caller: &'a Caller,
    ) -> impl DoubleEndedIterator<Item = &'a Step> {
        self.steps
            .iter()
            .filter(move |step| step.about.is(tool, caller))
    }

    /// All the tools that are called around a call: its checker, and its steps before and after.
    pub fn beside<'a>(
        &'a self,
        tool: &'a ToolName,
        caller: &'a Caller,
    ) -> impl Iterator<Item = &'a ToolName> {
        let steps = self.around(tool, caller);
        let steps = steps.flat_map(|step| step.before.iter().chain(&step.after));
        self.checker(tool, caller).into_iter().chain(steps)
    }
}

/// What a ward is told of a call before it runs.
#[must_use]
pub fn told_before(call: &Call, caller: &Caller) -> Value {
    json!({
        "action": call.tool,
        "input": call.args.value(),
        "context": {
            "surface": caller.surface.word(),
            "run": caller.run.as_str(),
            "origin": caller.origin.to_string(),
            "label": caller.label.join(&call.held),
        },
    })
}

/// What a checker has said.
///
/// # Errors
/// `Denied`: in its own words, or in the fixed ones.
pub fn checked(said: &Value) -> Result<()> {
    match said {
        Value::Bool(true) => Ok(()),
        Value::String(why) if !why.trim().is_empty() => Err(Error::new(Code::Denied, why.as_str())),
        Value::Null
        | Value::Bool(false)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => Err(Error::new(Code::Denied, NOT_AUTHORIZED)),
    }
}

/// What a step says of a call before it runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// Nothing: it goes on as it is.
    Nothing,
    /// These are its arguments.
    Input(Value),
    /// This is what comes of it, and the tool does not run.
    Data(Value),
}

/// Reads what a step has said before a call.
///
/// # Errors
/// `BadOutcome` for anything else than `{}`, `{"input": …}` and `{"data": …}`.
pub fn said(value: Value) -> Result<Said> {
    let wrong = || {
        let what = "a step before a call returns {}, {\"input\": …} or {\"data\": …}";
        Error::new(Code::BadOutcome, what)
    };
    let Value::Object(mut map) = value else {
        return Err(wrong());
    };
    let said = match (map.remove("input"), map.remove("data")) {
        (None, None) => Said::Nothing,
        (Some(input), None) => Said::Input(input),
        (None, Some(data)) => Said::Data(data),
        (Some(_), Some(_)) => return Err(wrong()),
    };
    if map.is_empty() {
        Ok(said)
    } else {
        Err(wrong())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::rules::caller::{Budget, Known, Origin};
    use crate::words::clock::Deadline;
    use crate::words::event::Surface;
    use crate::words::id::{Place, RunId};
    use crate::words::label::Label;

    fn name(text: &str) -> ToolName {
        ToolName::parse(text).unwrap()
    }

    fn about(tools: &str, surfaces: &[Surface]) -> About {
        About {
            tools: Pattern::try_from(tools.to_owned()).unwrap(),
            surfaces: surfaces.iter().copied().map(SurfaceWord).collect(),
        }
    }

    fn caller(surface: Surface) -> Caller {
        Caller {
            run: RunId::known("run"),
            parent: 0,
            place: Place::default(),
            known: Known::default(),
            surface,
            origin: Origin::Client,
            reach: Arc::new([Pattern::all()]),
            grant: Arc::default(),
            label: Label::default(),
            depth: 0,
            deadline: Deadline::after_ms(1_000),
            budget: Budget::of_calls(1),
        }
    }

    fn lines(lines: Vec<(About, Ruling)>) -> Wards {
        let permissions = lines.into_iter();
        let permissions = permissions.map(|(about, ruling)| Ward { about, ruling });
        Wards {
            permissions: permissions.collect(),
            ..Wards::default()
        }
    }

    #[test]
    fn the_first_line_about_a_call_decides() {
        let wards = lines(vec![
            (about("text.*", &[]), Ruling::May),
            (about("files.*", &[]), Ruling::Checker(name("acl.may"))),
            (
                about("*", &[Surface::Http]),
                Ruling::Because("quota used up".to_owned()),
            ),
            (about("web.*", &[]), Ruling::MayNot),
        ]);
        let said = |tool: &str, surface| {
            let denied = wards.permit(&name(tool), &caller(surface)).err();
            denied.map_or_else(String::new, |denial| denial.reason)
        };
        assert_eq!(said("text.count", Surface::Http), "");
        assert_eq!(said("clock.now", Surface::Http), "quota used up");
        assert_eq!(said("clock.now", Surface::Cli), "");
        assert_eq!(said("web.post", Surface::Cli), NOT_AUTHORIZED);
        assert_eq!(said("web.post", Surface::Http), "quota used up");
        let http = caller(Surface::Http);
        assert_eq!(said("files.read", Surface::Http), "");
        assert_eq!(
            wards.checker(&name("files.read"), &http),
            Some(&name("acl.may"))
        );
        assert_eq!(wards.checker(&name("web.post"), &http), None);
    }

    #[test]
    fn a_checker_says_true_false_or_why_not() {
        let words = |said: Value| checked(&said).err().map(|error| error.message().to_owned());
        assert_eq!(words(json!(true)), None);
        assert_eq!(
            words(json!("quota used up")).as_deref(),
            Some("quota used up")
        );
        for said in [
            json!(false),
            json!(""),
            json!(1),
            json!(null),
            json!({}),
            json!(["true"]),
        ] {
            assert_eq!(
                words(said.clone()).as_deref(),
                Some(NOT_AUTHORIZED),
                "{said}"
            );
        }
    }

    #[test]
    fn a_step_says_one_thing() {
        assert_eq!(said(json!({})).unwrap(), Said::Nothing);
        assert_eq!(
            said(json!({"input": {"a": 1}})).unwrap(),
            Said::Input(json!({"a": 1}))
        );
        assert_eq!(
            said(json!({"data": null})).unwrap(),
            Said::Data(Value::Null)
        );
        for wrong in [
            json!(null),
            json!([]),
            json!({"input": {}, "data": 1}),
            json!({"inptu": {}}),
        ] {
            assert_eq!(
                said(wrong.clone()).unwrap_err().code(),
                Code::BadOutcome,
                "{wrong}"
            );
        }
    }
}

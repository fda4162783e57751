//! What policy puts around a call, made: the checker of its permission, and the steps before and after its guest.
//!
//! All of it happens between the two records of the call, so that these say what came of it in the end. A ward is a
//! call by the host, judged and recorded like any other, and reads what its call has read. In a replay none is made:
//! what came of the call is what came of it with them.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::apart::{Done, Telling};
use super::super::catalog::Tool;
use super::super::guest::{LogLine, Trail};
use super::records::visit;
use super::{Outcome, Permitted, Request, Within, dispatch, of_outcome};
use crate::gate::Foreseen;
use crate::rules::call::Call;
use crate::rules::caller::{Caller, Origin};
use crate::rules::deny;
use crate::rules::flow;
use crate::rules::flow::handles::Given;
use crate::rules::grant::Pattern;
use crate::rules::schema::Args;
use crate::rules::wards::{self, NOT_AUTHORIZED, Said, Step};
use crate::words::clock::Deadline;
use crate::words::error::{Code, Error, Result};
use crate::words::event::{Content, Remade, Spent, Verdict};
use crate::words::id::{Place, ToolName};
use crate::words::label::Label;
use crate::words::limits::WARD_TIMEOUT_MS;
use crate::words::message::WishedArgs;

/// The rule of a checker that does not agree with what steps have made of its call.
const CHECKER: &str = "checker";

/// One call, and what its wards have left behind so far.
pub(super) struct Around<'a> {
    /// The call that they are around.
    on: Permitted<'a>,
    /// What the guest is under the influence of, and itself.
    own: &'a Label,
    /// Whether a step had a hand in what comes of it.
    altered: bool,
    /// What the steps before it have made of it.
    remade: Option<Box<Remade>>,
    trail: Trail,
}

/// What the steps before a call have made of it.
enum Begun {
    /// It runs like this, under these terms.
    Call(Box<Call>, Within),
    /// It does not run, and this came of it.
    Data(Value),
}

impl<'a> Around<'a> {
    /// Of a call that was allowed.
    pub(super) fn of(on: Permitted<'a>, own: &'a Label) -> Self {
        Self {
            on,
            own,
            altered: false,
            remade: None,
            trail: Trail::default(),
        }
    }

    /// Asks the checker of a call, where its line of permission names one: what comes of the call where it may not
    /// be made, and nothing where it may.
    pub(super) async fn refused(&self, call: &Call) -> Option<Done> {
        let wards = &self.on.station.gate.policy().wards;
        if self.is_bare() {
            return None;
        }
        let checker = wards.checker(&call.tool, self.on.caller)?;
        let told = wards::told_before(call, self.on.caller);
        let outcome = self.ask(checker, told, &call.held).await;
        let added = self.added(&outcome);
        let error = match outcome.result {
            Ok(said) => wards::checked(&said).err()?,
            Err(error) => Error::new(Code::Denied, NOT_AUTHORIZED).because(anyhow::anyhow!(error)),
        };
        let mut done = without_guest(Err(error));
        done.trail.around = added;
        Some(done)
    }

    /// Runs a call with all of its steps around it.
    pub(super) async fn run(mut self, call: &Call, within: Within) -> Result<Done> {
        let deprecated = !self.on.tool.declared.conduct.deprecated.is_empty();
        let steps = self.steps();
        if self.is_bare() || (steps.is_empty() && !deprecated) {
            let done = visit(self.on, (call, within)).await?;
            return Ok(self.again(call, done));
        }
        self.warn_of_age();
        let done = match self.before(&steps, (call, within)).await {
            Ok(Begun::Call(call, within)) => {
                let call = (call.as_ref(), within);
                // What its steps have read stays, also where its guest has not begun.
                let done = visit(self.on, call).await;
                done.unwrap_or_else(|error| without_guest(Err(error)))
            }
            Ok(Begun::Data(value)) => without_guest(fitting(self.on.tool, value)),
            Err(error) => without_guest(Err(error)),
        };
        Ok(self.after(&steps, done).await)
    }

    /// Whether nothing is around it: wards have none of their own, and a replay repeats what came of them.
    fn is_bare(&self) -> bool {
        self.on.caller.origin == Origin::Host || self.on.station.recorded.is_some()
    }

    /// In a replay: what was made of the call is judged again by the policy of now.
    fn again(&self, first: &Call, mut done: Done) -> Done {
        let Some(remade) = done.remade.take() else {
            return done;
        };
        // What a checker said, and what was not kept, is only on record.
        let args = match (&remade.content, &remade.verdict) {
            (_, Verdict::Deny(denial)) if denial.rule == CHECKER => None,
            (Content::Inline(args), _) => Some(args.clone()),
            (Content::Empty | Content::Size { .. } | Content::Stored { .. }, _) => None,
        };
        done.remade = Some(match args {
            Some(args) => {
                let call = Call {
                    args: Args::own(args),
                    ..first.clone()
                };
                let Foreseen {
                    verdict, weighed, ..
                } = self.foreseen(first, (&call, &remade.label));
                Box::new(Remade {
                    weighed,
                    verdict: settled(&call, verdict),
                    ..*remade
                })
            }
            None => remade,
        });
        done
    }

    fn steps(&self) -> Vec<Step> {
        let wards = &self.on.station.gate.policy().wards;
        wards
            .around(&self.on.tool.name, self.on.caller)
            .cloned()
            .collect()
    }

    /// The outermost step comes first.
    async fn before(&mut self, steps: &[Step], (first, within): (&Call, Within)) -> Result<Begun> {
        let mut call = first.clone();
        for step in steps {
            let Some(ward) = &step.before else { continue };
            let told = wards::told_before(&call, self.on.caller);
            let outcome = self.ask(ward, told, &call.held).await;
            let Some(said) = self.heard((step, ward), &outcome, outcome.result.as_ref())? else {
                continue;
            };
            match wards::said(said.clone()).map_err(|error| about(ward, &error))? {
                Said::Nothing => {}
                Said::Data(value) => {
                    self.altered = true;
                    return Ok(Begun::Data(value));
                }
                Said::Input(input) => call = self.changed(&call, ward, input)?,
            }
            call.held = call.held.join(&outcome.label);
        }
        let within = if call.args.value() == first.args.value() {
            within
        } else {
            self.altered = true;
            self.judge_again(first, &call).await?
        };
        Ok(Begun::Call(Box::new(call), within))
    }

    /// What steps have changed is judged as it stands now, under their influence, and that stands on record beside what
    /// comes of the call.
    async fn judge_again(&mut self, first: &Call, call: &Call) -> Result<Within> {
        let label = self.on.caller.label.join(&call.held);
        let mut remade = Remade {
            content: Content::Inline(call.args.value().clone()),
            label: label.clone(),
            weighed: Vec::new(),
            verdict: Verdict::Deny(deny(CHECKER, NOT_AUTHORIZED)),
        };
        if let Some(refused) = self.refused(call).await {
            self.is_beside(&refused.trail.around);
            self.remade = Some(Box::new(remade));
            return refused.result.map(|_| Within::default());
        }
        let Foreseen {
            verdict,
            weighed,
            terms,
        } = self.foreseen(first, (call, &label));
        let by_flow = matches!(&verdict, Verdict::Ask(question) if !question.reasons.is_empty());
        remade.weighed = weighed;
        remade.verdict = settled(call, verdict);
        let denied = match &remade.verdict {
            Verdict::Deny(denial) => Some(Error::new(Code::Denied, denial.reason.clone())),
            Verdict::Allow { .. } | Verdict::Ask(_) => None,
        };
        self.remade = Some(Box::new(remade));
        match (denied, terms) {
            (None, Some(terms)) => Ok(terms),
            (None, None) => Err(Error::bug("an allowance without terms")),
            (Some(denied), _) if by_flow => Err(denied.hint(
                "a plugin of steps that makes nothing up is trusted by `[flow] trust = [\"NAME\"]`",
            )),
            (Some(denied), _) => Err(denied),
        }
    }

    /// What would be said to what steps have made of a call, which is under this influence by then.
    fn foreseen(&self, first: &Call, (call, label): (&Call, &Label)) -> Foreseen<Within> {
        let gate = &self.on.station.gate;
        let by_then = Caller {
            label: label.clone(),
            ..self.on.caller.clone()
        };
        if self.is_covered(first, (call, label)) {
            gate.foresee_after((self.on.caller, first), (&by_then, call))
        } else {
            gate.foresee(&by_then, call)
        }
    }

    /// Whether what a person has said to a call may hold for what steps have made of it: it says the same of where, whom
    /// and what to act on, and nobody had a hand in it since but what the operator trusts, with nothing that is
    /// anybody's own.
    fn is_covered(&self, first: &Call, (call, label): (&Call, &Label)) -> bool {
        let policy = self.on.station.gate.policy();
        let classes = &policy.flows.classes;
        let steers = |call: &Call| flow::steering(call, self.on.caller, policy);
        let added = label.without(&self.on.caller.label.join(&first.held));
        let harmless = !classes.is_tainted(&added)
            && !classes.is_private(&added)
            && !classes.is_secret(&added);
        harmless && steers(first) == steers(call)
    }

    /// The outermost step comes last. One that fails leaves nothing of what the tool returned.
    async fn after(mut self, steps: &[Step], mut done: Done) -> Done {
        for step in steps.iter().rev() {
            let (Some(ward), Ok(value)) = (&step.after, &done.result) else {
                continue;
            };
            let told = json!({"action": self.on.tool.name, "data": value});
            let held = self.own.join(&self.trail.label()).join(&done.trail.label());
            let held = of_outcome(self.on.tool, held);
            let outcome = self.ask(ward, told, &held).await;
            match self.heard((step, ward), &outcome, outcome.result.as_ref()) {
                Ok(None) => {}
                Ok(Some(said)) => {
                    self.altered |= said != value;
                    done.result = fitting(self.on.tool, said.clone());
                }
                Err(error) => done.result = Err(error),
            }
        }
        done.spent.altered = self.altered;
        done.remade = self.remade;
        done.trail.around = done.trail.around.join(&self.trail.around);
        done.trail.logs.splice(0..0, self.trail.logs);
        done
    }

    /// What a ward has brought into the call beside what that knew: what it was told of it is no reading of the call's own.
    fn added(&self, outcome: &Outcome) -> Label {
        outcome.label.without(self.own)
    }

    fn is_beside(&mut self, label: &Label) {
        self.trail.around = self.trail.around.join(label);
    }

    /// What a step says that counts. One that only looks on is heard by nobody; that it failed is logged.
    fn heard<'b>(
        &mut self,
        (step, ward): (&Step, &ToolName),
        outcome: &Outcome,
        result: Result<&'b Value, &Error>,
    ) -> Result<Option<&'b Value>> {
        match (step.observe, result) {
            (true, Ok(_)) => Ok(None),
            (true, Err(_)) => {
                // How it failed is in its own record, under its own label.
                self.warn(format!("the step `{ward}` has failed, and only looks on"));
                Ok(None)
            }
            (false, Ok(said)) => {
                self.is_beside(&self.added(outcome));
                Ok(Some(said))
            }
            (false, Err(error)) => {
                self.is_beside(&self.added(outcome));
                Err(about(ward, error))
            }
        }
    }

    /// The call with other arguments: they fit, and of a sink nothing changes that says where, whom or what to act on,
    /// since that was judged.
    fn changed(&self, call: &Call, ward: &ToolName, input: Value) -> Result<Call> {
        let given = Given::plain(input);
        let bounds = &self.on.station.gate.policy().bounds;
        let args = Args::given(&given, self.on.tool.input()?);
        let args = args.and_then(|args| bounds.fitting(args, &given));
        let args = args.map_err(|error| about(ward, &error))?;
        let changed = Call {
            args,
            ..call.clone()
        };
        let policy = self.on.station.gate.policy();
        let steers = |call: &Call| flow::steering(call, self.on.caller, policy);
        if call.declared.is_sink() && steers(call) != steers(&changed) {
            let what = format!(
                "the step `{ward}` has changed what steers `{}`, after that was judged",
                call.tool
            );
            return Err(Error::new(Code::Denied, what));
        }
        Ok(changed)
    }

    fn warn_of_age(&mut self) {
        let instead = &self.on.tool.declared.conduct.deprecated;
        if !instead.is_empty() {
            self.warn(format!("`{}` is deprecated: {instead}", self.on.tool.name));
        }
    }

    fn warn(&mut self, message: String) {
        self.trail.keep_line(LogLine {
            level: "warn",
            message,
            fields: json!({}),
            time: self.on.station.gate.journal().clock().now_ms(),
        });
    }

    /// Calls a ward, under the influence of all that its call knows.
    async fn ask(&self, ward: &ToolName, told: Value, held: &Label) -> Outcome {
        let caller = Caller {
            parent: self.on.seq,
            place: Place::default(),
            known: self.on.caller.known.around(),
            origin: Origin::Host,
            reach: Arc::new([Pattern::exactly(ward)]),
            grant: Arc::default(),
            label: self.on.caller.label.join(held),
            depth: self.on.caller.depth.saturating_add(1),
            deadline: self
                .on
                .caller
                .deadline
                .earlier(Deadline::after_ms(WARD_TIMEOUT_MS)),
            ..self.on.caller.clone()
        };
        let request = Request {
            tool: ward.to_string(),
            args: WishedArgs::Json(told),
        };
        dispatch(
            self.on.station.clone(),
            self.on.tasks.clone(),
            caller,
            request,
        )
        .await
    }
}

/// What is said to a call that steps have changed, and that is being made: what would be asked about comes too late
/// for a question.
fn settled(call: &Call, verdict: Verdict) -> Verdict {
    let (rule, why) = match verdict {
        Verdict::Allow { rule } => return Verdict::Allow { rule },
        Verdict::Deny(denial) => (denial.rule, denial.reason),
        Verdict::Ask(question) => (
            "ask".to_owned(),
            format!("a person would be asked: {}", question.text),
        ),
    };
    let what = format!(
        "the steps before `{}` have changed it, and as it stands now it may not be made: {why}",
        call.tool
    );
    Verdict::Deny(deny(&rule, what))
}

/// What comes of a call that needed no guest.
fn without_guest(result: Result<Value>) -> Done {
    Done {
        result,
        telling: Telling::Whole,
        trail: Trail::default(),
        remade: None,
        spent: Spent::default(),
    }
}

/// What stands for a tool's outcome fits the tool's own schema.
fn fitting(tool: &Tool, value: Value) -> Result<Value> {
    let issues = tool.output()?.issues(&value);
    if issues.is_empty() {
        return Ok(value);
    }
    let what = "what a step has made of the outcome does not fit the tool's output schema";
    Err(Error::new(Code::BadOutcome, what).issues(issues))
}

/// A failure of a step, which fails its call.
fn about(ward: &ToolName, error: &Error) -> Error {
    let what = format!("the step `{ward}`: {}", error.message());
    Error::new(error.code(), what)
        .issues(error.issue_list().to_vec())
        .retry(error.is_retryable())
}

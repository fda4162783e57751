//! Outward: whether a request that a tool makes may leave. A URL is an exit, since it can say anything (design §5).
//!
//! Nobody can be asked in the middle of a call, so what is not allowed is denied.

use super::class;
use super::ending::shell_word;
use super::kind::Kind;
use super::lines::{Browse, Flows};
use crate::rules::caller::{Bearing, Caller, Judging, Led, Origin};
use crate::rules::fetch::Fetch;
use crate::rules::policy::Policy;
use crate::rules::{advice, deny, deny_unless};
use crate::words::event::Denial;
use crate::words::id::ToolName;
use crate::words::label::{Label, Sort, Source};
use crate::words::limits::STEERING_CHARS;

/// Whether a request that a line grants may leave: the notice of one that does so in shadow, or since its tool is released;
/// empty where nothing speaks against it.
///
/// # Errors
/// The denial: nobody can be asked in the middle of a tool's call.
pub fn weigh_fetch(fetch: &Fetch, caller: &Caller, policy: &Policy) -> Result<String, Denial> {
    let flows = &policy.flows;
    let classes = &flows.classes;
    let label = &caller.label;
    let what = fetch.origin();
    // Before all else: neither shadow nor a line lets out what is secret.
    if classes.is_secret(label) {
        let from = classes.suspects(label).join(", ");
        let reason = format!(
            "what comes from {from} would leave to {what}, and nothing secret leaves, ever"
        );
        return Err(deny("flow_secret", reason));
    }
    let mode = caller.judging(flows);
    if caller.origin == Origin::Host || mode == Judging::Off {
        return Ok(String::new());
    }
    let tool = match &caller.origin {
        Origin::Tool(tool) => Some(tool),
        Origin::Client | Origin::Model | Origin::Host | Origin::Script => None,
    };
    match weigh_judged(fetch, caller, flows) {
        Ok(()) => Ok(String::new()),
        Err(denial) => flows.noticed((mode, tool), denial),
    }
}

/// Whether it may where flows are judged.
fn weigh_judged(fetch: &Fetch, caller: &Caller, flows: &Flows) -> Result<(), Denial> {
    let classes = &flows.classes;
    let label = &caller.label;
    let what = fetch.origin();
    if is_witnessed_url(fetch.url().as_str(), caller, flows) {
        return Ok(());
    }
    if fetch.carries() {
        check_private(fetch, caller, flows)?;
    }
    let looks = !fetch.is_plain() && caller.known.bearing == Bearing::Looks;
    if !classes.is_tainted(label) {
        return Ok(());
    }
    let from = classes.suspects(label).join(", ");
    if fetch.is_plain() && flows.browse == Browse::Witness {
        let reason = format!(
            "the URL at {what} was chosen under the influence of {from}, and `browse = \"witness\"` wants the \
             user's own words for it"
        );
        return Err(unless_vouched("flow_browse", reason, (fetch, caller)));
    }
    if looks {
        let reason = format!(
            "`{}` says of itself that it only looks, and would send something to {what} under the influence \
             of {from}",
            caller.origin
        );
        return Err(unless_vouched("flow_only_looks", reason, (fetch, caller)));
    }
    Ok(())
}

/// A denial, and the line that would vouch for the URL in requests of its tool; nobody reads through one that is longer than
/// any value that steers.
fn unless_vouched(rule: &str, reason: String, (fetch, caller): (&Fetch, &Caller)) -> Denial {
    let url = fetch.url().as_str();
    match &caller.origin {
        Origin::Tool(tool) if url.len() <= STEERING_CHARS => {
            let flag = (caller.known.how.led == Led::ByModel).then(|| shell_word(url));
            let line = advice::vouching(tool, url, flag.as_deref());
            deny_unless(rule, reason, &[&line])
        }
        Origin::Tool(_) | Origin::Client | Origin::Model | Origin::Script | Origin::Host => {
            deny(rule, reason)
        }
    }
}

/// What only the user may read leaves with a tool of which policy says so, or in a call that was judged with it: what its
/// guest has read on its own is judged here, since nobody knew of it then.
fn check_private(fetch: &Fetch, caller: &Caller, flows: &Flows) -> Result<(), Denial> {
    let Origin::Tool(tool) = &caller.origin else {
        return Ok(());
    };
    let accepts = flows.about(tool).map(|said| said.accepts);
    if accepts.unwrap_or_default() != class::Secrecy::Public {
        return Ok(());
    }
    let classes = &flows.classes;
    let (private, how) = match &caller.known.bearing {
        Bearing::Looks => (
            classes.private(&caller.label),
            "it says of itself that it only looks",
        ),
        Bearing::Acts { judged, read } => (
            classes.private(&unjudged(read, judged, (tool, flows))),
            "nobody knew of that when it was called, since no argument names it",
        ),
    };
    if private.is_empty() {
        return Ok(());
    }
    let within = match fetch.is_plain() {
        true => {
            ", in headers that say more than which form of answer is wanted and which program asks"
        }
        false => "",
    };
    let reason = format!(
        "`{tool}` would send what comes from {} to {}{within}: {how}",
        private.join(", "),
        fetch.origin()
    );
    Err(deny_unless(
        "flow_private",
        reason,
        &[&advice::accepting(tool)],
    ))
}

/// What a guest has read that was not judged with its call. What stands in its plugin's own notes has its stored label
/// beside, unless policy says of what class they are; and a source that stands for many may be any of them.
fn unjudged(read: &Label, judged: &Label, (tool, flows): (&ToolName, &Flows)) -> Label {
    let shelf = format!("{}/", tool.plugin());
    let is_own = |source: &Source| {
        source.sort() == Sort::Note
            && source.name().starts_with(&shelf)
            && !flows.classes.says(source)
    };
    let was_judged = |source: &Source| judged.sources().any(|one| one == source);
    let rest = read
        .sources()
        .filter(|source| source.is_many() || !(is_own(source) || was_judged(source)));
    rest.fold(Label::default(), |label, one| label.with(one.clone()))
}

/// Whether a plain request to a public address may leave though no line grants it.
#[must_use]
pub fn may_browse(fetch: &Fetch, caller: &Caller, policy: &Policy) -> bool {
    let flows = &policy.flows;
    let private = flows.classes.is_private(&caller.label);
    flows.browse == Browse::Free
        && fetch.is_plain()
        && !flows.classes.is_secret(&caller.label)
        && matches!(caller.origin, Origin::Tool(_))
        && (!private || is_witnessed_url(fetch.url().as_str(), caller, flows))
}

/// A URL is the same at every service.
const ANY: &str = "";

/// Whether the user named this very URL, or one of their own records did.
#[must_use]
pub fn is_witnessed_url(url: &str, caller: &Caller, flows: &Flows) -> bool {
    let ledger = caller.known.ledger();
    let named = match &caller.origin {
        Origin::Tool(tool) => flows.names_for(tool, Kind::Url, url),
        Origin::Client | Origin::Model | Origin::Script | Origin::Host => {
            flows.names(Kind::Url, url)
        }
    };
    named
        || ledger.words().has(Kind::Url, url)
        || ledger.vouching((Kind::Url, url), ANY).is_some()
        || ledger.titled((Kind::Url, url), ANY).is_some()
}

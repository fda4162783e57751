//! What the guest of a tool may touch, and what its manifest wants beside that.

use super::super::print;
use crate::guests::catalog::Tool;
use crate::rules::grant::{Access, Destination, Grant, Pattern};
use crate::rules::manifest::Wants;
use crate::surfaces::paint::phrase;

/// What a tool's guest may touch, line by line: policy × manifest; and what it wants and is not granted, so that a call that
/// is allowed may fail in its guest.
#[derive(Debug, Default)]
pub(super) struct Reach {
    pub(super) granted: Vec<String>,
    pub(super) lacking: Vec<String>,
}

impl Reach {
    pub(super) fn of(tool: &Tool) -> Self {
        Self {
            granted: granted(&tool.grant),
            lacking: lacking(&tool.declared.wants, &tool.grant),
        }
    }

    pub(super) fn print(&self) {
        print::line("its guest may touch:");
        if self.granted.is_empty() {
            print::line("  nothing but its arguments");
        }
        for line in &self.granted {
            print::marked_line(format!("  {}", phrase(line)));
        }
        if !self.lacking.is_empty() {
            print::line("its manifest also wants, and no line grants it:");
        }
        for line in &self.lacking {
            print::marked_line(format!("  {}", phrase(line)));
        }
    }
}

fn granted(grant: &Grant) -> Vec<String> {
    let fetches = grant.fetch.iter().map(|line| format!("fetch {line}"));
    let mounts = grant
        .mounts
        .iter()
        .map(|line| format!("{} files in `{}`", line.access.word(), line.mount));
    let notes = (grant.notes != Access::None).then(|| format!("{} notes", grant.notes.word()));
    let calls = grant.calls.iter().map(|line| format!("call {line}"));
    let secrets = grant.secrets.iter().map(ToString::to_string);
    let all = fetches.chain(mounts).chain(notes).chain(calls);
    all.chain(secrets).collect()
}

/// What is granted has been narrowed to what is wanted, so that whatever is left of a wish is a part of it.
fn lacking(wants: &Wants, grant: &Grant) -> Vec<String> {
    let is_sent = |host: &&String| match host.split_once(' ') {
        Some((method, url)) => Destination::parse(url, &[method], false)
            .is_ok_and(|wish| grant.fetch.iter().any(|line| line.within(&wish).is_some())),
        None => false,
    };
    let fetches = wants.hosts.iter().filter(|host| !is_sent(host));
    let fetches = fetches.map(|host| format!("fetch {host}"));
    let files = grant.mounts.iter().map(|line| line.access).max();
    let most = |wanted: Access, has: Access, what: &str| {
        (wanted > has).then(|| format!("{} {what}", wanted.word()))
    };
    let files = most(wants.mounts, files.unwrap_or_default(), "files");
    let notes = most(wants.notes, grant.notes, "notes");
    let is_called = |want: &&Pattern| grant.calls.iter().any(|line| want.covers(line));
    let calls = wants.calls.iter().filter(|want| !is_called(want));
    let calls = calls.map(|want| format!("call {want}"));
    let is_lent = |name: &&String| grant.secrets.iter().any(|line| line.name == **name);
    let secrets = wants.secrets.iter().filter(|name| !is_lent(name));
    let secrets = secrets.map(|name| format!("secret {name}"));
    let all = fetches.chain(files).chain(notes).chain(calls);
    all.chain(secrets).collect()
}

//! `[[permissions]]` and `[[steps]]`: what policy puts around calls.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::file::ConfigFile;
use crate::rules::grant::Pattern;
use crate::rules::manifest::SurfaceWord;
use crate::rules::wards::{About, Ruling, Step, Ward, Wards};
use crate::words::error::{Error, Result};
use crate::words::event::Surface;
use crate::words::id::ToolName;
use crate::words::limits::{PERMISSION_CHARS, WARDS_MAX};

/// `[[permissions]]`: who may call what. The first line about a call decides; where there is none, it may be made.
#[derive(Clone, Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WardTable {
    /// The tools that it is about.
    pub tools: Pattern,
    /// The surfaces that it is about; absent: all.
    #[serde(default)]
    pub surfaces: Vec<Surface>,
    /// What it says: `true`, `false`, or why not. Either this or `checker`.
    #[serde(default)]
    pub verdict: Option<VerdictWord>,
    /// A tool that is asked, and returns true, false, or why not. It may only look.
    #[serde(default)]
    pub checker: Option<String>,
}

impl WardTable {
    /// Whether it is about every call that another line is about.
    pub(super) fn covers(&self, other: &Self) -> bool {
        let mut theirs = other.surfaces.iter();
        let everywhere = self.surfaces.is_empty();
        let here = !other.surfaces.is_empty() && theirs.all(|one| self.surfaces.contains(one));
        self.tools.covers(&other.tools) && (everywhere || here)
    }
}

/// A verdict as it is written.
#[derive(Clone, Debug, Deserialize, schemars::JsonSchema)]
#[serde(
    untagged,
    expecting = "`verdict` is true, false, or a text that says why not"
)]
pub enum VerdictWord {
    /// Yes or no.
    Flag(bool),
    /// No, in these words.
    Because(String),
}

/// `[[steps]]`: what is done around calls. The first one is the outermost.
#[derive(Clone, Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepTable {
    /// The tools that it is about.
    pub tools: Pattern,
    /// The surfaces that it is about; absent: all.
    #[serde(default)]
    pub surfaces: Vec<Surface>,
    /// A tool that reads what goes in, and returns `{}`, `{"input": …}` or `{"data": …}`. It may only look.
    #[serde(default)]
    pub before: Option<String>,
    /// A tool that reads what comes out, and returns it. It may only look.
    #[serde(default)]
    pub after: Option<String>,
    /// Whether it only looks on: what it returns counts for nothing, and that it fails neither.
    #[serde(default)]
    pub observe: bool,
}

/// Adds what a file says to what is there.
pub(super) fn add(wards: &mut Wards, file: &ConfigFile) -> Result<()> {
    let (permissions, steps) = (&file.permissions, &file.steps);
    for (tools, most) in &file.at_once {
        if *most == 0 {
            let what = format!("[at_once] \"{tools}\" is 0, so none of them could ever be called");
            return Err(Error::bad_input(what).hint("write `block = [\"TOOL\"]` for that"));
        }
        wards
            .at_once
            .push((Pattern::try_from(tools.clone())?, *most));
    }
    for table in permissions {
        wards.permissions.push(permission(table)?);
    }
    for table in steps {
        wards.steps.push(step(table)?);
    }
    if wards.permissions.len() > WARDS_MAX
        || wards.steps.len() > WARDS_MAX
        || wards.at_once.len() > WARDS_MAX
    {
        let what = format!(
            "there are at most {WARDS_MAX} of [[permissions]], of [[steps]] and of [at_once]"
        );
        return Err(Error::bad_input(what));
    }
    Ok(())
}

fn permission(table: &WardTable) -> Result<Ward> {
    let wrong = |what: String| {
        let hint = "write `verdict = true`, `verdict = false`, `verdict = \"why not\"` or `checker = \"PLUGIN.TOOL\"`";
        let what = format!("[[permissions]] about `{}`: {what}", table.tools);
        Err(Error::bad_input(what).hint(hint))
    };
    let ruling = match (&table.verdict, &table.checker) {
        (Some(VerdictWord::Flag(true)), None) => Ruling::May,
        (Some(VerdictWord::Flag(false)), None) => Ruling::MayNot,
        (Some(VerdictWord::Because(why)), None)
            if !why.trim().is_empty() && why.chars().count() <= PERMISSION_CHARS =>
        {
            Ruling::Because(why.clone())
        }
        (Some(VerdictWord::Because(_)), None) => {
            return wrong(format!("a text has 1 to {PERMISSION_CHARS} characters"));
        }
        (None, Some(tool)) => Ruling::Checker(ToolName::parse(tool)?),
        (None, None) => return wrong("it says neither `verdict` nor `checker`".to_owned()),
        (Some(_), Some(_)) => return wrong("it says `verdict` and `checker`".to_owned()),
    };
    Ok(Ward {
        about: about(&table.tools, &table.surfaces),
        ruling,
    })
}

fn step(table: &StepTable) -> Result<Step> {
    let tool = |name: &Option<String>| name.as_deref().map(ToolName::parse).transpose();
    let (before, after) = (tool(&table.before)?, tool(&table.after)?);
    if before.is_none() && after.is_none() {
        let what = format!(
            "[[steps]] about `{}` says neither `before` nor `after`",
            table.tools
        );
        return Err(Error::bad_input(what).hint("write `before = \"PLUGIN.TOOL\"`, or `after`"));
    }
    Ok(Step {
        about: about(&table.tools, &table.surfaces),
        before,
        after,
        observe: table.observe,
    })
}

fn about(tools: &Pattern, surfaces: &[Surface]) -> About {
    let surfaces: BTreeSet<SurfaceWord> = surfaces.iter().copied().map(SurfaceWord).collect();
    About {
        tools: tools.clone(),
        surfaces,
    }
}

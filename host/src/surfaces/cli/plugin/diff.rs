//! `lazaret plugin manifest` and `lazaret plugin diff`: what a plugin declares, and what has changed.

use std::path::Path;

use clap::ValueEnum;
use serde_json::{Value, json};

use super::{about, installed, look_to_show, quarantine};
use crate::edges::named;
use crate::rules::changes::remarks::{self, Remark};
use crate::rules::changes::{Change, between};
use crate::rules::manifest::Manifest;
use crate::surfaces::cli::{Scene, print};
use crate::surfaces::paint::{bad, faint, good, strong, table};
use crate::words::error::{Error, Result};
use crate::words::inert::one_line;
use crate::words::limits::MANIFEST_BYTES;

/// Say what has changed from one manifest to another, and what may break whoever calls its tools.
///
/// What breaks: a tool, field, value or surface that is gone, a field that has to be there, a riskier effect, a wish for
/// more, a question more. What cannot be compared counts as breaking.
#[derive(Debug, clap::Args)]
pub(in crate::surfaces::cli) struct Diff {
    /// What was: a `.wasm` file, a manifest in a `.json` file, or the name of an installed plugin.
    old: String,
    /// What is.
    new: String,
    /// End with status 1 where something of this kind has changed.
    #[arg(long, value_enum, value_name = "KIND", default_value_t)]
    fail_on: FailOn,
}

/// What makes the command fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// Nothing: it only says what it has seen.
    #[default]
    Nothing,
    /// What may break somebody.
    Breaking,
    /// Any change.
    Any,
}

impl Diff {
    pub(in crate::surfaces::cli) async fn perform(self, scene: &Scene) -> Result<u8> {
        let old = manifest(scene, &self.old).await?;
        let new = manifest(scene, &self.new).await?;
        let (changes, remarks) = (between(&old, &new), remarks::of(&new));
        let breaks = changes.iter().any(|change| change.breaking);
        if scene.json {
            let all = json!({"breaking": breaks, "changes": changes, "remarks": remarks});
            print::value(&all, true);
        } else {
            show(scene, &changes, &remarks);
        }
        let fails = match self.fail_on {
            FailOn::Nothing => false,
            FailOn::Breaking => breaks,
            FailOn::Any => !changes.is_empty(),
        };
        Ok(u8::from(fails))
    }
}

/// Prints one manifest, or all of them with the digests of their components.
pub(super) async fn manifests(scene: &Scene, which: Option<&str>) -> Result<u8> {
    if let Some(which) = which {
        print::value(&json!(manifest(scene, which).await?), scene.json);
        return Ok(0);
    }
    let host = scene.open_host().await?;
    let plugins = host.catalog().plugins().iter();
    let all: Vec<Value> = plugins
        .map(|plugin| json!({"digest": plugin.digest, "manifest": plugin.manifest}))
        .collect();
    print::value(&json!({"plugins": all}), scene.json);
    Ok(0)
}

/// The manifest of a component, a file, or an installed plugin.
async fn manifest(scene: &Scene, which: &str) -> Result<Manifest> {
    let path = Path::new(which);
    if path.extension().is_some_and(|ending| ending == "json") {
        let bytes = named::read(
            &scene.around.folder.join(path),
            "the manifest",
            MANIFEST_BYTES,
        )?;
        let text = String::from_utf8(bytes)
            .map_err(|_| Error::bad_input(format!("`{}` is no UTF-8 text", path.display())))?;
        return Manifest::read(&text).map_err(|error| about(path, &error));
    }
    if path.extension().is_some() || which.contains('/') {
        return Ok(look_to_show(scene, &quarantine(scene)?, path)
            .await?
            .manifest);
    }
    let host = scene.open_host().await?;
    Ok(installed(&host, which)?.manifest.clone())
}

fn show(scene: &Scene, changes: &[Change], remarks: &[Remark]) {
    let row = |change: &Change| {
        let weight = match change.breaking {
            true => bad("breaks"),
            false => good("fine"),
        };
        vec![
            weight,
            strong(one_line(&change.place)),
            faint(change.code),
            one_line(&change.message),
        ]
    };
    let rows: Vec<Vec<String>> = changes.iter().map(row).collect();
    if rows.is_empty() {
        print::line("nothing has changed");
    } else {
        print::marked_line(table(&rows).trim_end());
    }
    if !scene.quiet {
        for remark in remarks {
            let place = one_line(&remark.place);
            print::note(format!(
                "{} {place}: {}",
                faint(remark.code),
                remark.message
            ));
        }
    }
}

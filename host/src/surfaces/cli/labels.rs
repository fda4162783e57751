//! `lazaret labels`: what influenced the files and records that outlive their run, and a person's word that they have looked
//! through them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::builder::NonEmptyStringValueParser;
use serde_json::{Value, json};

use super::runs::open;
use super::{Scene, print};
use crate::gate::journal::Journal;
use crate::guests::plugin;
use crate::rules::flow::class::Classes;
use crate::rules::flow::lines::{Flows, Records};
use crate::rules::flow::shell_word;
use crate::rules::policy::Policy;
use crate::rules::script;
use crate::runs::labels::{Clear, Kept, Labelled, Labels as All};
use crate::surfaces::paint::{faint, foreign, strong, table};
use crate::words::error::{Error, Result, why};
use crate::words::inert::visible;
use crate::words::label::Label;
use crate::words::limits::records::FILES_LISTED;
use crate::words::near::nearest;

/// Look at what influenced files and records of services, and take them for your own.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "Examples:
  lazaret labels list                               files and services, and who had a hand in them
  lazaret labels list --service cal --record e7     one record
  lazaret labels clear --file notes/letter.md       you have looked through it, and it counts as yours
  lazaret labels clear --service cal --record e7    the same of a record
  lazaret labels clear --service cal                of all records of a service

What a tool wrote under a stranger's influence is read under that influence later, and steers nothing by itself.
Labels are yours, whatever the workspace: services of one name are one here. That you cleared some is on record.
Ids of records are kept as digests: they can be asked about, and not listed.")]
pub(super) enum Labels {
    /// List files, and services with records, that somebody else had influence on.
    #[command(after_help = "Examples:\n  lazaret labels list\n  lazaret labels list --json")]
    List(Chosen),
    /// Take a file, or records, for your own: from then on they count as if nobody else had influenced them.
    #[command(
        after_help = "Examples:\n  lazaret labels clear --file notes/letter.md\n  lazaret labels clear --service cal --record e7"
    )]
    Clear {
        #[command(flatten)]
        chosen: Chosen,
    },
}

/// What is meant.
#[derive(Debug, clap::Args)]
pub(super) struct Chosen {
    /// A file, or a folder with all that lies in it.
    #[arg(long, value_name = "PATH", conflicts_with = "service")]
    file: Option<PathBuf>,
    /// A service: what its tools have before the dot.
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    service: Option<String>,
    /// The id of a record of that service.
    #[arg(long, value_name = "ID", requires = "service", value_parser = NonEmptyStringValueParser::new())]
    record: Option<String>,
}

/// What sources are worth, where no plugin is opened: what is bundled is the host's own.
pub(super) fn classes(policy: &Policy) -> Classes {
    let mut classes = policy.flows.classes.clone();
    let own = plugin::bundled_names().chain([script::PLUGIN]);
    classes.trusted_plugins.extend(own.map(str::to_owned));
    classes
}

impl Labels {
    pub(super) async fn perform(self, scene: &Scene) -> Result<u8> {
        let setup = scene.look_at_config()?.setup;
        let audit = open(scene)?;
        let classes = classes(&setup.policy);
        let labels = All::open(&setup.places, audit.journal(), &classes)?;
        let shown = Shown {
            scene,
            journal: audit.journal(),
            classes,
        };
        match self {
            Self::List(chosen) => {
                let record = chosen.record.as_ref().and(chosen.service.as_deref());
                record.map_or(Ok(()), |service| {
                    is_known(service, &setup.policy.flows, &labels)
                })?;
                shown.list(&labels, &chosen)
            }
            Self::Clear { chosen } => shown.clear(&labels, &chosen).await,
        }
    }
}

/// How it is shown: without what is a secret, and whoever is somebody else.
struct Shown<'a> {
    scene: &'a Scene,
    journal: &'a Journal,
    classes: Classes,
}

/// One of what is listed: for people, and for programs.
struct Row {
    cells: Vec<String>,
    json: Value,
}

impl Shown<'_> {
    fn list(&self, labels: &All, chosen: &Chosen) -> Result<u8> {
        let rows = match (&chosen.file, &chosen.service, &chosen.record) {
            (Some(path), _, _) => vec![self.file(&Labelled {
                path: path.clone(),
                label: labels.file(path)?,
                is_elsewhere: false,
            })],
            (None, Some(service), Some(id)) => {
                let label = labels.record(service, id)?.unwrap_or_default();
                vec![self.record((service, id), &label)]
            }
            (None, Some(service), None) => self.services(&of(labels, service)?),
            (None, None, _) => self.all(labels)?,
        };
        if self.scene.json {
            print::list(rows.into_iter().map(|row| row.json));
            return Ok(0);
        }
        if rows.is_empty() {
            self.say("nobody else had influence on any file or record");
        } else {
            let cells: Vec<Vec<String>> = rows.into_iter().map(|row| row.cells).collect();
            print::line(table(&cells).trim_end());
        }
        if let (Some(service), Some(_)) = (&chosen.service, &chosen.record) {
            self.say_each(labels, service)?;
        }
        Ok(0)
    }

    fn all(&self, labels: &All) -> Result<Vec<Row>> {
        let files = labels.files()?;
        if files.len() >= FILES_LISTED {
            self.say(&format!("the first {FILES_LISTED} files"));
        }
        let files = files.iter().filter(|file| self.is_others(&file.label));
        let files = files.map(|file| self.file(file));
        let mut services = labels.services()?;
        services.retain(|kept| {
            let mut known = kept.each.iter().chain([&kept.any]);
            kept.under_way > 0 || known.any(|label| self.is_others(label))
        });
        Ok(files.chain(self.services(&services)).collect())
    }

    async fn clear(&self, labels: &All, chosen: &Chosen) -> Result<u8> {
        let what =
            match (&chosen.file, &chosen.service) {
                (Some(path), _) => Clear::File(absolute(path)?.display().to_string()),
                (None, Some(service)) => Clear::Records {
                    service: service.clone(),
                    id: chosen.record.clone(),
                },
                (None, None) => {
                    return Err(Error::bad_input("nothing is said that should be cleared").hint(
                    "say it: `--file PATH`, `--service NAME`, or `--service NAME --record ID`",
                ));
                }
            };
        let name = match &chosen.file {
            Some(path) => path.display().to_string(),
            None => what.what(),
        };
        let name = self.clean(&name);
        let cleared = labels.clear(what).await?;
        if cleared == 0 {
            let error = Error::not_found(format!("label of `{}`", visible(&name)));
            return Err(error.hint("`lazaret labels list` shows what there is"));
        }
        if self.scene.json {
            print::compact(&json!({"ok": true, "cleared": cleared}));
        } else {
            let count = print::counted(cleared, "label");
            print::line(format!("`{}` is yours: cleared {count}", visible(&name)));
        }
        if let (Some(service), Some(_)) = (&chosen.service, &chosen.record) {
            self.say_each(labels, service)?;
        }
        Ok(0)
    }

    /// What counts for each record of a service, beside what is known of one.
    fn say_each(&self, labels: &All, service: &str) -> Result<()> {
        let kept = labels.services()?;
        let each = kept.iter().find(|kept| kept.service == service);
        if let Some(label) = each.and_then(|kept| kept.each.as_ref())
            && !self.scene.json
            && !self.scene.quiet
        {
            let label = self.told(label);
            print::follow(
                format!("each record of `{service}` counts as influenced by {label}"),
                &format!("lazaret labels clear --service {}", shell_word(service)),
            );
        }
        Ok(())
    }

    fn file(&self, file: &Labelled) -> Row {
        let path = self.clean(&file.path.display().to_string());
        let (label, is_elsewhere) = (self.sources(&file.label), file.is_elsewhere);
        let json = json!({"file": path, "label": label, "elsewhere": is_elsewhere});
        let more = match is_elsewhere {
            true => "has another name, or is gone",
            false => "",
        };
        self.row(("file", &path, more), json, &file.label)
    }

    fn record(&self, (service, id): (&str, &str), label: &Label) -> Row {
        let id = self.clean(id);
        let json = json!({"service": service, "record": id, "label": self.sources(label)});
        self.row(("record", service, &id), json, label)
    }

    fn services(&self, services: &[Kept]) -> Vec<Row> {
        services
            .iter()
            .flat_map(|kept| self.service(kept))
            .collect()
    }

    /// Two rows where something counts for each record, and something for some.
    fn service(&self, kept: &Kept) -> Vec<Row> {
        let json = json!({
            "service": kept.service, "records": kept.records, "under_way": kept.under_way,
            "each": kept.each.as_ref().map(|label| self.sources(label)), "label": self.sources(&kept.any),
        });
        if self.scene.json {
            let cells = Vec::new();
            return vec![Row { cells, json }];
        }
        let some = (kept.records > 0).then(|| {
            let what = print::counted(kept.records, "record");
            self.row(("service", &kept.service, &what), Value::Null, &kept.any)
        });
        let each = kept.each.as_ref().map(|label| {
            let what = match kept.under_way {
                0 => "each record".to_owned(),
                count => format!(
                    "each record: {} under way or cut off",
                    print::counted(count, "write")
                ),
            };
            self.row(("service", &kept.service, &what), Value::Null, label)
        });
        some.into_iter().chain(each).collect()
    }

    fn row(&self, (kind, name, more): (&str, &str, &str), json: Value, label: &Label) -> Row {
        let told = match label.is_ones_own() {
            true => faint("your own"),
            false => foreign(&self.told(label)),
        };
        let name = match more {
            "" => visible(name),
            more => visible(&format!("{name}: {more}")),
        };
        let cells = vec![faint(kind), strong(name), told];
        Row { cells, json }
    }

    /// Whether somebody else had influence, or something of a secret is told by it, so that whoever reads it sends nothing more:
    /// what one's own tools leave of themselves is nobody's.
    fn is_others(&self, label: &Label) -> bool {
        self.classes.is_tainted(label) || self.classes.is_secret(label)
    }

    fn say(&self, what: &str) {
        if !self.scene.json && !self.scene.quiet {
            print::note(what);
        }
    }

    fn sources(&self, label: &Label) -> Vec<String> {
        let sources = label.sources();
        sources
            .map(|source| self.clean(&source.to_string()))
            .collect()
    }

    fn told(&self, label: &Label) -> String {
        self.clean(&label.told())
    }

    fn clean(&self, text: &str) -> String {
        let mut text = text.to_owned();
        self.journal.cleaning(|with| (with.text)(&mut text));
        text
    }
}

/// A path as it stands on record: whoever reads that is elsewhere.
fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|error| {
        Error::bad_input(format!(
            "`{}` is no path: {}",
            path.display(),
            why(error.kind())
        ))
    })
}

/// Whether anybody knows of records of this service: that nothing is known of one says nothing of who had a hand in it.
fn is_known(service: &str, flows: &Flows, labels: &All) -> Result<()> {
    let kept = labels.services()?;
    let said = flows.tools.iter();
    let said = said.filter(|(_, said)| said.records != Records::default());
    let kept = kept.iter().map(|kept| kept.service.as_str());
    let known: BTreeSet<&str> = said.map(|(tool, _)| tool.plugin()).chain(kept).collect();
    if known.contains(service) {
        return Ok(());
    }
    let what = format!("service `{}` whose records are known", visible(service));
    let hint = match nearest(service, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "a service is what its tools have before the dot; `records` of [flow.tools.\"SERVICE.TOOL\"] \
                 says how its records are known"
            .to_owned(),
    };
    Err(Error::not_found(what).hint(hint))
}

fn of(labels: &All, service: &str) -> Result<Vec<Kept>> {
    let mut all = labels.services()?;
    all.retain(|kept| kept.service == service);
    if all.is_empty() {
        let what = format!("label of a record of `{}`", visible(service));
        return Err(Error::not_found(what).hint("a service is what its tools have before the dot"));
    }
    Ok(all)
}

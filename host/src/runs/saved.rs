//! Saved: what a tool has made, and what was said in a run, in files that the user names. Who had a hand in it stays with them, as
//! with files that tools write: whoever reads them by a mount is under their influence (design §5: labels are stored with
//! everything that is stored).

use std::collections::BTreeMap;
use std::path::Path;

use super::host::{Host, Places, home, open_files};
use crate::rules::flow::class::Classes;
use crate::words::error::Result;
use crate::words::event::Record;
use crate::words::label::Label;

impl Host {
    /// Writes what a tool has made into a file that is not there yet.
    ///
    /// # Errors
    /// `DiskFailed`.
    pub fn save(&self, file: &Path, bytes: &[u8], label: &Label) -> Result<()> {
        self.station.files.save(file, bytes, label)
    }
}

/// Writes what is told of these records into a file that is not there yet; that needs no engine and no plugins.
///
/// # Errors
/// `Corrupt`, `DiskFailed`.
pub fn save_told(
    (places, classes): (&Places, &Classes),
    file: &Path,
    (told, of): (&str, &[Record]),
) -> Result<()> {
    let files = open_files(&BTreeMap::new(), (places, home(places, classes)))?;
    files.save(file, told.as_bytes(), &influence(of))
}

/// What influences whoever reads all of these.
fn influence(records: &[Record]) -> Label {
    let mut all = Label::default();
    for record in records {
        let mut event = record.event.clone();
        event.each_label(|label| all = all.join(label));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::event::{Content, EffectKind, Event, Judged, Verdict};
    use crate::words::id::{Place, RunId, Seq};
    use crate::words::label::{Sort, Source};

    fn record(seq: Seq, event: Event) -> Record {
        Record {
            run: RunId::known("r"),
            seq,
            at: 7,
            parent: 0,
            event,
        }
    }

    #[test]
    fn what_is_told_of_a_run_has_the_labels_of_all_its_records() {
        let of = |host: &str| Label::of(Source::new(Sort::Web, host));
        let judged = |label: Label| {
            Event::Judged(Judged {
                effect: EffectKind::Call,
                subject: "web.get_page".to_owned(),
                component: None,
                origin: "client".to_owned(),
                place: Place::default(),
                content: Content::Empty,
                label,
                weighed: Vec::new(),
                given: BTreeMap::new(),
                verdict: Verdict::Allow {
                    rule: String::new(),
                },
            })
        };
        let questions = Vec::new();
        let records = [
            record(0, judged(of("one"))),
            record(1, judged(of("two"))),
            record(2, Event::Paused { questions }),
        ];
        assert_eq!(influence(&records), of("one").join(&of("two")));
        assert_eq!(influence(&records[2..]), Label::default());
    }
}

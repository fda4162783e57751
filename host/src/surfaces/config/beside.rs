//! What lies beside files: the folders that a mount could be made of.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Entries that are looked at. Of a folder with more, nobody says what is not there.
const ENTRIES: usize = 4096;

/// The folders in these places, for whoever is told how to allow something; nothing where not all can be seen.
pub(super) fn folders<'a>(places: impl Iterator<Item = &'a Path>) -> Option<BTreeSet<String>> {
    let mut folders = BTreeSet::new();
    for place in places {
        let mut entries = fs::read_dir(place).ok()?;
        for entry in entries.by_ref().take(ENTRIES) {
            let entry = entry.ok()?;
            if entry.path().is_dir() {
                folders.extend(entry.file_name().into_string().ok());
            }
        }
        if entries.next().is_some() {
            return None;
        }
    }
    Some(folders)
}

//! What lies beside files: the folders that a mount could be made of.

use std::collections::BTreeSet;
use std::path::Path;

use crate::edges::named;
use crate::rules::policy::Policy;

/// Entries that are looked at. Of a folder with more, nobody says what is not there.
const ENTRIES: usize = 4096;

/// Looks beside these files, where there are any.
pub(super) fn look<'a>(policy: &mut Policy, files: impl Iterator<Item = &'a Path>) {
    let mut places = files.filter_map(Path::parent).peekable();
    if places.peek().is_some() {
        policy.folders = folders(places);
    }
}

/// The folders in these places, for whoever is told how to allow something; nothing where not all can be seen.
pub(super) fn folders<'a>(places: impl Iterator<Item = &'a Path>) -> Option<BTreeSet<String>> {
    let each: Option<Vec<BTreeSet<String>>> = places
        .map(|place| named::folders_in(place, ENTRIES))
        .collect();
    Some(each?.into_iter().flatten().collect())
}

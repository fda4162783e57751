//! must not compile: E0624

pub fn open(files: &lazaret::edges::files::Files, permit: lazaret::gate::Permit<lazaret::rules::file::File>) {
    let _ = files.perform(permit);
}

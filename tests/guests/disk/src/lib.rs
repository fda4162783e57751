//! A guest that knows files from the standard library alone, as a program does that was written for any other host.

#[path = "../../lines.rs"]
mod lines;

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Result, Seek, SeekFrom, Write};

use lazaret_sdk::prelude::*;

/// Characters of a text that stand in a line.
const SHOWN: usize = 200;

/// One operation on a path.
#[value]
pub struct Wish {
    /// See [`perform`].
    pub op: String,
    /// The path.
    pub path: String,
    /// The text to write, how many bytes of it, or another path.
    #[serde(default)]
    pub with: String,
}

/// Does one thing after the other and says what came of each.
#[tool(effect = "side-effecting", risk = "read_only", mounts = "write")]
fn each(
    /// What to do.
    wishes: Vec<Wish>,
) -> Vec<String> {
    let said = |wish: Wish| {
        let what = format!("{} {}", wish.op, wish.path);
        match perform(&wish) {
            Ok(text) => format!(
                "{what} -> ok: {}",
                text.chars().take(SHOWN).collect::<String>()
            ),
            Err(error) => format!("{what} -> {:?}", error.kind()),
        }
    };
    wishes.into_iter().map(said).collect()
}

fn perform(wish: &Wish) -> Result<String> {
    let (path, with) = (wish.path.as_str(), wish.with.as_str());
    let done = |()| "done".to_owned();
    match wish.op.as_str() {
        "read" => fs::read_to_string(path),
        "read-some" => {
            let mut text = String::new();
            File::open(path)?.take(4).read_to_string(&mut text)?;
            Ok(text)
        }
        "size" => Ok(fs::read(path)?.len().to_string()),
        "write" => fs::write(path, with).map(done),
        "write-bytes" => {
            let mut file = File::create(path)?;
            let mut left: usize = with.parse().expect("a number of bytes");
            while left > 0 {
                let piece = left.min(10_000);
                file.write_all(&vec![b'x'; piece])?;
                left -= piece;
            }
            file.sync_all().map(done)
        }
        "new" => File::create_new(path)?.write_all(with.as_bytes()).map(done),
        "append" => {
            let mut file = OpenOptions::new().append(true).create(true).open(path)?;
            file.write_all(with.as_bytes())?;
            file.write_all(b"!").map(done)
        }
        "at-2" => {
            let mut file = OpenOptions::new().read(true).write(true).open(path)?;
            file.seek(SeekFrom::Start(2))?;
            file.write_all(with.as_bytes())?;
            let mut text = String::new();
            file.seek(SeekFrom::Start(0))?;
            file.read_to_string(&mut text)?;
            Ok(text)
        }
        "write-read-only" => File::open(path)?.write_all(with.as_bytes()).map(done),
        _ => perform_on_names(wish),
    }
}

/// What is done with names, and not with what is in a file.
fn perform_on_names(wish: &Wish) -> Result<String> {
    let (path, with) = (wish.path.as_str(), wish.with.as_str());
    let done = |()| "done".to_owned();
    match wish.op.as_str() {
        "list" => {
            let names = fs::read_dir(path)?.map(|entry| {
                let entry = entry?;
                Ok(format!(
                    "{}:{}",
                    entry.file_name().display(),
                    entry.file_type()?.is_dir()
                ))
            });
            let mut names = names.collect::<Result<Vec<_>>>()?;
            names.sort();
            Ok(names.join(" "))
        }
        "stat" => {
            let found = fs::metadata(path)?;
            Ok(format!("{} {}", found.is_dir(), found.len()))
        }
        "lstat" => fs::symlink_metadata(path).map(|found| found.is_symlink().to_string()),
        "move" => fs::rename(path, with).map(done),
        "remove" => fs::remove_file(path).map(done),
        "make-folder" => fs::create_dir(path).map(done),
        "make-folders" => fs::create_dir_all(path).map(done),
        "remove-folder" => fs::remove_dir(path).map(done),
        "copy" => fs::copy(path, with).map(|bytes| bytes.to_string()),
        "hard-link" => fs::hard_link(path, with).map(done),
        "read-link" => fs::read_link(path).map(|to| to.display().to_string()),
        "cut" => OpenOptions::new()
            .write(true)
            .open(path)?
            .set_len(0)
            .map(done),
        other => panic!("there is no operation `{other}`"),
    }
}

/// Opens a file so many times, and keeps it open.
#[tool(effect = "read-only", risk = "read_only", mounts = "read")]
fn hoard(
    /// The file.
    path: String,
    /// How often.
    times: usize,
) -> usize {
    let open: Vec<File> = (0..times).map_while(|_| File::open(&path).ok()).collect();
    open.len()
}

plugin! { name: "disk", description: "Uses files as the standard library does.", tools: [each, hoard, lines::log_lines] }

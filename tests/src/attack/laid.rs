//! What lies in the folder of an attack, and what is damaged there while nobody looks.

use std::path::{Path, PathBuf};

use serde::Deserialize;

/// Something in the test's folder.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Laid {
    /// Where.
    pub path: String,
    /// A file with this text,
    #[serde(default)]
    pub text: Option<String>,
    /// a symbolic link to this,
    #[serde(default)]
    pub link: Option<String>,
    /// a second name of this file,
    #[serde(default)]
    pub hard_link: Option<String>,
    /// a pipe,
    #[serde(default)]
    pub pipe: bool,
    /// so many files with numbered names,
    #[serde(default)]
    pub many: usize,
    /// or a file of this size with nothing in it.
    #[serde(default)]
    pub sparse: u64,
}

pub(super) fn lay(folder: &Path, laid: &Laid) -> std::io::Result<()> {
    let path = folder.join(&laid.path);
    std::fs::create_dir_all(path.parent().unwrap_or(folder))?;
    if let Some(to) = &laid.link {
        return std::os::unix::fs::symlink(to, path);
    }
    if let Some(to) = &laid.hard_link {
        return std::fs::hard_link(folder.join(to), path);
    }
    if laid.pipe {
        let made = std::process::Command::new("mkfifo").arg(path).status()?;
        return if made.success() {
            Ok(())
        } else {
            Err(std::io::Error::other("mkfifo failed"))
        };
    }
    if laid.many > 0 {
        std::fs::create_dir_all(&path)?;
        return (0..laid.many).try_for_each(|at| std::fs::write(path.join(at.to_string()), ""));
    }
    if laid.sparse > 0 {
        return std::fs::File::create(path)?.set_len(laid.sparse);
    }
    std::fs::write(path, laid.text.as_deref().unwrap_or_default())
}

/// What becomes of a file: one of these.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Damage {
    /// Which: all in that folder whose names end so, as in `state/cache/*.code`, or the one of that name.
    pub path: String,
    /// One bit of it is another, at this part of its length.
    #[serde(default)]
    pub flip: Option<f64>,
    /// It ends at this part of its length.
    #[serde(default)]
    pub cut: Option<f64>,
    /// It holds this text,
    #[serde(default)]
    pub text: Option<String>,
    /// it is a link to this,
    #[serde(default)]
    pub link: Option<String>,
    /// or it has a second name.
    #[serde(default)]
    pub hard_link: Option<String>,
    /// From its second page on nothing is what it was.
    #[serde(default)]
    pub pages: bool,
}

/// Does it, with a new file in the old one's place: tests share what they have compiled.
pub(super) fn damage(folder: &Path, damage: &Damage) -> std::io::Result<()> {
    let all = named(folder, &damage.path)?;
    if all.is_empty() {
        return Err(std::io::Error::other("there is no such file"));
    }
    all.iter()
        .try_for_each(|path| damage_one(folder, (path, damage)))
}

fn named(folder: &Path, path: &str) -> std::io::Result<Vec<PathBuf>> {
    let Some((above, end)) = path.split_once("/*") else {
        return Ok(vec![folder.join(path)]);
    };
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder.join(above))? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(end) {
            all.push(path);
        }
    }
    Ok(all)
}

fn damage_one(folder: &Path, (path, damage): (&Path, &Damage)) -> std::io::Result<()> {
    if let Some(second) = &damage.hard_link {
        return std::fs::hard_link(path, folder.join(second));
    }
    let bytes = std::fs::read(path)?;
    std::fs::remove_file(path)?;
    if let Some(to) = &damage.link {
        return std::os::unix::fs::symlink(to, path);
    }
    let bytes = match &damage.text {
        Some(text) => text.clone().into_bytes(),
        None => spoiled(bytes, (damage.flip, damage.cut, damage.pages)),
    };
    std::fs::write(path, bytes)
}

/// Bytes of which one bit is another, or some are missing.
pub(super) fn spoiled(
    mut bytes: Vec<u8>,
    (flip, cut, pages): (Option<f64>, Option<f64>, bool),
) -> Vec<u8> {
    if let Some(part) = flip {
        let at = place(bytes.len(), part).min(bytes.len() - 1);
        bytes[at] ^= 1 << (at % 8);
    }
    if let Some(part) = cut {
        bytes.truncate(place(bytes.len(), part));
    }
    if pages {
        let from = bytes.len().min(4_096);
        bytes[from..].fill(0xA5);
    }
    bytes
}

/// A part of a length; tests are no place for lengths that no number holds.
fn place(length: usize, part: f64) -> usize {
    let thousandths = (part * 1_000.0) as usize;
    length * thousandths / 1_000
}

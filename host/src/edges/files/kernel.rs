//! File systems that the kernel makes up (`/proc`, `/sys` and their like): what lies there are no files of anybody's, but
//! ways into processes and the machine.

use std::os::fd::AsFd;
use std::path::Path;

use cap_std::fs::{Dir, Metadata, MetadataExt, OpenOptions, OpenOptionsExt};
use rustix::fs::{Mode, OFlags, fstatfs};

use super::explain;
use crate::words::error::{Code, Error, Result};
use crate::words::id::shown;

/// As `linux/magic.h` has them: proc, sys, debug, trace, security, SELinux, Smack, cgroup, cgroup2, BPF, config, EFI
/// variables, pstore, binfmt, pseudo terminals, namespaces, FUSE control, resctrl, Xen, message queues.
const KINDS: [u64; 20] = [
    0x9fa0,
    0x6265_6572,
    0x6462_6720,
    0x7472_6163,
    0x7363_6673,
    0xf97c_ff8c,
    0x4341_5d53,
    0x0027_e0eb,
    0x6367_7270,
    0xcafe_4a11,
    0x6265_6570,
    0xde5e_81e4,
    0x6165_676c,
    0x4249_4e4d,
    0x1cd1,
    0x6e73_6673,
    0x6573_5543,
    0x0765_5821,
    0xabba_1974,
    0x1980_0202,
];

/// Whether something that is open lies in one of them.
pub(super) fn is_kernels(opened: impl AsFd) -> bool {
    let kind = fstatfs(opened).map(|found| u64::try_from(found.f_type));
    // What cannot be told is not taken for a file.
    !matches!(kind, Ok(Ok(kind)) if !KINDS.contains(&kind))
}

/// Whether what lies at a path, or where that leads, lies in one of them. It is looked at, and not opened.
pub(in crate::edges) fn is_kernels_at(path: &Path) -> bool {
    let opened = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    opened.is_ok_and(is_kernels)
}

/// Refuses a way on which another file system begins, if that is one of them. Nothing that a tool does mounts any, so what
/// is found here stays so.
pub(super) fn check_way(
    (dir, path): (&Dir, &str),
    (way, found): (&Path, &Metadata),
    device: &mut u64,
) -> Result<()> {
    if found.dev() == *device {
        return Ok(());
    }
    *device = found.dev();
    // Looked at, and not opened: a device may act on that.
    let only_looks = i32::try_from(OFlags::PATH.bits()).unwrap_or(0);
    let mut options = OpenOptions::new();
    let opened = dir
        .open_with(way, options.read(true).custom_flags(only_looks))
        .map_err(|error| explain(path, &error))?;
    if !is_kernels(opened) {
        return Ok(());
    }
    let what = format!(
        "`{}` lies in a file system of the kernel's own, where nothing is a file",
        shown(path)
    );
    Err(Error::new(Code::Denied, what))
}

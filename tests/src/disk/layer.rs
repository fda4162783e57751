//! The layer itself: a VFS that does what the system's own does, and asks first how that goes.
//!
//! Relied upon: SQLite calls each function with the file or VFS that it was given, gives every file `szOsFile` zeroed
//! bytes, aligned for pointers, and never uses a file after `xClose`. The system's VFS needs itself for opening, and
//! nothing of it elsewhere.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem::size_of;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rusqlite::ffi::{self, sqlite3_file, sqlite3_io_methods, sqlite3_vfs};

use super::{Fate, State, What, die, lock};

/// What a VFS of ours has beside its functions.
struct Own {
    real: *mut sqlite3_vfs,
    state: Arc<Mutex<State>>,
}

/// A file of ours; the system's own follows directly behind it.
#[repr(C)]
struct File {
    ours: sqlite3_file,
    /// Nothing for files that are of no interest: temporary ones, and the index of the log.
    watched: *mut Watched,
}

struct Watched {
    name: String,
    state: Arc<Mutex<State>>,
}

/// Makes the layer known to SQLite, under a name of its own, for as long as the process lives.
pub(super) fn register(state: Arc<Mutex<State>>, is_default: bool) -> String {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let name = format!("disk-{}", COUNT.fetch_add(1, Ordering::Relaxed));
    let text = CString::new(name.clone())
        .expect("a name without NUL")
        .into_raw();
    // SAFETY: SQLite gives its own VFS, which lives as long as the process. Copied are plain numbers and functions;
    // what is registered is leaked, so that it lives as long.
    unsafe {
        let real = ffi::sqlite3_vfs_find(ptr::null());
        assert!(!real.is_null(), "SQLite has a VFS");
        let own = Box::into_raw(Box::new(Own { real, state }));
        let vfs = Box::into_raw(Box::new(sqlite3_vfs {
            szOsFile: size_of_file() + (*real).szOsFile,
            pNext: ptr::null_mut(),
            zName: text,
            pAppData: own.cast(),
            xOpen: Some(open),
            xDelete: Some(delete),
            ..*real
        }));
        let registered = ffi::sqlite3_vfs_register(vfs, c_int::from(is_default));
        assert_eq!(registered, ffi::SQLITE_OK, "SQLite takes the VFS");
    }
    name
}

fn size_of_file() -> c_int {
    c_int::try_from(size_of::<File>()).expect("a small struct")
}

/// # Safety
/// `vfs` is one that [`register`] has made.
unsafe fn own<'a>(vfs: *mut sqlite3_vfs) -> &'a Own {
    // SAFETY: `register` has put it there, and never takes it away.
    unsafe { &*(*vfs).pAppData.cast::<Own>() }
}

/// The system's file behind ours.
///
/// # Safety
/// `file` is one that SQLite has made for a VFS of ours.
unsafe fn real(file: *mut sqlite3_file) -> *mut sqlite3_file {
    // SAFETY: `szOsFile` has room for both.
    unsafe { file.cast::<File>().add(1).cast() }
}

unsafe extern "C" fn open(
    vfs: *mut sqlite3_vfs,
    path: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    const WATCHED: c_int =
        ffi::SQLITE_OPEN_MAIN_DB | ffi::SQLITE_OPEN_MAIN_JOURNAL | ffi::SQLITE_OPEN_WAL;
    // SAFETY: as SQLite promises for `xOpen`; where opening fails, `pMethods` stays empty and nothing is closed.
    unsafe {
        let own = own(vfs);
        let ours = file.cast::<File>();
        (*ours).ours.pMethods = ptr::null();
        (*ours).watched = ptr::null_mut();
        let is_watched = !path.is_null() && flags & WATCHED != 0;
        let was_there = is_watched && exists(own.real, path);
        let opened = match (*own.real).xOpen {
            Some(open) => open(own.real, path, real(file), flags, out),
            None => ffi::SQLITE_CANTOPEN,
        };
        if opened != ffi::SQLITE_OK {
            return opened;
        }
        if is_watched {
            let (name, state) = (name_of(path), own.state.clone());
            if !was_there && lock(&state).happens(&name, What::Made) == Fate::WellAndLast {
                die();
            }
            (*ours).watched = Box::into_raw(Box::new(Watched { name, state }));
        }
        (*ours).ours.pMethods = &METHODS;
        ffi::SQLITE_OK
    }
}

/// # Safety
/// `real` is the system's VFS, `path` a path that SQLite has given.
unsafe fn exists(real: *mut sqlite3_vfs, path: *const c_char) -> bool {
    let mut found = 0;
    // SAFETY: as the caller says.
    unsafe {
        if let Some(access) = (*real).xAccess {
            access(real, path, ffi::SQLITE_ACCESS_EXISTS, &mut found);
        }
    }
    found != 0
}

/// # Safety
/// `path` is a path that SQLite has given.
unsafe fn name_of(path: *const c_char) -> String {
    // SAFETY: SQLite's paths end with NUL.
    let path = unsafe { CStr::from_ptr(path) }.to_string_lossy();
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

unsafe extern "C" fn delete(vfs: *mut sqlite3_vfs, path: *const c_char, sync: c_int) -> c_int {
    // SAFETY: as SQLite promises for `xDelete`.
    unsafe {
        let own = own(vfs);
        let delete = || match (*own.real).xDelete {
            Some(delete) => delete(own.real, path, sync),
            None => ffi::SQLITE_IOERR_DELETE,
        };
        if !exists(own.real, path) {
            return delete();
        }
        let fate = lock(&own.state).happens(&name_of(path), What::Removed(sync != 0));
        match fate {
            Fate::Well => delete(),
            Fate::WellAndLast => {
                delete();
                die()
            }
            Fate::Full | Fate::Half | Fate::Broken | Fate::SyncFails => ffi::SQLITE_IOERR_DELETE,
        }
    }
}

/// How something goes that happens to a file.
///
/// # Safety
/// `file` is an open file of ours.
unsafe fn happens(file: *mut sqlite3_file, what: impl FnOnce() -> What) -> Fate {
    // SAFETY: `open` has put it there, and `close` takes it away.
    unsafe {
        match (*file.cast::<File>()).watched.as_ref() {
            Some(watched) => lock(&watched.state).happens(&watched.name, what()),
            None => Fate::Well,
        }
    }
}

unsafe extern "C" fn write(
    file: *mut sqlite3_file,
    bytes: *const c_void,
    length: c_int,
    at: ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite gives `length` bytes.
    unsafe {
        let what = || {
            let length = usize::try_from(length).unwrap_or_default();
            let bytes = std::slice::from_raw_parts(bytes.cast::<u8>(), length);
            What::Written(usize::try_from(at).unwrap_or_default(), bytes.to_vec())
        };
        let write = |length| {
            forward(file, |methods, real| {
                (methods.xWrite?)(real, bytes, length, at).into()
            })
        };
        match happens(file, what) {
            Fate::Well => write(length),
            Fate::WellAndLast => {
                write(length);
                die()
            }
            Fate::Full => ffi::SQLITE_FULL,
            Fate::Half => {
                write(length / 2);
                ffi::SQLITE_FULL
            }
            Fate::Broken | Fate::SyncFails => ffi::SQLITE_IOERR_WRITE,
        }
    }
}

unsafe extern "C" fn truncate(file: *mut sqlite3_file, length: ffi::sqlite3_int64) -> c_int {
    // SAFETY: as SQLite promises.
    unsafe {
        let truncate = || {
            forward(file, |methods, real| {
                (methods.xTruncate?)(real, length).into()
            })
        };
        match happens(file, || {
            What::Cut(usize::try_from(length).unwrap_or_default())
        }) {
            Fate::Well => truncate(),
            Fate::WellAndLast => {
                truncate();
                die()
            }
            Fate::Full | Fate::Half | Fate::Broken | Fate::SyncFails => ffi::SQLITE_IOERR_TRUNCATE,
        }
    }
}

unsafe extern "C" fn sync(file: *mut sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: as SQLite promises. The real sync is left out: nobody pulls a plug here, and tests are quicker so.
    unsafe {
        let _ = flags;
        match happens(file, || What::Synced) {
            Fate::Well | Fate::Full | Fate::Half => ffi::SQLITE_OK,
            Fate::WellAndLast => die(),
            Fate::Broken | Fate::SyncFails => ffi::SQLITE_IOERR_FSYNC,
        }
    }
}

unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite closes once; what `open` has put there is taken away here alone.
    unsafe {
        let ours = file.cast::<File>();
        if !(*ours).watched.is_null() {
            drop(Box::from_raw((*ours).watched));
            (*ours).watched = ptr::null_mut();
        }
        forward(file, |methods, real| (methods.xClose?)(real).into())
    }
}

/// Asks the system's file.
///
/// # Safety
/// `file` is an open file of ours.
unsafe fn forward(
    file: *mut sqlite3_file,
    ask: impl FnOnce(&sqlite3_io_methods, *mut sqlite3_file) -> Option<c_int>,
) -> c_int {
    // SAFETY: the system has opened it, and so has given it its functions.
    unsafe {
        let real = real(file);
        ask(&*(*real).pMethods, real).unwrap_or(ffi::SQLITE_IOERR)
    }
}

/// A function that only asks the system's file.
macro_rules! plain {
    ($name:ident, $method:ident $(, $argument:ident: $type:ty)*) => {
        unsafe extern "C" fn $name(file: *mut sqlite3_file $(, $argument: $type)*) -> c_int {
            // SAFETY: SQLite calls it for an open file of ours.
            unsafe { forward(file, |methods, real| (methods.$method?)(real $(, $argument)*).into()) }
        }
    };
}

plain!(read, xRead, bytes: *mut c_void, length: c_int, at: ffi::sqlite3_int64);
plain!(file_size, xFileSize, size: *mut ffi::sqlite3_int64);
plain!(lock_file, xLock, level: c_int);
plain!(unlock_file, xUnlock, level: c_int);
plain!(check_reserved, xCheckReservedLock, out: *mut c_int);
plain!(control, xFileControl, what: c_int, argument: *mut c_void);
plain!(sector_size, xSectorSize);
plain!(characteristics, xDeviceCharacteristics);
plain!(shm_map, xShmMap, page: c_int, size: c_int, extend: c_int, out: *mut *mut c_void);
plain!(shm_lock, xShmLock, offset: c_int, count: c_int, flags: c_int);
plain!(shm_unmap, xShmUnmap, delete: c_int);

unsafe extern "C" fn shm_barrier(file: *mut sqlite3_file) {
    // SAFETY: SQLite calls it for an open file of ours.
    unsafe {
        forward(file, |methods, real| {
            (methods.xShmBarrier?)(real);
            Some(ffi::SQLITE_OK)
        });
    }
}

/// Version 2: no memory map.
static METHODS: sqlite3_io_methods = sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock_file),
    xUnlock: Some(unlock_file),
    xCheckReservedLock: Some(check_reserved),
    xFileControl: Some(control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};

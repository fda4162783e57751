//! The interpreter's heap, bounded.
//!
//! QuickJS has a bound of its own, but when that is reached it may find no room for the error that says so, throws
//! `null`, and nobody can tell why. Here the error has room: what is small may go beyond the bound for a while, and that
//! the bound was reached is remembered.

use std::cell::Cell;
use std::ffi::c_void;
use std::rc::Rc;

use rquickjs::allocator::Allocator;

/// Pieces up to this size may use the reserve. QuickJS allocates small objects in blocks of a few KiB.
const SMALL_BYTES: usize = 16 * 1024;
/// What small pieces may use beyond the bound.
const RESERVE_BYTES: usize = 256 * 1024;

// The C library that QuickJS brings, or the system's; the interpreter links it anyway.
unsafe extern "C" {
    fn malloc(size: usize) -> *mut c_void;
    fn calloc(count: usize, size: usize) -> *mut c_void;
    fn realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn free(block: *mut c_void);
    #[cfg_attr(target_vendor = "apple", link_name = "malloc_size")]
    fn malloc_usable_size(block: *mut c_void) -> usize;
}

/// What Rust holds back for itself, until the memory of the guest is full.
const BALLAST_BYTES: usize = 256 * 1024;

/// How full a heap is.
pub struct Heap {
    /// C and Rust share the guest's memory, but not their free blocks. When C finds no more, Rust must find some to say so.
    ballast: Cell<Option<Box<[u8]>>>,
    used: Cell<usize>,
    most: Cell<usize>,
    /// Whether something was refused since the bound was set.
    refused: Cell<bool>,
    /// Whether small pieces may use the reserve: since something was refused, until there is room again.
    lends: Cell<bool>,
}

impl Heap {
    /// A heap without a bound.
    pub fn unbounded() -> Rc<Self> {
        Rc::new(Self {
            ballast: Cell::new(Some(vec![0; BALLAST_BYTES].into_boxed_slice())),
            used: Cell::new(0),
            most: Cell::new(usize::MAX / 2),
            refused: Cell::new(false),
            lends: Cell::new(false),
        })
    }

    /// The bytes in use.
    pub fn used(&self) -> usize {
        self.used.get()
    }

    /// Bounds the heap. What is in use already counts.
    pub fn bound(&self, most: usize) {
        self.most.set(most);
    }

    /// Makes room for what it takes to say that the heap was full.
    pub fn extend(&self, bytes: usize) {
        self.most.set(self.most.get().saturating_add(bytes));
    }

    /// Whether the heap was full at some time.
    pub fn was_full(&self) -> bool {
        self.refused.get()
    }

    /// Whether so many bytes more may be used.
    fn admits(&self, more: usize) -> bool {
        let Some(wanted) = self.used.get().checked_add(more) else {
            return false;
        };
        if wanted <= self.most.get() {
            self.lends.set(false);
            return true;
        }
        let from_reserve = self.lends.get() && more <= SMALL_BYTES;
        if from_reserve && wanted <= self.most.get().saturating_add(RESERVE_BYTES) {
            return true;
        }
        self.refuse();
        false
    }

    fn refuse(&self) {
        self.refused.set(true);
        self.lends.set(true);
    }

    /// Accounts for a block that was given, in place of one of so many bytes; or for one that was not.
    fn given(&self, block: *mut c_void, gone: usize) -> *mut u8 {
        if block.is_null() {
            self.ballast.take();
            self.refuse();
        } else {
            let used = self.used.get() + usable(block);
            self.used.set(used.saturating_sub(gone));
        }
        block.cast()
    }
}

/// What the interpreter allocates with.
pub struct Metered(pub Rc<Heap>);

// SAFETY: every block is the C library's, which keeps all that the trait demands.
unsafe impl Allocator for Metered {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        if !self.0.admits(size) {
            return std::ptr::null_mut();
        }
        // SAFETY: any size may be asked for.
        let block = unsafe { malloc(size) };
        self.0.given(block, 0)
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        if !count
            .checked_mul(size)
            .is_some_and(|size| self.0.admits(size))
        {
            return std::ptr::null_mut();
        }
        // SAFETY: as above.
        let block = unsafe { calloc(count, size) };
        self.0.given(block, 0)
    }

    unsafe fn dealloc(&mut self, block: *mut u8) {
        let gone = usable(block.cast());
        self.0.used.set(self.0.used.get().saturating_sub(gone));
        // SAFETY: the caller's block is of this allocator.
        unsafe { free(block.cast()) }
    }

    unsafe fn realloc(&mut self, block: *mut u8, size: usize) -> *mut u8 {
        let gone = usable(block.cast());
        if !self.0.admits(size.saturating_sub(gone)) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's block is of this allocator.
        let grown = unsafe { realloc(block.cast(), size) };
        self.0.given(grown, gone)
    }

    unsafe fn usable_size(block: *mut u8) -> usize {
        usable(block.cast())
    }
}

fn usable(block: *mut c_void) -> usize {
    if block.is_null() {
        return 0;
    }
    // SAFETY: a block of the C library that was not freed.
    unsafe { malloc_usable_size(block) }
}

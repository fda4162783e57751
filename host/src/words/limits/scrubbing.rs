//! Bounds of the search for secrets that were cut in two, for packed ones, and in what comes in pieces.

/// Bytes held back of what comes in pieces, and of a packed run in it: a value that is longer as it is written is not found there.
pub const SCRUB_HELD_BYTES: usize = 16 << 10;

/// Parts are looked for of values that have at least so many bytes,
pub const SCRUB_PARTED_BYTES: usize = 16;
/// and so many bytes of one that stand together are one of them,
pub const SCRUB_PART_BYTES: usize = 12;
/// with so many different ones among them,
pub const SCRUB_PART_DISTINCT: usize = 8;
/// and so many changes from letter to digit, back, or from small letter to capital, as random text has them.
pub const SCRUB_PART_CHANGES: usize = 3;
/// Places in all values by which parts are recognised; of what is beyond, only the whole is.
pub const SCRUB_PART_SEEDS: usize = 16_384;
/// A run of base64 or hex may hold something packed if it has so many characters.
pub const SCRUB_PACKED_CHARS: usize = 24;
/// So many characters of it are read,
pub const SCRUB_PACKED_CHARS_MAX: usize = 512 << 10;
/// from so many places in a run,
pub const SCRUB_PACKED_TRIES: usize = 4;
/// and what comes of all in a text is searched up to so many times its length,
pub const SCRUB_UNPACKED_TIMES: usize = 32;
/// and so many bytes; with one after another, the half of what is left of that.
pub const SCRUB_UNPACKED_LEAST: usize = 4 << 10;
/// Values of which there are fewer, as a power of two, can be tried one by one: many fit into one text.
pub const SECRET_GUESS_BITS: u32 = 50;
/// What begins with the two letters that something packed may begin with is a text if so many bytes of it do not unpack.
pub const SCRUB_PROVED_BYTES: usize = 4 << 10;
/// What is unpacked is searched in pieces of this size, so that no more of it is in memory at once.
pub const SCRUB_WINDOW_BYTES: usize = 1 << 20;
/// To begin with one takes time as well: as much as so many bytes. A run that is as short as one can be, and is tried once, brings room
/// for each spelling that a text is read in.
pub const SCRUB_UNPACK_COST: usize = 128;
/// The table of the fastest search grows with what is searched for; above so many bytes of that there is one that takes less room and
/// more time.
pub const SCRUB_TABLE_BYTES: usize = 32 << 10;

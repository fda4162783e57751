//! How far the keys go that change a number which used to be fixed. Where that number bounds a structure, or how much a
//! guard finds, it is an end of its key, and the other end stands here.

/// Least value of `[tools] name_chars`: the bundled tools have shorter names.
pub const TOOL_NAME_CHARS_MIN: usize = 32;
/// Least value of `[search] line_chars`.
pub const CATALOGUE_LINE_CHARS_MIN: usize = 40;
/// Least value of `[limits] handles`.
pub const HANDLES_MIN: usize = 16;
/// Least value of `[limits] stack_mib`.
pub const WASM_STACK_MIB_MIN: usize = 1;
/// Least value of `[mcp_server] frame_bytes`: what a client begins with is shorter.
pub const MCP_FRAME_BYTES_MIN: usize = 8 << 10;
/// Least value of `[flow] span_chars`: in each span of so many letters lies a whole tile.
pub const VERBATIM_SPAN_CHARS_MIN: usize = 11;
/// Least value of `[flow] floor_chars`: of anything shorter every text has some.
pub const VERBATIM_FLOOR_CHARS_MIN: usize = 4;
/// Largest value of `[flow] tracked_chars`: what a run remembers is in memory, some ten bytes for a character.
pub const VERBATIM_CHARS_MAX: usize = 1 << 20;
/// Largest value of `[context] chars_per_token`.
pub const CHARS_PER_TOKEN_MAX: usize = 8;
/// Largest value of `[context] message_tokens`.
pub const CONTEXT_MESSAGE_TOKENS_MAX: u64 = 1_000;
/// Characters of the name of a variable of the environment that holds a secret.
pub const VARIABLE_CHARS: usize = 128;

//! Limits of what an MCP server may send and ask of us, and of logging in to one.

use super::{SERVER_CALLS_AT_ONCE, SERVER_MESSAGE_BYTES};

/// Bytes of a server in any second, where `bytes_per_s` does not say: as much as all that it is asked at once may answer.
pub const SERVER_BYTES_PER_S: usize = SERVER_CALLS_AT_ONCE * SERVER_MESSAGE_BYTES;
/// Largest value of `bytes_per_s`.
pub const SERVER_BYTES_PER_S_MAX: usize = 1 << 30;
/// Requests of one server that are seen to at once: what waits for a person or a model is kept as long.
pub const SERVER_ASKS: usize = 8;
/// One of them, as JSON.
pub const SERVER_ASK_BYTES: usize = 128 << 10;
/// Fields of a form of a server.
pub const FORM_FIELDS: usize = 32;
/// Characters of what a server says with a form.
pub const FORM_MESSAGE_CHARS: usize = 2_000;
/// Characters of a field's name.
pub const FORM_NAME_CHARS: usize = 64;
/// Values that a field offers.
pub const FORM_VALUES: usize = 100;
/// A form, and what a person answers to it, as JSON.
pub const FORM_BYTES: usize = 32 << 10;
/// Forms that one call of a server may put.
pub const FORMS_PER_CALL: u32 = 8;
/// How often whoever waits for an answer looks for one.
pub const ANSWER_LOOK_MS: u64 = 100;
/// How long whoever answers waits until the answer was taken.
pub const ANSWER_TAKEN_MS: u64 = 5_000;
/// Nesting of a message: a schema or an outcome in it that is nested deeper than may be comes to nothing by itself.
pub const SERVER_JSON_DEPTH: usize = 120;
/// The least wait before a stream of a server is taken up again, whatever it wishes; where that fails, then twice as long,
pub const SERVER_RETRY_MS: u64 = 1_000;
/// and no longer than this.
pub const SERVER_RETRY_MS_MAX: u64 = 60_000;
/// Rounds of one call that wants more than its arguments.
pub const SERVER_ROUNDS: u32 = 10;
/// Messages of one wish of a server for a model.
pub const SAMPLE_MESSAGES: usize = 32;
/// What they say together.
pub const SAMPLE_BYTES: usize = 64 << 10;
/// Tokens of what stands around it: marks, and what they mean.
pub const SAMPLE_FRAME_TOKENS: u64 = 100;
/// Most that `sampling.tokens` may say.
pub const SAMPLE_TOKENS_MAX: u64 = 10_000_000;
/// Most that `sampling.requests` may say.
pub const SAMPLE_REQUESTS_MAX: u32 = 10_000;
/// A document that says how to log in, and what comes of a request for a token.
pub const LOGIN_BYTES: usize = 64 << 10;
/// Scopes of one login, together.
pub const LOGIN_SCOPE_BYTES: usize = 4 << 10;
/// How long it is waited for somebody to log in.
pub const LOGIN_WAIT_MS: u64 = 600_000;
/// Requests that are heard meanwhile: a browser asks for more than the one page.
pub const LOGIN_REQUESTS: u32 = 64;
/// The head of one of them.
pub const LOGIN_HEAD_BYTES: usize = 16 << 10;
/// How long one of them may take to say what it wants.
pub const LOGIN_HEAD_MS: u64 = 10_000;
/// Characters that a secret has that an issuer gives.
pub const LOGIN_SECRET_CHARS: usize = 16;
/// How long a token counts that was just had, or could not be had: an issuer is asked for one no more often.
pub const LOGIN_AGAIN_MS: u64 = 60_000;
/// Characters of scopes that stand in a command to copy.
pub const LOGIN_SHOWN_CHARS: usize = 200;
/// A token that is good for no longer than this is asked for anew.
pub const LOGIN_EARLY_MS: u64 = 30_000;

//! Limits: the fixed bounds that a user meets or a reviewer looks for, in one place, unit last in each name.
//!
//! A loop, queue, buffer or list without a bound is a defect. A number of one algorithm alone (how deep a queue to a thread
//! is) is a constant beside it. What an operator may change has its default here and its key in `[limits]` of `lazaret.toml`.

pub mod failures;
pub mod records;
pub mod run;
pub mod scrubbing;
pub mod seats;
pub mod servers;
mod together;
pub mod tuned;
pub mod unread;

use std::time::Duration;

/// Wasm memory of one guest, all its memories together.
pub const GUEST_MEMORY_BYTES: usize = 64 << 20;
/// Largest value of `[limits] memory_mib`: the pool's slots are this big.
pub const GUEST_MEMORY_BYTES_MAX: usize = 256 << 20;
/// Elements of all tables of one guest together.
pub const GUEST_TABLE_ELEMENTS: usize = 100_000;
/// Core instances, memories and tables that one component may have.
pub const GUEST_CORE_INSTANCES: u32 = 32;
/// Memories of one component.
pub const GUEST_MEMORIES: u32 = 8;
/// Tables of one component.
pub const GUEST_TABLES: u32 = 32;
/// Handles to host resources (pollables, streams) that one guest may hold.
pub const GUEST_RESOURCES: usize = 1_024;
/// Things that one guest waits for at once: a longer list names some of what it holds again and again.
pub const GUEST_POLLED: usize = GUEST_RESOURCES;
/// Bytes that one host call may copy out of a guest: a list of lists must not cost its square.
pub const HOSTCALL_BYTES: usize = 16 << 20;
/// Random bytes of one WASI request.
pub const RANDOM_BYTES: u64 = 64 << 10;
/// Native stack of wasm frames: 64 times the script engine's own limit. Its parser and its JSON writer take sixteen
/// times more of this one than of the engine's own, and would trap where a script should see a `RangeError`.
pub const WASM_STACK_BYTES: usize = 16 << 20;
/// Stack of a guest's fiber; host functions run on what the wasm frames leave. Only what is used is ever touched.
pub const ASYNC_STACK_BYTES: usize = 17 << 20;
/// Work of one call in units of fuel, about one per wasm instruction.
pub const CALL_FUEL: u64 = 20_000_000_000;
/// Processor time of one call in ticks of a millisecond; waiting on the host is free (C-14).
pub const CALL_CPU_MS: u64 = 10_000;
/// Deadline of one call where the manifest names none (U-08).
pub const CALL_TIMEOUT_MS: u64 = 60_000;
/// Largest deadline that a manifest may name.
pub const CALL_TIMEOUT_MS_MAX: u64 = 600_000;
/// Time an import has to finish after its guest is gone.
pub const EFFECT_TIMEOUT_MS: u64 = 60_000;
/// Attempts after the first of a call that failed and may succeed later, where nobody says otherwise.
pub const CALL_RETRIES: u32 = 2;
/// Most that anybody may ask for.
pub const CALL_RETRIES_MAX: u32 = 5;
/// The wait before the first of them; the next wait is longer by as much.
pub const CALL_RETRY_DELAY_MS: u64 = 100;
/// Largest value of `delay_ms`.
pub const CALL_RETRY_DELAY_MS_MAX: u64 = 60_000;
/// How deep tools may call tools: 0 is a call from outside.
pub const CALL_DEPTH: usize = 4;
/// Inner calls of one outer call, all depths together.
pub const CALLS_PER_CALL: u32 = 256;
/// Requests of one guest for files, fetches and notes, whatever becomes of them.
pub const EFFECTS_PER_CALL: u32 = 10_000;
/// Guests alive at nesting depth 0.
pub const GUEST_SLOTS_OUTER: usize = 128;
/// Guests alive at each deeper level: reserved, since a shared count would deadlock on A→B→A.
pub const GUEST_SLOTS_INNER: usize = 32;
/// Length of a tick of the epoch clock.
pub const TICK: Duration = Duration::from_millis(1);

/// What the user and the operator typed for one run, as far as it is a witness; and as much of what its user vouches for.
pub const LEDGER_TYPED_BYTES: usize = 256 << 10;
/// Values that a run's own tools may vouch for.
pub const LEDGER_VALUES: usize = 20_000;
/// Records of a run whose titles are kept for questions; of others, the id alone is shown.
pub const LEDGER_HEADINGS: usize = 2_000;
/// Untrusted content of a run that its guards remember, folded; the oldest goes first (G-83a).
pub const VERBATIM_CHARS: usize = 262_144;
/// A piece of it that goes at once.
pub const VERBATIM_PIECE_CHARS: usize = 4_096;
/// A span of untrusted content that is found in an argument (G-83a).
pub const VERBATIM_SPAN_CHARS: usize = 20;
/// An argument that is found as a whole though it is shorter than a span.
pub const VERBATIM_FLOOR_CHARS: usize = 8;
/// Bytes that are compared for one argument; what looks so much like untrusted content counts as such.
pub const VERBATIM_STEPS: usize = 4_000_000;
/// A file of records that is read, and not the journal.
pub const IMPORT_BYTES: usize = 256 << 20;
/// Short arguments of one call that are looked for as a whole; with more of them found likely, one is.
pub const VERBATIM_SHORT: usize = 256;

/// A text that a person may make their own words: so much is read in a question.
pub const ADOPTED_CHARS: usize = 2_000;
/// Values of one call that steer.
pub const STEERING_VALUES: usize = 4_096;
/// Values of one call that a person is asked about: nobody reads more.
pub const POINTS: usize = 64;
/// One such value: nobody reads a longer one.
pub const STEERING_CHARS: usize = 1_000;
/// Handles of one run.
pub const HANDLES: usize = 4_096;
/// Those of them that whoever mistakes one is told of.
pub const HANDLES_NAMED: usize = 8;
/// What all handles of a run hold together, as JSON text.
pub const HANDLE_BYTES: usize = 32 << 20;
/// Records of which a handle shows its trusted fields.
pub const HANDLE_RECORDS: usize = 100;
/// A function that runs apart, over what handles hold.
pub const ISOLATED_CHARS: usize = 65_536;
/// Values that one such function is given, or that one question to the model is about.
pub const APART_VALUES: usize = 64;
/// Such functions that run at once. Apart from the slots of scripts, which wait for them.
pub const ISOLATED_SLOTS: usize = 16;
/// Bits that leave a handle when a call fails whose words are held: of what kind its failure is.
pub const FAULT_BITS: u32 = 6;
/// Bits that leave a handle when such a function fails: that it did, why in one word, and where in its source.
pub const ISOLATED_FAULT_BITS: u32 = 19;
/// Questions to its model that the scripts and turns of one run may ask about what is held.
pub const CONSULTS: u32 = 32;
/// How often the model is asked one question: an answer that does not fit is mended once.
pub const CONSULT_ASKS: usize = 2;
/// Such a question.
pub const CONSULT_CHARS: usize = 8_000;
/// The shape of its answer as JSON text.
pub const CONSULT_SHAPE_BYTES: usize = 8 << 10;
/// Bits that leave a handle when it has no answer: that it has none, and why in one word.
pub const CONSULT_FAULT_BITS: u32 = 3;
/// Handles of other runs that one run begins with.
pub const BROUGHT: usize = 64;
/// Values of one trusted field that it shows of each.
pub const HANDLE_VALUES: usize = 16;
/// Handles in a call that a person can be asked about, who reads what they hold; a call with more is refused.
pub const HANDED: usize = 8;
/// Characters of each.
pub const HANDED_CHARS: usize = 500;
/// Bits that may leave the handles of a run, where policy names no number.
pub const HANDLE_BITS: u32 = 256;

/// Arguments of one call as JSON text.
pub const ARGS_BYTES: usize = 64 << 10;
/// Nesting of arguments and outcomes.
pub const JSON_DEPTH: usize = 64;
/// Outcome of one call as JSON text.
pub const OUTCOME_BYTES: usize = 1 << 20;
/// Log lines kept of one call; later ones are counted.
pub const LOG_LINES: usize = 1_000;
/// Bytes of all log lines of one call.
pub const LOG_BYTES: usize = 64 << 10;
/// Standard output and error of one guest, together.
pub const STDIO_BYTES: usize = 64 << 10;
/// Artifacts of one call.
pub const ARTIFACTS: usize = 32;
/// Bytes of all artifacts of one call, with their names and what is said of them.
pub const ARTIFACT_BYTES: usize = 8 << 20;
/// A summary of an outcome in an event, in characters (R-37a).
pub const SUMMARY_CHARS: usize = 500;
/// An observation in tokens, estimated at [`CHARS_PER_TOKEN`] (G-14).
pub const OBSERVATION_TOKENS: usize = 16_384;
/// An observation in bytes.
pub const OBSERVATION_BYTES: usize = 1 << 20;
/// Largest value of each key of `[observations]`.
pub const OBSERVATION_CAP_MAX: usize = 64 << 20;
/// What a model reads at first of an outcome that is kept under a handle, in tokens (G-28).
pub const SPILL_PREVIEW_TOKENS: usize = 2_048;
/// What a model reads at once of what is held, where it does not say how much (G-30a).
pub const READ_BYTES: usize = 65_536;
/// What anybody reads at once of it: it is an outcome.
pub const READ_BYTES_MAX: usize = OUTCOME_BYTES;
/// Characters that are left of each line at least, where lines are cut to their beginnings.
pub const OBSERVATION_LINE_CHARS_MIN: usize = 40;
/// Combining marks on one character that are shown as such; further ones are written out.
pub const COMBINING_MARKS: usize = 4;
/// Text of one outcome that is looked through for instructions; a longer one is wrapped or blocked unread.
pub const INBOUND_BYTES: usize = 16 << 20;
/// Sources that a marked block names; further ones are counted.
pub const INBOUND_SOURCES: usize = 8;
/// Hexadecimal digits of a word that nobody without the key can foresee: 64 bits.
pub const NONCE_CHARS: usize = 16;
/// Characters of a source that a marked block shows.
pub const INBOUND_SOURCE_CHARS: usize = 80;
/// Sources that the card of a handle names; further ones are counted.
pub const CARD_SOURCES: usize = 8;
/// Characters of a trusted field's value on the card of a handle; a longer one stays behind.
pub const CARD_CHARS: usize = 256;
/// Characters of a value that is one word, such as an id, and of a source's name on such a card.
pub const CARD_WORD_CHARS: usize = 64;
/// Characters of where a URL leads on such a card.
pub const CARD_URL_CHARS: usize = 128;
/// Characters that count as one token where no tokenizer is at hand.
pub const CHARS_PER_TOKEN: usize = 4;

/// A component before it is parsed: a componentize-py guest has 18.5 MB.
pub const COMPONENT_BYTES: usize = 32 << 20;
/// A compiled artifact in the cache.
pub const ARTIFACT_CODE_BYTES: usize = 512 << 20;
/// Address space of the compile process.
pub const COMPILE_MEMORY_BYTES: u64 = 4 << 30;
/// Processor time of the compile process, in seconds.
pub const COMPILE_CPU_SECONDS: u64 = 120;
/// Wall time of the compile process.
pub const COMPILE_TIMEOUT_MS: u64 = 180_000;
/// Compile processes at once.
pub const COMPILES_AT_ONCE: usize = 2;
/// A manifest as JSON text.
pub const MANIFEST_BYTES: usize = 1 << 20;
/// Tools of one plugin.
pub const MANIFEST_TOOLS: usize = 128;
/// Examples of one tool (G-09a).
pub const MANIFEST_EXAMPLES: usize = 5;
/// A tool's description.
pub const DESCRIPTION_BYTES: usize = 4 << 10;
/// A tool's full name (G-06a).
pub const TOOL_NAME_CHARS: usize = 128;
/// Plugins of one host.
pub const PLUGINS: usize = 256;

/// Body of one request to the outside.
pub const FETCH_REQUEST_BYTES: usize = 1 << 20;
/// Body of one answer, decoded (O-71).
pub const FETCH_BODY_BYTES: usize = 5 << 20;
/// Headers of one request or answer, names and values together.
pub const FETCH_HEADER_BYTES: usize = 32 << 10;
/// A URL.
pub const URL_BYTES: usize = 8 << 10;
/// One request, from name lookup to the last byte.
pub const FETCH_TIMEOUT_MS: u64 = 30_000;
/// When no more of a streamed answer has come for so long, its whole lines are passed on.
pub const FETCH_PAUSE_MS: u64 = 100;
/// Time to connect.
pub const CONNECT_TIMEOUT_MS: u64 = 10_000;
/// A look-up of a name that is refused, for whatever reason, is answered at the next multiple of this: how long it
/// took would say whether a name of the inner network exists.
pub const LOOKUP_TICK_MS: u64 = 1_000;
/// Requests of one tool under one destination line in any minute, where the line does not say; also the most that a
/// line can say.
pub const FETCHES_PER_MINUTE: u32 = 6_000;
/// Pairs of a tool and a destination line whose requests of the last minute are remembered.
pub const FETCH_RATES: usize = 4_096;
/// Requests of one guest through `wasi:http` that are under way at once.
pub const FETCHES_AT_ONCE: usize = 32;
/// Pieces of an answer that wait for a guest to read them.
pub const FETCH_PIECES: usize = 4;
/// Bytes of a request's body that a guest writes through `wasi:http` before it has to wait.
pub const FETCH_PIECE_BYTES: usize = 16 << 10;

/// A path within the mounts.
pub const PATH_BYTES: usize = 4_096;
/// Names in a path, its mount's among them: work on a path grows with their square. Real trees are not half as deep.
pub const PATH_NAMES: usize = 64;
/// One name in a path: what the file system takes.
pub const PATH_NAME_BYTES: usize = 255;
/// Bytes of one read.
pub const FILE_READ_BYTES: usize = 8 << 20;
/// Bytes of one write.
pub const FILE_WRITE_BYTES: usize = 8 << 20;
/// Bytes that a stream of `wasi:filesystem` reads ahead, or holds back.
pub const FILE_PIECE_BYTES: usize = 64 << 10;
/// Bytes that one run may write into one mount, where the mount does not say (`quota_mib`).
pub const MOUNT_RUN_BYTES: u64 = 1 << 30;
/// What a file or folder that a run makes counts as in it beside its bytes: what it takes on a disk, with its label and path.
pub const MADE_BYTES: usize = 4_096;
/// Bytes of one file that is written, where the mount does not say (`max_file_mib`).
pub const MOUNT_FILE_BYTES: u64 = 256 << 20;
/// Largest value of `quota_mib` and `max_file_mib`.
pub const MOUNT_MIB_MAX: u64 = 1 << 20;
/// Pairs of a run and a mount whose written bytes are remembered; the one that has been still for longest is forgotten.
pub const MOUNT_RUNS: usize = 4_096;
/// Entries that a folder's listing shows.
pub const FILE_ENTRIES: usize = 10_000;
/// How long whoever ends a session of MCP waits for its task.
pub const MCP_SESSION_END_MS: u64 = 1_000;
/// What is shown of a question that is read in one piece: over MCP, or in a completion, of several together.
pub const QUESTION_CHARS: usize = 16_384;
/// Calls over MCP that wait for a confirmation and are to be made again, of all clients of a process.
pub const MCP_OPEN: usize = 1_024;
/// Steps that are taken to see whether something lies in a folder that no tool moves: one for each entry, and one for each
/// name on the way to a folder.
pub const MOVED_ENTRIES: usize = 20_000;

/// A note's key.
pub const NOTE_KEY_CHARS: usize = 256;
/// What of a note's key stands in labels: each record repeats them. Of a longer one its beginning does, and its digest.
pub const NOTE_SOURCE_BYTES: usize = 32;
/// The beginning.
pub const NOTE_SOURCE_START_BYTES: usize = 20;
/// A note's text.
pub const NOTE_BYTES: usize = 64 << 10;
/// Notes on one plugin's shelf.
pub const NOTES_PER_SHELF: u64 = 10_000;
/// All that is on one plugin's shelf, keys and labels too: a search looks through all of it.
pub const NOTES_SHELF_BYTES: u64 = 16 << 20;
/// Notes that one question returns.
pub const NOTES_LISTED: usize = 200;

/// Source of one script in characters (G-41a).
pub const SCRIPT_CHARS: usize = 100_000;
/// A rest that is shorter than so many times the script's work until then is sat out: leaving it would cost that
/// work again.
pub const SCRIPT_IDLE_PER_WORK: u64 = 40;
/// Calls of tools by one script where policy does not say (G-41a).
pub const SCRIPT_CALLS: u32 = 64;
/// Largest value of `[limits] script_calls`.
pub const SCRIPT_CALLS_MAX: u32 = 100_000;
/// Timers of one script for each call that it may make.
pub const SCRIPT_TIMERS_PER_CALL: u32 = 16;
/// Processor time of one script in ticks of a millisecond; waiting is free (G-41a).
pub const SCRIPT_CPU_MS: u64 = 30_000;
/// Largest value of `[limits] script_cpu_ms`.
pub const SCRIPT_CPU_MS_MAX: u64 = 600_000;
/// Fuel of one script for each millisecond of its processor time: somewhat more than a fast machine burns, so
/// that the same script ends at the same place on any machine that is faster still.
pub const SCRIPT_FUEL_PER_MS: u64 = 20_000_000;
/// Polls of the interpreter for each millisecond of a script's processor time (a fast machine makes some 25): the
/// engine stops an endless loop by itself, with the place in the source, before the harder limits do.
pub const SCRIPT_POLLS_PER_MS: u64 = 16;
/// Heap of the interpreter; the guest's whole memory is [`GUEST_MEMORY_BYTES`].
pub const SCRIPT_HEAP_BYTES: u32 = 48 << 20;
/// The value of a script, or the arguments of one of its calls, as JSON text.
pub const SCRIPT_JSON_BYTES: u32 = 1 << 20;
/// Log lines of one step of a script.
pub const SCRIPT_LOG_BYTES: u32 = 64 << 10;
/// Guests of scripts alive at once. Apart from the slots of tools, which they wait for.
pub const SCRIPT_SLOTS: usize = 64;
/// A script that has nothing to do for longer than this leaves its guest, and gets a new one later.
pub const SCRIPT_IDLE_MS: u64 = 1_000;

/// Sources in a label before they collapse by sort.
pub const LABEL_SOURCES: usize = 64;
/// Records in the open batch before the writer is woken.
pub const BATCH_RECORDS: usize = 256;
/// Records in the open batch before an append is refused.
pub const BATCH_RECORDS_MAX: usize = 65_536;
/// Bytes of content kept in a record; larger content is stored once, by digest.
pub const RECORD_INLINE_BYTES: usize = 4 << 10;
/// How long a replay waits for its next record before it says that none comes.
pub const REPLAY_IDLE_MS: u64 = 30_000;
/// How long to wait for another process that holds the journal.
pub const JOURNAL_WAIT_MS: u64 = 10_000;
/// Bytes of records after which the journal's log is carried over into its database,
pub const CHECKPOINT_BYTES: usize = 1 << 20;
/// and pages of the log from which writers are held up for that.
pub const CHECKPOINT_PAGES_MAX: i64 = 16_384;
/// An exported run.
pub const EXPORT_BYTES: usize = 64 << 20;
/// Records of an exported run.
pub const EXPORT_RECORDS: usize = 100_000;
/// Runs whose last chain value is remembered; of others it is looked up.
pub const CHAINS_REMEMBERED: usize = 1_024;
/// Runs that one listing shows.
pub const RUNS_LISTED: usize = 1_000;
/// Runs that one `prune` takes out: others wait meanwhile.
pub const RUNS_PRUNED: usize = 1_000;

/// Provider calls of one run (O-19).
pub const RUN_TURNS: u32 = 8;
/// Malformed calls of one run that are fed back before it fails (R-31a).
pub const RUN_CORRECTIONS: u32 = 3;
/// Answers of one run that miss its schema and are told so (U-56).
pub const ANSWER_REPAIRS: u32 = 1;
/// Read-only calls of one turn that run together (G-18).
pub const CALLS_PARALLEL: usize = 8;
/// Calls of one turn that are looked at.
pub const CALLS_PER_TURN: usize = 64;
/// Largest value of `turns` of an agent.
pub const RUN_TURNS_MAX: u32 = 1_000;
/// Largest value of `session_turns`.
pub const SESSION_TURNS_MAX: u32 = 100_000;
/// Calls that the model of one run makes, all turns together (U-04).
pub const RUN_CALLS: u32 = 4_096;
/// Largest value of `calls` of an agent.
pub const RUN_CALLS_MAX: u32 = 64_000;
/// Turns in a row in which every call failed, that are fed back before the run fails (C-06).
pub const RUN_FAILED_TURNS: u32 = 3;
/// Turns in a row with the same calls, arguments and outcomes that end a run (S-14c).
pub const RUN_IDENTICAL_BATCHES: u32 = 4;
/// How often a model may repeat a call that was denied before that ends the run (C-05).
pub const RUN_DENIED_REPEATS: u32 = 1;
/// Largest value of `corrections`, `failed_turns`, `identical_batches` and `denied_repeats`.
pub const RUN_REPEATS_MAX: u32 = 1_000;
/// Largest value of `parallel` of an agent.
pub const CALLS_PARALLEL_MAX: usize = CALLS_PER_TURN;
/// Largest value of `turn_timeout_ms` of an agent.
pub const TURN_TIMEOUT_MS_MAX: u64 = 3_600_000;
/// Largest value of `run_timeout_ms` of an agent.
pub const RUN_TIMEOUT_MS_MAX: u64 = 366 * 24 * 3_600_000;
/// Largest value of `ask_expires_s`.
pub const ASK_EXPIRES_S_MAX: u64 = 366 * 24 * 3_600;
/// Questions of one script that are asked together: nobody reads more at once.
pub const QUESTIONS_TOGETHER: usize = 64;
/// Times that one model is asked for one reply before the next one is, where the configuration does not say.
pub const CHAIN_ATTEMPTS: u32 = 1;
/// Largest value of `attempts`.
pub const CHAIN_ATTEMPTS_MAX: u32 = 10;
/// Wait before a model is asked again, the first time (R-12b).
pub const CHAIN_BACKOFF_MS: u64 = 250;
/// Longest such wait, where a server does not ask for a longer one (R-12b).
pub const CHAIN_BACKOFF_MAX_MS: u64 = 8_000;
/// How long a provider is left alone that wanted fewer requests (R-12c).
pub const CHAIN_COOLDOWN_MS: u64 = 30_000;
/// Longest `Retry-After` that is waited for; who asks for more is given up for now.
pub const CHAIN_RETRY_AFTER_MAX_MS: u64 = 60_000;
/// Largest value of the times of a chain: beyond that nobody is waiting.
pub const CHAIN_MS_MAX: u64 = 3_600_000;
/// Models that one agent, tier or run names.
pub const CHAIN_MODELS: usize = 32;
/// One provider call, from request to the last byte (O-21).
pub const TURN_TIMEOUT_MS: u64 = 60_000;
/// Silence of a provider's stream.
pub const STREAM_IDLE_MS: u64 = 30_000;
/// All bytes of one provider's stream.
pub const STREAM_BYTES: usize = 16 << 20;
/// One line of a provider's stream.
pub const STREAM_LINE_BYTES: usize = 4 << 20;
/// Events of one provider's stream.
pub const STREAM_EVENTS: usize = 1_000_000;
/// Body of a provider's refusal that is read: its kind stands at the beginning.
pub const REFUSAL_BYTES: usize = 64 << 10;
/// Thoughts of one reply.
pub const THOUGHTS: usize = 256;
/// Tokens that one count of a provider's usage says at most.
pub const USAGE_TOKENS: u64 = 1_000_000_000;
/// Tokens that a reply is taken to have before it is there, where an agent's budget names no number (R-42a).
pub const REPLY_TOKENS_AHEAD: u64 = 4_096;
/// The largest amount of a currency that a price or a budget may be, in millionths.
pub const PRICE_MICROS: u64 = 1_000_000_000_000;
/// Tokens of one reply, where a wire format wants a number and the configuration has none.
pub const REPLY_TOKENS: u32 = 8_192;
/// Nesting of a schema that is written for a provider with a smaller language; what is deeper is a text.
pub const SCHEMA_LOWERED_DEPTH: usize = 16;
/// Parts of such a schema, its references written out.
pub const SCHEMA_LOWERED_NODES: usize = 2_000;
/// Events waiting for a slow watcher before deltas and progress are dropped for it.
pub const WATCH_EVENTS: usize = 256;
/// Records waiting for it; what comes after them it reads from the journal, so that none is ever dropped.
pub const WATCH_RECORDS: usize = 1_024;
/// Time that a cancelled run has to end its calls (G-54).
pub const CANCEL_GRACE_MS: u64 = 50;
/// Outcomes of one turn's calls that are given again (S-17a).
pub const REPEATS: usize = 50;
/// How long.
pub const REPEATS_TTL_MS: u64 = 120_000;
/// Outcomes of writes that came with a key, and are given again (A-18b).
pub const KEYED_CALLS: usize = 1_000;
/// How long.
pub const KEYED_TTL_MS: u64 = 300_000;
/// Runs under one key that are looked at for an earlier call.
pub const KEYED_LOOKED_AT: u32 = 100;
/// Largest values of the numbers in `[cache]`.
pub const REPEATS_MAX: usize = 100_000;
/// Largest values of the times there.
pub const REPEATS_TTL_MS_MAX: u64 = 24 * 3_600_000;
/// What such outcomes of one turn, or those of all keys, hold together as JSON text.
pub const REPEATS_BYTES: usize = 32 << 20;
/// A key that a client gives one of its calls.
pub const CALL_KEY_CHARS: usize = 256;
/// Lines of permission, and steps around calls.
pub const WARDS_MAX: usize = 256;
/// The words of a line of permission.
pub const PERMISSION_CHARS: usize = 1_000;
/// What a ward may take, whatever its manifest says.
pub const WARD_TIMEOUT_MS: u64 = 10_000;
/// One line of JSON automation.
pub const JSON_LINE_BYTES: usize = 1 << 20;
/// The name that such a line gives its request.
pub const JSON_LINE_ID_CHARS: usize = 256;
/// Requests of JSON automation that are made at once.
pub const JSON_LINE_JOBS_MAX: usize = 64;
/// Largest value of `[abort] grace_ms`.
pub const CANCEL_GRACE_MS_MAX: u64 = 60_000;
/// Files that one run is given to look at (gateway.attachments of the seed),
pub const ATTACHMENTS: usize = 4;
/// and all of them together.
pub const ATTACHMENT_BYTES: usize = 10 << 20;
/// A file's name, as a model reads it.
pub const ATTACHMENT_NAME_CHARS: usize = 64;
/// Tokens that a picture is taken to be, and a document at least: the largest that providers name for one.
pub const ATTACHED_TOKENS: u64 = 1_600;
/// Bytes of a document that are taken for one token,
pub const DOCUMENT_TOKEN_BYTES: u64 = 16;
/// and the most that it is taken to be.
pub const ATTACHED_DOCUMENT_TOKENS_MAX: u64 = 100_000;
/// A request to a model, with what is attached written as text.
pub const PROMPT_BYTES: usize = 16 << 20;
/// A prompt typed on the command line or read from standard input.
pub const GOAL_BYTES: usize = 256 << 10;
/// A file of configuration.
pub const CONFIG_BYTES: usize = 1 << 20;
/// Variables and flags that are part of the configuration.
pub const ASSIGNMENTS: usize = 256;
/// Name or value of one of them.
pub const ASSIGNED_BYTES: usize = 16 << 10;
/// Tables that its key stands in, and the key.
pub const ASSIGNED_KEYS: usize = 8;

/// Nesting of the types in a signature: objects, arrays and tuples inside one another. What is deeper
/// is `unknown` (G-39a).
pub const SIGNATURE_DEPTH: usize = 4;
/// A tool's signature with its comment.
pub const SIGNATURE_BYTES: usize = 8 << 10;
/// The type of a tool's arguments, and that of its outcome.
pub const SIGNATURE_TYPE_BYTES: usize = 2 << 10;
/// The comment of a signature.
pub const SIGNATURE_COMMENT_BYTES: usize = 2_500;
/// What a signature's comment shows of the tool's description.
pub const SIGNATURE_DESCRIPTION_CHARS: usize = 800;
/// What it shows of an argument's description.
pub const SIGNATURE_REMARK_CHARS: usize = 200;
/// What it shows of a default or pattern.
pub const SIGNATURE_DEFAULT_CHARS: usize = 40;
/// Fields of one object that a signature's comment looks at, and a search: of more, none.
pub const SIGNATURE_FIELDS: usize = 64;
/// Values of an `enum` that are written out; of more only the type is told.
pub const SIGNATURE_LITERALS: usize = 64;
/// A tool's line in the catalogue (G-39a).
pub const CATALOGUE_LINE_CHARS: usize = 120;
/// Lines of the catalogue that a model is shown with `run_script`.
pub const CATALOGUE_LINES: usize = 60;
/// Tools that a search returns where nobody says how many (G-39a).
pub const SEARCH_HITS: usize = 8;
/// Tools that a search returns at most (G-39a).
pub const SEARCH_HITS_MAX: usize = 25;
/// A query (G-39a).
pub const SEARCH_QUERY_CHARS: usize = 512;
/// Different words of a query that count.
pub const SEARCH_QUERY_WORDS: usize = 32;
/// A word in a search; the rest of a longer one does not count.
pub const SEARCH_WORD_CHARS: usize = 32;
/// Words of a tool's description that a search looks at.
pub const SEARCH_DESCRIPTION_WORDS: usize = 400;
/// Signatures in the answer to one search; tools beyond have a line of the catalogue.
pub const SEARCH_ANSWER_BYTES: usize = 32 << 10;

/// A secret's value.
pub const SECRET_BYTES: usize = 16 << 10;
/// How long the desktop's keyring may take: somebody may have to unlock it.
pub const DESKTOP_WAIT_MS: u64 = 30_000;
/// What is read of the words of the program that asks it.
pub const DESKTOP_WORDS_BYTES: usize = 4 << 10;
/// Shorter values are no secrets: to blank them would blank half of every text.
pub const SECRET_CHARS_MIN: usize = 8;
/// Secrets of one vault.
pub const SECRETS: usize = 256;
/// What stands between the braces of a marker.
pub const MARKER_CHARS: usize = 128;
/// A text with escapes is searched for secrets in pieces of this size.
pub const SCRUB_PIECE_BYTES: usize = 64 << 10;
/// A token that looks random has so many characters (O-40),
pub const SCRUB_TOKEN_CHARS: usize = 24;
/// at most so many,
pub const SCRUB_TOKEN_CHARS_MAX: usize = 512;
/// so many different ones (O-42a),
pub const SCRUB_DISTINCT_CHARS: usize = 8;
/// and as many hundredths of a bit for each (O-42).
pub const SCRUB_ENTROPY_CENTIBITS: u32 = 380;
/// Largest values of the counts of `[scrub]`,
pub const SCRUB_TOKEN_CHARS_LIMIT: usize = 65_536;
/// and of its bits.
pub const SCRUB_ENTROPY_CENTIBITS_MAX: u32 = 700;

/// What a model takes at once, where nobody says: `window_tokens` (O-24).
pub const CONTEXT_WINDOW_TOKENS: u64 = 128_000;
/// Least and largest value of `window_tokens`.
pub const CONTEXT_WINDOW_TOKENS_MIN: u64 = 2_048;
/// Likewise.
pub const CONTEXT_WINDOW_TOKENS_MAX: u64 = 100_000_000;
/// What of that stays empty, where nobody says (O-24).
pub const CONTEXT_RESERVE_TOKENS: u64 = 1_024;
/// What frames one message (S-12a).
pub const CONTEXT_MESSAGE_TOKENS: u64 = 4;
/// What it takes to say that messages were left out.
pub const CONTEXT_NOTICE_TOKENS: u64 = 32;
/// A text is given to a tokenizer in pieces of this size: the time it takes grows with the square of a word.
pub const TOKENIZED_BYTES: usize = 1 << 10;
/// A name from outside in a line of progress.
pub const STEP_NAME_CHARS: usize = 128;
/// Tools that such a line names; of more it says how many.
pub const STEP_TOOLS: usize = 8;
/// A name from outside in a span.
pub const SPAN_NAME_CHARS: usize = 128;
/// An id or a rule in a span; a longer one is left out.
pub const SPAN_ID_CHARS: usize = 64;
/// Moments of one span; more are counted.
pub const SPAN_EVENTS: usize = 128;
/// Effects of one run that are under way; of more there are no spans.
pub const SPANS_OPEN: usize = 65_536;
/// Runs of one process that are traced at once; more are not.
pub const SPAN_RUNS: usize = 4_096;
/// Spans that wait to be sent, where `[traces] queue_spans` does not say; newer ones are dropped and counted.
pub const TRACES_QUEUE_SPANS: usize = 4_096;
/// Largest value of `queue_spans`.
pub const TRACES_QUEUE_SPANS_MAX: usize = 1_000_000;
/// Spans of one request, where `[traces] batch_spans` does not say.
pub const TRACES_BATCH_SPANS: usize = 512;
/// How long spans wait for more of them, where `[traces] batch_ms` does not say.
pub const TRACES_BATCH_MS: u64 = 5_000;
/// How long one request may take, where `[traces] timeout_ms` does not say.
pub const TRACES_TIMEOUT_MS: u64 = 10_000;
/// How long the end of a process waits for spans that are not sent, where `[traces] flush_ms` does not say.
pub const TRACES_FLUSH_MS: u64 = 2_000;
/// Times that one request is sent, where `[traces] attempts` does not say.
pub const TRACES_ATTEMPTS: u32 = 3;
/// Largest value of `attempts`.
pub const TRACES_ATTEMPTS_MAX: u32 = 10;
/// Largest value of the times there.
pub const TRACES_MS_MAX: u64 = 600_000;
/// Wait before a request is sent again, the first time; then twice as long.
pub const TRACES_AGAIN_MS: u64 = 250;
/// Body of a collector's answer.
pub const TRACES_ANSWER_BYTES: usize = 64 << 10;
/// Headers of `[traces]`.
pub const TRACES_HEADERS: usize = 16;

/// Name of a session, and of its user.
pub const SESSION_NAME_CHARS: usize = 128;
/// Runs of one session: each reads those before it.
pub const SESSION_RUNS: usize = 1_000;
/// How long a run that waits for its session waits before it looks again.
pub const SESSION_LOOK_MS: u64 = 50;
/// Share of a window beyond which older turns are folded into a summary (O-31).
pub const COMPACTION_TRIGGER_PERCENT: u32 = 85;
/// Share of it that is left then.
pub const COMPACTION_TARGET_PERCENT: u32 = 50;
/// With fewer turns nothing is folded.
pub const COMPACTION_MIN_TURNS: usize = 6;
/// Newest turns that are never folded.
pub const COMPACTION_KEEP_TURNS: usize = 2;
/// Lines of a summary.
pub const SUMMARY_ENTRIES: usize = 24;
/// Characters of one of them.
pub const SUMMARY_ENTRY_CHARS: usize = 180;
/// Characters of them all.
pub const SUMMARY_ALL_CHARS: usize = 4_000;
/// Characters of what each tool says once turns were folded, and how many are asked.
pub const SUMMARY_AFTER_CHARS: usize = 1_000;
/// See above.
pub const SUMMARY_AFTER_TOOLS: usize = 8;
/// Largest value of each key of `[compaction]` that is a count.
pub const COMPACTION_COUNT_MAX: usize = 100_000;

/// Body of a request to `lazaret serve`, where `[serve] body_bytes` does not say.
pub const SERVE_BODY_BYTES: usize = 1 << 20;
/// Largest value of `body_bytes`.
pub const SERVE_BODY_BYTES_MAX: usize = 64 << 20;
/// How long a body may take to arrive, where `[serve] body_ms` does not say.
pub const SERVE_BODY_MS: u64 = 10_000;
/// How long the head of a request may take, and how long a connection may be idle, where `[serve] head_ms` does not say.
pub const SERVE_HEAD_MS: u64 = 30_000;
/// How long a client may leave unread what it is sent, where `[serve] write_ms` does not say.
pub const SERVE_WRITE_MS: u64 = 30_000;
/// The head of a request, address and all.
pub const SERVE_HEAD_BYTES: usize = 32 << 10;
/// A name in the path of a request, and what is looked for.
pub const SERVE_NAME_CHARS: usize = 256;
/// Fewest characters by which a question is named over HTTP: those that are shown.
pub const SERVE_QUESTION_CHARS: usize = 12;
/// Connections at once, where `[serve] connections` does not say.
pub const SERVE_CONNECTIONS: usize = 512;
/// Requests of a minute, where `[serve] requests_per_minute` does not say: a program that has run wild, and no load.
pub const SERVE_REQUESTS_PER_MINUTE: u32 = 1_200_000;
/// Requests of a minute for what needs no token, all clients together: pages and their parts, and no flood of them.
pub const SERVE_OPEN_PER_MINUTE: u32 = 6_000;
/// Wrong tokens of a minute, where `[serve] failures_per_minute` does not say.
pub const SERVE_FAILURES_PER_MINUTE: u32 = 60;
/// Runs, calls and scripts at once, where `[serve] runs` does not say.
pub const SERVE_RUNS: usize = 128;
/// Clients that watch runs at once, where `[serve] watchers` does not say.
pub const SERVE_WATCHERS: usize = 256;
/// How long what is under way may take when the server ends, where `[serve] grace_ms` does not say.
pub const SERVE_GRACE_MS: u64 = 5_000;
/// How long the end waits for answers that are on the way, once nothing is under way any more.
pub const SERVE_LAST_MS: u64 = 500;
/// Largest value of the times there.
pub const SERVE_MS_MAX: u64 = 600_000;
/// Largest value of the counts there.
pub const SERVE_COUNT_MAX: usize = 100_000;
/// Largest value of the rates there.
pub const SERVE_RATE_MAX: u32 = 100_000_000;
/// Names in `[serve] hosts`.
pub const SERVE_HOSTS: usize = 16;
/// Messages of a completion.
pub const CHAT_MESSAGES: usize = 4_096;
/// How often the configuration and the token are looked at again.
pub const SERVE_LOOK_MS: u64 = 2_000;
/// How long nothing is said to a client that watches before it is told that the server is there.
pub const SERVE_PULSE_MS: u64 = 15_000;
/// How long what happens in a run is gathered before all who watch are told of it at once.
pub const FEED_GATHER_MS: u64 = 100;
/// What they are told at once,
pub const FEED_FRAME_BYTES: usize = 256 << 10;
/// and how often they may be behind before they read from the journal.
pub const FEED_FRAMES: usize = 64;
/// How often the journal is looked at for a run of another process.
pub const FEED_LOOK_MS: u64 = 200;
/// One message of MCP, either way.
pub const MCP_FRAME_BYTES: usize = 1 << 20;
/// The id of a request of MCP.
pub const MCP_ID_CHARS: usize = 128;
/// Calls of MCP's clients at once, all sessions together; more are told to come again.
pub const MCP_CALLS: usize = 16;
/// Largest value of `[mcp_server] calls`.
pub const MCP_CALLS_MAX: usize = 128;
/// Requests of one client that are not answered; before they are, no more is read from it.
pub const MCP_REQUESTS: usize = 64;
/// Messages that a client has not taken; before it has, no more is read from it.
pub const MCP_FRAMES_QUEUED: usize = 16;
/// Tools of one page of a list.
pub const MCP_PAGE_TOOLS: usize = 100;
/// Largest value of `[mcp_server] page_tools`.
pub const MCP_PAGE_TOOLS_MAX: usize = 1_000;
/// Rounds of questions of one call; what it asks beyond them waits for `lazaret ask`.
pub const MCP_ASK_ROUNDS: usize = 16;
/// How long a client's user has for one answer; after that the question waits for `lazaret ask`.
pub const MCP_ANSWER_MS: u64 = 600_000;
/// Largest value of `[mcp_server] answer_ms`.
pub const MCP_ANSWER_MS_MAX: u64 = 86_400_000;
/// What calls that are under way have when their client has gone, before they are given up.
pub const MCP_END_MS: u64 = 5_000;
/// How long the last words of a call may take to be told before its outcome.
pub const MCP_LAST_WORDS_MS: u64 = 1_000;
/// Sessions of MCP over HTTP at once.
pub const MCP_SESSIONS: usize = 64;
/// Largest value of `[mcp_server] sessions`.
pub const MCP_SESSIONS_MAX: usize = 10_000;
/// How long a session over HTTP may be silent.
pub const MCP_IDLE_MS: u64 = 300_000;
/// Largest value of `[mcp_server] idle_ms`.
pub const MCP_IDLE_MS_MAX: u64 = 86_400_000;
/// Names that clients know tools by, beside the usual ones.
pub const MCP_NAMES: usize = 1_000;
/// MCP servers of one configuration.
pub const SERVERS: usize = 64;
/// Tools of one server that are looked at.
pub const SERVER_TOOLS: usize = MANIFEST_TOOLS;
/// Pages in which it lists them.
pub const SERVER_PAGES: usize = 64;
/// A file that the command of a server names.
pub const SERVER_PART_BYTES: u64 = 512 << 20;
/// What a server says of one tool, as JSON.
pub const SERVER_DEFINITION_BYTES: usize = 64 << 10;
/// Resources of one page of a server's list.
pub const SERVER_RESOURCES: usize = 1_000;
/// The address of a resource.
pub const SERVER_ADDRESS_BYTES: usize = 4 << 10;
/// What a page of their list begins at.
pub const SERVER_CURSOR_BYTES: usize = 4 << 10;
/// The pinned definitions of one server.
pub const SERVER_PIN_BYTES: usize = 8 << 20;
/// A signature beside a component, and a file with a key that signs.
pub const SIGNED_BYTES: usize = 2 << 10;
/// Characters of a version that is signed.
pub const SIGNED_VERSION_CHARS: usize = 128;
/// Lines that are shown of one part of a definition that has changed.
pub const SERVER_CHANGE_LINES: usize = 24;
/// Characters that are shown of such a line.
pub const SERVER_CHANGE_CHARS: usize = 400;
/// The part of a tool's name after the server's.
pub const SERVER_TOOL_NAME_CHARS: usize = 48;
/// A tool's name at its server.
pub const SERVER_REMOTE_NAME_BYTES: usize = 256;
/// How long a server may take to start and to list its tools, where `start_timeout_ms` does not say.
pub const SERVER_START_MS: u64 = 30_000;
/// How long a server has to end by itself before it is killed, where `stop_ms` does not say.
pub const SERVER_STOP_MS: u64 = 2_000;
/// Largest value of the times of `[mcp.NAME]`.
pub const SERVER_MS_MAX: u64 = 600_000;
/// One message of a server, where `message_bytes` does not say.
pub const SERVER_MESSAGE_BYTES: usize = 4 << 20;
/// Largest value of `message_bytes`.
pub const SERVER_MESSAGE_BYTES_MAX: usize = 64 << 20;
/// Messages of a server in any second, where `messages_per_s` does not say.
pub const SERVER_MESSAGES_PER_S: u32 = 500;
/// Largest value of `messages_per_s`.
pub const SERVER_MESSAGES_PER_S_MAX: u32 = 100_000;
/// Times that a server that ended is started again, where `restarts` does not say.
pub const SERVER_RESTARTS: u32 = 3;
/// Largest value of `restarts`.
pub const SERVER_RESTARTS_MAX: u32 = 100;
/// The wait before it is, the first time; then twice as long.
pub const SERVER_RESTART_MS: u64 = 250;
/// A server that was up for so long has never ended before.
pub const SERVER_FORGIVEN_MS: u64 = 600_000;
/// Calls of one server that are under way at once, where `calls_at_once` does not say.
pub const SERVER_CALLS_AT_ONCE: usize = 16;
/// Largest value of `calls_at_once`.
pub const SERVER_CALLS_AT_ONCE_MAX: usize = 1_024;
/// How long a server may leave unread what it is told.
pub const SERVER_WRITE_MS: u64 = 5_000;
/// Least time between two looks at what a server offers, however often it says that this has changed.
pub const SERVER_LOOK_MS: u64 = 1_000;
/// A line that a server writes for people; of a longer one is said that there was one.
pub const SERVER_LINE_BYTES: usize = 16 << 10;
/// What is kept of such lines, to say why a server ended.
pub const SERVER_WORDS_BYTES: usize = 2 << 10;
/// Words and variables of one server's command line.
pub const SERVER_WORDS: usize = 256;
/// Characters of the reason that goes with a no.
pub const ANSWER_REASON_CHARS: usize = 500;

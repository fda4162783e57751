//! Plugin `hostile`: everything that a guest should not do, one tool each.
//!
//! It is a fixture of the tests. What one component cannot show is written in the text format, in
//! `tests/attack`.

mod asks;
mod burns;
mod classes;
mod floods;
mod leaks;
#[path = "../../lines.rs"]
mod lines;
#[path = "../../memory.rs"]
mod memory;
mod wasi;

use lazaret_sdk::prelude::*;

plugin! {
    name: "hostile",
    description: "Does what a guest should not do.",
    tools: [
        asks::echo,
        asks::stat_often,
        asks::fetch_each,
        asks::file_each,
        asks::save,
        asks::note_each,
        asks::call_each,
        asks::call_long,
        asks::carry,
        asks::fetch_body,
        asks::give_up_after,
        burns::spin,
        burns::recurse,
        burns::grow,
        burns::hoard,
        burns::fill,
        burns::panics,
        burns::traps,
        burns::ask_often,
        floods::text,
        lines::log_lines,
        floods::progress,
        floods::output,
        floods::add_artifacts,
        floods::fail_long,
        floods::nest,
        leaks::send_each,
        leaks::send_undeclared,
        leaks::remember,
        leaks::spill,
        leaks::carry_off,
        leaks::look_over,
        floods::same_header,
        classes::destroy,
        classes::unclassified,
        classes::send_out,
        classes::only_people,
        classes::only_tools,
        classes::only_http,
        classes::write_here,
        classes::polish,
        wasi::surroundings,
        wasi::random,
        wasi::connect,
        wasi::sleep,
        wasi::poll_many,
        wasi::poll_same,
        wasi::pollables,
        wasi::streams,
        wasi::exit,
    ],
}

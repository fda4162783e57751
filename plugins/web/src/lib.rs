//! Plugin `web`: pages and JSON from the web, and posting to it.
//!
//! Where it may go is for the host's policy to say, request by request: the manifest names no
//! hosts, since these tools have none of their own. Each redirect is a new request for the same
//! reason.

mod get;
mod page;
mod post;
mod tree;
mod url;

use lazaret_sdk::prelude::*;

plugin! {
    name: "web",
    description: "Reads web pages as Markdown, fetches JSON and posts to web addresses, wherever \
        policy allows it.",
    tools: [get::get_page, get::get_json, post::post],
}

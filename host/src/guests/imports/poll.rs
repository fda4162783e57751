//! `wasi:io/poll`: waiting for several things at once.
//!
//! WASI's own takes a list of any length. A guest holds a bounded number of things, so a longer list names some of them
//! again and again, and the host would look at each of them in one piece, where no meter counts.

use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::p2::DynPollable;
use wasmtime_wasi::p2::bindings::io::poll::Host;

use crate::guests::guest::Inside;
use crate::guests::stop::Polled;
use crate::words::limits::GUEST_POLLED;

/// Puts the bounded one in the place of WASI's own.
pub(in crate::guests) fn bound(linker: &mut Linker<Inside>) -> wasmtime::Result<()> {
    let mut interface = linker.instance("wasi:io/poll@0.2.12")?;
    interface.func_wrap_async(
        "poll",
        |mut store, (list,): (Vec<Resource<DynPollable>>,)| {
            Box::new(async move {
                if list.len() > GUEST_POLLED {
                    return Err(wasmtime::Error::new(Polled(list.len())));
                }
                let ready = Host::poll(store.data_mut().table_mut(), list).await?;
                Ok((ready,))
            })
        },
    )
}

//! Scripts, from the outside of the host: what they may do, how they end, and how they go on.

mod barriers;
mod calls;
mod kept;
mod lives;
mod stops;

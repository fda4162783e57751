//! Scripts and what becomes of them: the engine driven natively, as the host drives it in its component.

mod bad_input;
mod globals;
mod language;
mod logs;
mod replay;
mod rig;
mod timers;
mod tools;

//! must not compile: E0004
//! Who reads events has an arm for each: one more breaks whoever does not know it (G-03).

use lazaret::words::event::Event;

pub fn word(event: &Event) -> u8 {
    match event {
        Event::Started(_)
        | Event::Brought(_)
        | Event::Prompted { .. }
        | Event::Replied { .. }
        | Event::Judged(_)
        | Event::Finished(_)
        | Event::Scripted(_)
        | Event::Rested { .. }
        | Event::Paused { .. }
        | Event::Answered { .. }
        | Event::Expired { .. }
        | Event::Resumed { .. }
        | Event::Attempted(_)
        | Event::Overspent(_)
        | Event::Compacted(_)
        | Event::Observed { .. } => 0,
    }
}

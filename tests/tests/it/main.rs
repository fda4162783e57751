//! The whole host at work: attacks, journals, agents, limits. One binary, since each links the engine.

mod attacks;

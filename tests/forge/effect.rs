//! must not compile: E0603

pub struct Sixth;

impl lazaret::rules::sealed::Sealed for Sixth {}

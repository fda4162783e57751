//! must not compile: E0451

pub fn forge(effect: lazaret::rules::show::Show) -> lazaret::gate::Permit<lazaret::rules::show::Show> {
    lazaret::gate::Permit { effect, terms: (), seq: 0 }
}

//! `Math.random`: xoshiro256++, seeded by the host.
//!
//! The interpreter's own generator is seeded from the clock when it is made, which is before pre-initialisation ends:
//! every guest would draw the same numbers.

use std::cell::Cell;

/// A generator; the same seed gives the same numbers.
pub struct Random {
    words: Cell<[u64; 4]>,
}

impl Random {
    /// A generator with this seed. The words are drawn by splitmix64, as the generator's authors advise.
    pub fn seeded(seed: u64) -> Self {
        let mut state = seed;
        let words = [(); 4].map(|()| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ (mixed >> 31)
        });
        Self {
            words: Cell::new(words),
        }
    }

    /// Begins again with another seed.
    pub fn reseed(&self, seed: u64) {
        self.words.set(Self::seeded(seed).words.get());
    }

    /// The next number, from 0 to below 1, with all 53 bits that a double holds there.
    pub fn unit(&self) -> f64 {
        (self.word() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn word(&self) -> u64 {
        let [mut a, mut b, mut c, mut d] = self.words.get();
        let drawn = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let shifted = b << 17;
        c ^= a;
        d ^= b;
        b ^= c;
        a ^= d;
        c ^= shifted;
        d = d.rotate_left(45);
        self.words.set([a, b, c, d]);
        drawn
    }
}

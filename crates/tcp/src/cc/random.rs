//! A connection's own random numbers for the algorithms that draw: keyed by its initial sequence
//! number, so that no flow changes the draws of another.

use lasthop_engine::{Draw, Purpose};

/// A counter over keyed draws.
#[derive(Clone, Copy, Debug)]
pub struct Random {
    draw: Draw,
    count: u64,
}

impl Default for Random {
    fn default() -> Random {
        Random::new(0)
    }
}

impl Random {
    /// The numbers of the connection with this seed.
    pub fn new(seed: u64) -> Random {
        Random { draw: Draw::new(seed, Purpose::InitialSequence, 0), count: 0 }
    }
    /// The next one in [0, 1).
    pub fn next(&mut self) -> f64 {
        self.count += 1;
        self.draw.uniform(self.count)
    }
}

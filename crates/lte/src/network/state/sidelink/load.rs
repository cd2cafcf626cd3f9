//! The resource blocks that a destination has been granted recently, for a fair order.

use lasthop_units::Tti;

/// Interval after which a load is halved [TTI]. A longer one makes long-term shares more equal; a
/// shorter one limits the time for which a destination has priority over one that was alone before.
const HALVING: u64 = 64;

/// Resource blocks granted to a destination, halved in every TTI that is a multiple of 64.
#[derive(Clone, Copy, Debug, Default)]
pub struct Load {
    blocks: u64,
    /// The TTI to which `blocks` belongs, and the one of the last grant.
    now: Tti,
    last: Tti,
}

impl Load {
    /// The load in `tti`.
    pub fn at(self, tti: Tti) -> u64 {
        let halvings = tti.0 / HALVING - self.now.0 / HALVING;
        if halvings < 64 { self.blocks >> halvings } else { 0 }
    }

    /// The load in `tti` if there was a grant in the last 64 TTIs.
    pub fn if_recent(self, tti: Tti) -> Option<u64> {
        (self.blocks > 0 && self.last.plus(HALVING) > tti).then(|| self.at(tti))
    }

    /// Makes the load in `tti` at least `least`.
    pub fn raise(&mut self, tti: Tti, least: u64) {
        (self.blocks, self.now) = (self.at(tti).max(least), tti);
    }

    /// Adds a grant of `blocks` in `tti`.
    pub fn add(&mut self, tti: Tti, blocks: u32) {
        (self.blocks, self.now, self.last) = (self.at(tti) + u64::from(blocks), tti, tti);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 blocks in TTI 60, 10 more in 64: 50 + 10 until 127, 30 from 128 on.
    #[test]
    fn a_load_is_halved_every_64_ttis() {
        let mut load = Load::default();
        assert_eq!(load.if_recent(Tti(60)), None);
        load.add(Tti(60), 100);
        load.add(Tti(64), 10);
        assert_eq!([63 + 64, 128, 192].map(|t| load.at(Tti(t))), [60, 30, 15]);
        assert_eq!([127, 128].map(|t| load.if_recent(Tti(t))), [Some(60), None]);
        load.raise(Tti(128), 20);
        assert_eq!(load.at(Tti(128)), 30);
        load.raise(Tti(128), 40);
        assert_eq!(load.at(Tti(130)), 40);
        assert_eq!(load.at(Tti(1 << 40)), 0);
    }
}

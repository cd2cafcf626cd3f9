//! Access categories, and a contender for each: back-off in closed form.
//!
//! Slots are not counted. While the medium is idle a contender transmits at `base + (AIFSN +
//! slots) * slot`; when the medium becomes busy before that, the slots that have passed are
//! subtracted (clauses 10.3.4.3 and 10.22.2.4).

use lasthop_units::{Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Access category, in order of priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Category {
    /// Background (AC_BK).
    Background,
    /// Best effort (AC_BE).
    #[default]
    BestEffort,
    /// Video (AC_VI).
    Video,
    /// Voice (AC_VO).
    Voice,
}

impl Category {
    /// All categories, the lowest priority first.
    pub const ALL: [Category; 4] =
        [Category::Background, Category::BestEffort, Category::Video, Category::Voice];

    /// 0 for background to 3 for voice.
    pub const fn index(self) -> usize {
        self as usize
    }
    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Category::Background => "background",
            Category::BestEffort => "best-effort",
            Category::Video => "video",
            Category::Voice => "voice",
        }
    }
}

/// How a category contends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Access {
    /// Slots after SIFS before the back-off counts down (AIFSN), 1 to 15.
    pub aifsn: u8,
    /// Smallest contention window: back-offs are drawn from 0 to it. One less than a power of two.
    pub cw_min: u32,
    /// Largest contention window.
    pub cw_max: u32,
    /// TXOP limit: time on the air after a won contention. Zero: one frame or one A-MPDU.
    pub txop: Duration,
}

impl Access {
    /// The defaults of IEEE 802.11-2012 table 8-105, which networks of today have (WMM), for a PHY
    /// with `cw_min` (aCWmin) 15 or, for DSSS, 31. Table 9-137 of 802.11-2016 has other TXOP
    /// limits: for OFDM 2.528 ms (BK, BE), 4.096 ms (VI) and 2.080 ms (VO).
    pub const fn edca(category: Category, cw_min: u32) -> Access {
        let us = Duration::from_micros;
        let dsss = cw_min > 15;
        match category {
            Category::Background => Access { aifsn: 7, cw_min, cw_max: 1023, txop: us(0) },
            Category::BestEffort => Access { aifsn: 3, cw_min, cw_max: 1023, txop: us(0) },
            Category::Video => {
                let txop = us(if dsss { 6_016 } else { 3_008 });
                Access { aifsn: 2, cw_min: cw_min.div_ceil(2) - 1, cw_max: cw_min, txop }
            }
            Category::Voice => {
                let txop = us(if dsss { 3_264 } else { 1_504 });
                Access { aifsn: 2, cw_min: cw_min.div_ceil(4) - 1, cw_max: cw_min.div_ceil(2) - 1, txop }
            }
        }
    }
    /// Duration that it may use in its turn.
    pub const fn turn(&self) -> Duration {
        if self.txop.is_zero() { Duration::MAX } else { self.txop }
    }
    /// DCF: DIFS is SIFS and two slots.
    pub const fn dcf(cw_min: u32) -> Access {
        Access { aifsn: 2, cw_min, cw_max: 1023, txop: Duration::ZERO }
    }
    /// Beacons of an access point: PIFS and no back-off, as in real access points.
    pub const BEACON: Access = Access { aifsn: 1, cw_min: 0, cw_max: 0, txop: Duration::ZERO };
}

/// The point of a slot at which it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// At its end (DCF, clause 10.3.4.3).
    Dcf,
    /// At its beginning, and at the end of AIFS (EDCA, clause 10.22.2.4): one more in each idle
    /// period than DCF.
    Edca,
}

/// One contender of a device.
#[derive(Clone, Copy, Debug)]
pub struct Contender {
    access: Access,
    /// Current contention window.
    cw: u32,
    /// Slots left.
    slots: u32,
    /// True if it has data to send.
    pub pending: bool,
}

impl Contender {
    /// Creates a contender without data to send.
    pub const fn new(access: Access) -> Contender {
        Contender { access, cw: access.cw_min, slots: 0, pending: false }
    }
    /// Its parameters.
    pub const fn access(&self) -> &Access {
        &self.access
    }
    /// Sets new parameters: the present back-off continues, the window is clamped to the new
    /// bounds.
    pub fn set_access(&mut self, access: Access) {
        if self.access != access {
            self.access = access;
            self.cw = self.cw.clamp(access.cw_min, access.cw_max);
        }
    }
    /// Contention window.
    pub const fn window(&self) -> u32 {
        self.cw
    }
    /// Slots left when the present idle period began.
    pub const fn slots(&self) -> u32 {
        self.slots
    }

    /// Returns when it transmits if the medium, idle since `base` less SIFS, stays idle.
    #[inline]
    pub const fn turn(&self, base: Instant, slot: Duration) -> Instant {
        base.saturating_add(Duration(slot.0 * (self.access.aifsn as u64 + self.slots as u64)))
    }

    /// Ends, at `now`, the idle period that counted from `base`.
    #[inline]
    pub fn interrupt(&mut self, base: Instant, now: Instant, slot: Duration, counting: Counting) {
        if self.slots == 0 {
            return;
        }
        let first = base.saturating_add(slot * u64::from(self.access.aifsn));
        if now < first {
            return;
        }
        let gone = now.since(first) / slot + u64::from(counting == Counting::Edca);
        self.slots -= gone.min(u64::from(self.slots)) as u32;
    }

    /// Begins a back-off of a number of slots below `cw + 1`, from 64 random bits.
    pub fn back_off(&mut self, bits: u64) {
        self.slots = ((u128::from(bits) * u128::from(self.cw + 1)) >> 64) as u32;
    }
    /// Resets the window, because the frame was acknowledged or discarded.
    pub const fn reset(&mut self) {
        self.cw = self.access.cw_min;
    }
    /// Widens the window, because the frame was not acknowledged.
    pub fn widen(&mut self) {
        self.cw = (2 * self.cw + 1).min(self.access.cw_max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT: Duration = Duration::from_micros(9);

    /// 802.11-2012 table 8-105 with aCWmin 15: BK 7/15/1023, BE 3/15/1023, VI 2/7/15 and 3.008 ms,
    /// VO 2/3/7 and 1.504 ms.
    #[test]
    fn edca_defaults() {
        let of = |c| {
            let a = Access::edca(c, 15);
            (a.aifsn, a.cw_min, a.cw_max, a.txop.as_micros())
        };
        let all = Category::ALL.map(of);
        assert_eq!(all, [(7, 15, 1023, 0), (3, 15, 1023, 0), (2, 7, 15, 3008), (2, 3, 7, 1504)]);
    }

    /// Four slots left, interrupted in the third: DCF has counted two, EDCA three (one at the end
    /// of AIFS).
    #[test]
    fn slots_that_have_passed_are_subtracted() {
        let base = Instant::from_micros(100);
        let mut dcf = Contender::new(Access::dcf(15));
        dcf.slots = 4;
        let mut edca = dcf;
        assert_eq!(dcf.turn(base, SLOT), Instant::from_micros(100 + 6 * 9));
        let t = Instant::from_micros(100 + 18 + 20);
        dcf.interrupt(base, t, SLOT, Counting::Dcf);
        edca.interrupt(base, t, SLOT, Counting::Edca);
        assert_eq!((dcf.slots, edca.slots), (2, 1));
        // Within AIFS no slot counts.
        dcf.interrupt(base, Instant::from_micros(117), SLOT, Counting::Dcf);
        edca.interrupt(base, Instant::from_micros(117), SLOT, Counting::Edca);
        assert_eq!((dcf.slots, edca.slots), (2, 1));
    }

    /// The window is 15, 31, 63 ... and at most 1023; 2^64 - 1 draws the largest number of slots, 0
    /// the smallest.
    #[test]
    fn the_window_doubles_and_bounds_the_draw() {
        let mut c = Contender::new(Access::dcf(15));
        let mut windows = Vec::new();
        for _ in 0..8 {
            windows.push(c.window());
            c.back_off(u64::MAX);
            assert_eq!(c.slots(), c.window());
            c.widen();
        }
        assert_eq!(windows, [15, 31, 63, 127, 255, 511, 1023, 1023]);
        c.reset();
        c.back_off(0);
        assert_eq!((c.window(), c.slots()), (15, 0));
    }
}

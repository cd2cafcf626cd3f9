//! What a round shows of the rates that were told in it. A hint is advice: the path has the last word.

use lasthop_units::Instant;

use super::AckSample;

/// A rate of which more than this multiple came through in a round is no achievable rate.
const UNDERTOLD: f64 = 3.0;
/// A round of which this share was lost was no round that fitted.
pub(super) const LOST_SHARE: f64 = 0.25;
/// Fewer segments than this lost in a round prove nothing.
const LOST_SEGMENTS: f64 = 8.0;

/// What has come through since a round began, and what was told meanwhile.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Evidence {
    began: Instant,
    /// Octets.
    delivered: f64,
    lost: f64,
    /// The largest rate in force [octets/s].
    told: Option<f64>,
}

impl Evidence {
    /// A round begins with a rate in force.
    pub fn since(began: Instant, rate: Option<f64>) -> Evidence {
        Evidence { began, told: rate, ..Evidence::default() }
    }
    /// The window follows this rate.
    pub fn follow(&mut self, rate: f64) {
        self.told = Some(self.told.map_or(rate, |told| told.max(rate)));
    }
    pub fn on_ack(&mut self, ack: &AckSample) {
        self.delivered += ack.delivered as f64;
        self.lost += ack.lost as f64;
    }

    /// Segments that came through.
    pub fn delivered(&self, mss: f64) -> f64 {
        self.delivered / mss
    }
    /// Segments that were lost.
    pub fn lost(&self, mss: f64) -> f64 {
        self.lost / mss
    }
    /// So much was lost that the window did not fit.
    pub fn overflowed(&self, mss: f64) -> bool {
        self.lost(mss) >= LOST_SEGMENTS && self.lost >= LOST_SHARE * (self.delivered + self.lost)
    }
    /// Whoever told these rates told too little.
    pub fn exceeds(&self, now: Instant) -> bool {
        self.told.is_some_and(|most| self.delivered > UNDERTOLD * most * self.span(now))
    }

    fn span(&self, now: Instant) -> f64 {
        now.since(self.began).as_secs_f64().max(1e-9)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    fn ms(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    /// 20 segments of 1000 octets in 20 ms are 1 MB/s: more than three times 0.3 MB/s, not of 0.34. Of two rates the larger counts.
    #[test]
    fn a_rate_of_which_three_times_as_much_comes_is_too_little() {
        for (rates, too_little) in [([3e5, 3e5], true), ([3.4e5, 3.4e5], false), ([3e5, 3.4e5], false)] {
            let mut e = Evidence::since(ms(100), None);
            rates.iter().for_each(|r| e.follow(*r));
            e.on_ack(&ack_at(20, 120, 20));
            assert_eq!(e.exceeds(ms(120)), too_little, "{rates:?}");
        }
    }

    /// 8 of 32 segments are a quarter; 7 of 8 are few.
    #[test]
    fn a_quarter_of_a_round_lost_is_a_window_that_did_not_fit() {
        for (came, lost, overflowed) in [(24, 8, true), (25, 8, false), (1, 7, false)] {
            let mut e = Evidence::default();
            e.on_ack(&AckSample { lost: lost * MSS, ..ack(came) });
            assert_eq!(e.overflowed(1000.0), overflowed, "{came} {lost}");
        }
    }
}

//! The evidence of a round about the rates reported in it. A hint may be wrong, so the measurements
//! of the path decide.

use lasthop_units::{Duration, Instant};

use super::{AckSample, CaState};

/// A rate that is wrong by more than this, either way, is no achievable rate.
const WRONG: f64 = 3.0;
/// A round trip that is longer than the smallest by this factor includes a queue of three
/// bandwidth-delay products. Smaller buffers overflow, and then losses are the better measure.
const SWOLLEN: f64 = 4.0;
/// A round in which this share was lost did not fit the path.
pub(super) const LOST_SHARE: f64 = 0.25;
/// Fewer segments than this lost in a round are no evidence.
const LOST_SEGMENTS: f64 = 8.0;

/// The octets delivered since a round began, and the rates reported meanwhile.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Evidence {
    began: Instant,
    /// Octets.
    delivered: f64,
    lost: f64,
    /// The smallest and the largest rate in force [octets/s].
    reported: Option<[f64; 2]>,
}

impl Evidence {
    /// A round begins with a rate in force.
    pub fn since(began: Instant, rate: Option<f64>) -> Evidence {
        Evidence { began, reported: rate.map(|r| [r, r]), ..Evidence::default() }
    }
    /// The window follows this rate.
    pub fn follow(&mut self, rate: f64) {
        let [least, most] = self.reported.unwrap_or([rate, rate]);
        self.reported = Some([least.min(rate), most.max(rate)]);
    }
    pub fn on_ack(&mut self, ack: &AckSample) {
        self.delivered += ack.delivered as f64;
        self.lost += ack.lost as f64;
    }

    /// Segments delivered.
    pub fn delivered(&self, mss: f64) -> f64 {
        self.delivered / mss
    }
    /// Segments that were lost.
    pub fn lost(&self, mss: f64) -> f64 {
        self.lost / mss
    }
    /// True if so much data was lost that the window was too large for the path.
    pub fn overflowed(&self, mss: f64) -> bool {
        self.lost(mss) >= LOST_SEGMENTS && self.lost >= LOST_SHARE * (self.delivered + self.lost)
    }
    /// True if the reported rates were too low.
    pub fn exceeds(&self, now: Instant) -> bool {
        self.reported.is_some_and(|[_, most]| self.delivered > WRONG * most * self.span(now))
    }

    /// True if the reported rates were too high: a sender that used its window has got less than a
    /// third of the lowest of these rates, and the round trip of this ACK is four times the
    /// smallest. A window of rate times smallest round trip that waits in a queue causes both
    /// (Little's law: the round trip is the window over the delivery rate). Where data was lost,
    /// the losses are the evidence instead, because an ACK after a filled hole gives no round trip.
    pub fn falls_short(&self, ack: &AckSample, smallest: Duration) -> bool {
        ack.rtt.is_some_and(|rtt| rtt.as_secs_f64() > SWOLLEN * smallest.as_secs_f64())
            && ack.window_limited()
            && self.lost == 0.0
            && (ack.before, ack.state) == (CaState::Open, CaState::Open)
            && ack.now.since(self.began) >= smallest
            && self.reported.is_some_and(|[least, _]| WRONG * self.delivered < least * self.span(ack.now))
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

    /// 20 segments of 1000 octets in 20 ms are 1 MB/s: more than three times 0.3 MB/s, not of 0.34.
    /// Of two rates the larger counts.
    #[test]
    fn a_rate_of_which_three_times_as_much_comes_is_too_little() {
        for (rates, too_little) in [([3e5, 3e5], true), ([3.4e5, 3.4e5], false), ([3e5, 3.4e5], false)] {
            let mut e = Evidence::since(ms(100), None);
            rates.iter().for_each(|r| e.follow(*r));
            e.on_ack(&ack_at(20, 120, 20));
            assert_eq!(e.exceeds(ms(120)), too_little, "{rates:?}");
        }
    }

    /// 80 segments of 1000 octets in 80 ms: 1 MB/s where 3.1 MB/s were reported and the smallest
    /// round trip is 20 ms. At 2.9 MB/s, at a round trip of 80 ms, and of a sender that had room
    /// for more nothing follows; where the peer's window was full it does.
    #[test]
    fn a_rate_of_which_a_third_comes_while_the_queue_grows_is_too_much() {
        for (rate, rtt, limited, peer_window, too_much) in [
            (3.1e6, 81, true, 1_000_000, true),
            (3.1e6, 81, false, 100_500, true),
            (2.9e6, 81, true, 1_000_000, false),
            (3.1e6, 80, true, 1_000_000, false),
            (3.1e6, 81, false, 101_000, false),
        ] {
            let mut e = Evidence::since(ms(100), Some(rate));
            let ack = AckSample {
                cwnd_limited: limited,
                flight_before: 100_000,
                peer_window,
                ..ack_at(80, 180, rtt)
            };
            e.on_ack(&ack);
            assert_eq!(e.falls_short(&ack, Duration::from_millis(20)), too_much, "{rate} {rtt} {limited}");
            let repaired = AckSample { before: CaState::Recovery, ..ack };
            assert!(!e.falls_short(&repaired, Duration::from_millis(20)));
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

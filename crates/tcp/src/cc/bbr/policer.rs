//! BBR version 1's detector of a token-bucket policer: after two intervals with similar rates, both
//! with many losses, their rate is the bandwidth for a limited time (Linux tcp_bbr.c, "lt_bw").

use lasthop_units::{Duration, Instant};

use crate::cc::AckSample;

/// The policer detector's smallest interval [rounds], loss share, likeness of two intervals and
/// length of use.
const LT_ROUNDS: u32 = 4;
const LT_LOSS: f64 = 50.0 / 256.0;
const LT_RATIO: f64 = 1.0 / 8.0;
const LT_DIFF: f64 = 500.0;
const LT_USE_ROUNDS: u32 = 48;

/// The part of the model that the detector reads at an ACK.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckContext {
    /// A packet-timed round trip begins with this ACK.
    pub(super) round_starts: bool,
    /// The state is `PROBE_BW`.
    pub(super) in_probe_bw: bool,
    /// The ACK's rate sample is that of a sender without data.
    pub(super) app_limited: bool,
    /// The segment's size [octets].
    pub(super) mss: f64,
}

/// What an ACK changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// A policer was found: its rate is the bandwidth from now on.
    Use,
    /// The policer's rate was in use for so long that the path is probed anew
    /// (`bbr_reset_probe_bw_mode`).
    Probe,
}

/// The policer detector: two intervals alike in rate, both with many losses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LongTerm {
    sampling: bool,
    in_use: bool,
    /// Segments per second.
    bw: f64,
    rounds: u32,
    since: Instant,
    delivered: u64,
    lost: u64,
    total_lost: u64,
}

impl LongTerm {
    /// As at the start, but for the count of losses.
    pub(super) fn forgotten(&self) -> LongTerm {
        LongTerm { total_lost: self.total_lost, ..LongTerm::default() }
    }
    /// A policer was found: [`bw`](Self::bw) is the bandwidth.
    #[inline]
    pub(super) const fn in_use(&self) -> bool {
        self.in_use
    }
    /// The rate of the policer, or of the last interval \[segments/s\]; 0: there is none.
    #[inline]
    pub(super) const fn bw(&self) -> f64 {
        self.bw
    }

    fn begin(&mut self, ack: &AckSample) {
        self.since = ack.now;
        self.delivered = ack.total_delivered;
        self.lost = self.total_lost;
        self.rounds = 0;
    }
    fn reset(&mut self, ack: &AckSample) {
        (self.bw, self.in_use, self.sampling) = (0.0, false, false);
        self.begin(ack);
    }

    /// Processes an ACK with a rate sample (`bbr_lt_bw_sampling`).
    pub(super) fn sample(&mut self, ack: &AckSample, context: AckContext) -> Option<Decision> {
        self.total_lost += ack.lost;
        if self.in_use {
            return self.expire(ack, context);
        }
        if !self.sampling {
            if ack.lost == 0 {
                return None;
            }
            self.begin(ack);
            self.sampling = true;
        }
        if context.app_limited {
            self.reset(ack);
            return None;
        }
        self.rounds += u32::from(context.round_starts);
        if self.rounds < LT_ROUNDS {
            return None;
        }
        if self.rounds > 4 * LT_ROUNDS {
            self.reset(ack);
            return None;
        }
        let delivered = (ack.total_delivered - self.delivered) as f64;
        let lost = (self.total_lost - self.lost) as f64;
        let age = ack.now.since(self.since);
        if ack.lost == 0 || delivered == 0.0 || lost < LT_LOSS * delivered || age < Duration::from_millis(1) {
            return None;
        }
        self.end_interval(ack, delivered / context.mss / age.as_secs_f64(), context.mss)
    }

    /// The policer's rate is in use for 48 rounds of `PROBE_BW`.
    fn expire(&mut self, ack: &AckSample, context: AckContext) -> Option<Decision> {
        self.rounds += u32::from(context.in_probe_bw && context.round_starts);
        if self.rounds < LT_USE_ROUNDS {
            return None;
        }
        self.reset(ack);
        Some(Decision::Probe)
    }

    /// An interval ends at the rate `bw` (`bbr_lt_bw_interval_done`).
    fn end_interval(&mut self, ack: &AckSample, bw: f64, mss: f64) -> Option<Decision> {
        let diff = (bw - self.bw).abs();
        if self.bw > 0.0 && (diff <= LT_RATIO * self.bw || diff * mss <= LT_DIFF) {
            self.bw = (bw + self.bw) / 2.0;
            self.in_use = true;
            self.rounds = 0;
            return Some(Decision::Use);
        }
        self.bw = bw;
        self.begin(ack);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::*;

    /// An ACK at `ms` by which so many segments are delivered in all, with so many lost.
    fn at(ms: u64, delivered: u64, lost: u64) -> AckSample {
        AckSample { total_delivered: delivered * MSS, lost: lost * MSS, ..ack_at(1, ms, 20) }
    }
    const ROUND: AckContext =
        AckContext { round_starts: true, in_probe_bw: true, app_limited: false, mss: MSS as f64 };

    /// The detector after a first loss at 0 ms and an interval of four rounds with 400 segments
    /// delivered and `lost` of them lost besides, which ends at 400 ms: 1000 segments/s.
    fn after_one_interval(lost: u64) -> LongTerm {
        let mut lt = LongTerm::default();
        assert_eq!(lt.sample(&at(0, 0, 1), AckContext { round_starts: false, ..ROUND }), None);
        for n in 1..4 {
            assert_eq!(lt.sample(&at(100 * n, 100 * n, 0), ROUND), None);
        }
        assert_eq!(lt.sample(&at(400, 400, lost), ROUND), None);
        lt
    }
    /// A second one of the same length, in which `delivered` segments come.
    fn second_interval(lt: &mut LongTerm, delivered: u64) -> Option<Decision> {
        for n in 1..4 {
            assert_eq!(lt.sample(&at(400 + 100 * n, 400, 0), ROUND), None);
        }
        lt.sample(&at(800, 400 + delivered, 200), ROUND)
    }

    /// bbr_lt_loss_thresh = 50 of 256 of what is delivered, 78.1 of 400 segments.
    #[test]
    fn an_interval_counts_with_a_fifth_lost() {
        assert_eq!(after_one_interval(78).bw(), 0.0);
        let lt = after_one_interval(79);
        assert_eq!((lt.bw(), lt.in_use()), (1000.0, false));
    }

    /// bbr_lt_bw_ratio = 1/8: 450 segments in 400 ms are 1125/s, an eighth more than 1000, and the
    /// mean is the rate; 451 are more than that, so they begin anew. (bbr_lt_bw_diff = 500 octets/s
    /// is half a segment per second here.)
    #[test]
    fn two_intervals_within_an_eighth_are_a_policer() {
        let mut lt = after_one_interval(100);
        assert_eq!(second_interval(&mut lt, 450), Some(Decision::Use));
        assert_eq!((lt.bw(), lt.in_use()), (1062.5, true));
        let mut lt = after_one_interval(100);
        assert_eq!(second_interval(&mut lt, 451), None);
        assert_eq!((lt.bw(), lt.in_use()), (1127.5, false));
    }

    /// bbr_lt_bw_max_rtts = 48, counted in PROBE_BW alone.
    #[test]
    fn its_rate_is_in_use_for_48_rounds_of_probe_bw() {
        let mut lt = after_one_interval(100);
        second_interval(&mut lt, 400);
        for n in 0..60 {
            assert_eq!(lt.sample(&at(900 + n, 900, 0), AckContext { in_probe_bw: false, ..ROUND }), None);
            assert_eq!(lt.sample(&at(900 + n, 900, 0), AckContext { round_starts: false, ..ROUND }), None);
        }
        for n in 0..47 {
            assert_eq!(lt.sample(&at(1000 + n, 900, 0), ROUND), None);
        }
        assert_eq!(lt.sample(&at(1100, 900, 0), ROUND), Some(Decision::Probe));
        assert_eq!((lt.bw(), lt.in_use()), (0.0, false));
    }

    /// 4 * bbr_lt_intvl_min_rtts = 16 rounds without an end, or a sample of a sender without data:
    /// the detector waits for the next loss.
    #[test]
    fn a_long_interval_and_an_idle_sender_end_the_sampling() {
        let mut lt = after_one_interval(100);
        for n in 1..=16 {
            assert_eq!(lt.sample(&at(400 + n, 400 + n, 0), ROUND), None);
            assert!(lt.sampling);
        }
        lt.sample(&at(500, 500, 0), ROUND);
        assert_eq!((lt.sampling, lt.bw()), (false, 0.0));
        let mut lt = after_one_interval(100);
        lt.sample(&at(401, 401, 0), AckContext { app_limited: true, ..ROUND });
        assert_eq!((lt.sampling, lt.bw()), (false, 0.0));
    }
}

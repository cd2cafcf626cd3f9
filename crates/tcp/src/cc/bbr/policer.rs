//! BBR version 1's detector of a token-bucket policer: two intervals alike in rate, both with many
//! losses, make their rate the bandwidth for a while (Linux tcp_bbr.c, "lt_bw").

use lasthop_units::{Duration, Instant};

use super::v1::{Bbr, Mode};
use crate::cc::AckSample;

/// The policer detector's smallest interval [rounds], loss share, likeness of two intervals and
/// length of use.
const LT_ROUNDS: u32 = 4;
const LT_LOSS: f64 = 50.0 / 256.0;
const LT_RATIO: f64 = 1.0 / 8.0;
const LT_DIFF: f64 = 500.0;
const LT_USE_ROUNDS: u32 = 48;

/// The policer detector: two intervals alike in rate, both with many losses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LongTerm {
    sampling: bool,
    pub(super) in_use: bool,
    pub(super) bw: f64,
    rounds: u32,
    since: Instant,
    delivered: u64,
    lost: u64,
    pub(super) total_lost: u64,
}

impl LongTerm {
    /// As at the start, but for the count of losses.
    pub(super) fn forgotten(&self) -> LongTerm {
        LongTerm { total_lost: self.total_lost, ..LongTerm::default() }
    }
}

impl Bbr {
    fn begin_long_term(&mut self, ack: &AckSample) {
        self.lt.since = ack.now;
        self.lt.delivered = ack.total_delivered;
        self.lt.lost = self.lt.total_lost;
        self.lt.rounds = 0;
    }
    fn reset_long_term(&mut self, ack: &AckSample) {
        (self.lt.bw, self.lt.in_use, self.lt.sampling) = (0.0, false, false);
        self.begin_long_term(ack);
    }

    pub(super) fn sample_long_term(&mut self, ack: &AckSample, app_limited: bool) {
        self.lt.total_lost += ack.lost;
        if self.lt.in_use {
            if self.mode == Mode::ProbeBw && self.round.starts {
                self.lt.rounds += 1;
                if self.lt.rounds >= LT_USE_ROUNDS {
                    self.reset_long_term(ack);
                    self.enter_probe_bw(ack.now);
                }
            }
            return;
        }
        if !self.lt.sampling {
            if ack.lost == 0 {
                return;
            }
            self.begin_long_term(ack);
            self.lt.sampling = true;
        }
        if app_limited {
            self.reset_long_term(ack);
            return;
        }
        self.lt.rounds += u32::from(self.round.starts);
        if self.lt.rounds < LT_ROUNDS {
            return;
        }
        if self.lt.rounds > 4 * LT_ROUNDS {
            self.reset_long_term(ack);
            return;
        }
        let delivered = (ack.total_delivered - self.lt.delivered) as f64;
        let lost = (self.lt.total_lost - self.lt.lost) as f64;
        let age = ack.now.since(self.lt.since);
        if ack.lost == 0 || delivered == 0.0 || lost < LT_LOSS * delivered || age < Duration::from_millis(1) {
            return;
        }
        self.end_long_term(ack, delivered / self.mss / age.as_secs_f64());
    }

    fn end_long_term(&mut self, ack: &AckSample, bw: f64) {
        let diff = (bw - self.lt.bw).abs();
        if self.lt.bw > 0.0 && (diff <= LT_RATIO * self.lt.bw || diff * self.mss <= LT_DIFF) {
            self.lt.bw = (bw + self.lt.bw) / 2.0;
            self.lt.in_use = true;
            self.pacing_gain = 1.0;
            self.lt.rounds = 0;
            return;
        }
        self.lt.bw = bw;
        self.begin_long_term(ack);
    }
}

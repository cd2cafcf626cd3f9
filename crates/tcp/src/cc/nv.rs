//! TCP-NV: Vegas for data centres; the window follows the largest rate of a round times the
//! smallest round trip.
//!
//! Compared by reading with Linux 6.1 tcp_nv.c:
//! - the rate of a sample is computed from the data in flight when the segment was sent
//!   (`delivered - prior_delivered`), not from the data outstanding when its ACK arrives;
//! - a sample belongs to the state before its ACK, because `pkts_acked` runs before the state
//!   machine does;
//! - whole microseconds and hundreds of bits per second, as there.

use lasthop_units::{Duration, Instant};

use super::random::Random;
use super::window::{Window, has_window};
use super::{
    AckSample, CaState, Congestion, CongestionControl, Established, Needs, Observer, Parameter, Row,
};
use crate::config::Config;

const PAD: f64 = 10.0;
const PAD_BUFFER: f64 = 2.0;
const RESET_PERIOD: f64 = 5.0;
const MIN_CWND: f64 = 2.0;
/// Share of the excess that is removed at once: 38/128.
const CONG_DEC: f64 = 38.0 / 128.0;
const LOSS_DEC: f64 = 819.0 / 1024.0;
/// Rounds without congestion before a growth below Reno's is doubled.
const GROWTH_RATE_NEG: u32 = 8;
const DEC_EVAL_CALLS: u32 = 60;
const INC_EVAL_CALLS: u32 = 20;
const SSTHRESH_EVAL_CALLS: u32 = 30;
const STOP_ROUNDS: u32 = 10;
const MIN_ROUNDS: u32 = 2;
const SMALL_WINDOW: f64 = 4.0;
const SMALL_WINDOW_STEP: f64 = 2.0;
const SMALL_WINDOW_MAX: f64 = 81.0;
/// NV_INIT_RTT.
const NO_RTT: u64 = u32::MAX as u64;

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter { name: "nv_pad", default: "10", unit: "segments", source: "Linux tcp_nv.c" },
    Parameter {
        name: "nv_reset_period",
        default: "5",
        unit: "s",
        source: "Linux; drawn between 3/4 and 5/4 of it",
    },
    Parameter { name: "nv_cong_dec_mult", default: "30", unit: "%", source: "Linux: 38/128" },
    Parameter { name: "nv_loss_dec_factor", default: "819/1024", unit: "of cwnd is left", source: "Linux" },
    Parameter { name: "nv_dec_eval_min_calls", default: "60", unit: "samples", source: "Linux" },
    Parameter { name: "nv_inc_eval_min_calls", default: "20", unit: "samples", source: "Linux" },
    Parameter { name: "nv_ssthresh_eval_min_calls", default: "30", unit: "samples", source: "Linux" },
    Parameter { name: "nv_rtt_factor", default: "1/2", unit: "", source: "Linux 128/256" },
];
pub(super) const DIFFERS: &str = "As Linux without a base round trip from outside (BPF). The reset period is drawn from the \
     connection's own keyed numbers. ns-3 and INET have none.";

pub(super) const ROW: Row = Row {
    summary: "holds rate times round trip and a pad, for data centres",
    source: "L. Brakmo, TCP-NV: congestion avoidance for data centers, Linux Plumbers 2010; Linux 6.1 tcp_nv.c",
    parameters: PARAMETERS,
    differs: DIFFERS,
    needs: Needs::NOTHING,
};

/// NV's window and rounds. Times in microseconds, rates in 100 bit/s.
#[derive(Clone, Debug)]
pub struct Nv {
    w: Window,
    random: Random,
    allow_growth: bool,
    /// Growth per round is 2^factor segments.
    factor: i32,
    reset: bool,
    reset_at: Instant,
    calls: u32,
    rounds: u32,
    small: f64,
    last_rtt: u64,
    min_rtt: u64,
    next_min_rtt: u64,
    max_rate: u64,
    round_mark: u64,
    last_una: u64,
    calm: u32,
}

impl Nv {
    /// One segment until the handshake is done.
    pub fn new(config: &Config) -> Nv {
        Nv {
            w: Window::new(config),
            random: Random::default(),
            allow_growth: true,
            factor: 0,
            reset: false,
            reset_at: Instant::ZERO,
            calls: 0,
            rounds: 0,
            small: SMALL_WINDOW,
            last_rtt: 0,
            min_rtt: NO_RTT,
            next_min_rtt: NO_RTT,
            max_rate: 0,
            round_mark: 0,
            last_una: 0,
            calm: 0,
        }
    }

    fn start_over(&mut self, una: u64) {
        self.reset = false;
        (self.calm, self.rounds, self.calls) = (0, 0, 0);
        (self.last_rtt, self.max_rate) = (0, 0);
        (self.round_mark, self.last_una) = (una, una);
    }

    fn measure(&mut self, ack: &AckSample, rtt: u64) {
        if self.last_rtt > 0 {
            self.last_rtt = (rtt + self.last_rtt) / 2;
        } else {
            self.last_rtt = rtt;
            self.min_rtt = 2 * rtt;
        }
        let rtt = self.last_rtt;
        self.max_rate = self.max_rate.max(ack.delivered_since_sent.saturating_mul(80_000) / rtt.max(1));
        self.calls = (self.calls + 1).min(255);
        self.min_rtt = self.min_rtt.min(rtt);
        self.next_min_rtt = self.next_min_rtt.min(rtt);
        if ack.now >= self.reset_at {
            self.min_rtt = std::mem::replace(&mut self.next_min_rtt, NO_RTT);
            let period = RESET_PERIOD * (0.75 + 0.5 * self.random.next());
            self.reset_at = ack.now.saturating_add(Duration::from_secs_f64(period));
            self.small = (self.small / 2.0).floor().max(SMALL_WINDOW);
        }
    }

    /// Once per round: compares the window with what the rate needs.
    fn decide(&mut self, ack: &AckSample, acked: f64) {
        self.round_mark = ack.nxt;
        self.rounds = (self.rounds + 1).min(255);
        let mss = f64::from(ack.mss.max(1));
        if self.calls == 1 && acked >= (self.small - 1.0) * mss && self.small < SMALL_WINDOW_MAX {
            // One sample in a round: the window is too small to measure.
            self.small = (self.small + SMALL_WINDOW_STEP).min(SMALL_WINDOW_MAX);
            self.round_mark = ack.nxt + (self.small * mss) as u64;
            self.calls = 0;
            self.allow_growth = true;
            return;
        }
        let cwnd = self.w.cwnd;
        let by_slope = self.max_rate.saturating_mul(self.min_rtt) / (80_000 * u64::from(ack.mss.max(1)));
        let most = by_slope as f64 + PAD;
        if cwnd > most {
            if !self.may_shrink() {
                return;
            }
            self.allow_growth = false;
            self.w.ssthresh = most;
            let excess = cwnd - most;
            let to = if excess > 2.0 { cwnd - (excess * CONG_DEC).floor().max(2.0) } else { most };
            self.w.cwnd = to;
            self.factor = self.factor.min(0);
            self.calm = 0;
        } else if cwnd <= most - PAD_BUFFER {
            if self.calls < INC_EVAL_CALLS {
                return;
            }
            self.allow_growth = true;
            self.calm += 1;
            if self.factor < 0 && self.calm > GROWTH_RATE_NEG {
                self.factor += 1;
                self.calm = 0;
            }
        } else {
            return;
        }
        (self.calls, self.rounds, self.max_rate) = (0, 0, 0);
        self.w.cwnd = self.w.cwnd.max(MIN_CWND);
    }

    fn may_shrink(&mut self) -> bool {
        if self.rounds < MIN_ROUNDS {
            return false;
        }
        if self.w.ssthresh.is_infinite() {
            return self.calls >= SSTHRESH_EVAL_CALLS;
        }
        if self.calls < DEC_EVAL_CALLS {
            self.allow_growth &= self.rounds <= STOP_ROUNDS;
            return false;
        }
        true
    }

    fn note_loss(&mut self, timeout: bool) {
        self.reset = true;
        self.allow_growth = false;
        if timeout {
            self.factor = self.factor.clamp(-7, 0) - 1;
        }
    }
}

impl CongestionControl for Nv {
    has_window!();
    fn on_established(&mut self, e: &Established) {
        self.w.open(e);
        self.random = Random::new(e.seed);
        self.reset_at = e.now.saturating_add(Duration::from_secs(2));
        self.start_over(e.nxt);
    }
    fn on_ack(&mut self, ack: &AckSample) {
        let settled = matches!(ack.before, CaState::Open | CaState::Disorder);
        if let Some(rtt) = ack.rtt.filter(|_| settled) {
            let acked = ack.una.saturating_sub(self.last_una) as f64;
            self.last_una = ack.una;
            if ack.delivered_since_sent > 0 {
                self.measure(ack, rtt.as_micros());
                if ack.una > self.round_mark {
                    self.decide(ack, acked);
                }
            }
        }
        if self.reset && ack.state == CaState::Open {
            self.start_over(ack.una);
        }
        if !self.w.may_grow(ack) || !self.allow_growth {
            return;
        }
        let left = if self.w.in_slow_start() { self.w.slow_start(ack) } else { ack.segments() };
        if left > 0.0 {
            let per = if self.factor < 0 {
                self.w.cwnd * f64::from(1u32 << self.factor.unsigned_abs())
            } else {
                self.w.cwnd.max(4.0)
            };
            self.w.one_per(per, left);
        }
    }
    fn on_congestion(&mut self, c: &Congestion) {
        self.w.cut(c.flight * LOSS_DEC);
        self.note_loss(false);
    }
    fn on_timeout(&mut self, c: &Congestion) {
        self.w.timeout(c.flight * LOSS_DEC, c.repeated);
        self.note_loss(true);
    }
    fn observe(&self, o: &mut Observer<'_>) {
        let known = |us: u64| (us != NO_RTT && us > 0).then(|| us as f64 / 1e6);
        o.maybe("nv.min_rtt", "s", "smallest round trip", known(self.min_rtt));
        o.maybe("nv.last_rtt", "s", "average round trip of this round", known(self.last_rtt));
        o.number("nv.max_rate", "bit/s", "largest rate of this round", 100.0 * self.max_rate as f64);
        o.number("nv.factor", "", "the growth in a round trip is 2^factor segments", f64::from(self.factor));
        o.flag("nv.allow_growth", "the last decision found no congestion", self.allow_growth);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    fn nv(cwnd: f64, ssthresh: f64) -> Nv {
        let mut n = Nv::new(&linux_like());
        n.w.ssthresh = ssthresh;
        n.set_cwnd(cwnd);
        // 100000 octets/s = 8000 * 100 bit/s; * 0.2 s = 20 segments, + 10.
        (n.max_rate, n.min_rtt, n.rounds, n.calls) = (8_000, 200_000, 5, 100);
        n
    }

    #[test]
    fn a_window_beyond_rate_times_round_trip_and_pad_loses_a_third_of_the_excess() {
        let mut n = nv(50.0, 2.0);
        n.decide(&ack(1), 1000.0);
        // 20 too many: 20 * 38 / 128 = 5.9.
        assert_eq!((n.cwnd(), n.ssthresh(), n.allow_growth), (45.0, 30.0, false));
        let mut n = nv(32.0, 2.0);
        n.decide(&ack(1), 1000.0);
        assert_eq!(n.cwnd(), 30.0, "an excess of two is removed at once");
    }

    #[test]
    fn a_sample_is_what_was_in_flight_when_its_segment_was_sent_and_belongs_to_the_state_before() {
        let mut n = Nv::new(&linux_like());
        // 20 segments of 1000 octets in 100 ms: 1.6 Mbit/s, 16000 in hundreds of bits.
        let a = AckSample { delivered_since_sent: 20_000, ..ack_at(1, 100, 100) };
        n.on_ack(&AckSample { before: CaState::Recovery, ..a });
        assert_eq!((n.max_rate, n.calls), (0, 0));
        n.on_ack(&AckSample { state: CaState::Recovery, ..a });
        assert_eq!((n.max_rate, n.calls, n.min_rtt), (16_000, 1, 100_000));
        // The mean of 100 and 101 ms, cut to whole microseconds.
        n.on_ack(&ack_at(1, 101, 101));
        assert_eq!(n.last_rtt, 100_000, "nothing in flight: no sample");
        n.on_ack(&AckSample { delivered_since_sent: 20_000, ..ack_at(1, 101, 101) });
        assert_eq!(n.last_rtt, 100_500);
    }

    #[test]
    fn too_few_samples_decide_nothing() {
        for (ssthresh, calls, to) in [(2.0, 59, 50.0), (f64::INFINITY, 29, 50.0), (f64::INFINITY, 30, 45.0)] {
            let mut n = nv(50.0, ssthresh);
            n.calls = calls;
            n.decide(&ack(1), 1000.0);
            assert_eq!(n.cwnd(), to);
        }
    }

    #[test]
    fn each_timeout_halves_the_growth_and_calm_restores_it() {
        let mut n = nv(20.0, 2.0);
        n.on_timeout(&congestion(20.0));
        assert_eq!((n.factor, n.ssthresh()), (-1, 15.0), "20 * 819/1024 = 15.99");
        n.on_timeout(&congestion(20.0));
        assert_eq!(n.factor, -2);
        n.set_cwnd(20.0);
        for _ in 0..9 {
            (n.max_rate, n.rounds, n.calls) = (8_000, 5, 100);
            n.decide(&ack(1), 1000.0);
        }
        assert_eq!(n.factor, -1, "more than eight calm decisions");
    }
}

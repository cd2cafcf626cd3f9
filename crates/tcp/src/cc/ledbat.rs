//! LEDBAT: RFC 6817. A scavenger that holds the queueing delay near a target.

use std::collections::VecDeque;

use lasthop_units::{Duration, Instant};

use super::window::{Window, has_window};
use super::{AckSample, Congestion, CongestionControl, Established, Needs, Observer, Parameter, Row};
use crate::config::Config;

/// TARGET.
const TARGET: f64 = 0.1;
/// GAIN.
const GAIN: f64 = 1.0;
/// BASE_HISTORY [minutes].
const BASE_HISTORY: usize = 10;
/// CURRENT_FILTER [samples].
const CURRENT_FILTER: usize = 4;
/// MIN_CWND [segments].
const MIN_CWND: f64 = 2.0;
/// ALLOWED_INCREASE [segments].
const ALLOWED_INCREASE: f64 = 1.0;

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter { name: "TARGET", default: "100", unit: "ms", source: "RFC 6817 section 2.5: 100 ms or less" },
    Parameter { name: "GAIN", default: "1", unit: "", source: "RFC 6817 section 2.5: 1 or less" },
    Parameter { name: "BASE_HISTORY", default: "10", unit: "minutes", source: "RFC 6817 section 2.5" },
    Parameter {
        name: "CURRENT_FILTER",
        default: "4",
        unit: "samples",
        source: "RFC 6817 section 2.5: at least 4; ns-3 4",
    },
    Parameter { name: "ALLOWED_INCREASE", default: "1", unit: "segments", source: "RFC 6817 section 2.5" },
];
pub(super) const DIFFERS: &str = "The delay is the round trip, not the one-way delay of RFC 6817: a queue on the way back \
     counts too. Slow start begins a flow, as ns-3 does by default (RFC 6817 section 2.2 allows it), and ends when the \
     delay passes three quarters of the target. Linux and INET have none.";

pub(super) const ROW: Row = Row {
    summary: "a scavenger that holds a delay target",
    source: "RFC 6817",
    parameters: PARAMETERS,
    differs: DIFFERS,
    needs: Needs::NOTHING,
};

/// LEDBAT's window and delays. Times in seconds.
#[derive(Clone, Debug)]
pub struct Ledbat {
    w: Window,
    /// Smallest delay of each of the last minutes.
    base: VecDeque<f64>,
    minute: Instant,
    current: VecDeque<f64>,
}

impl Ledbat {
    /// One segment until the handshake is done.
    pub fn new(config: &Config) -> Ledbat {
        Ledbat {
            w: Window::new(config),
            base: VecDeque::with_capacity(BASE_HISTORY + 1),
            minute: Instant::ZERO,
            current: VecDeque::with_capacity(CURRENT_FILTER + 1),
        }
    }

    fn note_delay(&mut self, now: Instant, delay: f64) {
        if self.base.is_empty() || now.since(self.minute) >= Duration::from_secs(60) {
            self.minute = now;
            self.base.push_back(delay);
            if self.base.len() > BASE_HISTORY {
                self.base.pop_front();
            }
        } else if let Some(last) = self.base.back_mut() {
            *last = last.min(delay);
        }
        self.current.push_back(delay);
        if self.current.len() > CURRENT_FILTER {
            self.current.pop_front();
        }
    }

    /// FILTER(current) - MIN(base).
    fn queueing(&self) -> Option<f64> {
        let smallest = |d: &VecDeque<f64>| d.iter().copied().reduce(f64::min);
        Some(smallest(&self.current)? - smallest(&self.base)?)
    }
}

impl CongestionControl for Ledbat {
    has_window!();
    fn on_established(&mut self, e: &Established) {
        self.w.open(e);
    }
    fn on_ack(&mut self, ack: &AckSample) {
        if let Some(rtt) = ack.rtt {
            self.note_delay(ack.now, rtt.as_secs_f64());
        }
        let Some(queueing) = self.queueing().filter(|_| ack.may_grow) else { return };
        if self.w.in_slow_start() {
            if queueing < 0.75 * TARGET {
                if self.w.may_grow(ack) {
                    self.w.slow_start(ack);
                }
                return;
            }
            self.w.ssthresh = self.w.cwnd;
        }
        // RFC 6817 section 2.4.2: cwnd += GAIN * off_target * bytes_newly_acked * MSS / cwnd,
        // capped at flightsize + ALLOWED_INCREASE, and not below MIN_CWND.
        let off_target = (TARGET - queueing) / TARGET;
        let cwnd = self.w.cwnd + GAIN * off_target * ack.segments() / self.w.cwnd;
        let flight = ack.flight_before as f64 / f64::from(ack.mss.max(1));
        // The cap excludes what the sender did not use. A sender limited by the window used it all:
        // where packets are of two segments its flight may end a segment below the window, and the
        // cap would stop growth there. Section 2.5 permits ALLOWED_INCREASE to allow for the
        // framing.
        let used = if ack.cwnd_limited { flight.max(self.w.cwnd) } else { flight };
        let cwnd = if off_target > 0.0 { cwnd.min(self.w.cwnd.max(used + ALLOWED_INCREASE)) } else { cwnd };
        self.w.set(cwnd.max(MIN_CWND));
    }
    fn on_congestion(&mut self, c: &Congestion) {
        // cwnd = min (cwnd, max (cwnd/2, MIN_CWND * MSS)).
        self.w.cut(c.flight / 2.0);
    }
    fn on_timeout(&mut self, c: &Congestion) {
        self.w.timeout(c.flight / 2.0, c.repeated);
    }
    fn observe(&self, o: &mut Observer<'_>) {
        let smallest = |d: &VecDeque<f64>| d.iter().copied().reduce(f64::min);
        o.maybe("ledbat.base_delay", "s", "smallest round trip of the last minutes", smallest(&self.base));
        o.maybe(
            "ledbat.queueing",
            "s",
            "the filtered delay above it, to be compared with the target",
            self.queueing(),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    fn ledbat(queueing_ms: u64) -> Ledbat {
        let mut l = Ledbat::new(&rfc());
        l.w.ssthresh = 2.0;
        l.set_cwnd(10.0);
        l.note_delay(Instant::ZERO, 0.1);
        (0..4).for_each(|_| l.note_delay(Instant::ZERO, 0.1 + queueing_ms as f64 / 1000.0));
        l
    }

    #[test]
    fn growth_is_in_proportion_to_the_distance_from_the_target() {
        // 10 segments acknowledged at cwnd 10: + off_target, and no more than + 1.
        for (queueing, to) in [(0, 11.0), (50, 10.5), (100, 10.0), (150, 9.5)] {
            let mut l = ledbat(queueing);
            l.on_ack(&AckSample { flight_before: 10 * MSS, ..ack(10) });
            assert!((l.cwnd() - to).abs() < 1e-9, "{queueing} ms: {}", l.cwnd());
        }
    }

    /// Ten segments acknowledged at cwnd 11 and no queue: + 10 / 11. With packets of two segments a
    /// full window of 11 is a flight of 10; a flight of 10 in a window of 11 that is not full
    /// allows no more than the 10 + 1 that the window has.
    #[test]
    fn only_a_window_that_is_not_full_caps_the_growth() {
        for (cwnd_limited, to) in [(true, 11.0 + 10.0 / 11.0), (false, 11.0)] {
            let mut l = ledbat(0);
            l.set_cwnd(11.0);
            l.on_ack(&AckSample { flight_before: 10 * MSS, cwnd_limited, ..ack(10) });
            assert!((l.cwnd() - to).abs() < 1e-9, "{cwnd_limited}: {}", l.cwnd());
        }
        // One ACK of many segments: ALLOWED_INCREASE beyond what was in use.
        let mut l = ledbat(0);
        l.on_ack(&AckSample { flight_before: 10 * MSS, ..ack(30) });
        assert!((l.cwnd() - 11.0).abs() < 1e-9, "{}", l.cwnd());
    }

    #[test]
    fn the_base_delay_expires_after_ten_minutes() {
        let mut l = ledbat(0);
        for m in 1..=10 {
            assert!((l.base[0] - 0.1).abs() < 1e-12);
            l.note_delay(Instant::from_secs(60 * m), 0.2);
        }
        assert!((l.base[0] - 0.2).abs() < 1e-12);
    }

    #[test]
    fn a_lone_flow_holds_the_target() {
        // The path holds 100 segments in 50 ms: 100 ms more are 200 segments queued, cwnd 300.
        let mut p = Path::new(super::super::CcName::Ledbat, rfc(), 50, 100.0);
        let w = p.rounds(3000);
        assert!((w[2999] - 300.0).abs() < 10.0, "{}", w[2999]);
    }
}

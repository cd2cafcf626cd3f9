//! A control for L4S in the manner of TCP Prague (draft-briscoe-iccrg-prague-congestion-control;
//! requirements of RFC 9331 section 4): DCTCP's answer to the share of marks, with growth that does
//! not depend on short round trips and Reno's answer to losses. It sends ECT(1), asks for accurate
//! feedback and paces.

use lasthop_units::{Duration, Instant};

use super::marks::MarkedShare;
use super::window::{Round, Window, has_window};
use super::{AckSample, Congestion, CongestionControl, Established, Needs, Observer, Parameter, Row};
use crate::config::{Config, EcnMode};

/// A flow with a shorter round trip grows as if it had this one (the draft's RTT_virt).
const VIRTUAL_RTT: Duration = Duration::from_millis(25);

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "g",
        default: "1/16",
        unit: "",
        source: "draft-briscoe-iccrg-prague-congestion-control section 2.4.2",
    },
    Parameter {
        name: "RTT_virt",
        default: "at least 25 ms",
        unit: "",
        source: "draft-briscoe-iccrg-prague-congestion-control section 2.4.4",
    },
    Parameter { name: "alpha at the start", default: "1", unit: "", source: "RFC 8257 section 3.3" },
];
pub(super) const DIFFERS: &str = "Linux' tcp_prague lives outside the main tree; it keeps fractions of a segment and falls \
     back to a classic control when it suspects a classic queue, which is not done here. ns-3 has it as an addition, INET has \
     not. Its reaction to a loss is Reno's (the draft allows CUBIC's).";

pub(super) const ROW: Row = Row {
    summary: "L4S: cuts by the share of marks, grows independently of short round trips",
    source: "draft-briscoe-iccrg-prague-congestion-control; RFC 9331 section 4",
    parameters: PARAMETERS,
    differs: DIFFERS,
    needs: Needs {
        // RFC 9331 section 4: ECT(1), accurate feedback.
        ecn: Some(EcnMode::Accurate),
        l4s: true,
        marks: Some("losses alone govern it"),
        ..Needs::NOTHING
    },
};

/// Prague's window and its estimate.
#[derive(Clone, Debug)]
pub struct Prague {
    w: Window,
    share: MarkedShare,
    round: Round,
    round_end: Instant,
    /// Part of a segment that the window has grown by and not moved yet.
    carry: f64,
    rtt: Duration,
}

impl Prague {
    /// One segment until the handshake is done.
    pub fn new(config: &Config) -> Prague {
        Prague {
            w: Window::new(config),
            share: MarkedShare::new(),
            round: Round::default(),
            round_end: Instant::ZERO,
            carry: 0.0,
            rtt: VIRTUAL_RTT,
        }
    }
    /// The estimate of the share of marks.
    pub fn alpha(&self) -> f64 {
        self.share.alpha
    }

    /// Additive increase: a segment a round trip, for short round trips (RTT / RTT_virt)^2 of one;
    /// marked octets do not count.
    fn grow(&mut self, ack: &AckSample) {
        let unmarked = ack.delivered.saturating_sub(ack.marked) as f64 / f64::from(ack.mss.max(1));
        let scale = (self.rtt.as_secs_f64() / VIRTUAL_RTT.as_secs_f64()).min(1.0);
        self.carry += scale * scale * unmarked / self.w.cwnd.max(1.0);
        if self.carry >= 1.0 {
            self.w.add(self.carry.floor());
            self.carry -= self.carry.floor();
        }
    }
}

impl CongestionControl for Prague {
    has_window!();
    fn on_established(&mut self, e: &Established) {
        self.w.open(e);
        self.round.begin(e.nxt);
    }
    fn on_ack(&mut self, ack: &AckSample) {
        self.rtt = ack.srtt.unwrap_or(self.rtt);
        self.share.count(ack);
        // The estimate moves once per virtual round trip.
        if self.round.ended(ack) && ack.now.since(self.round_end) >= self.rtt.max(VIRTUAL_RTT) / 2 {
            self.round_end = ack.now;
            self.share.settle();
        }
        if !self.w.may_grow(ack) {
            return;
        }
        if self.w.in_slow_start() {
            self.w.slow_start(ack);
        } else {
            self.grow(ack);
        }
    }
    fn on_congestion(&mut self, c: &Congestion) {
        self.w.cut(self.share.after(c));
    }
    fn on_timeout(&mut self, c: &Congestion) {
        self.w.timeout(c.flight / 2.0, c.repeated);
    }
    fn observe(&self, o: &mut Observer<'_>) {
        self.share.observe(o, "prague.alpha");
        o.number("prague.carry", "segments", "growth that waits to be a whole segment", self.carry);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Signal;
    use super::super::testing::*;
    use super::*;

    /// 10 ms is 0.4 of 25 ms: 0.16 of a segment a round trip, so 12 rounds of 20 segments give one
    /// (1.92), 13 two (2.08).
    #[test]
    fn a_short_round_trip_grows_no_faster_than_a_long_one_in_time() {
        let mut p = Prague::new(&linux_like());
        p.w.set(20.0);
        p.w.ssthresh = 10.0;
        (0..12).for_each(|_| p.on_ack(&ack_at(20, 1, 10)));
        assert_eq!(p.cwnd(), 21.0);
        (0..2).for_each(|_| p.on_ack(&ack_at(20, 1, 10)));
        assert_eq!(p.cwnd(), 22.0);
        let mut long = Prague::new(&linux_like());
        long.w.set(20.0);
        long.w.ssthresh = 10.0;
        long.on_ack(&ack_at(21, 1, 100));
        assert_eq!(long.cwnd(), 21.0, "a segment a round trip from 25 ms on");
    }

    #[test]
    fn a_mark_cuts_by_half_of_alpha_and_a_loss_by_half() {
        let mut p = Prague::new(&linux_like());
        p.share.alpha = 0.25;
        p.on_congestion(&Congestion { signal: Signal::Ecn, ..congestion(80.0) });
        assert_eq!(p.cwnd(), 70.0, "80 * (1 - 0.125)");
        p.on_congestion(&congestion(80.0));
        assert_eq!(p.cwnd(), 40.0);
    }
}

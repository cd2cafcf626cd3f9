//! The sender of Accel-Brake Control (P. Goyal and others, ABC: a simple explicit congestion
//! controller for wireless networks, NSDI 2020). The router's part is the AQM `abc`.
//!
//! Every packet carries accelerate or brake. An ACK of an accelerate makes the window a segment
//! larger, an ACK of a brake a segment smaller, and either adds 1/w, so that the rates of flows
//! become equal (section 3.1.2). So a round with accelerates only doubles the window, and a round
//! with as many brakes as accelerates keeps it. A second window, CUBIC's, is for bottlenecks
//! without ABC. The smaller of the two is used, and neither grows beyond twice the data in flight
//! (section 5.1.1).
//!
//! Accelerate is ECT, brake is CE, fed back by AccECN's counter: the encoding for paths on which
//! every ECN router is ABC's (section 5.1.2 names it for proxied networks).

use lasthop_units::Instant;

use super::{
    AckSample, CcName, Congestion, CongestionControl, Cubic, Established, Needs, Observer, Parameter, Row,
    Signal,
};
use crate::config::{Config, EcnMode};

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter { name: "second window", default: "cubic", unit: "", source: "NSDI 2020, section 5.1.1" },
    Parameter {
        name: "ceiling",
        default: "2",
        unit: "times what is in flight",
        source: "NSDI 2020, section 5.1.1",
    },
    Parameter {
        name: "ecn",
        default: "accurate",
        unit: "",
        source: "marks are counted, not answered once a round",
    },
];

pub(super) const DIFFERS: &str = "Linux, ns-3 and INET do not have it; the authors' kernel module feeds brakes back in the NS \
     bit, so that a classic router's CE remains a signal of its own. Here CE is the brake.";

pub(super) const ROW: Row = Row {
    summary: "one segment more for each packet marked accelerate, one less for each marked brake",
    source: "P. Goyal, A. Agarwal, R. Netravali, M. Alizadeh, H. Balakrishnan, ABC, NSDI 2020",
    parameters: PARAMETERS,
    differs: DIFFERS,
    needs: Needs {
        // Brakes are marks, which must be counted.
        ecn: Some(EcnMode::Accurate),
        ..Needs::NOTHING
    },
};

/// A window is never smaller [segments].
const FLOOR: f64 = 1.0;
/// Windows do not grow beyond this times what is in flight.
const HEADROOM: f64 = 2.0;

/// ABC's window and the second one.
#[derive(Clone, Debug)]
pub struct Abc {
    window: f64,
    ceiling: f64,
    second: Cubic,
}

impl Abc {
    /// One segment until the handshake is done.
    pub fn new(config: &Config) -> Abc {
        Abc {
            window: FLOOR,
            ceiling: config.window_ceiling().max(FLOOR),
            second: Cubic::new(&Config { cc: CcName::Cubic, ..*config }),
        }
    }
    /// The window that brakes and accelerates move \[segments\].
    pub fn window(&self) -> f64 {
        self.window
    }
}

impl CongestionControl for Abc {
    fn cwnd(&self) -> f64 {
        self.window.min(self.second.cwnd())
    }
    fn ssthresh(&self) -> f64 {
        self.second.ssthresh()
    }
    fn on_established(&mut self, e: &Established) {
        self.window = e.initial_window.clamp(FLOOR, self.ceiling);
        self.second.on_established(e);
    }
    fn on_ack(&mut self, ack: &AckSample) {
        let mss = f64::from(ack.mss.max(1));
        let (all, brakes) = (ack.segments(), ack.marked as f64 / mss);
        let limit = (HEADROOM * ack.flight_before as f64 / mss).max(FLOOR);
        let moved = self.window + all - 2.0 * brakes + all / self.window;
        let most = limit.max(self.window);
        self.window = moved.min(most).clamp(FLOOR, self.ceiling);
        let may_grow = ack.may_grow && self.second.cwnd() < limit;
        self.second.on_ack(&AckSample { may_grow, marked: 0, ..*ack });
    }
    fn on_congestion(&mut self, c: &Congestion) {
        // A mark is a brake and has been counted.
        if c.signal == Signal::Loss {
            self.second.on_congestion(c);
        }
    }
    fn on_timeout(&mut self, c: &Congestion) {
        self.window = FLOOR;
        self.second.on_timeout(c);
    }
    fn set_cwnd(&mut self, segments: f64) {
        self.second.set_cwnd(segments);
    }
    fn set_ssthresh(&mut self, segments: f64) {
        self.second.set_ssthresh(segments);
    }
    fn on_idle_restart(&mut self, now: Instant, segments: f64) {
        self.window = self.window.min(segments.max(FLOOR));
        self.second.on_idle_restart(now, segments);
    }
    fn on_recovered(&mut self, now: Instant) {
        self.second.on_recovered(now);
    }
    fn on_undo(&mut self, cwnd: f64, ssthresh: f64) {
        self.second.on_undo(cwnd, ssthresh);
    }
    /// Marks are no reason for a reduction of recovery's.
    fn rules_recovery(&self) -> bool {
        true
    }
    fn observe(&self, o: &mut Observer<'_>) {
        o.number("abc.window", "segments", "the window that accelerates and brakes move", self.window);
        self.second.observe(o);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use lasthop_units::Duration;

    fn abc() -> Abc {
        let mut cc = Abc::new(&linux_with(|c| c.window.mss = MSS as u16));
        let (now, rtt) = (Instant::from_millis(100), Some(Duration::from_millis(20)));
        cc.on_established(&Established { now, rtt, initial_window: 10.0, nxt: 1, seed: 1, mss: MSS as u32 });
        cc
    }
    /// ACKs of one segment each, the first `brakes` of `n` marked, with ten in flight.
    fn round(cc: &mut Abc, n: u64, brakes: u64) {
        for i in 0..n {
            let marked = if i < brakes { MSS } else { 0 };
            let flight_before = cc.window() as u64 * MSS;
            cc.on_ack(&AckSample { marked, flight_before, ..ack_at(1, 120, 20) });
        }
    }

    /// Ten accelerates: 10 + 10, and 1/10 + 1/11.1 + ...: the harmonic part is below a segment.
    #[test]
    fn a_round_of_accelerates_doubles_the_window() {
        let mut cc = abc();
        round(&mut cc, 10, 0);
        assert!((20.0..21.0).contains(&cc.window()), "{}", cc.window());
        assert_eq!(cc.cwnd(), 20.0, "CUBIC in slow start is the smaller one");
    }

    /// Half of each: +5 - 5 and about a segment from the tenths: additive increase by one a round
    /// trip.
    #[test]
    fn as_many_brakes_as_accelerates_leave_the_additive_increase() {
        let mut cc = abc();
        for i in 0..10 {
            let flight_before = 10 * MSS;
            let marked = if i % 2 == 0 { MSS } else { 0 };
            cc.on_ack(&AckSample { marked, flight_before, ..ack_at(1, 120, 20) });
        }
        assert!((cc.window() - 11.0).abs() < 0.1, "{}", cc.window());
    }

    /// Ten brakes: 10 - 10 + the additive part; never below one segment.
    #[test]
    fn a_round_of_brakes_empties_the_window() {
        let mut cc = abc();
        round(&mut cc, 10, 10);
        assert!((FLOOR..4.0).contains(&cc.window()), "{}", cc.window());
        round(&mut cc, 10, 10);
        assert_eq!(cc.window(), FLOOR);
    }

    /// Three in flight: neither window grows beyond six by acknowledgements of what was not used.
    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let mut cc = abc();
        for _ in 0..10 {
            cc.on_ack(&AckSample { flight_before: 3 * MSS, ..ack_at(1, 120, 20) });
        }
        assert_eq!((cc.window(), cc.second.cwnd()), (10.0, 10.0));
        cc.on_congestion(&congestion(10.0));
        assert_eq!((cc.cwnd(), cc.window()), (7.0, 10.0), "a loss is CUBIC's affair");
        cc.on_congestion(&Congestion { signal: Signal::Ecn, ..congestion(7.0) });
        assert_eq!(cc.cwnd(), 7.0);
        cc.on_timeout(&congestion(7.0));
        assert_eq!(cc.cwnd(), 1.0);
    }
}

//! TCP Veno: Vegas' estimate of the queue distinguishes random losses from congestion.

use super::window::{Window, has_window};
use super::{
    AckSample, CaState, Congestion, CongestionControl, Established, Needs, Observer, Parameter, Row,
    TransmitStart,
};
use crate::config::{CcReading, Config};
use lasthop_units::Instant;

/// Segments in the queue above which the path is congested.
const BETA: f64 = 3.0;

pub(super) const PARAMETERS: &[Parameter] = &[Parameter {
    name: "beta",
    default: "3",
    unit: "segments",
    source: "Fu and Liew 2003; Linux beta 3 << 1",
}];
pub(super) const DIFFERS: &str = "As Linux: the smallest round trip is that of the latest ACK, the count of samples runs on. \
     With `cc_reading = linux` idle times end the base round trip. Before three samples Reno. ns-3 (`cc_reading = ns3`, in ns3-3.28): the count of samples is reset at every ACK, not once per \
     round, so that growth is Reno's nearly always and only the cut is Veno's; whole segments. INET has none.";

pub(super) const ROW: Row = Row {
    summary: "Reno that distinguishes random losses by Vegas' estimate",
    source: "C. P. Fu, S. C. Liew, TCP Veno, IEEE JSAC 21(2), 2003; Linux 6.1 tcp_veno.c",
    parameters: PARAMETERS,
    differs: DIFFERS,
    needs: Needs::NOTHING,
};

/// Veno's window and estimate. Times in microseconds.
#[derive(Clone, Debug)]
pub struct Veno {
    w: Window,
    base: f64,
    /// Smallest round trip since the last ACK that could grow.
    min: f64,
    samples: u32,
    /// Segments queued, in halves.
    queued: f64,
    every_other: bool,
    counted: f64,
    /// As ns-3 3.28 has it.
    ns3: bool,
    /// As Linux has it.
    linux: bool,
}

impl Veno {
    /// One segment until the handshake is done.
    pub fn new(config: &Config) -> Veno {
        Veno {
            w: Window::new(config),
            base: f64::INFINITY,
            min: f64::INFINITY,
            samples: 0,
            queued: 0.0,
            every_other: true,
            counted: 0.0,
            ns3: config.readings.cc_reading == CcReading::Ns3,
            linux: config.readings.cc_reading == CcReading::Linux,
        }
    }

    fn estimate(&mut self) {
        // In halves of a segment, as Linux keeps it; ns-3 in whole ones.
        let parts = if self.ns3 { 1.0 } else { 2.0 };
        let target = (parts * self.w.cwnd * self.base / self.min).floor() / parts;
        self.queued = self.w.cwnd - target;
    }

    fn after_cut(&self, window: f64) -> f64 {
        // A loss without a queue is taken for random.
        if self.queued < BETA { window * 4.0 / 5.0 } else { window / 2.0 }
    }

    /// Three samples are there: slow start, then a segment per round, or every other with a queue.
    fn grow(&mut self, ack: &AckSample) {
        let left = if self.w.in_slow_start() { self.w.slow_start(ack) } else { ack.segments() };
        if left > 0.0 && self.queued < BETA {
            self.w.one_per(self.w.cwnd, left);
        } else if left > 0.0 {
            // The available bandwidth is used up: one segment every other round.
            if self.counted >= self.w.cwnd {
                if self.every_other {
                    self.w.add(1.0);
                }
                self.every_other = !self.every_other;
                self.counted = 0.0;
            } else {
                self.counted += left;
            }
        }
    }

    fn pause(&mut self) {
        self.counted = 0.0;
    }

    /// tcp_veno_cwnd_event: after idle times (CA_EVENT_TX_START, CA_EVENT_CWND_RESTART) the path
    /// is measured anew (tcp_veno_init).
    fn forget_path(&mut self) {
        if self.linux {
            (self.base, self.min) = (f64::INFINITY, f64::INFINITY);
            self.every_other = true;
        }
    }
}

impl CongestionControl for Veno {
    has_window!();
    fn on_established(&mut self, e: &Established) {
        self.w.open(e);
    }
    fn on_transmit_start(&mut self, _: &TransmitStart) {
        self.forget_path();
    }
    fn on_idle_restart(&mut self, _: Instant, segments: f64) {
        self.forget_path();
        self.w.set(segments);
    }
    fn on_ack(&mut self, ack: &AckSample) {
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.as_micros().max(1) as f64;
            self.base = self.base.min(rtt);
            self.min = self.min.min(rtt);
            self.samples = self.samples.saturating_add(1);
        }
        if !self.w.may_grow(ack) {
            return;
        }
        if self.ns3 && self.base.is_finite() {
            // "Always", whatever the state; without a sample since the last call all of the window
            // counts as queued.
            self.estimate();
        }
        // Outside of Open it is Reno, and without three samples.
        if self.samples <= 2 || self.min.is_infinite() || !matches!(ack.state, CaState::Open) {
            self.w.reno(ack);
        } else {
            self.estimate();
            self.grow(ack);
        }
        self.min = f64::INFINITY;
        if self.ns3 {
            // TcpVeno::IncreaseWindow resets its count "every RTT", at its end: at each ACK.
            self.samples = 0;
        }
    }
    fn on_congestion(&mut self, c: &Congestion) {
        self.w.cut(self.after_cut(c.flight));
        self.pause();
    }
    fn on_timeout(&mut self, c: &Congestion) {
        self.w.timeout(self.after_cut(c.flight), c.repeated);
        self.pause();
    }
    fn observe(&self, o: &mut Observer<'_>) {
        let seconds = |us: f64| us.is_finite().then_some(us / 1e6);
        o.maybe("veno.base_rtt", "s", "smallest round trip", seconds(self.base));
        o.number("veno.queued", "segments", "N: estimated to wait in the bottleneck's queue", self.queued);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use crate::CcName;
    use crate::cc::Cc;
    use lasthop_units::Duration;

    #[test]
    fn a_loss_without_a_queue_costs_a_fifth_and_with_one_a_half() {
        for (rtt, to) in [(102e3, 80.0), (105e3, 50.0)] {
            let mut v = Veno::new(&linux_like());
            v.set_cwnd(100.0);
            (v.base, v.min) = (100e3, rtt);
            v.estimate();
            // 100 - 98 = 2 (98.04 cut to halves), 100 - 95 = 5.
            v.on_congestion(&congestion(100.0));
            assert_eq!(v.cwnd(), to, "queued {}", v.queued);
        }
    }

    #[test]
    fn ns3s_count_never_reaches_three_so_a_queue_does_not_slow_growth_but_halves_at_a_loss() {
        let config = linux_with(|c| c.readings.cc_reading = CcReading::Ns3);
        let mut p = Path::new(CcName::Veno, config, 100, 40.0);
        p.lose();
        p.cc.set_cwnd(50.0);
        if let Cc::Veno(v) = &mut p.cc {
            v.w.ssthresh = 2.0;
            v.base = 100e3;
        }
        // As in the test below, but a segment each round: 50 + 8.
        assert_eq!(p.rounds(8)[7], 58.0);
        // 58 in flight on a path of 40: 145 ms; 58 - floor(58 * 100 / 145) = 18 >= 3.
        p.lose();
        assert_eq!(p.cc.cwnd(), 29.0);
        // 30 in flight queue nothing: four fifths.
        p.cc.set_cwnd(30.0);
        p.round();
        p.lose();
        assert_eq!(p.cc.cwnd(), 24.0, "four fifths of 31 is 24.8");
    }

    /// tcp_veno_cwnd_event: basertt = minrtt = 0x7fffffff, inc = 1; cntrtt runs on.
    #[test]
    fn idle_time_makes_linux_measure_the_base_anew() {
        let start = TransmitStart { now: Instant::ZERO, idle: Duration::from_secs(1), app_limited: true };
        for (reading, restart, base) in [
            (CcReading::Linux, false, 150e3),
            (CcReading::Linux, true, 150e3),
            (CcReading::Paper, false, 100e3),
            (CcReading::Ns3, true, 100e3),
        ] {
            let mut v = Veno::new(&linux_with(|c| c.readings.cc_reading = reading));
            v.set_cwnd(50.0);
            (v.base, v.samples, v.every_other) = (100e3, 3, false);
            if restart {
                v.on_idle_restart(Instant::ZERO, 50.0);
            } else {
                v.on_transmit_start(&start);
            }
            assert_eq!((v.samples, v.every_other), (3, reading == CcReading::Linux));
            v.on_ack(&AckSample { cwnd_limited: false, ..ack_at(1, 0, 150) });
            assert_eq!(v.base, base, "{reading:?}");
        }
    }

    #[test]
    fn with_a_queue_it_grows_every_other_round() {
        let mut p = Path::new(CcName::Veno, linux_like(), 100, 40.0);
        p.lose();
        p.cc.set_cwnd(50.0);
        if let Cc::Veno(v) = &mut p.cc {
            v.w.ssthresh = 2.0;
            v.base = 100e3;
        }
        // The path holds 40: ten are queued.
        let w = p.rounds(8);
        assert!((53.0..=55.0).contains(&w[7]), "{w:?}");
    }
}

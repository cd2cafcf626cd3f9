//! Scalable TCP: a fixed number of ACKs per segment of growth, a cut by an eighth.

use super::window::{Window, has_window};
use super::{AckSample, Congestion, CongestionControl, Established, Needs, Observer, Parameter, Row};
use crate::config::{CcReading, Config};

/// Segments delivered per segment of growth, at most.
const PER_SEGMENT: f64 = 100.0;
/// ns-3's, and Linux' before 5.1.
const PER_SEGMENT_NS3: f64 = 50.0;

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "a",
        default: "1/100",
        unit: "segments per segment delivered",
        source: "Kelly 2003, as Linux 6.1 (tcp_scalable.c, TCP_SCALABLE_AI_CNT)",
    },
    Parameter { name: "b", default: "1/8", unit: "of cwnd", source: "Kelly 2003; TCP_SCALABLE_MD_SCALE 3" },
];
pub(super) const DIFFERS: &str = "Linux 6.1 and this: below 100 segments like Reno; Linux before 5.1 and ns-3 \
     (`cc_reading = ns3`, in ns3-3.28) take 50, and ns-3 cuts to 7/8 rounded down. INET has none.";

pub(super) const ROW: Row = Row {
    summary: "a fixed number of ACKs per segment of growth",
    source: "T. Kelly, Scalable TCP, ACM SIGCOMM CCR 33(2), 2003; Linux 6.1 tcp_scalable.c",
    parameters: PARAMETERS,
    differs: DIFFERS,
    needs: Needs::NOTHING,
};

/// Scalable's window.
#[derive(Clone, Debug)]
pub struct Scalable {
    w: Window,
    ns3: bool,
}

impl Scalable {
    /// One segment until the handshake is done.
    pub fn new(config: &Config) -> Scalable {
        Scalable { w: Window::new(config), ns3: config.readings.cc_reading == CcReading::Ns3 }
    }

    fn per_segment(&self) -> f64 {
        self.w.cwnd.min(if self.ns3 { PER_SEGMENT_NS3 } else { PER_SEGMENT })
    }

    fn after_cut(&self, window: f64) -> f64 {
        if self.ns3 { (window * 0.875).floor() } else { window - (window / 8.0).floor() }
    }
}

impl CongestionControl for Scalable {
    has_window!();
    fn on_established(&mut self, e: &Established) {
        self.w.open(e);
    }
    fn on_ack(&mut self, ack: &AckSample) {
        if !self.w.may_grow(ack) {
            return;
        }
        let left = if self.w.in_slow_start() { self.w.slow_start(ack) } else { ack.segments() };
        if left > 0.0 {
            self.w.one_per(self.per_segment(), left);
        }
    }
    fn on_congestion(&mut self, c: &Congestion) {
        self.w.cut(self.after_cut(c.flight));
    }
    fn on_timeout(&mut self, c: &Congestion) {
        self.w.timeout(self.after_cut(c.flight), c.repeated);
    }
    fn observe(&self, o: &mut Observer<'_>) {
        o.number(
            "scalable.per",
            "segments",
            "delivered per segment of growth, in avoidance",
            self.per_segment(),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn beyond_a_hundred_segments_growth_per_round_is_one_percent() {
        let mut s = Scalable::new(&linux_like());
        s.w.ssthresh = 2.0;
        s.set_cwnd(1000.0);
        (0..100).for_each(|_| s.on_ack(&ack(10)));
        // 1000 delivered / 100 = 10 segments.
        assert_eq!(s.cwnd(), 1010.0);
        s.set_cwnd(20.0);
        (0..20).for_each(|_| s.on_ack(&ack(1)));
        assert_eq!(s.cwnd(), 21.0, "below 100: one per window");
    }

    #[test]
    fn ns3_takes_fifty_and_rounds_the_cut_down() {
        let mut s = Scalable::new(&linux_with(|c| c.readings.cc_reading = CcReading::Ns3));
        s.w.ssthresh = 2.0;
        s.set_cwnd(1000.0);
        (0..100).for_each(|_| s.on_ack(&ack(10)));
        // 1000 delivered / 50 = 20 segments.
        assert_eq!(s.cwnd(), 1020.0);
        s.on_congestion(&congestion(7.0));
        assert_eq!(s.ssthresh(), 6.0, "floor(6.125)");
    }

    #[test]
    fn the_cut_takes_an_eighth_in_whole_segments() {
        let mut s = Scalable::new(&linux_like());
        s.on_congestion(&congestion(100.0));
        assert_eq!(s.ssthresh(), 88.0, "100 - floor(12.5)");
        s.on_timeout(&congestion(7.0));
        assert_eq!((s.ssthresh(), s.cwnd()), (7.0, 1.0), "7 - floor(0.875)");
    }
}

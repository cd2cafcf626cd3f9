//! A scalable control for packets with ECT(1): each mark takes half a segment.
//!
//! demonstrates in particular: a control that [`Definition::l4s`] names as one for L4S (RFC 9331), so
//! that the suite `l4s` judges it.

use lasthop_sim::tcp::cc::{
    AckSample, Congestion, CongestionControl, Definition, Established, Signal, Window,
};

/// Reno's growth; half a segment less for each segment that met a mark.
#[derive(Clone, Debug)]
pub struct Halves(Window);

impl CongestionControl for Halves {
    fn cwnd(&self) -> f64 {
        self.0.cwnd
    }
    fn ssthresh(&self) -> f64 {
        self.0.ssthresh
    }
    fn on_established(&mut self, e: &Established) {
        self.0.open(e);
    }
    fn on_ack(&mut self, ack: &AckSample) {
        if ack.marked > 0 {
            let marked = ack.marked as f64 / f64::from(ack.mss);
            let window = (self.0.cwnd - marked / 2.0).max(2.0);
            self.0.cut(window);
        } else if self.0.may_grow(ack) {
            self.0.reno(ack);
        }
    }
    fn on_congestion(&mut self, c: &Congestion) {
        if c.signal == Signal::Loss {
            self.0.cut(0.5 * c.flight);
        }
    }
    fn on_timeout(&mut self, c: &Congestion) {
        self.0.timeout(0.5 * c.flight, c.repeated);
    }
    fn set_cwnd(&mut self, segments: f64) {
        self.0.set(segments);
    }
}

/// What a scenario calls `halves`.
pub fn halves() -> Definition {
    Definition::new("halves", |setup| Ok(Box::new(Halves(Window::new(setup.config)))))
        .summary("half a segment less for each mark")
        .source("RFC 9331 section 4.3 (a scalable response)")
        .l4s()
        .version(env!("CARGO_PKG_VERSION"))
}

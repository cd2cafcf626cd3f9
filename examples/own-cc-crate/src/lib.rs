//! Additive increase, multiplicative decrease, with the factor of the decrease as a parameter.
//!
//! demonstrates in particular:
//!
//! - an algorithm that implements [`CongestionControl`] with the parts that the built-in ones use
//!   ([`Window`]);
//! - its [`Definition`]: name, documentation, parameter with default, version, constructor;
//! - a test of its arithmetic without any network.

pub mod l4s;
pub mod rate;
pub mod scheduler;

use lasthop_sim::tcp::cc::{
    AckSample, Congestion, CongestionControl, Definition, Established, Observer, Window,
};

/// One segment more per round trip; the share `beta` of what is in flight stays at a loss.
#[derive(Clone, Debug)]
pub struct Aimd {
    window: Window,
    beta: f64,
}

impl CongestionControl for Aimd {
    fn cwnd(&self) -> f64 {
        self.window.cwnd
    }
    fn ssthresh(&self) -> f64 {
        self.window.ssthresh
    }
    fn on_established(&mut self, e: &Established) {
        self.window.open(e);
    }
    fn on_ack(&mut self, ack: &AckSample) {
        // Not in fast recovery, and not while the application is what limits the sender.
        if self.window.may_grow(ack) {
            self.window.reno(ack);
        }
    }
    fn on_congestion(&mut self, c: &Congestion) {
        self.window.cut(self.beta * c.flight);
    }
    fn on_timeout(&mut self, c: &Congestion) {
        self.window.timeout(self.beta * c.flight, c.repeated);
    }
    fn set_cwnd(&mut self, segments: f64) {
        self.window.set(segments);
    }
    fn on_undo(&mut self, cwnd: f64, ssthresh: f64) {
        self.window.undo(cwnd, ssthresh);
    }
    /// What a run records in the table `cc`, and what a case of `lasthop judge` may ask for.
    fn observe(&self, o: &mut Observer<'_>) {
        o.number("aimd.beta", "", "what is left of the flight at a loss", self.beta);
    }
}

/// What a scenario calls `aimd`.
pub fn aimd() -> Definition {
    Definition::new("aimd", |setup| {
        let beta = setup.parameter("beta");
        if !(0.1..1.0).contains(&beta) {
            return Err(format!("aimd: beta = {beta} is outside 0.1 to 1").into());
        }
        Ok(Box::new(Aimd { window: Window::new(setup.config), beta }))
    })
    .summary("additive increase, multiplicative decrease by a factor of choice")
    .source("R. Jain, D.-M. Chiu, Computer Networks and ISDN Systems 17, 1989")
    .parameter("beta", 0.7, "share of the window", "RFC 9438 section 4.6")
    .version(env!("CARGO_PKG_VERSION"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_sim::tcp::{Options, Profile};

    #[test]
    fn a_loss_leaves_seven_tenths_of_the_flight() {
        let config = Options { profile: Profile::Linux6, ..Options::default() }.resolve().unwrap();
        let mut cc = Aimd { window: Window::new(&config), beta: 0.7 };
        cc.set_cwnd(50.0);
        cc.on_congestion(&Congestion { flight: 50.0, ..Congestion::default() });
        assert_eq!((cc.cwnd(), cc.ssthresh()), (35.0, 35.0));
    }
}

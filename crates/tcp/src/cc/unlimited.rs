//! No congestion control: all data is sent within the peer's window. It is for a sender in the same
//! node as the queue of the only bottleneck, such as a cache in the eNB whose scheduler pulls as
//! much as it can send (close coupling), and for the ends of links without loss. The retransmission
//! timer and loss recovery stay.

use super::{AckSample, Congestion, CongestionControl, Established, Needs, Parameter, Row};
use crate::config::Config;

pub(super) const PARAMETERS: &[Parameter] = &[Parameter {
    name: "max_window",
    default: "unlimited",
    unit: "segments",
    source: "the peer's window is the limit",
}];

pub(super) const DIFFERS: &str = "Linux, ns-3 and INET do not offer it. On a shared path it harms all flows.";

pub(super) const ROW: Row = Row {
    summary: "no congestion control: the peer's window is the limit",
    source: "for a sender beside the only queue (TR 36.933: close coupling in the eNB)",
    parameters: PARAMETERS,
    differs: DIFFERS,
    needs: Needs::NOTHING,
};

/// The window without a limit [segments]: more than any peer offers (RFC 7323: below 2^30 octets).
const ENDLESS: f64 = 1e8;

/// A window that never moves.
#[derive(Clone, Debug)]
pub struct Unlimited {
    window: f64,
}

impl Unlimited {
    /// The ceiling of `config`, if it has one.
    pub fn new(config: &Config) -> Unlimited {
        Unlimited { window: config.window_ceiling().clamp(1.0, ENDLESS) }
    }
}

impl CongestionControl for Unlimited {
    fn cwnd(&self) -> f64 {
        self.window
    }
    fn ssthresh(&self) -> f64 {
        self.window
    }
    fn on_established(&mut self, _: &Established) {}
    fn on_ack(&mut self, _: &AckSample) {}
    fn on_congestion(&mut self, _: &Congestion) {}
    fn on_timeout(&mut self, _: &Congestion) {}
    fn set_cwnd(&mut self, _: f64) {}
    fn rules_recovery(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn nothing_moves_it() {
        let mut cc = Unlimited::new(&rfc());
        cc.on_congestion(&congestion(10.0));
        cc.on_timeout(&congestion(10.0));
        cc.set_cwnd(1.0);
        assert_eq!(cc.cwnd(), ENDLESS);
        let limited = linux_with(|c| c.window.max_window = Some(40));
        assert_eq!(Unlimited::new(&limited).cwnd(), 40.0);
    }
}

//! Additive increase, multiplicative decrease: RFC 5681 section 3.1, with octets or ACKs counted.

use super::{AckSample, Congestion, CongestionControl, Established, Needs, Observer, Parameter, Row, Signal};
use crate::config::{Config, Growth};
use crate::mutant::Mutant;

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "growth",
        default: "bytes",
        unit: "",
        source: "RFC 5681 section 3.1; ns2 profile: acks",
    },
    Parameter { name: "abc_limit", default: "1", unit: "segments", source: "RFC 5681 equation 2" },
    Parameter { name: "decrease", default: "1/2", unit: "of FlightSize", source: "RFC 5681 equation 4" },
];

pub(super) const DIFFERS: &str = "Linux counts what an ACK delivers, without the limit of one segment in slow start, and halves \
     cwnd, not FlightSize (`abc_limit`, `ssthresh_basis`). ns-3 adds a segment per ACK in slow start and MSS^2 / cwnd \
     after; INET halves the window (`growth = acks`).";

pub(super) const ROW: Row = Row {
    summary: "additive increase, multiplicative decrease",
    source: "RFC 5681; V. Jacobson, Congestion avoidance and control, SIGCOMM 1988",
    parameters: PARAMETERS,
    differs: DIFFERS,
    needs: Needs { abe: true, ..Needs::NOTHING },
};

/// The window of RFC 5681.
#[derive(Clone, Debug)]
pub struct Reno {
    cwnd: f64,
    ssthresh: f64,
    ceiling: f64,
    growth: Growth,
    abc_limit: f64,
    validate: bool,
    /// ssthresh is cut to whole segments (ns-2).
    whole: bool,
    /// A deliberate mistake: ssthresh is set to zero.
    zero: bool,
    /// Segments acknowledged towards the next increase in congestion avoidance.
    counted: f64,
    /// With ABE: the factor of the window after a mark.
    abe: Option<f64>,
}

impl Reno {
    /// One segment until the handshake is done.
    pub fn new(config: &Config) -> Reno {
        Reno {
            cwnd: 1.0,
            ssthresh: config.initial_ssthresh(),
            ceiling: config.window_ceiling(),
            growth: config.growth.growth,
            abc_limit: config.abc_limit_segments(),
            validate: config.growth.window_validation,
            whole: config.window.whole_segments,
            zero: config.mistakes.mutant == Some(Mutant::SsthreshZero),
            counted: 0.0,
            abe: config.ecn.abe.then_some(config.ecn.abe_beta.reno),
        }
    }

    fn halve(&mut self, flight: f64) {
        // RFC 5681 equation 4: ssthresh = max (FlightSize / 2, 2*SMSS). ns-2: (int)(window / 2), at
        // least 2.
        let half = flight / 2.0;
        self.ssthresh = if self.whole { half.floor() } else { half }.max(2.0);
        self.counted = 0.0;
        if self.zero {
            self.ssthresh = 0.0;
        }
    }

    fn grow_by_bytes(&mut self, ack: &AckSample) {
        let acked = ack.acked as f64 / f64::from(ack.mss);
        if self.cwnd < self.ssthresh {
            // RFC 5681 equation 2: cwnd += min (N, SMSS); RFC 3465 section 2.3: L = 1 after a
            // timeout.
            let limit = if ack.after_timeout() && self.abc_limit.is_finite() { 1.0 } else { self.abc_limit };
            self.cwnd += acked.min(limit);
        } else {
            // RFC 5681 section 3.1: one segment more when a window's worth of octets has been
            // acknowledged.
            self.counted += acked;
            if self.counted >= self.cwnd {
                self.counted -= self.cwnd;
                self.cwnd += 1.0;
            }
        }
    }
}

impl CongestionControl for Reno {
    #[inline]
    fn cwnd(&self) -> f64 {
        self.cwnd
    }
    #[inline]
    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }
    fn on_established(&mut self, e: &Established) {
        self.set_cwnd(e.initial_window);
    }
    #[inline]
    fn on_ack(&mut self, ack: &AckSample) {
        if !ack.may_grow || (self.validate && !ack.cwnd_limited) {
            return;
        }
        match self.growth {
            Growth::Bytes => self.grow_by_bytes(ack),
            Growth::Acks if self.cwnd < self.ssthresh => self.cwnd += 1.0,
            Growth::Acks => self.cwnd += 1.0 / self.cwnd,
        }
        // ns-2 lets cwnd run above its window and takes the smaller of both wherever it counts;
        // clamping gives the same segments, and a reported window that is the one in use.
        self.cwnd = self.cwnd.min(self.ceiling);
    }
    fn on_congestion(&mut self, c: &Congestion) {
        if let Some(beta) = self.abe.filter(|_| c.signal == Signal::Ecn) {
            // RFC 8511 section 3.1: ssthresh = FlightSize * beta_ecn.
            self.ssthresh = (c.flight * beta).max(2.0);
            self.counted = 0.0;
            self.cwnd = self.ssthresh;
            return;
        }
        self.halve(c.flight);
        // ns-2 keeps half a segment in cwnd, not in ssthresh.
        self.cwnd = if self.whole { (c.flight / 2.0).max(1.0) } else { self.ssthresh };
    }
    fn on_timeout(&mut self, c: &Congestion) {
        // RFC 5681 section 3.1: a segment that is lost again holds ssthresh; ns-2 halves it each
        // time.
        if !c.repeated || self.whole {
            self.halve(c.flight);
        }
        self.cwnd = 1.0;
    }
    fn on_undo(&mut self, cwnd: f64, ssthresh: f64) {
        self.cwnd = self.cwnd.max(cwnd).min(self.ceiling.max(1.0));
        self.ssthresh = self.ssthresh.max(ssthresh);
    }
    fn set_cwnd(&mut self, segments: f64) {
        self.cwnd = segments.clamp(1.0, self.ceiling.max(1.0));
        self.counted = 0.0;
    }
    fn set_ssthresh(&mut self, segments: f64) {
        self.ssthresh = segments;
    }
    fn observe(&self, o: &mut Observer<'_>) {
        o.number(
            "reno.counted",
            "segments",
            "acknowledged towards the next increase in congestion avoidance",
            self.counted,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, Profile};

    fn reno(profile: Profile) -> Reno {
        Reno::new(&Options { profile, ..Options::default() }.resolve().unwrap())
    }
    fn ack(segments: u64) -> AckSample {
        AckSample {
            acked: segments * 1000,
            delivered: segments * 1000,
            mss: 1000,
            cwnd_limited: true,
            may_grow: true,
            ..AckSample::default()
        }
    }

    #[test]
    fn slow_start_adds_at_most_one_segment_per_ack_and_avoidance_one_per_window() {
        let mut r = reno(Profile::Rfc);
        r.set_cwnd(10.0);
        r.on_ack(&ack(2));
        assert_eq!(r.cwnd(), 11.0, "RFC 5681 equation 2: min(2, 1)");
        r.ssthresh = 11.0;
        (0..5).for_each(|_| r.on_ack(&ack(2)));
        assert_eq!(r.cwnd(), 11.0, "10 of 11 segments acknowledged");
        r.on_ack(&ack(2));
        assert_eq!((r.cwnd(), r.counted), (12.0, 1.0));
    }

    #[test]
    fn ns2_counts_acks_and_halves_the_window_into_whole_packets() {
        let mut r = reno(Profile::Ns2);
        r.set_cwnd(7.0);
        r.ssthresh = 7.0;
        r.on_ack(&ack(1));
        assert_eq!(r.cwnd(), 7.0 + 1.0 / 7.0);
        let c = Congestion { flight: 7.0, ..Congestion::default() };
        r.on_congestion(&c);
        assert_eq!((r.ssthresh(), r.cwnd()), (3.0, 3.5));
        r.on_timeout(&Congestion { flight: 3.0, ..c });
        assert_eq!((r.ssthresh(), r.cwnd()), (2.0, 1.0));
        r.set_cwnd(64.0);
        r.on_ack(&ack(1));
        assert_eq!(r.cwnd(), 64.0, "the ceiling");
    }
}

//! BIC: binary search for the window at which the last loss occurred.
//!
//! Compared by reading with Linux 6.1 tcp_bic.c: the kernel counts segments delivered and divides
//! by a running mean of segments per ACK as well, which dates from the time when it counted ACKs.
//! So above the low window it moves about twice as fast as the search requires. The mean follows
//! `SND.UNA` in the Open state, starts at 2, and cannot fall below 31/16 again.

use lasthop_units::{Duration, Instant};

use super::window::{Window, has_window};
use super::{
    AckSample, CaState, Congestion, CongestionControl, Established, Needs, Observer, Parameter, Row,
};
use crate::config::Config;

/// Below this window BIC is Reno.
const LOW_WINDOW: f64 = 14.0;
/// Smax: the largest step per round.
const MAX_INCREMENT: f64 = 16.0;
/// What is left after a cut.
const BETA: f64 = 819.0 / 1024.0;
/// B: the search moves a quarter of the distance per round.
const SEARCH: f64 = 4.0;
/// Rounds for the last quarter of a segment's worth of search.
const SMOOTH: f64 = 20.0;
/// Two segments per ACK, in sixteenths.
const PER_ACK: u32 = 32;

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter { name: "low_window", default: "14", unit: "segments", source: "Xu 2004; Linux tcp_bic.c" },
    Parameter { name: "Smax", default: "16", unit: "segments per round", source: "Linux max_increment" },
    Parameter { name: "beta", default: "819/1024", unit: "of cwnd is left", source: "Linux beta" },
    Parameter { name: "B", default: "4", unit: "", source: "Linux BICTCP_B" },
    Parameter { name: "smooth_part", default: "20", unit: "", source: "Linux smooth_part; ns-3 5" },
    Parameter { name: "fast_convergence", default: "on", unit: "", source: "Linux fast_convergence 1" },
];
pub(super) const DIFFERS: &str = "As Linux 6.1: segments delivered, and a divisor that is divided by the mean of segments per ACK once more, so that \
     the window moves about twice as fast as the paper says. ns-3: per ACK, smooth part 5. INET has none.";

pub(super) const ROW: Row = Row {
    summary: "binary search for the window of the last loss",
    source: "L. Xu, K. Harfoush, I. Rhee, INFOCOM 2004; Linux 6.1 tcp_bic.c",
    parameters: PARAMETERS,
    differs: DIFFERS,
    needs: Needs::NOTHING,
};

/// BIC's window and its search.
#[derive(Clone, Debug)]
pub struct Bic {
    w: Window,
    last_max: f64,
    /// Segments delivered per segment of growth.
    per: f64,
    /// Sixteenths of segments per ACK.
    per_ack: u32,
    updated: Option<(Instant, f64)>,
}

impl Bic {
    /// One segment until the handshake is done.
    pub fn new(config: &Config) -> Bic {
        Bic { w: Window::new(config), last_max: 0.0, per: f64::INFINITY, per_ack: PER_ACK, updated: None }
    }

    fn after_cut(&mut self, window: f64) -> f64 {
        self.updated = None;
        // Fast convergence: a loss below the last maximum means that another flow has joined.
        self.last_max = if window < self.last_max { (window * (1.0 + BETA) / 2.0).floor() } else { window };
        if window <= LOW_WINDOW { window / 2.0 } else { window * BETA }
    }

    fn update(&mut self, now: Instant) {
        // Linux: the divisor is computed anew when the window has moved, or every 1/32 s.
        let fresh =
            |(at, cwnd): (Instant, f64)| cwnd == self.w.cwnd && now.since(at) <= Duration::from_millis(31);
        if self.updated.is_some_and(fresh) {
            return;
        }
        self.updated = Some((now, self.w.cwnd));
        let per = growth_divisor(self.w.cwnd, self.last_max).floor();
        self.per =
            if self.w.cwnd <= LOW_WINDOW { per } else { (per * 16.0 / f64::from(self.per_ack)).floor() };
        self.per = self.per.max(1.0);
    }
}

/// Segments delivered per segment of growth.
fn growth_divisor(cwnd: f64, last_max: f64) -> f64 {
    if cwnd <= LOW_WINDOW {
        return cwnd;
    }
    let per = if cwnd < last_max {
        let step = ((last_max - cwnd) / SEARCH).floor();
        if step > MAX_INCREMENT {
            cwnd / MAX_INCREMENT
        } else if step <= 1.0 {
            cwnd * SMOOTH / SEARCH
        } else {
            cwnd / step
        }
    } else if cwnd < last_max + SEARCH {
        cwnd * SMOOTH / SEARCH
    } else if cwnd < last_max + MAX_INCREMENT * (SEARCH - 1.0) {
        cwnd * (SEARCH - 1.0) / (cwnd - last_max)
    } else {
        cwnd / MAX_INCREMENT
    };
    // Before the first loss at least 5 % per round.
    if last_max == 0.0 { per.min(20.0) } else { per }
}

impl CongestionControl for Bic {
    has_window!();
    fn on_established(&mut self, e: &Established) {
        self.w.open(e);
    }
    fn on_ack(&mut self, ack: &AckSample) {
        if ack.before == CaState::Open {
            self.per_ack = self.per_ack - (self.per_ack >> 4) + ack.segments_passed();
        }
        if !self.w.may_grow(ack) {
            return;
        }
        let left = if self.w.in_slow_start() { self.w.slow_start(ack) } else { ack.segments() };
        if left > 0.0 {
            self.update(ack.now);
            self.w.one_per(self.per, left);
        }
    }
    fn on_congestion(&mut self, c: &Congestion) {
        let to = self.after_cut(c.flight);
        self.w.cut(to);
    }
    fn on_timeout(&mut self, c: &Congestion) {
        let to = self.after_cut(c.flight);
        self.w.timeout(to, c.repeated);
        // The search starts anew.
        self.last_max = 0.0;
        self.per_ack = PER_ACK;
    }
    fn observe(&self, o: &mut Observer<'_>) {
        o.number(
            "bic.last_max",
            "segments",
            "the window of the last loss, the end of the binary search",
            self.last_max,
        );
        o.number("bic.per", "segments", "delivered per segment of growth", self.per);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn each_part_of_the_search_has_its_step_per_round() {
        // Step per round = cwnd / divisor.
        let step = |cwnd: f64, max: f64| cwnd / growth_divisor(cwnd, max);
        assert_eq!(step(10.0, 100.0), 1.0, "up to 14: Reno");
        assert_eq!(step(20.0, 100.0), 16.0, "distance 80 / 4 = 20: no more than Smax");
        assert_eq!(step(60.0, 100.0), 10.0, "40 / 4");
        assert_eq!(step(96.0, 100.0), 4.0 / 20.0, "4 / 4 = 1: smooth part, 4/20 of a segment");
        assert_eq!(step(103.0, 100.0), 4.0 / 20.0, "just above the maximum");
        assert_eq!(step(130.0, 100.0), 10.0, "max probing: 30 / 3");
        assert_eq!(step(148.0, 100.0), 16.0, "48 = Smax * (B - 1) beyond: full steps");
        assert_eq!(step(400.0, 0.0), 20.0, "5 % of 400 is more than 16");
    }

    #[test]
    fn the_mean_of_segments_per_ack_divides_the_divisor_once_more() {
        let mut b = Bic::new(&linux_like());
        b.w.ssthresh = 2.0;
        b.set_cwnd(60.0);
        b.last_max = 100.0;
        // 60 / 10 = 6 segments per segment of growth; two per ACK make it three.
        b.on_ack(&AckSample { passed: 2 * MSS, ..ack(2) });
        assert_eq!((b.per_ack, b.per), (32, 3.0));
        // One per ACK: 32 - 2 + 1 = 31 sixteenths, and there it stays, because 31 - 31/16 + 1 = 31:
        // 6 * 16 / 31 = 3.1.
        for n in 1..100 {
            b.w.set(60.0);
            b.on_ack(&AckSample { passed: MSS, now: Instant::from_millis(100 * n), ..ack(1) });
        }
        assert_eq!((b.per_ack, b.per), (31, 3.0));
    }

    #[test]
    fn the_cut_leaves_four_fifths_and_fast_convergence_lowers_the_target() {
        let mut b = Bic::new(&linux_like());
        b.on_congestion(&congestion(100.0));
        assert_eq!((b.cwnd(), b.last_max), (79.0, 100.0), "100 * 819/1024 = 79.98");
        b.on_congestion(&congestion(90.0));
        // 90 * (1024 + 819) / 2048 = 80.99.
        assert_eq!((b.cwnd(), b.last_max), (71.0, 80.0));
        b.on_congestion(&congestion(14.0));
        assert_eq!(b.cwnd(), 7.0, "low window: half");
    }
}

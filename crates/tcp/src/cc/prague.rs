//! A control for L4S in the manner of TCP Prague (draft-briscoe-iccrg-prague-congestion-control;
//! requirements of RFC 9331 section 4): DCTCP's response to the share of marks, with growth that
//! does not depend on short round trips, and Reno's response to losses. It sends ECT(1), requests
//! accurate feedback and paces.
//!
//! The draft itself was not available. Compared line by line with two programs of its authors:
//! Linux' tcp_prague.c (L4STeam/linux at 02573a215581, version 0.6) and prague_cc.cpp
//! (L4STeam/udp_prague at 05a5c1846991). In both programs the window has a fraction of a segment.
//! Each octet that is delivered without a mark makes it grow, also while the reduction of a mark is
//! in force. A mark reduces it at most once in a real and in a virtual round trip, and the estimate
//! is updated once in both. As in Linux and not in udp_prague: the virtual round trip applies from
//! round 500 after slow start on, alpha stays at 1 until the first mark, and the window in whole
//! segments follows the one with a fraction by one segment an ACK. Differences from Linux: a mark
//! ends slow start; losses are recovered from by PRR and a timeout halves ssthresh, as with other
//! controls here.

use lasthop_units::{Bitrate, Duration, Instant};

use super::marks::MarkedShare;
use super::window::{Window, shows_window};
use super::{
    AckSample, CaState, Congestion, CongestionControl, Established, Needs, Observer, Parameter, Row, Signal,
};
use crate::config::{Config, EcnMode};
use crate::mutant::Mutant;

/// A flow with a shorter round trip grows, counts marks and reduces its window as if it had this
/// one (prague_rtt_target).
const VIRTUAL_RTT: Duration = Duration::from_millis(25);
/// Rounds after slow start from which on it does (prague_rtt_transition).
const TRANSITION: u32 = 500;
/// MIN_CWND: the least window that marks leave.
const LEAST: f64 = 2.0;

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter { name: "g", default: "1/16", unit: "", source: "tcp_prague.c: PRAGUE_SHIFT_G" },
    Parameter {
        name: "RTT_virt",
        default: "at least 25 ms",
        unit: "",
        source: "tcp_prague.c: prague_rtt_target",
    },
    Parameter {
        name: "rounds before RTT_virt",
        default: "500",
        unit: "",
        source: "tcp_prague.c: prague_rtt_transition",
    },
    Parameter { name: "alpha at the first mark", default: "1", unit: "", source: "tcp_prague.c: saw_ce" },
];
pub(super) const DIFFERS: &str = "Linux' tcp_prague lives outside the main tree; it can fall back to a classic control when it \
     suspects a classic queue (off by default), which is not done here. ns-3 has it as an addition, INET has \
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
    /// The window in whole segments, which limits the data in flight.
    w: Window,
    /// The window with its fraction, which `w` follows.
    exact: f64,
    share: MarkedShare,
    /// A mark has arrived: an AQM is on the path.
    saw_mark: bool,
    /// The ACK beyond this ends the round, and when the last one ended.
    round_ends: u64,
    round_at: Instant,
    /// Rounds since slow start.
    rounds: u32,
    reduced_at: Option<Instant>,
    /// A loss is being recovered from: the window is recovery's.
    in_loss: bool,
    rtt: Duration,
    /// RTT_virt, 25 ms except for the deliberate mistake.
    virtual_rtt: Duration,
    /// The deliberate mistake: a mark reduces the window as if alpha were 1.
    halves: bool,
    mss: f64,
    paces: bool,
}

impl Prague {
    /// One segment until the handshake is done.
    pub fn new(config: &Config) -> Prague {
        let has = |mistake| config.mistakes.mutant == Some(mistake);
        Prague {
            w: Window::new(config),
            exact: 1.0,
            share: MarkedShare::new(),
            saw_mark: false,
            round_ends: 0,
            round_at: Instant::ZERO,
            rounds: 0,
            reduced_at: None,
            in_loss: false,
            rtt: Duration::ZERO,
            virtual_rtt: if has(Mutant::NoVirtualRtt) { Duration::ZERO } else { VIRTUAL_RTT },
            halves: has(Mutant::HalvesPerMark),
            mss: 1.0,
            paces: config.growth.pacing,
        }
    }
    /// The estimate of the share of marks.
    pub fn alpha(&self) -> f64 {
        self.share.alpha
    }

    /// The virtual round trip rules (prague_is_rtt_indep).
    fn is_virtual(&self) -> bool {
        !self.w.in_slow_start() && self.rounds >= TRANSITION
    }

    /// Additive increase: a segment a round trip, for short round trips (RTT / RTT_virt)^2 of one;
    /// marked segments do not count.
    fn grow(&mut self, unmarked: f64) {
        let virt = self.virtual_rtt.as_secs_f64();
        let scale = if self.is_virtual() && self.rtt < self.virtual_rtt && !self.rtt.is_zero() {
            self.rtt.as_secs_f64() / virt
        } else {
            1.0
        };
        self.exact += scale * scale * unmarked / self.whole();
    }

    /// The exact window in whole segments, rounded up.
    fn whole(&self) -> f64 {
        (self.exact - 1e-9).ceil().max(1.0)
    }

    /// The whole window follows the exact one by a segment an ACK.
    fn follow(&mut self) {
        let target = self.whole();
        if self.w.cwnd > target && self.w.cwnd > LEAST {
            self.w.add(-1.0);
            self.w.ssthresh = self.w.ssthresh.min(self.w.cwnd);
        } else if self.w.cwnd < target {
            self.w.add(1.0);
        }
    }

    /// The estimate moves once in a real and, where it rules, in a virtual round trip.
    fn count_round(&mut self, ack: &AckSample) {
        self.share.count(ack);
        self.saw_mark |= ack.marked > 0;
        let early = self.is_virtual() && ack.now.since(self.round_at) < self.virtual_rtt;
        if ack.una <= self.round_ends || early {
            return;
        }
        if self.saw_mark {
            self.share.settle();
        } else {
            self.share.clear();
        }
        (self.round_ends, self.round_at) = (ack.nxt, ack.now);
        if !self.w.in_slow_start() {
            self.rounds = self.rounds.saturating_add(1);
        }
    }

    fn both(&mut self, segments: f64) {
        self.w.set(segments);
        self.exact = self.w.cwnd;
    }
}

impl CongestionControl for Prague {
    shows_window!();
    fn set_cwnd(&mut self, segments: f64) {
        // A reduction begins from the current window: that is no change.
        if segments != self.w.cwnd {
            self.both(segments);
        }
    }
    fn on_established(&mut self, e: &Established) {
        self.w.open(e);
        self.exact = self.w.cwnd;
        self.round_ends = e.nxt;
        self.mss = f64::from(e.mss.max(1));
    }
    fn on_ack(&mut self, ack: &AckSample) {
        self.rtt = ack.srtt.unwrap_or(self.rtt);
        self.mss = f64::from(ack.mss.max(1));
        self.in_loss &= ack.state == CaState::Recovery;
        // Growth while a mark's reduction lasts: what the endpoint withholds from other controls.
        let may_grow = ack.may_grow || ack.state == CaState::Cwr;
        let unmarked = ack.delivered.saturating_sub(ack.marked) as f64 / self.mss;
        if may_grow && !self.in_loss && unmarked > 0.0 && self.w.may_grow(&AckSample { may_grow, ..*ack }) {
            let left = if self.w.in_slow_start() {
                let left = self.w.slow_start(ack);
                self.exact = self.w.cwnd;
                left.min(unmarked)
            } else {
                unmarked
            };
            self.grow(left);
        }
        if !self.in_loss {
            self.follow();
        }
        self.count_round(ack);
    }
    fn on_congestion(&mut self, c: &Congestion) {
        if c.signal == Signal::Loss {
            self.in_loss = true;
            self.w.cut(self.exact / 2.0);
            self.exact = self.w.cwnd;
            return;
        }
        self.in_loss = false;
        let soon = self.reduced_at.is_some_and(|at| c.now.since(at) < self.virtual_rtt);
        if self.is_virtual() && soon {
            return;
        }
        self.reduced_at = Some(c.now);
        let alpha = if self.halves { 1.0 } else { self.share.alpha };
        self.exact -= alpha / 2.0 * self.exact;
        self.w.ssthresh = self.w.ssthresh.min(self.whole().max(LEAST));
    }
    fn on_timeout(&mut self, c: &Congestion) {
        // Slow start follows, in which the endpoint permits growth.
        self.in_loss = false;
        self.w.timeout(c.flight / 2.0, c.repeated);
        self.exact = self.w.cwnd;
    }
    fn on_undo(&mut self, cwnd: f64, ssthresh: f64) {
        self.in_loss = false;
        self.w.undo(cwnd, ssthresh);
        self.exact = self.exact.max(self.w.cwnd);
    }
    fn on_idle_restart(&mut self, _: Instant, segments: f64) {
        self.both(segments);
    }
    /// PRR does not change the window that marks leave.
    fn rules_recovery(&self) -> bool {
        !self.in_loss
    }
    fn answers_loss_in_cwr(&self) -> bool {
        true
    }
    /// The window per round trip, twice that in the first half of slow start
    /// (prague_update_pacing_rate).
    fn pacing_rate(&self) -> Option<Bitrate> {
        if !self.paces || self.rtt.is_zero() {
            return None;
        }
        let factor = if self.w.cwnd < self.w.ssthresh / 2.0 { 2.0 } else { 1.0 };
        let rate = 8.0 * factor * self.exact.max(1.0) * self.mss / self.rtt.as_secs_f64();
        Some(Bitrate(rate.clamp(1.0, 1e14) as u64))
    }
    fn observe(&self, o: &mut Observer<'_>) {
        self.share.observe(o, "prague.alpha");
        o.number("prague.exact", "segments", "the window with its fraction, which cwnd follows", self.exact);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    /// In congestion avoidance with `window` segments.
    fn avoiding(window: f64) -> Prague {
        let mut p = Prague::new(&linux_like());
        p.both(window);
        p.w.ssthresh = window.min(10.0);
        p
    }
    fn marked(now_ms: u64) -> Congestion {
        Congestion { signal: Signal::Ecn, now: Instant::from_millis(now_ms), ..congestion(80.0) }
    }

    /// 10 ms is 0.4 of 25 ms: 0.16 of a segment a round trip once the virtual round trip rules, a
    /// whole one before.
    #[test]
    fn a_short_round_trip_grows_no_faster_than_a_long_one_in_time() {
        let mut p = avoiding(20.0);
        p.on_ack(&ack_at(20, 1, 10));
        assert_eq!((p.exact, p.cwnd()), (21.0, 21.0), "before round 500");
        let mut p = avoiding(20.0);
        p.rounds = TRANSITION;
        p.on_ack(&ack_at(20, 1, 10));
        assert!((p.exact - 20.16).abs() < 1e-12);
        assert_eq!(p.cwnd(), 21.0, "a fraction is rounded up");
        let mut long = avoiding(20.0);
        long.rounds = TRANSITION;
        long.on_ack(&ack_at(20, 1, 100));
        assert_eq!(long.exact, 21.0, "a segment a round trip from 25 ms on");
    }

    /// 80 (1 - 0.25 / 2) = 70: the whole window takes ten ACKs. Half of it at a loss, at once.
    #[test]
    fn a_mark_cuts_by_half_of_alpha_and_a_loss_by_half() {
        let mut p = avoiding(80.0);
        p.share.alpha = 0.25;
        p.on_congestion(&marked(0));
        assert_eq!((p.exact, p.cwnd()), (70.0, 80.0));
        for n in 1..=10 {
            p.on_ack(&AckSample { cwnd_limited: false, ..ack(1) });
            assert_eq!(p.cwnd(), 80.0 - f64::from(n));
        }
        p.on_congestion(&congestion(80.0));
        assert_eq!((p.cwnd(), p.ssthresh()), (35.0, 35.0));
    }

    /// The mistake on purpose: alpha as 1, and the growth of the CWR state as without it.
    #[test]
    fn a_mutant_halves_at_a_mark_whatever_alpha() {
        let mutant = Some(Mutant::HalvesPerMark);
        let mut p = Prague::new(&linux_with(|c| c.mistakes.mutant = mutant));
        p.both(80.0);
        (p.w.ssthresh, p.share.alpha) = (10.0, 0.25);
        p.on_congestion(&marked(0));
        assert_eq!((p.exact, p.cwnd()), (40.0, 80.0));
        p.on_ack(&AckSample { may_grow: false, state: CaState::Cwr, ..ack(20) });
        assert_eq!(p.exact, 40.5, "20 / 40 of a segment: the reduction goes on");
    }

    /// Half of a round's 20 segments are marked: the others count, 10 / 20 of a segment, also in
    /// CWR; in recovery nothing does.
    #[test]
    fn what_is_not_marked_counts_while_a_reduction_lasts() {
        let mut p = avoiding(20.0);
        let half = AckSample { marked: 10 * MSS, may_grow: false, state: CaState::Cwr, ..ack(20) };
        p.on_ack(&half);
        assert_eq!(p.exact, 20.5);
        p.on_congestion(&congestion(20.0));
        p.on_ack(&AckSample { state: CaState::Recovery, ..half });
        assert_eq!(p.exact, 10.0);
    }

    /// From one segment to half of the 40, two segments an ACK.
    #[test]
    fn slow_start_follows_a_timeout() {
        let mut p = avoiding(40.0);
        p.on_timeout(&congestion(40.0));
        assert_eq!((p.cwnd(), p.ssthresh()), (1.0, 20.0));
        for n in 1..=9 {
            p.on_ack(&AckSample { state: CaState::Loss, ..ack(2) });
            assert_eq!(p.cwnd(), 1.0 + 2.0 * f64::from(n));
        }
        p.on_ack(&AckSample { state: CaState::Loss, ..ack(2) });
        assert_eq!(p.cwnd(), 21.0, "the second segment counts in congestion avoidance");
    }

    #[test]
    fn a_second_mark_within_the_virtual_round_trip_costs_nothing() {
        for (rounds, left) in [(0, 20.0), (TRANSITION, 40.0)] {
            let mut p = avoiding(80.0);
            p.rounds = rounds;
            p.on_congestion(&marked(100));
            p.on_congestion(&marked(124));
            assert_eq!(p.exact, left, "alpha is 1");
        }
        let mut p = avoiding(80.0);
        p.rounds = TRANSITION;
        p.on_congestion(&marked(100));
        p.on_congestion(&marked(125));
        assert_eq!(p.exact, 20.0);
    }

    /// Ten rounds without a mark leave alpha at 1; then it moves by a sixteenth of the distance.
    #[test]
    fn alpha_waits_for_the_first_mark() {
        let mut p = avoiding(20.0);
        for n in 1..=10 {
            p.on_ack(&AckSample { una: n, nxt: n, ..ack(20) });
        }
        assert_eq!(p.alpha(), 1.0);
        p.on_ack(&AckSample { una: 11, nxt: 11, marked: 2 * MSS, ..ack(20) });
        assert!((p.alpha() - (1.0 - 0.9 / 16.0)).abs() < 1e-12, "a tenth was marked");
    }
}

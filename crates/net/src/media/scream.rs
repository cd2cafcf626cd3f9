//! SCReAM, second version: a reference window by losses, marks and queueing delay, and the rate
//! that fills it (the working group's successor to RFC 8298).
//!
//! Equations, constants and names are those of a source of draft-johansson-ccwg-rfc8298bis-screamv2
//! in a public repository (sections on network congestion control, sender transmission control and
//! media rate control); later versions may differ.
//!
//! Left out: the percentile of frame sizes (encoders here are within 5 % of their target), the
//! limit of the window at the highest rate by a history of octets in flight, and clock drift.
//! Chosen here: the base delay is the minimum since the start, the rate of loss events is smoothed
//! over a hundred round trips, MSS is the largest RTP packet.

use std::collections::VecDeque;

use lasthop_engine::math;
use lasthop_engine::observe::Observer;
use lasthop_units::{Duration, Ecn, Instant};

use super::control::{Feedback, RateControl, RateSetup, SentPacket};
use crate::registry::Entry;

pub(super) const ENTRY: Entry = Entry {
    name: "scream",
    summary: "rate of a window by losses, marks and queueing delay (version 2)",
    source: "RFC 8298, draft-johansson-ccwg-rfc8298bis-screamv2",
    parameters: &[],
};

/// Bounds of the target of the queueing delay \[s\].
const QDELAY_TARGET_LO: f64 = 0.06;
const QDELAY_TARGET_HI: f64 = 0.4;
/// Smallest window \[octets\].
const MIN_REF_WND: f64 = 3000.0;
/// The window grows up to this multiple of what was in flight.
const BYTES_IN_FLIGHT_HEAD_ROOM: f64 = 1.5;
/// The share of the window that remains after a loss, and after a classic mark.
const BETA_LOSS: f64 = 0.7;
const BETA_ECN: f64 = 0.8;
/// Octets in flight may exceed the window by this factor.
const REF_WND_OVERHEAD: f64 = 5.0;
/// Round trips after congestion in which growth is cautious.
const POST_CONGESTION_DELAY_RTT: f64 = 100.0;
/// Multiplicative growth of the window in a round trip.
const MUL_INCREASE_FACTOR: f64 = 0.02;
/// Shorter round trips count as this \[s\].
const VIRTUAL_RTT: f64 = 0.025;
/// Smoothing of the share of marks, up and down.
const L4S_AVG_G_UP: f64 = 1.0 / 8.0;
const L4S_AVG_G_DOWN: f64 = 1.0 / 128.0;
/// Smoothing of the queueing delay where it grows.
const QDELAY_AVG_G: f64 = 0.25;
/// The rate is lower where octets in flight exceed this share of the window, by up to a factor.
const BYTES_IN_FLIGHT_LIMIT: f64 = 0.9;
const BYTES_IN_FLIGHT_LIMIT_COMPENSATION: f64 = 1.5;
/// Overhead of packets \[octets\].
const PACKET_OVERHEAD: f64 = 20.0;
/// Slowest pacing \[bit/s\], and how much faster than the rate packets leave.
const RATE_PACE_MIN: f64 = 50_000.0;
const PACKET_PACING_HEADROOM: f64 = 1.5;
/// Samples of the queueing delay of which the variance is taken, and the mean.
const HISTORY: usize = 200;
const RECENT: usize = 50;
/// Loss events in this share of the round trips are those of competing flows.
const MANY_LOSSES: f64 = 0.002;
/// Smoothing of the share of round trips with a loss.
const LOSS_EVENT_G: f64 = 0.01;

/// SCReAM at a sender. Times are in seconds, sizes in octets.
#[derive(Clone, Debug)]
pub(super) struct Scream {
    setup: RateSetup,
    mss: f64,
    ref_wnd: f64,
    /// The reference window at the last congestion.
    ref_wnd_i: f64,
    last_ref_wnd_i: Option<Instant>,
    s_rtt: Option<f64>,
    base: Option<f64>,
    qdelay: f64,
    qdelay_avg: f64,
    last_qdelay_avg: Option<Instant>,
    qdelay_target: f64,
    /// Queueing delays by QDELAY_TARGET_LO, the newest last.
    history: VecDeque<f64>,
    marks: Marks,
    loss_event_rate: f64,
    /// Since the last reaction.
    lost: bool,
    marked: bool,
    last_congestion: Option<Instant>,
    last_reaction: Option<Instant>,
    round: Round,
    target: f64,
}

/// Marks by round trip.
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    alpha: f64,
    delivered: u64,
    marked: u64,
    last: Option<Instant>,
}

/// The counts of a round trip.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    begin: Option<Instant>,
    /// Most octets in flight in the present interval and in the one before.
    most: u64,
    most_before: u64,
    lost: bool,
}

impl Scream {
    pub fn new(setup: &RateSetup) -> Scream {
        Scream {
            setup: *setup,
            mss: f64::from(setup.packet),
            ref_wnd: MIN_REF_WND,
            ref_wnd_i: 1.0,
            last_ref_wnd_i: None,
            s_rtt: None,
            base: None,
            qdelay: 0.0,
            qdelay_avg: 0.0,
            last_qdelay_avg: None,
            qdelay_target: QDELAY_TARGET_LO,
            history: VecDeque::new(),
            marks: Marks::default(),
            loss_event_rate: 0.0,
            lost: false,
            marked: false,
            last_congestion: None,
            last_reaction: None,
            round: Round::default(),
            target: setup.start,
        }
    }

    fn rtt(&self) -> f64 {
        self.s_rtt.unwrap_or(0.1)
    }
    /// MSS over the window, 1 at most.
    fn ref_wnd_ratio(&self) -> f64 {
        (self.mss / self.ref_wnd).min(1.0)
    }
    /// How far the window is from where congestion has come last: 0.1 near it, 1 far off.
    fn scale(&self) -> f64 {
        let off = 8.0 * (self.ref_wnd - self.ref_wnd_i) / self.ref_wnd_i;
        (off * off).clamp(0.1, 1.0)
    }

    /// Evaluates a report: round trip, queueing delay, losses and marks.
    fn measure(&mut self, feedback: &Feedback<'_>) {
        if let Some(rtt) = feedback.rtt.map(Duration::as_secs_f64) {
            self.s_rtt = Some(self.s_rtt.map_or(rtt, |s| s + (rtt - s) / 8.0));
        }
        for packet in feedback.packets {
            let Some(at) = packet.arrival else {
                self.lost = true;
                self.round.lost = true;
                continue;
            };
            let delay = (at.0 as f64 - packet.sent.0 as f64) / 1e9;
            let base = self.base.map_or(delay, |base| base.min(delay));
            self.base = Some(base);
            self.qdelay = delay - base;
            self.marks.delivered += 1;
            if packet.ecn == Ecn::Ce {
                self.marks.marked += 1;
                self.marked = true;
            }
        }
        let now = feedback.now;
        self.marks.settle(now, self.rtt());
        if passed(self.last_qdelay_avg, now) >= VIRTUAL_RTT.min(self.rtt()) {
            self.last_qdelay_avg = Some(now);
            let grown = QDELAY_AVG_G * self.qdelay + (1.0 - QDELAY_AVG_G) * self.qdelay_avg;
            self.qdelay_avg = if self.qdelay < self.qdelay_avg { self.qdelay } else { grown };
        }
        self.settle_round(now);
    }

    fn settle_round(&mut self, now: Instant) {
        let begin = *self.round.begin.get_or_insert(now);
        if now.since(begin).as_secs_f64() < self.rtt() {
            return;
        }
        let event = f64::from(u8::from(self.round.lost));
        self.loss_event_rate += LOSS_EVENT_G * (event - self.loss_event_rate);
        let most_before = self.round.most;
        self.round = Round { begin: Some(now), most: 0, most_before, lost: false };
    }

    /// Competing flows compensation.
    fn adjust_target(&mut self) {
        if self.history.len() == HISTORY {
            self.history.pop_front();
        }
        self.history.push_back(self.qdelay / QDELAY_TARGET_LO);
        let n = self.history.len() as f64;
        let mean = self.history.iter().sum::<f64>() / n;
        let variance = self.history.iter().map(|q| (q - mean) * (q - mean)).sum::<f64>() / n;
        let recent = self.history.len().min(RECENT);
        let average = self.history.iter().rev().take(recent).sum::<f64>() / recent as f64;
        let limit = QDELAY_TARGET_LO * (average + math::sqrt(variance));
        self.qdelay_target = if self.loss_event_rate > MANY_LOSSES {
            1.5 * limit
        } else if variance < 0.2 {
            limit
        } else if limit < QDELAY_TARGET_LO {
            (0.5 * self.qdelay_target).max(limit)
        } else {
            0.9 * self.qdelay_target
        };
        self.qdelay_target = self.qdelay_target.clamp(QDELAY_TARGET_LO, QDELAY_TARGET_HI);
    }

    /// Reference window reduction.
    fn reduce(&mut self, now: Instant) {
        let scale = self.scale();
        if self.lost || self.marked {
            self.last_congestion = Some(now);
        }
        if passed(self.last_reaction, now) < VIRTUAL_RTT.min(self.rtt()) {
            return;
        }
        let (lost, marked) = (self.lost, self.marked);
        let virtual_mark = (!lost && !marked).then(|| self.virtual_alpha()).flatten();
        if !lost && !marked && virtual_mark.is_none() {
            return;
        }
        if passed(self.last_ref_wnd_i, now) > 10.0 * self.rtt() {
            self.last_ref_wnd_i = Some(now);
            self.ref_wnd_i = self.ref_wnd;
        }
        if lost {
            self.ref_wnd *= BETA_LOSS;
        }
        if marked && !self.setup.l4s {
            self.ref_wnd *= BETA_ECN;
        } else if marked {
            self.reduce_by_marks(now, scale);
        }
        if let Some(alpha) = virtual_mark {
            self.ref_wnd *= 1.0 - alpha / 2.0 * (1.0 - self.ref_wnd_ratio()).max(0.5);
        }
        self.ref_wnd = self.ref_wnd.max(MIN_REF_WND);
        self.last_reaction = Some(now);
        (self.lost, self.marked) = (false, false);
    }

    /// Marks of L4S.
    fn reduce_by_marks(&mut self, now: Instant, scale: f64) {
        let mut backoff = self.marks.alpha / 2.0 * (1.0 - self.ref_wnd_ratio()).max(0.5);
        if self.qdelay < 0.25 * self.qdelay_target {
            backoff *= scale.max(0.25);
        }
        let long = 100.0 * self.rtt().max(VIRTUAL_RTT);
        if self.last_reaction.is_some() && passed(self.last_reaction, now) > long {
            self.ref_wnd = self.ref_wnd.min(self.round.most_before as f64);
        }
        self.ref_wnd *= 1.0 - backoff;
    }

    /// The share of marks that corresponds to the queueing delay, if there are no marks.
    fn virtual_alpha(&self) -> Option<f64> {
        let half = self.qdelay_target / 2.0;
        let limit = 2.0 / self.target * self.mss * 8.0 / self.rtt();
        if self.qdelay <= half || self.marks.alpha >= limit {
            return None;
        }
        Some((2.0 * limit * ((self.qdelay_avg - half) / half).max(0.0)).min(1.0))
    }

    /// Reference window increase.
    fn grow(&mut self, feedback: &Feedback<'_>) {
        let rtt = self.rtt();
        let scale = self.scale();
        let calm = passed(self.last_congestion, feedback.now);
        let calm = (calm / (POST_CONGESTION_DELAY_RTT * rtt.max(VIRTUAL_RTT))).min(1.0);
        let marked = feedback.packets.iter().filter(|p| p.ecn == Ecn::Ce);
        let marked: u64 = marked.map(|p| u64::from(p.size)).sum();
        let acked = feedback.newly_acked.saturating_sub(marked) as f64;
        let ratio = self.ref_wnd_ratio();
        let short = (rtt / VIRTUAL_RTT).min(1.0);
        let mut increment = acked * ratio * short * short * scale.max(0.25) * (1.0 - ratio).max(0.5);
        if self.marks.alpha < 1e-4 {
            increment *= (1.0 - self.qdelay_avg / (self.qdelay_target / 4.0)).max(0.1);
        }
        increment *= 1.0 + MUL_INCREASE_FACTOR * self.ref_wnd / self.mss * calm * scale;
        let in_flight = self.round.most.max(self.round.most_before) as f64;
        let allowed = self.mss + in_flight * BYTES_IN_FLIGHT_HEAD_ROOM;
        if self.ref_wnd + increment <= allowed && self.target < self.setup.max {
            self.ref_wnd += increment;
        }
    }

    /// Media rate control.
    fn update_target(&mut self, in_flight: u64) {
        let Some(rtt) = self.s_rtt.filter(|rtt| *rtt > 0.0) else { return };
        let mut scale = 1.0;
        let share = in_flight as f64 / self.ref_wnd;
        if self.qdelay / self.qdelay_target > 0.25 && share > BYTES_IN_FLIGHT_LIMIT {
            scale /= (share / BYTES_IN_FLIGHT_LIMIT).min(BYTES_IN_FLIGHT_LIMIT_COMPENSATION);
        }
        scale *= 1.0 - (self.ref_wnd_ratio() - 0.1).clamp(0.0, 0.2);
        scale *= self.mss / (self.mss + PACKET_OVERHEAD);
        self.target = (scale * 8.0 * self.ref_wnd / rtt).clamp(self.setup.min, self.setup.max);
    }
}

/// Seconds since then; without end if it was never.
fn passed(since: Option<Instant>, now: Instant) -> f64 {
    since.map_or(f64::INFINITY, |since| now.since(since).as_secs_f64())
}

impl Marks {
    fn settle(&mut self, now: Instant, rtt: f64) {
        if self.delivered == 0 || passed(self.last, now) < rtt.min(0.01) {
            return;
        }
        let share = self.marked as f64 / self.delivered as f64;
        self.alpha = if share >= self.alpha {
            L4S_AVG_G_UP * share + (1.0 - L4S_AVG_G_UP) * self.alpha
        } else {
            (1.0 - L4S_AVG_G_DOWN) * self.alpha
        };
        (self.last, self.delivered, self.marked) = (Some(now), 0, 0);
    }
}

impl RateControl for Scream {
    fn on_limits(&mut self, min: f64, max: f64) {
        (self.setup.min, self.setup.max) = (min, max);
    }
    fn on_sent(&mut self, sent: &SentPacket) {
        self.round.most = self.round.most.max(sent.in_flight);
    }
    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        self.measure(feedback);
        self.adjust_target();
        self.reduce(feedback.now);
        self.grow(feedback);
        self.update_target(feedback.in_flight_before);
    }
    fn target(&self, _: u64) -> f64 {
        self.target
    }
    fn pacing(&self, _: u64) -> f64 {
        self.target.max(RATE_PACE_MIN) * PACKET_PACING_HEADROOM
    }
    fn window(&self) -> Option<u64> {
        Some((self.ref_wnd * REF_WND_OVERHEAD) as u64)
    }
    fn observe(&self, o: &mut Observer<'_>) {
        o.number("scream.ref_wnd", "B", "reference window", self.ref_wnd);
        o.number("scream.ref_wnd_i", "B", "window at which congestion has come last", self.ref_wnd_i);
        o.number("scream.qdelay", "s", "queueing delay of the newest packet", self.qdelay);
        o.number("scream.qdelay_avg", "s", "smoothed queueing delay", self.qdelay_avg);
        o.number("scream.qdelay_target", "s", "target of the queueing delay", self.qdelay_target);
        o.number("scream.l4s_alpha", "1", "smoothed share of marked packets", self.marks.alpha);
        o.number("scream.loss_event_rate", "1", "share of round trips with a loss", self.loss_event_rate);
        o.maybe("scream.s_rtt", "s", "smoothed round trip", self.s_rtt);
    }
}

#[cfg(test)]
mod tests {
    use super::super::control::testing::{Path, setup};
    use super::*;

    fn scream(l4s: bool) -> Scream {
        Scream::new(&RateSetup { l4s, ..setup() })
    }

    /// A path of 100 ms on which the window has grown without congestion.
    fn grown(l4s: bool) -> (Scream, Path) {
        let (mut s, mut path) = (scream(l4s), Path::new(Duration::from_millis(50)));
        path.run(
            3000,
            10,
            1000,
            |_, _| 0.0,
            |f| {
                s.round.most = f.in_flight_before;
                s.on_feedback(f);
            },
        );
        (s, path)
    }

    /// What one packet with this delay does to the window, before it grows again.
    fn change(s: &mut Scream, path: &mut Path, delay: f64) -> f64 {
        let (mut found, hit) = (None, path.history.next() + 10);
        path.run(
            400,
            10,
            1000,
            |n, _| if n == hit { delay } else { 0.0 },
            |f| {
                s.measure(f);
                let before = s.ref_wnd;
                s.reduce(f.now);
                if s.ref_wnd != before && found.is_none() {
                    found = Some(s.ref_wnd / before);
                }
            },
        );
        found.unwrap_or(1.0)
    }

    #[test]
    fn a_loss_leaves_seven_tenths_of_the_window() {
        let (mut s, mut path) = grown(false);
        assert!(s.ref_wnd > 8000.0, "{}", s.ref_wnd);
        assert!((change(&mut s, &mut path, f64::NAN) - BETA_LOSS).abs() < 1e-12);
    }

    #[test]
    fn a_classic_mark_leaves_eight_tenths_and_one_of_l4s_half_of_alpha() {
        let (mut s, mut path) = grown(false);
        assert!((change(&mut s, &mut path, -1e-3) - BETA_ECN).abs() < 1e-12);
        // Of the five packets of a report one is marked: alpha = 1/8 * 1/5 from zero, and the
        // window loses alpha / 2 times 1 - MSS / window, far from where congestion has come.
        let (mut s, mut path) = grown(true);
        let ratio = s.ref_wnd_ratio();
        let left = change(&mut s, &mut path, -1e-3);
        let packets = [4.0, 5.0, 6.0].map(|n: f64| 1.0 - 1.0 / 8.0 / n / 2.0 * (1.0 - ratio).max(0.5));
        assert!(packets.iter().any(|p| (left - p).abs() < 1e-9), "{left} {packets:?}");
    }

    /// With a window of 12 packets and half of the target exceeded by a half of it: alpha is
    /// 2 * 2 / 12 * 1/2 = 1/6 by the pseudocode, with the rate that belongs to the window.
    #[test]
    fn queueing_delay_above_half_of_its_target_counts_as_marks() {
        let mut s = scream(false);
        (s.ref_wnd, s.s_rtt, s.target) = (12.0 * s.mss, Some(0.1), 12.0 * s.mss * 8.0 / 0.1);
        (s.qdelay, s.qdelay_avg) = (0.045, 0.045);
        assert!((s.virtual_alpha().unwrap() - 1.0 / 6.0).abs() < 1e-12);
        (s.qdelay, s.qdelay_avg) = (0.03, 0.03);
        assert_eq!(s.virtual_alpha(), None);
    }

    /// Losses in more than 0.2 % of the round trips beside a constant queueing delay of 120 ms: the
    /// target is 1.5 * 120 ms; without losses 120 ms; and never above 400 ms.
    #[test]
    fn the_target_of_the_delay_follows_competing_flows() {
        let mut s = scream(false);
        s.qdelay = 0.12;
        (0..HISTORY).for_each(|_| s.adjust_target());
        assert!((s.qdelay_target - 0.12).abs() < 1e-9);
        s.loss_event_rate = 0.01;
        s.adjust_target();
        assert!((s.qdelay_target - 0.18).abs() < 1e-9);
        s.qdelay = 10.0;
        (0..HISTORY).for_each(|_| s.adjust_target());
        assert_eq!(s.qdelay_target, QDELAY_TARGET_HI);
    }
}

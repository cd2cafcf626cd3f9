//! A window from the data that the radio network reports: the loosely coupled radio-aware TCP of
//! the RAN3 study on context-aware service delivery (TR 36.933), as far as its algorithm can be
//! reconstructed.
//!
//! ```text
//! cwnd(t) = R(t) * RTT + gain * (Q_th - Q(t))
//! ```
//!
//! R(t) is the achievable data rate and Q(t) the layer-2 queue of the newest [`Hint`]; without the
//! queue term the window is the bandwidth-delay product alone. Slow start is skipped: the first
//! hint after the handshake sets the window. A loss is repaired but does not change the window,
//! because the queue is known. The sender paces unless `pacing = false`: without slow start nothing
//! else prevents that a whole window is sent at once.
//!
//! The sender does not depend on hints. A *base* algorithm (any built-in one) controls the window
//! when no reading is younger than `hint_timeout` (at most a round trip, unless set), when the
//! timer expires, when a mark arrives, and for a time that doubles when a round shows that the hint
//! was wrong (`evidence.rs`): a quarter of the window was lost, or more than three times the
//! reported rate came through, or less than a third while the queue grew to three bandwidth-delay
//! products. From then on a hint may at most double what the path has carried in a round trip.

use lasthop_units::{Bitrate, Duration, Instant};

use super::evidence::{Evidence, LOST_SHARE};
use super::readings::{FLOOR, FLOOR_PARAMETER, Readings, TIMEOUT_PARAMETER};
use super::window::Round;
use super::{
    AckSample, Congestion, CongestionControl, DupAck, DupAckAction, Established, Fault, Needs, Observer,
    Parameter, Row, Signal, TransmitStart,
};
use crate::config::{Config, HintConfig};
use crate::hint::Hint;

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter { name: "hint_base", default: "reno", unit: "", source: "the study's \"normal\" TCP" },
    Parameter {
        name: "hint_rtt",
        default: "min",
        unit: "",
        source: "recommended: a round trip with queueing would count Q twice",
    },
    Parameter {
        name: "hint_queue_term",
        default: "true",
        unit: "",
        source: "the contribution's second column",
    },
    Parameter {
        name: "hint_queue_threshold",
        default: "30000",
        unit: "B",
        source: "recommended: half of the layer-2 buffer of 60 kB",
    },
    Parameter { name: "hint_gain", default: "1", unit: "", source: "the contribution, reconstructed" },
    TIMEOUT_PARAMETER,
    FLOOR_PARAMETER,
];

pub(super) const DIFFERS: &str = "Linux, ns-3 and INET have nothing of the kind. Without hints it is its base algorithm \
     exactly.";

pub(super) const ROW: Row = Row {
    summary: "the window that the radio network's hints give, a base algorithm without them",
    source: "contribution to 3GPP RAN3 for TR 36.933 (Release 14), reconstructed; WO 2017/193274",
    parameters: PARAMETERS,
    differs: DIFFERS,
    needs: Needs { hints: true, pacing: true, ..Needs::NOTHING },
};

/// How long hints are ignored after the first such round, and at most.
const DISTRUST: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(64)];
/// A link that is interrupted for longer has no readings.
const INTERRUPTION: Duration = Duration::from_secs(2);

/// The window by hints, and the algorithm that takes over without them, a `B`.
#[derive(Clone, Debug)]
pub struct RadioAware<B> {
    base: B,
    config: HintConfig,
    ceiling: f64,
    mss: f64,
    /// The window of the newest readings [segments]; `None`: the base algorithm's is in force.
    guided: Option<f64>,
    readings: Readings,
    /// Hints are ignored before this moment, and for how long the next time.
    believe_at: Instant,
    distrust: Duration,
    /// A timeout is not over until new data is acknowledged.
    timed_out: bool,
    /// The time since which the link is interrupted: the window does not change.
    interrupted: Option<Instant>,
    round: Round,
    evidence: Evidence,
    /// Segments of a window that was too large are still in flight.
    overrun: bool,
    /// Most segments that were delivered in a round trip; a round with fewer reduces the value by
    /// an eighth of the difference.
    proven: f64,
}

impl<B: CongestionControl> RadioAware<B> {
    /// The base algorithm's window until the first hint.
    pub fn new(config: &Config, base: B) -> RadioAware<B> {
        RadioAware {
            base,
            config: config.hint,
            ceiling: config.window_ceiling().max(FLOOR),
            mss: f64::from(config.window.mss),
            guided: None,
            readings: Readings::new(&config.hint),
            believe_at: Instant::ZERO,
            distrust: DISTRUST[0],
            timed_out: false,
            interrupted: None,
            round: Round::default(),
            evidence: Evidence::default(),
            overrun: false,
            proven: 0.0,
        }
    }

    /// True if hints set the window.
    pub fn is_guided(&self) -> bool {
        self.guided.is_some()
    }

    fn follow(&mut self, now: Instant) {
        let Some(reading) = self.readings.newest().filter(|_| self.interrupted.is_none()) else { return };
        if now < self.believe_at || self.timed_out {
            return;
        }
        let Some(rtt) = self.readings.round_trip(now, &reading) else { return };
        self.evidence.follow(reading.rate);
        let mut octets = reading.rate * rtt;
        if self.config.queue_term {
            octets += self.config.gain * (self.config.queue_threshold as f64 - reading.queue);
        }
        // After one wrong hint, a hint may at most double what the path has carried in a round
        // trip.
        let ceiling = match self.distrust > DISTRUST[0] {
            true => self.ceiling.min(2.0 * self.proven.max(FLOOR)),
            false => self.ceiling,
        };
        self.guided = Some((octets / self.mss).clamp(FLOOR, ceiling));
    }

    /// The base algorithm continues from the window in force, in congestion avoidance.
    fn fall_back(&mut self, now: Instant) {
        if let Some(window) = self.guided.take() {
            self.base.on_congestion(&Congestion { now, flight: window, ..Congestion::default() });
            self.base.set_cwnd(window);
        }
        self.readings.clear();
        self.interrupted = None;
    }

    /// The readings in force are too old.
    fn check_age(&mut self, now: Instant) {
        let patience = match self.interrupted {
            Some(_) => INTERRUPTION,
            None => self.readings.timeout(),
        };
        if self.readings.older_than(now, patience) {
            self.fall_back(now);
        }
    }

    /// Checks at the end of a round whether the path carried the reported rate.
    fn check_round(&mut self, now: Instant, falls_short: bool) {
        let round = std::mem::replace(
            &mut self.evidence,
            Evidence::since(now, self.readings.newest().map(|r| r.rate)),
        );
        let came = round.delivered(self.mss);
        self.proven = if came > self.proven { came } else { self.proven + (came - self.proven) / 8.0 };
        let Some(window) = self.guided else { return };
        if came >= FLOOR && round.exceeds(now) {
            // Nothing was congested: the base algorithm continues from here as without hints.
            self.guided = None;
            self.base.set_cwnd(came);
            return self.distrust(now);
        }
        if !falls_short && !round.overflowed(self.mss) {
            return;
        }
        self.overrun = falls_short;
        // The path has shown its capacity: the amount delivered, not the window.
        self.guided = None;
        let flight = window.min(came).max(FLOOR);
        self.base.on_congestion(&Congestion { now, flight, ..Congestion::default() });
        self.distrust(now);
    }

    /// Ignores hints for a time that doubles.
    fn distrust(&mut self, now: Instant) {
        self.believe_at = now + self.distrust;
        self.distrust = Duration(self.distrust.0 * 2).min(DISTRUST[1]);
    }
}

// Each method must state its effect on the base algorithm.
#[deny(clippy::missing_trait_methods)]
impl<B: CongestionControl> CongestionControl for RadioAware<B> {
    fn cwnd(&self) -> f64 {
        self.guided.unwrap_or_else(|| self.base.cwnd())
    }
    fn ssthresh(&self) -> f64 {
        self.guided.unwrap_or_else(|| self.base.ssthresh())
    }
    fn on_established(&mut self, e: &Established) {
        self.mss = f64::from(e.mss.max(1));
        self.base.on_established(e);
        self.round.begin(e.nxt);
        self.evidence = Evidence::since(e.now, None);
        self.readings.on_established(e);
        self.follow(e.now);
    }
    fn on_hint(&mut self, hint: &Hint) {
        match hint.notice {
            Some(n) if n.interrupts() => self.interrupted = Some(hint.now),
            Some(_) => self.interrupted = None,
            None => {}
        }
        if self.readings.take_hint(hint) {
            self.follow(hint.now);
        }
    }
    fn on_ack(&mut self, ack: &AckSample) {
        self.timed_out &= ack.acked == 0;
        self.readings.on_ack(ack, self.interrupted.is_some());
        self.evidence.on_ack(ack);
        self.check_age(ack.now);
        // A clear case need not wait for the end of its round.
        let gone = self.guided.is_some_and(|w| self.evidence.lost(self.mss) > LOST_SHARE * w);
        let falls_short = self.guided.is_some()
            && self.interrupted.is_none()
            && self.readings.smallest(ack.now).is_some_and(|least| self.evidence.falls_short(ack, least));
        let ended = self.round.ended(ack);
        self.overrun &= !ended;
        if ended || gone || falls_short {
            self.check_round(ack.now, falls_short);
        }
        if falls_short {
            // The next round ends when all that was sent at the overstated rate has come through or
            // is given up.
            self.round.begin(ack.nxt);
        }
        if self.guided.is_none() {
            self.base.on_ack(ack);
        }
        self.follow(ack.now);
    }
    fn on_congestion(&mut self, c: &Congestion) {
        match c.signal {
            // A loss is repaired without a reduction.
            Signal::Loss if self.guided.is_some() => {}
            // RFC 3168 section 6.1.2: a mark is answered as a loss would be; for a round trip hints
            // are ignored.
            Signal::Ecn if self.guided.take().is_some() => {
                self.base.on_congestion(c);
                self.believe_at = c.now + self.readings.srtt();
            }
            // Data sent at an overstated rate is no measure of the path.
            _ if self.overrun => {
                self.base.on_congestion(&Congestion { flight: c.flight.min(self.proven.max(FLOOR)), ..*c });
            }
            _ => self.base.on_congestion(c),
        }
    }
    fn on_timeout(&mut self, c: &Congestion) {
        self.check_round(c.now, false);
        self.guided = None;
        self.timed_out = true;
        self.base.on_timeout(c);
    }
    fn set_cwnd(&mut self, segments: f64) {
        if self.guided.is_none() {
            self.base.set_cwnd(segments);
        }
    }
    fn set_ssthresh(&mut self, segments: f64) {
        if self.guided.is_none() {
            self.base.set_ssthresh(segments);
        }
    }
    fn on_idle_restart(&mut self, now: Instant, segments: f64) {
        self.check_age(now);
        if self.guided.is_none() {
            self.base.on_idle_restart(now, segments);
        }
    }
    fn on_recovered(&mut self, now: Instant) {
        if self.guided.is_none() {
            self.base.on_recovered(now);
        }
    }
    fn on_undo(&mut self, cwnd: f64, ssthresh: f64) {
        if self.guided.is_none() {
            self.base.on_undo(cwnd, ssthresh);
        }
    }
    fn on_dup_ack(&mut self, dup: &DupAck) -> DupAckAction {
        match self.guided {
            Some(_) => DupAckAction::Standard,
            None => self.base.on_dup_ack(dup),
        }
    }
    fn on_transmit_start(&mut self, start: &TransmitStart) {
        self.base.on_transmit_start(start);
    }
    fn answers_loss_in_cwr(&self) -> bool {
        self.base.answers_loss_in_cwr()
    }
    fn rules_recovery(&self) -> bool {
        self.guided.is_some() || self.base.rules_recovery()
    }
    fn oldest_is_overdue(&mut self, now: Instant, sent: Instant) -> bool {
        self.guided.is_none() && self.base.oldest_is_overdue(now, sent)
    }
    fn take_reduction(&mut self) -> bool {
        self.guided.is_none() && self.base.take_reduction()
    }
    fn own_timeout(&self) -> Option<Duration> {
        self.base.own_timeout().filter(|_| self.guided.is_none())
    }
    fn pacing_rate(&self) -> Option<Bitrate> {
        self.base.pacing_rate().filter(|_| self.guided.is_none())
    }
    fn fault(&mut self) -> Option<Fault> {
        self.base.fault()
    }
    fn observe(&self, o: &mut Observer<'_>) {
        let reading = self.readings.newest();
        o.maybe(
            "radio-aware.window",
            "segments",
            "the window of the newest hint; empty: the base algorithm's is in force",
            self.guided,
        );
        o.maybe("radio-aware.rate", "bit/s", "R(t) of the newest hint", reading.map(|r| 8.0 * r.rate));
        o.maybe("radio-aware.queue", "B", "Q(t) of the newest hint", reading.map(|r| r.queue));
        o.number(
            "radio-aware.believe_at",
            "s",
            "hints are ignored before this time",
            self.believe_at.as_secs_f64(),
        );
        self.base.observe(o);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use crate::cc::Cc;
    use crate::config::HintRtt;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }
    fn hint(ms: u64, mbps: u64, queue: u64) -> Hint {
        let rate = Some(Bitrate(mbps * 1_000_000));
        Hint { rate, queue: Some(queue), measured: Some(at(ms)), ..Hint::at(at(ms)) }
    }
    /// Established at 100 ms with a round trip of 20 ms.
    fn aware(change: impl FnOnce(&mut HintConfig)) -> RadioAware<Cc> {
        let mut config = linux_like();
        config.hint.queue_threshold = 20_000;
        change(&mut config.hint);
        config.window.mss = MSS as u16;
        let mut cc = RadioAware::new(&config, Cc::new(&Config { cc: config.hint.base, ..config }));
        let rtt = Some(Duration::from_millis(20));
        let (now, mss) = (at(100), MSS as u32);
        cc.on_established(&Established { now, rtt, initial_window: 10.0, nxt: 1, seed: 1, mss });
        cc
    }

    /// 16 Mbit/s * 20 ms = 40000 octets; (20000 - 5000) more: 55 segments of 1000.
    #[test]
    fn the_first_hint_sets_the_window_by_the_formula() {
        let mut cc = aware(|_| {});
        assert_eq!(cc.cwnd(), 10.0);
        cc.on_hint(&hint(101, 16, 5_000));
        assert_eq!((cc.cwnd(), cc.is_guided(), cc.rules_recovery()), (55.0, true, true));
        let mut alone = aware(|c| c.queue_term = false);
        alone.on_hint(&hint(101, 16, 5_000));
        assert_eq!(alone.cwnd(), 40.0);
        let mut half = aware(|c| c.gain = 0.5);
        half.on_hint(&hint(101, 16, 5_000));
        assert_eq!(half.cwnd(), 47.5);
        cc.on_hint(&hint(102, 0, 100_000));
        assert_eq!(cc.cwnd(), 2.0, "the floor");
    }

    /// srtt 30 ms with 20000 octets queued at 2 octets/us (10 ms of queueing): 30 ms, 20 ms or the
    /// smallest, 20 ms.
    #[test]
    fn the_round_trip_of_the_formula_is_chosen() {
        for (kind, segments) in [(HintRtt::Min, 40.0), (HintRtt::Srtt, 60.0), (HintRtt::Predicted, 40.0)] {
            let mut cc = aware(|c| (c.rtt, c.queue_threshold) = (kind, 20_000));
            cc.on_ack(&ack_at(1, 130, 30));
            cc.on_hint(&hint(131, 16, 20_000));
            assert!((cc.cwnd() - segments).abs() < 1e-9, "{kind:?}: {}", cc.cwnd());
        }
    }

    #[test]
    fn a_loss_is_repaired_without_a_reduction_and_a_mark_is_answered() {
        let mut cc = aware(|_| {});
        cc.on_hint(&hint(101, 16, 5_000));
        cc.on_congestion(&congestion(55.0));
        assert_eq!(cc.cwnd(), 55.0);
        cc.set_cwnd(3.0);
        assert_eq!(cc.cwnd(), 55.0, "recovery does not set it");
        cc.on_congestion(&Congestion { signal: Signal::Ecn, now: at(102), ..congestion(55.0) });
        assert_eq!((cc.cwnd(), cc.is_guided()), (27.5, false));
        cc.on_hint(&hint(110, 16, 5_000));
        assert!(!cc.is_guided(), "within the round trip of the mark");
        cc.on_hint(&hint(123, 16, 5_000));
        assert!(cc.is_guided());
    }

    /// The last hint at 120 ms; srtt is 20 ms, the hints come every 1 ms: at 141 ms the base goes
    /// on from the window in force, one segment a round trip, and never in slow start.
    #[test]
    fn when_hints_stop_the_base_takes_over_within_a_round_trip() {
        let mut cc = aware(|_| {});
        (101..=120).for_each(|ms| cc.on_hint(&hint(ms, 16, 5_000)));
        cc.on_ack(&ack_at(1, 140, 20));
        assert!(cc.is_guided());
        cc.on_ack(&ack_at(1, 141, 20));
        assert!(!cc.is_guided());
        assert_eq!((cc.cwnd(), cc.ssthresh()), (55.0, 27.5), "congestion avoidance: cwnd above ssthresh");
        (0..55).for_each(|_| cc.on_ack(&ack_at(1, 142, 20)));
        assert_eq!(cc.cwnd(), 56.0);
        cc.on_hint(&hint(150, 16, 5_000));
        assert_eq!((cc.cwnd(), cc.is_guided()), (55.0, true), "and back");
    }

    #[test]
    fn late_readings_are_ignored() {
        let mut cc = aware(|_| {});
        let late = Hint { measured: Some(at(60)), ..hint(101, 1000, 0) };
        cc.on_hint(&late);
        assert!(!cc.is_guided(), "41 ms old, the round trip is 20 ms");
        let mut patient = aware(|c| c.timeout = Some(Duration::from_millis(50)));
        patient.on_hint(&late);
        assert!(patient.is_guided());
    }

    /// A hint of ten times the capacity: a round of 100 segments of which 50 are lost. The base
    /// continues with half of the window, the same hint is ignored for 1 s, then for 2 s.
    #[test]
    fn wrong_hints_are_ignored_for_a_time_that_doubles() {
        let mut cc = aware(|c| c.queue_term = false);
        let lie = |ms| hint(ms, 400, 0);
        cc.on_hint(&lie(101));
        let window = cc.cwnd();
        assert_eq!(window, 1000.0);
        let round = |cc: &mut RadioAware<Cc>, ms: u64, una: u64| {
            cc.on_ack(&AckSample { lost: 50 * MSS, una: 0, nxt: 1, ..ack_at(50, ms, 20) });
            cc.on_ack(&AckSample { una, nxt: una + 1, ..ack_at(1, ms + 1, 20) });
        };
        round(&mut cc, 118, 2);
        assert_eq!((cc.is_guided(), cc.cwnd() < window), (false, true), "within the first round trip");
        assert_eq!(cc.ssthresh(), 25.5, "half of the 51 that came through");
        cc.on_hint(&lie(1_000));
        assert!(!cc.is_guided());
        cc.on_hint(&lie(1_120));
        assert_eq!((cc.is_guided(), cc.cwnd()), (true, 102.0), "twice the 51 that came through, not 1000");
        round(&mut cc, 1_130, 10);
        cc.on_hint(&lie(3_000));
        assert!(!cc.is_guided());
        cc.on_hint(&lie(3_132));
        assert!(cc.is_guided());
    }

    /// The reported rate is a hundredth of the 16 Mbit/s that the path has. With the queue term the
    /// window is the 20 segments of Q_th (20 ms * 20 kB/s = 0.4 more), of which 20 come through
    /// in a round trip of 20 ms, fifty times the reported rate. Without it the floor of two
    /// segments is five times that. After one round trip the base has its own slow start.
    #[test]
    fn a_rate_that_is_always_a_hundredth_is_detected_within_a_round_trip() {
        for (queue_term, segments) in [(true, 20u64), (false, 2)] {
            let mut cc = aware(|c| c.queue_term = queue_term);
            let lie = |ms: u64| Hint { rate: Some(Bitrate(160_000)), ..hint(ms, 0, 0) };
            cc.on_hint(&lie(101));
            assert!((cc.cwnd() - segments as f64).abs() < 0.5, "{}", cc.cwnd());
            cc.on_hint(&lie(111));
            cc.on_ack(&AckSample { una: 2, nxt: 3, ..ack_at(segments, 121, 20) });
            assert!(!cc.is_guided(), "one round trip after the first hint");
            assert!(cc.ssthresh() > 1e6, "nothing was congested");
            cc.on_hint(&lie(131));
            assert!(!cc.is_guided(), "and it is ignored at first");
        }
    }

    /// Ten times the 16 Mbit/s that the path has, and a queue that never overflows: at 181 ms the
    /// round trip is four times the smallest, and 162 segments have come in 81 ms, a tenth of
    /// what was reported. The base continues with half of those. Losses among the 400 that were
    /// sent are measured by the 162, not by the 400.
    #[test]
    fn a_rate_that_is_too_large_is_detected_without_a_loss() {
        let mut cc = aware(|c| c.queue_term = false);
        (101..=180).step_by(10).for_each(|ms| cc.on_hint(&hint(ms, 160, 0)));
        assert_eq!(cc.cwnd(), 400.0);
        cc.on_ack(&AckSample { una: 0, ..ack_at(160, 180, 80) });
        assert!(cc.is_guided(), "four times, no more");
        cc.on_ack(&AckSample { una: 0, ..ack_at(2, 181, 81) });
        assert_eq!((cc.is_guided(), cc.ssthresh()), (false, 81.0));
        cc.on_hint(&hint(182, 160, 0));
        assert!(!cc.is_guided());
        cc.on_congestion(&congestion(400.0));
        assert_eq!(cc.ssthresh(), 81.0);
    }

    /// 1 s between reports: a reading is valid for 200 ms, not for 2.5 s.
    #[test]
    fn rare_readings_are_not_valid_for_seconds() {
        let mut cc = aware(|_| {});
        cc.on_hint(&Hint { period: Some(Duration::from_secs(1)), ..hint(101, 16, 5_000) });
        cc.on_ack(&AckSample { una: 0, ..ack_at(1, 301, 20) });
        assert!(cc.is_guided());
        cc.on_ack(&AckSample { una: 0, ..ack_at(1, 302, 20) });
        assert!(!cc.is_guided());
    }

    /// The same reading in ACK after ACK, measured at 100 ms: it is a round trip old at 120 ms,
    /// however often it is reported.
    #[test]
    fn a_reading_that_is_repeated_grows_old() {
        let mut cc = aware(|_| {});
        (101..=120).for_each(|ms| cc.on_hint(&Hint { measured: Some(at(100)), ..hint(ms, 16, 5_000) }));
        assert!(cc.is_guided());
        cc.on_hint(&Hint { measured: Some(at(100)), ..hint(121, 16, 5_000) });
        cc.on_ack(&AckSample { una: 0, ..ack_at(1, 121, 20) });
        assert!(!cc.is_guided());
    }

    #[test]
    fn after_a_timeout_hints_wait_for_new_data() {
        let mut cc = aware(|_| {});
        cc.on_hint(&hint(101, 16, 5_000));
        cc.on_timeout(&congestion(55.0));
        assert_eq!(cc.cwnd(), 1.0);
        cc.on_hint(&hint(102, 16, 5_000));
        assert_eq!(cc.cwnd(), 1.0);
        cc.on_ack(&ack_at(1, 110, 20));
        assert!(cc.is_guided());
    }

    #[test]
    fn during_a_handover_the_window_stands_still() {
        let mut cc = aware(|_| {});
        cc.on_hint(&hint(101, 16, 5_000));
        cc.on_hint(&Hint { notice: Some(crate::Notice::HandoverBegins), ..hint(102, 1, 50_000) });
        assert_eq!(cc.cwnd(), 55.0);
        cc.on_ack(&ack_at(1, 300, 190));
        assert!(cc.is_guided(), "the silence is explained");
        cc.on_hint(&Hint { notice: Some(crate::Notice::HandoverDone), ..hint(301, 8, 20_000) });
        assert!(cc.is_guided());
        cc.on_ack(&ack_at(1, 330, 40));
        assert_eq!(cc.cwnd(), 40.0, "8 Mbit/s and the new round trip of 40 ms");
    }
}

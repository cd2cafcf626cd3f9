//! Mobile throughput guidance as a ceiling (draft-flinck-mobile-throughput-guidance-04): a base
//! algorithm whose window never exceeds the rate that the radio network reports for the last hop.
//!
//! ```text
//! cwnd = min(cwnd of the base algorithm, R(t) * RTT)
//! ```
//!
//! The base algorithm continues: it gets every ACK, loss and mark, and does not grow beyond the
//! ceiling. So guidance can only make the flow slower: a source that overstates changes nothing,
//! one that reports too little slows its own flow down, and one that stops is disregarded within a
//! round trip (or 2.5 periods).

use lasthop_units::{Bitrate, Duration, Instant};

use super::readings::{FLOOR, FLOOR_PARAMETER, Readings, TIMEOUT_PARAMETER};
use super::{
    AckSample, Congestion, CongestionControl, DupAck, DupAckAction, Established, Fault, Needs, Observer,
    Parameter, Row, TransmitStart,
};
use crate::config::Config;
use crate::hint::Hint;

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter { name: "hint_base", default: "reno", unit: "", source: "the draft leaves the algorithm open" },
    Parameter {
        name: "hint_rtt",
        default: "min",
        unit: "",
        source: "recommended: a round trip with queueing would produce more queueing",
    },
    TIMEOUT_PARAMETER,
    FLOOR_PARAMETER,
];

pub(super) const DIFFERS: &str = "Linux, ns-3 and INET have nothing of the kind. The draft's guidance is a throughput only: \
     the layer-2 queue is not used.";

pub(super) const ROW: Row = Row {
    summary: "a base algorithm under the ceiling that the radio network's hints give",
    source: "draft-flinck-mobile-throughput-guidance-04",
    parameters: PARAMETERS,
    differs: DIFFERS,
    needs: Needs { hints: true, ..Needs::NOTHING },
};

/// The base algorithm, a `B`, and its ceiling.
#[derive(Clone, Debug)]
pub struct Guided<B> {
    base: B,
    readings: Readings,
    mss: f64,
    /// Segments; infinite without guidance.
    ceiling: f64,
}

impl<B: CongestionControl> Guided<B> {
    /// The base algorithm's window until the first hint.
    pub fn new(config: &Config, base: B) -> Guided<B> {
        Guided {
            base,
            readings: Readings::new(&config.hint),
            mss: f64::from(config.window.mss),
            ceiling: f64::INFINITY,
        }
    }
    /// R(t) * RTT \[segments\]; infinite: there is no guidance.
    pub fn ceiling(&self) -> f64 {
        self.ceiling
    }

    fn follow(&mut self, now: Instant) {
        if self.readings.older_than(now, self.readings.timeout()) {
            self.readings.clear();
        }
        let octets = self.readings.newest().and_then(|r| Some(r.rate * self.readings.round_trip(now, &r)?));
        self.ceiling = octets.map_or(f64::INFINITY, |o| (o / self.mss).max(FLOOR));
    }
}

// Each method must state its effect on the base algorithm.
#[deny(clippy::missing_trait_methods)]
impl<B: CongestionControl> CongestionControl for Guided<B> {
    fn cwnd(&self) -> f64 {
        self.base.cwnd().min(self.ceiling)
    }
    fn ssthresh(&self) -> f64 {
        self.base.ssthresh()
    }
    fn on_established(&mut self, e: &Established) {
        self.mss = f64::from(e.mss.max(1));
        self.base.on_established(e);
        self.readings.on_established(e);
    }
    fn on_hint(&mut self, hint: &Hint) {
        self.readings.take_hint(hint);
        self.follow(hint.now);
    }
    fn on_ack(&mut self, ack: &AckSample) {
        self.readings.on_ack(ack, false);
        self.follow(ack.now);
        // A sender that does not use its window does not validate a larger one (as RFC 7661 has it
        // for applications).
        let may_grow = ack.may_grow && self.base.cwnd() < self.ceiling;
        self.base.on_ack(&AckSample { may_grow, ..*ack });
    }
    fn on_congestion(&mut self, c: &Congestion) {
        self.base.on_congestion(c);
    }
    fn on_timeout(&mut self, c: &Congestion) {
        self.base.on_timeout(c);
    }
    fn set_cwnd(&mut self, segments: f64) {
        self.base.set_cwnd(segments);
    }
    fn set_ssthresh(&mut self, segments: f64) {
        self.base.set_ssthresh(segments);
    }
    fn on_idle_restart(&mut self, now: Instant, segments: f64) {
        self.follow(now);
        self.base.on_idle_restart(now, segments);
    }
    fn on_recovered(&mut self, now: Instant) {
        self.base.on_recovered(now);
    }
    fn on_undo(&mut self, cwnd: f64, ssthresh: f64) {
        self.base.on_undo(cwnd, ssthresh);
    }
    fn on_dup_ack(&mut self, dup: &DupAck) -> DupAckAction {
        self.base.on_dup_ack(dup)
    }
    fn on_transmit_start(&mut self, start: &TransmitStart) {
        self.base.on_transmit_start(start);
    }
    fn answers_loss_in_cwr(&self) -> bool {
        self.base.answers_loss_in_cwr()
    }
    fn rules_recovery(&self) -> bool {
        self.base.rules_recovery()
    }
    fn oldest_is_overdue(&mut self, now: Instant, sent: Instant) -> bool {
        self.base.oldest_is_overdue(now, sent)
    }
    fn take_reduction(&mut self) -> bool {
        self.base.take_reduction()
    }
    fn own_timeout(&self) -> Option<Duration> {
        self.base.own_timeout()
    }
    fn pacing_rate(&self) -> Option<Bitrate> {
        self.base.pacing_rate()
    }
    fn fault(&mut self) -> Option<Fault> {
        self.base.fault()
    }
    fn observe(&self, o: &mut Observer<'_>) {
        o.number(
            "guided.ceiling",
            "segments",
            "rate times round trip; inf: there is no guidance",
            self.ceiling,
        );
        self.base.observe(o);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use crate::cc::{Cc, CcName};

    fn hint(ms: u64, mbps: u64) -> Hint {
        let now = Instant::from_millis(ms);
        let rate = Some(Bitrate(mbps * 1_000_000));
        Hint { rate, measured: Some(now), period: Some(Duration::from_millis(10)), ..Hint::at(now) }
    }
    /// Established at 100 ms with a round trip of 20 ms and ten segments.
    fn guided(base: CcName) -> Guided<Cc> {
        let config = linux_with(|c| (c.hint.base, c.window.mss) = (base, MSS as u16));
        let mut cc = Guided::new(&config, Cc::new(&Config { cc: base, ..config }));
        let (now, rtt) = (Instant::from_millis(100), Some(Duration::from_millis(20)));
        cc.on_established(&Established { now, rtt, initial_window: 10.0, nxt: 1, seed: 1, mss: MSS as u32 });
        cc
    }

    /// 8 Mbit/s * 20 ms = 20 segments of 1000: slow start 10, 20 and no further, though 15 more are
    /// acknowledged; 16 Mbit/s lift the ceiling to 40, and slow start continues.
    #[test]
    fn the_window_grows_by_the_base_algorithm_up_to_the_ceiling() {
        let mut cc = guided(CcName::Reno);
        cc.on_hint(&hint(101, 8));
        assert_eq!((cc.cwnd(), cc.ceiling()), (10.0, 20.0));
        cc.on_ack(&ack_at(10, 110, 20));
        assert_eq!(cc.cwnd(), 20.0);
        cc.on_ack(&ack_at(15, 115, 20));
        assert_eq!((cc.cwnd(), cc.base.cwnd()), (20.0, 20.0));
        cc.on_hint(&hint(116, 16));
        cc.on_ack(&ack_at(5, 117, 20));
        assert_eq!(cc.cwnd(), 25.0);
    }

    #[test]
    fn an_overstated_rate_changes_nothing_and_a_loss_counts() {
        let mut cc = guided(CcName::Reno);
        cc.on_hint(&hint(101, 100_000));
        assert_eq!(cc.cwnd(), 10.0);
        cc.on_congestion(&congestion(10.0));
        assert_eq!(cc.cwnd(), 5.0);
        cc.on_hint(&hint(102, 0));
        assert_eq!(cc.cwnd(), FLOOR);
    }

    /// A hint each 10 ms until 120 ms: at 145 ms 2.5 periods have gone by, and 25 ms are more than
    /// the round trip.
    #[test]
    fn when_guidance_stops_the_base_is_alone_within_a_round_trip_or_2_5_periods() {
        let mut cc = guided(CcName::Reno);
        cc.on_hint(&hint(110, 4));
        cc.on_hint(&hint(120, 4));
        cc.on_ack(&ack_at(1, 145, 20));
        assert_eq!(cc.cwnd(), 10.0);
        cc.on_ack(&ack_at(1, 146, 20));
        assert_eq!((cc.ceiling(), cc.cwnd()), (f64::INFINITY, 11.0));
    }
}

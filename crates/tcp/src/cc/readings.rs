//! A sender's record of capacity hints: the newest readings, their maximum age, and the round trip
//! that turns a rate into a window.

use lasthop_units::{Duration, Instant};

use super::{AckSample, Established, Parameter};
use crate::config::{HintConfig, HintRtt};
use crate::hint::Hint;

/// The smallest window that hints may request [segments].
pub(super) const FLOOR: f64 = 2.0;

/// Parameters of all users of hints.
pub(super) const TIMEOUT_PARAMETER: Parameter = Parameter {
    name: "hint_timeout",
    default: "one smoothed round trip; if 2.5 periods of the hints are longer, those, up to 200 ms",
    unit: "s",
    source: "safety: an older reading is none",
};
pub(super) const FLOOR_PARAMETER: Parameter =
    Parameter { name: "floor", default: "2", unit: "segments", source: "RFC 5681 section 3.1" };

/// The smallest round trip expires after this time.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);

/// If reports are rarer than round trips, a reading is valid for 2.5 periods, but no longer than
/// this: the smallest retransmission timeout of Linux (TCP_RTO_MIN), after which a sender without
/// ACKs starts again in any case.
const LONGEST_SILENCE: Duration = Duration::from_millis(200);

/// R(t) and Q(t) of one hint.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    /// R(t) [octets/s].
    pub rate: f64,
    /// Q(t) [octets].
    pub queue: f64,
}

/// The newest readings and what they are used with.
#[derive(Clone, Debug)]
pub(super) struct Readings {
    config: HintConfig,
    newest: Option<Reading>,
    received: Instant,
    /// The time of the newest reading, or of the arrival of a notice.
    taken: Instant,
    /// Time between hints, as reported or smoothed.
    period: Duration,
    smallest: SmallestRtt,
    srtt: Duration,
}

impl Readings {
    pub fn new(config: &HintConfig) -> Readings {
        Readings {
            config: *config,
            newest: None,
            received: Instant::ZERO,
            taken: Instant::ZERO,
            period: Duration::ZERO,
            smallest: SmallestRtt::default(),
            srtt: Duration::ZERO,
        }
    }
    pub fn on_established(&mut self, e: &Established) {
        if let Some(rtt) = e.rtt {
            self.smallest.add(e.now, rtt);
            self.srtt = rtt;
        }
    }
    /// Takes the round trips of an ACK; those of an interrupted link do not count towards the
    /// smallest.
    pub fn on_ack(&mut self, ack: &AckSample, interrupted: bool) {
        self.srtt = ack.srtt.unwrap_or(self.srtt);
        if let Some(rtt) = ack.rtt.filter(|_| !interrupted) {
            self.smallest.add(ack.now, rtt);
        }
    }

    /// Processes a hint; false: its reading was too old on arrival and is ignored.
    pub fn take_hint(&mut self, hint: &Hint) -> bool {
        if hint.notice.is_some_and(|n| !n.interrupts()) {
            // In the new cell the round trip may be different.
            self.smallest = SmallestRtt::default();
        }
        if let Some(rate) = hint.rate {
            if hint.measured.is_some_and(|t| hint.now.since(t) > self.timeout()) {
                return false;
            }
            let gap = hint.now.since(self.received);
            if let Some(period) = hint.period {
                self.period = period;
            } else if self.newest.is_some() {
                self.period = Duration((self.period.0 / 8).saturating_mul(7) + gap.0 / 8);
            }
            self.received = hint.now;
            self.taken = hint.measured.unwrap_or(hint.now);
            self.newest = Some(Reading { rate: rate.0 as f64 / 8.0, queue: hint.queue.unwrap_or(0) as f64 });
        } else if hint.notice.is_some() {
            (self.received, self.taken) = (hint.now, hint.now);
        }
        if self.smallest.get(hint.now).is_none() && self.srtt > Duration::ZERO {
            self.smallest.add(hint.now, self.srtt);
        }
        true
    }

    /// The newest reading, whatever its age.
    pub const fn newest(&self) -> Option<Reading> {
        self.newest
    }
    /// The smoothed round trip.
    pub const fn srtt(&self) -> Duration {
        self.srtt
    }
    /// There is a reading, and it (or the newest notice) is older than `patience`.
    pub fn older_than(&self, now: Instant, patience: Duration) -> bool {
        self.newest.is_some() && now.since(self.taken) > patience
    }
    /// The smallest round trip of the last ten seconds.
    pub fn smallest(&self, now: Instant) -> Option<Duration> {
        self.smallest.get(now)
    }
    pub const fn clear(&mut self) {
        self.newest = None;
    }
    /// How old a reading may be.
    pub fn timeout(&self) -> Duration {
        let several = Duration(self.period.0.saturating_mul(5) / 2);
        self.config.timeout.unwrap_or(self.srtt.max(several.min(LONGEST_SILENCE)))
    }
    /// The round trip of the formula [s], if there is one yet.
    pub fn round_trip(&self, now: Instant, r: &Reading) -> Option<f64> {
        let smallest = self.smallest.get(now)?.as_secs_f64();
        Some(match self.config.rtt {
            HintRtt::Min => smallest,
            HintRtt::Srtt => self.srtt.as_secs_f64(),
            // The part that the reported queue does not explain: scheduling, HARQ, the wait for
            // uplink grants.
            HintRtt::Predicted => {
                let queueing = if r.rate > 0.0 { r.queue / r.rate } else { 0.0 };
                (self.srtt.as_secs_f64() - queueing).max(smallest)
            }
        })
    }
}

/// The smallest round trip of the last ten seconds, from two halves.
#[derive(Clone, Copy, Debug, Default)]
struct SmallestRtt {
    halves: [Option<(Instant, Duration)>; 2],
}

impl SmallestRtt {
    fn add(&mut self, now: Instant, rtt: Duration) {
        match &mut self.halves[0] {
            Some((since, least)) if now.since(*since) < MIN_RTT_WINDOW / 2 => *least = rtt.min(*least),
            newer => {
                self.halves[1] = *newer;
                self.halves[0] = Some((now, rtt));
            }
        }
    }
    fn get(&self, now: Instant) -> Option<Duration> {
        let fresh = |h: &&(Instant, Duration)| now.since(h.0) < MIN_RTT_WINDOW;
        let [newer, older] = &self.halves;
        // A connection that was idle keeps the last values.
        older.iter().filter(fresh).chain(newer).map(|h| h.1).min()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::super::{CcName, CongestionControl, TransmitStart};
    use crate::config::{Config, HintConfig, VegasConfig, VegasReading, VegasRto};
    use lasthop_units::{Duration, Instant};

    /// Without reports, windows, pacing and timers of the controls that take hints are their
    /// base's.
    #[test]
    fn without_hints_their_users_are_their_base() {
        let vegas = VegasConfig { reading: VegasReading::Ns2, rto: VegasRto::Fine, ..linux_like().vegas };
        for user in [CcName::RadioAware, CcName::Guided] {
            for base in [CcName::Reno, CcName::Cubic, CcName::Vegas, CcName::Bbr, CcName::Cdg] {
                let config = Config { vegas, hint: HintConfig { base, ..linux_like().hint }, ..linux_like() };
                let mut a = Path::new(user, config, 50, 40.0);
                let mut b = Path::new(base, config, 50, 40.0);
                assert_eq!(a.rounds(4), b.rounds(4), "{base:?}");
                a.lose();
                b.lose();
                assert_eq!(a.rounds(30), b.rounds(30), "{base:?}");
                let (now, idle) = (Instant::from_millis(9_000), Duration::from_secs(5));
                let start = TransmitStart { now, idle, app_limited: true };
                a.cc.on_transmit_start(&start);
                b.cc.on_transmit_start(&start);
                assert_eq!(a.rounds(4), b.rounds(4), "{base:?}");
                assert_eq!(a.cc.own_timeout(), b.cc.own_timeout());
                assert_eq!(b.cc.own_timeout().is_some(), base == CcName::Vegas);
                assert_eq!(a.cc.pacing_rate(), b.cc.pacing_rate());
                assert_eq!(b.cc.pacing_rate().is_some(), base == CcName::Bbr);
            }
        }
    }
}

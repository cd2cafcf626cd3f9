//! Round trips: the samples, the timeout that follows from them, and whether a timeout was
//! spurious.

use lasthop_units::{Duration, Instant};

use super::meters::{Event, Meters};
use crate::cc::{Cc, CongestionControl};
use crate::config::{Config, VegasRto};
use crate::rto::Rto;
use crate::sample::timestamp;
use crate::segment::Segment;

/// When the segment that this ACK echoes was sent (RFC 7323 section 4), to the timestamp clock's
/// 1 ms; only where `timestamps` were agreed on. An echo within the clock's tick is one tick old:
/// a round trip of 0 would be the smallest one for ever (Linux 6.1, `tcp_ack_update_rtt`).
pub(super) fn echoed_time(timestamps: bool, now: Instant, seg: &Segment) -> Option<Instant> {
    let t = seg.timestamps.filter(|t| timestamps && t.echo != 0)?;
    let age = timestamp(now).wrapping_sub(t.echo);
    (age < 1 << 31).then(|| Instant(now.0.saturating_sub(u64::from(age.max(1)) * 1_000_000)))
}

/// Samples and timeout.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundTrips {
    pub rto: Rto,
    /// The one segment that is timed (`RttSampling::OneSegment`): its end, when it left.
    pub timed: Option<(u64, Instant)>,
    /// The smallest sample.
    pub min: Option<Duration>,
    /// The latest sample.
    pub last: Option<Duration>,
    /// When the last timeout resent the octet at this offset, until that is acknowledged.
    pub resent_by_timeout: Option<(u64, Instant)>,
}

impl RoundTrips {
    pub fn new(config: &Config) -> RoundTrips {
        RoundTrips { rto: Rto::new(config), timed: None, min: None, last: None, resent_by_timeout: None }
    }

    /// The retransmission timeout in force.
    #[inline(always)]
    pub fn timeout(&self, config: &Config, cc: &Cc) -> Duration {
        if config.vegas.rto == VegasRto::Fine
            && let Some(fine) = cc.own_timeout()
        {
            return Duration(fine.0.max(1)).min(config.timers.max_rto);
        }
        self.rto.current()
    }

    /// A sample of a segment that was sent at `sent`, one of `per_round` samples in a round trip.
    pub fn sample(&mut self, meters: &mut Meters, now: Instant, sent: Instant, per_round: u64) {
        self.rto.sample(sent, now, per_round);
        self.note(meters, now.since(sent));
    }

    pub fn note(&mut self, meters: &mut Meters, rtt: Duration) {
        self.last = Some(rtt);
        self.min = Some(self.min.map_or(rtt, |m| m.min(rtt)));
        meters.counters.rtt_samples += 1;
    }

    /// SND.UNA is `una`: the timed segment may be acknowledged.
    pub fn take_timed_segment(&mut self, now: Instant, una: u64) {
        if let Some((end, sent)) = self.timed
            && una >= end
        {
            self.timed = None;
            self.rto.sample(sent, now, 1);
        }
    }

    /// The octets from `start` to `end` are sent again.
    pub fn resent(&mut self, now: Instant, start: u64, end: u64) {
        // Karn: a segment sent again is no longer timed.
        self.timed = self.timed.filter(|t| t.0 <= start || t.0 > end);
        if let Some((offset, at)) = &mut self.resent_by_timeout
            && *at == Instant::MAX
            && *offset == start
        {
            *at = now;
        }
    }

    /// The retransmission timer expired: RFC 6298 (5.5); Karn: no timed segment survives.
    pub fn timed_out(&mut self, una: u64) {
        self.rto.back_off();
        self.timed = None;
        self.resent_by_timeout = Some((una, Instant::MAX));
    }

    /// After a timeout: checks whether this ACK, up to `una`, answers the original. Timestamps
    /// decide this exactly (RFC 3522 section 3.2). Without them only an ACK that arrives after the
    /// retransmission within less than the smallest round trip is certainly that of the original,
    /// so not all spurious timeouts are detected.
    pub fn detect_spurious_timeout(
        &mut self,
        meters: &mut Meters,
        timestamps: bool,
        now: Instant,
        seg: &Segment,
        una: u64,
    ) {
        let Some((offset, resent_at)) = self.resent_by_timeout else { return };
        if una <= offset {
            return;
        }
        self.resent_by_timeout = None;
        let spurious = match seg.timestamps.filter(|t| timestamps && t.echo != 0) {
            Some(t) => (t.echo.wrapping_sub(timestamp(resent_at)) as i32) < 0,
            None => self.min.is_some_and(|m| now.since(resent_at) < m),
        };
        if spurious {
            meters.counters.spurious_timeouts += 1;
            meters.emit(Event::SpuriousRto);
        }
    }
}

/// Consecutive timeouts and probes without an ACK, and the limits that abort the connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unanswered {
    /// Timeouts in a row.
    pub timeouts: u32,
    /// Probes of a closed window in a row, which back off.
    pub probes: u32,
    /// When the oldest outstanding data was sent again for the first time, or a closed window first
    /// waited for.
    pub since: Instant,
    /// The user timeout (RFC 9293 section 3.10.8).
    pub limit: Option<Duration>,
}

impl Unanswered {
    /// The user timeout has passed.
    pub fn is_too_long(&self, now: Instant) -> bool {
        self.limit.is_some_and(|limit| now.since(self.since) >= limit)
    }

    /// Until when a timer may wait for an answer.
    pub fn bound(&self, at: Instant) -> Instant {
        match self.limit {
            Some(limit) if self.timeouts > 0 => at.min(self.since.saturating_add(limit)),
            _ => at,
        }
    }

    /// Wait before the next probe: RFC 9293 section 3.8.6.1, the first after the timeout, then
    /// doubled; bounded like it.
    pub fn probe_interval(&self, timeout: Duration, max_rto: Duration) -> Duration {
        timeout.saturating_mul(1 << self.probes).min(max_rto)
    }
}

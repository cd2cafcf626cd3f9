//! The tail loss probe: RFC 8985 section 7, as Linux 6.1 has it.

use lasthop_units::{Duration, Instant};

use super::super::connection::Connection;
use super::super::receive::Receiver;
use super::super::timers::Timer;
use super::Sender;
use super::in_flight::InFlight;
use super::rack::TIMEOUT_MIN;
use super::sequence::SendSequence;
use crate::cc::CongestionControl;
use crate::recovery::{AckDigest, CaState};
use crate::segment::Segment;

/// The probe.
#[derive(Clone, Copy, Debug, Default)]
pub struct LossProbe {
    /// One is outstanding up to this offset; whether it was a retransmission.
    pub outstanding: Option<(u64, bool)>,
    /// It is to leave now.
    pub due: bool,
}

impl InFlight {
    /// RFC 8985 section 7.2: a probe two round trips after the last transmission or ACK, no later
    /// than after `timeout` (tcp_schedule_loss_probe, Linux 6.1, which asks for the state alone,
    /// not for SACKed segments: in CWR there may be some). True if one is pending.
    pub fn schedule_probe(
        &mut self,
        c: &mut Connection,
        seq: &SendSequence,
        now: Instant,
        timeout: Duration,
    ) -> bool {
        if !c.config.host.loss_probes
            || !seq.is_outstanding()
            || !matches!(self.recovery.state(), CaState::Open | CaState::Cwr)
        {
            return false;
        }
        let lone = if self.rack.marks.len() == 1 { c.config.timers.min_rto } else { TIMEOUT_MIN };
        let wait = c.rtt.rto.srtt().map_or(Duration::from_secs(1), |s| s * 2 + lone);
        // "If the RTO formula yields an earlier time, then use that time"; none that has passed.
        let wait = if timeout.is_zero() { wait } else { wait.min(timeout) };
        c.timers.start(Timer::LossProbe, now, wait);
        c.timers.stop(Timer::Reordering);
        c.timers.stop(Timer::Retransmission);
        c.timers.stop(Timer::Persist);
        true
    }

    /// New data has left. The retransmission timeout counts from when the oldest segment left
    /// (tcp_event_new_data_sent, then tcp_schedule_loss_probe without `advancing_rto`). The probe
    /// takes the place of a reordering timer that runs: the kernel does not look at icsk_pending.
    pub fn schedule_probe_after_data(&mut self, c: &mut Connection, seq: &SendSequence, now: Instant) {
        let probing = c.timers.runs(Timer::LossProbe);
        if !self.schedule_probe(c, seq, now, self.rto_delta(c, now)) && probing {
            self.rearm_rto(c, now, true);
        }
    }

    /// The tail loss probe is due.
    pub fn loss_probe_timeout(&mut self, c: &mut Connection, seq: &SendSequence, now: Instant) {
        if !seq.is_outstanding() {
            return;
        }
        // A probe that is sent restarts the timeout; "At most one outstanding TLP".
        let sends = self.tlp.outstanding.is_none();
        if sends {
            self.tlp.due = true;
            c.meters.counters.loss_probes += 1;
        }
        self.rearm_rto(c, now, !sends);
    }

    /// RFC 8985 section 7.4: the ACK of a probe that was a retransmission, without a DSACK, shows
    /// of a loss.
    pub fn answer_probe(&mut self, seq: &SendSequence, now: Instant, d: &AckDigest) {
        let Some((end, resent)) = self.tlp.outstanding else { return };
        if !resent || d.duplicate {
            if d.duplicate || seq.una >= end {
                self.tlp.outstanding = None;
            }
            return;
        }
        if seq.una > end || (seq.una == end && !d.resent_acked) {
            self.tlp.outstanding = None;
            // The last segment had been lost: one reduction, at once.
            self.cc.on_congestion(&self.congestion_now(now, false));
        }
    }
}

impl Sender {
    /// New data if there is any and the peer's window holds it; else the last segment again.
    pub fn send_loss_probe(&mut self, c: &mut Connection, r: &mut Receiver, now: Instant) -> Option<Segment> {
        let last = self.fly.flight.len().checked_sub(1)?;
        let new = if self.limits.queue.is_some() {
            self.probe_with_packet(c, r, now)
        } else {
            self.send_new(c, r, now, self.seq.max + u64::from(c.negotiated.mss))
        };
        let resent = new.is_none();
        let segment = match new {
            Some(s) => s,
            None => {
                self.fly.rack.cut_before(last);
                self.resend_record(c, r, now, last)
            }
        };
        self.fly.tlp.outstanding = Some((self.seq.max, resent));
        Some(segment)
    }
}

//! The tail loss probe: RFC 8985 section 7, as Linux 6.1 has it.

use lasthop_units::{Duration, Instant};

use super::super::Sender;
use super::super::detector::LossRecovery;
use super::losses::TIMEOUT_MIN;
use crate::cc::CongestionControl;
use crate::endpoint::connection::Connection;
use crate::endpoint::receive::Receiver;
use crate::endpoint::timers::Timer;
use crate::recovery::{AckDigest, CaState};
use crate::segment::Segment;

impl LossRecovery<'_> {
    /// RFC 8985 section 7.2: a probe two round trips after the last transmission or ACK, no later
    /// than after `timeout` (tcp_schedule_loss_probe, Linux 6.1, which tests the state alone,
    /// not for SACKed segments: in CWR there may be some). True if one is pending.
    pub(super) fn schedule_probe(&mut self, timeout: Duration) -> bool {
        if !self.conn.config.host.loss_probes
            || !self.seq.is_outstanding()
            || !matches!(self.fly.recovery.state(), CaState::Open | CaState::Cwr)
        {
            return false;
        }
        let lone = if self.fly.rack.marks.len() == 1 { self.conn.config.timers.min_rto } else { TIMEOUT_MIN };
        let wait = self.conn.rtt.rto.srtt().map_or(Duration::from_secs(1), |s| s * 2 + lone);
        // "If the RTO formula yields an earlier time, then use that time"; none that has passed.
        let wait = if timeout.is_zero() { wait } else { wait.min(timeout) };
        self.conn.timers.start(Timer::LossProbe, self.now, wait);
        self.conn.timers.stop(Timer::Reordering);
        self.conn.timers.stop(Timer::Retransmission);
        self.conn.timers.stop(Timer::Persist);
        true
    }

    /// New data has left. The retransmission timeout counts from when the oldest segment left
    /// (tcp_event_new_data_sent, then tcp_schedule_loss_probe without `advancing_rto`). The probe
    /// replaces a running reordering timer: the kernel does not test icsk_pending.
    pub(super) fn schedule_probe_after_data(&mut self) {
        let probing = self.conn.timers.runs(Timer::LossProbe);
        if !self.schedule_probe(self.rto_delta()) && probing {
            self.rearm_rto(true);
        }
    }

    /// The tail loss probe is due.
    pub(in crate::endpoint) fn loss_probe_timeout(&mut self) {
        if !self.seq.is_outstanding() {
            return;
        }
        // A probe that is sent restarts the timeout; "At most one outstanding TLP".
        let sends = self.fly.tlp.outstanding.is_none();
        if sends {
            self.fly.tlp.due = true;
            self.conn.meters.counters.loss_probes += 1;
        }
        self.rearm_rto(!sends);
    }

    /// RFC 8985 section 7.4: the ACK of a probe that was a retransmission, without a DSACK,
    /// indicates a loss.
    pub(super) fn answer_probe(&mut self, d: &AckDigest) {
        let Some((end, resent)) = self.fly.tlp.outstanding else { return };
        if !resent || d.duplicate {
            if d.duplicate || self.seq.una >= end {
                self.fly.tlp.outstanding = None;
            }
            return;
        }
        if self.seq.una > end || (self.seq.una == end && !d.resent_acked) {
            self.fly.tlp.outstanding = None;
            // The last segment had been lost: one reduction, at once.
            self.fly.cc.on_congestion(&self.congestion_now(false));
        }
    }
}

impl Sender {
    /// New data if there is any and the peer's window holds it; else the last segment again.
    pub(super) fn send_loss_probe(
        &mut self,
        c: &mut Connection,
        r: &mut Receiver,
        now: Instant,
    ) -> Option<Segment> {
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
                // __tcp_retransmit_skb: a probe counts neither for undo_retrans nor retrans_stamp.
                let undo = self.fly.undo;
                let segment = self.resend_record(c, r, now, last);
                self.fly.undo = undo;
                segment
            }
        };
        self.fly.tlp.outstanding = Some((self.seq.max, resent));
        Some(segment)
    }
}

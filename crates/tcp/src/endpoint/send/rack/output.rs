//! The order of sending: lost segments, as the window permits, then new data.

use lasthop_units::Instant;

use super::super::Sender;
use super::super::detector::{Detector, LossRecovery};
use super::super::in_flight::InFlight;
use super::RackTlp;
use crate::endpoint::connection::Connection;
use crate::endpoint::meters::Event;
use crate::endpoint::receive::Receiver;
use crate::endpoint::timers::Timer;
use crate::flight::Sent;
use crate::recovery::CaState;
use crate::sample::timestamp;
use crate::segment::{Flags, Segment};

impl RackTlp {
    /// Segments that the congestion window permits beside those in flight; below 0 after a
    /// reduction.
    #[inline(always)]
    pub(super) fn room(fly: &InFlight, c: &Connection) -> i64 {
        i64::from(fly.whole_window(c)) - i64::from(fly.rack.in_flight())
    }

    /// The next segment as the marks and the window allow.
    pub(super) fn send_by_rack(
        send: &mut Sender,
        c: &mut Connection,
        r: &mut Receiver,
        now: Instant,
    ) -> Option<Segment> {
        if std::mem::take(&mut send.fly.tlp.due)
            && let Some(probe) = send.send_loss_probe(c, r, now)
        {
            return Some(probe);
        }
        if send.pacing.holds(c, now) {
            return None;
        }
        let room = Self::room(&send.fly, c);
        if send.limits.queue.is_some() {
            if room >= 1
                && !send.fly.frto.prefer_new
                && let Some(i) = send.fly.rack.next_lost()
            {
                return Some(send.resend_packet(c, r, now, i, room as u32));
            }
            return send.send_packets(c, r, now);
        }
        if room < 1 {
            send.limits.usage.note(&send.seq, &send.fly, true);
            return None;
        }
        // While a timeout is being checked only new data leaves: a retransmission would not decide.
        if !send.fly.frto.prefer_new
            && send.fly.frto.watch.is_none()
            && let Some(i) = send.fly.rack.next_lost()
        {
            return Some(send.resend_lost(c, r, now, i));
        }
        let edge = send.seq.max + room as u64 * u64::from(c.negotiated.mss);
        let segment = send.send_new(c, r, now, edge);
        if segment.is_some() {
            send.limits.usage.note(&send.seq, &send.fly, room < 2);
        }
        if segment.is_some() {
            LossRecovery::of(send, c, now).schedule_probe_after_data();
        }
        if segment.is_none() && !send.seq.waits() {
            // Room, and nothing to send: the application is what limits.
            Self::note_app_limited(&mut send.fly, c.negotiated.mss);
        }
        segment
    }
}

impl Sender {
    /// Retransmits what is marked lost. The timeout of the oldest segment restarts, unless the
    /// reordering timer runs (tcp_xmit_retransmit_queue).
    pub(in crate::endpoint::send) fn resend_lost(
        &mut self,
        c: &mut Connection,
        r: &mut Receiver,
        now: Instant,
        i: usize,
    ) -> Segment {
        if i == 0 && !c.timers.runs(Timer::Reordering) {
            LossRecovery::of(self, c, now).rearm_rto(false);
        }
        self.resend_record(c, r, now, i)
    }

    pub(in crate::endpoint::send) fn resend_record(
        &mut self,
        c: &mut Connection,
        r: &mut Receiver,
        now: Instant,
        i: usize,
    ) -> Segment {
        let all = || Sent::once(self.seq.una, self.seq.max, now);
        let s = self.fly.flight.get(i).copied().unwrap_or_else(all);
        if self.fly.recovery.state() == CaState::Recovery {
            c.meters.emit(Event::FastRetransmit);
        }
        self.fly.rack.sent_again(i, now, self.fly.delivered);
        self.fly.undo.sent_again(timestamp(now));
        self.fly.reduction.prr.sent(1.0);
        let mut segment = self.resend(c, r, now, s.start(), s.end);
        if self.limits.queue.is_some() {
            let pushed = self.fly.rack.marks.get(i).is_some_and(|m| m.pushed);
            segment.flags.set(Flags::PSH, pushed);
        }
        segment
    }
}

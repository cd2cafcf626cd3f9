//! SDU discard with explicit signalling (TS 25.322 clauses 9.7.3 and 11.6): the sender's part.
//!
//! SDUs are given up from the oldest on, so a discard is one position in the stream of PDUs: the end of the last
//! SDU given up. The receiver is told to move its window there, and confirms.

use lasthop_units::Instant;
use smallvec::smallvec;

use super::{Tx, Verdict};
use crate::rlc::umts::am::AmStats;
use crate::rlc::umts::pdu::{AmSn, Sufi};
use crate::sdu::{DropCause, Output, RlcEvent};

/// A discard that the receiver has not confirmed (clause 11.6).
#[derive(Clone, Debug)]
pub(super) struct Discard {
    /// Count of the PDU in which, or before which, the last discarded SDU ends.
    pub(super) end: u64,
    /// N_LENGTH: which LI of that PDU ends it; 0: it ends before that PDU.
    pub(super) n_length: u8,
    /// VT(MRW): how often the order was sent.
    vt_mrw: u32,
    /// Expiry of Timer_MRW; `None` while the order waits to be sent.
    pub(super) timer: Option<Instant>,
}

impl Tx {
    /// A discard order waits to be sent.
    #[inline]
    pub fn has_discard_order(&self) -> bool {
        self.discard.as_ref().is_some_and(|d| d.timer.is_none())
    }

    /// Timer_MRW and Timer_Discard. MaxMRW unanswered orders lead to a reset (clause 11.6.6).
    pub(super) fn on_discard_timers(
        &mut self,
        now: Instant,
        out: &mut Output,
        stats: &mut AmStats,
    ) -> Verdict {
        if let Some(d) = self.discard.as_mut().filter(|d| d.timer.is_some_and(|t| t <= now)) {
            d.timer = None;
            if d.vt_mrw >= self.cfg.max_mrw {
                return Verdict::Reset;
            }
        }
        self.expire(now, out, stats);
        Verdict::Fine
    }

    /// Clause 9.7.3.3: discard the SDUs with segments in PDUs VT(A) to `count`. False if none is left.
    pub(super) fn give_up_to(&mut self, count: u64, out: &mut Output, stats: &mut AmStats) -> bool {
        let last = self.sent[(count - self.vt_a) as usize].segments.last().map_or(0, |s| s.sdu.serial);
        let n = self.buffer.prefix(|s| s.sdu.serial <= last);
        self.start_discard(n, DropCause::MaxDat, out, stats);
        self.discard.is_some()
    }

    /// Clause 9.7.3.1: SDUs that waited too long.
    fn expire(&mut self, now: Instant, out: &mut Output, stats: &mut AmStats) {
        if self.discard.is_none() {
            let n = self.buffer.prefix(|s| s.deadline <= now);
            self.start_discard(n, DropCause::DiscardTimer, out, stats);
        }
    }

    /// Gives up the first `n` SDUs. Those of which nothing was sent leave at once; the others may be complete at
    /// the receiver and leave when it has confirmed that it moved on.
    fn start_discard(&mut self, n: usize, cause: DropCause, out: &mut Output, stats: &mut AmStats) {
        if n == 0 {
            return;
        }
        let pending = &mut self.discarded;
        let end = self.buffer.discard(n, self.vt_s, |sdu, sent| {
            if sent {
                pending.push((sdu, cause));
            } else {
                stats.sdus_discarded += 1;
                out.dropped.push((sdu, cause));
            }
        });
        let Some((end, n_length)) = end else { return };
        out.events.push(RlcEvent::Discarded(self.discarded.len() as u32));
        self.discard = Some(Discard { end, n_length, vt_mrw: 0, timer: None });
        // "The Sender shall not transmit the AMD PDUs" before the end (clause 11.6.2).
        let mut from = self.vt_a;
        while let Some(count) = self.retransmit.next_in(from, end.min(self.vt_s)) {
            self.retransmit.remove(count);
            self.retransmissions -= 1;
            from = count + 1;
        }
    }

    /// The discard order, if it is due; starts Timer_MRW.
    pub fn discard_order(&mut self, now: Instant) -> Option<Sufi> {
        let d = self.discard.as_mut().filter(|d| d.timer.is_none())?;
        d.vt_mrw += 1;
        d.timer = Some(now + self.cfg.timer_mrw);
        Some(Sufi::Mrw { sns: smallvec![AmSn::new(d.end as u32)], n_length: d.n_length })
    }

    /// Clause 11.6.4: the discard is complete when the receiver has moved as far as was ordered.
    pub(super) fn on_mrw_ack(&mut self, sn: AmSn, n: u8, out: &mut Output, stats: &mut AmStats) {
        let Some(d) = &self.discard else { return };
        let ahead = sn.distance_from(AmSn::new(d.end as u32));
        if ahead >= 2048 || (ahead == 0 && n != d.n_length) {
            return;
        }
        let end = d.end;
        self.discard = None;
        self.report_discarded(out, stats);
        self.move_vt_a(end.min(self.vt_s));
    }

    pub(super) fn report_discarded(&mut self, out: &mut Output, stats: &mut AmStats) {
        stats.sdus_discarded += self.discarded.len() as u64;
        out.dropped.append(&mut self.discarded);
    }
}

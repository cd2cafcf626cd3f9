//! SDU discard with explicit signalling (TS 25.322 clauses 9.7.3 and 11.6): the procedures of the
//! sender.
//!
//! SDUs are discarded from the oldest on, so a discard is one position in the stream of PDUs: the
//! end of the last SDU discarded. The receiver moves its window there (MRW), and confirms.

use lasthop_units::Instant;
use smallvec::smallvec;

use super::{Sent, Tx, Verdict};
use crate::rlc::am::AmStats;
use crate::rlc::pdu::{AmSn, Sufi};
use crate::rlc::segment::Segments;
use crate::rlc::{Output, RlcEvent};
use lasthop_bearer::DropCause;

/// A discard that the receiver has not confirmed (clause 11.6).
#[derive(Clone, Debug)]
pub(super) struct Discard {
    /// SN_MRW as a count: the receiver's window begins here afterwards.
    pub(super) end: u64,
    /// N_LENGTH: the number of the LI in PDU `end` that ends the last discarded SDU; 0: the SDU
    /// ends before that PDU.
    n_length: u8,
    /// VT(MRW): number of times that MRW was sent.
    vt_mrw: u32,
    /// Expiry of Timer_MRW; `None` while MRW is to be sent.
    pub(super) timer: Option<Instant>,
}

impl Tx {
    /// True if MRW is to be sent.
    #[inline]
    pub fn has_discard_order(&self) -> bool {
        self.discard.as_ref().is_some_and(|d| d.timer.is_none())
    }

    /// Processes Timer_MRW and Timer_Discard. MaxMRW unanswered orders lead to a reset (clause
    /// 11.6.4a).
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

    /// Starts, by clauses 9.7.3.3 and 11.6.2, the discard of "all SDUs that have segments" in PDUs
    /// VT(A) to X, where X is the highest PDU with VT(DAT) = MaxDAT that is missing. One discard is
    /// in progress at a time; X waits meanwhile and is not sent any more.
    pub(super) fn discard_exhausted(&mut self, now: Instant, out: &mut Output, stats: &mut AmStats) {
        self.remove_acknowledged();
        if self.discard.is_some() {
            return;
        }
        let Some(x) = self.exhausted.take() else { return };
        let last = self.sent[(x - self.vt_a) as usize].segments.last().map_or(0, |s| s.sdu.serial);
        let n = self.buffer.prefix(|s| s.sdu.serial <= last);
        self.start_discard(now, n, DropCause::MaxDat, out, stats);
        debug_assert!(self.discard.as_ref().is_some_and(|d| d.end > x), "PDU {x} would be missing for ever");
    }

    /// Removes exhausted PDUs that a late status report has acknowledged.
    fn remove_acknowledged(&mut self) {
        let floor = self.discard.as_ref().map_or(0, |d| d.end).max(self.vt_a);
        let waits = |c: &u64| self.sent[(c - self.vt_a) as usize].exhausted && !self.acked.contains(*c);
        self.exhausted = self.exhausted.and_then(|x| (floor..=x).rev().find(waits));
    }

    /// Discards the SDUs whose Timer_Discard has expired (clause 9.7.3.1).
    fn expire(&mut self, now: Instant, out: &mut Output, stats: &mut AmStats) {
        if self.discard.is_none() {
            let n = self.buffer.prefix(|s| s.deadline <= now);
            self.start_discard(now, n, DropCause::DiscardTimer, out, stats);
        }
    }

    /// Discards the first `n` SDUs. Those of which no octet was sent leave at once; the others may
    /// be complete at the receiver and leave when it has confirmed the move of its window.
    fn start_discard(
        &mut self,
        now: Instant,
        n: usize,
        cause: DropCause,
        out: &mut Output,
        stats: &mut AmStats,
    ) {
        if n == 0 {
            return;
        }
        let pending = &mut self.discarded;
        let last_end = self.buffer.discard(n, |sdu, sent| {
            if sent {
                pending.push((sdu, cause));
            } else {
                stats.sdus_discarded += 1;
                out.dropped.push((sdu, cause));
            }
        });
        let Some(last_end) = last_end else { return };
        out.events.push(RlcEvent::Discarded(self.discarded.len() as u32));
        let (end, n_length) = self.sn_mrw(now, last_end);
        self.discard = Some(Discard { end, n_length, vt_mrw: 0, timer: None });
        // "discard all AMD PDUs including segments of the discarded SDUs" (clause 11.6.2).
        let mut from = self.vt_a;
        while let Some(count) = self.retransmit.next_in(from, end.min(self.vt_s)) {
            self.retransmit.remove(count);
            self.retransmissions -= 1;
            from = count + 1;
        }
    }

    /// SN_MRW and N_LENGTH for a discard whose last SDU has its end mark at `last_end`. Clause
    /// 11.6.2.2: a PDU in which no other SDU follows is discarded too. An SDU without an end
    /// mark would have it in PDU VT(S), which is discarded unsent: an SN_MRW above VT(S) becomes
    /// VT(S) (clause 11.6.2). So a receiver without the order never appends
    /// octets of another SDU to this one.
    fn sn_mrw(&mut self, now: Instant, last_end: Option<(u64, u8)>) -> (u64, u8) {
        let Some((end, n_length)) = last_end else {
            let segments = Segments::new();
            self.sent.push_back(Sent { segments, vt_dat: 0, last: now, exhausted: false });
            self.vt_s += 1;
            return (self.vt_s, 0);
        };
        let ends_and_more = self.sent[(end - self.vt_a) as usize].segments.len();
        if ends_and_more > usize::from(n_length) { (end, n_length) } else { (end + 1, 0) }
    }

    /// Returns MRW, if it is due; starts Timer_MRW.
    pub fn discard_order(&mut self, now: Instant) -> Option<Sufi> {
        // Clause 11.6.2.2: LENGTH is 0 for one SN_MRW at VT(A) + Configured_Tx_Window_Size or
        // above.
        let window_end = self.vt_a + u64::from(self.cfg.tx_window);
        let d = self.discard.as_mut().filter(|d| d.timer.is_none())?;
        d.vt_mrw += 1;
        d.timer = Some(now + self.cfg.timer_mrw);
        let (sns, n_length) = (smallvec![AmSn::new(d.end as u32)], d.n_length);
        Some(Sufi::Mrw { beyond_window: d.end >= window_end, sns, n_length })
    }

    /// Processes MRW_ACK. Clause 11.6.4: it ends the discard when the receiver's window has moved
    /// to SN_MRW; clause 11.6.6.3 names the MRW_ACKs that are discarded.
    pub(super) fn on_mrw_ack(&mut self, sn: AmSn, n: u8, out: &mut Output, stats: &mut AmStats) {
        let Some(d) = &self.discard else { return };
        let ahead = sn.distance_from(AmSn::new(d.end as u32));
        if ahead >= 2048 || n != if ahead == 0 { d.n_length } else { 0 } {
            return;
        }
        let end = d.end;
        self.discard = None;
        self.report_discarded(out, stats);
        // PDUs above the discarded ones may have been acknowledged while these were missing.
        self.move_vt_a(self.acked.next_missing(end, self.vt_s).unwrap_or(self.vt_s));
    }

    /// Clause 11.6.4: an ACK of all PDUs below SN_MRW ends the discard too. PDU SN_MRW itself,
    /// where it has octets of a discarded SDU (N_LENGTH above 0), must be acknowledged as well:
    /// without the order a receiver delivers that SDU with it, and a drop is reported only when
    /// no delivery can follow.
    pub(super) fn on_discard_acknowledged(&mut self, out: &mut Output, stats: &mut AmStats) {
        let ended = |d: &Discard| self.vt_a >= d.end + u64::from(d.n_length > 0);
        if self.discard.as_ref().is_some_and(ended) {
            self.discard = None;
            self.report_discarded(out, stats);
        }
    }

    pub(super) fn report_discarded(&mut self, out: &mut Output, stats: &mut AmStats) {
        stats.sdus_discarded += self.discarded.len() as u64;
        out.dropped.append(&mut self.discarded);
    }
}

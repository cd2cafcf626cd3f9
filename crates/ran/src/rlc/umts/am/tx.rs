//! The transmitting side of acknowledged mode (TS 25.322 clauses 11.3.2, 11.5 and 11.6).

use std::collections::VecDeque;

use lasthop_units::Instant;
use smallvec::{SmallVec, smallvec};

use super::poll::{Occasion, Poller};
use super::{AmConfig, AmStats, BufferPolicy, OnMaxDat};
use crate::rlc::umts::bitmap::SnSet;
use crate::rlc::umts::pdu::{AmSn, DataPdu, Pdu, StatusPdu, Sufi};
use crate::rlc::umts::segment::{DataLayout, EndMark, Segmenter};
use crate::sdu::{DropCause, Output, RlcEvent, Sdu};

/// A PDU that was sent and is not acknowledged.
#[derive(Clone, Debug)]
struct Sent {
    pdu: DataPdu,
    /// VT(DAT): how often it was sent (clause 9.4).
    vt_dat: u32,
    last: Instant,
}

/// A discard that the receiver has not confirmed (clause 11.6).
#[derive(Clone, Debug)]
struct Discard {
    /// Count of the PDU in which, or before which, the last discarded SDU ends.
    end: u64,
    /// N_LENGTH: which LI of that PDU ends it; 0: it ends before that PDU.
    n_length: u8,
    /// VT(MRW): how often the order was sent.
    vt_mrw: u32,
    /// Expiry of Timer_MRW; `None` while the order waits to be sent.
    timer: Option<Instant>,
}

/// Sender state. Sequence numbers are kept unwrapped, as counts: HFN and SN.
#[derive(Clone, Debug)]
pub(super) struct Tx {
    cfg: AmConfig,
    pub buffer: Segmenter,
    /// PDUs VT(A) to VT(S) - 1.
    sent: VecDeque<Sent>,
    /// Of these: received by the peer, to be sent again.
    acked: SnSet,
    retransmit: SnSet,
    retransmissions: u32,
    /// Scratch: SNs that the status report at hand calls missing.
    missing: SnSet,
    /// VT(A), VT(S), VT(WS).
    vt_a: u64,
    vt_s: u64,
    vt_ws: u32,
    poll: Poller,
    discard: Option<Discard>,
    /// SDUs of the discard at hand; reported when the receiver has confirmed.
    discarded: Vec<(Sdu, DropCause)>,
}

/// What the entity must do after the sender has looked at something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Fine,
    /// The reset procedure is due (MaxDAT or MaxMRW).
    Reset,
}

impl Tx {
    pub fn new(cfg: AmConfig, layout: DataLayout) -> Self {
        Tx {
            cfg,
            buffer: Segmenter::new(layout),
            sent: VecDeque::new(),
            acked: SnSet::default(),
            retransmit: SnSet::default(),
            retransmissions: 0,
            missing: SnSet::default(),
            vt_a: 0,
            vt_s: 0,
            vt_ws: cfg.tx_window,
            poll: Poller::new(),
            discard: None,
            discarded: Vec::new(),
        }
    }

    pub fn hfn(&self) -> u64 {
        self.vt_s >> 12
    }
    pub fn window_used(&self) -> u32 {
        (self.vt_s - self.vt_a) as u32
    }
    /// Something is sent and not acknowledged.
    fn outstanding(&self) -> bool {
        self.vt_s > self.vt_a
    }
    fn window_open(&self) -> bool {
        self.vt_s < self.vt_a + u64::from(self.vt_ws)
    }
    /// A data PDU or a discard order could be sent now.
    #[inline]
    pub fn has_data(&self, now: Instant) -> bool {
        self.retransmissions > 0
            || (self.buffer.has_data() && self.window_open())
            || (self.poll.is_due(now) && self.outstanding())
            || self.discard.as_ref().is_some_and(|d| d.timer.is_none())
    }

    /// Takes an SDU from above, within the limits of the buffer.
    pub fn push(&mut self, now: Instant, sdu: Sdu, out: &mut Output, stats: &mut AmStats) {
        while !self.fits(sdu) {
            let victim = match self.cfg.buffer_policy {
                BufferPolicy::DropTail => sdu,
                BufferPolicy::DropHead => self.buffer.drop_head().unwrap_or(sdu),
            };
            stats.sdus_discarded += 1;
            out.dropped.push((victim, DropCause::BufferFull));
            if victim == sdu {
                return;
            }
        }
        stats.sdus_in += 1;
        stats.bytes_in += u64::from(sdu.size);
        let deadline =
            if self.cfg.timer_discard.is_zero() { Instant::MAX } else { now + self.cfg.timer_discard };
        self.buffer.push(sdu, deadline);
    }

    fn fits(&self, sdu: Sdu) -> bool {
        let (sdus, bytes) = (self.cfg.buffer_sdus as usize, self.cfg.buffer_bytes.0);
        (sdus == 0 || self.buffer.waiting_sdus() < sdus)
            && (bytes == 0 || self.buffer.waiting_bytes().0 + u64::from(sdu.size) <= bytes)
    }

    /// Sends at most `blocks` data PDUs: retransmissions first ("retransmitted AMD PDUs have higher priority than
    /// AMD PDUs transmitted for the first time", clause 11.3.2), then new data, then a poll that waits.
    pub fn pull(
        &mut self,
        now: Instant,
        blocks: usize,
        out: &mut Vec<Pdu>,
        fate: &mut Output,
        stats: &mut AmStats,
    ) -> Verdict {
        for _ in 0..blocks {
            if self.retransmissions > 0 {
                let count =
                    self.retransmit.next_in(self.vt_a, self.vt_s).expect("retransmissions are counted");
                self.retransmit.remove(count);
                self.retransmissions -= 1;
                let last = self.retransmissions == 0;
                out.push(self.send_again(now, count, last, stats));
            } else if self.buffer.has_data() && self.window_open() {
                out.push(self.send_new(now, stats));
            } else if self.poll.is_due(now) && self.outstanding() {
                // Clause 11.3.2: a poll with nothing to carry it is sent with the PDU VT(S) - 1, again. With
                // windows of half the modulus and more this is the only unambiguous choice.
                let count = self.vt_s - 1;
                if self.schedule(now, count, fate, stats, true) == Verdict::Reset {
                    return Verdict::Reset;
                }
                if self.retransmissions == 0 {
                    break;
                }
                self.retransmit.remove(count);
                self.retransmissions -= 1;
                out.push(self.send_again(now, count, true, stats));
            } else {
                break;
            }
        }
        Verdict::Fine
    }

    fn send_new(&mut self, now: Instant, stats: &mut AmStats) -> Pdu {
        let count = self.vt_s;
        let segments = self.buffer.fill(count, self.buffer.layout().payload);
        let sdus_ended = segments.iter().filter(|s| s.end != EndMark::None).count() as u32;
        self.vt_s += 1;
        let mut pdu = DataPdu {
            sn: AmSn::new(count as u32),
            hfn: (count >> 12) as u32,
            poll: false,
            segments,
            piggyback: None,
        };
        self.sent.push_back(Sent { pdu: pdu.clone(), vt_dat: 1, last: now });
        stats.pdus_new += 1;
        let last_new = !self.buffer.has_data();
        pdu.poll = self.decide_poll(now, last_new, false, sdus_ended, stats);
        Pdu::Data(pdu)
    }

    fn send_again(&mut self, now: Instant, count: u64, last: bool, stats: &mut AmStats) -> Pdu {
        let i = (count - self.vt_a) as usize;
        let sent = &mut self.sent[i];
        sent.vt_dat += 1;
        sent.last = now;
        let mut pdu = sent.pdu.clone();
        stats.pdus_retx += 1;
        pdu.poll = self.decide_poll(now, false, last, 0, stats);
        Pdu::Data(pdu)
    }

    fn decide_poll(
        &mut self,
        now: Instant,
        last_new: bool,
        last_retransmission: bool,
        sdus_ended: u32,
        stats: &mut AmStats,
    ) -> bool {
        let occasion = Occasion {
            last_new,
            last_retransmission,
            sdus_ended,
            in_use: self.vt_s - self.vt_a,
            window: self.vt_ws,
            vt_s: self.vt_s,
        };
        let poll = self.poll.decide(now, &self.cfg, &occasion);
        stats.polls += u64::from(poll);
        poll
    }

    /// Puts PDU `count` into the retransmission buffer, unless MaxDAT forbids.
    fn schedule(
        &mut self,
        now: Instant,
        count: u64,
        out: &mut Output,
        stats: &mut AmStats,
        for_poll: bool,
    ) -> Verdict {
        let floor = self.discard.as_ref().map_or(0, |d| d.end);
        if count < floor && !for_poll {
            return Verdict::Fine;
        }
        let sent = &self.sent[(count - self.vt_a) as usize];
        if !for_poll && now.since(sent.last) < self.cfg.nack_guard {
            stats.nacks_suppressed += 1;
            return Verdict::Fine;
        }
        if self.cfg.on_max_dat != OnMaxDat::Unlimited && sent.vt_dat >= self.cfg.max_dat && count >= floor {
            match self.cfg.on_max_dat {
                OnMaxDat::Reset => return Verdict::Reset,
                OnMaxDat::Discard if self.discard.is_none() => {
                    self.give_up_to(count, out, stats);
                    return Verdict::Fine;
                }
                // One discard at a time: until it is confirmed this PDU goes on.
                _ => {}
            }
        }
        if self.retransmit.insert(count) {
            self.retransmissions += 1;
        }
        Verdict::Fine
    }

    /// Looks at a STATUS PDU (clause 11.5.3). Super-fields that name SNs outside VT(A)..VT(S) are stale.
    pub fn on_status(
        &mut self,
        now: Instant,
        status: &StatusPdu,
        out: &mut Output,
        stats: &mut AmStats,
    ) -> Verdict {
        let mut hits: SmallVec<[u64; 32]> = SmallVec::new();
        let mut lsn = None;
        for sufi in &status.sufis {
            match sufi {
                Sufi::Ack(sn) => lsn = Some(*sn),
                // Clause 9.4 e: VT(WS) follows the WINDOW super-field, within 1 and the configured size.
                Sufi::Window(wsn) => self.vt_ws = u32::from(*wsn).clamp(1, self.cfg.tx_window),
                Sufi::MrwAck { n, sn } => self.on_mrw_ack(*sn, *n, out, stats),
                Sufi::Mrw { .. } => {}
                Sufi::List(_) | Sufi::Bitmap { .. } | Sufi::Rlist { .. } => sufi.for_each_missing(|sn| {
                    let count = self.unwrap(sn);
                    if count < self.vt_s && !self.acked.contains(count) && self.missing.insert(count) {
                        hits.push(count);
                    }
                }),
            }
        }
        if let Some(sn) = lsn {
            self.acknowledge(sn, &hits, stats);
        }
        let mut verdict = Verdict::Fine;
        for &count in &hits {
            if count >= self.vt_a && verdict == Verdict::Fine {
                verdict = self.schedule(now, count, out, stats, false);
            }
        }
        self.poll.on_status(self.vt_a, self.vt_s, |count| self.missing.contains(count));
        for count in hits {
            self.missing.remove(count);
        }
        verdict
    }

    /// The count of an SN in the window that starts at VT(A).
    fn unwrap(&self, sn: AmSn) -> u64 {
        self.vt_a + u64::from(sn.distance_from(AmSn::new(self.vt_a as u32)))
    }

    /// ACK: all before LSN are received except those that the same STATUS PDU calls missing (clause
    /// 9.2.2.11.2: VT(A) becomes LSN, or the first missing SN if that comes before).
    fn acknowledge(&mut self, lsn: AmSn, missing: &[u64], stats: &mut AmStats) {
        let lsn = self.unwrap(lsn);
        if lsn > self.vt_s {
            stats.status_ignored += 1;
            return;
        }
        self.acked.insert_range_except(self.vt_a, lsn, &self.missing);
        let first_missing = missing.iter().copied().min().unwrap_or(lsn);
        self.move_vt_a(lsn.min(first_missing));
    }

    fn move_vt_a(&mut self, to: u64) {
        while self.vt_a < to {
            self.sent.pop_front();
            self.acked.remove(self.vt_a);
            self.retransmissions -= u32::from(self.retransmit.remove(self.vt_a));
            self.vt_a += 1;
        }
        self.buffer.acknowledge(self.vt_a);
    }

    /// Clause 9.7.3.3: discard the SDUs with segments in PDUs VT(A) to `count`.
    fn give_up_to(&mut self, count: u64, out: &mut Output, stats: &mut AmStats) {
        let last = self.sent[(count - self.vt_a) as usize].pdu.segments.last().map_or(0, |s| s.sdu.serial);
        let n = self.buffer.prefix(|s| s.sdu.serial <= last);
        self.start_discard(n, DropCause::MaxDat, out, stats);
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
    fn on_mrw_ack(&mut self, sn: AmSn, n: u8, out: &mut Output, stats: &mut AmStats) {
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

    fn report_discarded(&mut self, out: &mut Output, stats: &mut AmStats) {
        stats.sdus_discarded += self.discarded.len() as u64;
        out.dropped.append(&mut self.discarded);
    }

    pub fn on_time(&mut self, now: Instant, out: &mut Output, stats: &mut AmStats) -> Verdict {
        self.poll.on_time(now, &self.cfg, self.vt_s > self.vt_a);
        if let Some(d) = self.discard.as_mut().filter(|d| d.timer.is_some_and(|t| t <= now)) {
            d.timer = None;
            if d.vt_mrw >= self.cfg.max_mrw {
                return Verdict::Reset;
            }
        }
        self.expire(now, out, stats);
        Verdict::Fine
    }

    pub fn poll_at(&self, now: Instant) -> Option<Instant> {
        let poll = self.poll.poll_at(self.outstanding() && !self.poll.is_due(now));
        let discard = match &self.discard {
            Some(d) => d.timer,
            None => self.buffer.front().map(|s| s.deadline).filter(|d| *d < Instant::MAX),
        };
        [poll, discard].into_iter().flatten().min()
    }

    /// Clause 11.4: state variables to their initial values; SDUs in transmission are discarded, SDUs of which
    /// nothing was sent are kept. The next PDU is SN 0 of `hfn`.
    pub fn reset(&mut self, hfn: u64, cause: DropCause, out: &mut Output, stats: &mut AmStats) {
        self.report_discarded(out, stats);
        let n = self.buffer.prefix(|s| s.sent > 0);
        self.buffer.discard(n, self.vt_s, |sdu, _| {
            stats.sdus_discarded += 1;
            out.dropped.push((sdu, cause));
        });
        self.vt_s = hfn << 12;
        self.vt_a = self.vt_s;
        self.vt_ws = self.cfg.tx_window;
        self.sent.clear();
        self.acked.clear();
        self.retransmit.clear();
        self.retransmissions = 0;
        self.poll = Poller::new();
        self.discard = None;
    }
}

//! The transmitting side of acknowledged mode (TS 25.322 clauses 11.3.2, 11.5 and 11.6).

mod discard;

use std::collections::VecDeque;

use lasthop_units::Instant;
use smallvec::SmallVec;

use super::poll::{Occasion, Poller};
use super::{AmConfig, AmStats, BufferPolicy, OnMaxDat, or_never};
use crate::rlc::Output;
use crate::rlc::bitmap::SnSet;
use crate::rlc::pdu::{AmSn, DataPdu, Pdu, StatusPdu, Sufi};
use crate::rlc::segment::{DataLayout, EndMark, Segmenter, Segments, copy_of};
use discard::Discard;
use lasthop_bearer::{DropCause, Sdu};

/// A PDU that was sent and is not acknowledged.
#[derive(Clone, Debug)]
struct Sent {
    segments: Segments,
    /// VT(DAT): number of its transmissions (clause 9.4).
    vt_dat: u32,
    last: Instant,
    /// Reported missing after MaxDAT transmissions: its SDUs are to be discarded.
    exhausted: bool,
}

/// Sender state. Sequence numbers are kept unwrapped, as counts: HFN and SN.
#[derive(Clone, Debug)]
pub(super) struct Tx {
    cfg: AmConfig,
    pub buffer: Segmenter,
    /// PDUs VT(A) to VT(S) - 1.
    sent: VecDeque<Sent>,
    /// Subsets of these: received by the peer; to be sent again.
    acked: SnSet,
    retransmit: SnSet,
    retransmissions: u32,
    /// Scratch memory: SNs that the current status report lists as missing.
    missing: SnSet,
    /// VT(A), VT(S), VT(WS).
    vt_a: u64,
    vt_s: u64,
    vt_ws: u32,
    poll: Poller,
    discard: Option<Discard>,
    /// SDUs of the current discard; reported when the receiver has confirmed.
    discarded: Vec<(Sdu, DropCause)>,
    /// The highest exhausted PDU that is not acknowledged; it waits until the current discard is
    /// confirmed.
    exhausted: Option<u64>,
}

/// The action that the entity must take after a call of the sender.
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
            exhausted: None,
        }
    }

    pub fn hfn(&self) -> u64 {
        self.vt_s >> 12
    }
    pub const fn vt_s(&self) -> u64 {
        self.vt_s
    }
    pub fn window_used(&self) -> u32 {
        (self.vt_s - self.vt_a) as u32
    }
    /// True if a PDU is sent, not acknowledged and not discarded: only then is a poll useful
    /// (clause 11.3.2).
    fn outstanding(&self) -> bool {
        if self.discard.is_none() && self.exhausted.is_none() {
            return self.vt_s > self.vt_a;
        }
        self.last_outstanding().is_some()
    }
    /// The highest of the PDUs that are sent, not acknowledged and not discarded.
    fn last_outstanding(&self) -> Option<u64> {
        let discarded = self.discard.as_ref().map_or(0, |d| d.end);
        let exhausted = self.exhausted.map_or(0, |count| count + 1);
        self.acked.last_missing(self.vt_a.max(discarded).max(exhausted), self.vt_s)
    }
    /// True if the window admits new PDUs.
    fn window_open(&self) -> bool {
        self.vt_s < self.vt_a + u64::from(self.vt_ws)
    }
    /// True if a data PDU can be sent now.
    #[inline]
    pub fn has_data(&self, now: Instant) -> bool {
        self.retransmissions > 0
            || (self.buffer.has_data() && self.window_open())
            || (self.poll.is_due(now) && self.outstanding())
    }

    /// Takes an SDU from upper layers, within the limits of the buffer.
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
        stats.bytes_in += u64::from(sdu.size());
        let deadline =
            if self.cfg.timer_discard.is_zero() { Instant::MAX } else { now + self.cfg.timer_discard };
        self.buffer.push(sdu, deadline);
    }

    fn fits(&self, sdu: Sdu) -> bool {
        let (sdus, bytes) = (self.cfg.buffer_sdus as usize, self.cfg.buffer_bytes.0);
        (sdus == 0 || self.buffer.waiting_sdus() < sdus)
            && (bytes == 0 || self.buffer.waiting_bytes().0 + u64::from(sdu.size()) <= bytes)
    }

    /// Sends at most `blocks` data PDUs: retransmissions first ("treat retransmissions with higher
    /// priority than AMD PDUs transmitted for the first time", clause 11.3.2.2), then new data,
    /// then a pending poll.
    pub fn pull(
        &mut self,
        now: Instant,
        blocks: usize,
        out: &mut Vec<Pdu>,
        outcome: &mut Output,
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
                let count = self.poll_carrier();
                if self.schedule(now, count, stats, true) == Verdict::Reset {
                    return Verdict::Reset;
                }
                self.discard_exhausted(now, outcome, stats);
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

    /// The PDU that carries a poll when no other PDU is due. Clause 11.3.2: PDU VT(S) - 1 is sent
    /// again; with windows of half the modulus and more this is the only unambiguous choice.
    /// Smaller windows allow any PDU that is not acknowledged, and where MaxDAT leads to a discard
    /// (which needs such windows) polls must not count as transmissions of a PDU that has arrived.
    fn poll_carrier(&self) -> u64 {
        let last = self.vt_s - 1;
        match self.cfg.on_max_dat {
            OnMaxDat::Discard => self.last_outstanding().unwrap_or(last),
            OnMaxDat::Reset | OnMaxDat::Unlimited => last,
        }
    }

    fn send_new(&mut self, now: Instant, stats: &mut AmStats) -> Pdu {
        let count = self.vt_s;
        let segments = self.buffer.fill(count, self.buffer.layout().payload);
        // Counted for a poll by Poll_SDU alone.
        let ends = |segments: &Segments| segments.iter().filter(|s| s.end != EndMark::None).count() as u32;
        let sdus_ended = if self.cfg.poll_sdu > 0 { ends(&segments) } else { 0 };
        self.vt_s += 1;
        self.sent.push_back(Sent { segments: copy_of(&segments), vt_dat: 1, last: now, exhausted: false });
        stats.pdus_new += 1;
        // Clause 9.7.1: the last PDU that is scheduled, or the last that the window allows.
        let last_new = !self.buffer.has_data() || !self.window_open();
        let poll = self.decide_poll(now, last_new, false, sdus_ended, stats);
        data_pdu(count, poll, segments)
    }

    fn send_again(&mut self, now: Instant, count: u64, last: bool, stats: &mut AmStats) -> Pdu {
        let i = (count - self.vt_a) as usize;
        let sent = &mut self.sent[i];
        sent.vt_dat += 1;
        sent.last = now;
        let segments = copy_of(&sent.segments);
        stats.pdus_retx += 1;
        let poll = self.decide_poll(now, false, last, 0, stats);
        data_pdu(count, poll, segments)
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

    /// Puts PDU `count` into the retransmission buffer, unless MaxDAT forbids: then RLC is reset,
    /// or the PDU waits for [`discard_exhausted`](Self::discard_exhausted).
    fn schedule(&mut self, now: Instant, count: u64, stats: &mut AmStats, for_poll: bool) -> Verdict {
        if self.discard.as_ref().is_some_and(|d| count < d.end) {
            return Verdict::Fine;
        }
        let sent = &mut self.sent[(count - self.vt_a) as usize];
        if !for_poll && now.since(sent.last) < self.cfg.nack_guard {
            stats.nacks_suppressed += 1;
            return Verdict::Fine;
        }
        match self.cfg.on_max_dat {
            OnMaxDat::Reset if sent.vt_dat >= self.cfg.max_dat => return Verdict::Reset,
            OnMaxDat::Discard if sent.vt_dat >= self.cfg.max_dat => {
                sent.exhausted = true;
                self.exhausted = self.exhausted.max(Some(count));
                return Verdict::Fine;
            }
            _ => {}
        }
        if self.retransmit.insert(count) {
            self.retransmissions += 1;
        }
        Verdict::Fine
    }

    /// Processes a STATUS PDU (clause 11.5.3). Super-fields with SNs outside VT(A)..VT(S) are
    /// obsolete.
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
                // Clause 9.4 j: VT(WS) follows the WINDOW super-field, within 1 and the configured
                // size.
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
            self.on_discard_acknowledged(out, stats);
        }
        let mut verdict = Verdict::Fine;
        for &count in &hits {
            if count >= self.vt_a && verdict == Verdict::Fine {
                verdict = self.schedule(now, count, stats, false);
            }
        }
        self.discard_exhausted(now, out, stats);
        let missing = &self.missing;
        self.poll.on_status(&self.cfg, self.vt_a, self.vt_s, self.vt_ws, |count| missing.contains(count));
        for count in hits {
            self.missing.remove(count);
        }
        verdict
    }

    /// The count of an SN in the window that starts at VT(A).
    fn unwrap(&self, sn: AmSn) -> u64 {
        self.vt_a + u64::from(sn.distance_from(AmSn::new(self.vt_a as u32)))
    }

    /// Processes ACK: all PDUs before LSN are received except those that the same STATUS PDU lists
    /// as missing (clause 9.2.2.11.2: VT(A) becomes LSN, or the first missing SN if that comes
    /// before).
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
        if self.vt_a < to {
            self.sent.drain(..(to - self.vt_a) as usize);
            self.acked.remove_range(self.vt_a, to);
            self.retransmissions -= self.retransmit.remove_range(self.vt_a, to);
            self.vt_a = to;
        }
        self.buffer.acknowledge(self.vt_a);
    }

    pub fn on_time(&mut self, now: Instant, out: &mut Output, stats: &mut AmStats) -> Verdict {
        self.poll.on_time(now, &self.cfg, self.vt_s > self.vt_a);
        self.on_discard_timers(now, out, stats)
    }

    /// The next moment at which the state of the sender changes; [`Instant::MAX`] for never.
    #[inline]
    pub fn poll_at(&self, now: Instant) -> Instant {
        let discard = match &self.discard {
            Some(d) => or_never(d.timer),
            None if self.cfg.timer_discard.is_zero() => Instant::MAX,
            None => self.buffer.front().map_or(Instant::MAX, |s| s.deadline),
        };
        self.poll.poll_at(now, self.outstanding()).min(discard)
    }

    /// Resets the sender (clause 11.4): state variables get their initial values; SDUs in
    /// transmission are discarded, SDUs of which no octet was sent are kept. The next PDU is SN 0
    /// of `hfn`.
    pub fn reset(&mut self, hfn: u64, cause: DropCause, out: &mut Output, stats: &mut AmStats) {
        self.report_discarded(out, stats);
        let n = self.buffer.prefix(|s| s.sent > 0);
        self.buffer.discard(n, |sdu, _| {
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
        self.exhausted = None;
    }
}

#[inline]
fn data_pdu(count: u64, poll: bool, segments: Segments) -> Pdu {
    let (sn, hfn) = (AmSn::new(count as u32), (count >> 12) as u32);
    Pdu::Data(DataPdu { sn, hfn, poll, segments, piggyback: None })
}

//! The transmitting PDCP entity (TS 36.323 clauses 5.1.1, 5.2.1, 5.4, 5.3.2).

use std::collections::VecDeque;

use lasthop_engine::push_tight;
use lasthop_units::{Duration, Instant, PacketId};

use super::compression::Compressor;
use super::config::{Counted, HandoverKind, Limits, PdcpConfig, RetransmissionQueue};
use super::forwarding::ForwardedSdu;
use super::pdu::{Kind, Label, StatusReport};
use lasthop_bearer::earlier;
use lasthop_bearer::{DropCause, Sdu};

/// The output of the transmitter.
#[derive(Clone, Debug, Default)]
pub struct PdcpTxOutput {
    /// PDUs for RLC, in order.
    pub pdus: Vec<Sdu>,
    /// SDUs that were given a COUNT, in order.
    pub numbered: Vec<Sdu>,
    /// Serial numbers of PDUs that RLC is to discard because their discardTimer has expired.
    pub expired: Vec<u64>,
    /// Serial numbers of PDUs that RLC is to discard because the peer has their SDU.
    pub confirmed: Vec<u64>,
    /// SDUs that expired before they were given a COUNT, or for which there was no room.
    pub dropped: Vec<(Sdu, DropCause)>,
}

impl PdcpTxOutput {
    /// True if the output contains nothing for RLC but expired SDUs.
    #[inline]
    pub(super) const fn is_settled(&self) -> bool {
        self.pdus.is_empty() && self.confirmed.is_empty()
    }
}

/// An SDU that has a COUNT.
#[derive(Clone, Copy, Debug)]
struct Held {
    sdu: Sdu,
    /// The epoch in which its PDU was sent last.
    epoch: u16,
    /// Its PDU has a whole header.
    whole: bool,
    /// Neither confirmed nor discarded.
    alive: bool,
}

// A bearer has one for each SDU in its queue.
const _: () = assert!(size_of::<Held>() == 20);

impl Held {
    /// The SDU whose PDU has the serial number `serial`.
    #[inline]
    fn new(sdu: Sdu, serial: u64) -> Held {
        let mut held = Held { sdu, epoch: 0, whole: false, alive: true };
        held.sent_as(serial);
        held
    }
    /// Its PDU has the serial number `serial`.
    #[inline]
    fn sent_as(&mut self, serial: u64) {
        let label = Label::of(serial);
        (self.epoch, self.whole) = (label.epoch, label.kind == Kind::Whole);
    }
    /// The serial number of its PDU.
    const fn serial(&self, count: u32) -> u64 {
        let kind = if self.whole { Kind::Whole } else { Kind::Compressed };
        Label { epoch: self.epoch, count, kind }.serial()
    }
}

/// The transmitting side of a PDCP entity. It hands PDUs to RLC as soon as SDUs arrive and keeps
/// the SDUs until they are confirmed (AM) or expire.
#[derive(Clone, Debug)]
pub struct PdcpTx {
    sn_bits: u32,
    acknowledged: bool,
    header: u32,
    discard_timer: Option<Duration>,
    compressor: Compressor,
    epoch: u16,
    /// The epoch in which COUNT last started again.
    numbering: u16,
    /// TX_HFN and Next_PDCP_TX_SN.
    next_count: u32,
    /// `held[0]` has COUNT `first`.
    first: u32,
    held: VecDeque<Held>,
    /// When the discardTimer of each in `held` expires; empty without a discardTimer.
    expiries: VecDeque<Instant>,
    /// SDUs and bytes in `held` that are alive.
    kept: (usize, u64),
    queue: RetransmissionQueue,
    room_waiting: Limits,
    /// Packets and bytes that RLC has and has not begun to send; used only where the retransmission
    /// queue counts SDUs of which a byte was sent.
    pub(super) untouched: (usize, u64),
    /// COUNT up to which discardTimers have been processed.
    timers_from: u32,
    /// SDUs that wait for a COUNT.
    waiting: VecDeque<(Sdu, Instant)>,
    waiting_bytes: u64,
    controls: u16,
}

impl PdcpTx {
    /// An entity in its initial state above an acknowledged or an unacknowledged RLC.
    pub fn new(config: &PdcpConfig, acknowledged: bool) -> PdcpTx {
        PdcpTx {
            sn_bits: config.sn_bits,
            acknowledged,
            header: config.header(),
            discard_timer: config.discard_timer.value(),
            compressor: Compressor::new(config.compression),
            epoch: 0,
            numbering: 0,
            next_count: 0,
            first: 0,
            held: VecDeque::new(),
            expiries: VecDeque::new(),
            kept: (0, 0),
            queue: config.retransmission,
            room_waiting: config.waiting,
            untouched: (0, 0),
            timers_from: 0,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            controls: 0,
        }
    }

    /// Takes in an SDU from upper layers. Returns its PDU for RLC if the SDU is given a COUNT at
    /// once: it is not in `out`.
    // TS 36.323 v15.1.0 clause 5.1.1: its discardTimer starts, if one is configured.
    #[inline]
    #[must_use]
    pub fn push(&mut self, now: Instant, sdu: &Sdu, out: &mut PdcpTxOutput) -> Option<Sdu> {
        let expires = self.discard_timer.map_or(Instant::MAX, |t| now.saturating_add(t));
        self.admit(sdu, expires, out)
    }

    /// Numbers an SDU and returns its PDU, puts it into the queue of waiting SDUs, or drops it.
    // Inlined: nearly all calls are for SDUs that are pushed, and are given a COUNT.
    #[inline(always)]
    fn admit(&mut self, sdu: &Sdu, expires: Instant, out: &mut PdcpTxOutput) -> Option<Sdu> {
        if self.waiting.is_empty() && self.has_room(sdu.size()) {
            return Some(self.number(sdu, expires));
        }
        self.wait_or_drop(sdu, expires, out);
        None
    }

    #[inline(never)]
    fn wait_or_drop(&mut self, sdu: &Sdu, expires: Instant, out: &mut PdcpTxOutput) {
        if self.room_waiting.admit(self.waiting_bytes, self.waiting.len(), sdu.size()) {
            self.waiting_bytes += u64::from(sdu.size());
            push_tight(&mut self.waiting, (*sdu, expires));
        } else {
            out.dropped.push((*sdu, DropCause::PdcpBufferFull));
        }
    }

    /// Returns SDUs and bytes in the retransmission queue, less `packets` and `bytes`, which RLC
    /// has not begun to send.
    pub(super) fn retransmission_queue_beside(&self, packets: usize, bytes: u64) -> (usize, u64) {
        match self.queue.counts {
            Counted::HandedOver => self.kept,
            Counted::OnAir => (self.kept.0.saturating_sub(packets), self.kept.1.saturating_sub(bytes)),
        }
    }

    /// True if an SDU of `size` bytes may be given a COUNT and be handed to RLC.
    #[inline]
    fn has_room(&self, size: u32) -> bool {
        if !self.acknowledged {
            return true;
        }
        let (packets, bytes) = self.retransmission_queue_beside(self.untouched.0, self.untouched.1);
        !self.is_full() && self.queue.limits().admit(bytes, packets, size)
    }

    /// True if its room depends on how much RLC has begun to send.
    #[inline]
    pub(super) fn watches_rlc(&self) -> bool {
        let limits = self.queue.limits();
        self.queue.counts == Counted::OnAir
            && (limits.bytes.value().is_some() || limits.packets.value().is_some())
    }

    /// True if half of the sequence numbers are in flight.
    // Clause 5.1.1, NOTE: SNs for more than half of the space in a row, where SDUs are discarded or
    // sent without acknowledgement, may desynchronize the HFN; how to prevent this is up to the UE.
    // Here they wait.
    #[inline]
    fn is_full(&self) -> bool {
        self.acknowledged && self.held.len() >= 1 << (self.sn_bits - 1)
    }

    /// TS 36.323 v15.1.0 clause 5.1.1: the SDU gets Next_PDCP_TX_SN, which is incremented; beyond
    /// Maximum_PDCP_SN it becomes 0 and TX_HFN is incremented. Returns its PDU.
    // Inlined: nearly all calls are for SDUs that are pushed.
    #[inline(always)]
    fn number(&mut self, sdu: &Sdu, expires: Instant) -> Sdu {
        let count = self.next_count;
        if self.held.is_empty() {
            (self.first, self.timers_from) = (count, self.timers_from.max(count));
        }
        self.fill_to(count);
        self.next_count += 1;
        let pdu = self.pdu_of(sdu, count);
        if self.acknowledged || self.discard_timer.is_some() {
            self.keep(sdu, expires, pdu.serial);
        } else {
            self.first = self.next_count;
        }
        pdu
    }

    #[inline]
    fn keep(&mut self, sdu: &Sdu, expires: Instant, serial: u64) {
        self.kept.0 += 1;
        self.kept.1 += u64::from(sdu.size());
        self.hold(Held::new(*sdu, serial), expires);
    }

    #[inline]
    fn hold(&mut self, held: Held, expires: Instant) {
        push_tight(&mut self.held, held);
        if self.discard_timer.is_some() {
            push_tight(&mut self.expiries, expires);
        }
    }

    /// When `held[i]` expires.
    fn expires(&self, i: usize) -> Instant {
        self.expiries.get(i).copied().unwrap_or(Instant::MAX)
    }

    /// Releases `held[i]`, which need not be sent again.
    #[inline]
    fn let_go(&mut self, i: usize) {
        if let Some(h) = self.held.get_mut(i).filter(|h| h.alive) {
            h.alive = false;
            self.kept.0 -= 1;
            self.kept.1 -= u64::from(h.sdu.size());
        }
    }

    /// The PDU of an SDU with `count`.
    #[inline]
    fn pdu_of(&mut self, sdu: &Sdu, count: u32) -> Sdu {
        let (size, kind) = self.compressor.compress(sdu.size());
        let serial = Label { epoch: self.epoch, count, kind }.serial();
        Sdu { serial, ..sdu.with_size(size + self.header) }
    }

    /// When the next discardTimer expires.
    #[inline]
    pub fn poll_at(&self) -> Option<Instant> {
        self.discard_timer?;
        let i = self.timers_from.wrapping_sub(self.first) as usize;
        let held = self.expiries.get(i).copied();
        let waiting = self.waiting.front().map(|w| w.1);
        earlier(held, waiting).filter(|&t| t < Instant::MAX)
    }

    /// Processes the discardTimers that have expired.
    // Clause 5.4: when the discardTimer of an SDU expires, or a status report confirms the SDU, it
    // and its PDU are discarded. If the PDU has gone to lower layers, they are notified.
    pub fn on_time(&mut self, now: Instant, out: &mut PdcpTxOutput) {
        while self.timers_from < self.next_count && self.discard_timer.is_some() {
            let i = (self.timers_from - self.first) as usize;
            let Some(h) = self.held.get(i) else { break };
            if h.alive && self.expires(i) > now {
                break;
            }
            if h.alive {
                out.expired.push(h.serial(self.timers_from));
                self.let_go(i);
            }
            self.timers_from += 1;
        }
        self.remove_front();
        while self.waiting.front().is_some_and(|w| w.1 <= now) {
            out.dropped.extend(self.pop_waiting().map(|w| (w.0, DropCause::DiscardTimer)));
        }
        self.number_waiting(out);
    }

    fn remove_front(&mut self) {
        while self.held.front().is_some_and(|h| !h.alive) {
            self.held.pop_front();
            self.expiries.pop_front();
            self.first += 1;
        }
        self.timers_from = self.timers_from.max(self.first);
    }

    /// Numbers SDUs that waited, as many as there is room for.
    #[inline]
    pub(super) fn number_waiting(&mut self, out: &mut PdcpTxOutput) {
        while let Some(&(sdu, expires)) = self.waiting.front() {
            if !self.has_room(sdu.size()) {
                break;
            }
            self.pop_waiting();
            out.numbered.push(sdu);
            out.pdus.push(self.number(&sdu, expires));
        }
    }

    fn pop_waiting(&mut self) -> Option<(Sdu, Instant)> {
        let popped = self.waiting.pop_front();
        self.waiting_bytes -= popped.map_or(0, |(sdu, _)| u64::from(sdu.size()));
        popped
    }

    /// Releases the PDU `serial`, which RLC has confirmed or dropped for good; SDUs that waited for
    /// its number follow.
    #[inline]
    pub fn release(&mut self, serial: u64, out: &mut PdcpTxOutput) {
        self.release_all(std::iter::once(serial), out);
    }

    /// As [`release`](Self::release), for several PDUs.
    #[inline]
    pub fn release_all(&mut self, serials: impl Iterator<Item = u64>, out: &mut PdcpTxOutput) {
        let mut any = false;
        for label in serials.map(Label::of) {
            let stale = label.epoch < self.numbering;
            if !stale && !matches!(label.kind, Kind::Control(_)) {
                self.let_go(label.count.wrapping_sub(self.first) as usize);
                any = true;
            }
        }
        if !any {
            return;
        }
        self.remove_front();
        if !self.waiting.is_empty() {
            self.number_waiting(out);
        }
    }

    /// True if the entity would send `count` again after a re-establishment.
    pub fn holds(&self, count: u32) -> bool {
        self.acknowledged && self.held.get(count.wrapping_sub(self.first) as usize).is_some_and(|h| h.alive)
    }

    /// Processes a status report of the peer.
    // Clause 5.3.2: SDUs whose bit in the bitmap is 1, and those with a COUNT below that of the SDU
    // of FMS, are confirmed.
    pub fn on_status_report(&mut self, report: &StatusReport, out: &mut PdcpTxOutput) {
        let mask = (1 << self.sn_bits) - 1;
        let fms = self.next_count.wrapping_sub(self.next_count.wrapping_sub(report.fms) & mask);
        for i in 0..self.held.len() {
            let (count, h) = (self.first + i as u32, &self.held[i]);
            if h.alive && (count < fms || (count > fms && report.has(count - fms))) {
                out.confirmed.push(h.serial(count));
                self.let_go(i);
            }
        }
        self.remove_front();
        self.number_waiting(out);
    }

    /// Sends a control PDU of `size` bytes before all retransmissions; returns its serial number.
    pub(super) fn control(&mut self, id: PacketId, size: u32, out: &mut PdcpTxOutput) -> u64 {
        let kind = Kind::Control(self.controls);
        self.controls = (self.controls + 1) & 0x7fff;
        let serial = Label { epoch: self.epoch, count: self.first, kind }.serial();
        out.pdus.push(Sdu { serial, ..Sdu::new(id, size) });
        serial
    }

    /// First step of re-establishment: starts a new epoch and resets the compressor; COUNT starts
    /// again unless the handover is lossless.
    // Clauses 5.2.1.1 (AM) and 5.2.1.2 (UM) reset the header compression; UM sets Next_PDCP_TX_SN
    // and TX_HFN to 0.
    pub(super) fn begin_epoch(&mut self, kind: HandoverKind) {
        self.epoch += 1;
        self.controls = 0;
        self.untouched = (0, 0);
        self.compressor.reset();
        if kind != HandoverKind::Lossless {
            self.numbering = self.epoch;
            self.held.clear();
            self.expiries.clear();
            self.kept = (0, 0);
            (self.next_count, self.first, self.timers_from) = (0, 0, 0);
        }
    }

    /// The number of a packet among those of this entity: the same in the PDU that is sent again
    /// after a handover.
    pub(super) const fn packet_number(&self, label: Label) -> u64 {
        let since = if label.epoch < self.numbering { label.epoch } else { self.numbering };
        (since as u64) << 32 | label.count as u64
    }

    /// When the SDU `count` expires.
    pub(super) fn expiry(&self, count: u32) -> Instant {
        self.expires(count.wrapping_sub(self.first) as usize)
    }

    /// Removes all SDUs when the entity moves to another node, those with a COUNT first, in
    /// ascending order. The next COUNT stays: SN STATUS TRANSFER carries it (TS 36.423 clause
    /// 8.2.2).
    pub(super) fn pack(&mut self, forwarded_sdus: &mut Vec<ForwardedSdu>) {
        let expiries = self.expiries.drain(..).chain(std::iter::repeat(Instant::MAX));
        let counted = (self.first..).zip(self.held.drain(..)).zip(expiries).filter(|((_, h), _)| h.alive);
        forwarded_sdus.extend(counted.map(|((n, h), expires)| ForwardedSdu {
            count: Some(n),
            sdu: h.sdu,
            expires,
        }));
        self.kept = (0, 0);
        (self.first, self.timers_from) = (self.next_count, self.next_count);
        let waiting = self.waiting.drain(..);
        forwarded_sdus.extend(waiting.map(|(sdu, expires)| ForwardedSdu { count: None, sdu, expires }));
        self.waiting_bytes = 0;
    }

    /// Takes in an SDU that was forwarded to this node, with its COUNT or without one. SDUs with a
    /// COUNT come first, in ascending order.
    pub(super) fn unpack(&mut self, forwarded_sdu: ForwardedSdu, out: &mut PdcpTxOutput) {
        let ForwardedSdu { sdu, expires, .. } = forwarded_sdu;
        let Some(count) = forwarded_sdu.count else {
            if let Some(pdu) = self.admit(&sdu, expires, out) {
                out.numbered.push(sdu);
                out.pdus.push(pdu);
            }
            return;
        };
        debug_assert!(count < self.next_count, "{count} was not given by this bearer");
        if self.held.is_empty() {
            (self.first, self.timers_from) = (count, count);
        }
        self.fill_to(count);
        let pdu = self.pdu_of(&sdu, count);
        self.keep(&sdu, expires, pdu.serial);
        out.pdus.push(pdu);
    }

    /// Fills the COUNTs below `count` that no forwarded SDU has: confirmed before the handover, or
    /// lost during forwarding.
    fn fill_to(&mut self, count: u32) {
        while self.first + (self.held.len() as u32) < count {
            let gap = Held { alive: false, ..Held::new(Sdu::anonymous(), 0) };
            self.hold(gap, Instant::MAX);
        }
    }

    /// Last step of re-establishment, after the status report: sends unconfirmed SDUs again.
    // TS 36.323 clause 5.2.1.1: from the first SDU on that lower layers have not confirmed, all
    // SDUs that have an SN are sent (again), in ascending order of COUNT.
    pub(super) fn retransmit(&mut self, out: &mut PdcpTxOutput) {
        for i in 0..self.held.len() {
            let Held { sdu, alive, .. } = self.held[i];
            if alive {
                let pdu = self.pdu_of(&sdu, self.first + i as u32);
                self.held[i].sent_as(pdu.serial);
                out.pdus.push(pdu);
            }
        }
    }

    /// COUNT of the next SDU.
    pub const fn next_count(&self) -> u32 {
        self.next_count
    }
    pub(super) const fn epoch(&self) -> u16 {
        self.epoch
    }
    /// SDUs that wait for a COUNT.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }
    /// SDUs kept: unconfirmed, or waiting for a COUNT.
    pub fn len(&self) -> usize {
        self.held.len() + self.waiting.len()
    }
    /// True without SDUs.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Bytes that wait for a COUNT: available for transmission in addition to those in RLC (TS
    /// 36.323 clause 4.5).
    pub const fn waiting_bytes(&self) -> u64 {
        self.waiting_bytes
    }
    pub(super) fn drain_waiting(&mut self) -> impl Iterator<Item = Sdu> {
        self.waiting_bytes = 0;
        self.waiting.drain(..).map(|w| w.0)
    }
}

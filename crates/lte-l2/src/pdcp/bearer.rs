//! A data radio bearer of LTE: a pair of PDCP entities and RLC entities at each of two ends, set up
//! explicitly.

use std::collections::BTreeMap;

use lasthop_engine::simd::prefetch;
use lasthop_net::Site;
use lasthop_units::{Bitrate, Id, Instant, PacketId};

use super::config::{Counted, HandoverKind};
use super::open_sdus::OpenSdus;
use super::pdu::{Kind, Label, StatusReport};
use super::rx::{PdcpRx, PdcpRxOutput};
use super::setup::{LteBearerConfig, LteBearerOutput};
use super::tx::{PdcpTx, PdcpTxOutput};
use crate::rlc::{BufferStatus, Format, Grant, Mode, Pdu, Rlc, RlcConfig, RlcOutput};
use lasthop_bearer::RlcStats;
use lasthop_bearer::{DropCause, End, Sdu};

/// The entities at one end.
#[derive(Debug)]
pub(super) struct Side {
    pub(super) tx: PdcpTx,
    pub(super) rx: PdcpRx,
    pub(super) rlc: Rlc,
    /// Control PDUs that this end has sent, by serial number.
    pub(super) controls: BTreeMap<u64, StatusReport>,
    /// SDUs that this end has pushed.
    pub(super) open_sdus: OpenSdus,
}

/// A data radio bearer between the network and a terminal.
///
/// `push` a packet at an end, `pull` PDUs from that end when MAC has a grant, `receive` the PDUs
/// that arrive at the other end, `lost` those that do not arrive (UM; AM detects losses itself).
/// `poll_at` and `on_time` are those of every entity. After any call `buffer_status` says whether
/// an end has data to send.
#[derive(Debug)]
pub struct LteBearer {
    pub(super) acknowledged: bool,
    pub(super) sides: [Side; 2],
    /// Packets pushed so far, by end.
    pub(super) pushed: [u64; 2],
    pub(super) rlc_out: RlcOutput,
    pub(super) tx_out: PdcpTxOutput,
    pub(super) rx_out: PdcpRxOutput,
    pub(super) sn_bits: u32,
    pub(super) status_report: bool,
    pub(super) no_reestablishment: bool,
    pub(super) handover: HandoverKind,
    pub(super) counts: Counted,
    /// A packet that is pushed may start a timer.
    push_moves_timers: bool,
    /// The cause of drop of an SDU that a later one has overtaken.
    pub(super) overtaken: DropCause,
}

/// A packet id for control PDUs, which carry no packet.
pub(super) fn no_packet() -> PacketId {
    PacketId::from_index(u32::MAX as usize - 1)
}

impl LteBearer {
    /// Creates a bearer with entities in their initial state. `config` must be valid.
    pub fn new(config: &LteBearerConfig) -> LteBearer {
        let acknowledged = config.rlc.mode == Mode::Am;
        let side = |end| Side {
            tx: PdcpTx::new(&config.pdcp, acknowledged),
            rx: PdcpRx::new(&config.pdcp, acknowledged),
            rlc: Rlc::new(&config.rlc, end),
            controls: BTreeMap::new(),
            open_sdus: OpenSdus::default(),
        };
        LteBearer {
            acknowledged,
            sides: [side(End::Network), side(End::Ue)],
            pushed: [0, 0],
            rlc_out: RlcOutput::default(),
            tx_out: PdcpTxOutput::default(),
            rx_out: PdcpRxOutput::default(),
            sn_bits: config.pdcp.sn_bits,
            status_report: config.pdcp.status_report && acknowledged,
            no_reestablishment: config.rlc.shortcuts().no_reestablishment,
            handover: config.pdcp.handover,
            counts: config.pdcp.retransmission.counts,
            push_moves_timers: config.pdcp.discard_timer.value().is_some()
                || config.rlc.shortcuts().event_reports,
            overtaken: DropCause::RadioLoss,
        }
    }

    /// Installs the active queue management of `config` at both ends, with draws of `entity` in the
    /// run `seed`. `rates` are the rates at which the ends may send, where they are known.
    pub fn install_aqm(&mut self, config: &RlcConfig, seed: u64, entity: u64, rates: [Option<Bitrate>; 2]) {
        for end in [End::Network, End::Ue] {
            let i = end.index();
            let entity = entity.wrapping_mul(2).wrapping_add(i as u64);
            let site = Site { seed, entity, rate: rates[i], mtu: None };
            self.sides[i].rlc.set_aqm(config.buffer.aqm.map(|aqm| aqm.build(&site)));
        }
    }

    /// Sets the rate that the link would offer to the buffer at `end`, for an AQM that needs it.
    pub fn set_rate(&mut self, now: Instant, end: End, rate: Bitrate) {
        self.sides[end.index()].rlc.set_rate(now, rate);
    }

    /// Takes in at `end` a packet of `size` bytes (above 0) that no queue may mark, to be delivered
    /// at the other end. Returns its serial number.
    pub fn push(
        &mut self,
        now: Instant,
        end: End,
        id: PacketId,
        size: u32,
        out: &mut LteBearerOutput,
    ) -> u64 {
        self.push_ecn(now, end, Sdu::new(id, size), out)
    }

    /// As [`push`](Self::push), with the packet's ECN codepoint; the serial number in `packet` is
    /// ignored.
    #[inline]
    pub fn push_ecn(&mut self, now: Instant, end: End, packet: Sdu, out: &mut LteBearerOutput) -> u64 {
        let sdu = self.stamp(end, packet);
        let serial = sdu.serial;
        self.push_stamped(now, end, &sdu, out);
        serial
    }

    /// Takes in at `end` an SDU that has its serial number.
    #[inline(never)]
    pub(super) fn push_stamped(&mut self, now: Instant, end: End, sdu: &Sdu, out: &mut LteBearerOutput) {
        self.look_at_rlc(end);
        let side = &mut self.sides[end.index()];
        if let Some(pdu) = side.tx.push(now, sdu, &mut self.tx_out) {
            // Usually: no list between PDCP and RLC.
            side.open_sdus.enter(*sdu);
            side.rlc.push(now, pdu, &mut self.rlc_out);
        } else {
            self.pass_down(now, end, out);
        }
        self.settle(now, end, out);
    }

    /// True if a packet that is pushed may move a timer of its end: a discardTimer starts with it,
    /// and so do the reports of an RLC that reports at events. RLC's other timers start with PDUs.
    #[inline]
    pub const fn push_moves_timers(&self) -> bool {
        self.push_moves_timers
    }

    /// Gives `packet` a serial number while the caller holds it; it enters at `end` later, as a
    /// [`ForwardedSdu`](super::ForwardedSdu).
    pub const fn stamp(&mut self, end: End, packet: Sdu) -> Sdu {
        let serial = self.pushed[end.index()];
        self.pushed[end.index()] += 1;
        Sdu { serial, ..packet }
    }

    /// Passes PDCP the amount of data that RLC has not begun to send, if PDCP uses it.
    #[inline]
    pub(super) fn look_at_rlc(&mut self, end: End) {
        let side = &mut self.sides[end.index()];
        if side.tx.watches_rlc() {
            let untouched = side.rlc.untouched();
            side.tx.untouched = (untouched.packets as usize, untouched.bytes);
        }
    }

    /// Uses a transmission opportunity of `end`: appends PDUs to `pdus` and returns the bytes used.
    pub fn pull(
        &mut self,
        now: Instant,
        end: End,
        grant: Grant,
        pdus: &mut Vec<Pdu>,
        out: &mut LteBearerOutput,
    ) -> u32 {
        let used = self.sides[end.index()].rlc.pull(now, grant, pdus, &mut self.rlc_out);
        self.settle(now, end, out);
        used
    }

    /// Uses an opportunity of `end` given by a MAC that follows RLC's reports
    /// ([`Shortcuts::event_reports`](crate::rlc::Shortcuts)): PDUs of at most `bytes`.
    pub fn pull_by_reports(
        &mut self,
        now: Instant,
        end: End,
        bytes: u32,
        pdus: &mut Vec<Pdu>,
        out: &mut LteBearerOutput,
    ) {
        let rlc = &mut self.sides[end.index()].rlc;
        match end {
            End::Network => rlc.pull_at_enb(now, bytes, pdus, &mut self.rlc_out),
            End::Ue => rlc.pull_at_ue(now, bytes, pdus, &mut self.rlc_out),
        };
        self.settle(now, end, out);
    }

    /// True if MAC has a reason to give `end` an opportunity.
    #[inline]
    pub fn needs_opportunity(&self, end: End) -> bool {
        let side = &self.sides[end.index()];
        side.rlc.needs_opportunity() || side.tx.waiting_bytes() > 0
    }
    /// True if [`buffer_status`](Self::buffer_status) is not empty.
    #[inline]
    pub fn has_something(&self, end: End) -> bool {
        let side = &self.sides[end.index()];
        side.rlc.has_something() || side.tx.waiting_bytes() > 0
    }

    /// Receives at `end` a PDU that `end.peer()` has sent.
    pub fn receive(&mut self, now: Instant, end: End, pdu: &Pdu, out: &mut LteBearerOutput) {
        self.sides[end.index()].rlc.receive(now, pdu, &mut self.rlc_out);
        self.settle(now, end, out);
    }

    /// A PDU that `end` has sent will not arrive. The packets of UM in it are lost; AM detects the
    /// loss itself.
    pub fn lost(&mut self, end: End, pdu: &Pdu, out: &mut LteBearerOutput) {
        let Pdu::Umd(d) = pdu else { return };
        for e in &d.elements {
            let label = Label::of(e.payload.sdu.serial);
            let open_sdus = &mut self.sides[end.index()].open_sdus;
            if let Some(sdu) = open_sdus.drop(label.epoch, label.count) {
                out.dropped.push((end, sdu, DropCause::RadioLoss));
            }
        }
    }

    /// Prefetches, before an operation at `end`, the pointer to its RLC entity, and with
    /// [`expect`](Self::expect) the entity.
    #[inline]
    pub fn prefetch(&self, end: End) {
        prefetch(&self.sides[end.index()].rlc);
    }

    /// Prefetches the fields that the RLC entity of `end` reads first.
    #[inline]
    pub fn prefetch_values(&self, end: End) {
        self.sides[end.index()].rlc.prefetch();
    }

    /// Returns the memory of a PDU of `end` for reuse.
    pub fn recycle(&mut self, end: End, pdu: Pdu) {
        self.sides[end.index()].rlc.recycle(pdu);
    }

    /// Field widths of the RLC PDUs that `end` sends. PDUs of transparent mode have no header, so
    /// their size is the same with any widths.
    #[inline]
    pub fn format(&self, end: End) -> Format {
        self.sides[end.index()].rlc.format().unwrap_or(Format::um(5))
    }

    /// When a timer of either end expires next.
    #[inline]
    pub fn poll_at(&self) -> Option<Instant> {
        let at = self.next_timer(End::Network).min(self.next_timer(End::Ue));
        (at < Instant::MAX).then_some(at)
    }
    /// When a timer of `end` expires next; the end of time if none runs. Inlined into its caller,
    /// which reads it after every call.
    #[inline(always)]
    pub fn next_timer(&self, end: End) -> Instant {
        let side = &self.sides[end.index()];
        side.rlc.next_timer().min(side.tx.poll_at().unwrap_or(Instant::MAX))
    }

    /// Processes the timers that have expired.
    pub fn on_time(&mut self, now: Instant, out: &mut LteBearerOutput) {
        for end in [End::Network, End::Ue] {
            let side = &mut self.sides[end.index()];
            side.rlc.on_time(now, &mut self.rlc_out);
            if side.tx.poll_at().is_some_and(|t| t <= now) {
                side.tx.on_time(now, &mut self.tx_out);
                self.pass_down(now, end, out);
            }
            self.settle(now, end, out);
        }
    }

    /// Passes PDCP what the RLC of `end` has delivered on re-establishment.
    pub(super) fn flush_up(&mut self, end: End, kind: HandoverKind, out: &mut LteBearerOutput) {
        // SDUs that RLC has dropped are sent again, or `close_epoch` counts them as lost.
        self.rlc_out.dropped.clear();
        for i in 0..self.rlc_out.delivered.len() {
            let pdu = self.rlc_out.delivered[i];
            // Where COUNT starts again missing SDUs are not sent again, so no SDU waits for them.
            self.pass_up_one(end, pdu, true, kind == HandoverKind::Lossless, out);
        }
        self.rlc_out.delivered.clear();
        self.rlc_out.confirmed.clear();
        out.events.extend(self.rlc_out.events.drain(..).map(|e| (end, e)));
        self.finish_up(end, out);
    }

    /// Passes the output of the PDCP transmitter of `end` to RLC and to the account.
    pub(super) fn pass_down(&mut self, now: Instant, end: End, out: &mut LteBearerOutput) {
        let side = &mut self.sides[end.index()];
        for sdu in &self.tx_out.numbered {
            side.open_sdus.enter(*sdu);
        }
        self.tx_out.numbered.clear();
        for pdu in &self.tx_out.pdus {
            side.rlc.push(now, *pdu, &mut self.rlc_out);
        }
        self.tx_out.pdus.clear();
        let tx = &self.tx_out;
        if tx.expired.is_empty() && tx.confirmed.is_empty() && tx.dropped.is_empty() {
            return;
        }
        for serial in self.tx_out.expired.drain(..) {
            // An SDU that RLC has begun to send stays in RLC and may still be delivered.
            if side.rlc.discard(serial) {
                let label = Label::of(serial);
                let dropped = side.open_sdus.drop(label.epoch, label.count);
                out.dropped.extend(dropped.map(|sdu| (end, sdu, DropCause::DiscardTimer)));
            }
        }
        for serial in self.tx_out.confirmed.drain(..) {
            side.rlc.discard(serial);
        }
        out.dropped.extend(self.tx_out.dropped.drain(..).map(|(sdu, cause)| (end, sdu, cause)));
    }

    /// Passes on the output of the RLC of `end`, until there is none left. Most calls find none:
    /// this check is inlined into the callers.
    #[inline(always)]
    pub(super) fn settle(&mut self, now: Instant, end: End, out: &mut LteBearerOutput) {
        let (rlc, rx) = (&self.rlc_out, &self.rx_out);
        if rlc.is_empty() && self.tx_out.is_settled() && rx.delivered.is_empty() && rx.dropped.is_empty() {
            return;
        }
        self.settle_output(now, end, out);
    }

    fn settle_output(&mut self, now: Instant, end: End, out: &mut LteBearerOutput) {
        if !self.rlc_out.events.is_empty() {
            out.events.extend(self.rlc_out.events.drain(..).map(|e| (end, e)));
        }
        for i in 0..self.rlc_out.delivered.len() {
            let pdu = self.rlc_out.delivered[i];
            self.pass_up_one(end, pdu, false, false, out);
        }
        self.rlc_out.delivered.clear();
        if !(self.rx_out.delivered.is_empty() && self.rx_out.dropped.is_empty()) {
            self.finish_up(end, out);
        }
        if !self.rlc_out.confirmed.is_empty() {
            self.look_at_rlc(end);
        }
        while !(self.rlc_out.confirmed.is_empty()
            && self.rlc_out.dropped.is_empty()
            && self.rlc_out.marked.is_empty()
            && self.tx_out.is_settled())
        {
            let side = &mut self.sides[end.index()];
            if !self.rlc_out.confirmed.is_empty() {
                let confirmed = self.rlc_out.confirmed.drain(..).map(|sdu| sdu.serial);
                side.tx.release_all(confirmed, &mut self.tx_out);
            }
            for (sdu, cause) in self.rlc_out.dropped.drain(..) {
                side.tx.release(sdu.serial, &mut self.tx_out);
                let label = Label::of(sdu.serial);
                if !matches!(label.kind, Kind::Control(_)) {
                    let dropped = side.open_sdus.drop(label.epoch, label.count);
                    out.dropped.extend(dropped.map(|sdu| (end, sdu, cause)));
                }
            }
            for sdu in self.rlc_out.marked.drain(..) {
                let label = Label::of(sdu.serial);
                let marked = side.open_sdus.get(label.epoch, label.count);
                out.marked.extend(marked.map(|sdu| (end, sdu)));
            }
            self.pass_down(now, end, out);
        }
    }

    /// Passes a PDCP PDU at `end` to the receiving PDCP entity. Inlined into the loop over the PDUs
    /// of a block.
    #[inline(always)]
    fn pass_up_one(&mut self, end: End, pdu: Sdu, flushed: bool, waits: bool, out: &mut LteBearerOutput) {
        if matches!(Label::of(pdu.serial).kind, Kind::Control(_)) {
            // A newer report replaces one that a re-establishment flushes.
            let report = self.sides[end.peer().index()].controls.remove(&{ pdu.serial });
            if let Some(report) = report.filter(|_| !flushed) {
                self.sides[end.index()].tx.on_status_report(&report, &mut self.tx_out);
            }
            return;
        }
        if let Some(pdu) = self.sides[end.index()].rx.receive(pdu, waits, &mut self.rx_out) {
            if self.rx_out.delivered.is_empty() && self.rx_out.dropped.is_empty() {
                self.deliver(end, &pdu, out);
            } else {
                self.rx_out.delivered.push(pdu);
            }
        }
    }

    /// Delivers the SDU of a PDU at `end`, and closes its account. Inlined into its callers: one is
    /// rare.
    #[inline(always)]
    fn deliver(&mut self, end: End, pdu: &Sdu, out: &mut LteBearerOutput) {
        let peer = end.peer();
        let overtaken = |sdu| out.dropped.push((peer, sdu, self.overtaken));
        let label = Label::of(pdu.serial);
        let open_sdus = &mut self.sides[peer.index()].open_sdus;
        if let Some(sdu) = open_sdus.deliver(label.epoch, label.count, overtaken) {
            out.delivered.push((end, sdu));
        }
    }

    /// Closes the account of the SDUs that PDCP at `end` has delivered or discarded.
    #[inline]
    pub(super) fn finish_up(&mut self, end: End, out: &mut LteBearerOutput) {
        // In most calls no SDU is dropped, and clearing the list is skipped.
        if !self.rx_out.dropped.is_empty() {
            let peer = end.peer();
            let open_sdus = &mut self.sides[peer.index()].open_sdus;
            for (pdu, cause) in self.rx_out.dropped.drain(..) {
                let label = Label::of(pdu.serial);
                let dropped = open_sdus.drop(label.epoch, label.count);
                out.dropped.extend(dropped.map(|sdu| (peer, sdu, cause)));
            }
        }
        for i in 0..self.rx_out.delivered.len() {
            let pdu = self.rx_out.delivered[i];
            self.deliver(end, &pdu, out);
        }
        self.rx_out.delivered.clear();
    }

    /// Data available for transmission at `end`, with the data that PDCP holds back (TS 36.322
    /// clause 4.5, TS 36.323 clause 4.5).
    #[inline]
    pub fn buffer_status(&self, end: End) -> BufferStatus {
        let side = &self.sides[end.index()];
        let mut status = side.rlc.buffer_status();
        status.new_data += side.tx.waiting_bytes();
        status
    }

    /// Number of packets inside that `end` has pushed.
    pub fn inside(&self, end: End) -> usize {
        let side = &self.sides[end.index()];
        side.open_sdus.len() + side.tx.waiting()
    }

    /// Packets and bytes in the retransmission queue of an end.
    pub fn retransmission_queue(&self, end: End) -> (usize, u64) {
        let side = &self.sides[end.index()];
        let untouched = side.rlc.untouched();
        side.tx.retransmission_queue_beside(untouched.packets as usize, untouched.bytes)
    }

    /// Counters of the RLC entity of an end, under the names that all radios share.
    pub fn rlc_stats(&self, end: End) -> RlcStats {
        let (rlc, s) = (self.rlc(end), self.rlc(end).stats());
        let backlog = rlc.backlog();
        RlcStats {
            queue_sdus: u64::from(backlog.packets),
            queue_bytes: backlog.bytes,
            sdus_in: s.sdus_in,
            sdus_out: s.sdus_out,
            sdus_discarded: s.sdus_dropped + s.sdus_discarded,
            pdus_new: s.pdus_new,
            pdus_retx: s.pdus_retx,
            status_pdus: s.status_sent,
            polls: s.polls,
            window_used: u64::from(rlc.window_used()),
            resets: s.reestablishments,
            marked: rlc.marked(),
        }
    }

    /// The RLC entity of an end.
    pub const fn rlc(&self, end: End) -> &Rlc {
        &self.sides[end.index()].rlc
    }
    /// The RLC entity of an end, to install an active queue management.
    pub const fn rlc_mut(&mut self, end: End) -> &mut Rlc {
        &mut self.sides[end.index()].rlc
    }
    /// The transmitting PDCP entity of an end.
    pub const fn pdcp_tx(&self, end: End) -> &PdcpTx {
        &self.sides[end.index()].tx
    }
    /// The receiving PDCP entity of an end.
    pub const fn pdcp_rx(&self, end: End) -> &PdcpRx {
        &self.sides[end.index()].rx
    }

    /// Ends the bearer: every packet inside is dropped.
    pub fn release(&mut self, out: &mut LteBearerOutput) {
        for end in [End::Network, End::Ue] {
            let side = &mut self.sides[end.index()];
            let released = |sdu| out.dropped.push((end, sdu, DropCause::Released));
            side.open_sdus.begin_epoch(u16::MAX, released);
            out.dropped.extend(side.tx.drain_waiting().map(|sdu| (end, sdu, DropCause::Released)));
        }
    }
}

//! Changes of a bearer's lower layers: handover, re-establishment, change of link.
//!
//! Both ends flush their RLC upwards at the moment at which the terminal leaves. SDUs that the
//! network has not delivered then stay if the node stays the same; otherwise they leave as
//! [`ForwardedSdu`]s, which the caller carries to the next node and passes to [`LteBearer::accept`]
//! there. SDUs that the terminal has not delivered stay in the terminal.
//!
//! The numbers that SN STATUS TRANSFER carries (TS 36.423 clause 9.1.1.4) stay in the object; SDUs
//! that the network had received out of sequence stay too, and their transfer takes no time.

use lasthop_units::Instant;

use super::bearer::LteBearer;
use super::config::{Counted, HandoverKind};
use super::forwarding::ForwardedSdu;
use super::pdu::{Kind, Label};
use super::setup::LteBearerOutput;
use lasthop_bearer::{DropCause, End, Sdu};

impl LteBearer {
    /// The kind of handover of this bearer's packets.
    // TS 36.323 v15.1.0 clause 5.2.1.2: the procedures of DRBs mapped on RLC UM are those of a
    // seamless handover.
    pub const fn handover_kind(&self) -> HandoverKind {
        match (self.handover, self.acknowledged) {
            (HandoverKind::Lossless, false) => HandoverKind::Seamless,
            (kind, _) => kind,
        }
    }

    /// Re-establishes PDCP and RLC of both ends in the same node, as RRC does (TS 36.331 clause
    /// 5.3.5.4). MAC is reset at the same time: PDUs in transmission must not be delivered.
    pub fn re_establish(&mut self, now: Instant, out: &mut LteBearerOutput) {
        if self.no_reestablishment {
            return;
        }
        self.restart(now, self.handover_kind(), DropCause::Reestablishment, None, out);
    }

    /// The terminal leaves for another node. SDUs that the network has not delivered and does not
    /// discard are appended to `forwarded_sdus`, in the order of the target's transmissions.
    pub fn hand_over(
        &mut self,
        now: Instant,
        forwarded_sdus: &mut Vec<ForwardedSdu>,
        out: &mut LteBearerOutput,
    ) {
        self.restart(now, self.handover_kind(), DropCause::HandoverDiscard, Some(forwarded_sdus), out);
    }

    /// Drops all SDUs of the network and starts its numbers again; the terminal keeps the SDUs that
    /// it has not handed to RLC.
    pub fn abandon(&mut self, now: Instant, cause: DropCause, out: &mut LteBearerOutput) {
        self.restart(now, HandoverKind::None, cause, Some(&mut Vec::new()), out);
    }

    /// Takes in a forwarded SDU at the node that serves the terminal.
    pub fn accept(&mut self, now: Instant, forwarded_sdu: ForwardedSdu, out: &mut LteBearerOutput) {
        if forwarded_sdu == ForwardedSdu::fresh(forwarded_sdu.sdu) {
            // An SDU without COUNT comes from the gateway: its discardTimer starts here.
            return self.push_stamped(now, End::Network, &forwarded_sdu.sdu, out);
        }
        self.look_at_rlc(End::Network);
        self.sides[End::Network.index()].tx.unpack(forwarded_sdu, &mut self.tx_out);
        self.pass_down(now, End::Network, out);
        self.settle(now, End::Network, out);
    }

    /// Returns the packet in a forwarded SDU; None if the terminal has received it and only its
    /// confirmation is missing.
    pub fn undelivered(&self, forwarded_sdu: &ForwardedSdu) -> Option<Sdu> {
        let side = &self.sides[End::Network.index()];
        forwarded_sdu
            .count
            .map_or(Some(forwarded_sdu.sdu), |count| side.open_sdus.get(side.tx.epoch(), count))
    }

    /// Drops a forwarded SDU that will not arrive.
    pub fn lose(&mut self, forwarded_sdu: ForwardedSdu, cause: DropCause, out: &mut LteBearerOutput) {
        let side = &mut self.sides[End::Network.index()];
        let lost = match forwarded_sdu.count {
            Some(count) => side.open_sdus.drop(side.tx.epoch(), count),
            None => Some(forwarded_sdu.sdu),
        };
        out.dropped.extend(lost.map(|sdu| (End::Network, sdu, cause)));
    }

    // TS 36.323 v15.1.0 clause 5.2: RLC flushes upwards first, then the receiving PDCP resets and
    // reports, then the transmitting one sends what is not confirmed.
    fn restart(
        &mut self,
        now: Instant,
        kind: HandoverKind,
        cause: DropCause,
        forwarded_sdus: Option<&mut Vec<ForwardedSdu>>,
        out: &mut LteBearerOutput,
    ) {
        let mut rescued: [Vec<ForwardedSdu>; 2] = Default::default();
        if self.acknowledged {
            self.overtaken = cause;
        }
        for end in [End::Network, End::Ue] {
            if kind == HandoverKind::Seamless && forwarded_sdus.is_some() {
                self.rescue(end, &mut rescued[end.index()]);
            }
            let side = &mut self.sides[end.index()];
            side.rlc.start_anew(&mut self.rlc_out);
            side.tx.begin_epoch(kind);
            self.flush_up(end, kind, out);
            let side = &mut self.sides[end.index()];
            side.rx.re_establish(kind, &mut self.rx_out);
            self.finish_up(end, out);
        }
        self.overtaken = DropCause::RadioLoss;
        for end in [End::Network, End::Ue] {
            self.close_epoch(end, kind, cause, out);
            if kind != HandoverKind::Lossless {
                // Rescued SDUs are older than those without a number.
                let side = &mut self.sides[end.index()];
                let i = end.index();
                side.tx.pack(&mut rescued[i]);
                if kind == HandoverKind::None && forwarded_sdus.is_some() && end == End::Network {
                    out.dropped.extend(rescued[i].drain(..).map(|p| (end, p.sdu, cause)));
                }
            }
        }
        if let Some(forwarded_sdus) = forwarded_sdus {
            let network = &mut rescued[End::Network.index()];
            self.sides[End::Network.index()].tx.pack(network);
            forwarded_sdus.append(network);
        }
        for end in [End::Network, End::Ue] {
            self.resume(now, end, kind, &rescued[end.index()], out);
        }
    }

    /// Takes the SDUs of `end` that count as untransmitted out of RLC, to be sent under new
    /// numbers. (TS 36.300 clause 10.1.2.3.1: the source forwards SDUs that have not been
    /// transmitted. An entity that hands SDUs to RLC only when there is a grant still has those
    /// SDUs.)
    // TS 36.323 v15.1.0 clause 5.2.1.2: SDUs that have an SN already, and no PDU of which has gone
    // to lower layers, count as received from upper layers now.
    fn rescue(&mut self, end: End, rescued: &mut Vec<ForwardedSdu>) {
        if self.acknowledged && self.counts == Counted::HandedOver {
            return;
        }
        let side = &mut self.sides[end.index()];
        let epoch = side.tx.epoch();
        let counts: Vec<u32> = side.open_sdus.counts().collect();
        for count in counts {
            let serial = |kind| Label { epoch, count, kind }.serial();
            // RLC discards an SDU of which no byte is in a PDU.
            if side.rlc.discard(serial(Kind::Compressed)) || side.rlc.discard(serial(Kind::Whole)) {
                let expires = side.tx.expiry(count);
                let sdu = side.open_sdus.drop(epoch, count);
                rescued.extend(sdu.map(|sdu| ForwardedSdu { count: None, sdu, expires }));
            }
        }
    }

    /// Counts the SDUs that `end` had handed to RLC as lost, unless COUNT goes on.
    fn close_epoch(&mut self, end: End, kind: HandoverKind, cause: DropCause, out: &mut LteBearerOutput) {
        if kind == HandoverKind::Lossless {
            return;
        }
        let side = &mut self.sides[end.index()];
        let epoch = side.tx.epoch();
        side.open_sdus.begin_epoch(epoch, |sdu| out.dropped.push((end, sdu, cause)));
    }

    /// Sends what `end` has, under the new lower layers.
    fn resume(
        &mut self,
        now: Instant,
        end: End,
        kind: HandoverKind,
        rescued: &[ForwardedSdu],
        out: &mut LteBearerOutput,
    ) {
        let side = &mut self.sides[end.index()];
        side.controls.clear();
        if kind == HandoverKind::Lossless {
            if self.status_report {
                // Clause 5.3.1: the report goes to lower layers as the first PDU of the
                // transmission.
                let report = side.rx.status_report();
                let size = report.size(self.sn_bits);
                let serial = side.tx.control(super::bearer::no_packet(), size, &mut self.tx_out);
                side.controls.insert(serial, report);
            }
            side.tx.retransmit(&mut self.tx_out);
        }
        for forwarded_sdu in rescued {
            side.tx.unpack(*forwarded_sdu, &mut self.tx_out);
        }
        side.tx.number_waiting(&mut self.tx_out);
        self.pass_down(now, end, out);
        self.settle(now, end, out);
    }
}

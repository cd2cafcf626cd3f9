//! Bearers of a group: one sender, several receivers, with the same numbers.
//!
//! Each receiver of a group has its own bearer. The same packets are put into all of them in the
//! same order. The first bearer transmits; all of them receive its PDUs. The others keep the
//! account of the packets that their receiver should get. The numbers agree in all bearers, so a
//! PDU of the first identifies the packet in each.

use super::bearer::LteBearer;
use crate::rlc::Pdu;
use lasthop_bearer::{DropCause, End, Piece, Sdu};
use lasthop_units::PacketId;

use super::pdu::Label;
use super::setup::LteBearerOutput;

impl LteBearer {
    /// Puts `packet` into this bearer of unacknowledged mode at `end`, where another bearer
    /// transmits it: only the account records it.
    pub fn push_copy(&mut self, end: End, packet: Sdu) {
        debug_assert!(!self.acknowledged, "a group's bearers are unacknowledged");
        let sdu = self.stamp(end, packet);
        self.sides[end.index()].open_sdus.enter(sdu);
    }

    /// Drops the packet that was put in as number `serial`, because the transmitting bearer has
    /// dropped it.
    pub fn drop_copy(&mut self, end: End, serial: u64, cause: DropCause, out: &mut LteBearerOutput) {
        let dropped = self.sides[end.index()].open_sdus.drop(0, serial as u32);
        out.dropped.extend(dropped.map(|sdu| (end, sdu, cause)));
    }

    /// Number of packets that were put in at `end` so far.
    pub const fn pushed(&self, end: End) -> u64 {
        self.pushed[end.index()]
    }

    /// Returns this bearer's packets that are inside and have a part in `pdu`, which `end` of the
    /// group's first bearer has sent.
    pub fn packets_of<'a>(&'a self, end: End, pdu: &'a Pdu) -> impl Iterator<Item = PacketId> + 'a {
        self.parts_of(end, pdu).map(|piece| piece.sdu.id)
    }

    /// As above, with the numbers that the group's first bearer has given to the packets, and with
    /// the offset and length of the octets.
    pub fn parts_of<'a>(&'a self, end: End, pdu: &'a Pdu) -> impl Iterator<Item = Piece> + 'a {
        let open_sdus = &self.sides[end.index()].open_sdus;
        pdu.pieces().filter_map(|piece| {
            let label = Label::of(piece.sdu.serial);
            let id = open_sdus.get(label.epoch, label.count)?.id;
            Some(Piece { sdu: Sdu { id, ..piece.sdu }, ..piece })
        })
    }
}

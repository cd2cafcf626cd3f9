//! Several receivers of one sender: a group's bearers go in step.
//!
//! Each receiver of a group has a bearer of its own, into which the same packets are put in the
//! same order. One of them, the first, sends: its PDUs are received in all of them. The others keep
//! the account of what their receiver should get; numbers are the same everywhere, so a PDU of the
//! first names the right packet in each.

use super::bearer::LteBearer;
use crate::rlc::Pdu;
use lasthop_bearer::{DropCause, End, Piece, Sdu};
use lasthop_units::PacketId;

use super::pdu::Label;
use super::setup::LteBearerOutput;

impl LteBearer {
    /// `packet` is put into this bearer of unacknowledged mode at `end`, where another bearer sends
    /// it: only the account has it.
    pub fn push_copy(&mut self, end: End, packet: Sdu) {
        debug_assert!(!self.acknowledged, "a group's bearers are unacknowledged");
        let sdu = self.stamp(end, packet);
        self.sides[end.index()].open_sdus.enter(sdu);
    }

    /// The bearer that sends has dropped the packet that was put in as number `serial`: so does
    /// this one.
    pub fn drop_copy(&mut self, end: End, serial: u64, cause: DropCause, out: &mut LteBearerOutput) {
        let dropped = self.sides[end.index()].open_sdus.drop(0, serial as u32);
        out.dropped.extend(dropped.map(|sdu| (end, sdu, cause)));
    }

    /// Packets that were put in at `end` so far.
    pub const fn pushed(&self, end: End) -> u64 {
        self.pushed[end.index()]
    }

    /// This bearer's packets that are inside and have a part in `pdu`, which `end` of the group's
    /// first bearer has sent.
    pub fn packets_of<'a>(&'a self, end: End, pdu: &'a Pdu) -> impl Iterator<Item = PacketId> + 'a {
        self.parts_of(end, pdu).map(|piece| piece.sdu.id)
    }

    /// The same with the numbers that the group's first bearer has given them; and which octets
    /// these are, by offset and length.
    pub fn parts_of<'a>(&'a self, end: End, pdu: &'a Pdu) -> impl Iterator<Item = Piece> + 'a {
        let open_sdus = &self.sides[end.index()].open_sdus;
        pdu.pieces().filter_map(|piece| {
            let label = Label::of(piece.sdu.serial);
            let id = open_sdus.get(label.epoch, label.count)?.id;
            Some(Piece { sdu: Sdu { id, ..piece.sdu }, ..piece })
        })
    }
}

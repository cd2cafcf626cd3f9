//! Stages of SDUs between two ends, by octets: first transmission, retransmission by MAC or by RLC,
//! or complete and waiting for others. For probes; no result of the simulation depends on them.
//!
//! Callers report transmitted and arrived octets; a stage follows from these reports alone. An SDU
//! is in [`Transmission`](BearerStage::Transmission) from the beginning of its first octet until
//! the moment at which the last block with new octets of it is due. Octets missing then are sent
//! again, by MAC ([`Harq`](BearerStage::Harq)) until MAC gives a block up or RLC sends octets
//! again, and by RLC from then on ([`RlcRetransmission`](BearerStage::RlcRetransmission)). When no
//! octet is missing the SDU waits for SDUs before it ([`Reordering`](BearerStage::Reordering)).

use std::collections::BTreeMap;

use lasthop_units::{Instant, PacketId};

use crate::Sdu;

/// The stage of an SDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BearerStage {
    /// It waits to be sent, or a part of it does.
    Queue,
    /// It is transmitted for the first time.
    Transmission,
    /// MAC retransmits a block.
    Harq,
    /// RLC sends octets again, or waits for the report that requests them.
    RlcRetransmission,
    /// It has completely arrived and waits for SDUs before it.
    Reordering,
    /// It is between the gateway and the node that serves the terminal.
    Core,
}

/// A packet enters a stage at `at`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BearerNote {
    /// The packet.
    pub id: PacketId,
    /// The start of the stage; not after the call that reports it.
    pub at: Instant,
    /// The stage.
    pub stage: BearerStage,
}

/// Octets of an SDU in a PDU of RLC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The SDU.
    pub sdu: Sdu,
    /// The first of the octets.
    pub offset: u32,
    /// Number of octets.
    pub len: u32,
    /// The PDU's sequence number in its header; transparent mode has none.
    pub sn: Option<u32>,
}

/// Octets `from` to `to` of an SDU.
type Span = (u32, u32);

/// Octets that were sent and have not arrived, with the PDU that they were in last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The first octet, and the one after the last.
    pub span: (u32, u32),
    /// The PDU's sequence number.
    pub sn: Option<u32>,
    /// When the block with it was sent: the start of its TTI.
    pub at: Instant,
    /// Number of transmissions of these octets.
    pub sends: u32,
    /// MAC has given the block up, or a channel without retransmissions has lost it.
    pub lost: bool,
}

/// The record of one SDU.
#[derive(Clone, Debug, Default)]
struct Journey {
    /// Its number in RLC, once it has been sent.
    serial: Option<u64>,
    /// Its number of octets.
    size: u32,
    /// Number of octets that were sent at least once.
    sent: u32,
    /// When the last block with new octets is due.
    due: Instant,
    /// When MAC has given a block up, or RLC has sent octets again.
    gave_up: Option<Instant>,
    /// When the last octets arrived.
    last: Instant,
    /// Octets that were sent and have not arrived.
    missing: Vec<Missing>,
}

/// The SDUs between ends, by packet. An SDU is followed from [`enter`](Self::enter) to
/// [`leave`](Self::leave).
#[derive(Clone, Debug, Default)]
pub struct Journeys {
    open: BTreeMap<PacketId, Journey>,
    /// The highest serial number that each sender has sent. Because numbers grow, it distinguishes
    /// an old SDU that is sent again after it has left from a new SDU with the same place in the
    /// slab.
    newest: BTreeMap<u32, u64>,
    notes: Vec<BearerNote>,
}

impl Journeys {
    /// Adds a packet, which waits to be sent.
    pub fn enter(&mut self, id: PacketId) {
        self.open.insert(id, Journey::default());
    }

    /// Records that the packet is in this stage, for a reason that does not follow from its octets.
    pub fn note(&mut self, now: Instant, id: PacketId, stage: BearerStage) {
        if self.open.contains_key(&id) {
            self.notes.push(BearerNote { id, at: now, stage });
        }
    }

    /// Removes the packet, which is delivered or dropped at `now`.
    pub fn leave(&mut self, now: Instant, id: PacketId) {
        if let Some(journey) = self.open.remove(&id)
            && !journey.missing.is_empty()
        {
            journey.note_late(id, now, &mut self.notes);
        }
    }

    /// Octets of the packet that were sent and have not arrived. Read when it is dropped, before
    /// [`leave`](Self::leave).
    pub fn missing(&self, id: PacketId) -> &[Missing] {
        self.open.get(&id).map_or(&[], |journey| &journey.missing)
    }

    /// Records that a piece leaves `sender` in a block that begins at `now` and is due at the other
    /// end at `due`, if its first transmission is decoded.
    pub fn sent(&mut self, now: Instant, sender: u32, piece: &Piece, due: Instant) {
        let sdu = &piece.sdu;
        let Some(journey) = self.open.get_mut(&sdu.id) else { return };
        if journey.serial.is_none() {
            let newest = self.newest.entry(sender).or_insert(sdu.serial);
            if sdu.serial < *newest {
                return;
            }
            *newest = sdu.serial;
            (journey.serial, journey.size) = (Some(sdu.serial), sdu.size());
        }
        if journey.serial == Some(sdu.serial) {
            journey.leaves(now, piece, due, &mut self.notes);
        }
    }

    /// Records that these octets have arrived.
    pub fn arrived(&mut self, now: Instant, piece: &Piece) {
        let sdu = &piece.sdu;
        let Some(journey) = self.of(sdu) else { return };
        journey.last = now;
        journey.take(piece.span());
        if journey.sent >= sdu.size() && journey.missing.is_empty() {
            let journey = journey.clone();
            journey.note_late(sdu.id, now, &mut self.notes);
            self.notes.push(BearerNote { id: sdu.id, at: now, stage: BearerStage::Reordering });
        }
    }

    /// Records that MAC gives up a block with this piece; `at` may be the moment at which it was
    /// due.
    pub fn given_up(&mut self, at: Instant, piece: &Piece) {
        if let Some(journey) = self.of(&piece.sdu) {
            journey.gave_up.get_or_insert(at);
            for missing in journey.take(piece.span()) {
                journey.missing.push(Missing { lost: true, ..missing });
            }
        }
    }

    /// Records, at the end of the run, the stages of SDUs that have not completely arrived.
    pub fn end(&mut self, now: Instant) {
        let Journeys { open, notes, .. } = self;
        for (id, journey) in open.iter().filter(|(_, journey)| journey.sent > 0 && now > journey.due) {
            if !journey.missing.is_empty() {
                journey.note_late(*id, now, notes);
            } else if journey.sent < journey.size {
                notes.push(BearerNote { id: *id, at: journey.idle_since(), stage: BearerStage::Queue });
            }
        }
    }

    /// The notes since the last call.
    pub fn drain(&mut self) -> impl Iterator<Item = BearerNote> + '_ {
        self.notes.drain(..)
    }

    fn of(&mut self, sdu: &Sdu) -> Option<&mut Journey> {
        self.open.get_mut(&sdu.id).filter(|journey| journey.serial == Some(sdu.serial))
    }
}

impl Piece {
    const fn span(&self) -> Span {
        (self.offset, self.offset + self.len)
    }
}

impl Journey {
    fn leaves(&mut self, now: Instant, piece: &Piece, due: Instant, notes: &mut Vec<BearerNote>) {
        let (id, sn, (from, to)) = (piece.sdu.id, piece.sn, piece.span());
        if to <= self.sent && self.sent > 0 {
            for missing in self.take((from, to)) {
                let sends = missing.sends + 1;
                self.missing.push(Missing { sn, at: now, sends, lost: false, ..missing });
            }
            self.gave_up.get_or_insert(self.due.min(now));
            return self.note_late(id, now, notes);
        }
        if self.sent > 0 && now > self.due {
            if self.missing.is_empty() {
                let idle = self.idle_since();
                self.note_late(id, idle, notes);
                notes.push(BearerNote { id, at: idle, stage: BearerStage::Queue });
            } else {
                self.note_late(id, now, notes);
            }
            self.gave_up = None;
        }
        notes.push(BearerNote { id, at: now, stage: BearerStage::Transmission });
        if from < to {
            let span = (from.max(self.sent), to);
            self.missing.push(Missing { span, sn, at: now, sends: 1, lost: false });
        }
        self.sent = to.max(self.sent);
        self.due = due.max(self.due);
    }

    /// The time from which on it was complete and all its blocks due, if no octet is missing.
    fn idle_since(&self) -> Instant {
        self.last.max(self.due)
    }

    /// Adds the stages from the moment at which all octets were due until `now`.
    fn note_late(&self, id: PacketId, now: Instant, notes: &mut Vec<BearerNote>) {
        let again = self.gave_up.map_or(now, |at| at.max(self.due)).min(now);
        if again > self.due {
            notes.push(BearerNote { id, at: self.due, stage: BearerStage::Harq });
        }
        if now > again {
            notes.push(BearerNote { id, at: again, stage: BearerStage::RlcRetransmission });
        }
    }

    /// Removes the missing octets of a span and returns them.
    fn take(&mut self, (from, to): Span) -> Vec<Missing> {
        let mut taken = Vec::new();
        for missing in std::mem::take(&mut self.missing) {
            let (a, b) = missing.span;
            let part = |span: Span| Some(Missing { span, ..missing }).filter(|_| span.0 < span.1);
            self.missing.extend([part((a, b.min(from))), part((a.max(to), b))].into_iter().flatten());
            taken.extend(part((a.max(from), b.min(to))));
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::Id;

    const fn ms(t: u64) -> Instant {
        Instant::from_millis(t)
    }

    fn sdu() -> Sdu {
        Sdu { serial: 7, ..Sdu::new(PacketId::from_index(3), 100) }
    }

    /// Octets of an SDU in the PDU with this number.
    fn piece(sdu: Sdu, offset: u32, len: u32, sn: u32) -> Piece {
        Piece { sdu, offset, len, sn: Some(sn) }
    }

    fn notes(journeys: &mut Journeys) -> Vec<(u64, BearerStage)> {
        journeys.drain().map(|n| (n.at.0 / 1_000_000, n.stage)).collect()
    }

    #[test]
    fn what_arrives_at_once_waits_for_others_from_then_on() {
        let mut j = Journeys::default();
        j.enter(sdu().id);
        j.sent(ms(10), 0, &piece(sdu(), 0, 60, 0), ms(14));
        j.sent(ms(11), 0, &piece(sdu(), 60, 40, 0), ms(15));
        j.arrived(ms(14), &piece(sdu(), 0, 60, 0));
        j.arrived(ms(15), &piece(sdu(), 60, 40, 0));
        use BearerStage::{Reordering, Transmission};
        assert_eq!(notes(&mut j), [(10, Transmission), (11, Transmission), (15, Reordering)]);
    }

    #[test]
    fn mac_sends_again_until_it_gives_up_and_rlc_from_then_on() {
        let mut j = Journeys::default();
        j.enter(sdu().id);
        j.sent(ms(10), 0, &piece(sdu(), 0, 100, 0), ms(14));
        j.given_up(ms(38), &piece(sdu(), 0, 100, 0));
        j.sent(ms(60), 0, &piece(sdu(), 0, 100, 0), ms(64));
        j.arrived(ms(64), &piece(sdu(), 0, 100, 0));
        use BearerStage::{Harq, Reordering, RlcRetransmission, Transmission};
        let last = [(14, Harq), (38, RlcRetransmission)];
        let all = [&[(10, Transmission)], &last[..], &last[..], &[(64, Reordering)]].concat();
        assert_eq!(notes(&mut j), all, "earlier notes are repeated");
    }

    /// PDU 5 has octets 0 to 59, PDU 6 the rest. PDU 5 is lost, PDU 6 arrives. Octets 0 to 29 are
    /// repeated as a segment of PDU 5 and in transmission; octets 30 to 59 were never repeated.
    #[test]
    fn missing_octets_have_the_pdu_that_they_were_in_last() {
        let mut j = Journeys::default();
        j.enter(sdu().id);
        j.sent(ms(10), 0, &piece(sdu(), 0, 60, 5), ms(14));
        j.sent(ms(11), 0, &piece(sdu(), 60, 40, 6), ms(15));
        j.given_up(ms(14), &piece(sdu(), 0, 60, 5));
        j.arrived(ms(15), &piece(sdu(), 60, 40, 6));
        let first = Missing { span: (0, 60), sn: Some(5), at: ms(10), sends: 1, lost: true };
        assert_eq!(j.missing(sdu().id), [first]);
        j.sent(ms(20), 0, &piece(sdu(), 0, 30, 5), ms(24));
        let again = Missing { span: (0, 30), at: ms(20), sends: 2, lost: false, ..first };
        assert_eq!(j.missing(sdu().id), [Missing { span: (30, 60), ..first }, again]);
        j.leave(ms(30), sdu().id);
        assert_eq!(j.missing(sdu().id), []);
    }

    #[test]
    fn a_rest_waits_in_the_queue() {
        let mut j = Journeys::default();
        j.enter(sdu().id);
        j.sent(ms(10), 0, &piece(sdu(), 0, 50, 0), ms(14));
        j.arrived(ms(14), &piece(sdu(), 0, 50, 0));
        j.sent(ms(30), 0, &piece(sdu(), 50, 50, 0), ms(34));
        use BearerStage::{Queue, Transmission};
        assert_eq!(notes(&mut j), [(10, Transmission), (14, Queue), (30, Transmission)]);
    }

    #[test]
    fn the_end_of_the_run_finds_what_has_not_arrived() {
        use BearerStage::{Harq, Queue, RlcRetransmission};
        let mut j = Journeys::default();
        let other = |i| Sdu { id: PacketId::from_index(i), ..sdu() };
        // Still in transmission; missing since 14; given up at 38; half sent, which has arrived;
        // all arrived.
        for (i, due, octets) in [(0, 99, 100), (1, 14, 100), (2, 14, 100), (3, 14, 50), (4, 14, 100)] {
            j.enter(other(i).id);
            j.sent(ms(10), 0, &piece(other(i), 0, octets, 0), ms(due));
        }
        j.given_up(ms(38), &piece(other(2), 0, 100, 0));
        j.arrived(ms(16), &piece(other(3), 0, 50, 0));
        j.arrived(ms(14), &piece(other(4), 0, 100, 0));
        j.enter(other(5).id);
        j.drain().for_each(drop);
        j.end(ms(50));
        let found: Vec<_> = j.drain().map(|n| (n.id.index(), n.at.0 / 1_000_000, n.stage)).collect();
        assert_eq!(found, [(1, 14, Harq), (2, 14, Harq), (2, 38, RlcRetransmission), (3, 16, Queue)]);
    }

    #[test]
    fn an_old_sdu_in_the_same_place_is_not_taken_for_the_new_one() {
        let mut j = Journeys::default();
        let old = sdu();
        j.enter(old.id);
        j.sent(ms(10), 0, &piece(old, 0, 100, 0), ms(14));
        j.leave(ms(14), old.id);
        let new = Sdu { serial: 9, ..old };
        j.enter(new.id);
        notes(&mut j);
        j.sent(ms(20), 0, &piece(Sdu { serial: 6, ..old }, 0, 100, 0), ms(24));
        assert_eq!(notes(&mut j), []);
        j.sent(ms(30), 0, &piece(new, 0, 100, 0), ms(34));
        assert_eq!(notes(&mut j), [(30, BearerStage::Transmission)]);
    }
}

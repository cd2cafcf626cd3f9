//! Where the octets of each SDU are between two ends: on the air for the first time, sent again by
//! MAC or by RLC, or all there and waiting for others. For probes; nothing is computed with it.
//!
//! What goes on the air and what arrives is reported octet by octet; a stage follows from that
//! alone. An SDU is in [`Transmission`](BearerStage::Transmission) from the beginning of its first
//! octet until the moment at which the last block with new octets of it is due. What is missing
//! then is sent again, by MAC ([`Harq`](BearerStage::Harq)) until MAC gives a block up or RLC sends
//! octets again, and by RLC from then on
//! ([`RlcRetransmission`](BearerStage::RlcRetransmission)). When nothing is missing it waits for
//! SDUs before it ([`Reordering`](BearerStage::Reordering)).

use std::collections::BTreeMap;

use lasthop_units::{Instant, PacketId};

use crate::Sdu;

/// What happens to an SDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BearerStage {
    /// It waits to be sent, or the rest of it does.
    Queue,
    /// It is on the air for the first time.
    Transmission,
    /// MAC sends a block again.
    Harq,
    /// RLC sends octets again, or waits for the report that asks for them.
    RlcRetransmission,
    /// All of it has arrived; it waits for SDUs before it.
    Reordering,
    /// It is between the gateway and the node that serves the terminal.
    Core,
}

/// From `at` on the packet is in this stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BearerNote {
    /// The packet.
    pub id: PacketId,
    /// Since when; not after the call that says so.
    pub at: Instant,
    /// What happens to it.
    pub stage: BearerStage,
}

/// Octets `from` to `to` of an SDU.
type Span = (u32, u32);

/// One SDU.
#[derive(Clone, Debug, Default)]
struct Journey {
    /// Its number in RLC, once it has been sent.
    serial: Option<u64>,
    /// Its octets.
    size: u32,
    /// Octets that were sent at least once.
    sent: u32,
    /// When the last block with new octets is due.
    due: Instant,
    /// When MAC has given a block up, or RLC has sent octets again.
    gave_up: Option<Instant>,
    /// When octets arrived last.
    last: Instant,
    /// What was sent and has not arrived.
    missing: Vec<Span>,
}

/// The SDUs between ends, by packet. An SDU is followed from [`enter`](Self::enter) to
/// [`leave`](Self::leave).
#[derive(Clone, Debug, Default)]
pub struct Journeys {
    open: BTreeMap<PacketId, Journey>,
    /// The newest number that each sender has sent: numbers grow, and an old SDU that is sent again
    /// after it has left must not be taken for a new one with the same place in the slab.
    newest: BTreeMap<u32, u64>,
    notes: Vec<BearerNote>,
}

impl Journeys {
    /// A packet waits to be sent.
    pub fn enter(&mut self, id: PacketId) {
        self.open.insert(id, Journey::default());
    }

    /// The packet is in this stage, for a reason that its octets do not show.
    pub fn note(&mut self, now: Instant, id: PacketId, stage: BearerStage) {
        if self.open.contains_key(&id) {
            self.notes.push(BearerNote { id, at: now, stage });
        }
    }

    /// The packet is delivered or dropped at `now`.
    pub fn leave(&mut self, now: Instant, id: PacketId) {
        if let Some(journey) = self.open.remove(&id)
            && !journey.missing.is_empty()
        {
            journey.note_late(id, now, &mut self.notes);
        }
    }

    /// `len` octets of `sdu` from `offset` on leave `sender` in a block that begins at `now` and is
    /// due at the other end at `due`, if it is decoded at once.
    pub fn sent(&mut self, now: Instant, sender: u32, sdu: &Sdu, offset: u32, len: u32, due: Instant) {
        let Some(journey) = self.open.get_mut(&sdu.id) else { return };
        if journey.serial.is_none() {
            let newest = self.newest.entry(sender).or_insert(sdu.serial);
            if sdu.serial < *newest {
                return;
            }
            *newest = sdu.serial;
            (journey.serial, journey.size) = (Some(sdu.serial), sdu.size);
        }
        if journey.serial == Some(sdu.serial) {
            journey.leaves(sdu.id, now, (offset, offset + len), due, &mut self.notes);
        }
    }

    /// These octets have arrived.
    pub fn arrived(&mut self, now: Instant, sdu: &Sdu, offset: u32, len: u32) {
        let Some(journey) = self.of(sdu) else { return };
        journey.last = now;
        journey.remove((offset, offset + len));
        if journey.sent >= sdu.size && journey.missing.is_empty() {
            let journey = journey.clone();
            journey.note_late(sdu.id, now, &mut self.notes);
            self.notes.push(BearerNote { id: sdu.id, at: now, stage: BearerStage::Reordering });
        }
    }

    /// MAC sends a block with octets of `sdu` no more; `at` may be the moment at which it was due.
    pub fn given_up(&mut self, at: Instant, sdu: &Sdu) {
        if let Some(journey) = self.of(sdu) {
            journey.gave_up.get_or_insert(at);
        }
    }

    /// The run ends at `now`: where what has not arrived whole is.
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

impl Journey {
    fn leaves(
        &mut self,
        id: PacketId,
        now: Instant,
        (from, to): Span,
        due: Instant,
        notes: &mut Vec<BearerNote>,
    ) {
        if to <= self.sent && self.sent > 0 {
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
            self.missing.push((from.max(self.sent), to));
        }
        self.sent = to.max(self.sent);
        self.due = due.max(self.due);
    }

    /// Since when nothing of it was on its way, if nothing is missing.
    fn idle_since(&self) -> Instant {
        self.last.max(self.due)
    }

    /// Where it was from the moment at which everything was due until `now`.
    fn note_late(&self, id: PacketId, now: Instant, notes: &mut Vec<BearerNote>) {
        let again = self.gave_up.map_or(now, |at| at.max(self.due)).min(now);
        if again > self.due {
            notes.push(BearerNote { id, at: self.due, stage: BearerStage::Harq });
        }
        if now > again {
            notes.push(BearerNote { id, at: again, stage: BearerStage::RlcRetransmission });
        }
    }

    fn remove(&mut self, (from, to): Span) {
        let rest = |(a, b): &Span| [(*a, from.min(*b)), (to.max(*a), *b)];
        self.missing = self.missing.iter().flat_map(rest).filter(|(a, b)| a < b).collect();
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

    fn notes(journeys: &mut Journeys) -> Vec<(u64, BearerStage)> {
        journeys.drain().map(|n| (n.at.0 / 1_000_000, n.stage)).collect()
    }

    #[test]
    fn what_arrives_at_once_waits_for_others_from_then_on() {
        let mut j = Journeys::default();
        j.enter(sdu().id);
        j.sent(ms(10), 0, &sdu(), 0, 60, ms(14));
        j.sent(ms(11), 0, &sdu(), 60, 40, ms(15));
        j.arrived(ms(14), &sdu(), 0, 60);
        j.arrived(ms(15), &sdu(), 60, 40);
        use BearerStage::{Reordering, Transmission};
        assert_eq!(notes(&mut j), [(10, Transmission), (11, Transmission), (15, Reordering)]);
    }

    #[test]
    fn mac_sends_again_until_it_gives_up_and_rlc_from_then_on() {
        let mut j = Journeys::default();
        j.enter(sdu().id);
        j.sent(ms(10), 0, &sdu(), 0, 100, ms(14));
        j.given_up(ms(38), &sdu());
        j.sent(ms(60), 0, &sdu(), 0, 100, ms(64));
        j.arrived(ms(64), &sdu(), 0, 100);
        use BearerStage::{Harq, Reordering, RlcRetransmission, Transmission};
        let last = [(14, Harq), (38, RlcRetransmission)];
        let all = [&[(10, Transmission)], &last[..], &last[..], &[(64, Reordering)]].concat();
        assert_eq!(notes(&mut j), all, "what was said before is said again");
    }

    #[test]
    fn a_rest_waits_in_the_queue() {
        let mut j = Journeys::default();
        j.enter(sdu().id);
        j.sent(ms(10), 0, &sdu(), 0, 50, ms(14));
        j.arrived(ms(14), &sdu(), 0, 50);
        j.sent(ms(30), 0, &sdu(), 50, 50, ms(34));
        use BearerStage::{Queue, Transmission};
        assert_eq!(notes(&mut j), [(10, Transmission), (14, Queue), (30, Transmission)]);
    }

    #[test]
    fn the_end_of_the_run_finds_what_has_not_arrived() {
        use BearerStage::{Harq, Queue, RlcRetransmission};
        let mut j = Journeys::default();
        let other = |i| Sdu { id: PacketId::from_index(i), ..sdu() };
        // On the air still; missing since 14; given up at 38; half sent, which has arrived; all
        // arrived.
        for (i, due, octets) in [(0, 99, 100), (1, 14, 100), (2, 14, 100), (3, 14, 50), (4, 14, 100)] {
            j.enter(other(i).id);
            j.sent(ms(10), 0, &other(i), 0, octets, ms(due));
        }
        j.given_up(ms(38), &other(2));
        j.arrived(ms(16), &other(3), 0, 50);
        j.arrived(ms(14), &other(4), 0, 100);
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
        j.sent(ms(10), 0, &old, 0, 100, ms(14));
        j.leave(ms(14), old.id);
        let new = Sdu { serial: 9, ..old };
        j.enter(new.id);
        notes(&mut j);
        j.sent(ms(20), 0, &Sdu { serial: 6, ..old }, 0, 100, ms(24));
        assert_eq!(notes(&mut j), []);
        j.sent(ms(30), 0, &new, 0, 100, ms(34));
        assert_eq!(notes(&mut j), [(30, BearerStage::Transmission)]);
    }
}

//! Packets of a pair in the order in which they were sent, although two links of different delays
//! carry them: the receiving PDCP of a lossless mode switch. Packets that arrive too early are held
//! until the missing ones have arrived or t-Reordering expires (the reordering of split bearers, TS
//! 36.323 clause 5.1.2.1.4).

use std::collections::BTreeMap;

use lasthop_units::{BearerId, PacketId, Tti};

use lasthop_bearer::{End, Sdu};

/// t-Reordering [TTI] (TS 36.331 has 0 to 750 ms for split bearers).
const TIMER: u64 = 100;

/// Reordering in one direction of a pair.
#[derive(Debug, Default)]
pub struct Reorder {
    /// COUNT of the next packet that is sent.
    next_sent: u64,
    /// COUNT of the next packet that is delivered.
    next: u64,
    /// COUNTs of the packets that are sent and have not arrived.
    counts: BTreeMap<PacketId, u64>,
    held: BTreeMap<u64, (BearerId, End, Sdu)>,
    /// Expiry of t-Reordering.
    pub until: Option<Tti>,
}

impl Reorder {
    /// Numbers a packet that is sent for the first time; one that is sent again over another link
    /// keeps its number.
    pub fn sent(&mut self, id: PacketId) {
        if let std::collections::btree_map::Entry::Vacant(e) = self.counts.entry(id) {
            e.insert(self.next_sent);
            self.next_sent += 1;
        }
    }

    /// Removes a packet that was dropped; the receiver is not informed.
    pub fn lost(&mut self, id: PacketId) {
        self.counts.remove(&id);
    }

    /// Takes a packet that has arrived, and appends those that may be delivered to `out`. A packet
    /// of another pair is delivered at once.
    pub fn arrived(&mut self, tti: Tti, item: (BearerId, End, Sdu), out: &mut Vec<(BearerId, End, Sdu)>) {
        let Some(count) = self.counts.remove(&item.2.id) else { return out.push(item) };
        if count < self.next {
            // The timer has given this packet up; it is delivered late.
            return out.push(item);
        }
        self.held.insert(count, item);
        self.release(out);
        self.until = (!self.held.is_empty()).then(|| self.until.unwrap_or(tti.plus(TIMER)));
    }

    /// Processes the timer: packets missing before the first held one are given up.
    pub fn on_tti(&mut self, tti: Tti, out: &mut Vec<(BearerId, End, Sdu)>) {
        if self.until.is_none_or(|t| t > tti) {
            return;
        }
        if let Some((first, _)) = self.held.first_key_value() {
            self.next = *first;
        }
        self.release(out);
        self.until = (!self.held.is_empty()).then(|| tti.plus(TIMER));
    }

    fn release(&mut self, out: &mut Vec<(BearerId, End, Sdu)>) {
        while let Some(item) = self.held.remove(&self.next) {
            out.push(item);
            self.next += 1;
        }
    }

    /// True if the packet is one of this pair's that is sent and has not arrived.
    pub fn is_in_flight(&self, id: PacketId) -> bool {
        self.counts.contains_key(&id)
    }

    /// Packets held here.
    pub fn inside(&self) -> usize {
        self.held.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::Id;

    fn item(i: usize) -> (BearerId, End, Sdu) {
        (BearerId::from_index(0), End::Ue, Sdu::new(PacketId::from_index(i), 100))
    }

    #[test]
    fn a_packet_that_overtook_waits_for_those_sent_before() {
        let mut r = Reorder::default();
        let mut out = Vec::new();
        (0..4).for_each(|i| r.sent(PacketId::from_index(i)));
        r.arrived(Tti(5), item(0), &mut out);
        r.arrived(Tti(6), item(2), &mut out);
        assert_eq!((out.len(), r.inside(), r.until), (1, 1, Some(Tti(106))));
        r.arrived(Tti(7), item(1), &mut out);
        let order: Vec<usize> = out.iter().map(|o| o.2.id.index()).collect();
        assert_eq!((order, r.until), (vec![0, 1, 2], None));
    }

    #[test]
    fn a_missing_packet_is_awaited_as_long_as_the_timer_runs() {
        let mut r = Reorder::default();
        let mut out = Vec::new();
        (0..3).for_each(|i| r.sent(PacketId::from_index(i)));
        r.arrived(Tti(0), item(1), &mut out);
        r.on_tti(Tti(99), &mut out);
        assert!(out.is_empty());
        r.on_tti(Tti(100), &mut out);
        assert_eq!((out.len(), r.until), (1, None));
        // The packet that was given up arrives later.
        r.arrived(Tti(101), item(0), &mut out);
        r.arrived(Tti(102), item(2), &mut out);
        assert_eq!(out.len(), 3);
    }
}

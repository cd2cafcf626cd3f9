//! Packets of a pair in the order in which they were sent, although two links of different lengths
//! carry them: the receiving PDCP of a lossless mode switch. It holds what overtook until what is
//! missing has come or t-Reordering expires (the reordering of split bearers, TS 36.323 clause
//! 5.1.2.1.4).

use std::collections::BTreeMap;

use lasthop_units::{BearerId, PacketId, Tti};

use lasthop_bearer::{End, Sdu};

/// t-Reordering [TTI] (TS 36.331 has 0 to 750 ms for split bearers).
const TIMER: u64 = 100;

/// One direction of a pair.
#[derive(Debug, Default)]
pub struct Reorder {
    /// COUNT of the next packet that is sent.
    next_sent: u64,
    /// COUNT of the next packet that is delivered.
    next: u64,
    /// COUNTs of the packets on their way.
    counts: BTreeMap<PacketId, u64>,
    held: BTreeMap<u64, (BearerId, End, Sdu)>,
    /// When the receiver stops waiting.
    pub until: Option<Tti>,
}

impl Reorder {
    /// A packet is sent: for the first time, or again over another link under the number that it
    /// has.
    pub fn sent(&mut self, id: PacketId) {
        if let std::collections::btree_map::Entry::Vacant(e) = self.counts.entry(id) {
            e.insert(self.next_sent);
            self.next_sent += 1;
        }
    }

    /// A packet was dropped on its way: the receiver does not know.
    pub fn lost(&mut self, id: PacketId) {
        self.counts.remove(&id);
    }

    /// A packet has arrived: those that may be delivered go to `out`. One that is not of this pair
    /// passes.
    pub fn arrived(&mut self, tti: Tti, item: (BearerId, End, Sdu), out: &mut Vec<(BearerId, End, Sdu)>) {
        let Some(count) = self.counts.remove(&item.2.id) else { return out.push(item) };
        if count < self.next {
            // Given up by the timer; late is better than never.
            return out.push(item);
        }
        self.held.insert(count, item);
        self.release(out);
        self.until = (!self.held.is_empty()).then(|| self.until.unwrap_or(tti.plus(TIMER)));
    }

    /// The timer: what is missing before the first packet that is there will not come.
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

    /// True if the packet is one of this pair's and on its way.
    pub fn knows(&self, id: PacketId) -> bool {
        self.counts.contains_key(&id)
    }

    /// Packets that wait here.
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
    fn what_overtook_waits_for_what_was_sent_before() {
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
    fn what_never_comes_is_waited_for_as_long_as_the_timer_runs() {
        let mut r = Reorder::default();
        let mut out = Vec::new();
        (0..3).for_each(|i| r.sent(PacketId::from_index(i)));
        r.arrived(Tti(0), item(1), &mut out);
        r.on_tti(Tti(99), &mut out);
        assert!(out.is_empty());
        r.on_tti(Tti(100), &mut out);
        assert_eq!((out.len(), r.until), (1, None));
        // The one given up comes after all.
        r.arrived(Tti(101), item(0), &mut out);
        r.arrived(Tti(102), item(2), &mut out);
        assert_eq!(out.len(), 3);
    }
}

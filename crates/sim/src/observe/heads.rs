//! Header bytes of packets: made once, and kept as long as frames contain them.

use std::collections::{BTreeMap, VecDeque};

use lasthop_net::ipv4::Fragment;
use lasthop_units::{AccessId, Ecn};

use super::ip::RealHeads;
use super::{Packet, ip};

/// The identity of a packet below IP: the access, the entity in it, and a serial number there.
pub type Key = (AccessId, u64, u64);

/// Number of heads that are kept, the newest: some 10 MB. The headers of a packet that is sent
/// again after this many new ones are zeros.
const KEPT: usize = 1 << 16;

/// Number of places for heads of packets at points of observation of IP.
const PLACES: usize = 1 << 10;

/// The headers of a packet.
#[derive(Clone, Copy)]
struct Head {
    len: u8,
    /// True for the headers of a whole packet, not of a fragment.
    whole: bool,
    bytes: [u8; ip::MAX_HEAD],
}

impl Head {
    fn of(packet: &Packet, real: &RealHeads, scratch: &mut Vec<u8>) -> Head {
        scratch.clear();
        ip::head(scratch, packet, real);
        let mut bytes = [0; ip::MAX_HEAD];
        bytes[..scratch.len()].copy_from_slice(scratch);
        Head { len: scratch.len() as u8, whole: packet.fragment.is_none(), bytes }
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// The heads of packets below IP. A packet can have left the slab while its sender still
/// retransmits parts of it: the receiver has delivered it, and its report is lost or in
/// transmission. So its head is kept from the first frame on.
#[derive(Default)]
pub struct Heads {
    /// The heads of each entity, in the order of their numbers: a new one is mostly the last.
    heads: BTreeMap<Entity, VecDeque<(u64, Head)>>,
    /// The entity of each kept head, the oldest one first.
    order: VecDeque<Entity>,
    scratch: Vec<u8>,
}

/// An access and an entity in it.
type Entity = (AccessId, u64);

/// The place of the first head with this number or a larger one. The place is mostly near the end:
/// first transmissions and arrivals concern the newest packets.
fn place_of(kept: &VecDeque<(u64, Head)>, serial: u64) -> usize {
    let before = |at: usize| kept[at].0 < serial;
    let (mut low, mut high, mut step) = (kept.len(), kept.len(), 1);
    while low > 0 && !before(low - 1) {
        high = low - 1;
        low = low.saturating_sub(step);
        step *= 2;
    }
    while low < high {
        let middle = low.midpoint(high);
        (low, high) = if before(middle) { (middle + 1, high) } else { (low, middle) };
    }
    low
}

impl Heads {
    /// Writes octets of a packet, from `offset` on, into `place`; octets after its head are
    /// unchanged. Returns the number of octets written if the packet is a whole one.
    pub fn fill<'a>(
        &mut self,
        (access, entity, serial): Key,
        offset: u32,
        place: &mut [u8],
        real: &RealHeads,
        packet: impl Fn() -> Option<&'a Packet>,
    ) -> Option<usize> {
        // Such a part is not the first transmitted one of its packet, and has no headers.
        if offset as usize >= ip::MAX_HEAD {
            return Some(0);
        }
        let kept = self.heads.entry((access, entity)).or_default();
        let at = place_of(kept, serial);
        if kept.get(at).is_none_or(|(n, _)| *n != serial) {
            kept.insert(at, (serial, Head::of(packet()?, real, &mut self.scratch)));
            self.order.push_back((access, entity));
        }
        let (_, head) = &kept[at];
        let rest = head.bytes().get(offset as usize..).unwrap_or_default();
        let len = rest.len().min(place.len());
        place[..len].copy_from_slice(&rest[..len]);
        let filled = head.whole.then_some(len);
        self.evict();
        filled
    }

    /// Removes one head when there are too many: that of the entity with the oldest one.
    fn evict(&mut self) {
        if self.order.len() > KEPT
            && let Some(kept) = self.order.pop_front().and_then(|entity| self.heads.get_mut(&entity))
        {
            kept.pop_front();
        }
    }
}

/// The heads of the last packets at points of observation of IP: most packets pass several of
/// these.
pub struct Recent {
    /// Each head with the packet's number, modulo which it has its place, and the properties of the
    /// packet that can change along the path.
    heads: Vec<(Option<Seen>, Head)>,
    scratch: Vec<u8>,
}

/// The number of a packet, and properties that can change along the path: ECN mark, size, fragment.
type Seen = (u64, Ecn, u32, Option<Fragment>);

impl Default for Recent {
    fn default() -> Self {
        let none = Head { len: 0, whole: false, bytes: [0; ip::MAX_HEAD] };
        Recent { heads: vec![(None, none); PLACES], scratch: Vec::new() }
    }
}

impl Recent {
    /// The headers of a packet.
    pub fn of(&mut self, packet: &Packet, real: &RealHeads) -> &[u8] {
        let Packet { serial, ecn, size, fragment, .. } = *packet;
        let seen = (serial, ecn, size, fragment);
        let Recent { heads, scratch } = self;
        let (kept, head) = &mut heads[(serial % PLACES as u64) as usize];
        if *kept != Some(seen) {
            (*kept, *head) = (Some(seen), Head::of(packet, real, scratch));
        }
        debug_assert_eq!(
            head.bytes(),
            Head::of(packet, real, scratch).bytes(),
            "packet {serial} has changed"
        );
        head.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with a search from the front.
    #[test]
    fn a_number_has_its_place_wherever_it_is() {
        let head = Head { len: 0, whole: true, bytes: [0; ip::MAX_HEAD] };
        for len in 0..40 {
            let kept: VecDeque<(u64, Head)> = (0..len).map(|n| (n * 3 + 1, head)).collect();
            for serial in 0..len * 3 + 4 {
                let expected = kept.iter().take_while(|(n, _)| *n < serial).count();
                assert_eq!(place_of(&kept, serial), expected, "{serial} among {len}");
            }
        }
    }
}

//! Header bytes of packets for as long as a layer below IP may send them again.
//!
//! A packet can be gone from the slab while its sender still repeats parts of it: the receiver has
//! delivered it, and its report is lost or under way. So its head is kept from the first frame on.

use std::collections::{BTreeMap, VecDeque};

use lasthop_units::AccessId;

use super::{Packet, ip};

/// What a packet is known by: the access, the entity in it, and a serial number there.
pub type Key = (AccessId, u64, u64);

/// So many heads are kept, the newest: some 10 MB. What is sent again after so many others have
/// been sent for the first time has zeros.
const KEPT: usize = 1 << 16;

/// The heads of packets.
#[derive(Default)]
pub struct Heads {
    heads: BTreeMap<Key, Box<[u8]>>,
    order: VecDeque<Key>,
}

impl Heads {
    /// Puts octets of a packet, from `offset` on, into `place`; what is behind its head stays.
    pub fn fill<'a>(
        &mut self,
        key: Key,
        offset: u32,
        place: &mut [u8],
        packet: impl Fn() -> Option<&'a Packet>,
    ) {
        if !self.heads.contains_key(&key) {
            let Some(packet) = packet() else { return };
            let mut head = Vec::new();
            ip::head(&mut head, packet);
            self.keep(key, head.into());
        }
        let Some(head) = self.heads.get(&key) else { return };
        let rest = head.get(offset as usize..).unwrap_or_default();
        let len = rest.len().min(place.len());
        place[..len].copy_from_slice(&rest[..len]);
    }

    fn keep(&mut self, key: Key, head: Box<[u8]>) {
        if self.order.len() >= KEPT
            && let Some(oldest) = self.order.pop_front()
        {
            self.heads.remove(&oldest);
        }
        self.order.push_back(key);
        self.heads.insert(key, head);
    }
}

//! The conservation account: every packet that enters the world has exactly one outcome.
//!
//! A packet is delivered to its destination, dropped by a named cause, or still inside at the end.
//! The account is always kept (it takes two additions a packet). Debug builds check its packets
//! after every event, its bytes periodically and at every stop.

use lasthop_units::Bytes;

/// Packets and their IP bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of packets.
    pub packets: u64,
    /// IP bytes, headers included.
    pub bytes: Bytes,
}

impl Tally {
    /// Adds a packet.
    #[inline]
    pub fn add(&mut self, size: u32) {
        self.packets += 1;
        self.bytes += Bytes(u64::from(size));
    }
}

/// The account of the world's packets and octets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Packets that entered: sent by a transport.
    pub sent: Tally,
    /// Packets that left at the destination.
    pub delivered: Tally,
    /// Packets that left by a drop.
    pub dropped: Tally,
    /// Packets made along the path: fragments of a packet, the reassembled packet, copies by a
    /// duplicating link.
    pub made: Tally,
    /// Packets replaced by others: fragmented packets, reassembled fragments.
    pub replaced: Tally,
}

impl Account {
    /// Counts a packet of `size` IP bytes that enters.
    #[inline]
    pub fn enter(&mut self, size: u32) {
        self.sent.add(size);
    }
    /// Counts a packet that leaves at its destination.
    #[inline]
    pub fn deliver(&mut self, size: u32) {
        self.delivered.add(size);
    }
    /// Counts a packet that is dropped.
    #[inline]
    pub fn drop(&mut self, size: u32) {
        self.dropped.add(size);
    }
    /// Packets inside according to the account.
    pub fn inside(&self) -> Tally {
        Tally {
            packets: self.sent.packets + self.made.packets
                - self.delivered.packets
                - self.dropped.packets
                - self.replaced.packets,
            bytes: self.sent.bytes + self.made.bytes
                - self.delivered.bytes
                - self.dropped.bytes
                - self.replaced.bytes,
        }
    }
    /// Compares the account with the slab: `inside` packets are in it.
    ///
    /// # Panics
    /// In debug builds, when they differ: a packet was lost or duplicated by a bug.
    #[inline]
    pub fn check_packets(&self, inside: usize) {
        debug_assert_eq!(self.inside().packets, inside as u64, "conservation of packets: {self:?}");
    }
    /// Compares the account with the slab: the packets there, of these sizes, have the bytes that
    /// the account has inside.
    ///
    /// # Panics
    /// In debug builds, when they differ: a packet changed its size without a record.
    #[inline]
    pub fn check_bytes(&self, sizes: impl Iterator<Item = u32>) {
        if cfg!(debug_assertions) {
            let there = sizes.map(|size| Bytes(u64::from(size))).sum();
            assert_eq!(self.inside().bytes, there, "conservation of bytes: {self:?}");
        }
    }
}

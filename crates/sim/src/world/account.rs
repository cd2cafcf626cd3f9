//! The conservation account: every packet that enters the world leaves it in exactly one way.
//!
//! Delivered to its destination, dropped by a named cause, or still inside at the end: nothing
//! else. The account is kept always (it costs two additions a packet). Debug builds check its
//! packets after every event, its bytes now and then and whenever the caller looks.

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
    /// One more packet.
    #[inline]
    pub fn add(&mut self, size: u32) {
        self.packets += 1;
        self.bytes += Bytes(u64::from(size));
    }
}

/// The account of the world's packets and octets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Entered: sent by a transport.
    pub sent: Tally,
    /// Left at the destination.
    pub delivered: Tally,
    /// Left by a drop.
    pub dropped: Tally,
    /// Made on the way: fragments of a packet, the packet put together again, copies by a
    /// duplicating link.
    pub made: Tally,
    /// Gone into what was made: packets cut, fragments put together.
    pub replaced: Tally,
}

impl Account {
    /// A packet of `size` IP bytes entered.
    #[inline]
    pub fn enter(&mut self, size: u32) {
        self.sent.add(size);
    }
    /// A packet left at its destination.
    #[inline]
    pub fn deliver(&mut self, size: u32) {
        self.delivered.add(size);
    }
    /// A packet was dropped.
    #[inline]
    pub fn drop(&mut self, size: u32) {
        self.dropped.add(size);
    }
    /// What the account says is still inside.
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
    /// Compares the account with the slab: `inside` packets are really there.
    ///
    /// # Panics
    /// In debug builds, when they differ: a packet was lost or doubled by a bug.
    #[inline]
    pub fn check_packets(&self, inside: usize) {
        debug_assert_eq!(self.inside().packets, inside as u64, "conservation of packets: {self:?}");
    }
    /// Compares the account with the slab: the packets there, of these sizes, have the bytes that
    /// should be inside.
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

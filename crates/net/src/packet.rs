//! Packets as descriptors: what a node, a queue and a pipe need to know of them.

use std::fmt;

use lasthop_units::{Ecn, FlowId, Instant, NodeId, PacketId};

use crate::ipv4::{Fragment, Whole};

/// An IPv4 packet. The bytes do not exist; a capture makes them from `payload` when it is asked to.
///
/// `P` is what the packet carries: `sim` defines it (a TCP segment, a UDP datagram, ...).
#[derive(Clone, Debug, PartialEq)]
pub struct Packet<P> {
    /// The node that sent it.
    pub src: NodeId,
    /// The node it is for.
    pub dst: NodeId,
    /// The flow it belongs to.
    pub flow: FlowId,
    /// Unique in the run; fragments and duplicates keep the number of the packet they come from.
    /// Its low 16 bits are the identification field of the IPv4 header.
    pub serial: u64,
    /// Total length with all headers from IPv4 on [bytes].
    pub size: u32,
    /// ECN codepoint. A queue marks the [`Item`]; whoever takes the item off the pipe copies the
    /// mark here.
    pub ecn: Ecn,
    /// Routers must not fragment it (RFC 791 §2.3): path MTU discovery.
    pub dont_fragment: bool,
    /// Its transport has sent all of its data before.
    pub again: bool,
    /// When the source first handed it to IP: the flow monitor's clock.
    pub sent: Instant,
    /// Which part of the original this is; `None` for a whole packet.
    pub fragment: Option<Fragment>,
    /// What it carries.
    pub payload: P,
}

impl<P> Packet<P> {
    /// What queues and pipes carry of this packet.
    pub fn item(&self, id: PacketId, now: Instant) -> Item {
        Item { id, size: self.size, flow: self.flow, ecn: self.ecn, enqueued: now }
    }
}

impl<P: Clone> Packet<P> {
    /// This packet cut down to `fragment`. Every fragment keeps the payload's descriptor: the first
    /// one to arrive may be any of them.
    pub fn part(&self, fragment: Fragment) -> Packet<P> {
        Packet { size: fragment.size(), fragment: Some(fragment), payload: self.payload.clone(), ..*self }
    }
}

impl<P> Packet<P> {
    /// Makes a fragment the packet that reassembly completed.
    pub fn make_whole(&mut self, whole: Whole) {
        (self.size, self.ecn, self.fragment) = (whole.size, whole.ecn, None);
    }
}

/// A packet as queues and pipes see it: 24 bytes, copied freely. The packet itself stays in `sim`'s
/// slab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// The packet's place in the slab.
    pub id: PacketId,
    /// Total length of the IP packet [bytes].
    pub size: u32,
    /// The flow: stands for the 5-tuple that fair queueing hashes.
    pub flow: FlowId,
    /// ECN codepoint; an AQM may set it to [`Ecn::Ce`].
    pub ecn: Ecn,
    /// When it entered the queue it is in (set by the queue): sojourn times of AQMs hang on it.
    pub enqueued: Instant,
}

/// Why a packet left the world undelivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropCause {
    /// A queue was full.
    QueueFull,
    /// Active queue management dropped it early.
    Aqm,
    /// Random loss of a pipe.
    Loss,
    /// A bit error on a pipe: the far end's checksum fails.
    Corruption,
    /// Larger than the next hop's MTU with "don't fragment" set.
    FragmentationNeeded,
    /// Not all its fragments arrived in time.
    ReassemblyTimeout,
    /// A fragment whose bytes had arrived already.
    DuplicateFragment,
    /// No way to the destination.
    NoRoute,
}

impl DropCause {
    /// Every cause.
    pub const ALL: [DropCause; 8] = [
        DropCause::QueueFull,
        DropCause::Aqm,
        DropCause::Loss,
        DropCause::Corruption,
        DropCause::FragmentationNeeded,
        DropCause::ReassemblyTimeout,
        DropCause::DuplicateFragment,
        DropCause::NoRoute,
    ];

    /// The name in tables (`drops.cause`).
    pub const fn name(self) -> &'static str {
        match self {
            DropCause::QueueFull => "queue-full",
            DropCause::Aqm => "aqm",
            DropCause::Loss => "loss",
            DropCause::Corruption => "corruption",
            DropCause::FragmentationNeeded => "fragmentation-needed",
            DropCause::ReassemblyTimeout => "reassembly-timeout",
            DropCause::DuplicateFragment => "duplicate-fragment",
            DropCause::NoRoute => "no-route",
        }
    }
}

impl fmt::Display for DropCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A packet that was dropped: when, which, why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// The moment of the drop. It may lie before the moment at which it is reported: a pipe catches
    /// up late.
    pub at: Instant,
    /// The packet.
    pub item: Item,
    /// Why.
    pub cause: DropCause,
}

/// What a pipe hands out. The caller keeps one, drains it after each call and so reuses its memory.
#[derive(Clone, Debug, Default)]
pub struct PipeOut {
    /// Packets that reached the far end, in order of arrival.
    pub arrived: Vec<Item>,
    /// Extra copies that reached the far end at the same moment (duplication). Each names a packet
    /// that is also in `arrived`: clone it in the slab *before* handing on `arrived`, then hand
    /// on the clone.
    pub copies: Vec<Item>,
    /// Packets that were dropped, in order of their moment within each cause.
    pub dropped: Vec<Dropped>,
}

impl PipeOut {
    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        self.arrived.clear();
        self.copies.clear();
        self.dropped.clear();
    }
    /// True if there is nothing to handle.
    pub fn is_empty(&self) -> bool {
        self.arrived.is_empty() && self.copies.is_empty() && self.dropped.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::Id;

    #[test]
    fn an_item_is_three_words() {
        assert_eq!(size_of::<Item>(), 24);
    }

    #[test]
    fn a_packet_is_cut_and_made_whole() {
        let packet = Packet {
            src: NodeId::from_index(0),
            dst: NodeId::from_index(1),
            flow: FlowId::from_index(0),
            serial: 7,
            size: 3000,
            ecn: Ecn::Ect0,
            dont_fragment: false,
            again: false,
            sent: Instant(5),
            fragment: None,
            payload: "segment",
        };
        let cut = crate::ipv4::fragment(packet.size, packet.fragment, packet.dont_fragment, 1500);
        let mut parts: Vec<_> = cut.unwrap().unwrap().map(|f| packet.part(f)).collect();
        assert_eq!(parts.iter().map(|p| p.size).collect::<Vec<_>>(), [1500, 1500, 40]);
        parts[0].make_whole(Whole { size: 3000, ecn: Ecn::Ect0 });
        assert_eq!(parts[0], packet);
    }
}

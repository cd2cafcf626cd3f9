//! An IPv4 packet as a descriptor.

use lasthop_units::{Ecn, FlowId, Instant, NodeId, PacketId};

use super::{Fragment, Whole};
use crate::{Content, Item};

/// An IPv4 packet. The bytes do not exist; a capture makes them from `payload`.
///
/// `P` is the payload, which `sim` defines (a TCP segment, a UDP datagram, ...).
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
    /// ECN codepoint. A queue marks the [`Item`]; the code that takes the item from the pipe copies
    /// the mark here.
    pub ecn: Ecn,
    /// Routers must not fragment it (RFC 791 §2.3): path MTU discovery.
    pub dont_fragment: bool,
    /// Whether it carries data, and whether all of that was sent before.
    pub content: Content,
    /// Sent by end B of its flow to end A.
    pub reverse: bool,
    /// When the source first passed it to IP: the flow monitor's clock.
    pub sent: Instant,
    /// Which part of the original this is; `None` for a whole packet.
    pub fragment: Option<Fragment>,
    /// The payload.
    pub payload: P,
}

impl<P> Packet<P> {
    /// The item by which queues and pipes represent this packet.
    pub fn item(&self, id: PacketId, now: Instant) -> Item {
        Item { id, size: self.size, flow: self.flow, ecn: self.ecn, content: self.content, enqueued: now }
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

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::Id;

    #[test]
    fn a_packet_is_cut_and_made_whole() {
        let packet = Packet {
            src: NodeId::from_index(0),
            dst: NodeId::from_index(1),
            flow: FlowId::from_index(0),
            serial: 7,
            size: 3000,
            ecn: Ecn::Ect0,
            content: Content::default(),
            reverse: false,
            dont_fragment: false,
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

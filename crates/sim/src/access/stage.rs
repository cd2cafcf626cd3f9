//! The stages of packets in the table `stages`.

use lasthop_bearer::BearerStage;

/// The stage of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It is at a node, before its next link.
    Node,
    /// Its source takes time for it (`scenario.jitter`).
    Host,
    /// A fragment waits at the destination for the others.
    Reassembly,
    /// It waits in the queue of a wired link.
    Queue,
    /// The transmitter of a wired link sends its bits.
    Serialization,
    /// It propagates along a wired link.
    Propagation,
    /// It waits in the buffer of PDCP or RLC for its first transmission.
    RlcQueue,
    /// It is transmitted for the first time, or the receiver decodes it.
    Transmission,
    /// RLC sends a part of it again, or waits for the report that requests it.
    RlcRetransmission,
    /// It has arrived completely and waits for earlier packets.
    Reordering,
    /// MAC of LTE sends a part of it again.
    Harq,
    /// Its UE has nothing granted and waits for an opportunity to send a request, or for the
    /// answer.
    SchedulingRequest,
    /// Its UE has no connection: random access and the set-up of one.
    RandomAccess,
    /// Its UE has sent a request and waits for the blocks that it is granted, or for more of them.
    GrantWait,
    /// No cell serves its UE: handover, or loss of the link.
    Interruption,
    /// It is forwarded from one eNB to another.
    Forwarding,
    /// It is between the gateway and an eNB.
    Core,
    /// It waits in the queue of a station or access point.
    WifiQueue,
    /// It is in the next burst of its device, which contends for the medium.
    Contention,
    /// It is transmitted on a wireless LAN for the first time.
    Airtime,
    /// An exchange with it has failed: it waits for its retransmission, or is retransmitted.
    Retry,
    /// It has arrived and waits for MPDUs before it.
    ReorderBuffer,
}

impl Stage {
    /// True if it waits behind other packets, in the queue of a link, of layer 2 or of a device.
    pub const fn is_queue(self) -> bool {
        matches!(self, Stage::Queue | Stage::RlcQueue | Stage::WifiQueue)
    }
    /// The name in the table.
    pub const fn name(self) -> &'static str {
        match self {
            Stage::Node => "node",
            Stage::Host => "host",
            Stage::Reassembly => "reassembly",
            Stage::Queue => "queue",
            Stage::Serialization => "serialization",
            Stage::Propagation => "propagation",
            Stage::RlcQueue => "rlc-queue",
            Stage::Transmission => "transmission",
            Stage::RlcRetransmission => "rlc-retransmission",
            Stage::Reordering => "reordering",
            Stage::Harq => "harq",
            Stage::SchedulingRequest => "scheduling-request",
            Stage::RandomAccess => "random-access",
            Stage::GrantWait => "grant-wait",
            Stage::Interruption => "interruption",
            Stage::Forwarding => "forwarding",
            Stage::Core => "core",
            Stage::WifiQueue => "wifi-queue",
            Stage::Contention => "contention",
            Stage::Airtime => "airtime",
            Stage::Retry => "retry",
            Stage::ReorderBuffer => "reorder-buffer",
        }
    }
}

impl From<BearerStage> for Stage {
    fn from(stage: BearerStage) -> Stage {
        match stage {
            BearerStage::Queue => Stage::RlcQueue,
            BearerStage::Transmission => Stage::Transmission,
            BearerStage::Harq => Stage::Harq,
            BearerStage::RlcRetransmission => Stage::RlcRetransmission,
            BearerStage::Reordering => Stage::Reordering,
            BearerStage::Core => Stage::Core,
        }
    }
}

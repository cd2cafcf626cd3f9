//! Packets as descriptors: the fields that a queue and a pipe read, and how packets leave.

use std::fmt;

use lasthop_units::{Ecn, FlowId, Instant, PacketId};

/// The descriptor of a packet for queues and pipes: 24 bytes, copied freely. The packet itself is
/// in `sim`'s slab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// The packet's place in the slab.
    pub id: PacketId,
    /// Total length of the IP packet [bytes].
    pub size: u32,
    /// The flow: represents the 5-tuple that fair queueing hashes.
    pub flow: FlowId,
    /// ECN codepoint; an AQM may set it to [`Ecn::Ce`].
    pub ecn: Ecn,
    /// The content. It is set on the links of `sim`.
    pub content: Content,
    /// When it entered its present queue (set by the queue): the sojourn times of AQMs are computed
    /// from it.
    pub enqueued: Instant,
}

/// Properties of a packet's payload: two flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Content(u8);

impl Content {
    /// With data or without; `again`: all that it carries was sent before.
    #[inline]
    pub const fn new(data: bool, again: bool) -> Content {
        Content((data as u8) << 1 | again as u8)
    }
    /// It carries data.
    #[inline]
    pub const fn has_data(self) -> bool {
        self.0 & 2 != 0
    }
    /// Its transport has sent all that it carries before.
    #[inline]
    pub const fn is_again(self) -> bool {
        self.0 & 1 != 0
    }
}

/// Why a packet left the world undelivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropCause {
    /// A queue was full.
    QueueFull,
    /// Active queue management dropped it early.
    Aqm,
    /// A policer found too few tokens for it.
    Policer,
    /// Random loss of a pipe.
    Loss,
    /// A bit error on a pipe: the far end's checksum fails.
    Corruption,
    /// A fault of a link took it.
    Fault,
    /// Larger than the next hop's MTU with "don't fragment" set.
    FragmentationNeeded,
    /// Not all its fragments arrived in time.
    ReassemblyTimeout,
    /// A fragment whose bytes had arrived already.
    DuplicateFragment,
    /// No route to the destination.
    NoRoute,
}

impl DropCause {
    /// Every cause.
    pub const ALL: [DropCause; 10] = [
        DropCause::QueueFull,
        DropCause::Aqm,
        DropCause::Policer,
        DropCause::Loss,
        DropCause::Corruption,
        DropCause::Fault,
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
            DropCause::Policer => "policer",
            DropCause::Loss => "loss",
            DropCause::Corruption => "corruption",
            DropCause::Fault => "fault",
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
    /// The time of the drop. It may be before the time at which it is reported: a pipe catches up
    /// late.
    pub at: Instant,
    /// The packet.
    pub item: Item,
    /// Why.
    pub cause: DropCause,
}

/// Where in a link a packet is from a moment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkStage {
    /// Its bits leave the transmitter.
    Serialization,
    /// Its last bit has left the transmitter and propagates.
    Propagation,
}

/// From `at` on the packet is in this stage. The times of one packet do not decrease, but may be
/// before the call that reports them: a link catches up late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkNote {
    /// The packet.
    pub id: PacketId,
    /// Since when.
    pub at: Instant,
    /// Where it is.
    pub stage: LinkStage,
}

/// The output of a pipe. The caller keeps one, drains it after each call and so reuses its memory.
#[derive(Clone, Debug, Default)]
pub struct PipeOut {
    /// Packets that reached the far end, in order of arrival.
    pub arrived: Vec<Item>,
    /// Extra copies that reached the far end at the same moment (duplication). Each names a packet
    /// that is also in `arrived`: clone it in the slab *before* passing on `arrived`, then pass on
    /// the clone.
    pub copies: Vec<Item>,
    /// Packets that were dropped, in order of their moment within each cause.
    pub dropped: Vec<Dropped>,
    /// The steps of transmitters, in order for each packet; `None`: not recorded.
    pub notes: Option<Vec<LinkNote>>,
}

impl PipeOut {
    /// A packet is in `stage` from `at` on, if stages are recorded.
    #[inline(always)]
    pub fn note(&mut self, id: PacketId, at: Instant, stage: LinkStage) {
        if let Some(notes) = &mut self.notes {
            notes.push(LinkNote { id, at, stage });
        }
    }
    /// Clears everything, keeps the memory.
    pub fn clear(&mut self) {
        self.arrived.clear();
        self.copies.clear();
        self.dropped.clear();
        if let Some(notes) = &mut self.notes {
            notes.clear();
        }
    }
    /// True if there is nothing to handle.
    pub fn is_empty(&self) -> bool {
        self.arrived.is_empty() && self.copies.is_empty() && self.dropped.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_three_words() {
        assert_eq!(size_of::<Item>(), 24);
    }
}

//! What passes between the layers: service data units as descriptors, and their fates.

use lasthop_units::PacketId;

/// A service data unit: which packet, and how many bytes it has at this layer.
///
/// `serial` grows among the SDUs pushed into one entity between two re-establishments; it outlives the reuse of
/// a [`PacketId`], and it is what a discard names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sdu {
    /// Order of entry into the entity.
    pub serial: u64,
    /// The packet in the world's slab.
    pub id: PacketId,
    /// Size at this layer [B].
    pub size: u32,
}

/// Why an SDU left without being delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropCause {
    /// The transmission buffer was full.
    BufferFull,
    /// An active queue management decided so.
    Aqm,
    /// It waited longer than the discard timer of PDCP allows (TS 36.323 clause 5.4).
    DiscardTimer,
    /// The entity was re-established while the SDU was in it (TS 36.322 clause 5.4).
    Reestablishment,
    /// A PDU was lost and nobody retransmits it (UM, TM), or the SDU was overtaken by its successors.
    RadioLoss,
    /// It does not fit into a transport block and the mode does not segment (TM), or it is empty.
    Unsendable,
    /// Header decompression had lost its context (TS 36.323 clause 5.5).
    ContextLoss,
    /// The receiver deciphered with the wrong COUNT (TS 36.323 clause 5.1.1, the note on half the SN space).
    HfnDesync,
    /// The bearer was released with the SDU inside.
    Released,
}

impl DropCause {
    /// The name in result tables.
    pub const fn name(self) -> &'static str {
        match self {
            DropCause::BufferFull => "rlc-buffer-full",
            DropCause::Aqm => "rlc-aqm",
            DropCause::DiscardTimer => "pdcp-discard-timer",
            DropCause::Reestablishment => "rlc-reestablishment",
            DropCause::RadioLoss => "radio-loss",
            DropCause::Unsendable => "rlc-unsendable",
            DropCause::ContextLoss => "pdcp-context-loss",
            DropCause::HfnDesync => "pdcp-hfn-desync",
            DropCause::Released => "bearer-released",
        }
    }
}

/// Something worth a row in the events table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RlcEvent {
    /// RETX_COUNT of an AMD PDU has reached maxRetxThreshold: upper layers declare radio link failure
    /// (TS 36.322 clause 5.2.1, TS 36.331 clause 5.3.11.3).
    MaxRetransmissions {
        /// Sequence number of the PDU.
        sn: u32,
    },
    /// The entity was re-established (TS 36.322 clause 5.4).
    Reestablished,
}

/// What an entity tells its caller; reused from call to call. `S` is the SDU that comes out: a descriptor, or
/// bytes where entities talk through encoded PDUs.
#[derive(Clone, Debug)]
pub struct RlcOutput<S = Sdu> {
    /// SDUs received, in order.
    pub delivered: Vec<S>,
    /// SDUs of ours whose delivery the peer has confirmed (AM).
    pub confirmed: Vec<Sdu>,
    /// SDUs of ours that will not be delivered by this entity.
    pub dropped: Vec<(Sdu, DropCause)>,
    /// SDUs of ours that an active queue management marked (ECN) instead of dropping.
    pub marked: Vec<Sdu>,
    /// What happened.
    pub events: Vec<RlcEvent>,
}

impl<S> Default for RlcOutput<S> {
    fn default() -> Self {
        RlcOutput {
            delivered: Vec::new(),
            confirmed: Vec::new(),
            dropped: Vec::new(),
            marked: Vec::new(),
            events: Vec::new(),
        }
    }
}

impl<S> RlcOutput<S> {
    /// Empties it, keeping the memory.
    pub fn clear(&mut self) {
        self.delivered.clear();
        self.confirmed.clear();
        self.dropped.clear();
        self.marked.clear();
        self.events.clear();
    }
}

//! An IP buffer in the eNB above a bearer, from which MAC requests what it can send: close coupling
//! of transport and radio (TR 36.933: caching in the RAN, or a proxy there).
//!
//! Packets wait as IP packets, by flow if the queue is one of flow queues, and PDCP numbers them
//! only when a transport block has room for them. So the layer-2 queue has no more than the rest of
//! one packet, the scheduler uses the data above it, and urgent packets need not wait behind
//! others. A handover moves the buffer: data forwarding to the new cell is ideal.

use lasthop_net::{Dropped, Item, Queue, QueueConfig, Site};
use lasthop_units::Instant;

use lasthop_bearer::{DropCause, Sdu};

/// The packets that wait above a bearer.
#[derive(Debug)]
pub(super) struct IpBuffer {
    queue: Queue,
    drops: Vec<Dropped>,
}

impl IpBuffer {
    /// An empty buffer of `config`, with the draws of `entity` in the run `seed`.
    pub fn new(config: &QueueConfig, seed: u64, entity: u64) -> IpBuffer {
        IpBuffer { queue: config.build(&Site { seed, entity, ..Site::default() }), drops: Vec::new() }
    }
    pub fn packets(&self) -> usize {
        self.queue.packets()
    }
    pub fn bytes(&self) -> u64 {
        self.queue.bytes()
    }

    /// Adds a packet.
    pub fn enqueue(&mut self, now: Instant, item: Item) {
        self.queue.enqueue(now, item, &mut self.drops);
    }
    /// Removes the next packet.
    pub fn dequeue(&mut self, now: Instant) -> Option<Item> {
        self.queue.dequeue(now, &mut self.drops)
    }
    /// The drops of the queue since the last call.
    pub fn take_drops(&mut self) -> impl Iterator<Item = (Sdu, DropCause)> + '_ {
        self.drops.drain(..).map(|Dropped { item, cause, .. }| {
            let cause = match cause {
                lasthop_net::DropCause::Aqm => DropCause::Aqm,
                _ => DropCause::BufferFull,
            };
            (Sdu::new(item.id, item.size), cause)
        })
    }
}

//! An IP buffer in the eNB in front of a bearer, from which MAC asks for what it can send: close
//! coupling of transport and radio (TR 36.933: caching in the RAN, or a proxy there).
//!
//! Packets wait as IP packets, by flow if the queue is one of flow queues, and are numbered by PDCP
//! only when a transport block has room for them. So the layer-2 queue holds no more than the rest
//! of one packet, the scheduler decides from what waits above, and what is urgent need not stand
//! behind what is not. A handover takes the buffer along: data forwarding to the new cell is ideal.

use lasthop_net::{Dropped, Ecn, Item, Queue, QueueConfig, Site};
use lasthop_units::{BearerId, FlowId, Instant, Tti};

use super::bearers::Bearers;
use super::downlink::Scheduling;
use super::{NetworkOutput, RadioNetwork};
use crate::phy::TTI;
use lasthop_bearer::{Direction, DropCause, End, Sdu};

/// What waits above a bearer.
#[derive(Debug)]
pub(super) struct IpBuffer {
    queue: Queue,
    drops: Vec<Dropped>,
}

impl IpBuffer {
    /// An empty one of `config`, with the draws of `entity` in the run `seed`.
    pub fn new(config: &QueueConfig, seed: u64, entity: u64) -> IpBuffer {
        IpBuffer { queue: config.build(&Site { seed, entity, rate: None }), drops: Vec::new() }
    }
    pub fn packets(&self) -> usize {
        self.queue.packets()
    }
    pub fn bytes(&self) -> u64 {
        self.queue.bytes()
    }
}

impl RadioNetwork {
    /// As [`push`](Self::push), of the flow `flow`: what an IP buffer tells apart.
    pub fn push_of(
        &mut self,
        now: Instant,
        bearer: BearerId,
        end: End,
        packet: Sdu,
        flow: FlowId,
        out: &mut NetworkOutput,
    ) {
        self.calendar.advance_to(now);
        let Some(ip) = self.bearers.ip_mut(bearer).filter(|_| end == End::Network) else {
            return self.push(now, bearer, end, packet, out);
        };
        let item = Item { id: packet.id, size: packet.size, flow, ecn: packet.ecn, enqueued: now };
        ip.queue.enqueue(now, item, &mut ip.drops);
        self.bearers.settle_ip(bearer, out);
        let ue = self.bearers[bearer].ue;
        self.contexts[ue].activity = self.calendar.next();
        match self.links[ue].rrc.is_connected() {
            true => self.attachment(ue).wake(Direction::Downlink),
            false => {
                let tti = Tti::containing(now, TTI);
                self.rrc_step(now, tti, ue, |rrc| rrc.data([true, false]), out);
            }
        }
    }
}

impl Scheduling<'_> {
    /// MAC has room for `bytes` of `bearer`: as many packets go down as fill it.
    pub(super) fn request_from_ip(&mut self, bearer: BearerId, bytes: u64) {
        while self.bearers[bearer].layers.buffer_status(End::Network).total() < bytes {
            let Some(ip) = self.bearers.ip_mut(bearer) else { return };
            let item = ip.queue.dequeue(self.now, &mut ip.drops);
            self.bearers.settle_ip(bearer, self.out);
            let Some(item) = item else { return };
            let before = self.out.dropped.len();
            let sdu = Sdu { ecn: item.ecn, ..Sdu::new(item.id, item.size) };
            if item.ecn == Ecn::Ce {
                self.out.marked.push((bearer, End::Network, sdu));
            }
            // It waits at the eNB that serves: behind the gateway's pipes, not in front of them.
            self.bearers.push(self.now, bearer, End::Network, sdu);
            self.settle(bearer);
            // A buffer below that refuses would be asked for ever.
            if self.out.dropped.len() > before {
                return;
            }
        }
    }
}

impl Bearers {
    /// Passes on what the queue has dropped.
    pub(super) fn settle_ip(&mut self, bearer: BearerId, out: &mut NetworkOutput) {
        let Some(ip) = self.ip_mut(bearer) else { return };
        for Dropped { item, cause, .. } in ip.drops.drain(..) {
            let cause = match cause {
                lasthop_net::DropCause::Aqm => DropCause::Aqm,
                _ => DropCause::BufferFull,
            };
            out.dropped.push((bearer, End::Network, Sdu::new(item.id, item.size), cause));
        }
    }
}

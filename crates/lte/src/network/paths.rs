//! What the core network does with a packet, carried out at its bearer.

use lasthop_units::{BearerId, CellId, Instant, UeId};

use super::core_network::Passage;
use super::{NetworkEvent, NetworkOutput, RadioNetwork};
use lasthop_bearer::{DropCause, End, Sdu};

impl RadioNetwork {
    /// A packet enters at the gateway.
    pub(super) fn enter_gateway(
        &mut self,
        now: Instant,
        bearer: BearerId,
        packet: Sdu,
        out: &mut NetworkOutput,
    ) {
        let sdu = self.bearers.stamp(bearer, End::Network, packet);
        let Some(core) = &mut self.core else { return };
        if !core.enter(now, bearer, sdu) {
            out.dropped.push((bearer, End::Network, sdu, DropCause::BackhaulFull));
        }
    }

    /// What the core network brings until `now`.
    pub(super) fn backhaul_arrivals(&mut self, now: Instant, out: &mut NetworkOutput) {
        while let Some(passage) = self.core.as_mut().and_then(|core| core.poll(now)) {
            self.pass(now, passage, out);
        }
    }

    fn pass(&mut self, now: Instant, passage: Passage, out: &mut NetworkOutput) {
        if let Some(bearer) = self.pass_unsettled(now, passage, out) {
            self.settle(now, bearer, out);
        }
    }

    /// The same; which bearer must be settled.
    fn pass_unsettled(
        &mut self,
        now: Instant,
        passage: Passage,
        out: &mut NetworkOutput,
    ) -> Option<BearerId> {
        match passage {
            Passage::Gateway(bearer, sdu) => out.delivered.push((bearer, End::Network, sdu)),
            Passage::Forwarded(bearer, parcel) => {
                let undelivered = self.bearers[bearer].layers.undelivered(&parcel);
                out.forwarded.extend(undelivered.map(|sdu| (bearer, sdu)));
            }
            Passage::Accept(bearer, parcel) => {
                self.bearers.accept(now, bearer, parcel);
                return Some(bearer);
            }
            Passage::Lose(bearer, parcel, cause) => {
                self.bearers.lose(bearer, parcel, cause);
                return Some(bearer);
            }
        }
        None
    }

    /// The bearers of `ue` leave their home for the eNB of `cell`, which the gateway does not know
    /// yet.
    pub(super) fn move_data(&mut self, now: Instant, ue: UeId, cell: CellId, out: &mut NetworkOutput) {
        let mut all = Vec::new();
        for i in 0..self.links[ue].drbs.len() {
            let bearer = self.links[ue].drbs[i];
            let mut parcels = Vec::new();
            let queue = self.bearers[bearer].layers.retransmission_queue(End::Network).1;
            self.bearers.hand_over(now, bearer, &mut parcels);
            // What the source has received goes to the gateway from there.
            self.settle(now, bearer, out);
            let forwarded = parcels.len() as u32;
            out.events.push((ue, NetworkEvent::Moved { bearer, queue, forwarded }));
            all.push((bearer, parcels));
        }
        let Some(source) = self.core.as_mut().map(|core| core.relocate(ue, cell)) else { return };
        for (bearer, parcels) in all {
            for parcel in parcels {
                let passage = match (source, &mut self.core) {
                    (Some(enb), Some(core)) => core.forward(now, enb, bearer, parcel),
                    _ => Passage::Accept(bearer, parcel),
                };
                self.pass_unsettled(now, passage, out);
            }
            self.settle(now, bearer, out);
        }
    }

    /// The source goes on with a UE that did not arrive: it has kept what it forwarded, and nothing
    /// more goes to the target.
    pub(super) fn recall(&mut self, now: Instant, ue: UeId, out: &mut NetworkOutput) {
        let back = self.core.as_mut().map(|core| core.recall(ue));
        for (bearer, parcel) in back.into_iter().flatten() {
            self.pass(now, Passage::Accept(bearer, parcel), out);
        }
    }

    /// The UE's connection is gone while its last change of home goes on.
    pub(super) fn stop_forwarding(&mut self, now: Instant, ue: UeId, out: &mut NetworkOutput) {
        let lost = self.core.as_mut().map(|core| core.stop_forwarding(ue));
        for (bearer, parcel) in lost.into_iter().flatten() {
            self.pass(now, Passage::Lose(bearer, parcel, DropCause::RadioLinkFailure), out);
        }
    }

    /// A UE without a connection is known to the gateway in the eNB of `cell`.
    pub(super) fn settle_at(&mut self, now: Instant, ue: UeId, cell: CellId, out: &mut NetworkOutput) {
        if let Some(core) = &mut self.core {
            core.attach(ue, cell);
        }
        for i in 0..self.links[ue].drbs.len() {
            let bearer = self.links[ue].drbs[i];
            self.settle(now, bearer, out);
        }
    }
}

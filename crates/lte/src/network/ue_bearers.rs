//! The bearers of one UE and its link, for operations on all of them: by RRC, the core network, or
//! for a transport block that is decoded or given up.

use lasthop_units::{BearerId, CellId, Tti, UeId};

use super::NetworkEvent;
use super::calendar::Due;
use super::core_network::Passage;
use super::layer2::Layer2;
use super::state::Link;
use lasthop_bearer::{BearerStage, DropCause, End, Sdu};

/// The bearers of a UE, their layer 2, and the link below.
pub(super) struct UeBearers<'a> {
    pub ue: UeId,
    pub link: &'a mut Link,
    pub layer2: Layer2<'a>,
}

impl UeBearers<'_> {
    /// Passes on the output of the bearers' layers.
    pub fn settle(&mut self) {
        for bearer in &self.link.drbs {
            self.layer2.settle(*bearer);
        }
    }

    /// The cell begins to serve the UE: the path is switched if the UE's data is being forwarded.
    pub fn serve(&mut self, tti: Tti) {
        self.settle();
        let Layer2 { core, calendar, .. } = &mut self.layer2;
        let open = calendar.first_open();
        if let Some(at) = core.as_mut().and_then(|core| core.request_switch(self.ue, tti, open)) {
            calendar.note(at, Due::PathSwitch { ue: self.ue });
        }
    }

    /// Re-establishes RLC and PDCP at both ends.
    pub fn re_establish(&mut self) {
        for bearer in &self.link.drbs {
            self.layer2.bearers.re_establish(self.layer2.now, *bearer);
            self.layer2.settle(*bearer);
        }
    }

    /// Drops all data at the network's end: the UE's context is released.
    pub fn abandon(&mut self) {
        for bearer in &self.link.drbs {
            self.layer2.bearers.abandon(self.layer2.now, *bearer, DropCause::RadioLinkFailure);
            self.layer2.settle(*bearer);
        }
    }

    /// Moves the bearers from their home to the eNB of `cell`, which the gateway does not use yet.
    pub fn hand_over(&mut self, cell: CellId) {
        let (ue, l2) = (self.ue, &mut self.layer2);
        let mut all = Vec::new();
        for bearer in &self.link.drbs {
            let mut forwarded_sdus = Vec::new();
            let queue = l2.bearers[*bearer].layers.retransmission_queue(End::Network).1;
            l2.bearers.hand_over(l2.now, *bearer, &mut forwarded_sdus);
            // Packets that the source has received are sent to the gateway from there.
            l2.settle(*bearer);
            let forwarded = forwarded_sdus.len() as u32;
            l2.out.events.push((ue, NetworkEvent::Moved { bearer: *bearer, queue, forwarded }));
            all.push((*bearer, forwarded_sdus));
        }
        let Some(source) = l2.core.as_mut().map(|core| core.relocate(ue, cell)) else { return };
        for (bearer, forwarded_sdus) in all {
            for forwarded_sdu in forwarded_sdus {
                let passage = match (source, &mut l2.core) {
                    (Some(enb), Some(core)) => core.forward(l2.now, enb, bearer, forwarded_sdu),
                    _ => Passage::Accept(bearer, forwarded_sdu),
                };
                l2.pass_unsettled(passage);
            }
            l2.settle(bearer);
        }
    }

    /// The source continues with the UE, which did not arrive: it has kept what it forwarded, and
    /// no further data is sent to the target.
    pub fn recall(&mut self) {
        let back = self.layer2.core.as_mut().map(|core| core.recall(self.ue));
        for (bearer, forwarded_sdu) in back.into_iter().flatten() {
            self.layer2.pass(Passage::Accept(bearer, forwarded_sdu));
        }
    }

    /// Ends forwarding: the UE's connection has ended during a change of home.
    pub fn stop_forwarding(&mut self) {
        let lost = self.layer2.core.as_mut().map(|core| core.stop_forwarding(self.ue));
        for (bearer, forwarded_sdu) in lost.into_iter().flatten() {
            self.layer2.pass(Passage::Lose(bearer, forwarded_sdu, DropCause::RadioLinkFailure));
        }
    }

    /// Registers the UE, which has no connection, at the gateway in the eNB of `cell`.
    pub fn attach(&mut self, cell: CellId) {
        if let Some(core) = &mut self.layer2.core {
            core.attach(self.ue, cell);
        }
        self.settle();
    }
}

/// Results of the core network for packets, carried out at their bearers.
impl Layer2<'_> {
    /// Takes a packet at the gateway.
    #[inline]
    pub fn enter_gateway(&mut self, bearer: BearerId, packet: Sdu) {
        let sdu = self.bearers.stamp(bearer, End::Network, packet);
        self.bearers.note_passage(self.now, packet.id, BearerStage::Core);
        let Some(core) = &mut self.core else { return };
        if !core.enter(self.now, bearer, sdu) {
            self.out.dropped.push((bearer, End::Network, sdu, DropCause::BackhaulFull));
        }
    }

    /// Processes the next packet from the core network that is due; false if there is none.
    #[inline]
    pub fn take_arrival(&mut self) -> bool {
        let Some(passage) = self.core.as_mut().and_then(|core| core.poll(self.now)) else { return false };
        self.pass(passage);
        true
    }

    #[inline]
    fn pass(&mut self, passage: Passage) {
        if let Some(bearer) = self.pass_unsettled(passage) {
            self.settle(bearer);
        }
    }

    /// Carries `passage` out; returns the bearer that must be settled.
    #[inline]
    fn pass_unsettled(&mut self, passage: Passage) -> Option<BearerId> {
        match passage {
            Passage::Gateway(bearer, sdu) => self.out.delivered.push((bearer, End::Network, sdu)),
            Passage::Forwarded(bearer, forwarded_sdu) => {
                let undelivered = self.bearers[bearer].layers.undelivered(&forwarded_sdu);
                self.out.forwarded.extend(undelivered.map(|sdu| (bearer, sdu)));
            }
            Passage::Accept(bearer, forwarded_sdu) => {
                self.bearers.note_passage(self.now, forwarded_sdu.sdu.id, BearerStage::Queue);
                self.bearers.accept(self.now, bearer, forwarded_sdu);
                return Some(bearer);
            }
            Passage::Lose(bearer, forwarded_sdu, cause) => {
                self.bearers.lose(bearer, forwarded_sdu, cause);
                return Some(bearer);
            }
        }
        None
    }
}

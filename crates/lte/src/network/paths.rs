//! The way of a packet between gateway and bearer, where there is a backhaul.

use lasthop_units::{BearerId, CellId, Instant, Tti, UeId};

use super::backhaul::{Cargo, Enb, Way};
use super::{NetworkEvent, NetworkOutput, RadioNetwork};
use lasthop_bearer::{DropCause, End, Sdu};
use lasthop_lte_l2::pdcp::{HandoverKind, Parcel};

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
        let Some(m) = &mut self.mobility else { return };
        let anchor = m.backhaul.routes[self.bearers[bearer].ue].anchor;
        if !m.backhaul.send(now, Way::S1Down(anchor), Cargo::Down(bearer, sdu)) {
            out.dropped.push((bearer, End::Network, sdu, DropCause::BackhaulFull));
        }
    }

    /// What the pipes of the backhaul bring until `now`.
    pub(super) fn backhaul_arrivals(&mut self, now: Instant, out: &mut NetworkOutput) {
        while let Some((way, cargo)) = self.mobility.as_mut().and_then(|m| m.backhaul.arrived(now)) {
            match (way, cargo) {
                (_, Cargo::Up(bearer, sdu)) => out.delivered.push((bearer, End::Network, sdu)),
                (Way::S1Down(enb), Cargo::Down(bearer, sdu)) => self.at_enb(now, enb, bearer, sdu, out),
                (_, Cargo::Forward(bearer, parcel)) => {
                    self.bearers.accept(now, bearer, parcel);
                    self.settle(now, bearer, out);
                }
                (Way::S1Down(enb), Cargo::Marker(ue)) => self.pass_marker(now, enb, ue),
                (Way::X2(..), Cargo::Marker(ue)) => self.open(now, ue, out),
                (_, Cargo::Down(..) | Cargo::Marker(_)) => {}
            }
        }
    }

    /// A packet from the gateway reaches `enb`: its UE's home, or the one that it has left.
    fn at_enb(&mut self, now: Instant, enb: Enb, bearer: BearerId, sdu: Sdu, out: &mut NetworkOutput) {
        let ue = self.bearers[bearer].ue;
        let Some(m) = &mut self.mobility else { return };
        let route = &m.backhaul.routes[ue];
        if route.home != enb && route.forwarding {
            return self.forward(now, enb, bearer, Parcel::fresh(sdu), out);
        }
        if route.home != enb {
            // The UE's context is gone, as after a re-establishment that was refused.
            self.bearers.lose(bearer, Parcel::fresh(sdu), DropCause::NotForwarded);
            return self.settle(now, bearer, out);
        }
        // Nothing of a bearer without forwarding comes over X2: its packets have nothing to wait
        // for.
        if route.forwarding && self.bearers[bearer].layers.handover_kind() != HandoverKind::None {
            return m.backhaul.wait_behind(ue, bearer, sdu);
        }
        self.bearers.accept(now, bearer, Parcel::fresh(sdu));
        self.settle(now, bearer, out);
    }

    /// `enb` forwards a packet to the home of its UE.
    fn forward(&mut self, now: Instant, enb: Enb, bearer: BearerId, parcel: Parcel, out: &mut NetworkOutput) {
        let drb = &self.bearers[bearer];
        let Some(m) = &mut self.mobility else { return };
        let way = Way::X2(enb, m.backhaul.routes[drb.ue].home);
        let cause = match drb.layers.handover_kind() {
            HandoverKind::None => Some(DropCause::NotForwarded),
            _ if m.backhaul.send(now, way, Cargo::Forward(bearer, parcel)) => {
                out.forwarded.extend(drb.layers.undelivered(&parcel).map(|sdu| (bearer, sdu)));
                None
            }
            _ => Some(DropCause::BackhaulFull),
        };
        if let Some(cause) = cause {
            self.bearers.lose(bearer, parcel, cause);
            self.settle(now, bearer, out);
        }
    }

    /// The bearers of `ue` leave their home for the eNB of `cell`, which the gateway does not know
    /// yet.
    pub(super) fn move_data(&mut self, now: Instant, ue: UeId, cell: CellId, out: &mut NetworkOutput) {
        let Some(m) = &self.mobility else { return };
        let (from, to) = (m.backhaul.routes[ue].home, m.enbs[cell]);
        debug_assert!(!m.backhaul.routes[ue].forwarding, "one change at a time");
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
        if let Some(m) = &mut self.mobility {
            m.backhaul.routes[ue].home = to;
            m.backhaul.routes[ue].forwarding = from != to;
        }
        for (bearer, parcels) in all {
            for parcel in parcels {
                if from == to {
                    self.bearers.accept(now, bearer, parcel);
                } else {
                    self.forward(now, from, bearer, parcel, out);
                }
            }
            self.settle(now, bearer, out);
        }
    }

    /// The source goes on with a UE that did not arrive: it has kept what it forwarded, and nothing
    /// more goes to the target.
    pub(super) fn recall(&mut self, now: Instant, ue: UeId, out: &mut NetworkOutput) {
        let bearers = &self.bearers;
        let Some(m) = &mut self.mobility else { return };
        let route = &mut m.backhaul.routes[ue];
        let way = Way::X2(route.anchor, route.home);
        route.home = route.anchor;
        route.forwarding = false;
        for (bearer, parcel) in m.backhaul.recall(way, |b| bearers[b].ue == ue) {
            self.bearers.accept(now, bearer, parcel);
            self.settle(now, bearer, out);
        }
    }

    /// The UE's connection is gone while its last change of home goes on: what is on its way over
    /// X2, or waits behind that, has nobody to go to (TS 36.300 clause 10.1.2.2: the target
    /// releases its resources, and with them the tunnels).
    pub(super) fn stop_forwarding(&mut self, now: Instant, ue: UeId, out: &mut NetworkOutput) {
        let bearers = &self.bearers;
        let Some(m) = &mut self.mobility else { return };
        if !m.backhaul.routes[ue].forwarding {
            return;
        }
        let lost = m.backhaul.release(ue, |b| bearers[b].ue == ue);
        for (bearer, parcel) in lost {
            self.bearers.lose(bearer, parcel, DropCause::RadioLinkFailure);
            self.settle(now, bearer, out);
        }
    }

    /// The gateway sends to the home from now on, unless the UE's connection has gone meanwhile;
    /// the end marker follows what has gone the old way.
    pub(super) fn switch_path(&mut self, now: Instant, tti: Tti, ue: UeId) {
        let Some(m) = &mut self.mobility else { return };
        let route = &mut m.backhaul.routes[ue];
        if route.switch.is_none_or(|at| at > tti) {
            return;
        }
        route.switch = None;
        let old = std::mem::replace(&mut route.anchor, route.home);
        if old != route.home {
            m.backhaul.send(now, Way::S1Down(old), Cargo::Marker(ue));
        }
    }

    /// The end marker has reached the source.
    fn pass_marker(&mut self, now: Instant, enb: Enb, ue: UeId) {
        let Some(m) = &mut self.mobility else { return };
        let home = m.backhaul.routes[ue].home;
        m.backhaul.send(now, Way::X2(enb, home), Cargo::Marker(ue));
    }

    /// The end marker has reached the target: what waited behind it follows.
    fn open(&mut self, now: Instant, ue: UeId, out: &mut NetworkOutput) {
        let Some(m) = &mut self.mobility else { return };
        m.backhaul.routes[ue].forwarding = false;
        while let Some((bearer, sdu)) = self.mobility.as_mut().and_then(|m| m.backhaul.next_behind(ue)) {
            self.bearers.accept(now, bearer, Parcel::fresh(sdu));
            self.settle(now, bearer, out);
        }
    }

    /// A UE without a connection is known to the gateway in the eNB of `cell`.
    pub(super) fn settle_at(&mut self, now: Instant, ue: UeId, cell: CellId, out: &mut NetworkOutput) {
        if let Some(m) = &mut self.mobility {
            let enb = m.enbs[cell];
            let route = &mut m.backhaul.routes[ue];
            (route.home, route.anchor) = (enb, enb);
        }
        for i in 0..self.links[ue].drbs.len() {
            let bearer = self.links[ue].drbs[i];
            self.settle(now, bearer, out);
        }
    }
}

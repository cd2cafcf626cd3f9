//! The core network behind the eNBs: the path of a UE's packets while it moves (TS 36.300 clause
//! 10.1.2.2).
//!
//! A UE has one *home*, the eNB with its PDCP entities, and one *anchor*, the eNB to which the
//! gateway sends. They differ from the moment at which the UE leaves the source until the path is
//! switched: the anchor forwards until the end marker has arrived, and packets that the gateway
//! sends to the home directly wait there behind the forwarded ones. Only one such change is in
//! progress at a time, so that a packet is forwarded once at most and order is that of three FIFO
//! pipes.
//!
//! Packets are put in with [`enter`](Core::enter), [`take_up`](Core::take_up) and
//! [`forward`](Core::forward); each leads to a [`Passage`], which the owner carries out at the
//! bearer.

use std::collections::VecDeque;

use lasthop_units::{BearerId, CellId, Id, IndexVec, Instant, Tti, UeId};

use super::NetworkOutput;
use super::backhaul::{Backhaul, GtpMessage, Way};
use super::config::NetworkConfig;
use crate::rrc::HandoverConfig;
use crate::rrc::mobility::{DataPath, Enb, ttis};
use lasthop_bearer::{DropCause, End, Sdu};
use lasthop_lte_l2::pdcp::{ForwardedSdu, HandoverKind, LteBearerOutput};

/// Result for a packet in the core network.
#[derive(Clone, Copy, Debug)]
pub enum Passage {
    /// The packet has reached the gateway.
    Gateway(BearerId, Sdu),
    /// The network's end of the bearer accepts the packet.
    Accept(BearerId, ForwardedSdu),
    /// The packet is being forwarded to another eNB.
    Forwarded(BearerId, ForwardedSdu),
    /// The packet is lost.
    Lose(BearerId, ForwardedSdu, DropCause),
}

/// Path of a UE's packets.
#[derive(Debug, Default)]
struct Route {
    /// The eNB with the UE's PDCP entities.
    home: Enb,
    /// The eNB to which the gateway sends.
    anchor: Enb,
    /// The home has not received the end marker.
    forwarding: bool,
    /// When the gateway receives the path switch request.
    switch: Option<Tti>,
    /// Packets from the gateway that wait in the home meanwhile.
    behind: VecDeque<(BearerId, Sdu)>,
}

/// The gateway, the eNBs and the links between them.
#[derive(Debug)]
pub struct Core {
    backhaul: Backhaul,
    routes: IndexVec<UeId, Route>,
    /// The eNB of each cell.
    enbs: IndexVec<CellId, Enb>,
    /// The UE of each bearer, and how a handover treats its packets.
    bearers: IndexVec<BearerId, (UeId, HandoverKind)>,
    /// Packets that have waited behind forwarded ones, and are due now.
    released: VecDeque<(BearerId, Sdu)>,
    /// TTIs of a message to the gateway.
    s1_delay: u64,
}

impl Core {
    /// The home of each UE of `network` is the eNB of its cell; `kinds`: how a handover treats the
    /// packets of each bearer.
    pub fn new(
        network: &NetworkConfig,
        config: &HandoverConfig,
        kinds: impl Fn(BearerId) -> HandoverKind,
    ) -> Core {
        let enbs = enbs(network);
        let ids = (0..network.bearers.len()).map(BearerId::from_index);
        let bearers = network.bearers.iter().zip(ids).map(|(b, id)| (b.ue, kinds(id))).collect();
        let route = |enb| Route { home: enb, anchor: enb, ..Route::default() };
        Core {
            backhaul: Backhaul::new(config, network.bearers.len()),
            routes: network.ues.iter().map(|ue| route(enbs[ue.serving])).collect(),
            bearers,
            released: VecDeque::new(),
            s1_delay: ttis(config.s1.delay),
            enbs,
        }
    }

    /// The path of the data of `ue`.
    pub fn path(&self, ue: UeId) -> DataPath<'_> {
        let route = &self.routes[ue];
        DataPath { home: route.home, anchor: route.anchor, forwarding: route.forwarding, enbs: &self.enbs }
    }

    /// True if the eNB of `cell` has the PDCP entities of `ue`.
    pub fn is_home(&self, ue: UeId, cell: CellId) -> bool {
        self.routes[ue].home == self.enbs[cell]
    }

    /// Packets of `bearer` inside: downlink 0, uplink 1.
    pub fn inside(&self, bearer: BearerId, direction: usize) -> usize {
        self.backhaul.inside(bearer, direction)
    }

    /// When the next packet arrives.
    pub fn next(&self) -> Option<Instant> {
        self.backhaul.next()
    }

    /// Takes a packet at the gateway; false if the link to its eNB has no room.
    pub fn enter(&mut self, now: Instant, bearer: BearerId, sdu: Sdu) -> bool {
        let anchor = self.routes[self.bearers[bearer].0].anchor;
        self.backhaul.send(now, Way::S1Down(anchor), GtpMessage::Down(bearer, sdu))
    }

    /// Takes the packets that a bearer of `ue` has delivered: at the UE they are delivered at once,
    /// at its home they are sent to the gateway.
    #[inline]
    pub fn take_up(
        &mut self,
        now: Instant,
        ue: UeId,
        bearer: BearerId,
        said: &mut LteBearerOutput,
        out: &mut NetworkOutput,
    ) {
        let home = self.routes[ue].home;
        for (end, sdu) in said.delivered.drain(..) {
            if end == End::Ue {
                out.delivered.push((bearer, end, sdu));
            } else if !self.backhaul.send(now, Way::S1Up(home), GtpMessage::Up(bearer, sdu)) {
                out.dropped.push((bearer, End::Ue, sdu, DropCause::BackhaulFull));
            }
        }
    }

    /// The result for the next packet that has arrived by `now`, in order.
    #[inline]
    pub fn poll(&mut self, now: Instant) -> Option<Passage> {
        loop {
            if let Some((bearer, sdu)) = self.released.pop_front() {
                return Some(Passage::Accept(bearer, ForwardedSdu::fresh(sdu)));
            }
            let (way, packet) = self.backhaul.arrived(now)?;
            let passage = match (way, packet) {
                (_, GtpMessage::Up(bearer, sdu)) => Some(Passage::Gateway(bearer, sdu)),
                (_, GtpMessage::Forward(bearer, forwarded_sdu)) => {
                    Some(Passage::Accept(bearer, forwarded_sdu))
                }
                (Way::S1Down(enb), GtpMessage::Down(bearer, sdu)) => self.at_enb(now, enb, bearer, sdu),
                (Way::S1Down(enb), GtpMessage::EndMarker(ue)) => {
                    // The source forwards the end marker.
                    let home = self.routes[ue].home;
                    self.backhaul.send(now, Way::X2(enb, home), GtpMessage::EndMarker(ue));
                    None
                }
                (Way::X2(..), GtpMessage::EndMarker(ue)) => {
                    self.end_forwarding(ue);
                    None
                }
                (_, GtpMessage::Down(..) | GtpMessage::EndMarker(_)) => None,
            };
            if passage.is_some() {
                return passage;
            }
        }
    }

    /// Processes a packet from the gateway at `enb`, which is its UE's home, or the former one.
    fn at_enb(&mut self, now: Instant, enb: Enb, bearer: BearerId, sdu: Sdu) -> Option<Passage> {
        let (ue, kind) = self.bearers[bearer];
        let route = &mut self.routes[ue];
        let forwarded_sdu = ForwardedSdu::fresh(sdu);
        if route.home != enb && route.forwarding {
            return Some(self.forward(now, enb, bearer, forwarded_sdu));
        }
        if route.home != enb {
            // The UE's context is released, as after a re-establishment that was refused.
            return Some(Passage::Lose(bearer, forwarded_sdu, DropCause::NotForwarded));
        }
        // No packet of a bearer without forwarding is sent over X2, so those from the gateway need
        // not wait.
        if route.forwarding && kind != HandoverKind::None {
            route.behind.push_back((bearer, sdu));
            self.backhaul.hold(bearer);
            return None;
        }
        Some(Passage::Accept(bearer, forwarded_sdu))
    }

    /// Forwards a packet from `enb` to the home of its UE.
    pub fn forward(
        &mut self,
        now: Instant,
        enb: Enb,
        bearer: BearerId,
        forwarded_sdu: ForwardedSdu,
    ) -> Passage {
        let (ue, kind) = self.bearers[bearer];
        let way = Way::X2(enb, self.routes[ue].home);
        match kind {
            HandoverKind::None => Passage::Lose(bearer, forwarded_sdu, DropCause::NotForwarded),
            _ if self.backhaul.send(now, way, GtpMessage::Forward(bearer, forwarded_sdu)) => {
                Passage::Forwarded(bearer, forwarded_sdu)
            }
            _ => Passage::Lose(bearer, forwarded_sdu, DropCause::BackhaulFull),
        }
    }

    /// Releases the packets that waited for the end marker, which has reached the target.
    fn end_forwarding(&mut self, ue: UeId) {
        self.routes[ue].forwarding = false;
        while let Some(next) = self.next_behind(ue) {
            self.released.push_back(next);
        }
    }

    fn next_behind(&mut self, ue: UeId) -> Option<(BearerId, Sdu)> {
        let (bearer, sdu) = self.routes[ue].behind.pop_front()?;
        self.backhaul.let_go(bearer);
        Some((bearer, sdu))
    }

    /// Moves the PDCP entities of `ue` to the eNB of `cell`, which the gateway does not use yet.
    /// Returns the eNB that forwards from now on, if it is another one.
    pub fn relocate(&mut self, ue: UeId, cell: CellId) -> Option<Enb> {
        let route = &mut self.routes[ue];
        debug_assert!(!route.forwarding, "one change at a time");
        let from = std::mem::replace(&mut route.home, self.enbs[cell]);
        route.forwarding = from != route.home;
        route.forwarding.then_some(from)
    }

    /// Returns the UE to the source, with the packets that are being forwarded: the UE has not
    /// arrived.
    pub fn recall(&mut self, ue: UeId) -> Vec<(BearerId, ForwardedSdu)> {
        let (route, bearers) = (&mut self.routes[ue], &self.bearers);
        let way = Way::X2(route.anchor, route.home);
        route.home = route.anchor;
        route.forwarding = false;
        self.backhaul.recall(way, |b| bearers[b].0 == ue)
    }

    /// The connection of `ue` ends during a change of home: packets on X2, and those that wait
    /// behind them, are lost (TS 36.300 clause 10.1.2.2: the target releases its resources, and
    /// with them the tunnels).
    pub fn stop_forwarding(&mut self, ue: UeId) -> Vec<(BearerId, ForwardedSdu)> {
        if !self.routes[ue].forwarding {
            return Vec::new();
        }
        let bearers = &self.bearers;
        let mut lost = self.backhaul.release(ue, |b| bearers[b].0 == ue);
        lost.extend(
            std::iter::from_fn(|| self.next_behind(ue)).map(|(b, sdu)| (b, ForwardedSdu::fresh(sdu))),
        );
        let route = &mut self.routes[ue];
        (route.forwarding, route.switch) = (false, None);
        lost
    }

    /// Sends PATH SWITCH REQUEST for `ue` (TS 36.413 clause 8.4.4) if its home is not its anchor.
    /// Returns when the gateway has it, `open` or later.
    pub fn request_switch(&mut self, ue: UeId, tti: Tti, open: Tti) -> Option<Tti> {
        let route = &mut self.routes[ue];
        if route.home != route.anchor {
            route.switch = Some(tti.plus(self.s1_delay).max(open));
            return route.switch;
        }
        None
    }

    /// Makes the home the anchor, unless the UE's connection has ended meanwhile; the end marker
    /// follows the packets on the old path.
    pub fn switch_path(&mut self, now: Instant, tti: Tti, ue: UeId) {
        let route = &mut self.routes[ue];
        if route.switch.is_none_or(|at| at > tti) {
            return;
        }
        route.switch = None;
        let old = std::mem::replace(&mut route.anchor, route.home);
        if old != route.home {
            self.backhaul.send(now, Way::S1Down(old), GtpMessage::EndMarker(ue));
        }
    }

    /// Makes the eNB of `cell` the home and anchor of a UE without a connection.
    pub fn attach(&mut self, ue: UeId, cell: CellId) {
        let enb = self.enbs[cell];
        let route = &mut self.routes[ue];
        (route.home, route.anchor) = (enb, enb);
    }
}

/// The eNB of each cell: cells with the same name of an eNB share it.
fn enbs(config: &NetworkConfig) -> IndexVec<CellId, Enb> {
    let mut named: Vec<Option<&str>> = Vec::new();
    let mut numbers = IndexVec::new();
    for cell in config.cells.iter() {
        let name = cell.enb.as_deref();
        let known = named.iter().position(|n| n.is_some() && *n == name);
        let enb = known.unwrap_or_else(|| {
            named.push(name);
            named.len() - 1
        });
        numbers.push(enb as Enb);
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{CellConfig, DrbConfig, UeConfig};
    use lasthop_units::{Duration, PacketId};

    const UE: fn(usize) -> UeId = UeId::from_index;
    const CELL: fn(usize) -> CellId = CellId::from_index;
    const BEARER: fn(usize) -> BearerId = BearerId::from_index;

    /// Two cells of two eNBs, a UE in the first one, and a lossless bearer; 5 ms over S1, 7 ms over
    /// X2, and 1 us at most for a packet at 10 Gbit/s.
    fn core() -> Core {
        let mut network = NetworkConfig::default();
        let serving = network.cells.push(CellConfig::default());
        network.cells.push(CellConfig::default());
        let ue = network.ues.push(UeConfig::served_by(serving));
        network.bearers.push(DrbConfig {
            ue,
            layers: Default::default(),
            qos: Default::default(),
            ip_buffer: None,
        });
        let mut config = HandoverConfig::default();
        config.s1.delay = Duration::from_millis(5);
        config.x2.delay = Duration::from_millis(7);
        Core::new(&network, &config, |_| HandoverKind::Lossless)
    }

    fn packet(serial: u64) -> Sdu {
        Sdu { serial, ..Sdu::new(PacketId::from_index(serial as usize), 1000) }
    }

    fn ms(n: u64) -> Instant {
        Instant::from_millis(n)
    }

    /// The results for packets that arrive until `end`: time, kind, and serial number of the
    /// packet.
    fn until(core: &mut Core, end: Instant) -> Vec<(u64, &'static str, u64)> {
        let mut seen = Vec::new();
        while let Some(at) = core.next().filter(|at| *at <= end) {
            while let Some(passage) = core.poll(at) {
                let (what, serial) = match passage {
                    Passage::Gateway(_, sdu) => ("gateway", sdu.serial),
                    Passage::Accept(_, forwarded_sdu) => ("accept", forwarded_sdu.sdu.serial),
                    Passage::Forwarded(_, forwarded_sdu) => ("forwarded", forwarded_sdu.sdu.serial),
                    Passage::Lose(_, forwarded_sdu, _) => ("lost", forwarded_sdu.sdu.serial),
                };
                seen.push((at.0 / 1_000_000, what, serial));
            }
        }
        seen
    }

    /// A UE leaves at 0 and is served at 0: packet 1 reaches the source at 5 ms, which forwards it
    /// to the target, 7 ms. The gateway has the request at 5 ms: its end marker follows packet 1 at
    /// 5 + 5 + 7 = 17 ms, and packet 2, at the target at 10 ms, waits for it.
    #[test]
    fn what_the_gateway_sends_directly_waits_for_the_end_marker() {
        let mut core = core();
        assert!(core.enter(ms(0), BEARER(0), packet(1)));
        assert_eq!(core.relocate(UE(0), CELL(1)), Some(0));
        assert!(core.path(UE(0)).forwarding && core.is_home(UE(0), CELL(1)));
        assert_eq!(core.request_switch(UE(0), Tti(0), Tti(1)), Some(Tti(5)));
        assert_eq!(until(&mut core, Instant(4_999_999)), []);
        core.switch_path(ms(5), Tti(5), UE(0));
        assert!(core.enter(ms(5), BEARER(0), packet(2)));
        assert_eq!(until(&mut core, ms(16)), [(5, "forwarded", 1), (12, "accept", 1)]);
        assert_eq!((core.inside(BEARER(0), 0), core.path(UE(0)).forwarding), (1, true));
        assert_eq!(until(&mut core, ms(30)), [(17, "accept", 2)]);
        assert_eq!((core.inside(BEARER(0), 0), core.path(UE(0)).forwarding), (0, false));
        assert_eq!(core.next(), None);
        assert_eq!(core.request_switch(UE(0), Tti(30), Tti(31)), None, "the path is switched");
    }

    /// A handover fails while packet 1 is on X2: it returns to the source.
    #[test]
    fn a_recall_brings_back_what_was_forwarded() {
        let mut core = core();
        core.enter(ms(0), BEARER(0), packet(1));
        core.relocate(UE(0), CELL(1));
        assert_eq!(until(&mut core, ms(6)), [(5, "forwarded", 1)]);
        let back: Vec<u64> =
            core.recall(UE(0)).iter().map(|(_, forwarded_sdu)| forwarded_sdu.sdu.serial).collect();
        assert_eq!((back, core.inside(BEARER(0), 0)), (vec![1], 0));
        assert!(core.is_home(UE(0), CELL(0)) && !core.path(UE(0)).forwarding);
        assert_eq!(until(&mut core, ms(30)), []);
    }

    /// A connection ends after the path was switched: packet 1 is on X2, packet 2 waits behind it,
    /// and no end marker arrives. Packets from the gateway on the old path are lost.
    #[test]
    fn forwarding_stops_with_the_connection() {
        let mut core = core();
        core.enter(ms(0), BEARER(0), packet(1));
        core.relocate(UE(0), CELL(1));
        core.request_switch(UE(0), Tti(0), Tti(1));
        core.switch_path(ms(5), Tti(5), UE(0));
        core.enter(ms(5), BEARER(0), packet(2));
        assert_eq!(until(&mut core, ms(11)), [(5, "forwarded", 1)]);
        let lost: Vec<u64> = core.stop_forwarding(UE(0)).iter().map(|(_, p)| p.sdu.serial).collect();
        assert_eq!((lost, core.inside(BEARER(0), 0)), (vec![1, 2], 0));
        assert_eq!(until(&mut core, ms(30)), []);
        core.enter(ms(30), BEARER(0), packet(3));
        core.attach(UE(0), CELL(0));
        assert_eq!(until(&mut core, ms(60)), [(35, "lost", 3)]);
    }
}

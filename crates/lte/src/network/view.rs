//! Values of a network that may be read at any time: serving cells, counters, measurements, and the
//! packets inside.

use lasthop_units::{BearerId, CellId, IndexVec, UeId};

use super::bearers::Bearers;
use super::core_network::Core;
use super::rrc::Mobility;
use super::state::sidelink::Sidelink;
use super::state::{Cell, Link};
use super::{RadioNetwork, Sidelinks, UplinkCounters};
use crate::mac::downlink::LinkStats;
use crate::rrc::Measured;
use lasthop_bearer::{Direction, End, RlcStats};
use lasthop_lte_l2::pdcp::LteBearer;

/// A network, for reading.
#[derive(Clone, Copy, Debug)]
pub struct NetworkView<'a> {
    cells: &'a IndexVec<CellId, Cell>,
    links: &'a IndexVec<UeId, Link>,
    bearers: &'a Bearers,
    core: Option<&'a Core>,
    mobility: Option<&'a Mobility>,
    sidelink: Option<&'a Sidelink>,
}

impl RadioNetwork {
    /// The network, for reading.
    pub fn view(&self) -> NetworkView<'_> {
        let RadioNetwork { cells, links, bearers, core, mobility, sidelink, .. } = self;
        let (core, mobility) = (core.as_deref(), mobility.as_deref());
        NetworkView { cells, links, bearers, core, mobility, sidelink: sidelink.as_deref() }
    }
}

impl<'a> NetworkView<'a> {
    /// The cell that serves a UE.
    pub fn serving(self, ue: UeId) -> CellId {
        self.links[ue].serving
    }

    /// Counters of a UE's link in `direction`, without receptions in other threads
    /// ([`RadioNetwork::finish_reception`]).
    pub fn link_stats(self, ue: UeId, direction: Direction) -> &'a LinkStats {
        let link = &self.links[ue];
        match direction {
            Direction::Downlink => &link.downlink.stats,
            Direction::Uplink => &link.uplink.stats,
        }
    }

    /// Counters of the uplink of `cell`.
    pub fn uplink_counters(self, cell: CellId) -> UplinkCounters {
        self.cells[cell].uplink.counters
    }

    /// A UE's measurement of a cell, after the layer 3 filter.
    pub fn measured(self, ue: UeId, cell: CellId) -> Option<Measured> {
        self.mobility.and_then(|m| m.ues[ue].measured(cell))
    }

    /// Counters of the RLC entity at an end of a bearer.
    pub fn rlc_stats(self, bearer: BearerId, end: End) -> RlcStats {
        self.bearers[bearer].layers.rlc_stats(end)
    }

    /// PDCP and RLC of a bearer, at both ends.
    pub fn layers(self, bearer: BearerId) -> &'a LteBearer {
        &self.bearers[bearer].layers
    }

    /// Packets inside that `end` of a bearer has pushed.
    pub fn inside(self, bearer: BearerId, end: End) -> usize {
        let drb = &self.bearers[bearer];
        let backhaul = self.core.map_or(0, |core| core.inside(bearer, end.index()));
        let above = drb.ip.as_ref().filter(|_| end == End::Network).map_or(0, |ip| ip.packets());
        above + drb.layers.inside(end) + backhaul
    }

    /// The sidelinks.
    pub const fn sidelinks(self) -> Sidelinks<'a> {
        Sidelinks::of(self.sidelink)
    }
}

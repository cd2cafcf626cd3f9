//! Sidelinks: the packets of a UE that are sent over one.

use std::collections::BTreeMap;

use lasthop_lte::network::RadioNetwork;
use lasthop_units::{BearerId, Id, IndexVec, NodeId, UeId};

use crate::access::{FlowOf, FlowTables};
use crate::spec::Cellular;

/// Numbers of tables of flows.
type Tables = Box<[u32]>;

/// The sidelinks of a scenario.
#[derive(Default)]
pub(super) struct Direct {
    /// By sender: the receivers' nodes, the destinations, and the tables of the flows that each
    /// carries (none: all).
    destinations: IndexVec<UeId, Vec<(NodeId, u32, Tables)>>,
    /// The bearer of the first pair, and for each pair its name and the node at the network's end
    /// of its bearer.
    first_bearer: usize,
    pairs: Vec<(Box<str>, NodeId)>,
    /// Names of the multicast groups; their destinations are numbered consecutively from
    /// `first_group` on.
    groups: Vec<Box<str>>,
    first_group: u32,
    /// The destination of the group to which the flows of a table are sent.
    multicast: BTreeMap<u32, u32>,
}

impl Direct {
    /// Creates the sidelinks; `ues` are the nodes of the UEs.
    pub fn new(all: &Cellular, ues: &[NodeId], tables: &FlowTables, network: &RadioNetwork) -> Direct {
        let flows = |destination: u32| {
            all.pairs[destination as usize / 2].flows.iter().map(|f| tables.number(f)).collect()
        };
        let of_pairs = 2 * all.pairs.len();
        let mut destinations: IndexVec<UeId, Vec<_>> = ues.iter().map(|_| Vec::new()).collect();
        for (destination, tx, rx) in network.view().sidelinks().destinations().take(of_pairs) {
            destinations[tx].push((ues[rx.index()], destination, flows(destination)));
        }
        let names = all.pairs.iter().map(|p| p.name.as_str().into());
        let mut direct = Direct {
            destinations,
            first_bearer: all.config.bearers.len(),
            pairs: names.zip(all.config.pairs.iter().map(|p| ues[p.ues[0].index()])).collect(),
            groups: all.groups.iter().map(|name| name.as_str().into()).collect(),
            first_group: of_pairs as u32,
            multicast: BTreeMap::new(),
        };
        let destination_to =
            |to: &str| direct.groups.iter().position(|g| **g == *to).map(|i| of_pairs as u32 + i as u32);
        direct.multicast =
            tables.ends().filter_map(|(table, to)| Some((table, destination_to(to)?))).collect();
        direct
    }

    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty() && self.groups.is_empty()
    }

    /// The destination to which a packet of a flow is sent from a UE to a node, and the receiver of
    /// a group to which it belongs; `None`: it uses no sidelink.
    pub fn way(&self, (ue, to): (UeId, NodeId), flow: FlowOf) -> Option<(u32, u32)> {
        let of_group = self.destination_of_group(flow.table).map(|destination| (destination, flow.member));
        of_group.or_else(|| Some((self.destination(ue, to, flow.table)?, 0)))
    }

    /// The destination that carries packets of flows of `table` from `ue` to `to`.
    fn destination(&self, ue: UeId, to: NodeId, table: u32) -> Option<u32> {
        let (_, destination, flows) = self.destinations[ue].iter().rfind(|(node, ..)| *node == to)?;
        (flows.is_empty() || flows.contains(&table)).then_some(*destination)
    }

    /// The destination of the group to which flows of `table` are sent.
    fn destination_of_group(&self, table: u32) -> Option<u32> {
        self.multicast.get(&table).copied()
    }

    /// The name of the group of `destination`.
    pub fn group_name(&self, destination: u32) -> Option<&str> {
        let group = destination.checked_sub(self.first_group)?;
        self.groups.get(group as usize).map(|g| &**g)
    }

    /// The node at the network's end of `bearer`, if that node is a UE's.
    pub fn peer(&self, bearer: BearerId) -> Option<NodeId> {
        let pair = bearer.index().checked_sub(self.first_bearer)?;
        self.pairs.get(pair).map(|p| p.1)
    }

    /// The pairs of the table `name`.
    pub fn pairs_of(&self, name: &str) -> Vec<u32> {
        let of = |p: &str| p == name || p.strip_prefix(name).is_some_and(is_number);
        (0..).zip(&self.pairs).filter(|(_, p)| of(&p.0)).map(|(i, _)| i).collect()
    }
}

/// True for `-` and digits, as in the name of one pair among several.
fn is_number(rest: &str) -> bool {
    rest.strip_prefix('-').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

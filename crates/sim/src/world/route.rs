//! Static routes: the way with the fewest hops, the first declared among equals.

use std::collections::VecDeque;

use lasthop_ran::End as BearerEnd;
use lasthop_units::{BearerId, HopId, Id, IndexVec, NodeId, StationId, UeId};
use lasthop_wifi::network::End as WlanEnd;

/// A way out of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// Into one direction of a link.
    Hop(HopId),
    /// Into a radio bearer, entering at this end.
    Bearer(BearerId, BearerEnd),
    /// To the snoop agent of this number at the node, which knows the way on.
    Snoop(u32),
    /// Over the air from or to a UE of the radio network, entering at this end.
    Radio(UeId, BearerEnd),
    /// Over a wireless LAN from or to a station, entering at this end.
    Wlan(StationId, WlanEnd),
}

/// A way from node to node, for the search.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// Where it starts.
    pub from: NodeId,
    /// Where it ends.
    pub to: NodeId,
    /// How to enter it.
    pub port: Port,
}

/// `routes[at][destination]`: the port to take.
pub type Routes = IndexVec<NodeId, IndexVec<NodeId, Option<Port>>>;

/// Fewest-hop routes between all nodes: breadth-first from every destination, edges in order of declaration.
pub fn routes(nodes: usize, edges: &[Edge]) -> Routes {
    let ids = || (0..nodes).map(NodeId::from_index);
    let mut incoming: IndexVec<NodeId, Vec<Edge>> = ids().map(|_| Vec::new()).collect();
    for edge in edges {
        incoming[edge.to].push(*edge);
    }
    let mut table: Routes = ids().map(|_| ids().map(|_| None).collect()).collect();
    let mut frontier = VecDeque::new();
    for destination in ids() {
        frontier.push_back(destination);
        while let Some(node) = frontier.pop_front() {
            for edge in &incoming[node] {
                if edge.from != destination && table[edge.from][destination].is_none() {
                    table[edge.from][destination] = Some(edge.port);
                    frontier.push_back(edge.from);
                }
            }
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_way_is_taken_and_islands_have_none() {
        let n = NodeId::from_index;
        let edge = |from, to, hop| Edge { from: n(from), to: n(to), port: Port::Hop(HopId::from_index(hop)) };
        // 0 - 1 - 2 and the shortcut 0 -> 2; node 3 is an island.
        let edges = [edge(0, 1, 0), edge(1, 0, 1), edge(1, 2, 2), edge(2, 1, 3), edge(0, 2, 4)];
        let r = routes(4, &edges);
        assert_eq!(r[n(0)][n(2)], Some(Port::Hop(HopId::from_index(4))));
        assert_eq!(r[n(2)][n(0)], Some(Port::Hop(HopId::from_index(3))));
        assert_eq!(r[n(0)][n(3)], None);
    }
}

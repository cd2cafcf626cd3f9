//! Static routes: the way with the fewest hops, the first declared among equals.

use std::collections::{BTreeMap, BTreeSet};

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

/// The ways out of every node towards every destination of packets.
///
/// A node with one neighbour sends everything the same way: its row has one entry. The row of
/// another node has an entry for each destination of its own part of the network. So idle links and
/// separate networks cost memory and time in proportion to their number.
pub struct Routes {
    /// The place of a destination in the rows of its part of the network.
    slots: IndexVec<NodeId, u32>,
    rows: IndexVec<NodeId, Row>,
}

/// The ways out of one node.
#[derive(Clone, Debug)]
pub struct Row {
    ports: Box<[Option<Port>]>,
    /// Zero where one port serves all destinations, else all ones.
    mask: u32,
}

impl Routes {
    /// The port that leads from `node` to `destination`.
    #[inline]
    pub fn port(&self, node: NodeId, destination: NodeId) -> Option<Port> {
        self.port_of(&self.rows[node], destination)
    }

    /// The same by a row that [`Routes::divert`] has taken out.
    #[inline]
    pub fn port_of(&self, row: &Row, destination: NodeId) -> Option<Port> {
        row.ports[(self.slots[destination] & row.mask) as usize]
    }

    /// Sends everything that leaves `node` to `port`, and returns the routes that the node had.
    pub fn divert(&mut self, node: NodeId, port: Port) -> Row {
        let row = self.rows[node].clone();
        self.rows[node].ports.iter_mut().flatten().for_each(|p| *p = port);
        row
    }
}

/// Fewest-hop routes to `destinations`: breadth-first from each, edges in order of declaration.
///
/// The search from a node with one neighbour visits all others as the search from that neighbour
/// does, so one search serves a neighbour and all its leaves.
pub fn routes(nodes: usize, edges: &[Edge], destinations: &BTreeSet<NodeId>) -> Routes {
    let map = Map::of(nodes, edges);
    let (slots, widths) = map.slots(destinations);
    let mut rows: IndexVec<NodeId, Row> = map.ids().map(|node| map.empty_row(node, &widths)).collect();
    let mut groups: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
    for destination in destinations {
        groups.entry(map.anchor(*destination)).or_default().push(*destination);
    }
    let mut search = Search { seen: map.ids().map(|_| None).collect(), found: Vec::new() };
    for (anchor, group) in &groups {
        search.run(&map, *anchor);
        for (node, port) in search.found.iter().filter(|(node, _)| map.leaf[*node].is_none()) {
            for destination in group {
                rows[*node].ports[slots[*destination] as usize] = Some(*port);
            }
        }
        for leaf in group.iter().filter(|d| *d != anchor) {
            rows[*anchor].ports[slots[*leaf] as usize] = map.incoming[*leaf].first().map(|e| e.port);
        }
    }
    Routes { slots, rows }
}

/// The network as the search sees it.
struct Map {
    incoming: IndexVec<NodeId, Vec<Edge>>,
    /// For a node with one neighbour: its first way out.
    leaf: IndexVec<NodeId, Option<Edge>>,
    /// The part of the network that a node belongs to.
    part: IndexVec<NodeId, usize>,
    parts: usize,
}

impl Map {
    fn of(nodes: usize, edges: &[Edge]) -> Map {
        let ids = || (0..nodes).map(NodeId::from_index);
        let mut incoming: IndexVec<NodeId, Vec<Edge>> = ids().map(|_| Vec::new()).collect();
        let mut outgoing: IndexVec<NodeId, Vec<Edge>> = ids().map(|_| Vec::new()).collect();
        for edge in edges {
            incoming[edge.to].push(*edge);
            outgoing[edge.from].push(*edge);
        }
        let one_neighbour = |node: &NodeId| {
            let first = outgoing[*node].first()?;
            let others = outgoing[*node].iter().map(|e| e.to).chain(incoming[*node].iter().map(|e| e.from));
            others.into_iter().all(|n| n == first.to).then_some(*first)
        };
        let leaf = ids().map(|node| one_neighbour(&node)).collect();
        let mut part: IndexVec<NodeId, usize> = ids().map(|_| usize::MAX).collect();
        let mut parts = 0;
        let mut waiting = Vec::new();
        for start in ids() {
            if part[start] != usize::MAX {
                continue;
            }
            waiting.push(start);
            part[start] = parts;
            while let Some(node) = waiting.pop() {
                let around = outgoing[node].iter().map(|e| e.to).chain(incoming[node].iter().map(|e| e.from));
                for next in around {
                    if part[next] == usize::MAX {
                        part[next] = parts;
                        waiting.push(next);
                    }
                }
            }
            parts += 1;
        }
        Map { incoming, leaf, part, parts }
    }

    fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        self.part.ids()
    }

    /// Where the search for the ways to `destination` starts.
    fn anchor(&self, destination: NodeId) -> NodeId {
        let neighbour = self.leaf[destination].map(|edge| edge.to);
        neighbour.filter(|n| self.leaf[*n].is_none()).unwrap_or(destination)
    }

    /// A number for each destination, from 0 in each part of the network, and how many each part
    /// has.
    fn slots(&self, destinations: &BTreeSet<NodeId>) -> (IndexVec<NodeId, u32>, Vec<u32>) {
        let mut widths = vec![0; self.parts];
        let mut slots: IndexVec<NodeId, u32> = self.ids().map(|_| u32::MAX).collect();
        for destination in destinations {
            let width = &mut widths[self.part[*destination]];
            slots[*destination] = *width;
            *width += 1;
        }
        (slots, widths)
    }

    fn empty_row(&self, node: NodeId, widths: &[u32]) -> Row {
        match self.leaf[node] {
            Some(edge) => Row { ports: Box::new([Some(edge.port)]), mask: 0 },
            None => {
                let width = widths[self.part[node]] as usize;
                Row { ports: vec![None; width].into(), mask: u32::MAX }
            }
        }
    }
}

/// A breadth-first search towards one node, its memory reused.
struct Search {
    /// The node towards which each node was seen last.
    seen: IndexVec<NodeId, Option<NodeId>>,
    /// Nodes with their ways out, nearest first.
    found: Vec<(NodeId, Port)>,
}

impl Search {
    fn run(&mut self, map: &Map, target: NodeId) {
        self.found.clear();
        self.seen[target] = Some(target);
        let mut next = Some(target);
        let mut taken = 0;
        while let Some(node) = next {
            for edge in &map.incoming[node] {
                if self.seen[edge.from] != Some(target) {
                    self.seen[edge.from] = Some(target);
                    self.found.push((edge.from, edge.port));
                }
            }
            next = self.found.get(taken).map(|(node, _)| *node);
            taken += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::HopId;
    use proptest::prelude::*;

    fn n(index: usize) -> NodeId {
        NodeId::from_index(index)
    }

    /// A link between two nodes; its directions are the ports 2i and 2i + 1.
    fn links(between: &[(usize, usize)]) -> Vec<Edge> {
        let port = |hop| Port::Hop(HopId::from_index(hop));
        let both = |(i, (a, b)): (usize, &(usize, usize))| {
            let (a, b) = (n(*a), n(*b));
            [Edge { from: a, to: b, port: port(2 * i) }, Edge { from: b, to: a, port: port(2 * i + 1) }]
        };
        between.iter().enumerate().flat_map(both).collect()
    }

    #[test]
    fn the_shortest_way_is_taken_and_islands_have_none() {
        // 0 - 1 - 2 - 4 and the shortcut 0 - 2; node 3 is an island.
        let edges = links(&[(0, 1), (1, 2), (0, 2), (2, 4)]);
        let r = routes(5, &edges, &(0..5).map(n).collect());
        assert_eq!(r.port(n(0), n(2)), Some(Port::Hop(HopId::from_index(4))));
        assert_eq!(r.port(n(2), n(0)), Some(Port::Hop(HopId::from_index(5))));
        assert_eq!(r.port(n(4), n(1)), Some(Port::Hop(HopId::from_index(7))));
    }

    /// The definition, without any saving: a search from every destination, a table of all pairs.
    fn plain(nodes: usize, edges: &[Edge], destination: NodeId) -> IndexVec<NodeId, Option<Port>> {
        let mut table: IndexVec<NodeId, Option<Port>> = (0..nodes).map(|_| None).collect();
        let mut frontier = std::collections::VecDeque::from([destination]);
        while let Some(node) = frontier.pop_front() {
            for edge in edges.iter().filter(|e| e.to == node) {
                if edge.from != destination && table[edge.from].is_none() {
                    table[edge.from] = Some(edge.port);
                    frontier.push_back(edge.from);
                }
            }
        }
        table
    }

    proptest! {
        #[test]
        fn every_way_is_that_of_a_search_from_its_destination(
            between in proptest::collection::vec((0usize..12, 0usize..12), 0..16),
            destinations in proptest::collection::btree_set(0usize..12, 0..12),
        ) {
            let between: Vec<_> = between.into_iter().filter(|(a, b)| a != b).collect();
            let edges = links(&between);
            let found = routes(12, &edges, &destinations.iter().copied().map(n).collect());
            for destination in destinations.into_iter().map(n) {
                let expected = plain(12, &edges, destination);
                for (node, port) in expected.enumerate().filter(|(_, port)| port.is_some()) {
                    prop_assert_eq!(found.port(node, destination), *port);
                }
            }
        }
    }

    /// Memory in proportion to the number of links, for a star, for pairs and for triples of nodes.
    #[test]
    fn idle_links_cost_one_entry_each() {
        let entries = |r: &Routes| r.rows.iter().map(|row| row.ports.len()).sum::<usize>();
        let star: Vec<(usize, usize)> = (1..=30_000).map(|i| (0, i)).collect();
        let few = routes(30_001, &links(&star), &[0, 7].map(n).into());
        assert_eq!(entries(&few), 30_000 + 2);
        let all = routes(30_001, &links(&star), &(0..30_001).map(n).collect());
        assert_eq!(entries(&all), 30_000 + 30_001);
        let triples: Vec<_> =
            (0..10_000).flat_map(|i| [(3 * i, 3 * i + 1), (3 * i + 1, 3 * i + 2)]).collect();
        let apart = routes(30_000, &links(&triples), &(0..30_000).map(n).collect());
        assert_eq!(entries(&apart), 10_000 * (1 + 3 + 1));
    }
}

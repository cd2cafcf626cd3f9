//! Static routes: the path with the fewest hops, the first declared among equals.

use std::collections::{BTreeSet, VecDeque};

use lasthop_units::{AccessId, Id, IndexVec, NodeId};

/// A port of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// Into an access.
    Access(AccessId, Entry),
    /// To the snoop agent of this number at the node, which has the rest of the route.
    Snoop(u32),
}

/// The number of an entry of an access, which the adapter assigns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry(pub u16);

// A table of routes has one for each destination.
const _: () = assert!(size_of::<Option<Port>>() == 8);

/// An edge from node to node, for the search.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// Its start.
    pub from: NodeId,
    /// Its end.
    pub to: NodeId,
    /// The port to it.
    pub port: Port,
}

/// The ports of every node towards every destination of packets.
///
/// Most networks are a core with trees attached: access links, or the whole network if it has no
/// second path. A node of a tree sends all packets to its parent except those for the nodes beyond
/// it, so its row has an entry for each destination beyond it and one for all others. Destinations
/// are numbered along the trees, so those beyond a node have consecutive numbers. The row of a node
/// of the core has an entry for each destination of its own part of the network. So idle links,
/// arms of a star and separate networks take memory and time in proportion to their number.
pub struct Routes {
    /// The number of a destination in its part of the network.
    slots: IndexVec<NodeId, u32>,
    rows: IndexVec<NodeId, Row>,
}

/// The routes of one node.
#[derive(Clone, Debug)]
pub struct Row {
    /// One port for each destination from number `first` on; the last one is for all others.
    ports: Box<[Option<Port>]>,
    first: u32,
}

impl Routes {
    /// The port of `node` towards `destination`.
    #[inline]
    pub fn port(&self, node: NodeId, destination: NodeId) -> Option<Port> {
        self.port_of(&self.rows[node], destination)
    }

    /// The same with a row that [`Routes::divert`] has removed.
    #[inline]
    pub fn port_of(&self, row: &Row, destination: NodeId) -> Option<Port> {
        let place = self.slots[destination].wrapping_sub(row.first) as usize;
        row.ports[place.min(row.ports.len() - 1)]
    }

    /// Sends all packets that leave `node` to `port`, and returns the routes that the node had.
    pub fn divert(&mut self, node: NodeId, port: Port) -> Row {
        let row = self.rows[node].clone();
        self.rows[node].ports.iter_mut().flatten().for_each(|p| *p = port);
        row
    }
}

/// Fewest-hop routes to `destinations`: breadth-first from each, edges in order of declaration.
///
/// The search from a node of a tree reaches the core at the root of the tree, and continues as one
/// from that root: one search covers a node of the core and the trees on it.
pub fn routes(nodes: usize, edges: &[Edge], destinations: &BTreeSet<NodeId>) -> Routes {
    let map = Map::of(nodes, edges);
    let numbers = map.numbers(destinations);
    let mut rows: IndexVec<NodeId, Row> = map.ids().map(|node| map.row(node, &numbers)).collect();
    let mut search = Search { seen: map.ids().map(|_| None).collect(), found: Vec::new() };
    for anchor in map.ids().filter(|node| map.parent[*node].is_none()) {
        let [first, end] = numbers.beyond[anchor].map(|n| n as usize);
        if first == end {
            continue;
        }
        search.run(&map, anchor);
        for (node, port) in &search.found {
            rows[*node].ports[first..end].fill(Some(*port));
        }
    }
    Routes { slots: numbers.slots, rows }
}

/// The network in the form that the search uses.
struct Map {
    incoming: IndexVec<NodeId, Vec<Edge>>,
    outgoing: IndexVec<NodeId, Vec<Edge>>,
    /// For a node of a tree: the next one on the path to the core.
    parent: IndexVec<NodeId, Option<NodeId>>,
}

/// Numbers of destinations.
struct Numbers {
    slots: IndexVec<NodeId, u32>,
    /// The first number of a node and of those beyond it, and the one after the last.
    beyond: IndexVec<NodeId, [u32; 2]>,
    /// For a node of the core: the number of destinations in its part of the network.
    all: IndexVec<NodeId, u32>,
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
        let parent = ids().map(|_| None).collect();
        let mut map = Map { incoming, outgoing, parent };
        map.find_trees();
        map
    }

    fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        self.parent.ids()
    }

    /// The neighbours of `node`, some of them several times.
    fn around(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        self.outgoing[node].iter().map(|e| e.to).chain(self.incoming[node].iter().map(|e| e.from))
    }

    /// Removes nodes with one neighbour repeatedly. The rest is the core: a single node if a part
    /// of the network is a tree.
    fn find_trees(&mut self) {
        let beside = |node: NodeId| self.around(node).filter(|n| *n != node).collect::<BTreeSet<_>>();
        let mut left: IndexVec<NodeId, usize> = self.ids().map(|node| beside(node).len()).collect();
        let mut next: VecDeque<NodeId> = self.ids().filter(|node| left[*node] == 1).collect();
        while let Some(node) = next.pop_front() {
            // A node whose last neighbour was removed meanwhile is the core.
            let remaining = |n: &NodeId| *n != node && self.parent[*n].is_none();
            let Some(parent) = self.around(node).find(remaining) else { continue };
            // A node without an edge to its parent sends nothing towards the core; the search then
            // finds the existing edges.
            if !self.outgoing[node].iter().any(|e| e.to == parent) {
                continue;
            }
            self.parent[node] = Some(parent);
            left[parent] -= 1;
            if left[parent] == 1 {
                next.push_back(parent);
            }
        }
    }

    /// Numbers the destinations of each part of the network from 0 on, those of a tree one after
    /// the other.
    fn numbers(&self, destinations: &BTreeSet<NodeId>) -> Numbers {
        let mut children: IndexVec<NodeId, Vec<NodeId>> = self.ids().map(|_| Vec::new()).collect();
        for node in self.ids() {
            if let Some(parent) = self.parent[node] {
                children[parent].push(node);
            }
        }
        let mut slots: IndexVec<NodeId, u32> = self.ids().map(|_| u32::MAX).collect();
        let mut beyond: IndexVec<NodeId, [u32; 2]> = self.ids().map(|_| [0; 2]).collect();
        let mut all: IndexVec<NodeId, u32> = self.ids().map(|_| 0).collect();
        let mut seen: IndexVec<NodeId, bool> = self.ids().map(|_| false).collect();
        for start in self.ids().filter(|node| self.parent[*node].is_none()) {
            if seen[start] {
                continue;
            }
            seen[start] = true;
            let mut core = vec![start];
            let (mut taken, mut next) = (0, 0);
            while let Some(root) = core.get(taken).copied() {
                taken += 1;
                // A node is visited twice: before those beyond it and after them.
                let mut waiting = vec![(root, false)];
                while let Some((node, done)) = waiting.pop() {
                    if done {
                        beyond[node][1] = next;
                        continue;
                    }
                    beyond[node][0] = next;
                    if destinations.contains(&node) {
                        slots[node] = next;
                        next += 1;
                    }
                    waiting.push((node, true));
                    waiting.extend(children[node].iter().map(|child| (*child, false)));
                }
                for n in self.around(root) {
                    if self.parent[n].is_none() && !std::mem::replace(&mut seen[n], true) {
                        core.push(n);
                    }
                }
            }
            core.into_iter().for_each(|node| all[node] = next);
        }
        Numbers { slots, beyond, all }
    }

    /// The row of a node with the ports to its trees and to its parent.
    fn row(&self, node: NodeId, numbers: &Numbers) -> Row {
        let [first, end] = match self.parent[node] {
            Some(_) => numbers.beyond[node],
            None => [0, numbers.all[node]],
        };
        let mut ports: Box<[Option<Port>]> = vec![None; (end - first) as usize + 1].into();
        // A leaf has no route to itself: one entry is enough.
        if let (Some(parent), true) = (self.parent[node], end - first <= 1) {
            let alone = first == end || numbers.slots[node] == first;
            let up = self.outgoing[node].iter().find(|e| e.to == parent).map(|e| e.port);
            if alone {
                return Row { ports: Box::new([up]), first };
            }
        }
        let last = ports.len() - 1;
        for edge in &self.outgoing[node] {
            let into = if self.parent[edge.to] == Some(node) {
                let [from, to] = numbers.beyond[edge.to].map(|n| (n - first) as usize);
                &mut ports[from..to]
            } else if self.parent[node] == Some(edge.to) {
                &mut ports[last..]
            } else {
                continue;
            };
            // Of several edges to one node the first is taken.
            if into.first().is_some_and(Option::is_none) {
                into.fill(Some(edge.port));
            }
        }
        Row { ports, first }
    }
}

/// A breadth-first search through the core towards one node of it, its memory reused.
struct Search {
    /// The last target of a search that reached each node.
    seen: IndexVec<NodeId, Option<NodeId>>,
    /// Nodes with their ports, nearest first.
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
                if map.parent[edge.from].is_none() && self.seen[edge.from] != Some(target) {
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
    use proptest::prelude::*;

    fn n(index: usize) -> NodeId {
        NodeId::from_index(index)
    }

    fn port(access: usize) -> Port {
        Port::Access(AccessId::from_index(access), Entry(0))
    }

    /// A link between two nodes; its directions are the ports 2i and 2i + 1.
    fn links(between: &[(usize, usize)]) -> Vec<Edge> {
        let both = |(i, (a, b)): (usize, &(usize, usize))| {
            let (a, b) = (n(*a), n(*b));
            [Edge { from: a, to: b, port: port(2 * i) }, Edge { from: b, to: a, port: port(2 * i + 1) }]
        };
        between.iter().enumerate().flat_map(both).collect()
    }

    #[test]
    fn the_shortest_path_is_taken_and_islands_have_none() {
        // 0 - 1 - 2 - 4 and the shortcut 0 - 2; node 3 is an island.
        let edges = links(&[(0, 1), (1, 2), (0, 2), (2, 4)]);
        let r = routes(5, &edges, &(0..5).map(n).collect());
        assert_eq!(r.port(n(0), n(2)), Some(port(4)));
        assert_eq!(r.port(n(2), n(0)), Some(port(5)));
        assert_eq!(r.port(n(4), n(1)), Some(port(7)));
    }

    /// The definition, without any optimization: a search from every destination, a table of all
    /// pairs.
    fn plain(nodes: usize, edges: &[Edge], destination: NodeId) -> IndexVec<NodeId, Option<Port>> {
        let mut table: IndexVec<NodeId, Option<Port>> = (0..nodes).map(|_| None).collect();
        let mut frontier = VecDeque::from([destination]);
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

    /// Memory in proportion to the number of links, for a star, for one whose arms have two links,
    /// for pairs and for triples of nodes. A node of the core has an entry for none of them, too.
    #[test]
    fn idle_links_cost_one_entry_each() {
        let entries = |r: &Routes| r.rows.iter().map(|row| row.ports.len()).sum::<usize>();
        let star: Vec<(usize, usize)> = (1..=30_000).map(|i| (0, i)).collect();
        let few = routes(30_001, &links(&star), &[0, 7].map(n).into());
        assert_eq!(entries(&few), 30_000 + 2 + 1);
        let all = routes(30_001, &links(&star), &(0..30_001).map(n).collect());
        assert_eq!(entries(&all), 30_000 + 30_001 + 1);
        // A middle node has entries for itself, its end and all others.
        let arms: Vec<_> = (1..=10_000).flat_map(|i| [(0, i), (i, 10_000 + i)]).collect();
        let arms = routes(20_001, &links(&arms), &(0..20_001).map(n).collect());
        assert_eq!(entries(&arms), 10_000 * (1 + 3) + 20_001 + 1);
        let triples: Vec<_> =
            (0..10_000).flat_map(|i| [(3 * i, 3 * i + 1), (3 * i + 1, 3 * i + 2)]).collect();
        let apart = routes(30_000, &links(&triples), &(0..30_000).map(n).collect());
        assert_eq!(entries(&apart), 10_000 * (1 + 4 + 1));
    }
}

//! The paths of flows through a scenario, found in the same way as in the world.

use std::collections::{BTreeMap, BTreeSet};

use lasthop_net::DirectionConfig;
use lasthop_units::{AccessId, Id, NodeId};

use super::{LinkSpec, Spec};
use crate::route::{Edge, Entry, Port, Routes, routes};

/// A part of a path.
pub(super) enum Way<'a> {
    /// One direction of a link.
    Link { name: &'a str, link: &'a LinkSpec, forward: bool },
    /// A radio, which marks ECN-capable packets or not.
    Radio {
        /// True if a queue here marks.
        marks: bool,
    },
}

impl Way<'_> {
    /// True if a queue here marks ECN-capable packets.
    pub fn marks(&self) -> bool {
        match self {
            Way::Link { .. } => self.direction().is_some_and(|d| d.queue.marks()),
            Way::Radio { marks } => *marks,
        }
    }

    /// True if the times at which packets pass here are random.
    pub fn is_random(&self) -> bool {
        self.direction().is_none_or(|d| {
            let losses = d.loss.0 + d.corruption.0 + d.duplication.0;
            d.trace.is_some() || !d.jitter.is_zero() || losses > 0.0
        })
    }

    /// The configuration of a link's direction.
    pub fn direction(&self) -> Option<DirectionConfig> {
        match self {
            Way::Link { link, forward, .. } => Some(link.direction(*forward)),
            _ => None,
        }
    }
}

/// All paths of a scenario.
pub(super) struct Ways<'a> {
    nodes: BTreeMap<String, NodeId>,
    ways: Vec<Way<'a>>,
    ends: Vec<NodeId>,
    routes: Routes,
}

impl<'a> Ways<'a> {
    /// The paths between the ends of the flows of `spec`, which has been checked.
    pub fn of(spec: &'a Spec) -> Ways<'a> {
        let mut found = Finder::default();
        for (name, link) in &spec.link {
            for forward in [true, false] {
                let [a, b] = &link.between;
                let [from, to] = if forward { [a, b] } else { [b, a] };
                found.add(from, to, Way::Link { name, link, forward });
            }
        }
        for bearer in spec.bearer.values() {
            let [network, ue] = bearer.between();
            found.add_radio(network, ue, bearer.kind().marks());
        }
        for group in spec.groups() {
            let Some(by) = group.served_by.first() else { continue };
            for node in group.nodes() {
                found.add_radio(by, &node, group.marks);
            }
        }
        let ends = spec.flow.values().flat_map(|f| [&f.from, &f.to]).flat_map(|end| spec.members(end));
        let destinations: BTreeSet<NodeId> = ends.map(|end| found.node(&end)).collect();
        let routes = routes(found.nodes.len(), &found.edges, &destinations);
        let ends = found.edges.iter().map(|edge| edge.to).collect();
        Ways { nodes: found.nodes, ways: found.ways, ends, routes }
    }

    /// The part with this number.
    pub fn way(&self, number: usize) -> &Way<'a> {
        &self.ways[number]
    }

    /// The parts of the path from a node to the end of a flow, in order, each with its number.
    pub fn between(&self, from: &str, to: &str) -> Vec<(usize, &Way<'a>)> {
        let (Some(mut node), Some(to)) = (self.nodes.get(from).copied(), self.nodes.get(to).copied()) else {
            return Vec::new();
        };
        let mut passed = Vec::new();
        while node != to
            && passed.len() < self.ways.len()
            && let Some(Port::Access(way, _)) = self.routes.port(node, to)
        {
            passed.push((way.index(), &self.ways[way.index()]));
            node = self.ends[way.index()];
        }
        passed
    }
}

#[derive(Default)]
struct Finder<'a> {
    nodes: BTreeMap<String, NodeId>,
    edges: Vec<Edge>,
    ways: Vec<Way<'a>>,
}

impl<'a> Finder<'a> {
    fn node(&mut self, name: &str) -> NodeId {
        let next = NodeId::from_index(self.nodes.len());
        *self.nodes.entry(name.to_owned()).or_insert(next)
    }

    /// Adds a radio, in both directions.
    fn add_radio(&mut self, network: &str, mobile: &str, marks: bool) {
        self.add(network, mobile, Way::Radio { marks });
        self.add(mobile, network, Way::Radio { marks });
    }

    /// Adds a part; its number is used as the number of the access in its port.
    fn add(&mut self, from: &str, to: &str, way: Way<'a>) {
        let (from, to) = (self.node(from), self.node(to));
        let port = Port::Access(AccessId::from_index(self.ways.len()), Entry(0));
        self.edges.push(Edge { from, to, port });
        self.ways.push(way);
    }
}

//! Nodes and accesses, while a world is built.

use std::collections::BTreeMap;

use lasthop_units::{AccessId, IndexVec, NodeId};

use super::Access;
use crate::route::{Edge, Entry, Port};

/// The nodes and accesses so far.
#[derive(Default)]
pub struct Wiring {
    /// Seed of the run.
    pub seed: u64,
    /// Every access, in the order of the tables.
    pub accesses: IndexVec<AccessId, Access>,
    /// Edges from node to node.
    pub edges: Vec<Edge>,
    names: IndexVec<NodeId, Box<str>>,
    by_name: BTreeMap<String, NodeId>,
}

impl Wiring {
    /// The node `name`; a new one if it does not exist.
    pub fn node(&mut self, name: &str) -> NodeId {
        if let Some(id) = self.find(name) {
            return id;
        }
        let id = self.names.push(name.into());
        self.by_name.insert(name.to_owned(), id);
        id
    }
    /// The node `name`, if it exists.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.by_name.get(name).copied()
    }
    /// Names of all nodes.
    pub fn names(&self) -> &IndexVec<NodeId, Box<str>> {
        &self.names
    }
    /// Adds an access.
    pub fn add(&mut self, access: Access) -> AccessId {
        self.accesses.push(access)
    }
    /// Adds an edge: packets that enter `access` at `entry` at one node arrive at the other.
    pub fn connect(&mut self, from: NodeId, to: NodeId, access: AccessId, entry: Entry) {
        self.edges.push(Edge { from, to, port: Port::Access(access, entry) });
    }
}

//! Where an event happens to a packet, by number and by name.

use lasthop_units::{AccessId, IndexVec, NodeId};

use super::Node;
use crate::access::{Access, Adapter};

/// The place of a drop, for the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropPoint {
    /// A node.
    Node(NodeId),
    /// A place in an access, by the number that the access gave it.
    Access(AccessId, u32),
}

/// The parts of the world that have names.
#[derive(Clone, Copy)]
pub(super) struct Places<'a> {
    pub nodes: &'a IndexVec<NodeId, Node>,
    pub accesses: &'a IndexVec<AccessId, Access>,
}

impl<'a> Places<'a> {
    /// Returns the name in the tables.
    pub fn name(self, place: DropPoint) -> &'a str {
        match place {
            DropPoint::Node(node) => &self.nodes[node].name,
            DropPoint::Access(access, place) => self.accesses[access].place(place),
        }
    }
}

//! The nodes of a scenario behind all its accesses, and the meaning of names in flows.

use super::access::{AccessSpec, Placed};
use super::group::Group;
use super::kinds::ALL;
use super::{FlowSpec, NodeSpec, Spec};

/// The groups of one access.
pub(super) fn groups_of<'a>(access: &dyn AccessSpec, spec: &'a Spec) -> Vec<Group<'a>> {
    access.groups(spec).into_iter().filter_map(|name| access.group(spec, name)).collect()
}

/// A table of flows that is left out, at least in part, because of external nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut<'a> {
    /// Its name.
    pub flow: &'a str,
    /// Its external ends.
    pub external: Vec<String>,
    /// Number of its pairs of ends that are left out, and of all.
    pub pairs: [usize; 2],
}

impl Spec {
    /// The positions set by layouts and random draws, of all kinds of access.
    pub fn places(&self) -> Vec<Placed> {
        ALL.iter().flat_map(|access| access.placed(self)).collect()
    }

    /// The groups of every access.
    pub(super) fn groups(&self) -> impl Iterator<Item = Group<'_>> {
        ALL.iter().flat_map(move |access| groups_of(*access, self))
    }

    /// The group `name`.
    pub(super) fn group(&self, name: &str) -> Option<Group<'_>> {
        ALL.iter().find_map(|access| access.group(self, name))
    }

    /// The nodes at which packets to groups enter, and their kinds.
    pub(super) fn bases(&self) -> impl Iterator<Item = (&str, &'static str)> {
        ALL.iter().flat_map(move |access| access.bases(self))
    }

    /// The pairs of nodes between which a flow's connections are.
    pub fn ends_of(&self, flow: &FlowSpec) -> Vec<[String; 2]> {
        let (from, to) = (self.members(&flow.from), self.members(&flow.to));
        match flow.one_to_one {
            true => from.into_iter().zip(to).map(|(a, b)| [a, b]).collect(),
            false => from.iter().flat_map(|a| to.iter().map(move |b| [a.clone(), b.clone()])).collect(),
        }
    }

    /// Number of these pairs.
    pub fn pairs_of(&self, flow: &FlowSpec) -> u64 {
        let (from, to) = (self.members_count(&flow.from), self.members_count(&flow.to));
        if flow.one_to_one { from.min(to) } else { from.saturating_mul(to) }
    }

    /// All nodes of a flow's end: the nodes of a group, the receivers of a multicast, or the one
    /// node.
    pub fn members(&self, end: &str) -> Vec<String> {
        if let Some(group) = self.group(end) {
            return group.nodes().collect();
        }
        self.receivers(end).unwrap_or_else(|| vec![end.to_owned()])
    }

    /// Number of these nodes.
    pub(super) fn members_count(&self, end: &str) -> u64 {
        if let Some(group) = self.group(end) {
            return group.count.into();
        }
        self.receivers(end).map_or(1, |nodes| nodes.len() as u64)
    }

    /// The receivers of the multicast group `name`.
    fn receivers(&self, name: &str) -> Option<Vec<String>> {
        ALL.iter().find_map(|access| access.receivers(self, name))
    }

    /// True if `name` is a multicast group.
    pub fn is_multicast(&self, name: &str) -> bool {
        self.receivers(name).is_some()
    }

    /// True if real packets enter and leave at `node`.
    pub fn is_external(&self, node: &str) -> bool {
        self.node.get(node).is_some_and(NodeSpec::is_external)
    }

    /// True if the TCP of `node` is a real kernel's.
    pub fn is_linux(&self, node: &str) -> bool {
        self.node.get(node).is_some_and(NodeSpec::is_linux)
    }

    /// True if the TCP of some node is a real kernel's.
    pub fn has_linux_nodes(&self) -> bool {
        self.node.values().any(NodeSpec::is_linux)
    }

    /// True if real packets enter and leave at some node, of either kind.
    pub fn has_real_packets(&self) -> bool {
        self.has_external_nodes() || self.has_linux_nodes()
    }

    /// True if real packets enter and leave at some node.
    pub fn has_external_nodes(&self) -> bool {
        self.node.values().any(NodeSpec::is_external)
    }

    /// The pairs of ends of `flow` that are simulated, and true if others are left out: a flow to
    /// or from an external node is not simulated, nor is a multicast with such a receiver.
    pub fn simulated_ends_of(&self, flow: &FlowSpec) -> (Vec<[String; 2]>, bool) {
        let mut ends = self.ends_of(flow);
        if !self.has_external_nodes() {
            return (ends, false);
        }
        let all = ends.len();
        let simulated = |ends: &[String; 2]| !ends.iter().any(|end| self.is_external(end));
        if self.is_multicast(&flow.to) && !ends.iter().all(simulated) {
            return (Vec::new(), true);
        }
        ends.retain(simulated);
        let fewer = ends.len() < all;
        (ends, fewer)
    }

    /// The tables of flows that are left out, at least in part, because of external nodes.
    pub fn left_out(&self) -> Vec<LeftOut<'_>> {
        let left_out = self.flow.iter().filter_map(|(name, flow)| {
            let (simulated, fewer) = self.simulated_ends_of(flow);
            let all = self.ends_of(flow);
            let mut external: Vec<String> = Vec::new();
            for end in all.iter().flatten().filter(|end| self.is_external(end)) {
                if !external.contains(end) {
                    external.push(end.clone());
                }
            }
            let pairs = [all.len() - simulated.len(), all.len()];
            fewer.then_some(LeftOut { flow: name, external, pairs })
        });
        left_out.collect()
    }

    /// True if capacity hints can describe the link to `end`.
    pub(super) fn gives_hints(&self, end: &str) -> bool {
        ALL.iter().any(|access| access.gives_hints(self, end))
    }
}

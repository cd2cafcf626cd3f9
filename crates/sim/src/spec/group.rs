//! Groups: the nodes behind a radio, for which one table stands, and what the names in flows stand
//! for.

use super::access::{ALL, AccessSpec};
use super::{FlowSpec, Spec};

/// The nodes of a table of one or several alike.
pub(super) struct Group<'a> {
    /// The kind of table, as keys begin: `ue`.
    pub table: &'static str,
    pub name: &'a str,
    pub count: u32,
    /// What each is, with the article: `a UE`.
    pub what: &'static str,
    /// What several are called.
    pub several: &'static str,
    /// The nodes at which packets to them enter, one for each table that may serve them.
    pub served_by: Vec<&'a str>,
    /// The key of the group that chooses between these.
    pub choice: &'static str,
    /// A queue before them marks ECN-capable packets.
    pub marks: bool,
}

impl Group<'_> {
    /// The names of the nodes.
    pub fn nodes(&self) -> impl Iterator<Item = String> {
        names(self.name, self.count)
    }
    /// Whether the end of a flow names the group or one of its nodes.
    pub fn has(&self, end: &str) -> bool {
        names_one(self.name, self.count, end)
    }
}

/// Whether the end of a flow names the group `name` of so many nodes, or one of these.
pub(super) fn names_one(name: &str, count: u32, end: &str) -> bool {
    // Few names begin as this one does: those of the others are not written out.
    end == name || (end.starts_with(name) && names(name, count).any(|node| node == end))
}

/// The names of the `count` nodes of a group: `<name>-1`, `<name>-2`, ... when there are several.
pub(super) fn names(name: &str, count: u32) -> impl Iterator<Item = String> {
    (1..=count).map(move |i| if count == 1 { name.to_owned() } else { format!("{name}-{i}") })
}

/// The nodes of all groups of an access together.
pub(super) struct Population {
    /// The kind of table, as keys begin.
    pub table: &'static str,
    /// What they are called.
    pub what: &'static str,
    pub count: u64,
    /// How many fit in a run.
    pub most: u64,
    /// Memory of each while idle [bytes].
    pub bytes: u64,
}

/// The groups of one access.
pub(super) fn groups_of<'a>(access: &dyn AccessSpec, spec: &'a Spec) -> Vec<Group<'a>> {
    access.groups(spec).into_iter().filter_map(|name| access.group(spec, name)).collect()
}

impl Spec {
    /// The groups of every access.
    pub(super) fn groups(&self) -> impl Iterator<Item = Group<'_>> {
        ALL.iter().flat_map(move |access| groups_of(*access, self))
    }

    /// The group `name`.
    pub(super) fn group(&self, name: &str) -> Option<Group<'_>> {
        ALL.iter().find_map(|access| access.group(self, name))
    }

    /// The nodes at which packets to groups enter, and what they are.
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

    /// How many those are.
    pub fn pairs_of(&self, flow: &FlowSpec) -> u64 {
        let (from, to) = (self.members(&flow.from).len() as u64, self.members(&flow.to).len() as u64);
        if flow.one_to_one { from.min(to) } else { from.saturating_mul(to) }
    }

    /// Every node name that a flow's end stands for: the nodes of a group, the receivers of a
    /// multicast, or the one node.
    pub fn members(&self, end: &str) -> Vec<String> {
        if let Some(group) = self.group(end) {
            return group.nodes().collect();
        }
        self.receivers(end).unwrap_or_else(|| vec![end.to_owned()])
    }

    /// The receivers of the multicast group `name`.
    fn receivers(&self, name: &str) -> Option<Vec<String>> {
        ALL.iter().find_map(|access| access.receivers(self, name))
    }

    /// Whether `name` is a multicast group.
    pub fn is_multicast(&self, name: &str) -> bool {
        self.receivers(name).is_some()
    }

    /// Whether capacity hints can tell of the link to `end`.
    pub(super) fn gives_hints(&self, end: &str) -> bool {
        ALL.iter().any(|access| access.gives_hints(self, end))
    }
}

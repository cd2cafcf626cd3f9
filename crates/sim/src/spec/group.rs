//! Groups: the nodes behind a radio, for which one table stands.

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

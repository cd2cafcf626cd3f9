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
    end == name || (count > 1 && node_of(end).is_some_and(|(group, i)| group == name && i <= count))
}

/// The group of which the end of a flow names a node as one of several, and the number of that
/// node: what [`names`] has put together.
pub(super) fn node_of(end: &str) -> Option<(&str, u32)> {
    let (name, number) = end.rsplit_once('-')?;
    // The parser would take `+1` and `01`, which no node is called.
    number.starts_with(|c| matches!(c, '1'..='9')).then(|| Some((name, number.parse().ok()?)))?
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A node's name is that of its group and its number, written without zeros in front; a group
    /// of one has the group's name only. The names are those that `names` writes.
    #[test]
    fn an_end_names_a_group_or_one_of_its_nodes() {
        for (name, count, end, expected) in [
            ("car", 1, "car", true),
            ("car", 3, "car", true),
            ("car", 1, "car-1", false),
            ("car", 3, "car-0", false),
            ("car", 3, "car-1", true),
            ("car", 3, "car-3", true),
            ("car", 3, "car-4", false),
            ("car", 3, "car-01", false),
            ("car", 3, "car-+1", false),
            ("car", 3, "car-", false),
            ("car", 3, "cars-1", false),
            ("car", 3, "car-99999999999", false),
            ("car-2", 3, "car-2-3", true),
            ("car", 3, "car-2-3", false),
        ] {
            assert_eq!(names_one(name, count, end), expected, "{name} x {count}: {end}");
            assert_eq!(end == name || names(name, count).any(|node| node == end), expected);
        }
    }
}

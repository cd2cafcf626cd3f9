//! Groups: the nodes of one table, behind a radio.

/// The nodes of a table of one or several equal nodes.
pub(super) struct Group<'a> {
    /// The kind of table, as in keys: `ue`.
    pub table: &'static str,
    pub name: &'a str,
    pub count: u32,
    /// The kind of its nodes, with the article: `a UE`.
    pub what: &'static str,
    /// The plural of this kind.
    pub several: &'static str,
    /// The nodes at which packets to them enter, one for each table that may serve them.
    pub served_by: Vec<&'a str>,
    /// The key of the group that chooses between these.
    pub choice: &'static str,
    /// True if a queue before them marks ECN-capable packets.
    pub marks: bool,
}

impl Group<'_> {
    /// The names of the nodes.
    pub fn nodes(&self) -> impl Iterator<Item = String> {
        names(self.name, self.count)
    }
    /// True if the end of a flow is the group or one of its nodes.
    pub fn has(&self, end: &str) -> bool {
        names_one(self.name, self.count, end)
    }
}

/// True if the end of a flow is the group `name` of `count` nodes, or one of these.
pub(super) fn names_one(name: &str, count: u32, end: &str) -> bool {
    end == name || (count > 1 && node_of(end).is_some_and(|(group, i)| group == name && i <= count))
}

/// The group and the number of a node that is one of several: the inverse of [`names`].
pub(super) fn node_of(end: &str) -> Option<(&str, u32)> {
    let (name, number) = end.rsplit_once('-')?;
    // The parser would accept `+1` and `01`, which are no names of nodes.
    number.starts_with(|c| matches!(c, '1'..='9')).then(|| Some((name, number.parse().ok()?)))?
}

/// The names of the `count` nodes of a group: `<name>-1`, `<name>-2`, ... when there are several.
pub(super) fn names(name: &str, count: u32) -> impl Iterator<Item = String> {
    (1..=count).map(move |i| if count == 1 { name.to_owned() } else { format!("{name}-{i}") })
}

/// The totals of the nodes of all groups of an access.
pub(super) struct Population {
    /// The kind of table, as in keys.
    pub table: &'static str,
    /// The plural of its kind.
    pub what: &'static str,
    pub count: u64,
    /// Largest number in a run.
    pub most: u64,
    /// Memory of each while idle [bytes].
    pub bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A node's name is that of its group and its number, without leading zeros; the node of a
    /// group of one has the group's name. The names are those of `names`.
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

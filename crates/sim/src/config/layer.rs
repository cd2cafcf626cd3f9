//! A layer of values, such as those of a profile, below the written ones.

use super::document::{Document, child};
use super::path;
use super::tree::{Entry, Node, Origin, Table, Value};

/// A difference between two configurations.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Dotted path of the key.
    pub key: String,
    /// Its value.
    pub value: Value,
}

impl Document {
    /// Puts the differences of `layer` from `standard` below `path`, wherever no value is written.
    /// An enum that is written with another kind is not changed; a bare name of the same kind gets
    /// the layer's parameters.
    pub fn fill_from(&mut self, path: &str, layer: &Document, standard: &Document) {
        let Ok((segments, _)) = path::parse(path) else { return };
        let mut node = &mut self.root;
        for segment in &segments {
            let Value::Table(table) = &mut node.value else { return };
            let Some(entry) = table.0.get_mut(&segment.name) else { return };
            node = &mut entry.node;
        }
        if let (Value::Table(to), Some(of)) = (&mut node.value, layer.root.as_table()) {
            fill(to, of, standard.root.as_table());
        }
    }

    /// Every key in which this configuration differs from `standard`. A table with another `kind`
    /// in `standard` counts as a whole.
    pub fn differences(&self, standard: &Document) -> Vec<Difference> {
        let mut found = Vec::new();
        differ(&self.root, Some(&standard.root), &mut String::new(), &mut found);
        found
    }
}

fn fill(to: &mut Table, layer: &Table, standard: Option<&Table>) {
    for (key, of) in layer.iter() {
        let usual = standard.and_then(|t| t.get(key));
        if usual == Some(of) {
            continue;
        }
        let Some(entry) = to.0.get_mut(key) else {
            to.0.insert(key.to_owned(), Entry { key: Origin::Program, node: of.clone() });
            continue;
        };
        let Some(inner) = of.as_table() else { continue };
        let kind = kind_of(of);
        if let (Value::String(name), Some(kind)) = (&entry.node.value, kind)
            && name == kind
        {
            let mut table = Table::default();
            table.insert("kind", kind);
            entry.node.value = Value::Table(table);
        }
        // A table without a `kind` is refused when it is read: so it gets no values here.
        if kind_of(&entry.node) == kind
            && let Value::Table(written) = &mut entry.node.value
        {
            let same = usual.filter(|n| kind_of(n) == kind).and_then(Node::as_table);
            fill(written, inner, same);
        }
    }
}

fn differ(node: &Node, standard: Option<&Node>, path: &mut String, found: &mut Vec<Difference>) {
    if Some(node) == standard {
        return;
    }
    match (node.as_table(), standard) {
        (Some(table), Some(usual)) if usual.as_table().is_some() && kind_of(usual) == kind_of(node) => {
            for (key, inner) in table.iter() {
                let length = path.len();
                path::push(path, key);
                differ(inner, child(usual, key).map(|(_, n)| n), path, found);
                path.truncate(length);
            }
        }
        _ => found.push(Difference { key: path.clone(), value: node.value.clone() }),
    }
}

/// The name of an enum's variant in the long notation.
fn kind_of(node: &Node) -> Option<&str> {
    node.as_table()?.get("kind")?.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Document {
        Document::parse(text, "test.toml").unwrap()
    }

    const LAYER: &str = "a = 1\nb = 2\nc = { d = 3, e = 4 }\namc = { kind = \"x\", f = 5, g = 6 }\n\
                         rac = { kind = \"r\", h = 7 }";
    const STANDARD: &str =
        "a = 1\nb = 0\nc = { d = 0, e = 4 }\namc = { kind = \"x\", f = 5, g = 0 }\nrac = \"s\"";

    #[test]
    fn written_values_stay_and_others_are_those_of_the_layer() {
        for (written, expected) in [
            (
                "[t]",
                "[t]\nb = 2\nc = { d = 3 }\namc = { kind = \"x\", g = 6 }\nrac = { kind = \"r\", h = 7 }",
            ),
            (
                "[t]\nb = 9\nc = { e = 9 }\nrac = \"s\"",
                "[t]\nb = 9\nc = { e = 9, d = 3 }\nrac = \"s\"\namc = { kind = \"x\", g = 6 }",
            ),
            (
                "[t]\namc = \"x\"\nrac = { kind = \"r\", h = 1 }\nb = 2\nc = 1",
                "[t]\namc = { kind = \"x\", g = 6 }\nrac = { kind = \"r\", h = 1 }\nb = 2\nc = 1",
            ),
            (
                "[t]\namc = { kind = \"y\", g = 1 }\nb = 1\nc.d = 1\nrac = \"r\"",
                "[t]\namc = { kind = \"y\", g = 1 }\nb = 1\nc = { d = 1 }\nrac = { kind = \"r\", h = 7 }",
            ),
        ] {
            let mut doc = parsed(written);
            doc.fill_from("t", &parsed(LAYER), &parsed(STANDARD));
            let expected = parsed(expected);
            // Where a whole table is inserted, its standard values are inserted too: they change
            // nothing.
            let found = doc.get("t").unwrap().clone();
            let found = found.as_table().unwrap();
            for (key, node) in expected.get("t").unwrap().as_table().unwrap().iter() {
                match (node.as_table(), found.get(key).and_then(Node::as_table)) {
                    (Some(wanted), Some(got)) => {
                        for (k, n) in wanted.iter() {
                            assert_eq!(got.get(k), Some(n), "{written}: {key}.{k}");
                        }
                    }
                    _ => assert_eq!(found.get(key), Some(node), "{written}: {key}"),
                }
            }
            assert!(found.get("a").is_none());
        }
    }

    #[test]
    fn differences_are_leaves_and_whole_enums_of_another_kind() {
        let found = parsed(LAYER).differences(&parsed(STANDARD));
        let found: Vec<String> = found.iter().map(|d| format!("{} = {}", d.key, d.value)).collect();
        assert_eq!(found, ["b = 2", "c.d = 3", "amc.g = 6", "rac = { kind = \"r\", h = 7 }"]);
    }

    #[test]
    fn a_path_that_leads_nowhere_changes_nothing() {
        let mut doc = parsed("t = 1");
        for path in ["t", "u", "t.u", "="] {
            doc.fill_from(path, &parsed(LAYER), &parsed(STANDARD));
        }
        assert_eq!(doc.to_toml(), "t = 1\n");
    }
}

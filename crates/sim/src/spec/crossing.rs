//! The direction in which the data of a flow crosses a link, where that is certain because the link
//! is the only path.

use std::collections::BTreeMap;

use lasthop_net::app::{AppConfig, End};

use super::group::Group;
use super::{FlowSpec, LinkSpec, Spec};

/// Largest number of links and bearers for which the search, which runs for each link, is done.
const MOST_EDGES: usize = 256;

/// The nodes on either side of a link.
pub struct Crossing {
    /// 0: nearer to the first end of the link, 1: to the second. Nodes that both ends reach without
    /// the link have no side.
    side: BTreeMap<String, usize>,
}

impl Crossing {
    /// The sides of link `name`.
    pub fn of(spec: &Spec, name: &str, link: &LinkSpec) -> Crossing {
        Crossing::without(spec, Some(name), None, &link.between)
    }

    /// The sides of bearer `name` between these nodes.
    pub fn of_bearer(spec: &Spec, name: &str, between: &[String; 2]) -> Crossing {
        Crossing::without(spec, None, Some(name), between)
    }

    /// The sides of the connection between `between`: the nodes that each end reaches without this
    /// link or bearer.
    fn without(spec: &Spec, link: Option<&str>, bearer: Option<&str>, between: &[String; 2]) -> Crossing {
        let mut side = BTreeMap::new();
        if spec.link.len() + spec.bearer.len() > MOST_EDGES || between[0] == between[1] {
            return Crossing { side };
        }
        // Radios connect groups of nodes: one node represents a group.
        let radio: Vec<[String; 2]> = radio_edges(spec);
        let links =
            spec.link.iter().filter(|(other, _)| Some(other.as_str()) != link).map(|(_, l)| &l.between);
        let bearers = spec.bearer.iter().filter(|(other, _)| Some(other.as_str()) != bearer);
        let bearers = bearers.map(|(_, b)| b.between());
        let edges = links.chain(bearers).chain(&radio).map(|[a, b]| [a.as_str(), b.as_str()]);
        let edges: Vec<[&str; 2]> = edges.collect();
        for (i, start) in between.iter().enumerate() {
            let mut reached = vec![start.as_str()];
            let mut next = 0;
            while let Some(node) = reached.get(next).copied() {
                next += 1;
                for [a, b] in &edges {
                    let to = if *a == node {
                        b
                    } else if *b == node {
                        a
                    } else {
                        continue;
                    };
                    if !reached.contains(to) {
                        reached.push(to);
                    }
                }
            }
            if reached.contains(&between[1 - i].as_str()) {
                return Crossing { side: BTreeMap::new() };
            }
            side.extend(reached.into_iter().map(|node| (node.to_owned(), i)));
        }
        Crossing { side }
    }

    /// True if the flow's data crosses the link forward, false if in reverse; None: it does not
    /// cross it, or may take another path.
    pub fn data_goes(&self, spec: &Spec, flow: &FlowSpec) -> Option<bool> {
        let at = |end: &str| {
            let group = spec.group(end).is_some();
            self.side.get(&if group { group_node(end) } else { end.to_owned() }).copied()
        };
        let (from, to) = (at(&flow.from)?, at(&flow.to)?);
        (from != to).then_some((from == 0) == from_opener(&flow.app))
    }

    /// True if it is certain which flows cross the link.
    pub fn is_known(&self) -> bool {
        !self.side.is_empty()
    }
}

/// True if the end that opens the flow sends its data.
pub(super) fn from_opener(app: &AppConfig) -> bool {
    app.data_end() == End::A
}

/// Source and destination of the data of a flow.
pub(super) fn data_ends(flow: &FlowSpec) -> [&str; 2] {
    match from_opener(&flow.app) {
        true => [&flow.from, &flow.to],
        false => [&flow.to, &flow.from],
    }
}

/// The node that represents a group.
fn group_node(group: &str) -> String {
    format!("{group}\n")
}

/// Edges between groups and the nodes that may serve them.
fn radio_edges(spec: &Spec) -> Vec<[String; 2]> {
    let edges = |g: Group<'_>| {
        let edge = |by: &&str| [(*by).to_owned(), group_node(g.name)];
        g.served_by.iter().map(edge).collect::<Vec<_>>()
    };
    spec.groups().flat_map(edges).collect()
}

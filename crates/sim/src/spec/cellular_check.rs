//! What the keys of cells and UEs mean together.

use std::collections::BTreeMap;

use super::Spec;
use super::cellular::{UeSpec, validate_bearers};
use super::check::check_mtu;
use crate::config::{Diagnostics, Document, dotted, suggest};

/// UEs of one scenario, all counts together.
const MAX_UES: u64 = 20_000;

pub(super) fn check(spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    match spec.radio.validate() {
        Ok(warnings) => {
            for w in warnings.into_iter().filter(|_| !spec.ue.is_empty()) {
                found.push(doc.warning_at(&format!("radio.{}", w.key), w.message));
            }
        }
        Err(e) => found.push(doc.error_at(&format!("radio.{}", e.key), e.message)),
    }
    for (name, cell) in &spec.cell {
        let path = format!("cell.{}", dotted([name]));
        match cell.validate() {
            Ok(warnings) => {
                for w in warnings {
                    found.push(doc.warning_at(&format!("{path}.{}", w.key), w.message));
                }
            }
            Err(e) => found.push(doc.error_at(&format!("{path}.{}", e.key), e.message)),
        }
    }
    let ues: u64 = spec.ue.values().map(|u| u64::from(u.count)).sum();
    if ues > MAX_UES {
        found.push(
            doc.error_at("ue", format!("{ues} UEs: at most {MAX_UES} fit in a run")).help("lower `count`"),
        );
        return;
    }
    for (name, ue) in &spec.ue {
        check_ue(name, ue, spec, doc, found);
    }
    check_names(spec, doc, found);
}

fn check_ue(name: &str, ue: &UeSpec, spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    let path = format!("ue.{}", dotted([name]));
    if ue.count == 0 {
        found.push(doc.error_at(&format!("{path}.count"), "no UE at all").help("remove the table instead"));
    }
    check_mtu(ue.mtu, &format!("{path}.mtu"), doc, found);
    if let Some(Err(e)) = ue.ring.map(|ring| ring.validate()) {
        found.push(doc.error_at(&format!("{path}.{}", e.key), e.message));
    }
    match &ue.cell {
        Some(cell) if !spec.cell.contains_key(cell) => {
            let near = suggest(cell, spec.cell.keys()).map(|n| format!("did you mean `{n}`?"));
            found.push(
                doc.error_at(&format!("{path}.cell"), format!("no cell is called `{cell}`")).help_opt(near),
            );
        }
        None if spec.cell.len() != 1 => {
            let (what, help) = match spec.cell.is_empty() {
                true => ("a UE needs a cell", "add a `[cell.<name>]` table"),
                false => ("there are several cells: which one serves this UE?", "set `cell`"),
            };
            found.push(doc.error_at(&path, what).help(help));
        }
        _ => {}
    }
    if let Some(Err((key, message))) = ue.ip_buffer.as_ref().map(lasthop_net::QueueConfig::validate) {
        found.push(doc.error_at(&format!("{path}.ip_buffer.{key}"), message));
    }
    for verdict in validate_bearers(ue) {
        found.push(match verdict {
            Ok(w) => doc.warning_at(&format!("{path}.{}", w.key), w.message),
            Err(e) => doc.error_at(&format!("{path}.{}", e.key), e.message),
        });
    }
    let mut carried: BTreeMap<&str, &str> = BTreeMap::new();
    for (bearer, dedicated) in &ue.dedicated {
        let key = format!("{path}.dedicated.{}.flows", dotted([bearer]));
        if dedicated.flows.is_empty() {
            found.push(
                doc.warning_at(&key, "no flow uses this bearer").help("name the flows that it carries"),
            );
        }
        for flow in &dedicated.flows {
            if !spec.flow.contains_key(flow) {
                let near = suggest(flow, spec.flow.keys()).map(|n| format!("did you mean `{n}`?"));
                found.push(doc.error_at(&key, format!("no flow is called `{flow}`")).help_opt(near));
            }
            if let Some(other) = carried.insert(flow, bearer) {
                let message = format!("flow `{flow}` goes over `{other}` already");
                found.push(doc.error_at(&key, message).help("name it in one bearer only"));
            }
        }
    }
}

/// A UE's node belongs to it alone, and a flow's end must be clear.
fn check_names(spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    let links = spec.link.values().flat_map(|l| l.between.iter());
    let bearers = spec.bearer.values().flat_map(|b| b.between().iter());
    let enbs = spec.cell.keys().map(|c| spec.cell_node(c));
    let taken: BTreeMap<&str, &str> =
        (links.chain(bearers).map(|n| (n.as_str(), "an end of a link or bearer")))
            .chain(enbs.map(|n| (n, "an eNB")))
            .collect();
    let mut nodes: BTreeMap<String, &str> = BTreeMap::new();
    for (name, ue) in &spec.ue {
        for node in ue.nodes(name) {
            let other = taken.get(node.as_str()).map(|what| (*what).to_owned());
            let other = other.or_else(|| nodes.get(&node).map(|group| format!("a UE of `ue.{group}`")));
            if let Some(other) = other {
                let path = format!("ue.{}", dotted([name]));
                let message = format!("the node `{node}` is {other} already");
                found.push(doc.error_at(&path, message).help("give these UEs another name"));
                break;
            }
            nodes.insert(node, name);
        }
    }
}

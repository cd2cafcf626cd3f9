//! Entries without effect during the whole run: warnings, because a caller that steps the run may
//! still change them.

use std::collections::BTreeMap;

use lasthop_units::Duration;

use super::kinds::ALL;
use super::{At, Spec};
use crate::config::{Diagnostics, Document};

/// Warns of entries of accesses without effect, and of TCP flows that would start a second time.
pub fn check(spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    ALL.iter().for_each(|access| access.check_idle(spec, doc, found));
    restarts(spec, doc, found);
}

/// Warns of restarts: the stop of a TCP flow closes its connection.
fn restarts(spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    let mut order: Vec<(usize, &At)> = spec.at.iter().enumerate().collect();
    order.sort_by_key(|(_, at)| at.t);
    let mut began: BTreeMap<&str, Duration> = BTreeMap::new();
    let mut ended: BTreeMap<&str, Duration> = BTreeMap::new();
    for (name, flow) in spec.flow.iter().filter(|(_, f)| f.transport.is_stream()) {
        if flow.autostart {
            began.insert(name, flow.start);
        }
        if let Some(stop) = flow.stop.filter(|_| flow.autostart) {
            ended.insert(name, stop);
        }
    }
    for (i, at) in order {
        let flow = |name: &'_ Option<String>| {
            let name = name.as_deref()?.strip_prefix("flow.")?;
            spec.flow.get_key_value(name).filter(|(_, f)| f.transport.is_stream()).map(|(n, _)| n.as_str())
        };
        if let Some(name) = flow(&at.start) {
            began.entry(name).or_insert(at.t);
            if ended.get(name).is_some_and(|t| *t <= at.t) {
                let message = format!(
                    "`flow.{name}` has stopped before, which closed its connection: nothing will be sent"
                );
                let help = "use a second flow that starts here (`autostart = false`), or UDP";
                found.push(doc.warning_at(&format!("at.{i}.start"), message).help(help));
            }
        }
        if let Some(name) = flow(&at.stop)
            && began.get(name).is_some_and(|t| *t <= at.t)
        {
            ended.entry(name).or_insert(at.t);
        }
    }
}

//! What a scenario has and what does nothing throughout: warnings, because a caller who steps the
//! run may yet change it.

use std::collections::BTreeMap;

use lasthop_units::{Bitrate, Duration, Ratio};

use super::{At, Scalar, Spec};
use crate::config::{Diagnostics, Document, dotted};

/// Links without rate, channels without blocks, cells that stay down, TCP flows that are to start a
/// second time.
pub fn check(spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    links(spec, doc, found);
    stopped(spec, doc, found);
    bearers(spec, doc, found);
    cells(spec, doc, found);
    restarts(spec, doc, found);
}

/// Whether an `[[at]]` sets one of these keys.
fn changes(spec: &Spec, keys: &[String]) -> bool {
    spec.at.iter().any(|at| keys.iter().any(|key| at.set.contains_key(key)))
}

fn links(spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    for (name, link) in &spec.link {
        let path = format!("link.{}", dotted([name]));
        for (forward, side) in [(true, "forward"), (false, "reverse")] {
            let keys = [format!("{path}.rate"), format!("{path}.{side}.rate")];
            if link.direction(forward).rate != Some(Bitrate(0)) || changes(spec, &keys) {
                continue;
            }
            let at = if doc.get(&keys[1]).is_some() { &keys[1] } else { &keys[0] };
            let told = format!("the {side} direction never carries anything: its rate is 0 bit/s throughout");
            found.push(doc.warning_at(at, told).help("an `[[at]]` can set the rate during the run"));
        }
    }
}

/// The last change of a link's rate or loss that lets nothing through to the end of the run.
fn stopped(spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    let mut last: BTreeMap<&str, (Duration, usize, &Scalar)> = BTreeMap::new();
    for (i, at) in spec.at.iter().enumerate().filter(|(_, at)| at.t < spec.scenario.duration) {
        for (key, value) in at.set.iter().filter(|(key, _)| key.starts_with("link.")) {
            if last.get(key.as_str()).is_none_or(|(t, ..)| *t <= at.t) {
                last.insert(key, (at.t, i, value));
            }
        }
    }
    for (key, (t, i, value)) in last {
        let told = match (key.rsplit('.').next(), value) {
            (Some("rate"), Scalar::Text(rate)) if rate.parse() == Ok(Bitrate(0)) => "its rate stays 0 bit/s",
            (Some("loss"), Scalar::Text(loss)) if loss.parse() == Ok(Ratio(1.0)) => "it loses every packet",
            (Some("loss"), Scalar::Integer(1)) => "it loses every packet",
            (Some("loss"), Scalar::Float(1.0)) => "it loses every packet",
            _ => continue,
        };
        let told = format!("nothing passes the link from {t} to the end: {told}");
        let path = format!("at.{i}.set.{}", dotted([key]));
        found.push(doc.warning_at(&path, told).help("a later `[[at]]` can open it again"));
    }
}

fn bearers(spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    for (name, bearer) in &spec.bearer {
        for side in bearer.dead() {
            let key = format!("bearer.{}.{side}.blocks", dotted([name]));
            let told = format!("the {side} never carries anything: its TTIs have no transport block");
            found.push(doc.warning_at(&key, told).help("1 to 64 blocks"));
        }
    }
}

/// UEs all of whose cells are down and stay so.
fn cells(spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    let down = |name: &str| {
        let key = format!("cell.{}", dotted([name]));
        // A layout's cells are switched by their own names, `macro-1-3`.
        let one_of_them = format!("{key}-");
        let switched = |k: &String| *k == format!("{key}.down") || k.starts_with(&one_of_them);
        spec.cell.get(name).is_some_and(|c| c.down) && !spec.at.iter().any(|at| at.set.keys().any(switched))
    };
    for (name, ue) in &spec.ue {
        let mut candidates = spec.candidates(ue).peekable();
        let Some(first) = candidates.peek().copied() else { continue };
        if candidates.all(down) {
            let told = format!("`{name}` is never served: the cell is down throughout");
            let key = format!("cell.{}.down", dotted([first]));
            found.push(doc.warning_at(&key, told).help("an `[[at]]` can switch the cell on during the run"));
        }
    }
}

/// The stop of a TCP flow closes its connection.
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
                let told = format!(
                    "`flow.{name}` has stopped before, which closed its connection: nothing will be sent"
                );
                let help = "use a second flow that starts here (`autostart = false`), or UDP";
                found.push(doc.warning_at(&format!("at.{i}.start"), told).help(help));
            }
        }
        if let Some(name) = flow(&at.stop)
            && began.get(name).is_some_and(|t| *t <= at.t)
        {
            ended.entry(name).or_insert(at.t);
        }
    }
}

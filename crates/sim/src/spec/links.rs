//! The interface of the table `[link.<name>]`: checks, and changes during a run.

use std::collections::BTreeMap;

use lasthop_units::{Bitrate, Bytes, Duration, Ratio};

use super::access::{AccessChanges, AccessSpec, ChangeEvent, InForce, RuntimeKeys};
use super::at::{Scalar, changes};
use super::common_checks::{check_ends, check_mtu};
use super::crossing::Crossing;
use super::{LinkSpec, Spec};
use crate::config::{Diagnostics, Document, dotted};
use crate::extensions::Extensions;

/// The tables of links.
pub(super) struct Links;

/// New keys of the link of this table.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkChange {
    pub name: String,
    pub spec: Box<LinkSpec>,
}

impl LinkChange {
    pub(super) fn event(&self) -> Option<ChangeEvent> {
        Some((format!("link/{}", self.name), "change"))
    }
}

impl AccessSpec for Links {
    fn kinds_of_nodes(&self) -> &'static [&'static str] {
        &["link"]
    }
    fn check(&self, spec: &Spec, doc: &Document, _: &Extensions, found: &mut Diagnostics) {
        check(spec, doc, found);
        super::fault::check(spec, doc, found);
    }
    fn check_entries(&self, part: &Spec, _: &Spec, doc: &Document, found: &mut Diagnostics) {
        check(part, doc, found);
    }
    fn check_idle(&self, spec: &Spec, doc: &Document, found: &mut Diagnostics) {
        idle(spec, doc, found);
        stopped(spec, doc, found);
    }
    fn interfaces(&self, spec: &Spec) -> Vec<String> {
        let points = ["forward.queue", "forward.exit", "reverse.queue", "reverse.exit"];
        spec.link.keys().flat_map(|name| points.map(|point| format!("{name}.{point}"))).collect()
    }
    fn runtime_keys(&self) -> RuntimeKeys {
        RUNTIME_KEYS
    }
    fn ruled_out(&self, spec: &Spec, key: &str) -> Option<(String, String)> {
        let name = rate_over_trace(spec, key)?;
        let message = format!("link `{name}` follows a trace: it has no rate to change");
        Some((message, "use a trace with the rates that you need".to_owned()))
    }
}

impl AccessChanges for Links {
    type Change = LinkChange;

    fn in_force(&self, _: &Spec) -> InForce<LinkChange> {
        Box::new(take_over)
    }
}

const RUNTIME_KEYS: RuntimeKeys = &[
    ("link.*.rate", "rate of a link"),
    ("link.*.delay", "propagation delay of a link; packets on the wire keep theirs"),
    ("link.*.loss", "loss probability of a link"),
    ("link.*.jitter", "jitter of a link"),
    ("link.*.batch", "time between the arrivals of a link"),
    ("link.*.forward.rate", "rate of one direction (also `reverse`)"),
    ("link.*.forward.delay", "delay of one direction (also `reverse`)"),
    ("link.*.forward.loss", "loss probability of one direction (also `reverse`)"),
    ("link.*.forward.jitter", "jitter of one direction (also `reverse`)"),
    ("link.*.forward.batch", "time between the arrivals of one direction (also `reverse`)"),
    ("link.*.reverse.rate", "rate of the direction back"),
    ("link.*.reverse.delay", "delay of the direction back"),
    ("link.*.reverse.loss", "loss probability of the direction back"),
    ("link.*.reverse.jitter", "jitter of the direction back"),
    ("link.*.reverse.batch", "time between the arrivals of the direction back"),
];

fn take_over(spec: &mut Spec, next: &mut Spec) -> Vec<LinkChange> {
    let differ = next.link.iter().filter(|(name, link)| spec.link.get(*name) != Some(link));
    let changes = differ.map(|(name, link)| LinkChange { name: name.clone(), spec: Box::new(link.clone()) });
    let changes = changes.collect();
    spec.link.extend(std::mem::take(&mut next.link));
    changes
}

/// The link, if `key` would set the rate of a direction that follows a trace.
fn rate_over_trace<'a>(spec: &Spec, key: &'a str) -> Option<&'a str> {
    let (name, rest) = key.strip_prefix("link.")?.split_once('.')?;
    let link = spec.link.get(name)?;
    let traced = |forward| link.direction(forward).trace.is_some();
    let wrong = match rest {
        "rate" => link.trace.is_some() || (traced(true) && traced(false)),
        "forward.rate" => traced(true),
        "reverse.rate" => traced(false),
        _ => false,
    };
    wrong.then_some(name)
}

fn check(spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    for (name, link) in &spec.link {
        let path = format!("link.{}", dotted([name]));
        check_ends(&link.between, &format!("{path}.between"), doc, found);
        check_mtu(link.mtu, &format!("{path}.mtu"), doc, found);
        if link.overhead > Bytes(1000) {
            let message = format!("a tunnel adds some tens of bytes, not {}", link.overhead);
            found.push(doc.error_at(&format!("{path}.overhead"), message).help("at most \"1000 B\""));
        }
        let own = [
            (path.clone(), link.rate.is_some() && link.trace.is_some()),
            (
                format!("{path}.forward"),
                link.forward.as_ref().is_some_and(|d| d.rate.is_some() && d.trace.is_some()),
            ),
            (
                format!("{path}.reverse"),
                link.reverse.as_ref().is_some_and(|d| d.rate.is_some() && d.trace.is_some()),
            ),
        ];
        for (at, both) in own {
            if both {
                found.push(
                    doc.error_at(&format!("{at}.trace"), "`rate` and `trace` exclude each other")
                        .help("keep one"),
                );
            }
        }
        for forward in [true, false] {
            check_direction(spec, (name, link), forward, doc, found);
        }
    }
}

/// Checks one direction, including keys that it has from the link itself.
fn check_direction(
    spec: &Spec,
    (name, link): (&str, &LinkSpec),
    forward: bool,
    doc: &Document,
    found: &mut Diagnostics,
) {
    let path = format!("link.{}", dotted([name]));
    let d = link.direction(forward);
    let side = if forward { "forward" } else { "reverse" };
    if let Err((key, message)) = d.validate() {
        let error = doc.error_at(&written(doc, &path, side, &key), message);
        // A mistake that both directions have from the link itself is reported once.
        if !found.iter().any(|e| *e == error) {
            found.push(error);
        }
    }
    if let Some((key, message)) = d.queue.never_marks() {
        let warning = doc.warning_at(&written(doc, &path, side, &format!("queue.{key}")), message);
        if !found.iter().any(|w| *w == warning) {
            found.push(warning);
        }
    }
    let limit = d.queue.limit();
    let bytes = limit.bytes.or(limit.packets.map(|p| u64::from(p) * link.mtu.0)).map(Bytes);
    let (Some(rate), Some(limit)) = (d.rate, bytes) else { return };
    // The delay of one link is a lower bound of that of the path.
    let bdp = rate.bytes_in(d.delay.saturating_mul(2));
    if Bytes(limit.0.saturating_mul(4)) < bdp && carries_data(spec, name, link, forward) {
        let message =
            format!("the {side} queue of {limit} is far below the bandwidth-delay product of {bdp}");
        let warning = doc.warning_at(&written(doc, &path, side, "queue"), message);
        found.push(warning.help("one flow alone will not fill the link"));
    }
}

/// The path of a direction's key as written in the file: at the direction or at the link.
fn written(doc: &Document, path: &str, side: &str, key: &str) -> String {
    let first = key.split('.').next().unwrap_or(key);
    let at_side = doc.get(&format!("{path}.{side}.{first}")).is_some();
    if at_side { format!("{path}.{side}.{key}") } else { format!("{path}.{key}") }
}

/// False if it is certain that only acknowledgements and requests use this direction.
fn carries_data(spec: &Spec, name: &str, link: &LinkSpec, forward: bool) -> bool {
    let crossing = Crossing::of(spec, name, link);
    !crossing.is_known() || spec.flow.values().any(|f| crossing.data_goes(spec, f) == Some(forward))
}

fn idle(spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    for (name, link) in &spec.link {
        let path = format!("link.{}", dotted([name]));
        for (forward, side) in [(true, "forward"), (false, "reverse")] {
            let keys = [format!("{path}.rate"), format!("{path}.{side}.rate")];
            if link.direction(forward).rate != Some(Bitrate(0)) || changes(spec, &keys) {
                continue;
            }
            let at = if doc.get(&keys[1]).is_some() { &keys[1] } else { &keys[0] };
            let message =
                format!("the {side} direction never carries anything: its rate is 0 bit/s throughout");
            found.push(doc.warning_at(at, message).help("an `[[at]]` can set the rate during the run"));
        }
    }
}

/// Warns of the last change of a link's rate or loss if no packet passes after it until the end of
/// the run.
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
        let message = match (key.rsplit('.').next(), value) {
            (Some("rate"), Scalar::Text(rate)) if rate.parse() == Ok(Bitrate(0)) => "its rate stays 0 bit/s",
            (Some("loss"), Scalar::Text(loss)) if loss.parse() == Ok(Ratio(1.0)) => "it loses every packet",
            (Some("loss"), Scalar::Integer(1)) => "it loses every packet",
            (Some("loss"), Scalar::Float(1.0)) => "it loses every packet",
            _ => continue,
        };
        let message = format!("nothing passes the link from {t} to the end: {message}");
        let path = format!("at.{i}.set.{}", dotted([key]));
        found.push(doc.warning_at(&path, message).help("a later `[[at]]` can open it again"));
    }
}

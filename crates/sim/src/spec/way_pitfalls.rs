//! Pitfalls of the paths of TCP flows: missing marks of queues, keys that the stack does not use,
//! and phase effects.

use std::collections::BTreeMap;

use lasthop_tcp::{CcName, Config, EcnMode, Options};
use lasthop_units::{Bitrate, Bytes};

use super::ways::{Way, Ways};
use super::{FlowSpec, NodeSpec, Spec};
use crate::config::{Diagnostics, Document, dotted};
use crate::extensions::Extensions;

/// Largest number of pairs of ends for which paths are searched; for more a warning would take too
/// long.
const MAX_PAIRS: u64 = 10_000;

/// Warnings of a scenario without errors; `own` is the document before profiles have filled it.
pub(super) fn check(
    spec: &Spec,
    ways: &Ways<'_>,
    doc: &Document,
    own: &Document,
    extensions: &Extensions,
    found: &mut Diagnostics,
) {
    let mut marked: Vec<Answering<'_>> = Vec::new();
    for (name, flow) in &spec.flow {
        let Some(options) = flow.over_tcp() else { continue };
        let path = format!("flow.{}.tcp", dotted([name]));
        let Some(config) = stack(options, &path, doc, own, extensions, found) else { continue };
        let by_hand = format!("{path}.manual_read");
        if config.growth.manual_read && own.get(&by_hand).is_some() {
            let message = "no application reads: after one receive window the sender waits without end";
            found.push(doc.warning_at(&by_hand, message).help("remove it; an application reads by itself"));
        }
        let Some(unmarked) = config.cc.needs().marks else { continue };
        if matches!(config.ecn.mode, EcnMode::Off | EcnMode::Passive) {
            let message =
                format!("`{}` responds to ECN marks, and this flow does not negotiate ECN", cc(config.cc));
            found.push(doc.warning_at(&format!("{path}.ecn"), message).help("remove `ecn`"));
        } else {
            marked.push(Answering { name, flow, control: config.cc, unmarked });
        }
    }
    for (name, node) in &spec.node {
        let NodeSpec::Proxy(proxy) = node else { continue };
        for (key, options) in [("accept", &proxy.accept), ("connect", &proxy.connect)] {
            let path = format!("node.{}.{key}", dotted([name]));
            options.as_ref().and_then(|options| stack(options, &path, doc, own, extensions, found));
        }
    }
    let pairs: u64 = spec.flow.values().map(|f| spec.pairs_of(f)).fold(0, u64::saturating_add);
    if pairs > MAX_PAIRS || spec.flow.values().all(|f| f.over_tcp().is_none()) {
        return;
    }
    for flow in marked {
        nothing_marks(&flow, spec, ways, doc, found);
    }
    if spec.scenario.jitter.is_zero() {
        phase_effects(spec, ways, doc, found);
    }
}

/// A flow whose control responds to marks.
struct Answering<'a> {
    name: &'a str,
    flow: &'a FlowSpec,
    control: CcName,
    /// The behaviour of the control without marks.
    unmarked: &'static str,
}

fn cc(name: CcName) -> String {
    name.name().to_owned()
}

/// The configuration of a stack; warns of keys that it does not use.
fn stack(
    options: &Options,
    path: &str,
    doc: &Document,
    own: &Document,
    extensions: &Extensions,
    found: &mut Diagnostics,
) -> Option<Config> {
    let config = options.resolve_with(extensions.controls()).ok()?;
    for unused in options.unused(&config) {
        let key = format!("{path}.{}", unused.key);
        // The user has not written a key that a profile of the scenario has filled in.
        if own.get(&key).is_some() {
            let message = format!("this key has no effect here: {}", unused.why);
            found.push(doc.warning_at(&key, message).help(unused.help));
        }
    }
    Some(config)
}

fn nothing_marks(of: &Answering<'_>, spec: &Spec, ways: &Ways<'_>, doc: &Document, found: &mut Diagnostics) {
    let marks = |[a, b]: &[String; 2]| {
        let both = [ways.between(a, b), ways.between(b, a)];
        both.iter().flatten().any(|(_, way)| way.marks())
    };
    let ends = spec.ends_of(of.flow);
    let Some([from, to]) = ends.iter().find(|ends| !marks(ends)) else { return };
    let message = format!(
        "`{}` responds to ECN marks, and no queue between `{from}` and `{to}` marks: {}",
        cc(of.control),
        of.unmarked
    );
    let help = "`queue = { kind = \"step\", threshold_packets = 20 }` at the bottleneck marks";
    found.push(doc.warning_at(&format!("flow.{}.tcp.cc", dotted([of.name])), message).help(help));
}

/// The load on one direction of a link.
#[derive(Default)]
struct Load {
    /// Number of bulk TCP flows without random effects for which this is the slowest link.
    regular: u64,
    /// True if a random load passes.
    random: bool,
}

/// Floyd and Jacobson 1992: which packets a full FIFO drops depends on the phase of periodic
/// arrivals.
fn phase_effects(spec: &Spec, ways: &Ways<'_>, doc: &Document, found: &mut Diagnostics) {
    let mut loads: BTreeMap<usize, Load> = BTreeMap::new();
    for flow in spec.flow.values() {
        for [from, to] in &spec.ends_of(flow) {
            let (there, back) = (ways.between(from, to), ways.between(to, from));
            let regular = flow.over_tcp().is_some()
                && flow.app.is_bulk()
                && !there.iter().chain(&back).any(|(_, way)| way.is_random());
            let slowest = there.iter().filter_map(|(i, way)| Some((rate(way)?, *i))).min();
            for (i, _) in there.iter().chain(&back) {
                let load = loads.entry(*i).or_default();
                load.random |= !regular;
                if regular && slowest.is_some_and(|(_, slowest)| slowest == *i) {
                    load.regular += u64::from(flow.count);
                }
            }
        }
    }
    let mut warned: Vec<&str> = Vec::new();
    for (i, load) in loads.iter().filter(|(_, load)| load.regular > 1 && !load.random) {
        let (Way::Link { name, link, .. }, Some(rate)) = (ways.way(*i), rate(ways.way(*i))) else { continue };
        let fifo = ways.way(*i).direction().is_some_and(|d| d.queue.has_phase_effects());
        if !fifo || warned.contains(name) {
            continue;
        }
        warned.push(name);
        let message = format!(
            "{} TCP flows fill this queue and nothing on their ways is random: the phase of their packets decides which flow \
             loses packets",
            load.regular
        );
        let service = rate.time_for(Bytes(link.mtu.0));
        let help = format!(
            "`scenario.jitter = \"{service}\"` removes the phase effect, or an active queue management does"
        );
        found.push(doc.warning_at(&format!("link.{}.queue", dotted([name])), message).help(help));
    }
}

fn rate(way: &Way<'_>) -> Option<Bitrate> {
    way.direction()?.rate.filter(|rate| rate.0 > 0)
}

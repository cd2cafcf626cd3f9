//! Checks of combinations of keys: names that must exist, ranges, invalid combinations, and valid
//! ones that are probably not intended.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use lasthop_net::app::Distribution;
use lasthop_net::trace::Trace;
use lasthop_units::{Bytes, Duration};

use super::group::Group;
use super::kinds::ALL;
use super::members::groups_of;
use super::{At, FlowSpec, NodeSpec, ProxySpec, Spec};
use crate::config::{Diagnostics, Document, dotted, near_or_all};
use crate::extensions::Extensions;

/// Runs all checks that are possible without a run; results go to `found`.
pub fn check(spec: &Spec, doc: &Document, extensions: &Extensions, found: &mut Diagnostics) {
    general(spec, doc, found);
    if !super::limits::counts(spec, doc, found) {
        return;
    }
    check_names(spec, doc, found);
    ALL.iter().for_each(|access| access.check(spec, doc, extensions, found));
    super::hint::check(spec, doc, found);
    super::hint_pitfalls::check(spec, doc, found);
    let map = Map::of(spec);
    spec.groups().for_each(|group| check_choice(&group, &map, doc, found));
    for (name, node) in &spec.node {
        check_node(name, node, spec, &map, doc, extensions, found);
    }
    for (name, flow) in &spec.flow {
        check_flow(name, flow, spec, &map, doc, extensions, found);
    }
    super::capture::check(spec, doc, found);
    super::control_variables::check(spec, doc, found);
    super::idle::check(spec, doc, found);
    super::when::check(spec, doc, extensions, found);
    super::outside_pitfalls::check(spec, doc, found);
    for (i, at) in spec.at.iter().enumerate() {
        check_change(at, &format!("at.{i}"), doc, found);
        if at.t > spec.scenario.duration {
            found.push(
                doc.warning_at(
                    &format!("at.{i}.t"),
                    format!("{} is after the end of the run: this never happens", at.t),
                )
                .help(format!("the run lasts {}", spec.scenario.duration)),
            );
        }
    }
    for (i, when) in spec.when.iter().enumerate() {
        check_change(&when.change(), &format!("when.{i}"), doc, found);
    }
}

/// Checks that a change is not empty, and changes nothing twice.
fn check_change(at: &At, path: &str, doc: &Document, found: &mut Diagnostics) {
    let named = [&at.start, &at.stop, &at.pause, &at.resume];
    if at.set.is_empty() && named.iter().all(|name| name.is_none()) {
        found.push(doc.error_at(path, "this change changes nothing").help(
            "give `set`, `start`, `stop`, `pause` or `resume`, such as `start = \"flow.ftp\"`, or remove the table",
        ));
    }
    if at.start.is_some() && at.start == at.stop {
        let message = "this starts and stops the same at one moment";
        found.push(doc.error_at(&format!("{path}.stop"), message).help("use two tables with a time each"));
    }
}

/// Checks the entries that change during a run, which are all that `part` has. `whole` is the
/// scenario around them, of which only keys that do not change are read.
pub fn check_entries(part: &Spec, whole: &Spec, doc: &Document, found: &mut Diagnostics) {
    ALL.iter().for_each(|access| access.check_entries(part, whole, doc, found));
    super::sources::check_entries(part, whole, doc, found);
}

fn general(spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    let g = &spec.scenario;
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if g.name.is_empty() || g.name.len() > 100 || !g.name.chars().all(good) || g.name.starts_with('.') {
        found.push(
            doc.error_at("scenario.name", "this cannot name a result folder")
                .help("1 to 100 letters, digits, `-`, `_` and `.`, not beginning with `.`"),
        );
    }
    if g.duration.is_zero() {
        found.push(
            doc.error_at("scenario.duration", "a run without duration has no results")
                .help("such as \"60 s\""),
        );
    }
    if g.jitter > Duration::from_secs(1) {
        let message = format!("{} is no processing time", g.jitter);
        let help = "at most \"1 s\"; one packet's time on the slowest link breaks phase effects";
        found.push(doc.error_at("scenario.jitter", message).help(help));
    }
    if spec.output.interval < Duration::from_micros(100) {
        found.push(
            doc.error_at("output.interval", format!("{} is too short to sample", spec.output.interval))
                .help("at least \"100 us\"; the value \"ack\" of `output.tcp` writes a row for every ACK"),
        );
    }
    if let Some(window) = spec.output.windows.filter(|window| *window < Duration::from_millis(1)) {
        found.push(
            doc.error_at("output.windows", format!("{window} is too short an interval"))
                .help("at least \"1 ms\"; `output.packets` has a row for each packet"),
        );
    }
    if spec.flow.is_empty() && !spec.has_external_nodes() {
        found.push(
            doc.warning_at("scenario", "no flow: nothing will be sent").help("add a `[flow.<name>]` table"),
        );
    }
}

/// Checks that the nodes of a group belong to it alone, and that a flow's end is unambiguous. Only
/// the base of an access later in the list may be among them: a phone that is an access point.
fn check_names(spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    let links = spec.link.values().flat_map(|l| l.between.iter());
    let bearers = spec.bearer.values().flat_map(|b| b.between().iter());
    let ends = links.chain(bearers).map(|n| (n.to_owned(), "an end of a link or bearer".to_owned()));
    let mut taken: BTreeMap<String, String> = ends.collect();
    for access in ALL {
        taken.extend(access.bases(spec).into_iter().map(|(node, what)| (node.to_owned(), what.to_owned())));
        for group in groups_of(*access, spec) {
            let own = format!("{} of `{}.{}`", group.what, group.table, group.name);
            for node in group.nodes() {
                if let Some(other) = taken.get(&node) {
                    let path = format!("{}.{}", group.table, dotted([group.name]));
                    let message = format!("the node `{node}` is {other} already");
                    let help = format!("give these {} another name", group.several);
                    found.push(doc.error_at(&path, message).help(help));
                    break;
                }
                taken.insert(node, own.clone());
            }
        }
    }
}

/// Checks that a group that several bases may serve can reach its flows through each of them.
fn check_choice(group: &Group<'_>, map: &Map, doc: &Document, found: &mut Diagnostics) {
    let mut nodes = group.served_by.iter();
    let Some(first) = nodes.next() else { return };
    if let Some(apart) = nodes.find(|node| !map.connected(first, node)) {
        let message =
            format!("it may be served by `{first}` or `{apart}`, and there is no path between the two");
        let help =
            format!("link each of them to the network, or name the one that serves (`{}`)", group.choice);
        let path = format!("{}.{}", group.table, dotted([group.name]));
        found.push(doc.error_at(&path, message).help(help));
    }
}

/// The nodes, and their connections: every access carries both directions.
struct Map {
    /// The part of the network to which each node belongs.
    part: BTreeMap<String, usize>,
}

impl Map {
    fn of(spec: &Spec) -> Map {
        let mut edges: Vec<[String; 2]> = Vec::new();
        edges.extend(spec.link.values().map(|l| l.between.clone()));
        edges.extend(spec.bearer.values().map(|b| b.between().clone()));
        let mut map = Map { part: BTreeMap::new() };
        for (node, _) in spec.bases() {
            map.add(node);
        }
        for group in spec.groups() {
            for node in group.nodes() {
                map.add(&node);
                // If several may serve, all are in one part: `check_choice` checks this.
                if let Some(by) = group.served_by.first() {
                    edges.push([(*by).to_owned(), node]);
                }
            }
        }
        let mut joined = UnionFind(Vec::new());
        for [a, b] in &edges {
            let (a, b) = (map.add(a), map.add(b));
            joined.join(a, b);
        }
        for part in map.part.values_mut() {
            *part = joined.root(*part);
        }
        map
    }

    fn add(&mut self, node: &str) -> usize {
        let next = self.part.len();
        *self.part.entry(node.to_owned()).or_insert(next)
    }

    fn connected(&self, from: &str, to: &str) -> bool {
        self.part.get(from) == self.part.get(to)
    }
}

/// Disjoint sets of small numbers.
struct UnionFind(Vec<usize>);

impl UnionFind {
    fn root(&mut self, mut i: usize) -> usize {
        while self.0.len() <= i {
            self.0.push(self.0.len());
        }
        while self.0[i] != i {
            self.0[i] = self.0[self.0[i]];
            i = self.0[i];
        }
        i
    }
    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[b] = a;
    }
}

fn check_flow(
    name: &str,
    flow: &FlowSpec,
    spec: &Spec,
    map: &Map,
    doc: &Document,
    extensions: &Extensions,
    found: &mut Diagnostics,
) {
    let path = format!("flow.{}", dotted([name]));
    check_ends(flow, &path, spec, map, doc, found);
    if flow.count == 0 {
        found.push(doc.error_at(&format!("{path}.count"), "no flow at all").help("remove the table instead"));
    }
    if flow.autostart && flow.start >= spec.scenario.duration {
        found.push(
            doc.warning_at(&format!("{path}.start"), "this flow starts after the end of the run")
                .help(format!("the run lasts {}", spec.scenario.duration)),
        );
    }
    if flow.stop.is_some_and(|stop| stop <= flow.start) {
        found.push(doc.error_at(&format!("{path}.stop"), "the flow stops before it starts"));
    }
    super::sources::check(name, flow, doc, found);
    if flow.stagger_distribution == Distribution::Pareto {
        let message = "a Pareto distribution needs a shape";
        let d = doc.error_at(&format!("{path}.stagger_distribution"), message);
        found.push(d.help("\"constant\", or \"exponential\" for Poisson arrivals"));
    }
    if flow.notsent_lowat.is_some_and(|low| low == Bytes(0)) {
        let d =
            doc.error_at(&format!("{path}.notsent_lowat"), "with these values the application never writes");
        found.push(d.help("such as \"16 kB\""));
    }
    if let Some(control) = flow.app.rate_control()
        && let Some(wrong) = extensions.rate_controls().mistake(&control)
    {
        let at = format!("{path}.app");
        let (what, key) = match wrong.key {
            "control" => ("names", format!("{at}.control")),
            "mutant" => ("switches", format!("{at}.mutant")),
            table => ("parameters", format!("{at}.{table}.{}", dotted([&wrong.word]))),
        };
        let help = (!wrong.known.is_empty()).then(|| near_or_all(&wrong.word, what, &wrong.known));
        found.push(doc.error_at(&key, wrong.message).help_opt(help));
    }
    let tcp = format!("{path}.tcp");
    if let Some(options) = flow.over_tcp() {
        check_tcp(options, &tcp, doc, extensions, found);
        if acknowledges_ahead(options) && flow.app.waits_for_answers() {
            let message = format!(
                "`{}` waits for whole answers, and this receiver never has the octets that are lost",
                flow.app.name()
            );
            let help = "`app = \"bulk\"`, or another application without answers: `file`, `cbr`, `on-off`";
            found.push(doc.error_at(&format!("{tcp}.ack_ahead"), message).help(help));
        }
    } else if doc.get(&tcp).is_some() {
        let message = "a UDP flow does not use TCP: this table has no effect";
        found.push(doc.error_at_key(&tcp, message).warning());
    }
}

/// Checks that its ends exist, can be paired, and can reach each other.
fn check_ends(flow: &FlowSpec, path: &str, spec: &Spec, map: &Map, doc: &Document, found: &mut Diagnostics) {
    let mut known = true;
    for (key, node) in [("from", &flow.from), ("to", &flow.to)] {
        if !spec.members(node).iter().all(|n| map.part.contains_key(n)) {
            known = false;
            let groups: Vec<&str> = spec.groups().map(|g| g.name).collect();
            let names = map.part.keys().map(String::as_str).chain(groups);
            let near = found.nearest(node, names);
            found.push(doc.error_at(&format!("{path}.{key}"), no_node(node)).help_opt(near));
        }
    }
    let sizes = [&flow.from, &flow.to].map(|end| spec.members_count(end));
    if flow.one_to_one && sizes[0] != sizes[1] {
        let message = format!("{} nodes cannot be paired with {}", sizes[0], sizes[1]);
        found.push(
            doc.error_at(&format!("{path}.one_to_one"), message).help("give both groups the same `count`"),
        );
    }
    let ends = spec.ends_of(flow);
    if ends.iter().any(|[a, b]| a == b) {
        found.push(doc.error_at(&format!("{path}.to"), "a flow needs two different nodes"));
    } else if let Some([from, to]) = ends.iter().find(|[a, b]| known && !map.connected(a, b)) {
        found.push(
            doc.error_at(&format!("{path}.to"), format!("there is no path from `{from}` to `{to}`"))
                .help("add a link or bearer that connects them"),
        );
    }
}

/// The message that no table makes a node of this name.
fn no_node(name: &str) -> String {
    let kinds: Vec<&str> = ALL.iter().flat_map(|access| access.kinds_of_nodes()).copied().collect();
    let (last, others) = kinds.split_last().map_or(("", &kinds[..]), |(last, others)| (*last, others));
    format!("unknown node `{name}` (not an endpoint of any {} or {last})", others.join(", "))
}

fn check_node(
    name: &str,
    node: &NodeSpec,
    spec: &Spec,
    map: &Map,
    doc: &Document,
    extensions: &Extensions,
    found: &mut Diagnostics,
) {
    let path = format!("node.{}", dotted([name]));
    if !map.part.contains_key(name) {
        let near = found.nearest(name, map.part.keys());
        found.push(doc.error_at_key(&path, no_node(name)).help_opt(near));
    }
    match node {
        NodeSpec::Proxy(proxy) => check_proxy(proxy, &path, spec, doc, extensions, found),
        NodeSpec::External(_) | NodeSpec::Linux(_) => {}
        NodeSpec::Snoop(snoop) => {
            let ends = |ends: &[String; 2]| ends.iter().any(|e| e == name);
            let links = spec.link.iter().filter(|(_, l)| ends(&l.between)).map(|(n, _)| n);
            let bearers = spec.bearer.iter().filter(|(_, b)| ends(b.between())).map(|(n, _)| n);
            let here: Vec<&String> = links.chain(bearers).collect();
            if let Some(towards) = &snoop.towards
                && !here.contains(&towards)
            {
                let message = format!("no link or bearer `{towards}` begins at `{name}`");
                let help = near_or_all(towards, "names", &here);
                found.push(doc.error_at(&format!("{path}.towards"), message).help(help));
            }
            let radio = spec.bearer.values().any(|b| ends(b.between()));
            let base = spec.bases().any(|(node, _)| node == name);
            if snoop.towards.is_none() && !radio && !base {
                let message = format!("`{name}` has no radio bearer: which path leads to the mobile?");
                let help = near_or_all("", "names", &here);
                found.push(doc.error_at_key(&path, message).help(format!("give `towards`; {help}")));
            }
            if snoop.min_timeout < Duration::from_millis(1) {
                let message = "a timer of less than 1 ms would send everything again at once";
                found.push(doc.error_at(&format!("{path}.min_timeout"), message).help("such as \"100 ms\""));
            }
        }
    }
}

fn check_proxy(
    proxy: &ProxySpec,
    path: &str,
    spec: &Spec,
    doc: &Document,
    extensions: &Extensions,
    found: &mut Diagnostics,
) {
    if proxy.buffer < Bytes(4096) || proxy.buffer > Bytes(1 << 30) {
        let message = format!("a buffer of {} is outside 4 kB to 1 GiB", proxy.buffer);
        found.push(doc.error_at(&format!("{path}.buffer"), message));
        return;
    }
    for (i, flow) in proxy.flows.iter().enumerate() {
        let tcp = |f: &FlowSpec| f.over_tcp().is_some();
        if !spec.flow.get(flow).is_some_and(tcp) {
            let names: Vec<&String> = spec.flow.iter().filter(|(_, f)| tcp(f)).map(|(n, _)| n).collect();
            let help = near_or_all(flow, "TCP flows", &names);
            found
                .push(doc.error_at(&format!("{path}.flows.{i}"), format!("no TCP flow `{flow}`")).help(help));
        }
    }
    for (key, options) in [("accept", &proxy.accept), ("connect", &proxy.connect)] {
        if let Some(options) = options {
            check_tcp(options, &format!("{path}.{key}"), doc, extensions, found);
            if acknowledges_ahead(options) {
                let message = "a proxy has nothing to forward in the place of octets that its socket skipped";
                let help = "`ack_ahead = 0` here; the key of a flow is that of its applications' ends";
                found.push(doc.error_at(&format!("{path}.{key}.ack_ahead"), message).help(help));
            }
        }
    }
}

/// True if the receiver acknowledges octets before they arrive, and skips those that are lost.
fn acknowledges_ahead(options: &lasthop_tcp::Options) -> bool {
    options.acks.ack_ahead.is_some_and(|segments| segments > 0)
}

/// Checks the options of one end, or of both.
fn check_tcp(
    options: &lasthop_tcp::Options,
    path: &str,
    doc: &Document,
    extensions: &Extensions,
    found: &mut Diagnostics,
) {
    if let Err(e) = options.resolve_with(extensions.controls()) {
        let what = if e.key == "cc" { "names" } else { "parameters" };
        let word = e.problem.split(['"', '`']).nth_back(1).unwrap_or_default();
        let help = (!e.known.is_empty()).then(|| near_or_all(word, what, &e.known));
        found.push(at_parameter(doc, path, e.key, word, &e.problem).help_opt(help));
    }
}

/// The place of a mistake in `cc_parameters`: the parameter that the message names, or the first.
fn at_parameter(
    doc: &Document,
    path: &str,
    key: &str,
    word: &str,
    problem: &str,
) -> crate::config::Diagnostic {
    let table = format!("{path}.{key}");
    let given = doc.get(&table).and_then(|node| node.as_table()).filter(|_| key == "cc_parameters");
    let names = given.map(|t| t.keys().collect::<Vec<_>>()).unwrap_or_default();
    match names.iter().find(|name| **name == word).or(names.first()) {
        Some(name) => doc.error_at_key(&format!("{table}.{}", dotted([name])), problem),
        None => doc.error_at(&table, problem),
    }
}

/// Reads every trace once.
pub fn load_traces(
    spec: &Spec,
    doc: &Document,
    base: &Path,
    found: &mut Diagnostics,
) -> BTreeMap<String, Arc<Trace>> {
    let mut traces = BTreeMap::new();
    for (name, link) in &spec.link {
        let path = format!("link.{}", dotted([name]));
        let places = [
            (format!("{path}.trace"), &link.trace),
            (format!("{path}.forward.trace"), &link.forward.as_ref().and_then(|d| d.trace.clone())),
            (format!("{path}.reverse.trace"), &link.reverse.as_ref().and_then(|d| d.trace.clone())),
        ];
        for (key, file) in places {
            let Some(file) = file else { continue };
            if traces.contains_key(file) {
                continue;
            }
            match crate::trace::load(&base.join(file)) {
                Ok(trace) => {
                    traces.insert(file.clone(), Arc::new(trace));
                }
                Err(e) => found.push(doc.error_at(&key, e.message())),
            }
        }
    }
    traces
}

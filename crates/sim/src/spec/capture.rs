//! The table `[output.capture]`: the contents of a packet capture.

use lasthop_units::{Bytes, Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kinds::ALL;
use super::limits::MAX_FLOWS;
use super::{FlowSpec, NodeSpec, Spec};
use crate::config::{Diagnostics, Document, near_or_all};

/// The interface of dropped packets, at any place.
pub const DROPS: &str = "drops";

/// Suffixes of interfaces that repeat data of another one of the same cell: `*` alone does not
/// select them.
const REPEATS: [&str; 2] = [".rlc", ".pdcp"];

/// A packet capture of the run, in the format pcapng.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CaptureSpec {
    /// Name of its file in the result folder.
    pub file: String,
    /// Octets of a frame that are written at most, 64 B to 262144 B. Unset: packets of IP and
    /// frames of 802.11 have their headers and 32 octets of payload, which is zeros; fragments and
    /// PDUs of the other radios are whole, because readers reassemble packets from them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-range" = "64 B to 262144 B"))]
    pub snaplen: Option<Bytes>,
    /// Points of observation, by name; `*` stands for any text and `?` for any character. A node:
    /// `server`; both ends of a link's direction: `wired.forward.queue` and `wired.forward.exit`;
    /// what is dropped anywhere: `drops`. `*` alone leaves out the interfaces `CELL.rlc` and
    /// `CELL.pdcp`, which show what `CELL.mac` shows: `*.rlc` includes them.
    pub interfaces: Vec<String>,
    /// Flows whose IP packets are written, with `*` and `?` as above: `download` for all flows of a
    /// table, `download-3` for one of several. Empty: all. Frames of radios are written whatever
    /// their packets are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<String>,
    /// Time of the run from which on frames are written.
    pub from: Duration,
    /// Time of the run up to which frames are written. Unset: to the end of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Duration>,
    /// Keeps the newest of several files: `FILE_00001.pcapng` and so on. Unset: one file of any
    /// size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ring: Option<CaptureRing>,
}

/// A capture as a ring of files, of which the newest are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaptureRing {
    /// Size of a file at most, from 64 kB on.
    pub size: Bytes,
    /// How many files are kept, 1 to 10000.
    #[schemars(extend("x-range" = "1 to 10000"))]
    pub files: u32,
}

impl Default for CaptureSpec {
    fn default() -> Self {
        CaptureSpec {
            file: "capture.pcapng".to_owned(),
            snaplen: None,
            interfaces: vec!["*".to_owned()],
            flows: Vec::new(),
            from: Duration::ZERO,
            to: None,
            ring: None,
        }
    }
}

impl CaptureSpec {
    /// True if the interface of this name is captured.
    pub fn selects(&self, interface: &str) -> bool {
        let repeats = REPEATS.iter().any(|layer| interface.ends_with(layer));
        self.interfaces.iter().any(|pattern| matches(pattern, interface) && !(repeats && pattern == "*"))
    }
    /// True if a flow of this name, from the table `[flow.TABLE]`, is captured.
    pub fn selects_flow(&self, name: &str, table: &str) -> bool {
        let all = &self.flows;
        all.is_empty() || all.iter().any(|pattern| matches(pattern, name) || matches(pattern, table))
    }
    /// The first and the last moment of the capture.
    pub fn span(&self) -> [Instant; 2] {
        [Instant::ZERO + self.from, self.to.map_or(Instant::MAX, |to| Instant::ZERO + to)]
    }
}

/// True if `text` matches `pattern`, in which `*` stands for any text and `?` for any character.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    // Position of the last `*`, and how much of the text it matches so far.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match (pattern.get(p), star) {
            (Some('*'), _) => {
                star = Some((p, t));
                p += 1;
            }
            (Some(c), _) if *c == '?' || *c == text[t] => (p, t) = (p + 1, t + 1),
            (_, Some((at, taken))) => {
                star = Some((at, taken + 1));
                (p, t) = (at + 1, taken + 1);
            }
            _ => return false,
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// The names of all points of observation of a scenario.
fn interfaces(spec: &Spec) -> Vec<String> {
    let ends = spec.flow.values().flat_map(|flow| [&flow.from, &flow.to]).flat_map(|end| spec.members(end));
    let proxies = spec.node.iter().filter(|(_, node)| matches!(node, NodeSpec::Proxy(_)));
    let external = spec.node.iter().filter(|(_, node)| node.is_external());
    let own = proxies.chain(external).map(|(name, _)| name.clone());
    let mut names: Vec<String> = ends.chain(own).collect();
    names.sort();
    names.dedup();
    names.extend(ALL.iter().flat_map(|access| access.interfaces(spec)));
    names.push(DROPS.to_owned());
    names
}

/// Number of flows of a table.
fn flows_of(spec: &Spec, flow: &FlowSpec) -> u64 {
    spec.pairs_of(flow).saturating_mul(flow.count.into())
}

/// True if a pattern names a flow of the table, a part of one between proxies, or all of them.
fn has_flow(spec: &Spec, table: &str, flow: &FlowSpec, pattern: &str) -> bool {
    let proxies = || spec.node.iter().filter(|(_, node)| matches!(node, NodeSpec::Proxy(_)));
    let is_of = |name: &str| {
        matches(pattern, name) || proxies().any(|(proxy, _)| matches(pattern, &format!("{name}@{proxy}")))
    };
    // More flows are a separate mistake.
    let count = flows_of(spec, flow).min(MAX_FLOWS);
    matches(pattern, table)
        || if count == 1 { is_of(table) } else { (1..=count).any(|i| is_of(&format!("{table}-{i}"))) }
}

/// A suggestion for a pattern that matches no flow.
fn near_flow(spec: &Spec, pattern: &str) -> String {
    let of = |table: &str| pattern.strip_prefix(table).is_some_and(|rest| rest.starts_with(['-', '@']));
    match spec.flow.iter().find(|(table, _)| of(table)) {
        Some((table, flow)) => match flows_of(spec, flow) {
            1 => format!("`[flow.{table}]` is one flow: `{table}`"),
            n => {
                format!("`[flow.{table}]` is `{table}-1` to `{table}-{n}`; `{table}` stands for all of them")
            }
        },
        None => near_or_all(pattern, "flows", &spec.flow.keys().collect::<Vec<_>>()),
    }
}

/// Checks for values out of range, and for patterns without a match.
pub(super) fn check(spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    let Some(capture) = &spec.output.capture else { return };
    let at = |key: &str| format!("output.capture.{key}");
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let file = &capture.file;
    let name = file.strip_suffix(".pcapng").unwrap_or_default();
    if name.is_empty() || file.len() > 100 || !name.chars().all(plain) || name.starts_with('.') {
        let message = "this cannot name a capture in the result folder";
        let help = "letters, digits, `-`, `_` and `.`, not beginning with `.`, then `.pcapng`; \
                    for a file elsewhere run with `--capture FILE` (in Python: `capture=FILE`)";
        found.push(doc.error_at(&at("file"), message).help(help));
    }
    if let Some(snaplen) = capture.snaplen
        && !(Bytes(64)..=Bytes(262_144)).contains(&snaplen)
    {
        let message = format!("frames are cut to 64 B to 262144 B, not to {snaplen}");
        let help = "leave the key out for headers without payload; \"262144 B\" has whole frames";
        found.push(doc.error_at(&at("snaplen"), message).help(help));
    }
    let names = interfaces(spec);
    if capture.interfaces.is_empty() {
        let help = near_or_all("", "names", &names);
        found.push(doc.error_at(&at("interfaces"), "nothing is captured without an interface").help(help));
    }
    for (i, pattern) in capture.interfaces.iter().enumerate() {
        if !names.iter().any(|name| matches(pattern, name)) {
            let message = format!("no point of observation is called `{pattern}`");
            let help = near_or_all(pattern, "names", &names);
            found.push(doc.error_at(&at(&format!("interfaces.{i}")), message).help(help));
        }
    }
    for (i, pattern) in capture.flows.iter().enumerate() {
        if !spec.flow.iter().any(|(table, flow)| has_flow(spec, table, flow, pattern)) {
            let message = format!("no flow is called `{pattern}`");
            found.push(doc.error_at(&at(&format!("flows.{i}")), message).help(near_flow(spec, pattern)));
        }
    }
    if capture.to.is_some_and(|to| to <= capture.from) {
        let message = "the capture ends before it begins";
        found.push(doc.error_at(&at("to"), message).help("`from` is to be less than `to`"));
    }
    if capture.from >= spec.scenario.duration && !capture.from.is_zero() {
        let message = "the capture begins after the end of the run";
        let help = format!("the run lasts {}", spec.scenario.duration);
        found.push(doc.warning_at(&at("from"), message).help(help));
    }
    if let Some(ring) = capture.ring {
        if ring.size < Bytes(64_000) {
            let message = format!("a file of {} is too small for a ring", ring.size);
            found.push(doc.error_at(&at("ring.size"), message).help("at least \"64 kB\""));
        }
        if !(1..=10_000).contains(&ring.files) {
            let message = format!("a ring of {} files", ring.files);
            found.push(doc.error_at(&at("ring.files"), message).help("1 to 10000"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_whole_names() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("*", "wired.forward.queue", true),
            ("server", "server", true),
            ("server", "server2", false),
            ("ue?", "ue1", true),
            ("ue?", "ue", false),
            ("ue?", "ue12", false),
            ("*.queue", "wired.forward.queue", true),
            ("*.queue", "wired.forward.exit", false),
            ("w*.f*.q*e", "wired.forward.queue", true),
            ("*a*b", "aaab", true),
            ("*a*b", "aaba", false),
            ("", "a", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }
}

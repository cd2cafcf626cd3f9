//! Pairs of UEs with a sidelink: `[sidelink.<name>]`.

use std::collections::BTreeSet;

use lasthop_engine::math;
use lasthop_lte::mac::sidelink::{LinkMode, SelectionConfig, SidelinkConfig};
use lasthop_lte::network::PairConfig;
use lasthop_lte_l2::pdcp::{LteBearerConfig, PdcpConfig};
use lasthop_lte_l2::rlc::{Mode, RlcConfig};
use lasthop_units::{BearerId, Id, Metres, UeId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cellular::{Cellular, PairNames, UeSpec};
use crate::config::{Diagnostics, Document, dotted};
use crate::spec::Spec;
use crate::spec::at::keys_set;
use crate::spec::layout::draws_of_place;

/// A sidelink between two UEs, or between the UEs of two groups, the first with the first and so
/// on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SidelinkSpec {
    /// The two ends: `[ue.<name>]` tables of the same count in the same cell.
    pub between: [String; 2],
    /// Put the second end of each pair this far from the first, in a random direction at its own
    /// height: smallest and largest distance. Unset: both are where their tables say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart: Option<[Metres; 2]>,
    /// Names of the `[flow.<name>]` tables whose packets it carries; empty: all between the two.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<String>,
    /// The path of packets from the first UE to the second.
    #[serde(default)]
    pub forward: LinkMode,
    /// The path of packets from the second UE to the first.
    #[serde(default)]
    pub reverse: LinkMode,
    /// Let the eNB choose the path, for both directions together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<SelectionConfig>,
    /// At a change of the path PDCP keeps the packets that the sender still has, sends them again
    /// over the other path, and delivers in order; otherwise RLC, MAC and HARQ drop these packets.
    #[serde(default)]
    pub lossless: bool,
    /// The link.
    #[serde(default)]
    pub link: SidelinkConfig,
    /// PDCP of the sidelink's bearer, at both ends.
    #[serde(default)]
    pub pdcp: PdcpConfig,
    /// RLC of the sidelink's bearer, at both ends; unacknowledged mode.
    #[serde(default = "unacknowledged")]
    pub rlc: RlcConfig,
}

pub(super) fn unacknowledged() -> RlcConfig {
    RlcConfig { mode: Mode::Um, ..RlcConfig::default() }
}

impl SidelinkSpec {
    /// The modes, from first to second and back.
    pub const fn modes(&self) -> [LinkMode; 2] {
        [self.forward, self.reverse]
    }

    fn layers(&self) -> LteBearerConfig {
        LteBearerConfig { pdcp: self.pdcp.clone(), rlc: self.rlc.clone() }
    }
}

impl Spec {
    /// Adds the pairs of all sidelink tables, after UEs and their bearers.
    pub(super) fn add_pairs(&self, all: &mut Cellular) {
        for (name, spec) in &self.sidelink {
            let ids = |end: usize| {
                let nodes = self.ue.get(&spec.between[end]).map(|ue| ue.nodes(&spec.between[end]));
                let find = |node: String| all.ues.iter().position(|u| u.node == node);
                nodes.into_iter().flatten().filter_map(find).map(UeId::from_index).collect::<Vec<_>>()
            };
            let (first, second) = (ids(0), ids(1));
            let several = first.len() > 1;
            for (i, ues) in first.into_iter().zip(second).map(|(a, b)| [a, b]).enumerate() {
                if let Some([least, most]) = spec.apart {
                    let mut draws = draws_of_place(self.scenario.seed, &spec.between[1], i as u32);
                    let distance = least.0 + (most.0 - least.0) * draws.uniform();
                    let angle = std::f64::consts::TAU * draws.uniform();
                    let [x, y, _] = all.config.ues[ues[0]].radio.position;
                    let place = &mut all.config.ues[ues[1]].radio.position;
                    place[0] = Metres(x.0 + distance * math::cos(angle));
                    place[1] = Metres(y.0 + distance * math::sin(angle));
                }
                let infrastructure = ues.map(|ue| {
                    let names = &all.ues[ue.index()];
                    let carries = |(flow, _): &&(String, usize)| spec.flows.contains(flow);
                    let bearer = names.template.iter().find(carries).map_or(names.default_bearer, |t| t.1);
                    BearerId::from_index(bearer)
                });
                all.config.pairs.push(PairConfig {
                    ues,
                    layers: spec.layers(),
                    link: spec.link.clone(),
                    mode: spec.modes(),
                    selection: spec.selection,
                    lossless: spec.lossless,
                    infrastructure,
                });
                let name = if several { format!("{name}-{}", i + 1) } else { name.clone() };
                all.bearers.push(name.clone());
                all.pairs.push(PairNames { name, flows: spec.flows.clone() });
            }
        }
    }
}

/// Checks the sidelinks of `spec`.
pub(super) fn check(spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    let keys = keys_set(spec).filter_map(|key| key.strip_prefix("sidelink."));
    let set: BTreeSet<&str> = keys.filter_map(|key| key.split('.').next()).collect();
    check_times(spec, doc, found);
    for (name, pair) in &spec.sidelink {
        check_pair(name, pair, set.contains(name.as_str()), spec, doc, found);
    }
}

/// Checks the sidelinks of `part`, which are those of `whole` with other modes.
pub(super) fn check_entries(part: &Spec, whole: &Spec, doc: &Document, found: &mut Diagnostics) {
    for (name, pair) in &part.sidelink {
        check_pair(name, pair, true, whole, doc, found);
    }
}

/// Checks a pair; `set`: its modes are changed by keys during the run.
fn check_pair(
    name: &str,
    pair: &SidelinkSpec,
    set: bool,
    spec: &Spec,
    doc: &Document,
    found: &mut Diagnostics,
) {
    let path = format!("sidelink.{}", dotted([name]));
    if spec.handover.is_some() {
        // A pair belongs to one cell, which grants the blocks of its destinations.
        let d = doc.error_at(&path, "a sidelink's UEs cannot be handed over");
        found.push(d.help("leave out `[handover]`, or the sidelink"));
    }
    check_ends(pair, spec, &path, doc, found);
    for flow in pair.flows.iter().filter(|f| !spec.flow.contains_key(*f)) {
        let near = found.nearest(flow, spec.flow.keys());
        let message = format!("no flow is called `{flow}`");
        found.push(doc.error_at(&format!("{path}.flows"), message).help_opt(near));
    }
    check_distance(pair, spec, &path, doc, found);
    if pair.rlc.mode != Mode::Um {
        let d = doc.error_at(&format!("{path}.rlc.mode"), "a sidelink's bearer is unacknowledged");
        found.push(d.help("TS 36.322 clause 4.2.1.2.1 has RLC UM for sidelinks: `mode = \"um\"`"));
    }
    if set || pair.selection.is_some() {
        check_switched_bearers(pair, spec, &path, doc, found);
    }
    check_values(pair, &path, doc, found);
}

/// Checks that both ends are UE tables of the same count that one cell serves.
fn check_ends(pair: &SidelinkSpec, spec: &Spec, path: &str, doc: &Document, found: &mut Diagnostics) {
    let key = format!("{path}.between");
    let mut ends = Vec::new();
    for end in &pair.between {
        match spec.ue.get(end) {
            Some(ue) => ends.push(ue),
            None => {
                let near = found.nearest(end, spec.ue.keys());
                let message = format!("no UE table is called `{end}`");
                found.push(doc.error_at(&key, message).help_opt(near));
            }
        }
    }
    let [a, b] = ends[..] else { return };
    if pair.between[0] == pair.between[1] {
        found.push(doc.error_at(&key, "a sidelink has two different ends"));
    } else if a.count != b.count {
        let message = format!("{} UEs cannot be paired with {}", a.count, b.count);
        found.push(doc.error_at(&key, message).help("give both tables the same `count`"));
    } else if spec.serving(a).is_none() || spec.serving(a) != spec.serving(b) {
        let d = doc.error_at(&key, "both ends of a sidelink are in one cell");
        found.push(d.help("set `cell` of both UE tables to the same cell"));
    }
}

/// A sidelink repeats a block on the same resource blocks 8 TTIs after its transmission. The eNB
/// must have decoded the block before it grants these resource blocks to the uplink.
fn check_times(spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    let pairs = spec.sidelink.values().flat_map(|pair| &pair.between);
    let ends = pairs.chain(spec.multicast.values().map(|group| &group.from));
    let cells: BTreeSet<&str> = ends.filter_map(|ue| spec.serving(spec.ue.get(ue)?)).collect();
    for cell in cells {
        let times = spec.cell[cell].timing;
        if times.decode + times.grant > 8 {
            let key = format!("cell.{}.timing.grant", dotted([cell]));
            let message = "a sidelink repeats a block 8 TTIs after it was sent: the grants come too early";
            let help = "`timing.decode` and `timing.grant` of a cell with a sidelink are at most 8 together";
            found.push(doc.error_at(&key, message).help(help));
        }
    }
}

/// Checks that `apart` is a range, and that no other key places the second end.
fn check_distance(pair: &SidelinkSpec, spec: &Spec, path: &str, doc: &Document, found: &mut Diagnostics) {
    let Some([least, most]) = pair.apart else { return };
    let key = format!("{path}.apart");
    if !(0.0..=1e5).contains(&least.0) || !(least.0..=1e5).contains(&most.0) {
        found.push(doc.error_at(&key, "0 m to 100 km, the smallest distance first"));
    }
    let placed = |ue: &UeSpec| ue.drop.is_some() || ue.ring.is_some() || ue.track.is_some();
    if spec.ue.get(&pair.between[1]).is_some_and(placed) {
        let message = format!("`ue.{}` has a place of its own: a drop, a ring or a track", pair.between[1]);
        found.push(doc.error_at(&key, message).help("leave one of the two out"));
    }
}

/// Checks the modes of RLC. A mode switch ends one direction of the bearer to the eNB and keeps the
/// other. Status PDUs are sent in both, so the bearers between which the flows are switched must
/// not have any.
fn check_switched_bearers(
    pair: &SidelinkSpec,
    spec: &Spec,
    path: &str,
    doc: &Document,
    found: &mut Diagnostics,
) {
    for end in &pair.between {
        let Some(ue) = spec.ue.get(end) else { continue };
        let carries = |flows: &Vec<String>| flows.iter().any(|f| pair.flows.contains(f));
        let table = format!("ue.{}", dotted([end]));
        let dedicated = ue.dedicated.iter().find(|(_, b)| carries(&b.flows));
        let (rlc, key) = match dedicated {
            Some((name, bearer)) => (&bearer.rlc, format!("{table}.dedicated.{}", dotted([name]))),
            None => (&ue.rlc, table.clone()),
        };
        if rlc.mode != Mode::Um {
            let d = doc.error_at(path, format!("`{table}` has an acknowledged bearer to the eNB"));
            let help = format!("a mode switch needs RLC in unacknowledged mode: `{key}.rlc.mode = \"um\"`");
            found.push(d.help(help));
        }
    }
}

/// Runs the checks of the link, its bearer and the selection on their values.
fn check_values(pair: &SidelinkSpec, path: &str, doc: &Document, found: &mut Diagnostics) {
    let verdicts = [
        pair.link.validate().map_err(|e| (format!("link.{}", e.key), e.message)),
        pair.layers().validate().map_err(|e| (e.key, e.message)),
        pair.selection.map_or(Ok(Vec::new()), |s| s.validate()).map_err(|e| (e.key, e.message)),
    ];
    for verdict in verdicts {
        match verdict {
            Ok(warnings) => {
                for w in warnings {
                    found.push(doc.warning_at(&format!("{path}.{}", w.key), w.message));
                }
            }
            Err((key, message)) => found.push(doc.error_at(&format!("{path}.{key}"), message)),
        }
    }
}

//! Pitfalls of the LTE cell: scenarios that run with misleading results. The check of RLC covers a
//! small RLC buffer.

use std::collections::BTreeMap;

use lasthop_bearer::Direction;
use lasthop_lte::mac::adaptation::CqiInterference;
use lasthop_lte::network::{CellConfig, Silence, Silenced};
use lasthop_lte::phy::propagation::UeRadioConfig;
use lasthop_lte::rrc::{InitialState, RrcTiming};
use lasthop_radio::PathLoss;
use lasthop_radio::layout::WrapAround;
use lasthop_radio::lte::largest_tbs_bits;
use lasthop_units::{Bitrate, CellId, Duration, Id, Tti, UeId};

use super::UeSpec;
use crate::config::{Diagnostics, Document, dotted};
use crate::spec::group::node_of;
use crate::spec::{FlowSpec, Spec};
use crate::track::Tracks;

/// The MSS of a sender without information about the path (RFC 9293 section 3.7.1), and the default
/// of some simulators.
const SMALL_MSS: u16 = 536;
/// I_TBS of MCS 28, the highest of 64QAM (TS 36.213 table 7.1.7.1-1).
const BEST_I_TBS: u8 = 26;

pub(super) fn check(spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    for (name, flow) in &spec.flow {
        let path = format!("flow.{}", dotted([name]));
        let groups: Vec<&UeSpec> =
            [&flow.from, &flow.to].iter().filter_map(|end| group_of(spec, end)).collect();
        if groups.is_empty() {
            continue;
        }
        small_segments(flow, &path, doc, found);
        for ue in groups {
            before_attach(flow, ue, spec, &path, doc, found);
            endless_queue(flow, ue, &path, doc, found);
        }
    }
    for name in spec.cell.keys() {
        for direction in Direction::BOTH {
            too_much(name, direction, spec, doc, found);
        }
    }
    same_edges(spec, doc, found);
    fill_without_reports(spec, doc, found);
    if !found.has_errors() {
        strange_distances(spec, doc, found);
        low_antennas(spec, doc, found);
        silent_uplinks(spec, doc, found);
    }
}

/// Warns of a moment at which blocks are filled, if no RLC entity has it.
fn fill_without_reports(spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    for (name, _) in spec.cell.iter().filter(|(_, c)| !c.timing.uplink_fill.is_zero()) {
        let used = |ue: &UeSpec| {
            ue.rlc.shortcuts().event_reports && spec.candidates(ue).any(|candidate| candidate == name)
        };
        if !spec.ue.values().any(used) {
            let key = format!("cell.{}.timing.uplink_fill", dotted([name]));
            let message =
                "this key has no effect here: only RLC with `shortcuts.event_reports` fills its blocks later";
            found.push(
                doc.warning_at(&key, message)
                    .help("`rlc.shortcuts.event_reports = true` of a UE in this cell, or remove the key"),
            );
        }
    }
}

/// Warns of UEs at start positions where settings of the uplink keep them silent, though their
/// power would be sufficient.
fn silent_uplinks(spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    // With the default P0 and above every UE with power headroom is decoded.
    let quiet = |c: &CellConfig| {
        let control = &c.uplink.power_control;
        !c.uplink.power_aware || control.enabled && control.p0.0 < -90.0
    };
    if !spec.cell.values().any(quiet) {
        return;
    }
    let all = spec.cellular(&Tracks::new());
    let mut propagation = all.config.propagation(spec.scenario.seed);
    let mut ids = 0..all.config.ues.len();
    let mut silences: BTreeMap<CellId, Silence<'_>> = BTreeMap::new();
    for (name, ue) in &spec.ue {
        let Some(cell) = spec.candidates(ue).next() else { continue };
        let here = ids.by_ref().take(ue.count as usize).map(UeId::from_index);
        let mut silenced = here.filter_map(|id| {
            let config = &all.config.ues[id];
            let cell = &all.config.cells[config.serving];
            if ue.radio.pinned_sinr.is_some() || ue.track.is_some() || !quiet(cell) {
                return None;
            }
            let silence = silences.entry(config.serving).or_insert_with(|| cell.silence(config.serving));
            silence.of(config, propagation.gains(config.serving, id, Tti(0)).0)
        });
        let Some(first) = silenced.next() else { continue };
        let who = match (ue.count, 1 + silenced.count()) {
            (1, _) => "it starts".to_owned(),
            (all, n) => format!("{n} of these {all} UEs start"),
        };
        let (what, help) = match first {
            Silenced::BySounding => (
                "the sounding signal over the whole band is below the lowest MCS: without `uplink.power_aware` the eNB grants nothing, although it could grant a few blocks",
                format!(
                    "`cell.{}.uplink.power_aware = true`, unless a simulator without it is to be reproduced",
                    dotted([cell])
                ),
            ),
            Silenced::ByOpenLoop => (
                "open-loop power control leaves power unused, and the report that answers a grant is not decoded: no power control command raises it",
                "a larger `uplink.power_control.p0` or `alpha`".to_owned(),
            ),
        };
        let message = format!("{who} where {what}");
        found.push(doc.warning_at(&format!("ue.{}", dotted([name])), message).help(help));
    }
}

/// Warns of reuse that no CQI reflects, and of cells whose edges have the same blocks.
fn same_edges(spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    for (name, cell) in &spec.cell {
        let own = cell.downlink.reuse.is_some() || cell.downlink.blocks.is_some();
        if own
            && cell.downlink.cqi.interference == CqiInterference::Reference
            && spec.cell.len() + spec.layout.len() > 1
        {
            let key = format!("cell.{}.downlink", dotted([name]));
            let message =
                "CQI is measured on always-on reference signals, so it does not reflect frequency reuse";
            found.push(
                doc.warning_at(&key, message)
                    .help("`cqi.interference = \"data\"`, or rely on the outer loop link adaptation"),
            );
        }
    }
    let edge = |cell: &CellConfig| cell.downlink.reuse.map(|mut r| *r.edge());
    let several = |name: &str| spec.layout.get(name).is_some_and(|l| !l.blocks_by_sector);
    for (i, (name, cell)) in spec.cell.iter().enumerate() {
        let Some(mine) = edge(cell) else { continue };
        let twin = spec.cell.iter().take(i).find(|(_, other)| edge(other) == Some(mine)).map(|(n, _)| n);
        let own = "give each its own `edge`".to_owned();
        let (message, help) = match twin {
            Some(twin) => {
                (format!("the edges of `{twin}` and of this cell have the same blocks and interfere"), own)
            }
            None if several(name) => (
                "the edges of all cells of this layout have the same blocks and interfere".to_owned(),
                format!(
                    "`layout.{}.blocks_by_sector = true` gives each sector of a site its own",
                    dotted([name])
                ),
            ),
            None => continue,
        };
        let key = format!("cell.{}.downlink.reuse", dotted([name]));
        found.push(doc.warning_at(&key, message).help(help));
    }
}

/// Smallest distance without a warning [m]: Hata's and COST 231's formulas begin at 1 km, and are
/// in common use from some 100 m on.
const NEAR: f64 = 100.0;

/// Warns of UEs that start at distances for which the path loss model was not made.
fn strange_distances(spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    let model = &spec.radio.path_loss;
    let made_for = model.range().distance;
    let (low, high) = match model {
        PathLoss::LogDistance { reference_distance, .. } => (reference_distance.0, f64::INFINITY),
        _ => (made_for.0.min(NEAR), made_for.1),
    };
    if (low, high) == (0.0, f64::INFINITY) || spec.cell.is_empty() {
        return;
    }
    let (all, tables) = spec.placed(&Tracks::new());
    let mut ues = all.config.ues.iter();
    for (name, ue) in &spec.ue {
        let cells: Vec<&CellConfig> = spec
            .candidates(ue)
            .flat_map(|c| tables[c].clone())
            .map(|c| &all.config.cells[CellId::from_index(c)])
            .collect();
        let here = ues.by_ref().take(ue.count as usize);
        // A pinned UE has no path loss, and a track has other places.
        if ue.radio.pinned_sinr.is_some() || ue.track.is_some() || cells.is_empty() {
            here.for_each(drop);
            continue;
        }
        let nearest = here.map(|u| {
            cells
                .iter()
                .map(|c| apart(model, c, &u.radio, all.config.wrap.as_ref()))
                .fold(f64::INFINITY, f64::min)
        });
        let outside: Vec<f64> = nearest.filter(|d| !(low..=high).contains(d)).collect();
        let Some(worst) = outside.iter().copied().reduce(|a, b| if a < low { a.min(b) } else { a.max(b) })
        else {
            continue;
        };
        let who = if ue.count == 1 {
            "it starts".into()
        } else {
            format!("{} of these {} UEs start", outside.len(), ue.count)
        };
        let what = match model {
            PathLoss::LogDistance { .. } => {
                format!("nearer than `reference_distance` ({low} m): the path loss at {low} m is used")
            }
            _ => {
                format!("outside the range of the path loss model, {} m to {} m", made_for.0, made_for.1)
            }
        };
        found.push(
            doc.warning_at(
                &format!("ue.{}", dotted([name])),
                format!("{who} {worst:.0} m from the nearest cell, {what}"),
            )
            .help("another `radio.path_loss`, or another place"),
        );
    }
}

/// Warns of antennas below the heights for which the path loss model has a loss.
fn low_antennas(spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    let (of_cell, of_ue) = spec.radio.path_loss.lowest();
    let cells = spec
        .cell
        .iter()
        .map(|(name, cell)| (format!("cell.{}", dotted([name])), cell.radio.position[2].0, of_cell));
    // A pinned UE has no path loss, and a track or a building has other heights.
    let by_position =
        |ue: &UeSpec| ue.radio.pinned_sinr.is_none() && ue.track.is_none() && ue.buildings.is_none();
    let ues = spec.ue.iter().filter(|(_, ue)| by_position(ue));
    let ues = ues.map(|(name, ue)| (format!("ue.{}", dotted([name])), ue.radio.position[2].0, of_ue));
    let ues = ues.filter(|_| !spec.cell.is_empty());
    for (key, height, lowest) in cells.chain(ues).filter(|(_, height, lowest)| height < lowest) {
        let message = format!(
            "its antenna is {height} m high, lower than the path loss model knows: it counts as at {lowest} m"
        );
        found.push(doc.warning_at(&key, message).help("`radio.position`, whose third value is the height"));
    }
}

/// The distance that the model uses: three-dimensional for log-distance and short ranges,
/// horizontal for the others.
fn apart(model: &PathLoss, cell: &CellConfig, ue: &UeRadioConfig, wrap: Option<&WrapAround>) -> f64 {
    let [x, y, z] = [0, 1, 2].map(|i| ue.position[i].0 - cell.radio.position[i].0);
    let [x, y] = wrap.map_or([x, y], |w| w.nearest([x, y]));
    match model {
        PathLoss::LogDistance { .. }
        | PathLoss::NrInh(_)
        | PathLoss::P1411Street
        | PathLoss::P1238 { .. }
        | PathLoss::Kun2600
        | PathLoss::V2vUrban(_)
        | PathLoss::V2vHighway => (x * x + y * y + z * z).sqrt(),
        _ => (x * x + y * y).sqrt(),
    }
}

/// The group of UEs at a flow's end, named as a whole or by one member.
fn group_of<'a>(spec: &'a Spec, end: &str) -> Option<&'a UeSpec> {
    let of_several = || {
        let (name, i) = node_of(end)?;
        spec.ue.get(name).filter(|ue| ue.count > 1 && i <= ue.count)
    };
    spec.ue.get(end).or_else(of_several)
}

fn small_segments(flow: &FlowSpec, path: &str, doc: &Document, found: &mut Diagnostics) {
    let Some(Ok(tcp)) = flow.over_tcp().map(|tcp| tcp.resolve()) else { return };
    if tcp.window.mss <= SMALL_MSS {
        let share = 100 * u32::from(tcp.window.mss) / (u32::from(tcp.window.mss) + 40);
        let message = format!(
            "segments of {} B over an LTE cell: three times as many packets and ACKs as with 1460 B, {share} % payload",
            tcp.window.mss
        );
        found.push(
            doc.warning_at(&format!("{path}.tcp.mss"), message)
                .help("an MTU of 1500 B takes `mss = \"1460 B\"`"),
        );
    }
}

fn before_attach(
    flow: &FlowSpec,
    ue: &UeSpec,
    spec: &Spec,
    path: &str,
    doc: &Document,
    found: &mut Diagnostics,
) {
    let Some(cell) = spec.serving(ue).and_then(|c| spec.cell.get(c)) else { return };
    let rrc = &cell.rrc;
    if !flow.autostart || rrc.start != InitialState::Attach || rrc.timing != RrcTiming::Real {
        return;
    }
    let exchange = rrc.exchange(cell.timing.decode, cell.timing.grant);
    let ready = Duration::from_millis(rrc.informed(Tti(0)).0 + exchange);
    if flow.start < ready {
        let message = format!("the flow starts at {}, no UE is attached before {ready}", flow.start);
        found.push(
            doc.warning_at(&format!("{path}.start"), message)
                .help("start it at \"500 ms\" or later, or let the UEs begin connected (`rrc.start`)"),
        );
    }
}

/// Warns of a transfer without end into a buffer without limit.
fn endless_queue(flow: &FlowSpec, ue: &UeSpec, path: &str, doc: &Document, found: &mut Diagnostics) {
    if flow.app.is_bulk() && is_endless(ue) {
        found.push(
            doc.warning_at(
                path,
                "a bulk transfer into an unlimited RLC buffer: its queue grows throughout the run",
            )
            .help("`rlc.buffer.bytes` of about one bandwidth-delay product, 2 MB for 20 MHz"),
        );
    }
}

/// Number of cells of a table.
fn cells_of(spec: &Spec, cell: &str) -> u64 {
    let layout = spec.layout.get(cell).filter(|l| l.validate().is_ok());
    layout.map_or(1, |l| l.places().len() as u64 * u64::from(l.sectors))
}

/// Largest total rate of the cells of a table [bit/s].
pub(super) fn best(spec: &Spec, cell: &str, direction: Direction) -> u64 {
    let config = &spec.cell[cell];
    let layers = if direction == Direction::Downlink { config.most_layers() as u64 } else { 1 };
    let one = u64::from(largest_tbs_bits(config.resource_blocks as usize, BEST_I_TBS)) * layers * 1000;
    one.saturating_mul(cells_of(spec, cell))
}

/// The rate of the largest transport block of any cell in each TTI.
pub(super) fn best_of_a_cell(spec: &Spec) -> Option<Bitrate> {
    let best = spec.cell.values().map(|c| {
        let one = u64::from(largest_tbs_bits(c.resource_blocks as usize, BEST_I_TBS));
        one * c.most_layers() as u64 * 1000
    });
    best.max().map(Bitrate)
}

/// True if RLC's buffer of its default bearer has no limit.
fn is_endless(ue: &UeSpec) -> bool {
    ue.rlc.buffer.bytes.value().is_none() && ue.rlc.buffer.packets.value().is_none()
}

fn too_much(cell: &str, direction: Direction, spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    let offered: u64 = spec.flow.values().map(|f| offered(f, cell, direction, spec)).sum();
    let (cells, best) = (cells_of(spec, cell), best(spec, cell, direction));
    if offered > best {
        let (way, message) = match direction {
            Direction::Downlink => ("down", "to"),
            Direction::Uplink => ("up", "from"),
        };
        let endless = spec.ue.values().filter(|ue| spec.serving(ue) == Some(cell)).any(is_endless);
        let who = if cells == 1 { "the cell carries".into() } else { format!("its {cells} cells carry") };
        let message = format!(
            "the flows {message} this cell's UEs offer {}, {who} {} {way} at best",
            Bitrate(offered),
            Bitrate(best)
        );
        found.push(
            doc.warning_at(&format!("cell.{}", dotted([cell])), message)
                .help(match endless {
                    false => "the excess waits in RLC's buffer and is dropped there",
                    true => "the excess waits in RLC's buffer, which has no limit: its memory grows throughout the run; set `rlc.buffer.bytes`",
                }),
        );
    }
}

/// The constant rates that a flow offers to, or from, the UEs of a cell [bit/s].
fn offered(flow: &FlowSpec, cell: &str, direction: Direction, spec: &Spec) -> u64 {
    let end = match direction {
        Direction::Downlink => &flow.to,
        Direction::Uplink => &flow.from,
    };
    if group_of(spec, end).and_then(|ue| spec.serving(ue)) != Some(cell) {
        return 0;
    }
    // Other flows are limited by a congestion control.
    let rate = flow.app.mean_rate().map_or(0, |rate| rate.0);
    // Data to a group is sent once.
    let pairs = if spec.group_of_flow(flow).is_some() { 1 } else { spec.pairs_of(flow) };
    rate * pairs * u64::from(flow.count)
}

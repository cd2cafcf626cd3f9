//! Checks of combinations of the keys of cells and UEs.

use std::collections::BTreeMap;

use lasthop_lte::mac::reuse::BlockRange;
use lasthop_lte::mac::scheduler::{SCHEDULERS, SchedulerConfig};
use lasthop_lte::network::CellConfig;
use lasthop_radio::Antenna;

use super::cellular::{UeSpec, validate_bearers};
use crate::config::{Diagnostics, Document, dotted, near_or_all};
use crate::extensions::Extensions;
use crate::spec::Spec;
use crate::spec::common_checks::{check_mtu, check_node_name, one_place};
use crate::spec::layout::LayoutSpec;

/// Largest number of cells of one layout.
const MAX_CELLS: u64 = 1200;

pub(super) fn check(spec: &Spec, doc: &Document, extensions: &Extensions, found: &mut Diagnostics) {
    match spec.radio.validate() {
        Ok(warnings) => {
            for w in warnings.into_iter().filter(|_| !spec.ue.is_empty()) {
                found.push(doc.warning_at(&format!("radio.{}", w.key), w.message));
            }
        }
        Err(e) => found.push(doc.error_at(&format!("radio.{}", e.key), e.message)),
    }
    super::handover::check(spec, doc, found);
    check_node_name(&spec.core.gateway, "core.gateway", doc, found);
    for (name, cell) in &spec.cell {
        let path = format!("cell.{}", dotted([name]));
        if let Some(enb) = &cell.enb {
            check_node_name(enb, &format!("{path}.enb"), doc, found);
        }
        match cell.validate() {
            Ok(warnings) => {
                for w in warnings {
                    found.push(doc.warning_at(&format!("{path}.{}", w.key), w.message));
                }
            }
            Err(e) => found.push(doc.error_at(&format!("{path}.{}", e.key), e.message)),
        }
        for (direction, scheduler) in ["downlink", "uplink"].into_iter().zip(cell.schedulers()) {
            check_scheduler(scheduler, &format!("{path}.{direction}.scheduler"), doc, extensions, found);
        }
    }
    check_layouts(spec, doc, found);
    for (name, ue) in &spec.ue {
        check_ue(name, ue, spec, doc, found);
    }
    super::sidelink::check(spec, doc, found);
    super::multicast::check(spec, doc, found);
}

/// Checks that a scheduler that is not built in is one of the caller's own, with valid parameters.
fn check_scheduler(
    scheduler: &SchedulerConfig,
    path: &str,
    doc: &Document,
    extensions: &Extensions,
    found: &mut Diagnostics,
) {
    let SchedulerConfig::Custom(own) = scheduler else { return };
    let Some(definition) = extensions.schedulers().get(&own.name) else {
        let ours = extensions.schedulers().iter().map(|d| d.name());
        let known: Vec<&str> = SCHEDULERS.iter().map(|e| e.name).chain(ours).collect();
        let help = near_or_all(&own.name, "names", &known);
        found.push(doc.error_at(path, format!("unknown name \"{}\"", own.name)).help(help));
        return;
    };
    if let Some(wrong) = definition.unknown_parameter(&own.parameters) {
        let known: Vec<&str> = definition.parameters().iter().map(|p| p.name.as_str()).collect();
        let message = format!("`{}` has no parameter `{wrong}`", own.name);
        let key = format!("{path}.{}", dotted([wrong]));
        found.push(doc.error_at_key(&key, message).help(near_or_all(wrong, "parameters", &known)));
    }
}

fn check_ue(name: &str, ue: &UeSpec, spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    let path = format!("ue.{}", dotted([name]));
    if ue.count == 0 {
        found.push(doc.error_at(&format!("{path}.count"), "no UE at all").help("remove the table instead"));
    }
    check_mtu(ue.mtu, &format!("{path}.mtu"), doc, found);
    match &ue.cell {
        Some(cell) if !spec.cell.contains_key(cell) => {
            let near = found.nearest(cell, spec.cell.keys());
            found.push(
                doc.error_at(&format!("{path}.cell"), format!("no cell is called `{cell}`")).help_opt(near),
            );
        }
        None if spec.cell.is_empty() => {
            found.push(doc.error_at(&path, "a UE needs a cell").help("add a `[cell.<name>]` table"));
        }
        _ => {}
    }
    check_place(ue, &path, spec, doc, found);
    if let Some(Err((key, message))) = ue.ip_buffer.as_ref().map(lasthop_net::QueueConfig::validate) {
        found.push(doc.error_at(&format!("{path}.ip_buffer.{key}"), message));
    }
    if let Err(e) = ue.radio.validate() {
        found.push(doc.error_at(&format!("{path}.radio.{}", e.key), e.message));
    }
    if let Some(Err(e)) = ue.persistent.map(|p| p.validate()) {
        found.push(doc.error_at(&format!("{path}.persistent.{}", e.key), e.message));
    }
    if let Some(Err(e)) = ue.persistent_uplink.map(|p| p.validate()) {
        found.push(doc.error_at(&format!("{path}.persistent_uplink.{}", e.key), e.message));
    }
    if ue.persistent_uplink.is_some() && !(spec.sidelink.is_empty() && spec.multicast.is_empty()) {
        let message = "semi-persistent grants of the uplink and sidelinks share no cell yet";
        let help = "remove one of them, or give the sidelink `persistent` grants";
        found.push(doc.error_at(&format!("{path}.persistent_uplink"), message).help(help));
    }
    for verdict in validate_bearers(ue) {
        found.push(match verdict {
            Ok(w) => doc.warning_at(&format!("{path}.{}", w.key), w.message),
            Err(e) => doc.error_at(&format!("{path}.{}", e.key), e.message),
        });
    }
    check_dedicated(ue, &path, spec, doc, found);
}

/// Checks that each dedicated bearer has flows, and that no two bearers have the same flow.
fn check_dedicated(ue: &UeSpec, path: &str, spec: &Spec, doc: &Document, found: &mut Diagnostics) {
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
                let near = found.nearest(flow, spec.flow.keys());
                found.push(doc.error_at(&key, format!("no flow is called `{flow}`")).help_opt(near));
            }
            if let Some(other) = carried.insert(flow, bearer) {
                let message = format!("flow `{flow}` uses `{other}` already");
                found.push(doc.error_at(&key, message).help("name it in one bearer only"));
            }
        }
    }
}

fn check_place(ue: &UeSpec, path: &str, spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    let mut verdicts = Vec::new();
    verdicts.extend(ue.ring.map(|ring| ring.validate()));
    verdicts.extend(ue.buildings.map(|b| b.validate()));
    verdicts.extend(ue.drop.map(|drop| drop.validate(spec.layout_of(ue))));
    for e in verdicts.into_iter().filter_map(Result::err) {
        found.push(doc.error_at(&format!("{path}.{}", e.key), e.message));
    }
    let key = format!("{path}.ring");
    let drawn = [("ring", ue.ring.is_some()), ("drop", ue.drop.is_some())];
    let places = [ue.radio.position, UeSpec::default().radio.position];
    one_place(doc, path, &drawn, places, found);
    if ue.ring.is_some() && ue.drop.is_some() {
        found.push(doc.error_at(&key, "`ring` and `drop` both set where the UEs are").help("keep one"));
    }
    let one = spec.serving(ue).is_some_and(|cell| !spec.layout.contains_key(cell));
    if ue.ring.is_some() && !one && !spec.cell.is_empty() {
        found.push(
            doc.error_at(&key, "a ring around which cell?")
                .help("set `cell` to a single one, or use `drop = { kind = \"disc\", radius = ... }`"),
        );
    }
}

/// Checks that `blocks_by_sector` has blocks to shift, and room for them.
fn check_shifted(
    layout: &LayoutSpec,
    cell: &CellConfig,
    path: &str,
    doc: &Document,
    found: &mut Diagnostics,
) {
    let key = format!("{path}.blocks_by_sector");
    let mut last = layout.last_sector(cell);
    let reuse = last.downlink.reuse.as_mut().map(|r| *r.edge());
    let ranges: Vec<_> = last.downlink.blocks.into_iter().chain(reuse).collect();
    if ranges.is_empty() {
        let message = "no blocks belong to a cell: neither `downlink.blocks` nor `downlink.reuse` is set";
        found.push(doc.warning_at(&key, message).help("set one of them in the cell's table"));
    }
    let beyond = |r: &BlockRange| r.first.saturating_add(r.count) > last.resource_blocks;
    if ranges.iter().any(beyond) || (last.validate().is_err() && cell.validate().is_ok()) {
        let message =
            format!("the blocks of {} sectors do not fit into {}", layout.sectors, last.resource_blocks);
        found.push(
            doc.error_at(&key, message)
                .help("use fewer blocks per cell: a third of the carrier with three sectors"),
        );
    }
}

fn check_layouts(spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    let mut names: BTreeMap<String, &str> = BTreeMap::new();
    for (name, layout) in &spec.layout {
        let path = format!("layout.{}", dotted([name]));
        if !spec.cell.contains_key(name) {
            let near = found.nearest(name, spec.cell.keys());
            let message =
                format!("no cell is called `{name}`: a layout multiplies the cell table of its name");
            found.push(doc.error_at_key(&path, message).help_opt(near));
        }
        if let Err(e) = layout.validate() {
            found.push(doc.error_at(&format!("{path}.{}", e.key), e.message));
            continue;
        }
        if let Some(cell) = spec.cell.get(name).filter(|_| layout.blocks_by_sector) {
            check_shifted(layout, cell, &path, doc, found);
        }
        let antenna = spec.cell.get(name).map(|c| c.radio.antenna);
        if layout.sectors > 1 && matches!(antenna, Some(Antenna::Omni { .. })) {
            let message = format!(
                "{} cells at one place with omnidirectional antennas interfere with each other fully",
                layout.sectors
            );
            found.push(doc.warning_at(&format!("{path}.sectors"), message).help(format!(
                "give `cell.{}.radio` an `antenna = \"sector\"`, or one sector a site",
                dotted([name])
            )));
        }
        if layout.wrap_around && spec.layout.len() + spec.cell.len() > 2 {
            let message = "the ground is repeated for all cells: there can be no others";
            found.push(doc.error_at(&format!("{path}.wrap_around"), message).help("keep one cell table"));
        }
        let cells = layout.places().len() as u64 * u64::from(layout.sectors);
        if cells > MAX_CELLS {
            found.push(
                doc.error_at(&path, format!("{cells} cells: at most {MAX_CELLS} fit in a run"))
                    .help("fewer rings, or fewer sectors"),
            );
        } else if let Some(cell) = spec.cell.get(name) {
            let cells = layout.cells(name, cell, 0).into_iter();
            names.extend(cells.map(|(suffix, _)| (format!("{name}-{suffix}"), name.as_str())));
        }
    }
    for cell in spec.cell.keys() {
        if let Some(layout) = names.get(cell) {
            let message = format!("a cell of `layout.{layout}` has this name already");
            found.push(doc.error_at_key(&format!("cell.{}", dotted([cell])), message).help("rename it"));
        }
    }
}

//! LTE: cells, UEs, their bearers, sidelinks and multicast groups; their interface to a scenario.

mod buffer;
mod cellular;
mod change;
mod check;
mod handover;
mod memory;
mod multicast;
mod pitfalls;
pub(super) mod profile;
mod sidelink;

use std::path::Path;

use lasthop_lte::network::CellConfig;
use lasthop_units::Bitrate;

use super::Spec;
use super::access::{AccessChanges, AccessSpec, InForce, Placed, RuntimeKeys};
use super::at::{Scalar, changes, keys_set};
use super::buffers::Buffers;
use super::group::{Group, Population, names_one};
use crate::config::{Diagnostics, Document, dotted};
use crate::extensions::Extensions;
use crate::track::Tracks;

pub use cellular::{Cellular, CoreSpec, UeSpec};
pub use change::LteChange;
pub use multicast::MulticastSpec;
pub use profile::describe_cell_profiles;
pub use sidelink::SidelinkSpec;

/// Largest number of UEs: both ends of each have an [`Entry`](crate::route::Entry).
pub const MAX_UES: u64 = 20_000;

/// The tables of LTE.
pub(super) struct Lte;

impl AccessSpec for Lte {
    fn fill(&self, document: &mut Document) {
        profile::fill(document);
        buffer::fill(document);
    }

    fn load_tracks(
        &self,
        spec: &Spec,
        doc: &Document,
        base: &Path,
        tracks: &mut Tracks,
        found: &mut Diagnostics,
    ) {
        cellular::load_tracks(spec, doc, base, tracks, found);
    }

    fn track_files<'a>(&self, spec: &'a Spec) -> Vec<&'a str> {
        spec.ue.values().filter_map(|ue| ue.track.as_ref()).map(|track| track.file.as_str()).collect()
    }

    fn placed(&self, spec: &Spec) -> Vec<Placed> {
        let placed = |(name, cell): (String, CellConfig)| Placed {
            kind: "cell",
            name,
            position: cell.radio.position,
            azimuth: cell.radio.antenna.azimuth(),
        };
        spec.laid_out().into_iter().map(placed).collect()
    }

    fn kinds_of_nodes(&self) -> &'static [&'static str] {
        &["cell", "UE"]
    }

    fn interfaces(&self, spec: &Spec) -> Vec<String> {
        let names = spec.cell_names();
        names.iter().flat_map(|name| ["mac", "rlc", "pdcp"].map(|layer| format!("{name}.{layer}"))).collect()
    }

    fn bases<'a>(&self, spec: &'a Spec) -> Vec<(&'a str, &'static str)> {
        spec.cell.keys().map(|name| (spec.cell_node(name), "an eNB")).collect()
    }

    fn groups<'a>(&self, spec: &'a Spec) -> Vec<&'a str> {
        spec.ue.keys().map(String::as_str).collect()
    }

    fn group<'a>(&self, spec: &'a Spec, name: &str) -> Option<Group<'a>> {
        let (name, ue) = spec.ue.get_key_value(name)?;
        Some(Group {
            table: "ue",
            name,
            count: ue.count,
            what: "a UE",
            several: "UEs",
            served_by: spec.candidates(ue).map(|cell| spec.cell_node(cell)).collect(),
            choice: "cell",
            marks: ue.marks(),
        })
    }

    fn population(&self, spec: &Spec) -> Option<Population> {
        let count = spec.ue.values().map(|u| u64::from(u.count)).sum();
        // Measured: an idle UE with its bearer.
        Some(Population { table: "ue", what: "UEs", count, most: MAX_UES, bytes: 45_000 })
    }

    fn receivers(&self, spec: &Spec, name: &str) -> Option<Vec<String>> {
        spec.multicast.get(name).map(|group| group.receivers(spec))
    }

    fn check(&self, spec: &Spec, doc: &Document, extensions: &Extensions, found: &mut Diagnostics) {
        check::check(spec, doc, extensions, found);
        pitfalls::check(spec, doc, found);
    }

    fn check_entries(&self, part: &Spec, whole: &Spec, doc: &Document, found: &mut Diagnostics) {
        sidelink::check_entries(part, whole, doc, found);
    }

    /// Warns of UEs all of whose cells stay down.
    fn check_idle(&self, spec: &Spec, doc: &Document, found: &mut Diagnostics) {
        for (name, ue) in &spec.ue {
            let mut candidates = spec.candidates(ue).peekable();
            let Some(first) = candidates.peek().copied() else { continue };
            if candidates.all(|cell| stays_down(spec, cell)) {
                let message = format!("`{name}` is never served: the cell is down throughout");
                let key = format!("cell.{}.down", dotted([first]));
                let help = "an `[[at]]` can switch the cell on during the run";
                found.push(doc.warning_at(&key, message).help(help));
            }
        }
    }

    fn count_buffers<'a>(&self, spec: &'a Spec, buffers: &mut Buffers<'a>) {
        memory::count(spec, buffers);
    }

    fn gives_hints(&self, spec: &Spec, end: &str) -> bool {
        spec.ue.iter().any(|(name, ue)| names_one(name, ue.count, end))
    }

    fn best_hint(&self, spec: &Spec) -> Option<Bitrate> {
        pitfalls::best_of_a_cell(spec)
    }

    fn uses_scheduler(&self, spec: &Spec, name: &str) -> bool {
        spec.cell.values().any(|c| c.schedulers().iter().any(|s| s.name() == name))
    }

    fn runtime_keys(&self) -> RuntimeKeys {
        change::RUNTIME_KEYS
    }
}

impl AccessChanges for Lte {
    type Change = LteChange;

    fn spread(&self, spec: &Spec, key: &str, value: &Scalar) -> Option<Result<Vec<LteChange>, String>> {
        change::spread(spec, key, value)
    }

    fn in_force(&self, _: &Spec) -> InForce<LteChange> {
        Box::new(change::take_over)
    }
}

/// True for a cell, or all cells of a layout, that no change switches on.
fn stays_down(spec: &Spec, name: &str) -> bool {
    let key = format!("cell.{}", dotted([name]));
    // Cells of a layout may be switched by their names, `macro-1-3`.
    let one_of_them = format!("{key}-");
    let of_layout = || keys_set(spec).any(|k| k.starts_with(&one_of_them));
    let down = spec.cell.get(name).is_some_and(|c| c.down);
    down && !changes(spec, &[format!("{key}.down")]) && !of_layout()
}

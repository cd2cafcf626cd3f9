//! Changes of LTE during a run: cells are switched off and on, pairs of UEs change their modes.

use lasthop_lte::mac::sidelink::LinkMode;

use super::Spec;
use crate::spec::Scalar;
use crate::spec::access::{ChangeEvent, RuntimeKeys};

/// A change for the network of cells.
#[derive(Clone, Debug, PartialEq)]
pub enum LteChange {
    /// A cell is switched off or on.
    Cell {
        /// Its name.
        name: String,
        /// True for off.
        down: bool,
    },
    /// The pairs of a sidelink use these modes, from first to second and back.
    Sidelink {
        /// Its table.
        name: String,
        /// The modes.
        modes: [LinkMode; 2],
    },
}

impl LteChange {
    pub(in crate::spec) fn event(&self) -> Option<ChangeEvent> {
        match self {
            LteChange::Cell { name, down: true } => Some((format!("cell/{name}"), "cell-down")),
            LteChange::Cell { name, down: false } => Some((format!("cell/{name}"), "cell-up")),
            LteChange::Sidelink { .. } => None,
        }
    }
}

pub(super) const RUNTIME_KEYS: RuntimeKeys = &[
    ("cell.*.down", "a cell is switched off (true) or on again"),
    ("sidelink.*.forward", "which way a pair's packets go from first to second"),
    ("sidelink.*.reverse", "which way a pair's packets go back"),
];

pub(super) fn take_over(spec: &mut Spec, next: &mut Spec) -> Vec<LteChange> {
    let mut changes = Vec::new();
    for (name, cell) in &next.cell {
        if spec.cell.get(name).is_some_and(|before| before.down != cell.down) {
            changes.push(LteChange::Cell { name: name.clone(), down: cell.down });
        }
    }
    for (name, pair) in &next.sidelink {
        if spec.sidelink.get(name).is_some_and(|before| before.modes() != pair.modes()) {
            changes.push(LteChange::Sidelink { name: name.clone(), modes: pair.modes() });
        }
    }
    spec.cell.extend(std::mem::take(&mut next.cell));
    spec.sidelink.extend(std::mem::take(&mut next.sidelink));
    changes
}

/// The changes of the cells of layouts, for which the document has one table.
pub(super) fn spread(spec: &Spec, key: &str, value: &Scalar) -> Option<Result<Vec<LteChange>, String>> {
    let cells = cells_of_layout(spec, key)?;
    let Scalar::Bool(down) = *value else {
        return Some(Err(format!("expected true or false, found {}", value.to_toml())));
    };
    let switch = |name| LteChange::Cell { name, down };
    Some(Ok(cells.into_iter().map(switch).collect()))
}

/// The cells that `cell.NAME.down` switches where NAME is a layout, all of them, or one of its
/// cells (`macro-1-3`). The document has one table for them all, so it does not contain the state
/// of each.
fn cells_of_layout(spec: &Spec, key: &str) -> Option<Vec<String>> {
    let name = key.strip_prefix("cell.")?.strip_suffix(".down")?;
    spec.layout.iter().find_map(|(table, layout)| {
        let cells = layout.cells(table, spec.cell.get(table)?, 0).into_iter();
        let names: Vec<String> = cells.map(|(suffix, _)| format!("{table}-{suffix}")).collect();
        match name {
            all if all == table => Some(names),
            one => names.into_iter().find(|n| n == one).map(|n| vec![n]),
        }
    })
}

//! Limits of a run: numbers of flows and of nodes behind radios. They are checked before any name
//! of a group is made and any object is built.

use super::Spec;
use super::group::Population;
use super::kinds::ALL;
use crate::config::{Diagnostics, Document};

/// Largest number of flows of one scenario, all counts together.
pub(super) const MAX_FLOWS: u64 = 100_000;

/// Returns false when there are too many nodes of groups or flows: the errors are in `found`, and
/// no further checks are possible.
pub fn counts(spec: &Spec, doc: &Document, found: &mut Diagnostics) -> bool {
    let mut good = true;
    for Population { table, what, count, most, .. } in ALL.iter().filter_map(|access| access.population(spec))
    {
        if count > most {
            let message = format!("{count} {what}: at most {most} fit in a run");
            found.push(doc.error_at(table, message).help("lower `count`"));
            good = false;
        }
    }
    if !good {
        return false;
    }
    let flows = flows(spec);
    if flows > MAX_FLOWS {
        let message = format!("{flows} flows: at most {MAX_FLOWS} fit in a run");
        found.push(doc.error_at("flow", message).help("lower `count`"));
        return false;
    }
    true
}

pub(super) fn flows(spec: &Spec) -> u64 {
    spec.flow.values().map(|f| spec.pairs_of(f).saturating_mul(f.count.into())).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_are_checked_before_names_are_made() {
        for (table, what) in [("[ap.w]\n[station.s]\n", "stations"), ("[cell.c]\n[ue.u]\n", "UEs")] {
            let text = format!("[scenario]\nname = 'm'\nduration = '1 s'\n{table}count = 4294967295\n");
            let message = super::super::Scenario::parse(&text, "t.toml", std::path::Path::new(""), &[]);
            let message = message.unwrap_err().to_string();
            assert!(message.contains(&format!("4294967295 {what}: at most")), "{message}");
        }
    }
}

//! What a run may hold: numbers of UEs, stations and flows. Looked at before any name of a group is
//! made and anything is built.

use super::Spec;
use crate::config::{Diagnostics, Document};

/// Flows of one scenario, all counts together.
const MAX_FLOWS: u64 = 100_000;
/// Both ends of each have an [`Entry`](crate::route::Entry).
pub const MAX_UES: u64 = 20_000;
/// Everybody on a channel receives everybody else.
pub const MAX_STATIONS: u64 = 2_000;

/// False when there are more UEs, stations or flows than fit: what is said then is in `found`, and
/// nothing else can be.
pub fn counts(spec: &Spec, doc: &Document, found: &mut Diagnostics) -> bool {
    let ues = spec.ue.values().map(|u| u64::from(u.count)).sum::<u64>();
    let stations = spec.station.values().map(|s| u64::from(s.count)).sum::<u64>();
    let mut good = true;
    for (key, n, most, what) in [("ue", ues, MAX_UES, "UEs"), ("station", stations, MAX_STATIONS, "stations")]
    {
        if n > most {
            let told = format!("{n} {what}: at most {most} fit in a run");
            found.push(doc.error_at(key, told).help("lower `count`"));
            good = false;
        }
    }
    if !good {
        return false;
    }
    let flows = flows(spec);
    if flows > MAX_FLOWS {
        let told = format!("{flows} flows: at most {MAX_FLOWS} fit in a run");
        found.push(doc.error_at("flow", told).help("lower `count`"));
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
    fn numbers_are_looked_at_before_names_are_made() {
        for (table, what) in [("[ap.w]\n[station.s]\n", "stations"), ("[cell.c]\n[ue.u]\n", "UEs")] {
            let text = format!("[scenario]\nname = 'm'\nduration = '1 s'\n{table}count = 4294967295\n");
            let told = super::super::Scenario::parse(&text, "t.toml", std::path::Path::new(""), &[]);
            let told = told.unwrap_err().to_string();
            assert!(told.contains(&format!("4294967295 {what}: at most")), "{told}");
        }
    }
}

//! The bearers of a scenario, of all kinds.

use lasthop_bearer::End;

use super::bearer::entry;
use super::{Wiring, lte_rlc, umts};
use crate::names::name_key;
use crate::spec::{BearerSpec, Spec};

/// Wires the bearers in the order of their names.
pub(super) fn wire(spec: &Spec, wiring: &mut Wiring) {
    for (name, spec) in &spec.bearer {
        let nodes = [0, 1].map(|end| wiring.node(&spec.between()[end]));
        let key = name_key(&format!("bearer/{name}"));
        let access = match spec {
            BearerSpec::Umts(spec) => umts::access(name, spec, nodes, [wiring.seed, key]),
            BearerSpec::LteRlc(spec) => lte_rlc::access(name, spec, nodes, [wiring.seed, key]),
        };
        let id = wiring.add(access);
        wiring.connect(nodes[0], nodes[1], id, entry(End::Network));
        wiring.connect(nodes[1], nodes[0], id, entry(End::Ue));
    }
}

//! Checks of `[handover]` with the rest of a scenario, and its known pitfalls.

use lasthop_lte::mac::random_access::WINDOW_START;
use lasthop_lte::phy::TTI;
use lasthop_lte::rrc::Trigger;
use lasthop_lte_l2::pdcp::HandoverKind;
use lasthop_lte_l2::rlc::Mode;
use lasthop_radio::Mobility;

use crate::config::{Diagnostics, Document};
use crate::spec::Spec;

pub(super) fn check(spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    let cells: usize = spec.cell.len();
    let Some(handover) = &spec.handover else {
        let moving = spec.ue.iter().find(|(_, u)| u.radio.mobility != Mobility::Static);
        if let Some((name, _)) = moving.filter(|_| cells > 1 && spec.layout.is_empty()) {
            let message = "this UE moves and keeps its cell: there is no `[handover]`";
            found.push(doc.warning_at(&format!("ue.{name}"), message).help("add the table `[handover]`"));
        }
        return;
    };
    match handover.validate() {
        Ok(warnings) => {
            for w in warnings {
                found.push(doc.warning_at(&format!("handover.{}", w.key), w.message));
            }
        }
        Err(e) => found.push(doc.error_at(&format!("handover.{}", e.key), e.message)),
    }
    if cells < 2 && spec.layout.is_empty() {
        found.push(doc.warning_at("handover", "there is one cell: no UE can be handed over"));
    }
    let leads = spec.link.values().any(|l| l.between.contains(&spec.core.gateway));
    if !leads && !spec.ue.is_empty() {
        let message = format!("no link leads to the gateway `{}`", spec.core.gateway);
        let help = "links end at the gateway where there is a `[handover]`, not at an eNB: name one of their nodes in `core.gateway`";
        found.push(doc.error_at("handover", message).help(help));
    }
    // T304 stops with the random access response, at the earliest the one to a preamble in the TTI
    // after synchronisation.
    let needs = handover.processing + handover.interruption + TTI * (1 + WINDOW_START);
    if handover.t304 < needs {
        let message = format!(
            "the response of the target comes {needs} after the command or later: every handover will fail"
        );
        found.push(doc.warning_at("handover.t304", message).help("raise `t304` or shorten `interruption`"));
    }
    for (name, ue) in &spec.ue {
        let mut silent = |key: String, kind: HandoverKind, mode: Mode| {
            if kind == HandoverKind::Lossless && mode != Mode::Am && doc.get(&key).is_some() {
                let message = "only a bearer over RLC AM can be lossless: this one is handed over seamlessly (TS 36.323 clause 5.2)";
                found.push(doc.warning_at(&key, message).help("write \"seamless\", or `rlc.mode = \"am\"`"));
            }
        };
        silent(format!("ue.{name}.pdcp.handover"), ue.pdcp.handover, ue.rlc.mode);
        for (bearer, d) in &ue.dedicated {
            silent(format!("ue.{name}.dedicated.{bearer}.pdcp.handover"), d.pdcp.handover, d.rlc.mode);
        }
    }
    let pinned = spec.ue.iter().find(|(_, u)| u.radio.pinned_sinr.is_some());
    if let (Some((name, _)), true) = (pinned, handover.trigger != Trigger::None) {
        let message = "a pinned SINR does not change with the cell: measurements still follow the distance";
        found.push(doc.warning_at(&format!("ue.{name}.radio.pinned_sinr"), message));
    }
}

//! Checks of the applications of flows, and their changes during a run.

use lasthop_net::app::AppConfig;

use super::access::RuntimeKeys;
use super::{FlowSpec, Spec};
use crate::config::{Diagnostics, Document, dotted};

/// The keys of flows that may change during a run.
pub(super) const RUNTIME_KEYS: RuntimeKeys = &[
    ("flow.*.app.rate", "rate of the application of a flow: `bulk`, `cbr` and `on-off`"),
    ("flow.*.app.min_rate", "lowest rate of the encoder of a media flow"),
    ("flow.*.app.max_rate", "highest rate of the encoder of a media flow"),
    ("flow.*.app", "all parameters of such an application together, such as `\"bulk\"` without a rate again"),
];

/// Checks that the application fits its transport.
pub(super) fn check(name: &str, flow: &FlowSpec, doc: &Document, found: &mut Diagnostics) {
    if let Err((key, message)) = flow.app.validate(flow.transport.service()) {
        found.push(doc.error_at(&format!("flow.{}.app.{key}", dotted([name])), message));
    }
}

/// Checks the flows that change, which are all that `part` has.
pub(super) fn check_entries(part: &Spec, whole: &Spec, doc: &Document, found: &mut Diagnostics) {
    for (name, flow) in &part.flow {
        check(name, flow, doc, found);
        let path = format!("flow.{}.app", dotted([name]));
        let Some(before) = whole.flow.get(name).filter(|before| before.app != flow.app) else { continue };
        if before.app.name() != flow.app.name() {
            let message = format!("`flow.{name}` stays a `{}` during a run", before.app.name());
            let help = "use two flows, and let one stop and the other start";
            found.push(doc.error_at(&path, message).help(help));
        } else if !before.app.may_become(&flow.app) {
            let message = format!("what a `{}` does is fixed during a run", flow.app.name());
            let help =
                "the rate of `bulk`, `cbr` and `on-off` may change, `min_rate` and `max_rate` of `media`";
            found.push(doc.error_at(&path, message).help(help));
        }
    }
}

/// Takes over the new flows; returns the tables whose applications differ, with these.
pub(super) fn take_over(spec: &mut Spec, next: &mut Spec) -> Vec<(String, AppConfig)> {
    let differ = next.flow.iter().filter(|(name, flow)| spec.flow.get(*name) != Some(flow));
    let changes = differ.map(|(name, flow)| (name.clone(), flow.app.clone())).collect();
    spec.flow.extend(std::mem::take(&mut next.flow));
    changes
}

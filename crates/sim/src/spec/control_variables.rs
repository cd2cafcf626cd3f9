//! The key `output.cc_variables`: the variables of congestion controls that a run writes.

use lasthop_net::app::media_variables;
use lasthop_net::media::{RateControlName, RateControls};
use lasthop_tcp::CcName;
use lasthop_tcp::cc::Variable;

use super::capture::matches;
use super::{ControlSampling, NodeSpec, ROUND, Spec};
use crate::config::{Diagnostics, Document, near_or_all};

/// Checks for names that no sender of the scenario has, and for a selection without table `cc`.
pub(super) fn check(spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    let wanted = &spec.output.cc_variables;
    if wanted.is_empty() {
        return;
    }
    if spec.output.cc == ControlSampling::Off {
        let message = "these variables are not written: `output.cc` is \"off\"";
        let help = "set `output.cc` to \"interval\", \"change\" or \"ack\"";
        found.push(doc.warning_at("output.cc_variables", message).help(help));
    }
    let Some(controls) = controls(spec) else { return };
    let mut names: Vec<String> = vec![ROUND[0].to_owned()];
    names.extend(lasthop_tcp::sender_variables().into_iter().map(|Variable { name, .. }| name));
    for control in spec.flow.values().filter_map(|flow| flow.app.rate_control()) {
        if matches!(control.name, RateControlName::Custom(_)) {
            // The variables of a caller's own control are known only when it runs.
            return;
        }
        let shown = media_variables(control.name, &RateControls::default());
        names.extend(shown.into_iter().map(|Variable { name, .. }| name));
    }
    let registry = lasthop_tcp::registry();
    let used = registry.algorithms.into_iter().filter(|a| controls.iter().any(|name| *name == a.name));
    names.extend(used.flat_map(|a| a.variables).map(|Variable { name, .. }| name));
    names.sort();
    names.dedup();
    for (i, pattern) in wanted.iter().enumerate() {
        if !names.iter().any(|name| matches(pattern, name)) {
            let message = format!("no sender of this scenario has a variable `{pattern}`");
            let place = format!("output.cc_variables.{i}");
            found.push(doc.error_at(&place, message).help(near_or_all(pattern, "variables", &names)));
        }
    }
}

/// The congestion controls of all senders; `None`: the variables of some are not known before they
/// run.
fn controls(spec: &Spec) -> Option<Vec<String>> {
    let flows = spec.flow.values().filter_map(|flow| flow.over_tcp());
    let proxies = spec.node.values().filter_map(|node| match node {
        NodeSpec::Proxy(proxy) => Some([proxy.accept.as_ref(), proxy.connect.as_ref()]),
        NodeSpec::Snoop(_) | NodeSpec::External(_) | NodeSpec::Linux(_) => None,
    });
    flows
        .chain(proxies.flatten().flatten())
        .map(|tcp| match tcp.resolve().ok()?.cc {
            // The variables of a caller's own control are known only when it runs.
            CcName::Custom(_) => None,
            built_in => Some(built_in.name().to_owned()),
        })
        .collect()
}

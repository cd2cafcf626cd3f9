//! Warnings of keys without effect because a flow's sender is outside the simulation: a program at
//! an external node, or a socket of a real kernel.

use super::{ControlSampling, FlowSpec, Spec};
use crate::config::{Diagnostics, Document, dotted};

/// Who sends the data of a table of flows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sender {
    Simulated,
    Kernel,
    LeftOut,
}

impl Sender {
    fn of(flow: &FlowSpec, spec: &Spec) -> Sender {
        let (ends, fewer) = spec.simulated_ends_of(flow);
        if ends.is_empty() && fewer {
            return Sender::LeftOut;
        }
        let by_kernel = |pair: &[String; 2]| pair.iter().all(|end| spec.is_linux(end));
        if flow.over_tcp().is_some() && !ends.is_empty() && ends.iter().all(by_kernel) {
            return Sender::Kernel;
        }
        Sender::Simulated
    }
}

pub(super) fn check(spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    if !spec.has_real_packets() {
        return;
    }
    let sender = |name: &str| spec.flow.get(name).map_or(Sender::Simulated, |flow| Sender::of(flow, spec));
    for (i, when) in spec.when.iter().enumerate() {
        let Some(flow) = when.flow(spec) else { continue };
        if let Some(why) = without_variables(sender(flow), flow) {
            let key = if when.flow.is_some() { ".flow" } else { "" };
            let message = format!("this never happens: {why}");
            found.push(doc.warning_at(&format!("when.{i}{key}"), message).help("use `[[at]]`, or remove it"));
        }
    }
    for (name, fault) in &spec.fault {
        let path = format!("fault.{}", dotted([name]));
        let Some(flow) = fault.flow.as_deref() else { continue };
        match sender(flow) {
            Sender::LeftOut => {
                let message = format!("no packet is chosen: {}", left_out(flow));
                let help = "remove `flow`, or the table";
                found.push(doc.warning_at(&format!("{path}.flow"), message).help(help));
            }
            Sender::Kernel if fault.rounds.is_some() => {
                let message = format!("the fault does not end so: {}", of_kernel(flow));
                let help = "give `count` or `duration`";
                found.push(doc.warning_at(&format!("{path}.rounds"), message).help(help));
            }
            _ => {}
        }
    }
    let changes = spec.at.iter().enumerate().map(|(i, at)| (format!("at.{i}"), at.clone()));
    let triggers = spec.when.iter().enumerate().map(|(i, when)| (format!("when.{i}"), when.change()));
    for (path, change) in changes.chain(triggers) {
        let keys = [
            ("start", &change.start),
            ("stop", &change.stop),
            ("pause", &change.pause),
            ("resume", &change.resume),
        ];
        for (key, named) in keys {
            let flow = named.as_deref().and_then(|name| name.strip_prefix("flow."));
            if let Some(flow) = flow.filter(|flow| sender(flow) == Sender::LeftOut) {
                let message = format!("this changes nothing: {}", left_out(flow));
                found.push(doc.warning_at(&format!("{path}.{key}"), message).help("remove it"));
            }
        }
    }
    let mut senders = spec.flow.values().map(|flow| Sender::of(flow, spec)).peekable();
    if spec.output.cc != ControlSampling::Off
        && senders.peek().is_some()
        && senders.all(|s| s != Sender::Simulated)
    {
        let message = "the table `cc` stays empty: no sender of this run is simulated";
        found.push(
            doc.warning_at("output.cc", message).help("the table `tcp` has a real kernel's `tcp_info`"),
        );
    }
}

fn left_out(flow: &str) -> String {
    format!("flow `{flow}` is left out, because an end of it is external")
}

fn of_kernel(flow: &str) -> String {
    format!("the variables and rounds of flow `{flow}` are a real kernel's own")
}

/// Why the sender of the flow has no variables; `None`: it has.
fn without_variables(sender: Sender, flow: &str) -> Option<String> {
    match sender {
        Sender::Simulated => None,
        Sender::Kernel => Some(of_kernel(flow)),
        Sender::LeftOut => Some(left_out(flow)),
    }
}

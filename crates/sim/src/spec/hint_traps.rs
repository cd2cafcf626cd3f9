//! Warnings of hints that reach nobody, or say nothing.

use lasthop_radio::lte::largest_tbs_bits;
use lasthop_tcp::CcName;
use lasthop_units::Bitrate;

use super::cellular_traps::BEST_I_TBS;
use super::hint::at_ue;
use super::{FlowSpec, HintSpec, Spec};
use crate::config::{Diagnostics, Document, dotted};
use crate::event::End;

pub(super) fn check(spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    for (name, hint) in &spec.hint {
        let path = format!("hint.{}", dotted([name]));
        never(hint, spec, &path, doc, found);
        nothing_left_of_rates(hint, spec, &path, doc, found);
        for (i, name) in hint.flows.iter().enumerate() {
            if let Some(flow) = spec.flow.get(name) {
                no_listener(name, flow, spec, &format!("{path}.flows.{i}"), doc, found);
            }
        }
    }
    for (name, flow) in &spec.flow {
        tables_of(name, flow, spec, doc, found);
    }
}

/// The end at which a flow's data arrive.
fn receiver(flow: &FlowSpec) -> &str {
    match flow.app.data_end() {
        End::A => &flow.to,
        End::B => &flow.from,
    }
}

/// The built-in congestion control of a flow; `None`: one of the caller's own, or UDP.
fn control(flow: &FlowSpec) -> Option<CcName> {
    let tcp = flow.over_tcp()?.resolve().ok()?;
    (!matches!(tcp.cc, CcName::Custom(_))).then_some(tcp.cc)
}

fn listens(cc: CcName) -> bool {
    cc.needs().hints
}

fn never(hint: &HintSpec, spec: &Spec, path: &str, doc: &Document, found: &mut Diagnostics) {
    let end = spec.scenario.duration;
    let told = if hint.start >= end {
        format!("{} is after the end of the run: nothing is ever told", hint.start)
    } else if hint.stop.is_some_and(|stop| stop <= hint.start) {
        format!("hints stop at {} or before: nothing is ever told", hint.start)
    } else {
        return;
    };
    found.push(doc.warning_at(&format!("{path}.start"), told).help("start earlier, or stop later"));
}

/// A step of which the largest rate is less than half.
fn nothing_left_of_rates(hint: &HintSpec, spec: &Spec, path: &str, doc: &Document, found: &mut Diagnostics) {
    let best = spec.cell.values().map(|c| {
        let one = u64::from(largest_tbs_bits(c.resource_blocks as usize, BEST_I_TBS));
        one * c.most_layers() as u64 * 1000
    });
    let best = Bitrate(best.max().unwrap_or(u64::MAX));
    if hint.rate_step.0 / 2 > best.0 {
        let told = format!("no cell carries more than {best}: every rate is told as 0");
        found.push(doc.warning_at(&format!("{path}.rate_step"), told).help("a step below that"));
    }
}

fn no_listener(
    name: &str,
    flow: &FlowSpec,
    spec: &Spec,
    path: &str,
    doc: &Document,
    found: &mut Diagnostics,
) {
    if !at_ue(spec, receiver(flow)) {
        found.push(
            doc.warning_at(
                path,
                "this flow's data leave the UE: hints are about the downlink, nobody is told",
            )
            .help("swap `from` and `to`, or leave the flow out"),
        );
    } else if let Some(cc) = control(flow).filter(|cc| !listens(*cc)) {
        let told = format!("the congestion control of this flow, `{}`, does not listen to hints", cc.name());
        let key = format!("flow.{}.tcp.cc", dotted([name]));
        let help = format!("`{key} = \"radio-aware\"` or `\"guided\"`");
        found.push(doc.warning_at(path, told).help(help));
    }
}

/// A control that listens and is told nothing; a flow that two tables tell.
fn tables_of(name: &str, flow: &FlowSpec, spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    if flow.over_tcp().is_none() || !at_ue(spec, receiver(flow)) {
        return;
    }
    let tells = |h: &HintSpec| h.flows.is_empty() || h.flows.iter().any(|f| f == name);
    let mut tables = spec.hint.iter().filter(|(_, h)| tells(h)).map(|(table, _)| table);
    match (tables.next(), tables.next()) {
        (None, _) if control(flow).is_some_and(listens) => {
            let told = "no `[hint.<name>]` tells this flow: it is its base algorithm";
            found.push(
                doc.warning_at(&format!("flow.{}.tcp.cc", dotted([name])), told)
                    .help(format!("add `[hint.radio]` with `flows = [\"{name}\"]`")),
            );
        }
        (Some(first), Some(second)) => {
            let told = format!("`hint.{first}` tells flow `{name}` too: it follows whichever came last");
            let help =
                "one table for a flow; a misspelt name makes another table, which without `flows` tells all";
            found.push(doc.warning_at(&format!("hint.{}", dotted([second])), told).help(help));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::Scenario;

    fn warnings(more: &str) -> String {
        let text = format!(
            "[scenario]\nname = 'hint'\nduration = '5 s'\n\
             [link.core]\nbetween = ['server', 'enb']\ndelay = '5 ms'\n\
             [cell.enb]\n[ue.phone]\nrlc = {{ buffer = {{ bytes = '150 kB' }} }}\n\
             [flow.down]\nfrom = 'server'\nto = 'phone'\n{more}"
        );
        Scenario::parse(&text, "test.toml", Path::new(""), &[]).expect("it is valid").warnings().to_string()
    }

    const AWARE: &str = "tcp = { cc = 'radio-aware' }\n";

    #[test]
    fn hints_that_somebody_hears_warn_of_nothing() {
        assert_eq!(warnings(&format!("{AWARE}[hint.h]\nflows = ['down']\nstop = '4 s'\n")), "");
        assert_eq!(warnings("[hint.h]\n"), "", "a table for all flows need not be heard by each");
    }

    /// 75.376 Mbit/s: 100 resource blocks at I_TBS 26 (TS 36.213 table 7.1.7.2.1-1).
    #[test]
    fn hints_that_nobody_hears_are_told_with_their_remedy() {
        for (wrong, expected) in [
            (format!("{AWARE}[hint.h]\nstart = '6 s'\n"), "after the end of the run"),
            (format!("{AWARE}[hint.h]\nstart = '2 s'\nstop = '1 s'\n"), "nothing is ever told"),
            ("[hint.h]\nflows = ['down']\n".to_owned(), "does not listen"),
            (AWARE.to_owned(), "no `[hint.<name>]` tells this flow"),
            (format!("{AWARE}[hint.phone]\nflows = ['down']\n[hint.phnoe]\n"), "tells flow `down` too"),
            (format!("{AWARE}[hint.h]\nrate_step = '200 Mbit/s'\n"), "75.376 Mbit/s"),
            (
                format!(
                    "{AWARE}[hint.h]\nflows = ['up']\n[hint.g]\nflows = ['down']\n[flow.up]\nfrom = 'phone'\nto = 'server'\n"
                ),
                "leave the UE",
            ),
        ] {
            let told = warnings(&wrong);
            assert!(told.contains(expected), "expected `{expected}` of\n{wrong}in:\n{told}");
        }
    }
}

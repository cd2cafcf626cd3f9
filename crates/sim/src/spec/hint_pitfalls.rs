//! Warnings of hints that no control uses, or that carry no information.

use lasthop_tcp::CcName;
use lasthop_tcp::cc::ALGORITHMS;
use lasthop_units::Bitrate;

use super::kinds::ALL;
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

fn uses_hints(cc: CcName) -> bool {
    cc.needs().hints
}

/// `key = "a"` or `"b"` for the controls that use hints, in the order of the documentation.
fn write_listener(key: &str) -> String {
    let mut names = ALGORITHMS.iter().filter(|a| a.needs.hints).map(|a| a.name);
    let first = names.next().unwrap_or_default();
    names.fold(format!("`{key} = \"{first}\"`"), |listed, name| format!("{listed} or `\"{name}\"`"))
}

fn never(hint: &HintSpec, spec: &Spec, path: &str, doc: &Document, found: &mut Diagnostics) {
    let end = spec.scenario.duration;
    let message = if hint.start >= end {
        format!("{} is after the end of the run: no hint is ever sent", hint.start)
    } else if hint.stop.is_some_and(|stop| stop <= hint.start) {
        format!("hints stop at {} or before: no hint is ever sent", hint.start)
    } else {
        return;
    };
    found.push(doc.warning_at(&format!("{path}.start"), message).help("start earlier, or stop later"));
}

/// Warns of a step of more than twice the largest rate.
fn nothing_left_of_rates(hint: &HintSpec, spec: &Spec, path: &str, doc: &Document, found: &mut Diagnostics) {
    let best = ALL.iter().filter_map(|access| access.best_hint(spec)).max().unwrap_or(Bitrate(u64::MAX));
    if hint.rate_step.0 / 2 > best.0 {
        let message = format!("no cell carries more than {best}: every hint has the rate 0");
        found.push(doc.warning_at(&format!("{path}.rate_step"), message).help("a step below that"));
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
    if !spec.gives_hints(receiver(flow)) {
        found.push(
            doc.warning_at(
                path,
                "this flow's data leave the UE: hints are about the downlink, no sender gets any",
            )
            .help("swap `from` and `to`, or leave the flow out"),
        );
    } else if let Some(cc) = control(flow).filter(|cc| !uses_hints(*cc)) {
        let message = format!("the congestion control of this flow, `{}`, does not use hints", cc.name());
        let key = format!("flow.{}.tcp.cc", dotted([name]));
        found.push(doc.warning_at(path, message).help(write_listener(&key)));
    }
}

/// Warns of a control that uses hints and gets none, and of a flow that gets those of two tables.
fn tables_of(name: &str, flow: &FlowSpec, spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    if flow.over_tcp().is_none() || !spec.gives_hints(receiver(flow)) {
        return;
    }
    let hints = |h: &HintSpec| h.flows.is_empty() || h.flows.iter().any(|f| f == name);
    let mut tables = spec.hint.iter().filter(|(_, h)| hints(h)).map(|(table, _)| table);
    match (tables.next(), tables.next()) {
        (None, _) if control(flow).is_some_and(uses_hints) => {
            let message = "no `[hint.<name>]` applies to this flow: only its base algorithm runs";
            found.push(
                doc.warning_at(&format!("flow.{}.tcp.cc", dotted([name])), message)
                    .help(format!("add `[hint.radio]` with `flows = [\"{name}\"]`")),
            );
        }
        (Some(first), Some(second)) => {
            let message =
                format!("`hint.{first}` is for flow `{name}` too: it follows whichever hint came last");
            let help =
                "one table for a flow; a misspelt name makes another table, which without `flows` is for all";
            found.push(doc.warning_at(&format!("hint.{}", dotted([second])), message).help(help));
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
    fn hints_that_a_control_uses_have_no_warning() {
        assert_eq!(warnings(&format!("{AWARE}[hint.h]\nflows = ['down']\nstop = '4 s'\n")), "");
        assert_eq!(warnings("[hint.h]\n"), "", "a table for all flows need not be used by each");
    }

    /// 75.376 Mbit/s: 100 resource blocks at I_TBS 26 (TS 36.213 table 7.1.7.2.1-1).
    #[test]
    fn hints_that_nothing_uses_have_a_warning_with_its_remedy() {
        for (wrong, expected) in [
            (format!("{AWARE}[hint.h]\nstart = '6 s'\n"), "after the end of the run"),
            (format!("{AWARE}[hint.h]\nstart = '2 s'\nstop = '1 s'\n"), "no hint is ever sent"),
            ("[hint.h]\nflows = ['down']\n".to_owned(), "does not use hints"),
            (
                "[hint.h]\nflows = ['down']\n".to_owned(),
                "`flow.down.tcp.cc = \"guided\"` or `\"radio-aware\"`",
            ),
            (AWARE.to_owned(), "no `[hint.<name>]` applies to this flow"),
            (format!("{AWARE}[hint.phone]\nflows = ['down']\n[hint.phnoe]\n"), "is for flow `down` too"),
            (format!("{AWARE}[hint.h]\nrate_step = '200 Mbit/s'\n"), "75.376 Mbit/s"),
            (
                format!(
                    "{AWARE}[hint.h]\nflows = ['up']\n[hint.g]\nflows = ['down']\n[flow.up]\nfrom = 'phone'\nto = 'server'\n"
                ),
                "leave the UE",
            ),
        ] {
            let message = warnings(&wrong);
            assert!(message.contains(expected), "expected `{expected}` of\n{wrong}in:\n{message}");
        }
    }
}

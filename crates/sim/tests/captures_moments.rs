//! Captures of events late in a run: handovers, radio link failure, mode switches.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::captures::{decoded, installed, observed, texts, verdict};
use crate::common::{folder, real};
use lasthop_sim::RunOutput;

/// Runs a scenario with everything captured between two times \[s\].
fn moment(name: &str, [from, to]: [&str; 2], interfaces: &str, more: &[&str], file: &Path) -> RunOutput {
    let span = [format!("output.capture.from={from} s"), format!("output.capture.to={to} s")];
    let sets: Vec<&str> = span.iter().map(String::as_str).chain(more.iter().copied()).collect();
    observed(name, &format!("{to} s"), interfaces, &sets, file)
}

/// Returns the first event of this kind: time \[s\] and details.
fn event(output: &RunOutput, kind: &str) -> (f64, String) {
    let (times, details) = (real(output, "events", "time_s"), texts(output, "events", "detail"));
    let at = texts(output, "events", "kind").iter().position(|k| k == kind);
    let at = at.unwrap_or_else(|| panic!("no event {kind}"));
    (times[at], details[at].clone())
}

/// Returns the values of a field in the frames that pass `filter`, with the time of each frame.
fn numbers(filter: &str, field: &str, file: &Path) -> Vec<(f64, u64)> {
    let rows = decoded(filter, &["frame.time_epoch", field], true, file);
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).unwrap(),
        None => text.parse().unwrap(),
    };
    rows.iter().map(|row| (row[0].parse().unwrap(), number(&row[1]))).collect()
}

/// A capture of a handover: the scenario, its keys, the time window, and the number of PDCP status
/// reports.
type Handover = (&'static str, &'static [&'static str], [&'static str; 2], usize);

/// A lossless bearer has a report of each end (TS 36.323 clause 5.3.1), a seamless one has none.
/// The first handover of the scenario with the drive has two bearers.
const HANDOVERS: [Handover; 4] = [
    ("lte-handover", &[], ["24.85", "25.1"], 2),
    ("lte-handover", &["ue.car.pdcp.handover=seamless"], ["24.85", "25.1"], 0),
    ("lte-handover", &["handover.trigger=none"], ["26.8", "28.4"], 2),
    ("lte-drive", &[], ["11.05", "11.35"], 2),
];

#[test]
fn frames_of_handovers_dissect_as_what_they_are() {
    if !installed("frames_of_handovers_dissect_as_what_they_are") {
        return;
    }
    let folder = folder("captures-handovers");
    for (number, (name, sets, span, reports)) in HANDOVERS.into_iter().enumerate() {
        let file = folder.join(format!("{number}.pcapng"));
        let output = moment(name, span, r#"["?*"]"#, sets, &file);
        let lost = sets.contains(&"handover.trigger=none");
        let over = event(&output, if lost { "rrc-reestablished" } else { "handover-complete" }).0;
        let [from, to] = span.map(|text| text.parse::<f64>().unwrap());
        assert!(from < over && over < to, "{name} {sets:?}: at {over}");
        let verdict = verdict(&file);
        assert!(verdict.radio > 100 && verdict.with_ip > 100, "{name} {sets:?}: {verdict:?}");
        assert!(verdict.wrong.is_empty() && verdict.malformed.is_empty(), "{name} {sets:?}: {verdict:?}");
        let found = decoded("pdcp-lte.control-pdu-type == 0", &["frame.interface_name"], true, &file);
        let of_pdcp = found.iter().filter(|row| row[0].ends_with(".pdcp")).count();
        assert_eq!(of_pdcp, reports, "{name} {sets:?}");
        // Access to the new cell: preamble, response, Msg3, in this order before the handover ends.
        let mac = |filter: &str| -> f64 {
            let filter = format!(r#"frame.interface_name contains ".mac" and ({filter})"#);
            let rows = decoded(&filter, &["frame.time_epoch"], false, &file);
            rows.first().unwrap_or_else(|| panic!("{name} {sets:?}: no {filter}"))[0].parse().unwrap()
        };
        let preamble = mac("mac-lte.preamble-sent");
        let answer = mac("mac-lte.rar");
        let third =
            mac("mac-lte.control.crnti or mac-lte.ulsch.header and not rlc-lte and not mac-lte.control.bsr");
        assert!(preamble < answer && (lost || answer < third) && answer < over, "{name} {sets:?}");
    }
}

/// A lossless handover in the frames of PDCP and IP. PDCP continues its numbers and retransmits
/// unconfirmed SDUs in their order (TS 36.323 clause 5.2.1.1); RLC restarts at 0. The packets
/// forwarded over X2 are those that had come through the gateway and were not confirmed, in that
/// order; their number is that of the event.
#[test]
#[allow(clippy::too_many_lines)] // one comparison of numbers, from the preparation to the end
fn a_lossless_handover_goes_on_with_pdcps_numbers_and_what_was_forwarded() {
    if !installed("a_lossless_handover_goes_on_with_pdcps_numbers_and_what_was_forwarded") {
        return;
    }
    let file = folder("captures-forwarded").join("t.pcapng");
    let interfaces = r#"["*.pdcp", "*.rlc", "internet.forward.exit", "car", "drops"]"#;
    let output = moment("lte-handover", ["23.8", "25.8"], interfaces, &[], &file);
    let (left, what) = event(&output, "handover-data");
    let forwarded: usize = what.split(' ').next().unwrap().parse().unwrap();
    assert!(what.ends_with("packets forwarded") && forwarded > 100, "{what}");

    let dropped: BTreeSet<u64> =
        numbers(r#"frame.interface_name == "drops""#, "ip.id", &file).into_iter().map(|(_, id)| id).collect();
    for direction in [0, 1] {
        let of = |cell: &str, field: &str| {
            let filter = format!(
                r#"frame.interface_name == "{cell}.pdcp" and pdcp-lte.direction == {direction} and ip"#
            );
            numbers(&filter, field, &file)
        };
        let [before, after] = ["west", "east"].map(|cell| of(cell, "pdcp-lte.seq-num"));
        assert!(before.len() > 50 && after.len() > 50, "{direction}");
        // The first number was transmitted before, or follows the last one transmitted.
        let last = before.last().unwrap().1;
        let behind = (4096 + last + 1 - after[0].1) % 4096;
        assert!(behind < 50, "{direction}: {behind}");
        // The same number is the same packet in both cells.
        let [packets, again] = ["west", "east"].map(|cell| of(cell, "ip.id"));
        let both: BTreeMap<u64, u64> =
            before.iter().zip(&packets).rev().take(50).map(|((_, sn), (_, id))| (*sn, *id)).collect();
        let new = after.iter().take_while(|(_, sn)| (4096 + last - sn) % 4096 < 2048).count();
        let common = after.iter().zip(&again).take(new);
        common.for_each(|((_, sn), (_, id))| assert_eq!(both[sn], *id, "{direction}: {sn}"));
        assert!(new > 0 || direction == 0, "nothing was on the air in both cells");
        let sns = before.iter().chain(&after[new..]).map(|(_, sn)| *sn);
        let ids = packets.iter().chain(&again[new..]).map(|(_, id)| *id);
        let sent: Vec<(u64, u64)> = sns.zip(ids).collect();
        // Numbers increase by one, except for packets that were numbered and dropped.
        let source = if direction == 1 { "internet.forward.exit" } else { "car" };
        let way = if direction == 1 { 1 } else { 2 };
        let passed = numbers(
            &format!(r#"frame.interface_name == "{source}" and frame.packet_flags_direction == {way}"#),
            "ip.id",
            &file,
        );
        let place: BTreeMap<u64, usize> = passed.iter().enumerate().map(|(i, (_, id))| (*id, i)).collect();
        let mut compared = 0;
        for pair in sent.windows(2) {
            let [Some(a), Some(b)] = [pair[0].1, pair[1].1].map(|id| place.get(&id)) else { continue };
            assert_eq!((4096 + pair[1].0 - pair[0].0) % 4096, (*b - *a) as u64, "{direction}: {pair:?}");
            let between = passed[a + 1..*b].iter();
            between.for_each(|(_, id)| assert!(dropped.contains(id), "{direction}: {id} is missing"));
            compared += 1;
        }
        assert!(compared > 100, "{direction}: {compared}");
        if direction == 1 {
            // The forwarded packets are the newest that had arrived and were not dropped. They are
            // sent, except those that the UE's status report confirms: numbers before the first
            // missing one.
            let report = r#"frame.interface_name == "east.pdcp" and pdcp-lte.direction == 0"#;
            let fms = numbers(&format!("{report} and pdcp-lte.fms"), "pdcp-lte.fms", &file)[0].1;
            let number: BTreeMap<u64, u64> =
                packets.iter().zip(&before).map(|((_, id), (_, sn))| (*id, *sn)).collect();
            let confirmed = |id: &u64| {
                let sn = number.get(id).filter(|_| !again.iter().any(|(_, sent)| sent == id));
                sn.is_some_and(|sn| (1..2048).contains(&((4096 + fms - sn) % 4096)))
            };
            let waiting: Vec<u64> = passed
                .iter()
                .filter(|(at, id)| *at <= left && !dropped.contains(id))
                .map(|(_, id)| *id)
                .collect();
            let to_send: Vec<u64> =
                waiting[waiting.len() - forwarded..].iter().copied().filter(|id| !confirmed(id)).collect();
            let sent: Vec<u64> = again.iter().map(|(_, id)| *id).collect();
            assert_eq!(sent[..to_send.len()], to_send[..]);
            assert!(to_send.len() < forwarded && to_send.len() + 20 > forwarded, "{}", to_send.len());
            assert!(again.len() > forwarded + 50);
        }
        let filter = format!(r#"frame.interface_name == "east.rlc" and rlc-lte.direction == {direction}"#);
        let rlc = numbers(&format!("{filter} and rlc-lte.am.fixed.sn"), "rlc-lte.am.fixed.sn", &file);
        assert_eq!(rlc[0].1, 0, "{direction}");
    }
}

/// At the mode switch the sidelink ends and the eNB's bearers begin; the packets of the table
/// `drops` are on the interface `drops`.
#[test]
fn frames_of_a_mode_switch_dissect_as_what_they_are() {
    if !installed("frames_of_a_mode_switch_dissect_as_what_they_are") {
        return;
    }
    let folder = folder("captures-switch");
    for (lossless, keys) in [(false, &[][..]), (true, &["sidelink.pair.lossless=true"])] {
        let file = folder.join(format!("{lossless}.pcapng"));
        let output = moment("sidelink", ["4.8", "5.5"], r#"["?*"]"#, keys, &file);
        let (at, _) = event(&output, "mode-switch");
        assert_eq!(at, 5.0);
        let verdict = verdict(&file);
        assert!(verdict.radio > 100 && verdict.with_ip > 100, "{verdict:?}");
        assert!(verdict.wrong.is_empty() && verdict.malformed.is_empty(), "{verdict:?}");
        let times = |filter: &str| -> Vec<f64> {
            let rows = decoded(filter, &["frame.time_epoch"], true, &file);
            rows.iter().map(|row| row[0].parse().unwrap()).collect()
        };
        let direct = times("mac-lte.slsch");
        assert!(direct.len() > 50 && direct.iter().all(|t| *t < at), "{lossless}");
        for direction in [0, 1] {
            let cell = times(&format!(
                r#"frame.interface_name == "enb.pdcp" and pdcp-lte.direction == {direction}"#
            ));
            assert!(cell.len() > 50 && cell.iter().all(|t| *t >= at), "{lossless} {direction}");
        }
        let dropped = times(r#"frame.comment contains "mode-switch""#);
        let rows = texts(&output, "drops", "cause").iter().filter(|cause| *cause == "mode-switch").count();
        assert_eq!(dropped.len(), rows, "{lossless}");
        assert_eq!(dropped.is_empty(), lossless, "{dropped:?}");
    }
}

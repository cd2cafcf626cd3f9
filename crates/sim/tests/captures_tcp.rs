//! Wireshark's analysis of TCP, compared with the events at senders, receivers and in networks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::captures::{WIRED, capture, count, fields, installed, observed, texts};
use crate::common::{folder, real, scenario, whole};
use arrow::array::{Array, BooleanArray};
use lasthop_sim::RunOutput;

/// Returns a column of booleans; missing ones are false.
fn flags(output: &RunOutput, table: &str, column: &str) -> Vec<bool> {
    let (batches, _) = output.table(table).unwrap();
    let of = |b: &arrow::array::RecordBatch| {
        let array = b.column_by_name(column).unwrap().as_any().downcast_ref::<BooleanArray>().unwrap();
        (0..array.len()).map(|i| !array.is_null(i) && array.value(i)).collect::<Vec<_>>()
    };
    batches.iter().flat_map(of).collect()
}

/// Scenarios with radios in which TCP retransmits: duration of the run, the sender's node, and
/// keys. The start of the car is moved so that its handover is 1 s later.
const RADIO: [(&str, &str, &str, &[&str]); 8] = [
    ("lte-download", "2 s", "server", &[]),
    ("lte-upload", "3 s", "phone", &[]),
    ("lte-rlc-um", "6 s", "server", &[]),
    (
        "lte-handover",
        "3 s",
        "server",
        &[r#"ue.car.radio.position=["415 m", "20 m", "1.5 m"]"#, "ue.car.pdcp.handover=seamless"],
    ),
    ("sidelink", "5500 ms", "left", &[]),
    ("umts-download", "25 s", "server", &[]),
    ("wifi-slow-station", "2 s", "server", &[]),
    ("wifi-beside-lte", "4 s", "server", &[]),
];

/// Wireshark's analysis of TCP at the sender's own node, where its input is that of the sender. It
/// classifies a segment as a retransmission, or as out of order if it follows the one before by
/// less than 3 ms or a round trip: the choice between the two is a heuristic, but both together are
/// exactly our retransmissions.
#[test]
fn wiresharks_analysis_of_tcp_finds_our_retransmissions_and_duplicate_acks() {
    if !installed("wiresharks_analysis_of_tcp_finds_our_retransmissions_and_duplicate_acks") {
        return;
    }
    let folder = folder("captures-analysis");
    let wired = WIRED.map(|(name, duration)| (name, duration, "server", &[][..]));
    let mut total = 0;
    for (name, duration, node, sets) in wired {
        total += analysed(name, duration, node, sets, &folder.join(format!("{name}.pcapng")));
    }
    assert!(total > 200, "the scenarios show only {total} retransmissions");
    for (name, duration, node, sets) in RADIO {
        let again = analysed(name, duration, node, sets, &folder.join(format!("{name}.pcapng")));
        assert!(again > 0, "{name}: no retransmission");
    }
}

/// Returns the number of retransmissions that both find.
fn analysed(name: &str, duration: &str, node: &str, sets: &[&str], file: &Path) -> usize {
    let output = observed(name, duration, &format!(r#"["{node}"]"#), sets, file);
    let ours = r#"frame.comment contains "retransmission""#;
    let theirs = "(tcp.analysis.retransmission or tcp.analysis.out_of_order)";
    let numbers = |filter: &str| -> Vec<String> {
        fields(filter, &["frame.number"], file).into_iter().map(|row| row.concat()).collect()
    };
    assert_eq!(numbers(ours), numbers(theirs), "{name}");
    let (events, nodes) = (texts(&output, "packets", "event"), texts(&output, "packets", "node"));
    let again = flags(&output, "packets", "retransmission");
    let sent_again =
        (0..events.len()).filter(|i| events[*i] == "sent" && nodes[*i] == node && again[*i]).count();
    assert_eq!(sent_again, numbers(ours).len(), "{name}");

    // Duplicate ACKs by our table: a pure ACK of the same octet as the one before.
    let (acks, lens) = (whole(&output, "packets", "ack"), whole(&output, "packets", "len"));
    let (flows, letters) = (texts(&output, "packets", "flow"), texts(&output, "packets", "flags"));
    let mut last: BTreeMap<&str, u64> = BTreeMap::new();
    let mut duplicates = 0;
    for i in (0..events.len()).filter(|i| events[*i] == "received" && nodes[*i] == node) {
        let before = last.insert(&flows[i], acks[i]);
        duplicates += usize::from(before == Some(acks[i]) && lens[i] == 0 && letters[i] == ".");
    }
    // Wireshark counts only those that also repeat the window, and compares with the highest ACK.
    let names = ["tcp.stream", "tcp.ack_raw", "tcp.len", "tcp.flags", "tcp.window_size_value"];
    let mut seen: BTreeMap<String, [String; 2]> = BTreeMap::new();
    let (mut same, mut moved) = (0, 0);
    for row in fields("frame.packet_flags_direction == 1 and tcp", &names, file) {
        let [stream, ack, len, flags, window] = &row[..] else { panic!("{row:?}") };
        let before = seen.insert(stream.clone(), [ack.clone(), window.clone()]);
        let plain = len == "0" && flags.trim_start_matches("0x").trim_start_matches('0') == "10";
        match before.filter(|[before, _]| plain && before == ack) {
            Some([_, w]) if w == *window => same += 1,
            Some(_) => moved += 1,
            None => {}
        }
    }
    assert_eq!(duplicates, same + moved, "{name}");
    assert_eq!(count("tcp.analysis.duplicate_ack", file), same, "{name}, {moved} moved the window");
    // The capture is complete: no octet was acknowledged that it does not contain.
    let lost = "tcp.analysis.ack_lost_segment or tcp.analysis.lost_segment";
    assert_eq!(count(lost, file), 0, "{name}");
    sent_again
}

/// Parses a time of Wireshark \[ns\].
fn ns(epoch: &str) -> u64 {
    let (seconds, rest) = epoch.split_once('.').unwrap();
    seconds.parse::<u64>().unwrap() * 1_000_000_000 + rest.parse::<u64>().unwrap()
}

/// Returns the times of a table \[ns\].
fn times(output: &RunOutput, table: &str) -> Vec<u64> {
    real(output, table, "time_s").iter().map(|t| (t * 1e9).round() as u64).collect()
}

/// A proxy whose second connection is slow and stops from 3 s to 6 s: its buffer fills, it stops
/// reading, and the window of the first connection closes.
const CLOSING: &str = r#"
scenario = { name = "t", duration = "12 s" }
link.core = { between = ["server", "pep"], rate = "20 Mbit/s", delay = "10 ms" }
link.last = { between = ["pep", "phone"], rate = "1 Mbit/s", delay = "10 ms" }
node.pep = { kind = "proxy", buffer = "16 kB" }
flow.f = { from = "server", to = "phone", tcp = { profile = "PROFILE", receive_buffer = "32 kB" } }
at = [{ t = "3 s", set = { "link.last.loss" = "100 %" } }, { t = "6 s", set = { "link.last.loss" = "0 %" } }]
output = { tcp = "ack", packets = true, capture = { interfaces = ["server"] } }
"#;

/// Zero windows, full windows and probes are those of our tables, frame by frame.
///
/// Wireshark's rules: a window of 0 in a segment other than SYN, FIN and RST; data that ends where
/// the last window does; after a window of 0, one octet of data with the next number is a probe.
/// The probe of Linux is an ACK with the number before the next (`tcp_xmit_probe_skb`), which
/// Wireshark's rule classifies as "keep-alive".
#[test]
fn zero_windows_full_windows_and_probes_are_those_of_our_tables() {
    if !installed("zero_windows_full_windows_and_probes_are_those_of_our_tables") {
        return;
    }
    let folder = folder("captures-windows");
    for (profile, probe, other) in [
        ("linux-6", "tcp.analysis.keep_alive", "tcp.analysis.zero_window_probe"),
        ("rfc", "tcp.analysis.zero_window_probe", "tcp.analysis.keep_alive"),
    ] {
        let file = folder.join(format!("{profile}.pcapng"));
        let output = capture(&scenario(&CLOSING.replace("PROFILE", profile)), &file);
        let frames = |filter: &str| -> Vec<(u64, u64)> {
            let rows = fields(filter, &["frame.time_epoch", "tcp.seq"], &file);
            rows.iter().map(|row| (ns(&row[0]), row[1].parse().unwrap())).collect()
        };
        let at = |filter: &str| frames(filter).into_iter().map(|(at, _)| at).collect::<Vec<_>>();

        // The sender has a sample for each ACK that arrives.
        let (sampled, flows) = (times(&output, "tcp"), texts(&output, "tcp", "flow"));
        let (windows, triggers) = (whole(&output, "tcp", "rwnd_bytes"), texts(&output, "tcp", "trigger"));
        let samples: Vec<(u64, u64)> = (0..sampled.len())
            .filter(|i| flows[*i] == "f" && triggers[*i] == "ack")
            .map(|i| (sampled[i], windows[i]))
            .collect();
        let zero: Vec<u64> = samples.iter().filter(|(_, w)| *w == 0).map(|(at, _)| *at).collect();
        assert_eq!(at("tcp.analysis.zero_window"), zero, "{profile}");
        assert!(zero.len() >= 3, "{profile}: {zero:?}");

        // Data that ends where the window does, by the packets of the sender's node.
        let (sent, nodes) = (times(&output, "packets"), texts(&output, "packets", "node"));
        let (events, flows) = (texts(&output, "packets", "event"), texts(&output, "packets", "flow"));
        let [seq, ack, len] = ["seq", "ack", "len"].map(|column| whole(&output, "packets", column));
        let windows: BTreeMap<u64, u64> = samples.iter().copied().collect();
        let (mut edge, mut full) = (0, Vec::new());
        for i in (0..sent.len()).filter(|i| nodes[*i] == "server" && flows[*i] == "f") {
            if events[i] == "received" {
                edge = windows.get(&sent[i]).map_or(edge, |window| ack[i] + window);
            } else if events[i] == "sent" && len[i] > 0 && seq[i] + len[i] == edge {
                full.push((sent[i], seq[i]));
            }
        }
        assert_eq!(frames("tcp.analysis.window_full"), full, "{profile}");
        // The other stack does not send small segments that would fill the window.
        assert!(full.len() > if profile == "linux-6" { 50 } else { 0 }, "{profile}: {}", full.len());

        let happened = times(&output, "events");
        let (kinds, sources) = (texts(&output, "events", "kind"), texts(&output, "events", "source"));
        let probes: Vec<u64> = (0..happened.len())
            .filter(|i| kinds[*i] == "zero-window-probe" && sources[*i] == "flow/f")
            .map(|i| happened[i])
            .collect();
        assert_eq!(at(probe), probes, "{profile}");
        assert!(probes.len() >= 2, "{profile}: {probes:?}");
        assert_eq!(at(other), [0_u64; 0], "{profile}");
    }
}

/// Packets that overtake each other, and 1 % that are lost.
const OVERTAKING: &str = r#"
scenario = { name = "t", duration = "5 s" }
[link.path]
between = ["a", "b"]
rate = "10 Mbit/s"
delay = "10 ms"
forward = { jitter = "8 ms", reordering = true, loss = "1 %" }
[flow.f]
from = "a"
to = "b"
tcp = { profile = "linux-6" }
[output]
packets = true
[output.capture]
interfaces = ["b"]
"#;

/// The effect of reordering at a receiver. Wireshark marks each segment that begins before the
/// highest octet so far, and no other; the table `packets` lists the same segments. Wireshark
/// cannot distinguish a retransmission from a delayed segment: it classifies the segment as "out of
/// order" if it arrives within the first round trip after the highest one and does not end there as
/// well, else as a retransmission. A retransmission of the newest octets begins at the highest, and
/// has no mark.
#[test]
fn late_segments_at_a_receiver_are_those_that_wireshark_marks() {
    if !installed("late_segments_at_a_receiver_are_those_that_wireshark_marks") {
        return;
    }
    let file = folder("captures-overtaking").join("t.pcapng");
    let output = capture(&scenario(OVERTAKING), &file);
    let (nodes, events) = (texts(&output, "packets", "node"), texts(&output, "packets", "event"));
    let again = flags(&output, "packets", "retransmission");
    let [packet, seq, len] = ["packet", "seq", "len"].map(|column| whole(&output, "packets", column));
    let at = times(&output, "packets");
    let repeated: BTreeSet<u64> = (0..at.len()).filter(|i| again[*i]).map(|i| packet[i]).collect();
    // Packet, time since the highest octet so far, and whether it ends there.
    let (mut highest, mut since, mut late) = (0, 0, Vec::new());
    for i in (0..at.len()).filter(|i| nodes[*i] == "b" && events[*i] == "received" && len[*i] > 0) {
        if seq[i] < highest {
            late.push((packet[i], at[i] - since, seq[i] + len[i] == highest));
        }
        if seq[i] + len[i] > highest {
            (highest, since) = (seq[i] + len[i], at[i]);
        }
    }
    let names = [
        "frame.packet_id",
        "tcp.analysis.out_of_order",
        "tcp.analysis.fast_retransmission",
        "tcp.analysis.spurious_retransmission",
    ];
    let marks = fields("tcp.analysis.retransmission or tcp.analysis.out_of_order", &names, &file);
    let ids: Vec<u64> = marks.iter().map(|row| row[0].parse().unwrap()).collect();
    assert_eq!(ids, late.iter().map(|(id, ..)| *id).collect::<Vec<_>>());
    let first = fields("tcp.analysis.initial_rtt", &["tcp.analysis.initial_rtt"], &file)[0].concat();
    // Overtaken segments that are "out of order", and that are not; retransmitted ones likewise.
    let mut called = [0; 4];
    for ((id, behind, ends), row) in late.into_iter().zip(&marks) {
        let out_of_order = !row[1].is_empty();
        if row[2].is_empty() && row[3].is_empty() {
            assert_eq!(out_of_order, behind < ns(&first) && !ends, "{row:?} {behind} {ends}");
        }
        called[2 * usize::from(repeated.contains(&id)) + usize::from(!out_of_order)] += 1;
    }
    // The figures of the guide.
    assert_eq!(called, [686, 141, 10, 37]);
}

/// AccECN's option and field (RFC 9768), as tshark decodes them, against the octets and packets
/// that have arrived, as tshark decodes them too. The counters of octets begin with 1 for ECT(0)
/// and ECT(1) and 0 for CE, the counter of packets with 5 (section 3.2.1); the field ACE is its
/// lowest three bits, AE, CWR and ECE. Each ACK contains the counts at its departure.
#[test]
#[allow(clippy::too_many_lines)] // one comparison, field by field
fn accecn_says_what_has_arrived() {
    if !installed("accecn_says_what_has_arrived") {
        return;
    }
    let file = folder("captures-accecn").join("t.pcapng");
    let text = r#"
scenario = { name = "t", duration = "3 s" }
[link.path]
between = ["a", "b"]
rate = "10 Mbit/s"
delay = "10 ms"
[flow.f]
from = "a"
to = "b"
tcp = { profile = "linux-6", ecn = "accurate", max_window = 30 }
[fault.m]
link = "path.forward"
action = "mark"
count = 40
every = 7
[output.capture]
interfaces = ["b"]
"#;
    capture(&scenario(text), &file);
    let names = [
        "frame.packet_flags_direction",
        "ip.dsfield.ecn",
        "tcp.len",
        "tcp.flags",
        "tcp.options.acc_ecn.ee0b",
        "tcp.options.acc_ecn.eceb",
        "tcp.options.acc_ecn.ee1b",
        "tcp.flags.syn",
    ];
    let is = |text: &String| matches!(text.as_str(), "1" | "True");
    // Octets with ECT(0) (2), CE (3) and ECT(1) (1), and packets with CE.
    let (mut octets, mut marked) = ([1_u64, 0, 1], 5_u64);
    let mut seen = [0; 4];
    for row in fields("tcp", &names, &file) {
        let flags = u64::from_str_radix(row[3].trim_start_matches("0x"), 16).unwrap() >> 6 & 7;
        if is(&row[7]) {
            // The SYN requests AccECN with all three flags (section 3.1.1).
            assert!(!row[0].ends_with('1') || flags == 7, "{row:?}");
        } else if row[0].ends_with('1') {
            let len: u64 = row[2].parse().unwrap();
            match &*row[1] {
                "2" => octets[0] += len,
                "3" => (octets[1], marked) = (octets[1] + len, marked + 1),
                "1" => octets[2] += len,
                _ => {}
            }
        } else {
            assert_eq!(flags, marked % 8, "{row:?}");
            seen[3] += u64::from(marked > 5);
            for (i, (field, count)) in row[4..7].iter().zip(octets).enumerate() {
                if !field.is_empty() {
                    assert_eq!(field.parse::<u64>().unwrap(), count % (1 << 24), "{row:?}");
                    seen[i] += 1;
                }
            }
        }
    }
    assert!(seen[0] > 20 && seen[1] > 20 && seen[3] > 100, "{seen:?}");
    assert_eq!(marked, 45);
    assert_eq!(count("_ws.malformed", &file), 0);
}

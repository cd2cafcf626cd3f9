//! Wireshark's analysis of the sequence numbers of LTE's RLC, compared with the actual
//! retransmissions and losses.
//!
//! The rules of the analysis (`checkChannelSequenceInfo` of packet-rlc-lte.c in Wireshark 4.0): it
//! processes the data PDUs of a channel in the order of the file and expects the number after the
//! highest one:
//!
//! - the expected number is in order;
//! - the number before it is "repeated";
//! - any other number in the half of the space behind it is a retransmission, and a number ahead
//!   is a gap, from the expected number to the one before.
//!
//! In UM there are no retransmissions, and every number behind the expected one is "repeated".

use std::collections::BTreeMap;
use std::path::Path;

use crate::captures::{PROFILE, bundled, capture, count, decoded, installed, last, texts, tshark};
use crate::common::{folder, real, whole};

/// A PDU in a capture: the frame, our data about it, and Wireshark's verdict.
struct Frame {
    number: String,
    downlink: bool,
    /// `None`: a STATUS PDU.
    sn: Option<u64>,
    again: bool,
    lost: bool,
    verdict: Verdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    InOrder,
    Retransmission,
    Repeated,
    /// This number of sequence numbers is missing before it.
    Gap(u64),
    /// A STATUS PDU.
    None,
}

/// Returns the frames of an interface.
fn frames(interface: &str, file: &Path) -> Vec<Frame> {
    let names = [
        "frame.number",
        "rlc-lte.direction",
        "rlc-lte.am.fixed.sn",
        "frame.comment",
        "rlc-lte.sequence-analysis.ok",
        "rlc-lte.sequence-analysis.retx",
        "rlc-lte.sequence-analysis.repeated-frame",
        "_ws.expert.message",
    ];
    let rows = decoded(&format!("frame.interface_name == \"{interface}\""), &names, true, file);
    let frame = |row: &Vec<String>| {
        let [number, direction, sn, comment, ok, retx, repeated, said] = &row[..] else { panic!("{row:?}") };
        let sn = if sn.is_empty() { None } else { Some(sn.parse().unwrap()) };
        // The analysis of PDCP's numbers uses the same words.
        let gap = said.split_once("missing for").filter(|_| said.starts_with("AM SN"));
        let verdict = match (sn, gap) {
            (None, _) => Verdict::None,
            (_, Some((numbers, _))) => Verdict::Gap(missing(numbers)),
            _ if retx == "1" => Verdict::Retransmission,
            _ if repeated == "1" => Verdict::Repeated,
            _ if ok == "1" => Verdict::InOrder,
            _ => panic!("{row:?}"),
        };
        let (again, lost) = (comment.contains("retransmission"), comment.contains("lost"));
        Frame { number: number.clone(), downlink: direction == "1", sn, again, lost, verdict }
    };
    rows.iter().map(frame).collect()
}

/// Returns the number of sequence numbers in "AM SN (4) " or "AM SNs missing (4 to 7) ".
fn missing(text: &str) -> u64 {
    let numbers: Vec<u64> = text
        .split(|c: char| !c.is_ascii_digit())
        .filter(|part| !part.is_empty())
        .map(|n| n.parse().unwrap())
        .collect();
    match numbers[..] {
        [_] => 1,
        [first, last] => (last + 1024 - first) % 1024 + 1,
        _ => panic!("{text}"),
    }
}

/// Applies Wireshark's rules of AM to numbers modulo 1024.
fn judge(numbers: impl Iterator<Item = u64>) -> Vec<Verdict> {
    let mut expected = None;
    let judged = numbers.map(|sn| {
        let ahead = (1024 + sn - expected.unwrap_or(sn)) % 1024;
        let verdict = match ahead {
            0 => Verdict::InOrder,
            1023 => Verdict::Repeated,
            // The half behind: 511 numbers.
            _ if 1024 - ahead < 512 => Verdict::Retransmission,
            _ => Verdict::Gap(ahead),
        };
        if matches!(verdict, Verdict::InOrder | Verdict::Gap(_)) {
            expected = Some((sn + 1) % 1024);
        }
        verdict
    });
    judged.collect()
}

/// At the sender, Wireshark finds each PDU that RLC retransmits, and no other. It classifies those
/// that have the highest number so far as "repeated", not as retransmitted: t-PollRetransmit sends
/// PDU VT(S) - 1 again if no other PDU can carry the poll (TS 36.322 clause 5.2.2.3).
///
/// At the receiver, a gap represents new PDUs that were lost. There is none for a STATUS PDU, which
/// has no number, for a PDU that is retransmitted before a newer one arrives, and for a lost
/// retransmission.
#[test]
#[allow(clippy::too_many_lines)] // one comparison of two lists
fn wiresharks_analysis_of_rlc_finds_our_retransmissions_and_losses() {
    if !installed("wiresharks_analysis_of_rlc_finds_our_retransmissions_and_losses") {
        return;
    }
    let file = folder("captures-rlc-analysis").join("t.pcapng");
    // Counters are sampled: the last row has the values at the end.
    let interfaces = r#"output.capture.interfaces=["*.rlc.*"]"#;
    let mut seen = [0; 6];
    for (duration, loss) in [("4 s", "1 %"), ("2 s", "15 %")] {
        let duration = format!("scenario.duration={duration}");
        let losses = ["downlink", "uplink"].map(|way| format!("bearer.radio.{way}.loss={loss}"));
        let sets = [&*duration, "output.interval=1 ms", interfaces, &losses[0], &losses[1]];
        let output = capture(&bundled("lte-rlc-am", &sets), &file);
        let (all_sent, all_received) = (frames("radio.rlc.sent", &file), frames("radio.rlc.received", &file));
        for (downlink, way) in [(true, "downlink"), (false, "uplink")] {
            let sent: Vec<&Frame> = all_sent.iter().filter(|f| f.downlink == downlink).collect();
            let received: Vec<&Frame> = all_received.iter().filter(|f| f.downlink == downlink).collect();
            let data = || sent.iter().filter(|f| f.sn.is_some());

            // Retransmissions, frame by frame, and their number as counted by RLC.
            let numbers = |wanted: &dyn Fn(&Frame) -> bool| -> Vec<&str> {
                sent.iter().filter(|f| wanted(f)).map(|f| &*f.number).collect()
            };
            let found = |f: &Frame| matches!(f.verdict, Verdict::Retransmission | Verdict::Repeated);
            assert_eq!(numbers(&|f| f.again), numbers(&found), "{loss} {way}");
            assert_eq!(numbers(&|f| f.again).len() as u64, last(&output, "rlc", "pdus_retx", way));
            // Of these, "repeated" ones have the number of the newest PDU.
            let mut newest = None;
            for frame in data() {
                let is_newest = frame.again && frame.sn == newest;
                assert_eq!(frame.verdict == Verdict::Repeated, is_newest, "frame {}", frame.number);
                newest = if frame.again { newest } else { frame.sn };
                seen[0] += u64::from(is_newest);
                seen[1] += u64::from(frame.again);
            }

            // Every loss, and the verdict on the next frame.
            let lost = sent.iter().filter(|f| f.lost).count() as u64;
            assert_eq!(lost, last(&output, "mac", "blocks_lost", way), "{loss} {way}");
            // The rules over the numbers of the PDUs that were not lost: PDUs in transmission at
            // the end have not arrived.
            let arriving: Vec<u64> = data().filter(|f| !f.lost).filter_map(|f| f.sn).collect();
            let theirs: Vec<Verdict> =
                received.iter().filter(|f| f.sn.is_some()).map(|f| f.verdict).collect();
            let ours = judge(arriving.into_iter());
            let differs = (0..theirs.len()).find(|i| ours.get(*i) != Some(&theirs[*i]));
            assert_eq!(differs.map(|i| (i, theirs[i], ours.get(i).copied())), None, "{loss} {way}");
            // The converse: each new PDU that was lost is in a gap, unless it was retransmitted
            // before a newer one arrived, or none has arrived since.
            let (mut waiting, mut arrived, mut in_gaps) = (Vec::new(), 0, 0);
            for frame in data() {
                match (frame.again, frame.lost) {
                    (false, true) => waiting.push(frame.sn),
                    (true, true) => seen[2] += 1,
                    (again, false) if arrived < theirs.len() => {
                        arrived += 1;
                        if !again {
                            in_gaps += waiting.len() as u64;
                            waiting.clear();
                        } else if waiting.contains(&frame.sn) {
                            // The lost PDUs before it are in a gap, and it is in order.
                            let at = waiting.iter().position(|sn| *sn == frame.sn).unwrap();
                            in_gaps += at as u64;
                            waiting.drain(..=at);
                            seen[3] += 1;
                        }
                    }
                    _ => {}
                }
            }
            let sum: u64 = theirs.iter().map(|v| if let Verdict::Gap(n) = v { *n } else { 0 }).sum();
            assert_eq!(in_gaps, sum, "{loss} {way}");
            seen[4] += sum;
            seen[5] += sent.iter().filter(|f| f.lost && f.sn.is_none()).count() as u64;
        }
        if loss == "1 %" {
            // The figures of the guide: retransmissions of the newest PDU, all; lost
            // retransmissions, PDUs retransmitted before a newer one came, PDUs in gaps, STATUS
            // PDUs.
            assert_eq!(seen, [3, 55, 0, 1, 51, 6]);
        }
    }
    assert!(seen.iter().all(|n| *n > 0), "{seen:?}");
}

/// A PDU of UM in a capture: when \[s\], its number, Wireshark's verdict, and whether it is lost.
struct Unacknowledged {
    at: f64,
    sn: u64,
    verdict: Verdict,
    lost: bool,
}

/// Returns the PDUs of UM of a direction of an interface.
fn unacknowledged(interface: &str, downlink: bool, file: &Path) -> Vec<Unacknowledged> {
    let names = [
        "frame.time_epoch",
        "rlc-lte.um.sn",
        "frame.comment",
        "rlc-lte.sequence-analysis.ok",
        "rlc-lte.sequence-analysis.repeated-frame",
        "_ws.expert.message",
    ];
    let direction = u8::from(downlink);
    let filter = format!(
        r#"frame.interface_name == "{interface}" and rlc-lte.direction == {direction} and rlc-lte.um.sn"#
    );
    let pdu = |row: &Vec<String>| {
        let [at, sn, comment, ok, repeated, said] = &row[..] else { panic!("{row:?}") };
        let gap = said.split_once(" missing for").filter(|_| said.starts_with("UM SN"));
        let verdict = match gap {
            Some((numbers, _)) => Verdict::Gap(missing(numbers)),
            None if repeated == "1" => Verdict::Repeated,
            None if ok == "1" => Verdict::InOrder,
            None => panic!("{row:?}"),
        };
        let lost = comment.contains("lost");
        Unacknowledged { at: at.parse().unwrap(), sn: sn.parse().unwrap(), verdict, lost }
    };
    decoded(&filter, &names, true, file).iter().map(pdu).collect()
}

/// UM over a pipe that keeps the order: the gaps are the lost PDUs, each in the gap before the next
/// one that arrives, and Wireshark finds nothing else.
#[test]
fn gaps_of_um_are_the_lost_pdus() {
    if !installed("gaps_of_um_are_the_lost_pdus") {
        return;
    }
    let file = folder("captures-rlc-um").join("t.pcapng");
    let interfaces = r#"output.capture.interfaces=["*.rlc.*"]"#;
    for sn_bits in [10, 5] {
        let bits = format!("bearer.radio.rlc.um.sn_bits={sn_bits}");
        let sets = ["scenario.duration=6 s", "output.interval=1 ms", interfaces, &bits];
        let output = capture(&bundled("lte-rlc-um", &sets), &file);
        for (downlink, way) in [(true, "downlink"), (false, "uplink")] {
            let sent = unacknowledged("radio.rlc.sent", downlink, &file);
            let received = unacknowledged("radio.rlc.received", downlink, &file);
            assert!(sent.iter().all(|pdu| pdu.verdict == Verdict::InOrder), "{sn_bits} {way}");
            let lost = sent.iter().filter(|pdu| pdu.lost).count() as u64;
            assert_eq!(lost, last(&output, "mac", "blocks_lost", way), "{sn_bits} {way}");
            let (mut expected, mut before) = (Vec::new(), 0);
            for pdu in &sent {
                if pdu.lost {
                    before += 1;
                } else {
                    let gap = if before > 0 { Verdict::Gap(before) } else { Verdict::InOrder };
                    expected.push((pdu.sn, gap));
                    before = 0;
                }
            }
            // The first PDU of a channel begins its count.
            expected.truncate(received.len());
            let theirs: Vec<(u64, Verdict)> = received.iter().map(|pdu| (pdu.sn, pdu.verdict)).collect();
            let differs = (1..theirs.len()).find(|i| expected[*i] != theirs[*i]);
            assert_eq!(differs.map(|i| (expected[i], theirs[i])), None, "{sn_bits} {way}");
            assert!(lost > 3, "{sn_bits} {way}: {lost}");
        }
    }
}

/// Reordering by HARQ: `CELL.rlc` has PDUs in the order in which their blocks were decoded. RLC UM
/// sends each number once (TS 36.322 clause 5.1.2.1.1), so the PDUs that Wireshark calls "repeated"
/// are not: each is late, and is in a gap reported before. A PDU that is in a gap and never arrives
/// was in a block that HARQ has given up.
#[test]
fn pdus_of_um_that_harq_has_delayed_are_called_repeated() {
    if !installed("pdus_of_um_that_harq_has_delayed_are_called_repeated") {
        return;
    }
    let file = folder("captures-rlc-harq").join("t.pcapng");
    for transmissions in [4, 2, 1] {
        let harq = format!("cell.enb.downlink.harq.transmissions={transmissions}");
        let interfaces = r#"output.capture.interfaces=["enb.rlc"]"#;
        let sets = ["scenario.duration=2 s", &*harq, interfaces];
        let output = capture(&bundled("lte-um-am", &sets), &file);
        // The first number of the run: no PDU is missing before it.
        let pdus = unacknowledged("enb.rlc", true, &file);
        let (mut highest, mut open) = (pdus[0].sn, BTreeMap::new());
        let (mut late, mut gaps) = (0, 0);
        for pdu in &pdus[1..] {
            let ahead = (1024 + pdu.sn - highest % 1024) % 1024;
            if ahead < 512 {
                assert!(ahead > 0, "{} twice", pdu.sn);
                let expected = if ahead == 1 { Verdict::InOrder } else { Verdict::Gap(ahead - 1) };
                assert_eq!(pdu.verdict, expected, "{}", pdu.sn);
                open.extend((highest + 1..highest + ahead).map(|number| (number, pdu.at)));
                highest += ahead;
                gaps += ahead - 1;
            } else {
                assert_eq!(pdu.verdict, Verdict::Repeated, "{}", pdu.sn);
                assert!(open.remove(&(highest + ahead - 1024)).is_some(), "{} is in no gap", pdu.sn);
                late += 1;
            }
        }
        assert_eq!(gaps, late + open.len() as u64, "{transmissions}");
        assert_eq!(late > 50, transmissions > 1, "{transmissions}: {late}");
        let (ues, ways) = (texts(&output, "radio", "ue"), texts(&output, "radio", "direction"));
        let lost: u64 = whole(&output, "radio", "lost")
            .iter()
            .zip(ues.iter().zip(&ways))
            .filter(|(_, (ue, way))| *ue == "phone-um" && *way == "downlink")
            .map(|(n, _)| *n)
            .sum();
        // Four transmissions take 24 ms: a PDU missing before the last 40 ms will not arrive.
        let given_up = open.values().filter(|at| **at < 2.0 - 0.04).count() as u64;
        assert!((given_up..=open.len() as u64).contains(&lost), "{transmissions}: {lost}, {open:?}");
        assert_eq!(given_up > 5, transmissions == 1, "{transmissions}: {given_up}");
    }
}

/// A frame of RLC of UMTS: interface, direction, its number (`None`: STATUS), our comment, and
/// whether Wireshark calls it a duplicate.
type Umts = (String, String, Option<u64>, String, bool);

/// Wireshark marks the data PDUs of UMTS that are duplicates, in its second pass (`-2`): a number
/// that the channel has had within 5 s and a quarter of its numbers (`rlc_is_duplicate` of
/// packet-rlc.c). At the sender these are RLC's retransmissions; at the receiver, those whose first
/// copy has arrived as well, because the STATUS that confirmed it was lost or late. It does not
/// detect missing numbers.
#[test]
fn duplicates_of_umts_are_the_pdus_that_are_sent_again() {
    if !installed("duplicates_of_umts_are_the_pdus_that_are_sent_again") {
        return;
    }
    let file = folder("captures-rlc-duplicates").join("t.pcapng");
    let interfaces = r#"output.capture.interfaces=["*.rlc.*"]"#;
    let mut twice = 0;
    for key in ["bearer.dch.pdcp.header=none", "bearer.dch.uplink.bler=40 %"] {
        let sets = ["scenario.duration=15 s", "output.interval=1 ms", interfaces, key];
        let output = capture(&bundled("umts-download", &sets), &file);
        let names = [
            "frame.interface_name",
            "frame.packet_flags_direction",
            "rlc.seq",
            "frame.comment",
            "rlc.duplicate_of",
        ];
        let mut arguments = PROFILE.to_vec();
        arguments.extend(["-2", "-T", "fields", "-E", "separator=|", "-E", "occurrence=f"]);
        names.iter().for_each(|name| arguments.extend(["-e", name]));
        let text = tshark(&arguments, &file);
        let frame = |line: &str| -> Umts {
            let row: Vec<&str> = line.split('|').collect();
            let sn = row[2].parse().ok();
            (row[0].to_owned(), row[1].to_owned(), sn, row[3].to_owned(), !row[4].is_empty())
        };
        let frames: Vec<Umts> = text.lines().map(frame).collect();
        // Outbound is the downlink, at the sender and at the receiver.
        for (way, out) in [("downlink", true), ("uplink", false)] {
            let of = |end: &str| {
                let is = |f: &&Umts| f.0 == format!("dch.rlc.{end}") && f.1.ends_with('2') == out;
                frames.iter().filter(is).filter(|f| f.2.is_some()).collect::<Vec<_>>()
            };
            let (mut arrived, mut expected) = (BTreeMap::new(), Vec::new());
            let mut again = 0;
            for (_, _, sn, comment, duplicate) in of("sent") {
                let repeated = comment.contains("retransmission");
                assert_eq!(*duplicate, repeated, "{key} {way} {sn:?}");
                again += u64::from(repeated);
                if !comment.contains("lost") {
                    let had = arrived.insert(*sn, true) == Some(true) && repeated;
                    expected.push((*sn, had));
                } else if !repeated {
                    arrived.insert(*sn, false);
                }
            }
            assert_eq!(again, last(&output, "rlc", "pdus_retx", way), "{key} {way}");
            assert!(again > 100 || way == "uplink", "{key} {way}: {again}");
            let theirs: Vec<(Option<u64>, bool)> = of("received").iter().map(|f| (f.2, f.4)).collect();
            expected.truncate(theirs.len());
            let differs = (0..theirs.len()).find(|i| expected.get(*i) != Some(&theirs[*i]));
            assert_eq!(differs.map(|i| (i, expected.get(i), theirs[i])), None, "{key} {way}");
            twice += theirs.iter().filter(|(_, duplicate)| *duplicate).count();
        }
    }
    assert!(twice > 0);
}

/// The PDUs that RLC of UMTS retransmits are those that the table `rlc` counts.
#[test]
fn pdus_of_umts_that_are_sent_again_are_those_of_the_table() {
    if !installed("pdus_of_umts_that_are_sent_again_are_those_of_the_table") {
        return;
    }
    let file = folder("captures-rlc-umts").join("t.pcapng");
    let interfaces = r#"output.capture.interfaces=["*.rlc.sent"]"#;
    let sets = ["scenario.duration=10 s", "output.interval=1 ms", interfaces];
    let output = capture(&bundled("umts-download", &sets), &file);
    // Outbound is the downlink.
    for (way, direction) in [("downlink", 2), ("uplink", 1)] {
        let again = r#"frame.comment contains "retransmission""#;
        let filter = format!("{again} and frame.packet_flags_direction == {direction}");
        let frames = count(&filter, &file) as u64;
        assert_eq!(frames, last(&output, "rlc", "pdus_retx", way), "{way}");
        assert!(frames > 0 || way == "uplink", "{way}");
    }
}

/// A PDU of RLC that has arrived: time \[ms\], true in the downlink, number, octets.
type Row = (u64, bool, Option<u64>, u64);

/// The table `rlc_pdus` against the capture: the received PDUs are the frames of `CELL.rlc`, by
/// time, direction, number and length.
#[test]
fn the_table_of_rlc_pdus_has_what_the_capture_has() {
    if !installed("the_table_of_rlc_pdus_has_what_the_capture_has") {
        return;
    }
    let folder = folder("captures-rlc-table");
    for (name, duration) in [("lte-fading", "600 ms"), ("lte-upload", "600 ms"), ("lte-um-am", "800 ms")] {
        let file = folder.join(format!("{name}.pcapng"));
        let duration = format!("scenario.duration={duration}");
        let interfaces = r#"output.capture.interfaces=["*.rlc"]"#;
        let sets = ["output.rlc_pdus=true", "output.interval=1 ms", &*duration, interfaces];
        let output = capture(&bundled(name, &sets), &file);
        let names = [
            "frame.time_epoch",
            "rlc-lte.direction",
            "rlc-lte.am.fixed.sn",
            "rlc-lte.um.sn",
            "rlc-lte.pdu-length",
        ];
        let theirs: Vec<Row> = decoded("", &names, true, &file)
            .iter()
            .map(|row| {
                let ms = (row[0].parse::<f64>().unwrap() * 1e3).round() as u64;
                let sn = [&row[2], &row[3]].iter().find_map(|sn| sn.parse().ok());
                (ms, row[1] == "1", sn, row[4].parse().unwrap())
            })
            .collect();
        let [time, sent] = ["time_s", "sent_s"].map(|column| real(&output, "rlc_pdus", column));
        let [ways, events, kinds] =
            ["direction", "event", "kind"].map(|column| texts(&output, "rlc_pdus", column));
        let [sns, bytes] = ["sn", "bytes"].map(|column| whole(&output, "rlc_pdus", column));
        let rows = |event: &str| (0..time.len()).filter(|i| events[*i] == event).collect::<Vec<_>>();
        let ours: Vec<Row> = rows("received")
            .into_iter()
            .map(|i| {
                let ms = (time[i] * 1e3).round() as u64;
                (ms, ways[i] == "downlink", (kinds[i] == "data").then_some(sns[i]), bytes[i])
            })
            .collect();
        let differs = (0..ours.len().max(theirs.len())).find(|i| ours.get(*i) != theirs.get(*i));
        assert_eq!(differs.map(|i| (i, ours.get(i), theirs.get(i))), None, "{name}");
        assert!(ours.len() > 300, "{name}: {}", ours.len());
        // The delay includes HARQ's retransmissions: it is that of one transmission, or longer by
        // them.
        let delays = || rows("received").into_iter().map(|i| ((time[i] - sent[i]) * 1e3).round());
        let (least, most) = (delays().fold(f64::MAX, f64::min), delays().fold(0.0, f64::max));
        assert!(least > 0.0 && (name != "lte-fading" || most >= least + 6.0), "{name}: {least} {most}");
    }
}

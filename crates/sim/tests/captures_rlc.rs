//! Wireshark's analysis of the sequence numbers of LTE's RLC against what RLC and the channel have
//! done.
//!
//! Its rules (`checkChannelSequenceInfo` of packet-rlc-lte.c in Wireshark 4.0). It goes through the
//! data PDUs of a channel in the order of the file and expects the number after the highest one:
//!
//! - the expected number is in order;
//! - the number before it is "repeated";
//! - any other number of the half of the space behind it is a retransmission, and what lies ahead
//!   is a gap, from the expected number to the one before.

use std::path::Path;

use crate::captures::{bundled, capture, count, decoded, installed, last};
use crate::common::folder;

/// A PDU in a capture: the frame, what we say of it, and what Wireshark says.
struct Frame {
    number: String,
    downlink: bool,
    /// None: a STATUS PDU.
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
    /// So many numbers are missing before it.
    Gap(u64),
    /// A STATUS PDU.
    None,
}

/// The frames of an interface.
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
        // PDCP's numbers have an analysis of their own, with the same words.
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

/// How many numbers "AM SN (4) " or "AM SNs missing (4 to 7) " names.
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

/// Wireshark's rules of AM, over numbers modulo 1024.
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

/// Where PDUs are sent, Wireshark finds each PDU that RLC repeats, and no other. It calls those
/// "repeated", not retransmitted, that have the highest number so far: t-PollRetransmit sends PDU
/// VT(S) - 1 again when nothing else is there to carry the poll (TS 36.322 clause 5.2.2.3).
///
/// Where they arrive, a gap stands for new PDUs that were lost. There is none for a STATUS PDU,
/// which has no number, for a PDU that is repeated before a newer one arrives, and for a lost
/// repetition.
#[test]
fn wiresharks_analysis_of_rlc_finds_our_retransmissions_and_losses() {
    if !installed("wiresharks_analysis_of_rlc_finds_our_retransmissions_and_losses") {
        return;
    }
    let file = folder("captures-rlc-analysis").join("t.pcapng");
    // Counters are sampled: the last row is that of the end.
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

            // Retransmissions, to the frame, and as many as RLC has counted.
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

            // Every loss, and what the next frame says of it.
            let lost = sent.iter().filter(|f| f.lost).count() as u64;
            assert_eq!(lost, last(&output, "mac", "blocks_lost", way), "{loss} {way}");
            // The rules over the numbers of what was not lost: those on the air at the end have
            // not arrived.
            let arriving: Vec<u64> = data().filter(|f| !f.lost).filter_map(|f| f.sn).collect();
            let theirs: Vec<Verdict> =
                received.iter().filter(|f| f.sn.is_some()).map(|f| f.verdict).collect();
            let ours = judge(arriving.into_iter());
            let differs = (0..theirs.len()).find(|i| ours.get(*i) != Some(&theirs[*i]));
            assert_eq!(differs.map(|i| (i, theirs[i], ours.get(i).copied())), None, "{loss} {way}");
            // And from the other side: each new PDU that was lost is in a gap, unless it was
            // repeated before a newer one arrived, or none has arrived since.
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
                            // Those before it are in a gap, and it is in order.
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
            // What the guide lists: repetitions of the newest PDU, all; lost repetitions, PDUs
            // repeated before a newer one came, PDUs in gaps, STATUS PDUs.
            assert_eq!(seen, [3, 55, 0, 1, 51, 6]);
        }
    }
    assert!(seen.iter().all(|n| *n > 0), "{seen:?}");
}

/// PDUs that RLC of UMTS sends again are those that the table `rlc` counts.
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

//! MAC of LTE in captures: control elements, random access, requests, sidelinks, and the time of
//! each block, as tshark decodes them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use lasthop_capture::pcapng::{Direction, Frame, Interface, Section, Writer};
use lasthop_lte::mac::bsr::{self, Report};
use lasthop_lte::mac::pdu::{Channel, Control, Part, RarEntry, RarPdu, SidelinkLevels, encode};
use lasthop_sim::RunOutput;

use crate::captures::{bundled, capture, count, installed, texts, tshark};
use crate::common::{folder, real, whole};

/// Returns all values of these fields in frames that pass `filter`; blocks with a wrong CRC are
/// dissected.
fn rows(filter: &str, names: &[&str], file: &Path) -> Vec<Vec<String>> {
    let mut arguments =
        vec!["-o", "mac-lte.attempt_to_dissect_crc_failures:TRUE", "-Y", filter, "-T", "fields"];
    arguments.extend(["-E", "separator=|", "-E", "occurrence=a"]);
    names.iter().for_each(|name| arguments.extend(["-e", name]));
    let text = tshark(&arguments, file);
    text.lines().map(|line| line.split('|').map(str::to_owned).collect()).collect()
}

/// Writes a capture of these MAC PDUs, each with the fields of its context: direction, kind of
/// RNTI, RNTI.
fn write(pdus: &[([u8; 3], u16, Vec<u8>)], file: &Path) {
    let section =
        Section { application: String::new(), hardware: String::new(), comment: String::new(), start_ns: 0 };
    let mut writer = Writer::create(file, section, None).unwrap();
    let interface = writer.interface(Interface {
        link_type: 252,
        snaplen: 0,
        name: "t".to_owned(),
        description: String::new(),
    });
    for (time_ns, (context, rnti, pdu)) in (0..).zip(pdus) {
        // The tag of a dissector's name, the end of tags, FDD, the context, RNTI, payload.
        let mut bytes = vec![0, 12, 0, 16];
        bytes.extend_from_slice(b"mac-lte-framed\0\0");
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(context);
        bytes.push(2);
        bytes.extend_from_slice(&rnti.to_be_bytes());
        bytes.push(1);
        bytes.extend_from_slice(pdu);
        let frame = Frame {
            interface,
            time_ns,
            direction: Direction::Unknown,
            prefix: &[],
            bytes: &bytes,
            zeros: 0,
            length: bytes.len() as u32,
            packet: None,
            comment: "",
        };
        writer.frame(&frame);
    }
    writer.finish(1_000).unwrap();
}

/// Every control element and a random access response, each with different values.
#[test]
#[allow(clippy::too_many_lines)] // a table of control elements
fn tshark_reads_control_elements_as_they_were_written() {
    if !installed("tshark_reads_control_elements_as_they_were_written") {
        return;
    }
    let file = folder("captures-mac-controls").join("t.pcapng");
    let sdu = [0x80, 0, 1, 2, 3];
    let of = |channel, block, controls: &[Control]| {
        let mut parts: Vec<Part<&[u8]>> = controls.iter().map(|c| Part::Control(*c)).collect();
        parts.push(Part::Sdu { lcid: 3, sdu: &sdu[..] });
        let context = [1, u8::from(channel == Channel::Downlink), 3];
        (context, 61, encode(block, &parts, channel).unwrap())
    };
    let (up, down) = (Channel::Uplink, Channel::Downlink);
    let short = Control::Bsr(Report::Short { group: 2, level: 17 });
    let truncated = Control::Bsr(Report::Truncated { group: 1, level: 63 });
    let direct = |levels: &[(u8, u8)]| Control::SidelinkBsr(SidelinkLevels::new(levels.iter().copied()));
    let entry = |preamble, timing_advance, grant| RarEntry {
        preamble,
        timing_advance,
        grant,
        temporary_c_rnti: 0x1234 + u16::from(preamble),
    };
    // Block 110 of the resource indication, MCS 5, 0 dB.
    let grant = 110 << 9 | 5 << 5 | 3 << 2;
    let answer = RarPdu { backoff: Some(4), responses: vec![entry(5, 0, grant), entry(63, 1282, grant)] };
    let pdus = [
        of(up, 40, &[Control::CRnti(0xbeef), short, Control::PowerHeadroom(41)]),
        of(up, 40, &[truncated]),
        of(up, 40, &[Control::Bsr(Report::Long([1, 2, 40, 63]))]),
        of(up, 40, &[direct(&[(1, 17), (5, 63), (9, 3)])]),
        of(
            down,
            40,
            &[Control::ContentionResolution([1, 2, 3, 4, 5, 6]), Control::TimingAdvance(0b01_011111)],
        ),
        of(down, 40, &[Control::Drx]),
        ([1, 1, 2], 4, answer.encode()),
    ];
    write(&pdus, &file);
    let bsr = "mac-lte.control.bsr";
    let direct = "mac-lte.control.sidelink-bsr";
    let says: [(usize, &[&str], &[&str]); 10] = [
        (1, &["mac-lte.control.crnti", "mac-lte.control.power-headroom.level"], &["48879", "41"]),
        (1, &[&format!("{bsr}.lcg-id"), &format!("{bsr}.buffer-size")], &["2", "17"]),
        (2, &[&format!("{bsr}.lcg-id"), &format!("{bsr}.buffer-size")], &["1", "63"]),
        (3, &[&format!("{bsr}.buffer-size-0"), &format!("{bsr}.buffer-size-1")], &["1", "2"]),
        (3, &[&format!("{bsr}.buffer-size-2"), &format!("{bsr}.buffer-size-3")], &["40", "63"]),
        (4, &[&format!("{direct}.destination-idx"), &format!("{direct}.buffer-size")], &["1,5,9", "17,63,3"]),
        (
            5,
            &["mac-lte.control.timing-advance.group-id", "mac-lte.control.timing-advance.command"],
            &["1", "31"],
        ),
        (5, &["mac-lte.control.ue-contention-resolution.identity"], &["010203040506"]),
        (7, &["mac-lte.rar.bi", "mac-lte.rar.rapid", "mac-lte.rar.ta"], &["4", "5,63", "0,1282"]),
        (
            7,
            &[
                "mac-lte.rar.temporary-crnti",
                "mac-lte.rar.ul-grant.fsrba",
                "mac-lte.rar.ul-grant.tmcs",
                "mac-lte.rar.ul-grant.tcsp",
            ],
            &["4665,4723", "110,110", "5,5", "3,3"],
        ),
    ];
    let mut wrong = Vec::new();
    for (frame, names, values) in says {
        let found = &rows(&format!("frame.number == {frame}"), names, &file)[0];
        if found.iter().zip(values).any(|(found, value)| number(found) != number(value)) {
            wrong.push(format!("frame {frame}: {names:?} are {found:?}, not {values:?}"));
        }
    }
    // The DRX command has no content: the LCID alone.
    let lcids = &rows("frame.number == 6", &["mac-lte.dlsch.lcid"], &file)[0][0];
    assert!(lcids.starts_with("0x1e") || lcids.starts_with("30"), "{lcids}");
    assert_eq!(count("_ws.malformed", &file), 0);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns all values of a field, hexadecimal or not.
fn number(text: &str) -> Vec<u64> {
    let parse = |part: &str| match part.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).unwrap(),
        None => part.parse().unwrap_or_else(|_| panic!("{text}")),
    };
    text.split(',').map(parse).collect()
}

/// Runs a scenario with the table `steps` and captures the MAC of all its cells.
fn traced(name: &str, sets: &[&str], folder: &Path) -> (RunOutput, PathBuf) {
    let file = folder.join(format!("{name}.pcapng"));
    let mut all = vec!["output.steps=true", r#"output.capture.interfaces=["*.mac"]"#];
    all.extend(sets);
    (capture(&bundled(name, &all), &file), file)
}

/// Returns the rows of the table `steps` with one of these steps on these links: time \[ms\], step,
/// octets, one for all packets of a block.
fn steps(output: &RunOutput, wanted: &[&str], links: &[&str]) -> Vec<(u64, String, u64)> {
    let [step, link, node, to, packet] =
        ["step", "link", "node", "to", "packet"].map(|c| texts(output, "steps", c));
    let (time, bytes) = (real(output, "steps", "time_s"), whole(output, "steps", "bytes"));
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for i in 0..step.len() {
        let ms = (time[i] * 1e3).round() as u64;
        let key = (ms, step[i].clone(), link[i].clone(), node[i].clone(), to[i].clone(), bytes[i]);
        // A step without a packet has one row.
        let first = packet[i].is_empty() || seen.insert(key);
        if wanted.contains(&&*step[i]) && links.contains(&&*link[i]) && first {
            found.push((ms, step[i].clone(), bytes[i]));
        }
    }
    found.sort();
    found
}

fn ms(epoch: &str) -> u64 {
    (epoch.parse::<f64>().unwrap() * 1e3).round() as u64
}

const CELLS: &[&str] = &["downlink", "uplink"];

/// Every transmitted block is a frame at its time, acknowledged or not; so are requests. The frames
/// are in the order of time.
#[test]
fn blocks_and_requests_have_the_time_at_which_they_were_on_the_air() {
    if !installed("blocks_and_requests_have_the_time_at_which_they_were_on_the_air") {
        return;
    }
    let folder = folder("captures-mac-times");
    let mut unknown = 0;
    for (name, sets) in [
        ("lte-upload", &["scenario.duration=523 ms"][..]),
        ("lte-fading", &["scenario.duration=611 ms"]),
        ("sidelink", &["scenario.duration=702 ms"]),
    ] {
        let (output, file) = traced(name, sets, &folder);
        let blocks = "mac-lte.rnti-type == 3 or mac-lte.rnti-type == 8";
        let names =
            ["frame.time_epoch", "mac-lte.retx-count", "mac-lte.length", "mac-lte.sfn", "mac-lte.subframe"];
        let mut theirs = Vec::new();
        for row in rows(blocks, &names, &file) {
            let (at, again) = (ms(&row[0]), !row[1].is_empty());
            assert_eq!(number(&row[3])[0] * 10 + number(&row[4])[0], at % 10_240, "{name}");
            let step = if again { "retransmission" } else { "data" };
            theirs.push((at, step.to_owned(), row[2].parse::<u64>().unwrap()));
        }
        assert!(theirs.is_sorted_by_key(|(at, ..)| *at), "{name}");
        theirs.sort();
        let ours = steps(&output, &["data", "retransmission"], &["downlink", "uplink", "sidelink"]);
        let differs = (0..ours.len().max(theirs.len())).find(|i| ours.get(*i) != theirs.get(*i));
        assert_eq!(differs.map(|i| (ours.get(i), theirs.get(i))), None, "{name}");
        // The blocks that the table lists as decoded or not decoded are so in the capture.
        let right = count("mac-lte.crc-status == 1", &file);
        assert_eq!(right, steps(&output, &["ack"], &["downlink", "uplink", "sidelink"]).len(), "{name}");
        let failed = count(r#"frame.comment contains "CRC failure""#, &file);
        assert_eq!(failed, steps(&output, &["nack"], &["downlink", "uplink", "sidelink"]).len(), "{name}");
        unknown += count(r#"frame.comment contains "outcome not known" and not mac-lte.crc-status"#, &file);
        let requests = rows("mac-lte.sr-req.count", &["frame.time_epoch"], &file);
        let requests: Vec<u64> = requests.iter().map(|row| ms(&row[0])).collect();
        let ours: Vec<u64> = steps(&output, &["request"], CELLS).iter().map(|(at, ..)| *at).collect();
        assert_eq!(requests, ours, "{name}");
        assert!(name == "lte-fading" || !requests.is_empty(), "{name}");
    }
    assert!(unknown > 0);
}

/// Buffer status reports: their time and the amount that the eNB derives from them are those of the
/// table `steps`.
#[test]
fn buffer_status_reports_are_those_of_the_table() {
    if !installed("buffer_status_reports_are_those_of_the_table") {
        return;
    }
    let folder = folder("captures-mac-reports");
    let mut kinds = [0; 3];
    for (name, sets) in [
        ("lte-upload", &["scenario.duration=600 ms"][..]),
        ("lte-qos", &["scenario.duration=600 ms"]),
        ("sidelink", &["scenario.duration=900 ms"]),
    ] {
        let (output, file) = traced(name, sets, &folder);
        let bsr = "mac-lte.control.bsr.buffer-size";
        let names: Vec<String> = ["", "-0", "-1", "-2", "-3"].iter().map(|n| format!("{bsr}{n}")).collect();
        let direct = "mac-lte.control.sidelink-bsr.buffer-size";
        let mut all = vec!["frame.time_epoch", direct];
        all.extend(names.iter().map(String::as_str));
        let filter = format!("not mac-lte.retx-count and ({bsr} or {bsr}-0 or {direct})");
        let mut theirs = Vec::new();
        for row in rows(&filter, &all, &file) {
            let bytes =
                |text: &str| number(text).iter().map(|l| u64::from(bsr::bytes(*l as u8))).sum::<u64>();
            let of = |texts: &[String]| texts.iter().filter(|t| !t.is_empty()).map(|t| bytes(t)).sum::<u64>();
            if !row[1].is_empty() {
                kinds[2] += 1;
                theirs.push((ms(&row[0]), "report".to_owned(), bytes(&row[1])));
            }
            if row[2..].iter().any(|text| !text.is_empty()) {
                kinds[usize::from(row[2].is_empty())] += 1;
                theirs.push((ms(&row[0]), "report".to_owned(), of(&row[2..])));
            }
        }
        theirs.sort();
        let mut ours = steps(&output, &["report"], CELLS);
        if name == "sidelink" {
            // For a sidelink's report the table has the amount waiting, not the amount that the
            // level represents. Each UE has one destination here, and no report in the long format.
            ours.iter_mut().for_each(|row| row.2 = bsr::bytes(bsr::level(row.2)).into());
            ours.sort();
        }
        let differs = (0..ours.len().max(theirs.len())).find(|i| ours.get(*i) != theirs.get(*i));
        assert_eq!(differs.map(|i| (ours.get(i), theirs.get(i))), None, "{name}");
    }
    // Short ones, long ones, of sidelinks.
    assert!(kinds.iter().all(|n| *n > 0), "{kinds:?}");
}

/// Random access: a preamble, the response that contains its index under the RA-RNTI of its
/// subframe within the window, and Msg3 six subframes later, of the UE whose C-RNTI the response
/// contains (TS 36.321 clause 5.1.4, TS 36.213 clause 6.1.1). The number of preambles is that of
/// the table `radio`.
#[test]
fn random_access_goes_from_the_preamble_to_msg3() {
    if !installed("random_access_goes_from_the_preamble_to_msg3") {
        return;
    }
    let folder = folder("captures-mac-access");
    let sets = ["scenario.duration=2 s", "cell.enb.uplink.request=random-access"];
    let (output, file) = traced("lte-upload", &sets, &folder);
    let preamble = "mac-lte.preamble-sent";
    let sent = rows(
        preamble,
        &["frame.time_epoch", "mac-lte.preamble-sent.rapid", "mac-lte.preamble-sent.attempt"],
        &file,
    );
    let answers = rows(
        "mac-lte.rar",
        &["frame.time_epoch", "mac-lte.rnti", "mac-lte.rar.rapid", "mac-lte.rar.temporary-crnti"],
        &file,
    );
    assert_eq!(sent.len() as u64, whole(&output, "radio", "preambles").iter().sum::<u64>());
    assert!(!answers.is_empty() && answers.len() <= sent.len());
    let preambles: BTreeMap<u64, (u64, u64)> =
        sent.iter().map(|row| (ms(&row[0]), (number(&row[1])[0], number(&row[2])[0]))).collect();
    let blocks: BTreeSet<(u64, u64)> = rows(
        "mac-lte.direction == 0 and mac-lte.rnti-type == 3",
        &["frame.time_epoch", "mac-lte.rnti"],
        &file,
    )
    .iter()
    .map(|row| (ms(&row[0]), number(&row[1])[0]))
    .collect();
    for row in &answers {
        let (at, rnti) = (ms(&row[0]), number(&row[1])[0]);
        // The window begins three subframes after the preamble.
        let of = preambles.range(..=at - 3).next_back().unwrap();
        assert_eq!((rnti, number(&row[2])[0]), (1 + of.0 % 10, of.1.0), "{row:?}");
        assert!(at - of.0 < 3 + 10, "{row:?}");
        assert!(blocks.contains(&(at + 6, number(&row[3])[0])), "no Msg3 for {row:?}");
    }
    assert_eq!(count("_ws.malformed and not mac-lte.crc-status == 0", &file), 0);
}

/// Blocks of the sidelink as PDUs of SL-SCH, with source and destination.
#[test]
fn sidelinks_are_pdus_of_sl_sch() {
    if !installed("sidelinks_are_pdus_of_sl_sch") {
        return;
    }
    let folder = folder("captures-mac-sidelink");
    for (name, duration, version) in [("sidelink", "900 ms", 2), ("sidelink-multicast", "1 s", 1)] {
        let duration = format!("scenario.duration={duration}");
        let (output, file) = traced(name, &[&duration], &folder);
        let names = [
            "mac-lte.slsch.version",
            "mac-lte.slsch.src-l2-id",
            "mac-lte.slsch.dst-l2-id",
            "mac-lte.slsch.lcid",
        ];
        let found = rows("mac-lte.slsch", &names, &file);
        let ours = steps(&output, &["data", "retransmission"], &["sidelink"]);
        assert_eq!(found.len(), ours.len(), "{name}");
        assert!(!found.is_empty(), "{name}");
        for row in &found {
            assert_eq!(number(&row[0]), [version], "{name}: {row:?}");
            assert!(number(&row[1])[0] > 0, "{name}: {row:?}");
        }
        assert_eq!(count("_ws.malformed and not mac-lte.crc-status == 0", &file), 0, "{name}");
    }
}

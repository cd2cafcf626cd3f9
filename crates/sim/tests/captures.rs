//! Captures of runs, decoded by tshark, which is independent of the simulator.
//!
//! If `tshark` is not installed, each test says so on standard error and does nothing. With
//! `LASTHOP_NEEDS_TSHARK` in the environment it fails instead.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{folder, whole};
use arrow::array::{Array, StringArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use lasthop_sim::{Files, RunOutput, Scenario, run_into};

/// True if tshark is installed; else writes the reason past the test harness's capture.
pub fn installed(test: &str) -> bool {
    let there = Command::new("tshark").arg("--version").output().is_ok();
    if !there {
        assert!(std::env::var_os("LASTHOP_NEEDS_TSHARK").is_none(), "{test}: tshark is not installed");
        let _ = writeln!(std::io::stderr(), "{test}: SKIPPED, tshark is not installed (package tshark)");
    }
    there
}

/// Returns the output of tshark, without the user's preferences.
pub fn tshark(arguments: &[&str], file: &Path) -> String {
    let mut command = Command::new("tshark");
    command.arg("-n").args(arguments).arg("-r").arg(file);
    command.env("WIRESHARK_CONFIG_DIR", file.parent().unwrap()).env("TZ", "UTC").env("LC_ALL", "C");
    let out = command.output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.success(), "{}: {said}", file.display());
    String::from_utf8_lossy(&out.stdout).into_owned()
}

/// Returns the rows of these fields, of frames that `filter` passes.
pub fn fields(filter: &str, names: &[&str], file: &Path) -> Vec<Vec<String>> {
    let mut arguments = vec!["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"];
    arguments.extend([
        "-o",
        "udp.check_checksum:TRUE",
        "-T",
        "fields",
        "-E",
        "separator=|",
        "-E",
        "occurrence=f",
    ]);
    names.iter().for_each(|name| arguments.extend(["-e", name]));
    if !filter.is_empty() {
        arguments.extend(["-Y", filter]);
    }
    let text = tshark(&arguments, file);
    text.lines().map(|line| line.split('|').map(str::to_owned).collect()).collect()
}

/// Returns the number of frames that pass `filter`.
pub fn count(filter: &str, file: &Path) -> usize {
    fields(filter, &["frame.number"], file).len()
}

/// Returns a bundled scenario with some keys set.
pub fn bundled(name: &str, sets: &[&str]) -> Scenario {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(format!("{name}.toml"));
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    Scenario::load(&path, &sets).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Runs a scenario with a capture.
pub fn capture(scenario: &Scenario, file: &Path) -> RunOutput {
    run_into(scenario, Files { capture: Some(file), ..Files::default() }, &mut |_| true).unwrap()
}

/// Returns a column of texts.
pub fn texts(output: &RunOutput, table: &str, column: &str) -> Vec<String> {
    let (batches, _) = output.table(table).unwrap();
    let of = |b: &arrow::array::RecordBatch| {
        let array = cast(b.column_by_name(column).unwrap(), &DataType::Utf8).unwrap();
        let array = array.as_any().downcast_ref::<StringArray>().unwrap();
        let text = |i| if array.is_null(i) { String::new() } else { array.value(i).to_owned() };
        (0..array.len()).map(text).collect::<Vec<_>>()
    };
    batches.iter().flat_map(of).collect()
}

/// Scenarios without a radio, and the duration of each run.
pub const WIRED: [(&str, &str); 4] = [
    ("dumbbell", "10 s"),
    ("change-during-run", "25 s"),
    ("split-and-snoop", "10 s"),
    ("trace-link", "20 s"),
];

/// Wired scenarios whose only flows are UDP.
const WIRED_UDP: [(&str, &str); 1] = [("media-call", "10 s")];

/// Runs a scenario with these interfaces captured and with its packets in a table.
pub fn observed(name: &str, duration: &str, interfaces: &str, more: &[&str], file: &Path) -> RunOutput {
    let duration = format!("scenario.duration={duration}");
    let interfaces = format!("output.capture.interfaces={interfaces}");
    let sets = [&duration, &interfaces, "output.packets=true"];
    capture(&bundled(name, &[&sets[..], more].concat()), file)
}

/// Whole frames.
const WHOLE: [&str; 1] = ["output.capture.snaplen=262144 B"];

/// Returns the interfaces of a capture, with their number of frames in each direction (1 in, 2
/// out).
fn per_interface(file: &Path) -> BTreeMap<(String, u8), u64> {
    let mut frames = BTreeMap::new();
    for row in fields("", &["frame.interface_name", "frame.packet_flags_direction"], file) {
        let direction = row[1].strip_prefix("0x").map_or(0, |d| d.parse().unwrap());
        *frames.entry((row[0].clone(), direction)).or_default() += 1;
    }
    frames
}

#[test]
fn every_frame_dissects_as_what_it_is_and_none_is_malformed() {
    if !installed("every_frame_dissects_as_what_it_is_and_none_is_malformed") {
        return;
    }
    let folder = folder("captures-wired");
    let tcp = WIRED.map(|(name, duration)| (name, duration, "tcp"));
    let udp = WIRED_UDP.map(|(name, duration)| (name, duration, "udp"));
    for (name, duration, transport) in tcp.into_iter().chain(udp) {
        let file = folder.join(format!("{name}.pcapng"));
        let output = observed(name, duration, r#"["*"]"#, &WHOLE, &file);
        // Frames of the transport, with data or without.
        let [bare, data] =
            ["", ":data"].map(|end| format!(r#"frame.protocols == "raw:ip:{transport}{end}""#));
        assert_eq!(count(&format!("not ({bare} or {data}) or _ws.malformed"), &file), 0, "{name}");
        let wrong = format!(
            "ip.checksum.status != 1 or {transport}.checksum.status != 1 or _ws.expert.group == \"Checksum\""
        );
        assert_eq!(count(&wrong, &file), 0, "{name}: wrong sums");
        // Each row of the table `packets` is one frame of the node's interface.
        let mut rows: BTreeMap<(String, u8), u64> = BTreeMap::new();
        let events = texts(&output, "packets", "event");
        for (node, event) in texts(&output, "packets", "node").into_iter().zip(&events) {
            match event.as_str() {
                "received" => *rows.entry((node, 1)).or_default() += 1,
                "sent" if node != "bs" => *rows.entry((node, 2)).or_default() += 1,
                "dropped" => *rows.entry(("drops".to_owned(), 0)).or_default() += 1,
                // An agent's copies appear on the links only.
                _ => {}
            }
        }
        let frames = per_interface(&file);
        let of_nodes = frames.iter().filter(|((n, _), _)| !n.contains('.')).map(|(k, n)| (k.clone(), *n));
        assert_eq!(of_nodes.collect::<BTreeMap<_, _>>(), rows, "{name}");
        // Each packet that enters a link leaves it, is dropped there, or is in it at the end.
        let drops = fields("frame.interface_name == drops", &["frame.comment"], &file);
        let links = frames.keys().filter_map(|(n, _)| n.strip_suffix(".queue"));
        let mut inside = 0;
        for link in links {
            let dropped = drops.iter().filter(|d| d[0].contains(&format!("at {link}:"))).count() as u64;
            let of = |point: &str, direction| {
                frames.get(&(format!("{link}.{point}"), direction)).copied().unwrap_or(0)
            };
            inside += of("queue", 2).checked_sub(of("exit", 1) + dropped).unwrap();
        }
        // A packet that waits at its source (`scenario.jitter`) was sent and has entered no link.
        let seen = |filter: &str| -> BTreeSet<u64> {
            let rows = fields(filter, &["frame.packet_id"], &file);
            rows.iter().map(|row| row[0].parse().unwrap()).collect()
        };
        let sent =
            seen(r#"frame.packet_flags_direction == 2 and not frame.interface_name contains ".queue""#);
        let gone = seen(r#"frame.interface_name contains ".queue" or frame.interface_name == "drops""#);
        let waiting = sent.difference(&gone).count() as u64;
        let at_end = output.summary()["packets"]["inside"]["packets"].as_u64().unwrap();
        assert_eq!(inside + waiting, at_end, "{name}");
    }
}

/// Without `snaplen` a frame ends 32 octets behind its last header, and its original length is
/// recorded; with `snaplen` it ends there. None of the frames is malformed.
#[test]
fn frames_end_behind_their_headers_unless_a_length_is_given() {
    if !installed("frames_end_behind_their_headers_unless_a_length_is_given") {
        return;
    }
    let folder = folder("captures-length");
    let names = [
        "frame.cap_len",
        "frame.len",
        "tcp.len",
        "udp.length",
        "radiotap.length",
        "wlan.qos.amsdupresent",
        "_ws.col.Info",
    ];
    let run = |name: &str, duration: &str, sets: &[&str]| {
        let radio = name.starts_with("wifi");
        let interfaces = if radio { r#"["server", "*.air"]"# } else { r#"["server", "drops"]"# };
        let file = folder.join(format!("{name}-{}.pcapng", sets.len()));
        observed(name, duration, interfaces, sets, &file);
        assert_eq!(count("_ws.malformed", &file), 0, "{name}");
        let rows = fields("tcp or udp", &names, &file);
        assert!(rows.iter().all(|r| !r[6].contains("size limited")), "{name}: {:?}", rows[0]);
        let number = |text: &String| text.parse::<u32>().unwrap_or(0);
        let frames = rows.iter().map(|r| {
            (number(&r[0]), number(&r[1]), number(&r[2]), number(&r[3]), matches!(&*r[5], "1" | "True"))
        });
        let frames: Vec<(u32, u32, u32, u32, bool)> = frames.collect();
        assert!(frames.len() > 100, "{name}: {}", frames.len());
        frames
    };
    let mut cut = 0;
    for (name, duration) in [("dumbbell", "2 s"), ("wifi-download", "1 s"), ("wifi-slow-station", "1 s")] {
        for (captured, length, tcp, udp, several) in run(name, duration, &[]) {
            // UDP's length counts its header of 8 octets.
            let payload = if several { 0 } else { tcp + udp.saturating_sub(8) };
            assert_eq!(captured, length - payload.saturating_sub(32), "{name}");
            cut += u32::from(payload > 0);
        }
        assert!(run(name, duration, &WHOLE).iter().all(|f| f.0 == f.1), "{name}");
    }
    assert!(cut > 1_000, "{cut}");
    let short = ["output.capture.snaplen=100 B", "output.cc=off"];
    assert!(run("dumbbell", "2 s", &short).iter().all(|f| f.0 == f.1.min(100)));
}

/// Fragments: 2028 B over links of 1500 B and 600 B, reassembled by Wireshark.
#[test]
fn fragments_of_udp_are_put_together() {
    if !installed("fragments_of_udp_are_put_together") {
        return;
    }
    let text = r#"
scenario = { name = "t", duration = "1 s" }
link.a = { between = ["x", "y"], rate = "10 Mbit/s", delay = "1 ms" }
link.b = { between = ["y", "z"], rate = "10 Mbit/s", delay = "1 ms", mtu = "600 B" }
[flow.f]
from = "x"
to = "z"
transport = "udp"
app = { kind = "cbr", rate = "160 kbit/s", size = "2000 B" }
[output.capture]
interfaces = ["b.forward.exit"]
to = "500 ms"
"#;
    let file = folder("captures-fragments").join("t.pcapng");
    capture(&crate::common::scenario(text), &file);
    // One datagram each 100 ms from 0 on: five by 500 ms, in 1500 = 576 + 576 + 388 and 548 octets.
    let rows = fields("", &["ip.len", "ip.frag_offset", "ip.flags.mf", "frame.protocols"], &file);
    let sizes: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(sizes[..4], ["596", "596", "348", "548"], "{rows:?}");
    let whole = fields("udp", &["udp.length", "udp.checksum.status", "ip.reassembled.length"], &file);
    assert_eq!(whole, vec![vec!["2008".to_owned(), "1".to_owned(), "2008".to_owned()]; whole.len()]);
    assert_eq!((rows.len(), whole.len()), (4 * whole.len(), 5), "{rows:?}");
    assert_eq!(count("_ws.malformed", &file), 0);
}

/// A capture that cannot be written ends the run with an error, and no file remains that appears
/// complete.
#[cfg(unix)]
#[test]
fn a_full_disk_ends_the_run_with_an_error_that_names_the_remedy() {
    if !Path::new("/dev/full").exists() {
        println!("no /dev/full here: nothing tried");
        return;
    }
    let folder = folder("captures-full");
    let (out, file) = (folder.join("run"), folder.join("t.pcapng"));
    let partial = folder.join("t.pcapng.partial");
    std::os::unix::fs::symlink("/dev/full", &partial).unwrap();
    let scenario = bundled("dumbbell", &["scenario.duration=10 s"]);
    let files = Files { out: Some(&out), capture: Some(&file), ..Files::default() };
    let error = run_into(&scenario, files, &mut |_| true).unwrap_err().to_string();
    assert!(error.contains(&format!("cannot write the capture {}: ", partial.display())), "{error}");
    assert!(error.contains("No space left") && error.contains("free space"), "{error}");
    assert!(!file.exists() && !out.exists());
}

/// The capture stays in the folder and is listed in the manifest; the tables are those of a run
/// without it.
#[test]
fn a_capture_in_the_result_folder_is_listed_in_the_manifest() {
    let place = folder("captures-folder").join("run");
    let text = r#"
scenario = { name = "t", duration = "2 s" }
link.a = { between = ["x", "y"], rate = "1 Mbit/s", delay = "10 ms", loss = "2 %" }
flow.f = { from = "x", to = "y" }
"#;
    let with = |more: &str| crate::common::scenario(&format!("{text}{more}"));
    let plain = lasthop_sim::run(&with(""), None, &mut |_| true).unwrap();
    let ring = "[output.capture]\nring = { size = \"64 kB\", files = 2 }\nsnaplen = \"64 B\"\n";
    let files = Files { out: Some(&place), ..Files::default() };
    let output = run_into(&with(ring), files, &mut |_| true).unwrap();
    let listed = &output.manifest()["capture"];
    let names: Vec<&str> =
        listed["files"].as_array().unwrap().iter().map(|f| f["name"].as_str().unwrap()).collect();
    assert!(names.len() == 2 && listed["removed"].as_u64().unwrap() > 0, "{listed}");
    names.iter().for_each(|name| {
        let bytes = std::fs::metadata(place.join(name)).unwrap().len();
        assert!((1..=64_000).contains(&bytes), "{name}: {bytes}");
    });
    assert_eq!(output.manifest()["tables"], plain.manifest()["tables"]);
    // Such a folder is a result folder: another run may replace it.
    lasthop_sim::run_replacing(&with(ring), &place, &mut |_| true).unwrap();
    // Without a result folder this path is invalid.
    let error = lasthop_sim::run(&with(ring), None, &mut |_| true).unwrap_err().to_string();
    assert!(error.contains("no result folder") && error.contains("`capture`"), "{error}");
}

/// A capture with `cc`, `explain`, packets and steps: the same tables as without it, to the octet,
/// and a file that tshark reads to its end. Wired, LTE with a handover, a sidelink, UMTS, Wi-Fi.
#[test]
fn a_capture_beside_everything_else_leaves_all_tables_as_they_are() {
    let folder = folder("captures-beside");
    let (read, name) = (Command::new("tshark").arg("--version").output().is_ok(), "a capture beside all");
    if !read {
        installed(name);
    }
    for (name, duration) in [
        ("dumbbell", "3 s"),
        ("split-and-snoop", "3 s"),
        ("lte-handover", "1 s"),
        ("lte-two-way", "300 ms"),
        ("lte-rlc-am", "1 s"),
        ("sidelink", "500 ms"),
        ("umts-download", "3 s"),
        ("wifi-slow-station", "200 ms"),
    ] {
        let file = folder.join(format!("{name}.pcapng"));
        let duration = format!("scenario.duration={duration}");
        let mut sets = vec![&*duration, "output.explain=true", "output.cc=interval", "output.packets=true"];
        if name.starts_with("lte-h") || name.starts_with("lte-t") {
            sets.push("output.steps=true");
        }
        let plain = run_into(&bundled(name, &sets), Files::default(), &mut |_| true).unwrap();
        sets.push(r#"output.capture.interfaces=["?*"]"#);
        let with = capture(&bundled(name, &sets), &file);
        let tables = |output: &RunOutput| output.manifest()["tables"].clone();
        assert!(tables(&plain).as_object().is_some_and(|t| t.contains_key("stages")), "{name}");
        assert_eq!(tables(&with), tables(&plain), "{name}");
        assert_eq!(with.summary(), plain.summary(), "{name}");
        if read {
            let frames = with.manifest()["capture"]["files"][0]["frames"].as_u64().unwrap();
            assert_eq!(count("", &file) as u64, frames, "{name}");
        }
    }
}

#[test]
fn mistakes_in_the_table_are_refused_with_their_place() {
    let text = r#"
scenario = { name = "t", duration = "2 s" }
link.wired = { between = ["server", "phone"], rate = "1 Mbit/s", delay = "10 ms" }
flow.ftp = { from = "server", to = "phone" }
flow.web = { from = "server", to = "phone", count = 8 }
"#;
    for (table, place, remedy) in [
        ("file = \"../a.pcapng\"", "output.capture.file", "--capture FILE"),
        ("file = \"a.pcap\"", "output.capture.file", "then `.pcapng`"),
        ("snaplen = \"10 B\"", "output.capture.snaplen", "leave the key out for headers"),
        ("interfaces = []", "output.capture.interfaces", "`wired.forward.queue`"),
        ("interfaces = [\"*\", \"sever\"]", "output.capture.interfaces.1", "did you mean `server`?"),
        ("flows = [\"ftq\"]", "output.capture.flows.0", "did you mean `ftp`?"),
        ("flows = [\"ftp-1\"]", "output.capture.flows.0", "`[flow.ftp]` is one flow: `ftp`"),
        ("flows = [\"*\", \"web-9\"]", "output.capture.flows.1", "is `web-1` to `web-8`; `web` stands"),
        ("flows = [\"web-01\"]", "output.capture.flows.0", "is `web-1` to `web-8`"),
        ("flows = [\"*-9\"]", "output.capture.flows.0", "known flows: `ftp`, `web`"),
        ("flows = [\"ftp@server\"]", "output.capture.flows.0", "is one flow"),
        ("from = \"1 s\"\nto = \"1 s\"", "output.capture.to", "less than `to`"),
        ("ring = { size = \"1 kB\", files = 2 }", "output.capture.ring.size", "64 kB"),
        ("ring = { size = \"1 MB\", files = 0 }", "output.capture.ring.files", "1 to 10000"),
    ] {
        let all = format!("{text}[output.capture]\n{table}\n");
        let error = Scenario::parse(&all, "t.toml", Path::new(""), &[]).unwrap_err();
        let said = error.to_string();
        assert!(said.contains(remedy), "{table}: {said}");
        let json = error.to_json().to_string();
        assert!(json.contains(place), "{table}: {json}");
    }
    let flows = |pattern: &str| format!("flows = [\"{pattern}\"]");
    let right = ["*-1", "web-8", "web", "w?b-*", "?tp", "*"].map(flows);
    let others = ["interfaces = [\"*.queue\", \"drops\"]", "to = \"1 s\""];
    for table in right.iter().map(String::as_str).chain(others) {
        let all = format!("{text}[output.capture]\n{table}\n");
        Scenario::parse(&all, "t.toml", Path::new(""), &[]).unwrap_or_else(|e| panic!("{e}"));
    }
}

/// Scenarios with radios, and the duration of each run: the shortest in which every radio sends and
/// receives.
const RADIO: [(&str, &str); 23] = [
    ("lte-7-sites", "120 ms"),
    ("lte-ack-delay", "600 ms"),
    ("lte-bufferbloat", "500 ms"),
    ("lte-download", "400 ms"),
    ("lte-drive", "400 ms"),
    ("lte-fading", "400 ms"),
    ("lte-handover", "1 s"),
    ("lte-qos", "400 ms"),
    ("lte-radio-aware", "400 ms"),
    ("lte-reuse", "200 ms"),
    ("lte-rlc-am", "2 s"),
    ("lte-rlc-um", "2 s"),
    ("lte-schedulers", "300 ms"),
    ("lte-two-way", "400 ms"),
    ("lte-um-am", "500 ms"),
    ("lte-upload", "500 ms"),
    ("sidelink-multicast", "1 s"),
    ("sidelink", "500 ms"),
    ("umts-download", "10 s"),
    ("web-over-umts", "20 s"),
    ("wifi-beside-lte", "1 s"),
    ("wifi-download", "2 s"),
    ("wifi-slow-station", "1 s"),
];

/// The scenarios among them in which tshark decodes no packet from a radio's frames: those with
/// sidelinks only, which have other frames, and UMTS with a PDCP header, which Wireshark does not
/// support.
const WITHOUT_IP: [&str; 4] = ["sidelink-multicast", "sidelink", "umts-download", "web-over-umts"];

/// The settings of `lasthop wireshark-profile`, as options of tshark.
pub const PROFILE: [&str; 20] = [
    "--enable-heuristic",
    "pdcp_lte_udp",
    "--enable-heuristic",
    "rlc_udp",
    "--enable-heuristic",
    "rlc_lte_udp",
    "-o",
    "mac-lte.lcid_to_drb_mapping_source:From static table",
    "-o",
    "mac-lte.attempt_rrc_decode:FALSE",
    "-o",
    "rlc-lte.call_pdcp_for_drb:12-bit SN",
    "-o",
    r#"uat:drb_logchans:"LCID 3","1","AM""#,
    "-o",
    r#"uat:drb_logchans:"LCID 4","2","AM""#,
    "-o",
    r#"uat:drb_logchans:"LCID 7","5","UM, SN Len=10""#,
    "-o",
    r#"uat:drb_logchans:"LCID 9","7","UM, SN Len=5""#,
];

/// As [`fields`], with the profile, and, if `rlc`, the analysis of RLC in frames of RLC itself.
pub fn decoded(filter: &str, names: &[&str], rlc: bool, file: &Path) -> Vec<Vec<String>> {
    decode(filter, names, rlc, "occurrence=f", file)
}

/// As [`decoded`], with each occurrence of a field instead of the first one, in frames of RLC.
fn fields_of_all(filter: &str, names: &[&str], file: &Path) -> Vec<Vec<String>> {
    let rows = decode(filter, names, true, "occurrence=a", file);
    rows.iter().map(|row| row.iter().flat_map(|all| all.split(',')).map(str::to_owned).collect()).collect()
}

fn decode(filter: &str, names: &[&str], rlc: bool, occurrence: &str, file: &Path) -> Vec<Vec<String>> {
    let frames = if rlc { "Only-RLC-frames" } else { "Only-MAC-frames" };
    let sequence = ["", "_am"].map(|mode| format!("rlc-lte.do_sequence_analysis{mode}:{frames}"));
    let mut arguments = PROFILE.to_vec();
    sequence.iter().for_each(|preference| arguments.extend(["-o", preference.as_str()]));
    arguments.extend(["-T", "fields", "-E", "separator=|", "-E", occurrence]);
    names.iter().for_each(|name| arguments.extend(["-e", name]));
    if !filter.is_empty() {
        arguments.extend(["-Y", filter]);
    }
    let text = tshark(&arguments, file);
    text.lines().map(|line| line.split('|').map(str::to_owned).collect()).collect()
}

/// Returns the expected dissection of a frame of an interface: these protocols and more, or these
/// only. A PDU of PDCP is a packet or, for a control PDU (D/C bit 0, TS 36.323 clause 6.3.7), the
/// status report.
fn claimed(interface: &str, data: &str) -> (&'static str, bool) {
    match interface.rsplit('.').next() {
        Some("mac") => ("exported_pdu:mac-lte-framed:mac-lte", true),
        Some("sent" | "received") => ("exported_pdu:rlc", true),
        Some("rlc") => ("exported_pdu:rlc-lte", true),
        Some("pdcp") if data == "0" || data == "False" => ("exported_pdu:pdcp-lte", false),
        Some("pdcp") => ("exported_pdu:pdcp-lte:ip:", true),
        Some("air") => ("radiotap:wlan_radio:wlan", true),
        _ => ("raw:ip:", true),
    }
}

/// The result of tshark for all frames of a capture.
#[derive(Debug)]
pub struct Verdict {
    /// Number of frames of radios.
    pub radio: u64,
    /// Number of them that are decoded down to IP.
    pub with_ip: u64,
    /// Interface and protocols of frames whose dissection is not the expected one.
    pub wrong: BTreeMap<String, u64>,
    pub malformed: Vec<Vec<String>>,
}

pub fn verdict(file: &Path) -> Verdict {
    let mut verdict = Verdict { radio: 0, with_ip: 0, wrong: BTreeMap::new(), malformed: malformed(file) };
    let names = ["frame.interface_name", "frame.protocols", "pdcp-lte.pdu-type", "pdcp-lte.control-pdu-type"];
    for row in decoded("", &names, true, file) {
        let (kind, more) = claimed(&row[0], &row[2]);
        let of_radio = !kind.starts_with("raw");
        verdict.radio += u64::from(of_radio);
        verdict.with_ip += u64::from(of_radio && row[1].contains(":ip:"));
        let report = more || matches!(row[3].as_str(), "0" | "0x00");
        let is = if more { row[1].starts_with(kind) } else { row[1] == kind };
        if !is || !report {
            *verdict.wrong.entry(row.join(" ")).or_default() += 1;
        }
    }
    verdict
}

/// Returns the frames in which something is malformed, with Wireshark's message. Wireshark puts its
/// notice of a wrong CRC into the group of malformed frames: one such notice is expected in a block
/// that was not decoded, and the block is dissected anyway.
fn malformed(file: &Path) -> Vec<Vec<String>> {
    let mut arguments = PROFILE.to_vec();
    arguments.extend(["-o", "mac-lte.attempt_to_dissect_crc_failures:TRUE", "-T", "fields"]);
    arguments.extend(["-E", "separator=|", "-E", "aggregator=;"]);
    let names = ["frame.number", "frame.interface_name", "mac-lte.crc-status", "_ws.expert.group"];
    names.iter().for_each(|name| arguments.extend(["-e", name]));
    arguments.extend(["-Y", "_ws.malformed or mac-lte.crc-status == 0"]);
    let text = tshark(&arguments, file);
    let rows = text.lines().map(|line| line.split('|').map(str::to_owned).collect::<Vec<_>>());
    // PI_MALFORMED of Wireshark's `proto.h`.
    let notices = |row: &[String]| row[3].split(';').filter(|group| *group == "117440512").count();
    rows.filter(|row| row[2] != "0" || notices(row) != 1).collect()
}

/// No bundled scenario is missing from the lists. Handovers and mode switches, which are later than
/// the durations given here, are in `captures_moments`.
#[test]
fn the_lists_have_all_bundled_scenarios() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let bundled: BTreeSet<String> = files
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    let listed: BTreeSet<String> =
        WIRED.iter().chain(&WIRED_UDP).chain(&RADIO).map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(listed, bundled);
}

#[test]
fn frames_of_radios_dissect_as_what_they_are() {
    if !installed("frames_of_radios_dissect_as_what_they_are") {
        return;
    }
    let folder = folder("captures-radio");
    let mut wrong = Vec::new();
    let plain = RADIO.map(|(name, duration)| (name, duration, None));
    // UMTS down to IP.
    let without_header = ["umts-download", "web-over-umts"];
    let deep = without_header.map(|name| (name, "5 s", Some("bearer.dch.pdcp.header=none")));
    for (name, duration, key) in plain.into_iter().chain(deep) {
        let file = folder.join(format!("{name}-{}.pcapng", key.is_some()));
        // With the interfaces that `*` leaves out.
        observed(name, duration, r#"["?*"]"#, key.as_slice(), &file);
        let verdict = verdict(&file);
        let shallow = key.is_none() && WITHOUT_IP.contains(&name);
        let dissected = verdict.wrong.is_empty() && verdict.malformed.is_empty();
        if verdict.radio == 0 || shallow != (verdict.with_ip == 0) || !dissected {
            wrong.push(format!("{name}: {verdict:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// LTE's layers one by one. PDUs of RLC are those of the blocks that were decoded, in their order.
/// PDCP has each packet once, by its number in the header of IP: all that the UE has received,
/// among those that reached the eNB. Wireshark does not reassemble all packets of RLC PDUs that
/// HARQ has reordered.
#[test]
fn pdcp_and_rlc_of_a_cell_have_the_packets_between_base_and_ue() {
    if !installed("pdcp_and_rlc_of_a_cell_have_the_packets_between_base_and_ue") {
        return;
    }
    let file = folder("captures-layers").join("t.pcapng");
    let interfaces = r#"["phone", "internet.forward.exit", "enb.*"]"#;
    // At most as many packets as the header of IP has numbers.
    observed("lte-fading", "1500 ms", interfaces, &[], &file);
    let inbound = r#"frame.interface_name == "phone" and frame.packet_flags_direction == 1"#;
    let phone = fields(inbound, &["ip.dst"], &file)[0].concat();
    let ids = |filter: &str| -> Vec<String> {
        let filter = format!("({filter}) and ip.dst == {phone}");
        fields_of_all(&filter, &["ip.id"], &file).into_iter().flatten().collect()
    };
    let set = |ids: &[String]| -> BTreeSet<String> { ids.iter().cloned().collect() };
    let arrived = ids(r#"frame.interface_name == "internet.forward.exit""#);
    let sent = ids(r#"frame.interface_name == "enb.pdcp""#);
    let received = ids(inbound);
    assert!(received.len() > 300, "{}", received.len());
    assert_eq!(set(&sent).len(), sent.len(), "a packet twice");
    assert!(set(&sent).is_subset(&set(&arrived)) && set(&received).is_subset(&set(&sent)));
    let numbers = |filter: &str| -> Vec<String> {
        let all = fields_of_all(filter, &["rlc-lte.am.fixed.sn"], &file).concat();
        all.into_iter().filter(|number| !number.is_empty()).collect()
    };
    let of_mac = numbers(r#"frame.interface_name == "enb.mac" and mac-lte.crc-status == 1"#);
    assert_eq!(numbers(r#"frame.interface_name == "enb.rlc""#), of_mac);
    assert!(of_mac.len() > 300, "{}", of_mac.len());
}

/// Returns the sum over bearers of the last value of a counter of a table for each direction.
pub fn last(output: &RunOutput, table: &str, column: &str, direction: &str) -> u64 {
    let mut counters = BTreeMap::new();
    let (bearers, ways) = (texts(output, table, "bearer"), texts(output, table, "direction"));
    for ((bearer, way), n) in bearers.into_iter().zip(ways).zip(whole(output, table, column)) {
        if way == direction {
            counters.insert(bearer, n);
        }
    }
    counters.values().sum()
}

/// The lost PDUs of RLC are those that the table `mac` counts.
#[test]
fn lost_pdus_of_rlc_are_those_of_the_table() {
    if !installed("lost_pdus_of_rlc_are_those_of_the_table") {
        return;
    }
    let file = folder("captures-rlc").join("t.pcapng");
    // Counters are sampled: the last row has the values at the end.
    let interfaces = r#"output.capture.interfaces=["*.rlc.sent"]"#;
    let sets = ["scenario.duration=4 s", "output.interval=1 ms", interfaces];
    let output = capture(&bundled("lte-rlc-am", &sets), &file);
    let lost = decoded(r#"frame.comment contains "lost on the air""#, &["frame.number"], true, &file);
    let blocks = ["downlink", "uplink"].map(|way| last(&output, "mac", "blocks_lost", way));
    assert_eq!(lost.len() as u64, blocks.iter().sum::<u64>());
    assert!(lost.len() > 20, "{}", lost.len());
}

//! Tests that read captures with Wireshark's command-line tools, which are independent of the
//! writer.
//!
//! Where `tshark` is not installed, each test reports this on standard error and passes. With
//! `LASTHOP_NEEDS_TSHARK` in the environment it fails instead.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lasthop_capture::pcapng::{
    Direction, Frame, Interface, InterfaceId, MAX_CAPTURED, Ring, Section, Writer,
};

/// A folder that is removed after the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("lasthop-wireshark-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The result of a tool: success, output, and errors.
struct Said {
    success: bool,
    output: String,
    errors: String,
}

/// Runs a tool of Wireshark without the user's preferences.
fn run(tool: &str, arguments: &[&str], file: &Path) -> Said {
    let mut command = Command::new(tool);
    command.args(arguments).arg(file);
    command.env("WIRESHARK_CONFIG_DIR", file.parent().unwrap()).env("TZ", "UTC").env("LC_ALL", "C");
    let out = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let errors = text(&out.stderr);
    // The tool warns the user root, which does not concern the file.
    let errors = errors.lines().filter(|l| !l.contains("Running as user")).collect::<Vec<_>>().join("\n");
    Said { success: out.status.success(), output: text(&out.stdout), errors }
}

/// True if the tools are installed; else the reason is written to standard error without the test
/// harness's capture.
fn installed(test: &str) -> bool {
    let there = ["tshark", "capinfos"].iter().all(|t| Command::new(t).arg("--version").output().is_ok());
    if !there {
        assert!(std::env::var_os("LASTHOP_NEEDS_TSHARK").is_none(), "{test}: tshark is not installed");
        let _ = writeln!(std::io::stderr(), "{test}: SKIPPED, tshark is not installed (package tshark)");
    }
    there
}

/// An IPv4 packet (RFC 791) with UDP (RFC 768) and `payload` octets of value 0; the sum of UDP is
/// left out, as RFC 768 allows.
fn ip_udp(identification: u16, payload: u16) -> Vec<u8> {
    let mut packet = vec![0x45, 0];
    packet.extend_from_slice(&(28 + payload).to_be_bytes());
    packet.extend_from_slice(&identification.to_be_bytes());
    packet.extend_from_slice(&[0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    let words = packet.chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])));
    let sum: u32 = words.sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    for value in [40_000, 40_001, 8 + payload, 0u16] {
        packet.extend_from_slice(&value.to_be_bytes());
    }
    packet.resize(28 + usize::from(payload), 0);
    packet
}

/// A PDU of LINKTYPE_WIRESHARK_UPPER_PDU: the tag of the dissector's name (12), the end of the tags
/// (0), and the octets.
fn upper_pdu(dissector: &str, pdu: &[u8]) -> Vec<u8> {
    let mut octets = vec![0, 12, 0, dissector.len().next_multiple_of(4) as u8];
    octets.extend_from_slice(dissector.as_bytes());
    octets.resize(octets.len().next_multiple_of(4), 0);
    octets.extend_from_slice(&[0, 0, 0, 0]);
    octets.extend_from_slice(pdu);
    octets
}

const START_NS: u64 = 1_700_000_000_000_000_000;

fn section() -> Section {
    Section {
        application: "lasthop test".to_owned(),
        hardware: "simulated".to_owned(),
        comment: "a comment of the section".to_owned(),
        start_ns: START_NS,
    }
}

fn interface(link_type: u16, snaplen: u32, name: &str) -> Interface {
    Interface { link_type, snaplen, name: name.to_owned(), description: format!("point {name}") }
}

fn frame(interface: InterfaceId, time_ns: u64, bytes: &[u8]) -> Frame<'_> {
    Frame {
        interface,
        time_ns: START_NS + time_ns,
        direction: Direction::Unknown,
        prefix: &[],
        bytes,
        zeros: 0,
        length: bytes.len() as u32,
        packet: None,
        comment: "",
    }
}

/// A capture of three interfaces and six frames.
fn small(path: &Path) {
    let mut writer = Writer::create(path, section(), None).unwrap();
    let ip = writer.interface(interface(101, 0, "ue:ip"));
    let short = writer.interface(interface(101, 60, "server:ip"));
    let pdu = writer.interface(interface(252, 0, "enb:mac"));
    let (packet, inner) = (ip_udp(7, 13), upper_pdu("ip", &ip_udp(8, 2)));
    let head = &ip_udp(9, 1_400)[..28];
    let frames = [
        Frame { direction: Direction::Outbound, packet: Some(7), ..frame(ip, 1, &packet) },
        Frame { comment: "queue full: dropped", ..frame(ip, 123_456_789, &packet) },
        Frame { direction: Direction::Inbound, ..frame(pdu, 200_000_000, &inner) },
        Frame { zeros: 1_400, length: 1_428, ..frame(ip, 1_000_000_000, head) },
        Frame { zeros: 1_400, length: 1_428, comment: "ä\n2", ..frame(short, 2_000_000_001, head) },
        // Times may decrease: the direction of a frame can be determined after a later frame was
        // captured at another interface.
        frame(ip, 2_000_000_000, &packet),
    ];
    frames.iter().for_each(|f| writer.frame(f));
    writer.passed_over(short);
    writer.finish(START_NS + 3_000_000_000).unwrap();
}

#[test]
fn tshark_reads_what_was_written() {
    if !installed("tshark_reads_what_was_written") {
        return;
    }
    let folder = Folder::new("fields");
    let path = folder.file("t.pcapng");
    small(&path);
    let fields = [
        "frame.interface_id",
        "frame.interface_name",
        "frame.interface_description",
        "frame.time_epoch",
        "frame.cap_len",
        "frame.len",
        "frame.packet_flags_direction",
        "frame.packet_id",
        "frame.comment",
        "frame.protocols",
        "ip.id",
    ];
    let mut arguments = vec!["-n", "-T", "fields", "-E", "separator=|"];
    fields.iter().for_each(|f| arguments.extend(["-e", f]));
    arguments.push("-r");
    let said = run("tshark", &arguments, &path);
    assert!(said.success && said.errors.is_empty(), "{}", said.errors);
    let expected = [
        "0|ue:ip|point ue:ip|1700000000.000000001|41|41|0x00000002|7||raw:ip:udp:data|0x0007",
        "0|ue:ip|point ue:ip|1700000000.123456789|41|41|||queue full: dropped|raw:ip:udp:data|0x0007",
        "2|enb:mac|point enb:mac|1700000000.200000000|42|42|0x00000001|||exported_pdu:ip:udp:data|0x0008",
        "0|ue:ip|point ue:ip|1700000001.000000000|1428|1428||||raw:ip:udp:data|0x0009",
        "1|server:ip|point server:ip|1700000002.000000001|60|1428|||ä\\n2|raw:ip:udp:data|0x0009",
        "0|ue:ip|point ue:ip|1700000002.000000000|41|41||||raw:ip:udp:data|0x0007",
    ];
    assert_eq!(said.output.lines().collect::<Vec<_>>(), expected);
    // No dissector finds a malformed octet. With this option a wrong header checksum would be
    // reported.
    let checks =
        ["-n", "-o", "ip.check_checksum:TRUE", "-Y", "_ws.malformed or ip.checksum.status == 0", "-r"];
    assert_eq!(run("tshark", &checks, &path).output, "");
    let sums = ["-n", "-o", "ip.check_checksum:TRUE", "-Y", "ip.checksum.status == 1", "-r"];
    assert_eq!(run("tshark", &sums, &path).output.lines().count(), 6);
}

#[test]
fn capinfos_reads_section_and_interfaces() {
    if !installed("capinfos_reads_section_and_interfaces") {
        return;
    }
    let folder = Folder::new("capinfos");
    let path = folder.file("t.pcapng");
    small(&path);
    let said = run("capinfos", &["-M"], &path);
    assert!(said.success && said.errors.is_empty(), "{}", said.errors);
    let lines: Vec<&str> = said.output.lines().map(str::trim).collect();
    for (name, value, times) in [
        ("File type:", "pcapng", 1),
        ("Number of packets:", "6", 1),
        ("Number of interfaces in file:", "3", 1),
        ("Capture hardware:", "simulated", 1),
        ("Capture application:", "lasthop test", 1),
        ("Capture comment:", "a comment of the section", 1),
        ("Name =", "server:ip", 1),
        ("Description =", "point enb:mac", 1),
        ("Time precision =", "nanoseconds (9)", 3),
        ("Capture length =", "262144", 2),
        ("Capture length =", "60", 1),
        ("Number of stat entries =", "1", 3),
        ("Number of packets =", "4", 1),
        ("Number of packets =", "1", 2),
    ] {
        let found = lines.iter().filter(|l| l.strip_prefix(name).is_some_and(|v| v.trim() == value)).count();
        assert_eq!(found, times, "{name} {value}\n{}", said.output);
    }
}

/// Wireshark can dissect the file itself, block by block.
#[test]
fn the_blocks_are_those_of_the_format() {
    if !installed("the_blocks_are_those_of_the_format") {
        return;
    }
    let folder = Folder::new("blocks");
    let path = folder.file("t.pcapng");
    small(&path);
    let said = run("tshark", &["-n", "-X", "read_format:MIME Files Format", "-V", "-r"], &path);
    assert!(said.success && said.errors.is_empty(), "{}", said.errors);
    for wrong in ["Malformed", "Expert Info", "Unknown"] {
        assert!(!said.output.contains(wrong), "{wrong}\n{}", said.output);
    }
    let with = |begin: &str| {
        let lines = said.output.lines().map(str::trim);
        lines.filter_map(|l| l.strip_prefix(begin)).map(str::to_owned).collect::<Vec<_>>()
    };
    let mut blocks = vec!["Section Header Block 1".to_owned()];
    blocks.extend((0..3).map(|n| format!("Interface Description Block {n}")));
    blocks.extend((1..7).map(|n| format!("Enhanced Packet Block {n}")));
    let found = with("Block: ");
    assert_eq!(found[..10], blocks);
    assert!(found.len() == 13 && found[10..].iter().all(|b| b.starts_with("Interface Statistics Block")));
    let options = with("Option: ");
    let statistics = options.iter().filter_map(|o| o.strip_prefix("Number of ")).collect::<Vec<_>>();
    let expected = [
        ["Received Packets = 4", "Dropped Packets = 0", "Accepted Packets = 4"],
        ["Received Packets = 2", "Dropped Packets = 0", "Accepted Packets = 1"],
        ["Received Packets = 1", "Dropped Packets = 0", "Accepted Packets = 1"],
    ];
    assert_eq!(statistics, expected.concat());
    // Each block but the two frames that have no option ends its options.
    assert_eq!(options.iter().filter(|o| *o == "End of Options").count(), found.len() - 2);
    // This dissector shows the time of the statistics, not of these two options.
    for time in ["Start Time", "End Time"] {
        assert_eq!(options.iter().filter(|o| *o == time).count(), 3);
    }
    let moments = with("[Timestamp: Nov 14, 2023 ");
    assert_eq!(moments[6..], ["22:13:23.000000000 UTC]"; 3]);
}

#[test]
fn every_file_of_a_ring_is_read_by_itself() {
    if !installed("every_file_of_a_ring_is_read_by_itself") {
        return;
    }
    let folder = Folder::new("ring");
    let ring = Ring { bytes: 4_000.try_into().unwrap(), files: 3.try_into().unwrap() };
    let mut writer = Writer::create(&folder.file("t.pcapng"), section(), Some(ring)).unwrap();
    let ids = [writer.interface(interface(101, 0, "a")), writer.interface(interface(101, 0, "b"))];
    for n in 0..200u16 {
        let packet = ip_udp(n, n % 50);
        writer.frame(&frame(ids[usize::from(n % 2)], u64::from(n) * 1_000, &packet));
    }
    let done = writer.finish(START_NS + 1_000_000).unwrap();
    assert!(done.removed > 0 && done.files.len() == 3);
    let mut next = 200 - done.files.iter().map(|f| f.frames).sum::<u64>();
    for file in &done.files {
        let arguments = ["-n", "-T", "fields", "-e", "ip.id", "-e", "frame.interface_name", "-r"];
        let said = run("tshark", &arguments, &file.path);
        assert!(said.success && said.errors.is_empty(), "{}", said.errors);
        assert_eq!(said.output.lines().count() as u64, file.frames);
        for line in said.output.lines() {
            assert_eq!(line, format!("0x{next:04x}\t{}", ["a", "b"][(next % 2) as usize]));
            next += 1;
        }
    }
    assert_eq!(next, 200);
}

/// A killed process can leave a block that is cut off anywhere. Every frame before it is read.
#[test]
fn a_file_cut_off_in_its_last_block_keeps_all_earlier_frames() {
    if !installed("a_file_cut_off_in_its_last_block_keeps_all_earlier_frames") {
        return;
    }
    let folder = Folder::new("cut");
    let mut writer = Writer::create(&folder.file("t.pcapng"), section(), None).unwrap();
    let id = writer.interface(interface(101, 0, "a"));
    (0..3u16).for_each(|n| writer.frame(&frame(id, u64::from(n), &ip_udp(n, 0))));
    writer.flush();
    let path = folder.file("t.pcapng.partial");
    let whole = fs::metadata(&path).unwrap().len() as usize;
    let last = Frame { direction: Direction::Inbound, ..frame(id, 9, &[0x45]) };
    writer.frame(&last);
    // As after a panic: no statistics, no final name.
    drop(writer);
    let bytes = fs::read(&path).unwrap();
    // 28 octets before the packet, 4 of it, 8 of flags, 4 of the end of options, 4 of the length.
    assert_eq!(bytes.len(), whole + 48);
    let cut = folder.file("cut.pcapng");
    for keep in whole..=bytes.len() {
        fs::write(&cut, &bytes[..keep]).unwrap();
        let said = run("tshark", &["-n", "-T", "fields", "-e", "frame.cap_len", "-r"], &cut);
        let frames: Vec<&str> = said.output.lines().filter(|l| !l.is_empty()).collect();
        if keep == whole || keep == bytes.len() {
            assert!(said.success && said.errors.is_empty(), "{keep}: {}", said.errors);
            assert_eq!(frames, ["28", "28", "28", "1"][..if keep == whole { 3 } else { 4 }]);
        } else {
            assert_eq!(frames, ["28"; 3], "{keep} of {} octets", bytes.len());
            assert!(!said.success && said.errors.contains("cut short in the middle"), "{}", said.errors);
        }
    }
}

/// The variable with the path to which the process of [`a_child_writes`] writes.
const TARGET: &str = "LASTHOP_TEST_CAPTURE";

/// The capture of a child process: frames of 132 octets, until it is killed or cannot write.
#[test]
fn a_child_writes() {
    let Some(path) = std::env::var_os(TARGET) else { return };
    let packet = ip_udp(1, 72);
    let mut writer = Writer::create(Path::new(&path), section(), None).unwrap();
    let id = writer.interface(interface(101, 0, "a"));
    // Ends at 1.3 GB, if it is not stopped before.
    for n in 0..10_000_000 {
        writer.frame(&frame(id, n, &packet));
        if writer.error().is_some() {
            break;
        }
    }
    println!("{:?}", writer.finish(START_NS).map_err(|e| e.to_string()));
}

/// A command that runs this program with [`a_child_writes`] alone.
fn child_that_writes_to(path: &Path, shell: &str) -> Command {
    let mut child = Command::new("sh");
    child.args(["-c", &format!("{shell} exec \"$0\" a_child_writes --exact --nocapture")]);
    child.arg(std::env::current_exe().unwrap()).env(TARGET, path);
    child
}

/// Checks that every whole block of [`a_child_writes`] in `folder` is read.
fn what_the_child_left_is_read(folder: &Folder) {
    let path = folder.file("t.pcapng.partial");
    let mut writer = Writer::create(&folder.file("head.pcapng"), section(), None).unwrap();
    writer.interface(interface(101, 0, "a"));
    drop(writer);
    let size = |name: &str| fs::metadata(folder.file(name)).unwrap().len();
    let blocks = size("t.pcapng.partial") - size("head.pcapng.partial");
    let (frames, rest) = (blocks / 132, blocks % 132);
    let said = run("capinfos", &["-c", "-M", "-T", "-r"], &path);
    assert!(said.output.trim_end().ends_with(&format!("\t{frames}")), "{frames}: {}", said.output);
    assert_eq!(said.errors.contains("cut short"), rest > 0, "{rest}: {}", said.errors);
    // Two megabytes are enough to check that the frames are those that were written.
    let most = frames.min(15_000).to_string();
    let fields = ["-n", "-c", &most, "-T", "fields", "-e", "frame.time_epoch", "-e", "frame.protocols", "-r"];
    let said = run("tshark", &fields, &path);
    for (n, line) in said.output.lines().filter(|l| !l.is_empty()).enumerate() {
        assert_eq!(line, format!("1700000000.{n:09}\traw:ip:udp:data"));
    }
    assert_eq!(said.output.lines().filter(|l| !l.is_empty()).count().to_string(), most);
}

#[cfg(unix)]
#[test]
fn a_killed_process_leaves_a_capture_that_is_read() {
    if !installed("a_killed_process_leaves_a_capture_that_is_read") {
        return;
    }
    let folder = Folder::new("killed");
    let mut child = child_that_writes_to(&folder.file("t.pcapng"), "").stdout(Stdio::null()).spawn().unwrap();
    while fs::metadata(folder.file("t.pcapng.partial")).map_or(0, |m| m.len()) < 300_000 {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    what_the_child_left_is_read(&folder);
}

/// A limit of the size of files (setrlimit(2)) stops a write in the middle of a block.
#[cfg(unix)]
#[test]
fn a_write_that_fails_half_way_leaves_a_capture_that_is_read() {
    if !installed("a_write_that_fails_half_way_leaves_a_capture_that_is_read") {
        return;
    }
    let folder = Folder::new("limited");
    // 200 blocks of 512 octets; the signal, which would end the process, is ignored.
    let limit = "trap '' XFSZ; ulimit -f 200;";
    let out = child_that_writes_to(&folder.file("t.pcapng"), limit).output().unwrap();
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    let partial = folder.file("t.pcapng.partial");
    assert!(
        said.contains(&format!("cannot write the capture {}: File too large", partial.display())),
        "{said}"
    );
    assert!(said.contains("the frames before are readable in this file; free space"), "{said}");
    let size = fs::metadata(&partial).unwrap().len();
    assert!(size > 100_000 && size < 300_000, "{size}");
    assert!(!folder.file("t.pcapng").exists());
    what_the_child_left_is_read(&folder);
}

/// The limit is Wireshark's: a frame of so many octets is read, and one more is refused.
#[test]
fn the_longest_frame_is_the_longest_that_wireshark_reads() {
    if !installed("the_longest_frame_is_the_longest_that_wireshark_reads") {
        return;
    }
    let folder = Folder::new("long");
    let path = folder.file("t.pcapng");
    let mut writer = Writer::create(&path, section(), None).unwrap();
    let id = writer.interface(interface(101, 0, "a"));
    let head = ip_udp(1, 0);
    let zeros = 1_000_000;
    writer.frame(&Frame { zeros, length: 28 + zeros, ..frame(id, 0, &head) });
    writer.finish(START_NS).unwrap();
    let arguments = ["-n", "-T", "fields", "-e", "frame.cap_len", "-e", "frame.len", "-r"];
    let said = run("tshark", &arguments, &path);
    assert!(said.success && said.errors.is_empty(), "{}", said.errors);
    assert_eq!(said.output, format!("{MAX_CAPTURED}\t1000028\n"));
    // The same block with one octet more and its padding, so that only the length is wrong.
    let mut bytes = fs::read(&path).unwrap();
    // The second word of this value: the first one is the interface's snapshot length.
    let mut words = bytes.chunks(4).enumerate().filter(|(_, w)| *w == MAX_CAPTURED.to_le_bytes());
    let at = 4 * words.nth(1).unwrap().0;
    let mut block = bytes.split_off(at - 20);
    block.truncate(28 + MAX_CAPTURED as usize);
    block.resize(block.len() + 4, 0);
    let total = (block.len() as u32 + 4).to_le_bytes();
    block[4..8].copy_from_slice(&total);
    block[20..24].copy_from_slice(&(MAX_CAPTURED + 1).to_le_bytes());
    bytes.extend([&block[..], &total].concat());
    fs::write(&path, &bytes).unwrap();
    let said = run("tshark", &arguments, &path);
    assert!(said.errors.contains("cap_len 262145 is larger than 262144"), "{}", said.errors);
}

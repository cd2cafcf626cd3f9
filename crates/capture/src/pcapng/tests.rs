//! Octets against the figures of the draft, files of a ring, and files after an error.

use std::path::{Path, PathBuf};

use super::*;

/// A folder that is removed after the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("lasthop-pcapng-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(&self.0).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn plain(interface: InterfaceId, time_ns: u64, bytes: &[u8]) -> Frame<'_> {
    Frame {
        interface,
        time_ns,
        direction: Direction::Unknown,
        prefix: &[],
        bytes,
        zeros: 0,
        length: bytes.len() as u32,
        packet: None,
        comment: "",
    }
}

fn raw_ip(name: &str, snaplen: u32) -> Interface {
    Interface { link_type: 101, snaplen, name: name.to_owned(), description: String::new() }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// Type and octets of each block, by the rules of section 3.1 alone.
fn blocks(mut file: &[u8]) -> Vec<(u32, &[u8])> {
    let mut found = Vec::new();
    while !file.is_empty() {
        let length = word(file, 4) as usize;
        assert!(length >= 12 && length.is_multiple_of(4), "length {length}");
        assert_eq!(word(file, length - 4) as usize, length, "the length at the end");
        let (block, rest) = file.split_at(length);
        found.push((word(block, 0), block));
        file = rest;
    }
    found
}

/// Code and value of each option from octet `at` of a block on, by the rules of section 3.5.
fn options(block: &[u8], mut at: usize) -> Vec<(u16, &[u8])> {
    let mut found = Vec::new();
    let end = block.len() - 4;
    while at < end {
        let (code, length) = (word(block, at) as u16, (word(block, at) >> 16) as usize);
        let padded = length.next_multiple_of(4);
        assert!(block[at + 4 + length..at + 4 + padded].iter().all(|b| *b == 0), "padding is zeros");
        at += 4 + padded;
        if code == 0 {
            assert_eq!((length, at), (0, end), "opt_endofopt is last");
            return found;
        }
        found.push((code, &block[at - padded..][..length]));
    }
    assert!(found.is_empty(), "options without opt_endofopt");
    found
}

/// Every octet of a small capture, from the figures of sections 4.1, 4.2, 4.3 and 4.6.
#[test]
fn a_small_capture_has_the_octets_of_the_figures() {
    let folder = Folder::new("octets");
    let section = Section {
        application: "abc".to_owned(),
        hardware: "hw".to_owned(),
        comment: String::new(),
        start_ns: 0,
    };
    let mut writer = Writer::create(&folder.file("t.pcapng"), section, None).unwrap();
    let interface =
        Interface { link_type: 101, snaplen: 6, name: "ue:ip".to_owned(), description: "four".to_owned() };
    let id = writer.interface(interface);
    let frame = Frame {
        interface: id,
        time_ns: 0x0000_0001_0000_0002,
        direction: Direction::Outbound,
        prefix: &[0x45, 1],
        bytes: &[2, 3, 4],
        zeros: 7,
        length: 1500,
        packet: Some(0x0102),
        comment: "no",
    };
    writer.frame(&frame);
    writer.passed_over(id);
    let done = writer.finish(0x0000_0003_0000_0004).unwrap();
    #[rustfmt::skip]
    let expected: Vec<u8> = [
        // Section Header Block: type, length 48, magic, version 1.0, length of the section unknown,
        // shb_hardware (2), shb_userappl (4), end.
        &[0x0a, 0x0d, 0x0d, 0x0a, 48, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0][..],
        &[0xff; 8],
        &[2, 0, 2, 0, b'h', b'w', 0, 0, 4, 0, 3, 0, b'a', b'b', b'c', 0, 0, 0, 0, 0],
        &[48, 0, 0, 0],
        // Interface Description Block: link type 101, SnapLen 6, if_name (2), if_description (3),
        // if_tsresol (9), end.
        &[1, 0, 0, 0, 52, 0, 0, 0, 101, 0, 0, 0, 6, 0, 0, 0],
        &[2, 0, 5, 0, b'u', b'e', b':', b'i', b'p', 0, 0, 0, 3, 0, 4, 0, b'f', b'o', b'u', b'r'],
        &[9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0],
        &[52, 0, 0, 0],
        // Enhanced Packet Block: interface 0, upper and lower half of the time, 6 octets of 1500,
        // padded to 8, opt_comment (1), epb_flags (2) with bits 0-1 = 10, epb_packetid (5), end.
        &[6, 0, 0, 0, 72, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 6, 0, 0, 0, 0xdc, 5, 0, 0],
        &[0x45, 1, 2, 3, 4, 0, 0, 0, 1, 0, 2, 0, b'n', b'o', 0, 0, 2, 0, 4, 0, 2, 0, 0, 0],
        &[5, 0, 8, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 72, 0, 0, 0],
        // Interface Statistics Block: interface 0, time, isb_starttime (2), isb_endtime (3),
        // isb_ifrecv (4) = 2, isb_ifdrop (5) = 0, isb_filteraccept (6) = 1, end.
        &[5, 0, 0, 0, 88, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0],
        &[2, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 8, 0, 3, 0, 0, 0, 4, 0, 0, 0],
        &[4, 0, 8, 0, 2, 0, 0, 0, 0, 0, 0, 0, 5, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        &[6, 0, 8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 88, 0, 0, 0],
    ].concat();
    let written = fs::read(folder.file("t.pcapng")).unwrap();
    assert_eq!(written, expected);
    let hash = blake3::hash(&expected).to_hex().to_string();
    let file = CaptureFile { path: folder.file("t.pcapng"), bytes: 260, frames: 1, file_hash: hash };
    assert_eq!(done, FinishedCapture { files: vec![file], frames: 1, removed: 0 });
    assert_eq!(folder.names(), ["t.pcapng"]);
}

/// Captured octets are those given, at most the snapshot length (section 4.3); padding follows.
#[test]
fn frames_are_cut_to_the_snapshot_length_and_padded() {
    let folder = Folder::new("cut");
    let mut writer = Writer::create(&folder.file("t.pcapng"), Section::default(), None).unwrap();
    let (short, whole) = (writer.interface(raw_ip("short", 10)), writer.interface(raw_ip("whole", 0)));
    let bytes = [0xee; 300];
    let cases = [
        // interface, octets, zeros, length on the wire: captured octets.
        (short, 0, 0, 0, 0),
        (short, 9, 0, 9, 9),
        (short, 9, 3, 12, 10),
        (short, 12, 3, 1500, 10),
        (whole, 300, 0, 300, 300),
        (whole, 1, 500_000, 500_001, MAX_CAPTURED),
        (whole, 1, u32::MAX - 1, u32::MAX, MAX_CAPTURED),
    ];
    // With prefixes of several lengths: the same octets.
    let cases: Vec<_> =
        cases.into_iter().flat_map(|case| [0, case.1 / 3, case.1].map(|at| (case, at))).collect();
    for ((interface, octets, zeros, length, _), at) in &cases {
        let (prefix, bytes) = bytes[..*octets].split_at(*at);
        writer.frame(&Frame { prefix, zeros: *zeros, length: *length, ..plain(*interface, 0, bytes) });
    }
    writer.finish(0).unwrap();
    let file = fs::read(folder.file("t.pcapng")).unwrap();
    let packets: Vec<&[u8]> = blocks(&file).into_iter().filter(|b| b.0 == 6).map(|b| b.1).collect();
    assert_eq!(packets.len(), cases.len());
    for (block, ((interface, octets, _, length, captured), _)) in packets.into_iter().zip(cases) {
        assert_eq!((word(block, 8), word(block, 20), word(block, 24)), (interface.0, captured, length));
        let (data, rest) = block[28..block.len() - 4].split_at(captured as usize);
        let head = octets.min(captured as usize);
        assert!(data[..head].iter().all(|b| *b == 0xee) && data[head..].iter().all(|b| *b == 0));
        assert_eq!(rest, &[0; 3][..(4 - captured as usize % 4) % 4], "no options: padding only");
    }
    let limits: Vec<u32> = blocks(&file).iter().filter(|b| b.0 == 1).map(|b| word(b.1, 12)).collect();
    assert_eq!(limits, [10, MAX_CAPTURED]);
}

#[test]
fn texts_are_utf8_of_65535_octets_at_most_and_without_the_octet_0() {
    let folder = Folder::new("texts");
    let mut writer = Writer::create(&folder.file("t.pcapng"), Section::default(), None).unwrap();
    let id = writer.interface(raw_ip("a\0b", 0));
    // 21845 characters of 3 octets are 65535; after one octet only 21844 fit.
    for comment in ["€".repeat(30_000), format!("x{}", "€".repeat(30_000)), "lost\0here".to_owned()] {
        writer.frame(&Frame { comment: &comment, ..plain(id, 0, &[1]) });
    }
    writer.finish(0).unwrap();
    let file = fs::read(folder.file("t.pcapng")).unwrap();
    let all = blocks(&file);
    assert_eq!(options(all[1].1, 16)[0], (2, "a\u{fffd}b".as_bytes()));
    let comments: Vec<&[u8]> = all.iter().filter(|b| b.0 == 6).map(|b| options(b.1, 32)[0].1).collect();
    assert_eq!(comments[0], "€".repeat(21_845).as_bytes());
    assert_eq!(comments[1], format!("x{}", "€".repeat(21_844)).as_bytes());
    assert_eq!(comments[2], "lost\u{fffd}here".as_bytes());
}

/// The calls of a capture with two interfaces, the second of which is added late.
fn fill(path: &Path, ring: Option<Ring>, frames: u64) -> FinishedCapture {
    let section = Section { application: "test".to_owned(), ..Section::default() };
    let mut writer = Writer::create(path, section, ring).unwrap();
    let first = writer.interface(raw_ip("first", 0));
    let mut second = None;
    let bytes: Vec<u8> = (0..=255).collect();
    for n in 0..frames {
        let id = match n {
            10.. if n % 3 == 0 => *second.get_or_insert_with(|| writer.interface(raw_ip("second", 40))),
            _ => first,
        };
        let comment = if n % 7 == 0 { "seventh" } else { "" };
        let frame = plain(id, n * 1_000, &bytes[..(n * 37 % 256) as usize]);
        writer.frame(&Frame { comment, packet: Some(n), ..frame });
    }
    writer.finish(frames * 1_000).unwrap()
}

fn ring(bytes: u64, files: u32) -> Option<Ring> {
    Some(Ring { bytes: bytes.try_into().unwrap(), files: files.try_into().unwrap() })
}

#[test]
fn identical_calls_give_identical_octets() {
    let folder = Folder::new("identical");
    let (one, two) =
        (fill(&folder.file("1.pcapng"), None, 3_000), fill(&folder.file("2.pcapng"), None, 3_000));
    assert_eq!(one.files[0].file_hash, two.files[0].file_hash);
    let bytes = fs::read(folder.file("1.pcapng")).unwrap();
    assert!(bytes == fs::read(folder.file("2.pcapng")).unwrap());
    assert_eq!(one.files[0].file_hash, blake3::hash(&bytes).to_hex().to_string());
    assert_eq!(one.files[0].bytes, bytes.len() as u64);
    assert_ne!(fill(&folder.file("3.pcapng"), None, 2_999).files[0].file_hash, one.files[0].file_hash);
}

/// The packets of all files of a ring are those of one file. Each file has the interfaces of its
/// packets.
#[test]
fn each_file_of_a_ring_is_whole_and_none_is_too_large() {
    let folder = Folder::new("ring");
    fill(&folder.file("one.pcapng"), None, 2_000);
    let one = fs::read(folder.file("one.pcapng")).unwrap();
    let packets = |file: &[u8]| -> Vec<Vec<u8>> {
        blocks(file).into_iter().filter(|b| b.0 == 6).map(|b| b.1.to_vec()).collect()
    };
    let done = fill(&folder.file("many.pcapng"), ring(20_000, 1_000), 2_000);
    assert!(done.files.len() > 10 && done.removed == 0 && done.frames == 2_000);
    let mut joined = Vec::new();
    for (n, file) in done.files.iter().enumerate() {
        assert_eq!(file.path, folder.file(&format!("many_{:05}.pcapng", n + 1)));
        let bytes = fs::read(&file.path).unwrap();
        assert_eq!((file.bytes, &file.file_hash[..]), (bytes.len() as u64, &*blake3::hash(&bytes).to_hex()));
        assert!(bytes.len() <= 20_000, "{} bytes", bytes.len());
        let last = n + 1 == done.files.len();
        // The longest frame here has 332 octets: a file is ended when the next one does not fit.
        assert!(last || bytes.len() > 20_000 - 332, "{} bytes", bytes.len());
        let kinds: Vec<u32> = blocks(&bytes).iter().map(|b| b.0).collect();
        assert_eq!(kinds[0], SECTION_HEADER);
        assert_eq!(kinds.iter().filter(|k| **k == INTERFACE_DESCRIPTION).count(), 2);
        assert_eq!(kinds[kinds.len() - 2..], [INTERFACE_STATISTICS; 2]);
        assert_eq!(packets(&bytes).len() as u64, file.frames);
        joined.extend(packets(&bytes));
        // Statistics count from the beginning of the capture; only the last ones have an end time.
        let totals: u64 = blocks(&bytes)
            .into_iter()
            .filter(|b| b.0 == INTERFACE_STATISTICS)
            .map(|b| {
                let options = options(b.1, 20);
                assert_eq!(options.iter().any(|o| o.0 == ISB_ENDTIME), last);
                long(options.iter().find(|o| o.0 == ISB_IFRECV).unwrap().1, 0)
            })
            .sum();
        assert_eq!(totals, joined.len() as u64);
    }
    assert!(joined == packets(&one));
}

#[test]
fn a_ring_keeps_the_newest_files() {
    let folder = Folder::new("newest");
    let all = fill(&folder.file("all.pcapng"), ring(5_000, 1_000), 1_000);
    for files in [1, 2, 5] {
        let name = format!("keep{files}.pcapng");
        let done = fill(&folder.file(&name), ring(5_000, files), 1_000);
        assert_eq!(done.files.len() as u32, files);
        assert_eq!((done.frames, done.removed), (1_000, (all.files.len() - files as usize) as u64));
        let newest = &all.files[all.files.len() - files as usize..];
        assert!(done.files.iter().zip(newest).all(|(a, b)| a.file_hash == b.file_hash));
        let names = folder.names().into_iter().filter(|n| n.starts_with(&format!("keep{files}_")));
        assert_eq!(names.count() as u32, files);
    }
    assert!(!folder.names().iter().any(|n| n.contains("partial")));
}

#[test]
fn interfaces_that_are_added_late_count_in_the_size_of_a_file() {
    let folder = Folder::new("late");
    for size in (3_000..3_200).step_by(4) {
        let path = folder.file(&format!("{size}.pcapng"));
        let mut writer = Writer::create(&path, Section::default(), ring(size, 100)).unwrap();
        for n in 0..20 {
            let id = writer.interface(raw_ip("one of many", 0));
            (0..3).for_each(|k| writer.frame(&plain(id, n * 3 + k, &[7; 50])));
        }
        let done = writer.finish(60).unwrap();
        assert!(done.files.len() > 1 && done.files.iter().all(|f| f.bytes <= size), "{size}: {done:?}");
    }
}

#[test]
fn a_file_of_a_ring_has_one_frame_whatever_its_size() {
    let folder = Folder::new("tiny");
    let done = fill(&folder.file("t.pcapng"), ring(1, 100), 20);
    assert_eq!((done.files.len(), done.frames), (20, 20));
    assert!(done.files.iter().all(|f| f.frames == 1));
}

#[test]
fn a_file_that_is_being_written_is_partial_and_has_whole_blocks() {
    let folder = Folder::new("partial");
    let path = folder.file("t.pcapng");
    fs::write(&path, "of an earlier run").unwrap();
    let mut writer = Writer::create(&path, Section::default(), None).unwrap();
    let id = writer.interface(raw_ip("a", 0));
    let read = || fs::read(folder.file("t.pcapng.partial")).unwrap();
    assert_eq!(blocks(&read()).len(), 2, "section and interface are there from the start");
    let mut most = 0;
    for n in 0..4_000u64 {
        writer.frame(&plain(id, n, &[7; 200]));
        if n % 250 == 0 {
            let bytes = read();
            let there = blocks(&bytes).len() as u64 - 2;
            most = most.max((n + 1 - there) * 232);
        }
    }
    assert!(most > 0 && most <= 256 * 1024, "{most} bytes were not on the disk");
    writer.flush();
    assert_eq!(blocks(&read()).len(), 4_002);
    writer.frame(&plain(id, 4_000, &[7; 200]));
    drop(writer);
    assert_eq!(blocks(&read()).len(), 4_003, "a writer that is dropped leaves all frames");
    assert_eq!(fs::read(&path).unwrap(), b"of an earlier run");
}

/// A mistake of the program: the capture ends with an error, and the file keeps `.partial`.
#[test]
fn an_invalid_frame_ends_the_capture_with_an_error() {
    let folder = Folder::new("misfit");
    let path = folder.file("t.pcapng");
    let said = |make: &dyn Fn(InterfaceId) -> Frame<'static>| {
        let mut writer = Writer::create(&path, Section::default(), None).unwrap();
        let id = writer.interface(raw_ip("a", 0));
        writer.frame(&plain(id, 4, &[1, 2]));
        writer.frame(&make(id));
        let message = writer.error().unwrap().to_string();
        writer.frame(&plain(id, 6, &[1, 2]));
        assert_eq!(writer.finish(7).unwrap_err().to_string(), message);
        let left = fs::read(folder.file("t.pcapng.partial")).unwrap();
        assert_eq!(
            blocks(&left).iter().map(|b| b.0).collect::<Vec<_>>(),
            [SECTION_HEADER, INTERFACE_DESCRIPTION, ENHANCED_PACKET]
        );
        assert!(!path.exists());
        message
    };
    let error = said(&|_| plain(InterfaceId(1), 5, &[1]));
    let name = format!("cannot write the capture {}: a frame of interface 1 at 5 ns", path.display());
    assert!(error.starts_with(&name) && error.contains("no such interface"), "{error}");
    assert!(error.contains("report it with the scenario"), "{error}");
    for (zeros, length, given) in [(0, 1, 2), (3, 4, 5), (u32::MAX, u32::MAX, 4_294_967_297u64)] {
        let error = said(&|id| Frame { zeros, length, ..plain(id, 5, &[1, 2]) });
        assert!(error.contains(&format!("{given} octets of a frame of {length}")), "{error}");
    }
}

/// The final name is given when all is written: a file that was removed meanwhile is not complete.
#[cfg(unix)]
#[test]
fn a_file_that_vanished_is_an_error_with_a_remedy() {
    let folder = Folder::new("vanished");
    let mut writer = Writer::create(&folder.file("t.pcapng"), Section::default(), None).unwrap();
    let id = writer.interface(raw_ip("a", 0));
    writer.frame(&plain(id, 5, &[1, 2]));
    let partial = folder.file("t.pcapng.partial");
    fs::remove_file(&partial).unwrap();
    let error = writer.finish(6).unwrap_err().to_string();
    let start = format!("cannot write the capture {}: it was removed or renamed", partial.display());
    assert!(error.starts_with(&start) && error.contains("leave the file where it is"), "{error}");
    assert_eq!(folder.names(), [""; 0]);
}

/// A reader of a ring may remove its oldest files, because they are complete.
#[test]
fn a_ring_goes_on_without_files_that_were_moved_away() {
    let folder = Folder::new("moved");
    let mut writer = Writer::create(&folder.file("t.pcapng"), Section::default(), ring(1_000, 2)).unwrap();
    let id = writer.interface(raw_ip("a", 0));
    for n in 0..100 {
        writer.frame(&plain(id, n, &[7; 200]));
        let _there = fs::remove_file(folder.file("t_00001.pcapng"));
    }
    let done = writer.finish(100).unwrap();
    assert_eq!((done.frames, done.files.len()), (100, 2));
}

#[test]
fn files_that_cannot_be_created_are_errors_with_a_remedy() {
    let folder = Folder::new("errors");
    for (path, what, remedy) in [
        (folder.file("no/such/t.pcapng"), "No such file", "make the folder first"),
        (folder.0.clone(), "no name of a file", "give the name of a file"),
        (PathBuf::from("/"), "no name of a file", "give the name of a file"),
    ] {
        let error = Writer::create(&path, Section::default(), None).err().unwrap().to_string();
        assert!(error.starts_with(&format!("cannot write the capture {}", path.display())), "{error}");
        assert!(error.contains(what) && error.contains(remedy), "{error}");
    }
}

/// `/dev/full` accepts the opening and refuses every octet, as a full disk does. The error of the
/// first write is reported by `finish`, however many frames follow.
#[cfg(unix)]
#[test]
fn a_full_disk_is_reported_at_the_end_with_path_and_remedy() {
    if !Path::new("/dev/full").exists() {
        println!("no /dev/full here: nothing tried");
        return;
    }
    let folder = Folder::new("full");
    // The second file of the ring is on the full disk.
    let partial = folder.file("t_00002.pcapng.partial");
    std::os::unix::fs::symlink("/dev/full", &partial).unwrap();
    let mut writer = Writer::create(&folder.file("t.pcapng"), Section::default(), ring(100_000, 3)).unwrap();
    let id = writer.interface(raw_ip("a", 0));
    let mut written = 0;
    for n in 0..5_000u64 {
        writer.frame(&plain(id, n, &[7; 100]));
        written += u64::from(writer.error().is_none());
    }
    let kept = writer.error().unwrap().to_string();
    let error = writer.finish(5_000).unwrap_err().to_string();
    assert_eq!(error, kept);
    assert!(error.starts_with(&format!("cannot write the capture {}: ", partial.display())), "{error}");
    assert!(error.contains("No space left") && error.contains("free space"), "{error}");
    let whole = fs::read(folder.file("t_00001.pcapng")).unwrap();
    assert_eq!(blocks(&whole).iter().filter(|b| b.0 == ENHANCED_PACKET).count() as u64, written);
    assert_eq!(folder.names(), ["t_00001.pcapng", "t_00002.pcapng.partial"]);
}

/// Buffers do not grow with the number of frames.
#[test]
fn memory_is_flat() {
    let folder = Folder::new("memory");
    let mut writer = Writer::create(&folder.file("t.pcapng"), Section::default(), ring(1 << 20, 2)).unwrap();
    let id = writer.interface(raw_ip("a", 0));
    let sizes = |w: &Writer| (w.finished.capacity(), w.file.as_ref().unwrap().capacity());
    let mut after = None;
    for n in 0..40_000u64 {
        writer.frame(&plain(id, n, &[7; 200]));
        if n == 12_000 {
            after = Some(sizes(&writer));
        }
    }
    assert_eq!(after, Some(sizes(&writer)));
    assert!(sizes(&writer).1 <= 1024 * 1024);
}

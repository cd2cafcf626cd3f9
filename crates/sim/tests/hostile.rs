//! Bad input of every kind ends in an error that says where, and leaves no result folder.

use std::path::Path;

use crate::common::folder;
use lasthop_sim::{Error, Scenario, run};

const GOOD: &str = "[scenario]\nname = 'x'\nduration = '1 s'\n\
                    [link.l]\nbetween = ['a', 'b']\nrate = '1 Mbit/s'\n\
                    [flow.f]\nfrom = 'a'\nto = 'b'\n";

/// The message about `text`, which must be refused.
fn refused(text: &str, base: &Path) -> String {
    match Scenario::parse(text, "bad.toml", base, &[]) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(Error::Input(found)) => found.to_string(),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn mistakes_are_told_with_line_and_column() {
    let base = folder("hostile");
    for (line, bad, place, word) in [
        ("duration = '1 s'", "duration = '1 furlong'", "bad.toml:3:", "min, h"),
        ("duration = '1 s'", "duration = '1'", "bad.toml:3:", "unit"),
        ("duration = '1 s'", "duration = '0 s'", "bad.toml:3:", "no results"),
        ("duration = '1 s'", "duration = '-1 s'", "bad.toml:3:", "range"),
        ("duration = '1 s'", "duration = '1 s'\nsped = 3", "bad.toml:4:", "seed"),
        ("name = 'x'", "name = '../../etc'", "bad.toml:2:", "folder"),
        ("rate = '1 Mbit/s'", "rate = '-1 Mbit/s'", "bad.toml:6:", "range"),
        ("rate = '1 Mbit/s'", "rate = '1 MB'", "bad.toml:6:", "bit/s"),
        ("rate = '1 Mbit/s'", "loss = '101 %'", "bad.toml:6:", "100 %"),
        ("rate = '1 Mbit/s'", "mtu = '67 B'", "bad.toml:6:", "68 B"),
        ("rate = '1 Mbit/s'", "trace = 'none'", "bad.toml:6:", "none"),
        ("rate = '1 Mbit/s'", "rate = '1 Mbit/s'\ntrace = 'none'", "bad.toml:7:", "exclude"),
        ("rate = '1 Mbit/s'", "queue = 'drop'", "bad.toml:6:", "droptail"),
        ("to = 'b'", "to = 'c'", "bad.toml:9:", "unknown node `c` (not an endpoint of any link, bearer,"),
        ("to = 'b'", "to = 'a'", "bad.toml:9:", "two different"),
        ("to = 'b'", "to = 'b'\ncount = 0", "bad.toml:10:", "no flow"),
        ("to = 'b'", "to = 'b'\ntransport = 'udp'", "bad.toml", "byte stream"),
        ("to = 'b'", "to = 'b'\ntcp = { mss = '10 B' }", "bad.toml:10:", "64 B"),
        ("to = 'b'", "to = 'b'\ntcp = { cc = 'newrno' }", "bad.toml:10:", "vegas"),
        ("to = 'b'", "to = 'b'\nstop = '0 s'", "bad.toml:10:", "before it starts"),
        ("[link.l]", "[link.l", "bad.toml:4:", "]"),
        ("[link.l]", "[[at]]\nt = '1 s'\nset = { 'link.l.mtu' = '1 kB' }\n[link.l]", "bad.toml:6:", "fixed"),
        ("[link.l]", "[[at]]\nt = '1 s'\nstart = 'flow.g'\n[link.l]", "bad.toml:", "flow.f"),
    ] {
        let text = GOOD.replacen(line, bad, 1);
        let message = refused(&text, &base);
        assert!(
            message.contains(place) && message.contains(word),
            "{bad}: expected {place} and {word} in\n{message}"
        );
    }
    assert_eq!(std::fs::read_dir(&base).unwrap().count(), 0);
}

/// Fading without a path has no channel, with four thousand million no machine has the memory.
#[test]
fn fading_has_paths() {
    let base = folder("hostile-fading");
    for (table, key) in [("radio", "fading"), ("radio", "sidelink_fading"), ("wlan", "fading")] {
        for paths in ["0", "4294967295"] {
            let cell = "[cell.c]\n[ue.u]\n[ap.w]\n[station.s]\n";
            let text = format!("{GOOD}{cell}[{table}]\n{key} = {{ kind = 'jakes', paths = {paths} }}\n");
            let message = refused(&text, &base);
            assert!(message.contains("1024") && message.contains("bad.toml:15:"), "{message}");
        }
    }
}

#[test]
fn broken_traces_are_refused_with_their_line() {
    let base = folder("hostile-traces");
    for (content, word) in [
        ("", "empty"),
        ("\n\n", ""),
        ("1\n2\nx\n", "3"),
        ("5\n4\n", "2"),
        ("-1\n", "1"),
        ("1 2\n", "1"),
        ("0\n", ""),
        ("99999999999999999999999\n", "1"),
        ("1\n\0\0\0\0", ""),
    ] {
        std::fs::write(base.join("t"), content).unwrap();
        let message = refused(&GOOD.replacen("rate = '1 Mbit/s'", "trace = 't'", 1), &base);
        assert!(message.contains("bad.toml:6:") && message.contains(word), "{content:?}:\n{message}");
    }
    // A folder is no trace, nor is a scenario that is one.
    std::fs::create_dir(base.join("d")).unwrap();
    assert!(refused(&GOOD.replacen("rate = '1 Mbit/s'", "trace = 'd'", 1), &base).contains("folder"));
    assert!(Scenario::load(&base.join("d"), &[]).is_err());
    assert!(Scenario::load(&base.join("missing.toml"), &[]).is_err());
}

/// A file of zeros, sparse, as large as it likes: refused before it is read whole.
#[test]
fn gigabytes_of_zeros_are_refused_at_once() {
    let base = folder("zeros");
    let file = std::fs::File::create(base.join("zeros")).unwrap();
    if file.set_len(10_000_000_000).is_err() {
        return; // a file system without sparse files
    }
    let message = refused(&GOOD.replacen("rate = '1 Mbit/s'", "trace = 'zeros'", 1), &base);
    assert!(message.contains("bad.toml:6:"), "{message}");
    assert!(Scenario::load(&base.join("zeros"), &[]).is_err());
    std::fs::remove_file(base.join("zeros")).unwrap();
}

#[test]
fn a_folder_in_use_is_not_touched() {
    let base = folder("in-use");
    let out = base.join("result");
    std::fs::create_dir(&out).unwrap();
    std::fs::write(out.join("mine"), "precious").unwrap();
    let s = Scenario::parse(GOOD, "good.toml", &base, &[]).unwrap();
    assert!(matches!(run(&s, Some(&out), &mut |_| true), Err(Error::InUse(_))));
    assert_eq!(std::fs::read_to_string(out.join("mine")).unwrap(), "precious");
    assert!(run(&s, Some(Path::new("/dev/null/result")), &mut |_| true).is_err());
    assert_eq!(std::fs::read_dir(&base).unwrap().count(), 1);
}

/// Packets that go round without using time would go round for ever.
#[test]
fn time_that_stands_still_is_an_error() {
    let base = folder("standstill");
    let text = GOOD.replacen("rate = '1 Mbit/s'", "delay = '0 s'", 1)
        + "tcp = { receive_buffer = '256 B', mss = '64 B', ack_every = 1 }\n";
    let s = Scenario::parse(&text, "still.toml", &base, &[]).unwrap();
    let message = run(&s, Some(&base.join("result")), &mut |_| true).unwrap_err().to_string();
    assert!(message.contains("time does not advance"), "{message}");
    assert_eq!(std::fs::read_dir(&base).unwrap().count(), 0);
}

//! Tests of files in the form of their tools, and of pitfalls.

use lasthop_units::{Duration, Speed};

use super::{TrackFormat, TrackSpec, read};

fn spec() -> TrackSpec {
    TrackSpec {
        file: String::new(),
        format: None,
        nodes: Vec::new(),
        fastest: Speed(100.0),
        longest_gap: Duration::from_secs(60),
    }
}

const NS2: &str = "$node_(0) set X_ 100.0\n$node_(0) set Y_ 50.0\n$node_(0) set Z_ 0.0\n\
    $node_(1) set X_ 0.0\n$node_(1) set Y_ 0.0\n\
    $god_ set-dist 0 1 2\n\
    $ns_ at 10.0 \"$node_(0) setdest 200.0 50.0 10.0\"\n\
    $ns_ at 15.0 \"$node_(0) setdest 150.0 100.0 5.0\"\n";
const BONNMOTION: &str = "0.0 0.0 0.0 10.0 100.0 0.0 20.0 100.0 50.0\n0.0 5.0 5.0\n";
const FCD: &str = "<?xml version=\"1.0\"?>\n<fcd-export>\n<timestep time=\"0.00\">\n\
    <vehicle id=\"veh0\" x=\"10.00\" y=\"0.00\" angle=\"90\" speed=\"10.00\"/>\n</timestep>\n\
    <timestep time=\"1.00\"><vehicle id=\"veh0\" x=\"20.00\" y=\"0.00\"/><person id=\"p\" x=\"1\" y=\"2\"/></timestep>\n\
    </fcd-export>\n";
const CSV: &str = "node,time,x,y\na,0,0,0\nb,0,7,7\na,10,50,0\n";

/// Places by hand. ns-2: from (100, 50) at 10 s with 10 m/s; at 15 s it is at (150, 50) and starts
/// to (150, 100) with 5 m/s, where it arrives after 10 s. The others are straight lines.
#[test]
fn every_format_gives_the_places_of_its_tool() {
    for (text, node, points) in [
        (
            NS2,
            0,
            vec![
                (5.0, [100.0, 50.0]),
                (12.0, [120.0, 50.0]),
                (15.0, [150.0, 50.0]),
                (20.0, [150.0, 75.0]),
                (99.0, [150.0, 100.0]),
            ],
        ),
        (NS2, 1, vec![(50.0, [0.0, 0.0])]),
        (BONNMOTION, 0, vec![(5.0, [50.0, 0.0]), (15.0, [100.0, 25.0])]),
        (FCD, 0, vec![(0.5, [15.0, 0.0]), (9.0, [20.0, 0.0])]),
        (FCD, 1, vec![(0.0, [1.0, 2.0])]),
        (CSV, 0, vec![(5.0, [25.0, 0.0])]),
        (CSV, 1, vec![(5.0, [7.0, 7.0])]),
    ] {
        let (tracks, warnings) = read(text, &spec(), 2).unwrap();
        assert!(warnings.is_empty(), "{warnings:?}");
        for (t, expected) in points {
            let found = tracks[node].position(t);
            assert!((0..2).all(|i| (found[i] - expected[i]).abs() < 1e-9), "{text}\n{t}: {found:?}");
        }
    }
    let only = TrackSpec { nodes: vec!["b".to_owned()], ..spec() };
    assert_eq!(read(CSV, &only, 1).unwrap().0[0].position(3.0), [7.0, 7.0]);
}

#[test]
fn a_byte_order_mark_before_the_first_line_is_no_part_of_it() {
    for text in [NS2, BONNMOTION, FCD, CSV] {
        let (plain, _) = read(text, &spec(), 2).unwrap();
        let (marked, _) = read(&format!("\u{feff}{text}"), &spec(), 2).unwrap();
        for (a, b) in plain.iter().zip(&marked) {
            assert_eq!(a.position(12.0), b.position(12.0), "{text}");
        }
    }
}

/// One degree of latitude is pi / 180 * 6371.0 km = 111.195 km; at 60 degrees north one of
/// longitude is half of it.
#[test]
fn degrees_are_projected_around_the_first_place() {
    let text = "time,lat,lon\n0,60.0,10.0\n1000,60.1,10.0\n2000,60.1,10.1\n";
    let (tracks, _) = read(text, &spec(), 1).unwrap_or_else(|e| panic!("{e:?}"));
    let gap = TrackSpec { longest_gap: Duration::from_secs(999), ..spec() };
    assert_eq!(read(text, &gap, 1).unwrap().1.len(), 1);
    assert_eq!(tracks[0].position(0.0), [0.0, 0.0]);
    let [x, y] = tracks[0].position(2000.0);
    assert!((x - 5559.75).abs() < 0.5 && (y - 11_119.5).abs() < 0.5, "{x} {y}");
}

#[test]
fn pitfalls_are_named() {
    let degrees: String = (0..20).map(|i| format!("{},13.38{i:02},52.5200\n", i * 10)).collect();
    let degrees = format!("time,x,y\n{degrees}");
    for (text, count, line, expected) in [
        ("", 1, 1, "no known format"),
        ("time,x,y\n-1,0,0\n", 1, 2, "before the start"),
        ("time,x,y\n5,0,0\n3,1,1\n", 1, 3, "sort the file by time"),
        ("time,x,y\n0,0,0\n1,5000,0\n", 1, 3, "jumps 5000 m in 1.000 s"),
        ("time,x,y\n1700000000,0,0\n", 1, 2, "count from 1970"),
        ("time_ms,x,y\n0,0,0\n", 1, 1, "another unit"),
        ("time,lat,lon\n0,152.5,13.4\n", 1, 2, "exchanged"),
        ("time,east,north\n0,1,1\n", 1, 1, "no columns of places"),
        ("x,y\n1,1\n", 1, 1, "no column of times"),
        ("time,x,y\n0,0\n", 1, 2, "the header has more"),
        ("time,x,y\n2026-11-21T10:00:00Z,0,0\n", 1, 2, "seconds since the start"),
        ("id,time,x,y\n,0,0,0\n", 1, 2, "without its node"),
        (&degrees, 1, 2, "these are degrees"),
        ("0 0 0 1 5 5 2\n", 1, 1, "no triples"),
        ("0 0 zero\n", 1, 1, "no known format"),
        ("#3D\n0 0 0 0\n", 1, 1, "three dimensions"),
        ("$ns_ at 1.0 \"$node_(4) setdest 5 5 1\"\n", 1, 1, "its start is missing"),
        (
            "$node_(0) set X_ 1\n$node_(0) set Y_ 1\n$ns_ at -3.0 \"$node_(0) setdest 5 5 1\"\n",
            1,
            3,
            "before the start",
        ),
        (
            "$node_(0) set X_ 1\n$node_(0) set Y_ 1\n$ns_ at 3.0 \"$node_(0) setdest 5 5 500\"\n",
            1,
            3,
            "moves at 500 m/s",
        ),
        ("$ns_ at 3.0 \"$node_(0) set X_ 5\"\n", 1, 1, "a jump"),
        ("$node_(0) set X_ $opt(x)\n", 1, 1, "variables of Tcl"),
        (
            "<fcd-export><timestep time=\"0\"><vehicle x=\"0\" y=\"0\"/></timestep></fcd-export>",
            1,
            1,
            "without an id",
        ),
        ("<fcd-export>\n<timestep time=\"0\">\n<vehicle id=\"a\" x=\"0\"/>", 1, 3, "`y` is missing"),
        ("<fcd-export>\n<timestep time=\"00:00:01\">", 1, 2, "not a number"),
        ("<fcd-export>\n<vehicle id=\"a\" x=\"0\" y=\"0\"/>", 1, 2, "outside of any time step"),
        ("<fcd-export></wrong>", 1, 1, "not XML"),
        (CSV, 3, 0, "3 UEs and 2 nodes"),
    ] {
        let error = match read(text, &spec(), count) {
            Err(e) => e,
            Ok(_) => panic!("accepted:\n{text}"),
        };
        let all = format!("{} {}", error.message, error.help);
        assert!(all.contains(expected) && error.line == line, "{line} `{expected}` in {error:?}\n{text}");
    }
    let missing = TrackSpec { nodes: vec!["c".to_owned()], ..spec() };
    assert!(read(CSV, &missing, 1).unwrap_err().message.contains("no node `c`; the file has 2 nodes: a, b"));
    let forced = TrackSpec { format: Some(TrackFormat::Bonnmotion), ..spec() };
    assert!(read(CSV, &forced, 1).is_err());
}

/// Files that are truncated anywhere cause no panic.
#[test]
fn truncated_files_cause_no_panic() {
    for text in [NS2, BONNMOTION, FCD, CSV] {
        for end in 0..text.len() {
            let _whatever = read(&text[..end], &spec(), 1);
        }
    }
}

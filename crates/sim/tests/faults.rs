//! Faults of links: packets selected by their numbers; and arrivals in batches.

use std::path::Path;

use arrow::array::{Array, DictionaryArray, Int32Array, StringArray};
use arrow::datatypes::Int32Type;
use lasthop_sim::{RunOutput, Scenario};

use crate::common::{assert_balanced, real, run_text, whole};

/// 1000 packets of 1250 octets, one each 10 ms, over two links of 20 ms each without serialisation
/// time.
fn cbr(more: &str) -> String {
    format!(
        "[scenario]\nname = 'faults'\nduration = '11 s'\n\
         [link.x]\nbetween = ['a', 'm']\ndelay = '20 ms'\n\
         [link.y]\nbetween = ['m', 'b']\ndelay = '20 ms'\n\
         [flow.f]\nfrom = 'a'\nto = 'b'\ntransport = 'udp'\nstop = '9.995 s'\n\
         app = {{ kind = 'cbr', rate = '1 Mbit/s', size = '1250 B' }}\n{more}\n[output]\npackets = true\n"
    )
}

fn fault(keys: &str) -> String {
    format!("[fault.z]\nlink = 'x.forward'\n{keys}\n")
}

fn words(output: &RunOutput, table: &str, column: &str) -> Vec<String> {
    let (batches, _) = output.table(table).unwrap();
    let words = batches.iter().flat_map(|b| {
        let column = b.column_by_name(column).unwrap();
        let column = column.as_any().downcast_ref::<DictionaryArray<Int32Type>>().unwrap().clone();
        let values = column.values().as_any().downcast_ref::<StringArray>().unwrap().clone();
        let keys: Int32Array = column.keys().clone();
        (0..keys.len())
            .map(move |i| {
                if keys.is_null(i) { String::new() } else { values.value(keys.value(i) as usize).to_owned() }
            })
            .collect::<Vec<_>>()
    });
    words.collect()
}

/// Returns the times at which packets were received, by number of the packet.
fn received(output: &RunOutput) -> Vec<(u64, f64)> {
    let (number, event) = (whole(output, "packets", "packet"), words(output, "packets", "event"));
    let rows = number.into_iter().zip(real(output, "packets", "time_s")).zip(event);
    rows.filter(|(_, event)| event == "received").map(|(row, _)| row).collect()
}

/// Packets are numbered from 0 in the table, from 1 here.
#[test]
fn packets_are_selected_by_their_numbers() {
    for (keys, lost) in [
        ("every = 10", (1..=100).map(|n| 10 * n).collect::<Vec<u64>>()),
        ("every = 10\nrun = 3\ncount = 7", vec![8, 9, 10, 18, 19, 20, 28]),
        ("numbers = [1000, 3, 4]", vec![3, 4, 1000]),
        // From 0 s to 99 ms: ten packets.
        ("duration = '99 ms'", (1..=10).collect()),
        ("every = 2\npackets = 'no-data'", vec![]),
        ("every = 500\npackets = 'all'\nflow = 'f'", vec![500, 1000]),
    ] {
        let output = run_text(&cbr(&fault(&format!("action = 'drop'\n{keys}"))));
        assert_balanced(&output);
        let numbers: Vec<u64> = whole(&output, "drops", "packet").iter().map(|n| n + 1).collect();
        assert_eq!(numbers, lost, "{keys}");
        assert!(words(&output, "drops", "cause").iter().all(|cause| cause == "fault"));
        assert_eq!(whole(&output, "flows", "rx_packets"), [1000 - lost.len() as u64]);
    }
}

/// A start restarts the numbers: from 2 s on every tenth packet until 2.285 s, from 5 s on every
/// tenth until 5.485 s. (A change at a time is in force for packets sent at that time.)
#[test]
fn a_fault_is_started_and_stopped() {
    let changes = "[[at]]\nt = '2 s'\nstart = 'fault.z'\n[[at]]\nt = '2.285 s'\nstop = 'fault.z'\n\
        [[at]]\nt = '5 s'\nstart = 'fault.z'\n[[at]]\nt = '5.485 s'\nstop = 'fault.z'\n";
    let output =
        run_text(&cbr(&format!("{}{changes}", fault("action = 'drop'\nevery = 10\nautostart = false"))));
    let numbers: Vec<u64> = whole(&output, "drops", "packet").iter().map(|n| n + 1).collect();
    assert_eq!(numbers, [210, 220, 510, 520, 530, 540]);
    assert_eq!(words(&output, "events", "source").iter().filter(|s| *s == "fault/z").count(), 4);
}

/// Each tenth packet arrives 25 ms later than the 40 ms of the path, and two of the next three have
/// overtaken it; the others are not affected.
#[test]
fn a_packet_that_is_held_is_late_and_delays_no_other() {
    let output = run_text(&cbr(&fault("action = 'hold'\nhold = '25 ms'\nevery = 10")));
    assert_balanced(&output);
    let arrivals = received(&output);
    assert_eq!(arrivals.len(), 1000);
    for (n, t) in &arrivals {
        let held = if (n + 1) % 10 == 0 { 0.025 } else { 0.0 };
        assert!((t - (*n as f64 * 0.01 + 0.04 + held)).abs() < 1e-9, "packet {n} at {t}");
    }
    let order: Vec<u64> = arrivals.iter().map(|a| a.0).skip(8).take(5).collect();
    assert_eq!(order, [8, 10, 11, 9, 12]);
}

#[test]
fn a_packet_that_is_duplicated_arrives_twice() {
    let output = run_text(&cbr(&fault("action = 'duplicate'\nnumbers = [5]")));
    assert_balanced(&output);
    assert_eq!(whole(&output, "flows", "rx_packets"), [1001]);
}

/// From 0 s in steps of 40 ms: a packet of 1 s (at the far end of the first link at 1.02 s) leaves
/// that at 1.04 s and arrives at 1.06 s. Until 5 s; packets that leave at that time are not
/// batched.
#[test]
fn arrivals_come_in_batches() {
    let change = "[[at]]\nt = '5 s'\nset = { 'link.x.forward.batch' = '0 s' }\n";
    let text = cbr(change).replace("delay = '20 ms'\n[link.y]", "delay = '20 ms'\nbatch = '40 ms'\n[link.y]");
    let output = run_text(&text);
    assert_balanced(&output);
    for (n, t) in received(&output) {
        let sent = n * 10;
        let expected = if sent < 5000 { (sent + 20).div_ceil(40) * 40 + 20 } else { sent + 40 };
        // No packet overtakes those that wait for the last batch.
        let expected = expected.max(if sent >= 5000 { 5060 } else { 0 });
        assert!((t * 1e3 - expected as f64).abs() < 1e-6, "packet {n} at {t} s");
    }
}

fn tcp(tcp: &str, more: &str) -> String {
    format!(
        "[scenario]\nname = 'faults'\nduration = '60 s'\n\
         [link.x]\nbetween = ['a', 'm']\ndelay = '20 ms'\nqueue = 'infinite'\n\
         [link.y]\nbetween = ['m', 'b']\ndelay = '20 ms'\nqueue = 'infinite'\n\
         [flow.f]\nfrom = 'a'\nto = 'b'\napp = 'bulk'\ntcp = {{ profile = 'linux-6', {tcp} }}\n{more}\n\
         [output]\ninterval = '10 ms'\n"
    )
}

/// M. Mathis and others, "The macroscopic behavior of the TCP congestion avoidance algorithm",
/// Computer Communication Review 27(3), 1997: with one loss in 1/p packets the window goes from W/2
/// to W, a packet each round trip, and 3/8 W^2 = 1/p. Its mean is 3/4 W = sqrt(3/2) / sqrt(p):
/// 38.7 at p = 1e-3.
#[test]
fn a_loss_in_each_thousand_gives_reno_the_window_of_the_closed_form() {
    let text =
        tcp("cc = 'reno', ack_rule = 'segments', ack_every = 1", &fault("action = 'drop'\nevery = 1000"));
    let output = run_text(&text.replace("duration = '60 s'", "duration = '300 s'"));
    let windows = real(&output, "tcp", "snd_cwnd");
    let late = &windows[windows.len() / 3..];
    let mean = late.iter().sum::<f64>() / late.len() as f64;
    let expected = (1.5_f64 / 1e-3).sqrt();
    assert!((mean / expected - 1.0).abs() < 0.05, "{mean} segments, {expected} expected");
}

/// RFC 3168 section 6.1.2: the sender answers a mark by one reduction per window. It does not
/// reduce for a mark that the path clears, and where the path clears the ECN field of all packets,
/// none is marked.
#[test]
fn marks_are_answered_unless_the_path_clears_them() {
    let mark = "[fault.mark]\nlink = 'y.forward'\naction = 'mark'\npackets = 'data'\nnumbers = [200, 201]\n";
    let hide = |link: &str, action: &str| {
        format!("[fault.hide]\nlink = '{link}'\naction = '{action}'\npackets = 'all'\n{mark}")
    };
    for (more, marked, reductions) in [
        (mark.to_owned(), 2, 1),
        (hide("y.forward", "clear-ct").replace("clear-ct", "clear-ce"), 2, 1),
        (hide("x.forward", "clear-ect"), 0, 0),
    ] {
        let output = run_text(&tcp("cc = 'reno', ecn = 'on', max_window = 100", &more));
        let kinds = words(&output, "events", "kind");
        let answered = kinds.iter().filter(|kind| *kind == "ecn-reduction").count();
        assert_eq!((whole(&output, "flows", "rx_marked"), answered), (vec![marked], reductions), "{more}");
    }
    // A third link after the one that marks.
    let third = "[link.z]\nbetween = ['b', 'c']\ndelay = '1 ms'\n\
        [fault.hide]\nlink = 'z.forward'\naction = 'clear-ce'\npackets = 'all'\n";
    let text = tcp("cc = 'reno', ecn = 'on', max_window = 100", &format!("{third}{mark}"));
    let output = run_text(&text.replace("to = 'b'\napp", "to = 'c'\napp"));
    assert_eq!(whole(&output, "flows", "rx_marked"), [0]);
    assert!(!words(&output, "events", "kind").iter().any(|kind| kind == "ecn-reduction"));
}

/// A window of 8 segments each 80 ms. The first packet after 2 s begins a round trip, which its ACK
/// ends: eight packets later, before the sender processes that ACK.
#[test]
fn a_fault_may_last_round_trips() {
    for (rounds, copies) in [(1, 8), (3, 24)] {
        let keys = format!("action = 'duplicate'\nflow = 'f'\nrounds = {rounds}\nautostart = false");
        let change = "[[at]]\nt = '2.001 s'\nstart = 'fault.z'\n";
        let text = tcp(
            "cc = 'reno', ack_rule = 'segments', ack_every = 1, max_window = 8",
            &format!("{}{change}", fault(&keys)),
        );
        let output = run_text(&text.replace("duration = '60 s'", "duration = '5 s'"));
        assert_balanced(&output);
        assert_eq!(output.summary()["packets"]["made"]["packets"], copies, "{rounds} rounds");
    }
}

#[test]
fn an_invalid_fault_is_refused_with_a_remedy() {
    for (keys, message, remedy) in [
        ("action = 'hold'", "for how long?", "`hold`"),
        ("action = 'hold'\nhold = '61 s'", "out of range", "up to 60 s"),
        ("action = 'drop'\nhold = '1 s'", "nothing is held", "`action = \"hold\"`"),
        ("action = 'drop'\nevery = 0", "no packet 0", "each packet"),
        ("action = 'drop'\nevery = 3\nrun = 4", "4 of each 3", "1 to 3"),
        ("action = 'drop'\nevery = 3\nnumbers = [1]", "selects the packets already", "keep one"),
        ("action = 'drop'\nnumbers = [0]", "no packet 0", "the first is 1"),
        ("action = 'drop'\ncount = 0", "end before it begins", "at least 1"),
        ("action = 'drop'\nduration = '0 s'", "end before it begins", "above 0 s"),
        ("action = 'drop'\nflow = 'g'", "no flow `g`", "`f`"),
        ("action = 'drop'\nrounds = 2", "whose round trips?", "`flow`"),
        ("action = 'drop'\nrounds = 2\nflow = 'f'", "has no round trips", "`duration`"),
        ("action = 'lose'", "lose", "drop"),
    ] {
        let error =
            Scenario::parse(&cbr(&fault(keys)), "t.toml", Path::new(""), &[]).unwrap_err().to_string();
        assert!(error.contains(message) && error.contains(remedy), "{keys}: {error}");
    }
    let elsewhere = cbr(&fault("action = 'drop'").replace("x.forward", "x.foward"));
    let error = Scenario::parse(&elsewhere, "t.toml", Path::new(""), &[]).unwrap_err().to_string();
    assert!(error.contains("did you mean `x.forward`"), "{error}");
    let typo = cbr(&format!(
        "{}[[at]]\nt = '1 s'\nstart = 'fault.y'\n",
        fault("action = 'drop'\nautostart = false")
    ));
    let error = Scenario::parse(&typo, "t.toml", Path::new(""), &[]).unwrap_err().to_string();
    assert!(error.contains("did you mean `fault.z`"), "{error}");
    let idle = cbr(&fault("action = 'drop'\nautostart = false"));
    let warnings = Scenario::parse(&idle, "t.toml", Path::new(""), &[]).unwrap().warnings().to_string();
    assert!(warnings.contains("nothing starts this fault"), "{warnings}");
}

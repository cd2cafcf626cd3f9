//! Changes that wait for a variable of a sender: `[[when]]`.

use std::path::Path;

use arrow::array::{Array, DictionaryArray, Float64Array, StringArray};
use arrow::datatypes::Int32Type;
use lasthop_sim::{RunOutput, Scalar, Scenario, Simulation, run};
use lasthop_units::Instant;

use crate::common::{assert_balanced, real, run_text, scenario, whole};

/// Returns time, source or variable, and kind or text, of the rows of a table.
fn rows(output: &RunOutput, table: &str, columns: [&str; 2]) -> Vec<(f64, String, String)> {
    let (batches, _) = output.table(table).unwrap();
    let mut found = vec![];
    for batch in &batches {
        let time = batch.column_by_name("time_s").unwrap();
        let time = time.as_any().downcast_ref::<Float64Array>().unwrap();
        let words = columns.map(|name| {
            let column = batch.column_by_name(name).unwrap();
            let column = column.as_any().downcast_ref::<DictionaryArray<Int32Type>>().unwrap();
            let values = column.values().as_any().downcast_ref::<StringArray>().unwrap();
            let word = |i| column.key(i).map_or(String::new(), |k| values.value(k).to_owned());
            (0..column.len()).map(word).collect::<Vec<_>>()
        });
        found.extend((0..time.len()).map(|i| (time.value(i), words[0][i].clone(), words[1][i].clone())));
    }
    found
}

/// Returns time and name of each trigger that fired.
fn triggered(output: &RunOutput) -> Vec<(f64, String)> {
    let events = rows(output, "events", ["kind", "detail"]);
    events.into_iter().filter(|(_, kind, _)| kind == "when").map(|(t, _, name)| (t, name)).collect()
}

/// Returns the changes of BBR's state.
fn states(output: &RunOutput) -> Vec<(f64, String)> {
    let cc = rows(output, "cc", ["variable", "text"]);
    cc.into_iter().filter(|(_, name, _)| name == "bbr.state").map(|(t, _, state)| (t, state)).collect()
}

/// Returns the first time of `to` after `from`.
fn first(states: &[(f64, String)], from: &str, to: &str) -> f64 {
    states.windows(2).find(|pair| pair[0].1 == from && pair[1].1 == to).unwrap()[1].0
}

/// Returns BBR over 10 Mbit/s, 40 ms and a buffer of three times that product.
fn bbr(more: &str, output: &str) -> String {
    format!(
        "[scenario]\nname = 'when'\nduration = '30 s'\n\
         [link.x]\nbetween = ['a', 'b']\nrate = '10 Mbit/s'\ndelay = '20 ms'\n\
         queue = {{ kind = 'droptail', packets = 110 }}\n\
         [flow.f]\nfrom = 'a'\nto = 'b'\napp = 'bulk'\ntcp = {{ profile = 'linux-6', cc = 'bbr3' }}\n\
         {more}\n[output]\n{output}\n"
    )
}

/// A window of 10 grows by one with each ACK of slow start (RFC 5681 section 3.1), and each ACK
/// permits two segments: before the window is 21, at the 11th ACK, 10 + 2 * 10 have been sent. The
/// change is made between that ACK and the segments that it permits, so of all that is sent 30
/// arrive. The link has no serialisation time: segments that left before are on the wire.
#[test]
fn a_change_comes_at_the_same_ack_and_before_the_sender_sends() {
    let text = "[scenario]\nname = 'when'\nduration = '300 ms'\n\
        [link.x]\nbetween = ['a', 'b']\ndelay = '20 ms'\n\
        [flow.f]\nfrom = 'a'\nto = 'b'\napp = 'bulk'\n\
        tcp = { profile = 'linux-6', cc = 'reno', ack_rule = 'segments', ack_every = 1, gso = false, initial_window = 10 }\n\
        [[when]]\nvar = 'cwnd'\nabove = 20\nset = { 'link.x.forward.loss' = '100 %' }\n";
    let output = run_text(text);
    assert_balanced(&output);
    assert_eq!(triggered(&output).len(), 1);
    // In addition to the data: SYN and the ACK that completes the handshake.
    assert_eq!(whole(&output, "flows", "rx_packets"), [30 + 2]);
    assert!(whole(&output, "flows", "tx_packets")[0] > 32 + 10);
}

/// The times are those of the table `cc`, also for a state that lasts no time: BBR leaves ProbeRTT
/// through DOWN to CRUISE (draft-ietf-ccwg-bbr, ExitProbeRTT) within one ACK.
#[test]
fn moments_are_those_of_the_table_cc() {
    let harmless = "set = { 'link.x.reverse.loss' = '0 %' }";
    let more = format!(
        "[[when]]\nname = 'drain'\nvar = 'bbr.state'\nbecomes = 'Drain'\n{harmless}\n\
         [[when]]\nname = 'up2'\nflow = 'f'\nvar = 'bbr.state'\nbecomes = 'ProbeBW_UP'\nfrom = 'ProbeBW_REFILL'\n\
         nth = 2\n{harmless}\n\
         [[when]]\nname = 'rtt'\nvar = 'bbr.state'\nbecomes = 'ProbeRTT'\n{harmless}\n\
         [[when]]\nname = 'walk'\nafter = 'rtt'\nvar = 'bbr.state'\nbecomes = 'ProbeBW_CRUISE'\n\
         from = 'ProbeBW_DOWN'\n{harmless}\n"
    );
    let output = run_text(&bbr(&more, "cc = 'change'"));
    let (states, came) = (states(&output), triggered(&output));
    let came = |name: &str| came.iter().find(|(_, n)| n == name).unwrap().0;
    assert_eq!(came("drain"), first(&states, "Startup", "Drain"));
    let ups: Vec<f64> = states
        .windows(2)
        .filter(|p| p[0].1 == "ProbeBW_REFILL" && p[1].1 == "ProbeBW_UP")
        .map(|p| p[1].0)
        .collect();
    assert!(ups.len() > 2);
    assert_eq!(came("up2"), ups[1]);
    let entry = states.iter().find(|(_, s)| s == "ProbeRTT").unwrap().0;
    assert_eq!(came("rtt"), entry);
    let walk = states.windows(2).find(|p| {
        p[0].0 > entry && p[0].1 == "ProbeBW_DOWN" && p[1].1 == "ProbeBW_CRUISE" && p[0].0 == p[1].0
    });
    assert_eq!(came("walk"), walk.unwrap()[1].0);
    // The table need not be written for this, and the run is the same.
    let unseen = run_text(&bbr(&more, ""));
    assert_eq!(triggered(&unseen), triggered(&output));
    assert_eq!(whole(&unseen, "flows", "tx_packets"), whole(&output, "flows", "tx_packets"));
}

/// A flow whose receive window limits it to 4 segments has round trips of 40 ms without queueing:
/// three of them are 120 ms, and an ACK that is in transmission when the first begins does not end
/// it.
#[test]
fn a_delay_may_be_round_trips_and_a_time_behind_them() {
    let more = "[[when]]\nname = 'a'\nvar = 'round'\nabove = 9.5\nset = { 'link.x.loss' = '0 %' }\n\
        [[when]]\nname = 'b'\nvar = 'round'\nbecomes = 10\ndelay_rounds = 3\nset = { 'link.x.loss' = '0 %' }\n\
        [[when]]\nname = 'c'\nvar = 'round'\nbecomes = 10\ndelay_rounds = 3\ndelay = '7 ms'\nset = { 'link.x.loss' = '0 %' }\n\
        [[when]]\nname = 'never'\nvar = 'round'\nbecomes = 10\ndelay = '9 s'\nset = { 'link.x.loss' = '0 %' }\n";
    let text = format!(
        "[scenario]\nname = 'when'\nduration = '3 s'\n\
         [link.x]\nbetween = ['a', 'b']\ndelay = '20 ms'\n\
         [flow.f]\nfrom = 'a'\nto = 'b'\napp = 'bulk'\n\
         tcp = {{ profile = 'linux-6', cc = 'reno', ack_rule = 'segments', ack_every = 1, receive_buffer = '12 kB' }}\n{more}"
    );
    let came = triggered(&run_text(&text));
    let of = |name: &str| came.iter().find(|(_, n)| n == name).map(|(t, _)| *t);
    let a = of("a").unwrap();
    assert!((of("b").unwrap() - a - 0.120).abs() < 1e-9, "{came:?}");
    assert!((of("c").unwrap() - a - 0.127).abs() < 1e-9, "{came:?}");
    assert_eq!(of("never"), None);
}

/// A changed value persists when another key of the same link changes, by any means: an `[[at]]`
/// before, the trigger, an `[[at]]` after it, the caller. 2 Mbit/s carry 1448 octets of each 1500.
#[test]
fn changes_of_all_kinds_add_up() {
    let more = "[[at]]\nt = '1 s'\nset = { 'link.x.rate' = '2 Mbit/s' }\n\
        [[when]]\nvar = 'snd_una'\nabove = 2500000\nset = { 'link.x.delay' = '30 ms' }\n\
        [[at]]\nt = '20 s'\nset = { 'link.x.reverse.jitter' = '1 us' }\n";
    let text = scenario(&bbr(more, "interval = '1 s'"));
    let mut simulation = Simulation::new(&text, None).unwrap();
    simulation.step_until(Instant::from_secs(22)).unwrap();
    simulation.set("link.x.reverse.loss", Scalar::Text("0 %".to_owned())).unwrap();
    let output = simulation.finish().unwrap();
    let acked = whole(&output, "tcp", "bytes_acked");
    let octets = (acked[28] - acked[23]) as f64;
    assert!((octets / 5.0 / (2e6 / 8.0 * 1448.0 / 1500.0) - 1.0).abs() < 0.02, "{octets} B in 5 s");
    // Both directions 10 ms more.
    let rtt = real(&output, "tcp", "rtt_us");
    assert!(rtt[28] > 60_000.0, "{} us", rtt[28]);
}

/// Before the run the trigger is checked as if it came last, after the rate is low again. It fires
/// while the rate is high, and 300 Gbit/s in flight for 25 s are 0.9 TB.
#[test]
fn a_change_that_does_not_fit_when_it_comes_ends_the_run_and_says_where_it_stands() {
    let more = "[flow.u]\nfrom = 'a'\nto = 'b'\ntransport = 'udp'\nautostart = false\n\
        app = { kind = 'cbr', rate = '300 Gbit/s' }\n\
        [[at]]\nt = '1 s'\nset = { 'link.x.rate' = '300 Gbit/s' }\n\
        [[at]]\nt = '20 s'\nset = { 'link.x.rate' = '1 kbit/s' }\n\
        [[when]]\nflow = 'f'\nvar = 'snd_una'\nabove = 2000000\nset = { 'link.x.delay' = '25 s' }\n";
    let error = run(&scenario(&bbr(more, "")), None, &mut |_| true).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("memory") && error.contains("link.x.delay"), "{error}");
}

#[test]
fn a_trigger_that_never_fires_is_no_error() {
    let output = run_text(&bbr("[[when]]\nvar = 'cwnd'\nabove = 1e9\nstop = 'flow.f'\n", ""));
    assert_eq!(triggered(&output), []);
}

#[test]
fn an_invalid_condition_is_refused_with_a_remedy() {
    let set = "set = { 'link.x.rate' = '1 Mbit/s' }";
    for (condition, message, remedy) in [
        ("var = 'bbr.stat'\nbecomes = 'Drain'", "`bbr3` has no variable `bbr.stat`", "`bbr.state`"),
        ("var = 'bbr.state'", "the condition has no value for the variable", "exactly one of `becomes`"),
        ("var = 'cwnd'\nabove = 3\nbelow = 9", "these contradict each other", "exactly one of"),
        ("var = 'cwnd'\nabove = 3\nfrom = 9", "only with `becomes`", "remove it"),
        ("var = 'bbr.state'\nbecomes = 'Drain'\nfrom = 3", "no value of that variable", "a text or a number"),
        ("var = 'bbr.state'\nbecomes = ['Drain']", "a variable has one value", "a text or a number"),
        ("var = 'cwnd'\nabove = 3\nnth = 0", "counted from 1", "1 means the first"),
        ("var = 'cwnd'\nabove = 3\nafter = 'x'", "no `[[when]]` is called `x`", "a `name`"),
        ("var = 'cwnd'\nabove = 3\nname = 'x'\nafter = 'x'", "waits for itself", "without `after`"),
        ("var = 'cwnd'\nabove = 3\nflow = 'g'", "no flow `g` over TCP", "`f`"),
        ("var = 'cwnd'\nabove = 3\nvalue = 3", "unknown key `value`", "known"),
        ("var = 'cwnd'\nbecomes = 'Drain'", "`cwnd` is a number, which \"Drain\" is not", "give a number"),
        ("var = 'cwnd'\nbecomes = 3\nfrom = 'x'", "`cwnd` is a number, which \"x\" is not", "1 and 0"),
        (
            "var = 'bbr.state'\nbecomes = 'Drian'",
            "`bbr.state` has no state \"Drian\"",
            "did you mean `Drain`",
        ),
        ("var = 'bbr.state'\nbecomes = 'Drain'\nfrom = 'Start'", "no state \"Start\"", "`Startup`"),
        ("var = 'bbr.state'\nbecomes = 3", "`bbr.state` is a state, which 3 is not", "Startup"),
        ("var = 'bbr.state'\nabove = 3", "`bbr.state` is a state, not a number", "give `becomes`"),
        ("var = 'ca_state'\nbecomes = 'Open'", "`ca_state` has no state \"Open\"", "`open`"),
    ] {
        let text = bbr(&format!("[[when]]\n{condition}\n{set}\n"), "");
        let error = Scenario::parse(&text, "t.toml", Path::new(""), &[]).unwrap_err().to_string();
        assert!(error.contains(message) && error.contains(remedy), "{condition}: {error}");
        assert!(error.contains("t.toml:"), "{error}");
    }
    for (change, message) in [
        ("", "changes nothing"),
        ("set = { 'link.y.rate' = '1 Mbit/s' }", "nothing is called `y`"),
        ("set = { 'link.x.mtu' = '1 kB' }", "fixed during a run"),
        ("set = { 'link.x.rate' = 'fast' }", "rate"),
        ("start = 'flow.g'", "nothing is called `flow.g`"),
        ("start = 'flow.f'\nstop = 'flow.f'", "starts and stops"),
    ] {
        let text = bbr(&format!("[[when]]\nvar = 'cwnd'\nabove = 3\n{change}\n"), "");
        let error = Scenario::parse(&text, "t.toml", Path::new(""), &[]).unwrap_err().to_string();
        assert!(error.contains(message), "{change}: {error}");
    }
    let two = "[flow.g]\nfrom = 'b'\nto = 'a'\ntransport = 'udp'\napp = 'cbr'\n\
        [[when]]\nvar = 'cwnd'\nabove = 3\nstop = 'flow.g'\n";
    let error = Scenario::parse(&bbr(two, ""), "t.toml", Path::new(""), &[]).unwrap_err().to_string();
    assert!(error.contains("variable is meant") && error.contains("`f`"), "{error}");
}

#[test]
fn a_run_with_triggers_is_the_same_each_time() {
    let more = "[[when]]\nvar = 'bbr.state'\nbecomes = 'ProbeBW_UP'\nnth = 3\npause = 'flow.f'\nname = 'p'\n\
        [[when]]\nafter = 'p'\nvar = 'inflight'\nbecomes = 0\ndelay = '1 s'\nresume = 'flow.f'\n";
    let text = scenario(&bbr(more, "cc = 'change'"));
    let once = run(&text, None, &mut |_| true).unwrap();
    let again = run(&text, None, &mut |_| true).unwrap();
    assert_eq!(triggered(&once), triggered(&again));
    assert_eq!(once.summary(), again.summary());
    let came = triggered(&once);
    assert_eq!(came.len(), 2);
    // It has no data for a second and continues then.
    let sent = rows(&once, "events", ["kind", "detail"]);
    let at = |kind: &str| sent.iter().find(|(_, k, _)| k == kind).unwrap().0;
    assert_eq!((at("flow-pause"), at("flow-resume")), (came[0].0, came[1].0));
    assert!(came[1].0 > came[0].0 + 1.0);
}

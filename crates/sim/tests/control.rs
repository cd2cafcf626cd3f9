//! The table `cc`: the variables of congestion controls.

use std::collections::BTreeMap;
use std::path::Path;

use crate::common::{real, run_text, scenario, whole};
use arrow::array::{Array, DictionaryArray, Float64Array, StringArray};
use arrow::datatypes::Int32Type;
use lasthop_sim::tcp::cc::{
    AckSample, Congestion, CongestionControl, Definition, Established, Observer, Reno, Shown,
};
use lasthop_sim::{Extensions, RunOutput, Scenario, run};

/// A row: time, variable, value, text.
type Row = (f64, String, Option<f64>, Option<String>);

fn rows(output: &RunOutput) -> Vec<Row> {
    let (batches, _) = output.table("cc").expect("the table cc");
    let mut found = vec![];
    for batch in &batches {
        let numbers = |name: &str| {
            batch.column_by_name(name).unwrap().as_any().downcast_ref::<Float64Array>().unwrap().clone()
        };
        let words = |name: &str| -> Vec<Option<String>> {
            let column = batch.column_by_name(name).unwrap();
            let column = column.as_any().downcast_ref::<DictionaryArray<Int32Type>>().unwrap();
            let values = column.values().as_any().downcast_ref::<StringArray>().unwrap();
            (0..column.len()).map(|i| column.key(i).map(|k| values.value(k).to_owned())).collect()
        };
        let (time, value) = (numbers("time_s"), numbers("value"));
        let (variable, text) = (words("variable"), words("text"));
        for i in 0..batch.num_rows() {
            let number = (!value.is_null(i)).then(|| value.value(i));
            found.push((time.value(i), variable[i].clone().unwrap(), number, text[i].clone()));
        }
    }
    found
}

fn with(cc: &str, more: &str, output: &str) -> String {
    format!(
        "[scenario]\nname = 'cc'\nduration = '30 s'\nseed = 3\n\
         [link.x]\nbetween = ['a', 'b']\nrate = '10 Mbit/s'\ndelay = '20 ms'\n{more}\n\
         [flow.f]\nfrom = 'a'\nto = 'b'\napp = 'bulk'\ntcp = {{ profile = 'linux-6', cc = '{cc}' }}\n\
         [output]\n{output}\n"
    )
}

/// BDP and 10 packets: 33 + 10.
const BUFFER: &str = "queue = { kind = 'droptail', packets = 110 }";

fn numbers(rows: &[Row], name: &str) -> Vec<(f64, f64)> {
    rows.iter().filter(|r| r.1 == name).filter_map(|r| Some((r.0, r.2?))).collect()
}

/// The state machine of draft-ietf-ccwg-bbr, section "State Transition Diagram", with the
/// transitions into ProbeRTT and out of it: each step, also several within one ACK, is a transition
/// of the diagram. The exit from ProbeRTT starts DOWN and CRUISE at once (ExitProbeRTT), and so
/// does an ACK that leaves DRAIN with less in flight than both bounds.
#[test]
fn each_change_of_bbr3s_state_is_an_arrow_of_the_draft() {
    let arrows: BTreeMap<&str, &[&str]> = [
        ("Startup", &["Drain", "ProbeRTT"][..]),
        ("Drain", &["ProbeBW_DOWN", "ProbeRTT"]),
        ("ProbeBW_DOWN", &["ProbeBW_CRUISE", "ProbeBW_REFILL", "ProbeRTT"]),
        ("ProbeBW_CRUISE", &["ProbeBW_REFILL", "ProbeRTT"]),
        ("ProbeBW_REFILL", &["ProbeBW_UP", "ProbeRTT"]),
        ("ProbeBW_UP", &["ProbeBW_DOWN", "ProbeRTT"]),
        ("ProbeRTT", &["Startup", "ProbeBW_DOWN"]),
    ]
    .into();
    let output = run_text(&with("bbr3", BUFFER, "cc = 'change'"));
    let rows = rows(&output);
    let states: Vec<(f64, &str)> =
        rows.iter().filter(|r| r.1 == "bbr.state").map(|r| (r.0, r.3.as_deref().unwrap())).collect();
    assert_eq!(states[0].1, "Startup");
    for pair in states.windows(2) {
        let [(_, from), (at, to)] = pair else { unreachable!() };
        assert!(arrows[from].contains(to), "{from} to {to} at {at} s");
    }
    // ProbeRTT about every 5 s, and cycles of 2 to 3 s.
    let seen = |name: &str| states.iter().filter(|s| s.1 == name).count();
    assert!((4..=6).contains(&seen("ProbeRTT")), "{states:?}");
    assert!(seen("ProbeBW_UP") >= 5, "{states:?}");
    // Two changes within one ACK: the exit from ProbeRTT.
    let at_once = states.windows(2).filter(|p| p[0].0 == p[1].0 && p[1].1 == "ProbeBW_CRUISE").count();
    assert!(at_once >= seen("ProbeRTT") - 1, "{states:?}");
}

/// draft-ietf-ccwg-bbr, appendix, "Exiting STARTUP Based on Bandwidth Plateau": at the change to
/// DRAIN three rounds without growth are counted, both flags are set, and max_bw is the payload's
/// rate on the link: 1448 of the 1500 octets of a packet, within 2 %. In DRAIN the pacing gain is
/// 0.5, so that the rate is 0.5 * 0.99 * bw.
#[test]
fn bbr3_leaves_startup_with_the_rate_of_the_link() {
    let rows = rows(&run_text(&with("bbr3", BUFFER, "cc = 'ack'")));
    let at = rows.iter().find(|r| r.3.as_deref() == Some("Drain")).expect("DRAIN").0;
    let value = |name: &str| rows.iter().find(|r| r.0 == at && r.1 == name).and_then(|r| r.2).unwrap();
    assert_eq!(
        [value("bbr.full_bw_count"), value("bbr.full_bw_now"), value("bbr.full_bw_reached")],
        [3.0, 1.0, 1.0]
    );
    let reference = 10e6 * 1448.0 / 1500.0;
    assert!((value("bbr.max_bw") / reference - 1.0).abs() < 0.02, "{}", value("bbr.max_bw"));
    assert_eq!(value("bbr.pacing_gain"), 0.5);
    let paced = value("bbr.pacing_rate") / (0.5 * 0.99 * value("bbr.bw"));
    assert!((paced - 1.0).abs() < 1e-9, "{paced}");
    assert!(value("bbr.inflight_shortterm").is_infinite() && value("bbr.inflight_longterm").is_infinite());
}

/// draft-ietf-ccwg-bbr, appendix, "Skipping PROBE_RTT Due to Application-Limited Sending": paused
/// in PROBE_BW from 3.5 s on, the flow is idle for more than 5 s when it sends data at 10 s.
/// idle_restart is true until the first ACK, and the rate is 0.99 * bw. The delay by which ProbeRTT
/// is scheduled has expired, and that ACK renews it; in the next second there is no ProbeRTT.
#[test]
fn bbr3_skips_probe_rtt_after_idleness() {
    let pauses = "[[at]]\nt = '3.5 s'\npause = 'flow.f'\n[[at]]\nt = '10 s'\nresume = 'flow.f'\n";
    let text =
        with("bbr3", BUFFER, "cc = 'change'").replace("cc = 'bbr3'", "cc = 'bbr3', send_buffer = '256 kB'");
    let rows = rows(&run_text(&format!("{text}{pauses}")));
    let before = |name: &str, t: f64| rows.iter().rfind(|r| r.1 == name && r.0 <= t).unwrap();
    let value = |name: &str, t: f64| before(name, t).2.unwrap();
    assert!(before("bbr.state", 9.9).3.as_deref().unwrap().starts_with("ProbeBW"));
    assert_eq!(value("inflight", 9.9), 0.0);
    let idle: Vec<_> = numbers(&rows, "bbr.idle_restart").into_iter().filter(|r| r.0 > 3.5).collect();
    assert_eq!(idle.iter().map(|r| r.1).collect::<Vec<_>>(), [1.0, 0.0], "{idle:?}");
    let ack = idle[1].0;
    assert_eq!(idle[0].0, 10.0);
    // 40 ms, and a segment of 1500 octets takes 1.2 ms.
    assert!((10.04..10.05).contains(&ack), "{ack}");
    let paced = value("bbr.pacing_rate", 10.0) / (0.99 * value("bbr.bw", 10.0));
    assert!((paced - 1.0).abs() < 1e-9, "{paced}");
    assert!(value("bbr.probe_rtt_min_stamp", 9.9) < 10.0 - 5.0);
    assert_eq!(value("bbr.probe_rtt_min_stamp", ack), ack);
    let states: Vec<_> = rows.iter().filter(|r| r.1 == "bbr.state" && (10.0..11.0).contains(&r.0)).collect();
    assert!(states.iter().all(|r| r.3.as_deref() != Some("ProbeRTT")), "{states:?}");
}

/// K = cbrt((W_max - cwnd) / C) with Linux' C = 410 / 1024 and W_max the window before the cut; in
/// the epoch's first row cwnd is 0.7 of that, or the plateau is the current window. W_max is the
/// window at the loss, less 15 % if the last maximum was not reached (RFC 9438, 4.7).
#[test]
fn cubics_k_follows_from_its_w_max_by_the_formula_of_the_rfc() {
    let rows = rows(&run_text(&with("cubic", BUFFER, "cc = 'ack'")));
    let (k, origin) = (numbers(&rows, "cubic.k"), numbers(&rows, "cubic.origin"));
    let cwnd: BTreeMap<u64, f64> =
        numbers(&rows, "cwnd").into_iter().map(|(t, v)| (t.to_bits(), v)).collect();
    let mut epochs = 0;
    for (i, (t, k_now)) in k.iter().enumerate() {
        if i > 0 && k[i - 1].1 == *k_now {
            continue;
        }
        // The window before the ACK that begins the epoch; it may grow by one segment at it.
        let cube = |w: f64| (origin[i].1 - w).max(0.0) / (410.0 / 1024.0);
        let w = cwnd[&t.to_bits()];
        let near = [w, w - 1.0].map(|w| (cube(w) - k_now * k_now * k_now).abs());
        assert!(near.iter().any(|d| *d < 1e-6), "K {k_now} at {t} s, origin {}, cwnd {w}", origin[i].1);
        epochs += 1;
    }
    // 143 segments fill path and buffer; 0.3 of them take (43 / 0.4)^(1/3) = 4.8 s.
    assert!((3..=9).contains(&epochs), "{epochs}");
    // A window that overflows, up to a round of growth above 143; or 0.85 of it, if it did not
    // reach the maximum before.
    let w_max: Vec<f64> = numbers(&rows, "cubic.w_max").iter().map(|r| r.1).filter(|w| *w > 0.0).collect();
    let (high, low) = (135.0..=155.0, 0.85 * 135.0..=0.85 * 155.0);
    assert!(w_max.iter().all(|w| high.contains(w) || low.contains(w)));
    assert!(w_max.iter().any(|w| high.contains(w)) && w_max.iter().any(|w| low.contains(w)));
    let regions: Vec<_> =
        rows.iter().filter(|r| r.1 == "cubic.region").filter_map(|r| r.3.as_deref()).collect();
    for region in ["slow-start", "concave", "convex"] {
        assert!(regions.contains(&region), "{region}");
    }
}

/// The table has no effect on the run: every other table is the same with every control.
#[test]
fn a_run_with_the_table_cc_has_the_same_other_tables() {
    for cc in ["reno", "cubic", "bbr", "bbr3", "dctcp", "radio-aware"] {
        let queue = "queue = { kind = 'codel', ecn = true }\nloss = '0.1 %'";
        let tables = |output: &str| {
            let output = run(&scenario(&with(cc, queue, output)), None, &mut |_| true).unwrap();
            let mut hashes = output.manifest()["tables"].as_object().unwrap().clone();
            let cc = hashes.remove("cc");
            (hashes, cc.is_some())
        };
        let (off, none) = tables("");
        assert!(!none);
        for sampling in ["interval", "change", "ack"] {
            let (on, some) = tables(&format!("cc = '{sampling}'"));
            assert!(some && on == off, "{cc} with {sampling}");
        }
    }
}

/// The samples of one variable equal those of the table `tcp`, and the counts of the sender agree
/// with the row of the table `flows`.
#[test]
fn samples_agree_with_the_tables_of_the_sender() {
    let output = run_text(&with("cubic", BUFFER, "cc = 'interval'\ninterval = '50 ms'"));
    let rows = rows(&output);
    let cwnd: Vec<f64> = numbers(&rows, "cwnd").iter().map(|r| r.1).collect();
    assert_eq!(cwnd, real(&output, "tcp", "snd_cwnd"));
    let una: Vec<f64> = numbers(&rows, "snd_una").iter().map(|r| r.1).collect();
    let same: Vec<f64> = whole(&output, "tcp", "snd_una").iter().map(|n| *n as f64).collect();
    assert_eq!(una, same);
    assert!(rows.iter().all(|r| r.1 != "round"));
}

/// Rounds of a window-limited flow: 30 s of them, each of 40 ms and the queueing delay; their
/// number is the sum over the samples of interval / round trip, within a tenth.
#[test]
fn rounds_are_round_trips() {
    let output = run_text(&with("reno", BUFFER, "cc = 'change'"));
    let rounds = numbers(&rows(&output), "round").last().unwrap().1;
    let rtt = real(&output, "tcp", "rtt_us");
    let expected: f64 = rtt.iter().filter(|r| **r > 0.0).map(|r| 0.1 / (r / 1e6)).sum();
    assert!((rounds / expected - 1.0).abs() < 0.1, "{rounds} rounds, {expected} expected");
}

/// Reno whose state is unknown for 20 ACKs; then it counts its changes, and starts again with each
/// fourth one.
#[derive(Clone, Debug)]
struct Late {
    reno: Reno,
    acks: u64,
}

impl CongestionControl for Late {
    fn cwnd(&self) -> f64 {
        self.reno.cwnd()
    }
    fn ssthresh(&self) -> f64 {
        self.reno.ssthresh()
    }
    fn on_established(&mut self, e: &Established) {
        self.reno.on_established(e);
    }
    fn on_ack(&mut self, ack: &AckSample) {
        self.acks += 1;
        self.reno.on_ack(ack);
    }
    fn on_congestion(&mut self, c: &Congestion) {
        self.reno.on_congestion(c);
    }
    fn on_timeout(&mut self, c: &Congestion) {
        self.reno.on_timeout(c);
    }
    fn set_cwnd(&mut self, segments: f64) {
        self.reno.set_cwnd(segments);
    }
    fn observe(&self, o: &mut Observer<'_>) {
        let known = self.acks.saturating_sub(20);
        let state: &[&str] = if known == 0 { &[] } else { &["known"] };
        o.value("late.state", "text", "a state", Shown::Trail { changes: known % 4, latest: state });
    }
}

/// A state that is not known yet has an empty row wherever a number of that kind has one, and a
/// decreasing count of changes is no change.
#[test]
fn a_state_without_a_value_is_an_empty_row() {
    let late = Definition::new("late", |s| Ok(Box::new(Late { reno: Reno::new(s.config), acks: 0 })));
    let extensions = Extensions::new().with_cc(late).unwrap();
    let states = |sampling: &str| -> Vec<Option<String>> {
        let text = with("late", BUFFER, &format!("cc = '{sampling}'"));
        let scenario = Scenario::parse_with(&text, "t.toml", Path::new(""), &[], &extensions).unwrap();
        let rows = rows(&run(&scenario, None, &mut |_| true).unwrap());
        rows.into_iter().filter(|r| r.1 == "late.state").map(|r| r.3).collect()
    };
    // The handshake takes 40 ms and the first round trip as long: by the first sample at 100 ms at
    // most the ten segments of the initial window are acknowledged.
    let at_intervals = states("interval");
    assert_eq!(at_intervals[0], None);
    assert_eq!(at_intervals.last().unwrap().as_deref(), Some("known"));
    let by_ack = states("ack");
    let unknown = by_ack.iter().take_while(|s| s.is_none()).count();
    assert!((1..=21).contains(&unknown), "{unknown}");
    assert!(by_ack[unknown..].iter().all(|s| s.as_deref() == Some("known")));
    // A change is written when the count grows: at three of four ACKs.
    let changes = states("change");
    assert!(changes.iter().all(|s| s.as_deref() == Some("known")));
    let share = changes.len() as f64 / (by_ack.len() - unknown) as f64;
    assert!((share - 0.75).abs() < 0.02, "{share}");
}

//! The results of each flow in each interval: the table `windows`.

use crate::common::{assert_balanced, real, run_text, scenario, whole};
use lasthop_sim::Scenario;

/// Ten packets of 1250 octets arrive at once each 100 ms, and each takes 1 ms of the line: the k-th
/// waits k - 1 ms. The nearest rank of a half of ten is the fifth, of 95 % the tenth.
const BURSTS: &str = "[scenario]\nname = 'windows'\nduration = '2.55 s'\n\
    [link.x]\nbetween = ['a', 'b']\nrate = '10 Mbit/s'\ndelay = '20 ms'\n\
    [flow.f]\nfrom = 'a'\nto = 'b'\ncount = 10\ntransport = 'udp'\n\
    app = { kind = 'cbr', rate = '97.76 kbit/s', size = '1222 B' }\n\
    [output]\nwindows = '1 s'\n";

#[test]
fn intervals_have_exact_quantiles_and_all_that_was_counted() {
    let output = run_text(BURSTS);
    assert_balanced(&output);
    assert_eq!(
        real(&output, "windows", "end_s").iter().step_by(10).copied().collect::<Vec<_>>(),
        [1.0, 2.0, 2.55]
    );
    for (column, of) in [
        ("sent_packets", "tx_packets"),
        ("sent_bytes", "tx_bytes"),
        ("delivered_packets", "rx_packets"),
        ("delivered_bytes", "rx_bytes"),
    ] {
        let all: u64 = whole(&output, "windows", column).iter().sum();
        assert_eq!(all, whole(&output, "flows", of).iter().sum::<u64>(), "{column}");
    }
    // The k-th flow's packets wait for those of the k - 1 flows before it, all for the same time.
    let waits =
        ["wait_p50_s", "wait_p95_s", "wait_p99_s", "wait_max_s"].map(|name| real(&output, "windows", name));
    let delays = real(&output, "windows", "delay_p95_s");
    for k in 0..30 {
        let expected = (k % 10) as f64 * 1e-3;
        assert!(waits.iter().all(|wait| (wait[k] - expected).abs() < 1e-9), "row {k}: {waits:?}");
        assert!((delays[k] - expected - 0.021).abs() < 1e-9, "row {k}: {}", delays[k]);
    }
    assert_eq!(&whole(&output, "windows", "delivered_packets")[..10], [10; 10]);
}

/// The table has no effect on the others, and losses and marks are those of the interval.
#[test]
fn losses_and_marks_are_of_the_interval() {
    let text = "[scenario]\nname = 'windows'\nduration = '4 s'\n\
        [link.x]\nbetween = ['a', 'b']\nrate = '10 Mbit/s'\ndelay = '20 ms'\n\
        [flow.f]\nfrom = 'a'\nto = 'b'\napp = 'bulk'\ntcp = { profile = 'linux-6', ecn = 'on', max_window = 20 }\n\
        [fault.m]\nlink = 'x.forward'\naction = 'mark'\nautostart = false\ncount = 5\n\
        [fault.d]\nlink = 'x.forward'\naction = 'drop'\nautostart = false\ncount = 3\nevery = 2\n\
        [[at]]\nt = '1.5 s'\nstart = 'fault.m'\n[[at]]\nt = '2.5 s'\nstart = 'fault.d'\n[output]\n";
    let output = run_text(&format!("{text}windows = '1 s'\n"));
    assert_eq!(whole(&output, "windows", "marked_packets"), [0, 5, 0, 0]);
    assert_eq!(whole(&output, "windows", "lost_packets"), [0, 0, 3, 0]);
    let without = run_text(text);
    for column in ["tx_packets", "rx_packets", "lost_dropped"] {
        assert_eq!(whole(&output, "flows", column), whole(&without, "flows", column));
    }
    assert_eq!(output.summary()["packets"], without.summary()["packets"]);
}

#[test]
fn an_interval_that_is_too_short_is_refused() {
    let text = BURSTS.replace("windows = '1 s'", "windows = '10 us'");
    let error = Scenario::parse(&text, "t.toml", std::path::Path::new(""), &[]).unwrap_err().to_string();
    assert!(error.contains("too short an interval") && error.contains("1 ms"), "{error}");
    let _fine = scenario(BURSTS);
}

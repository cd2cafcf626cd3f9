//! Sources of data: rates that change, and connections that start at random.

use std::path::Path;

use lasthop_sim::Scenario;

use crate::common::{assert_balanced, real, run_text, whole};

fn flow(app: &str, more: &str) -> String {
    format!(
        "[scenario]\nname = 'sources'\nduration = '30 s'\n\
         [link.x]\nbetween = ['a', 'b']\nrate = '10 Mbit/s'\ndelay = '20 ms'\n\
         [flow.f]\nfrom = 'a'\nto = 'b'\n{app}\n{more}\n[output]\ninterval = '1 s'\n"
    )
}

/// 2 Mbit/s are 250 kB each second, 8 Mbit/s 1 MB; without a rate the link's 10 Mbit/s are the
/// limit, of which 1448 of 1500 octets are payload.
#[test]
fn a_bulk_flow_follows_its_rate() {
    let changes = "[[at]]\nt = '10 s'\nset = { 'flow.f.app.rate' = '8 Mbit/s' }\n\
        [[at]]\nt = '20 s'\nset = { 'flow.f.app' = 'bulk' }\n";
    let tcp = "tcp = { profile = 'linux-6' }";
    let output = run_text(&flow(&format!("app = {{ kind = 'bulk', rate = '2 Mbit/s' }}\n{tcp}"), changes));
    assert_balanced(&output);
    let acked = whole(&output, "tcp", "bytes_acked");
    let each = |from: usize, to: usize| (acked[to] - acked[from]) as f64 / (to - from) as f64;
    assert!((each(2, 9) / 250e3 - 1.0).abs() < 0.01, "{}", each(2, 9));
    assert!((each(11, 18) / 1e6 - 1.0).abs() < 0.01, "{}", each(11, 18));
    assert!((each(24, 28) / (1.25e6 * 1448.0 / 1500.0) - 1.0).abs() < 0.01, "{}", each(24, 28));
}

/// 100 and 300 packets of 1250 octets each second for 10 s and 20 s, and the one at the end.
#[test]
fn a_cbr_flow_follows_its_rate() {
    let app = "transport = 'udp'\napp = { kind = 'cbr', rate = '1 Mbit/s', size = '1250 B' }";
    let change = "[[at]]\nt = '10 s'\nset = { 'flow.f.app.rate' = '3 Mbit/s' }\n";
    assert_eq!(whole(&run_text(&flow(app, change)), "flows", "tx_packets"), [1000 + 6000 + 1]);
}

/// Data written and not sent waits in the socket: after a pause up to 8 kB of it are sent if the
/// socket is limited to 4 kB; with the usual limit of 128 KiB up to 256 KiB are sent for 0.2 s.
#[test]
fn a_socket_that_holds_little_follows_its_application() {
    let sent_after = |low: &str| {
        let app = format!("app = 'bulk'\n{low}\ntcp = {{ profile = 'linux-6', cc = 'bbr3' }}");
        let pause = "[[at]]\nt = '10 s'\npause = 'flow.f'\n";
        let text = flow(&app, pause).replace("interval = '1 s'", "interval = '10 ms'");
        let output = run_text(&text);
        let next = whole(&output, "tcp", "snd_nxt");
        let time = real(&output, "tcp", "time_s");
        let at = |t: f64| time.iter().position(|x| *x >= t - 1e-6).unwrap();
        next[at(12.0)] - next[at(10.0)]
    };
    assert!(sent_after("notsent_lowat = '4 kB'") <= 8000);
    let usual = sent_after("");
    assert!((64 << 10..=256 << 10).contains(&usual), "{usual}");
}

/// Gaps of a Poisson process have the mean's standard deviation: of 4000 gaps the mean has a
/// standard error of 1.6 %, and their coefficient of variation is 1 with one of
/// sqrt(2 / n) = 2.2 % (exponential law: kurtosis 9, (9 - 1) / 4 = 2).
#[test]
fn connections_come_as_a_poisson_process() {
    let text = "[scenario]\nname = 'poisson'\nduration = '60 s'\n\
        [link.x]\nbetween = ['a', 'b']\nrate = '100 Mbit/s'\ndelay = '5 ms'\n\
        [flow.f]\nfrom = 'a'\nto = 'b'\ncount = 4001\nstagger = '10 ms'\nstagger_distribution = 'exponential'\n\
        app = { kind = 'file', size = '15 kB', size_distribution = 'pareto' }\n\
        [output]\ntcp = 'off'\nqueues = false\n";
    let output = run_text(text);
    assert_balanced(&output);
    let start = real(&output, "flows", "start_s");
    assert_eq!(start.len(), 4001);
    let mut times: Vec<f64> = start.iter().copied().filter(|t| !t.is_nan()).collect();
    times.sort_by(f64::total_cmp);
    let gaps: Vec<f64> = times.windows(2).map(|w| w[1] - w[0]).collect();
    let n = gaps.len() as f64;
    assert!(n > 3990.0, "{n}");
    let mean = gaps.iter().sum::<f64>() / n;
    let deviation = (gaps.iter().map(|g| (g - mean) * (g - mean)).sum::<f64>() / n).sqrt();
    assert!((mean / 0.01 - 1.0).abs() < 4.0 * 0.016, "{mean}");
    assert!((deviation / mean - 1.0).abs() < 4.0 * 0.022, "{}", deviation / mean);
    // Each has its own size and is complete.
    let octets = whole(&output, "flows", "app_bytes");
    assert!(octets.iter().filter(|o| **o > 0).count() > 3990);
    assert!(octets.iter().collect::<std::collections::BTreeSet<_>>().len() > 1000);
}

#[test]
fn invalid_values_are_refused_with_a_remedy() {
    let at = |set: &str| format!("[[at]]\nt = '1 s'\nset = {{ {set} }}\n");
    for (app, more, message) in [
        ("app = { kind = 'bulk', rate = '0 bit/s' }", String::new(), "above zero"),
        ("app = { kind = 'file', shape = 1.0 }", String::new(), "shape above 1"),
        ("stagger_distribution = 'pareto'", String::new(), "\"exponential\""),
        ("notsent_lowat = '0 B'", String::new(), "such as \"16 kB\""),
        ("app = 'bulk'", at("'flow.f.app' = 'cbr'"), "stays a `bulk`"),
        ("app = 'file'", at("'flow.f.app.size' = '1 MB'"), "fixed during a run"),
        ("app = 'file'", at("'flow.f.app' = { kind = 'file', size = '1 B' }"), "what a `file` does is fixed"),
        ("app = 'file'", at("'flow.f.app.rate' = '1 Mbit/s'"), "`rate`"),
        ("app = 'bulk'", at("'flow.f.app.rate' = '0 Mbit/s'"), "above zero"),
        ("app = 'bulk'", at("'flow.f.count' = 3"), "fixed during a run"),
        ("app = 'bulk'", at("'flow.g.app.rate' = '1 Mbit/s'"), "nothing is called `g`"),
    ] {
        let error = Scenario::parse(&flow(app, &more), "t.toml", Path::new(""), &[]).unwrap_err().to_string();
        assert!(error.contains(message), "{app} {more}: {error}");
    }
    // A flow without a given application has the default one.
    Scenario::parse(&flow("", &at("'flow.f.app.rate' = '1 Mbit/s'")), "t.toml", Path::new(""), &[]).unwrap();
}

//! The scripts of `tests/packetdrill`, one for each behaviour: each passes, and mistakes in one are
//! found and reported.

use std::path::{Path, PathBuf};

use lasthop_packetdrill::{Outcome, Request, Verdict, parse, run_text};
use proptest::prelude::*;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/packetdrill")
}

fn scripts() -> Vec<(String, String)> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder()).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    let pkt = paths.iter().filter(|p| p.extension().is_some_and(|e| e == "pkt"));
    pkt.map(|p| (p.file_stem().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(p).unwrap()))
        .collect()
}

fn script(name: &str) -> String {
    scripts().into_iter().find(|s| s.0 == name).unwrap_or_else(|| panic!("{name}.pkt is not there")).1
}

fn run(text: &str) -> Outcome {
    run_text("script", text, &Request::default(), true)
}

#[test]
fn every_script_passes() {
    let all = scripts();
    assert!(all.len() >= 30, "{} scripts", all.len());
    for (name, text) in all {
        let o = run(&text);
        let transcript = o.transcript.join("\n");
        assert_eq!(
            o.verdict,
            Verdict::Passed,
            "{name}.pkt:{}:{}: {}\n{transcript}",
            o.line,
            o.column,
            o.message
        );
    }
}

/// Found by the fuzzer: eleven digits of seconds overflowed a count of nanoseconds. (2^64 ns are
/// 1.8e10 s.)
#[test]
fn times_that_no_clock_reaches_are_mistakes() {
    for text in [
        "33333333333`,- ]\u{1}AA z.Z        3\n\n\no\u{c}ooo\t\t  {  \u{2}\0\0\0\0\0\0\0    ' `",
        "9223372036854775807 `true`\n",
        "+1048577 `true`\n",
        "0 `true`\n+1...99999999999 read(3, ..., 1) = 1\n",
    ] {
        let o = run(text);
        assert_eq!(o.verdict, Verdict::Mistake, "{text:?}: {}", o.message);
        assert!(o.message.contains("at most 1048576 s"), "{text:?}: {}", o.message);
    }
}

#[test]
fn a_run_repeats_itself() {
    for (_, text) in scripts() {
        assert_eq!(run(&text), run(&text));
    }
}

/// Replaces `what` in the script `name` and expects a failure whose message contains `expected`.
#[track_caller]
fn fails(name: &str, what: &str, with: &str, expected: &str) {
    let text = script(name);
    assert!(text.contains(what), "{name}.pkt has no `{what}`");
    let o = run(&text.replacen(what, with, 1));
    assert_eq!(o.verdict, Verdict::Failed, "{what} -> {with}");
    assert!(o.message.contains(expected), "{}", o.message);
    assert!(o.line > 0);
}

#[test]
fn what_differs_from_the_script_is_reported_by_name() {
    fails("initial-window", "> P. 1:12001(12000)", "> . 1:12001(12000)", "flag PSH: expected 0, actual 1");
    fails("initial-window", "> P. 1:12001(12000)", "> P. 1:10801(10800)", "flag PSH: expected 1, actual 0");
    fails(
        "initial-window",
        "tcpi_snd_cwnd == 15, tcpi_snd_cwnd",
        "tcpi_snd_cwnd == 16, tcpi_snd_cwnd",
        "tcpi_snd_cwnd == 16: 15",
    );
    fails(
        "fast-retransmit",
        "> . 1:1201(1200)",
        "> . 1201:2401(1200)",
        "sequence number: expected 1201, actual 1",
    );
    fails("sack-blocks", "sack 4801:6001 1201:2401", "sack 1201:2401 4801:6001", "option sack");
    fails("timeout-backs-off", "+.6   >", "+.4   >", "timing: the packet is expected at");
    fails("delayed-ack", "+.12  >", "+.06  >", "timing");
    fails("handshake-active", "mss 1460", "mss 1400", "option mss: expected 1400, actual 1460");
    fails("handshake-passive", "ecr 4000", "ecr 4001", "option TS ecr: expected 4001, actual 4000");
    fails("handshake-passive", "win 65535", "win 65534", "window: expected 65534, actual 65535");
    fails(
        "half-close",
        "write(4, ..., 10) = -1 EPIPE",
        "write(4, ..., 10) = 10",
        "expected to return 10, actual -1 EPIPE",
    );
    fails("blocking-calls", "...0.160", "...0.260", "the return of read()");
    fails("queues", "SIOCINQ, [400]", "SIOCINQ, [401]", "expected 401, actual 400");
    fails("poll", "revents=POLLOUT", "revents=POLLIN", "revents of 4");
}

#[test]
fn a_packet_that_never_comes_is_missed() {
    let text = script("application-limited") + "+0    > . 4801:6001(1200) ack 1\n";
    let o = run(&text);
    assert_eq!(o.verdict, Verdict::Failed);
    assert!(o.message.contains("did not come") && o.message.contains("actual:   nothing"), "{}", o.message);
}

#[test]
fn what_an_endpoint_has_not_is_not_applicable_and_says_why() {
    let base = script("initial-window");
    for (more, why) in [
        ("+0 sendfile(4, 5, 0, 10) = 10\n", "the system call sendfile()"),
        ("+0 setsockopt(4, SOL_SOCKET, SO_ZEROCOPY, [1], 4) = 0\n", "zero copy"),
        ("+0 < icmp unreachable frag_needed mtu 600\n", "ICMP"),
        ("+0 < [1:1001(1000)] icmp unreachable frag_needed mtu 600\n", "ICMP"),
        ("+0 `iptables -F`\n", "the shell command `iptables`"),
        ("+0 %{ import os }%\n", "code with `import`"),
        ("+0 < S 0:0(0) win 1 <FO abcd>\n", "TCP Fast Open"),
    ] {
        let o = run(&format!("{base}{more}"));
        assert_eq!(o.verdict, Verdict::NotApplicable, "{more}: {}", o.message);
        assert!(o.message.contains(why), "{}", o.message);
    }
}

#[test]
fn a_mistake_is_reported_with_line_column_and_remedy() {
    for (text, line, column, expected) in [
        ("0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 > Q 0:0(0)\n", 2, 6, "TCP flags are expected here"),
        ("+0 < . 1:10(8) ack 1\n", 1, 15, "is not 8 octets long"),
        ("x socket() = 3", 1, 1, "an event begins with a time"),
        ("+0 < S 0:0(0) win 70000", 1, 19, "does not fit the field win"),
        ("+0 > S 0:0(0) <mmm 3>", 1, 19, "the option `mmm` is not known"),
        ("+0 `sysctl", 1, 5, "has no end"),
        ("+0 close(3 = 0", 1, 12, "`,` or `)` is expected"),
        ("\n#ifdef A\n+0 close(3) = 0\n", 2, 1, "add `#endif`"),
        ("#else\n", 1, 1, "no #if before it"),
    ] {
        let o = run(text);
        assert_eq!((o.verdict, o.line, o.column), (Verdict::Mistake, line, column), "{text}: {}", o.message);
        assert!(o.message.contains(expected), "{}", o.message);
    }
}

#[test]
fn the_requested_profile_is_the_one_that_runs() {
    // RFC 6298 (2.4) keeps the first timeout at 1 s, where Linux waits SRTT + 200 ms.
    let text = script("timeout-backs-off");
    let rfc = Request::named(Some("rfc"), Some("reno")).unwrap();
    let o = run_text("script", &text, &rfc, false);
    assert_eq!(o.verdict, Verdict::Failed);
    assert!(Request::named(Some("linux-9"), None).unwrap_err().contains("linux-6"));
    assert!(Request::named(None, Some("vega")).is_err());
}

/// A script with choices that depend on the stack.
const BRANCHES: &str = "#ifdef A\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = -1 EMFILE\n#endif\n";

#[test]
fn one_branch_of_a_condition_runs_and_a_symbol_chooses_it() {
    assert_eq!(run(BRANCHES).verdict, Verdict::NotApplicable, "nothing of it counts");
    let defined = Request::default().define("A").unwrap();
    let o = run_text("script", &BRANCHES.replace("-1 EMFILE", "3\n+0 read(3, ..., 1) = 1"), &defined, false);
    assert_eq!((o.verdict, o.line), (Verdict::Failed, 3), "{}", o.message);
    let bsd = Request::default().define("FreeBSD").unwrap();
    let o = run_text("conditions", &script("conditions"), &bsd, true);
    assert_eq!(o.verdict, Verdict::Passed, "{}", o.message);
    assert!(o.transcript.iter().any(|l| l.contains("wscale 6>") && l.contains("S.")), "{:?}", o.transcript);
    assert!(Request::default().define("3").unwrap_err().contains("NAME=VALUE"));
}

#[test]
fn a_symbol_with_a_value_stands_for_it_in_calls_and_code() {
    let text =
        "0 socket(..., TYPE, IPPROTO_TCP) = 3\n+0 read(3, ..., N) = -1 ENOTCONN\n+0 %{ assert N == 7 }%\n";
    let request = Request::default().define("TYPE=SOCK_STREAM").and_then(|r| r.define("N=7")).unwrap();
    let o = run_text("script", text, &request, false);
    assert_eq!(o.verdict, Verdict::Passed, "{}", o.message);
    assert_eq!(run(text).verdict, Verdict::NotApplicable);
}

#[test]
fn the_host_of_the_request_takes_precedence_over_that_of_the_settings() {
    let bsd = Request::default().host("bsd").unwrap();
    let linux = Request::default().host("linux").unwrap();
    let text = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 getsockopt(3, SOL_SOCKET, SO_RCVBUF, [65536], [4]) = 0\n";
    assert_eq!(run(text).verdict, Verdict::Failed);
    assert_eq!(run_text("script", text, &bsd, false).verdict, Verdict::Passed);
    let closing = script("bsd-closing");
    assert_eq!(run_text("script", &closing, &linux, false).verdict, Verdict::Failed);
    assert!(Request::default().host("vms").unwrap_err().contains("linux or bsd"));
}

#[test]
fn options_of_the_request_take_precedence_and_wrong_ones_are_reported() {
    let text = "--tolerance_usecs=1\n".to_owned() + &script("delayed-ack").replace("+.12  >", "+.06  >");
    assert_eq!(run(&text).verdict, Verdict::Failed);
    let patient = Request::default().option("tolerance_usecs", "100000").unwrap();
    assert_eq!(run_text("script", &text, &patient, false).verdict, Verdict::Passed);
    for (name, value, expected) in [
        ("tolerance_usecs", "-1", "from 0 to"),
        ("mss", "0", "from 1 to 65535"),
        ("mtu", "67", "from 68 to 65535"),
        ("tolerance_percent", "NaN", "per cent"),
        ("ip_version", "6", "ipv4, ipv6 or"),
        ("tolerance", "4", "no option of packetdrill"),
    ] {
        let e = Request::default().option(name, value).unwrap_err();
        assert!(e.contains(expected) && e.contains(&format!("--{name}")), "{e}");
        let o = run(&format!("\n--{name}={value}\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n"));
        assert_eq!((o.verdict, o.line), (Verdict::Mistake, 2), "{}", o.message);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_text_is_survived(text in "\\PC*") {
        let _ = parse(&text);
    }

    #[test]
    fn words_of_the_language_in_any_order_are_survived(
        words in proptest::collection::vec(proptest::sample::select(WORDS), 0..60)
    ) {
        let text = words.join("");
        let _ = run(&text);
    }

    #[test]
    fn a_script_with_a_piece_cut_out_or_doubled_is_survived(
        which in 0usize..30, from in 0usize..2000, len in 0usize..60, twice: bool
    ) {
        let all = scripts();
        let text: Vec<char> = all[which % all.len()].1.chars().collect();
        let from = from.min(text.len());
        let to = (from + len).min(text.len());
        let mut changed: Vec<char> = text[..from].to_vec();
        if twice {
            changed.extend(&text[from..to]);
            changed.extend(&text[from..to]);
        }
        changed.extend(&text[to..]);
        let _ = run(&changed.into_iter().collect::<String>());
    }
}

const WORDS: &[&str] = &[
    "#ifdef A\n",
    "#else\n",
    "#endif\n",
    "#if !(defined A) || 1 == 0\n",
    "#define A 5\n",
    "`sysctl -q net.ipv4.tcp_rmem=$((1<<(4*8)))`\n",
    "--mss=1000\n",
    "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n",
    "+0 bind(3, ..., ...) = 0\n",
    "+0 listen(3, 1) = 0\n",
    "+0 < S 0:0(0) win 32792 <mss 1000,sackOK,nop,wscale 7>\n",
    "+0 > S. 0:0(0) ack 1 <...>\n",
    "+.1 < . 1:1(0) ack 1 win 257\n",
    "+0 accept(3, ..., ...) = 4\n",
    "+0 write(4, ..., 1000000000) = 1000000000\n",
    "+0...9 read(4, ..., 5) = 5\n",
    "+0 close(4) = 0\n",
    "+0 < F. 4294967295:4294967295(0) ack 4294967295 win 65535 <sack 1:0 0:4294967295>\n",
    "+0 < R 1:1(0)\n",
    "* > . 1:1(0) ack 1\n",
    "+99999999 ",
    "%{ assert tcpi_snd_cwnd == 10 }%\n",
    "%{ a = 9223372036854775807 + 1 }%\n",
    "`sysctl -q net.ipv4.tcp_rmem=\"1 2 99999999999999999999\"`\n",
    "+0 setsockopt(4, SOL_SOCKET, SO_SNDBUF, [-1], 4) = 0\n",
    "+0 setsockopt(3, SOL_TCP, TCP_MAXSEG, [88], 4) = 0\n",
    "+0 connect(3, ..., ...) = 0\n",
    "+0 shutdown(4, SHUT_RDWR) = 0\n",
    "--tolerance_usecs=99999999999\n",
    "+0 ioctl(4, SIOCOUTQ, [0]) = 0\n",
    "+0 poll([{fd=4, events=POLLIN, revents=0}], 1, 5) = 0\n",
    "<",
    ">",
    "{",
    "[",
    "(",
    "`",
    "+",
    "...",
    "~",
    "|",
];

/// A truncated download must not pass, because it checks nothing.
#[test]
fn a_script_without_an_event_is_a_mistake() {
    for text in ["", "\n\n", "// a comment alone\n", "--tolerance_usecs=4000\n"] {
        let o = run(text);
        assert_eq!((o.verdict, o.line), (Verdict::Mistake, 1), "{text:?}: {}", o.message);
    }
    let others = "#ifdef OTHER\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n#endif\n";
    assert_eq!(run(others).verdict, Verdict::NotApplicable);
}

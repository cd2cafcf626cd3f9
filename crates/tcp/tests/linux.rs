//! The `linux-6` profile by scripts: a sender against ACKs written by hand, and goldens of the
//! window by round trip for each algorithm.
//!
//! Timers run on jiffies of 1 ms. A timer that is armed at a whole millisecond `t` for `n` jiffies
//! is filed under the next slot after `t + n`: of 1 ms below 63 jiffies, of 8 ms below 504
//! (kernel/time/timer.c, calc_wheel_index).

use crate::util::*;
use lasthop_tcp::cc::{ALGORITHMS, Observer, Shown};
use lasthop_tcp::*;
use lasthop_units::{Bytes, Duration, Instant, Seq, SeqRange};

const MSS: u32 = 1000;
const PEER: Seq = Seq(500);
const ISN: Seq = Seq(1000);

struct Script {
    e: Endpoint,
    now: Instant,
    /// Timestamps are on.
    stamps: bool,
}

impl Script {
    /// Established at 100 ms after a handshake of 100 ms, with `flight` segments sent.
    fn new(o: Options, flight: u32, write: u64) -> Script {
        Script::over(100, o, flight, write)
    }
    /// As `new`, with a handshake of `rtt` milliseconds.
    fn over(rtt: u64, o: Options, flight: u32, write: u64) -> Script {
        let stamps = o.negotiated.timestamps == Some(true);
        let o = Options {
            profile: Profile::Linux6,
            window: WindowOptions {
                mss: Some(Bytes(u64::from(MSS) + if stamps { 12 } else { 0 })),
                initial_window: Some(flight),
                ..o.window
            },
            negotiated: NegotiatedOptions { timestamps: Some(stamps), ..o.negotiated },
            buffers: BufferOptions {
                // Segments one by one, and all that is written, so that each ACK shows the segments
                // that it permits.
                gso: Some(false),
                send_tuning: Some(false),
                ..o.buffers
            },
            ..o
        };
        let mut s = Script { e: Endpoint::new(o.resolve().unwrap(), ISN), now: Instant::ZERO, stamps };
        s.e.connect(s.now);
        s.sent();
        s.now = Instant::from_millis(rtt);
        let syn_ack = Segment {
            seq: PEER - 1,
            ack: ISN + 1,
            flags: Flags::SYN
                | Flags::ACK
                | if s.e.config().ecn.mode == EcnMode::On { Flags::ECE } else { Flags::default() },
            window: 60_000,
            syn: SynOptions::new(Some(1460), None, true),
            timestamps: stamps.then_some(Timestamps { value: 1, echo: 1 }),
            ..Segment::default()
        };
        s.e.handle_segment(s.now, &syn_ack);
        s.e.write(s.now, write * u64::from(MSS));
        assert_eq!(s.sent().len() as u32, flight);
        s
    }
    /// What leaves now: the number of the segment, `.` for a bare ACK.
    fn sent(&mut self) -> Vec<String> {
        let mut out = vec![];
        while let Some(s) = self.e.poll_transmit(self.now) {
            out.push(if s.len == 0 {
                ".".into()
            } else {
                (s.seq.0.wrapping_sub(ISN.0 + 1) / MSS).to_string()
            });
        }
        out
    }
    /// Advances to `ms` and lets timers fire at their moments; returns what they produce.
    fn until(&mut self, ms: u64) -> Vec<String> {
        let mut out = vec![];
        while let Some(at) = self.e.poll_at().filter(|&t| t <= Instant::from_millis(ms)) {
            self.now = self.now.max(at);
            self.e.on_time(self.now);
            out.extend(self.sent().into_iter().map(|s| format!("{s}@{}", self.now.as_nanos() / 1_000_000)));
        }
        self.now = Instant::from_millis(ms);
        out
    }
    /// An ACK of everything below segment `n`, with SACK blocks in segments, echoing a time [ms].
    fn ack(&mut self, n: u32, blocks: &[(u32, u32)], echo: u32) -> Vec<String> {
        self.ack_with(Flags::ACK, n, blocks, echo)
    }
    fn ack_with(&mut self, flags: Flags, n: u32, blocks: &[(u32, u32)], echo: u32) -> Vec<String> {
        let at = |n: u32| ISN + 1 + n * MSS;
        let mut s = Segment { seq: PEER, ack: at(n), flags, window: 60_000, ..Segment::default() };
        for &(a, b) in blocks {
            s.rare.change(|o| _ = o.sack.push(SeqRange { start: at(a), end: at(b) }));
        }
        s.timestamps = self.stamps.then_some(Timestamps { value: 2, echo: echo + 1 });
        self.e.handle_segment(self.now, &s);
        self.sent()
    }
    fn window(&self) -> (f64, f64, &'static str) {
        let i = self.e.info();
        (i.snd_cwnd.floor(), i.snd_ssthresh, i.ca_state.name())
    }
}

fn reno() -> Options {
    Options { cc: Some(CcName::Reno), ..Options::default() }
}

#[test]
fn one_loss_of_twenty_is_sent_one_segment_per_two_acks() {
    // RFC 6937 section 3.1: N N R . N . N . N ...; the window comes down to 10 while the ACKs of 20
    // arrive.
    let mut s = Script::new(reno(), 20, 1000);
    s.until(200);
    let per_ack: Vec<String> = (2..=20)
        .map(|n| s.ack(0, &[(1, n)], 0).join(","))
        .map(|t| if t.is_empty() { ".".into() } else { t })
        .collect();
    // At the end 10 are in flight, as many as ssthresh: the last two ACKs let nothing out.
    assert_eq!(per_ack.join(" "), "20 21 0 . 22 . 23 . 24 . 25 . 26 . 27 . 28 . .");
    assert_eq!(s.window(), (10.0, 10.0, "recovery"));
    // The ACK of all that was outstanding ends it with cwnd = ssthresh, and counts as one of ten.
    s.until(300);
    s.ack(22, &[], 0);
    assert_eq!(s.window(), (10.0, 10.0, "open"));
}

#[test]
fn a_timeout_of_cubic_takes_the_path_of_the_kernel() {
    // RTO at cwnd 10: ssthresh 7, cwnd 2 after the ACK, then one more per ACK up to 7; in
    // congestion avoidance still 7 nine ACKs later, 8 at segment 23.
    let o = Options { cc: Some(CcName::Cubic), ..Options::default() };
    let mut s = Script::new(o, 10, 10);
    let out = s.until(620);
    // Probe after two round trips of 100 ms and 2 ms: 302, the next multiple of 8 is 304; the timer
    // starts anew there: SRTT + 200 ms: 604, the next is 608. There is no new data, so that F-RTO
    // cannot request it.
    assert_eq!(out, ["9@304", "0@608"]);
    assert_eq!(s.window(), (1.0, 7.0, "loss"));
    s.until(702);
    s.ack(1, &[], 0);
    assert_eq!(s.window().0, 2.0);
    s.e.write(s.now, 1_000_000);
    for (n, cwnd) in [(2, 3.0), (3, 4.0), (4, 5.0), (5, 6.0), (6, 7.0), (7, 7.0)] {
        s.ack(n, &[], 0);
        assert_eq!(s.window().0, cwnd, "ack {n}");
    }
    for n in 8..=16 {
        s.until(702 + 10 * u64::from(n));
        s.ack(n, &[], 0);
    }
    assert_eq!(s.window().0, 7.0, "9 ACKs into congestion avoidance");
    for n in 17..=23 {
        s.until(702 + 10 * u64::from(n));
        s.ack(n, &[], 0);
    }
    assert_eq!(s.window().0, 8.0);
}

#[test]
fn the_tail_is_probed_and_its_loss_found_without_a_timeout() {
    let mut s = Script::new(reno(), 5, 5);
    s.until(200);
    assert!(s.ack(3, &[], 0).is_empty());
    // Two outstanding: 2 SRTT + 2 ms after the ACK: 402, the next multiple of 8 is 408.
    assert_eq!(s.until(408), ["4@408"]);
    s.until(508);
    // The probe arrives, segment 3 is missing: RACK finds that it was sent before.
    assert_eq!(s.ack(3, &[(4, 5)], 0), ["3"]);
    assert_eq!((s.window().2, s.e.counters().loss_probes, s.e.counters().timeouts), ("recovery", 1, 0));
}

#[test]
fn a_lone_segment_is_probed_no_later_than_the_timeout() {
    // TLP at + 300 ms, RTO another 300 ms later, for a round trip of 100 ms: 2 SRTT + 200
    // ms is beyond the RTO. In slots of 8 ms: 100 + 300 = 400 is one, so the next, 408; 408 + 300 =
    // 708: 712.
    let mut s = Script::new(reno(), 1, 1);
    assert_eq!(s.until(750), ["0@408", "0@712"]);
}

/// Ten segments leave at 0.4 s; at 0.8 s nine are acknowledged, and then nothing arrives any
/// more. An eleventh leaves at 0.9 s.
fn blackout(o: Options) -> Script {
    let mut s = Script::over(400, o, 10, 10);
    s.until(800);
    assert!(s.ack(9, &[], 0).is_empty());
    s.until(900);
    s.e.write(s.now, u64::from(MSS));
    assert_eq!(s.sent(), ["10"]);
    s
}

#[test]
fn in_a_blackout_the_probe_waits_no_longer_than_the_oldest_segments_timeout() {
    // The first round trip makes RTO = 400 + 4 * 200 = 1200 ms. 2 SRTT + 2 ms from 0.9 s is 1702,
    // but tcp_rto_delta_us is 400 + 1200 - 900 = 700 ms: 1600 = 25 * 64, filed under 26 * 64 =
    // 1664. The probe has left: 1664 + 1200 = 2864, filed under 45 * 64 = 2880.
    let mut s = blackout(reno());
    assert_eq!(s.e.info().rto, Duration::from_millis(1200));
    assert_eq!(s.until(3000), ["10@1664", "9@2880"]);
}

#[test]
fn a_probe_timer_that_may_not_send_is_replaced_by_the_oldest_segments_timeout() {
    // At 1.7 s the oldest has waited for more than the RTO, which then is no limit: 1700 + 802 =
    // 2502, filed under 40 * 64 = 2560. The probe of before is still unanswered, so none leaves,
    // and tcp_rearm_rto takes "max_t(int, delta_us, 1)": one jiffy, filed under the next but one.
    let mut s = blackout(reno());
    assert_eq!(s.until(1700), ["10@1664"]);
    s.e.write(s.now, u64::from(MSS));
    assert_eq!(s.sent(), ["11"]);
    assert_eq!(s.until(3000), ["9@2562"]);
    assert_eq!((s.e.counters().loss_probes, s.e.counters().timeouts), (1, 1));
}

#[test]
fn after_a_mark_new_data_puts_a_probe_in_the_place_of_the_reordering_timer() {
    // tcp_schedule_loss_probe (6.1) tests the state Open or CWR, neither for SACKed segments nor
    // for icsk_pending. A mark at 200 ms: CWR, ssthresh 10; with ten in flight PRR lets one out.
    let mut s =
        Script::new(Options { ecn: EcnOptions { ecn: Some(EcnMode::On), ..reno().ecn }, ..reno() }, 20, 1000);
    s.until(200);
    assert_eq!(s.ack_with(Flags::ACK | Flags::ECE, 10, &[], 0), ["20"]);
    // 10 is missing: ten are in flight again, and the reordering timer runs, until 100 + 110 + 12.5
    // + 2 = 224.5 ms.
    s.until(210);
    assert!(s.ack(10, &[(11, 12)], 0).is_empty());
    s.until(212);
    // Nine are in flight, so that one leaves; and with it the timer becomes the probe's, at the
    // timeout of the oldest, 100 + 300: 188 jiffies from 212, filed under the next multiple of 8.
    assert_eq!(s.ack(10, &[(11, 13)], 0), ["21"]);
    assert_eq!(s.window(), (10.0, 10.0, "cwr"));
    assert_eq!((s.until(410), s.e.counters().loss_probes), (vec!["22@408".to_owned()], 1));
}

#[test]
fn the_least_timeout_is_what_a_lone_segments_probe_allows_for_a_delayed_ack() {
    // tcp_rto_min_us: 2 * 100 + 50 ms after 100 ms; the RTO is 100 + 4 * 50 = 300 ms. 350 ms is
    // filed under the next multiple of 8 ms.
    let mut s = Script::new(
        Options {
            timers: TimerOptions { min_rto: Some(Duration::from_millis(50)), ..reno().timers },
            ..reno()
        },
        1,
        1,
    );
    assert_eq!(s.until(360), ["0@352"]);
}

#[test]
fn the_ack_of_a_probe_alone_neither_proves_a_loss_nor_stops_growth() {
    let mut s = Script::new(reno(), 10, 10);
    s.until(200);
    s.ack(9, &[], 0);
    s.until(500);
    s.until(600);
    let before = s.window().0;
    s.ack(10, &[], 0);
    // RFC 8985 section 7.4.2: only an ACK beyond TLP.end_seq shows a loss. Linux still takes the
    // window for used: nothing new was sent since ten segments filled it, and tcp_cwnd_validate
    // checks when data leaves.
    assert_eq!((s.e.counters().loss_probes, s.window().0), (1, before + 1.0));
}

#[test]
fn f_rto_undoes_a_timeout_whose_originals_arrive() {
    // Without timestamps: the first ACK after the timeout lets new data out, the second proves the
    // originals.
    let mut s = Script::new(reno(), 10, 1000);
    let out = s.until(610);
    // As above: 302 becomes 304, and 604 to 608.
    assert_eq!(out, ["10@304", "0@608"]);
    assert_eq!(s.window(), (1.0, 5.0, "loss"));
    s.until(650);
    s.ack(2, &[], 0);
    s.ack(4, &[], 0);
    assert_eq!(s.window().2, "open");
    assert!(s.window().0 >= 10.0, "{:?}", s.window());
    assert_eq!((s.e.counters().undone, s.e.counters().spurious_timeouts), (1, 1));
    assert_eq!(undone(&s.e), [0.0, 1.0]);
}

/// What the table `cc` has: reductions undone after fast recovery, and after a timeout.
fn undone(e: &Endpoint) -> [f64; 2] {
    let mut found = [f64::NAN; 2];
    observe(
        e,
        &mut Observer::new(&mut |o| {
            let i = ["undone_fast", "undone_rto"].iter().position(|name| *name == o.name);
            if let (Some(i), Shown::Number(Some(n))) = (i, o.value) {
                found[i] = n;
            }
        }),
    );
    found
}

#[test]
fn timestamps_undo_a_timeout_at_the_first_ack() {
    let mut s = Script::new(
        Options { negotiated: NegotiatedOptions { timestamps: Some(true), ..reno().negotiated }, ..reno() },
        10,
        1000,
    );
    s.until(610);
    s.until(650);
    s.ack(2, &[], 100);
    assert_eq!((s.window().2, s.e.counters().undone), ("open", 1));
    assert!(s.window().0 >= 10.0);
}

#[test]
fn a_timeout_leaves_what_was_just_sent() {
    // tcp_timeout_mark_lost skips what was sent less than RACK.rtt ago, here 100 ms;
    // tcp_enter_loss sets the window to packets_in_flight + 1 after that.
    for (cc, written, window) in [
        (CcName::Reno, 460, 2.0),
        (CcName::Bbr, 460, 2.0),
        (CcName::Bbr3, 460, 2.0),
        // More than 100 ms before the timeout: lost, as all others are.
        (CcName::Reno, 360, 1.0),
    ] {
        let mut s = Script::new(Options { cc: Some(cc), ..Options::default() }, 10, 10);
        s.until(200);
        let mut out = vec![];
        for n in 2..=8 {
            out.extend(s.ack(0, &[(1, n)], 0));
        }
        out.extend(s.until(written));
        s.e.write(s.now, u64::from(MSS));
        out.extend(s.sent());
        // 0 is sent again in recovery, and 300 ms later by the timeout.
        assert_eq!((out, s.window().2), (vec!["0".to_owned(), "10".to_owned()], "recovery"), "{cc:?}");
        assert_eq!(s.until(510), ["0@504"], "{cc:?}");
        assert_eq!((s.window().0, s.window().2), (window, "loss"), "{cc:?}");
    }
}

/// A timeout of segment 0 of ten at 608 ms, after a probe with 10. F-RTO lets 11 and 12 out, whose
/// SACKs let 1 and 2 out again at 808 ms, one millisecond apart.
fn after_a_timeout() -> Script {
    let mut s = Script::new(reno(), 10, 1000);
    assert_eq!(s.until(610), ["10@304", "0@608"]);
    s.until(708);
    assert_eq!(s.ack(1, &[], 0), ["11", "12"]);
    s.until(808);
    assert_eq!(s.ack(1, &[(11, 12)], 0), ["1"]);
    s.until(809);
    assert_eq!(s.ack(1, &[(11, 13)], 0), ["2"]);
    assert_eq!((s.window().1, s.window().2), (5.0, "loss"));
    s
}

#[test]
fn a_retransmission_that_is_lost_again_after_a_timeout_begins_a_recovery() {
    // 1 left 1 ms before 2 did, which arrives after 100 ms: the waiting time of 1, RACK.rtt
    // without a reordering window, is over. tcp_fastretrans_alert, TCP_CA_Loss: FLAG_LOST_RETRANS
    // falls through to tcp_enter_recovery, which cuts ssthresh to half of the window of 2, at
    // least 2, and tcp_cwnd_reduction lets one segment out, whatever is in flight.
    let mut s = after_a_timeout();
    s.until(909);
    let window = s.window().0;
    assert_eq!(s.ack(1, &[(2, 3), (11, 13)], 0), ["1"]);
    assert_eq!((window, s.window().1, s.window().2), (2.0, 2.0, "recovery"));
    assert_eq!(s.e.counters().fast_retransmits, 1);
}

#[test]
fn a_spurious_timeout_after_a_mark_restores_no_window() {
    let ecn = Options { ecn: EcnOptions { ecn: Some(EcnMode::On), ..reno().ecn }, ..reno() };
    let mut s = Script::new(ecn, 20, 1000);
    s.until(200);
    for n in 2..=4 {
        s.ack(0, &[(1, n)], 0);
    }
    s.until(300);
    s.ack(22, &[], 0);
    // A recovery from a window of 20 has ended; its ACK counts as 18 of 10.
    assert_eq!(s.window(), (11.0, 10.0, "open"));
    s.until(400);
    s.ack_with(Flags::ACK | Flags::ECE, 23, &[], 0);
    assert_eq!((s.window().1.floor(), s.window().2), (5.0, "cwr"));
    // tcp_enter_cwr sets prior_ssthresh = 0 and undo_marker = 0. tcp_enter_loss cuts nothing in
    // CWR, so that it does not call tcp_init_undo. F-RTO's tcp_try_undo_loss then opens the state,
    // and tcp_undo_cwnd_reduction restores nothing. The two segments of the ACK make 1 + 2 of the
    // window (tcp_slow_start).
    let out = s.until(1000);
    assert!(out.iter().any(|sent| sent.starts_with("23@")), "{out:?}");
    assert_eq!((s.window().0, s.window().2), (1.0, "loss"));
    s.ack(25, &[], 0);
    assert_eq!((s.window().0, s.window().2), (3.0, "open"));
    assert_eq!((s.e.counters().undone, s.e.counters().spurious_timeouts), (0, 1));
}

#[test]
fn a_recovery_with_a_mark_restores_no_window() {
    // tcp_fastretrans_alert, A: an ECE ACK sets prior_ssthresh = 0. The DSACK
    // ends the recovery all the same (tcp_try_undo_dsack). tcp_cwnd_reduction at the ACK before: 6
    // in flight, 4 delivered, 1 sent: 6 + ceil(4 * 5 / 10) - 1 = 7.
    let ecn = Options { ecn: EcnOptions { ecn: Some(EcnMode::On), ..reno().ecn }, ..reno() };
    let mut s = Script::new(ecn, 10, 1000);
    s.until(200);
    for n in 2..=4 {
        s.ack(0, &[(1, n)], 0);
    }
    s.until(210);
    s.ack_with(Flags::ACK | Flags::ECE, 6, &[], 0);
    s.until(300);
    s.ack(8, &[(0, 1)], 0);
    assert_eq!((s.window(), s.e.counters().undone), ((7.0, 5.0, "open"), 0));
}

#[test]
fn a_duplicate_report_undoes_a_spurious_fast_retransmit() {
    let mut s = Script::new(reno(), 10, 1000);
    s.until(200);
    for n in 2..=4 {
        s.ack(0, &[(1, n)], 0);
    }
    assert_eq!(s.window().2, "recovery");
    // The original was only late; the copy is reported by a DSACK.
    s.until(210);
    s.ack(6, &[], 0);
    s.until(300);
    s.ack(8, &[(0, 1)], 0);
    assert_eq!((s.window().2, s.e.counters().dsacks_received, s.e.counters().undone), ("open", 1, 1));
    assert_eq!(undone(&s.e), [1.0, 0.0]);
    assert!(s.window().0 >= 10.0, "{:?}", s.window());
    // From now on a segment is waited for a quarter of the round trip and more.
    s.ack(10, &[], 0);
}

fn stamped() -> Options {
    Options { negotiated: NegotiatedOptions { timestamps: Some(true), ..reno().negotiated }, ..reno() }
}

#[test]
fn a_partial_ack_of_what_was_late_undoes_a_recovery() {
    // tcp_try_undo_partial: the ACK echoes the time of the original, before retrans_stamp, and no
    // retransmission is in flight: tcp_undo_cwnd_reduction restores 10 and no ssthresh, and the
    // segment that the ACK delivers adds one (tcp_slow_start).
    let mut s = Script::new(stamped(), 10, 1000);
    s.until(200);
    for n in 2..=4 {
        s.ack(0, &[(1, n)], 100);
    }
    assert_eq!((s.window().1, s.window().2), (5.0, "recovery"));
    s.until(210);
    s.ack(4, &[], 100);
    assert_eq!(s.window(), (11.0, f64::INFINITY, "open"));
    assert_eq!((undone(&s.e), s.e.counters().spurious_timeouts), ([1.0, 0.0], 0));
}

#[test]
fn with_retransmissions_in_flight_a_partial_ack_of_what_was_late_lets_new_data_out() {
    // 0 to 2 are late, 0 and 1 are sent again. tcp_try_undo_partial finds 1 in retrans_out:
    // tcp_fastretrans_alert returns without REXMIT_LOST, so that 2 is not sent again.
    let mut s = Script::new(stamped(), 20, 1000);
    s.until(200);
    let mut out = vec![];
    for n in 4..=8 {
        out.extend(s.ack(0, &[(3, n)], 100));
    }
    assert_eq!(out, ["20", "21", "0", "1"]);
    let new = s.ack(1, &[(3, 10)], 100);
    assert_eq!((new, s.window().2), (vec!["22".to_owned()], "recovery"));
    // With 1 none is in flight any more.
    s.until(210);
    s.ack(2, &[(3, 10)], 100);
    assert_eq!((s.window().2, s.e.counters().undone), ("disorder", 1));
    assert_eq!(s.e.counters().retransmitted_segments, 2);
}

#[test]
fn a_duplicate_report_undoes_a_recovery_after_its_end() {
    // tcp_try_undo_recovery leaves undo_marker where it does not undo; tcp_try_undo_dsack restores
    // the window in the states Open and Disorder, also with nothing in flight (tcp_ack, no_queue).
    for write in [1000, 12] {
        let mut s = Script::new(reno(), 10, write);
        s.until(200);
        for n in 2..=4 {
            s.ack(0, &[(1, n)], 0);
        }
        s.until(210);
        s.ack(12, &[], 0);
        assert_eq!((s.window().1, s.window().2), (5.0, "open"));
        s.until(300);
        s.ack(12, &[(0, 1)], 0);
        assert_eq!((s.window().1, s.window().2), (f64::INFINITY, "open"), "{write}");
        assert!(s.window().0 >= 10.0, "{:?}", s.window());
        assert_eq!(undone(&s.e), [1.0, 0.0]);
    }
}

#[test]
fn after_reordering_a_gap_is_waited_for() {
    let mut s = Script::new(reno(), 20, 1000);
    s.until(200);
    // 1 and 2 overtake 0: no loss, but reordering is seen.
    s.ack(0, &[(1, 3)], 0);
    s.ack(3, &[], 0);
    s.until(250);
    for n in 5..=8 {
        assert!(!s.ack(3, &[(4, n)], 0).contains(&"3".to_owned()));
    }
    assert_eq!(s.window().2, "disorder");
    // RTT 150 ms for segments sent at 100 ms, and a quarter of the smallest round trip, 25 ms: due
    //
    // at 275. The timer is armed at 250 for usecs_to_jiffies(25000 + 2000) = 27 jiffies and fires
    // when jiffy 277 is over.
    let out = s.until(300);
    assert_eq!(out.first().map(String::as_str), Some("3@278"));
}

#[test]
fn a_duplicate_without_reordering_does_not_widen_the_reordering_window() {
    // The probe sends 9 again, whose original was only late: tcp_dsack_seen sets rack.dsack_seen
    // only if reord_seen, and not for a probe (FLAG_DSACK_TLP).
    let mut s = Script::new(reno(), 10, 10);
    assert_eq!(s.until(309), ["9@304"]);
    s.ack(10, &[], 0);
    s.until(410);
    s.ack(10, &[(9, 10)], 0);
    assert_eq!(s.e.counters().dsacks_received, 1);
    s.e.write(s.now, 10 * u64::from(MSS));
    s.sent();
    // As above, 310 ms later: tcp_rack_reo_wnd is one quarter of the smallest round trip.
    s.until(510);
    s.ack(10, &[(11, 13)], 0);
    s.ack(13, &[], 0);
    s.until(560);
    for n in 15..=18 {
        s.ack(13, &[(14, n)], 0);
    }
    assert_eq!(s.until(610).first().map(String::as_str), Some("13@588"));
}

#[test]
fn duplicates_beyond_the_retransmissions_are_dubious() {
    // tcp_dsack_seen returns 0 where dsack_dups > total_retrans. The first report comes before any
    // retransmission, and counts: with the second one there are two for one retransmission, so that
    // tcp_try_undo_dsack finds undo_retrans unchanged.
    let mut s = Script::new(reno(), 10, 1000);
    s.until(200);
    s.ack(2, &[(0, 1)], 0);
    for n in 4..=6 {
        s.ack(2, &[(3, n)], 0);
    }
    assert_eq!((s.window().2, s.e.counters().retransmitted_segments), ("recovery", 1));
    s.until(300);
    s.ack(6, &[(2, 3)], 0);
    assert_eq!((s.window().2, s.e.counters().undone), ("recovery", 0));
    assert_eq!(s.e.counters().dsacks_received, 2);
}

#[test]
fn a_coarser_clock_makes_the_same_timers_later() {
    // The reordering timer of the test before, armed at 250 ms for 27 ms. HZ 250, in jiffy 62: 7
    // jiffies, filed under jiffy 62 + 7 + 1 = 70, 280 ms. HZ 100, in jiffy 25: 3 jiffies, 25 + 3 +
    // 1 = 29, 290 ms. The probe of a lone segment, armed at 100 ms for 300: HZ 250, in jiffy 25: 75
    // jiffies are not below 63, so a slot of 8 jiffies: after jiffy 100 comes 104, 416 ms. HZ 100,
    // in jiffy 10: 30 jiffies, 41: 410 ms.
    for (clock, reordering, probe) in [
        (KernelClock::Exact, "3@277", "0@400"),
        (KernelClock::Hz1000, "3@278", "0@408"),
        (KernelClock::Hz250, "3@280", "0@416"),
        (KernelClock::Hz100, "3@290", "0@410"),
    ] {
        let o = Options { timers: TimerOptions { kernel_clock: Some(clock), ..reno().timers }, ..reno() };
        let mut s = Script::new(o.clone(), 20, 1000);
        s.until(200);
        s.ack(0, &[(1, 3)], 0);
        s.ack(3, &[], 0);
        s.until(250);
        s.ack(3, &[(4, 8)], 0);
        assert_eq!(s.until(300).first().map(String::as_str), Some(reordering), "{clock:?}");
        assert_eq!(Script::new(o, 1, 1).until(450), [probe], "{clock:?}");
    }
}

#[test]
fn the_timeout_is_doubled_in_jiffies_and_a_syn_waits_for_its_slot() {
    let mut e = Endpoint::new(Options { profile: Profile::Linux6, ..reno() }.resolve().unwrap(), ISN);
    e.connect(Instant::ZERO);
    while e.poll_transmit(Instant::ZERO).is_some() {}
    // TCP_TIMEOUT_INIT, 1 s, is filed in a slot of 64 ms: after 1000 comes 1024. From there 2 s:
    // after 3024 comes 3072; 4 s from there: after 7072 comes 7104 (below 4032 jiffies: of 64 ms).
    for at in [1024, 3072, 7104] {
        assert_eq!(e.poll_at(), Some(Instant::from_millis(at)));
        e.on_time(Instant::from_millis(at));
        while e.poll_transmit(Instant::from_millis(at)).is_some() {}
    }
}

#[test]
fn pacing_spreads_a_window_over_half_a_round_trip_and_then_over_five_sixths() {
    let o = Options {
        growth: GrowthOptions { pacing: Some(true), ..reno().growth },
        window: WindowOptions { mss: Some(Bytes(1000)), ..reno().window },
        negotiated: NegotiatedOptions { timestamps: Some(false), ..reno().negotiated },
        ..reno()
    };
    let gap = |threshold: f64| {
        let o = Options {
            profile: Profile::Linux6,
            window: WindowOptions { initial_ssthresh: Some(threshold), ..o.clone().window },
            buffers: BufferOptions { gso: Some(false), ..o.clone().buffers },
            ..o.clone()
        };
        let mut p = Pair::of(&o, Duration::from_millis(50));
        p.connect();
        p.write(0, 1 << 30);
        p.logging = true;
        p.drive(Instant::from_millis(350));
        let sent: Vec<_> = p.log.iter().filter(|l| l.1 == 0 && l.2.len > 0).map(|l| l.0).collect();
        // The first ten leave at once, each later one after its time.
        assert_eq!(sent[0], sent[9]);
        let i = p.ends[0].info();
        let rate = i.pacing_rate.unwrap().0 as f64 / 8.0;
        let srtt = i.rtt.unwrap().as_secs_f64();
        (rate * srtt / 1000.0 / i.snd_cwnd * 100.0).round()
    };
    assert_eq!(gap(1000.0), 200.0);
    assert_eq!(gap(20.0), 120.0);
}

/// Linux' window over Ethernet: 65160 in the SYN-ACK, then the size by right-sizing, always ahead
/// of a slow start, up to half of tcp_rmem's 6 MiB; a buffer that is set stays what it is.
#[test]
fn the_receive_window_grows_ahead_of_the_sender_unless_it_is_set() {
    let windows = |o: Options| {
        let mut p = Pair::of(
            &Options {
                profile: Profile::Linux6,
                cc: Some(CcName::Reno),
                buffers: BufferOptions { send_tuning: Some(false), ..o.buffers },
                ..o
            },
            Duration::from_millis(50),
        );
        p.logging = true;
        p.connect();
        p.write(0, 1 << 40);
        let mut held_back = vec![];
        for round in 1..=14 {
            p.drive(Instant::from_millis(100 * round + 49));
            let i = p.ends[0].info();
            held_back.extend((i.unacked < i.snd_cwnd as u32).then_some(round));
        }
        let syn = p.log.iter().find(|l| l.1 == 1).map(|l| l.2.window).unwrap();
        (syn, p.ends[1].info().rcv_wnd, held_back[0])
    };
    // 45 segments of 1448 fit in 65536 (a SYN-ACK counts timestamps, tcp_openreq_init_rwin);
    // 3145728 is a multiple of 128, so that the scaled field holds it exactly. The window of round
    // r is 10 * 2^(r - 1) segments of 1448: 2560 in the ninth are the first above 3 MiB, 2172.
    assert_eq!(windows(Options::default()), (65_160, 3_145_728, 9));
    let set = Options {
        buffers: BufferOptions { receive_buffer: Some(Bytes(51_200)), ..BufferOptions::default() },
        ..Options::default()
    };
    // 35 segments: less than the 40 of the third round. The SYN-ACK offers whole segments here too
    // (tcp_select_initial_window): 35 * 1448. Of the buffer one segment is reserved
    // (tcp_init_buffer_space), which leaves 51200 - 1448 = 49752. That is less than the SYN-ACK's
    // offer, so that whole segments of it are offered, 34 * 1448 (__tcp_select_window), which is
    // also what is left of the SYN-ACK's offer when the first segment has arrived.
    assert_eq!(windows(set), (50_680, 49_232, 3));
    let both = || Options {
        buffers: BufferOptions {
            receive_buffer: Some(Bytes(1 << 20)),
            receive_tuning: Some(true),
            receive_buffer_start: Some(Bytes(14_600)),
            ..BufferOptions::default()
        },
        ..Options::default()
    };
    assert_eq!((windows(both()).0, windows(both()).1), (14_480, 1 << 20));
}

/// A buffer that is set is also offered gradually: two segments more per arrival from the 64 KB of
/// the SYN-ACK on (tcp_grow_window does not test SOCK_RCVBUF_LOCK or tcp_moderate_rcvbuf), up to
/// the buffer less a segment.
#[test]
fn a_buffer_that_is_set_is_offered_two_segments_more_per_arrival() {
    let o = Options {
        profile: Profile::Linux6,
        window: WindowOptions { initial_window: Some(10), ..WindowOptions::default() },
        buffers: BufferOptions {
            gso: Some(false),
            receive_buffer: Some(Bytes(85_000)),
            ..BufferOptions::default()
        },
        ..Options::default()
    };
    let mut p = Pair::of(&o, Duration::from_millis(50));
    p.logging = true;
    p.connect();
    p.write(0, 10 * 1448);
    p.drive(Instant::from_millis(200));
    // 85000 needs a scale of 1. 65535 + 2 * 1448 * n in steps of 2, at most 85000 - 1448.
    let offered: Vec<u32> =
        p.log.iter().filter(|l| l.1 == 1).skip(1).map(|l| u32::from(l.2.window) << 1).collect();
    let expected: Vec<u32> =
        (1..=10).map(|n| (65_535_u32 + 2896 * n).min(85_000 - 1448).next_multiple_of(2)).collect();
    assert_eq!(offered, expected);
}

/// The window in the middle of each round, with `*` in recovery and `!` after a timeout.
fn rounds(cc: CcName, drop: &[u64], n: u64, step: u64) -> String {
    // Segments one by one, so that the numbers of those dropped are a window's.
    let o = Options {
        profile: Profile::Linux6,
        cc: Some(cc),
        buffers: BufferOptions { gso: Some(false), send_tuning: Some(false), ..BufferOptions::default() },
        ..Options::default()
    };
    let mut p = Pair::of(&o, Duration::from_millis(50));
    p.links[0].drop = drop.to_vec();
    p.connect();
    p.write(0, 1 << 40);
    let mut out = vec![];
    for r in 1..=n {
        p.drive(Instant::from_millis(r * 100 + 49));
        if r == 4 {
            p.links[0].delay += Duration::from_millis(step);
        }
        let i = p.ends[0].info();
        let mark = match i.ca_state {
            CaState::Recovery => "*",
            CaState::Loss => "!",
            _ => "",
        };
        out.push(format!("{:.0}{mark}", i.snd_cwnd.floor()));
    }
    out.join(" ")
}

#[test]
fn the_window_by_round_trip_is_the_golden_one() {
    let mut text = String::new();
    for a in ALGORITHMS {
        let burst: Vec<u64> = (40..52).collect();
        // A window from segment 40 on, and the probe: a timeout. A delay 800 ms longer makes it
        // spurious; what comes after its undo is Linux: RACK takes the late ACK for one of the
        // copy, and enters recovery.
        let all: Vec<u64> = (40..91).collect();
        for (what, drop, step) in [
            ("one loss", vec![40], 0),
            ("burst", burst, 0),
            ("timeout", all, 0),
            ("step of 60 ms", vec![], 60),
            ("step of 800 ms", vec![], 800),
        ] {
            let line = rounds(a.id, &drop, 18, step);
            text += &format!("{:13} {what:14} {line}\n", a.name);
        }
    }
    let golden = include_str!("goldens/linux_rounds.txt");
    if text != golden && std::env::var_os("LASTHOP_WRITE_GOLDENS").is_some() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/goldens/linux_rounds.txt"), &text)
            .unwrap();
    }
    assert!(text == golden, "the goldens have changed; LASTHOP_WRITE_GOLDENS=1 writes them anew:\n{text}");
}

/// Reno in congestion avoidance above a threshold of 8 segments, all acknowledged at a window of
/// 17. Round trips of 100 ms: RTO 300 ms.
fn idle_at_17(o: Options) -> Script {
    let window = WindowOptions { initial_ssthresh: Some(8.0), ..WindowOptions::default() };
    let mut s = Script::new(Options { window, ..o }, 4, 4);
    // 4, 8, then one more per round trip.
    let mut sent = 4;
    loop {
        s.until(s.now.as_nanos() / 1_000_000 + 100);
        assert!(s.ack(sent, &[], 0).is_empty());
        let cwnd = s.window().0 as u32;
        if cwnd == 17 {
            break;
        }
        s.e.write(s.now, u64::from(cwnd * MSS));
        assert_eq!(s.sent().len() as u32, cwnd);
        sent += cwnd;
    }
    s
}

/// tcp_slow_start_after_idle_check and tcp_cwnd_restart: cwnd is halved once for each RTO in the
/// time since the last segment left (while (delta -= icsk_rto) > 0), not below min(IW, cwnd);
/// ssthresh becomes tcp_current_ssthresh, max(8, 17/2 + 17/4 = 12).
#[test]
fn idle_time_halves_the_window_once_per_timeout() {
    for (idle, cwnd) in [(300, 17.0), (301, 8.0), (600, 8.0), (601, 4.0), (2000, 4.0)] {
        let mut s = idle_at_17(reno());
        assert_eq!((s.window(), s.e.info().rto), ((17.0, 8.0, "open"), Duration::from_millis(300)));
        s.until(s.now.as_nanos() / 1_000_000 - 100 + idle);
        s.e.write(s.now, 1000);
        let ssthresh = if cwnd < 17.0 { 12.0 } else { 8.0 };
        assert_eq!(s.window(), (cwnd, ssthresh, "open"), "{idle} ms");
    }
}

/// tcp_slow_start_after_idle_check returns where the control has cong_control: BBR keeps its
/// window.
#[test]
fn idle_time_does_not_change_the_window_of_bbr() {
    for cc in [CcName::Bbr, CcName::Bbr3] {
        let mut s = Script::new(Options { cc: Some(cc), ..Options::default() }, 10, 10);
        s.until(200);
        s.ack(10, &[], 0);
        let before = s.window().0;
        assert!(before > 10.0);
        s.until(5000);
        s.e.write(s.now, 1000);
        assert_eq!(s.window().0, before, "{cc:?}");
    }
}

/// dctcp_state: entering Recovery from CWR is a loss, too (dctcp_react_to_loss, ssthresh =
/// max(cwnd / 2, 2)), and tcp_enter_recovery does not call tcp_init_cwnd_reduction then: prior_cwnd
/// stays 20, prr_delivered and prr_out go on.
#[test]
fn a_loss_in_cwr_halves_dctcps_window_and_prr_goes_on() {
    let ecn = EcnOptions { ecn: Some(EcnMode::On), ..EcnOptions::default() };
    let o = Options { cc: Some(CcName::Dctcp), ecn, ..Options::default() };
    let mut s = Script::new(o, 20, 1000);
    s.until(200);
    // alpha is 1: ssthresh = 20 - (20 * 1024 >> 11) = 10. Delivered 2: ceil(2 * 10 / 20) - 0 = 1.
    assert_eq!(s.ack_with(Flags::ACK | Flags::ECE, 2, &[], 0), ["20"]);
    assert_eq!(s.window(), (19.0, 10.0, "cwr"));
    // Segment 2 is lost. Delivered 3: ceil(1.5) - 1 = 1; 4: 2 - 2 = 0, and 18 are in flight.
    assert_eq!(s.ack(2, &[(3, 4)], 0), ["21"]);
    assert!(s.ack(2, &[(3, 5)], 0).is_empty());
    assert_eq!(s.window(), (18.0, 10.0, "cwr"));
    // The third: ssthresh = 18 / 2. Delivered 5: ceil(5 * 9 / 20) - 2 = 1, beside 16 in flight.
    assert_eq!(s.ack(2, &[(3, 6)], 0), ["2"]);
    assert_eq!(s.window(), (17.0, 9.0, "recovery"));
    // ceil(9 n / 20) increases at 7, 9, 12, 14 and 16 delivered. From 18 anew it would be
    // ceil(n / 2), at every second one.
    let sent: Vec<u32> = (7..19).filter(|&n| !s.ack(2, &[(3, n)], 0).is_empty()).map(|n| n - 1).collect();
    assert_eq!(sent, [7, 9, 12, 14, 16]);
}

/// An endpoint of `linux-6`, client or server, whose SYN or SYN-ACK left at 0 ms and, by its timer,
/// at each of `again` [ms], answered at `at` with the echo of what left at `echo` (`None`: without
/// timestamps). Window, smoothed round trip [ms] and timeout [ms].
fn handshake(server: bool, again: &[u64], at: u64, echo: Option<u64>) -> (f64, Option<u64>, u64) {
    let ms = Instant::from_millis;
    let mut e = Endpoint::new(Options { profile: Profile::Linux6, ..reno() }.resolve().unwrap(), ISN);
    let drain = |e: &mut Endpoint, at| std::iter::from_fn(|| e.poll_transmit(ms(at))).count();
    let syn = Segment {
        seq: PEER - 1,
        flags: Flags::SYN,
        window: 60_000,
        syn: SynOptions::new(Some(1460), None, true),
        timestamps: echo.map(|_| Timestamps { value: 1, echo: 0 }),
        ..Segment::default()
    };
    if server {
        e.listen();
        e.handle_segment(ms(0), &syn);
    } else {
        e.connect(ms(0));
    }
    assert_eq!(drain(&mut e, 0), 1);
    for &at in again {
        assert_eq!(e.poll_at(), Some(ms(at)));
        e.on_time(ms(at));
        assert_eq!(drain(&mut e, at), 1);
    }
    let timestamps = echo.map(|t| Timestamps { value: 2, echo: t as u32 + 1 });
    let flags = Flags::ACK | if server { Flags::default() } else { Flags::SYN };
    let seq = if server { PEER } else { PEER - 1 };
    let syn_options = if server { SynOptions::NONE } else { syn.syn };
    e.handle_segment(ms(at), &Segment { seq, ack: ISN + 1, flags, timestamps, syn: syn_options, ..syn });
    let i = e.info();
    let millis = |d: Duration| d.as_nanos() / 1_000_000;
    (i.snd_cwnd, i.rtt.map(millis), millis(i.rto))
}

/// Timers of 1 s and 2 s fire at 1024 and 3072 ms. tcp_ack_update_rtt: the round trip of a repeated
/// SYN or SYN-ACK is the age of the echo, RTO = srtt + max(4 rtt / 2, 200 ms); tcp_init_metrics:
/// 3 s where there is none. tcp_init_transfer: one segment for total_retrans > 1 && undo_marker,
/// which the echo of the original clears (tcp_try_undo_spurious_syn).
#[test]
fn a_repeated_syn_is_timed_by_the_echo_and_costs_the_window_after_two_retransmissions() {
    for server in [false, true] {
        let at = |again: &[u64], at, echo| handshake(server, again, at, echo);
        assert_eq!(at(&[], 50, None), (10.0, Some(50), 250));
        assert_eq!(at(&[1024], 1074, Some(1024)), (10.0, Some(50), 250), "server: {server}");
        assert_eq!(at(&[1024], 1074, Some(0)), (10.0, Some(1074), 3222), "server: {server}");
        assert_eq!(at(&[1024], 1074, None), (10.0, None, 3000), "server: {server}");
        let two = [1024, 3072];
        assert_eq!(at(&two, 3122, Some(3072)), (1.0, Some(50), 250), "server: {server}");
        assert_eq!(at(&two, 3122, Some(1024)), (1.0, Some(2098), 6294), "server: {server}");
        assert_eq!(at(&two, 3122, Some(0)), (10.0, Some(3122), 9366), "server: {server}");
        assert_eq!(at(&two, 3122, None), (1.0, None, 3000), "server: {server}");
    }
}

/// tcp_check_req repeats the SYN-ACK for a repeated SYN and counts it in num_retrans, but only the
/// timer counts num_timeout, without which tcp_create_openreq_child sets no undo_marker.
#[test]
fn syn_acks_repeated_without_a_timeout_do_not_cost_the_window() {
    let ms = Instant::from_millis;
    let mut e = Endpoint::new(Options { profile: Profile::Linux6, ..reno() }.resolve().unwrap(), ISN);
    e.listen();
    let syn = Segment {
        seq: PEER - 1,
        flags: Flags::SYN,
        window: 60_000,
        syn: SynOptions::new(Some(1460), None, true),
        timestamps: Some(Timestamps { value: 1, echo: 0 }),
        ..Segment::default()
    };
    for at in [0, 100, 200] {
        e.handle_segment(ms(at), &syn);
        assert_eq!(std::iter::from_fn(|| e.poll_transmit(ms(at))).count(), 1);
    }
    let timestamps = Some(Timestamps { value: 2, echo: 201 });
    let ack =
        Segment { seq: PEER, ack: ISN + 1, flags: Flags::ACK, timestamps, syn: SynOptions::NONE, ..syn };
    e.handle_segment(ms(250), &ack);
    assert_eq!((e.info().snd_cwnd, e.info().rtt), (10.0, Some(Duration::from_millis(50))));
}

/// A round trip of 0.4 ms. A segment that was sent twice is timed by the timestamp that its ACK
/// echoes, whose clock has ticks of 1 ms: an echo within one tick is 1 ms old (Linux 6.1,
/// `tcp_ack_update_rtt`), so the smallest round trip stays that of the segments sent once.
#[test]
fn a_round_trip_below_the_tick_of_timestamps_is_not_0() {
    for profile in ["rfc", "linux-6"] {
        let o: Options = toml::from_str(&format!("profile = '{profile}'\ncc = 'cubic'")).unwrap();
        let config = o.resolve().unwrap();
        let mut p = Pair::new(config, config, Duration::from_micros(200));
        p.links[0].drop = (1..40).map(|n| 23 * n).collect();
        p.connect();
        p.write(0, 3_000_000);
        p.drive(Instant::from_millis(10_000));
        assert!(p.ends[0].counters().retransmitted_segments >= 30, "{profile}");
        assert_eq!(p.ends[0].info().min_rtt, Some(Duration::from_micros(400)), "{profile}");
    }
}

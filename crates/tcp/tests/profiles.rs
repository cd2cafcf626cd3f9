//! The quirks that distinguish the stack profiles, each followed on paper, and a transfer under
//! every profile.

use crate::util::*;
use lasthop_tcp::*;
use lasthop_units::{Bytes, Duration, Instant, Seq, SeqRange};

const ROUND: u64 = 100;

/// The window in the middle of each round trip of 100 ms, `*` in fast recovery, `!` after a
/// timeout.
fn rounds(o: &Options, drop: &[u64], n: u64) -> String {
    let mut p = Pair::of(o, Duration::from_millis(ROUND / 2));
    p.links[0].drop = drop.to_vec();
    p.connect();
    p.ends[0].write(p.now, 1 << 40);
    let mut out = vec![];
    for r in 1..=n {
        p.drive(Instant::from_millis(r * ROUND + ROUND / 2 - 1));
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

fn profile(profile: Profile) -> Options {
    Options { profile, ..Options::default() }
}

#[test]
fn every_profile_carries_a_transfer_over_a_path_that_loses() {
    for &p in Profile::ALL {
        for seed in 1..=4 {
            let mut pair = Pair::of(&profile(p), Duration::from_millis(20));
            pair.links[0] = Link {
                loss: 0.02,
                rate: 250_000,
                queue: 20,
                ..Link::new(Duration::from_millis(20)).seed(seed, 0)
            };
            pair.links[1] = Link { loss: 0.01, ..Link::new(Duration::from_millis(20)).seed(seed, 1) };
            pair.connect();
            let total = 300_000;
            let mut written = 0;
            while pair.ends[0].info().bytes_acked < total && pair.now < Instant::from_secs(600) {
                let n = pair.ends[0].writable().min(total - written);
                pair.ends[0].write(pair.now, n);
                written += n;
                pair.flush();
                let before = pair.now;
                pair.drive_until(Instant::from_secs(600), |p| p.now > before);
            }
            assert_eq!(pair.ends[0].info().bytes_acked, total, "{} with seed {seed}", p.name());
        }
    }
}

#[test]
fn inet_reno_cuts_twice_for_one_burst_and_stops_until_the_timer() {
    // Three of the window of 32 that begins with segment 31. The first new ACK ends recovery with a
    // window of 16; INET keeps no recovery point, so the duplicates that go on arriving cut once
    // more, to 7.5. Then more is outstanding than the window holds: nothing may be sent, no ACK
    // comes, and the timer, still far above 1 s because RTTVAR falls by eighths from 0.75 s, ends
    // the silence.
    let o = Options {
        buffers: BufferOptions { receive_buffer: Some(Bytes(60_000)), ..profile(Profile::Inet).buffers },
        ..profile(Profile::Inet)
    };
    assert_eq!(
        rounds(&o, &[31, 33, 35], 32),
        "1 2 4 8 16 32 45* 21* 8 8 8 8 8 8 8 8 8 8 8 8 8 8 8 8 1! 2 4 4 5 6 7 8"
    );
}

#[test]
fn inets_window_grows_beyond_the_peers_and_its_timeout_never_falls_below_a_second() {
    // Eight segments of receive window: slow start does not stop there (window validation would),
    // and after 40 round trips of 100 ms the estimate, 100 ms and a deviation fallen by eighths,
    // is far below MIN_REXMIT_TIMEOUT.
    let o = Options {
        buffers: BufferOptions { receive_buffer: Some(Bytes(8 * 536)), ..profile(Profile::Inet).buffers },
        ..profile(Profile::Inet)
    };
    let mut p = Pair::of(&o, Duration::from_millis(ROUND / 2));
    p.connect();
    p.ends[0].write(p.now, 1 << 30);
    p.drive(Instant::from_secs(4));
    let i = p.ends[0].info();
    assert!(i.snd_cwnd > 100.0 && i.unacked <= 8, "{} {}", i.snd_cwnd, i.unacked);
    assert_eq!(i.rto, Duration::from_secs(1));
    let o = Options { growth: GrowthOptions { window_validation: Some(true), ..o.growth }, ..o };
    let mut p = Pair::of(&o, Duration::from_millis(ROUND / 2));
    p.connect();
    p.ends[0].write(p.now, 1 << 30);
    p.drive(Instant::from_secs(4));
    assert!(p.ends[0].info().snd_cwnd < 20.0, "{}", p.ends[0].info().snd_cwnd);
}

#[test]
fn a_timeout_within_newreno_recovery_leaves_it_or_does_not() {
    let o = |leaves| Options {
        recovery: Some(RecoveryFlavour::NewReno),
        buffers: BufferOptions { receive_buffer: Some(Bytes(60_000)), ..profile(Profile::Inet).buffers },
        loss: LossOptions {
            timer_on_partial_ack: Some(TimerOnPartialAck::FirstOnly),
            rto_leaves_recovery: Some(leaves),
            ..profile(Profile::Inet).loss
        },
        timers: TimerOptions { rtt_estimator: Some(RttEstimator::Rfc6298), ..profile(Profile::Inet).timers },
        ..profile(Profile::Inet)
    };
    // Twelve of the window of 32 that begins with segment 31: a hole per round trip, and the timer
    // of 1 s from the first partial ACK on (round 8) fires in round 18, before the last hole is
    // filled.
    let holes: Vec<u64> = (31..31 + 24).step_by(2).collect();
    let recovery = "1 2 4 8 16 32 36* 39* 43* 48* 54* 61* 69* 78* 88* 99* 111*";
    // One hole per round trip is repaired with a window of one segment, and slow start follows the
    // full ACK.
    assert_eq!(rounds(&o(false), &holes, 24), format!("{recovery} 1* 3 6 8 9 10 11"));
    // Left: the ACK of the last hole brings slow start and go-back-N, whose duplicates of what the
    // receiver holds cut again.
    assert_eq!(rounds(&o(true), &holes, 24), format!("{recovery} 1! 4 2 3 4 5 6"));
}

/// RFC 6298 (5.4) and (5.5), in any recovery: at each timeout the oldest segment leaves once more,
/// and the timer backs off. Twenty segments leave at 100 ms; the round trip of the SYN, 100 ms,
/// makes the timeout 1 s, its least value. The segment that three duplicates at 200 ms send again
/// is lost, and so are those of the first two timeouts, at 1.1 s and 3.1 s; the third is at 7.1 s.
#[test]
fn a_timeout_within_newreno_recovery_sends_the_oldest_segment_again() {
    for leaves in [true, false] {
        let rfc = profile(Profile::Rfc);
        let mut e = twenty(Options {
            recovery: Some(RecoveryFlavour::NewReno),
            negotiated: NegotiatedOptions { sack: Some(false), ..rfc.negotiated },
            loss: LossOptions { rto_leaves_recovery: Some(leaves), ..rfc.loss },
            ..rfc
        });
        // Limited transmit (RFC 3042) sends one new segment for each of the first two.
        assert_eq!([0; 3].map(|n| ack(&mut e, n, (0, 0))), [vec![20], vec![21], vec![0]]);
        assert_eq!(e.info().ca_state, CaState::Recovery);
        let mut timeouts = vec![];
        for _ in 0..3 {
            let at = e.poll_at().unwrap();
            e.on_time(at);
            let sent: Vec<u32> = std::iter::from_fn(|| e.poll_transmit(at))
                .map(|s| s.seq.0.wrapping_sub(ISN.0 + 1) / MSS)
                .collect();
            timeouts.push((at.since(Instant::ZERO).as_millis(), sent));
        }
        assert_eq!(timeouts, [(1100, vec![0]), (3100, vec![0]), (7100, vec![0])], "leaves: {leaves}");
        let i = e.info();
        assert_eq!(i.snd_cwnd, 1.0);
        assert_eq!(i.ca_state, if leaves { CaState::Loss } else { CaState::Recovery });
        let fast = std::iter::from_fn(|| e.poll_event()).filter(|e| *e == Event::FastRetransmit).count();
        assert_eq!(fast, 1, "the one of the third duplicate");
        ack_at(&mut e, Instant::from_millis(7200), 22, (0, 0));
        assert_eq!(e.info().ca_state, CaState::Open);
    }
}

#[test]
fn a_timeout_within_newreno_recovery_takes_half_of_what_flew_not_of_what_was_sent() {
    // RFC 5681 section 3.1: ssthresh "no more than" equation 4 gives. Twenty holes of a window of
    // 162: after the cut 80 fly, while SND.NXT - SND.UNA grows to 900 with what the receiver holds.
    let o = Options {
        recovery: Some(RecoveryFlavour::NewReno),
        negotiated: NegotiatedOptions { sack: Some(false), ..NegotiatedOptions::default() },
        ..Options::default()
    };
    let mut p = Pair::of(&o, Duration::from_millis(50));
    p.links[0].drop = (300..320).collect();
    p.connect();
    p.ends[0].write(p.now, 1 << 30);
    p.drive_until(Instant::from_secs(10), |p| p.ends[0].counters().timeouts > 0);
    let i = p.ends[0].info();
    assert_eq!((i.snd_cwnd, i.snd_ssthresh), (1.0, 40.0));
}

const MSS: u32 = 1000;
const ISN: Seq = Seq(1000);

/// A sender with 20 segments in flight and 100 ms of round trip, against ACKs written by hand.
fn twenty(o: Options) -> Endpoint {
    let o = Options {
        window: WindowOptions { mss: Some(Bytes(1000)), initial_window: Some(20), ..o.window },
        negotiated: NegotiatedOptions { timestamps: Some(false), ..o.negotiated },
        ..o
    };
    let mut e = Endpoint::new(o.resolve().unwrap(), ISN);
    e.connect(Instant::ZERO);
    while e.poll_transmit(Instant::ZERO).is_some() {}
    let now = Instant::from_millis(100);
    let syn_ack = Segment {
        seq: Seq(499),
        ack: ISN + 1,
        flags: Flags::SYN | Flags::ACK,
        window: 60_000,
        syn: SynOptions::new(Some(1460), None, true),
        ..Segment::default()
    };
    e.handle_segment(now, &syn_ack);
    e.write(now, 1_000_000);
    while e.poll_transmit(now).is_some() {}
    e
}

/// An ACK of everything below `n` with a SACK block; what leaves.
fn ack(e: &mut Endpoint, n: u32, block: (u32, u32)) -> Vec<u32> {
    ack_at(e, Instant::from_millis(200), n, block)
}

fn ack_at(e: &mut Endpoint, now: Instant, n: u32, block: (u32, u32)) -> Vec<u32> {
    let at = |n: u32| ISN + 1 + n * MSS;
    let mut s =
        Segment { seq: Seq(500), ack: at(n), flags: Flags::ACK, window: 60_000, ..Segment::default() };
    if block.0 < block.1 {
        s.rare.change(|o| _ = o.sack.push(SeqRange { start: at(block.0), end: at(block.1) }));
    }
    e.handle_segment(now, &s);
    let mut out = vec![];
    while let Some(s) = e.poll_transmit(now).filter(|s| s.len > 0) {
        out.push(s.seq.0.wrapping_sub(ISN.0 + 1) / MSS);
    }
    out
}

#[test]
fn forward_acknowledgement_marks_lost_what_is_three_below_the_highest_sacked() {
    // One SACK of segment 9: nine holes below it, of which 10 - 3 = 7 are lost at once; RACK waits
    // for time or count.
    let o = Options { cc: Some(CcName::Reno), ..profile(Profile::Linux2626) };
    let mut e = twenty(o);
    ack(&mut e, 0, (9, 10));
    assert_eq!((e.info().lost, e.info().ca_state), (7, CaState::Recovery));
    let mut e = twenty(Options { profile: Profile::Linux6, ..Options::default() });
    ack(&mut e, 0, (9, 10));
    assert_eq!((e.info().lost, e.info().ca_state), (0, CaState::Disorder));
}

/// The window and ssthresh after a timeout at 2 s, and after each of `acks`; and what was sent
/// after the last.
fn after_a_timeout(acks: &[(u32, (u32, u32))]) -> (Vec<(u32, u32)>, Vec<u32>, Endpoint) {
    let mut e = twenty(Options { cc: Some(CcName::Reno), ..profile(Profile::Linux2626) });
    let late = e.poll_at().unwrap();
    e.on_time(late);
    while e.poll_transmit(late).is_some_and(|s| s.len > 0) {}
    let window = |e: &Endpoint| (e.info().snd_cwnd as u32, e.info().snd_ssthresh as u32);
    let mut windows = vec![window(&e)];
    let mut sent = vec![];
    for (n, block) in acks {
        sent = ack_at(&mut e, late, *n, *block);
        windows.push(window(&e));
    }
    (windows, sent, e)
}

/// tcp_enter_frto: nothing is lost, ssthresh is half of 20, the window is min(20, in flight and
/// one). First ACK: two new segments, the window is what is in flight (19) and 2. Second ACK, of
/// originals: spurious; min(21, 20 in flight + 1), and rate halving down to ssthresh, one for every
/// second ACK: nothing is undone, and the window never was one segment.
#[test]
fn a_spurious_timeout_of_2_6_26_costs_a_reduction_and_no_slow_start() {
    let acks: Vec<_> = (1..=6).map(|n| (n, (0, 0))).collect();
    let (windows, _, e) = after_a_timeout(&acks);
    assert_eq!(windows[..4], [(20, 10), (21, 10), (21, 10), (20, 10)]);
    assert!(windows.windows(2).skip(2).all(|w| w[1].0 <= w[0].0), "{windows:?}");
    assert_eq!((e.counters().spurious_timeouts, e.counters().undone), (1, 0));
    assert_eq!(e.info().ca_state, CaState::Cwr);
}

/// The retransmission alone arrives: the first ACK permits two new segments, whose SACK shows that
/// the others are lost: nothing is in flight, and three leave (tcp_enter_frto_loss). A duplicate as
/// the first ACK permits none.
#[test]
fn a_correct_timeout_of_2_6_26_continues_with_three_segments() {
    let (windows, sent, e) = after_a_timeout(&[(1, (0, 0)), (1, (20, 21))]);
    assert_eq!(windows, [(20, 10), (21, 10), (3, 10)]);
    assert_eq!((sent, e.info().ca_state), (vec![1, 2, 3], CaState::Loss));
    let (windows, sent, _) = after_a_timeout(&[(0, (3, 4))]);
    assert_eq!((windows[1], sent), ((20, 10), vec![]));
}

/// A timeout within recovery: 7 of 20 are lost, 1 SACKed. The head again, and after its ACK two new
/// segments, none of those that were lost before: an ACK of a retransmission would pass for an
/// original's, and the timeout for spurious.
#[test]
fn a_timeout_of_2_6_26_within_recovery_sends_new_data_until_it_is_decided() {
    let mut e = twenty(Options { cc: Some(CcName::Reno), ..profile(Profile::Linux2626) });
    ack(&mut e, 0, (9, 10));
    assert_eq!(e.info().ca_state, CaState::Recovery);
    let late = e.poll_at().unwrap();
    e.on_time(late);
    while e.poll_transmit(late).is_some_and(|s| s.len > 0) {}
    let next = e.info().snd_nxt;
    let sent = ack_at(&mut e, late, 1, (9, 10));
    assert_eq!(sent.len(), 2);
    assert!(sent.iter().all(|n| *n >= 20), "{sent:?} {next:?}");
    // What was new is SACKed, and nothing else: the timeout was right.
    let sent = ack_at(&mut e, late, 1, (sent[0], sent[1]));
    assert_eq!((e.info().ca_state, e.counters().spurious_timeouts), (CaState::Loss, 0));
    assert_eq!(sent, [1, 2, 3]);
}

/// One ACK covers all that was outstanding: there are no originals left to show
/// (tcp_enter_frto_loss with two segments).
#[test]
fn a_timeout_of_2_6_26_that_one_ack_answers_slow_starts_from_two() {
    let (windows, _, e) = after_a_timeout(&[(20, (0, 0))]);
    assert_eq!(windows[0], (20, 10));
    assert_eq!((windows[1].0, e.counters().spurious_timeouts), (2, 0));
}

#[test]
fn rate_halving_takes_a_segment_from_the_window_at_every_second_ack() {
    let o = Options { cc: Some(CcName::Reno), ..profile(Profile::Linux2626) };
    let mut e = twenty(o);
    // Two SACKs send two new segments; the third makes 0 lost. 22 outstanding, 3 SACKed, 1 lost: 18
    // in flight; the window is at most one more, 19, so the retransmission leaves. Of the ACKs
    // after it each second takes one, from the first on.
    let mut windows = vec![];
    let mut sent = 0;
    for n in 2..=20 {
        sent += ack(&mut e, 0, (1, n)).len();
        windows.push(e.info().snd_cwnd as u32);
    }
    assert_eq!(windows, [20, 20, 19, 18, 18, 17, 17, 16, 16, 15, 15, 14, 14, 13, 13, 12, 12, 11, 11]);
    // Two by the first SACKs, and then one for every second of 17 ACKs: 2 + 9.
    assert_eq!(sent, 11);
}

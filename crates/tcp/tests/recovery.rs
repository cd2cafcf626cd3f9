//! Scripts: a sender against ACKs written by hand.

use lasthop_tcp::*;
use lasthop_units::{Bytes, Duration, Instant, Seq, SeqRange};

const MSS: u32 = 1000;
const PEER: Seq = Seq(500);

/// A sender whose peer is this script. Segment n covers octets n * MSS.. of the stream.
struct Script {
    e: Endpoint,
    now: Instant,
    isn: Seq,
    window: u16,
}

impl Script {
    /// Established at 100 ms with `flight` segments sent and a window to match.
    fn new(o: Options, flight: u32) -> Script {
        let sack = o.negotiated.sack != Some(false) && o.profile == Profile::Rfc;
        let o = Options {
            window: WindowOptions {
                mss: Some(Bytes(u64::from(MSS))),
                initial_window: Some(flight),
                ..o.window
            },
            negotiated: NegotiatedOptions { timestamps: Some(false), ..o.negotiated },
            ..o
        };
        let isn = Seq(u32::MAX - 5);
        let mut s =
            Script { e: Endpoint::new(o.resolve().unwrap(), isn), now: Instant::ZERO, isn, window: 60_000 };
        s.e.connect(s.now);
        assert_eq!(s.sent(), ["S"]);
        s.now = Instant::from_millis(100);
        let syn_ack = Segment {
            seq: PEER - 1,
            ack: isn + 1,
            flags: Flags::SYN | Flags::ACK,
            window: s.window,
            syn: SynOptions::new(Some(MSS as u16), None, sack),
            ..Segment::default()
        };
        s.e.handle_segment(s.now, &syn_ack);
        s.e.write(s.now, 1 << 30);
        assert_eq!(s.sent().len() as u32, flight);
        s
    }

    /// What leaves now: `n` for segment n the first time or again, `.` for a bare ACK.
    fn sent(&mut self) -> Vec<String> {
        let mut out = vec![];
        while let Some(s) = self.e.poll_transmit(self.now) {
            out.push(match s.len {
                0 if s.flags.has(Flags::SYN) => "S".to_owned(),
                0 => s.flags.to_string(),
                _ => ((s.seq.0.wrapping_sub(self.isn.0) - 1) / MSS).to_string(),
            });
        }
        out
    }

    fn wait(&mut self, ms: u64) {
        self.now += Duration::from_millis(ms);
        self.e.on_time(self.now);
    }

    /// An ACK of everything below segment `n`, with SACK blocks in segments. Returns the segments
    /// that it causes.
    fn ack(&mut self, n: u32, blocks: &[(u32, u32)]) -> Vec<String> {
        let at = |n: u32| self.isn + 1 + n * MSS;
        let mut s =
            Segment { seq: PEER, ack: at(n), flags: Flags::ACK, window: self.window, ..Segment::default() };
        for &(a, b) in blocks {
            s.rare.change(|o| _ = o.sack.push(SeqRange { start: at(a), end: at(b) }));
        }
        self.e.handle_segment(self.now, &s);
        self.sent()
    }

    fn events(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.e.poll_event()).collect()
    }
}

fn without_sack(recovery: RecoveryFlavour) -> Options {
    Options {
        recovery: Some(recovery),
        negotiated: NegotiatedOptions { sack: Some(false), ..NegotiatedOptions::default() },
        ..Options::default()
    }
}

#[test]
fn rfc_6937_figure_with_fifteen_of_twenty_lost_under_rfc_6675() {
    // RFC 6937 section 3.1: 20 segments, the first 15 are lost; sent per ACK: N N 7R R R, with a
    // window of 11. It halves 22, limited transmit included; RFC 6675 section 5 (4.2) forbids to
    // count that, so here the window is 10 and the burst 6R: pipe at the third ACK is 22 - 15
    // lost - 3 SACKed = 4, and 10 - 4 = 6.
    let mut s = Script::new(Options::default(), 20);
    assert_eq!(s.ack(0, &[(15, 16)]), ["20"], "N");
    assert_eq!(s.ack(0, &[(15, 17)]), ["21"], "N");
    assert_eq!(s.ack(0, &[(15, 18)]), ["0", "1", "2", "3", "4", "5"], "6R");
    assert_eq!(s.ack(0, &[(15, 19)]), ["6"], "R");
    assert_eq!(s.ack(0, &[(15, 20)]), ["7"], "R");
    let i = s.e.info();
    assert_eq!((i.snd_cwnd, i.snd_ssthresh, i.ca_state), (10.0, 10.0, CaState::Recovery));
    assert_eq!((i.sacked, i.lost, i.retrans), (5, 15, 8));
}

#[test]
fn one_loss_of_twenty_under_rfc_6675_halves_by_waiting_half_a_round() {
    // Pipe at the third ACK: 22 outstanding - 1 lost - 3 SACKed = 18, + 1 for the retransmission =
    // 19; the window is 10: nine ACKs permit no segment, then one new segment per ACK.
    let mut s = Script::new(Options::default(), 20);
    let mut per_ack = vec![];
    for n in 2..=20 {
        per_ack.push(s.ack(0, &[(1, n)]).len());
    }
    assert_eq!(per_ack, [1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1]);
    // The ACK of everything sent before ends recovery.
    s.events();
    s.ack(22, &[]);
    assert_eq!(s.events(), [Event::RecoveryExited]);
    assert_eq!(s.e.info().ca_state, CaState::Open);
}

#[test]
fn sack_blocks_alone_may_start_recovery_before_the_third_duplicate() {
    // RFC 6675 section 5 step (2): IsLost(HighACK + 1): two ACKs that SACK three segments are more
    // than (3 - 1) * SMSS.
    let mut s = Script::new(Options::default(), 10);
    assert_eq!(s.ack(0, &[(1, 3)]), ["10", "11"]);
    let sent = s.ack(0, &[(1, 4)]);
    assert_eq!(sent[0], "0");
    assert_eq!(s.e.info().ca_state, CaState::Recovery);
}

#[test]
fn the_tail_is_rescued_once() {
    // NextSeg rule (4): segments 0 and 7 of 8 are lost, and there is no new data.
    let mut s = Script::new(Options::default(), 8);
    s.window = 8 * MSS as u16;
    s.ack(0, &[]);
    s.ack(0, &[(1, 2)]);
    s.ack(0, &[(1, 3)]);
    assert_eq!(s.ack(0, &[(1, 4)]), ["0"]);
    for n in 5..=6 {
        assert_eq!(s.ack(0, &[(1, n)]), [] as [&str; 0]);
    }
    s.window = 0;
    // 0 arrives: the ACK covers 0 to 6. HighACK > RescueRxt, all other rules fail.
    s.window = 1000;
    assert_eq!(s.ack(7, &[]), ["7"]);
}

#[test]
fn a_timeout_under_sack_resends_only_the_holes() {
    let mut s = Script::new(Options::default(), 8);
    s.window = 8 * MSS as u16;
    // 0, 2 and 5 are missing; only two ACKs arrive.
    s.ack(0, &[(1, 2)]);
    s.ack(0, &[(3, 5), (1, 2)]);
    s.events();
    s.wait(1000);
    assert_eq!(s.sent(), ["0"]);
    assert_eq!(s.events(), [Event::RtoFired { count: 1 }]);
    // The ACK brings cwnd to 2: 2 and then, since 3 and 4 are SACKed, 5.
    assert_eq!(s.ack(2, &[(3, 5)]), ["2", "5"]);
}

#[test]
fn a_receiver_that_reneges_is_seen_at_the_timeout() {
    let mut s = Script::new(Options::default(), 8);
    s.window = 8 * MSS as u16;
    s.ack(0, &[(1, 3)]);
    // The cumulative ACK stops at 1 although 1 was SACKed: the receiver has thrown it away.
    s.ack(1, &[]);
    s.wait(1000);
    assert_eq!(s.sent(), ["1"]);
    assert_eq!(s.e.info().sacked, 0);
    assert_eq!(s.ack(2, &[]), ["2", "3"]);
}

#[test]
fn limited_transmit_sends_two_new_segments_and_the_third_duplicate_resends() {
    let mut s = Script::new(without_sack(RecoveryFlavour::NewReno), 10);
    assert_eq!(s.ack(0, &[]), ["10"]);
    assert_eq!(s.ack(0, &[]), ["11"]);
    assert_eq!(s.ack(0, &[]), ["0"]);
    // FlightSize without limited transmit is 10: ssthresh 5, window 5 + 3.
    let i = s.e.info();
    assert_eq!((i.snd_ssthresh, i.snd_cwnd), (5.0, 8.0));
    // Twelve outstanding: five more duplicates before a new segment leaves.
    for _ in 0..4 {
        assert!(s.ack(0, &[]).is_empty());
    }
    assert_eq!(s.ack(0, &[]), ["12"]);
}

#[test]
fn newreno_resends_a_hole_per_partial_ack_and_deflates() {
    let mut s = Script::new(without_sack(RecoveryFlavour::NewReno), 10);
    (0..3).for_each(|_| drop(s.ack(0, &[])));
    // Partial ACK of 3 segments: 8 - 3 + 1 = 6, una + 6 = 9 < 12: the hole only.
    assert_eq!(s.ack(3, &[]), ["3"]);
    assert_eq!(s.e.info().snd_cwnd, 6.0);
    // Full ACK: min(ssthresh, max(FlightSize, SMSS) + SMSS) = min(5, 0 + 1 + 1) = 2.
    assert_eq!(s.ack(12, &[]), ["12", "13"]);
    assert_eq!(s.e.info().snd_cwnd, 2.0);
}

#[test]
fn the_impatient_variant_restarts_the_timer_at_the_first_partial_ack_only() {
    for (which, fires_at) in [(TimerOnPartialAck::FirstOnly, 1200), (TimerOnPartialAck::Every, 1300)] {
        let o = Options {
            loss: LossOptions {
                timer_on_partial_ack: Some(which),
                ..without_sack(RecoveryFlavour::NewReno).loss
            },
            ..without_sack(RecoveryFlavour::NewReno)
        };
        let mut s = Script::new(o, 10);
        (0..3).for_each(|_| drop(s.ack(0, &[])));
        s.wait(100); // 200 ms
        s.ack(1, &[]);
        s.wait(100); // 300 ms
        s.ack(2, &[]);
        assert_eq!(s.e.poll_at(), Some(Instant::from_millis(fires_at)), "{which:?}: RTO 1 s");
    }
}

#[test]
fn no_second_fast_retransmit_for_one_window_of_data() {
    for (bugfix, expected) in [(true, 0), (false, 1)] {
        let o = Options {
            loss: LossOptions {
                bugfix: Some(bugfix),
                limited_transmit: Some(false),
                ..without_sack(RecoveryFlavour::Reno).loss
            },
            ..without_sack(RecoveryFlavour::Reno)
        };
        let mut s = Script::new(o, 10);
        s.wait(1000);
        assert_eq!(s.sent(), ["0"]);
        // The originals arrive after all: their ACKs, then duplicates for what is resent below
        // recover.
        s.ack(4, &[]);
        (0..3).for_each(|_| drop(s.ack(4, &[])));
        assert_eq!(s.e.counters().fast_retransmits, expected, "bugfix {bugfix}");
    }
}

#[test]
fn after_a_timeout_the_sender_goes_back_and_an_ack_pulls_it_forward() {
    let mut s = Script::new(without_sack(RecoveryFlavour::Reno), 10);
    s.wait(1000);
    assert_eq!(s.sent(), ["0"]);
    let i = s.e.info();
    assert_eq!((i.snd_cwnd, i.snd_ssthresh, i.backoff), (1.0, 5.0, 2));
    assert_eq!(s.ack(1, &[]), ["1", "2"]);
    // 3 to 8 had arrived: the ACK is beyond SND.NXT.
    assert_eq!(s.ack(9, &[]), ["9", "10", "11"]);
    assert_eq!(s.e.info().snd_cwnd, 3.0);
}

#[test]
fn each_timeout_doubles_the_wait_and_ssthresh_is_cut_once() {
    let mut s = Script::new(without_sack(RecoveryFlavour::Reno), 10);
    for (i, at) in [1100u64, 3100, 7100, 15_100].into_iter().enumerate() {
        assert_eq!(s.e.poll_at(), Some(Instant::from_millis(at)));
        s.now = Instant::from_millis(at);
        s.e.on_time(s.now);
        assert_eq!(s.sent(), ["0"]);
        assert_eq!(s.events().last(), Some(&Event::RtoFired { count: i as u32 + 1 }));
        assert_eq!(s.e.info().snd_ssthresh, 5.0, "RFC 5681 section 3.1: held while the same segment is lost");
    }
}

#[test]
fn a_retransmitted_segment_gives_no_rtt_sample() {
    let mut s = Script::new(without_sack(RecoveryFlavour::Reno), 1);
    let before = s.e.counters().rtt_samples;
    s.wait(1000);
    s.sent();
    s.wait(50);
    s.ack(1, &[]);
    assert_eq!(s.e.counters().rtt_samples, before, "Karn");
    s.wait(100);
    s.ack(2, &[]);
    assert_eq!(s.e.counters().rtt_samples, before + 1);
}

#[test]
fn an_ack_too_soon_after_a_timeout_shows_that_it_was_spurious() {
    let mut s = Script::new(without_sack(RecoveryFlavour::Reno), 4);
    s.wait(1000);
    s.sent();
    s.events();
    // 100 ms is the smallest round trip; an ACK 20 ms after the retransmission is the original's.
    s.wait(20);
    s.ack(1, &[]);
    assert!(s.events().contains(&Event::SpuriousRto));
    assert_eq!(s.e.counters().spurious_timeouts, 1);
}

#[test]
fn resets_count_only_at_the_exact_number_and_others_are_challenged() {
    let mut s = Script::new(Options::default(), 2);
    let rst = |seq| Segment { seq, flags: Flags::RST, ..Segment::default() };
    s.e.handle_segment(s.now, &rst(PEER + 100));
    assert_eq!((s.sent(), s.e.state()), (vec![".".to_owned()], State::Established), "RFC 5961 section 3.2");
    s.e.handle_segment(s.now, &rst(PEER + 10_000_000));
    assert!(s.sent().is_empty(), "outside the window: dropped in silence");
    s.e.handle_segment(s.now, &rst(PEER));
    assert_eq!(s.e.state(), State::Closed);
}

#[test]
fn a_syn_in_the_window_and_an_ack_of_the_future_are_challenged() {
    let mut s = Script::new(Options::default(), 2);
    let syn = Segment { seq: PEER, flags: Flags::SYN, ..Segment::default() };
    s.e.handle_segment(s.now, &syn);
    assert_eq!(s.sent(), ["."]);
    assert_eq!(s.ack(50, &[]), ["."], "RFC 5961 section 5.2");
    assert_eq!(s.e.info().unacked, 2);
}

#[test]
fn nonsense_in_sack_blocks_is_ignored() {
    let mut s = Script::new(Options::default(), 4);
    assert!(s.ack(0, &[(3, 2), (100, 200), (2, 2)]).is_empty());
    assert_eq!((s.e.info().sacked, s.e.counters().dup_acks_received), (0, 0));
}

#[test]
fn an_idle_connection_falls_back_to_the_initial_window() {
    let mut s = Script::new(
        Options { acks: AckOptions { nagle: Some(false), ..AckOptions::default() }, ..Options::default() },
        2,
    );
    // All 2^30 octets cannot be acknowledged here: a second endpoint with little data.
    let mut o = Endpoint::new(*s.e.config(), Seq(1));
    o.connect(s.now);
    o.poll_transmit(s.now);
    let syn_ack = Segment {
        seq: PEER - 1,
        ack: Seq(2),
        flags: Flags::SYN | Flags::ACK,
        window: 60_000,
        syn: SynOptions::new(Some(1000), None, false),
        ..Segment::default()
    };
    o.handle_segment(s.now, &syn_ack);
    for n in 0..6u32 {
        o.write(s.now, 2000);
        while o.poll_transmit(s.now).is_some() {}
        s.now += Duration::from_millis(10);
        for k in 1..=2 {
            let ack = Segment {
                seq: PEER,
                ack: Seq(2 + n * 2000 + k * 1000),
                flags: Flags::ACK,
                window: 60_000,
                ..Segment::default()
            };
            o.handle_segment(s.now, &ack);
        }
    }
    // Slow start grows while the window is full: 2 -> 3 at the first ACK, and no further with 2 in
    // flight.
    assert_eq!(o.info().snd_cwnd, 3.0);
    s.now += Duration::from_millis(1001);
    o.write(s.now, 2000);
    assert_eq!(o.info().snd_cwnd, 2.0, "RFC 5681 section 4.1: after one RTO of idleness");
}

//! Explicit congestion notification between two endpoints: the request, the marks, the feedback,
//! and the reaction.

use crate::util::*;
use lasthop_tcp::cc::CongestionControl;
use lasthop_tcp::*;
use lasthop_units::{Duration, Ecn, Instant};

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}
fn at(n: u64) -> Instant {
    Instant::from_millis(n)
}

fn options(ecn: EcnMode) -> Options {
    Options { ecn: EcnOptions { ecn: Some(ecn), ..EcnOptions::default() }, ..Options::default() }
}

/// A connected pair, 20 ms of round trip, that records every segment.
fn pair(client: &Options, server: &Options) -> Pair {
    let mut p = Pair::new(client.resolve().unwrap(), server.resolve().unwrap(), ms(10));
    p.logging = true;
    p.connect();
    p.drive(at(20));
    p
}

/// The letters of what `end` sent, as tcpdump writes them; AE as `A`.
fn flags(p: &Pair, end: usize) -> Vec<String> {
    let of_end = p.log.iter().filter(|l| l.1 == end);
    of_end.map(|l| format!("{}{}", l.2.flags, if l.2.accurate { "A" } else { "" })).collect()
}

/// RFC 3168 section 6.1.1: the SYN has ECE and CWR, the SYN-ACK ECE only, and only if both enable
/// it.
#[test]
fn both_ends_must_enable_it() {
    use EcnMode::{Accurate, Off, On, Passive};
    let cases = [
        (Off, On, "S", "S.", false),
        (Passive, On, "S", "S.", false),
        (On, Off, "SEW", "S.", false),
        (On, Passive, "SEW", "S.E", true),
        (On, On, "SEW", "S.E", true),
        (On, Accurate, "SEW", "S.E", true),
        // RFC 9768 table 2: an older server answers AE CWR ECE = 111 with 001; a SYN without mark
        // is answered 010.
        (Accurate, On, "SEWA", "S.E", true),
        (Accurate, Off, "SEWA", "S.", false),
        (Accurate, Accurate, "SEWA", "S.W", true),
    ];
    for (client, server, syn, answer, used) in cases {
        let p = pair(&options(client), &options(server));
        let case = format!("{client:?} {server:?}");
        assert_eq!((&*flags(&p, 0)[0], &*flags(&p, 1)[0]), (syn, answer), "{case}");
        assert_eq!((p.ends[0].options_in_use().ecn, p.ends[1].options_in_use().ecn), (used, used), "{case}");
        // Neither SYN nor, in the profile rfc, pure ACKs are ECN-capable (RFC 3168 sections 6.1.1
        // and 6.1.4).
        assert!(p.log.iter().all(|l| l.2.ecn == Ecn::NotEct), "{case}");
    }
}

/// Section 6.1.1.1: a SYN that gets lost is sent again without ECN, and the connection does
/// without.
#[test]
fn a_lost_ecn_syn_is_repeated_without() {
    let mut p = Pair::of(&options(EcnMode::On), ms(10));
    p.logging = true;
    p.links[0].loss = 1.0;
    p.connect();
    p.links[0].loss = 0.0;
    p.drive(at(1100));
    assert_eq!(flags(&p, 0)[..2], ["SEW", "S"]);
    assert!(p.ends.iter().all(|e| e.state() == State::Established && !e.options_in_use().ecn));
}

/// Sections 6.1.2, 6.1.3 and 6.1.5, step by step: the third segment of ten is marked. Its ACK comes
/// at once with ECE, as do all further ones until CWR arrives. The sender halves its window once
/// and sets CWR on the next new data; the retransmission later on is not ECN-capable.
#[test]
fn a_mark_is_echoed_until_the_window_was_reduced() {
    for profile in [Profile::Rfc, Profile::Linux6] {
        let o = Options { profile, cc: Some(CcName::Reno), ..options(EcnMode::On) };
        let mut p = pair(&o, &o);
        p.links[0].mark = vec![2];
        p.links[0].drop = vec![60];
        p.write(0, 400 * 1448);
        p.flush();
        let before = p.log.len();
        let mut states = Vec::new();
        p.drive_until(at(2000), |p| {
            let state = p.ends[0].ca_state();
            if states.last() != Some(&state) {
                states.push(state);
            }
            p.backlog[0] == 0 && p.ends[0].is_all_acked()
        });
        assert!(p.ends[0].is_all_acked());
        let log = &p.log[before..];
        // ECE from one ACK on until the first CWR has arrived, in one run.
        let acks: Vec<bool> = log.iter().filter(|l| l.1 == 1).map(|l| l.2.flags.has(Flags::ECE)).collect();
        let first = acks.iter().position(|e| *e).unwrap();
        let last = acks.iter().rposition(|e| *e).unwrap();
        // Every second segment is acknowledged; Linux acknowledges the first sixteen one by one.
        assert_eq!(first, if profile == Profile::Rfc { 1 } else { 2 });
        assert!(acks[first..=last].iter().all(|e| *e), "{profile:?}: {acks:?}");
        let cwr: Vec<&Segment> =
            log.iter().filter(|l| l.1 == 0 && l.2.flags.has(Flags::CWR)).map(|l| &l.2).collect();
        // One for the mark, one for the loss (section 6.1.2: "for any reason").
        assert_eq!(cwr.len(), 2, "{profile:?}");
        assert!(cwr.iter().all(|s| s.ecn == Ecn::Ect0 && s.len > 0));
        let echo_ends =
            log.iter().filter(|l| l.1 == 1 && l.2.flags.has(Flags::ECE)).map(|l| l.0).next_back().unwrap();
        let cwr_leaves = log.iter().find(|l| l.2.flags.has(Flags::CWR)).unwrap().0;
        assert!(echo_ends <= cwr_leaves + ms(10), "{profile:?}");
        // Retransmissions are not ECN-capable (6.1.5), all other data is.
        let mut highest = 0;
        for (_, _, s) in p.log.iter().filter(|l| l.1 == 0 && l.2.len > 0) {
            let end = s.seq.0.wrapping_sub(0xffff_f000) + s.len;
            let again = end <= highest;
            highest = highest.max(end);
            assert_eq!(s.ecn, if again { Ecn::NotEct } else { Ecn::Ect0 }, "{profile:?} {end}");
        }
        assert!(states.contains(&CaState::Cwr), "{profile:?}: {states:?}");
        let c = p.ends[0].counters();
        assert_eq!((c.mark_reductions, c.fast_retransmits, c.timeouts), (1, 1, 0), "{profile:?}");
        assert_eq!(p.ends[1].counters().ce_received, 1);
        assert!(c.delivered_ce >= 1 && p.saw(0, Event::MarkReduction));
    }
}

/// The window halves once per window of data however many marks there are: 20 segments outstanding,
/// all marked.
#[test]
fn a_window_full_of_marks_costs_one_reduction() {
    // RFC 5681 equation 4 halves FlightSize: 20 less the segment of the first ACK. Linux halves the
    // window.
    for (profile, ssthresh) in [(Profile::Rfc, 9.5), (Profile::Linux6, 10.0)] {
        let o = Options {
            profile,
            cc: Some(CcName::Reno),
            window: WindowOptions { initial_window: Some(20), ..options(EcnMode::On).window },
            ..options(EcnMode::On)
        };
        let mut p = pair(&o, &o);
        p.links[0].mark = (0..20).collect();
        p.ends[0].write(p.now, 1 << 20);
        p.flush();
        p.drive(at(20 + 39));
        assert_eq!(p.ends[0].counters().mark_reductions, 1, "{profile:?}");
        assert_eq!(p.ends[0].congestion_control().ssthresh(), ssthresh, "{profile:?}");
    }
}

/// RFC 8511: beta_ecn 0.8 for Reno and 0.85 for CUBIC; ns-3's default of 0.7 for Reno gives the 700
/// of its test suite.
#[test]
fn abe_makes_a_mark_cost_less() {
    for (cc, abe_beta, left) in
        [(CcName::Reno, None, 80.0), (CcName::Reno, Some(0.7), 70.0), (CcName::Cubic, None, 85.0)]
    {
        let o = Options {
            profile: Profile::Linux6,
            cc: Some(cc),
            window: WindowOptions { initial_window: Some(100), ..options(EcnMode::On).window },
            ecn: EcnOptions { abe: Some(true), abe_beta, ..options(EcnMode::On).ecn },
            ..options(EcnMode::On)
        };
        let mut p = pair(&o, &o);
        p.links[0].mark = vec![0];
        p.ends[0].write(p.now, 1 << 20);
        p.flush();
        p.drive_until(at(100), |p| p.ends[0].counters().mark_reductions == 1);
        assert_eq!(p.ends[0].congestion_control().ssthresh(), left, "{cc:?}");
    }
}

/// RFC 8257 section 3.2: of eight segments two in the middle are marked. Delayed ACKs cover two
/// segments; where the mark begins and ends in the middle of a pair, an ACK with the old value
/// comes first. So exactly the marked octets are acknowledged with ECE.
#[test]
fn dctcps_receiver_reports_which_octets_were_marked() {
    for marks in [vec![3, 4], vec![2, 3], vec![1], vec![0, 1, 2, 5]] {
        let o = Options {
            profile: Profile::Linux6,
            cc: Some(CcName::Dctcp),
            acks: AckOptions { quick_acks: Some(0), ..AckOptions::default() },
            ..Options::default()
        };
        let mut p = pair(&o, &o);
        assert!(p.ends[0].options_in_use().ecn, "DCTCP requests ECN by itself");
        p.links[0].mark = marks.clone();
        p.ends[0].write(p.now, 8 * 1448);
        p.flush();
        p.drive(at(500));
        let (mut una, mut acked_with_ece) = (1u64, 0);
        for (_, _, s) in p.log.iter().filter(|l| l.1 == 1 && !l.2.flags.has(Flags::SYN)) {
            let ack = u64::from(s.ack.0.wrapping_sub(0xffff_f000));
            if s.flags.has(Flags::ECE) {
                acked_with_ece += ack.saturating_sub(una);
            }
            una = una.max(ack);
        }
        assert_eq!(acked_with_ece, marks.len() as u64 * 1448, "{marks:?}");
        assert_eq!(p.ends[0].counters().delivered_ce, marks.len() as u64, "{marks:?}");
    }
}

/// AccECN (RFC 9768): with random marks on the path, the sender's count equals the receiver's in
/// the end.
#[test]
fn accurate_feedback_counts_every_mark() {
    for (seed, chance) in [(1, 0.02), (2, 0.2), (3, 0.7), (4, 1.0)] {
        let o = Options { profile: Profile::Linux6, cc: Some(CcName::Dctcp), ..options(EcnMode::Accurate) };
        let o = Options { ecn: EcnOptions { l4s: Some(true), ..o.ecn }, ..o };
        let mut p = pair(&o, &o);
        p.links[0] = p.links[0].clone().seed(seed, 0);
        p.links[0].mark_chance = chance;
        p.write(0, 300 * 1448);
        p.flush();
        p.drive_until(at(60_000), |p| p.backlog[0] == 0 && p.ends[0].is_all_acked());
        p.drive(p.now + ms(100));
        let (reported, arrived) = (p.ends[0].counters().delivered_ce, p.ends[1].counters().ce_received);
        assert_eq!(reported, arrived, "seed {seed}");
        assert!((arrived as f64 / 300.0 - chance).abs() < 0.1, "seed {seed}: {arrived}");
        assert!(p.log.iter().filter(|l| l.2.len > 0).all(|l| l.2.ecn == Ecn::Ect1));
        assert_eq!(p.ends[0].info().delivered_ce, reported);
    }
}

/// RFC 9768 section 3.2.3: the option's counters are the octets of data that arrived with each
/// codepoint, in both modes of sending it, and without it the connection counts packets alone.
#[test]
fn the_accecn_option_counts_octets_by_codepoint() {
    for (profile, l4s) in [(Profile::Linux6, false), (Profile::Linux6, true), (Profile::Rfc, false)] {
        for mode in [AccEcnOption::Off, AccEcnOption::Minimum, AccEcnOption::Full] {
            let o = Options {
                profile,
                ecn: EcnOptions {
                    l4s: Some(l4s),
                    accecn_option: Some(mode),
                    ..options(EcnMode::Accurate).ecn
                },
                ..options(EcnMode::Accurate)
            };
            let mut p = pair(&o, &o);
            p.links[0] = p.links[0].clone().seed(7, 0);
            p.links[0].mark_chance = 0.3;
            p.write(0, 400 * 1436);
            p.flush();
            p.drive_until(at(60_000), |p| p.backlog[0] == 0 && p.ends[0].is_all_acked());
            p.drive(p.now + ms(100));
            let case = format!("{profile:?} {l4s} {mode:?}");
            let counts = |e: usize| p.ends[e].accurate_octets().unwrap();
            let ([e1, e0, ce], arrived) = (counts(0).0, counts(1).1);
            let data = p.log.iter().filter(|l| l.2.len > 0);
            let options =
                p.log.iter().filter(|l| !l.2.flags.has(Flags::SYN) && l.2.rare.accecn.is_some()).count();
            if mode == AccEcnOption::Off {
                assert_eq!(([e1, e0, ce], options), ([0; 3], 0), "{case}");
                assert!(data.clone().any(|l| l.2.len == 1448), "{case}: the whole MSS is data");
                continue;
            }
            assert_eq!([e1, e0, ce], arrived, "{case}: what the receiver counted");
            assert_eq!(arrived.iter().sum::<u64>(), 400 * 1436, "{case}");
            assert!(ce > 0 && arrived[usize::from(!l4s)] > 0 && arrived[usize::from(l4s)] == 0, "{case}");
            // 40 octets of options at most, and no segment beyond the path's 1460 octets of TCP
            // payload and options.
            for l in data {
                assert!(l.2.header_len() - 20 + l.2.len <= 1460, "{case}: {:?}", l.2);
            }
            let acks = p.log.iter().filter(|l| l.1 == 1 && !l.2.flags.has(Flags::SYN));
            assert!(
                mode == AccEcnOption::Minimum || acks.clone().all(|l| l.2.rare.accecn.is_some()),
                "{case}"
            );
        }
    }
}

/// RFC 9768 appendix A.2.2: ACKs are lost in rows longer than a turn of the header's three bits.
/// With the option the sender's count of marked octets is the receiver's in the end.
#[test]
fn the_option_survives_the_loss_of_acks() {
    let o = Options { profile: Profile::Linux6, cc: Some(CcName::None), ..options(EcnMode::Accurate) };
    let mut p = pair(&o, &o);
    p.links[0] = p.links[0].clone().seed(3, 0);
    p.links[1] = p.links[1].clone().seed(3, 1);
    p.links[0].mark_chance = 0.3;
    p.links[1].loss = 0.9;
    p.ends[0].write(p.now, 1000 * 1436);
    p.flush();
    p.drive_until(at(600_000), |p| p.ends[0].is_all_acked());
    let acks: Vec<u64> = p.log.iter().filter(|l| l.1 == 1).map(|l| u64::from(l.2.ack.0)).collect();
    p.links[1].loss = 0.0;
    p.ends[0].write(p.now, 2 * 1436);
    p.flush();
    p.drive_until(at(700_000), |p| p.ends[0].is_all_acked());
    let (delivered, arrived) =
        (p.ends[0].accurate_octets().unwrap().0, p.ends[1].accurate_octets().unwrap().1);
    assert!(p.ends[0].is_all_acked() && arrived[2] > 200 * 1436, "{arrived:?}");
    assert!(acks.len() > 400, "an ACK for every second segment, of which one in ten arrives");
    assert_eq!(delivered, arrived, "ECT(1), ECT(0), CE");
}

/// RFC 9768 section 3.1.3: a reserved combination on the SYN requests accurate feedback. Section
/// 3.1.4.1: the second SYN still requests it, the third does not. Section 3.2.3.2.2: a SYN-ACK that
/// is repeated has no option, the next no flags.
#[test]
fn the_handshake_falls_back_step_by_step() {
    let o = options(EcnMode::Accurate);
    let mut p = Pair::new(o.resolve().unwrap(), o.resolve().unwrap(), ms(10));
    p.logging = true;
    p.links[0].loss = 1.0;
    p.connect();
    p.drive(at(8_000));
    assert_eq!(flags(&p, 0)[..3], ["SEWA", "SEWA", "S"]);
    let mut p = Pair::new(o.resolve().unwrap(), o.resolve().unwrap(), ms(10));
    p.logging = true;
    p.links[1].loss = 1.0;
    p.connect();
    p.drive(at(900));
    let first = &p.log.iter().find(|l| l.1 == 1).unwrap().2;
    assert_eq!((flags(&p, 1)[0].as_str(), first.rare.accecn.is_some()), ("S.W", true));
    p.drive(at(12_000));
    let answers: Vec<_> = p.log.iter().filter(|l| l.1 == 1).map(|l| l.2.rare.accecn.is_some()).collect();
    assert!(answers[1..].iter().all(|o| !o), "no option on what is sent again: {answers:?}");
    assert!(flags(&p, 1)[2..].iter().all(|f| f == "S."), "{:?}", flags(&p, 1));
}

/// With marks instead of losses nothing is lost and nothing is sent twice, whichever end does the
/// recovery.
#[test]
fn marks_alone_never_cause_a_retransmission() {
    for (profile, recovery) in [
        (Profile::Rfc, RecoveryFlavour::NewReno),
        (Profile::Rfc, RecoveryFlavour::Sack),
        (Profile::Rfc, RecoveryFlavour::Tahoe),
        (Profile::Linux6, RecoveryFlavour::Rack),
    ] {
        for mode in [EcnMode::On, EcnMode::Accurate] {
            let o = Options { profile, recovery: Some(recovery), ..options(mode) };
            let mut p = pair(&o, &o);
            p.links[0].mark_chance = 0.1;
            p.write(0, 300 * 1448);
            p.flush();
            p.drive_until(at(60_000), |p| p.backlog[0] == 0 && p.ends[0].is_all_acked());
            let c = p.ends[0].counters();
            assert!(p.ends[0].is_all_acked() && c.mark_reductions > 3, "{recovery:?} {mode:?} {c:?}");
            assert_eq!((c.retransmitted_segments, c.timeouts), (0, 0), "{recovery:?} {mode:?}");
        }
    }
}

/// Each 40th segment is marked, and nothing queues. Prague's window grows by 1 - p in a round trip
/// and falls by p / 2 of itself: W p is 2 (1 - p). Its mutant that halves at a mark, once in a
/// round trip, has Reno's window: W grows from M / 2 to M in M / 2 round trips, which send 3/8 M^2
/// segments, and 3/8 M^2 = 40 makes the mean 3/4 M = sqrt(3 * 40 / 2) = 7.7. Whole segments, and an
/// ACK for each that is taken away, add up to a segment and a half.
#[test]
fn prague_has_two_marks_in_a_round_trip_and_its_halving_mutant_the_window_of_reno() {
    let run = |mutant: &str| {
        let text = format!("profile = 'linux-6'\ncc = 'prague'\ninitial_ssthresh = 80\n{mutant}");
        let o: Options = toml::from_str(&text).unwrap();
        let config = o.resolve().unwrap();
        let mut p = Pair::new(config, config, ms(50));
        p.links[0].mark = (0..1000).map(|n| 40 * n).collect();
        p.connect();
        p.write(0, 1 << 40);
        p.drive(at(10_000));
        let rounds = 200;
        let windows = (0..rounds).map(|round| {
            p.drive(at(10_000 + 100 * round));
            p.ends[0].info().snd_cwnd
        });
        let mean = windows.sum::<f64>() / rounds as f64;
        (mean, p.ends[0].counters().retransmitted_segments)
    };
    let (right, sent_again) = run("");
    assert!((1.6..2.4).contains(&(right / 40.0)), "{right}");
    assert_eq!(sent_again, 0);
    let (halved, sent_again) = run("mutant = 'halves-per-mark'");
    let reno = 60f64.sqrt();
    assert!((reno..reno + 1.5).contains(&halved), "{halved}");
    assert_eq!(sent_again, 0);
}

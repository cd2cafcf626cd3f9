//! A receiver that divides its ACKs (`split_acks`), against senders that count octets and senders
//! that count ACKs.

use crate::util::*;
use lasthop_tcp::*;
use lasthop_units::{Duration, Instant};

const ROUND: u64 = 100;

fn pair(profile: Profile, parts: u32, every: u32, ssthresh: Option<f64>) -> Pair {
    let honest = Options {
        profile,
        cc: Some(CcName::Reno),
        window: WindowOptions {
            initial_ssthresh: ssthresh,
            max_window: Some(400),
            ..WindowOptions::default()
        },
        acks: AckOptions { ack_every: Some(every), ..AckOptions::default() },
        ..Options::default()
    };
    let cheat = Options { acks: AckOptions { split_acks: Some(parts), ..honest.acks }, ..honest.clone() };
    let mut p =
        Pair::new(honest.resolve().unwrap(), cheat.resolve().unwrap(), Duration::from_millis(ROUND / 2));
    p.logging = true;
    p.connect();
    p.write(0, 1 << 40);
    p
}

/// The window in the middle of each round.
fn windows(p: &mut Pair, rounds: u64) -> Vec<f64> {
    let mut window = |r: u64| {
        p.drive(Instant::from_millis(r * ROUND + ROUND / 2 - 1));
        p.ends[0].info().snd_cwnd
    };
    (1..=rounds).map(&mut window).collect()
}

/// Equal but for the rounding of sums of parts.
fn near(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9)
}

/// ns-2's agents add a segment for each ACK: W segments are answered by M ACKs each, so that a
/// round brings a window of W to W + M W.
#[test]
fn a_sender_that_counts_acks_grows_by_each_part() {
    for (parts, expected) in
        [(1, [2.0, 4.0, 8.0, 16.0]), (2, [2.0, 6.0, 18.0, 54.0]), (4, [2.0, 10.0, 50.0, 250.0])]
    {
        assert_eq!(windows(&mut pair(Profile::Ns2, parts, 1, None), 4), expected, "{parts} parts");
    }
}

/// In congestion avoidance an ACK adds 1 / W: W^2 grows by 2 + 1 / W^2 with each, so that after n
/// ACKs W is sqrt(W0^2 + 2 n) and at most ln(W / W0) / W0 more, less than 0.7 segments here.
#[test]
fn in_congestion_avoidance_it_grows_by_the_root_of_the_acks() {
    for parts in [1, 4] {
        let mut p = pair(Profile::Ns2, parts, 1, Some(2.0));
        let window = windows(&mut p, 20)[19];
        let acks = p.ends[0].info().bytes_acked / 512 * u64::from(parts);
        let expected = (4.0 + 2.0 * acks as f64).sqrt();
        assert!(acks > 100 && (0.0..0.7).contains(&(window - expected)), "{window} {expected}");
    }
}

/// RFC 5681 equation 2, cwnd += min(N, SMSS) with N the octets that an ACK acknowledges: the parts
/// of a segment's ACK come to one segment. Of an ACK of two segments the whole counts for one, its
/// parts for two: division gives what ACKs of each segment would, and no more.
#[test]
fn a_sender_that_counts_octets_gives_nothing_for_more_parts() {
    let of = |parts, every| windows(&mut pair(Profile::Rfc, parts, every, None), 4);
    for parts in [1, 2, 4, 64] {
        assert!(near(&of(parts, 1), &[10.0, 20.0, 40.0, 80.0]), "{parts} parts");
    }
    assert_eq!(of(1, 2), [10.0, 15.0, 22.0, 33.0]);
    for parts in [2, 4, 64] {
        assert!(near(&of(parts, 2), &[10.0, 20.0, 40.0, 80.0]), "{parts} parts");
    }
}

/// 512 octets in four parts: ACKs 128 octets apart, and the right edge of the window never moves
/// left (RFC 9293 section 3.8.6 discourages it).
#[test]
fn the_parts_are_equal_and_the_window_does_not_shrink() {
    let mut p = pair(Profile::Ns2, 4, 1, None);
    p.drive(Instant::from_millis(3 * ROUND));
    let acks: Vec<Segment> = p
        .log
        .iter()
        .filter(|(_, from, s)| *from == 1 && !s.flags.has(Flags::SYN))
        .map(|l| l.2.clone())
        .collect();
    assert!(acks.len() >= 40, "{}", acks.len());
    for pair in acks.windows(2) {
        assert_eq!(pair[1].ack.distance_from(pair[0].ack), 128);
        let edge = |s: &Segment| i64::from(s.window) << 14;
        assert!(i64::from(pair[1].ack.distance_from(pair[0].ack)) + edge(&pair[1]) >= edge(&pair[0]));
    }
}

/// As many ACKs as without where there is nothing to divide: a loss leaves holes, and ACKs with
/// SACK blocks stay whole, so that no ACK moves backwards and all data arrives.
#[test]
fn losses_are_recovered_from_as_ever() {
    for profile in [Profile::Rfc, Profile::Linux6, Profile::Ns2] {
        let mut p = pair(profile, 8, 2, None);
        p.links[0].drop = vec![14, 16, 18, 40];
        p.drive(Instant::from_secs(20));
        let mut last = None;
        for (_, from, s) in p.log.iter().filter(|(_, from, s)| *from == 1 && !s.flags.has(Flags::SYN)) {
            assert!(*from == 1 && last.is_none_or(|l| s.ack.distance_from(l) >= 0), "{profile:?}");
            last = Some(s.ack);
        }
        assert!(p.ends[0].info().total_retrans >= 4, "{profile:?}");
        assert!(p.ends[0].info().bytes_acked > 100_000, "{profile:?}");
    }
}

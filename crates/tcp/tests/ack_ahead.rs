//! A receiver that acknowledges octets before they arrive (`ack_ahead`): what it gains, what it
//! loses, and senders that drop an ACK of octets that they have not sent.

use crate::util::*;
use lasthop_engine::math;
use lasthop_tcp::cc::ALGORITHMS;
use lasthop_tcp::*;
use lasthop_units::{Duration, Instant};

const ROUND: u64 = 100;
const MSS: u64 = 512;

fn options(profile: Profile, cc: CcName, ssthresh: Option<f64>) -> Options {
    Options {
        profile,
        cc: Some(cc),
        window: WindowOptions {
            mss: Some(lasthop_units::Bytes(512)),
            initial_window: Some(10),
            initial_ssthresh: Some(ssthresh.unwrap_or(4000.0)),
            max_window: Some(4000),
            ..WindowOptions::default()
        },
        acks: AckOptions { ack_every: Some(1), ..AckOptions::default() },
        negotiated: NegotiatedOptions { timestamps: Some(false), ..NegotiatedOptions::default() },
        ..Options::default()
    }
}

fn pair(honest: &Options, lead: u32) -> Pair {
    let cheat = Options { acks: AckOptions { ack_ahead: Some(lead), ..honest.acks }, ..honest.clone() };
    let ends = (honest.resolve().unwrap(), cheat.resolve().unwrap());
    let mut p = Pair::new(ends.0, ends.1, Duration::from_millis(ROUND / 2));
    p.logging = true;
    p.connect();
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

/// Octets that arrived, were skipped, and are acknowledged.
fn octets(p: &Pair) -> (u64, u64, u64) {
    let receiver = &p.ends[1];
    (receiver.octets_received(), receiver.octets_skipped(), p.ends[0].una_offset().saturating_sub(1))
}

/// Slow start adds a segment for each ACK (RFC 5681 equation 2). The first round has W0 = 10
/// arrivals. From then on W + N segments are between the sender and the receiver, because ACKs lead
/// by N, and each arrival causes an ACK: W_k = 2 W_(k-1) + N from W_1 = 2 W0 on, so
/// W_k = 2^k W0 + (2^(k-1) - 1) N. For an honest receiver it is 2^k W0.
#[test]
fn in_slow_start_the_lead_counts_as_window() {
    for profile in [Profile::Rfc, Profile::Ns2] {
        for lead in [0, 1, 5, 9] {
            let mut p = pair(&options(profile, CcName::Reno, None), lead);
            p.write(0, 1 << 40);
            let n = f64::from(lead);
            let expected: Vec<f64> =
                (0..5)
                    .map(|k| {
                        if k == 0 {
                            10.0
                        } else {
                            f64::from(1 << k) * 10.0 + f64::from((1 << (k - 1)) - 1) * n
                        }
                    })
                    .collect();
            let found = windows(&mut p, 5);
            let near = found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-6);
            assert!(near, "{profile:?}, lead {lead}: {found:?} {expected:?}");
        }
    }
}

/// The round trip seems shorter to the sender (Savage and others on optimistic ACKs): a window of W
/// is acknowledged in the W / (W + N)th part of a round trip R, so that congestion avoidance adds
/// (W + N) / W segments in R. Over r round trips
/// r = (W - W0) - N ln((W + N) / (W0 + N)); for N = 0 a segment each.
#[test]
fn in_congestion_avoidance_the_round_trip_seems_shorter() {
    let rounds = 40;
    for lead in [0, 5, 9] {
        let mut p = pair(&options(Profile::Rfc, CcName::Reno, Some(2.0)), lead);
        p.write(0, 1 << 40);
        let (w, n) = (windows(&mut p, rounds + 1)[rounds as usize], f64::from(lead));
        let r = (w - 10.0) - n * math::ln((w + n) / (10.0 + n));
        // The first round has no lead, N / W0 of a round less, and the window grows by whole
        // segments, less than a round.
        let late = rounds as f64 - r;
        assert!((0.0..1.0 + n / 10.0).contains(&late), "lead {lead}: W {w} after {r} rounds");
    }
}

/// No duplicate ACK, no SACK, nothing sent again; the window grows as without losses, and the
/// octets that are missing are counted.
#[test]
fn losses_are_hidden_from_the_sender_and_counted() {
    let drop: Vec<u64> = vec![3, 20, 21, 22, 23, 24, 25, 26, 60, 150];
    for profile in [Profile::Rfc, Profile::Linux6, Profile::Ns2] {
        let run = |drop: &[u64]| {
            let mut p = pair(&options(profile, CcName::Reno, None), 5);
            p.links[0].drop = drop.to_vec();
            p.write(0, 400 * MSS);
            p.drive(Instant::from_millis(ROUND));
            p.close(0);
            p.drive(Instant::from_secs(60));
            p
        };
        let (with, without) = (run(&drop), run(&[]));
        let lost = drop.len() as u64 * MSS;
        assert_eq!(octets(&with), (400 * MSS - lost, lost, 400 * MSS + 1), "{profile:?}");
        assert_eq!(octets(&without), (400 * MSS, 0, 400 * MSS + 1), "{profile:?}");
        assert_eq!(with.ends[1].in_order_received(), 400 * MSS - lost, "{profile:?}");
        let skipped = |p: &Pair| {
            let of = |e: &(Instant, Event)| if let Event::Skipped { octets } = e.1 { octets } else { 0 };
            p.events[1].iter().map(of).sum::<u64>()
        };
        assert_eq!((skipped(&with), skipped(&without)), (lost, 0));
        assert_eq!(with.ends[0].counters().retransmitted_segments, 0, "{profile:?}");
        let largest = |p: &Pair| p.ends[0].info().snd_cwnd;
        assert!(largest(&with) >= largest(&without) - drop.len() as f64, "{profile:?}");
        assert!(with.saw(1, Event::PeerClosed), "the end of the stream is seen");
    }
}

/// A sender answers an ACK of octets that it has not sent with an ACK and drops it (RFC 9293
/// section 3.10.7.4); Linux' tcp_ack drops it without an answer. The sender of a lead that exceeds
/// the data sends its last segment again, and the receiver's next ACK is true: all is acknowledged.
#[test]
fn an_ack_beyond_the_data_is_dropped_and_the_next_is_true() {
    for (profile, answers) in [(Profile::Rfc, true), (Profile::Linux6, false)] {
        let mut p = pair(&options(profile, CcName::Reno, None), 30);
        p.write(0, 50 * MSS);
        p.drive(Instant::from_secs(20));
        assert_eq!(octets(&p), (50 * MSS, 0, 50 * MSS), "{profile:?}");
        let sent = |from, with_data: bool| {
            let mine = p.log.iter().filter(|(at, end, s)| {
                *end == from
                    && *at > Instant::from_millis(ROUND)
                    && !s.flags.has(Flags::SYN)
                    && (s.len > 0) == with_data
            });
            mine.count()
        };
        let again = p.ends[0].counters().retransmitted_segments;
        assert!((1..=3).contains(&again), "{profile:?}: {again}");
        // Data flows one way: an ACK without data that the sender sends is an answer.
        assert_eq!(sent(0, false) > 0, answers, "{profile:?}");
        // More data later begins without lead.
        p.write(0, 50 * MSS);
        p.flush();
        p.drive(Instant::from_secs(40));
        assert_eq!(octets(&p), (100 * MSS, 0, 100 * MSS), "{profile:?}");
    }
}

/// Over a lossy bottleneck that reorders and duplicates: every control goes on, no sender keeps
/// more than what is in the lead, and no octet counts twice.
#[test]
fn every_control_survives_and_no_octet_counts_twice() {
    for (i, algorithm) in ALGORITHMS.iter().enumerate() {
        for (profile, lead) in [(Profile::Linux6, 10), (Profile::Linux6, 2000), (Profile::Rfc, 100)] {
            let honest = Options { profile, cc: Some(algorithm.name.parse().unwrap()), ..Options::default() };
            let cheat =
                Options { acks: AckOptions { ack_ahead: Some(lead), ..honest.acks }, ..honest.clone() };
            let ends = (honest.resolve().unwrap(), cheat.resolve().unwrap());
            let mut p = Pair::new(ends.0, ends.1, Duration::from_millis(20));
            for link in &mut p.links {
                *link = Link { loss: 0.01, duplicate: 0.01, reorder: 0.02, ..link.clone() }
                    .seed(i as u64, u64::from(lead));
                link.reorder_by = Duration::from_millis(7);
            }
            p.links[0].rate = 1_000_000;
            p.links[0].queue = 50;
            p.connect();
            p.write(0, 3_000_000);
            p.drive_until(Instant::from_secs(10), |p| p.ends[0].info().bytes_acked > 0);
            p.close(0);
            p.drive_until(Instant::from_secs(10), |p| {
                let (arrived, skipped, acked) = octets(p);
                let most = arrived + skipped + p.ends[1].largest_lead() + 1;
                assert!(acked <= most, "{}: {acked} of {most}", algorithm.name);
                assert!(arrived + skipped <= 3_000_000, "{}", algorithm.name);
                assert!(p.ends[1].in_order_received() <= arrived);
                p.saw(1, Event::PeerClosed)
            });
            let (arrived, skipped, _) = octets(&p);
            assert!(arrived > 0 && skipped > 0, "{}: {arrived} {skipped}", algorithm.name);
        }
    }
}

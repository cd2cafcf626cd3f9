//! Segmentation offload: the segments of a packet, the position of PSH, and that no path loses an
//! octet.

use crate::util::Pair;
use lasthop_tcp::*;
use lasthop_units::{Bytes, Duration, Instant};
use proptest::prelude::*;

fn config(sack: bool) -> Config {
    let o = Options {
        profile: Profile::Linux6,
        negotiated: NegotiatedOptions {
            sack: Some(sack),
            timestamps: Some(false),
            ..NegotiatedOptions::default()
        },
        window: WindowOptions { mss: Some(Bytes(1000)), ..WindowOptions::default() },
        ..Options::default()
    };
    let mut c = o.resolve().unwrap();
    c.host.offload = Some(Offload::LINUX);
    c
}

/// The lengths of the packets that end `0` sent from `from` on: cut at PSH, and whether a lone
/// segment has it.
fn packets(p: &Pair, from: usize) -> Vec<(u32, bool)> {
    let mut found = vec![];
    let mut len = 0;
    for (_, _, s) in p.log[from..].iter().filter(|l| l.1 == 0 && l.2.len > 0) {
        len += s.len;
        if s.flags.has(Flags::PSH) {
            found.push((len, true));
            len = 0;
        }
    }
    if len > 0 {
        found.push((len, false));
    }
    found
}

fn connected(c: Config) -> Pair {
    let mut p = Pair::new(c, c, Duration::from_millis(50));
    p.connect();
    p.drive_until(Instant::from_secs(1), |p| p.ends.iter().all(|e| e.state() == State::Established));
    p.logging = true;
    p
}

#[test]
fn the_initial_window_leaves_as_five_packets_of_two_segments() {
    // Window 10, round trip 100 ms: 2 * 10 * 1000 / 0.1 = 200 kB/s, a millisecond of which (1/1024
    // s) is 195 octets: the least, two segments. The quota of half a window, five, does not matter.
    let mut p = connected(config(true));
    p.ends[0].write(p.now, 30_000);
    p.flush();
    assert_eq!(packets(&p, 0), [(2000, true); 5]);
}

/// A caller that does not ask again after the last segment: what is written then leaves at once.
#[test]
fn data_written_after_the_last_segment_leaves() {
    let mut p = connected(config(true));
    let end = &mut p.ends[0];
    assert_eq!(end.write(p.now, 3000), 3000);
    assert!((0..3).all(|_| end.poll_transmit(p.now).is_some_and(|s| s.len == 1000)));
    assert_eq!(end.write(p.now, 1000), 1000);
    assert_eq!(end.poll_transmit(p.now).map(|s| s.len), Some(1000));
    assert!(end.poll_transmit(p.now).is_none());
}

#[test]
fn a_packet_holds_at_most_half_the_window() {
    // tcp_min_tso_segs 10: the quota of half the window, five segments, cuts.
    let mut c = config(true);
    c.host.offload = Some(Offload { segments_min: 10, ..Offload::LINUX });
    let mut p = connected(c);
    p.ends[0].write(p.now, 30_000);
    p.flush();
    assert_eq!(packets(&p, 0), [(5000, true); 2]);
}

#[test]
fn a_record_ends_its_packet_and_more_to_come_holds_a_part_back() {
    let mut p = connected(config(true));
    p.ends[0].write_with(p.now, 1500, WriteHint { record_end: true, more: false });
    p.ends[0].write_with(p.now, 1500, WriteHint { record_end: false, more: true });
    p.flush();
    // The record whole; of the rest a full segment, the part of 500 waits: nothing pushes it.
    assert_eq!(packets(&p, 0), [(1500, true), (1000, false)]);
    let n = p.log.len();
    p.ends[0].write(p.now, 100);
    p.flush();
    // The announced data has arrived: the part is small, and a small one (500 of the record) is
    // outstanding: Nagle.
    assert_eq!(packets(&p, n), []);
    p.drive(p.now + Duration::from_millis(101));
    assert_eq!(packets(&p, n), [(600, true)]);
}

#[test]
fn a_cork_holds_a_part_until_it_is_drawn_or_the_persist_timer_fires() {
    let mut p = connected(config(true));
    p.ends[0].set_cork(p.now, true);
    p.ends[0].write(p.now, 300);
    p.flush();
    assert_eq!(packets(&p, 0), []);
    // Linux sends what a cork holds after 200 ms, here the timeout: a round trip of 100 ms and 200
    // ms: armed at 150 ms for 300 jiffies, it is filed in the slot of 8 jiffies after 450, at 456
    // ms.
    p.drive(p.now + Duration::from_millis(305));
    assert_eq!(packets(&p, 0), []);
    p.drive(p.now + Duration::from_millis(2));
    assert_eq!(packets(&p, 0), [(300, true)]);
}

/// A peer whose buffer is smaller than a segment never opens its window far enough for one
/// (tcp_write_wakeup sends seg_size = min(tcp_wnd_end(tp) - seq, mss)).
#[test]
fn a_window_below_one_segment_is_filled_when_the_persist_timer_fires() {
    let mut c = config(true);
    (c.buffers.receive_tuning, c.buffers.receive_buffer, c.buffers.receive_buffer_start) = (false, 489, 489);
    let mut p = connected(c);
    p.ends[0].write(p.now, 1500);
    p.flush();
    assert_eq!(packets(&p, 0), []);
    p.drive(p.now + Duration::from_secs(5));
    // Two parts of 489 of the first 1000 octets; the last 22 fit. Then 489 and 11 of the rest.
    assert_eq!(packets(&p, 0)[..2], [(489, true); 2]);
    assert_eq!(p.ends[1].in_order_received(), 1500);
    assert_eq!(p.ends[0].unacknowledged(), 0);
}

/// The rest of the data fills a window that is smaller than a segment, with a loss of the last
/// packet or without: a timer runs until all has arrived.
#[test]
fn what_fills_a_window_below_one_segment_to_the_octet_arrives() {
    for (sack, total, lossy) in [330, 660, 664, 990, 1330]
        .into_iter()
        .flat_map(|n| [(true, n, false), (true, n, true), (false, n, false), (false, n, true)])
    {
        let mut c = config(sack);
        c.window.mss = 334;
        let peer = Options {
            window: WindowOptions { mss: Some(Bytes(334)), ..WindowOptions::default() },
            buffers: BufferOptions { receive_buffer: Some(Bytes(330)), ..BufferOptions::default() },
            negotiated: NegotiatedOptions { timestamps: Some(false), ..NegotiatedOptions::default() },
            ..Options::default()
        };
        let mut p = Pair::new(c, peer.resolve().unwrap(), Duration::from_millis(50));
        p.connect();
        p.drive(Instant::from_millis(500));
        p.write(0, total);
        if lossy {
            p.links[0].loss = 1.0;
        }
        p.flush();
        p.drive(Instant::from_secs(2));
        p.links[0].loss = 0.0;
        p.drive_until(Instant::from_secs(120), |p| {
            let sender = &p.ends[0];
            let done = p.ends[1].in_order_received() == total;
            assert!(done || sender.poll_at().is_some(), "{sack} {total} {lossy} at {:?}", p.now);
            done
        });
        assert_eq!(p.ends[1].in_order_received(), total, "{sack} {lossy}");
    }
}

#[test]
fn a_lost_packet_is_cut_where_recovery_has_room_for_one_segment() {
    let mut p = connected(config(true));
    // The second packet, segments 2 and 3.
    p.links[0].drop = vec![2, 3];
    p.ends[0].write(p.now, 10_000);
    p.flush();
    let n = p.log.len();
    p.drive(p.now + Duration::from_millis(190));
    // PRR permits one segment for each that arrives: the packet of two is sent as two, and PSH was
    // not requested by a write.
    assert_eq!(packets(&p, n), [(2000, false)]);
    let c = p.ends[0].counters();
    assert_eq!((c.retransmitted_segments, c.timeouts), (2, 0));
}

/// When end `0` sent data, and how much at that moment.
fn departures(p: &Pair) -> Vec<(u64, u32)> {
    let mut found: Vec<(u64, u32)> = vec![];
    for (at, _, s) in p.log.iter().filter(|l| l.1 == 0 && l.2.len > 0) {
        match found.last_mut() {
            Some(last) if last.0 == at.0 => last.1 += s.len,
            _ => found.push((at.0, s.len)),
        }
    }
    found
}

/// tcp_update_skb_after_send: "len_ns -= min_t(u64, len_ns / 2, credit)", with len_ns of the whole
/// packet. At 1 MB/s two segments of 1000 octets are 2 ms; the first packet after an idle time is
/// late by more than that, so the second leaves 1 ms after it and each further one 2 ms later. Half
/// of the first segment's time alone would be 1.5 ms. The function does not test SACK.
#[test]
fn a_packet_of_two_segments_is_paced_as_one() {
    for sack in [true, false] {
        let mut c = config(sack);
        c.growth.max_pacing_rate = Some(lasthop_units::Bitrate(8_000_000));
        let mut p = connected(c);
        // "tp->data_segs_out >= 10": the first ten segments leave at once.
        p.ends[0].write(p.now, 10_000);
        p.flush();
        assert_eq!(departures(&p), [(p.now.0, 10_000)], "SACK {sack}");
        p.drive(p.now + Duration::from_millis(150));
        p.log.clear();
        p.ends[0].write(p.now, 8000);
        p.flush();
        p.drive(p.now + Duration::from_millis(20));
        let found = departures(&p);
        let start = found[0].0;
        let after: Vec<(u64, u32)> = found.iter().map(|&(at, len)| ((at - start) / 1000, len)).collect();
        let expected = [(0, 2000), (1000, 2000), (3000, 2000), (5000, 2000)];
        assert_eq!(after, expected, "us, octets; SACK {sack}");
    }
}

/// The same without segmentation offload and with timestamps: each segment of 988 octets of data
/// takes 988 us, and its header of 52 octets nothing. The one that is late takes half of that.
#[test]
fn a_segment_is_paced_by_its_data_with_and_without_sack() {
    for sack in [true, false] {
        let mut c = config(sack);
        c.host.offload = None;
        c.negotiated.timestamps = true;
        c.growth.max_pacing_rate = Some(lasthop_units::Bitrate(8_000_000));
        let mut p = connected(c);
        p.ends[0].write(p.now, 9880);
        p.flush();
        p.drive(p.now + Duration::from_millis(150));
        p.log.clear();
        p.ends[0].write(p.now, 3952);
        p.flush();
        p.drive(p.now + Duration::from_millis(20));
        let found = departures(&p);
        let after: Vec<(u64, u32)> = found.iter().map(|&(at, len)| ((at - found[0].0) / 1000, len)).collect();
        assert_eq!(after, [(0, 988), (494, 988), (1482, 988), (2470, 988)], "us, octets; SACK {sack}");
    }
}

/// tcp_xmit_retransmit_queue sends through tcp_transmit_skb too, so what is sent again after a
/// timeout holds the next departure back like new data: a millisecond for each 1000 octets at 1
/// MB/s, half of one where the sender was late. Without SACK the segments go one by one.
#[test]
fn what_is_sent_again_without_sack_is_paced_too() {
    for offload in [Some(Offload::LINUX), None] {
        let mut c = config(false);
        c.host.offload = offload;
        c.growth.max_pacing_rate = Some(lasthop_units::Bitrate(8_000_000));
        let mut p = connected(c);
        p.ends[0].write(p.now, 10_000);
        p.flush();
        p.drive(p.now + Duration::from_millis(150));
        p.links[0].loss = 1.0;
        p.ends[0].write(p.now, 10_000);
        p.flush();
        p.drive(p.now + Duration::from_millis(50));
        p.links[0].loss = 0.0;
        p.log.clear();
        p.drive(p.now + Duration::from_secs(5));
        let found = departures(&p);
        assert_eq!(found.iter().map(|d| d.1).collect::<Vec<_>>(), [1000; 10], "one at a time: {found:?}");
        let gaps = found.windows(2).map(|d| (d[1].0 - d[0].0) / 1000);
        assert!(gaps.clone().all(|us| us >= 500) && gaps.filter(|us| *us == 1000).count() >= 3, "{found:?}");
    }
}

/// tcp_update_skb_after_send tests "tp->data_segs_out >= 10" after __tcp_transmit_skb has counted
/// the packet, so the time of the tenth segment is the first that counts. Nothing of it is taken
/// off: the segments of a burst leave at one time, and the credit is the time since the last one.
/// At 1 MB/s the eleventh segment waits for 1 ms, and with offload the sixth packet for the 2 ms of
/// the fifth. The credit of the next one is 0 too, because it leaves when it may.
#[test]
fn the_tenth_segment_is_the_first_that_is_paced() {
    for (offload, expected) in [
        (None, vec![(0, 10_000), (1000, 1000), (2000, 1000), (3000, 1000)]),
        (Some(Offload::LINUX), vec![(0, 10_000), (2000, 2000), (4000, 1000)]),
    ] {
        let mut c = config(true);
        c.host.offload = offload;
        c.window.initial_window = Some(20);
        c.growth.max_pacing_rate = Some(lasthop_units::Bitrate(8_000_000));
        let mut p = connected(c);
        let start = p.now;
        p.ends[0].write(p.now, 13_000);
        p.flush();
        p.drive(p.now + Duration::from_millis(20));
        let after = departures(&p).iter().map(|&(at, len)| ((at - start.0) / 1000, len)).collect::<Vec<_>>();
        assert_eq!(after, expected, "us, octets; {offload:?}");
    }
}

/// An ACK without data takes a departure time too (__tcp_transmit_skb): the credit of the next
/// packet is the time since the ACK. The answer of 1000 octets, 100 us after the ACK of its
/// request, holds the next one back for 1000 - 100 us.
#[test]
fn an_ack_without_data_ends_the_credit_of_the_idle_time() {
    let mut c = config(true);
    c.host.offload = None;
    c.growth.max_pacing_rate = Some(lasthop_units::Bitrate(8_000_000));
    let mut p = connected(c);
    p.ends[0].write(p.now, 10_000);
    p.flush();
    p.drive(p.now + Duration::from_millis(300));
    // A full segment with PSH is acknowledged at once.
    p.ends[1].write(p.now, 1000);
    p.flush();
    p.log.clear();
    let acked = |p: &Pair| p.log.iter().any(|l| l.1 == 0 && l.2.len == 0);
    p.drive_until(p.now + Duration::from_millis(200), acked);
    let at = p.log.iter().find(|l| l.1 == 0).map(|l| l.0).unwrap();
    p.drive(at + Duration::from_micros(100));
    p.now = at + Duration::from_micros(100);
    p.ends[0].write(p.now, 2000);
    p.flush();
    p.drive(p.now + Duration::from_millis(20));
    let after = departures(&p).iter().map(|&(t, len)| ((t - at.0) / 1000, len)).collect::<Vec<_>>();
    assert_eq!(after, [(100, 1000), (1000, 1000)], "us after the ACK, octets");
}

/// sk_pacing_rate is at most sk_max_pacing_rate (tcp_update_pacing_rate, bbr_bw_to_pacing_rate),
/// and tcp_tso_autosize reads it. Round trip 8 ms:
///
/// | control | window | own rate | ceiling | in 1/1024 s |
/// |---|---|---|---|---|
/// | CUBIC | 20 | 5000 kB/s | none | 4882 octets: 4 segments |
/// | CUBIC | 20 | 5000 kB/s | 25 Mbit/s | 3051 octets: 3 segments |
/// | BBR | 10 | 3573 kB/s | none | 3489 octets: 3 segments |
/// | BBR | 10 | 3573 kB/s | 16 Mbit/s | 1953 octets: the least, 2 segments |
/// | BBR | 10 | 3573 kB/s | 1 Mbit/s | below bbr_min_tso_rate: 1 segment |
#[test]
fn the_ceiling_of_the_pacing_rate_limits_the_size_of_packets() {
    for (cc, window, ceiling, first) in [
        (CcName::Cubic, 20, None, 4000),
        (CcName::Cubic, 20, Some(25_000_000), 3000),
        (CcName::Bbr, 10, None, 3000),
        (CcName::Bbr, 10, Some(16_000_000), 2000),
        (CcName::Bbr, 10, Some(1_000_000), 1000),
    ] {
        let mut c = Config { cc, ..config(true) };
        c.window.initial_window = Some(window);
        c.growth.max_pacing_rate = ceiling.map(lasthop_units::Bitrate);
        let mut p = Pair::new(c, c, Duration::from_millis(4));
        p.connect();
        p.drive_until(Instant::from_secs(2), |p| p.ends.iter().all(|e| e.state() == State::Established));
        p.logging = true;
        p.ends[0].write(p.now, 60_000);
        p.flush();
        // Only the last segment of a packet of several has PSH.
        let found = if first == 1000 { packets(&p, 0).pop() } else { packets(&p, 0).first().copied() };
        let expected = if first == 1000 { (10_000, false) } else { (first, true) };
        assert_eq!(found, Some(expected), "{cc:?}, window {window}, ceiling {ceiling:?}");
    }
}

/// A connection that is paced at 1 MB/s and whose peer reads nothing, until its window has room for
/// 536 octets.
fn almost_full(mut c: Config) -> Pair {
    c.growth.max_pacing_rate = Some(lasthop_units::Bitrate(8_000_000));
    let mut peer = c;
    peer.buffers.receive_buffer = 40_000;
    peer.growth.manual_read = true;
    let mut p = Pair::new(c, peer, Duration::from_millis(50));
    p.connect();
    p.drive_until(Instant::from_secs(1), |p| p.ends.iter().all(|e| e.state() == State::Established));
    p.logging = true;
    while p.ends[0].info().snd_wnd > 1100 {
        p.ends[0].write(p.now, 1000);
        p.flush();
        p.drive(p.now + Duration::from_millis(300));
    }
    p
}

/// tcp_mss_split_point tests Nagle's rule where the peer's window cuts a packet, also if the packet
/// is not the last: the part after the last full segment waits while a small one is outstanding.
#[test]
fn a_part_that_the_peers_window_leaves_waits_while_a_small_segment_is_outstanding() {
    let sent = |nagle: bool| {
        let mut c = config(true);
        c.acks.nagle = nagle;
        let mut p = almost_full(c);
        let n = p.log.len();
        p.ends[0].write(p.now, 100);
        // The window has no room for a segment more. The packet of the record is not the last.
        p.ends[0].write_with(p.now, 15_500, WriteHint { record_end: true, more: false });
        p.ends[0].write(p.now, 1000);
        p.flush();
        assert_eq!(packets(&p, n), [(100, true)]);
        // The window opens before the small segment has arrived: for two packets of two segments,
        // and 436 octets more than a segment.
        let n = p.log.len();
        p.drive(p.now + Duration::from_millis(10));
        p.ends[1].read(p.now, 5000);
        p.flush();
        p.drive(p.now + Duration::from_millis(60));
        let room = p.ends[0].info().snd_wnd as u32 - 100;
        let [(2000, true), (2000, true), (third, _)] = packets(&p, n)[..] else {
            panic!("{:?}", packets(&p, n))
        };
        (room, third)
    };
    assert_eq!(sent(false), (5436, 1436), "without Nagle's rule all that the window permits");
    assert_eq!(sent(true), (5436, 1000));
}

/// Nagle's rule cuts off the part after the last full segment also where the packet has the FIN
/// (tcp_mss_split_point). The part leaves as the next packet (tcp_nagle_test: a FIN does not wait),
/// which at 1 MB/s is a millisecond later.
#[test]
fn a_packet_with_a_fin_is_cut_while_a_small_segment_is_outstanding() {
    for (nagle, expected) in [(true, vec![1000, 500]), (false, vec![1500])] {
        let mut c = config(true);
        c.acks.nagle = nagle;
        let mut p = almost_full(c);
        p.ends[0].write(p.now, 100);
        p.ends[0].write_with(p.now, 1500, WriteHint { record_end: true, more: false });
        p.ends[0].close(p.now);
        p.flush();
        p.log.clear();
        p.drive(p.now + Duration::from_millis(10));
        p.ends[1].read(p.now, 5000);
        p.flush();
        p.drive(p.now + Duration::from_millis(60));
        let found = departures(&p);
        assert_eq!(found.iter().map(|d| d.1).collect::<Vec<_>>(), expected, "Nagle {nagle}: {found:?}");
        let last = p.log.iter().rfind(|l| l.1 == 0);
        assert!(last.is_some_and(|l| l.2.flags.has(Flags::FIN)));
    }
}

/// tcp_send_fin pushes with TCP_NAGLE_OFF: the part after the last full segment leaves in the
/// packet, although a small segment is outstanding.
#[test]
fn a_close_pushes_the_part_that_nagles_rule_holds_back() {
    for (close, expected) in [(true, (1500, true)), (false, (1000, false))] {
        let mut p = connected(config(true));
        p.ends[0].write(p.now, 100);
        p.flush();
        let n = p.log.len();
        p.ends[0].write(p.now, 1500);
        if close {
            p.ends[0].close(p.now);
        }
        p.flush();
        assert_eq!(packets(&p, n), [expected], "close {close}");
    }
}

/// A packet with only a FIN has no octets, which take no time at any rate: the next departure is
/// not delayed, and no timer is set for it.
#[test]
fn a_lone_fin_holds_no_departure_back() {
    for sack in [true, false] {
        let mut c = config(sack);
        c.growth.max_pacing_rate = Some(lasthop_units::Bitrate(8_000_000));
        let mut p = connected(c);
        p.ends[0].close(p.now);
        p.flush();
        let next = p.ends[0].poll_at();
        assert!(next.is_some_and(|at| at > p.now), "SACK {sack}: {next:?} at {:?}", p.now);
    }
}

/// tcp_tso_autosize reads sk_pacing_rate, which BBR sets: 2.887 * 0.99 * 10 segments per round
/// trip.
///
/// | round trip | rate | in 1/1024 s | by twice the window |
/// |---|---|---|---|
/// | 8 ms | 3573 kB/s | 3489 octets: 3 segments | 2500 kB/s, 2441: 2 |
/// | 400 ms | 71 kB/s, below bbr_min_tso_rate | 1 segment | the least, 2 |
#[test]
fn bbrs_packets_have_the_size_of_its_own_rate() {
    let sent = |cc: CcName, delay: u64| {
        let c = Config { cc, ..config(true) };
        let mut p = Pair::new(c, c, Duration::from_millis(delay));
        p.connect();
        p.drive_until(Instant::from_secs(2), |p| p.ends.iter().all(|e| e.state() == State::Established));
        p.logging = true;
        p.ends[0].write(p.now, 30_000);
        p.flush();
        packets(&p, 0)
    };
    assert_eq!(sent(CcName::Bbr, 4), [(3000, true), (3000, true), (3000, true), (1000, false)]);
    // Only the last segment of a packet of several has PSH: here there is none.
    assert_eq!(sent(CcName::Bbr, 200), [(10_000, false)]);
    for delay in [4, 200] {
        assert_eq!(sent(CcName::Cubic, delay), [(2000, true); 5]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn what_is_written_arrives_whatever_the_path_does(
        seed: u64, sack: bool, loss in 0.0f64..0.15, reorder in 0.0f64..0.2, duplicate in 0.0f64..0.1,
        writes in proptest::collection::vec((1u64..40_000, any::<bool>(), any::<bool>()), 1..12)
    ) {
        let c = config(sack);
        let mut p = Pair::new(c, c, Duration::from_millis(20));
        for (i, l) in p.links.iter_mut().enumerate() {
            *l = l.clone().seed(seed, i as u64);
            (l.loss, l.reorder, l.duplicate) = (loss, reorder, duplicate);
            l.reorder_by = Duration::from_millis(15);
        }
        p.connect();
        p.drive_until(Instant::from_secs(200), |p| p.ends.iter().all(|e| e.state() == State::Established));
        p.logging = true;
        let mut total = 0;
        for (n, more, record_end) in writes {
            let mut left = n;
            while left > 0 {
                left -= p.ends[0].write_with(p.now, left, WriteHint { more, record_end });
                p.flush();
                p.drive(p.now + Duration::from_millis(30));
            }
            total += n;
        }
        p.ends[0].close(p.now);
        p.flush();
        p.drive_until(Instant::from_secs(7200), |p| p.ends[1].in_order_received() == total && p.ends[0].is_all_acked());
        prop_assert_eq!(p.ends[1].in_order_received(), total);
        prop_assert!(p.ends[0].is_all_acked());
        // Never more than the segment size, and nothing that was not written.
        prop_assert!(p.log.iter().all(|l| l.2.len <= 1000));
    }
}

/// RFC 6817 section 2.4.2 with no queue: GAIN of one segment per window of data acknowledged, so
/// one segment more in each round trip, whatever the packets' size. From 20 segments on, 100 ms,
/// 100 round trips.
#[test]
fn ledbat_grows_by_a_segment_per_round_trip_with_packets_of_two() {
    for gso in [true, false] {
        let o = Options {
            profile: Profile::Linux6,
            cc: Some(CcName::Ledbat),
            buffers: BufferOptions {
                gso: Some(gso),
                receive_buffer: Some(Bytes(8_000_000)),
                ..BufferOptions::default()
            },
            window: WindowOptions { initial_ssthresh: Some(20.0), ..WindowOptions::default() },
            ..Options::default()
        };
        let mut p = Pair::of(&o, Duration::from_millis(50));
        p.connect();
        p.drive(Instant::from_secs(2));
        p.write(0, 50_000_000);
        p.flush();
        p.drive(Instant::from_secs(4));
        let before = p.ends[0].info().snd_cwnd;
        p.drive(Instant::from_secs(14));
        let rate = (p.ends[0].info().snd_cwnd - before) / 100.0;
        assert!((0.97..=1.01).contains(&rate), "gso {gso}: {rate} from {before}");
    }
}

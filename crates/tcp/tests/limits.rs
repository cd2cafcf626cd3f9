//! The limits of a sender, compared with Linux' account (tcp_chrono) and with hand calculation.
//! That one cause holds at every moment is checked in each run of a [`Pair`].

use crate::util::Pair;
use lasthop_tcp::*;
use lasthop_units::{Bitrate, Bytes, Duration, Instant};

/// An application without end: it writes when a whole segment fits.
fn refill(p: &mut Pair) {
    if p.ends[0].writable() >= u64::from(p.ends[0].mss()) {
        p.ends[0].write(p.now, 1 << 40);
        p.flush();
    }
}

/// Nanoseconds of the sender's time by its limit, until `end`.
fn waited(p: &mut Pair, end: Instant) -> Vec<(Limit, u64)> {
    let mut found: Vec<(Limit, u64)> = vec![];
    let mut before = (p.now, p.ends[0].limit(p.now));
    loop {
        let is_over = !p.step() || p.now >= end;
        refill(p);
        let now = p.now.min(end);
        let time = now.since(before.0).0;
        match found.iter_mut().find(|(limit, _)| *limit == before.1) {
            Some((_, sum)) => *sum += time,
            None => found.push((before.1, time)),
        }
        before = (p.now, p.ends[0].limit(p.now));
        if is_over {
            return found;
        }
    }
}

fn of(found: &[(Limit, u64)], wanted: Limit) -> u64 {
    found.iter().filter(|(limit, _)| *limit == wanted).map(|(_, sum)| sum).sum()
}

fn linux() -> Options {
    Options { profile: Profile::Linux6, cc: Some(CcName::Reno), ..Options::default() }
}

/// Client and server 100 ms apart; the client writes as much as its buffer takes.
fn writing(o: &Options) -> Pair {
    let mut p = Pair::of(o, Duration::from_millis(50));
    for link in &mut p.links {
        link.rate = 2_500_000;
    }
    p.connect();
    p.drive_until(Instant::from_secs(1), |p| p.ends.iter().all(|e| e.state() == State::Established));
    refill(&mut p);
    p
}

/// tcp_chrono counts what is queued or in flight as busy, and of that the time limited by the
/// peer's window and the send buffer. Both accounts begin when the connection is established.
fn agrees_with_chrono(p: &mut Pair, of_interest: Limit) {
    let end = p.now + Duration::from_secs(5);
    let start = p.ends[0].limited_times(p.now);
    let found = waited(p, end);
    let now = p.now;
    let (busy, window, buffer) = p.ends[0].limited_times(now);
    let late = now.since(end).0;
    let close = |limit: u64, chrono: Duration, before: Duration| {
        let chrono = chrono.0 - before.0;
        assert!(chrono.abs_diff(limit) <= late, "{limit} ns, Linux {chrono} ns, {late} ns late: {found:?}");
    };
    let idle = of(&found, Limit::Application) + of(&found, Limit::Handshake) + of(&found, Limit::Nothing);
    let all: u64 = found.iter().map(|(_, sum)| sum).sum();
    close(all - idle, busy, start.0);
    close(of(&found, Limit::ReceiveWindow), window, start.1);
    close(of(&found, Limit::SendBuffer), buffer, start.2);
    assert!(of(&found, of_interest) > all / 2, "{found:?}");
    assert_eq!(of(&found, Limit::Other), 0);
}

#[test]
fn the_peers_window_limits_for_as_long_as_linux_counts() {
    let o = Options {
        buffers: BufferOptions { receive_buffer: Some(Bytes(20_000)), ..linux().buffers },
        ..linux()
    };
    agrees_with_chrono(&mut writing(&o), Limit::ReceiveWindow);
}

#[test]
fn the_send_buffer_limits_for_as_long_as_linux_counts() {
    let o =
        Options { buffers: BufferOptions { send_buffer: Some(Bytes(5_000)), ..linux().buffers }, ..linux() };
    agrees_with_chrono(&mut writing(&o), Limit::SendBuffer);
}

#[test]
fn the_congestion_window_limits_for_the_rest() {
    let o = Options { window: WindowOptions { max_window: Some(20), ..linux().window }, ..linux() };
    agrees_with_chrono(&mut writing(&o), Limit::CongestionWindow);
}

/// Linux counts segments: ten of 100 octets fill a window of ten. An eleventh waits for the window,
/// not for more octets.
#[test]
fn small_segments_fill_the_window_of_a_sender_that_counts_segments() {
    for sack in [true, false] {
        let o = Options {
            acks: AckOptions { nagle: Some(false), ..linux().acks },
            negotiated: NegotiatedOptions { sack: Some(sack), ..linux().negotiated },
            window: WindowOptions { initial_window: Some(10), ..linux().window },
            ..linux()
        };
        let mut p = Pair::of(&o, Duration::from_millis(50));
        p.connect();
        p.drive_until(Instant::from_secs(1), |p| p.ends.iter().all(|e| e.state() == State::Established));
        for _ in 0..11 {
            p.write(0, 100);
            p.flush();
        }
        let sent = (p.ends[0].info().unacked, p.ends[0].notsent());
        if sent == (10, 100) {
            assert_eq!(p.ends[0].limit(p.now), Limit::CongestionWindow, "{sack}");
        } else {
            // A sender that counts octets has sent all eleven.
            assert_eq!((sent.1, p.ends[0].limit(p.now)), (0, Limit::Acknowledgement), "{sack} {sent:?}");
        }
        assert!(!sack || sent == (10, 100), "{sent:?}");
    }
}

/// Packets arrive at the peer together with later departures, and the peer takes its segments in
/// before the sender's timer is served. At this moment the departure is due and the windows have
/// room. The sender waits for the timer alone: tcp_chrono counts this as busy (`TCP_CHRONO_BUSY`),
/// limited by neither the peer's window nor the buffer, until tcp_pace_kick sends.
///
/// At 1 MB/s a packet of two segments of 1000 octets, the least, takes 2 ms. Pacing begins with the
/// packet that completes ten segments. Of 20 packets five leave at 0 ms, the others at 2, 4, ...,
/// 30 ms. Each arrives 20 ms later: ten packets arrive together with a departure (five at 20 ms,
/// the others at 22, 24, ..., 30 ms).
#[test]
fn a_departure_that_is_due_waits_for_its_timer() {
    let o = Options {
        negotiated: NegotiatedOptions { timestamps: Some(false), ..linux().negotiated },
        window: WindowOptions { mss: Some(Bytes(1000)), initial_window: Some(40), ..linux().window },
        growth: GrowthOptions { max_pacing_rate: Some(Bitrate(8_000_000)), ..linux().growth },
        ..linux()
    };
    let mut p = Pair::of(&o, Duration::from_millis(20));
    p.connect();
    p.drive_until(Instant::from_secs(1), |p| p.ends[0].state() == State::Established);
    let start = p.now;
    let (busy, window, buffer) = p.ends[0].limited_times(start);
    p.write(0, 40_000);
    p.flush();
    let mut due = vec![];
    while p.ends[0].notsent() > 0 {
        assert_eq!(p.ends[0].limit(p.now), Limit::Pacing, "{}", p.now);
        if p.ends[0].poll_at() == Some(p.now) {
            due.push(p.now.since(start).as_micros() / 1000);
            due.dedup();
        }
        assert!(p.step());
    }
    let time = p.now.since(start);
    assert_eq!((time, due), (Duration::from_millis(30), vec![20, 22, 24, 26, 28, 30]));
    assert_eq!(p.ends[0].limited_times(p.now), (busy + time, window, buffer));
}

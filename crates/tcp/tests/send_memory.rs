//! The send buffer that grows by itself: Linux 6.1, tcp_sndbuf_expand, sk_stream_memory_free,
//! tcp_check_space.

use crate::util::Pair;
use lasthop_tcp::*;
use lasthop_units::{Bytes, Duration, Instant, Seq, SeqRange};

const MSS: u64 = 1448;
/// Octets of memory that a packet takes beside its data.
const OVERHEAD: u64 = 1280;

fn linux() -> Options {
    Options { profile: Profile::Linux6, cc: Some(CcName::Reno), ..Options::default() }
}

/// Both ends established, 100 ms apart.
fn connected(o: &Options) -> Pair {
    let mut p = Pair::of(o, Duration::from_millis(50));
    p.connect();
    p.drive_until(Instant::from_secs(1), |p| p.ends.iter().all(|e| e.state() == State::Established));
    p
}

/// Once established the buffer holds twice the window of ten segments (BBR: three times), each with
/// 320 + 320 octets of headers in a power of two, and 256: 1460 + 640 = 2100, 4096 + 256 = 4352;
/// 536 + 640 = 1176, 2048 + 256 = 2304.
#[test]
fn the_first_buffer_is_that_of_tcp_sndbuf_expand() {
    for (mss, cc, size) in [
        (1460, CcName::Reno, 2 * 10 * 4352),
        (1460, CcName::Bbr, 3 * 10 * 4352),
        (536, CcName::Cubic, 2 * 10 * 2304),
    ] {
        let o = Options {
            cc: Some(cc),
            window: WindowOptions { mss: Some(Bytes(mss)), ..linux().window },
            ..linux()
        };
        assert_eq!(connected(&o).ends[0].send_memory(), Some(size), "{mss} {cc:?}");
    }
    // tcp_wmem's default counts where it is more.
    let o = Options {
        buffers: BufferOptions { send_buffer_start: Some(Bytes(262_144)), ..linux().buffers },
        ..linux()
    };
    assert_eq!(connected(&o).ends[0].send_memory(), Some(262_144));
    // SO_SNDBUF: a buffer that is written stays as it is, and counts data only.
    let o =
        Options { buffers: BufferOptions { send_buffer: Some(Bytes(50_000)), ..linux().buffers }, ..linux() };
    let p = connected(&o);
    assert_eq!((p.ends[0].send_memory(), p.ends[0].writable()), (None, 50_000));
}

/// Every transmission of the first segment is lost; everything else is SACKed, a window of 100
/// segments at a time. What is SACKed stays in the retransmission queue: one packet, because
/// tcp_shift_skb_data joins what is SACKed, so that it counts by its octets. The sender stops when
/// these fill the buffer: that of twice the initial window, 2 * 100 * 4352 = 870400, because
/// recovery's window of 50 needs no more. What is written overdraws it by a packet of 64 KiB at
/// most.
#[test]
fn a_sender_stops_at_its_buffer_while_una_is_stuck() {
    let sent = |tuning: bool| {
        let o = Options {
            window: WindowOptions {
                initial_window: Some(100),
                initial_ssthresh: Some(100.0),
                mss: Some(Bytes(MSS)),
                ..linux().window
            },
            buffers: BufferOptions { send_tuning: Some(tuning), ..linux().buffers },
            negotiated: NegotiatedOptions { timestamps: Some(false), ..linux().negotiated },
            timers: TimerOptions { max_retries: Some(60), ..linux().timers },
            ..linux()
        };
        let mut e = Endpoint::new(o.resolve().unwrap(), Seq(0));
        let mut now = Instant::ZERO;
        e.connect(now);
        while e.poll_transmit(now).is_some() {}
        now = Instant::from_millis(100);
        let answer = Segment {
            seq: Seq(500),
            ack: Seq(1),
            flags: Flags::SYN | Flags::ACK,
            window: 65_535,
            syn: SynOptions::new(Some(1448), Some(10), true),
            ..Segment::default()
        };
        e.handle_segment(now, &answer);
        let mut highest = 0;
        for round in 0..60 {
            for _ in 0..4 {
                let room = e.writable();
                e.write(now, room.min(1 << 20));
                while let Some(s) = e.poll_transmit(now) {
                    highest = highest.max(s.seq.0 + s.len);
                }
            }
            now = Instant::from_millis(200 + 10 * round);
            let mut ack = Segment {
                seq: Seq(501),
                ack: Seq(1),
                flags: Flags::ACK,
                window: 65_535,
                ..Segment::default()
            };
            ack.rare.change(|o| _ = o.sack.push(SeqRange { start: Seq(1 + MSS as u32), end: Seq(highest) }));
            e.handle_segment(now, &ack);
        }
        u64::from(highest)
    };
    let (tuned, unlimited) = (sent(true), sent(false));
    let size = 2 * 100 * 4352;
    assert!((size - 20 * OVERHEAD..size + 65_536).contains(&tuned), "{tuned}");
    assert!(unlimited > 3 * size / 2, "without a buffer the window slides on: {unlimited}");
}

/// sk_stream_write_space notifies a writer that found the buffer full when a third of it is free.
#[test]
fn a_writer_that_filled_the_buffer_writes_again_when_a_third_is_free() {
    let o = Options {
        buffers: BufferOptions { send_buffer_max: Some(Bytes(87_040)), ..linux().buffers },
        window: WindowOptions { initial_ssthresh: Some(10.0), ..linux().window },
        ..linux()
    };
    let mut p = connected(&o);
    while p.ends[0].write(p.now, 65_536) == 65_536 {}
    p.flush();
    let mut least: Option<u64> = None;
    while least.is_none() && p.step() {
        least = Some(p.ends[0].unacknowledged()).filter(|_| p.ends[0].writable() > 0);
    }
    // 2/3 of 87040 are 58026: data, 1280 for each two segments in flight (ten are) and for the two
    // packets that wait.
    let (data, overhead) = (least.unwrap(), 7 * OVERHEAD);
    assert!(data + overhead <= 58_027 && data + overhead > 58_026 - 4 * MSS, "{data}");
}

/// The buffer grows to what twice the window needs, never above the maximum, and never keeps the
/// window from growing: 10 Mbit/s and 40 ms, as by the recordings of the kernel.
#[test]
fn the_buffer_follows_the_window() {
    let mut p = connected(&linux());
    p.write(0, 1 << 30);
    for ms in (1000..4000).step_by(250) {
        p.drive(Instant::from_millis(ms));
        let (size, window) = (p.ends[0].send_memory().unwrap(), p.ends[0].info().snd_cwnd as u64);
        // In flight: 2 * 1448 + 1280 for two segments.
        assert!(
            size <= 4 << 20 && (size == 4 << 20 || size >= window * (2 * MSS + OVERHEAD) / 2),
            "{size} {window}"
        );
    }
    assert_eq!(p.ends[0].send_memory(), Some(4 << 20), "tcp_wmem's maximum");
}

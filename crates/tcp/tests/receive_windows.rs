//! The window that `linux-6` offers with a receive buffer of less than two segments, against what
//! Linux 6.18 answered to the same segments, and its ACKs where the application reads later.

use lasthop_tcp::*;
use lasthop_units::{Bytes, Duration, Instant, Seq};

const ISS: Seq = Seq(1000);

struct Server {
    e: Endpoint,
    now: Instant,
    sent: u32,
}

impl Server {
    fn new(mss: u64, buffer: u64) -> Server {
        let o = Options {
            profile: Profile::Linux6,
            window: WindowOptions { mss: Some(Bytes(mss)), ..WindowOptions::default() },
            buffers: BufferOptions { receive_buffer: Some(Bytes(buffer)), ..BufferOptions::default() },
            growth: GrowthOptions { manual_read: Some(true), ..GrowthOptions::default() },
            ..Options::default()
        };
        let mut s = Server { e: Endpoint::new(o.resolve().unwrap(), Seq(77)), now: Instant::ZERO, sent: 0 };
        s.e.listen();
        s
    }

    /// The segment arrives, or nothing; the ACKs of the 300 ms after it.
    fn step(&mut self, segment: Option<Segment>) -> Vec<(u32, u16)> {
        let mut acks = vec![];
        if let Some(segment) = segment {
            self.e.handle_segment(self.now, &segment);
        }
        let end = self.now + Duration::from_millis(300);
        loop {
            while let Some(s) = self.e.poll_transmit(self.now) {
                acks.push((s.ack.0 - (ISS.0 + 1), s.window));
            }
            match self.e.poll_at().filter(|&at| at <= end) {
                Some(at) => {
                    self.now = self.now.max(at);
                    self.e.on_time(self.now);
                }
                None => break,
            }
        }
        self.now = end;
        acks
    }

    fn open(&mut self) -> u16 {
        let syn = Segment {
            seq: ISS,
            flags: Flags::SYN,
            window: 65_535,
            syn: SynOptions::new(Some(1693), None, false),
            ..Segment::default()
        };
        // The retransmitted SYN-ACKs of a second later are not reached.
        let window = self.step(Some(syn))[0].1;
        assert_eq!(self.step(Some(self.segment(0))), []);
        window
    }

    fn segment(&self, len: u32) -> Segment {
        Segment {
            seq: ISS + 1 + self.sent,
            ack: Seq(78),
            flags: Flags::ACK,
            window: 65_535,
            len,
            ..Segment::default()
        }
    }

    fn data(&mut self, len: u32) -> Vec<(u32, u16)> {
        let segment = self.segment(len);
        self.sent += len;
        self.step(Some(segment))
    }

    fn read(&mut self, len: u64) -> Vec<(u32, u16)> {
        self.e.read(self.now, len);
        self.step(None)
    }
}

/// Linux keeps a window that is within a segment of the free space (__tcp_select_window), so a
/// window of one octet stays when the buffer holds less than two segments: rcv_ssthresh is 1001,
/// and 1 + 1001 octets are more than that. Recorded on 2026-11-23 with Linux 6.18.44 behind a TUN
/// device: MSS 1001, SO_RCVBUF 2000 (which the kernel doubles, and halves for the window), no
/// window scaling, no timestamps. Its tcpi_rcv_mss was 500 at first: half of the window, which is
/// less than 536.
#[test]
fn a_window_of_one_octet_stays_where_the_buffer_holds_less_than_two_segments() {
    let mut s = Server::new(1001, 2000);
    assert_eq!(s.open(), 1001);
    assert_eq!(s.e.info().rcv_mss, 500);
    assert_eq!(s.data(1001), [(1001, 0)]);
    assert_eq!(s.read(1001), [(1001, 1001)]);
    assert_eq!(s.data(1), [(1002, 1001)]);
    assert_eq!(s.data(1000), [(2002, 1)]);
    assert_eq!(s.read(1001), []);
    for n in 2003..2007 {
        assert_eq!(s.data(1), [(n, 1)]);
        assert_eq!(s.read(1), []);
    }
    assert_eq!(s.e.info().rcv_mss, 1001);
}

/// A receiver of `linux-6` whose budget of quick ACKs is used up, which owes no ACK, and its time.
fn after_quick_acks(burst_read: bool) -> Server {
    let o = Options {
        profile: Profile::Linux6,
        window: WindowOptions { mss: Some(Bytes(1000)), ..WindowOptions::default() },
        buffers: BufferOptions { receive_buffer: Some(Bytes(60_000)), ..BufferOptions::default() },
        growth: GrowthOptions { burst_read: Some(burst_read), ..GrowthOptions::default() },
        ..Options::default()
    };
    let mut s = Server { e: Endpoint::new(o.resolve().unwrap(), Seq(77)), now: Instant::ZERO, sent: 0 };
    s.e.listen();
    s.open();
    // Each of these segments comes alone; the last of them has made an ACK leave.
    let mut acks = 0;
    for n in 0.. {
        s.now += Duration::from_millis(1);
        acks = s.arrive(1000) + s.at_this_instant();
        if n > 40 && acks > 0 {
            break;
        }
    }
    assert_eq!((acks, s.e.in_order_received()), (1, u64::from(s.sent)));
    s
}

impl Server {
    /// The ACKs that a segment of data causes before time passes.
    fn arrive(&mut self, len: u32) -> usize {
        let segment = self.segment(len);
        self.sent += len;
        self.e.handle_segment(self.now, &segment);
        std::iter::from_fn(|| self.e.poll_transmit(self.now)).count()
    }

    /// The ACKs of timers that are due now.
    fn at_this_instant(&mut self) -> usize {
        let mut acks = 0;
        while self.e.poll_at().is_some_and(|at| at <= self.now) {
            self.e.on_time(self.now);
            acks += std::iter::from_fn(|| self.e.poll_transmit(self.now)).count();
        }
        acks
    }
}

/// __tcp_ack_snd_check (net/ipv4/tcp_input.c): two segments make an ACK leave only if the window
/// that could be offered is no smaller than before, so if they were read. tcp_cleanup_rbuf
/// (net/ipv4/tcp.c) acknowledges once all has been read.
#[test]
fn a_burst_of_twelve_segments_has_one_ack_where_the_application_reads_behind_it() {
    for (burst_read, while_they_come, behind) in [(false, 6, 0), (true, 0, 1)] {
        let mut s = after_quick_acks(burst_read);
        s.now += Duration::from_millis(1);
        let before = s.e.in_order_received();
        let acks: usize = (0..12).map(|_| s.arrive(1000)).sum();
        let had = s.e.in_order_received() - before;
        assert_eq!((acks, had), (while_they_come, if burst_read { 0 } else { 12_000 }));
        assert_eq!((s.at_this_instant(), s.e.in_order_received() - before), (behind, 12_000));
    }
}

/// The application reads what came before the end of the stream when it reads the end.
#[test]
fn the_end_of_the_stream_comes_behind_its_data() {
    let mut s = after_quick_acks(true);
    s.arrive(1000);
    let fin = Segment { flags: Flags::ACK | Flags::FIN, ..s.segment(500) };
    while s.e.poll_event().is_some() {}
    s.e.handle_segment(s.now, &fin);
    assert_eq!(s.e.in_order_received(), u64::from(s.sent) + 500);
    assert_eq!(s.e.poll_event(), Some(Event::PeerClosed));
}

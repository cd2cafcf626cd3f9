//! The window that `linux-6` offers with a receive buffer of less than two segments, against what
//! Linux 6.18 answered to the same segments.

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

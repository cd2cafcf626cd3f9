//! The effect of single segments in each state: RFC 9293 section 3.10.7, RFC 5961, and 4.4BSD's
//! choices.

use lasthop_tcp::*;
use lasthop_units::{Instant, Seq};

/// One endpoint and the numbers of its segments as a script writes them: SYNs have number 0.
struct One {
    e: Endpoint,
    now: Instant,
}

const OURS: u32 = 5_000;
const PEER: u32 = 90_000;
const FIN_ACK: Flags = Flags(Flags::FIN.0 | Flags::ACK.0);
const SYN_ACK: Flags = Flags(Flags::SYN.0 | Flags::ACK.0);

impl One {
    fn new(host: Host) -> One {
        let options = Options {
            negotiated: NegotiatedOptions {
                timestamps: Some(false),
                window_scaling: Some(false),
                ..NegotiatedOptions::default()
            },
            growth: GrowthOptions { manual_read: Some(true), ..GrowthOptions::default() },
            acks: AckOptions { dsack: Some(true), ..AckOptions::default() },
            buffers: BufferOptions {
                receive_buffer: Some(lasthop_units::Bytes(70_000)),
                ..BufferOptions::default()
            },
            ..Options::default()
        };
        let mut config = options.resolve().unwrap();
        config.host = host;
        One { e: Endpoint::new(config, Seq(OURS)), now: Instant::from_millis(1) }
    }

    /// Sends `len` octets from `seq` on and returns the answer: flags, SEQ, ACK.
    fn gets(&mut self, flags: Flags, seq: u32, len: u32, ack: u32) -> Vec<(Flags, u32, u32)> {
        let segment = Segment {
            seq: Seq(PEER.wrapping_add(seq)),
            ack: Seq(OURS.wrapping_add(ack)),
            flags,
            len,
            window: 30_000,
            syn: if flags.has(Flags::SYN) {
                SynOptions::new(Some(1460), None, true)
            } else {
                SynOptions::NONE
            },
            ..Segment::default()
        };
        self.e.handle_segment(self.now, &segment);
        self.sends()
    }

    fn sends(&mut self) -> Vec<(Flags, u32, u32)> {
        std::iter::from_fn(|| self.e.poll_transmit(self.now))
            .map(|s| (s.flags, s.seq.0.wrapping_sub(OURS), s.ack.0.wrapping_sub(PEER)))
            .collect()
    }

    /// Half open by a SYN of the peer.
    fn received(host: Host) -> One {
        let mut one = One::new(host);
        one.e.listen();
        assert_eq!(one.gets(Flags::SYN, 0, 0, 0), [(SYN_ACK, 0, 1)]);
        one
    }

    fn established(host: Host) -> One {
        let mut one = One::received(host);
        assert!(one.gets(Flags::ACK, 1, 0, 1).is_empty());
        assert_eq!(one.e.state(), State::Established);
        one
    }

    /// Closed by us, then by the peer.
    fn time_wait(host: Host) -> One {
        let mut one = One::established(host);
        one.e.close(one.now);
        assert_eq!(one.sends(), [(FIN_ACK, 1, 1)]);
        assert_eq!(one.gets(FIN_ACK, 1, 0, 2), [(Flags::ACK, 2, 2)]);
        assert_eq!(one.e.state(), State::TimeWait);
        one
    }
}

/// RFC 9293 section 3.10.7.4, first and second: "<SEQ=SND.NXT><ACK=RCV.NXT><CTL=ACK>" answers a
/// segment that is not acceptable, and a reset that is in the window but not at RCV.NXT (RFC 5961
/// section 3.2), in SYN-RECEIVED too.
#[test]
fn in_syn_received_a_wrong_segment_is_answered_with_an_ack_and_a_reset_at_rcv_nxt_ends_it() {
    for host in [Host::PLAIN, Host::LINUX, Host::BSD] {
        let mut one = One::received(host);
        assert_eq!(one.gets(Flags::RST, 100, 0, 0), [(Flags::ACK, 1, 1)], "a challenge");
        assert_eq!(one.gets(Flags::ACK, 200_000, 10, 1), [(Flags::ACK, 1, 1)], "not acceptable");
        assert!(one.gets(Flags::RST, 200_000, 0, 0).is_empty(), "a reset outside");
        assert_eq!(one.gets(Flags::SYN, 0, 0, 0), [(SYN_ACK, 0, 1)], "the SYN again");
        assert_eq!(one.e.state(), State::SynReceived);
        assert!(one.gets(Flags::RST, 1, 0, 0).is_empty());
        assert_eq!(one.e.state(), State::Closed);
    }
}

/// RFC 9293 table 6: a segment without length is acceptable where RCV.NXT =< SEG.SEQ <
/// RCV.NXT+RCV.WND. The SYN-ACK's field is 65535 octets: the window ends before 65536.
#[test]
fn a_reset_right_of_the_window_is_dropped_in_silence() {
    let mut one = One::established(Host::PLAIN);
    assert_eq!(one.gets(Flags::RST, 65_535, 0, 0), [(Flags::ACK, 1, 1)]);
    assert!(one.gets(Flags::RST, 65_536, 0, 0).is_empty());
    // Linux' tcp_sequence: `after(seq, tcp_receive_window + rcv_nxt)` alone is outside.
    let mut linux = One::established(Host::LINUX);
    assert_eq!(linux.gets(Flags::RST, 65_536, 0, 0), [(Flags::ACK, 1, 1)]);
    // 4.4BSD checks against the room in the buffer, which the field cannot hold: 1 + 70000.
    let mut bsd = One::established(Host::BSD);
    assert_eq!(bsd.gets(Flags::RST, 70_000, 0, 0), [(Flags::ACK, 1, 1)]);
    assert!(bsd.gets(Flags::RST, 70_001, 0, 0).is_empty());
    // A closed window still takes a reset at RCV.NXT (RFC 9293 section 3.10.7.4).
    let mut full = One::established(Host::PLAIN);
    full.gets(Flags::ACK, 1, 65_535, 1);
    full.gets(Flags::RST, 65_536, 0, 0);
    assert_eq!(full.e.state(), State::Closed);
}

/// RFC 5961 section 4: a SYN, with or without ACK, is answered with an ACK in TIME-WAIT too, with
/// any numbers.
#[test]
fn a_syn_in_time_wait_is_challenged() {
    for host in [Host::PLAIN, Host::LINUX, Host::BSD] {
        for flags in [Flags::SYN, SYN_ACK, Flags(Flags::SYN.0 | Flags::FIN.0)] {
            for seq in [1, 2, 60_000, 200_000] {
                let mut one = One::time_wait(host);
                assert_eq!(one.gets(flags, seq, 0, 0), [(Flags::ACK, 2, 2)], "{flags} {seq}");
                assert_eq!(one.e.state(), State::TimeWait);
            }
        }
    }
}

/// RFC 9293 section 3.10.7.4, eighth: in TIME-WAIT the peer's FIN is acknowledged and the 2 MSL
/// begin anew.
#[test]
fn the_fin_again_in_time_wait_is_acknowledged_and_restarts_the_time() {
    for host in [Host::PLAIN, Host::LINUX, Host::BSD] {
        let mut one = One::time_wait(host);
        let first = one.e.poll_at().unwrap();
        one.now = Instant::from_secs(20);
        assert_eq!(one.gets(FIN_ACK, 1, 0, 2), [(Flags::ACK, 2, 2)]);
        assert_eq!(one.e.poll_at().unwrap().since(first), one.now.since(Instant::from_millis(1)));
    }
}

/// FreeBSD's tcp_twcheck, sys/netinet/tcp_timewait.c: without ACK nothing, and nothing for a plain
/// repetition.
#[test]
fn in_time_wait_freebsd_answers_what_is_no_plain_repetition() {
    let mut rfc = One::time_wait(Host::PLAIN);
    assert!(rfc.gets(Flags::ACK, 3, 0, 2).is_empty(), "acceptable, and nothing is left to do");
    assert_eq!(rfc.gets(Flags::FIN, 1, 0, 0), [(Flags::ACK, 2, 2)], "not acceptable");
    let mut bsd = One::time_wait(Host::BSD);
    assert_eq!(bsd.gets(Flags::ACK, 3, 0, 2), [(Flags::ACK, 2, 2)]);
    assert_eq!(bsd.gets(Flags::ACK, 2, 10, 2), [(Flags::ACK, 2, 2)]);
    assert!(bsd.gets(Flags::FIN, 1, 0, 0).is_empty());
    assert!(bsd.gets(Flags::ACK, 2, 0, 2).is_empty());
}

/// RFC 9293 figure 13 has a plain ACK; 4.4BSD's tcp_output, in CLOSING, sends the FIN with it.
#[test]
fn in_closing_bsd_sends_its_fin_with_the_ack_of_the_peers() {
    for (host, answer) in [(Host::PLAIN, (Flags::ACK, 2, 2)), (Host::BSD, (FIN_ACK, 1, 2))] {
        let mut one = One::established(host);
        one.e.close(one.now);
        assert_eq!(one.sends(), [(FIN_ACK, 1, 1)]);
        assert_eq!(one.gets(FIN_ACK, 1, 0, 1), [answer]);
        assert_eq!(one.e.state(), State::Closing);
        assert_eq!(one.gets(Flags::SYN, 1, 0, 0), [(Flags::ACK, 2, 2)], "a challenge has no FIN");
        assert!(one.gets(Flags::ACK, 2, 0, 2).is_empty());
        assert_eq!(one.e.state(), State::TimeWait);
    }
}

/// RFC 9293 section 3.10.7.3: text on a SYN-ACK is processed at once; on a SYN it is queued "for
/// processing after the ESTABLISHED state has been reached".
#[test]
fn text_on_a_syn_is_taken_once_the_connection_is_established() {
    let mut one = One::new(Host::BSD);
    one.e.connect(one.now);
    assert_eq!(one.sends()[0].0, Flags::SYN);
    assert_eq!(one.gets(SYN_ACK, 0, 3, 1), [(Flags::ACK, 1, 4)]);
    assert_eq!(one.e.readable(), 3);

    let mut both = One::new(Host::BSD);
    both.e.connect(both.now);
    both.sends();
    assert_eq!(both.gets(Flags::SYN, 0, 3, 0), [(SYN_ACK, 0, 1)]);
    assert_eq!(both.e.readable(), 0);
    assert!(both.gets(Flags::ACK, 4, 0, 1).is_empty(), "acknowledged after the delay");
    assert_eq!((both.e.readable(), both.e.state()), (3, State::Established));

    // Without: the data comes with the peer's retransmission.
    let mut plain = One::new(Host::PLAIN);
    plain.e.connect(plain.now);
    plain.sends();
    assert_eq!(plain.gets(SYN_ACK, 0, 3, 1), [(Flags::ACK, 1, 1)]);
}

/// A FIN has a sequence number and no octet: the window is the buffer's whole room before and after
/// it.
#[test]
fn a_fin_takes_no_room_of_the_window() {
    let mut one = One::established(Host { window: WindowRule::AllRoom, ..Host::PLAIN });
    one.gets(Flags::ACK, 1, 10_000, 1);
    one.gets(FIN_ACK, 10_001, 0, 1);
    let ack = one.e.info();
    assert_eq!(ack.rcv_wnd, 60_000);
}

/// net.inet.tcp.rexmit_drop_options, ecn.maxretries and TCP_NOOPT: what repeated SYNs still carry.
#[test]
fn options_of_repeated_syns_are_those_of_the_host() {
    let options = Options {
        ecn: EcnOptions { ecn: Some(EcnMode::On), ..EcnOptions::default() },
        timers: TimerOptions { syn_retries: Some(12), ..TimerOptions::default() },
        ..Options::default()
    };
    let mut config = options.resolve().unwrap();
    config.host = Host { option_syns: 3, ecn_syns: 2, ..Host::BSD };
    let mut e = Endpoint::new(config, Seq(0));
    e.connect(Instant::ZERO);
    let mut seen = vec![];
    let mut now = Instant::ZERO;
    while seen.len() < 5 {
        let s = e.poll_transmit(now).unwrap();
        seen.push((
            s.flags.has(Flags::ECE),
            s.syn.sack_permitted(),
            s.timestamps.is_some(),
            s.syn.window_scale().is_some(),
        ));
        assert_eq!(s.syn.mss(), Some(1460));
        now = e.poll_at().unwrap();
        e.on_time(now);
    }
    let (all, no_ecn, plain) =
        ((true, true, true, true), (false, true, true, true), (false, false, false, false));
    assert_eq!(seen, [all, all, no_ecn, plain, plain]);
}

/// Linux' tcp_select_initial_window: "space = rounddown(space, mss)". 20000 octets hold 13 segments
/// of 1460: 18980.
#[test]
fn linux_offers_whole_segments_in_a_syn() {
    for (host, window) in [(Host::LINUX, 18_980), (Host::PLAIN, 20_000)] {
        let options = Options {
            buffers: BufferOptions {
                receive_buffer: Some(lasthop_units::Bytes(20_000)),
                ..BufferOptions::default()
            },
            ..Options::default()
        };
        let mut config = options.resolve().unwrap();
        config.host = host;
        let mut e = Endpoint::new(config, Seq(0));
        e.connect(Instant::ZERO);
        assert_eq!(e.poll_transmit(Instant::ZERO).unwrap().window, window);
    }
}

/// Linux' tcp_data_queue takes what is in order whole where the receive queue is empty; RFC 9293
/// section 3.10.7.4 has "trimming off any portions that lie outside the window".
#[test]
fn linux_takes_a_segment_in_order_beyond_the_window_while_nothing_waits() {
    let mut linux = One::established(Host::LINUX);
    assert!(linux.gets(Flags::ACK, 1, 80_000, 1).is_empty(), "acknowledged after the delay");
    linux.now = linux.e.poll_at().unwrap();
    linux.e.on_time(linux.now);
    assert_eq!(linux.sends(), [(Flags::ACK, 1, 80_001)]);
    assert_eq!(linux.gets(Flags::ACK, 80_001, 1000, 1), [(Flags::ACK, 1, 80_001)], "the window is closed");
    assert_eq!(linux.gets(FIN_ACK, 80_001, 0, 1), [(Flags::ACK, 1, 80_002)], "a FIN needs no room");
    let mut rfc = One::established(Host::PLAIN);
    assert_eq!(rfc.gets(Flags::ACK, 1, 80_000, 1), [(Flags::ACK, 1, 65_536)]);
    // What is not in order is cut.
    let mut hole = One::established(Host::LINUX);
    hole.gets(Flags::ACK, 2, 80_000, 1);
    assert_eq!(hole.gets(Flags::ACK, 1, 1, 1), [(Flags::ACK, 1, 65_536)]);
}

/// Linux' tcp_fin calls tcp_sack_reset; RFC 2883 section 4 reports the duplicate in the next ACK.
#[test]
fn in_linux_a_fin_discards_the_duplicate_to_report() {
    for (host, blocks) in [(Host::LINUX, 0), (Host::PLAIN, 1)] {
        let mut one = One::established(host);
        one.gets(Flags::ACK, 1, 1000, 1);
        let fin = Segment {
            seq: Seq(PEER + 1),
            ack: Seq(OURS + 1),
            flags: FIN_ACK,
            len: 1000,
            window: 30_000,
            ..Segment::default()
        };
        one.e.handle_segment(one.now, &fin);
        let ack = one.e.poll_transmit(one.now).unwrap();
        assert_eq!((ack.ack, ack.rare.sack.len()), (Seq(PEER + 1002), blocks));
    }
}

//! Any bytes as a TCP segment: decoded, encoded again, and given to an endpoint in whatever state
//! it is.
#![no_main]

use std::net::{IpAddr, Ipv4Addr};

use arbitrary::Arbitrary;
use lasthop_tcp::*;
use lasthop_units::{Bytes, Duration, Instant, Seq, SeqRange};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input {
    profile: u8,
    cc: u8,
    ecn: bool,
    offload: bool,
    active: bool,
    /// Whether a handshake is done before the operations, or they begin in LISTEN or SYN-SENT.
    open: bool,
    ops: Vec<Op>,
}

#[derive(Arbitrary, Debug)]
enum Op {
    /// The bytes as they are.
    Raw {
        bytes: Vec<u8>,
    },
    /// The bytes with their numbers counted from what the endpoint expects, as a peer's or a good
    /// guesser's are.
    Near {
        bytes: Vec<u8>,
        seq: i16,
        ack: i16,
    },
    Write {
        octets: u32,
    },
    Read {
        octets: u32,
    },
    Close,
    Abort,
    Connect,
    Listen,
    Wait {
        ms: u16,
    },
    Timer,
}

const MSS: u32 = 1000;
const PEER_ISN: Seq = Seq(0xffff_ff00);
const A: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const B: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));

fuzz_target!(|input: Input| {
    let mut now = Instant::from_millis(3);
    let mut e = endpoint(&input);
    if input.active {
        e.connect(now)
    } else {
        e.listen()
    }
    send(&mut e, now);
    if input.open {
        handshake(&mut e, now, input.active);
    }
    let mut received = 0;
    for op in &input.ops {
        apply(&mut e, &mut now, op);
        send(&mut e, now);
        assert!(e.in_order_received() >= received, "what was received in order stays received");
        received = e.in_order_received();
        let _ = e.info();
        while e.poll_event().is_some() {}
    }
});

fn endpoint(input: &Input) -> Endpoint {
    let cc = cc::ALGORITHMS[usize::from(input.cc) % cc::ALGORITHMS.len()].id;
    let options = Options {
        profile: Profile::ALL[usize::from(input.profile) % Profile::ALL.len()],
        cc: Some(cc),
        // BBR needs RACK's delivery times.
        recovery: cc.needs().delivery_rate.then_some(RecoveryFlavour::Rack),
        ecn: EcnOptions { ecn: input.ecn.then_some(EcnMode::Accurate), ..EcnOptions::default() },
        window: WindowOptions { mss: Some(Bytes(u64::from(MSS))), ..WindowOptions::default() },
        ..Options::default()
    };
    let mut config = options.resolve().expect("the options are valid");
    config.host.offload = input.offload.then_some(Offload::LINUX);
    Endpoint::new(config, Seq(u32::MAX - 2000))
}

fn handshake(e: &mut Endpoint, now: Instant, active: bool) {
    let syn = Segment {
        seq: PEER_ISN,
        ack: past(e.info().snd_una, i64::from(active)),
        flags: if active { Flags::SYN | Flags::ACK } else { Flags::SYN },
        window: 60_000,
        syn: SynOptions::new(Some(1460), Some(7), true),
        timestamps: Some(Timestamps { value: 1, echo: 0 }),
        ..Segment::default()
    };
    e.handle_segment(now, &syn);
    send(e, now);
    if !active {
        let ack = Segment {
            seq: past(PEER_ISN, 1),
            ack: past(e.info().snd_una, 1),
            flags: Flags::ACK,
            window: 500,
            timestamps: Some(Timestamps { value: 2, echo: 0 }),
            ..Segment::default()
        };
        e.handle_segment(now, &ack);
    }
}

fn apply(e: &mut Endpoint, now: &mut Instant, op: &Op) {
    match op {
        Op::Raw { bytes } => {
            if let Some(segment) = decoded(bytes) {
                e.handle_segment(*now, &segment);
            }
        }
        Op::Near { bytes, seq, ack } => {
            if let Some(segment) = decoded(bytes) {
                e.handle_segment(*now, &near(e, segment, *seq, *ack));
            }
        }
        Op::Write { octets } => drop(e.write(*now, u64::from(*octets))),
        Op::Read { octets } => drop(e.read(*now, u64::from(*octets))),
        Op::Close => e.close(*now),
        Op::Abort => e.abort(*now),
        Op::Connect => e.connect(*now),
        Op::Listen => e.listen(),
        Op::Wait { ms } => {
            *now += Duration::from_millis(u64::from(*ms));
            e.on_time(*now);
        }
        Op::Timer => {
            if let Some(at) = e.poll_at() {
                *now = (*now).max(at);
                e.on_time(*now);
                for _ in 0..1000 {
                    let _ = e.poll_transmit(*now);
                }
                assert!(
                    e.poll_at().is_none_or(|at| at > *now),
                    "what was due is done: no waking in a circle"
                );
            }
        }
    }
}

/// The segment that the bytes are, if they are one; it survives being written and read again.
fn decoded(bytes: &[u8]) -> Option<Segment> {
    let mut segment = Segment::decode(bytes).ok()?.segment;
    assert_eq!(segment.wire_len() as usize - segment.header_len() as usize, segment.len as usize);
    // Padded as Linux pads them, fewer blocks may fit.
    segment.sack.truncate(segment.sack_blocks_that_fit());
    survives_the_wire(&segment);
    Some(segment)
}

fn survives_the_wire(segment: &Segment) {
    let bytes = segment.encode(1, 2, A, B, &[]);
    assert_eq!(bytes.len(), segment.wire_len() as usize);
    assert!(checksum_is_right(&bytes, A, B));
    let back = Segment::decode(&bytes).expect("what was encoded is decoded");
    // The codepoint belongs to IP, not to the bytes.
    assert_eq!(back.segment, Segment { ecn: back.segment.ecn, ..*segment });
}

/// The segment with its numbers moved to about where the endpoint expects them.
fn near(e: &Endpoint, segment: Segment, seq: i16, ack: i16) -> Segment {
    let una = e.info().snd_una;
    let mut sack = SackBlocks::NONE;
    for block in segment.sack.iter() {
        let at = |s: Seq| past(una, i64::from(s.0 % 0x4_0000));
        sack.push(SeqRange { start: at(block.start), end: at(block.end) });
    }
    let next = past(PEER_ISN, 1 + e.in_order_received() as i64);
    Segment { seq: past(next, i64::from(seq)), ack: past(una, i64::from(ack)), sack, ..segment }
}

fn past(seq: Seq, by: i64) -> Seq {
    Seq(seq.0.wrapping_add(by as u32))
}

/// Takes what the endpoint sends, some of it: the rest is for later.
fn send(e: &mut Endpoint, now: Instant) {
    for _ in 0..64 {
        let Some(segment) = e.poll_transmit(now) else { return };
        assert!(segment.header_len() <= 60 && segment.len <= MSS);
        survives_the_wire(&segment);
    }
}

//! Any sequence of segments, timers and application calls is survived, and the invariants hold
//! after each (debug assertions inside the endpoint check them).

use lasthop_tcp::*;
use lasthop_units::{Bytes, Duration, Instant, Seq, SeqRange};
use proptest::prelude::*;

/// One thing that may happen to an endpoint.
#[derive(Clone, Debug)]
enum Operation {
    Segment {
        seq: i64,
        ack: i64,
        flags: u8,
        window: u16,
        len: u32,
        blocks: Vec<(i64, i64)>,
        time: Option<(u32, u32)>,
    },
    Syn {
        flags: u8,
        mss: Option<u16>,
        scale: Option<u8>,
        sack: bool,
        time: bool,
    },
    Write(u64),
    Read(u64),
    Close,
    Abort,
    Connect,
    Listen,
    Wait(u64),
    Timer,
    Transmit(usize),
}

fn near() -> impl Strategy<Value = i64> {
    prop_oneof![4 => -3000i64..8000, 2 => Just(0), 2 => Just(1), 1 => any::<i64>()]
}

fn operation() -> impl Strategy<Value = Operation> {
    use Operation::*;
    let flags = prop_oneof![6 => Just(0x10u8), 1 => Just(0x11), 1 => any::<u8>()];
    let time = proptest::option::of((any::<u32>(), any::<u32>()));
    let segment = (
        near(),
        near(),
        flags,
        prop_oneof![3 => Just(5000u16), 1 => Just(0), 1 => any::<u16>()],
        prop_oneof![3 => Just(0u32), 2 => 0u32..3000, 1 => any::<u32>()],
        proptest::collection::vec((near(), near()), 0..5),
        time,
    )
        .prop_map(|(seq, ack, flags, window, len, blocks, time)| Segment {
            seq,
            ack,
            flags,
            window,
            len,
            blocks,
            time,
        });
    let syn = (
        prop_oneof![2 => Just(0x12u8), 1 => Just(2)],
        any::<Option<u16>>(),
        any::<Option<u8>>(),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(flags, mss, scale, sack, time)| Syn { flags, mss, scale, sack, time });
    prop_oneof![
        20 => segment,
        2 => syn,
        5 => (1u64..20_000).prop_map(Write),
        1 => any::<u64>().prop_map(Write),
        2 => any::<u64>().prop_map(Read),
        1 => Just(Close),
        1 => Just(Abort),
        1 => Just(Connect),
        1 => Just(Listen),
        4 => (0u64..3000).prop_map(Wait),
        4 => Just(Timer),
        8 => (1usize..50).prop_map(Transmit),
    ]
}

fn options() -> impl Strategy<Value = Options> {
    let recovery = proptest::sample::select(vec![
        RecoveryFlavour::Tahoe,
        RecoveryFlavour::Reno,
        RecoveryFlavour::NewReno,
        RecoveryFlavour::Sack,
        RecoveryFlavour::Rack,
        RecoveryFlavour::Rack,
    ]);
    let profile = proptest::sample::select(Profile::ALL);
    let cc = proptest::sample::select(cc::ALGORITHMS.iter().map(|a| a.id).collect::<Vec<_>>());
    let parts = (any::<[bool; 5]>(), profile, cc, recovery, 256u64..100_000);
    parts.prop_map(|(b, profile, cc, recovery, buffer)| {
        let recovery = if cc.needs().delivery_rate { RecoveryFlavour::Rack } else { recovery };
        Options {
            profile,
            cc: Some(cc),
            recovery: Some(recovery),
            acks: AckOptions { dsack: Some(b[0]), ..AckOptions::default() },
            vegas: VegasOptions {
                vegas_rto: Some(if b[1] { VegasRto::Fine } else { VegasRto::Coarse }),
                ..VegasOptions::default()
            },
            growth: GrowthOptions {
                manual_read: Some(b[2]),
                burst_read: Some(b[4]),
                ..GrowthOptions::default()
            },
            loss: LossOptions { bugfix: Some(b[3]), ..LossOptions::default() },
            window: WindowOptions { mss: Some(Bytes(1000)), ..WindowOptions::default() },
            buffers: BufferOptions { receive_buffer: Some(Bytes(buffer)), ..BufferOptions::default() },
            ..Options::default()
        }
    })
}

const PEER_ISN: Seq = Seq(0xffff_ff00);

#[allow(clippy::too_many_lines)] // an arm for each operation
fn apply(e: &mut Endpoint, now: &mut Instant, op: &Operation) {
    let i = e.info();
    let peer = |x: i64| {
        Seq(PEER_ISN.0.wrapping_add(1).wrapping_add(e.in_order_received() as u32).wrapping_add(x as u32))
    };
    let ours = |x: i64| Seq(i.snd_una.0.wrapping_add(x as u32));
    match op {
        Operation::Segment { seq, ack, flags, window, len, blocks, time } => {
            let mut s = Segment {
                seq: peer(*seq),
                ack: ours(*ack),
                flags: Flags(*flags),
                window: *window,
                len: *len,
                timestamps: time.map(|(value, echo)| Timestamps { value, echo }),
                ..Segment::default()
            };
            for (a, b) in blocks {
                s.rare.change(|o| _ = o.sack.push(SeqRange { start: ours(*a), end: ours(*b) }));
            }
            e.handle_segment(*now, &s);
        }
        Operation::Syn { flags, mss, scale, sack, time } => {
            let s = Segment {
                seq: PEER_ISN,
                ack: ours(1),
                flags: Flags(*flags),
                window: 60_000,
                syn: SynOptions::new(*mss, *scale, *sack),
                timestamps: time.then(Timestamps::default),
                ..Segment::default()
            };
            e.handle_segment(*now, &s);
        }
        Operation::Write(n) => {
            e.write(*now, *n);
        }
        Operation::Read(n) => {
            e.read(*now, *n);
        }
        Operation::Close => e.close(*now),
        Operation::Abort => e.abort(*now),
        Operation::Connect => e.connect(*now),
        Operation::Listen => e.listen(),
        Operation::Wait(ms) => {
            *now += Duration::from_millis(*ms);
            e.on_time(*now);
        }
        Operation::Timer => {
            if let Some(t) = e.poll_at() {
                *now = (*now).max(t);
                e.on_time(*now);
                for _ in 0..1000 {
                    let _ = e.poll_transmit(*now);
                }
                assert!(e.poll_at().is_none_or(|t| t > *now), "what was due is done: no waking in a circle");
            }
        }
        Operation::Transmit(n) => {
            for _ in 0..*n {
                let Some(s) = e.poll_transmit(*now) else { break };
                assert!(s.header_len() <= 60);
                assert!(s.len <= 1000, "no segment exceeds the MSS");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]
    #[test]
    fn any_sequence_of_segments_timers_and_calls_is_survived(
        o in options(),
        active: bool,
        handshake: bool,
        offload: bool,
        bsd: bool,
        operations in proptest::collection::vec(operation(), 0..120),
    ) {
        let mut config = o.resolve().unwrap();
        if bsd {
            config.host = Host { option_syns: 2, ecn_syns: 3, merged_segment: Some(500), ..Host::BSD };
        }
        config.host.offload = offload.then_some(Offload::LINUX);
        let mut e = Endpoint::new(config, Seq(u32::MAX - 2000));
        if offload {
            e.set_user_timeout(Some(Duration::from_secs(2)));
            e.set_notsent_limit(50_000);
        }
        let mut now = Instant::from_millis(3);
        if active { e.connect(now) } else { e.listen() }
        if handshake {
            let _ = e.poll_transmit(now);
            let flags = if active { 0x12 } else { 0x02 };
            let syn = Operation::Syn { flags, mss: Some(1460), scale: Some(3), sack: true, time: false };
            apply(&mut e, &mut now, &syn);
            let _ = e.poll_transmit(now);
            let ack = Operation::Segment { seq: 0, ack: i64::from(!active), flags: 0x10, window: 9000, len: 0, blocks: vec![], time: None };
            apply(&mut e, &mut now, &ack);
        }
        for op in &operations {
            apply(&mut e, &mut now, op);
            let _ = e.info();
            while e.poll_event().is_some() {}
        }
        // Polling ends without input.
        let mut n = 0u32;
        while e.poll_transmit(now).is_some() {
            n += 1;
            prop_assert!(n < 2_000_000);
            if n > 100_000 { break; }
        }
    }
}

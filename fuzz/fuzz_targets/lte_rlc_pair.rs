//! Two RLC entities that talk through encoded PDUs, under any sequence of calls; some PDUs are the
//! fuzzer's own.
#![no_main]

use arbitrary::Arbitrary;
use lasthop_lte_l2::rlc::wire::WireRlc;
use lasthop_lte_l2::rlc::{End, Mode, RlcConfig};
use lasthop_units::{Duration, Instant};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input {
    acknowledged: bool,
    wide: bool,
    wide_uplink: bool,
    ops: Vec<Op>,
}

#[derive(Arbitrary, Debug)]
enum Op {
    Push { end: bool, size: u16 },
    Pull { end: bool, grant: u16 },
    Deliver { nth: u8 },
    Lose { nth: u8 },
    Forge { end: bool, bytes: Vec<u8> },
    Wait { ms: u8 },
    ReEstablish,
    Discard { end: bool, serial: u8 },
}

fuzz_target!(|input: Input| {
    let mode = if input.acknowledged { Mode::Am } else { Mode::Um };
    let mut config = RlcConfig { mode, ..RlcConfig::default() };
    config.am.sn_bits = if input.wide { 16 } else { 10 };
    config.um.sn_bits = if input.wide { 10 } else { 5 };
    config.am.sn_bits_uplink = Some(if input.wide_uplink { 16 } else { 10 });
    config.um.sn_bits_uplink = Some(if input.wide_uplink { 10 } else { 5 });
    let mut ends = [WireRlc::new(&config, End::Network), WireRlc::new(&config, End::Ue)];
    let mut air: Vec<(usize, Vec<u8>)> = Vec::new();
    let mut now = Instant::ZERO;
    for op in input.ops {
        match op {
            Op::Push { end, size } => {
                ends[usize::from(end)].push(now, &vec![0x5a; usize::from(size)]);
            }
            Op::Pull { end, grant } => {
                let pdus = ends[usize::from(end)].pull(now, u32::from(grant));
                assert!(pdus.iter().map(Vec::len).sum::<usize>() <= usize::from(grant));
                air.extend(pdus.into_iter().map(|p| (1 - usize::from(end), p)));
            }
            Op::Deliver { nth } if !air.is_empty() => {
                let (to, bytes) = air.remove(usize::from(nth) % air.len());
                ends[to].receive(now, &bytes);
            }
            Op::Lose { nth } if !air.is_empty() => drop(air.remove(usize::from(nth) % air.len())),
            Op::Forge { end, bytes } => ends[usize::from(end)].receive(now, &bytes),
            Op::Wait { ms } => {
                now += Duration::from_millis(u64::from(ms));
                ends.iter_mut().for_each(|e| e.on_time(now));
            }
            Op::ReEstablish => {
                air.clear();
                ends.iter_mut().for_each(WireRlc::re_establish);
            }
            Op::Discard { end, serial } => {
                ends[usize::from(end)].discard(u64::from(serial));
            }
            Op::Deliver { .. } | Op::Lose { .. } => {}
        }
        for end in &mut ends {
            let _ = (end.buffer_status(), end.poll_at());
            end.delivered().for_each(drop);
            end.confirmed().for_each(drop);
            end.dropped().for_each(drop);
        }
    }
});

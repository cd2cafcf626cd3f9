//! A bearer under any sequence of calls: every packet once and in order, or dropped by name, or
//! inside.
#![no_main]

use arbitrary::Arbitrary;
use lasthop_bearer::End;
use lasthop_lte_l2::pdcp::{LteBearer, LteBearerConfig, LteBearerOutput};
use lasthop_lte_l2::rlc::{Grant, Mode, Pdu};
use lasthop_bearer::OrInfinity;
use lasthop_units::{Duration, Id, Instant, PacketId};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input {
    acknowledged: bool,
    discard: bool,
    ops: Vec<Op>,
}

#[derive(Arbitrary, Debug)]
enum Op {
    Push { up: bool, size: u16 },
    Pull { up: bool, grant: u16 },
    Deliver { nth: u8, again: bool },
    Lose { nth: u8 },
    Wait { ms: u8 },
    ReEstablish,
}

fuzz_target!(|input: Input| {
    let mut config = LteBearerConfig::default();
    config.rlc.mode = if input.acknowledged { Mode::Am } else { Mode::Um };
    if input.discard {
        config.pdcp.discard_timer = OrInfinity::Value(Duration::from_millis(50));
    }
    let (mut bearer, mut out) = (LteBearer::new(&config), LteBearerOutput::default());
    let mut air: Vec<(End, Pdu)> = Vec::new();
    let mut fates: [Vec<Option<bool>>; 2] = Default::default();
    let mut now = Instant::ZERO;
    let end = |up: bool| if up { End::Ue } else { End::Network };
    for op in input.ops {
        match op {
            Op::Push { up, size } => {
                let fates = &mut fates[end(up).index()];
                let id = PacketId::from_index(fates.len());
                fates.push(None);
                bearer.push(now, end(up), id, u32::from(size) + 1, &mut out);
            }
            Op::Pull { up, grant } => {
                let mut pdus = Vec::new();
                bearer.pull(now, end(up), Grant::of(u32::from(grant)), &mut pdus, &mut out);
                air.extend(pdus.into_iter().map(|p| (end(up).peer(), p)));
            }
            Op::Deliver { nth, again } if !air.is_empty() => {
                let nth = usize::from(nth) % air.len();
                let (to, pdu) = if again { air[nth].clone() } else { air.remove(nth) };
                bearer.receive(now, to, &pdu, &mut out);
            }
            Op::Lose { nth } if !air.is_empty() => drop(air.remove(usize::from(nth) % air.len())),
            Op::Wait { ms } => {
                now += Duration::from_millis(u64::from(ms));
                bearer.on_time(now, &mut out);
            }
            Op::ReEstablish => {
                air.clear();
                bearer.re_establish(now, &mut out);
            }
            Op::Deliver { .. } | Op::Lose { .. } => {}
        }
        for (at, sdu) in out.delivered.drain(..) {
            let fates = &mut fates[at.peer().index()];
            let n = sdu.serial as usize;
            assert!(fates[n].replace(true).is_none() && !fates[n + 1..].contains(&Some(true)));
        }
        for (by, sdu, _) in out.dropped.drain(..) {
            assert!(fates[by.index()][sdu.serial as usize].replace(false).is_none());
        }
        for end in [End::Network, End::Ue] {
            let open = fates[end.index()].iter().filter(|f| f.is_none()).count();
            assert_eq!(bearer.inside(end), open);
        }
    }
});

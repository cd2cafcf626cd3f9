//! Tests of two entities that exchange only encoded PDUs.

use super::support::*;
use lasthop_engine::{Draw, Purpose};
use lasthop_lte_l2::rlc::wire::WireRlc;
use lasthop_lte_l2::rlc::*;
use proptest::prelude::*;

/// The bytes of SDU `i`.
fn content(i: u64, size: usize) -> Vec<u8> {
    (0..size).map(|k| (i as usize * 31 + k * 7) as u8).collect()
}

fn run(config: &RlcConfig, seed: u64, loss: f64, corrupt: f64, n: u64) -> Vec<Vec<u8>> {
    let mut ends = [WireRlc::new(config, End::Network), WireRlc::new(config, End::Ue)];
    let mut rng = Draw::new(seed, Purpose::Test, 1).stream(0);
    let mut air: Vec<(u64, usize, Vec<u8>)> = Vec::new();
    let (mut pushed, mut got) = (0, Vec::new());
    for t in 0..20_000 {
        if pushed < n && t % 2 == 0 {
            ends[0].push(ms(t), &content(pushed, 1 + (pushed as usize * 97) % 1800));
            pushed += 1;
        }
        for (_, to, bytes) in air.extract_if(.., |a| a.0 <= t) {
            ends[to].receive(ms(t), &bytes);
        }
        for (i, end) in ends.iter_mut().enumerate() {
            end.on_time(ms(t));
            let grant = 1 + rng.below(1500) as u32;
            for mut bytes in end.pull(ms(t), grant) {
                if t < 10_000 && rng.uniform() < loss {
                    continue;
                }
                if rng.uniform() < corrupt {
                    let at = rng.below(bytes.len() as u64) as usize;
                    bytes[at] ^= 1 << rng.below(8);
                }
                air.push((t + 4, 1 - i, bytes));
            }
        }
        got.extend(ends[1].delivered());
    }
    if corrupt == 0.0 {
        assert_eq!(ends[0].held(), 0, "bytes of confirmed SDUs are released");
    }
    got
}

#[test]
fn am_delivers_every_byte_through_a_lossy_pipe() {
    for (seed, loss) in [(1, 0.0), (2, 0.1), (3, 0.4)] {
        let got = run(&RlcConfig::default(), seed, loss, 0.0, 400);
        assert_eq!(got.len(), 400);
        for (i, bytes) in got.iter().enumerate() {
            assert_eq!(*bytes, content(i as u64, 1 + (i * 97) % 1800), "SDU {i}");
        }
    }
}

#[test]
fn um_delivers_whole_sdus_only() {
    let config = RlcConfig { mode: Mode::Um, ..RlcConfig::default() };
    let got = run(&config, 4, 0.2, 0.0, 400);
    assert!(got.len() > 100 && got.len() < 400);
    let mut from = 0;
    for bytes in &got {
        let found = (from..400).find(|&i| *bytes == content(i, 1 + (i as usize * 97) % 1800));
        from = found.expect("what is delivered was sent, in order") + 1;
    }
}

#[test]
fn tm_passes_bytes_as_they_are() {
    let config = RlcConfig { mode: Mode::Tm, ..RlcConfig::default() };
    let (mut a, mut b) = (WireRlc::new(&config, End::Network), WireRlc::new(&config, End::Ue));
    a.push(ms(0), b"paging");
    assert!(a.pull(ms(0), 5).is_empty(), "transparent mode does not segment");
    for pdu in a.pull(ms(1), 6) {
        b.receive(ms(1), &pdu);
    }
    assert_eq!(b.delivered().collect::<Vec<_>>(), [b"paging"]);
}

/// Bit errors that no CRC detects may corrupt data, but never cause a panic or stop an entity.
#[test]
fn flipped_bits_do_not_stop_an_entity() {
    for seed in 0..8 {
        run(&RlcConfig::default(), seed, 0.1, 0.05, 100);
        run(&RlcConfig { mode: Mode::Um, ..RlcConfig::default() }, seed, 0.1, 0.05, 100);
    }
}

proptest! {
    /// Arbitrary bytes and calls in any order cause no panic.
    #[test]
    fn any_bytes_from_the_other_end_are_survived(
        am: bool, wide: bool,
        ops in prop::collection::vec((0u8..6, prop::collection::vec(any::<u8>(), 0..40), 0u32..200), 0..200),
    ) {
        let mut config = RlcConfig { mode: if am { Mode::Am } else { Mode::Um }, ..RlcConfig::default() };
        config.am.sn_bits = if wide { 16 } else { 10 };
        let mut e = WireRlc::new(&config, End::Ue);
        for (t, (op, bytes, n)) in (0u64..).zip(ops) {
            let now = ms(t * 7);
            match op {
                0 if !bytes.is_empty() => { e.push(now, &bytes); }
                1 => { e.pull(now, n); }
                2 => e.on_time(now),
                3 if n == 0 => e.re_establish(),
                _ => e.receive(now, &bytes),
            }
            let _ = e.buffer_status();
        }
    }
}

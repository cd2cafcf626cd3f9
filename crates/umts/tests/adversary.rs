//! Two acknowledged mode entities over an adversarial channel: losses, repetitions, any valid set
//! of triggers, any parameters. Every SDU leaves exactly once and in order; and when the losses
//! end, all SDUs leave in bounded time for every set of triggers of which `validate` does not warn.

use std::collections::{BTreeMap, VecDeque};

use lasthop_bearer::{DropCause, Sdu};
use lasthop_engine::{Draw, Purpose, Stream};
use lasthop_umts::rlc::am::{AmConfig, AmEntity, BufferPolicy, OnMaxDat, StatusFormat};
use lasthop_umts::rlc::codec;
use lasthop_umts::rlc::pdu::Pdu;
use lasthop_umts::rlc::{Output, RlcEvent};
use lasthop_units::{Bytes, Duration, Id, Instant, PacketId, Ratio};
use proptest::prelude::*;

/// Parameters drawn with the seed: each mechanism on or off, small windows and counts that are soon
/// reached.
fn any_config(r: &mut Stream) -> AmConfig {
    let ms = |n: u64| Duration::from_millis(n);
    let pick = |r: &mut Stream, values: &[u64]| values[r.below(values.len() as u64) as usize];
    let on = |r: &mut Stream| r.below(2) == 0;
    let window = pick(r, &[1, 8, 32, 128, 1024, 2047, 4095]) as u32;
    let wide = window > 2048;
    let actions = [OnMaxDat::Unlimited, OnMaxDat::Reset, OnMaxDat::Discard];
    AmConfig {
        tx_window: window,
        rx_window: window,
        in_sequence: on(r),
        poll_last_pdu: on(r),
        poll_last_retransmission: on(r),
        poll_pdu: pick(r, &[0, 1, 4, 128]) as u32,
        poll_sdu: pick(r, &[0, 1, 4]) as u32,
        poll_window: Ratio(pick(r, &[0, 50, 90]) as f64 / 100.0),
        poll_window_repeat: pick(r, &[1, 16, 128]) as u32,
        timer_poll: ms(pick(r, &[0, 100, 200])),
        timer_poll_prohibit: ms(pick(r, &[0, 60, 200])),
        timer_poll_periodic: ms(pick(r, &[0, 0, 300])),
        missing_pdu_indicator: on(r),
        timer_status_prohibit: ms(pick(r, &[0, 60, 200])),
        timer_status_periodic: ms(pick(r, &[0, 0, 200])),
        status_format: if on(r) { StatusFormat::Bitmap } else { StatusFormat::List },
        piggyback: on(r),
        nack_guard: ms(pick(r, &[0, 0, 60])),
        max_dat: pick(r, &[2, 4, 40]) as u32,
        on_max_dat: actions[r.below(if wide { 2 } else { 3 }) as usize],
        timer_rst: ms(100),
        max_rst: 4,
        timer_mrw: ms(100),
        max_mrw: 4,
        timer_discard: if wide { ms(0) } else { ms(pick(r, &[0, 0, 500])) },
        buffer_sdus: pick(r, &[0, 0, 8]) as u32,
        buffer_bytes: Bytes(0),
        buffer_policy: if on(r) { BufferPolicy::DropTail } else { BufferPolicy::DropHead },
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    Inside,
    Delivered,
    Dropped(DropCause),
}

struct Pair {
    ends: [AmEntity; 2],
    /// By sender: PDUs in transmission.
    air: [VecDeque<(Instant, Pdu)>; 2],
    /// By sender: the outcome of each SDU.
    outcomes: [Vec<Outcome>; 2],
    last_delivered: [Option<u64>; 2],
    /// Delivered sizes, by receiver.
    sizes: [Vec<u32>; 2],
    out: Output,
    pdus: Vec<Pdu>,
    in_bytes: bool,
    in_sequence: bool,
    failures: u32,
    /// Number of consecutive pulls without a PDU although `has_data`.
    empty: [u32; 2],
    /// By sender, HFN and SN: transmissions of a PDU.
    transmissions: [BTreeMap<(u32, u32), u32>; 2],
}

const STEP: Duration = Duration::from_millis(10);
const DELAY: Duration = Duration::from_millis(15);

impl Pair {
    fn new(a: AmConfig, b: AmConfig, payload: u64, in_bytes: bool) -> Pair {
        Pair {
            in_sequence: a.in_sequence,
            ends: [AmEntity::new(a, Bytes(payload)), AmEntity::new(b, Bytes(payload))],
            air: Default::default(),
            outcomes: Default::default(),
            last_delivered: [None; 2],
            sizes: Default::default(),
            out: Output::default(),
            pdus: Vec::new(),
            in_bytes,
            failures: 0,
            empty: [0; 2],
            transmissions: Default::default(),
        }
    }

    fn push(&mut self, now: Instant, end: usize, size: u32) {
        let serial = self.outcomes[end].len() as u64;
        self.outcomes[end].push(Outcome::Inside);
        let sdu = Sdu { serial, ..Sdu::new(PacketId::from_index(serial as usize), size) };
        self.ends[end].push_sdu(now, sdu, &mut self.out);
        self.settle(end);
    }

    /// Runs one step: timers, a TTI in each direction, arrivals.
    fn step(&mut self, now: Instant, blocks: usize, r: &mut Stream, loss: f64, twice: f64) {
        for end in 0..2 {
            let mut calls = 0;
            while self.ends[end].poll_at(now).is_some_and(|t| t <= now) {
                self.ends[end].on_time(now, &mut self.out);
                self.settle(end);
                calls += 1;
                assert!(calls < 4, "a timer that is due for ever at {now}");
            }
            let had = self.ends[end].has_data(now);
            self.ends[end].pull(now, blocks, &mut self.pdus, &mut self.out);
            assert!(self.pdus.len() <= blocks);
            assert!(had || self.pdus.is_empty(), "has_data was wrong: {:?}", self.pdus);
            // A poll whose PDU has reached MaxDAT becomes a reset or a discard, sent in the next
            // TTI.
            self.empty[end] = if had && self.pdus.is_empty() { self.empty[end] + 1 } else { 0 };
            assert!(self.empty[end] < 3, "has_data, but nothing comes");
            self.count_transmissions(end);
            for pdu in self.pdus.drain(..) {
                while r.uniform() >= loss {
                    self.air[end].push_back((now + DELAY, pdu.clone()));
                    if r.uniform() >= twice {
                        break;
                    }
                }
            }
            self.settle(end);
        }
        for end in 0..2 {
            while self.air[end].front().is_some_and(|(at, _)| *at <= now) {
                let (_, mut pdu) = self.air[end].pop_front().expect("looked at");
                if self.in_bytes {
                    let layout = self.ends[end].layout();
                    let octets = codec::encode_am(&pdu, layout, &mut codec::zeros);
                    assert_eq!(octets.len(), layout.payload as usize + 2);
                    pdu = codec::decode_am(&octets, layout).expect("own octets");
                }
                self.ends[1 - end].receive(now, pdu, &mut self.out);
                self.settle(1 - end);
            }
        }
    }

    /// TS 25.322 clause 9.7.3.3: no PDU is sent more often than MaxDAT allows, in any state.
    fn count_transmissions(&mut self, end: usize) {
        let cfg = *self.ends[end].config();
        if cfg.on_max_dat != OnMaxDat::Discard {
            return;
        }
        for pdu in &self.pdus {
            if let Pdu::Data(data) = pdu {
                let n = self.transmissions[end].entry((data.hfn, data.sn.get())).or_default();
                *n += 1;
                assert!(*n <= cfg.max_dat, "PDU {:?} was sent {n} times", data.sn);
            }
        }
    }

    fn settle(&mut self, end: usize) {
        for sdu in self.out.delivered.drain(..) {
            self.sizes[end].push(sdu.size());
            if self.in_bytes {
                continue;
            }
            let sender = 1 - end;
            let outcome = &mut self.outcomes[sender][sdu.serial as usize];
            assert_eq!(*outcome, Outcome::Inside, "SDU {} is delivered after it left", { sdu.serial });
            *outcome = Outcome::Delivered;
            if self.in_sequence {
                assert!(self.last_delivered[end].is_none_or(|l| l < sdu.serial), "out of order");
                self.last_delivered[end] = Some(sdu.serial);
            }
        }
        for (sdu, cause) in self.out.dropped.drain(..) {
            let outcome = &mut self.outcomes[end][sdu.serial as usize];
            assert!(!matches!(outcome, Outcome::Dropped(_)), "SDU {} is dropped twice", { sdu.serial });
            if *outcome == Outcome::Inside {
                *outcome = Outcome::Dropped(cause);
            }
        }
        if self.out.events.drain(..).any(|e| e == RlcEvent::Unrecoverable) {
            self.failures += 1;
            self.air.iter_mut().for_each(VecDeque::clear);
            self.transmissions.iter_mut().for_each(BTreeMap::clear);
            for end in 0..2 {
                self.ends[end].reestablish(&mut self.out);
                self.settle(end);
            }
        }
    }

    fn inside(&self) -> usize {
        self.outcomes.iter().flatten().filter(|f| **f == Outcome::Inside).count()
    }
}

fn fight(seed: u64) -> (Pair, bool) {
    let mut r = Draw::new(seed, Purpose::Test, 0).stream(0);
    let mut a = any_config(&mut r);
    let mut b = any_config(&mut r);
    // Parameters on which both ends must agree.
    b.in_sequence = a.in_sequence;
    a.rx_window = a.tx_window.max(b.tx_window);
    if a.rx_window > 2048 {
        for c in [&mut a, &mut b] {
            c.timer_discard = Duration::ZERO;
            if c.on_max_dat == OnMaxDat::Discard {
                c.on_max_dat = OnMaxDat::Reset;
            }
        }
    }
    b.rx_window = a.rx_window;
    let live = a.validate().expect("valid").is_empty() && b.validate().expect("valid").is_empty();
    let payload = [10, 40, 40, 124, 125, 200][r.below(6) as usize];
    let mut pair = Pair::new(a, b, payload, false);
    let loss = [0.0, 0.1, 0.3, 0.6][r.below(4) as usize];
    let twice = [0.0, 0.2][r.below(2) as usize];
    let blocks = [1, 4, 12][r.below(3) as usize];
    let mut now = Instant::ZERO;
    for _ in 0..600 {
        now += STEP;
        for end in 0..2 {
            if r.uniform() < 0.3 {
                pair.push(now, end, 1 + r.below(3 * payload) as u32);
            }
        }
        pair.step(now, blocks, &mut r, loss, twice);
    }
    if live {
        // 600 steps give at most 360 SDUs of 3 PDUs; one block per step and W = 1 with a round trip
        // of 40 ms, and prohibit timers of 200 ms, leave at most one PDU per 250 ms: 360 * 3 * 25
        // steps.
        let mut steps = 0;
        while pair.inside() > 0 && steps < 30_000 {
            now += STEP;
            steps += 1;
            pair.step(now, blocks, &mut r, 0.0, 0.0);
        }
        assert_eq!(pair.inside(), 0, "seed {seed}: stands still\n{a:?}\n{b:?}");
    }
    (pair, live)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_sdu_leaves_once_in_order_and_everything_drains(seed: u64) {
        fight(seed);
    }
}

/// The same with fixed seeds, and a check that the swarm reaches every mechanism.
#[test]
fn the_swarm_reaches_every_mechanism() {
    let (mut live, mut resets, mut failures, mut discards, mut duplicates) = (0, 0, 0, 0, 0);
    for seed in 0..2000 {
        let (pair, was_live) = fight(seed);
        live += u32::from(was_live);
        failures += pair.failures;
        for end in &pair.ends {
            resets += end.stats().resets;
            duplicates += end.stats().duplicates;
        }
        discards += pair
            .outcomes
            .iter()
            .flatten()
            .filter(|f| matches!(f, Outcome::Dropped(c) if *c != DropCause::RlcReset))
            .count();
    }
    println!(
        "live {live}, resets {resets}, failures {failures}, discards {discards}, duplicates {duplicates}"
    );
    assert!(live > 30 && resets > 100 && failures > 0 && discards > 100 && duplicates > 1000);
}

/// Two entities that exchange only encoded octets deliver every size, in order.
#[test]
fn two_entities_talk_through_octets_alone() {
    for (seed, payload) in [(1, 40), (2, 10), (3, 124), (4, 125), (5, 200), (6, 40), (7, 200), (8, 126)] {
        let mut r = Draw::new(seed, Purpose::Test, 1).stream(0);
        let cfg = AmConfig {
            on_max_dat: OnMaxDat::Unlimited,
            piggyback: seed % 2 == 0,
            status_format: if seed % 3 == 0 { StatusFormat::List } else { StatusFormat::Bitmap },
            buffer_bytes: Bytes(0),
            ..AmConfig::default()
        };
        let mut pair = Pair::new(cfg, cfg, payload, true);
        let mut pushed: [Vec<u32>; 2] = Default::default();
        let mut now = Instant::ZERO;
        for step in 0..6000 {
            now += STEP;
            for (end, sizes) in pushed.iter_mut().enumerate() {
                if step < 1500 && r.uniform() < 0.5 {
                    let size = 1 + r.below(3 * payload) as u32;
                    sizes.push(size);
                    pair.push(now, end, size);
                }
            }
            pair.step(now, 12, &mut r, if step < 2000 { 0.25 } else { 0.0 }, 0.05);
        }
        assert_eq!(pair.sizes[1], pushed[0], "seed {seed}");
        assert_eq!(pair.sizes[0], pushed[1], "seed {seed}");
        assert!(pair.ends.iter().all(AmEntity::is_drained));
    }
}

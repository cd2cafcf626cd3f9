//! A pair of entities, grants at fixed intervals, and a channel that loses PDUs by keyed draws.

use lasthop_engine::{Draw, Purpose};
use lasthop_ran::rlc::lte::*;
use lasthop_units::{Duration, Id, Instant, PacketId};

pub const MS: Duration = Duration::from_millis(1);

pub fn ms(n: u64) -> Instant {
    Instant::from_millis(n)
}

pub fn sdu(serial: u64, size: u32) -> Sdu {
    Sdu { serial, id: PacketId::from_index(serial as usize), size }
}

/// One direction of the test channel.
pub struct Way {
    /// Bytes of an opportunity.
    pub grant: u32,
    /// Time between opportunities.
    pub every: Duration,
    /// Probability that a PDU is lost.
    pub loss: f64,
}

/// Two entities; entity 0 sends SDUs to entity 1.
pub struct Pair {
    pub ends: [Rlc; 2],
    pub ways: [Way; 2],
    pub delay: Duration,
    pub out: [RlcOutput; 2],
    air: Vec<(Instant, usize, Pdu)>,
    draws: [Draw; 2],
    drawn: [u64; 2],
}

impl Pair {
    pub fn new(config: &RlcConfig, ways: [Way; 2], seed: u64) -> Pair {
        Pair {
            ends: [Rlc::new(config), Rlc::new(config)],
            ways,
            delay: Duration::from_millis(4),
            out: Default::default(),
            air: Vec::new(),
            draws: [0, 1].map(|i| Draw::new(seed, Purpose::Test, i)),
            drawn: [0; 2],
        }
    }

    /// One millisecond: what has crossed the air arrives, timers act, opportunities are used.
    pub fn tick(&mut self, now: Instant) {
        let mut i = 0;
        while i < self.air.len() {
            if self.air[i].0 > now {
                i += 1;
                continue;
            }
            let (_, to, pdu) = self.air.remove(i);
            self.ends[to].receive(now, &pdu, &mut self.out[to]);
            self.ends[1 - to].recycle(pdu);
        }
        for end in 0..2 {
            self.ends[end].on_time(now, &mut self.out[end]);
            if !now.0.is_multiple_of(self.ways[end].every.0) {
                continue;
            }
            let mut pdus = Vec::new();
            let grant = Grant::of(self.ways[end].grant);
            let used = self.ends[end].pull(now, grant, &mut pdus, &mut self.out[end]);
            let format = self.ends[end].format();
            let size = |p: &Pdu| format.map_or_else(|| p.size(Format::um(5)), |f| p.size(f));
            assert_eq!(used, pdus.iter().map(size).sum::<u32>(), "pull accounts for every byte");
            assert!(used <= grant.bytes);
            for pdu in pdus {
                self.drawn[end] += 1;
                if !self.draws[end].happens(self.drawn[end], self.ways[end].loss) {
                    self.air.push((now + self.delay, 1 - end, pdu));
                }
            }
        }
    }

    /// Ticks until `n` SDUs have come out of entity 1 or `until` is reached; when.
    pub fn run_until(&mut self, from: Instant, until: Instant, n: usize) -> Instant {
        let mut now = from;
        while now < until && self.out[1].delivered.len() < n {
            self.tick(now);
            now += MS;
        }
        now
    }
}

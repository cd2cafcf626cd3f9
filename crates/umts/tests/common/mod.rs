//! A small world for one bearer: the event loop of ARCHITECTURE.md.

use lasthop_bearer::{BearerOutput, Direction, End};
use lasthop_engine::{Class, EventQueue};
use lasthop_umts::rlc::RlcEvent;
use lasthop_umts::{Bearer, BearerConfig};
use lasthop_units::{Id, Instant, PacketId, Ratio};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Event {
    Tti(Direction),
    Arrival(Direction),
    Timer,
    Push(End, u32),
}

/// A bearer with its events and all its outputs.
pub struct World {
    pub bearer: Bearer,
    pub now: Instant,
    queue: EventQueue<Event>,
    armed: [Option<Instant>; 5],
    next_id: usize,
    /// (when, end, packet, size)
    pub delivered: Vec<(Instant, End, usize, u32)>,
    pub dropped: Vec<(Instant, End, usize, lasthop_bearer::DropCause)>,
    pub events: Vec<(Instant, End, RlcEvent)>,
    out: BearerOutput<RlcEvent>,
    /// Packets that each end keeps pushing: (size, largest number that wait).
    pub source: [Option<(u32, usize)>; 2],
}

impl World {
    pub fn new(cfg: &BearerConfig, seed: u64) -> World {
        cfg.validate().expect("a valid bearer");
        World {
            bearer: Bearer::new(cfg, seed, 0),
            now: Instant::ZERO,
            queue: EventQueue::new(),
            armed: [None; 5],
            next_id: 0,
            delivered: Vec::new(),
            dropped: Vec::new(),
            events: Vec::new(),
            out: BearerOutput::default(),
            source: [None; 2],
        }
    }

    /// Pushes a packet at a later time.
    pub fn push_at(&mut self, at: Instant, end: End, size: u32) {
        self.queue.schedule(at, Class::App, Event::Push(end, size));
    }

    pub fn push(&mut self, end: End, size: u32) -> usize {
        let id = self.next_id;
        self.next_id += 1;
        self.bearer.push(self.now, end, PacketId::from_index(id), size, &mut self.out);
        self.collect();
        id
    }

    pub fn pushed(&self) -> usize {
        self.next_id
    }

    fn collect(&mut self) {
        let now = self.now;
        self.delivered.extend(self.out.delivered.iter().map(|(e, s)| (now, *e, s.id.index(), s.size())));
        self.dropped.extend(self.out.dropped.iter().map(|(e, s, c)| (now, *e, s.id.index(), *c)));
        self.events.extend(self.out.events.iter().map(|(e, v)| (now, *e, *v)));
        self.out.clear();
    }

    fn refill(&mut self) {
        for end in [End::Network, End::Ue] {
            if let Some((size, depth)) = self.source[end.index()] {
                while (self.bearer.rlc(end).stats().queue_sdus as usize) < depth {
                    self.push(end, size);
                }
            }
        }
    }

    fn arm(&mut self) {
        let wanted = [
            (self.bearer.next_tti(Direction::Downlink), Class::Tti, Event::Tti(Direction::Downlink)),
            (self.bearer.next_tti(Direction::Uplink), Class::Tti, Event::Tti(Direction::Uplink)),
            (
                self.bearer.next_arrival(Direction::Downlink),
                Class::Arrival,
                Event::Arrival(Direction::Downlink),
            ),
            (self.bearer.next_arrival(Direction::Uplink), Class::Arrival, Event::Arrival(Direction::Uplink)),
            (self.bearer.next_timer(), Class::Timer, Event::Timer),
        ];
        for (slot, (at, class, event)) in wanted.into_iter().enumerate() {
            if let Some(at) = at
                && self.armed[slot].is_none_or(|armed| armed > at)
            {
                self.armed[slot] = Some(at);
                self.queue.schedule(at.max(self.now), class, event);
            }
        }
    }

    /// Runs until `end`, or until there are no more events.
    pub fn run_until(&mut self, end: Instant) -> &mut Self {
        self.refill();
        self.arm();
        while let Some((now, event)) = self.queue.pop_until(end) {
            self.now = now;
            match event {
                Event::Tti(d) => {
                    self.armed[d.index()] = None;
                    self.bearer.on_tti(now, d, &mut self.out);
                }
                Event::Arrival(d) => {
                    self.armed[2 + d.index()] = None;
                    self.bearer.on_arrival(now, d, &mut self.out);
                }
                Event::Timer => {
                    self.armed[4] = None;
                    self.bearer.on_timer(now, &mut self.out);
                }
                Event::Push(end, size) => {
                    self.push(end, size);
                }
            }
            self.collect();
            self.refill();
            self.arm();
        }
        self
    }

    /// True when no event is left.
    pub fn is_quiet(&self) -> bool {
        self.queue.is_empty()
    }

    /// Checks that every packet left in exactly one way or is inside; deliveries of an end are in
    /// order.
    pub fn check_account(&self) {
        let mut outcome = vec![0; self.next_id];
        self.delivered.iter().for_each(|d| outcome[d.2] += 1);
        self.dropped.iter().for_each(|d| outcome[d.2] += 1);
        assert!(outcome.iter().all(|f| *f <= 1), "a packet left twice");
        let left = outcome.iter().filter(|f| **f == 1).count();
        let inside = self.bearer.inside(End::Network) + self.bearer.inside(End::Ue);
        assert_eq!(left + inside, self.next_id, "a packet vanished");
    }

    pub fn check_order(&self) {
        for end in [End::Network, End::Ue] {
            let ids: Vec<usize> = self.delivered.iter().filter(|d| d.1 == end).map(|d| d.2).collect();
            assert!(ids.is_sorted(), "delivered out of order");
        }
    }

    /// Delivered bytes at an end in `[from, to)`.
    pub fn bytes(&self, end: End, from: Instant, to: Instant) -> u64 {
        self.delivered.iter().filter(|d| d.1 == end && d.0 >= from && d.0 < to).map(|d| u64::from(d.3)).sum()
    }
}

/// The default bearer with the same block error rate both ways.
pub fn bearer(bler: f64) -> BearerConfig {
    let mut cfg = BearerConfig::default();
    cfg.downlink.bler = Ratio(bler);
    cfg.uplink.bler = Ratio(bler);
    cfg.rlc.am.buffer_bytes = lasthop_units::Bytes(0);
    cfg
}

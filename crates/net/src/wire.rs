//! What follows the transmitter: propagation delay, jitter, loss, corruption, duplication.

use std::collections::VecDeque;

use lasthop_engine::{Draw, Purpose};
use lasthop_units::{Duration, Instant};

use crate::{DropCause, Dropped, Item, PipeOut};

/// What a wire does to packets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WireModel {
    /// Propagation delay.
    pub delay: Duration,
    /// Largest extra delay; each packet gets one uniform on [0, `jitter`).
    pub jitter: Duration,
    /// False: a packet never overtakes an earlier one, whatever delay and jitter say (it arrives
    /// with it at the earliest). True: packets arrive at their own moment.
    pub reordering: bool,
    /// Probability that a packet is lost, independently of all others.
    pub loss: f64,
    /// Probability that a packet that is not lost is corrupted: it arrives and is dropped there.
    pub corruption: f64,
    /// Probability that a packet that is neither lost nor corrupted arrives twice.
    pub duplication: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Arrives,
    ArrivesTwice,
    Dies(DropCause),
}

#[derive(Clone, Copy, Debug)]
struct Flight {
    arrival: Instant,
    item: Item,
    outcome: Outcome,
}

/// Packets in flight, in order of arrival. The n-th packet put on the wire has the n-th draws of
/// the hop.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    model: WireModel,
    flights: VecDeque<Flight>,
    last_arrival: Instant,
    outcome: Draw,
    jitter: Draw,
    n: u64,
    bytes: u64,
    /// False if every packet arrives once and `delay` later: no draws.
    random: bool,
}

impl Wire {
    pub fn new(model: WireModel, seed: u64, entity: u64) -> Wire {
        let mut wire = Wire {
            model,
            flights: VecDeque::new(),
            last_arrival: Instant::ZERO,
            outcome: Draw::new(seed, Purpose::PipeLoss, entity),
            jitter: Draw::new(seed, Purpose::PipeJitter, entity),
            n: 0,
            bytes: 0,
            random: false,
        };
        wire.set_model(model);
        wire
    }

    /// In force for packets put on the wire from now on; those in flight keep arrival and outcome.
    pub fn set_model(&mut self, model: WireModel) {
        self.model = model;
        self.random =
            model.loss > 0.0 || model.corruption > 0.0 || model.duplication > 0.0 || model.jitter.0 > 0;
    }

    pub fn model(&self) -> &WireModel {
        &self.model
    }

    /// The last bit of `item` leaves the transmitter at `moment`.
    #[inline]
    pub fn put(&mut self, moment: Instant, item: Item) {
        let mut arrival = moment.saturating_add(self.model.delay);
        let mut outcome = Outcome::Arrives;
        if self.random {
            arrival = arrival.saturating_add(self.extra_delay());
            outcome = self.draw_outcome();
        }
        self.n += 1;
        self.bytes += u64::from(item.size);
        if arrival < self.last_arrival {
            if self.model.reordering {
                return self.overtake(Flight { arrival, item, outcome });
            }
            arrival = self.last_arrival;
        }
        self.last_arrival = arrival;
        self.flights.push_back(Flight { arrival, item, outcome });
    }

    /// A packet arrives before the last one. Ties stay in the order of sending.
    #[inline(never)]
    fn overtake(&mut self, flight: Flight) {
        let place = self.flights.partition_point(|f| f.arrival <= flight.arrival);
        self.flights.insert(place, flight);
    }

    #[inline(never)]
    fn extra_delay(&self) -> Duration {
        if self.model.jitter.0 == 0 {
            return Duration::ZERO;
        }
        let bits = u128::from(self.jitter.bits(self.n));
        Duration(((bits * u128::from(self.model.jitter.0)) >> 64) as u64)
    }

    fn draw_outcome(&self) -> Outcome {
        let m = &self.model;
        if m.loss > 0.0 && self.outcome.happens(self.n, m.loss) {
            return Outcome::Dies(DropCause::Loss);
        }
        if m.corruption > 0.0 || m.duplication > 0.0 {
            let mut more = self.outcome.stream(self.n);
            // Both are drawn always: changing one probability shifts nothing of the other.
            let (corrupt, twice) = (more.uniform() < m.corruption, more.uniform() < m.duplication);
            if corrupt {
                return Outcome::Dies(DropCause::Corruption);
            }
            if twice {
                return Outcome::ArrivesTwice;
            }
        }
        Outcome::Arrives
    }

    /// When the next packet arrives or is found lost.
    #[inline]
    pub fn poll_at(&self) -> Option<Instant> {
        self.flights.front().map(|f| f.arrival)
    }

    /// Hands out what has arrived by `now`.
    #[inline(always)]
    pub fn deliver(&mut self, now: Instant, out: &mut PipeOut) {
        while let Some(flight) = self.flights.front()
            && flight.arrival <= now
        {
            let Flight { arrival, item, outcome } = *flight;
            self.flights.pop_front();
            self.bytes -= u64::from(item.size);
            match outcome {
                Outcome::Arrives => out.arrived.push(item),
                Outcome::ArrivesTwice => {
                    out.arrived.push(item);
                    out.copies.push(item);
                }
                Outcome::Dies(cause) => out.dropped.push(Dropped { at: arrival, item, cause }),
            }
        }
    }

    /// Packets in flight.
    pub fn packets(&self) -> usize {
        self.flights.len()
    }
    /// Bytes in flight.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

//! The part after the transmitter: propagation delay, jitter, loss, corruption, duplication.
//!
//! Losses in bursts are those of a Markov chain of two states (E. N. Gilbert, "Capacity of a
//! burst-noise channel", Bell System Technical Journal 39, 1960; E. O. Elliott, "Estimates of error
//! rates for codes on burst-noise channels", same journal 42, 1963).

use std::collections::VecDeque;

use lasthop_engine::{Draw, Purpose};
use lasthop_units::{Duration, Ecn, FlowId, Instant, PacketId, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fault::{FaultEffect, Faults};
use crate::{Content, DropCause, Dropped, Item, PipeOut};

/// Losses in bursts: the wire is in a good or in a bad state, which may change before each packet.
/// With the defaults a share of `to_bad / (to_bad + to_good)` is lost, in bursts of `1 / to_good`
/// packets on the average.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BurstLoss {
    /// Probability that the state changes from good to bad at a packet (p of Gilbert and Elliott).
    pub to_bad: Ratio,
    /// Probability that the state changes from bad to good at a packet (r), above 0 %.
    pub to_good: Ratio,
    /// Probability that a packet is lost in the good state (1 - k).
    #[serde(default)]
    pub loss_good: Ratio,
    /// Probability that a packet is lost in the bad state (1 - h).
    #[serde(default = "always")]
    pub loss_bad: Ratio,
}

fn always() -> Ratio {
    Ratio(1.0)
}

/// How the extra delay of packets is distributed between 0 and `jitter`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum JitterDistribution {
    /// Uniform.
    #[default]
    Uniform,
    /// Normal with mean `jitter` / 2 and standard deviation `jitter` / 6, limited to three standard
    /// deviations. For a `jitter` of 30 ms these are 15 ms and 5 ms.
    Gaussian,
}

/// The effects of a wire on packets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WireModel {
    /// Propagation delay.
    pub delay: Duration,
    /// Largest extra delay of a packet.
    pub jitter: Duration,
    /// How it is distributed.
    pub jitter_distribution: JitterDistribution,
    /// False: a packet never overtakes an earlier one, for any delay and jitter (it arrives with it
    /// at the earliest). True: packets arrive at their own time.
    pub reordering: bool,
    /// Probability that a packet is lost, independently of all others.
    pub loss: f64,
    /// Losses in bursts, beside those.
    pub burst_loss: Option<BurstLoss>,
    /// Probability that a packet that is not lost is corrupted: it arrives and is dropped there.
    pub corruption: f64,
    /// Probability that a packet that is neither lost nor corrupted arrives twice.
    pub duplication: f64,
    /// Packets arrive at multiples of this time only; zero: at their own.
    pub batch: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Arrives,
    ArrivesTwice,
    Dies(DropCause),
}

/// A packet in flight. The fields of its [`Item`] are not in one, which would have padding.
#[derive(Clone, Copy, Debug)]
struct Flight {
    arrival: Instant,
    /// When its transmission began.
    begun: Instant,
    id: PacketId,
    size: u32,
    flow: FlowId,
    ecn: Ecn,
    content: Content,
    outcome: Outcome,
}

// A long link holds thousands.
const _: () = assert!(size_of::<Flight>() == 32);

impl Flight {
    #[inline(always)]
    const fn new(begun: Instant, arrival: Instant, item: Item, outcome: Outcome) -> Flight {
        let Item { id, size, flow, ecn, content, .. } = item;
        Flight { arrival, begun, id, size, flow, ecn, content, outcome }
    }
    #[inline(always)]
    const fn item(&self) -> Item {
        let Flight { id, size, flow, ecn, content, begun, .. } = *self;
        Item { id, size, flow, ecn, content, enqueued: begun }
    }
}

/// Packets in flight, in order of arrival. The n-th packet put on the wire has the n-th draws of
/// the hop.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    /// Packets put on the wire so far. Apart from `bytes`: see [`Account`](crate::Account).
    n: u64,
    model: WireModel,
    flights: VecDeque<Flight>,
    /// The arrival of the first of them; [`Instant::MAX`] without one.
    next: Instant,
    last_arrival: Instant,
    outcome: Draw,
    jitter: Draw,
    burst: Draw,
    /// The bad state of `burst_loss`.
    bad: bool,
    bytes: u64,
    faults: Option<Box<Faults>>,
    /// False if every packet arrives once and `delay` later: no draws, and nothing that is counted.
    random: bool,
}

impl Wire {
    pub fn new(model: WireModel, seed: u64, entity: u64) -> Wire {
        let mut wire = Wire {
            n: 0,
            model,
            flights: VecDeque::new(),
            next: Instant::MAX,
            last_arrival: Instant::ZERO,
            outcome: Draw::new(seed, Purpose::PipeLoss, entity),
            jitter: Draw::new(seed, Purpose::PipeJitter, entity),
            burst: Draw::new(seed, Purpose::PipeBurst, entity),
            bad: false,
            bytes: 0,
            faults: None,
            random: false,
        };
        wire.set_model(model);
        wire
    }

    /// In force for packets put on the wire from now on; those in flight keep arrival and outcome.
    pub fn set_model(&mut self, model: WireModel) {
        self.model = model;
        // Bursts that are taken away and come back begin in the good state, as at the start.
        self.bad &= model.burst_loss.is_some();
        self.random = model.loss > 0.0
            || model.corruption > 0.0
            || model.duplication > 0.0
            || model.jitter.0 > 0
            || model.burst_loss.is_some()
            || model.batch.0 > 0
            || self.faults.is_some();
    }

    /// The faults of this wire; the first call makes room for them.
    pub fn faults(&mut self) -> &mut Faults {
        self.random = true;
        self.faults.get_or_insert_default()
    }

    /// True if no packet overtakes one that was put on the wire before.
    pub fn keeps_order(&self) -> bool {
        !self.model.reordering && self.faults.is_none()
    }

    /// True if packets may be put on the wire before their transmission begins, and be
    /// [recalled](Self::recall) until then: in order, and without a state that they change.
    pub fn may_be_planned(&self) -> bool {
        self.keeps_order() && self.model.burst_loss.is_none()
    }

    pub fn model(&self) -> &WireModel {
        &self.model
    }

    /// The transmission of `item` begins at `begun`, and its last bit leaves the transmitter at
    /// `moment`.
    #[inline(always)]
    pub fn put(&mut self, begun: Instant, moment: Instant, item: Item) {
        let arrival = moment.saturating_add(self.model.delay);
        let flight = Flight::new(begun, arrival, item, Outcome::Arrives);
        if self.random {
            self.put_random(moment, flight);
        } else {
            self.put_in_order(flight);
        }
    }

    #[inline(never)]
    fn put_random(&mut self, moment: Instant, mut flight: Flight) {
        flight.arrival = flight.arrival.saturating_add(self.extra_delay());
        flight.outcome = self.draw_outcome();
        if self.faults.is_some() {
            return self.put_through_faults(moment, flight);
        }
        flight.arrival = self.next_batch(flight.arrival);
        self.put_in_order(flight);
    }

    /// The packet arrives after the one before, or with it, unless packets may overtake others.
    #[inline(always)]
    fn put_in_order(&mut self, mut flight: Flight) {
        self.n += 1;
        self.bytes += u64::from(flight.size);
        if flight.arrival < self.last_arrival {
            if self.model.reordering {
                return self.overtake(flight);
            }
            flight.arrival = self.last_arrival;
        }
        self.last_arrival = flight.arrival;
        self.next = self.next.min(flight.arrival);
        self.flights.push_back(flight);
    }

    /// The moment of `batch` at or after `arrival`.
    fn next_batch(&self, arrival: Instant) -> Instant {
        match self.model.batch.0 {
            0 => arrival,
            batch => Instant(arrival.0.checked_next_multiple_of(batch).unwrap_or(u64::MAX)),
        }
    }

    /// As [`put`](Self::put), where there are faults. A packet that is held keeps no other behind
    /// it.
    #[cold]
    #[inline(never)]
    fn put_through_faults(&mut self, moment: Instant, flight: Flight) {
        let (mut arrival, mut item, mut outcome) = (flight.arrival, flight.item(), flight.outcome);
        let (reordering, last) = (self.model.reordering, self.last_arrival);
        let Some(faults) = &mut self.faults else { return };
        let effect = faults.meet(moment, &mut item);
        if outcome == Outcome::Arrives {
            outcome = match effect {
                FaultEffect { dropped: true, .. } => Outcome::Dies(DropCause::Fault),
                FaultEffect { twice: true, .. } => Outcome::ArrivesTwice,
                _ => outcome,
            };
        }
        if !reordering {
            arrival = arrival.max(faults.in_order);
        }
        if effect.hold.is_zero() {
            faults.in_order = faults.in_order.max(arrival);
        } else {
            arrival = arrival.saturating_add(effect.hold);
        }
        let arrival = self.next_batch(arrival);
        self.n += 1;
        self.bytes += u64::from(item.size);
        self.last_arrival = last.max(arrival);
        self.overtake(Flight::new(flight.begun, arrival, item, outcome));
    }

    /// A packet may arrive before the last one. Ties stay in the order of sending.
    #[inline(never)]
    fn overtake(&mut self, flight: Flight) {
        self.next = self.next.min(flight.arrival);
        let place = self.flights.partition_point(|f| f.arrival <= flight.arrival);
        self.flights.insert(place, flight);
    }

    #[inline(never)]
    fn extra_delay(&self) -> Duration {
        if self.model.jitter.0 == 0 {
            return Duration::ZERO;
        }
        if self.model.jitter_distribution == JitterDistribution::Gaussian {
            let mut draws = self.jitter.stream(self.n);
            loop {
                // Nearly always the first: 0.27 % are beyond three standard deviations.
                let z = draws.normal();
                if z.abs() < 3.0 {
                    return Duration(((0.5 + z / 6.0) * self.model.jitter.0 as f64) as u64);
                }
            }
        }
        let bits = u128::from(self.jitter.bits(self.n));
        Duration(((bits * u128::from(self.model.jitter.0)) >> 64) as u64)
    }

    /// The packet moves the chain on, and may be lost in its state.
    fn is_lost_in_burst(&mut self) -> bool {
        let Some(burst) = self.model.burst_loss else { return false };
        let mut draws = self.burst.stream(self.n);
        let leaves = if self.bad { burst.to_good } else { burst.to_bad };
        self.bad ^= draws.uniform() < leaves.0;
        draws.uniform() < if self.bad { burst.loss_bad.0 } else { burst.loss_good.0 }
    }

    fn draw_outcome(&mut self) -> Outcome {
        let in_burst = self.is_lost_in_burst();
        let m = &self.model;
        if in_burst || (m.loss > 0.0 && self.outcome.happens(self.n, m.loss)) {
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

    /// The time at which the next packet arrives or is lost.
    #[inline]
    pub fn poll_at(&self) -> Option<Instant> {
        (!self.flights.is_empty()).then_some(self.next)
    }

    /// Passes on the packets that have arrived by `now`. Returns their bytes, copies not counted.
    #[inline(always)]
    pub fn deliver(&mut self, now: Instant, out: &mut PipeOut) -> u64 {
        let mut bytes = 0;
        while self.next <= now
            && let Some(flight) = self.flights.pop_front()
        {
            let (item, outcome) = (flight.item(), flight.outcome);
            self.next = self.flights.front().map_or(Instant::MAX, |f| f.arrival);
            let size = u64::from(item.size);
            self.bytes -= size;
            if let Outcome::Dies(cause) = outcome {
                out.dropped.push(Dropped { at: flight.arrival, item, cause });
                continue;
            }
            bytes += size;
            out.arrived.push(item);
            if outcome == Outcome::ArrivesTwice {
                out.copies.push(item);
            }
        }
        bytes
    }

    /// The packet that arrives by `now`, if it is the only one and arrives once.
    #[inline(always)]
    pub fn take_lone(&mut self, now: Instant) -> Option<Item> {
        let first = self.flights.front()?;
        let next = self.flights.get(1).map_or(Instant::MAX, |f| f.arrival);
        if first.arrival > now || next <= now || first.outcome != Outcome::Arrives {
            return None;
        }
        let item = first.item();
        self.flights.pop_front();
        self.next = next;
        self.bytes -= u64::from(item.size);
        Some(item)
    }

    /// The packet behind which `behind` others were put on the wire, if its transmission has begun
    /// by `now`.
    #[inline]
    pub fn has_begun(&self, behind: usize, now: Instant) -> Option<Item> {
        let flight = self.flights.get(self.flights.len().checked_sub(behind + 1)?)?;
        (flight.begun <= now).then(|| flight.item())
    }

    /// Takes the last `packets` back, whose transmission has not begun: each with the time at which
    /// it would. The packet before them is in flight.
    pub fn recall(&mut self, packets: usize) -> impl Iterator<Item = (Instant, Item)> + use<> {
        debug_assert!(self.may_be_planned() && packets < self.flights.len());
        let back = self.flights.split_off(self.flights.len() - packets);
        self.n -= packets as u64;
        self.bytes -= back.iter().map(|f| u64::from(f.size)).sum::<u64>();
        self.last_arrival = self.flights.back().map_or(Instant::ZERO, |f| f.arrival);
        back.into_iter().map(|f| (f.begun, f.item()))
    }

    /// Packets in flight.
    #[inline]
    pub fn packets(&self) -> usize {
        self.flights.len()
    }
    /// Bytes in flight.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

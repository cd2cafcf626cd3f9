//! The radio network of LTE: cells, UEs and their bearers under one clock of TTIs.
//!
//! # Contract
//! A [`RadioNetwork`] is what the world drives. Packets go in with [`push`](RadioNetwork::push) and leave in exactly
//! one way, delivered or dropped, through [`NetworkOutput`]. The world calls [`on_tti`](RadioNetwork::on_tti) (class
//! Tti) and [`on_timer`](RadioNetwork::on_timer) (class Timer) at the moments that `next_tti` and `next_timer` name,
//! and asks again after every call. There is one TTI event for all cells, none while nobody has anything to send and
//! nothing is on its way: what an idle UE or cell missed (fading, averages, reports) is a closed form of time.
//!
//! # A TTI, in this order
//! 1. **Receive**: what the calendar holds for this TTI: transport blocks whose decoding is complete go up to RLC,
//!    PDCP and out; HARQ feedback, scheduling requests, preambles, grants and RRC messages reach whom they are for.
//! 2. **Measure**: UEs with a report due look at the air; old reports become known to the eNB.
//! 3. **Schedule**: each active cell decides about its downlink for this TTI and grants its uplink for 4 TTIs later.
//! 4. **Send**: eNBs and the UEs whose grant is for this TTI pull from RLC and put transport blocks on the air.
//! 5. **Air**: with all transmissions of all cells known, each is decided by one keyed draw against its error
//!    probability, and the outcome is noted in the calendar.
//!
//! What arrives from above at the instant a TTI starts goes with the next one.

mod calendar;
mod output;

pub use output::{NetworkEvent, NetworkOutput};

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use lasthop_units::{BearerId, CellId, IndexVec, Instant, PacketId, Tti, UeId};

use crate::pdcp::lte::{LteBearer, LteBearerOutput};
use crate::phy::lte::TTI;
use crate::sdu::{Direction, End};
use calendar::Calendar;

/// What is due at the start of a TTI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// A UE's downlink transport block has been decoded, or not: up to RLC.
    DownlinkDecoded { ue: UeId, process: u8 },
    /// HARQ feedback of a downlink transport block reaches the eNB (n + 4).
    DownlinkFeedback { ue: UeId, process: u8 },
}

/// A data radio bearer in the network.
#[derive(Debug)]
struct Drb {
    ue: UeId,
    layers: LteBearer,
    /// The wake-up that is noted for its timers.
    timer: Option<Instant>,
}

/// Cells, UEs and bearers.
#[derive(Debug)]
pub struct RadioNetwork {
    bearers: IndexVec<BearerId, Drb>,
    calendar: Calendar<Due>,
    /// First TTI that has not happened yet.
    next: Tti,
    /// Cells with something to schedule.
    active: Vec<CellId>,
    /// Timers of PDCP and RLC: one pending wake-up a bearer, possibly early.
    timers: BinaryHeap<Reverse<(Instant, BearerId)>>,
    due: Vec<Due>,
    scratch: LteBearerOutput,
}

impl RadioNetwork {
    /// A packet of `size` bytes (above 0) enters at `end` of a bearer, to be delivered at the other.
    pub fn push(
        &mut self,
        now: Instant,
        bearer: BearerId,
        end: End,
        id: PacketId,
        size: u32,
        out: &mut NetworkOutput,
    ) {
        self.bearers[bearer].layers.push(now, end, id, size, &mut self.scratch);
        self.settle(now, bearer, out);
    }

    /// When the next TTI in which something happens starts; None while idle.
    pub fn next_tti(&self) -> Option<Instant> {
        let scheduling = (!self.active.is_empty()).then_some(self.next);
        scheduling.into_iter().chain(self.calendar.next()).min().map(|tti| tti.start(TTI))
    }

    /// When a timer of PDCP or RLC may expire next.
    pub fn next_timer(&self) -> Option<Instant> {
        self.timers.peek().map(|Reverse((t, _))| *t)
    }

    /// Packets inside that `end` of a bearer has pushed.
    pub fn inside(&self, bearer: BearerId, end: End) -> usize {
        self.bearers[bearer].layers.inside(end)
    }

    /// Passes on what the layers of `bearer` said, notes its timer and wakes MAC for what it wants to send.
    fn settle(&mut self, now: Instant, bearer: BearerId, out: &mut NetworkOutput) {
        let _ = (now, bearer, out, Direction::BOTH);
        todo!()
    }
}

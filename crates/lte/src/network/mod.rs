//! The radio network of LTE: cells, UEs and their bearers under one clock of TTIs.
//!
//! # Contract
//! The world drives a [`RadioNetwork`]. Packets are put in with [`push`](RadioNetwork::push) and
//! leave in exactly one way, delivered or dropped, through [`NetworkOutput`]. The world calls
//! [`on_tti`](RadioNetwork::on_tti) (class Tti) and [`on_timer`](RadioNetwork::on_timer) (class
//! Timer) at the times of `next_tti` and `next_timer`, which it reads after every call. There is
//! one TTI event for all cells, none while no end has data to send and no event is due: the state
//! of an idle UE or cell (fading, averages, reports) is a closed form of time.
//!
//! # A TTI, in this order
//! 1. **Receive**: the events that are due in this TTI. Transport blocks whose decoding is complete
//!    are passed to RLC and PDCP and delivered; HARQ feedback, scheduling requests, preambles,
//!    grants and RRC messages reach their receivers.
//! 2. **Answer**: each eNB, with the results of its blocks, prepares semi-persistent grants that
//!    are due, repeats grants for retransmissions, and schedules random access responses.
//! 3. **Schedule**: each active cell assigns the downlink of this TTI, pulling from RLC, and grants
//!    the uplink and the sidelinks of 4 TTIs later. A measurement is a function of the TTI of the
//!    report: it is computed when the eNB first uses it.
//! 4. **Send**: the UEs with a grant for this TTI pull from RLC and transmit their blocks.
//! 5. **Decide**: after all transmissions of all cells, the result of each follows from one keyed
//!    draw and its error probability, and is scheduled in the calendar. With several threads and
//!    many transmissions the SINRs and error probabilities are computed in other threads until step
//!    3 of the next TTI, beside the packets and events before it ([`channel`]).
//!
//! A packet that is pushed at the instant a TTI starts is sent in the next one.

mod access;
mod attachment;
mod backhaul;
mod bearers;
mod calendar;
mod capacity;
mod channel;
pub mod config;
mod control;
mod core_network;
mod delivery;
mod downlink;
mod ends;
mod ip_buffer;
mod layer2;
mod measure;
mod output;
mod parallel;
mod prefetch;
pub mod profile;
mod reach;
mod reading;
mod reception;
mod rrc;
mod setup;
mod sidelink;
mod sidelink_report;
pub mod signals;
mod state;
mod team;
#[cfg(test)]
mod tests;
pub mod trace;
mod traffic;
mod ue_bearers;
mod uplink;
mod uu;
mod view;

pub use crate::rrc::MobilityEvent;
pub use capacity::{AssumedShare, Capacity, CapacityConfig, CapacityEstimator, CapacitySource};
pub use config::{CellConfig, DrbConfig, GroupConfig, NetworkConfig, PairConfig, TimingConfig, UeConfig};
pub use output::{NetworkEvent, NetworkOutput};
pub use reading::UeReading;
pub use sidelink::Sidelinks;
pub use state::uplink::UplinkCounters;
pub use uplink::{Silence, Silenced};
pub use view::NetworkView;

use lasthop_units::{CellId, Id, IndexVec, Instant, Tti, UeId};

use crate::mac::scheduler::{Fault, Policy, Scheduler};
use crate::phy::{RbSet, TTI};
use crate::rrc::mobility::Input;
use bearers::Bearers;
use calendar::{Agenda, Due};
use channel::Channel;
use core_network::Core;
use downlink::{DownlinkAir, Scheduling};
use ends::EnbBearers;
use lasthop_bearer::{Direction, earlier};
use parallel::{Effects, Scheduled};
use prefetch::Prefetch;
use reach::Whole;
use rrc::Mobility;
use state::sidelink::Sidelink;
use state::{Cell, Link, Ue, UeContext};
use team::Team;
use uplink::UplinkAir;

/// Cells, UEs and bearers.
#[derive(Debug)]
pub struct RadioNetwork {
    cells: IndexVec<CellId, Cell>,
    /// State of the UEs, of their eNBs about them, and of the links between the two.
    ues: IndexVec<UeId, Ue>,
    contexts: IndexVec<UeId, UeContext>,
    links: IndexVec<UeId, Link>,
    bearers: Bearers,
    calendar: Agenda,
    air: Channel,
    /// Downlink transmissions of this TTI.
    on_air: Vec<downlink::OnAir>,
    work: downlink::Work,
    /// Memory for SINRs. Measurements need it while the scheduler has `work`.
    memory: measure::Memory,
    /// None: one thread.
    team: Option<Box<Team>>,
    /// By cell: its scheduling with several threads.
    scheduled: Vec<Scheduled>,
    /// Cells to which preambles were sent in this TTI.
    preambles: Vec<CellId>,
    due: Vec<Due>,
    /// Semi-persistent grants of the uplink to be prepared in this TTI, and the TTI of each.
    occasions: Vec<(UeId, Tti)>,
    /// Retransmissions of the uplink that failed in the given TTI, and may be granted again.
    waiting: Vec<(UeId, u8, Tti)>,
    /// Sizes of the MAC SDUs of the block that is being filled [B].
    block_sdus: Vec<u32>,
    /// Handover between cells, and the core network.
    mobility: Option<Box<Mobility>>,
    core: Option<Box<Core>>,
    /// None without pairs and groups.
    sidelink: Option<Box<Sidelink>>,
    trace: trace::Trace,
}

impl RadioNetwork {
    /// Start of the next TTI that needs processing; None while idle.
    pub fn next_tti(&self) -> Option<Instant> {
        let direct = self.sidelink.as_ref().is_some_and(|s| !s.grants.active.is_empty());
        let scheduling = (direct || self.cells.iter().any(Cell::is_active)).then_some(self.calendar.next());
        earlier(scheduling, self.calendar.next_due()).map(|tti| tti.start(TTI))
    }

    /// Processes the TTI that starts at `now`; no effect unless [`next_tti`](Self::next_tti) gives
    /// it.
    pub fn on_tti(&mut self, now: Instant, out: &mut NetworkOutput) {
        if self.next_tti() != Some(now) {
            return;
        }
        let tti = Tti::containing(now, TTI);
        if self.air.began_before(tti) {
            self.finish_reception();
        }
        self.receive(now, tti, out);
        self.answer(now, tti, out);
        self.finish_reception();
        self.schedule(now, tti, out);
        if self.sidelink.is_some() {
            for cell in self.cells.ids() {
                if let Some(mut destinations) = self.sidelink_scheduling(tti, cell) {
                    destinations.schedule_sidelinks();
                }
            }
        }
        self.send(now, tti, out);
        self.decide(tti);
        if self.bearers.has_notice() {
            // RLC gave up while the eNB made PDUs: RRC acts after the transmissions of the TTI.
            self.serve(now, out);
        }
        self.calendar.end(tti);
    }

    /// Processes the events that are due in this TTI.
    #[inline]
    fn receive(&mut self, now: Instant, tti: Tti, out: &mut NetworkOutput) {
        let mut due = std::mem::take(&mut self.due);
        self.calendar.begin(tti, &mut due);
        for i in 0..due.len() {
            if let Some(prefetch) = Prefetch::of(self) {
                prefetch.due(&due, i);
            }
            self.dispatch(now, tti, due[i], out);
        }
        due.clear();
        self.due = due;
    }

    /// Procedures of the eNBs after the results of their blocks.
    #[inline]
    fn answer(&mut self, now: Instant, tti: Tti, out: &mut NetworkOutput) {
        if !self.occasions.is_empty() {
            let mut occasions = std::mem::take(&mut self.occasions);
            for (ue, target) in occasions.drain(..) {
                self.granting(tti, self.links[ue].serving).prepare_occasion(ue, target);
            }
            self.occasions = occasions;
        }
        if !self.waiting.is_empty() {
            let mut waiting = std::mem::take(&mut self.waiting);
            for (ue, process, target) in waiting.drain(..) {
                let process = process.into();
                if self.granting(tti, self.links[ue].serving).move_unused(ue, process, target) {
                    self.sending(now, tti, ue, out).give_up_block(process);
                    self.serve(now, out);
                }
            }
            self.waiting = waiting;
        }
        access::close_preambles(tti, &mut self.preambles, &mut self.cells, &mut self.calendar);
    }

    /// Each active cell schedules its downlink and its uplink.
    #[inline]
    fn schedule(&mut self, now: Instant, tti: Tti, out: &mut NetworkOutput) {
        let threads = self.schedule_in_threads(now, tti);
        for cell in self.cells.ids() {
            let dropped = out.dropped.len();
            if threads {
                let RadioNetwork { scheduled, air, on_air, bearers, calendar, .. } = self;
                let to = Effects { air, on_air, calls: bearers.split().1, calendar, out };
                if !scheduled[cell.index()].take_over(tti, cell, to) {
                    continue;
                }
            } else if self.cells[cell].is_active() {
                if let Some(prefetch) = Prefetch::of(self) {
                    prefetch.scheduling(CellId::from_index(cell.index() + 1));
                }
                let RadioNetwork {
                    cells,
                    contexts,
                    links,
                    bearers,
                    air,
                    memory,
                    calendar,
                    trace,
                    on_air,
                    work,
                    ..
                } = self;
                let bearers = EnbBearers::new(now, bearers, out);
                let (id, cell) = (cell, &mut cells[cell]);
                Scheduling::<Whole> {
                    tti,
                    id,
                    cell,
                    contexts,
                    links,
                    bearers,
                    air,
                    memory,
                    calendar,
                    trace,
                    on_air,
                }
                .schedule(work);
            } else {
                continue;
            }
            if let Some(s) = &mut self.sidelink {
                s.remove_dropped(&out.dropped[dropped..]);
            } else if threads {
                // The uplink has been scheduled too.
                continue;
            }
            let destinations = self.sidelink_scheduling(tti, cell);
            let held =
                destinations.map_or(RbSet::EMPTY, |mut destinations| destinations.hold_for_sidelinks());
            self.granting(tti, cell).schedule();
            if !held.is_empty()
                && let Some(mut destinations) = self.sidelink_scheduling(tti, cell)
            {
                destinations.release_to_sidelinks(held);
            }
        }
    }

    /// Transmits the blocks of UEs with a grant for this TTI.
    #[inline]
    fn send(&mut self, now: Instant, tti: Tti, out: &mut NetworkOutput) {
        for cell in self.cells.ids() {
            self.send_uplink(now, tti, cell, out);
        }
        if self.sidelink.is_some() {
            self.send_sidelinks(now, out);
        }
    }

    /// Decides which transmissions are decoded, after all of them.
    #[inline]
    fn decide(&mut self, tti: Tti) {
        let is_tracing = self.trace.is_on();
        let timing = self.cells.iter().map(|cell| &cell.config.timing);
        let may_wait = !is_tracing
            && self.sidelink.is_none()
            && self.cells.iter().any(Cell::is_active)
            && TimingConfig::lets_results_wait(timing);
        let RadioNetwork { cells, links, contexts, ues, bearers, air, calendar, on_air, .. } = self;
        let mut downlink = DownlinkAir { tti, cells, links, ues, air, calendar, is_tracing, may_wait };
        let mut job = downlink.decide(on_air, self.team.as_deref_mut(), &mut self.memory);
        on_air.clear();
        for (id, cell) in cells.enumerate() {
            let later = job.as_mut().map(|job| job.uplink.of(tti));
            UplinkAir { tti, id, cell, links, contexts, ues, bearers, air, calendar, later }.decide();
        }
        if let (Some(job), Some(team)) = (job, &self.team) {
            air.begin(tti, job, team);
        }
        if self.sidelink.is_some() {
            self.air_sidelinks(tti);
        }
    }

    #[inline]
    fn dispatch(&mut self, now: Instant, tti: Tti, item: Due, out: &mut NetworkOutput) {
        match item {
            Due::DownlinkDecoded { ue, process } => self.downlink_decoded(now, ue, process, out),
            Due::DownlinkFeedback { ue, process } => self.downlink_feedback(now, ue, process, out),
            Due::UplinkDecoded { ue, process, sent } => {
                self.uplink_decoded(now, tti, ue, process.into(), sent, out);
            }
            Due::UplinkTimers { ue } => self.uplink_timers(now, tti, ue, out),
            Due::Proactive { ue } => self.granting(tti, self.links[ue].serving).grant_proactively(ue),
            Due::RequestReceived { ue, sent } => {
                self.granting(tti, self.links[ue].serving).on_request(ue, sent)
            }
            Due::Responses { cell } => self.respond(tti, cell, out),
            Due::GrantMissed { ue, target } => {
                self.granting(tti, self.links[ue].serving).grant_unused(ue, target)
            }
            Due::MoveMissed { ue, process, target } => self.waiting.push((ue, process, target)),
            Due::UplinkOccasion { ue, target } => self.occasions.push((ue, target)),
            Due::PowerCommand { ue, command, blocks } => self.command_power(tti, ue, command, blocks.into()),
            Due::BufferReport { cell, ue, bytes } => {
                self.granting(tti, self.links[ue].serving).on_report(cell, ue, bytes)
            }
            Due::Transmit => {}
            Due::Rrc { ue } => self.rrc_step(now, tti, ue, |rrc| rrc.connection_step(), out),
            Due::ContentionResolved { ue } => self.ues[ue].uplink.access.stop(),
            Due::Inactivity { ue } => {
                let waits = self.bearers.wait(&self.links[ue].drbs);
                self.rrc_step(now, tti, ue, |rrc| rrc.check_activity(waits), out);
            }
            Due::Measurement { ue } => self.rrc_step(now, tti, ue, |rrc| rrc.sample(), out),
            Due::Mobility { ue } => self.rrc_step(now, tti, ue, |rrc| rrc.step(Input::Wake), out),
            Due::PathSwitch { ue } => {
                if let Some(core) = &mut self.core {
                    core.switch_path(now, tti, ue);
                }
            }
            Due::SidelinkDecoded { destination, process, sent } => {
                if let Some(mut blocks) = self.sidelink_blocks(now, out) {
                    blocks.decoded(destination, process.into(), sent);
                }
                self.serve(now, out);
            }
            Due::SidelinkOccasion { destination } => {
                self.sidelink_occasion(tti, destination);
                self.serve(now, out);
            }
            Due::ModeSelection { pair } => self.select_mode(now, tti, pair, out),
            Due::Reordering { destination } => {
                if let Some(s) = &mut self.sidelink {
                    s.stop_waiting(tti, destination, &mut self.calendar, out);
                }
            }
        }
    }

    /// Waits for receptions in other threads and takes their results over. Counters of links
    /// contain them from then on.
    pub fn finish_reception(&mut self) {
        let RadioNetwork { air, links, ues, contexts, .. } = self;
        air.take_results(|tti, job| {
            downlink::decode(&job.downlink, links, ues);
            uplink::decode(&job.uplink, tti, links, contexts);
        });
    }

    /// Sets the number of threads that share the work of a TTI, at least 1. Results do not depend
    /// on it.
    ///
    /// # Errors
    /// The system provides no thread.
    pub fn set_threads(&mut self, threads: usize) -> Result<(), std::io::Error> {
        self.finish_reception();
        let air = self.air.get();
        let team = (threads > 1).then(|| Team::new(threads, || air.memory()));
        self.team = team.transpose().map_err(std::io::Error::other)?.map(Box::new);
        Ok(())
    }

    /// Replaces the scheduler of `cell`, also by one of the caller's own.
    pub fn set_scheduler(&mut self, cell: CellId, direction: Direction, scheduler: Scheduler) {
        match direction {
            Direction::Downlink => self.cells[cell].downlink.set_scheduler(scheduler),
            Direction::Uplink => self.cells[cell].uplink.scheduler = scheduler,
        }
    }

    /// Takes the first error in a scheduler of the caller's own since the last call.
    pub fn policy_fault(&mut self) -> Option<Fault> {
        self.cells.ids().find_map(|cell| {
            let c = &mut self.cells[cell];
            c.downlink.scheduler.fault().or_else(|| c.uplink.scheduler.fault())
        })
    }
}

//! Scheduling of all cells in several threads.
//!
//! Within a TTI no cell reads what another one writes: its UEs, their links and their bearers are
//! its own, and a report is a function of its TTI, the UE and the radio channel. So each cell is a
//! [`Part`] that owns the state of its UEs ([`Own`]). Its effects on others (transmissions, events,
//! timers, notices, drops) are in lists, which the network applies in the order of the cells, as if
//! the cells had been scheduled one after the other.
//!
//! With many cells each is scheduled at once, which reads its state once. With few cells the work
//! has three steps with a barrier after each. Every cell determines the UEs with data and schedules
//! retransmissions. The reports that the eNBs need are computed, dealt out by UE, so that a single
//! cell uses all threads too. Every cell schedules new data and its uplink.

use lasthop_units::{BearerId, CellId, Id, IndexVec, Instant, Tti, UeId};

use super::bearers::{Calls, Drb};
use super::calendar::{Agenda, OwnNotes};
use super::channel::Channel;
use super::downlink::{OnAir, Scheduling, Work};
use super::ends::EnbBearers;
use super::measure::{self, CellOf};
use super::prefetch;
use super::reach::{MANY, Members, OfCell, Own, OwnAir};
use super::state::{Cell, DownlinkContext, DownlinkLink, Link, Ue, UeContext};
use super::team::{self, Team, Worker};
use super::trace::Trace;
use super::uplink::Granting;
use super::uu::Uu;
use super::{NetworkOutput, RadioNetwork};
use crate::mac::scheduler::Scheduler;
use crate::phy::RbSet;
use crate::phy::air::{AtUe, Shared, UeRadio};
use lasthop_bearer::Direction;

/// Cells for each thread from which on each cell is scheduled at once: then the threads are done at
/// nearly the same time. Debug builds need fewer, so that tests with small networks use both ways.
const AT_ONCE: usize = if cfg!(debug_assertions) { 1 } else { 4 };

/// What the scheduling of a cell does to others, and memory for it.
#[derive(Debug, Default)]
pub(super) struct Scheduled {
    /// The cell has something to schedule in either direction.
    is_active: bool,
    /// The cell has something to schedule in the downlink.
    downlink: bool,
    work: Work,
    /// UEs whose reports are needed.
    asked: Vec<UeId>,
    calls: Calls,
    out: NetworkOutput,
    calendar: OwnNotes,
    on_air: Vec<OnAir>,
    /// Resource blocks of transmissions, and the factor of their power.
    sent: Vec<(RbSet, f32)>,
}

/// The moment, and the state that all cells read.
#[derive(Clone, Copy)]
struct Moment<'p> {
    now: Instant,
    tti: Tti,
    air: &'p Shared,
    /// There are no sidelinks, which have blocks of the uplinks.
    uplinks: bool,
    /// There are so many UEs that prefetching saves time.
    prefetches: bool,
}

/// A cell with the state that it changes.
struct Part<'p> {
    id: CellId,
    cell: &'p mut Cell,
    contexts: Own<'p, UeId, UeContext>,
    links: Own<'p, UeId, Link>,
    ues: Own<'p, UeId, Ue>,
    radios: Own<'p, UeId, UeRadio>,
    drbs: Own<'p, BearerId, Drb>,
    to: &'p mut Scheduled,
}

/// A UE whose report is needed.
struct Asked<'a> {
    ue: UeId,
    at: CellOf<'a>,
    context: &'a mut DownlinkContext,
    link: &'a mut DownlinkLink,
    air: &'a mut UeRadio,
}

impl RadioNetwork {
    /// Schedules the downlinks of all active cells, and without sidelinks their uplinks, in several
    /// threads; [`take_over`](Scheduled::take_over) has to follow for each cell. False, without any
    /// effect, where cells are scheduled one after the other: with one thread, with a trace or a
    /// record of SDUs, which have one order for all cells, where reports depend on transmissions of
    /// this TTI, with schedulers of the caller's own, which may share state, and with little work:
    /// fewer than [`team::CELLS`] active cells and fewer than [`team::UES`] UEs.
    pub(super) fn schedule_in_threads(&mut self, now: Instant, tti: Tti) -> bool {
        let alone = self.team.is_none() || self.trace.is_on() || self.bearers.notes_journeys();
        if alone || !self.cells.iter().all(|cell| is_apart(cell, tti)) {
            return false;
        }
        let active = self.cells.iter().filter(|cell| cell.is_active()).count();
        // A UE may be in several lists: their lengths are an upper bound that is found quickly.
        let counts = self.cells.iter().filter(|cell| cell.is_active()).map(|cell| listed(cell, tti).count());
        if active < team::CELLS && counts.sum::<usize>() < team::UES {
            return false;
        }
        let Some(ids) = members(&self.cells, &self.links, tti) else { return false };
        if active < team::CELLS && ids.len() < team::UES {
            return false;
        }
        let RadioNetwork { cells, contexts, links, ues, bearers, air, scheduled, team, .. } = self;
        let Some(threads) = team else { return false };
        let next = self.calendar.next();
        scheduled.resize_with(cells.len(), Scheduled::default);
        let mut drb_ids: Vec<(BearerId, CellId)> = Vec::with_capacity(2 * ids.len());
        for (ue, cell) in &ids {
            drb_ids.extend(links[*ue].drbs.iter().map(|drb| (*drb, *cell)));
        }
        drb_ids.sort_unstable();
        let drbs = bearers.split().0;
        let (uplinks, prefetches) = (self.sidelink.is_none(), ids.len() >= MANY);
        let members = Members::new(ids, links.len(), cells.len());
        let drb_members = Members::new(drb_ids, drbs.len(), cells.len());
        let (shared, radios) = air.get().split();
        let mut contexts = members.borrow(contexts.iter_mut().into_slice());
        let mut links = members.borrow(links.iter_mut().into_slice());
        let mut ues = members.borrow(ues.iter_mut().into_slice());
        let mut radios = members.borrow(radios);
        let mut drbs = drb_members.borrow(drbs.iter_mut().into_slice());
        let (mut contexts, mut links, mut ues) = (&mut *contexts, &mut *links, &mut *ues);
        let (mut radios, mut drbs) = (&mut *radios, &mut *drbs);
        let mut parts = Vec::with_capacity(active);
        for (i, (cell, to)) in cells.iter_mut().zip(scheduled).enumerate() {
            (to.is_active, to.downlink) = (cell.is_active(), false);
            if to.is_active {
                to.calendar.next = next;
                let id = CellId::from_index(i);
                parts.push(Part {
                    id,
                    cell,
                    contexts: members.split_off(id, &mut contexts),
                    links: members.split_off(id, &mut links),
                    ues: members.split_off(id, &mut ues),
                    radios: members.split_off(id, &mut radios),
                    drbs: drb_members.split_off(id, &mut drbs),
                    to,
                });
            }
        }
        let at = Moment { now, tti, air: shared, uplinks, prefetches };
        schedule(threads, &mut parts, at);
        true
    }
}

/// Schedules the cells of `parts`.
fn schedule<'p>(threads: &mut Team, parts: &mut [Part<'p>], at: Moment<'p>) {
    let ahead = |parts: &[Part<'_>]| parts.first().into_iter().for_each(|part| part.prefetch(at));
    if parts.len() >= AT_ONCE * threads.size() {
        threads.crew().each(parts, team::CELLS, ahead, |worker, part| {
            part.begin(at, worker);
            part.finish(at, worker);
        });
        return;
    }
    threads.crew().each(parts, team::CELLS, ahead, |worker, part| {
        part.begin(at, worker);
        part.collect_missing(at, worker);
    });
    let mut asked: Vec<Asked<'_>> = parts.iter_mut().flat_map(Part::asked).collect();
    let ahead = |asked: &[Asked<'_>]| {
        if at.prefetches {
            asked.get(1).into_iter().for_each(|asked| asked.air.prefetch());
            asked.first().into_iter().for_each(|asked| at.air.prefetch_links(asked.air));
        }
    };
    threads.crew().each(&mut asked, team::UES, ahead, |worker, asked| {
        let air = AtUe::new(at.air, asked.ue, asked.air, &mut worker.air);
        measure::learn_quality(at.tti, asked.at, asked.context, asked.link, air, &mut worker.memory);
    });
    drop(asked);
    threads.crew().each(parts, team::CELLS, |_| {}, |worker, part| part.finish(at, worker));
}

/// True if `cell` shares nothing with others that is written in `tti`.
fn is_apart(cell: &Cell, tti: Tti) -> bool {
    let own = |scheduler: &Scheduler| matches!(scheduler, Scheduler::Custom(_));
    let (down, up) = (&cell.downlink.scheduler, &cell.uplink.scheduler);
    cell.config.downlink.cqi.reads_earlier_ttis(tti) && !own(down) && !own(up)
}

/// The UEs to which `cell` may schedule in `tti`; some are in it several times.
fn listed(cell: &Cell, tti: Tti) -> impl Iterator<Item = UeId> {
    let granted = cell.uplink.plan.granted(tti.plus(cell.config.timing.grant)).iter().map(|g| &g.ue);
    let ues = cell.active.iter().flatten().chain(&cell.persistent).chain(&cell.uplink.persistent);
    ues.chain(granted).copied()
}

/// The UEs to which the active cells schedule, in the order of their ids. None if a cell has a list
/// with a UE of another cell.
fn members(
    cells: &IndexVec<CellId, Cell>,
    links: &IndexVec<UeId, Link>,
    tti: Tti,
) -> Option<Vec<(UeId, CellId)>> {
    let mut listing = vec![None; links.len()];
    for (id, c) in cells.enumerate().filter(|(_, c)| c.is_active()) {
        for ue in listed(c, tti) {
            if links[ue].serving != id {
                return None;
            }
            listing[ue.index()] = Some(id);
        }
    }
    let member = |(i, cell): (usize, Option<CellId>)| Some((UeId::from_index(i), cell?));
    Some(listing.into_iter().enumerate().filter_map(member).collect())
}

/// The state of the network that the scheduling of a cell changes beside that of the cell.
pub(super) struct Effects<'a> {
    pub air: &'a mut Channel,
    pub on_air: &'a mut Vec<OnAir>,
    pub calls: &'a mut Calls,
    pub calendar: &'a mut Agenda,
    pub out: &'a mut NetworkOutput,
}

impl Scheduled {
    /// Applies the effects of the scheduling of `cell` in `tti` on others. False if the cell was
    /// not active.
    pub fn take_over(&mut self, tti: Tti, cell: CellId, to: Effects<'_>) -> bool {
        if !self.is_active {
            return false;
        }
        to.out.append(&mut self.out);
        self.sent.drain(..).for_each(|(rbs, boost)| to.air.get().cell_transmits(tti, cell, rbs, boost));
        to.on_air.append(&mut self.on_air);
        to.calls.append(&mut self.calls);
        self.calendar.notes.drain(..).for_each(|(at, due)| to.calendar.note(at, due));
        true
    }
}

impl<'p> Part<'p> {
    /// Does `step` of the scheduling of the downlink.
    fn downlink<'w, T>(
        &'w mut self,
        at: Moment<'p>,
        worker: &'w mut Worker,
        step: impl FnOnce(&mut Scheduling<'_, OfCell<'w, 'p>>, &mut Work) -> T,
    ) -> T {
        let Scheduled { work, calls, out, calendar, on_air, sent, .. } = &mut *self.to;
        let mut air = OwnAir { shared: at.air, ues: &mut self.radios, work: &mut worker.air, sent };
        let mut scheduling = Scheduling {
            tti: at.tti,
            id: self.id,
            cell: self.cell,
            contexts: &mut self.contexts,
            links: &mut self.links,
            bearers: EnbBearers::of(at.now, &mut self.drbs, calls, out),
            air: &mut air,
            memory: &mut worker.memory,
            calendar,
            trace: &mut Trace::default(),
            on_air,
        };
        step(&mut scheduling, work)
    }

    /// Prefetches for the scheduling of the downlink.
    fn prefetch(&self, at: Moment<'_>) {
        if at.prefetches {
            let active = &self.cell.active[Direction::Downlink.index()];
            prefetch::scheduling::<OfCell<'_, 'p>>(active, &self.contexts, &self.links, &self.drbs);
        }
    }

    /// Determines the UEs with data, and schedules retransmissions.
    fn begin(&mut self, at: Moment<'p>, worker: &mut Worker) {
        self.to.downlink = self.downlink(at, worker, |scheduling, work| scheduling.begin(work));
    }

    /// Collects the UEs whose reports are needed.
    fn collect_missing(&mut self, at: Moment<'p>, worker: &mut Worker) {
        if self.to.downlink {
            let mut asked = std::mem::take(&mut self.to.asked);
            self.downlink(at, worker, |scheduling, work| scheduling.collect_missing(work, &mut asked));
            self.to.asked = asked;
        }
    }

    /// The UEs whose reports are needed.
    fn asked(&mut self) -> impl Iterator<Item = Asked<'_>> {
        let Part { id, cell, contexts, links, radios, to, .. } = self;
        let at = CellOf { id: *id, cell: cell.settings() };
        let (mut contexts, mut links, mut radios) =
            (contexts.ascending(), links.ascending(), radios.ascending());
        to.asked.drain(..).filter_map(move |ue| {
            let (context, link) = (&mut contexts(ue)?.downlink, &mut links(ue)?.downlink);
            Some(Asked { ue, at, context, link, air: radios(ue)? })
        })
    }

    /// Schedules new data in the downlink, and the uplink.
    fn finish(&mut self, at: Moment<'p>, worker: &mut Worker) {
        if self.to.downlink {
            self.downlink(at, worker, |scheduling, work| scheduling.finish(work));
        }
        if at.uplinks {
            let mut air = OwnAir {
                shared: at.air,
                ues: &mut self.radios,
                work: &mut worker.air,
                sent: &mut self.to.sent,
            };
            let mut granting = Granting::<OfCell<'_, 'p>> {
                tti: at.tti,
                id: self.id,
                cell: self.cell,
                contexts: &mut self.contexts,
                links: &mut self.links,
                uu: Uu::new(&mut self.ues, &mut air),
                destinations: &[],
                sidelink_grants: None,
                calendar: &mut self.to.calendar,
                trace: &mut Trace::default(),
            };
            granting.schedule();
        }
    }
}

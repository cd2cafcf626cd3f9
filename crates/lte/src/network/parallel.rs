//! Scheduling of all cells in several threads.
//!
//! Within a TTI no cell reads what another one writes: its UEs, their links and their bearers are
//! its own, and a report is a function of its TTI, the UE and the radio channel. So each cell is a
//! [`Part`] that owns the state of its UEs ([`Own`]). Its effects on others (transmissions, events,
//! timers, notices, drops) are in lists, which the network applies in the order of the cells, as if
//! the cells had been scheduled one after the other.
//!
//! The work has three steps with a barrier after each. Every cell determines the UEs with data and
//! schedules retransmissions. The reports that the eNBs need are computed, dealt out by UE, so that
//! a single cell uses all threads too. Every cell schedules new data and its uplink.

use lasthop_units::{BearerId, CellId, Id, IndexVec, Instant, Tti, UeId};

use super::bearers::{Calls, Drb};
use super::calendar::{Agenda, OwnNotes};
use super::downlink::{OnAir, Scheduling, Work};
use super::ends::EnbBearers;
use super::measure::{self, CellOf};
use super::prefetch;
use super::reach::{MANY, OfCell, Own, OwnAir};
use super::state::{Cell, DownlinkContext, DownlinkLink, Link, Ue, UeContext};
use super::team::{self, Deal, Worker};
use super::trace::Trace;
use super::uplink::Granting;
use super::uu::Uu;
use super::{NetworkOutput, RadioNetwork};
use crate::mac::scheduler::Scheduler;
use crate::phy::RbSet;
use crate::phy::air::{Air, AtUe, Shared, UeRadio};
use lasthop_bearer::Direction;

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
    /// this TTI, and with schedulers of the caller's own, which may share state.
    pub(super) fn schedule_in_threads(&mut self, now: Instant, tti: Tti) -> bool {
        let alone = self.team.is_none() || self.trace.is_on() || self.bearers.notes_journeys();
        if alone || !self.cells.iter().all(|cell| is_apart(cell, tti)) {
            return false;
        }
        let Some(members) = members(&self.cells, &self.links, tti) else { return false };
        let RadioNetwork { cells, contexts, links, ues, bearers, air, scheduled, team, .. } = self;
        let Some(threads) = team else { return false };
        let next = self.calendar.next();
        scheduled.resize_with(cells.len(), Scheduled::default);
        let mut drbs: Vec<(BearerId, CellId)> =
            members.iter().flat_map(|(ue, cell)| links[*ue].drbs.iter().map(|drb| (*drb, *cell))).collect();
        drbs.sort_unstable();
        let all = bearers.split().0;
        let (ue_places, ue_counts) = places(&members, links.len(), cells.len());
        let (drb_places, drb_counts) = places(&drbs, all.len(), cells.len());
        // The place of each active cell among the parts.
        let mut part_of = vec![usize::MAX; cells.len()];
        let mut parts = Vec::with_capacity(cells.len());
        for (i, (cell, to)) in cells.iter_mut().zip(scheduled).enumerate() {
            (to.is_active, to.downlink) = (cell.is_active(), false);
            if to.is_active {
                to.calendar.next = next;
                part_of[i] = parts.len();
                let (ues, drbs) = ((ue_counts[i], &*ue_places), (drb_counts[i], &*drb_places));
                parts.push(Part::new(CellId::from_index(i), cell, to, ues, drbs));
            }
        }
        let (shared, radios) = air.split();
        let mut radios = Deal::of(radios);
        let mut contexts = Deal::of(contexts.iter_mut().into_slice());
        let mut links = Deal::of(links.iter_mut().into_slice());
        let mut ues = Deal::of(ues.iter_mut().into_slice());
        for (ue, cell) in &members {
            let (i, part) = (ue.index(), &mut parts[part_of[cell.index()]]);
            contexts.take(i).into_iter().for_each(|context| part.contexts.push(*ue, context));
            links.take(i).into_iter().for_each(|link| part.links.push(*ue, link));
            ues.take(i).into_iter().for_each(|state| part.ues.push(*ue, state));
            radios.take(i).into_iter().for_each(|radio| part.radios.push(*ue, radio));
        }
        let mut all = Deal::of(all.iter_mut().into_slice());
        for (id, cell) in drbs {
            let part = &mut parts[part_of[cell.index()]];
            all.take(id.index()).into_iter().for_each(|drb| part.drbs.push(id, drb));
        }
        let (uplinks, prefetches) = (self.sidelink.is_none(), members.len() >= MANY);
        let at = Moment { now, tti, air: shared, uplinks, prefetches };
        threads.each(&mut parts, team::CELLS, |_| {}, |worker, part| part.begin(at, worker));
        let mut asked: Vec<Asked<'_>> = parts.iter_mut().flat_map(Part::asked).collect();
        let ahead = |rest: &[Asked<'_>]| {
            if prefetches {
                rest.get(1).into_iter().for_each(|asked| asked.air.prefetch());
                rest.first().into_iter().for_each(|asked| shared.prefetch_links(asked.air));
            }
        };
        threads.each(&mut asked, team::UES, ahead, |worker, asked| {
            let air = AtUe::new(shared, asked.ue, asked.air, &mut worker.air);
            measure::learn_quality(tti, asked.at, asked.context, asked.link, air, &mut worker.memory);
        });
        drop(asked);
        threads.each(&mut parts, team::CELLS, |_| {}, |worker, part| part.finish(at, worker));
        true
    }
}

/// True if `cell` shares nothing with others that is written in `tti`.
fn is_apart(cell: &Cell, tti: Tti) -> bool {
    let own = |scheduler: &Scheduler| matches!(scheduler, Scheduler::Custom(_));
    let (down, up) = (&cell.downlink.scheduler, &cell.uplink.scheduler);
    cell.config.downlink.cqi.reads_earlier_ttis(tti) && !own(down) && !own(up)
}

/// The UEs to which the active cells schedule, in the order of their ids. None if a cell has a list
/// with a UE of another cell.
fn members(
    cells: &IndexVec<CellId, Cell>,
    links: &IndexVec<UeId, Link>,
    tti: Tti,
) -> Option<Vec<(UeId, CellId)>> {
    let mut members = Vec::new();
    for (id, c) in cells.enumerate().filter(|(_, c)| c.is_active()) {
        let granted = c.uplink.plan.granted(tti.plus(c.config.timing.grant)).iter().map(|g| &g.ue);
        let ues = c.active.iter().flatten().chain(&c.persistent).chain(&c.uplink.persistent);
        members.extend(ues.chain(granted).map(|ue| (*ue, id)));
    }
    members.sort_unstable();
    members.dedup();
    members.iter().all(|(ue, cell)| links[*ue].serving == *cell).then_some(members)
}

/// By id, of so many: the place among those of its cell. And by cell, of so many: their number.
fn places<I: Id>(ids: &[(I, CellId)], all: usize, cells: usize) -> (Vec<u32>, Vec<usize>) {
    let (mut places, mut counts) = (vec![0; all], vec![0; cells]);
    for (id, cell) in ids {
        let count = &mut counts[cell.index()];
        places[id.index()] = *count as u32;
        *count += 1;
    }
    (places, counts)
}

/// The state of the network that the scheduling of a cell changes beside that of the cell.
pub(super) struct Effects<'a> {
    pub air: &'a mut Air,
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
        self.sent.drain(..).for_each(|(rbs, boost)| to.air.cell_transmits(tti, cell, rbs, boost));
        to.on_air.append(&mut self.on_air);
        to.calls.append(&mut self.calls);
        self.calendar.notes.drain(..).for_each(|(at, due)| to.calendar.note(at, due));
        true
    }
}

impl<'p> Part<'p> {
    /// For `id`, which is `cell`, with room for its UEs and bearers: their number, and the places.
    fn new(
        id: CellId,
        cell: &'p mut Cell,
        to: &'p mut Scheduled,
        (ues, ue_places): (usize, &'p [u32]),
        (drbs, drb_places): (usize, &'p [u32]),
    ) -> Part<'p> {
        let (contexts, links) = (Own::new(ues, ue_places), Own::new(ues, ue_places));
        let (radios, drbs) = (Own::new(ues, ue_places), Own::new(drbs, drb_places));
        Part { id, cell, contexts, links, ues: Own::new(ues, ue_places), radios, drbs, to }
    }

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

    /// Determines the UEs with data, and schedules retransmissions.
    fn begin(&mut self, at: Moment<'p>, worker: &mut Worker) {
        if at.prefetches {
            let active = &self.cell.active[Direction::Downlink.index()];
            prefetch::scheduling::<OfCell<'_, 'p>>(active, &self.contexts, &self.links, &self.drbs);
        }
        let mut asked = std::mem::take(&mut self.to.asked);
        self.to.downlink = self.downlink(at, worker, |scheduling, work| {
            let downlink = scheduling.begin(work);
            if downlink {
                scheduling.collect_missing(work, &mut asked);
            }
            downlink
        });
        self.to.asked = asked;
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

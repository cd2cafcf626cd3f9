//! The downlink of all cells in several threads: each cell determines the UEs with data and
//! schedules retransmissions, then all reports that the eNBs need are computed at once, then each
//! cell schedules new data.
//!
//! A report is a function of its TTI, the UE and the radio channel, and no cell uses reports of
//! another cell's UEs. So the result is that of cells that schedule one after the other: the same
//! UEs report in the same TTI. The output of the first part is held back until the cell's turn.

use lasthop_units::{CellId, Id, IndexVec, Instant, Tti, UeId};

use super::{OnAir, Scheduling, Work};
use crate::network::NetworkOutput;
use crate::network::bearers::Bearers;
use crate::network::calendar::Agenda;
use crate::network::ends::EnbBearers;
use crate::network::measure::{self, CellOf, Memory};
use crate::network::state::sidelink::Sidelink;
use crate::network::state::{Cell, CellSettings, DownlinkContext, DownlinkLink, Link, UeContext};
use crate::network::team::{Deal, Team};
use crate::network::trace::Trace;
use crate::phy::air::{self, Air, AtUe};

/// State of a cell between the two parts of scheduling.
#[derive(Debug, Default)]
pub(in crate::network) struct Begun {
    /// The cell had something to schedule in either direction.
    is_active: bool,
    /// The cell has something to schedule in the downlink.
    downlink: bool,
    work: Work,
    /// Output of the first part.
    out: NetworkOutput,
}

/// A UE whose report is needed.
struct Asked<'a> {
    ue: UeId,
    cell: CellId,
    context: &'a mut DownlinkContext,
    link: &'a mut DownlinkLink,
    air: &'a mut air::UeRadio,
}

/// The eNBs of all cells that schedule their downlinks in one TTI.
pub(in crate::network) struct Downlinks<'a> {
    pub now: Instant,
    pub tti: Tti,
    pub cells: &'a mut IndexVec<CellId, Cell>,
    pub contexts: &'a mut IndexVec<UeId, UeContext>,
    pub links: &'a mut IndexVec<UeId, Link>,
    pub bearers: &'a mut Bearers,
    pub air: &'a mut Air,
    pub memory: &'a mut Memory,
    pub calendar: &'a mut Agenda,
    pub trace: &'a mut Trace,
    pub on_air: &'a mut Vec<OnAir>,
    pub work: &'a mut Work,
    pub sidelink: Option<&'a mut Sidelink>,
    /// State between the two parts, by cell.
    pub begun: &'a mut Vec<Begun>,
    pub team: Option<&'a mut Team>,
}

impl Downlinks<'_> {
    /// With several threads: the first part of scheduling in all cells, and the reports of their
    /// UEs. False, without any effect, where cells schedule one after the other: with one thread,
    /// with a trace, which records the order of steps within a TTI, where persistent grants take
    /// new data in the first part, and where reports depend on transmissions of this TTI.
    #[inline]
    pub fn begin(&mut self) -> bool {
        let tti = self.tti;
        let apart = self.team.is_some()
            && !self.trace.is_on()
            && self
                .cells
                .iter()
                .all(|cell| cell.persistent.is_empty() && cell.config.downlink.cqi.reads_earlier_ttis(tti));
        if apart {
            self.begin_all();
        }
        apart
    }

    fn begin_all(&mut self) {
        let mut all = std::mem::take(self.begun);
        all.resize_with(self.cells.len(), Begun::default);
        let mut asked = Vec::new();
        for (cell, begun) in self.cells.ids().zip(&mut all) {
            begun.is_active = self.cells[cell].is_active();
            begun.downlink = false;
            if begun.is_active {
                let (mut scheduling, _) = self.of(cell, &mut begun.out);
                begun.downlink = scheduling.begin(&mut begun.work);
                if begun.downlink {
                    scheduling.collect_missing(&begun.work, &mut asked);
                }
            }
        }
        *self.begun = all;
        self.learn(asked);
    }

    /// True if `cell` has something to schedule; `begun`: as [`begin`](Self::begin) has found.
    #[inline]
    pub fn is_active(&self, cell: CellId, begun: bool) -> bool {
        if begun { self.begun[cell.index()].is_active } else { self.cells[cell].is_active() }
    }

    /// Schedules `cell`, or does the second part of that if all have `begun`.
    #[inline]
    pub fn schedule(&mut self, cell: CellId, begun: bool, out: &mut NetworkOutput) {
        let dropped = out.dropped.len();
        if begun {
            self.finish(cell, out);
        } else {
            let (mut scheduling, work) = self.of(cell, out);
            scheduling.schedule(work);
        }
        if let Some(s) = &mut self.sidelink {
            s.remove_dropped(&out.dropped[dropped..]);
        }
    }

    fn finish(&mut self, cell: CellId, out: &mut NetworkOutput) {
        let mut begun = std::mem::take(&mut self.begun[cell.index()]);
        out.append(&mut begun.out);
        if begun.downlink {
            self.of(cell, out).0.finish(&mut begun.work);
        }
        self.begun[cell.index()] = begun;
    }

    /// Sorts the transmissions by cell, after all cells have scheduled in two parts.
    pub fn sort(&mut self) {
        self.on_air.sort_by_key(|t: &OnAir| t.cell);
    }

    /// Computes the reports of the UEs in `asked` in several threads.
    fn learn(&mut self, mut asked: Vec<(UeId, CellId)>) {
        let Some(team) = &mut self.team else { return };
        asked.sort_unstable();
        let cells: IndexVec<CellId, CellSettings<'_>> = self.cells.iter().map(Cell::settings).collect();
        let (tti, (shared, air)) = (self.tti, self.air.split());
        let mut air = Deal::of(air);
        let mut contexts = Deal::of(self.contexts.iter_mut().into_slice());
        let mut links = Deal::of(self.links.iter_mut().into_slice());
        let shares = asked.into_iter().filter_map(|(ue, cell)| {
            let i = ue.index();
            let (context, link) = (&mut contexts.take(i)?.downlink, &mut links.take(i)?.downlink);
            Some(Asked { ue, cell, context, link, air: air.take(i)? })
        });
        let mut shares: Vec<Asked<'_>> = shares.collect();
        team.each(&mut shares, |worker, asked| {
            let at = CellOf { id: asked.cell, cell: cells[asked.cell] };
            let air = AtUe::new(shared, asked.ue, asked.air, &mut worker.air);
            measure::learn_quality(tti, at, asked.context, asked.link, air, &mut worker.memory);
        });
    }

    /// The scheduling of `cell`, whose drops and marks are appended to `out`, and working memory.
    #[inline]
    fn of<'b>(&'b mut self, cell: CellId, out: &'b mut NetworkOutput) -> (Scheduling<'b>, &'b mut Work) {
        let scheduling = Scheduling {
            tti: self.tti,
            id: cell,
            cell: &mut self.cells[cell],
            contexts: self.contexts,
            links: self.links,
            bearers: EnbBearers::new(self.now, self.bearers, out),
            air: self.air,
            memory: self.memory,
            calendar: self.calendar,
            trace: self.trace,
            on_air: self.on_air,
        };
        (scheduling, self.work)
    }
}

impl Scheduling<'_> {
    /// Collects the UEs of which the eNB will use a report that it does not have.
    fn collect_missing(&self, work: &Work, asked: &mut Vec<(UeId, CellId)>) {
        let config = &self.cell.config.downlink.cqi;
        let needed = work.backlogs.iter().filter(|(ue, backlog)| {
            let measured = config.measured(self.tti, self.links[*ue].downlink.phase);
            self.contexts[*ue].downlink.quality.measured != Some(measured)
                && self.can_be_served(*ue, *backlog)
        });
        asked.extend(needed.map(|(ue, _)| (*ue, self.id)));
    }
}

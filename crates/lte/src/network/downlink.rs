//! The downlink of a cell: scheduling of a TTI; its modules transmit, decode, and process feedback.

mod decoding;
mod feedback;
mod invariants;
mod persistent;
mod send;
mod zone;

pub(super) use decoding::{DownlinkAir, decode};

use lasthop_units::{BearerId, CellId, Duration, Tti, UeId};

use super::bearers::HEADERS;
use super::calendar::Notes;
use super::ends::EnbBearers;
use super::measure;
use super::measure::{CellOf, Memory};
use super::reach::{MANY, Radio, Reach, Whole};
use super::state::{Cell, DownlinkContext, DownlinkLink, Link, UeContext};
use super::trace::Trace;
use crate::phy::RbSet;
use lasthop_radio::lte::ErrorModel;

use crate::mac::allocation;
use crate::mac::allocation::{Groups, Need, allocate};
use crate::mac::scheduler::{Candidate, Domain, Policy};
use crate::phy::air::Scheme;
use lasthop_bearer::Direction;

/// A downlink transmission of this TTI.
#[derive(Clone, Copy, Debug)]
pub(super) struct OnAir {
    pub cell: CellId,
    pub ue: UeId,
    pub process: u8,
    /// A new block; None: a retransmission.
    block: Option<ErrorModel>,
    rbs: RbSet,
    /// The transmission scheme.
    scheme: Scheme,
    /// The transmission is on a persistent grant, without an assignment.
    pub persistent: bool,
}

/// Memory of the scheduling of one cell and TTI.
#[derive(Debug, Default)]
pub(super) struct Work {
    candidates: Vec<Candidate>,
    weights: Vec<f64>,
    needs: Vec<Need>,
    given: Vec<Groups>,
    /// Retransmissions that are due: TTI of the last transmission, UE, process.
    failed: Vec<(Tti, UeId, u8)>,
    /// UEs with data, and its size [B].
    backlogs: Vec<(UeId, u64)>,
    scratch: allocation::Scratch,
    /// Groups that retransmissions and persistent grants leave free.
    free: Groups,
    /// UEs in the active list.
    users: usize,
}

/// Data of a UE with a full buffer [B]: more than any transport block.
const ENDLESS: u64 = 1 << 40;

/// The eNB of a cell that schedules its downlink in one TTI: the state that it uses.
pub(super) struct Scheduling<'a, R: Reach = Whole> {
    pub tti: Tti,
    pub id: CellId,
    pub cell: &'a mut Cell,
    pub contexts: &'a mut R::Contexts,
    pub links: &'a mut R::Links,
    pub bearers: EnbBearers<'a, R>,
    pub air: &'a mut R::Air,
    pub memory: &'a mut Memory,
    pub calendar: &'a mut R::Calendar,
    pub trace: &'a mut Trace,
    pub on_air: &'a mut Vec<OnAir>,
}

impl<R: Reach> Scheduling<'_, R> {
    /// Schedules the downlink of the cell, which is active.
    pub(super) fn schedule(&mut self, work: &mut Work) {
        if self.begin(work) {
            self.finish(work);
        }
    }

    /// Determines the UEs with data, and schedules retransmissions and persistent grants. False if
    /// there is nothing to schedule.
    pub(super) fn begin(&mut self, work: &mut Work) -> bool {
        let c = &mut self.cell;
        if c.active[Direction::Downlink.index()].is_empty() && c.persistent.is_empty() {
            return false;
        }
        let mut active = std::mem::take(&mut c.active[Direction::Downlink.index()]);
        work.backlogs.clear();
        work.failed.clear();
        // As `retain` would, which calls a function for each UE. Usually all stay in their places.
        let mut kept = 0;
        for i in 0..active.len() {
            let ue = active[i];
            if self.gather_backlog(ue, work) {
                if kept < i {
                    active[kept] = ue;
                }
                kept += 1;
            }
        }
        active.truncate(kept);
        self.find_zones(&active);
        work.users = active.len();
        // Shares of the carrier are computed from the number of UEs in the list.
        self.cell.active[Direction::Downlink.index()] = active;
        let mut free = self.cell.downlink.usable;
        self.retransmit(work, &mut free);
        self.use_persistent_grants(work, &mut free);
        work.free = free;
        true
    }

    /// Schedules new data on the groups that are free.
    pub(super) fn finish(&mut self, work: &mut Work) {
        self.gather_candidates(work);
        if !work.candidates.is_empty() && work.free != 0 {
            self.give_groups(work);
            for (candidate, groups) in
                work.candidates.iter().zip(&work.given).filter(|(_, groups)| **groups != 0)
            {
                if let Some(mcs) = self.mcs(candidate.ue, 0, *groups) {
                    self.send_new(candidate.ue, *groups, mcs);
                }
            }
        }
        let list = &self.cell.active[Direction::Downlink.index()];
        debug_assert_eq!(list.len(), work.users, "no UE becomes active during scheduling");
        if cfg!(debug_assertions) {
            self.check_downlink();
        }
    }

    /// Collects the UEs of which the eNB will use a report that it does not have.
    pub(super) fn collect_missing(&self, work: &Work, asked: &mut Vec<UeId>) {
        let needed = work.backlogs.iter().filter(|(ue, backlog)| {
            let cx = &self.contexts[*ue];
            !cx.downlink.quality.is_current(self.tti) && self.can_be_served(cx, &self.links[*ue], *backlog)
        });
        asked.extend(needed.map(|(ue, _)| *ue));
    }

    /// Updates the eNB's record of the downlink channel of `ue` to this TTI.
    #[inline]
    pub(super) fn learn_quality(&mut self, ue: UeId) {
        if !self.contexts[ue].downlink.quality.is_current(self.tti) {
            self.learn_newer(ue);
        }
    }

    /// Takes in the report of `ue` that is used from this TTI on.
    #[inline(never)]
    fn learn_newer(&mut self, ue: UeId) {
        let (cx, link) = (&mut self.contexts[ue].downlink, &mut self.links[ue].downlink);
        let at = CellOf { id: self.id, cell: self.cell.settings() };
        measure::learn_quality(self.tti, at, cx, link, self.air.at(ue), self.memory);
    }

    /// Passes on the output of the layers of `bearer` after they made PDUs: no delivery and no
    /// failure of a link. The UE stays in the active list.
    #[inline]
    pub(super) fn settle(&mut self, bearer: BearerId) {
        self.bearers.settle(bearer);
        self.contexts[self.bearers.ue(bearer)].activity = self.calendar.next();
    }

    /// True while the UE has downlink data or a retransmission, which are recorded in `work`;
    /// otherwise the UE leaves the active list.
    #[inline]
    fn gather_backlog(&mut self, ue: UeId, work: &mut Work) -> bool {
        let link = &mut self.links[ue];
        let cx = &mut self.contexts[ue];
        let mut backlog = if link.full_buffer[Direction::Downlink.index()] { ENDLESS } else { 0 };
        for b in &link.drbs {
            let waiting = self.bearers.waiting(*b);
            backlog += waiting.backlog;
            if self.bearers.ip(*b).is_some() && !waiting.by_reports {
                backlog += waiting_above(&self.bearers, *b, waiting.bytes);
            }
        }
        if backlog > 0 {
            work.backlogs.push((ue, backlog));
        }
        let failed = cx.downlink.may_have_failed() && {
            let due_after = 2 * self.cell.config.timing.feedback;
            gather_failed(&mut cx.downlink, (self.tti, due_after), ue, &mut work.failed)
        };
        let stays = backlog > 0 || failed;
        if !stays {
            cx.active[Direction::Downlink.index()] = false;
        }
        stays
    }

    /// Collects the UEs that may get new data in this TTI.
    fn gather_candidates(&mut self, work: &mut Work) {
        work.candidates.clear();
        let reads_class = self.cell.downlink.scheduler.reads_class();
        let prefetches = self.air.ues() >= MANY;
        for i in 0..work.backlogs.len() {
            if prefetches {
                self.air.prefetch_reports(&work.backlogs, i);
            }
            let (ue, backlog) = work.backlogs[i];
            let (cx, link) = (&self.contexts[ue], &self.links[ue]);
            if !self.can_be_served(cx, link, backlog) {
                continue;
            }
            if !cx.downlink.quality.is_current(self.tti) {
                self.learn_newer(ue);
            }
            let c = &self.cell.downlink;
            let cx = &mut self.contexts[ue].downlink;
            if !cx.quality.in_range() {
                continue;
            }
            let allowed = c.reuse.as_ref().map_or(Groups::MAX, |reuse| reuse.groups(cx.zone));
            c.adaptation.update_rates(&mut cx.quality, allowed);
            work.candidates.push(Candidate {
                ue,
                backlog,
                head_delay: Duration::ZERO,
                wideband_rate: f64::from(cx.quality.wideband_rate()),
                average: cx.average.at(self.tti, &c.window),
                qci: 9,
                guaranteed: 0.0,
                served: cx.served,
            });
            if reads_class && let Some(candidate) = work.candidates.last_mut() {
                self.qos_of(candidate);
            }
        }
    }

    /// True if new data for the UE of `cx` and `link`, which has `backlog` bytes, may be scheduled
    /// in this TTI.
    #[inline]
    fn can_be_served(&self, cx: &UeContext, link: &Link, backlog: u64) -> bool {
        let link = &link.downlink;
        // Data that fits into a persistent grant waits for it.
        let granted = link.persistent.is_some_and(|p| backlog <= u64::from(p.config.bytes));
        !granted && cx.downlink.idle(0).is_some() && self.monitors_pdcch(cx, link)
    }

    /// Class, guaranteed rate and delay of the most urgent bearer with data.
    #[inline]
    fn qos_of(&mut self, candidate: &mut Candidate) {
        let mut best = f64::INFINITY;
        for b in &self.links[candidate.ue].drbs {
            let waiting = self.bearers.waiting(*b);
            let qos = self.bearers.qos(*b);
            candidate.guaranteed += qos.downlink.0 as f64 * 1e-3;
            let waits = waiting.bytes > 0 || self.bearers.ip(*b).is_some_and(|ip| ip.packets() > 0);
            let priority = self.bearers.priority(*b);
            if waits && priority < best {
                best = priority;
                candidate.qci = qos.qci;
                let now = self.bearers.now();
                let oldest = self.bearers.rlc(*b).oldest();
                candidate.head_delay = oldest.map_or(Duration::ZERO, |t| now.since(t));
            }
        }
    }

    /// Assignments on the PDCCH in this TTI. Both code words of a UE share one (TS 36.212 clause
    /// 5.3.3.1.5), and a persistent grant in use needs none (TS 36.321 clause 5.10.1).
    pub(super) fn assignments(&self) -> usize {
        let assigned = self.on_air.iter().filter(|t| t.cell == self.id && !t.persistent);
        // The code words of a UE are neighbours in the list.
        let mut last = None;
        assigned.filter(|t| last.replace(t.ue) != Some(t.ue)).count()
    }

    /// Assignments that the PDCCH still has room for.
    fn assignments_left(&self) -> usize {
        match self.cell.config.downlink.max_assignments as usize {
            0 => usize::MAX,
            limit => limit.saturating_sub(self.assignments()),
        }
    }

    /// Discontinuous reception (TS 36.321 clause 5.7): true if the UE monitors the PDCCH in `tti`.
    #[inline]
    fn monitors_pdcch(&self, cx: &UeContext, link: &DownlinkLink) -> bool {
        cx.monitors_pdcch(self.tti, self.cell.config.downlink.drx.as_ref(), link.phase)
    }

    /// Applies the policy and divides the groups that are free.
    fn give_groups(&mut self, work: &mut Work) {
        let left = self.assignments_left();
        let c = &mut *self.cell;
        let Work { candidates, weights, needs, given, scratch, free, .. } = work;
        weights.clear();
        weights.resize(candidates.len(), 0.0);
        c.downlink.scheduler.weigh(self.tti, candidates, weights);
        if left < candidates.len() {
            keep_best(left, c.downlink.rules.domain, candidates, weights);
        }
        let beyond = c.config.downlink.beyond_need;
        needs.clear();
        needs.extend(candidates.iter().zip(weights.iter()).map(|(candidate, weight)| Need {
            weight: *weight,
            bits: if beyond { f64::INFINITY } else { candidate.backlog as f64 * 8.0 },
            average: candidate.average,
        }));
        let (contexts, candidates) = (&*self.contexts, &*candidates);
        let rates = |i: usize| contexts[candidates[i].ue].downlink.quality.rates();
        allocate(&c.downlink.band, &c.downlink.rules, *free, needs, rates, scratch, given);
    }
}

/// The data of a queue above `bearer` that RLC, where `bytes` wait, could send now [B].
#[inline(never)]
fn waiting_above<R: Reach>(bearers: &EnbBearers<'_, R>, bearer: BearerId, bytes: u64) -> u64 {
    // While RLC's window is full no packet from above could be sent either.
    let all_can_be_sent = bytes == bearers.rlc(bearer).buffer_status().total();
    // PDCP and RLC fields of each packet that is not numbered yet.
    let above = bearers.ip(bearer).map_or(0, |ip| ip.bytes() + HEADERS * ip.packets() as u64);
    if all_can_be_sent { above } else { 0 }
}

/// Records the processes of `ue` that have failed, and were sent so long before the TTI that a
/// retransmission is due, in `failed`. False if none has failed.
#[cold]
fn gather_failed(
    cx: &mut DownlinkContext,
    (tti, due_after): (Tti, u64),
    ue: UeId,
    failed: &mut Vec<(Tti, UeId, u8)>,
) -> bool {
    let mut any = false;
    for code_word in 0..2 {
        if let Some(process) = cx.failed(code_word) {
            any = true;
            let sent = cx.process(process).map_or(tti, |p| p.sent);
            if sent.plus(due_after) <= tti {
                failed.push((sent, ue, process));
            }
        }
    }
    any
}

/// Sets the weights of all but the `limit` candidates with the highest metric to zero.
fn keep_best(limit: usize, domain: Domain, candidates: &[Candidate], weights: &mut [f64]) {
    let metric = |i: usize, weights: &[f64]| domain.metric_of_band(weights[i], &candidates[i]);
    let mut positive = weights.iter().filter(|w| **w > 0.0).count();
    while positive > limit {
        let live = (0..weights.len()).filter(|i| weights[*i] > 0.0);
        let worst = live.min_by(|a, b| metric(*a, weights).total_cmp(&metric(*b, weights)).then(b.cmp(a)));
        let Some(worst) = worst else { return };
        weights[worst] = 0.0;
        positive -= 1;
    }
}

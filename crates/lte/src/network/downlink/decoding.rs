//! Decoding of each downlink transmission after all cells have transmitted.
//!
//! A reception has three steps. The UE begins it ([`Receiving::begin`]), receives the signal
//! ([`DownlinkBlock::receive`]: the radio channel and nothing else), and decodes it
//! ([`Receiving::decode`]). The second step takes nearly all of the time. In several threads it is
//! shared, or it is a part of a [`Job`] of the other threads, beside the packets and events that
//! follow.

use lasthop_engine::simd::prefetch;
use lasthop_radio::lte::SoftBuffer;
use lasthop_units::{CellId, IndexVec, Tti, UeId};

use super::OnAir;
use crate::mac::harq::{PROCESSES, Reception};
use crate::network::calendar::{Agenda, Due};
use crate::network::channel::Channel;
use crate::network::measure::Memory;
use crate::network::prefetch::EARLY;
use crate::network::reach::MANY;
use crate::network::reception::{DownlinkBlock, DownlinkBlocks, Heard, Job};
use crate::network::state::{Cell, DownlinkLink, DownlinkUe, Link, Ue};
use crate::network::team::{self, Team};

/// Reception of the UEs of all cells in one TTI.
pub(in crate::network) struct DownlinkAir<'a> {
    pub tti: Tti,
    pub cells: &'a IndexVec<CellId, Cell>,
    pub links: &'a mut IndexVec<UeId, Link>,
    pub ues: &'a mut IndexVec<UeId, Ue>,
    pub air: &'a mut Channel,
    pub calendar: &'a mut Agenda,
    pub is_tracing: bool,
    /// Nothing needs the results before the scheduling of the next TTI, in which a cell is active.
    pub may_wait: bool,
}

/// A UE that receives: the state that changes.
struct Receiving<'a> {
    link: &'a mut DownlinkLink,
    ue: &'a mut DownlinkUe,
}

impl DownlinkAir<'_> {
    /// Decides whether each transmission is decoded, after all cells have transmitted. With `team`
    /// in several threads. Many are not decided yet: the returned job is to be begun
    /// ([`Channel::begin`]).
    #[inline]
    pub fn decide(&mut self, on_air: &[OnAir], team: Option<&mut Team>, memory: &mut Memory) -> Option<Job> {
        match team {
            _ if on_air.is_empty() => self.air.get().sort_out(self.tti),
            Some(team) => return self.run_with(team, on_air),
            None => self.run(on_air, memory),
        }
        None
    }

    /// Decides in one thread.
    fn run(&mut self, on_air: &[OnAir], memory: &mut Memory) {
        let Self { tti, cells, .. } = *self;
        self.air.get().sort_out(tti);
        let mut before = Heard::default();
        for i in 0..on_air.len() {
            self.prefetch_values(on_air, i);
            let arriving = self.begin(on_air, i);
            let t = &on_air[i];
            let (control, air) = (&cells[t.cell].control, self.air.get().at(t.ue));
            before = arriving.receive(tti, control, air, memory, before);
            let decoded = self.receiving(t.ue).decode(&arriving, before);
            self.note(t, decoded, before.missed);
        }
    }

    /// Decides in several threads.
    fn run_with(&mut self, threads: &mut Team, on_air: &[OnAir]) -> Option<Job> {
        let mut job = self.air.job();
        let blocks = &mut job.downlink;
        blocks.tti = self.tti;
        blocks.arriving.clear();
        blocks.arriving.extend((0..on_air.len()).map(|i| self.begin(on_air, i)));
        if blocks.controls.is_empty() {
            blocks.controls.extend(self.cells.iter().map(|cell| cell.control.clone()));
            blocks.prefetches = self.links.len() >= MANY;
        }
        if self.may_wait && on_air.len() >= team::UES && threads.is_here() {
            // An event for a block that is not decoded has no effect.
            on_air.iter().for_each(|t| self.note(t, true, false));
            return Some(job);
        }
        let air = self.air.get();
        air.sort_out(self.tti);
        blocks.receive(air, threads.crew());
        for (t, (arriving, heard)) in on_air.iter().zip(job.downlink.received()) {
            let decoded = self.receiving(t.ue).decode(arriving, heard);
            self.note(t, decoded, heard.missed);
        }
        self.air.keep(job);
        None
    }

    #[inline]
    fn receiving(&mut self, ue: UeId) -> Receiving<'_> {
        Receiving { link: &mut self.links[ue].downlink, ue: &mut self.ues[ue].downlink }
    }

    /// Begins the reception of transmission `i`.
    #[inline]
    fn begin(&mut self, on_air: &[OnAir], i: usize) -> DownlinkBlock {
        let (tti, t) = (self.tti, &on_air[i]);
        let shares_assignment = i > 0 && on_air[i - 1].ue == t.ue;
        let cell = &self.cells[t.cell];
        self.receiving(t.ue).begin(tti, cell, t, shares_assignment)
    }

    /// Schedules the events that the result of `t` leads to at both ends.
    #[inline]
    fn note(&mut self, t: &OnAir, decoded: bool, missed: bool) {
        let timing = self.cells[t.cell].config.timing;
        let (ue, process) = (t.ue, t.process);
        // A trace also records the time of a NACK; a UE that missed the assignment sends none.
        if decoded || (self.is_tracing && !missed) {
            self.calendar.note(self.tti.plus(timing.decode), Due::DownlinkDecoded { ue, process });
        }
        self.calendar.note(self.tti.plus(timing.feedback), Due::DownlinkFeedback { ue, process });
    }
}

/// Decodes what the UEs have received.
pub(in crate::network) fn decode(
    blocks: &DownlinkBlocks,
    links: &mut IndexVec<UeId, Link>,
    ues: &mut IndexVec<UeId, Ue>,
) {
    for (block, heard) in blocks.received() {
        let (link, ue) = (&mut links[block.ue].downlink, &mut ues[block.ue].downlink);
        Receiving { link, ue }.decode(block, heard);
    }
}

impl Receiving<'_> {
    /// Begins a reception from `cell`: of a new block, or of a retransmission.
    #[inline]
    fn begin(&mut self, tti: Tti, cell: &Cell, t: &OnAir, shares_assignment: bool) -> DownlinkBlock {
        let u = &mut *self.ue;
        let config = &cell.config.downlink;
        let uniform = || u.block_errors[usize::from(t.process) / PROCESSES].uniform(tti.0);
        let combining = config.harq.combining;
        let new = t
            .block
            .map(|block| Reception::new(tti, Some(block), SoftBuffer::new(combining.into()), uniform()));
        let (mut block, mut is_first) = (None, true);
        if let Some(r) = u.received(t.process) {
            match new {
                Some(new) => *r = new,
                None => (r.sent, r.missed) = (tti, false),
            }
            (block, is_first) = (r.block, r.soft.transmissions() == 0);
        }
        let physical = config.mimo.is_physical();
        DownlinkBlock {
            cell: t.cell,
            ue: t.ue,
            process: t.process,
            rbs: t.rbs,
            scheme: t.scheme,
            control: (config.control_errors && !t.persistent).then_some(self.ue.control),
            shares_assignment,
            block,
            is_first,
            gain: match t.scheme.layers() {
                _ if physical => 1.0,
                2 => config.mimo.two_layers().unwrap_or(1.0),
                _ => config.mimo.one_layer(),
            },
            physical,
            errors: config.data_errors,
        }
    }

    /// Decodes what was received; true if the block is decoded with all transmissions so far.
    #[inline]
    fn decode(&mut self, a: &DownlinkBlock, heard: Heard) -> bool {
        let Receiving { link: DownlinkLink { stats, .. }, ue } = self;
        let mut decoded = false;
        stats.missed += u64::from(heard.missed);
        if let Some(r) = ue.received(a.process) {
            if heard.missed {
                r.missed = true;
            } else if let (Some(heard), Some(block)) = (heard.block, &a.block) {
                stats.sinr_count += 1;
                stats.sinr_db_sum += heard.snr_db;
                decoded = heard.decodes(block, a.errors, a.is_first, r);
            }
            r.decoded = decoded;
        }
        stats.errors += u64::from(!decoded);
        decoded
    }
}

impl DownlinkAir<'_> {
    /// Prefetches the data that the decision on transmission `i` and the next ones reads.
    #[inline]
    fn prefetch_values(&mut self, on_air: &[OnAir], i: usize) {
        if self.links.len() < MANY {
            return;
        }
        if let Some(t) = on_air.get(i + EARLY) {
            self.air.get().prefetch(t.ue);
            prefetch(&self.ues[t.ue].downlink.received);
        }
        if let Some(t) = on_air.get(i + 2) {
            self.air.get().prefetch_links(t.ue);
            if let Some(r) = self.ues[t.ue].downlink.received_ref(t.process) {
                prefetch(r);
            }
        }
        if let Some(t) = on_air.get(i + 1) {
            // Control channels are decided before data.
            self.air.get().prefetch_values(self.tti, t.ue, self.cells[t.cell].control.first());
            prefetch(&self.links[t.ue].downlink.stats);
        }
    }
}

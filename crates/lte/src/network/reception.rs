//! Reception over the radio channel: what a UE or a cell receives of a block, without the state of
//! its HARQ process.
//!
//! It is a function of the transmissions of a TTI and of the radio channel, so other threads than
//! that of the network can compute it ([`Job`]).

use std::sync::Arc;

use lasthop_radio::lte::{ErrorModel, mean_mi, sinr_db_of_mi};
use lasthop_units::{CellId, Id, Tti, UeId};

use super::control::{ControlBlocks, ControlReception};
use super::measure::Memory;
use super::team::{self, Crew, Deal, Worker};
use crate::mac::harq::{PROCESSES, Reception};
use crate::phy::RbSet;
use crate::phy::air::{self, Air, AtUe, ChannelOf, Scheme};

/// The reception of all UEs and cells in one TTI.
#[derive(Debug, Default)]
pub(super) struct Job {
    pub downlink: DownlinkBlocks,
    pub uplink: UplinkBlocks,
}

impl Job {
    /// Receives all blocks, in the threads of the pool in which it is called.
    pub fn run(&mut self, air: &mut Air) {
        self.downlink.run(air);
        self.uplink.run(air);
    }
}

/// A transmission to a UE.
#[derive(Clone, Copy, Debug)]
pub(super) struct DownlinkBlock {
    pub cell: CellId,
    pub ue: UeId,
    pub process: u8,
    pub rbs: RbSet,
    pub scheme: Scheme,
    /// Reception of the assignment; None: it needs none.
    pub control: Option<ControlReception>,
    /// The other code word before this one in the list has the same assignment.
    pub shares_assignment: bool,
    /// None: there is no block to decode.
    pub block: Option<ErrorModel>,
    /// Nothing of the block was received before.
    pub is_first: bool,
    /// Factor of the SINR of its layers.
    pub gain: f32,
    /// The channel of the antennas is computed, where there are several.
    pub physical: bool,
    /// Blocks have errors.
    pub errors: bool,
}

/// What a UE has received of a transmission.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Heard {
    /// The UE has missed the assignment.
    pub missed: bool,
    pub block: Option<HeardBlock>,
}

/// What a UE or a cell has received of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeardBlock {
    /// Mean mutual information.
    pub mi: f32,
    /// Effective SINR.
    pub snr_db: f64,
    /// Error probability, if this is all that was received.
    pub error: f64,
}

impl HeardBlock {
    /// A reception of `block` with the mean mutual information `mi`. The error probability is
    /// computed if `decides`: the reception alone decides whether the block is decoded.
    #[inline]
    fn of(block: &ErrorModel, mi: f32, decides: bool) -> HeardBlock {
        let snr_db = sinr_db_of_mi(block.modulation(), mi);
        HeardBlock { mi, snr_db, error: if decides { block.error_at(snr_db) } else { 0.0 } }
    }

    /// True if `block` is decoded with this reception and those before it, which are in `r`: the
    /// block's one draw against the error probability. `errors`: blocks have errors; `is_first`:
    /// nothing was received before.
    #[inline]
    pub fn decodes(&self, block: &ErrorModel, errors: bool, is_first: bool, r: &mut Reception) -> bool {
        // A block that is decoded at once needs no soft buffer.
        if !errors || is_first && r.uniform >= self.error {
            return true;
        }
        r.soft.add(block, self.mi);
        !is_first && r.uniform >= block.combined_error(&r.soft)
    }
}

/// The blocks of all cells in one TTI, which are received in several threads.
#[derive(Debug, Default)]
pub(super) struct DownlinkBlocks {
    pub tti: Tti,
    pub arriving: Vec<DownlinkBlock>,
    heard: Vec<Heard>,
    /// By cell.
    pub controls: Vec<Arc<ControlBlocks>>,
    /// Memory of the threads.
    pub workers: Vec<Worker>,
    /// There are so many UEs that prefetching saves time.
    pub prefetches: bool,
}

/// Shares whose data is prefetched before their turn.
const AHEAD: usize = 3;

/// The transmissions to one UE, one or two code words, and the state of its radio.
struct Share<'a> {
    arriving: &'a [DownlinkBlock],
    heard: &'a mut [Heard],
    air: &'a mut air::UeRadio,
}

impl DownlinkBlocks {
    /// Receives all transmissions in the threads of the pool in which it is called.
    fn run(&mut self, air: &mut Air) {
        air.sort_out(self.tti);
        let mut workers = std::mem::take(&mut self.workers);
        self.receive(air, Crew::of_pool(&mut workers));
        self.workers = workers;
    }

    /// The transmissions with what was received of each.
    pub fn received(&self) -> impl Iterator<Item = (&DownlinkBlock, Heard)> {
        self.arriving.iter().zip(self.heard.iter().copied())
    }

    /// Receives all transmissions, those to a UE in one thread.
    pub fn receive(&mut self, air: &mut Air, crew: Crew<'_>) {
        let DownlinkBlocks { tti, arriving, heard, controls, prefetches, .. } = self;
        let (tti, controls, prefetches) = (*tti, &**controls, *prefetches);
        heard.clear();
        heard.resize(arriving.len(), Heard::default());
        let (shared, radios) = air.split();
        let mut shares = shares(arriving, heard, radios);
        let ahead = |shares: &[Share<'_>]| {
            if prefetches {
                prefetch_shares(tti, shared, controls, shares);
            }
        };
        crew.each(&mut shares, team::UES, ahead, |worker, share| {
            share.work_out(tti, shared, controls, worker)
        });
    }
}

/// The transmissions to each UE, in their order in the list.
fn shares<'a>(
    mut arriving: &'a [DownlinkBlock],
    mut heard: &'a mut [Heard],
    radios: &'a mut [air::UeRadio],
) -> Vec<Share<'a>> {
    let mut all = Vec::with_capacity(arriving.len());
    while let Some(ue) = arriving.first().map(|a| a.ue) {
        let count = arriving.iter().take_while(|a| a.ue == ue).count();
        let (of_ue, rest) = arriving.split_at(count);
        let (to, other) = heard.split_at_mut(count);
        all.push((ue, of_ue, to));
        (arriving, heard) = (rest, other);
    }
    // The radios are dealt out by UE; the list keeps the order by cell: the thread that scheduled
    // a cell mostly has the state of its UEs in its cache.
    let mut order: Vec<(UeId, usize)> = all.iter().enumerate().map(|(i, (ue, ..))| (*ue, i)).collect();
    order.sort_unstable();
    let mut radios = Deal::of(radios);
    let mut own: Vec<Option<&mut air::UeRadio>> = all.iter().map(|_| None).collect();
    order.iter().for_each(|(ue, i)| own[*i] = radios.take(ue.index()));
    debug_assert!(own.iter().all(Option::is_some), "the transmissions to a UE are neighbours");
    let both = all.into_iter().zip(own);
    both.filter_map(|((_, arriving, heard), air)| Some(Share { arriving, heard, air: air? })).collect()
}

impl Share<'_> {
    fn work_out(
        &mut self,
        tti: Tti,
        shared: &air::Shared,
        controls: &[Arc<ControlBlocks>],
        worker: &mut Worker,
    ) {
        let mut before = Heard::default();
        for (arriving, to) in self.arriving.iter().zip(&mut *self.heard) {
            let air = AtUe::new(shared, arriving.ue, self.air, &mut worker.air);
            let control = &controls[arriving.cell.index()];
            before = arriving.receive(tti, control, air, &mut worker.memory, before);
            *to = before;
        }
    }
}

/// Prefetches for `shares`, of which the first is next.
fn prefetch_shares(tti: Tti, shared: &air::Shared, controls: &[Arc<ControlBlocks>], shares: &[Share<'_>]) {
    if let Some(share) = shares.get(AHEAD) {
        share.air.prefetch();
    }
    if let Some(share) = shares.get(1) {
        shared.prefetch_links(share.air);
    }
    if let Some(share) = shares.first() {
        let control = share.arriving.first().map(|a| &controls[a.cell.index()]);
        control.into_iter().for_each(|control| shared.prefetch_values(tti, share.air, control.first()));
    }
}

impl DownlinkBlock {
    /// What the UE receives through `air`; `before` is what it received of the transmission before
    /// this one in the list.
    #[inline]
    pub fn receive(
        &self,
        tti: Tti,
        control: &ControlBlocks,
        mut air: AtUe<'_>,
        memory: &mut Memory,
        before: Heard,
    ) -> Heard {
        let missed = match &self.control {
            _ if self.shares_assignment => before.missed,
            Some(reception) => reception.misses(tti, self.cell, control, air.reborrow()),
            None => false,
        };
        let Some(block) = self.block.as_ref().filter(|_| !missed) else {
            return Heard { missed, block: None };
        };
        let (cell, gain, modulation) = (self.cell, self.gain, block.modulation());
        let Memory { row: scaled, code_words } = memory;
        let matrix = self.physical && air.compute_channel(tti, cell, self.rbs, ChannelOf::Data);
        if matrix {
            air.under(cell, self.scheme, 1, code_words);
        }
        let row = match matrix {
            false => air.downlink(tti, cell, self.rbs),
            true if self.scheme.layers() > 1 => &code_words[usize::from(self.process) / PROCESSES].sinr,
            true => &code_words[0].sinr,
        };
        let mi = if gain == 1.0 {
            mean_mi(modulation, row)
        } else {
            scaled.clear();
            scaled.extend(row.iter().map(|s| s * gain));
            mean_mi(modulation, scaled)
        };
        Heard { missed, block: Some(HeardBlock::of(block, mi, self.errors && self.is_first)) }
    }
}

/// A transmission to a cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct UplinkBlock {
    pub cell: CellId,
    pub ue: UeId,
    pub rbs: RbSet,
    pub block: ErrorModel,
    /// Nothing of the block was received before.
    pub is_first: bool,
    /// Blocks have errors.
    pub errors: bool,
}

/// The blocks of all UEs in one TTI, which are received in another thread.
#[derive(Debug, Default)]
pub(super) struct UplinkBlocks {
    tti: Tti,
    pub arriving: Vec<UplinkBlock>,
    heard: Vec<HeardBlock>,
}

impl UplinkBlocks {
    /// The list of the blocks in `tti`, to be filled.
    pub fn of(&mut self, tti: Tti) -> &mut UplinkBlocks {
        if self.tti != tti {
            self.tti = tti;
            self.arriving.clear();
        }
        self
    }

    /// Receives the blocks.
    fn run(&mut self, air: &mut Air) {
        self.heard.clear();
        self.heard.extend(self.arriving.iter().map(|a| a.receive(self.tti, air)));
    }

    /// The transmissions with what was received of each.
    pub fn received(&self) -> impl Iterator<Item = (&UplinkBlock, HeardBlock)> {
        self.arriving.iter().zip(self.heard.iter().copied())
    }
}

impl UplinkBlock {
    /// Receives the block; the cell also measures the interference to it.
    #[inline]
    pub fn receive(&self, tti: Tti, air: &mut Air) -> HeardBlock {
        let modulation = self.block.modulation();
        let mi = mean_mi(modulation, air.uplink(tti, self.cell, self.ue, self.rbs));
        air.measure_interference(tti, self.cell, self.ue, self.rbs);
        HeardBlock::of(&self.block, mi, self.errors && self.is_first)
    }
}

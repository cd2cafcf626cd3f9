//! Decoding of each downlink transmission after all cells have transmitted.

use lasthop_engine::simd::prefetch;
use lasthop_radio::lte::{SoftBuffer, mean_mi, sinr_db_of_mi};
use lasthop_units::{CellId, Id, IndexVec, Tti, UeId};

use super::OnAir;
use crate::mac::harq::{PROCESSES, Reception};
use crate::network::calendar::{Agenda, Due};
use crate::network::measure::Memory;
use crate::network::prefetch::EARLY;
use crate::network::reach::MANY;
use crate::network::state::{Cell, CellSettings, DownlinkLink, DownlinkUe, Link, Ue};
use crate::network::team::{self, Deal, Team, Worker};
use crate::phy::air::{self, Air, AtUe, ChannelOf};

/// Reception of the UEs of all cells in one TTI.
pub(in crate::network) struct DownlinkAir<'a> {
    pub tti: Tti,
    pub cells: &'a IndexVec<CellId, Cell>,
    pub links: &'a mut IndexVec<UeId, Link>,
    pub ues: &'a mut IndexVec<UeId, Ue>,
    pub air: &'a mut Air,
    pub calendar: &'a mut Agenda,
    pub is_tracing: bool,
}

/// A UE that receives: the state that changes, and memory.
struct DownlinkReceiver<'a> {
    tti: Tti,
    link: &'a mut DownlinkLink,
    ue: &'a mut DownlinkUe,
    air: AtUe<'a>,
    memory: &'a mut Memory,
}

/// Result of a transmission.
#[derive(Clone, Copy, Debug, Default)]
struct Outcome {
    decoded: bool,
    /// The UE has missed the assignment.
    missed: bool,
}

/// The transmissions to one UE, one or two code words, and the state that they change.
struct Share<'a> {
    on_air: &'a [OnAir],
    /// Index of the first of them in the list of the TTI.
    first: usize,
    link: &'a mut DownlinkLink,
    ue: &'a mut DownlinkUe,
    air: &'a mut air::UeRadio,
    outcomes: [Outcome; 2],
}

impl DownlinkAir<'_> {
    /// Decides whether each transmission is decoded, after all cells have transmitted. With `team`
    /// in several threads.
    #[inline]
    pub fn decide(&mut self, on_air: &[OnAir], team: Option<&mut Team>, memory: &mut Memory) {
        self.air.sort_out(self.tti);
        match team {
            _ if on_air.is_empty() => {}
            Some(team) => self.run_with(team, on_air),
            None => self.run(on_air, memory),
        }
    }

    /// Decides in one thread.
    fn run(&mut self, on_air: &[OnAir], memory: &mut Memory) {
        let mut before = None;
        for i in 0..on_air.len() {
            self.prefetch_values(on_air, i);
            let t = &on_air[i];
            let mut receiver = DownlinkReceiver {
                tti: self.tti,
                link: &mut self.links[t.ue].downlink,
                ue: &mut self.ues[t.ue].downlink,
                air: self.air.at(t.ue),
                memory,
            };
            // Both code words of a UE have one assignment.
            let same = before.filter(|_| i > 0 && on_air[i - 1].ue == t.ue);
            let outcome = receiver.receive(self.cells[t.cell].settings(), t, same);
            before = Some(outcome);
            self.note(t, outcome);
        }
    }

    /// Decides in several threads: all transmissions to a UE in one.
    fn run_with(&mut self, threads: &mut Team, on_air: &[OnAir]) {
        let tti = self.tti;
        let cells: IndexVec<CellId, CellSettings<'_>> = self.cells.iter().map(Cell::settings).collect();
        let mut order: Vec<(UeId, usize)> = on_air.iter().enumerate().map(|(i, t)| (t.ue, i)).collect();
        order.sort_unstable();
        order.dedup_by_key(|(ue, _)| *ue);
        let count_of_ues = self.links.len();
        let (shared, air) = self.air.split();
        let mut air = Deal::of(air);
        let mut links = Deal::of(self.links.iter_mut().into_slice());
        let mut ues = Deal::of(self.ues.iter_mut().into_slice());
        let shares = order.into_iter().filter_map(|(ue, first)| {
            let i = ue.index();
            let count = on_air[first..].iter().take_while(|t| t.ue == ue).count();
            Some(Share {
                on_air: &on_air[first..first + count],
                first,
                link: &mut links.take(i)?.downlink,
                ue: &mut ues.take(i)?.downlink,
                air: air.take(i)?,
                outcomes: Default::default(),
            })
        });
        let mut shares: Vec<Share<'_>> = shares.collect();
        debug_assert_eq!(shares.iter().map(|s| s.on_air.len()).sum::<usize>(), on_air.len(), "each once");
        // By cell: the thread that scheduled a cell mostly has the state of its UEs in its cache.
        shares.sort_unstable_by_key(|share| share.first);
        let prefetches = count_of_ues >= MANY;
        let ahead = |shares: &[Share<'_>]| {
            if prefetches {
                prefetch_shares(tti, shared, &cells, shares);
            }
        };
        let work_out =
            |worker: &mut Worker, share: &mut Share<'_>| share.work_out(tti, shared, &cells, worker);
        threads.each(&mut shares, team::UES, ahead, work_out);
        let mut outcomes = vec![Outcome::default(); on_air.len()];
        for share in &shares {
            for (k, outcome) in share.outcomes.iter().take(share.on_air.len()).enumerate() {
                outcomes[share.first + k] = *outcome;
            }
        }
        drop(shares);
        on_air.iter().zip(outcomes).for_each(|(t, outcome)| self.note(t, outcome));
    }

    /// Schedules the events that the result of `t` leads to at both ends.
    #[inline]
    fn note(&mut self, t: &OnAir, Outcome { decoded, missed }: Outcome) {
        let timing = self.cells[t.cell].config.timing;
        let (ue, process) = (t.ue, t.process);
        // A trace also records the time of a NACK; a UE that missed the assignment sends none.
        if decoded || (self.is_tracing && !missed) {
            self.calendar.note(self.tti.plus(timing.decode), Due::DownlinkDecoded { ue, process });
        }
        self.calendar.note(self.tti.plus(timing.feedback), Due::DownlinkFeedback { ue, process });
    }
}

impl Share<'_> {
    fn work_out(
        &mut self,
        tti: Tti,
        shared: &air::Shared,
        cells: &IndexVec<CellId, CellSettings<'_>>,
        worker: &mut Worker,
    ) {
        let mut same = None;
        for (t, to) in self.on_air.iter().zip(&mut self.outcomes) {
            let mut receiver = DownlinkReceiver {
                tti,
                link: self.link,
                ue: self.ue,
                air: AtUe::new(shared, t.ue, self.air, &mut worker.air),
                memory: &mut worker.memory,
            };
            *to = receiver.receive(cells[t.cell], t, same);
            same = Some(*to);
        }
    }
}

/// As [`DownlinkAir::prefetch_values`], for `shares`, of which the first is next.
fn prefetch_shares(
    tti: Tti,
    shared: &air::Shared,
    cells: &IndexVec<CellId, CellSettings<'_>>,
    shares: &[Share<'_>],
) {
    if let Some(share) = shares.get(EARLY - 1) {
        share.air.prefetch();
        prefetch(&share.ue.received);
    }
    if let Some(share) = shares.get(1) {
        shared.prefetch_links(share.air);
        let processes = share.on_air.iter().map(|t| t.process);
        processes.filter_map(|process| share.ue.received_ref(process)).for_each(prefetch);
    }
    if let Some(share) = shares.first() {
        let cell = share.on_air.first().map(|t| cells[t.cell]);
        cell.into_iter().for_each(|cell| shared.prefetch_values(tti, share.air, cell.control.first()));
        prefetch(&share.link.stats);
    }
}

impl DownlinkReceiver<'_> {
    /// Receives the transmission `t` of `cell`; `before` is the result of the other code word of
    /// the same assignment.
    #[inline]
    fn receive(&mut self, cell: CellSettings<'_>, t: &OnAir, before: Option<Outcome>) -> Outcome {
        self.begin(cell, t);
        let missed = match before {
            Some(before) => before.missed,
            None => cell.config.downlink.control_errors && !t.persistent && self.misses(cell, t),
        };
        let decoded = if missed { self.miss(t) } else { self.decode(cell, t) };
        self.link.stats.errors += u64::from(!decoded);
        if let Some(r) = self.ue.received(t.process) {
            r.decoded = decoded;
        }
        Outcome { decoded, missed }
    }

    /// Begins a reception: of a new block, or of a retransmission.
    #[inline]
    fn begin(&mut self, cell: CellSettings<'_>, t: &OnAir) {
        let u = &mut *self.ue;
        let uniform = || u.block_errors[usize::from(t.process) / PROCESSES].uniform(self.tti.0);
        let combining = cell.config.downlink.harq.combining;
        let new = t
            .block
            .map(|block| Reception::new(self.tti, Some(block), SoftBuffer::new(combining.into()), uniform()));
        match (new, u.received(t.process)) {
            (Some(new), Some(r)) => *r = new,
            (None, Some(r)) => (r.sent, r.missed) = (self.tti, false),
            (_, None) => {}
        }
    }

    fn misses(&mut self, cell: CellSettings<'_>, t: &OnAir) -> bool {
        self.ue.control.misses(self.tti, t.cell, cell.control, self.air.reborrow())
    }

    /// Records that the UE misses the assignment, and decodes nothing.
    #[cold]
    fn miss(&mut self, t: &OnAir) -> bool {
        self.link.stats.missed += 1;
        if let Some(r) = self.ue.received(t.process) {
            r.missed = true;
        }
        false
    }

    /// True if the UE decodes the block with all transmissions so far.
    fn decode(&mut self, cell: CellSettings<'_>, t: &OnAir) -> bool {
        let config = &cell.config.downlink;
        let physical = config.mimo.is_physical();
        let gain = match t.scheme.layers() {
            _ if physical => 1.0,
            2 => config.mimo.two_layers().unwrap_or(1.0),
            _ => config.mimo.one_layer(),
        };
        let errors = config.data_errors;
        let Some(r) = self.ue.received(t.process) else { return false };
        let Some(block) = r.block else { return false };
        let (rbs, modulation) = (t.rbs, block.modulation());
        let Memory { row: scaled, code_words } = &mut *self.memory;
        let matrix = physical && self.air.compute_channel(self.tti, t.cell, rbs, ChannelOf::Data);
        if matrix {
            self.air.under(t.cell, t.scheme, 1, code_words);
        }
        let row = match matrix {
            false => self.air.reborrow().downlink(self.tti, t.cell, rbs),
            true if t.scheme.layers() > 1 => &code_words[usize::from(t.process) / PROCESSES].sinr,
            true => &code_words[0].sinr,
        };
        let mi = if gain == 1.0 {
            mean_mi(modulation, row)
        } else {
            scaled.clear();
            scaled.extend(row.iter().map(|s| s * gain));
            mean_mi(modulation, scaled)
        };
        let snr_db = sinr_db_of_mi(modulation, mi);
        self.link.stats.sinr_count += 1;
        self.link.stats.sinr_db_sum += snr_db;
        if !errors {
            return true;
        }
        // A block that is decoded at once needs no soft buffer.
        let first = r.soft.transmissions() == 0;
        if first && r.uniform >= block.error_at(snr_db) {
            return true;
        }
        r.soft.add(&block, mi);
        !first && r.uniform >= block.combined_error(&r.soft)
    }
}

impl DownlinkAir<'_> {
    /// Prefetches the data that the decision on transmission `i` and the next ones reads.
    #[inline]
    fn prefetch_values(&self, on_air: &[OnAir], i: usize) {
        if self.links.len() < MANY {
            return;
        }
        if let Some(t) = on_air.get(i + EARLY) {
            self.air.prefetch(t.ue);
            prefetch(&self.ues[t.ue].downlink.received);
        }
        if let Some(t) = on_air.get(i + 2) {
            self.air.prefetch_links(t.ue);
            if let Some(r) = self.ues[t.ue].downlink.received_ref(t.process) {
                prefetch(r);
            }
        }
        if let Some(t) = on_air.get(i + 1) {
            // Control channels are decided before data.
            self.air.prefetch_values(self.tti, t.ue, self.cells[t.cell].control.first());
            prefetch(&self.links[t.ue].downlink.stats);
        }
    }
}

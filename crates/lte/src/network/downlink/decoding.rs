//! The decoding of each transmission when all cells have spoken.

use lasthop_engine::simd::prefetch;
use lasthop_radio::lte::{SoftBuffer, mean_mi, sinr_db_of_mi};
use lasthop_units::{CellId, IndexVec, Tti, UeId};

use super::OnAir;
use crate::mac::harq::{PROCESSES, Reception};
use crate::network::RadioNetwork;
use crate::network::calendar::{Agenda, Due};
use crate::network::measure::Memory;
use crate::network::prefetch::{EARLY, MANY};
use crate::network::state::{Cell, Link, Ue};
use crate::phy::air::{Air, ChannelOf};

/// What the UEs of all cells receive in one TTI.
pub(in crate::network) struct DownlinkAir<'a> {
    pub tti: Tti,
    pub cells: &'a IndexVec<CellId, Cell>,
    pub links: &'a mut IndexVec<UeId, Link>,
    pub ues: &'a mut IndexVec<UeId, Ue>,
    pub air: &'a mut Air,
    pub memory: &'a mut Memory,
    pub calendar: &'a mut Agenda,
    pub is_tracing: bool,
}

impl RadioNetwork {
    /// All cells have spoken: every transmission is decoded or lost.
    pub(in crate::network) fn air_downlink(&mut self, tti: Tti) {
        if self.on_air.is_empty() {
            return;
        }
        let mut arriving = DownlinkAir {
            tti,
            cells: &self.cells,
            links: &mut self.links,
            ues: &mut self.ues,
            air: &mut self.air,
            memory: &mut self.memory,
            calendar: &mut self.calendar,
            is_tracing: self.trace.is_on(),
        };
        arriving.run(&self.on_air);
        self.on_air.clear();
    }
}

impl DownlinkAir<'_> {
    fn run(&mut self, on_air: &[OnAir]) {
        for i in 0..on_air.len() {
            self.prefetch_values(on_air, i);
            let t = on_air[i];
            self.begin(t);
            // Both code words of a UE come with one assignment.
            let same = i > 0 && on_air[i - 1].ue == t.ue;
            let missed = match same {
                true => {
                    let before = on_air[i - 1].process;
                    self.ues[t.ue].downlink.received(before).is_some_and(|r| r.missed)
                }
                false => self.cells[t.cell].config.downlink.control_errors && !t.persistent && self.misses(t),
            };
            let decoded = if missed { self.miss(t) } else { self.receive(t) };
            self.links[t.ue].downlink.stats.errors += u64::from(!decoded);
            if let Some(r) = self.ues[t.ue].downlink.received(t.process) {
                r.decoded = decoded;
            }
            let timing = self.cells[t.cell].config.timing;
            let (ue, process) = (t.ue, t.process);
            // A trace also has the moment of a NACK; a UE that missed the assignment sends none.
            if decoded || (self.is_tracing && !missed) {
                self.calendar.note(self.tti.plus(timing.decode), Due::DownlinkDecoded { ue, process });
            }
            self.calendar.note(self.tti.plus(timing.feedback), Due::DownlinkFeedback { ue, process });
        }
    }

    /// A transmission begins: the first of a new block, or one more.
    #[inline]
    fn begin(&mut self, t: OnAir) {
        let u = &mut self.ues[t.ue].downlink;
        let uniform = || u.block_errors[usize::from(t.process) / PROCESSES].uniform(self.tti.0);
        let combining = self.cells[t.cell].config.downlink.harq.combining;
        let new = t
            .block
            .map(|block| Reception::new(self.tti, Some(block), SoftBuffer::new(combining.into()), uniform()));
        match (new, u.received(t.process)) {
            (Some(new), Some(r)) => *r = new,
            (None, Some(r)) => (r.sent, r.missed) = (self.tti, false),
            (_, None) => {}
        }
    }

    fn misses(&mut self, t: OnAir) -> bool {
        let ue = &mut self.ues[t.ue].downlink;
        ue.control.misses(self.tti, (t.cell, t.ue), &self.cells[t.cell].control, self.air)
    }

    /// The UE does not know that there is something for it: it decodes nothing.
    #[cold]
    fn miss(&mut self, t: OnAir) -> bool {
        self.links[t.ue].downlink.stats.missed += 1;
        if let Some(r) = self.ues[t.ue].downlink.received(t.process) {
            r.missed = true;
        }
        false
    }

    /// Whether the UE decodes the block with what it has received so far.
    fn receive(&mut self, t: OnAir) -> bool {
        let config = &self.cells[t.cell].config.downlink;
        let physical = config.mimo.is_physical();
        let gain = match t.scheme.layers() {
            _ if physical => 1.0,
            2 => config.mimo.two_layers().unwrap_or(1.0),
            _ => config.mimo.one_layer(),
        };
        let errors = config.data_errors;
        let link = &mut self.links[t.ue].downlink;
        let Some(r) = self.ues[t.ue].downlink.received(t.process) else { return false };
        let Some(block) = r.block else { return false };
        let rbs = t.rbs;
        let modulation = block.modulation();
        let matrix = physical && self.air.compute_channel(self.tti, t.cell, t.ue, rbs, ChannelOf::Data);
        if matrix {
            self.air.under(t.cell, t.ue, t.scheme, 1, &mut self.memory.code_words);
        }
        let row = match matrix {
            false => self.air.downlink(self.tti, t.cell, t.ue, rbs),
            true if t.scheme.layers() > 1 => &self.memory.code_words[usize::from(t.process) / PROCESSES].sinr,
            true => &self.memory.code_words[0].sinr,
        };
        let mi = if gain == 1.0 {
            mean_mi(modulation, row)
        } else {
            self.memory.row.clear();
            self.memory.row.extend(row.iter().map(|s| s * gain));
            mean_mi(modulation, &self.memory.row)
        };
        let snr_db = sinr_db_of_mi(modulation, mi);
        link.stats.sinr_count += 1;
        link.stats.sinr_db_sum += snr_db;
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
    /// Transmission `i` of this TTI's downlink is decoded or lost now.
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
            // Control channels are looked at before data.
            self.air.prefetch_values(self.tti, t.ue, self.cells[t.cell].control.first());
            prefetch(&self.links[t.ue].downlink.stats);
        }
    }
}

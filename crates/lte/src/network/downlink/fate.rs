//! The fate of each transmission when all cells have spoken.

use lasthop_radio::lte::{mean_mi, sinr_db_of_mi};
use lasthop_units::Tti;

use super::OnAir;
use crate::mac::harq::{PROCESSES, State};
use crate::network::{Due, RadioNetwork};
use crate::phy::air::Look;

impl RadioNetwork {
    /// All cells have spoken: every transmission meets its fate.
    pub(in crate::network) fn air_downlink(&mut self, tti: Tti) {
        for i in 0..self.on_air.len() {
            self.expect_fates(tti, i);
            let t = self.on_air[i];
            // Both code words of a UE come with one assignment.
            let same = i > 0 && self.on_air[i - 1].ue == t.ue;
            let missed = match same {
                true => {
                    let before = self.on_air[i - 1].process;
                    self.links[t.ue].downlink.process(before).is_some_and(|p| p.missed)
                }
                false => {
                    self.cells[t.cell].config.downlink.control_errors
                        && !t.persistent
                        && self.misses_control(tti, t.cell, t.ue)
                }
            };
            let decoded = if missed { self.miss(t) } else { self.receive(tti, t) };
            let link = &mut self.links[t.ue].downlink;
            link.stats.errors += u64::from(!decoded);
            if let Some(p) = link.process(t.process) {
                p.state = State::Awaiting { decoded };
            }
            let timing = self.cells[t.cell].config.timing;
            let (ue, process) = (t.ue, t.process);
            // A trace also has the moment of a NACK; a UE that missed the assignment sends none.
            if decoded || (self.trace.is_on() && !missed) {
                self.calendar.note(tti.plus(timing.decode), Due::DownlinkDecoded { ue, process });
            }
            self.calendar.note(tti.plus(timing.feedback), Due::DownlinkFeedback { ue, process });
        }
        self.on_air.clear();
    }

    /// The UE has not heard that there is something for it: it decodes nothing.
    #[cold]
    fn miss(&mut self, t: OnAir) -> bool {
        let link = &mut self.links[t.ue].downlink;
        link.stats.missed += 1;
        if let Some(p) = link.process(t.process) {
            p.missed = true;
        }
        false
    }

    /// Whether the UE decodes the block with what it has received so far.
    fn receive(&mut self, tti: Tti, t: OnAir) -> bool {
        let config = &self.cells[t.cell].config.downlink;
        let physical = config.mimo.is_physical();
        let gain = match t.scheme.layers() {
            _ if physical => 1.0,
            2 => config.mimo.two_layers().unwrap_or(1.0),
            _ => config.mimo.one_layer(),
        };
        let errors = config.data_errors;
        let link = &mut self.links[t.ue].downlink;
        let Some(p) = link.process(t.process) else { return false };
        let Some(block) = p.block else { return false };
        let rbs = p.rbs;
        let modulation = block.modulation();
        let matrix = physical && self.air.look_at(tti, t.cell, t.ue, rbs, Look::Data);
        if matrix {
            self.air.under(t.cell, t.ue, t.scheme, 1, &mut self.memory.code_words);
        }
        let row = match matrix {
            false => self.air.downlink(tti, t.cell, t.ue, rbs),
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
        let Some(p) = link.process(t.process) else { return false };
        // A block that is decoded at once needs no soft buffer.
        let first = p.soft.transmissions() == 0;
        if first && p.luck >= block.error_at(snr_db) {
            return true;
        }
        p.soft.add(&block, mi);
        !first && p.luck >= block.combined_error(&p.soft)
    }
}

//! Noise and interference at UEs that receive from other UEs, and the quality of such links by it.

use lasthop_cell::RbSet;
use lasthop_engine::math::db;
use lasthop_radio::lte::{Modulation, mean_mi, sinr_db_of_mi};
use lasthop_units::{Tti, UeId};

use super::{Air, Work};

/// Weight of the newest reception in the average, as in that of cells.
const WEIGHT: f32 = 1.0 / 32.0;

/// Noise and interference that a UE has measured on the blocks on which it receives from UEs.
#[derive(Debug)]
pub(super) struct Heard<const WORDS: usize> {
    /// By block: mean over the latest receptions on it [mW]; empty before the first one.
    mean_mw: Box<[f32]>,
    /// Blocks on which anything was received so far.
    on: RbSet<WORDS>,
    /// In any of these receptions there was more than noise.
    disturbed: bool,
}

impl<const WORDS: usize> Default for Heard<WORDS> {
    fn default() -> Self {
        Heard { mean_mw: Box::default(), on: RbSet::EMPTY, disturbed: false }
    }
}

impl<const WORDS: usize> Heard<WORDS> {
    /// Takes in the noise and interference `now_mw` of a reception on `rbs`. The first one on a
    /// block is the average: before it nothing is known.
    fn take(&mut self, rbs: RbSet<WORDS>, now_mw: &[f32], noise_mw: f32) {
        if self.mean_mw.is_empty() {
            self.mean_mw = vec![noise_mw; now_mw.len()].into();
        }
        for block in rbs.iter() {
            let (mean, now) = (&mut self.mean_mw[block as usize], now_mw[block as usize]);
            self.disturbed |= now > noise_mw;
            let weight = if RbSet::range(block, 1).and(self.on).is_empty() { 1.0 } else { WEIGHT };
            *mean += (now - *mean) * weight;
        }
        self.on |= rbs;
    }

    /// Noise and interference to expect on a block without a measurement: the mean of the others
    /// [mW].
    fn elsewhere_mw(&self) -> f32 {
        let sum: f32 = self.on.iter().map(|block| self.mean_mw[block as usize]).sum();
        sum / self.on.len().max(1) as f32
    }
}

impl<const WORDS: usize> Air<WORDS> {
    /// Updates the noise and interference that `rx` measures on `rbs`, on which it has just
    /// received from a UE ([`Air::sidelink`]).
    pub fn measure_at_ue(&mut self, rx: UeId, rbs: RbSet<WORDS>) {
        let ue = &mut self.ues[rx];
        ue.heard.take(rbs, &self.work.interference_mw, ue.noise_mw);
    }

    /// Signal-to-noise ratio at the UE `rx` of a transmission of the UE `tx` with `power_mw` [mW]
    /// over all of `rbs` [dB]; where links fade, that of an unfaded channel with the same capacity.
    /// The second number includes the interference that `rx` has measured.
    pub fn sidelink_levels(
        &mut self,
        tti: Tti,
        [tx, rx]: [UeId; 2],
        power_mw: f64,
        rbs: RbSet<WORDS>,
    ) -> [f32; 2] {
        let block_mw = (power_mw / f64::from(rbs.len().max(1))) as f32;
        let snr = block_mw * self.between(tti, tx, rx) / self.ues[rx].noise_mw;
        let Air { direct_fading, ues, work: Work { row, .. }, .. } = self;
        let ue = &ues[rx];
        let row = &mut row[..rbs.len() as usize];
        let level = |row: &[f32]| sinr_db_of_mi(Modulation::Qam64, mean_mi(Modulation::Qam64, row)) as f32;
        row.fill(snr);
        let clear = match direct_fading {
            Some(fading) => {
                let fading = fading.row(tx, rx, tti, rbs);
                rbs.iter().zip(row.iter_mut()).for_each(|(block, to)| *to = snr * fading[block as usize]);
                level(row)
            }
            None => db(f64::from(snr).max(1e-9)) as f32,
        };
        if !ue.heard.disturbed {
            return [clear; 2];
        }
        let elsewhere_mw = ue.heard.elsewhere_mw();
        for (block, to) in rbs.iter().zip(row.iter_mut()) {
            let is_known = !RbSet::range(block, 1).and(ue.heard.on).is_empty();
            let heard_mw = if is_known { ue.heard.mean_mw[block as usize] } else { elsewhere_mw };
            *to *= ue.noise_mw / heard_mw;
        }
        [clear, level(row).min(clear)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first reception on a block counts in full, the next one with 1/32: 1 mW of noise with 3
    /// mW, then without interference is 4, then 4 - 3 / 32 mW. Blocks without a reception have the
    /// mean of the others.
    #[test]
    fn the_average_begins_with_the_first_reception() {
        let mut heard = Heard::<1>::default();
        heard.take(RbSet::range(0, 2), &[1.0; 4], 1.0);
        assert!(!heard.disturbed && heard.elsewhere_mw() == 1.0);
        heard.take(RbSet::range(2, 1), &[1.0, 1.0, 4.0, 1.0], 1.0);
        heard.take(RbSet::range(2, 1), &[1.0; 4], 1.0);
        assert_eq!(heard.mean_mw[..], [1.0, 1.0, 4.0 - 3.0 / 32.0, 1.0]);
        assert!(heard.disturbed);
        let mean = (1.0 + 1.0 + 4.0 - 3.0 / 32.0) / 3.0;
        assert!((heard.elsewhere_mw() - mean).abs() < 1e-6);
    }
}

//! Rank and precoder: a UE's report of a channel between several antennas (TS 36.213 clauses 7.2.1,
//! 7.2.3 and 7.2.4).
//!
//! For each rank the UE finds the precoder with which each sub-band carries most (PMIs by sub-band
//! as in reporting mode 1-2, with CQIs by sub-band: mode 3-2), and the CQIs of its code words with
//! it; it reports the rank whose CQIs give the highest rate. Where CQIs have no sub-bands there is
//! one PMI.

use lasthop_engine::math::log2;
use lasthop_radio::mimo;
use lasthop_units::Tti;

use super::{CellOf, Memory, Observer};
use crate::mac::adaptation::{CqiInterference, Report, SUBBANDS_MAX};
use crate::phy::air::{ChannelOf, CodeWordSinr, Pmi, Scheme, layers_of};

/// Every second block represents its sub-band in the comparison of precoders, if it has several.
const PRECODER_STEP: usize = 2;

impl Observer<'_> {
    /// The UE's report of the channel matrices; None where there are none.
    pub(super) fn report_of_matrix(&mut self, measured: Tti) -> Option<Report> {
        let CellOf { id: cell, cell: c } = self.at;
        let data = c.config.downlink.cqi.interference == CqiInterference::Data;
        let carrier = self.air.carrier(cell);
        if !self.air.compute_channel(measured, cell, carrier, ChannelOf::Reference(self.boost, data)) {
            return None;
        }
        let transmit = c.config.transmit_antennas();
        let most = c.config.most_layers().min(self.air.receive_antennas());
        let mimo = &c.config.downlink.mimo;
        let (mode, least) = (mimo.mode, if mimo.always_two_layers { 2 } else { 1 });
        let ranks = least.min(most)..=most;
        let mut best: Option<(f32, Report)> = None;
        for layers in ranks {
            let scheme = match (mode, layers) {
                (4, _) => self.best_precoder(transmit, layers as u8),
                (_, 1) => Scheme::Diversity,
                _ => Scheme::OpenLoop(layers as u8),
            };
            let (rate, report) = self.report_under(scheme);
            if best.is_none_or(|(most, _)| rate > most) {
                best = Some((rate, report));
            }
        }
        best.map(|(_, report)| report)
    }

    /// The codebook's entries of `layers` layers with which each sub-band carries most.
    fn best_precoder(&mut self, transmit: usize, layers: u8) -> Scheme {
        let size = self.at.cell.adaptation.subband();
        let step = PRECODER_STEP.min(size);
        let rows = &mut self.memory.code_words;
        let mut pmi = Pmi::all(size as u8, 0);
        let mut best = [f64::NEG_INFINITY; SUBBANDS_MAX];
        for index in 0..mimo::precoders(transmit, layers.into()) as u8 {
            let scheme = Scheme::ClosedLoop { layers, pmi: Pmi::all(size as u8, index) };
            self.air.under(self.at.id, scheme, step, rows);
            let mut carries = [0.0; SUBBANDS_MAX];
            for (code_word, row) in rows.iter().enumerate() {
                let samples = layers_of(layers, code_word).1.max(1);
                for (i, block) in row.sinr.chunks(samples).enumerate() {
                    let of: f64 = block.iter().map(|s| 1.0 + f64::from(*s)).product();
                    carries[i * step / size] += log2(of);
                }
            }
            for ((best, to), of) in best.iter_mut().zip(&mut pmi.index).zip(carries) {
                if of > *best {
                    (*best, *to) = (of, index);
                }
            }
        }
        Scheme::ClosedLoop { layers, pmi }
    }

    /// The report of `scheme`, and the rate of a block that its CQIs give [bit].
    fn report_under(&mut self, scheme: Scheme) -> (f32, Report) {
        let Memory { row, code_words: rows } = &mut *self.memory;
        self.air.under(self.at.id, scheme, 1, rows);
        let c = self.at.cell;
        let (adaptation, config) = (c.adaptation, &c.config.downlink.cqi);
        let blocks = c.config.resource_blocks as usize;
        let mut of = |code_word: usize| {
            by_block(&rows[code_word], blocks, row);
            adaptation.measure(row, config)
        };
        let first = of(0);
        let layers = scheme.layers();
        let rate = |report: &Report, layers: usize| adaptation.rate_of(report.wideband) * layers as f32;
        match scheme {
            // Both code words have the same CQI (TS 36.213 clause 7.2: mode 3 reports one for any
            // rank).
            Scheme::Diversity | Scheme::OpenLoop(_) => {
                (rate(&first, layers.into()), first.under(scheme, None))
            }
            Scheme::ClosedLoop { .. } if layers == 1 => (rate(&first, 1), first.under(scheme, None)),
            Scheme::ClosedLoop { .. } => {
                let second = of(1);
                let both = rate(&first, layers_of(layers, 0).1) + rate(&second, layers_of(layers, 1).1);
                (both, first.under(scheme, Some(&second)))
            }
        }
    }
}

/// One SINR for each block: the one of the mean capacity of its samples.
fn by_block(of: &CodeWordSinr, blocks: usize, to: &mut Vec<f32>) {
    to.clear();
    match of.sinr.len() / blocks {
        1 => to.extend(&of.sinr),
        samples => to.extend(of.sinr.chunks(samples.max(1)).map(|some| {
            let product: f64 = some.iter().map(|s| 1.0 + f64::from(*s)).product();
            let mut mean = product.sqrt();
            if samples == 4 {
                mean = mean.sqrt();
            } else if samples == 3 {
                mean = lasthop_engine::math::pow(product, 1.0 / 3.0);
            }
            (mean - 1.0) as f32
        })),
    }
}

//! Surveys: what the radio of a scenario looks like before anything is sent. At large scale: path loss, antennas,
//! shadowing and walls, no fading; every cell sends at full power.

use lasthop_capture::{FinishedTable, TableData};
use lasthop_radio::{Place, dbm, decibels, milliwatts, thermal_noise};
use lasthop_ran::network::NetworkConfig;
use lasthop_ran::phy::lte::propagation::Propagation;
use lasthop_units::{CellId, Hertz, Id, Tti, UeId};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use crate::error::Error;
use crate::probe::{Table, tables};
use crate::spec::Scenario;

/// Width of a resource block.
const BLOCK: Hertz = Hertz(180e3);

/// What a UE receives at one place, by resource block.
struct Reception {
    /// The strongest cell.
    best: CellId,
    /// Gain of the strongest cell's link.
    gain: f64,
    /// Power of the strongest cell, of all others, and of noise [mW].
    signal: f64,
    others: f64,
    noise: f64,
}

impl Reception {
    fn at(config: &NetworkConfig, air: &Propagation, ue: UeId, place: &Place) -> Option<Reception> {
        let mut best: Option<(f64, f64, CellId)> = None;
        let mut sum = 0.0;
        for (cell, gains) in air.gains_at(ue, place) {
            let gain = f64::from(gains.downlink);
            let power = config.cells[cell].reference_power() * gain;
            sum += power;
            if best.is_none_or(|(most, ..)| power > most) {
                best = Some((power, gain, cell));
            }
        }
        let (signal, gain, best) = best?;
        let noise = milliwatts(thermal_noise(BLOCK, config.ues[ue].radio.noise_figure));
        // The others' sum is a difference: nothing is left of it where there is one cell.
        let others = if config.cells.len() == 1 { 0.0 } else { (sum - signal).max(0.0) };
        Some(Reception { best, gain, signal, others, noise })
    }
    /// Power of a resource element of the reference signals: a twelfth of the block's.
    fn rsrp(&self) -> f64 {
        dbm(self.signal / 12.0).0
    }
    fn sinr(&self) -> f64 {
        decibels(self.signal / (self.others + self.noise)).0
    }
    fn geometry(&self) -> Option<f64> {
        (self.others > 0.0).then(|| decibels(self.signal / self.others).0)
    }
}

/// One row a UE and drop: where it stands, its strongest cell, and what it gets from it and from the others. A drop is
/// the scenario with the next seed: new places, shadowing and lines of sight.
///
/// # Errors
/// A scenario without cells or UEs.
pub fn geometry(
    scenario: &Scenario,
    drops: u32,
    progress: &mut dyn FnMut(f64) -> bool,
) -> Result<Survey, Error> {
    let mut spec = scenario.spec().clone();
    if spec.cell.is_empty() || spec.ue.is_empty() {
        return Err(Error::input("a survey needs cells and UEs: this scenario has none"));
    }
    let mut table = Table::new(&tables::GEOMETRY, lasthop_capture::Sink::Memory)?;
    let first = spec.scenario.seed;
    for drop in 0..drops {
        spec.scenario.seed = first.wrapping_add(u64::from(drop));
        let all = spec.cellular();
        let config = &all.config;
        let mut air = config.propagation(spec.scenario.seed);
        for ue in config.ues.ids() {
            let place = air.place(ue, Tti(0));
            let Some(r) = Reception::at(config, &air, ue, &place) else { continue };
            table
                .row()
                .u64(u64::from(drop))
                .name(&all.ues[ue.index()].node)
                .name(&all.names[r.best.index()])
                .f64(place[0])
                .f64(place[1])
                .f64(place[2])
                .f64(decibels(r.gain).0)
                .f64(r.rsrp())
                .opt_f64(r.geometry())
                .f64(r.sinr())
                .end();
        }
        if !progress(f64::from(drop + 1) / f64::from(drops)) {
            return Err(Error::Stopped);
        }
    }
    Survey::of(table)
}

/// A table that a survey made.
#[derive(Debug)]
pub struct Survey {
    batches: Vec<RecordBatch>,
    schema: SchemaRef,
}

impl Survey {
    fn of(table: Table) -> Result<Survey, Error> {
        let FinishedTable { data, schema, .. } = table.finish()?;
        match data {
            TableData::Memory(batches) => Ok(Survey { batches, schema }),
            TableData::File { path, .. } => {
                let batches = lasthop_capture::read_parquet(&path)?.batches;
                Ok(Survey { batches, schema })
            }
        }
    }
    /// The rows.
    pub fn into_parts(self) -> (Vec<RecordBatch>, SchemaRef) {
        (self.batches, self.schema)
    }
}

//! Surveys: the radio of a scenario without traffic. At large scale: path loss, antennas, shadowing
//! and walls, no fading; every cell sends at full power.

use std::cmp::Ordering;

use lasthop_capture::{FinishedTable, Record, TableData};
use lasthop_lte::network::NetworkConfig;
use lasthop_lte::phy::propagation::Propagation;
use lasthop_radio::bounds::HEIGHT;
use lasthop_radio::{Mobility, Position, dbm, decibels, milliwatts, thermal_noise};
use lasthop_units::{CellId, Hertz, Id, Tti, UeId};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use crate::error::Error;
use crate::probe::tables;
use crate::sink::Table;
use crate::spec::{Scenario, Spec, UeSpec};

/// Width of a resource block.
const BLOCK: Hertz = Hertz(180e3);

/// Reception of a UE at one place, by resource block.
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
    fn at(config: &NetworkConfig, air: &Propagation, ue: UeId, position: &Position) -> Option<Reception> {
        let mut best: Option<(f64, f64, CellId)> = None;
        let mut sum = 0.0;
        for (cell, gain) in air.gains_at(ue, position) {
            let gain = f64::from(gain);
            let power = config.cells[cell].reference_power_mw() * gain;
            sum += power;
            if best.is_none_or(|(most, ..)| power > most) {
                best = Some((power, gain, cell));
            }
        }
        let (signal, gain, best) = best?;
        let noise = milliwatts(thermal_noise(BLOCK, config.ues[ue].radio.noise_figure));
        // The others' sum is a difference: with one cell it is zero.
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

/// One row for each UE and drop: its position, its strongest cell, and the received powers of that
/// cell and of the others. A drop is the scenario with the next seed: new places, shadowing and
/// lines of sight.
///
/// # Errors
/// The scenario has no cells or no UEs.
pub fn geometry(
    scenario: &Scenario,
    drops: u32,
    progress: &mut dyn FnMut(f64) -> bool,
) -> Result<Survey, Error> {
    let mut spec = scenario.spec().clone();
    if spec.cell.is_empty() || spec.ue.is_empty() {
        return Err(Error::input("a survey needs cells and UEs: this scenario has none"));
    }
    let mut table = Table::<tables::Geometry<'static>>::new(lasthop_capture::Sink::Memory)?;
    let first = spec.scenario.seed;
    for drop in 0..drops {
        spec.scenario.seed = first.wrapping_add(u64::from(drop));
        let all = spec.cellular(scenario.tracks());
        let config = &all.config;
        let mut air = config.propagation(spec.scenario.seed);
        for ue in config.ues.ids() {
            let position = air.position(ue, Tti(0));
            let Some(r) = Reception::at(config, &air, ue, &position) else { continue };
            table.push(&tables::Geometry {
                drop: u64::from(drop),
                ue: &all.ues[ue.index()].node,
                cell: &all.names[r.best.index()],
                x_m: position[0],
                y_m: position[1],
                z_m: position[2],
                coupling_gain_db: decibels(r.gain).0,
                rsrp_dbm: r.rsrp(),
                geometry_db: r.geometry(),
                sinr_db: r.sinr(),
            });
        }
        if !progress(f64::from(drop + 1) / f64::from(drops)) {
            return Err(Error::Stopped);
        }
    }
    Survey::of(table)
}

/// The area of a radio map, and its receiver.
#[derive(Clone, Debug)]
pub struct MapRequest {
    /// Distance of neighbouring places [m].
    pub step: f64,
    /// x and y of the lower left and the upper right corner [m]. None: all sites, with a margin for
    /// their cells.
    pub area: Option<[f64; 4]>,
    /// Height of the receiver [m], 0 to 100 000. None: the UE's.
    pub height: Option<f64>,
    /// The UE table of the receiver, outdoors, with the keys of the table. None: the first.
    pub ue: Option<String>,
}

/// Farthest place of a scenario, along each axis [m].
const FARTHEST: f64 = 1e6;
/// Largest number of places of one map.
const MOST_PLACES: f64 = 4e6;

/// One row for each place of a grid: the strongest cell, its RSRP, and the SINR when every cell
/// sends at full power. Rows run along x, then y.
///
/// # Errors
/// The scenario has no cells, the UE table does not exist, or the grid is too fine.
pub fn radio_map(
    scenario: &Scenario,
    request: &MapRequest,
    progress: &mut dyn FnMut(f64) -> bool,
) -> Result<Survey, Error> {
    let mut spec = scenario.spec().clone();
    if spec.cell.is_empty() {
        return Err(Error::input("a radio map needs cells: this scenario has none"));
    }
    spec.ue = [("receiver".to_owned(), receiver(&spec, request)?)].into();
    let all = spec.cellular(scenario.tracks());
    let (config, air) = (&all.config, all.config.propagation(spec.scenario.seed));
    let ue = UeId::from_index(0);
    let grid = Grid::of(request, config, ue)?;
    let mut table = Table::<tables::RadioMap<'static>>::new(lasthop_capture::Sink::Memory)?;
    for row in 0..grid.rows as u64 {
        for column in 0..grid.columns as u64 {
            let position = grid.position(column, row);
            let Some(r) = Reception::at(config, &air, ue, &position) else { continue };
            table.push(&tables::RadioMap {
                x_m: position[0],
                y_m: position[1],
                cell: &all.names[r.best.index()],
                rsrp_dbm: r.rsrp(),
                sinr_db: r.sinr(),
            });
        }
        if !progress((row + 1) as f64 / grid.rows) {
            return Err(Error::Stopped);
        }
    }
    Survey::of(table)
}

/// One UE with the radio of the requested table, at a given place: no drop, no building, no
/// movement.
fn receiver(spec: &Spec, request: &MapRequest) -> Result<UeSpec, Error> {
    let like = match &request.ue {
        None => spec.ue.values().next().cloned().unwrap_or_default(),
        Some(name) => spec.ue.get(name).cloned().ok_or_else(|| {
            let known: Vec<&str> = spec.ue.keys().map(String::as_str).collect();
            Error::input(format!("no UE table is called `{name}`; there are: {}", known.join(", ")))
        })?,
    };
    let mut receiver = UeSpec { radio: like.radio, ..UeSpec::default() };
    receiver.radio.mobility = Mobility::Static;
    Ok(receiver)
}

/// The places of a radio map.
struct Grid {
    /// Lower left corner [m].
    from: [f64; 2],
    /// Height [m].
    height: f64,
    /// Distance between neighbours [m].
    step: f64,
    columns: f64,
    rows: f64,
}

impl Grid {
    /// The grid of `request`; by default around the sites of `config` and at the height of `ue`.
    fn of(request: &MapRequest, config: &NetworkConfig, ue: UeId) -> Result<Grid, Error> {
        let height = request.height.unwrap_or(config.ues[ue].radio.position[2].0);
        let [x0, y0, x1, y1] = request.area.unwrap_or_else(|| surroundings(config));
        if !HEIGHT.hold(height) {
            return Err(Error::input(format!("a map is drawn for {}, not {height} m", HEIGHT.text)));
        }
        if ![x0, y0, x1, y1].iter().all(|x| x.abs() <= FARTHEST) {
            return Err(Error::input("the corners of a map must be within 1000 km of the origin"));
        }
        let step = request.step;
        if !(step.is_finite() && step > 0.0)
            || x1.partial_cmp(&x0) != Some(Ordering::Greater)
            || y1.partial_cmp(&y0) != Some(Ordering::Greater)
        {
            return Err(Error::input(
                "a map has a step above 0 m, and its upper right corner is above and to the right of the lower left one",
            ));
        }
        let [columns, rows] = [(x1 - x0) / step, (y1 - y0) / step].map(|n| n.floor() + 1.0);
        if columns * rows > MOST_PLACES {
            return Err(Error::input(format!(
                "{:.0} places are too many for a map: at most 4 million; a step of {:.0} m would do",
                columns * rows,
                (step * (columns * rows / MOST_PLACES).sqrt()).ceil()
            )));
        }
        Ok(Grid { from: [x0, y0], height, step, columns, rows })
    }

    fn position(&self, column: u64, row: u64) -> [f64; 3] {
        let [x, y] = self.from;
        [x + self.step * column as f64, y + self.step * row as f64, self.height]
    }
}

/// The rectangle around all sites, with half the mean distance of neighbours, at least 100 m,
/// around it.
fn surroundings(config: &NetworkConfig) -> [f64; 4] {
    let position = |i: usize| config.cells.iter().map(move |c| c.radio.position[i].0);
    let least = |i| position(i).fold(f64::INFINITY, f64::min);
    let most = |i| position(i).fold(f64::NEG_INFINITY, f64::max);
    let (width, depth) = (most(0) - least(0), most(1) - least(1));
    let margin = (width.max(depth) / (config.cells.len() as f64).sqrt()).max(100.0);
    [least(0) - margin, least(1) - margin, most(0) + margin, most(1) + margin]
}

/// A table that a survey made.
#[derive(Debug)]
pub struct Survey {
    batches: Vec<RecordBatch>,
    schema: SchemaRef,
}

impl Survey {
    fn of(table: Table<impl Record>) -> Result<Survey, Error> {
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

//! Measurements of cells and the events that report them (TS 36.214, TS 36.331 clause 5.5).
//!
//! RSRP [dBm] is the power of one resource element with reference signals, RSRQ [dB] is N RSRP /
//! RSSI. Layer 1 averages over a period, layer 3 filters, and an event has to hold for
//! time-to-trigger.

use lasthop_engine::math;
use lasthop_units::{CellId, Db, Duration, IndexVec, Tti};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use lasthop_bearer::require;
use lasthop_bearer::{ConfigError, Warning};

/// The event that triggers a UE's report of a neighbour. "none": never; a handover then happens
/// only if a program that uses the crate orders it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Trigger {
    /// No event.
    None,
    /// Event A3 on RSRP: the neighbour is an offset better than the serving cell (TS 36.331 clause
    /// 5.5.4.4).
    A3 {
        /// a3-Offset, -15 to 15 dB by 0.5.
        #[serde(default)]
        offset: Db,
        /// Hysteresis, 0 to 15 dB by 0.5.
        #[serde(default = "hysteresis")]
        hysteresis: Db,
        /// timeToTrigger.
        #[serde(default = "time_to_trigger")]
        time_to_trigger: Duration,
    },
    /// Events A2 and A4 on RSRQ: the serving cell's is below a threshold (clause 5.5.4.3) and a
    /// neighbour's is better by an offset.
    A2A4 {
        /// The serving cell's RSRQ is below this [dB]. The value 30 of ns-3 is -4.5 dB: always.
        #[serde(default = "serving")]
        serving: Db,
        /// The neighbour's RSRQ is this much better.
        #[serde(default = "neighbour")]
        neighbour: Db,
        /// timeToTrigger.
        #[serde(default = "at_once")]
        time_to_trigger: Duration,
    },
}

const fn hysteresis() -> Db {
    Db(3.0)
}
const fn time_to_trigger() -> Duration {
    Duration::from_millis(256)
}
const fn serving() -> Db {
    Db(-4.5)
}
const fn neighbour() -> Db {
    Db(0.5)
}
const fn at_once() -> Duration {
    Duration::ZERO
}

impl Default for Trigger {
    fn default() -> Self {
        Trigger::A3 { offset: Db(0.0), hysteresis: hysteresis(), time_to_trigger: time_to_trigger() }
    }
}

/// TimeToTrigger of TS 36.331 clause 6.3.5 [ms].
const TIMES_TO_TRIGGER: [u64; 16] =
    [0, 40, 64, 80, 100, 128, 160, 256, 320, 480, 512, 640, 1024, 1280, 2560, 5120];

impl Trigger {
    /// Refuses values that ReportConfigEUTRA cannot carry.
    pub fn validate(&self) -> Result<Vec<Warning>, ConfigError> {
        let half = |db: Db, low: f64| db.0 >= low && db.0 <= 15.0 && (db.0 * 2.0) % 1.0 == 0.0;
        let time = |t: Duration| TIMES_TO_TRIGGER.iter().any(|ms| Duration::from_millis(*ms) == t);
        let ttt = match *self {
            Trigger::None => return Ok(Vec::new()),
            Trigger::A3 { offset, hysteresis, time_to_trigger } => {
                require(half(offset, -15.0), "offset", &offset, "-15 to 15 dB by 0.5")?;
                require(half(hysteresis, 0.0), "hysteresis", &hysteresis, "0 to 15 dB by 0.5")?;
                time_to_trigger
            }
            Trigger::A2A4 { serving, neighbour, time_to_trigger } => {
                require((-19.5..=0.0).contains(&serving.0), "serving", &serving, "-19.5 to 0 dB")?;
                require((0.0..=17.0).contains(&neighbour.0), "neighbour", &neighbour, "0 to 17 dB")?;
                time_to_trigger
            }
        };
        require(
            time(ttt),
            "time_to_trigger",
            &ttt,
            "0, 40, 64, 80, 100, 128, 160, 256, 320, 480, 512, 640, 1024, 1280, 2560 or 5120 ms",
        )?;
        Ok(Vec::new())
    }

    /// How long an event must hold [TTI].
    pub const fn time(&self) -> u64 {
        match self {
            Trigger::None => 0,
            Trigger::A3 { time_to_trigger, .. } | Trigger::A2A4 { time_to_trigger, .. } => {
                time_to_trigger.as_millis()
            }
        }
    }
}

/// RSRP [dBm] and RSRQ [dB] of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Reference signal received power.
    pub rsrp_dbm: f64,
    /// Reference signal received quality.
    pub rsrq_db: f64,
}

/// The measurement period for which filterCoefficient is defined (TS 36.331 clause 5.5.3.2).
const PERIOD: Duration = Duration::from_millis(200);

/// The layer 3 filter: F_n = (1 - a) F_(n-1) + a M_n with a = 1 / 2^(k / 4) where a measurement is
/// made every 200 ms (TS 36.331 clause 5.5.3.2).
#[derive(Clone, Copy, Debug)]
pub struct Filter {
    a: f64,
}

impl Filter {
    /// With filterCoefficient `k`, for a measurement every `period`.
    // Clause 5.5.3.2: adapt the filter such that the time characteristics of the filter are
    // preserved at different input rates, observing that k assumes a sample rate equal to 200 ms.
    // After n measurements (1 - a)^n of a difference is left.
    pub fn new(k: u32, period: Duration) -> Filter {
        let a = math::pow(2.0, -f64::from(k) / 4.0);
        let n = period.as_secs_f64() / PERIOD.as_secs_f64();
        Filter { a: if period == PERIOD { a } else { 1.0 - math::pow(1.0 - a, n) } }
    }
    /// The next value after `last`.
    pub fn next(&self, last: Option<f64>, measured: f64) -> f64 {
        last.map_or(measured, |f| (1.0 - self.a) * f + self.a * measured)
    }
}

/// Reported RSRP: 0 to 97, from -140 dBm by 1 dB (TS 36.133 clause 9.1.4).
pub fn rsrp_index(dbm: f64) -> u8 {
    (dbm + 141.0).floor().clamp(0.0, 97.0) as u8
}

/// Reported RSRQ: 0 to 34, from -19.5 dB by 0.5 dB (TS 36.133 clause 9.1.7).
pub fn rsrq_index(db: f64) -> u8 {
    (2.0 * (db + 20.0)).floor().clamp(0.0, 34.0) as u8
}

/// A UE's measurements of the cells around it.
#[derive(Clone, Debug)]
pub struct Measurements {
    filtered: IndexVec<CellId, Option<Measured>>,
    /// TTI since which the entry condition holds, by neighbour.
    since: IndexVec<CellId, Option<Tti>>,
}

impl Measurements {
    /// Without measurements, for `cells` cells.
    pub fn new(cells: usize) -> Measurements {
        Measurements {
            filtered: (0..cells).map(|_| None).collect(),
            since: (0..cells).map(|_| None).collect(),
        }
    }

    /// The filtered values of a cell.
    pub fn of(&self, cell: CellId) -> Option<Measured> {
        self.filtered[cell]
    }

    /// Takes in a measurement of `cell` by layer 1.
    pub fn learn(&mut self, filter: &Filter, cell: CellId, measured: Measured) {
        let last = self.filtered[cell];
        self.filtered[cell] = Some(Measured {
            rsrp_dbm: filter.next(last.map(|m| m.rsrp_dbm), measured.rsrp_dbm),
            rsrq_db: filter.next(last.map(|m| m.rsrq_db), measured.rsrq_db),
        });
    }

    /// Clears all events: the serving cell has changed.
    pub fn restart(&mut self) {
        self.since.iter_mut().for_each(|t| *t = None);
    }

    /// Evaluates the entry and leaving conditions after new measurements.
    // 5.5.4.4: entering Mn - Hys > Mp + Off, leaving Mn + Hys < Mp + Off.
    pub fn judge(&mut self, trigger: &Trigger, serving: CellId, tti: Tti) {
        let Some(own) = self.filtered[serving] else { return };
        for cell in self.filtered.ids() {
            let Some(other) = self.filtered[cell].filter(|_| cell != serving) else { continue };
            let (enters, leaves) = match *trigger {
                Trigger::None => (false, true),
                Trigger::A3 { offset, hysteresis, .. } => {
                    let lead = other.rsrp_dbm - own.rsrp_dbm - offset.0;
                    (lead > hysteresis.0, lead < -hysteresis.0)
                }
                Trigger::A2A4 { serving, neighbour, .. } => {
                    let bad = own.rsrq_db < serving.0;
                    let better = other.rsrq_db >= own.rsrq_db + neighbour.0;
                    (bad && better, !(bad && better))
                }
            };
            // Before the event is reported, the entry condition must hold all the time.
            self.since[cell] = match self.since[cell] {
                None if enters => Some(tti),
                Some(since) if enters && !leaves => Some(since),
                _ => None,
            };
        }
    }

    /// The first TTI at which an event has held for long enough.
    pub fn due(&self, trigger: &Trigger) -> Option<Tti> {
        self.since.iter().flatten().min().map(|t| t.plus(trigger.time()))
    }

    /// The best neighbour among those whose event has held for long enough in `tti`.
    pub fn report(&self, trigger: &Trigger, tti: Tti) -> Option<CellId> {
        let held = |cell: &CellId| self.since[*cell].is_some_and(|t| t.plus(trigger.time()) <= tti);
        let by_quality = matches!(trigger, Trigger::A2A4 { .. });
        let worth = |cell: CellId| {
            self.filtered[cell].map_or(f64::NEG_INFINITY, |m| if by_quality { m.rsrq_db } else { m.rsrp_dbm })
        };
        self.since.ids().filter(held).max_by(|a, b| worth(*a).total_cmp(&worth(*b)).then(b.cmp(a)))
    }

    /// The strongest cell of those for which `suits` is true.
    pub fn strongest(&self, suits: impl Fn(CellId, f64) -> bool) -> Option<CellId> {
        let power = |cell: CellId| self.filtered[cell].map_or(f64::NEG_INFINITY, |m| m.rsrp_dbm);
        let found = self.filtered.ids().filter(|c| suits(*c, power(*c)));
        found.max_by(|a, b| power(*a).total_cmp(&power(*b)).then(b.cmp(a)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::Id;

    fn cell(i: usize) -> CellId {
        CellId::from_index(i)
    }

    /// k = 4: a = 1/2, so each measurement halves the distance to a step of 8 dB; with k = 0 there
    /// is no filter, with k = 8 three quarters of the distance remain.
    #[test]
    fn the_filter_has_its_coefficient() {
        let run = |k: u32, n: usize| {
            let f = Filter::new(k, PERIOD);
            (0..n).fold(0.0, |last, _| f.next(Some(last), 8.0))
        };
        assert_eq!((run(4, 1), run(4, 2), run(4, 3)), (4.0, 6.0, 7.0));
        assert_eq!((run(0, 1), run(8, 1)), (8.0, 2.0));
        assert_eq!(Filter::new(4, PERIOD).next(None, -90.0), -90.0, "the first value is taken as it is");
    }

    /// Clause 5.5.3.2: the same time characteristics at other rates. k = 4 leaves half of a step
    /// after 200 ms, so a quarter after 400 ms, however many measurements were made in this time.
    /// Without a filter (k = 0) nothing is left at any rate.
    #[test]
    fn the_filter_is_as_slow_at_any_rate() {
        for (ms, n) in [(400, 1), (200, 2), (100, 4), (40, 10), (10, 40)] {
            let period = Duration::from_millis(ms);
            let run = |k: u32| {
                let f = Filter::new(k, period);
                (0..n).fold(8.0, |last, _| f.next(Some(last), 0.0))
            };
            assert!((run(4) - 2.0).abs() < 1e-12, "{ms} ms: {}", run(4));
            assert_eq!(run(0), 0.0, "{ms} ms");
        }
    }

    /// TS 36.133 tables 9.1.4-1 and 9.1.7-1: RSRP_00 is below -140 dBm, RSRP_01 from -140, RSRP_97
    /// from -44; RSRQ_00 below -19.5 dB, RSRQ_01 from -19.5, RSRQ_34 from -3.
    #[test]
    fn reported_values_are_those_of_the_tables() {
        let powers = [-150.0, -140.1, -140.0, -139.0, -44.0, -10.0];
        assert_eq!(powers.map(rsrp_index), [0, 0, 1, 2, 97, 97]);
        assert_eq!([-25.0, -19.6, -19.5, -19.0, -3.0, 0.0].map(rsrq_index), [0, 0, 1, 2, 34, 34]);
    }

    #[test]
    fn a3_must_hold_for_time_to_trigger_without_a_gap() {
        let trigger = Trigger::default();
        let mut m = Measurements::new(3);
        let plain = Filter::new(0, PERIOD);
        let mut step = |tti: u64, powers: [f64; 3]| {
            for (i, rsrp_dbm) in powers.into_iter().enumerate() {
                m.learn(&plain, cell(i), Measured { rsrp_dbm, rsrq_db: -10.0 });
            }
            m.judge(&trigger, cell(0), Tti(tti));
            (m.due(&trigger), m.report(&trigger, Tti(tti)))
        };
        assert_eq!(step(0, [-90.0, -87.0, -95.0]), (None, None), "3 dB are not more than 3 dB");
        assert_eq!(step(100, [-90.0, -86.9, -95.0]), (Some(Tti(356)), None));
        assert_eq!(step(300, [-90.0, -89.0, -95.0]), (None, None), "the condition did not hold");
        assert_eq!(step(400, [-90.0, -86.0, -80.0]), (Some(Tti(656)), None));
        assert_eq!(step(656, [-90.0, -86.0, -80.0]).1, Some(cell(2)), "the best of both");
    }

    #[test]
    fn a2_a4_requires_a_bad_serving_cell_and_a_better_neighbour() {
        let trigger =
            Trigger::A2A4 { serving: Db(-12.0), neighbour: Db(0.5), time_to_trigger: Duration::ZERO };
        let mut m = Measurements::new(2);
        let plain = Filter::new(0, PERIOD);
        let mut step = |own: f64, other: f64| {
            m.learn(&plain, cell(0), Measured { rsrp_dbm: -90.0, rsrq_db: own });
            m.learn(&plain, cell(1), Measured { rsrp_dbm: -90.0, rsrq_db: other });
            m.judge(&trigger, cell(0), Tti(5));
            m.report(&trigger, Tti(5))
        };
        assert_eq!(step(-11.0, -5.0), None);
        assert_eq!(step(-13.0, -12.8), None);
        assert_eq!(step(-13.0, -12.5), Some(cell(1)));
    }
}

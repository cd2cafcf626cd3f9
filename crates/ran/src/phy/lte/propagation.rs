//! Where cells and UEs are, and what the way between them costs.

use std::f64::consts::PI;

use lasthop_engine::math::log10;
use lasthop_radio::FadingProfile;
use lasthop_units::{CellId, Db, Dbm, Hertz, IndexVec, Metres, Speed, Tti, UeId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::air::{Gains, LargeScale};

/// What all links share.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RadioConfig {
    /// Carrier frequency of the downlink.
    pub downlink: Hertz,
    /// Carrier frequency of the uplink.
    pub uplink: Hertz,
    /// Fast fading of every link.
    pub fading: FadingProfile,
}

impl Default for RadioConfig {
    fn default() -> Self {
        // EARFCN 100 and 18100 (TS 36.101 clause 5.7.3).
        RadioConfig { downlink: Hertz(2120e6), uplink: Hertz(1930e6), fading: FadingProfile::None }
    }
}

/// The radio of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CellRadioConfig {
    /// x, y and height.
    pub position: [Metres; 3],
    /// Power over the whole carrier.
    pub power: Dbm,
    /// Noise figure of the receiver.
    pub noise_figure: Db,
}

impl Default for CellRadioConfig {
    fn default() -> Self {
        // TR 36.942 clause 4.5 and table 4.8: macro eNB, 46 dBm, noise figure 5 dB.
        CellRadioConfig {
            position: [Metres(0.0), Metres(0.0), Metres(30.0)],
            power: Dbm(46.0),
            noise_figure: Db(5.0),
        }
    }
}

/// The radio of a UE.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UeRadioConfig {
    /// x, y and height.
    pub position: [Metres; 3],
    /// Largest power.
    pub power: Dbm,
    /// Noise figure of the receiver.
    pub noise_figure: Db,
    /// How fast it moves, or things around it do, as far as fading is concerned.
    pub speed: Speed,
    /// P_A: power of its data in the downlink relative to an equal share of the cell's power (TS 36.213 clause 5.2: -6,
    /// -4.77, -3, -1.77, 0, 1, 2 or 3 dB).
    pub p_a: Db,
    /// The SINR of every resource block in both directions, instead of what the radio gives.
    pub pinned_sinr: Option<Db>,
}

impl Default for UeRadioConfig {
    fn default() -> Self {
        // TR 36.942 clause 4.5 and table 4.8: 23 dBm (TS 36.101 clause 6.2.2, class 3), noise figure 9 dB, height 1.5 m.
        UeRadioConfig {
            position: [Metres(100.0), Metres(0.0), Metres(1.5)],
            power: Dbm(23.0),
            noise_figure: Db(9.0),
            speed: Speed(0.0),
            p_a: Db(0.0),
            pinned_sinr: None,
        }
    }
}

/// Free space (H. T. Friis, Proc. IRE 34(5), 1946) between static places.
#[derive(Clone, Debug)]
pub struct FreeSpace {
    /// Carrier frequencies, downlink and uplink.
    pub frequencies: [Hertz; 2],
    /// Places of the cells [m].
    pub cells: IndexVec<CellId, [f64; 3]>,
    /// Places of the UEs [m].
    pub ues: IndexVec<UeId, [f64; 3]>,
}

impl LargeScale for FreeSpace {
    fn gains(&self, cell: CellId, ue: UeId, _: Tti) -> (Gains, Option<Tti>) {
        let (a, b) = (self.cells[cell], self.ues[ue]);
        let squares: f64 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
        let gain = |f: Hertz| {
            let loss = 20.0 * log10(4.0 * PI * squares.sqrt() * f.0 / 3e8);
            lasthop_radio::linear(Db(-loss.max(0.0))) as f32
        };
        (Gains { downlink: gain(self.frequencies[0]), uplink: gain(self.frequencies[1]) }, None)
    }
}

//! Penetration loss of terminals in buildings.

use lasthop_engine::math::{from_db, log10};
use lasthop_units::{Db, Hertz, Metres};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A terminal in a building.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Indoor {
    /// Distance from the outer wall along the direction from the base station; each metre adds a
    /// loss of 0.5 dB.
    pub depth: Metres,
    /// The building's outside.
    pub wall: Wall,
    /// Deviation of this building's wall loss from the mean [standard deviations of the wall's
    /// loss].
    pub deviation: f64,
}

impl Default for Indoor {
    fn default() -> Self {
        Indoor { depth: Metres(0.0), wall: Wall::default(), deviation: 0.0 }
    }
}

/// The outside of a building.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Wall {
    /// 20 dB at any frequency (TR 36.873 table 7.2-1).
    #[default]
    Plain,
    /// Glass and concrete, 30 to 70 % (TR 38.901 table 7.4.3-2, low loss): standard deviation 4.4
    /// dB.
    LowLoss,
    /// Coated glass and concrete (TR 38.901, high loss): standard deviation 6.5 dB.
    HighLoss,
}

impl Indoor {
    /// Penetration loss of the building at `carrier`.
    pub fn loss(&self, carrier: Hertz) -> Db {
        let ghz = carrier.0 / 1e9;
        // TR 38.901 v16.1.0 table 7.4.3-1: panes, coated (IRR) panes, concrete. In v19.4.0 coated
        // panes have 25.4 dB + 0.11 dB/GHz.
        let (glass, coated, concrete) = (2.0 + 0.2 * ghz, 23.0 + 0.3 * ghz, 5.0 + 4.0 * ghz);
        let mixed = |window: f64, share: f64| {
            5.0 - 10.0 * log10(share * from_db(-window) + (1.0 - share) * from_db(-concrete))
        };
        let (through, deviation) = match self.wall {
            Wall::Plain => (20.0, 0.0),
            Wall::LowLoss => (mixed(glass, 0.3), 4.4),
            Wall::HighLoss => (mixed(coated, 0.7), 6.5),
        };
        Db(through + deviation * self.deviation + 0.5 * self.depth.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand at 6 GHz: panes 3.2 dB, concrete 29 dB: 5 - 10 log10(0.3 * 0.4786 + 0.7 * 0.00126) =
    /// 13.40 dB; coated panes 24.8 dB: 5 - 10 log10(0.7 * 0.003311 + 0.3 * 0.00126) = 30.69 dB.
    /// 10 m inside add 5 dB, and one deviation 4.4 or 6.5 dB.
    #[test]
    fn walls_cost_what_the_reports_say() {
        let at = |wall, depth, deviation| Indoor { depth: Metres(depth), wall, deviation }.loss(Hertz(6e9)).0;
        for (found, expected) in [
            (at(Wall::Plain, 0.0, 3.0), 20.0),
            (at(Wall::Plain, 10.0, 0.0), 25.0),
            (at(Wall::LowLoss, 0.0, 0.0), 13.40),
            (at(Wall::LowLoss, 0.0, 1.0), 17.80),
            (at(Wall::HighLoss, 0.0, 0.0), 30.69),
            (at(Wall::HighLoss, 10.0, -1.0), 29.19),
        ] {
            assert!((found - expected).abs() < 0.01, "{found} and {expected}");
        }
    }
}

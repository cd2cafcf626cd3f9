//! Antenna patterns: gain towards a direction.

use lasthop_engine::math::{atan2, cos, log10};
use lasthop_units::Db;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An antenna. Angles in degrees, counter-clockwise from the x axis; the tilt is downwards from the horizon.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Antenna {
    /// The same gain everywhere.
    Omni {
        /// Gain.
        #[serde(default)]
        gain: Db,
    },
    /// cos^n of half the angle (L. J. Chu, F. M. Hsieh, cosine pattern): broad, never quite zero but behind.
    Cosine {
        /// Where it points [degree].
        #[serde(default)]
        azimuth: f64,
        /// Width between the points of -3 dB [degree], 1 to 360.
        #[serde(default = "ninety")]
        beamwidth: f64,
        /// Gain in the main direction.
        #[serde(default)]
        gain: Db,
    },
    /// The sector antenna of TR 36.814 (table A.2.1.1-2): parabolic in both planes.
    Sector {
        /// Where it points [degree].
        #[serde(default)]
        azimuth: f64,
        /// Electrical downtilt [degree].
        #[serde(default = "fifteen")]
        tilt: f64,
        /// Horizontal width between the points of -3 dB [degree].
        #[serde(default = "seventy")]
        beamwidth: f64,
        /// Vertical width between the points of -3 dB [degree].
        #[serde(default = "ten")]
        vertical_beamwidth: f64,
        /// Gain in the main direction.
        #[serde(default = "fourteen")]
        gain: Db,
    },
}

impl Default for Antenna {
    fn default() -> Self {
        Antenna::Omni { gain: Db(0.0) }
    }
}

const fn ninety() -> f64 {
    90.0
}
const fn seventy() -> f64 {
    70.0
}
const fn ten() -> f64 {
    10.0
}
const fn fifteen() -> f64 {
    15.0
}
const fn fourteen() -> Db {
    Db(14.0)
}

/// Largest attenuation of the sector pattern, in azimuth and in elevation [dB] (TR 36.814 table A.2.1.1-2).
const FRONT_TO_BACK: f64 = 25.0;
const SIDE_LOBE: f64 = 20.0;

impl Antenna {
    /// Gain from an antenna at the origin towards a point at `x`, `y` (horizontal) and `z` (above it) [m].
    pub fn gain(&self, x: f64, y: f64, z: f64) -> Db {
        match *self {
            Antenna::Omni { gain } => gain,
            Antenna::Cosine { azimuth, beamwidth, gain } => {
                let half = off_axis(x, y, azimuth).to_radians() / 2.0;
                // cos^n(phi / 2) = 1/sqrt(2) in amplitude at half the beamwidth.
                let n = -3.0 / (20.0 * log10(cos((beamwidth / 4.0).to_radians())));
                gain + Db(20.0 * n * log10(cos(half).abs()))
            }
            Antenna::Sector { azimuth, tilt, beamwidth, vertical_beamwidth, gain } => {
                let square = |x: f64| x * x;
                let down = atan2(-z, (x * x + y * y).sqrt()).to_degrees();
                let horizontal = (12.0 * square(off_axis(x, y, azimuth) / beamwidth)).min(FRONT_TO_BACK);
                let vertical = (12.0 * square((down - tilt) / vertical_beamwidth)).min(SIDE_LOBE);
                gain - Db((horizontal + vertical).min(FRONT_TO_BACK))
            }
        }
    }
}

/// Angle between the direction of a point and the azimuth, 0 to 180 degrees.
fn off_axis(x: f64, y: f64, azimuth: f64) -> f64 {
    let angle = (atan2(y, x).to_degrees() - azimuth).abs() % 360.0;
    if angle > 180.0 { 360.0 - angle } else { angle }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_engine::math::sin;

    /// (azimuth, beamwidth, x, y) -> gain [dB], the points of ns-3's test of the same pattern, to 1e-3. Derivation of
    /// the second: 45 degrees off a beam of 90 are half its width, so -3 dB.
    #[test]
    fn the_cosine_pattern_gives_its_points() {
        let s60 = sin(60.0_f64.to_radians());
        for (azimuth, beamwidth, x, y, expected) in [
            (0.0, 90.0, 1.0, 0.0, 0.0),
            (0.0, 90.0, 1.0, 1.0, -3.0),
            (0.0, 90.0, 1.0, -1.0, -3.0),
            (0.0, 90.0, -1.0, 1.0, -36.396),
            (45.0, 90.0, 1.0, 1.0, 0.0),
            (90.0, 90.0, 1.0, 1.0, -3.0),
            (0.0, 120.0, 0.5, s60, -3.0),
            (0.0, 120.0, -1.0, -2.0, -13.410),
            (0.0, 120.0, -1.0, 1.0, -20.034),
            (-120.0, 120.0, -1.0, 0.0, -3.0),
            (-120.0, 120.0, -1.0, 2.0, -15.578),
            (-120.0, 120.0, 1.0, 0.0, -14.457),
            (-120.0, 120.0, 1.0, 2.0, -73.154),
            (-120.0, 120.0, 1.0, -0.1, -12.754),
        ] {
            let found = Antenna::Cosine { azimuth, beamwidth, gain: Db(0.0) }.gain(x, y, 0.0).0;
            assert!((found - expected).abs() < 1e-3, "{azimuth} {beamwidth} {x} {y}: {found} and {expected}");
        }
    }

    /// 35 degrees off in azimuth: 12 (35/70)^2 = 3 dB. 5 degrees off the tilt: 12 (5/10)^2 = 3 dB. Behind: 25 dB.
    #[test]
    fn the_sector_pattern_is_parabolic_and_bounded() {
        let antenna = Antenna::Sector {
            azimuth: 0.0,
            tilt: 0.0,
            beamwidth: 70.0,
            vertical_beamwidth: 10.0,
            gain: Db(14.0),
        };
        let at = |azimuth: f64, down: f64| {
            let (a, d) = (azimuth.to_radians(), down.to_radians());
            antenna.gain(cos(a) * cos(d), sin(a) * cos(d), -sin(d)).0
        };
        for (azimuth, down, expected) in [
            (0.0, 0.0, 14.0),
            (35.0, 0.0, 11.0),
            (0.0, 5.0, 11.0),
            (35.0, 5.0, 8.0),
            (180.0, 0.0, -11.0),
            (180.0, 90.0, -11.0),
        ] {
            assert!((at(azimuth, down) - expected).abs() < 1e-9, "{azimuth} {down}: {}", at(azimuth, down));
        }
    }
}

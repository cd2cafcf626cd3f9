//! Antenna patterns: gain towards a direction.

use lasthop_engine::math::{atan2, cos, log10, sin};
use lasthop_units::Db;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bounds::{ANTENNA_GAIN, AZIMUTH, BEAMWIDTH, LOSS, TILT};

/// An antenna. Angles in degrees, counter-clockwise from the x axis; the tilt is downwards from the
/// horizon.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Antenna {
    /// The same gain everywhere.
    Omni {
        /// Gain, -50 dB to 60 dB.
        #[serde(default)]
        gain: Db,
    },
    /// cos^n of half the angle (L. J. Chu, F. M. Hsieh, cosine pattern): broad, and zero only
    /// opposite to the main direction.
    Cosine {
        /// Direction of its main lobe [degree], -360 to 360.
        #[serde(default)]
        #[schemars(range(min = -360, max = 360))]
        azimuth: f64,
        /// Width between the points of -3 dB [degree], 1 to 359.
        #[schemars(range(min = 1, max = 359))]
        #[serde(default = "ninety")]
        beamwidth: f64,
        /// Gain in the main direction, -50 dB to 60 dB.
        #[serde(default)]
        gain: Db,
    },
    /// The sector antenna of TR 36.814 (table A.2.1.1-2): parabolic in both planes.
    Sector {
        /// Direction of its main lobe [degree], -360 to 360.
        #[serde(default)]
        #[schemars(range(min = -360, max = 360))]
        azimuth: f64,
        /// Electrical downtilt [degree], -90 to 90.
        #[schemars(range(min = -90, max = 90))]
        #[serde(default = "fifteen")]
        tilt: f64,
        /// Horizontal width between the points of -3 dB [degree], 1 to 360.
        #[schemars(range(min = 1, max = 360))]
        #[serde(default = "seventy")]
        beamwidth: f64,
        /// Vertical width between the points of -3 dB [degree], 1 to 360.
        #[schemars(range(min = 1, max = 360))]
        #[serde(default = "ten")]
        vertical_beamwidth: f64,
        /// Gain in the main direction, -50 dB to 60 dB.
        #[serde(default = "fourteen")]
        gain: Db,
    },
    /// The sector antenna without an elevation pattern (TR 25.814 table A.2.1.1-2, the 2D
    /// alternative of TR 36.814).
    #[serde(rename = "sector-2d")]
    Flat {
        /// Direction of its main lobe [degree], -360 to 360.
        #[serde(default)]
        #[schemars(range(min = -360, max = 360))]
        azimuth: f64,
        /// Horizontal width between the points of -3 dB [degree], 1 to 360.
        #[schemars(range(min = 1, max = 360))]
        #[serde(default = "seventy")]
        beamwidth: f64,
        /// Largest attenuation, 0 dB to 200 dB.
        #[serde(default = "twenty")]
        front_to_back: Db,
        /// Gain in the main direction, -50 dB to 60 dB.
        #[serde(default = "fourteen")]
        gain: Db,
    },
    /// A column of elements, fed with the phases of an electrical tilt (TR 36.873 clause 7.1, TR
    /// 38.901 clause 7.3).
    Panel {
        /// Direction of its main lobe [degree], -360 to 360.
        #[serde(default)]
        #[schemars(range(min = -360, max = 360))]
        azimuth: f64,
        /// Electrical downtilt [degree], -90 to 90; without meaning for one element.
        #[schemars(range(min = -90, max = 90))]
        #[serde(default = "twelve")]
        tilt: f64,
        /// Elements above each other that make one port (K = M), 1 to 64.
        #[serde(default = "ten_elements")]
        elements: u32,
        /// Their distance [wavelength], above 0 and at most 10.
        #[serde(default = "half")]
        spacing: f64,
        /// Width of an element between its points of -3 dB, both planes [degree], 1 to 360.
        #[schemars(range(min = 1, max = 360))]
        #[serde(default = "sixty_five")]
        beamwidth: f64,
        /// Gain of an element in its main direction, -50 dB to 60 dB.
        #[serde(default = "eight")]
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
const fn twenty() -> Db {
    Db(20.0)
}
const fn twelve() -> f64 {
    12.0
}
const fn ten_elements() -> u32 {
    10
}
const fn half() -> f64 {
    0.5
}
const fn sixty_five() -> f64 {
    65.0
}
const fn eight() -> Db {
    Db(8.0)
}

/// Largest attenuation of the sector pattern, in azimuth and in elevation [dB] (TR 36.814 table
/// A.2.1.1-2).
const FRONT_TO_BACK: f64 = 25.0;
const SIDE_LOBE: f64 = 20.0;
/// Both of an element of TR 36.873 table 7.1-1 [dB].
const ELEMENT_FLOOR: f64 = 30.0;

impl Antenna {
    /// Gain from an antenna at the origin towards a point at `x`, `y` (horizontal) and `z` (above
    /// it) [m].
    pub fn gain(&self, x: f64, y: f64, z: f64) -> Db {
        match *self {
            Antenna::Omni { gain } => gain,
            Antenna::Cosine { azimuth, beamwidth, gain } => {
                let half = off_axis(x, y, azimuth).to_radians() / 2.0;
                // In amplitude the pattern has cos^n(phi / 2) = 1/sqrt(2) at half the beamwidth.
                let n = -3.0 / (20.0 * log10(cos((beamwidth / 4.0).to_radians())));
                gain + Db(20.0 * n * log10(cos(half).abs()))
            }
            Antenna::Sector { azimuth, tilt, beamwidth, vertical_beamwidth, gain } => {
                let horizontal = parabola(off_axis(x, y, azimuth), beamwidth, FRONT_TO_BACK);
                let vertical = parabola(downwards(x, y, z) - tilt, vertical_beamwidth, SIDE_LOBE);
                gain - Db((horizontal + vertical).min(FRONT_TO_BACK))
            }
            Antenna::Flat { azimuth, beamwidth, front_to_back, gain } => {
                gain - Db(parabola(off_axis(x, y, azimuth), beamwidth, front_to_back.0))
            }
            Antenna::Panel { azimuth, tilt, elements, spacing, beamwidth, gain } => {
                let down = downwards(x, y, z);
                let horizontal = parabola(off_axis(x, y, azimuth), beamwidth, ELEMENT_FLOOR);
                let vertical = parabola(down, beamwidth, ELEMENT_FLOOR);
                let element = gain - Db((horizontal + vertical).min(ELEMENT_FLOOR));
                element + Db(10.0 * log10(column(elements, spacing, down, tilt).max(1e-12)))
            }
        }
    }

    /// The same antenna, turned by `angle` [degree]; an omnidirectional one is unchanged.
    pub fn turned(mut self, angle: f64) -> Antenna {
        match &mut self {
            Antenna::Omni { .. } => {}
            Antenna::Cosine { azimuth, .. }
            | Antenna::Sector { azimuth, .. }
            | Antenna::Flat { azimuth, .. }
            | Antenna::Panel { azimuth, .. } => *azimuth += angle,
        }
        self
    }

    /// Direction of the main lobe [degree, counter-clockwise from the x axis]; `None` if
    /// omnidirectional.
    pub const fn azimuth(&self) -> Option<f64> {
        match *self {
            Antenna::Omni { .. } => None,
            Antenna::Cosine { azimuth, .. }
            | Antenna::Sector { azimuth, .. }
            | Antenna::Flat { azimuth, .. }
            | Antenna::Panel { azimuth, .. } => Some(azimuth),
        }
    }

    /// Checks the values; the error has the key and the range of its values.
    pub fn validate(&self) -> Result<(), (&'static str, &'static str)> {
        match *self {
            Antenna::Omni { gain } => ANTENNA_GAIN.check("gain", gain.0),
            Antenna::Cosine { azimuth, beamwidth, gain } => {
                AZIMUTH.check("azimuth", azimuth)?;
                // At 360 degrees the exponent of the pattern is a division by log(0).
                if !(1.0..=359.0).contains(&beamwidth) {
                    return Err(("beamwidth", "the cosine pattern has a beam of 1 to 359 degrees"));
                }
                ANTENNA_GAIN.check("gain", gain.0)
            }
            Antenna::Sector { azimuth, tilt, beamwidth, vertical_beamwidth, gain } => {
                AZIMUTH.check("azimuth", azimuth)?;
                TILT.check("tilt", tilt)?;
                BEAMWIDTH.check("beamwidth", beamwidth)?;
                BEAMWIDTH.check("vertical_beamwidth", vertical_beamwidth)?;
                ANTENNA_GAIN.check("gain", gain.0)
            }
            Antenna::Flat { azimuth, beamwidth, front_to_back, gain } => {
                AZIMUTH.check("azimuth", azimuth)?;
                BEAMWIDTH.check("beamwidth", beamwidth)?;
                LOSS.check("front_to_back", front_to_back.0)?;
                ANTENNA_GAIN.check("gain", gain.0)
            }
            Antenna::Panel { azimuth, tilt, elements, spacing, beamwidth, gain } => {
                AZIMUTH.check("azimuth", azimuth)?;
                TILT.check("tilt", tilt)?;
                BEAMWIDTH.check("beamwidth", beamwidth)?;
                ANTENNA_GAIN.check("gain", gain.0)?;
                if !(1..=64).contains(&elements) {
                    return Err(("elements", "1 to 64 elements"));
                }
                match spacing > 0.0 && spacing <= 10.0 {
                    true => Ok(()),
                    false => Err(("spacing", "above 0 and at most 10 wavelengths")),
                }
            }
        }
    }
}

/// 12 (angle / width)^2, at most `floor` [dB].
fn parabola(angle: f64, width: f64, floor: f64) -> f64 {
    (12.0 * (angle / width) * (angle / width)).min(floor)
}

/// Angle of a point below the horizon [degree].
fn downwards(x: f64, y: f64, z: f64) -> f64 {
    atan2(-z, (x * x + y * y).sqrt()).to_degrees()
}

/// Power gain of a column of `m` elements over one, with the weights of a tilt (TR 36.873 clause
/// 7.1): the sum of m waves with a phase difference of 2 pi d (sin(down) - sin(tilt)) between
/// neighbours, squared, over m.
fn column(m: u32, spacing: f64, down: f64, tilt: f64) -> f64 {
    let half = std::f64::consts::PI * spacing * (sin(down.to_radians()) - sin(tilt.to_radians()));
    let (m, one) = (f64::from(m), sin(half));
    if one.abs() < 1e-9 {
        return m;
    }
    let all = sin(m * half) / one;
    all * all / m
}

/// Angle between the direction of a point and the azimuth, 0 to 180 degrees.
fn off_axis(x: f64, y: f64, azimuth: f64) -> f64 {
    let angle = (atan2(y, x).to_degrees() - azimuth).abs() % 360.0;
    if angle > 180.0 { 360.0 - angle } else { angle }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (azimuth, beamwidth, x, y) -> gain [dB], the points of ns-3's test of the same pattern, to
    /// 1e-3. Derivation of the second: 45 degrees off a beam of 90 are half its width, so -3
    /// dB.
    #[test]
    fn the_cosine_pattern_gives_its_points() {
        let s60 = sin(60.0_f64.to_radians());
        for (azimuth, beamwidth, x, y, expected) in [
            (0.0, 90.0, 1.0, 0.0, 0.0),
            (0.0, 90.0, 1.0, 1.0, -3.0),
            (0.0, 90.0, 1.0, -1.0, -3.0),
            (0.0, 90.0, -1.0, 1.0, -36.396),
            (0.0, 90.0, -1.0, -1.0, -36.396),
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
        // Right behind: 20 n log10 cos(pi / 2), n = 4.3624; only the rounding of pi (6.1e-17) makes
        // it finite.
        let behind = Antenna::Cosine { azimuth: 0.0, beamwidth: 90.0, gain: Db(0.0) }.gain(-1.0, 0.0, 0.0).0;
        assert!((behind + 1414.6).abs() < 3.0, "{behind}");
    }

    /// 35 degrees off in azimuth: 12 (35/70)^2 = 3 dB. 5 degrees off the tilt: 12 (5/10)^2 = 3 dB.
    /// Behind: 25 dB.
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
    /// TR 25.814: at 70 degrees 12 dB, behind 20 dB, whatever the height.
    #[test]
    fn the_flat_pattern_does_not_depend_on_height() {
        let antenna =
            Antenna::Flat { azimuth: 30.0, beamwidth: 70.0, front_to_back: Db(20.0), gain: Db(14.0) };
        let at = |azimuth: f64, z: f64| {
            let a = (azimuth + 30.0).to_radians();
            antenna.gain(cos(a), sin(a), z).0
        };
        for (azimuth, expected) in [(0.0, 14.0), (35.0, 11.0), (-70.0, 2.0), (180.0, -6.0)] {
            assert!(
                (at(azimuth, 0.0) - expected).abs() < 1e-9 && (at(azimuth, -5.0) - expected).abs() < 1e-9
            );
        }
    }

    /// An element of TR 36.873: gain 8 dBi, 3 dB less 32.5 degrees off either axis (12 (1/2)^2), at
    /// most 30 dB less. Ten of them at half a wavelength add 10 dB in the direction of the tilt;
    /// the first null is where 10 pi/2 (sin a - sin 12) = pi, at sin a = 0.2079 + 0.2: 24.07
    /// degrees; the first side lobe is some 13 dB below the main one.
    #[test]
    fn a_column_points_where_its_tilt_says() {
        let panel = |elements| Antenna::Panel {
            azimuth: 0.0,
            tilt: 12.0,
            elements,
            spacing: 0.5,
            beamwidth: 65.0,
            gain: Db(8.0),
        };
        let at = |elements, azimuth: f64, down: f64| {
            let (a, d) = (azimuth.to_radians(), down.to_radians());
            panel(elements).gain(cos(a) * cos(d), sin(a) * cos(d), -sin(d)).0
        };
        let vertical = 12.0 * (12.0f64 / 65.0) * (12.0 / 65.0);
        for (found, expected) in [
            (at(1, 0.0, 0.0), 8.0),
            (at(1, 32.5, 0.0), 5.0),
            (at(1, 0.0, 32.5), 5.0),
            (at(1, 180.0, 0.0), -22.0),
            (at(10, 0.0, 12.0), 18.0 - vertical),
            (at(10, 32.5, 12.0), 15.0 - vertical),
        ] {
            assert!((found - expected).abs() < 1e-9, "{found} and {expected}");
        }
        let null = 24.0736;
        assert!(at(10, 0.0, null) < -60.0, "{}", at(10, 0.0, null));
        let side = (13..60).map(|d| at(10, 0.0, f64::from(d))).skip(12).fold(f64::MIN, f64::max);
        assert!((17.6 - side - 13.3).abs() < 2.0, "{side}");
    }

    /// Turning by 120 degrees moves the main lobe from 0 to 120 degrees.
    #[test]
    fn a_turned_antenna_has_a_turned_pattern() {
        let antenna = Antenna::Cosine { azimuth: 10.0, beamwidth: 60.0, gain: Db(3.0) }.turned(110.0);
        let a = 120.0f64.to_radians();
        assert!((antenna.gain(cos(a), sin(a), 0.0).0 - 3.0).abs() < 1e-9);
        assert_eq!(Antenna::default().turned(50.0), Antenna::default());
        assert!(Antenna::Cosine { azimuth: 0.0, beamwidth: 0.0, gain: Db(0.0) }.validate().is_err());
    }
}

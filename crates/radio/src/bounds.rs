//! Physical ranges of the values in a scenario. A value outside is probably a typing error: no real
//! radio has it.

/// A range with both ends, and its text in messages.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    low: f64,
    high: f64,
    /// Both ends with their unit.
    pub text: &'static str,
}

impl Bounds {
    /// True for a number in the range; false for NaN.
    pub fn hold(&self, x: f64) -> bool {
        (self.low..=self.high).contains(&x)
    }

    /// Refuses `x` outside the range.
    ///
    /// # Errors
    /// The key and the range.
    pub fn check(&self, key: &'static str, x: f64) -> Result<(), (&'static str, &'static str)> {
        if self.hold(x) { Ok(()) } else { Err((key, self.text)) }
    }
}

/// Directions over the ground, a whole turn both ways.
pub const AZIMUTH: Bounds =
    Bounds { low: -360.0, high: 360.0, text: "-360 to 360 degrees, counter-clockwise from east" };
/// Tilt below the horizon, from the zenith to the nadir.
pub const TILT: Bounds =
    Bounds { low: -90.0, high: 90.0, text: "-90 to 90 degrees, downwards from the horizon" };
/// Width of a beam: the narrowest antennas of radio links have about 1 degree.
pub const BEAMWIDTH: Bounds = Bounds { low: 1.0, high: 360.0, text: "a beam of 1 to 360 degrees" };
/// Gain of an antenna: a dish of 3 m has 50 dBi at 15 GHz, an antenna in a phone some -10 dBi,
/// behind a body -30 dBi.
pub const ANTENNA_GAIN: Bounds = Bounds { low: -50.0, high: 60.0, text: "-50 dB to 60 dB" };
/// Loss of a passive element.
pub const LOSS: Bounds = Bounds { low: 0.0, high: 200.0, text: "0 dB to 200 dB: a loss gives nothing" };
/// Noise figure: 0 dB is a receiver that adds no noise.
pub const NOISE_FIGURE: Bounds =
    Bounds { low: 0.0, high: 50.0, text: "0 dB to 50 dB: no receiver is better than thermal noise" };
/// Standard deviation of shadowing [dB]; TR 38.901 table 7.4.1-1 has up to 8.29 dB.
pub const SHADOWING: Bounds = Bounds { low: 0.0, high: 50.0, text: "0 dB to 50 dB: a standard deviation" };
/// Height above ground, aircraft included.
pub const HEIGHT: Bounds = Bounds { low: 0.0, high: 100e3, text: "a height of 0 m to 100 km" };
/// Heights of houses and widths of streets.
pub const BUILT: Bounds = Bounds { low: 1.0, high: 1000.0, text: "1 m to 1 km" };
/// Transmit power, from an idle sensor to a broadcast mast of 1 MW.
pub const POWER: Bounds = Bounds { low: -100.0, high: 90.0, text: "-100 dBm to 90 dBm" };
/// A ratio of signal to noise and interference.
pub const SINR: Bounds = Bounds { low: -100.0, high: 100.0, text: "-100 dB to 100 dB" };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_belong_to_a_range_and_nan_to_none() {
        for (x, held) in [(-90.0, true), (90.0, true), (90.1, false), (f64::NAN, false), (1e308, false)] {
            assert_eq!(TILT.hold(x), held, "{x}");
        }
    }
}

//! Thermal noise and sums of powers. Decibels are for scenarios, output and link budgets; powers
//! add in milliwatts.

use lasthop_engine::math::{db, from_db};
use lasthop_units::{Db, Dbm, Hertz};

/// Noise power density at 290 K as link budgets write it [dBm/Hz]: k T is -173.975.
pub const THERMAL_NOISE_DENSITY: Dbm = Dbm(-174.0);

/// Noise power in `bandwidth` of a receiver with noise figure `figure`.
pub fn thermal_noise(bandwidth: Hertz, figure: Db) -> Dbm {
    THERMAL_NOISE_DENSITY + Db(db(bandwidth.0)) + figure
}

/// The power in milliwatts.
pub fn milliwatts(power: Dbm) -> f64 {
    from_db(power.0)
}

/// The power of `milliwatts`; for 0 mW it is -300 dBm.
pub fn dbm(milliwatts: f64) -> Dbm {
    Dbm(if milliwatts > 1e-30 { db(milliwatts) } else { -300.0 })
}

/// The linear ratio of a gain.
pub fn linear(gain: Db) -> f64 {
    from_db(gain.0)
}

/// The gain of a linear ratio; for 0 it is -300 dB.
pub fn decibels(ratio: f64) -> Db {
    Db(if ratio > 1e-30 { db(ratio) } else { -300.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 25 blocks of 180 kHz at a noise figure of 9 dB: -174 + 66.5321 + 9 = -98.4679 dBm.
    #[test]
    fn noise_of_5_mhz_is_that_of_the_budget() {
        assert!((thermal_noise(Hertz(25.0 * 180e3), Db(9.0)).0 + 98.467_874_86).abs() < 1e-8);
        // k T at 290 K: 1.380649e-23 J/K * 290 K = 4.0039e-21 W/Hz = -173.975 dBm/Hz.
        assert!((dbm(1.380_649e-23 * 290.0 * 1e3).0 - THERMAL_NOISE_DENSITY.0).abs() < 0.03);
    }

    #[test]
    fn conversions_are_inverse_to_each_other() {
        assert!((milliwatts(Dbm(30.0)) - 1000.0).abs() < 1e-9);
        assert!((dbm(1000.0).0 - 30.0).abs() < 1e-12);
        assert!((decibels(linear(Db(-3.0))).0 + 3.0).abs() < 1e-12);
        assert_eq!((dbm(0.0), decibels(0.0)), (Dbm(-300.0), Db(-300.0)));
    }
}

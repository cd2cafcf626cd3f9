//! The form of a block error curve, and the data of a code: `bler_curves.rs` has the numbers.

use lasthop_engine::math::erfc;

/// Sizes [bit] of code blocks that have a curve of their own.
pub const SIZE_CLASSES: [u32; 9] = [40, 104, 160, 256, 512, 1024, 2560, 4032, 6144];

/// Error probability of a code block over its effective SINR: the complementary error function of
/// decibels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlerCurve {
    /// SINR [dB] at which one block in two fails.
    pub snr50_db: f64,
    /// Standard deviation [dB]: from 50 % to 15.9 %.
    pub sigma_db: f64,
}

impl BlerCurve {
    /// The probability that the block fails at `snr_db`.
    #[inline]
    pub fn bler(&self, snr_db: f64) -> f64 {
        let x = (snr_db - self.snr50_db) / (std::f64::consts::SQRT_2 * self.sigma_db);
        // erfc(5.9) / 2 = 3.6e-17: for a larger argument 1 - p is 1 to the last digit.
        if x.abs() > 5.9 {
            return if x > 0.0 { 0.0 } else { 1.0 };
        }
        0.5 * erfc(x)
    }
}

/// Modulation, code rate and curves of one code.
pub(super) struct Code {
    pub bits: u8,
    pub rate: f64,
    pub curves: [BlerCurve; SIZE_CLASSES.len()],
}

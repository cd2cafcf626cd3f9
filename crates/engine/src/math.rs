//! Mathematical functions that are the same on every platform: transcendental ones from one
//! portable `libm`.
//!
//! The functions of platforms differ in the last digit from machine to machine, and one digit can
//! make two runs differ. `sqrt` is exactly rounded everywhere (IEEE 754), so the processor's is
//! used.

/// Natural logarithm.
pub fn ln(x: f64) -> f64 {
    libm::log(x)
}
/// Logarithm to base 2.
pub fn log2(x: f64) -> f64 {
    libm::log2(x)
}
/// Logarithm to base 10.
pub fn log10(x: f64) -> f64 {
    libm::log10(x)
}
/// e to the power `x`.
pub fn exp(x: f64) -> f64 {
    libm::exp(x)
}
/// `x` to the power `y`.
pub fn pow(x: f64, y: f64) -> f64 {
    libm::pow(x, y)
}
/// Cube root.
pub fn cbrt(x: f64) -> f64 {
    libm::cbrt(x)
}
/// Sine of `x` radians.
pub fn sin(x: f64) -> f64 {
    libm::sin(x)
}
/// Cosine of `x` radians.
pub fn cos(x: f64) -> f64 {
    libm::cos(x)
}
/// Angle of the point (`x`, `y`) from the x axis [radian].
pub fn atan2(y: f64, x: f64) -> f64 {
    libm::atan2(y, x)
}
/// Complementary error function.
pub fn erfc(x: f64) -> f64 {
    libm::erfc(x)
}
/// Square root (exactly rounded on every platform).
pub fn sqrt(x: f64) -> f64 {
    x.sqrt()
}
/// The largest whole number not above `x`.
pub fn floor(x: f64) -> f64 {
    libm::floor(x)
}
/// The least whole number not below `x`.
pub fn ceil(x: f64) -> f64 {
    libm::ceil(x)
}
/// Decibels of a linear ratio.
pub fn db(ratio: f64) -> f64 {
    10.0 * log10(ratio)
}
/// The linear ratio of decibels.
pub fn from_db(db: f64) -> f64 {
    exp(db * (std::f64::consts::LN_10 / 10.0))
}
/// `x` to the power of a whole number, by squaring: with less work than [`pow`], and not rounded as
/// exactly.
pub fn whole_power(x: f64, n: u32) -> f64 {
    let (mut square, mut rest, mut power) = (x, n, 1.0);
    while rest > 0 {
        if rest % 2 == 1 {
            power *= square;
        }
        square *= square;
        rest /= 2;
    }
    power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_powers_and_decibels_are_those_of_the_general_function() {
        for n in [0, 1, 2, 3, 7, 13, 64] {
            for x in [0.0, 1e-3, 0.3, 0.999, 1.0, 1.5] {
                let (found, expected) = (whole_power(x, n), pow(x, f64::from(n)));
                assert!((found - expected).abs() <= 1e-14 * expected, "{x}^{n}: {found} {expected}");
            }
        }
        // An error of half a unit in the exponent of up to 46, and those of the functions.
        for tenth in -2000..2000 {
            let db = f64::from(tenth) / 10.0;
            let (found, expected) = (from_db(db), pow(10.0, db / 10.0));
            assert!((found / expected - 1.0).abs() < 2e-14, "{db} dB: {found} {expected}");
        }
        assert_eq!(from_db(0.0), 1.0);
    }
}

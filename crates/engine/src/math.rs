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
    pow(10.0, db / 10.0)
}

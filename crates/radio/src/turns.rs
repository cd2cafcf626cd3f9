//! Cosine and sine of many angles at once, in single precision. Angles are in turns: 2 pi are one.

/// `turns` without whole turns: -1/2 to 1/2. For numbers below 2^51.
#[inline(always)]
pub fn fraction(turns: f64) -> f32 {
    // The sum with this number has no fractional digits: subtracting it again leaves the nearest
    // whole number. Without a call of `round` the compiler can use vector lanes.
    const WHOLE: f64 = 1.5 * (1u64 << 52) as f64;
    (turns - ((turns + WHOLE) - WHOLE)) as f32
}

/// Cosine and sine of `t` turns, -1/2 to 1/2, without a branch or a table: those of half of it by
/// polynomials (5e-8), doubled. Within 1e-6.
#[inline(always)]
pub fn circle(t: f32) -> (f32, f32) {
    let q = t * t;
    let s = t * ((((SIN[4] * q + SIN[3]) * q + SIN[2]) * q + SIN[1]) * q + SIN[0]);
    let c = (((COS[4] * q + COS[3]) * q + COS[2]) * q + COS[1]) * q + COS[0];
    (1.0 - (s + s) * s, (s + s) * c)
}

/// sin(pi t) / t and cos(pi t) as polynomials in t^2 for |t| <= 1/2: least squares, weighted until
/// the error is even.
const SIN: [f32; 5] = [std::f32::consts::PI, -5.167_710_3, 2.550_077_7, -0.598_292_2, 0.077_659_41];
const COS: [f32; 5] = [0.999_999_95, -4.934_793, 4.058_412, -1.331_880_2, 0.219_696_8];

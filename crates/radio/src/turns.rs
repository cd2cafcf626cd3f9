//! Cosine and sine of many angles at once, in single precision. Angles are in turns: 2 pi are one.

/// `turns` without whole turns: -1/2 to 1/2. For numbers below 2^51.
#[inline(always)]
pub fn fraction(turns: f64) -> f32 {
    rest(turns) as f32
}

/// `turns` without whole turns, in double precision.
#[inline(always)]
fn rest(turns: f64) -> f64 {
    // The sum with this number has no fractional digits: subtracting it again leaves the nearest
    // whole number. Without a call of `round` the compiler can use vector lanes.
    const WHOLE: f64 = 1.5 * (1u64 << 52) as f64;
    turns - ((turns + WHOLE) - WHOLE)
}

/// `turns` without whole turns, in the nearest unit of 2^-32 turns. For numbers below 2^51.
#[inline(always)]
pub fn units(turns: f64) -> u32 {
    // The sum with this number has units as its last digit.
    const UNIT: f64 = 1.5 * (1u64 << 20) as f64;
    (rest(turns) + UNIT).to_bits() as u32
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition: turns times 2^32, rounded, without multiples of 2^32. The values are exact
    /// in double precision, and none is halfway between two units.
    #[test]
    fn units_are_those_of_a_turn() {
        for turns in
            [0.0, 0.25, -0.25, 0.5, -0.5, 1.0, 0.999_999_999_9, 17.123_456_789, -400_000.3, 3e9 + 0.3]
        {
            let expected = (turns * 4_294_967_296.0_f64).round() as i128;
            assert_eq!(i128::from(units(turns)), expected.rem_euclid(1 << 32), "{turns}");
        }
        assert_eq!(units(0.25), 1 << 30);
        assert_eq!(units(-0.25), 3 << 30);
    }
}

//! Complex numbers and small Hermitian systems of at most [`ANTENNAS_MAX`] unknowns.

use std::ops::{Add, AddAssign, Mul, Sub};

/// Most antennas at one end.
pub const ANTENNAS_MAX: usize = 4;

/// A complex number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct C {
    /// Real part.
    pub re: f64,
    /// Imaginary part.
    pub im: f64,
}

/// One number for each antenna; those beyond the number of antennas are not read.
pub type Vector = [C; ANTENNAS_MAX];
/// Rows of a square matrix.
pub type Matrix = [Vector; ANTENNAS_MAX];

impl C {
    /// Zero.
    pub const ZERO: C = C { re: 0.0, im: 0.0 };
    /// One.
    pub const ONE: C = C { re: 1.0, im: 0.0 };

    /// `re` + j `im`.
    pub const fn new(re: f64, im: f64) -> C {
        C { re, im }
    }
    /// The conjugate.
    #[inline(always)]
    #[must_use]
    pub const fn conj(self) -> C {
        C { re: self.re, im: -self.im }
    }
    /// Squared absolute value.
    #[inline(always)]
    pub const fn square(self) -> f64 {
        self.re * self.re + self.im * self.im
    }
    /// `factor` times the number.
    #[inline(always)]
    #[must_use]
    pub const fn scaled(self, factor: f64) -> C {
        C { re: self.re * factor, im: self.im * factor }
    }
}

impl Add for C {
    type Output = C;
    #[inline(always)]
    fn add(self, other: C) -> C {
        C { re: self.re + other.re, im: self.im + other.im }
    }
}

impl AddAssign for C {
    #[inline(always)]
    fn add_assign(&mut self, other: C) {
        *self = *self + other;
    }
}

impl Sub for C {
    type Output = C;
    #[inline(always)]
    fn sub(self, other: C) -> C {
        C { re: self.re - other.re, im: self.im - other.im }
    }
}

impl Mul for C {
    type Output = C;
    #[inline(always)]
    fn mul(self, other: C) -> C {
        C { re: self.re * other.re - self.im * other.im, im: self.re * other.im + self.im * other.re }
    }
}

/// a^H b over the first `N` numbers.
#[inline(always)]
pub fn inner<const N: usize>(a: &Vector, b: &Vector) -> C {
    let mut sum = C::ZERO;
    for k in 0..N {
        sum += a[k].conj() * b[k];
    }
    sum
}

/// a^H a over the first `N` numbers.
#[inline(always)]
pub fn norm<const N: usize>(a: &Vector) -> f64 {
    let mut sum = 0.0;
    for of in a.iter().take(N) {
        sum += of.square();
    }
    sum
}

/// v^H M v of a Hermitian matrix whose lower triangle is given.
#[inline(always)]
pub fn form<const N: usize>(m: &Matrix, v: &Vector) -> f64 {
    let mut sum = 0.0;
    for i in 0..N {
        sum += m[i][i].re * v[i].square();
        for k in 0..i {
            let term = v[i].conj() * m[i][k] * v[k];
            sum += 2.0 * term.re;
        }
    }
    sum
}

/// Adds `weight` v v^H to the lower triangle of `m`.
#[inline(always)]
pub fn add_outer<const N: usize>(m: &mut Matrix, v: &Vector, weight: f64) {
    for i in 0..N {
        for k in 0..=i {
            m[i][k] += (v[i] * v[k].conj()).scaled(weight);
        }
    }
}

/// The Cholesky factor of a Hermitian positive definite matrix whose lower triangle is given: lower
/// triangle L with L L^H = M; its diagonal is stored inverted.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "the indices are those of the factorisation's formula")]
pub fn cholesky<const N: usize>(m: &Matrix) -> Matrix {
    let mut l = [[C::ZERO; ANTENNAS_MAX]; ANTENNAS_MAX];
    for i in 0..N {
        for k in 0..i {
            let mut sum = m[i][k];
            for j in 0..k {
                sum = sum - l[i][j] * l[k][j].conj();
            }
            l[i][k] = sum.scaled(l[k][k].re);
        }
        let mut rest = m[i][i].re;
        for j in 0..i {
            rest -= l[i][j].square();
        }
        // The bound keeps the pivot positive if rounding has made the matrix singular.
        l[i][i].re = 1.0 / rest.max(m[i][i].re * 1e-14).max(f64::MIN_POSITIVE).sqrt();
    }
    l
}

/// M^-1 b from the [`cholesky`] factor of M.
#[inline(always)]
pub fn solve<const N: usize>(l: &Matrix, b: &Vector) -> Vector {
    let mut x = *b;
    for i in 0..N {
        for k in 0..i {
            x[i] = x[i] - l[i][k] * x[k];
        }
        x[i] = x[i].scaled(l[i][i].re);
    }
    for i in (0..N).rev() {
        for k in i + 1..N {
            x[i] = x[i] - l[k][i].conj() * x[k];
        }
        x[i] = x[i].scaled(l[i][i].re);
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    /// M x = b by hand: M = [[4, 1 - 2j, 0], [1 + 2j, 5, j], [0, -j, 3]], x = (1, j, 2): b = (6 +
    /// j, 1 + 9j, 7).
    #[test]
    fn a_system_is_solved() {
        let z = C::new;
        let o = C::ZERO;
        let m = [
            [z(4.0, 0.0), o, o, o],
            [z(1.0, 2.0), z(5.0, 0.0), o, o],
            [o, z(0.0, -1.0), z(3.0, 0.0), o],
            [o; 4],
        ];
        let x = solve::<3>(&cholesky::<3>(&m), &[z(6.0, 1.0), z(1.0, 9.0), z(7.0, 0.0), o]);
        for (found, expected) in x.iter().zip([z(1.0, 0.0), z(0.0, 1.0), z(2.0, 0.0)]) {
            assert!((*found - expected).square() < 1e-24, "{x:?}");
        }
        // x^H M x = x^H b = 6 + j - j(1 + 9j) + 14 = 29.
        let v = [z(1.0, 0.0), z(0.0, 1.0), z(2.0, 0.0), o];
        assert!((form::<3>(&m, &v) - 29.0).abs() < 1e-12);
    }
}

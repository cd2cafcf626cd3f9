//! SINR with several antennas: the SINR after the receiver, from the channel matrix of a resource
//! block.
//!
//! All functions apply to one block. A received layer is a vector, one complex amplitude for each
//! receive antenna: the channel matrix times the precoder's column, with the square root of the
//! power in it. Noise and interference are a covariance matrix over the receive antennas. No gain
//! is a constant.
//!
//! * One layer: maximum-ratio combining (MRC), w = h. SINR = |h|^4 / (h^H R h); with R = s I that
//!   is |h|^2 / s.
//! * Several layers: the linear receiver of least mean square error, w_l = (sum of h h^H + R')^-1
//!   h_l.
//! * Transmit diversity: Alamouti's code over two antennas (TS 36.211 clause 6.3.4.3, SFBC).
//!
//! A receiver that assumes spatially white interference has R' = s I, s the mean power at an
//! antenna; a receiver that uses the covariance (interference rejection combining, IRC) has R' = R.
//! The SINR is that under the true R in both cases.

mod codebook;
mod complex;

pub use codebook::{Precoder, cycled, precoder, precoders};
pub use complex::{ANTENNAS_MAX, C, Matrix, Vector, add_outer};

use complex::{cholesky, form, inner, norm, solve};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A multi-antenna receiver's information on its interference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Combining {
    /// The mean power of the interference at an antenna: maximum-ratio combining of one layer, MMSE
    /// between layers.
    #[default]
    Mrc,
    /// The covariance of the interference over the antennas: interference rejection combining.
    Irc,
}

/// Mean power at an antenna of noise and interference `r`, of which the lower triangle is given.
#[inline(always)]
fn white<const N: usize>(r: &Matrix) -> f64 {
    let mut sum = 0.0;
    for (i, row) in r.iter().enumerate().take(N) {
        sum += row[i].re;
    }
    sum / N as f64
}

/// SINR of the only layer, received as `h`, after the receiver, under noise and interference `r` at
/// `N` antennas.
#[inline(always)]
pub fn one_layer<const N: usize>(combining: Combining, h: &Vector, r: &Matrix) -> f64 {
    let power = norm::<N>(h);
    match combining {
        Combining::Mrc if power > 0.0 => power * power / form::<N>(r, h),
        Combining::Irc => inner::<N>(h, &solve::<N>(&cholesky::<N>(r), h)).re,
        Combining::Mrc => 0.0,
    }
}

/// SINR of transmit diversity over two antennas, received as `h` with the power of each: Alamouti's
/// code on two neighbouring subcarriers of one channel, whose interference is independent.
#[inline(always)]
pub fn alamouti<const N: usize>(combining: Combining, h: [&Vector; 2], r: &Matrix) -> f64 {
    match combining {
        Combining::Mrc => {
            let power = norm::<N>(h[0]) + norm::<N>(h[1]);
            let noise = form::<N>(r, h[0]) + form::<N>(r, h[1]);
            if power > 0.0 { power * power / noise } else { 0.0 }
        }
        Combining::Irc => {
            let l = cholesky::<N>(r);
            h.iter().map(|h| inner::<N>(h, &solve::<N>(&l, h)).re).sum()
        }
    }
}

/// SINR of each of `layers`, received together, after the linear receiver of least mean square
/// error.
#[inline(always)]
pub fn layers<const N: usize>(combining: Combining, layers: &[Vector], r: &Matrix, sinr: &mut [f64]) {
    if let [h] = layers {
        sinr[0] = one_layer::<N>(combining, h, r);
        return;
    }
    let mut all = match combining {
        Combining::Irc => *r,
        Combining::Mrc => {
            let (mut m, s) = ([[C::ZERO; ANTENNAS_MAX]; ANTENNAS_MAX], white::<N>(r));
            for (i, row) in m.iter_mut().enumerate() {
                row[i].re = s;
            }
            m
        }
    };
    for h in layers {
        add_outer::<N>(&mut all, h, 1.0);
    }
    let l = cholesky::<N>(&all);
    for (i, (h, to)) in layers.iter().zip(sinr).enumerate() {
        let w = solve::<N>(&l, h);
        let own = inner::<N>(&w, h).square();
        let mut rest = form::<N>(r, &w);
        for (k, other) in layers.iter().enumerate() {
            if k != i {
                rest += inner::<N>(&w, other).square();
            }
        }
        *to = if rest > 0.0 { own / rest } else { 0.0 };
    }
}

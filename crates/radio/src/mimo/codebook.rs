//! Precoders of two and four antennas (TS 36.211 v15.1.0 clause 6.3.4.2).

use std::f64::consts::FRAC_1_SQRT_2;
use std::sync::LazyLock;

use super::complex::{ANTENNAS_MAX, C, Vector, inner};

/// The amplitudes of each layer on the transmit antennas; the power of all layers together is 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precoder {
    /// Number of layers, 1 to 4.
    pub layers: usize,
    /// By layer: its column of W.
    pub columns: [Vector; ANTENNAS_MAX],
}

const fn z(re: f64, im: f64) -> C {
    C { re, im }
}
const H: f64 = FRAC_1_SQRT_2;
const O: C = C::ONE;
const M: C = z(-1.0, 0.0);
const J: C = z(0.0, 1.0);
const K: C = z(0.0, -1.0);

/// A row of the codebook of four antennas: u_n, and the columns of two, three and four layers.
type Row = (Vector, [u8; 2], [u8; 3], [u8; 4]);

/// Table 6.3.4.2.3-2: u_n of W_n = I - 2 u u^H / (u^H u), and the columns of W_n that two, three
/// and four layers take, from 1. One layer takes the first.
const CODEBOOK_OF_FOUR: [Row; 16] = [
    ([O, M, M, M], [1, 4], [1, 2, 4], [1, 2, 3, 4]),
    ([O, K, O, J], [1, 2], [1, 2, 3], [1, 2, 3, 4]),
    ([O, O, M, O], [1, 2], [1, 2, 3], [3, 2, 1, 4]),
    ([O, J, O, K], [1, 2], [1, 2, 3], [3, 2, 1, 4]),
    ([O, z(-H, -H), K, z(H, -H)], [1, 4], [1, 2, 4], [1, 2, 3, 4]),
    ([O, z(H, -H), J, z(-H, -H)], [1, 4], [1, 2, 4], [1, 2, 3, 4]),
    ([O, z(H, H), K, z(-H, H)], [1, 3], [1, 3, 4], [1, 3, 2, 4]),
    ([O, z(-H, H), J, z(H, H)], [1, 3], [1, 3, 4], [1, 3, 2, 4]),
    ([O, M, O, O], [1, 2], [1, 2, 4], [1, 2, 3, 4]),
    ([O, K, M, K], [1, 4], [1, 3, 4], [1, 2, 3, 4]),
    ([O, O, O, M], [1, 3], [1, 2, 3], [1, 3, 2, 4]),
    ([O, J, M, J], [1, 3], [1, 3, 4], [1, 3, 2, 4]),
    ([O, M, M, O], [1, 2], [1, 2, 3], [1, 2, 3, 4]),
    ([O, M, O, M], [1, 3], [1, 2, 3], [1, 3, 2, 4]),
    ([O, O, M, M], [1, 3], [1, 2, 3], [3, 2, 1, 4]),
    ([O, O, O, O], [1, 2], [1, 2, 3], [1, 2, 3, 4]),
];

/// Table 6.3.4.2.3-1 for one layer, and for two layers the indices 1 and 2 (index 0 is not used in
/// closed loop).
const TWO_ONE: [[C; 2]; 4] = [[O, O], [O, M], [O, J], [O, K]];
const TWO_TWO: [[[C; 2]; 2]; 2] = [[[O, O], [O, M]], [[O, J], [O, K]]];

/// Number of precoders from which a UE chooses for `layers` layers from `antennas` antennas, 1, 2
/// or 4: indices from 0 on.
pub const fn precoders(antennas: usize, layers: usize) -> usize {
    match (antennas, layers) {
        (2, 1) => 4,
        (2, 2) => 2,
        (4, 1..=4) => 16,
        _ => 1,
    }
}

/// The precoder `index` of `layers` layers from `antennas` antennas; below [`precoders`]. With two
/// antennas and layers, index 0 is that of codebook index 1.
pub fn precoder(antennas: usize, layers: usize, index: usize) -> Precoder {
    let mut columns = [[C::ZERO; ANTENNAS_MAX]; ANTENNAS_MAX];
    match (antennas, layers) {
        (2, 1) => columns[0][..2].copy_from_slice(&TWO_ONE[index].map(|c| c.scaled(H))),
        (2, 2) => {
            for (to, column) in columns.iter_mut().zip(TWO_TWO[index]) {
                to[..2].copy_from_slice(&column.map(|c| c.scaled(0.5)));
            }
        }
        (4, 1..=4) => return OF_FOUR[layers - 1][index],
        _ => columns[0][0] = O,
    }
    Precoder { layers, columns }
}

/// Large-delay CDD, W(i) D(i) U of clause 6.3.4.2.2, on the blocks `i`: with two antennas W is I /
/// sqrt(2), with four it cycles through the indices 12 to 15. D(i) permutes the layers from one
/// symbol to the next, so each code word uses all of them.
pub fn cycled(antennas: usize, layers: usize, i: usize) -> Precoder {
    let mut to = Precoder { layers, columns: [[C::ZERO; ANTENNAS_MAX]; ANTENNAS_MAX] };
    let w = match antennas {
        4 => OF_FOUR[layers - 1][12 + i % 4].columns,
        _ => [
            [z(H, 0.0), C::ZERO, C::ZERO, C::ZERO],
            [C::ZERO, z(H, 0.0), C::ZERO, C::ZERO],
            [C::ZERO; 4],
            [C::ZERO; 4],
        ],
    };
    let scale = 1.0 / (layers as f64).sqrt();
    for (l, column) in to.columns.iter_mut().enumerate().take(layers) {
        for (k, of) in w.iter().enumerate().take(layers) {
            // Element (k, l) of U: e^(-j 2 pi k l / layers).
            let turn = std::f64::consts::TAU * (k * l) as f64 / layers as f64;
            let u = z(lasthop_engine::math::cos(turn), -lasthop_engine::math::sin(turn)).scaled(scale);
            for (to, w) in column.iter_mut().zip(of) {
                *to += *w * u;
            }
        }
    }
    to
}

/// By layers less one, then index.
static OF_FOUR: LazyLock<[[Precoder; 16]; 4]> =
    LazyLock::new(|| std::array::from_fn(|l| std::array::from_fn(|index| of_four(l + 1, index))));

fn of_four(layers: usize, index: usize) -> Precoder {
    let (u, two, three, four) = &CODEBOOK_OF_FOUR[index];
    let taken: &[u8] = match layers {
        1 => &[1],
        2 => two,
        3 => three,
        _ => four,
    };
    let length = inner::<4>(u, u).re;
    let mut columns = [[C::ZERO; ANTENNAS_MAX]; ANTENNAS_MAX];
    for (to, column) in columns.iter_mut().zip(taken) {
        let k = usize::from(*column) - 1;
        for (i, to) in to.iter_mut().enumerate() {
            let one = if i == k { O } else { C::ZERO };
            *to = (one - (u[i] * u[k].conj()).scaled(2.0 / length)).scaled(1.0 / (layers as f64).sqrt());
        }
    }
    Precoder { layers, columns }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns are orthogonal and share the power: W^H W = I / layers.
    #[test]
    fn columns_are_orthogonal_and_share_the_power() {
        for (antennas, most) in [(2, 2), (4, 4)] {
            for layers in 1..=most {
                let open = (0..4).map(|i| cycled(antennas, layers, i)).filter(|_| layers > 1);
                let all = (0..precoders(antennas, layers)).map(|i| precoder(antennas, layers, i)).chain(open);
                for p in all {
                    for (a, x) in p.columns.iter().enumerate().take(layers) {
                        for (b, y) in p.columns.iter().enumerate().take(layers) {
                            let expected = if a == b { 1.0 / layers as f64 } else { 0.0 };
                            let found = inner::<4>(x, y);
                            assert!((found - z(expected, 0.0)).square() < 1e-24, "{antennas} {layers} {p:?}");
                        }
                    }
                }
            }
        }
    }

    /// W_0 = I - 2 u u^H / 4 with u = (1, -1, -1, -1): its first column is (1, 1, 1, 1) / 2. Every
    /// entry of a codebook of one layer has the absolute value 1/2: all amplifiers give the
    /// same power.
    #[test]
    fn one_layer_loads_all_antennas_alike() {
        let first = precoder(4, 1, 0).columns[0];
        assert!(first.iter().all(|c| (*c - z(0.5, 0.0)).square() < 1e-24), "{first:?}");
        for index in 0..16 {
            let column = precoder(4, 1, index).columns[0];
            assert!(column.iter().all(|c| (c.square() - 0.25).abs() < 1e-12), "{index}: {column:?}");
        }
    }
}

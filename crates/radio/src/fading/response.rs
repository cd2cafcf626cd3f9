//! From the taps of a link to the gain of each resource block.

use std::f64::consts::TAU;

use lasthop_engine::math;
use lasthop_units::Hertz;

use super::sinusoids::{Scratch, Taps, whole_lanes};

/// Pairs of blocks, one above and one below the middle, that are computed together.
const PAIRS: usize = 8;

/// One number for each pair of a part.
type Lanes = [f32; PAIRS];

/// The response of a carrier's blocks to delays: the rotation of each tap from the middle to the
/// blocks above it. Those below are their mirror images. The blocks are divided into parts, from
/// the middle outwards, each of which can be computed alone.
#[derive(Debug)]
pub struct Response {
    blocks: usize,
    taps: usize,
    /// `[part][tap]`: cosines and sines of 2 pi f tau, f the distance of each pair of the part from
    /// the middle.
    rotations: Box<[(Lanes, Lanes)]>,
}

impl Response {
    /// Creates the response of taps with `delays` [s], on blocks of `width`.
    pub(super) fn new(delays: impl Iterator<Item = f64>, blocks: usize, width: Hertz) -> Response {
        let delays: Vec<f64> = delays.collect();
        // With an odd number there is a block in the middle; with an even one the nearest are half
        // a block away.
        let first = if blocks % 2 == 1 { 1.0 } else { 0.5 };
        let mut rotations: Vec<(Lanes, Lanes)> = Vec::new();
        for part in 0..(blocks / 2).div_ceil(PAIRS).max(1) {
            for delay in &delays {
                let turn = |i: usize| TAU * width.0 * (first + (part * PAIRS + i) as f64) * delay;
                rotations.push((
                    std::array::from_fn(|i| math::cos(turn(i)) as f32),
                    std::array::from_fn(|i| math::sin(turn(i)) as f32),
                ));
            }
        }
        Response { blocks, taps: delays.len(), rotations: rotations.into() }
    }

    /// Resource blocks.
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// Number of parts.
    #[inline(always)]
    pub fn parts(&self) -> usize {
        (self.blocks / 2).div_ceil(PAIRS).max(1)
    }

    /// The part of block `b`.
    pub fn part_of(&self, b: usize) -> usize {
        let above = b >= self.blocks / 2;
        let pair = if above { (2 * b).saturating_sub(self.blocks) / 2 } else { self.blocks / 2 - 1 - b };
        // In the middle of an odd number there is an unpaired block.
        let alone = self.blocks % 2 == 1 && b == self.blocks / 2;
        if alone { 0 } else { pair / PAIRS }
    }

    /// Writes the power gains of the blocks of the parts `wanted` (bit `i`: part `i`) to their
    /// places in `gains`.
    #[inline(always)]
    pub fn gains(&self, taps: &Taps, mut wanted: u32, gains: &mut [f32]) {
        let (re, im) = taps.parts();
        let mut row = self.row(gains);
        // Two parts at a time share the loads of the taps.
        while wanted != 0 {
            let one = wanted.trailing_zeros() as usize;
            wanted &= wanted - 1;
            if wanted == 0 {
                let of_one = products(self.rotations(one), re, im);
                row.put_powers(one, of_one, re, im);
                break;
            }
            let two = wanted.trailing_zeros() as usize;
            wanted &= wanted - 1;
            let [of_one, of_two] = products_of_two(self.rotations(one), self.rotations(two), re, im);
            row.put_powers(one, of_one, re, im);
            row.put_powers(two, of_two, re, im);
        }
    }

    #[inline(always)]
    fn rotations(&self, part: usize) -> &[(Lanes, Lanes)] {
        &self.rotations[part * self.taps..][..self.taps]
    }

    /// A row with a number for each block.
    #[inline(always)]
    fn row<'a>(&self, of: &'a mut [f32]) -> Row<'a> {
        let (below, above) = of[..self.blocks].split_at_mut(self.blocks / 2);
        let (middle, above) = above.split_at_mut(self.blocks % 2);
        Row { below, middle, above }
    }

    /// Writes real and imaginary parts of the amplitudes of the blocks of the parts `wanted` to
    /// their places.
    #[inline(always)]
    pub(super) fn amplitudes(&self, taps: &Taps, mut wanted: u32, re: &mut [f32], im: &mut [f32]) {
        let (x, y) = taps.parts();
        wanted &= (1 << self.parts()) - 1;
        let (mut re, mut im) = (self.row(re), self.row(im));
        while wanted != 0 {
            let part = wanted.trailing_zeros() as usize;
            wanted &= wanted - 1;
            let [up, down] = amplitudes(products(self.rotations(part), x, y));
            if let (0, [re], [im]) = (part, &mut *re.middle, &mut *im.middle) {
                let middle = all(x, y);
                (*re, *im) = (middle.0[0], middle.1[0]);
            }
            re.put(part, up.0, down.0);
            im.put(part, up.1, down.1);
        }
    }

    /// Computes power gains of all blocks, their first and their second derivative, by eight
    /// blocks, from the derivatives of `n` taps.
    #[inline(always)]
    pub(super) fn derivatives<'a>(&self, n: usize, scratch: &'a mut Scratch) -> &'a [Vec<[f32; PAIRS]>; 3] {
        let Scratch { derivatives, rows, .. } = scratch;
        let taps = |i: usize| derivatives[i * whole_lanes(2 * n)..][..2 * n].split_at(n);
        let ((x, y), (dx, dy), (ddx, ddy)) = (taps(0), taps(1), taps(2));
        let eights = self.blocks.div_ceil(PAIRS);
        for row in rows.iter_mut() {
            if row.len() != eights {
                row.resize(eights, [0.0; PAIRS]);
            }
            // Values of a wider link beyond the last block are not read.
            row.last_mut().into_iter().for_each(|last| *last = [0.0; PAIRS]);
        }
        let [values, slopes, curvatures] = &mut *rows;
        let mut values = self.row(values.as_flattened_mut());
        let mut slopes = self.row(slopes.as_flattened_mut());
        let mut curvatures = self.row(curvatures.as_flattened_mut());
        for part in 0..self.parts() {
            let rotations = self.rotations(part);
            let [up, down] = amplitudes(products(rotations, x, y));
            let [up1, down1] = amplitudes(products(rotations, dx, dy));
            let [up2, down2] = amplitudes(products(rotations, ddx, ddy));
            values.put(part, dot(&up, &up), dot(&down, &down));
            slopes.put(part, slope(&up, &up1), slope(&down, &down1));
            curvatures.put(part, curvature(&up, &up1, &up2), curvature(&down, &down1, &down2));
        }
        if let ([value], [slope_of], [curvature_of]) = (values.middle, slopes.middle, curvatures.middle) {
            let (h, h1, h2) = (all(x, y), all(dx, dy), all(ddx, ddy));
            *value = dot(&h, &h)[0];
            *slope_of = slope(&h, &h1)[0];
            *curvature_of = curvature(&h, &h1, &h2)[0];
        }
        rows
    }
}

/// A row with a number for each block, from the middle outwards.
struct Row<'a> {
    below: &'a mut [f32],
    /// The unpaired block, if their number is odd. It belongs to the first part.
    middle: &'a mut [f32],
    above: &'a mut [f32],
}

impl Row<'_> {
    /// Writes the values of the pairs of `part` to the places of their blocks: `up` above the
    /// middle, `down` below.
    #[inline(always)]
    fn put(&mut self, part: usize, up: Lanes, down: Lanes) {
        let mut mirrored = [0.0; PAIRS];
        for k in 0..PAIRS {
            mirrored[PAIRS - 1 - k] = down[k];
        }
        let (rest_below, below) = self.below.as_rchunks_mut::<PAIRS>();
        let (above, rest_above) = self.above.as_chunks_mut::<PAIRS>();
        // Whole parts are copied as such.
        if let Some(above) = above.get_mut(part)
            && let Some(below) = below.iter_mut().nth_back(part)
        {
            (*above, *below) = (up, mirrored);
            return;
        }
        rest_above.iter_mut().zip(&up).for_each(|(to, value)| *to = *value);
        rest_below.iter_mut().rev().zip(&down).for_each(|(to, value)| *to = *value);
    }

    /// Writes the powers of the blocks of `part` from their products; `re` and `im` are the taps.
    #[inline(always)]
    fn put_powers(&mut self, part: usize, products: [Lanes; 4], re: &[f32], im: &[f32]) {
        if let (0, [middle]) = (part, &mut *self.middle) {
            let all = all(re, im);
            *middle = dot(&all, &all)[0];
        }
        let [up, down] = amplitudes(products);
        self.put(part, dot(&up, &up), dot(&down, &down));
    }
}

/// Real and imaginary part of H above the middle and below it, from the products.
#[inline(always)]
fn amplitudes([xc, ys, yc, xs]: [Lanes; 4]) -> [Amplitude; 2] {
    let [mut up, mut down] = [([0.0; PAIRS], [0.0; PAIRS]); 2];
    for k in 0..PAIRS {
        (up.0[k], up.1[k]) = (xc[k] + ys[k], yc[k] - xs[k]);
        (down.0[k], down.1[k]) = (xc[k] - ys[k], yc[k] + xs[k]);
    }
    [up, down]
}

/// Real and imaginary parts.
type Amplitude = (Lanes, Lanes);

/// Re(a* b).
#[inline(always)]
fn dot(a: &Amplitude, b: &Amplitude) -> Lanes {
    let mut out = [0.0; PAIRS];
    for (k, out) in out.iter_mut().enumerate() {
        *out = a.0[k] * b.0[k] + a.1[k] * b.1[k];
    }
    out
}

/// First derivative of |H|^2: 2 Re(H* H').
#[inline(always)]
fn slope(h: &Amplitude, first: &Amplitude) -> Lanes {
    let mut out = dot(h, first);
    for value in &mut out {
        *value *= 2.0;
    }
    out
}

/// Second derivative of |H|^2: 2 (|H'|^2 + Re(H* H'')).
#[inline(always)]
fn curvature(h: &Amplitude, first: &Amplitude, second: &Amplitude) -> Lanes {
    let (mut out, bend) = (dot(first, first), dot(h, second));
    for (value, bend) in out.iter_mut().zip(bend) {
        *value = 2.0 * (*value + bend);
    }
    out
}

/// The response in the middle of the carrier.
fn all(re: &[f32], im: &[f32]) -> Amplitude {
    ([re.iter().sum(); PAIRS], [im.iter().sum(); PAIRS])
}

/// A tap h = x + jy turned by -+ theta, theta that of the pair: (xc + ys) + j(yc - xs) above the
/// middle, (xc - ys) + j(yc + xs) below. The four products, summed over the taps once for both
/// blocks.
#[inline(always)]
fn products(rotations: &[(Lanes, Lanes)], re: &[f32], im: &[f32]) -> [Lanes; 4] {
    // All slices have one length, so that the loop counts only once.
    let taps = rotations.len();
    let (re, im) = (&re[..taps], &im[..taps]);
    let mut sums = [[0.0; PAIRS]; 4];
    for tap in 0..taps {
        add_products(&mut sums, &rotations[tap], re[tap], im[tap]);
    }
    sums
}

/// The same products of two parts.
#[inline(always)]
fn products_of_two(
    first: &[(Lanes, Lanes)],
    second: &[(Lanes, Lanes)],
    re: &[f32],
    im: &[f32],
) -> [[Lanes; 4]; 2] {
    let taps = first.len();
    let (second, re, im) = (&second[..taps], &re[..taps], &im[..taps]);
    let [mut sums, mut others] = [[[0.0; PAIRS]; 4]; 2];
    for tap in 0..taps {
        add_products(&mut sums, &first[tap], re[tap], im[tap]);
        add_products(&mut others, &second[tap], re[tap], im[tap]);
    }
    [sums, others]
}

/// Adds the products of the tap x + jy.
#[inline(always)]
fn add_products([xc, ys, yc, xs]: &mut [Lanes; 4], (cosines, sines): &(Lanes, Lanes), x: f32, y: f32) {
    for k in 0..PAIRS {
        xc[k] += x * cosines[k];
        ys[k] += y * sines[k];
        yc[k] += y * cosines[k];
        xs[k] += x * sines[k];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each part writes its own blocks and no others, and all parts together write all.
    #[test]
    fn every_block_has_one_part() {
        for blocks in [1usize, 6, 15, 25, 50, 75, 100, 110] {
            let response = Response::new([0.0, 1e-6].into_iter(), blocks, Hertz(180e3));
            let taps = Taps { values: vec![0.6, 0.3, 0.2, 0.5], count: 2 };
            for part in 0..response.parts() {
                let mut gains = vec![-1.0; blocks];
                response.gains(&taps, 1 << part, &mut gains);
                for (b, gain) in gains.iter().enumerate() {
                    assert_eq!(
                        *gain >= 0.0,
                        response.part_of(b) == part,
                        "{blocks} blocks, {b}, part {part}"
                    );
                }
            }
        }
    }

    /// Bit by bit the same, whichever parts are requested together.
    #[test]
    fn parts_are_the_same_together_and_alone() {
        for blocks in [6usize, 15, 17, 18, 20, 25, 50, 51, 52, 54, 75, 100, 110] {
            let delays = [0.0, 3e-8, 1e-6];
            let response = Response::new(delays.into_iter(), blocks, Hertz(180e3));
            let taps = Taps { values: vec![0.6, -0.3, 0.2, 0.5, 0.7, -0.1, 0.0, 0.0], count: 3 };
            let mut alone = vec![-1.0; blocks];
            for part in 0..response.parts() {
                // As it was defined: the products of a pair, in the order of the taps.
                let (re, im) = taps.parts();
                let [xc, ys, yc, xs] = products(response.rotations(part), re, im);
                let middle = blocks % 2;
                for k in 0..PAIRS.min((blocks / 2).saturating_sub(part * PAIRS)) {
                    let (x, y) = (xc[k] + ys[k], yc[k] - xs[k]);
                    alone[blocks / 2 + middle + part * PAIRS + k] = x * x + y * y;
                    let (x, y) = (xc[k] - ys[k], yc[k] + xs[k]);
                    alone[blocks / 2 - 1 - part * PAIRS - k] = x * x + y * y;
                }
                if middle == 1 {
                    let (x, y) = (re.iter().sum::<f32>(), im.iter().sum::<f32>());
                    alone[blocks / 2] = x * x + y * y;
                }
            }
            for wanted in 1..1u32 << response.parts() {
                let mut gains = vec![-1.0; blocks];
                response.gains(&taps, wanted, &mut gains);
                for (b, gain) in gains.iter().enumerate() {
                    let asked = wanted >> response.part_of(b) & 1 == 1;
                    let expected: f32 = if asked { alone[b] } else { -1.0 };
                    assert_eq!(gain.to_bits(), expected.to_bits(), "{blocks} blocks, {b}, {wanted:b}");
                }
            }
        }
    }
}

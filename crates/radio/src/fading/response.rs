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
    /// By tap, for a last part of one or two pairs: cosine, sine, cosine, sine of the first, then
    /// of the second. Empty where the last part has more.
    last: Box<[Lanes]>,
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
        let few = blocks > 2 * PAIRS && (1..=2).contains(&(blocks / 2 % PAIRS));
        let by_pair = |(c, s): &(Lanes, Lanes)| [c[0], s[0], c[0], s[0], c[1], s[1], c[1], s[1]];
        let last = rotations[rotations.len() - delays.len()..].iter().map(by_pair).filter(|_| few).collect();
        Response { blocks, taps: delays.len(), rotations: rotations.into(), last }
    }

    /// Resource blocks.
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// Number of parts.
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
    pub fn gains(&self, taps: &Taps, wanted: u32, gains: &mut [f32]) {
        // The loops over the taps of the standard profiles have a fixed length.
        match self.taps {
            9 => self.gains_of(9, taps, wanted, gains),
            7 => self.gains_of(7, taps, wanted, gains),
            n => self.gains_of(n, taps, wanted, gains),
        }
    }

    #[inline(always)]
    fn gains_of(&self, n: usize, taps: &Taps, mut wanted: u32, gains: &mut [f32]) {
        let (re, im) = taps.parts();
        let (re, im) = (&re[..n], &im[..n]);
        let gains = &mut gains[..self.blocks];
        let last = 1 << (self.parts() - 1);
        if !self.last.is_empty() && wanted & last != 0 {
            wanted &= !last;
            self.last_gains(n, re, im, gains);
        }
        // Two parts at a time share the loads of the taps.
        while wanted != 0 {
            let one = wanted.trailing_zeros() as usize;
            wanted &= wanted - 1;
            if wanted == 0 {
                self.put(one, re, im, products(self.rotations(n, one), re, im), gains);
                break;
            }
            let two = wanted.trailing_zeros() as usize;
            wanted &= wanted - 1;
            let [of_one, of_two] = products_of_two(self.rotations(n, one), self.rotations(n, two), re, im);
            self.put(one, re, im, of_one, gains);
            self.put(two, re, im, of_two, gains);
        }
    }

    #[inline(always)]
    fn rotations(&self, taps: usize, part: usize) -> &[(Lanes, Lanes)] {
        &self.rotations[part * taps..][..taps]
    }

    /// Writes the gains of `part` from its products.
    #[inline(always)]
    fn put(&self, part: usize, re: &[f32], im: &[f32], products: [Lanes; 4], gains: &mut [f32]) {
        if self.alone(part) {
            let middle = all(re, im);
            gains[self.blocks / 2] = dot(&middle, &middle)[0];
        }
        let [up, down] = amplitudes(products);
        self.place(part, dot(&up, &up), dot(&down, &down), gains);
    }

    /// True if `part` has the unpaired block.
    #[inline(always)]
    fn alone(&self, part: usize) -> bool {
        part == 0 && self.blocks % 2 == 1
    }

    /// Writes the values of the pairs of `part` to the places of their blocks: `up` above the
    /// middle, `down` below.
    #[inline(always)]
    fn place(&self, part: usize, up: Lanes, down: Lanes, row: &mut [f32]) {
        let pairs = self.blocks / 2;
        let (below, above) = row[..self.blocks].split_at_mut(pairs);
        let above = &mut above[self.blocks % 2..];
        let mut mirrored = [0.0; PAIRS];
        for k in 0..PAIRS {
            mirrored[PAIRS - 1 - k] = down[k];
        }
        let first = part * PAIRS;
        // Whole parts are copied as such, without a call.
        if first + PAIRS <= pairs {
            above[first..first + PAIRS].copy_from_slice(&up);
            below[pairs - first - PAIRS..pairs - first].copy_from_slice(&mirrored);
        } else {
            let n = pairs - first.min(pairs);
            above[first..first + n].iter_mut().zip(&up).for_each(|(to, gain)| *to = *gain);
            let below = &mut below[pairs - first - n..pairs - first];
            below.iter_mut().zip(&mirrored[PAIRS - n..]).for_each(|(to, gain)| *to = *gain);
        }
    }

    /// Writes real and imaginary parts of the amplitudes of the blocks of the parts `wanted` to
    /// their places. places.
    #[inline(always)]
    pub(super) fn amplitudes(&self, taps: &Taps, mut wanted: u32, re: &mut [f32], im: &mut [f32]) {
        let (x, y) = taps.parts();
        wanted &= (1 << self.parts()) - 1;
        while wanted != 0 {
            let part = wanted.trailing_zeros() as usize;
            wanted &= wanted - 1;
            let [up, down] = amplitudes(products(self.rotations(self.taps, part), x, y));
            if self.alone(part) {
                let middle = all(x, y);
                (re[self.blocks / 2], im[self.blocks / 2]) = (middle.0[0], middle.1[0]);
            }
            self.place(part, up.0, down.0, re);
            self.place(part, up.1, down.1, im);
        }
    }

    /// Computes power gains of all blocks, their first and their second derivative, by eight
    /// blocks, from the derivatives of `n` taps.
    #[inline(always)]
    pub(super) fn derivatives<'a>(&self, n: usize, scratch: &'a mut Scratch) -> &'a [Vec<[f32; PAIRS]>; 3] {
        let Scratch { derivatives, rows, .. } = scratch;
        let taps = |i: usize| derivatives[i * whole_lanes(2 * n)..][..2 * n].split_at(n);
        let ((x, y), (dx, dy), (ddx, ddy)) = (taps(0), taps(1), taps(2));
        for row in rows.iter_mut() {
            // Values of a wider link beyond the last block are not read.
            row.clear();
            row.resize(self.blocks.div_ceil(PAIRS), [0.0; PAIRS]);
        }
        let [values, slopes, curvatures] = rows.each_mut().map(|row| row.as_flattened_mut());
        for part in 0..self.parts() {
            let rotations = self.rotations(self.taps, part);
            let [up, down] = amplitudes(products(rotations, x, y));
            let [up1, down1] = amplitudes(products(rotations, dx, dy));
            let [up2, down2] = amplitudes(products(rotations, ddx, ddy));
            self.place(part, dot(&up, &up), dot(&down, &down), values);
            self.place(part, slope(&up, &up1), slope(&down, &down1), slopes);
            self.place(part, curvature(&up, &up1, &up2), curvature(&down, &down1, &down2), curvatures);
            if self.alone(part) {
                let (h, h1, h2) = (all(x, y), all(dx, dy), all(ddx, ddy));
                let b = self.blocks / 2;
                values[b] = dot(&h, &h)[0];
                slopes[b] = slope(&h, &h1)[0];
                curvatures[b] = curvature(&h, &h1, &h2)[0];
            }
        }
        rows
    }

    /// The gains of a last part of one or two pairs: the four products of both are computed in
    /// parallel lanes.
    #[inline(always)]
    fn last_gains(&self, taps: usize, re: &[f32], im: &[f32], gains: &mut [f32]) {
        let mut sum = [0.0_f32; PAIRS];
        for (rotation, (x, y)) in self.last[..taps].iter().zip(re.iter().zip(im)) {
            let tap = [*x, *y, *y, *x, *x, *y, *y, *x];
            for k in 0..PAIRS {
                sum[k] += tap[k] * rotation[k];
            }
        }
        let n = self.blocks / 2 % PAIRS;
        let above = gains.len() - n;
        for i in 0..n.min(2) {
            let [xc, ys, yc, xs] = [0, 1, 2, 3].map(|k| sum[4 * i + k]);
            let (re, im) = (xc + ys, yc - xs);
            gains[above + i] = re * re + im * im;
            let (re, im) = (xc - ys, yc + xs);
            gains[n - 1 - i] = re * re + im * im;
        }
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
    let [mut xc, mut ys, mut yc, mut xs] = [[0.0; PAIRS]; 4];
    for ((cosines, sines), (x, y)) in rotations.iter().zip(re.iter().zip(im)) {
        for k in 0..PAIRS {
            xc[k] += x * cosines[k];
            ys[k] += y * sines[k];
            yc[k] += y * cosines[k];
            xs[k] += x * sines[k];
        }
    }
    [xc, ys, yc, xs]
}

/// The same products of two parts.
#[inline(always)]
fn products_of_two(
    one: &[(Lanes, Lanes)],
    two: &[(Lanes, Lanes)],
    re: &[f32],
    im: &[f32],
) -> [[Lanes; 4]; 2] {
    let [mut xc, mut ys, mut yc, mut xs] = [[0.0; PAIRS]; 4];
    let [mut xc2, mut ys2, mut yc2, mut xs2] = [[0.0; PAIRS]; 4];
    for (((cosines, sines), (cosines2, sines2)), (x, y)) in one.iter().zip(two).zip(re.iter().zip(im)) {
        for k in 0..PAIRS {
            xc[k] += x * cosines[k];
            ys[k] += y * sines[k];
            yc[k] += y * cosines[k];
            xs[k] += x * sines[k];
        }
        for k in 0..PAIRS {
            xc2[k] += x * cosines2[k];
            ys2[k] += y * sines2[k];
            yc2[k] += y * cosines2[k];
            xs2[k] += x * sines2[k];
        }
    }
    [[xc, ys, yc, xs], [xc2, ys2, yc2, xs2]]
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
                let [xc, ys, yc, xs] = products(response.rotations(3, part), re, im);
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

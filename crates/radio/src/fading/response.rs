//! From the taps of a link to the gain of each resource block.

use std::f64::consts::TAU;

use lasthop_engine::math;
use lasthop_engine::simd::Fused;
use lasthop_units::Hertz;

use super::sinusoids::{Scratch, Taps, whole_lanes};

/// Pairs of blocks, one above and one below the middle, that are worked out together.
const PAIRS: usize = 8;

/// One number for each pair of a part.
type Lanes = [f32; PAIRS];

/// What delays do to the blocks of a carrier: the rotation of each tap from the middle to the
/// blocks above it. Those below are their mirror images. The blocks fall into parts, from the
/// middle outwards, each of which can be had alone.
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
    /// Of taps with `delays` [s], on blocks of `width`.
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
        // In the middle of an odd number there is a block without a mate.
        let alone = self.blocks % 2 == 1 && b == self.blocks / 2;
        if alone { 0 } else { pair / PAIRS }
    }

    /// Power gains of the blocks of the parts `wanted` (bit `i`: part `i`) into their places in
    /// `gains`.
    #[inline(always)]
    pub fn gains<F: Fused>(&self, taps: &Taps, wanted: u32, gains: &mut [f32]) {
        self.gains_of::<F>(self.taps, taps, wanted, gains);
    }

    #[inline(always)]
    fn gains_of<F: Fused>(&self, n: usize, taps: &Taps, mut wanted: u32, gains: &mut [f32]) {
        let (re, im) = taps.parts();
        let (re, im) = (&re[..n], &im[..n]);
        let gains = &mut gains[..self.blocks];
        let last = 1 << (self.parts() - 1);
        if !self.last.is_empty() && wanted & last != 0 {
            wanted &= !last;
            self.last_gains::<F>(n, re, im, gains);
        }
        let mut sides = self.sides(gains);
        if wanted & 1 == 1 && self.blocks % 2 == 1 {
            let middle = all(re, im);
            sides.put_middle(dot::<F>(&middle, &middle)[0]);
        }
        // Two parts at a time share what is read of the taps.
        while wanted != 0 {
            let one = wanted.trailing_zeros() as usize;
            wanted &= wanted - 1;
            if wanted == 0 {
                sides.put::<F>(one, products::<F>(self.rotations(n, one), re, im));
                break;
            }
            let two = wanted.trailing_zeros() as usize;
            wanted &= wanted - 1;
            let [of_one, of_two] =
                products_of_two::<F>(self.rotations(n, one), self.rotations(n, two), re, im);
            sides.put::<F>(one, of_one);
            sides.put::<F>(two, of_two);
        }
    }

    #[inline(always)]
    fn rotations(&self, taps: usize, part: usize) -> &[(Lanes, Lanes)] {
        &self.rotations[part * taps..][..taps]
    }

    /// A row of all blocks, at its middle cut in two.
    #[inline(always)]
    fn sides<'a>(&self, row: &'a mut [f32]) -> Sides<'a> {
        let (below, above) = row[..self.blocks].split_at_mut(self.blocks / 2);
        let (middle, above) = above.split_at_mut(self.blocks % 2);
        Sides { below, middle, above }
    }

    /// Real and imaginary parts of the amplitudes of the blocks of the parts `wanted` into their
    /// places.
    #[inline(always)]
    pub(super) fn amplitudes<F: Fused>(&self, taps: &Taps, mut wanted: u32, re: &mut [f32], im: &mut [f32]) {
        let (x, y) = taps.parts();
        let (mut re, mut im) = (self.sides(re), self.sides(im));
        wanted &= (1 << self.parts()) - 1;
        while wanted != 0 {
            let part = wanted.trailing_zeros() as usize;
            wanted &= wanted - 1;
            let [up, down] = amplitudes(products::<F>(self.rotations(self.taps, part), x, y));
            if part == 0 {
                let middle = all(x, y);
                re.put_middle(middle.0[0]);
                im.put_middle(middle.1[0]);
            }
            re.place(part, up.0, down.0);
            im.place(part, up.1, down.1);
        }
    }

    /// Power gains of all blocks, their first and their second derivative, by eight blocks, from
    /// the derivatives of `n` taps.
    #[inline(always)]
    pub(super) fn derivatives<'a, F: Fused>(
        &self,
        n: usize,
        scratch: &'a mut Scratch,
    ) -> &'a [Vec<[f32; PAIRS]>; 3] {
        let Scratch { derivatives, rows, .. } = scratch;
        let taps = |i: usize| derivatives[i * whole_lanes(2 * n)..][..2 * n].split_at(n);
        let ((x, y), (dx, dy), (ddx, ddy)) = (taps(0), taps(1), taps(2));
        for row in rows.iter_mut() {
            // What a wider link left behind the last block is not read.
            row.clear();
            row.resize(self.blocks.div_ceil(PAIRS), [0.0; PAIRS]);
        }
        let [mut values, mut slopes, mut curvatures] =
            rows.each_mut().map(|row| self.sides(row.as_flattened_mut()));
        for part in 0..self.parts() {
            let rotations = self.rotations(self.taps, part);
            let [up, down] = amplitudes(products::<F>(rotations, x, y));
            let [up1, down1] = amplitudes(products::<F>(rotations, dx, dy));
            let [up2, down2] = amplitudes(products::<F>(rotations, ddx, ddy));
            values.place(part, dot::<F>(&up, &up), dot::<F>(&down, &down));
            slopes.place(part, slope::<F>(&up, &up1), slope::<F>(&down, &down1));
            let bends = [curvature::<F>(&up, &up1, &up2), curvature::<F>(&down, &down1, &down2)];
            curvatures.place(part, bends[0], bends[1]);
            if part == 0 {
                let (h, h1, h2) = (all(x, y), all(dx, dy), all(ddx, ddy));
                values.put_middle(dot::<F>(&h, &h)[0]);
                slopes.put_middle(slope::<F>(&h, &h1)[0]);
                curvatures.put_middle(curvature::<F>(&h, &h1, &h2)[0]);
            }
        }
        rows
    }

    /// The gains of a last part of one or two pairs: the four products of both go side by side.
    #[inline(always)]
    fn last_gains<F: Fused>(&self, taps: usize, re: &[f32], im: &[f32], gains: &mut [f32]) {
        let mut sum = [0.0_f32; PAIRS];
        for (rotation, (x, y)) in self.last[..taps].iter().zip(re.iter().zip(im)) {
            let tap = [*x, *y, *y, *x, *x, *y, *y, *x];
            for k in 0..PAIRS {
                sum[k] = F::fma(tap[k], rotation[k], sum[k]);
            }
        }
        let n = self.blocks / 2 % PAIRS;
        let above = gains.len() - n;
        for i in 0..n.min(2) {
            let [xc, ys, yc, xs] = [0, 1, 2, 3].map(|k| sum[4 * i + k]);
            let (re, im) = (xc + ys, yc - xs);
            gains[above + i] = F::fma(re, re, im * im);
            let (re, im) = (xc - ys, yc + xs);
            gains[n - 1 - i] = F::fma(re, re, im * im);
        }
    }
}

/// Places of the blocks below the middle of a row, of the one in it, if there is one, and of those
/// above.
struct Sides<'a> {
    below: &'a mut [f32],
    middle: &'a mut [f32],
    above: &'a mut [f32],
}

impl Sides<'_> {
    /// What is known of the pairs of `part` into the places of their blocks: `up` above the middle,
    /// `down` below.
    #[inline(always)]
    fn place(&mut self, part: usize, up: Lanes, down: Lanes) {
        let mut mirrored = [0.0; PAIRS];
        for k in 0..PAIRS {
            mirrored[PAIRS - 1 - k] = down[k];
        }
        let (above, rest) = self.above.as_chunks_mut::<PAIRS>();
        let (rest_below, below) = self.below.as_rchunks_mut::<PAIRS>();
        // Whole parts are copied as such, without a call. Below the middle they go downwards.
        let from_below = below.len().wrapping_sub(1 + part);
        if let (Some(above), Some(below)) = (above.get_mut(part), below.get_mut(from_below)) {
            (*above, *below) = (up, mirrored);
        } else {
            let n = rest.len();
            rest.iter_mut().zip(&up).for_each(|(to, gain)| *to = *gain);
            rest_below.iter_mut().zip(&mirrored[PAIRS - n..]).for_each(|(to, gain)| *to = *gain);
        }
    }

    /// The gains of `part` from its products.
    #[inline(always)]
    fn put<F: Fused>(&mut self, part: usize, products: [Lanes; 4]) {
        let [up, down] = amplitudes(products);
        self.place(part, dot::<F>(&up, &up), dot::<F>(&down, &down));
    }

    /// The same of the block in the middle.
    #[inline(always)]
    fn put_middle(&mut self, value: f32) {
        self.middle.iter_mut().for_each(|middle| *middle = value);
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
fn dot<F: Fused>(a: &Amplitude, b: &Amplitude) -> Lanes {
    let mut out = [0.0; PAIRS];
    for (k, out) in out.iter_mut().enumerate() {
        *out = F::fma(a.0[k], b.0[k], a.1[k] * b.1[k]);
    }
    out
}

/// First derivative of |H|^2: 2 Re(H* H').
#[inline(always)]
fn slope<F: Fused>(h: &Amplitude, first: &Amplitude) -> Lanes {
    let mut out = dot::<F>(h, first);
    for value in &mut out {
        *value *= 2.0;
    }
    out
}

/// Second derivative of |H|^2: 2 (|H'|^2 + Re(H* H'')).
#[inline(always)]
fn curvature<F: Fused>(h: &Amplitude, first: &Amplitude, second: &Amplitude) -> Lanes {
    let (mut out, bend) = (dot::<F>(first, first), dot::<F>(h, second));
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
fn products<F: Fused>(rotations: &[(Lanes, Lanes)], re: &[f32], im: &[f32]) -> [Lanes; 4] {
    let [mut xc, mut ys, mut yc, mut xs] = [[0.0; PAIRS]; 4];
    for ((cosines, sines), (x, y)) in rotations.iter().zip(re.iter().zip(im)) {
        for k in 0..PAIRS {
            xc[k] = F::fma(*x, cosines[k], xc[k]);
            ys[k] = F::fma(*y, sines[k], ys[k]);
            yc[k] = F::fma(*y, cosines[k], yc[k]);
            xs[k] = F::fma(*x, sines[k], xs[k]);
        }
    }
    [xc, ys, yc, xs]
}

/// The same of two parts.
#[inline(always)]
fn products_of_two<F: Fused>(
    one: &[(Lanes, Lanes)],
    two: &[(Lanes, Lanes)],
    re: &[f32],
    im: &[f32],
) -> [[Lanes; 4]; 2] {
    let [mut xc, mut ys, mut yc, mut xs] = [[0.0; PAIRS]; 4];
    let [mut xc2, mut ys2, mut yc2, mut xs2] = [[0.0; PAIRS]; 4];
    for (((cosines, sines), (cosines2, sines2)), (x, y)) in one.iter().zip(two).zip(re.iter().zip(im)) {
        for k in 0..PAIRS {
            xc[k] = F::fma(*x, cosines[k], xc[k]);
            ys[k] = F::fma(*y, sines[k], ys[k]);
            yc[k] = F::fma(*y, cosines[k], yc[k]);
            xs[k] = F::fma(*x, sines[k], xs[k]);
        }
        for k in 0..PAIRS {
            xc2[k] = F::fma(*x, cosines2[k], xc2[k]);
            ys2[k] = F::fma(*y, sines2[k], ys2[k]);
            yc2[k] = F::fma(*y, cosines2[k], yc2[k]);
            xs2[k] = F::fma(*x, sines2[k], xs2[k]);
        }
    }
    [[xc, ys, yc, xs], [xc2, ys2, yc2, xs2]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_engine::simd::Emulated;

    /// A part writes its own blocks, no others, and all parts together write all.
    #[test]
    fn every_block_has_one_part() {
        for blocks in [1usize, 6, 15, 25, 50, 75, 100, 110] {
            let response = Response::new([0.0, 1e-6].into_iter(), blocks, Hertz(180e3));
            let taps = Taps { values: vec![0.6, 0.3, 0.2, 0.5], count: 2 };
            for part in 0..response.parts() {
                let mut gains = vec![-1.0; blocks];
                response.gains::<Emulated>(&taps, 1 << part, &mut gains);
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
                let [xc, ys, yc, xs] = products::<Emulated>(response.rotations(3, part), re, im);
                let middle = blocks % 2;
                for k in 0..PAIRS.min((blocks / 2).saturating_sub(part * PAIRS)) {
                    let (x, y) = (xc[k] + ys[k], yc[k] - xs[k]);
                    alone[blocks / 2 + middle + part * PAIRS + k] = Emulated::fma(x, x, y * y);
                    let (x, y) = (xc[k] - ys[k], yc[k] + xs[k]);
                    alone[blocks / 2 - 1 - part * PAIRS - k] = Emulated::fma(x, x, y * y);
                }
                if middle == 1 {
                    let (x, y) = (re.iter().sum::<f32>(), im.iter().sum::<f32>());
                    alone[blocks / 2] = Emulated::fma(x, x, y * y);
                }
            }
            for wanted in 1..1u32 << response.parts() {
                let mut gains = vec![-1.0; blocks];
                response.gains::<Emulated>(&taps, wanted, &mut gains);
                for (b, gain) in gains.iter().enumerate() {
                    let asked = wanted >> response.part_of(b) & 1 == 1;
                    let expected: f32 = if asked { alone[b] } else { -1.0 };
                    assert_eq!(gain.to_bits(), expected.to_bits(), "{blocks} blocks, {b}, {wanted:b}");
                }
            }
        }
    }
}

//! From the taps of a link to the gain of each resource block.

use std::f64::consts::TAU;

use lasthop_engine::math;

use super::RESOURCE_BLOCK;
use super::sinusoids::Taps;

/// Pairs of blocks, one above and one below the middle, that are worked out together.
const PAIRS: usize = 8;

/// What delays do to the blocks of a carrier: the rotation of each tap from the middle to the blocks above it. Those below
/// are their mirror images. The blocks fall into parts, from the middle outwards, each of which can be had alone.
#[derive(Debug)]
pub struct Response {
    blocks: usize,
    taps: usize,
    /// `[part][tap]`: cosines and sines of 2 pi f tau, f the distance of each pair of the part from the middle.
    rotations: Box<[([f32; PAIRS], [f32; PAIRS])]>,
}

impl Response {
    /// Of taps with `delays` [s].
    pub(super) fn new(delays: impl Iterator<Item = f64>, blocks: usize) -> Response {
        let delays: Vec<f64> = delays.collect();
        // With an odd number there is a block in the middle; with an even one the nearest are half a block away.
        let first = if blocks % 2 == 1 { 1.0 } else { 0.5 };
        let mut rotations = Vec::new();
        for part in 0..(blocks / 2).div_ceil(PAIRS).max(1) {
            for delay in &delays {
                let turn = |i: usize| TAU * RESOURCE_BLOCK * (first + (part * PAIRS + i) as f64) * delay;
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

    /// Power gains of the blocks of `part` into their places in `gains`.
    #[inline(always)]
    pub fn gains(&self, taps: &Taps, part: usize, gains: &mut [f32]) {
        // A tap h = x + jy turned by -+ theta, theta that of the pair: (xc + ys) + j(yc - xs) above the middle, (xc - ys) +
        // j(yc + xs) below. The four products are summed over the taps once for both blocks.
        let (mut xc, mut ys) = ([0.0_f32; PAIRS], [0.0_f32; PAIRS]);
        let (mut yc, mut xs) = ([0.0_f32; PAIRS], [0.0_f32; PAIRS]);
        let rotations = &self.rotations[part * self.taps..][..self.taps];
        let (re, im) = taps.parts();
        for ((cosines, sines), (x, y)) in rotations.iter().zip(re.iter().zip(im)) {
            for k in 0..PAIRS {
                xc[k] += x * cosines[k];
                ys[k] += y * sines[k];
                yc[k] += y * cosines[k];
                xs[k] += x * sines[k];
            }
        }
        let pairs = self.blocks / 2;
        let (below, above) = gains[..self.blocks].split_at_mut(pairs);
        let above = match self.blocks % 2 {
            1 => {
                if part == 0 {
                    let (re, im) = (re.iter().sum::<f32>(), im.iter().sum::<f32>());
                    above[0] = re * re + im * im;
                }
                &mut above[1..]
            }
            _ => above,
        };
        let (mut up, mut down) = ([0.0; PAIRS], [0.0; PAIRS]);
        for k in 0..PAIRS {
            let (re, im) = (xc[k] + ys[k], yc[k] - xs[k]);
            up[k] = re * re + im * im;
            let (re, im) = (xc[k] - ys[k], yc[k] + xs[k]);
            down[PAIRS - 1 - k] = re * re + im * im;
        }
        let first = part * PAIRS;
        // Whole parts are copied as such, without a call.
        if first + PAIRS <= pairs {
            above[first..first + PAIRS].copy_from_slice(&up);
            below[pairs - first - PAIRS..pairs - first].copy_from_slice(&down);
        } else {
            let n = pairs - first.min(pairs);
            above[first..first + n].iter_mut().zip(&up).for_each(|(to, gain)| *to = *gain);
            let below = &mut below[pairs - first - n..pairs - first];
            below.iter_mut().zip(&down[PAIRS - n..]).for_each(|(to, gain)| *to = *gain);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A part writes its own blocks, no others, and all parts together write all.
    #[test]
    fn every_block_has_one_part() {
        for blocks in [1usize, 6, 15, 25, 50, 75, 100, 110] {
            let response = Response::new([0.0, 1e-6].into_iter(), blocks);
            let taps = Taps { values: vec![0.6, 0.3, 0.2, 0.5], count: 2 };
            for part in 0..response.parts() {
                let mut gains = vec![-1.0; blocks];
                response.gains(&taps, part, &mut gains);
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
}

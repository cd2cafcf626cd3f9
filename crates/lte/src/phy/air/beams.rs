//! The SINR at a UE from the power that it receives of each cell.

use lasthop_cell::RbSet;
use lasthop_engine::simd::Kernel;
use lasthop_radio::{Between, Hermite, Place, Side};
use lasthop_units::{CellId, IndexVec, Tti};

use super::super::fading::{LinkIndex, UeLinks};
use super::Cell;
use super::around::Ray;
use super::emissions::Emissions;

/// Numbers that are computed in parallel.
const LANES: usize = 8;
type Eight = [f32; LANES];

/// The fading of the links of a UE at a moment.
pub trait Faded<'l> {
    /// The fading of one link.
    type Of: Copy;
    /// The link at `index`.
    fn of(&self, index: Option<LinkIndex>) -> Self::Of;
    /// Number of eights of blocks of the link.
    fn eights(of: Self::Of) -> usize;
    /// The first `n` eights of the link.
    fn first(of: Self::Of, n: usize) -> Self::Of;
    /// The fading of the cell that serves, on blocks 8 i to 8 i + 7.
    fn signal(&self, of: Self::Of, i: usize) -> Eight;
    /// The fading of a cell that interferes.
    fn interference(&self, of: Self::Of, i: usize) -> Eight;
}

/// Fading by block of the TTI for which it was computed last; 1 where there is none.
pub struct OfMoment<'l>(pub &'l UeLinks);

impl<'l> Faded<'l> for OfMoment<'l> {
    type Of = &'l [Eight];
    #[inline(always)]
    fn of(&self, index: Option<LinkIndex>) -> &'l [Eight] {
        match index {
            Some(index) => self.0.moment(index).as_chunks().0,
            None => &NOT_FADED,
        }
    }
    #[inline(always)]
    fn eights(of: &'l [Eight]) -> usize {
        of.len()
    }
    #[inline(always)]
    fn first(of: &'l [Eight], n: usize) -> &'l [Eight] {
        &of[..n]
    }
    #[inline(always)]
    fn signal(&self, of: &'l [Eight], i: usize) -> Eight {
        of[i]
    }
    #[inline(always)]
    fn interference(&self, of: &'l [Eight], i: usize) -> Eight {
        of[i]
    }
}

/// Fading of slow links at a place between two knots, by its weights.
pub struct AtPlace<'l> {
    pub links: &'l UeLinks,
    pub place: Place,
    pub weights: Hermite,
}

impl<'l> Faded<'l> for AtPlace<'l> {
    type Of = Between<'l>;
    #[inline(always)]
    fn of(&self, index: Option<LinkIndex>) -> Between<'l> {
        self.links.between(index, self.place)
    }
    #[inline(always)]
    fn eights(of: Between<'l>) -> usize {
        of.eights()
    }
    #[inline(always)]
    fn first(of: Between<'l>, n: usize) -> Between<'l> {
        of.first(n)
    }
    #[inline(always)]
    fn signal(&self, of: Between<'l>, i: usize) -> Eight {
        of.gains(self.weights, i)
    }
    #[inline(always)]
    fn interference(&self, of: Between<'l>, i: usize) -> Eight {
        of.gains(self.weights, i)
    }
}

/// Bounds of the fading of slow links between two knots: no SINR anywhere between the knots is
/// below the one that they give.
pub struct Bounded<'l> {
    pub links: &'l UeLinks,
    pub place: Place,
}

impl<'l> Faded<'l> for Bounded<'l> {
    type Of = Between<'l>;
    #[inline(always)]
    fn of(&self, index: Option<LinkIndex>) -> Between<'l> {
        self.links.between(index, self.place)
    }
    #[inline(always)]
    fn eights(of: Between<'l>) -> usize {
        of.eights()
    }
    #[inline(always)]
    fn first(of: Between<'l>, n: usize) -> Between<'l> {
        of.first(n)
    }
    #[inline(always)]
    fn signal(&self, of: Between<'l>, i: usize) -> Eight {
        of.bound(Side::Least, i)
    }
    #[inline(always)]
    fn interference(&self, of: Between<'l>, i: usize) -> Eight {
        of.bound(Side::Most, i)
    }
}

/// The powers with which cells transmit.
pub struct Powers<'a, const WORDS: usize> {
    pub cells: &'a IndexVec<CellId, Cell<WORDS>>,
    /// Their transmissions in this TTI; None: all cells are at full power.
    pub sent: Option<(Tti, &'a Emissions<WORDS>)>,
}

impl<const WORDS: usize> Powers<'_, WORDS> {
    /// True if `cell` transmits on none of the blocks `rbs`.
    #[inline(always)]
    pub fn is_silent(&self, cell: CellId, rbs: RbSet<WORDS>) -> bool {
        self.sent.is_some_and(|(tti, sent)| sent.used(tti, cell).and(rbs).is_empty())
    }

    /// The power of `cell` by block [mW], in whole vectors.
    #[inline(always)]
    pub fn of(&self, cell: CellId) -> &[Eight] {
        match self.sent {
            Some((_, sent)) => sent.power_mw(cell).as_chunks().0,
            None => self.cells[cell].full_mw.as_chunks().0,
        }
    }
}

/// Computes the SINR by block: the power of the first ray over the noise and the power of the
/// others. A power is a cell's power * gain * fading.
pub struct Sinr<'a, F, const WORDS: usize> {
    pub rbs: RbSet<WORDS>,
    pub rays: &'a [Ray],
    /// Power of the signal by block [mW], in whole vectors.
    pub signal_mw: &'a [f32],
    pub powers: &'a Powers<'a, WORDS>,
    pub faded: F,
    /// Noise and the interference without fading [mW], where it is the same on all blocks.
    pub even_mw: Option<f32>,
    /// Otherwise both by block [mW]; then all interference.
    pub interference_mw: &'a mut [f32],
    pub to: &'a mut [f32],
}

impl<'a, F: Faded<'a>, const WORDS: usize> Kernel for Sinr<'a, F, WORDS> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Sinr { rbs, rays, signal_mw, powers, faded, even_mw, interference_mw, to } = self;
        let Some((serving, others)) = rays.split_first() else { return };
        let (interference_mw, to) = (interference_mw.as_chunks_mut().0, to.as_chunks_mut().0);
        let all = rbs.eights();
        if let Some(even_mw) = even_mw {
            let eights = interference_mw.len().min((u64::BITS - all.leading_zeros()) as usize);
            interference_mw[..eights].fill([even_mw; LANES]);
        }
        for Ray { cell, gain, index, .. } in others {
            if powers.is_silent(*cell, rbs) {
                continue;
            }
            let (power_mw, of) = (powers.of(*cell), faded.of(*index));
            // Its carrier may be narrower. All slices have one length, so an index is checked once.
            let n = power_mw.len().min(F::eights(of)).min(interference_mw.len());
            let (power_mw, of, sums) = (&power_mw[..n], F::first(of, n), &mut interference_mw[..n]);
            let mut wanted = all;
            while wanted != 0 {
                let i = wanted.trailing_zeros() as usize;
                wanted &= wanted - 1;
                if i >= n {
                    break;
                }
                sums[i] = added(sums[i], &power_mw[i], *gain, &faded.interference(of, i));
            }
        }
        let (signal_mw, of) = (signal_mw.as_chunks().0, faded.of(serving.index));
        let n = signal_mw.len().min(F::eights(of)).min(to.len());
        debug_assert!(u64::BITS - all.leading_zeros() <= n as u32, "fading of all blocks of the signal");
        let (signal_mw, of, sums) = (&signal_mw[..n], F::first(of, n), &interference_mw[..n]);
        let mut wanted = all;
        while wanted != 0 {
            let i = wanted.trailing_zeros() as usize;
            wanted &= wanted - 1;
            if i >= n {
                break;
            }
            to[i] = ratio(&signal_mw[i], serving.gain, &faded.signal(of, i), &sums[i]);
        }
    }
}

/// `sum` + power * gain * fading.
#[inline(always)]
fn added(mut sum: Eight, power_mw: &Eight, gain: f32, fading: &Eight) -> Eight {
    for k in 0..LANES {
        sum[k] += power_mw[k] * gain * fading[k];
    }
    sum
}

/// power * gain * fading / `sum`. A local array, which overlaps with no other: the compiler uses
/// vectors for it.
#[inline(always)]
fn ratio(power_mw: &Eight, gain: f32, fading: &Eight, sum: &Eight) -> Eight {
    let mut ratio = [0.0; LANES];
    for k in 0..LANES {
        ratio[k] = power_mw[k] * gain * fading[k] / sum[k];
    }
    ratio
}

/// A row of ones for links without fading, at least as long as any carrier (`RbSet::eights`).
static NOT_FADED: [Eight; 64] = [[1.0; LANES]; 64];

/// The values of the blocks `rbs` one after the other: those of `all`, which has a place for every
/// block of the carrier, copied to `row` unless they are adjacent from the first one on.
#[inline]
pub fn of_blocks<'a, const WORDS: usize>(
    mut rbs: RbSet<WORDS>,
    all: &'a [f32],
    row: &'a mut [f32],
) -> &'a [f32] {
    if let Some(len) = rbs.from_start() {
        return &all[..len as usize];
    }
    let mut at = 0;
    while let Some((first, len)) = rbs.take_run() {
        row[at..at + len].iter_mut().zip(&all[first..first + len]).for_each(|(to, of)| *to = *of);
        at += len;
    }
    &row[..at]
}

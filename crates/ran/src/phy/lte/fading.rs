//! Fast fading of the links between cells and UEs, worked out for the links and TTIs that somebody asks about.

use lasthop_radio::{Fading, FadingProfile, FadingShape, doppler_hz};
use lasthop_units::{CellId, Hertz, Id, IndexVec, Speed, Tti, UeId};

use super::TTI;
use crate::sdu::Direction;

/// The fading of all links.
#[derive(Debug)]
pub struct FastFading {
    /// By cell: cells of one width share a shape.
    shapes: IndexVec<CellId, FadingShape>,
    seed: u64,
    /// Wavelengths that a UE travels in a TTI, by direction.
    cycles: IndexVec<UeId, [f64; 2]>,
    /// By UE, then cell, then direction; made when first asked for.
    links: Vec<[Option<Box<Fading>>; 2]>,
}

impl FastFading {
    /// Links of `profile` between cells with `blocks` resource blocks and UEs at `speeds`; `frequencies` are those of the
    /// downlink and the uplink. None where the profile has no fading.
    pub fn new(
        profile: FadingProfile,
        blocks: impl Iterator<Item = u32>,
        speeds: impl Iterator<Item = Speed>,
        frequencies: [Hertz; 2],
        seed: u64,
    ) -> Option<FastFading> {
        if profile == FadingProfile::None {
            return None;
        }
        let mut known: Vec<(u32, FadingShape)> = Vec::new();
        let mut shape = |blocks: u32| {
            if let Some((_, shape)) = known.iter().find(|(b, _)| *b == blocks) {
                return shape.clone();
            }
            known.push((blocks, FadingShape::new(profile, blocks as usize)));
            known[known.len() - 1].1.clone()
        };
        let shapes: IndexVec<CellId, FadingShape> = blocks.map(&mut shape).collect();
        let per_tti = |v: Speed| frequencies.map(|f| doppler_hz(v, f.0) * TTI.as_secs_f64());
        let cycles: IndexVec<UeId, [f64; 2]> = speeds.map(per_tti).collect();
        let links = (0..shapes.len() * cycles.len()).map(|_| [None, None]).collect();
        Some(FastFading { shapes, seed, cycles, links })
    }

    /// Power gains by resource block, mean 1, of the link between `cell` and `ue` in `tti`.
    #[inline]
    pub fn row(&mut self, direction: Direction, cell: CellId, ue: UeId, tti: Tti, gains: &mut [f32]) {
        let d = direction.index();
        let i = ue.index() * self.shapes.len() + cell.index();
        let link = match &mut self.links[i][d] {
            Some(link) => link,
            empty => {
                // The key of a link names its ends, not its place in a list: more UEs shift nobody's fading.
                let entity = (ue.index() as u64) << 20 | (cell.index() as u64) << 1 | d as u64;
                let Some(link) = self.shapes[cell].link(self.seed, entity) else { return gains.fill(1.0) };
                empty.insert(Box::new(link))
            }
        };
        link.gains(self.cycles[ue][d] * tti.0 as f64, gains);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fading(ues: usize) -> FastFading {
        let speeds = (0..ues).map(|_| Speed(60.0 / 3.6));
        let frequencies = [Hertz(2120e6), Hertz(1930e6)];
        FastFading::new(FadingProfile::Eva, [25, 50].into_iter(), speeds, frequencies, 7).unwrap()
    }

    /// The gain of a link is a function of its ends and of the TTI: neither earlier questions nor more UEs change it.
    #[test]
    fn a_link_fades_by_itself() {
        let (mut few, mut many) = (fading(1), fading(9));
        let (cell, ue) = (CellId::from_index(1), UeId::from_index(0));
        let (mut a, mut b) = (vec![0.0; 50], vec![0.0; 50]);
        for t in 0..100 {
            many.row(Direction::Downlink, cell, UeId::from_index(t % 9), Tti(t as u64), &mut b);
        }
        few.row(Direction::Downlink, cell, ue, Tti(1000), &mut a);
        many.row(Direction::Downlink, cell, ue, Tti(1000), &mut b);
        assert_eq!(a, b);
        many.row(Direction::Uplink, cell, ue, Tti(1000), &mut b);
        assert_ne!(a, b);
        assert!(
            FastFading::new(FadingProfile::None, [25].into_iter(), [].into_iter(), [Hertz(1.0); 2], 0)
                .is_none()
        );
    }

    /// Rayleigh: power is exponential with mean 1, so it is below 0.1 in 1 - e^-0.1 = 9.5 % of places and times. 40 links at
    /// 1000 moments 25 ms (2.9 wavelengths) apart: 40 000 values, standard errors 0.15 % and 0.5 %; sums of 16 sinusoids and the
    /// correlation of moments widen them.
    #[test]
    fn a_tenth_of_the_time_is_deep() {
        let mut all = fading(40);
        let mut row = vec![0.0; 25];
        let (mut deep, mut sum, mut n) = (0, 0.0, 0);
        for ue in 0..40 {
            for t in 0..1000 {
                all.row(
                    Direction::Downlink,
                    CellId::from_index(0),
                    UeId::from_index(ue),
                    Tti(25 * t),
                    &mut row,
                );
                deep += usize::from(row[12] < 0.1);
                sum += f64::from(row[12]);
                n += 1;
            }
        }
        let (deep, mean) = (deep as f64 / f64::from(n), sum / f64::from(n));
        assert!((deep - 0.0952).abs() < 0.006 && (mean - 1.0).abs() < 0.03, "{deep} {mean}");
    }
}

//! Fast fading of the links between cells and UEs, computed for the links and TTIs that are needed.

mod arrays;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::num::NonZeroU32;
use std::sync::Arc;

use lasthop_cell::{Numerology, RbSet};
use lasthop_engine::simd::{Kernel, prefetch, wide};
use lasthop_radio::{
    Between, Fading, FadingProfile, FadingShape, Knots, Place, Response, Scratch, Steps, Taps, doppler_hz,
};
use lasthop_units::{CellId, Hertz, Id, IndexVec, Speed, Tti, UeId};

use super::LTE_WORDS;
use arrays::Arrays;
use lasthop_bearer::Direction;

/// UEs that take at least eight TTIs from knot to knot (8.4 km/h at 2 GHz) have their gains
/// interpolated between knots. A knot takes as much work as the gains of some three moments.
const SLOW: f64 = Knots::APART / 8.0;

/// The part of the fading that all links share. The state of a UE's links is in its [`UeLinks`].
#[derive(Debug)]
pub struct FastFading<const WORDS: usize = LTE_WORDS> {
    /// Shapes, and the blocks of the parts of each; cells of one width share a shape.
    shapes: Vec<(FadingShape, Parts<WORDS>)>,
    /// By cell: its shape.
    shape_of: IndexVec<CellId, u32>,
    seed: u64,
    /// Wavelengths that a UE travels in a TTI, by direction.
    cycles: IndexVec<UeId, [f64; 2]>,
}

/// The links of one UE, as far as they were needed.
#[derive(Debug, Default)]
pub struct UeLinks {
    /// By cell, then direction: the link's index, if the link was needed; empty before the first
    /// use.
    indices: Box<[[Option<LinkIndex>; 2]]>,
    links: Vec<Link>,
    arrays: Arrays,
}

/// The place of a link among those of its UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkIndex(NonZeroU32);

impl LinkIndex {
    const fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// The fading of a link.
#[derive(Debug)]
struct Link {
    /// Wavelengths that the UE travels in a TTI.
    cycles: f64,
    /// Number of its shape.
    shape: u32,
    blocks: u32,
    known: Known,
}

/// Stored gains of a link.
#[derive(Debug)]
enum Known {
    /// Of a slow link: its gains at knots of the distance travelled. Interpolation takes no more
    /// work than a search for gains that are already computed.
    Knots(Knots),
    /// Of a fast link: the gains of one TTI, as far as they were computed.
    Moment(Moment),
}

#[derive(Debug)]
struct Moment {
    /// The distance that the UE travels in a TTI.
    steps: Steps,
    response: Arc<Response>,
    tti: Tti,
    /// Bit `i`: the gains of part `i` are of `tti`.
    done: u32,
    taps: Taps,
    /// In whole vectors.
    gains: Box<[f32]>,
}

impl Link {
    fn new(fading: &Fading, cycles: f64, shape: u32) -> Link {
        let blocks = fading.response().blocks();
        let known = if cycles <= SLOW {
            Known::Knots(Knots::new(fading))
        } else {
            let gains = vec![1.0; Knots::room(blocks)].into();
            Known::Moment(Moment {
                steps: fading.steps(cycles),
                response: Arc::clone(fading.response()),
                tti: Tti(u64::MAX),
                done: 0,
                taps: Taps::default(),
                gains,
            })
        };
        Link { cycles, shape, blocks: blocks as u32, known }
    }

    /// The gains of at least the blocks `rbs` in `tti`; `parts` are the blocks of each part.
    #[inline]
    fn gains<'a, const WORDS: usize>(
        &'a mut self,
        tti: Tti,
        parts: &Parts<WORDS>,
        rbs: RbSet<WORDS>,
        work: &'a mut Work,
    ) -> &'a [f32] {
        let Link { cycles, blocks, known, .. } = self;
        let blocks = *blocks as usize;
        let Work { scratch, gains } = work;
        match known {
            Known::Knots(knots) => {
                let cycles = *cycles * tti.0 as f64;
                if gains.len() < blocks {
                    gains.resize(Knots::room(blocks), 1.0);
                }
                wide(GainsBetween { knots, cycles, wanted: rbs.eights(), gains, scratch });
                &gains[..blocks]
            }
            Known::Moment(moment) => {
                moment.bring(tti, parts, rbs, scratch);
                &moment.gains[..blocks]
            }
        }
    }
}

impl Moment {
    /// Updates the gains of at least the blocks `rbs` to `tti`.
    #[inline]
    fn bring<const WORDS: usize>(
        &mut self,
        tti: Tti,
        parts: &Parts<WORDS>,
        rbs: RbSet<WORDS>,
        scratch: &mut Scratch,
    ) {
        let new = self.tti != tti;
        if new {
            (self.tti, self.done) = (tti, 0);
        }
        let parts = parts.with(rbs) & !self.done;
        if new || parts != 0 {
            self.done |= parts;
            wide(GainsAt { moment: self, new, parts, scratch });
        }
    }
}

/// Working memory that links share.
#[derive(Debug, Default)]
pub struct Work {
    scratch: Scratch,
    /// Gains of the last interpolated link, in whole vectors.
    gains: Vec<f32>,
}

/// Interpolates the gains of a link between knots.
struct GainsBetween<'a> {
    knots: &'a mut Knots,
    cycles: f64,
    /// Bit `i`: blocks 8 i to 8 i + 7 are needed.
    wanted: u64,
    gains: &'a mut [f32],
    scratch: &'a mut Scratch,
}

impl Kernel for GainsBetween<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let GainsBetween { knots, cycles, wanted, gains, scratch } = self;
        knots.gains(cycles, wanted, scratch, gains);
    }
}

/// Computes the gains of a link at a moment.
struct GainsAt<'a> {
    moment: &'a mut Moment,
    /// True if the taps are those of an earlier moment.
    new: bool,
    /// Bit `i`: part `i` is needed.
    parts: u32,
    scratch: &'a mut Scratch,
}

impl Kernel for GainsAt<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Moment { steps, response, tti, taps, gains, .. } = self.moment;
        if self.new {
            steps.taps_after(tti.0, self.scratch, taps);
        }
        response.gains(taps, self.parts, gains);
    }
}

impl<const WORDS: usize> FastFading<WORDS> {
    /// Links of `profile` between cells with `blocks` resource blocks and UEs at `speeds`;
    /// `frequencies` are those of the downlink and the uplink. None where the profile has no
    /// fading.
    pub fn new(
        numerology: Numerology,
        profile: FadingProfile,
        blocks: impl Iterator<Item = u32>,
        speeds: impl Iterator<Item = Speed>,
        frequencies: [Hertz; 2],
        seed: u64,
    ) -> Option<FastFading<WORDS>> {
        if profile == FadingProfile::None {
            return None;
        }
        let mut shapes: Vec<(FadingShape, Parts<WORDS>)> = Vec::new();
        let mut widths = Vec::new();
        let mut shape = |blocks: u32| {
            let known = widths.iter().position(|b| *b == blocks);
            known.unwrap_or_else(|| {
                let shape = FadingShape::of_width(profile, blocks as usize, numerology.block());
                // Links of a profile differ in their taps, and have the same parts.
                let parts = shape.link(seed, 0).map_or_else(Parts::default, |link| Parts::of(&link));
                widths.push(blocks);
                shapes.push((shape, parts));
                shapes.len() - 1
            }) as u32
        };
        let shape_of: IndexVec<CellId, u32> = blocks.map(&mut shape).collect();
        let per_tti = |v: Speed| frequencies.map(|f| doppler_hz(v, f.0) * numerology.tti.as_secs_f64());
        let cycles: IndexVec<UeId, [f64; 2]> = speeds.map(per_tti).collect();
        Some(FastFading { shapes, shape_of, seed, cycles })
    }

    /// Power gains by resource block, mean 1, of the link between `cell` and `ue` in `tti`. One for
    /// each block of the cell's carrier; at least those of `rbs` are valid.
    #[inline]
    pub fn row<'a>(
        &'a self,
        direction: Direction,
        cell: CellId,
        (ue, of): (UeId, &'a mut UeLinks),
        tti: Tti,
        rbs: RbSet<WORDS>,
        work: &'a mut Work,
    ) -> &'a [f32] {
        let index = self.index(direction, cell, (ue, of));
        self.row_at(index, of, tti, rbs, work)
    }

    /// The index of the link between `cell` and `ue`, which is created at its first use. None where
    /// it does not fade.
    #[inline]
    pub fn index(
        &self,
        direction: Direction,
        cell: CellId,
        (ue, of): (UeId, &mut UeLinks),
    ) -> Option<LinkIndex> {
        match of.indices.get(cell.index()).and_then(|both| both[direction.index()]) {
            None => self.take_index(direction, cell, (ue, of)),
            index => index,
        }
    }

    /// [`row`](Self::row) of the link at `index`; empty for None.
    #[inline]
    pub fn row_at<'a>(
        &'a self,
        index: Option<LinkIndex>,
        of: &'a mut UeLinks,
        tti: Tti,
        rbs: RbSet<WORDS>,
        work: &'a mut Work,
    ) -> &'a [f32] {
        let Some(index) = index else { return &[] };
        let link = &mut of.links[index.index()];
        link.gains(tti, &self.shapes[link.shape as usize].1, rbs, work)
    }

    /// Computes the gains of at least the blocks `rbs` of the link at `index` in `tti`, if it is
    /// fast, for [`UeLinks::moment`].
    #[inline]
    pub fn bring(&self, index: LinkIndex, of: &mut UeLinks, tti: Tti, rbs: RbSet<WORDS>, work: &mut Work) {
        let Link { shape, known, .. } = &mut of.links[index.index()];
        if let Known::Moment(moment) = known {
            moment.bring(tti, &self.shapes[*shape as usize].1, rbs, &mut work.scratch);
        }
    }

    #[cold]
    fn take_index(
        &self,
        direction: Direction,
        cell: CellId,
        (ue, of): (UeId, &mut UeLinks),
    ) -> Option<LinkIndex> {
        let d = direction.index();
        let shape = self.shape_of[cell];
        let fading = self.shapes[shape as usize].0.link(self.seed, entity(direction, cell, ue))?;
        if of.indices.is_empty() {
            of.indices = vec![[None; 2]; self.shape_of.len()].into();
        }
        of.links.push(Link::new(&fading, self.cycles[ue][d], shape));
        let index = NonZeroU32::new(of.links.len() as u32).map(LinkIndex);
        of.indices[cell.index()][d] = index;
        index
    }
}

impl UeLinks {
    /// The place between knots in `tti`, the same for all links of a direction. None for fast
    /// links, which have no knots.
    #[inline]
    pub fn place(&self, index: LinkIndex, tti: Tti) -> Option<Place> {
        let Link { cycles, known: Known::Knots(_), .. } = self.links[index.index()] else { return None };
        Some(Place::of(cycles * tti.0 as f64))
    }

    /// The first TTI beyond the two knots around `place`.
    pub fn end(&self, index: LinkIndex, place: Place) -> u64 {
        let cycles = self.links[index.index()].cycles;
        // Rounding leaves the quotient at the last TTI before the knot or at the first one from it
        // on. Without movement the quotient is infinite.
        let near = (place.end() / cycles) as u64;
        near.saturating_add(u64::from(cycles * (near as f64) < place.end()))
    }

    /// Computes the knots around `place` of the link at `index`, if it is slow.
    #[inline]
    pub fn prepare(&mut self, index: LinkIndex, place: Place, work: &mut Work) {
        if let Link { known: Known::Knots(knots), .. } = &mut self.links[index.index()] {
            knots.prepare(place, &mut work.scratch);
        }
    }

    /// The gains of the link at `index`, which is slow, between the knots around `place`, which are
    /// prepared. For a fast link and for None they are empty.
    #[inline]
    pub fn between(&self, index: Option<LinkIndex>, place: Place) -> Between<'_> {
        match index.and_then(|i| self.links.get(i.index())).map(|link| &link.known) {
            Some(Known::Knots(knots)) => knots.between(place),
            _ => Between::NONE,
        }
    }

    /// The gains of the fast link at `index` in the TTI for which they were computed last, in whole
    /// vectors; empty for slow links.
    #[inline]
    pub fn moment(&self, index: LinkIndex) -> &[f32] {
        match &self.links[index.index()].known {
            Known::Moment(moment) => &moment.gains,
            Known::Knots(_) => &[],
        }
    }

    /// Prefetches the state of the link at `index`.
    #[inline]
    pub fn prefetch(&self, index: Option<LinkIndex>) {
        if let Some(link) = index.and_then(|s| self.links.get(s.index())) {
            prefetch(link);
        }
    }

    /// Prefetches the data from which the gains of the blocks `rbs` of the link at `index` in `tti`
    /// follow.
    #[inline]
    pub fn prefetch_values<const WORDS: usize>(&self, index: Option<LinkIndex>, tti: Tti, rbs: RbSet<WORDS>) {
        let Some(link) = index.and_then(|s| self.links.get(s.index())) else { return };
        if let Known::Knots(knots) = &link.known {
            knots.prefetch_values(link.cycles * tti.0 as f64, rbs.eights());
        }
    }
}

/// The key of a link is made of its ends, not of its place in a list: additional UEs do not change
/// the fading of others.
fn entity(direction: Direction, cell: CellId, ue: UeId) -> u64 {
    (ue.index() as u64) << 20 | (cell.index() as u64) << 1 | direction.index() as u64
}

/// The fading of links between UEs, the same both ways, since both use one carrier.
///
/// Both ends move. The Doppler shift of a wave is the sum of two that are independent, so the
/// correlation of the gain falls with the time t as J0(2 pi f1 t) J0(2 pi f2 t) (A. S. Akki and F.
/// Haber, "A statistical model of mobile-to-mobile land communication channel", IEEE Trans. Veh.
/// Technol. 35(1), 1986). A link here has the Doppler frequency sqrt(f1^2 + f2^2) of one moving
/// end: the same correlation up to the fourth power of t, and exactly the same rate of level
/// crossings and length of fades.
#[derive(Debug)]
pub struct DirectFading<const WORDS: usize = LTE_WORDS> {
    shape: FadingShape,
    parts: Parts<WORDS>,
    seed: u64,
    /// Wavelengths that a UE travels in a TTI.
    cycles: IndexVec<UeId, f64>,
    links: BTreeMap<(UeId, UeId), Box<Link>>,
    work: Work,
}

impl<const WORDS: usize> DirectFading<WORDS> {
    /// Links of `profile` between UEs at `speeds` on a carrier of `blocks` resource blocks at
    /// `frequency`. None where the profile has no fading.
    pub fn new(
        numerology: Numerology,
        profile: FadingProfile,
        blocks: u32,
        speeds: impl Iterator<Item = Speed>,
        frequency: Hertz,
        seed: u64,
    ) -> Option<DirectFading<WORDS>> {
        let shape = FadingShape::of_width(profile, blocks as usize, numerology.block());
        let parts = Parts::of(&shape.link(seed, 0)?);
        let cycles = speeds.map(|v| doppler_hz(v, frequency.0) * numerology.tti.as_secs_f64()).collect();
        Some(DirectFading { shape, parts, seed, cycles, links: BTreeMap::new(), work: Work::default() })
    }

    /// Power gains by resource block, mean 1, of the link between `a` and `b` in `tti`: at least
    /// those of `rbs` are valid.
    pub fn row(&mut self, a: UeId, b: UeId, tti: Tti, rbs: RbSet<WORDS>) -> &[f32] {
        let (first, second) = (a.min(b), a.max(b));
        let [u, v] = [first, second].map(|ue| self.cycles[ue]);
        let cycles = (u * u + v * v).sqrt();
        let DirectFading { shape, parts, seed, links, work, .. } = self;
        let link = match links.entry((first, second)) {
            Entry::Occupied(e) => e.into_mut(),
            Entry::Vacant(e) => {
                let entity = BETWEEN_UES | (first.index() as u64) << 30 | second.index() as u64;
                let Some(fading) = shape.link(*seed, entity) else { return &[] };
                e.insert(Box::new(Link::new(&fading, cycles, 0)))
            }
        };
        link.gains(tti, parts, rbs, work)
    }
}

/// Distinguishes the keys of links between UEs from those of links to cells.
const BETWEEN_UES: u64 = 1 << 62;

/// The blocks of each part of a link's response.
#[derive(Clone, Debug, Default)]
struct Parts<const WORDS: usize> {
    each: Vec<RbSet<WORDS>>,
    /// By block: its part.
    of: Vec<u8>,
    /// Those of all parts.
    all: RbSet<WORDS>,
}

impl<const WORDS: usize> Parts<WORDS> {
    fn of(link: &Fading) -> Parts<WORDS> {
        let response = link.response();
        let mut each = vec![RbSet::EMPTY; response.parts()];
        let of: Vec<u8> = (0..response.blocks()).map(|b| response.part_of(b) as u8).collect();
        for (b, part) in of.iter().enumerate() {
            each[usize::from(*part)] |= RbSet::range(b as u32, 1);
        }
        Parts { each, of, all: RbSet::range(0, response.blocks() as u32) }
    }

    /// Bit `i`: part `i` has blocks of `rbs`.
    #[inline(always)]
    fn with(&self, rbs: RbSet<WORDS>) -> u32 {
        // Reports are of the whole carrier.
        if rbs == self.all {
            return (1 << self.each.len()) - 1;
        }
        // Transmissions in the uplink are of neighbouring blocks.
        let mut rest = rbs;
        if let Some((first, len)) = rest.take_run()
            && rest.is_empty()
            && let Some([low, .., high]) = self.of.get(first..first + len)
        {
            let around_middle = first < self.of.len() / 2 && first + len > self.of.len() / 2;
            let (nearest, farthest) = (low.min(high), low.max(high));
            let nearest = if around_middle { 0 } else { *nearest };
            return (2 << farthest) - (1 << nearest);
        }
        let mut wanted = 0;
        for (i, part) in self.each.iter().enumerate() {
            wanted |= u32::from(!part.and(rbs).is_empty()) << i;
        }
        wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::NUMEROLOGY;
    use lasthop_radio::Side;
    use lasthop_units::Duration;

    /// The links of several UEs, which share memory.
    struct All<const WORDS: usize> {
        common: FastFading<WORDS>,
        ues: Vec<UeLinks>,
        work: Work,
    }

    impl<const WORDS: usize> All<WORDS> {
        fn new(numerology: Numerology, blocks: &[u32], speeds: &[Speed], frequencies: [f64; 2]) -> Self {
            let (blocks, frequencies) = (blocks.iter().copied(), frequencies.map(Hertz));
            let of = speeds.iter().copied();
            let common = FastFading::new(numerology, FadingProfile::Eva, blocks, of, frequencies, 7);
            let ues = speeds.iter().map(|_| UeLinks::default()).collect();
            All { common: common.unwrap(), ues, work: Work::default() }
        }

        fn row(&mut self, d: Direction, cell: CellId, ue: UeId, tti: Tti, rbs: RbSet<WORDS>) -> &[f32] {
            self.common.row(d, cell, (ue, &mut self.ues[ue.index()]), tti, rbs, &mut self.work)
        }

        /// An upper bound of the gains, and the first TTI in which it may not hold.
        fn most(&mut self, d: Direction, cell: CellId, ue: UeId, tti: Tti) -> Option<(Vec<f32>, u64)> {
            let of = &mut self.ues[ue.index()];
            let index = self.common.index(d, cell, (ue, of))?;
            let place = of.place(index, tti)?;
            let until = of.end(index, place);
            of.prepare(index, place, &mut self.work);
            let between = of.between(Some(index), place);
            let most = (0..between.eights()).flat_map(|i| between.bound(Side::Most, i));
            Some((most.collect(), until))
        }
    }

    fn fading(ues: usize) -> All<1> {
        All::new(NUMEROLOGY, &[25, 50], &vec![Speed(60.0 / 3.6); ues], [2120e6, 1930e6])
    }

    /// The gain of a link is a function of its ends and of the TTI: neither earlier calls nor
    /// additional UEs change it.
    #[test]
    fn a_link_fades_by_itself() {
        let (mut few, mut many) = (fading(1), fading(9));
        let (cell, ue) = (CellId::from_index(1), UeId::from_index(0));
        let all = RbSet::range(0, 50);
        for t in 0..100 {
            many.row(Direction::Downlink, cell, UeId::from_index(t % 9), Tti(t as u64), all);
        }
        let a = few.row(Direction::Downlink, cell, ue, Tti(1000), all).to_vec();
        // Some blocks first, others later.
        many.row(Direction::Downlink, cell, ue, Tti(1000), RbSet::range(30, 2));
        assert_eq!(a, many.row(Direction::Downlink, cell, ue, Tti(1000), all));
        assert_ne!(a, many.row(Direction::Uplink, cell, ue, Tti(1000), all));
        assert!(
            FastFading::<1>::new(
                NUMEROLOGY,
                FadingProfile::None,
                [25].into_iter(),
                [].into_iter(),
                [Hertz(1.0); 2],
                0
            )
            .is_none()
        );
    }

    /// Slow links of two widths, which share memory, in turn and alone.
    #[test]
    fn slow_links_fade_by_themselves_too() {
        let slow = |ues: usize| -> All<1> {
            All::new(NUMEROLOGY, &[25, 50], &vec![Speed(3.0 / 3.6); ues], [2120e6, 1930e6])
        };
        let cell = CellId::from_index;
        let mut busy = slow(4);
        for t in 0..300 {
            for (c, blocks) in [(1, 50), (0, 25)] {
                let (ue, all) = (UeId::from_index(t % 4), RbSet::range(0, blocks));
                let part = RbSet::range(blocks - 9, 5);
                let (tti, d) = (Tti(t as u64), Direction::Downlink);
                let row = busy.row(d, cell(c), ue, tti, part)[blocks as usize - 9..][..5].to_vec();
                let (most, until) = busy.most(d, cell(c), ue, tti).expect("slow");
                let mut alone = slow(4);
                let whole = alone.row(d, cell(c), ue, tti, all).to_vec();
                assert_eq!(row, whole[blocks as usize - 9..][..5]);
                assert!(whole.len() == blocks as usize && most.len() >= whole.len());
                assert!(whole.iter().zip(&most).all(|(gain, most)| gain <= most));
                let last = alone.row(d, cell(c), ue, Tti(until - 1), all).to_vec();
                assert!(last.iter().zip(&most).all(|(gain, most)| gain <= most));
                // 3 km/h: 170 TTIs for a wavelength, 21 from knot to knot.
                assert!(until > tti.0 && until <= tti.0 + 22, "{until} at {}", tti.0);
                assert_eq!(alone.most(d, cell(c), ue, tti), Some((most, until)));
            }
        }
    }

    /// 273 blocks of 360 kHz: the last ones alone are as they are with all others. The fading
    /// advances as far in two TTIs of 0.25 ms as in one of 0.5 ms.
    #[test]
    fn wide_carriers_and_short_ttis_fade_too() {
        let of = |us: u64| -> All<3> {
            let numerology = Numerology { tti: Duration::from_micros(us), subcarrier: Hertz(30e3) };
            All::new(numerology, &[273], &[Speed(3.0 / 3.6)], [3.5e9; 2])
        };
        let (cell, ue, d) = (CellId::from_index(0), UeId::from_index(0), Direction::Downlink);
        let (all, last) = (RbSet::range(0, 273), RbSet::range(264, 9));
        for t in [0, 40, 4000] {
            let whole = of(250).row(d, cell, ue, Tti(2 * t), all).to_vec();
            assert_eq!(whole.len(), 273);
            assert_eq!(of(250).row(d, cell, ue, Tti(2 * t), last)[264..], whole[264..]);
            assert_eq!(of(500).row(d, cell, ue, Tti(t), all), whole);
        }
    }

    /// Two ends that move at 0.6 and 0.8 m/s cross a level as often as one at 1 m/s: the power of
    /// Rayleigh fading falls below r^2 times its mean sqrt(2 pi) f r e^(-r^2) times a second
    /// (S. O. Rice), and for mobile-to-mobile channels f is sqrt(f1^2 + f2^2) (A. S. Akki,
    /// "Statistical properties of mobile-to-mobile land communication channels", IEEE Trans. Veh.
    /// Technol. 43(4), 1994). At 1930 MHz f is 6.44 Hz: at r^2 = 0.1 4.62 a second. 30 links
    /// for 10 s, sampled every 2 ms: some 1390 falls, of which 2 % are shorter than a sample; sums
    /// of sixteen sinusoids and a spread of 3 % leave 8 %.
    #[test]
    fn two_moving_ends_cross_a_level_as_the_closed_form_says() {
        let falls = |speeds: [f64; 2]| {
            let speeds = speeds.map(Speed).into_iter().cycle().take(60);
            let mut all =
                DirectFading::<1>::new(NUMEROLOGY, FadingProfile::Eva, 50, speeds, Hertz(1930e6), 7).unwrap();
            let (mut falls, mut deep) = (0, 0);
            for pair in 0..30 {
                let [a, b] = [0, 1].map(|k| UeId::from_index(2 * pair + k));
                let mut below = true;
                for t in 0..5000 {
                    let now = all.row(a, b, Tti(2 * t), RbSet::range(12, 1))[12] < 0.1;
                    falls += usize::from(now && !below);
                    deep += usize::from(now);
                    below = now;
                }
            }
            (falls as f64 / 300.0, deep as f64 / 150_000.0)
        };
        let expected = (std::f64::consts::TAU).sqrt() * 6.44 * 0.1_f64.sqrt() * 0.904_837;
        let (rate, deep) = falls([0.6, 0.8]);
        assert!((rate / expected - 1.0).abs() < 0.08, "{rate} of {expected}");
        // 1 - e^-0.1; 30 links of 10 s are some 30 x 64 independent moments: 0.7 %.
        assert!((deep - 0.0952).abs() < 0.015, "{deep}");
        let (one, _) = falls([1.0, 0.0]);
        assert_eq!(rate, one, "the same links with all of the speed at one end");
    }

    /// The channel is the same both ways, depends on the two UEs, and is constant when both are at
    /// rest.
    #[test]
    fn a_link_between_ues_is_theirs() {
        let speeds = || [0.0, 0.0, 3.0].map(Speed).into_iter();
        let new = || {
            DirectFading::<1>::new(NUMEROLOGY, FadingProfile::Etu, 50, speeds(), Hertz(1930e6), 7).unwrap()
        };
        let [a, b, c] = [0, 1, 2].map(UeId::from_index);
        let all = RbSet::range(0, 50);
        let (mut one, mut other) = (new(), new());
        let first = one.row(a, b, Tti(5), all).to_vec();
        assert_eq!(first, one.row(b, a, Tti(900), all), "without movement");
        let moving = one.row(a, c, Tti(900), all).to_vec();
        assert_ne!(first, moving);
        assert_eq!(moving, other.row(c, a, Tti(900), all), "whatever was evaluated before");
        assert_ne!(moving, other.row(b, c, Tti(900), all));
        assert_ne!(moving, other.row(a, c, Tti(930), all));
        assert!(
            DirectFading::<1>::new(NUMEROLOGY, FadingProfile::None, 50, speeds(), Hertz(1e9), 0).is_none()
        );
    }

    /// Rayleigh: power is exponential with mean 1, so it is below 0.1 in 1 - e^-0.1 = 9.5 % of
    /// places and times. 40 links at 1000 moments 25 ms (2.9 wavelengths) apart: 40 000 values,
    /// standard errors 0.15 % and 0.5 %; sums of 16 sinusoids and the correlation of moments
    /// widen them.
    #[test]
    fn a_tenth_of_the_time_is_deep() {
        let mut all = fading(40);
        let (mut deep, mut sum, mut n) = (0, 0.0, 0);
        for ue in 0..40 {
            for t in 0..1000 {
                let (cell, ue) = (CellId::from_index(0), UeId::from_index(ue));
                let row = all.row(Direction::Downlink, cell, ue, Tti(25 * t), RbSet::range(12, 1));
                deep += usize::from(row[12] < 0.1);
                sum += f64::from(row[12]);
                n += 1;
            }
        }
        let (deep, mean) = (deep as f64 / f64::from(n), sum / f64::from(n));
        assert!((deep - 0.0952).abs() < 0.006 && (mean - 1.0).abs() < 0.03, "{deep} {mean}");
    }
}

//! The CQIs of a carrier and of its sub-bands (TS 36.213 clause 7.2).

use lasthop_engine::simd::{Kernel, wide};

use super::amc::reaches;
use super::mutual_information::{LINES_OF_ALL, LinesOfAll, MI_PARTS_MAX, MiByModulation, MiOfParts};
use super::{Amc, AmcMode, Cqi};

/// The CQI of a carrier, and one for each of its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CqiOfParts {
    /// That of the whole carrier.
    pub all: Cqi,
    /// By part; beyond the last part that of the carrier.
    pub parts: [u8; MI_PARTS_MAX],
}

/// The coding of the CQI of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartCqi {
    /// In 4 bits.
    Own,
    /// As the offset from that of the carrier in 2 bits: 0, +1, +2 or more, -1 or less, of which
    /// the last two are read as +2 and -1 (TS 36.213 table 7.2.1-2).
    Offset,
}

impl Amc {
    /// The CQIs of a carrier whose blocks have the linear SINRs `sinr`, at least one, and of its
    /// parts of `size` blocks, at most [`MI_PARTS_MAX`]; the last part may be smaller. If the part
    /// is the carrier, it has no CQI of its own.
    pub fn cqi_of_parts(&self, sinr: &[f32], size: usize, coding: PartCqi) -> CqiOfParts {
        match self.mode() {
            AmcMode::BlerTarget { .. } => {
                wide(ByInformation { amc: self, lines: &LINES_OF_ALL, sinr, size, coding })
            }
            AmcMode::Piro { .. } => {
                let all = self.cqi(sinr);
                let mut parts = [all.index(); MI_PARTS_MAX];
                for (of, part) in parts.iter_mut().zip(sinr.chunks(size)) {
                    let own = self.cqi(part).index();
                    let reached = (0..3).filter(|above| own >= all.index() + above).count();
                    *of = match coding {
                        PartCqi::Own => own,
                        PartCqi::Offset => offset(all, reached as u8),
                    };
                }
                CqiOfParts { all, parts }
            }
        }
    }
}

/// The CQI of a part by its offset; `reached` of the CQIs 0, 1 and 2 above that of the carrier are
/// reached by the part. Every part reaches CQI 0, and none more than 15.
#[inline(always)]
const fn offset(all: Cqi, reached: u8) -> u8 {
    (all.index() + reached).saturating_sub(1)
}

/// Finds the CQIs by mutual information.
struct ByInformation<'a> {
    amc: &'a Amc,
    lines: &'a LinesOfAll,
    sinr: &'a [f32],
    size: usize,
    coding: PartCqi,
}

impl Kernel for ByInformation<'_> {
    type Output = CqiOfParts;
    #[inline(always)]
    fn run(self) -> CqiOfParts {
        let ByInformation { amc, lines, sinr, size, coding } = self;
        let mut means = MiOfParts::NONE;
        means.take_in_row(lines, sinr, size);
        let mi = &means.parts;
        let all = amc.cqi_of_mi(&means.all);
        let mut parts = [all.index(); MI_PARTS_MAX];
        let count = sinr.len().div_ceil(size);
        if count > 1 {
            match coding {
                PartCqi::Offset => offsets(all, amc.least_from(all), mi, count, &mut parts),
                PartCqi::Own => {
                    let own = mi.iter().map(|mi| amc.cqi_of_mi(mi).index());
                    parts.iter_mut().zip(own).take(count).for_each(|(cqi, own)| *cqi = own);
                }
            }
        }
        CqiOfParts { all, parts }
    }
}

/// Writes the CQIs of `count` parts by their offsets: `least` has the least information of the CQIs
/// 0, 1 and 2 above that of the carrier.
#[inline(always)]
fn offsets(
    all: Cqi,
    least: &[MiByModulation; 3],
    mi: &[MiByModulation; MI_PARTS_MAX],
    count: usize,
    parts: &mut [u8; MI_PARTS_MAX],
) {
    for (cqi, mi) in parts.iter_mut().zip(mi).take(count) {
        *cqi = offset(all, least.iter().map(|least| u8::from(reaches(mi, least))).sum());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lte::{CqiRounding, CqiTable, mean_mi_all};
    use lasthop_engine::Draw;

    /// TS 36.213 table 7.2.1-2: of a part with a CQI of its own beside that of the carrier, the
    /// offset is at most 2 and at least -1.
    #[test]
    fn offsets_are_limited() {
        let of = |own: u8, all: u8| {
            let reached = (0..3).filter(|above| own >= all + above).count();
            offset(Cqi::new(all), reached as u8)
        };
        assert_eq!([of(15, 5), of(6, 5), of(0, 5), of(5, 5)], [7, 6, 4, 5]);
        assert_eq!([of(0, 0), of(15, 15), of(14, 15), of(15, 14)], [0, 15, 14, 15]);
    }

    /// The CQIs are those of each part alone, by both models, in either coding.
    #[test]
    fn the_cqis_of_parts_are_those_of_each_part_alone() {
        let bler = |prbs| AmcMode::BlerTarget { target: 0.1, prbs, rounding: CqiRounding::AtMost };
        let mut draw = Draw::new(7, lasthop_engine::Purpose::Fading, 1).stream(0);
        for (mode, table) in [
            (bler(8), CqiTable::Qam64),
            (bler(50), CqiTable::Qam256),
            (AmcMode::Piro { ber: 5e-5 }, CqiTable::Qam64),
        ] {
            let amc = Amc::new(mode, table);
            for (blocks, size) in [(100, 8), (110, 8), (50, 6), (25, 4), (25, 2), (6, 6), (15, 15), (75, 8)] {
                for spread in [0.5, 4.0, 12.0] {
                    let mean = 30.0 * draw.uniform() - 5.0;
                    let db = (0..blocks).map(|_| mean + spread * (draw.uniform() - 0.5));
                    let sinr: Vec<f32> = db.map(|db| lasthop_engine::math::from_db(db) as f32).collect();
                    // The information of the row is the mean of its parts by their sizes, added in
                    // this order.
                    let mut sums = [0.0; 4];
                    for part in sinr.chunks(size) {
                        let mean = mean_mi_all(part);
                        (0..4).for_each(|i| sums[i] += mean[i] * part.len() as f32);
                    }
                    let all = match mode {
                        AmcMode::Piro { .. } => amc.cqi(&sinr),
                        AmcMode::BlerTarget { .. } => amc.cqi_of_mi(&sums.map(|s| s / blocks as f32)),
                    };
                    let own: Vec<u8> = sinr.chunks(size).map(|part| amc.cqi(part).index()).collect();
                    for coding in [PartCqi::Own, PartCqi::Offset] {
                        let found = amc.cqi_of_parts(&sinr, size, coding);
                        assert_eq!(found.all, all);
                        for (i, cqi) in found.parts.iter().enumerate() {
                            let expected = match (own.get(i), coding) {
                                (Some(own), PartCqi::Own) => *own,
                                (Some(own), PartCqi::Offset) => {
                                    let w = i16::from(all.index());
                                    (i16::from(*own) - w).clamp(-1, 2).saturating_add(w).max(0) as u8
                                }
                                (None, _) => all.index(),
                            };
                            if own.len() > 1 {
                                assert_eq!(*cqi, expected, "{mode:?} {blocks} {size} {i} {coding:?}");
                            }
                        }
                    }
                    if matches!(mode, AmcMode::BlerTarget { .. }) {
                        // Other roundings than those of one sum: a CQI at most from it.
                        let direct = amc.cqi_of_mi(&mean_mi_all(&sinr)).index();
                        assert!(all.index().abs_diff(direct) <= 1, "{all:?} {direct}");
                    }
                }
            }
        }
    }
}

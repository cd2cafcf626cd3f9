//! Fast fading of the links between ends of which one has several antennas: complex gains by pair
//! of antennas.

use lasthop_cell::RbSet;
use lasthop_radio::mimo::ANTENNAS_MAX;
use lasthop_radio::{Antennas, ArrayFading};
use lasthop_units::{CellId, Id, Tti, UeId};

use super::{FastFading, SLOW, UeLinks, Work, entity};
use lasthop_bearer::Direction;

/// Position of the number of the pair of antennas in a link's key; the first pair has the key of a
/// link of single antennas.
const PAIR: u32 = 48;

/// The links of several antennas of a UE, as far as they were needed.
#[derive(Debug, Default)]
pub(super) struct Arrays {
    /// By cell, then direction: the link's place plus one; 0: not needed yet. Empty before the
    /// first use.
    indices: Box<[[u32; 2]]>,
    links: Vec<(f64, ArrayFading)>,
}

impl<const WORDS: usize> FastFading<WORDS> {
    /// The complex gains by resource block of the link between `cell` and `ue` with `antennas` in
    /// `tti`: at least those of `rbs` are valid. A link has the same antennas in every call.
    #[allow(clippy::too_many_arguments)]
    pub fn array<'a>(
        &self,
        direction: Direction,
        cell: CellId,
        (ue, UeLinks { arrays, .. }): (UeId, &'a mut UeLinks),
        antennas: &Antennas,
        tti: Tti,
        rbs: RbSet<WORDS>,
        work: &mut Work,
    ) -> Option<&'a ArrayFading> {
        let (i, d) = (cell.index(), direction.index());
        if arrays.indices.is_empty() {
            arrays.indices = vec![[0; 2]; self.shape_of.len()].into();
        }
        let shape = self.shape_of[cell] as usize;
        if arrays.indices[i][d] == 0 {
            let cycles = self.cycles[ue][d];
            let key = entity(direction, cell, ue);
            // Additional antennas do not change the fading of other pairs.
            let of_pair = |pair: usize| {
                let (c, u) = (pair / antennas.ue, pair % antennas.ue);
                key | ((c * ANTENNAS_MAX + u) as u64) << PAIR
            };
            let slow = cycles <= SLOW;
            let link = ArrayFading::new(&self.shapes[shape].0, self.seed, of_pair, antennas, slow)?;
            arrays.links.push((cycles, link));
            arrays.indices[i][d] = arrays.links.len() as u32;
        }
        let (cycles, link) = &mut arrays.links[arrays.indices[i][d] as usize - 1];
        let wanted = self.shapes[shape].1.with(rbs);
        link.bring(*cycles * tti.0 as f64, wanted, &mut work.scratch);
        Some(link)
    }
}

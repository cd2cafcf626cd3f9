//! Procedures of an idle UE (TS 36.304): cell selection and paging occasions.

use lasthop_engine::math::db;
use lasthop_units::{CellId, Dbm, Duration, Id, IndexVec, Tti, UeId};

/// Cell selection (clause 5.2.7): the strongest cell, by `powers_mw` on a resource element [mW],
/// that reaches the level `suitable`; of equal ones the first.
pub fn strongest(powers_mw: &IndexVec<CellId, f64>, suitable: Dbm) -> Option<CellId> {
    let suits = |c: &CellId| powers_mw[*c] > 0.0 && db(powers_mw[*c]) >= suitable.0;
    let best = powers_mw.ids().filter(suits);
    best.max_by(|a, b| powers_mw[*a].total_cmp(&powers_mw[*b]).then(b.cmp(a)))
}

/// The paging occasion of `ue` (clause 7.1) in `from` or the next one after it: the occasions of
/// UEs are spread over the `cycle`.
pub fn paging_occasion(ue: UeId, cycle: Duration, from: Tti) -> Tti {
    let cycle = cycle.as_millis();
    let mine = (ue.index() as u64).wrapping_mul(37) % cycle;
    from.plus((cycle + mine - from.0 % cycle) % cycle)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1e-13 mW are -130 dBm. A cell that is switched off has no power.
    #[test]
    fn the_strongest_cell_that_is_suitable_is_taken() {
        let of =
            |powers_mw: [f64; 3]| strongest(&powers_mw.into_iter().collect(), Dbm(-130.0)).map(|c| c.index());
        assert_eq!(of([1e-12, 3e-12, 2e-12]), Some(1));
        assert_eq!(of([1e-12, 1e-12, 1e-14]), Some(0), "the first of two alike");
        assert_eq!(of([0.9e-13, 0.0, 1e-20]), None);
    }

    /// UE 2 has 2 * 37 = 74 of 320: the next one from 0 on is 74, from 74 on the same, from 75 on
    /// 394.
    #[test]
    fn a_paging_occasion_comes_once_a_cycle() {
        let at = |from| paging_occasion(UeId::from_index(2), Duration::from_millis(320), Tti(from)).0;
        assert_eq!([at(0), at(74), at(75), at(1000)], [74, 74, 394, 1034]);
    }
}

//! Turns of bearers of equal priority in the downlink.

use lasthop_units::BearerId;
use smallvec::SmallVec;

/// The order in which MAC serves the bearers of a UE of which some have equal priority.
///
/// TS 36.321 leaves it to the eNB how it divides a block of the downlink. The bearers of a priority
/// are served in turn, each first in one block after the other: with shares of each block instead
/// every block would have a PDU of each bearer, with the headers of all, and packets would be
/// divided into more segments.
#[derive(Debug)]
pub struct Turns {
    /// Bearers in the order in which they are served.
    order: Vec<BearerId>,
    /// By place in the order: the end of the bearers of the same priority.
    ends: Vec<usize>,
}

impl Turns {
    /// Those of `bearers`, each with its priority, in the order of the priorities; None if no two
    /// of them have the same.
    pub fn of(bearers: &[(BearerId, f64)]) -> Option<Turns> {
        let same = |a: &(BearerId, f64), b: &(BearerId, f64)| a.1.total_cmp(&b.1).is_eq();
        let mut ends = Vec::new();
        for group in bearers.chunk_by(same) {
            ends.resize(ends.len() + group.len(), ends.len() + group.len());
        }
        let equal = bearers.windows(2).any(|pair| same(&pair[0], &pair[1]));
        equal.then(|| Turns { order: bearers.iter().map(|(bearer, _)| *bearer).collect(), ends })
    }

    /// The bearer that is served at `place`.
    pub fn at(&self, place: usize) -> BearerId {
        self.order[place]
    }

    /// Ends the turns of a block in which the bearers at these places, in ascending order, were
    /// served: the first one of each priority is the last one of its priority in the next block.
    pub fn end(&mut self, served: &SmallVec<[usize; 4]>) {
        let mut from = 0;
        for place in served {
            if *place >= from {
                from = self.ends[*place];
                self.order[*place..from].rotate_left(1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::Id;
    use smallvec::smallvec;

    fn turns(priorities: &[f64]) -> Option<Turns> {
        let bearers = priorities.iter().enumerate().map(|(i, p)| (BearerId::from_index(i), *p));
        Turns::of(&bearers.collect::<Vec<_>>())
    }

    #[test]
    fn bearers_of_different_priorities_have_no_turns() {
        assert!(turns(&[9.0]).is_none() && turns(&[2.0, 8.0, 9.0]).is_none());
    }

    /// Bearers 1 to 3 have one priority, and 2 has no data: 1 and 3 are first in turn. 0 and 4 stay
    /// at their places.
    #[test]
    fn those_with_data_are_first_in_turn() {
        let mut turns = turns(&[2.0, 9.0, 9.0, 9.0, 10.0]).unwrap();
        let order = |turns: &Turns| [0, 1, 2, 3, 4].map(|place| turns.at(place).index());
        assert_eq!(order(&turns), [0, 1, 2, 3, 4]);
        turns.end(&smallvec![0, 1, 3, 4]);
        assert_eq!(order(&turns), [0, 2, 3, 1, 4]);
        turns.end(&smallvec![0, 2]);
        assert_eq!(order(&turns), [0, 2, 1, 3, 4]);
        turns.end(&smallvec![4]);
        assert_eq!(order(&turns), [0, 2, 1, 3, 4]);
        turns.end(&smallvec![2, 3]);
        assert_eq!(order(&turns), [0, 2, 3, 1, 4]);
    }
}

//! Which datagrams have arrived before: networks duplicate packets.

use std::collections::VecDeque;

/// Numbers that are missing, at most; older ones are forgotten, and count as arrived.
const MOST: usize = 4096;

/// The numbers of a stream of datagrams that have arrived, counted by the sender from 0 on, and
/// from 0 on again after 2^32.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrived {
    /// The number after the highest that has arrived.
    next: u32,
    /// Lower ones that have not, in order.
    missing: VecDeque<u32>,
}

impl Arrived {
    /// A datagram arrives. False: it had arrived before, or is too old to be known.
    #[inline]
    pub fn take(&mut self, number: u32) -> bool {
        if number == self.next {
            self.next = number.wrapping_add(1);
            return true;
        }
        self.take_out_of_order(number)
    }

    #[cold]
    fn take_out_of_order(&mut self, number: u32) -> bool {
        let before = |n: u32| n.wrapping_sub(self.next) as i32;
        if before(number) < 0 {
            let place = self.missing.binary_search_by_key(&before(number), |n| before(*n));
            return place.is_ok_and(|at| self.missing.remove(at).is_some());
        }
        let skipped = before(number).min(MOST as i32) as u32;
        self.missing.extend((1..=skipped).rev().map(|back| number.wrapping_sub(back)));
        let excess = self.missing.len().saturating_sub(MOST);
        self.missing.drain(..excess);
        self.next = number.wrapping_add(1);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_new_once_in_any_order() {
        let mut a = Arrived::default();
        let new: Vec<bool> = [0, 0, 3, 1, 1, 3, 2, 2, 4].map(|n| a.take(n)).into();
        assert_eq!(new, [true, false, true, true, false, false, true, false, true]);
        assert!(a.missing.is_empty());
    }

    /// After 2^32 numbers they begin again; of 100 000 that are missing 4096 are remembered.
    #[test]
    fn numbers_wrap_and_the_memory_is_bounded() {
        let mut a = Arrived { next: u32::MAX - 1, ..Arrived::default() };
        let new: Vec<bool> = [u32::MAX - 1, 1, u32::MAX, 0, u32::MAX, 0, 1].map(|n| a.take(n)).into();
        assert_eq!(new, [true, true, true, true, false, false, false]);
        assert!(a.take(100_002));
        assert_eq!((a.missing.len(), a.missing[0]), (MOST, 100_002 - MOST as u32));
        assert!(!a.take(2) && a.take(100_001) && !a.take(100_001));
    }
}

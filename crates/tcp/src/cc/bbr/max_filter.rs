//! The largest value of a window of rounds, as Linux estimates it: Kathleen Nichols' filter
//! (lib/win_minmax.c).
//!
//! It keeps three values: the largest one, and the largest of later parts of the window. So it may
//! discard a value that an exact maximum would still contain, and it discards a value only when a
//! new one arrives.

/// A value and the round in which it was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Entry {
    round: u64,
    value: f64,
}

/// The filter.
#[derive(Clone, Debug)]
pub(super) struct MaxFilter {
    window: u64,
    /// The best, and the best since; falling in value and rising in round.
    best: [Entry; 3],
}

impl MaxFilter {
    /// An empty filter over `window` rounds; its estimate is 0.
    pub(super) fn new(window: u64) -> MaxFilter {
        MaxFilter { window, best: [Entry::default(); 3] }
    }

    /// The estimate.
    #[inline]
    pub(super) fn get(&self) -> f64 {
        self.best[0].value
    }

    /// Adds `value`, measured in `round` (minmax_running_max).
    pub(super) fn add(&mut self, round: u64, value: f64) {
        let new = Entry { round, value };
        let [first, second, third] = &mut self.best;
        if value >= first.value || round - third.round > self.window {
            self.best = [new; 3];
            return;
        }
        if value >= second.value {
            (*second, *third) = (new, new);
        } else if value >= third.value {
            *third = new;
        }
        self.expire(new);
    }

    /// What is too old is removed, and each later quarter of the window has its own candidate
    /// (minmax_subwin_update).
    fn expire(&mut self, new: Entry) {
        let [first, second, third] = self.best;
        let age = new.round - first.round;
        if age > self.window {
            self.best = [second, third, new];
            if new.round - second.round > self.window {
                self.best = [third, new, new];
            }
        } else if second.round == first.round && age > self.window / 4 {
            self.best = [first, new, new];
        } else if third.round == second.round && age > self.window / 2 {
            self.best = [first, second, new];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window of 10 rounds: 100 in round 0, then a value for each round. The second choice is
    /// taken in the round after a quarter of the window (3), the third after a half (6).
    fn fed(values: &[f64]) -> Vec<f64> {
        let mut f = MaxFilter::new(10);
        f.add(0, 100.0);
        values
            .iter()
            .zip(1..)
            .map(|(&v, round)| {
                f.add(round, v);
                f.get()
            })
            .collect()
    }

    #[test]
    fn the_largest_value_lasts_for_the_window_and_then_the_next_choice_follows() {
        // The values fall by one per round. Until round 2 all three places hold the 100 of round 0.
        // Round 3 (later than 10 / 4) makes 97 second and third choice; round 6 is not later than
        // 10 / 2 after a third choice of its own, so 94 is third.
        let estimates = fed(&(1..=14).map(|n| 100.0 - f64::from(n)).collect::<Vec<_>>());
        assert!(estimates[..10].iter().all(|&e| e == 100.0));
        // Round 11: 100 is 11 rounds old. An exact maximum over rounds 1 to 11 would be 99.
        assert_eq!(estimates[10], 97.0);
        // Round 14: 97 is 11 rounds old; 94 follows (exact: 96).
        assert_eq!((estimates[12], estimates[13]), (97.0, 94.0));
    }

    #[test]
    fn a_value_as_large_renews_the_window() {
        let mut values = vec![50.0; 25];
        values[8] = 100.0;
        let estimates = fed(&values);
        assert!(estimates[..19].iter().all(|&e| e == 100.0));
        assert_eq!(estimates[19], 50.0, "round 20, 11 after the second 100 in round 9");
    }

    #[test]
    fn nothing_is_removed_while_no_value_comes() {
        let mut f = MaxFilter::new(10);
        f.add(0, 100.0);
        assert_eq!(f.get(), 100.0);
        f.add(40, 7.0);
        assert_eq!(f.get(), 7.0, "all three are out of the window");
    }
}

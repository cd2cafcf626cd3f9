//! The times at which events happened, compared with the times at which they were due.

use lasthop_units::Duration;
use serde_json::{Value, json};

/// Bins an octave: a value is right to 1/64.
const BINS: u64 = 64;
const SHIFT: u32 = BINS.ilog2();

/// The latenesses of one kind of event, in bins whose width grows with the value. Memory does not
/// grow with the length of a run.
#[derive(Clone, Debug, Default)]
pub struct Lateness {
    bins: Vec<u64>,
    count: u64,
    sum_ns: u128,
    max: Duration,
}

impl Lateness {
    /// Something happened this much too late.
    pub fn add(&mut self, late: Duration) {
        let bin = Lateness::bin(late.0);
        if self.bins.len() <= bin {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] += 1;
        self.count += 1;
        self.sum_ns += u128::from(late.0);
        self.max = self.max.max(late);
    }

    /// Below 64 ns each value is a bin of its own.
    const fn bin(ns: u64) -> usize {
        if ns < BINS {
            return ns as usize;
        }
        let octave = ns.ilog2() - SHIFT;
        ((octave as u64 + 1) * BINS + ((ns >> octave) - BINS)) as usize
    }

    /// The largest value of a bin [ns].
    const fn top(bin: usize) -> u64 {
        let bin = bin as u64;
        if bin < BINS {
            return bin;
        }
        let octave = bin / BINS - 1;
        let first = (bin % BINS + BINS) << octave;
        first + ((1 << octave) - 1)
    }

    /// The number of events.
    pub const fn count(&self) -> u64 {
        self.count
    }
    /// The worst.
    pub const fn max(&self) -> Duration {
        self.max
    }
    /// The smallest value that this share of all does not exceed, right to 1/64; 0 without any.
    pub fn quantile(&self, share: f64) -> Duration {
        let rank = ((share * self.count as f64).ceil() as u64).max(1);
        let mut before = 0;
        for (bin, n) in self.bins.iter().enumerate() {
            before += n;
            if before >= rank {
                return Duration(Lateness::top(bin)).min(self.max);
            }
        }
        self.max
    }
    /// Count, mean, p50, p99 and the worst, in seconds.
    pub fn to_json(&self) -> Value {
        let mean = if self.count == 0 { 0.0 } else { self.sum_ns as f64 / self.count as f64 / 1e9 };
        json!({
            "count": self.count,
            "mean_s": mean,
            "p50_s": self.quantile(0.5).as_secs_f64(),
            "p99_s": self.quantile(0.99).as_secs_f64(),
            "max_s": self.max.as_secs_f64(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bins of a range join without gap or overlap, and are no wider than 1/64 of the value.
    #[test]
    fn every_value_is_in_the_bin_that_ends_at_or_above_it() {
        for ns in (0..5000).chain((0..50).map(|k| 3_u64 << k)) {
            let bin = Lateness::bin(ns);
            assert!(Lateness::top(bin) >= ns, "{ns}");
            assert!(bin == 0 || Lateness::top(bin - 1) < ns, "{ns}");
            assert!(Lateness::top(bin) - ns <= ns / 64, "{ns}");
        }
    }

    /// Of 1 to 1000 us: 500 do not exceed 500 us, 990 not 990 us.
    #[test]
    fn quantiles_are_right_to_a_sixty_fourth() {
        let mut l = Lateness::default();
        (1..=1000).for_each(|us| l.add(Duration::from_micros(us)));
        for (share, us) in [(0.5, 500.0), (0.99, 990.0), (1.0, 1000.0)] {
            let found = l.quantile(share).as_secs_f64() * 1e6;
            assert!(found >= us && found <= us * (1.0 + 1.0 / 64.0), "{share}: {found}");
        }
        assert_eq!((l.count(), l.max()), (1000, Duration::from_millis(1)));
        assert_eq!(Lateness::default().quantile(0.99), Duration::ZERO);
    }
}

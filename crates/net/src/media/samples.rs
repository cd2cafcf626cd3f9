//! Measurements of rate controls on reported packets: rates, shares and minima over a sliding
//! interval.

use std::collections::VecDeque;

use lasthop_units::{Duration, Instant};

/// Values of the last time span.
#[derive(Clone, Debug)]
pub(super) struct Window<T> {
    length: Duration,
    values: VecDeque<(Instant, T)>,
}

impl<T: Copy> Window<T> {
    pub const fn new(length: Duration) -> Window<T> {
        Window { length, values: VecDeque::new() }
    }
    /// A value of `at`.
    pub fn push(&mut self, at: Instant, value: T) {
        self.values.push_back((at, value));
    }
    /// Removes the values that are as old as the window is long, or older.
    pub fn settle(&mut self, now: Instant) {
        while self.values.front().is_some_and(|(at, _)| now.since(*at) >= self.length) {
            self.values.pop_front();
        }
    }
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = T> {
        self.values.iter().map(|(_, value)| *value)
    }
    pub fn len(&self) -> usize {
        self.values.len()
    }
}

/// The rate at which packets have arrived, by the receiver's clock.
#[derive(Clone, Debug)]
pub(super) struct ReceivedRate {
    arrivals: Window<u32>,
    first: Option<Instant>,
    last: Instant,
}

impl ReceivedRate {
    /// Over this time.
    pub const fn over(length: Duration) -> ReceivedRate {
        ReceivedRate { arrivals: Window::new(length), first: None, last: Instant::ZERO }
    }
    /// A packet of `size` octets has arrived at `at`.
    pub fn arrived(&mut self, at: Instant, size: u32) {
        self.first.get_or_insert(at);
        self.last = self.last.max(at);
        self.arrivals.push(at, size);
        self.arrivals.settle(self.last);
    }
    /// Over the time up to the last arrival \[bit/s\]; `None`: it has not passed since the first.
    pub fn bps(&self) -> Option<f64> {
        let whole = self.last.since(self.first?) >= self.arrivals.length;
        let octets: u64 = self.arrivals.iter().map(u64::from).sum();
        whole.then(|| octets as f64 * 8.0 / self.arrivals.length.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 octets every 10 ms: 800 kbit/s, known once the window is full.
    #[test]
    fn a_rate_is_that_of_the_window() {
        let mut rate = ReceivedRate::over(Duration::from_millis(500));
        for n in 0..50 {
            rate.arrived(Instant::from_millis(10 * n), 1000);
        }
        assert_eq!(rate.bps(), None);
        for n in 50..200 {
            rate.arrived(Instant::from_millis(10 * n), 1000);
        }
        let bps = rate.bps().unwrap();
        assert!((bps - 800_000.0).abs() < 1e-6, "{bps}");
    }
}

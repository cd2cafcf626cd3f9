//! The event queue and its order contract.
//!
//! Events leave in ascending order of `(time, class, seq)`: time first; among events of the same
//! instant the class; among those of the same class the order in which they were scheduled. Time
//! never moves back. The order is total, so a run is a function of its scenario alone, whatever
//! data structure holds the events.

use lasthop_units::Instant;

/// The order among events of the same instant.
///
/// A TTI comes before arrivals: data that arrives at the instant a TTI starts goes with the next
/// one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Class {
    /// Changes that the scenario orders (`[[at]]`): in force for everything of that instant.
    Control = 0,
    /// The start of a transmission time interval.
    Tti = 1,
    /// Something reaches the far end of a pipe or of the air.
    Arrival = 2,
    /// A protocol timer expires.
    Timer = 3,
    /// An application acts.
    App = 4,
    /// A probe looks, after everything of that instant has happened.
    Probe = 5,
}

#[derive(Clone)]
struct Entry<E> {
    time: u64,
    /// Class in the top byte, sequence number below: one comparison decides both.
    order: u64,
    event: E,
}

impl<E> Entry<E> {
    #[inline]
    fn before(&self, other: &Self) -> bool {
        (self.time, self.order) < (other.time, other.order)
    }
}

/// A priority queue of events `E` in the order `(time, class, seq)`; a 4-ary heap.
#[derive(Clone)]
pub struct EventQueue<E> {
    heap: Vec<Entry<E>>,
    seq: u64,
    now: Instant,
    popped: u64,
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self::new()
    }
}

const ARITY: usize = 4;
const SEQ_BITS: u32 = 56;

impl<E> EventQueue<E> {
    /// An empty queue at time zero.
    pub const fn new() -> Self {
        EventQueue { heap: Vec::new(), seq: 0, now: Instant::ZERO, popped: 0 }
    }

    /// The time of the last event taken.
    pub const fn now(&self) -> Instant {
        self.now
    }
    /// How many events were taken so far.
    pub const fn events_taken(&self) -> u64 {
        self.popped
    }
    /// Events waiting.
    pub fn len(&self) -> usize {
        self.heap.len()
    }
    /// True when nothing waits.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
    /// The time of the next event.
    pub fn peek_time(&self) -> Option<Instant> {
        self.heap.first().map(|e| Instant(e.time))
    }

    /// Schedules `event` at `at`.
    ///
    /// # Panics
    /// In debug builds if `at` lies in the past: time never moves back.
    #[inline]
    pub fn schedule(&mut self, at: Instant, class: Class, event: E) {
        debug_assert!(at >= self.now, "event at {at} scheduled in the past of {}", self.now);
        let order = (u64::from(class as u8) << SEQ_BITS) | self.seq;
        self.seq += 1;
        self.heap.push(Entry { time: at.0, order, event });
        self.sift_up(self.heap.len() - 1);
    }

    /// Takes the next event if it is due no later than `limit`.
    #[inline]
    pub fn pop_until(&mut self, limit: Instant) -> Option<(Instant, E)> {
        if self.heap.first()?.time > limit.0 {
            return None;
        }
        let entry = self.heap.swap_remove(0);
        if self.heap.len() > 1 {
            self.sift_down(0);
        }
        debug_assert!(entry.time >= self.now.0, "time moved back");
        self.now = Instant(entry.time);
        self.popped += 1;
        Some((self.now, entry.event))
    }

    /// Moves the clock to `t` when no event is left before it, so that a later `schedule` cannot go
    /// behind it.
    pub fn advance_to(&mut self, t: Instant) {
        debug_assert!(self.peek_time().is_none_or(|next| next >= t), "events left before {t}");
        self.now = self.now.max(t);
    }

    fn sift_up(&mut self, mut i: usize) {
        while i > 0 {
            let parent = (i - 1) / ARITY;
            if !self.heap[i].before(&self.heap[parent]) {
                break;
            }
            self.heap.swap(i, parent);
            i = parent;
        }
    }

    fn sift_down(&mut self, mut i: usize) {
        let len = self.heap.len();
        loop {
            let first = i * ARITY + 1;
            if first >= len {
                break;
            }
            let mut least = first;
            for child in first + 1..(first + ARITY).min(len) {
                if self.heap[child].before(&self.heap[least]) {
                    least = child;
                }
            }
            if !self.heap[least].before(&self.heap[i]) {
                break;
            }
            self.heap.swap(i, least);
            i = least;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn same_instant_events_leave_by_class_then_by_order_of_scheduling() {
        let mut q = EventQueue::new();
        let t = Instant::from_millis(5);
        q.schedule(t, Class::Probe, "probe");
        q.schedule(t, Class::Arrival, "first arrival");
        q.schedule(t, Class::Tti, "tti");
        q.schedule(t, Class::Arrival, "second arrival");
        q.schedule(Instant::from_millis(4), Class::Probe, "earlier");
        let order: Vec<&str> = std::iter::from_fn(|| q.pop_until(Instant::MAX).map(|(_, e)| e)).collect();
        assert_eq!(order, ["earlier", "tti", "first arrival", "second arrival", "probe"]);
    }

    #[test]
    fn nothing_is_taken_beyond_the_limit() {
        let mut q = EventQueue::new();
        q.schedule(Instant::from_millis(5), Class::App, ());
        assert!(q.pop_until(Instant::from_millis(4)).is_none());
        q.advance_to(Instant::from_millis(4));
        assert!(q.pop_until(Instant::from_millis(5)).is_some());
    }

    proptest! {
        /// Against the definition: a stable sort by (time, class).
        #[test]
        fn the_heap_is_a_stable_sort(keys in proptest::collection::vec((0u64..50, 0u8..6), 0..300)) {
            const CLASSES: [Class; 6] =
                [Class::Control, Class::Tti, Class::Arrival, Class::Timer, Class::App, Class::Probe];
            let mut q = EventQueue::new();
            for (i, (t, c)) in keys.iter().enumerate() {
                q.schedule(Instant(*t), CLASSES[usize::from(*c)], i);
            }
            let mut expected: Vec<usize> = (0..keys.len()).collect();
            expected.sort_by_key(|i| keys[*i]);
            let got: Vec<usize> = std::iter::from_fn(|| q.pop_until(Instant::MAX).map(|(_, e)| e)).collect();
            prop_assert_eq!(got, expected);
        }
    }
}

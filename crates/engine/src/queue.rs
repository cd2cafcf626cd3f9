//! The event queue and its order contract.
//!
//! Events leave in ascending order of `(time, class, seq)`: time first; among events of the same
//! instant the class; among those of the same class the order in which they were scheduled. Time
//! never moves back. The order is total, so a run depends on its scenario alone, and not on the
//! data structure that holds the events.

use lasthop_units::Instant;

/// The order among events of the same instant.
///
/// A TTI comes before arrivals: data that arrives at the instant a TTI starts is sent in the next
/// one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Class {
    /// Changes that the scenario orders (`[[at]]`): in force for everything of that instant.
    Control = 0,
    /// The start of a transmission time interval.
    Tti = 1,
    /// Data reaches the far end of a pipe or of the air interface.
    Arrival = 2,
    /// A protocol timer expires.
    Timer = 3,
    /// An application runs.
    App = 4,
    /// A probe reads state, after all other events of that instant.
    Probe = 5,
}

#[derive(Clone, Copy)]
struct Entry<E> {
    time: u64,
    /// Class in the top byte, sequence number below: one comparison covers both.
    order: u64,
    event: E,
}

impl<E> Entry<E> {
    /// The position in the order as one number, which is compared without a branch.
    #[inline]
    fn key(&self) -> u128 {
        u128::from(self.time) << 64 | u128::from(self.order)
    }
}

/// A priority queue of events `E` in the order `(time, class, seq)`: a list of few events, a 4-ary
/// heap of many.
///
/// Most runs of a few flows have some dozens of events that wait, of which the next few are due
/// within the time that a packet takes to send, and the others are timers: in a list a new event
/// passes one or two others, where it is compared with five to eight in a heap.
#[derive(Clone)]
pub struct EventQueue<E> {
    /// In descending order while `is_list`, so that the next one is the last; else a heap.
    entries: Vec<Entry<E>>,
    is_list: bool,
    /// True if the entry at the root has been taken. The processing of an event mostly schedules
    /// another one, which then moves down from the root: one pass through the heap instead of two.
    taken: bool,
    seq: u64,
    now: Instant,
    popped: u64,
}

impl<E: Copy> Default for EventQueue<E> {
    fn default() -> Self {
        Self::new()
    }
}

const ARITY: usize = 4;
/// The list becomes a heap with more events than this, and the heap a list with half as many.
const LONGEST_LIST: usize = 64;
/// An event that passes more others than this is placed by a binary search.
const NEAR: usize = 4;
const SEQ_BITS: u32 = 56;

impl<E: Copy> EventQueue<E> {
    /// Creates an empty queue at time zero.
    pub const fn new() -> Self {
        EventQueue { entries: Vec::new(), is_list: true, taken: false, seq: 0, now: Instant::ZERO, popped: 0 }
    }

    /// The time of the last event taken.
    pub const fn now(&self) -> Instant {
        self.now
    }
    /// Number of events taken so far.
    pub const fn events_taken(&self) -> u64 {
        self.popped
    }
    /// Number of events that wait.
    pub fn len(&self) -> usize {
        self.entries.len() - usize::from(self.taken)
    }
    /// True if no event waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The time of the next event.
    pub fn peek_time(&self) -> Option<Instant> {
        let first = match (self.is_list, self.taken) {
            (true, _) => self.entries.last(),
            (false, true) => self.entries.iter().skip(1).take(ARITY).min_by_key(|e| e.key()),
            (false, false) => self.entries.first(),
        };
        first.map(|e| Instant(e.time))
    }

    /// Schedules `event` at `at`.
    ///
    /// # Panics
    /// In debug builds if `at` is in the past: time never moves back.
    #[inline(always)] // nearly every call is that of one function
    pub fn schedule(&mut self, at: Instant, class: Class, event: E) {
        debug_assert!(at >= self.now, "event at {at} scheduled in the past of {}", self.now);
        let order = (u64::from(class as u8) << SEQ_BITS) | self.seq;
        self.seq += 1;
        let len = self.entries.len();
        if self.is_list && len < LONGEST_LIST && len < self.entries.capacity() {
            self.list(Entry { time: at.0, order, event });
        } else {
            self.schedule_elsewhere(at.0, order, event);
        }
    }

    /// Schedules an event in the heap, or where the list has no room for it. The parts of its entry
    /// are passed in registers; an entry as a whole would have an address also in the caller.
    #[inline(never)]
    fn schedule_elsewhere(&mut self, time: u64, order: u64, event: E) {
        let entry = Entry { time, order, event };
        if self.is_list && self.entries.len() < LONGEST_LIST {
            self.entries.reserve(LONGEST_LIST);
            return self.list(entry);
        }
        if self.is_list {
            // Ascending order is one of the orders of a heap.
            self.entries.reverse();
            self.is_list = false;
        }
        if std::mem::take(&mut self.taken) {
            self.sift_down(entry);
        } else {
            self.sift_up(entry);
        }
    }

    /// Takes the next event if it is due no later than `limit`.
    #[inline]
    pub fn pop_until(&mut self, limit: Instant) -> Option<(Instant, E)> {
        if self.taken {
            self.fill_root();
        }
        let next = if self.is_list { self.entries.last() } else { self.entries.first() };
        let entry = *next?;
        if entry.time > limit.0 {
            return None;
        }
        if self.is_list {
            self.entries.pop();
        } else {
            self.taken = true;
        }
        debug_assert!(entry.time >= self.now.0, "time moved back");
        self.now = Instant(entry.time);
        self.popped += 1;
        Some((self.now, entry.event))
    }

    /// Moves the clock to `t` when no event is left before it, so that no event can be scheduled
    /// before `t` later.
    pub fn advance_to(&mut self, t: Instant) {
        debug_assert!(self.peek_time().is_none_or(|next| next >= t), "events left before {t}");
        self.now = self.now.max(t);
    }

    /// Puts a new entry into the list. Mostly it passes one or two others.
    #[inline(always)]
    fn list(&mut self, entry: Entry<E>) {
        let (end, key) = (self.entries.len(), entry.key());
        match self.entries.last() {
            Some(last) if last.key() < key => {
                let last = *last;
                self.entries.push(last);
            }
            _ => return self.entries.push(entry),
        }
        let list = &mut self.entries[..];
        let (mut i, far) = (end - 1, end.saturating_sub(NEAR));
        while i > 0 && list[i - 1].key() < key {
            if i == far {
                return self.list_far(i, entry.time, entry.order, entry.event);
            }
            list[i] = list[i - 1];
            i -= 1;
        }
        list[i] = entry;
    }

    /// The same for an entry that comes after the one before place `end`, which is free.
    #[inline(never)]
    fn list_far(&mut self, end: usize, time: u64, order: u64, event: E) {
        let entry = Entry { time, order, event };
        let at = self.entries[..end].partition_point(|e| e.key() > entry.key());
        self.entries.copy_within(at..end, at + 1);
        self.entries[at] = entry;
    }

    /// Fills the root with the last leaf if no event was scheduled after the removal of its entry.
    #[inline(never)]
    fn fill_root(&mut self) {
        self.taken = false;
        if let Some(last) = self.entries.pop()
            && !self.entries.is_empty()
        {
            self.sift_down(last);
        }
        if self.entries.len() <= LONGEST_LIST / 2 {
            self.entries.sort_unstable_by_key(|e| std::cmp::Reverse(e.key()));
            self.is_list = true;
        }
    }

    /// Moves a new entry from the last leaf up to its place. Mostly it stays there.
    #[inline(always)]
    fn sift_up(&mut self, entry: Entry<E>) {
        let leaf = self.entries.len();
        self.entries.push(entry);
        let (heap, key) = (&mut self.entries[..], entry.key());
        let mut i = leaf;
        while i > 0 {
            let parent = (i - 1) / ARITY;
            if key >= heap[parent].key() {
                break;
            }
            heap[i] = heap[parent];
            i = parent;
        }
        if i != leaf {
            heap[i] = entry;
        }
    }

    /// Moves an entry from the root, whose own entry has been taken, down to its place.
    #[inline(always)]
    fn sift_down(&mut self, entry: Entry<E>) {
        let (heap, key) = (&mut self.entries[..], entry.key());
        let mut i = 0;
        loop {
            let first = i * ARITY + 1;
            // The index of the least child, without a branch for each.
            let later = |a: &Entry<E>, b: &Entry<E>| usize::from(b.key() < a.key());
            let least = if let Some(four) = heap.get(first..).and_then(|rest| rest.first_chunk::<ARITY>()) {
                let (left, right) = (later(&four[0], &four[1]), 2 + later(&four[2], &four[3]));
                if four[right].key() < four[left].key() { right } else { left }
            } else {
                match heap.get(first..) {
                    Some([_]) => 0,
                    Some([a, b]) => later(a, b),
                    Some([a, b, c]) => {
                        let left = later(a, b);
                        if c.key() < [a, b][left].key() { 2 } else { left }
                    }
                    _ => break,
                }
            };
            if key <= heap[first + least].key() {
                break;
            }
            heap[i] = heap[first + least];
            i = first + least;
        }
        heap[i] = entry;
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
        /// Events are scheduled while others leave: each time the earliest by (time, class, seq)
        /// leaves.
        #[test]
        fn events_may_be_scheduled_while_others_leave(
            steps in proptest::collection::vec(proptest::option::of((0u64..9, 0usize..6)), 0..400)
        ) {
            const CLASSES: [Class; 6] =
                [Class::Control, Class::Tti, Class::Arrival, Class::Timer, Class::App, Class::Probe];
            let (mut q, mut waiting) = (EventQueue::new(), std::collections::BTreeSet::new());
            for (seq, step) in steps.into_iter().enumerate() {
                match step {
                    Some((later, class)) => {
                        let at = Instant(q.now().0 + later);
                        q.schedule(at, CLASSES[class], seq);
                        waiting.insert((at.0, class, seq));
                    }
                    None => {
                        prop_assert_eq!(q.peek_time(), waiting.first().map(|w| Instant(w.0)));
                        let expected = waiting.pop_first().map(|(t, _, seq)| (Instant(t), seq));
                        prop_assert_eq!(q.pop_until(Instant::MAX), expected);
                    }
                }
                prop_assert_eq!(q.len(), waiting.len());
            }
        }

        /// The queue grows and shrinks again and again, between a list and a heap.
        #[test]
        fn a_list_and_a_heap_give_the_same_order(
            sizes in proptest::collection::vec(0usize..3 * LONGEST_LIST, 1..12),
            times in proptest::collection::vec(0u64..40, 40)
        ) {
            let (mut q, mut waiting) = (EventQueue::new(), std::collections::BTreeSet::new());
            let mut seq = 0;
            for size in sizes {
                while q.len() < size {
                    let at = Instant(q.now().0 + times[seq % times.len()]);
                    q.schedule(at, Class::Timer, seq);
                    waiting.insert((at.0, seq));
                    seq += 1;
                }
                while q.len() > size {
                    prop_assert_eq!(q.peek_time(), waiting.first().map(|w| Instant(w.0)));
                    let expected = waiting.pop_first().map(|(t, seq)| (Instant(t), seq));
                    prop_assert_eq!(q.pop_until(Instant::MAX), expected);
                }
            }
        }

        /// Compares with the definition: a stable sort by (time, class).
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

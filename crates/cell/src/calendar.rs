//! A calendar of the items due at the start of later TTIs. Almost all are due within a few TTIs
//! (HARQ, grants) and are kept in a ring; later ones (back-off, scheduling request opportunities)
//! are kept in a heap.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use lasthop_bearer::earlier;
use lasthop_units::{Duration, Instant, Tti};

const RING: u64 = 64;

/// Items by the TTI at which they are due. Those of one TTI are in the order in which they were
/// noted.
#[derive(Debug)]
pub struct Calendar<T> {
    /// First TTI of the ring.
    base: Tti,
    ring: Vec<Vec<T>>,
    /// Bit `t % 64` is set if the ring has an item for TTI `t`.
    occupied: u64,
    far: BinaryHeap<Reverse<(Tti, u64, T)>>,
    noted: u64,
}

impl<T: Ord> Default for Calendar<T> {
    fn default() -> Self {
        Calendar {
            base: Tti(0),
            ring: (0..RING).map(|_| Vec::new()).collect(),
            occupied: 0,
            far: BinaryHeap::new(),
            noted: 0,
        }
    }
}

impl<T: Ord> Calendar<T> {
    /// Notes `item` for `tti`, which is not before the first TTI that has not been taken yet.
    #[inline]
    pub fn note(&mut self, tti: Tti, item: T) {
        debug_assert!(tti >= self.base, "{tti:?} is over, it is {:?}", self.base);
        if tti.0 - self.base.0 < RING {
            self.ring[(tti.0 % RING) as usize].push(item);
            self.occupied |= 1 << (tti.0 % RING);
        } else {
            self.far.push(Reverse((tti, self.noted, item)));
            self.noted += 1;
        }
    }

    /// Moves the items due at `tti` into `due`; earlier items must have been taken.
    #[inline]
    pub fn take(&mut self, tti: Tti, due: &mut Vec<T>) {
        debug_assert!(self.next().is_none_or(|next| next >= tti), "something was due before {tti:?}");
        self.base = tti.plus(1);
        // Items of the heap come first: they were noted earlier.
        while self.far.peek().is_some_and(|Reverse((t, ..))| *t <= tti) {
            if let Some(Reverse((_, _, item))) = self.far.pop() {
                due.push(item);
            }
        }
        due.append(&mut self.ring[(tti.0 % RING) as usize]);
        self.occupied &= !(1 << (tti.0 % RING));
    }

    /// The first TTI for which an item can be noted.
    #[inline]
    pub fn base(&self) -> Tti {
        self.base
    }

    /// The next TTI at which an item is due.
    #[inline]
    pub fn next(&self) -> Option<Tti> {
        let near = (self.occupied != 0).then(|| {
            let ahead = self.occupied.rotate_right((self.base.0 % RING) as u32).trailing_zeros();
            self.base.plus(u64::from(ahead))
        });
        earlier(near, self.far.peek().map(|Reverse((t, ..))| *t))
    }
}

/// The calendar of a network on its grid of TTIs, with the present position.
#[derive(Debug)]
pub struct Agenda<T> {
    calendar: Calendar<T>,
    /// Items due within a TTI, in order of time.
    early: VecDeque<(Instant, T)>,
    /// First TTI that has not been processed yet.
    next: Tti,
    /// First TTI that starts at or after the present moment.
    open: Tti,
    /// The grid.
    tti: Duration,
    /// Start and end of the interval for which `next` and `open` were computed: strictly between
    /// them both stay the same. Empty if they must be computed anew.
    within: (Instant, Instant),
}

impl<T: Ord> Agenda<T> {
    /// Creates an agenda on a grid of intervals of `tti`, above 0 s, from time 0 on.
    pub fn new(tti: Duration) -> Agenda<T> {
        Agenda {
            calendar: Calendar::default(),
            early: VecDeque::new(),
            next: Tti(0),
            open: Tti(0),
            tti,
            within: (Instant::ZERO, Instant::ZERO),
        }
    }

    /// Notes `due` for `tti`, which is not before [`first_open`](Self::first_open).
    #[inline]
    pub fn note(&mut self, tti: Tti, due: T) {
        self.calendar.note(tti, due);
    }
    /// Notes `due` for `tti`, or for the first open TTI if that is later.
    #[inline]
    pub fn note_from(&mut self, tti: Tti, due: T) {
        self.note(tti.max(self.first_open()), due);
    }
    /// Notes `due` for `at`, within a TTI.
    pub fn note_early(&mut self, at: Instant, due: T) {
        let place = self.early.partition_point(|(t, _)| *t <= at);
        self.early.insert(place, (at, due));
    }

    /// The first TTI for which an item can still be noted.
    #[inline]
    pub fn first_open(&self) -> Tti {
        self.next.max(self.calendar.base())
    }
    /// First TTI that has not been processed yet.
    #[inline]
    pub const fn next(&self) -> Tti {
        self.next
    }
    /// First TTI that starts at or after the present moment.
    #[inline]
    pub const fn open(&self) -> Tti {
        self.open
    }
    /// The next TTI at which an item is due.
    #[inline]
    pub fn next_due(&self) -> Option<Tti> {
        self.calendar.next()
    }
    /// When the next item within a TTI is due.
    pub fn next_early(&self) -> Option<Instant> {
        self.early.front().map(|(t, _)| *t)
    }

    /// Moves the present moment to `now`, between two TTIs: a network that was idle continues with
    /// the first TTI that starts after `now`, and an input at the very start of a TTI may still
    /// send its request in that TTI.
    #[inline]
    pub fn advance_to(&mut self, now: Instant) {
        // Many inputs come within one TTI: a division for the first.
        if !(self.within.0 < now && now < self.within.1) {
            self.enter_interval(now);
        }
    }
    #[inline(never)]
    fn enter_interval(&mut self, now: Instant) {
        let started = Tti::containing(now, self.tti);
        self.next = self.next.max(started.plus(1));
        let start = started.start(self.tti);
        self.open = if start == now { started } else { started.plus(1) };
        self.within = if start == now { (start, start) } else { (start, start + self.tti) };
    }
    /// Skips all TTIs before `tti`.
    pub fn skip_to(&mut self, tti: Tti) {
        self.next = self.next.max(tti);
    }
    /// Starts `tti` and moves its items to `due`.
    #[inline]
    pub fn begin(&mut self, tti: Tti, due: &mut Vec<T>) {
        (self.next, self.open) = (tti, tti);
        self.within = (Instant::ZERO, Instant::ZERO);
        self.calendar.take(tti, due);
    }
    /// Ends `tti`.
    #[inline]
    pub const fn end(&mut self, tti: Tti) {
        self.next = tti.plus(1);
    }
    /// Takes the next item due within a TTI until `now`.
    pub fn take_early(&mut self, now: Instant) -> Option<T> {
        self.early.front().filter(|(t, _)| *t <= now)?;
        self.early.pop_front().map(|(_, due)| due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_come_at_their_tti_in_the_order_in_which_they_were_noted() {
        let mut c = Calendar::default();
        for (tti, item) in [(4, 'b'), (200, 'c'), (4, 'a'), (63, 'z'), (64, 'y')] {
            c.note(Tti(tti), item);
        }
        let mut seen = Vec::new();
        while let Some(tti) = c.next() {
            let mut due = Vec::new();
            c.take(tti, &mut due);
            if tti == Tti(63) {
                c.note(Tti(64), 'x');
                c.note(Tti(200), 'd');
            }
            seen.push((tti.0, due));
        }
        let expected = [(4, vec!['b', 'a']), (63, vec!['z']), (64, vec!['y', 'x']), (200, vec!['c', 'd'])];
        assert_eq!(seen, expected);
    }

    /// The position within the grid is the same whether or not earlier calls were made in the
    /// interval.
    #[test]
    fn the_moment_within_an_interval_is_computed_once() {
        let tti = Duration(1000);
        let mut agenda = Agenda::<u8>::new(tti);
        let mut next = Tti(0);
        for now in [0, 1, 500, 999, 1000, 1000, 1001, 1999, 2000, 2500, 2501, 3000, 3001, 7000, 7001] {
            let now = Instant(now);
            let started = Tti::containing(now, tti);
            if now.0 == 3000 || now.0 == 2000 {
                agenda.begin(started, &mut Vec::new());
                agenda.end(started);
                next = started.plus(1);
            }
            agenda.advance_to(now);
            next = next.max(started.plus(1));
            let open = if started.start(tti) == now { started } else { started.plus(1) };
            assert_eq!((agenda.next(), agenda.open()), (next, open), "{now}");
        }
    }

    /// 0.6 ms: within the first interval of 1 ms and the third of 0.25 ms (that of a slot of TS
    /// 38.211 table 4.3.2-1 with mu = 2), which has begun at 0.5 ms.
    #[test]
    fn the_grid_of_an_agenda_is_a_parameter() {
        let next = |tti: Duration, now: u64| {
            let mut a = Agenda::<u8>::new(tti);
            a.advance_to(Instant(now));
            (a.first_open(), a.open())
        };
        let (lte, nr) = (Duration::from_millis(1), Duration::from_micros(250));
        assert_eq!(next(lte, 600_000), (Tti(1), Tti(1)));
        assert_eq!(next(nr, 600_000), (Tti(3), Tti(3)));
        // At the very start of an interval a request is still possible in it.
        assert_eq!(next(lte, 2_000_000), (Tti(3), Tti(2)));
        assert_eq!(next(nr, 2_000_000), (Tti(9), Tti(8)));
    }
}

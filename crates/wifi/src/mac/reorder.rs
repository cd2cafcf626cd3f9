//! The recipient's side of a block ack agreement: the receive reordering buffer (clause 10.24.7.6).
//!
//! MSDUs leave in the order of their sequence numbers. A gap holds back the MPDUs after it until
//! the gap is filled, the window moves beyond it, a block ack request gives it up, or it has lasted
//! for too long.

use lasthop_units::{Duration, Instant};

/// Sequence numbers are modulo 2^12.
const MODULUS: u16 = 4096;
/// Largest window (clause 10.24.7.2 with a compressed bitmap).
pub const WINDOW: u16 = 64;

/// How far `sn` is after `from`, modulo 2^12.
pub const fn distance(from: u16, sn: u16) -> u16 {
    sn.wrapping_sub(from) % MODULUS
}

/// The sequence number after `sn`.
pub const fn next(sn: u16) -> u16 {
    (sn + 1) % MODULUS
}

/// The buffer of one originator and traffic class.
#[derive(Clone, Debug)]
pub struct Reorder<T> {
    /// WinStartB.
    start: u16,
    held: [Option<(Instant, T)>; WINDOW as usize],
    count: u16,
    /// Longest duration of a gap.
    patience: Duration,
}

impl<T: Copy> Reorder<T> {
    /// Creates an empty buffer that expects sequence number 0.
    pub const fn new(patience: Duration) -> Reorder<T> {
        Reorder { start: 0, held: [None; WINDOW as usize], count: 0, patience }
    }

    /// The sequence number that is expected next.
    pub const fn expected(&self) -> u16 {
        self.start
    }
    /// Number of MPDUs held back.
    pub const fn held(&self) -> usize {
        self.count as usize
    }

    /// Receives an MPDU. Returns false if it was received before, or is older than the window; the
    /// caller then keeps it.
    pub fn receive(&mut self, now: Instant, sn: u16, mpdu: T, mut up: impl FnMut(T)) -> bool {
        let ahead = distance(self.start, sn);
        if ahead >= MODULUS / 2 {
            return false;
        }
        if ahead >= WINDOW {
            // Clause 10.24.7.6.2 b: its number becomes the end of the window.
            self.release_below((sn + MODULUS - (WINDOW - 1)) % MODULUS, &mut up);
        }
        let place = &mut self.held[usize::from(sn % WINDOW)];
        if place.is_some() {
            return false;
        }
        *place = Some((now, mpdu));
        self.count += 1;
        self.release_in_order(&mut up);
        true
    }

    /// Processes a block ack request: no MPDU before `sn` will be received any more (clause
    /// 10.24.7.6.3).
    pub fn request(&mut self, sn: u16, mut up: impl FnMut(T)) {
        let ahead = distance(self.start, sn);
        if ahead > 0 && ahead < MODULUS / 2 {
            self.release_below(sn, &mut up);
            self.release_in_order(&mut up);
        }
    }

    /// When a gap has lasted for too long; None without a gap.
    pub fn poll_at(&self) -> Option<Instant> {
        if self.count == 0 {
            return None;
        }
        self.held.iter().flatten().map(|(since, _)| *since).min().map(|t| t.saturating_add(self.patience))
    }

    /// Gives up gaps before MPDUs that have waited for too long.
    pub fn on_time(&mut self, now: Instant, mut up: impl FnMut(T)) {
        while self.poll_at().is_some_and(|t| t <= now) {
            // All numbers before the first MPDU held are skipped.
            while self.held[usize::from(self.start % WINDOW)].is_none() {
                self.start = next(self.start);
            }
            self.release_in_order(&mut up);
        }
    }

    /// Starts an agreement: no MPDU is held, and `sn` is expected next.
    pub fn restart(&mut self, sn: u16) {
        debug_assert_eq!(self.count, 0, "restarted with something inside");
        self.start = sn;
    }

    fn release_below(&mut self, new_start: u16, up: &mut impl FnMut(T)) {
        // Beyond a whole window no MPDU is held.
        let steps = distance(self.start, new_start).min(WINDOW);
        for i in 0..steps {
            let sn = (self.start + i) % MODULUS;
            self.release(sn, up);
        }
        self.start = new_start;
    }

    fn release_in_order(&mut self, up: &mut impl FnMut(T)) {
        while self.release(self.start, up) {
            self.start = next(self.start);
        }
    }

    fn release(&mut self, sn: u16, up: &mut impl FnMut(T)) -> bool {
        let Some((_, mpdu)) = self.held[usize::from(sn % WINDOW)].take() else { return false };
        self.count -= 1;
        up(mpdu);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: fn(u64) -> Instant = Instant::from_millis;

    fn buffer() -> Reorder<u32> {
        Reorder::new(Duration::from_millis(100))
    }

    fn give(b: &mut Reorder<u32>, now: Instant, sn: u16) -> Vec<u32> {
        let mut out = Vec::new();
        b.receive(now, sn, u32::from(sn), |m| out.push(m));
        out
    }

    #[test]
    fn a_hole_holds_back_until_it_is_filled() {
        let mut b = buffer();
        assert_eq!(give(&mut b, MS(0), 0), [0]);
        assert!(give(&mut b, MS(0), 2).is_empty());
        assert!(give(&mut b, MS(0), 3).is_empty());
        assert_eq!((b.expected(), b.held()), (1, 2));
        assert_eq!(give(&mut b, MS(1), 1), [1, 2, 3]);
        assert!(!b.receive(MS(1), 3, 3, |_| panic!("passed up twice")), "a duplicate is refused");
    }

    /// Clause 10.24.7.6.2 b: 65 ends a window of 64 that starts at 2; the gaps 0 and 1 are given
    /// up, 2 is held.
    #[test]
    fn an_mpdu_beyond_the_window_moves_it() {
        let mut b = buffer();
        assert!(give(&mut b, MS(0), 1).is_empty());
        assert_eq!(give(&mut b, MS(0), 65), [1]);
        assert_eq!((b.expected(), b.held()), (2, 1));
        let mut out = Vec::new();
        b.request(64, |m| out.push(m));
        assert!(out.is_empty());
        b.request(65, |m| out.push(m));
        assert_eq!((out, b.expected()), (vec![65], 66));
    }

    #[test]
    fn patience_has_an_end() {
        let mut b = buffer();
        give(&mut b, MS(0), 1);
        give(&mut b, MS(50), 3);
        assert_eq!(b.poll_at(), Some(MS(100)));
        let mut out = Vec::new();
        b.on_time(MS(100), |m| out.push(m));
        assert_eq!((out.as_slice(), b.expected(), b.poll_at()), ([1].as_slice(), 2, Some(MS(150))));
        b.on_time(MS(150), |m| out.push(m));
        assert_eq!((out.as_slice(), b.expected(), b.poll_at()), ([1, 3].as_slice(), 4, None));
    }

    /// WinStartB as a number that never wraps, and the MPDUs held.
    struct Rules {
        start: i64,
        held: std::collections::BTreeSet<i64>,
    }

    impl Rules {
        /// Clause 10.24.7.6.2: a) an MPDU within the window is stored, and MPDUs now in order are
        /// passed up; b) the number of one ahead of the window by less than 2^11 becomes the
        /// window's end, MPDUs before the new start are passed up in spite of gaps, then those in
        /// order; c) any other is discarded. An MPDU that is held already is a duplicate.
        fn receive(&mut self, sn: i64) -> (bool, Vec<i64>) {
            let window = i64::from(WINDOW);
            if sn < self.start || sn >= self.start + 2048 || self.held.contains(&sn) {
                return (false, Vec::new());
            }
            self.held.insert(sn);
            (true, self.go_on(self.start.max(sn - window + 1)))
        }

        /// Clause 10.24.7.6.3: the start moves to the request's number if that is ahead by less
        /// than 2^11.
        fn request(&mut self, sn: i64) -> Vec<i64> {
            if sn <= self.start || sn >= self.start + 2048 { Vec::new() } else { self.go_on(sn) }
        }

        fn go_on(&mut self, start: i64) -> Vec<i64> {
            let rest = self.held.split_off(&start);
            let mut up: Vec<i64> = std::mem::replace(&mut self.held, rest).into_iter().collect();
            self.start = start;
            while self.held.remove(&self.start) {
                up.push(self.start);
                self.start += 1;
            }
            up
        }
    }

    /// The same buffer with every MPDU's own number higher by 2^12, which does not change the
    /// 12-bit field.
    fn shifted(b: &Reorder<u32>) -> Reorder<u32> {
        let mut b = b.clone();
        for (_, mpdu) in b.held.iter_mut().flatten() {
            *mpdu += 4096;
        }
        b
    }

    proptest! {
        /// For MPDUs in any order, with repetitions, requests and time: each MPDU leaves at most
        /// once and in order, and every accepted one has left or is held.
        #[test]
        fn any_sequence_leaves_in_order_and_once(
            ops in proptest::collection::vec((0u8..10, 0u16..130), 1..300),
        ) {
            let mut b = buffer();
            // Numbers that never wrap, around the one that is expected; `b` gets them modulo 2^12.
            let (mut base, mut now, mut taken) = (100u32, 0u64, 0usize);
            b.restart(100);
            let mut out: Vec<u32> = Vec::new();
            for (kind, ahead) in ops {
                now += 7;
                let sn = base + u32::from(ahead) - 30.min(base + u32::from(ahead));
                match kind {
                    0..=6 => taken += usize::from(b.receive(MS(now), (sn % 4096) as u16, sn, |m| out.push(m))),
                    7 => b.request((sn % 4096) as u16, |m| out.push(m)),
                    8 => b.on_time(MS(now), |m| out.push(m)),
                    _ => now += 40,
                }
                prop_assert_eq!(taken, out.len() + b.held());
                prop_assert!(b.held() < usize::from(WINDOW));
                base += u32::from(distance((base % 4096) as u16, b.expected()));
            }
            prop_assert!(out.windows(2).all(|w| w[0] < w[1]), "{:?}", out);
        }

        /// The rules of 10.24.7.6 written down once more, with sets and numbers that never wrap,
        /// for any sequence of MPDUs (also far ahead of and behind the window), repetitions and
        /// block ack requests: the same MPDUs leave at the same moment, and both expect the same
        /// number next.
        #[test]
        fn the_buffer_does_what_the_rules_say(
            first in 0u16..4096,
            ops in proptest::collection::vec((0u8..8, prop_oneof![4 => 0i32..80, 1 => -80i32..0, 1 => -2048i32..2048]), 1..300),
        ) {
            let mut b = buffer();
            b.restart(first);
            let mut rules = Rules { start: 4096 + i64::from(first), held: std::collections::BTreeSet::new() };
            for (kind, ahead) in ops {
                let sn = rules.start + i64::from(ahead);
                let (wire, mut out) = ((sn % 4096) as u16, Vec::new());
                let expected = if kind < 7 {
                    let (taken, expected) = rules.receive(sn);
                    prop_assert_eq!(b.receive(MS(0), wire, sn as u32, |m| out.push(m)), taken);
                    expected
                } else {
                    b.request(wire, |m| out.push(m));
                    rules.request(sn)
                };
                prop_assert_eq!(out.iter().map(|m| i64::from(*m)).collect::<Vec<_>>(), expected);
                prop_assert_eq!((i64::from(b.expected()), b.held()), (rules.start % 4096, rules.held.len()));
                // Below 2^12 the next number behind would be negative.
                rules.start += 4096;
                rules.held = rules.held.iter().map(|sn| sn + 4096).collect();
                b = shifted(&b);
            }
        }

        /// In order and without loss no MPDU is held.
        #[test]
        fn order_passes_through(n in 1u32..10_000) {
            let mut b = buffer();
            let mut count = 0;
            for sn in 0..n {
                b.receive(MS(0), (sn % 4096) as u16, sn, |_| count += 1);
            }
            prop_assert_eq!((count, b.held()), (n, 0));
        }
    }
}

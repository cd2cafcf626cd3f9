//! The times of events.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use lasthop_units::{ApId, Instant, StationId};

use super::output::End;
use crate::mac::Category;

/// An event that is due at a moment.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// A PPDU of a medium ends.
    End { medium: usize, serial: u64 },
    /// A device sends its response.
    Answer { device: usize },
    /// A device continues its TXOP.
    Continue { device: usize },
    /// A device has not received a response in time.
    Timeout { device: usize },
    /// An access point sends a beacon.
    Beacon { ap: ApId },
    /// A station begins to associate.
    Associate(StationId),
    /// A gap of a reorder buffer may have lasted for too long.
    Reorder { station: StationId, end: End, category: Category },
}

/// Class of the ends of PPDUs, which are processed before all other events of a moment.
pub const ENDS: u8 = 0;

impl Event {
    const fn class(&self) -> u8 {
        match self {
            Event::End { .. } => ENDS,
            Event::Answer { .. } | Event::Continue { .. } => 1,
            _ => 2,
        }
    }
}

/// An event with its place in the order.
#[derive(Debug)]
struct Entry {
    at: Instant,
    /// Class in the top byte, below it the number in the order in which events were noted.
    order: u64,
    event: Event,
}

const NUMBER_BITS: u32 = 56;

impl Entry {
    /// The place in the order as one number, which is compared without a branch.
    #[inline]
    fn key(&self) -> u128 {
        u128::from(self.at.0) << 64 | u128::from(self.order)
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.key() == other.key()
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    #[inline]
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Entry {
    /// The earliest is the greatest, which a heap gives first.
    #[inline]
    fn cmp(&self, other: &Entry) -> Ordering {
        other.key().cmp(&self.key())
    }
}

/// Events by moment, class and the order in which they were noted.
#[derive(Debug, Default)]
pub struct Agenda {
    events: BinaryHeap<Entry>,
    noted: u64,
}

impl Agenda {
    /// Schedules `event` for `at`.
    pub fn schedule(&mut self, at: Instant, event: Event) {
        self.noted += 1;
        let order = u64::from(event.class()) << NUMBER_BITS | self.noted;
        self.events.push(Entry { at, order, event });
    }
    /// When the first event is due.
    pub fn poll_at(&self) -> Option<Instant> {
        self.events.peek().map(|entry| entry.at)
    }
    /// The class of the first event, if the event is due.
    pub fn due(&self, now: Instant) -> Option<u8> {
        let first = self.events.peek().filter(|entry| entry.at <= now)?;
        Some((first.order >> NUMBER_BITS) as u8)
    }
    /// Removes the first event and returns it.
    pub fn pop(&mut self) -> Option<Event> {
        self.events.pop().map(|entry| entry.event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_leave_by_time_then_class_then_order_of_noting() {
        let mut agenda = Agenda::default();
        for (at, event) in [
            (2, Event::Timeout { device: 0 }),
            (2, Event::Answer { device: 1 }),
            (1, Event::Timeout { device: 2 }),
            (2, Event::End { medium: 0, serial: 3 }),
            (2, Event::Continue { device: 4 }),
        ] {
            agenda.schedule(Instant(at), event);
        }
        let mut left = Vec::new();
        while let Some(class) = agenda.due(Instant(2)) {
            let event = agenda.pop().map(|event| match event {
                Event::Timeout { device } | Event::Answer { device } | Event::Continue { device } => device,
                Event::End { serial, .. } => serial as usize,
                _ => usize::MAX,
            });
            left.extend(event.map(|n| (class, n)));
            assert!(left.len() > 1 || agenda.due(Instant(1)).is_none());
        }
        assert_eq!(left, [(2, 2), (ENDS, 3), (1, 1), (1, 4), (2, 0)]);
    }
}

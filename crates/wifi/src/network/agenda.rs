//! The times of events.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use lasthop_units::{ApId, Instant, StationId};

use super::output::End;
use crate::mac::Category;

/// An event that is due at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

/// Events by moment, class and the order in which they were noted.
#[derive(Debug, Default)]
pub struct Agenda {
    events: BinaryHeap<Reverse<(Instant, u8, u64, Event)>>,
    noted: u64,
}

impl Agenda {
    /// Schedules `event` for `at`.
    pub fn schedule(&mut self, at: Instant, event: Event) {
        self.noted += 1;
        self.events.push(Reverse((at, event.class(), self.noted, event)));
    }
    /// When the first event is due.
    pub fn poll_at(&self) -> Option<Instant> {
        self.events.peek().map(|Reverse((t, ..))| *t)
    }
    /// The class of the first event, if the event is due.
    pub fn due(&self, now: Instant) -> Option<u8> {
        match self.events.peek() {
            Some(Reverse((t, class, ..))) if *t <= now => Some(*class),
            _ => None,
        }
    }
    /// Removes the first event and returns it.
    pub fn pop(&mut self) -> Option<Event> {
        self.events.pop().map(|Reverse((.., event))| event)
    }
}

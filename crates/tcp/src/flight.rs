//! The segments that were sent and are not yet cumulatively acknowledged, with their times.
//!
//! A ring of contiguous records, oldest first: an ACK pops from the front, a transmission pushes at
//! the back, so the steady state allocates nothing and reads no more records than it acknowledges.

use std::collections::VecDeque;

use lasthop_engine::push_tight;
use lasthop_units::Instant;

/// One segment as it was first sent; a retransmission keeps its boundaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Stream offset after the last octet, FIN included.
    pub end: u64,
    /// When it was sent last.
    pub at: Instant,
    /// Octets, FIN included: a window has fewer than 2^30.
    len: u32,
    /// How often it was sent, at least 1.
    pub transmissions: u32,
}

// A connection has one for each segment in flight.
const _: () = assert!(size_of::<Sent>() == 24);

impl Sent {
    /// A segment that was sent once. The window of a connection bounds its length.
    #[inline]
    pub fn once(start: u64, end: u64, at: Instant) -> Sent {
        debug_assert!(u32::try_from(end - start).is_ok(), "{start}..{end} is longer than a window");
        Sent { end, at, len: (end - start) as u32, transmissions: 1 }
    }
    /// Stream offset of the first octet.
    #[inline]
    pub const fn start(&self) -> u64 {
        self.end - self.len as u64
    }
    /// Octets, FIN included.
    #[inline]
    pub const fn octets(&self) -> u32 {
        self.len
    }
}

/// The data that an advance of SND.UNA acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acked {
    /// Segments wholly acknowledged.
    pub segments: u32,
    /// The oldest of them, if none of all was sent more than once (Karn's rule for a cumulative
    /// ACK).
    pub oldest_sent: Option<Instant>,
    /// The newest of them, if it was sent once (the packet that ns-2's Vegas times).
    pub newest_sent: Option<Instant>,
    /// Some of them were retransmissions.
    pub retransmitted: bool,
}

/// The ring.
#[derive(Clone, Debug, Default)]
pub struct Flight {
    ring: VecDeque<Sent>,
    /// Records sent more than once and not yet acknowledged.
    retransmitted: u32,
}

impl Flight {
    /// The oldest record.
    #[inline]
    pub fn front(&self) -> Option<&Sent> {
        self.ring.front()
    }
    /// Number of records: segments between SND.UNA and SND.MAX.
    #[inline]
    pub fn len(&self) -> usize {
        self.ring.len()
    }
    /// How many of them were sent more than once (`tcpi_retrans`).
    pub const fn retransmitted(&self) -> u32 {
        self.retransmitted
    }

    /// A new segment left. It begins where the last ended.
    #[inline]
    pub fn push(&mut self, start: u64, end: u64, at: Instant) {
        debug_assert!(self.ring.back().is_none_or(|b| b.end == start), "flight records are contiguous");
        debug_assert!(start < end);
        push_tight(&mut self.ring, Sent::once(start, end, at));
    }

    /// Record `i`, the oldest first.
    #[inline]
    pub fn get(&self, i: usize) -> Option<&Sent> {
        self.ring.get(i)
    }

    /// The index of the record that holds `offset`.
    pub fn index_of(&self, offset: u64) -> Option<usize> {
        let i = self.ending_by(offset);
        self.ring.get(i).filter(|s| s.start() <= offset).map(|_| i)
    }

    /// How many records end at or below `offset`.
    #[inline]
    pub fn ending_by(&self, offset: u64) -> usize {
        self.ring.partition_point(|s| s.end <= offset)
    }

    /// The record that holds `offset`.
    pub fn find(&self, offset: u64) -> Option<&Sent> {
        self.index_of(offset).map(|i| &self.ring[i])
    }

    /// The segment around `offset` was sent again.
    pub fn resent(&mut self, offset: u64, at: Instant) {
        let Some(i) = self.index_of(offset) else { return };
        let s = &mut self.ring[i];
        if s.transmissions == 1 {
            self.retransmitted += 1;
        }
        s.at = at;
        s.transmissions = s.transmissions.saturating_add(1);
    }

    /// SND.UNA moves to the end of the oldest record, which leaves.
    #[inline]
    pub fn pop(&mut self) {
        if let Some(s) = self.ring.pop_front() {
            self.retransmitted -= u32::from(s.transmissions > 1);
        }
    }

    /// SND.UNA moves to `una`: records below leave, one that is cut by it keeps its rest.
    #[inline]
    pub fn advance(&mut self, una: u64) -> Acked {
        let mut acked = Acked::default();
        let mut last = None;
        while let Some(&s) = self.ring.front() {
            if s.end > una {
                break;
            }
            self.ring.pop_front();
            acked.segments += 1;
            if s.transmissions > 1 {
                acked.retransmitted = true;
                self.retransmitted -= 1;
            }
            if acked.oldest_sent.is_none() {
                acked.oldest_sent = Some(s.at);
            }
            last = Some(s);
        }
        if let Some(s) = self.ring.front_mut() {
            s.len = s.len.min((s.end - una) as u32);
        }
        if acked.retransmitted {
            acked.oldest_sent = None;
        }
        acked.newest_sent = last.filter(|s| s.transmissions == 1).map(|s| s.at);
        acked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ack_pops_what_it_covers_and_times_what_was_sent_once() {
        let mut f = Flight::default();
        for i in 0..4u64 {
            f.push(1 + i * 100, 101 + i * 100, Instant(i));
        }
        f.resent(1, Instant(50));
        assert_eq!(f.retransmitted(), 1);
        let a = f.advance(201);
        assert_eq!((a.segments, a.oldest_sent, a.newest_sent), (2, None, Some(Instant(1))));
        let b = f.advance(350);
        assert_eq!((b.segments, b.oldest_sent), (1, Some(Instant(2))));
        assert_eq!(f.front().map(|s| (s.start(), s.end)), Some((350, 401)), "the rest of a cut record");
        assert_eq!(f.find(400).map(Sent::start), Some(350));
        assert_eq!((f.ending_by(400), f.ending_by(401)), (0, 1));
        assert!(f.find(401).is_none());
    }
}

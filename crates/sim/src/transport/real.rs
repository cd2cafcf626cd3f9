//! Segments of real TCP: the progress of the streams between their ends, from sequence numbers.

use lasthop_tcp::Flags;
use lasthop_units::{Seq, StreamOffset};

use super::Numbers;
use crate::event::End;

/// Sequence numbers of a real TCP segment, as in its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RealSegment {
    /// SEG.SEQ.
    pub seq: Seq,
    /// SEG.ACK; meaningful with [`Flags::ACK`].
    pub ack: Seq,
    /// Control bits.
    pub flags: Flags,
}

/// Real packets of one five-tuple.
pub struct RealFlow {
    /// The name of their protocol in tables.
    pub name: &'static str,
    pub(super) streams: RealStreams,
    /// Segments of each end that were sent before.
    pub(super) again: [u64; 2],
}

impl RealFlow {
    pub fn new(name: &'static str) -> RealFlow {
        RealFlow { name, streams: RealStreams::default(), again: [0; 2] }
    }
    /// As [`RealStreams::sent`], and counts.
    pub(super) fn sent(&mut self, from: End, segment: &RealSegment, data: u32) -> bool {
        let again = self.streams.sent(from, segment, data);
        self.again[from as usize] += u64::from(again);
        again
    }
}

/// The streams of a connection by the sending end, as its segments show them.
#[derive(Default)]
pub struct RealStreams([Option<RealStream>; 2]);

/// A stream. Numbers count from the SYN, which has 0; without a SYN the first observed octet has 1.
struct RealStream {
    isn: Seq,
    /// The number after the highest that was sent.
    highest: StreamOffset,
    /// The number before the first acknowledged one: the other end's SYN.
    acknowledges: Option<Seq>,
    /// The highest number that was acknowledged.
    acknowledged: StreamOffset,
}

impl RealStream {
    fn new(segment: &RealSegment) -> RealStream {
        let syn = segment.flags.has(Flags::SYN);
        RealStream {
            isn: if syn { segment.seq } else { Seq(segment.seq.0.wrapping_sub(1)) },
            highest: StreamOffset(u64::from(!syn)),
            acknowledges: None,
            acknowledged: StreamOffset(0),
        }
    }
    /// The number of a segment; 0 for numbers before the stream's first, which a reset may have.
    fn number(&self, segment: &RealSegment) -> u64 {
        segment.seq.unwrap_near(self.isn, self.highest).0.cast_signed().max(0).cast_unsigned()
    }
    fn acknowledged_by(&self, segment: &RealSegment) -> Option<u64> {
        let isn = self.acknowledges.filter(|_| segment.flags.has(Flags::ACK))?;
        Some(segment.ack.unwrap_near(isn, self.acknowledged).0.cast_signed().max(0).cast_unsigned())
    }
}

impl RealStreams {
    /// Records a segment with `data` octets that enters at an end. Returns true if all of its
    /// numbers were sent before.
    pub fn sent(&mut self, from: End, segment: &RealSegment, data: u32) -> bool {
        let bit = |flag| u64::from(segment.flags.has(flag));
        let stream = self.0[from as usize].get_or_insert_with(|| RealStream::new(segment));
        // Another connection between the same ports begins with a SYN of another number.
        if segment.flags.has(Flags::SYN) && segment.seq != stream.isn {
            *stream = RealStream::new(segment);
        }
        if segment.flags.has(Flags::ACK) {
            stream.acknowledges.get_or_insert(Seq(segment.ack.0.wrapping_sub(1)));
            let acknowledged = stream.acknowledged_by(segment).unwrap_or_default();
            stream.acknowledged.0 = stream.acknowledged.0.max(acknowledged);
        }
        let span = u64::from(data) + bit(Flags::SYN) + bit(Flags::FIN);
        let behind = stream.number(segment) + span;
        if span > 0 && behind > stream.highest.0 {
            stream.highest.0 = behind;
            return false;
        }
        span > 0
    }

    /// The numbers of a segment, in those of its stream.
    pub fn numbers(&self, from: End, segment: &RealSegment) -> Numbers {
        let stream = self.0[from as usize].as_ref();
        Numbers {
            seq: stream.map_or(0, |s| s.number(segment)),
            ack: stream.and_then(|s| s.acknowledged_by(segment)),
            flags: segment.flags.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ISN: u32 = u32::MAX - 1000;

    fn segment(at: u32, ack: Option<u32>, flags: Flags) -> RealSegment {
        let ack = Seq(ack.unwrap_or(0));
        RealSegment { seq: Seq(ISN.wrapping_add(at)), ack, flags }
    }

    /// RFC 9293 section 3.4: SYN and FIN have a number each; numbers wrap at 2^32.
    #[test]
    fn retransmissions_are_recognised_by_their_numbers() {
        let mut s = RealStreams::default();
        let mut sent = |at, flags, data| s.sent(End::A, &segment(at, Some(9), flags), data);
        assert!(!sent(0, Flags::SYN, 0));
        assert!(sent(0, Flags::SYN, 0), "a SYN that is repeated");
        assert!(!sent(1, Flags::ACK, 0), "an ACK has no number of its own");
        assert!(!sent(1, Flags::ACK, 1000));
        assert!(!sent(1001, Flags::ACK, 1000), "beyond 2^32");
        assert!(sent(1, Flags::ACK, 1000));
        assert!(!sent(1500, Flags::ACK, 502), "one octet of it is new");
        assert!(!sent(2002, Flags::ACK | Flags::FIN, 0));
        assert!(sent(2002, Flags::ACK | Flags::FIN, 0));
        let n = s.numbers(End::A, &segment(1500, Some(9), Flags::ACK));
        assert_eq!((n.seq, n.ack, &*n.flags), (1500, Some(1), "."));
    }

    /// The other end's SYN has number 0 too: the first ACK acknowledges it with 1.
    #[test]
    fn acknowledgements_count_from_the_first_one() {
        let mut s = RealStreams::default();
        for (at, ack, flags) in [(0, None, Flags::SYN), (1, Some(7), Flags::ACK), (1, Some(1455), Flags::ACK)]
        {
            s.sent(End::A, &segment(at, ack, flags), 0);
        }
        let ack = |n, flags| s.numbers(End::A, &segment(1, Some(n), flags)).ack;
        assert_eq!(
            (ack(7, Flags::ACK), ack(1455, Flags::ACK), ack(0, Flags::SYN)),
            (Some(1), Some(1449), None)
        );
        assert!(s.0[End::B as usize].is_none(), "each end has a stream of its own");
    }

    /// A connection that was open before the run begins in the middle of its number space.
    #[test]
    fn a_stream_without_its_syn_begins_with_the_first_observed_octet() {
        let mut s = RealStreams::default();
        assert!(!s.sent(End::A, &segment(5000, Some(1), Flags::ACK), 100));
        assert_eq!(s.numbers(End::A, &segment(5100, Some(1), Flags::ACK)).seq, 101);
        assert!(s.sent(End::A, &segment(5000, Some(1), Flags::ACK), 100));
        // The port is used again.
        assert!(!s.sent(End::A, &segment(0, None, Flags::SYN), 0));
        assert_eq!(s.numbers(End::A, &segment(1, Some(1), Flags::ACK)).seq, 1);
    }
}

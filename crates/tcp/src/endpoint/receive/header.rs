//! The fields that every segment carries, and the ACK without data.

use lasthop_units::{Instant, Seq, SeqRange};

use super::super::connection::Connection;
use super::super::timers::Timer;
use super::Receiver;
use crate::sample::timestamp;
use crate::segment::{Flags, Rare, RareOptions, SackBlocks, Segment, Timestamps};

impl Receiver {
    /// An ACK without data; its number is `seq`, SND.NXT.
    pub fn bare_ack(&mut self, c: &mut Connection, now: Instant, seq: Seq) -> Segment {
        let mut segment = Segment { seq, ..Segment::default() };
        self.header(c, now, &mut segment);
        // A report of a hole is more urgent than a hint: together they have no room beside
        // timestamps.
        if let Some((measured, guidance)) = self.guidance.filter(|_| segment.rare.sack.len() <= 1) {
            segment.rare.change_in(&mut c.spare, |o| o.guidance = Some(guidance.aged(now.since(measured))));
        }
        c.ecn.on_options(&c.config, &c.rtt.rto, c.negotiated.mss, now, &mut segment, &mut c.spare);
        segment
    }

    /// A misbehaving receiver: the next of the ACKs into which one is divided (`split_acks`).
    #[cold]
    pub fn part_of_ack(&mut self, c: &mut Connection, now: Instant, seq: Seq) -> Segment {
        let (from, news) = (self.last_ack_sent, self.data_end().saturating_sub(self.last_ack_sent));
        if self.parts_left == 0 {
            self.parts_left = c.config.acks.split_acks;
        }
        let parts = u64::from(std::mem::take(&mut self.parts_left));
        let whole = self.ahead.lead > 0
            || self.nxt != self.data_end()
            || self.duplicate.is_some()
            || !self.reassembly.is_empty();
        let mut segment = self.bare_ack(c, now, seq);
        if whole || parts == 1 || news < parts {
            return segment;
        }
        let to = from + news / parts;
        // The right edge of the window stays where the whole ACK would have it.
        let short = (self.nxt - to) >> c.negotiated.rcv_scale;
        segment.window = (u64::from(segment.window) + short).min(u64::from(u16::MAX)) as u16;
        segment.ack = self.seq_of(to);
        self.last_ack_sent = to;
        self.parts_left = parts as u32 - 1;
        self.ack.at_once();
        segment
    }

    /// The ACK of the data that arrived before DCTCP.CE changed (RFC 8257 section 3.2).
    #[cold]
    pub fn old_ack(&mut self, c: &mut Connection, now: Instant, seq: Seq) -> Option<Segment> {
        let (nxt, echo) = c.ecn.old_ack.take()?;
        let new_echo = std::mem::replace(&mut c.ecn.echo, echo);
        let mut segment = self.bare_ack(c, now, seq);
        segment.ack = self.seq_of(nxt + self.ahead.lead);
        c.ecn.echo = new_echo;
        // It was extra: the newest packet is still to be acknowledged.
        self.ack.at_once();
        Some(segment)
    }

    /// A duplicate that is still to be reported, then what is beyond the holes.
    #[cold]
    fn sack_blocks(&mut self, c: &mut Connection) -> SackBlocks {
        let mut sack = SackBlocks::NONE;
        let duplicate = self.duplicate.take().filter(|_| c.negotiated.sack && c.config.acks.dsack);
        if let Some((start, end)) = duplicate {
            sack.push(SeqRange { start: self.seq_of(start), end: self.seq_of(end) });
            if let Some(accurate) = c.ecn.accurate.as_deref_mut() {
                accurate.beside_dsack(start);
            }
        }
        if c.negotiated.sack {
            let n = if c.negotiated.timestamps { 3 } else { 4 } - usize::from(duplicate.is_some());
            for (start, end) in self.reassembly.blocks(n) {
                sack.push(SeqRange { start: self.seq_of(start), end: self.seq_of(end) });
            }
        }
        sack
    }

    /// Writes the fields that every segment of a synchronized connection carries; the ACK then
    /// counts as sent. They are written in place, because each copy of the segment takes time.
    #[inline(always)]
    pub fn header(&mut self, c: &mut Connection, now: Instant, segment: &mut Segment) {
        segment.ack = self.seq_of(self.nxt + self.ahead.lead);
        segment.flags |= Flags::ACK;
        segment.window = self.advertise(c);
        if c.negotiated.timestamps {
            segment.timestamps = Some(Timestamps { value: timestamp(now), echo: self.ts_recent });
        }
        if self.duplicate.is_some() || !self.reassembly.is_empty() {
            let sack = self.sack_blocks(c);
            segment.rare = Rare::of(RareOptions { sack, ..RareOptions::NONE }, &mut c.spare);
        }
        c.ecn.on_header(&c.config, segment);
        self.last_ack_sent = self.nxt;
        self.ack.sent();
        c.timers.stop(Timer::DelayedAck);
    }
}

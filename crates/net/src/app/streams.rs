//! The common part of all applications: the data still to be written at either end, and the
//! statistics.

use lasthop_engine::Draw;
use lasthop_units::Instant;

use super::stats::AppStats;
use super::{Action, End, Message};

/// A backlog without end.
pub(super) const ENDLESS: u64 = u64::MAX;

/// The service of the transport below an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// A byte stream in each direction.
    Stream,
    /// Datagrams.
    Datagrams,
}

/// The streams, or datagrams, of an application.
#[derive(Clone, Debug)]
pub(super) struct Streams {
    pub over: Service,
    pub draw: Draw,
    /// Between start and stop.
    pub running: bool,
    /// Nothing is written for now.
    pub paused: bool,
    /// The connection is established; datagrams need none.
    pub ready: bool,
    pub stats: AppStats,
    sides: [Side; 2],
}

/// One end's stream.
#[derive(Clone, Debug, Default)]
struct Side {
    /// Still to be written; `u64::MAX` is without end.
    wanted: u64,
    /// Known room in the send buffer.
    room: u64,
    /// Close when all is written.
    closing: bool,
    closed: bool,
}

impl Streams {
    pub fn new(over: Service, draw: Draw, stats: AppStats) -> Streams {
        let ready = over == Service::Datagrams;
        Streams { over, draw, running: false, paused: false, ready, stats, sides: Default::default() }
    }

    /// A sends `requests` requests, `bytes` in all.
    pub fn request(&mut self, requests: u64, bytes: u64, out: &mut Vec<Action>) {
        self.stats.requests_issued += requests;
        self.add_data(End::A, bytes, out);
    }
    /// B answers `count` requests with `bytes` in all.
    pub fn answer(&mut self, bytes: u64, count: u64, out: &mut Vec<Action>) {
        self.stats.requests_answered += count;
        if bytes > 0 {
            self.add_data(End::B, bytes, out);
        }
    }
    /// A sends packets of `size` bytes.
    pub fn send(&mut self, packets: u64, size: u64, out: &mut Vec<Action>) {
        match self.over {
            Service::Stream => self.add_data(End::A, packets * size, out),
            Service::Datagrams => {
                for _ in 0..packets {
                    let number = self.stats.datagrams_sent as u32;
                    let message = Message { number, ..Message::plain(size as u32) };
                    out.push(Action::SendDatagram { end: End::A, message });
                    self.stats.datagrams_sent += 1;
                }
                self.stats.written[0] += packets * size;
            }
        }
    }
    /// All data of the application has arrived: A closes.
    pub fn complete(&mut self, now: Instant, out: &mut Vec<Action>) {
        self.stats.completion = Some(now);
        self.close(End::A, out);
    }
    /// The application at `end` has this number of further bytes to write.
    pub fn add_data(&mut self, end: End, bytes: u64, out: &mut Vec<Action>) {
        let side = &mut self.sides[end as usize];
        side.wanted = side.wanted.saturating_add(bytes);
        self.pump(end, out);
    }
    /// The application at `end` has this number of bytes to write. Bytes that still wait are
    /// subtracted, because the application would block while they wait.
    pub fn offer(&mut self, end: End, bytes: u64, out: &mut Vec<Action>) {
        let waiting = self.sides[end as usize].wanted;
        self.add_data(end, bytes.saturating_sub(waiting), out);
    }
    /// The stream of `end` ends after the data that is due.
    pub fn close_when_written(&mut self, end: End) {
        self.sides[end as usize].closing = true;
    }

    /// It runs, is not paused, and its transport is ready.
    pub fn is_at_work(&self) -> bool {
        self.running && !self.paused && self.ready
    }
    /// Drops the data that is not written yet.
    pub fn drop_unwritten(&mut self) {
        self.sides.iter_mut().for_each(|side| side.wanted = 0);
    }
    /// The send buffer at `end` has room for `free` bytes. At a receiver's end no data waits to be
    /// written: this check is inlined into the caller.
    #[inline]
    pub fn set_room(&mut self, end: End, free: u64, out: &mut Vec<Action>) {
        self.sides[end as usize].room = free;
        self.use_room(end, out);
    }
    /// Writes what waits, and closes after it.
    #[inline]
    pub fn use_room(&mut self, end: End, out: &mut Vec<Action>) {
        let side = &self.sides[end as usize];
        if side.wanted > 0 || side.closing {
            self.pump(end, out);
        }
    }
    /// The last `bytes` of a write at `end` were refused.
    pub fn take_back(&mut self, end: End, bytes: u64) {
        let side = &mut self.sides[end as usize];
        side.room = 0;
        if side.wanted != ENDLESS {
            side.wanted += bytes;
        }
        side.closing |= side.closed;
        side.closed = false;
        self.stats.written[end as usize] -= bytes;
    }
    /// Bytes to be written at `end`; `None`: without end.
    pub fn backlog(&self, end: End) -> Option<u64> {
        let wanted = self.sides[end as usize].wanted;
        (wanted != ENDLESS).then_some(wanted)
    }
    pub fn is_closed(&self, end: End) -> bool {
        self.sides[end as usize].closed
    }

    /// Writes the data that is due as far as there is room, and closes after it.
    pub fn pump(&mut self, end: End, out: &mut Vec<Action>) {
        let side = &mut self.sides[end as usize];
        if side.closed || self.paused {
            return;
        }
        let bytes = side.wanted.min(side.room);
        if bytes > 0 {
            side.room -= bytes;
            if side.wanted != ENDLESS {
                side.wanted -= bytes;
            }
            self.stats.written[end as usize] += bytes;
            out.push(Action::Write { end, bytes });
        }
        if side.closing && side.wanted == 0 {
            self.close(end, out);
        }
    }

    pub fn close(&mut self, end: End, out: &mut Vec<Action>) {
        let side = &mut self.sides[end as usize];
        if !side.closed {
            side.closed = true;
            out.push(Action::Close { end });
        }
    }
}

//! Limits of each sender: the rows of the table `limits`.

use lasthop_units::Instant;

use crate::probe::tables;
use crate::sink::Table;
use crate::transport::SenderLimit;

/// The state of a sender, and the rows that may still change.
///
/// The cause of an idle period that ends with a timeout is known only when the timer expires. Rows
/// that begin after the sender's last segment, sent or received, are therefore held back.
#[derive(Default)]
pub struct LimitTrack {
    /// The start of each cause; the last one is in force.
    held: Vec<(Instant, &'static str)>,
    /// Segments and timeouts so far.
    seen: Option<SenderLimit>,
    /// When the sender last sent or received a segment.
    active: Instant,
    /// The cause of the last row that was written.
    written: &'static str,
}

/// The cause of the time from the last segment to the expiry of the retransmission timer.
const TIMEOUT: &str = "timeout";

impl LimitTrack {
    /// Records the limit of the sender from `now` on.
    pub fn note(&mut self, now: Instant, limit: SenderLimit) {
        let seen = self.seen.replace(limit);
        let is_active = seen.is_none_or(|seen| seen.segments != limit.segments);
        let has_timed_out = seen.is_some_and(|seen| seen.timeouts != limit.timeouts);
        if has_timed_out && limit.cause != "handshake" && self.active < now {
            let silence = self.active;
            self.held.retain(|(since, _)| *since < silence);
            self.held.push((silence, TIMEOUT));
        }
        if is_active {
            self.active = now;
        }
        match self.held.last_mut() {
            Some((since, cause)) if *since == now => *cause = limit.cause,
            Some((_, cause)) if *cause == limit.cause => {}
            _ => self.held.push((now, limit.cause)),
        }
    }

    /// Writes the rows that cannot change any more: those before the sender's last segment, or all
    /// rows at the end of the run.
    pub fn write(&mut self, table: &mut Table<tables::Limits<'static>>, flow: &str, over: bool) {
        let (held, active) = (&mut self.held, self.active);
        let done = if over { held.len() } else { held.partition_point(|(since, _)| *since < active) };
        for (since, cause) in held.drain(..done) {
            if cause != self.written {
                table.push(&tables::Limits { flow, start_ns: since.0, cause });
                self.written = cause;
            }
        }
    }
}

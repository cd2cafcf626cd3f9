//! A misbehaving receiver that acknowledges octets before they arrive (`ack_ahead`): the optimistic
//! ACKs of S. Savage and others, TCP Congestion Control with a Misbehaving Receiver, CCR 29(5),
//! 1999.

use lasthop_units::Instant;

use super::super::connection::Connection;
use super::super::meters::Event;
use super::Receiver;

/// The lead of ACKs, and the octets that were skipped.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ahead {
    /// Octets beyond RCV.NXT that the next ACK acknowledges.
    pub lead: u64,
    /// Octets that never arrived and are below RCV.NXT.
    pub skipped: u64,
    /// A segment with data has arrived since the beginning, or since the lead was lost.
    begun: bool,
}

impl Ahead {
    /// An old segment has arrived: its sender has not taken the last ACK, which had acknowledged
    /// octets that were not sent yet. The next ACKs are true.
    pub const fn restart(&mut self) {
        (self.lead, self.begun) = (0, false);
    }
}

impl Receiver {
    /// A segment that begins at `start` is accepted: the application reads what is before the gap,
    /// and the octets in the gap, which are acknowledged or will be with this segment, are skipped.
    #[cold]
    pub(super) fn skip_to(&mut self, c: &mut Connection, now: Instant, start: i64) {
        let gap = start - self.nxt as i64;
        if gap <= 0 || start >= self.edge_in_force(c) as i64 {
            return;
        }
        self.read_all(now);
        let octets = gap as u64;
        self.nxt += octets;
        self.read_to = self.nxt;
        self.ahead.skipped += octets;
        c.meters.emit(Event::Skipped { octets });
    }

    /// The text of a segment is taken; `news`: some of it was new. The lead ends with the stream.
    #[cold]
    pub(super) fn lead(&mut self, c: &Connection, news: bool) {
        if news {
            let step = if self.ahead.begun { u64::from(c.negotiated.mss) } else { 0 };
            self.ahead.lead = (self.ahead.lead + step).min(c.largest_lead());
            self.ahead.begun = true;
        }
        if let Some(fin) = self.peer_fin {
            self.ahead.lead = self.ahead.lead.min((fin + 1).saturating_sub(self.nxt));
        }
    }

    /// Octets that were skipped.
    pub const fn octets_skipped(&self) -> u64 {
        self.ahead.skipped
    }
}

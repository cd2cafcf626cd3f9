//! Octets that a TCP-terminating proxy moves between its two connections.

use lasthop_tcp::Relay;
use lasthop_units::Instant;

use super::Transport;
use crate::event::End;

/// Both directions: with the data of A, and in reverse.
#[derive(Clone, Copy, Debug, Default)]
pub struct Relays([Relay; 2]);

impl Relays {
    /// Records that the stream to the proxy's socket at `end` of its connection has ended.
    pub fn set_ended(&mut self, end: End) {
        // B's socket receives the end of A's stream.
        self.0[usize::from(end == End::A)].ended = true;
    }
    /// Moves octets in both directions between end B of `before` and end A of `after`. Returns true
    /// if octets were moved, and both may have data to send.
    #[inline]
    pub fn pump(&mut self, now: Instant, before: &mut Transport, after: &mut Transport) -> bool {
        let (Some(left), Some(right)) = (before.socket_mut(End::B), after.socket_mut(End::A)) else {
            return false;
        };
        let with = self.0[0].pump(now, &mut left.endpoint, &mut right.endpoint);
        let against = self.0[1].pump(now, &mut right.endpoint, &mut left.endpoint);
        with || against
    }
    /// Checks the counts of the octets that were moved; returns the violation, if any.
    pub fn audit(&self, before: &Transport, after: &Transport) -> Option<String> {
        for (relay, from, to, end) in
            [(&self.0[0], before, after, End::A), (&self.0[1], after, before, End::B)]
        {
            let (read, written) = (from.stream_octets(end)?.read, to.stream_octets(end)?.accepted);
            if relay.moved != read || relay.moved != written {
                return Some(format!("{} B relayed, {read} B read, {written} B written", relay.moved));
            }
        }
        None
    }
}

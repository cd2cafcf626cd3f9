//! One direction of a TCP-terminating proxy: octets go from the incoming connection to the outgoing
//! one (a split connection, RFC 3135 section 2.4).
//!
//! The proxy's data is in the two sockets: not yet read in the incoming one, whose window closes
//! with it, and not yet acknowledged in the outgoing one's send buffer. There is no third buffer.

use lasthop_units::Instant;

use crate::endpoint::Endpoint;

/// One direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Relay {
    /// Octets taken over so far.
    pub moved: u64,
    /// The incoming side has ended (its FIN has arrived).
    pub ended: bool,
    /// The end has been passed on.
    closed: bool,
}

impl Relay {
    /// Moves all octets that can be moved, and passes on the end of the stream after all octets
    /// before it. Returns true if octets were moved, so that both endpoints may have data to send.
    pub fn pump(&mut self, now: Instant, incoming: &mut Endpoint, outgoing: &mut Endpoint) -> bool {
        let wanted = incoming.readable().min(outgoing.writable());
        let taken = if wanted > 0 { outgoing.write(now, wanted) } else { 0 };
        let read = incoming.read(now, taken);
        debug_assert_eq!(read, taken, "what was written was there to read");
        self.moved += taken;
        // A close before the handshake is done would throw away what waits for it (RFC 9293 section
        // 3.10.4).
        let close =
            self.ended && !self.closed && incoming.readable() == 0 && outgoing.state().is_synchronized();
        if close {
            self.closed = true;
            outgoing.close(now);
        }
        taken > 0 || close
    }
}

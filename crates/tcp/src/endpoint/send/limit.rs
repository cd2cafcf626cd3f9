//! The reason why a sender does not send, for probes.
//!
//! Linux counts the same in `tcp_chrono`: `TCP_CHRONO_BUSY` while anything is queued or in flight,
//! `TCP_CHRONO_RWND_LIMITED` while the congestion window allows a segment and the peer's window
//! does not (tcp_write_xmit tests in this order), `TCP_CHRONO_SNDBUF_LIMITED` while everything
//! written is sent and the application cannot write because the buffer is full (tcp_cwnd_validate).
//! Linux does not divide the rest of the busy time; this module does.

use lasthop_units::Instant;

use super::super::connection::Connection;
use super::Sender;
use super::detector::Detector;
use super::dispatch::by_detector;
use crate::recovery::CaState;
use crate::state::State;

/// The limit of a sender that has sent all that it may. One of them holds at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The handshake, the peer's SYN included.
    Handshake,
    /// Octets from the application: everything that was written is acknowledged.
    Application,
    /// Room in the send buffer: everything that was written is sent, and the buffer takes no whole
    /// segment more.
    SendBuffer,
    /// The receive window: the congestion window has room.
    ReceiveWindow,
    /// The congestion window.
    CongestionWindow,
    /// The next departure of a paced sender, also one that is due until its timer is served.
    Pacing,
    /// A full segment, or the acknowledgement of all that is outstanding (Nagle's algorithm,
    /// silly-window avoidance).
    SmallSegment,
    /// Acknowledgements alone: everything that was written is sent.
    Acknowledgement,
    /// The repair of losses: fast recovery, or the recovery after a timeout.
    Recovery,
    /// None of these: it has octets to send, and no known limit prevents it. This is a fault of the
    /// sender, or of [`limit_of`].
    Other,
    /// Nothing: the connection has not begun or is over, or all is acknowledged and the application
    /// has closed.
    Nothing,
}

/// What a sender waits for after it has sent all that it may.
pub fn limit_of(send: &Sender, c: &Connection, now: Instant) -> Limit {
    let seq = &send.seq;
    match c.state {
        State::Listen | State::SynSent | State::SynReceived => return Limit::Handshake,
        State::Closed | State::TimeWait => return Limit::Nothing,
        _ => {}
    }
    if seq.is_outstanding() && matches!(send.fly.recovery.state(), CaState::Recovery | CaState::Loss) {
        return Limit::Recovery;
    }
    if seq.notsent() == 0 {
        return match (seq.is_outstanding(), seq.close_requested) {
            (true, false) if send.writable(c) < u64::from(c.negotiated.mss) => Limit::SendBuffer,
            (true, _) => Limit::Acknowledgement,
            (false, true) => Limit::Nothing,
            (false, false) => Limit::Application,
        };
    }
    if send.pacing.holds(c, now) {
        return Limit::Pacing;
    }
    if !c.state.may_send() {
        return Limit::Nothing;
    }
    match &send.limits.queue {
        Some(queue) => match queue.limit(c, seq, &send.fly, send.limits.corked) {
            // Other events of this moment may precede the timer of a departure that is due. It is a
            // reason to check the queue: nothing leaves before it is served.
            Limit::Other if send.pace_holds_something(c) => Limit::Pacing,
            limit => limit,
        },
        None => limit_by_edges(send, c),
    }
}

/// The limit of a sender that cuts segments as the windows let it, in the order of
/// [`send_new`](Sender::send_new).
fn limit_by_edges(send: &Sender, c: &Connection) -> Limit {
    let seq = &send.seq;
    let cwnd_edge = by_detector!(send.fly, D => D::cwnd_edge(&send.fly, seq, c));
    let (start, full) = (seq.nxt, u64::from(c.negotiated.mss));
    let next = full.min(seq.written - start.min(seq.written));
    let [cwnd_room, peer_room] = [cwnd_edge, seq.window_edge()].map(|edge| edge.saturating_sub(start));
    if cwnd_room < next && cwnd_room <= peer_room {
        Limit::CongestionWindow
    } else if peer_room < next {
        Limit::ReceiveWindow
    } else if next < full && c.config.acks.nagle && seq.is_outstanding() && !seq.close_requested {
        Limit::SmallSegment
    } else {
        Limit::Other
    }
}

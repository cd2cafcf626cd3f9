//! The two loss detectors, and their interface to the rest of the sender.

use lasthop_units::{Duration, Instant};

use super::super::connection::Connection;
use super::super::receive::Receiver;
use super::Sender;
use super::in_flight::InFlight;
use super::sequence::SendSequence;
use super::usage::Usage;
use crate::config::Config;
use crate::recovery::{AckDigest, Outcome};
use crate::segment::Segment;

/// One ACK: the segment, and its offset in our stream.
#[derive(Clone, Copy)]
pub struct Ack<'a> {
    pub seg: &'a Segment,
    pub ack: i64,
}

/// Segments of the flight by their estimated state (`tcp_info`).
#[derive(Clone, Copy, Debug)]
pub struct Believed {
    /// SACKed.
    pub sacked: u32,
    /// Lost.
    pub lost: u32,
    /// Sent again.
    pub resent: u32,
}

/// The context of loss recovery at an ACK or a timer. Loss recovery changes the data in flight and
/// the shared state of both directions, and reads the sender's position. It has no access to the
/// write queue, pacing and limits.
pub struct LossRecovery<'a> {
    pub fly: &'a mut InFlight,
    pub conn: &'a mut Connection,
    pub seq: &'a SendSequence,
    pub now: Instant,
}

impl<'a> LossRecovery<'a> {
    #[inline]
    pub fn of(send: &'a mut Sender, conn: &'a mut Connection, now: Instant) -> LossRecovery<'a> {
        LossRecovery { fly: &mut send.fly, conn, seq: &send.seq, now }
    }

    /// The same context, for a call out of line: it gets the address of a copy.
    #[inline(always)]
    pub fn again(&mut self) -> LossRecovery<'_> {
        LossRecovery { fly: self.fly, conn: self.conn, seq: self.seq, now: self.now }
    }

    /// The retransmission timer runs, for a whole timeout.
    pub fn start_rto(&mut self) {
        self.fly.start_rto(self.conn, self.now);
    }
}

/// A loss detector: by duplicate ACKs and the scoreboard, or by RACK. The sender calls it here
/// alone; no other code depends on which one is in use.
pub trait Detector {
    // One ACK.

    /// A window that moves may end a time of idleness (tcp_ack_update_window).
    const WINDOW_ENDS_IDLENESS: bool;
    /// Duplicates that the peer reports when nothing is outstanding any more are counted.
    const USES_LATE_REPORTS: bool;

    /// The sender before the ACK.
    fn before(x: &LossRecovery<'_>, usage: &Usage, d: &mut AckDigest);
    /// Its SACK blocks, while SND.UNA stands.
    fn take_sack(x: &mut LossRecovery<'_>, a: Ack<'_>, d: &mut AckDigest);
    /// It has moved SND.UNA.
    fn take_cumulative(x: &mut LossRecovery<'_>, a: Ack<'_>, d: &mut AckDigest);
    /// It does not move SND.UNA: whether it counts as a duplicate.
    fn is_duplicate(x: &LossRecovery<'_>, a: Ack<'_>, d: &AckDigest) -> bool;
    /// The round trips that it shows.
    fn measure_rtt(x: &mut LossRecovery<'_>, a: Ack<'_>, d: &AckDigest);
    /// Determines the losses and begins or ends recovery; informs the congestion control.
    fn judge(x: &mut LossRecovery<'_>, a: Ack<'_>, d: &mut AckDigest, duplicate: bool) -> Outcome;
    /// The timers after it. `pending`: one for losses ran before it.
    fn rearm(x: &mut LossRecovery<'_>, d: &AckDigest, outcome: Outcome, pending: bool);
    /// Marks that no recovery has answered yet.
    fn respond_to_marks(x: &mut LossRecovery<'_>);

    // A timer.

    /// The retransmission timer has expired: what is lost, and what is sent again at once.
    fn on_timeout(x: &mut LossRecovery<'_>, repeated: bool) -> Outcome;

    // What leaves.

    /// The next segment that the windows, pacing and losses permit.
    fn next_segment(send: &mut Sender, c: &mut Connection, r: &mut Receiver, now: Instant)
    -> Option<Segment>;
    /// The oldest segment again, independent of the windows.
    fn resend_head(send: &mut Sender, c: &mut Connection, r: &mut Receiver, now: Instant) -> Option<Segment>;
    /// The oldest segment again, as the probe of a closed window.
    fn probe_with_head(
        send: &mut Sender,
        c: &mut Connection,
        r: &mut Receiver,
        now: Instant,
    ) -> Option<Segment>;
    /// A new segment is about to be in flight; `idle`: since data left last.
    fn note_new(fly: &mut InFlight, now: Instant, idle: Duration);
    /// New data has left: the timers.
    fn after_new_data(x: &mut LossRecovery<'_>);
    /// The windows have room, and the application has written nothing more.
    fn note_app_limited(fly: &mut InFlight, mss: u32);

    /// Up to where the congestion window lets new data leave.
    fn cwnd_edge(fly: &InFlight, seq: &SendSequence, c: &Connection) -> u64;

    // What is in flight.

    /// Segments in the network.
    fn in_flight(fly: &InFlight) -> u32;
    /// Segments by which recovery inflates the window.
    fn inflation(fly: &InFlight, config: &Config) -> f64;
    /// Packets in the send buffer that were sent (segmentation offload), else segments.
    fn packets(fly: &InFlight) -> usize;
    /// The distance up to which segments may come out of order \[segments\].
    fn reordering(fly: &InFlight, config: &Config) -> u32;
    /// The estimated state of the flight's segments.
    fn believed(fly: &InFlight, seq: &SendSequence, mss: u32) -> Believed;
    /// What must hold between calls.
    fn check(fly: &InFlight);
}

//! The two ways to find losses, and what each has to answer to the rest of the sender.

use lasthop_units::Instant;

use super::super::connection::Connection;
use super::super::receive::Receiver;
use super::Sender;
use super::ack::Ack;
use super::in_flight::InFlight;
use super::sequence::SendSequence;
use crate::recovery::{AckDigest, Outcome};
use crate::segment::Segment;

/// Segments of the flight by what is believed of them (`tcp_info`).
#[derive(Clone, Copy, Debug)]
pub struct Believed {
    /// SACKed.
    pub sacked: u32,
    /// Lost.
    pub lost: u32,
    /// Sent again.
    pub resent: u32,
}

/// A way to find losses: by duplicate ACKs and the scoreboard, or by RACK. The sender asks it here
/// alone; no other code looks at which one is at work.
pub trait Detector {
    // One ACK.

    /// A window that moves may end a time of idleness (tcp_ack_update_window).
    const WINDOW_ENDS_IDLENESS: bool;
    /// An ACK that can only move the window goes no further, where nothing is outstanding and
    /// nothing waits.
    const PREDICTS_HEADERS: bool;

    /// The sender before the ACK.
    fn before(send: &Sender, c: &Connection, d: &mut AckDigest);
    /// Its SACK blocks.
    fn take_sack(fly: &mut InFlight, c: &mut Connection, seq: &SendSequence, a: Ack<'_>, d: &mut AckDigest);
    /// It moves SND.UNA.
    fn take_cumulative(
        fly: &mut InFlight,
        c: &mut Connection,
        seq: &mut SendSequence,
        a: Ack<'_>,
        d: &mut AckDigest,
    );
    /// It does not move SND.UNA: whether it counts as a duplicate.
    fn is_duplicate(fly: &InFlight, seq: &SendSequence, a: Ack<'_>, d: &AckDigest) -> bool;
    /// The round trips that it shows.
    fn measure_rtt(fly: &InFlight, c: &mut Connection, seq: &SendSequence, a: Ack<'_>, d: &AckDigest);
    /// What is lost, what recovery it begins or ends; informs the congestion control.
    fn judge(
        fly: &mut InFlight,
        c: &mut Connection,
        seq: &SendSequence,
        a: Ack<'_>,
        d: &mut AckDigest,
        duplicate: bool,
    ) -> Outcome;
    /// The timers after it. `pending`: one for losses ran before it.
    fn rearm(
        fly: &mut InFlight,
        c: &mut Connection,
        seq: &SendSequence,
        a: Ack<'_>,
        d: &AckDigest,
        outcome: Outcome,
        pending: bool,
    );
    /// Marks that no recovery has answered yet.
    fn respond_to_marks(fly: &mut InFlight, c: &mut Connection, seq: &SendSequence, now: Instant);

    // A timer.

    /// The retransmission timer has expired: what is lost, and what goes again at once.
    fn on_timeout(
        fly: &mut InFlight,
        c: &mut Connection,
        seq: &SendSequence,
        now: Instant,
        repeated: bool,
    ) -> Outcome;

    // What leaves.

    /// The next segment that the windows, the pace and what is lost let leave.
    fn next_segment(send: &mut Sender, c: &mut Connection, r: &mut Receiver, now: Instant)
    -> Option<Segment>;
    /// The oldest segment again, whatever the windows say.
    fn resend_head(send: &mut Sender, c: &mut Connection, r: &mut Receiver, now: Instant) -> Option<Segment>;
    /// The oldest segment again, as the probe of a closed window.
    fn probe_with_head(
        send: &mut Sender,
        c: &mut Connection,
        r: &mut Receiver,
        now: Instant,
    ) -> Option<Segment>;
    /// A new segment is about to be in flight.
    fn note_new(send: &mut Sender, now: Instant);
    /// New data has left: the timers.
    fn after_new_data(fly: &mut InFlight, c: &mut Connection, seq: &SendSequence, now: Instant);
    /// The windows have room, and the application has written nothing more.
    fn note_app_limited(fly: &mut InFlight, c: &Connection);

    // What is in flight.

    /// Segments in the network.
    fn in_flight(fly: &InFlight) -> u32;
    /// Segments by which recovery inflates the window.
    fn inflation(fly: &InFlight, c: &Connection) -> f64;
    /// Packets in the send buffer that were sent (segmentation offload), else segments.
    fn packets(fly: &InFlight) -> usize;
    /// The distance up to which segments may come out of order \[segments\].
    fn reordering(fly: &InFlight, c: &Connection) -> u32;
    /// What is believed of the flight's segments.
    fn believed(fly: &InFlight, c: &Connection, seq: &SendSequence) -> Believed;
    /// What must hold between calls.
    fn check(fly: &InFlight);
}

/// `$call`, in which `$D` is the detector at work in the [`InFlight`] `$fly`.
macro_rules! by_detector {
    ($fly:expr, $D:ident => $call:expr) => {
        match $fly.recovery.detection() {
            $crate::recovery::Detection::DuplicateAcks => {
                type $D = $crate::endpoint::send::dupack::Dupack;
                $call
            }
            $crate::recovery::Detection::Rack => {
                type $D = $crate::endpoint::send::rack::RackTlp;
                $call
            }
        }
    };
}
pub(super) use by_detector;

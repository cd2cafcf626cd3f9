//! The report of one ACK, computed once.

use lasthop_units::{Duration, Instant};

use crate::sample::CaState;

/// The newest segment that an ACK delivered, as it was when that was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Newest {
    pub delivered: u64,
    pub delivered_at: Instant,
    pub send_phase: Duration,
    pub app_limited: bool,
    pub in_flight: u32,
    pub lost_before: u64,
}

/// The report of one ACK, which the loss detectors, the congestion control's sample and the meters
/// read.
///
/// Offsets and octets are those of the sender's stream. Data about single segments is in RACK only.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckDigest {
    /// SND.UNA moves.
    pub una_moved: bool,
    /// Octets by which it does.
    pub passed: u64,
    /// SND.WND changed.
    pub window_moved: bool,

    /// Octets in flight before the ACK.
    pub flight_before: u64,
    /// The congestion window limited the sender.
    pub cwnd_limited: bool,
    /// The sender's state before the ACK.
    pub state_before: CaState,
    /// Octets that were SACKed before it.
    pub sacked_before: u64,
    /// Losses before this ACK: octets in the scoreboard; with RACK, segments since the start.
    pub lost_before: u64,
    /// The end of the data that SACKs had reported before this ACK; 0: none.
    pub highest_before: u64,

    /// Octets that it SACKs for the first time.
    pub sacked: u64,
    /// Segments newly delivered.
    pub segments: u32,
    /// Octets of them.
    pub octets: u64,
    /// When the oldest newly acknowledged segment that was sent once was sent.
    pub first_acked: Option<Instant>,
    /// The newest segment delivered that was sent once.
    pub last_sent: Option<Instant>,
    /// A retransmitted segment was acknowledged cumulatively.
    pub resent_acked: bool,
    /// A segment that was sent only once, before the timeout, was delivered.
    pub original: bool,
    /// Data that was sent after the timeout was SACKed.
    pub beyond: bool,
    /// A whole segment was SACKed.
    pub news: bool,
    /// The peer reported a duplicate (RFC 2883).
    pub duplicate: bool,
    /// The lowest original transmission that was SACKed below data that was SACKed before.
    pub late: Option<u64>,
    /// The lowest original that was acknowledged without having been SACKed.
    pub acked_from: Option<u64>,
    pub(super) rate: Option<Newest>,
}

impl AckDigest {
    /// The digest of an ACK that advances SND.UNA by a number of octets.
    #[inline]
    pub fn of(passed: u64) -> AckDigest {
        AckDigest { una_moved: passed > 0, passed, ..AckDigest::default() }
    }

    /// As for an ACK that delivers one segment, if a timer has found losses.
    pub fn of_timer(lost_before: u64) -> AckDigest {
        AckDigest { segments: 1, lost_before, ..AckDigest::default() }
    }

    /// Octets of `total` that were delivered after the newest segment of this ACK was sent.
    pub fn delivered_since_sent(&self, total: u64) -> u64 {
        self.rate.map_or(0, |r| total - r.delivered)
    }
}

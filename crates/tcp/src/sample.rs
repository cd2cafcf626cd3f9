//! The measurements that a sender passes to its congestion control: ACKs, losses, marks, the
//! handshake, the delivery rate, its own state.

use lasthop_units::{Duration, Instant};

use crate::segment::Timestamps;

/// The sender's state as Linux names it (`tcpi_ca_state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CaState {
    /// Nothing unusual.
    #[default]
    Open,
    /// Duplicate ACKs or SACKs, not yet enough to mean loss.
    Disorder,
    /// The window was reduced without loss (ECN marks, or the algorithm's own decision).
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

impl CaState {
    /// The names of all.
    pub const NAMES: [&'static str; 5] = [
        CaState::Open.name(),
        CaState::Disorder.name(),
        CaState::Cwr.name(),
        CaState::Recovery.name(),
        CaState::Loss.name(),
    ];
    /// The name as Linux tools print it, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            CaState::Open => "open",
            CaState::Disorder => "disorder",
            CaState::Cwr => "cwr",
            CaState::Recovery => "recovery",
            CaState::Loss => "loss",
        }
    }
}

/// The delivery rate between two moments of a connection (the estimate that BBR uses).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateSample {
    /// Octets delivered over the interval.
    pub delivered: u64,
    /// The longer of the time it took to send and to acknowledge them; zero: no sample.
    pub interval: Duration,
    /// Octets that had been delivered when the newest of them was sent.
    pub prior_delivered: u64,
    /// Octets in flight before the ACK.
    pub prior_in_flight: u64,
    /// Octets in flight when the newest of them was sent, itself included.
    pub sent_in_flight: u64,
    /// Octets lost since then.
    pub lost: u64,
    /// The sender had run out of data, so the rate may be below the path's.
    pub app_limited: bool,
}

/// A lost segment: the data in flight when it was sent, and the data lost since, both with the
/// segment itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossSample {
    /// Octets.
    pub sent_in_flight: u64,
    /// Octets.
    pub lost: u64,
}

/// The report of an ACK. Counts are in octets; offsets are those of the sender's stream (0 is the
/// SYN).
#[derive(Clone, Copy, Debug, Default)]
pub struct AckSample {
    /// When the ACK arrived.
    pub now: Instant,
    /// Octets newly acknowledged cumulatively; 0 for an ACK with new SACK information only.
    pub acked: u64,
    /// Octets newly delivered: acknowledged and not SACKed before, or SACKed.
    pub delivered: u64,
    /// Octets by which SND.UNA moved, those SACKed before included (Linux: `pkts_acked`).
    pub passed: u64,
    /// Octets delivered since the newest segment of this ACK was sent, that is the data in flight
    /// at that time.
    pub delivered_since_sent: u64,
    /// Octets delivered since the start.
    pub total_delivered: u64,
    /// Octets newly marked as lost.
    pub lost: u64,
    /// Of the newly lost segments: the first for which more than 2 % of the flight were lost since
    /// it was sent (BBR), else the last.
    pub loss: Option<LossSample>,
    /// The octets of `delivered` with a congestion mark (ECN).
    pub marked: u64,
    /// Octets in flight after the ACK.
    pub in_flight: u64,
    /// SND.UNA after the ACK.
    pub una: u64,
    /// SND.NXT when the ACK arrived, before anything new is sent.
    pub nxt: u64,
    /// Octets in flight before the ACK.
    pub flight_before: u64,
    /// The peer's window (SND.WND) \[octets\].
    pub peer_window: u64,
    /// Sender's segment size \[octets\].
    pub mss: u32,
    /// Round trip of the newest segment acknowledged, if that was sent once.
    pub rtt: Option<Duration>,
    /// Smoothed round trip.
    pub srtt: Option<Duration>,
    /// Delivery rate, where it is estimated.
    pub rate: Option<RateSample>,
    /// Data above SND.UNA is SACKed (Linux: `sacked_out`).
    pub sacked: bool,
    /// The sender's state before the ACK. Linux calls an algorithm's `pkts_acked` in it.
    pub before: CaState,
    /// The sender's state after the ACK.
    pub state: CaState,
    /// The timestamps option: the peer's clock and the echo of ours (RFC 7323), where loss recovery
    /// is RACK's.
    pub stamps: Option<Timestamps>,
    /// Duplicate ACKs directly before this ACK.
    pub dup_acks: u32,
    /// The congestion window limited the sender.
    pub cwnd_limited: bool,
    /// Loss recovery allows the window to grow; false in fast recovery.
    pub may_grow: bool,
}

impl AckSample {
    /// Delivered octets, in segments.
    #[inline]
    pub fn segments(&self) -> f64 {
        self.delivered as f64 / f64::from(self.mss.max(1))
    }
    /// Segments that SND.UNA has passed.
    #[inline]
    pub fn segments_passed(&self) -> u32 {
        (self.passed as u32).div_ceil(self.mss.max(1))
    }
    /// The sender had no room for one segment more, be it by its own window or by the peer's.
    #[inline]
    pub fn window_limited(&self) -> bool {
        self.cwnd_limited || self.flight_before + u64::from(self.mss) > self.peer_window
    }
    /// Slow start after a timeout (RFC 3465 section 2.3 limits its steps to one segment).
    #[inline]
    pub fn after_timeout(&self) -> bool {
        self.before == CaState::Loss
    }
}

/// The report of a duplicate ACK (recovery without SACK).
#[derive(Clone, Copy, Debug)]
pub struct DupAck {
    /// When it arrived.
    pub now: Instant,
    /// Its number in a row, from 1.
    pub count: u32,
    /// When the oldest outstanding segment was sent last.
    pub oldest_sent: Instant,
    /// How often it was sent.
    pub oldest_transmissions: u32,
    /// The guard against a second reduction for one window (`bugfix`) permits a reduction.
    pub guard_open: bool,
    /// The window in use, whole segments.
    pub window: u32,
}

/// The algorithm's response to a duplicate ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DupAckAction {
    /// The rule of the recovery flavour.
    Standard,
    /// Send the oldest segment again; the algorithm has set its window, inflation included.
    Retransmit,
    /// Nothing; the algorithm has set its window.
    Nothing,
}

/// The signal of congestion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signal {
    /// A lost segment.
    #[default]
    Loss,
    /// A mark (ECN).
    Ecn,
}

/// A congestion signal: a loss or a mark.
#[derive(Clone, Copy, Debug, Default)]
pub struct Congestion {
    /// When the signal came.
    pub now: Instant,
    /// The signal.
    pub signal: Signal,
    /// FlightSize in segments, as `ssthresh_basis` defines it.
    pub flight: f64,
    /// The timer expired once more for the same segment: the window was already reduced.
    pub repeated: bool,
    /// Of the segments that a timeout marks as lost, the one that [`AckSample::loss`] would name.
    /// Segments that an ACK marks as lost are in its [`AckSample`].
    pub loss: Option<LossSample>,
}

/// The values known at the end of the handshake.
#[derive(Clone, Copy, Debug)]
pub struct Established {
    /// When the handshake was done.
    pub now: Instant,
    /// The handshake's round trip, if it was measured: the SYN was sent once, or timestamps tell
    /// which one was answered (Linux).
    pub rtt: Option<Duration>,
    /// The initial window \[segments\].
    pub initial_window: f64,
    /// SND.NXT.
    pub nxt: u64,
    /// Sender's segment size [octets].
    pub mss: u32,
    /// Keys the numbers of algorithms that draw.
    pub seed: u64,
}

/// Data leaves while nothing is in flight.
#[derive(Clone, Copy, Debug)]
pub struct TransmitStart {
    /// When the data leaves.
    pub now: Instant,
    /// Since the last segment left.
    pub idle: Duration,
    /// The application had no data to send, and no ACK of data sent since then has arrived.
    pub app_limited: bool,
}

/// The timestamp clock: milliseconds (RFC 7323 section 5.4: 1 ms to 1 s), from 1 so that no
/// value is 0.
#[inline]
pub(crate) fn timestamp(now: Instant) -> u32 {
    (now.0 / 1_000_000 + 1) as u32
}

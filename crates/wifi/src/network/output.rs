//! The output of wireless LANs.

use lasthop_net::Item;
use lasthop_units::{ApId, Instant, Octets, StationId};

use crate::mac::Category;
use crate::phy::Mode;

/// An end of the link between a station and its access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// The access point.
    Ap,
    /// The station.
    Station,
}

impl End {
    /// 0 for the access point, whose direction is the downlink; 1 for the station.
    pub const fn index(self) -> usize {
        self as usize
    }
    /// The other end.
    pub const fn peer(self) -> End {
        match self {
            End::Ap => End::Station,
            End::Station => End::Ap,
        }
    }
}

/// The cause for which a packet left without being delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DropCause {
    /// The queue was full.
    QueueFull,
    /// Active queue management dropped it.
    Aqm,
    /// It was in the MAC for longer than the lifetime.
    Lifetime,
    /// Its MPDU was sent as often as the retry limit allows.
    RetryLimit,
    /// It arrived after the recipient had stopped waiting for it (`reorder_timeout`).
    Late,
}

impl DropCause {
    /// The name in tables (`drops.cause`).
    pub const fn name(self) -> &'static str {
        match self {
            DropCause::QueueFull => "queue-full",
            DropCause::Aqm => "aqm",
            DropCause::Lifetime => "lifetime",
            DropCause::RetryLimit => "retry-limit",
            DropCause::Late => "late",
        }
    }
}

/// An event of a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WlanEvent {
    /// It is associated.
    Associated,
    /// A frame of its association was discarded; the association begins again.
    AssociationFailed,
    /// A block ack agreement is in place for the data of this end in this category.
    BlockAck(End, Category),
}

impl WlanEvent {
    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            WlanEvent::Associated => "associated",
            WlanEvent::AssociationFailed => "association-failed",
            WlanEvent::BlockAck(..) => "block-ack-agreement",
        }
    }
}

/// A frame that was transmitted.
#[derive(Clone, Debug)]
pub struct NotedFrame {
    /// When its PPDU began and ended.
    pub times: [Instant; 2],
    /// The network.
    pub ap: ApId,
    /// True if the access point has sent it.
    pub from_ap: bool,
    /// Rate.
    pub mode: Mode,
    /// Number of its A-MPDU, if it is in one, and whether it is the last in it.
    pub ampdu: Option<(u32, bool)>,
    /// True if the addressee has decoded it; unknown for group-addressed frames.
    pub received: Option<bool>,
    /// True if it was sent before.
    pub retry: bool,
    /// The octets, without the frame check sequence.
    pub octets: Octets,
}

/// The output of a call. The caller drains it and passes it again.
#[derive(Clone, Debug, Default)]
pub struct WlanOutput {
    /// Packets that have arrived at this end. Their ECN codepoint may have been set to congestion
    /// experienced.
    pub delivered: Vec<(StationId, End, Item)>,
    /// Packets that this end had to send and dropped, with time and cause.
    pub dropped: Vec<(StationId, End, Instant, Item, DropCause)>,
    /// Events.
    pub events: Vec<(StationId, WlanEvent)>,
    /// Transmitted frames, if the network is configured to record them.
    pub noted: Vec<NotedFrame>,
}

/// Counters of an end of a link since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkStats {
    /// Data PPDUs sent.
    pub ppdus: u64,
    /// MPDUs in them, retransmissions included.
    pub mpdus: u64,
    /// Number of these that were not acknowledged.
    pub failed: u64,
    /// Data PPDUs and RTS without a response.
    pub unanswered: u64,
    /// IP bytes that have arrived at the other end.
    pub bytes: u64,
    /// Airtime of PPDUs with data, their responses, RTS and CTS [ns].
    pub airtime: u64,
    /// Sum over data PPDUs of their rate [bit/s].
    pub rate_sum: f64,
    /// Sum over data PPDUs of their MCS.
    pub mcs_sum: u64,
}

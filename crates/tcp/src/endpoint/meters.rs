//! Events for the caller, counters, and the times by the limit of a sender (Linux' tcp_chrono).

use std::collections::VecDeque;

use lasthop_units::{Duration, Instant};

/// Why a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CloseReason {
    /// Both sides closed and all data was acknowledged.
    Finished,
    /// The application aborted.
    Aborted,
    /// The limit of retransmissions in a row was reached (RFC 9293 section 3.8.3).
    TimedOut,
}

/// An event of the connection, for probes and applications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The handshake is done.
    Established,
    /// The peer has no more data to send, and all of its data has been received.
    PeerClosed,
    /// The retransmission timer expired.
    RtoFired {
        /// How many times in a row, from 1.
        count: u32,
    },
    /// The last timeout was spurious: the original was acknowledged, not the retransmission (as by
    /// RFC 3522's timestamps, or sooner than the smallest round trip allows). Nothing is
    /// undone.
    SpuriousRto,
    /// A segment was sent again without a timeout.
    FastRetransmit,
    /// Fast recovery began.
    RecoveryEntered,
    /// Recovery, fast or after a timeout, ended.
    RecoveryExited,
    /// The window was reduced because of congestion marks (ECN), without a loss.
    MarkReduction,
    /// A zero window was probed.
    ZeroWindowProbe,
    /// With `ack_ahead`: octets that have not arrived were given up, because later ones have.
    Skipped {
        /// How many.
        octets: u64,
    },
    /// The connection is over.
    Closed(CloseReason),
    /// The peer reset the connection.
    Reset,
}

/// Counts since the start of the connection. Those that change with each segment are not beside
/// each other: the compiler would add to two in one register of vectors, which takes more
/// instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Segments that left, of any kind.
    pub segments_sent: u64,
    /// Octets of our stream acknowledged, SYN excluded.
    pub octets_acked: u64,
    /// Segments with data or FIN that left, retransmissions included.
    pub data_segments_sent: u64,
    /// Octets reported by SACK for the first time.
    pub sacked_octets: u64,
    /// Octets of data that left, retransmissions included.
    pub octets_sent: u64,
    /// Segments that arrived, of any kind, duplicates included.
    pub segments_received: u64,
    /// Segments with data of which every octet had arrived before.
    pub duplicate_segments_received: u64,
    /// Retransmission timeouts, the SYN's included.
    pub timeouts: u64,
    /// Timeouts after which an ACK showed that the original had arrived.
    pub spurious_timeouts: u64,
    /// Entries into fast recovery.
    pub fast_retransmits: u64,
    /// Retransmitted segments, for any reason.
    pub retransmitted_segments: u64,
    /// Octets of data sent again.
    pub retransmitted_octets: u64,
    /// Duplicate ACKs received and counted as such.
    pub dup_acks_received: u64,
    /// Duplicate ACKs sent: immediate ACKs of out-of-order data.
    pub dup_acks_sent: u64,
    /// Duplicates that the peer reported (RFC 2883).
    pub dsacks_received: u64,
    /// Reductions undone because they were spurious.
    pub undone: u64,
    /// Of these: reductions by a timeout.
    pub undone_timeouts: u64,
    /// Tail loss probes (RFC 8985 section 7).
    pub loss_probes: u64,
    /// Round-trip samples taken.
    pub rtt_samples: u64,
    /// Segments that arrived with a congestion mark, where ECN was agreed on.
    pub ce_received: u64,
    /// Data of this end that the peer reported as marked, in segments (Linux: `tcpi_delivered_ce`).
    pub delivered_ce: u64,
    /// Reductions because of marks alone.
    pub mark_reductions: u64,
}

/// Events kept for a caller that does not read them; the oldest are dropped beyond.
const EVENTS_MAX: usize = 1024;

/// Counters, events and times.
#[derive(Clone, Debug, Default)]
pub(super) struct Meters {
    pub counters: Counters,
    pub events: VecDeque<Event>,
    pub chrono: Chrono,
}

impl Meters {
    pub fn emit(&mut self, event: Event) {
        if self.events.len() == EVENTS_MAX {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    /// A segment of `len` octets of data, or a FIN, leaves.
    #[inline]
    pub const fn data_sent(&mut self, len: u32) {
        self.counters.octets_sent += len as u64;
        self.counters.data_segments_sent += 1;
    }
}

/// What the sender is doing; a later one hides an earlier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Activity {
    #[default]
    Idle,
    Busy,
    WindowLimited,
    BufferLimited,
}

/// The account.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chrono {
    now: Activity,
    since: Instant,
    spent: [Duration; 4],
    /// The application tried to write more than it could.
    pub wants_room: bool,
}

impl Chrono {
    fn switch(&mut self, now: Instant, to: Activity) {
        self.spent[self.now as usize] += now.since(self.since);
        (self.now, self.since) = (to, now);
    }

    pub fn start(&mut self, now: Instant, what: Activity) {
        if what > self.now {
            self.switch(now, what);
        }
    }

    /// The limit `what` has ended; with `empty` no data is queued.
    pub fn stop(&mut self, now: Instant, what: Activity, empty: bool) {
        if empty {
            self.switch(now, Activity::Idle);
        } else if what == self.now {
            self.switch(now, Activity::Busy);
        }
    }

    /// The busy time with the waits for the window and for the buffer, and these two waits.
    pub fn limited(&self, now: Instant) -> (Duration, Duration, Duration) {
        let t = |what| self.total(what, now);
        let (window, buffer) = (t(Activity::WindowLimited), t(Activity::BufferLimited));
        (t(Activity::Busy) + window + buffer, window, buffer)
    }

    fn total(&self, what: Activity, now: Instant) -> Duration {
        let running = if self.now == what { now.since(self.since) } else { Duration::ZERO };
        self.spent[what as usize] + running
    }
}

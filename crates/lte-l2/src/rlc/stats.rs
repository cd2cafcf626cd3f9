//! Counters of an entity since it was set up.

/// Counters of an RLC entity; a re-establishment does not reset them. `duplicates`,
/// `out_of_window`, `status_overtaken`, `sdus_broken`, `unmarked_starts` and `unmarked_ends` are
/// for users of the crate, who attach entities of other implementations: table `rlc` of a run has
/// no column of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RlcStats {
    /// SDUs pushed into the entity.
    pub sdus_in: u64,
    /// SDUs delivered to upper layers.
    pub sdus_out: u64,
    /// SDUs dropped in the transmission buffer, for any cause.
    pub sdus_dropped: u64,
    /// SDUs discarded at the request of upper layers.
    pub sdus_discarded: u64,
    /// Data PDUs sent for the first time.
    pub pdus_new: u64,
    /// Data PDUs and segments sent again.
    pub pdus_retx: u64,
    /// Of these, AMD PDU segments.
    pub segments_retx: u64,
    /// STATUS PDUs sent.
    pub status_sent: u64,
    /// PDUs sent with a poll.
    pub polls: u64,
    /// Bytes of all PDUs sent, headers included [B].
    pub bytes_sent: u64,
    /// Data PDUs and segments received.
    pub pdus_received: u64,
    /// STATUS PDUs received and processed.
    pub status_received: u64,
    /// Data PDUs received before. In AM a PDU outside the receiving window is one, if its SN was in
    /// the window once and the highest SN received leaves it in the sender's window.
    pub duplicates: u64,
    /// Data PDUs (AM) that no sender inside its own window sends: outside the receiving window,
    /// with an SN that has never been in it, or that is more than AM_Window_Size below the highest
    /// received. A late copy that AM_Window_Size other PDUs overtook counts here too. While no SN
    /// is missing, PDUs that a sender sends beyond the window have the SNs of possible duplicates,
    /// and count as duplicates.
    pub out_of_window: u64,
    /// PDUs with invalid contents (TS 36.322 clause 5.5).
    pub invalid_received: u64,
    /// STATUS PDUs with an ACK_SN that was acknowledged before: a newer report has overtaken them.
    /// They change nothing.
    pub status_overtaken: u64,
    /// SDUs of which a beginning was received but not the rest.
    pub sdus_broken: u64,
    /// Segments (AM) that begin an SDU although their framing info says otherwise. They are
    /// accepted: the octet after the end of an SDU is the first of the next (TS 36.322 clause
    /// 6.2.2.6).
    pub unmarked_starts: u64,
    /// SDUs (AM) whose last octet the framing info does not mark. They are delivered when the next
    /// SDU begins: the octet before its first is the last of another (TS 36.322 clause 6.2.2.6).
    pub unmarked_ends: u64,
    /// Expiries of t-PollRetransmit.
    pub poll_timeouts: u64,
    /// Expiries of t-Reordering.
    pub reordering_timeouts: u64,
    /// Number of times that maxRetxThreshold was reached.
    pub failures: u64,
    /// Re-establishments.
    pub reestablishments: u64,
}

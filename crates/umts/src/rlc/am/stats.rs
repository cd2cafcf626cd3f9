//! Counters of an acknowledged mode entity.

/// Counters of one entity, as sender and as receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AmStats {
    /// SDUs accepted from the layer above.
    pub sdus_in: u64,
    /// Their bytes.
    pub bytes_in: u64,
    /// SDUs delivered to the layer above.
    pub sdus_out: u64,
    /// Their bytes.
    pub bytes_out: u64,
    /// SDUs discarded, for any cause.
    pub sdus_discarded: u64,
    /// Data PDUs sent for the first time.
    pub pdus_new: u64,
    /// Data PDUs sent again.
    pub pdus_retx: u64,
    /// STATUS PDUs sent, piggybacked ones included.
    pub status_pdus: u64,
    /// Polls sent.
    pub polls: u64,
    /// Reset procedures started.
    pub resets: u64,
    /// Data PDUs received that were new.
    pub pdus_received: u64,
    /// Data PDUs received that were received before, or are outside the window.
    pub duplicates: u64,
    /// Reports of missing PDUs that the guard suppressed.
    pub nacks_suppressed: u64,
    /// STATUS PDUs that named sequence numbers outside the window and were ignored.
    pub status_ignored: u64,
}

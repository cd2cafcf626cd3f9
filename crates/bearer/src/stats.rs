//! Counters of RLC for all generations.

/// Counters that all modes share; zero where a mode does not have the counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RlcStats {
    /// SDUs that were never sent.
    pub queue_sdus: u64,
    /// Bytes that were never sent.
    pub queue_bytes: u64,
    /// SDUs accepted from above.
    pub sdus_in: u64,
    /// SDUs delivered by this entity (of the opposite direction).
    pub sdus_out: u64,
    /// SDUs discarded.
    pub sdus_discarded: u64,
    /// Data PDUs sent for the first time.
    pub pdus_new: u64,
    /// Data PDUs sent again.
    pub pdus_retx: u64,
    /// STATUS PDUs sent.
    pub status_pdus: u64,
    /// Polls sent.
    pub polls: u64,
    /// PDUs of the transmission window in use.
    pub window_used: u64,
    /// Reset procedures started.
    pub resets: u64,
    /// SDUs that an active queue management marked (ECN).
    pub marked: u64,
}

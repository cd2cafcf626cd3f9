//! What loss detection keeps beside the marks, so that an ACK need not visit all of them.

use std::collections::VecDeque;

use lasthop_units::Instant;

/// State beside the marks.
#[derive(Clone, Debug, Default)]
pub(super) struct Pending {
    /// Marks that have left: the number of the oldest one that is there.
    pub(super) gone: u64,
    /// One past the highest SACKed mark; 0: none is.
    pub(super) sacked_to: usize,
    /// Every mark below is SACKed, lost or, where losses are found by time, sent again.
    pub(super) judged_to: usize,
    /// Retransmissions in the order of time: when, and the mark's number. Those that were delivered
    /// or lost since then are still in it.
    pub(super) resent: VecDeque<(Instant, u64)>,
    /// Retransmissions that are missing in it may be in flight.
    pub(super) incomplete: bool,
    /// Marks to be taken for lost; reused between calls.
    pub(super) overtaken: Vec<usize>,
}

impl Pending {
    pub fn mark_sacked(&mut self, i: usize) {
        self.sacked_to = self.sacked_to.max(i + 1);
    }
    pub fn pop(&mut self) {
        self.gone += 1;
        self.sacked_to = self.sacked_to.saturating_sub(1);
        self.judged_to = self.judged_to.saturating_sub(1);
    }
    /// The place of mark `number`, which may have left.
    pub fn place(&self, number: u64) -> Option<usize> {
        number.checked_sub(self.gone).map(|i| i as usize)
    }
    /// Marks all as lost: no retransmission is in flight any more; with `forget`, SACK information
    /// is discarded.
    pub fn lose_everything(&mut self, forget: bool) {
        self.resent.clear();
        if forget {
            self.sacked_to = 0;
        }
    }
    /// What was lost is in flight, retransmissions among it.
    pub fn unlose(&mut self) {
        self.judged_to = 0;
        self.incomplete = true;
    }
}

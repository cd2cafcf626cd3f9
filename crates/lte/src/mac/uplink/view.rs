//! The eNB's record of a UE's buffers: the last report, less the grants since it was composed.

use lasthop_units::Tti;

use crate::mac::bsr;
use crate::mac::bsr::{GROUPS, Report};

/// Number of stored grants: a report is received some TTIs after it was composed, without the
/// grants of that time.
const MEMORY: usize = 16;

/// The eNB's record of the uplink buffers of a UE (last BSR less later grants).
#[derive(Clone, Debug, Default)]
pub struct BufferView {
    /// Bytes by group as last reported [B].
    reported: [u32; GROUPS],
    /// Bytes granted for TTIs after the one of the report [B].
    granted: u64,
    /// The last grants: TTI of the transmission, and bytes for data.
    grants: [(Tti, u32); MEMORY],
    next: usize,
    /// A scheduling request was received, and no grant was sent since.
    requested: bool,
    /// The UE monitors the PDCCH for a grant: its scheduling request is pending, or its random
    /// access ends with the grant (TS 36.321 clause 5.7).
    awaited: bool,
    /// The UE has so awaited the last grant.
    answered: bool,
    /// The last TTI for which a grant was sent.
    granted_until: Option<Tti>,
}

impl BufferView {
    /// Takes in a report that was composed for the transport block of TTI `written`.
    pub fn on_report(&mut self, written: Tti, report: Report) {
        match report {
            Report::Long(levels) => self.reported = levels.map(bsr::bytes),
            Report::Short { group, level } => {
                // TS 36.321 clause 5.4.5: a short report is sent when no other group has data.
                self.reported = [0; GROUPS];
                self.reported[usize::from(group) % GROUPS] = bsr::bytes(level);
            }
            // The other groups have data of unreported size: their records stay.
            Report::Truncated { group, level } => {
                self.reported[usize::from(group) % GROUPS] = bsr::bytes(level);
            }
        }
        let since = self.grants.iter().filter(|(tti, _)| *tti > written);
        self.granted = since.map(|(_, bytes)| u64::from(*bytes)).sum();
    }

    /// Sets the record to `bytes`, regardless of earlier grants.
    pub fn replace(&mut self, bytes: u32) {
        self.reported = [0; GROUPS];
        self.reported[0] = bytes;
        self.granted = 0;
    }

    /// Takes in a scheduling request that was sent in `sent`. One that was sent before the TTI of a
    /// grant has no effect.
    pub fn on_request(&mut self, sent: Tti) {
        if self.granted_until.is_none_or(|t| t < sent) {
            self.requested = true;
            self.awaited = true;
        }
    }

    /// A grant is due regardless of the reports: after a scheduling request, or at the end of a
    /// random access.
    pub const fn request(&mut self) {
        self.requested = true;
    }

    /// The UE monitors the PDCCH until the next grant: its random access ends with it.
    pub const fn await_grant(&mut self) {
        self.awaited = true;
    }

    /// Takes in a grant of `bytes` for data in `tti`.
    pub fn on_grant(&mut self, tti: Tti, bytes: u32) {
        self.granted += u64::from(bytes);
        self.grants[self.next] = (tti, bytes);
        self.next = (self.next + 1) % MEMORY;
        self.requested = false;
        self.answered = std::mem::take(&mut self.awaited);
        self.granted_until = Some(tti);
    }

    /// No block was received on the grant for `tti`: its bytes count as waiting again, and the UE
    /// still needs a grant.
    pub fn on_nothing(&mut self, tti: Tti) {
        if let Some((_, bytes)) = self.grants.iter_mut().find(|(t, bytes)| *t == tti && *bytes > 0) {
            self.granted = self.granted.saturating_sub(u64::from(std::mem::take(bytes)));
        }
        self.requested |= self.waiting() == 0;
        // The request that the grant was to answer is still pending.
        self.awaited |= self.answered && self.granted_until == Some(tti);
    }

    /// Bytes in the record without a grant [B].
    pub fn waiting(&self) -> u64 {
        let reported: u64 = self.reported.iter().map(|b| u64::from(*b)).sum();
        reported.saturating_sub(self.granted)
    }

    /// True if the UE has requested a grant.
    pub const fn is_requested(&self) -> bool {
        self.requested
    }

    /// True while the UE monitors the PDCCH for a grant, whatever its DRX cycle.
    pub const fn is_awaited(&self) -> bool {
        self.awaited
    }

    /// The last TTI for which a grant was sent.
    pub const fn granted_until(&self) -> Option<Tti> {
        self.granted_until
    }

    /// True if there is a grant for a TTI after `tti`.
    pub fn is_granted_after(&self, tti: Tti) -> bool {
        self.granted_until.is_some_and(|t| t > tti)
    }

    /// Clears the record: MAC was reset.
    pub fn reset(&mut self) {
        *self = BufferView::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(bytes: u64) -> Report {
        Report::Short { group: 0, level: bsr::level(bytes) }
    }

    /// 5000 B are level 42, at most 5476 B. The report is composed in TTI 10 and received in 14;
    /// 1000 B were granted for each of 9 to 13: those of 11, 12 and 13 are subtracted.
    #[test]
    fn grants_since_the_report_was_composed_are_subtracted() {
        let mut view = BufferView::default();
        for tti in 9..=13 {
            view.on_grant(Tti(tti), 1000);
        }
        view.on_report(Tti(10), short(5000));
        assert_eq!(view.waiting(), 5476 - 3000);
        view.on_grant(Tti(18), 2476);
        assert_eq!(view.waiting(), 0);
        view.on_grant(Tti(19), 10);
        assert_eq!(view.waiting(), 0, "padding");
        view.on_report(Tti(19), short(0));
        assert_eq!(view.waiting(), 0);
    }

    /// 5000 B are level 42, at most 5476 B; a grant of 1000 B that the UE did not receive is not
    /// subtracted, also for a later report.
    #[test]
    fn a_grant_without_a_block_is_taken_back() {
        let mut view = BufferView::default();
        view.on_report(Tti(10), short(5000));
        view.on_grant(Tti(14), 1000);
        view.on_grant(Tti(15), 1000);
        view.on_nothing(Tti(14));
        assert_eq!((view.waiting(), view.is_requested()), (4476, false));
        view.on_report(Tti(13), short(5000));
        assert_eq!(view.waiting(), 4476);
        // The answer to a request: no data is known, and the request is repeated.
        let mut view = BufferView::default();
        view.on_request(Tti(3));
        view.on_grant(Tti(11), 28);
        view.on_nothing(Tti(11));
        assert!(view.is_requested());
    }

    #[test]
    fn groups_add_up_and_a_truncated_report_leaves_the_others() {
        let mut view = BufferView::default();
        view.on_report(Tti(0), Report::Long([1, 0, 3, 0]));
        assert_eq!(view.waiting(), 10 + 14);
        view.on_report(Tti(5), Report::Truncated { group: 1, level: 2 });
        assert_eq!(view.waiting(), 10 + 12 + 14);
        view.on_report(Tti(6), Report::Short { group: 2, level: 1 });
        assert_eq!(view.waiting(), 10);
    }

    #[test]
    fn a_request_sent_before_the_granted_block_is_answered_already() {
        let mut view = BufferView::default();
        view.on_request(Tti(3));
        assert!(view.is_requested());
        view.on_grant(Tti(11), 28);
        view.on_request(Tti(4));
        view.on_request(Tti(11));
        assert!(!view.is_requested());
        view.on_request(Tti(12));
        assert!(view.is_requested());
    }

    /// TS 36.321 clause 5.7: a pending scheduling request is in the Active Time; other reasons for
    /// a grant are not. A grant that the UE has not received leaves its request pending.
    #[test]
    fn a_pending_request_keeps_a_ue_awake() {
        let mut view = BufferView::default();
        view.request();
        assert!(!view.is_awaited());
        view.on_request(Tti(3));
        assert!(view.is_awaited());
        view.on_grant(Tti(11), 28);
        assert!(!view.is_awaited());
        view.on_nothing(Tti(11));
        assert!(view.is_awaited());
        view.on_grant(Tti(19), 28);
        view.on_report(Tti(19), short(5000));
        view.on_grant(Tti(27), 1000);
        view.on_nothing(Tti(27));
        assert!(!view.is_awaited(), "the request was answered in TTI 19");
    }
}

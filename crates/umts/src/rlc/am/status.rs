//! Triggers of status reports (TS 25.322 clause 9.7.2).

use lasthop_units::Instant;

use super::{AmConfig, or_never};

/// Decides when the receiver reports.
#[derive(Clone, Debug, Default)]
pub(super) struct Reporter {
    /// A report was triggered and is not sent.
    wanted: bool,
    /// Expiry of Timer_Status_Prohibit.
    prohibited_until: Instant,
    /// Expiry of Timer_Status_Periodic.
    periodic: Option<Instant>,
    /// True if a PDU has arrived since the last periodic report.
    active: bool,
}

impl Reporter {
    /// Triggers a report. Any number of triggers causes one report.
    pub fn trigger(&mut self) {
        self.wanted = true;
    }

    /// Records that a PDU has arrived: Timer_Status_Periodic runs while PDUs arrive or are missing.
    #[inline]
    pub fn on_pdu(&mut self, now: Instant, cfg: &AmConfig) {
        if !cfg.timer_status_periodic.is_zero() {
            self.active = true;
            self.periodic.get_or_insert(now + cfg.timer_status_periodic);
        }
    }

    /// True if a report may be sent. Clause 9.7.2: a report that was triggered while
    /// Timer_Status_Prohibit runs is sent when it has expired.
    #[inline]
    pub fn is_due(&self, now: Instant) -> bool {
        self.wanted && now >= self.prohibited_until
    }

    /// Records that the report is passed to MAC: Timer_Status_Prohibit starts (clause 9.5 f).
    pub fn sent(&mut self, now: Instant, cfg: &AmConfig) {
        self.wanted = false;
        self.prohibited_until = now + cfg.timer_status_prohibit;
    }

    pub fn on_time(&mut self, now: Instant, cfg: &AmConfig, missing: bool) {
        if self.periodic.is_some_and(|t| t <= now) {
            self.wanted = true;
            self.periodic = (self.active || missing).then(|| now + cfg.timer_status_periodic);
            self.active = false;
        }
    }

    /// The next moment at which the state of this object changes; [`Instant::MAX`] for never.
    #[inline]
    pub fn poll_at(&self, now: Instant) -> Instant {
        let blocked = self.wanted && now < self.prohibited_until;
        let prohibit = if blocked { self.prohibited_until } else { Instant::MAX };
        prohibit.min(or_never(self.periodic))
    }
}

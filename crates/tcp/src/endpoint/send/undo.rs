//! Detection of spurious reductions: DSACK (RFC 3708), timestamps (RFC 3522).

/// The state of a reduction while it can be undone.
#[derive(Clone, Copy, Debug, Default)]
pub struct Undo {
    /// Set while the reduction can still be undone: SND.UNA at its start.
    pub una: Option<u64>,
    /// Retransmissions not yet known to have been superfluous; `None` before the first.
    resent: Option<u32>,
    /// The first retransmission's timestamp clock.
    pub first_resent: Option<u32>,
    /// cwnd and ssthresh before the reduction; `None` (prior_ssthresh 0) if congestion is certain,
    /// so that nothing is restored.
    pub prior: Option<(f64, f64)>,
}

impl Undo {
    /// A reduction begins, with this number of retransmissions in flight.
    pub fn begin(&mut self, resent: u32, una: u64, prior: Option<(f64, f64)>) {
        self.una = Some(una);
        self.resent = (resent > 0).then_some(resent);
        self.prior = prior;
    }

    /// A retransmission leaves at this moment of the timestamp clock.
    pub fn sent_again(&mut self, clock: u32) {
        self.first_resent.get_or_insert(clock);
        self.resent = Some(self.resent.unwrap_or(0) + 1);
    }

    /// The peer reports a duplicate of a number of segments that begins at `start` (RFC 2883).
    pub fn take_duplicate(&mut self, start: i64, segments: u64) {
        if self.una.is_some_and(|una| start >= una as i64)
            && let Some(n) = self.resent.as_mut()
        {
            *n = n.saturating_sub(segments.min(u64::from(u32::MAX)) as u32);
        }
    }

    /// True if all retransmissions were superfluous.
    pub fn is_superfluous(&self) -> bool {
        self.resent == Some(0)
    }

    /// Eifel detection (RFC 3522): the ACK echoes a time before the first retransmission.
    pub fn is_late(&self, echo: Option<u32>) -> bool {
        echo.is_some_and(|echo| self.first_resent.is_some_and(|first| (echo.wrapping_sub(first) as i32) < 0))
    }
}

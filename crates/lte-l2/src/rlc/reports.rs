//! MAC's view of an entity that reports its buffers only at events, as ns-3's RLC does.
//!
//! By the standard, MAC can read an entity's buffer status at any time. LENA's entity sends a
//! report when an SDU arrives, when a poll requests a status report, when t-PollRetransmit expires,
//! and after a time without any of these. MAC keeps the last report and subtracts what it grants.
//! So MAC may grant for data that are sent already, or grant nothing for data that wait.

use lasthop_units::{Duration, Instant};

use super::BufferStatus;

/// The last report, less the bytes that MAC has granted since.
#[derive(Clone, Debug)]
pub struct Reports {
    status: u32,
    retransmission: u64,
    new_data: u64,
    /// A report was made after the last one that MAC passed on.
    fresh: bool,
    /// When the entity reports again without another event.
    timer: Option<Instant>,
    period: Duration,
}

/// LteRlcAm and LteRlcUm write this many bytes for a status report without NACKs into their
/// reports.
pub(super) const STATUS_BYTES: u32 = 4;
/// MAC's estimate of the header of a data PDU [B].
const OVERHEAD: u64 = 2;
/// A UE's MAC gives data no opportunity of this size or smaller [B].
const LEAST_OPPORTUNITY: u32 = 7;

impl Reports {
    /// Nothing has been reported. `period`: the time until the next report if there is no other
    /// event.
    pub(super) const fn new(period: Duration) -> Reports {
        Reports { status: 0, retransmission: 0, new_data: 0, fresh: false, timer: None, period }
    }

    /// Replaces the last report.
    pub(super) const fn report(&mut self, now: BufferStatus) {
        self.status = now.status;
        self.retransmission = now.retransmission as u64;
        self.new_data = now.new_data;
        self.fresh = true;
    }

    /// Starts or restarts the timer.
    pub(super) fn start_timer(&mut self, now: Instant) {
        self.timer = Some(now + self.period);
    }
    /// Stops the timer.
    pub(super) const fn stop_timer(&mut self) {
        self.timer = None;
    }
    /// When the timer expires.
    pub(super) const fn timer(&self) -> Option<Instant> {
        self.timer
    }

    /// Data that MAC assumes to wait in the entity [B].
    pub const fn total(&self) -> u64 {
        self.status as u64 + self.retransmission + self.new_data
    }

    /// True once after each report: a UE's MAC passes it on to the eNB.
    pub const fn take_fresh(&mut self) -> bool {
        std::mem::replace(&mut self.fresh, false)
    }

    /// Subtracts `bytes` that the eNB's scheduler grants (UpdateDlRlcBufferInfo of LENA's
    /// schedulers): from the first of status, retransmission and new data that they cover.
    pub(super) fn grant_at_enb(&mut self, bytes: u32) {
        if self.status > 0 && bytes >= self.status {
            self.status = 0;
        } else if self.retransmission > 0 && u64::from(bytes) >= self.retransmission {
            self.retransmission = 0;
        } else {
            self.new_data = self.new_data.saturating_sub(u64::from(bytes).saturating_sub(OVERHEAD));
        }
    }

    /// The separate opportunity for a status report that a UE's MAC takes out of `bytes` [B].
    pub(super) const fn status_opportunity(&mut self, bytes: u32) -> Option<u32> {
        let size = self.status;
        if size == 0 || bytes <= size {
            return None;
        }
        self.status = 0;
        Some(size)
    }

    /// True if a UE's MAC gives the rest of a grant, `bytes`, to data. If the rest is too small,
    /// the entity reports again.
    pub(super) fn data_opportunity(&mut self, bytes: u32) -> bool {
        if self.retransmission == 0 && self.new_data == 0 {
            return false;
        }
        if bytes <= LEAST_OPPORTUNITY {
            self.fresh = true;
            return false;
        }
        let bytes = u64::from(bytes);
        if self.retransmission > 0 {
            self.retransmission = self.retransmission.saturating_sub(bytes);
        } else {
            self.new_data = self.new_data.saturating_sub(bytes - OVERHEAD);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(status: u32, retransmission: u32, new_data: u64) -> Reports {
        let mut r = Reports::new(Duration::from_millis(20));
        r.report(BufferStatus { status, retransmission, new_data });
        r
    }

    /// LENA's UpdateDlRlcBufferInfo, three branches: one opportunity clears one of the three.
    #[test]
    fn an_opportunity_of_the_enb_settles_one_queue() {
        let mut r = reported(4, 500, 1000);
        r.grant_at_enb(9422);
        assert_eq!(r.total(), 1500);
        r.grant_at_enb(9422);
        assert_eq!(r.total(), 1000);
        r.grant_at_enb(502);
        assert_eq!(r.total(), 500);
        // Unacknowledged data exceeds the opportunity: new data is subtracted first.
        let mut r = reported(0, 20_000, 3000);
        r.grant_at_enb(2002);
        assert_eq!(r.total(), 21_000);
        r.grant_at_enb(2002);
        r.grant_at_enb(2002);
        assert_eq!(r.total(), 20_000, "nothing is left that the opportunity covers");
    }

    /// LteUeMac::DoReceiveLteControlMessage: the status report has an opportunity of its size, data
    /// the rest.
    #[test]
    fn a_ue_sends_a_status_report_beside_data() {
        let mut r = reported(4, 0, 100);
        assert!(r.take_fresh() && !r.take_fresh());
        assert_eq!(r.status_opportunity(50), Some(4));
        assert!(r.data_opportunity(46));
        assert_eq!(r.total(), 100 - 44);
        assert!(!r.data_opportunity(7) && r.take_fresh());
        assert_eq!(reported(4, 0, 0).status_opportunity(4), None);
    }
}

//! MAC's view of an entity that reports its buffers only at events, as ns-3's RLC does.
//!
//! An entity of the standard is asked for its buffer status whenever MAC needs it. LENA's entity
//! sends a report when an SDU arrives, when a poll asks for a status report, when t-PollRetransmit
//! expires, and after a while without any of these. MAC keeps the last report and subtracts what it
//! grants. So MAC grants for data that are sent already, or grants nothing for data that wait.

use lasthop_units::{Duration, Instant};

use super::BufferStatus;

/// The last report, less what MAC has granted since.
#[derive(Clone, Debug)]
pub struct Reports {
    status: u32,
    retransmission: u64,
    new_data: u64,
    /// A report was made since MAC last passed one on.
    fresh: bool,
    /// When the entity reports again without another event.
    timer: Option<Instant>,
    period: Duration,
}

/// LteRlcAm and LteRlcUm write this many bytes for a status report without NACKs into their
/// reports.
pub(super) const STATUS_BYTES: u32 = 4;
/// What MAC takes the header of a data PDU for.
const OVERHEAD: u64 = 2;
/// A UE's MAC gives data no opportunity of so many bytes or fewer.
const LEAST_OPPORTUNITY: u32 = 7;

impl Reports {
    /// Nothing has been reported. `period`: without an event the next report follows after so long.
    pub(super) const fn new(period: Duration) -> Reports {
        Reports { status: 0, retransmission: 0, new_data: 0, fresh: false, timer: None, period }
    }

    /// A report replaces the one before.
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

    /// What MAC takes the entity to want [B].
    pub const fn total(&self) -> u64 {
        self.status as u64 + self.retransmission + self.new_data
    }

    /// True once after each report: a UE's MAC passes it on to the eNB.
    pub const fn take_fresh(&mut self) -> bool {
        std::mem::replace(&mut self.fresh, false)
    }

    /// The eNB's scheduler gives the entity `bytes` (UpdateDlRlcBufferInfo of LENA's schedulers):
    /// they go to the first of status, retransmission and new data that they cover.
    pub(super) fn grant_at_enb(&mut self, bytes: u32) {
        if self.status > 0 && bytes >= self.status {
            self.status = 0;
        } else if self.retransmission > 0 && u64::from(bytes) >= self.retransmission {
            self.retransmission = 0;
        } else {
            self.new_data = self.new_data.saturating_sub(u64::from(bytes).saturating_sub(OVERHEAD));
        }
    }

    /// The opportunity of its own that a UE's MAC gives a status report out of `bytes` [B].
    pub(super) const fn status_opportunity(&mut self, bytes: u32) -> Option<u32> {
        let size = self.status;
        if size == 0 || bytes <= size {
            return None;
        }
        self.status = 0;
        Some(size)
    }

    /// True if a UE's MAC gives the rest of a grant, `bytes`, to data. Too small a rest is reported
    /// again.
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

    /// LENA's UpdateDlRlcBufferInfo, three branches: one opportunity settles one of the three.
    #[test]
    fn an_opportunity_of_the_enb_settles_one_queue() {
        let mut r = reported(4, 500, 1000);
        r.grant_at_enb(9422);
        assert_eq!(r.total(), 1500);
        r.grant_at_enb(9422);
        assert_eq!(r.total(), 1000);
        r.grant_at_enb(502);
        assert_eq!(r.total(), 500);
        // What is in flight is more than the opportunity: new data is settled first.
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

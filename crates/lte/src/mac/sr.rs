//! Scheduling requests: one bit on PUCCH by which a UE without a grant requests one (TS 36.321
//! v15.1.0 clause 5.4.4), at the opportunities of TS 36.213 clause 10.1.5.

use lasthop_units::{Duration, Tti};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use lasthop_bearer::require;
use lasthop_bearer::{ConfigError, Warning};

/// Scheduling requests as RRC configures them (TS 36.331 clause 6.3.2, SchedulingRequestConfig and
/// MAC-MainConfig).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SrConfig {
    /// Time between the opportunities of a UE: 1, 2, 5, 10, 20, 40 or 80 ms. The opportunities of a
    /// cell's UEs are spread over it.
    pub period: Duration,
    /// dsr-TransMax: after this many requests without a grant the UE starts random access: 4, 8,
    /// 16, 32 or 64.
    pub trans_max: u32,
    /// sr-ProhibitTimer: least time between two requests, in periods, 0 to 7.
    pub prohibit_periods: u64,
}

impl Default for SrConfig {
    /// 10 ms as in the latency budget of TR 36.881; dsr-TransMax and prohibit timer of TS 36.508
    /// clause 4.8.2.1.5.
    fn default() -> Self {
        SrConfig { period: Duration::from_millis(10), trans_max: 64, prohibit_periods: 0 }
    }
}

impl SrConfig {
    /// Refuses values that no RRC message can carry.
    pub fn validate(&self) -> Result<Vec<Warning>, ConfigError> {
        require(
            PERIODS.iter().any(|(period, _)| Duration::from_millis(*period) == self.period),
            "period",
            &self.period,
            "1, 2, 5, 10, 20, 40 or 80 ms",
        )?;
        require(
            [4, 8, 16, 32, 64].contains(&self.trans_max),
            "trans_max",
            &self.trans_max,
            "4, 8, 16, 32 or 64",
        )?;
        require(self.prohibit_periods <= 7, "prohibit_periods", &self.prohibit_periods, "0 to 7")?;
        Ok(Vec::new())
    }
}

/// The subframes in which a UE may send a request: those with (10 SFN + subframe - offset) mod
/// period = 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opportunities {
    /// Period [TTI].
    pub period: u64,
    /// Offset [TTI].
    pub offset: u64,
}

/// SR periodicity [ms] and its first sr-ConfigIndex, TS 36.213 v15.1.0 table 10.1.5-1; the offset
/// is the difference of the index from the first one.
const PERIODS: [(u64, u8); 7] = [(5, 0), (10, 5), (20, 15), (40, 35), (80, 75), (2, 155), (1, 157)];

impl Opportunities {
    /// The opportunities of an sr-ConfigIndex, 0 to 157; None beyond.
    pub fn of_index(index: u8) -> Option<Opportunities> {
        let (period, first) = PERIODS.iter().rev().find(|(_, first)| *first <= index)?;
        let offset = u64::from(index - first);
        (offset < *period).then_some(Opportunities { period: *period, offset })
    }
    /// The sr-ConfigIndex of the `n`th UE when the UEs of a cell are spread evenly over `period`
    /// [ms].
    pub fn index_of(period: u64, n: usize) -> Option<u8> {
        let (period, first) = PERIODS.iter().find(|(p, _)| *p == period)?;
        Some(first + (n as u64 % period) as u8)
    }
    /// The first opportunity not before `tti`.
    #[inline]
    pub const fn at_or_after(self, tti: Tti) -> Tti {
        tti.plus((self.period + self.offset - tti.0 % self.period) % self.period)
    }
}

/// Action of the procedure in a TTI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SrAction {
    /// The UE sends the request on PUCCH in this TTI.
    Send,
    /// The UE starts random access: it has no PUCCH resource, or dsr-TransMax requests were not
    /// answered. No request is pending any more.
    RandomAccess,
}

/// The scheduling request procedure of a UE.
///
/// Call [`trigger`](Self::trigger) when there is no grant for a buffer status report,
/// [`cancel`](Self::cancel) when a report was sent; [`poll`](Self::poll) gives the next TTI in
/// which [`on_tti`](Self::on_tti) may act.
#[derive(Clone, Debug)]
pub struct SchedulingRequest {
    opportunities: Option<Opportunities>,
    trans_max: u32,
    prohibit: u64,
    pending: bool,
    /// SR_COUNTER.
    counter: u32,
    /// Expiry of sr-ProhibitTimer.
    prohibited_until: Tti,
}

impl SchedulingRequest {
    /// Without a PUCCH resource (`opportunities` None) every request leads to random access.
    pub const fn new(config: &SrConfig, opportunities: Option<Opportunities>) -> SchedulingRequest {
        let period = match opportunities {
            Some(o) => o.period,
            None => 0,
        };
        SchedulingRequest {
            opportunities,
            trans_max: config.trans_max,
            prohibit: config.prohibit_periods * period,
            pending: false,
            counter: 0,
            prohibited_until: Tti(0),
        }
    }

    /// Triggers a request: a report is pending and there is no grant.
    // 5.4.4 [unverified]: If an SR is triggered and there is no other SR pending, the MAC entity
    // shall set the SR_COUNTER to 0.
    pub const fn trigger(&mut self) {
        if !self.pending {
            self.pending = true;
            self.counter = 0;
        }
    }

    /// Cancels the pending request and stops the prohibit timer: a report was sent, or a grant
    /// takes all data.
    pub const fn cancel(&mut self) {
        self.pending = false;
        self.prohibited_until = Tti(0);
    }

    /// True while a request is pending.
    pub const fn is_pending(&self) -> bool {
        self.pending
    }

    /// The next TTI from `from` on in which the procedure may act; None while no request is
    /// pending.
    pub fn poll(&self, from: Tti) -> Option<Tti> {
        if !self.pending {
            return None;
        }
        Some(match self.opportunities {
            None => from,
            Some(o) => o.at_or_after(from.max(self.prohibited_until)),
        })
    }

    /// Processes a TTI in which the UE has no grant.
    // 5.4.4 [unverified]: if SR_COUNTER < dsr-TransMax: increment SR_COUNTER by 1; instruct the
    // physical layer to signal the SR on PUCCH; start the sr-ProhibitTimer. else: [...] initiate a
    // Random Access procedure [...] and cancel all pending SRs.
    pub fn on_tti(&mut self, tti: Tti) -> Option<SrAction> {
        if self.poll(tti) != Some(tti) {
            return None;
        }
        if self.opportunities.is_none() || self.counter >= self.trans_max {
            self.cancel();
            return Some(SrAction::RandomAccess);
        }
        self.counter += 1;
        self.prohibited_until = tti.plus(self.prohibit.max(1));
        Some(SrAction::Send)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn procedure(period: u64, offset: u64, trans_max: u32, prohibit: u64) -> SchedulingRequest {
        let config =
            SrConfig { period: Duration::from_millis(period), trans_max, prohibit_periods: prohibit };
        config.validate().unwrap();
        SchedulingRequest::new(&config, Some(Opportunities { period, offset }))
    }

    /// TS 36.213 table 10.1.5-1: 0-4 5 ms I; 5-14 10 ms I-5; 15-34 20 ms I-15; 35-74 40 ms I-35;
    /// 75-154 80 ms I-75; 155-156 2 ms I-155; 157 1 ms I-157.
    #[test]
    fn configuration_indices_give_period_and_offset() {
        let rows =
            [(0, 4, 5), (5, 14, 10), (15, 34, 20), (35, 74, 40), (75, 154, 80), (155, 156, 2), (157, 157, 1)];
        for (first, last, period) in rows {
            assert_eq!(u64::from(last - first + 1), period, "one index per offset");
            for index in first..=last {
                let offset = u64::from(index - first);
                assert_eq!(Opportunities::of_index(index), Some(Opportunities { period, offset }));
                assert_eq!(
                    Opportunities::index_of(period, offset as usize + 3 * period as usize),
                    Some(index)
                );
            }
        }
        assert_eq!(Opportunities::of_index(158), None);
        assert_eq!(Opportunities::index_of(7, 0), None);
    }

    #[test]
    fn opportunities_recur_with_the_period() {
        let o = Opportunities { period: 10, offset: 7 };
        let at = |t| o.at_or_after(Tti(t)).0;
        assert_eq!((at(0), at(7), at(8), at(17), at(18)), (7, 7, 17, 17, 27));
        // The mean wait of a request that is triggered at any moment: (1 + 2 + .. + 10) / 10 from
        // the end of the TTI of the trigger, 5 ms from the moment within it (TR 36.881 table
        // 5.2.1-1: half the period).
        let waits: u64 = (0..10).map(|t| at(t) - t).sum();
        assert_eq!(waits, 45);
    }

    #[test]
    fn after_dsr_trans_max_requests_random_access_is_tried_and_nothing_stays_pending() {
        let mut sr = procedure(10, 3, 4, 0);
        sr.trigger();
        let mut sent = Vec::new();
        let mut tti = Tti(0);
        let last = loop {
            tti = sr.poll(tti).unwrap();
            match sr.on_tti(tti) {
                Some(SrAction::Send) => sent.push(tti.0),
                action => break action,
            }
            tti = tti.plus(1);
        };
        assert_eq!(sent, [3, 13, 23, 33]);
        assert_eq!((last, tti), (Some(SrAction::RandomAccess), Tti(43)));
        assert_eq!(sr.poll(Tti(44)), None);
        // A new trigger sets the counter to 0.
        sr.trigger();
        assert_eq!(sr.on_tti(Tti(53)), Some(SrAction::Send));
    }

    #[test]
    fn the_prohibit_timer_leaves_out_opportunities() {
        let mut sr = procedure(5, 0, 64, 3);
        sr.trigger();
        assert_eq!(sr.on_tti(Tti(5)), Some(SrAction::Send));
        assert_eq!((sr.on_tti(Tti(10)), sr.poll(Tti(6))), (None, Some(Tti(20))));
        sr.cancel();
        sr.trigger();
        assert_eq!(sr.poll(Tti(6)), Some(Tti(10)), "a grant has stopped the timer");
    }

    #[test]
    fn without_a_resource_random_access_comes_at_once() {
        let mut sr = SchedulingRequest::new(&SrConfig::default(), None);
        assert_eq!(sr.on_tti(Tti(9)), None);
        sr.trigger();
        assert_eq!(sr.on_tti(Tti(9)), Some(SrAction::RandomAccess));
    }

    #[test]
    fn values_that_no_message_carries_are_refused() {
        for (period, trans_max, prohibit_periods) in [(3, 64, 0), (10, 5, 0), (10, 64, 8)] {
            let config = SrConfig { period: Duration::from_millis(period), trans_max, prohibit_periods };
            assert!(config.validate().is_err());
        }
    }
}

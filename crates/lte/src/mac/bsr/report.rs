//! Triggers and contents of a UE's buffer status reports (TS 36.321 v15.1.0 clause 5.4.5).

use lasthop_units::{Duration, Tti};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::level;
use lasthop_bearer::OrInfinity;
use lasthop_bearer::require;
use lasthop_bearer::{ConfigError, Warning};

/// Groups of logical channels that share a buffer size (LCG, TS 36.321 clause 5.4.5).
pub const GROUPS: usize = 4;

/// Timers of buffer status reporting (TS 36.331 clause 6.3.2, MAC-MainConfig).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BsrConfig {
    /// periodicBSR-Timer: 5, 10, 16, 20, 32, 40, 64, 80, 128, 160, 320, 640, 1280, 2560 ms or
    /// "infinity".
    pub periodic_timer: OrInfinity<Duration>,
    /// retxBSR-Timer: 320, 640, 1280, 2560, 5120 or 10240 ms.
    pub retx_timer: Duration,
    /// Which blocks carry a report of the data that remains.
    pub trailing: Trailing,
    /// Accepts values that no RRC message can carry, for the profiles of other simulators.
    pub any_value: bool,
}

/// Which blocks carry a report of the data that remains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Trailing {
    /// Blocks for which a report was triggered, or with room for padding (TS 36.321).
    #[default]
    Never,
    /// Every block, as the paper on TCP over direct communications describes SimuLTE.
    Always,
    /// The first block after a request was answered, as in SimuLTE's code: no other block carries a
    /// report, whatever triggers one, a full block has no effect on the eNB's record, and data that
    /// remains after the last block is requested again.
    AfterRequest,
}

impl Default for BsrConfig {
    /// A report every 10 ms keeps a bulk upload supplied with grants (TS 36.508 clause 4.8.2.1.5
    /// has 20 and 320 ms).
    fn default() -> Self {
        BsrConfig {
            periodic_timer: OrInfinity::Value(Duration::from_millis(10)),
            retx_timer: Duration::from_millis(320),
            trailing: Trailing::Never,
            any_value: false,
        }
    }
}

impl BsrConfig {
    /// Refuses values that no RRC message can carry, unless `any_value` is set.
    pub fn validate(&self) -> Result<Vec<Warning>, ConfigError> {
        let one_of = |t: Duration, values: &[u64]| values.iter().any(|v| Duration::from_millis(*v) == t);
        if let Some(periodic) = self.periodic_timer.value() {
            require(
                self.any_value || one_of(periodic, &PERIODIC),
                "periodic_timer",
                &periodic,
                "5, 10, 16, 20, 32, 40, 64, 80, 128, 160, 320, 640, 1280, 2560 ms or \"infinity\"",
            )?;
            require(periodic >= Duration::from_millis(1), "periodic_timer", &periodic, "at least 1 ms")?;
        }
        require(
            self.any_value || one_of(self.retx_timer, &[320, 640, 1280, 2560, 5120, 10_240]),
            "retx_timer",
            &self.retx_timer,
            "320, 640, 1280, 2560, 5120 or 10240 ms",
        )?;
        require(
            self.retx_timer >= Duration::from_millis(1),
            "retx_timer",
            &self.retx_timer,
            "at least 1 ms",
        )?;
        Ok(Vec::new())
    }
}

const PERIODIC: [u64; 14] = [5, 10, 16, 20, 32, 40, 64, 80, 128, 160, 320, 640, 1280, 2560];

/// A buffer status report (TS 36.321 clause 6.1.3.1), with levels by [`level`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// One group; the others have no data.
    Short {
        /// The group.
        group: u8,
        /// The level of the group.
        level: u8,
    },
    /// One group; others have data too, for whose levels there was no room.
    Truncated {
        /// The group of the most urgent channel with data.
        group: u8,
        /// The level of that group.
        level: u8,
    },
    /// All groups.
    Long([u8; GROUPS]),
}

impl Report {
    /// Bytes for which the eNB takes the report [B].
    pub fn bytes(self) -> u64 {
        match self {
            Report::Short { level, .. } | Report::Truncated { level, .. } => u64::from(super::bytes(level)),
            Report::Long(levels) => levels.iter().map(|l| u64::from(super::bytes(*l))).sum(),
        }
    }

    /// Size of the control element without its subheader [B] (TS 36.321 clause 6.1.3.1).
    pub const fn size(self) -> u32 {
        match self {
            Report::Short { .. } | Report::Truncated { .. } => SHORT,
            Report::Long(_) => LONG,
        }
    }
}

const SHORT: u32 = 1;
const LONG: u32 = 3;
/// R/R/E/LCID of a control element of fixed size (TS 36.321 clause 6.1.2).
const SUBHEADER: u32 = 1;

/// The reporting procedure of a UE.
///
/// Its owner calls [`on_data`](Self::on_data) for new data and [`on_grant`](Self::on_grant) for a
/// grant of new data; while [`needs_grant`](Self::needs_grant) is true and there is no grant, a
/// scheduling request is due.
#[derive(Clone, Debug)]
pub struct Reporting {
    periodic: Option<u64>,
    retx: u64,
    trailing: Trailing,
    /// A request was answered, and no report has been sent since.
    answered: bool,
    regular_triggered: bool,
    periodic_triggered: bool,
    /// Expiry of periodicBSR-Timer.
    periodic_at: Option<Tti>,
    /// Expiry of retxBSR-Timer.
    retx_at: Option<Tti>,
}

/// Bytes available in each group, and the group of the most urgent channel with data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buffers {
    /// Bytes by group [B].
    pub bytes: [u64; GROUPS],
    /// The group of the highest-priority channel with data.
    pub most_urgent: u8,
}

impl Buffers {
    fn groups(&self) -> usize {
        self.bytes.iter().filter(|b| **b > 0).count()
    }
    fn short(&self) -> (u8, u8) {
        let group = self.most_urgent;
        (group, level(self.bytes[usize::from(group)]))
    }
    fn long(&self) -> Report {
        Report::Long(self.bytes.map(level))
    }
}

impl Reporting {
    /// Without a trigger.
    pub fn new(config: &BsrConfig) -> Reporting {
        Reporting {
            periodic: config.periodic_timer.value().map(Duration::as_millis),
            retx: config.retx_timer.as_millis(),
            trailing: config.trailing,
            answered: false,
            regular_triggered: false,
            periodic_triggered: false,
            periodic_at: None,
            retx_at: None,
        }
    }

    /// New data for a channel that is more urgent than every channel that had data, or that is the
    /// only one with data, triggers a regular report.
    // 5.4.5 [unverified]: UL data, for a logical channel which belongs to a LCG, becomes available
    // for transmission [...] and either the data belongs to a logical channel with higher priority
    // than the priorities of the logical channels which belong to any LCG and for which data is
    // already available for transmission, or there is no data available for transmission for any of
    // the logical channels which belong to a LCG.
    pub const fn on_data(&mut self) {
        self.regular_triggered = true;
    }

    /// Restarts retxBSR-Timer at a grant for new data.
    // 5.4.5 [unverified]: start or restart retxBSR-Timer upon reception of a grant for transmission
    // of new data on any UL-SCH.
    pub const fn on_grant(&mut self, tti: Tti) {
        self.retx_at = Some(tti.plus(self.retx));
    }

    /// The grant that was received answers a request.
    pub const fn on_answer(&mut self) {
        self.answered = true;
    }

    /// The next expiry of a timer.
    pub fn poll_at(&self) -> Option<Tti> {
        self.periodic_at.into_iter().chain(self.retx_at).min()
    }

    /// Processes timers that have expired; `data`: a channel has data.
    pub fn on_tti(&mut self, tti: Tti, data: bool) {
        if self.periodic_at.is_some_and(|t| t <= tti) {
            self.periodic_at = None;
            self.periodic_triggered = true;
        }
        if self.retx_at.is_some_and(|t| t <= tti) {
            self.retx_at = None;
            self.regular_triggered |= data;
        }
    }

    /// True while a regular report is pending: without a grant a scheduling request is due.
    pub const fn needs_grant(&self) -> bool {
        self.regular_triggered
    }

    /// Size of the report in a transport block of `room` bytes [B]; 0 if none is due, or if the
    /// block needs none: then call [`accommodated`](Self::accommodated) when the block is complete.
    /// `need` is the size of all pending data with its headers.
    // 5.4.5 [unverified]: All triggered BSRs shall be cancelled in case the UL grant(s) in this TTI
    // can accommodate all pending data available for transmission but is not sufficient to
    // additionally accommodate the BSR MAC control element plus its subheader.
    pub fn reserve(&mut self, room: u32, need: u64, before: &Buffers) -> u32 {
        let left = need > u64::from(room);
        let trails = match self.trailing {
            Trailing::Never => false,
            Trailing::Always => left,
            Trailing::AfterRequest if !self.answered => {
                // Remaining data must be requested again, since no grant is to come.
                self.regular_triggered |= left;
                return 0;
            }
            Trailing::AfterRequest => left,
        };
        if !(self.regular_triggered || self.periodic_triggered || trails) {
            return 0;
        }
        let wanted = SUBHEADER + if before.groups() > 1 { LONG } else { SHORT };
        if need <= u64::from(room) && need + u64::from(wanted) > u64::from(room) {
            return 0;
        }
        // A grant too small for the report of clause 5.4.5 carries the largest report that fits.
        [wanted, SUBHEADER + SHORT].into_iter().find(|size| *size <= room).unwrap_or(0)
    }

    /// The block has all pending data and no report: cancels triggered reports. Only a complete
    /// block does so: a power headroom report may occupy the last bytes; data would remain after a
    /// cancelled report without another one, since periodicBSR-Timer has stopped and each grant
    /// restarts retxBSR-Timer.
    pub const fn accommodated(&mut self) {
        self.cancel();
    }

    /// Composes the report for which `reserved` bytes were kept; `after`: the buffers after the
    /// transport block is built.
    pub fn compose(&mut self, tti: Tti, reserved: u32, before: &Buffers, after: &Buffers) -> Option<Report> {
        let report = match reserved.checked_sub(SUBHEADER)? {
            LONG => after.long(),
            _ => {
                let (group, level) = if after.groups() > 0 { after.short() } else { (before.most_urgent, 0) };
                Report::Short { group, level }
            }
        };
        self.sent(tti, report);
        Some(report)
    }

    /// The report that fits into `padding` bytes and replaces them, if any.
    // 5.4.5 [unverified], Padding BSR: if the number of padding bits is equal to or larger than the
    // size of the Short BSR plus its subheader but smaller than the size of the Long BSR plus its
    // subheader: if more than one LCG has data available [...]: report Truncated BSR of the LCG
    // with the highest priority logical channel with data available for transmission; else report
    // Short BSR. else if [...] the size of the Long BSR plus its subheader, report Long BSR.
    pub fn pad(&mut self, tti: Tti, padding: u32, after: &Buffers) -> Option<Report> {
        if self.trailing == Trailing::AfterRequest && !self.answered {
            return None;
        }
        let report = match padding {
            p if p >= SUBHEADER + LONG => after.long(),
            p if p >= SUBHEADER + SHORT => {
                let (group, level) = after.short();
                if after.groups() > 1 {
                    Report::Truncated { group, level }
                } else {
                    Report::Short { group, level }
                }
            }
            _ => return None,
        };
        self.sent(tti, report);
        Some(report)
    }

    /// Resets the procedure with MAC (TS 36.321 clause 5.9).
    pub const fn reset(&mut self) {
        self.cancel();
        self.periodic_at = None;
        self.retx_at = None;
    }

    // 5.4.5 [unverified]: start or restart periodicBSR-Timer except when all the generated BSRs are
    // Truncated BSRs; start or restart retxBSR-Timer; All triggered BSRs shall be cancelled when a
    // BSR is included in a MAC PDU for transmission.
    fn sent(&mut self, tti: Tti, report: Report) {
        if !matches!(report, Report::Truncated { .. }) {
            self.periodic_at = self.periodic.map(|p| tti.plus(p));
        }
        self.retx_at = Some(tti.plus(self.retx));
        self.answered = false;
        self.cancel();
    }

    const fn cancel(&mut self) {
        self.regular_triggered = false;
        self.periodic_triggered = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffers(bytes: [u64; GROUPS], most_urgent: u8) -> Buffers {
        Buffers { bytes, most_urgent }
    }
    fn reporting(periodic: Option<u64>) -> Reporting {
        let periodic_timer = match periodic {
            Some(ms) => OrInfinity::Value(Duration::from_millis(ms)),
            None => OrInfinity::INFINITY,
        };
        Reporting::new(&BsrConfig { periodic_timer, ..BsrConfig::default() })
    }

    #[test]
    fn one_group_with_data_makes_a_short_report_and_two_a_long_one() {
        for (bytes, reserved, report) in [
            ([500, 0, 0, 0], 2, Report::Short { group: 0, level: level(400) }),
            ([500, 0, 30, 0], 4, Report::Long([level(400), 0, level(30), 0])),
        ] {
            let mut r = reporting(None);
            assert_eq!(r.reserve(102, 540, &buffers(bytes, 0)), 0, "nothing was triggered");
            r.on_data();
            assert!(r.needs_grant());
            assert_eq!(r.reserve(102, 540, &buffers(bytes, 0)), reserved);
            let after = buffers([400, 0, bytes[2], 0], 0);
            assert_eq!(r.compose(Tti(7), reserved, &buffers(bytes, 0), &after), Some(report));
            assert!(!r.needs_grant());
        }
    }

    #[test]
    fn an_emptied_buffer_is_reported_as_zero_for_the_group_that_was_served() {
        let mut r = reporting(None);
        r.on_data();
        let before = buffers([0, 40, 0, 0], 1);
        assert_eq!(r.reserve(100, 45, &before), 2);
        let report = r.compose(Tti(7), 2, &before, &Buffers::default());
        assert_eq!(report, Some(Report::Short { group: 1, level: 0 }));
    }

    /// 100 B of room and 99 B of data with its headers: no room for the two bytes of a report, and
    /// none is needed, since the block has all data.
    #[test]
    fn a_grant_that_takes_everything_but_the_report_cancels_it() {
        for (need, reserved) in [(98, 2), (99, 0), (100, 0), (101, 2)] {
            let mut r = reporting(None);
            r.on_data();
            assert_eq!(r.reserve(100, need, &buffers([50, 0, 0, 0], 0)), reserved, "{need} B");
            assert!(r.needs_grant(), "the block is not built yet");
            r.accommodated();
            assert!(!r.needs_grant());
        }
    }

    #[test]
    fn a_trailing_report_goes_with_every_block_that_leaves_data_behind() {
        let mut r = Reporting::new(&BsrConfig { trailing: Trailing::Always, ..BsrConfig::default() });
        let b = buffers([500, 0, 0, 0], 0);
        assert_eq!((r.reserve(100, 505, &b), r.reserve(505, 505, &b)), (2, 0));
    }

    /// One report for each request that was answered: data that remains after it is requested
    /// again.
    #[test]
    fn after_a_request_one_block_carries_a_report() {
        let mut r = Reporting::new(&BsrConfig { trailing: Trailing::AfterRequest, ..BsrConfig::default() });
        let b = buffers([500, 0, 0, 0], 0);
        r.on_data();
        assert_eq!((r.reserve(100, 505, &b), r.pad(Tti(1), 4, &b)), (0, None), "no grant has answered");
        assert!(r.needs_grant());
        r.on_answer();
        assert_eq!(r.reserve(100, 505, &b), 2);
        assert!(r.compose(Tti(2), 2, &b, &b).is_some());
        r.on_tti(Tti(12), true);
        assert!(!r.needs_grant());
        assert_eq!((r.reserve(100, 505, &b), r.needs_grant()), (0, true));
    }

    #[test]
    fn padding_carries_the_largest_report_that_fits() {
        let both = buffers([60, 0, 0, 700], 3);
        let one = buffers([60, 0, 0, 0], 0);
        for (padding, of, expected) in [
            (1, both, None),
            (2, both, Some(Report::Truncated { group: 3, level: level(700) })),
            (3, one, Some(Report::Short { group: 0, level: level(60) })),
            (4, one, Some(Report::Long([level(60), 0, 0, 0]))),
            (4, both, Some(Report::Long([level(60), 0, 0, level(700)]))),
        ] {
            assert_eq!(reporting(None).pad(Tti(0), padding, &of), expected, "{padding} B");
        }
    }

    #[test]
    fn the_periodic_timer_triggers_reports_but_no_request_and_a_truncated_report_does_not_start_it() {
        let mut r = reporting(Some(10));
        let b = buffers([60, 60, 0, 0], 0);
        r.pad(Tti(3), 2, &b);
        assert_eq!(r.poll_at(), Some(Tti(3 + 320)), "truncated: retxBSR-Timer alone");
        r.pad(Tti(5), 4, &b);
        assert_eq!(r.poll_at(), Some(Tti(15)));
        r.on_tti(Tti(14), true);
        assert_eq!(r.reserve(50, 200, &b), 0);
        r.on_tti(Tti(15), true);
        assert_eq!((r.reserve(50, 200, &b), r.needs_grant()), (4, false));
    }

    #[test]
    fn the_retransmission_timer_requests_again_while_there_is_data_and_a_grant_restarts_it() {
        let mut r = reporting(None);
        let b = buffers([60, 0, 0, 0], 0);
        r.on_data();
        r.compose(Tti(0), 2, &b, &b);
        r.on_grant(Tti(100));
        r.on_tti(Tti(320), true);
        assert!(!r.needs_grant(), "restarted at 100");
        r.on_tti(Tti(420), false);
        assert!(!r.needs_grant(), "no data, no report");
        r.on_grant(Tti(500));
        r.on_tti(Tti(820), true);
        assert!(r.needs_grant());
    }
}

//! Power headroom reports (TS 36.321 v15.1.0 clause 5.4.6), and their levels (TS 36.133 clause
//! 9.1.8.4).

use lasthop_units::{Db, Duration, Tti};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use lasthop_bearer::OrInfinity;
use lasthop_bearer::require;
use lasthop_bearer::{ConfigError, Warning};

/// Power headroom reporting (TS 36.331 clause 6.3.2, MAC-MainConfig, phr-Config).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PhrConfig {
    /// periodicPHR-Timer: 10, 20, 50, 100, 200, 500, 1000 ms or "infinity".
    pub periodic_timer: OrInfinity<Duration>,
    /// prohibitPHR-Timer: 0, 10, 20, 50, 100, 200, 500 or 1000 ms.
    pub prohibit_timer: Duration,
    /// dl-PathlossChange: 1, 3, 6 dB or "infinity".
    pub pathloss_change: OrInfinity<Db>,
}

impl Default for PhrConfig {
    /// Common values: once a second, or when the path loss has changed by 3 dB, at most every 100
    /// ms.
    fn default() -> Self {
        PhrConfig {
            periodic_timer: OrInfinity::Value(Duration::from_secs(1)),
            prohibit_timer: Duration::from_millis(100),
            pathloss_change: OrInfinity::Value(Db(3.0)),
        }
    }
}

impl PhrConfig {
    /// Refuses values that no RRC message can carry.
    pub fn validate(&self) -> Result<Vec<Warning>, ConfigError> {
        let one_of = |t: Duration, values: &[u64]| values.iter().any(|v| Duration::from_millis(*v) == t);
        if let Some(t) = self.periodic_timer.value() {
            let values = [10, 20, 50, 100, 200, 500, 1000];
            require(
                one_of(t, &values),
                "periodic_timer",
                &t,
                "10, 20, 50, 100, 200, 500, 1000 ms or \"infinity\"",
            )?;
        }
        require(
            one_of(self.prohibit_timer, &[0, 10, 20, 50, 100, 200, 500, 1000]),
            "prohibit_timer",
            &self.prohibit_timer,
            "0, 10, 20, 50, 100, 200, 500 or 1000 ms",
        )?;
        if let Some(change) = self.pathloss_change.value() {
            let ok = [1.0, 3.0, 6.0].contains(&change.0);
            require(ok, "pathloss_change", &change, "1, 3, 6 dB or \"infinity\"")?;
        }
        Ok(Vec::new())
    }
}

/// The level of a headroom: 0 is below -22 dB, 63 is 40 dB or more, 1 dB each (TS 36.133 table
/// 9.1.8.4-1).
pub fn level(headroom: Db) -> u8 {
    (headroom.0 + 23.0).clamp(0.0, 63.0) as u8
}

/// Headroom for which the eNB takes a level: its lower bound.
pub fn headroom(level: u8) -> Db {
    Db(f64::from(level) - 23.0)
}

/// The reporting procedure of a UE.
#[derive(Clone, Debug)]
pub struct HeadroomReporting {
    periodic: Option<u64>,
    prohibit: u64,
    change: Option<f64>,
    /// Expiry of periodicPHR-Timer.
    periodic_at: Option<Tti>,
    /// Expiry of prohibitPHR-Timer.
    prohibited_until: Tti,
    /// Path loss at the last report [dB]; None: no report yet.
    reported: Option<f64>,
}

impl HeadroomReporting {
    /// A report is due with the first grant: the configuration triggers it.
    pub fn new(config: &PhrConfig) -> HeadroomReporting {
        HeadroomReporting {
            periodic: config.periodic_timer.value().map(Duration::as_millis),
            prohibit: config.prohibit_timer.as_millis(),
            change: config.pathloss_change.value().map(|c| c.0),
            periodic_at: None,
            prohibited_until: Tti(0),
            reported: None,
        }
    }

    /// True if the transport block of `tti` is to carry a report; `path_loss` of the downlink [dB].
    // 5.4.6 [unverified]: prohibitPHR-Timer expires or has expired and the path loss has changed
    // more than dl-PathlossChange dB [...] since the last transmission of a PHR when the MAC entity
    // has UL resources for new transmission; periodicPHR-Timer expires; upon configuration or
    // reconfiguration of the power headroom reporting functionality.
    pub fn is_due(&self, tti: Tti, path_loss: Db) -> bool {
        let Some(reported) = self.reported else { return true };
        let changed = self.change.is_some_and(|c| (path_loss.0 - reported).abs() > c);
        self.periodic_at.is_some_and(|t| t <= tti) || (changed && self.prohibited_until <= tti)
    }

    /// Stops the timers at a reset of MAC (TS 36.321 clause 5.9). A report is due with the next
    /// grant: RRC configures the reports again after each reset (TS 36.331 clauses 5.3.3.4, 5.3.5.4
    /// and 5.3.7.5), and periodicPHR-Timer starts with the first resources since then.
    // 5.4.6 [unverified]: a Power Headroom Report (PHR) shall be triggered [...] upon configuration
    // or reconfiguration of the power headroom reporting functionality by upper layers, which is
    // not used to disable the function; if it is the first UL resource allocated for a new
    // transmission since the last MAC reset, start periodicPHR-Timer.
    pub const fn reset(&mut self) {
        self.periodic_at = None;
        self.prohibited_until = Tti(0);
        self.reported = None;
    }

    /// Restarts the timers: a report was sent.
    pub fn sent(&mut self, tti: Tti, path_loss: Db) {
        self.reported = Some(path_loss.0);
        self.periodic_at = self.periodic.map(|p| tti.plus(p));
        self.prohibited_until = tti.plus(self.prohibit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TS 36.133 table 9.1.8.4-1: POWER_HEADROOM_0 is -23 <= PH < -22, _1 -22 <= PH < -21, _62 39
    /// <= PH < 40, _63 PH >= 40.
    #[test]
    fn levels_are_one_decibel_wide() {
        let rows =
            [(-40.0, 0), (-23.0, 0), (-22.1, 0), (-22.0, 1), (0.0, 23), (39.9, 62), (40.0, 63), (99.0, 63)];
        for (db, expected) in rows {
            assert_eq!(level(Db(db)), expected, "{db} dB");
        }
        assert_eq!(headroom(23).0, 0.0);
    }

    #[test]
    fn a_report_is_due_at_first_periodically_and_when_the_path_loss_has_changed() {
        let mut phr = HeadroomReporting::new(&PhrConfig::default());
        assert!(phr.is_due(Tti(0), Db(100.0)));
        phr.sent(Tti(0), Db(100.0));
        assert!(!phr.is_due(Tti(99), Db(110.0)), "prohibited");
        assert!(!phr.is_due(Tti(100), Db(103.0)), "not more than 3 dB");
        assert!(phr.is_due(Tti(100), Db(103.1)) && phr.is_due(Tti(100), Db(96.8)));
        assert!(!phr.is_due(Tti(999), Db(100.0)) && phr.is_due(Tti(1000), Db(100.0)));
    }

    /// TS 36.321 clauses 5.9 and 5.4.6: neither the report before a reset of MAC nor its
    /// prohibitPHR-Timer (100 ms) delays the report that the configuration after the reset
    /// triggers; periodicPHR-Timer (1 s) counts from that report.
    #[test]
    fn a_report_is_due_after_a_reset_of_mac() {
        let mut phr = HeadroomReporting::new(&PhrConfig::default());
        phr.sent(Tti(0), Db(100.0));
        phr.reset();
        assert!(phr.is_due(Tti(1), Db(100.0)));
        phr.sent(Tti(40), Db(100.0));
        assert!(!phr.is_due(Tti(1039), Db(100.0)) && phr.is_due(Tti(1040), Db(100.0)));
    }

    #[test]
    fn values_that_no_message_carries_are_refused() {
        assert!(PhrConfig::default().validate().is_ok());
        let wrong = PhrConfig { pathloss_change: OrInfinity::Value(Db(2.0)), ..PhrConfig::default() };
        assert!(wrong.validate().is_err());
        let wrong = PhrConfig { prohibit_timer: Duration::from_millis(30), ..PhrConfig::default() };
        assert!(wrong.validate().is_err());
    }
}

//! Parameters of RRC connections.

use lasthop_units::{Duration, Tti};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use lasthop_bearer::OrInfinity;
use lasthop_bearer::require;
use lasthop_bearer::{ConfigError, Warning, check};

/// RRC connections of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RrcConfig {
    /// State of the UEs at the start.
    pub start: InitialState,
    /// Whether messages take time.
    pub timing: RrcTiming,
    /// T300: time after the request within which the connection must be set up: 100, 200, 300, 400,
    /// 600, 1000, 1500 or 2000 ms.
    pub t300: Duration,
    /// After a failure the UE waits this long before the next request (T3411 of TS 24.301 clause
    /// 10.2 is 10 s).
    pub retry: Duration,
    /// The eNB releases a UE that has had no data for this long; "infinity": never.
    pub inactivity: OrInfinity<Duration>,
    /// Period of SIB2, which holds the parameters of random access: 80, 160, 320, 640, 1280, 2560
    /// or 5120 ms.
    pub si_period: Duration,
    /// An idle UE monitors paging once in this period (defaultPagingCycle): 320, 640, 1280 or 2560
    /// ms.
    pub paging_cycle: Duration,
}

/// State of UEs at the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InitialState {
    /// Connected, and the bearers are set up.
    #[default]
    Connected,
    /// Switched on at the start: they attach at once.
    Attach,
    /// Registered with the network and idle: they connect when there is data.
    Idle,
}

/// Whether RRC messages take time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RrcTiming {
    /// The UE reads system information and performs random access; three pairs of messages follow.
    #[default]
    Real,
    /// A UE that requests a connection is connected in the same TTI.
    Ideal,
}

impl Default for RrcConfig {
    fn default() -> Self {
        RrcConfig {
            start: InitialState::Connected,
            timing: RrcTiming::Real,
            t300: Duration::from_millis(1000),
            retry: Duration::from_secs(10),
            inactivity: OrInfinity::INFINITY,
            si_period: Duration::from_millis(80),
            paging_cycle: Duration::from_millis(1280),
        }
    }
}

/// Milliseconds that a UE may take from the end of a message to being ready for the grant of its
/// answer (TS 36.331 table 11.2-1): RRC connection establishment 15, initial security activation
/// 10, radio resource configuration 15.
const PROCESSING: [u64; 3] = [15, 10, 15];

impl RrcConfig {
    /// Refuses values that no RRC message can carry.
    pub fn validate(&self) -> Result<Vec<Warning>, ConfigError> {
        let ms = Duration::from_millis;
        let one_of = |t: Duration, values: &[u64]| values.iter().any(|v| ms(*v) == t);
        require(
            one_of(self.t300, &[100, 200, 300, 400, 600, 1000, 1500, 2000]),
            "t300",
            &self.t300,
            "100, 200, 300, 400, 600, 1000, 1500 or 2000 ms",
        )?;
        require(
            one_of(self.si_period, &[80, 160, 320, 640, 1280, 2560, 5120]),
            "si_period",
            &self.si_period,
            "80, 160, 320, 640, 1280, 2560 or 5120 ms",
        )?;
        require(
            one_of(self.paging_cycle, &[320, 640, 1280, 2560]),
            "paging_cycle",
            &self.paging_cycle,
            "320, 640, 1280 or 2560 ms",
        )?;
        check(self.retry >= ms(1), "retry", "at least 1 ms")?;
        check(
            self.inactivity.value().is_none_or(|t| t >= ms(100)),
            "inactivity",
            "at least 100 ms: a connection takes longer than less to set up",
        )?;
        Ok(Vec::new())
    }

    /// When a UE that is switched on in `tti` has read the system information that it needs: the
    /// next master information block (subframe 0 of a frame, TS 36.331 clause 5.2.1.2), then the
    /// next SIB2.
    pub fn informed(&self, tti: Tti) -> Tti {
        let mib = tti.0.next_multiple_of(10);
        // System information messages come in windows from the start of their period on; SIB2 is in
        // the first one.
        let period = self.si_period.as_millis();
        Tti((mib + 1).next_multiple_of(period).max(mib + 1))
    }

    /// Time from Msg3 at the eNB to the last message there [TTI]: the eNB sends RRCConnectionSetup,
    /// SecurityModeCommand and RRCConnectionReconfiguration, and the UE answers each in a grant
    /// that it receives when it is ready. `decode` and `grant` are those of [`MessageTimes`].
    pub fn exchange(&self, decode: u64, grant: u64) -> u64 {
        PROCESSING.iter().map(|ready| decode + ready + grant + decode).sum()
    }
}

/// The parameters of a cell that RRC's procedures use.
#[derive(Clone, Copy, Debug)]
pub struct CellParameters {
    /// Parameters of RRC connections, which the cell broadcasts.
    pub rrc: RrcConfig,
    /// Times of the messages, for [`RrcTiming::Real`].
    pub messages: MessageTimes,
}

/// Times of RRC messages in a cell [TTI].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageTimes {
    /// From the start of a transport block to the end of its decoding.
    pub decode: u64,
    /// From an uplink grant to its transport block.
    pub grant: u64,
}

impl CellParameters {
    /// Times of the messages; None: messages take no time.
    pub fn message_times(&self) -> Option<MessageTimes> {
        (self.rrc.timing == RrcTiming::Real).then_some(self.messages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ns-3's budget for system information: 10 ms for the MIB and 80 ms for SIB2 at most.
    #[test]
    fn system_information_takes_ninety_milliseconds_at_most() {
        let config = RrcConfig::default();
        for tti in 0..1000 {
            let took = config.informed(Tti(tti)).0 - tti;
            assert!((1..=90).contains(&took), "{tti}: {took}");
        }
        assert_eq!((config.informed(Tti(0)), config.informed(Tti(1))), (Tti(80), Tti(80)));
        assert_eq!(config.informed(Tti(75)), Tti(160), "the MIB of 80 ends in 81");
    }

    /// (4 + 15 + 4 + 4) + (4 + 10 + 4 + 4) + (4 + 15 + 4 + 4) = 27 + 22 + 27.
    #[test]
    fn three_pairs_of_messages_take_76_ttis() {
        assert_eq!(RrcConfig::default().exchange(4, 4), 76);
    }

    #[test]
    fn values_that_no_message_carries_are_refused() {
        assert!(RrcConfig::default().validate().is_ok());
        let ms = Duration::from_millis;
        for wrong in [
            RrcConfig { t300: ms(500), ..RrcConfig::default() },
            RrcConfig { si_period: ms(100), ..RrcConfig::default() },
            RrcConfig { paging_cycle: ms(100), ..RrcConfig::default() },
            RrcConfig { inactivity: OrInfinity::Value(ms(10)), ..RrcConfig::default() },
        ] {
            assert!(wrong.validate().is_err());
        }
    }
}

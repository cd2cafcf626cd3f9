//! Parameters of mobility: measurements, the trigger of a handover, times of its messages, and the
//! backhaul.

use lasthop_units::{Bitrate, Bytes, Db, Dbm, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::measurement::{Filter, Trigger};
use super::radio_link::RadioLinkConfig;
use lasthop_bearer::OrInfinity;
use lasthop_bearer::require;
use lasthop_bearer::{ConfigError, Warning, check, warn, within};

/// Mobility between cells, and the core network behind their eNBs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HandoverConfig {
    /// The event that triggers a UE's report, upon which its eNB prepares a handover.
    pub trigger: Trigger,
    /// Layer 1: a measurement is the mean of five samples over this time (TS 36.133 clause
    /// 8.1.2.2.1: 200 ms).
    pub period: Duration,
    /// Layer 3: filterCoefficient k (TS 36.331 clause 5.5.3.2); 0 (no filter) to 19. It has the
    /// same time characteristics with any `period`.
    pub filter: u32,
    /// Monitoring of the radio link.
    pub radio_link: RadioLinkConfig,
    /// RRC procedure delay: time from the arrival of a command at the UE to its execution (TS
    /// 36.331 clause 11.2: 15 ms at most).
    pub processing: Duration,
    /// Time from leaving the source to the first preamble: synchronisation with the target (TS
    /// 36.133 clause 5.1.2.1.2: 20 ms for a known cell).
    pub interruption: Duration,
    /// T304: time after the command within which random access to the target must be successful:
    /// 50, 100, 150, 200, 500, 1000 or 2000 ms.
    pub t304: Duration,
    /// T311: time after a failure within which a suitable cell must be found: 1, 3, 5, 10, 15, 20
    /// or 30 s.
    pub t311: Duration,
    /// T301: time after the request of a re-establishment within which it must be answered: 100,
    /// 200, 300, 400, 600, 1000, 1500 or 2000 ms.
    pub t301: Duration,
    /// Time that the UE needs to find a cell after a failure (TS 36.133 clause 6.1.2.1: 100 ms for
    /// a known cell).
    pub search: Duration,
    /// Weakest reference signal received power of a suitable cell: -140 dBm, the least that can be
    /// reported (TS 36.133 clause 9.1.4), to -44 dBm.
    pub suitable: Dbm,
    /// A cell requests the context of an unknown UE from its last cell (Retrieve UE Context, TS
    /// 36.423 clause 8.3.13). Otherwise only cells that were prepared accept a re-establishment.
    pub fetch_context: bool,
    /// Largest number of connected UEs in a cell; a cell with this number refuses others (admission
    /// control).
    pub users: OrInfinity<u32>,
    /// A handover back to the last cell within this time is counted as ping-pong.
    pub ping_pong: Duration,
    /// Conditional handover (TS 38.300 clause 9.2.3.4): cells are prepared early, and the UE
    /// decides when it executes the handover. A cell is prepared when its RSRP is this much above
    /// the serving cell's. Requires `trigger` "a3", and a value below its offset. Unset: off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conditional: Option<Db>,
    /// The pipes between gateway and eNB, each way.
    pub s1: BackhaulConfig,
    /// The pipes between two eNBs, each way.
    pub x2: BackhaulConfig,
}

impl Default for HandoverConfig {
    fn default() -> Self {
        let ms = Duration::from_millis;
        HandoverConfig {
            trigger: Trigger::default(),
            period: ms(200),
            filter: 4,
            radio_link: RadioLinkConfig::default(),
            processing: ms(15),
            interruption: ms(20),
            t304: ms(1000),
            t311: Duration::from_secs(10),
            t301: ms(400),
            search: ms(100),
            suitable: Dbm(-130.0),
            fetch_context: true,
            users: OrInfinity::INFINITY,
            ping_pong: Duration::from_secs(1),
            conditional: None,
            s1: BackhaulConfig::default(),
            x2: BackhaulConfig::default(),
        }
    }
}

/// A pipe of the backhaul. Signalling takes the delay only: it has its own class of service.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BackhaulConfig {
    /// One way. TR 36.912 annex B.2 takes 10 ms over X2 as typical.
    pub delay: Duration,
    /// Rate of user data.
    pub rate: Bitrate,
    /// Most bytes that wait for transmission.
    pub buffer: OrInfinity<Bytes>,
}

impl Default for BackhaulConfig {
    fn default() -> Self {
        BackhaulConfig {
            delay: Duration::from_millis(5),
            rate: Bitrate(10_000_000_000),
            buffer: OrInfinity::INFINITY,
        }
    }
}

impl HandoverConfig {
    /// The layer 3 filter where samples are `spacing` apart. A measurement is complete with the
    /// first sample after the period, so it takes a whole number of them.
    pub fn l3(&self, spacing: Duration) -> Filter {
        Filter::new(self.filter, spacing * self.period.0.div_ceil(spacing.0))
    }

    /// Refuses values that no RRC message can carry or that no network has.
    pub fn validate(&self) -> Result<Vec<Warning>, ConfigError> {
        let ms = Duration::from_millis;
        let one_of = |t: Duration, values: &[u64]| values.iter().any(|v| ms(*v) == t);
        let t304 = one_of(self.t304, &[50, 100, 150, 200, 500, 1000, 2000]);
        require(t304, "t304", &self.t304, "50, 100, 150, 200, 500, 1000 or 2000 ms")?;
        let t311 = one_of(self.t311, &[1000, 3000, 5000, 10_000, 15_000, 20_000, 30_000]);
        require(t311, "t311", &self.t311, "1, 3, 5, 10, 15, 20 or 30 s")?;
        let t301 = one_of(self.t301, &[100, 200, 300, 400, 600, 1000, 1500, 2000]);
        require(t301, "t301", &self.t301, "100, 200, 300, 400, 600, 1000, 1500 or 2000 ms")?;
        require(self.period >= ms(5) && self.period <= ms(2000), "period", &self.period, "5 ms to 2 s")?;
        require(self.filter <= 19, "filter", &self.filter, "a filterCoefficient of 0 to 19")?;
        require(self.s1.rate.0 > 0, "s1.rate", &self.s1.rate, "a rate above 0 bit/s")?;
        require(self.x2.rate.0 > 0, "x2.rate", &self.x2.rate, "a rate above 0 bit/s")?;
        for (key, t) in [
            ("processing", self.processing),
            ("interruption", self.interruption),
            ("search", self.search),
            ("s1.delay", self.s1.delay),
            ("x2.delay", self.x2.delay),
        ] {
            check(t <= Duration::from_secs(10), key, "10 s at most")?;
        }
        check(self.users.value().is_none_or(|n| n > 0), "users", "at least one")?;
        // TS 36.133 clause 9.1.4: RSRP is reported from -140 to -44 dBm.
        check((-140.0..=-44.0).contains(&self.suitable.0), "suitable", "-140 dBm to -44 dBm")?;
        let mut warnings = Vec::new();
        for (key, pipe) in [("s1.buffer", &self.s1), ("x2.buffer", &self.x2)] {
            let message =
                "without room for waiting packets all but the first of a burst are dropped (`backhaul-full`)";
            warn(pipe.buffer.value().is_some_and(|b| b.0 == 0), key, message, &mut warnings);
        }
        within("trigger", self.trigger.validate(), &mut warnings)?;
        within("radio_link", self.radio_link.validate(), &mut warnings)?;
        let early = match (self.conditional, self.trigger) {
            (Some(prepare), Trigger::A3 { offset, .. }) => prepare.0 < offset.0,
            (Some(_), _) => false,
            (None, _) => true,
        };
        check(
            early,
            "conditional",
            "below the offset of an \"a3\" trigger: cells are prepared before they are better",
        )?;
        Ok(warnings)
    }
}

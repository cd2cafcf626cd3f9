//! Parameters of random access that the cell broadcasts.

use lasthop_units::{Db, Dbm, Duration, Tti};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use lasthop_bearer::require;
use lasthop_bearer::{ConfigError, Warning, check};

/// Random access (TS 36.331 clause 6.3.2, RACH-ConfigCommon and PRACH-Config).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RandomAccessConfig {
    /// numberOfRA-Preambles: preambles for contention, 4 to 64 by 4. Each of the others of the 64
    /// is assigned to one UE at a time (handover).
    pub preambles: u8,
    /// prach-ConfigIndex of preamble format 0: 0 to 15; 14 is an opportunity in every subframe.
    pub prach_config_index: u8,
    /// preambleTransMax: 3, 4, 5, 6, 7, 8, 10, 20, 50, 100 or 200.
    pub preamble_trans_max: u32,
    /// ra-ResponseWindowSize: 2, 3, 4, 5, 6, 7, 8 or 10 ms.
    pub response_window: Duration,
    /// mac-ContentionResolutionTimer: 8, 16, 24, 32, 40, 48, 56 or 64 ms.
    pub contention_timer: Duration,
    /// Backoff indicator of every response: 0, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480 or
    /// 960 ms.
    pub backoff: Duration,
    /// Random access responses, each with a grant for Msg3, in a TTI.
    pub responses_per_tti: u32,
    /// Subframes from the last one of a response window without an answer to the next preamble; at
    /// most 4 (TS 36.213 clause 6.1).
    pub retry_delay: u64,
    /// Result of the same preamble of two UEs in the same subframe.
    pub collision: Collision,
    /// With `collision = "msg3"`: an Msg3 is decoded if its power exceeds the sum of the others on
    /// its blocks by this much. Unset: none is (TR 37.868 clause 6.1 counts both as lost).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capture: Option<Db>,
    /// The lowest SNR, in the 1.05 MHz of PRACH, at which the eNB detects a preamble; below, the UE
    /// repeats it with more power (`ramping_step`).
    pub detection: Db,
    /// False: access is complete when Msg3 is sent, as in simulators without Msg4.
    pub contention_resolution: bool,
    /// preambleInitialReceivedTargetPower: -120 to -90 dBm by 2.
    pub target_power: Dbm,
    /// powerRampingStep: 0, 2, 4 or 6 dB.
    pub ramping_step: Db,
}

/// Result of the same preamble of two UEs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Collision {
    /// The eNB detects the preamble once and answers it; the Msg3 of the two UEs collide.
    #[default]
    Msg3,
    /// The eNB detects nothing.
    Preamble,
}

impl Default for RandomAccessConfig {
    /// TS 36.508 clause 4.4.3.3 (SIB2) where it has a value: 52 preambles, preambleTransMax 6,
    /// window 10 ms, contention resolution 48 ms, -104 dBm, 2 dB; -14.2 dB are of TS 36.104 table
    /// 8.4.2.1-1 (format 0, two antennas, AWGN); an opportunity in every subframe and 4 responses a
    /// TTI as in ns-3.
    fn default() -> Self {
        RandomAccessConfig {
            preambles: 52,
            prach_config_index: 14,
            preamble_trans_max: 6,
            response_window: Duration::from_millis(10),
            contention_timer: Duration::from_millis(48),
            backoff: Duration::ZERO,
            responses_per_tti: 4,
            retry_delay: 4,
            collision: Collision::Msg3,
            capture: None,
            detection: Db(-14.2),
            contention_resolution: true,
            target_power: Dbm(-104.0),
            ramping_step: Db(2.0),
        }
    }
}

impl RandomAccessConfig {
    /// The profile of ns-3's LENA: the same preambles in one subframe are not answered, there is no
    /// contention resolution message, and an attempt takes 3 + 3 + 1 ms.
    pub fn ns3() -> RandomAccessConfig {
        RandomAccessConfig {
            preamble_trans_max: 50,
            response_window: Duration::from_millis(3),
            retry_delay: 2,
            collision: Collision::Preamble,
            contention_resolution: false,
            ..RandomAccessConfig::default()
        }
    }

    /// The opportunities for preambles.
    pub const fn prach(&self) -> Prach {
        Prach { config_index: self.prach_config_index }
    }

    /// Refuses values that no broadcast can carry.
    pub fn validate(&self) -> Result<Vec<Warning>, ConfigError> {
        let ms = Duration::from_millis;
        let one_of = |t: Duration, values: &[u64]| values.iter().any(|v| ms(*v) == t);
        require(
            (4..=64).contains(&self.preambles) && self.preambles.is_multiple_of(4),
            "preambles",
            &self.preambles,
            "4 to 64 by 4",
        )?;
        check(
            self.prach_config_index <= 15,
            "prach_config_index",
            "0 to 15 (preamble format 0, TS 36.211 table 5.7.1-2)",
        )?;
        require(
            [3, 4, 5, 6, 7, 8, 10, 20, 50, 100, 200].contains(&self.preamble_trans_max),
            "preamble_trans_max",
            &self.preamble_trans_max,
            "3, 4, 5, 6, 7, 8, 10, 20, 50, 100 or 200",
        )?;
        require(
            one_of(self.response_window, &[2, 3, 4, 5, 6, 7, 8, 10]),
            "response_window",
            &self.response_window,
            "2, 3, 4, 5, 6, 7, 8 or 10 ms",
        )?;
        require(
            one_of(self.contention_timer, &[8, 16, 24, 32, 40, 48, 56, 64]),
            "contention_timer",
            &self.contention_timer,
            "8, 16, 24, 32, 40, 48, 56 or 64 ms",
        )?;
        require(
            one_of(self.backoff, &[0, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 960]),
            "backoff",
            &self.backoff,
            "0, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480 or 960 ms",
        )?;
        check(
            self.responses_per_tti > 0,
            "responses_per_tti",
            "without a response no UE can connect: at least 1",
        )?;
        check(self.capture.is_none_or(|c| (0.0..=30.0).contains(&c.0)), "capture", "0 to 30 dB")?;
        check((-30.0..=20.0).contains(&self.detection.0), "detection", "-30 to 20 dB")?;
        check((1..=4).contains(&self.retry_delay), "retry_delay", "1 to 4 subframes")?;
        require(
            (-120.0..=-90.0).contains(&self.target_power.0),
            "target_power",
            &self.target_power,
            "-120 to -90 dBm",
        )?;
        require(
            [0.0, 2.0, 4.0, 6.0].contains(&self.ramping_step.0),
            "ramping_step",
            &self.ramping_step,
            "0, 2, 4 or 6 dB",
        )?;
        Ok(Vec::new())
    }
}

/// The subframes in which preambles may be sent, by prach-ConfigIndex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prach {
    config_index: u8,
}

/// Opportunities by prach-ConfigIndex: bit `s` of an entry is one in subframe `s`; TS 36.211
/// v15.1.0 table 5.7.1-2, preamble format 0. The entries 0, 1, 2 and 15 apply in frames of even
/// number alone.
const SUBFRAMES: [u16; 16] = [
    1 << 1,
    1 << 4,
    1 << 7,
    1 << 1,
    1 << 4,
    1 << 7,
    1 << 1 | 1 << 6,
    1 << 2 | 1 << 7,
    1 << 3 | 1 << 8,
    1 << 1 | 1 << 4 | 1 << 7,
    1 << 2 | 1 << 5 | 1 << 8,
    1 << 3 | 1 << 6 | 1 << 9,
    0b01_0101_0101,
    0b10_1010_1010,
    0b11_1111_1111,
    1 << 9,
];

impl Prach {
    /// True if a preamble may be sent in `tti`.
    pub fn is_opportunity(self, tti: Tti) -> bool {
        let (frame, subframe) = (tti.0 / 10, tti.0 % 10);
        let even_only = matches!(self.config_index, 0..=2 | 15);
        SUBFRAMES[usize::from(self.config_index & 15)] >> subframe & 1 == 1 && !(even_only && frame % 2 == 1)
    }
    /// The first opportunity not before `tti`. Every entry has one within two frames.
    pub fn at_or_after(self, tti: Tti) -> Tti {
        (0..20).map(|n| tti.plus(n)).find(|t| self.is_opportunity(*t)).unwrap_or(tti)
    }
}

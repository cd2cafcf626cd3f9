//! Rate control: the rate of the next data.

mod minstrel;

use lasthop_engine::Draw;
use lasthop_units::Instant;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::{ConfigError, Warning, check};
use crate::phy::Mode;
use lasthop_units::Duration;
use minstrel::Minstrel;

/// How a rate is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum RateConfig {
    /// Always the same rate.
    Fixed {
        /// The MCS; of 802.11a 0 to 7 for 6, 9, 12, 18, 24, 36, 48 and 54 Mbit/s, of 802.11b 0 to 3
        /// for 1, 2, 5.5 and 11 Mbit/s.
        mcs: u8,
        /// Spatial streams. Unset: those of the access point.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        streams: Option<u8>,
    },
    /// The fastest rate with which at most one MPDU of 1538 B in ten is lost at the SNR of the
    /// link. The sender knows this SNR.
    Ideal,
    /// Minstrel-HT: tries rates and uses the one with the highest throughput.
    Minstrel(MinstrelConfig),
}

impl Default for RateConfig {
    fn default() -> Self {
        RateConfig::Minstrel(MinstrelConfig::default())
    }
}

/// Parameters of Minstrel-HT.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MinstrelConfig {
    /// Time between two updates of the statistics.
    pub interval: Duration,
    /// Weight of the earlier mean number of MPDUs in an A-MPDU, 0 to 1 (EWMA_LEVEL).
    pub weight: f64,
    /// One transmission out of this number tries another rate.
    pub sample_every: u32,
}

impl Default for MinstrelConfig {
    fn default() -> Self {
        // Linux 6.1, rc80211_minstrel_ht.h: update interval HZ / 20, EWMA_LEVEL 96 of 128. Sampling
        // is not that of 6.1, which depends on time (MINSTREL_SAMPLE_INTERVAL, HZ / 50): one in
        // sixteen is the rule of earlier versions.
        MinstrelConfig { interval: Duration::from_millis(50), weight: 0.75, sample_every: 16 }
    }
}

impl RateConfig {
    /// Refuses invalid values.
    ///
    /// # Errors
    /// The first invalid key.
    pub fn validate(&self) -> Result<Vec<Warning>, ConfigError> {
        if let RateConfig::Minstrel(m) = self {
            check(!m.interval.is_zero(), "interval", "above 0 s")?;
            check((0.0..1.0).contains(&m.weight), "weight", "0 to below 1")?;
            check(m.sample_every >= 2, "sample_every", "2 or more")?;
        }
        Ok(Vec::new())
    }
}

/// The rate control of one link and direction.
#[derive(Clone, Debug)]
pub enum RateControl {
    /// One fixed rate.
    Fixed(Mode),
    /// The fastest rate for the SNR.
    Ideal(Ladder),
    /// Minstrel-HT.
    Minstrel(Box<Minstrel>),
}

/// Rates with the SNR that each requires.
#[derive(Clone, Debug)]
pub struct Ladder {
    /// Rates by speed, with the linear SNR at which one MPDU of 1538 B in ten is lost.
    steps: Vec<(Mode, f64)>,
}

/// Length of the MPDU for which error probabilities are computed [bit]: 1500 B of IP.
const TYPICAL: f64 = 8.0 * 1538.0;

impl Ladder {
    /// Creates the ladder of `modes`, slowest first.
    pub fn new(modes: &[Mode]) -> Ladder {
        let need = |mode: &Mode| {
            let (mut low, mut high) = (0.0, mode.sure());
            for _ in 0..50 {
                let middle = 0.5 * (low + high);
                if mode.success(middle, TYPICAL) < 0.9 { low = middle } else { high = middle }
            }
            high
        };
        Ladder { steps: modes.iter().map(|m| (*m, need(m))).collect() }
    }
    /// The fastest rate for a linear SNR.
    pub fn best(&self, snr: f64) -> Mode {
        let fit = self.steps.iter().rev().find(|(_, need)| *need <= snr);
        fit.unwrap_or(&self.steps[0]).0
    }
}

impl RateControl {
    /// Creates the rate control of `config` over `modes` (not empty, slowest first), or the fixed
    /// rate.
    pub fn new(config: &RateConfig, fixed: Option<Mode>, modes: &[Mode], draw: Draw) -> RateControl {
        match (config, fixed) {
            (RateConfig::Fixed { .. }, Some(mode)) => RateControl::Fixed(mode),
            (RateConfig::Minstrel(m), _) => RateControl::Minstrel(Box::new(Minstrel::new(*m, modes, draw))),
            _ => RateControl::Ideal(Ladder::new(modes)),
        }
    }

    /// Chooses the rate of the next data, when the link's SNR (linear) is `snr`.
    #[inline]
    pub fn choose(&mut self, now: Instant, snr: f64) -> Mode {
        match self {
            RateControl::Fixed(mode) => *mode,
            RateControl::Ideal(ladder) => ladder.best(snr),
            RateControl::Minstrel(m) => m.choose(now),
        }
    }

    /// Reports that of `sent` MPDUs at `mode` `acked` were acknowledged.
    #[inline]
    pub fn report(&mut self, now: Instant, mode: &Mode, sent: u32, acked: u32) {
        if let RateControl::Minstrel(m) = self {
            m.report(now, mode, sent, acked);
        }
    }

    /// The rate that it would choose now, for probes.
    pub fn current(&self, snr: f64) -> Mode {
        match self {
            RateControl::Fixed(mode) => *mode,
            RateControl::Ideal(ladder) => ladder.best(snr),
            RateControl::Minstrel(m) => m.best(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::ApConfig;
    use lasthop_engine::math::from_db;

    /// 11ac, 20 MHz, one stream: the thresholds of 10 % (1500 B: 23.79 dB for MCS 7) are at most
    /// 0.03 dB higher for 1538 B.
    #[test]
    fn ideal_takes_the_fastest_that_gets_through() {
        let ladder = Ladder::new(&ApConfig::default().modes());
        let mcs = |db| ladder.best(from_db(db)).mcs();
        assert_eq!(
            [mcs(-10.0), mcs(4.0), mcs(7.1), mcs(23.7), mcs(23.9), mcs(28.4), mcs(28.6)],
            [0, 0, 1, 6, 7, 7, 8]
        );
    }
}

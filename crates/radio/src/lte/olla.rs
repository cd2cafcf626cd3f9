//! Outer-loop link adaptation: an offset on the reported quality, moved by ACK and NACK so that the first
//! transmissions fail as often as wanted (K. Pedersen et al., "Frequency domain scheduling for OFDMA with limited and
//! noisy channel feedback", IEEE VTC Fall 2007).

use lasthop_units::{Db, Ratio};

/// What the loop may do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OllaConfig {
    /// Wanted share of first transmissions that fail.
    pub target: Ratio,
    /// How far a NACK moves the offset down. An ACK moves it up by target / (1 - target) of this.
    pub step_down: Db,
    /// The lowest offset.
    pub min: Db,
    /// The highest offset.
    pub max: Db,
}

impl Default for OllaConfig {
    /// 10 %, 0.5 dB down (0.056 dB up), -10 dB to 10 dB.
    fn default() -> Self {
        OllaConfig { target: Ratio(0.1), step_down: Db(0.5), min: Db(-10.0), max: Db(10.0) }
    }
}

/// The loop of one UE and direction (and code word).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Olla {
    config: OllaConfig,
    offset: Db,
}

impl Olla {
    /// A loop that begins with no offset.
    pub fn new(config: OllaConfig) -> Olla {
        Olla { config, offset: Db(0.0) }
    }

    /// A loop of the same configuration that starts anew.
    #[must_use]
    pub fn restarted(&self) -> Olla {
        Olla::new(self.config)
    }
    /// What to add to the reported SINR before the MCS is chosen.
    pub fn offset(&self) -> Db {
        self.offset
    }
    /// A first transmission was acknowledged, or not. Retransmissions are none of its business.
    pub fn first_transmission(&mut self, acknowledged: bool) {
        let OllaConfig { target, step_down, min, max } = self.config;
        let step = if acknowledged { step_down.0 * target.0 / (1.0 - target.0) } else { -step_down.0 };
        self.offset = Db((self.offset.0 + step).clamp(min.0, max.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lte::{ErrorModel, Mcs, McsTable};
    use lasthop_engine::{Draw, Purpose};

    /// At rest the steps cancel: (1 - p) up = p down gives p = target. Here the report is 3 dB too good and the MCS (a
    /// block on 50 PRB) can follow in steps of a CQI. 20 000 blocks; the loop's own wander (0.5 dB steps in a ladder of
    /// 2 dB) leaves +-1 %.
    #[test]
    fn the_share_of_errors_goes_to_the_target() {
        let draw = Draw::new(3, Purpose::Test, 0);
        let mut olla = Olla::new(OllaConfig::default());
        let (true_snr_db, reported_db) = (10.0, 13.0);
        let errors: Vec<bool> = (0..20_000)
            .map(|i| {
                let seen = reported_db + olla.offset().0;
                let needed = |m: &u8| {
                    ErrorModel::of_grant(Mcs::new(*m), McsTable::Downlink, 50).unwrap().error_at(seen) <= 0.1
                };
                let mcs = Mcs::new((0..=28).rfind(needed).unwrap_or(0));
                let p = ErrorModel::of_grant(mcs, McsTable::Downlink, 50).unwrap().error_at(true_snr_db);
                let lost = draw.happens(i, p);
                olla.first_transmission(!lost);
                lost
            })
            .collect();
        let share = errors[2000..].iter().filter(|e| **e).count() as f64 / 18_000.0;
        assert!((share - 0.1).abs() < 0.01, "{share}");
        assert!((-4.5..-2.0).contains(&olla.offset().0), "{:?}", olla.offset());
    }

    #[test]
    fn steps_stand_in_the_ratio_of_the_target() {
        let mut olla = Olla::new(OllaConfig::default());
        olla.first_transmission(false);
        assert_eq!(olla.offset(), Db(-0.5));
        (0..9).for_each(|_| olla.first_transmission(true));
        assert!(olla.offset().0.abs() < 1e-12);
        (0..1000).for_each(|_| olla.first_transmission(false));
        assert_eq!(olla.offset(), Db(-10.0));
    }
}

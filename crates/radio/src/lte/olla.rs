//! Outer-loop link adaptation: an offset on the reported quality, moved by ACK and NACK so that the
//! first transmissions fail at the target rate (K. Pedersen et al., "Frequency domain scheduling
//! for OFDMA with limited and noisy channel feedback", IEEE VTC Fall 2007).

use lasthop_units::{Db, Ratio};

/// Parameters of the loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OllaConfig {
    /// Target share of first transmissions that fail.
    pub target: Ratio,
    /// Decrease of the offset on a NACK. An ACK raises it by target / (1 - target) of this.
    pub step_down: Db,
    /// The lowest offset.
    pub min: Db,
    /// The highest offset.
    pub max: Db,
}

impl Default for OllaConfig {
    /// Target 10 %, 0.5 dB down (0.056 dB up), -10 dB to 10 dB.
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
    /// Creates a loop whose offset is 0 dB.
    pub fn new(config: OllaConfig) -> Olla {
        Olla { config, offset: Db(0.0) }
    }

    /// A new loop of the same configuration.
    #[must_use]
    pub fn restarted(&self) -> Olla {
        Olla::new(self.config)
    }
    /// The value to add to the reported SINR before the MCS is chosen.
    pub fn offset(&self) -> Db {
        self.offset
    }
    /// Updates the offset after the ACK or NACK of a first transmission. Retransmissions do not
    /// count.
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

    /// In equilibrium the steps cancel: (1 - p) up = p down gives p = target. Here the report is 3
    /// dB too high, and the MCS (a block on 50 PRB) follows in steps of a CQI. 20 000 blocks; the
    /// fluctuation of the offset (0.5 dB steps among MCS 2 dB apart) leaves +-1 %.
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

    /// The loss of throughput by the target on a static channel. Let MCS m fail with e(m) and carry
    /// R(m). The second transmission of a block is always decoded. The loop alternates between
    /// neighbouring MCS so that a share p of first transmissions fails, even where another choice
    /// would be better; each block then takes 1 + p TTIs: T = R' / (1 + p), where R' is the mean R
    /// of the mix. The best single MCS has max R(m) / (1 + e(m)). If there is an MCS m with e(m)
    /// near 0 and the next fails nearly always, the mix is (1 - p) m + p (m + 1), and the cost is
    /// 1 - (1 + p d) / (1 + p), where d = R(m + 1) / R(m) - 1: 7 to 9 % for p = 10 % and steps of 0
    /// to 25 %. Where m itself fails with p, there is no cost. The loop also moves in steps of 0.5
    /// dB into MCS m - 1, which carries less. On a channel that changes there is no best single
    /// MCS, and the loop follows it.
    #[test]
    fn the_target_costs_a_static_channel_what_the_ladder_leaves_no_choice_about() {
        let block = |m: u8| ErrorModel::of_grant(Mcs::new(m), McsTable::Downlink, 50).unwrap();
        let bits = |m: u8| {
            f64::from(crate::lte::tbs_bits(50, Mcs::new(m).i_tbs(McsTable::Downlink).unwrap()).unwrap())
        };
        let draw = Draw::new(5, Purpose::Test, 0);
        for (target, most) in [(0.1, 0.10), (0.01, 0.02)] {
            let p = Ratio(target);
            let mut costs = Vec::new();
            for snr in [4.0, 10.0, 14.0, 18.0] {
                let errors: Vec<f64> = (0..=28).map(|m| block(m).error_at(snr)).collect();
                // Chase combining: n transmissions have n times the energy. The MCS chosen here
                // never need a fifth.
                let after = |m: u8, n: f64| block(m).error_at(snr + lasthop_engine::math::db(n));
                let ttis_of = |m: u8| 1.0 + after(m, 1.0) + after(m, 2.0) + after(m, 3.0);
                let best =
                    (0..=28u8).map(|m| bits(m) * (1.0 - after(m, 4.0)) / ttis_of(m)).fold(0.0, f64::max);
                let again: Vec<f64> =
                    (0..=28u8).map(|m| (ttis_of(m) - 1.0) / errors[usize::from(m)].max(1e-9)).collect();
                let mut olla = Olla::new(OllaConfig { target: p, ..OllaConfig::default() });
                let (mut sent, mut ttis, mut failed) = (0.0, 0.0, 0.0);
                let needed: Vec<f64> = (0..=28u8)
                    .map(|m| (-100..300).map(|t| f64::from(t) / 10.0).find(|s| block(m).error_at(*s) <= 0.1))
                    .map(|s| s.unwrap_or(f64::INFINITY))
                    .collect();
                for i in 0..50_000 {
                    let seen = snr + olla.offset().0;
                    let m = (0..=28u8).rfind(|m| needed[usize::from(*m)] <= seen).unwrap_or(0);
                    let lost = draw.happens(i, errors[usize::from(m)]);
                    olla.first_transmission(!lost);
                    (sent, ttis) =
                        (sent + bits(m), ttis + if lost { 1.0 + again[usize::from(m)] } else { 1.0 });
                    failed += f64::from(u8::from(lost));
                }
                let share = failed / 50_000.0;
                assert!((share - target).abs() < 0.01, "{snr} dB: {share} of the first transmissions fail");
                costs.push(1.0 - sent / ttis / best);
            }
            println!("target {target}: costs {costs:.3?} at 4, 10, 14 and 18 dB");
            assert!(costs.iter().all(|cost| (-0.01..most).contains(cost)), "{target}: {costs:?}");
        }
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

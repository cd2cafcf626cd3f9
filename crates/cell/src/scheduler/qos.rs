//! QoS-aware scheduling by delay budget and guaranteed rate.

use lasthop_engine::math;
use lasthop_net::Entry;
use lasthop_units::{Duration, Tti};

use super::qci::{QosClass, class_of};
use super::{BuiltIn, Candidate, Domain, NoParameters, Policy, entry};

/// Modified largest weighted delay first for classes with a delay budget, proportional fair for the
/// others.
///
/// The metric of a UE whose most urgent class keeps packets below a delay T with probability 1 -
/// delta is a W R/average, a = -ln(delta)/T, W the delay of its oldest packet (M. Andrews and
/// others, "Providing quality of service over a shared wireless link", IEEE Communications Magazine
/// 39(2), 2001); delta and T are loss rate and delay budget of the class. Classes of elastic
/// traffic (6, 8, 9 and unknown ones) have R/average, as LTE-Sim does (G. Piro and others, IEEE
/// Trans. Vehicular Technology 60(2), 2011). The metric of a UE below its guaranteed rate is
/// multiplied by guaranteed rate over average.
#[derive(Clone, Copy, Debug)]
pub struct QosAware {
    tti: Duration,
}

impl Policy for QosAware {
    fn domain(&self) -> Domain {
        Domain::Frequency { channel_aware: true, counts_given: false }
    }

    fn weigh(&mut self, _tti: Tti, candidates: &[Candidate], weights: &mut [f64]) {
        for (c, w) in candidates.iter().zip(weights) {
            let urgency = class_of(c.qci)
                .filter(|q| keeps_delay(q))
                .map_or(1.0, |q| urgency(q, c.head_delay, self.tti));
            let lack = (c.guaranteed / c.average).max(1.0);
            *w = urgency * lack / c.average;
        }
    }
}

impl BuiltIn for QosAware {
    type Config = NoParameters;
    const ENTRY: Entry = entry(
        "qos-aware",
        "largest weighted delay first by class, guaranteed rates, proportional fair for the rest",
        "M. Andrews and others, IEEE Communications Magazine 39(2), 2001; TS 23.203 table 6.1.7",
    );
    fn new(_: &NoParameters, tti: Duration) -> QosAware {
        QosAware { tti }
    }
}

/// True if the delay budget of the class counts: it has a guaranteed rate, or a budget below the
/// 300 ms of elastic classes.
fn keeps_delay(class: &QosClass) -> bool {
    class.guaranteed || class.delay_ms < 300
}

fn urgency(class: &QosClass, waited: Duration, tti: Duration) -> f64 {
    // A packet that has just arrived has waited less than a TTI; a weight of 0 would exclude its
    // UE.
    let waited = waited.max(tti).as_secs_f64();
    -math::ln(class.loss) * waited / class.delay_budget().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::testing::{candidate, weights};

    fn of_lte() -> QosAware {
        QosAware::new(&NoParameters {}, Duration::from_millis(1))
    }

    /// Voice (QCI 1: 100 ms, 1e-2) that has waited 50 ms: 4.60517 * 0.5. Streaming (QCI 4: 300 ms,
    /// 1e-6) at 30 ms: 13.81551 * 0.1 = 1.381551. Bulk: 1.
    #[test]
    fn the_metric_is_delay_over_budget_times_the_log_of_the_loss() {
        let at = |qci, ms| Candidate { qci, head_delay: Duration::from_millis(ms), ..candidate(0, 1.0, 1.0) };
        let w = weights(&mut of_lte(), 0, &[at(1, 50), at(4, 30), at(9, 5000), at(200, 5000)]);
        for (w, expected) in w.iter().zip([0.5 * 4.605_170, 1.381_551, 1.0, 1.0]) {
            assert!((w - expected).abs() < 1e-6, "{w} instead of {expected}");
        }
    }

    /// Guaranteed 200, served 50: four times the weight of a UE that gets its guaranteed rate.
    #[test]
    fn the_weight_of_a_ue_below_its_guaranteed_rate_is_raised() {
        let c = Candidate { guaranteed: 200.0, ..candidate(0, 1.0, 50.0) };
        assert_eq!(weights(&mut of_lte(), 0, &[c, candidate(1, 1.0, 50.0)]), [4.0 / 50.0, 1.0 / 50.0]);
    }

    /// A packet that has just arrived counts as waiting for one TTI: voice, 4.60517 / 100 ms times
    /// 1 ms, or times 0.25 ms.
    #[test]
    fn a_packet_that_has_just_arrived_has_waited_for_a_tti() {
        let voice = Candidate { qci: 1, ..candidate(0, 1.0, 1.0) };
        for us in [1000, 250] {
            let mut policy = QosAware::new(&NoParameters {}, Duration::from_micros(us));
            let expected = 4.605_170 * us as f64 / 100_000.0;
            assert!((weights(&mut policy, 0, &[voice])[0] - expected).abs() < 1e-7, "{us} us");
        }
    }
}

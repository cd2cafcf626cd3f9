//! A synthetic trace, so that examples and tests need no measurements of others.

use lasthop_engine::{Draw, Purpose, math};

use super::{Trace, TraceError};

/// A cellular link with a varying rate: the logarithm of the rate is an Ornstein-Uhlenbeck process
/// sampled each 10 ms, with short outages that start at random.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SyntheticModel {
    /// Median rate while there is no outage [Mbit/s].
    pub median_mbps: f64,
    /// Standard deviation of the natural logarithm of the rate.
    pub sigma: f64,
    /// Correlation time of the log-rate [s].
    pub correlation_s: f64,
    /// Mean time between the starts of outages [s].
    pub outage_every_s: f64,
    /// Mean length of an outage, exponential [s].
    pub outage_s: f64,
    /// Length of the trace [s].
    pub length_s: u32,
}

impl SyntheticModel {
    /// The downlink of `synthetic-lte`: near 5 Mbit/s, 60 s.
    pub const LTE_DOWN: SyntheticModel = SyntheticModel {
        median_mbps: 5.0,
        sigma: 0.6,
        correlation_s: 3.0,
        outage_every_s: 15.0,
        outage_s: 0.4,
        length_s: 60,
    };
    /// The uplink of `synthetic-lte`: near 2 Mbit/s, 60 s.
    pub const LTE_UP: SyntheticModel = SyntheticModel { median_mbps: 2.0, ..SyntheticModel::LTE_DOWN };
}

/// Time between two rates [s].
const STEP_S: f64 = 0.01;

/// The trace of `model` with the draws of `seed`: the same on every machine. Opportunities are of
/// 1500 bytes; the last one closes the trace at its full length.
pub fn synthetic(model: &SyntheticModel, seed: u64) -> Result<Trace, TraceError> {
    let rate = Draw::new(seed, Purpose::Traffic, 0);
    let outage = Draw::new(seed, Purpose::Traffic, 1);
    let keep = math::exp(-STEP_S / model.correlation_s);
    let fresh = math::sqrt(1.0 - keep * keep) * model.sigma;
    let length_ms = u64::from(model.length_s) * 1000;
    let (mut log_rate, mut bytes, mut outage_left_s) = (0.0, 0.0, 0.0f64);
    let mut times = Vec::new();
    for ms in 0..length_ms {
        if ms % 10 == 0 {
            log_rate = keep * log_rate + fresh * rate.stream(ms).normal();
            if outage.happens(ms, STEP_S / model.outage_every_s) {
                outage_left_s = outage.stream(ms).exponential(model.outage_s);
            }
            outage_left_s -= STEP_S;
        }
        if outage_left_s > 0.0 {
            continue;
        }
        bytes += model.median_mbps * math::exp(log_rate) * 125.0;
        while bytes >= 1500.0 {
            bytes -= 1500.0;
            times.push(ms);
        }
    }
    times.push(length_ms);
    Trace::from_ms(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_synthetic_trace_is_what_its_model_says() {
        let trace = synthetic(&SyntheticModel::LTE_DOWN, 1).unwrap();
        let s = trace.stats(1500);
        assert_eq!(s.length_s, 60.0);
        assert!((2.5..10.0).contains(&s.mean_mbps), "{s:?}");
        assert!(s.rate_p5_mbps < s.rate_p50_mbps && s.rate_p50_mbps < s.rate_p95_mbps);
        assert_eq!(trace, synthetic(&SyntheticModel::LTE_DOWN, 1).unwrap());
        assert_ne!(trace, synthetic(&SyntheticModel::LTE_DOWN, 2).unwrap());
    }

    /// The files that come with the program are what `examples/synthetic_trace.rs` makes today,
    /// byte for byte.
    #[test]
    fn the_shipped_traces_are_fresh() {
        let folder =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/lasthop/scenarios/traces");
        for (name, model, seed) in [
            ("synthetic-lte.down", SyntheticModel::LTE_DOWN, 1),
            ("synthetic-lte.up", SyntheticModel::LTE_UP, 2),
        ] {
            let mut made = Vec::new();
            crate::trace::write_mahimahi(&synthetic(&model, seed).unwrap(), &mut made).unwrap();
            assert!(
                std::fs::read(folder.join(name)).unwrap() == made,
                "{name} is stale: run the example again"
            );
            assert!(made.len() < 200_000);
        }
    }
}

//! Estimates, at a UE or its eNB, of the downlink's rate for one flow: the carrier's rate times the
//! UE's share of it, both averaged over time. Capacity hints report them to senders.

use lasthop_engine::math;
use lasthop_units::{BearerId, Bitrate, Duration, Instant, UeId};

use super::RadioNetwork;
use lasthop_bearer::{Direction, End};

/// The end that estimates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapacitySource {
    /// The eNB: the rate of the UE's report, corrected by the outer loop, divided by the number of
    /// active UEs.
    Enb,
    /// The UE: the rate of its own wideband CQI at this moment, times the share that it assumes.
    Ue(AssumedShare),
}

/// The share of the carrier that a UE assumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssumedShare {
    /// An equal share among the active UEs, whose number the cell broadcasts.
    Broadcast,
    /// The share of the resource blocks that the UE has been assigned.
    Own,
    /// The whole carrier.
    Whole,
}

/// Parameters of the estimate.
#[derive(Clone, Copy, Debug)]
pub struct CapacityConfig {
    /// The end that estimates.
    pub source: CapacitySource,
    /// Time between two estimates.
    pub period: Duration,
    /// Time constant of the averages over rates and over the number of active UEs; 0: no average.
    pub average: Duration,
    /// Time between the cell's broadcasts of that number.
    pub broadcast_period: Duration,
    /// With [`AssumedShare::Own`]: time constant of the share.
    pub memory: Duration,
}

/// An estimate, and its inputs.
#[derive(Clone, Copy, Debug)]
pub struct Capacity {
    /// The rate for the UE \[bit/s\].
    pub rate_bps: f64,
    /// Rate of the whole carrier for the UE.
    pub carrier: Bitrate,
    /// UEs that share the carrier now, including this one.
    pub users: u32,
    /// Bytes for the UE in layer 2 \[bytes\].
    pub queue: u64,
    /// Rate of the UE in the uplink.
    pub uplink: Bitrate,
}

/// The estimator of one UE.
#[derive(Clone, Debug)]
pub struct CapacityEstimator {
    config: CapacityConfig,
    ue: UeId,
    rate: Average,
    /// Active UEs of the cell, averaged, and as last broadcast.
    load: Average,
    broadcast: Option<(Instant, f64)>,
    /// Share of the resource blocks assigned to the UE, and their count at the last estimate.
    share: Average,
    counted: (u64, Instant),
}

impl CapacityEstimator {
    /// The estimator of `ue`.
    pub fn new(config: CapacityConfig, ue: UeId) -> CapacityEstimator {
        let (rate, load, share) = Default::default();
        CapacityEstimator { config, ue, rate, load, broadcast: None, share, counted: (0, Instant::ZERO) }
    }

    /// The estimate of `now` for `bearer`, which is one of the UE's.
    pub fn read(&mut self, now: Instant, network: &mut RadioNetwork, bearer: BearerId) -> Capacity {
        let (ue, config) = (self.ue, self.config);
        let queue = network.view().rlc_stats(bearer, End::Network).queue_bytes;
        let blocks = network.view().link_stats(ue, Direction::Downlink).resource_blocks;
        let mut reading = network.reading(now, ue);
        let users = reading.downlink_users();
        let carrier = match config.source {
            CapacitySource::Enb => reading.known_rate(),
            CapacitySource::Ue(_) => reading.measured_rate(),
        };
        let load = self.load.add(users.into(), config.period, config.average);
        let received = self.broadcast(now, load);
        let own = self.share_got(now, blocks, reading.carrier_blocks());
        let share = match config.source {
            CapacitySource::Enb => 1.0 / load,
            CapacitySource::Ue(AssumedShare::Broadcast) => 1.0 / received,
            CapacitySource::Ue(AssumedShare::Own) => own,
            CapacitySource::Ue(AssumedShare::Whole) => 1.0,
        };
        Capacity {
            rate_bps: self.rate.add(carrier.as_f64() * share, config.period, config.average),
            carrier,
            users,
            queue,
            uplink: reading.uplink_rate(),
        }
    }

    /// The newest load that the cell has broadcast; `load` is that of this moment.
    fn broadcast(&mut self, now: Instant, load: f64) -> f64 {
        match self.broadcast {
            Some((at, load)) if now.since(at) < self.config.broadcast_period => load,
            _ => {
                self.broadcast = Some((now, load));
                load
            }
        }
    }

    /// The share of the carrier's resource blocks that the UE is assigned, by the number of
    /// `blocks` assigned to it since the start.
    fn share_got(&mut self, now: Instant, blocks: u64, carrier_blocks: u32) -> f64 {
        let (before, since) = std::mem::replace(&mut self.counted, (blocks, now));
        let ttis = (now.since(since).as_secs_f64() * 1e3).max(1.0);
        let got = ((blocks - before) as f64 / (ttis * f64::from(carrier_blocks))).min(1.0);
        self.share.add(got, self.config.period, self.config.memory)
    }
}

/// An exponential average over time.
#[derive(Clone, Copy, Debug, Default)]
struct Average(Option<f64>);

impl Average {
    fn add(&mut self, value: f64, after: Duration, constant: Duration) -> f64 {
        let weight = match constant.is_zero() {
            true => 1.0,
            false => 1.0 - math::exp(-after.as_secs_f64() / constant.as_secs_f64()),
        };
        let value = self.0.map_or(value, |old| old + weight * (value - old));
        self.0 = Some(value);
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages_decay_by_their_time_constant() {
        let mut s = Average::default();
        let (ms, constant) = (Duration::from_millis, Duration::from_millis(50));
        assert_eq!(s.add(10.0, ms(10), constant), 10.0);
        // After one time constant the average has 1 - 1/e of a step.
        let value = (0..5).map(|_| s.add(20.0, ms(10), constant)).last().unwrap();
        assert!((value - (20.0 - 10.0 / std::f64::consts::E)).abs() < 1e-9, "{value}");
        assert_eq!(s.add(7.0, ms(10), Duration::ZERO), 7.0);
    }

    fn estimator(average: Duration) -> CapacityEstimator {
        let config = CapacityConfig {
            source: CapacitySource::Ue(AssumedShare::Own),
            period: Duration::from_millis(10),
            average,
            broadcast_period: Duration::from_millis(40),
            memory: Duration::ZERO,
        };
        CapacityEstimator::new(config, lasthop_units::Id::from_index(0))
    }

    /// In 10 ms a carrier of 50 blocks has 500: 125 of them are a quarter. Ten TTIs and the one
    /// that has just begun may have 550, which is limited to all.
    #[test]
    fn the_share_is_that_of_the_blocks_since_the_last_look() {
        let mut e = estimator(Duration::ZERO);
        let at = Instant::from_millis;
        assert_eq!(e.share_got(at(10), 500, 50), 1.0);
        assert_eq!(e.share_got(at(20), 625, 50), 0.25);
        assert_eq!(e.share_got(at(30), 625 + 550, 50), 1.0);
    }

    #[test]
    fn a_broadcast_holds_until_the_next_one() {
        let mut e = estimator(Duration::ZERO);
        let at = Instant::from_millis;
        let received = [(0, 2.0), (10, 5.0), (39, 7.0), (40, 9.0)].map(|(t, load)| e.broadcast(at(t), load));
        assert_eq!(received, [2.0, 2.0, 2.0, 9.0]);
    }
}

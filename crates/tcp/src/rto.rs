//! The retransmission timeout: RFC 6298 sections 2 to 5, or the tick arithmetic of ns-2.

use lasthop_units::{Duration, Instant};

use crate::config::{BackoffFloor, Config, RttEstimator};
use crate::jiffies::Timers;
use crate::rtt::{InetRtt, LinuxRtt, Smoothed, Ticks};

/// Computes and backs off the retransmission timeout; owns the RTT estimate on which it is based.
#[derive(Clone, Copy, Debug)]
pub struct Rto {
    estimate: Estimate,
    /// Full gains at each sample.
    per_sample: bool,
    /// The timeout before floor, ceiling and back-off.
    base: Duration,
    /// The factor of the exponential back-off, a power of two.
    backoff: u32,
    min: Duration,
    max: Duration,
    granularity: Duration,
    max_backoff: u32,
    floor: BackoffFloor,
    timers: Timers,
}

#[derive(Clone, Copy, Debug)]
enum Estimate {
    Smoothed(Smoothed),
    Inet(InetRtt),
    Linux(LinuxRtt),
    Ticks(Ticks),
}

impl Rto {
    /// Before the first sample the timeout is `config.initial_rto` (RFC 6298 (2.1): 1 second).
    pub fn new(config: &Config) -> Rto {
        Rto {
            estimate: match config.timers.rtt_estimator {
                RttEstimator::Rfc6298 | RttEstimator::PerSample => Estimate::Smoothed(Smoothed::default()),
                RttEstimator::Inet => Estimate::Inet(InetRtt::new(config.timers.initial_rto)),
                RttEstimator::Linux => Estimate::Linux(LinuxRtt::new(config.timers.min_rto)),
                RttEstimator::Ns2Ticks => Estimate::Ticks(Ticks::new(config.timers.clock_granularity)),
            },
            per_sample: config.timers.rtt_estimator == RttEstimator::PerSample,
            base: config.timers.initial_rto,
            backoff: 1,
            min: config.timers.min_rto,
            max: config.timers.max_rto,
            granularity: config.timers.clock_granularity,
            max_backoff: config.timers.max_backoff,
            floor: config.timers.backoff_floor,
            timers: config.kernel_timers(),
        }
    }

    /// Takes the round trip from `sent` to `now`, one of `per_round` samples expected per round
    /// trip. The back-off ends: RFC 6298 section 5, last paragraph.
    pub fn sample(&mut self, sent: Instant, now: Instant, per_round: u64) {
        match &mut self.estimate {
            Estimate::Smoothed(e) => {
                e.sample(now.since(sent), if self.per_sample { 1 } else { per_round });
                // (2.3): RTO <- SRTT + max(G, K * RTTVAR), K = 4.
                let srtt = e.srtt.unwrap_or_default();
                let spread = self.granularity.0.max(e.rttvar.0.saturating_mul(4));
                self.base = Duration(srtt.0.saturating_add(spread));
            }
            Estimate::Inet(e) => {
                e.sample(now.since(sent));
                self.base = e.srtt + e.rttvar * 4;
            }
            Estimate::Linux(e) => {
                e.sample(now, now.since(sent));
                // tcp_set_rto: the timeout is kept, and doubled, in jiffies.
                self.base = self.timers.up(e.srtt.unwrap_or_default() + e.rttvar);
            }
            Estimate::Ticks(t) => {
                t.sample(sent, now);
                self.base = t.rto().unwrap_or(self.base);
            }
        }
        self.backoff = 1;
    }

    /// The timer expired: RFC 6298 (5.5), "RTO <- RTO * 2".
    pub fn back_off(&mut self) {
        if self.backoff < self.max_backoff {
            self.backoff = self.backoff.saturating_mul(2);
        }
        if let Estimate::Ticks(t) = &mut self.estimate
            && self.backoff > 8
        {
            t.distrust();
        }
    }

    /// The SYN was retransmitted and had no usable sample: RFC 6298 (5.7) starts data with 3
    /// seconds.
    pub fn start_conservatively(&mut self) {
        self.base = self.base.max(Duration::from_secs(3));
        self.backoff = 1;
    }

    /// The timeout now, with floor, back-off and ceiling.
    #[inline]
    pub fn current(&self) -> Duration {
        let n = u64::from(self.backoff);
        let rto = match self.floor {
            BackoffFloor::Before => self.base.max(self.min).saturating_mul(n),
            BackoffFloor::After => self.base.saturating_mul(n).max(self.min),
        };
        rto.min(self.max)
    }

    /// The back-off factor, 1 when not backed off.
    pub const fn backoff(&self) -> u32 {
        self.backoff
    }
    /// SRTT; `None` before the first sample.
    pub fn srtt(&self) -> Option<Duration> {
        match &self.estimate {
            Estimate::Smoothed(e) => e.srtt,
            Estimate::Inet(e) => e.srtt(),
            Estimate::Linux(e) => e.srtt,
            Estimate::Ticks(t) => t.srtt(),
        }
    }
    /// RTTVAR.
    pub fn rttvar(&self) -> Duration {
        match &self.estimate {
            Estimate::Smoothed(e) => e.rttvar,
            Estimate::Inet(e) => e.rttvar,
            Estimate::Linux(e) => e.rttvar / 4,
            Estimate::Ticks(t) => t.rttvar(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, Profile};

    fn rto(profile: Profile) -> Rto {
        Rto::new(&Options { profile, ..Options::default() }.resolve().unwrap())
    }
    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn rfc_6298_starts_at_one_second_and_never_goes_below() {
        let mut r = rto(Profile::Rfc);
        assert_eq!(r.current(), Duration::from_secs(1), "(2.1)");
        // R = 100 ms: SRTT + 4 * R/2 = 300 ms, raised to 1 s by (2.4).
        r.sample(at(0), at(100), 1);
        assert_eq!(r.current(), Duration::from_secs(1));
        // R = 2 s afresh: 2 + 4 * 1 = 6 s.
        let mut r = rto(Profile::Rfc);
        r.sample(at(0), at(2000), 1);
        assert_eq!(r.current(), Duration::from_secs(6));
    }

    #[test]
    fn back_off_doubles_to_sixty_seconds_and_ends_with_a_sample() {
        let mut r = rto(Profile::Rfc);
        let seen: Vec<u64> = (0..8)
            .map(|_| {
                r.back_off();
                r.current().as_millis() / 1000
            })
            .collect();
        assert_eq!(seen, [2, 4, 8, 16, 32, 60, 60, 60], "(5.5), ceiling of (2.5)");
        r.sample(at(0), at(2000), 1);
        assert_eq!((r.current(), r.backoff()), (Duration::from_secs(6), 1));
    }

    #[test]
    fn a_clock_granularity_above_the_deviation_counts_instead() {
        let mut r = rto(Profile::Rfc);
        // Twenty equal samples of 2 s: RTTVAR = 1 s * 0.75^19 = 4 ms, 4 RTTVAR = 17 ms > G = 1 ms;
        // sixty: 4 * 1 s * 0.75^59 = 0.17 us < G, so RTO = SRTT + G.
        (0..60).for_each(|_| r.sample(at(0), at(2000), 1));
        assert_eq!(r.current(), Duration::from_millis(2001));
    }

    #[test]
    fn ns2_starts_at_six_seconds_has_a_floor_of_one_and_backs_off_to_64() {
        let mut r = rto(Profile::Ns2);
        assert_eq!(r.current(), Duration::from_secs(6));
        r.sample(at(0), at(120), 1);
        // 12 ticks: 12 + 4 * 6 = 36 ticks = 360 ms, raised to 1 s.
        assert_eq!(r.current(), Duration::from_secs(1));
        let seen: Vec<u64> = (0..8)
            .map(|_| {
                r.back_off();
                r.current().as_millis() / 1000
            })
            .collect();
        assert_eq!(seen, [2, 4, 8, 16, 32, 64, 64, 64]);
    }

    #[test]
    fn ns2_rto_above_the_floor_is_quantised_to_ticks() {
        let mut r = rto(Profile::Ns2);
        // 0.803 s from 0.004 s: edges 80 - 0 = 80 ticks: RTO = 80 + 4 * 40 = 240 ticks = 2.4 s
        // exactly.
        r.sample(at(4), at(807), 1);
        assert_eq!(r.current(), Duration::from_millis(2400));
    }
}

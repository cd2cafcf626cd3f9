//! Round-trip time: the estimator of RFC 6298 section 2 and the tick arithmetic of ns-2.

use lasthop_units::{Duration, Instant};

/// The estimator of RFC 6298 section 2, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Smoothed {
    /// SRTT; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// RTTVAR.
    pub rttvar: Duration,
}

impl Smoothed {
    /// Takes one sample, one of `per_round` expected in a round trip (>= 1).
    ///
    /// With one sample per round the gains are RFC 6298's 1/8 and 1/4. With more, both gains are
    /// divided by their number (RFC 7323 appendix G), so that the memory stays about eight
    /// round trips long.
    #[inline]
    pub fn sample(&mut self, r: Duration, per_round: u64) {
        let n = per_round.max(1);
        let Some(srtt) = self.srtt else {
            // RFC 6298 (2.2): SRTT <- R, RTTVAR <- R/2.
            self.srtt = Some(r);
            self.rttvar = r / 2;
            return;
        };
        // (2.3): RTTVAR <- (1 - beta) RTTVAR + beta |SRTT - R'| first, then SRTT <- (1 - alpha)
        // SRTT + alpha R'.
        self.rttvar = blend(self.rttvar, srtt.abs_diff(r), 4 * n);
        self.srtt = Some(blend(srtt, r, 8 * n));
    }
}

/// INET's estimator (TCPBaseAlg): a gain of 1/8 for the variation too, and no special first sample.
#[derive(Clone, Copy, Debug)]
pub struct InetRtt {
    /// SRTT; 0 before the first sample.
    pub srtt: Duration,
    /// RTTVAR.
    pub rttvar: Duration,
}

impl InetRtt {
    /// The first timeout is four deviations.
    pub fn new(initial_rto: Duration) -> InetRtt {
        InetRtt { srtt: Duration::ZERO, rttvar: initial_rto / 4 }
    }

    /// Takes one sample.
    pub fn sample(&mut self, r: Duration) {
        let error = self.srtt.abs_diff(r);
        self.srtt = blend(self.srtt, r, 8);
        self.rttvar = blend(self.rttvar, error, 8);
    }

    /// SRTT, once there was a sample.
    pub fn srtt(&self) -> Option<Duration> {
        (!self.srtt.is_zero()).then_some(self.srtt)
    }
}

/// The estimator of Linux: the gains of RFC 6298 at each sample. The variation is the largest mean
/// deviation within the round trip. It decreases by a quarter of the difference per round trip, and
/// never below the floor of the RTO.
#[derive(Clone, Copy, Debug)]
pub struct LinuxRtt {
    /// SRTT; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// The term that is added to SRTT: four mean deviations.
    pub rttvar: Duration,
    floor: Duration,
    /// Four mean deviations of the samples.
    deviation: Duration,
    largest: Duration,
    round_ends: Instant,
}

impl LinuxRtt {
    /// `floor` is the least that is added to SRTT.
    pub const fn new(floor: Duration) -> LinuxRtt {
        LinuxRtt {
            srtt: None,
            rttvar: Duration::ZERO,
            floor,
            deviation: Duration::ZERO,
            largest: floor,
            round_ends: Instant::ZERO,
        }
    }

    /// Takes one sample.
    pub fn sample(&mut self, now: Instant, r: Duration) {
        let Some(srtt) = self.srtt else {
            self.srtt = Some(r);
            self.deviation = r * 2;
            self.largest = self.deviation.max(self.floor);
            self.rttvar = self.largest;
            self.round_ends = now + r;
            return;
        };
        self.srtt = Some(blend(srtt, r, 8));
        // A sample below the mean that would raise the deviation counts for an eighth: shorter is
        // no reason to wait longer.
        let error = srtt.abs_diff(r);
        let quarter = self.deviation / 4;
        let step =
            if r < srtt && error > quarter { (error - quarter) / 8 } else { error.saturating_sub(quarter) };
        self.deviation =
            if error >= quarter { self.deviation + step } else { self.deviation - (quarter - error) };
        self.largest = self.largest.max(self.deviation);
        self.rttvar = self.rttvar.max(self.largest);
        if now >= self.round_ends {
            if self.largest < self.rttvar {
                self.rttvar = self.rttvar - (self.rttvar - self.largest) / 4;
            }
            self.round_ends = now + srtt;
            self.largest = self.floor;
        }
    }
}

/// `old + (new - old) / n`, rounded down.
#[inline]
fn blend(old: Duration, new: Duration, n: u64) -> Duration {
    let step = (new.0 as i64).wrapping_sub(old.0 as i64).div_euclid(n as i64);
    Duration(old.0.saturating_add_signed(step))
}

/// The estimator of ns-2 (and of 4.3BSD): whole ticks, SRTT kept times 8, RTTVAR times 4.
///
/// Time is cut at the ticks of the clock: a sample is the number of tick edges between sending and
/// the ACK, at least one. Provenance: studies' reading of ns-2 2.26/2.27 with a tick of 10 ms; the
/// integer form (shift by 3 and 2, floor of 1) is that of `TcpAgent::rtt_update`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticks {
    tick: Duration,
    srtt_times_8: i64,
    rttvar_times_4: i64,
    /// SRTT + 4 RTTVAR in ticks; `None` before the first sample.
    rto_ticks: Option<i64>,
}

impl Ticks {
    /// An estimator over ticks of this length (> 0).
    pub const fn new(tick: Duration) -> Ticks {
        Ticks { tick, srtt_times_8: 0, rttvar_times_4: 0, rto_ticks: None }
    }

    /// Takes the time from `sent` to `now`.
    pub fn sample(&mut self, sent: Instant, now: Instant) {
        let edges = (now.0 / self.tick.0).saturating_sub(sent.0 / self.tick.0);
        let t = (edges as i64).clamp(1, 1 << 40);
        if self.srtt_times_8 != 0 {
            let delta = t - (self.srtt_times_8 >> 3);
            self.srtt_times_8 = (self.srtt_times_8 + delta).max(1);
            let deviation = delta.abs() - (self.rttvar_times_4 >> 2);
            self.rttvar_times_4 = (self.rttvar_times_4 + deviation).max(1);
        } else {
            self.srtt_times_8 = t << 3;
            self.rttvar_times_4 = t << 1;
        }
        // (4 RTTVAR * 8 + SRTT * 8) / 8: RTTVAR is kept times 4, hence one shift by 3.
        self.rto_ticks = Some(((self.rttvar_times_4 << 3) + self.srtt_times_8) >> 3);
    }

    /// ns-2 discards SRTT after a back-off beyond 8, because the estimate may be wrong.
    pub fn distrust(&mut self) {
        self.rttvar_times_4 += self.srtt_times_8 >> 3;
        self.srtt_times_8 = 0;
    }

    /// SRTT + 4 RTTVAR; `None` before the first sample.
    pub fn rto(&self) -> Option<Duration> {
        self.rto_ticks.map(|n| self.tick.saturating_mul(n as u64))
    }
    /// SRTT, to an eighth of a tick; `None` before the first sample.
    pub fn srtt(&self) -> Option<Duration> {
        (self.srtt_times_8 != 0).then(|| self.tick.saturating_mul(self.srtt_times_8 as u64) / 8)
    }
    /// RTTVAR, to a quarter of a tick.
    pub fn rttvar(&self) -> Duration {
        self.tick.saturating_mul(self.rttvar_times_4 as u64) / 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn inets_deviation_falls_by_eighths_from_three_quarters_of_a_second() {
        let mut e = InetRtt::new(Duration::from_secs(3));
        assert_eq!((e.srtt(), e.rttvar), (None, Duration::from_millis(750)));
        // D2D study section 1.4: 0 + 0.1/8 = 0.0125; 0.75 + (0.1 - 0.75)/8 = 0.66875.
        e.sample(Duration::from_millis(100));
        assert_eq!((e.srtt, e.rttvar), (Duration::from_micros(12_500), Duration::from_micros(668_750)));
        // 0.0125 + 0.0875/8 = 0.0234375; 0.66875 + (0.0875 - 0.66875)/8 = 0.59609375.
        e.sample(Duration::from_millis(100));
        assert_eq!((e.srtt.0, e.rttvar.0), (23_437_500, 596_093_750));
    }

    #[test]
    fn the_first_and_second_samples_follow_rfc_6298_section_2() {
        let mut e = Smoothed::default();
        // (2.2) R = 100 ms: SRTT = 100, RTTVAR = 50.
        e.sample(ms(100), 1);
        assert_eq!((e.srtt, e.rttvar), (Some(ms(100)), ms(50)));
        // (2.3) R' = 200: RTTVAR = 3/4 * 50 + 1/4 * |100 - 200| = 37.5 + 25 = 62.5; SRTT = 7/8 *
        // 100 + 25 = 112.5.
        e.sample(ms(200), 1);
        assert_eq!((e.srtt, e.rttvar), (Some(Duration(112_500_000)), Duration(62_500_000)));
        // R' = 80: RTTVAR = 3/4 * 62.5 + 1/4 * 32.5 = 46.875 + 8.125 = 55; SRTT = 7/8 * 112.5 + 10
        // = 108.4375.
        e.sample(ms(80), 1);
        assert_eq!((e.srtt, e.rttvar), (Some(Duration(108_437_500)), Duration(55_000_000)));
    }

    #[test]
    fn linux_adds_at_least_the_floor_and_reduces_a_peak_by_quarters() {
        let at = Instant::from_millis;
        let mut e = LinuxRtt::new(ms(200));
        // First: 4 mean deviations = 2 R = 100 ms, below the floor.
        e.sample(at(0), ms(50));
        assert_eq!((e.srtt, e.rttvar), (Some(ms(50)), ms(200)));
        // 450 ms: SRTT 50 + 400/8; deviation 100 + 400 - 25 = 475 ms.
        e.sample(at(10), ms(450));
        assert_eq!((e.srtt, e.rttvar), (Some(ms(100)), ms(475)));
        // The next round trips: 475, less a quarter of what it is above the largest of each round.
        e.sample(at(60), ms(100));
        e.sample(at(400), ms(100));
        assert!(e.rttvar < ms(475) && e.rttvar > ms(300), "{}", e.rttvar);
        (0..300).for_each(|n| e.sample(at(1000 + 100 * n), ms(100)));
        assert_eq!(e.rttvar.as_micros(), 200_000, "to 3 ns, where a quarter is cut to 0");
    }

    #[test]
    fn many_samples_in_a_round_move_the_estimate_about_as_much_as_one() {
        // RFC 7323 appendix G: ten samples with a tenth of the gain each: 1 - (1 - 1/80)^10 =
        // 0.118, not 1/8 = 0.125.
        let mut e = Smoothed::default();
        e.sample(ms(100), 1);
        (0..10).for_each(|_| e.sample(ms(200), 10));
        let srtt = e.srtt.unwrap().as_secs_f64();
        assert!((srtt - 0.1118).abs() < 1e-4, "{srtt}");
    }

    #[test]
    fn ns2_counts_tick_edges_and_at_least_one() {
        let mut t = Ticks::new(ms(10));
        // From 9 ms to 11 ms: one edge although only 2 ms passed. SRTT = 1 tick, RTTVAR = 1/2 tick,
        // RTO = 1 + 4/2 = 3 ticks.
        t.sample(Instant::from_millis(9), Instant::from_millis(11));
        assert_eq!((t.srtt(), t.rttvar(), t.rto()), (Some(ms(10)), ms(5), Some(ms(30))));
        let mut same = Ticks::new(ms(10));
        same.sample(Instant::from_millis(1), Instant::from_millis(9));
        assert_eq!(same.srtt(), Some(ms(10)), "no edge counts as one tick");
    }

    #[test]
    fn ns2_rto_is_whole_ticks_of_srtt_plus_four_deviations() {
        let mut t = Ticks::new(ms(10));
        // 200 ms = 20 ticks: SRTT*8 = 160, RTTVAR*4 = 40; RTO = (40*8 + 160)/8 = 60 ticks.
        t.sample(Instant::ZERO, Instant::from_millis(200));
        assert_eq!(t.rto(), Some(ms(600)));
        // 30 ticks: delta = 30 - 20 = 10: SRTT*8 = 170 (21.25 ticks); |10| - 10 = 0: RTTVAR*4 = 40;
        // RTO = (320 + 170)/8 = 61.25, cut to 61 ticks.
        t.sample(Instant::ZERO, Instant::from_millis(300));
        assert_eq!((t.srtt(), t.rto()), (Some(Duration(212_500_000)), Some(ms(610))));
    }
}

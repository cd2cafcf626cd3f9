//! Minstrel-HT: it samples rates and uses the one with the highest expected throughput.
//!
//! After Linux 6.1 (rc80211_minstrel_ht.c): the success probability of each rate is filtered over
//! intervals (minstrel_filter_avg_add); a rate that was never used has at least the probability of
//! the faster ones. The expected throughput of a rate is its probability over the time of an MPDU
//! of 1200 B with its share of the overhead, none below 10 % and no better than 90 %. What follows
//! transmissions without an answer uses the second best and then the most reliable rate
//! (max_prob_rate). A share of the transmissions samples another rate, slower ones seldom.
//!
//! Differences: rates of all numbers of streams form one group; a sample is one A-MPDU, and one in
//! a fixed number of transmissions; the first rate is not the slowest; each rate but the last is
//! tried twice.

use lasthop_engine::Draw;
use lasthop_units::{Bytes, Instant};

use super::MinstrelConfig;
use crate::phy::{Compat, Mode};

/// The statistics of one rate.
#[derive(Clone, Debug)]
struct Rate {
    mode: Mode,
    /// Time of an MPDU of 1200 B without preamble, and of the overhead of an A-MPDU [us].
    airtime: f64,
    overhead: f64,
    /// MPDUs sent in this interval.
    sent: u32,
    acked: u32,
    /// prob_avg: the filtered success probability.
    probability: f64,
    /// prob_avg_1: `probability` one filtered interval earlier.
    probability_before: f64,
    /// False if this rate was never used: its probability is that of a faster one.
    used: bool,
    /// Number of intervals without a transmission at this rate.
    idle: u32,
}

/// One of the fractions of 4096 in which Linux has probabilities.
const LEAST: f64 = 1.0 / 4096.0;
/// MINSTREL_AVG_COEFF2 and MINSTREL_AVG_COEFF3, in fractions of 4096.
const COEFF2: f64 = 0x1499 as f64 * LEAST;
const COEFF3: f64 = -0x92e as f64 * LEAST;
/// Above this probability the faster of two rates counts as more reliable.
const RELIABLE: f64 = 0.75;

impl Rate {
    /// Expected throughput with `aggregate` MPDUs in a transmission.
    fn throughput(&self, aggregate: f64) -> f64 {
        match self.probability {
            p if p >= 0.1 => p.min(0.9) / (self.airtime + self.overhead / aggregate),
            _ => 0.0,
        }
    }

    /// Filters the share of the MPDUs of an interval that were acknowledged
    /// (minstrel_filter_avg_add).
    fn filter(&mut self, share: f64) {
        let (share, last) = (share.max(LEAST), self.probability);
        if last == 0.0 {
            (self.probability, self.probability_before) = (share, share);
            return;
        }
        let sum = (1.0 - COEFF2 - COEFF3) * share + COEFF2 * last + COEFF3 * self.probability_before;
        self.probability = if sum < 0.0 { LEAST } else { sum.min(1.0) };
        self.probability_before = last;
    }
}

/// The control of one link and direction.
#[derive(Clone, Debug)]
pub struct Minstrel {
    config: MinstrelConfig,
    rates: Vec<Rate>,
    /// Rates with the most and the second most throughput, and the most reliable one.
    best: usize,
    second: usize,
    reliable: usize,
    /// avg_ampdu_len: weighted number of MPDUs in a transmission.
    aggregate: f64,
    /// Transmissions of this interval, and the MPDUs in them.
    transmissions: u32,
    mpdus: u32,
    /// Transmissions without an answer since the last one with an answer.
    unanswered: u32,
    next_update: Instant,
    count: u64,
    draw: Draw,
}

impl Minstrel {
    /// Creates the control of `modes`, slowest first, beginning with the middle one.
    pub fn new(config: MinstrelConfig, modes: &[Mode], draw: Draw) -> Minstrel {
        let rate = |mode: &Mode| {
            let whole = mode.duration(Bytes(1200), Compat::Standard).0 as f64;
            let preamble = mode.preamble(Compat::Standard).0 as f64;
            // AIFS and half of CWmin 110 us, SIFS and a block ack 48 us.
            let overhead = preamble + 158e3;
            Rate {
                mode: *mode,
                airtime: whole - preamble,
                overhead,
                sent: 0,
                acked: 0,
                probability: 0.0,
                probability_before: 0.0,
                used: false,
                idle: 0,
            }
        };
        let start = modes.len() / 3;
        Minstrel {
            config,
            rates: modes.iter().map(rate).collect(),
            best: start,
            second: start,
            reliable: 0,
            aggregate: 1.0,
            transmissions: 0,
            mpdus: 0,
            unanswered: 0,
            next_update: Instant::ZERO + config.interval,
            count: 0,
            draw,
        }
    }

    /// Chooses the rate for a transmission.
    pub fn choose(&mut self, now: Instant) -> Mode {
        if now >= self.next_update {
            self.update(now);
        }
        self.count += 1;
        let i = match self.unanswered {
            0 => self.sample().unwrap_or(self.best),
            1 => self.best,
            2 | 3 => self.second,
            _ => self.reliable,
        };
        self.rates[i].mode
    }

    /// Updates the statistics with the outcome of a transmission of `sent` MPDUs.
    pub fn report(&mut self, now: Instant, mode: &Mode, sent: u32, acked: u32) {
        if let Some(rate) = self.rates.iter_mut().find(|r| r.mode == *mode) {
            rate.sent += sent;
            rate.acked += acked;
        }
        self.transmissions += 1;
        self.mpdus += sent;
        self.unanswered = if acked == 0 { self.unanswered.saturating_add(1) } else { 0 };
        if now >= self.next_update {
            self.update(now);
        }
    }

    /// The rate with the highest expected throughput.
    pub fn best(&self) -> Mode {
        self.rates[self.best].mode
    }

    /// Another rate to sample, if a sample is due: only one that could be better without losses, or
    /// (one time in eight) any that has not been used for 20 intervals.
    fn sample(&self) -> Option<usize> {
        if !self.count.is_multiple_of(u64::from(self.config.sample_every)) {
            return None;
        }
        let mut stream = self.draw.stream(self.count);
        let i = stream.below(self.rates.len() as u64) as usize;
        let rate = &self.rates[i];
        let possible = 0.9 / (rate.airtime + rate.overhead / self.aggregate());
        let known_bad = rate.used && rate.probability < 0.1 && rate.idle < 20;
        let could_win = possible > self.rates[self.best].throughput(self.aggregate());
        (i != self.best && ((could_win && !known_bad) || (rate.idle >= 20 && stream.below(8) == 0)))
            .then_some(i)
    }

    /// Whole MPDUs in a transmission (MINSTREL_TRUNC), at least one.
    fn aggregate(&self) -> f64 {
        self.aggregate.floor().max(1.0)
    }

    /// minstrel_ht_update_stats.
    fn update(&mut self, now: Instant) {
        let steps = now.since(self.next_update) / self.config.interval + 1;
        self.next_update = self.next_update.saturating_add(self.config.interval.saturating_mul(steps));
        if self.transmissions > 0 {
            let mean = f64::from(self.mpdus) / f64::from(self.transmissions);
            self.aggregate += (1.0 - self.config.weight) * (mean - self.aggregate);
            (self.transmissions, self.mpdus) = (0, 0);
        }
        let mut of_faster = 0.0_f64;
        for rate in self.rates.iter_mut().rev() {
            if rate.sent > 0 {
                rate.filter(f64::from(rate.acked) / f64::from(rate.sent));
                (rate.sent, rate.acked, rate.idle, rate.used) = (0, 0, 0, true);
            } else {
                rate.idle = rate.idle.saturating_add(1);
            }
            if rate.used {
                of_faster = of_faster.max(rate.probability);
            } else {
                rate.probability = of_faster.max(rate.probability);
            }
        }
        if self.rates.iter().any(|rate| rate.used) {
            self.rank();
        }
    }

    fn rank(&mut self) {
        let aggregate = self.aggregate();
        // Throughput, then probability: of equal rates the fastest, as Linux starts with it.
        let (mut first, mut second) = ((0.0, 0.0), (0.0, 0.0));
        (self.best, self.second) = (0, 0);
        for (i, rate) in self.rates.iter().enumerate().rev() {
            let value = (rate.throughput(aggregate), rate.probability);
            if value.0 <= 0.0 {
                continue;
            }
            if value > first {
                (second, self.second) = (first, self.best);
                (first, self.best) = (value, i);
            } else if value > second {
                (second, self.second) = (value, i);
            }
        }
        // minstrel_ht_set_best_prob_rate.
        let best = self.rates[self.best].probability;
        self.reliable = 0;
        for (i, rate) in self.rates.iter().enumerate() {
            let chosen = &self.rates[self.reliable];
            let better = if i > self.best && rate.probability < best {
                false
            } else if rate.probability > RELIABLE {
                rate.throughput(aggregate) > chosen.throughput(aggregate)
            } else {
                rate.probability > chosen.probability
            };
            if better {
                self.reliable = i;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::ApConfig;
    use crate::rate::Ladder;
    use lasthop_engine::{Purpose, math::from_db};

    /// minstrel_filter_avg_add, 0x1499 = 5273 and -0x92e = -2350 of 4096: from 100 % to 0 %
    /// (0.28638 / 4096 = 0.00007) the average is 1.28735 - 0.57373 + 0.00007 = 0.71369, then
    /// 1.28735 * 0.71369 - 0.57373 + 0.00007 = 0.34511, then 1.28735 * 0.34511 - 0.57373 * 0.71369
    /// + 0.00007 = 0.03488.
    #[test]
    fn a_rate_that_fails_is_below_a_tenth_after_three_intervals() {
        let modes = ApConfig::default().modes();
        let mut m = Minstrel::new(MinstrelConfig::default(), &modes, Draw::new(1, Purpose::RateSampling, 0));
        let mut found = vec![];
        for n in 0..5u64 {
            let acked = if n < 2 { 10 } else { 0 };
            m.report(Instant::from_millis(50 * n + 10), &modes[3], 10, acked);
            m.update(Instant::from_millis(50 * n + 50));
            found.push(m.rates[3].probability);
        }
        for (p, expected) in found.iter().zip([1.0, 1.0, 0.71369, 0.34511, 0.03488]) {
            assert!((p - expected).abs() < 2e-5, "{found:?}");
        }
        // The slower rates were never used: they have the probability that this one had.
        assert_eq!((m.rates[2].probability, m.rates[4].probability), (1.0, 0.0));
        assert_eq!(m.best().mcs(), modes[2].mcs());
    }

    /// A fifth of the MPDUs of each A-MPDU is lost at any rate, as by a hidden station. The block
    /// acks come, so a transmission in 16 samples, and the fastest rate is found.
    #[test]
    fn losses_within_an_a_mpdu_do_not_prevent_samples() {
        let modes = ApConfig::default().modes();
        let mut m = Minstrel::new(MinstrelConfig::default(), &modes, Draw::new(1, Purpose::RateSampling, 0));
        for n in 0..2_500u64 {
            let now = Instant::from_millis(2 * n);
            let mode = m.choose(now);
            m.report(now, &mode, 50, 40);
        }
        assert_eq!(m.best(), modes[modes.len() - 1]);
    }

    /// Linux' table: the best rate, the second best, and the most reliable one (max_prob_rate),
    /// each but the last tried twice. Here 90 % at index 5, 80 % at index 4 and 100 % at index 1:
    /// above 75 % the faster one is the more reliable.
    #[test]
    fn transmissions_without_an_answer_use_more_robust_rates() {
        let modes = ApConfig::default().modes();
        let mut m = Minstrel::new(MinstrelConfig::default(), &modes, Draw::new(1, Purpose::RateSampling, 0));
        for (i, acked) in [(5, 90), (4, 80), (1, 100)] {
            m.report(Instant::from_millis(1), &modes[i], 100, acked);
        }
        m.update(Instant::from_millis(50));
        assert_eq!((m.best, m.second, m.reliable), (5, 4, 5));
        m.count = 1;
        let mut chosen = vec![];
        for n in 0..5 {
            let now = Instant::from_millis(60 + n);
            let mode = m.choose(now);
            m.report(now, &mode, 1, 0);
            chosen.push(modes.iter().position(|of| *of == mode).unwrap());
        }
        assert_eq!(chosen, [5, 5, 4, 4, 5]);
    }

    /// Over AWGN links of 5 to 35 dB, A-MPDUs of 16 every 2 ms for 5 s, from the third second on:
    /// Minstrel's throughput is at least 85 % of that of the ideal rate (the difference is a sample
    /// in 16, and the ideal rate has up to 10 % losses).
    #[test]
    fn it_finds_the_neighbourhood_of_the_ideal_rate() {
        let modes = ApConfig::default().modes();
        let ladder = Ladder::new(&modes);
        for db in [5.0, 9.0, 12.0, 15.0, 20.0, 25.0, 35.0] {
            let snr = from_db(db);
            let config = MinstrelConfig::default();
            let mut m = Minstrel::new(config, &modes, Draw::new(1, Purpose::RateSampling, 0));
            let errors = Draw::new(1, Purpose::Test, 0);
            let (mut got, mut airtime) = (0.0, 0.0);
            for n in 0..2_500u64 {
                let now = Instant::from_millis(2 * n);
                let mode = m.choose(now);
                let p = mode.success(snr, 8.0 * 1538.0);
                let acked = (0..16).filter(|i| errors.happens(16 * n + i, p)).count() as u32;
                m.report(now, &mode, 16, acked);
                if n >= 1_000 {
                    got += f64::from(acked);
                    airtime += 16.0 / mode.rate().as_f64();
                }
            }
            let ideal = ladder.best(snr);
            let reachable = ideal.rate().as_f64() * ideal.success(snr, 8.0 * 1538.0);
            assert!(got / airtime > 0.85 * reachable, "{db} dB: {} of {reachable}", got / airtime);
        }
    }
}

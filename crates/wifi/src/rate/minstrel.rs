//! Minstrel-HT: it samples rates and uses the one with the highest expected throughput.
//!
//! After Linux' rc80211_minstrel_ht (documented in the kernel's mac80211 pages and by D. Smithies'
//! Minstrel): the success probability of each rate is an exponentially weighted mean over
//! intervals; the expected throughput of a rate is that probability over the time of an MPDU of
//! 1200 B with its share of the overhead, none below 10 % and no better than 90 %; retries use the
//! second best and then the most reliable rate. A share of the transmissions samples another rate,
//! slower ones seldom.
//!
//! Differences: rates of all numbers of streams form one group; a sample is one A-MPDU.

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
    /// Weighted success probability; None: never tried.
    probability: Option<f64>,
    /// Number of intervals without a transmission at this rate.
    idle: u32,
}

impl Rate {
    /// Expected throughput with `aggregate` MPDUs in a transmission.
    fn throughput(&self, aggregate: f64) -> f64 {
        match self.probability {
            Some(p) if p >= 0.1 => p.min(0.9) / (self.airtime + self.overhead / aggregate),
            _ => 0.0,
        }
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
    /// Weighted number of MPDUs in a transmission.
    aggregate: f64,
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
                probability: None,
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
            next_update: Instant::ZERO + config.interval,
            count: 0,
            draw,
        }
    }

    /// Chooses the rate for a transmission.
    pub fn choose(&mut self, now: Instant, retries: u32) -> Mode {
        if now >= self.next_update {
            self.update(now);
        }
        self.count += 1;
        let i = match retries {
            0 => self.sample().unwrap_or(self.best),
            1 => self.best,
            2 | 3 => self.second,
            _ => self.reliable,
        };
        self.rates[i].mode
    }

    /// Updates the statistics with the outcome of a transmission.
    pub fn report(&mut self, now: Instant, mode: &Mode, sent: u32, acked: u32) {
        if let Some(rate) = self.rates.iter_mut().find(|r| r.mode == *mode) {
            rate.sent += sent;
            rate.acked += acked;
        }
        self.aggregate = self.config.weight * self.aggregate + (1.0 - self.config.weight) * f64::from(sent);
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
        let possible = 0.9 / (rate.airtime + rate.overhead / self.aggregate.max(1.0));
        let known_bad = rate.probability.is_some_and(|p| p < 0.1) && rate.idle < 20;
        let could_win = possible > self.rates[self.best].throughput(self.aggregate.max(1.0));
        (i != self.best && ((could_win && !known_bad) || (rate.idle >= 20 && stream.below(8) == 0)))
            .then_some(i)
    }

    fn update(&mut self, now: Instant) {
        let steps = now.since(self.next_update) / self.config.interval + 1;
        self.next_update = self.next_update.saturating_add(self.config.interval.saturating_mul(steps));
        for rate in &mut self.rates {
            if rate.sent == 0 {
                rate.idle = rate.idle.saturating_add(1);
                continue;
            }
            let now = f64::from(rate.acked) / f64::from(rate.sent);
            let w = self.config.weight;
            rate.probability = Some(rate.probability.map_or(now, |p| w * p + (1.0 - w) * now));
            (rate.sent, rate.acked, rate.idle) = (0, 0, 0);
        }
        self.rank();
    }

    fn rank(&mut self) {
        let aggregate = self.aggregate.max(1.0);
        let mut order = [self.best, self.second];
        let (mut first, mut second) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
        let mut reliable = (f64::NEG_INFINITY, 0);
        for (i, rate) in self.rates.iter().enumerate() {
            let Some(p) = rate.probability else { continue };
            let t = rate.throughput(aggregate);
            if t > first {
                (second, order[1]) = (first, order[0]);
                (first, order[0]) = (t, i);
            } else if t > second {
                (second, order[1]) = (t, i);
            }
            // Above 95 % the faster one counts as more reliable.
            let score = if p > 0.95 { 1.0 + t } else { p };
            if score > reliable.0 {
                reliable = (score, i);
            }
        }
        if first > 0.0 {
            self.best = order[0];
            self.second = if second > 0.0 { order[1] } else { order[0] };
        } else {
            // No MPDU is acknowledged: the next lower rate is used.
            self.best = self.best.saturating_sub(1);
            self.second = self.best;
        }
        if reliable.0 > 0.0 {
            self.reliable = reliable.1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::ApConfig;
    use crate::rate::Ladder;
    use lasthop_engine::{Purpose, math::from_db};

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
                let mode = m.choose(now, 0);
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

//! The encoder of video: when it makes a frame, and of how many octets.

use std::collections::VecDeque;

use lasthop_engine::Draw;
use lasthop_units::{Duration, Instant};

/// The capabilities of an encoder. Rates are of RTP packets, headers included.
#[derive(Clone, Copy, Debug)]
pub struct EncoderConfig {
    /// Lowest rate \[bit/s\].
    pub min: f64,
    /// Highest rate \[bit/s\].
    pub max: f64,
    /// Frames per second at the lowest rate.
    pub min_frame_rate: f64,
    /// Frames per second at most.
    pub frame_rate: f64,
    /// Largest random error of its rate in each second, as a share of the rate, uniform in both
    /// directions. Below 1.
    pub noise: f64,
    /// It follows a new target after this time.
    pub reaction: Duration,
}

/// A frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// When it was made.
    pub at: Instant,
    /// Its octets, RTP headers included.
    pub octets: u64,
}

/// A running encoder.
#[derive(Clone, Debug)]
pub struct Encoder {
    config: EncoderConfig,
    /// The target that it follows \[bit/s\].
    rate: f64,
    /// Later targets, each with the time from which it is followed.
    ordered: VecDeque<(Instant, f64)>,
    start: Instant,
    next: Option<Instant>,
    /// Part of an octet that the last frame lacks.
    rest: f64,
}

/// How long an error of the rate lasts.
const NOISE_PERIOD: u64 = 1_000_000_000;

impl Encoder {
    /// An encoder that begins with a target of `rate` \[bit/s\].
    pub fn new(config: EncoderConfig, rate: f64) -> Encoder {
        let rate = rate.clamp(config.min, config.max);
        let ordered = VecDeque::new();
        Encoder { config, rate, ordered, start: Instant::ZERO, next: None, rest: 0.0 }
    }

    /// Sets its lowest and highest rate, from the next order on.
    pub const fn limit(&mut self, min: f64, max: f64) {
        (self.config.min, self.config.max) = (min, max);
    }
    /// It begins: the first frame is made at `now`.
    pub fn start(&mut self, now: Instant) {
        self.start = now;
        self.next = Some(now);
        self.rest = 0.0;
    }
    /// It makes no more frames.
    pub fn stop(&mut self) {
        self.next = None;
    }
    /// When it makes the next frame.
    pub fn poll_at(&self) -> Option<Instant> {
        self.next
    }

    /// The target is `rate` \[bit/s\] from `now` on.
    pub fn order(&mut self, now: Instant, rate: f64) {
        let rate = rate.clamp(self.config.min, self.config.max);
        let last = self.ordered.back().map_or(self.rate, |&(_, rate)| rate);
        if rate != last {
            self.ordered.push_back((now.saturating_add(self.config.reaction), rate));
        }
    }

    /// The frame of `now`, if one is due; its errors are drawn from `draw`.
    pub fn frame(&mut self, now: Instant, draw: Draw) -> Option<Frame> {
        let at = self.next.filter(|at| *at <= now)?;
        while let Some(&(_, rate)) = self.ordered.front().filter(|(from, _)| *from <= at) {
            self.rate = rate;
            self.ordered.pop_front();
        }
        let period = 1.0 / self.frames_per_second();
        let octets = self.rest + self.rate * (1.0 + self.error(at, draw)) * period / 8.0;
        self.rest = octets.fract();
        self.next = Some(at.saturating_add(Duration::from_secs_f64(period)));
        Some(Frame { at, octets: octets as u64 })
    }

    /// Frames keep the size that they have at the lowest rate until their rate is at its highest.
    fn frames_per_second(&self) -> f64 {
        let c = &self.config;
        (c.min_frame_rate * self.rate / c.min).clamp(c.min_frame_rate, c.frame_rate)
    }

    fn error(&self, at: Instant, draw: Draw) -> f64 {
        let second = at.since(self.start).0 / NOISE_PERIOD;
        self.config.noise * (2.0 * draw.uniform(second) - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use lasthop_engine::Purpose;

    use super::*;

    fn config() -> EncoderConfig {
        EncoderConfig {
            min: 150e3,
            max: 1.5e6,
            min_frame_rate: 10.0,
            frame_rate: 30.0,
            noise: 0.0,
            reaction: Duration::from_millis(100),
        }
    }

    fn run(encoder: &mut Encoder, from_ms: u64, to_ms: u64) -> Vec<Frame> {
        let draw = Draw::new(1, Purpose::Traffic, 0);
        let mut frames = Vec::new();
        while let Some(at) = encoder.poll_at().filter(|at| *at < Instant::from_millis(to_ms)) {
            frames.extend(encoder.frame(at, draw));
        }
        frames.retain(|f| f.at >= Instant::from_millis(from_ms));
        frames
    }

    /// 150 kbit/s in 10 frames are 1875 octets each; 1.5 Mbit/s in 30 frames 6250. Between, frames
    /// of 1875 octets: 300 kbit/s are 20 frames/s.
    #[test]
    fn frames_are_of_the_size_that_rate_and_frame_rate_make() {
        for (rate, frames, octets) in [(150e3, 10, 1875), (300e3, 20, 1875), (1.5e6, 30, 6250)] {
            let mut e = Encoder::new(config(), rate);
            e.start(Instant::ZERO);
            let made = run(&mut e, 0, 9_999);
            assert_eq!(made.len(), 10 * frames);
            assert!(made.iter().all(|f| f.octets.abs_diff(octets) <= 1), "{rate}");
        }
    }

    #[test]
    fn a_new_target_is_followed_after_the_reaction_time_and_within_the_bounds() {
        let mut e = Encoder::new(config(), 1.5e6);
        e.start(Instant::ZERO);
        run(&mut e, 0, 1000);
        e.order(Instant::from_millis(1000), 600e3);
        e.order(Instant::from_millis(1010), 1e3);
        let made = run(&mut e, 1000, 2000);
        let at = |ms: u64| made.iter().find(|f| f.at >= Instant::from_millis(ms)).unwrap().octets;
        // The last frame at or after 1.1 s has 600 kbit/s / 30; from 1.11 s on it is the minimum.
        assert_eq!((at(1060), at(1190)), (6250, 1875));
    }

    /// The mean of errors uniform within 5 % is zero; none is larger, and each lasts a second.
    #[test]
    fn the_rate_of_each_second_is_off_by_up_to_the_noise() {
        let mut e = Encoder::new(EncoderConfig { noise: 0.05, ..config() }, 1.5e6);
        e.start(Instant::ZERO);
        let made = run(&mut e, 0, 200_000);
        let mut rates = Vec::new();
        for second in 0..200 {
            let of = |f: &&Frame| f.at.0 / NOISE_PERIOD == second;
            rates.push(made.iter().filter(of).map(|f| f.octets as f64 / 6250.0).sum::<f64>() / 30.0);
        }
        let mean = rates.iter().sum::<f64>() / 200.0;
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
        assert!(rates.iter().all(|r| (r - 1.0).abs() < 0.0501));
        let spread = rates.iter().map(|r| (r - mean) * (r - mean)).sum::<f64>() / 200.0;
        // Uniform over a width of 0.1: variance 0.1^2 / 12.
        assert!((spread / (0.01 / 12.0) - 1.0).abs() < 0.2, "{spread}");
    }
}

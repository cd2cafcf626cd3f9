//! CAIA delay-gradient: it backs off, with a chance, when the round trip grows from round to round.

use lasthop_engine::math;
use lasthop_units::{Duration, Instant};

use super::random::Random;
use super::window::{Round, Window, has_window};
use super::{AckSample, CaState, Congestion, CongestionControl, Established, Parameter};
use crate::config::Config;

/// Rounds over which gradients are summed.
const WINDOW: usize = 8;
const BACKOFF_BETA: f64 = 724.0 / 1024.0;
/// The chance not to back off is exp(-FACTOR * gradient in microseconds * 1e-6).
const FACTOR: f64 = 42.0;
/// Back-offs in a row without effect before they are given up.
const USE_INEFF: u32 = 5;
/// A sum of gradients below this is an effect \[us\].
const EFFECT: f64 = -32.0;

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter { name: "window", default: "8", unit: "rounds", source: "Linux tcp_cdg.c" },
    Parameter { name: "backoff_beta", default: "0.7071", unit: "of cwnd is left", source: "Linux: 724/1024" },
    Parameter { name: "backoff_factor", default: "42", unit: "", source: "Linux: 1000 / (G window), G = 3" },
    Parameter { name: "use_ineff", default: "5", unit: "back-offs", source: "Linux" },
    Parameter { name: "use_shadow", default: "on", unit: "", source: "Linux" },
    Parameter { name: "use_tolerance", default: "off", unit: "", source: "Linux" },
];
pub(super) const DIFFERS: &str = "As Linux, with an exact exponential and the connection's own keyed numbers. A back-off here \
     takes effect at once; in Linux it enters CWR and shrinks over a round trip. HyStart ends its slow start, by its own \
     thresholds (125 us and an eighth; ACKs within 3 ms). ns-3 and INET have none.";

/// Smallest and largest round trip of a round \[us\].
#[derive(Clone, Copy, Debug, Default)]
struct Bounds {
    min: f64,
    max: f64,
}

impl Bounds {
    fn is_empty(self) -> bool {
        self.min == 0.0 && self.max == 0.0
    }
}

/// CDG's window and gradients.
#[derive(Clone, Debug)]
pub struct Cdg {
    w: Window,
    random: Random,
    rtt: Bounds,
    previous: Bounds,
    gradients: [Bounds; WINDOW],
    sum: Bounds,
    tail: usize,
    filled: bool,
    round: Round,
    backing_off: bool,
    backoffs: u32,
    /// What a sender that only minds losses would have.
    shadow: f64,
    delayed_acks: u32,
    // Its own HyStart.
    delay_min: f64,
    last_ack: Option<Instant>,
    train_start: Instant,
    samples: u32,
}

impl Cdg {
    /// One segment until the handshake is done.
    pub fn new(config: &Config) -> Cdg {
        Cdg {
            w: Window::new(config),
            random: Random::default(),
            rtt: Bounds::default(),
            previous: Bounds::default(),
            gradients: [Bounds::default(); WINDOW],
            sum: Bounds::default(),
            tail: 0,
            filled: false,
            round: Round::default(),
            backing_off: false,
            backoffs: 0,
            shadow: 0.0,
            delayed_acks: 0,
            delay_min: 0.0,
            last_ack: None,
            train_start: Instant::ZERO,
            samples: 0,
        }
    }

    /// A filter for delayed ACKs (Hayes 2010): a lone segment after several at a time may have waited.
    fn sample(&mut self, rtt: f64, segments: f64, sacked: bool) {
        if !sacked {
            if segments <= 1.0 && self.delayed_acks > 0 {
                self.rtt.min = self.rtt.min.min(rtt);
                self.delayed_acks -= 1;
                return;
            }
            if segments > 1.0 && self.delayed_acks < 5 {
                self.delayed_acks += 1;
            }
        }
        self.rtt.min = if self.rtt.min == 0.0 { rtt } else { self.rtt.min.min(rtt) };
        self.rtt.max = self.rtt.max.max(rtt);
    }

    /// The gradient summed over the window, extrapolated while that fills.
    fn gradient(&mut self) -> f64 {
        let new = Bounds { min: self.rtt.min - self.previous.min, max: self.rtt.max - self.previous.max };
        let old = std::mem::replace(&mut self.gradients[self.tail], new);
        self.sum.min += new.min - old.min;
        self.sum.max += new.max - old.max;
        self.tail = (self.tail + 1) % WINDOW;
        let mut gradient = if self.sum.min > 0.0 { self.sum.min } else { self.sum.max };
        if !self.filled {
            if self.tail == 0 {
                self.filled = true;
            } else {
                gradient = gradient * WINDOW as f64 / self.tail as f64;
            }
        }
        if self.sum.min <= EFFECT || self.sum.max <= EFFECT {
            self.backoffs = 0;
        }
        gradient
    }

    fn backs_off(&mut self, gradient: f64) -> bool {
        if self.random.next() <= math::exp(-gradient * FACTOR * 1e-6) {
            return false;
        }
        self.backoffs = self.backoffs.saturating_add(1);
        self.backoffs <= USE_INEFF
    }

    fn back_off(&mut self) {
        self.shadow = self.shadow.max(self.w.cwnd);
        self.w.cut(self.w.cwnd * BACKOFF_BETA);
        self.backing_off = true;
    }

    /// The gradients pause over a reduction.
    fn settle(&mut self, nxt: u64) {
        self.backing_off = false;
        self.round.begin(nxt);
        self.previous = std::mem::take(&mut self.rtt);
    }

    fn leave_slow_start(&mut self, ack: &AckSample) {
        self.delay_min = match (self.delay_min, self.rtt.min) {
            (0.0, r) => r,
            (d, 0.0) => d,
            (d, r) => d.min(r),
        };
        if self.delay_min == 0.0 {
            return;
        }
        match self.last_ack {
            Some(last) if ack.cwnd_limited => {
                if ack.now.since(last) < Duration::from_millis(3) {
                    self.last_ack = Some(ack.now);
                    let train = ack.now.since(self.train_start).as_secs_f64() * 1e6;
                    if train > (self.delay_min / 2.0).max(125.0) {
                        self.w.ssthresh = self.w.cwnd;
                        return;
                    }
                }
            }
            _ => (self.last_ack, self.train_start) = (Some(ack.now), ack.now),
        }
        if self.samples < 8 {
            self.samples += 1;
        } else if self.rtt.min > (self.delay_min * 1.125).max(125.0) {
            self.w.ssthresh = self.w.cwnd;
        }
    }

    fn after_loss(&mut self, window: f64) -> f64 {
        self.shadow = (self.shadow / 2.0).floor().min(window);
        self.shadow.max((window / 2.0).floor())
    }
}

impl CongestionControl for Cdg {
    has_window!();
    fn on_established(&mut self, e: &Established) {
        self.w.open(e);
        self.random = Random::new(e.seed);
        self.shadow = self.w.cwnd;
        self.round.begin(e.nxt);
    }
    fn on_ack(&mut self, ack: &AckSample) {
        if let Some(rtt) = ack.rtt.filter(|r| !r.is_zero()) {
            self.sample(rtt.as_secs_f64() * 1e6, ack.segments(), ack.state != CaState::Open);
        }
        if !ack.may_grow {
            return;
        }
        if self.w.in_slow_start() {
            self.leave_slow_start(ack);
        }
        if !self.rtt.is_empty() && self.round.ended(ack) {
            if self.backing_off {
                self.settle(ack.nxt);
            } else {
                let gradient = if self.previous.is_empty() { 0.0 } else { self.gradient() };
                self.previous = std::mem::take(&mut self.rtt);
                (self.last_ack, self.samples) = (None, 0);
                if gradient > 0.0 && self.backs_off(gradient) {
                    self.back_off();
                    return;
                }
            }
        }
        if !self.w.may_grow(ack) {
            self.shadow = self.shadow.min(self.w.cwnd);
            return;
        }
        let before = self.w.cwnd;
        if !self.backing_off {
            self.w.reno(ack);
        }
        self.shadow += self.w.cwnd - before;
    }
    fn on_congestion(&mut self, c: &Congestion) {
        let to = self.after_loss(c.flight);
        self.w.cut(to);
    }
    fn on_timeout(&mut self, c: &Congestion) {
        let to = self.after_loss(c.flight);
        self.w.timeout(to, c.repeated);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn the_gradient_is_summed_over_eight_rounds_and_extrapolated_before() {
        let mut c = Cdg::new(&linux_like());
        let step = |c: &mut Cdg, us: f64| {
            c.previous = c.rtt;
            c.rtt = Bounds { min: us, max: us };
            c.gradient()
        };
        c.rtt = Bounds { min: 1000.0, max: 1000.0 };
        assert_eq!(step(&mut c, 1100.0), 800.0, "100 us in one round: eight times as much in eight");
        assert_eq!(step(&mut c, 1200.0), 800.0);
        for n in 3..=8 {
            step(&mut c, 1000.0 + 100.0 * f64::from(n));
        }
        assert_eq!(step(&mut c, 1800.0), 700.0, "the first 100 us have left the window");
    }

    #[test]
    fn a_gradient_backs_off_with_the_chance_of_the_exponential() {
        let mut c = Cdg::new(&linux_like());
        let n = 20_000;
        // exp(-10000 * 42e-6) = exp(-0.42) = 0.657: 34.3 % back off.
        let count = (0..n)
            .filter(|_| {
                c.backoffs = 0;
                c.backs_off(10_000.0)
            })
            .count();
        assert!((count as f64 / f64::from(n) - 0.343).abs() < 0.01, "{count}");
        // The sixth in a row without effect is given up.
        c.backoffs = USE_INEFF;
        assert!(!(0..100).any(|_| c.backs_off(1e9)));
    }

    #[test]
    fn a_back_off_leaves_the_root_of_a_half_and_the_shadow_window_softens_a_loss() {
        let mut c = Cdg::new(&linux_like());
        c.w.set(100.0);
        c.shadow = 100.0;
        c.back_off();
        assert_eq!((c.cwnd(), c.shadow), (70.0, 100.0));
        // Half of the shadow window, 50, is more than half of 70.
        c.on_congestion(&congestion(70.0));
        assert_eq!(c.cwnd(), 50.0);
    }
}

//! CAIA delay-gradient: it backs off, with a chance, when the round trip grows from round to round.
//!
//! Validated against single runs of Linux 6.1 on two paths (`tests/linux_recordings.rs`). Compared
//! by reading with tcp_cdg.c:
//! - a back-off is a reduction like a mark's (CWR): PRR reduces the window over a round trip, and
//!   no growth meanwhile;
//! - the gradients pause at the end of every reduction, a loss's too (`CA_EVENT_COMPLETE_CWR`);
//! - the filter for delayed ACKs counts the segments that SND.UNA passed, not those delivered;
//! - whole microseconds; the kernel's exponential is a product of table entries, here it is exact.

use lasthop_engine::math;
use lasthop_units::{Duration, Instant};

use super::random::Random;
use super::window::{Round, Window, has_window};
use super::{AckSample, Congestion, CongestionControl, Established, Needs, Observer, Parameter, Row};
use crate::config::Config;

/// Rounds over which gradients are summed.
const WINDOW: usize = 8;
const BACKOFF_BETA: f64 = 724.0 / 1024.0;
/// The chance not to back off is exp(-FACTOR * gradient in microseconds * 1e-6).
const FACTOR: f64 = 42.0;
/// Back-offs in a row without effect before they stop.
const USE_INEFF: u32 = 5;
/// A sum of gradients below this is an effect \[us\].
const EFFECT: i64 = -32;

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter { name: "window", default: "8", unit: "rounds", source: "Linux tcp_cdg.c" },
    Parameter { name: "backoff_beta", default: "0.7071", unit: "of cwnd is left", source: "Linux: 724/1024" },
    Parameter { name: "backoff_factor", default: "42", unit: "", source: "Linux: 1000 / (G window), G = 3" },
    Parameter { name: "use_ineff", default: "5", unit: "back-offs", source: "Linux" },
    Parameter { name: "use_shadow", default: "on", unit: "", source: "Linux" },
    Parameter { name: "use_tolerance", default: "off", unit: "", source: "Linux" },
];
pub(super) const DIFFERS: &str = "As Linux, with an exact exponential and the connection's own keyed numbers. A back-off \
     enters CWR and shrinks over a round trip, as in Linux, with `recovery = rack`; at once with the others. HyStart ends its slow start, by its own \
     thresholds (125 us and an eighth; ACKs within 3 ms). ns-3 and INET have none.";

pub(super) const ROW: Row = Row {
    summary: "backs off by chance when the round trip grows",
    source: "D. Hayes, G. Armitage, Revisiting TCP congestion control using delay gradients, IFIP Networking 2011; Linux 6.1 tcp_cdg.c",
    parameters: PARAMETERS,
    differs: DIFFERS,
    needs: Needs::NOTHING,
};

/// Smallest and largest round trip of a round \[us\].
#[derive(Clone, Copy, Debug, Default)]
struct Bounds {
    min: i64,
    max: i64,
}

impl Bounds {
    fn is_empty(self) -> bool {
        self.min == 0 && self.max == 0
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
    /// The next ACK begins a round.
    begin_round: bool,
    backing_off: bool,
    /// A reduction is requested, and not made yet.
    wanted: bool,
    backoffs: u32,
    /// The window of a sender that responds to losses only.
    shadow: f64,
    delayed_acks: u32,
    // Its own HyStart.
    delay_min: i64,
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
            begin_round: false,
            backing_off: false,
            wanted: false,
            backoffs: 0,
            shadow: 0.0,
            delayed_acks: 0,
            delay_min: 0,
            last_ack: None,
            train_start: Instant::ZERO,
            samples: 0,
        }
    }

    /// A filter for delayed ACKs (Hayes 2010): a lone segment after several at a time may have
    /// waited.
    fn sample(&mut self, rtt: i64, segments: u32, sacked: bool) {
        if !sacked {
            if segments == 1 && self.delayed_acks > 0 {
                self.rtt.min = self.rtt.min.min(rtt);
                self.delayed_acks -= 1;
                return;
            }
            if segments > 1 && self.delayed_acks < 5 {
                self.delayed_acks += 1;
            }
        }
        self.rtt.min = if self.rtt.min == 0 { rtt } else { self.rtt.min.min(rtt) };
        self.rtt.max = self.rtt.max.max(rtt);
    }

    /// The gradient summed over the window, extrapolated while that fills.
    fn gradient(&mut self) -> i64 {
        let new = Bounds { min: self.rtt.min - self.previous.min, max: self.rtt.max - self.previous.max };
        let old = std::mem::replace(&mut self.gradients[self.tail], new);
        self.sum.min += new.min - old.min;
        self.sum.max += new.max - old.max;
        self.tail = (self.tail + 1) % WINDOW;
        let mut gradient = if self.sum.min > 0 { self.sum.min } else { self.sum.max };
        if !self.filled {
            if self.tail == 0 {
                self.filled = true;
            } else {
                gradient = gradient * WINDOW as i64 / self.tail as i64;
            }
        }
        if self.sum.min <= EFFECT || self.sum.max <= EFFECT {
            self.backoffs = 0;
        }
        gradient
    }

    fn backs_off(&mut self, gradient: i64) -> bool {
        if self.random.next() <= math::exp(-(gradient as f64) * FACTOR * 1e-6) {
            return false;
        }
        self.backoffs = self.backoffs.saturating_add(1);
        self.backoffs <= USE_INEFF
    }

    fn back_off(&mut self) {
        self.shadow = self.shadow.max(self.w.cwnd);
        self.backing_off = true;
        self.wanted = true;
    }

    /// The gradients pause over a reduction.
    fn settle(&mut self) {
        self.backing_off = false;
        self.begin_round = true;
    }

    fn leave_slow_start(&mut self, ack: &AckSample) {
        self.delay_min = match (self.delay_min, self.rtt.min) {
            (0, r) => r,
            (d, 0) => d,
            (d, r) => d.min(r),
        };
        if self.delay_min == 0 {
            return;
        }
        match self.last_ack {
            Some(last) if ack.cwnd_limited => {
                if ack.now.since(last) < Duration::from_millis(3) {
                    self.last_ack = Some(ack.now);
                    let train = ack.now.since(self.train_start).as_micros() as i64;
                    if train > (self.delay_min / 2).max(125) {
                        self.w.ssthresh = self.w.cwnd;
                        return;
                    }
                }
            }
            _ => (self.last_ack, self.train_start) = (Some(ack.now), ack.now),
        }
        if self.samples < 8 {
            self.samples += 1;
        } else if self.rtt.min > (self.delay_min + self.delay_min / 8).max(125) {
            self.w.ssthresh = self.w.cwnd;
        }
    }

    fn after_loss(&mut self, window: f64) -> f64 {
        if self.backing_off {
            return window * BACKOFF_BETA;
        }
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
        let rtt = ack.rtt.map_or(0, |r| r.as_micros() as i64);
        if rtt > 0 {
            self.sample(rtt, ack.segments_passed(), ack.sacked);
        }
        if std::mem::take(&mut self.wanted) {
            // The reduction was not taken: loss recovery has no CWR state.
            let c = Congestion { now: ack.now, flight: self.w.cwnd, ..Congestion::default() };
            self.on_congestion(&c);
            self.settle();
        }
        if std::mem::take(&mut self.begin_round) {
            // The sample of the ACK that ends a reduction is the last of that round.
            self.previous = std::mem::take(&mut self.rtt);
            self.round.begin(ack.nxt);
        }
        if !ack.may_grow {
            return;
        }
        if self.w.in_slow_start() {
            self.leave_slow_start(ack);
        }
        if !self.rtt.is_empty() && self.round.ended(ack) {
            let gradient = if self.previous.is_empty() { 0 } else { self.gradient() };
            self.previous = std::mem::take(&mut self.rtt);
            (self.last_ack, self.samples) = (None, 0);
            if gradient > 0 && self.backs_off(gradient) {
                self.back_off();
                return;
            }
        }
        if !self.w.may_grow(ack) {
            self.shadow = self.shadow.min(self.w.cwnd);
            return;
        }
        let before = self.w.cwnd;
        self.w.reno(ack);
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
    fn on_recovered(&mut self, _now: Instant) {
        self.settle();
    }
    fn take_reduction(&mut self) -> bool {
        std::mem::take(&mut self.wanted)
    }
    fn observe(&self, o: &mut Observer<'_>) {
        o.number(
            "cdg.shadow",
            "segments",
            "the window of a sender that responds to losses only",
            self.shadow,
        );
        o.count("cdg.backoffs", "", "back-offs by the delay gradient in a row", u64::from(self.backoffs));
        o.flag("cdg.backing_off", "the last gradient led to a back-off", self.backing_off);
    }
}

#[cfg(test)]
mod tests {
    use super::super::CaState;
    use super::super::testing::*;
    use super::*;

    #[test]
    fn the_gradient_is_summed_over_eight_rounds_and_extrapolated_before() {
        let mut c = Cdg::new(&linux_like());
        let step = |c: &mut Cdg, us: i64| {
            c.previous = c.rtt;
            c.rtt = Bounds { min: us, max: us };
            c.gradient()
        };
        c.rtt = Bounds { min: 1000, max: 1000 };
        assert_eq!(step(&mut c, 1100), 800, "100 us in one round: eight times as much in eight");
        assert_eq!(step(&mut c, 1200), 800);
        for n in 3..=8 {
            step(&mut c, 1000 + 100 * n);
        }
        assert_eq!(step(&mut c, 1800), 700, "the first 100 us have left the window");
    }

    #[test]
    fn a_gradient_backs_off_with_the_chance_of_the_exponential() {
        let mut c = Cdg::new(&linux_like());
        let n = 20_000;
        // exp(-10000 * 42e-6) = exp(-0.42) = 0.657: 34.3 % back off.
        let count = (0..n)
            .filter(|_| {
                c.backoffs = 0;
                c.backs_off(10_000)
            })
            .count();
        assert!((count as f64 / f64::from(n) - 0.343).abs() < 0.01, "{count}");
        // The sixth in a row without effect is the last.
        c.backoffs = USE_INEFF;
        assert!(!(0..100).any(|_| c.backs_off(1_000_000_000)));
    }

    #[test]
    fn the_filter_for_delayed_acks_works_in_a_reduction_too() {
        // tcp_cdg_acked tests sacked_out == 0, not for a state. Two segments at a time, then a
        // lone one of 90 ms: it may have waited, and counts only where it lowers the minimum. With
        // something SACKed it counts.
        for (sacked, max) in [(false, 60_000), (true, 90_000)] {
            let mut c = Cdg::new(&linux_like());
            let a = |segments: u64, ms: u64| AckSample {
                rtt: Some(Duration::from_millis(ms)),
                passed: segments * MSS,
                state: CaState::Cwr,
                may_grow: false,
                sacked,
                ..ack_at(segments, 1000, ms)
            };
            c.on_ack(&a(2, 60));
            c.on_ack(&a(1, 90));
            assert_eq!((c.rtt.min, c.rtt.max), (60_000, max));
        }
    }

    #[test]
    fn the_ack_that_ends_a_reduction_is_the_last_of_its_round() {
        // tcp_clean_rtx_queue calls pkts_acked before tcp_end_cwnd_reduction sends
        // CA_EVENT_COMPLETE_CWR.
        let mut c = Cdg::new(&linux_like());
        let a = |ms: u64| AckSample { rtt: Some(Duration::from_millis(ms)), ..ack_at(2, 1000, ms) };
        c.on_ack(&AckSample { state: CaState::Cwr, may_grow: false, ..a(60) });
        c.on_recovered(Instant::ZERO);
        c.on_ack(&a(80));
        assert_eq!((c.previous.max, c.rtt.is_empty()), (80_000, true));
    }

    #[test]
    fn a_back_off_leaves_the_root_of_a_half_and_the_shadow_window_softens_a_loss() {
        let mut c = Cdg::new(&linux_like());
        c.w.set(100.0);
        c.shadow = 100.0;
        c.back_off();
        assert!(c.take_reduction() && !c.take_reduction(), "requested once");
        c.on_congestion(&congestion(100.0));
        c.on_recovered(Instant::ZERO);
        assert_eq!((c.cwnd(), c.shadow), (70.0, 100.0));
        // Half of the shadow window, 50, is more than half of 70.
        c.on_congestion(&congestion(70.0));
        assert_eq!(c.cwnd(), 50.0);
    }
}

//! The parts that window-based algorithms share: a window in whole segments that counts what is
//! delivered, and the end of a round.

use super::{AckSample, Established};
use crate::config::Config;
use crate::mutant::Mutant;

/// cwnd and ssthresh in segments, with the count of segments delivered towards the next increase.
///
/// The window moves by whole segments, as in Linux; the rest of an increase waits in `counted`.
#[derive(Clone, Debug)]
pub struct Window {
    /// The congestion window.
    pub cwnd: f64,
    /// The slow-start threshold.
    pub ssthresh: f64,
    counted: f64,
    ceiling: f64,
    /// L of RFC 3465; infinite: an ACK grows the window by all it delivers.
    abc_limit: f64,
    validate: bool,
    /// A deliberate mistake: ssthresh is set to zero.
    zero: bool,
}

impl Window {
    /// One segment until the handshake is done.
    pub fn new(config: &Config) -> Window {
        Window {
            cwnd: 1.0,
            ssthresh: config.initial_ssthresh(),
            counted: 0.0,
            ceiling: config.window_ceiling(),
            abc_limit: config.abc_limit_segments(),
            validate: config.growth.window_validation,
            zero: config.mistakes.mutant == Some(Mutant::SsthreshZero),
        }
    }

    /// The handshake is done.
    pub fn open(&mut self, e: &Established) {
        self.set(e.initial_window);
    }

    /// True while the window is below the threshold.
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Whether this ACK may grow the window.
    #[inline]
    pub fn may_grow(&self, ack: &AckSample) -> bool {
        ack.may_grow && (ack.cwnd_limited || !self.validate)
    }

    /// Slow start: as much more as was delivered, within the limit of RFC 3465, up to ssthresh.
    /// Returns the segments that are left for congestion avoidance.
    pub fn slow_start(&mut self, ack: &AckSample) -> f64 {
        self.slow_start_by(self.countable(ack))
    }

    /// Slow start by a number of segments.
    pub fn slow_start_by(&mut self, segments: f64) -> f64 {
        let cwnd = (self.cwnd + segments).min(self.ssthresh.max(self.cwnd));
        let left = segments - (cwnd - self.cwnd);
        self.cwnd = cwnd.min(self.ceiling.max(1.0));
        left
    }

    /// The number of segments that this ACK counts in slow start.
    pub fn countable(&self, ack: &AckSample) -> f64 {
        // RFC 3465 section 2.3: L = 1 after a timeout.
        let limit = if ack.after_timeout() { self.abc_limit.min(1.0) } else { self.abc_limit };
        let limit = if self.abc_limit.is_infinite() { f64::INFINITY } else { limit };
        ack.segments().min(limit)
    }

    /// One segment more for each `per` segments delivered.
    pub fn one_per(&mut self, per: f64, segments: f64) {
        let per = per.max(1.0);
        // A count from a slower time is worth one segment, no more (as in Linux).
        if self.counted >= per {
            self.counted = 0.0;
            self.add(1.0);
        }
        self.counted += segments;
        if self.counted >= per {
            let more = (self.counted / per).floor();
            self.counted -= more * per;
            self.add(more);
        }
    }

    /// Slow start, then one segment per window: RFC 5681.
    pub fn reno(&mut self, ack: &AckSample) {
        let left = if self.in_slow_start() { self.slow_start(ack) } else { ack.segments() };
        if left > 0.0 {
            self.one_per(self.cwnd, left);
        }
    }

    /// Some segments more or less, never below one or above the ceiling.
    pub fn add(&mut self, segments: f64) {
        self.cwnd = (self.cwnd + segments).clamp(1.0, self.ceiling.max(1.0));
    }

    /// Congestion: both are reduced to `to`, in whole segments and not below two.
    pub fn cut(&mut self, to: f64) {
        self.ssthresh = to.floor().max(2.0);
        self.cwnd = self.ssthresh.min(self.ceiling.max(1.0));
        self.counted = 0.0;
        if self.zero {
            self.ssthresh = 0.0;
        }
    }

    /// A timeout: ssthresh is reduced to `to`, unless the same segment was lost once more; cwnd to
    /// one segment.
    pub fn timeout(&mut self, to: f64, repeated: bool) {
        if !repeated {
            self.ssthresh = if self.zero { 0.0 } else { to.floor().max(2.0) };
        }
        self.cwnd = 1.0;
        self.counted = 0.0;
    }

    /// The reduction was spurious: restores the earlier values, if they are larger.
    pub fn undo(&mut self, cwnd: f64, ssthresh: f64) {
        self.cwnd = self.cwnd.max(cwnd).min(self.ceiling.max(1.0));
        self.ssthresh = self.ssthresh.max(ssthresh);
    }

    /// Sets cwnd, within floor and ceiling.
    pub fn set(&mut self, segments: f64) {
        self.cwnd = segments.clamp(1.0, self.ceiling.max(1.0));
        self.counted = 0.0;
    }
}

/// The getters of an algorithm whose window is `self.w`.
macro_rules! shows_window {
    () => {
        #[inline]
        fn cwnd(&self) -> f64 {
            self.w.cwnd
        }
        #[inline]
        fn ssthresh(&self) -> f64 {
            self.w.ssthresh
        }
    };
}
pub(super) use shows_window;

/// The getters and setters of an algorithm whose window is `self.w`.
macro_rules! has_window {
    () => {
        $crate::cc::window::shows_window!();
        fn set_cwnd(&mut self, segments: f64) {
            self.w.set(segments);
        }
        fn set_ssthresh(&mut self, segments: f64) {
            self.w.ssthresh = segments;
        }
        fn on_undo(&mut self, cwnd: f64, ssthresh: f64) {
            self.w.undo(cwnd, ssthresh);
        }
    };
}
pub(super) use has_window;

/// Round trips counted by sequence number: a round ends when the last octet that was sent at its
/// start is acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub struct Round {
    mark: u64,
}

impl Round {
    /// A round begins: it ends with the ACK beyond `nxt`.
    pub fn begin(&mut self, nxt: u64) {
        self.mark = nxt;
    }
    /// True once per round trip, at the ACK that ends it; the next begins.
    pub fn ended(&mut self, ack: &AckSample) -> bool {
        let ended = ack.una > self.mark;
        if ended {
            self.mark = ack.nxt;
        }
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn slow_start_stops_at_ssthresh_and_returns_the_rest() {
        let mut w = Window::new(&linux_like());
        w.set(8.0);
        w.ssthresh = 10.0;
        // Five delivered: two reach ssthresh, three count towards the next segment of ten.
        assert_eq!((w.slow_start(&ack(5)), w.cwnd), (3.0, 10.0));
        w.one_per(10.0, 3.0);
        w.one_per(10.0, 6.0);
        assert_eq!(w.cwnd, 10.0);
        w.one_per(10.0, 1.0);
        assert_eq!((w.cwnd, w.counted), (11.0, 0.0));
    }

    #[test]
    fn a_count_left_from_a_larger_divisor_gives_one_segment() {
        let mut w = Window::new(&linux_like());
        w.set(10.0);
        w.one_per(100.0, 60.0);
        // 60 is six times 10, but counts once; then 5 of 10.
        w.one_per(10.0, 5.0);
        assert_eq!((w.cwnd, w.counted), (11.0, 5.0));
    }

    #[test]
    fn the_standards_count_one_segment_per_ack_in_slow_start() {
        let mut w = Window::new(&rfc());
        w.set(10.0);
        w.slow_start(&ack(2));
        assert_eq!(w.cwnd, 11.0, "RFC 5681 equation 2");
    }

    #[test]
    fn an_undo_never_shrinks() {
        let mut w = Window::new(&rfc());
        w.set(20.0);
        w.cut(10.0);
        w.undo(20.0, 15.0);
        assert_eq!((w.cwnd, w.ssthresh), (20.0, 15.0));
        w.undo(5.0, 2.0);
        assert_eq!((w.cwnd, w.ssthresh), (20.0, 15.0));
    }
}

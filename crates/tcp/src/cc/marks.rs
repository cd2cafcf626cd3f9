//! The common part of the controls that use the share of marks: DCTCP's estimate (RFC 8257 section
//! 3.3).
//!
//! Steps 1 to 9 of RFC 8257 section 3.3 and RFC 8257 section 3.5 were compared with the RFC, and
//! with three programs: a DCTCP for ns-3 of NITK Surathkal, one for the Click router by Nokia Bell
//! Labs, and Linux commit aecfde23108b.

use super::{AckSample, Congestion, Observer, Signal};

/// g, the gain of the estimate.
pub(super) const GAIN: f64 = 1.0 / 16.0;

/// The smoothed share of octets with a mark.
#[derive(Clone, Debug)]
pub(super) struct MarkedShare {
    /// DCTCP.Alpha.
    pub alpha: f64,
    delivered: f64,
    marked: f64,
}

impl MarkedShare {
    /// RFC 8257 section 3.3: DCTCP.Alpha begins at 1.
    pub const fn new() -> MarkedShare {
        MarkedShare { alpha: 1.0, delivered: 0.0, marked: 0.0 }
    }
    /// Counts the octets that an ACK reports as delivered, by SACK too, as Linux does
    /// (tp->delivered). RFC 8257 section 3.3, step 1, takes SEG.ACK - SND.UNA alone.
    #[inline]
    pub fn count(&mut self, ack: &AckSample) {
        self.delivered += ack.delivered as f64;
        self.marked += ack.marked as f64;
    }
    /// A window has passed, steps 5, 6 and 8: M = marked / acked, alpha = alpha * (1 - g) + g * M,
    /// and both counts begin anew.
    pub fn settle(&mut self) {
        let share = if self.delivered > 0.0 { (self.marked / self.delivered).min(1.0) } else { 0.0 };
        self.alpha += GAIN * (share - self.alpha);
        (self.delivered, self.marked) = (0.0, 0.0);
    }
    /// Discards the counts: they do not enter the estimate.
    pub fn clear(&mut self) {
        (self.delivered, self.marked) = (0.0, 0.0);
    }
    /// Shows the estimate under the name of the control's own.
    pub fn observe(&self, o: &mut Observer<'_>, name: &str) {
        o.number(name, "", "alpha: the smoothed share of octets that met a mark", self.alpha);
    }
    /// The window in flight after congestion: a mark reduces it by alpha, a loss to the half. RFC
    /// 8257 section 3.5: "a DCTCP sender MUST react to loss episodes in the same way as
    /// conventional TCP".
    pub fn after(&self, c: &Congestion) -> f64 {
        match c.signal {
            Signal::Ecn => self.after_mark(c.flight),
            Signal::Loss => c.flight / 2.0,
        }
    }
    /// What a mark leaves of a window: cwnd * (1 - alpha / 2). The part that is removed is whole
    /// segments (Linux: cwnd - (cwnd * alpha >> 11)): a small share of marks costs a small window
    /// nothing.
    fn after_mark(&self, window: f64) -> f64 {
        window.floor() - (window.floor() * self.alpha / 2.0).floor()
    }
}

//! The use of the congestion window, by Linux' criterion.

use super::in_flight::InFlight;
use super::sequence::SendSequence;

/// How much of the congestion window was used in the current window of data (tcp_cwnd_validate).
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    limited: bool,
    out_max: u32,
    until: u64,
}

impl Usage {
    /// tcp_cwnd_validate: records, for the window of data now in flight, whether the congestion
    /// window was full.
    pub fn note(&mut self, seq: &SendSequence, fly: &InFlight, limited: bool) {
        let out = fly.flight.len() as u32;
        if seq.una >= self.until || limited || (!self.limited && out > self.out_max) {
            *self = Usage { limited, out_max: out, until: seq.nxt };
        }
    }

    /// tcp_is_cwnd_limited: full, or in slow start at least half used.
    pub fn was_limited(&self, window: u64, slow_start: bool) -> bool {
        self.limited || (slow_start && window < 2 * u64::from(self.out_max))
    }
}

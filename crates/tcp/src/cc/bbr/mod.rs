//! BBR: a model of the path, by its largest rate and its smallest round trip, that determines
//! pacing and window.
//!
//! [`Bbr`] is version 1, as Linux 6.1 has it; [`Bbr3`] is version 3, as the working group's draft
//! has it.

#[cfg(test)]
mod fluid;
mod max_filter;
mod policer;
pub(in crate::cc) mod v1;
pub(in crate::cc) mod v3;

pub use v1::Bbr;
pub use v3::Bbr3;

use super::{Observer, RateSample};

/// Shows the rate sample of the latest ACK, under the names of the draft's section "Per-ACK Rate
/// Sample State".
fn observe_rate(o: &mut Observer<'_>, rs: &RateSample, mss: f64) {
    let seconds = rs.interval.as_secs_f64();
    let rate = (seconds > 0.0).then(|| 8.0 * rs.delivered as f64 / seconds);
    let segments = |octets: u64| octets as f64 / mss;
    o.maybe("RS.delivery_rate", "bit/s", "delivery rate of the last ACK; empty: it gave none", rate);
    o.number("RS.delivered", "segments", "delivered over the interval of the sample", segments(rs.delivered));
    o.number("RS.interval", "s", "the longer of the times of sending and of acknowledging", seconds);
    o.number(
        "RS.tx_in_flight",
        "segments",
        "in flight when the newest segment of the last ACK was sent, it included",
        segments(rs.sent_in_flight),
    );
    o.number("RS.lost", "segments", "lost since then", segments(rs.lost));
    o.flag(
        "RS.is_app_limited",
        "the sender had run out of data, or the sample is treated so",
        rs.app_limited,
    );
}

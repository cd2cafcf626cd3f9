//! The interface of an algorithm.

use lasthop_engine::custom::Fault;
use lasthop_engine::observe::Observer;
use lasthop_units::{Bitrate, Duration, Instant};

use crate::hint::Hint;
use crate::sample::{AckSample, Congestion, DupAck, DupAckAction, Established, TransmitStart};

/// Passes the trait's definition to the macro `$then`: it is declared here, and [`any`](super::any)
/// implements it for the enum of all algorithms, method by method.
macro_rules! congestion_control {
    ($then:ident) => {
        $then! {
            /// A congestion control algorithm. Windows are in segments of the sender's size.
            pub trait CongestionControl {
                /// The congestion window, without recovery's inflation.
                fn cwnd(&self) -> f64;
                /// The slow-start threshold; infinite at the start.
                fn ssthresh(&self) -> f64;
                /// The handshake is done.
                fn on_established(&mut self, e: &Established);
                /// Data was delivered: an ACK of new data, or one with SACK news.
                fn on_ack(&mut self, ack: &AckSample);
                /// A duplicate ACK arrived, without SACK.
                fn on_dup_ack(&mut self, _dup: &DupAck) -> DupAckAction {
                    DupAckAction::Standard
                }
                /// Fast retransmit begins: sets ssthresh, and cwnd to it.
                fn on_congestion(&mut self, c: &Congestion);
                /// The retransmission timer expired.
                fn on_timeout(&mut self, c: &Congestion);
                /// Recovery sets the window: Tahoe's one segment, NewReno's at the end, the restart
                /// after idleness, and PRR's.
                fn set_cwnd(&mut self, segments: f64);
                /// The endpoint raises the threshold before the restart after idleness (Linux'
                /// `tcp_cwnd_restart`).
                fn set_ssthresh(&mut self, _segments: f64) {}
                /// A capacity hint of the radio network's has come.
                fn on_hint(&mut self, _hint: &Hint) {}
                /// New data after more than a timeout of idleness: the window restarts from
                /// `segments` (RFC 5681 section 4.1; Linux' `tcp_cwnd_restart`). A control that
                /// computes its window from a model of the path keeps it.
                fn on_idle_restart(&mut self, _now: Instant, segments: f64) {
                    self.set_cwnd(segments);
                }
                /// Fast recovery has ended and the window is about to be ssthresh.
                fn on_recovered(&mut self, _now: Instant) {}
                /// The last reduction was for nothing: the window and threshold before it.
                fn on_undo(&mut self, _cwnd: f64, _ssthresh: f64) {}
                /// New data leaves after nothing was in flight: called where loss recovery is
                /// RACK's (Linux: `CA_EVENT_TX_START`).
                fn on_transmit_start(&mut self, _start: &TransmitStart) {}
                /// The algorithm sets its window during recovery itself: neither PRR nor the end of
                /// recovery touches it.
                fn rules_recovery(&self) -> bool {
                    false
                }
                /// A loss within the reduction that a mark began costs one of its own. Linux'
                /// `tcp_enter_recovery` has none; a control whose marks cost little needs it
                /// (RFC 9331 section 4.3, RFC 8257 section 3.5).
                fn answers_loss_in_cwr(&self) -> bool {
                    false
                }
                /// After an ACK of new data: is the segment now oldest, sent at `sent`, overdue and
                /// to be sent again?
                fn oldest_is_overdue(&mut self, _now: Instant, _sent: Instant) -> bool {
                    false
                }
                /// The algorithm requests a reduction as after a congestion mark: called once after
                /// each ACK where loss recovery is RACK's (Linux: `tcp_enter_cwr`);
                /// [`on_congestion`](Self::on_congestion) follows.
                fn take_reduction(&mut self) -> bool {
                    false
                }
                /// A retransmission timer of the algorithm's own.
                fn own_timeout(&self) -> Option<Duration> {
                    None
                }
                /// The rate to pace at.
                fn pacing_rate(&self) -> Option<Bitrate> {
                    None
                }
                /// What went wrong in code that is not Rust's, once: the caller ends the run with
                /// it.
                fn fault(&mut self) -> Option<Fault> {
                    None
                }
                /// Shows its variables: the same ones in the same order at each call. Only called
                /// where they are recorded.
                fn observe(&self, _o: &mut Observer<'_>) {}
            }
        }
    };
}
pub(super) use congestion_control;

macro_rules! declared {
    ($($text:tt)*) => { $($text)* };
}
congestion_control!(declared);

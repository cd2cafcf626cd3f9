//! What an algorithm has to answer, and who answers it in [`Cc`].

use lasthop_units::{Bitrate, Duration, Instant};

use super::*;
use crate::hint::Hint;

/// `$call` of the algorithm `$cc` that is at work in the [`Cc`] `$self`.
macro_rules! of_any {
    (
        ($self:ident, $cc:ident => $call:expr)
        $($(#[$_doc:meta])* $_name:ident $_word:literal $_row:path $(=> $($Variant:ident($_ty:ty)),+)?;)*
    ) => {
        match $self {
            $($($(Cc::$Variant($cc) => $call,)+)?)*
            Cc::Custom($cc) => $call,
        }
    };
}

/// The trait as it stands, and its implementation for [`Cc`]: each method of it, those with a
/// default included, is passed on to the algorithm at work. So none can be forgotten.
macro_rules! passed_on {
    ($(#[$attr:meta])* pub trait $Trait:ident { $($methods:tt)* }) => {
        $(#[$attr])*
        pub trait $Trait { $($methods)* }
        passed_on! { @of $Trait {} $($methods)* }
    };
    (@of $Trait:ident {$($done:tt)*}) => {
        impl $Trait for Cc { $($done)* }
    };
    // Asked several times per segment: the default algorithm without a jump table.
    (@of $Trait:ident {$($done:tt)*} $(#[$_doc:meta])* fn cwnd(&$s:ident) -> f64; $($rest:tt)*) => {
        passed_on! {
            @of $Trait
            {
                $($done)*
                #[inline]
                fn cwnd(&$s) -> f64 {
                    if let Cc::Reno(cc) = $s { cc.cwnd() } else { $s.cwnd_of_any() }
                }
            }
            $($rest)*
        }
    };
    // The same at each ACK. A copy is what leaves this function: of the sample itself only what
    // Reno reads is then ever made.
    (
        @of $Trait:ident {$($done:tt)*}
        $(#[$_doc:meta])* fn on_ack(&mut $s:ident, $a:ident: &$t:ty); $($rest:tt)*
    ) => {
        passed_on! {
            @of $Trait
            {
                $($done)*
                #[inline]
                fn on_ack(&mut $s, $a: &$t) {
                    if let Cc::Reno(cc) = $s {
                        cc.on_ack($a);
                    } else {
                        let sample = *$a;
                        $s.on_ack_of_any(&sample);
                    }
                }
            }
            $($rest)*
        }
    };
    (
        @of $Trait:ident {$($done:tt)*}
        $(#[$_doc:meta])* fn $f:ident(&mut $s:ident $(, $a:ident: $t:ty)*) $(-> $r:ty)?; $($rest:tt)*
    ) => {
        passed_on! {
            @of $Trait
            {
                $($done)*
                fn $f(&mut $s $(, $a: $t)*) $(-> $r)? { built_in_controls!(of_any $s, cc => cc.$f($($a),*)) }
            }
            $($rest)*
        }
    };
    (
        @of $Trait:ident {$($done:tt)*}
        $(#[$_doc:meta])* fn $f:ident(&$s:ident $(, $a:ident: $t:ty)*) $(-> $r:ty)?; $($rest:tt)*
    ) => {
        passed_on! {
            @of $Trait
            {
                $($done)*
                fn $f(&$s $(, $a: $t)*) $(-> $r)? { built_in_controls!(of_any $s, cc => cc.$f($($a),*)) }
            }
            $($rest)*
        }
    };
    // Most algorithms have the default, so that little is left of the jump table.
    (
        @of $Trait:ident {$($done:tt)*}
        $(#[$_doc:meta])* fn $f:ident(&mut $s:ident $(, $a:ident: $t:ty)*) $(-> $r:ty)? $_default:block $($rest:tt)*
    ) => {
        passed_on! {
            @of $Trait
            {
                $($done)*
                #[inline]
                fn $f(&mut $s $(, $a: $t)*) $(-> $r)? { built_in_controls!(of_any $s, cc => cc.$f($($a),*)) }
            }
            $($rest)*
        }
    };
    (
        @of $Trait:ident {$($done:tt)*}
        $(#[$_doc:meta])* fn $f:ident(&$s:ident $(, $a:ident: $t:ty)*) $(-> $r:ty)? $_default:block $($rest:tt)*
    ) => {
        passed_on! {
            @of $Trait
            {
                $($done)*
                #[inline]
                fn $f(&$s $(, $a: $t)*) $(-> $r)? { built_in_controls!(of_any $s, cc => cc.$f($($a),*)) }
            }
            $($rest)*
        }
    };
}

passed_on! {
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
        /// Recovery sets the window: Tahoe's one segment, NewReno's at the end, the restart after
        /// idleness, and PRR's.
        fn set_cwnd(&mut self, segments: f64);
        /// A capacity hint of the radio network's has come.
        fn on_hint(&mut self, _hint: &Hint) {}
        /// New data after more than a timeout of idleness: the window restarts from `segments` (RFC
        /// 5681 section 4.1).
        fn on_idle_restart(&mut self, _now: Instant, segments: f64) {
            self.set_cwnd(segments);
        }
        /// Fast recovery has ended and the window is about to be ssthresh.
        fn on_recovered(&mut self, _now: Instant) {}
        /// The last reduction was for nothing: the window and threshold before it.
        fn on_undo(&mut self, _cwnd: f64, _ssthresh: f64) {}
        /// Data leaves after nothing was in flight; the last had left `idle` before.
        fn on_transmit_start(&mut self, _now: Instant, _idle: Duration) {}
        /// The algorithm sets its window during recovery itself: neither PRR nor the end of
        /// recovery touches it.
        fn rules_recovery(&self) -> bool {
            false
        }
        /// After an ACK of new data: is the segment now oldest, sent at `sent`, overdue and to be
        /// sent again?
        fn oldest_is_overdue(&mut self, _now: Instant, _sent: Instant) -> bool {
            false
        }
        /// The algorithm requests a reduction as after a congestion mark: asked once after each
        /// ACK where loss recovery is RACK's (Linux: `tcp_enter_cwr`);
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
        /// What went wrong in code that is not Rust's, once: the caller ends the run with it.
        fn fault(&mut self) -> Option<Fault> {
            None
        }
        /// Shows its variables: the same ones in the same order at each call. Only called where
        /// somebody looks.
        fn observe(&self, _o: &mut Observer<'_>) {}
    }
}

impl Cc {
    // Out of line, so that what asks for them stays small enough to be built into its callers.
    #[inline(never)]
    fn cwnd_of_any(&self) -> f64 {
        built_in_controls!(of_any self, cc => cc.cwnd())
    }
    #[inline(never)]
    fn on_ack_of_any(&mut self, ack: &AckSample) {
        built_in_controls!(of_any self, cc => cc.on_ack(ack));
    }
}

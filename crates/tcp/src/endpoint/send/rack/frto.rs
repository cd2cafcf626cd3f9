//! F-RTO: detection of spurious timeouts.
//!
//! Linux 6.1 follows RFC 5682 section 3.1 in its SACK-enhanced version; only the state shows that a
//! check is in progress. Linux from 2.6.22 to 3.9 (`net.ipv4.tcp_frto` 2, `tcp_frto_response` 0;
//! RFC 5682 section 3.1 and RFC 4138 appendix B): a timeout marks nothing lost before two ACKs have
//! shown whether it was spurious.
//!
//! The timeout reduces ssthresh and sends the first segment again; the window is the data in flight
//! and one segment. The first ACK that moves SND.UNA permits two new segments. If the second ACK
//! delivers original transmissions only, the timeout was spurious: the window is reduced to
//! ssthresh by rate halving, and nothing is undone. Otherwise all segments are marked as lost, and
//! sending continues with a window of two or three segments.

use super::super::detector::{Ack, LossRecovery};
use super::super::in_flight::Watch;
use crate::cc::{Congestion, CongestionControl};
use crate::config::WindowReduction;
use crate::endpoint::meters::Event;
use crate::recovery::{AckDigest, CaState};

impl LossRecovery<'_> {
    /// True if timeouts are checked this way: the stacks that halve the rate.
    pub(super) fn watches_timeouts(&self) -> bool {
        self.conn.config.loss.window_reduction == WindowReduction::RateHalving
    }

    /// The retransmission timer expired (tcp_enter_frto); the head is sent again by the caller.
    pub(super) fn watch_timeout(&mut self, repeated: bool) {
        let state = self.fly.recovery.state();
        let watched = self.fly.frto.watch.is_some();
        let cuts = !watched && matches!(state, CaState::Open | CaState::Disorder)
            || self.seq.una == self.fly.rack.high
            || (watched || state == CaState::Loss) && !repeated;
        let window = self.fly.cc.cwnd().floor();
        let prior =
            if cuts { Some((self.fly.cc.cwnd(), self.fly.cc.ssthresh())) } else { self.fly.undo.prior };
        if cuts {
            // The window of a timeout while another one is being checked is too large: ssthresh is
            // that of two segments.
            let flight = if watched { 2.0 } else { window };
            self.fly.cc.on_congestion(&Congestion { flight, ..self.congestion_now(false) });
        }
        let again = self.fly.flight.front().is_some_and(|head| head.transmissions > 1);
        self.fly.rack.clear_resent_head();
        self.fly.undo.begin(self.fly.rack.resent, self.seq.una, prior);
        if self.fly.rack.resent == 0 {
            self.fly.undo.first_resent = None;
        }
        if again {
            self.fly.undo.una = None;
        }
        self.fly.cc.set_cwnd(window.min(f64::from(self.fly.rack.in_flight()) + 1.0));
        let recovering = watched || matches!(state, CaState::Recovery | CaState::Loss);
        let high =
            if recovering && self.fly.rack.high > self.seq.una { self.fly.rack.high } else { self.seq.max };
        self.fly.frto.watch = Some(Watch { moved: false, high });
        self.fly.rack.high = self.seq.max;
        self.fly.tlp.outstanding = None;
        self.conn.timers.stop_for_loss();
        self.fly.recovery.set_state(CaState::Disorder);
    }

    /// An ACK while a timeout is being checked (tcp_process_frto). Returns true if the window does
    /// not grow with it and nothing is marked lost.
    pub(super) fn judge_timeout(&mut self, a: Ack<'_>, d: &AckDigest) -> bool {
        let Some(watch) = self.fly.frto.watch else { return false };
        let in_flight = f64::from(self.fly.rack.in_flight());
        if watch.moved && d.resent_acked {
            self.fly.undo.una = None;
        }
        if self.seq.una >= watch.high {
            self.take_all_for_lost(watch, if watch.moved { 3.0 } else { 2.0 });
            return true;
        }
        if !watch.moved {
            if !d.una_moved {
                // A duplicate: nothing new leaves.
                self.fly.cc.set_cwnd(self.fly.cc.cwnd().floor().min(in_flight));
                return true;
            }
            self.fly.cc.set_cwnd(in_flight + 2.0);
            self.fly.frto.watch = Some(Watch { moved: true, ..watch });
            if !self.seq.may_send_more() {
                self.take_all_for_lost(watch, 2.0);
            }
            return true;
        }
        let forward = d.una_moved || d.news;
        if !forward && (a.seg.len > 0 || d.window_moved) {
            return true;
        }
        if !forward || d.news && (d.beyond || !d.original) {
            self.take_all_for_lost(watch, 3.0);
            return true;
        }
        // Spurious (tcp_ratehalving_spur_to_response): ssthresh is lower since the timeout, the
        // window follows.
        self.fly.frto.watch = None;
        self.fly.undo.una = None;
        self.conn.meters.counters.spurious_timeouts += 1;
        self.conn.meters.emit(Event::SpuriousRto);
        self.fly.cc.set_cwnd(self.fly.cc.cwnd().floor().min(in_flight + 1.0));
        self.fly.rack.high = self.seq.max;
        self.fly.reduction.halving = false;
        self.fly.recovery.set_state(CaState::Cwr);
        false
    }

    /// The timeout was not spurious (tcp_enter_frto_loss): all that is not SACKed is lost, and this
    /// number of segments leaves.
    pub(super) fn take_all_for_lost(&mut self, watch: Watch, segments: f64) {
        self.fly.frto.watch = None;
        if self.fly.flight.front().is_some_and(|head| head.transmissions > 1) {
            self.fly.undo.una = None;
        }
        self.fly.rack.lose_everything(false);
        // ssthresh has been lowered; the algorithm resets what it resets at a timeout.
        let congestion = Congestion { loss: self.take_loss(), ..self.congestion_now(true) };
        self.fly.cc.on_timeout(&congestion);
        self.fly.cc.set_cwnd(f64::from(self.fly.rack.in_flight()) + segments);
        self.fly.rack.high = watch.high;
        self.fly.frto.looking = false;
        self.fly.recovery.set_state(CaState::Loss);
    }

    /// F-RTO (RFC 5682 section 3.1, the SACK-enhanced version as Linux has it), then the end of the
    /// Loss state.
    pub(super) fn after_timeout(&mut self, d: &AckDigest, late: bool) {
        let undoable = self.fly.undo.una.is_some();
        if d.una_moved && undoable && (late || self.fly.undo.is_superfluous()) {
            self.undo();
            return;
        }
        let recovered = self.seq.una >= self.fly.rack.high;
        if self.fly.frto.looking {
            if d.original {
                // Step 3b: segments sent before the timeout arrive after it (tcp_try_undo_loss,
                // with or without an undo_marker).
                self.undo();
                return;
            }
            if self.seq.max > self.fly.rack.high {
                self.fly.frto.looking &= !d.news;
            } else if d.una_moved && !recovered {
                // Step 2b: new data decides, if there is any.
                self.fly.rack.high = self.seq.max;
                let more = self.seq.may_send_more();
                self.fly.frto.prefer_new = more;
                self.fly.frto.looking = more;
            }
        }
        if recovered {
            self.finish_recovery();
        }
    }
}

//! F-RTO: was a timeout for nothing?
//!
//! Linux 6.1 follows RFC 5682 section 3.1 in its SACK-enhanced version; nothing but the state tells
//! that it looks. Linux from 2.6.22 to 3.9 (`net.ipv4.tcp_frto` 2, `tcp_frto_response` 0; RFC 5682
//! section 3.1 and RFC 4138 appendix B): a timeout marks nothing lost before two ACKs have shown
//! whether it was spurious.
//!
//! The timeout lowers ssthresh and sends the head again; the window stays what is in flight and
//! one. The first ACK that moves SND.UNA lets two new segments out. If the second one delivers
//! nothing but originals, the timeout was spurious: the window comes down to ssthresh by rate
//! halving, nothing is undone. Otherwise everything is lost, and a window of two or three segments
//! goes on.

use lasthop_units::Instant;

use super::super::connection::Connection;
use super::super::meters::Event;
use super::ack::Ack;
use super::in_flight::InFlight;
use super::sequence::SendSequence;
use crate::cc::{Congestion, CongestionControl};
use crate::config::WindowReduction;
use crate::recovery::{AckDigest, CaState};

/// What is remembered of a timeout while it is judged.
#[derive(Clone, Copy, Debug, Default)]
pub struct Frto {
    /// RFC 5682 looks at a timeout.
    pub looking: bool,
    /// Its step 2b: new data before retransmissions.
    pub prefer_new: bool,
    /// The timeout that the older kernels judge.
    pub watch: Option<Watch>,
}

/// A timeout that the F-RTO of older kernels judges (frto_counter, frto_highmark).
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    /// An ACK has moved SND.UNA already.
    pub moved: bool,
    /// SND.NXT when the timer expired: what lies below are originals.
    pub high: u64,
}

impl InFlight {
    /// True if timeouts are judged this way: the stacks that halve the rate.
    pub fn watches_timeouts(&self, c: &Connection) -> bool {
        c.config.loss.window_reduction == WindowReduction::RateHalving
    }

    /// The retransmission timer expired (tcp_enter_frto); the head is sent again by the caller.
    pub fn watch_timeout(&mut self, c: &mut Connection, seq: &SendSequence, now: Instant, repeated: bool) {
        let state = self.recovery.state();
        let watched = self.frto.watch.is_some();
        let cuts = !watched && matches!(state, CaState::Open | CaState::Disorder)
            || seq.una == self.rack.high
            || (watched || state == CaState::Loss) && !repeated;
        let window = self.cc.cwnd().floor();
        let prior = if cuts { (self.cc.cwnd(), self.cc.ssthresh()) } else { self.undo.prior };
        if cuts {
            // The window of a timeout within a timeout that is judged still is too large: ssthresh
            // is that of two segments.
            let flight = if watched { 2.0 } else { window };
            self.cc.on_congestion(&Congestion { flight, ..self.congestion_now(now, false) });
        }
        let again = self.flight.front().is_some_and(|head| head.transmissions > 1);
        self.rack.forget_resent_head();
        self.undo.begin(self.rack.resent, seq.una, prior);
        if again {
            self.undo.una = None;
        }
        self.cc.set_cwnd(window.min(f64::from(self.rack.in_flight()) + 1.0));
        let recovering = watched || matches!(state, CaState::Recovery | CaState::Loss);
        let high = if recovering && self.rack.high > seq.una { self.rack.high } else { seq.max };
        self.frto.watch = Some(Watch { moved: false, high });
        self.rack.high = seq.max;
        self.tlp.outstanding = None;
        c.timers.stop_for_loss();
        self.recovery.set_state(CaState::Disorder);
    }

    /// An ACK while a timeout is judged (tcp_process_frto). True: the window does not grow with it,
    /// and nothing is taken for lost.
    pub fn judge_timeout(
        &mut self,
        c: &mut Connection,
        seq: &SendSequence,
        a: Ack<'_>,
        d: &AckDigest,
    ) -> bool {
        let now = a.now;
        let Some(watch) = self.frto.watch else { return false };
        let in_flight = f64::from(self.rack.in_flight());
        if watch.moved && d.resent_acked {
            self.undo.una = None;
        }
        if seq.una >= watch.high {
            self.take_all_for_lost(now, watch, if watch.moved { 3.0 } else { 2.0 });
            return true;
        }
        if !watch.moved {
            if !d.una_moved {
                // A duplicate: nothing new leaves.
                self.cc.set_cwnd(self.cc.cwnd().floor().min(in_flight));
                return true;
            }
            self.cc.set_cwnd(in_flight + 2.0);
            self.frto.watch = Some(Watch { moved: true, ..watch });
            if !seq.may_send_more() {
                self.take_all_for_lost(now, watch, 2.0);
            }
            return true;
        }
        let forward = d.una_moved || d.news;
        if !forward && (a.seg.len > 0 || d.window_moved) {
            return true;
        }
        if !forward || d.news && (d.beyond || !d.original) {
            self.take_all_for_lost(now, watch, 3.0);
            return true;
        }
        // Spurious (tcp_ratehalving_spur_to_response): ssthresh is lower since the timeout, the
        // window follows.
        self.frto.watch = None;
        self.undo.una = None;
        c.meters.counters.spurious_timeouts += 1;
        c.meters.emit(Event::SpuriousRto);
        self.cc.set_cwnd(self.cc.cwnd().floor().min(in_flight + 1.0));
        self.rack.high = seq.max;
        self.reduction.halving = false;
        self.recovery.set_state(CaState::Cwr);
        false
    }

    /// The timeout was none for nothing (tcp_enter_frto_loss): what is not SACKed is lost, and so
    /// many segments leave.
    pub fn take_all_for_lost(&mut self, now: Instant, watch: Watch, segments: f64) {
        self.frto.watch = None;
        if self.flight.front().is_some_and(|head| head.transmissions > 1) {
            self.undo.una = None;
        }
        self.rack.lose_everything(false);
        // ssthresh has been lowered; the algorithm resets what it resets at a timeout.
        self.cc.on_timeout(&self.congestion_now(now, true));
        self.cc.set_cwnd(f64::from(self.rack.in_flight()) + segments);
        self.rack.high = watch.high;
        self.frto.looking = false;
        self.recovery.set_state(CaState::Loss);
    }

    /// F-RTO (RFC 5682 section 3.1, the SACK-enhanced version as Linux has it), then the end of the
    /// Loss state.
    pub fn after_timeout(
        &mut self,
        c: &mut Connection,
        seq: &SendSequence,
        now: Instant,
        d: &AckDigest,
        late: bool,
    ) {
        let undoable = self.undo.una.is_some();
        if d.una_moved && undoable && (late || self.undo.is_superfluous()) {
            self.undo(c, now);
            return;
        }
        let recovered = seq.una >= self.rack.high;
        if self.frto.looking {
            if d.original && undoable {
                // Step 3b: what was sent before the timeout arrives after it.
                self.undo(c, now);
                return;
            }
            if seq.max > self.rack.high {
                self.frto.looking &= !d.news;
            } else if d.una_moved && !recovered {
                // Step 2b: new data decides, if there is any.
                self.rack.high = seq.max;
                let more = seq.may_send_more();
                self.frto.prefer_new = more;
                self.frto.looking = more;
            }
        }
        if recovered {
            self.close_recovery(c);
        }
    }
}

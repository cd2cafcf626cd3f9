//! Recovery and the other reductions: how they begin, reduce the window, end, and are undone.

use lasthop_units::Instant;

use super::super::detector::LossRecovery;
use super::super::prr::Prr;
use crate::cc::{Congestion, CongestionControl, LossSample, Signal};
use crate::config::WindowReduction;
use crate::endpoint::meters::Event;
use crate::endpoint::timers::Timer;
use crate::recovery::{AckDigest, CaState};

impl LossRecovery<'_> {
    /// tcp_in_cwnd_reduction: the window is being reduced to ssthresh.
    pub(super) fn is_reducing(&self) -> bool {
        matches!(self.fly.recovery.state(), CaState::Recovery | CaState::Cwr)
    }

    pub(super) fn congestion_now(&self, repeated: bool) -> Congestion {
        let flight = self.fly.cc.cwnd().floor();
        Congestion { now: self.now, signal: Signal::Loss, flight, repeated, loss: None }
    }

    /// The losses that no sample has reported yet, in octets.
    pub(super) fn take_loss(&mut self) -> Option<LossSample> {
        let mss = u64::from(self.conn.negotiated.mss);
        let loss = self.fly.rack.loss.take();
        loss.map(|l| LossSample { sent_in_flight: l.sent_in_flight * mss, lost: l.lost * mss })
    }

    /// A reduction without a loss (tcp_enter_cwr): PRR reduces the window, and it cannot be undone.
    pub(super) fn enter_cwr(&mut self, signal: Signal) {
        self.fly.undo.prior = None;
        if self.is_reducing() || self.fly.recovery.state() == CaState::Loss {
            return;
        }
        self.fly.undo.una = None;
        self.fly.rack.high = self.seq.max;
        self.fly.tlp.outstanding = None;
        let window = self.fly.cc.cwnd().floor();
        self.fly.cc.on_congestion(&Congestion { signal, ..self.congestion_now(false) });
        self.conn.ecn.reduced();
        self.fly.reduction.prr = Prr::begin(window);
        self.fly.cc.set_cwnd(window);
        self.fly.recovery.set_state(CaState::Cwr);
    }

    /// Losses that an ACK has revealed may begin a recovery: not within one; after a timeout only
    /// if a retransmission is lost again (tcp_fastretrans_alert, TCP_CA_Loss), which the older
    /// kernels ignore.
    pub(super) fn may_enter_recovery(&self, lost_again: bool) -> bool {
        match self.fly.recovery.state() {
            CaState::Open | CaState::Disorder | CaState::Cwr => true,
            CaState::Recovery => false,
            CaState::Loss => {
                lost_again && self.conn.config.loss.window_reduction != WindowReduction::RateHalving
            }
        }
    }

    pub(super) fn enter_recovery(&mut self) {
        let window = self.fly.cc.cwnd();
        // tcp_enter_recovery: a reduction that marks have caused is required.
        let marked = self.fly.recovery.state() == CaState::Cwr || self.conn.ecn.signals_congestion();
        let prior = (!marked).then(|| (window, self.fly.cc.ssthresh()));
        self.fly.undo.begin(self.fly.rack.resent, self.seq.una, prior);
        if !self.undoes_in_parts() && self.fly.rack.resent == 0 {
            self.fly.undo.first_resent = None;
        }
        self.fly.rack.high = self.seq.max;
        self.fly.tlp.outstanding = None;
        // REXMIT_LOST takes the place of REXMIT_NEW.
        self.fly.frto.prefer_new = false;
        // A loss within a reduction does not cause a second one.
        let answers = self.fly.cc.answers_loss_in_cwr();
        let in_cwr = self.fly.recovery.state() == CaState::Cwr;
        if in_cwr && answers && !self.fly.cc.rules_recovery() {
            // tcp_enter_recovery: PRR goes on with its counts towards a lower threshold.
            self.fly.cc.on_congestion(&self.congestion_now(false));
            self.fly.cc.set_cwnd(window);
        } else if !in_cwr || answers {
            self.fly.cc.on_congestion(&self.congestion_now(false));
            self.fly.reduction.prr = Prr::begin(window.floor());
            self.fly.reduction.halving = false;
            if self.conn.config.loss.window_reduction == WindowReduction::RateHalving
                && !self.fly.cc.rules_recovery()
            {
                self.fly.cc.set_cwnd(window.floor());
            }
        }
        self.conn.ecn.reduced();
        self.fly.recovery.set_state(CaState::Recovery);
        self.conn.meters.counters.fast_retransmits += 1;
        self.conn.meters.emit(Event::RecoveryEntered);
    }

    pub(super) fn end_recovery(&mut self, late: bool) {
        if self.fly.undo.una.is_some() && (late || self.fly.undo.is_superfluous()) {
            self.undo();
            return;
        }
        let reduces = self.fly.undo.una.is_some() || self.fly.recovery.state() == CaState::Cwr;
        if !self.fly.cc.rules_recovery() && reduces {
            let to = match self.conn.config.loss.window_reduction {
                WindowReduction::Prr => self.fly.cc.ssthresh(),
                // tcp_complete_cwr.
                WindowReduction::RateHalving => self.fly.cc.ssthresh().min(self.fly.cc.cwnd()),
            };
            self.fly.cc.set_cwnd(to);
            self.fly.cc.on_recovered(self.now);
        }
        self.finish_recovery();
    }

    /// A reduction has come to its end (tcp_try_undo_recovery, where nothing is undone).
    pub(super) fn finish_recovery(&mut self) {
        if self.fly.recovery.state() != CaState::Cwr {
            self.fly.rack.note_recovered();
        }
        if !self.undoes_in_parts() {
            self.fly.undo.una = None;
        }
        self.close_recovery();
    }

    fn close_recovery(&mut self) {
        if !self.undoes_in_parts() {
            self.fly.undo.first_resent = None;
        }
        if matches!(self.fly.recovery.state(), CaState::Recovery | CaState::Loss) {
            self.conn.meters.emit(Event::RecoveryExited);
        }
        self.fly.recovery.set_state(CaState::Open);
    }

    /// All retransmissions of a recovery were superfluous.
    pub(super) fn undo_by_dsack(&mut self) {
        self.fly.rack.note_undone_by_dsack();
        self.undo();
    }

    /// The newer kernels, which undo a reduction also before all of its segments have arrived, and
    /// after its end.
    pub(super) fn undoes_in_parts(&self) -> bool {
        self.conn.config.loss.window_reduction != WindowReduction::RateHalving
    }

    /// SND.UNA moves in recovery to what was delayed, not lost (tcp_try_undo_partial). Undoes the
    /// reduction unless retransmissions are in flight; then returns true.
    pub(super) fn undo_partial(&mut self, d: &AckDigest) -> bool {
        let (low, high) = (self.seq.una - d.passed, self.fly.recovery.board().highest());
        self.fly.rack.note_reordering(low, high, self.conn.negotiated.mss);
        if self.fly.rack.resent > 0 {
            self.fly.frto.prefer_new = true;
            // The retransmission timer takes the place of the reordering timer.
            self.conn.timers.stop(Timer::Reordering);
            return true;
        }
        self.forget_first_resent();
        self.fly.rack.unlose();
        self.undo();
        false
    }

    /// Without a retransmission among what is outstanding, the time of the first one
    /// (retrans_stamp) is of no use any more (tcp_any_retrans_done). It outlives the end of a
    /// recovery: where the next one begins at once, retransmissions of the first are in flight,
    /// and older than its own.
    pub(super) fn forget_first_resent(&mut self) {
        let again = self.fly.flight.front().is_some_and(|head| head.transmissions > 1);
        if self.fly.rack.resent == 0 && !again {
            self.fly.undo.first_resent = None;
        }
    }

    /// A DSACK after the end of the reduction (tcp_try_undo_dsack in the states Open and Disorder).
    pub(super) fn undo_afterwards(&mut self, d: &AckDigest) {
        let undoable = self.fly.undo.una.is_some() && self.fly.undo.is_superfluous();
        let quiet = matches!(self.fly.recovery.state(), CaState::Open | CaState::Disorder);
        if d.duplicate && undoable && quiet && self.undoes_in_parts() {
            self.undo_by_dsack();
        }
    }

    /// The reduction was spurious: restores the values before it, if there are any
    /// (tcp_undo_cwnd_reduction).
    pub(super) fn undo(&mut self) {
        let timeout = self.fly.recovery.state() == CaState::Loss;
        if timeout {
            self.fly.rack.unlose();
            self.conn.meters.counters.spurious_timeouts += 1;
            self.conn.meters.emit(Event::SpuriousRto);
        }
        let halves = self.conn.config.loss.window_reduction == WindowReduction::RateHalving;
        if let Some((cwnd, ssthresh)) = self.fly.undo.prior {
            self.conn.meters.counters.undone += 1;
            self.conn.meters.counters.undone_timeouts += u64::from(timeout);
            self.fly.cc.on_undo(cwnd, ssthresh);
        } else if halves {
            // tcp_undo_cwr of the older kernels.
            self.fly.cc.set_cwnd(self.fly.cc.cwnd().floor().max(self.fly.cc.ssthresh()));
        }
        if halves {
            // tcp_moderate_cwnd: no burst of more than tcp_max_burst.
            let burst = f64::from(self.fly.rack.reordering.max(self.conn.config.loss.dup_threshold));
            self.fly
                .cc
                .set_cwnd(self.fly.cc.cwnd().floor().min(f64::from(self.fly.rack.in_flight()) + burst));
        }
        if self.undoes_in_parts() {
            self.fly.rack.look_again();
        }
        self.fly.undo.una = None;
        self.close_recovery();
    }

    /// The retransmission timer expired: tcp_enter_loss.
    pub(super) fn enter_loss_by_rack(&mut self, repeated: bool) {
        let state = self.fly.recovery.state();
        let fresh = !matches!(state, CaState::Recovery | CaState::Loss) || self.seq.una >= self.fly.rack.high;
        let reneged = self.fly.rack.marks.front().is_some_and(|m| m.sacked);
        let cut = self.seq.una >= self.fly.rack.high
            || matches!(state, CaState::Open | CaState::Disorder)
            || (state == CaState::Loss && !repeated);
        let prior = (self.fly.cc.cwnd(), self.fly.cc.ssthresh());
        if !reneged {
            let flight = &self.fly.flight;
            self.fly.rack.lose_waited(self.now, |i| flight.get(i).map_or(Instant::ZERO, |s| s.at));
        } else {
            self.fly.rack.lose_everything(true);
            let (una, max) = (self.seq.una, self.seq.max);
            self.fly.recovery.board_mut().on_timeout(max, true);
            self.fly.recovery.board_mut().advance(una);
        }
        // Without a cut of its own the timeout belongs to the reduction before it, which after a
        // mark is none that can be undone (tcp_enter_loss).
        if cut {
            self.fly.undo.begin(self.fly.rack.resent, self.seq.una, Some(prior));
        }
        let congestion = Congestion { loss: self.take_loss(), ..self.congestion_now(!cut) };
        self.fly.cc.on_timeout(&congestion);
        // The controls set a window of one segment; the segments that are not lost come on top, for
        // BBR too (tcp_enter_loss).
        let in_flight = self.fly.rack.in_flight();
        if in_flight > 0 {
            self.fly.cc.set_cwnd(f64::from(in_flight) + 1.0);
        }
        self.fly.frto.looking = fresh || repeated;
        self.fly.frto.prefer_new = false;
        self.fly.rack.high = self.seq.max;
        self.fly.tlp.outstanding = None;
        self.conn.timers.stop_for_loss();
        self.fly.recovery.set_state(CaState::Loss);
    }

    /// PRR, while the window comes down.
    pub(super) fn reduce(&mut self, d: &AckDigest) {
        if !self.is_reducing() || self.fly.cc.rules_recovery() || d.segments == 0 {
            return;
        }
        if self.conn.config.loss.window_reduction == WindowReduction::RateHalving {
            self.halve_rate();
            return;
        }
        let safe = d.una_moved && self.fly.rack.total_lost == d.lost_before;
        let in_flight = f64::from(self.fly.rack.in_flight());
        let window =
            self.fly.reduction.prr.window(f64::from(d.segments), in_flight, self.fly.cc.ssthresh(), safe);
        self.fly.cc.set_cwnd(window);
    }

    /// One segment less for every second ACK, and no more than one segment beyond the flight
    /// (tcp_cwnd_down).
    pub(super) fn halve_rate(&mut self) {
        self.fly.reduction.halving ^= true;
        let mut window = self.fly.cc.cwnd().floor();
        if !self.fly.reduction.halving && window > self.fly.cc.ssthresh() {
            window -= 1.0;
        }
        self.fly.cc.set_cwnd(window.min(f64::from(self.fly.rack.in_flight()) + 1.0));
    }
}

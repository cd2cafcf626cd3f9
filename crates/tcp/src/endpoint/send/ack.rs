//! The fifth check: the ACK field (RFC 9293 section 3.10.7.4), and what it means to the sender.

use lasthop_units::Instant;

use super::super::connection::Connection;
use super::super::meters::{CloseReason, Event};
use super::super::rtt::echoed_time;
use super::super::timers::Timer;
use super::Sender;
use super::in_flight::InFlight;
use super::sequence::SendSequence;
use crate::cc::{AckSample, CongestionControl, Signal};
use crate::config::RttSampling;
use crate::recovery::{CaState, Outcome};
use crate::segment::{Flags, Segment};
use crate::state::{Input, State};

/// The scoreboard before an ACK.
#[derive(Clone, Copy)]
struct Before {
    sacked: u64,
    lost: u64,
}

impl Sender {
    /// An acceptable ACK in a synchronized state. `ack` is its offset, not above SND.MAX.
    pub fn take_ack(&mut self, c: &mut Connection, now: Instant, seg: &Segment, start: i64, ack: i64) {
        if self.fly.recovery.is_rack() {
            self.take_ack_by_rack(c, now, seg, start, ack);
            return;
        }
        if self.has_nothing_to_send(c) && ack == self.seq.una as i64 && !c.ecn.is_told_of_congestion() {
            self.seq.take_window(seg, c.negotiated.snd_scale, start, self.seq.una);
            return;
        }
        let wnd_before = self.seq.wnd;
        let una_before = self.seq.una;
        let board = self.fly.recovery.board();
        let before =
            Before { sacked: board.sacked(), lost: if board.sacked() > 0 { board.lost() } else { 0 } };
        let news = if self.fly.recovery.is_sack() && !seg.sack.is_empty() {
            self.fly.take_sack(c, &self.seq, seg)
        } else {
            0
        };
        self.seq.take_window(seg, c.negotiated.snd_scale, start, ack.max(0) as u64);
        if ack > una_before as i64 {
            self.take_new_ack(c, now, seg, ack as u64, before);
        } else if self.fly.is_duplicate(&self.seq, seg, ack, wnd_before, news) {
            c.meters.counters.dup_acks_received += 1;
            let (recovery, mut view) = self.fly.recovery_and_view(c, &self.seq, now);
            let outcome = recovery.on_dup_ack(&mut view);
            self.fly.tell_of_duplicate(c, &self.seq, now, news, before, outcome);
            self.follow(c, now, outcome);
        }
        self.fly.respond_to_marks(c, &self.seq, now);
        if wnd_before == 0 && self.seq.wnd > 0 && self.seq.is_outstanding() {
            // What was sent as a probe was refused, so the oldest goes first.
            self.fly.recovery.set_wants_head(true);
        }
        self.update_timers(c, now);
    }

    /// Nothing outstanding, nothing waiting, no timer running: the receiver's side of a transfer,
    /// where an ACK field that says nothing new can only move the window (Van Jacobson's header
    /// prediction).
    #[inline]
    fn has_nothing_to_send(&self, c: &Connection) -> bool {
        !self.seq.is_outstanding()
            && self.seq.nxt == self.seq.end()
            && !c.timers.runs(Timer::Retransmission)
            && !c.timers.runs(Timer::Persist)
    }

    fn take_new_ack(&mut self, c: &mut Connection, now: Instant, seg: &Segment, ack: u64, before: Before) {
        let flight_before = self.seq.flight_size();
        let acked = ack - self.seq.una;
        let dup_acks = self.fly.recovery.dup_acks();
        let state_before = self.fly.recovery.state();
        // The window was full: there was no room for one segment more.
        let cwnd_limited = state_before == CaState::Loss
            || flight_before + u64::from(c.negotiated.mss) > self.fly.window_octets(c, 0.0);
        self.seq.advance(ack);
        let popped = self.fly.flight.advance(ack);
        c.meters.counters.octets_acked += acked;
        c.rtt.detect_spurious_timeout(&mut c.meters, c.negotiated.timestamps, now, seg, self.seq.una);
        self.unanswered.timeouts = 0;

        let expected = SendSequence::samples_per_round(flight_before, c.negotiated.mss);
        match c.config.rtt_sampling {
            RttSampling::OneSegment => c.rtt.take_timed_segment(now, self.seq.una),
            RttSampling::EveryAck => {
                if let Some(sent) = popped.oldest_sent {
                    c.rtt.sample(&mut c.meters, now, sent, expected);
                } else if let Some(sent) = echoed_time(c.negotiated.timestamps, now, seg) {
                    c.rtt.sample(&mut c.meters, now, sent, expected);
                }
            }
        }
        let rtt = popped.newest_sent.map(|sent| now.since(sent));
        if c.config.rtt_sampling == RttSampling::OneSegment
            && let Some(rtt) = rtt
        {
            c.rtt.note(&mut c.meters, rtt);
        }

        let (recovery, mut view) = self.fly.recovery_and_view(c, &self.seq, now);
        let outcome = recovery.on_new_ack(&mut view, acked);
        let delivered = self.fly.newly_delivered(c, acked, before.sacked);
        let sample = AckSample {
            acked,
            nxt: self.seq.nxt,
            flight_before,
            rtt,
            dup_acks,
            cwnd_limited,
            may_grow: outcome.may_grow,
            passed: acked,
            delivered_since_sent: flight_before,
            before: state_before,
            ..self.fly.sample(c, &self.seq, now, delivered, before, outcome)
        };
        self.fly.cc.on_ack(&sample);
        self.follow(c, now, outcome);
        if let Some(oldest) = self.fly.flight.front().copied()
            && self.fly.cc.oldest_is_overdue(now, oldest.at)
        {
            self.fly.recovery.set_wants_head(true);
        }
        self.fly.restart_timer_after_ack(c, &self.seq, now, outcome);
        if self.seq.is_finished() {
            self.fin_was_acked(c, now);
        }
    }

    pub fn fin_was_acked(&mut self, c: &mut Connection, now: Instant) {
        c.step(Input::AckOfFin);
        match c.state {
            State::TimeWait => c.enter_time_wait(now),
            State::Closed => c.meters.emit(Event::Closed(CloseReason::Finished)),
            _ => {}
        }
    }

    pub fn follow(&mut self, c: &mut Connection, now: Instant, outcome: Outcome) {
        if outcome.entered {
            c.meters.counters.fast_retransmits += 1;
            c.ecn.reduced();
            c.rtt.timed = None;
            c.meters.emit(Event::RecoveryEntered);
        }
        if outcome.exited {
            c.meters.emit(Event::RecoveryExited);
        }
        if outcome.go_back {
            self.seq.nxt = self.seq.una;
        }
        if outcome.restart_timer {
            self.fly.start_rto(c, now);
        }
    }
}

impl InFlight {
    /// RFC 5681 section 2, definition of a duplicate ACK; with SACK RFC 6675 section 2's: it brings
    /// SACK news. While the peer's window is closed, ACKs answer probes and are no sign of
    /// loss.
    fn is_duplicate(&self, seq: &SendSequence, seg: &Segment, ack: i64, wnd_before: u64, news: u64) -> bool {
        if ack != seq.una as i64 || !seq.is_outstanding() || seq.wnd == 0 {
            return false;
        }
        if self.recovery.is_sack() {
            return news > 0;
        }
        seg.len == 0 && !seg.flags.has(Flags::FIN) && seq.wnd == wnd_before
    }

    /// Update() of RFC 6675: octets that are newly SACKed. Blocks that make no sense are ignored.
    fn take_sack(&mut self, c: &mut Connection, seq: &SendSequence, seg: &Segment) -> u64 {
        let mut news = 0;
        for block in seg.sack.iter() {
            let (start, end) = (seq.offset_of(block.start), seq.offset_of(block.end));
            // Below SND.UNA: a D-SACK (RFC 2883) or an old block. Beyond SND.MAX: never sent.
            if start >= seq.una as i64 && start < end && end <= seq.max as i64 {
                news += self.recovery.board_mut().insert(start as u64, end as u64);
            }
        }
        c.meters.counters.sacked_octets += news;
        news
    }

    /// What a duplicate ACK delivered: the SACK news or, without SACK, one segment (RFC 5681
    /// section 3.2 step 4).
    #[cold]
    fn tell_of_duplicate(
        &mut self,
        c: &mut Connection,
        seq: &SendSequence,
        now: Instant,
        news: u64,
        before: Before,
        outcome: Outcome,
    ) {
        let delivered = if self.recovery.is_sack() {
            news
        } else {
            let room = seq.flight_size().saturating_sub(self.delivered_by_dups + u64::from(c.negotiated.mss));
            let one = u64::from(c.negotiated.mss).min(room);
            self.delivered_by_dups += one;
            one
        };
        let sample = AckSample {
            nxt: seq.nxt,
            flight_before: seq.flight_size(),
            dup_acks: self.recovery.dup_acks(),
            cwnd_limited: true,
            delivered_since_sent: seq.flight_size(),
            before: self.recovery.state(),
            ..self.sample(c, seq, now, delivered, before, outcome)
        };
        self.cc.on_ack(&sample);
    }

    /// What every sample holds. Takes the delivery into the account.
    #[inline(always)]
    fn sample(
        &mut self,
        c: &mut Connection,
        seq: &SendSequence,
        now: Instant,
        delivered: u64,
        before: Before,
        outcome: Outcome,
    ) -> AckSample {
        self.delivered += delivered;
        let marked = c.ecn.settle(&c.negotiated, &mut c.meters.counters, self.recovery.state(), delivered);
        let board = self.recovery.board();
        let (in_flight, lost) = if !self.recovery.is_sack() {
            let out = seq.flight_size().saturating_sub(self.delivered_by_dups);
            (out, if outcome.entered { u64::from(c.negotiated.mss) } else { 0 })
        } else if board.sacked() == 0 && self.recovery.state() == CaState::Open {
            (seq.flight_size(), 0)
        } else {
            (board.pipe(seq.max), board.lost().saturating_sub(before.lost))
        };
        AckSample {
            now,
            una: seq.una,
            delivered,
            total_delivered: self.delivered,
            marked,
            lost,
            in_flight,
            sacked: self.recovery.board().sacked() > 0,
            peer_window: seq.wnd,
            mss: c.negotiated.mss,
            srtt: c.rtt.rto.srtt(),
            state: self.recovery.state(),
            ..AckSample::default()
        }
    }

    /// Octets that this ACK of new data is the first to tell of.
    #[inline]
    fn newly_delivered(&mut self, c: &mut Connection, acked: u64, sacked_before: u64) -> u64 {
        if self.recovery.is_sack() {
            // What was SACKed and is now below SND.UNA has been counted.
            return (acked + self.recovery.board().sacked()).saturating_sub(sacked_before);
        }
        let counted = self.delivered_by_dups.min(acked.saturating_sub(u64::from(c.negotiated.mss)));
        self.delivered_by_dups =
            if self.recovery.state() == CaState::Open { 0 } else { self.delivered_by_dups - counted };
        acked - counted
    }

    fn restart_timer_after_ack(
        &mut self,
        c: &mut Connection,
        seq: &SendSequence,
        now: Instant,
        outcome: Outcome,
    ) {
        // RFC 6298 (5.2) and (5.3).
        if !seq.is_outstanding() {
            c.timers.stop(Timer::Retransmission);
        } else if !outcome.keep_timer {
            self.start_rto(c, now);
        }
    }

    pub fn start_rto(&mut self, c: &mut Connection, now: Instant) {
        c.timers.start(Timer::Retransmission, now, c.rtt.timeout(&c.config, &self.cc));
        c.timers.stop(Timer::Persist);
    }

    /// The flavours without RACK: the response of RFC 3168 section 6.1.2, once per window of data.
    #[inline]
    fn respond_to_marks(&mut self, c: &mut Connection, seq: &SendSequence, now: Instant) {
        if !c.ecn.is_told_of_congestion()
            || c.ecn.shows_cwr(seq.una)
            || matches!(self.recovery.state(), CaState::Recovery | CaState::Loss)
        {
            return;
        }
        self.cut_for_marks(c, seq, now);
    }

    #[cold]
    fn cut_for_marks(&mut self, c: &mut Connection, seq: &SendSequence, now: Instant) {
        let (_, view) = self.recovery_and_view(c, seq, now);
        let congestion = view.marked();
        debug_assert_eq!(congestion.signal, Signal::Ecn);
        self.cc.on_congestion(&congestion);
        c.ecn.reduced_until = Some(seq.max);
        c.note_mark_reduction();
    }
}

//! The fifth check: the ACK field (RFC 9293 section 3.10.7.4), and what it means to the sender.

use lasthop_units::{Duration, Instant};

use super::{Endpoint, Event};
use crate::cc::{AckSample, CongestionControl};
use crate::config::{RttSampling, VegasRto};
use crate::recovery::{CaState, Outcome};
pub(super) use crate::sample::timestamp;
use crate::segment::{Flags, Segment};
use crate::state::{Input, State};

/// The scoreboard before an ACK.
#[derive(Clone, Copy)]
struct Before {
    sacked: u64,
    lost: u64,
}

impl Endpoint {
    /// An acceptable ACK in a synchronized state. `ack` is its offset, not above SND.MAX.
    pub(super) fn take_ack(&mut self, now: Instant, seg: &Segment, start: i64, ack: i64) {
        self.ecn_on_ack(seg);
        if self.recovery.is_rack() {
            self.take_ack_by_rack(now, seg, start, ack);
            return;
        }
        if self.has_nothing_to_send() && ack == self.una as i64 && !self.is_told_of_congestion() {
            self.take_window(seg, start, self.una);
            return;
        }
        let wnd_before = self.wnd;
        let una_before = self.una;
        let board = self.recovery.board();
        let before =
            Before { sacked: board.sacked(), lost: if board.sacked() > 0 { board.lost() } else { 0 } };
        let news = if self.recovery.is_sack() && !seg.sack.is_empty() { self.take_sack(seg) } else { 0 };
        self.take_window(seg, start, ack.max(0) as u64);
        if ack > una_before as i64 {
            self.take_new_ack(now, seg, ack as u64, before);
        } else if self.is_duplicate(seg, ack, wnd_before, news) {
            self.counters.dup_acks_received += 1;
            let (recovery, mut sender) = self.recovery_and_sender(now);
            let outcome = recovery.on_dup_ack(&mut sender);
            self.tell_of_duplicate(now, news, before, outcome);
            self.follow(now, outcome);
        }
        self.respond_to_marks(now);
        if wnd_before == 0 && self.wnd > 0 {
            self.window_opened();
        }
        self.update_timers(now);
    }

    /// Nothing outstanding, nothing waiting, no timer running: the receiver's side of a transfer,
    /// where an ACK field that says nothing new can only move the window (Van Jacobson's header
    /// prediction).
    #[inline]
    fn has_nothing_to_send(&self) -> bool {
        self.una == self.max
            && self.nxt == self.stream_end()
            && self.rto_at == Instant::MAX
            && self.persist_at == Instant::MAX
    }

    /// RFC 5681 section 2, definition of a duplicate ACK; with SACK RFC 6675 section 2's: it brings
    /// SACK news. While the peer's window is closed, ACKs answer probes and are no sign of
    /// loss.
    fn is_duplicate(&self, seg: &Segment, ack: i64, wnd_before: u64, news: u64) -> bool {
        if ack != self.una as i64 || self.una == self.max || self.wnd == 0 {
            return false;
        }
        if self.recovery.is_sack() {
            return news > 0;
        }
        seg.len == 0 && !seg.flags.has(Flags::FIN) && self.wnd == wnd_before
    }

    /// Update() of RFC 6675: octets that are newly SACKed. Blocks that make no sense are ignored.
    fn take_sack(&mut self, seg: &Segment) -> u64 {
        let mut news = 0;
        for block in seg.sack.iter() {
            let (start, end) = (self.offset_of(block.start), self.offset_of(block.end));
            // Below SND.UNA: a D-SACK (RFC 2883) or an old block. Beyond SND.MAX: never sent.
            if start >= self.una as i64 && start < end && end <= self.max as i64 {
                news += self.recovery.board_mut().insert(start as u64, end as u64);
            }
        }
        self.counters.sacked_octets += news;
        news
    }

    /// SND.WND from segments that are not older than the last that set it (RFC 9293 section
    /// 3.10.7.4).
    pub(super) fn take_window(&mut self, seg: &Segment, start: i64, ack: u64) {
        if self.wl1 < start || (self.wl1 == start && self.wl2 <= ack) {
            self.wnd = u64::from(seg.window) << self.snd_scale;
            self.max_wnd = self.max_wnd.max(self.wnd);
            self.wl1 = start;
            self.wl2 = ack;
        }
    }

    /// What a duplicate ACK delivered: the SACK news or, without SACK, one segment (RFC 5681
    /// section 3.2 step 4).
    #[cold]
    fn tell_of_duplicate(&mut self, now: Instant, news: u64, before: Before, outcome: Outcome) {
        let delivered = if self.recovery.is_sack() {
            news
        } else {
            let room = (self.max - self.una).saturating_sub(self.delivered_by_dups + u64::from(self.mss));
            let one = u64::from(self.mss).min(room);
            self.delivered_by_dups += one;
            one
        };
        let sample = AckSample {
            nxt: self.nxt,
            flight_before: self.max - self.una,
            dup_acks: self.recovery.dup_acks(),
            cwnd_limited: true,
            delivered_since_sent: self.max - self.una,
            before: self.recovery.state(),
            ..self.sample(now, delivered, before, outcome)
        };
        self.cc.on_ack(&sample);
    }

    /// What every sample holds. Takes the delivery into the account.
    #[inline(always)]
    fn sample(&mut self, now: Instant, delivered: u64, before: Before, outcome: Outcome) -> AckSample {
        self.delivered += delivered;
        let marked = self.settle_ecn(delivered);
        let board = self.recovery.board();
        let (in_flight, lost) = if !self.recovery.is_sack() {
            let out = (self.max - self.una).saturating_sub(self.delivered_by_dups);
            (out, if outcome.entered { u64::from(self.mss) } else { 0 })
        } else if board.sacked() == 0 && self.recovery.state() == CaState::Open {
            (self.max - self.una, 0)
        } else {
            (board.pipe(self.max), board.lost().saturating_sub(before.lost))
        };
        AckSample {
            now,
            una: self.una,
            delivered,
            total_delivered: self.delivered,
            marked,
            lost,
            in_flight,
            sacked: self.recovery.board().sacked() > 0,
            peer_window: self.wnd,
            mss: self.mss,
            srtt: self.rto.srtt(),
            state: self.recovery.state(),
            ..AckSample::default()
        }
    }

    /// Octets that this ACK of new data is the first to tell of.
    #[inline]
    fn newly_delivered(&mut self, acked: u64, sacked_before: u64) -> u64 {
        if self.recovery.is_sack() {
            // What was SACKed and is now below SND.UNA has been counted.
            return (acked + self.recovery.board().sacked()).saturating_sub(sacked_before);
        }
        let counted = self.delivered_by_dups.min(acked.saturating_sub(u64::from(self.mss)));
        self.delivered_by_dups =
            if self.recovery.state() == CaState::Open { 0 } else { self.delivered_by_dups - counted };
        acked - counted
    }

    fn take_new_ack(&mut self, now: Instant, seg: &Segment, ack: u64, before: Before) {
        let flight_before = self.max - self.una;
        let acked = ack - self.una;
        let dup_acks = self.recovery.dup_acks();
        let state_before = self.recovery.state();
        // The window was full: there was no room for one segment more.
        let cwnd_limited =
            state_before == CaState::Loss || flight_before + u64::from(self.mss) > self.window_octets(0.0);
        self.una = ack;
        // ns-2 and BSD: an ACK beyond SND.NXT pulls it up.
        self.nxt = self.nxt.max(ack);
        let popped = self.flight.advance(ack);
        self.counters.octets_acked += acked;
        self.detect_spurious_timeout(now, seg);
        self.timeouts_in_a_row = 0;

        let expected = self.samples_per_round(flight_before);
        match self.config.rtt_sampling {
            RttSampling::OneSegment => self.take_timed_segment(now),
            RttSampling::EveryAck => {
                if let Some(sent) = popped.oldest_sent {
                    self.take_rtt_sample(now, sent, expected);
                } else if let Some(sent) = self.echoed_time(now, seg) {
                    self.take_rtt_sample(now, sent, expected);
                }
            }
        }
        let rtt = popped.newest_sent.map(|sent| now.since(sent));
        if self.config.rtt_sampling == RttSampling::OneSegment
            && let Some(rtt) = rtt
        {
            self.note_rtt(rtt);
        }

        let (recovery, mut sender) = self.recovery_and_sender(now);
        let outcome = recovery.on_new_ack(&mut sender, acked);
        let delivered = self.newly_delivered(acked, before.sacked);
        let sample = AckSample {
            acked,
            nxt: self.nxt,
            flight_before,
            rtt,
            dup_acks,
            cwnd_limited,
            may_grow: outcome.may_grow,
            passed: acked,
            delivered_since_sent: flight_before,
            before: state_before,
            ..self.sample(now, delivered, before, outcome)
        };
        self.cc.on_ack(&sample);
        self.follow(now, outcome);
        if let Some(oldest) = self.flight.front().copied()
            && self.cc.oldest_is_overdue(now, oldest.at)
        {
            self.recovery.set_wants_head(true);
        }
        self.restart_timer_after_ack(now, outcome);
        if self.close_requested && self.una == self.stream_end() {
            self.fin_was_acked(now);
        }
    }

    pub(super) fn fin_was_acked(&mut self, now: Instant) {
        self.step(Input::AckOfFin);
        match self.state {
            State::TimeWait => self.enter_time_wait(now),
            State::Closed => self.finish(Event::Closed(super::CloseReason::Finished)),
            _ => {}
        }
    }

    pub(super) fn follow(&mut self, now: Instant, outcome: Outcome) {
        if outcome.entered {
            self.counters.fast_retransmits += 1;
            self.ecn.reduced();
            self.timed = None;
            self.emit(Event::RecoveryEntered);
        }
        if outcome.exited {
            self.emit(Event::RecoveryExited);
        }
        if outcome.go_back {
            self.nxt = self.una;
        }
        if outcome.restart_timer {
            self.start_rto(now);
        }
    }

    /// A window that was closed is open: what was sent as a probe was refused, so the oldest goes
    /// first.
    fn window_opened(&mut self) {
        if self.una < self.max {
            self.recovery.set_wants_head(true);
        }
    }

    /// RFC 7323 appendix G: ExpectedSamples = ceil(FlightSize / (SMSS * 2)).
    #[inline]
    fn samples_per_round(&self, flight: u64) -> u64 {
        // 32 bits hold every window (RFC 7323 section 2.2: below 2^30), and divide faster.
        u64::from((flight as u32).div_ceil(2 * self.mss).max(1))
    }

    fn take_timed_segment(&mut self, now: Instant) {
        if let Some((end, sent)) = self.timed
            && self.una >= end
        {
            self.timed = None;
            self.rto.sample(sent, now, 1);
            self.report_rtt_sample(now.since(sent));
        }
    }

    /// When the segment that this ACK echoes was sent (RFC 7323 section 4), to the timestamp
    /// clock's 1 ms.
    pub(super) fn echoed_time(&self, now: Instant, seg: &Segment) -> Option<Instant> {
        let t = seg.timestamps.filter(|t| self.timestamps && t.echo != 0)?;
        let age = timestamp(now).wrapping_sub(t.echo);
        (age < 1 << 31).then(|| Instant(now.0.saturating_sub(u64::from(age) * 1_000_000)))
    }

    pub(super) fn take_rtt_sample(&mut self, now: Instant, sent: Instant, per_round: u64) {
        self.rto.sample(sent, now, per_round);
        let rtt = now.since(sent);
        self.note_rtt(rtt);
        self.report_rtt_sample(rtt);
    }

    fn note_rtt(&mut self, rtt: Duration) {
        self.last_rtt = Some(rtt);
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |m| m.min(rtt)));
        self.counters.rtt_samples += 1;
    }

    fn report_rtt_sample(&mut self, rtt: Duration) {
        if self.report_rtt {
            self.emit(Event::RttSample(rtt));
        }
    }

    /// After a timeout: did this ACK answer the original? Timestamps tell exactly (RFC 3522 section
    /// 3.2); without them only an ACK that comes sooner after the retransmission than the
    /// smallest round trip ever seen is known to be the original's: a lower bound.
    fn detect_spurious_timeout(&mut self, now: Instant, seg: &Segment) {
        let Some((offset, resent_at)) = self.resent_by_timeout else { return };
        if self.una <= offset {
            return;
        }
        self.resent_by_timeout = None;
        let spurious = match seg.timestamps.filter(|t| self.timestamps && t.echo != 0) {
            Some(t) => (t.echo.wrapping_sub(timestamp(resent_at)) as i32) < 0,
            None => self.min_rtt.is_some_and(|m| now.since(resent_at) < m),
        };
        if spurious {
            self.counters.spurious_timeouts += 1;
            self.emit(Event::SpuriousRto);
        }
    }

    fn restart_timer_after_ack(&mut self, now: Instant, outcome: Outcome) {
        // RFC 6298 (5.2) and (5.3).
        if self.una == self.max {
            self.rto_at = Instant::MAX;
        } else if !outcome.keep_timer {
            self.start_rto(now);
        }
    }

    pub(super) fn start_rto(&mut self, now: Instant) {
        self.rto_at = self.timers.at(now, self.timeout());
        self.persist_at = Instant::MAX;
    }

    /// The retransmission timeout in force.
    pub(super) fn timeout(&self) -> Duration {
        if self.config.vegas.rto == VegasRto::Fine
            && let Some(fine) = self.cc.own_timeout()
        {
            return Duration(fine.0.max(1)).min(self.config.max_rto);
        }
        self.rto.current()
    }
}

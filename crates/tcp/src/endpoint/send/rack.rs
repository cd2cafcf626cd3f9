//! The sender as Linux runs it: RACK-TLP (RFC 8985) finds losses, PRR (RFC 9937) brings the window
//! down, DSACK (RFC 3708), timestamps (RFC 3522) and F-RTO (RFC 5682) undo what was for nothing.
//! Counts in segments, as there.

use lasthop_units::{Duration, Instant};

use super::super::connection::Connection;
use super::super::meters::Event;
use super::super::receive::Receiver;
use super::super::rtt::echoed_time;
use super::super::timers::Timer;
use super::Sender;
use super::ack::Ack;
use super::detector::{Believed, Detector};
use super::in_flight::InFlight;
use super::prr::Prr;
use super::sequence::SendSequence;
use crate::cc::{AckSample, Congestion, CongestionControl, LossSample, Signal};
use crate::config::{LossDetection, WindowReduction};
use crate::recovery::{AckDigest, CaState, Delivered, Outcome};
use crate::sample::timestamp;
use crate::segment::{Flags, Segment};

/// TCP_TIMEOUT_MIN_US: added to RACK's and the probe's wait before it is rounded up to jiffies
/// (tcp_rack_mark_lost, tcp_schedule_loss_probe; Linux 6.1.61, before that two jiffies: the same
/// with HZ 1000).
pub(super) const TIMEOUT_MIN: Duration = Duration::from_millis(2);

/// The detector of RACK-TLP.
pub struct RackTlp;

impl Detector for RackTlp {
    const WINDOW_ENDS_IDLENESS: bool = true;
    const PREDICTS_HEADERS: bool = false;

    fn before(send: &Sender, c: &Connection, d: &mut AckDigest) {
        let fly = &send.fly;
        let in_flight = u64::from(fly.rack.in_flight());
        let window = fly.cc.cwnd().floor().min(c.config.window_ceiling());
        let slow_start = fly.cc.cwnd() < fly.cc.ssthresh();
        let full = if c.config.host.usage_per_window {
            send.limits.usage.was_limited(window, slow_start)
        } else {
            // tcp_is_cwnd_limited: in slow start half the window in use is enough.
            (in_flight + 1) as f64 > window || (slow_start && window < 2.0 * in_flight as f64)
        };
        d.state_before = fly.recovery.state();
        d.cwnd_limited = full || d.state_before == CaState::Loss;
        d.flight_before = in_flight * u64::from(c.negotiated.mss);
        d.lost_before = fly.rack.total_lost;
        // What SACKs had reported before this ACK: an ACK with them carries no information on their
        // order.
        d.highest_before = if fly.rack.sacked > 0 { fly.recovery.board().highest() } else { 0 };
    }

    fn take_sack(fly: &mut InFlight, c: &mut Connection, seq: &SendSequence, a: Ack<'_>, d: &mut AckDigest) {
        let mut highest = fly.recovery.board().highest().max(seq.una);
        for (n, block) in a.seg.sack.iter().enumerate() {
            let (start, end) = (seq.offset_of(block.start), seq.offset_of(block.end));
            if n == 0 && start < end && is_duplicate_report(seq, a, start, end) {
                d.duplicate = true;
                c.meters.counters.dsacks_received += 1;
                fly.undo.take_duplicate(start);
                fly.rack.note_dsack(seq.una, seq.max);
                continue;
            }
            if start < seq.una as i64 || start >= end || end > seq.max as i64 {
                continue;
            }
            let (start, end) = (start as u64, end as u64);
            let sacked = fly.recovery.board_mut().insert(start, end);
            if sacked == 0 {
                continue;
            }
            d.sacked += sacked;
            fly.sack_segments(c, a.now, start, end, highest, d);
            highest = highest.max(end);
        }
        c.meters.counters.sacked_octets += d.sacked;
        if let Some(low) = d.late.filter(|_| d.state_before != CaState::Loss || fly.undo.una.is_some()) {
            fly.rack.note_reordering(low, fly.recovery.board().highest(), c.negotiated.mss);
        }
    }

    fn take_cumulative(
        fly: &mut InFlight,
        c: &mut Connection,
        seq: &mut SendSequence,
        a: Ack<'_>,
        d: &mut AckDigest,
    ) {
        let ack = a.ack as u64;
        while let Some(&s) = fly.flight.front().filter(|s| s.end <= ack) {
            let sacked = fly.rack.marks.front().is_some_and(|m| m.sacked);
            if s.transmissions > 1 {
                d.resent_acked = true;
            } else if !sacked {
                d.first_acked.get_or_insert(s.at);
                // An original that comes after what was SACKed above it: reordering.
                d.acked_from.get_or_insert(s.start);
                d.original |= fly.rack.high >= s.end;
            }
            fly.deliver(c, a.now, 0, d);
            fly.rack.pop();
            fly.flight.advance(s.end);
        }
        fly.flight.advance(ack);
        seq.advance(ack);
        fly.recovery.board_mut().advance(ack);
        if let Some(low) = d.acked_from {
            fly.rack.note_reordering(low, d.highest_before, c.negotiated.mss);
        }
    }

    fn is_duplicate(_fly: &InFlight, seq: &SendSequence, a: Ack<'_>, d: &AckDigest) -> bool {
        let bare = a.seg.len == 0 && seq.is_outstanding() && !d.window_moved;
        (d.news || bare) && a.ack == seq.una as i64
    }

    fn measure_rtt(_fly: &InFlight, c: &mut Connection, _seq: &SendSequence, a: Ack<'_>, d: &AckDigest) {
        let sent = match d.first_acked.filter(|_| !d.resent_acked) {
            Some(at) => Some(at),
            None => d
                .last_sent
                .or_else(|| echoed_time(c.negotiated.timestamps, a.now, a.seg).filter(|_| d.una_moved)),
        };
        if let Some(sent) = sent {
            c.rtt.sample(&mut c.meters, a.now, sent, 1);
        }
    }

    fn judge(
        fly: &mut InFlight,
        c: &mut Connection,
        seq: &SendSequence,
        a: Ack<'_>,
        d: &mut AckDigest,
        _duplicate: bool,
    ) -> Outcome {
        fly.delivered += d.octets;
        let was_outstanding = seq.una - d.passed < seq.max;
        if was_outstanding || d.segments > 0 {
            fly.react(c, seq, a, d);
        }
        // What it has begun and ended is done.
        Outcome::default()
    }

    fn rearm(
        fly: &mut InFlight,
        c: &mut Connection,
        seq: &SendSequence,
        a: Ack<'_>,
        d: &AckDigest,
        _outcome: Outcome,
        pending: bool,
    ) {
        if !seq.is_outstanding() {
            if d.una_moved {
                c.timers.stop(Timer::Retransmission);
            }
            c.timers.stop_for_loss();
            return;
        }
        // A SACK of what was sent before the oldest was sent last does not put the timeout off.
        let older = |at: Instant| fly.flight.front().is_some_and(|head| at < head.at);
        if !d.una_moved && !d.last_sent.is_some_and(older) {
            return;
        }
        // Where the reordering timer runs, no other one is set (tcp_identify_packet_loss).
        let timeout = c.rtt.rto.current();
        if !c.timers.runs(Timer::Reordering) && !fly.schedule_probe(c, seq, a.now, timeout) {
            fly.rearm_rto(c, a.now, pending);
        }
    }

    /// Recovery has answered them.
    fn respond_to_marks(_: &mut InFlight, _: &mut Connection, _: &SendSequence, _: Instant) {}

    fn on_timeout(
        fly: &mut InFlight,
        c: &mut Connection,
        seq: &SendSequence,
        now: Instant,
        repeated: bool,
    ) -> Outcome {
        if fly.watches_timeouts(c) {
            fly.watch_timeout(c, seq, now, repeated);
        } else {
            fly.enter_loss_by_rack(c, seq, now, repeated);
        }
        fly.recovery.set_head_is_due(true);
        Outcome::default()
    }

    fn next_segment(
        send: &mut Sender,
        c: &mut Connection,
        r: &mut Receiver,
        now: Instant,
    ) -> Option<Segment> {
        send.send_by_rack(c, r, now)
    }

    fn resend_head(send: &mut Sender, c: &mut Connection, r: &mut Receiver, now: Instant) -> Option<Segment> {
        send.fly.recovery.set_head_is_due(false);
        send.fly.flight.front()?;
        Some(send.resend_record(c, r, now, 0))
    }

    fn probe_with_head(
        send: &mut Sender,
        c: &mut Connection,
        r: &mut Receiver,
        now: Instant,
    ) -> Option<Segment> {
        Self::resend_head(send, c, r, now)
    }

    fn note_new(send: &mut Sender, now: Instant) {
        let fly = &mut send.fly;
        if fly.rack.in_flight() == 0 {
            fly.cc.on_transmit_start(now, now.since(send.last_sent));
        }
        fly.rack.sent(now, fly.delivered);
        fly.reduction.prr.sent(1.0);
    }

    fn after_new_data(fly: &mut InFlight, c: &mut Connection, seq: &SendSequence, now: Instant) {
        fly.schedule_probe_after_data(c, seq, now);
    }

    /// tcp_rate_check_app_limited.
    fn note_app_limited(fly: &mut InFlight, c: &Connection) {
        let in_flight = u64::from(fly.rack.in_flight()) * u64::from(c.negotiated.mss);
        fly.rack.app_limited = (fly.delivered + in_flight).max(1);
    }

    fn in_flight(fly: &InFlight) -> u32 {
        fly.rack.in_flight()
    }

    /// What SACKs tell of is not in flight, so that no window is inflated.
    fn inflation(_: &InFlight, _: &Connection) -> f64 {
        0.0
    }

    fn packets(fly: &InFlight) -> usize {
        fly.rack.packets as usize
    }

    fn reordering(fly: &InFlight, _: &Connection) -> u32 {
        fly.rack.reordering
    }

    fn believed(fly: &InFlight, _: &Connection, _: &SendSequence) -> Believed {
        Believed { sacked: fly.rack.sacked, lost: fly.rack.lost, resent: fly.rack.resent }
    }

    #[inline(always)]
    fn check(fly: &InFlight) {
        debug_assert!(fly.rack.marks.len() == fly.flight.len(), "a mark per record");
    }
}

/// RFC 2883 section 4: the first block repeats what is acknowledged, or what the second block
/// holds.
fn is_duplicate_report(seq: &SendSequence, a: Ack<'_>, start: i64, end: i64) -> bool {
    if end <= a.ack.max(seq.una as i64) {
        return true;
    }
    let Some(second) = a.seg.sack.iter().nth(1) else { return false };
    start >= seq.offset_of(second.start) && end <= seq.offset_of(second.end)
}

impl Sender {
    // Output.

    /// The next segment as the marks and the window allow.
    pub fn send_by_rack(&mut self, c: &mut Connection, r: &mut Receiver, now: Instant) -> Option<Segment> {
        if std::mem::take(&mut self.fly.tlp.due)
            && let Some(probe) = self.send_loss_probe(c, r, now)
        {
            return Some(probe);
        }
        if self.is_held_by_pace(c, now) {
            return None;
        }
        let window = self.fly.cc.cwnd().floor().min(c.config.window_ceiling());
        let room = window - f64::from(self.fly.rack.in_flight());
        if self.limits.queue.is_some() {
            if room >= 1.0
                && !self.fly.frto.prefer_new
                && let Some(i) = self.fly.rack.next_lost()
            {
                return Some(self.resend_packet(c, r, now, i, room as u32));
            }
            return self.send_packets(c, r, now);
        }
        if room < 1.0 {
            self.limits.usage.note(&self.seq, &self.fly, true);
            return None;
        }
        // While a timeout is judged new data alone leaves: what was sent again would tell nothing.
        if !self.fly.frto.prefer_new
            && self.fly.frto.watch.is_none()
            && let Some(i) = self.fly.rack.next_lost()
        {
            return Some(self.resend_lost(c, r, now, i));
        }
        let edge = self.seq.max + (room.min(1e9) as u64) * u64::from(c.negotiated.mss);
        let segment = self.send_new(c, r, now, edge);
        if segment.is_some() {
            self.limits.usage.note(&self.seq, &self.fly, room < 2.0);
        }
        if segment.is_some() {
            self.fly.schedule_probe_after_data(c, &self.seq, now);
        }
        if segment.is_none() && !self.seq.waits() {
            // Room, and nothing to send: the application is what limits.
            RackTlp::note_app_limited(&mut self.fly, c);
        }
        segment
    }

    /// Retransmits what is marked lost. The timeout of the oldest segment restarts, unless the
    /// reordering timer runs (tcp_xmit_retransmit_queue).
    pub fn resend_lost(&mut self, c: &mut Connection, r: &mut Receiver, now: Instant, i: usize) -> Segment {
        if i == 0 && !c.timers.runs(Timer::Reordering) {
            self.fly.rearm_rto(c, now, false);
        }
        self.resend_record(c, r, now, i)
    }

    pub fn resend_record(&mut self, c: &mut Connection, r: &mut Receiver, now: Instant, i: usize) -> Segment {
        let s = self.fly.flight.get(i).copied().unwrap_or(crate::flight::Sent {
            start: self.seq.una,
            end: self.seq.max,
            at: now,
            transmissions: 1,
        });
        if self.fly.recovery.state() == CaState::Recovery {
            c.meters.emit(Event::FastRetransmit);
        }
        self.fly.rack.sent_again(i, now, self.fly.delivered);
        self.fly.undo.sent_again(timestamp(now));
        self.fly.reduction.prr.sent(1.0);
        if c.config.loss.loss_detection == LossDetection::Fack {
            self.fly.rack.note_resent(i, now);
        }
        let mut segment = self.resend(c, r, now, s.start, s.end);
        if self.limits.queue.is_some() {
            let pushed = self.fly.rack.marks.get(i).is_some_and(|m| m.pushed);
            segment.flags.set(Flags::PSH, pushed);
        }
        segment
    }
}

impl InFlight {
    pub fn sack_segments(
        &mut self,
        c: &mut Connection,
        now: Instant,
        start: u64,
        end: u64,
        highest: u64,
        d: &mut AckDigest,
    ) {
        let Some(mut i) = self.flight.index_of(start) else { return };
        if self.flight.get(i).is_some_and(|s| s.start < start) {
            i += 1;
        }
        let after = self.flight.ending_by(end).max(i);
        self.rack.cut_before(i);
        // A block repeats what older ones told: what is SACKed already is passed over at once.
        while let Some(next) = self.rack.unsacked(i..after) {
            i = next + 1;
            let Some(s) = self.flight.get(next).copied() else { break };
            d.beyond |= self.frto.watch.is_some_and(|w| s.end > w.high);
            // Sent once, and SACKed below what was SACKed before: the path reorders (RFC 8985
            // section 6.2 step 3).
            if s.transmissions == 1 {
                if s.start < highest {
                    d.late = Some(d.late.map_or(s.start, |l| l.min(s.start)));
                }
                d.original |= self.rack.high >= s.end;
            }
            self.deliver(c, now, next, d);
            self.rack.mark_sacked(next);
            d.news = true;
        }
        self.rack.cut_before(after);
    }

    pub fn deliver(&mut self, c: &mut Connection, now: Instant, i: usize, d: &mut AckDigest) {
        let Some(&s) = self.flight.get(i) else { return };
        let min_rtt = c.rtt.min.unwrap_or(Duration::ZERO);
        let delivered = Delivered {
            now,
            at: s.at,
            end: s.end,
            octets: s.end - s.start,
            transmissions: s.transmissions,
            min_rtt,
        };
        self.rack.delivered(d, i, delivered);
    }

    /// What the sender makes of an ACK: tcp_ack's second half.
    pub fn react(&mut self, c: &mut Connection, seq: &SendSequence, a: Ack<'_>, d: &AckDigest) {
        let (now, seg) = (a.now, a.seg);
        self.frto.prefer_new = false;
        self.answer_probe(seq, now, d);
        let echo = seg.timestamps.filter(|t| c.negotiated.timestamps && t.echo != 0).map(|t| t.echo);
        let late = self.undo.is_late(echo);
        let hold = self.judge_timeout(c, seq, a, d);
        let before = self.recovery.state();
        match before {
            CaState::Recovery if seq.una >= self.rack.high => self.end_recovery(c, now, late),
            // "CWR is to be held something *above* high_seq is ACKed" (tcp_fastretrans_alert).
            CaState::Cwr if seq.una > self.rack.high => self.end_recovery(c, now, false),
            CaState::Recovery if d.duplicate && self.undo.is_superfluous() => self.undo(c, now),
            CaState::Loss => self.after_timeout(c, seq, now, d, late),
            _ => {}
        }
        let marked = c.ecn.settle(&c.negotiated, &mut c.meters.counters, self.recovery.state(), d.octets);
        let rack_moved = self.rack.take_advanced();
        let judging = self.frto.watch.is_some();
        if (rack_moved || self.rack.lost > 0) && !judging {
            self.detect_losses(c, now);
        }
        if !judging && !matches!(self.recovery.state(), CaState::Recovery | CaState::Loss) {
            if self.rack.lost > 0 {
                self.enter_recovery(c, seq, now);
            } else if c.ecn.signals_congestion() && self.recovery.state() != CaState::Cwr {
                self.enter_cwr(c, seq, now, Signal::Ecn);
                c.note_mark_reduction();
            } else if self.recovery.state() != CaState::Cwr {
                let state = if self.rack.sacked > 0 { CaState::Disorder } else { CaState::Open };
                self.recovery.set_state(state);
            }
        }
        let reducing = self.is_reducing();
        self.tell(c, seq, a, d, marked, hold);
        if reducing {
            self.reduce(c, d);
        } else if self.cc.take_reduction() && self.recovery.state() != CaState::Loss {
            self.enter_cwr(c, seq, now, Signal::Loss);
        }
    }

    /// A reduction without a loss (tcp_enter_cwr): PRR brings the window down, nothing can undo it.
    pub fn enter_cwr(&mut self, c: &mut Connection, seq: &SendSequence, now: Instant, signal: Signal) {
        if self.is_reducing() || self.recovery.state() == CaState::Loss {
            return;
        }
        self.undo.una = None;
        self.rack.high = seq.max;
        self.tlp.outstanding = None;
        let window = self.cc.cwnd().floor();
        self.cc.on_congestion(&Congestion { signal, ..self.congestion_now(now, false) });
        c.ecn.reduced();
        self.reduction.prr = Prr::begin(window);
        self.cc.set_cwnd(window);
        self.recovery.set_state(CaState::Cwr);
    }

    /// The round trip of the newest segment delivered; of the echoed timestamp when it was sent
    /// again (tcp_ack_update_rtt).
    pub fn round_trip(&self, c: &Connection, a: Ack<'_>, d: &AckDigest) -> Option<Duration> {
        let sent = if d.resent_acked && !d.news && d.una_moved {
            echoed_time(c.negotiated.timestamps, a.now, a.seg)
        } else {
            d.last_sent
        };
        sent.map(|at| a.now.since(at))
    }

    pub fn tell(
        &mut self,
        c: &mut Connection,
        seq: &SendSequence,
        a: Ack<'_>,
        d: &AckDigest,
        marked: u64,
        hold: bool,
    ) {
        let mss = u64::from(c.negotiated.mss);
        let min_rtt = c.rtt.min.unwrap_or(Duration::ZERO);
        let rate = self.rack.rate(d, a.now, self.delivered, d.flight_before, min_rtt, c.negotiated.mss);
        let state = self.recovery.state();
        // tcp_may_raise_cwnd: where the path reorders, what arrives out of order counts too.
        let in_any_order = d.news && self.rack.reordering > c.config.loss.dup_threshold;
        let sample = AckSample {
            now: a.now,
            acked: if d.una_moved {
                d.octets.max(1)
            } else if in_any_order {
                d.octets
            } else {
                0
            },
            delivered: u64::from(d.segments) * mss,
            total_delivered: self.delivered,
            marked,
            lost: (self.rack.total_lost - d.lost_before) * mss,
            loss: self
                .rack
                .loss
                .take()
                .map(|l| LossSample { sent_in_flight: l.sent_in_flight * mss, lost: l.lost * mss }),
            in_flight: u64::from(self.rack.in_flight()) * mss,
            una: seq.una,
            nxt: seq.nxt,
            flight_before: d.flight_before,
            peer_window: seq.wnd,
            mss: c.negotiated.mss,
            rtt: self.round_trip(c, a, d),
            srtt: c.rtt.rto.srtt(),
            rate,
            state,
            cwnd_limited: d.cwnd_limited,
            may_grow: (d.una_moved || in_any_order) && !self.is_reducing() && !hold,
            passed: d.passed,
            delivered_since_sent: d.delivered_since_sent(self.delivered),
            sacked: self.rack.sacked > 0,
            before: d.state_before,
            stamps: a.seg.timestamps.filter(|_| c.negotiated.timestamps),
            ..AckSample::default()
        };
        self.cc.on_ack(&sample);
    }

    pub fn congestion_now(&self, now: Instant, repeated: bool) -> Congestion {
        Congestion { now, signal: Signal::Loss, flight: self.cc.cwnd().floor(), repeated }
    }

    pub fn enter_recovery(&mut self, c: &mut Connection, seq: &SendSequence, now: Instant) {
        let prior = (self.cc.cwnd(), self.cc.ssthresh());
        self.undo.begin(self.rack.resent, seq.una, prior);
        self.rack.high = seq.max;
        self.tlp.outstanding = None;
        // A loss within a reduction does not cost a second one.
        if self.recovery.state() != CaState::Cwr {
            self.cc.on_congestion(&self.congestion_now(now, false));
            self.reduction.prr = Prr::begin(prior.0.floor());
            self.reduction.halving = false;
            if c.config.loss.window_reduction == WindowReduction::RateHalving && !self.cc.rules_recovery() {
                self.cc.set_cwnd(prior.0.floor());
            }
        }
        c.ecn.reduced();
        self.recovery.set_state(CaState::Recovery);
        c.meters.counters.fast_retransmits += 1;
        c.meters.emit(Event::RecoveryEntered);
    }

    pub fn end_recovery(&mut self, c: &mut Connection, now: Instant, late: bool) {
        if self.undo.una.is_some() && (late || self.undo.is_superfluous()) {
            self.undo(c, now);
            return;
        }
        let reduces = self.undo.una.is_some() || self.recovery.state() == CaState::Cwr;
        if !self.cc.rules_recovery() && reduces {
            let to = match c.config.loss.window_reduction {
                WindowReduction::Prr => self.cc.ssthresh(),
                // tcp_complete_cwr.
                WindowReduction::RateHalving => self.cc.ssthresh().min(self.cc.cwnd()),
            };
            self.cc.set_cwnd(to);
            self.cc.on_recovered(now);
        }
        self.close_recovery(c);
    }

    pub fn close_recovery(&mut self, c: &mut Connection) {
        self.undo.una = None;
        self.undo.first_resent = None;
        if self.recovery.state() != CaState::Cwr {
            self.rack.note_recovered();
            c.meters.emit(Event::RecoveryExited);
        }
        self.recovery.set_state(CaState::Open);
    }

    /// The reduction was for nothing: back to what was before it.
    pub fn undo(&mut self, c: &mut Connection, now: Instant) {
        if self.recovery.state() == CaState::Loss {
            self.rack.unlose();
            c.meters.counters.spurious_timeouts += 1;
            c.meters.emit(Event::SpuriousRto);
        }
        c.meters.counters.undone += 1;
        let (cwnd, ssthresh) = self.undo.prior;
        self.cc.on_undo(cwnd, ssthresh);
        if c.config.loss.window_reduction == WindowReduction::RateHalving {
            // tcp_moderate_cwnd: no burst of more than tcp_max_burst.
            let burst = f64::from(self.rack.reordering.max(c.config.loss.dup_threshold));
            self.cc.set_cwnd(self.cc.cwnd().floor().min(f64::from(self.rack.in_flight()) + burst));
        }
        let _ = now;
        self.close_recovery(c);
    }

    pub fn detect_losses(&mut self, c: &mut Connection, now: Instant) {
        if c.config.loss.loss_detection == LossDetection::Fack {
            let flight = &self.flight;
            let record =
                |i: usize| flight.get(i).map_or((Instant::MAX, 0, 1), |s| (s.at, s.end, s.transmissions));
            self.rack.detect_by_count(c.config.loss.dup_threshold, record);
            return;
        }
        let min_rtt = c.rtt.min.unwrap_or(Duration::ZERO);
        let srtt = c.rtt.rto.srtt().unwrap_or(min_rtt);
        let recovering = matches!(self.recovery.state(), CaState::Recovery | CaState::Loss);
        let window = self.rack.reo_wnd(recovering, c.config.loss.dup_threshold, min_rtt, srtt);
        let flight = &self.flight;
        let record =
            |i: usize| flight.get(i).map_or((Instant::MAX, 0, 1), |s| (s.at, s.end, s.transmissions));
        let again = self.rack.detect(now, window, record);
        if let Some(at) = again {
            let wait = (at.since(now) + TIMEOUT_MIN).min(c.rtt.rto.current());
            c.timers.start(Timer::Reordering, now, wait);
            c.timers.stop(Timer::LossProbe);
            c.timers.stop(Timer::Retransmission);
        } else if c.timers.runs(Timer::Reordering) {
            self.rearm_rto(c, now, true);
        }
    }

    /// How long until the oldest segment has waited for a whole timeout (tcp_rto_delta_us); zero
    /// where it has.
    pub fn rto_delta(&self, c: &Connection, now: Instant) -> Duration {
        let timeout = c.rtt.timeout(&c.config, &self.cc);
        self.flight.front().map_or(timeout, |head| head.at.saturating_add(timeout).since(now))
    }

    /// The retransmission timer runs again (tcp_rearm_rto): for a whole timeout, or, where a probe
    /// or the reordering timer was `pending` in its place, for what is left of the oldest
    /// segment's.
    pub fn rearm_rto(&mut self, c: &mut Connection, now: Instant, pending: bool) {
        c.timers.stop_for_loss();
        let wait = if pending {
            self.rto_delta(c, now).max(Duration::from_micros(1))
        } else {
            c.rtt.timeout(&c.config, &self.cc)
        };
        c.timers.start(Timer::Retransmission, now, wait);
        c.timers.stop(Timer::Persist);
    }

    /// The reordering window of the oldest segment in doubt has passed.
    pub fn reordering_timeout(&mut self, c: &mut Connection, seq: &SendSequence, now: Instant) {
        let before = self.rack.lost;
        self.detect_losses(c, now);
        if self.rack.lost > before && !matches!(self.recovery.state(), CaState::Recovery | CaState::Loss) {
            self.enter_recovery(c, seq, now);
            let d = AckDigest::of_timer(self.rack.total_lost);
            self.reduce(c, &d);
        }
        // tcp_rack_reo_timeout detects losses once; the next ACK or the timeout detects further
        // ones.
        if seq.is_outstanding() {
            self.rearm_rto(c, now, true);
        }
    }

    /// The retransmission timer expired: tcp_enter_loss.
    pub fn enter_loss_by_rack(
        &mut self,
        c: &mut Connection,
        seq: &SendSequence,
        now: Instant,
        repeated: bool,
    ) {
        let state = self.recovery.state();
        let fresh = !matches!(state, CaState::Recovery | CaState::Loss) || seq.una >= self.rack.high;
        let reneged = self.rack.marks.front().is_some_and(|m| m.sacked);
        let cut = seq.una >= self.rack.high
            || matches!(state, CaState::Open | CaState::Disorder)
            || (state == CaState::Loss && !repeated);
        let prior = if cut { (self.cc.cwnd(), self.cc.ssthresh()) } else { self.undo.prior };
        self.rack.lose_everything(reneged);
        if reneged {
            let (una, max) = (seq.una, seq.max);
            self.recovery.board_mut().on_timeout(max, true);
            self.recovery.board_mut().advance(una);
        }
        if cut {
            self.undo.una = None;
        }
        if self.undo.una.is_none() || cut {
            self.undo.begin(self.rack.resent, seq.una, prior);
        }
        let congestion = Congestion { repeated: !cut, ..self.congestion_now(now, false) };
        self.cc.on_timeout(&congestion);
        self.frto.looking = fresh || repeated;
        self.rack.high = seq.max;
        self.tlp.outstanding = None;
        c.timers.stop_for_loss();
        self.recovery.set_state(CaState::Loss);
    }
}

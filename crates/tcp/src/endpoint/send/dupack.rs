//! Losses by duplicate ACKs (RFC 5681, RFC 6582) and by the scoreboard (RFC 6675).

use lasthop_units::Instant;

use super::super::connection::Connection;
use super::super::receive::Receiver;
use super::super::rtt::echoed_time;
use super::super::timers::Timer;
use super::Sender;
use super::ack::Ack;
use super::detector::{Believed, Detector};
use super::in_flight::InFlight;
use super::sequence::SendSequence;
use crate::cc::{AckSample, CongestionControl, Signal};
use crate::config::RttSampling;
use crate::recovery::{AckDigest, CaState, Outcome};
use crate::segment::{Flags, Segment};

/// The detector of every flavour but RACK. What it decides is
/// [`Recovery`](crate::recovery::Recovery)'s.
pub struct Dupack;

impl Detector for Dupack {
    const WINDOW_ENDS_IDLENESS: bool = false;
    const PREDICTS_HEADERS: bool = true;

    #[inline(always)]
    fn before(send: &Sender, c: &Connection, d: &mut AckDigest) {
        let (fly, seq) = (&send.fly, &send.seq);
        let board = fly.recovery.board();
        d.sacked_before = board.sacked();
        d.lost_before = if board.sacked() > 0 { board.lost() } else { 0 };
        d.flight_before = seq.flight_size();
        d.state_before = fly.recovery.state();
        // The window was full: there was no room for one segment more.
        d.cwnd_limited = !d.una_moved
            || d.state_before == CaState::Loss
            || d.flight_before + u64::from(c.negotiated.mss) > fly.window_octets(c, 0.0);
    }

    /// Update() of RFC 6675. Blocks that make no sense are ignored.
    #[inline(always)]
    fn take_sack(fly: &mut InFlight, c: &mut Connection, seq: &SendSequence, a: Ack<'_>, d: &mut AckDigest) {
        if !fly.recovery.is_sack() || a.seg.sack.is_empty() {
            return;
        }
        for block in a.seg.sack.iter() {
            let (start, end) = (seq.offset_of(block.start), seq.offset_of(block.end));
            // Below SND.UNA: a D-SACK (RFC 2883) or an old block. Beyond SND.MAX: never sent.
            if start >= seq.una as i64 && start < end && end <= seq.max as i64 {
                d.sacked += fly.recovery.board_mut().insert(start as u64, end as u64);
            }
        }
        c.meters.counters.sacked_octets += d.sacked;
    }

    #[inline(always)]
    fn take_cumulative(
        fly: &mut InFlight,
        c: &mut Connection,
        seq: &mut SendSequence,
        a: Ack<'_>,
        d: &mut AckDigest,
    ) {
        seq.advance(a.ack as u64);
        let acked = fly.flight.advance(seq.una);
        (d.first_acked, d.last_sent) = (acked.oldest_sent, acked.newest_sent);
        c.rtt.detect_spurious_timeout(&mut c.meters, c.negotiated.timestamps, a.now, a.seg, seq.una);
    }

    /// RFC 5681 section 2, definition of a duplicate ACK; with SACK RFC 6675 section 2's: it brings
    /// SACK news. While the peer's window is closed, ACKs answer probes and are no sign of
    /// loss.
    #[inline]
    fn is_duplicate(fly: &InFlight, seq: &SendSequence, a: Ack<'_>, d: &AckDigest) -> bool {
        if a.ack != seq.una as i64 || !seq.is_outstanding() || seq.wnd == 0 {
            return false;
        }
        if fly.recovery.is_sack() {
            return d.sacked > 0;
        }
        a.seg.len == 0 && !a.seg.flags.has(Flags::FIN) && !d.window_moved
    }

    #[inline(always)]
    fn measure_rtt(_fly: &InFlight, c: &mut Connection, seq: &SendSequence, a: Ack<'_>, d: &AckDigest) {
        if !d.una_moved {
            return;
        }
        match c.config.timers.rtt_sampling {
            RttSampling::OneSegment => {
                c.rtt.take_timed_segment(a.now, seq.una);
                if let Some(sent) = d.last_sent {
                    c.rtt.note(&mut c.meters, a.now.since(sent));
                }
            }
            RttSampling::EveryAck => {
                let expected = SendSequence::samples_per_round(d.flight_before, c.negotiated.mss);
                let sent = d.first_acked.or_else(|| echoed_time(c.negotiated.timestamps, a.now, a.seg));
                if let Some(sent) = sent {
                    c.rtt.sample(&mut c.meters, a.now, sent, expected);
                }
            }
        }
    }

    #[inline(always)]
    fn judge(
        fly: &mut InFlight,
        c: &mut Connection,
        seq: &SendSequence,
        a: Ack<'_>,
        d: &mut AckDigest,
        duplicate: bool,
    ) -> Outcome {
        if d.una_moved {
            fly.take_new_ack(c, seq, a, d)
        } else if duplicate {
            fly.take_dup_ack(c, seq, a, d)
        } else {
            Outcome::default()
        }
    }

    #[inline(always)]
    fn rearm(
        fly: &mut InFlight,
        c: &mut Connection,
        seq: &SendSequence,
        a: Ack<'_>,
        d: &AckDigest,
        outcome: Outcome,
        _pending: bool,
    ) {
        if !d.una_moved {
            return;
        }
        if let Some(oldest) = fly.flight.front().copied()
            && fly.cc.oldest_is_overdue(a.now, oldest.at)
        {
            fly.recovery.set_head_is_due(true);
        }
        // RFC 6298 (5.2) and (5.3).
        if !seq.is_outstanding() {
            c.timers.stop(Timer::Retransmission);
        } else if !outcome.keep_timer {
            fly.start_rto(c, a.now);
        }
    }

    /// The response of RFC 3168 section 6.1.2, once per window of data.
    #[inline]
    fn respond_to_marks(fly: &mut InFlight, c: &mut Connection, seq: &SendSequence, now: Instant) {
        if !c.ecn.signals_congestion()
            || c.ecn.shows_cwr(seq.una)
            || matches!(fly.recovery.state(), CaState::Recovery | CaState::Loss)
        {
            return;
        }
        fly.cut_for_marks(c, seq, now);
    }

    fn on_timeout(
        fly: &mut InFlight,
        c: &mut Connection,
        seq: &SendSequence,
        now: Instant,
        repeated: bool,
    ) -> Outcome {
        let (recovery, mut view) = fly.recovery_and_view(c, seq, now);
        let outcome = recovery.on_timeout(&mut view, repeated);
        // Without the scoreboard SND.NXT goes back instead.
        recovery.set_head_is_due(recovery.is_sack());
        outcome
    }

    #[inline(always)]
    fn next_segment(
        send: &mut Sender,
        c: &mut Connection,
        r: &mut Receiver,
        now: Instant,
    ) -> Option<Segment> {
        if send.is_held_by_pace(c, now) {
            return None;
        }
        if send.fly.recovery.is_sack() {
            send.send_by_pipe(c, r, now)
        } else {
            send.send_by_window(c, r, now)
        }
    }

    fn resend_head(send: &mut Sender, c: &mut Connection, r: &mut Receiver, now: Instant) -> Option<Segment> {
        send.send_head(c, r, now)
    }

    fn probe_with_head(
        send: &mut Sender,
        c: &mut Connection,
        r: &mut Receiver,
        now: Instant,
    ) -> Option<Segment> {
        let head = *send.fly.flight.front()?;
        Some(send.resend(c, r, now, head.start, head.end))
    }

    /// The flight's records are all that is remembered.
    #[inline(always)]
    fn note_new(_: &mut Sender, _: Instant) {}

    /// No probe for losses (RFC 8985 section 7) is waited for.
    #[inline(always)]
    fn after_new_data(_: &mut InFlight, _: &mut Connection, _: &SendSequence, _: Instant) {}

    /// The delivery rate is not estimated.
    #[inline(always)]
    fn note_app_limited(_: &mut InFlight, _: &Connection) {}

    fn in_flight(fly: &InFlight) -> u32 {
        fly.flight.len() as u32
    }

    fn inflation(fly: &InFlight, c: &Connection) -> f64 {
        fly.recovery.inflation(&c.config)
    }

    fn packets(fly: &InFlight) -> usize {
        fly.flight.len()
    }

    fn reordering(_: &InFlight, c: &Connection) -> u32 {
        c.config.loss.dup_threshold
    }

    fn believed(fly: &InFlight, c: &Connection, seq: &SendSequence) -> Believed {
        let segments = |octets: u64| octets.div_ceil(u64::from(c.negotiated.mss)) as u32;
        let board = fly.recovery.board();
        let lost = match fly.recovery.state() {
            CaState::Recovery | CaState::Loss if fly.recovery.is_sack() => segments(board.lost()),
            CaState::Recovery => 1,
            CaState::Loss => segments(seq.max - seq.nxt),
            _ => 0,
        };
        Believed { sacked: segments(board.sacked()), lost, resent: fly.flight.retransmitted() }
    }

    #[inline(always)]
    fn check(_: &InFlight) {}
}

impl InFlight {
    #[inline(always)]
    fn take_new_ack(
        &mut self,
        c: &mut Connection,
        seq: &SendSequence,
        a: Ack<'_>,
        d: &mut AckDigest,
    ) -> Outcome {
        let dup_acks = self.recovery.dup_acks();
        let (recovery, mut view) = self.recovery_and_view(c, seq, a.now);
        let outcome = recovery.on_new_ack(&mut view, d.passed);
        d.octets = self.newly_delivered(c, d.passed, d.sacked_before);
        let sample = AckSample {
            acked: d.passed,
            rtt: d.last_sent.map(|sent| a.now.since(sent)),
            dup_acks,
            may_grow: outcome.may_grow,
            passed: d.passed,
            delivered_since_sent: d.flight_before,
            before: d.state_before,
            ..self.sample(c, seq, a.now, d, outcome)
        };
        self.cc.on_ack(&sample);
        outcome
    }

    /// A duplicate ACK delivers the SACK news or, without SACK, one segment (RFC 5681 section 3.2
    /// step 4).
    #[cold]
    fn take_dup_ack(
        &mut self,
        c: &mut Connection,
        seq: &SendSequence,
        a: Ack<'_>,
        d: &mut AckDigest,
    ) -> Outcome {
        let (recovery, mut view) = self.recovery_and_view(c, seq, a.now);
        let outcome = recovery.on_dup_ack(&mut view);
        d.octets = if self.recovery.is_sack() {
            d.sacked
        } else {
            let room = seq.flight_size().saturating_sub(self.delivered_by_dups + u64::from(c.negotiated.mss));
            let one = u64::from(c.negotiated.mss).min(room);
            self.delivered_by_dups += one;
            one
        };
        let sample = AckSample {
            dup_acks: self.recovery.dup_acks(),
            delivered_since_sent: seq.flight_size(),
            before: self.recovery.state(),
            ..self.sample(c, seq, a.now, d, outcome)
        };
        self.cc.on_ack(&sample);
        outcome
    }

    /// What every sample holds. Takes the delivery into the account.
    #[inline(always)]
    fn sample(
        &mut self,
        c: &mut Connection,
        seq: &SendSequence,
        now: Instant,
        d: &AckDigest,
        outcome: Outcome,
    ) -> AckSample {
        self.delivered += d.octets;
        let state = self.recovery.state();
        let marked = c.ecn.settle(&c.negotiated, &mut c.meters.counters, state, d.octets);
        let board = self.recovery.board();
        let (in_flight, lost) = if !self.recovery.is_sack() {
            let out = seq.flight_size().saturating_sub(self.delivered_by_dups);
            (out, if outcome.entered { u64::from(c.negotiated.mss) } else { 0 })
        } else if board.sacked() == 0 && state == CaState::Open {
            (seq.flight_size(), 0)
        } else {
            (board.pipe(seq.max), board.lost().saturating_sub(d.lost_before))
        };
        AckSample {
            now,
            una: seq.una,
            nxt: seq.nxt,
            flight_before: d.flight_before,
            cwnd_limited: d.cwnd_limited,
            delivered: d.octets,
            total_delivered: self.delivered,
            marked,
            lost,
            in_flight,
            sacked: self.recovery.board().sacked() > 0,
            peer_window: seq.wnd,
            mss: c.negotiated.mss,
            srtt: c.rtt.rto.srtt(),
            state,
            ..AckSample::default()
        }
    }

    /// Octets that this ACK of new data is the first to tell of.
    #[inline]
    fn newly_delivered(&mut self, c: &Connection, acked: u64, sacked_before: u64) -> u64 {
        if self.recovery.is_sack() {
            // What was SACKed and is now below SND.UNA has been counted.
            return (acked + self.recovery.board().sacked()).saturating_sub(sacked_before);
        }
        let counted = self.delivered_by_dups.min(acked.saturating_sub(u64::from(c.negotiated.mss)));
        self.delivered_by_dups =
            if self.recovery.state() == CaState::Open { 0 } else { self.delivered_by_dups - counted };
        acked - counted
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

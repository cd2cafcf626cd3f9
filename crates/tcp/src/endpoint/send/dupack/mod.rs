//! Losses by duplicate ACKs (RFC 5681, RFC 6582) and by the scoreboard (RFC 6675).

mod output;

use lasthop_units::{Duration, Instant};

use super::Sender;
use super::detector::{Ack, Believed, Detector, LossRecovery};
use super::in_flight::InFlight;
use super::sequence::SendSequence;
use super::usage::Usage;
use crate::cc::{AckSample, Cc, CongestionControl, Signal};
use crate::config::{Config, RttSampling};
use crate::endpoint::connection::Connection;
use crate::endpoint::receive::Receiver;
use crate::endpoint::rtt::echoed_time;
use crate::endpoint::timers::Timer;
use crate::recovery::{AckDigest, CaState, Outcome, Recovery, SenderView};
use crate::segment::{Flags, Segment};

/// The detector of every flavour except RACK. Its decisions are those of
/// [`Recovery`](crate::recovery::Recovery).
pub struct Dupack;

impl Detector for Dupack {
    const WINDOW_ENDS_IDLENESS: bool = false;
    const USES_LATE_REPORTS: bool = false;

    #[inline(always)]
    fn before(x: &LossRecovery<'_>, _usage: &Usage, d: &mut AckDigest) {
        let board = x.fly.recovery.board();
        d.sacked_before = board.sacked();
        d.lost_before = if board.sacked() > 0 { board.lost() } else { 0 };
        d.flight_before = x.seq.flight_size();
        d.state_before = x.fly.recovery.state();
        // The window was full: there was no room for one segment more.
        d.cwnd_limited = !d.una_moved
            || d.state_before == CaState::Loss
            || d.flight_before + u64::from(x.conn.negotiated.mss) > x.fly.window_octets(x.conn, 0.0);
    }

    /// Update() of RFC 6675. Blocks that make no sense are ignored.
    #[inline(always)]
    fn take_sack(x: &mut LossRecovery<'_>, a: Ack<'_>, d: &mut AckDigest) {
        if !x.fly.recovery.is_sack() || a.seg.rare.sack.is_empty() {
            return;
        }
        for block in a.seg.rare.sack.iter() {
            let (start, end) = (x.seq.offset_of(block.start), x.seq.offset_of(block.end));
            // Below SND.UNA: a D-SACK (RFC 2883) or an old block. Beyond SND.MAX: never sent.
            if start >= x.seq.una as i64 && start < end && end <= x.seq.max as i64 {
                d.sacked += x.fly.recovery.board_mut().insert(start as u64, end as u64);
            }
        }
        x.conn.meters.counters.sacked_octets += d.sacked;
    }

    #[inline(always)]
    fn take_cumulative(x: &mut LossRecovery<'_>, a: Ack<'_>, d: &mut AckDigest) {
        let acked = x.fly.flight.advance(x.seq.una);
        (d.first_acked, d.last_sent) = (acked.oldest_sent, acked.newest_sent);
        x.conn.rtt.detect_spurious_timeout(
            &mut x.conn.meters,
            x.conn.negotiated.timestamps,
            x.now,
            a.seg,
            x.seq.una,
        );
    }

    /// RFC 5681 section 2, definition of a duplicate ACK; with SACK that of RFC 6675 section 2: it
    /// has new SACK information. While the peer's window is closed, ACKs answer probes and do not
    /// indicate a loss.
    #[inline]
    fn is_duplicate(x: &LossRecovery<'_>, a: Ack<'_>, d: &AckDigest) -> bool {
        if a.ack != x.seq.una as i64 || !x.seq.is_outstanding() || x.seq.wnd == 0 {
            return false;
        }
        if x.fly.recovery.is_sack() {
            return d.sacked > 0;
        }
        a.seg.len == 0 && !a.seg.flags.has(Flags::FIN) && !d.window_moved
    }

    #[inline(always)]
    fn measure_rtt(x: &mut LossRecovery<'_>, a: Ack<'_>, d: &AckDigest) {
        if !d.una_moved {
            return;
        }
        match x.conn.config.timers.rtt_sampling {
            RttSampling::OneSegment => {
                x.conn.rtt.take_timed_segment(x.now, x.seq.una);
                if let Some(sent) = d.last_sent {
                    x.conn.rtt.note(&mut x.conn.meters, x.now.since(sent));
                }
            }
            RttSampling::EveryAck => {
                let expected = SendSequence::samples_per_round(d.flight_before, x.conn.negotiated.mss);
                let sent = d.first_acked.or_else(|| echoed_time(x.conn.negotiated.timestamps, x.now, a.seg));
                if let Some(sent) = sent {
                    x.conn.rtt.sample(&mut x.conn.meters, x.now, sent, expected);
                }
            }
        }
    }

    #[inline(always)]
    fn judge(x: &mut LossRecovery<'_>, _a: Ack<'_>, d: &mut AckDigest, duplicate: bool) -> Outcome {
        if d.una_moved {
            x.take_new_ack(d)
        } else if duplicate {
            x.again().take_dup_ack(*d)
        } else {
            Outcome::default()
        }
    }

    #[inline(always)]
    fn rearm(x: &mut LossRecovery<'_>, d: &AckDigest, outcome: Outcome, _pending: bool) {
        if !d.una_moved {
            return;
        }
        if let Some(oldest) = x.fly.flight.front().copied()
            && x.fly.cc.oldest_is_overdue(x.now, oldest.at)
        {
            x.fly.recovery.set_head_is_due(true);
        }
        // RFC 6298 (5.2) and (5.3).
        if !x.seq.is_outstanding() {
            x.conn.timers.stop(Timer::Retransmission);
        } else if !outcome.keep_timer {
            x.start_rto();
        }
    }

    /// The response of RFC 3168 section 6.1.2, once per window of data.
    #[inline]
    fn respond_to_marks(x: &mut LossRecovery<'_>) {
        if !x.conn.ecn.signals_congestion()
            || x.conn.ecn.shows_cwr(x.seq.una)
            || matches!(x.fly.recovery.state(), CaState::Recovery | CaState::Loss)
        {
            return;
        }
        x.cut_for_marks();
    }

    fn on_timeout(x: &mut LossRecovery<'_>, repeated: bool) -> Outcome {
        let (recovery, mut view) = x.recovery_and_view();
        recovery.on_timeout(&mut view, repeated)
    }

    #[inline(always)]
    fn next_segment(
        send: &mut Sender,
        c: &mut Connection,
        r: &mut Receiver,
        now: Instant,
    ) -> Option<Segment> {
        if send.pacing.holds(c, now) {
            return None;
        }
        if send.fly.recovery.is_sack() {
            Self::send_by_pipe(send, c, r, now)
        } else {
            Self::send_by_window(send, c, r, now)
        }
    }

    fn resend_head(send: &mut Sender, c: &mut Connection, r: &mut Receiver, now: Instant) -> Option<Segment> {
        Self::send_head(send, c, r, now)
    }

    fn probe_with_head(
        send: &mut Sender,
        c: &mut Connection,
        r: &mut Receiver,
        now: Instant,
    ) -> Option<Segment> {
        let head = *send.fly.flight.front()?;
        Some(send.resend(c, r, now, head.start(), head.end))
    }

    /// The flight's records are the only state.
    #[inline(always)]
    fn note_new(_fly: &mut InFlight, _now: Instant, _idle: Duration) {}

    /// No probe for losses (RFC 8985 section 7) is waited for.
    #[inline(always)]
    fn after_new_data(_x: &mut LossRecovery<'_>) {}

    /// The delivery rate is not estimated.
    #[inline(always)]
    fn note_app_limited(_fly: &mut InFlight, _mss: u32) {}

    fn cwnd_edge(fly: &InFlight, seq: &SendSequence, c: &Connection) -> u64 {
        if fly.recovery.is_sack() {
            return seq.max + Self::room_by_pipe(fly, seq, c);
        }
        seq.una + fly.window_octets(c, fly.recovery.inflation(&c.config))
    }

    fn in_flight(fly: &InFlight) -> u32 {
        fly.flight.len() as u32
    }

    fn inflation(fly: &InFlight, config: &Config) -> f64 {
        fly.recovery.inflation(config)
    }

    fn packets(fly: &InFlight) -> usize {
        fly.flight.len()
    }

    fn reordering(_fly: &InFlight, config: &Config) -> u32 {
        config.loss.dup_threshold
    }

    fn believed(fly: &InFlight, seq: &SendSequence, mss: u32) -> Believed {
        let segments = |octets: u64| octets.div_ceil(u64::from(mss)) as u32;
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

/// The state of the sender that every sample shows.
struct Sampled<'a> {
    seq: &'a SendSequence,
    conn: &'a Connection,
    recovery: &'a Recovery,
    now: Instant,
    /// Octets of this ACK's delivery with a mark.
    marked: u64,
    /// Octets delivered since the start, and those of them that duplicate ACKs account for.
    delivered: [u64; 2],
}

impl Sampled<'_> {
    /// The sample of an ACK of new data, before which `dup_acks` duplicates came.
    #[inline(always)]
    fn of_new_ack(&self, d: &AckDigest, outcome: Outcome, dup_acks: u32) -> AckSample {
        AckSample {
            acked: d.passed,
            rtt: d.last_sent.map(|sent| self.now.since(sent)),
            dup_acks,
            may_grow: outcome.may_grow,
            passed: d.passed,
            delivered_since_sent: d.flight_before,
            before: d.state_before,
            ..self.sample(d, outcome)
        }
    }

    /// What every sample holds.
    #[inline(always)]
    fn sample(&self, d: &AckDigest, outcome: Outcome) -> AckSample {
        let (seq, board, mss) = (self.seq, self.recovery.board(), self.conn.negotiated.mss);
        let state = self.recovery.state();
        let (in_flight, lost) = if !self.recovery.is_sack() {
            let out = seq.flight_size().saturating_sub(self.delivered[1]);
            (out, if outcome.entered { u64::from(mss) } else { 0 })
        } else if board.sacked() == 0 && state == CaState::Open {
            (seq.flight_size(), 0)
        } else {
            (board.pipe(seq.max), board.lost().saturating_sub(d.lost_before))
        };
        AckSample {
            now: self.now,
            una: seq.una,
            nxt: seq.nxt,
            flight_before: d.flight_before,
            cwnd_limited: d.cwnd_limited,
            delivered: d.octets,
            total_delivered: self.delivered[0],
            marked: self.marked,
            lost,
            in_flight,
            sacked: board.sacked() > 0,
            peer_window: seq.wnd,
            mss,
            srtt: self.conn.rtt.rto.srtt(),
            state,
            ..AckSample::default()
        }
    }
}

impl LossRecovery<'_> {
    /// Recovery, and the view of the sender it works on.
    #[inline]
    fn recovery_and_view(&mut self) -> (&mut Recovery, SenderView<'_>) {
        let view = SenderView {
            config: &self.conn.config,
            cc: &mut self.fly.cc,
            flight: &self.fly.flight,
            now: self.now,
            una: self.seq.una,
            max: self.seq.max,
            mss: self.conn.negotiated.mss,
            wnd: self.seq.wnd,
        };
        (&mut self.fly.recovery, view)
    }

    #[inline(always)]
    fn take_new_ack(&mut self, d: &mut AckDigest) -> Outcome {
        let dup_acks = self.fly.recovery.dup_acks();
        let outcome = if self.fly.recovery.state() == CaState::Open {
            self.fly.recovery.on_new_ack_when_open(self.seq.una)
        } else {
            let (recovery, mut view) = self.recovery_and_view();
            recovery.on_new_ack(&mut view, d.passed)
        };
        d.octets = self.newly_delivered(d.passed, d.sacked_before);
        let (marked, seq, conn, now) = (self.account(d), self.seq, &*self.conn, self.now);
        let InFlight { cc, recovery, delivered, delivered_by_dups, .. } = &mut *self.fly;
        let sampled =
            Sampled { seq, conn, recovery, now, marked, delivered: [*delivered, *delivered_by_dups] };
        // Made in each branch: for Reno no more of it than Reno reads.
        if let Cc::Reno(reno) = cc {
            reno.on_ack(&sampled.of_new_ack(d, outcome, dup_acks));
        } else {
            cc.on_ack(&sampled.of_new_ack(d, outcome, dup_acks));
        }
        outcome
    }

    /// A duplicate ACK delivers the newly SACKed octets or, without SACK, one segment (RFC 5681
    /// section 3.2 step 4).
    #[cold]
    fn take_dup_ack(&mut self, mut d: AckDigest) -> Outcome {
        let (recovery, mut view) = self.recovery_and_view();
        let outcome = recovery.on_dup_ack(&mut view);
        d.octets = if self.fly.recovery.is_sack() {
            d.sacked
        } else {
            let room = self
                .seq
                .flight_size()
                .saturating_sub(self.fly.delivered_by_dups + u64::from(self.conn.negotiated.mss));
            let one = u64::from(self.conn.negotiated.mss).min(room);
            self.fly.delivered_by_dups += one;
            one
        };
        let (marked, seq, conn, now) = (self.account(&d), self.seq, &*self.conn, self.now);
        let InFlight { cc, recovery, delivered, delivered_by_dups, .. } = &mut *self.fly;
        let sampled =
            Sampled { seq, conn, recovery, now, marked, delivered: [*delivered, *delivered_by_dups] };
        cc.on_ack(&AckSample {
            dup_acks: recovery.dup_acks(),
            delivered_since_sent: seq.flight_size(),
            before: recovery.state(),
            ..sampled.sample(&d, outcome)
        });
        outcome
    }

    /// Takes the delivery into the account. Returns the octets of it with a mark.
    #[inline(always)]
    fn account(&mut self, d: &AckDigest) -> u64 {
        self.fly.delivered += d.octets;
        let state = self.fly.recovery.state();
        self.conn.ecn.settle(&self.conn.negotiated, &mut self.conn.meters.counters, state, d.octets)
    }

    /// Octets that this ACK of new data is the first to report.
    #[inline]
    fn newly_delivered(&mut self, acked: u64, sacked_before: u64) -> u64 {
        if self.fly.recovery.is_sack() {
            // What was SACKed and is now below SND.UNA has been counted.
            return (acked + self.fly.recovery.board().sacked()).saturating_sub(sacked_before);
        }
        let counted =
            self.fly.delivered_by_dups.min(acked.saturating_sub(u64::from(self.conn.negotiated.mss)));
        self.fly.delivered_by_dups =
            if self.fly.recovery.state() == CaState::Open { 0 } else { self.fly.delivered_by_dups - counted };
        acked - counted
    }

    #[cold]
    fn cut_for_marks(&mut self) {
        let (_, view) = self.recovery_and_view();
        let congestion = view.marked();
        debug_assert_eq!(congestion.signal, Signal::Ecn);
        self.fly.cc.on_congestion(&congestion);
        self.conn.ecn.reduced_until = Some(self.seq.max);
        self.conn.note_mark_reduction();
    }
}

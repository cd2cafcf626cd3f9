//! The sender as in Linux: RACK-TLP (RFC 8985) finds losses, PRR (RFC 9937) reduces the window,
//! DSACK (RFC 3708), timestamps (RFC 3522) and F-RTO (RFC 5682) undo spurious reductions. Counts
//! are in segments, as in Linux.

mod ack;
mod frto;
mod losses;
mod output;
mod reduction;
mod tlp;

use lasthop_units::{Duration, Instant};

use super::Sender;
use super::detector::{Ack, Believed, Detector, LossRecovery};
use super::in_flight::InFlight;
use super::sequence::SendSequence;
use super::usage::Usage;
use crate::cc::{CongestionControl, TransmitStart};
use crate::config::Config;
use crate::endpoint::connection::Connection;
use crate::endpoint::receive::Receiver;
use crate::endpoint::rtt::echoed_time;
use crate::endpoint::timers::Timer;
use crate::recovery::{AckDigest, CaState, Outcome};
use crate::segment::Segment;

/// The detector of RACK-TLP.
pub struct RackTlp;

impl Detector for RackTlp {
    const WINDOW_ENDS_IDLENESS: bool = true;
    const USES_LATE_REPORTS: bool = true;

    fn before(x: &LossRecovery<'_>, usage: &Usage, d: &mut AckDigest) {
        let in_flight = u64::from(x.fly.rack.in_flight());
        let window = u64::from(x.fly.whole_window(x.conn));
        let slow_start = x.fly.cc.cwnd() < x.fly.cc.ssthresh();
        let full = if x.conn.config.host.usage_per_window {
            usage.was_limited(window, slow_start)
        } else {
            // tcp_is_cwnd_limited: in slow start half the window in use is enough.
            in_flight + 1 > window || (slow_start && window < 2 * in_flight)
        };
        d.state_before = x.fly.recovery.state();
        d.cwnd_limited = full || d.state_before == CaState::Loss;
        d.flight_before = in_flight * u64::from(x.conn.negotiated.mss);
        d.lost_before = x.fly.rack.total_lost;
        // What SACKs had reported before this ACK: an ACK with them carries no information on their
        // order.
        d.highest_before = if x.fly.rack.sacked > 0 { x.fly.recovery.board().highest() } else { 0 };
    }

    fn take_sack(x: &mut LossRecovery<'_>, a: Ack<'_>, d: &mut AckDigest) {
        let mut highest = x.fly.recovery.board().highest().max(x.seq.una);
        for (n, block) in a.seg.rare.sack.iter().enumerate() {
            let (start, end) = (x.seq.offset_of(block.start), x.seq.offset_of(block.end));
            if n == 0 && start < end && is_duplicate_report(x.seq, a, start, end) {
                x.conn.meters.counters.dsacks_received += 1;
                x.take_duplicate(start, end, d);
                continue;
            }
            if start < x.seq.una as i64 || start >= end || end > x.seq.max as i64 {
                continue;
            }
            let (start, end) = (start as u64, end as u64);
            let sacked = x.fly.recovery.board_mut().insert(start, end);
            if sacked == 0 {
                continue;
            }
            d.sacked += sacked;
            x.sack_segments(start, end, highest, d);
            highest = highest.max(end);
        }
        x.conn.meters.counters.sacked_octets += d.sacked;
        if let Some(low) = d.late.filter(|_| d.state_before != CaState::Loss || x.fly.undo.una.is_some()) {
            x.fly.rack.note_reordering(low, x.fly.recovery.board().highest(), x.conn.negotiated.mss);
        }
    }

    fn take_cumulative(x: &mut LossRecovery<'_>, a: Ack<'_>, d: &mut AckDigest) {
        let ack = a.ack as u64;
        while let Some(&s) = x.fly.flight.front().filter(|s| s.end <= ack) {
            let sacked = x.fly.rack.marks.front().is_some_and(|m| m.sacked);
            if s.transmissions > 1 {
                d.resent_acked = true;
            } else if !sacked {
                d.first_acked.get_or_insert(s.at);
                // An original that arrives after segments above it were SACKed: reordering.
                d.acked_from.get_or_insert(s.start());
                d.original |= x.fly.rack.high >= s.end;
            }
            x.deliver_oldest(&s, d);
        }
        x.fly.flight.advance(ack);
        x.fly.recovery.board_mut().advance(ack);
        if let Some(low) = d.acked_from {
            x.fly.rack.note_reordering(low, d.highest_before, x.conn.negotiated.mss);
        }
    }

    fn is_duplicate(x: &LossRecovery<'_>, a: Ack<'_>, d: &AckDigest) -> bool {
        let bare = a.seg.len == 0 && x.seq.is_outstanding() && !d.window_moved;
        (d.news || bare) && a.ack == x.seq.una as i64
    }

    fn measure_rtt(x: &mut LossRecovery<'_>, a: Ack<'_>, d: &AckDigest) {
        let sent = match d.first_acked.filter(|_| !d.resent_acked) {
            Some(at) => Some(at),
            None => d
                .last_sent
                .or_else(|| echoed_time(x.conn.negotiated.timestamps, x.now, a.seg).filter(|_| d.una_moved)),
        };
        if let Some(sent) = sent {
            x.conn.rtt.sample(&mut x.conn.meters, x.now, sent, 1);
        }
    }

    fn judge(x: &mut LossRecovery<'_>, a: Ack<'_>, d: &mut AckDigest, _duplicate: bool) -> Outcome {
        x.fly.delivered += d.octets;
        let was_outstanding = x.seq.una - d.passed < x.seq.max;
        if was_outstanding || d.segments > 0 {
            x.respond(a, d);
        } else if d.duplicate {
            // tcp_ack, no_queue.
            x.undo_afterwards(d);
            x.answer_probe(d);
        }
        // What it has begun and ended is done.
        Outcome::default()
    }

    fn rearm(x: &mut LossRecovery<'_>, d: &AckDigest, _outcome: Outcome, pending: bool) {
        if !x.seq.is_outstanding() {
            if d.una_moved {
                x.conn.timers.stop(Timer::Retransmission);
            }
            x.conn.timers.stop_for_loss();
            return;
        }
        // A SACK of segments sent before the last transmission of the oldest does not postpone the
        // timeout.
        let older = |at: Instant| x.fly.flight.front().is_some_and(|head| at < head.at);
        if !d.una_moved && !d.last_sent.is_some_and(older) {
            return;
        }
        // Where the reordering timer runs, no other one is set (tcp_identify_packet_loss).
        let timeout = x.conn.rtt.rto.current();
        if !x.conn.timers.runs(Timer::Reordering) && !x.schedule_probe(timeout) {
            x.rearm_rto(pending);
        }
    }

    /// Recovery has answered them.
    fn respond_to_marks(_x: &mut LossRecovery<'_>) {}

    fn on_timeout(x: &mut LossRecovery<'_>, repeated: bool) -> Outcome {
        if x.watches_timeouts() {
            x.watch_timeout(repeated);
        } else {
            x.enter_loss_by_rack(repeated);
        }
        x.fly.recovery.set_head_is_due(true);
        Outcome::default()
    }

    fn next_segment(
        send: &mut Sender,
        c: &mut Connection,
        r: &mut Receiver,
        now: Instant,
    ) -> Option<Segment> {
        Self::send_by_rack(send, c, r, now)
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

    fn note_new(fly: &mut InFlight, now: Instant, idle: Duration) {
        if fly.rack.in_flight() == 0 {
            fly.cc.on_transmit_start(&TransmitStart { now, idle, app_limited: fly.rack.app_limited != 0 });
        }
        fly.rack.sent(now, fly.delivered);
        fly.reduction.prr.sent(1.0);
    }

    fn after_new_data(x: &mut LossRecovery<'_>) {
        x.schedule_probe_after_data();
    }

    /// tcp_rate_check_app_limited.
    fn note_app_limited(fly: &mut InFlight, mss: u32) {
        let in_flight = u64::from(fly.rack.in_flight()) * u64::from(mss);
        fly.rack.app_limited = (fly.delivered + in_flight).max(1);
    }

    fn cwnd_edge(fly: &InFlight, seq: &SendSequence, c: &Connection) -> u64 {
        seq.max + Self::room(fly, c).max(0) as u64 * u64::from(c.negotiated.mss)
    }

    fn in_flight(fly: &InFlight) -> u32 {
        fly.rack.in_flight()
    }

    /// What SACKs report is not in flight, so that no window is inflated.
    fn inflation(_fly: &InFlight, _config: &Config) -> f64 {
        0.0
    }

    fn packets(fly: &InFlight) -> usize {
        fly.rack.packets as usize
    }

    fn reordering(fly: &InFlight, _config: &Config) -> u32 {
        fly.rack.reordering
    }

    fn believed(fly: &InFlight, _seq: &SendSequence, _mss: u32) -> Believed {
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
    let Some(second) = a.seg.rare.sack.iter().nth(1) else { return false };
    start >= seq.offset_of(second.start) && end <= seq.offset_of(second.end)
}

//! The processing of an ACK: the delivered segments, their consequences, and the sample for the
//! congestion control.

use lasthop_units::Duration;

use super::super::detector::{Ack, LossRecovery};
use crate::cc::{AckSample, CongestionControl, Signal};
use crate::config::LossDetection;
use crate::endpoint::rtt::echoed_time;
use crate::flight::Sent;
use crate::recovery::{AckDigest, CaState, Delivered};

impl LossRecovery<'_> {
    pub(super) fn sack_segments(&mut self, start: u64, end: u64, highest: u64, d: &mut AckDigest) {
        let Some(mut i) = self.fly.flight.index_of(start) else { return };
        if self.fly.flight.get(i).is_some_and(|s| s.start() < start) {
            i += 1;
        }
        let after = self.fly.flight.ending_by(end).max(i);
        self.fly.rack.cut_before(i);
        // A block repeats older reports: segments SACKed already are skipped at once.
        while let Some(next) = self.fly.rack.unsacked(i..after) {
            i = next + 1;
            let Some(s) = self.fly.flight.get(next).copied() else { break };
            d.beyond |= self.fly.frto.watch.is_some_and(|w| s.end > w.high);
            // Sent once, and SACKed below what was SACKed before: the path reorders (RFC 8985
            // section 6.2 step 3).
            if s.transmissions == 1 {
                if s.start() < highest {
                    d.late = Some(d.late.map_or(s.start(), |l| l.min(s.start())));
                }
                d.original |= self.fly.rack.high >= s.end;
            }
            let delivered = self.delivered(&s);
            self.fly.rack.delivered(d, next, delivered);
            self.fly.rack.mark_sacked(next);
            d.news = true;
        }
        self.fly.rack.cut_before(after);
    }

    /// The peer reports a duplicate (tcp_dsack_seen, tcp_check_dsack).
    pub(super) fn take_duplicate(&mut self, start: i64, end: i64, d: &mut AckDigest) {
        let mut segments = 1;
        if self.conn.config.loss.loss_detection != LossDetection::Fack {
            segments = ((end - start) as u64).div_ceil(u64::from(self.conn.negotiated.mss).max(1));
            self.fly.rack.reported_again += segments;
            // More duplicates than retransmissions: the network has made them.
            if self.fly.rack.reported_again > self.conn.meters.counters.retransmitted_segments {
                return;
            }
        }
        d.duplicate = true;
        let probe = segments == 1 && self.fly.tlp.outstanding.is_some_and(|(high, _)| high as i64 == end);
        self.fly.undo.take_duplicate(start, segments);
        // A probe is sent by a timer, not because segments have overtaken others.
        if !probe {
            self.fly.rack.note_dsack(self.seq.una, self.seq.max);
        }
    }

    /// The oldest segment, `s`, is acknowledged and leaves.
    #[inline]
    pub(super) fn deliver_oldest(&mut self, s: &Sent, d: &mut AckDigest) {
        let delivered = self.delivered(s);
        self.fly.rack.deliver_oldest(d, &delivered);
        self.fly.flight.pop();
    }

    #[inline]
    fn delivered(&self, s: &Sent) -> Delivered {
        Delivered {
            now: self.now,
            at: s.at,
            end: s.end,
            octets: u64::from(s.octets()),
            transmissions: s.transmissions,
            min_rtt: self.conn.rtt.min.unwrap_or(Duration::ZERO),
        }
    }

    /// What the sender makes of an ACK: tcp_ack's second half.
    pub(super) fn respond(&mut self, a: Ack<'_>, d: &AckDigest) {
        let seg = a.seg;
        self.fly.frto.prefer_new = false;
        self.answer_probe(d);
        let echo = seg.timestamps.filter(|t| self.conn.negotiated.timestamps && t.echo != 0).map(|t| t.echo);
        if self.fly.recovery.state() == CaState::Open {
            self.fly.undo.first_resent = None;
        }
        let late = self.fly.undo.is_late(echo);
        let hold = self.judge_timeout(a, d);
        let before = self.fly.recovery.state();
        let marked =
            self.conn.ecn.settle(&self.conn.negotiated, &mut self.conn.meters.counters, before, d.octets);
        if self.conn.ecn.signals_congestion() {
            // An ECE ACK prohibits undoing, the reduction is required (tcp_fastretrans_alert).
            self.fly.undo.prior = None;
        }
        let mut only_new_data = false;
        match before {
            CaState::Recovery if self.seq.una >= self.fly.rack.high => self.end_recovery(late),
            // CWR lasts until something above high_seq is acknowledged (tcp_fastretrans_alert).
            CaState::Cwr if self.seq.una > self.fly.rack.high => self.end_recovery(false),
            CaState::Recovery if d.una_moved && late && self.undoes_in_parts() => {
                only_new_data = self.undo_partial(d);
            }
            CaState::Recovery if d.duplicate && self.fly.undo.is_superfluous() => self.undo_by_dsack(),
            CaState::Loss => self.after_timeout(d, late),
            CaState::Open | CaState::Disorder => self.undo_afterwards(d),
            _ => {}
        }
        if only_new_data {
            // Nothing is marked (tcp_fastretrans_alert returns).
            self.inform_control(a, d, marked, hold);
            self.reduce(d);
            return;
        }
        let rack_moved = self.fly.rack.take_advanced();
        let judging = self.fly.frto.watch.is_some();
        let resent = self.fly.rack.resent;
        if (rack_moved || self.fly.rack.lost > 0) && !judging {
            self.detect_losses();
        }
        // FLAG_LOST_RETRANS (tcp_identify_packet_loss).
        let lost_again = self.fly.rack.resent < resent;
        if !judging && self.may_enter_recovery(lost_again) {
            if self.fly.rack.lost > 0 {
                self.enter_recovery();
            } else {
                self.try_to_open();
            }
        }
        let reducing = self.is_reducing();
        self.inform_control(a, d, marked, hold);
        if reducing {
            self.reduce(d);
        } else if self.fly.cc.take_reduction() && self.fly.recovery.state() != CaState::Loss {
            self.enter_cwr(Signal::Loss);
        }
    }

    /// Nothing is lost (tcp_try_to_open).
    fn try_to_open(&mut self) {
        self.forget_first_resent();
        if self.fly.recovery.state() == CaState::Cwr {
            return;
        }
        if self.conn.ecn.signals_congestion() {
            self.enter_cwr(Signal::Ecn);
            self.conn.note_mark_reduction();
        } else {
            let state = if self.fly.rack.sacked > 0 { CaState::Disorder } else { CaState::Open };
            self.fly.recovery.set_state(state);
        }
    }

    /// The round trip of the newest segment delivered; of the echoed timestamp when it was sent
    /// again (tcp_ack_update_rtt).
    pub(super) fn round_trip(&self, a: Ack<'_>, d: &AckDigest) -> Option<Duration> {
        let sent = if d.resent_acked && !d.news && d.una_moved {
            echoed_time(self.conn.negotiated.timestamps, self.now, a.seg)
        } else {
            d.last_sent
        };
        sent.map(|at| self.now.since(at))
    }

    pub(super) fn inform_control(&mut self, a: Ack<'_>, d: &AckDigest, marked: u64, hold: bool) {
        let mss = u64::from(self.conn.negotiated.mss);
        let min_rtt = self.conn.rtt.min.unwrap_or(Duration::ZERO);
        let rate = self.fly.rack.rate(
            d,
            self.now,
            self.fly.delivered,
            d.flight_before,
            min_rtt,
            self.conn.negotiated.mss,
        );
        let state = self.fly.recovery.state();
        // tcp_may_raise_cwnd: where the path reorders, what arrives out of order counts too.
        let in_any_order = d.news && self.fly.rack.reordering > self.conn.config.loss.dup_threshold;
        let loss = self.take_loss();
        let sample = AckSample {
            now: self.now,
            acked: if d.una_moved {
                d.octets.max(1)
            } else if in_any_order {
                d.octets
            } else {
                0
            },
            delivered: u64::from(d.segments) * mss,
            total_delivered: self.fly.delivered,
            marked,
            lost: (self.fly.rack.total_lost - d.lost_before) * mss,
            loss,
            in_flight: u64::from(self.fly.rack.in_flight()) * mss,
            una: self.seq.una,
            nxt: self.seq.nxt,
            flight_before: d.flight_before,
            peer_window: self.seq.wnd,
            mss: self.conn.negotiated.mss,
            rtt: self.round_trip(a, d),
            srtt: self.conn.rtt.rto.srtt(),
            rate,
            state,
            cwnd_limited: d.cwnd_limited,
            may_grow: (d.una_moved || in_any_order) && !self.is_reducing() && !hold,
            passed: d.passed,
            delivered_since_sent: d.delivered_since_sent(self.fly.delivered),
            sacked: self.fly.rack.sacked > 0,
            before: d.state_before,
            stamps: a.seg.timestamps.filter(|_| self.conn.negotiated.timestamps),
            ..AckSample::default()
        };
        self.fly.cc.on_ack(&sample);
    }
}

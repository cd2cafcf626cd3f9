//! Connection set-up: the LISTEN and SYN-SENT parts of RFC 9293 section 3.10.7, and the options of
//! the SYN.

use lasthop_units::Instant;

use super::{Endpoint, Event};
use crate::cc::{CongestionControl, Established};
use crate::host::WindowRule;
use crate::recovery::{Rack, Recovery};
use crate::segment::{Flags, Segment};
use crate::state::{Input, State};

impl Endpoint {
    /// SND.NXT moves over the SYN, which will leave at the next `poll_transmit`.
    pub(super) fn start_syn(&mut self, now: Instant) {
        self.syn_due = true;
        self.nxt = 1;
        self.max = 1;
        // Linux scales for net.ipv4.tcp_rmem's maximum, of which half is window.
        let buffer = self.config.receive_buffer << u32::from(self.config.receive_tuning);
        self.rcv_scale = scale_for(self.config.host.scale_for.unwrap_or(buffer));
        self.last_sent = now;
    }

    /// LISTEN (RFC 9293 section 3.10.7.2).
    pub(super) fn in_listen(&mut self, now: Instant, seg: &Segment) {
        // First a reset, second an ACK, third a SYN.
        if seg.flags.has(Flags::RST) {
            return;
        }
        if seg.flags.has(Flags::ACK) {
            self.answer_with_reset(seg);
            return;
        }
        if !seg.flags.has(Flags::SYN) {
            return;
        }
        self.passive = true;
        self.take_syn(now, seg);
        self.step(Input::Syn);
        self.start_syn(now);
        self.take_peer_options(seg);
        // What the SYN-ACK offers depends on its options.
        self.rcv_edge = 1 + self.first_window();
        self.wnd = u64::from(seg.window);
    }

    /// SYN-SENT (RFC 9293 section 3.10.7.3).
    pub(super) fn in_syn_sent(&mut self, now: Instant, seg: &Segment) {
        let acks = seg.flags.has(Flags::ACK);
        if acks && seg.ack != self.seq_of(1) {
            if !seg.flags.has(Flags::RST) {
                self.answer_with_reset(seg);
            }
            return;
        }
        if seg.flags.has(Flags::RST) {
            if acks {
                self.finish(Event::Reset);
            }
            return;
        }
        if !seg.flags.has(Flags::SYN) {
            return;
        }
        self.take_syn(now, seg);
        self.take_peer_options(seg);
        self.set_window_from_syn(seg);
        if acks {
            self.step(Input::SynAck);
            self.ack.at_once();
            self.established(now, seg);
        } else {
            // Simultaneous open: our SYN again, now with an ACK.
            self.step(Input::Syn);
            self.syn_due = true;
        }
    }

    fn take_syn(&mut self, now: Instant, seg: &Segment) {
        self.irs = seg.seq;
        self.rcv_nxt = 1;
        self.read_to = 1;
        self.rcv_edge = 1 + self.first_window();
        if let Some(t) = seg.timestamps {
            self.ts_recent = t.value;
            self.ts_recent_at = now;
        }
        if self.config.host.takes_syn_text {
            self.syn_text = seg.len;
        }
    }

    /// Data that came with the SYN. A FIN that came with it (T/TCP, Historic by RFC 6247) is left
    /// to its retransmission.
    #[cold]
    fn take_syn_text(&mut self, now: Instant) {
        let text = Segment { len: std::mem::take(&mut self.syn_text), ..Segment::default() };
        self.take_text(now, &text, 1);
    }

    fn set_window_from_syn(&mut self, seg: &Segment) {
        self.wnd = u64::from(seg.window);
        self.max_wnd = self.wnd;
        self.wl1 = 0;
        self.wl2 = self.una;
    }

    /// Options count only when both sides offered them.
    fn take_peer_options(&mut self, seg: &Segment) {
        self.timestamps = self.config.timestamps && seg.timestamps.is_some();
        self.sack = self.config.sack && seg.syn.sack_permitted();
        self.take_peer_ecn(seg);
        self.peer_scales = seg.syn.window_scale().is_some();
        match seg.syn.window_scale().filter(|_| self.config.window_scaling) {
            Some(shift) => self.snd_scale = shift,
            None => {
                self.snd_scale = 0;
                self.rcv_scale = 0;
            }
        }
        // RFC 9293 section 3.7.1: without the option the peer takes 536 octets. RFC 6691: the MSS
        // includes options.
        let peer = seg.syn.mss().unwrap_or(536);
        let fixed_options = if self.timestamps { 12 } else { 0 };
        self.mss = u32::from(peer.min(self.config.mss)).saturating_sub(fixed_options).max(1);
    }

    /// Both numbers are known: the parts that depend on the negotiation are made.
    pub(super) fn established(&mut self, now: Instant, seg: &Segment) {
        self.una = 1;
        self.last_data_at = now;
        if self.config.receive_tuning || self.config.host.window == WindowRule::Linux {
            self.start_right_sizing(now);
        }
        self.max_wnd = self.wnd;
        self.mss = self.mss.saturating_sub(self.reserve_accecn()).max(1);
        self.recovery = Recovery::new(&self.config, self.sack, self.mss);
        self.recovery.board_mut().advance(self.una);
        *self.rack = Rack::default();
        self.rto_at = Instant::MAX;
        self.timeouts_in_a_row = 0;
        let once = self.syn_transmissions == 1;
        if once {
            // RFC 6298: the handshake gives the first sample; Karn's rule excludes a repeated SYN.
            self.take_rtt_sample(now, self.syn_sent_at, 1);
        } else {
            self.rto.start_conservatively();
        }
        // RFC 5681 section 3.1: a lost SYN means an initial window of one segment.
        let reduced = !once && self.config.initial_window.is_none();
        let initial_window = if reduced { 1.0 } else { self.config.initial_window_segments(self.mss) };
        let rtt = once.then(|| now.since(self.syn_sent_at));
        let seed = u64::from(self.isn.0);
        self.cc.on_established(&Established { now, rtt, initial_window, nxt: self.nxt, mss: self.mss, seed });
        self.expand_send_buffer();
        self.cut_queue_anew();
        self.wl1 = self.rcv_offset_of(seg.seq);
        self.emit(Event::Established);
        if self.syn_text > 0 {
            self.take_syn_text(now);
        }
        self.take_close();
        self.update_timers(now);
    }

    /// A reset for a segment that belongs to no connection (RFC 9293 section 3.10.7.1).
    pub(super) fn answer_with_reset(&mut self, seg: &Segment) {
        if seg.flags.has(Flags::RST) {
            return;
        }
        self.reset = Some(if seg.flags.has(Flags::ACK) {
            Segment { seq: seg.ack, flags: Flags::RST, ..Segment::default() }
        } else {
            Segment {
                ack: seg.seq + seg.sequence_len(),
                flags: Flags::RST | Flags::ACK,
                ..Segment::default()
            }
        });
    }
}

/// The smallest shift with which 16 bits hold `buffer`; 0 to 14 (RFC 7323 section 2.2).
fn scale_for(buffer: u64) -> u8 {
    (0..14).find(|&s| buffer >> s <= u64::from(u16::MAX)).unwrap_or(14)
}

impl Endpoint {
    /// True before the handshake is done.
    pub(super) fn is_opening(&self) -> bool {
        matches!(self.state, State::SynSent | State::SynReceived)
    }
}

//! Connection set-up: the SYN and its options, and the parts created when both have arrived.

use lasthop_units::Instant;

use super::connection::Connection;
use super::meters::Event;
use super::receive::Receiver;
use super::rtt::echoed_time;
use super::send::Sender;
use super::timers::Timer;
use crate::cc::{CongestionControl, Established};
use crate::host::WindowRule;
use crate::recovery::{Rack, Recovery};
use crate::sample::timestamp;
use crate::segment::{Flags, Segment, SynOptions, Timestamps};
use crate::state::State;

/// The state of the SYN.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Handshake {
    /// It waits to leave.
    pub due: bool,
    sent_at: Instant,
    first_sent_at: Instant,
    transmissions: u32,
    /// Octets of data that the peer's SYN carried, until the connection is established.
    text: u32,
}

impl Handshake {
    /// SND.NXT moves over the SYN, which will leave at the next `poll_transmit`.
    pub fn start(&mut self, c: &mut Connection, send: &mut Sender, now: Instant) {
        self.due = true;
        send.seq.sent(1);
        // Linux scales for net.ipv4.tcp_rmem's maximum, of which half is window.
        let buffer = c.config.buffers.receive_buffer << u32::from(c.config.buffers.receive_tuning);
        c.negotiated.rcv_scale = scale_for(c.config.host.scale_for.unwrap_or(buffer));
        send.last_sent = now;
    }

    /// The peer's SYN, with ours to be sent (`passive`) or already sent.
    pub fn take_syn(
        &mut self,
        c: &mut Connection,
        receive: &mut Receiver,
        now: Instant,
        seg: &Segment,
        passive: bool,
    ) {
        receive.take_syn(c, now, seg, passive);
        if c.config.host.takes_syn_text {
            self.text = seg.len;
        }
    }

    /// Options count only when both sides offered them.
    pub fn take_peer_options(&self, c: &mut Connection, seg: &Segment) {
        let n = &mut c.negotiated;
        n.timestamps = c.config.negotiated.timestamps && seg.timestamps.is_some();
        n.sack = c.config.negotiated.sack && seg.syn.sack_permitted();
        c.ecn.take_peer(c.config.ecn.mode, seg, self.transmissions);
        n.peer_scales = seg.syn.window_scale().is_some();
        match seg.syn.window_scale().filter(|_| c.config.negotiated.window_scaling) {
            Some(shift) => n.snd_scale = shift,
            None => {
                n.snd_scale = 0;
                n.rcv_scale = 0;
            }
        }
        // RFC 9293 section 3.7.1: without the option the peer takes 536 octets. RFC 6691: the MSS
        // includes options.
        let peer = seg.syn.mss().unwrap_or(536);
        n.mss = u32::from(peer.min(c.config.window.mss)).saturating_sub(n.fixed_options()).max(1);
    }

    /// The SYN or SYN-ACK, if it is to leave.
    pub fn syn(
        &mut self,
        c: &mut Connection,
        send: &mut Sender,
        receive: &mut Receiver,
        now: Instant,
    ) -> Option<Segment> {
        if !self.due {
            return None;
        }
        self.due = false;
        self.transmissions += 1;
        self.sent_at = now;
        if self.transmissions == 1 {
            self.first_sent_at = now;
        }
        send.last_sent = now;
        c.meters.counters.segments_sent += 1;
        c.meters.counters.retransmitted_segments += u64::from(self.transmissions > 1);
        if !c.timers.runs(Timer::Retransmission) {
            c.timers.start(Timer::Retransmission, now, c.rtt.rto.current());
        }
        let answers = c.state == State::SynReceived;
        // An answer offers only what was offered (RFC 7323 sections 1.3 and 3.2, RFC 2018 section
        // 2).
        let (config, n) = (&c.config, &c.negotiated);
        let scaling = config.negotiated.window_scaling && (!answers || n.peer_scales);
        let mut segment = Segment {
            seq: send.seq.isn,
            flags: Flags::SYN,
            window: receive.first_window(c) as u16,
            syn: SynOptions::new(
                config.host.announces_mss.then_some(config.window.mss),
                scaling.then_some(n.rcv_scale),
                if answers { n.sack } else { config.negotiated.sack },
            ),
            len: if answers { 0 } else { config.timers.syn_filler },
            ..Segment::default()
        };
        if answers {
            segment.ack = receive.acknowledge();
            segment.flags |= Flags::ACK;
        }
        let timestamps = if answers { n.timestamps } else { config.negotiated.timestamps };
        if timestamps {
            let echo = if answers { receive.ts_recent } else { 0 };
            segment.timestamps = Some(Timestamps { value: timestamp(now), echo });
        }
        c.ecn.on_syn(&c.config, &mut segment, answers, self.transmissions);
        Some(segment)
    }

    /// The SYN was not answered in time. False: the connection is aborted.
    pub fn timeout(&mut self, c: &mut Connection, send: &mut Sender, now: Instant) -> bool {
        send.unanswered.timeouts += 1;
        let count = send.unanswered.timeouts;
        if c.config.timers.syn_retries.is_some_and(|max| count > max) {
            return false;
        }
        c.meters.counters.timeouts += 1;
        c.ecn.reduced();
        c.meters.emit(Event::RtoFired { count });
        c.rtt.rto.back_off();
        self.due = true;
        if self.transmissions >= c.config.host.option_syns && c.state == State::SynSent {
            stop_offering(c);
        }
        c.timers.start(Timer::Retransmission, now, c.rtt.rto.current());
        true
    }

    /// Both initial sequence numbers are known: creates the parts that depend on the negotiation.
    /// `seg` is the segment that ended the handshake.
    pub fn established(
        &mut self,
        c: &mut Connection,
        send: &mut Sender,
        receive: &mut Receiver,
        now: Instant,
        seg: &Segment,
    ) {
        send.seq.una = 1;
        send.seq.room_moved = true;
        receive.last_data_at = now;
        receive.start_measuring(c);
        if c.config.buffers.receive_tuning || c.config.host.window == WindowRule::Linux {
            receive.start_right_sizing(c, now);
        }
        send.seq.max_wnd = send.seq.wnd;
        // What data segments leave for the AccECN option [octets].
        let reserved = c.ecn.accurate.as_deref_mut().map_or(0, |a| a.reserve(&c.config));
        c.negotiated.mss = c.negotiated.mss.saturating_sub(reserved).max(1);
        send.fly.recovery = Recovery::new(&c.config, c.negotiated.sack, c.negotiated.mss);
        send.fly.recovery.board_mut().advance(send.seq.una);
        *send.fly.rack = Rack::default();
        c.timers.stop(Timer::Retransmission);
        let timed_out = std::mem::take(&mut send.unanswered.timeouts) > 0;
        let answered = self.answered(c, now, seg);
        match answered {
            Some(sent_at) => c.rtt.sample(&mut c.meters, now, sent_at, 1),
            None => c.rtt.rto.start_conservatively(),
        }
        let reduced = self.reduces_window(c, seg, timed_out);
        let mss = c.negotiated.mss;
        send.fly.cc.on_established(&Established {
            now,
            rtt: answered.map(|sent_at| now.since(sent_at)),
            initial_window: if reduced { 1.0 } else { c.config.initial_window_segments(mss) },
            nxt: send.seq.nxt,
            mss,
            seed: u64::from(send.seq.isn.0),
        });
        if let Some(memory) = &mut send.limits.memory {
            memory.expand(c, &send.fly);
        }
        send.cut_queue_anew(c);
        send.seq.wl1 = receive.offset_of(seg.seq);
        c.meters.emit(Event::Established);
        if self.text > 0 {
            self.take_text(c, receive, now);
        }
        send.seq.take_close(c);
        send.update_timers(c, now);
    }

    /// When the SYN was sent that `seg` answers, if that is known. RFC 6298: the handshake gives
    /// the first sample; Karn's rule excludes a repeated SYN. tcp_ack_update_rtt takes the
    /// timestamp then.
    fn answered(&self, c: &Connection, now: Instant, seg: &Segment) -> Option<Instant> {
        match self.transmissions {
            1 => Some(self.sent_at),
            _ if c.config.host.times_repeated_syn => echoed_time(c.negotiated.timestamps, now, seg),
            _ => None,
        }
    }

    /// The initial window is one segment.
    fn reduces_window(&self, c: &Connection, seg: &Segment, timed_out: bool) -> bool {
        if c.config.host.times_repeated_syn {
            // tcp_try_undo_spurious_syn: the original arrived.
            let original = timestamp(self.first_sent_at);
            let spurious = c.negotiated.timestamps && seg.timestamps.is_some_and(|t| t.echo == original);
            // tcp_init_transfer: total_retrans > 1 && undo_marker.
            return self.transmissions > 2 && timed_out && !spurious;
        }
        // RFC 5681 section 3.1: a lost SYN means an initial window of one segment.
        self.transmissions > 1 && c.config.window.initial_window.is_none()
    }

    /// Data that came with the SYN. A FIN that came with it (T/TCP, Historic by RFC 6247) is left
    /// to its retransmission.
    #[cold]
    fn take_text(&mut self, c: &mut Connection, receive: &mut Receiver, now: Instant) {
        let text = Segment { len: std::mem::take(&mut self.text), ..Segment::default() };
        receive.take_text(c, now, &text, 1);
    }
}

/// Sends no further options: a middlebox may drop segments with them.
#[cold]
fn stop_offering(c: &mut Connection) {
    c.config.negotiated.timestamps = false;
    c.config.negotiated.sack = false;
    c.config.negotiated.window_scaling = false;
    (c.negotiated.timestamps, c.negotiated.sack) = (false, false);
}

/// The smallest shift with which 16 bits hold `buffer`; 0 to 14 (RFC 7323 section 2.2).
fn scale_for(buffer: u64) -> u8 {
    (0..14).find(|&s| buffer >> s <= u64::from(u16::MAX)).unwrap_or(14)
}

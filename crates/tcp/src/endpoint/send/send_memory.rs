//! The send buffer as in Linux: octets of memory, including the overhead of the packets that hold
//! the data, in a buffer that grows with the congestion window (`send_tuning`).
//!
//! Linux 6.1: tcp_sndbuf_expand, tcp_should_expand_sndbuf, tcp_check_space (net/ipv4/tcp_input.c),
//! sk_stream_memory_free, sk_stream_min_wspace (include/net/sock.h). Sent data stays in memory
//! until it is acknowledged: while SND.UNA does not move, the sender runs out of memory and stops.
//! tcp_retransmit_skb refuses while sk_wmem_alloc, the memory of packets in the host's own queue
//! and device, is above a bound. Here no packet waits in the host, so this does not occur.

use super::super::connection::Connection;
use super::Sender;
use super::detector::Detector;
use super::dispatch::by_detector;
use super::in_flight::InFlight;
use crate::cc::CongestionControl;
use crate::config::Config;

/// SKB_TRUESIZE of a packet's head: kmalloc(1024) for MAX_TCP_HEADER and skb_shared_info, less the
/// latter (320), and sizeof(struct sk_buff) and skb_shared_info, aligned (256 + 320) \[octets\].
/// Data is in pages and counts by its octets.
pub(super) const PACKET_OVERHEAD: u64 = 1024 - 320 + 256 + 320;
/// MAX_TCP_HEADER and skb_shared_info \[octets\].
const HEADERS: u64 = 320 + 320;
/// sizeof(struct sk_buff), aligned \[octets\].
const DESCRIPTOR: u64 = 256;

/// The buffer.
#[derive(Clone, Copy, Debug)]
pub struct SendMemory {
    /// sk_sndbuf \[octets\].
    pub size: u64,
    /// SOCK_NOSPACE: the application found the buffer full, and waits until a third of it is free.
    full: bool,
}

impl SendMemory {
    /// The buffer of a new connection, where it grows by itself (tcp_init_sock).
    pub fn new(config: &Config) -> Option<SendMemory> {
        config
            .buffers
            .send_tuning
            .then_some(SendMemory { size: config.buffers.send_buffer_start, full: false })
    }

    /// Octets that the application may write now if `queued` octets are in memory: whole packets of
    /// `goal` octets, because with sk_stream_memory_free the last packet may exceed the buffer.
    /// `open`: octets for which the last packet still has room.
    pub fn room(&self, queued: u64, goal: u64, open: u64) -> u64 {
        let free = self.size.saturating_sub(queued);
        if self.full || free == 0 {
            return 0;
        }
        open + free.saturating_sub(open).div_ceil(goal + PACKET_OVERHEAD) * goal
    }

    /// A packet more may begin (sk_stream_memory_free).
    pub const fn is_free(&self, queued: u64) -> bool {
        !self.full && queued < self.size
    }

    /// Called after all permitted segments have left (tcp_check_space): a waiting application may
    /// continue when a third of the buffer is free; a buffer smaller than the congestion window
    /// needs grows.
    #[inline(never)]
    pub fn check(&mut self, c: &Connection, fly: &InFlight, queued: u64) {
        if f64::from(by_detector!(fly, D => D::in_flight(fly))) < fly.cc.cwnd().floor() {
            self.expand(c, fly);
        }
        self.full = self.size.saturating_sub(queued) < (queued >> 1).max(1);
    }

    /// tcp_sndbuf_expand: memory for twice the congestion window (BBR: three times), each segment
    /// in a packet of its own whose memory is a power of two.
    pub fn expand(&mut self, c: &Connection, fly: &InFlight) {
        let segment = u64::from(c.config.window.mss).max(u64::from(c.negotiated.mss)) + HEADERS;
        let per_segment = segment.next_power_of_two() + DESCRIPTOR;
        let reordering = by_detector!(fly, D => D::reordering(fly, &c.config));
        let segments = (fly.cc.cwnd() as u64).max(INITIAL_WINDOW).max(u64::from(reordering) + 1);
        let windows = c.config.control_at_work().needs().send_buffer_windows;
        let wanted = windows * segments * per_segment;
        if self.size < wanted {
            self.size = wanted.min(c.config.buffers.send_buffer_max);
        }
    }
}

impl Sender {
    /// sk_wmem_queued: octets written and not acknowledged, with the overhead of their packets.
    pub fn memory_queued(&self, c: &Connection) -> u64 {
        let octets = self.seq.unacknowledged();
        let sent = by_detector!(self.fly, D => D::packets(&self.fly)) as u64;
        let waiting = match &self.limits.queue {
            Some(q) => q.packets_waiting() as u64,
            None => self.seq.notsent().div_ceil(self.seq.packet_goal(c)),
        };
        octets + PACKET_OVERHEAD * (sent + waiting)
    }

    /// Adjusts the size of a self-tuning send buffer, after all segments that may be sent were
    /// sent.
    #[inline]
    pub fn check_space(&mut self, c: &Connection) {
        if self.limits.memory.is_some() {
            let queued = self.memory_queued(c);
            if let Some(memory) = self.limits.memory.as_mut().filter(|memory| !memory.is_free(queued)) {
                memory.check(c, &self.fly, queued);
                self.seq.room_moved = true;
            }
        }
    }
}

/// TCP_INIT_CWND \[segments\].
const INITIAL_WINDOW: u64 = 10;

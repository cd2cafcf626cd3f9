//! The values for probes: `tcp_info` as in Linux, and counters.

use lasthop_units::{Bitrate, Duration, Instant, Seq};

use super::send::{self, limit_of};
use super::{Counters, Endpoint, Limit};
use crate::cc::{Cc, CongestionControl, Fault, Observer};
use crate::config::Config;
use crate::recovery::CaState;
use crate::state::State;

/// The agreement of the two ends of a connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct OptionsInUse {
    /// Timestamps (RFC 7323 section 3).
    pub timestamps: bool,
    /// Selective acknowledgement (RFC 2018).
    pub sack: bool,
    /// Both SYNs carried the window scale option (RFC 7323 section 2.2).
    pub window_scaling: bool,
    /// Both ends use ECN: data is sent ECN-capable.
    pub ecn: bool,
}

/// The sender's state in the terms of Linux' `struct tcp_info`, for probes; no algorithm uses it.
/// More than 25 fields: they are those of the kernel's structure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Info {
    /// Connection state.
    pub state: State,
    /// Sender's state.
    pub ca_state: CaState,
    /// Congestion window \[segments\], inflation by duplicate ACKs included.
    pub snd_cwnd: f64,
    /// Slow-start threshold \[segments\]; infinite when unknown.
    pub snd_ssthresh: f64,
    /// Segment size of the sender \[octets\].
    pub snd_mss: u32,
    /// Smoothed round-trip time; `None` before the first sample.
    pub rtt: Option<Duration>,
    /// Its variation.
    pub rttvar: Duration,
    /// Smallest round trip seen.
    pub min_rtt: Option<Duration>,
    /// Retransmission timeout in force, back-off included.
    pub rto: Duration,
    /// Factor of the back-off.
    pub backoff: u32,
    /// Segments sent and not cumulatively acknowledged.
    pub unacked: u32,
    /// SACKed octets, in segments.
    pub sacked: u32,
    /// Octets marked as lost, in segments.
    pub lost: u32,
    /// Outstanding segments that were sent more than once.
    pub retrans: u32,
    /// Segments sent again since the start.
    pub total_retrans: u64,
    /// Octets acknowledged since the start.
    pub bytes_acked: u64,
    /// Octets reported as delivered: acknowledged or SACKed.
    pub delivered: u64,
    /// Delivered octets with a congestion mark, in segments.
    pub delivered_ce: u64,
    /// SND.UNA on the wire.
    pub snd_una: Seq,
    /// SND.NXT on the wire.
    pub snd_nxt: Seq,
    /// Octets of our stream below SND.UNA, without wrapping; the SYN is number 0.
    pub una_offset: u64,
    /// Octets of our stream below SND.NXT, without wrapping.
    pub nxt_offset: u64,
    /// The peer's window \[octets\].
    pub snd_wnd: u64,
    /// The window we advertised last \[octets\].
    pub rcv_wnd: u64,
    /// Octets written and not yet sent.
    pub notsent_bytes: u64,
    /// The rate paced at; `None`: not paced.
    pub pacing_rate: Option<Bitrate>,
    /// The segment size announced to the peer, less the timestamps' twelve octets \[octets\].
    pub advmss: u32,
    /// The peer's segment size, where Linux' heuristics of ACKs measure it \[octets\]; 0 elsewhere.
    pub rcv_mss: u32,
    /// The largest distance by which a segment arrived late \[segments\].
    pub reordering: u32,
    /// How often reordering was observed.
    pub reord_seen: u32,
    /// Probes of a closed window that were not answered.
    pub probes: u32,
    /// When data arrived last; the start of the connection before any.
    pub last_data_recv: Instant,
    /// When data left last.
    pub last_data_sent: Instant,
}

/// Shows the variables of an endpoint's sender and of its congestion control.
pub fn observe(endpoint: &Endpoint, o: &mut Observer<'_>) {
    send::observe(&endpoint.send, &endpoint.conn, endpoint.ca_state(), o);
}

impl Endpoint {
    /// The sender's state in Linux' terms.
    pub fn info(&self) -> Info {
        let (c, send, receive) = (&self.conn, &self.send, &self.receive);
        let believed = send.believed(c);
        Info {
            state: c.state,
            ca_state: self.ca_state(),
            snd_cwnd: self.cwnd_segments(),
            snd_ssthresh: send.fly.cc.ssthresh(),
            snd_mss: c.negotiated.mss,
            rtt: c.rtt.rto.srtt(),
            rttvar: c.rtt.rto.rttvar(),
            min_rtt: c.rtt.min,
            rto: c.rtt.timeout(&c.config, &send.fly.cc),
            backoff: c.rtt.rto.backoff(),
            unacked: send.fly.flight.len() as u32,
            sacked: believed.sacked,
            lost: believed.lost,
            retrans: believed.resent,
            total_retrans: c.meters.counters.retransmitted_segments,
            bytes_acked: c.meters.counters.octets_acked,
            delivered: c.meters.counters.octets_acked + send.fly.recovery.board().sacked(),
            delivered_ce: c.meters.counters.delivered_ce,
            snd_una: send.seq.seq_of(send.seq.una),
            snd_nxt: send.seq.seq_of(send.seq.nxt),
            una_offset: send.seq.una,
            nxt_offset: send.seq.nxt,
            snd_wnd: send.seq.wnd,
            rcv_wnd: receive.edge.saturating_sub(receive.nxt),
            notsent_bytes: send.seq.notsent(),
            pacing_rate: send.fly.pacing_rate(c),
            advmss: c.announced(),
            rcv_mss: receive.ack.peer_segment().unwrap_or(0),
            reordering: send.fly.rack.reordering.max(c.config.loss.dup_threshold),
            reord_seen: send.fly.rack.reordering_seen,
            probes: if send.seq.wnd == 0 { send.unanswered.probes } else { 0 },
            last_data_recv: receive.last_data_at,
            last_data_sent: send.last_sent,
        }
    }

    /// The sender's state as Linux names it.
    #[inline]
    pub fn ca_state(&self) -> CaState {
        match self.send.fly.recovery.state() {
            CaState::Open | CaState::Disorder if self.conn.ecn.shows_cwr(self.send.seq.una) => CaState::Cwr,
            state => state,
        }
    }
    /// The reason why the endpoint does not send, once it has sent all that it may at `now`.
    pub fn limit(&self, now: Instant) -> Limit {
        limit_of(&self.send, &self.conn, now)
    }
    /// The connection's state.
    pub const fn state(&self) -> State {
        self.conn.state
    }
    /// Counts since the start.
    pub const fn counters(&self) -> &Counters {
        &self.conn.meters.counters
    }
    /// The latest round-trip sample.
    pub const fn last_rtt_sample(&self) -> Option<Duration> {
        self.conn.rtt.last
    }
    /// The values it runs on.
    pub const fn config(&self) -> &Config {
        &self.conn.config
    }
    /// The congestion control in use.
    pub const fn congestion_control(&self) -> &Cc {
        &self.send.fly.cc
    }
    /// The error in a caller's own congestion control, once.
    #[inline]
    pub fn control_fault(&mut self) -> Option<Fault> {
        self.send.fly.cc.custom().and_then(CongestionControl::fault)
    }
    /// The options on which the ends have agreed; before the handshake, those that will be offered
    /// or answered.
    pub const fn options_in_use(&self) -> OptionsInUse {
        OptionsInUse {
            timestamps: self.conn.negotiated.timestamps,
            sack: self.conn.negotiated.sack,
            window_scaling: self.conn.config.negotiated.window_scaling && self.conn.negotiated.peer_scales,
            ecn: self.conn.ecn.is_used(),
        }
    }
    /// For a connection with accurate feedback: the octets that the peer reports for ECT(1), ECT(0)
    /// and CE, and those that have arrived here with each.
    pub fn accurate_octets(&self) -> Option<([u64; 3], [u64; 3])> {
        self.conn.ecn.accurate.as_ref().map(|a| a.octets())
    }
    /// Octets written since the start.
    pub const fn octets_written(&self) -> u64 {
        self.send.seq.written - 1
    }
    /// Octets written and not acknowledged (Linux' SIOCOUTQ).
    pub fn unacknowledged(&self) -> u64 {
        self.send.seq.unacknowledged()
    }
    /// Octets written and not yet sent.
    #[inline]
    pub const fn notsent(&self) -> u64 {
        self.send.seq.notsent()
    }
    /// Everything written has been acknowledged.
    pub fn is_all_acked(&self) -> bool {
        self.send.seq.una >= self.send.seq.written
    }
    /// Octets of our stream below SND.UNA, without wrapping; the SYN is number 0.
    #[inline]
    pub const fn una_offset(&self) -> u64 {
        self.send.seq.una
    }
    /// Octets of the peer's data received in order and handed to the application.
    #[inline]
    pub fn in_order_received(&self) -> u64 {
        self.receive.in_order_received(&self.conn)
    }
    /// Octets of the peer's data that have arrived, each counted once, in order or not.
    pub fn octets_received(&self) -> u64 {
        self.receive.octets_received()
    }
    /// With `ack_ahead`: octets of the peer's data that were skipped, because later ones have
    /// arrived.
    pub const fn octets_skipped(&self) -> u64 {
        self.receive.octets_skipped()
    }
    /// Maximum of octets that an ACK acknowledges before they arrive (`ack_ahead`).
    pub fn largest_lead(&self) -> u64 {
        self.conn.largest_lead()
    }
    /// Segment size of the sender [octets].
    #[inline]
    pub const fn mss(&self) -> u32 {
        self.conn.negotiated.mss
    }
    /// Congestion window [segments], inflation by duplicate ACKs included.
    #[inline]
    pub fn cwnd_segments(&self) -> f64 {
        let config = &self.conn.config;
        (self.send.fly.cc.cwnd() + self.send.fly.recovery.inflation(config)).min(config.window_ceiling())
    }
    /// The send buffer in octets of memory, where it grows by itself (sk_sndbuf).
    pub fn send_memory(&self) -> Option<u64> {
        self.send.limits.memory.map(|m| m.size)
    }
    /// How long data was queued or in flight (tcpi_busy_time), how much of that the peer's window
    /// was too small (tcpi_rwnd_limited), and how much the send buffer (tcpi_sndbuf_limited).
    /// Counted with segmentation offload only.
    pub fn limited_times(&self, now: Instant) -> (Duration, Duration, Duration) {
        self.conn.meters.chrono.limited(now)
    }
}

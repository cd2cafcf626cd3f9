//! What probes may look at: `tcp_info` as Linux names it, and counters.

use lasthop_units::{Bitrate, Duration, Instant, Seq};

use super::Endpoint;
use crate::cc::{Cc, CongestionControl, Fault};
use crate::config::Config;
use crate::recovery::{CaState, Recovery};
use crate::state::State;

/// Counts since the start of the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Segments that left, of any kind.
    pub segments_sent: u64,
    /// Segments with data or FIN that left, retransmissions included.
    pub data_segments_sent: u64,
    /// Octets of data that left, retransmissions included.
    pub octets_sent: u64,
    /// Octets of our stream acknowledged, SYN excluded.
    pub octets_acked: u64,
    /// Octets reported by SACK for the first time.
    pub sacked_octets: u64,
    /// Segments that arrived, of any kind, duplicates included.
    pub segments_received: u64,
    /// Segments with data of which every octet had arrived before.
    pub duplicate_segments_received: u64,
    /// Retransmission timeouts, the SYN's included.
    pub timeouts: u64,
    /// Timeouts after which the original turned out to have arrived.
    pub spurious_timeouts: u64,
    /// Entries into fast recovery.
    pub fast_retransmits: u64,
    /// Segments sent again, for whatever reason.
    pub retransmitted_segments: u64,
    /// Octets of data sent again.
    pub retransmitted_octets: u64,
    /// Duplicate ACKs received and counted as such.
    pub dup_acks_received: u64,
    /// Duplicate ACKs sent: immediate ACKs of out-of-order data.
    pub dup_acks_sent: u64,
    /// Duplicates that the peer told of (RFC 2883).
    pub dsacks_received: u64,
    /// Reductions undone because they were for nothing.
    pub undone: u64,
    /// Tail loss probes (RFC 8985 section 7).
    pub loss_probes: u64,
    /// Round-trip samples taken.
    pub rtt_samples: u64,
    /// Segments that arrived with a congestion mark, where ECN was agreed on.
    pub ce_received: u64,
    /// Segments' worth of our data that the peer reported as marked (Linux: `tcpi_delivered_ce`).
    pub delivered_ce: u64,
    /// Reductions because of marks alone.
    pub mark_reductions: u64,
}

/// The sender's state in the terms of Linux' `struct tcp_info`.
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
    /// Segments' worth of octets SACKed.
    pub sacked: u32,
    /// Segments' worth of octets taken for lost.
    pub lost: u32,
    /// Outstanding segments that were sent more than once.
    pub retrans: u32,
    /// Segments sent again since the start.
    pub total_retrans: u64,
    /// Octets acknowledged since the start.
    pub bytes_acked: u64,
    /// Octets known to have arrived: acknowledged or SACKed.
    pub delivered: u64,
    /// Segments' worth of what was delivered that met a congestion mark.
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
    /// The largest distance by which a segment came late \[segments\].
    pub reordering: u32,
    /// How often that was seen.
    pub reord_seen: u32,
    /// Probes of a closed window that were not answered.
    pub probes: u32,
    /// When data arrived last; the start of the connection before any.
    pub last_data_recv: Instant,
    /// When data left last.
    pub last_data_sent: Instant,
}

impl Endpoint {
    /// The sender's state in Linux' terms.
    pub fn info(&self) -> Info {
        let segments = |octets: u64| octets.div_ceil(u64::from(self.mss)) as u32;
        let board = self.recovery.board();
        let inflated = self.cc.cwnd() + self.recovery.inflation(&self.config);
        let lost = match self.recovery.state() {
            _ if self.recovery.is_rack() => self.rack.lost,
            CaState::Recovery | CaState::Loss if self.recovery.is_sack() => segments(board.lost()),
            CaState::Recovery => 1,
            CaState::Loss => segments(self.max - self.nxt),
            _ => 0,
        };
        Info {
            state: self.state,
            ca_state: self.ca_state(),
            snd_cwnd: inflated.min(self.config.window_ceiling()),
            snd_ssthresh: self.cc.ssthresh(),
            snd_mss: self.mss,
            rtt: self.rto.srtt(),
            rttvar: self.rto.rttvar(),
            min_rtt: self.min_rtt,
            rto: self.timeout(),
            backoff: self.rto.backoff(),
            unacked: self.flight.len() as u32,
            sacked: if self.recovery.is_rack() { self.rack.sacked } else { segments(board.sacked()) },
            lost,
            retrans: if self.recovery.is_rack() { self.rack.resent } else { self.flight.retransmitted() },
            total_retrans: self.counters.retransmitted_segments,
            bytes_acked: self.counters.octets_acked,
            delivered: self.counters.octets_acked + board.sacked(),
            delivered_ce: self.counters.delivered_ce,
            snd_una: self.seq_of(self.una),
            snd_nxt: self.seq_of(self.nxt),
            una_offset: self.una,
            nxt_offset: self.nxt,
            snd_wnd: self.wnd,
            rcv_wnd: self.rcv_edge.saturating_sub(self.rcv_nxt),
            notsent_bytes: self.written.saturating_sub(self.max),
            pacing_rate: self.pacing_rate(),
            advmss: u32::from(self.config.mss) - if self.timestamps { 12 } else { 0 },
            rcv_mss: self.ack.peer_segment().unwrap_or(0),
            reordering: self.rack.reordering.max(self.config.dup_threshold),
            reord_seen: self.rack.reordering_seen,
            probes: if self.wnd == 0 { self.persist_backoff } else { 0 },
            last_data_recv: self.last_data_at,
            last_data_sent: self.last_sent,
        }
    }

    /// The sender's state as Linux names it.
    #[inline]
    pub fn ca_state(&self) -> CaState {
        match self.recovery.state() {
            CaState::Open | CaState::Disorder if self.ecn.shows_cwr(self.una) => CaState::Cwr,
            state => state,
        }
    }
    /// The connection's state.
    pub const fn state(&self) -> State {
        self.state
    }
    /// Counts since the start.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }
    /// The latest round-trip sample.
    pub const fn last_rtt_sample(&self) -> Option<Duration> {
        self.last_rtt
    }
    /// The values it runs on.
    pub const fn config(&self) -> &Config {
        &self.config
    }
    /// The congestion control at work.
    pub const fn congestion_control(&self) -> &Cc {
        &self.cc
    }
    /// What went wrong in a congestion control of the caller's own, once.
    #[inline]
    pub fn control_fault(&mut self) -> Option<Fault> {
        self.cc.custom().and_then(CongestionControl::fault)
    }
    /// The loss recovery at work.
    pub const fn loss_recovery(&self) -> &Recovery {
        &self.recovery
    }
    /// The handshake agreed on timestamps (RFC 7323 section 3); before it, they will be offered or
    /// answered.
    pub const fn uses_timestamps(&self) -> bool {
        self.timestamps
    }
    /// The handshake agreed on SACK (RFC 2018); before it, SACK will be offered or answered.
    pub const fn uses_sack(&self) -> bool {
        self.sack
    }
    /// Both SYNs carried the window scale option (RFC 7323 section 2.2).
    pub const fn scales_windows(&self) -> bool {
        self.config.window_scaling && self.peer_scales
    }
    /// Octets written and not yet sent.
    #[inline]
    pub const fn notsent(&self) -> u64 {
        self.written.saturating_sub(self.max)
    }
    /// Octets of our stream below SND.UNA, without wrapping; the SYN is number 0.
    #[inline]
    pub const fn una_offset(&self) -> u64 {
        self.una
    }
    /// Segment size of the sender [octets].
    #[inline]
    pub const fn mss(&self) -> u32 {
        self.mss
    }
    /// Congestion window [segments], inflation by duplicate ACKs included.
    #[inline]
    pub fn cwnd_segments(&self) -> f64 {
        (self.cc.cwnd() + self.recovery.inflation(&self.config)).min(self.config.window_ceiling())
    }
    /// Everything written has been acknowledged.
    pub fn is_all_acked(&self) -> bool {
        self.una >= self.written
    }
}

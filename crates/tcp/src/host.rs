//! The behaviour of the host around a connection that is visible to the peer: the choices of a
//! kernel, not of a standard.

use lasthop_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::jiffies::Wheel;

/// The choices. [`Host::PLAIN`] has none of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Host {
    /// Segmentation offload; `None`: the stack sends single segments.
    pub offload: Option<Offload>,
    /// Whether the window was used is evaluated once per window of data, not at each ACK (Linux'
    /// tcp_cwnd_validate).
    pub usage_per_window: bool,
    /// A closed window is probed by an old number without data (Linux' tcp_xmit_probe_skb), not by
    /// an octet of data.
    pub probe_without_data: bool,
    /// The content of the window field.
    pub window: WindowRule,
    /// An ACK of octets never sent is dropped without an answer and without processing its data
    /// (Linux), instead of being answered (RFC 9293 section 3.10.7.4).
    pub drops_future_acks: bool,
    /// The buffer that the window scale offered is to suffice for, when the buffer may grow
    /// \[octets\]; `None`: the receive buffer's.
    pub scale_for: Option<u64>,
    /// What makes the next ACK due.
    pub acks: AckRule,
    /// Where the timers of a `kernel_clock` with ticks are filed.
    pub wheel: Wheel,
    /// How long the kernel has run at time 0: the phase of its ticks and of the slots of its wheel.
    pub up_before: Duration,
    /// Tail loss probes (RFC 8985 section 7), in `recovery = rack`.
    pub loss_probes: bool,
    /// A longer segment that arrives is one that the device has merged from segments of this size
    /// \[octets\], Linux' `gso_size`; `None`: none is merged.
    pub merged_segment: Option<u32>,
    /// Whether SYNs announce the MSS (4.4BSD's TCP_NOOPT takes it away, with the options that have
    /// keys of their own).
    pub announces_mss: bool,
    /// How many transmissions of a SYN request ECN (RFC 3168 section 6.1.1.1: 1; FreeBSD's
    /// net.inet.tcp.ecn.maxretries and one more).
    pub ecn_syns: u32,
    /// How many transmissions of a SYN offer window scale, timestamps and SACK; `u32::MAX`: all
    /// (FreeBSD's net.inet.tcp.rexmit_drop_options).
    pub option_syns: u32,
    /// Data that comes with a SYN is queued and taken once the connection is established, as RFC
    /// 9293 sections 3.10.7.2 and 3.10.7.3 have it. Otherwise it is ignored until its
    /// retransmission, as in Linux without Fast Open, and as in simulations whose SYNs carry octets
    /// that are not data (`syn_filler`).
    pub takes_syn_text: bool,
    /// An ACK of text or of a FIN carries our own FIN again while that is not acknowledged
    /// (4.4BSD's tcp_output steps back over a FIN that was sent).
    pub repeats_fin: bool,
    /// The effect of a segment without SYN and RST in TIME-WAIT.
    pub time_wait: TimeWaitRule,
    /// With accurate feedback everything but SYNs and resets is sent ECN-capable (Linux 6.18,
    /// tcp_ecn_send), not new data alone.
    pub ect_on_all: bool,
    /// ECN is disabled where the handshake's feedback shows that the path alters codepoints
    /// (net.ipv4.tcp_ecn_fallback; RFC 9768 section 3.2.2.3).
    pub ecn_fallback: bool,
    /// A segment in order is taken whole where it exceeds a window that is open, if nothing waits
    /// to be read (Linux' tcp_data_queue: "sk_forced_mem_schedule" for an empty queue);
    /// otherwise it is cut to the window.
    pub takes_whole: bool,
    /// The window of a SYN is a whole number of segments where the buffer holds one (Linux'
    /// tcp_select_initial_window).
    pub whole_first_window: bool,
    /// A FIN in order discards the duplicate that the next ACK would have reported (Linux' tcp_fin
    /// calls tcp_sack_reset).
    pub fin_discards_dsack: bool,
    /// After idleness the window is halved once per timeout that has passed, down to the restart
    /// window, and ssthresh keeps three quarters of it (Linux' tcp_cwnd_restart). Otherwise the
    /// window is the restart window at once and ssthresh stays (RFC 5681 section 4.1).
    pub idle_halves_window: bool,
    /// After a SYN that was sent more than once the first round trip is the age of the echoed
    /// timestamp, and the initial window is one segment only after two retransmissions of which the
    /// timer caused one, unless the echo is that of the original (Linux' tcp_ack_update_rtt,
    /// tcp_try_undo_spurious_syn, tcp_init_transfer). Otherwise there is no sample (RFC 6298
    /// section 3), and a window that is not set is one segment (RFC 5681 section 3.1).
    pub times_repeated_syn: bool,
}

/// The effect of a segment without SYN and RST in TIME-WAIT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeWaitRule {
    /// RFC 9293 section 3.10.7.4: outside the window an ACK; a FIN is acknowledged and restarts the
    /// time.
    Rfc9293,
    /// FreeBSD's tcp_twcheck: nothing for a segment without ACK and for a plain duplicate of the
    /// last ACK, an ACK for any other; the FIN that was received restarts the time.
    Bsd,
}

/// Which right edge of the receive window is advertised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowRule {
    /// RFC 9293 section 3.8.6.2.2: it moves by min(buffer / 2, MSS) or not at all.
    Rfc9293,
    /// Every segment carries all the free space, rounded up to the unit of the scale; small
    /// openings alone are no reason for a segment. Arriving segments are checked against the room,
    /// even if it exceeds the field (4.4BSD's rcv_wnd).
    AllRoom,
    /// Every segment carries the window of Linux' __tcp_select_window and tcp_select_window: the
    /// free space, rounded up to the unit of the scale, or without a scale down to whole segments;
    /// nothing new where the free space is below a segment of the peer's. A read is a reason for a
    /// segment only when the window has at least doubled (tcp_cleanup_rbuf).
    Linux,
}

/// What makes an ACK due before its delay is over (RFC 5681 section 4.2: one for at least every
/// second full-sized segment).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AckRule {
    /// Octets of `ack_every` full-sized segments.
    Octets,
    /// `ack_every` segments of any size, and one that repeats octets at once (4.4BSD).
    Segments,
    /// As `linux`, before 6.1.57: a full segment with PSH does not count as the end of a write, and
    /// every segment that carries an ACK takes from the budget of quick ACKs.
    #[serde(rename = "linux-6.0")]
    LinuxBefore6157,
    /// Linux' heuristics: more than one of the peer's segments, whose size is measured; a budget of
    /// quick ACKs, at the start and after loss; an ACK timeout between 40 and 200 ms that
    /// follows the gaps between segments; interactive sessions. A full segment with PSH is
    /// acknowledged at once where the application has read everything (since 6.1.57).
    Linux,
}

impl AckRule {
    /// Linux' heuristics, of either age.
    #[inline]
    pub const fn is_linux(self) -> bool {
        matches!(self, AckRule::Linux | AckRule::LinuxBefore6157)
    }
}

/// How data is cut into packets for the device that segments them (Linux).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offload {
    /// Largest packet \[octets\].
    pub size_max: u32,
    /// Least number of segments that the pacing rate is allowed to cut packets to
    /// (net.ipv4.tcp_min_tso_segs).
    pub segments_min: u32,
    /// A packet waits for more data while less than this part of the window can be sent
    /// (net.ipv4.tcp_tso_win_divisor).
    pub window_divisor: u32,
    /// Octets added to the size that follows from the rate, halved for each 2^n us of the smallest
    /// round trip (net.ipv4.tcp_tso_rtt_log).
    pub rtt_log: u32,
}

impl Host {
    /// Nothing beside the standards.
    pub const PLAIN: Host = Host {
        offload: None,
        usage_per_window: false,
        probe_without_data: false,
        window: WindowRule::Rfc9293,
        drops_future_acks: false,
        scale_for: None,
        acks: AckRule::Octets,
        wheel: Wheel::Levels,
        up_before: Duration::ZERO,
        loss_probes: true,
        merged_segment: None,
        announces_mss: true,
        ecn_syns: 1,
        option_syns: u32::MAX,
        takes_syn_text: false,
        repeats_fin: false,
        time_wait: TimeWaitRule::Rfc9293,
        ect_on_all: false,
        ecn_fallback: true,
        takes_whole: false,
        whole_first_window: false,
        fin_discards_dsack: false,
        idle_halves_window: false,
        times_repeated_syn: false,
    };

    /// 4.4BSD's choices, as FreeBSD has them.
    pub const BSD: Host = Host {
        window: WindowRule::AllRoom,
        acks: AckRule::Segments,
        takes_syn_text: true,
        repeats_fin: true,
        time_wait: TimeWaitRule::Bsd,
        ..Host::PLAIN
    };

    /// Linux 6 over a device without segmentation offload.
    pub const LINUX: Host = Host {
        usage_per_window: true,
        probe_without_data: true,
        window: WindowRule::Linux,
        drops_future_acks: true,
        acks: AckRule::Linux,
        ect_on_all: true,
        takes_whole: true,
        whole_first_window: true,
        fin_discards_dsack: true,
        idle_halves_window: true,
        times_repeated_syn: true,
        ..Host::PLAIN
    };
}

impl Offload {
    /// As Linux comes.
    pub const LINUX: Offload = Offload { size_max: 65_536, segments_min: 2, window_divisor: 3, rtt_log: 9 };
}

//! tcp_info for scripts: whole numbers, times in microseconds or milliseconds as in Linux'
//! structure.

use lasthop_tcp::{CaState, State};
use lasthop_units::{Duration, Instant};

use super::connection::Connection;

/// Names of constants, with their values.
pub(super) const CONSTANTS: &[(&str, i64)] = &[
    ("TCP_ESTABLISHED", 1),
    ("TCP_SYN_SENT", 2),
    ("TCP_SYN_RECV", 3),
    ("TCP_FIN_WAIT1", 4),
    ("TCP_FIN_WAIT2", 5),
    ("TCP_TIME_WAIT", 6),
    ("TCP_CLOSE", 7),
    ("TCP_CLOSE_WAIT", 8),
    ("TCP_LAST_ACK", 9),
    ("TCP_LISTEN", 10),
    ("TCP_CLOSING", 11),
    // Names of the states in FreeBSD's fork of the tool.
    ("TCPI_CLOSED", 7),
    ("TCPI_LISTEN", 10),
    ("TCPI_SYN_SENT", 2),
    ("TCPI_SYN_RECEIVED", 3),
    ("TCPI_ESTABLISHED", 1),
    ("TCPI_CLOSE_WAIT", 8),
    ("TCPI_FIN_WAIT_1", 4),
    ("TCPI_CLOSING", 11),
    ("TCPI_LAST_ACK", 9),
    ("TCPI_FIN_WAIT_2", 5),
    ("TCPI_TIME_WAIT", 6),
    ("TCP_CA_Open", 0),
    ("TCP_CA_Disorder", 1),
    ("TCP_CA_CWR", 2),
    ("TCP_CA_Recovery", 3),
    ("TCP_CA_Loss", 4),
    ("TCPI_OPT_TIMESTAMPS", OPT_TIMESTAMPS),
    ("TCPI_OPT_SACK", OPT_SACK),
    ("TCPI_OPT_WSCALE", OPT_WSCALE),
    ("TCPI_OPT_ECN", OPT_ECN),
    ("TCPI_OPT_ECN_SEEN", 16),
];

// Linux, include/uapi/linux/tcp.h; FreeBSD's netinet/tcp.h has the same values.
const OPT_TIMESTAMPS: i64 = 1;
const OPT_SACK: i64 = 2;
const OPT_WSCALE: i64 = 4;
const OPT_ECN: i64 = 8;

/// The fields, without the prefix of their names.
pub(super) fn fields(c: &Connection, now: Instant) -> Vec<(&'static str, i64)> {
    let i = c.endpoint.info();
    let n = c.endpoint.counters();
    let us = |d: Duration| d.as_micros() as i64;
    let whole = |x: f64, none: i64| if x.is_finite() { x.floor() as i64 } else { none };
    let (busy, window, buffer) = c.endpoint.limited_times(now);
    let ([e1, e0, ce], [re1, re0, rce]) = c.endpoint.accurate_octets().unwrap_or_default();
    let ms_ago = |t: Instant| now.since(t).as_millis() as i64;
    vec![
        ("state", state(i.state)),
        ("options", options(c)),
        ("ca_state", ca_state(i.ca_state)),
        ("snd_cwnd", whole(i.snd_cwnd, i64::from(u32::MAX))),
        ("snd_ssthresh", whole(i.snd_ssthresh, 0x7fff_ffff)),
        ("snd_mss", i64::from(i.snd_mss)),
        ("rtt", i.rtt.map_or(0, us)),
        ("rttvar", us(i.rttvar)),
        ("min_rtt", i.min_rtt.map_or(i64::from(u32::MAX), us)),
        ("rto", us(i.rto)),
        ("backoff", i64::from(i.backoff.trailing_zeros())),
        ("unacked", i64::from(i.unacked)),
        ("sacked", i64::from(i.sacked)),
        ("lost", i64::from(i.lost)),
        ("retrans", i64::from(i.retrans)),
        ("total_retrans", i.total_retrans as i64),
        ("bytes_acked", i.bytes_acked as i64),
        ("notsent_bytes", i.notsent_bytes as i64),
        ("snd_wnd", i.snd_wnd as i64),
        ("rcv_wnd", i.rcv_wnd as i64),
        ("advmss", i64::from(i.advmss)),
        ("rcv_mss", i64::from(i.rcv_mss)),
        ("reordering", i64::from(i.reordering)),
        ("reord_seen", i64::from(i.reord_seen)),
        ("probes", i64::from(i.probes)),
        ("busy_time", us(busy)),
        ("rwnd_limited", us(window)),
        ("sndbuf_limited", us(buffer)),
        ("last_data_recv", ms_ago(i.last_data_recv)),
        ("last_data_sent", ms_ago(i.last_data_sent)),
        ("delivered", (i.delivered / u64::from(i.snd_mss.max(1))) as i64),
        ("segs_out", n.segments_sent as i64),
        ("segs_in", n.segments_received as i64),
        ("data_segs_out", n.data_segments_sent as i64),
        ("bytes_sent", n.octets_sent as i64),
        ("bytes_retrans", n.retransmitted_octets as i64),
        ("dsack_dups", n.dsacks_received as i64),
        ("total_rto", n.timeouts as i64),
        ("delivered_ce", n.delivered_ce as i64),
        ("received_ce", n.ce_received as i64),
        ("delivered_e1_bytes", e1 as i64),
        ("delivered_e0_bytes", e0 as i64),
        ("delivered_ce_bytes", ce as i64),
        ("received_e1_bytes", re1 as i64),
        ("received_e0_bytes", re0 as i64),
        ("received_ce_bytes", rce as i64),
    ]
}

/// The options in force, as bits.
fn options(c: &Connection) -> i64 {
    let options = c.endpoint.options_in_use();
    [
        (options.timestamps, OPT_TIMESTAMPS),
        (options.sack, OPT_SACK),
        (options.window_scaling, OPT_WSCALE),
        (options.ecn, OPT_ECN),
    ]
    .iter()
    .filter(|o| o.0)
    .map(|o| o.1)
    .sum()
}

/// The number of a state in tcp_info.
pub(super) const fn state(s: State) -> i64 {
    match s {
        State::Established => 1,
        State::SynSent => 2,
        State::SynReceived => 3,
        State::FinWait1 => 4,
        State::FinWait2 => 5,
        State::TimeWait => 6,
        State::Closed => 7,
        State::CloseWait => 8,
        State::LastAck => 9,
        State::Listen => 10,
        State::Closing => 11,
    }
}

fn ca_state(s: CaState) -> i64 {
    match s {
        CaState::Open => 0,
        CaState::Disorder => 1,
        CaState::Cwr => 2,
        CaState::Recovery => 3,
        CaState::Loss => 4,
    }
}

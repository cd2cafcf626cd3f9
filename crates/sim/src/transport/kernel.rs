//! TCP whose ends are sockets of a real kernel, outside: orders of the application, and reports of
//! the run's driver.

use std::collections::VecDeque;

use lasthop_units::Duration;

use super::real::RealStreams;
use super::{Report, SenderState, SenderTotals, Shown};
use crate::event::End;
use crate::probe::tables;

/// An application is called for more data when fewer octets than this wait for the socket.
const LOW_WATER: u64 = 128 * 1024;
/// TCP_CA_Recovery and names of the states (`enum tcp_ca_state`, include/uapi/linux/tcp.h).
const RECOVERY: u8 = 3;
const CA_STATES: [&str; 5] = ["open", "disorder", "cwr", "recovery", "loss"];
/// TCP_INFINITE_SSTHRESH (include/net/tcp.h).
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// An order for a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelOrder {
    /// A connects to B.
    Connect,
    /// Write this number of octets more.
    Write(u64),
    /// Write nothing more.
    Close,
    /// Abort the connection.
    Abort,
}

/// `tcp_info` of a sender, in the units of the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelSample {
    /// `tcpi_ca_state`.
    pub ca_state: u8,
    /// Expiries of the retransmission timer since the last ACK of new data.
    pub backoff: u8,
    /// Congestion window \[segments\].
    pub cwnd: u32,
    /// Slow-start threshold \[segments\].
    pub ssthresh: u32,
    /// Smoothed round-trip time \[us\].
    pub rtt_us: u32,
    /// Its mean deviation \[us\].
    pub rttvar_us: u32,
    /// Smallest recent round-trip time \[us\].
    pub min_rtt_us: u32,
    /// Retransmission timeout \[us\].
    pub rto_us: u32,
    /// Segments sent and not acknowledged.
    pub unacked: u32,
    /// Of these, SACKed.
    pub sacked: u32,
    /// Of these, marked as lost.
    pub lost: u32,
    /// Of these, sent again.
    pub retrans: u32,
    /// Segments sent again since the start.
    pub total_retrans: u32,
    /// Octets acknowledged.
    pub bytes_acked: u64,
    /// Octets sent, without retransmissions.
    pub bytes_sent: u64,
    /// Octets that have arrived at the other end.
    pub bytes_arrived: u64,
    /// Window that the receiver offers [B].
    pub rwnd: u32,
    /// Octets written and not sent.
    pub notsent: u32,
    /// Pacing rate \[B/s\]; all bits set: none.
    pub pacing_rate: u64,
}

/// Both ends of a connection.
pub struct KernelConnection {
    ends: [KernelEnd; 2],
    orders: Vec<(End, KernelOrder)>,
    cc: [Box<str>; 2],
    low_water: u64,
    /// State of its sequence numbers, from its segments.
    pub(super) streams: RealStreams,
}

#[derive(Default)]
struct KernelEnd {
    reports: VecDeque<Report>,
    fresh: u64,
    /// Octets that the application has written and the socket has not accepted.
    waiting: u64,
    closed: bool,
    sample: Option<KernelSample>,
    rtt_samples: u64,
    timeouts: u64,
    fast_retransmits: u64,
}

impl KernelConnection {
    pub fn new(cc: [Box<str>; 2], low_water: Option<u64>) -> KernelConnection {
        let low_water = low_water.unwrap_or(LOW_WATER).max(1);
        KernelConnection {
            ends: Default::default(),
            orders: Vec::new(),
            cc,
            low_water,
            streams: RealStreams::default(),
        }
    }
    pub fn start(&mut self) {
        self.orders.push((End::A, KernelOrder::Connect));
    }
    /// Accepts all octets: those that the socket does not accept wait here.
    pub fn write(&mut self, end: End, octets: u64) {
        let e = &mut self.ends[end as usize];
        if !e.closed && octets > 0 {
            e.waiting += octets;
            self.orders.push((end, KernelOrder::Write(octets)));
        }
    }
    pub fn close(&mut self, end: End) {
        if !std::mem::replace(&mut self.ends[end as usize].closed, true) {
            self.orders.push((end, KernelOrder::Close));
        }
    }
    pub fn abort(&mut self, end: End) {
        self.ends[end as usize].closed = true;
        self.orders.push((end, KernelOrder::Abort));
    }
    pub fn room(&self, end: End) -> u64 {
        let e = &self.ends[end as usize];
        if e.closed || e.waiting >= self.low_water { 0 } else { 2 * self.low_water - e.waiting }
    }
    pub fn poll_event(&mut self, end: End) -> Option<Report> {
        self.ends[end as usize].reports.pop_front()
    }
    pub const fn take_delivered(&mut self, end: End) -> u64 {
        std::mem::replace(&mut self.ends[end as usize].fresh, 0)
    }
    pub fn take_orders(&mut self) -> std::vec::Drain<'_, (End, KernelOrder)> {
        self.orders.drain(..)
    }
    pub fn report(&mut self, end: End, report: Report) {
        self.ends[end as usize].reports.push_back(report);
    }
    pub const fn delivered(&mut self, end: End, octets: u64) {
        self.ends[end as usize].fresh += octets;
    }
    pub const fn written(&mut self, end: End, octets: u64) {
        let e = &mut self.ends[end as usize];
        e.waiting = e.waiting.saturating_sub(octets);
    }
    /// Takes a sample of the sender at an end. Returns the events that follow from it, by name: an
    /// expired timer, and recovery that begins or ends.
    pub fn sample(&mut self, end: End, now: &KernelSample) -> impl Iterator<Item = (&'static str, u8)> {
        let e = &mut self.ends[end as usize];
        let before = e.sample.replace(*now).unwrap_or_default();
        e.rtt_samples += u64::from(now.bytes_acked > before.bytes_acked);
        let expired = now.backoff > before.backoff;
        e.timeouts += u64::from(now.backoff.saturating_sub(before.backoff));
        let recovers = [before, *now].map(|s| s.ca_state == RECOVERY);
        e.fast_retransmits += u64::from(!recovers[0] && recovers[1]);
        let enters = (!recovers[0] && recovers[1]).then_some(("recovery-enter", 0));
        let leaves = (recovers[0] && !recovers[1]).then_some(("recovery-exit", 0));
        let expired = expired.then_some(("rto", now.backoff));
        [expired, enters, leaves].into_iter().flatten()
    }

    pub fn sender_state(&self, end: End) -> Option<SenderState> {
        let e = &self.ends[end as usize];
        let s = e.sample.as_ref()?;
        Some(SenderState {
            cwnd: s.cwnd.into(),
            rtt_samples: e.rtt_samples,
            last_rtt: Some(Duration::from_micros(s.rtt_us.into())),
        })
    }
    pub fn shown(&self, end: End) -> Option<Shown> {
        self.ends[end as usize].sample.as_ref().map(|s| (s.cwnd, s.ssthresh, s.ca_state))
    }
    pub fn totals(&self, end: End) -> SenderTotals<'_> {
        let e = &self.ends[end as usize];
        SenderTotals {
            profile: "kernel",
            cc: &self.cc[end as usize],
            retransmits: e.sample.map_or(0, |s| s.total_retrans.into()),
            timeouts: e.timeouts,
            fast_retransmits: e.fast_retransmits,
        }
    }
    pub fn sender_row(&self, end: End) -> Option<tables::Tcp<'static>> {
        let s = self.ends[end as usize].sample.as_ref()?;
        Some(tables::Tcp {
            time_s: 0.0,
            flow: "",
            trigger: "",
            ca_state: CA_STATES.get(usize::from(s.ca_state)).copied().unwrap_or("open"),
            snd_cwnd: s.cwnd.into(),
            snd_ssthresh: if s.ssthresh >= INFINITE_SSTHRESH { -1.0 } else { s.ssthresh.into() },
            rtt_us: s.rtt_us.into(),
            rttvar_us: s.rttvar_us.into(),
            rtt_sample_us: None,
            min_rtt_us: (s.min_rtt_us != u32::MAX).then_some(s.min_rtt_us.into()),
            rto_us: s.rto_us.into(),
            unacked: s.unacked.into(),
            sacked: s.sacked.into(),
            lost: s.lost.into(),
            retrans: s.retrans.into(),
            total_retrans: s.total_retrans.into(),
            bytes_acked: s.bytes_acked,
            bytes_arrived: s.bytes_arrived,
            // The SYN has number 0, as in simulated streams.
            snd_una: s.bytes_acked + 1,
            snd_nxt: s.bytes_sent + 1,
            rwnd_bytes: s.rwnd.into(),
            notsent_bytes: s.notsent.into(),
            pacing_rate_bps: (s.pacing_rate != u64::MAX).then_some(s.pacing_rate as f64 * 8.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_waits_until_the_socket_has_taken_it() {
        let mut c = KernelConnection::new(["cubic".into(), "cubic".into()], Some(1000));
        assert_eq!(c.room(End::A), 2000);
        c.write(End::A, 1500);
        assert_eq!(c.room(End::A), 0, "more than the low-water mark waits");
        c.written(End::A, 600);
        assert_eq!(c.room(End::A), 1100);
        c.close(End::A);
        c.write(End::A, 1);
        c.close(End::A);
        let orders: Vec<_> = c.take_orders().collect();
        assert_eq!(orders, [(End::A, KernelOrder::Write(1500)), (End::A, KernelOrder::Close)]);
        assert_eq!((c.room(End::A), c.room(End::B)), (0, 2000));
    }

    #[test]
    fn samples_show_recovery_and_timeouts_once_each() {
        let mut c = KernelConnection::new(["cubic".into(), "cubic".into()], None);
        let open = KernelSample { bytes_acked: 1448, rtt_us: 40_000, cwnd: 10, ..Default::default() };
        let recovery = KernelSample { ca_state: RECOVERY, total_retrans: 2, ..open };
        let loss = KernelSample { ca_state: 4, backoff: 2, ..recovery };
        let mut kinds = |sample| c.sample(End::A, &sample).collect::<Vec<_>>();
        assert_eq!(kinds(open), []);
        assert_eq!(kinds(recovery), [("recovery-enter", 0)]);
        assert_eq!(kinds(recovery), []);
        assert_eq!(kinds(loss), [("rto", 2), ("recovery-exit", 0)]);
        assert_eq!(kinds(loss), []);
        let totals = c.totals(End::A);
        assert_eq!((totals.timeouts, totals.fast_retransmits, totals.retransmits), (2, 1, 2));
        let state = c.sender_state(End::A).map(|s| (s.cwnd, s.rtt_samples, s.last_rtt));
        assert_eq!(state, Some((10.0, 1, Some(Duration::from_millis(40)))));
        assert!(c.sender_row(End::B).is_none());
    }
}

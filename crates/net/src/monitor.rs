//! The flow monitor: the one definition of flow statistics, for every study.
//!
//! It counts IP packets from a flow's source to its destination. `sim` reports each packet once
//! when the source's IP accepts it (before any fragmentation) and once when the destination's IP
//! passes it up (after reassembly), as ns-3's flow monitor does; a transport's retransmission is a
//! packet of its own.
//!
//! * **Delay** of a received packet: reception minus sending. **Jitter**: mean of the absolute
//!   difference of the delays of successively received packets (RFC 3393's delay variation without
//!   its smoothing). Quantiles come from a histogram of 16 bins an octave: right to a sixteenth.
//! * **Loss** by three definitions, because these differ by more than the effects that studies
//!   compare: `undelivered` (sent minus received at the end, what is still in flight or queued
//!   included), `dropped` (by a named cause, at any hop), `retransmitted` (by the transport,
//!   reported from outside).
//! * **Lost within 10 s**, ns-3's definition: not received within ten seconds of being sent;
//!   packets sent in the last ten seconds and missing are not counted. Counts are kept by whole
//!   seconds of sending, so a packet counts as lost between ten and eleven seconds after it was
//!   sent. A packet that is received later stays lost.
//! * **Throughput**: received IP bytes over the time given; **goodput**: bytes that reached the
//!   application in order.
//!
//! Memory is flat: less than two kilobytes a flow, whatever the number of packets.

use lasthop_units::{Duration, FlowId, IndexVec, Instant};

use crate::DropCause;

/// Statistics of every flow.
#[derive(Clone, Debug, Default)]
pub struct FlowMonitor {
    flows: IndexVec<FlowId, FlowStats>,
}

/// The statistics of one flow. Packets and their bytes are apart: see
/// [`Account`](crate::Account).
#[derive(Clone, Debug, Default)]
pub struct FlowStats {
    /// IP packets that the source sent.
    pub tx_packets: u64,
    /// IP packets that the destination received.
    pub rx_packets: u64,
    /// Bytes of the packets sent, IP headers included.
    pub tx_bytes: u64,
    /// Bytes of the packets received, IP headers included.
    pub rx_bytes: u64,
    /// Of the packets received, copies of datagrams that had arrived before.
    pub rx_copies: u64,
    /// Bytes that the destination's transport received, duplicates included, headers not.
    pub rx_segment_bytes: u64,
    /// Bytes that reached the application, in order.
    pub app_bytes: u64,
    /// Packets that the transport sent again.
    pub retransmitted: u64,
    /// When the first packet was sent.
    pub first_tx: Option<Instant>,
    /// When the last packet was received.
    pub last_rx: Option<Instant>,
    dropped: [u64; DropCause::ALL.len()],
    dropped_elsewhere: u64,
    delay_sum: u128,
    delay_min: Option<Duration>,
    delay_max: Option<Duration>,
    last_delay: Option<Duration>,
    jitter_sum: u128,
    /// Received packets by delay; empty before the first.
    delays: Box<[u32]>,
    recent: Recent,
}

/// Bins an octave, and where the first one begins: 2^16 ns = 66 us. The last one ends at 2^36 ns =
/// 69 s.
const BINS_PER_OCTAVE: u64 = 16;
const FIRST_OCTAVE: u32 = 16;
const OCTAVES: u32 = 20;

/// The bin of a delay.
#[inline]
const fn bin(delay: Duration) -> usize {
    let ns = if delay.0 < 1 << FIRST_OCTAVE { 1 << FIRST_OCTAVE } else { delay.0 };
    let octave = ns.ilog2();
    let within = (ns >> (octave - 4)) % BINS_PER_OCTAVE;
    let at = ((octave - FIRST_OCTAVE) as u64 * BINS_PER_OCTAVE + within) as usize;
    let last = OCTAVES as usize * BINS_PER_OCTAVE as usize - 1;
    if at < last { at } else { last }
}

/// Where a bin begins and how wide it is [s].
fn edges(bin: usize) -> (f64, f64) {
    let (octave, within) = (bin as u64 / BINS_PER_OCTAVE, bin as u64 % BINS_PER_OCTAVE);
    let width = (1u64 << (u64::from(FIRST_OCTAVE) + octave - 4)) as f64 / 1e9;
    ((BINS_PER_OCTAVE + within) as f64 * width, width)
}

/// Seconds that a packet may take before ns-3's definition calls it lost.
const PATIENCE_S: u64 = 10;
const SECONDS: usize = PATIENCE_S as usize + 1;
const SECOND: Duration = Duration::from_secs(1);

/// Packets in transmission, by the second in which they were sent.
#[derive(Clone, Debug, Default)]
struct Recent {
    missing: [u64; SECONDS],
    /// The newest second in `missing`, its beginning, and its place.
    second: u64,
    begins: Instant,
    place: usize,
    lost: u64,
}

impl FlowMonitor {
    /// A monitor of `flows` flows.
    pub fn new(flows: usize) -> FlowMonitor {
        FlowMonitor { flows: (0..flows).map(|_| FlowStats::default()).collect() }
    }

    /// One more flow, with the next id.
    pub fn add_flow(&mut self) {
        let _next = self.flows.push(FlowStats::default());
    }

    /// The source's IP takes a packet of `size` bytes in all.
    #[inline]
    pub fn sent(&mut self, now: Instant, flow: FlowId, size: u32) {
        let f = &mut self.flows[flow];
        f.tx_packets += 1;
        f.tx_bytes += u64::from(size);
        f.first_tx.get_or_insert(now);
        f.recent.sent(now);
    }

    /// The destination's IP passes up a packet of `size` bytes that was `sent` then.
    #[inline]
    pub fn received(&mut self, now: Instant, flow: FlowId, size: u32, sent: Instant) {
        let f = &mut self.flows[flow];
        f.rx_packets += 1;
        f.rx_bytes += u64::from(size);
        f.last_rx = Some(now);
        f.delay(now.since(sent));
        f.recent.received(now, sent);
    }

    /// A packet, or the last fragment for one, was dropped in the network. To be reported once for
    /// each packet.
    pub fn dropped(&mut self, flow: FlowId, cause: DropCause) {
        self.flows[flow].dropped[cause as usize] += 1;
    }
    /// A packet was dropped by a cause that this crate has no name for (a radio bearer's).
    pub fn dropped_elsewhere(&mut self, flow: FlowId) {
        self.flows[flow].dropped_elsewhere += 1;
    }
    /// The flow's transport sent `packets` again.
    pub fn retransmitted(&mut self, flow: FlowId, packets: u64) {
        self.flows[flow].retransmitted += packets;
    }
    /// The destination's transport received `bytes` of payload, new or not.
    pub fn segment_received(&mut self, flow: FlowId, bytes: u64) {
        self.flows[flow].rx_segment_bytes += bytes;
    }
    /// `bytes` reached the destination's application.
    pub fn delivered(&mut self, flow: FlowId, bytes: u64) {
        self.flows[flow].app_bytes += bytes;
    }

    /// Of the received packets so many were copies of datagrams that had arrived before.
    pub fn repeated(&mut self, flow: FlowId, packets: u64) {
        self.flows[flow].rx_copies += packets;
    }

    /// The statistics of one flow.
    pub fn flow(&self, flow: FlowId) -> &FlowStats {
        &self.flows[flow]
    }
    /// All flows, in order.
    pub fn flows(&self) -> impl Iterator<Item = (FlowId, &FlowStats)> {
        self.flows.enumerate()
    }
}

impl FlowStats {
    #[inline]
    fn delay(&mut self, delay: Duration) {
        self.delay_sum += u128::from(delay.0);
        self.delay_min = Some(self.delay_min.map_or(delay, |d| d.min(delay)));
        self.delay_max = Some(self.delay_max.map_or(delay, |d| d.max(delay)));
        if self.delays.is_empty() {
            self.delays = vec![0; OCTAVES as usize * BINS_PER_OCTAVE as usize].into();
        }
        self.delays[bin(delay)] += 1;
        if let Some(last) = self.last_delay.replace(delay) {
            self.jitter_sum += u128::from(last.abs_diff(delay).0);
        }
    }

    /// Mean delay of the received packets [s].
    pub fn delay_mean_s(&self) -> Option<f64> {
        (self.rx_packets > 0).then(|| self.delay_sum as f64 / self.rx_packets as f64 / 1e9)
    }
    /// Smallest delay of a received packet.
    pub fn delay_min(&self) -> Option<Duration> {
        self.delay_min
    }
    /// Largest delay of a received packet.
    pub fn delay_max(&self) -> Option<Duration> {
        self.delay_max
    }
    /// The delay that a share of `q` of the received packets does not exceed [s], right to a
    /// sixteenth.
    pub fn delay_quantile_s(&self, q: f64) -> Option<f64> {
        let wanted = (q * self.rx_packets as f64).max(1.0);
        let mut seen = 0.0;
        let (at, n) = self.delays.iter().copied().enumerate().find(|(_, n)| {
            seen += f64::from(*n);
            seen >= wanted
        })?;
        let (begins, width) = edges(at);
        let found = begins + width * (1.0 - (seen - wanted) / f64::from(n));
        let [least, most] = [self.delay_min, self.delay_max].map(|d| d.map_or(found, |d| d.as_secs_f64()));
        Some(found.clamp(least, most))
    }
    /// Mean absolute difference of successive delays [s]; needs two received packets.
    pub fn jitter_mean_s(&self) -> Option<f64> {
        (self.rx_packets > 1).then(|| self.jitter_sum as f64 / (self.rx_packets - 1) as f64 / 1e9)
    }

    /// Loss, first definition: sent and not received so far, for any reason. Copies of datagrams do
    /// not count; those of TCP's packets can compensate for lost packets (never below zero).
    pub fn lost_undelivered(&self) -> u64 {
        (self.tx_packets + self.rx_copies).saturating_sub(self.rx_packets)
    }
    /// Loss, second definition: dropped by a named cause, at any hop.
    pub fn lost_dropped(&self) -> u64 {
        self.dropped.iter().sum::<u64>() + self.dropped_elsewhere
    }
    /// Of these, dropped by `cause`.
    pub fn dropped_by(&self, cause: DropCause) -> u64 {
        self.dropped[cause as usize]
    }
    /// Loss, third definition: sent again by the transport.
    pub fn lost_retransmitted(&self) -> u64 {
        self.retransmitted
    }
    /// Loss by ns-3's definition: not received within ten seconds, counted at `end`.
    pub fn lost_within_10_s(&self, end: Instant) -> u64 {
        let mut recent = self.recent.clone();
        recent.advance(end);
        recent.lost
    }

    /// Received IP bytes over `time` [bit/s]; 0 over no time.
    pub fn throughput_bps(&self, time: Duration) -> f64 {
        per_second(self.rx_bytes, time)
    }
    /// Bytes delivered to the application over `time` [bit/s]; 0 over no time.
    pub fn goodput_bps(&self, time: Duration) -> f64 {
        per_second(self.app_bytes, time)
    }
}

fn per_second(bytes: u64, time: Duration) -> f64 {
    if time.is_zero() { 0.0 } else { bytes as f64 * 8.0 / time.as_secs_f64() }
}

fn second(t: Instant) -> u64 {
    t.0 / SECOND.0
}

impl Recent {
    #[inline]
    fn advance(&mut self, now: Instant) {
        if now.since(self.begins) >= SECOND {
            self.begin(second(now));
        }
    }
    /// Counts the losses of seconds that are more than ten seconds old.
    #[cold]
    fn begin(&mut self, now: u64) {
        for s in self.second + 1..=now.min(self.second + SECONDS as u64) {
            self.lost += std::mem::take(&mut self.missing[s as usize % SECONDS]);
        }
        self.second = now;
        self.begins = Instant(now * SECOND.0);
        self.place = now as usize % SECONDS;
    }
    #[inline]
    fn sent(&mut self, now: Instant) {
        self.advance(now);
        self.missing[self.place] += 1;
    }
    #[inline]
    fn received(&mut self, now: Instant, sent: Instant) {
        self.advance(now);
        // Most packets arrive in the second in which they were sent.
        let place = if sent >= self.begins {
            self.place
        } else if second(sent) + PATIENCE_S >= self.second {
            second(sent) as usize % SECONDS
        } else {
            return;
        };
        self.missing[place] = self.missing[place].saturating_sub(1);
    }
}

/// Jain's fairness index of `shares`: (sum x)^2 / (n sum x^2), from 1/n (one has all) to 1 (all
/// equal). `None` without shares or if all are zero (R. Jain, D. Chiu, W. Hawe, DEC TR-301, 1984).
pub fn jain(shares: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (n, sum, squares) =
        shares.into_iter().fold((0.0, 0.0, 0.0), |(n, sum, squares), x| (n + 1.0, sum + x, squares + x * x));
    (squares > 0.0).then(|| sum * sum / (n * squares))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::Id;
    use proptest::prelude::*;

    const F: fn() -> FlowId = || FlowId::from_index(0);

    fn ms(t: u64) -> Instant {
        Instant::from_millis(t)
    }

    /// 100 packets of 1, 2, ... 100 ms: 95 % within 95 ms, to the width of a bin; bins do not
    /// overlap and leave no gap.
    #[test]
    fn quantiles_are_right_to_a_sixteenth() {
        let mut m = FlowMonitor::new(1);
        (1..=100).for_each(|d| m.received(ms(1000 + d), F(), 1000, ms(1000)));
        for q in [0.05, 0.5, 0.95, 1.0] {
            let found = m.flow(F()).delay_quantile_s(q).unwrap();
            assert!((found / (q * 0.1) - 1.0).abs() <= 1.0 / 16.0, "{q}: {found}");
        }
        assert_eq!(FlowStats::default().delay_quantile_s(0.5), None);
        for i in 0..OCTAVES as usize * BINS_PER_OCTAVE as usize - 1 {
            let ((begins, width), (next, _)) = (edges(i), edges(i + 1));
            assert!((begins + width - next).abs() < 1e-12 * next);
            assert_eq!(bin(Duration((begins * 1e9).round() as u64)), i);
        }
        assert_eq!((bin(Duration(1)), bin(Duration::MAX)), (0, 319));
    }

    /// Sent at 0, 10, 20, 30, 40 ms; the third is lost, the fifth in flight. Received at 50, 65, 80
    /// ms: delays 50, 55, 50 ms; mean 51.667, differences 5 and 5: jitter 5 ms.
    #[test]
    fn a_sequence_by_hand() {
        let mut m = FlowMonitor::new(1);
        (0..5).for_each(|n| m.sent(ms(n * 10), F(), 1040));
        for (at, sent) in [(50, 0), (65, 10), (80, 30)] {
            m.received(ms(at), F(), 1040, ms(sent));
        }
        m.dropped(F(), DropCause::QueueFull);
        m.retransmitted(F(), 1);
        m.delivered(F(), 2000);
        let f = m.flow(F());
        assert!((f.delay_mean_s().unwrap() - 0.155 / 3.0).abs() < 1e-12);
        assert_eq!((f.delay_min(), f.delay_max()), (Some(Duration(50_000_000)), Some(Duration(55_000_000))));
        assert!((f.jitter_mean_s().unwrap() - 0.005).abs() < 1e-12);
        assert_eq!((f.lost_undelivered(), f.lost_dropped(), f.lost_retransmitted()), (2, 1, 1));
        assert_eq!((f.dropped_by(DropCause::QueueFull), f.dropped_by(DropCause::Aqm)), (1, 0));
        // 3 x 1040 B in 0.1 s: 249.6 kbit/s; 2000 B: 160 kbit/s.
        assert!((f.throughput_bps(Duration::from_millis(100)) - 249_600.0).abs() < 1e-6);
        assert!((f.goodput_bps(Duration::from_millis(100)) - 160_000.0).abs() < 1e-6);
        assert_eq!(f.lost_within_10_s(ms(100)), 0);
    }

    /// Of ten datagrams two are lost, and two of the others arrive twice: ten arrivals, two lost.
    #[test]
    fn copies_do_not_compensate_for_lost_packets() {
        let mut m = FlowMonitor::new(1);
        (0..10).for_each(|n| m.sent(ms(n), F(), 100));
        (0..10).for_each(|n| m.received(ms(50 + n), F(), 100, ms(n)));
        m.repeated(F(), 2);
        assert_eq!((m.flow(F()).rx_packets, m.flow(F()).lost_undelivered()), (10, 2));
    }

    #[test]
    fn a_silent_flow_has_no_delay_and_no_jitter() {
        let m = FlowMonitor::new(1);
        let f = m.flow(F());
        assert_eq!((f.delay_mean_s(), f.jitter_mean_s(), f.delay_min()), (None, None, None));
        assert_eq!(f.throughput_bps(Duration::ZERO), 0.0);
    }

    /// Sent at 0.5 s and lost; at 1.5 s, received at 13 s (late); at 5 s, received at 14 s (in
    /// time); at 20 s, missing.
    #[test]
    fn ten_seconds_decide_whether_a_late_packet_was_lost() {
        let mut m = FlowMonitor::new(1);
        for t in [500, 1_500, 5_000] {
            m.sent(ms(t), F(), 100);
        }
        assert_eq!(m.flow(F()).lost_within_10_s(ms(10_900)), 0);
        assert_eq!(m.flow(F()).lost_within_10_s(ms(11_000)), 1);
        m.received(ms(13_000), F(), 100, ms(1_500));
        m.received(ms(14_000), F(), 100, ms(5_000));
        m.sent(ms(20_000), F(), 100);
        assert_eq!(m.flow(F()).lost_within_10_s(ms(25_000)), 2);
        assert_eq!(m.flow(F()).lost_within_10_s(ms(10_000_000)), 3);
        assert_eq!(m.flow(F()).lost_undelivered(), 2);
    }

    proptest! {
        /// Against the definition with a list of all packets: counted in whole seconds of sending.
        #[test]
        fn the_ring_is_the_list(
            packets in proptest::collection::vec((0u64..4_000, proptest::option::of(0u64..30_000)), 1..100),
        ) {
            let mut now = 0;
            let list: Vec<(u64, Option<u64>)> = packets
                .iter()
                .map(|(gap, delay)| {
                    now += gap;
                    (now, delay.map(|d| now + d))
                })
                .collect();
            let mut events: Vec<(u64, bool, u64)> = list.iter().map(|(sent, _)| (*sent, false, *sent)).collect();
            events.extend(list.iter().filter_map(|(sent, got)| Some(((*got)?, true, *sent))));
            events.sort_unstable();
            let mut m = FlowMonitor::new(1);
            for (at, is_reception, sent) in &events {
                if *is_reception {
                    m.received(ms(*at), F(), 100, ms(*sent));
                } else {
                    m.sent(ms(*at), F(), 100);
                }
            }
            let end = events[events.len() - 1].0;
            let late = |sent: u64, at: u64| at / 1000 > sent / 1000 + PATIENCE_S;
            let lost = list.iter().filter(|(sent, got)| late(*sent, got.unwrap_or(end).min(end))).count();
            prop_assert_eq!(m.flow(F()).lost_within_10_s(ms(end)), lost as u64);
        }
    }

    #[test]
    fn jain_runs_from_one_nth_to_one() {
        assert_eq!(jain([3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain([5.0, 0.0, 0.0, 0.0]), Some(0.25));
        // (1 + 2 + 3)^2 / (3 x 14) = 36 / 42.
        assert!((jain([1.0, 2.0, 3.0]).unwrap() - 36.0 / 42.0).abs() < 1e-15);
        assert_eq!((jain([]), jain([0.0])), (None, None));
    }
}

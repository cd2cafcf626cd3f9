//! Stages of packets in the MAC, for probes. Without recording, each call is one comparison.

use lasthop_units::{IndexVec, Instant, PacketId, StationId};

use crate::mac::{Chain, Mpdu, Pool};
use crate::network::{Device, End, Link};

/// The stage of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WlanStage {
    /// It waits while other packets of its device, or earlier ones, are sent.
    Queue,
    /// It is in the next burst of its device, which contends for the medium.
    Contention,
    /// It is transmitted for the first time, with RTS and CTS where they precede it.
    Airtime,
    /// An exchange with it has failed: it waits for its retransmission, or is retransmitted.
    Retry,
    /// It has arrived and waits for MPDUs before it.
    Reorder,
}

/// A packet enters a stage at `at`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WlanNote {
    /// The packet.
    pub id: PacketId,
    /// The station of its link.
    pub station: StationId,
    /// The start of the stage; not after the call that reports it.
    pub at: Instant,
    /// The stage.
    pub stage: WlanStage,
}

/// The MPDU of a packet that is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostMpdu {
    /// The packet.
    pub id: PacketId,
    /// The station of its link.
    pub station: StationId,
    /// The end that sends it.
    pub end: End,
    /// Its sequence number.
    pub sn: u16,
    /// Number of transmissions without a response; an RTS before it counts.
    pub failures: u32,
}

/// Records that were not taken yet; None: recording is off.
#[derive(Debug, Default)]
pub struct StageRecorder(Option<Recorded>);

#[derive(Debug, Default)]
struct Recorded {
    stages: Vec<WlanNote>,
    lost: Vec<LostMpdu>,
}

/// The parts of a device's burst.
#[derive(Clone, Copy)]
pub struct BurstOf<'a> {
    pub device: &'a Device,
    pub links: &'a IndexVec<StationId, Link>,
    pub pool: &'a Pool,
}

impl StageRecorder {
    pub(super) fn begin(&mut self) {
        self.0 = Some(Recorded::default());
    }
    pub(super) fn drain(&mut self) -> impl Iterator<Item = WlanNote> + '_ {
        self.0.iter_mut().flat_map(|recorded| recorded.stages.drain(..))
    }
    pub(super) fn drain_lost(&mut self) -> impl Iterator<Item = LostMpdu> + '_ {
        self.0.iter_mut().flat_map(|recorded| recorded.lost.drain(..))
    }
    #[inline]
    pub const fn is_on(&self) -> bool {
        self.0.is_some()
    }
    /// Records that a packet is dropped with its MPDU.
    #[inline]
    pub fn lost(&mut self, mpdu: LostMpdu) {
        if let Some(recorded) = &mut self.0 {
            recorded.lost.push(mpdu);
        }
    }
    /// Records that the packets of an MPDU are in this stage from `at` on.
    #[cold]
    #[inline(never)]
    pub fn chain(&mut self, pool: &Pool, chain: Chain, station: StationId, at: Instant, stage: WlanStage) {
        if let Some(recorded) = &mut self.0 {
            pool.each(chain, |item| recorded.stages.push(WlanNote { id: item.id, station, at, stage }));
        }
    }
    /// Records the start of the burst. Packets that were not transmitted before have contended
    /// since the device's last turn.
    #[cold]
    #[inline(never)]
    pub fn burst_begins(&mut self, now: Instant, burst: BurstOf<'_>) {
        let ended = burst.device.turn_ended;
        for (station, mpdu, chain) in burst.mpdus().filter(|(_, mpdu, _)| mpdu.retries.all() == 0) {
            let contends = ended.max(mpdu.since).min(now);
            self.chain(burst.pool, chain, station, contends, WlanStage::Contention);
            self.chain(burst.pool, chain, station, now, WlanStage::Airtime);
        }
    }
    /// Records the end of the exchange: packets that have not arrived wait for their
    /// retransmission.
    #[cold]
    #[inline(never)]
    pub fn burst_ends(&mut self, now: Instant, burst: BurstOf<'_>) {
        for (station, _, chain) in burst.mpdus() {
            self.chain(burst.pool, chain, station, now, WlanStage::Retry);
        }
    }
}

impl<'a> BurstOf<'a> {
    /// Every MPDU of the burst that has not arrived. The packets of one that has arrived have left
    /// its chain, whether or not the sender has got the acknowledgement.
    fn mpdus(self) -> impl Iterator<Item = (StationId, &'a Mpdu, Chain)> {
        let BurstOf { device, links, .. } = self;
        let burst = &device.burst;
        let queue = burst.station.and_then(|station| {
            let queues = &links[station].tx_queues[device.end().index()];
            Some((station, queues.get(burst.contender)?.as_ref()?))
        });
        queue.into_iter().flat_map(move |(station, queue)| {
            let mpdus = burst.sns.iter().filter_map(|sn| queue.originator.get(*sn));
            mpdus.filter_map(move |mpdu| mpdu.chain.map(|chain| (station, mpdu, chain)))
        })
    }
}

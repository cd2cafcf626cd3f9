//! Where packets are in the MAC, for probes. Without a reader there is one comparison where
//! something would be recorded.

use lasthop_units::{IndexVec, Instant, PacketId, StationId};

use crate::mac::{Chain, Mpdu, Pool};
use crate::network::{Device, End, Link};

/// What happens to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WlanStage {
    /// It waits while others of its device, or before it, are sent.
    Queue,
    /// It is in the next burst of its device, which waits for the medium and counts down.
    Contention,
    /// It is on the air for the first time, with RTS and CTS where they go before.
    Airtime,
    /// The exchange has failed for it: it waits to be sent again, and is.
    Retry,
    /// It has arrived and waits for MPDUs before it.
    Reorder,
}

/// From `at` on the packet is in this stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WlanNote {
    /// The packet.
    pub id: PacketId,
    /// The station of its link.
    pub station: StationId,
    /// Since when; not after the call that says so.
    pub at: Instant,
    /// What happens to it.
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
    /// How often it was sent without an answer; an RTS before it counts.
    pub failures: u32,
}

/// What was not taken yet; None: nothing is recorded.
#[derive(Debug, Default)]
pub struct StageRecorder(Option<Recorded>);

#[derive(Debug, Default)]
struct Recorded {
    stages: Vec<WlanNote>,
    lost: Vec<LostMpdu>,
}

/// What the burst of a device is made of.
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
    /// A packet is dropped with its MPDU.
    #[inline]
    pub fn lost(&mut self, mpdu: LostMpdu) {
        if let Some(recorded) = &mut self.0 {
            recorded.lost.push(mpdu);
        }
    }
    /// The packets of an MPDU are in this stage from `at` on.
    #[cold]
    #[inline(never)]
    pub fn chain(&mut self, pool: &Pool, chain: Chain, station: StationId, at: Instant, stage: WlanStage) {
        if let Some(recorded) = &mut self.0 {
            pool.each(chain, |item| recorded.stages.push(WlanNote { id: item.id, station, at, stage }));
        }
    }
    /// The burst begins. Packets that were not on the air before have contended since the device's
    /// last turn.
    #[cold]
    #[inline(never)]
    pub fn burst_begins(&mut self, now: Instant, burst: BurstOf<'_>) {
        let ended = burst.device.turn_ended;
        for (station, mpdu, chain) in burst.mpdus().filter(|(_, mpdu, _)| mpdu.retries == 0) {
            let contends = ended.max(mpdu.since).min(now);
            self.chain(burst.pool, chain, station, contends, WlanStage::Contention);
            self.chain(burst.pool, chain, station, now, WlanStage::Airtime);
        }
    }
    /// The exchange is over: what has not arrived waits to be sent again.
    #[cold]
    #[inline(never)]
    pub fn burst_ends(&mut self, now: Instant, burst: BurstOf<'_>) {
        for (station, _, chain) in burst.mpdus() {
            self.chain(burst.pool, chain, station, now, WlanStage::Retry);
        }
    }
}

impl<'a> BurstOf<'a> {
    /// Every MPDU of the burst that has not arrived: what has, has left its chain, whether the
    /// sender has been informed or not.
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

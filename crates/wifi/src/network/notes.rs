//! Where packets are in the MAC, for probes. Off unless asked for; without it there is one
//! comparison where something would be noted.

use lasthop_units::{Instant, PacketId, StationId};

use super::{End, Wlan};
use crate::mac::{Chain, Mpdu, Pool};

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

/// The notes that were not taken yet; None: none are recorded.
#[derive(Debug, Default)]
pub struct Notes(Option<Noted>);

#[derive(Debug, Default)]
struct Noted {
    stages: Vec<WlanNote>,
    lost: Vec<LostMpdu>,
}

impl Notes {
    /// From now on it is noted where packets are.
    pub fn switch_on(&mut self) {
        self.0 = Some(Noted::default());
    }
    /// The notes since the last call.
    pub fn drain(&mut self) -> impl Iterator<Item = WlanNote> + '_ {
        self.0.iter_mut().flat_map(|notes| notes.stages.drain(..))
    }
    /// The MPDUs of packets that were dropped since the last call.
    pub fn drain_lost(&mut self) -> impl Iterator<Item = LostMpdu> + '_ {
        self.0.iter_mut().flat_map(|notes| notes.lost.drain(..))
    }
    /// A packet is dropped with its MPDU.
    #[inline]
    pub(super) fn lost(&mut self, mpdu: LostMpdu) {
        if let Some(notes) = &mut self.0 {
            notes.lost.push(mpdu);
        }
    }
    #[inline]
    pub(super) const fn are_wanted(&self) -> bool {
        self.0.is_some()
    }
    /// The packets of an MPDU are in this stage from `at` on.
    #[cold]
    pub(super) fn chain(
        &mut self,
        pool: &Pool,
        chain: Chain,
        station: StationId,
        at: Instant,
        stage: WlanStage,
    ) {
        if let Some(notes) = &mut self.0 {
            pool.each(chain, |item| notes.stages.push(WlanNote { id: item.id, station, at, stage }));
        }
    }
}

impl Wlan {
    /// Where packets are.
    pub const fn notes(&mut self) -> &mut Notes {
        &mut self.notes
    }
}

/// The burst of device `d` begins. Packets that were not on the air before have contended since the
/// device's last turn.
#[cold]
pub(super) fn burst_begins(wlan: &mut Wlan, now: Instant, d: usize) {
    let ended = wlan.devices[d].turn_ended;
    for_each_mpdu(wlan, d, |notes, pool, station, mpdu, chain| {
        if mpdu.retries == 0 {
            notes.chain(pool, chain, station, ended.max(mpdu.since).min(now), WlanStage::Contention);
            notes.chain(pool, chain, station, now, WlanStage::Airtime);
        }
    });
}

/// The exchange of device `d` is over: what has not arrived waits to be sent again.
#[cold]
pub(super) fn burst_ends(wlan: &mut Wlan, now: Instant, d: usize) {
    for_each_mpdu(wlan, d, |notes, pool, station, _, chain| {
        notes.chain(pool, chain, station, now, WlanStage::Retry);
    });
}

/// Every MPDU of a device's burst that has not arrived: what has, has left its chain, whether the
/// sender knows or not.
fn for_each_mpdu(
    wlan: &mut Wlan,
    d: usize,
    mut each: impl FnMut(&mut Notes, &Pool, StationId, &Mpdu, Chain),
) {
    let Wlan { devices, links, pool, notes, .. } = wlan;
    let device = &devices[d];
    let Some(station) = device.burst.station else { return };
    let queues = &links[station].tx_queues[device.end().index()];
    let Some(queue) = queues.get(device.burst.contender).and_then(Option::as_ref) else { return };
    for mpdu in device.burst.sns.iter().filter_map(|sn| queue.originator.get(*sn)) {
        if let Some(chain) = mpdu.chain {
            each(notes, pool, station, mpdu, chain);
        }
    }
}

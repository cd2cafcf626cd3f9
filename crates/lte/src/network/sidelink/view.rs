//! What may be known of sidelinks from outside.

use lasthop_units::UeId;

use super::super::state::sidelink::{Lane, Sidelink};
use crate::mac::downlink::LinkStats;
use crate::mac::sidelink::LinkMode;

/// The sidelinks of a network, to look at; a network without pairs and groups has no lanes.
#[derive(Clone, Copy, Debug)]
pub struct Sidelinks<'a>(Option<&'a Sidelink>);

impl<'a> Sidelinks<'a> {
    /// Those of a network, if it has any.
    pub(in crate::network) const fn of(all: Option<&'a Sidelink>) -> Sidelinks<'a> {
        Sidelinks(all)
    }

    /// Lanes, with the UEs that send and receive; of a group, the first that does.
    pub fn lanes(self) -> impl Iterator<Item = (u32, UeId, UeId)> + 'a {
        (0..).zip(self.all()).map(|(id, lane)| (id, lane.tx, lane.rx))
    }

    /// Which way the packets of a lane go.
    pub fn mode(self, lane: u32) -> Option<LinkMode> {
        self.lane(lane).map(|l| l.mode)
    }

    /// What was counted on a lane's sidelink.
    pub fn stats(self, lane: u32) -> Option<&'a LinkStats> {
        self.lane(lane).map(|l| &l.stats)
    }

    /// Blocks of a group that its receiver number `member` could not decode.
    pub fn lost(self, lane: u32, member: usize) -> Option<u64> {
        Some(self.0?.receivers.get(lane as usize)?.members.get(member)?.lost)
    }

    /// Packets that wait for their turn at a receiver.
    pub fn reordering(self) -> usize {
        self.0.iter().flat_map(|s| &s.receivers).filter_map(|r| r.order.as_ref()).map(|o| o.inside()).sum()
    }

    fn all(self) -> &'a [Lane] {
        self.0.map_or(&[], |s| &s.lanes)
    }

    fn lane(self, lane: u32) -> Option<&'a Lane> {
        self.all().get(lane as usize)
    }
}

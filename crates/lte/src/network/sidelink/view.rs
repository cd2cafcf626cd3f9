//! Values of sidelinks for reading from outside.

use lasthop_units::{BearerId, UeId};

use super::super::state::sidelink::{Destination, Sidelink};
use crate::mac::downlink::LinkStats;
use crate::mac::sidelink::LinkMode;

/// The sidelinks of a network, for reading; a network without pairs and groups has no destinations.
#[derive(Clone, Copy, Debug)]
pub struct Sidelinks<'a>(Option<&'a Sidelink>);

impl<'a> Sidelinks<'a> {
    /// The sidelinks of a network, if it has any.
    pub(in crate::network) const fn of(all: Option<&'a Sidelink>) -> Sidelinks<'a> {
        Sidelinks(all)
    }

    /// Destinations, with their transmitting and receiving UEs; of a group, the first receiver.
    pub fn destinations(self) -> impl Iterator<Item = (u32, UeId, UeId)> + 'a {
        (0..).zip(self.all()).map(|(id, destination)| (id, destination.tx, destination.rx))
    }

    /// The mode of a destination.
    pub fn mode(self, destination: u32) -> Option<LinkMode> {
        self.destination(destination).map(|l| l.mode)
    }

    /// The bearer into which a packet to a destination is pushed now; of a group, the one for its
    /// receiver number `member`.
    pub fn entrance(self, destination: u32, member: u32) -> Option<BearerId> {
        let l = self.destination(destination)?;
        match (&l.group, l.mode) {
            (Some(group), _) => group.members.get(member as usize).map(|m| m.bearer),
            (None, LinkMode::Direct) => Some(l.bearer),
            (None, LinkMode::Infrastructure) => self.0.map(|s| s.infrastructure(destination)),
        }
    }

    /// Counters of a destination's sidelink.
    pub fn stats(self, destination: u32) -> Option<&'a LinkStats> {
        self.destination(destination).map(|l| &l.stats)
    }

    /// Blocks of a group that its receiver number `member` could not decode.
    pub fn lost(self, destination: u32, member: usize) -> Option<u64> {
        Some(self.0?.receivers.get(destination as usize)?.members.get(member)?.lost)
    }

    /// Packets held for reordering at receivers.
    pub fn reordering(self) -> usize {
        self.0.iter().flat_map(|s| &s.receivers).filter_map(|r| r.order.as_ref()).map(|o| o.inside()).sum()
    }

    fn all(self) -> &'a [Destination] {
        self.0.map_or(&[], |s| &s.destinations)
    }

    fn destination(self, destination: u32) -> Option<&'a Destination> {
        self.all().get(destination as usize)
    }
}

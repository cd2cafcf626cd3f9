//! Prefetching. With hundreds of UEs the nearest caches cannot hold the network's state of all of
//! them, and each access to a UE is a cache miss. The order of accesses is known in advance: data
//! is prefetched some steps before its use, and data behind a pointer one step later. Prefetching
//! changes only the run time.

use lasthop_engine::simd::prefetch;
use lasthop_units::{CellId, IndexVec, UeId};

use super::RadioNetwork;
use super::bearers::Bearers;
use super::calendar::Due;
use super::reach::{MANY, Reach, Whole};
use super::state::{Cell, Link, UeContext};
use lasthop_bearer::{Direction, End};

/// Steps between the first prefetch for a UE and its turn.
pub(super) const EARLY: usize = 4;
/// Prefetches for the scheduling of the UEs `active` in the downlink.
pub(super) fn scheduling<R: Reach>(
    active: &[UeId],
    contexts: &R::Contexts,
    all_links: &R::Links,
    all_drbs: &R::Drbs,
) {
    let links = || active.iter().map(|ue| &all_links[*ue]);
    for (ue, link) in active.iter().zip(links()) {
        let context = &contexts[*ue];
        prefetch(&link.drbs);
        prefetch(&context.active);
        prefetch(&context.downlink.quality);
        prefetch(&context.downlink.harq);
    }
    let drbs = || links().flat_map(|link| &link.drbs).map(|drb| &all_drbs[*drb]);
    for drb in drbs() {
        prefetch(&drb.qos);
        prefetch(&drb.ip);
        drb.layers.prefetch(End::Network);
    }
    for drb in drbs() {
        drb.layers.prefetch_values(End::Network);
    }
}

/// The state of the network from which to prefetch.
pub(super) struct Prefetch<'a> {
    pub cells: &'a IndexVec<CellId, Cell>,
    pub contexts: &'a IndexVec<UeId, UeContext>,
    pub links: &'a IndexVec<UeId, Link>,
    pub bearers: &'a Bearers,
}

impl<'a> Prefetch<'a> {
    /// The state of `network`, if it has so many UEs that prefetching saves time.
    #[inline]
    pub fn of(network: &'a RadioNetwork) -> Option<Prefetch<'a>> {
        (network.ues.len() >= MANY).then_some(Prefetch {
            cells: &network.cells,
            contexts: &network.contexts,
            links: &network.links,
            bearers: &network.bearers,
        })
    }

    /// Prefetches for the scheduling of the downlink of `cell`, which is next.
    pub fn scheduling(&self, cell: CellId) {
        let Some(cell) = self.cells.get(cell) else { return };
        let active = &cell.active[Direction::Downlink.index()];
        scheduling::<Whole>(active, self.contexts, self.links, self.bearers.drbs());
    }

    /// Prefetches for the events of this TTI from `due[i]` on.
    pub fn due(&self, due: &[Due], i: usize) {
        let process = |i: usize| match due.get(i) {
            Some(Due::DownlinkDecoded { ue, process }) => Some((*ue, *process, true)),
            Some(Due::DownlinkFeedback { ue, process }) => Some((*ue, *process, false)),
            _ => None,
        };
        if let Some((ue, _, _)) = process(i + EARLY) {
            let link = &self.links[ue];
            prefetch(&link.serving);
            prefetch(&link.drbs);
            prefetch(&self.contexts[ue].downlink.harq);
        }
        if let Some((ue, id, decoded)) = process(i + 2) {
            if let Some(p) = self.contexts[ue].downlink.process_ref(id) {
                prefetch(p);
            }
            if decoded {
                let drbs = self.links[ue].drbs.iter().map(|drb| &self.bearers[*drb]);
                drbs.for_each(|drb| drb.layers.prefetch(End::Ue));
            }
        }
        if let Some((ue, id, true)) = process(i + 1) {
            if let Some(p) = self.contexts[ue].downlink.process_ref(id) {
                prefetch(p.parts.as_slice());
            }
            let drbs = self.links[ue].drbs.iter().map(|drb| &self.bearers[*drb]);
            drbs.for_each(|drb| drb.layers.prefetch_values(End::Ue));
        }
    }
}

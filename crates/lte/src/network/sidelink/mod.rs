//! The sidelink: UEs that transmit to each other in the uplink band, on blocks that the eNB grants.
//!
//! A destination (TS 36.321 clause 5.14) is one direction of a pair, or from one UE to a
//! [`group`](super::state::sidelink::group); its bearer, RLC, PDCP, multiplexer and HARQ processes
//! are those of any other link. A UE with data for a destination requests a grant as for the uplink
//! and reports in an uplink block; the eNB grants blocks that the uplink does not use
//! ([`schedule`]); the UE fills them, the peer decodes them and sends feedback to both ([`blocks`],
//! [`air`]). [`switch`] moves the packets of a destination between the sidelink and the path over
//! the eNB.
//!
//! # Simplifications
//! A UE may transmit on the sidelink and the uplink in one TTI. Grants and feedback are always
//! received.

mod air;
mod blocks;
mod invariants;
mod schedule;
mod switch;
#[cfg(test)]
mod tests;
mod view;

pub use view::Sidelinks;

use lasthop_units::{BearerId, CellId, IndexVec, Instant, Tti, UeId};

use super::bearers::Notice;
use super::calendar::{Agenda, Due};
use super::config::NetworkConfig;
use super::state::sidelink::{Persistent, Sidelink};
use super::state::{Cell, Link};
use super::{NetworkOutput, RadioNetwork};
use crate::mac::sidelink::LinkMode;
use crate::phy::RbSet;
use lasthop_bearer::{End, Sdu};

impl RadioNetwork {
    /// Pushes `packet` at the sender of `destination`, to be delivered at the receiver, or at the
    /// eNB on its path. A group has a copy of it for each receiver, number `member`: they are
    /// pushed together, those of the later receivers first, and with that of receiver 0 the packet
    /// is sent. A pair has receiver 0 alone.
    pub fn push_direct(
        &mut self,
        now: Instant,
        destination: u32,
        member: u32,
        packet: Sdu,
        out: &mut NetworkOutput,
    ) {
        let Some(s) = &mut self.sidelink else { return };
        match s.entrance(destination, member, packet) {
            (bearer, end) if member == 0 => {
                self.push(now, bearer, end, packet, out);
            }
            (bearer, end) => self.bearers.push_copy(bearer, end, packet),
        }
    }

    /// Processes a persistent occasion of `destination`, and schedules the next one if data waits.
    pub(super) fn sidelink_occasion(&mut self, tti: Tti, destination: u32) {
        let Some(s) = &mut self.sidelink else { return };
        s.senders[destination as usize].occasion = None;
        let l = &s.destinations[destination as usize];
        let (bearer, cell) = (l.bearer, self.links[l.tx].serving);
        let has_data = self.bearers[bearer].layers.buffer_status(l.end).total() > 0;
        if has_data && l.persistent.is_some() && l.mode == LinkMode::Direct {
            if let Some(mut destinations) = self.sidelink_scheduling(tti, cell) {
                destinations.occasion(destination);
            }
            self.bearers.notify(Notice::of(bearer));
        }
    }

    /// Updates requests and occasions after a change of the senders' data in a bearer.
    pub(super) fn sidelink_data(&mut self, bearer: BearerId) {
        let from = self.calendar.first_open();
        let Some(destinations) = self.sidelink.as_ref().map(|s| s.destinations_of(bearer)) else { return };
        for destination in destinations {
            let Some(s) = &mut self.sidelink else { return };
            let (l, sender) = (&s.destinations[destination as usize], &mut s.senders[destination as usize]);
            let backlog = self.bearers[bearer].layers.buffer_status(l.end).total();
            if let Some(p) = &l.persistent {
                let next = p.next(from);
                if backlog > 0 && l.mode == LinkMode::Direct && sender.occasion.is_none() {
                    sender.occasion = Some(next);
                    self.calendar.note(next, Due::SidelinkOccasion { destination });
                }
            } else if backlog > sender.covered && !sender.bsr_triggered {
                sender.bsr_triggered = true;
                let tx = l.tx;
                self.ues[tx].uplink.sidelink_bsr = true;
                self.terminal(tx).arm();
            }
        }
    }
}

impl Sidelink {
    /// The pairs and groups of `config`, with the draws of the run `seed`; None without any. Their
    /// bearers follow those of the UEs.
    pub fn of(
        config: &NetworkConfig,
        cells: &IndexVec<CellId, Cell>,
        links: &IndexVec<UeId, Link>,
        calendar: &mut Agenda,
        seed: u64,
    ) -> Option<Box<Sidelink>> {
        if config.pairs.is_empty() && config.groups.is_empty() {
            return None;
        }
        let first = config.bearers.len();
        let outer_loop = |ue: UeId| cells[links[ue].serving].uplink.config.outer_loop.olla();
        let mut all = Sidelink::new(&config.pairs, &config.groups, links.len(), first, outer_loop, seed);
        all.grants.conflicts_until = cells.iter().map(|_| Tti(0)).collect();
        // Persistent blocks are placed one after the other from the upper end of the band of each
        // cell, phases likewise.
        let mut tops: IndexVec<CellId, Option<u32>> = cells.iter().map(|_| None).collect();
        let mut phases: IndexVec<CellId, u64> = cells.iter().map(|_| 0).collect();
        for i in 0..all.destinations.len() {
            let serving = links[all.destinations[i].tx].serving;
            let (band, top, next) = (cells[serving].uplink.band, &mut tops[serving], &mut phases[serving]);
            let number = std::mem::replace(next, *next + 1);
            let Some(persistent) = all.destinations[i].link.persistent else { continue };
            let end = top.unwrap_or_else(|| band.iter().last().map_or(0, |b| b + 1));
            let first = band.first().unwrap_or(0);
            let blocks = persistent.blocks.min(band.len());
            let end = if end < first + blocks { first + band.len() } else { end };
            *top = Some(end - blocks);
            let rbs = RbSet::range(end - blocks, blocks);
            let phase = number % persistent.period.as_millis();
            all.destinations[i].persistent = Some(Persistent { config: persistent, rbs, phase, mcs: None });
        }
        for (i, pair) in config.pairs.iter().enumerate() {
            if let Some(selection) = &pair.selection {
                calendar.note(Tti(selection.first.as_millis()), Due::ModeSelection { pair: i as u32 });
            }
        }
        Some(Box::new(all))
    }

    /// The bearer and the end at which `packet` for receiver number `member` of a destination
    /// enters.
    fn entrance(&mut self, destination: u32, member: u32, packet: Sdu) -> (BearerId, End) {
        let l = &self.destinations[destination as usize];
        if let Some(group) = &l.group {
            return (group.members[member as usize].bearer, End::Network);
        }
        if let Some(order) = &mut self.receivers[destination as usize].order {
            order.sent(packet.id);
        }
        match l.mode {
            LinkMode::Direct => (l.bearer, l.end),
            LinkMode::Infrastructure => (self.infrastructure(destination), End::Ue),
        }
    }
}

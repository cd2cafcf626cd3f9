//! Reception on sidelinks in a TTI, after all transmissions.

use lasthop_units::{CellId, Db, IndexVec, Tti, UeId};

use super::super::RadioNetwork;
use super::super::calendar::{Agenda, Due};
use super::invariants::Check;
use crate::mac::harq::{Process, Reception, process_of};
use crate::mac::sidelink::{LinkQuality, cqi_at, mcs_of_cqi};
use crate::network::channel::Channel;
use crate::network::state::sidelink::{Receiver, Sidelink, SidelinkGrant};
use crate::network::state::{Cell, Link, Ue};
use lasthop_radio::linear;
use lasthop_radio::lte::{ErrorModel, Mcs, McsTable, SoftBuffer, mean_mi};

impl RadioNetwork {
    /// Decides what the receivers of this TTI's sidelink transmissions decode.
    pub(in crate::network) fn air_sidelinks(&mut self, tti: Tti) {
        let Some(sidelink) = self.sidelink.as_deref_mut() else { return };
        let RadioNetwork { cells, links, ues, bearers, air, calendar, .. } = self;
        if cfg!(debug_assertions) {
            Check { tti, sidelink, cells, links, ues, bearers }.run();
        }
        SidelinkAir { tti, sidelink, cells, links, ues, air, calendar }.run();
    }
}

/// Reception by the UEs of all destinations in one TTI.
struct SidelinkAir<'a> {
    tti: Tti,
    sidelink: &'a mut Sidelink,
    cells: &'a IndexVec<CellId, Cell>,
    links: &'a IndexVec<UeId, Link>,
    ues: &'a IndexVec<UeId, Ue>,
    air: &'a mut Channel,
    calendar: &'a mut Agenda,
}

impl SidelinkAir<'_> {
    /// Decides the reception of each transmission, after all of this TTI.
    fn run(&mut self) {
        let tti = self.tti;
        let process = process_of(tti);
        let mut i = 0;
        while let Some(g) = self.sidelink.grants.plan.granted(tti).get(i).copied() {
            i += 1;
            let s = &*self.sidelink;
            let l = &s.destinations[g.destination as usize];
            let p = s.senders[g.destination as usize].harq.get(process);
            if p.sent != tti || p.transmissions == 0 {
                continue;
            }
            let (rx, is_group) = (l.rx, l.group.is_some());
            if !g.again {
                self.begin(&g);
            }
            if is_group {
                self.air_group(&g);
            } else {
                // A transmission that a UE cannot receive is lost, also where blocks never fail.
                let received = if self.is_transmitting(rx) { None } else { self.information(&g, rx) };
                self.air_pair(&g, received);
            }
            let s = &mut *self.sidelink;
            let l = &mut s.destinations[g.destination as usize];
            let decoded = s.receivers[g.destination as usize].received[process].decoded;
            s.grants.of[g.destination as usize].busy[process] = true;
            l.stats.ttis += 1;
            l.stats.resource_blocks += u64::from(g.rbs.len());
            l.stats.errors += u64::from(!decoded);
            let due = tti.plus(self.cells[self.links[l.tx].serving].config.timing.decode);
            let due_item =
                Due::SidelinkDecoded { destination: g.destination, process: process as u8, sent: tti };
            self.calendar.note(due, due_item);
        }
    }

    /// Begins the reception of a new block.
    fn begin(&mut self, g: &SidelinkGrant) {
        let l = &self.sidelink.destinations[g.destination as usize];
        let receiver = &mut self.sidelink.receivers[g.destination as usize];
        let combining = self.cells[self.links[l.tx].serving].uplink.config.harq.combining;
        let block = ErrorModel::of_grant(Mcs::new(g.mcs), McsTable::Uplink, g.rbs.len() as usize);
        let (soft, uniform) = (SoftBuffer::new(combining.into()), receiver.errors.uniform(self.tti.0));
        receiver.received[process_of(self.tti)] = Reception::new(self.tti, block, soft, uniform);
        receiver.members.iter_mut().for_each(|m| m.begin_block(self.tti, soft));
    }

    /// True if blocks of the UE that transmits to `destination` may fail.
    fn blocks_fail(&self, destination: u32) -> bool {
        let tx = self.sidelink.destinations[destination as usize].tx;
        self.cells[self.links[tx].serving].uplink.config.data_errors
    }

    /// Decides the reception at a pair's receiver; `received`: mutual information of the
    /// transmission.
    fn air_pair(&mut self, g: &SidelinkGrant, received: Option<f32>) {
        let errors = self.blocks_fail(g.destination);
        let r = &mut self.sidelink.receivers[g.destination as usize].received[process_of(self.tti)];
        r.sent = self.tti;
        r.decoded = match (received, r.block) {
            (Some(mi), Some(block)) => {
                r.soft.add(&block, mi);
                !errors || r.uniform >= block.combined_error(&r.soft)
            }
            _ => false,
        };
    }

    /// Mutual information of the transmission `g` at `rx`.
    fn information(&mut self, g: &SidelinkGrant, rx: UeId) -> Option<f32> {
        let l = &self.sidelink.destinations[g.destination as usize];
        let block = self.sidelink.receivers[g.destination as usize].received[process_of(self.tti)].block?;
        let sinr = match &l.link.quality {
            LinkQuality::Physical => {
                let mi = mean_mi(block.modulation(), self.air.get().sidelink(self.tti, l.tx, rx, g.rbs));
                self.air.get().measure_at_ue(rx, g.rbs);
                return Some(mi);
            }
            LinkQuality::Pinned { steps } => {
                let cqi = cqi_at(steps, self.air.get().distance_between(self.tti, l.tx, rx));
                let adaptation = &self.cells[self.links[l.tx].serving].uplink.adaptation;
                let level = adaptation.needed(mcs_of_cqi(cqi));
                self.air.get().flat(g.rbs.len(), linear(Db(f64::from(level))) as f32)
            }
        };
        Some(mean_mi(block.modulation(), sinr))
    }

    /// True if `rx` transmits in `tti` and has one radio for both.
    fn is_transmitting(&self, rx: UeId) -> bool {
        let s = &*self.sidelink;
        if !self.cells[self.links[rx].serving].config.sidelink.half_duplex {
            return false;
        }
        let process = process_of(self.tti);
        let now = |p: &Process| p.sent == self.tti && p.transmissions > 0;
        now(self.ues[rx].uplink.harq.get(process))
            || s.of_ue[rx].iter().any(|own| now(s.senders[*own as usize].harq.get(process)))
    }

    /// Decides the reception at the receivers of a group in `tti`.
    fn air_group(&mut self, g: &SidelinkGrant) {
        let (process, errors) = (process_of(self.tti), self.blocks_fail(g.destination));
        let members = self.sidelink.receivers[g.destination as usize].members.len();
        let mut missing = false;
        for k in 0..members {
            if self.sidelink.receivers[g.destination as usize].members[k].received[process].decoded {
                continue;
            }
            let l = &self.sidelink.destinations[g.destination as usize];
            let Some(rx) = l.group.as_ref().map(|group| group.members[k].ue) else { return };
            let received = if self.is_transmitting(rx) { None } else { self.information(g, rx) };
            let Receiver { received: all, members, .. } =
                &mut self.sidelink.receivers[g.destination as usize];
            let h = &mut members[k].received[process];
            if let (Some(mi), Some(block)) = (received, all[process].block) {
                h.soft.add(&block, mi);
                h.decoded = !errors || h.uniform >= block.combined_error(&h.soft);
            }
            missing |= !h.decoded;
        }
        let all = &mut self.sidelink.receivers[g.destination as usize].received[process];
        (all.sent, all.decoded) = (self.tti, !missing);
    }
}

//! The UE's side of a TTI of PUSCH: filling transport blocks.

use lasthop_units::{CellId, Instant, Tti, UeId};

use super::super::trace::{Step, TraceLink};
use super::super::{NetworkOutput, RadioNetwork};
use super::HARQ_PERIOD;
use super::state::{Block, Content, Granted};
use crate::mac::harq::State;
use crate::mac::multiplex::Assembly;
use crate::phy::TTI;
use lasthop_bearer::End;
use lasthop_radio::lte::SoftBuffer;

impl RadioNetwork {
    /// The UEs of `cell` whose grant is for `tti` fill their transport blocks and put them on the
    /// air.
    pub(in crate::network) fn send_uplink(
        &mut self,
        now: Instant,
        tti: Tti,
        cell: CellId,
        out: &mut NetworkOutput,
    ) {
        if !self.cells[cell].uplink.plan.is_busy(tti) {
            return;
        }
        let slot = self.cells[cell].uplink.plan.slot(tti);
        let granted = std::mem::take(&mut slot.granted);
        let missed = std::mem::take(&mut slot.missed);
        for g in granted.iter().filter(|g| !missed.contains(&g.ue)) {
            let request = &self.cells[self.links[g.ue].serving].uplink.config.request;
            self.ues[g.ue].uplink.pause_rac(request, tti);
            let sends = match g.content {
                Content::Again => {
                    let link = &mut self.links[g.ue].uplink;
                    // A process that Msg3 takes is not repeated.
                    let again = !self.ues[g.ue].uplink.access.sends_msg3(tti) && link.repeat(tti);
                    if again {
                        let p = link.harq.get(process_of(tti));
                        self.trace.block(tti, Step::Again, TraceLink::Uplink, g.ue, p);
                    }
                    again
                }
                Content::Msg3 => self.send_msg3(now, tti, cell, g, out),
                Content::New | Content::ReportOnly => {
                    self.begin_occasion(now, tti, g.ue, out);
                    self.send_block(now, tti, cell, g, out);
                    self.end_occasion(tti, g.ue);
                    true
                }
            };
            if sends {
                self.ue_transmits(tti, g);
            }
        }
        let slot = self.cells[cell].uplink.plan.slot(tti);
        (slot.granted, slot.missed) = (granted, missed);
    }

    /// Msg3, unless the UE has given up. A block that waited in its process is lost: a grant for
    /// new data flushes it (TS 36.321 clause 5.4.2.2).
    fn send_msg3(
        &mut self,
        now: Instant,
        tti: Tti,
        cell: CellId,
        g: &Granted,
        out: &mut NetworkOutput,
    ) -> bool {
        if !self.ues[g.ue].uplink.access.sends_msg3(tti) {
            return false;
        }
        if self.links[g.ue].uplink.harq.get(process_of(tti)).state != State::Idle {
            self.give_up_block(now, g.ue, process_of(tti), out);
        }
        self.send_block(now, tti, cell, g, out);
        let config = &self.cells[cell].uplink.config.random_access;
        self.ues[g.ue].uplink.access.on_msg3(config, tti);
        self.arm_uplink(g.ue);
        true
    }

    /// A new transport block: control elements first, then data, then padding (TS 36.321 clauses
    /// 5.4.3.1, 6.1.2).
    fn send_block(&mut self, now: Instant, tti: Tti, cell: CellId, g: &Granted, out: &mut NetworkOutput) {
        let mut block = Block::new();
        block.content = g.content;
        block.first = tti;
        self.fill_block(now, tti, g, &mut block, out);
        let link = &mut self.links[g.ue].uplink;
        let combining = self.cells[cell].uplink.config.harq.combining;
        let p = link.put(tti, g, block, SoftBuffer::new(combining.into()));
        self.trace.block(tti, Step::Data, TraceLink::Uplink, g.ue, p);
        self.arm_uplink(g.ue);
    }

    fn fill_block(
        &mut self,
        now: Instant,
        tti: Tti,
        g: &Granted,
        block: &mut Block,
        out: &mut NetworkOutput,
    ) {
        let ue = g.ue;
        let first = self.links[ue].drbs.first();
        if g.content == Content::New
            && first.is_some_and(|b| self.bearers[*b].layers.rlc(End::Ue).reports().is_some())
        {
            return self.fill_by_reports(now, tti, ue, g.bytes, out);
        }
        let gain = self.air.gains(tti, self.links[ue].serving, ue).downlink;
        let path_loss = self.ues[ue].uplink.path_loss(gain);
        if g.content == Content::Msg3 {
            if !self.ues[ue].rrc.is_connected() || self.asks_for_its_connection(ue) {
                // An RRCConnectionRequest or an RRCConnectionReestablishmentRequest: 48 bits and a
                // subheader are all there is room for.
                return;
            }
            block.c_rnti = true;
        }
        let u = &mut self.ues[ue].uplink;
        u.bsr.on_tti(tti, u.had.contains(&true));
        let (drbs, bearers) = (&self.links[ue].drbs, &self.bearers);
        let waiting = |i: usize| bearers[drbs[i]].layers.buffer_status(End::Ue).total();
        let mut pdu = Assembly::begin(tti, g.bytes, block.c_rnti, &u.mux, &mut u.bsr, waiting);
        if pdu.takes_headroom(&mut u.phr, path_loss) {
            let config = &self.cells[self.links[ue].serving].uplink.config.power_control;
            block.headroom = Some(u.headroom_level(config, g.rbs.len(), path_loss));
        }
        let mut direct = false;
        if u.direct_wants {
            let (report, size) = self.sidelink_report(tti, ue, pdu.room());
            direct = !report.is_empty();
            block.sidelink = report;
            pdu.add(size);
        }
        self.block_sdus.clear();
        // Msg3 may be lost to another UE's: data does not risk that.
        if g.content == Content::New {
            self.fill_data(now, tti, ue, pdu.room(), out);
        }
        let u = &mut self.ues[ue].uplink;
        let (drbs, bearers) = (&self.links[ue].drbs, &self.bearers);
        let waiting = |i: usize| bearers[drbs[i]].layers.buffer_status(End::Ue).total();
        let (report, padding) = pdu.finish(&self.block_sdus, &u.mux, &mut u.bsr, &mut u.sr, waiting);
        if let (Some(report), true) = (report, self.trace.is_on()) {
            self.trace.step(tti, Step::Report, ue, tti, report.bytes(), 0);
        }
        block.report = report;
        block.full = report.is_none() && !direct;
        let (link, padding) = (&mut self.links[ue], u64::from(padding));
        self.cells[link.serving].uplink.counters.padding_bytes += padding;
        link.uplink.stats.padding_bytes += padding;
    }

    /// RLC PDUs of the UE's bearers into `room` bytes.
    fn fill_data(&mut self, now: Instant, tti: Tti, ue: UeId, room: u32, out: &mut NetworkOutput) {
        let process = process_of(tti);
        let mut mux = std::mem::take(&mut self.ues[ue].uplink.mux);
        let mut parts = std::mem::take(&mut self.links[ue].uplink.harq.get_mut(process).parts);
        debug_assert!(parts.is_empty());
        let RadioNetwork { links, bearers, block_sdus, .. } = self;
        let drbs = &links[ue].drbs;
        // Both closures look at the bearers, one after the other.
        let bearers = std::cell::RefCell::new(bearers);
        mux.fill(
            tti,
            room,
            |i| bearers.borrow()[drbs[i]].layers.buffer_status(End::Ue).total(),
            |i, grant| bearers.borrow_mut().pull(now, drbs[i], End::Ue, grant, &mut parts),
        );
        let bearers = bearers.into_inner();
        block_sdus.extend(parts.iter().map(|(b, pdu)| pdu.size(bearers[*b].layers.format(End::Ue))));
        self.ues[ue].uplink.mux = mux;
        self.links[ue].uplink.harq.get_mut(process).parts = parts;
        for i in 0..self.links[ue].drbs.len() {
            let bearer = self.links[ue].drbs[i];
            self.settle(now, bearer, out);
        }
    }
}

/// The process of a TTI.
pub(super) const fn process_of(tti: Tti) -> usize {
    (tti.0 % HARQ_PERIOD) as usize
}

const _: () = assert!(TTI.as_millis() == 1);

//! The UE's side of a TTI of PUSCH: filling transport blocks.

use lasthop_units::{CellId, Instant, Tti, UeId};

use super::super::trace::{Step, Trace, TraceLink, c_rnti};
use super::super::{NetworkOutput, RadioNetwork};
use super::{Terminal, report};
use crate::mac::harq::{State, process_of};
use crate::mac::multiplex::Assembly;
use crate::mac::pdu::{Control, SidelinkLevels};
use crate::mac::phr;
use crate::network::channel::Channel;
use crate::network::ends::UeLayer2;
use crate::network::layer2::Layer2;
use crate::network::state::plan::{Content, Granted};
use crate::network::state::sidelink::SidelinkReport;
use crate::network::state::uplink::{Block, UplinkCounters, UplinkUe};
use crate::network::state::{Cell, Link};
use crate::network::{CellConfig, sidelink_report};
use crate::phy::power::SentWith;
use crate::phy::{RbSet, TTI};
use lasthop_lte_l2::rlc::Grant;

/// A UE with a grant for a TTI: its uplink's state, its bearers, and the radio channel.
pub(in crate::network) struct Sending<'a> {
    pub tti: Tti,
    pub id: UeId,
    pub ue: &'a mut UplinkUe,
    pub link: &'a mut Link,
    /// The configuration of its cell, by RRC.
    pub config: &'a CellConfig,
    /// Counters of the transmissions to the cell.
    pub counters: &'a mut UplinkCounters,
    pub layer2: UeLayer2<'a>,
    pub air: &'a mut Channel,
    pub trace: &'a mut Trace,
    /// Sizes of the MAC SDUs of the block that is being filled [B].
    pub sdus: &'a mut Vec<u32>,
}

impl RadioNetwork {
    /// Fills and transmits the transport blocks of the UEs of `cell` with a grant for `tti`.
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
            // An RRCConnectionRequest or an RRCConnectionReestablishmentRequest.
            let with_rrc_message = g.content == Content::Msg3
                && (!self.links[g.ue].rrc.is_connected()
                    || self.mobility.as_ref().is_some_and(|m| m.requests_reestablishment(g.ue)));
            let mut sending = self.sending(now, tti, g.ue, out);
            if sending.flushes(g) {
                sending.give_up_block(process_of(tti));
                self.serve(now, out);
                sending = self.sending(now, tti, g.ue, out);
            }
            sending.send(g, with_rrc_message);
            self.serve(now, out);
        }
        let slot = self.cells[cell].uplink.plan.slot(tti);
        (slot.granted, slot.missed) = (granted, missed);
    }

    /// The UE `ue`, which transmits in `tti`, or is to.
    #[inline]
    pub(in crate::network) fn sending<'a>(
        &'a mut self,
        now: Instant,
        tti: Tti,
        ue: UeId,
        out: &'a mut NetworkOutput,
    ) -> Sending<'a> {
        let RadioNetwork { ues, links, cells, bearers, sidelink, calendar, air, trace, .. } = self;
        let (link, sidelink) = (&mut links[ue], sidelink.as_deref_mut());
        let Cell { config, uplink, .. } = &mut cells[link.serving];
        Sending {
            tti,
            id: ue,
            ue: &mut ues[ue].uplink,
            config,
            counters: &mut uplink.counters,
            link,
            layer2: UeLayer2::new(Layer2 { now, bearers, core: None, sidelink, calendar, out }),
            air,
            trace,
            sdus: &mut self.block_sdus,
        }
    }
}

impl Sending<'_> {
    /// Begins the TTI of the grant `g`. True if it takes the process of a block that waits: a
    /// semi-persistent grant, or Msg3. A grant for new data flushes it (TS 36.321 clause 5.4.2.2).
    #[inline]
    fn flushes(&mut self, g: &Granted) -> bool {
        self.ue.pause_rac(&self.config.uplink.request, self.tti);
        let link = &self.link.uplink;
        let takes = match g.content {
            Content::Again => return false,
            Content::Msg3 => self.ue.access.sends_msg3(self.tti),
            Content::New | Content::ReportOnly => link.is_occasion(self.tti),
        };
        if takes && g.content != Content::Msg3 {
            self.ue.bsr.on_grant(self.tti);
        }
        takes && self.ue.harq.get(process_of(self.tti)).state != State::Idle
    }

    /// Flushes the buffer of `process`: the PDUs in it will not arrive.
    #[cold]
    pub(in crate::network) fn give_up_block(&mut self, process: usize) {
        self.link.uplink.stats.lost += 1;
        let (mut parts, block) = self.ue.flush(process);
        self.layer2.give_up(&mut parts, &block.sidelink);
        self.ue.recycle(process, parts);
    }

    /// Flushes the buffer of Msg3 when mac-ContentionResolutionTimer expires, unless a
    /// retransmission in this TTI restarts it.
    // TS 36.321 clause 5.1.5: flush the HARQ buffer used for transmission of the MAC PDU in the
    // Msg3 buffer.
    #[cold]
    pub(in crate::network) fn flush_msg3(&mut self) {
        if let Some((process, false)) = self.ue.unresolved_msg3(self.tti) {
            self.give_up_block(process);
        }
    }

    /// Transmits on the grant `g`. `with_rrc_message`: Msg3 carries an RRC message.
    fn send(&mut self, g: &Granted, with_rrc_message: bool) {
        let sends = match g.content {
            Content::Again => self.repeat(g),
            Content::Msg3 => self.send_msg3(g, with_rrc_message),
            Content::New | Content::ReportOnly => {
                self.send_block(g, with_rrc_message);
                self.end_occasion();
                true
            }
        };
        if sends {
            self.transmit(g);
        }
    }

    /// Retransmits the block of this TTI's process, unless Msg3 takes the process.
    fn repeat(&mut self, g: &Granted) -> bool {
        let again = !self.ue.access.sends_msg3(self.tti) && self.ue.repeat(self.tti, g.rbs);
        if again {
            self.link.uplink.stats.retransmissions += 1;
            let process = process_of(self.tti);
            let first = self.ue.blocks[process].first;
            self.ue.access.on_msg3_again(&self.config.uplink.random_access, first, self.tti);
            let p = (process as u8, self.ue.harq.get(process));
            self.trace.block(self.tti, Step::Again, TraceLink::Uplink, self.id, p);
        }
        again
    }

    /// Transmits Msg3, unless the UE has given up.
    fn send_msg3(&mut self, g: &Granted, with_rrc_message: bool) -> bool {
        if !self.ue.access.sends_msg3(self.tti) {
            return false;
        }
        self.start_power_control(g);
        self.send_block(g, with_rrc_message);
        self.ue.access.on_msg3(&self.config.uplink.random_access, self.tti);
        self.terminal().arm();
        true
    }

    /// Starts the closed loop of power control with the Msg3 of `g` (TS 36.213 clause 5.1.1.1).
    fn start_power_control(&mut self, g: &Granted) {
        let loss = self.path_loss();
        let uplink = &self.config.uplink;
        let target = uplink.random_access.target_power;
        let ramping = self.ue.access.target_power(&uplink.random_access) - target;
        self.ue.power.start(&uplink.power_control, (target, ramping), g.rbs.len(), loss);
    }

    /// Transmits a new transport block: control elements first, then data, then padding (TS 36.321
    /// clauses 5.4.3.1, 6.1.2).
    fn send_block(&mut self, g: &Granted, with_rrc_message: bool) {
        let mut block = Block::new();
        block.content = g.content;
        block.first = self.tti;
        self.fill_block(g, with_rrc_message, &mut block);
        let (named, report, headroom) = (block.c_rnti, block.report, block.headroom);
        let direct = if self.trace.has_parts() { block.sidelink.clone() } else { Vec::new() };
        self.ue.put(self.tti, g, block);
        let stats = &mut self.link.uplink.stats;
        stats.blocks += 1;
        stats.bytes += u64::from(g.bytes);
        stats.mcs_sum += u64::from(g.mcs);
        let process = process_of(self.tti);
        let p = (process as u8, self.ue.harq.get(process));
        self.trace.block(self.tti, Step::Data, TraceLink::Uplink, self.id, p);
        self.trace.controls(|| {
            let id = named.then(|| Control::CRnti(c_rnti(self.id)));
            let rest = [report.map(Control::Bsr), headroom.map(Control::PowerHeadroom)];
            let index = |(destination, level)| ((destination % 16) as u8, level);
            let direct = (!direct.is_empty())
                .then(|| Control::SidelinkBsr(SidelinkLevels::new(direct.into_iter().map(index))));
            id.into_iter().chain(rest.into_iter().flatten()).chain(direct).collect()
        });
        self.terminal().arm();
    }

    fn fill_block(&mut self, g: &Granted, with_rrc_message: bool, block: &mut Block) {
        let tti = self.tti;
        if g.content == Content::New && self.follows_reports() {
            return self.fill_by_reports(g.bytes);
        }
        let path_loss = self.path_loss();
        if g.content == Content::Msg3 {
            if with_rrc_message {
                // There is room for 48 bits and a subheader only.
                return;
            }
            block.c_rnti = true;
        }
        let u = &mut *self.ue;
        u.bsr.on_tti(tti, u.had.contains(&true));
        let (drbs, layer2) = (&self.link.drbs, &self.layer2);
        let waiting = |i: usize| layer2.waiting(drbs[i]);
        let mut pdu = Assembly::begin(tti, g.bytes, block.c_rnti, &mut u.mux, &mut u.bsr, waiting);
        if pdu.takes_headroom(&mut u.phr, path_loss) {
            let (uplink, blocks) = (&self.config.uplink, g.rbs.len());
            let (config, target) = (&uplink.power_control, uplink.random_access.target_power);
            let headroom = match g.content {
                Content::Msg3 => u.power.msg3_headroom(config, target, blocks, path_loss),
                _ => u.power.headroom(config, blocks, path_loss),
            };
            block.headroom = Some(phr::level(headroom));
        }
        let mut direct = false;
        if u.sidelink_bsr {
            let (report, size) = self.sidelink_report(pdu.room());
            direct = !report.is_empty();
            block.sidelink = report;
            pdu.add(size);
        }
        self.sdus.clear();
        // Msg3 may collide with another UE's: it carries no data.
        if g.content == Content::New {
            self.fill_data(pdu.room());
        }
        let u = &mut *self.ue;
        let (drbs, layer2) = (&self.link.drbs, &self.layer2);
        let waiting = |i: usize| layer2.waiting(drbs[i]);
        let (report, padding) = pdu.finish(self.sdus, &mut u.mux, &mut u.bsr, &mut u.sr, waiting);
        if let (Some(report), true) = (report, self.trace.is_on()) {
            self.trace.step(tti, Step::Report, self.id, tti, report.bytes(), RbSet::EMPTY);
        }
        block.report = report;
        block.full = report.is_none() && !direct;
        let padding = u64::from(padding);
        self.counters.padding_bytes += padding;
        self.link.uplink.stats.padding_bytes += padding;
    }

    /// A report of the UE's destinations for its block with `room` bytes left, if one is due and
    /// fits, and its size [B].
    #[cold]
    fn sidelink_report(&mut self, room: u32) -> (SidelinkReport, u32) {
        let Some((report, bytes, wants)) = self.layer2.sidelink_report(self.id, room) else {
            return (Vec::new(), 0);
        };
        self.ue.sidelink_bsr = wants;
        if report.is_empty() {
            return (report, 0);
        }
        self.trace.step(self.tti, Step::Report, self.id, self.tti, bytes, RbSet::EMPTY);
        let size = sidelink_report::size(report.len());
        (report, size)
    }

    /// True if the UE's MAC follows RLC's reports.
    #[inline]
    fn follows_reports(&self) -> bool {
        self.link.drbs.first().is_some_and(|b| self.layer2.reports(*b))
    }

    /// Fills a grant of `bytes` of a UE whose MAC follows RLC's reports.
    #[cold]
    fn fill_by_reports(&mut self, bytes: u32) {
        let (drbs, layer2) = (&self.link.drbs, &mut self.layer2);
        let now = layer2.now();
        let active = drbs.iter().filter(|b| layer2.needs_opportunity(**b)).count() as u32;
        let read = now + self.config.timing.uplink_fill;
        let parts = &mut self.ue.harq.get_mut(process_of(self.tti)).parts;
        for bearer in drbs {
            if layer2.needs_opportunity(*bearer) {
                layer2.pull_by_reports(read, *bearer, bytes / active.max(1), parts);
            }
        }
        for bearer in drbs {
            layer2.settle(*bearer);
            if let Some(bytes) = layer2.take_report(*bearer, drbs) {
                let cell = (self.link.serving, self.config);
                report::pass_report_on(now, self.id, bytes, cell, layer2.calendar());
            }
        }
    }

    /// Appends RLC PDUs of the UE's bearers to the block, up to `room` bytes.
    fn fill_data(&mut self, room: u32) {
        let drbs = &self.link.drbs;
        let UplinkUe { harq, mux, .. } = &mut *self.ue;
        let parts = &mut harq.get_mut(process_of(self.tti)).parts;
        debug_assert!(parts.is_empty());
        let layer2 = &mut self.layer2;
        mux.fill(self.tti, room, |i: usize, grant: Grant| {
            let before = parts.len();
            let used = layer2.pull(drbs[i], grant, parts);
            match &parts[before..] {
                // Usually: the opportunity was charged with its size.
                [(_, pdu)] => {
                    debug_assert_eq!(used - grant.per_pdu, pdu.size(layer2.format(drbs[i])));
                    self.sdus.push(used - grant.per_pdu);
                }
                pdus => self.sdus.extend(pdus.iter().map(|(_, pdu)| pdu.size(layer2.format(drbs[i])))),
            }
            used
        });
        for i in 0..self.link.drbs.len() {
            let bearer = self.link.drbs[i];
            self.layer2.settle_for_enb(bearer);
            let has = self.layer2.has_something(bearer);
            if has != self.ue.had[i] {
                self.terminal().on_data(i, has);
            }
        }
    }

    /// Counts the filled block of an occasion: the grant ends after too many with padding alone.
    #[inline]
    fn end_occasion(&mut self) {
        let has_data = !self.sdus.is_empty();
        let link = &mut self.link.uplink;
        if link.is_occasion(self.tti)
            && let Some(p) = &mut link.persistent
            && !p.on_block(has_data)
        {
            self.terminal().arm();
        }
    }

    /// Transmits the block.
    #[inline]
    fn transmit(&mut self, g: &Granted) {
        let loss = self.path_loss();
        let uplink = &self.config.uplink;
        let (config, blocks) = (&uplink.power_control, g.rbs.len());
        let SentWith { block_mw, power, .. } = if self.is_msg3(g) {
            self.ue.power.transmit_msg3(config, uplink.random_access.target_power, blocks, loss)
        } else {
            self.ue.power.transmit(config, blocks, loss)
        };
        let stats = &mut self.link.uplink.stats;
        stats.power_count += 1;
        stats.power_dbm_sum += power.0;
        self.air.get().ue_transmits_on_each(self.tti, self.id, g.rbs, block_mw);
    }

    /// True if the block that is sent on `g` is an Msg3, or a retransmission of one.
    #[inline]
    fn is_msg3(&self, g: &Granted) -> bool {
        match g.content {
            Content::Msg3 => true,
            Content::Again => self.ue.blocks[process_of(self.tti)].content == Content::Msg3,
            Content::New | Content::ReportOnly => false,
        }
    }

    fn path_loss(&mut self) -> lasthop_units::Db {
        let tti = self.tti;
        self.terminal().path_loss(tti)
    }

    #[inline]
    fn terminal(&mut self) -> Terminal<'_> {
        Terminal {
            id: self.id,
            ue: self.ue,
            link: self.link,
            config: self.config,
            counters: self.counters,
            air: self.air,
            calendar: self.layer2.calendar(),
            trace: self.trace,
        }
    }
}

const _: () = assert!(TTI.as_millis() == 1);

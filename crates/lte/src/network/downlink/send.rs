//! Transmission of transport blocks, new ones and retransmissions.

use lasthop_radio::lte::{ErrorModel, Mcs, tbs_bits_on_layers};
use lasthop_units::{BearerId, Bitrate, UeId};

use super::{OnAir, Scheduling, Work};
use crate::mac::allocation;
use crate::mac::allocation::{Band, Groups};
use crate::mac::harq::{PROCESSES, State};
use crate::network::reach::{Radio, Reach};
use crate::network::reading;
use crate::network::trace::{Step, TraceLink};
use crate::phy::RbSet;
use crate::phy::air::{Scheme, layers_of};
use lasthop_lte_l2::rlc::Grant;
use smallvec::SmallVec;

impl<R: Reach> Scheduling<'_, R> {
    /// Schedules retransmissions first, in the order of their last transmission. HARQ is
    /// asynchronous and adaptive: any free groups may be used, if they have as many blocks as the
    /// first transmission.
    pub(in crate::network) fn retransmit(&mut self, work: &mut Work, free: &mut Groups) {
        if work.failed.is_empty() {
            return;
        }
        work.failed.sort_unstable();
        for i in 0..work.failed.len() {
            let (_, ue, process) = work.failed[i];
            if self.on_air.iter().any(|t| t.ue == ue) {
                // The block was sent with the retransmission of its other code word.
                continue;
            }
            let band = self.cell.downlink.band;
            let Some(p) = self.contexts[ue].downlink.process(process) else { continue };
            let sent = p.rbs;
            let allowed = *free & self.groups_again(ue, sent);
            let Some(groups) = enough(&band, allowed, sent.len()) else { continue };
            if self.assignments_left() == 0 {
                return;
            }
            *free &= !groups;
            let rbs = band.blocks(groups);
            self.record_transmission(ue, rbs);
            self.send_again(ue, process, rbs, Scheme::Diversity);
            self.ride_along(ue, process, groups, work);
            work.backlogs.retain(|(other, _)| *other != ue);
        }
    }

    /// Adds the other code word of a retransmission on the same blocks: a retransmission of its
    /// own, or new data.
    #[allow(clippy::too_many_arguments)]
    pub(in crate::network) fn ride_along(&mut self, ue: UeId, process: u8, groups: Groups, work: &Work) {
        let other = 1 - usize::from(process) / PROCESSES;
        let rbs = self.cell.downlink.band.blocks(groups);
        let physical = self.cell.config.downlink.mimo.is_physical();
        let cx = &self.contexts[ue].downlink;
        if cx.quality.code_words() < 2 && (other == 1 || physical) || cx.harq[other].is_none() {
            return;
        }
        let scheme = match cx.quality.scheme() {
            Scheme::Diversity => Scheme::OpenLoop(2),
            scheme => scheme,
        };
        let mate = work.failed.iter().find(|(_, u, p)| *u == ue && usize::from(*p) / PROCESSES == other);
        if let Some((_, _, id)) = mate {
            let wants = self.contexts[ue].downlink.process(*id).map_or(u32::MAX, |p| p.rbs.len());
            if wants <= rbs.len() {
                self.send_again(ue, *id, rbs, scheme);
            }
        } else if let Some(id) = cx.idle(other)
            && work.backlogs.iter().any(|(u, _)| *u == ue)
            && let Some(mcs) = self.mcs(ue, other, groups)
        {
            self.fill(ue, id, rbs, mcs, scheme);
        }
        if let [.., first, second] = &mut self.on_air[..]
            && first.ue == second.ue
        {
            first.scheme = scheme;
        }
    }

    /// The MCS for a transport block of `code_word` on `groups`.
    pub(in crate::network) fn mcs(&mut self, ue: UeId, code_word: usize, groups: Groups) -> Option<Mcs> {
        let d = &self.cell.downlink;
        let mcs = d.adaptation.mcs(self.contexts[ue].downlink.quality.of(code_word), &d.band, groups)?;
        Some(mcs.decodable_on(d.adaptation.mcs_table(), d.band.count(groups) as usize))
    }

    /// Transmits new data on `groups`, a transport block for each code word.
    #[allow(clippy::too_many_arguments)]
    pub(in crate::network) fn send_new(&mut self, ue: UeId, groups: Groups, mcs: Mcs) {
        let rbs = self.cell.downlink.band.blocks(groups);
        self.record_transmission(ue, rbs);
        let cx = &mut self.contexts[ue].downlink;
        cx.served = Some(self.tti);
        let both = cx.quality.code_words() == 2;
        let (first, second) = (cx.idle(0), if both { cx.idle(1) } else { None });
        let wanted = cx.quality.scheme();
        let second = second.and_then(|id| Some((id, self.mcs(ue, 1, groups)?)));
        // A single code word of two is sent with transmit diversity.
        let scheme = if both && second.is_none() { Scheme::Diversity } else { wanted };
        for (id, mcs) in first.map(|id| (id, mcs)).into_iter().chain(second) {
            self.fill(ue, id, rbs, mcs, scheme);
        }
        let period = self.cell.uplink.config.proactive_period.as_millis();
        self.contexts[ue].uplink.note_downlink(self.tti, ue, period, self.calendar);
        if let Some(drx) = &self.cell.config.downlink.drx {
            self.contexts[ue].stay_awake(self.tti, drx);
        }
    }

    /// Records that the cell transmits to `ue` on `rbs`.
    pub(in crate::network) fn record_transmission(&mut self, ue: UeId, rbs: RbSet) {
        let link = &mut self.links[ue].downlink;
        self.air.cell_transmits(self.tti, self.id, rbs, link.boost);
        let stats = &mut link.stats;
        stats.ttis += 1;
        stats.resource_blocks += u64::from(rbs.len());
    }

    /// Fills a new transport block for `ue` from its bearers.
    #[allow(clippy::too_many_arguments)]
    pub(in crate::network) fn fill(&mut self, ue: UeId, process: u8, rbs: RbSet, mcs: Mcs, scheme: Scheme) {
        let table = self.cell.downlink.adaptation.mcs_table();
        let layers = layers_of(scheme.layers(), usize::from(process) / PROCESSES).1.max(1);
        let size = mcs.i_tbs(table).and_then(|i| tbs_bits_on_layers(rbs.len() as usize, i, layers));
        let Some(bits) = size else { return };
        let Some(block) = ErrorModel::new(mcs, table, bits) else { return };
        let block = block.on(mcs, table, layers * rbs.len() as usize);
        let bytes = bits / 8;
        // The subheader of the last PDU has no length: two bytes less than the others' (TS 36.321
        // clause 6.1.2).
        let mut left = bytes + 2;
        let share = self.share_of_reporting(ue, bytes);
        let turns = self.contexts[ue].downlink.turns.take();
        let mut served = SmallVec::<[usize; 4]>::new();
        for i in 0..self.links[ue].drbs.len() {
            let bearer = turns.as_ref().map_or_else(|| self.links[ue].drbs[i], |turns| turns.at(i));
            if let Some(share) = share {
                self.fill_reporting(bearer, process, share);
                continue;
            }
            let grant = Grant { bytes: left, per_pdu: 3 };
            if self.bearers.ip(bearer).is_some() {
                self.bearers.request_from_ip(bearer, left.into());
            }
            if self.bearers.needs_rate(bearer) {
                let rate = self.fair_rate(ue);
                self.bearers.set_rate(bearer, rate);
            }
            if let Some(p) = self.contexts[ue].downlink.process(process) {
                let used = self.bearers.pull(bearer, grant, &mut p.parts);
                left -= used;
                if used > 0 && turns.is_some() {
                    served.push(i);
                }
            }
            self.settle(bearer);
        }
        let link = &mut self.links[ue].downlink;
        let cx = &mut self.contexts[ue].downlink;
        if let Some(mut turns) = turns {
            turns.end(&served);
            cx.turns = Some(turns);
        }
        cx.average.serve(self.tti, f64::from(bits), &self.cell.downlink.window);
        link.stats.blocks += 1;
        link.stats.bytes += u64::from(bytes);
        link.stats.mcs_sum += u64::from(mcs.index());
        let Some(p) = cx.process(process) else { return };
        debug_assert_eq!(p.state, State::Idle);
        p.state = State::Awaiting;
        (p.bytes, p.rbs, p.mcs) = (bytes, rbs, mcs.index());
        (p.sent, p.transmissions) = (self.tti, 1);
        self.trace.block(self.tti, Step::Data, TraceLink::Downlink, ue, (process, p));
        let (cell, block) = (self.id, Some(block));
        self.on_air.push(OnAir { cell, ue, process, block, rbs, scheme, persistent: false });
    }

    /// The rate of the carrier for `ue`, divided by the number of active UEs.
    fn fair_rate(&mut self, ue: UeId) -> Bitrate {
        self.learn_quality(ue);
        let rate = reading::known_rate(self.cell, &mut self.contexts[ue].downlink.quality);
        Bitrate(rate.0 / u64::from(reading::downlink_users(self.cell, ue).max(1)))
    }

    /// Where MAC follows the reports of RLC
    /// ([`Shortcuts::event_reports`](lasthop_lte_l2::rlc::Shortcuts)): the equal share of a block
    /// of `bytes` for each bearer with data by its last report; None elsewhere.
    #[inline]
    fn share_of_reporting(&self, ue: UeId, bytes: u32) -> Option<u32> {
        let rlc = |b: &BearerId| self.bearers.rlc(*b);
        let drbs = &self.links[ue].drbs;
        drbs.first().and_then(|b| rlc(b).reports())?;
        let active = drbs.iter().filter(|b| rlc(b).needs_opportunity()).count() as u32;
        Some(bytes / active.max(1))
    }

    /// Gives such a bearer its share.
    #[cold]
    fn fill_reporting(&mut self, bearer: BearerId, process: u8, share: u32) {
        if !self.bearers.rlc(bearer).needs_opportunity() {
            return;
        }
        let ue = self.bearers.ue(bearer);
        if let Some(p) = self.contexts[ue].downlink.process(process) {
            self.bearers.pull_by_reports(bearer, share, &mut p.parts);
        }
        self.settle(bearer);
    }

    pub(in crate::network) fn send_again(&mut self, ue: UeId, process: u8, rbs: RbSet, scheme: Scheme) {
        let link = &mut self.links[ue].downlink;
        link.stats.retransmissions += 1;
        let Some(p) = self.contexts[ue].downlink.process(process) else { return };
        debug_assert_eq!(p.state, State::Failed);
        p.state = State::Awaiting;
        (p.rbs, p.sent) = (rbs, self.tti);
        p.transmissions += 1;
        self.trace.block(self.tti, Step::Again, TraceLink::Downlink, ue, (process, p));
        let (cell, block) = (self.id, None);
        self.on_air.push(OnAir { cell, ue, process, block, rbs, scheme, persistent: false });
    }
}

/// The lowest groups of `free` with at least `blocks` blocks.
fn enough(band: &Band, free: Groups, blocks: u32) -> Option<Groups> {
    let mut groups = 0;
    for g in allocation::bits(free) {
        if band.count(groups) >= blocks {
            break;
        }
        groups |= 1 << g;
    }
    (band.count(groups) >= blocks).then_some(groups)
}

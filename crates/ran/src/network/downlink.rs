//! The downlink of a cell: scheduling, HARQ, and the way from the eNB's RLC to the UE's.

use lasthop_radio::lte::{ErrorModel, Mcs, SoftBuffer, mean_mi, sinr_db_of_mi, tbs_bits};
use lasthop_units::{CellId, Duration, Instant, Tti, UeId};

use super::{Due, NetworkOutput, RadioNetwork};
use crate::mac::lte::allocation::{self, Band, Groups, Need, allocate};
use crate::mac::lte::harq::{PROCESSES, State};
use crate::mac::lte::scheduler::qci::priority_of;
use crate::mac::lte::scheduler::{Candidate, Domain, Policy};
use crate::phy::lte::{RbSet, TTI};
use crate::rlc::lte::Grant;
use crate::sdu::{Direction, End};

/// A downlink transmission of this TTI.
#[derive(Clone, Copy, Debug)]
pub(super) struct OnAir {
    cell: CellId,
    ue: UeId,
    process: u8,
    /// Layers that share the blocks.
    layers: usize,
}

/// Memory of the scheduling of one cell and TTI.
#[derive(Debug, Default)]
pub(super) struct Work {
    candidates: Vec<Candidate>,
    weights: Vec<f64>,
    needs: Vec<Need>,
    /// A row of rates per candidate.
    rates: Vec<f32>,
    given: Vec<Groups>,
    /// Retransmissions that are due: since when, whose, which.
    failed: Vec<(Tti, UeId, u8)>,
    /// UEs that have data, with how much [B].
    backlogs: Vec<(UeId, u64)>,
    scratch: allocation::Scratch,
    /// A row of SINRs.
    pub row: Vec<f32>,
}

/// What a UE with a full buffer has waiting [B]: more than any transport block.
const ENDLESS: u64 = 1 << 40;

/// Bytes that headers may add to what RLC reports: PDCP and RLC fields and MAC subheaders of a transport block that the
/// report does not know yet, and of each further packet.
const HEADERS: u64 = 8;
const HEADERS_PER_PACKET: u64 = 2;

impl RadioNetwork {
    /// The UE has decoded a transport block, or failed to: what was decoded goes up to RLC.
    pub(super) fn downlink_decoded(&mut self, now: Instant, ue: UeId, process: u8, out: &mut NetworkOutput) {
        let decode = self.cells[self.ues[ue].serving].config.timing.decode;
        let Some(p) = self.ues[ue].downlink.process(process) else { return };
        // A MAC reset may have given the process to another block since.
        if p.state != (State::Awaiting { decoded: true }) || p.sent.plus(decode).start(TTI) != now {
            return;
        }
        let mut parts = std::mem::take(&mut p.parts);
        for (bearer, pdu) in parts.drain(..) {
            let layers = &mut self.bearers[bearer].layers;
            layers.receive(now, End::Ue, &pdu, &mut self.scratch);
            layers.recycle(End::Network, pdu);
            self.settle(now, bearer, out);
        }
        // The memory goes back to the process.
        if let Some(p) = self.ues[ue].downlink.process(process) {
            p.parts = parts;
        }
    }

    /// HARQ feedback reaches the eNB, or its absence is noticed.
    pub(super) fn downlink_feedback(&mut self, now: Instant, ue: UeId, process: u8, out: &mut NetworkOutput) {
        let config = &self.cells[self.ues[ue].serving].config;
        let (feedback, most) = (config.timing.feedback, config.downlink.harq.transmissions);
        let d = &mut self.ues[ue].downlink;
        let Some(p) = d.process(process).filter(|p| p.sent.plus(feedback).start(TTI) == now) else { return };
        let State::Awaiting { decoded } = p.state else { return };
        // Nothing is learnt about the channel from an assignment that was not heard.
        let first = p.transmissions == 1 && !p.missed;
        let bytes = u64::from(p.bytes);
        if !decoded && p.transmissions < most {
            p.state = State::Failed;
            if first {
                d.quality.first_transmission(false);
            }
            self.wake(ue, Direction::Downlink);
            return;
        }
        if first {
            d.quality.first_transmission(decoded);
        }
        if decoded {
            d.stats.decoded_bytes += bytes;
            if let Some(p) = d.process(process) {
                p.free(|_| ());
            }
        } else {
            d.stats.lost += 1;
            self.give_up(now, ue, process, out);
        }
    }

    /// HARQ has sent a block as often as it may: its PDUs will not arrive.
    #[cold]
    fn give_up(&mut self, now: Instant, ue: UeId, process: u8, out: &mut NetworkOutput) {
        let Some(p) = self.ues[ue].downlink.process(process) else { return };
        let mut parts = std::mem::take(&mut p.parts);
        p.free(|_| ());
        for (bearer, pdu) in parts.drain(..) {
            let layers = &mut self.bearers[bearer].layers;
            layers.lost(End::Network, &pdu, &mut self.scratch);
            layers.recycle(End::Network, pdu);
            self.settle(now, bearer, out);
        }
    }

    /// Gives this TTI's downlink resource blocks to the active UEs of `cell`.
    pub(super) fn schedule_downlink(
        &mut self,
        now: Instant,
        tti: Tti,
        cell: CellId,
        out: &mut NetworkOutput,
    ) {
        let mut active = std::mem::take(&mut self.cells[cell].active[Direction::Downlink.index()]);
        let mut work = std::mem::take(&mut self.work);
        work.backlogs.clear();
        work.failed.clear();
        active.retain(|&ue| self.downlink_wants(tti, cell, ue, &mut work));
        let mut free = self.cells[cell].downlink.usable;
        let on_air = self.on_air.len();
        self.retransmit(now, tti, cell, &mut work, &mut free, out);
        self.gather_candidates(now, tti, cell, &mut work);
        if !work.candidates.is_empty() && free != 0 {
            self.give_groups(tti, cell, free, &mut work);
            for i in 0..work.candidates.len() {
                if work.given[i] != 0 {
                    self.send_new(now, tti, cell, work.candidates[i].ue, work.given[i], out);
                }
            }
        }
        self.work = work;
        let list = &mut self.cells[cell].active[Direction::Downlink.index()];
        debug_assert!(list.is_empty(), "nobody wakes during scheduling");
        *list = active;
        if cfg!(debug_assertions) {
            self.check_downlink(tti, cell, on_air);
        }
    }

    /// True while the UE has downlink data or a retransmission, which are noted; otherwise it leaves the active list.
    #[inline]
    fn downlink_wants(&mut self, tti: Tti, cell: CellId, ue: UeId, work: &mut Work) -> bool {
        let u = &mut self.ues[ue];
        let mut backlog = if u.full_buffer[Direction::Downlink.index()] { ENDLESS } else { 0 };
        for b in &u.drbs {
            let rlc = self.bearers[*b].layers.rlc(End::Network);
            let waits = rlc.sendable();
            if waits > 0 {
                let packets = u64::from(rlc.backlog().packets);
                backlog += waits + HEADERS + HEADERS_PER_PACKET * packets;
            }
        }
        if backlog > 0 {
            work.backlogs.push((ue, backlog));
        }
        let due_after = 2 * self.cells[cell].config.timing.feedback;
        let mut failed = false;
        for code_word in 0..2 {
            if let Some(process) = u.downlink.failed(code_word) {
                failed = true;
                let sent = u.downlink.process(process).map_or(tti, |p| p.sent);
                if sent.plus(due_after) <= tti {
                    work.failed.push((sent, ue, process));
                }
            }
        }
        u.active[Direction::Downlink.index()] = backlog > 0 || failed;
        backlog > 0 || failed
    }

    /// Retransmissions come first, those that have waited longest before the others. Asynchronous and adaptive: any free
    /// groups will do, if they have as many blocks as the first transmission had.
    fn retransmit(
        &mut self,
        now: Instant,
        tti: Tti,
        cell: CellId,
        work: &mut Work,
        free: &mut Groups,
        out: &mut NetworkOutput,
    ) {
        if work.failed.is_empty() {
            return;
        }
        work.failed.sort_unstable();
        for i in 0..work.failed.len() {
            let (_, ue, process) = work.failed[i];
            if self.on_air.iter().any(|t| t.ue == ue) {
                // Its other code word has taken this one along.
                continue;
            }
            let band = self.cells[cell].downlink.band;
            let Some(p) = self.ues[ue].downlink.process(process) else { continue };
            let Some(groups) = enough(&band, *free, p.rbs.len()) else { continue };
            *free &= !groups;
            let rbs = band.blocks(groups);
            self.put_on_air(tti, cell, ue, rbs);
            self.send_again(tti, cell, ue, process, rbs, 1);
            self.ride_along(now, tti, cell, ue, process, groups, work, out);
            work.backlogs.retain(|(other, _)| *other != ue);
        }
    }

    /// The other code word of a retransmission: a retransmission of its own, or new data, on the same blocks.
    #[allow(clippy::too_many_arguments)]
    fn ride_along(
        &mut self,
        now: Instant,
        tti: Tti,
        cell: CellId,
        ue: UeId,
        process: u8,
        groups: Groups,
        work: &Work,
        out: &mut NetworkOutput,
    ) {
        let other = 1 - usize::from(process) / PROCESSES;
        let rbs = self.cells[cell].downlink.band.blocks(groups);
        let d = &self.ues[ue].downlink;
        if d.quality.layers() < 2 && other == 1 || d.harq[other].is_none() {
            return;
        }
        let mate = work.failed.iter().find(|(_, u, p)| *u == ue && usize::from(*p) / PROCESSES == other);
        if let Some((_, _, id)) = mate {
            let wants = self.ues[ue].downlink.process(*id).map_or(u32::MAX, |p| p.rbs.len());
            if wants <= rbs.len() {
                self.send_again(tti, cell, ue, *id, rbs, 2);
            }
        } else if let Some(id) = d.idle(other)
            && work.backlogs.iter().any(|(u, _)| *u == ue)
            && let Some(mcs) = self.mcs(cell, ue, groups)
        {
            self.fill(now, tti, ue, cell, id, rbs, mcs, 2, out);
        }
        if let [.., first, _] = &mut self.on_air[..] {
            first.layers = 2;
        }
    }

    /// UEs that could get new data in this TTI.
    fn gather_candidates(&mut self, now: Instant, tti: Tti, cell: CellId, work: &mut Work) {
        work.candidates.clear();
        work.rates.clear();
        for i in 0..work.backlogs.len() {
            let (ue, backlog) = work.backlogs[i];
            let d = &self.ues[ue].downlink;
            if d.idle(0).is_none() || !self.listens(tti, cell, ue) {
                continue;
            }
            self.learn_quality(tti, cell, ue);
            let c = &self.cells[cell];
            let u = &mut self.ues[ue];
            if !u.downlink.quality.in_range() {
                continue;
            }
            c.downlink.adaptation.rates(&mut u.downlink.quality, c.downlink.band.groups(), &mut work.rates);
            let mut candidate = Candidate {
                ue,
                backlog,
                head_delay: Duration::ZERO,
                wideband_rate: f64::from(u.downlink.quality.wideband_rate()),
                average: u.downlink.average.at(tti, c.config.downlink.window),
                qci: 9,
                guaranteed: 0.0,
                served: u.downlink.served,
            };
            self.qos_of(now, &mut candidate);
            work.candidates.push(candidate);
        }
    }

    /// Class, guaranteed rate and delay of the most urgent bearer with data.
    #[inline]
    fn qos_of(&self, now: Instant, candidate: &mut Candidate) {
        let mut best = f64::INFINITY;
        for b in &self.ues[candidate.ue].drbs {
            let drb = &self.bearers[*b];
            candidate.guaranteed += drb.qos.downlink.0 as f64 * 1e-3;
            if drb.layers.rlc(End::Network).sendable() > 0 && priority_of(drb.qos.qci) < best {
                best = priority_of(drb.qos.qci);
                candidate.qci = drb.qos.qci;
                let since = drb.layers.rlc(End::Network).oldest();
                candidate.head_delay = since.map_or(Duration::ZERO, |t| now.since(t));
            }
        }
    }

    /// Discontinuous reception (TS 36.321 clause 5.7): the UE listens to the PDCCH in `tti`.
    #[inline]
    fn listens(&self, tti: Tti, cell: CellId, ue: UeId) -> bool {
        let Some(drx) = &self.cells[cell].config.downlink.drx else { return true };
        let d = &self.ues[ue].downlink;
        tti < d.awake_until || (tti.0 + drx.cycle - d.phase % drx.cycle) % drx.cycle < drx.on_duration
    }

    /// Asks the policy and divides the groups `free`.
    fn give_groups(&mut self, tti: Tti, cell: CellId, free: Groups, work: &mut Work) {
        let c = &mut self.cells[cell];
        let Work { candidates, weights, needs, rates, given, scratch, .. } = work;
        weights.clear();
        weights.resize(candidates.len(), 0.0);
        c.downlink.scheduler.weigh(tti, candidates, weights);
        let limit = c.config.downlink.max_assignments as usize;
        if limit > 0 {
            // What retransmissions have used is gone.
            let used = self.on_air.iter().filter(|t| t.cell == cell).count();
            keep_best(limit.saturating_sub(used), c.downlink.rules.domain, candidates, weights);
        }
        needs.clear();
        needs.extend(candidates.iter().zip(weights.iter()).map(|(candidate, weight)| Need {
            weight: *weight,
            bits: candidate.backlog as f64 * 8.0,
            average: candidate.average,
        }));
        allocate(&c.downlink.band, &c.downlink.rules, free, needs, rates, scratch, given);
    }

    /// The MCS for a transport block on `groups`.
    fn mcs(&mut self, cell: CellId, ue: UeId, groups: Groups) -> Option<Mcs> {
        let d = &self.cells[cell].downlink;
        d.adaptation.mcs(&mut self.ues[ue].downlink.quality, &d.band, groups)
    }

    /// Sends new data on `groups`, a transport block per layer.
    fn send_new(
        &mut self,
        now: Instant,
        tti: Tti,
        cell: CellId,
        ue: UeId,
        groups: Groups,
        out: &mut NetworkOutput,
    ) {
        let Some(mcs) = self.mcs(cell, ue, groups) else { return };
        let rbs = self.cells[cell].downlink.band.blocks(groups);
        self.put_on_air(tti, cell, ue, rbs);
        let d = &mut self.ues[ue].downlink;
        d.served = Some(tti);
        let ids = [d.idle(0), if d.quality.layers() == 2 { d.idle(1) } else { None }];
        let layers = ids.iter().flatten().count();
        for id in ids.into_iter().flatten() {
            self.fill(now, tti, ue, cell, id, rbs, mcs, layers, out);
        }
        let config = &self.cells[cell].config.downlink;
        if let Some(drx) = &config.drx {
            self.ues[ue].downlink.awake_until = tti.plus(1 + drx.inactivity);
        }
    }

    /// The cell uses `rbs` for `ue`.
    fn put_on_air(&mut self, tti: Tti, cell: CellId, ue: UeId, rbs: RbSet) {
        let d = &mut self.ues[ue].downlink;
        self.air.cell_transmits(tti, cell, rbs, d.boost);
        let stats = &mut d.stats;
        stats.ttis += 1;
        stats.resource_blocks += u64::from(rbs.len());
    }

    /// Fills a new transport block for `ue` from its bearers.
    #[allow(clippy::too_many_arguments)]
    fn fill(
        &mut self,
        now: Instant,
        tti: Tti,
        ue: UeId,
        cell: CellId,
        process: u8,
        rbs: RbSet,
        mcs: Mcs,
        layers: usize,
        out: &mut NetworkOutput,
    ) {
        let table = self.cells[cell].downlink.adaptation.mcs_table();
        let size = mcs.i_tbs(table).and_then(|i| tbs_bits(rbs.len() as usize, i));
        let block = ErrorModel::of_grant(mcs, table, rbs.len() as usize);
        let (Some(bits), Some(block)) = (size, block) else { return };
        let bytes = bits / 8;
        let window = self.cells[cell].config.downlink.window;
        let combining = self.cells[cell].config.downlink.harq.combining;
        // The subheader of the last PDU has no length: two bytes less than the others' (TS 36.321 clause 6.1.2).
        let mut left = bytes + 2;
        for i in 0..self.ues[ue].drbs.len() {
            let bearer = self.ues[ue].drbs[i];
            let grant = Grant { bytes: left, per_pdu: 3 };
            let drb = &mut self.bearers[bearer];
            left -= drb.layers.pull(now, End::Network, grant, &mut self.pdus, &mut self.scratch);
            if let Some(p) = self.ues[ue].downlink.process(process) {
                p.parts.extend(self.pdus.drain(..).map(|pdu| (bearer, pdu)));
            }
            self.settle(now, bearer, out);
        }
        let d = &mut self.ues[ue].downlink;
        d.average.serve(tti, f64::from(bits), window);
        d.stats.blocks += 1;
        d.stats.bytes += u64::from(bytes);
        d.stats.mcs_sum += u64::from(mcs.index());
        let luck = d.block_errors[usize::from(process) / PROCESSES].uniform(tti.0);
        let Some(p) = d.process(process) else { return };
        debug_assert_eq!(p.state, State::Idle);
        p.state = State::Awaiting { decoded: false };
        (p.bytes, p.rbs, p.mcs, p.block) = (bytes, rbs, mcs.index(), Some(block));
        (p.sent, p.transmissions, p.missed) = (tti, 1, false);
        (p.soft, p.luck) = (SoftBuffer::new(combining.into()), luck);
        self.on_air.push(OnAir { cell, ue, process, layers });
    }

    fn send_again(&mut self, tti: Tti, cell: CellId, ue: UeId, process: u8, rbs: RbSet, layers: usize) {
        let d = &mut self.ues[ue].downlink;
        d.stats.retransmissions += 1;
        let Some(p) = d.process(process) else { return };
        debug_assert_eq!(p.state, State::Failed);
        p.state = State::Awaiting { decoded: false };
        (p.rbs, p.sent, p.missed) = (rbs, tti, false);
        p.transmissions += 1;
        self.on_air.push(OnAir { cell, ue, process, layers });
    }

    /// All cells have spoken: every transmission meets its fate.
    pub(super) fn air_downlink(&mut self, tti: Tti) {
        for i in 0..self.on_air.len() {
            let t = self.on_air[i];
            // Both code words of a UE come with one assignment.
            let same = i > 0 && self.on_air[i - 1].ue == t.ue;
            let missed = match same {
                true => {
                    let before = self.on_air[i - 1].process;
                    self.ues[t.ue].downlink.process(before).is_some_and(|p| p.missed)
                }
                false => {
                    self.cells[t.cell].config.downlink.control_errors
                        && self.misses_control(tti, t.cell, t.ue)
                }
            };
            let decoded = if missed { self.miss(t) } else { self.receive(tti, t) };
            let d = &mut self.ues[t.ue].downlink;
            d.stats.errors += u64::from(!decoded);
            if let Some(p) = d.process(t.process) {
                p.state = State::Awaiting { decoded };
            }
            let timing = self.cells[t.cell].config.timing;
            let (ue, process) = (t.ue, t.process);
            if decoded {
                self.calendar.note(tti.plus(timing.decode), Due::DownlinkDecoded { ue, process });
            }
            self.calendar.note(tti.plus(timing.feedback), Due::DownlinkFeedback { ue, process });
        }
        self.on_air.clear();
    }

    /// The UE has not heard that there is something for it: it decodes nothing.
    #[cold]
    fn miss(&mut self, t: OnAir) -> bool {
        let d = &mut self.ues[t.ue].downlink;
        d.stats.missed += 1;
        if let Some(p) = d.process(t.process) {
            p.missed = true;
        }
        false
    }

    /// Whether the UE decodes the block with what it has received so far.
    fn receive(&mut self, tti: Tti, t: OnAir) -> bool {
        let config = &self.cells[t.cell].config.downlink;
        let gain = match t.layers {
            2 => config.mimo.two_layers().unwrap_or(1.0),
            _ => config.mimo.one_layer(),
        };
        let errors = config.data_errors;
        let d = &mut self.ues[t.ue].downlink;
        let Some(p) = d.process(t.process) else { return false };
        let Some(block) = p.block else { return false };
        let rbs = p.rbs;
        let row = self.air.downlink(tti, t.cell, t.ue, rbs);
        let modulation = block.modulation();
        let mi = if gain == 1.0 {
            mean_mi(modulation, row)
        } else {
            self.work.row.clear();
            self.work.row.extend(row.iter().map(|s| s * gain));
            mean_mi(modulation, &self.work.row)
        };
        let snr_db = sinr_db_of_mi(modulation, mi);
        d.stats.sinr_count += 1;
        d.stats.sinr_db_sum += snr_db;
        if !errors {
            return true;
        }
        let Some(p) = d.process(t.process) else { return false };
        // A block that is decoded at once needs no soft buffer.
        let first = p.soft.transmissions() == 0;
        if first && p.luck >= block.error_at(snr_db) {
            return true;
        }
        p.soft.add(&block, mi);
        !first && p.luck >= block.combined_error(&p.soft)
    }

    /// MAC reset (TS 36.321 clause 5.9): soft buffers are flushed, what was on the air is lost.
    pub(super) fn reset_downlink(&mut self, ue: UeId) {
        for processes in self.ues[ue].downlink.harq.iter_mut().flatten() {
            for process in processes.iter_mut() {
                process.free(|_| ());
            }
        }
    }

    /// The oracle: what the cell sends from place `from` of the list on keeps the rules of the air.
    fn check_downlink(&mut self, tti: Tti, cell: CellId, from: usize) {
        let carrier = RbSet::range(0, self.cells[cell].config.resource_blocks);
        let mut used = RbSet::EMPTY;
        for i in from..self.on_air.len() {
            let t = self.on_air[i];
            assert_eq!((t.cell, self.ues[t.ue].serving), (cell, cell), "a UE of another cell");
            let second = i > from && self.on_air[i - 1].ue == t.ue;
            assert!(
                second || self.on_air[from..i].iter().all(|other| other.ue != t.ue),
                "{tti:?}: two assignments for {:?}",
                t.ue
            );
            let table = self.cells[cell].downlink.adaptation.mcs_table();
            let most = self.cells[cell].config.downlink.harq.transmissions;
            let bearers = &self.bearers;
            let Some(p) = self.ues[t.ue].downlink.process(t.process) else {
                panic!("a process that is not there")
            };
            assert!(p.rbs.without(carrier).is_empty() && !p.rbs.is_empty(), "{tti:?}: outside the carrier");
            assert!(second || used.and(p.rbs).is_empty(), "{tti:?}: a resource block twice");
            used |= p.rbs;
            assert_eq!((p.state, p.sent), (State::Awaiting { decoded: false }, tti));
            assert!((1..=most).contains(&p.transmissions));
            if p.transmissions == 1 {
                let size = Mcs::new(p.mcs).i_tbs(table).and_then(|i| tbs_bits(p.rbs.len() as usize, i));
                assert_eq!(size, Some(p.bytes * 8), "the size is the table's");
            }
            // Subheaders of 3 B, of 1 B for the last PDU: what is left over is padding.
            let sizes = p.parts.iter().map(|(bearer, pdu)| {
                bearers[*bearer].layers.rlc(End::Network).format().map_or(0, |f| pdu.size(f)) + 3
            });
            assert!(sizes.sum::<u32>() <= p.bytes + 2, "{tti:?}: more than fits");
        }
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

/// Takes their weight from all but the `limit` candidates with the highest metric.
fn keep_best(limit: usize, domain: Domain, candidates: &[Candidate], weights: &mut [f64]) {
    let aware = matches!(domain, Domain::Frequency { channel_aware: true, .. });
    let metric =
        |i: usize, weights: &[f64]| weights[i] * if aware { candidates[i].wideband_rate } else { 1.0 };
    let mut positive = weights.iter().filter(|w| **w > 0.0).count();
    while positive > limit {
        let live = (0..weights.len()).filter(|i| weights[*i] > 0.0);
        let worst = live.min_by(|a, b| metric(*a, weights).total_cmp(&metric(*b, weights)).then(b.cmp(a)));
        let Some(worst) = worst else { return };
        weights[worst] = 0.0;
        positive -= 1;
    }
}

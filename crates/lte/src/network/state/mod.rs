//! State of cells and UEs.
//!
//! A UE has three types. [`Ue`] is the state of the terminal, [`UeContext`] that of its eNB about
//! it, and neither contains what only the other end may use. [`Link`] is stored once for both:
//! RRC's configuration, counters, and some state of which two real ends would have a copy each (the
//! RRC connection, whether the UE is between cells, a full buffer, semi-persistent grants).
//! DESIGN.md lists where one end thereby reads state of the other.
//!
//! Of a HARQ process the sender's half belongs to the sender and the receiver's half to the
//! receiver. The eNB has a record of its grants for each process of the uplink.

pub mod plan;
pub mod sidelink;
mod turns;
pub mod uplink;

use std::sync::Arc;

use lasthop_engine::{Draw, Purpose};
use lasthop_radio::lte::Bandwidth;
use lasthop_units::{BearerId, CellId, Db, Id, IndexVec, Tti, UeId};

pub use self::turns::Turns;
use self::uplink::{CellUplink, UplinkContext, UplinkLink, UplinkUe};
use super::config::{CellConfig, UeConfig};
use super::control::{ControlBlocks, ControlReception};
use crate::mac::adaptation::{Adaptation, Quality};
use crate::mac::downlink::{Average, DownlinkCell, DownlinkConfig, DrxConfig, LinkStats, Persistent};
use crate::mac::harq::{PROCESSES, Process, Processes, Reception, Receptions, State};
use crate::mac::reuse::Zone;
use crate::rrc::{Connection, InitialState};
use lasthop_bearer::Direction;

/// A cell.
#[derive(Debug)]
pub(super) struct Cell {
    /// Its configuration, of which `down` and `radio.power` may change during a run.
    pub config: CellConfig,
    /// UEs with something to send or a HARQ process in use, in the order of their ids, by
    /// direction.
    pub active: [Vec<UeId>; 2],
    pub uplink: CellUplink,
    pub downlink: DownlinkCell,
    /// UEs with semi-persistent scheduling in the downlink.
    pub persistent: Vec<UeId>,
    /// Resource blocks of its control channels.
    pub control: Arc<ControlBlocks>,
    /// Power of a resource block at the antenna, all blocks in use [mW].
    pub reference_power_mw: f64,
    /// Power of a resource element at the antenna, all blocks in use [mW].
    pub element_power_mw: f64,
}

/// The constant part of a cell, for the UEs' measurements: without its schedulers, which may be the
/// caller's own and belong to one thread.
#[derive(Clone, Copy)]
pub(super) struct CellSettings<'a> {
    pub config: &'a CellConfig,
    pub adaptation: &'a Adaptation,
}

impl Cell {
    /// The constant part of the cell.
    #[inline]
    pub const fn settings(&self) -> CellSettings<'_> {
        let Cell { config, downlink, .. } = self;
        CellSettings { config, adaptation: &downlink.adaptation }
    }

    /// The cell `cell` of `config`, whose link adaptation takes long to compute: that of an earlier
    /// cell with the same settings is copied.
    pub fn new(cell: CellId, config: &CellConfig, earlier: &IndexVec<CellId, Cell>) -> Cell {
        let blocks = config.resource_blocks;
        let bandwidth = Bandwidth::from_prbs(blocks as usize).unwrap_or_default();
        let all = || earlier.iter().filter(|c| c.config.resource_blocks == blocks);
        let downlink = all().find(|c| c.config.downlink == config.downlink);
        let downlink = downlink.map(|c| c.downlink.adaptation.clone());
        let uplink = all().find(|c| c.config.uplink == config.uplink).map(|c| c.uplink.adaptation.clone());
        Cell {
            config: config.clone(),
            active: [Vec::new(), Vec::new()],
            downlink: DownlinkCell::new(
                &config.downlink,
                bandwidth,
                downlink.unwrap_or_else(|| config.downlink.adaptation(bandwidth)),
            ),
            persistent: Vec::new(),
            control: Arc::new(ControlBlocks::new(config.resource_blocks)),
            reference_power_mw: config.reference_power_mw(),
            element_power_mw: config.element_power_mw(),
            uplink: CellUplink::new(
                &config.uplink,
                blocks,
                cell,
                uplink.unwrap_or_else(|| config.uplink.adaptation(blocks)),
            ),
        }
    }
    /// The cell's UEs with semi-persistent scheduling in `direction`.
    pub const fn persistent(&mut self, direction: Direction) -> &mut Vec<UeId> {
        match direction {
            Direction::Downlink => &mut self.persistent,
            Direction::Uplink => &mut self.uplink.persistent,
        }
    }
    /// Adds the UE of `cx`, which has data to send in `direction`, to the active list.
    #[inline]
    pub fn wake(&mut self, ue: UeId, cx: &mut UeContext, direction: Direction) {
        let i = direction.index();
        if !std::mem::replace(&mut cx.active[i], true) {
            let active = &mut self.active[i];
            let place = active.partition_point(|other| *other < ue);
            active.insert(place, ue);
        }
    }
    /// True while the cell is switched off.
    #[inline]
    pub const fn is_down(&self) -> bool {
        self.config.down
    }
    /// True while the cell has something to schedule.
    pub fn is_active(&self) -> bool {
        !self.is_down() && self.active.iter().any(|ues| !ues.is_empty())
    }
}

/// The radio link of a UE: RRC's configuration of both ends, the transport blocks in transmission,
/// and counters.
#[derive(Debug)]
pub(super) struct Link {
    pub serving: CellId,
    /// The RRC connection: one state for both ends, since no message between them is encoded.
    pub rrc: Connection,
    /// Its bearers in the order of their logical channels.
    pub drbs: Vec<BearerId>,
    /// There is always data to send below RLC, by direction.
    pub full_buffer: [bool; 2],
    /// The UE is between cells: no cell schedules it.
    pub away: bool,
    pub downlink: DownlinkLink,
    pub uplink: UplinkLink,
}

/// The eNB's state about a UE.
#[derive(Debug)]
pub(super) struct UeContext {
    /// The UE is in its cell's active list, by direction.
    pub active: [bool; 2],
    /// The last TTI of activity of its bearers.
    pub activity: Tti,
    pub downlink: DownlinkContext,
    pub uplink: UplinkContext,
}

/// The state of the terminal.
#[derive(Debug)]
pub(super) struct Ue {
    pub downlink: DownlinkUe,
    pub uplink: UplinkUe,
}

impl Link {
    /// The link of UE `id` in a cell of `cell`, with the draws of the run `seed`.
    pub fn new(id: UeId, config: &UeConfig, cell: &CellConfig, seed: u64) -> Link {
        Link {
            serving: config.serving,
            rrc: Connection::new(
                cell.rrc.start == InitialState::Connected,
                cell.rrc.start != InitialState::Attach,
            ),
            drbs: Vec::new(),
            full_buffer: config.full_buffer,
            away: false,
            downlink: DownlinkLink::new(id, config),
            uplink: UplinkLink::new(id, config, seed),
        }
    }
}

impl UeContext {
    /// The context of a UE in a cell of `cell`.
    pub fn new(ue: &UeConfig, cell: &CellConfig) -> UeContext {
        UeContext {
            active: [false; 2],
            activity: Tti(0),
            downlink: DownlinkContext::new(&cell.downlink),
            uplink: UplinkContext::new(&cell.uplink, ue.radio.power),
        }
    }

    /// Discontinuous reception (TS 36.321 clause 5.7): true if the UE, whose cycles of `drx` have
    /// the given phase, monitors the PDCCH in `tti`, as far as its eNB knows.
    // 5.7 [unverified]: When a DRX cycle is configured, the Active Time includes the time while:
    // onDurationTimer or drx-InactivityTimer or drx-RetransmissionTimer [...] or
    // mac-ContentionResolutionTimer is running; or a Scheduling Request is sent on PUCCH and is
    // pending; or [...] a PDCCH indicating a new transmission addressed to the C-RNTI of the MAC
    // entity has not been received after successful reception of a Random Access Response for the
    // preamble not selected by the MAC entity.
    #[inline]
    pub fn monitors_pdcch(&self, tti: Tti, drx: Option<&DrxConfig>, phase: u64) -> bool {
        drx.is_none_or(|drx| {
            tti < self.downlink.awake_until
                || self.uplink.view.is_awaited()
                || (tti.0 + drx.cycle - phase % drx.cycle) % drx.cycle < drx.on_duration
        })
    }

    /// Restarts drx-InactivityTimer: a PDCCH in `tti` indicates a new transmission.
    #[inline]
    pub fn stay_awake(&mut self, tti: Tti, drx: &DrxConfig) {
        let until = tti.plus(1 + drx.inactivity);
        self.downlink.awake_until = self.downlink.awake_until.max(until);
    }
}

impl Ue {
    /// The UE `id`, in a cell of `cell`, with the draws of the run `seed`.
    pub fn new(id: UeId, config: &UeConfig, cell: &CellConfig, seed: u64) -> Ue {
        Ue {
            downlink: DownlinkUe::new(id, &cell.downlink, seed),
            uplink: UplinkUe::new(&cell.uplink, config, id, seed),
        }
    }
}

/// The downlink of a UE between its ends.
#[derive(Debug)]
pub(super) struct DownlinkLink {
    /// Semi-persistent scheduling.
    pub persistent: Option<Persistent>,
    /// P_A of the UE; and its sum with that of its zone, linear.
    pub p_a: Db,
    pub boost: f32,
    /// Phase of its reports among those of other UEs [TTI].
    pub phase: u64,
    pub stats: LinkStats,
}

/// The eNB's state about a UE's downlink.
#[derive(Debug)]
pub(super) struct DownlinkContext {
    /// HARQ processes by code word; the second ones exist where the transmission mode has two
    /// layers.
    pub harq: [Option<Box<Processes>>; 2],
    /// A process of the code word may have failed: set at a failure, cleared where none is found.
    failures: [bool; 2],
    pub quality: Quality,
    pub average: Average,
    /// Zone of the UE in a cell with frequency reuse, and the TTI until which it is valid.
    pub zone: Zone,
    pub zone_until: Tti,
    /// Last TTI with a new transport block.
    pub served: Option<Tti>,
    /// Discontinuous reception: the UE monitors the PDCCH before this TTI because of assignments
    /// and grants.
    pub awake_until: Tti,
    /// Where some of its bearers have the same priority.
    pub turns: Option<Box<Turns>>,
}

/// The terminal's state of its downlink.
#[derive(Debug)]
pub(super) struct DownlinkUe {
    /// Receptions of the blocks of each process, by code word.
    pub received: [Option<Box<Receptions>>; 2],
    /// Draws of transport blocks by code word.
    pub block_errors: [Draw; 2],
    pub control: ControlReception,
}

/// The draws of UE `id` in the run `seed`, by purpose `of`: transport blocks of code words 0 and 1,
/// of the uplink 2, assignments 3.
pub(super) fn draws(seed: u64, id: UeId, of: u64) -> Draw {
    Draw::new(seed, Purpose::BlockError, RADIO | (id.index() as u64 * 8) | of)
}

impl DownlinkContext {
    fn new(cell: &DownlinkConfig) -> DownlinkContext {
        DownlinkContext {
            harq: [Some(Box::default()), cell.mimo.two_code_words().then(Box::default)],
            failures: [false; 2],
            quality: Quality::new(cell.olla()),
            average: Average::default(),
            zone: Zone::Centre,
            zone_until: Tti(0),
            served: None,
            awake_until: Tti(0),
            turns: None,
        }
    }
}

impl DownlinkLink {
    fn new(id: UeId, config: &UeConfig) -> DownlinkLink {
        DownlinkLink {
            persistent: config.persistent.map(Persistent::new),
            p_a: config.radio.p_a,
            boost: lasthop_radio::linear(config.radio.p_a) as f32,
            phase: id.index() as u64,
            stats: LinkStats::default(),
        }
    }
}

impl DownlinkContext {
    /// Process `id`: those of the second code word follow those of the first.
    #[inline]
    pub fn process(&mut self, id: u8) -> Option<&mut Process> {
        process_of(&mut self.harq, id)
    }
    /// Process `id`, for reading.
    #[inline]
    pub fn process_ref(&self, id: u8) -> Option<&Process> {
        let (code_word, i) = (usize::from(id) / PROCESSES, usize::from(id) % PROCESSES);
        self.harq[code_word].as_ref().map(|p| p.get(i))
    }
    /// Marks process `id` as failed: it may be retransmitted.
    pub fn fail(&mut self, id: u8) {
        self.failures[usize::from(id) / PROCESSES] = true;
        if let Some(process) = self.process(id) {
            process.state = State::Failed;
        }
    }
    /// A free process of `code_word`.
    #[inline]
    pub fn idle(&self, code_word: usize) -> Option<u8> {
        let found = self.harq[code_word].as_ref().and_then(|p| p.idle());
        found.map(|i| (code_word * PROCESSES + i) as u8)
    }
    /// False if no process has failed.
    #[inline]
    pub fn may_have_failed(&self) -> bool {
        let may = self.failures != [false; 2];
        let failed = |processes: &Processes| processes.failed().is_some();
        debug_assert!(may || !self.harq.iter().flatten().any(|p| failed(p)));
        may
    }
    /// The process of `code_word` that has waited longest for its retransmission.
    #[inline]
    pub fn failed(&mut self, code_word: usize) -> Option<u8> {
        // Usually no process has failed, and the states of all are in as many lines of memory.
        if !self.failures[code_word] {
            debug_assert!(self.harq[code_word].as_ref().is_none_or(|p| p.failed().is_none()));
            return None;
        }
        let found = self.harq[code_word].as_ref().and_then(|p| p.failed());
        self.failures[code_word] = found.is_some();
        found.map(|i| (code_word * PROCESSES + i) as u8)
    }
}

impl DownlinkUe {
    fn new(id: UeId, cell: &DownlinkConfig, seed: u64) -> DownlinkUe {
        DownlinkUe {
            received: [Some(Box::default()), cell.mimo.two_code_words().then(Box::default)],
            block_errors: [draws(seed, id, 0), draws(seed, id, 1)],
            control: ControlReception::new(draws(seed, id, 3)),
        }
    }

    /// Reception of the block of process `id`.
    #[inline]
    pub fn received(&mut self, id: u8) -> Option<&mut Reception> {
        let (code_word, i) = (usize::from(id) / PROCESSES, usize::from(id) % PROCESSES);
        self.received[code_word].as_mut().map(|r| &mut r[i])
    }

    /// Reception of the block of process `id`, for reading.
    #[inline]
    pub fn received_ref(&self, id: u8) -> Option<&Reception> {
        let (code_word, i) = (usize::from(id) / PROCESSES, usize::from(id) % PROCESSES);
        self.received[code_word].as_ref().map(|r| &r[i])
    }

    /// Flushes the soft buffers.
    pub fn reset(&mut self) {
        self.received.iter_mut().flatten().for_each(|received| **received = Receptions::default());
    }
}

/// Process `id` in the lists by code word.
#[inline]
pub(super) fn process_of(harq: &mut [Option<Box<Processes>>; 2], id: u8) -> Option<&mut Process> {
    let (code_word, i) = (usize::from(id) / PROCESSES, usize::from(id) % PROCESSES);
    harq[code_word].as_mut().map(|p| p.get_mut(i))
}

/// Distinguishes the network's draws of block errors from those of dedicated channels.
const RADIO: u64 = 1 << 60;

#[cfg(test)]
mod tests {
    use super::*;

    /// TS 36.321 clause 5.7: of a cycle of 320 TTIs from 7 on, the first 10 are awake; a grant in
    /// 100 and drx-InactivityTimer of 20 add 101 to 120, a pending request all until its grant.
    #[test]
    fn the_active_time_has_three_parts() {
        let drx = DrxConfig { cycle: 320, on_duration: 10, inactivity: 20 };
        let ue = UeConfig::served_by(CellId::from_index(0));
        let mut cx = UeContext::new(&ue, &CellConfig::default());
        let awake = |cx: &UeContext| (0..400).filter(|t| cx.monitors_pdcch(Tti(*t), Some(&drx), 7)).collect();
        let cycles = || (7..17).chain(327..337);
        assert_eq!(awake(&cx), cycles().collect::<Vec<u64>>());
        cx.stay_awake(Tti(100), &drx);
        let mut after: Vec<u64> = awake(&cx);
        after.retain(|t| *t > 100);
        assert_eq!(after, (101..=120).chain(327..337).collect::<Vec<u64>>());
        cx.uplink.view.on_request(Tti(130));
        assert_eq!(awake(&cx), (0..400).collect::<Vec<u64>>());
        assert!(UeContext::new(&ue, &CellConfig::default()).monitors_pdcch(Tti(50), None, 7), "without DRX");
    }

    /// Cells 0 and 2 have the same settings, cell 1 has no 64QAM in the uplink and half of the
    /// blocks.
    #[test]
    fn a_cell_has_the_adaptation_of_its_own_settings() {
        let config = CellConfig { resource_blocks: 50, ..CellConfig::default() };
        let mut other = CellConfig { resource_blocks: 25, ..config.clone() };
        other.uplink.max_mcs = 20;
        let mut cells = IndexVec::with_capacity(3);
        for (i, config) in [&config, &other, &config].into_iter().enumerate() {
            let cell = Cell::new(CellId::from_index(i), config, &cells);
            cells.push(cell);
        }
        let highest: Vec<_> = cells.iter().map(|c| c.uplink.adaptation.mcs(60.0)).collect();
        assert_eq!(highest, [Some(28), Some(20), Some(28)]);
        let subbands: Vec<_> = cells.iter().map(|c| c.downlink.adaptation.subband()).collect();
        assert_eq!(subbands[0], subbands[2]);
        assert_ne!(subbands[0], subbands[1]);
    }
}

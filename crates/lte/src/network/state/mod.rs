//! What is kept of a cell and of a UE.
//!
//! Of a UE there are three types. [`Ue`] is the terminal, [`UeContext`] is what its eNB knows of
//! it, and neither holds what only the other may know. [`Link`] is what is kept once for both: what
//! RRC has configured, what is counted, and some state that two real ends would keep each for
//! itself (the RRC connection, whether the UE is between cells, a full buffer, semi-persistent
//! grants). DESIGN.md lists where one end thereby reads what only the other would know.
//!
//! Of a HARQ process the sender's half lies with the sender and the receiver's with the receiver.
//! The eNB has a record of what it has granted each process of the uplink.

pub mod plan;
pub mod sidelink;
pub mod uplink;

use lasthop_engine::{Draw, Purpose};
use lasthop_radio::lte::Bandwidth;
use lasthop_units::{BearerId, CellId, Db, Id, Tti, UeId};

use self::uplink::{CellUplink, UplinkContext, UplinkLink, UplinkUe};
use super::config::{CellConfig, UeConfig};
use super::control::{ControlBlocks, ControlReception};
use crate::mac::adaptation::{Adaptation, Quality};
use crate::mac::downlink::{Average, DownlinkCell, DownlinkConfig, LinkStats, Persistent};
use crate::mac::harq::{PROCESSES, Process, Processes, Reception, Receptions, State};
use crate::mac::reuse::Zone;
use crate::rrc::{Connection, InitialState};
use lasthop_bearer::Direction;

/// A cell.
#[derive(Debug)]
pub(super) struct Cell {
    /// Its settings, of which `down` and `radio.power` change during a run.
    pub config: CellConfig,
    /// UEs with something to send or a HARQ process in use, in the order of their ids, by
    /// direction.
    pub active: [Vec<UeId>; 2],
    pub uplink: CellUplink,
    pub downlink: DownlinkCell,
    /// UEs with semi-persistent scheduling in the downlink.
    pub persistent: Vec<UeId>,
    /// Where its control channels are.
    pub control: ControlBlocks,
    /// Power of a resource block at the antenna, all blocks in use [mW].
    pub reference_power_mw: f64,
    /// The same of a resource element [mW].
    pub element_power_mw: f64,
}

/// What is settled of a cell, for UEs that look at it: not its schedulers, which may be the
/// caller's own and belong to one thread.
#[derive(Clone, Copy)]
pub(super) struct CellSettings<'a> {
    pub config: &'a CellConfig,
    pub adaptation: &'a Adaptation,
    pub control: &'a ControlBlocks,
}

impl Cell {
    /// What is settled of it.
    #[inline]
    pub const fn settings(&self) -> CellSettings<'_> {
        let Cell { config, control, downlink, .. } = self;
        CellSettings { config, adaptation: &downlink.adaptation, control }
    }

    pub fn new(cell: CellId, config: &CellConfig) -> Cell {
        let bandwidth = Bandwidth::from_prbs(config.resource_blocks as usize).unwrap_or_default();
        Cell {
            config: config.clone(),
            active: [Vec::new(), Vec::new()],
            downlink: DownlinkCell::new(&config.downlink, bandwidth),
            persistent: Vec::new(),
            control: ControlBlocks::new(config.resource_blocks),
            reference_power_mw: config.reference_power_mw(),
            element_power_mw: config.element_power_mw(),
            uplink: CellUplink::new(&config.uplink, config.resource_blocks, cell),
        }
    }
    /// Its UEs with semi-persistent scheduling in `direction`.
    pub const fn persistent(&mut self, direction: Direction) -> &mut Vec<UeId> {
        match direction {
            Direction::Downlink => &mut self.persistent,
            Direction::Uplink => &mut self.uplink.persistent,
        }
    }
    /// The UE of `cx` has something to send in `direction`: the cell looks at it from the next TTI
    /// on.
    #[inline]
    pub fn wake(&mut self, ue: UeId, cx: &mut UeContext, direction: Direction) {
        let i = direction.index();
        if !std::mem::replace(&mut cx.active[i], true) {
            let active = &mut self.active[i];
            let place = active.partition_point(|other| *other < ue);
            active.insert(place, ue);
        }
    }
    /// Switched off.
    #[inline]
    pub const fn is_down(&self) -> bool {
        self.config.down
    }
    /// True while the cell has something to schedule.
    pub fn is_active(&self) -> bool {
        !self.is_down() && self.active.iter().any(|ues| !ues.is_empty())
    }
}

/// The radio link of a UE: what RRC has configured at both of its ends, the transport blocks that
/// are on their way, and what is counted.
#[derive(Debug)]
pub(super) struct Link {
    pub serving: CellId,
    /// The RRC connection: one state for both ends, since no message between them is encoded.
    pub rrc: Connection,
    /// Its bearers in the order of their logical channels.
    pub drbs: Vec<BearerId>,
    /// Below RLC there is always something to send, by direction.
    pub full_buffer: [bool; 2],
    /// It is on its way between cells: no cell schedules it.
    pub away: bool,
    pub downlink: DownlinkLink,
    pub uplink: UplinkLink,
}

/// What the eNB knows of a UE.
#[derive(Debug)]
pub(super) struct UeContext {
    /// It is in its cell's active list, by direction.
    pub active: [bool; 2],
    /// The last TTI in which something happened to its bearers.
    pub activity: Tti,
    pub downlink: DownlinkContext,
    pub uplink: UplinkContext,
}

/// What the terminal knows.
#[derive(Debug)]
pub(super) struct Ue {
    pub downlink: DownlinkUe,
    pub uplink: UplinkUe,
}

impl Link {
    /// Of the UE `id` in a cell of `cell`, with the draws of the run `seed`.
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
    /// Of a UE in a cell of `cell`.
    pub fn new(cell: &CellConfig) -> UeContext {
        UeContext {
            active: [false; 2],
            activity: Tti(0),
            downlink: DownlinkContext::new(&cell.downlink),
            uplink: UplinkContext::new(&cell.uplink),
        }
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
    /// Its own P_A, and linear with that of its zone.
    pub p_a: Db,
    pub boost: f32,
    /// Distance of its reports to those of other UEs [TTI].
    pub phase: u64,
    pub stats: LinkStats,
}

/// What the eNB knows of a UE's downlink.
#[derive(Debug)]
pub(super) struct DownlinkContext {
    /// HARQ processes by code word; the second ones exist where the transmission mode has two
    /// layers.
    pub harq: [Option<Box<Processes>>; 2],
    /// A process of the code word may have failed: set where one does, cleared where none is found.
    failures: [bool; 2],
    pub quality: Quality,
    pub average: Average,
    /// Where it is in a cell with frequency reuse, and before which TTI nobody looks again.
    pub zone: Zone,
    pub zone_until: Tti,
    /// Last TTI with a new transport block.
    pub served: Option<Tti>,
    /// Discontinuous reception: awake before this TTI because of earlier assignments.
    pub awake_until: Tti,
}

/// What the terminal keeps for its downlink.
#[derive(Debug)]
pub(super) struct DownlinkUe {
    /// What it has received of the blocks of each process, by code word.
    pub received: [Option<Box<Receptions>>; 2],
    /// Draws of transport blocks by code word.
    pub block_errors: [Draw; 2],
    pub control: ControlReception,
}

/// The draws of UE `id` in the run `seed`, told apart by what they are for: transport blocks of
/// code words 0 and 1, of the uplink 2, assignments 3.
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
    /// The same, to look at.
    #[inline]
    pub fn process_ref(&self, id: u8) -> Option<&Process> {
        let (code_word, i) = (usize::from(id) / PROCESSES, usize::from(id) % PROCESSES);
        self.harq[code_word].as_ref().map(|p| p.get(i))
    }
    /// Process `id` has failed: it may be sent again.
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
    /// The process of `code_word` that has waited longest for its retransmission.
    #[inline]
    pub fn failed(&mut self, code_word: usize) -> Option<u8> {
        // Mostly none has, and the states of all lie in as many lines of memory.
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

    /// What it has received of the block of process `id`.
    #[inline]
    pub fn received(&mut self, id: u8) -> Option<&mut Reception> {
        let (code_word, i) = (usize::from(id) / PROCESSES, usize::from(id) % PROCESSES);
        self.received[code_word].as_mut().map(|r| &mut r[i])
    }

    /// The same, to look at.
    #[inline]
    pub fn received_ref(&self, id: u8) -> Option<&Reception> {
        let (code_word, i) = (usize::from(id) / PROCESSES, usize::from(id) % PROCESSES);
        self.received[code_word].as_ref().map(|r| &r[i])
    }

    /// Soft buffers are flushed.
    pub fn reset(&mut self) {
        self.received.iter_mut().flatten().for_each(|received| **received = Receptions::default());
    }
}

/// Process `id` of those by code word.
#[inline]
pub(super) fn process_of(harq: &mut [Option<Box<Processes>>; 2], id: u8) -> Option<&mut Process> {
    let (code_word, i) = (usize::from(id) / PROCESSES, usize::from(id) % PROCESSES);
    harq[code_word].as_mut().map(|p| p.get_mut(i))
}

/// Tells the network's draws of block errors from those of dedicated channels.
const RADIO: u64 = 1 << 60;

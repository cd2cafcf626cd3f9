//! State of a cell and of a UE for the uplink.

use lasthop_engine::{Draw, Purpose};
use lasthop_radio::lte::PowerControl;
use lasthop_radio::{milliwatts, thermal_noise};
use lasthop_units::{CellId, Db, Dbm, Hertz, Id, Tti, UeId};

use super::draws;
use super::plan::{Content, Granted, Plan};
use super::sidelink::SidelinkReport;
use crate::mac::bsr::{Report, Reporting, Trailing};
use crate::mac::downlink::{Average, LinkStats, Window};
use crate::mac::harq::{HARQ_PERIOD, PROCESSES, Parts, Processes, Receptions, State, process_of};
use crate::mac::multiplex::{LogicalChannelConfig, Multiplexer};
use crate::mac::phr::HeadroomReporting;
use crate::mac::random_access::{RandomAccess, Responder};
use crate::mac::scheduler::qci::Qos;
use crate::mac::scheduler::{Candidate, Scheduler};
use crate::mac::sr::{Opportunities, SchedulingRequest};
use crate::mac::uplink::{
    BufferView, RacTimer, RequestConfig, UplinkAdaptation, UplinkConfig, UplinkPersistent, UplinkQuality,
};
use crate::network::calendar::{Due, Notes};
use crate::network::config::UeConfig;
use crate::phy::RbSet;
use crate::phy::power::TransmitPower;

/// The uplink of a cell.
#[derive(Debug)]
pub struct CellUplink {
    pub config: UplinkConfig,
    pub scheduler: Scheduler,
    /// The window of the averages.
    pub window: Window,
    pub adaptation: UplinkAdaptation,
    pub responder: Responder,
    pub plan: Plan,
    /// Blocks without those of PUCCH.
    pub band: RbSet,
    /// Of these, the blocks from which the cell allocates first.
    upper: RbSet,
    /// UEs with semi-persistent scheduling.
    pub persistent: Vec<UeId>,
    pub srs_period_ttis: u64,
    /// Memory of the scheduler.
    pub candidates: Vec<Candidate>,
    pub weights: Vec<f64>,
    pub order: Vec<Rank>,
    pub counters: UplinkCounters,
}

/// A candidate's place in the order of grants, which is that of the fields: bits of its weight
/// (positive), inverted so that the largest is first; when it was served, those never served
/// first; its index.
pub type Rank = (u64, Option<Tti>, usize);

/// Counters of a cell's uplink.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UplinkCounters {
    /// Bytes of padding in new transport blocks.
    pub padding_bytes: u64,
    /// Scheduling requests sent.
    pub requests: u64,
    /// Preambles sent.
    pub preambles: u64,
}

impl CellUplink {
    /// The uplink of `cell`, which has `blocks` resource blocks, with the `adaptation` of `config`
    /// on them.
    pub fn new(config: &UplinkConfig, blocks: u32, cell: CellId, adaptation: UplinkAdaptation) -> CellUplink {
        let low = config.pucch_blocks.div_ceil(2);
        let band = RbSet::range(low, blocks - config.pucch_blocks);
        CellUplink {
            scheduler: config.scheduler.build(crate::phy::TTI),
            window: Window::new(config.window),
            adaptation,
            responder: Responder::default(),
            plan: Plan::new(),
            upper: band.without(RbSet::range(0, low + band.len() * (cell.index() as u32 % 3) / 3)),
            band,
            persistent: Vec::new(),
            srs_period_ttis: config.srs_period.as_millis(),
            candidates: Vec::new(),
            weights: Vec::new(),
            order: Vec::new(),
            counters: UplinkCounters::default(),
            config: config.clone(),
        }
    }

    /// A run of `blocks` blocks of `free`. Cells start at different thirds of the band, so that
    /// neighbours with little load, such as a site's three sectors, use different blocks.
    pub fn place(&self, free: RbSet, blocks: u32) -> Option<RbSet> {
        free.and(self.upper).run(blocks).or_else(|| free.run(blocks))
    }
}

/// Contents of a transport block beside RLC PDUs.
#[derive(Clone, Debug)]
pub struct Block {
    pub content: Content,
    /// TTI of the first transmission.
    pub first: Tti,
    pub report: Option<Report>,
    pub headroom: Option<u8>,
    /// Report of data for sidelinks.
    pub sidelink: SidelinkReport,
    /// C-RNTI: Msg3 of a UE with a connection in the cell.
    pub c_rnti: bool,
    /// The block is full and has no report of the remaining data.
    pub full: bool,
}

impl Block {
    pub fn new() -> Block {
        Block {
            content: Content::New,
            first: Tti(0),
            report: None,
            headroom: None,
            sidelink: Vec::new(),
            c_rnti: false,
            full: false,
        }
    }
}

/// A HARQ process of a UE by the eNB's grants.
#[derive(Clone, Copy, Debug, Default)]
pub struct GrantedProcess {
    /// State of the process by what the eNB has received.
    pub state: State,
    /// Size of the transport block [B].
    pub bytes: u32,
    /// I_MCS.
    pub mcs: u8,
    /// Resource blocks of the last transmission, or of the next one if a grant has moved it.
    pub rbs: RbSet,
    /// Transmissions that were due (TS 36.321 clause 5.4.2.2: CURRENT_TX_NB + 1).
    pub transmissions: u8,
    /// The block is an Msg3.
    pub msg3: bool,
    /// The block is an Msg3 that collided with another UE's.
    pub collided: bool,
}

/// The terminal's state of its uplink.
#[derive(Debug)]
pub struct UplinkUe {
    /// The blocks of its HARQ processes.
    pub harq: Processes,
    /// By process: contents of the block beside RLC PDUs.
    pub blocks: [Block; PROCESSES],
    pub sr: SchedulingRequest,
    pub bsr: Reporting,
    pub phr: HeadroomReporting,
    pub mux: Multiplexer,
    pub access: RandomAccess,
    /// By bearer: it had data at the last check.
    pub had: Vec<bool>,
    /// The last TTI for which the UE has a grant for new data.
    pub granted_until: Option<Tti>,
    /// Data for a sidelink waits for a grant.
    pub sidelink_bsr: bool,
    /// No second RAC before this TTI.
    pub rac_blocked_until: Tti,
    /// TTI of the next wake-up.
    pub wake: Option<Tti>,
    pub power: TransmitPower,
    /// Noise of the UE's receiver in a resource block [mW].
    pub noise_mw: f64,
}

/// The eNB's state about a UE's uplink.
#[derive(Debug)]
pub struct UplinkContext {
    /// By HARQ process: its grants, and the reception of the block.
    pub granted: [GrantedProcess; PROCESSES],
    pub received: Receptions,
    pub view: BufferView,
    pub quality: UplinkQuality,
    /// P_CMAX by the UE's power class.
    pub largest: Dbm,
    /// Headroom on one resource block.
    pub headroom: Option<Db>,
    /// Before this TTI a power control command is pending or not measured yet.
    pub commanded_until: Tti,
    /// The UE's power control after the commands, by the eNB's record.
    pub commanded: PowerControl,
    pub average: Average,
    /// Class of the most urgent bearer, and sum of the bearers' guaranteed rates [bit per TTI].
    pub qci: u8,
    pub guaranteed: f64,
    /// A proactive grant is scheduled in the calendar.
    pub proactive: bool,
    pub served: Option<Tti>,
}

/// The uplink of a UE between its ends.
#[derive(Debug)]
pub struct UplinkLink {
    /// Semi-persistent scheduling.
    pub persistent: Option<UplinkPersistent>,
    /// The link has a given SINR, so path loss and power have no effect.
    pub pinned: bool,
    /// One draw per transport block.
    pub errors: Draw,
    pub stats: LinkStats,
}

impl UplinkLink {
    /// The link of the UE `ue`.
    pub fn new(ue: UeId, config: &UeConfig, seed: u64) -> UplinkLink {
        UplinkLink {
            persistent: config.persistent_uplink.map(UplinkPersistent::new),
            pinned: config.radio.pinned_sinr.is_some(),
            errors: draws(seed, ue, 2),
            stats: LinkStats::default(),
        }
    }
}

impl UplinkLink {
    /// True if a semi-persistent grant is for `tti`.
    pub fn is_occasion(&self, tti: Tti) -> bool {
        self.persistent.is_some_and(|p| p.grant().is_some() && p.occasion == tti)
    }
}

impl UplinkContext {
    /// For a UE with at most the power `largest` in a cell of `config`.
    pub fn new(config: &UplinkConfig, largest: Dbm) -> UplinkContext {
        UplinkContext {
            granted: Default::default(),
            received: Receptions::default(),
            view: BufferView::default(),
            quality: UplinkQuality::new(config.outer_loop.olla()),
            largest,
            headroom: None,
            commanded_until: Tti(0),
            commanded: PowerControl::default(),
            average: Average::default(),
            qci: 9,
            guaranteed: 0.0,
            proactive: false,
            served: None,
        }
    }

    /// Begins the reception of a transmission of `process` as it was granted: a new block, or a
    /// retransmission.
    pub fn on_transmission(&mut self, process: usize, g: &Granted, collided: bool) {
        let p = &mut self.granted[process];
        let Granted { rbs, mcs, bytes, content, .. } = *g;
        if content != Content::Again {
            *p = GrantedProcess { bytes, mcs, msg3: content == Content::Msg3, ..GrantedProcess::default() };
        }
        p.transmissions += 1;
        (p.state, p.rbs) = (State::Awaiting, rbs);
        p.collided |= collided;
    }

    /// Whether the block that was sent in `sent` is decoded; None if its process has another block
    /// by now.
    pub fn outcome(&self, process: usize, sent: Tti) -> Option<bool> {
        let (p, received) = (&self.granted[process], &self.received[process]);
        (p.state == State::Awaiting && received.sent == sent).then_some(received.decoded)
    }

    /// Processes a decoded `block`: its report of the UE's buffers, or that it is full.
    pub fn on_block(&mut self, block: &Block, trailing: Trailing) {
        let first = block.first;
        if block.c_rnti {
            self.view.await_grant();
        }
        if block.content == Content::Msg3 {
            // The UE has started its closed loop.
            self.commanded = PowerControl::default();
        }
        if let Some(report) = block.report {
            self.view.on_report(first, report);
        } else if block.full
            && block.content == Content::New
            && self.view.waiting() == 0
            && !self.view.is_granted_after(first)
            && trailing != Trailing::AfterRequest
        {
            // A full block without a report of the remaining data: there may be more.
            self.view.request();
        }
    }

    /// Adds a bearer, number `index`; the most urgent one is the first.
    pub fn add(&mut self, index: usize, qos: &Qos) {
        if index == 0 {
            self.qci = qos.qci;
        }
        self.guaranteed += qos.uplink.0 as f64 * 1e-3;
    }

    /// Schedules a proactive grant after downlink data to the UE `ue` in `tti`, so that the answer
    /// needs no request; `period` of proactive grants [TTI].
    #[inline]
    pub fn note_downlink(&mut self, tti: Tti, ue: UeId, period: u64, calendar: &mut impl Notes) {
        if period > 0 && !std::mem::replace(&mut self.proactive, true) {
            calendar.note(tti.plus(period), Due::Proactive { ue });
        }
    }
}

/// The procedures of a UE that its cell configures, in their initial states.
struct Procedures {
    sr: SchedulingRequest,
    bsr: Reporting,
    phr: HeadroomReporting,
}

impl Procedures {
    /// Those of `ue` in a cell of `config`.
    // TS 36.331 v15.1.0 clause 5.3.10.4 [unverified]: reconfigure the MAC main configuration in
    // accordance with the received mac-MainConfig; clause 5.3.10.6 [unverified]: reconfigure the
    // physical channel configuration, of which schedulingRequestConfig is a part.
    fn of(config: &UplinkConfig, ue: UeId) -> Procedures {
        let index = Opportunities::index_of(config.sr.period.as_millis(), ue.index());
        let opportunities = match config.request {
            RequestConfig::Sr => index.and_then(Opportunities::of_index),
            RequestConfig::RandomAccess | RequestConfig::Rac { .. } => None,
        };
        Procedures {
            sr: SchedulingRequest::new(&config.sr, opportunities),
            bsr: Reporting::new(&config.bsr),
            phr: HeadroomReporting::new(&config.phr),
        }
    }
}

impl UplinkUe {
    /// The uplink of UE `ue` under `config`.
    pub fn new(config: &UplinkConfig, ue_config: &UeConfig, ue: UeId, seed: u64) -> UplinkUe {
        let (i, radio) = (ue.index(), &ue_config.radio);
        let Procedures { sr, bsr, phr } = Procedures::of(config, ue);
        UplinkUe {
            harq: Processes::default(),
            blocks: std::array::from_fn(|_| Block::new()),
            sr,
            bsr,
            phr,
            mux: Multiplexer::default(),
            access: RandomAccess::new(Draw::new(seed, Purpose::RandomAccess, i as u64)),
            had: Vec::new(),
            granted_until: None,
            sidelink_bsr: false,
            rac_blocked_until: Tti(0),
            wake: None,
            power: TransmitPower::new(radio.power),
            noise_mw: milliwatts(thermal_noise(Hertz(180e3), radio.noise_figure)),
        }
    }

    /// Applies the configuration of another cell to `ue`, after a reset of MAC.
    pub fn configure(&mut self, config: &UplinkConfig, ue: UeId) {
        let Procedures { sr, bsr, phr } = Procedures::of(config, ue);
        (self.sr, self.bsr, self.phr) = (sr, bsr, phr);
    }

    /// Adds a bearer; the most urgent one is the first.
    pub fn add(&mut self, qos: &Qos) {
        self.mux.add(self.had.len(), LogicalChannelConfig::of_class(qos));
        self.had.push(false);
    }

    /// Records that a new transport block, `block`, is sent in `tti` as it was granted.
    pub fn put(&mut self, tti: Tti, g: &Granted, block: Block) {
        let process = process_of(tti);
        let p = self.harq.get_mut(process);
        debug_assert_eq!(p.state, State::Idle, "the process of {tti:?} is in use");
        (p.bytes, p.mcs, p.rbs, p.sent, p.transmissions) = (g.bytes, g.mcs, g.rbs, tti, 1);
        p.state = State::Awaiting;
        self.blocks[process] = block;
    }

    /// Prepares a retransmission of the block of `tti` on `rbs`; false if a MAC reset has flushed
    /// it.
    pub fn repeat(&mut self, tti: Tti, rbs: RbSet) -> bool {
        let p = self.harq.get_mut(process_of(tti));
        if p.state != State::Failed {
            return false;
        }
        p.transmissions += 1;
        (p.state, p.sent, p.rbs) = (State::Awaiting, tti, rbs);
        true
    }

    /// Keeps the block of `process` for a retransmission: there was no ACK.
    pub fn keep(&mut self, process: usize) {
        self.harq.get_mut(process).state = State::Failed;
    }

    /// Flushes the buffer of `process` and returns its block: RLC PDUs, and the other contents.
    /// [`recycle`](Self::recycle) returns the memory of the former.
    pub fn flush(&mut self, process: usize) -> (Parts, Block) {
        let p = self.harq.get_mut(process);
        let parts = std::mem::take(&mut p.parts);
        p.free(|_| ());
        (parts, std::mem::replace(&mut self.blocks[process], Block::new()))
    }

    /// Memory for the RLC PDUs of the next block of `process`.
    pub fn recycle(&mut self, process: usize, parts: Parts) {
        self.harq.get_mut(process).parts = parts;
    }

    /// True if the grant for `tti` was used.
    pub fn sends(&self, tti: Tti, g: &Granted) -> bool {
        let process = process_of(tti);
        let p = self.harq.get(process);
        let again = self.blocks[process].first != tti;
        p.sent == tti && p.transmissions > 0 && again == (g.content == Content::Again)
    }

    /// The process of an Msg3 that waits for a retransmission when mac-ContentionResolutionTimer
    /// expires in `tti`, and whether this retransmission is in `tti`.
    pub fn unresolved_msg3(&self, tti: Tti) -> Option<(usize, bool)> {
        let first = self.access.unresolved(tti)?;
        let process = process_of(first);
        let p = self.harq.get(process);
        let waits = self.blocks[process].first == first && p.state == State::Failed;
        waits.then_some((process, p.sent.plus(HARQ_PERIOD) == tti))
    }

    /// Flushes the buffers of all processes.
    pub fn reset_harq(&mut self) {
        for (process, block) in self.harq.iter_mut().zip(&mut self.blocks) {
            process.free(|_| ());
            *block = Block::new();
        }
    }

    /// True if a wake-up is due in `tti`, which is cleared.
    pub fn wakes(&mut self, tti: Tti) -> bool {
        self.wake.take_if(|at| *at == tti).is_some()
    }

    /// True if data waits for which a grant must be requested.
    #[inline]
    pub const fn needs_grant(&self) -> bool {
        self.bsr.needs_grant() || self.sidelink_bsr
    }

    /// Processes a grant for `target` that is received in `tti`; `answers`: it answers a request.
    #[inline]
    pub fn on_grant(&mut self, tti: Tti, target: Tti, answers: bool) {
        self.bsr.on_grant(tti);
        if answers {
            self.bsr.on_answer();
        }
        self.granted_until = self.granted_until.max(Some(target));
        if self.access.is_resolving() {
            // TS 36.321 clause 5.1.5 [unverified]: the PDCCH transmission is addressed to the
            // C-RNTI and contains an UL grant for a new transmission; consider this Contention
            // Resolution successful.
            self.access.stop();
        }
    }

    /// True if the UE has a grant for new data in `tti` or later, or a semi-persistent one for
    /// which the data waits.
    // TS 36.321 v15.1.0 clause 5.4.5 [unverified]: if an uplink grant is not configured or the
    // Regular BSR was not triggered due to data becoming available for transmission for a logical
    // channel for which logical channel SR masking is setup by upper layers: a Scheduling Request
    // shall be triggered.
    pub fn is_granted(&self, tti: Tti, persistent: Option<&UplinkPersistent>) -> bool {
        self.granted_until.is_some_and(|t| t >= tti)
            || persistent.is_some_and(|p| p.config.sr_mask && p.grant().is_some())
    }

    /// Processes a grant for `tti`: a RAC's timer that is paused by grants does not count this TTI.
    #[inline]
    pub fn pause_rac(&mut self, request: &RequestConfig, tti: Tti) {
        if matches!(request, RequestConfig::Rac { counts: RacTimer::Paused, .. })
            && tti <= self.rac_blocked_until
        {
            self.rac_blocked_until = self.rac_blocked_until.plus(1);
        }
    }
}

//! What the network keeps for sidelinks. A network without pairs has none of it.

use lasthop_engine::{Draw, Purpose};
use lasthop_units::{BearerId, Id, IndexVec, Tti, UeId};

use super::super::config::PairConfig;
use super::reorder::Reorder;
use crate::mac::lte::downlink::LinkStats;
use crate::mac::lte::harq::Processes;
use crate::mac::lte::multiplex::{LogicalChannelConfig, Multiplexer};
use crate::mac::lte::sidelink::{LinkMode, SidelinkPersistent};
use crate::mac::lte::uplink::{BufferView, UplinkQuality};
use crate::phy::lte::RbSet;
use crate::sdu::End;
use lasthop_radio::lte::OllaConfig;

/// One direction of a pair. Lanes 2i and 2i + 1 belong to pair i: from its first UE to its second, and back.
#[derive(Debug)]
pub struct Lane {
    /// The UE that sends, and the one that receives.
    pub tx: UeId,
    pub rx: UeId,
    /// The pair's bearer, and the end of it that sends.
    pub bearer: BearerId,
    pub end: End,
    /// Which way packets go.
    pub mode: LinkMode,
    // The sender's side.
    pub harq: Processes,
    pub mux: Multiplexer,
    /// Bytes that the last report covers and that were not sent yet [B].
    pub covered: u64,
    /// There is more than that.
    pub wants: bool,
    /// The last TTI for which it has a grant.
    pub granted_until: Option<Tti>,
    pub persistent: Option<Persistent>,
    /// An occasion is in the calendar.
    pub occasion: Option<Tti>,
    /// One draw per transport block.
    pub errors: Draw,
    pub stats: LinkStats,
    // The eNB's side.
    pub view: BufferView,
    pub quality: UplinkQuality,
    pub active: bool,
    pub served: Tti,
    // Lossless switches.
    pub order: Option<Box<Reorder>>,
}

/// Blocks set aside for a lane.
#[derive(Clone, Copy, Debug)]
pub struct Persistent {
    pub config: SidelinkPersistent,
    pub rbs: RbSet,
    /// TTI of its occasions modulo the period.
    pub phase: u64,
    /// Chosen at the activation.
    pub mcs: Option<u8>,
}

impl Persistent {
    pub fn is_occasion(&self, tti: Tti) -> bool {
        tti.0 % self.config.period.as_millis() == self.phase
    }
    /// The first occasion at `tti` or later.
    pub fn next(&self, tti: Tti) -> Tti {
        let period = self.config.period.as_millis();
        tti.plus((self.phase + period - tti.0 % period) % period)
    }
}

/// A pair's own.
#[derive(Debug)]
pub struct Pair {
    pub config: PairConfig,
    /// When it switched last.
    pub switched: Option<Tti>,
}

/// A transmission on a sidelink.
#[derive(Clone, Copy, Debug)]
pub struct LaneGrant {
    pub lane: u32,
    pub rbs: RbSet,
    pub mcs: u8,
    pub bytes: u32,
    /// A block that was sent before.
    pub again: bool,
}

/// TTIs that are planned at once; the uplink's plan is as long.
const SLOTS: u64 = 32;

/// Sidelink transmissions by TTI.
#[derive(Debug)]
pub struct SidelinkPlan {
    slots: Vec<(Tti, Vec<LaneGrant>)>,
}

impl SidelinkPlan {
    fn new() -> SidelinkPlan {
        SidelinkPlan { slots: (0..SLOTS).map(|_| (Tti(0), Vec::new())).collect() }
    }
    pub fn slot(&mut self, tti: Tti) -> &mut Vec<LaneGrant> {
        let slot = &mut self.slots[(tti.0 % SLOTS) as usize];
        if slot.0 != tti {
            slot.0 = tti;
            slot.1.clear();
        }
        &mut slot.1
    }
    pub fn granted(&self, tti: Tti) -> &[LaneGrant] {
        let slot = &self.slots[(tti.0 % SLOTS) as usize];
        if slot.0 == tti { &slot.1 } else { &[] }
    }
    /// Grants of `lane` lapse.
    pub fn forget(&mut self, lane: u32) {
        for slot in &mut self.slots {
            slot.1.retain(|g| g.lane != lane);
        }
    }
}

/// All sidelinks.
#[derive(Debug)]
pub struct Sidelink {
    pub pairs: Vec<Pair>,
    pub lanes: Vec<Lane>,
    pub plan: SidelinkPlan,
    /// Lanes for which the eNB believes that data wait, ascending.
    pub active: Vec<u32>,
    /// Lanes that a UE sends on.
    pub of_ue: IndexVec<UeId, Vec<u32>>,
    /// By lane times lanes plus lane: the two must not share a block; worked out again at `conflicts_until`.
    pub conflicts: Vec<bool>,
    pub conflicts_until: Tti,
    /// Memory of the scheduler.
    pub order: Vec<(Tti, u32)>,
    /// The bearer of pair 0.
    pub first_bearer: usize,
}

impl Sidelink {
    /// `ues`: all UEs of the network. `first_bearer`: the bearer of the first pair. `outer_loop`: of the pair's cell.
    pub fn new(
        pairs: &[PairConfig],
        ues: usize,
        first_bearer: usize,
        outer_loop: impl Fn(UeId) -> Option<OllaConfig>,
        seed: u64,
    ) -> Sidelink {
        let mut lanes = Vec::new();
        let mut of_ue: IndexVec<UeId, Vec<u32>> = (0..ues).map(|_| Vec::new()).collect();
        for (i, pair) in pairs.iter().enumerate() {
            let bearer = BearerId::from_index(first_bearer + i);
            for (k, end) in [End::Network, End::Ue].into_iter().enumerate() {
                let (tx, rx) = (pair.ues[k], pair.ues[1 - k]);
                let id = (2 * i + k) as u32;
                of_ue[tx].push(id);
                let mut mux = Multiplexer::default();
                mux.add(0, LogicalChannelConfig::default());
                lanes.push(Lane {
                    tx,
                    rx,
                    bearer,
                    end,
                    mode: pair.mode[k],
                    harq: Processes::default(),
                    mux,
                    covered: 0,
                    wants: false,
                    granted_until: None,
                    persistent: None,
                    occasion: None,
                    errors: Draw::new(seed, Purpose::BlockError, SIDELINK | u64::from(id)),
                    stats: LinkStats::default(),
                    view: BufferView::default(),
                    quality: UplinkQuality::new(outer_loop(tx)),
                    active: false,
                    served: Tti(0),
                    order: pair.lossless.then(Box::default),
                });
            }
        }
        Sidelink {
            pairs: pairs.iter().map(|p| Pair { config: p.clone(), switched: None }).collect(),
            conflicts: Vec::new(),
            conflicts_until: Tti(0),
            plan: SidelinkPlan::new(),
            active: Vec::new(),
            order: Vec::new(),
            of_ue,
            first_bearer,
            lanes,
        }
    }

    /// The pair of a lane.
    pub fn pair(&self, lane: u32) -> &PairConfig {
        &self.pairs[lane as usize / 2].config
    }
    /// The first lane of the pair whose bearer it is.
    pub fn lane_of(&self, bearer: BearerId) -> Option<u32> {
        bearer.index().checked_sub(self.first_bearer).map(|pair| 2 * pair as u32)
    }
    /// The eNB looks at `lane` from the next scheduling on.
    pub fn wake(&mut self, lane: u32) {
        if !std::mem::replace(&mut self.lanes[lane as usize].active, true) {
            let place = self.active.partition_point(|other| *other < lane);
            self.active.insert(place, lane);
        }
    }
    /// Blocks that persistent grants have in `tti`.
    pub fn reserved(&self, tti: Tti) -> RbSet {
        let mut set = RbSet::EMPTY;
        for lane in self.lanes.iter().filter(|l| l.mode == LinkMode::Direct) {
            if let Some(p) = lane.persistent.filter(|p| p.is_occasion(tti)) {
                set |= p.rbs;
            }
        }
        set
    }
}

/// Tells the draws of sidelink blocks from those of other links.
const SIDELINK: u64 = 1 << 61;

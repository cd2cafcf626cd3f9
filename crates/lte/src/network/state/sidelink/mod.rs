//! State of sidelinks. A network without pairs and groups has none.

pub mod group;
mod load;
pub mod reorder;

use std::ops::Range;
use std::sync::Arc;

use lasthop_engine::{Draw, Purpose};
use lasthop_units::{BearerId, CellId, Id, IndexVec, Tti, UeId};

use self::group::{Group, MemberReceiver};
pub use self::load::Load;
use self::reorder::Reorder;
use crate::mac::downlink::LinkStats;
use crate::mac::harq::{PROCESSES, Processes, Receptions};
use crate::mac::multiplex::{LogicalChannelConfig, Multiplexer};
use crate::mac::sidelink::{LinkMode, SidelinkConfig, SidelinkPersistent};
use crate::mac::uplink::{BufferView, UplinkQuality};
use crate::network::config::{GroupConfig, PairConfig};
use crate::phy::RbSet;
use lasthop_bearer::End;
use lasthop_radio::lte::OllaConfig;
use lasthop_radio::milliwatts;

/// A report of a UE's destinations: destination and level of each.
pub type SidelinkReport = Vec<(u32, u8)>;

/// A destination of a UE (TS 36.321 clause 5.14): one direction of a pair, or a group. Destinations
/// 2i and 2i + 1 belong to pair i: from its first UE to its second, and back; those of the groups
/// follow.
#[derive(Debug)]
pub struct Destination {
    /// The transmitting UE, and the receiving one; of a group, the first of them.
    pub tx: UeId,
    pub rx: UeId,
    /// The bearer, of a group the first receiver's, and its transmitting end.
    pub bearer: BearerId,
    pub end: End,
    /// Path of the packets.
    pub mode: LinkMode,
    pub link: Arc<SidelinkConfig>,
    /// The link's power [mW].
    pub power_mw: f64,
    /// All receivers of a group.
    pub group: Option<Box<Group>>,
    pub persistent: Option<Persistent>,
    pub stats: LinkStats,
}

/// State of the sender of a destination.
#[derive(Debug)]
pub struct Sender {
    /// The transport blocks in transmission.
    pub harq: Processes,
    pub mux: Multiplexer,
    /// Bytes that the last report covers and that were not sent yet [B].
    pub covered: u64,
    /// There is more data than that.
    pub bsr_triggered: bool,
    /// An occasion is scheduled in the calendar.
    pub occasion: Option<Tti>,
}

/// The eNB's state about a destination.
#[derive(Debug)]
pub struct Grants {
    /// By HARQ process: a block is in transmission.
    pub busy: [bool; PROCESSES],
    /// The last TTI for which there is a grant.
    pub granted_until: Option<Tti>,
    pub view: BufferView,
    pub quality: UplinkQuality,
    /// The level that was measured last, without interference [dB].
    pub clear: f32,
    pub active: bool,
    pub served: Tti,
    /// It has been added to the active list, and its load was not compared with others yet.
    pub begins: bool,
    pub load: Load,
}

/// State of the receiver of a pair's destination; of a group's, whether all receivers have a block.
#[derive(Debug)]
pub struct Receiver {
    /// One draw per transport block.
    pub errors: Draw,
    /// By HARQ process: reception of the block.
    pub received: Receptions,
    /// Reordering, for lossless switches.
    pub order: Option<Box<Reorder>>,
    /// State of the members of a group.
    pub members: Vec<MemberReceiver>,
}

/// Persistent blocks of a destination.
#[derive(Clone, Copy, Debug)]
pub struct Persistent {
    pub config: SidelinkPersistent,
    pub rbs: RbSet,
    /// TTI of its occasions modulo the period.
    pub phase: u64,
    /// MCS, selected at the activation.
    pub mcs: Option<u8>,
}

impl Destination {
    fn new(ues: [UeId; 2], bearer: BearerId, end: End, link: &Arc<SidelinkConfig>) -> Destination {
        Destination {
            tx: ues[0],
            rx: ues[1],
            bearer,
            end,
            mode: LinkMode::Direct,
            link: link.clone(),
            power_mw: milliwatts(link.power),
            group: None,
            persistent: None,
            stats: LinkStats::default(),
        }
    }

    /// The receiver, unless the destination is a group.
    pub fn peer(&self) -> Option<UeId> {
        self.group.is_none().then_some(self.rx)
    }

    /// True if a UE transmits to both, or receives from both, or is the sender of one and a
    /// receiver of the other.
    pub fn shares_a_ue_with(&self, other: &Destination) -> bool {
        let has = |ue| other.tx == ue || other.receivers().any(|r| r == ue);
        has(self.tx) || self.receivers().any(has)
    }

    /// Records the roles of its UEs in a TTI with a grant.
    pub fn note_roles(&self, roles: &mut [Roles]) {
        roles[self.tx.index()].sends = true;
        self.receivers().for_each(|ue| roles[ue.index()].receives = true);
    }

    /// Counts it among the waiting destinations of its UEs.
    pub fn note_waiting(&self, roles: &mut [Roles]) {
        roles[self.tx.index()].waiting_to_send += 1;
        self.receivers().for_each(|ue| roles[ue.index()].waiting_to_receive += 1);
    }

    /// The receiving UEs.
    pub fn receivers(&self) -> impl Iterator<Item = UeId> + '_ {
        let one = self.group.is_none().then_some(self.rx);
        one.into_iter().chain(self.group.iter().flat_map(|g| g.members.iter().map(|m| m.ue)))
    }
}

impl Sender {
    fn new() -> Sender {
        let mut mux = Multiplexer::default();
        mux.add(0, LogicalChannelConfig::default());
        Sender { harq: Processes::default(), mux, covered: 0, bsr_triggered: false, occasion: None }
    }
}

impl Grants {
    fn new(outer_loop: Option<OllaConfig>) -> Grants {
        Grants {
            busy: [false; PROCESSES],
            granted_until: None,
            view: BufferView::default(),
            quality: UplinkQuality::new(outer_loop),
            clear: f32::NEG_INFINITY,
            active: false,
            served: Tti(0),
            begins: false,
            load: Load::default(),
        }
    }
}

impl Receiver {
    /// For destination `id`.
    fn new(id: u32, seed: u64) -> Receiver {
        Receiver {
            errors: Draw::new(seed, Purpose::BlockError, SIDELINK | u64::from(id)),
            received: Receptions::default(),
            order: None,
            members: Vec::new(),
        }
    }
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

/// State of a pair.
#[derive(Debug)]
pub struct Pair {
    pub config: PairConfig,
    /// TTI of the last switch.
    pub switched: Option<Tti>,
}

/// A transmission on a sidelink.
#[derive(Clone, Copy, Debug)]
pub struct SidelinkGrant {
    pub destination: u32,
    pub rbs: RbSet,
    pub mcs: u8,
    pub bytes: u32,
    /// A retransmission.
    pub again: bool,
}

/// TTIs that are planned at once, as in the uplink's plan.
const SLOTS: u64 = 32;

/// Sidelink transmissions by TTI.
#[derive(Debug)]
pub struct SidelinkPlan {
    slots: Vec<(Tti, Vec<SidelinkGrant>)>,
}

impl SidelinkPlan {
    fn new() -> SidelinkPlan {
        SidelinkPlan { slots: (0..SLOTS).map(|_| (Tti(0), Vec::new())).collect() }
    }
    pub fn slot(&mut self, tti: Tti) -> &mut Vec<SidelinkGrant> {
        let slot = &mut self.slots[(tti.0 % SLOTS) as usize];
        if slot.0 != tti {
            slot.0 = tti;
            slot.1.clear();
        }
        &mut slot.1
    }
    pub fn granted(&self, tti: Tti) -> &[SidelinkGrant] {
        let slot = &self.slots[(tti.0 % SLOTS) as usize];
        if slot.0 == tti { &slot.1 } else { &[] }
    }
    /// Removes the grants of `destination`.
    pub fn remove(&mut self, destination: u32) {
        for slot in &mut self.slots {
            slot.1.retain(|g| g.destination != destination);
        }
    }
}

/// The eNBs' state about all destinations, and their grants.
#[derive(Debug)]
pub struct SidelinkGrants {
    /// By destination.
    pub of: Vec<Grants>,
    pub plan: SidelinkPlan,
    /// Destinations with waiting data by the eNB's record, ascending.
    pub active: Vec<u32>,
    /// By destination times destinations plus destination, both of one cell: the two must not share
    /// a block, by the rule of that cell.
    pub conflicts: Vec<bool>,
    /// By cell: until when its part of `conflicts` is valid.
    pub conflicts_until: IndexVec<CellId, Tti>,
    /// Memory of the scheduler: the order of destinations, and the roles of each UE in the TTI.
    pub order: Vec<(u64, Tti, u32)>,
    pub roles: Vec<Roles>,
}

/// Roles of a UE on sidelinks in a TTI.
#[derive(Clone, Copy, Debug, Default)]
pub struct Roles {
    pub sends: bool,
    pub receives: bool,
    /// Waiting destinations to which it sends, and those of which it is a receiver.
    pub waiting_to_send: u32,
    pub waiting_to_receive: u32,
}

impl SidelinkGrants {
    /// Adds `destination` to the active list.
    pub fn wake(&mut self, destination: u32) {
        if !std::mem::replace(&mut self.of[destination as usize].active, true) {
            self.of[destination as usize].begins = true;
            let place = self.active.partition_point(|other| *other < destination);
            self.active.insert(place, destination);
        }
    }
}

/// All sidelinks.
#[derive(Debug)]
pub struct Sidelink {
    pub pairs: Vec<Pair>,
    /// True if a pair has lossless switches.
    pub lossless: bool,
    pub destinations: Vec<Destination>,
    /// By destination: state of the transmitting UE, and of the receiving UE.
    pub senders: Vec<Sender>,
    pub receivers: Vec<Receiver>,
    /// State of the eNBs.
    pub grants: SidelinkGrants,
    /// Destinations to which a UE transmits.
    pub of_ue: IndexVec<UeId, Vec<u32>>,
    /// The bearer of pair 0, or of the first group's first receiver.
    pub first_bearer: usize,
    /// By bearer of a group, in order: its destination and the number of its receiver.
    pub of_group: Vec<(u32, u32)>,
}

/// Blocks that persistent grants of `destinations` have in `tti` in the cell that serves the UEs
/// for which `is_served` is true: each cell has its own band.
pub fn reserved(destinations: &[Destination], tti: Tti, is_served: impl Fn(UeId) -> bool) -> RbSet {
    let mut set = RbSet::EMPTY;
    for destination in destinations.iter().filter(|l| l.mode == LinkMode::Direct && is_served(l.tx)) {
        if let Some(p) = destination.persistent.filter(|p| p.is_occasion(tti)) {
            set |= p.rbs;
        }
    }
    set
}

impl Sidelink {
    /// `ues`: all UEs of the network. `first_bearer`: the bearer of the first pair. `outer_loop`:
    /// that of the pair's cell.
    pub fn new(
        pairs: &[PairConfig],
        groups: &[GroupConfig],
        ues: usize,
        first_bearer: usize,
        outer_loop: impl Fn(UeId) -> Option<OllaConfig>,
        seed: u64,
    ) -> Sidelink {
        let (mut destinations, mut grants, mut receivers) = (Vec::new(), Vec::new(), Vec::new());
        for (i, pair) in pairs.iter().enumerate() {
            let (bearer, link) = (BearerId::from_index(first_bearer + i), Arc::new(pair.link.clone()));
            for (k, end) in [End::Network, End::Ue].into_iter().enumerate() {
                let (tx, rx) = (pair.ues[k], pair.ues[1 - k]);
                let order = pair.lossless.then(Box::default);
                receivers.push(Receiver { order, ..Receiver::new(destinations.len() as u32, seed) });
                destinations.push(Destination {
                    mode: pair.mode[k],
                    ..Destination::new([tx, rx], bearer, end, &link)
                });
                grants.push(Grants::new(outer_loop(tx)));
            }
        }
        let mut of_group = Vec::new();
        for config in groups {
            let (id, first) = (destinations.len() as u32, first_bearer + pairs.len() + of_group.len());
            let ends = [config.from, config.to[0]];
            let link = Arc::new(config.link.clone());
            of_group.extend((0..config.to.len()).map(|k| (id, k as u32)));
            let members = MemberReceiver::of(config.to.len(), SIDELINK | u64::from(id) << 24, seed);
            receivers.push(Receiver { members, ..Receiver::new(id, seed) });
            destinations.push(Destination {
                group: Some(Box::new(Group::new(config, first))),
                ..Destination::new(ends, BearerId::from_index(first), End::Network, &link)
            });
            grants.push(Grants::new(None));
        }
        let mut of_ue: IndexVec<UeId, Vec<u32>> = (0..ues).map(|_| Vec::new()).collect();
        (0..)
            .zip(&destinations)
            .for_each(|(id, destination): (u32, &Destination)| of_ue[destination.tx].push(id));
        Sidelink {
            lossless: pairs.iter().any(|p| p.lossless),
            pairs: pairs.iter().map(|p| Pair { config: p.clone(), switched: None }).collect(),
            senders: destinations.iter().map(|_| Sender::new()).collect(),
            receivers,
            grants: SidelinkGrants {
                of: grants,
                plan: SidelinkPlan::new(),
                active: Vec::new(),
                conflicts: Vec::new(),
                conflicts_until: IndexVec::default(),
                order: Vec::new(),
                roles: Vec::new(),
            },
            of_ue,
            first_bearer,
            of_group,
            destinations,
        }
    }

    /// The pair of a destination; a group's destination has none.
    pub fn pair(&self, destination: u32) -> &PairConfig {
        &self.pairs[destination as usize / 2].config
    }
    /// The bearer that carries a destination's packets to the eNB.
    pub fn infrastructure(&self, destination: u32) -> BearerId {
        self.pair(destination).infrastructure[destination as usize % 2]
    }
    /// The first destination of the pair that has `bearer`.
    pub fn destination_of(&self, bearer: BearerId) -> Option<u32> {
        let pair = bearer.index().checked_sub(self.first_bearer)?;
        (pair < self.pairs.len()).then_some(2 * pair as u32)
    }
    /// The destination of the group that has `bearer`, and the number of its receiver.
    pub fn group_of(&self, bearer: BearerId) -> Option<(u32, u32)> {
        self.of_group.get(bearer.index().checked_sub(self.first_bearer + self.pairs.len())?).copied()
    }
    /// The destinations whose senders have data in `bearer`.
    pub fn destinations_of(&self, bearer: BearerId) -> Range<u32> {
        match (self.destination_of(bearer), self.group_of(bearer)) {
            (Some(first), _) => first..first + 2,
            (None, Some((destination, 0))) => destination..destination + 1,
            _ => 0..0,
        }
    }
}

/// Distinguishes the draws of sidelink blocks from those of other links.
const SIDELINK: u64 = 1 << 61;

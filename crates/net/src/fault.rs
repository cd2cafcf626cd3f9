//! Faults: the treatment of selected packets on a wire. They are selected by counting, not drawn:
//! each n-th, a list, for some time.

use std::collections::BTreeMap;

use lasthop_units::{Duration, Ecn, FlowId, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Item;

/// The effect on a chosen packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FaultAction {
    /// It is lost on the way.
    Drop,
    /// It arrives with a congestion mark, if it is ECN-capable.
    Mark,
    /// It arrives twice.
    Duplicate,
    /// It arrives later by `hold`, and other packets overtake it.
    Hold,
    /// It arrives as a packet that is not ECN-capable, whether it was marked or not.
    ClearEct,
    /// It arrives without its congestion mark.
    ClearCe,
}

/// Which packets are numbered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FaultPackets {
    /// Packets with data, retransmitted data included.
    #[default]
    Data,
    /// Packets without data: acknowledgements, and segments that open and close connections.
    NoData,
    /// Each.
    All,
}

/// Which numbers of a flow are met, counted from 1 on since the fault began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultNumbers {
    /// Of each `every` the last `run`.
    Every {
        /// Above zero.
        every: u64,
        /// 1 to `every`.
        run: u64,
    },
    /// These, in ascending order.
    List(Vec<u64>),
}

impl FaultNumbers {
    fn meets(&self, number: u64) -> bool {
        match self {
            FaultNumbers::Every { every, run } => (number - 1) % every >= every - run,
            FaultNumbers::List(list) => list.binary_search(&number).is_ok(),
        }
    }
}

/// A fault of one direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultConfig {
    /// Its name, by which it is started and stopped.
    pub name: String,
    /// What happens.
    pub action: FaultAction,
    /// How long a packet is held.
    pub hold: Duration,
    /// The flows that are numbered, in ascending order; `None`: all, each by itself.
    pub flows: Option<Vec<FlowId>>,
    /// The packets that are numbered.
    pub packets: FaultPackets,
    /// The numbers that are met.
    pub numbers: FaultNumbers,
    /// Largest number of packets.
    pub count: Option<u32>,
    /// For so long.
    pub duration: Option<Duration>,
}

/// The record of a flow.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// Packets so far.
    number: u64,
    /// The ECN-capable codepoint that it had last without a mark.
    ect: Option<Ecn>,
}

/// A fault in force.
#[derive(Clone, Debug)]
struct Fault {
    config: FaultConfig,
    running: bool,
    until: Instant,
    met: u32,
    seen: BTreeMap<FlowId, Seen>,
}

impl Fault {
    fn start(&mut self, now: Instant) {
        self.running = true;
        self.until = self.config.duration.map_or(Instant::MAX, |d| now.saturating_add(d));
        self.met = 0;
        self.seen.clear();
    }

    /// A packet leaves for the wire at `moment`. Returns its last codepoint, if the fault selects
    /// it.
    fn meets(&mut self, moment: Instant, item: &Item) -> Option<Seen> {
        let FaultConfig { flows, packets, numbers, count, .. } = &self.config;
        let numbered = match packets {
            FaultPackets::Data => item.content.has_data(),
            FaultPackets::NoData => !item.content.has_data(),
            FaultPackets::All => true,
        };
        let own = || flows.as_ref().is_none_or(|flows| flows.binary_search(&item.flow).is_ok());
        if !self.running || moment >= self.until || !numbered || !own() {
            return None;
        }
        let seen = self.seen.entry(item.flow).or_default();
        seen.number += 1;
        if matches!(item.ecn, Ecn::Ect0 | Ecn::Ect1) {
            seen.ect = Some(item.ecn);
        }
        if !numbers.meets(seen.number) {
            return None;
        }
        self.met += 1;
        self.running = count.is_none_or(|most| self.met < most);
        Some(*seen)
    }
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FaultEffect {
    pub dropped: bool,
    pub twice: bool,
    pub hold: Duration,
}

/// The faults of a wire, in the order in which they are applied to packets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    all: Vec<Fault>,
    /// When the last packet arrives that was not held: one that is held keeps no others behind it.
    pub in_order: Instant,
}

impl Faults {
    pub fn add(&mut self, config: FaultConfig) {
        self.all.push(Fault { config, running: false, until: Instant::ZERO, met: 0, seen: BTreeMap::new() });
    }
    pub fn set_flows(&mut self, name: &str, flows: &[FlowId]) {
        for fault in self.all.iter_mut().filter(|fault| fault.config.name == name) {
            fault.config.flows = Some(flows.to_vec());
        }
    }
    /// Returns false if no fault has this name.
    pub fn run(&mut self, now: Instant, name: &str, run: bool) -> bool {
        let Some(fault) = self.all.iter_mut().find(|fault| fault.config.name == name) else { return false };
        if run {
            fault.start(now);
        } else {
            fault.running = false;
        }
        true
    }
    /// A packet leaves for the wire at `moment`: may change its codepoint, and returns the outcome.
    pub fn meet(&mut self, moment: Instant, item: &mut Item) -> FaultEffect {
        let mut effect = FaultEffect::default();
        for fault in &mut self.all {
            let Some(seen) = fault.meets(moment, item) else { continue };
            match fault.config.action {
                FaultAction::Drop => effect.dropped = true,
                FaultAction::Duplicate => effect.twice = true,
                FaultAction::Hold => effect.hold = effect.hold.max(fault.config.hold),
                FaultAction::Mark if item.ecn != Ecn::NotEct => item.ecn = Ecn::Ce,
                FaultAction::ClearEct => item.ecn = Ecn::NotEct,
                FaultAction::ClearCe if item.ecn == Ecn::Ce => item.ecn = seen.ect.unwrap_or(Ecn::Ect0),
                FaultAction::Mark | FaultAction::ClearCe => {}
            }
        }
        effect
    }
}

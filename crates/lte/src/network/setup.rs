//! Construction of a network.

use lasthop_units::{BearerId, Id, IndexVec, Instant, Tti, UeId};

use super::bearers::Bearers;
use super::calendar::Agenda;
use super::channel::Channel;
use super::core_network::Core;
use super::rrc::Mobility;
use super::state::sidelink::Sidelink;
use super::state::{Cell, Link, Ue, UeContext};
use super::{NetworkConfig, NetworkOutput, RadioNetwork, downlink, measure, trace};
use crate::mac::scheduler::qci::priority_of;
use crate::phy::TTI;
use lasthop_bearer::Direction;

impl RadioNetwork {
    /// The network of `config`, which must be valid, with the draws of the run `seed`.
    pub fn new(config: &NetworkConfig, seed: u64) -> RadioNetwork {
        let ues = || config.ues.enumerate().map(|(id, ue)| (id, ue, &config.cells[ue.serving]));
        let bearers = Bearers::of(config, seed);
        let kind = |bearer| bearers[bearer].layers.handover_kind();
        let core = config.handover.as_ref().map(|h| Box::new(Core::new(config, h, kind)));
        let mut cells = IndexVec::with_capacity(config.cells.len());
        for (id, cell) in config.cells.enumerate() {
            let cell = Cell::new(id, cell, &cells);
            cells.push(cell);
        }
        let mut network = RadioNetwork {
            cells,
            ues: ues().map(|(id, ue, cell)| Ue::new(id, ue, cell, seed)).collect(),
            contexts: ues().map(|(_, ue, cell)| UeContext::new(ue, cell)).collect(),
            links: ues().map(|(id, ue, cell)| Link::new(id, ue, cell, seed)).collect(),
            bearers,
            calendar: Agenda::new(TTI),
            air: Channel::new(measure::air(config, seed)),
            on_air: Vec::new(),
            work: downlink::Work::default(),
            memory: measure::Memory::default(),
            team: None,
            scheduled: Vec::new(),
            preambles: Vec::new(),
            due: Vec::new(),
            occasions: Vec::new(),
            waiting: Vec::new(),
            block_sdus: Vec::new(),
            mobility: config.handover.as_ref().map(|h| Box::new(Mobility::new(config, h))),
            core,
            sidelink: None,
            trace: trace::Trace::default(),
        };
        for (ue, drbs) in drbs_of_ues(config).enumerate() {
            let qos = drbs.iter().map(|drb| &config.bearers[drb.index()].qos);
            network.attachment(ue).configure(drbs, qos);
        }
        let RadioNetwork { cells, links, calendar, .. } = &mut network;
        network.sidelink = Sidelink::of(config, cells, links, calendar, seed);
        network.begin();
        network
    }

    /// Puts the network into its initial state: UEs with a full buffer have data to send,
    /// connections begin as their cells are configured, and cells that are down are switched off.
    fn begin(&mut self) {
        for ue in self.ues.ids() {
            for direction in Direction::BOTH {
                if self.links[ue].full_buffer[direction.index()] {
                    self.attachment(ue).wake(direction);
                }
            }
        }
        for ue in self.ues.ids() {
            let mut out = NetworkOutput::default();
            self.rrc_step(Instant::ZERO, Tti(0), ue, |rrc| rrc.begin(), &mut out);
            if self.links[ue].rrc.is_connected() {
                self.rrc_step(Instant::ZERO, Tti(0), ue, |rrc| rrc.connected(), &mut out);
            }
        }
        for cell in self.cells.ids() {
            if self.cells[cell].config.down {
                self.set_cell_down(Instant::ZERO, cell, true);
            }
        }
    }
}

/// The bearers of each UE, in the order of their classes' priorities, in which MAC serves them.
fn drbs_of_ues(config: &NetworkConfig) -> IndexVec<UeId, Vec<BearerId>> {
    let mut all: IndexVec<UeId, Vec<BearerId>> = config.ues.iter().map(|_| Vec::new()).collect();
    for (i, drb) in config.bearers.iter().enumerate() {
        all[drb.ue].push(BearerId::from_index(i));
    }
    let priority = |b: &BearerId| priority_of(config.bearers[b.index()].qos.qci);
    for ue in all.ids() {
        all[ue].sort_by(|a, b| priority(a).total_cmp(&priority(b)));
    }
    all
}

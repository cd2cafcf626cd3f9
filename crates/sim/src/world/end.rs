//! The end of a run: writes rows that are still open, and collects the input of the results.

use lasthop_net::FlowMonitor;
use lasthop_units::{FlowId, IndexVec, Instant, NodeId};
use serde_json::Value;

use super::flow::Flow;
use super::life::Rows;
use super::place::Places;
use super::snoop;
use super::{Account, World};
use crate::access::Adapter;
use crate::observe::Observer;
use crate::probe::Probes;

/// The state of a world after its end.
pub(crate) struct Ended {
    /// Time of the end.
    pub now: Instant,
    /// Number of events.
    pub events: u64,
    /// The account of packets and octets.
    pub account: Account,
    /// The flows with their counters.
    pub flows: IndexVec<FlowId, Flow>,
    pub monitor: FlowMonitor,
    /// Statistics of snoop agents, one object per node and connection.
    pub snoops: Vec<Value>,
    /// The tables that were written during the run.
    pub probes: Probes,
    /// The capture, still open.
    pub observer: Option<Box<Observer>>,
    nodes: IndexVec<NodeId, Box<str>>,
}

impl Ended {
    /// The name of a node.
    pub fn node_name(&self, node: NodeId) -> &str {
        &self.nodes[node]
    }
}

impl World {
    /// Ends the run now: writes open rows to the tables and open frames to the capture.
    pub(crate) fn close(mut self) -> Ended {
        let now = self.now();
        self.on_window(now);
        for id in self.accesses.ids() {
            if self.lives.is_some() {
                self.accesses[id].end_stages(now, &mut self.output);
                self.carry_out(now, id);
            }
            if self.observer.is_some() {
                self.accesses[id].end_frames(&mut self.output);
                self.carry_out(now, id);
            }
        }
        if let Some(mut lives) = self.lives.take() {
            let places = Places { nodes: &self.nodes, accesses: &self.accesses };
            lives.end(now, &mut Rows::of(&mut self.probes, &self.flows, places));
        }
        let World { flows, probes, .. } = &mut self;
        flows.iter_mut().for_each(|flow| flow.write_limits(probes, true));
        debug_assert_eq!(
            self.held_by_entities() as u64,
            self.account.inside().packets,
            "every packet inside is held by exactly one entity"
        );
        Ended {
            now,
            events: self.events(),
            account: self.account,
            snoops: snoop::summary(&self.snoops, &self.nodes, &self.flows),
            flows: self.flows,
            monitor: self.monitor,
            probes: self.probes,
            observer: self.observer,
            nodes: self.nodes.iter().map(|node| node.name.clone()).collect(),
        }
    }
}

//! Snoop agents in the world: a node that inspects the packets that it forwards.

use std::collections::BTreeMap;

use lasthop_tcp::{Snoop, SnoopConfig, SnoopOut, Verdict};
use lasthop_units::{AccessId, FlowId, IndexVec, Instant, NodeId, PacketId};
use serde_json::{Value, json};

use super::flow::Flow;
use super::life::Turn;
use super::packet::Packet;
use super::place::DropPoint;
use super::{Node, World};
use crate::access::{Access, Adapter, Cause};
use crate::event::{Event, Wake};
use crate::route::{Port, Row};

/// A snoop agent of a node in the world.
pub struct SnoopNode {
    pub node: NodeId,
    pub config: SnoopConfig,
    /// The node's routes, which its entry in the world's table replaces.
    pub ports: Row,
    /// Ports that lead to mobiles; `None`: the ports of the radio.
    towards: Option<Port>,
    /// One agent per connection that has sent data to a mobile.
    agents: BTreeMap<FlowId, Snoop<Packet>>,
    /// False: the agent forwards everything and stores nothing.
    running: bool,
    wake: Wake,
    output: SnoopOut<Packet>,
}

impl SnoopNode {
    /// Creates an agent at `node`, which takes over its routes.
    pub fn new(node: NodeId, config: SnoopConfig, ports: Row, towards: Option<Port>) -> SnoopNode {
        SnoopNode {
            node,
            config,
            ports,
            towards,
            agents: BTreeMap::new(),
            running: true,
            wake: Wake::default(),
            output: SnoopOut::default(),
        }
    }
    /// Clears the agent's memory, then stops or restarts it.
    pub fn run(&mut self, run: bool) {
        self.running = run;
        self.agents.values_mut().for_each(Snoop::clear);
    }
    fn leads_to_mobile(&self, port: Option<Port>, accesses: &IndexVec<AccessId, Access>) -> bool {
        match (port, self.towards) {
            (Some(port), Some(towards)) => port == towards,
            (Some(Port::Access(access, _)), None) => accesses[access].is_wireless(),
            _ => false,
        }
    }
}

impl World {
    /// Processes a packet that passes a node with an agent.
    pub(super) fn pass_snoop(&mut self, now: Instant, index: u32, id: PacketId) {
        let s = &mut self.snoops[index as usize];
        let (node, packet) = (s.node, &self.packets[id]);
        let port = self.routes.port_of(&s.ports, packet.dst);
        let (Some(segment), None, true) = (packet.payload.segment(), packet.fragment, s.running) else {
            return self.leave(now, node, port, id);
        };
        let flow = packet.flow;
        let down = s.leads_to_mobile(port, &self.accesses);
        let verdict = if down {
            let agent = s.agents.entry(flow).or_insert_with(|| Snoop::new(s.config));
            agent.handle_data(now, segment, packet, &mut s.output)
        } else if let Some(agent) = s.agents.get_mut(&flow) {
            agent.handle_ack(now, segment, packet, &mut s.output)
        } else {
            Verdict::Pass
        };
        let at = s.agents.get(&flow).and_then(Snoop::poll_at);
        s.wake.ensure(&mut self.queue, at, Event::Snoop(index));
        if verdict == Verdict::Pass {
            self.leave(now, node, port, id);
        } else {
            let cause = if down { "snoop-answered" } else { "snoop-suppressed" };
            self.drop_packet(now, id, Cause::Other(cause), DropPoint::Node(node));
        }
        self.send_snooped(now, index);
    }

    pub(super) fn on_snoop_timer(&mut self, now: Instant, index: u32) {
        let s = &mut self.snoops[index as usize];
        if !s.wake.take(now) {
            return;
        }
        for agent in s.agents.values_mut() {
            agent.on_time(now, &mut s.output);
        }
        let at = s.agents.values().filter_map(Snoop::poll_at).min();
        s.wake.ensure(&mut self.queue, at, Event::Snoop(index));
        self.send_snooped(now, index);
    }

    /// Sends the copies that an agent has made.
    fn send_snooped(&mut self, now: Instant, index: u32) {
        let mut output = std::mem::take(&mut self.snoops[index as usize].output);
        for packet in output.down.drain(..).chain(output.up.drain(..)) {
            let s = &self.snoops[index as usize];
            let (node, port) = (s.node, self.routes.port_of(&s.ports, packet.dst));
            self.account.made.add(packet.size);
            let id = self.packets.insert(packet);
            if self.lives.is_some() {
                self.note_life(now, id, Turn::Made, DropPoint::Node(node));
            }
            if self.probes.packets.is_some() {
                let (packet, place) = (&self.packets[id], &self.nodes[node].name);
                self.flows[packet.flow].note_packet(&mut self.probes, now, packet, place, "sent");
            }
            self.leave(now, node, port, id);
        }
        self.snoops[index as usize].output = output;
    }
}

/// Returns the counters of the agents, one object per node and connection.
pub(super) fn summary(
    snoops: &[SnoopNode],
    nodes: &IndexVec<NodeId, Node>,
    flows: &IndexVec<FlowId, Flow>,
) -> Vec<Value> {
    let rows = snoops.iter().flat_map(|s| s.agents.iter().map(move |(flow, agent)| (s, flow, agent)));
    rows.map(|(s, flow, agent)| {
        let c = agent.counters();
        json!({
            "node": &*nodes[s.node].name,
            "flow": &*flows[*flow].name,
            "by_dup_ack": c.by_dup_ack,
            "by_timer": c.by_timer,
            "suppressed": c.suppressed,
            "held_max_bytes": c.held_max,
        })
    })
    .collect()
}

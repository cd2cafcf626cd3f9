//! The radio network in the world: packets in and out, its one TTI event and its timers.

use lasthop_bearer::{Direction, End as BearerEnd, Sdu};
use lasthop_lte::mac::downlink::LinkStats;
use lasthop_lte::mac::scheduler::{Fault, Place as Seat, SchedulerConfig, Schedulers};
use lasthop_lte::mac::sidelink::LinkMode;
use lasthop_lte::network::trace::TraceRecord;
use lasthop_lte::network::{MobilityEvent, NetworkEvent, NetworkOutput, RadioNetwork};
use lasthop_lte_l2::rlc::RlcEvent;
use lasthop_tcp::Notice;
use lasthop_units::{BearerId, CellId, Id, IndexVec, Instant, NodeId, PacketId, UeId};

use super::World;
use super::direct::Direct;
use super::packet::Place;
use super::sample::direction_name;
use crate::access::{Cause, Step, describe_rlc, rlc_event};
use crate::event::{Event, Wake};
use crate::probe::tables;
use crate::sink::Table;
use crate::spec::Cellular;

/// A UE, wired into the world.
struct UeHop {
    node: NodeId,
    /// Node of the eNB that serves it.
    enb: NodeId,
    mtu: u32,
    default_bearer: BearerId,
    /// Flow groups that go over another bearer.
    template: Box<[(Box<str>, BearerId)]>,
    /// What senders were told last, if that interrupts its link, and when.
    interrupted: Option<(Notice, Instant)>,
}

/// Cells and UEs, wired into the world.
pub(super) struct Radio {
    network: RadioNetwork,
    /// Some scheduler is the caller's own and may fail.
    own_policies: bool,
    /// UEs may change their cells, and events say when a link is back.
    mobile: bool,
    ues: IndexVec<UeId, UeHop>,
    bearers: IndexVec<BearerId, (Box<str>, UeId)>,
    /// Sidelinks; none: empty.
    direct: Direct,
    /// Names of the cells.
    cells: IndexVec<CellId, Box<str>>,
    tti: Wake,
    timer: Wake,
    output: NetworkOutput,
    /// What each UE had counted at the last sample, downlink and uplink.
    sampled: IndexVec<UeId, [LinkStats; 2]>,
    /// The same of each lane of a sidelink.
    sampled_lanes: Vec<LinkStats>,
}

impl Radio {
    /// The network of a scenario; `cells` and `ues` are the nodes of its eNBs and UEs.
    ///
    /// # Errors
    /// A scheduler of the caller's own that cannot be made.
    pub fn new(
        all: &Cellular,
        cells: Vec<NodeId>,
        ues: Vec<NodeId>,
        schedulers: &Schedulers,
        seed: u64,
        steps: bool,
    ) -> Result<Radio, Fault> {
        let bearer = |i: usize| BearerId::from_index(i);
        let hop = |(ue, config): (UeId, &lasthop_lte::network::UeConfig)| {
            let names = &all.ues[ue.index()];
            let template = names.template.iter().map(|(flow, i)| (flow.as_str().into(), bearer(*i)));
            UeHop {
                node: ues[ue.index()],
                enb: cells[config.serving.index()],
                mtu: names.mtu.0 as u32,
                default_bearer: bearer(names.default_bearer),
                template: template.collect(),
                interrupted: None,
            }
        };
        let owners = all.config.bearers.iter().map(|drb| drb.ue);
        let owners = owners.chain(all.config.pairs.iter().map(|pair| pair.ues[1]));
        let owners = owners.chain(all.config.groups.iter().flat_map(|group| group.to.iter().copied()));
        let mut network = RadioNetwork::new(&all.config, seed);
        for (i, queue) in all.ip_buffers.iter().enumerate() {
            if let Some(queue) = queue {
                network.set_ip_buffer(bearer(i), queue, seed, i as u64);
            }
        }
        network.set_tracing(steps);
        let mut own_policies = false;
        for (cell, config) in all.config.cells.enumerate() {
            for (direction, scheduler) in Direction::BOTH.into_iter().zip(config.schedulers()) {
                if !matches!(scheduler, SchedulerConfig::Own(_)) {
                    continue;
                }
                let (name, blocks) = (all.names[cell.index()].as_str(), config.resource_blocks);
                let made = schedulers.build(scheduler, Seat { cell: name, direction, blocks, seed })?;
                network.set_scheduler(cell, direction, made);
                own_policies = true;
            }
        }
        Ok(Radio {
            direct: Direct::new(all, &ues, &network),
            network,
            own_policies,
            mobile: all.config.handover.is_some(),
            ues: all.config.ues.enumerate().map(hop).collect(),
            bearers: all.bearers.iter().map(|name| name.as_str().into()).zip(owners).collect(),
            cells: all.names.iter().map(|name| name.as_str().into()).collect(),
            tti: Wake::default(),
            timer: Wake::default(),
            output: NetworkOutput::default(),
            sampled: all.config.ues.iter().map(|_| Default::default()).collect(),
            sampled_lanes: vec![LinkStats::default(); 2 * all.pairs.len() + all.groups.len()],
        })
    }

    /// The network itself, to look at.
    pub const fn network(&self) -> &RadioNetwork {
        &self.network
    }
    /// The network itself, to look at what it works out when asked.
    pub const fn network_mut(&mut self) -> &mut RadioNetwork {
        &mut self.network
    }
    /// Sidelinks.
    pub const fn direct(&self) -> &Direct {
        &self.direct
    }
    /// The link of `ue` is interrupted: handover or loss.
    pub fn is_cut_off(&self, ue: UeId) -> bool {
        self.ues[ue].interrupted.is_some()
    }
    /// The UE at a node.
    pub fn ue_at(&self, node: NodeId) -> Option<UeId> {
        self.ues.enumerate().find(|(_, ue)| ue.node == node).map(|(id, _)| id)
    }
    /// Largest IP packet that a UE's bearers take [B].
    #[inline]
    pub fn mtu(&self, ue: UeId) -> u32 {
        self.ues[ue].mtu
    }
    /// Every bearer with its name.
    pub fn bearers(&self) -> impl Iterator<Item = (BearerId, &str)> {
        self.bearers.enumerate().map(|(id, (name, _))| (id, &**name))
    }
    /// The name of a bearer.
    pub fn bearer_name(&self, bearer: BearerId) -> &str {
        &self.bearers[bearer].0
    }
    /// Packets that the network holds.
    pub fn packets_inside(&self) -> usize {
        let both = |b| self.network.inside(b, BearerEnd::Network) + self.network.inside(b, BearerEnd::Ue);
        self.bearers.ids().map(both).sum::<usize>() + self.network.reordering()
    }

    /// The node of each UE.
    pub fn ue_nodes(&self) -> impl Iterator<Item = NodeId> {
        self.ues.iter().map(|u| u.node)
    }
    /// The node of each UE's eNB.
    pub fn ue_enbs(&self) -> impl Iterator<Item = NodeId> {
        self.ues.iter().map(|u| u.enb)
    }
    /// What the radio has done since the last call, if a trace is kept.
    pub fn drain_steps(&mut self) -> impl Iterator<Item = TraceRecord> + '_ {
        self.network.drain_trace()
    }

    /// The bearer that carries a flow of `group` to or from `ue` (TS 23.401 clause 4.7.2: traffic
    /// flow template).
    #[inline]
    pub fn bearer_of(&self, ue: UeId, group: &str) -> BearerId {
        let ue = &self.ues[ue];
        ue.template.iter().find(|(flow, _)| **flow == *group).map_or(ue.default_bearer, |(_, b)| *b)
    }
}

impl World {
    pub(super) fn enter_radio(&mut self, now: Instant, ue: UeId, end: BearerEnd, id: PacketId) {
        let packet = &self.packets[id];
        let sdu = Sdu { ecn: packet.ecn, ..Sdu::new(id, packet.size) };
        if end == BearerEnd::Ue && !self.radio.direct.is_empty() {
            if let Some((lane, member)) = self.flows[packet.flow].multicast {
                let radio = &mut self.radio;
                radio.network.push_group(now, lane, member, sdu, &mut radio.output);
                return self.settle_radio(now);
            }
            let group = &*self.flows[packet.flow].group;
            if let Some(lane) = self.radio.direct.lane(ue, packet.dst, group) {
                let radio = &mut self.radio;
                radio.network.push_lane(now, lane, sdu, &mut radio.output);
                return self.settle_radio(now);
            }
        }
        let bearer = self.radio.bearer_of(ue, &self.flows[packet.flow].group);
        let radio = &mut self.radio;
        radio.network.push_of(now, bearer, end, sdu, packet.flow, &mut radio.output);
        self.settle_radio(now);
    }

    pub(super) fn on_radio_tti(&mut self, now: Instant) {
        let radio = &mut self.radio;
        if radio.tti.take(now) {
            radio.network.on_tti(now, &mut radio.output);
            if radio.own_policies
                && let Some(fault) = radio.network.policy_fault()
            {
                self.fault.get_or_insert_with(|| Box::new(fault));
            }
            self.settle_radio(now);
        }
    }

    pub(super) fn on_radio_timer(&mut self, now: Instant) {
        let radio = &mut self.radio;
        if radio.timer.take(now) {
            radio.network.on_timer(now, &mut radio.output);
            self.settle_radio(now);
        }
    }

    /// A cell is switched off or on.
    pub(super) fn switch_cell(&mut self, now: Instant, name: &str, down: bool) {
        let radio = &mut self.radio;
        let found = radio.cells.enumerate().find(|(_, n)| &***n == name).map(|(cell, _)| cell);
        if let Some(cell) = found {
            radio.network.set_cell_down(now, cell, down);
            self.settle_radio(now);
        }
    }

    /// Passes on what the network produced and notes when it wants to be called again.
    pub(super) fn settle_radio(&mut self, now: Instant) {
        let radio = &mut self.radio;
        radio.tti.ensure(&mut self.queue, radio.network.next_tti(), Event::RadioTti);
        radio.timer.ensure(&mut self.queue, radio.network.next_timer(), Event::RadioTimer);
        if self.probes.steps.is_some() {
            self.note_steps();
        }
        // Mostly a packet went in and nothing has come out.
        if self.radio.output.is_empty() {
            return;
        }
        // What is delivered may be answered at once, and the answer comes back here: the lists are
        // taken out.
        let mut output = std::mem::take(&mut self.radio.output);
        for (ue, event) in output.events.drain(..) {
            self.note_network_event(now, ue, event);
        }
        for (bearer, sdu) in output.forwarded.drain(..) {
            if self.probes.packets.is_some() {
                let place = self.radio.bearer_name(bearer).to_owned();
                self.note_packet(now, sdu.id, &place, "forwarded");
            }
        }
        for (bearer, _, sdu, cause) in output.dropped.drain(..) {
            self.drop_packet(now, sdu.id, Cause::Other(cause.name()), Place::Radio(bearer));
        }
        for (_, _, sdu) in output.marked.drain(..) {
            self.packets[sdu.id].ecn = lasthop_net::Ecn::Ce;
        }
        for (bearer, end, sdu) in output.delivered.drain(..) {
            let id = self.radio.bearers[bearer].1;
            let out = self.radio.ues[id].interrupted;
            if end == BearerEnd::Ue && !self.radio.mobile && out.is_some_and(|(_, since)| since < now) {
                // No event says that the link is back, but a packet does.
                self.link_changes(now, id, Notice::OutageOver);
            }
            let ue = &self.radio.ues[id];
            let node = match end {
                BearerEnd::Ue => ue.node,
                BearerEnd::Network => self.radio.direct.peer(bearer).unwrap_or(ue.enb),
            };
            self.forward(now, node, sdu.id);
        }
        self.radio.output = output;
    }

    /// The pairs of the sidelink `name` go the ways of `modes` from now on.
    pub(super) fn change_sidelink(&mut self, now: Instant, name: &str, modes: [LinkMode; 2]) {
        for pair in self.radio.direct.pairs_of(name) {
            let radio = &mut self.radio;
            radio.network.set_modes(now, pair, modes, &mut radio.output);
            self.settle_radio(now);
        }
    }

    /// Rows of the `radio` table for the UEs that had transport blocks since the last sample.
    pub(super) fn sample_ues(&mut self, now: Instant) {
        let Some(table) = &mut self.probes.radio else { return };
        let Radio { network, ues, cells, sampled, sampled_lanes, .. } = &mut self.radio;
        for ue in ues.ids() {
            for direction in Direction::BOTH {
                let stats = network.link_stats(ue, direction);
                let last = std::mem::replace(&mut sampled[ue][direction.index()], *stats);
                if stats.ttis > last.ttis || stats.requests + stats.preambles > last.requests + last.preambles
                {
                    let cell = &cells[network.serving(ue)];
                    let names = [&*self.nodes[ues[ue].node].name, cell, direction_name(direction)];
                    radio_row(table, now, names, [&last, stats]);
                }
            }
        }
        for (lane, tx, _) in network.lanes() {
            let Some(stats) = network.lane_stats(lane) else { continue };
            let last = std::mem::replace(&mut sampled_lanes[lane as usize], *stats);
            if stats.ttis > last.ttis {
                let cell = &cells[network.serving(tx)];
                let names = [&*self.nodes[ues[tx].node].name, cell, "sidelink"];
                radio_row(table, now, names, [&last, stats]);
            }
        }
    }

    /// Senders that are told of their link learn what happens to it, each thing once; that it is
    /// back only if it was interrupted.
    fn link_changes(&mut self, now: Instant, ue: UeId, notice: Notice) {
        let told = &mut self.radio.ues[ue].interrupted;
        let before = std::mem::replace(told, notice.interrupts().then_some((notice, now)));
        if before.map(|(told, _)| told) != Some(notice) && (before.is_some() || notice.interrupts()) {
            self.notify_of_link(now, ue, notice);
        }
    }

    /// Rows of the tables `measurements` and `positions`.
    pub(super) fn sample_places(&mut self, now: Instant) {
        let World { radio: Radio { network, ues, cells, .. }, probes, nodes, .. } = self;
        if let Some(table) = &mut probes.measurements {
            for (ue, hop) in ues.enumerate() {
                for (cell, name) in cells.enumerate() {
                    let Some(measured) = network.measured(ue, cell) else { continue };
                    table.push(&tables::Measurements {
                        time_s: now.as_secs_f64(),
                        ue: &nodes[hop.node].name,
                        cell: name,
                        serving: network.serving(ue) == cell,
                        rsrp_dbm: measured.rsrp,
                        rsrq_db: measured.rsrq,
                    });
                }
            }
        }
        if let Some(table) = &mut probes.positions {
            for (ue, hop) in ues.enumerate() {
                let [x, y, z] = network.place(now, ue);
                let cell = &cells[network.serving(ue)];
                table.push(&tables::Positions {
                    time_s: now.as_secs_f64(),
                    ue: &nodes[hop.node].name,
                    cell,
                    x_m: x,
                    y_m: y,
                    z_m: z,
                });
            }
        }
    }

    #[cold]
    fn note_network_event(&mut self, now: Instant, ue: UeId, event: NetworkEvent) {
        if let Some(notice) = notice_of(&event) {
            self.link_changes(now, ue, notice);
        }
        match event {
            NetworkEvent::Rlc(bearer, end, event) => {
                let step = rlc_event(self.radio.bearer_name(bearer), end, describe_rlc(event));
                if let Step::Event(e) = step {
                    self.note_event(now, &e.source, e.kind, e.value, &e.detail);
                }
            }
            NetworkEvent::Moved { bearer, queue, forwarded } => {
                let source = format!("bearer/{}", self.radio.bearer_name(bearer));
                let detail = format!("{forwarded} packets forwarded");
                self.note_event(now, &source, event.name(), Some(queue as f64), &detail);
            }
            NetworkEvent::Connected(cell)
            | NetworkEvent::ConnectionFailed(cell)
            | NetworkEvent::Released(cell)
            | NetworkEvent::RadioProblem(cell)
            | NetworkEvent::RadioRecovered(cell)
            | NetworkEvent::RandomAccessProblem(cell)
            | NetworkEvent::Mobility { cell, .. } => {
                let source = format!("ue/{}", self.nodes[self.radio.ues[ue].node].name);
                let detail = format!("cell/{}", self.radio.cells[cell]);
                let value = match event {
                    NetworkEvent::Mobility { seconds, .. } => seconds.map(|t| t.as_secs_f64()),
                    _ => None,
                };
                self.note_event(now, &source, event.name(), value, &detail);
            }
            NetworkEvent::ModeSwitch { to, mode, packets, bytes } => {
                let source = format!("ue/{}", self.nodes[self.radio.ues[ue].node].name);
                let to = &self.nodes[self.radio.ues[to].node].name;
                let detail = format!("to {to}: {}, {packets} packets dropped", mode.name());
                self.note_event(now, &source, event.name(), Some(bytes as f64), &detail);
            }
        }
    }
}

/// What `event` means for whoever sends over the link.
fn notice_of(event: &NetworkEvent) -> Option<Notice> {
    match event {
        NetworkEvent::Rlc(_, _, RlcEvent::MaxRetransmissions { .. }) => Some(Notice::OutageBegins),
        NetworkEvent::Connected(_) => Some(Notice::OutageOver),
        NetworkEvent::Mobility { event, .. } => match event {
            MobilityEvent::Started => Some(Notice::HandoverBegins),
            MobilityEvent::Complete => Some(Notice::HandoverDone),
            MobilityEvent::RadioLinkFailure | MobilityEvent::Failed => Some(Notice::OutageBegins),
            MobilityEvent::Reestablished => Some(Notice::OutageOver),
            _ => None,
        },
        _ => None,
    }
}

/// What happened between two counts, the older first.
fn radio_row(
    table: &mut Table<tables::Radio<'static>>,
    now: Instant,
    [ue, cell, direction]: [&str; 3],
    [a, b]: [&LinkStats; 2],
) {
    let mean = |sum: f64, n: u64| (n > 0).then(|| sum / n as f64);
    let blocks = b.blocks - a.blocks;
    let uplink = direction == direction_name(Direction::Uplink);
    table.push(&tables::Radio {
        time_s: now.as_secs_f64(),
        ue,
        cell,
        direction,
        ttis: b.ttis - a.ttis,
        blocks,
        retransmissions: b.retransmissions - a.retransmissions,
        errors: b.errors - a.errors,
        lost: b.lost - a.lost,
        bytes: b.bytes - a.bytes,
        resource_blocks: b.resource_blocks - a.resource_blocks,
        mcs: mean((b.mcs_sum - a.mcs_sum) as f64, blocks),
        cqi: mean((b.cqi_sum - a.cqi_sum) as f64, b.reports - a.reports),
        sinr_db: mean(b.sinr_db_sum - a.sinr_db_sum, b.sinr_count - a.sinr_count),
        requests: uplink.then(|| b.requests - a.requests),
        preambles: uplink.then(|| b.preambles - a.preambles),
        padding_bytes: uplink.then(|| b.padding_bytes - a.padding_bytes),
        power_dbm: mean(b.power_dbm_sum - a.power_dbm_sum, b.power_count - a.power_count),
    });
}

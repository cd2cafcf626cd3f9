//! The LTE network: all cells and UEs, with their sidelinks, are one access.

mod capture;
mod direct;
mod rlc_pdus;
mod rows;
mod stages;
mod trace;

use lasthop_bearer::{Direction, End, Sdu};
use lasthop_lte::mac::downlink::LinkStats;
use lasthop_lte::mac::scheduler::{Fault, SchedulerConfig, SchedulerContext, Schedulers};
use lasthop_lte::network::{
    AssumedShare, Capacity, CapacityConfig, CapacityEstimator, CapacitySource, MobilityEvent, NetworkEvent,
    NetworkOutput, RadioNetwork,
};
use lasthop_lte::phy::TTI;
use lasthop_lte_l2::rlc::RlcEvent;
use lasthop_net::Item;
use lasthop_tcp::Notice;
use lasthop_units::{BearerId, CellId, FlowId, Id, IndexVec, Instant, NodeId, UeId};

use self::direct::Direct;
use self::stages::Stages;
use super::bearer::rlc_event;
use super::lte_rlc;
use super::{
    Access, AccessEvent, AccessOutput, Adapter, Cause, Clocks, FlowOf, FlowTables, LinkReading, Step, Wiring,
};
use crate::error::Error;
use crate::event::{Clock, Wake};
use crate::observe::Open;
use crate::probe::Probes;
use crate::route::Entry;
use crate::spec::{AccessChange, Cellular, HintLoad, HintSource, HintSpec, LteChange, MAX_UES, Scenario};

/// A UE and the eNB that serves it.
struct Ue {
    /// Name of its node.
    name: Box<str>,
    node: NodeId,
    enb: NodeId,
    enb_name: Box<str>,
    mtu: u32,
    default_bearer: BearerId,
    /// Tables of flows that use another bearer.
    template: Box<[(u32, BearerId)]>,
    /// The last notice to senders, if it reports an interruption of its link, and its time.
    interrupted: Option<(Notice, Instant)>,
}

impl Ue {
    /// The bearer for flows of a table to or from the UE (TS 23.401 clause 4.7.2: traffic flow
    /// template).
    #[inline]
    fn bearer_of(&self, table: u32) -> BearerId {
        let found = self.template.iter().find(|(flow, _)| *flow == table);
        found.map_or(self.default_bearer, |(_, bearer)| *bearer)
    }
}

/// A UE whose link is read for the hints of a flow.
struct Watch {
    ue: UeId,
    flow: FlowId,
    estimator: CapacityEstimator,
}

/// Cells and UEs. The entries are the two ends of a UE's bearers; those of one UE are adjacent.
pub struct LteAccess {
    network: RadioNetwork,
    /// True if a scheduler is the caller's own, which may fail.
    own_policies: bool,
    /// True if UEs may change their cells; events then report the end of an interruption.
    mobile: bool,
    /// True if the network's trace is written to the table `steps`.
    tracing: bool,
    /// True if the trace is read for any purpose.
    noted: bool,
    /// Stages of packets, with `output.explain`.
    stages: Stages,
    /// State for the rows of the table `rlc_pdus`.
    rlc_pdus: Option<Box<rlc_pdus::RlcPdus>>,
    /// State for the frames of a capture.
    observed: Option<Box<capture::Observed>>,
    ues: IndexVec<UeId, Ue>,
    /// Name of each bearer and its UE.
    bearers: IndexVec<BearerId, (Box<str>, UeId)>,
    /// The sidelinks of the scenario.
    direct: Direct,
    /// Names of the cells.
    cells: IndexVec<CellId, Box<str>>,
    flows: IndexVec<FlowId, FlowOf>,
    /// Links that are read for capacity hints.
    watched: Vec<Watch>,
    tti: Wake,
    timer: Wake,
    /// The last packet that entered has left the times of both as they are.
    times_hold: bool,
    output: NetworkOutput,
    /// Counters of each UE at the last sample, downlink and uplink.
    sampled: IndexVec<UeId, [LinkStats; 2]>,
    /// Counters of each destination of a sidelink at the last sample.
    sampled_destinations: Vec<LinkStats>,
}

/// Wires the cells and UEs of a scenario.
pub(super) fn wire(scenario: &Scenario, tables: &FlowTables, wiring: &mut Wiring) -> Result<(), Error> {
    let all = scenario.spec().cellular(scenario.tracks());
    if all.cells.is_empty() {
        return Ok(());
    }
    let cells: Vec<NodeId> = all.cells.iter().map(|node| wiring.node(node)).collect();
    let ues: Vec<NodeId> = all.ues.iter().map(|ue| wiring.node(&ue.node)).collect();
    let (schedulers, steps) = (scenario.extensions().schedulers(), scenario.spec().output.steps);
    let access = LteAccess::new(&all, [&cells, &ues], tables, schedulers, wiring.seed, steps);
    let mut access = access.map_err(Error::Policy)?;
    if scenario.spec().output.rlc_pdus {
        access.note_rlc_pdus();
    }
    let id = wiring.add(Access::Lte(Box::new(access)));
    for (ue, config) in all.config.ues.enumerate() {
        let (cell, node) = (cells[config.serving.index()], ues[ue.index()]);
        wiring.connect(cell, node, id, entry(ue, End::Network));
        wiring.connect(node, cell, id, entry(ue, End::Ue));
    }
    Ok(())
}

/// The entry for packets at an end of the bearers of `ue`.
fn entry(ue: UeId, end: End) -> Entry {
    Entry((2 * ue.index() + end.index()) as u16)
}

const _: () = assert!(2 * MAX_UES <= 1 << u16::BITS);

fn of_entry(Entry(entry): Entry) -> (UeId, End) {
    let end = if entry % 2 == End::Network.index() as u16 { End::Network } else { End::Ue };
    (UeId::from_index(usize::from(entry / 2)), end)
}

impl Adapter for LteAccess {
    #[inline]
    fn mtu(&self, entry: Entry) -> u32 {
        self.ues[of_entry(entry).0].mtu
    }

    #[inline(never)]
    fn enter(&mut self, now: Instant, entry: Entry, item: Item, dst: NodeId, out: &mut AccessOutput) {
        let (ue, end) = of_entry(entry);
        let flow = self.flows[item.flow];
        let sdu = Sdu::new(item.id, item.size).with_ecn(item.ecn);
        let direct =
            if end == End::Ue && !self.direct.is_empty() { self.direct.way((ue, dst), flow) } else { None };
        let bearer = self.ues[ue].bearer_of(flow.table);
        if out.stages {
            self.note_entry(now, (ue, end), (bearer, direct), item.id, out);
        }
        let acts = if let Some((destination, member)) = direct {
            self.network.push_direct(now, destination, member, sdu, &mut self.output);
            true
        } else {
            self.network.push_of(now, bearer, end, sdu, item.flow, &mut self.output)
        };
        self.times_hold = !acts;
        if acts || self.noted {
            self.pass_on(now, out);
        }
    }

    #[inline(never)]
    fn on_time(&mut self, now: Instant, clock: Clock, out: &mut AccessOutput) -> bool {
        let tti = matches!(clock, Clock::Tti(_));
        let due = if tti { self.tti.take(now) } else { self.timer.take(now) };
        if !due {
            return false;
        }
        if tti {
            self.network.on_tti(now, &mut self.output);
            if self.own_policies
                && let Some(fault) = self.network.policy_fault()
            {
                out.steps.push(Step::Fault(Box::new(fault)));
            }
        } else {
            self.network.on_timer(now, &mut self.output);
        }
        self.pass_on(now, out);
        true
    }

    #[inline(never)]
    fn set_clocks(&mut self, clocks: &mut Clocks<'_>) {
        // Most calls are for packets that enter and join others.
        if std::mem::take(&mut self.times_hold) {
            return;
        }
        clocks.ensure(&mut self.tti, Clock::Tti(0), self.network.next_tti());
        clocks.ensure(&mut self.timer, Clock::Timer, self.network.next_timer());
    }

    fn packets_inside(&self) -> usize {
        let both = |b| self.network.view().inside(b, End::Network) + self.network.view().inside(b, End::Ue);
        self.bearers.ids().map(both).sum::<usize>() + self.network.view().sidelinks().reordering()
    }

    fn place(&self, bearer: u32) -> &str {
        &self.bearers[BearerId::from_index(bearer as usize)].0
    }

    fn change(&mut self, now: Instant, change: &AccessChange, out: &mut AccessOutput) -> bool {
        let AccessChange::Lte(change) = change else { return false };
        match change {
            LteChange::Cell { name, down } => {
                let found = self.cells.enumerate().find(|(_, n)| ***n == **name).map(|(cell, _)| cell);
                let Some(cell) = found else { return false };
                self.network.set_cell_down(now, cell, *down);
                self.pass_on(now, out);
                true
            }
            LteChange::Sidelink { name, modes } => {
                let pairs = self.direct.pairs_of(name);
                for pair in &pairs {
                    self.network.set_modes(now, *pair, *modes, &mut self.output);
                    self.pass_on(now, out);
                }
                if out.stages {
                    self.note_switch(now, out);
                }
                !pairs.is_empty()
            }
        }
    }

    fn set_threads(&mut self, threads: usize) -> Result<(), std::io::Error> {
        self.network.set_threads(threads)
    }

    fn join_threads(&mut self) {
        self.network.finish_reception();
    }

    fn note_stages(&mut self) {
        self.noted = true;
        self.network.note_journeys();
        self.network.trace().set(true);
    }

    fn end_stages(&mut self, now: Instant, out: &mut AccessOutput) {
        self.pass_last_stages(now, out);
    }

    fn set_flows(&mut self, flows: &IndexVec<FlowId, FlowOf>) {
        self.flows = flows.iter().copied().collect();
    }

    fn add_flow(&mut self, flow: FlowOf) {
        let _next = self.flows.push(flow);
    }

    fn watch_link(&mut self, node: NodeId, flow: FlowId, hint: &HintSpec) -> Option<(Entry, u32)> {
        let (ue, _) = self.ues.enumerate().find(|(_, ue)| ue.node == node)?;
        let estimator = CapacityEstimator::new(capacity_config(hint), ue);
        self.watched.push(Watch { ue, flow, estimator });
        Some((entry(ue, End::Network), self.watched.len() as u32 - 1))
    }

    fn observe(&mut self, _: u32, open: &mut Open<'_>) {
        self.open_points(open);
        self.noted |= self.observed.is_some();
    }

    fn end_frames(&mut self, out: &mut AccessOutput) {
        self.hand_over_rest(out);
    }

    fn sample(&mut self, now: Instant, probes: &mut Probes, _: &mut AccessOutput) {
        self.network.finish_reception();
        self.write_rows(now, probes);
    }

    fn is_interrupted(&self, entry: Entry) -> bool {
        self.ues[of_entry(entry).0].interrupted.is_some()
    }

    fn read_link(&mut self, now: Instant, watch: u32) -> Option<LinkReading> {
        let watch = self.watched.get_mut(watch as usize)?;
        let bearer = self.ues[watch.ue].bearer_of(self.flows[watch.flow].table);
        let c = watch.estimator.read(now, &mut self.network, bearer);
        let Capacity { rate_bps, carrier, users, queue, uplink } = c;
        Some(LinkReading { rate_bps, carrier, users, queue, uplink })
    }
}

/// The parameters with which links are read for `hint`.
fn capacity_config(hint: &HintSpec) -> CapacityConfig {
    CapacityConfig {
        source: match (hint.source, hint.load) {
            (HintSource::Enb, _) => CapacitySource::Enb,
            (HintSource::Ue, HintLoad::Broadcast) => CapacitySource::Ue(AssumedShare::Broadcast),
            (HintSource::Ue, HintLoad::Own) => CapacitySource::Ue(AssumedShare::Own),
            (HintSource::Ue, HintLoad::None) => CapacitySource::Ue(AssumedShare::Whole),
        },
        period: hint.period,
        average: hint.average,
        broadcast_period: hint.broadcast_period,
        memory: hint.memory,
    }
}

impl LteAccess {
    /// The network of a scenario; `cells` and `ues` are the nodes of its eNBs and UEs. With
    /// `tracing` its steps become [`Step::Trace`].
    ///
    /// # Errors
    /// A scheduler of the caller's own whose constructor fails.
    fn new(
        all: &Cellular,
        [cells, ues]: [&[NodeId]; 2],
        tables: &FlowTables,
        schedulers: &Schedulers,
        seed: u64,
        tracing: bool,
    ) -> Result<LteAccess, Fault> {
        let bearer = |i: usize| BearerId::from_index(i);
        let ue = |(ue, config): (UeId, &lasthop_lte::network::UeConfig)| {
            let names = &all.ues[ue.index()];
            let template = names.template.iter().map(|(flow, i)| (tables.number(flow), bearer(*i)));
            Ue {
                name: names.node.as_str().into(),
                node: ues[ue.index()],
                enb: cells[config.serving.index()],
                enb_name: all.cells[config.serving.index()].as_str().into(),
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
        network.trace().set(tracing);
        let own_policies = set_schedulers(&mut network, all, schedulers, seed)?;
        Ok(LteAccess {
            direct: Direct::new(all, ues, tables, &network),
            network,
            own_policies,
            mobile: all.config.handover.is_some(),
            tracing,
            noted: tracing,
            stages: Stages::default(),
            rlc_pdus: None,
            observed: None,
            ues: all.config.ues.enumerate().map(ue).collect(),
            bearers: all.bearers.iter().map(|name| name.as_str().into()).zip(owners).collect(),
            cells: all.names.iter().map(|name| name.as_str().into()).collect(),
            flows: IndexVec::new(),
            watched: Vec::new(),
            tti: Wake::default(),
            timer: Wake::default(),
            times_hold: false,
            output: NetworkOutput::default(),
            sampled: all.config.ues.iter().map(|_| Default::default()).collect(),
            sampled_destinations: vec![LinkStats::default(); 2 * all.pairs.len() + all.groups.len()],
        })
    }

    fn pass_on(&mut self, now: Instant, out: &mut AccessOutput) {
        if self.noted {
            self.pass_trace(now, out);
        }
        // In most calls a packet enters and there is no output.
        if !self.output.is_empty() {
            self.pass_output(now, out);
        }
    }

    /// Passes on the output of the network.
    #[inline(never)]
    fn pass_output(&mut self, now: Instant, out: &mut AccessOutput) {
        // Most calls fill one list: an empty one is not cleared.
        if !self.output.events.is_empty() {
            let mut events = std::mem::take(&mut self.output.events);
            for (ue, event) in events.drain(..) {
                self.pass_event(now, ue, event, out);
            }
            self.output.events = events;
        }
        let NetworkOutput { forwarded, dropped, marked, .. } = &mut self.output;
        if !forwarded.is_empty() {
            out.steps.extend(
                forwarded
                    .drain(..)
                    .map(|(bearer, sdu)| Step::Forward { packet: sdu.id, place: bearer.index() as u32 }),
            );
        }
        if !dropped.is_empty() {
            out.steps.extend(dropped.drain(..).map(|(bearer, _, sdu, cause)| Step::Drop {
                at: None,
                packet: sdu.id,
                cause: Cause::Other(cause.name()),
                place: bearer.index() as u32,
            }));
        }
        if !marked.is_empty() {
            out.steps.extend(marked.drain(..).map(|(_, _, sdu)| Step::Mark { packet: sdu.id }));
        }
        if !self.output.delivered.is_empty() {
            self.pass_delivered(now, out);
        }
    }

    fn pass_delivered(&mut self, now: Instant, out: &mut AccessOutput) {
        let mut delivered = std::mem::take(&mut self.output.delivered);
        for (bearer, end, sdu) in delivered.drain(..) {
            let id = self.bearers[bearer].1;
            let since = self.ues[id].interrupted.map(|(_, since)| since);
            if end == End::Ue && !self.mobile && since.is_some_and(|since| since < now) {
                // No event reports the end of the interruption, but a delivered packet shows it.
                self.link_changes(now, id, Notice::OutageOver, out);
            }
            let ue = &self.ues[id];
            let to = match end {
                End::Ue => ue.node,
                End::Network => self.direct.peer(bearer).unwrap_or(ue.enb),
            };
            out.steps.push(Step::Deliver { to, packet: sdu.id, ecn: None });
        }
        self.output.delivered = delivered;
    }

    /// Notifies recipients of hints of a change of the link, once for each change; of the end of an
    /// interruption only after its start.
    fn link_changes(&mut self, now: Instant, ue: UeId, notice: Notice, out: &mut AccessOutput) {
        let last = &mut self.ues[ue].interrupted;
        let before = std::mem::replace(last, notice.interrupts().then_some((notice, now)));
        if before.map(|(last, _)| last) != Some(notice) && (before.is_some() || notice.interrupts()) {
            out.steps.push(Step::Notice { entry: entry(ue, End::Network), notice });
        }
    }

    #[cold]
    fn pass_event(&mut self, now: Instant, ue: UeId, event: NetworkEvent, out: &mut AccessOutput) {
        if let Some(notice) = notice_of(&event) {
            self.link_changes(now, ue, notice, out);
        }
        let of_ue = format!("ue/{}", self.ues[ue].name);
        let (source, value, detail) = match event {
            NetworkEvent::Rlc(bearer, end, event) => {
                out.steps.push(rlc_event(&self.bearers[bearer].0, end, lte_rlc::describe(event)));
                return;
            }
            NetworkEvent::Moved { bearer, queue, forwarded } => {
                let source = format!("bearer/{}", self.bearers[bearer].0);
                (source, Some(queue as f64), format!("{forwarded} packets forwarded"))
            }
            NetworkEvent::Connected(cell)
            | NetworkEvent::ConnectionFailed(cell)
            | NetworkEvent::Released(cell)
            | NetworkEvent::RadioProblem(cell)
            | NetworkEvent::RadioRecovered(cell)
            | NetworkEvent::RandomAccessProblem(cell)
            | NetworkEvent::Mobility { cell, .. } => {
                let value = match event {
                    NetworkEvent::Mobility { seconds, .. } => seconds.map(|t| t.as_secs_f64()),
                    _ => None,
                };
                (of_ue, value, format!("cell/{}", self.cells[cell]))
            }
            NetworkEvent::ModeSwitch { to, mode, packets, bytes } => {
                let to = &self.ues[to].name;
                (of_ue, Some(bytes as f64), format!("to {to}: {}, {packets} packets dropped", mode.name()))
            }
        };
        out.steps.push(AccessEvent { source, kind: event.name(), value, detail }.step());
    }
}

/// Installs the caller's own schedulers in cells; true if there is one.
fn set_schedulers(
    network: &mut RadioNetwork,
    all: &Cellular,
    schedulers: &Schedulers,
    seed: u64,
) -> Result<bool, Fault> {
    let mut own = false;
    for (cell, config) in all.config.cells.enumerate() {
        for (direction, scheduler) in Direction::BOTH.into_iter().zip(config.schedulers()) {
            if !matches!(scheduler, SchedulerConfig::Custom(_)) {
                continue;
            }
            let (name, blocks) = (all.names[cell.index()].as_str(), config.resource_blocks);
            let place = SchedulerContext { cell: name, direction, blocks, tti: TTI, seed };
            let made = schedulers.build(scheduler, place)?;
            network.set_scheduler(cell, direction, made);
            own = true;
        }
    }
    Ok(own)
}

/// The meaning of `event` for a sender over the link.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_stands_for_one_end_of_one_ue() {
        for i in [0, 1, 7, MAX_UES as usize - 1] {
            for end in [End::Network, End::Ue] {
                let id = UeId::from_index(i);
                assert_eq!(of_entry(entry(id, end)), (id, end));
            }
        }
    }
}

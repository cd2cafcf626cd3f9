//! Construction of a world at time zero from a checked scenario.

use std::collections::BTreeSet;
use std::path::Path;

use lasthop_engine::{Draw, EventQueue, Purpose, Slab};
use lasthop_net::app::{App, AppContext};
use lasthop_net::{DirectionConfig, FlowMonitor, InfiniteConfig, QueueConfig};
use lasthop_tcp::Options;
use lasthop_units::{AccessId, Duration, FlowId, IndexVec, Instant, NodeId};

use super::change::Changes;
use super::external::{Externals, KernelFlow};
use super::flow::{Flow, Leg};
use super::hint::Hinter;
use super::life::Lives;
use super::snoop::SnoopNode;
use super::trigger::Triggers;
use super::{Account, Node, Progress, World};
use crate::access::{self, Access, AccessOutput, Adapter, FlowOf, FlowTables, LinkAccess, Wiring};
use crate::attention::Attention;
use crate::error::Error;
use crate::event::Event;
use crate::names::name_key;
use crate::observe::{Observed, Observer, Points};
use crate::probe::Probes;
use crate::route::{Edge, Port, Routes, routes};
use crate::sink::Sink;
use crate::spec::{CaptureSpec, ControlSampling, FlowSpec, NodeSpec, ProxySpec, Scenario, Spec};
use crate::transport::{Ends, KernelConnection, Transport};

impl World {
    /// Builds the world of `scenario`, with its first events in the queue.
    ///
    /// # Errors
    /// A table cannot be opened for writing; the constructor of a policy of the caller's own fails;
    /// `alive`, which is called whenever `attention` is set, returns false.
    pub(crate) fn build(
        scenario: &Scenario,
        sink: &Sink,
        capture: Option<&Path>,
        attention: &Attention,
        alive: &mut dyn FnMut() -> bool,
    ) -> Result<World, Error> {
        let mut go_on = || if !attention.taken() || alive() { Ok(()) } else { Err(Error::Stopped) };
        let spec = scenario.spec();
        let (mut builder, mut routes) = Builder::wire(scenario, &mut go_on)?;
        let snoops = builder.snoops(spec, &mut routes);
        let hinters = builder.hinters(spec);
        let observer = builder.observer(spec, sink, capture)?;
        let probes = Probes::open(spec, sink)?;
        let external = Externals::of(spec, &builder.wiring, std::mem::take(&mut builder.kernel));
        let end = Instant::ZERO + spec.scenario.duration;
        let first = first_events(scenario, &builder.starts, &hinters, &probes);
        let Builder { wiring, mut flows, .. } = builder;
        flows.iter_mut().for_each(|flow| flow.find_ports(&routes));
        let mut world = World {
            queue: EventQueue::new(),
            end,
            packets: Slab::new(),
            serial: 0,
            account: Account::default(),
            nodes: wiring.names().iter().map(|name| Node::new(name)).collect(),
            routes,
            accesses: wiring.accesses,
            monitor: FlowMonitor::new(flows.len()),
            snoops,
            hinters,
            changes: Changes::of(scenario),
            triggers: spec.waits_for_senders().then(|| Box::new(Triggers::new(spec, &flows))),
            progress: Progress::default(),
            fault: None,
            attention: attention.clone(),
            watched: probes.sampling.packets || observer.is_some(),
            probes,
            observer,
            output: AccessOutput::default(),
            spare: Vec::new(),
            app_actions: Vec::new(),
            external,
            lives: Lives::of(spec, flows.len()),
            flows,
        };
        if world.lives.is_some() {
            world.output.note_stages();
            world.accesses.iter_mut().for_each(Adapter::note_stages);
        }
        for (t, event) in first.into_iter().filter(|(t, _)| *t <= end) {
            world.queue.schedule(t, event.class(), event);
        }
        // UEs attach or measure also without packets.
        for id in world.accesses.ids() {
            world.settle(Instant::ZERO, id);
        }
        Ok(world)
    }
}

/// Schedules the events that are known at time zero, those after the end of the run too.
fn first_events(
    scenario: &Scenario,
    starts: &[(FlowId, String, Instant)],
    hinters: &[Hinter],
    probes: &Probes,
) -> Vec<(Instant, Event)> {
    let spec = scenario.spec();
    let mut first = flow_events(spec, starts);
    first.extend((0..).zip(scenario.changes()).map(|(n, (t, _))| (*t, Event::Change(n))));
    let reports = (0..).zip(hinters).map(|(n, h)| Some((h.first_report()?, Event::HintReport(n))));
    first.extend(reports.flatten());
    if probes.samples() {
        first.push((Instant::ZERO + spec.output.interval, Event::Sample));
    }
    first.extend(spec.output.windows.map(|every| (Instant::ZERO + every, Event::Window)));
    first
}

/// The times at which flows start and stop.
fn flow_events(spec: &Spec, starts: &[(FlowId, String, Instant)]) -> Vec<(Instant, Event)> {
    let of = |(id, group, start): &(FlowId, String, Instant)| {
        let flow = &spec.flow[group];
        let start = flow.autostart.then_some((*start, Event::Start(*id)));
        [start, flow.stop.map(|stop| (Instant::ZERO + stop, Event::Stop(*id)))]
    };
    starts.iter().flat_map(of).flatten().collect()
}

#[derive(Default)]
struct Builder {
    wiring: Wiring,
    flows: IndexVec<FlowId, Flow>,
    starts: Vec<(FlowId, String, Instant)>,
    /// Flows between sockets of a real kernel.
    kernel: Vec<KernelFlow>,
}

impl Builder {
    /// Wires all nodes, accesses and flows of a scenario, and the routes between them; `go_on` is
    /// called from time to time.
    fn wire(
        scenario: &Scenario,
        go_on: &mut dyn FnMut() -> Result<(), Error>,
    ) -> Result<(Builder, Routes), Error> {
        let spec = scenario.spec();
        let mut builder = Builder::default();
        builder.wiring.seed = spec.scenario.seed;
        let tables = FlowTables::of(spec);
        access::wire(scenario, &tables, &mut builder.wiring, go_on)?;
        // Every end of a flow is a node now, as the scenario's check ensures.
        let destinations = builder.destinations(spec);
        let routes = routes(builder.wiring.names().len(), &builder.wiring.edges, &destinations);
        for (name, flow) in &spec.flow {
            builder.add_flows(scenario, &routes, name, flow, go_on)?;
        }
        builder.join_groups(spec);
        builder.set_flows(&tables);
        Ok((builder, routes))
    }

    /// The destinations of packets: the ends of flows, and proxies between them.
    fn destinations(&self, spec: &Spec) -> BTreeSet<NodeId> {
        let ends = spec.flow.values().flat_map(|f| [&f.from, &f.to]).flat_map(|end| spec.members(end));
        let proxies = spec.node.iter().filter(|(_, node)| matches!(node, NodeSpec::Proxy(_)));
        let names = ends.chain(proxies.map(|(name, _)| name.clone()));
        let mut found: BTreeSet<NodeId> = names.filter_map(|name| self.wiring.find(&name)).collect();
        if spec.has_real_packets() {
            // Routers respond to real packets whose hop limit is used up, or that are addressed to
            // them.
            found.extend(self.wiring.names().ids());
        }
        found
    }

    /// The packet capture, if the scenario or the caller has one.
    fn observer(
        &mut self,
        spec: &Spec,
        sink: &Sink,
        path: Option<&Path>,
    ) -> Result<Option<Box<Observer>>, Error> {
        let wanted = spec.output.capture.clone().or_else(|| path.map(|_| CaptureSpec::default()));
        let Some(wanted) = wanted else { return Ok(None) };
        let flows = self.flows.iter().map(|f| Observed { name: &f.name, table: &f.group, nodes: f.nodes });
        let external = spec.node.iter().filter(|(_, node)| node.is_external());
        let external = external.filter_map(|(name, _)| self.wiring.find(name));
        let links = self.wiring.accesses.enumerate();
        let links = links.filter(|(_, a)| !a.is_wireless() && a.table().is_some());
        let points = Points {
            nodes: self.wiring.names(),
            flows: flows.collect(),
            external: external.collect(),
            links: links.map(|(id, a)| (id, a.place(0))).collect(),
        };
        let mut observer = Observer::open(&wanted, path, sink, &spec.scenario.name, &points)?;
        let open = &mut |name: &str, what, kind| observer.point(name, what, kind);
        for (access, number) in self.wiring.accesses.iter_mut().zip(1..) {
            access.observe(number, open);
        }
        Ok(Some(Box::new(observer)))
    }

    /// Gives every access the list of flows.
    fn set_flows(&mut self, tables: &FlowTables) {
        let flows =
            self.flows.iter().map(|f| FlowOf { table: tables.number(&f.group), member: f.member }).collect();
        for access in self.wiring.accesses.iter_mut() {
            access.set_flows(&flows);
        }
    }

    fn add_flows(
        &mut self,
        scenario: &Scenario,
        routes: &Routes,
        group: &str,
        spec: &FlowSpec,
        go_on: &mut dyn FnMut() -> Result<(), Error>,
    ) -> Result<(), Error> {
        let all = scenario.spec();
        let several = all.pairs_of(spec) * u64::from(spec.count) > 1;
        let (ends, _) = all.simulated_ends_of(spec);
        let (mut i, mut later) = (0, Duration::ZERO);
        let gaps = Draw::new(self.wiring.seed, Purpose::Traffic, name_key(&format!("stagger/{group}")));
        for [a, b] in &ends {
            for _ in 0..spec.count {
                go_on()?;
                i += 1;
                let name = if several { format!("{group}-{i}") } else { group.to_owned() };
                let spread = self.uniform_to(spec.start_spread, &format!("start/{name}"))
                    + self.uniform_to(all.scenario.jitter, &format!("jitter/{name}"));
                if i > 1 {
                    let gap = spec.stagger_distribution.draw(spec.stagger, 0.0, &mut gaps.stream(i));
                    later = Duration(later.0.saturating_add(gap.0));
                }
                let start = (Instant::ZERO + spec.start + spread).saturating_add(later);
                let first = self.add_flow(scenario, routes, &name, group, spec, [a, b])?;
                self.starts.push((first, group.to_owned(), start));
            }
        }
        Ok(())
    }

    /// A random time up to `most`, the same for the same name.
    fn uniform_to(&self, most: Duration, name: &str) -> Duration {
        if most.is_zero() {
            return Duration::ZERO;
        }
        let draw = Draw::new(self.wiring.seed, Purpose::Traffic, name_key(name));
        Duration((draw.uniform(0) * most.0 as f64) as u64)
    }

    /// Creates the pipes in which packets of a flow's ends wait for `scenario.jitter`, in order and
    /// without other delays.
    fn processing(
        &mut self,
        all: &Spec,
        name: &str,
        spec: &FlowSpec,
        nodes: [NodeId; 2],
    ) -> Option<[AccessId; 2]> {
        let jitter = all.scenario.jitter;
        // The copies of a transmission to a group leave for all receivers at once.
        if jitter.is_zero() || all.is_multicast(&spec.to) {
            return None;
        }
        let queue = QueueConfig::Infinite(InfiniteConfig {});
        let config = DirectionConfig { jitter, queue, ..DirectionConfig::default() };
        let mut at = |node: NodeId, end: &str| {
            let name = format!("processing/{name}.{end}");
            let link = config.build(None, None, self.wiring.seed, name_key(&name));
            self.wiring.accesses.push(Access::Link(LinkAccess::processing(name, link, node)))
        };
        Some([at(nodes[0], "from"), at(nodes[1], "to")])
    }

    /// Joins the flows to the receivers of a multicast group: that to the first drives the others.
    fn join_groups(&mut self, spec: &Spec) {
        for (name, flow) in &spec.flow {
            if !spec.is_multicast(&flow.to) {
                continue;
            }
            let own: Vec<FlowId> =
                self.flows.enumerate().filter(|(_, f)| *f.group == **name).map(|(id, _)| id).collect();
            let count = flow.count as usize;
            for (i, id) in own.iter().enumerate() {
                self.flows[*id].member = (i / count) as u32;
            }
            for (k, first) in own.iter().enumerate().take(count) {
                let copies: Box<[FlowId]> = own.iter().skip(count + k).step_by(count).copied().collect();
                let start = self.starts.iter().find(|(id, ..)| id == first).map_or(Instant::ZERO, |s| s.2);
                self.starts.iter_mut().filter(|(id, ..)| copies.contains(id)).for_each(|s| s.2 = start);
                self.flows[*first].copies = copies;
            }
        }
    }

    /// Adds a flow, or the sequence of connections into which proxies on its path split it. Returns
    /// the first.
    fn add_flow(
        &mut self,
        scenario: &Scenario,
        routes: &Routes,
        name: &str,
        group: &str,
        spec: &FlowSpec,
        ends: [&str; 2],
    ) -> Result<FlowId, Error> {
        let [from, to] = ends.map(|end| self.wiring.node(end));
        let proxies = self.proxies(scenario.spec(), routes, group, spec, [from, to]);
        if scenario.spec().has_linux_nodes() && spec.over_tcp().is_some() {
            let at = ends.map(|end| scenario.spec().is_linux(end));
            if at == [true; 2] {
                if let Some((proxy, _)) = proxies.first() {
                    let proxy = &self.wiring.names()[*proxy];
                    return Err(refused(
                        scenario,
                        group,
                        &format!("the proxy `{proxy}` cannot end a real kernel's connection"),
                        "remove the proxy, or leave the kernel's nodes out",
                    ));
                }
                return self.add_kernel_flow(scenario, name, group, spec, [from, to]);
            }
            if at != [false; 2] {
                let other = if at[0] { ends[1] } else { ends[0] };
                let message = format!("one end has a real kernel's TCP and `{other}` has not");
                return Err(refused(
                    scenario,
                    group,
                    &message,
                    &format!("name `{other}` too (`--kernel-at`)"),
                ));
            }
        }
        let mut stops = vec![(from, None)];
        stops.extend(proxies.iter().map(|(node, proxy)| (*node, Some(*proxy))));
        stops.push((to, None));
        let mut legs = Vec::new();
        for pair in stops.windows(2) {
            let [(a, opening), (b, accepting)] = pair else { continue };
            let name = match opening {
                None => name.to_owned(),
                Some(_) => format!("{name}@{}", self.wiring.names()[*a]),
            };
            let socket = |proxy: &Option<&ProxySpec>, accepting| match proxy {
                None => spec.tcp.clone(),
                Some(proxy) => proxy.socket(accepting, &spec.tcp),
            };
            let options = [socket(opening, false), socket(accepting, true)];
            legs.push(self.add_connection(scenario, &name, group, spec, [*a, *b], &options)?);
        }
        let (first, last) = (legs[0], legs[legs.len() - 1]);
        for (i, id) in legs.iter().enumerate().filter(|_| legs.len() > 1) {
            let previous = i.checked_sub(1).map(|p| legs[p]);
            let next = legs.get(i + 1).copied();
            let leg = Leg { first, last, previous, next, relays: Default::default(), broken: false };
            self.flows[*id].leg = Some(Box::new(leg));
        }
        Ok(first)
    }

    /// Adds a flow between sockets of a real kernel.
    fn add_kernel_flow(
        &mut self,
        scenario: &Scenario,
        name: &str,
        group: &str,
        spec: &FlowSpec,
        nodes: [NodeId; 2],
    ) -> Result<FlowId, Error> {
        let all = scenario.spec();
        let other = if all.node.values().any(|node| matches!(node, NodeSpec::Snoop(_))) {
            Some("a snoop agent")
        } else if !all.hint.is_empty() {
            Some("a capacity hint")
        } else if !all.scenario.jitter.is_zero() {
            Some("`scenario.jitter`")
        } else {
            None
        };
        if let Some(other) = other {
            let message = format!("{other} has no effect on a real kernel's connection");
            return Err(refused(scenario, group, &message, "remove it, or leave the kernel's nodes out"));
        }
        let Some(port) = KernelFlow::port(self.kernel.len()) else {
            return Err(refused(scenario, group, "more flows than ports", "lower `count`"));
        };
        let key = name_key(&format!("flow/{name}"));
        let app = self.app(scenario, name, spec, key)?;
        let low_water = spec.notsent_lowat.map(|low| low.0);
        let config = spec.tcp.resolve_with(scenario.extensions().controls());
        let cc: Box<str> = config.map_or_else(|_| Box::default(), |config| config.cc.name().into());
        let kernel = KernelConnection::new([cc.clone(), cc], low_water);
        let flow = Flow::new(name, group, nodes, app, Transport::Kernel(Box::new(kernel)));
        let data_end = flow.data_end;
        let id = self.flows.push(flow);
        let options = spec.tcp.clone();
        self.kernel.push(KernelFlow {
            id,
            name: name.into(),
            group: group.into(),
            nodes,
            port,
            options,
            low_water,
            data_end,
        });
        Ok(id)
    }

    fn app(&self, scenario: &Scenario, flow: &str, spec: &FlowSpec, entity: u64) -> Result<App, Error> {
        let place = AppContext {
            service: spec.transport.service(),
            seed: self.wiring.seed,
            entity,
            flow,
            observed: observed(scenario.spec()),
            rate_controls: scenario.extensions().rate_controls(),
        };
        App::new(&spec.app, &place).map_err(Error::Policy)
    }

    fn add_connection(
        &mut self,
        scenario: &Scenario,
        name: &str,
        group: &str,
        spec: &FlowSpec,
        nodes: [NodeId; 2],
        options: &[Options; 2],
    ) -> Result<FlowId, Error> {
        let key = name_key(&format!("flow/{name}"));
        let app = self.app(scenario, name, spec, key)?;
        let ends = Ends {
            name,
            key,
            seed: self.wiring.seed,
            up: nodes.map(|n| uptime(self.wiring.seed, &self.wiring.names()[n])),
            tcp: options,
            controls: scenario.extensions().controls(),
            low_water: spec.notsent_lowat.map(|low| low.0),
            observed: observed(scenario.spec()),
        };
        let transport = Transport::new(spec.transport, &ends).map_err(Error::Policy)?;
        let processing = self.processing(scenario.spec(), name, spec, nodes);
        let flow = Flow::new(name, group, nodes, app, transport);
        Ok(self.flows.push(Flow { processing, ..flow }))
    }

    /// The proxies between the ends of a flow, in the order of the path.
    fn proxies<'a>(
        &self,
        all: &'a Spec,
        routes: &Routes,
        group: &str,
        flow: &FlowSpec,
        [from, to]: [NodeId; 2],
    ) -> Vec<(NodeId, &'a ProxySpec)> {
        let mut found = Vec::new();
        if !all.node.values().any(|node| matches!(node, NodeSpec::Proxy(_))) {
            return found;
        }
        let mut node = from;
        while flow.over_tcp().is_some() && node != to {
            let port = routes.port(node, to);
            let Some(edge) = self.wiring.edges.iter().find(|e| e.from == node && Some(e.port) == port) else {
                break;
            };
            node = edge.to;
            if let Some(NodeSpec::Proxy(proxy)) = all.node.get(&*self.wiring.names()[node])
                && node != to
                && (proxy.flows.is_empty() || proxy.flows.iter().any(|f| f == group))
            {
                found.push((node, &**proxy));
            }
        }
        found
    }

    /// Creates the hint tables with their recipients: senders of the connections whose data ends at
    /// a mobile.
    fn hinters(&mut self, spec: &Spec) -> Vec<Hinter> {
        let mut hinters = Vec::new();
        for (number, (name, hint)) in (0..).zip(&spec.hint) {
            let mut recipients = Vec::new();
            for (id, flow) in self.flows.enumerate() {
                let named = hint.flows.is_empty() || hint.flows.iter().any(|f| **f == *flow.group);
                if !named || !flow.transport.is_stream() {
                    continue;
                }
                let node = flow.node(flow.data_end.other());
                for access in self.wiring.accesses.ids() {
                    if let Some((entry, watch)) = self.wiring.accesses[access].watch_link(node, id, hint) {
                        recipients.push((id, (access, entry), watch));
                        break;
                    }
                }
            }
            hinters.push(Hinter::new(number, name, hint, self.wiring.seed, recipients));
        }
        hinters
    }

    /// Creates the snoop agents, which take over the routes of their nodes.
    fn snoops(&mut self, spec: &Spec, routes: &mut Routes) -> Vec<SnoopNode> {
        let mut out = Vec::new();
        for (name, node) in &spec.node {
            let NodeSpec::Snoop(snoop) = node else { continue };
            let at = self.wiring.node(name);
            let towards = snoop.towards.as_ref().and_then(|way| {
                let leaves = |e: &&Edge| e.from == at && self.name_of(e.port) == Some(way.as_str());
                self.wiring.edges.iter().find(leaves).map(|e| e.port)
            });
            let agent = Port::Snoop(out.len() as u32);
            let ports = routes.divert(at, agent);
            out.push(SnoopNode::new(at, snoop.config(), ports, towards));
        }
        out
    }

    /// The name of the link or bearer of a port.
    fn name_of(&self, port: Port) -> Option<&str> {
        match port {
            Port::Access(id, _) => self.wiring.accesses[id].table(),
            Port::Snoop(_) => None,
        }
    }
}

/// True if variables of senders are recorded or watched.
fn observed(spec: &Spec) -> bool {
    spec.output.cc != ControlSampling::Off || !spec.when.is_empty()
}

fn refused(scenario: &Scenario, group: &str, message: &str, help: &str) -> Error {
    let path = format!("flow.{}", crate::config::dotted([group]));
    scenario.document().error_at_key(&path, message.to_owned()).help(help.to_owned()).into()
}

/// Uptime of a node's kernel at time 0. Hosts do not start together, so the phases of their ticks
/// and timer slots differ; the flows of one host share one phase.
fn uptime(seed: u64, node: &str) -> Duration {
    // Whole turns of slots of 4096 jiffies, of 1, 4 and 10 ms: every position in a slot is equally
    // likely.
    const TURN_US: u64 = 81_920_000;
    let draw = Draw::new(seed, Purpose::Uptime, name_key(&format!("node/{node}")));
    Duration::from_micros(draw.stream(0).below(TURN_US))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_been_up_for_times_whose_ticks_spread_evenly() {
        // 1000 hosts: tenths of a tick of 4 ms, binomial with n = 1000 and p = 0.1: 100, standard
        // deviation 9.5; 5 of those.
        let mut tenths = [0_i32; 10];
        for i in 0..1000 {
            let up = uptime(7, &format!("ue{i}"));
            tenths[(up.as_micros() % 4000 / 400) as usize] += 1;
        }
        assert!(tenths.iter().all(|n| (n - 100).abs() < 48), "{tenths:?}");
        assert_eq!(uptime(7, "ue1"), uptime(7, "ue1"));
        assert_ne!(uptime(7, "ue1"), uptime(8, "ue1"));
    }
}

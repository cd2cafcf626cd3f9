//! One direction of a wired link: a pipe or a trace link of `net` with a name and an MTU.

use lasthop_net::{Dropped, Item, Link, LinkNote, LinkStage, PipeOut};
use lasthop_units::{FlowId, IndexVec, Instant, NodeId};

use super::{Access, AccessOutput, Adapter, Cause, Clocks, FlowOf, FlowTables, Stage, Step, Wiring};
use crate::error::Error;
use crate::event::{Clock, Wake};
use crate::names::name_key;
use crate::probe::{Probes, tables};
use crate::route::Entry;
use crate::spec::{AccessChange, LinkChange, LinkSpec, Scenario};

/// One direction of a link.
pub struct LinkAccess {
    name: Box<str>,
    link: Link,
    /// The node at its end.
    to: NodeId,
    mtu: u32,
    /// Bytes that a tunnel adds to each packet [B].
    overhead: u32,
    role: Role,
    /// The faults of this direction.
    faults: Box<[Fault]>,
    wake: Wake,
}

/// A fault of a direction: its table, and the table of the flows that it numbers.
struct Fault {
    name: Box<str>,
    flows: Option<u32>,
}

/// The role of the direction of a link.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// The direction from the first node of the table `[link]` to the second.
    Forward,
    /// The other one.
    Reverse,
    /// The processing time of packets at an end of a flow (`scenario.jitter`). It is not in a table
    /// of links.
    Processing,
}

impl Role {
    /// The suffix of the direction's name after the name of the table.
    const fn suffix(self) -> &'static str {
        match self {
            Role::Forward => ".forward",
            Role::Reverse => ".reverse",
            Role::Processing => "",
        }
    }
}

/// Wires the links of a scenario, each direction separately.
pub(super) fn wire(
    scenario: &Scenario,
    tables: &FlowTables,
    wiring: &mut Wiring,
    go_on: &mut dyn FnMut() -> Result<(), Error>,
) -> Result<(), Error> {
    for (name, link) in &scenario.spec().link {
        go_on()?;
        for role in [Role::Forward, Role::Reverse] {
            LinkAccess::wire(scenario, tables, (name, link), role, wiring);
        }
    }
    Ok(())
}

impl Adapter for LinkAccess {
    #[inline(always)]
    fn mtu(&self, _: Entry) -> u32 {
        self.mtu
    }

    #[inline(always)]
    fn enter(&mut self, now: Instant, _: Entry, mut item: Item, _: NodeId, out: &mut AccessOutput) {
        item.size += self.overhead;
        if out.stages {
            return self.enter_noted(now, item, out);
        }
        let arrived = out.pipe.arrived.len();
        self.link.enqueue(now, item, &mut out.pipe);
        debug_assert_eq!(out.pipe.arrived.len(), arrived, "a pipe delivers on time, never on entry");
        self.pass_drops(out);
    }

    #[inline]
    fn on_time(&mut self, now: Instant, _: Clock, out: &mut AccessOutput) -> bool {
        if !self.wake.take(now) {
            return false;
        }
        out.arrived_at = Some(self.to);
        out.lone = self.link.take_lone(now).map(|item| (item.id, item.ecn));
        if out.lone.is_some() {
            return true;
        }
        self.link.on_time(now, &mut out.pipe);
        self.pass_notes(out);
        self.pass_drops(out);
        // Few links copy packets: an empty list is not cleared.
        if !out.pipe.copies.is_empty() {
            out.steps.extend(out.pipe.copies.drain(..).map(Step::Copy));
        }
        true
    }

    #[inline(always)]
    fn set_clocks(&mut self, clocks: &mut Clocks<'_>) {
        clocks.ensure(&mut self.wake, Clock::Arrival(0), self.link.poll_at());
    }

    /// Computed from the numbers of packets that entered and left.
    fn packets_inside(&self) -> usize {
        let a = self.link.account();
        (a.packets_in - a.packets_arrived - a.packets_dropped) as usize
    }

    fn place(&self, _: u32) -> &str {
        &self.name
    }

    fn table(&self) -> Option<&str> {
        self.name.strip_suffix(self.role.suffix()).filter(|_| self.role != Role::Processing)
    }

    fn is_wireless(&self) -> bool {
        false
    }

    fn change(&mut self, now: Instant, change: &AccessChange, out: &mut AccessOutput) -> bool {
        let AccessChange::Link(LinkChange { name, spec }) = change else { return false };
        if self.table() != Some(name) {
            return false;
        }
        let config = spec.direction(self.role == Role::Forward);
        if config.trace.is_none() {
            let _is_a_pipe = self.link.set_rate(now, config.rate, &mut out.pipe);
        }
        self.link.set_wire(now, config.wire(), &mut out.pipe);
        self.pass_notes(out);
        self.pass_drops(out);
        true
    }

    fn run_fault(&mut self, now: Instant, name: &str, run: bool, out: &mut AccessOutput) -> bool {
        if !self.faults.iter().any(|fault| *fault.name == *name) {
            return false;
        }
        self.link.run_fault(now, name, run, &mut out.pipe);
        self.pass_notes(out);
        self.pass_drops(out);
        true
    }

    fn set_flows(&mut self, flows: &IndexVec<FlowId, FlowOf>) {
        for Fault { name, flows: table } in &self.faults {
            let Some(table) = table else { continue };
            let own: Vec<FlowId> =
                flows.enumerate().filter(|(_, flow)| flow.table == *table).map(|(id, _)| id).collect();
            self.link.set_fault_flows(name, &own);
        }
    }

    /// Writes a row of the table `queues`.
    fn sample(&mut self, now: Instant, probes: &mut Probes, out: &mut AccessOutput) {
        let Some(table) = &mut probes.queues else { return };
        if self.role == Role::Processing {
            return;
        }
        let inside = self.link.occupancy(now, &mut out.pipe);
        let marked = self.link.queue().marked();
        self.pass_notes(out);
        self.pass_drops(out);
        table.push(&tables::Queues {
            time_s: now.as_secs_f64(),
            queue: &self.name,
            packets: inside.queue_packets,
            bytes: inside.queue_bytes,
            marked,
        });
    }
}

impl LinkAccess {
    /// Wires a direction of the table `[link.TABLE]`.
    fn wire(
        scenario: &Scenario,
        tables: &FlowTables,
        (table, spec): (&str, &LinkSpec),
        role: Role,
        wiring: &mut Wiring,
    ) {
        let [a, b] = [wiring.node(&spec.between[0]), wiring.node(&spec.between[1])];
        let (from, to) = if role == Role::Forward { (a, b) } else { (b, a) };
        let config = spec.direction(role == Role::Forward);
        let trace = config.trace.as_ref().and_then(|path| scenario.trace(path)).cloned();
        let name = format!("{table}{}", role.suffix());
        let mut link =
            config.build(trace, Some(spec.mtu.0 as u32), wiring.seed, name_key(&format!("link/{name}")));
        let mut faults = Vec::new();
        for (fault, spec) in scenario.spec().fault.iter().filter(|(_, spec)| spec.link == name) {
            link.add_fault(spec.config(fault));
            if spec.autostart {
                link.run_fault(Instant::ZERO, fault, true, &mut PipeOut::default());
            }
            let flows = spec.flow.as_ref().map(|flow| tables.number(flow));
            faults.push(Fault { name: fault.as_str().into(), flows });
        }
        let id = wiring.add(Access::Link(LinkAccess {
            link,
            faults: faults.into(),
            name: name.into(),
            to,
            mtu: spec.mtu.0 as u32,
            overhead: spec.overhead.0 as u32,
            role,
            wake: Wake::default(),
        }));
        wiring.connect(from, to, id, Entry(0));
    }
    /// The link in which packets of an end of a flow wait before they leave its node.
    pub fn processing(name: String, link: Link, to: NodeId) -> LinkAccess {
        let (role, wake) = (Role::Processing, Wake::default());
        let faults = Box::default();
        LinkAccess { name: name.into(), link, to, mtu: u32::MAX, overhead: 0, role, faults, wake }
    }

    /// As [`enter`](Adapter::enter), with stages.
    #[cold]
    fn enter_noted(&mut self, now: Instant, item: Item, out: &mut AccessOutput) {
        let stage = if self.role == Role::Processing { Stage::Host } else { Stage::Queue };
        out.stage(item.id, now, stage, 0);
        self.link.enqueue(now, item, &mut out.pipe);
        self.pass_stages(out);
        self.pass_drops(out);
    }

    #[inline(always)]
    fn pass_notes(&self, out: &mut AccessOutput) {
        if out.stages {
            self.pass_stages(out);
        }
    }

    /// Passes on the stages of the transmitter. Processing time of a flow is always the stage
    /// `host`.
    #[cold]
    fn pass_stages(&self, out: &mut AccessOutput) {
        let AccessOutput { pipe, steps, .. } = out;
        let notes = pipe.notes.iter_mut().flat_map(|notes| notes.drain(..));
        let is_wire = self.role != Role::Processing;
        steps.extend(notes.filter(|_| is_wire).map(|LinkNote { id, at, stage }| Step::Stage {
            packet: id,
            at,
            stage: match stage {
                LinkStage::Serialization => Stage::Serialization,
                LinkStage::Propagation => Stage::Propagation,
            },
            place: 0,
        }));
    }

    #[inline(always)]
    fn pass_drops(&self, out: &mut AccessOutput) {
        if !out.pipe.dropped.is_empty() {
            let dropped = out.pipe.dropped.drain(..);
            out.steps.extend(dropped.map(|Dropped { at, item, cause }| Step::Drop {
                at: Some(at),
                packet: item.id,
                cause: Cause::Net(cause),
                place: 0,
            }));
        }
    }
}

//! Advances a simulation by a clock, and moves packets between it and ports.
//!
//! The simulation follows the clock: events that are due are processed as soon as the clock has
//! passed them, and never earlier. A packet that arrives at a port enters at the clock's time; one
//! that leaves is written as soon as the clock has reached its time of arrival in the simulation.
//! Any further delay is measured ([`Report`]).

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use lasthop_net::ip::{self, Header, Trouble};
use lasthop_sim::tcp::Flags;
use lasthop_sim::{Departure, Error, FiveTuple, Outside, RealPacket, RealSegment, RunOutput, Simulation};
use lasthop_units::{Duration, Instant, NodeId, Seq};
use serde_json::{Value, json};

use crate::lateness::Lateness;
use crate::store::Store;

/// A source of time, and the wait for it.
pub trait Clock {
    /// Time since the run began. It does not go back.
    fn now(&mut self) -> Instant;
    /// Returns at `until` or, before that, when a port has a packet or is gone. The result is the
    /// moment at which the wait was over, which is before the process runs again: before it the
    /// ports were empty. `None`: there was something at once, or `until` has passed.
    fn wait(&mut self, until: Instant) -> Option<Instant>;
}

/// What a port has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// A packet of this length [B].
    Packet(usize),
    /// No packet waits.
    Nothing,
    /// The port is no more, and never has a packet again.
    Gone,
}

/// Where real packets enter and leave: one for each external node.
pub trait Port {
    /// The next packet that waits, into `buffer`.
    fn receive(&mut self, buffer: &mut [u8]) -> Received;
    /// Sends a packet. False: the other side did not take it.
    fn send(&mut self, packet: &[u8]) -> bool;
}

/// Work beside the packets that uses the same clock.
pub trait Aside {
    /// Does the work that is possible now; `packets` have entered and left so far. Returns true if
    /// there was some.
    fn turn(&mut self, world: &mut Outside<'_>, packets: u64) -> bool;
    /// True if the run cannot continue.
    fn failed(&self) -> bool;
}

/// Nothing happens beside.
struct Nothing;

impl Aside for Nothing {
    fn turn(&mut self, _: &mut Outside<'_>, _: u64) -> bool {
        false
    }
    fn failed(&self) -> bool {
        false
    }
}

/// The caller's decision when it is called back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// The run continues.
    GoOn,
    /// The run ends now; its results are those up to now.
    End,
}

/// The caller is called back at least this often [ns of the clock].
const ASK: Duration = Duration::from_millis(20);
/// Simulated time that is computed before packets that have left are sent: when the run is behind.
const STRIDE: Duration = Duration::from_millis(1);
/// A run that ends early is computed up to its end, if it is no further behind than a run that
/// keeps up, which continues at least once in [`ASK`].
const LAST_STRIDES: u64 = ASK.0 / STRIDE.0 + 1;
/// Packets taken from a port before others get their turn.
const TURN: usize = 32;
/// The largest MTU of devices [B]: Ethernet's. Links of the scenario may have a smaller one.
pub const MTU: u32 = 1500;
/// The largest packet of IP [B].
const MOST_OCTETS: usize = 65_535;
/// The protocol number of UDP.
const UDP: u8 = 17;
/// Maximum number of octets of a packet in captures.
const HEAD: usize = 100;

/// Measurements of a run on itself.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Packets that left, against their arrival in the simulation.
    pub departures: Lateness,
    /// Events of the simulation: the first one due whenever the run continues.
    pub events: Lateness,
    /// Packets that entered: at most, since their port was empty or the wait was over
    /// ([`Clock::wait`]).
    pub entries: Lateness,
    /// How late something may be.
    pub late_limit: Duration,
    /// For so long an event of the simulation was due by more than the limit.
    pub behind: Duration,
    /// Up to then `behind` is counted.
    counted: Instant,
    /// Packets that entered, and their octets.
    pub entered: [u64; 2],
    /// Packets that left, and their octets.
    pub left: [u64; 2],
    /// Packets that a port did not take.
    pub refused: u64,
    /// Packets to groups and broadcasts, which stay at their node.
    pub groups: u64,
    /// Packets to an address of no node.
    pub elsewhere: u64,
    /// Octets that are no packet of IP.
    pub not_ip: u64,
    /// Messages of ICMP that routers have sent, and echo replies.
    pub answers: u64,
    /// The node whose port no longer exists, which has ended the run.
    pub gone: Option<NodeId>,
}

impl Report {
    /// The p99 of the worst kind.
    pub fn p99(&self) -> Duration {
        [&self.departures, &self.events, &self.entries]
            .iter()
            .map(|l| l.quantile(0.99))
            .max()
            .unwrap_or_default()
    }
    /// At `now` an event that was due at `due` is processed. Events that wait at the same time
    /// count once.
    fn note_due(&mut self, due: Instant, now: Instant) {
        self.behind += now.since(due.saturating_add(self.late_limit).max(self.counted));
        self.counted = self.counted.max(now);
    }
    /// As JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "lateness": {
                "departures": self.departures.to_json(),
                "events": self.events.to_json(),
                "entries": self.entries.to_json(),
                "p99_s": self.p99().as_secs_f64(),
                "limit_s": self.late_limit.as_secs_f64(),
                "behind_limit_s": self.behind.as_secs_f64(),
            },
            "entered_packets": self.entered[0],
            "entered_bytes": self.entered[1],
            "left_packets": self.left[0],
            "left_bytes": self.left[1],
            "refused_by_device": self.refused,
            "to_groups": self.groups,
            "to_no_node": self.elsewhere,
            "not_ip": self.not_ip,
            "answers_of_routers": self.answers,
        })
    }
}

/// The MTU of a node's device [B]: the smallest of its links.
pub fn device_mtu(world: &Outside<'_>, node: NodeId) -> u32 {
    world.mtu(node).min(MTU)
}

/// A port and its node.
struct Attached<P> {
    node: NodeId,
    port: P,
    /// When it was empty last.
    empty: Instant,
}

/// Addresses of nodes, and the routers between them.
struct Map {
    nodes: BTreeMap<IpAddr, NodeId>,
    addresses: BTreeMap<NodeId, (Ipv4Addr, Ipv6Addr)>,
    routers: BTreeMap<(NodeId, NodeId), Option<Box<[NodeId]>>>,
}

/// A run.
pub struct Engine<C, P> {
    simulation: Simulation,
    clock: C,
    ports: Vec<Attached<P>>,
    /// Which port a node has.
    port_of: BTreeMap<NodeId, usize>,
    map: Map,
    store: Store,
    departures: Vec<Departure>,
    buffer: Vec<u8>,
    /// The measurements.
    pub report: Report,
}

impl<C: Clock, P: Port> Engine<C, P> {
    /// A run of `simulation`, which has external nodes, with a port for each of these.
    pub fn new(mut simulation: Simulation, clock: C, ports: Vec<(NodeId, P)>) -> Engine<C, P> {
        let nodes = simulation.outside().nodes().to_vec();
        let map = Map {
            nodes: nodes.iter().flat_map(|n| [(IpAddr::V4(n.v4), n.id), (IpAddr::V6(n.v6), n.id)]).collect(),
            addresses: nodes.iter().map(|n| (n.id, (n.v4, n.v6))).collect(),
            routers: BTreeMap::new(),
        };
        let attach = |(node, port)| Attached { node, port, empty: Instant::ZERO };
        let ports: Vec<Attached<P>> = ports.into_iter().map(attach).collect();
        Engine {
            port_of: ports.iter().enumerate().map(|(i, p)| (p.node, i)).collect(),
            simulation,
            clock,
            ports,
            map,
            store: Store::default(),
            departures: Vec::new(),
            buffer: vec![0; MOST_OCTETS],
            report: Report::default(),
        }
    }

    /// Runs to the scenario's end, until `wish`, which gets the time, ends it, or until a
    /// port is gone ([`Report::gone`]). When the run ended.
    ///
    /// # Errors
    /// Errors of the simulation.
    pub fn run(&mut self, wish: &mut dyn FnMut(Instant) -> Wish) -> Result<Instant, Error> {
        self.run_with(wish, &mut Nothing)
    }

    /// As [`run`](Self::run), with something beside the packets.
    ///
    /// # Errors
    /// Errors of the simulation.
    pub fn run_with(
        &mut self,
        wish: &mut dyn FnMut(Instant) -> Wish,
        aside: &mut dyn Aside,
    ) -> Result<Instant, Error> {
        let end = self.simulation.end();
        let mut ask = Instant::ZERO;
        loop {
            let now = self.clock.now();
            if now >= ask {
                if wish(now) == Wish::End {
                    return self.last_strides(now.min(end));
                }
                ask = now + ASK;
            }
            if let Some(due) = self.due(now) {
                self.report.events.add(now.since(due));
                self.report.note_due(due, now);
            }
            let caught_up = self.advance(now.min(end))?;
            if now >= end && caught_up {
                return Ok(end);
            }
            let came = self.take_in(now)?;
            if self.report.gone.is_some() {
                let now = self.clock.now();
                return self.last_strides(now.min(end));
            }
            let packets = self.report.entered[0] + self.report.left[0];
            let beside = aside.turn(&mut self.simulation.outside(), packets);
            if aside.failed() {
                return Ok(self.simulation.now());
            }
            if beside {
                self.carry_out();
            }
            if came || beside || !caught_up {
                continue;
            }
            let next = self.simulation.outside().next_event().unwrap_or(end);
            let until = next.min(ask).min(end);
            if let Some(over) = self.clock.wait(until) {
                self.ports.iter_mut().for_each(|port| port.empty = port.empty.max(over));
            }
        }
    }

    /// Ends the run at its current time and returns its results; their summary contains `measured`,
    /// made from the run's measurements of itself.
    ///
    /// # Errors
    /// A table that cannot be written.
    pub fn finish(self, measured: impl FnOnce(&Report) -> Value) -> Result<(RunOutput, Report), Error> {
        let output = self.simulation.end_here(measured(&self.report))?;
        Ok((output, self.report))
    }

    /// The first event that is due at `now`.
    fn due(&mut self, now: Instant) -> Option<Instant> {
        self.simulation.outside().next_event().filter(|due| *due <= now)
    }

    /// Brings the simulation to `now`, where the run ends. A run that is far behind ends where it
    /// is.
    fn last_strides(&mut self, now: Instant) -> Result<Instant, Error> {
        for _ in 0..LAST_STRIDES {
            if self.advance(now)? {
                break;
            }
        }
        Ok(self.simulation.now())
    }

    /// Processes everything up to `now`, its end included, and sends the packets that have left;
    /// stops after a part of it, if that is much. Returns true if the simulation is at `now`.
    fn advance(&mut self, now: Instant) -> Result<bool, Error> {
        let at = self.simulation.now();
        // Where nothing is due nothing is computed, however long that is.
        let next = self.simulation.outside().next_event().map_or(now, |next| next.max(at));
        let to = now.min(next + STRIDE);
        if to >= at {
            // Events that are due at an instant are processed before the simulation is after it.
            let behind = if to >= self.simulation.end() { to } else { to + Duration(1) };
            self.simulation.step_until(behind)?;
            self.carry_out();
        }
        Ok(to >= now)
    }

    /// Takes packets from ports. True: some came.
    fn take_in(&mut self, now: Instant) -> Result<bool, Error> {
        let mut some = false;
        for i in 0..self.ports.len() {
            for _ in 0..TURN {
                let mut buffer = std::mem::take(&mut self.buffer);
                let received = self.ports[i].port.receive(&mut buffer);
                if let Received::Packet(len) = received {
                    some = true;
                    let came = self.clock.now();
                    // Events that are due before the packet are processed before it.
                    if let Some(due) = self.due(came) {
                        self.report.note_due(due, came);
                    }
                    while !self.advance(came.min(self.simulation.end()))? {}
                    let late = came.since(self.ports[i].empty);
                    self.report.entries.add(late);
                    self.enter(self.ports[i].node, &mut buffer[..len]);
                    self.carry_out();
                }
                self.buffer = buffer;
                match received {
                    Received::Packet(_) => {}
                    Received::Nothing => {
                        self.ports[i].empty = self.ports[i].empty.max(now);
                        break;
                    }
                    Received::Gone => {
                        self.report.gone = Some(self.ports[i].node);
                        return Ok(some);
                    }
                }
            }
        }
        Ok(some)
    }

    /// A packet comes in at a node.
    fn enter(&mut self, node: NodeId, packet: &mut [u8]) {
        let header = match ip::read(packet) {
            Ok(header) => header,
            Err(_) => {
                self.report.not_ip += 1;
                return;
            }
        };
        let Some(to) = self.map.nodes.get(&header.dst).copied().filter(|to| *to != node) else {
            let group = match header.dst {
                IpAddr::V4(dst) => dst.is_multicast() || dst.octets()[3] == 255,
                IpAddr::V6(dst) => dst.is_multicast(),
            };
            if group {
                self.report.groups += 1;
            } else {
                self.report.elsewhere += 1;
                self.no_route(node, &header, packet);
            }
            return;
        };
        self.report.entered[0] += 1;
        self.report.entered[1] += packet.len() as u64;
        self.send_on(node, to, &header, packet);
    }

    /// Sends a packet from a node to another one; its hop limit may be exceeded on the path.
    fn send_on(&mut self, from: NodeId, to: NodeId, header: &Header, packet: &mut [u8]) {
        let mut world = self.simulation.outside();
        let way = self.map.routers.entry((from, to)).or_insert_with(|| Some(world.routers(from, to)?.into()));
        let routers = way.as_deref().unwrap_or_default();
        let hops = usize::from(header.hop_limit.max(1));
        // The router at which no hop is left does not pass the packet on (RFC 1812 section 5.3.1).
        let expires = hops <= routers.len();
        let to = if expires { routers[hops - 1] } else { to };
        ip::lower_hop_limit(packet, (routers.len().min(hops - 1)) as u8);
        let handle = self.store.keep(packet, expires);
        let end = |ip, port| SocketAddr::new(ip, port);
        world.inject(&RealPacket {
            from,
            to,
            tuple: FiveTuple {
                protocol: header.protocol,
                src: end(header.src, header.ports[0]),
                dst: end(header.dst, header.ports[1]),
            },
            size: header.len,
            data: header.data,
            segment: header.tcp.map(|tcp| RealSegment {
                seq: Seq(tcp.seq),
                ack: Seq(tcp.ack),
                flags: Flags(tcp.flags),
            }),
            ecn: header.ecn,
            dont_fragment: header.dont_fragment,
            handle,
            head: &packet[..packet.len().min(HEAD)],
        });
    }

    /// Sends the packets that have left the simulation, and the answers of routers.
    fn carry_out(&mut self) {
        let mut departures = std::mem::take(&mut self.departures);
        self.simulation.outside().take_departures(&mut departures);
        while !departures.is_empty() {
            for departure in departures.drain(..) {
                match departure {
                    Departure::Arrived { at, node, handle, ecn } => self.leave(at, node, handle, ecn),
                    Departure::TooLarge { node, handle, mtu, .. } => self.too_large(node, handle, mtu),
                    Departure::Released { handle } => self.store.release(handle),
                }
            }
            self.simulation.outside().take_departures(&mut departures);
        }
        self.departures = departures;
    }

    /// `node` cannot send a packet on as it is, and answers its sender.
    fn too_large(&mut self, node: NodeId, handle: u32, mtu: u32) {
        let packet = &self.store.get_mut(handle).octets;
        let Ok(header) = ip::read(packet) else { return };
        if self.map.nodes.get(&header.src) != Some(&node) {
            let answer = ip::answer(packet, self.map.addresses[&node], Trouble::TooBig(mtu));
            return self.answer(node, answer);
        }
        // The sender's own link has a smaller MTU, which its device does not have. Linux accepts no
        // message from the address of the host itself: it comes from the destination's.
        let to = self.map.nodes.get(&header.dst).map(|to| self.map.addresses[to]);
        let answer = to.and_then(|to| ip::answer(packet, to, Trouble::TooBig(mtu)));
        if let (Some(answer), Some(i)) = (answer, self.port_of.get(&node)) {
            self.report.answers += 1;
            self.report.refused += u64::from(!self.ports[*i].port.send(&answer));
        }
    }

    /// The first router behind `node` has no route for a packet and says so at once: a program
    /// that asks a name server outside would wait for its answer. Linux reports an unreachable
    /// network to no program with a UDP socket (`icmp_err_convert`, net/ipv4/icmp.c: not fatal),
    /// an unreachable port to each.
    fn no_route(&mut self, node: NodeId, header: &Header, packet: &[u8]) {
        let Some(other) = self.map.addresses.keys().find(|other| **other != node).copied() else { return };
        let ways = self.simulation.outside().routers(node, other);
        let router = ways.and_then(|way| way.first().copied()).unwrap_or(other);
        let trouble = if header.protocol == UDP { Trouble::NoListener } else { Trouble::NoRoute };
        let answer = ip::answer(packet, self.map.addresses[&router], trouble);
        if let (Some(answer), Some(i)) = (answer, self.port_of.get(&node)) {
            self.report.answers += 1;
            self.report.refused += u64::from(!self.ports[*i].port.send(&answer));
        }
    }

    /// A packet is at the node that it was sent to.
    fn leave(&mut self, at: Instant, node: NodeId, handle: u32, ecn: lasthop_units::Ecn) {
        let stored = self.store.get_mut(handle);
        // At an intermediate external node the hop limit is exceeded as at a router.
        if let Some(i) = self.port_of.get(&node).filter(|_| !stored.expires) {
            ip::set_ecn(&mut stored.octets, ecn);
            let taken = self.ports[*i].port.send(&stored.octets);
            let late = self.clock.now().since(at);
            self.report.departures.add(late);
            if taken {
                self.report.left[0] += 1;
                self.report.left[1] += stored.octets.len() as u64;
            } else {
                self.report.refused += 1;
            }
            return;
        }
        let router = self.map.addresses[&node];
        let packet = &stored.octets;
        let answer = if stored.expires {
            ip::answer(packet, router, Trouble::HopLimit)
        } else {
            ip::echo_reply(packet).or_else(|| ip::answer(packet, router, Trouble::NoListener))
        };
        self.answer(node, answer);
    }

    /// Sends a packet of a router.
    fn answer(&mut self, router: NodeId, packet: Option<Vec<u8>>) {
        let Some(mut packet) = packet else { return };
        let Ok(header) = ip::read(&packet) else { return };
        if let Some(to) = self.map.nodes.get(&header.dst).copied().filter(|to| *to != router) {
            self.report.answers += 1;
            self.send_on(router, to, &header, &mut packet);
        }
    }

    /// Packets inside: for tests.
    pub fn packets_inside(&self) -> usize {
        self.store.used()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a limit of 1 us: from 11 to 20, from 20 to 22 (the event of 15 waited behind the first
    /// one), none for the one that was due 0.5 before, from 31 to 40 us.
    #[test]
    fn the_time_behind_the_limit_counts_once() {
        let mut r = Report { late_limit: Duration::from_micros(1), ..Report::default() };
        for (due, now) in [(10.0, 20.0), (15.0, 22.0), (25.0, 25.5), (30.0, 40.0)] {
            let [due, now] = [due, now].map(|us: f64| Instant((us * 1e3) as u64));
            r.note_due(due, now);
        }
        assert_eq!(r.behind, Duration::from_micros(9 + 2 + 9));
        assert_eq!(r.to_json()["lateness"]["behind_limit_s"], 20e-6);
    }
}

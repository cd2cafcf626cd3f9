//! A run inside a guest whose clock is virtual: TCP flows are carried by the guest's own kernel.
//!
//! The guest is a Linux kernel with `time-travel=inf-cpu`: its time stops while a program computes.
//! Each node with that kernel's TCP is a network namespace with a TUN device; this one process has
//! all devices and all sockets, and nothing in it waits in a busy loop.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::Rc;

use lasthop_net::ip;
use lasthop_sim::tcp::{Config, OptionError, Profile, resolved};
use lasthop_sim::{
    End, Error, Files, KernelFlow, KernelOrder, KernelReport, KernelSample, Outside, Scenario,
};
use lasthop_units::{Duration, Instant, NodeId};
use serde_json::json;

use crate::engine::{Aside, Clock, Engine, Port, Received, Wish, device_mtu};
use crate::host::Tun;
use crate::{guest_sys, sys};

/// Keys under `[flow.x.tcp]` that a real kernel's sockets can carry.
const CARRIED: [&str; 16] = [
    "mss",
    "initial_window",
    "receive_buffer",
    "receive_tuning",
    "receive_buffer_start",
    "send_buffer",
    "send_tuning",
    "send_buffer_start",
    "send_buffer_max",
    "gso",
    "timestamps",
    "window_scaling",
    "sack",
    "nagle",
    "ecn",
    "burst_read",
];
/// An application writes so much at once [B].
const WRITE: usize = 64 * 1024;
static ZEROS: [u8; WRITE] = [0; WRITE];
/// The first release whose tcp_info has tcpi_snd_wnd.
const OLDEST: [u32; 2] = [5, 4];

fn refused(message: String, help: &str) -> Error {
    lasthop_sim::config::Diagnostic::error("", message).help(help.to_owned()).into()
}

/// At the value of a key of the flow's table `tcp`; `key` is empty: at the table.
fn refused_at(scenario: &Scenario, flow: &KernelFlow, key: &str, message: String, help: &str) -> Error {
    let tcp = ["flow", &*flow.group, "tcp", key];
    let keys = tcp.into_iter().filter(|key| !key.is_empty());
    let path = lasthop_sim::config::dotted(keys);
    scenario.document().error_at(&path, message).help(help.to_owned()).into()
}

/// Sysctls of a namespace, by name under net/ipv4.
type Sysctls = [(&'static str, String); 5];

/// What a node's settings are.
fn sysctls(c: &Config) -> Sysctls {
    let b = &c.buffers;
    // tcp_rmem counts memory, of which half is window (tcp_adv_win_scale = 1).
    [
        ("tcp_rmem", format!("4096 {} {}", 2 * b.receive_buffer_start, 2 * b.receive_buffer)),
        ("tcp_wmem", format!("4096 {} {}", b.send_buffer_start, b.send_buffer_max)),
        ("tcp_sack", u8::from(c.negotiated.sack).to_string()),
        ("tcp_timestamps", u8::from(c.negotiated.timestamps).to_string()),
        ("tcp_window_scaling", u8::from(c.negotiated.window_scaling).to_string()),
    ]
}

/// What a flow's sockets are to have; refuses what they cannot.
fn settings(scenario: &Scenario, flow: &KernelFlow) -> Result<Config, Error> {
    let name = &flow.name;
    let wrong =
        |e: OptionError| refused_at(scenario, flow, "", format!("flow `{name}`: {e}"), "change the key");
    let written = flow.options.resolve().map_err(wrong)?;
    for (key, _) in resolved(&written).filter(|(key, _)| flow.options.writes(key)) {
        if !CARRIED.contains(&key) {
            let message = format!("flow `{name}`: a real kernel's socket has no `tcp.{key}`");
            let help = format!("remove the key; those that it has: {}", CARRIED.join(", "));
            return Err(refused_at(scenario, flow, key, message, &help));
        }
    }
    // What has arrived at one instant is in the socket before the application reads.
    if flow.options.writes("burst_read") && !written.growth.burst_read {
        let message = format!("flow `{name}`: a program reads what a real kernel has, not each segment");
        return Err(refused_at(scenario, flow, "burst_read", message, "remove the key"));
    }
    let cc = written.cc;
    let mut options = flow.options.clone();
    options.profile = Profile::Linux6;
    options.cc = Some(cc);
    options.resolve().map_err(wrong)
}

fn write_sysctl(name: &str, value: &str) -> Result<(), Error> {
    let path = format!("/proc/sys/net/ipv4/{name}");
    std::fs::write(&path, value).map_err(|e| refused(format!("{path}: {e}"), "take another kernel"))
}

/// The run begins when the guest's clock shows a multiple of this [ns], other than 0: how long the
/// guest was busy before must not shift the run against the ticks of its kernel. The clock shows
/// 0 until the first wait, and to TCP a segment of the first microsecond has no time stamp: its
/// round trip is not measured (`first_ackt` in tcp_clean_rtx_queue, net/ipv4/tcp_input.c).
const BEGIN: u64 = 1_000_000_000;

/// What can have changed since it was read last. A system call of the guest costs the host some
/// microseconds, and with many nodes and flows most calls would find nothing. Nothing is lost if a
/// change is missed here: a wait returns at once while a device or a socket has something.
struct Changes {
    /// By device: it may have a packet.
    devices: Vec<Cell<bool>>,
    /// A socket may have an event.
    sockets: Cell<bool>,
    /// By flow and end: its `tcp_info` may differ.
    ends: Vec<[Cell<bool>; 2]>,
    /// Flows by the port of both ends, with the node of end A.
    flows: BTreeMap<u16, (usize, NodeId)>,
}

impl Changes {
    /// `flows`: the port of both ends, and the node of end A.
    fn new(devices: usize, flows: impl Iterator<Item = (u16, NodeId)>) -> Changes {
        let flows: BTreeMap<_, _> = flows.enumerate().map(|(n, (port, a))| (port, (n, a))).collect();
        Changes {
            devices: vec![Cell::new(true); devices],
            sockets: Cell::new(true),
            ends: vec![[const { Cell::new(true) }; 2]; flows.len()],
            flows,
        }
    }
    /// A packet passes the device of a node.
    fn passes(&self, node: NodeId, packet: &[u8]) {
        self.sockets.set(true);
        match ip::read(packet).ok().and_then(|header| self.flows.get(&header.ports[0])) {
            Some((n, a)) => self.ends[*n][usize::from(*a != node)].set(true),
            None => self.ends.iter().flatten().for_each(|end| end.set(true)),
        }
    }
}

/// The device of a node. It is read only if it may have a packet.
struct Device {
    node: NodeId,
    number: usize,
    tun: Tun,
    changes: Rc<Changes>,
}

impl Port for Device {
    fn receive(&mut self, buffer: &mut [u8]) -> Received {
        let may_have = &self.changes.devices[self.number];
        if !may_have.get() {
            return Received::Nothing;
        }
        let received = self.tun.receive(buffer);
        match received {
            Received::Packet(len) => self.changes.passes(self.node, &buffer[..len]),
            Received::Nothing | Received::Gone => may_have.set(false),
        }
        received
    }
    fn send(&mut self, packet: &[u8]) -> bool {
        // The kernel answers during the call.
        self.changes.devices[self.number].set(true);
        self.changes.passes(self.node, packet);
        self.tun.send(packet)
    }
}

/// The guest's clock. It moves while the guest waits and at no other time, so it is read after a
/// wait alone.
struct Virtual {
    start: u64,
    now: Instant,
    /// Devices in their order, then the list of sockets.
    fds: Vec<libc::pollfd>,
    changes: Rc<Changes>,
}

impl Virtual {
    /// A run begins when this returns.
    fn begin(fds: Vec<libc::pollfd>, changes: Rc<Changes>) -> Virtual {
        let now = sys::monotonic();
        let start = (now + 1).next_multiple_of(BEGIN);
        sys::wait(&mut [], Duration(start - now));
        let mut clock = Virtual { start, now: Instant::ZERO, fds, changes };
        clock.read();
        clock
    }

    fn read(&mut self) {
        self.now = Instant(sys::monotonic().saturating_sub(self.start));
    }
}

impl Clock for Virtual {
    fn now(&mut self) -> Instant {
        self.now
    }
    fn wait(&mut self, until: Instant) -> Option<Instant> {
        (until > self.now).then(|| {
            sys::wait(&mut self.fds, until.since(self.now));
            let Changes { devices, sockets, .. } = &*self.changes;
            for (fd, changed) in self.fds.iter().zip(devices.iter().chain([sockets])) {
                if fd.revents != 0 {
                    changed.set(true);
                }
            }
            self.read();
            self.now
        })
    }
}

/// A flow's sockets.
struct Connection {
    flow: KernelFlow,
    config: Config,
    listener: Option<TcpListener>,
    sockets: [Option<TcpStream>; 2],
    established: bool,
    /// Octets that the application has written and the socket has not taken.
    waiting: [u64; 2],
    /// The application writes no more; it was passed on to the socket.
    closing: [bool; 2],
    shut: [bool; 2],
    ended: [bool; 2],
    end_reported: [bool; 2],
    over: bool,
    /// The last sample of the sender.
    shown: Option<KernelSample>,
}

impl Connection {
    fn new(flow: KernelFlow, config: Config) -> Connection {
        let no = [false; 2];
        Connection {
            flow,
            config,
            listener: None,
            sockets: [None, None],
            established: false,
            waiting: [0; 2],
            closing: no,
            shut: no,
            ended: no,
            end_reported: no,
            over: false,
            shown: None,
        }
    }

    /// Whether the attempt of A has succeeded; `None`: not yet known.
    fn opened(&mut self) -> Option<bool> {
        let socket = self.sockets[0].as_ref()?;
        match socket.take_error() {
            Ok(None) if socket.peer_addr().is_ok() => self.established = true,
            Ok(None) => return None,
            _ => self.over = true,
        }
        Some(self.established)
    }

    /// Reads the available data. `ends`: no event may come after what is there now. Returns the
    /// number of octets, and the error.
    fn read(&mut self, end: End, ends: bool, buffer: &mut [u8]) -> (u64, Option<ErrorKind>) {
        let e = end as usize;
        let mut read = 0;
        let Some(socket) = &mut self.sockets[e] else { return (0, None) };
        while !self.ended[e] {
            match socket.read(buffer) {
                Ok(0) => self.ended[e] = true,
                Ok(octets) => {
                    read += octets as u64;
                    // A short read has taken everything; what comes later is an event (epoll(7)).
                    if octets < buffer.len() && !ends {
                        break;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return (read, Some(error.kind())),
            }
        }
        (read, None)
    }

    /// Writes the waiting data, and closes after it. Returns the number of octets, and the error.
    fn write(&mut self, end: End) -> (u64, Option<ErrorKind>) {
        let e = end as usize;
        let mut written = 0;
        let Some(socket) = &mut self.sockets[e] else { return (0, None) };
        while self.waiting[e] > 0 && !self.shut[e] {
            match socket.write(&ZEROS[..self.waiting[e].min(WRITE as u64) as usize]) {
                Ok(octets) => {
                    self.waiting[e] -= octets as u64;
                    written += octets as u64;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return (written, Some(error.kind())),
            }
        }
        if self.waiting[e] == 0 && self.closing[e] && !self.shut[e] {
            self.shut[e] = true;
            return (written, socket.shutdown(Shutdown::Write).err().map(|error| error.kind()));
        }
        (written, None)
    }
}

struct Sockets<'a> {
    scenario: &'a Scenario,
    connections: Vec<Connection>,
    namespaces: BTreeMap<NodeId, OwnedFd>,
    epoll: OwnedFd,
    orders: Vec<(usize, End, KernelOrder)>,
    ready: Vec<(u64, bool)>,
    changes: Rc<Changes>,
    /// The device of a node.
    devices: BTreeMap<NodeId, usize>,
    reports: VecDeque<(usize, End, KernelReport)>,
    buffer: Vec<u8>,
    /// Packets in and out at the last check.
    packets: u64,
    failed: Option<Error>,
}

const ENDS: [End; 2] = [End::A, End::B];
/// The number of a listener in epoll, beside the two ends.
const LISTENER: u64 = 2;

impl Sockets<'_> {
    fn open(&mut self, n: usize) -> std::io::Result<()> {
        let c = &mut self.connections[n];
        let [a, b] = c.flow.ends();
        let make = |end: End, epoll: &OwnedFd, ns: &BTreeMap<NodeId, OwnedFd>| {
            guest_sys::enter(&ns[&c.flow.nodes[end as usize]])?;
            let ours = if end == End::A { a } else { b };
            let socket = guest_sys::socket(ours)?;
            let ecn = if end == End::A && c.config.ecn.mode.requests() { "1" } else { "2" };
            std::fs::write("/proc/sys/net/ipv4/tcp_ecn", ecn)?;
            guest_sys::set_text(&socket, libc::TCP_CONGESTION, c.config.cc.name())?;
            guest_sys::set(&socket, libc::IPPROTO_TCP, libc::TCP_NODELAY, i32::from(!c.config.acks.nagle))?;
            if c.flow.options.writes("mss") {
                guest_sys::set(&socket, libc::IPPROTO_TCP, libc::TCP_MAXSEG, c.config.window.mss.into())?;
            }
            if let Some(low) = c.flow.low_water {
                let low = i32::try_from(low).unwrap_or(i32::MAX);
                guest_sys::set(&socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, low)?;
            }
            // The kernel doubles the value, for its own bookkeeping (socket(7)).
            let octets = |n: u64| i32::try_from(n).unwrap_or(i32::MAX / 2);
            if let Some(fixed) = c.config.buffers.send_buffer {
                guest_sys::set(&socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, octets(fixed))?;
            }
            if !c.config.buffers.receive_tuning {
                let fixed = octets(c.config.buffers.receive_buffer);
                guest_sys::set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, fixed)?;
            }
            let token = n as u64 * 4 + if end == End::A { 0 } else { LISTENER };
            guest_sys::watch(epoll, &socket, token)?;
            Ok::<OwnedFd, std::io::Error>(socket)
        };
        let listener = make(End::B, &self.epoll, &self.namespaces)?;
        guest_sys::listen(&listener)?;
        let opener = make(End::A, &self.epoll, &self.namespaces)?;
        guest_sys::connect(&opener, b)?;
        c.listener = Some(TcpListener::from(listener));
        c.sockets[0] = Some(TcpStream::from(opener));
        Ok(())
    }

    fn accept(&mut self, n: usize) {
        let c = &mut self.connections[n];
        let Some(Ok((socket, _))) = c.listener.as_ref().map(TcpListener::accept) else { return };
        if socket.set_nonblocking(true).is_ok()
            && guest_sys::watch(&self.epoll, &socket, n as u64 * 4 + End::B as u64).is_ok()
        {
            c.sockets[1] = Some(socket);
            c.listener = None;
        }
    }

    /// An operation on a socket: its device may have a packet.
    fn note_operation(&self, n: usize, end: End) {
        let node = self.connections[n].flow.nodes[end as usize];
        if let Some(device) = self.devices.get(&node) {
            self.changes.devices[*device].set(true);
        }
        self.changes.ends[n][end as usize].set(true);
        self.changes.sockets.set(true);
    }

    /// A socket can be read or written, or (without `event`) the application has an order. `ends`:
    /// the peer writes no more, or the connection has failed.
    fn serve(&mut self, n: usize, end: End, event: bool, ends: bool) {
        self.note_operation(n, end);
        let Sockets { connections, buffer, reports, .. } = self;
        let c = &mut connections[n];
        let mut say = |end, report| reports.push_back((n, end, report));
        if c.over || c.sockets[end as usize].is_none() {
            return;
        }
        if end == End::A && !c.established {
            match c.opened() {
                Some(true) => say(end, KernelReport::Established),
                Some(false) => return say(end, KernelReport::Failed("timed-out")),
                None => return,
            }
        }
        // What has arrived has been an event.
        let (read, mut failure) = if event { c.read(end, ends, buffer) } else { (0, None) };
        if read > 0 {
            say(end, KernelReport::Delivered(read));
        }
        if c.ended[end as usize] && !c.end_reported[end as usize] {
            c.end_reported[end as usize] = true;
            say(end, KernelReport::PeerClosed);
        }
        if failure.is_none() {
            let (written, why) = c.write(end);
            failure = why;
            if written > 0 {
                say(end, KernelReport::Written(written));
            }
        }
        if let Some(kind) = failure {
            c.over = true;
            let timed_out = kind == ErrorKind::TimedOut;
            say(end, KernelReport::Failed(if timed_out { "timed-out" } else { "reset" }));
        } else if c.shut == [true; 2] && c.ended == [true; 2] {
            c.over = true;
            ENDS.into_iter().for_each(|end| say(end, KernelReport::Closed));
        }
    }

    fn carry_out(&mut self, n: usize, end: End, order: KernelOrder) -> std::io::Result<()> {
        match order {
            KernelOrder::Connect => {
                self.note_operation(n, end);
                return self.open(n);
            }
            KernelOrder::Write(octets) => self.connections[n].waiting[end as usize] += octets,
            KernelOrder::Close => self.connections[n].closing[end as usize] = true,
            KernelOrder::Abort => {
                self.connections[n].over = true;
                self.connections[n].sockets = [None, None];
            }
        }
        self.serve(n, end, false, false);
        Ok(())
    }

    /// Samples the senders that may differ from what they have shown last.
    fn sample(&mut self, world: &mut Outside<'_>) {
        let connections = self.connections.iter_mut().enumerate();
        for ((n, c), changed) in connections.zip(&self.changes.ends).filter(|((_, c), _)| c.established) {
            let end = c.flow.data_end;
            let [own, other] = [end, end.other()]
                .map(|end| c.sockets[end as usize].as_ref().filter(|_| changed[end as usize].replace(false)));
            if own.is_none() && other.is_none() {
                continue;
            }
            let mut sample = own.and_then(|own| guest_sys::sample(own, end == End::A)).or(c.shown);
            if let Some(sample) = &mut sample {
                let before = c.shown.map_or(0, |shown| shown.bytes_arrived);
                sample.bytes_arrived = other.map_or(before, guest_sys::bytes_received);
                world.report_kernel(n, end, &KernelReport::Sample(*sample));
            }
            c.shown = sample;
        }
    }
}

impl Aside for Sockets<'_> {
    fn turn(&mut self, world: &mut Outside<'_>, packets: u64) -> bool {
        let mut some = false;
        loop {
            let mut ready = std::mem::take(&mut self.ready);
            if self.changes.sockets.take() {
                guest_sys::ready(&self.epoll, &mut ready);
            }
            for (token, ends) in ready.drain(..) {
                self.changes.sockets.set(true);
                let n = (token / 4) as usize;
                match token % 4 {
                    LISTENER => self.accept(n),
                    end => self.serve(n, ENDS[end as usize], true, ends),
                }
            }
            self.ready = ready;
            while let Some((n, end, report)) = self.reports.pop_front() {
                some = true;
                world.report_kernel(n, end, &report);
            }
            let mut orders = std::mem::take(&mut self.orders);
            world.take_kernel_orders(&mut orders);
            let idle = orders.is_empty();
            for (n, end, order) in orders.drain(..) {
                if let Err(error) = self.carry_out(n, end, order) {
                    let flow = &self.connections[n].flow;
                    let cc = self.connections[n].config.cc.name();
                    let message = format!("flow `{}`: no socket with `{cc}`: {error}", flow.name);
                    let help = "see the controls that `lasthop linux build` prints";
                    self.failed.get_or_insert(refused_at(self.scenario, flow, "cc", message, help));
                }
            }
            self.orders = orders;
            if idle && self.reports.is_empty() {
                break;
            }
        }
        if self.packets != packets || some {
            self.packets = packets;
            self.sample(world);
        }
        some
    }
    fn failed(&self) -> bool {
        self.failed.is_some()
    }
}

/// What flows need of namespaces, each with the flow that needs it.
#[derive(Default)]
struct Wanted {
    /// Settings of a node's namespace.
    settings: BTreeMap<NodeId, (Sysctls, Box<str>)>,
    /// The initial window [segments] from a node to another, where a flow sets it.
    windows: BTreeMap<(NodeId, NodeId), (Option<u32>, Box<str>)>,
}

impl Wanted {
    /// Adds what a flow needs. What contradicts another flow's needs: that flow, what, and why they
    /// share it.
    fn add(
        &mut self,
        flow: &KernelFlow,
        config: &Config,
    ) -> Result<(), (Box<str>, &'static str, &'static str)> {
        let set = config.window.initial_window.filter(|_| flow.options.writes("initial_window"));
        let [a, b] = flow.nodes;
        for (node, peer) in [(a, b), (b, a)] {
            let own = sysctls(config);
            let (first, name) = self.settings.entry(node).or_insert_with(|| (own.clone(), flow.name.clone()));
            if *first != own {
                let why = "one kernel has one tcp_rmem, tcp_wmem, SACK, timestamps and scaling";
                return Err((name.clone(), "settings of one node", why));
            }
            let (first, name) = self.windows.entry((node, peer)).or_insert_with(|| (set, flow.name.clone()));
            if *first != set {
                let why = "the initial window belongs to the route: set it for all flows of the two nodes";
                return Err((name.clone(), "initial windows between the same nodes", why));
            }
        }
        Ok(())
    }
}

/// The flows with what their sockets are to have, and what their nodes are to have.
fn connections(scenario: &Scenario, flows: Vec<KernelFlow>) -> Result<(Vec<Connection>, Wanted), Error> {
    let list = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let there = std::fs::read_to_string(list).unwrap_or_default();
    let mut wanted = Wanted::default();
    let mut connections = Vec::new();
    for flow in flows {
        let config = settings(scenario, &flow)?;
        let cc = config.cc.name();
        if !there.split_whitespace().any(|name| name == cc) {
            let message = format!("flow `{}`: this kernel has no congestion control `{cc}`", flow.name);
            let help = format!("it has {}", there.trim().replace(' ', ", "));
            return Err(refused_at(scenario, &flow, "cc", message, &help));
        }
        if let Err((other, what, help)) = wanted.add(&flow, &config) {
            let message = format!("flows `{other}` and `{}` need different {what}", flow.name);
            return Err(refused_at(scenario, &flow, "", message, help));
        }
        connections.push(Connection::new(flow, config));
    }
    Ok((connections, wanted))
}

/// The release of the guest's kernel, which must provide all values that are read
/// ([`guest_sys::sample`]).
fn release() -> Result<String, Error> {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let release = release.trim();
    let mut numbers = release.split(['.', '-']).map_while(|n| n.parse::<u32>().ok());
    let version = [numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)];
    if version < OLDEST {
        let [major, minor] = OLDEST;
        let message = format!("this kernel is Linux {release}, whose `tcp_info` has no receiver window");
        return Err(refused(message, &format!("take Linux {major}.{minor} or later: `lasthop linux build`")));
    }
    Ok(release.to_owned())
}

fn absent(what: &str, error: &std::io::Error) -> Error {
    refused(format!("the guest has no {what}: {error}"), "`lasthop linux build --force`")
}

/// Namespaces and devices of nodes, and what to wait for.
type Networks = (BTreeMap<NodeId, OwnedFd>, Vec<(NodeId, Tun)>, Vec<libc::pollfd>);

/// A network namespace with a TUN device for each node of a real kernel.
fn networks(world: &Outside<'_>, wanted: &Wanted) -> Result<Networks, Error> {
    let nodes = world.nodes();
    let (mut namespaces, mut ports, mut fds) = (BTreeMap::new(), Vec::new(), Vec::new());
    for node in nodes.iter().filter(|node| node.external) {
        let (namespace, tun) = sys::new_network((node.v4, node.v6), device_mtu(world, node.id))
            .map_err(|e| absent("TUN device", &e))?;
        write_sysctl("tcp_no_metrics_save", "1")?;
        for (name, value) in wanted.settings.get(&node.id).into_iter().flat_map(|(own, _)| own) {
            write_sysctl(name, value)?;
        }
        for peer in nodes {
            if let Some((Some(segments), _)) = wanted.windows.get(&(node.id, peer.id)) {
                guest_sys::set_initial_window(peer.v4, sys::DEVICE, *segments)
                    .map_err(|e| absent("route with an initial window", &e))?;
            }
        }
        fds.push(sys::readable(tun.as_raw_fd()));
        namespaces.insert(node.id, namespace);
        ports.push((node.id, Tun(tun)));
    }
    Ok((namespaces, ports, fds))
}

/// Runs `scenario`, which has nodes with a real kernel's TCP, inside a guest. `alive` gets the
/// share of the scenario's duration that has passed and returns whether to continue; a stopped run
/// has results up to then.
///
/// # Errors
/// A feature that the kernel's sockets cannot carry; errors of the simulation.
pub fn run_in_guest(
    scenario: &Scenario,
    files: Files<'_>,
    alive: &mut dyn FnMut(f64) -> bool,
) -> Result<(), Error> {
    let release = release()?;
    if scenario.spec().has_external_nodes() {
        return Err(refused("an external node needs `lasthop live`".to_owned(), "remove its table"));
    }
    let mut simulation = lasthop_sim::open_external(scenario, files)?;
    let flows = simulation.outside().kernel_flows().to_vec();
    if flows.is_empty() {
        let help = "name both ends of a TCP flow with --kernel-at";
        return Err(refused("no TCP flow has both ends at these nodes".to_owned(), help));
    }
    let (connections, wanted) = connections(scenario, flows)?;
    // Timers of such a thread have no slack.
    sys::Schedule::real_time().set().map_err(|e| absent("real-time priority", &e))?;
    let (namespaces, ports, mut fds) = networks(&simulation.outside(), &wanted)?;
    let epoll = guest_sys::epoll().map_err(|e| absent("epoll", &e))?;
    fds.push(sys::readable(epoll.as_raw_fd()));
    let changes =
        Rc::new(Changes::new(ports.len(), connections.iter().map(|c| (c.flow.port, c.flow.nodes[0]))));
    let devices = ports.iter().enumerate().map(|(number, (node, _))| (*node, number)).collect();
    let device = |(number, (node, tun))| (node, Device { node, number, tun, changes: changes.clone() });
    let ports = ports.into_iter().enumerate().map(device).collect();
    let mut sockets = Sockets {
        scenario,
        connections,
        namespaces,
        epoll,
        orders: Vec::new(),
        ready: Vec::new(),
        changes: changes.clone(),
        devices,
        reports: VecDeque::new(),
        buffer: vec![0; 4 * WRITE],
        packets: 0,
        failed: None,
    };
    let end = simulation.end();
    let mut engine = Engine::new(simulation, Virtual::begin(fds, changes), ports);
    let mut stopped = false;
    let ended = engine.run_with(
        &mut |now| {
            stopped = !alive(now.as_secs_f64() / end.as_secs_f64());
            if stopped { Wish::End } else { Wish::GoOn }
        },
        &mut sockets,
    )?;
    if let Some(error) = sockets.failed {
        return Err(error);
    }
    engine.finish(|report| {
        let mut live = report.to_json();
        live["ended_s"] = json!(ended.as_secs_f64());
        live["ended_by"] = json!(if stopped { "stopped" } else { "duration" });
        live["kernel"] = json!(release);
        live
    })?;
    Ok(())
}

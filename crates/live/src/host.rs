//! Linux: namespaces with TUN devices, and programs in them.
//!
//! A node is a network namespace in a user namespace, made by a child process without privileges.
//! The child makes a TUN device there and hands its descriptor over; nothing of it has a name
//! outside. When the descriptor and the last process are gone the kernel removes all of it,
//! also when this process was killed.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};

use lasthop_sim::{Error, ExternalNode, Files, RunOutput, Scenario};
use lasthop_units::{Duration, Instant, NodeId};
use serde_json::{Value, json};

use crate::engine::{Clock, Engine, Port, Report, Wish};
use crate::lateness::Lateness;
use crate::plan::Plan;
use crate::sys;

/// The MTU of devices: Ethernet's. Links of the scenario may have a smaller one.
const MTU: u32 = 1500;
/// Each further program starts this much after the one before: a server listens when its client
/// starts.
const GAP: Duration = Duration::from_millis(500);
/// Programs that are asked to end have this long.
const GRACE: Duration = Duration::from_secs(1);

/// The clock of the machine.
struct Monotonic {
    start: u64,
    fds: Vec<libc::pollfd>,
}

impl Clock for Monotonic {
    fn now(&mut self) -> Instant {
        Instant(sys::monotonic().saturating_sub(self.start))
    }
    fn wait(&mut self, until: Instant) {
        let now = self.now();
        if until > now {
            sys::wait(&mut self.fds, until.since(now));
        }
    }
}

/// A TUN device.
struct Tun(File);

impl Port for Tun {
    fn receive(&mut self, buffer: &mut [u8]) -> Option<usize> {
        self.0.read(buffer).ok().filter(|len| *len > 0)
    }
    fn send(&mut self, packet: &[u8]) -> bool {
        self.0.write(packet).is_ok()
    }
}

/// A node of its own namespace.
struct Place {
    name: Box<str>,
    /// User, network and mount namespace.
    namespaces: [File; 3],
    /// Keeps the namespace while no program runs; ends with its standard input.
    holder: Child,
}

/// A program that runs.
struct Program {
    node: Box<str>,
    command: String,
    child: Child,
    status: Option<ExitStatus>,
}

/// The hosts file of all namespaces, removed when these are there.
struct Hosts(PathBuf);

impl Hosts {
    fn write(nodes: &[ExternalNode]) -> Result<Hosts, Error> {
        let mut text = String::from("127.0.0.1 localhost\n::1 localhost\n");
        for node in nodes {
            text += &format!("{} {}\n{} {}.ip6\n", node.v4, node.name, node.v6, node.name);
        }
        let path = std::env::temp_dir().join(format!("lasthop-hosts-{}", std::process::id()));
        let written = std::fs::write(&path, text);
        written.map_err(|source| Error::File { path: path.clone(), doing: "write", source })?;
        Ok(Hosts(path))
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        let _gone = std::fs::remove_file(&self.0);
    }
}

fn refused(message: String, help: &str) -> Error {
    lasthop_sim::config::Diagnostic::error("", message).help(help.to_owned()).into()
}

/// What helps against a step that failed.
fn remedy(step: usize, error: &io::Error) -> String {
    match step {
        1..=3 => "this system lets users make no namespaces. As root set \
                      `sysctl kernel.unprivileged_userns_clone=1` (Debian), \
                      `sysctl kernel.apparmor_restrict_unprivileged_userns=0` (Ubuntu) or \
                      `sysctl user.max_user_namespaces=10000`; in a container run it with \
                      `--privileged` or `--cap-add NET_ADMIN --cap-add SYS_ADMIN`; or make a device \
                      as root (`ip tuntap add mode tun user $USER name tun0`) and give it with \
                      `--device NODE=tun0`"
            .to_owned(),
        4 => "give the machine a file /etc/hosts".to_owned(),
        5 if error.kind() == io::ErrorKind::NotFound => {
            "load the module as root (`modprobe tun`); in a container run it with \
             `--device /dev/net/tun`"
                .to_owned()
        }
        5 => "let users open it, as root: `chmod 666 /dev/net/tun`".to_owned(),
        _ => "`lasthop live --check` shows what this machine allows".to_owned(),
    }
}

impl Place {
    /// A new namespace with its device.
    fn new(node: &ExternalNode, hosts: Option<&Hosts>) -> Result<(Place, Tun), Error> {
        let failed = |step: usize, error: &io::Error| {
            let what = sys::STEPS.get(step).unwrap_or(&"start");
            refused(format!("node `{}`: cannot {what}: {error}", node.name), &remedy(step, error))
        };
        let other = |error: io::Error| failed(usize::MAX, &error);
        let (ours, theirs) = UnixStream::pair().map_err(other)?;
        let hosts = hosts.and_then(|hosts| CString::new(hosts.0.as_os_str().as_bytes()).ok());
        let mut command = Command::new("cat");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        sys::Setup::new(&theirs, (node.v4, node.v6), MTU, hosts).apply(&mut command);
        let started = command.spawn();
        drop(theirs);
        let received = sys::receive_descriptor(&ours);
        let (mut holder, tun) = match (started, received) {
            (Ok(holder), Some(Ok(tun))) => (holder, tun),
            (Ok(mut holder), _) => {
                stop(&mut holder);
                return Err(other(io::Error::other("its device did not come")));
            }
            (Err(error), Some(Err(step))) => return Err(failed(usize::from(step), &error)),
            (Err(error), _) => return Err(other(error)),
        };
        let open = |kind| File::open(format!("/proc/{}/ns/{kind}", holder.id()));
        let namespaces = match (open("user"), open("net"), open("mnt")) {
            (Ok(user), Ok(net), Ok(mnt)) => [user, net, mnt],
            (Err(error), ..) | (_, Err(error), _) | (.., Err(error)) => {
                stop(&mut holder);
                return Err(other(error));
            }
        };
        let place = Place { name: node.name.clone(), namespaces, holder };
        Ok((place, Tun(File::from(tun))))
    }

    fn spawn(&self, mut command: Command, group: bool, to_stderr: bool) -> io::Result<Child> {
        let folder = std::env::current_dir().unwrap_or_default();
        command.env("LASTHOP_NODE", &*self.name);
        sys::Join {
            namespaces: [0, 1, 2].map(|i: usize| self.namespaces[i].as_raw_fd()),
            folder: CString::new(folder.as_os_str().as_bytes()).unwrap_or_default(),
            group,
            to_stderr,
        }
        .apply(&mut command);
        command.spawn()
    }

    /// Packets that the kernel did not put into the device because the run did not take them in
    /// time (the device's queue was full).
    fn lost_in_device(&self) -> u64 {
        let path = format!("/proc/{}/net/dev", self.holder.id());
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let own = text.lines().find_map(|line| line.trim().strip_prefix(sys::DEVICE)?.strip_prefix(':'));
        // Receive has eight columns, and transmit bytes, packets, errs, drop.
        own.and_then(|columns| columns.split_whitespace().nth(11)?.parse().ok()).unwrap_or(0)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        stop(&mut self.holder);
    }
}

fn stop(child: &mut Child) {
    let _ended = child.kill();
    let _status = child.wait();
}

impl Drop for Program {
    fn drop(&mut self) {
        if self.status.is_none() {
            sys::signal(self.child.id(), true, libc::SIGKILL);
            stop(&mut self.child);
        }
    }
}

impl Program {
    /// True once it has ended.
    fn ended(&mut self) -> bool {
        if self.status.is_none() {
            self.status = self.child.try_wait().ok().flatten();
        }
        self.status.is_some()
    }
}

/// What has ended a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    Duration,
    Program,
    Failed,
    Stopped,
}

impl Reason {
    const fn name(self) -> &'static str {
        match self {
            Reason::Duration => "duration",
            Reason::Program => "program",
            Reason::Failed => "program-failed",
            Reason::Stopped => "stopped",
        }
    }
}

/// The programs of a run, by time.
struct Programs<'a> {
    plan: &'a Plan,
    places: &'a [Place],
    running: Vec<Program>,
    waiting: Vec<(Instant, &'a str, Option<&'a str>)>,
    reason: Reason,
}

impl<'a> Programs<'a> {
    fn of(plan: &'a Plan, places: &'a [Place]) -> Programs<'a> {
        let commands = plan.programs.iter().map(|(node, command)| (node.as_str(), Some(command.as_str())));
        let shell = plan.shell.iter().map(|node| (node.as_str(), None));
        let mut waiting: Vec<_> = (0..)
            .zip(commands.chain(shell))
            .map(|(i, (node, command))| (Instant(GAP.0 * i), node, command))
            .collect();
        waiting.reverse();
        Programs { plan, places, running: Vec::new(), waiting, reason: Reason::Duration }
    }

    /// Starts what is due; ends the run when its last program has ended, or one has failed.
    fn look(&mut self, now: Instant) -> Result<Wish, Error> {
        while let Some((_, node, command)) = self.waiting.pop_if(|(at, ..)| *at <= now) {
            self.start(node, command)?;
        }
        for i in 0..self.running.len() {
            let before = self.running[i].status.is_some();
            if self.running[i].ended() && !before && self.running[i].status.is_some_and(|s| !s.success()) {
                let shell = self.plan.shell.is_some() && i + 1 == self.running.len();
                self.reason = if shell { Reason::Program } else { Reason::Failed };
                return Ok(Wish::End);
            }
        }
        let over = self.waiting.is_empty() && self.running.last().is_some_and(|p| p.status.is_some());
        if over {
            self.reason = Reason::Program;
            return Ok(Wish::End);
        }
        Ok(Wish::GoOn)
    }

    /// Starts what is due. A program was made before the run and waits for a line: making a process
    /// takes milliseconds, in which the simulation would stand.
    fn start(&mut self, node: &str, command: Option<&str>) -> Result<(), Error> {
        let Some(command) = command else {
            let shell = std::env::var("SHELL").unwrap_or_else(|_| "/bin/sh".to_owned());
            return self.make(node, Command::new(&shell), &shell, false);
        };
        let waits = |p: &&mut Program| *p.node == *node && p.command == command && p.child.stdin.is_some();
        let gate = self.running.iter_mut().find(waits).and_then(|p| p.child.stdin.take());
        if let Some(mut gate) = gate {
            let _ended_before = gate.write_all(b"\n");
        }
        Ok(())
    }

    /// Makes the processes of all programs, which wait.
    fn prepare(&mut self) -> Result<(), Error> {
        for (node, command) in &self.plan.programs {
            let mut process = Command::new("/bin/sh");
            process.arg("-c").arg("read -r _ && exec /bin/sh -c \"$0\" </dev/null").arg(command);
            process.stdin(Stdio::piped());
            self.make(node, process, command, true)?;
        }
        Ok(())
    }

    fn make(&mut self, node: &str, process: Command, command: &str, group: bool) -> Result<(), Error> {
        let Some(place) = self.places.iter().find(|place| &*place.name == node) else {
            return Err(refused(format!("no namespace for the node `{node}`"), "give it no `--device`"));
        };
        let child = place.spawn(process, group, self.plan.quiet && group).map_err(|error| {
            let help = "`lasthop live --check` shows what this machine allows";
            refused(format!("node `{node}`: cannot start a program: {error}"), help)
        })?;
        self.running.push(Program { node: node.into(), command: command.to_owned(), child, status: None });
        Ok(())
    }

    /// Asks all programs to end, then ends them.
    fn end(&mut self) -> Value {
        for p in &mut self.running {
            p.ended();
        }
        let by_itself: Vec<bool> = self.running.iter().map(|p| p.status.is_some()).collect();
        for p in self.running.iter().filter(|p| p.status.is_none()) {
            sys::signal(p.child.id(), true, libc::SIGTERM);
        }
        let until = sys::monotonic() + GRACE.0;
        while sys::monotonic() < until && !self.running.iter_mut().all(Program::ended) {
            sys::wait(&mut [], Duration::from_millis(10));
        }
        let of = |(p, own): (&Program, bool)| {
            json!({
                "node": p.node,
                "command": p.command,
                "ended_by_itself": own,
                "status": p.status.and_then(|s| s.code()).filter(|_| own),
            })
        };
        self.running.iter().zip(by_itself).map(of).collect()
    }
}

/// Runs `scenario`, which has external nodes, in real time, for its duration or until the last
/// program of `plan` has ended. `alive` gets the time and says whether to go on; what it stops has
/// results up to then. What the run has measured of itself stands under `live` in the summary.
///
/// # Errors
/// What the machine does not allow, with the remedy; what the simulation reports.
pub fn run(
    scenario: &Scenario,
    plan: &Plan,
    files: Files<'_>,
    alive: &mut dyn FnMut(f64) -> bool,
) -> Result<RunOutput, Error> {
    let mut simulation = lasthop_sim::open_external(scenario, files)?;
    let nodes = simulation.outside().nodes().to_vec();
    check_names(plan, &nodes)?;
    let (places, ports) = open_nodes(plan, &nodes)?;
    let fds = ports.iter().map(|(_, tun)| sys::readable(tun.0.as_raw_fd())).collect();
    let slack = sys::timer_slack();
    sys::set_timer_slack(Duration(1));
    let real_time = plan.real_time.then(|| sys::set_real_time(true));
    if let Some(Err(error)) = &real_time {
        let help = "run it as root, or raise RLIMIT_RTPRIO (`ulimit -r 1`), or leave `--realtime` out";
        return Err(refused(format!("no real-time priority: {error}"), help));
    }
    let mut programs = Programs::of(plan, &places);
    programs.prepare()?;
    let (begun, used) = (sys::monotonic(), sys::thread_time());
    let mut engine = Engine::new(simulation, Monotonic { start: begun, fds }, ports);
    let mut failed = None;
    let ended = engine.run(&mut |now| {
        if !alive(now.as_secs_f64()) {
            programs.reason = Reason::Stopped;
            return Wish::End;
        }
        programs.look(now).unwrap_or_else(|error| {
            failed = Some(error);
            Wish::End
        })
    });
    let (wall, processor) = (sys::monotonic() - begun, Duration(sys::thread_time().0.saturating_sub(used.0)));
    if plan.real_time {
        let _usual = sys::set_real_time(false);
    }
    sys::set_timer_slack(slack);
    let lost: Value = places
        .iter()
        .map(|p| (p.name.to_string(), json!(p.lost_in_device())))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let reason = programs.reason;
    let programs = programs.end();
    drop(places);
    let ended = ended?;
    if let Some(error) = failed {
        return Err(error);
    }
    let measured = |report: &Report| {
        let mut live = report.to_json();
        live["ended_s"] = json!(ended.as_secs_f64());
        live["ended_by"] = json!(reason.name());
        live["processor_share"] = json!(processor.0 as f64 / wall.max(1) as f64);
        live["lost_before_entry"] = lost;
        live["programs"] = programs;
        live["nodes"] = nodes.iter().map(node_json).collect();
        live
    };
    let (output, _) = engine.finish(measured)?;
    Ok(output)
}

/// The namespaces of external nodes, and the devices of all of them.
type Opened = (Vec<Place>, Vec<(NodeId, Tun)>);

/// Makes them.
fn open_nodes(plan: &Plan, nodes: &[ExternalNode]) -> Result<Opened, Error> {
    // The mounts keep the file; its name goes at the end.
    let hosts = Hosts::write(nodes)?;
    let (mut places, mut ports) = (Vec::new(), Vec::new());
    for node in nodes.iter().filter(|node| node.external) {
        if let Some((_, device)) = plan.devices.iter().find(|(name, _)| *name == *node.name) {
            ports.push((node.id, open_device(node, device)?));
            continue;
        }
        let (place, tun) = Place::new(node, Some(&hosts))?;
        places.push(place);
        ports.push((node.id, tun));
    }
    Ok((places, ports))
}

fn node_json(node: &ExternalNode) -> Value {
    json!({"name": node.name, "external": node.external, "ipv4": node.v4.to_string(), "ipv6": node.v6.to_string()})
}

/// Programs, shell and devices are at external nodes, and a node has a device or programs.
fn check_names(plan: &Plan, nodes: &[ExternalNode]) -> Result<(), Error> {
    let named = plan.programs.iter().chain(&plan.devices).map(|(node, _)| node).chain(&plan.shell);
    for name in named {
        if !nodes.iter().any(|node| node.external && *node.name == **name) {
            let known: Vec<&str> = nodes.iter().filter(|n| n.external).map(|n| &*n.name).collect();
            let help = format!("external nodes: {}", known.join(", "));
            return Err(refused(format!("`{name}` is no external node"), &help));
        }
    }
    for (name, device) in &plan.devices {
        if plan.programs.iter().map(|(node, _)| node).chain(&plan.shell).any(|node| node == name) {
            let help = "start the program yourself where the device is, or leave `--device` out";
            return Err(refused(
                format!("`{name}` has the device `{device}`, so no program can start in it"),
                help,
            ));
        }
    }
    Ok(())
}

fn open_device(node: &ExternalNode, device: &str) -> Result<Tun, Error> {
    sys::open_tun(device).map(Tun).map_err(|error| {
        let busy = error.raw_os_error() == Some(libc::EBUSY);
        let help = if busy {
            "another program has this device".to_owned()
        } else {
            let user = "ip tuntap add mode tun user $USER name";
            format!(
                "as root: `{user} {device} && ip addr add {}/8 dev {device} && ip link set {device} up`",
                node.v4
            )
        };
        refused(format!("node `{}`: cannot take the device `{device}`: {error}", node.name), &help)
    })
}

/// Something that a live run needs, and whether this machine has it.
fn finding(what: &str, ok: bool, found: impl Into<String>, remedy: &str) -> Value {
    json!({"what": what, "ok": ok, "found": found.into(), "remedy": if ok { "" } else { remedy }})
}

/// What this machine allows, as a JSON list: what, whether, what was found, what to do.
pub fn check() -> Value {
    let mut found = Vec::new();
    let node = ExternalNode {
        // Nobody sends to it.
        id: lasthop_units::Id::from_index(0),
        name: "check".into(),
        external: true,
        v4: Ipv4Addr::new(10, 0, 0, 1),
        v6: Ipv6Addr::LOCALHOST,
    };
    found.push(
        match Hosts::write(std::slice::from_ref(&node)).and_then(|hosts| Place::new(&node, Some(&hosts))) {
            Ok((place, _)) => {
                let own =
                    |kind: &str| std::fs::read_link(format!("/proc/{}/ns/{kind}", place.holder.id())).ok();
                let ours = |kind: &str| std::fs::read_link(format!("/proc/self/ns/{kind}")).ok();
                let how = if own("user") == ours("user") { "as root" } else { "in a user namespace" };
                finding("namespaces and TUN devices", true, format!("made and removed one, {how}"), "")
            }
            Err(error) => {
                let text = error.message();
                let help = error.to_json()[0]["help"].as_str().unwrap_or_default().to_owned();
                finding("namespaces and TUN devices", false, text, &help)
            }
        },
    );
    let real_time = sys::set_real_time(true);
    let _usual = sys::set_real_time(false);
    found.push(match real_time {
        Ok(()) => finding("real-time priority", true, "allowed (`--realtime`)", ""),
        Err(error) => {
            let help =
                "not necessary on a free machine; as root, or with `ulimit -r 1`, `--realtime` sets it";
            finding("real-time priority", false, error.to_string(), help)
        }
    });
    let slack = sys::timer_slack();
    sys::set_timer_slack(Duration(1));
    let least = sys::timer_slack();
    found.push(finding(
        "timer slack",
        least <= Duration(1),
        format!("{slack}, set to {least} for a run"),
        "none",
    ));
    let late = timers(Duration::from_millis(500));
    sys::set_timer_slack(slack);
    let [p50, p99, max] = [late.quantile(0.5), late.quantile(0.99), late.max()];
    let text = format!("a timer of 1 ms, 500 times: p50 {p50}, p99 {p99}, worst {max}");
    let help = "end other programs, or give the run a core of its own (`taskset`) or `--realtime`";
    found.push(finding("timers", p99 < Duration::from_millis(1), text, help));
    found.into()
}

/// How late a timer of 1 ms comes, for `long`.
fn timers(long: Duration) -> Lateness {
    let mut late = Lateness::default();
    let start = sys::monotonic();
    while sys::monotonic() - start < long.0 {
        let due = sys::monotonic() + 1_000_000;
        sys::wait(&mut [], Duration(due - sys::monotonic().min(due)));
        late.add(Duration(sys::monotonic().saturating_sub(due)));
    }
    late
}

//! Linux: namespaces with TUN devices, and programs in them.
//!
//! A node is a network namespace in a user namespace, made by a child process without privileges.
//! The child makes a TUN device there and passes its descriptor to this process; nothing of it has
//! a name outside. When the descriptor and the last process no longer exist the kernel removes all
//! of it, also if this process was killed.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use lasthop_sim::{Error, ExternalNode, Files, RunOutput, Scenario};
use lasthop_units::{Duration, Instant, NodeId};
use serde_json::{Value, json};

use crate::engine::{Clock, Engine, MTU, Port, Received, Report, Wish, device_mtu};
use crate::lateness::Lateness;
use crate::plan::Plan;
use crate::sys;

/// A wait that ends so much after its time was no wait alone: this process was stopped.
const STANDSTILL: Duration = Duration::from_millis(1);
/// Each further program starts this much after the one before: a server listens when its client
/// starts.
const GAP: Duration = Duration::from_millis(500);
/// Programs that get SIGTERM have this long to end.
const GRACE: Duration = Duration::from_secs(1);

/// The clock of the machine.
struct Monotonic {
    start: u64,
    fds: Vec<libc::pollfd>,
    scheduled: sys::Scheduled,
    /// The counts after the last wait.
    counted: Option<[u64; 2]>,
}

impl Clock for Monotonic {
    fn now(&mut self) -> Instant {
        Instant(sys::monotonic().saturating_sub(self.start))
    }
    /// The time from the wake-up of a thread by the kernel to its execution is counted by the
    /// kernel as time in which it could have run; so the wait ended that much earlier than now.
    /// Such time before the wait, when another program had the processor, is counted too: the
    /// result is at most too early, and not before the start of the wait.
    fn wait(&mut self, until: Instant) -> Option<Instant> {
        let began = self.now();
        if until <= began {
            return None;
        }
        sys::wait(&mut self.fds, until.since(began));
        let woken = self.now();
        let before = std::mem::replace(&mut self.counted, self.scheduled.read());
        let (Some([waited, runs]), Some([waited_before, runs_before])) = (self.counted, before) else {
            return Some(woken);
        };
        if runs == runs_before {
            return None;
        }
        let runnable = Duration(waited.saturating_sub(waited_before));
        Some(over(began, until, woken, runnable))
    }
}

/// When a wait from `began` until `until` was over, after which this process ran again at `woken`
/// and could have run for `runnable` before. The ports were empty at that moment. A wait is over at
/// `until` at the latest. One that ends far behind it was a standstill, in which packets may have
/// come at any time.
fn over(began: Instant, until: Instant, woken: Instant, runnable: Duration) -> Instant {
    let over = Instant(woken.0.saturating_sub(runnable.0)).max(began);
    if over > until + STANDSTILL { began } else { over.min(until) }
}

/// A TUN device.
pub(crate) struct Tun(pub(crate) File);

impl Port for Tun {
    fn receive(&mut self, buffer: &mut [u8]) -> Received {
        match self.0.read(buffer) {
            Ok(len) if len > 0 => Received::Packet(len),
            Ok(_) => Received::Nothing,
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                Received::Nothing
            }
            Err(_) => Received::Gone,
        }
    }
    fn send(&mut self, packet: &[u8]) -> bool {
        self.0.write(packet).is_ok()
    }
}

/// A node in its own namespace.
struct Place {
    name: Box<str>,
    /// User, network and mount namespace.
    namespaces: [File; 3],
    /// The counters of the device. The file stays readable without the holder.
    counters: File,
    /// Keeps the namespace while no program runs, and ends with its standard input ([`GUARD`]).
    holder: Child,
}

/// Waits for the end of its input, which comes with the end of the run or of this process, and then
/// kills every process of its network namespace: also those that have left their group.
/// Where /proc has the numbers of another PID namespace it kills none.
const GUARD: &str = "read -r _; [ /proc/$$/ns/net -ef /proc/self/ns/net ] || exit 1; \
     for try in 1 2 3 4 5 6 7 8 9; do n=; for p in /proc/[0-9]*; do \
     [ \"${p#/proc/}\" != $$ ] && [ \"$p/ns/net\" -ef /proc/self/ns/net ] && kill -9 \"${p#/proc/}\" && n=1; \
     done; [ $n ] || exit 0; done";
/// A guard that has not ended after so long is killed.
const GUARD_TIME: Duration = Duration::from_secs(2);

/// Packets that the kernel did not put into a device because the run did not take them in time (the
/// device's queue was full), and packets that it did not take out of the device, by `counters`, the
/// text of `/proc/net/dev`. Both are `None` where the device is gone.
fn lost_by(counters: &str, device: &str) -> [Option<u64>; 2] {
    let own = counters.lines().find_map(|line| line.trim().strip_prefix(device)?.strip_prefix(':'));
    let columns: Vec<&str> = own.unwrap_or_default().split_whitespace().collect();
    // Receive has eight columns: bytes, packets, errs, drop and others; transmit begins as that.
    [11, 3].map(|column| columns.get(column)?.parse().ok())
}

/// A device that was given by name, in the network namespace of this process.
struct Given {
    node: Box<str>,
    device: String,
    before: [Option<u64>; 2],
}

impl Given {
    fn new(node: &ExternalNode, device: &str) -> Given {
        Given { node: node.name.clone(), device: device.to_owned(), before: Given::lost(device) }
    }
    fn lost(device: &str) -> [Option<u64>; 2] {
        // Unlike /sys it shows the namespace of the thread that reads it.
        lost_by(&std::fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default(), device)
    }
    /// As [`lost_by`], since the run has the device.
    fn lost_in_device(&self) -> [Option<u64>; 2] {
        let now = Given::lost(&self.device);
        [0, 1].map(|i: usize| now[i]?.checked_sub(self.before[i]?))
    }
}

/// A program that runs.
struct Program {
    node: Box<str>,
    command: String,
    child: Child,
    status: Option<ExitStatus>,
    /// It is the user's shell.
    shell: bool,
}

/// The hosts file of all namespaces, removed when these are there. It is locked until then: one
/// without a lock was left by a run that was killed.
struct Hosts {
    path: PathBuf,
    file: File,
}

/// What the names of these files begin with.
const HOSTS: &str = "lasthop-hosts-";

impl Hosts {
    fn write(nodes: &[ExternalNode]) -> Result<Hosts, Error> {
        Hosts::remove_left();
        let mut text = String::from("127.0.0.1 localhost\n::1 localhost\n");
        for node in nodes {
            text += &format!("{} {}\n{} {}.ip6\n", node.v4, node.name, node.v6, node.name);
        }
        // Another run may remove the file before it is locked.
        loop {
            let name = format!("{HOSTS}{}-{}", std::process::id(), sys::monotonic());
            let path = std::env::temp_dir().join(name);
            let made =
                Hosts::at(&path, &text).map_err(|source| Error::File { path, doing: "write", source })?;
            if let Some(hosts) = made {
                return Ok(hosts);
            }
        }
    }

    /// A file with this text; `None`: it was removed at once.
    fn at(path: &Path, text: &str) -> io::Result<Option<Hosts>> {
        // The folder is everyone's: a file or link that is there is not written to.
        let file = File::options().write(true).create_new(true).open(path)?;
        let mut hosts = Hosts { path: path.to_owned(), file };
        hosts.file.lock()?;
        hosts.file.write_all(text.as_bytes())?;
        Ok((hosts.file.metadata()?.nlink() > 0).then_some(hosts))
    }

    /// Removes files of this user's runs that were killed.
    fn remove_left() {
        let Ok(folder) = std::fs::read_dir(std::env::temp_dir()) else { return };
        let (user, _) = sys::user();
        for entry in folder.flatten() {
            let own = entry.file_name().as_bytes().starts_with(HOSTS.as_bytes())
                && entry.metadata().is_ok_and(|about| about.is_file() && about.uid() == user);
            if own
                && let Ok(file) = File::open(entry.path())
                && file.try_lock().is_ok()
            {
                let _gone = std::fs::remove_file(entry.path());
            }
        }
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        let _gone = std::fs::remove_file(&self.path);
    }
}

fn refused(message: String, help: &str) -> Error {
    lasthop_sim::config::Diagnostic::error("", message).help(help.to_owned()).into()
}

/// The remedy for a step that failed.
fn remedy(step: usize, error: &io::Error) -> String {
    if error.raw_os_error() == Some(libc::EMFILE) {
        return "each node needs six open files: raise the limit (`ulimit -n 10000`)".to_owned();
    }
    match step {
        1..=3 => "this system does not let users create namespaces. As root set \
                      `sysctl kernel.unprivileged_userns_clone=1` (Debian), \
                      `sysctl kernel.apparmor_restrict_unprivileged_userns=0` (Ubuntu) or \
                      `sysctl user.max_user_namespaces=10000`; in a container run it with \
                      `--privileged` or `--cap-add NET_ADMIN --cap-add SYS_ADMIN`; or make a device \
                      as root (`ip tuntap add mode tun user $USER name tun0`) and give it with \
                      `--device NODE=tun0`"
            .to_owned(),
        4 => "create the file /etc/hosts".to_owned(),
        5 if error.kind() == io::ErrorKind::NotFound => {
            "load the module as root (`modprobe tun`); in a container run it with \
             `--device /dev/net/tun`"
                .to_owned()
        }
        5 => "allow users to open it, as root: `chmod 666 /dev/net/tun`".to_owned(),
        _ if error.raw_os_error() == Some(libc::ENOTTY) => {
            "/dev/net/tun is another file than the TUN driver's: as root `modprobe tun`, then \
             `mknod /dev/net/tun c 10 200` if it is missing"
                .to_owned()
        }
        _ => "`lasthop live --check` shows what this machine allows".to_owned(),
    }
}

impl Place {
    /// A new namespace with its device.
    fn new(node: &ExternalNode, mtu: u32, hosts: Option<&Hosts>) -> Result<(Place, Tun), Error> {
        let failed = |step: usize, error: &io::Error| {
            let what = sys::STEPS.get(step).unwrap_or(&"start");
            refused(format!("node `{}`: cannot {what}: {error}", node.name), &remedy(step, error))
        };
        let other = |error: io::Error| failed(usize::MAX, &error);
        let (ours, theirs) = UnixStream::pair().map_err(other)?;
        let hosts = hosts.and_then(|hosts| CString::new(hosts.path.as_os_str().as_bytes()).ok());
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(GUARD).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        sys::Setup::new(&theirs, (node.v4, node.v6), mtu, hosts).apply(&mut command);
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
        let open = |file| File::open(format!("/proc/{}/{file}", holder.id()));
        let files = || Ok(([open("ns/user")?, open("ns/net")?, open("ns/mnt")?], open("net/dev")?));
        match files() {
            Ok((namespaces, counters)) => {
                let place = Place { name: node.name.clone(), namespaces, counters, holder };
                Ok((place, Tun(File::from(tun))))
            }
            Err(error) => {
                stop(&mut holder);
                Err(other(error))
            }
        }
    }

    fn spawn(
        &self,
        mut command: Command,
        group: bool,
        to_stderr: bool,
        slack: Duration,
    ) -> io::Result<Child> {
        let folder = std::env::current_dir().unwrap_or_default();
        command.env("LASTHOP_NODE", &*self.name);
        sys::Join {
            namespaces: [0, 1, 2].map(|i: usize| self.namespaces[i].as_raw_fd()),
            folder: CString::new(folder.as_os_str().as_bytes()).unwrap_or_default(),
            group,
            to_stderr,
            slack,
            parent: std::process::id(),
        }
        .apply(&mut command);
        command.spawn()
    }

    /// As [`lost_by`], since the device was made.
    fn lost_in_device(&mut self) -> [Option<u64>; 2] {
        let mut text = String::new();
        let _gone = self.counters.read_to_string(&mut text);
        lost_by(&text, sys::DEVICE)
    }

    /// Kills what still runs in the namespace; the guards of several places do it at the same time.
    fn begin_end(&mut self) {
        if self.holder.try_wait().is_ok_and(|status| status.is_some()) {
            // It was killed.
            let mut guard = Command::new("/bin/sh");
            guard.arg("-c").arg(GUARD).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            if let Ok(guard) = self.spawn(guard, true, false, sys::timer_slack()) {
                self.holder = guard;
            }
        }
        self.holder.stdin = None;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.begin_end();
        let until = sys::monotonic() + GUARD_TIME.0;
        while sys::monotonic() < until && self.holder.try_wait().is_ok_and(|status| status.is_none()) {
            sys::wait(&mut [], Duration::from_millis(1));
        }
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

/// The reason of the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    Duration,
    Program,
    Failed,
    Stopped,
    Gone,
}

impl Reason {
    const fn name(self) -> &'static str {
        match self {
            Reason::Duration => "duration",
            Reason::Program => "program",
            Reason::Failed => "program-failed",
            Reason::Stopped => "stopped",
            Reason::Gone => "device-gone",
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
    /// The timer slack that programs get.
    slack: Duration,
    /// The terminal as it was before a shell ran.
    terminal: Option<sys::Terminal>,
}

impl<'a> Programs<'a> {
    fn of(plan: &'a Plan, places: &'a [Place], slack: Duration) -> Programs<'a> {
        let commands = plan.programs.iter().map(|(node, command)| (node.as_str(), Some(command.as_str())));
        let shell = plan.shell.iter().map(|node| (node.as_str(), None));
        let mut waiting: Vec<_> = (0..)
            .zip(commands.chain(shell))
            .map(|(i, (node, command))| (Instant(GAP.0 * i), node, command))
            .collect();
        waiting.reverse();
        let (running, reason) = (Vec::new(), Reason::Duration);
        let terminal = plan.shell.as_ref().and_then(|_| sys::Terminal::of_input());
        Programs { plan, places, running, waiting, reason, slack, terminal }
    }

    /// Starts the programs that are due; ends the run when its last program has ended, or one has
    /// failed.
    fn look(&mut self, now: Instant) -> Result<Wish, Error> {
        while let Some((_, node, command)) = self.waiting.pop_if(|(at, ..)| *at <= now) {
            self.start(node, command)?;
        }
        for i in 0..self.running.len() {
            let before = self.running[i].status.is_some();
            if self.running[i].ended() && !before && self.running[i].status.is_some_and(|s| !s.success()) {
                self.reason = if self.running[i].shell { Reason::Program } else { Reason::Failed };
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

    /// Starts the programs that are due. A program was created before the run and waits for a line:
    /// creating a process takes milliseconds, in which the simulation would not advance.
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
        let child = place.spawn(process, group, self.plan.quiet && group, self.slack).map_err(|error| {
            let help = "`lasthop live --check` shows what this machine allows";
            refused(format!("node `{node}`: cannot start `{command}`: {error}"), help)
        })?;
        let (node, command) = (node.into(), command.to_owned());
        self.running.push(Program { node, command, child, status: None, shell: !group });
        Ok(())
    }

    /// Sends SIGTERM to all programs, then kills them. Their groups' other processes end with the
    /// places.
    fn end(&mut self) -> Value {
        for p in &mut self.running {
            p.ended();
        }
        let by_itself: Vec<bool> = self.running.iter().map(|p| p.status.is_some()).collect();
        for p in self.running.iter().filter(|p| p.status.is_none()) {
            // A shell at a terminal takes no SIGTERM. SIGHUP is the end of its terminal.
            sys::signal(p.child.id(), !p.shell, if p.shell { libc::SIGHUP } else { libc::SIGTERM });
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
        let found = self.running.iter().zip(by_itself).map(of).collect();
        self.running.clear();
        if let Some(terminal) = &self.terminal {
            terminal.restore();
        }
        found
    }
}

/// Real-time priority where it is requested, and timers without slack, until it is dropped.
struct Priority {
    before: Option<sys::Schedule>,
    slack: Duration,
}

impl Priority {
    fn set(real_time: bool) -> io::Result<Priority> {
        let before = if real_time { Some(sys::Schedule::now()?) } else { None };
        if real_time {
            sys::Schedule::real_time().set()?;
        }
        let slack = sys::timer_slack();
        sys::set_timer_slack(Duration(1));
        Ok(Priority { before, slack })
    }
}

impl Drop for Priority {
    fn drop(&mut self) {
        sys::set_timer_slack(self.slack);
        if let Some(before) = self.before {
            let _usual = before.set();
        }
    }
}

/// Runs `scenario`, which has external nodes, in real time, for its duration or until the last
/// program of `plan` has ended. `alive` gets the time and returns whether to continue; a stopped
/// run has results up to then. The run's measurements of itself are under `live` in the summary.
///
/// # Errors
/// A requirement that the machine does not meet, with the remedy; errors of the simulation.
pub fn run(
    scenario: &Scenario,
    plan: &Plan,
    files: Files<'_>,
    alive: &mut dyn FnMut(f64) -> bool,
) -> Result<RunOutput, Error> {
    let mut simulation = lasthop_sim::open_external(scenario, files)?;
    let nodes = simulation.outside().nodes().to_vec();
    check_names(plan, &nodes)?;
    let mtu_of = |node: NodeId| device_mtu(&simulation.outside(), node);
    let (mut places, given, ports) = open_nodes(plan, &nodes, mtu_of)?;
    let fds = ports.iter().map(|(_, tun)| sys::readable(tun.0.as_raw_fd())).collect();
    let mut programs = Programs::of(plan, &places, sys::timer_slack());
    programs.prepare()?;
    let priority = Priority::set(plan.real_time).map_err(|error| {
        let help = "run it as root, or raise RLIMIT_RTPRIO (`ulimit -r 1`), or leave `--realtime` out";
        refused(format!("no real-time priority: {error}"), help)
    })?;
    let scheduled = sys::Scheduled::of_this_thread();
    let counted = scheduled.read();
    let (begun, used) = (sys::monotonic(), sys::thread_time());
    let clock = Monotonic { start: begun, fds, scheduled, counted };
    let mut engine = Engine::new(simulation, clock, ports);
    engine.report.late_limit = Duration((plan.late_limit * 1e9) as u64);
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
    drop(priority);
    let gone = engine.report.gone.map(|id| nodes.iter().find(|node| node.id == id).map(|node| &*node.name));
    let reason = if gone.is_some() { Reason::Gone } else { programs.reason };
    let programs = programs.end();
    let lost = lost_in_devices(&mut places, &given);
    places.iter_mut().for_each(Place::begin_end);
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
        let [before, after] = lost;
        live["lost_before_entry"] = before.into();
        live["lost_after_exit"] = after.into();
        live["device_gone_at"] = json!(gone);
        live["entries_include_wake_up"] = json!(counted.is_some());
        live["programs"] = programs;
        live["nodes"] = nodes.iter().map(node_json).collect();
        live
    };
    let (output, _) = engine.finish(measured)?;
    Ok(output)
}

/// What the devices of the nodes have lost, by name: before the simulation, and behind it.
fn lost_in_devices(places: &mut [Place], given: &[Given]) -> [serde_json::Map<String, Value>; 2] {
    let mut lost = [serde_json::Map::new(), serde_json::Map::new()];
    let of_places = places.iter_mut().map(|place| (place.lost_in_device(), &place.name));
    let of_given = given.iter().map(|given| (given.lost_in_device(), &given.node));
    for (counts, node) in of_places.chain(of_given) {
        for (lost, count) in lost.iter_mut().zip(counts) {
            lost.insert(node.to_string(), json!(count));
        }
    }
    lost
}

/// The namespaces of external nodes, the devices that were given, and the devices of all nodes.
type Opened = (Vec<Place>, Vec<Given>, Vec<(NodeId, Tun)>);

/// Makes them. `mtu` has what a node's links take.
fn open_nodes(
    plan: &Plan,
    nodes: &[ExternalNode],
    mut mtu: impl FnMut(NodeId) -> u32,
) -> Result<Opened, Error> {
    // The mounts keep the file; its name is removed at the end.
    let hosts = Hosts::write(nodes)?;
    let (mut places, mut given, mut ports) = (Vec::new(), Vec::new(), Vec::new());
    for node in nodes.iter().filter(|node| node.external) {
        if let Some((_, device)) = plan.devices.iter().find(|(name, _)| *name == *node.name) {
            let tun = open_device(node, device)?;
            let own = |n: &&ExternalNode| !plan.devices.iter().any(|(name, _)| *name == *n.name);
            check_routes(node, device, nodes.iter().filter(own))?;
            given.push(Given::new(node, device));
            ports.push((node.id, tun));
            continue;
        }
        let (place, tun) = Place::new(node, mtu(node.id), Some(&hosts))?;
        places.push(place);
        ports.push((node.id, tun));
    }
    Ok((places, given, ports))
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
    for (i, (name, device)) in plan.devices.iter().enumerate() {
        if let Some((other, other_device)) =
            plan.devices[..i].iter().find(|(other, d)| other == name || d == device)
        {
            let message = format!("`{name}={device}` and `{other}={other_device}` share a node or a device");
            return Err(refused(message, "give each node one device of its own"));
        }
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

/// Takes a device that exists, is up and has the node's address.
fn open_device(node: &ExternalNode, device: &str) -> Result<Tun, Error> {
    let commands = |device: &str| {
        let make = format!("ip tuntap add mode tun user $USER name {device}");
        let address = format!("ip addr add {}/8 dev {device}", node.v4);
        (make, address, format!("ip link set {device} up"))
    };
    let (make, address, up) = commands(device);
    let wrong = |what: String, help: String| {
        refused(format!("node `{}`: cannot take the device `{device}`: {what}", node.name), &help)
    };
    let Some((addresses, is_up)) = sys::addresses(device) else {
        return Err(wrong("there is none".to_owned(), format!("as root: `{make} && {address} && {up}`")));
    };
    let shown = PathBuf::from("/sys/class/net").join(device);
    if shown.exists() && !shown.join("tun_flags").exists() {
        let (make, address, up) = commands("tun0");
        let help = format!("give another one; as root: `{make} && {address} && {up}`");
        return Err(wrong("it is no TUN device".to_owned(), help));
    }
    if !addresses.contains(&node.v4) {
        return Err(wrong(format!("it has not the address {}", node.v4), format!("as root: `{address}`")));
    }
    if !is_up {
        return Err(wrong("it is down".to_owned(), format!("as root: `{up}`")));
    }
    sys::open_tun(device).map(Tun).map_err(|error| {
        let help = match error.raw_os_error() {
            Some(libc::EBUSY) => "another program has this device".to_owned(),
            Some(libc::EINVAL) => "it is not a TUN device with one queue".to_owned(),
            _ => format!("make it yours, as root: `ip link del {device} && {make} && {address} && {up}`"),
        };
        wrong(error.to_string(), help)
    })
}

/// Checks that packets from this host to `others` enter the device of `node`, and that no address
/// or other route of the host has precedence.
fn check_routes<'a>(
    node: &ExternalNode,
    device: &str,
    others: impl Iterator<Item = &'a ExternalNode>,
) -> Result<(), Error> {
    for other in others {
        // Without a packet: such a socket gets the address that the kernel's route has.
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0));
        let from = socket.and_then(|socket| {
            socket.connect((other.v4, DISCARD))?;
            socket.local_addr()
        });
        let from = from.map(|from| from.ip());
        if from.as_ref().is_ok_and(|from| *from == node.v4) {
            continue;
        }
        let why = match from {
            Ok(IpAddr::V4(from)) if from == other.v4 => "this host has that address too".to_owned(),
            Ok(from) => format!("this host sends them from its address {from}"),
            Err(error) => format!("this host has no route ({error})"),
        };
        let help = format!(
            "`ip route get {}` shows where they go. Give the device its address with the prefix length 8, \
             put it into a network namespace without other addresses in 10.0.0.0/8 and run the command \
             there, or leave `--device` out: Lasthop makes a namespace then",
            other.v4
        );
        return Err(refused(
            format!(
                "node `{}`: packets to {} (`{}`) do not enter the device `{device}`: {why}",
                node.name, other.v4, other.name
            ),
            &help,
        ));
    }
    Ok(())
}

/// A port of UDP to which nothing is sent here (RFC 863).
const DISCARD: u16 = 9;

/// What a machine has for live runs, and whether that is enough.
fn finding(what: &str, ok: bool, found: impl Into<String>, remedy: &str) -> Value {
    json!({"what": what, "ok": ok, "found": found.into(), "remedy": if ok { "" } else { remedy }})
}

/// True if programs in namespaces are root of this machine: this process is, and the system allows
/// no user namespaces.
pub fn programs_are_root() -> bool {
    sys::user().0 == 0 && !sys::allows_user_namespaces()
}

/// The requirements and this machine's results, as a JSON list: requirement, whether it is met,
/// finding, remedy.
pub fn check() -> Value {
    let mut found = Vec::new();
    let node = ExternalNode {
        // No packet is sent to it.
        id: lasthop_units::Id::from_index(0),
        name: "check".into(),
        external: true,
        v4: Ipv4Addr::new(10, 0, 0, 1),
        v6: Ipv6Addr::LOCALHOST,
    };
    found.push(
        match Hosts::write(std::slice::from_ref(&node)).and_then(|hosts| Place::new(&node, MTU, Some(&hosts)))
        {
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
    found.push(match Priority::set(true) {
        Ok(_) => finding("real-time priority", true, "allowed (`--realtime`)", ""),
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
    let ms = |late: Duration| format!("{:.3} ms", late.as_secs_f64() * 1e3);
    let [half, most, worst] = [p50, p99, max].map(ms);
    let text = format!("timers of 1 ms were late by {half} (p50), {most} (p99), {worst} (worst)");
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Times in us: the wait begins at 1000 and is to end at 3000.
    #[test]
    fn ports_were_empty_at_the_latest_when_a_wait_was_to_end() {
        let us = |n: u64| Instant(n * 1000);
        let over = |woken, runnable| over(us(1000), us(3000), us(woken), Duration::from_micros(runnable));
        assert_eq!(over(2000, 0), us(2000), "a packet came");
        assert_eq!(over(2500, 500), us(2000), "a packet came, and another program had the processor");
        assert_eq!(over(3200, 0), us(3000), "the timer was late");
        assert_eq!(over(9000, 5950), us(3000), "the timer came in time, another program ran");
        assert_eq!(over(1200, 900), us(1000), "time before the wait is counted too");
        // SIGSTOP for 1.2 s: packets may have come in all of it.
        assert_eq!(over(1_202_000, 0), us(1000));
    }

    /// Columns as in `dev_seq_printf_stats`, net/core/net-procfs.c.
    #[test]
    fn losses_of_a_device_are_its_drops_of_either_direction() {
        let text = "Inter-|   Receive                |  Transmit\n face |bytes\n    \
            lo: 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9\n  \
            tun7: 800 10 1 3 0 0 0 0 700 9 2 5 0 0 0 0\n tun77: 8 1 1 4 0 0 0 0 7 9 2 6 0 0 0 0\n";
        assert_eq!(lost_by(text, "tun7"), [Some(5), Some(3)]);
        assert_eq!(lost_by(text, "tun77"), [Some(6), Some(4)]);
        assert_eq!(lost_by(text, "tun"), [None, None]);
    }
}

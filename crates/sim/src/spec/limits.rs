//! What a run may hold: numbers of UEs, stations and flows, and an estimate of the memory that it
//! takes. Looked at before any name of a group is made and anything is built.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use lasthop_net::DirectionConfig;
use lasthop_net::app::AppConfig;
use lasthop_units::{Bitrate, Bytes, Duration};

use super::crossing::from_opener;
use super::ways::{Way, Ways};
use super::{FlowSpec, LinkSpec, Spec, Transport};
use crate::config::{Diagnostic, Diagnostics, Document};

/// Flows of one scenario, all counts together.
const MAX_FLOWS: u64 = 100_000;
const MAX_UES: u64 = 20_000;
/// Everybody on a channel receives everybody else.
const MAX_STATIONS: u64 = 2_000;

/// Measured on a 64-bit machine: both ends of an idle TCP flow, an idle UE with its bearer, a
/// station, a packet on its way with what its sender keeps of it [bytes].
const FLOW: u64 = 6_000;
const UE: u64 = 45_000;
const STATION: u64 = 27_000;
const PACKET: u64 = 240;

/// False when there are more UEs, stations or flows than fit: what is said then is in `found`, and
/// nothing else can be.
pub fn counts(spec: &Spec, doc: &Document, found: &mut Diagnostics) -> bool {
    let ues = spec.ue.values().map(|u| u64::from(u.count)).sum::<u64>();
    let stations = spec.station.values().map(|s| u64::from(s.count)).sum::<u64>();
    let mut good = true;
    for (key, n, most, what) in [("ue", ues, MAX_UES, "UEs"), ("station", stations, MAX_STATIONS, "stations")]
    {
        if n > most {
            let told = format!("{n} {what}: at most {most} fit in a run");
            found.push(doc.error_at(key, told).help("lower `count`"));
            good = false;
        }
    }
    if !good {
        return false;
    }
    let flows = flows(spec);
    if flows > MAX_FLOWS {
        let told = format!("{flows} flows: at most {MAX_FLOWS} fit in a run");
        found.push(doc.error_at("flow", told).help("lower `count`"));
        return false;
    }
    true
}

fn flows(spec: &Spec) -> u64 {
    spec.flow.values().map(|f| spec.pairs_of(f).saturating_mul(f.count.into())).fold(0, u64::saturating_add)
}

/// An estimate of the memory that a run takes, link by link, and what this machine has.
#[derive(Clone, Debug)]
pub struct Memory {
    length: Duration,
    /// What flows send over each direction of a link, forward first.
    loads: Arc<BTreeMap<String, [Loads; 2]>>,
    /// What the links may hold [bytes].
    held: BTreeMap<String, u128>,
    /// What flows, UEs and stations take [bytes].
    built: u64,
    all: u128,
    limit: u64,
}

/// The data of UDP and of TCP flows that crosses one direction of a link.
#[derive(Clone, Copy, Debug, Default)]
struct Loads {
    offered: Load,
    windows: Load,
}

impl Memory {
    /// The estimate for `spec`, which has been checked.
    pub fn of(spec: &Spec) -> Memory {
        Memory::with_limit(spec, machine_memory().unwrap_or(u64::MAX))
    }

    fn with_limit(spec: &Spec, limit: u64) -> Memory {
        let ues = spec.ue.values().map(|u| u64::from(u.count)).sum::<u64>();
        let stations = spec.station.values().map(|s| u64::from(s.count)).sum::<u64>();
        let built = flows(spec) * FLOW + ues * UE + stations * STATION;
        let loads = Arc::new(loads(spec));
        let length = spec.scenario.duration;
        let mut memory = Memory { length, loads, held: BTreeMap::new(), built, all: built.into(), limit };
        for name in memory.loads.clone().keys() {
            memory.set_link(name, &spec.link[name]);
        }
        memory
    }

    /// The link of this name is now such.
    pub fn set_link(&mut self, name: &str, link: &LinkSpec) {
        let Some(loads) = self.loads.get(name) else { return };
        let held = [true, false].into_iter().zip(loads);
        let held =
            held.map(|(forward, load)| u128::from(on_link(load, &link.direction(forward), self.length)));
        let held = held.sum();
        self.all += held;
        self.all -= self.held.insert(name.to_owned(), held).unwrap_or(0);
    }

    /// The error when this machine's memory cannot hold the run.
    pub fn refusal(&self, doc: &Document) -> Option<Diagnostic> {
        if self.all <= self.limit.into() {
            return None;
        }
        let built = (u128::from(self.built), "scenario".to_owned(), "lower `count`");
        let remedy = "limit `queue`, or lower the buffers (`tcp.receive_buffer`), rates or `duration`";
        let links = self
            .held
            .iter()
            .map(|(name, held)| (*held, format!("link.{}", crate::config::dotted([name])), remedy));
        // The first of the largest.
        let most = links.fold(built, |most, next| if next.0 > most.0 { next } else { most });
        let gb = |bytes: u128| format!("{:.1} GB", bytes as f64 / 1e9);
        let told = format!(
            "the run may need {} of memory, {} of it here; this machine has {}",
            gb(self.all),
            gb(most.0),
            gb(self.limit.into())
        );
        Some(doc.error_at(&most.1, told).help(most.2))
    }
}

/// What flows send over links, by the ways that the world will find for them.
fn loads(spec: &Spec) -> BTreeMap<String, [Loads; 2]> {
    let mut loads: BTreeMap<String, [Loads; 2]> = BTreeMap::new();
    let ways = Ways::of(spec);
    for flow in spec.flow.values() {
        let n = u64::from(flow.count);
        for [from, to] in spec.ends_of(flow) {
            let [from, to] = if from_opener(&flow.app) { [from, to] } else { [to, from] };
            for (_, way) in ways.between(&from, &to) {
                let Way::Link { name, forward, .. } = way else { continue };
                let load = &mut loads.entry((*name).to_owned()).or_default()[usize::from(!forward)];
                match flow.transport {
                    Transport::Udp => load.offered.add(n, datagrams(flow)),
                    Transport::Tcp => load.windows.add(n, window(flow)),
                }
            }
        }
    }
    loads
}

/// The memory that packets in one direction of a link may take at the end of the run: those that
/// wait and those on the wire. An upper bound of what arrives.
fn on_link(load: &Loads, d: &DirectionConfig, length: Duration) -> u64 {
    let rate = match (d.rate, &d.trace) {
        (Some(rate), _) => rate,
        (None, None) => Bitrate(u64::MAX),
        // A trace is read later; its packets are counted as if it let nothing through.
        (None, Some(_)) => Bitrate(0),
    };
    let Loads { offered, windows } = load;
    // Only what was delivered makes a window grow: at most two segments for each.
    let carried = rate.bytes_in(length).0;
    let windows =
        windows.bytes.min(carried.saturating_mul(2).saturating_add(windows.flows * 100_000)) / SEGMENT;
    let excess = Bitrate(offered.bytes.saturating_sub(rate.0));
    let waiting = excess.bytes_in(length).0 / offered.size.max(1);
    let room = d.queue.limit();
    let by_bytes = room.bytes.map_or(u64::MAX, |b| b / offered.size.clamp(64, SEGMENT));
    let room = by_bytes.min(room.packets.map_or(u64::MAX, u64::from));
    let flying = Bitrate(offered.bytes.min(rate.0)).bytes_in(min(d.delay, length)).0 / offered.size.max(1);
    let wire = windows.min(rate.bytes_in(min(d.delay, length)).0 / SEGMENT);
    room.min(waiting.saturating_add(windows))
        .saturating_add(flying)
        .saturating_add(wire)
        .saturating_mul(PACKET)
}

/// Payload of a usual TCP segment [bytes].
const SEGMENT: u64 = 1448;

fn min(a: Duration, b: Duration) -> Duration {
    if a < b { a } else { b }
}

/// What several flows offer: a rate [bit/s] or windows, and the smallest packet.
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    bytes: u64,
    flows: u64,
    size: u64,
}

impl Load {
    fn add(&mut self, flows: u64, (each, size): (u64, Bytes)) {
        self.bytes = self.bytes.saturating_add(each.saturating_mul(flows));
        self.flows = self.flows.saturating_add(flows);
        self.size = if self.size == 0 { size.0 } else { self.size.min(size.0) };
    }
}

/// Rate and size of the packets of a UDP application; those of people (calls, games) are too slow
/// to count.
fn datagrams(flow: &FlowSpec) -> (u64, Bytes) {
    match &flow.app {
        AppConfig::Cbr(c) => (c.rate.0, c.size),
        AppConfig::OnOff(c) => (c.rate.0, c.size),
        _ => (0, Bytes(SEGMENT)),
    }
}

/// The largest window of a TCP flow, or all that it sends.
fn window(flow: &FlowSpec) -> (u64, Bytes) {
    let window = flow.tcp.resolve().map_or(0, |c| c.receive_buffer.min(c.send_buffer.unwrap_or(u64::MAX)));
    let sent = match &flow.app {
        AppConfig::File(c) => c.size.0,
        AppConfig::Cbr(c) => c.rate.0,
        AppConfig::OnOff(c) => c.rate.0,
        _ => u64::MAX,
    };
    (window.min(sent), Bytes(SEGMENT))
}

/// The memory of the machine, or of the control group around the process [bytes].
fn machine_memory() -> Option<u64> {
    let about = fs::read_to_string("/proc/meminfo").ok()?;
    let total = about.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
    let total: u64 = total.trim().strip_suffix("kB")?.trim().parse().ok()?;
    let group = fs::read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(|m| m.trim().parse().ok());
    Some((total * 1024).min(group.unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str, gigabytes: u64) -> String {
        let head = "[scenario]\nname = 'm'\nduration = '1000 s'\n";
        let doc = Document::parse(&format!("{head}{text}"), "t.toml").unwrap();
        let spec: Spec = doc.read().unwrap();
        let refused = Memory::with_limit(&spec, gigabytes << 30).refusal(&doc);
        refused.map(|d| Diagnostics::from(d).to_string()).unwrap_or_default()
    }

    /// 10 Gbit/s into 1 Mbit/s for 1000 s: 1.25 TB in packets of 1000 B wait, 240 B of memory each,
    /// about 300 GB.
    #[test]
    fn an_infinite_queue_that_fills_is_refused_at_its_link_and_a_limited_one_is_not() {
        let text = "[link.slow]\nbetween = ['a', 'b']\nrate = '1 Mbit/s'\nqueue = 'infinite'\n\
                    [flow.f]\nfrom = 'a'\nto = 'b'\ntransport = 'udp'\n\
                    app = { kind = 'cbr', rate = '10 Gbit/s', size = '1000 B' }\n";
        let told = said(text, 100);
        assert!(
            told.contains("t.toml:4:") && told.contains("300.0 GB") && told.contains("limit `queue`"),
            "{told}"
        );
        assert_eq!(said(text, 400), "");
        assert_eq!(said(&text.replace("queue = 'infinite'\n", ""), 1), "");
        assert_eq!(said(&text.replace("10 Gbit/s", "1 Mbit/s"), 1), "");
    }

    /// A thousand windows of 1 GiB in 1448 B are 741 million packets, 178 GB; on a slow link they
    /// never open.
    #[test]
    fn windows_are_counted_where_the_link_is_fast_enough_to_open_them() {
        let text = "[link.fast]\nbetween = ['a', 'b']\nrate = '100 Gbit/s'\nqueue = 'infinite'\n\
                    [flow.f]\nfrom = 'a'\nto = 'b'\ncount = 1000\ntcp.receive_buffer = '1 GiB'\n";
        assert!(said(text, 100).contains("178.0 GB"), "{}", said(text, 100));
        assert_eq!(said(&text.replace("100 Gbit/s", "10 Mbit/s"), 10), "");
        assert_eq!(said(&text.replace("queue = 'infinite'\n", ""), 10), "");
    }

    /// As in the first test, with a second way around the slow link, and with more links beside it
    /// than are searched for the side of a node.
    #[test]
    fn links_in_loops_and_among_many_others_are_counted() {
        let text = "[link.slow]\nbetween = ['a', 'b']\nrate = '1 Mbit/s'\nqueue = 'infinite'\n\
                    [flow.f]\nfrom = 'a'\nto = 'b'\ntransport = 'udp'\n\
                    app = { kind = 'cbr', rate = '10 Gbit/s', size = '1000 B' }\n";
        let link = |n: usize, a: &str, b: &str| format!("[link.l{n}]\nbetween = ['{a}', '{b}']\n");
        let around = format!("{text}{}{}", link(1, "a", "c"), link(2, "c", "b"));
        let many: String = (0..300).map(|n| link(n, &format!("x{n}"), &format!("x{}", n + 1))).collect();
        for text in [around, format!("{text}{many}")] {
            assert!(said(&text, 100).contains("300.0 GB of it here"), "{}", said(&text, 100));
            assert_eq!(said(&text, 400), "");
        }
    }

    #[test]
    fn numbers_are_looked_at_before_names_are_made() {
        for (table, what) in [("[ap.w]\n[station.s]\n", "stations"), ("[cell.c]\n[ue.u]\n", "UEs")] {
            let text = format!("[scenario]\nname = 'm'\nduration = '1 s'\n{table}count = 4294967295\n");
            let told = super::super::Scenario::parse(&text, "t.toml", std::path::Path::new(""), &[]);
            let told = told.unwrap_err().to_string();
            assert!(told.contains(&format!("4294967295 {what}: at most")), "{told}");
        }
    }
}

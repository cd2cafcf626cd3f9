//! An estimate of the memory that a run takes: every buffer and every delay line that its flows can
//! fill. A run for which this machine has too little memory is refused before any object is built.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use lasthop_net::DirectionConfig;
use lasthop_units::{Bitrate, Duration};

use super::buffers::{Buffers, Held, Hop, Loads, Room};
use super::crossing::from_opener;
use super::kinds::ALL;
use super::ways::{Way, Ways};
use super::{LinkSpec, Spec};
use crate::config::{Diagnostic, Document, dotted};

/// Measured on a 64-bit machine: both ends of an idle TCP flow [bytes].
const FLOW: u64 = 6_000;

/// An estimate of the memory of a run, place by place, and the memory of this machine.
#[derive(Clone, Debug)]
pub struct Memory {
    length: Duration,
    /// Loads of flows on each direction of a link, forward first.
    loads: Arc<BTreeMap<String, [Loads; 2]>>,
    /// Upper bounds of the memory of links [bytes].
    held: BTreeMap<String, u128>,
    /// Memory that does not change during the run: flows, the nodes of groups, and buffers other
    /// than those of links.
    fixed: Arc<Vec<Held>>,
    all: u128,
    limit: u64,
}

impl Memory {
    /// The estimate for `spec`, which has been checked and has these `ways`.
    pub fn of(spec: &Spec, ways: &Ways<'_>) -> Memory {
        Memory::with_limit(spec, ways, machine_memory().unwrap_or(u64::MAX))
    }

    fn with_limit(spec: &Spec, ways: &Ways<'_>, limit: u64) -> Memory {
        let nodes = ALL.iter().filter_map(|access| access.population(spec)).map(|p| p.count * p.bytes);
        let built = super::limits::flows(spec) * FLOW + nodes.sum::<u64>();
        let mut fixed = vec![Held { key: "scenario".to_owned(), bytes: built, remedy: "lower `count`" }];
        jitter(spec, &mut fixed);
        let mut buffers = Buffers::after(spec, fixed);
        ALL.iter().for_each(|access| access.count_buffers(spec, &mut buffers));
        let fixed = buffers.into_held();
        let all = fixed.iter().map(|held| u128::from(held.bytes)).sum();
        let loads = Arc::new(loads(spec, ways));
        let (length, fixed) = (spec.scenario.duration, Arc::new(fixed));
        let mut memory = Memory { length, loads, held: BTreeMap::new(), fixed, all, limit };
        for name in memory.loads.clone().keys() {
            memory.set_link(name, &spec.link[name]);
        }
        memory
    }

    /// Updates the links of `changed` to those of `spec`.
    pub fn set_links(&mut self, changed: &Spec, spec: &Spec) {
        changed.link.keys().for_each(|name| self.set_link(name, &spec.link[name]));
    }

    fn set_link(&mut self, name: &str, link: &LinkSpec) {
        let Some(loads) = self.loads.get(name) else { return };
        let held = [true, false].into_iter().zip(loads);
        let held =
            held.map(|(forward, load)| u128::from(on_link(load, &link.direction(forward), self.length)));
        let held = held.sum();
        self.all += held;
        self.all -= self.held.insert(name.to_owned(), held).unwrap_or(0);
    }

    /// The error if this machine's memory is too small for the run.
    pub fn refusal(&self, doc: &Document) -> Option<Diagnostic> {
        if self.all <= self.limit.into() {
            return None;
        }
        let fixed = self.fixed.iter().map(|held| (u128::from(held.bytes), held.key.clone(), held.remedy));
        let links = self.held.iter().map(|(name, held)| (*held, format!("link.{}", dotted([name])), LINK));
        // Of equal ones the first.
        let most = fixed.chain(links).reduce(|most, next| if next.0 > most.0 { next } else { most })?;
        let gb = |bytes: u128| format!("{:.1} GB", bytes as f64 / 1e9);
        let message = format!(
            "the run may need {} of memory, {} of it here; this machine has {}",
            gb(self.all),
            gb(most.0),
            gb(self.limit.into())
        );
        Some(doc.error_at(&most.1, message).help(most.2))
    }
}

/// The remedy for a link.
const LINK: &str =
    "limit `queue`, or lower the delay (`jitter`), the buffers (`tcp.receive_buffer`), rates or `duration`";

/// Loads of flows on links, by the paths that the world will find for them.
fn loads(spec: &Spec, ways: &Ways<'_>) -> BTreeMap<String, [Loads; 2]> {
    let mut loads: BTreeMap<String, [Loads; 2]> = BTreeMap::new();
    for flow in spec.flow.values() {
        for [from, to] in spec.ends_of(flow) {
            let [from, to] = if from_opener(&flow.app) { [from, to] } else { [to, from] };
            for (_, way) in ways.between(&from, &to) {
                let Way::Link { name, forward, .. } = way else { continue };
                let load = &mut loads.entry((*name).to_owned()).or_default()[usize::from(!forward)];
                load.add(flow.count.into(), flow);
            }
        }
    }
    loads
}

/// The packets in one direction of a link.
fn on_link(loads: &Loads, d: &DirectionConfig, length: Duration) -> u64 {
    let (rate, fastest) = match (d.rate, &d.trace) {
        (Some(rate), _) => (rate, rate),
        (None, None) => (Bitrate(u64::MAX), Bitrate(u64::MAX)),
        // A trace is read later; the bound assumes a rate of 0 for the queue, and an infinite rate
        // for packets in transit.
        (None, Some(_)) => (Bitrate(0), Bitrate(u64::MAX)),
    };
    let delay = Duration(d.delay.0.saturating_add(d.jitter.0));
    let once = Hop { rate, fastest, delay, room: Room::queue(&d.queue) }.holds(loads, length);
    if d.duplication.0 > 0.0 { once.saturating_mul(2) } else { once }
}

/// Adds the pipes of `scenario.jitter` at the ends of flows.
fn jitter(spec: &Spec, all: &mut Vec<Held>) {
    let free = Bitrate(u64::MAX);
    let hop = Hop { rate: free, fastest: free, delay: spec.scenario.jitter, room: Room::NONE };
    // Windows are counted where they wait; the pipes do not contain more of them.
    let udp = spec.flow.values().filter(|f| !f.transport.is_stream());
    let bytes = hop.holds(&Loads::of(spec, udp), spec.scenario.duration);
    let remedy = "lower `jitter`, or the rates of the flows";
    all.push(Held { key: "scenario.jitter".to_owned(), bytes, remedy });
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
    use super::super::buffers::PACKET;
    use super::*;

    fn refusal_of(text: &str, gigabytes: u64) -> String {
        let head = "[scenario]\nname = 'm'\nduration = '1000 s'\n";
        let doc = Document::parse(&format!("{head}{text}"), "t.toml").unwrap();
        let spec: Spec = doc.read().unwrap();
        let refused = Memory::with_limit(&spec, &Ways::of(&spec), gigabytes << 30).refusal(&doc);
        refused.map(|d| crate::config::Diagnostics::from(d).to_string()).unwrap_or_default()
    }

    /// 10 Gbit/s into 1 Mbit/s for 1000 s: 1.25 TB in packets of 1000 B wait, 240 B of memory each,
    /// about 300 GB.
    #[test]
    fn an_infinite_queue_that_fills_is_refused_at_its_link_and_a_limited_one_is_not() {
        let text = "[link.slow]\nbetween = ['a', 'b']\nrate = '1 Mbit/s'\nqueue = 'infinite'\n\
                    [flow.f]\nfrom = 'a'\nto = 'b'\ntransport = 'udp'\n\
                    app = { kind = 'cbr', rate = '10 Gbit/s', size = '1000 B' }\n";
        let message = refusal_of(text, 100);
        assert!(
            message.contains("t.toml:4:")
                && message.contains("300.0 GB")
                && message.contains("limit `queue`"),
            "{message}"
        );
        assert_eq!(refusal_of(text, 400), "");
        assert_eq!(refusal_of(&text.replace("queue = 'infinite'\n", ""), 1), "");
        assert_eq!(refusal_of(&text.replace("10 Gbit/s", "1 Mbit/s"), 1), "");
    }

    /// 1 Gbit/s in datagrams of 1000 B for 1000 s are 125 million packets, less those that the path
    /// delivers; at 240 B each 30 GB.
    #[test]
    fn every_buffer_and_delay_line_that_a_flow_can_fill_is_counted() {
        let udp = |from: &str, to: &str| {
            format!(
                "[flow.f]\nfrom = '{from}'\nto = '{to}'\ntransport = 'udp'\n\
                 app = {{ kind = 'cbr', rate = '1 Gbit/s', size = '1000 B' }}\n"
            )
        };
        let link = "[link.l]\nbetween = ['a', 'b']\nrate = '10 Gbit/s'\n";
        let cell = "[link.l]\nbetween = ['a', 'c']\n[cell.c]\n";
        let pair = format!("{cell}[ue.u]\n[ue.v]\nradio.position = ['120 m', '0 m', '1.5 m']\n");
        let umts = "[bearer.d]\nkind = 'umts'\nbetween = ['a', 'u']\n";
        let lte_rlc = "[bearer.d]\nkind = 'lte-rlc'\nbetween = ['a', 'u']\n";
        let wlan = "[link.l]\nbetween = ['a', 'w']\n[ap.w]\n[station.s]\n";
        for (table, from, to, filled, key) in [
            (link, "a", "b", "jitter = '1000 s'\n", "link.l"),
            (link, "a", "b", "delay = '1000 s'\n", "link.l"),
            (cell, "a", "u", "[ue.u]\nrlc.buffer.bytes = 'infinity'\n", "ue.u.rlc.buffer"),
            (cell, "u", "a", "[ue.u]\nrlc.buffer.bytes = 'infinity'\n", "ue.u.rlc.buffer"),
            (cell, "a", "u", "[ue.u]\nip_buffer = 'infinite'\n", "ue.u.rlc.buffer"),
            (cell, "a", "u", "[ue.u]\n[handover]\nx2.rate = '1 bit/s'\n", "handover.x2"),
            (
                &pair,
                "u",
                "v",
                "[sidelink.s]\nbetween = ['u', 'v']\nflows = ['f']\nrlc.buffer.bytes = 'infinity'\n",
                "sidelink.s.rlc.buffer",
            ),
            (umts, "a", "u", "rlc.am.buffer_bytes = '0 B'\n", "bearer.d.rlc.am"),
            (umts, "u", "a", "rlc.am.buffer_bytes = '9000000 GB'\n", "bearer.d.rlc.am"),
            (lte_rlc, "a", "u", "rlc.buffer.bytes = 'infinity'\n", "bearer.d.rlc.buffer"),
            (wlan, "a", "s", "[ap.w.buffer]\nkind = 'fifo'\npackets = 4294967295\n", "ap.w.buffer"),
            (wlan, "s", "a", "packets = 4294967295\n", "station.s.packets"),
        ] {
            let text = format!("{table}{filled}{}", udp(from, to));
            let message = refusal_of(&text, 20);
            assert!(message.contains("the run may need"), "{text}{message}");
            assert!(message.contains(key.rsplit('.').next().unwrap_or(key)), "{key}: {message}");
            assert_eq!(refusal_of(&text, 60), "", "{text}");
            let own = if filled.starts_with("[ue.u]") { "[ue.u]\n" } else { "" };
            assert_eq!(refusal_of(&format!("{table}{own}{}", udp(from, to)), 10), "", "without: {text}");
        }
    }

    /// 1 s of 90 Gbit/s in packets of 64 B at the ends are 176 million packets, 42 GB.
    #[test]
    fn packets_in_processing_times_are_counted() {
        let text = "[link.l]\nbetween = ['a', 'b']\nrate = '100 Gbit/s'\n[flow.f]\nfrom = 'a'\nto = 'b'\n\
                    transport = 'udp'\napp = { kind = 'cbr', rate = '90 Gbit/s', size = '64 B' }\n";
        let head = "[scenario]\nname = 'm'\nduration = '100 s'\njitter = '1 s'\n";
        let spec: Spec = Document::parse(&format!("{head}{text}"), "t.toml").unwrap().read().unwrap();
        let mut all = Vec::new();
        jitter(&spec, &mut all);
        assert_eq!(all[0].bytes, 90_000_000_000 / 8 / 64 * PACKET);
        assert_eq!(refusal_of(text, 10), "");
    }

    /// A thousand windows of 1 GiB in 1448 B are 741 million packets, 178 GB; on a slow link they
    /// do not grow so far.
    #[test]
    fn windows_are_counted_where_the_link_is_fast_enough_for_them() {
        let text = "[link.fast]\nbetween = ['a', 'b']\nrate = '100 Gbit/s'\nqueue = 'infinite'\n\
                    [flow.f]\nfrom = 'a'\nto = 'b'\ncount = 1000\ntcp.receive_buffer = '1 GiB'\n";
        assert!(refusal_of(text, 100).contains("178.0 GB"), "{}", refusal_of(text, 100));
        assert_eq!(refusal_of(&text.replace("100 Gbit/s", "10 Mbit/s"), 10), "");
        assert_eq!(refusal_of(&text.replace("queue = 'infinite'\n", ""), 10), "");
    }

    /// As in the first test, with a second path around the slow link, and with more other links
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
            assert!(refusal_of(&text, 100).contains("300.0 GB of it here"), "{}", refusal_of(&text, 100));
            assert_eq!(refusal_of(&text, 400), "");
        }
    }
}

//! What a run may hold: numbers of UEs, stations and flows, and an estimate of the memory that it
//! takes. Looked at before any name of a group is made and anything is built.

use std::fs;

use lasthop_net::app::AppConfig;
use lasthop_units::{Bitrate, Bytes, Duration};

use super::crossing::Crossing;
use super::{FlowSpec, LinkSpec, Spec, Transport};
use crate::config::{Diagnostics, Document};

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

/// Refuses what this machine's memory cannot hold.
pub fn memory(spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    if let Some(limit) = machine_memory() {
        compare(spec, doc, limit, found);
    }
}

fn compare(spec: &Spec, doc: &Document, limit: u64, found: &mut Diagnostics) {
    let ues = spec.ue.values().map(|u| u64::from(u.count)).sum::<u64>();
    let stations = spec.station.values().map(|s| u64::from(s.count)).sum::<u64>();
    let built = flows(spec) * FLOW + ues * UE + stations * STATION;
    let mut all = built;
    let mut most = (built, "scenario".to_owned(), "lower `count`");
    for (name, link) in &spec.link {
        for forward in [true, false] {
            let held = on_link(spec, name, link, forward);
            all = all.saturating_add(held);
            if held > most.0 {
                let key = format!("link.{}", crate::config::dotted([name]));
                let remedy =
                    "limit `queue`, or lower the buffers (`tcp.receive_buffer`), rates or `duration`";
                most = (held, key, remedy);
            }
        }
    }
    if all > limit {
        let gb = |bytes: u64| format!("{:.1} GB", bytes as f64 / 1e9);
        let told = format!(
            "the run may need {} of memory, {} of it here; this machine has {}",
            gb(all),
            gb(most.0),
            gb(limit)
        );
        found.push(doc.error_at(&most.1, told).help(most.2));
    }
}

/// The memory that packets in one direction of a link may take at the end of the run: those that
/// wait and those on the wire. An upper bound of what arrives, over the flows of which it is
/// certain that they cross the link.
fn on_link(spec: &Spec, name: &str, link: &LinkSpec, forward: bool) -> u64 {
    let d = link.direction(forward);
    let crossing = Crossing::of(spec, name, link);
    let length = spec.scenario.duration;
    let rate = match (d.rate, &d.trace) {
        (Some(rate), _) => rate,
        (None, None) => Bitrate(u64::MAX),
        // A trace is read later; its packets are counted as if it let nothing through.
        (None, Some(_)) => Bitrate(0),
    };
    let (mut offered, mut windows) = (Load::default(), Load::default());
    for flow in spec.flow.values().filter(|f| crossing.data_goes(spec, f) == Some(forward)) {
        let n = spec.pairs_of(flow).saturating_mul(flow.count.into());
        match flow.transport {
            Transport::Udp => offered.add(n, datagrams(flow)),
            Transport::Tcp => windows.add(n, window(flow)),
        }
    }
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
#[derive(Default)]
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
        let mut found = Diagnostics::new();
        compare(&spec, &doc, gigabytes << 30, &mut found);
        found.to_string()
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

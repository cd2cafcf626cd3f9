//! Wireless LANs: all of them are one access.

use lasthop_bearer::Direction;
use lasthop_net::{Ecn, Item};
use lasthop_units::{ApId, FlowId, Id, IndexVec, Instant, NodeId, StationId};
use lasthop_wifi::mac::Category;
use lasthop_wifi::network::{End, LinkStats, NotedFrame, Wlan, WlanEvent, WlanNote, WlanOutput, WlanStage};
use lasthop_wifi::phy::{Format, Guard, Mode, Width};

use super::framing::{Radiotap, Rate};
use super::{
    Access, AccessEvent, AccessOutput, Adapter, Cause, Clocks, FlowOf, FlowTables, LostPdu, Stage, Step,
    Wiring,
};
use crate::event::{Clock, Wake};
use crate::observe::{Direction as Way, Frame, LinkType, Open, Point};
use crate::probe::{Probes, tables};
use crate::route::Entry;
use crate::sink::Table;
use crate::spec::{AccessChange, MAX_STATIONS, Spec, Wireless, WlanChange};

/// A station and its access point.
struct Station {
    /// Name of its node, which names its link too.
    name: Box<str>,
    node: NodeId,
    /// Node of its access point.
    ap_node: NodeId,
    ap: ApId,
    mtu: u32,
    /// Tables of flows that are not best effort.
    category: Box<[(u32, Category)]>,
}

/// Access points and stations. Their entries are the ends of the links between them; those of one
/// station are adjacent.
pub struct WlanAccess {
    wlan: Wlan,
    stations: IndexVec<StationId, Station>,
    /// Names of the access points.
    aps: IndexVec<ApId, Box<str>>,
    flows: IndexVec<FlowId, FlowOf>,
    wake: Wake,
    output: WlanOutput,
    /// Counters of each station's link at the last sample, downlink and uplink.
    sampled: IndexVec<StationId, [LinkStats; 2]>,
    /// The point at which captures observe each access point, and the centre of its channel
    /// \[MHz\].
    observed: IndexVec<ApId, (Option<Point>, u16)>,
}

/// Wires the access points and stations of a scenario.
pub(super) fn wire(spec: &Spec, tables: &FlowTables, wiring: &mut Wiring) {
    let all = spec.wireless();
    if all.aps.is_empty() {
        return;
    }
    let aps: Vec<NodeId> = all.aps.iter().map(|node| wiring.node(node)).collect();
    let stations: Vec<NodeId> = all.stations.iter().map(|s| wiring.node(&s.node)).collect();
    let access = WlanAccess::new(&all, &aps, &stations, tables, wiring.seed);
    let id = wiring.add(Access::Wlan(Box::new(access)));
    for (station, config) in all.config.stations.enumerate() {
        let (ap, node) = (aps[config.ap.index()], stations[station.index()]);
        wiring.connect(ap, node, id, entry(station, End::Ap));
        wiring.connect(node, ap, id, entry(station, End::Station));
    }
}

/// The entry for packets at an end of a station's link.
fn entry(station: StationId, end: End) -> Entry {
    Entry((2 * station.index() + end.index()) as u16)
}

const _: () = assert!(2 * MAX_STATIONS <= 1 << u16::BITS);

fn of_entry(Entry(entry): Entry) -> (StationId, End) {
    let end = if entry % 2 == End::Ap.index() as u16 { End::Ap } else { End::Station };
    (StationId::from_index(usize::from(entry / 2)), end)
}

impl Adapter for WlanAccess {
    #[inline]
    fn mtu(&self, entry: Entry) -> u32 {
        self.stations[of_entry(entry).0].mtu
    }

    #[inline(never)]
    fn enter(&mut self, now: Instant, entry: Entry, item: Item, _: NodeId, out: &mut AccessOutput) {
        let (station, end) = of_entry(entry);
        let table = self.flows[item.flow].table;
        let category = self.stations[station].category.iter().find(|(flow, _)| *flow == table);
        let category = category.map_or_else(Category::default, |(_, category)| *category);
        if out.stages {
            out.stage(item.id, now, Stage::WifiQueue, station.index() as u32);
        }
        self.wlan.push(now, station, end, item, category, &mut self.output);
        self.pass_on(out);
    }

    #[inline(never)]
    fn on_time(&mut self, now: Instant, _: Clock, out: &mut AccessOutput) -> bool {
        let due = self.wake.take(now);
        if due {
            self.wlan.on_time(now, &mut self.output);
            self.pass_on(out);
        }
        due
    }

    #[inline(never)]
    fn set_clocks(&mut self, clocks: &mut Clocks<'_>) {
        clocks.ensure(&mut self.wake, Clock::Arrival(0), self.wlan.poll_at());
    }

    fn packets_inside(&self) -> usize {
        let links = self.stations.ids().map(|station| self.wlan.link(station));
        links.map(|link| link.inside(End::Ap) + link.inside(End::Station)).sum()
    }

    fn place(&self, station: u32) -> &str {
        &self.stations[StationId::from_index(station as usize)].name
    }

    fn set_flows(&mut self, flows: &IndexVec<FlowId, FlowOf>) {
        self.flows = flows.iter().copied().collect();
    }

    fn add_flow(&mut self, flow: FlowOf) {
        let _next = self.flows.push(flow);
    }

    fn note_stages(&mut self) {
        self.wlan.recorders().record_stages();
    }

    fn change(&mut self, _: Instant, change: &AccessChange, _: &mut AccessOutput) -> bool {
        let AccessChange::Wlan(change) = change else { return false };
        match change {
            WlanChange::Ap(_, ap, config) => self.wlan.reconfigure_ap(*ap, config),
            WlanChange::Station(_, station, config) => self.wlan.reconfigure_station(*station, config),
        }
        true
    }

    fn observe(&mut self, _: u32, open: &mut Open<'_>) {
        for (ap, observed) in self.observed.iter_mut().enumerate() {
            let name = &self.aps[ApId::from_index(ap)];
            let what = format!("frames of the network of {name}, as they leave the air");
            observed.0 = open(&format!("{name}.air"), what, LinkType::Radiotap);
        }
        if self.observed.iter().any(|(point, _)| point.is_some()) {
            self.wlan.recorders().record_frames();
        }
    }

    /// Writes rows of the `wifi` table for the stations that sent or received data since the last
    /// sample, or have data waiting.
    fn sample(&mut self, now: Instant, probes: &mut Probes, _: &mut AccessOutput) {
        let Some(table) = &mut probes.wifi else { return };
        let WlanAccess { wlan, stations, aps, sampled, .. } = self;
        for (id, station) in stations.enumerate() {
            for end in [End::Ap, End::Station] {
                let stats = wlan.link(id).stats(end);
                let last = std::mem::replace(&mut sampled[id][end.index()], *stats);
                let waiting = wlan.link(id).queued(end);
                if stats.airtime > last.airtime || waiting.0 > 0 {
                    let names = [&*station.name, &*aps[station.ap]];
                    let row = Row { names, end, last: &last, stats, waiting };
                    row.write(table, now, wlan, id);
                }
            }
        }
    }
}

impl WlanAccess {
    /// The networks of a scenario; `aps` and `stations` are the nodes of its access points and
    /// stations.
    fn new(
        all: &Wireless,
        aps: &[NodeId],
        stations: &[NodeId],
        tables: &FlowTables,
        seed: u64,
    ) -> WlanAccess {
        let station = |(i, names): (usize, &crate::spec::StationNames)| {
            let ap = all.config.stations[StationId::from_index(i)].ap;
            let category = names.category.iter().map(|(flow, c)| (tables.number(flow), *c));
            Station {
                name: names.node.as_str().into(),
                node: stations[i],
                ap_node: aps[ap.index()],
                ap,
                mtu: names.mtu.0 as u32,
                category: category.collect(),
            }
        };
        WlanAccess {
            wlan: Wlan::new(&all.config, seed),
            stations: all.stations.iter().enumerate().map(station).collect(),
            aps: all.names.iter().map(|name| name.as_str().into()).collect(),
            flows: IndexVec::new(),
            wake: Wake::default(),
            output: WlanOutput::default(),
            sampled: all.stations.iter().map(|_| Default::default()).collect(),
            observed: all.config.aps.iter().map(|ap| (None, (ap.frequency().0 / 1e6) as u16)).collect(),
        }
    }

    /// Passes recorded frames to the capture.
    #[cold]
    fn hand_over(&mut self, out: &mut AccessOutput) {
        for noted in self.output.noted.drain(..) {
            let NotedFrame { times: [start, end], ap, from_ap, mode, ampdu, received, retry, octets } = noted;
            let (point, frequency_mhz) = self.observed[ap];
            let bad = received == Some(false);
            let mut comment = if retry { "retransmission" } else { "" }.to_owned();
            if bad {
                comment.push_str(if retry { ", not received" } else { "not received" });
            }
            let radiotap =
                Radiotap { start_us: start.0 / 1000, bad, frequency_mhz, rate: rate(&mode), ampdu };
            out.steps.push(Step::Frame(Box::new(Frame {
                point,
                at: end,
                direction: if from_ap { Way::Outbound } else { Way::Inbound },
                prefix: radiotap.prefix(),
                octets,
                comment,
            })));
        }
    }

    /// Passes on the stages of packets.
    #[cold]
    fn pass_stages(&mut self, out: &mut AccessOutput) {
        for WlanNote { id, station, at, stage } in self.wlan.recorders().stages() {
            let stage = match stage {
                WlanStage::Queue => Stage::WifiQueue,
                WlanStage::Contention => Stage::Contention,
                WlanStage::Airtime => Stage::Airtime,
                WlanStage::Retry => Stage::Retry,
                WlanStage::Reorder => Stage::ReorderBuffer,
            };
            out.stage(id, at, stage, station.index() as u32);
        }
        out.steps.extend(self.wlan.recorders().lost().map(|mpdu| {
            Step::Pdu(Box::new(LostPdu {
                packet: mpdu.id,
                place: mpdu.station.index() as u32,
                layer: "802.11",
                direction: direction_name(mpdu.end),
                sn: Some(mpdu.sn.into()),
                octets: None,
                sent: None,
                sends: mpdu.failures,
                lost: true,
            }))
        }));
    }

    fn pass_on(&mut self, out: &mut AccessOutput) {
        // This comes first, because later steps may remove packets.
        if !self.output.noted.is_empty() {
            self.hand_over(out);
        }
        if out.stages {
            self.pass_stages(out);
        }
        let WlanAccess { stations, output, .. } = self;
        // In most calls a packet enters and there is no output.
        if output.delivered.is_empty() && output.dropped.is_empty() && output.events.is_empty() {
            return;
        }
        for (station, event) in output.events.drain(..) {
            out.steps.push(row_of(&stations[station].name, event));
        }
        out.steps.extend(output.dropped.drain(..).map(|(station, _, at, item, cause)| Step::Drop {
            at: Some(at),
            packet: item.id,
            cause: Cause::Other(cause.name()),
            place: station.index() as u32,
        }));
        out.steps.extend(output.delivered.drain(..).map(|(station, end, item)| {
            let Station { node, ap_node, .. } = stations[station];
            let to = if end == End::Station { node } else { ap_node };
            Step::Deliver { to, packet: item.id, ecn: Some(item.ecn).filter(|ecn| *ecn == Ecn::Ce) }
        }));
    }
}

/// Converts a rate for radiotap.
fn rate(mode: &Mode) -> Rate {
    let (short, width) = (mode.guard() == Guard::Short, mode.width());
    match mode.format() {
        Format::Dsss => Rate::Dsss((mode.rate().0 / 500_000) as u8),
        Format::Ofdm => Rate::Ofdm((mode.rate().0 / 500_000) as u8),
        Format::Ht => Rate::Ht(mode.mcs(), width == Width::W40, short),
        Format::Vht => {
            let bandwidth = match width {
                Width::W20 => 0,
                Width::W40 => 1,
                Width::W80 => 4,
                Width::W160 => 11,
            };
            Rate::Vht(mode.mcs(), mode.streams(), bandwidth, short)
        }
    }
}

/// The step for an event of the station `name`.
#[cold]
fn row_of(name: &str, event: WlanEvent) -> Step {
    let detail = match event {
        WlanEvent::BlockAck(end, category) => format!("{}, {}", direction_name(end), category.name()),
        WlanEvent::Associated | WlanEvent::AssociationFailed => String::new(),
    };
    AccessEvent { source: format!("station/{name}"), kind: event.name(), value: None, detail }.step()
}

/// The direction in which an end sends.
fn direction_name(end: End) -> &'static str {
    let direction = match end {
        End::Ap => Direction::Downlink,
        End::Station => Direction::Uplink,
    };
    direction.name()
}

/// The differences between two readings of the counters.
struct Row<'a> {
    names: [&'a str; 2],
    end: End,
    last: &'a LinkStats,
    stats: &'a LinkStats,
    waiting: (usize, u64),
}

impl Row<'_> {
    fn write(&self, table: &mut Table<tables::Wifi<'static>>, now: Instant, wlan: &Wlan, station: StationId) {
        let (a, b) = (self.last, self.stats);
        let mean = |sum: f64, n: u64| (n > 0).then(|| sum / n as f64);
        let ppdus = b.ppdus - a.ppdus;
        table.push(&tables::Wifi {
            time_s: now.as_secs_f64(),
            station: self.names[0],
            ap: self.names[1],
            direction: direction_name(self.end),
            ppdus,
            mpdus: b.mpdus - a.mpdus,
            failed: b.failed - a.failed,
            unanswered: b.unanswered - a.unanswered,
            bytes: b.bytes - a.bytes,
            airtime_s: (b.airtime - a.airtime) as f64 / 1e9,
            rate_bps: mean(b.rate_sum - a.rate_sum, ppdus),
            mcs: mean((b.mcs_sum - a.mcs_sum) as f64, ppdus),
            snr_db: lasthop_radio::decibels(wlan.snr(station, self.end)).0,
            queue_packets: self.waiting.0 as u64,
            queue_bytes: self.waiting.1,
            marked: wlan.link(station).marked(self.end),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_stands_for_one_end_of_one_station() {
        for i in [0, 1, 7, MAX_STATIONS as usize - 1] {
            for end in [End::Ap, End::Station] {
                let id = StationId::from_index(i);
                assert_eq!(of_entry(entry(id, end)), (id, end));
            }
        }
    }
}

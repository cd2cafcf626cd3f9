//! Wireless LANs in the world: packets in and out, and one event for all of them.

use lasthop_net::Ecn;
use lasthop_units::{ApId, Id, IndexVec, Instant, NodeId, PacketId, StationId};
use lasthop_wifi::mac::Category;
use lasthop_wifi::network::{End as WlanEnd, LinkStats, Wlan, WlanEvent, WlanOutput};

use super::World;
use super::packet::Place;
use super::sample::direction_name;
use crate::access::Cause;
use crate::event::{Event, Wake};
use crate::probe::tables;
use crate::sink::Table;
use crate::spec::Wireless;

/// A station, wired into the world.
struct StationHop {
    node: NodeId,
    /// Node of its access point.
    ap_node: NodeId,
    ap: ApId,
    mtu: u32,
    /// Flow groups that are not best effort.
    category: Box<[(Box<str>, Category)]>,
}

/// Access points and stations, wired into the world.
pub(super) struct WlanSeat {
    wlan: Wlan,
    stations: IndexVec<StationId, StationHop>,
    /// Names of the access points.
    aps: IndexVec<ApId, Box<str>>,
    wake: Wake,
    output: WlanOutput,
    /// What each station's link had counted at the last sample, downlink and uplink.
    sampled: IndexVec<StationId, [LinkStats; 2]>,
}

impl WlanSeat {
    /// The networks of a scenario; `aps` and `stations` are the nodes of its access points and
    /// stations.
    pub fn new(all: &Wireless, aps: &[NodeId], stations: &[NodeId], seed: u64) -> WlanSeat {
        let hop = |(i, names): (usize, &crate::spec::StationNames)| {
            let ap = all.config.stations[StationId::from_index(i)].ap;
            let category = names.category.iter().map(|(flow, c)| (flow.as_str().into(), *c));
            StationHop {
                node: stations[i],
                ap_node: aps[ap.index()],
                ap,
                mtu: names.mtu.0 as u32,
                category: category.collect(),
            }
        };
        WlanSeat {
            wlan: Wlan::new(&all.config, seed),
            stations: all.stations.iter().enumerate().map(hop).collect(),
            aps: all.names.iter().map(|name| name.as_str().into()).collect(),
            wake: Wake::default(),
            output: WlanOutput::default(),
            sampled: all.stations.iter().map(|_| Default::default()).collect(),
        }
    }

    /// Largest IP packet of a station's link [B].
    #[inline]
    pub fn mtu(&self, station: StationId) -> u32 {
        self.stations[station].mtu
    }
    /// The node of a station, which names its link.
    pub fn node(&self, station: StationId) -> NodeId {
        self.stations[station].node
    }
    /// The name of an access point.
    pub fn ap_name(&self, ap: ApId) -> &str {
        &self.aps[ap]
    }
    /// The networks themselves, to change them.
    pub fn network(&mut self) -> &mut Wlan {
        &mut self.wlan
    }
    /// Packets that the networks hold.
    pub fn packets_inside(&self) -> usize {
        let both = |s| self.wlan.inside(s, WlanEnd::Ap) + self.wlan.inside(s, WlanEnd::Station);
        self.stations.ids().map(both).sum()
    }
}

impl World {
    pub(super) fn enter_wlan(&mut self, now: Instant, station: StationId, end: WlanEnd, id: PacketId) {
        let item = self.packets[id].item(id, now);
        let group = &*self.flows[item.flow].group;
        let hop = &self.wlan.stations[station];
        let category = hop
            .category
            .iter()
            .find(|(flow, _)| **flow == *group)
            .map_or_else(Category::default, |(_, c)| *c);
        let seat = &mut self.wlan;
        seat.wlan.push(now, station, end, item, category, &mut seat.output);
        self.settle_wlan(now);
    }

    pub(super) fn on_wlan(&mut self, now: Instant) {
        let seat = &mut self.wlan;
        if seat.wake.take(now) {
            seat.wlan.on_time(now, &mut seat.output);
            self.settle_wlan(now);
        }
    }

    /// Sees to it that the networks' first event comes.
    pub(super) fn start_wlan(&mut self) {
        self.settle_wlan(Instant::ZERO);
    }

    /// Passes on what the networks produced and notes when they want to be called again.
    fn settle_wlan(&mut self, now: Instant) {
        let seat = &mut self.wlan;
        seat.wake.ensure(&mut self.queue, seat.wlan.poll_at(), Event::Wlan);
        // What is delivered may be answered at once, and the answer comes back here: the lists are
        // taken out.
        let mut output = std::mem::take(&mut seat.output);
        for (station, event) in output.events.drain(..) {
            self.note_wlan_event(now, station, event);
        }
        for (station, _, at, item, cause) in output.dropped.drain(..) {
            self.drop_packet(at, item.id, Cause::Other(cause.name()), Place::Wlan(station));
        }
        for (station, end, item) in output.delivered.drain(..) {
            if item.ecn == Ecn::Ce {
                self.packets[item.id].ecn = Ecn::Ce;
            }
            let hop = &self.wlan.stations[station];
            let node = if end == WlanEnd::Station { hop.node } else { hop.ap_node };
            self.forward(now, node, item.id);
        }
        self.wlan.output = output;
    }

    /// Rows of the `wifi` table for the stations that had data on the air since the last sample, or
    /// have data waiting.
    pub(super) fn sample_stations(&mut self, now: Instant) {
        let Some(table) = &mut self.probes.wifi else { return };
        let WlanSeat { wlan, stations, aps, sampled, .. } = &mut self.wlan;
        for station in stations.ids() {
            for end in [WlanEnd::Ap, WlanEnd::Station] {
                let stats = wlan.stats(station, end);
                let last = std::mem::replace(&mut sampled[station][end.index()], *stats);
                let waiting = wlan.queued(station, end);
                if stats.airtime > last.airtime || waiting.0 > 0 {
                    let names = [&*self.nodes[stations[station].node].name, &*aps[stations[station].ap]];
                    let row = Row { names, end, last: &last, stats, waiting };
                    row.write(table, now, wlan, station);
                }
            }
        }
    }

    #[cold]
    fn note_wlan_event(&mut self, now: Instant, station: StationId, event: WlanEvent) {
        let source = format!("station/{}", self.nodes[self.wlan.stations[station].node].name);
        let detail = match event {
            WlanEvent::BlockAck(end, category) => {
                format!("{}, {}", wlan_direction(end), category.name())
            }
            WlanEvent::Associated | WlanEvent::AssociationFailed => String::new(),
        };
        self.note_event(now, &source, event.name(), None, &detail);
    }
}

/// The direction in which an end sends.
fn wlan_direction(end: WlanEnd) -> &'static str {
    direction_name(match end {
        WlanEnd::Ap => lasthop_bearer::Direction::Downlink,
        WlanEnd::Station => lasthop_bearer::Direction::Uplink,
    })
}

/// What happened between two counts.
struct Row<'a> {
    names: [&'a str; 2],
    end: WlanEnd,
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
            direction: wlan_direction(self.end),
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
            marked: wlan.marked(station, self.end),
        });
    }
}

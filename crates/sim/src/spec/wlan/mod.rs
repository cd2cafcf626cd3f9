//! Access points and stations: the wireless LAN last hop.

mod change;
mod check;
mod memory;

use std::collections::{BTreeMap, BTreeSet};

use lasthop_units::{ApId, Bytes, Id, Metres, StationId};
use lasthop_wifi::mac::Category;
use lasthop_wifi::network::{DeviceRadioConfig, StationConfig, WlanConfig};
use lasthop_wifi::rate::RateConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Spec;
use super::access::{AccessChanges, AccessSpec, InForce, Placed, RuntimeKeys};
use super::buffers::Buffers;
use super::group::{Group, Population, names};
use super::layout::{LayoutSpec, UeDrop, draws_of_place};
use super::ring::Ring;
use crate::config::{Diagnostics, Document};
use crate::extensions::Extensions;

pub use change::WlanChange;

/// Largest number of stations: every device on a channel receives every other one.
pub const MAX_STATIONS: u64 = 2_000;

/// Stations of one kind: `count` of them, named `<name>-1`, `<name>-2`, ... when there are several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StationSpec {
    /// How many.
    pub count: u32,
    /// The access point of the stations. Unset: the only access point.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ap: Option<String>,
    /// Largest IP packet that the wireless link takes; larger ones are fragmented.
    pub mtu: Bytes,
    /// Where they are, and their radio.
    pub radio: DeviceRadioConfig,
    /// Places each station at a position drawn uniformly over a ring around the access point,
    /// instead of all at `radio.position`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ring: Option<Ring>,
    /// As `ring`, over a disc or a rectangle, or over the area of the only layout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drop: Option<UeDrop>,
    /// How the rates of data from and to the stations are chosen. Unset: as for the access point.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateConfig>,
    /// Packets that a station's queue holds, for each access category.
    pub packets: u32,
    /// Access category of flows by the name of their `[flow.<name>]` table, both ways. Flows
    /// without an entry are best effort.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub category: BTreeMap<String, Category>,
}

impl Default for StationSpec {
    fn default() -> Self {
        StationSpec {
            count: 1,
            ap: None,
            mtu: super::ethernet_mtu(),
            radio: DeviceRadioConfig::default(),
            ring: None,
            drop: None,
            rate: None,
            // Linux' txqueuelen.
            packets: 1000,
            category: BTreeMap::new(),
        }
    }
}

impl StationSpec {
    /// Names of these stations' nodes.
    pub fn nodes(&self, name: &str) -> impl Iterator<Item = String> {
        names(name, self.count)
    }
}

/// The tables of wireless LANs.
pub(super) struct WirelessLans;

impl AccessSpec for WirelessLans {
    fn placed(&self, spec: &Spec) -> Vec<Placed> {
        let placed = |(name, position)| Placed { kind: "station", name, position, azimuth: None };
        spec.strewn().into_iter().map(placed).collect()
    }
    fn kinds_of_nodes(&self) -> &'static [&'static str] {
        &["access point", "station"]
    }
    fn interfaces(&self, spec: &Spec) -> Vec<String> {
        spec.ap.keys().map(|name| format!("{name}.air")).collect()
    }

    fn bases<'a>(&self, spec: &'a Spec) -> Vec<(&'a str, &'static str)> {
        spec.ap.keys().map(|name| (spec.ap_node(name), "an access point")).collect()
    }

    fn groups<'a>(&self, spec: &'a Spec) -> Vec<&'a str> {
        spec.station.keys().map(String::as_str).collect()
    }

    fn group<'a>(&self, spec: &'a Spec, name: &str) -> Option<Group<'a>> {
        let (name, group) = spec.station.get_key_value(name)?;
        let ap = spec.ap_of(group);
        Some(Group {
            table: "station",
            name,
            count: group.count,
            what: "a station",
            several: "stations",
            served_by: ap.map(|ap| spec.ap_node(ap)).into_iter().collect(),
            choice: "ap",
            marks: ap.and_then(|ap| spec.ap.get(ap)).is_some_and(|ap| ap.buffer.marks()),
        })
    }

    fn population(&self, spec: &Spec) -> Option<Population> {
        let count = spec.station.values().map(|s| u64::from(s.count)).sum();
        // Measured: an idle station.
        Some(Population { table: "station", what: "stations", count, most: MAX_STATIONS, bytes: 27_000 })
    }

    fn check(&self, spec: &Spec, doc: &Document, _: &Extensions, found: &mut Diagnostics) {
        check::check(spec, doc, found);
    }

    fn check_entries(&self, part: &Spec, whole: &Spec, doc: &Document, found: &mut Diagnostics) {
        check::check_entries(part, whole, doc, found);
    }

    fn count_buffers<'a>(&self, spec: &'a Spec, buffers: &mut Buffers<'a>) {
        memory::count(spec, buffers);
    }

    fn runtime_keys(&self) -> RuntimeKeys {
        change::RUNTIME_KEYS
    }

    fn ruled_out(&self, spec: &Spec, key: &str) -> Option<(String, String)> {
        change::placed_otherwise(spec, key)
    }
}

impl AccessChanges for WirelessLans {
    type Change = WlanChange;

    fn in_force(&self, spec: &Spec) -> InForce<WlanChange> {
        let mut in_force = change::InForce::of(spec);
        Box::new(move |spec, next| in_force.take_over(spec, next))
    }
}

/// The wireless LANs of a scenario with the names of their ids.
#[derive(Debug, Default)]
pub struct Wireless {
    /// The configuration.
    pub config: WlanConfig,
    /// Node of each access point.
    pub aps: Vec<String>,
    /// Name of each access point.
    pub names: Vec<String>,
    /// Each station.
    pub stations: Vec<StationNames>,
}

/// A station's names.
#[derive(Debug)]
pub struct StationNames {
    /// Its node.
    pub node: String,
    /// Largest IP packet.
    pub mtu: Bytes,
    /// Access category by group of flows.
    pub category: Vec<(String, Category)>,
}

impl Spec {
    /// The node of an access point.
    pub fn ap_node<'a>(&'a self, name: &'a str) -> &'a str {
        self.ap.get(name).and_then(|ap| ap.node.as_deref()).unwrap_or(name)
    }

    /// The access point of stations, if it is unambiguous.
    pub fn ap_of<'a>(&'a self, station: &'a StationSpec) -> Option<&'a str> {
        let only = (self.ap.len() == 1).then(|| self.ap.keys().next().map(String::as_str)).flatten();
        station.ap.as_deref().or(only).filter(|ap| self.ap.contains_key(*ap))
    }

    /// The layout in which stations are placed, if it is unambiguous.
    pub fn only_layout(&self) -> Option<&LayoutSpec> {
        (self.layout.len() == 1).then(|| self.layout.values().next()).flatten()
    }

    /// The nodes of stations that are placed at random, with their positions.
    fn strewn(&self) -> Vec<(String, [Metres; 3])> {
        let is_strewn = |group: &StationSpec| group.ring.is_some() || group.drop.is_some();
        let groups = self.station.iter().filter(|(_, group)| is_strewn(group));
        let nodes: BTreeSet<String> = groups.flat_map(|(name, group)| group.nodes(name)).collect();
        if nodes.is_empty() {
            return Vec::new();
        }
        let all = self.wireless();
        let placed = all.stations.into_iter().zip(all.config.stations.iter());
        let placed = placed.map(|(names, config)| (names.node, config.radio.position));
        placed.filter(|(node, _)| nodes.contains(node)).collect()
    }

    /// Access points and stations in the order of their names. Stations without an access point are
    /// left out: the check has refused them.
    pub fn wireless(&self) -> Wireless {
        let mut all = Wireless::default();
        all.config.radio = self.wlan;
        let mut aps: BTreeMap<&str, ApId> = BTreeMap::new();
        for (name, ap) in &self.ap {
            aps.insert(name, all.config.aps.push(ap.clone()));
            all.aps.push(self.ap_node(name).to_owned());
            all.names.push(name.clone());
        }
        for (name, group) in &self.station {
            let Some(ap) = self.ap_of(group).map(|ap| aps[ap]) else { continue };
            for (i, node) in (0..).zip(group.nodes(name)) {
                let mut radio = group.radio;
                if let Some(drop) = group.drop {
                    // The same draws as for a UE of a table of this name.
                    let mut draws = draws_of_place(self.scenario.seed, name, i);
                    let [x, y] = drop.place(self.only_layout(), i, &mut draws);
                    radio.position = [Metres(x), Metres(y), radio.position[2]];
                }
                if let Some(ring) = group.ring {
                    let centre = all.config.aps[ap].radio.position;
                    // The number of a UE at the same index: the same ring gives the same place in
                    // either network.
                    let number = all.config.stations.len() as u64;
                    radio.position = ring.place(self.scenario.seed, number, centre, radio.position);
                }
                let config = StationConfig { ap, rate: group.rate, packets: group.packets, radio };
                let id: StationId = all.config.stations.push(config);
                debug_assert_eq!(id.index(), all.stations.len());
                let category = group.category.iter().map(|(flow, c)| (flow.clone(), *c)).collect();
                all.stations.push(StationNames { node, mtu: group.mtu, category });
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    /// Two networks that are compared differ only in the network, not in the places of the users.
    #[test]
    fn stations_and_ues_of_the_same_ring_have_the_same_places() {
        let text = "[scenario]\nname = 'both'\nduration = '1 s'\n\
            [cell.enb]\n[ue.phone]\ncount = 5\nring = { inner = '1 m', outer = '20 m' }\n\
            [ap.ap]\n[station.laptop]\ncount = 5\nring = { inner = '1 m', outer = '20 m' }\n\
            [link.a]\nbetween = ['server', 'enb']\n[link.b]\nbetween = ['server', 'ap']\n\
            [flow.f]\nfrom = 'server'\nto = 'laptop'\n";
        let scenario = crate::Scenario::parse(text, "test.toml", Path::new(""), &[]).unwrap();
        let (lte, wifi) = (scenario.spec().cellular(&Default::default()), scenario.spec().wireless());
        let places = |p: [lasthop_units::Metres; 3]| [p[0].0, p[1].0];
        let ues: Vec<_> = lte.config.ues.iter().map(|ue| places(ue.radio.position)).collect();
        let stations: Vec<_> = wifi.config.stations.iter().map(|s| places(s.radio.position)).collect();
        assert_eq!(ues, stations);
        assert_ne!(ues[0], ues[1]);
    }

    /// A phone behind a cell that serves stations is a node of both networks; a station is a node
    /// of one.
    #[test]
    fn a_ue_may_be_an_access_point_and_a_station_no_ue() {
        let mistake = |station: &str| {
            let text = format!(
                "[scenario]\nname = 'both'\nduration = '1 s'\n[cell.enb]\n[ue.phone]\ncount = 2\n\
                 [ap.a]\nnode = 'phone-1'\n[station.{station}]\n"
            );
            let read = crate::Scenario::parse(&text, "test.toml", Path::new(""), &[]);
            read.map_or_else(|e| e.to_string(), |_| String::new())
        };
        assert_eq!(mistake("laptop"), "");
        assert!(mistake("phone-2").contains("the node `phone-2` is a UE of `ue.phone` already"));
        assert!(mistake("phone-1").contains("the node `phone-1` is an access point already"));
    }
}

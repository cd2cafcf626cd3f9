//! Cells, UEs and their bearers: the LTE last hop.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use lasthop_bearer::{ConfigError, Warning};
use lasthop_lte::mac::downlink::PersistentConfig;
use lasthop_lte::mac::scheduler::qci::Qos;
use lasthop_lte::mac::uplink::UplinkPersistentConfig;
use lasthop_lte::network::{CellConfig, DrbConfig, NetworkConfig, UeConfig};
use lasthop_lte::phy::propagation::UeRadioConfig;
use lasthop_lte_l2::pdcp::{LteBearerConfig, PdcpConfig};
use lasthop_lte_l2::rlc::RlcConfig;
use lasthop_net::QueueConfig;
use lasthop_units::{Bytes, CellId, Id, Metres, UeId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::{Diagnostics, Document, dotted};
use crate::spec::group::names;
use crate::spec::layout::{Buildings, LayoutSpec, UeDrop, draws_of_place};
use crate::spec::lte_rlc::marks;
use crate::spec::ring::Ring;
use crate::spec::{Spec, ethernet_mtu};
use crate::track::{TrackSpec, Tracks};

/// The core network of a scenario with handover.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CoreSpec {
    /// The node of the gateway, to which links lead. S1, X2 and the eNBs are behind it. With
    /// `[handover]` links lead to this node and not to the eNBs' nodes.
    pub gateway: String,
}

impl Default for CoreSpec {
    fn default() -> Self {
        CoreSpec { gateway: "gateway".to_owned() }
    }
}

/// UEs of one kind: `count` of them, named `<name>-1`, `<name>-2`, ... when there are several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UeSpec {
    /// How many.
    pub count: u32,
    /// The cell that serves them at the start; the name of a layout stands for the strongest of its
    /// cells. Unset: the strongest cell of all (reference signals at large scale).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cell: Option<String>,
    /// Largest IP packet that their bearers take; larger ones are fragmented.
    pub mtu: Bytes,
    /// Where they are, and their radio.
    pub radio: UeRadioConfig,
    /// Places each UE at a position of its own, instead of all at `radio.position`; the height
    /// stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drop: Option<UeDrop>,
    /// Places each UE at a position drawn uniformly over a ring around the cell that `cell` names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ring: Option<Ring>,
    /// The UEs move along recorded tracks instead of `radio.mobility`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub track: Option<TrackSpec>,
    /// Some of them are indoors, on floors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buildings: Option<Buildings>,
    /// Semi-persistent scheduling of their downlink. Unset: every transport block has its
    /// assignment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persistent: Option<PersistentConfig>,
    /// Semi-persistent scheduling of their uplink. Unset: every transport block has its grant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persistent_uplink: Option<UplinkPersistentConfig>,
    /// Quality of service of the default bearer.
    pub qos: Qos,
    /// PDCP of the default bearer, at both ends.
    pub pdcp: PdcpConfig,
    /// RLC of the default bearer, at both ends.
    pub rlc: RlcConfig,
    /// An IP buffer in the eNB before the default bearer, from which MAC takes as much as it can
    /// send: a queue like those of links, such as `{ kind = "fq-codel" }` or `"infinite"`. Unset:
    /// packets are passed to PDCP and RLC at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip_buffer: Option<QueueConfig>,
    /// Dedicated bearers by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub dedicated: BTreeMap<String, DedicatedBearerSpec>,
}

impl Default for UeSpec {
    fn default() -> Self {
        UeSpec {
            count: 1,
            cell: None,
            mtu: ethernet_mtu(),
            radio: UeRadioConfig::default(),
            drop: None,
            ring: None,
            track: None,
            buildings: None,
            persistent: None,
            persistent_uplink: None,
            qos: Qos::default(),
            pdcp: PdcpConfig::default(),
            rlc: RlcConfig::default(),
            ip_buffer: None,
            dedicated: BTreeMap::new(),
        }
    }
}

/// A dedicated bearer: it carries the packets that its traffic flow template selects; the others
/// use the default bearer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DedicatedBearerSpec {
    /// Names of the `[flow.<name>]` tables whose packets it carries (the traffic flow template).
    pub flows: Vec<String>,
    /// Quality of service of the bearer.
    pub qos: Qos,
    /// PDCP at both ends.
    pub pdcp: PdcpConfig,
    /// RLC at both ends.
    pub rlc: RlcConfig,
}

impl UeSpec {
    /// True if a queue in front of its bearers, or in their RLC, marks ECN-capable packets.
    pub(super) fn marks(&self) -> bool {
        let ip = self.ip_buffer.as_ref().is_some_and(QueueConfig::marks);
        ip || marks(&self.rlc) || self.dedicated.values().any(|b| marks(&b.rlc))
    }
    /// Names of these UEs' nodes.
    pub fn nodes(&self, name: &str) -> impl Iterator<Item = String> {
        names(name, self.count)
    }
}

/// The network of a scenario with the names of its ids.
#[derive(Debug, Default)]
pub struct Cellular {
    /// The configuration of the network.
    pub config: NetworkConfig,
    /// Node of each cell's eNB.
    pub cells: Vec<String>,
    /// Name of each cell.
    pub names: Vec<String>,
    /// Each UE.
    pub ues: Vec<UeNames>,
    /// Name of each bearer: the UE's node, and `.` and the dedicated bearer's name; of those
    /// between UEs the sidelink's.
    pub bearers: Vec<String>,
    /// Each pair of UEs.
    pub pairs: Vec<PairNames>,
    /// Name of each multicast group.
    pub groups: Vec<String>,
}

/// A UE's names.
#[derive(Debug)]
pub struct UeNames {
    /// Its node.
    pub node: String,
    /// Largest IP packet that its bearers take.
    pub mtu: Bytes,
    /// Index of its default bearer.
    pub default_bearer: usize,
    /// Flow groups that use another bearer, by its index.
    pub template: Vec<(String, usize)>,
}

/// The names of a pair of UEs with a sidelink.
#[derive(Debug)]
pub struct PairNames {
    /// The table.
    pub name: String,
    /// Flow groups that it carries; empty: all.
    pub flows: Vec<String>,
}

impl Spec {
    /// The node at which packets enter a cell: its eNB, or the gateway if UEs can be handed over.
    pub fn cell_node<'a>(&'a self, name: &'a str) -> &'a str {
        match self.handover {
            Some(_) => &self.core.gateway,
            None => self.cell.get(name).and_then(|c| c.enb.as_deref()).unwrap_or(name),
        }
    }

    /// The cell table that serves a UE at the start, if it is unambiguous.
    pub fn serving<'a>(&'a self, ue: &'a UeSpec) -> Option<&'a str> {
        let only = (self.cell.len() == 1).then(|| self.cell.keys().next().map(String::as_str)).flatten();
        ue.cell.as_deref().or(only).filter(|c| self.cell.contains_key(*c))
    }

    /// The cell tables one of whose cells may serve a UE at the start.
    pub fn candidates<'a>(&'a self, ue: &'a UeSpec) -> impl Iterator<Item = &'a str> {
        let named = |name: &&str| ue.cell.as_deref().is_none_or(|cell| cell == *name);
        self.cell.keys().map(String::as_str).filter(named)
    }

    /// The layout to which the places of a UE belong.
    pub fn layout_of(&self, ue: &UeSpec) -> Option<&LayoutSpec> {
        match &ue.cell {
            Some(cell) => self.layout.get(cell),
            None if self.layout.len() == 1 => self.layout.values().next(),
            None => None,
        }
    }

    /// Cells, UEs and bearers in the order of their names. UEs without a cell are left out: the
    /// check has refused them. `tracks`: the tracks that groups of UEs follow, by name.
    pub fn cellular(&self, tracks: &Tracks) -> Cellular {
        let (mut all, tables) = self.placed(tracks);
        self.associate(&mut all, &tables);
        self.add_pairs(&mut all);
        self.add_groups(&mut all);
        all
    }

    /// The same before the cells of UEs are selected, with the numbers of the cells of each table.
    pub(super) fn placed<'a>(&'a self, tracks: &Tracks) -> (Cellular, BTreeMap<&'a str, Range<usize>>) {
        let mut all = Cellular::default();
        all.config.handover = self.handover;
        all.config.radio = self.radio;
        all.config.wrap = self.layout.values().find_map(LayoutSpec::wrap);
        let tables = self.add_cells(&mut all);
        for (name, ue) in &self.ue {
            let Some(first) = self.candidates(ue).next().map(|c| tables[c].start) else { continue };
            let first = CellId::from_index(first);
            for (i, node) in (0..).zip(ue.nodes(name)) {
                let mut config = UeConfig::served_by(first);
                (config.persistent, config.persistent_uplink) = (ue.persistent, ue.persistent_uplink);
                config.radio = ue.radio;
                let id = UeId::from_index(all.config.ues.len());
                if let Some(drop) = ue.drop {
                    let mut draws = draws_of_place(self.scenario.seed, name, i);
                    let [x, y] = drop.place(self.layout_of(ue), i, &mut draws);
                    config.radio.position = [Metres(x), Metres(y), ue.radio.position[2]];
                }
                if let Some(ring) = ue.ring {
                    let centre = all.config.cells[first].radio.position;
                    config.radio.position =
                        ring.place(self.scenario.seed, id.index() as u64, centre, ue.radio.position);
                }
                if let Some((indoor, height)) = ue.buildings.and_then(|b| b.draw(self.scenario.seed, name, i))
                {
                    config.radio.indoor = Some(indoor);
                    config.radio.position[2] = height;
                }
                config.track = tracks.get(name).and_then(|t| t.get(i as usize)).cloned();
                all.config.ues.push(config);
                all.add_bearers(id, node, ue);
            }
        }
        (all, tables)
    }

    /// The names of all cells, in the order of their numbers.
    pub(super) fn cell_names(&self) -> Vec<String> {
        let mut all = Cellular::default();
        let _numbers = self.add_cells(&mut all);
        all.names
    }

    /// The cells at positions of a layout, with their names.
    pub(super) fn laid_out(&self) -> Vec<(String, CellConfig)> {
        let mut all = Cellular::default();
        let tables = self.add_cells(&mut all);
        let laid_out = tables.iter().filter(|(table, _)| self.layout.contains_key(**table));
        let numbers = laid_out.flat_map(|(_, numbers)| numbers.clone());
        numbers.map(|i| (all.names[i].clone(), all.config.cells[CellId::from_index(i)].clone())).collect()
    }

    /// Adds the cells of all tables; returns the numbers of those of each.
    fn add_cells<'a>(&'a self, all: &mut Cellular) -> BTreeMap<&'a str, Range<usize>> {
        let named = self.cell.values().filter_map(|c| c.radio.site).max();
        let mut site = named.map_or(0, |s| s.saturating_add(1));
        let mut tables = BTreeMap::new();
        for (name, cell) in &self.cell {
            let first = all.config.cells.len();
            let mut add = |name: String, cell: CellConfig| {
                all.config.cells.push(cell);
                all.names.push(name);
            };
            match self.layout.get(name) {
                None => add(name.clone(), cell.clone()),
                Some(layout) => {
                    for (suffix, cell) in layout.cells(name, cell, site) {
                        add(format!("{name}-{suffix}"), cell);
                    }
                    site += layout.places().len() as u32;
                }
            }
            all.cells.resize(all.names.len(), self.cell_node(name).to_owned());
            tables.insert(name.as_str(), first..all.names.len());
        }
        tables
    }

    /// Selects the strongest cell for every UE that has a choice.
    fn associate(&self, all: &mut Cellular, tables: &BTreeMap<&str, Range<usize>>) {
        let mut propagation = all.config.propagation(self.scenario.seed);
        let mut ids = 0..all.config.ues.len();
        for ue in self.ue.values() {
            let cells = self.candidates(ue).flat_map(|c| tables[c].clone()).map(CellId::from_index);
            let candidates: Vec<CellId> = cells.collect();
            if candidates.is_empty() {
                continue;
            }
            for id in ids.by_ref().take(ue.count as usize).map(UeId::from_index) {
                if let Some(best) = all.config.strongest(&mut propagation, id, candidates.iter().copied()) {
                    all.config.ues[id].serving = best;
                }
            }
        }
    }
}

impl Cellular {
    fn add_bearers(&mut self, ue: UeId, node: String, spec: &UeSpec) {
        debug_assert_eq!(ue.index(), self.ues.len());
        let default_bearer = self.bearers.len();
        self.bearers.push(node.clone());
        let layers = LteBearerConfig { pdcp: spec.pdcp.clone(), rlc: spec.rlc.clone() };
        self.config.bearers.push(DrbConfig { ue, layers, qos: spec.qos, ip_buffer: spec.ip_buffer.clone() });
        let mut template = Vec::new();
        for (name, dedicated) in &spec.dedicated {
            template.extend(dedicated.flows.iter().map(|flow| (flow.clone(), self.bearers.len())));
            self.bearers.push(format!("{node}.{name}"));
            let layers = LteBearerConfig { pdcp: dedicated.pdcp.clone(), rlc: dedicated.rlc.clone() };
            self.config.bearers.push(DrbConfig { ue, layers, qos: dedicated.qos, ip_buffer: None });
        }
        self.ues.push(UeNames { node, mtu: spec.mtu, default_bearer, template });
    }
}

/// Reads the recorded tracks of every group of UEs.
pub(super) fn load_tracks(
    spec: &Spec,
    doc: &Document,
    base: &Path,
    tracks: &mut Tracks,
    found: &mut Diagnostics,
) {
    for (name, ue) in &spec.ue {
        let Some(track) = &ue.track else { continue };
        let path = format!("ue.{}", dotted([name]));
        if ue.drop.is_some() || ue.ring.is_some() || ue.radio.mobility != lasthop_radio::Mobility::Static {
            let message = "a track sets where the UEs are: `drop`, `ring` and `radio.mobility` cannot";
            found.push(doc.error_at(&format!("{path}.track"), message).help("keep one"));
        }
        let key = format!("{path}.track.file");
        match crate::track::load(track, base, ue.count as usize) {
            Ok((ways, warnings)) => {
                tracks.insert(name.clone(), ways);
                for warning in warnings {
                    found.push(doc.warning_at(&key, warning).help("or raise `longest_gap`"));
                }
            }
            Err(e) if e.line == 0 => found.push(doc.error_at(&key, e.message).help(e.help)),
            Err(e) => {
                let message = format!("{}, line {}: {}", track.file, e.line, e.message);
                found.push(doc.error_at(&key, message).help(e.help));
            }
        }
    }
}

/// Checks a UE's bearers; keys are relative to the UE's table. Warns of known pitfalls.
pub fn validate_bearers(ue: &UeSpec) -> Vec<Result<Warning, ConfigError>> {
    let default = (String::new(), &ue.pdcp, &ue.rlc);
    let dedicated = ue.dedicated.iter().map(|(name, b)| (format!("dedicated.{name}."), &b.pdcp, &b.rlc));
    let mut found = Vec::new();
    for (prefix, pdcp, rlc) in std::iter::once(default).chain(dedicated) {
        match (LteBearerConfig { pdcp: pdcp.clone(), rlc: rlc.clone() }).validate() {
            Ok(warnings) => found
                .extend(warnings.into_iter().map(|w| Ok(Warning { key: format!("{prefix}{}", w.key), ..w }))),
            Err(e) => found.push(Err(ConfigError { key: format!("{prefix}{}", e.key), ..e })),
        }
    }
    found
}

//! Sidelinks in the world: which packets of a UE go over one, and the steps of the radio as rows.

use std::collections::BTreeMap;

use lasthop_lte::network::RadioNetwork;
use lasthop_lte::network::trace::{Step, TraceLink, TraceRecord};
use lasthop_lte::phy::TTI;
use lasthop_units::{BearerId, Id, IndexVec, NodeId, UeId};

use super::World;
use crate::probe::tables;
use crate::sink::Table;
use crate::spec::Cellular;

/// Names of flow groups.
type Groups = Box<[Box<str>]>;

/// The sidelinks of a scenario, wired into the world.
#[derive(Default)]
pub(super) struct Direct {
    /// By sender and the receiver's node: the lane, and the flow groups that it carries (none:
    /// all).
    lanes: BTreeMap<(UeId, NodeId), (u32, Groups)>,
    /// The bearer of the first pair, and for each pair its name and the node at the network's end
    /// of its bearer.
    first_bearer: usize,
    pairs: Vec<(Box<str>, NodeId)>,
    /// Multicast groups by name: the lane.
    groups: Vec<(Box<str>, u32)>,
}

impl Direct {
    /// `ues` are the nodes of the UEs.
    pub fn new(all: &Cellular, ues: &[NodeId], network: &RadioNetwork) -> Direct {
        let flows =
            |lane: u32| all.pairs[lane as usize / 2].flows.iter().map(|f| f.as_str().into()).collect();
        let of_pairs = 2 * all.pairs.len();
        let groups = (of_pairs as u32..).zip(&all.groups).map(|(lane, name)| (name.as_str().into(), lane));
        let lane = |(lane, tx, rx): (u32, UeId, UeId)| ((tx, ues[rx.index()]), (lane, flows(lane)));
        let names = all.pairs.iter().map(|p| p.name.as_str().into());
        Direct {
            lanes: network.lanes().take(of_pairs).map(lane).collect(),
            groups: groups.collect(),
            first_bearer: all.config.bearers.len(),
            pairs: names.zip(all.config.pairs.iter().map(|p| ues[p.ues[0].index()])).collect(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty() && self.groups.is_empty()
    }

    /// The lane that carries packets of the flow group `group` from `ue` to `to`.
    pub fn lane(&self, ue: UeId, to: NodeId, group: &str) -> Option<u32> {
        let (lane, flows) = self.lanes.get(&(ue, to))?;
        (flows.is_empty() || flows.iter().any(|f| **f == *group)).then_some(*lane)
    }

    /// The lane to the group `name`.
    pub fn group_lane(&self, name: &str) -> Option<u32> {
        self.groups.iter().find(|g| &*g.0 == name).map(|g| g.1)
    }

    /// The name of the group that `lane` leads to.
    fn group_name(&self, lane: u32) -> Option<&str> {
        self.groups.iter().find(|g| g.1 == lane).map(|g| &*g.0)
    }

    /// The node at the network's end of `bearer`, if that is a UE's.
    pub fn peer(&self, bearer: BearerId) -> Option<NodeId> {
        let pair = bearer.index().checked_sub(self.first_bearer)?;
        self.pairs.get(pair).map(|p| p.1)
    }

    /// The pairs of the table `name`.
    pub fn pairs_of(&self, name: &str) -> Vec<u32> {
        let of = |p: &str| p == name || p.strip_prefix(name).is_some_and(is_number);
        (0..).zip(&self.pairs).filter(|(_, p)| of(&p.0)).map(|(i, _)| i).collect()
    }
}

/// `-` and digits, as in the name of one pair among several.
fn is_number(rest: &str) -> bool {
    rest.strip_prefix('-').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

impl World {
    /// Rows of the `steps` table for what the radio did since the last call.
    #[cold]
    pub(super) fn note_steps(&mut self) {
        let World { radio, probes, nodes, packets, .. } = self;
        let Some(table) = &mut probes.steps else { return };
        let names: IndexVec<UeId, &str> = radio.ue_nodes().map(|n| &*nodes[n].name).collect();
        let enbs: IndexVec<UeId, &str> = radio.ue_enbs().map(|n| &*nodes[n].name).collect();
        let records: Vec<TraceRecord> = radio.drain_steps().collect();
        for record in records {
            let group = record.group.and_then(|lane| radio.direct().group_name(lane));
            let (by, to) = ends(&record, &names, &enbs, group);
            if record.packets.is_empty() {
                step_row(table, &record, by, to, None);
            }
            for id in &record.packets {
                step_row(table, &record, by, to, packets.get(*id).map(|p| p.serial));
            }
        }
    }
}

/// Who acts in a step, and towards whom.
fn ends<'a>(
    r: &TraceRecord,
    ues: &IndexVec<UeId, &'a str>,
    enbs: &IndexVec<UeId, &'a str>,
    group: Option<&'a str>,
) -> (&'a str, &'a str) {
    let (ue, enb) = (ues[r.ue], enbs[r.ue]);
    let (sender, receiver) = match r.link {
        TraceLink::Downlink => (enb, ue),
        TraceLink::Uplink => (ue, enb),
        TraceLink::Sidelink => (ue, r.peer.map_or(group.unwrap_or(enb), |p| ues[p])),
    };
    match r.step {
        Step::Grant => (enb, ue),
        Step::ReportHeard => (enb, ue),
        Step::Decoded | Step::Failed => (receiver, sender),
        Step::Request | Step::Report => (ue, enb),
        Step::Data | Step::Again => (sender, receiver),
    }
}

fn step_row(
    table: &mut Table<tables::Steps<'static>>,
    r: &TraceRecord,
    by: &str,
    to: &str,
    packet: Option<u64>,
) {
    table.push(&tables::Steps {
        time_s: r.tti.start(TTI).as_secs_f64(),
        node: by,
        to,
        step: r.step.name(),
        link: r.link.name(),
        about_s: (r.about != r.tti).then(|| r.about.start(TTI).as_secs_f64()),
        blocks: (r.blocks > 0).then_some(u64::from(r.blocks)),
        bytes: (r.bytes > 0).then_some(r.bytes),
        mcs: r.mcs.map(u64::from),
        packet,
    });
}

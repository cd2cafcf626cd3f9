//! One UE that sends to a group of others at once over the sidelink: `[multicast.<name>]`.

use lasthop_lte::mac::sidelink::SidelinkConfig;
use lasthop_lte::network::GroupConfig;
use lasthop_lte_l2::pdcp::{LteBearerConfig, PdcpConfig};
use lasthop_lte_l2::rlc::{Mode, RlcConfig};
use lasthop_units::{Id, UeId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Cellular;
use super::sidelink::unacknowledged;
use crate::config::{Diagnostics, Document, dotted};
use crate::spec::{FlowSpec, Spec};

/// A group of UEs that receive the same transmissions of one other UE. A UDP flow whose `to` is the
/// group's name is sent once, whatever the size of the group, and has a row in the results for each
/// receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MulticastSpec {
    /// The sender: a `[ue.<name>]` table of one UE.
    pub from: String,
    /// The receivers: `[ue.<name>]` tables in the same cell, each with all its UEs.
    pub to: Vec<String>,
    /// The CQI by which blocks are sent, 1 to 15 (SimuLTE: 7). Unset: that of the worst link of the
    /// group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cqi: Option<u8>,
    /// The link. There is no HARQ feedback, so a transport block is always sent `transmissions`
    /// times, every 8 ms on the same resource blocks; each receiver combines the transmissions that
    /// it has received.
    #[serde(default)]
    pub link: SidelinkConfig,
    /// PDCP of the sender and of each receiver.
    #[serde(default)]
    pub pdcp: PdcpConfig,
    /// RLC of the sender and of each receiver; unacknowledged mode.
    #[serde(default = "unacknowledged")]
    pub rlc: RlcConfig,
}

impl MulticastSpec {
    fn layers(&self) -> LteBearerConfig {
        LteBearerConfig { pdcp: self.pdcp.clone(), rlc: self.rlc.clone() }
    }

    /// Nodes of the receivers.
    pub fn receivers(&self, spec: &Spec) -> Vec<String> {
        let nodes = |table: &String| spec.ue.get(table).map(|ue| ue.nodes(table).collect::<Vec<_>>());
        self.to.iter().filter_map(nodes).flatten().collect()
    }
}

impl Spec {
    /// Adds the groups of all multicast tables, after UEs and the bearers of pairs.
    pub(super) fn add_groups(&self, all: &mut Cellular) {
        for (name, spec) in &self.multicast {
            let find = |node: &String| all.ues.iter().position(|u| u.node == *node).map(UeId::from_index);
            let nodes = spec.receivers(self);
            let to: Vec<UeId> = nodes.iter().filter_map(find).collect();
            let from = self.ue.get(&spec.from).and_then(|ue| ue.nodes(&spec.from).next());
            let Some(from) = from.as_ref().and_then(find).filter(|_| !to.is_empty()) else { continue };
            all.bearers.extend(nodes.iter().map(|node| format!("{name}.{node}")));
            let (layers, link) = (spec.layers(), spec.link.clone());
            all.config.groups.push(GroupConfig { from, to, layers, link, cqi: spec.cqi });
            all.groups.push(name.clone());
        }
    }

    /// The group to which a flow's data are sent.
    pub fn group_of_flow(&self, flow: &FlowSpec) -> Option<&MulticastSpec> {
        self.multicast.get(&flow.to)
    }
}

/// Checks the groups of `spec`, and flows to them.
pub(super) fn check(spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    for (name, group) in &spec.multicast {
        let path = format!("multicast.{}", dotted([name]));
        if spec.handover.is_some() {
            let d = doc.error_at(&path, "the UEs of a group cannot be handed over");
            found.push(d.help("leave out `[handover]`, or the group"));
        }
        if spec.groups().any(|g| g.has(name)) || spec.bases().any(|(node, _)| node == name) {
            found.push(
                doc.error_at(&path, format!("`{name}` is a node already"))
                    .help("give the group another name"),
            );
        }
        check_members(group, spec, &path, doc, found);
        if group.cqi.is_some_and(|cqi| !(1..=15).contains(&cqi)) {
            found.push(doc.error_at(&format!("{path}.cqi"), "a CQI is 1 to 15"));
        }
        if group.rlc.mode != Mode::Um {
            let d = doc.error_at(&format!("{path}.rlc.mode"), "a group's bearers are unacknowledged");
            found.push(d.help("receivers of multicast send no reports: `mode = \"um\"`"));
        }
        let verdicts = [
            group.link.validate().map_err(|e| (format!("link.{}", e.key), e.message)),
            group.layers().validate().map_err(|e| (e.key, e.message)),
        ];
        for verdict in verdicts {
            match verdict {
                Ok(warnings) => {
                    for w in warnings {
                        found.push(doc.warning_at(&format!("{path}.{}", w.key), w.message));
                    }
                }
                Err((key, message)) => found.push(doc.error_at(&format!("{path}.{key}"), message)),
            }
        }
    }
    for (name, flow) in &spec.flow {
        check_flow(flow, spec, &format!("flow.{}", dotted([name])), doc, found);
    }
}

fn check_members(group: &MulticastSpec, spec: &Spec, path: &str, doc: &Document, found: &mut Diagnostics) {
    let mut tables = Vec::new();
    for (key, name) in [("from", &group.from)].into_iter().chain(group.to.iter().map(|name| ("to", name))) {
        match spec.ue.get(name) {
            Some(ue) => tables.push(ue),
            None => {
                let near = found.nearest(name, spec.ue.keys());
                let message = format!("no UE table is called `{name}`");
                found.push(doc.error_at(&format!("{path}.{key}"), message).help_opt(near));
            }
        }
    }
    if group.to.is_empty() {
        found.push(
            doc.error_at(&format!("{path}.to"), "there is no receiver")
                .help("name at least one `[ue.<name>]` table"),
        );
    }
    if spec.ue.get(&group.from).is_some_and(|ue| ue.count != 1) {
        let d = doc.error_at(&format!("{path}.from"), "one UE sends to a group");
        found.push(d.help("give the sender a table of its own without `count`"));
    }
    let mut names: Vec<&String> = group.to.iter().chain([&group.from]).collect();
    names.sort();
    if names.windows(2).any(|w| w[0] == w[1]) {
        found.push(
            doc.error_at(
                &format!("{path}.to"),
                "each UE is in a group once, and its sender does not receive",
            ),
        );
    }
    let cells: Vec<_> = tables.iter().map(|ue| spec.serving(ue)).collect();
    if cells.iter().any(|cell| cell.is_none() || *cell != cells[0]) {
        let d = doc.error_at(path, "all UEs of a group are in one cell");
        found.push(d.help("set `cell` of their tables to the same cell"));
    }
}

fn check_flow(flow: &FlowSpec, spec: &Spec, path: &str, doc: &Document, found: &mut Diagnostics) {
    if spec.multicast.contains_key(&flow.from) {
        let d = doc.error_at(&format!("{path}.from"), format!("the group `{}` only receives", flow.from));
        found.push(d.help("the sender of a group is the UE in its `from`"));
    }
    let Some(group) = spec.group_of_flow(flow) else { return };
    if flow.from != group.from {
        let message = format!("only `{}` sends to the group `{}`", group.from, flow.to);
        found.push(doc.error_at(&format!("{path}.from"), message));
    }
    if flow.transport.is_stream() {
        let d = doc.error_at(&format!("{path}.transport"), "TCP has one receiver, a group has several");
        found.push(d.help("receivers of multicast send no reports: `transport = \"udp\"`"));
    }
    if flow.app.rate_control().is_some() {
        let d = doc.error_at(&format!("{path}.app"), "media follows the reports of one receiver");
        found.push(d.help("use a source of packets: `app = \"cbr\"`"));
    }
    if flow.one_to_one {
        found.push(doc.error_at(
            &format!("{path}.one_to_one"),
            "a flow to a group has one sender and all members as receivers",
        ));
    }
}

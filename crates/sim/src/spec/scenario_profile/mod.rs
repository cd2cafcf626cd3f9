//! `scenario.profile`: one key that sets TCP, cells, RLC, handover and Wi-Fi to the behaviour of
//! another simulator.
//!
//! A profile is a layer of values below those of the scenario and above the defaults. It is applied
//! before the profiles of cells, because it may name these.

mod rows;

use lasthop_tcp::{CcName, Profile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::rows::{PARTS, PEERS, Peer, Row, Scope};
use super::lte::profile as cell_profile;
use crate::config::{Diagnostic, Diagnostics, Document, Node, Origin, Table, dotted};

/// The simulator that the scenario imitates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ScenarioProfile {
    /// No other simulator: the defaults of all keys.
    #[default]
    #[serde(rename = "lasthop")]
    Lasthop,
    /// ns-3, release 3.44.
    #[serde(rename = "ns3-3.44")]
    Ns3Release44,
}

/// A value that the profile of a scenario has set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileSetting {
    /// Dotted path of the key.
    pub key: String,
    /// Its value, as TOML.
    pub value: String,
    /// The corresponding parameter of the peer.
    pub source: &'static str,
}

/// Inserts the values of `scenario.profile` where the scenario has none. A name that is no profile
/// is skipped here; the deserializer refuses it at its place.
pub(super) fn fill(document: &mut Document) {
    let Some(peer) = peer_of(document) else { return };
    let origin = document.get("scenario.profile").map_or(Origin::Program, |n| n.origin.clone());
    let standard = Document::empty("default");
    for (table, place) in tables(document) {
        let rows = peer.rows.iter().filter(|r| r.place == place);
        let mut layer = Document::empty(peer.name);
        // The rows are constants, which a test checks, and the deserializer refuses a table that
        // cannot be made.
        let set = rows.filter_map(|row| layer.insert(row.key, parsed(row, &origin)?).ok()).count();
        if set > 0 && (document.get(&table).is_some() || document.insert(&table, Table::default()).is_ok()) {
            document.fill_from(&table, &layer, &standard);
        }
    }
}

/// The error when the profile of the scenario in `document` exists for the stack and for cells
/// only: the name would imply that the whole scenario behaves as in that simulator.
pub(super) fn refusal(document: &Document) -> Option<Diagnostic> {
    let name = document.get("scenario.profile")?.as_str()?;
    let (_, stack, cell) = PARTS.iter().find(|(part, ..)| *part == name)?;
    let message =
        format!("`{name}` is a profile of TCP and of cells only: it sets no keys of RLC, handover or Wi-Fi");
    let help = format!("`tcp.profile = \"{stack}\"` in flows, `profile = \"{cell}\"` in cells");
    Some(document.error_at("scenario.profile", message).help(help))
}

/// Adds to messages in `found` the keys that the user did not write: a message about a value of the
/// profile is at the line that names the profile.
pub(super) fn name_keys(document: &Document, found: &mut Diagnostics) {
    let settings = settings(document);
    for diagnostic in found.iter_mut() {
        let Some(key) = &diagnostic.key else { continue };
        let set = settings
            .iter()
            .find(|s| s.key.strip_prefix(key.as_str()).is_some_and(|r| r.is_empty() || r.starts_with('.')));
        if let Some(set) = set.filter(|_| document.get(key).is_none()) {
            diagnostic.message += &format!(" (`scenario.profile` sets `{} = {}`)", set.key, set.value);
        }
    }
}

/// The rows of the profile whose keys are not written in `document`.
pub(super) fn settings(document: &Document) -> Vec<ProfileSetting> {
    let Some(peer) = peer_of(document) else { return Vec::new() };
    let mut found = Vec::new();
    for (table, place) in tables(document) {
        for row in peer.rows.iter().filter(|r| r.place == place) {
            let key = format!("{table}.{}", row.key);
            if document.get(&key).is_none() {
                found.push(ProfileSetting { key, value: row.value.replace('\'', "\""), source: row.source });
            }
        }
        if place == Scope::Cell {
            let (of, rows) = (format!("{table}.profile"), found.len());
            let Some(named) = found.iter().rev().find(|s| s.key == of).map(|s| s.value.clone()) else {
                continue;
            };
            for (key, value, source) in cell_profile::settings(named.trim_matches('"')) {
                let key = format!("{table}.{key}");
                if document.get(&key).is_none() && found[..rows].iter().all(|s| s.key != key) {
                    found.push(ProfileSetting { key, value, source });
                }
            }
        }
    }
    found
}

/// The profile's name and the behaviour that it does not imitate; none without a profile.
pub(super) fn limits(document: &Document) -> Option<(&'static str, &'static [&'static str])> {
    peer_of(document).map(|peer| (peer.name, peer.limits))
}

/// Scenario profiles with every value and their limits, as JSON.
pub fn describe_scenario_profiles() -> Value {
    let setting = |row: &Row| {
        let key = format!("{}.{}", row.place.table(), row.key);
        json!({"key": key, "value": row.value.replace('\'', "\""), "source": row.source})
    };
    PEERS
        .iter()
        .map(|peer| {
            let settings: Vec<Value> = peer.rows.iter().map(setting).collect();
            json!({"name": peer.name, "summary": peer.summary, "settings": settings, "limits": peer.limits})
        })
        .collect()
}

fn peer_of(document: &Document) -> Option<&'static Peer> {
    let name = document.get("scenario.profile")?.as_str()?;
    PEERS.iter().find(|p| p.name == name)
}

/// The value of a row. Messages about it are shown at `origin`.
fn parsed(row: &Row, origin: &Origin) -> Option<Node> {
    let document = Document::parse(&format!("value = {}", row.value), "profile").ok()?;
    let mut node = document.get("value").cloned()?;
    node.set_origin(origin);
    Some(node)
}

/// The congestion control of a flow on `stack`; `None`: it runs on another stack.
fn control(document: &Document, flow: &str, stack: Profile) -> Option<CcName> {
    let written = |key: &str| document.get(&format!("{flow}.tcp.{key}"));
    if written("profile").is_some_and(|name| name.as_str() != Some(stack.name())) {
        return None;
    }
    written("cc").map_or(Some(stack.config().cc), |name| name.as_str()?.parse().ok())
}

/// The tables of `document` to which rows apply, with their scopes.
fn tables(document: &Document) -> Vec<(String, Scope)> {
    let mut found = Vec::new();
    let names = |section: &str| -> Vec<String> {
        let table = document.get(section).and_then(Node::as_table);
        table.into_iter().flat_map(|t| t.keys()).map(|name| format!("{section}.{}", dotted([name]))).collect()
    };
    let text = |path: &str, key: &str| {
        document.get(&format!("{path}.{key}")).and_then(Node::as_str).map(str::to_owned)
    };
    let flows = names("flow").into_iter().filter(|f| text(f, "transport").is_none_or(|t| t == "tcp"));
    let stack = peer_of(document).and_then(|p| Profile::ALL.iter().find(|stack| stack.name() == p.name));
    for flow in flows {
        found.extend(
            stack.and_then(|s| control(document, &flow, *s)).map(|c| (flow.clone(), Scope::Control(c))),
        );
        found.push((flow, Scope::Flow));
    }
    found.extend(names("cell").into_iter().map(|c| (c, Scope::Cell)));
    if !names("cell").is_empty() {
        found.push(("radio".to_owned(), Scope::Radio));
    }
    if document.get("handover").is_some() {
        found.push(("handover".to_owned(), Scope::Handover));
    }
    let mut bearers = Vec::new();
    for ue in names("ue") {
        found.push((ue.clone(), Scope::Ue));
        bearers.extend(names(&format!("{ue}.dedicated")));
        bearers.push(ue);
    }
    bearers.extend(names("bearer").into_iter().filter(|b| text(b, "kind").is_some_and(|k| k == "lte-rlc")));
    for bearer in bearers {
        found.push((format!("{bearer}.rlc"), Scope::Rlc));
        found.push((format!("{bearer}.pdcp"), Scope::Pdcp));
    }
    if !names("ap").is_empty() {
        found.push(("wlan".to_owned(), Scope::Wlan));
    }
    found.extend(names("ap").into_iter().map(|a| (a, Scope::Ap)));
    found.extend(names("station").into_iter().map(|s| (s, Scope::Station)));
    found
}

#[cfg(test)]
mod tests;

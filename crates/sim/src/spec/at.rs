//! Changes during the run.

use std::collections::BTreeMap;

use lasthop_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Spec;
use crate::config::dotted;

/// A change at a given time of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct At {
    /// The time of the change.
    pub t: Duration,
    /// Runtime keys and their new values: `"link.wired.rate" = "1 Mbit/s"`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, Scalar>,
    /// Something to start: `"flow.ftp"`, `"fault.early"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// Something to stop: `"flow.ftp"` (its application offers no more data).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<String>,
    /// A flow whose application offers no data from now on: `"flow.ftp"`. Data that it has to write
    /// waits, and its connection stays open. Packets of `cbr`, `on-off`, `voip` and `game` that
    /// would be due during the pause are not made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<String>,
    /// A flow that continues after `pause`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
}

/// A TOML value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Scalar {
    /// true or false
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A number.
    Float(f64),
    /// Text, quantities included.
    Text(String),
    /// A list, such as a place.
    List(Vec<Scalar>),
    /// An inline table.
    Table(BTreeMap<String, Scalar>),
}

impl Scalar {
    /// The value in TOML notation.
    pub fn to_toml(&self) -> String {
        match self {
            Scalar::Bool(b) => b.to_string(),
            Scalar::Integer(i) => i.to_string(),
            Scalar::Float(f) => format!("{f:?}"),
            Scalar::Text(s) => toml::Value::String(s.clone()).to_string(),
            Scalar::List(all) => {
                let all: Vec<String> = all.iter().map(Scalar::to_toml).collect();
                format!("[{}]", all.join(", "))
            }
            Scalar::Table(all) => {
                let pair =
                    |(key, value): (&String, &Scalar)| format!("{} = {}", dotted([key]), value.to_toml());
                let all: Vec<String> = all.iter().map(pair).collect();
                format!("{{ {} }}", all.join(", "))
            }
        }
    }
}

/// The keys that are set during the run, at any time.
pub(super) fn keys_set(spec: &Spec) -> impl Iterator<Item = &String> {
    spec.at.iter().map(|at| &at.set).chain(spec.when.iter().map(|when| &when.set)).flat_map(BTreeMap::keys)
}

/// The flows and faults that are started during the run, at any time.
pub(super) fn started(spec: &Spec) -> impl Iterator<Item = &String> {
    spec.at.iter().map(|at| &at.start).chain(spec.when.iter().map(|when| &when.start)).flatten()
}

/// True if an `[[at]]` or a `[[when]]` sets one of these keys.
pub(super) fn changes(spec: &Spec, keys: &[String]) -> bool {
    keys_set(spec).any(|key| keys.contains(key))
}

//! Radio bearers without cells: the interface of each kind, and of the table `[bearer.<name>]`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::access::{AccessChanges, AccessSpec, ChangeEvent, InForce, RuntimeKeys};
use super::bearer_kind::BearerKind;
use super::buffers::Buffers;
use super::common_checks::{check_ends, check_mtu};
use super::crossing::Crossing;
use super::{LteRlcBearerSpec, Spec, UmtsBearerSpec};
use crate::config::{Diagnostics, Document, dotted};
use crate::extensions::Extensions;

/// A radio bearer between a network node and a UE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum BearerSpec {
    /// A UMTS dedicated channel (DCH) with PDCP and RLC.
    Umts(UmtsBearerSpec),
    /// PDCP and RLC of LTE over a channel that grants a block every TTI and loses some; no cell
    /// around it.
    LteRlc(LteRlcBearerSpec),
}

impl BearerSpec {
    /// The interface of its kind.
    pub(super) fn kind(&self) -> &dyn BearerKind {
        match self {
            BearerSpec::Umts(b) => b,
            BearerSpec::LteRlc(b) => b,
        }
    }
    /// The two ends: network side first.
    pub fn between(&self) -> &[String; 2] {
        self.kind().between()
    }
}

/// The tables of bearers.
pub(super) struct Bearers;

/// New keys of a bearer.
#[derive(Clone, Debug, PartialEq)]
pub struct BearerChange {
    /// Its table.
    pub name: String,
    /// Its keys.
    pub spec: Box<BearerSpec>,
}

impl BearerChange {
    pub(super) fn event(&self) -> Option<ChangeEvent> {
        Some((format!("bearer/{}", self.name), "change"))
    }
}

/// The points of observation of a bearer: where its PDUs of RLC are sent and received.
pub const INTERFACES: [&str; 2] = ["rlc.sent", "rlc.received"];

impl AccessSpec for Bearers {
    fn kinds_of_nodes(&self) -> &'static [&'static str] {
        &["bearer"]
    }

    fn interfaces(&self, spec: &Spec) -> Vec<String> {
        spec.bearer.keys().flat_map(|name| INTERFACES.map(|point| format!("{name}.{point}"))).collect()
    }

    fn check(&self, spec: &Spec, doc: &Document, _: &Extensions, found: &mut Diagnostics) {
        for (name, bearer) in &spec.bearer {
            let path = format!("bearer.{}", dotted([name]));
            check_ends(bearer.between(), &format!("{path}.between"), doc, found);
            check_mtu(bearer.kind().mtu(), &format!("{path}.mtu"), doc, found);
            match bearer.kind().validate() {
                Ok(warnings) => {
                    for w in warnings {
                        found.push(doc.warning_at(&format!("{path}.{}", w.key), w.message));
                    }
                }
                Err(e) => found.push(doc.error_at(&format!("{path}.{}", e.key), e.message)),
            }
        }
    }

    fn check_entries(&self, part: &Spec, _: &Spec, doc: &Document, found: &mut Diagnostics) {
        self.check(part, doc, &Extensions::new(), found);
    }

    fn check_idle(&self, spec: &Spec, doc: &Document, found: &mut Diagnostics) {
        for (name, bearer) in &spec.bearer {
            for side in bearer.kind().unused_directions() {
                let key = format!("bearer.{}.{side}.blocks", dotted([name]));
                let message = format!("the {side} never carries anything: its TTIs have no transport block");
                found.push(doc.warning_at(&key, message).help("1 to 64 blocks"));
            }
        }
    }

    fn count_buffers<'a>(&self, spec: &'a Spec, buffers: &mut Buffers<'a>) {
        for (name, bearer) in &spec.bearer {
            let crossing = Crossing::of_bearer(spec, name, bearer.between());
            let path = format!("bearer.{}.rlc", dotted([name]));
            for forward in [true, false] {
                let flows = spec.flow.values().filter(|f| crossing.data_goes(spec, f) == Some(forward));
                let (buffering, key) = bearer.kind().buffering(forward, &path);
                buffers.add(key, &buffering, flows);
            }
        }
    }

    fn runtime_keys(&self) -> RuntimeKeys {
        &[
            ("bearer.*.downlink.bler", "block error rate of a bearer's downlink"),
            ("bearer.*.uplink.bler", "block error rate of a bearer's uplink"),
            ("bearer.*.downlink.loss", "loss probability of an `lte-rlc` bearer's downlink"),
            ("bearer.*.uplink.loss", "loss probability of an `lte-rlc` bearer's uplink"),
            ("bearer.*.downlink.grant", "grant per TTI of an `lte-rlc` bearer's downlink"),
            ("bearer.*.uplink.grant", "grant per TTI of an `lte-rlc` bearer's uplink"),
        ]
    }
}

impl AccessChanges for Bearers {
    type Change = BearerChange;

    fn in_force(&self, _: &Spec) -> InForce<BearerChange> {
        Box::new(take_over)
    }
}

fn take_over(spec: &mut Spec, next: &mut Spec) -> Vec<BearerChange> {
    let differ = next.bearer.iter().filter(|(name, bearer)| spec.bearer.get(*name) != Some(bearer));
    let changes =
        differ.map(|(name, bearer)| BearerChange { name: name.clone(), spec: Box::new(bearer.clone()) });
    let changes = changes.collect();
    spec.bearer.extend(std::mem::take(&mut next.bearer));
    changes
}

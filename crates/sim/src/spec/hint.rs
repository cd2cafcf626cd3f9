//! Capacity hints: reports of the radio network to the senders of flows to its UEs, and their
//! transport.

use lasthop_units::{Bitrate, Bytes, Duration, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Spec;
use crate::config::{Diagnostics, Document, dotted, near_or_all};

/// Hints about the downlink of the UEs at which some flows end. Congestion controls that use hints
/// (`radio-aware`, `guided`, or one of your own) follow them; others ignore them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HintSpec {
    /// Flows whose senders get the hints; empty: every TCP flow with data to a UE.
    pub flows: Vec<String>,
    /// The source of the readings.
    pub source: HintSource,
    /// How a hint reaches the sender.
    pub carrier: HintCarrier,
    /// Time between reports, 1 ms to 10 s.
    pub period: Duration,
    /// With `carrier = "direct"`: time from the reading to the sender.
    pub delay: Duration,
    /// The information that a UE has about the load of its cell by other UEs.
    pub load: HintLoad,
    /// Time between the cell's broadcasts of its load.
    pub broadcast_period: Duration,
    /// Time constant of the average over rates, and over the load that is broadcast; 0 s: no
    /// average.
    pub average: Duration,
    /// With `load = "own"`: time constant of the share of resource blocks that the UE has got.
    pub memory: Duration,
    /// Hints include the layer-2 queue (a UE gets it only from its eNB).
    pub queue: bool,
    /// Step to which the rates in hints are rounded; 0 bit/s: not rounded.
    pub rate_step: Bitrate,
    /// Step to which the queues in hints are rounded; 0 B: not rounded.
    pub queue_step: Bytes,
    /// Error of the rates: standard deviation of the natural logarithm of the factor between the
    /// rate in a hint and the right rate, 0 to 3. The factor's median is 1, its mean exp(error^2 /
    /// 2): 1.005 at 0.1, 1.13 at 0.5.
    pub error: f64,
    /// Factor between the rate in every hint and the measured rate, 0 to 100. Above 1 the source
    /// overstates the rate.
    pub bias: f64,
    /// Share of the reports and notices that are lost on the way to the sender.
    pub loss: Ratio,
    /// Time of the first report, from which on notices are sent too.
    pub start: Duration,
    /// Time from which no report and no notice is sent. Unset: they are sent to the end of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Duration>,
    /// Write every report into the table `hints`.
    pub record: bool,
}

/// The source of the readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HintSource {
    /// The UE: the rate of its own wideband CQI at this moment, times its share of the cell.
    #[default]
    Ue,
    /// The eNB: the rate of the report it has, corrected by its outer loop, times the UE's share of
    /// the cell.
    Enb,
}

/// How hints reach senders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HintCarrier {
    /// Beside the connection, `delay` after they were measured.
    #[default]
    Direct,
    /// In a TCP option of the UE's ACKs (12 octets each), with the delay and the frequency of these
    /// ACKs.
    Option,
}

/// The information that a UE has about other UEs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HintLoad {
    /// The cell broadcasts its number of active UEs; the share is one divided by this number.
    #[default]
    Broadcast,
    /// None from the cell: the UE uses the share that it has got so far.
    Own,
    /// None: the UE assumes that it is the only UE.
    None,
}

impl Default for HintSpec {
    fn default() -> Self {
        HintSpec {
            flows: Vec::new(),
            source: HintSource::Ue,
            carrier: HintCarrier::Direct,
            period: Duration::from_millis(10),
            delay: Duration::from_millis(5),
            load: HintLoad::Broadcast,
            broadcast_period: Duration::from_millis(40),
            average: Duration::from_millis(50),
            memory: Duration::from_secs(1),
            queue: true,
            rate_step: Bitrate(1000),
            queue_step: Bytes(64),
            error: 0.0,
            bias: 1.0,
            loss: Ratio(0.0),
            start: Duration::ZERO,
            stop: None,
            record: false,
        }
    }
}

/// Checks the hints of a scenario.
pub(super) fn check(spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    for (name, hint) in &spec.hint {
        let path = format!("hint.{}", dotted([name]));
        let mut range = |ok: bool, key: &str, message: &str| {
            if !ok {
                found.push(doc.error_at(&format!("{path}.{key}"), message));
            }
        };
        let (ms, s10) = (Duration::from_millis(1), Duration::from_secs(10));
        range((ms..=s10).contains(&hint.period), "period", "1 ms to 10 s");
        range((ms..=s10).contains(&hint.broadcast_period), "broadcast_period", "1 ms to 10 s");
        range(hint.delay <= s10, "delay", "at most 10 s");
        range(hint.memory >= ms, "memory", "at least 1 ms");
        range((0.0..=3.0).contains(&hint.error), "error", "0 to 3");
        range((0.0..=100.0).contains(&hint.bias), "bias", "0 to 100");
        for (i, flow) in hint.flows.iter().enumerate() {
            let hinted = |f: &super::FlowSpec| {
                f.over_tcp().is_some() && (spec.gives_hints(&f.to) || spec.gives_hints(&f.from))
            };
            if !spec.flow.get(flow).is_some_and(hinted) {
                let names: Vec<&String> =
                    spec.flow.iter().filter(|(_, f)| hinted(f)).map(|(n, _)| n).collect();
                let help = near_or_all(flow, "TCP flows of UEs", &names);
                found.push(
                    doc.error_at(
                        &format!("{path}.flows.{i}"),
                        format!("no TCP flow `{flow}` with a UE of an LTE cell"),
                    )
                    .help(help),
                );
            }
        }
        if spec.groups().all(|group| !spec.gives_hints(group.name)) {
            found.push(
                doc.error_at_key(&path, "there is no LTE cell for hints")
                    .help("add `[cell.<name>]` and `[ue.<name>]`"),
            );
        }
    }
}

//! The scenario file as types. `config` has parsing, spans and messages; `check` checks
//! combinations of values; this file is the list of keys.

mod access;
mod action;
mod at;
mod bearer;
mod bearer_kind;
mod buffers;
mod capture;
mod change;
mod check;
mod common_checks;
mod control_variables;
mod crossing;
mod fault;
mod group;
mod hint;
mod hint_pitfalls;
mod idle;
mod kinds;
mod layout;
mod limits;
mod link;
mod links;
mod live;
mod load;
mod lte;
mod lte_rlc;
mod members;
mod memory;
mod node;
mod outside_pitfalls;
mod ring;
mod scenario_profile;
mod sources;
mod transport;
mod umts;
mod way_pitfalls;
mod ways;
mod when;
mod wlan;

use std::collections::BTreeMap;

use lasthop_lte::network::CellConfig;
use lasthop_lte::phy::propagation::RadioConfig as LteRadioConfig;
use lasthop_lte::rrc::HandoverConfig;
use lasthop_net::app::{AppConfig, Distribution};
use lasthop_units::{Bytes, Duration};
use lasthop_wifi::network::{AirConfig, ApConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use access::Placed;
pub use action::Action;
pub use at::{At, Scalar};
pub use bearer::{BearerChange, BearerSpec, INTERFACES as BEARER_INTERFACES};
pub(crate) use capture::matches as matches_pattern;
pub use capture::{CaptureSpec, DROPS as CAPTURE_DROPS};
pub use change::{InForce, describe_runtime_keys};
pub use fault::FaultSpec;
pub use hint::{HintCarrier, HintLoad, HintSource, HintSpec};
pub use kinds::AccessChange;
pub use layout::LayoutSpec;
pub use link::LinkSpec;
pub use links::LinkChange;
pub use live::LiveChanges;
pub use load::Scenario;
pub use lte::{
    Cellular, CoreSpec, LteChange, MAX_UES, MulticastSpec, SidelinkSpec, UeSpec, describe_cell_profiles,
};
pub use lte_rlc::LteRlcBearerSpec;
pub use members::LeftOut;
pub use node::{NodeSpec, ProxySpec};
pub use scenario_profile::{ProfileSetting, ScenarioProfile, describe_scenario_profiles};
pub use transport::Transport;
pub use umts::UmtsBearerSpec;
pub use when::{ROUND, Wanted, When};
pub use wlan::{MAX_STATIONS, StationNames, StationSpec, Wireless, WlanChange};

/// Everything a scenario file may hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The run itself: name, length, seed.
    pub scenario: General,
    /// Wired and trace-driven links by name. A node exists as soon as a table names it as an end.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub link: BTreeMap<String, LinkSpec>,
    /// Radio bearers by name: the last hop.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub bearer: BTreeMap<String, BearerSpec>,
    /// What all radio links of LTE share.
    #[serde(default, skip_serializing_if = "is_default")]
    pub radio: LteRadioConfig,
    /// Handover between LTE cells: measurements, timers and the backhaul. Without this table UEs
    /// stay in their cells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handover: Option<HandoverConfig>,
    /// The core network behind cells between which UEs are handed over.
    #[serde(default, skip_serializing_if = "is_default")]
    pub core: CoreSpec,
    /// LTE cells by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cell: BTreeMap<String, CellConfig>,
    /// Layouts by the name of the cell table that they multiply: many cells of one kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub layout: BTreeMap<String, LayoutSpec>,
    /// UEs of LTE by name, each a node or a group of them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ue: BTreeMap<String, UeSpec>,
    /// Sidelinks between UEs by name: direct communication in the uplink band.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sidelink: BTreeMap<String, SidelinkSpec>,
    /// Groups of UEs to which another UE sends at once, by name: multicast over the sidelink.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub multicast: BTreeMap<String, MulticastSpec>,
    /// What all wireless LANs share.
    #[serde(default, skip_serializing_if = "is_default")]
    pub wlan: AirConfig,
    /// Access points of wireless LANs by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ap: BTreeMap<String, ApConfig>,
    /// Stations of wireless LANs by name, each a node or a group of them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub station: BTreeMap<String, StationSpec>,
    /// What links do to chosen packets, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fault: BTreeMap<String, FaultSpec>,
    /// Nodes with a task of their own, by name: proxies and snoop agents. Other nodes need no
    /// table.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node: BTreeMap<String, NodeSpec>,
    /// Capacity hints from LTE cells to senders, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hint: BTreeMap<String, HintSpec>,
    /// Flows by name: the two ends, the application and the transport of each.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub flow: BTreeMap<String, FlowSpec>,
    /// Changes during the run, in any order; those of one time are one change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<At>,
    /// Changes once a variable of a sender meets a condition; each happens once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub when: Vec<When>,
    /// What the run writes down.
    #[serde(default)]
    pub output: Output,
}

/// The run itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct General {
    /// Name of the scenario: letters, digits, `-`, `_` and `.`. Names the result folder.
    pub name: String,
    /// One sentence on what the scenario shows.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Simulated time.
    pub duration: Duration,
    /// Seed of every random draw. The same seed gives the same bytes.
    #[serde(default = "one")]
    pub seed: u64,
    /// Another simulator, which TCP, cells, RLC, handover and Wi-Fi imitate together. Keys that the
    /// scenario writes itself have priority. `lasthop describe profile NAME` lists what one sets
    /// and what it leaves out.
    #[serde(default, skip_serializing_if = "is_default")]
    pub profile: ScenarioProfile,
    /// Largest random processing time at the ends of flows, at most 1 s. A flow starts later by a
    /// random time, uniform between 0 s and this value. Each packet waits for another such time
    /// before it leaves its end; the packets of an end keep their order. Breaks phase effects
    /// (Floyd and Jacobson 1992). Flows to multicast groups have no processing time.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(extend("x-range" = "0 s to 1 s"))]
    pub jitter: Duration,
}

impl Spec {
    /// True if a flow is media.
    pub fn has_media(&self) -> bool {
        self.flow.values().any(|flow| flow.app.rate_control().is_some())
    }
    /// True if a table waits for a sender's state, so that senders are checked after each packet.
    pub fn waits_for_senders(&self) -> bool {
        !self.when.is_empty() || self.fault.values().any(|fault| fault.rounds.is_some())
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn one() -> u64 {
    1
}

pub(crate) fn ethernet_mtu() -> Bytes {
    Bytes(1500)
}

/// A flow: an application with a transport between two nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowSpec {
    /// Node of the active end: it opens the connection and, for a bulk transfer, sends the data.
    /// The name of a group of UEs or stations stands for each of them.
    pub from: String,
    /// Node of the passive end, a group of UEs or stations, or a `[multicast.<name>]` group.
    pub to: String,
    /// With groups of the same size at both ends: flows only between the first of each group,
    /// between the second of each, and so on, as `[sidelink.<name>]` pairs them. Otherwise from
    /// every member of the first group to every member of the second.
    #[serde(default, skip_serializing_if = "is_default")]
    pub one_to_one: bool,
    /// Transport protocol.
    #[serde(default)]
    pub transport: Transport,
    /// When the flow starts.
    #[serde(default)]
    pub start: Duration,
    /// The start is later by a random time, uniform between 0 s and this value.
    #[serde(default, skip_serializing_if = "is_default")]
    pub start_spread: Duration,
    /// False: the flow waits for an `[[at]]` (or the caller) to start it.
    #[serde(default = "yes")]
    pub autostart: bool,
    /// When the application stops offering data (data that it has written is still delivered).
    /// Unset: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Duration>,
    /// How many such flows run side by side (between every pair of ends); they are named
    /// `<name>-1`, `<name>-2`, ... when there are several.
    #[serde(default = "one_flow")]
    pub count: u32,
    /// Each further flow of `count` starts this much later than the one before.
    #[serde(default)]
    pub stagger: Duration,
    /// Distribution of the times between starts, whose mean is `stagger`: `"exponential"` makes
    /// Poisson arrivals, each with a connection of its own.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stagger_distribution: Distribution,
    /// TCP: the application writes while fewer octets than this are written and not sent
    /// (TCP_NOTSENT_LOWAT), until they are at most twice as many. With a small value data is sent
    /// soon after the application has written it. Unset: 128 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notsent_lowat: Option<Bytes>,
    /// The application, which determines the data that is sent.
    #[serde(default)]
    pub app: AppConfig,
    /// TCP of both ends: profile, congestion control, and single values changed.
    #[serde(default)]
    pub tcp: lasthop_tcp::Options,
}

fn yes() -> bool {
    true
}

fn one_flow() -> u32 {
    1
}

/// When the `tcp` table gets a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TcpSampling {
    /// No rows.
    Off,
    /// At fixed times, every `output.interval`.
    #[default]
    Interval,
    /// At every ACK that reaches the sender, and at every timeout.
    Ack,
    /// Whenever the congestion window (in whole segments), the threshold or the state changes.
    Change,
}

/// When the `cc` table gets rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ControlSampling {
    /// No table.
    #[default]
    Off,
    /// At fixed times, every `output.interval`: a row for each variable.
    Interval,
    /// At every ACK that reaches the sender, before it sends: a row for each variable. Between ACKs
    /// as with `change`. Grows with the run.
    Ack,
    /// A row for each variable that has changed, after every ACK and every timer before the sender
    /// sends, and once more after it has sent. Several changes of a state at once have a row each.
    /// Grows with the run.
    Change,
}

/// What the run writes down. The `flows`, `events` and `drops` tables are always written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Output {
    /// Time between two samples of the `tcp` (unless sampled otherwise), `media`, `queues`, `rlc`
    /// and `mac` tables.
    pub interval: Duration,
    /// When the `tcp` table gets a row.
    pub tcp: TcpSampling,
    /// When the `cc` table, with the variables of congestion controls and of media's rate controls,
    /// gets rows.
    #[serde(skip_serializing_if = "is_default")]
    pub cc: ControlSampling,
    /// Write the data that each flow received in each interval of this length, with quantiles of
    /// its packets' delays and of their time in queues (table `windows`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub windows: Option<Duration>,
    /// Variables that the `cc` table has, by name; `*` stands for any text and `?` for any
    /// character: `cwnd`, `bbr.*`. Empty: all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cc_variables: Vec<String>,
    /// Sample the queues of links (table `queues`).
    pub queues: bool,
    /// Sample radio bearers (tables `rlc` and `mac`).
    pub radio: bool,
    /// Write a row for every packet sent, received and dropped (table `packets`). Grows with the
    /// run.
    pub packets: bool,
    /// Write a row for every request, grant, report and transport block of LTE (table `steps`), for
    /// `lasthop timeline`. Grows with the run.
    #[serde(skip_serializing_if = "is_default")]
    pub steps: bool,
    /// Write a row for each sending and each arrival of an RLC PDU in LTE cells (table `rlc_pdus`,
    /// for ns-3's statistics of RLC). Grows with the run.
    #[serde(skip_serializing_if = "is_default")]
    pub rlc_pdus: bool,
    /// Write what each UE has measured of each cell every `interval` (table `measurements`; needs
    /// `[handover]`).
    #[serde(skip_serializing_if = "is_default")]
    pub measurements: bool,
    /// Write where each UE is every `interval` (table `positions`).
    #[serde(skip_serializing_if = "is_default")]
    pub positions: bool,
    /// Write a packet capture, which Wireshark reads. Grows with the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capture: Option<CaptureSpec>,
    /// Write what limits each sender and where each packet is at every moment (tables `limits`,
    /// `stages` and `packets`), for `lasthop explain`. Grows with the run.
    #[serde(skip_serializing_if = "is_default")]
    pub explain: bool,
}

impl Default for Output {
    fn default() -> Self {
        Output {
            interval: Duration::from_millis(100),
            tcp: TcpSampling::Interval,
            cc: ControlSampling::Off,
            windows: None,
            cc_variables: Vec::new(),
            queues: true,
            radio: true,
            packets: false,
            steps: false,
            rlc_pdus: false,
            measurements: false,
            positions: false,
            capture: None,
            explain: false,
        }
    }
}

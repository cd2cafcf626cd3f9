//! What changes during a run.

use lasthop_lte::mac::sidelink::LinkMode;
use lasthop_units::{ApId, StationId};
use lasthop_wifi::network::{ApConfig, StationConfig};

use super::{BearerSpec, LinkSpec};

/// A change, checked before the run.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A link's keys are now these.
    Link(String, Box<LinkSpec>),
    /// A bearer's keys are now these.
    Bearer(String, Box<BearerSpec>),
    /// A cell is off or on.
    Cell(String, bool),
    /// The pairs of this sidelink go these ways.
    Sidelink(String, [LinkMode; 2]),
    /// The access point of this name takes this configuration.
    Ap(String, ApId, Box<ApConfig>),
    /// The station at this node takes this configuration.
    Station(String, StationId, Box<StationConfig>),
    /// The flows of this name start.
    StartFlow(String),
    /// The applications of the flows of this name stop.
    StopFlow(String),
    /// The snoop agent at this node begins anew.
    StartNode(String),
    /// The snoop agent at this node forgets everything and stops.
    StopNode(String),
}

impl Action {
    /// Source, kind and detail of its row in the table `events`. `None`: what is changed writes
    /// rows itself.
    pub fn event(&self) -> Option<(String, &'static str, &'static str)> {
        match self {
            Action::Link(name, _) => Some((format!("link/{name}"), "change", "")),
            Action::Bearer(name, _) => Some((format!("bearer/{name}"), "change", "")),
            Action::Cell(name, true) => Some((format!("cell/{name}"), "cell-down", "")),
            Action::Cell(name, false) => Some((format!("cell/{name}"), "cell-up", "")),
            Action::Ap(name, ..) => Some((format!("ap/{name}"), "change", "")),
            Action::Station(name, ..) => Some((format!("station/{name}"), "change", "")),
            Action::StartNode(name) => Some((format!("node/{name}"), "start", "snoop")),
            Action::StopNode(name) => Some((format!("node/{name}"), "stop", "snoop")),
            Action::Sidelink(..) | Action::StartFlow(_) | Action::StopFlow(_) => None,
        }
    }
}

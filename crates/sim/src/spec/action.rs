//! Changes during a run.

use lasthop_net::app::AppConfig;

use super::access::ChangeEvent;
use super::kinds::AccessChange;

/// A change, checked before the run.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A change of an access.
    Access(AccessChange),
    /// The flows of this name start.
    StartFlow(String),
    /// The applications of the flows of this name stop.
    StopFlow(String),
    /// The applications of the flows of this name offer no data.
    PauseFlow(String),
    /// They offer data again.
    ResumeFlow(String),
    /// The applications of the flows of this name get these parameters.
    ChangeFlow(String, Box<AppConfig>),
    /// The snoop agent at this node restarts.
    StartNode(String),
    /// The snoop agent at this node discards its state and stops.
    StopNode(String),
    /// The fault of this name restarts.
    StartFault(String),
    /// The fault of this name ends.
    StopFault(String),
}

impl Action {
    /// Its row in the table `events`, and the detail of the row. `None`: the changed object writes
    /// rows itself.
    pub fn event(&self) -> Option<(ChangeEvent, &'static str)> {
        match self {
            Action::Access(change) => change.event().map(|event| (event, "")),
            Action::StartNode(name) => Some(((format!("node/{name}"), "start"), "snoop")),
            Action::StopNode(name) => Some(((format!("node/{name}"), "stop"), "snoop")),
            Action::StartFault(name) => Some(((format!("fault/{name}"), "start"), "")),
            Action::StopFault(name) => Some(((format!("fault/{name}"), "stop"), "")),
            Action::ChangeFlow(name, _) => Some(((format!("flow/{name}"), "change"), "")),
            Action::StartFlow(_) | Action::StopFlow(_) | Action::PauseFlow(_) | Action::ResumeFlow(_) => None,
        }
    }
}

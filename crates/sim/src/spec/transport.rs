//! The transport protocol of a flow, and what the rest of a scenario needs of it.

use lasthop_net::app::Service;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FlowSpec;

/// The transport protocol of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// TCP, as `[flow.<name>.tcp]` says.
    #[default]
    Tcp,
    /// UDP: datagrams, nothing is repeated.
    Udp,
}

impl Transport {
    /// What the application has of it.
    pub const fn service(self) -> Service {
        match self {
            Transport::Tcp => Service::Stream,
            Transport::Udp => Service::Datagrams,
        }
    }
    /// Whether the ends have a connection with a stream each way; else the application's datagrams
    /// go as they are.
    pub const fn is_stream(self) -> bool {
        matches!(self, Transport::Tcp)
    }
}

impl FlowSpec {
    /// What its TCP is set to; `None`: it runs over something else.
    pub fn over_tcp(&self) -> Option<&lasthop_tcp::Options> {
        match self.transport {
            Transport::Tcp => Some(&self.tcp),
            Transport::Udp => None,
        }
    }
}

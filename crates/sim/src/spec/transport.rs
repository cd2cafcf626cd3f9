//! The transport protocol of a flow, and its interface to the rest of a scenario.

use lasthop_net::app::Service;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FlowSpec;

/// The transport protocol of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// TCP, with the parameters of `[flow.<name>.tcp]`.
    #[default]
    Tcp,
    /// UDP: datagrams without retransmission.
    Udp,
}

impl Transport {
    /// The service for the application.
    pub const fn service(self) -> Service {
        match self {
            Transport::Tcp => Service::Stream,
            Transport::Udp => Service::Datagrams,
        }
    }
    /// True if the ends have a connection with a stream in each direction; otherwise the
    /// application's datagrams are sent as they are.
    pub const fn is_stream(self) -> bool {
        matches!(self, Transport::Tcp)
    }
}

impl FlowSpec {
    /// The options of its TCP; `None`: it uses another transport.
    pub fn over_tcp(&self) -> Option<&lasthop_tcp::Options> {
        match self.transport {
            Transport::Tcp => Some(&self.tcp),
            Transport::Udp => None,
        }
    }
}

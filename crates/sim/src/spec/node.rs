//! Nodes with tasks other than forwarding packets.

use lasthop_tcp::{Options, SnoopConfig};
use lasthop_units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A node with a task of its own. It must also be an end of a link or bearer, or an eNB.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum NodeSpec {
    /// Terminates TCP connections that lead through it, and opens others in their place (a split
    /// connection, RFC 3135).
    Proxy(Box<ProxySpec>),
    /// Repairs losses of the wireless hop for TCP connections that lead through it (Balakrishnan
    /// and others 1995).
    Snoop(SnoopSpec),
    /// Is not simulated: real packets enter and leave the run here (`lasthop live`). Flows of the
    /// scenario that end here are left out.
    External(ExternalSpec),
    /// Has the TCP of a real Linux kernel (`lasthop linux run`): both ends of TCP flows between
    /// such nodes are sockets of this kernel. Other flows that end here are simulated.
    Linux(LinuxSpec),
}

/// A node with a real kernel's TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LinuxSpec {}

/// A node that stands for a real host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ExternalSpec {}

impl NodeSpec {
    /// Whether real packets enter and leave here.
    pub const fn is_external(&self) -> bool {
        matches!(self, NodeSpec::External(_))
    }
    /// Whether its TCP is a real kernel's.
    pub const fn is_linux(&self) -> bool {
        matches!(self, NodeSpec::Linux(_))
    }
}

/// A TCP-terminating proxy. The part of a flow behind it is a flow `<flow>@<node>` in the tables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProxySpec {
    /// Most octets per connection and direction that the proxy has received and that are not yet
    /// acknowledged at its other side. It is the receive buffer of the socket that receives and the
    /// send buffer of the socket that sends on, unless `accept` or `connect` set these.
    pub buffer: Bytes,
    /// Flows whose connections the proxy terminates; empty: every TCP flow that leads through it.
    pub flows: Vec<String>,
    /// TCP of the socket that accepts from the flow's `from` side. Unset: the flow's options.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accept: Option<Options>,
    /// TCP of the socket that connects to the flow's `to` side. Unset: the flow's options.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect: Option<Options>,
}

impl Default for ProxySpec {
    fn default() -> Self {
        ProxySpec { buffer: Bytes(65_536), flows: Vec::new(), accept: None, connect: None }
    }
}

impl ProxySpec {
    /// Options of the accepting (or connecting) socket of a flow with these options.
    pub fn socket(&self, accepting: bool, flow: &Options) -> Options {
        let own = if accepting { &self.accept } else { &self.connect };
        let mut options = own.clone().unwrap_or_else(|| flow.clone());
        if own.as_ref().is_none_or(|o| o.buffers.receive_buffer.is_none()) {
            options.buffers.receive_buffer = Some(self.buffer);
        }
        if own.as_ref().is_none_or(|o| o.buffers.send_buffer.is_none()) {
            options.buffers.send_buffer = Some(self.buffer);
        }
        options.growth.manual_read = Some(true);
        // A proxy forwards what arrives: it has nothing in the place of octets that it skipped.
        options.acks.ack_ahead = None;
        options
    }
}

/// A snoop agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SnoopSpec {
    /// The link or bearer, at this node, that leads to the mobile. Unset: every radio bearer and
    /// cell at the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub towards: Option<String>,
    /// Most octets of data per connection that it stores; segments that do not fit pass without
    /// local retransmission.
    pub buffer: Bytes,
    /// Floor of the local retransmission timer, at least 1 ms.
    pub min_timeout: Duration,
    /// How often it sends a segment again; then the sender has to repair the loss.
    pub retransmissions: u32,
}

impl Default for SnoopSpec {
    fn default() -> Self {
        SnoopSpec {
            towards: None,
            buffer: Bytes(65_536),
            min_timeout: Duration::from_millis(100),
            retransmissions: 10,
        }
    }
}

impl SnoopSpec {
    /// The configuration of the agent itself.
    pub const fn config(&self) -> SnoopConfig {
        SnoopConfig {
            buffer: self.buffer.0,
            min_timeout: self.min_timeout,
            retransmissions: self.retransmissions,
        }
    }
}

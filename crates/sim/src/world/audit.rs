//! The deep check: everything that must hold between two events, whatever the scenario. For tests
//! and the swarm; its cost grows with what is inside.

use super::World;
use super::flow::Flow;
use super::proxy::audit_relays;
use crate::event::End;
use crate::transport::StreamOctets;
use lasthop_units::{FlowId, IndexVec};

impl World {
    /// What does not hold, one sentence each.
    ///
    /// Packets and bytes: what the entities hold, what is in the slab and what the account says
    /// is one. Flows: no end receives what was not written (UDP: unless a link of the way
    /// duplicates). Liveness: a TCP sender with something to send or unacknowledged has a timer.
    pub fn audit(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let (account, slab, held) = (self.account.inside(), self.packets.len(), self.held_by_entities());
        let bytes: u64 = self.packets.iter().map(|(_, p)| u64::from(p.size)).sum();
        if account.packets != slab as u64 || slab != held {
            wrong.push(format!(
                "packets: {} in the account, {slab} on the slab, {held} held",
                account.packets
            ));
        }
        if account.bytes.0 != bytes {
            wrong.push(format!("bytes: {} in the account, {bytes} on the slab", account.bytes.0));
        }
        wrong.extend(audit_streams(&self.flows));
        for (id, flow) in self.flows.enumerate() {
            wrong.extend(audit_relays(&self.flows, id));
            for end in [End::A, End::B] {
                wrong.extend(audit_liveness(flow, end));
            }
        }
        wrong
    }
}

/// What does not hold about the octets that TCP applications write: each is delivered, or waits in
/// the receiver's socket, or is on the way, or lost with a packet that the account names and kept
/// by the sender, or was not sent yet.
pub(super) fn audit_streams(flows: &IndexVec<FlowId, Flow>) -> Vec<String> {
    let ends = [End::A, End::B];
    flows.iter().flat_map(|flow| ends.into_iter().filter_map(move |end| audit_stream(flow, end))).collect()
}

/// The stream that `end` of `flow` writes.
fn audit_stream(flow: &Flow, end: End) -> Option<String> {
    let octets = flow.transport.stream_octets(end)?;
    let (stats, name) = (flow.app.stats(), &flow.name);
    let (written, delivered) = (stats.written[end as usize], stats.delivered[end.other() as usize]);
    if delivered > written {
        return Some(format!("flow {name}: {delivered} B delivered of {written} B written at {end:?}"));
    }
    let StreamOctets { accepted, sent, acknowledged, arrived, read } = octets;
    if !(acknowledged <= arrived && arrived <= sent) {
        return Some(format!(
            "flow {name}: of {accepted} B accepted at {end:?} {sent} are sent, {arrived} arrived, {acknowledged} acknowledged"
        ));
    }
    // The applications of a split flow are with its first connection.
    if flow.leg.is_none() && (accepted > written || delivered != read) {
        return Some(format!(
            "flow {name}: {written} B written at {end:?}, {accepted} accepted; {read} in order, {delivered} delivered"
        ));
    }
    None
}

/// A sender that waits has a timer.
fn audit_liveness(flow: &Flow, end: End) -> Option<String> {
    let state = flow.transport.waits_without_timer(end)?;
    Some(format!("flow {}: {end:?} waits without a timer in {state}", flow.name))
}

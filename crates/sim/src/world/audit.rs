//! The deep check of all invariants between two events. For tests and the swarm; its time grows
//! with the number of packets and flows.

use super::World;
use super::flow::Flow;
use super::proxy::audit_relays;
use crate::event::End;
use crate::transport::StreamOctets;
use lasthop_units::{FlowId, IndexVec};

impl World {
    /// The violated invariants, one sentence each.
    ///
    /// Packets and bytes: the entities, the slab and the account agree. Flows: no end receives data
    /// that was not written (UDP: unless a link of the path duplicates). Liveness: a TCP sender
    /// with unsent or unacknowledged data has a timer.
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

/// The violated invariants of the octets that TCP applications write: each is delivered, or waits
/// in the receiver's socket, or is in transit, or lost with a packet that the account names and
/// kept by the sender, or was not sent yet. With `ack_ahead` it may also be skipped by the
/// receiver, and no longer kept by a sender to which so many octets more are acknowledged than have
/// arrived.
pub(super) fn audit_streams(flows: &IndexVec<FlowId, Flow>) -> Vec<String> {
    let ends = [End::A, End::B];
    flows.iter().flat_map(|flow| ends.into_iter().filter_map(move |end| audit_stream(flow, end))).collect()
}

/// Checks the stream that `end` of `flow` writes.
fn audit_stream(flow: &Flow, end: End) -> Option<String> {
    let octets = flow.transport.stream_octets(end)?;
    let (stats, name) = (flow.app.stats(), &flow.name);
    let (written, delivered) = (stats.written[end as usize], stats.delivered[end.other() as usize]);
    if delivered > written {
        return Some(format!("flow {name}: {delivered} B delivered of {written} B written at {end:?}"));
    }
    let StreamOctets { accepted, sent, acknowledged, arrived, read, skipped, lead } = octets;
    let passed = arrived + skipped;
    if !(acknowledged <= sent.min(passed + lead) && passed <= sent) {
        return Some(format!(
            "flow {name}: of {accepted} B accepted at {end:?} {sent} are sent, {arrived} arrived, {skipped} skipped, \
             {acknowledged} acknowledged with a lead of up to {lead}"
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

/// Checks that a sender that waits has a timer.
fn audit_liveness(flow: &Flow, end: End) -> Option<String> {
    let state = flow.transport.waits_without_timer(end)?;
    Some(format!("flow {}: {end:?} waits without a timer in {state}", flow.name))
}

//! The deep check: everything that must hold between two events, whatever the scenario. For tests and the swarm;
//! its cost grows with what is inside.

use super::World;
use super::event::End;
use super::flow::{Flow, Transport};

impl World {
    /// What does not hold, one sentence each.
    ///
    /// Packets and bytes: what the entities hold, what lies in the slab and what the books say is one. Flows: nobody
    /// receives what was not written (UDP: unless a link of the way duplicates). Liveness: a TCP sender with
    /// something to send or unacknowledged has a timer.
    pub fn audit(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let (books, shelf, held) = (self.account.inside(), self.packets.len(), self.held_by_entities());
        let bytes: u64 = self.packets.iter().map(|(_, p)| u64::from(p.size)).sum();
        if books.packets != shelf as u64 || shelf != held {
            wrong.push(format!("packets: {} in the books, {shelf} on the shelf, {held} held", books.packets));
        }
        if books.bytes.0 != bytes {
            wrong.push(format!("bytes: {} in the books, {bytes} on the shelf", books.bytes.0));
        }
        for (id, flow) in self.flows.enumerate() {
            wrong.extend(self.audit_relays(id));
            for end in [End::A, End::B] {
                wrong.extend(audit_stream(flow, end));
            }
        }
        wrong
    }
}

/// The stream that `end` of `flow` writes.
fn audit_stream(flow: &Flow, end: End) -> Option<String> {
    let Transport::Tcp(sockets) = &flow.transport else { return None };
    let (stats, name) = (flow.app.stats(), &flow.name);
    let (written, delivered) = (stats.written[end as usize], stats.delivered[end.other() as usize]);
    if delivered > written {
        return Some(format!("flow {name}: {delivered} B delivered of {written} B written at {end:?}"));
    }
    let endpoint = &sockets[end as usize].endpoint;
    let waits = endpoint.notsent() > 0 || endpoint.info().unacked > 0;
    if waits && endpoint.state().is_synchronized() && endpoint.poll_at().is_none() {
        return Some(format!("flow {name}: {end:?} waits without a timer in {:?}", endpoint.state()));
    }
    None
}

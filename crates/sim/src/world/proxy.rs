//! A TCP-terminating proxy. A flow through proxies is a series of connections, each a flow of the
//! world. The two sockets inside a proxy pass the data that they receive to each other.

use lasthop_units::{FlowId, IndexVec, Instant};

use super::World;
use super::flow::Flow;
use crate::event::End;
use crate::transport::ConnectionEvent;

impl Flow {
    /// Returns the connections before and after the proxy that contains the socket at `end`.
    #[inline]
    fn facing(&self, id: FlowId, end: End) -> Option<(FlowId, FlowId)> {
        let leg = self.leg.as_deref()?;
        match end {
            End::A => leg.previous.map(|p| (p, id)),
            End::B => leg.next.map(|n| (id, n)),
        }
    }
}

impl World {
    /// Processes the events of a socket inside a proxy and passes on the data that can be. Returns
    /// `None` if this socket is an application's.
    #[inline]
    pub(super) fn relay(&mut self, now: Instant, flow: FlowId, end: End) -> Option<bool> {
        let (before, after) = self.flows[flow].facing(flow, end)?;
        self.on_relay_events(now, flow, end, before, after);
        Some(self.hand_over(now, flow, before, after))
    }

    fn on_relay_events(&mut self, now: Instant, flow: FlowId, end: End, before: FlowId, after: FlowId) {
        while let Some(report) = self.flows[flow].transport.poll_event(end) {
            self.flows[flow].note_report(&mut self.probes, now, end, &report);
            match report.event {
                // A connection has been accepted: opens the second one.
                ConnectionEvent::Established if end == End::B => self.open_leg(now, after),
                ConnectionEvent::PeerClosed => {
                    if let Some(leg) = self.flows[before].leg.as_deref_mut() {
                        leg.relays.set_ended(end);
                    }
                }
                ConnectionEvent::Failed => self.break_relay(now, flow, before, after),
                _ => {}
            }
        }
    }

    fn open_leg(&mut self, now: Instant, flow: FlowId) {
        let f = &mut self.flows[flow];
        f.started.get_or_insert(now);
        f.transport.start(now);
        self.flows[flow].note(&mut self.probes, now, "flow-start", None, "proxy");
        self.service(now, flow, End::A);
    }

    /// Aborts the other side, once, after one side was reset or gave up.
    fn break_relay(&mut self, now: Instant, failed: FlowId, before: FlowId, after: FlowId) {
        let Some(leg) = self.flows[before].leg.as_deref_mut() else { return };
        if std::mem::replace(&mut leg.broken, true) {
            return;
        }
        let (other, end) = if failed == before { (after, End::A) } else { (before, End::B) };
        self.flows[other].transport.abort(now, end);
        self.service(now, other, end);
    }

    /// Moves octets in both directions between the two sockets inside the proxy and services the
    /// socket that is not of `flow`. Returns true if the socket of `flow` may have data to send.
    fn hand_over(&mut self, now: Instant, flow: FlowId, before: FlowId, after: FlowId) -> bool {
        let Some((a, b)) = self.flows.get_two_mut(before, after) else { return false };
        let Some(leg) = a.leg.as_deref_mut().filter(|leg| !leg.broken) else { return false };
        if !leg.relays.pump(now, &mut a.transport, &mut b.transport) {
            return false;
        }
        let (other, end) = if flow == before { (after, End::A) } else { (before, End::B) };
        self.service(now, other, end);
        true
    }
}

/// Returns a description of an invariant of a split flow's relays that does not hold.
pub(super) fn audit_relays(flows: &IndexVec<FlowId, Flow>, before: FlowId) -> Option<String> {
    let flow = &flows[before];
    let leg = flow.leg.as_deref()?;
    let next = leg.next?;
    let wrong = leg.relays.audit(&flow.transport, &flows[next].transport)?;
    Some(format!("{}: {wrong}", flow.name))
}

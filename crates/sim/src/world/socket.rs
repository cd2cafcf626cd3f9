//! Applications and transports: connecting, listening, and the times of the next poll.

use lasthop_net::app::{Action as AppAction, Arrival};
use lasthop_units::{FlowId, Instant};

use super::World;
use super::control::Moment;
use super::flow::{AppCommand, Flow};
use crate::error::Error;
use crate::event::{End, Event};
use crate::transport::{ConnectionEvent, Payload, Room};

impl Flow {
    /// Passes the progress of an endpoint without events to its application.
    #[inline(always)]
    fn on_progress(&mut self, now: Instant, end: End, fresh: u64, room: Room, actions: &mut Vec<AppAction>) {
        if fresh > 0 {
            self.app.on_delivered(now, end, fresh, actions);
        }
        // Not while a write of the application is pending: it would count the free space twice.
        if !actions.is_empty() {
            self.transport.inform_again(end);
        } else if room.octets > 0 && room.known {
            self.app.on_still_writable(end, actions);
        } else if room.octets > 0 {
            self.app.on_writable(now, end, room.octets, actions);
        }
    }
}

impl World {
    /// Starts a flow: B listens, A connects (TCP) or the application sends at once (UDP). A stopped
    /// flow continues.
    pub(super) fn start_flow(&mut self, now: Instant, flow: FlowId) {
        let f = &mut self.flows[flow];
        let first = f.started.is_none();
        f.started.get_or_insert(now);
        f.note(&mut self.probes, now, "flow-start", None, "");
        if f.is_copy() {
            return;
        }
        f.app.start(now, &mut self.app_actions);
        if first && f.transport.is_stream() {
            f.transport.start(now);
            self.service(now, flow, End::A);
            if self.probes.limits.is_some() {
                // The sender may be the end that waits for a SYN.
                let end = self.flows[flow].data_end;
                self.flows[flow].watch_limit(&mut self.probes, now, end);
            }
        } else {
            self.do_app_actions(now, flow);
        }
    }

    /// Passes a command to the application of a flow; data that it wrote before is still delivered.
    pub(super) fn command_flow(&mut self, now: Instant, flow: FlowId, command: AppCommand<'_>) {
        let f = &mut self.flows[flow];
        if f.command(now, command, &mut self.probes, &mut self.app_actions) {
            self.do_app_actions(now, flow);
        }
    }

    pub(super) fn on_app_timer(&mut self, now: Instant, flow: FlowId) {
        let f = &mut self.flows[flow];
        if f.app_wake.take(now) {
            f.app.on_time(now, &mut self.app_actions);
            self.do_app_actions(now, flow);
        }
    }

    pub(super) fn on_socket_timer(&mut self, now: Instant, flow: FlowId, end: End) {
        if self.flows[flow].transport.on_time(now, end) {
            if self.probes.sampling.senders && end == self.flows[flow].data_end {
                self.watch_control(now, flow, Moment::Other);
            }
            self.service(now, flow, end);
        }
    }

    /// Processes a packet that the connection has received at an end; `to_sender`: at the one that
    /// sends the data.
    #[inline]
    pub(super) fn on_taken(&mut self, now: Instant, flow: FlowId, end: End, to_sender: bool) {
        if self.probes.sampling.senders && to_sender {
            self.watch_control(now, flow, Moment::Arrival);
        }
        self.service(now, flow, end);
        if to_sender {
            self.flows[flow].watch_sender(&mut self.probes, now);
        }
    }

    pub(super) fn on_datagram(&mut self, now: Instant, flow: FlowId, end: End, arrival: &Arrival) {
        self.flows[flow].app.on_datagram(now, end, arrival, &mut self.app_actions);
        if self.probes.sampling.senders && end == self.flows[flow].data_end {
            self.watch_control(now, flow, Moment::Arrival);
        }
        self.do_app_actions(now, flow);
    }

    /// Called after any event that may have changed the state of an endpoint: sends what is due,
    /// calls the application, sets the timer. Repeats until nothing is left, because the
    /// application's answer may cause further sending. Nearly all calls end with the first round;
    /// the rest is elsewhere, so that these have no cost of it.
    pub(super) fn service(&mut self, now: Instant, flow: FlowId, end: End) {
        loop {
            while let Some(outgoing) = self.flows[flow].transport.poll_transmit(now, end) {
                self.send(now, flow, end, Payload::sent(outgoing));
            }
            let f = &mut self.flows[flow];
            let progress = if f.leg.is_none() { f.transport.quiet(end) } else { None };
            if let Some((fresh, room)) = progress {
                f.on_progress(now, end, fresh, room, &mut self.app_actions);
                let probes = &self.probes;
                if self.app_actions.is_empty() && !probes.sampling.senders && probes.limits.is_none() {
                    if let Some(fault) = f.transport.set_clock(&mut self.queue, flow, end) {
                        self.fault.get_or_insert_with(|| Box::new(Error::Policy(fault)));
                    }
                    f.app_wake.ensure(&mut self.queue, f.app.poll_at(), Event::App(flow));
                    return;
                }
            }
            if !self.end_round(now, flow, end, progress.is_some()) {
                return;
            }
        }
    }

    /// The rest of a round of [`service`](Self::service); `reported`: the application has received
    /// the progress. Returns true if another round follows.
    #[inline(never)]
    fn end_round(&mut self, now: Instant, flow: FlowId, end: End, reported: bool) -> bool {
        let again = if reported { None } else { self.relay(now, flow, end) };
        if again == Some(true) {
            return true;
        }
        if again.is_none() {
            if !reported {
                self.on_transport_events(now, flow, end);
            }
            if !self.app_actions.is_empty() {
                self.do_app_actions_at(now, self.flows[flow].connection(flow, End::A), Some(end));
                return true;
            }
        }
        if self.probes.sampling.senders && end == self.flows[flow].data_end {
            self.watch_control(now, flow, Moment::Other);
        }
        let f = &mut self.flows[flow];
        if let Some(fault) = f.transport.set_clock(&mut self.queue, flow, end) {
            self.fault.get_or_insert_with(|| Box::new(Error::Policy(fault)));
        }
        let owner = f.connection(flow, End::A);
        let f = if owner == flow { f } else { &mut self.flows[owner] };
        f.app_wake.ensure(&mut self.queue, f.app.poll_at(), Event::App(owner));
        if self.probes.limits.is_some() {
            self.flows[flow].watch_limit(&mut self.probes, now, end);
        }
        false
    }

    /// Passes the events and the progress of an endpoint to its application and the tables.
    #[inline(never)]
    fn on_transport_events(&mut self, now: Instant, flow: FlowId, end: End) {
        // The applications of a split flow belong to its first connection.
        let owner = self.flows[flow].connection(flow, End::A);
        while let Some(report) = self.flows[flow].transport.poll_event(end) {
            let f = &mut self.flows[owner];
            match report.event {
                ConnectionEvent::Established if end == End::A => {
                    f.app.on_established(now, &mut self.app_actions);
                }
                ConnectionEvent::PeerClosed => f.app.on_closed(now, end, &mut self.app_actions),
                ConnectionEvent::Closed | ConnectionEvent::Failed => {
                    f.app.stop(now, &mut self.app_actions);
                }
                _ => {}
            }
            self.flows[flow].note_report(&mut self.probes, now, end, &report);
        }
        let fresh = self.flows[flow].transport.take_delivered(end);
        if fresh > 0 {
            self.flows[owner].app.on_delivered(now, end, fresh, &mut self.app_actions);
        }
        // Not while a write of the application is pending: it would count the free space twice. An
        // application that has nothing to write is called as well: when it has data later, there
        // may be no segment in flight whose ACK would cause a call.
        if self.app_actions.is_empty() {
            let room = self.flows[flow].transport.room(end);
            if room > 0 {
                self.flows[owner].app.on_writable(now, end, room, &mut self.app_actions);
            }
        }
    }

    /// Carries out the application's actions at both ends.
    fn do_app_actions(&mut self, now: Instant, flow: FlowId) {
        self.do_app_actions_at(now, flow, None);
        let f = &mut self.flows[flow];
        if let Some(fault) = f.app.fault() {
            self.fault.get_or_insert_with(|| Box::new(Error::Policy(fault)));
        }
        f.app_wake.ensure(&mut self.queue, f.app.poll_at(), Event::App(flow));
    }

    /// Carries out the application's actions; ends other than `serviced` (whose caller continues
    /// anyway) are serviced.
    fn do_app_actions_at(&mut self, now: Instant, flow: FlowId, serviced: Option<End>) {
        let mut actions = std::mem::take(&mut self.app_actions);
        let (mut touched, mut refused) = ([false; 2], [false; 2]);
        for action in actions.drain(..) {
            match action {
                AppAction::Write { end, bytes } => {
                    let connection = self.flows[flow].connection(flow, end);
                    let rest = self.flows[connection].transport.write(now, end, bytes);
                    if rest > 0 {
                        self.flows[flow].app.on_refused(end, rest);
                        refused[end as usize] = true;
                    }
                    touched[end as usize] = true;
                }
                AppAction::SendDatagram { end, message } => {
                    let datagram = Payload::datagram(message);
                    // To a group: the message is sent to each further receiver first, last to the
                    // first receiver.
                    for i in 0..self.flows[flow].copies.len() {
                        let copy = self.flows[flow].copies[i];
                        self.flows[copy].app.copied(message.size);
                        self.send(now, copy, end, datagram.clone());
                    }
                    self.send(now, flow, end, datagram);
                }
                // Repeated after the action that was refused.
                AppAction::Close { end } if refused[end as usize] => {}
                AppAction::Close { end } => {
                    let connection = self.flows[flow].connection(flow, end);
                    self.flows[connection].transport.close(now, end);
                    touched[end as usize] = true;
                }
            }
        }
        debug_assert!(self.app_actions.is_empty());
        self.app_actions = actions;
        for end in [End::A, End::B] {
            if touched[end as usize] && serviced != Some(end) {
                self.service(now, self.flows[flow].connection(flow, end), end);
            }
        }
    }
}

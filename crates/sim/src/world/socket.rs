//! Applications and transports: who speaks, who listens, when to look again.

use lasthop_net::app::Action as AppAction;
use lasthop_tcp::{Endpoint, Event as TcpEvent, Segment, State};
use lasthop_units::{FlowId, Instant};

use super::World;
use super::flow::Transport;
use super::packet::Payload;
use crate::event::{End, Event};

/// IPv4 header without options.
const IP_HEADER: u32 = 20;
/// UDP header.
const UDP_HEADER: u32 = 8;
/// An application is asked for more when fewer bytes than this wait to be sent ...
const LOW_WATER: u64 = 128 * 1024;
/// ... and may write up to this: a stopped application leaves no endless backlog behind.
const HIGH_WATER: u64 = 256 * 1024;

/// What the application may write now. In whole segments where that is possible, so that topping up
/// a backlog never makes a short segment.
fn room_for_app(endpoint: &Endpoint) -> u64 {
    let mss = u64::from(endpoint.mss());
    let room = endpoint.writable().min(HIGH_WATER - endpoint.notsent());
    if room >= mss { room / mss * mss } else { room }
}

impl World {
    /// A flow begins: B listens, A connects (TCP) or the application speaks at once (UDP). A
    /// stopped flow goes on.
    pub(super) fn start_flow(&mut self, now: Instant, flow: FlowId) {
        let f = &mut self.flows[flow];
        let first = f.started.is_none();
        f.started.get_or_insert(now);
        f.note(&mut self.probes, now, "flow-start", None, "");
        if f.is_copy() {
            return;
        }
        match &mut f.transport {
            Transport::Tcp(sockets) if first => {
                f.app.start(now, &mut self.app_actions);
                sockets[1].endpoint.listen();
                sockets[0].endpoint.connect(now);
                self.service(now, flow, End::A);
            }
            _ => {
                f.app.start(now, &mut self.app_actions);
                self.do_app_actions(now, flow);
            }
        }
    }

    /// A flow's application stops offering data; what it wrote is still delivered.
    pub(super) fn stop_flow(&mut self, now: Instant, flow: FlowId) {
        let f = &mut self.flows[flow];
        f.note(&mut self.probes, now, "flow-stop", None, "");
        if f.is_copy() {
            return;
        }
        f.app.stop(now, &mut self.app_actions);
        self.do_app_actions(now, flow);
    }

    pub(super) fn on_app_timer(&mut self, now: Instant, flow: FlowId) {
        let f = &mut self.flows[flow];
        if f.app_wake.take(now) {
            f.app.on_time(now, &mut self.app_actions);
            self.do_app_actions(now, flow);
        }
    }

    pub(super) fn on_socket_timer(&mut self, now: Instant, flow: FlowId, end: End) {
        let Transport::Tcp(sockets) = &mut self.flows[flow].transport else { return };
        let socket = &mut sockets[end as usize];
        if socket.wake.take(now) {
            socket.endpoint.on_time(now);
            self.service(now, flow, end);
        }
    }

    #[inline]
    pub(super) fn on_segment(&mut self, now: Instant, flow: FlowId, end: End, segment: &Segment) {
        let Transport::Tcp(sockets) = &mut self.flows[flow].transport else { return };
        sockets[end as usize].endpoint.handle_segment(now, segment);
        self.service(now, flow, end);
        if end == self.flows[flow].data_end {
            self.flows[flow].watch_sender(&mut self.probes, now);
        }
    }

    pub(super) fn on_datagram(&mut self, now: Instant, flow: FlowId, end: End, bytes: u32, sent: Instant) {
        self.flows[flow].app.on_datagram(now, end, bytes, sent, &mut self.app_actions);
        self.do_app_actions(now, flow);
    }

    /// After anything that may have moved an endpoint: send what it wants sent, tell the
    /// application, set the timer. The application's answer may make it speak again, so until
    /// nothing is left.
    pub(super) fn service(&mut self, now: Instant, flow: FlowId, end: End) {
        // The applications of a flow that is split are with its first connection.
        let owner = self.flows[flow].seat(flow, End::A);
        loop {
            self.transmit(now, flow, end);
            if self.flows[flow].leg.is_some()
                && let Some(again) = self.relay(now, flow, end)
            {
                if again {
                    continue;
                }
                break;
            }
            self.tell_app(now, flow, owner, end);
            if self.app_actions.is_empty() {
                break;
            }
            self.do_app_actions_at(now, owner, Some(end));
        }
        let f = &mut self.flows[flow];
        if let Transport::Tcp(sockets) = &mut f.transport {
            let socket = &mut sockets[end as usize];
            socket.wake.ensure(&mut self.queue, socket.endpoint.poll_at(), Event::Socket(flow, end));
            if let Some(fault) = socket.endpoint.control_fault() {
                self.fault.get_or_insert_with(|| Box::new(fault));
            }
        }
        let f = &mut self.flows[owner];
        f.app_wake.ensure(&mut self.queue, f.app.poll_at(), Event::App(owner));
    }

    #[inline]
    fn transmit(&mut self, now: Instant, flow: FlowId, end: End) {
        loop {
            let Transport::Tcp(sockets) = &mut self.flows[flow].transport else { return };
            // By reference: a segment is copied once, into its packet.
            let Some(segment) = &sockets[end as usize].endpoint.poll_transmit(now) else { return };
            let size = IP_HEADER + segment.header_len() + segment.len;
            self.send(now, flow, end, size, Payload::Tcp(end.other(), *segment));
        }
    }

    /// Events and progress of an endpoint, for its application and the tables.
    #[inline]
    fn tell_app(&mut self, now: Instant, flow: FlowId, owner: FlowId, end: End) {
        loop {
            let f = &mut self.flows[flow];
            let Transport::Tcp(sockets) = &mut f.transport else { return };
            let Some(event) = sockets[end as usize].endpoint.poll_event() else { break };
            let f = &mut self.flows[owner];
            match event {
                TcpEvent::Established if end == End::A => f.app.on_established(now, &mut self.app_actions),
                TcpEvent::PeerClosed => f.app.on_closed(now, end, &mut self.app_actions),
                TcpEvent::Closed(_) | TcpEvent::Reset => f.app.stop(now, &mut self.app_actions),
                _ => {}
            }
            self.flows[flow].note_tcp_event(&mut self.probes, now, end, &event);
        }
        let f = &mut self.flows[flow];
        let Transport::Tcp(sockets) = &mut f.transport else { return };
        let socket = &mut sockets[end as usize];
        let delivered = socket.endpoint.in_order_received();
        if delivered > socket.told {
            let fresh = delivered - socket.told;
            socket.told = delivered;
            self.flows[owner].app.on_delivered(now, end, fresh, &mut self.app_actions);
        }
        // Not while a write of the application waits to be done: the room would be told twice.
        // An application that has nothing to write is told as well: when it has, nothing may be in
        // flight whose ACK would tell it then.
        if self.app_actions.is_empty() {
            let room = self.flows[flow]
                .endpoint(end)
                .map_or(0, |e| if e.notsent() < LOW_WATER { room_for_app(e) } else { 0 });
            if room > 0 {
                self.flows[owner].app.on_writable(now, end, room, &mut self.app_actions);
            }
        }
    }

    /// Does what the application asked for at both ends.
    fn do_app_actions(&mut self, now: Instant, flow: FlowId) {
        self.do_app_actions_at(now, flow, None);
        let f = &mut self.flows[flow];
        f.app_wake.ensure(&mut self.queue, f.app.poll_at(), Event::App(flow));
    }

    /// Does what the application asked for; ends other than `serviced` (whose caller goes on
    /// anyway) are serviced.
    fn do_app_actions_at(&mut self, now: Instant, flow: FlowId, serviced: Option<End>) {
        let mut actions = std::mem::take(&mut self.app_actions);
        let (mut touched, mut refused) = ([false; 2], [false; 2]);
        for action in actions.drain(..) {
            match action {
                AppAction::Write { end, bytes } => {
                    let seat = self.flows[flow].seat(flow, end);
                    if let Transport::Tcp(sockets) = &mut self.flows[seat].transport {
                        let endpoint = &mut sockets[end as usize].endpoint;
                        let rest = bytes - endpoint.write(now, bytes);
                        let counts_packets = endpoint.send_memory().is_some();
                        debug_assert!(rest == 0 || counts_packets || !endpoint.state().may_send());
                        // A closed connection accepts no data.
                        if rest > 0 && counts_packets && endpoint.state() != State::Closed {
                            self.flows[flow].app.on_refused(end, rest);
                            refused[end as usize] = true;
                        }
                    }
                    touched[end as usize] = true;
                }
                AppAction::SendDatagram { end, size: bytes } => {
                    let size = IP_HEADER + UDP_HEADER + bytes;
                    // To a group: the first receiver's copy is the last, with which all go.
                    for i in 0..self.flows[flow].copies.len() {
                        let copy = self.flows[flow].copies[i];
                        self.flows[copy].app.copied(bytes);
                        self.send(now, copy, end, size, Payload::Udp(end.other(), bytes));
                    }
                    self.send(now, flow, end, size, Payload::Udp(end.other(), bytes));
                }
                // It comes again after what was refused.
                AppAction::Close { end } if refused[end as usize] => {}
                AppAction::Close { end } => {
                    let seat = self.flows[flow].seat(flow, end);
                    if let Transport::Tcp(sockets) = &mut self.flows[seat].transport {
                        sockets[end as usize].endpoint.close(now);
                    }
                    touched[end as usize] = true;
                }
            }
        }
        debug_assert!(self.app_actions.is_empty());
        self.app_actions = actions;
        for end in [End::A, End::B] {
            if touched[end as usize] && serviced != Some(end) {
                self.service(now, self.flows[flow].seat(flow, end), end);
            }
        }
    }
}

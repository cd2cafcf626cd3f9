//! The end-to-end protocol: both ends of a flow's transport behind one contract, and what its
//! packets carry.

mod kernel;
mod real;
mod relay;
mod tcp;

use lasthop_engine::EventQueue;
use lasthop_net::Ecn;
use lasthop_net::app::Message;
use lasthop_tcp::cc::{Controls, Fault};
use lasthop_tcp::{Guidance, Hint, Segment};
use lasthop_units::{Duration, FlowId, Instant};
use serde_json::Value;

use crate::event::{End, Event};
use crate::probe::tables;
use crate::spec;

pub use kernel::{KernelConnection, KernelOrder, KernelSample};
pub use lasthop_tcp::Options;
pub use lasthop_tcp::cc::{Observation, Observer, Shown as Observed};
pub use real::{RealFlow, RealSegment};
pub use relay::Relays;
use tcp::{Connection, Socket};

/// IPv4 header without options.
const IP_HEADER: u32 = 20;
/// UDP header.
const UDP_HEADER: u32 = 8;

/// What an IP packet carries. Descriptors only: bytes exist in captures and in emulation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Payload {
    /// A TCP segment for one end of its flow.
    Tcp(End, Segment),
    /// A UDP datagram for one end of its flow.
    Udp(End, Message),
    /// A real packet.
    Real(End, RealPayload),
}

/// What the world stores of a real packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RealPayload {
    /// Stands for its octets, which the driver of the run keeps.
    pub handle: u32,
    /// Octets behind its headers.
    pub data: u32,
    /// Numbers of the TCP segment in it.
    pub segment: Option<RealSegment>,
}

/// What an end has to send, as its transport makes it: it is copied once, into its packet. TCP
/// alone has something to send by itself; another one makes this an enum.
pub type Outgoing = Segment;

impl Payload {
    /// The end of the flow that it is for.
    #[inline]
    pub const fn to(&self) -> End {
        match self {
            Payload::Tcp(to, _) | Payload::Udp(to, _) | Payload::Real(to, _) => *to,
        }
    }
    /// Bytes of data in it.
    pub const fn data(&self) -> u32 {
        match self {
            Payload::Tcp(_, segment) => segment.len,
            Payload::Udp(_, message) => message.size,
            Payload::Real(_, real) => real.data,
        }
    }
    /// The codepoint that its sender sets in the IP header.
    #[inline]
    pub const fn ecn(&self) -> Ecn {
        match self {
            Payload::Tcp(_, segment) => segment.ecn,
            Payload::Udp(_, message) => message.ecn,
            // A real packet comes with its own.
            Payload::Real(..) => Ecn::NotEct,
        }
    }
    /// The TCP segment in it.
    pub const fn segment(&self) -> Option<&Segment> {
        match self {
            Payload::Tcp(_, segment) => Some(segment),
            Payload::Udp(..) | Payload::Real(..) => None,
        }
    }
    /// Whether its data has numbers: data that is sent again can be known by them.
    pub const fn has_numbers(&self) -> bool {
        match self {
            Payload::Tcp(..) => true,
            Payload::Udp(..) => false,
            Payload::Real(_, real) => real.segment.is_some(),
        }
    }
    /// What an end sends: the size of its packet [B].
    #[inline(always)]
    pub fn size_of(outgoing: &Outgoing) -> u32 {
        IP_HEADER + outgoing.header_len() + outgoing.len
    }
    /// What an end sends, in its packet.
    #[inline(always)]
    pub const fn sent(from: End, outgoing: &Outgoing) -> Payload {
        Payload::Tcp(from.other(), *outgoing)
    }
    /// A datagram from an end, and the size of its packet [B].
    pub const fn datagram(from: End, message: Message) -> (u32, Payload) {
        (IP_HEADER + UDP_HEADER + message.size, Payload::Udp(from.other(), message))
    }
}

/// The transport of a flow.
pub enum Transport {
    /// TCP: an endpoint at A and one at B.
    Tcp(Box<Connection>),
    /// UDP: nothing to keep. Datagrams are applications' own ([`Payload::datagram`]); a stream has
    /// no octets here.
    Udp,
    /// TCP whose ends are sockets of a real kernel, outside.
    Kernel(Box<KernelConnection>),
    /// Real packets of one five-tuple: their ends are outside.
    Real(Box<RealFlow>),
}

/// The end-to-end protocol, for [`Transport::new`].
pub struct Ends<'a> {
    /// Name of the flow.
    pub name: &'a str,
    /// What sets the flow's random draws apart.
    pub key: u64,
    /// Seed of the run.
    pub seed: u64,
    /// How long the hosts of A and B have been up.
    pub up: [Duration; 2],
    /// TCP's options at A and B, which have been checked.
    pub tcp: &'a [Options; 2],
    /// The congestion controls that there are.
    pub controls: &'a Controls,
    /// The run has the table `cc`.
    pub observed: bool,
    /// The application writes while fewer octets than this wait to be sent.
    pub low_water: Option<u64>,
}

/// What a packet is for the end at which it has arrived.
pub enum Arrived {
    /// For the connection: it has taken it.
    Taken,
    /// A datagram for the application.
    Datagram(Message),
    /// A real packet, which leaves the simulation here.
    Real,
}

/// What has happened to a connection at one of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionEvent {
    /// The handshake is done.
    Established,
    /// The peer has no more to send: everything it sent has been received.
    PeerClosed,
    /// The connection is over, and all octets have been delivered.
    Closed,
    /// The connection is over without that: aborted, timed out, or reset by the peer.
    Failed,
    /// Nothing was acknowledged for the time of the retransmission timer.
    Timeout,
    /// Something for the table `events` alone.
    Noted,
}

/// An event of a connection with its row of the table `events`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// What has happened.
    pub event: ConnectionEvent,
    /// Its name in the table.
    pub kind: &'static str,
    /// A number that belongs to it.
    pub value: Option<f64>,
}

/// What is watched of a sender after each packet that reaches it.
#[derive(Clone, Copy, Debug)]
pub struct SenderState {
    /// Congestion window \[segments\].
    pub cwnd: f64,
    /// Round-trip samples since the start.
    pub rtt_samples: u64,
    /// The latest of them.
    pub last_rtt: Option<Duration>,
}

/// What sampling on change looks at: window and slow-start threshold in whole segments, and the
/// number of the sender's state.
pub type Shown = (u32, u32, u8);

/// A sender for the table `flows`: what it is, and counts since the start.
#[derive(Clone, Copy, Debug)]
pub struct SenderTotals<'a> {
    /// Name of the profile.
    pub profile: &'static str,
    /// Name of the congestion control.
    pub cc: &'a str,
    /// Segments sent again.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Recoveries without a timeout.
    pub fast_retransmits: u64,
}

/// What a sender waits for, and what has happened at its end: for the table `limits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderLimit {
    /// The cause, as in the table.
    pub cause: &'static str,
    /// Segments that it has sent and received.
    pub segments: u64,
    /// Expiries of its retransmission timer.
    pub timeouts: u64,
}

/// Where the octets are that one end writes and the other reads.
#[derive(Clone, Copy, Debug)]
pub struct StreamOctets {
    /// The transport has accepted them from the writer.
    pub accepted: u64,
    /// They were sent.
    pub sent: u64,
    /// They are acknowledged.
    pub acknowledged: u64,
    /// They have arrived in order.
    pub arrived: u64,
    /// They were handed to the reader.
    pub read: u64,
}

/// Data of a packet in numbers of its stream, which begins with 0.
#[derive(Clone, Debug)]
pub struct Numbers {
    /// Of the first octet.
    pub seq: u64,
    /// Behind the last octet that is acknowledged.
    pub ack: Option<u64>,
    /// TCP's flags in the letters of tcpdump.
    pub flags: String,
}

impl Transport {
    /// The transport `kind` between two ends.
    ///
    /// # Errors
    /// A control of the caller's own that cannot be made.
    pub fn new(kind: spec::Transport, ends: &Ends<'_>) -> Result<Transport, Fault> {
        Ok(match kind {
            spec::Transport::Tcp => Transport::Tcp(Box::new(Connection::new(ends)?)),
            spec::Transport::Udp => Transport::Udp,
        })
    }

    /// Real packets of a protocol of this name.
    pub fn real(name: &'static str) -> Transport {
        Transport::Real(Box::new(RealFlow::new(name)))
    }
    /// The name in tables.
    pub fn name(&self) -> &'static str {
        match self {
            Transport::Tcp(_) | Transport::Kernel(_) => "tcp",
            Transport::Udp => "udp",
            Transport::Real(flow) => flow.name,
        }
    }
    /// Whether the ends have a connection with a stream each way.
    pub const fn is_stream(&self) -> bool {
        matches!(self, Transport::Tcp(_) | Transport::Kernel(_))
    }
    #[inline(always)]
    fn tcp(&self) -> Option<&Connection> {
        match self {
            Transport::Tcp(connection) => Some(connection),
            Transport::Udp | Transport::Kernel(_) | Transport::Real(_) => None,
        }
    }
    #[inline(always)]
    fn socket(&self, end: End) -> Option<&Socket> {
        match self {
            Transport::Tcp(connection) => Some(connection.socket(end)),
            Transport::Udp | Transport::Kernel(_) | Transport::Real(_) => None,
        }
    }
    #[inline(always)]
    fn socket_mut(&mut self, end: End) -> Option<&mut Socket> {
        match self {
            Transport::Tcp(connection) => Some(connection.socket_mut(end)),
            Transport::Udp | Transport::Kernel(_) | Transport::Real(_) => None,
        }
    }

    /// The connection of a real kernel's sockets.
    pub fn kernel(&mut self) -> Option<&mut KernelConnection> {
        match self {
            Transport::Kernel(connection) => Some(connection),
            _ => None,
        }
    }
    /// A opens a connection to B.
    pub fn start(&mut self, now: Instant) {
        match self {
            Transport::Tcp(connection) => connection.start(now),
            Transport::Kernel(connection) => connection.start(),
            Transport::Udp | Transport::Real(_) => {}
        }
    }
    /// A packet has arrived at the end that it is for, with this codepoint.
    #[inline(always)]
    pub fn handle_packet(&mut self, now: Instant, payload: &mut Payload, ecn: Ecn) -> Arrived {
        match payload {
            Payload::Tcp(to, segment) => {
                segment.ecn = ecn;
                if let Some(socket) = self.socket_mut(*to) {
                    socket.handle_segment(now, segment);
                }
                Arrived::Taken
            }
            Payload::Udp(_, message) => Arrived::Datagram(*message),
            Payload::Real(..) => Arrived::Real,
        }
    }
    /// What an end has to send next.
    #[inline(always)]
    pub fn poll_transmit(&mut self, now: Instant, end: End) -> Option<Outgoing> {
        self.socket_mut(end)?.poll_transmit(now)
    }
    /// A packet of an end leaves. True: all of its data was sent before.
    #[inline(always)]
    pub fn sends_again(&mut self, from: End, payload: &Payload) -> bool {
        match (self, payload) {
            (Transport::Tcp(connection), Payload::Tcp(_, segment)) => {
                connection.socket_mut(from).sends_again(segment)
            }
            _ => false,
        }
    }
    /// A real segment with so many octets of data enters at an end. True: all of it was sent
    /// before.
    pub fn enters(&mut self, from: End, segment: &RealSegment, data: u32) -> bool {
        match self {
            Transport::Real(flow) => flow.streams.sent(from, segment, data),
            Transport::Kernel(connection) => connection.streams.sent(from, segment, data),
            Transport::Tcp(_) | Transport::Udp => false,
        }
    }
    /// What an end has for its application, if there is no event: octets that have arrived in order
    /// since the last call ([`take_delivered`](Self::take_delivered)), and what may be written
    /// ([`room`](Self::room)). Most calls find no event, and this asks once what kind of transport
    /// it is.
    #[inline(always)]
    pub fn quiet(&mut self, end: End) -> Option<(u64, u64)> {
        let Transport::Tcp(connection) = self else { return None };
        let socket = connection.socket_mut(end);
        if socket.has_events() {
            return None;
        }
        Some((socket.take_delivered(), socket.room()))
    }
    /// What has happened at an end.
    #[inline(always)]
    pub fn poll_event(&mut self, end: End) -> Option<Report> {
        match self {
            Transport::Kernel(connection) => connection.poll_event(end),
            _ => self.socket_mut(end)?.poll_event(),
        }
    }
    /// Octets that have arrived at an end in order since the last call.
    #[inline(always)]
    pub fn take_delivered(&mut self, end: End) -> u64 {
        match self {
            Transport::Kernel(connection) => connection.take_delivered(end),
            _ => self.socket_mut(end).map_or(0, Socket::take_delivered),
        }
    }
    /// What the application at an end may write now [B]; 0 while enough waits to be sent. In whole
    /// segments where that is possible, so that topping up a backlog never makes a short segment.
    #[inline(always)]
    pub fn room(&self, end: End) -> u64 {
        match self {
            Transport::Kernel(connection) => connection.room(end),
            _ => self.socket(end).map_or(0, Socket::room),
        }
    }
    /// The application at an end writes so many octets. How many were refused and have to be
    /// written again: a closed connection accepts none, now or later.
    pub fn write(&mut self, now: Instant, end: End, octets: u64) -> u64 {
        if let Transport::Kernel(connection) = self {
            connection.write(end, octets);
        }
        self.socket_mut(end).map_or(0, |s| s.write(now, octets))
    }
    /// The application at an end writes no more.
    pub fn close(&mut self, now: Instant, end: End) {
        match self {
            Transport::Tcp(connection) => connection.socket_mut(end).close(now),
            Transport::Kernel(connection) => connection.close(end),
            Transport::Udp | Transport::Real(_) => {}
        }
    }
    /// An end gives the connection up.
    pub fn abort(&mut self, now: Instant, end: End) {
        match self {
            Transport::Tcp(connection) => connection.socket_mut(end).abort(now),
            Transport::Kernel(connection) => connection.abort(end),
            Transport::Udp | Transport::Real(_) => {}
        }
    }

    /// The timer of an end has come. False, and nothing has happened: it was void.
    #[inline]
    pub fn on_time(&mut self, now: Instant, end: End) -> bool {
        self.socket_mut(end).is_some_and(|s| s.on_time(now))
    }
    /// Schedules when an end has to be called next. Returns the [`fault`](Self::fault) of its
    /// control.
    #[inline(always)]
    pub fn set_clock(&mut self, queue: &mut EventQueue<Event>, flow: FlowId, end: End) -> Option<Fault> {
        let socket = self.socket_mut(end)?;
        socket.set_clock(queue, Event::Socket(flow, end));
        socket.fault()
    }
    /// The failure of an end's control, if that is the caller's own and has failed.
    #[inline(always)]
    pub fn fault(&mut self, end: End) -> Option<Fault> {
        self.socket_mut(end)?.fault()
    }

    /// A capacity hint reaches an end. False: no end takes it.
    pub fn handle_hint(&mut self, end: End, hint: &Hint) -> bool {
        self.socket_mut(end).map(|s| s.handle_hint(hint)).is_some()
    }
    /// From now on the ACKs of an end carry this.
    pub fn set_guidance(&mut self, end: End, measured: Instant, guidance: Option<Guidance>) {
        if let Some(socket) = self.socket_mut(end) {
            socket.set_guidance(measured, guidance);
        }
    }

    /// The sender at an end, for statistics; `None`: this transport has none.
    #[inline(always)]
    pub fn sender_state(&self, end: End) -> Option<SenderState> {
        match self {
            Transport::Kernel(connection) => connection.sender_state(end),
            _ => self.socket(end).map(Socket::sender_state),
        }
    }
    /// What sampling on change looks at.
    pub fn shown(&self, end: End) -> Option<Shown> {
        match self {
            Transport::Kernel(connection) => connection.shown(end),
            _ => self.socket(end).map(Socket::shown),
        }
    }
    /// The sender at an end for the table `flows`.
    pub fn sender_totals(&self, end: End) -> Option<SenderTotals<'_>> {
        match self {
            Transport::Kernel(connection) => Some(connection.totals(end)),
            _ => self.socket(end).map(Socket::totals),
        }
    }
    /// What the sender at an end waits for once it has sent all that it may.
    pub fn sender_limit(&self, now: Instant, end: End) -> Option<SenderLimit> {
        self.socket(end).map(|s| s.limit(now))
    }
    /// A row of the table `tcp` about the sender at an end, but for when, whose and why.
    pub fn sender_row(&self, end: End) -> Option<tables::Tcp<'static>> {
        match self {
            Transport::Kernel(connection) => connection.sender_row(end),
            _ => self.tcp().map(|c| c.sender_row(end)),
        }
    }
    /// Shows the variables of the sender at an end and of its congestion control.
    pub fn observe(&self, end: End, o: &mut Observer<'_>) {
        if let Some(socket) = self.socket(end) {
            socket.observe(o);
        }
    }
    /// The first octet of an end's stream that is not acknowledged, and the next to be sent.
    pub fn stream_octets_sent(&self, end: End) -> Option<[u64; 2]> {
        self.socket(end).map(Socket::octets_sent)
    }
    /// `tcp_info` of an end, under Linux's names.
    pub fn tcp_info(&self, end: End) -> Option<Value> {
        self.socket(end).map(Socket::tcp_info)
    }
    /// The data of a packet between the ends, in numbers of its stream.
    pub fn numbers(&self, payload: &Payload) -> Option<Numbers> {
        match (self, payload) {
            (Transport::Tcp(connection), Payload::Tcp(to, segment)) => Some(connection.numbers(*to, segment)),
            (Transport::Real(flow), Payload::Real(to, real)) => {
                real.segment.map(|segment| flow.streams.numbers(to.other(), &segment))
            }
            (Transport::Kernel(connection), Payload::Real(to, real)) => {
                real.segment.map(|segment| connection.streams.numbers(to.other(), &segment))
            }
            _ => None,
        }
    }
    /// The octets that an end writes.
    pub fn stream_octets(&self, end: End) -> Option<StreamOctets> {
        self.tcp().map(|c| c.stream_octets(end))
    }
    /// The state of an end that has something to send or unacknowledged, but no timer: a mistake.
    pub fn waits_without_timer(&self, end: End) -> Option<String> {
        self.socket(end)?.waits_without_timer()
    }
}

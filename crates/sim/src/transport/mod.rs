//! The end-to-end protocol: both ends of a flow's transport behind one contract, and the payload of
//! its packets.

mod kernel;
mod real;
mod relay;
mod tcp;

use lasthop_engine::EventQueue;
use lasthop_net::app::Message;
use lasthop_net::{Ecn, Packet};
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

/// The payload of an IP packet. Descriptors only: bytes exist in captures and, for real packets,
/// outside of the simulation.
#[derive(Clone, Debug, PartialEq)]
pub enum Payload {
    /// A TCP segment.
    Tcp(Segment),
    /// A UDP datagram.
    Udp(Message),
    /// A real packet.
    Real(RealPayload),
}

/// The world's data of a real packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RealPayload {
    /// Handle of its octets, which the driver of the run keeps.
    pub handle: u32,
    /// Octets after its headers.
    pub data: u32,
    /// Numbers of the TCP segment in it.
    pub segment: Option<RealSegment>,
}

/// The output of an end's transport: it is moved into its packet. Only TCP sends by itself;
/// another such transport would make this an enum.
pub type Outgoing = Segment;

impl Payload {
    /// Bytes of data in it.
    pub const fn data(&self) -> u32 {
        match self {
            Payload::Tcp(segment) => segment.len,
            Payload::Udp(message) => message.size,
            Payload::Real(real) => real.data,
        }
    }
    /// The codepoint that its sender sets in the IP header.
    #[inline]
    pub const fn ecn(&self) -> Ecn {
        match self {
            Payload::Tcp(segment) => segment.ecn,
            Payload::Udp(message) => message.ecn,
            // A real packet has its own codepoint.
            Payload::Real(..) => Ecn::NotEct,
        }
    }
    /// The TCP segment in it.
    pub const fn segment(&self) -> Option<&Segment> {
        match self {
            Payload::Tcp(segment) => Some(segment),
            Payload::Udp(..) | Payload::Real(..) => None,
        }
    }
    /// True if its data has sequence numbers, by which retransmissions are recognised.
    pub const fn has_numbers(&self) -> bool {
        match self {
            Payload::Tcp(..) => true,
            Payload::Udp(..) => false,
            Payload::Real(real) => real.segment.is_some(),
        }
    }
    /// The size of the packet with it [B]; 0 for a real packet, which has its own.
    #[inline(always)]
    pub fn packet_size(&self) -> u32 {
        match self {
            Payload::Tcp(segment) => IP_HEADER + segment.header_len() + segment.len,
            Payload::Udp(message) => IP_HEADER + UDP_HEADER + message.size,
            Payload::Real(..) => 0,
        }
    }
    /// The payload of the packet for an end's output.
    #[inline(always)]
    pub const fn sent(outgoing: Outgoing) -> Payload {
        Payload::Tcp(outgoing)
    }
    /// The payload of a datagram.
    pub const fn datagram(message: Message) -> Payload {
        Payload::Udp(message)
    }
}

/// The end of its flow to which a packet is sent.
#[inline]
pub const fn receiver(packet: &Packet<Payload>) -> End {
    if packet.reverse { End::A } else { End::B }
}

/// The transport of a flow.
pub enum Transport {
    /// TCP: an endpoint at A and one at B.
    Tcp(Box<Connection>),
    /// UDP, without state. Datagrams are made by applications ([`Payload::datagram`]); there is no
    /// stream.
    Udp,
    /// TCP whose ends are sockets of a real kernel, outside.
    Kernel(Box<KernelConnection>),
    /// Real packets of one five-tuple: their ends are outside.
    Real(Box<RealFlow>),
}

/// The two ends, for [`Transport::new`].
pub struct Ends<'a> {
    /// Name of the flow.
    pub name: &'a str,
    /// The key of the flow's random draws.
    pub key: u64,
    /// Seed of the run.
    pub seed: u64,
    /// Uptimes of the hosts of A and B.
    pub up: [Duration; 2],
    /// TCP's options at A and B, which have been checked.
    pub tcp: &'a [Options; 2],
    /// The congestion controls that exist.
    pub controls: &'a Controls,
    /// True if the run has the table `cc`.
    pub observed: bool,
    /// The application writes while fewer octets than this are unsent.
    pub low_water: Option<u64>,
}

/// The meaning of a packet at the end at which it has arrived.
pub enum Arrived {
    /// A packet for the connection, which has processed it.
    Taken,
    /// A datagram for the application.
    Datagram(Message),
    /// A real packet, which leaves the simulation here.
    Real,
}

/// The octets that the application at an end may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Their number.
    pub octets: u64,
    /// The application was informed of them before, and has written nothing since.
    pub known: bool,
}

/// An event of a connection at one of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionEvent {
    /// The handshake is done.
    Established,
    /// The peer sends no more data, and all its data has been received.
    PeerClosed,
    /// The connection is over, and all octets have been delivered.
    Closed,
    /// The connection is over without that: aborted, timed out, or reset by the peer.
    Failed,
    /// Nothing was acknowledged for the time of the retransmission timer.
    Timeout,
    /// An event for the table `events` alone.
    Noted,
}

/// An event of a connection with its row of the table `events`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// The event.
    pub event: ConnectionEvent,
    /// Its name in the table.
    pub kind: &'static str,
    /// A number that belongs to it.
    pub value: Option<f64>,
}

/// The state of a sender that is recorded after each packet that reaches it.
#[derive(Clone, Copy, Debug)]
pub struct SenderState {
    /// Congestion window \[segments\].
    pub cwnd: f64,
    /// Round-trip samples since the start.
    pub rtt_samples: u64,
    /// The latest of them.
    pub last_rtt: Option<Duration>,
}

/// The values for sampling on change: window and slow-start threshold in whole segments, and the
/// number of the sender's state.
pub type Shown = (u32, u32, u8);

/// A sender in the table `flows`: its configuration, and counts since the start.
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

/// The limit of a sender and its counters, for the table `limits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderLimit {
    /// The cause, as in the table.
    pub cause: &'static str,
    /// Segments that it has sent and received.
    pub segments: u64,
    /// Expiries of its retransmission timer.
    pub timeouts: u64,
}

/// Progress of the octets that one end writes and the other reads.
#[derive(Clone, Copy, Debug)]
pub struct StreamOctets {
    /// Octets that the transport has accepted from the writer.
    pub accepted: u64,
    /// Octets that were sent.
    pub sent: u64,
    /// Octets that are acknowledged.
    pub acknowledged: u64,
    /// Octets that have arrived in order.
    pub arrived: u64,
    /// Octets that were passed to the reader.
    pub read: u64,
    /// Octets that the receiver skipped, because later ones have arrived (`ack_ahead`).
    pub skipped: u64,
    /// Maximum of octets that are acknowledged before they arrive (`ack_ahead`).
    pub lead: u64,
}

/// Sequence numbers of a packet's data in its stream, which begins with 0.
#[derive(Clone, Debug)]
pub struct Numbers {
    /// Number of the first octet.
    pub seq: u64,
    /// Number after the last acknowledged octet.
    pub ack: Option<u64>,
    /// TCP's flags in the letters of tcpdump.
    pub flags: String,
}

impl Transport {
    /// Creates the transport `kind` between two ends.
    ///
    /// # Errors
    /// A control of the caller's own whose constructor fails.
    pub fn new(kind: spec::Transport, ends: &Ends<'_>) -> Result<Transport, Fault> {
        Ok(match kind {
            spec::Transport::Tcp => Transport::Tcp(Box::new(Connection::new(ends)?)),
            spec::Transport::Udp => Transport::Udp,
        })
    }

    /// Creates the transport of real packets of a protocol of this name.
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
    /// True if the ends have a connection with a stream in each direction.
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
    /// Opens a connection from A to B.
    pub fn start(&mut self, now: Instant) {
        match self {
            Transport::Tcp(connection) => connection.start(now),
            Transport::Kernel(connection) => connection.start(),
            Transport::Udp | Transport::Real(_) => {}
        }
    }
    /// Processes a packet that has arrived at its end, with this codepoint.
    #[inline(always)]
    pub fn handle_packet(&mut self, now: Instant, to: End, payload: &mut Payload, ecn: Ecn) -> Arrived {
        match payload {
            Payload::Tcp(segment) => {
                segment.ecn = ecn;
                if let Transport::Tcp(connection) = self {
                    connection.socket_mut(to).handle_segment(now, segment);
                    // Tested here, so that most segments do without a look at the other socket.
                    if !segment.rare.is_empty() {
                        connection.socket_mut(to.other()).recycle(segment);
                    }
                }
                debug_assert!(segment.rare.is_empty(), "only a connection gets segments");
                Arrived::Taken
            }
            Payload::Udp(message) => Arrived::Datagram(*message),
            Payload::Real(..) => Arrived::Real,
        }
    }
    /// Returns the next output of an end.
    #[inline(always)]
    pub fn poll_transmit(&mut self, now: Instant, end: End) -> Option<Outgoing> {
        self.socket_mut(end)?.poll_transmit(now)
    }
    /// Records a packet that an end sends. Returns true if all of its data was sent before.
    #[inline(always)]
    pub fn sends_again(&mut self, from: End, payload: &Payload) -> bool {
        match (self, payload) {
            (Transport::Tcp(connection), Payload::Tcp(segment)) => {
                connection.socket_mut(from).sends_again(segment)
            }
            _ => false,
        }
    }
    /// Records a real segment with `data` octets that enters at an end. Returns true if all of it
    /// was sent before.
    pub fn enters(&mut self, from: End, segment: &RealSegment, data: u32) -> bool {
        match self {
            Transport::Real(flow) => flow.sent(from, segment, data),
            Transport::Kernel(connection) => connection.streams.sent(from, segment, data),
            Transport::Tcp(_) | Transport::Udp => false,
        }
    }
    /// Segments that an end has sent again; `None`: a protocol without sequence numbers.
    pub fn sent_again(&self, end: End) -> Option<u64> {
        match self {
            Transport::Real(flow) => (flow.name == "real-tcp").then_some(flow.again[end as usize]),
            _ => self.sender_totals(end).map(|totals| totals.retransmits),
        }
    }
    /// The results for the application of an end without an event: octets that have arrived in
    /// order since the last call ([`take_delivered`](Self::take_delivered)), and octets that may be
    /// written ([`room`](Self::room)), of which the caller informs the application. In most calls
    /// there is no event, and this dispatches once by kind of transport.
    #[inline(always)]
    pub fn quiet(&mut self, end: End) -> Option<(u64, Room)> {
        let Transport::Tcp(connection) = self else { return None };
        let socket = connection.socket_mut(end);
        if socket.has_events() {
            return None;
        }
        Some((socket.take_delivered(), socket.inform()))
    }
    /// The application of an end was not informed of the room that [`quiet`](Self::quiet) returned.
    #[cold]
    pub fn inform_again(&mut self, end: End) {
        if let Some(socket) = self.socket_mut(end) {
            socket.inform_again();
        }
    }
    /// Returns the next event of an end.
    #[inline(always)]
    pub fn poll_event(&mut self, end: End) -> Option<Report> {
        match self {
            Transport::Kernel(connection) => connection.poll_event(end),
            _ => self.socket_mut(end)?.poll_event(),
        }
    }
    /// Returns the octets that have arrived at an end in order since the last call.
    #[inline(always)]
    pub fn take_delivered(&mut self, end: End) -> u64 {
        match self {
            Transport::Kernel(connection) => connection.take_delivered(end),
            _ => self.socket_mut(end).map_or(0, Socket::take_delivered),
        }
    }
    /// The number of octets that the application at an end may write now; 0 while enough octets are
    /// unsent. In whole segments where possible, so that additions to a backlog never cause a short
    /// segment.
    #[inline(always)]
    pub fn room(&self, end: End) -> u64 {
        match self {
            Transport::Kernel(connection) => connection.room(end),
            _ => self.socket(end).map_or(0, Socket::room),
        }
    }
    /// Writes `octets` of the application at an end. Returns the number of refused ones, which must
    /// be written again; a closed connection accepts none, now or later.
    pub fn write(&mut self, now: Instant, end: End, octets: u64) -> u64 {
        if let Transport::Kernel(connection) = self {
            connection.write(end, octets);
        }
        self.socket_mut(end).map_or(0, |s| s.write(now, octets))
    }
    /// Ends the writing of the application at an end.
    pub fn close(&mut self, now: Instant, end: End) {
        match self {
            Transport::Tcp(connection) => connection.socket_mut(end).close(now),
            Transport::Kernel(connection) => connection.close(end),
            Transport::Udp | Transport::Real(_) => {}
        }
    }
    /// Aborts the connection at an end.
    pub fn abort(&mut self, now: Instant, end: End) {
        match self {
            Transport::Tcp(connection) => connection.socket_mut(end).abort(now),
            Transport::Kernel(connection) => connection.abort(end),
            Transport::Udp | Transport::Real(_) => {}
        }
    }

    /// Processes the timer of an end. Returns false, without any effect, if the event was void.
    #[inline]
    pub fn on_time(&mut self, now: Instant, end: End) -> bool {
        self.socket_mut(end).is_some_and(|s| s.on_time(now))
    }
    /// Schedules the next call of an end. Returns the [`fault`](Self::fault) of its control.
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

    /// Passes a capacity hint to an end. Returns false if the transport does not use hints.
    pub fn handle_hint(&mut self, end: End, hint: &Hint) -> bool {
        self.socket_mut(end).map(|s| s.handle_hint(hint)).is_some()
    }
    /// Sets the guidance that the ACKs of an end carry from now on.
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
    /// The values for sampling on change.
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
    /// The cause that limits the sender at an end after it has sent all that it may.
    pub fn sender_limit(&self, now: Instant, end: End) -> Option<SenderLimit> {
        self.socket(end).map(|s| s.limit(now))
    }
    /// A row of the table `tcp` of the sender at an end, without time, flow and trigger.
    pub fn sender_row(&self, end: End) -> Option<tables::Tcp<'static>> {
        match self {
            Transport::Kernel(connection) => connection.sender_row(end),
            _ => self.tcp().map(|c| c.sender_row(end)),
        }
    }
    /// Gives `o` the variables of the sender at an end and of its congestion control.
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
    /// The data of a packet to an end, in numbers of its stream.
    pub fn numbers(&self, to: End, payload: &Payload) -> Option<Numbers> {
        match (self, payload) {
            (Transport::Tcp(connection), Payload::Tcp(segment)) => Some(connection.numbers(to, segment)),
            (Transport::Real(flow), Payload::Real(real)) => {
                real.segment.map(|segment| flow.streams.numbers(to.other(), &segment))
            }
            (Transport::Kernel(connection), Payload::Real(real)) => {
                real.segment.map(|segment| connection.streams.numbers(to.other(), &segment))
            }
            _ => None,
        }
    }
    /// The progress of the octets that an end writes.
    pub fn stream_octets(&self, end: End) -> Option<StreamOctets> {
        self.tcp().map(|c| c.stream_octets(end))
    }
    /// The state of an end with unsent or unacknowledged data but without a timer, which is a
    /// mistake.
    pub fn waits_without_timer(&self, end: End) -> Option<String> {
        self.socket(end)?.waits_without_timer()
    }
}

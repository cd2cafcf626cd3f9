//! What speaks end to end: both ends of a flow's transport behind one contract, and what its
//! packets carry.

use lasthop_engine::EventQueue;
use lasthop_net::Ecn;
use lasthop_tcp::cc::{Controls, Fault, Place};
use lasthop_tcp::{Endpoint, Event as TcpEvent, Guidance, Hint, Options, Segment, State};
use lasthop_units::{Duration, FlowId, Instant, Seq};

use crate::event::{End, Event, Wake};

/// IPv4 header without options.
const IP_HEADER: u32 = 20;
/// UDP header.
const UDP_HEADER: u32 = 8;
/// An application is asked for more when fewer bytes than this wait to be sent ...
const LOW_WATER: u64 = 128 * 1024;
/// ... and may write up to this: a stopped application leaves no endless backlog behind.
const HIGH_WATER: u64 = 256 * 1024;

/// What an IP packet carries. Descriptors only: bytes exist in captures and in emulation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Payload {
    /// A TCP segment for one end of its flow.
    Tcp(End, Segment),
    /// A UDP datagram of so many payload bytes for one end of its flow.
    Udp(End, u32),
}

impl Payload {
    /// The end of the flow that it is for.
    #[inline]
    pub const fn to(&self) -> End {
        match self {
            Payload::Tcp(to, _) | Payload::Udp(to, _) => *to,
        }
    }
    /// Bytes of data in it.
    pub const fn data(&self) -> u32 {
        match self {
            Payload::Tcp(_, segment) => segment.len,
            Payload::Udp(_, bytes) => *bytes,
        }
    }
    /// The codepoint that its sender wants in the IP header.
    #[inline]
    pub const fn ecn(&self) -> Ecn {
        match self {
            Payload::Tcp(_, segment) => segment.ecn,
            Payload::Udp(..) => Ecn::NotEct,
        }
    }
    /// A datagram from an end, and the size of its packet [B].
    pub const fn datagram(from: End, bytes: u32) -> (u32, Payload) {
        (IP_HEADER + UDP_HEADER + bytes, Payload::Udp(from.other(), bytes))
    }
}

/// The transport of a flow.
pub enum Transport {
    /// TCP: an endpoint at A and one at B.
    Tcp(Box<[Socket; 2]>),
    /// UDP: nothing to keep. Datagrams are applications' own ([`Payload::datagram`]); a stream has
    /// no octets here.
    Udp,
}

/// A TCP endpoint in the world.
pub struct Socket {
    endpoint: Endpoint,
    wake: Wake,
    /// In-order bytes that the application was told of.
    told: u64,
}

impl Transport {
    /// TCP with `options` at A and B, which have been checked; `isn` are the initial sequence
    /// numbers and `up` the time that the hosts have been up.
    ///
    /// # Errors
    /// A control of the caller's own that cannot be made.
    pub fn tcp(
        name: &str,
        options: &[Options; 2],
        controls: &Controls,
        isn: [Seq; 2],
        up: [Duration; 2],
    ) -> Result<Transport, Fault> {
        let socket = |end: End| {
            let options = &options[end as usize];
            let mut config =
                options.resolve_with(controls).unwrap_or_else(|e| unreachable!("checked before: {e}"));
            config.host.up_before = up[end as usize];
            let place = Place { flow: name, opener: end == End::A };
            let cc = controls.build(&config, &options.cc_parameters, place)?;
            let endpoint = Endpoint::with_control(config, cc, isn[end as usize]);
            Ok::<_, Fault>(Socket { endpoint, wake: Wake::default(), told: 0 })
        };
        Ok(Transport::Tcp(Box::new([socket(End::A)?, socket(End::B)?])))
    }

    /// The name in tables.
    pub const fn name(&self) -> &'static str {
        match self {
            Transport::Tcp(_) => "tcp",
            Transport::Udp => "udp",
        }
    }
    /// Whether the ends have a connection with a stream each way.
    pub const fn is_stream(&self) -> bool {
        matches!(self, Transport::Tcp(_))
    }
    /// The TCP endpoint of an end.
    #[inline]
    pub fn endpoint(&self, end: End) -> Option<&Endpoint> {
        match self {
            Transport::Tcp(sockets) => Some(&sockets[end as usize].endpoint),
            Transport::Udp => None,
        }
    }
    /// The same, to be changed.
    #[inline]
    pub fn endpoint_mut(&mut self, end: End) -> Option<&mut Endpoint> {
        self.socket(end).map(|s| &mut s.endpoint)
    }
    #[inline(always)]
    fn socket(&mut self, end: End) -> Option<&mut Socket> {
        match self {
            Transport::Tcp(sockets) => Some(&mut sockets[end as usize]),
            Transport::Udp => None,
        }
    }

    /// A opens a connection to B.
    pub fn start(&mut self, now: Instant) {
        if let Transport::Tcp(sockets) = self {
            sockets[1].endpoint.listen();
            sockets[0].endpoint.connect(now);
        }
    }
    /// A segment has arrived at an end. False: there is no connection.
    #[inline(always)]
    pub fn handle_segment(&mut self, now: Instant, end: End, segment: &Segment) -> bool {
        self.endpoint_mut(end).map(|e| e.handle_segment(now, segment)).is_some()
    }
    /// What an end wants to send next, and the size of its packet [B].
    #[inline(always)]
    pub fn poll_transmit(&mut self, now: Instant, end: End) -> Option<(u32, Payload)> {
        // By reference: a segment is copied once, into its packet.
        let segment = &self.endpoint_mut(end)?.poll_transmit(now)?;
        let size = IP_HEADER + segment.header_len() + segment.len;
        Some((size, Payload::Tcp(end.other(), *segment)))
    }
    /// What has happened at an end.
    #[inline(always)]
    pub fn poll_event(&mut self, end: End) -> Option<TcpEvent> {
        self.endpoint_mut(end)?.poll_event()
    }
    /// Octets that have arrived at an end in order since the last call.
    #[inline(always)]
    pub fn take_delivered(&mut self, end: End) -> u64 {
        let Some(socket) = self.socket(end) else { return 0 };
        let delivered = socket.endpoint.in_order_received();
        delivered - std::mem::replace(&mut socket.told, delivered)
    }
    /// What the application at an end may write now [B]; 0 while enough waits to be sent. In whole
    /// segments where that is possible, so that topping up a backlog never makes a short segment.
    #[inline(always)]
    pub fn room(&self, end: End) -> u64 {
        let Some(endpoint) = self.endpoint(end) else { return 0 };
        let waits = endpoint.notsent();
        if waits >= LOW_WATER {
            return 0;
        }
        let mss = u64::from(endpoint.mss());
        let room = endpoint.writable().min(HIGH_WATER - waits);
        if room >= mss { room / mss * mss } else { room }
    }
    /// The application at an end writes so many octets. How many were refused and have to be
    /// written again: a closed connection accepts none, and wants none again.
    pub fn write(&mut self, now: Instant, end: End, octets: u64) -> u64 {
        let Some(endpoint) = self.endpoint_mut(end) else { return 0 };
        let rest = octets - endpoint.write(now, octets);
        let counts_packets = endpoint.send_memory().is_some();
        debug_assert!(rest == 0 || counts_packets || !endpoint.state().may_send());
        if counts_packets && endpoint.state() != State::Closed { rest } else { 0 }
    }
    /// The application at an end writes no more.
    pub fn close(&mut self, now: Instant, end: End) {
        if let Some(endpoint) = self.endpoint_mut(end) {
            endpoint.close(now);
        }
    }
    /// An end gives the connection up.
    pub fn abort(&mut self, now: Instant, end: End) {
        if let Some(endpoint) = self.endpoint_mut(end) {
            endpoint.abort(now);
        }
    }

    /// The timer of an end has come. False, and nothing has happened: it was void.
    #[inline]
    pub fn on_time(&mut self, now: Instant, end: End) -> bool {
        let Some(socket) = self.socket(end) else { return false };
        let due = socket.wake.take(now);
        if due {
            socket.endpoint.on_time(now);
        }
        due
    }
    /// Says when an end wants to be called next.
    #[inline(always)]
    pub fn set_clock(&mut self, queue: &mut EventQueue<Event>, flow: FlowId, end: End) {
        if let Some(socket) = self.socket(end) {
            socket.wake.ensure(queue, socket.endpoint.poll_at(), Event::Socket(flow, end));
        }
    }
    /// The failure of an end's control, if that is the caller's own and has failed.
    #[inline(always)]
    pub fn fault(&mut self, end: End) -> Option<Fault> {
        self.endpoint_mut(end)?.control_fault()
    }

    /// A capacity hint reaches an end. False: there is nobody to take it.
    pub fn handle_hint(&mut self, end: End, hint: &Hint) -> bool {
        self.endpoint_mut(end).map(|e| e.handle_hint(hint)).is_some()
    }
    /// From now on the ACKs of an end carry this.
    pub fn set_guidance(&mut self, end: End, measured: Instant, guidance: Option<Guidance>) {
        if let Some(endpoint) = self.endpoint_mut(end) {
            endpoint.set_guidance(measured, guidance);
        }
    }
}

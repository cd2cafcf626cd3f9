//! One connection of the host, and the conversion between its numbers and those of the script.

use lasthop_tcp::{
    Config, Endpoint, Event, Flags, Rare, RareOptions, SackBlocks, Segment, State, SynOptions, Timestamps,
};
use lasthop_units::{Ecn, Instant, Seq, SeqRange};

use crate::script::Packet;

/// A connection.
pub(super) struct Connection {
    pub endpoint: Endpoint,
    /// The endpoint's initial sequence number, and the script's number for it.
    isn: u32,
    pub script_isn: u32,
    /// The peer's initial sequence number, which is that of the script.
    peer_isn: u32,
    clock: Clock,
    /// When the set-up is aborted.
    pub set_up_until: Option<Instant>,
    /// True for a 4.4BSD host.
    pub bsd: bool,
    /// The listening descriptor of a passive open.
    pub listener: Option<i64>,
    pub established: bool,
    pub accepted: bool,
    /// The error of the next call.
    pub error: Option<&'static str>,
    /// shutdown(SHUT_RD) and shutdown(SHUT_WR), or close.
    pub read_shut: bool,
    pub write_shut: bool,
    pub peer_closed: bool,
}

/// The relation of the script's timestamps to those of the endpoint.
#[derive(Default)]
struct Clock {
    /// The first timestamp of the script, and the endpoint's at that time.
    first: Option<(u32, u32)>,
    /// Every timestamp that the script has expected, and that of the endpoint.
    seen: Vec<(u32, u32)>,
}

/// The endpoint's initial sequence number; no result depends on it.
const ISN: u32 = 1_000_000;

impl Connection {
    pub fn new(config: Config, listener: Option<i64>) -> Connection {
        Connection::from_number(config, listener, ISN)
    }

    /// Creates an endpoint in CLOSED: its response to every segment is a reset, whose number is 0
    /// or the peer's.
    pub fn closed(config: Config) -> Connection {
        Connection::from_number(config, None, 0)
    }

    fn from_number(config: Config, listener: Option<i64>, isn: u32) -> Connection {
        let mut endpoint = Endpoint::new(config, Seq(isn));
        if listener.is_some() {
            endpoint.listen();
        }
        Connection {
            endpoint,
            isn,
            script_isn: 0,
            peer_isn: 0,
            clock: Clock::default(),
            set_up_until: None,
            bsd: false,
            listener,
            established: false,
            accepted: false,
            error: None,
            read_shut: false,
            write_shut: false,
            peer_closed: false,
        }
    }

    pub fn state(&self) -> State {
        self.endpoint.state()
    }

    /// When `on_time` is due.
    pub fn poll_at(&self) -> Option<Instant> {
        let limit = self.set_up_until.filter(|_| self.is_opening());
        self.endpoint.poll_at().into_iter().chain(limit).min()
    }

    /// Processes timers that have expired.
    pub fn on_time(&mut self, now: Instant) {
        let before = self.state();
        self.endpoint.on_time(now);
        if self.is_opening() && self.set_up_until.is_some_and(|at| at <= now) {
            self.endpoint.abort(now);
            self.error = Some("ETIMEDOUT");
        }
        self.take_events(before);
    }

    fn is_opening(&self) -> bool {
        matches!(self.state(), State::SynSent | State::SynReceived)
    }

    /// Receives a packet of the script.
    pub fn receive(&mut self, now: Instant, p: &Packet) {
        let syn = p.flags.has(Flags::SYN);
        if syn && !self.endpoint.state().is_synchronized() {
            self.peer_isn = p.seq;
        }
        // Numbers are absolute in a SYN, and relative to the initial ones in all other packets.
        let seq = if syn { p.seq } else { p.seq.wrapping_add(self.peer_isn) };
        let base = if syn { self.isn.wrapping_sub(self.script_isn) } else { self.isn };
        let ours = |n: u32| Seq(n.wrapping_add(base));
        let mut sack = SackBlocks::NONE;
        for &(start, end) in &p.sack {
            sack.push(SeqRange { start: ours(start), end: ours(end) });
        }
        let segment = Segment {
            seq: Seq(seq),
            ack: ours(p.ack),
            flags: p.flags,
            window: p.window.unwrap_or(0),
            len: p.len,
            syn: SynOptions::new(p.mss, p.window_scale, p.sack_permitted),
            timestamps: p.timestamps.map(|(value, echo)| Timestamps { value, echo: self.clock.ours(echo) }),
            rare: Rare::from(RareOptions { sack, guidance: None, accecn: p.accecn }),
            accurate: p.accurate,
            ecn: Ecn::from_bits(p.ecn.unwrap_or(0)),
        };
        let before = self.state();
        self.endpoint.handle_segment(now, &segment);
        self.take_events(before);
    }

    /// Takes the events that affect system calls.
    pub fn take_events(&mut self, before: State) {
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                Event::Established => self.established = true,
                Event::PeerClosed => self.peer_closed = true,
                Event::Reset => {
                    self.error = Some(match before {
                        State::SynSent => "ECONNREFUSED",
                        // Linux' tcp_reset has EPIPE in CLOSE-WAIT. FreeBSD's tcp_do_segment has
                        // ECONNREFUSED in SYN-RECEIVED, and ECONNRESET in the states after it.
                        State::SynReceived if self.bsd => "ECONNREFUSED",
                        State::CloseWait if !self.bsd => "EPIPE",
                        _ => "ECONNRESET",
                    });
                }
                Event::Closed(lasthop_tcp::CloseReason::TimedOut) => self.error = Some("ETIMEDOUT"),
                _ => {}
            }
        }
    }

    /// Converts a segment of the endpoint to the numbers of the script.
    pub fn spelled(&self, s: &Segment) -> Packet {
        let syn = s.flags.has(Flags::SYN);
        let base = if syn { self.isn.wrapping_sub(self.script_isn) } else { self.isn };
        let peer = |n: Seq| n.0.wrapping_sub(if syn { 0 } else { self.peer_isn });
        Packet {
            inbound: false,
            flags: s.flags,
            seq: s.seq.0.wrapping_sub(base),
            len: s.len,
            ack: if s.flags.has(Flags::ACK) { peer(s.ack) } else { 0 },
            window: Some(s.window),
            mss: s.syn.mss(),
            window_scale: s.syn.window_scale(),
            sack_permitted: s.syn.sack_permitted(),
            timestamps: s.timestamps.map(|t| (self.clock.script(t.value), t.echo)),
            sack: s
                .rare
                .sack
                .iter()
                .take(s.sack_blocks_that_fit())
                .map(|b| (peer(b.start), peer(b.end)))
                .collect(),
            ecn: Some(s.ecn as u8),
            accurate: s.accurate,
            accecn: s.rare.accecn,
            ..Packet::default()
        }
    }

    /// Records that the script's timestamp `script` corresponds to the endpoint's `ours`.
    pub fn learn_clock(&mut self, script: u32, ours: u32) {
        self.clock.first.get_or_insert((script, ours));
        self.clock.seen.push((script, ours));
    }
}

impl Clock {
    fn script(&self, ours: u32) -> u32 {
        self.first.map_or(ours, |(s, o)| s.wrapping_add(ours.wrapping_sub(o)))
    }
    fn ours(&self, script: u32) -> u32 {
        let exact = self.seen.iter().rev().find(|(s, _)| *s == script).map(|x| x.1);
        let guess = || self.first.map_or(script, |(s, o)| o.wrapping_add(script.wrapping_sub(s)));
        exact.unwrap_or_else(guess)
    }
}

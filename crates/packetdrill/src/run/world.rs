//! The host: its clock, its connections, its sockets, and its sent segments.

use std::collections::{BTreeMap, VecDeque};

use lasthop_tcp::{Flags, Segment, State};
use lasthop_units::Instant;

use super::connection::Connection;
use super::options::SocketOptions;
use crate::script::Packet;
use crate::settings::Settings;

/// The kind of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Fresh,
    Listening,
    /// The connection with this index.
    Connected(usize),
}

pub(super) struct Socket {
    pub kind: Kind,
    pub options: SocketOptions,
}

/// A segment that was sent.
pub(super) struct Sent {
    pub at: Instant,
    pub connection: usize,
    pub segment: Segment,
    /// In the script's numbers, as far as these were known when the packet was taken.
    pub packet: Packet,
}

pub(super) struct World {
    pub now: Instant,
    pub settings: Settings,
    pub connections: Vec<Connection>,
    pub sockets: BTreeMap<i64, Socket>,
    /// The connection to which packets of the script belong.
    current: Option<usize>,
    wire: VecDeque<(Instant, usize, Segment)>,
    /// When a blocked call is tried again.
    pub wake: Option<Instant>,
    /// Number of timers that may still expire.
    budget: u32,
}

/// More timers than a valid script needs.
const BUDGET: u32 = 1_000_000;

impl World {
    pub fn new(settings: Settings) -> World {
        World {
            now: Instant::ZERO,
            settings,
            connections: vec![],
            sockets: BTreeMap::new(),
            current: None,
            wire: VecDeque::new(),
            wake: None,
            budget: BUDGET,
        }
    }

    /// The connection whose tcp_info the code gets.
    pub fn under_test(&self) -> Option<&Connection> {
        self.current.and_then(|i| self.connections.get(i))
    }

    /// The state of a socket that has no connection; `None` without a socket.
    pub fn state_without_connection(&self) -> Option<State> {
        let socket = self.sockets.values().next()?;
        Some(if socket.kind == Kind::Listening { State::Listen } else { State::Closed })
    }

    /// When the next event without a packet or call is due.
    pub fn next_timer(&self) -> Option<Instant> {
        if self.budget == 0 {
            return None;
        }
        let timers = self.connections.iter().filter_map(Connection::poll_at);
        timers.chain(self.wake).min().map(|at| at.max(Instant(self.now.0 + 1)))
    }

    /// Advances the time to `to`, before which no timer is due.
    pub fn advance(&mut self, to: Instant) {
        self.now = self.now.max(to);
        self.budget = self.budget.saturating_sub(1);
        if self.wake.is_some_and(|w| w <= self.now) {
            self.wake = None;
        }
        for c in &mut self.connections {
            if c.poll_at().is_some_and(|at| at <= self.now) {
                c.on_time(self.now);
            }
        }
        self.transmit();
    }

    /// Sends the segments that the endpoints may send.
    pub fn transmit(&mut self) {
        for (i, c) in self.connections.iter_mut().enumerate() {
            let before = c.state();
            while let Some(segment) = c.endpoint.poll_transmit(self.now) {
                self.wire.push_back((self.now, i, segment));
            }
            c.take_events(before);
        }
    }

    /// Takes the oldest sent segment that the script has not compared.
    pub fn take_sent(&mut self) -> Option<Sent> {
        let (at, connection, segment) = self.wire.pop_front()?;
        let packet = self.connections.get(connection)?.spelled(&segment);
        Some(Sent { at, connection, segment, packet })
    }

    /// Injects a packet of the script.
    pub fn inject(&mut self, p: &Packet) -> Result<(), String> {
        // FreeBSD checks TIME-WAIT before net.inet.tcp.drop_synfin.
        let waits = self.under_test().is_some_and(|c| c.state() == State::TimeWait);
        if self.settings.drop_syn_fin && p.flags.has(Flags::SYN) && p.flags.has(Flags::FIN) && !waits {
            return Ok(());
        }
        let i = self.receiver_of(p)?;
        self.connections[i].receive(self.now, p);
        self.transmit();
        Ok(())
    }

    fn receiver_of(&mut self, p: &Packet) -> Result<usize, String> {
        let opens = p.flags.has(Flags::SYN) && !p.flags.has(Flags::ACK);
        let known = self.current.filter(|&i| {
            let c = &self.connections[i];
            !(opens && matches!(c.state(), State::Closed))
        });
        if let Some(i) = known {
            return Ok(i);
        }
        let listener = self.sockets.iter().find(|s| s.1.kind == Kind::Listening).map(|s| *s.0);
        if let (Some(i), true) = (self.current, listener.is_none() || !opens) {
            return Ok(i);
        }
        if listener.is_none() {
            let config = self.settings.config(None).map_err(|e| e.to_string())?;
            self.connections.push(Connection::closed(config));
            self.current = Some(self.connections.len() - 1);
            return Ok(self.connections.len() - 1);
        }
        self.add(listener)
    }

    /// Adds a connection, for a SYN to `listener` or for connect().
    pub fn add(&mut self, listener: Option<i64>) -> Result<usize, String> {
        if self.connections.len() >= 1000 {
            return Err("more than 1000 connections".into());
        }
        let options = listener.and_then(|fd| self.sockets.get(&fd)).map(|s| s.options.clone());
        self.add_with(listener, &options.unwrap_or_default())
    }

    pub fn add_with(&mut self, listener: Option<i64>, options: &SocketOptions) -> Result<usize, String> {
        let mut config = self.settings.config(options.max_segment).map_err(|e| e.to_string())?;
        options.configure(&mut config);
        let mut connection = Connection::new(config, listener);
        connection.bsd = self.settings.bsd;
        let limit = options.set_up_limit.or(self.settings.set_up_limit);
        connection.set_up_until = limit.map(|l| self.now.saturating_add(l));
        options.apply_limits(&mut connection.endpoint, &self.settings);
        self.connections.push(connection);
        let i = self.connections.len() - 1;
        self.current = Some(i);
        Ok(i)
    }
}

//! Upper bounds of the memory of buffers and delay lines, from the flows whose packets they take.

use lasthop_net::{Limit, QueueConfig};
use lasthop_units::{Bitrate, Bytes, Duration};

use super::{FlowSpec, Spec};

/// Memory of a packet in transit with the state of its sender and of layer 2, measured on a 64-bit
/// machine (190 B on a link, 180 B in the buffer of LTE's RLC, 224 B in that of UMTS) [bytes].
pub(super) const PACKET: u64 = 240;

/// Memory for packets: its key, its share [bytes], and the remedy that reduces it.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub key: String,
    pub bytes: u64,
    pub remedy: &'static str,
}

/// A queue with a limit, the rate behind it, and the delay after it.
pub(super) struct Hop {
    /// The rate at which packets certainly leave the queue.
    pub rate: Bitrate,
    /// Upper bound of the rate at which packets enter the delay line after the queue.
    pub fastest: Bitrate,
    /// The delay of this line.
    pub delay: Duration,
    /// The room of the queue.
    pub room: Room,
}

impl Hop {
    /// Memory of packets that wait and of those in transit at the end of a run of `length`: an
    /// upper bound for `loads`.
    pub fn holds(&self, loads: &Loads, length: Duration) -> u64 {
        let Loads { datagrams, windows } = loads;
        let size = datagrams.size.max(1);
        // A window grows only by delivered segments: at most two segments for each.
        let carried = bytes_in(self.rate, length);
        let opened = carried.saturating_mul(2).saturating_add(windows.flows.saturating_mul(100_000));
        let segments = windows.bytes.min(opened) / SEGMENT;
        let waiting = bytes_in(Bitrate(datagrams.bytes.saturating_sub(self.rate.0)), length) / size;
        let delay = min(self.delay, length);
        let flying = bytes_in(Bitrate(datagrams.bytes.min(self.fastest.0)), delay) / size;
        let wire = segments.min(bytes_in(self.fastest, delay) / SEGMENT);
        let room = self.room.packets.min(self.room.bytes / datagrams.size.clamp(64, SEGMENT));
        room.min(waiting.saturating_add(segments))
            .saturating_add(flying)
            .saturating_add(wire)
            .saturating_mul(PACKET)
    }
}

/// A buffer: delay after it, and its room.
pub(super) struct Buffering {
    pub rate: Bitrate,
    /// Time in transit.
    pub delay: Duration,
    pub room: Room,
}

/// Room of one queue or of several; `u64::MAX`: without limit.
#[derive(Clone, Copy)]
pub(super) struct Room {
    packets: u64,
    bytes: u64,
}

impl Room {
    pub const NONE: Room = Room { packets: 0, bytes: 0 };

    /// The room of a queue with these limits, both of which apply.
    pub fn of(packets: Option<u64>, bytes: Option<u64>) -> Room {
        Room { packets: packets.unwrap_or(u64::MAX), bytes: bytes.unwrap_or(u64::MAX) }
    }

    pub fn queue(queue: &QueueConfig) -> Room {
        let Limit { packets, bytes } = queue.limit();
        Room::of(packets.map(u64::from), bytes)
    }

    /// The room of this queue and another one together.
    pub fn and(self, other: Room) -> Room {
        Room {
            packets: self.packets.saturating_add(other.packets),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }

    /// The room of `n` such queues.
    pub fn times(self, n: u64) -> Room {
        Room { packets: self.packets.saturating_mul(n), bytes: self.bytes.saturating_mul(n) }
    }
}

/// The datagrams and the windows of the flows at one place.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Loads {
    datagrams: Load,
    windows: Load,
}

impl Loads {
    pub fn of<'a>(spec: &Spec, flows: impl Iterator<Item = &'a FlowSpec>) -> Loads {
        let mut loads = Loads::default();
        for flow in flows {
            loads.add(spec.pairs_of(flow).saturating_mul(flow.count.into()), flow);
        }
        loads
    }

    /// Adds `n` flows of one kind.
    pub fn add(&mut self, n: u64, flow: &FlowSpec) {
        match flow.transport.is_stream() {
            false => self.datagrams.add(n, datagrams(flow)),
            true => self.windows.add(n, window(flow)),
        }
    }
}

/// The remedy for a buffer of layer 2.
const BUFFER: &str =
    "limit the buffer, or lower the rates of the flows, their windows (`tcp.receive_buffer`) or `duration`";

/// The buffers that accesses report, with their memory.
pub(super) struct Buffers<'a> {
    spec: &'a Spec,
    held: Vec<Held>,
}

impl<'a> Buffers<'a> {
    /// Creates the list, which begins with `held`.
    pub fn after(spec: &'a Spec, held: Vec<Held>) -> Buffers<'a> {
        Buffers { spec, held }
    }

    /// All entries, in the order in which they were added.
    pub fn into_held(self) -> Vec<Held> {
        self.held
    }

    /// Adds a buffer that the key `key` limits, for the flows whose data or datagrams enter it.
    pub fn add(&mut self, key: String, buffering: &Buffering, flows: impl Iterator<Item = &'a FlowSpec>) {
        let Buffering { rate, delay, room } = *buffering;
        let hop = Hop { rate, fastest: rate, delay, room };
        let bytes = hop.holds(&Loads::of(self.spec, flows), self.spec.scenario.duration);
        self.held.push(Held { key, bytes, remedy: BUFFER });
    }
}

/// The rate of a block in each TTI.
pub(super) fn per_tti(bytes: Bytes, tti: Duration) -> Bitrate {
    Bitrate((u128::from(bytes.bits()) * 1_000_000_000 / u128::from(tti.0.max(1))) as u64)
}

/// Payload of a usual TCP segment [bytes].
const SEGMENT: u64 = 1448;

fn min(a: Duration, b: Duration) -> Duration {
    if a < b { a } else { b }
}

/// The whole bytes of `rate` in `t`, saturating.
fn bytes_in(rate: Bitrate, t: Duration) -> u64 {
    u64::try_from(u128::from(rate.0) * u128::from(t.0) / 8_000_000_000).unwrap_or(u64::MAX)
}

/// The load of several flows: a rate [bit/s] or windows, and the smallest packet.
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    bytes: u64,
    flows: u64,
    size: u64,
}

impl Load {
    fn add(&mut self, flows: u64, (each, size): (u64, Bytes)) {
        self.bytes = self.bytes.saturating_add(each.saturating_mul(flows));
        self.flows = self.flows.saturating_add(flows);
        self.size = if self.size == 0 { size.0 } else { self.size.min(size.0) };
    }
}

/// Rate and size of the packets of a UDP application; those of calls and games are too slow to
/// matter.
fn datagrams(flow: &FlowSpec) -> (u64, Bytes) {
    flow.app.peak().map_or((0, Bytes(SEGMENT)), |(rate, size)| (rate.0, size))
}

/// The largest window of a TCP flow, or all its data.
fn window(flow: &FlowSpec) -> (u64, Bytes) {
    let window = flow
        .tcp
        .resolve()
        .map_or(0, |c| c.buffers.receive_buffer.min(c.buffers.send_buffer.unwrap_or(u64::MAX)));
    let rate = flow.app.peak().map(|(rate, _)| rate.0);
    let sent = flow.app.total().map(|size| size.0).or(rate).unwrap_or(u64::MAX);
    (window.min(sent), Bytes(SEGMENT))
}

//! When a source sends its packets: at a constant rate, or at a rate while it is on.

use lasthop_engine::Draw;
use lasthop_units::{Bitrate, Bytes, Duration, Instant};

use super::Action;
use super::distribution::Times;
use super::kind::Behaviour;
use super::streams::Streams;

/// The clock of `cbr` and `on-off`. The first packet is sent at the start.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pattern: Pattern,
    /// The time of the next event; `None` while stopped.
    next: Option<Instant>,
}

#[derive(Clone, Debug)]
enum Pattern {
    /// Packet n is sent `n * size / rate` after the start, rounded up once: no drift.
    Cbr { rate: Bitrate, size: Bytes, start: Instant, sent: u64 },
    /// One every `period`.
    Ticks { period: Duration },
    /// Packets `gap` apart while on.
    OnOff { on: Times, off: Times, gap: Duration, period: u64, phase: Phase },
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    On {
        until: Instant,
        packet: Instant,
    },
    /// `rest` of on-time is missing until the next packet.
    Off {
        until: Instant,
        rest: Duration,
    },
}

impl Source {
    pub fn cbr(rate: Bitrate, size: Bytes) -> Source {
        Source { pattern: Pattern::Cbr { rate, size, start: Instant::ZERO, sent: 0 }, next: None }
    }

    pub const fn ticks(period: Duration) -> Source {
        Source { pattern: Pattern::Ticks { period }, next: None }
    }

    /// Packets that are `gap` apart while it is on.
    pub fn on_off(gap: Duration, on: Times, off: Times) -> Source {
        let phase = Phase::Off { until: Instant::ZERO, rest: Duration::ZERO };
        Source { pattern: Pattern::OnOff { on, off, gap, period: 0, phase }, next: None }
    }

    pub fn start(&mut self, now: Instant, draw: Draw) {
        match &mut self.pattern {
            Pattern::Cbr { start, sent, .. } => (*start, *sent) = (now, 0),
            Pattern::Ticks { .. } => {}
            Pattern::OnOff { on, period, phase, .. } => {
                // The length of an on period that was interrupted is not drawn again.
                *period += u64::from(matches!(phase, Phase::On { .. }));
                *phase = on_phase(on, period, now, Duration::ZERO, draw);
            }
        }
        self.next = Some(now);
    }

    pub fn stop(&mut self) {
        self.next = None;
    }

    pub fn poll_at(&self) -> Option<Instant> {
        self.next
    }

    /// Continues as `other`, which has not begun: the part of the next packet that the old rate has
    /// not produced is produced at the new one.
    pub fn change(&mut self, now: Instant, other: Source) {
        let scaled = |left: Duration, old: Duration, new: Duration| {
            let left = u128::from(left.0) * u128::from(new.0) / u128::from(old.0.max(1));
            Duration(u64::try_from(left).unwrap_or(u64::MAX))
        };
        let before = std::mem::replace(&mut self.pattern, other.pattern);
        match (before, &mut self.pattern) {
            (Pattern::Cbr { rate: old, size: of, .. }, Pattern::Cbr { rate, size, start, .. }) => {
                let Some(next) = self.next else { return };
                let left = scaled(next.since(now), old.time_for(of), rate.time_for(*size));
                *start = now.saturating_add(left);
                self.next = Some(*start);
            }
            (
                Pattern::OnOff { gap: old, period: n, phase: was, .. },
                Pattern::OnOff { gap, period, phase, .. },
            ) => {
                *period = n;
                if self.next.is_none() {
                    return;
                }
                *phase = match was {
                    Phase::On { until, packet } => {
                        let packet = now.saturating_add(scaled(packet.since(now), old, *gap));
                        self.next = Some(packet.min(until));
                        Phase::On { until, packet }
                    }
                    Phase::Off { until, rest } => Phase::Off { until, rest: scaled(rest, old, *gap) },
                };
            }
            _ => debug_assert!(false, "the kind stays"),
        }
    }

    /// The number of packets that are due by `now`.
    pub fn due(&mut self, now: Instant, draw: Draw) -> u64 {
        let mut packets = 0;
        while let Some(at) = self.next.filter(|at| *at <= now) {
            self.next = Some(match &mut self.pattern {
                Pattern::Cbr { rate, size, start, sent } => {
                    packets += 1;
                    *sent += 1;
                    start.saturating_add(rate.time_for(Bytes(sent.saturating_mul(size.0))))
                }
                Pattern::Ticks { period } => {
                    packets += 1;
                    at.saturating_add(*period)
                }
                Pattern::OnOff { on, off, gap, period, phase } => match *phase {
                    Phase::On { until, packet } if packet < until => {
                        debug_assert_eq!(packet, at);
                        packets += 1;
                        let packet = packet.saturating_add(*gap);
                        *phase = Phase::On { until, packet };
                        packet.min(until)
                    }
                    Phase::On { until, packet } => {
                        let length = off.draw(&mut draw.stream(*period * 2 + 1));
                        *period += 1;
                        let end = until.saturating_add(length);
                        *phase = Phase::Off { until: end, rest: packet.since(until) };
                        end
                    }
                    Phase::Off { until, rest } => {
                        *phase = on_phase(on, period, until, rest, draw);
                        let Phase::On { until, packet } = *phase else { break };
                        packet.min(until)
                    }
                },
            });
        }
        packets
    }
}

/// An on period that begins at `start`, whose first packet comes after `rest`.
fn on_phase(on: &Times, period: &u64, start: Instant, rest: Duration, draw: Draw) -> Phase {
    let length = on.draw(&mut draw.stream(period * 2));
    // At least a nanosecond: periods without length would not let time pass.
    let until = start.saturating_add(length.max(Duration(1)));
    Phase::On { until, packet: start.saturating_add(rest) }
}

/// Packets of one size from a source.
#[derive(Clone, Debug)]
pub(super) struct Packets {
    source: Source,
    size: u64,
}

impl Packets {
    pub const fn new(source: Source, size: Bytes) -> Packets {
        Packets { source, size: size.0 }
    }
}

impl Packets {
    /// Continues as `other`.
    pub fn change(&mut self, now: Instant, other: Packets) {
        self.size = other.size;
        self.source.change(now, other.source);
    }
}

impl Behaviour for Packets {
    fn start(&mut self, now: Instant, s: &mut Streams, out: &mut Vec<Action>) {
        self.source.start(now, s.draw);
        self.on_time(now, s, out);
    }
    fn stop(&mut self, _now: Instant) {
        self.source.stop();
    }
    fn pause(&mut self) {
        self.source.stop();
    }
    fn resume(&mut self, now: Instant, s: &mut Streams, out: &mut Vec<Action>) {
        self.start(now, s, out);
    }
    fn poll_at(&self) -> Option<Instant> {
        self.source.poll_at()
    }
    fn on_time(&mut self, now: Instant, s: &mut Streams, out: &mut Vec<Action>) {
        let packets = self.source.due(now, s.draw);
        s.send(packets, self.size, out);
    }
}

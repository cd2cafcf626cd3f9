//! When the receiver acknowledges: RFC 5681 section 4.2 and RFC 9293 section 3.8.6.3 (delayed ACK).

use lasthop_units::{Duration, Instant};

use crate::ack_linux::{Arrival, LinuxAcks, When};
use crate::jiffies::Timers;

/// The delayed-acknowledgement policy and its state.
#[derive(Clone, Debug)]
pub struct AckPolicy {
    /// Full-sized segments per ACK; 1 acknowledges each at once.
    every: u32,
    /// Segments that are still acknowledged one by one.
    quick: u32,
    delay: Duration,
    unacknowledged: u32,
    now_due: bool,
    deadline: Instant,
    timers: Timers,
    /// Linux' heuristics, which then decide instead of `every`, `quick` and `delay`.
    linux: Option<Box<LinuxAcks>>,
}

impl AckPolicy {
    /// Acknowledges the first `quick` segments one by one, then every `every`-th full-sized segment
    /// (>= 1), and no later than `delay` after the first.
    pub const fn new(every: u32, delay: Duration, quick: u32, timers: Timers) -> AckPolicy {
        AckPolicy {
            every,
            quick,
            delay,
            unacknowledged: 0,
            now_due: false,
            deadline: Instant::MAX,
            timers,
            linux: None,
        }
    }

    /// By Linux' heuristics; delays begin at `delay`.
    pub fn linux(delay: Duration, linux: LinuxAcks, timers: Timers) -> AckPolicy {
        AckPolicy { linux: Some(Box::new(linux)), ..AckPolicy::new(2, delay, 0, timers) }
    }

    /// In-order data of `len` octets arrived; `full` is the size of a full segment.
    #[inline]
    pub fn on_in_order_data(&mut self, now: Instant, len: u32, full: u32) {
        // RFC 9293 section 3.8.6.3 (MUST-58/59): an ACK at least for every second full-sized
        // segment, within 0.5 s.
        self.unacknowledged = self.unacknowledged.saturating_add(len);
        let quick = self.quick > 0;
        self.quick = self.quick.saturating_sub(1);
        if quick || self.every <= 1 || self.unacknowledged >= full.saturating_mul(self.every) {
            self.now_due = true;
        } else if self.deadline == Instant::MAX {
            self.deadline = self.timers.at(now, self.delay);
        }
    }

    /// Linux' heuristics, where they are at work.
    #[inline]
    pub fn heuristics(&mut self) -> Option<&mut LinuxAcks> {
        self.linux.as_deref_mut()
    }

    /// The budget of quick ACKs is over, where Linux' heuristics are at work.
    pub fn end_quick(&mut self) {
        if let Some(linux) = &mut self.linux {
            linux.end_quick();
        }
    }

    /// The peer's segment size, where Linux' heuristics measure it \[octets\].
    pub fn peer_segment(&self) -> Option<u32> {
        self.linux.as_deref().map(LinuxAcks::peer_segment)
    }

    /// In-order data by Linux' heuristics.
    pub fn on_arrival(&mut self, arrival: &Arrival) {
        let Some(linux) = &mut self.linux else { return };
        linux.learn(arrival);
        self.unacknowledged = self.unacknowledged.saturating_add(arrival.len);
        match linux.when(arrival) {
            When::Now => self.now_due = true,
            When::By(expires) if linux.expires != expires => {
                linux.expires = expires;
                self.deadline = self.timers.at_jiffy(arrival.now, expires);
            }
            When::By(_) => {}
        }
    }

    /// Data or a FIN has arrived, in order or not: by Linux' heuristics the next ACK counts as a
    /// quick one.
    #[inline]
    pub fn schedule(&mut self) {
        if let Some(linux) = &mut self.linux {
            linux.scheduled = true;
        }
    }

    /// Out-of-order data, a filled hole, a duplicate, a FIN: RFC 5681 section 4.2 wants the ACK at
    /// once.
    #[inline]
    pub fn at_once(&mut self) {
        self.now_due = true;
    }

    /// An ACK left, alone or on data.
    #[inline]
    pub fn sent(&mut self) {
        self.unacknowledged = 0;
        self.now_due = false;
        self.deadline = Instant::MAX;
        if let Some(linux) = &mut self.linux {
            linux.sent();
        }
    }

    /// The delay has passed; `rto` is the retransmission timeout.
    pub fn on_time(&mut self, now: Instant, rto: Duration) {
        if self.deadline <= now {
            self.deadline = Instant::MAX;
            if let Some(linux) = &mut self.linux {
                linux.missed(rto);
            }
            self.now_due = true;
        }
    }

    /// Data has arrived that no ACK tells of yet.
    #[inline]
    pub const fn holds_some(&self) -> bool {
        self.unacknowledged > 0
    }
    /// An ACK must leave now.
    #[inline]
    pub const fn is_due(&self) -> bool {
        self.now_due
    }
    /// Until when an ACK may wait; [`Instant::MAX`] when none waits.
    #[inline]
    pub const fn deadline(&self) -> Instant {
        self.deadline
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jiffies::{KernelClock, Wheel};

    #[test]
    fn every_second_full_segment_is_acknowledged_and_a_lone_one_after_the_delay() {
        let exact = Timers::new(KernelClock::Exact, Wheel::Levels);
        let mut p = AckPolicy::new(2, Duration::from_millis(200), 0, exact);
        p.on_in_order_data(Instant::ZERO, 1000, 1000);
        assert!(!p.is_due());
        assert_eq!(p.deadline(), Instant::from_millis(200));
        p.on_in_order_data(Instant::from_millis(5), 1000, 1000);
        assert!(p.is_due());
        p.sent();
        p.on_in_order_data(Instant::from_millis(10), 400, 1000);
        p.on_time(Instant::from_millis(209), Duration::from_secs(1));
        assert!(!p.is_due());
        p.on_time(Instant::from_millis(210), Duration::from_secs(1));
        assert!(p.is_due());
    }

    #[test]
    fn without_delay_each_segment_is_acknowledged() {
        let exact = Timers::new(KernelClock::Exact, Wheel::Levels);
        let mut p = AckPolicy::new(1, Duration::from_millis(200), 0, exact);
        p.on_in_order_data(Instant::ZERO, 1, 1000);
        assert!(p.is_due());
        assert_eq!(p.deadline(), Instant::MAX);
    }
}

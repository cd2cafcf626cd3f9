//! When the receiver acknowledges: RFC 5681 section 4.2 and RFC 9293 section 3.8.6.3 (delayed ACK).

use lasthop_units::{Duration, Instant};

use crate::ack_linux::{Arrival, LinuxAcks, When};

/// The delayed-acknowledgement policy and its state. It returns how long an ACK may wait; its owner
/// sets the timer.
#[derive(Clone, Debug)]
pub struct AckPolicy {
    /// Full-sized segments per ACK; 1 acknowledges each at once.
    every: u32,
    /// Segments that are still acknowledged one by one.
    quick: u32,
    delay: Duration,
    unacknowledged: u32,
    now_due: bool,
    /// Linux' heuristics, which then decide instead of `every`, `quick` and `delay`.
    linux: Option<Box<LinuxAcks>>,
}

impl AckPolicy {
    /// Acknowledges the first `quick` segments one by one, then every `every`-th full-sized segment
    /// (>= 1), and no later than `delay` after the first.
    pub const fn new(every: u32, delay: Duration, quick: u32) -> AckPolicy {
        AckPolicy { every, quick, delay, unacknowledged: 0, now_due: false, linux: None }
    }

    /// By Linux' heuristics; delays begin at `delay`.
    pub fn linux(delay: Duration, linux: LinuxAcks) -> AckPolicy {
        AckPolicy { linux: Some(Box::new(linux)), ..AckPolicy::new(2, delay, 0) }
    }

    /// In-order data of `len` octets arrived; `full` is the size of a full segment. How long its
    /// ACK may wait, if none waits already; `None`: it is due.
    #[inline(always)] // for each segment of a receiver
    pub fn on_in_order_data(&mut self, len: u32, full: u32) -> Option<Duration> {
        // RFC 9293 section 3.8.6.3 (MUST-58/59): an ACK at least for every second full-sized
        // segment, within 0.5 s.
        self.unacknowledged = self.unacknowledged.saturating_add(len);
        let quick = self.quick > 0;
        self.quick = self.quick.saturating_sub(1);
        if quick || self.every <= 1 || self.unacknowledged >= full.saturating_mul(self.every) {
            self.now_due = true;
            return None;
        }
        Some(self.delay)
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

    /// In-order data by Linux' heuristics. In which jiffy its ACK leaves at the latest, where that
    /// is another one than before.
    pub fn on_arrival(&mut self, arrival: &Arrival) -> Option<Instant> {
        let linux = self.linux.as_mut()?;
        linux.learn(arrival);
        self.unacknowledged = self.unacknowledged.saturating_add(arrival.len);
        let When::By(expires) = linux.when(arrival) else {
            self.now_due = true;
            return None;
        };
        (std::mem::replace(&mut linux.expires, expires) != expires).then_some(expires)
    }

    /// Data or a FIN has arrived, in order or not: by Linux' heuristics the next ACK counts as a
    /// quick one.
    #[inline]
    pub fn schedule(&mut self) {
        if let Some(linux) = &mut self.linux {
            linux.scheduled = true;
        }
    }

    /// Out-of-order data, a filled hole, a duplicate, a FIN: RFC 5681 section 4.2 requires the ACK
    /// at once.
    #[inline]
    pub fn at_once(&mut self) {
        self.now_due = true;
    }

    /// An ACK left, alone or on data.
    #[inline]
    pub fn sent(&mut self) {
        self.unacknowledged = 0;
        self.now_due = false;
        if let Some(linux) = &mut self.linux {
            linux.sent();
        }
    }

    /// The delay has passed; `rto` is the retransmission timeout.
    pub fn on_time(&mut self, rto: Duration) {
        if let Some(linux) = &mut self.linux {
            linux.missed(rto);
        }
        self.now_due = true;
    }

    /// Data has arrived that no ACK has covered yet.
    #[inline]
    pub const fn holds_some(&self) -> bool {
        self.unacknowledged > 0
    }
    /// An ACK must leave now.
    #[inline]
    pub const fn is_due(&self) -> bool {
        self.now_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_second_full_segment_is_acknowledged_and_a_lone_one_after_the_delay() {
        let delay = Duration::from_millis(200);
        let mut p = AckPolicy::new(2, delay, 0);
        assert_eq!(p.on_in_order_data(1000, 1000), Some(delay));
        assert!(!p.is_due());
        assert_eq!(p.on_in_order_data(1000, 1000), None);
        assert!(p.is_due());
        p.sent();
        assert_eq!(p.on_in_order_data(400, 1000), Some(delay));
        assert!(!p.is_due());
        p.on_time(Duration::from_secs(1));
        assert!(p.is_due());
    }

    #[test]
    fn without_delay_each_segment_is_acknowledged() {
        let mut p = AckPolicy::new(1, Duration::from_millis(200), 0);
        assert_eq!(p.on_in_order_data(1, 1000), None);
        assert!(p.is_due());
    }
}

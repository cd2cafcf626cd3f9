//! The interface of a rate control, and its inputs.

use std::fmt;

use lasthop_engine::custom::Fault;
use lasthop_engine::observe::Observer;
use lasthop_units::{Duration, Ecn, Instant};

/// A rate control of media: it sets the rate of the encoder, and the rate at which packets leave.
/// Sizes are those of RTP packets, their headers included; UDP and IP are not.
pub trait RateControl {
    /// A packet leaves.
    fn on_sent(&mut self, sent: &SentPacket) {
        let _unused = sent;
    }
    /// A report of the receiver has arrived.
    fn on_feedback(&mut self, feedback: &Feedback<'_>);
    /// The encoder's lowest and highest rate are these from now on \[bit/s\]. It stays within them
    /// for any target.
    fn on_limits(&mut self, min: f64, max: f64) {
        let _unused = (min, max);
    }
    /// The rate for the encoder while `queued` octets wait to be sent \[bit/s\].
    fn target(&self, queued: u64) -> f64;
    /// The rate at which packets leave while `queued` octets wait \[bit/s\].
    fn pacing(&self, queued: u64) -> f64 {
        PACING_HEADROOM * self.target(queued)
    }
    /// Octets that may be in flight; `None`: no bound.
    fn window(&self) -> Option<u64> {
        None
    }
    /// The error in its code since the last call; the run ends then.
    fn fault(&mut self) -> Option<Fault> {
        None
    }
    /// Shows its variables.
    fn observe(&self, o: &mut Observer<'_>) {
        let _unused = o;
    }
}

/// Packets leave faster than the encoder makes them, by this factor, so that a large frame does
/// not wait: PACKET_PACING_HEADROOM of draft-johansson-ccwg-rfc8298bis-screamv2, for controls
/// without a value of their own.
pub const PACING_HEADROOM: f64 = 1.5;

/// A rate control that can be copied and shown.
pub trait BoxedRateControl: RateControl + fmt::Debug + Send {
    /// A copy in the same state.
    fn boxed_clone(&self) -> Box<dyn BoxedRateControl>;
}

impl<T: RateControl + Clone + fmt::Debug + Send + 'static> BoxedRateControl for T {
    fn boxed_clone(&self) -> Box<dyn BoxedRateControl> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn BoxedRateControl> {
    fn clone(&self) -> Self {
        (**self).boxed_clone()
    }
}

/// The setting for which a rate control is constructed.
#[derive(Clone, Copy, Debug)]
pub struct RateSetup {
    /// Lowest rate of the encoder \[bit/s\].
    pub min: f64,
    /// Highest rate of the encoder \[bit/s\].
    pub max: f64,
    /// Rate at the start \[bit/s\].
    pub start: f64,
    /// Frames per second at most.
    pub frame_rate: f64,
    /// Time between two reports.
    pub feedback: Duration,
    /// Largest RTP packet \[octets\].
    pub packet: u32,
    /// The packets are sent as ECT(1): marks are those of L4S (RFC 9331).
    pub l4s: bool,
}

/// A packet that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentPacket {
    /// Its number, counted from 0.
    pub number: u64,
    /// Its octets.
    pub size: u32,
    /// When.
    pub at: Instant,
    /// Octets in flight with it: sent behind the highest packet that is reported as received.
    pub in_flight: u64,
}

/// The outcome of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Its number.
    pub number: u64,
    /// Its octets.
    pub size: u32,
    /// When it was sent.
    pub sent: Instant,
    /// When it arrived, by the receiver's clock, right to 1/1024 s; `None`: it is lost.
    pub arrival: Option<Instant>,
    /// The codepoint with which it arrived.
    pub ecn: Ecn,
    /// It has arrived after it was declared lost.
    pub late: bool,
}

/// A report, compared with the sent packets.
#[derive(Clone, Copy, Debug)]
pub struct Feedback<'a> {
    /// When it arrives.
    pub now: Instant,
    /// The round trip of the newest packet in its first report, without the time between the
    /// packet's arrival and the report.
    pub rtt: Option<Duration>,
    /// The packets decided by this report: each received once, each lost once, ordered by number.
    pub packets: &'a [Outcome],
    /// Octets in flight before it.
    pub in_flight_before: u64,
    /// Octets in flight after it.
    pub in_flight: u64,
    /// Octets of packets that have become the highest reported one or lie before it: received or
    /// not.
    pub newly_acked: u64,
    /// Octets that wait at the sender.
    pub queued: u64,
}

#[cfg(test)]
pub(super) mod testing {
    use super::super::feedback::Receiver;
    use super::super::history::History;
    use super::*;

    /// Encoders of the default configuration.
    pub fn setup() -> RateSetup {
        RateSetup {
            min: 150e3,
            max: 1.5e6,
            start: 150e3,
            frame_rate: 30.0,
            feedback: Duration::from_millis(50),
            packet: 1200,
            l4s: false,
        }
    }

    /// A sender, a path with a delay in either direction, and a receiver.
    pub struct Path {
        pub history: History,
        receiver: Receiver,
        delay: Duration,
        now: Instant,
        /// Packets in transmission.
        arrivals: Vec<(Instant, u64, Ecn)>,
    }

    impl Path {
        pub fn new(delay: Duration) -> Path {
            let receiver = Receiver::new(Duration::from_millis(50), 1200);
            Path { history: History::default(), receiver, delay, now: Instant::ZERO, arrivals: Vec::new() }
        }
        /// For `length` ms a packet of `size` octets every `gap` ms; `queueing` is the further
        /// delay of a packet by its number and the time since the start of this call \[ms\], NaN
        /// for a loss, and a mark where it is negative.
        pub fn run(
            &mut self,
            length: u64,
            gap: u64,
            size: u32,
            queueing: impl Fn(u64, f64) -> f64,
            mut feedback: impl FnMut(&Feedback<'_>),
        ) {
            let start = self.now;
            for ms in (0..length).step_by(gap as usize) {
                let at = start + Duration::from_millis(ms + gap);
                let sent = self.history.send(at, size);
                let wait = queueing(sent.number, ms as f64);
                let ecn = if wait < 0.0 { Ecn::Ce } else { Ecn::NotEct };
                if wait.is_finite() {
                    let wait = Duration::from_secs_f64(wait.abs() / 1e3);
                    self.arrivals.push((at + self.delay + wait, sent.number, ecn));
                }
                self.now = at;
                self.arrivals.sort_unstable_by_key(|(when, number, _)| (*when, *number));
                let here = self.arrivals.partition_point(|(when, ..)| *when <= at);
                for (when, number, ecn) in self.arrivals.drain(..here).collect::<Vec<_>>() {
                    self.deliver(when, &mut feedback);
                    self.receiver.arrived(when, number, ecn);
                }
                self.deliver(at, &mut feedback);
            }
        }
        fn deliver(&mut self, until: Instant, feedback: &mut impl FnMut(&Feedback<'_>)) {
            while let Some(at) = self.receiver.poll_at().filter(|at| *at <= until) {
                let Some(report) = self.receiver.report(at) else { break };
                feedback(&self.history.report(at + self.delay, &report));
            }
        }
    }
}

//! Helpers of the algorithms' tests: samples, and a path that acknowledges a window per round trip.

use lasthop_units::{Duration, Instant};

use super::{AckSample, Cc, CcName, Congestion, CongestionControl, Established};
use crate::config::Config;
use crate::{Options, Profile};

pub const MSS: u64 = 1000;

/// The `rfc` profile.
pub fn rfc() -> Config {
    Profile::Rfc.config()
}
/// As Linux counts: all that an ACK delivers.
pub fn linux_like() -> Config {
    linux_with(|_| ())
}
/// That, changed.
pub fn linux_with(change: impl FnOnce(&mut Config)) -> Config {
    changed(rfc(), change)
}
fn changed(mut config: Config, change: impl FnOnce(&mut Config)) -> Config {
    config.growth.abc_limit = None;
    change(&mut config);
    config
}
/// An algorithm under the values of `options`.
pub fn resolved(options: Options) -> Config {
    changed(options.resolve().unwrap(), |_| ())
}

/// An ACK that delivers so many segments.
pub fn ack(segments: u64) -> AckSample {
    AckSample {
        acked: segments * MSS,
        delivered: segments * MSS,
        mss: MSS as u32,
        cwnd_limited: true,
        may_grow: true,
        ..AckSample::default()
    }
}
/// The same with a time [ms] and a round trip [ms].
pub fn ack_at(segments: u64, now_ms: u64, rtt_ms: u64) -> AckSample {
    let rtt = Some(Duration::from_millis(rtt_ms));
    AckSample { now: Instant::from_millis(now_ms), rtt, srtt: rtt, ..ack(segments) }
}
/// Congestion with a window of so many segments.
pub fn congestion(flight: f64) -> Congestion {
    Congestion { flight, ..Congestion::default() }
}

/// A sender in lock step over a path of fixed capacity: `bdp` segments fit without queueing.
pub struct Path {
    pub cc: Cc,
    pub now: Instant,
    pub una: u64,
    pub nxt: u64,
    pub base: Duration,
    /// Segments that the path holds without queueing.
    pub bdp: f64,
    /// Segments per ACK.
    pub per_ack: u64,
}

impl Path {
    pub fn new(cc: CcName, config: Config, base_ms: u64, bdp: f64) -> Path {
        let mut cc = Cc::new(&Config { cc, ..config });
        let base = Duration::from_millis(base_ms);
        let now = Instant::ZERO + base;
        cc.on_established(&Established {
            now,
            rtt: Some(base),
            initial_window: 10.0,
            nxt: 1,
            seed: 7,
            mss: MSS as u32,
        });
        Path { cc, now, una: 1, nxt: 1, base, bdp, per_ack: 1 }
    }

    /// The round trip with so many segments in flight.
    pub fn rtt(&self, flight: f64) -> Duration {
        self.base.mul_f64((flight / self.bdp).max(1.0))
    }

    /// One round trip: the window is sent and acknowledged, evenly spread over the second half.
    pub fn round(&mut self) -> f64 {
        let window = self.cc.cwnd().floor().max(1.0) as u64;
        let rtt = self.rtt(window as f64);
        let start = self.now;
        let end = self.nxt + window * MSS;
        let mut done = 0;
        while done < window {
            let n = self.per_ack.min(window - done);
            done += n;
            self.una += n * MSS;
            self.now = start + rtt.mul_f64(0.5 + 0.5 * done as f64 / window as f64);
            self.nxt = self.nxt.max(end);
            let sample = AckSample {
                una: self.una,
                nxt: self.nxt + done * MSS,
                in_flight: (window - done) * MSS,
                flight_before: (window - done + n) * MSS,
                rtt: Some(rtt),
                srtt: Some(rtt),
                now: self.now,
                ..ack(n)
            };
            self.cc.on_ack(&sample);
        }
        self.nxt = self.una;
        self.now = start + rtt;
        self.cc.cwnd()
    }

    /// So many rounds; the window after each.
    pub fn rounds(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.round()).collect()
    }

    pub fn lose(&mut self) {
        let c = Congestion { now: self.now, ..congestion(self.cc.cwnd()) };
        self.cc.on_congestion(&c);
    }
}

//! The measurements of an application.

use lasthop_units::{Duration, Instant};

use super::Quality;
use crate::media::RateControlName;

/// Counters of one application. Index 0 is end A, index 1 end B.
#[derive(Clone, Debug, Default)]
pub struct AppStats {
    /// When it was started first.
    pub started: Option<Instant>,
    /// When a finite application was complete: the file's last byte at B, the last response's at A.
    pub completion: Option<Instant>,
    /// Bytes written (or sent in datagrams) at each end.
    pub written: [u64; 2],
    /// Bytes that arrived at each end.
    pub delivered: [u64; 2],
    /// Datagrams sent.
    pub datagrams_sent: u64,
    /// Datagrams that arrived, copies not counted.
    pub datagrams_delivered: u64,
    /// Copies of datagrams that had arrived before, at the receiver of the data.
    pub copies: u64,
    /// Requests issued.
    pub requests_issued: u64,
    /// Requests that B has answered.
    pub requests_answered: u64,
    /// Times from a request to its whole response: of a page to its last object, of a file from its
    /// arrival.
    pub completions: Completions,
    /// The quality for its user by late packets, if it is rated.
    pub quality: Option<Box<Quality>>,
}

impl AppStats {
    /// Requests whose response has arrived whole.
    pub fn requests_completed(&self) -> u64 {
        self.completions.count
    }
}

/// Completion times: statistics of all, and a list of the first [`Completions::LISTED`].
#[derive(Clone, Debug, Default)]
pub struct Completions {
    count: u64,
    sum_ns: u128,
    min: Option<Duration>,
    max: Option<Duration>,
    list: Vec<(Instant, Duration)>,
}

impl Completions {
    /// The list holds no more than this many.
    pub const LISTED: usize = 100_000;

    pub(super) fn add(&mut self, now: Instant, took: Duration) {
        self.count += 1;
        self.sum_ns += u128::from(took.0);
        self.min = Some(self.min.map_or(took, |m| m.min(took)));
        self.max = Some(self.max.map_or(took, |m| m.max(took)));
        if self.list.len() < Self::LISTED {
            self.list.push((now, took));
        }
    }
    /// How many there were.
    pub fn count(&self) -> u64 {
        self.count
    }
    /// Their mean [s].
    pub fn mean_s(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64 / 1e9)
    }
    /// The shortest.
    pub fn min(&self) -> Option<Duration> {
        self.min
    }
    /// The longest.
    pub fn max(&self) -> Option<Duration> {
        self.max
    }
    /// The time that a share of `q` of the listed ones does not exceed [s].
    pub fn quantile_s(&self, q: f64) -> Option<f64> {
        let mut took: Vec<Duration> = self.list.iter().map(|(_, d)| *d).collect();
        took.sort_unstable();
        let at = ((q * took.len() as f64).ceil() as usize).clamp(1, took.len().max(1)) - 1;
        took.get(at).map(|d| d.as_secs_f64())
    }
    /// The first ones: when complete, and how long it took.
    pub fn list(&self) -> &[(Instant, Duration)] {
        &self.list
    }
}

/// Counts of a media flow between two samples; sizes are of RTP packets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MediaCounts {
    /// Octets that the encoder has made.
    pub encoded: u64,
    /// Octets of video and audio sent.
    pub sent: u64,
    /// Octets of video and audio received.
    pub received: u64,
    /// Packets of video that the sender has declared lost.
    pub lost: u64,
    /// Packets that waited too long at the sender.
    pub discarded: u64,
    /// One-way delays of the packets of video that arrived.
    pub delays: Times,
    /// Times from a frame to its last packet's arrival, of complete frames.
    pub frames: Times,
}

/// Statistics of times.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Times {
    /// How many.
    pub count: u64,
    sum_ns: u128,
    /// The longest.
    pub max: Duration,
}

impl Times {
    pub(super) fn add(&mut self, time: Duration) {
        self.count += 1;
        self.sum_ns += u128::from(time.0);
        self.max = self.max.max(time);
    }
    /// Their mean [s].
    pub fn mean_s(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64 / 1e9)
    }
    /// The longest [s].
    pub fn max_s(&self) -> Option<f64> {
        (self.count > 0).then(|| self.max.as_secs_f64())
    }
}

/// A media flow as the table `media` has it.
#[derive(Clone, Copy, Debug)]
pub struct MediaSample {
    /// The rate control.
    pub control: RateControlName,
    /// The target rate for the encoder [bit/s].
    pub target: f64,
    /// Latest round trip that the sender has measured.
    pub rtt: Option<Duration>,
    /// Octets that wait at the sender.
    pub queued: u64,
    /// Octets in flight.
    pub in_flight: u64,
    /// Since the last sample.
    pub counts: MediaCounts,
}

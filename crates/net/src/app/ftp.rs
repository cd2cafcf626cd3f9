//! Files as 3GPP's FTP traffic models send them (TR 36.814 annex A.2.1.3.1, TR 36.872 for model 3),
//! over one connection.

use std::collections::VecDeque;

use lasthop_engine::Draw;
use lasthop_units::{Bytes, Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::{AppKind, Behaviour, PERIOD, Wrong, above_zero, at_least, parameter};
use super::streams::{Service, Streams};
use super::{Action, End};
use crate::registry::Entry;

/// Which of 3GPP's FTP models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FtpModel {
    /// Model 1: Poisson arrivals of files of 2 MB (each a user of its own in TR 36.814; here on one
    /// connection).
    #[serde(rename = "1")]
    Arrivals,
    /// Model 2: a file of 0.5 MB, an exponential reading time, the next file.
    #[default]
    #[serde(rename = "2")]
    Reading,
    /// Model 3: Poisson arrivals of files of 0.5 MB at one UE.
    #[serde(rename = "3")]
    ArrivalsPerUe,
}

/// Parameters of `ftp`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FtpConfig {
    /// "1", "2" or "3": TR 36.814 annex A.2.1.3.1, model 3 of TR 36.872.
    pub model: FtpModel,
    /// Size of a file. Without it: 2 MB in model 1, else 0.5 MB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// Mean time between two arrivals, or of reading, at least 100 us.
    pub interval: Duration,
    /// Number of files; without it they go on for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
}

impl Default for FtpConfig {
    fn default() -> Self {
        FtpConfig { model: FtpModel::Reading, size: None, interval: Duration::from_secs(5), count: None }
    }
}

impl FtpConfig {
    /// Size of a file.
    pub fn file_size(&self) -> Bytes {
        let usual = if self.model == FtpModel::Arrivals { 2_000_000 } else { 500_000 };
        self.size.unwrap_or(Bytes(usual))
    }
}

impl AppKind for FtpConfig {
    const ENTRY: Entry = Entry {
        name: "ftp",
        summary: "files as 3GPP's FTP models 1, 2 and 3 send them (TCP)",
        source: "3GPP TR 36.814 annex A.2.1.3.1, TR 36.872 annex A",
        parameters: &[
            parameter("model", "2", "1, 3: Poisson arrivals; 2: a file, a reading time, the next"),
            parameter("size", "2 MB in model 1, else 0.5 MB", "size of a file"),
            parameter("interval", "5 s", "mean time between arrivals, or of reading"),
            parameter("count", "for ever", "number of files"),
        ],
    };
    type Run = Box<Ftp>;

    fn validate(&self, _over: Service) -> Result<(), Wrong> {
        above_zero("size", self.file_size().0)?;
        at_least("interval", self.interval, PERIOD)?;
        above_zero("count", self.count.map_or(1, u64::from))
    }
    fn run(&self) -> Box<Ftp> {
        Box::new(Ftp::new(self))
    }
}

/// The files of one user.
#[derive(Clone, Debug)]
pub(super) struct Ftp {
    config: FtpConfig,
    next: Option<Instant>,
    arrivals: u64,
    /// When each file that is under way was requested, and where it ends in the stream.
    waiting: VecDeque<(Instant, u64)>,
}

impl Ftp {
    fn new(config: &FtpConfig) -> Ftp {
        Ftp { config: config.clone(), next: None, arrivals: 0, waiting: VecDeque::new() }
    }
    /// Bytes of a file.
    fn size(&self) -> u64 {
        self.config.file_size().0
    }

    /// Files that are due by `now`.
    fn due(&mut self, now: Instant, draw: Draw) -> u64 {
        let mut files = 0;
        while let Some(at) = self.next.take_if(|at| *at <= now) {
            files += 1;
            self.arrivals += 1;
            self.waiting.push_back((at, self.arrivals * self.size()));
            let more = self.config.count.is_none_or(|count| self.arrivals < u64::from(count));
            self.next = (more && self.config.model != FtpModel::Reading).then(|| at + self.gap(draw));
        }
        files
    }

    /// `received` bytes have arrived so far: the time that the oldest file took, if that is
    /// complete.
    fn complete(&mut self, now: Instant, received: u64, draw: Draw) -> Option<Duration> {
        let (asked, _) = *self.waiting.front().filter(|(_, end)| *end <= received)?;
        self.waiting.pop_front();
        if self.config.model == FtpModel::Reading && !self.is_done() {
            self.next = Some(now + self.gap(draw));
        }
        Some(now.since(asked))
    }
    /// Every file there is to be has arrived.
    fn is_done(&self) -> bool {
        self.waiting.is_empty() && self.config.count.is_some_and(|count| self.arrivals >= u64::from(count))
    }

    fn gap(&self, draw: Draw) -> Duration {
        let mean = self.config.interval.as_secs_f64();
        Duration::from_secs_f64(draw.stream(self.arrivals).exponential(mean))
    }
}

impl Behaviour for Ftp {
    /// Poisson arrivals begin with a gap, a reader with a file.
    fn start(&mut self, now: Instant, s: &mut Streams, out: &mut Vec<Action>) {
        let gap = match self.config.model {
            FtpModel::Reading => Duration::ZERO,
            FtpModel::Arrivals | FtpModel::ArrivalsPerUe => self.gap(s.draw),
        };
        self.next = Some(now + gap);
        self.on_time(now, s, out);
    }
    fn stop(&mut self) {
        self.next = None;
    }
    fn poll_at(&self) -> Option<Instant> {
        self.next
    }
    fn on_time(&mut self, now: Instant, s: &mut Streams, out: &mut Vec<Action>) {
        let files = self.due(now, s.draw);
        s.ask(files, files * self.size(), out);
    }
    fn on_delivered(&mut self, now: Instant, end: End, s: &mut Streams, out: &mut Vec<Action>) {
        if end == End::A {
            return;
        }
        while let Some(took) = self.complete(now, s.stats.delivered[1], s.draw) {
            s.stats.completions.add(now, took);
        }
        if self.is_done() && s.stats.completion.is_none() {
            s.complete(now, out);
        }
    }
}

//! Files as 3GPP's FTP traffic models send them (TR 36.814 annex A.2.1.3.1, TR 36.872 for model 3),
//! over one connection.

use std::collections::VecDeque;

use lasthop_engine::Draw;
use lasthop_units::{Bytes, Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::distribution::{
    SizeDistribution, Sizes, USUAL_SHAPE, USUAL_SIGMA, is_one, is_usual_shape, is_usual_sigma,
};
use super::kind::{AppContext, AppKind, Behaviour, Fault, PERIOD, Wrong, above_zero, at_least, parameter};
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
    /// Size of a file, or the mean. Without it: 2 MB in model 1, else 0.5 MB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// Distribution of the sizes; at least 1 B each.
    #[serde(skip_serializing_if = "SizeDistribution::is_constant")]
    pub size_distribution: SizeDistribution,
    /// Shape of a Pareto distribution, above 1.
    #[serde(skip_serializing_if = "is_usual_shape")]
    pub shape: f64,
    /// Standard deviation of the logarithm in a lognormal distribution, up to 5.
    #[serde(skip_serializing_if = "is_usual_sigma")]
    pub sigma: f64,
    /// Smallest size in a uniform distribution; the largest is as far above the mean as this is
    /// below.
    #[serde(skip_serializing_if = "is_one")]
    pub smallest: Bytes,
    /// Mean time between two arrivals, or of reading, at least 100 us.
    pub interval: Duration,
    /// Number of files; without it they go on for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
}

impl Default for FtpConfig {
    fn default() -> Self {
        FtpConfig {
            model: FtpModel::Reading,
            size: None,
            size_distribution: SizeDistribution::Constant,
            shape: USUAL_SHAPE,
            sigma: USUAL_SIGMA,
            smallest: Bytes(1),
            interval: Duration::from_secs(5),
            count: None,
        }
    }
}

impl FtpConfig {
    const fn sizes(&self, mean: Bytes) -> Sizes {
        Sizes {
            distribution: self.size_distribution,
            mean: mean.0,
            shape: self.shape,
            sigma: self.sigma,
            smallest: self.smallest.0,
        }
    }
    /// Size of a file, or the mean.
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
            parameter("size", "2 MB in model 1, else 0.5 MB", "size of a file, or the mean"),
            parameter("size_distribution", "constant", "constant, exponential, pareto, lognormal or uniform"),
            parameter("shape", "1.2", "shape of a Pareto distribution, above 1"),
            parameter("sigma", "1", "standard deviation of the logarithm in a lognormal distribution"),
            parameter("smallest", "1 B", "smallest size in a uniform distribution"),
            parameter("interval", "5 s", "mean time between arrivals, or of reading"),
            parameter("count", "for ever", "number of files"),
        ],
    };
    const ANSWERS: bool = true;
    type Run = Box<Ftp>;

    fn validate(&self, _over: Service) -> Result<(), Wrong> {
        self.sizes(self.file_size()).validate()?;
        at_least("interval", self.interval, PERIOD)?;
        above_zero("count", self.count.map_or(1, u64::from))
    }
    fn run(&self, _: &AppContext<'_>) -> Result<Box<Ftp>, Fault> {
        Ok(Box::new(Ftp::new(self)))
    }
}

/// Draws of sizes have numbers from here on; those of gaps are below.
const SIZES: u64 = 1 << 63;

/// The files of one user.
#[derive(Clone, Debug)]
pub(super) struct Ftp {
    config: FtpConfig,
    next: Option<Instant>,
    arrivals: u64,
    law: Sizes,
    /// Bytes of all files so far.
    asked: u64,
    /// The request time of each file in progress, and its end in the stream.
    waiting: VecDeque<(Instant, u64)>,
}

impl Ftp {
    fn new(config: &FtpConfig) -> Ftp {
        Ftp {
            law: config.sizes(config.file_size()),
            config: config.clone(),
            next: None,
            arrivals: 0,
            asked: 0,
            waiting: VecDeque::new(),
        }
    }

    /// Files that are due by `now`, and their bytes.
    fn due(&mut self, now: Instant, draw: Draw) -> (u64, u64) {
        let (mut files, before) = (0, self.asked);
        while let Some(at) = self.next.take_if(|at| *at <= now) {
            files += 1;
            self.asked += self.law.draw(&mut draw.stream(SIZES | self.arrivals));
            self.arrivals += 1;
            self.waiting.push_back((at, self.asked));
            let more = self.config.count.is_none_or(|count| self.arrivals < u64::from(count));
            self.next = (more && self.config.model != FtpModel::Reading).then(|| at + self.gap(draw));
        }
        (files, self.asked - before)
    }

    /// `received` bytes have arrived so far: the time that the oldest file took, if that is
    /// complete. A user who was stopped reads nothing after it.
    fn complete(&mut self, now: Instant, received: u64, s: &Streams) -> Option<Duration> {
        let (asked, _) = *self.waiting.front().filter(|(_, end)| *end <= received)?;
        self.waiting.pop_front();
        if s.running && self.config.model == FtpModel::Reading && !self.is_done() {
            self.next = Some(now + self.gap(s.draw));
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
    fn stop(&mut self, _now: Instant) {
        self.next = None;
    }
    fn poll_at(&self) -> Option<Instant> {
        self.next
    }
    fn on_time(&mut self, now: Instant, s: &mut Streams, out: &mut Vec<Action>) {
        let (files, bytes) = self.due(now, s.draw);
        s.request(files, bytes, out);
    }
    fn on_delivered(&mut self, now: Instant, end: End, s: &mut Streams, out: &mut Vec<Action>) {
        if end == End::A {
            return;
        }
        while let Some(took) = self.complete(now, s.stats.delivered[1], s) {
            s.stats.completions.add(now, took);
        }
        if self.is_done() && s.stats.completion.is_none() {
            s.complete(now, out);
        }
    }
}

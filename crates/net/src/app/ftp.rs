//! Files as 3GPP's FTP traffic models send them (TR 36.814 annex A.2.1.3.1, TR 36.872 for model 3),
//! over one connection.

use std::collections::VecDeque;

use lasthop_engine::Draw;
use lasthop_units::{Duration, Instant};

use super::config::{FtpConfig, FtpModel};

/// The files of one user.
#[derive(Clone, Debug)]
pub(super) struct Ftp {
    config: FtpConfig,
    next: Option<Instant>,
    arrivals: u64,
    /// When each file that is under way was asked for, and where it ends in the stream.
    waiting: VecDeque<(Instant, u64)>,
}

impl Ftp {
    pub fn new(config: &FtpConfig) -> Ftp {
        Ftp { config: config.clone(), next: None, arrivals: 0, waiting: VecDeque::new() }
    }
    /// Bytes of a file.
    pub fn size(&self) -> u64 {
        self.config.file_size().0
    }
    /// Poisson arrivals begin with a gap, a reader with a file.
    pub fn start(&mut self, now: Instant, draw: Draw) {
        let gap = match self.config.model {
            FtpModel::Reading => Duration::ZERO,
            FtpModel::Arrivals | FtpModel::ArrivalsPerUe => self.gap(draw),
        };
        self.next = Some(now + gap);
    }
    pub fn stop(&mut self) {
        self.next = None;
    }
    pub const fn poll_at(&self) -> Option<Instant> {
        self.next
    }

    /// Files that are due by `now`.
    pub fn due(&mut self, now: Instant, draw: Draw) -> u64 {
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
    pub fn complete(&mut self, now: Instant, received: u64, draw: Draw) -> Option<Duration> {
        let (asked, _) = *self.waiting.front().filter(|(_, end)| *end <= received)?;
        self.waiting.pop_front();
        if self.config.model == FtpModel::Reading && !self.is_done() {
            self.next = Some(now + self.gap(draw));
        }
        Some(now.since(asked))
    }
    /// Every file there is to be has arrived.
    pub fn is_done(&self) -> bool {
        self.waiting.is_empty() && self.config.count.is_some_and(|count| self.arrivals >= u64::from(count))
    }

    fn gap(&self, draw: Draw) -> Duration {
        let mean = self.config.interval.as_secs_f64();
        Duration::from_secs_f64(draw.stream(self.arrivals).exponential(mean))
    }
}

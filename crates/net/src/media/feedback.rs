//! The receiver's reports: RTCP feedback for congestion control (RFC 8888).
//!
//! A report has a metric for each number of a range: received or not, the codepoint, and how long
//! before the report the packet arrived, in units of 1/1024 s in 13 bits. A report begins where the
//! report before the last one ended, so that the loss of one report loses no information. It begins
//! earlier if a packet has arrived that an earlier report had as missing.

use std::collections::VecDeque;

use lasthop_units::{Duration, Ecn, Instant};

/// RTCP header, SSRC of the reporter and timestamp of the report: 4 octets each (RFC 8888
/// section 3.1).
const FIXED: u32 = 12;
/// SSRC of the media, first number and how many follow.
const BLOCK: u32 = 8;
/// A report has no more metrics than a quarter of the sequence numbers (RFC 8888 section 3.1).
const MOST: usize = 16_384;
/// Units of the arrival time offset in a second.
const OFFSETS: u64 = 1024;
/// The largest offset that is a time; one more represents a longer one.
const LONGEST: u16 = 0x1ffd;
/// Units of the report's timestamp in a second: the middle 32 bits of an NTP time.
const STAMPS: u64 = 65_536;
const SECOND: u64 = 1_000_000_000;

/// The entry of a report for a packet that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// With which codepoint.
    pub ecn: Ecn,
    /// The time before the report, in 1/1024 s, rounded down; `None`: longer than the field can
    /// hold.
    pub offset: Option<u16>,
}

/// A report on one stream of packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The first number.
    pub begin: u64,
    /// From that number on; `None`: not received.
    pub metrics: Vec<Option<Metric>>,
    /// When it was made, by the receiver's clock, rounded down to 1/65536 s.
    pub at: Instant,
}

impl Report {
    /// Its octets as payload of a datagram, sent alone (reduced-size RTCP, RFC 5506).
    pub fn size(&self) -> u32 {
        size_of(self.metrics.len())
    }
    /// When a packet arrived by this report.
    pub fn arrival(&self, metric: Metric) -> Instant {
        let offset = u64::from(metric.offset.unwrap_or(LONGEST)) * SECOND / OFFSETS;
        Instant(self.at.0.saturating_sub(offset))
    }
}

/// Octets of a report with so many metrics, of 2 octets each, padded to words of 4.
fn size_of(metrics: usize) -> u32 {
    FIXED + BLOCK + 4 * (metrics as u32).div_ceil(2)
}

/// The end that receives media and reports on it.
#[derive(Clone, Debug)]
pub struct Receiver {
    interval: Duration,
    /// Metrics of the largest report that is sent in one piece.
    most: usize,
    /// The number of the first entry of `arrived`.
    base: u64,
    /// First arrivals by number.
    arrived: VecDeque<Option<(Instant, Ecn)>>,
    /// Where the last two reports ended.
    ends: [u64; 2],
    /// The lowest number that has arrived since the last report.
    lowest: Option<u64>,
    next: Option<Instant>,
}

impl Receiver {
    /// A receiver that reports every `interval` the packets that have arrived meanwhile, earlier if
    /// a report would have more than `largest` octets.
    pub fn new(interval: Duration, largest: u32) -> Receiver {
        let most = (largest.saturating_sub(size_of(0)) / 4 * 2).max(2) as usize;
        Receiver {
            interval,
            most: most.min(MOST),
            base: 0,
            arrived: VecDeque::new(),
            ends: [0; 2],
            lowest: None,
            next: None,
        }
    }

    /// A packet arrives. False: it had arrived before, or is too old to be reported.
    pub fn arrived(&mut self, now: Instant, number: u64, ecn: Ecn) -> bool {
        let Some(i) = number.checked_sub(self.base) else { return false };
        let i = usize::try_from(i).unwrap_or(usize::MAX);
        if i >= self.arrived.len() {
            self.make_room(number);
        }
        let i = (number - self.base) as usize;
        let first = self.arrived[i].is_none();
        if first {
            self.arrived[i] = Some((now, ecn));
        } else if let Some((_, known)) = &mut self.arrived[i]
            && ecn == Ecn::Ce
        {
            // RFC 8888 section 3.1: of copies, one mark is enough for the report to have it.
            *known = Ecn::Ce;
        }
        if first {
            self.lowest = Some(self.lowest.map_or(number, |n| n.min(number)));
            let full = self.end() - self.begin() >= self.most as u64;
            let due = if full { now } else { now.saturating_add(self.interval) };
            self.next = Some(self.next.map_or(due, |at| at.min(due)));
        }
        first
    }

    /// Entries up to `number`; the oldest are removed where there would be too many.
    fn make_room(&mut self, number: u64) {
        let first = (number + 1).saturating_sub(MOST as u64).max(self.base);
        let gone = (first - self.base).min(self.arrived.len() as u64);
        self.arrived.drain(..gone as usize);
        self.base = first;
        self.arrived.resize((number + 1 - first) as usize, None);
    }

    /// The number after the highest that has arrived.
    pub fn end(&self) -> u64 {
        self.base + self.arrived.len() as u64
    }
    /// Where a report of now begins.
    fn begin(&self) -> u64 {
        self.lowest.map_or(self.ends[0], |n| n.min(self.ends[0])).max(self.base)
    }

    /// When a report is due.
    pub fn poll_at(&self) -> Option<Instant> {
        self.next
    }

    /// The report of `now`, if one is due.
    pub fn report(&mut self, now: Instant) -> Option<Report> {
        self.next.filter(|at| *at <= now)?;
        self.next = None;
        let (begin, end) = (self.begin(), self.end());
        let at = Instant(floor_to(now.0, STAMPS));
        let metric = |(arrived, ecn): (Instant, Ecn)| {
            let offset = (u128::from(now.since(arrived).0) * u128::from(OFFSETS) / u128::from(SECOND)) as u64;
            Metric { ecn, offset: u16::try_from(offset).ok().filter(|o| *o <= LONGEST) }
        };
        let metrics = self.arrived.range((begin - self.base) as usize..).map(|a| a.map(metric)).collect();
        self.ends = [self.ends[1], end];
        self.lowest = None;
        Some(Report { begin, metrics, at })
    }
}

/// A time rounded down to a whole part of a second.
fn floor_to(ns: u64, parts: u64) -> u64 {
    let units = u128::from(ns) * u128::from(parts) / u128::from(SECOND);
    (units * u128::from(SECOND)).div_ceil(u128::from(parts)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn receiver() -> Receiver {
        Receiver::new(Duration::from_millis(50), 1200)
    }
    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }
    fn received(report: &Report) -> Vec<u64> {
        let numbers = (report.begin..).zip(&report.metrics);
        numbers.filter(|(_, m)| m.is_some()).map(|(n, _)| n).collect()
    }

    /// RFC 8888 figure 1: header, SSRC and timestamp 12 octets; of each stream SSRC, begin_seq and
    /// num_reports 8 and two octets a packet, padded to 32 bits. None: 20. 1 or 2: 24. 5: 32.
    #[test]
    fn a_report_has_the_size_of_its_layout() {
        for (metrics, octets) in [(0, 20), (1, 24), (2, 24), (5, 32), (590, 1200)] {
            assert_eq!(size_of(metrics), octets, "{metrics}");
        }
    }

    /// 30 ms before the report are 30.72 units: 30, which is 29.3 ms.
    #[test]
    fn arrivals_are_reported_to_a_1024th_of_a_second() {
        let mut r = receiver();
        assert!(r.arrived(at(100), 0, Ecn::Ect1));
        assert!(r.arrived(at(120), 1, Ecn::Ce));
        assert_eq!(r.poll_at(), Some(at(150)));
        assert_eq!(r.report(at(149)), None);
        let report = r.report(at(150)).unwrap();
        let of = |ecn, offset| Some(Metric { ecn, offset: Some(offset) });
        assert_eq!(report.metrics, [of(Ecn::Ect1, 51), of(Ecn::Ce, 30)]);
        let error = at(120).0.abs_diff(report.arrival(report.metrics[1].unwrap()).0);
        assert!(error <= SECOND / OFFSETS, "{error}");
        assert_eq!(r.poll_at(), None, "nothing new to report");
    }

    /// The report of 8 s later has an offset longer than 8189/1024 s.
    #[test]
    fn an_arrival_long_ago_has_no_offset() {
        let mut r = receiver();
        r.arrived(at(0), 0, Ecn::NotEct);
        assert_eq!(r.report(at(9000)).unwrap().metrics, [Some(Metric { ecn: Ecn::NotEct, offset: None })]);
    }

    #[test]
    fn each_packet_is_in_two_reports_and_a_reordered_one_in_one_more() {
        let mut r = receiver();
        for (n, ms) in [(0, 0), (1, 10), (3, 20)] {
            r.arrived(at(ms), n, Ecn::NotEct);
        }
        assert_eq!(received(&r.report(at(50)).unwrap()), [0, 1, 3]);
        r.arrived(at(60), 4, Ecn::NotEct);
        let second = r.report(at(110)).unwrap();
        assert_eq!((second.begin, received(&second)), (0, vec![0, 1, 3, 4]));
        r.arrived(at(120), 5, Ecn::NotEct);
        let third = r.report(at(170)).unwrap();
        assert_eq!((third.begin, received(&third)), (4, vec![4, 5]));
        r.arrived(at(180), 2, Ecn::NotEct);
        let fourth = r.report(at(230)).unwrap();
        assert_eq!((fourth.begin, received(&fourth)), (2, vec![2, 3, 4, 5]));
    }

    #[test]
    fn copies_count_once_and_one_mark_of_them_is_kept() {
        let mut r = receiver();
        assert!(r.arrived(at(0), 0, Ecn::Ect0));
        assert!(!r.arrived(at(1), 0, Ecn::Ce));
        assert_eq!(r.report(at(50)).unwrap().metrics[0].unwrap().ecn, Ecn::Ce);
    }

    /// 1200 octets hold 590 metrics; the report leaves before the interval is over.
    #[test]
    fn a_report_that_is_full_leaves_at_once() {
        let mut r = receiver();
        for n in 0..590 {
            r.arrived(Instant(n * 1000), n, Ecn::NotEct);
        }
        assert_eq!(r.poll_at(), Some(Instant(589_000)));
        assert_eq!(r.report(Instant(589_000)).unwrap().size(), 1200);
    }

    #[test]
    fn a_gap_of_any_length_takes_no_more_than_the_numbers_that_can_be_reported() {
        let mut r = receiver();
        r.arrived(at(0), 0, Ecn::NotEct);
        r.arrived(at(1), u64::MAX / 2, Ecn::NotEct);
        assert!(r.arrived.len() <= MOST);
        assert!(!r.arrived(at(2), 1, Ecn::NotEct), "too old");
        let report = r.report(at(50)).unwrap();
        assert_eq!(received(&report), [u64::MAX / 2]);
        assert!(report.metrics.len() <= MOST);
    }

    #[test]
    fn timestamps_are_rounded_down_to_their_units() {
        // 1 ms = 65.536 units of 1/65536 s: 65 are 991.82 us.
        assert_eq!(floor_to(MS, STAMPS), 991_822);
        assert_eq!(floor_to(SECOND, STAMPS), SECOND);
    }
}

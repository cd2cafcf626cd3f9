//! The SACK scoreboard of RFC 6675 section 4, as ranges with running sums.
//!
//! No function iterates over the window: `pipe` is kept by counters, and IsLost is a threshold,
//! because an octet that is lost makes every unSACKed octet below it lost too. The work of an ACK
//! is in proportion to the few ranges that it changes.

use std::collections::VecDeque;

/// SACKed ranges above SND.UNA and the variables of RFC 6675 section 2.
#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    /// Disjoint ranges in ascending order that do not touch.
    ranges: VecDeque<(u64, u64)>,
    /// Octets in all ranges.
    sacked: u64,
    una: u64,
    /// HighRxt: everything unSACKed below was sent again in this recovery.
    high_rxt: u64,
    /// Octets of the ranges that lie below `high_rxt`.
    sacked_below_rxt: u64,
    /// After a timeout all unSACKed octets below this count as lost.
    lost_below: u64,
    /// RescueRxt.
    rescue: Option<u64>,
    dup_threshold: u32,
    mss: u64,
    /// [`work_out_edge`](Self::work_out_edge) of the ranges, while there are some. An ACK in
    /// recovery and the segments that it lets leave ask for it six times.
    edge: (u64, u64),
}

/// The next segment to send in loss recovery (NextSeg of RFC 6675 section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextSeg {
    /// Rules (1) and (3): the hole that begins here and ends there.
    Hole(u64, u64),
    /// Rule (4): the rescue retransmission of the segment that ends here.
    Rescue(u64),
    /// Rule (2), or nothing: new data if there is any.
    New,
}

/// Ranges that are compared one by one before a binary search among all: as many as an ACK reports.
const NEAR: usize = 4;

impl Scoreboard {
    /// An empty scoreboard.
    pub fn new(dup_threshold: u32, mss: u32) -> Scoreboard {
        Scoreboard { dup_threshold, mss: u64::from(mss), ..Scoreboard::default() }
    }

    /// Octets SACKed above SND.UNA.
    #[inline]
    pub const fn sacked(&self) -> u64 {
        self.sacked
    }
    /// The highest SACKed octet's successor; SND.UNA without any.
    #[inline]
    pub fn highest(&self) -> u64 {
        self.ranges.back().map_or(self.una, |r| r.1)
    }

    /// Update(): `[start, end)` was reported. Returns the number of new octets.
    pub fn insert(&mut self, start: u64, end: u64) -> u64 {
        let start = start.max(self.una);
        if start >= end {
            return 0;
        }
        let first = self.ending_from(start);
        // Most blocks repeat those of the ACK before (RFC 2018 section 4).
        if self.ranges.get(first).is_some_and(|r| r.0 <= start && end <= r.1) {
            return 0;
        }
        let mut merged = (start, end);
        let (mut last, mut known, mut below) = (first, 0, 0);
        while let Some(&r) = self.ranges.get(last).filter(|r| r.0 <= end) {
            known += r.1 - r.0;
            below += self.below_rxt(r);
            merged = (merged.0.min(r.0), merged.1.max(r.1));
            last += 1;
        }
        match last - first {
            0 => self.ranges.insert(first, merged),
            1 => self.ranges[first] = merged,
            _ => {
                self.ranges[first] = merged;
                self.ranges.drain(first + 1..last);
            }
        }
        let news = merged.1 - merged.0 - known;
        self.sacked += news;
        self.sacked_below_rxt += self.below_rxt(merged) - below;
        self.edge = self.work_out_edge();
        news
    }

    /// The first range that ends at `offset` or above. Most blocks are those that were reported
    /// last, which are among the highest.
    #[inline]
    fn ending_from(&self, offset: u64) -> usize {
        let end = self.ranges.len();
        for i in (end.saturating_sub(NEAR)..end).rev() {
            if self.ranges[i].1 < offset {
                return i + 1;
            }
        }
        if end <= NEAR { 0 } else { self.ranges.partition_point(|r| r.1 < offset) }
    }

    fn below_rxt(&self, r: (u64, u64)) -> u64 {
        r.1.min(self.high_rxt).saturating_sub(r.0)
    }

    /// SND.UNA moves to `una`.
    #[inline]
    pub fn advance(&mut self, una: u64) {
        self.una = una;
        if self.ranges.is_empty() {
            return;
        }
        self.advance_ranges(una);
        self.edge = self.work_out_edge();
    }

    fn advance_ranges(&mut self, una: u64) {
        while let Some(&r) = self.ranges.front().filter(|r| r.0 < una) {
            let gone = (r.0, r.1.min(una));
            self.sacked -= gone.1 - gone.0;
            self.sacked_below_rxt -= self.below_rxt(gone);
            if r.1 <= una {
                self.ranges.pop_front();
            } else {
                self.ranges[0].0 = una;
            }
        }
    }

    /// IsLost() as a threshold: what is unSACKed below it is lost. Also the octets SACKed above it.
    #[inline]
    fn lost_edge(&self) -> (u64, u64) {
        let edge = match self.ranges.is_empty() {
            true => (self.una.max(self.lost_below), 0),
            false => self.edge,
        };
        debug_assert_eq!(edge, self.work_out_edge());
        edge
    }

    fn work_out_edge(&self) -> (u64, u64) {
        let (mut above, mut count) = (0, 0);
        let mut edge = self.una;
        let enough = u64::from(self.dup_threshold - 1) * self.mss;
        for r in self.ranges.iter().rev() {
            above += r.1 - r.0;
            count += 1;
            // RFC 6675 IsLost: DupThresh discontiguous SACKed sequences have arrived above
            // 'SeqNum' or more than (DupThresh - 1) * SMSS bytes with sequence numbers greater than
            // 'SeqNum' have been SACKed.
            if count == self.dup_threshold || above > enough {
                edge = r.0;
                break;
            }
        }
        if edge >= self.lost_below {
            // All ranges when nothing is lost: `above` counted each.
            return (edge, above);
        }
        let above = self.ranges.iter().rev().take_while(|r| r.1 > self.lost_below);
        (self.lost_below, above.map(|r| r.1 - r.0.max(self.lost_below)).sum())
    }

    /// IsLost(): `offset`, unSACKed, counts as lost.
    pub fn is_lost(&self, offset: u64) -> bool {
        offset < self.lost_edge().0
    }

    /// Octets below `high` that are lost, and neither SACKed nor sent again (`tcpi_lost`).
    pub fn lost(&self) -> u64 {
        let (edge, above) = self.lost_edge();
        (edge - self.una).saturating_sub(self.sacked - above)
    }

    /// SetPipe(): octets estimated to be in the network, with HighData at `high`.
    #[inline]
    pub fn pipe(&self, high: u64) -> u64 {
        let resent = (self.high_rxt.min(high)).saturating_sub(self.una);
        if self.ranges.is_empty() && self.lost_below <= self.una {
            return high - self.una + resent;
        }
        let (edge, above) = self.lost_edge();
        let edge = edge.min(high);
        (high - edge).saturating_sub(above) + resent.saturating_sub(self.sacked_below_rxt)
    }

    /// The first unSACKed octet at or after `x`, and where the hole it is in ends.
    fn hole_at(&self, x: u64) -> (u64, u64) {
        let i = self.ranges.partition_point(|r| r.1 <= x);
        match self.ranges.get(i) {
            None => (x, u64::MAX),
            Some(&(start, _)) if x < start => (x, start),
            Some(&(_, end)) => (end, self.ranges.get(i + 1).map_or(u64::MAX, |r| r.0)),
        }
    }

    /// NextSeg(), rules (1), (3) and (4). With `new_data` rule (2) comes before (3).
    pub fn next_seg(&self, high: u64, new_data: bool) -> NextSeg {
        let (start, end) = self.hole_at(self.high_rxt.max(self.una));
        let end = end.min(high);
        if start < high {
            let below_highest = start < self.highest() || start < self.lost_below;
            // (1.a) not retransmitted, (1.b) below the highest SACKed octet, (1.c) IsLost.
            if below_highest && self.is_lost(start) {
                return NextSeg::Hole(start, end);
            }
            if new_data {
                return NextSeg::New;
            }
            if below_highest {
                return NextSeg::Hole(start, end);
            }
        }
        if !new_data && self.rescue.is_some_and(|r| self.una > r) && self.sacked < high - self.una {
            let top = self.ranges.back().filter(|r| r.1 >= high);
            return NextSeg::Rescue(top.map_or(high, |r| r.0));
        }
        NextSeg::New
    }

    /// A retransmission up to `end` left.
    pub fn resent(&mut self, end: u64) {
        if end <= self.high_rxt {
            return;
        }
        let old = self.high_rxt;
        let i = self.ranges.partition_point(|r| r.1 <= old);
        let passed = self.ranges.iter().skip(i).take_while(|r| r.0 < end);
        self.sacked_below_rxt += passed.map(|r| r.1.min(end) - r.0.max(old)).sum::<u64>();
        self.high_rxt = end;
    }

    /// The rescue retransmission left: only one per recovery point.
    pub fn rescued(&mut self, recovery_point: u64) {
        self.rescue = Some(recovery_point);
    }

    /// Fast recovery begins: HighRxt = HighACK; the first retransmission sets RescueRxt to its end.
    pub fn begin_recovery(&mut self) {
        self.high_rxt = self.una;
        self.sacked_below_rxt = 0;
        self.rescue = None;
        self.lost_below = 0;
        self.edge = self.work_out_edge();
    }
    /// The first retransmission of a recovery ended at `end` (RFC 6675 section 5 step (4.3)).
    pub fn first_resent(&mut self, end: u64) {
        self.resent(end);
        self.rescue.get_or_insert(end);
    }

    /// A timeout: everything unSACKed up to `max` is lost. SACKed ranges are kept unless `clear` or
    /// unless the octet at SND.UNA turns out SACKed, which only a receiver that reneged can
    /// cause (RFC 6675 section 5.1).
    pub fn on_timeout(&mut self, max: u64, clear: bool) {
        if clear || self.ranges.front().is_some_and(|r| r.0 <= self.una) {
            self.ranges.clear();
            self.sacked = 0;
        }
        self.begin_recovery();
        self.lost_below = max;
        self.edge = self.work_out_edge();
    }

    /// Recovery has ended: pipe is the outstanding data.
    pub fn end_recovery(&mut self) {
        self.begin_recovery();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 6675 section 4 read octet by octet, as slow as it is written.
    struct Naive {
        una: u64,
        high_rxt: u64,
        lost_below: u64,
        sacked: Vec<bool>,
    }
    impl Naive {
        fn is_lost(&self, x: u64, thresh: usize, mss: usize) -> bool {
            let above = &self.sacked[x as usize..];
            let bytes = above.iter().filter(|&&s| s).count();
            let runs = above.windows(2).filter(|w| !w[0] && w[1]).count();
            x < self.lost_below || runs >= thresh || bytes > (thresh - 1) * mss
        }
        fn pipe(&self, high: u64) -> u64 {
            (self.una..high)
                .filter(|&x| !self.sacked[x as usize])
                .map(|x| u64::from(!self.is_lost(x, 3, 10)) + u64::from(x < self.high_rxt))
                .sum()
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn the_running_sums_equal_the_octet_by_octet_reading(
            steps in proptest::collection::vec((0u8..5, 1u64..300, 1u64..30), 1..60)
        ) {
            let high = 330;
            let mut b = Scoreboard::new(3, 10);
            let mut n = Naive { una: 0, high_rxt: 0, lost_below: 0, sacked: vec![false; 340] };
            for (what, a, len) in steps {
                match what {
                    0..=2 if a > n.una => {
                        b.insert(a, (a + len).min(high));
                        n.sacked[a as usize..(a + len).min(high) as usize].fill(true);
                    }
                    3 => {
                        let una = n.una + len / 3;
                        if una < high {
                            b.advance(una);
                            n.una = una;
                            n.sacked[..una as usize].fill(false);
                        }
                    }
                    4 => {
                        let end = (n.high_rxt.max(n.una) + len).min(high);
                        b.resent(end);
                        n.high_rxt = end;
                    }
                    _ => {}
                }
                prop_assert_eq!(b.sacked(), n.sacked.iter().filter(|&&s| s).count() as u64);
                prop_assert_eq!(b.pipe(high), n.pipe(high));
                for x in n.una..high {
                    if !n.sacked[x as usize] {
                        prop_assert_eq!(b.is_lost(x), n.is_lost(x, 3, 10), "octet {}", x);
                    }
                }
            }
        }
    }

    #[test]
    fn three_runs_or_more_than_two_segments_above_make_an_octet_lost() {
        // RFC 6675 section 4, IsLost with DupThresh 3 and SMSS 1000.
        let mut b = Scoreboard::new(3, 1000);
        b.insert(1000, 3000);
        assert!(!b.is_lost(0), "2000 octets are not more than (3 - 1) * 1000");
        b.insert(3000, 3001);
        assert!(b.is_lost(0));
        let mut b = Scoreboard::new(3, 1000);
        for start in [1000, 1200, 1400] {
            assert!(!b.is_lost(0));
            b.insert(start, start + 100);
        }
        assert!(b.is_lost(0) && !b.is_lost(1100), "three runs above 0, two above 1100");
    }

    #[test]
    fn next_seg_takes_lost_holes_then_new_data_then_other_holes_then_a_rescue() {
        // Ten segments of 1000; 1 and 4 to 6 and 8 have arrived: holes at 0, 2-3, 7, 9.
        let mut b = Scoreboard::new(3, 1000);
        b.insert(1000, 2000);
        b.insert(4000, 7000);
        b.insert(8000, 9000);
        // Above 2000 lie 4000 octets: lost. Above 7000 only 1000: not.
        assert_eq!(b.next_seg(10_000, true), NextSeg::Hole(0, 1000));
        b.first_resent(1000);
        assert_eq!(b.next_seg(10_000, true), NextSeg::Hole(2000, 4000));
        b.resent(4000);
        assert_eq!(b.next_seg(10_000, true), NextSeg::New, "rule (2) before rule (3)");
        assert_eq!(b.next_seg(10_000, false), NextSeg::Hole(7000, 8000), "rule (3)");
        b.resent(8000);
        // 9000 is above everything SACKed. HighACK = 0 is not above RescueRxt = 1000: no rescue
        // yet.
        assert_eq!(b.next_seg(10_000, false), NextSeg::New);
        b.advance(2000);
        assert_eq!(b.next_seg(10_000, false), NextSeg::Rescue(10_000), "rule (4)");
        b.rescued(10_000);
        assert_eq!(b.next_seg(10_000, false), NextSeg::New);
    }
}

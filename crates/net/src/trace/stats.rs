//! Statistics of the capacity of a trace.

use serde::Serialize;

use super::Trace;

/// Statistics of one period of a trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceStats {
    /// Number of opportunities.
    pub opportunities: u64,
    /// The period: the last timestamp [s].
    pub length_s: f64,
    /// Opportunities times their size, over the length [Mbit/s].
    pub mean_mbps: f64,
    /// 5th percentile of the rate over whole seconds from the start, empty seconds counted as 0
    /// [Mbit/s].
    pub rate_p5_mbps: f64,
    /// Median of the same rate [Mbit/s].
    pub rate_p50_mbps: f64,
    /// 95th percentile of the same rate [Mbit/s].
    pub rate_p95_mbps: f64,
    /// Longest time between two successive opportunities inside the file [ms].
    pub longest_gap_ms: u32,
    /// The first timestamp [ms].
    pub first_ms: u32,
}

impl Trace {
    /// Statistics with opportunities of `opportunity` bytes (1500 is Mahimahi's). Percentiles are
    /// the value at rank `floor(p * n)` of the sorted seconds; a trace shorter than a second
    /// has none whole and takes its mean.
    pub fn stats(&self, opportunity: u32) -> TraceStats {
        let bits = f64::from(opportunity) * 8.0;
        let length_s = f64::from(self.period_ms()) / 1e3;
        let mean_mbps = self.opportunities as f64 * bits / length_s / 1e6;
        let mut seconds = vec![0u64; (self.period_ms() / 1000) as usize];
        for slot in self.slots() {
            if let Some(second) = seconds.get_mut((slot.ms / 1000) as usize) {
                *second += u64::from(slot.count);
            }
        }
        seconds.sort_unstable();
        let rate = |percent: usize| match seconds.len() {
            0 => mean_mbps,
            n => seconds[(percent * n / 100).min(n - 1)] as f64 * bits / 1e6,
        };
        TraceStats {
            opportunities: self.opportunities,
            length_s,
            mean_mbps,
            rate_p5_mbps: rate(5),
            rate_p50_mbps: rate(50),
            rate_p95_mbps: rate(95),
            longest_gap_ms: self.slots().windows(2).map(|w| w[1].ms - w[0].ms).max().unwrap_or(0),
            first_ms: self.first_ms(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::read_mahimahi;

    /// Two seconds: 3 opportunities in the first, 1 in the second, 1 at the very end (in no whole
    /// second). 5 x 12000 bit / 2 s = 0.03 Mbit/s.
    #[test]
    fn a_short_trace_by_hand() {
        let s = Trace::from_ms([100, 100, 900, 1500, 2000]).unwrap().stats(1500);
        assert_eq!((s.opportunities, s.length_s, s.first_ms, s.longest_gap_ms), (5, 2.0, 100, 800));
        assert!((s.mean_mbps - 0.03).abs() < 1e-12);
        assert!((s.rate_p5_mbps - 0.012).abs() < 1e-12 && (s.rate_p50_mbps - 0.036).abs() < 1e-12);
    }

    /// The table that was computed independently beside the measured traces, where these are at
    /// hand.
    #[test]
    fn measured_traces_have_the_published_statistics() {
        let Some(folder) = std::env::var_os("LASTHOP_SHARED") else {
            println!("LASTHOP_SHARED is not set: nothing compared");
            return;
        };
        let folder = std::path::Path::new(&folder).join("data/traces");
        let table = std::fs::read_to_string(folder.join("README.md")).unwrap();
        let table = table.split("## Mahimahi statistics").nth(1).unwrap().split("\n## ").next().unwrap();
        let rows: Vec<Vec<&str>> = table
            .lines()
            .filter(|l| l.contains(".down |") || l.contains(".up |"))
            .map(|l| l.trim_matches('|').split('|').map(str::trim).collect())
            .collect();
        assert_eq!(rows.len(), 12);
        for row in rows {
            let file = std::fs::File::open(folder.join("mahimahi").join(row[0])).unwrap();
            let s = read_mahimahi(std::io::BufReader::new(file)).unwrap().stats(1500);
            let ours = [
                s.opportunities.to_string(),
                s.first_ms.to_string(),
                format!("{:.1}", s.length_s),
                format!("{:.3}", s.mean_mbps),
                format!("{:.2} / {:.2} / {:.2}", s.rate_p5_mbps, s.rate_p50_mbps, s.rate_p95_mbps),
                s.longest_gap_ms.to_string(),
            ];
            assert_eq!(ours.as_slice(), &row[1..], "{}", row[0]);
        }
    }
}

//! Radio link monitoring (TS 36.133 clause 7.6, TS 36.331 clauses 5.3.11.1 to 5.3.11.3).
//!
//! Once a frame the UE compares the mean SINR of the serving cell's reference signals over 200 ms
//! with Qout and over 100 ms with Qin. N310 out-of-sync indications in a row start T310, N311
//! in-sync ones stop it; when it expires the radio link has failed.

use lasthop_radio::bounds::SINR;
use lasthop_units::{Db, Duration, Tti};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use lasthop_bearer::require;
use lasthop_bearer::{ConfigError, Warning, check};

/// Parameters of radio link monitoring.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RadioLinkConfig {
    /// Qout: the SINR at which a hypothetical PDCCH is lost with a probability of 10 %, -100 dB to
    /// 100 dB. ns-3: -5 dB.
    pub q_out: Db,
    /// Qin: the SINR at which a hypothetical PDCCH is lost with a probability of 2 %, -100 dB to
    /// 100 dB. ns-3: -3.9 dB.
    pub q_in: Db,
    /// N310: 1, 2, 3, 4, 6, 8, 10 or 20.
    pub n310: u32,
    /// N311: 1, 2, 3, 4, 5, 6, 8 or 10.
    pub n311: u32,
    /// T310: 0, 50, 100, 200, 500, 1000 or 2000 ms.
    pub t310: Duration,
}

impl Default for RadioLinkConfig {
    fn default() -> Self {
        RadioLinkConfig {
            q_out: Db(-5.0),
            q_in: Db(-3.9),
            n310: 6,
            n311: 2,
            t310: Duration::from_millis(1000),
        }
    }
}

impl RadioLinkConfig {
    /// Refuses values that ue-TimersAndConstants cannot carry.
    pub fn validate(&self) -> Result<Vec<Warning>, ConfigError> {
        for (key, level) in [("q_out", self.q_out), ("q_in", self.q_in)] {
            check(SINR.hold(level.0), key, SINR.text)?;
        }
        check(self.q_out.0 < self.q_in.0, "q_out", "below `q_in`")?;
        require(
            [1, 2, 3, 4, 6, 8, 10, 20].contains(&self.n310),
            "n310",
            &self.n310,
            "1, 2, 3, 4, 6, 8, 10 or 20",
        )?;
        require(
            [1, 2, 3, 4, 5, 6, 8, 10].contains(&self.n311),
            "n311",
            &self.n311,
            "1, 2, 3, 4, 5, 6, 8 or 10",
        )?;
        let times = [0, 50, 100, 200, 500, 1000, 2000].map(Duration::from_millis);
        require(times.contains(&self.t310), "t310", &self.t310, "0, 50, 100, 200, 500, 1000 or 2000 ms")
            .map(|()| Vec::new())
    }
}

/// An event of radio link monitoring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkEvent {
    /// N310 out-of-sync indications in a row: T310 runs.
    Problem,
    /// N311 in-sync indications in a row: T310 is stopped.
    Recovered,
    /// T310 has expired.
    Failed,
}

/// TTIs between two samples: a frame.
pub const FRAME: u64 = 10;
/// A link this much above Qin is good [dB].
const GOOD_DB: f64 = 15.0;
const OUT_FRAMES: usize = 20;
const IN_FRAMES: usize = 10;

/// Radio link monitoring of a UE.
#[derive(Clone, Debug, Default)]
pub struct RadioLink {
    /// Linear SINR of the last frames, the newest first, and their number.
    sinr: [f64; OUT_FRAMES],
    frames: usize,
    out: u32,
    ins: u32,
    t310: Option<Tti>,
    /// The thresholds that were used last.
    limits: Option<Limits>,
}

/// Thresholds Qout and Qin as configured and linear, and the linear SINR of a good link.
#[derive(Clone, Copy, Debug)]
struct Limits {
    of: [Db; 2],
    linear: [f64; 2],
    good: f64,
}

impl RadioLink {
    /// Restarts the monitoring: another cell serves the UE, or its connection is new.
    pub fn restart(&mut self) {
        self.frames = 0;
        (self.out, self.ins, self.t310) = (0, 0, None);
    }

    /// Expiry of T310, if it runs.
    pub const fn t310(&self) -> Option<Tti> {
        self.t310
    }

    /// The linear thresholds, which are computed once for a configuration.
    fn limits(&mut self, config: &RadioLinkConfig) -> Limits {
        let of = [config.q_out, config.q_in];
        let limits = self.limits.filter(|limits| limits.of == of).unwrap_or_else(|| {
            let linear = of.map(lasthop_radio::linear);
            Limits { of, linear, good: linear[1] * lasthop_radio::linear(Db(GOOD_DB)) }
        });
        self.limits = Some(limits);
        limits
    }

    /// True if a link with this linear `sinr` is good: far above Qin.
    pub fn is_good(&mut self, config: &RadioLinkConfig, sinr: f64) -> bool {
        sinr > self.limits(config).good
    }

    /// Evaluates a frame that ends in `tti`, with this linear `sinr`.
    pub fn frame(&mut self, config: &RadioLinkConfig, tti: Tti, sinr: f64) -> Option<LinkEvent> {
        self.sinr.copy_within(..OUT_FRAMES - 1, 1);
        self.sinr[0] = sinr;
        self.frames = (self.frames + 1).min(OUT_FRAMES);
        if self.t310.is_some_and(|at| at <= tti) {
            self.restart();
            return Some(LinkEvent::Failed);
        }
        // The sum over the shorter time is a part of that over the longer.
        let (newer, older) = self.sinr.split_at(IN_FRAMES);
        let newer: f64 = newer.iter().sum();
        let all = older.iter().fold(newer, |sum, sinr| sum + sinr);
        let (in_mean, out_mean) = (newer / IN_FRAMES as f64, all / OUT_FRAMES as f64);
        let [q_out, q_in] = self.limits(config).linear;
        let out = self.frames >= OUT_FRAMES && out_mean < q_out;
        let into = self.frames >= IN_FRAMES && in_mean > q_in;
        // TS 36.331 clause 5.3.11.2 NOTE 2: periods without an indication do not affect the
        // evaluation of the number of consecutive indications.
        if into {
            (self.ins, self.out) = (self.ins + 1, 0);
        } else if out {
            (self.out, self.ins) = (self.out + 1, 0);
        }
        if self.t310.is_none() && self.out >= config.n310 {
            (self.t310, self.ins) = (Some(tti.plus(config.t310.as_millis())), 0);
            return Some(LinkEvent::Problem);
        }
        if self.t310.is_some() && self.ins >= config.n311 {
            (self.t310, self.out) = (None, 0);
            return Some(LinkEvent::Recovered);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(sinr_db: impl Fn(u64) -> f64, frames: u64) -> Vec<(u64, LinkEvent)> {
        run_with(RadioLinkConfig::default(), sinr_db, frames)
    }

    fn run_with(config: RadioLinkConfig, sinr_db: impl Fn(u64) -> f64, frames: u64) -> Vec<(u64, LinkEvent)> {
        let mut link = RadioLink::default();
        let step = |i: u64| {
            let sinr = lasthop_radio::linear(Db(sinr_db(i)));
            link.frame(&config, Tti(i * FRAME), sinr).map(|e| (i, e))
        };
        (0..frames).filter_map(step).collect()
    }

    /// -10 dB from the start: 20 frames fill the window, N310 = 6 indications: frame 24; the link
    /// fails T310 = 1000 ms later.
    #[test]
    fn a_dead_link_fails_after_n310_indications_and_t310() {
        assert_eq!(
            run(|_| -10.0, 200),
            [(24, LinkEvent::Problem), (124, LinkEvent::Failed), (149, LinkEvent::Problem)]
        );
    }

    /// The link recovers from frame 60 on: the mean of ten frames, one of them with 0 dB, is 0.1 *
    /// 1 + 0.9 * 0.1 = 0.19 (-7.2 dB), of two 0.28, three 0.37; four have 0.46 (-3.4 dB), which is
    /// above Qin -3.9 dB: frames 63 and 64 are N311 = 2.
    #[test]
    fn a_link_that_comes_back_in_time_recovers() {
        let events = run(|i| if i < 60 { -10.0 } else { 0.0 }, 300);
        assert_eq!(events, [(24, LinkEvent::Problem), (64, LinkEvent::Recovered)]);
    }

    /// Clause 5.3.11.2 NOTE 2: frames without an indication leave the count as it is. -10 dB are
    /// 0.1 and -4.5 dB 0.355; Qout is 0.316. Frame 19 is out of sync, and so are frames 20 to 35,
    /// where up to 16 frames of the 20 have -4.5 dB: 0.1 + 16 * 0.255 / 20 = 0.304. With 17 the
    /// mean is 0.317, and frames 36 to 62 have no indication: 17 so far. The link has -10 dB again
    /// from frame 60 on; with three such frames the mean is 0.317, with four 0.304: frames 63 to 65
    /// are the 18th to the 20th indication.
    #[test]
    fn frames_without_an_indication_do_not_end_a_row_of_out_of_sync() {
        let config = RadioLinkConfig { n310: 20, ..RadioLinkConfig::default() };
        let events = run_with(config, |i| if (20..60).contains(&i) { -4.5 } else { -10.0 }, 100);
        assert_eq!(events, [(65, LinkEvent::Problem)]);
    }

    /// As above for N311 = 2; Qin is 0.407. T310 runs from frame 24 on. From frame 40 on the link
    /// has 0.355, and frame 57 is the first one without an indication. 0 dB in frame 60 makes the
    /// mean of ten frames 0.419: the first indication. -10 dB in frame 61 makes it 0.394, below
    /// Qin, and the mean of twenty frames is above Qout: no indication until frame 71, where 0 dB
    /// and nine frames of 0.355 are in sync again: the second one. Frame 72 has -10 dB, as frame
    /// 61.
    #[test]
    fn frames_without_an_indication_do_not_end_a_row_of_in_sync() {
        let sinr_db = |i| match i {
            0..40 | 61 | 72 => -10.0,
            60 | 71 => 0.0,
            _ => -4.5,
        };
        assert_eq!(run(sinr_db, 120), [(24, LinkEvent::Problem), (71, LinkEvent::Recovered)]);
    }

    #[test]
    fn between_qout_and_qin_nothing_changes() {
        assert_eq!(run(|_| -4.5, 300), []);
    }
}

//! The end of slow start before a loss: HyStart as in Linux, and HyStart++ (RFC 9406).
//!
//! Separate parts: an algorithm calls [`SlowStartExit`] at each ACK of slow start.

use lasthop_units::{Duration, Instant};

use super::AckSample;
use super::window::{Round, Window};
use crate::config::HyStartKind;

/// The part in use.
#[derive(Clone, Debug)]
pub enum SlowStartExit {
    /// Until a loss.
    None,
    /// As Linux, or as ns-3.
    Linux(HyStart),
    /// RFC 9406.
    PlusPlus(HyStartPlusPlus),
}

impl SlowStartExit {
    /// The part that the configuration selects.
    pub fn new(kind: HyStartKind) -> SlowStartExit {
        match kind {
            HyStartKind::None => SlowStartExit::None,
            HyStartKind::Linux => SlowStartExit::Linux(HyStart::default()),
            HyStartKind::Ns3 => SlowStartExit::Linux(HyStart { ns3: true, ..HyStart::default() }),
            HyStartKind::Rfc9406 => SlowStartExit::PlusPlus(HyStartPlusPlus::default()),
        }
    }

    /// The connection begins, or begins anew after a timeout.
    pub fn restart(&mut self, now: Instant, nxt: u64) {
        match self {
            SlowStartExit::None => {}
            SlowStartExit::Linux(h) => {
                *h = HyStart { ns3: h.ns3, ..HyStart::default() };
                h.begin_round(now, nxt);
            }
            SlowStartExit::PlusPlus(h) => {
                *h = HyStartPlusPlus::default();
                h.round.begin(nxt);
            }
        }
    }

    /// An ACK in slow start, before the window grows: may end slow start by setting ssthresh.
    /// Returns the factor by which growth is to be divided.
    pub fn on_ack(&mut self, w: &mut Window, ack: &AckSample, paced: bool) -> f64 {
        match self {
            SlowStartExit::None => 1.0,
            SlowStartExit::Linux(h) => {
                if h.leaves(w.cwnd, ack, paced) {
                    w.ssthresh = w.cwnd;
                }
                1.0
            }
            SlowStartExit::PlusPlus(h) => match h.on_ack(ack) {
                Phase::Leave => {
                    w.ssthresh = w.cwnd;
                    1.0
                }
                Phase::Standard => 1.0,
                Phase::Conservative => CSS_GROWTH_DIVISOR,
            },
        }
    }
}

/// Below this window HyStart is inactive \[segments\] (Linux hystart_low_window).
const LOW_WINDOW: f64 = 16.0;
/// Samples per round before the delay counts (HYSTART_MIN_SAMPLES).
const SAMPLES: u32 = 8;
/// ACKs closer than this are of one train (hystart_ack_delta_us).
const ACK_DELTA: Duration = Duration::from_millis(2);
/// What a pacing sender's own spacing adds to the train, at most.
const TRAIN_SLACK: Duration = Duration::from_millis(1);
const DELAY_MIN: Duration = Duration::from_millis(4);
const DELAY_MAX: Duration = Duration::from_millis(16);
/// TcpCubic::HyStartDelayMax of ns-3.
const DELAY_MAX_OF_NS3: Duration = Duration::from_secs(1);

/// HyStart: Ha and Rhee 2011, as Linux 6.1 has it (tcp_cubic.c). Ends slow start when a train of
/// ACKs is as long as half the smallest round trip, or when the round's smallest round trip has
/// grown by an eighth of it (4 to 16 ms).
#[derive(Clone, Debug, Default)]
pub struct HyStart {
    min_rtt: Option<Duration>,
    round: Round,
    round_start: Instant,
    last_ack: Instant,
    round_rtt: Option<Duration>,
    samples: u32,
    found: bool,
    /// The rules of ns-3's TcpCubic (releases 3.37 to 3.44).
    ns3: bool,
}

impl HyStart {
    fn begin_round(&mut self, now: Instant, nxt: u64) {
        self.round.begin(nxt);
        self.round_start = now;
        self.last_ack = now;
        self.round_rtt = None;
        self.samples = 0;
    }

    /// The rise of the round's delay that ends slow start.
    pub fn delay_threshold(min_rtt: Duration) -> Duration {
        (min_rtt / 8).clamp(DELAY_MIN, DELAY_MAX)
    }

    /// The threshold of the delay in ns-3 (TcpCubic::HystartDelayThresh).
    pub fn delay_threshold_of_ns3(min_rtt: Duration) -> Duration {
        min_rtt.clamp(DELAY_MIN, DELAY_MAX_OF_NS3)
    }

    /// True at the ACK that ends slow start.
    pub fn leaves(&mut self, cwnd: f64, ack: &AckSample, paced: bool) -> bool {
        // TcpSocketBase of ns-3 gives its algorithms the smoothed round trip (m_lastRtt up to 3.37,
        // m_srtt in 3.44).
        let sample = if self.ns3 { ack.srtt } else { ack.rtt };
        let Some(rtt) = sample else { return false };
        let min_rtt = self.min_rtt.map_or(rtt, |m| m.min(rtt));
        self.min_rtt = Some(min_rtt);
        if self.found {
            return false;
        }
        // Below the low window rounds are counted too (Linux 6.14 and the stable series, 6.1's
        // included).
        if self.round.ended(ack) {
            self.begin_round(ack.now, ack.nxt);
        }
        if cwnd < LOW_WINDOW {
            return false;
        }
        if ack.now.since(self.last_ack) <= ACK_DELTA {
            self.last_ack = ack.now;
            let whole = min_rtt + TRAIN_SLACK;
            let threshold = match (self.ns3, paced) {
                (true, _) => min_rtt,
                (false, true) => whole,
                (false, false) => whole / 2,
            };
            self.found |= ack.now.since(self.round_start) > threshold;
        }
        // ns-3 takes the minimum over the first samples of a round, Linux over all.
        let counts = !self.ns3 || self.samples < SAMPLES;
        let round_rtt = self.round_rtt.filter(|r| !counts || *r < rtt).unwrap_or(rtt);
        self.round_rtt = Some(round_rtt);
        if self.samples < SAMPLES {
            self.samples += 1;
        } else {
            let rise = if self.ns3 { Self::delay_threshold_of_ns3 } else { Self::delay_threshold };
            self.found |= round_rtt > min_rtt + rise(min_rtt);
        }
        self.found
    }
}

/// CSS_GROWTH_DIVISOR of RFC 9406 section 4.3.
const CSS_GROWTH_DIVISOR: f64 = 4.0;
/// CSS_ROUNDS.
const CSS_ROUNDS: u32 = 5;
/// N_RTT_SAMPLE.
const N_RTT_SAMPLE: u32 = 8;

/// The result of HyStart++.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Slow start as it is.
    Standard,
    /// Conservative slow start: a quarter of the growth.
    Conservative,
    /// Congestion avoidance.
    Leave,
}

/// HyStart++: RFC 9406. A rise of the delay leads to conservative slow start first; if it lasts
/// five rounds, slow start ends, and if the delay falls again slow start continues.
#[derive(Clone, Debug, Default)]
pub struct HyStartPlusPlus {
    round: Round,
    last_round_min: Option<Duration>,
    round_min: Option<Duration>,
    samples: u32,
    /// cssBaselineMinRtt, in conservative slow start.
    baseline: Option<Duration>,
    css_rounds: u32,
    done: bool,
}

impl HyStartPlusPlus {
    /// RttThresh of RFC 9406 section 4.2: max(4 ms, min(lastRoundMinRTT / 8, 16 ms)).
    pub fn rtt_threshold(last_round_min: Duration) -> Duration {
        HyStart::delay_threshold(last_round_min)
    }

    /// An ACK in slow start.
    pub fn on_ack(&mut self, ack: &AckSample) -> Phase {
        if self.round.ended(ack) {
            self.last_round_min = self.round_min.take().or(self.last_round_min);
            self.samples = 0;
            if self.baseline.is_some() {
                self.css_rounds += 1;
                self.done |= self.css_rounds >= CSS_ROUNDS;
            }
        }
        if self.done {
            return Phase::Leave;
        }
        if let Some(rtt) = ack.rtt {
            self.round_min = Some(self.round_min.map_or(rtt, |m| m.min(rtt)));
            self.samples += 1;
        }
        let Some(round_min) = self.round_min.filter(|_| self.samples >= N_RTT_SAMPLE) else {
            return self.phase();
        };
        match (self.baseline, self.last_round_min) {
            // "if (currentRoundMinRTT < cssBaselineMinRtt)": spurious, resume slow start.
            (Some(baseline), _) if round_min < baseline => self.baseline = None,
            (None, Some(last)) if round_min >= last + Self::rtt_threshold(last) => {
                self.baseline = Some(round_min);
                self.css_rounds = 0;
            }
            _ => {}
        }
        self.phase()
    }

    fn phase(&self) -> Phase {
        if self.baseline.is_some() { Phase::Conservative } else { Phase::Standard }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn the_threshold_is_an_eighth_between_4_and_16_ms() {
        // Threshold of the delay: min_rtt / 8, within 4 and 16 ms.
        assert_eq!(HyStart::delay_threshold(ms(8)), ms(4));
        assert_eq!(HyStart::delay_threshold(ms(100)), Duration::from_micros(12_500));
        assert_eq!(HyStart::delay_threshold(ms(400)), ms(16));
        // ns-3, TcpCubic::HystartDelayThresh: the delay itself, from HyStartDelayMin 4 ms to
        // HyStartDelayMax 1000 ms.
        let ns3 = [2, 100, 1500].map(|n| HyStart::delay_threshold_of_ns3(ms(n)));
        assert_eq!(ns3, [4, 100, 1000].map(ms));
    }

    #[test]
    fn the_ninth_sample_of_a_slower_round_ends_slow_start() {
        let mut h = HyStart::default();
        let mut a = AckSample { una: 1, nxt: 20, ..ack_at(1, 1000, 100) };
        h.begin_round(a.now, 1);
        assert!(!h.leaves(20.0, &a, false), "the smallest round trip: 100 ms");
        for n in 1..=8 {
            // 113 ms > 100 + 12.5; 10 ms apart: no train.
            a = AckSample { una: 20 + n, nxt: 60, ..ack_at(1, 1100 + 10 * n, 113) };
            assert!(!h.leaves(20.0 + n as f64, &a, false), "sample {n}");
        }
        a = AckSample { una: 29, nxt: 60, ..ack_at(1, 1190, 113) };
        assert!(h.leaves(28.0, &a, false));
        assert!(!HyStart::default().leaves(15.0, &a, false), "low_window 16");
    }

    /// ns-3's algorithms use the smoothed round trip: with alpha = 1/8 a step from 40 to 100 ms is
    /// 47.5 ms at the first sample and above twice 40 ms from the ninth on (100 - 60 (7/8)^9 = 82).
    /// Rounds have 18 samples, the smallest of the first eight counts: slow start ends at the ninth
    /// sample of the second round. Single samples would end it at the ninth of the first.
    #[test]
    fn the_rule_of_ns_3_uses_the_smoothed_round_trip() {
        let leaves_at = |smoothed: bool| {
            let mut h = HyStart { ns3: true, ..HyStart::default() };
            let mut srtt = 40.0;
            let first = AckSample { una: 1, nxt: 18, srtt: Some(ms(40)), ..ack_at(1, 1000, 40) };
            h.begin_round(first.now, 1);
            assert!(!h.leaves(20.0, &first, false));
            (1..100).find(|n| {
                srtt += (100.0 - srtt) / 8.0;
                let seen = Duration::from_micros(if smoothed { (srtt * 1e3) as u64 } else { 100_000 });
                // 10 ms apart: no train.
                let of_now = ack_at(1, 1000 + 10 * n, 100);
                h.leaves(20.0, &AckSample { una: 1 + n, nxt: 18 + n, srtt: Some(seen), ..of_now }, false)
            })
        };
        assert_eq!([true, false].map(leaves_at), [Some(18 + 9), Some(9)]);
    }

    #[test]
    fn a_train_as_long_as_half_the_round_trip_ends_slow_start() {
        let mut h = HyStart::default();
        h.begin_round(Instant::from_millis(1000), 1);
        let at = |t: u64| AckSample { una: 1, nxt: 20, ..ack_at(1, t, 40) };
        // Threshold without pacing: (40 + 1) / 2 = 20.5 ms after the start of the round.
        assert!((1001..=1020).all(|t| !h.leaves(20.0, &at(t), false)));
        assert!(h.leaves(20.0, &at(1021), false));
        // A gap of more than 2 ms ends the train for this round.
        let mut h = HyStart::default();
        h.begin_round(Instant::from_millis(1000), 1);
        assert!((1003..=1030).all(|t| !h.leaves(20.0, &at(t), false)));
    }

    /// A round of `n` samples.
    fn round(h: &mut HyStartPlusPlus, from: u64, n: u64, rtt: u64) -> Phase {
        let mut last = Phase::Standard;
        for i in 1..=n {
            last = h.on_ack(&AckSample { una: from + i, nxt: from + n, ..ack_at(1, 0, rtt) });
        }
        last
    }

    #[test]
    fn a_slower_round_leads_to_five_conservative_rounds_and_then_out() {
        let mut h = HyStartPlusPlus::default();
        assert_eq!(round(&mut h, 0, 10, 100), Phase::Standard);
        // 100 + 12.5 ms is the threshold.
        assert_eq!(round(&mut h, 10, 10, 112), Phase::Standard);
        assert_eq!(round(&mut h, 20, 10, 127), Phase::Conservative, "112 + 14 = 126");
        for n in 1..5 {
            assert_eq!(round(&mut h, 20 + 10 * n, 10, 127), Phase::Conservative, "round {n}");
        }
        assert_eq!(round(&mut h, 70, 10, 127), Phase::Leave);
    }

    #[test]
    fn a_delay_that_falls_again_resumes_slow_start() {
        let mut h = HyStartPlusPlus::default();
        round(&mut h, 0, 10, 100);
        assert_eq!(round(&mut h, 10, 10, 120), Phase::Conservative);
        assert_eq!(round(&mut h, 20, 10, 110), Phase::Standard);
    }
}

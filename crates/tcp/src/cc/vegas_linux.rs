//! TCP Vegas as in Linux, and in ns-3 after it: once per round, by the round's smallest round trip.
//!
//! ns-3 3.28's TcpVegas has one rule for the threshold where Linux has two: min(ssthresh, cwnd - 1)
//! also after a loss, so that a fast retransmit costs one segment. It computes the queue as cwnd
//! minus target.

use super::vegas::show;
use super::window::{Round, Window, has_window};
use super::{AckSample, CaState, Congestion, CongestionControl, Established, Observer, TransmitStart};
use crate::config::{Config, VegasReading};
use lasthop_units::Instant;

/// Vegas' window and round. Times in microseconds.
#[derive(Clone, Debug)]
pub struct VegasLinux {
    w: Window,
    alpha: f64,
    beta: f64,
    gamma: f64,
    base: f64,
    min: f64,
    samples: u32,
    round: Round,
    nxt: u64,
    /// Vegas works in Open only; elsewhere it is Reno.
    working: bool,
    /// As ns-3 3.28 has it.
    ns3: bool,
    /// Segments beyond what the path holds, at the last decision.
    diff: Option<f64>,
}

impl VegasLinux {
    /// One segment until the handshake is done.
    pub fn new(config: &Config) -> VegasLinux {
        VegasLinux {
            w: Window::new(config),
            alpha: config.vegas.alpha,
            beta: config.vegas.beta,
            gamma: config.vegas.gamma,
            base: f64::INFINITY,
            min: f64::INFINITY,
            samples: 0,
            round: Round::default(),
            nxt: 0,
            working: true,
            ns3: config.vegas.reading == VegasReading::Ns3,
            diff: None,
        }
    }

    fn decide(&mut self, ack: &AckSample) {
        if self.samples <= 2 {
            // Too few to decide: a delayed ACK may have been all there was.
            self.w.reno(ack);
            return;
        }
        let target = (self.w.cwnd * self.base / self.min).floor();
        let queued = if self.ns3 {
            self.w.cwnd - target
        } else {
            (self.w.cwnd * (self.min - self.base) / self.base).floor()
        };
        self.diff = Some(queued);
        if self.w.in_slow_start() {
            if queued > self.gamma {
                self.w.cwnd = self.w.cwnd.min(target + 1.0);
                self.w.ssthresh = self.threshold();
            } else {
                self.w.slow_start(ack);
            }
        } else if queued > self.beta {
            self.w.add(-1.0);
            self.w.ssthresh = self.threshold();
        } else if queued < self.alpha {
            self.w.add(1.0);
        }
        if self.ns3 {
            self.w.ssthresh = self.w.ssthresh.max((3.0 * self.w.cwnd / 4.0).floor());
            return;
        }
        self.w.cwnd = self.w.cwnd.max(2.0);
        self.w.ssthresh = self.w.ssthresh.max((self.w.cwnd / 2.0).floor() + (self.w.cwnd / 4.0).floor());
    }

    /// Linux: `tcp_vegas_ssthresh`; ns-3: `TcpVegas::GetSsThresh`, which losses call, too.
    fn threshold(&self) -> f64 {
        if self.ns3 {
            self.w.ssthresh.min(self.w.cwnd - 1.0).max(2.0)
        } else {
            self.w.ssthresh.min(self.w.cwnd)
        }
    }

    fn after_loss(&self, flight: f64) -> f64 {
        if self.ns3 { self.threshold() } else { flight / 2.0 }
    }

    fn begin(&mut self, nxt: u64) {
        self.working = true;
        self.round.begin(nxt);
        self.samples = 0;
        self.min = f64::INFINITY;
    }

    /// tcp_vegas_cwnd_event: after idle times (CA_EVENT_TX_START, CA_EVENT_CWND_RESTART) the path
    /// is measured anew. ns-3 has no such event.
    fn forget_path(&mut self) {
        if !self.ns3 {
            self.base = f64::INFINITY;
            self.begin(self.nxt);
        }
    }
}

impl CongestionControl for VegasLinux {
    has_window!();
    fn on_established(&mut self, e: &Established) {
        self.w.open(e);
        self.nxt = e.nxt;
        self.begin(e.nxt);
    }
    fn on_transmit_start(&mut self, _: &TransmitStart) {
        self.forget_path();
    }
    fn on_idle_restart(&mut self, _: Instant, segments: f64) {
        self.forget_path();
        self.w.set(segments);
    }
    fn on_ack(&mut self, ack: &AckSample) {
        self.nxt = ack.nxt;
        if let Some(rtt) = ack.rtt {
            // One microsecond more, so that it is never 0.
            let rtt = rtt.as_micros() as f64 + 1.0;
            self.base = self.base.min(rtt);
            self.min = self.min.min(rtt);
            self.samples += 1;
        }
        match (ack.state, self.working) {
            (CaState::Open, false) => self.begin(ack.nxt),
            (CaState::Open, true) => {}
            _ => self.working = false,
        }
        if !ack.may_grow {
            return;
        }
        if !self.working {
            if self.w.may_grow(ack) {
                self.w.reno(ack);
            }
        } else if self.round.ended(ack) {
            self.decide(ack);
            self.samples = 0;
            self.min = f64::INFINITY;
        } else if self.w.in_slow_start() {
            self.w.slow_start(ack);
        }
    }
    fn on_congestion(&mut self, c: &Congestion) {
        self.w.cut(self.after_loss(c.flight));
    }
    fn on_timeout(&mut self, c: &Congestion) {
        self.w.timeout(self.after_loss(c.flight), c.repeated);
    }
    fn observe(&self, o: &mut Observer<'_>) {
        show(o, self.base / 1e6, self.diff);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use crate::{CcName, Options, VegasOptions, VegasReading};
    use lasthop_units::Duration;

    fn config() -> Config {
        resolved(Options {
            cc: Some(CcName::Vegas),
            vegas: VegasOptions {
                vegas_reading: Some(VegasReading::Linux),
                vegas_alpha: Some(2.0),
                vegas_beta: Some(4.0),
                ..VegasOptions::default()
            },
            ..Options::default()
        })
    }
    fn vegas(cwnd: f64, ssthresh: f64, min: f64) -> VegasLinux {
        let mut v = VegasLinux::new(&config());
        v.set_cwnd(cwnd);
        v.w.ssthresh = ssthresh;
        (v.base, v.min, v.samples) = (100_000.0, min, 3);
        v
    }

    #[test]
    fn more_than_gamma_queued_ends_slow_start_at_the_target() {
        // 40 * 100/110 = 36.4; queued 40 * 10/100 = 4 > 1.
        let mut v = vegas(40.0, f64::INFINITY, 110_000.0);
        v.decide(&ack(1));
        assert_eq!((v.cwnd(), v.ssthresh()), (37.0, 37.0));
    }

    #[test]
    fn between_alpha_and_beta_it_holds() {
        // Queued 50 * (rtt - 100 ms) / 100 ms.
        for (rtt, to) in [(103e3, 51.0), (104e3, 50.0), (108e3, 50.0), (110e3, 49.0)] {
            let mut v = vegas(50.0, 2.0, rtt);
            v.decide(&ack(1));
            assert_eq!(v.cwnd(), to, "{rtt} us");
        }
    }

    #[test]
    fn ns3_counts_the_rest_beside_the_target_and_loses_one_segment() {
        // 50 - floor(50 * 100/108) = 50 - 46 = 4: between alpha and beta. At 110 ms: 50 - 45 = 5 >
        // 4.
        for (rtt, to, threshold) in [(108e3, 50.0, 37.0), (110e3, 49.0, 36.0)] {
            let mut v = vegas(50.0, 2.0, rtt);
            v.ns3 = true;
            v.decide(&ack(1));
            assert_eq!((v.cwnd(), v.ssthresh()), (to, threshold), "{rtt} us: floor(3 cwnd / 4)");
        }
        let mut v = vegas(40.0, f64::INFINITY, 110_000.0);
        v.ns3 = true;
        v.on_congestion(&congestion(40.0));
        assert_eq!((v.cwnd(), v.ssthresh()), (39.0, 39.0));
        v.on_timeout(&congestion(39.0));
        assert_eq!((v.cwnd(), v.ssthresh()), (1.0, 38.0));
    }

    #[test]
    fn two_samples_are_too_few_and_three_quarters_of_cwnd_stay_in_ssthresh() {
        let mut v = vegas(50.0, 2.0, 200_000.0);
        v.samples = 2;
        v.decide(&ack(1));
        assert_eq!(v.cwnd(), 50.0, "Reno: one of fifty counted");
        v.samples = 3;
        v.decide(&ack(1));
        assert_eq!((v.cwnd(), v.ssthresh()), (49.0, 36.0), "24 + 12");
    }

    /// tcp_vegas_init, which tcp_vegas_cwnd_event calls: baseRTT 0x7fffffff, and vegas_enable:
    /// cntRTT 0, minRTT 0x7fffffff, beg_snd_nxt = snd_nxt. A base of 100 ms would be exceeded by
    /// 150 ms for ever, by 50 - 50 * 100 / 150 = 17 segments queued: one less per round.
    #[test]
    fn idle_time_makes_linux_measure_the_base_anew() {
        let start = TransmitStart { now: Instant::ZERO, idle: Duration::from_secs(1), app_limited: true };
        let events: [&dyn Fn(&mut VegasLinux); 2] =
            [&|v| v.on_transmit_start(&start), &|v| v.on_idle_restart(Instant::ZERO, 50.0)];
        for (ns3, event) in [(false, 0), (false, 1), (true, 0)] {
            let mut v = vegas(50.0, 2.0, 150_001.0);
            (v.ns3, v.nxt) = (ns3, 900);
            events[event](&mut v);
            assert_eq!(v.samples, if ns3 { 3 } else { 0 });
            for una in [901, 902, 903, 904] {
                v.on_ack(&AckSample { una, nxt: 2000, ..ack_at(1, 0, 150) });
            }
            assert_eq!(v.base, if ns3 { 100_000.0 } else { 150_001.0 });
            assert_eq!(v.cwnd(), if ns3 { 49.0 } else { 50.0 }, "901 ends a round of one sample");
            v.on_ack(&AckSample { una: 2001, nxt: 4000, ..ack_at(1, 0, 150) });
            assert_eq!(v.cwnd(), if ns3 { 48.0 } else { 51.0 });
        }
    }

    #[test]
    fn a_lone_flow_settles_with_two_to_four_segments_queued() {
        let mut p = Path::new(CcName::Vegas, config(), 100, 40.0);
        let w = p.rounds(60);
        assert!((42.0..=44.5).contains(&w[59]), "{w:?}");
    }
}

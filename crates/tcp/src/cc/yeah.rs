//! YeAH-TCP: Scalable's growth while few segments queue, Reno's beside others, and a queue that is
//! drained at once.
//!
//! Compared by reading with Linux 6.1 tcp_yeah.c, which uses tcp_vegas.c:
//! - each return to the Open state begins a round afresh, as Vegas' enabling does;
//! - round trips are whole microseconds, one more than measured.

use super::window::{Round, Window, has_window};
use super::{
    AckSample, CaState, Congestion, CongestionControl, Established, Needs, Observer, Parameter, Row,
    TransmitStart,
};
use crate::config::{CcReading, Config};
use lasthop_units::Instant;

/// Segments that may queue.
const ALPHA: f64 = 80.0;
/// The part of the queue drained at once.
const GAMMA: f64 = 1.0;
/// Fast mode loses at least 2^-DELTA of the window.
const LEAST_CUT: f64 = 8.0;
/// A drain takes at most half of the window (epsilon 1).
const MOST_DRAIN: f64 = 2.0;
/// The queueing delay may be at most 1/PHY of the base.
const PHY: f64 = 8.0;
/// Rounds in Reno's mode after which a cut is Reno's.
const RHO: u32 = 16;
/// Rounds in fast mode after which Reno's count is reset.
const ZETA: u32 = 50;
const SCALABLE: f64 = 100.0;

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "alpha",
        default: "80",
        unit: "segments",
        source: "Baiocchi 2007; Linux TCP_YEAH_ALPHA",
    },
    Parameter { name: "gamma", default: "1", unit: "", source: "Linux TCP_YEAH_GAMMA" },
    Parameter {
        name: "delta",
        default: "3",
        unit: "",
        source: "Linux TCP_YEAH_DELTA: at least 2^-3 is lost",
    },
    Parameter {
        name: "epsilon",
        default: "1",
        unit: "",
        source: "Linux TCP_YEAH_EPSILON: at most 2^-1 is drained",
    },
    Parameter { name: "phy", default: "8", unit: "", source: "Linux TCP_YEAH_PHY" },
    Parameter { name: "rho", default: "16", unit: "rounds", source: "Linux TCP_YEAH_RHO" },
    Parameter { name: "zeta", default: "50", unit: "rounds", source: "Linux TCP_YEAH_ZETA" },
];
pub(super) const DIFFERS: &str = "As Linux; with `cc_reading = linux` idle times end the base round trip, too. ns-3 (`cc_reading = ns3`, in ns3-3.28): its 1/phy is a division of integers, 0, so that \
     any queueing delay means slow mode. INET has none.";

pub(super) const ROW: Row = Row {
    summary: "Scalable's growth while few segments queue, Reno's beside others",
    source: "A. Baiocchi, A. Castellani, F. Vacirca, YeAH-TCP, PFLDnet 2007; Linux 6.1 tcp_yeah.c",
    parameters: PARAMETERS,
    differs: DIFFERS,
    needs: Needs::NOTHING,
};

/// YeAH's window and modes. Times in microseconds.
#[derive(Clone, Debug)]
pub struct Yeah {
    w: Window,
    base: f64,
    round_min: f64,
    samples: u32,
    round: Round,
    /// The state was not Open: the next Open begins a round.
    paused: bool,
    last_queue: f64,
    /// What Reno would have.
    reno: f64,
    slow_rounds: u32,
    fast_rounds: u32,
    /// The part of the base that the queueing delay may have: 1/PHY, or ns-3's 0.
    part: f64,
    nxt: u64,
    /// As Linux has it.
    linux: bool,
}

impl Yeah {
    /// One segment until the handshake is done.
    pub fn new(config: &Config) -> Yeah {
        Yeah {
            w: Window::new(config),
            base: f64::INFINITY,
            round_min: f64::INFINITY,
            samples: 0,
            round: Round::default(),
            paused: false,
            last_queue: 0.0,
            reno: 2.0,
            slow_rounds: 0,
            fast_rounds: 0,
            part: if config.readings.cc_reading == CcReading::Ns3 { 0.0 } else { 1.0 / PHY },
            nxt: 0,
            linux: config.readings.cc_reading == CcReading::Linux,
        }
    }

    fn end_of_round(&mut self) {
        if self.samples > 2 {
            let rtt = self.round_min;
            let queue = (self.w.cwnd * (rtt - self.base) / rtt).floor();
            if queue > ALPHA || rtt - self.base > (self.base * self.part).floor() {
                self.slow_round(queue);
            } else {
                self.fast_rounds += 1;
                if self.fast_rounds > ZETA {
                    self.reno = 2.0;
                    self.fast_rounds = 0;
                }
                self.slow_rounds = 0;
            }
            self.last_queue = queue;
        }
        self.samples = 0;
        self.round_min = f64::INFINITY;
    }

    fn begin_round(&mut self, nxt: u64) {
        self.round.begin(nxt);
        self.samples = 0;
        self.round_min = f64::INFINITY;
    }

    /// tcp_vegas_cwnd_event, which tcp_yeah.c uses: after idle times (CA_EVENT_TX_START,
    /// CA_EVENT_CWND_RESTART) the path is measured anew; YeAH's own variables stay.
    fn forget_path(&mut self) {
        if self.linux {
            self.base = f64::INFINITY;
            self.paused = false;
            self.begin_round(self.nxt);
        }
    }

    fn slow_round(&mut self, queue: f64) {
        if queue > ALPHA && self.w.cwnd > self.reno {
            // Precautionary decongestion.
            let drain = (queue / GAMMA).min((self.w.cwnd / MOST_DRAIN).floor());
            self.w.add(-drain);
            self.w.cwnd = self.w.cwnd.max(self.reno);
            self.w.ssthresh = self.w.cwnd;
        }
        if self.reno <= 2.0 {
            self.reno = (self.w.cwnd / 2.0).floor().max(2.0);
        } else {
            self.reno += 1.0;
        }
        self.slow_rounds = self.slow_rounds.saturating_add(1);
    }

    fn after_cut(&mut self, window: f64) -> f64 {
        let half = (window / 2.0).floor().max(2.0);
        let cut = if self.slow_rounds < RHO {
            self.last_queue.min(half).max((window / LEAST_CUT).floor())
        } else {
            half
        };
        self.fast_rounds = 0;
        self.reno = (self.reno / 2.0).floor().max(2.0);
        window - cut
    }
}

impl CongestionControl for Yeah {
    has_window!();
    fn on_established(&mut self, e: &Established) {
        self.w.open(e);
        self.nxt = e.nxt;
        self.round.begin(e.nxt);
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
            let rtt = rtt.as_micros() as f64 + 1.0;
            self.base = self.base.min(rtt);
            self.round_min = self.round_min.min(rtt);
            self.samples += 1;
        }
        if ack.state != CaState::Open {
            self.paused = true;
        } else if std::mem::take(&mut self.paused) {
            self.begin_round(ack.nxt);
        }
        if !self.w.may_grow(ack) {
            return;
        }
        let left = if self.w.in_slow_start() { self.w.slow_start(ack) } else { ack.segments() };
        if left > 0.0 {
            let per = if self.slow_rounds == 0 { self.w.cwnd.min(SCALABLE) } else { self.w.cwnd };
            self.w.one_per(per, left);
        }
        if self.round.ended(ack) {
            self.end_of_round();
        }
    }
    fn on_congestion(&mut self, c: &Congestion) {
        let to = self.after_cut(c.flight);
        self.w.cut(to);
    }
    fn on_timeout(&mut self, c: &Congestion) {
        let to = self.after_cut(c.flight);
        self.w.timeout(to, c.repeated);
    }
    fn observe(&self, o: &mut Observer<'_>) {
        o.maybe(
            "yeah.base_rtt",
            "s",
            "smallest round trip",
            self.base.is_finite().then_some(self.base / 1e6),
        );
        o.number(
            "yeah.queue",
            "segments",
            "estimated to wait in the bottleneck's queue, at the last round's end",
            self.last_queue,
        );
        o.number("yeah.reno", "segments", "the window that Reno would have", self.reno);
        o.count(
            "yeah.slow_rounds",
            "",
            "rounds in a row in the slow mode (Reno's growth)",
            u64::from(self.slow_rounds),
        );
        o.count(
            "yeah.fast_rounds",
            "",
            "rounds in a row in the fast mode (Scalable's growth)",
            u64::from(self.fast_rounds),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use lasthop_units::Duration;

    fn yeah(cwnd: f64, base: f64, rtt: f64) -> Yeah {
        let mut y = Yeah::new(&linux_like());
        y.w.ssthresh = 2.0;
        y.set_cwnd(cwnd);
        (y.base, y.round_min, y.samples) = (base, rtt, 3);
        y
    }

    #[test]
    fn a_queue_above_80_is_drained_at_once() {
        // 1000 * (125 - 112.5) / 125 = 100 > 80; the delay is 1/9 of the base.
        let mut y = yeah(1000.0, 112_500.0, 125_000.0);
        y.end_of_round();
        assert_eq!((y.cwnd(), y.ssthresh(), y.reno, y.slow_rounds), (900.0, 900.0, 450.0, 1));
    }

    #[test]
    fn a_long_delay_alone_means_renos_pace() {
        // 100 * (120 - 100) / 120 = 16 < 80, but 20 ms > 100 / 8.
        let mut y = yeah(100.0, 100_000.0, 120_000.0);
        y.end_of_round();
        assert_eq!((y.cwnd(), y.reno, y.slow_rounds, y.last_queue), (100.0, 50.0, 1, 16.0));
    }

    #[test]
    fn with_ns3s_division_of_integers_any_delay_means_renos_pace() {
        for (reading, rtt, slow) in
            [(CcReading::Paper, 101e3, 0), (CcReading::Ns3, 101e3, 1), (CcReading::Ns3, 100e3, 0)]
        {
            let mut y = yeah(100.0, 100_000.0, rtt);
            y.part = Yeah::new(&linux_with(|c| c.readings.cc_reading = reading)).part;
            y.end_of_round();
            assert_eq!(y.slow_rounds, slow, "{reading:?}, {rtt} us");
        }
    }

    /// tcp_vegas_init by tcp_vegas_cwnd_event: baseRTT 0x7fffffff, cntRTT 0, beg_snd_nxt = snd_nxt;
    /// doing_reno_now, lastQ and reno_count stay.
    #[test]
    fn idle_time_makes_linux_measure_the_base_anew() {
        let start = TransmitStart { now: Instant::ZERO, idle: Duration::from_secs(1), app_limited: true };
        for (reading, restart) in [
            (CcReading::Linux, false),
            (CcReading::Linux, true),
            (CcReading::Paper, false),
            (CcReading::Ns3, true),
        ] {
            let mut y = yeah(100.0, 1e5, 1e5);
            (y.linux, y.nxt) = (Yeah::new(&linux_with(|c| c.readings.cc_reading = reading)).linux, 900);
            (y.last_queue, y.slow_rounds, y.reno) = (7.0, 3, 20.0);
            if restart {
                y.on_idle_restart(Instant::ZERO, 100.0);
            } else {
                y.on_transmit_start(&start);
            }
            y.on_ack(&AckSample { una: 900, nxt: 2000, ..ack_at(1, 0, 150) });
            let linux = reading == CcReading::Linux;
            // Without the event the ACK of 900 ends the round, without delay: fast mode.
            assert_eq!((y.base, y.samples), if linux { (150_001.0, 1) } else { (1e5, 0) }, "{reading:?}");
            assert_eq!((y.slow_rounds, y.reno), if linux { (3, 20.0) } else { (0, 20.0) });
        }
    }

    #[test]
    fn a_return_to_open_begins_a_round() {
        let mut y = yeah(100.0, 1e5, 1e5);
        y.on_ack(&AckSample { state: CaState::Disorder, nxt: 900, ..ack_at(1, 0, 100) });
        assert_eq!((y.samples, y.base), (4, 1e5), "100 ms and 1 us");
        y.on_ack(&AckSample { una: 800, nxt: 900, ..ack_at(1, 0, 100) });
        assert_eq!((y.samples, y.round.ended(&AckSample { una: 900, ..ack(1) })), (0, false));
    }

    #[test]
    fn the_cut_is_the_queue_between_an_eighth_and_a_half_and_renos_beside_others() {
        for (queue, slow, to) in [(30.0, 0, 70.0), (3.0, 0, 88.0), (80.0, 0, 50.0), (30.0, 16, 50.0)] {
            let mut y = yeah(100.0, 1e5, 1e5);
            (y.last_queue, y.slow_rounds) = (queue, slow);
            y.on_congestion(&congestion(100.0));
            assert_eq!(y.cwnd(), to, "queue {queue}, slow rounds {slow}");
        }
    }
}

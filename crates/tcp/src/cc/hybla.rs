//! TCP Hybla: the window of a long path grows as fast as on a path of 25 ms.
//!
//! Compared by reading with Linux 6.1 tcp_hybla.c: rho in eighths and increments in 128ths with a
//! table of eight powers of two; the connection starts with a window of rho segments (`cc_reading =
//! linux`; the initial window is overruled), and outside the Open state it is Reno.

use lasthop_units::Duration;

use super::window::{Window, has_window};
use super::{
    AckSample, CaState, Congestion, CongestionControl, Established, Needs, Observer, Parameter, Row,
};
use crate::config::{CcReading, Config};

pub(super) const PARAMETERS: &[Parameter] = &[Parameter {
    name: "hybla_rtt0",
    default: "25 ms",
    unit: "",
    source: "Caini and Firrincieli 2004; Linux rtt0 25; ns-3 50 ms",
}];
pub(super) const DIFFERS: &str = "Per ACK, as the paper and Linux have it: a delayed ACK halves the growth. rho follows the \
     smoothed round trip whenever that falls to a new minimum (Linux); the paper takes the smoothed round trip always. \
     rho is in eighths and increments in 128ths, as Linux has them. Linux starts with a window of rho segments instead of the initial one \
     (`cc_reading = linux`). ns-3: rtt0 50 ms, real numbers. INET has none.";

pub(super) const ROW: Row = Row {
    summary: "grows on a long path as on a short one",
    source: "C. Caini, R. Firrincieli, TCP Hybla, Int. J. Satellite Communications 22, 2004; Linux 6.1 tcp_hybla.c",
    parameters: PARAMETERS,
    differs: DIFFERS,
    needs: Needs::NOTHING,
};

/// The largest exponent of slow start: 2^16 segments per ACK.
const RHO_MAX: u64 = 16;
/// 2^(n/8) in 128ths.
const POWERS: [u64; 8] = [128, 139, 152, 165, 181, 197, 215, 234];
/// Linux' clamp of the window.
const CLAMP: f64 = 65_535.0;

/// Hybla's window and its ratio.
#[derive(Clone, Debug)]
pub struct Hybla {
    w: Window,
    rtt0: Duration,
    min_rtt: Option<Duration>,
    starts_with_rho: bool,
    /// In eighths.
    rho: u64,
    /// 128ths of a segment gathered.
    gathered: u64,
}

impl Hybla {
    /// One segment until the handshake is done.
    pub fn new(config: &Config) -> Hybla {
        Hybla {
            w: Window::new(config),
            rtt0: config.hybla.rtt0,
            min_rtt: None,
            starts_with_rho: config.readings.cc_reading == CcReading::Linux,
            rho: 8,
            gathered: 0,
        }
    }

    fn note_rtt(&mut self, srtt: Option<Duration>) {
        let Some(srtt) = srtt else { return };
        if self.min_rtt.is_none_or(|m| srtt < m) {
            self.min_rtt = Some(srtt);
            self.rho = (8 * srtt.as_nanos() / self.rtt0.as_nanos().max(1)).max(8);
        }
    }

    /// Per ACK: 2^rho - 1 in slow start, rho^2 / cwnd after; in 128ths of a segment.
    fn increment(&self, slow_start: bool) -> u64 {
        if slow_start {
            (1 << (self.rho / 8).min(RHO_MAX)) * POWERS[(self.rho % 8) as usize] - 128
        } else {
            2 * self.rho * self.rho / (self.w.cwnd as u64).max(1)
        }
    }
}

impl CongestionControl for Hybla {
    has_window!();
    fn on_established(&mut self, e: &Established) {
        self.w.open(e);
        self.note_rtt(e.rtt);
        if self.starts_with_rho {
            self.w.set((self.rho / 8) as f64);
        }
    }
    fn on_ack(&mut self, ack: &AckSample) {
        self.note_rtt(ack.srtt);
        if !self.w.may_grow(ack) {
            return;
        }
        if ack.state != CaState::Open {
            self.w.reno(ack);
            return;
        }
        let slow_start = self.w.in_slow_start();
        self.gathered += self.increment(slow_start);
        let whole = (self.gathered / 128) as f64;
        self.gathered %= 128;
        if slow_start {
            self.w.slow_start_by(whole);
        } else {
            self.w.add(whole);
        }
        self.w.cwnd = self.w.cwnd.min(CLAMP);
    }
    fn on_congestion(&mut self, c: &Congestion) {
        self.w.cut(c.flight / 2.0);
    }
    fn on_timeout(&mut self, c: &Congestion) {
        self.w.timeout(c.flight / 2.0, c.repeated);
    }
    fn observe(&self, o: &mut Observer<'_>) {
        o.number("hybla.rho", "", "the round trip in units of RTT0, at least 1", self.rho as f64 / 8.0);
        o.maybe(
            "hybla.min_rtt",
            "s",
            "smallest smoothed round trip",
            self.min_rtt.map(Duration::as_secs_f64),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use crate::CcName;
    use crate::cc::Cc;

    #[test]
    fn at_25_ms_it_is_reno_and_at_100_ms_four_times_as_steep() {
        for (rtt, rho) in [(25, 8), (100, 32), (60, 19)] {
            let mut h = Hybla::new(&linux_like());
            h.on_ack(&AckSample { may_grow: false, ..ack_at(1, 0, rtt) });
            assert_eq!(h.rho, rho, "{rtt} ms, in eighths");
        }
        let mut p = Path::new(CcName::Hybla, linux_like(), 100, 1e9);
        p.lose();
        p.cc.set_cwnd(160.0);
        if let Cc::Hybla(h) = &mut p.cc {
            h.w.ssthresh = 2.0;
        }
        // rho^2 = 16 segments per round, a little less because the window grows meanwhile.
        let w = p.round();
        assert!((174.0..=176.0).contains(&w), "{w}");
    }

    #[test]
    fn slow_start_adds_two_to_the_rho_less_one_per_ack() {
        let mut h = Hybla::new(&linux_like());
        h.set_cwnd(2.0);
        // rho = 2: 3 segments.
        h.on_ack(&ack_at(1, 0, 50));
        assert_eq!(h.cwnd(), 5.0);
        // 41 ms: 13 eighths; 2 * 197 - 128 = 266 128ths: 2.08, as 2^1.625 - 1 = 2.08.
        let mut h = Hybla::new(&linux_like());
        h.set_cwnd(2.0);
        h.on_ack(&ack_at(1, 0, 41));
        assert_eq!((h.cwnd(), h.gathered), (4.0, 10));
    }

    #[test]
    fn as_in_the_kernel_the_connection_starts_with_rho_segments() {
        for (rtt, reading, window) in
            [(100, CcReading::Linux, 4.0), (41, CcReading::Linux, 1.0), (100, CcReading::Paper, 10.0)]
        {
            let config = linux_with(|c| c.readings.cc_reading = reading);
            let p = Path::new(CcName::Hybla, config, rtt, 1e9);
            assert_eq!(p.cc.cwnd(), window, "{rtt} ms");
        }
    }
}

//! TCP Vegas as ns-2 2.26/2.27 implements it, as the studies describe it (UMTS study, section 3.2).
//!
//! Differences between that description and the public ns-2 code (from memory), all decided for the
//! description: the code keeps a skipped increment at zero until the next decision, here growth is
//! skipped ACK by ACK while cwnd exceeds the flight by more than 2; the code takes the
//! congestion-avoidance increment 1/cwnd once per round, and so do we ("+ 1/cwnd per ACK").
//!
//! Left open by the description and decided here: in the first round after the handshake the window
//! holds (the flag that lets it grow every other round starts as "grew"); a fast retransmit under
//! SACK (which ns-2's Vegas does not have) cuts the window like one on duplicate ACKs.

use lasthop_units::{Duration, Instant};

use super::{
    AckSample, Congestion, CongestionControl, DupAck, DupAckAction, Established, Needs, Observer, Parameter,
    Row,
};
use crate::config::{Config, VegasBaseStart, VegasConfig, VegasRto, VegasSampleOrder};
use crate::name::Profile;

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter { name: "vegas_reading", default: "ns2", unit: "", source: "linux in the profile linux-6" },
    Parameter { name: "vegas_alpha", default: "1", unit: "segments", source: "ns-2 v_alpha_" },
    Parameter { name: "vegas_beta", default: "3", unit: "segments", source: "ns-2 v_beta_" },
    Parameter { name: "vegas_gamma", default: "1", unit: "segments", source: "ns-2 v_gamma_" },
    Parameter {
        name: "vegas_rto",
        default: "coarse",
        unit: "",
        source: "ns-2; `fine` is the UMTS paper's other reading",
    },
    Parameter { name: "vegas_base_start", default: "sample", unit: "", source: "ns2 profile: clock" },
    Parameter {
        name: "vegas_sample_order",
        default: "after-decision",
        unit: "",
        source: "ns-2 [unverified]",
    },
];

pub(super) const DIFFERS: &str = "`vegas_reading = ns2`: each number above as ns-2 2.26/2.27. `vegas_reading = linux` (in linux-6; \
     Linux 6.1's tcp_vegas.c; `ns3`, in the profiles of ns-3, is the same but that a loss costs one segment): alpha 2, beta 4, gamma 1; the round's smallest round trip decides, not the mean; slow start every \
     round; one segment more or less per round; Reno outside of Open and with fewer than three samples; ssthresh not below \
     three quarters of cwnd; losses halve. INET's is ns-2's.";

pub(super) const ROW: Row = Row {
    summary: "holds a few segments in the network's queues, by the round-trip time",
    source: "L. Brakmo, L. Peterson, TCP Vegas, IEEE JSAC 13(8), 1995; as ns-2 2.26/2.27 has it, or Linux 6.1 tcp_vegas.c",
    parameters: PARAMETERS,
    differs: DIFFERS,
    needs: Needs { opens_with_data: Some(Profile::Ns2), ..Needs::NOTHING },
};

/// Vegas' state. Times are in seconds, as in ns-2.
#[derive(Clone, Debug)]
pub struct Vegas {
    config: VegasConfig,
    cwnd: f64,
    ssthresh: f64,
    ceiling: f64,
    base_rtt: f64,
    /// Sum and number of this round's RTT samples.
    round_sum: f64,
    round_count: u32,
    /// The ACK beyond this offset ends the round.
    mark: u64,
    mark_time: Instant,
    /// What each ACK adds in this round \[segments\].
    increment: f64,
    /// Slow start grew in the last round.
    grew: bool,
    fine: FineTimeout,
    /// When the window was last cut.
    cut_at: Instant,
    ever_cut: bool,
    /// The window to return to when duplicate ACKs have inflated it.
    uninflated: f64,
    /// ACKs that are still checked after a retransmission.
    worried: u32,
    /// Segments beyond what the path holds, at the last decision.
    diff: Option<f64>,
}

/// The fine-grained estimator: SRTT kept times 8, deviation times 4, no minimum and no ticks.
#[derive(Clone, Copy, Debug)]
struct FineTimeout {
    srtt_times_8: f64,
    deviation_times_4: f64,
    timeout: f64,
}

impl FineTimeout {
    fn new(first: f64) -> FineTimeout {
        let mut f = FineTimeout { srtt_times_8: first * 8.0, deviation_times_4: first, timeout: 0.0 };
        f.timeout = f.half_sum();
        f
    }
    /// `(srtt * 2 + dev * 4) / 2`.
    fn half_sum(&self) -> f64 {
        (self.srtt_times_8 / 4.0 + self.deviation_times_4) / 2.0
    }
    fn sample(&mut self, rtt: f64) {
        let error = rtt - self.srtt_times_8 / 8.0;
        self.srtt_times_8 += error;
        self.deviation_times_4 += error.abs() - self.deviation_times_4 / 4.0;
        self.timeout = self.half_sum() * (17.0 / 16.0);
    }
}

/// Segments more in the network than the path needs: equation 1 of the UMTS study,
/// `(window / baseRTT - in_transit / rtt) * baseRTT`, before rounding.
pub fn vegas_extra_segments(window: f64, in_transit: f64, rtt: f64, base_rtt: f64) -> f64 {
    (window / base_rtt - in_transit / rtt) * base_rtt
}

/// Shows the variables of either reading: the smallest round trip \[s\], infinite before the first
/// one, and the last round's difference [segments].
pub(super) fn show(o: &mut Observer<'_>, base_rtt: f64, diff: Option<f64>) {
    let base_rtt = base_rtt.is_finite().then_some(base_rtt);
    o.maybe("vegas.base_rtt", "s", "smallest round trip", base_rtt);
    let about = "beyond what the path holds, by the last round's decision";
    o.maybe("vegas.diff", "segments", about, diff);
}

impl Vegas {
    /// One segment until the handshake is done.
    pub fn new(config: &Config) -> Vegas {
        Vegas {
            config: config.vegas,
            cwnd: 1.0,
            ssthresh: config.initial_ssthresh(),
            ceiling: config.window_ceiling(),
            base_rtt: f64::INFINITY,
            round_sum: 0.0,
            round_count: 0,
            mark: 0,
            mark_time: Instant::ZERO,
            increment: 0.0,
            grew: true,
            fine: FineTimeout::new(1000.0),
            cut_at: Instant::ZERO,
            ever_cut: false,
            uninflated: 0.0,
            worried: 0,
            diff: None,
        }
    }

    /// The smallest round trip, taken as that without queueing \[s\]; infinite before the first.
    pub fn base_rtt(&self) -> f64 {
        self.base_rtt
    }
    /// The fine-grained timeout \[s\].
    pub fn fine_timeout(&self) -> f64 {
        self.fine.timeout
    }

    /// Once per round trip: compares what is expected with what is achieved.
    fn decide(&mut self, now: Instant, una: u64, nxt: u64, mss: u32) {
        let rtt = match self.round_count {
            0 => now.since(self.mark_time).as_secs_f64(),
            n => self.round_sum / f64::from(n),
        };
        self.round_sum = 0.0;
        self.round_count = 0;
        if rtt > 0.0 {
            // L = t_seqno - mark: packets sent since the mark.
            let in_transit = segments(nxt.saturating_sub(self.mark), mss);
            if rtt < self.base_rtt || in_transit <= 1.0 {
                self.base_rtt = rtt;
            }
            // t_seqno - last_ack: one more than what is in flight, because t_seqno is the next
            // packet to send.
            let window = segments(nxt.saturating_sub(una), mss) + 1.0;
            let extra = vegas_extra_segments(window, in_transit, rtt, self.base_rtt);
            self.diff = Some(extra);
            // int(x + 0.5) of C: cut towards zero.
            self.adjust((extra + 0.5).trunc());
        }
        self.mark = nxt;
        self.mark_time = now;
    }

    fn adjust(&mut self, extra: f64) {
        if self.cwnd < self.ssthresh {
            // The window may grow only every other round trip.
            self.grew = !self.grew;
            self.increment = if self.grew { 1.0 } else { 0.0 };
            if extra > self.config.gamma {
                self.ssthresh = 2.0;
                self.cwnd = (self.cwnd - self.cwnd / 8.0).max(2.0);
                self.increment = 0.0;
                self.grew = false;
            }
        } else if extra > self.config.beta {
            self.cwnd = (self.cwnd - 1.0).max(2.0);
            self.increment = 0.0;
        } else if extra < self.config.alpha {
            self.increment = 1.0 / self.cwnd;
        } else {
            self.increment = 0.0;
        }
    }

    fn grow(&mut self, ack: &AckSample) {
        let in_use = segments(ack.nxt.saturating_sub(ack.una), ack.mss) + 1.0;
        if ack.may_grow && self.increment > 0.0 && self.cwnd - in_use <= 2.0 {
            self.cwnd = (self.cwnd + self.increment).min(self.ceiling);
        }
    }

    fn sample(&mut self, rtt: Option<Duration>) {
        let Some(rtt) = rtt.filter(|r| !r.is_zero()) else { return };
        let rtt = rtt.as_secs_f64();
        self.round_sum += rtt;
        self.round_count += 1;
        self.base_rtt = self.base_rtt.min(rtt);
        self.fine.sample(rtt);
    }

    /// The window after a retransmission: 2, a half or three quarters of `window`.
    fn cut(window: u32, transmissions: u32) -> f64 {
        f64::from(match (window, transmissions) {
            (0..=3, _) => 2,
            (w, 2..) => w >> 1,
            (w, _) => w - (w >> 2),
        })
    }
}

/// Whole segments in `octets`, a started one counted.
fn segments(octets: u64, mss: u32) -> f64 {
    octets.div_ceil(u64::from(mss.max(1))) as f64
}

impl CongestionControl for Vegas {
    #[inline]
    fn cwnd(&self) -> f64 {
        self.cwnd
    }
    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    /// The SYN is packet 0 of ns-2: its ACK is the first ACK ever, and one packet was in transit.
    fn on_established(&mut self, e: &Established) {
        self.cwnd = e.initial_window.min(self.ceiling);
        let first = match self.config.base_start {
            VegasBaseStart::Clock => Some(e.now.as_secs_f64()),
            VegasBaseStart::Sample => e.rtt.map(Duration::as_secs_f64),
        };
        if let Some(first) = first {
            self.fine = FineTimeout::new(first);
            // One packet was in transit, so the decision at this ACK sets baseRTT to the round's
            // length, which here is the time since the start of the clock or the handshake's own;
            // its delta is 0.
            self.base_rtt = first;
        }
        self.grew = false;
        self.mark = e.nxt;
        self.mark_time = e.now;
        self.sample(e.rtt);
    }

    fn on_ack(&mut self, ack: &AckSample) {
        if ack.acked == 0 {
            return;
        }
        if ack.dup_acks > 3 && self.uninflated > 0.0 && self.cwnd > self.uninflated {
            self.cwnd = self.uninflated;
            self.ssthresh = 2.0;
        }
        if self.config.sample_order == VegasSampleOrder::BeforeDecision {
            self.sample(ack.rtt);
        }
        if ack.una > self.mark {
            self.decide(ack.now, ack.una, ack.nxt, ack.mss);
        }
        self.grow(ack);
        if self.config.sample_order == VegasSampleOrder::AfterDecision {
            self.sample(ack.rtt);
        }
    }

    fn on_dup_ack(&mut self, dup: &DupAck) -> DupAckAction {
        let overdue = dup.now.since(dup.oldest_sent).as_secs_f64() >= self.fine.timeout;
        if !overdue && dup.count != 3 {
            // Further duplicate ACKs inflate by one.
            if dup.count > 3 {
                self.cwnd += 1.0;
            }
            return DupAckAction::Nothing;
        }
        if !dup.guard_open {
            return DupAckAction::Nothing;
        }
        self.worried = 2;
        self.fine.timeout *= if dup.oldest_transmissions > 1 { 2.0 } else { 9.0 / 8.0 };
        if !self.ever_cut || self.cut_at < dup.oldest_sent {
            self.uninflated = Self::cut(dup.window, dup.oldest_transmissions);
            self.cwnd = self.uninflated + f64::from(dup.count);
            self.cut_at = dup.now;
            self.ever_cut = true;
        }
        DupAckAction::Retransmit
    }

    fn on_congestion(&mut self, c: &Congestion) {
        self.cwnd = Self::cut(c.flight as u32, 1);
        self.uninflated = self.cwnd;
        self.ssthresh = 2.0;
        self.cut_at = c.now;
        self.ever_cut = true;
    }

    fn on_timeout(&mut self, c: &Congestion) {
        // Coarse timeout: ssthresh halved, cwnd := 2 (Reno: 1), slow start.
        self.ssthresh = (c.flight / 2.0).floor().max(2.0);
        self.cwnd = 2.0;
        self.uninflated = 0.0;
        self.cut_at = c.now;
        self.ever_cut = true;
        if self.config.rto == VegasRto::Fine {
            self.fine.timeout *= 2.0;
        }
    }

    fn set_cwnd(&mut self, segments: f64) {
        self.cwnd = segments.clamp(1.0, self.ceiling.max(1.0));
    }
    fn set_ssthresh(&mut self, segments: f64) {
        self.ssthresh = segments;
    }

    /// First one or two ACKs after such a retransmission: if the new oldest segment is over age,
    /// retransmit it at once without another cut.
    fn oldest_is_overdue(&mut self, now: Instant, sent: Instant) -> bool {
        if self.worried == 0 {
            return false;
        }
        self.worried -= 1;
        let overdue = now.since(sent).as_secs_f64() >= self.fine.timeout;
        if !overdue {
            self.worried = 0;
        }
        overdue
    }

    fn own_timeout(&self) -> Option<Duration> {
        (self.config.rto == VegasRto::Fine).then(|| Duration::from_secs_f64(self.fine.timeout))
    }
    fn observe(&self, o: &mut Observer<'_>) {
        show(o, self.base_rtt, self.diff);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, Profile};

    fn vegas() -> Vegas {
        Vegas::new(
            &Options { profile: Profile::Ns2, cc: Some(super::super::CcName::Vegas), ..Options::default() }
                .resolve()
                .unwrap(),
        )
    }
    const MSS: u64 = 512;

    /// A sender in lock step: `window` segments per round, each acknowledged after `rtt`.
    fn ack(now_ms: u64, una: u64, nxt: u64, rtt_ms: u64) -> AckSample {
        AckSample {
            now: Instant::from_millis(now_ms),
            acked: MSS,
            una: 1 + una * MSS,
            nxt: 1 + nxt * MSS,
            mss: MSS as u32,
            rtt: Some(Duration::from_millis(rtt_ms)),
            cwnd_limited: true,
            may_grow: true,
            ..AckSample::default()
        }
    }

    #[test]
    fn equation_1_shrinks_window_6_at_300_ms_and_holds_window_5_at_200_ms() {
        // Claim U11, baseRTT 0.12 s: (6/0.12 - 6/0.3) * 0.12 = 6 - 2.4 = 3.6 > beta = 3; ns-2
        // rounds to 4.
        let six = vegas_extra_segments(6.0, 6.0, 0.3, 0.12);
        assert!((six - 3.6).abs() < 1e-12);
        // (5/0.12 - 5/0.2) * 0.12 = 5 - 3 = 2.0: between alpha = 1 and beta = 3.
        let five = vegas_extra_segments(5.0, 5.0, 0.2, 0.12);
        assert!((five - 2.0).abs() < 1e-12);

        let mut v = vegas();
        v.base_rtt = 0.12;
        v.ssthresh = 2.0;
        v.cwnd = 6.0;
        v.adjust((six + 0.5).trunc());
        assert_eq!((v.cwnd, v.increment), (5.0, 0.0));
        v.adjust((five + 0.5).trunc());
        assert_eq!((v.cwnd, v.increment), (5.0, 0.0));
        v.adjust(0.0);
        assert_eq!((v.cwnd, v.increment), (5.0, 0.2));
    }

    #[test]
    fn the_decision_has_the_same_numbers_through_acks() {
        let mut v = vegas();
        v.base_rtt = 0.12;
        v.ssthresh = 2.0;
        v.cwnd = 6.0;
        v.mark = 1;
        v.round_sum = 0.3;
        v.round_count = 1;
        // The ACK of the marked segment arrives: six were sent since the mark, five are in flight.
        v.on_ack(&ack(300, 1, 6, 300));
        assert_eq!(v.cwnd, 5.0);
    }

    #[test]
    fn slow_start_doubles_every_other_round_trip() {
        let mut v = vegas();
        v.on_established(&Established {
            now: Instant::from_millis(100),
            rtt: Some(Duration::from_millis(100)),
            initial_window: 2.0,
            nxt: 1,
            mss: MSS as u32,
            seed: 0,
        });
        let (mut una, mut nxt, mut now) = (0, 2, 100);
        let mut by_round = vec![v.cwnd];
        for _ in 0..6 {
            now += 100;
            let round = nxt - una;
            for _ in 0..round {
                una += 1;
                v.on_ack(&ack(now, una, nxt, 100));
                nxt = nxt.max(una + v.cwnd as u64);
            }
            by_round.push(v.cwnd);
        }
        // Every ACK of a round adds one, and the first ACK of a round decides for it.
        assert_eq!(by_round, [2.0, 4.0, 4.0, 8.0, 8.0, 16.0, 16.0]);
    }

    #[test]
    fn the_fine_timeout_is_seventeen_sixteenths_of_srtt_plus_half_the_scaled_deviation() {
        let mut f = FineTimeout::new(0.1);
        // (0.8/4 + 0.1)/2 = 0.15.
        assert!((f.timeout - 0.15).abs() < 1e-12);
        // rtt 0.2: error 0.1; srtt*8 = 0.9; dev*4 = 0.1 + 0.1 - 0.025 = 0.175; (0.225 + 0.175)/2 *
        // 17/16 = 0.2125.
        f.sample(0.2);
        assert!((f.timeout - 0.2125).abs() < 1e-12);
    }

    #[test]
    fn a_retransmission_cuts_to_two_a_half_or_three_quarters() {
        assert_eq!(
            [Vegas::cut(3, 5), Vegas::cut(8, 1), Vegas::cut(8, 2), Vegas::cut(7, 1)],
            [2.0, 6.0, 4.0, 6.0]
        );
    }

    #[test]
    fn an_overdue_segment_is_resent_on_the_first_duplicate_ack() {
        let mut v = vegas();
        v.cwnd = 8.0;
        v.fine = FineTimeout::new(0.1);
        let dup = DupAck {
            now: Instant::from_millis(400),
            count: 1,
            oldest_sent: Instant::from_millis(300),
            oldest_transmissions: 1,
            guard_open: true,
            window: 8,
        };
        // Age 0.1 s < 0.15 s: not yet.
        assert_eq!(v.on_dup_ack(&dup), DupAckAction::Nothing);
        // Age 0.2 s: resent; 8 -> 6, plus the one duplicate; timeout 0.15 * 9/8.
        let dup = DupAck { now: Instant::from_millis(500), ..dup };
        assert_eq!(v.on_dup_ack(&dup), DupAckAction::Retransmit);
        assert_eq!(v.cwnd, 7.0);
        assert!((v.fine.timeout - 0.16875).abs() < 1e-12);
        // The next two ACKs are checked.
        assert!(v.oldest_is_overdue(Instant::from_millis(700), Instant::from_millis(300)));
        assert!(!v.oldest_is_overdue(Instant::from_millis(700), Instant::from_millis(600)));
        assert!(!v.oldest_is_overdue(Instant::from_millis(900), Instant::from_millis(300)));
    }
}

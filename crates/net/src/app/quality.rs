//! The quality of a conversation or a game for its user, by late and lost packets.

use lasthop_units::{Duration, Instant};

/// Delays are counted by the millisecond up to this; later ones count as this.
const BINS: usize = 2_000;

/// Arrivals checked against a deadline.
#[derive(Clone, Debug)]
pub struct Quality {
    /// The packets are speech.
    speech: bool,
    deadline: Duration,
    received: u64,
    late: u64,
    delay_sum_ns: u128,
    /// Packets by delay [ms].
    delays: Box<[u32]>,
    last: Option<Instant>,
    longest_gap: Duration,
}

impl Quality {
    /// Of a call: packets of speech are of use until `deadline` after they were sent.
    pub fn of_speech(deadline: Duration) -> Quality {
        Quality { speech: true, ..Quality::of_updates(deadline) }
    }
    /// Of a state that is sent again and again: an update is of use until `deadline` after it was
    /// sent.
    pub fn of_updates(deadline: Duration) -> Quality {
        Quality {
            speech: false,
            deadline,
            received: 0,
            late: 0,
            delay_sum_ns: 0,
            delays: vec![0; BINS + 1].into(),
            last: None,
            longest_gap: Duration::ZERO,
        }
    }

    /// A packet sent at `sent` arrives.
    pub(super) fn arrived(&mut self, now: Instant, sent: Instant) {
        let delay = now.since(sent);
        self.received += 1;
        self.late += u64::from(delay > self.deadline);
        self.delay_sum_ns += u128::from(delay.0);
        self.delays[(delay.as_millis() as usize).min(BINS)] += 1;
        if let Some(last) = self.last.replace(now) {
            self.longest_gap = self.longest_gap.max(now.since(last));
        }
    }

    /// When a packet is too late.
    pub const fn deadline(&self) -> Duration {
        self.deadline
    }
    /// Packets that arrived.
    pub const fn received(&self) -> u64 {
        self.received
    }
    /// Packets that arrived too late.
    pub const fn late(&self) -> u64 {
        self.late
    }
    /// Longest time between two arrivals.
    pub const fn longest_gap(&self) -> Duration {
        self.longest_gap
    }
    /// Mean delay [s].
    pub fn delay_mean_s(&self) -> Option<f64> {
        (self.received > 0).then(|| self.delay_sum_ns as f64 / self.received as f64 / 1e9)
    }
    /// The delay that a share of `q` of the packets does not exceed [s], to the millisecond above.
    pub fn delay_quantile_s(&self, q: f64) -> Option<f64> {
        let wanted = (q * self.received as f64).ceil() as u64;
        let mut seen = 0;
        let bin = self.delays.iter().position(|n| {
            seen += u64::from(*n);
            seen >= wanted.max(1)
        });
        bin.map(|ms| (ms + 1) as f64 / 1e3)
    }

    /// Of `sent` packets, the share that was lost or too late to be used.
    pub fn unusable(&self, sent: u64) -> Option<f64> {
        (sent > 0).then(|| 1.0 - (self.received - self.late) as f64 / sent as f64)
    }

    /// The transmission rating of a call with G.711 in packets of 20 ms and loss concealment,
    /// played out at the deadline; `None`: it is no call, or nothing was sent.
    // ITU-T G.107: R = 93.2 - Id - Ie,eff; Id of one-way delay d [ms] as R. Cole, J. Rosenbluth,
    // Voice over IP performance monitoring, ACM CCR 31(2), 2001: 0.024 d + 0.11 (d - 177.3) where d
    // > 177.3. Ie,eff = Ie + (95 - Ie) Ppl / (Ppl + Bpl), ITU-T G.113 appendix I: Ie 0 and Bpl 25.1
    // for G.711 with concealment.
    pub fn rating(&self, sent: u64) -> Option<f64> {
        let lost = 100.0 * self.unusable(sent).filter(|_| self.speech)?;
        let delay = (self.deadline + PACKET).as_secs_f64() * 1e3;
        let late = 0.024 * delay + 0.11 * (delay - 177.3).max(0.0);
        Some(93.2 - late - 95.0 * lost / (lost + 25.1))
    }

    /// The mean opinion score of a call, 1 to 4.5.
    // ITU-T G.107 annex B.
    pub fn opinion(&self, sent: u64) -> Option<f64> {
        self.rating(sent).map(|r| {
            let r = r.clamp(0.0, 100.0);
            (1.0 + 0.035 * r + r * (r - 60.0) * (100.0 - r) * 7e-6).max(1.0)
        })
    }
}

/// A packet holds this much speech: it is that old when it leaves.
const PACKET: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    fn call(deadline: u64, delays: &[u64]) -> Quality {
        let mut q = Quality::of_speech(Duration::from_millis(deadline));
        for (i, d) in delays.iter().enumerate() {
            let sent = Instant::from_millis(20 * i as u64);
            q.arrived(sent + Duration::from_millis(*d), sent);
        }
        q
    }

    /// 130 + 20 ms: Id = 0.024 * 150 = 3.6, R = 89.6, MOS = 1 + 3.136 + 89.6 * 29.6 * 10.4 * 7e-6 =
    /// 4.329.
    #[test]
    fn a_call_without_loss_has_the_opinion_of_its_delay() {
        let q = call(130, &[50; 100]);
        assert!((q.rating(100).unwrap() - 89.6).abs() < 1e-9);
        assert!((q.opinion(100).unwrap() - 4.329).abs() < 1e-3);
    }

    /// 5 of 100 lost: Ie,eff = 95 * 5 / 30.1 = 15.78; late packets count as lost ones.
    #[test]
    fn late_packets_are_as_good_as_lost() {
        let (lost, mut late) = (call(130, &[50; 95]), vec![50; 95]);
        late.extend([200; 5]);
        let late = call(130, &late);
        assert_eq!((late.received(), late.late()), (100, 5));
        assert_eq!(lost.rating(100), late.rating(100));
        assert!((lost.rating(100).unwrap() - (89.6 - 15.7807)).abs() < 1e-3);
    }

    #[test]
    fn quantiles_and_gaps_are_those_of_the_arrivals() {
        let mut delays = vec![10; 95];
        delays.extend([90, 90, 90, 90, 190]);
        let q = call(100, &delays);
        assert_eq!((q.delay_quantile_s(0.95), q.delay_quantile_s(0.99)), (Some(0.011), Some(0.091)));
        // The last one comes 20 + 100 ms after the one before it.
        assert_eq!(q.longest_gap(), Duration::from_millis(120));
        assert_eq!(Quality::of_speech(Duration::ZERO).opinion(0), None);
        assert_eq!(Quality::of_updates(Duration::ZERO).opinion(1), None);
    }
}

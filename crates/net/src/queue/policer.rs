//! `policer`: a token bucket in front of the line. A packet that finds too few tokens is dropped,
//! and none waits for tokens.
//!
//! RFC 2697 section 3, with one bucket (an excess burst size of 0, green or red): the bucket holds
//! CBS tokens at most, one an octet, full at first, and CIR / 8 more each second; a packet of B
//! octets passes if Tc - B >= 0, and takes B. A passed packet waits only for the line.

use lasthop_units::{Bitrate, Bytes, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::{BYTES, Discipline, QueueKind, Site, Wrong, check_that, parameter};
use super::{Fifo, Limit};
use crate::registry::Entry;
use crate::{DropCause, Dropped, Item};

/// Parameters of a policer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PolicerConfig {
    /// Rate of the tokens, of IP packets, above 0 bit/s.
    pub rate: Bitrate,
    /// Most octets that may pass at once, above 0 B. A larger packet never passes.
    pub burst: Bytes,
    /// Most packets that wait for the link after the token bucket has passed them. Unset: no limit.
    /// If the link is at least as fast as `rate`, no more than `burst` waits.
    pub packets: Option<u32>,
    /// Most bytes that wait for the link. Unset: no limit.
    pub bytes: Option<Bytes>,
}

impl Default for PolicerConfig {
    fn default() -> Self {
        PolicerConfig { rate: Bitrate(10_000_000), burst: Bytes(125_000), packets: None, bytes: None }
    }
}

impl QueueKind for PolicerConfig {
    const ENTRY: Entry = Entry {
        name: "policer",
        summary: "token bucket: what exceeds rate and burst is dropped at once, the rest waits for the line only",
        source: "RFC 2697 section 3, with one bucket",
        parameters: &[
            parameter("rate", "10 Mbit/s", "tokens: IP packets pass at this rate in the long run"),
            parameter("burst", "125 kB", "most that passes at once; a larger packet never does"),
            parameter("packets", "no limit", "most packets that wait for the line, having passed"),
            BYTES,
        ],
    };

    type Run = Box<Policer>;

    fn validate(&self) -> Result<(), Wrong> {
        check_that(self.rate.0 > 0, "rate", "must be above 0 bit/s")?;
        check_that(self.burst.0 > 0, "burst", "must be above 0 B")
    }
    fn limit(&self) -> Limit {
        Limit { packets: self.packets, bytes: self.bytes.map(|b| b.0) }
    }
    fn build(&self, _site: &Site) -> Box<Policer> {
        Box::new(Policer::new(self))
    }
}

/// Tokens of an octet: at 1 bit/s one comes in a nanosecond.
const OCTET: u128 = 8_000_000_000;

/// A running queue.
#[derive(Clone, Debug)]
pub(super) struct Policer {
    line: Fifo,
    limit: Limit,
    rate: u128,
    most: u128,
    tokens: u128,
    filled: Instant,
}

impl Policer {
    /// With a full bucket.
    fn new(config: &PolicerConfig) -> Policer {
        let most = u128::from(config.burst.0) * OCTET;
        Policer {
            line: Fifo::default(),
            limit: config.limit(),
            rate: u128::from(config.rate.0),
            most,
            tokens: most,
            filled: Instant::ZERO,
        }
    }

    fn conforms(&mut self, now: Instant, item: &Item) -> bool {
        let fresh = u128::from(now.since(self.filled).0) * self.rate;
        self.filled = now;
        self.tokens = (self.tokens + fresh).min(self.most);
        let needed = u128::from(item.size) * OCTET;
        let passes = self.tokens >= needed;
        if passes {
            self.tokens -= needed;
        }
        passes
    }
}

impl Discipline for Policer {
    fn enqueue(&mut self, now: Instant, item: Item, drops: &mut Vec<Dropped>, _marked: &mut u64) {
        if !self.conforms(now, &item) {
            drops.push(Dropped { at: now, item, cause: DropCause::Policer });
        } else if self.line.fits(&item, &self.limit) {
            self.line.push(item);
        } else {
            drops.push(Dropped { at: now, item, cause: DropCause::QueueFull });
        }
    }
    #[inline]
    fn dequeue(&mut self, _now: Instant, _drops: &mut Vec<Dropped>, _marked: &mut u64) -> Option<Item> {
        self.line.pop()
    }
    #[inline]
    fn packets(&self) -> usize {
        self.line.packets()
    }
    #[inline]
    fn bytes(&self) -> u64 {
        self.line.bytes()
    }
    fn limit(&self) -> Limit {
        self.limit
    }
    fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::{Queue, QueueConfig};
    use crate::testing::item;

    fn policer(mbps: u64, burst: u64) -> Queue {
        let rate = Bitrate(mbps * 1_000_000);
        QueueConfig::Policer(PolicerConfig { rate, burst: Bytes(burst), ..PolicerConfig::default() })
            .build(&Site::default())
    }
    /// Octets of the packets, offered at these moments [us], that pass.
    fn passed(q: &mut Queue, offered: impl Iterator<Item = (u64, u32)>) -> u64 {
        let (mut drops, mut octets) = (vec![], 0);
        for (us, size) in offered {
            q.enqueue(Instant::from_micros(us), item(0, size), &mut drops);
            octets += q.dequeue(Instant::from_micros(us), &mut drops).map_or(0, |i| u64::from(i.size));
        }
        assert!(drops.iter().all(|d| d.cause == DropCause::Policer));
        octets
    }

    /// 83 packets of 1500 octets are 124 500, 84 are 126 000: of a burst at once 83 pass.
    #[test]
    fn a_burst_passes_and_not_a_packet_more() {
        assert_eq!(passed(&mut policer(10, 125_000), (0..200).map(|_| (0, 1500))), 83 * 1500);
        // 500 octets are left; a smaller packet finds them.
        let then_small = (0..84).map(|_| (0, 1500)).chain([(0, 501), (0, 500), (0, 1)]);
        assert_eq!(passed(&mut policer(10, 125_000), then_small), 83 * 1500 + 500);
        assert_eq!(passed(&mut policer(10, 1499), (0..100).map(|n| (n * 1_000_000, 1500))), 0);
    }

    /// 10 Mbit/s are 1500 octets in 1200 us: of twice as many packets the burst and then every
    /// second one, so that in 60 s 125 000 + 75 000 000 octets pass, less what of a packet is left.
    #[test]
    fn in_the_long_run_the_rate_and_one_burst_pass() {
        let n = 100_000;
        let octets = passed(&mut policer(10, 125_000), (0..n).map(|n| (600 * n, 1500)));
        let allowed = 125_000 + 600 * (n - 1) * 10 / 8;
        assert!(octets <= allowed && allowed - octets < 1500, "{octets} of {allowed}");
    }

    /// At 3 Mbit/s a packet of 1500 octets needs 4 ms: at 4 ms it passes, a nanosecond earlier it
    /// does not; and what does not pass takes nothing.
    #[test]
    fn tokens_are_exact_to_the_nanosecond() {
        for (at, passes) in [(3_999_999, false), (4_000_000, true)] {
            let (mut q, mut drops) = (policer(3, 1500), vec![]);
            q.enqueue(Instant(0), item(0, 1500), &mut drops);
            q.enqueue(Instant(1), item(0, 1500), &mut drops);
            q.enqueue(Instant(at), item(0, 1500), &mut drops);
            assert_eq!(q.packets(), 1 + usize::from(passes), "{at} ns");
        }
    }

    /// After an idle time the bucket is full and no fuller.
    #[test]
    fn a_pause_saves_up_one_burst() {
        let offered = (0..200).map(|_| (0, 1000)).chain((0..200).map(|_| (10_000_000, 1000)));
        assert_eq!(passed(&mut policer(1, 50_000), offered), 2 * 50_000);
    }

    #[test]
    fn a_bucket_without_rate_or_room_is_refused() {
        let wrong = |c: PolicerConfig| QueueConfig::Policer(c).validate().unwrap_err().0;
        assert_eq!(wrong(PolicerConfig { rate: Bitrate(0), ..PolicerConfig::default() }), "rate");
        assert_eq!(wrong(PolicerConfig { burst: Bytes(0), ..PolicerConfig::default() }), "burst");
    }
}

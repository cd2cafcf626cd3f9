//! Semi-persistent grants in the uplink (TS 36.321 v15.1.0 clause 5.10.2).

use lasthop_units::Tti;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mac::renewal::Renewal;
use crate::phy::RbSet;
use lasthop_bearer::{ConfigError, Warning, check};

/// Semi-persistent scheduling of the uplink (TS 36.321 clause 5.10.2): one grant activates it; from
/// then on the UE has the same resource blocks and MCS every `interval`, without a grant on the
/// PDCCH and without a request. Retransmissions are the same as for any other block. The UE's first
/// data leads to the activation. After two blocks in a row that failed in all their transmissions,
/// the eNB activates the grant again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UplinkPersistentConfig {
    /// semiPersistSchedIntervalUL [TTI]: 10, 20, 32, 40, 64, 80, 128, 160, 320 or 640 (TS 36.331
    /// clause 6.3.2).
    pub interval: u64,
    /// Least bytes of each occasion.
    pub bytes: u32,
    /// implicitReleaseAfter: the grant ends after this many consecutive blocks without data: 2, 3,
    /// 4 or 8. The next data leads to a new activation.
    pub release_after: u64,
    /// logicalChannelSR-Mask: while there is such a grant, new data waits for it and triggers no
    /// scheduling request.
    pub sr_mask: bool,
}

impl Default for UplinkPersistentConfig {
    fn default() -> Self {
        // A voice frame every 20 ms with its headers.
        UplinkPersistentConfig { interval: 20, bytes: 60, release_after: 8, sr_mask: true }
    }
}

impl UplinkPersistentConfig {
    /// Refuses values that RRC cannot carry.
    pub fn validate(&self) -> Result<Vec<Warning>, ConfigError> {
        let known = [10, 20, 32, 40, 64, 80, 128, 160, 320, 640].contains(&self.interval);
        check(known, "interval", "10, 20, 32, 40, 64, 80, 128, 160, 320 or 640 TTIs")?;
        check((1..=9422).contains(&self.bytes), "bytes", "1 B to what a transport block holds, 9422 B")?;
        check([2, 3, 4, 8].contains(&self.release_after), "release_after", "2, 3, 4 or 8 blocks")?;
        Ok(Vec::new())
    }
}

/// Contents of a configured grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfiguredGrant {
    /// The TTI of its activation: the first occasion.
    pub start: Tti,
    /// The same blocks each time.
    pub rbs: RbSet,
    /// The same MCS each time.
    pub mcs: u8,
    /// Size of the transport block [B].
    pub bytes: u32,
}

/// The semi-persistent grant of a UE, the same at both ends.
#[derive(Clone, Copy, Debug)]
pub struct UplinkPersistent {
    /// Its configuration.
    pub config: UplinkPersistentConfig,
    /// None: not active.
    grant: Option<ConfiguredGrant>,
    /// Consecutive blocks without data.
    empty: u64,
    /// Failed blocks, as the eNB counts them.
    pub renewal: Renewal,
    /// The occasion that was prepared last.
    pub occasion: Tti,
}

impl UplinkPersistent {
    /// Without a grant.
    pub const fn new(config: UplinkPersistentConfig) -> UplinkPersistent {
        UplinkPersistent { config, grant: None, empty: 0, renewal: Renewal::NONE, occasion: Tti(0) }
    }

    /// The grant, while it is active.
    pub const fn grant(&self) -> Option<ConfiguredGrant> {
        self.grant
    }

    /// Activates `grant`, whose first occasion is already prepared.
    pub const fn activate(&mut self, grant: ConfiguredGrant) {
        (self.grant, self.empty, self.occasion) = (Some(grant), 0, grant.start);
        self.renewal = Renewal::NONE;
    }

    /// Releases the grant.
    pub const fn release(&mut self) {
        (self.grant, self.renewal) = (None, Renewal::NONE);
    }

    /// The occasion after the last one that was prepared.
    // 5.10.2 [unverified]: consider sequentially that the Nth grant occurs in the subframe for
    // which (10 * SFN + subframe) = [(10 * SFN_start time + subframe_start time) + N *
    // semiPersistSchedIntervalUL + Subframe_Offset * (N modulo 2)] modulo 10240; Subframe_Offset is
    // TDD's.
    pub const fn next(&self) -> Tti {
        Tti(self.occasion.0 + self.config.interval)
    }

    /// Counts a block that was sent in an occasion; false if the grant ended with it.
    // The MAC entity shall clear the configured uplink grant immediately after
    // implicitReleaseAfter number of consecutive new MAC PDUs each containing zero MAC SDUs have
    // been provided by the Multiplexing and Assembly entity, on the Semi-Persistent Scheduling
    // resource.
    pub const fn on_block(&mut self, has_data: bool) -> bool {
        self.empty = if has_data { 0 } else { self.empty + 1 };
        if self.empty >= self.config.release_after {
            self.grant = None;
        }
        self.grant.is_some()
    }

    /// The blocks of the grant, if `tti` or one of the `again` TTIs that follow at distances of 8
    /// (those of retransmissions of a block sent in `tti`) is one of its occasions.
    pub fn blocks_near(&self, tti: Tti, again: u64) -> RbSet {
        let Some(grant) = self.grant else { return RbSet::EMPTY };
        let meets = |k: u64| {
            let at = tti.0 + 8 * k;
            at >= grant.start.0 && (at - grant.start.0).is_multiple_of(self.config.interval)
        };
        if (0..=again).any(meets) { grant.rbs } else { RbSet::EMPTY }
    }

    /// The blocks of the grant, if an occasion of it, or one of `again` retransmissions of it 8
    /// TTIs apart, ever coincides with those of a grant of `interval` that begins at `start`.
    pub fn blocks_that_meet(&self, start: Tti, interval: u64, again: u64) -> RbSet {
        let Some(grant) = self.grant else { return RbSet::EMPTY };
        let (mut common, mut b) = (self.config.interval, interval);
        while b != 0 {
            (common, b) = (b, common % b);
        }
        let phase = |at: u64| at % common;
        let meets = |k: u64| {
            phase(start.0) == phase(grant.start.0 + 8 * k) || phase(start.0 + 8 * k) == phase(grant.start.0)
        };
        if (0..=again).any(meets) { grant.rbs } else { RbSet::EMPTY }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCKS: RbSet = RbSet::range(3, 2);

    fn active(start: u64, interval: u64) -> UplinkPersistent {
        let mut p =
            UplinkPersistent::new(UplinkPersistentConfig { interval, ..UplinkPersistentConfig::default() });
        p.activate(ConfiguredGrant { start: Tti(start), rbs: BLOCKS, mcs: 5, bytes: 60 });
        p
    }

    #[test]
    fn occasions_follow_the_activation_at_equal_distances() {
        let mut p = active(17, 20);
        for n in 1..5 {
            p.occasion = p.next();
            assert_eq!(p.occasion, Tti(17 + 20 * n));
        }
    }

    /// implicitReleaseAfter e4: three empty blocks, one with data, and then four empty ones.
    #[test]
    fn the_grant_ends_after_empty_blocks_in_a_row() {
        let mut p = active(0, 10);
        p.config.release_after = 4;
        let sent = [false, false, false, true, false, false, false];
        assert!(sent.into_iter().all(|data| p.on_block(data)));
        assert!(!p.on_block(false));
        assert_eq!(p.grant(), None);
    }

    /// By brute force over 10 000 TTIs: occasions and their retransmissions 8, 16 and 24 TTIs
    /// later.
    #[test]
    fn grants_that_never_meet_may_share_their_blocks() {
        let times = |start: u64, interval: u64| {
            (0..200u64).flat_map(move |n| (0..=3).map(move |k| (start + n * interval + 8 * k, k)))
        };
        for (a, p, b, q) in [(0, 20, 1, 20), (0, 20, 8, 20), (3, 10, 5, 32), (0, 32, 4, 40), (7, 64, 1, 10)] {
            let mine: Vec<(u64, u64)> = times(a, p).filter(|(t, _)| *t > 400 && *t < 1500).collect();
            // Two retransmissions never coincide: the first transmission of the later one would
            // have been moved.
            let brute = times(b, q).any(|(t, k)| mine.iter().any(|(s, j)| *s == t && (k == 0 || *j == 0)));
            let closed_form = !active(a, p).blocks_that_meet(Tti(b), q, 3).is_empty();
            assert_eq!(closed_form, brute, "{a} {p} {b} {q}");
        }
        let p = active(100, 20);
        let near = |tti, again| !p.blocks_near(Tti(tti), again).is_empty();
        assert_eq!(
            [near(120, 0), near(112, 0), near(112, 1), near(96, 3), near(88, 3)],
            [true, false, true, true, false]
        );
        assert!(!near(80, 0), "before the activation");
    }

    #[test]
    fn values_that_no_message_carries_are_refused() {
        let with = |change: fn(&mut UplinkPersistentConfig)| {
            let mut c = UplinkPersistentConfig::default();
            change(&mut c);
            c.validate().map_err(|e| e.key)
        };
        assert!(with(|_| ()).is_ok());
        assert_eq!(with(|c| c.interval = 30), Err("interval".to_owned()));
        assert_eq!(with(|c| c.bytes = 0), Err("bytes".to_owned()));
        assert_eq!(with(|c| c.release_after = 5), Err("release_after".to_owned()));
    }
}

//! One direction of a UMTS dedicated channel: a TTI grid, transport blocks, block errors, the delay
//! to the far end.

use std::collections::VecDeque;

use lasthop_radio::{BlockErrors, ErrorPattern};
use lasthop_units::{Bytes, Duration, Instant, Ratio, Tti};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::TransportFormat;
use crate::{ConfigError, Warning, check};

/// One direction of a dedicated channel. Defaults: the 384 kbit/s bearer of TS 34.108 clause 6.10.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DchConfig {
    /// Transmission time interval: 10, 20, 40 or 80 ms (TS 25.302 clause 7.1.2); any length above 0
    /// s works.
    pub tti: Duration,
    /// Transport blocks per TTI, 0 to 64. 0: nothing is sent until a change sets another value.
    pub blocks: u32,
    /// Octets of a transport block after the RLC header, 10 B and up (TS 34.108: 320 bit). The
    /// block is larger by 2 octets in AM, 1 in UM, none in TM.
    pub block_payload: Bytes,
    /// Block error rate after decoding, 0 to 100 %.
    pub bler: Ratio,
    /// Whether blocks are lost independently (`independent`) or all blocks of a TTI together
    /// (`per-tti`).
    pub errors: ErrorPattern,
    /// Start of the first TTI; all others follow at multiples of the TTI. Below one TTI.
    pub offset: Duration,
    /// Time from the end of the TTI on the air to the arrival at RLC: decoding, Node B and Iub.
    pub iub_delay: Duration,
}

impl Default for DchConfig {
    fn default() -> Self {
        DchConfig {
            tti: Duration::from_millis(10),
            blocks: 12,
            block_payload: Bytes(40),
            bler: Ratio(0.01),
            errors: ErrorPattern::Independent,
            offset: Duration::ZERO,
            iub_delay: Duration::ZERO,
        }
    }
}

impl DchConfig {
    /// The 64 kbit/s uplink of TS 34.108: 4 blocks every 20 ms.
    pub fn uplink_64k() -> Self {
        DchConfig { tti: Duration::from_millis(20), blocks: 4, ..DchConfig::default() }
    }

    /// The transport format of MAC.
    pub const fn format(&self) -> TransportFormat {
        TransportFormat { tti: self.tti, blocks: self.blocks, payload: self.block_payload }
    }

    /// Refuses invalid values.
    pub fn validate(&self) -> Result<Vec<Warning>, ConfigError> {
        check(TTIS.contains(&self.tti), "tti", "must be 10 us to 10 s, such as \"10 ms\"")?;
        check(self.blocks <= 64, "blocks", "a TTI carries at most 64 transport blocks")?;
        check(
            (10..=4095).contains(&self.block_payload.0),
            "block_payload",
            "a block carries 10 B to 4095 B after the RLC header, such as \"40 B\"",
        )?;
        check(self.offset < self.tti, "offset", "must be below one TTI")?;
        check((0.0..=1.0).contains(&self.bler.0), "bler", "must be 0 % to 100 %")?;
        Ok(Vec::new())
    }
}

/// TTIs of radio links: from a seventh of the shortest slot of NR (62.5 us) to a second and more
/// for satellites.
pub const TTIS: std::ops::RangeInclusive<Duration> = Duration::from_micros(10)..=Duration::from_secs(10);

/// The keys of a [`DchConfig`] that a scenario gives.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DchPatch {
    tti: Option<Duration>,
    blocks: Option<u32>,
    block_payload: Option<Bytes>,
    bler: Option<Ratio>,
    errors: Option<ErrorPattern>,
    offset: Option<Duration>,
    iub_delay: Option<Duration>,
}

impl DchPatch {
    /// The given keys, and those of `base` for the others.
    pub fn over(self, base: DchConfig) -> DchConfig {
        DchConfig {
            tti: self.tti.unwrap_or(base.tti),
            blocks: self.blocks.unwrap_or(base.blocks),
            block_payload: self.block_payload.unwrap_or(base.block_payload),
            bler: self.bler.unwrap_or(base.bler),
            errors: self.errors.unwrap_or(base.errors),
            offset: self.offset.unwrap_or(base.offset),
            iub_delay: self.iub_delay.unwrap_or(base.iub_delay),
        }
    }
}

/// Counters of a channel direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DchStats {
    /// TTIs with at least one block.
    pub ttis: u64,
    /// Blocks sent.
    pub blocks_sent: u64,
    /// Blocks lost.
    pub blocks_lost: u64,
}

/// One direction of a dedicated channel carrying blocks `B`.
///
/// Law of time: call [`Dch::wake`] whenever the sender may have received data; at `next_tti` pass
/// the blocks to [`Dch::send`]; at `next_arrival` take them with [`Dch::arrived`]. One arrival is
/// pending at most.
#[derive(Clone, Debug)]
pub struct Dch<B> {
    cfg: DchConfig,
    errors: BlockErrors,
    next_tti: Option<Instant>,
    /// Arrival time and decodable blocks of each TTI in transmission.
    ttis: VecDeque<(Instant, Vec<B>)>,
    /// Empty lists, to be used again.
    spare: Vec<Vec<B>>,
    stats: DchStats,
}

impl<B> Dch<B> {
    /// Creates a channel direction with the draws of `entity` in the run `seed`.
    pub fn new(cfg: DchConfig, seed: u64, entity: u64) -> Self {
        Dch {
            cfg,
            errors: BlockErrors::new(seed, entity, cfg.errors),
            next_tti: None,
            ttis: VecDeque::new(),
            spare: Vec::new(),
            stats: DchStats::default(),
        }
    }
    /// Its present parameters.
    pub const fn config(&self) -> &DchConfig {
        &self.cfg
    }
    /// Its counters.
    pub const fn stats(&self) -> &DchStats {
        &self.stats
    }
    /// Sets a new block error rate, in force from the next TTI.
    pub fn set_bler(&mut self, bler: Ratio) {
        self.cfg.bler = bler;
    }
    /// Sets a new number of blocks per TTI (at most 64), in force from the next TTI. Call `wake`
    /// afterwards.
    pub fn set_blocks(&mut self, blocks: u32) {
        self.cfg.blocks = blocks.min(64);
        if blocks == 0 {
            self.next_tti = None;
        }
    }
    /// When the next TTI with data starts; `None` while idle.
    pub const fn next_tti(&self) -> Option<Instant> {
        self.next_tti
    }
    /// When the next blocks arrive.
    pub fn next_arrival(&self) -> Option<Instant> {
        self.ttis.front().map(|(at, _)| *at)
    }

    /// Starts an idle channel with the next TTI if the sender has data. Data that arrives at the
    /// instant at which a TTI starts is sent in the next one.
    #[inline]
    pub fn wake(&mut self, now: Instant, has_data: bool) {
        if has_data && self.next_tti.is_none() && self.cfg.blocks > 0 {
            let offset = self.cfg.offset;
            self.next_tti = Some(match now.0.checked_sub(offset.0) {
                Some(t) => Instant(t).next_after(self.cfg.tti) + offset,
                None => Instant::ZERO + offset,
            });
        }
    }

    /// Sends `blocks` (at most `config().blocks`) in the TTI that starts `now`, with one draw each;
    /// the list is empty afterwards. Lost blocks are passed to `lost`. Call [`Dch::wake`]
    /// afterwards.
    pub fn send(&mut self, now: Instant, blocks: &mut Vec<B>, lost: impl FnMut(B)) {
        debug_assert_eq!(self.next_tti, Some(now), "a TTI off the grid");
        self.next_tti = None;
        let tti = Tti::containing(Instant(now.0 - self.cfg.offset.0), self.cfg.tti);
        let mut sent = 0;
        let is_lost = |_: &mut B| {
            let is_lost = self.errors.is_lost(tti, sent, self.cfg.bler);
            sent += 1;
            is_lost
        };
        blocks.extract_if(.., is_lost).for_each(lost);
        self.stats.blocks_sent += sent;
        self.stats.blocks_lost += sent - blocks.len() as u64;
        self.stats.ttis += u64::from(sent > 0);
        if !blocks.is_empty() {
            let empty = self.spare.pop().unwrap_or_default();
            let arrives = now + self.cfg.tti + self.cfg.iub_delay;
            self.ttis.push_back((arrives, std::mem::replace(blocks, empty)));
        }
    }

    /// True if [`send`](Self::send) will lose block number `index` of the TTI that starts `now`.
    pub fn will_lose(&self, now: Instant, index: u64) -> bool {
        let tti = Tti::containing(Instant(now.0 - self.cfg.offset.0), self.cfg.tti);
        self.errors.is_lost(tti, index, self.cfg.bler)
    }

    /// Takes the blocks of the next TTI that has arrived by `now`; [`Dch::recycle`] takes the list
    /// back.
    #[inline]
    pub fn arrived(&mut self, now: Instant) -> Option<Vec<B>> {
        let arrives = self.next_arrival().filter(|at| *at <= now);
        arrives.and_then(|_| self.ttis.pop_front()).map(|(_, blocks)| blocks)
    }

    /// Takes back a list of [`Dch::arrived`].
    pub fn recycle(&mut self, mut blocks: Vec<B>) {
        blocks.clear();
        self.spare.push(blocks);
    }

    /// Loses all blocks in transmission at a radio link failure; each is passed to `lost`.
    pub fn cut(&mut self, lost: impl FnMut(B)) {
        self.ttis.drain(..).flat_map(|(_, blocks)| blocks).for_each(lost);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_at_the_start_of_a_tti_waits_for_the_next_one() {
        let ms = Instant::from_millis;
        let mut dch: Dch<u8> = Dch::new(DchConfig { bler: Ratio(0.0), ..DchConfig::default() }, 1, 0);
        dch.wake(ms(20), true);
        assert_eq!(dch.next_tti(), Some(ms(30)));
        dch.send(ms(30), &mut vec![1, 2], |_| panic!("no errors"));
        assert_eq!((dch.next_tti(), dch.next_arrival()), (None, Some(ms(40))));
        dch.wake(ms(30), true);
        assert_eq!(dch.next_tti(), Some(ms(40)));
        assert_eq!(
            (dch.arrived(ms(39)), dch.arrived(ms(40)), dch.arrived(ms(40))),
            (None, Some(vec![1, 2]), None)
        );
        assert_eq!(dch.next_arrival(), None);
    }

    #[test]
    fn an_offset_moves_the_grid() {
        let cfg = DchConfig { offset: Duration::from_millis(3), ..DchConfig::default() };
        let mut dch: Dch<u8> = Dch::new(cfg, 1, 0);
        dch.wake(Instant::from_millis(1), true);
        assert_eq!(dch.next_tti(), Some(Instant::from_millis(3)));
        dch.send(Instant::from_millis(3), &mut Vec::new(), |_| ());
        dch.wake(Instant::from_millis(3), true);
        assert_eq!(dch.next_tti(), Some(Instant::from_millis(13)));
    }
}

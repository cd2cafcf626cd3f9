//! Loss of transport blocks with a given probability, as keyed draws.

use lasthop_engine::{Draw, Purpose};
use lasthop_units::{Ratio, Tti};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How block errors are distributed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorPattern {
    /// Each transport block is lost independently, with the block error rate as probability.
    #[default]
    Independent,
    /// All blocks of a TTI are lost together: one draw per TTI. The mean loss is the same;
    /// interruptions of the flow are longer.
    PerTti,
}

/// Blocks in a TTI that draws are numbered for: block `i` of TTI `n` has the index `64 n + i`.
pub const BLOCKS_PER_TTI_MAX: u64 = 64;

/// The outcomes of all blocks of one channel direction: a function of (seed, channel, TTI, block)
/// only, so skipped TTIs change no other outcome.
#[derive(Clone, Debug)]
pub struct BlockErrors {
    draw: Draw,
    pattern: ErrorPattern,
}

impl BlockErrors {
    /// Creates the errors of channel direction `entity` in the run `seed`.
    pub fn new(seed: u64, entity: u64, pattern: ErrorPattern) -> Self {
        BlockErrors { draw: Draw::new(seed, Purpose::BlockError, entity), pattern }
    }

    /// True when block number `block` of `tti` is lost at the block error rate `bler`. Blocks with
    /// separate outcomes are numbered 0 to 63; any number of blocks may share one outcome.
    #[inline]
    pub fn is_lost(&self, tti: Tti, block: u64, bler: Ratio) -> bool {
        let block = match self.pattern {
            ErrorPattern::Independent => block,
            ErrorPattern::PerTti => 0,
        };
        debug_assert!(block < BLOCKS_PER_TTI_MAX, "block {block} of a TTI");
        let index = tti.0 * BLOCKS_PER_TTI_MAX + block;
        bler.0 > 0.0 && self.draw.happens(index, bler.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// n = 12 * 10^4 blocks at p = 0.1: standard error sqrt(p (1-p) / n) = 8.7e-4, bound at 5 of
    /// them. With one draw per TTI n is 10^4: 3.0e-3.
    #[test]
    fn the_loss_rate_is_the_block_error_rate() {
        for (pattern, bound) in [(ErrorPattern::Independent, 4.4e-3), (ErrorPattern::PerTti, 1.5e-2)] {
            let errors = BlockErrors::new(1, 0, pattern);
            let lost = (0..10_000)
                .flat_map(|t| (0..12).map(move |b| (t, b)))
                .filter(|(t, b)| errors.is_lost(Tti(*t), *b, Ratio(0.1)))
                .count();
            assert!((lost as f64 / 120_000.0 - 0.1).abs() < bound, "{pattern:?}: {lost}");
        }
    }

    #[test]
    fn per_tti_errors_hit_all_blocks_of_a_tti() {
        let errors = BlockErrors::new(1, 0, ErrorPattern::PerTti);
        for t in 0..1000 {
            let first = errors.is_lost(Tti(t), 0, Ratio(0.3));
            assert!((1..12).all(|b| errors.is_lost(Tti(t), b, Ratio(0.3)) == first));
        }
    }

    #[test]
    fn a_perfect_and_a_dead_channel_are_exact() {
        let errors = BlockErrors::new(9, 4, ErrorPattern::Independent);
        assert!(
            (0..1000)
                .all(|t| !errors.is_lost(Tti(t), 3, Ratio(0.0)) && errors.is_lost(Tti(t), 3, Ratio(1.0)))
        );
    }

    /// RLC with fragments of 30 bytes puts hundreds of PDUs into a grant.
    #[test]
    fn blocks_with_a_common_outcome_may_be_many() {
        let errors = BlockErrors::new(1, 0, ErrorPattern::PerTti);
        for tti in 0..100 {
            let outcomes: Vec<bool> = (0..600).map(|b| errors.is_lost(Tti(tti), b, Ratio(0.5))).collect();
            assert!(outcomes.iter().all(|f| *f == outcomes[0]));
        }
    }
}

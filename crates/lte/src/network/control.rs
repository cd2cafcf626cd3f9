//! Control channels: their resource blocks, and the UEs that fail to receive them.

use std::sync::LazyLock;

use lasthop_engine::Draw;
use lasthop_radio::lte::{Modulation, control_error, mean_mi_of, sinr_db_of_mi};
use lasthop_units::{CellId, Tti};

use crate::phy::RbSet;
use crate::phy::air::AtUe;

/// Every fourth block represents the band: the PDCCH is spread over all of it.
const CONTROL_STEP: usize = 4;
/// Mutual information of QPSK at 0 dB is 0.486: above it the control channels are always received,
/// and the SINR need not be computed.
const CONTROL_SAFE: f32 = 0.5;
/// Steps of a draw for which [`safe`] stores its bound.
const DRAWS: usize = 64;

/// Mutual information with which a draw `uniform` never leads to a miss.
fn safe(uniform: f64) -> f32 {
    static SAFE: LazyLock<[f32; DRAWS]> = LazyLock::new(|| {
        let steps: [(f32, f64); 100] = std::array::from_fn(|step| {
            let mi = CONTROL_SAFE * step as f32 / 100.0;
            (mi, control_error(sinr_db_of_mi(Modulation::Qpsk, mi)))
        });
        // The error probability falls with the information: the lowest of the steps without a miss.
        let lowest = |draw: f64| steps.iter().find(|(_, error)| *error <= draw);
        std::array::from_fn(|i| lowest(i as f64 / DRAWS as f64).map_or(CONTROL_SAFE, |(mi, _)| *mi))
    });
    SAFE[((uniform * DRAWS as f64) as usize).min(DRAWS - 1)]
}

/// A block's information is at least 0, except for an error of 0.001 in its table.
const ROUNDING: f32 = 0.01;

/// Sum of the information of the blocks at `places` of `row`.
fn information(row: &[f32], places: &[u8]) -> f32 {
    mean_mi_of(Modulation::Qpsk, row, places.iter().map(|i| usize::from(*i))) * places.len() as f32
}

/// Reception of control channels by a UE.
#[derive(Clone, Copy, Debug)]
pub(super) struct ControlReception {
    /// Draws by TTI.
    errors: Draw,
}

impl ControlReception {
    /// Reception with the draws `errors`.
    pub const fn new(errors: Draw) -> ControlReception {
        ControlReception { errors }
    }

    /// True if the UE misses the `control` channels of the cell in `tti`. Every other cell
    /// interferes, since control channels are always sent.
    pub fn misses(&self, tti: Tti, id: CellId, control: &ControlBlocks, mut air: AtUe<'_>) -> bool {
        // The error probability, with which the draw is compared, falls with the information. For a
        // given draw some blocks may have so much of it that the others cannot change the result.
        let uniform = self.errors.uniform(tti.0);
        let enough = (safe(uniform) + ROUNDING) * control.blocks;
        let assured = air.assured(tti, id, |row| information(row, &control.all));
        if assured.is_some_and(|assured| assured > enough) {
            debug_assert!(!control.misses_by(tti, id, uniform, enough, air), "the bound is one");
            return false;
        }
        control.misses_by(tti, id, uniform, enough, air)
    }
}

/// Every fourth block of a carrier in parts whose fading is computed together: those whose distance
/// from the middle is 0 to 7, 8 to 15 and so on.
#[derive(Debug)]
pub(super) struct ControlBlocks {
    /// The blocks of a part, and the places of the control channels' blocks among them.
    parts: Vec<(RbSet, Vec<u8>)>,
    /// The places of the control channels' blocks in the carrier.
    all: Vec<u8>,
    /// Number of the control channels' blocks.
    blocks: f32,
}

impl ControlBlocks {
    /// The blocks of a carrier with `blocks` resource blocks.
    pub fn new(blocks: u32) -> ControlBlocks {
        let near = |count: u32| {
            let low = (blocks / 2).saturating_sub(count);
            RbSet::range(low, blocks - 2 * low)
        };
        let part = |i: u32| {
            let ring = near(8 * i + 8).without(if i == 0 { RbSet::EMPTY } else { near(8 * i) });
            let fourth = ring.iter().enumerate().filter(|(_, b)| (*b as usize).is_multiple_of(CONTROL_STEP));
            (ring, fourth.map(|(i, _)| i as u8).collect::<Vec<u8>>())
        };
        let parts: Vec<_> = (0..blocks.div_ceil(16)).map(part).filter(|(_, c)| !c.is_empty()).collect();
        let all: Vec<u8> = (0..blocks as u8).step_by(CONTROL_STEP).collect();
        ControlBlocks { parts, blocks: all.len() as f32, all }
    }

    /// True if `ue` misses the control channels with the draw `uniform`, by the blocks of all
    /// links.
    fn misses_by(&self, tti: Tti, id: CellId, uniform: f64, enough: f32, mut air: AtUe<'_>) -> bool {
        let (mut sum, mut n) = (0.0, 0);
        for (rbs, places) in self.parts.iter().take(if air.fades() { usize::MAX } else { 1 }) {
            sum += information(air.reborrow().reference(tti, id, *rbs, false), places);
            n += places.len();
            if sum > enough {
                return false;
            }
        }
        let mi = sum / n as f32;
        if mi > CONTROL_SAFE {
            return false;
        }
        uniform < control_error(sinr_db_of_mi(Modulation::Qpsk, mi))
    }

    /// The blocks that are read first.
    pub fn first(&self) -> RbSet {
        self.parts.first().map_or(RbSet::EMPTY, |(rbs, _)| *rbs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_control_channels_are_safe_their_error_is_none() {
        assert_eq!(control_error(sinr_db_of_mi(Modulation::Qpsk, CONTROL_SAFE)), 0.0);
    }

    /// On a fine grid of draws and information: above the bound no draw leads to a miss.
    #[test]
    fn a_safe_information_never_means_a_miss() {
        for l in 0..1000 {
            let uniform = f64::from(l) / 1000.0;
            for m in 0..=500 {
                let mi = m as f32 / 1000.0;
                let missed = uniform < control_error(sinr_db_of_mi(Modulation::Qpsk, mi));
                assert!(!missed || mi < safe(uniform), "{uniform} {mi}");
            }
        }
        assert!(safe(0.0) <= CONTROL_SAFE && safe(0.0) > 0.4);
        assert!(safe(0.5) < 0.15 && safe(0.5) > 0.05);
    }

    #[test]
    fn the_parts_of_the_control_channels_are_every_fourth_block_once() {
        for blocks in [6, 15, 25, 50, 75, 100, 110] {
            let mut seen = Vec::new();
            for (rbs, places) in &ControlBlocks::new(blocks).parts {
                let all: Vec<u32> = rbs.iter().collect();
                seen.extend(places.iter().map(|i| all[usize::from(*i)]));
            }
            seen.sort_unstable();
            let expected: Vec<u32> = (0..blocks).step_by(CONTROL_STEP).collect();
            assert_eq!(seen, expected, "{blocks}");
        }
    }
}

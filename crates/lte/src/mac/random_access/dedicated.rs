//! Preambles that a cell dedicates to UEs.

use super::RandomAccessConfig;

/// Preambles of a cell in all (TS 36.211 clause 5.7.2).
const PREAMBLES: u8 = 64;

/// The dedicated preambles of a cell: those that are not for contention. Each belongs to one UE at
/// a time (TS 36.300 clause 10.1.5).
#[derive(Clone, Debug, Default)]
pub struct DedicatedPreambles {
    /// Bit `n`: preamble `n` belongs to a UE.
    used: u64,
    /// The search for a free preamble starts here, counted from the first dedicated one: the one
    /// that was freed last is assigned last.
    next: u8,
}

impl DedicatedPreambles {
    /// Assigns a free preamble; None: all belong to UEs, or none is reserved.
    pub fn assign(&mut self, config: &RandomAccessConfig) -> Option<u8> {
        let reserved = PREAMBLES.saturating_sub(config.preambles);
        let places = (0..reserved).map(|i| (self.next + i) % reserved);
        let place = places.into_iter().find(|n| self.used >> (config.preambles + n) & 1 == 0)?;
        let preamble = config.preambles + place;
        self.used |= 1 << preamble;
        self.next = (place + 1) % reserved;
        Some(preamble)
    }

    /// Frees `preamble`.
    pub const fn free(&mut self, preamble: u8) {
        self.used &= !(1 << preamble);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 64 preambles 60 are for contention. Each of the other four belongs to one UE (TS 36.300
    /// clause 10.1.5), so the fifth UE has none until one is free.
    #[test]
    fn a_preamble_belongs_to_one_ue_until_it_is_freed() {
        let config = RandomAccessConfig { preambles: 60, ..RandomAccessConfig::default() };
        let mut cell = DedicatedPreambles::default();
        let assigned: Vec<_> = (0..5).map(|_| cell.assign(&config)).collect();
        assert_eq!(assigned, [Some(60), Some(61), Some(62), Some(63), None]);
        cell.free(62);
        assert_eq!([cell.assign(&config), cell.assign(&config)], [Some(62), None]);
    }

    #[test]
    fn a_cell_with_64_preambles_for_contention_has_none_to_assign() {
        let config = RandomAccessConfig { preambles: 64, ..RandomAccessConfig::default() };
        assert_eq!(DedicatedPreambles::default().assign(&config), None);
    }
}

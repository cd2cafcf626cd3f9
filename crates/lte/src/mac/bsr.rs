//! Buffer status reports: their levels (TS 36.321 clause 6.1.3.1) and the procedure of a UE (clause
//! 5.4.5).

mod report;

pub use report::{BsrConfig, Buffers, GROUPS, Report, Reporting, Trailing};

/// Upper bounds of the levels 1 to 62 [B], TS 36.321 v15.1.0 table 6.1.3.1-1.
///
/// Derivation: ceil(10 * 15000^((i - 1) / 61)), from 10 B to 150 000 B in equal ratios; the test
/// recomputes it.
const LEVELS: [u32; 62] = [
    10, 12, 14, 17, 19, 22, 26, 31, 36, 42, 49, 57, 67, 78, 91, 107, 125, 146, 171, 200, 234, 274, 321, 376,
    440, 515, 603, 706, 826, 967, 1132, 1326, 1552, 1817, 2127, 2490, 2915, 3413, 3995, 4677, 5476, 6411,
    7505, 8787, 10287, 12043, 14099, 16507, 19325, 22624, 26487, 31009, 36304, 42502, 49759, 58255, 68201,
    79846, 93479, 109_439, 128_125, 150_000,
];

/// Bytes for which the eNB takes a report of the highest level, which means more than 150 000 B.
const BEYOND: u32 = 150_000;

/// The level that a UE reports for `bytes` in its buffer, 0 to 63.
pub fn level(bytes: u64) -> u8 {
    if bytes == 0 {
        return 0;
    }
    1 + LEVELS.partition_point(|bound| u64::from(*bound) < bytes) as u8
}

/// Bytes for which the eNB takes a level: its upper bound [B].
pub fn bytes(level: u8) -> u32 {
    match level {
        0 => 0,
        1..=62 => LEVELS[usize::from(level) - 1],
        _ => BEYOND,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_engine::math;

    #[test]
    fn the_levels_are_equal_ratios_from_10_to_150000_bytes() {
        for (i, bound) in LEVELS.iter().enumerate() {
            // The last bound is 10 * 15000 exactly; a rounding error upwards must not add a byte.
            let exact = 10.0 * math::pow(15_000.0, i as f64 / 61.0);
            assert_eq!(*bound, (exact - 1e-6).ceil() as u32, "level {}", i + 1);
        }
        // Two values that other codes have wrong: 93749 and 4667.
        assert_eq!((bytes(59), bytes(40)), (93_479, 4677));
    }

    #[test]
    fn a_report_never_understates_what_it_can_express() {
        assert_eq!((level(0), level(1), level(10), level(11)), (0, 1, 1, 2));
        assert_eq!((level(150_000), level(150_001), level(u64::MAX)), (62, 63, 63));
        for n in 1..=150_000 {
            assert!(u64::from(bytes(level(n))) >= n);
        }
        assert_eq!(bytes(63), 150_000);
    }
}

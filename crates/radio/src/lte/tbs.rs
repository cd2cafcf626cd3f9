//! Transport block sizes: TS 36.213 tables 7.1.7.2.1-1, for blocks on one spatial layer, and
//! 7.1.7.2.2-1, for blocks on two.

/// The table has rows for 1 to 110 resource blocks.
pub const PRB_MAX: usize = 110;
/// The largest I_TBS; 27 to 33 are for 256QAM only.
pub const I_TBS_MAX: u8 = 33;

const COLUMNS: usize = I_TBS_MAX as usize + 1;

/// The size in bits of a transport block on `prbs` resource blocks (1 to 110) with index `i_tbs` (0
/// to 33); `None` outside the table.
///
/// Sizes are not monotone everywhere: one block with I_TBS 6 carries 328 bits and with I_TBS 7 only
/// 104.
#[inline]
pub fn tbs_bits(prbs: usize, i_tbs: u8) -> Option<u32> {
    let row = TABLE.get(prbs.checked_sub(1)?)?;
    row.get(usize::from(i_tbs)).map(|octets| u32::from(*octets) * 8)
}

/// Largest number of resource blocks on which a block of two layers is as large as one of one layer
/// on twice as many; above it, table 7.1.7.2.2-1 translates the size of one layer (TS 36.213 clause
/// 7.1.7.2.2).
const TWICE: usize = PRB_MAX / 2;

/// The size in bits of a transport block on `layers` spatial layers (1 or 2), `prbs` resource
/// blocks (1 to 110) and index `i_tbs` (0 to 33; with two layers on more than 55 blocks 0 to 26,
/// which the table of Release 8 translates); `None` outside the tables.
#[inline]
pub fn tbs_bits_on_layers(prbs: usize, i_tbs: u8, layers: usize) -> Option<u32> {
    match layers {
        1 => tbs_bits(prbs, i_tbs),
        2 if prbs <= TWICE => tbs_bits(2 * prbs, i_tbs),
        2 => {
            let octets = (tbs_bits(prbs, i_tbs)? / 8) as u16;
            let row = TWO_LAYERS.binary_search_by_key(&octets, |row| row[0]).ok()?;
            Some(u32::from(TWO_LAYERS[row][1]) * 8)
        }
        _ => None,
    }
}

/// The largest block of up to `prbs` resource blocks with index `i_tbs`: the most that a grant can
/// carry.
pub fn largest_tbs_bits(prbs: usize, i_tbs: u8) -> u32 {
    (1..=prbs.min(PRB_MAX)).filter_map(|n| tbs_bits(n, i_tbs)).max().unwrap_or(0)
}

/// Octets: every size is a multiple of 8 bits. Row: number of resource blocks - 1.
static TABLE: [[u16; COLUMNS]; PRB_MAX] = one_layer(include_bytes!("../../data/tbs_36213_7.1.7.2.1-1.csv"));

/// Octets of a block of one layer, and of the block that replaces it on two.
static TWO_LAYERS: [[u16; 2]; 112] = two_layers(include_bytes!("../../data/tbs_36213_7.1.7.2.2-1.csv"));

/// A row is a number of resource blocks and their sizes.
const fn one_layer(csv: &[u8]) -> [[u16; COLUMNS]; PRB_MAX] {
    let rows: [[u32; COLUMNS + 1]; PRB_MAX] = numbers(csv);
    let mut table = [[0; COLUMNS]; PRB_MAX];
    let (mut row, mut column) = (0, 0);
    while row < PRB_MAX {
        assert!(rows[row][0] == row as u32 + 1, "rows are numbered by resource blocks");
        while column < COLUMNS {
            table[row][column] = octets(rows[row][column + 1]);
            column += 1;
        }
        (row, column) = (row + 1, 0);
    }
    table
}

/// A row is the size on one layer and that on two.
const fn two_layers<const N: usize>(csv: &[u8]) -> [[u16; 2]; N] {
    let rows: [[u32; 2]; N] = numbers(csv);
    let mut table = [[0; 2]; N];
    let mut row = 0;
    while row < N {
        table[row] = [octets(rows[row][0]), octets(rows[row][1])];
        row += 1;
    }
    table
}

const fn octets(bits: u32) -> u16 {
    assert!(bits > 0 && bits.is_multiple_of(8), "sizes are whole octets");
    (bits / 8) as u16
}

/// Reads a table with a header line at compile time: an invalid file does not compile.
const fn numbers<const C: usize, const R: usize>(csv: &[u8]) -> [[u32; C]; R] {
    let mut table = [[0; C]; R];
    let (mut at, mut row) = (0, 0);
    while csv[at] != b'\n' {
        at += 1;
    }
    at += 1;
    while row < R {
        let mut field = 0;
        while field < C {
            let mut value: u32 = 0;
            while at < csv.len() && csv[at].is_ascii_digit() {
                value = value * 10 + (csv[at] - b'0') as u32;
                at += 1;
            }
            table[row][field] = value;
            while at < csv.len() && (csv[at] == b',' || csv[at] == b'\r' || csv[at] == b'\n') {
                at += 1;
            }
            field += 1;
        }
        row += 1;
    }
    assert!(at == csv.len(), "nothing follows the last row");
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All 27 x 110 sizes of Release 8 and the 7 x 110 of Release 12, read from the file a second
    /// way.
    #[test]
    fn all_sizes_are_those_of_the_file() {
        let text = include_str!("../../data/tbs_36213_7.1.7.2.1-1.csv");
        let mut release8 = 0;
        for line in text.lines().skip(1) {
            let row: Vec<u32> = line.split(',').map(|x| x.trim().parse().unwrap()).collect();
            for (i, size) in row[1..].iter().enumerate() {
                assert_eq!(tbs_bits(row[0] as usize, i as u8), Some(*size), "{} PRB, I_TBS {i}", row[0]);
                release8 += usize::from(i <= 26);
            }
        }
        assert_eq!(release8, 2970);
    }

    /// Rows typed in by hand from the standard, and the peak rates of the six bandwidths [Mbit/s].
    #[test]
    fn the_rows_most_used_hold() {
        let row50 = [
            1384, 1800, 2216, 2856, 3624, 4392, 5160, 6200, 6968, 7992, 8760, 9912, 11448, 12960, 14112,
            15264, 16416, 18336, 19848, 21384, 22920, 25456, 27376, 28336, 30576, 31704, 36696,
        ];
        for (i, size) in row50.into_iter().enumerate() {
            assert_eq!(tbs_bits(50, i as u8), Some(size));
        }
        let peaks = [(6, 4392), (15, 11064), (25, 18336), (50, 36696), (75, 55056), (100, 75376)];
        for (prbs, size) in peaks {
            assert_eq!(tbs_bits(prbs, 26), Some(size));
        }
        assert_eq!(tbs_bits(100, 19), Some(43816));
    }

    /// The one size at which ns-3 differs on purpose (88): the standard has 328.
    #[test]
    fn one_block_of_index_6_is_the_standards() {
        assert_eq!(tbs_bits(1, 6), Some(328));
        assert!(tbs_bits(1, 7) < tbs_bits(1, 6) && tbs_bits(2, 6) < tbs_bits(1, 6));
        assert_eq!(largest_tbs_bits(2, 6), 328);
    }

    /// The translation has a row for each size of one layer on 56 to 110 blocks, and no
    /// other. Its results up to 75 376 bits are sizes of table 7.1.7.2.1-1; all are segmented into
    /// equal code blocks without filler bits, as the sizes of the standard are (TS 36.212 clause
    /// 5.1.2); and they are twice the size of one layer within 2 %.
    #[test]
    fn the_translation_to_two_layers_is_whole_and_fits_the_code_blocks() {
        let sizes = |prbs: std::ops::RangeInclusive<usize>| -> std::collections::BTreeSet<u32> {
            prbs.flat_map(|n| (0..=26).filter_map(move |i| tbs_bits(n, i))).collect()
        };
        let rows: Vec<[u32; 2]> =
            TWO_LAYERS.iter().map(|row| row.map(|octets| u32::from(octets) * 8)).collect();
        let keys = rows.iter().map(|row| row[0]).collect();
        assert_eq!(sizes(56..=110), keys);
        let all = sizes(1..=110);
        for [one, two] in rows {
            assert!(two > 75_376 || all.contains(&two), "{two}");
            assert!((f64::from(two) / f64::from(2 * one) - 1.0).abs() < 0.02, "{one} {two}");
            let blocks = crate::lte::code_blocks(two);
            assert_eq!(blocks.filler, 0, "{two}: {blocks:?}");
        }
    }

    #[test]
    fn two_layers_are_twice_the_blocks_or_the_translated_size() {
        assert_eq!(tbs_bits_on_layers(50, 26, 1), Some(36_696));
        assert_eq!(tbs_bits_on_layers(50, 26, 2), Some(75_376));
        assert_eq!(tbs_bits_on_layers(55, 9, 2), tbs_bits(110, 9));
        assert_eq!(tbs_bits_on_layers(56, 0, 2), Some(3112));
        assert_eq!(tbs_bits_on_layers(75, 26, 2), Some(110_136));
        assert_eq!(tbs_bits_on_layers(100, 26, 2), Some(149_776));
        assert_eq!((tbs_bits_on_layers(111, 0, 2), tbs_bits_on_layers(50, 0, 3)), (None, None));
    }

    #[test]
    fn outside_the_table_there_is_nothing() {
        assert_eq!((tbs_bits(0, 0), tbs_bits(111, 0), tbs_bits(1, 34)), (None, None, None));
    }
}

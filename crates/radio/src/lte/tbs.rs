//! Transport block sizes: TS 36.213 table 7.1.7.2.1-1, for blocks on one spatial layer.

/// The table has rows for 1 to 110 resource blocks.
pub const PRB_MAX: usize = 110;
/// The largest I_TBS; 27 to 33 came with 256QAM.
pub const I_TBS_MAX: u8 = 33;

const COLUMNS: usize = I_TBS_MAX as usize + 1;

/// The size in bits of a transport block on `prbs` resource blocks (1 to 110) with index `i_tbs` (0
/// to 33); nothing outside the table.
///
/// Sizes are not monotone everywhere: one block with I_TBS 6 carries 328 bits and with I_TBS 7 only
/// 104.
#[inline]
pub fn tbs_bits(prbs: usize, i_tbs: u8) -> Option<u32> {
    let row = TABLE.get(prbs.checked_sub(1)?)?;
    row.get(usize::from(i_tbs)).map(|octets| u32::from(*octets) * 8)
}

/// The largest block of up to `prbs` resource blocks with index `i_tbs`: what a grant can carry at
/// most.
pub fn largest_tbs_bits(prbs: usize, i_tbs: u8) -> u32 {
    (1..=prbs.min(PRB_MAX)).filter_map(|n| tbs_bits(n, i_tbs)).max().unwrap_or(0)
}

/// Octets: every size is a multiple of 8 bits. Row: number of resource blocks - 1.
static TABLE: [[u16; COLUMNS]; PRB_MAX] = octets(include_bytes!("../../data/tbs_36213_7.1.7.2.1-1.csv"));

/// Reads the table (a head line, then the number of blocks and 34 sizes in bits a line) while the
/// crate is compiled: a wrong file does not compile.
#[allow(long_running_const_eval)]
const fn octets(csv: &[u8]) -> [[u16; COLUMNS]; PRB_MAX] {
    let mut table = [[0; COLUMNS]; PRB_MAX];
    let (mut at, mut row) = (0, 0);
    while csv[at] != b'\n' {
        at += 1;
    }
    at += 1;
    while row < PRB_MAX {
        let mut field = 0;
        while field <= COLUMNS {
            let mut value: u32 = 0;
            while at < csv.len() && csv[at].is_ascii_digit() {
                value = value * 10 + (csv[at] - b'0') as u32;
                at += 1;
            }
            if field == 0 {
                assert!(value == row as u32 + 1, "rows are numbered by resource blocks");
            } else {
                assert!(value > 0 && value.is_multiple_of(8), "sizes are whole octets");
                table[row][field - 1] = (value / 8) as u16;
            }
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

    /// The one cell where ns-3 differs on purpose (88): the standard has 328.
    #[test]
    fn one_block_of_index_6_is_the_standards() {
        assert_eq!(tbs_bits(1, 6), Some(328));
        assert!(tbs_bits(1, 7) < tbs_bits(1, 6) && tbs_bits(2, 6) < tbs_bits(1, 6));
        assert_eq!(largest_tbs_bits(2, 6), 328);
    }

    #[test]
    fn outside_the_table_there_is_nothing() {
        assert_eq!((tbs_bits(0, 0), tbs_bits(111, 0), tbs_bits(1, 34)), (None, None, None));
    }
}

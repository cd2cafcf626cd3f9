//! Keys of random draws that follow names.

/// A number that stands for a name in random keys: FNV-1a, 64 bit. Keys follow names, not
/// positions, so that a new link or flow leaves the draws of all others unchanged.
pub(crate) fn name_key(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3))
}

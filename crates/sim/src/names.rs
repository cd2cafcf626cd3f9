//! Keys of random draws, made from names.

/// The number of a name in the keys of draws: FNV-1a, 64 bit. Keys depend on names, not on
/// positions, so that a new link or flow leaves the draws of all others unchanged.
pub(crate) fn name_key(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3))
}

//! Fragmentation: cutting a packet to a hop's MTU.

use thiserror::Error;

/// Bytes of an IPv4 header without options.
pub const HEADER_SIZE: u32 = 20;
/// The smallest MTU of any link (RFC 791 §3.2): every link forwards 68 bytes unfragmented.
pub const MIN_MTU: u32 = 68;

/// Which part of an original packet's payload a fragment carries. Packed: every packet has room for
/// one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(Rust, packed)]
pub struct Fragment {
    /// First byte, from the start of the original's IP payload; a multiple of 8.
    pub offset: u32,
    /// Bytes of IP payload in this fragment.
    pub len: u32,
    /// More fragments follow (the MF flag).
    pub more: bool,
}

impl Fragment {
    /// One past its last byte.
    pub const fn end(&self) -> u32 {
        self.offset + self.len
    }
    /// Total length of the IP packet that carries it [bytes].
    pub const fn size(&self) -> u32 {
        HEADER_SIZE + self.len
    }
}

/// A packet with "don't fragment" is larger than an MTU: the report of the router to the source
/// (ICMP type 3 code 4, RFC 792, with the MTU of RFC 1191 §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "fragmentation needed: a packet of {size} bytes that must not be fragmented met an MTU of {mtu} bytes"
)]
pub struct FragmentationNeeded {
    /// Total length of the packet [bytes].
    pub size: u32,
    /// MTU of the next hop [bytes].
    pub mtu: u32,
}

/// The fragments of one packet, first to last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fragments {
    next: u32,
    end: u32,
    /// Payload of a full fragment: a multiple of 8.
    step: u32,
    /// Whether the packet that is cut was itself followed by more.
    more: bool,
}

/// Cuts a packet of `size` bytes in all for a hop of `mtu` bytes. `Ok(None)`: it fits as it is.
/// `part` is the fragment that the packet already is, if it is one. An MTU below [`MIN_MTU`] counts
/// as [`MIN_MTU`].
///
/// RFC 791 §2.3: every fragment but the last carries a multiple of 8 bytes, each with a header of
/// its own (20 bytes here: descriptors have no IP options).
///
/// # Errors
/// [`FragmentationNeeded`] if `dont_fragment` is set and the packet does not fit: drop it and
/// notify the source.
pub fn fragment(
    size: u32,
    part: Option<Fragment>,
    dont_fragment: bool,
    mtu: u32,
) -> Result<Option<Fragments>, FragmentationNeeded> {
    let mtu = mtu.max(MIN_MTU);
    if size <= mtu {
        return Ok(None);
    }
    if dont_fragment {
        return Err(FragmentationNeeded { size, mtu });
    }
    let whole = Fragment { offset: 0, len: size - HEADER_SIZE, more: false };
    let part = part.unwrap_or(whole);
    debug_assert_eq!(part.size(), size, "a fragment's size is its payload and one header");
    let step = (mtu - HEADER_SIZE) / 8 * 8;
    Ok(Some(Fragments { next: part.offset, end: part.end(), step, more: part.more }))
}

impl Iterator for Fragments {
    type Item = Fragment;
    fn next(&mut self) -> Option<Fragment> {
        if self.next >= self.end {
            return None;
        }
        let len = self.step.min(self.end - self.next);
        let fragment = Fragment { offset: self.next, len, more: self.more || self.next + len < self.end };
        self.next += len;
        Some(fragment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 3000 bytes over 1500: payload 2980 = 1480 + 1480 + 20, each with 20 bytes of header.
    #[test]
    fn three_thousand_bytes_are_three_fragments_over_ethernet() {
        let parts: Vec<Fragment> = fragment(3000, None, false, 1500).unwrap().unwrap().collect();
        assert_eq!(
            parts.iter().map(|f| (f.offset, f.size(), f.more)).collect::<Vec<_>>(),
            [(0, 1500, true), (1480, 1500, true), (2960, 40, false)]
        );
    }

    #[test]
    fn what_fits_is_left_alone_and_what_must_not_be_cut_is_reported() {
        assert_eq!(fragment(1500, None, true, 1500), Ok(None));
        let error = fragment(1501, None, true, 1500).unwrap_err();
        assert_eq!(error, FragmentationNeeded { size: 1501, mtu: 1500 });
        assert!(error.to_string().contains("1501 bytes"));
    }

    proptest! {
        #[test]
        fn fragments_tile_the_payload_with_any_mtus(
            size in 21u32..65_536,
            mtus in proptest::collection::vec(1u32..3_000, 1..4),
        ) {
            let mut parts = vec![None];
            for mtu in &mtus {
                parts = parts
                    .into_iter()
                    .flat_map(|part: Option<Fragment>| {
                        let size = part.map_or(size, |p| p.size());
                        match fragment(size, part, false, *mtu).unwrap() {
                            None => vec![part],
                            Some(cut) => cut.map(Some).collect(),
                        }
                    })
                    .collect();
            }
            let mut at = 0;
            let last = parts.len() - 1;
            for (i, part) in parts.iter().enumerate() {
                let Some(p) = part else { prop_assert!(last == 0); continue };
                prop_assert_eq!(p.offset, at);
                prop_assert!(p.len > 0 && (p.len % 8 == 0 || i == last));
                prop_assert_eq!(p.more, i != last);
                prop_assert!(p.size() <= *mtus.iter().min().unwrap().max(&MIN_MTU));
                at = p.end();
            }
            prop_assert!(last == 0 && parts[0].is_none() || at == size - HEADER_SIZE);
        }
    }
}

//! Sequence numbers that wrap, and stream offsets that do not.
//!
//! Wrapping numbers have no absolute order (`Seq` and `Sn` do not implement `Ord`): they are
//! compared only relative to a base, as RFC 9293 section 3.4 and the RLC specifications define.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A TCP sequence number (RFC 9293 section 3.4): 32 bits, wrapping, without `Ord`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Seq(pub u32);

impl Seq {
    /// `self - other` modulo 2^32, read as a signed distance.
    #[inline]
    pub const fn distance_from(self, other: Seq) -> i32 {
        self.0.wrapping_sub(other.0) as i32
    }
    /// True if `self` is before `other` (RFC 9293 section 3.4; RFC 7323 section 5.2 for the
    /// half-space rule). rule).
    #[inline]
    pub const fn before(self, other: Seq) -> bool {
        self.distance_from(other) < 0
    }
    /// The 64-bit stream offset of this number, given an offset nearby.
    #[inline]
    pub const fn unwrap_near(self, isn: Seq, near: StreamOffset) -> StreamOffset {
        let near_seq = isn.0.wrapping_add(near.0 as u32);
        let d = self.0.wrapping_sub(near_seq) as i32;
        StreamOffset(near.0.wrapping_add_signed(d as i64))
    }
}

impl Add<u32> for Seq {
    type Output = Seq;
    fn add(self, n: u32) -> Seq {
        Seq(self.0.wrapping_add(n))
    }
}
impl Sub<u32> for Seq {
    type Output = Seq;
    fn sub(self, n: u32) -> Seq {
        Seq(self.0.wrapping_sub(n))
    }
}
impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A half-open range of sequence numbers `[start, end)`, such as a SACK block (RFC 2018).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SeqRange {
    /// The first number in the range.
    pub start: Seq,
    /// The first number after the range.
    pub end: Seq,
}

impl SeqRange {
    /// Number of sequence numbers in the range.
    pub const fn len(self) -> u32 {
        self.end.0.wrapping_sub(self.start.0)
    }
    /// True when `start == end`.
    pub const fn is_empty(self) -> bool {
        self.start.0 == self.end.0
    }
}

/// A position in a byte stream that never wraps. Offset 0 is the SYN's sequence number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamOffset(pub u64);

impl StreamOffset {
    /// The 32-bit sequence number, given the initial sequence number.
    #[inline]
    pub const fn wrap(self, isn: Seq) -> Seq {
        Seq(isn.0.wrapping_add(self.0 as u32))
    }
}
impl Add<u64> for StreamOffset {
    type Output = StreamOffset;
    fn add(self, n: u64) -> StreamOffset {
        StreamOffset(self.0 + n)
    }
}
impl AddAssign<u64> for StreamOffset {
    fn add_assign(&mut self, n: u64) {
        self.0 += n;
    }
}
impl Sub for StreamOffset {
    type Output = u64;
    fn sub(self, o: StreamOffset) -> u64 {
        self.0 - o.0
    }
}

/// A link-layer sequence number of `BITS` bits (1 to 31): RLC SN, PDCP SN. Compared only by its
/// distance from a base, by the modulus base of the specifications (TS 25.322 clause 9.4, TS 36.322
/// clause 7.1).
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Sn<const BITS: u32>(u32);

impl<const BITS: u32> Sn<BITS> {
    /// Number of different sequence numbers.
    pub const MODULUS: u32 = 1 << BITS;
    const MASK: u32 = Self::MODULUS - 1;

    /// `n` modulo 2^BITS.
    #[inline]
    pub const fn new(n: u32) -> Self {
        Sn(n & Self::MASK)
    }
    /// The number itself.
    #[inline]
    pub const fn get(self) -> u32 {
        self.0
    }
    /// `(self - base) mod 2^BITS`: order relative to a base.
    #[inline]
    pub const fn distance_from(self, base: Self) -> u32 {
        self.0.wrapping_sub(base.0) & Self::MASK
    }
    /// The number after this one.
    #[inline]
    pub const fn next(self) -> Self {
        Sn((self.0 + 1) & Self::MASK)
    }
    /// True when `self` is in the half-open interval `[from, to)` of the number circle.
    #[inline]
    pub const fn is_within(self, from: Self, to: Self) -> bool {
        self.distance_from(from) < to.distance_from(from)
    }
}
impl<const BITS: u32> Add<u32> for Sn<BITS> {
    type Output = Self;
    fn add(self, n: u32) -> Self {
        Sn::new(self.0.wrapping_add(n))
    }
}
impl<const BITS: u32> Sub<u32> for Sn<BITS> {
    type Output = Self;
    fn sub(self, n: u32) -> Self {
        Sn::new(self.0.wrapping_sub(n))
    }
}
impl<const BITS: u32> fmt::Debug for Sn<BITS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sn{BITS}({})", self.0)
    }
}
impl<const BITS: u32> fmt::Display for Sn<BITS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A PDCP COUNT: hyper frame number and sequence number in 32 bits (TS 36.323 clause 6.3.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Count(pub u32);

impl Count {
    /// The low `bits` bits, which the header contains.
    pub const fn sn(self, bits: u32) -> u32 {
        self.0 & ((1 << bits) - 1)
    }
    /// The hyper frame number above `bits` bits of SN.
    pub const fn hfn(self, bits: u32) -> u32 {
        self.0 >> bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tcp_numbers_wrap_and_unwrap_near_a_known_offset() {
        let isn = Seq(u32::MAX - 10);
        let far = StreamOffset(3 * (1 << 32) + 5);
        assert_eq!(far.wrap(isn), Seq(u32::MAX - 10) + 5);
        assert_eq!(far.wrap(isn).unwrap_near(isn, far + 1000), far);
        assert_eq!((far + 2000).wrap(isn).unwrap_near(isn, far), far + 2000);
        assert!(Seq(u32::MAX).before(Seq(0)));
        assert!(!Seq(0).before(Seq(u32::MAX)));
    }

    #[test]
    fn link_layer_numbers_are_ordered_by_distance_from_a_base() {
        type S = Sn<12>;
        let base = S::new(4090);
        assert_eq!(S::new(3).distance_from(base), 9);
        assert!(S::new(3).is_within(base, base + 10));
        assert!(!S::new(4).is_within(base, base + 10));
        assert_eq!(S::new(4095).next(), S::new(0));
        assert_eq!(S::new(2) - 5, S::new(4093));
    }
}

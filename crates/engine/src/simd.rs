//! Loops over many numbers, compiled a second time for processors with wide vectors.
//!
//! What is built for every x86-64 processor has four lanes of single precision. [`wide`] runs a
//! [`Kernel`] with eight where the processor has AVX2 and FMA. The results are the same to the bit:
//! the operations and their order are those of the source, no lane depends on their number, and a
//! multiplication and an addition have one rounding where the source says so ([`Fused`]) and two
//! everywhere else.
//!
//! [`prefetch`] is the other thing that a loop over much memory needs from the processor: to fetch
//! what the next turn reads.

/// A piece of work whose loops gain from wide vectors. It has to be worth the call: some dozen
/// numbers.
pub trait Kernel {
    /// What comes out.
    type Output;
    /// Does it. Write `#[inline(always)]` here and at all that it calls in its loops: only what
    /// becomes part of the kernel is compiled twice.
    fn run<F: Fused>(self) -> Self::Output;
}

/// A multiplication and an addition with one rounding (fusedMultiplyAdd of IEEE 754-2008 clause
/// 5.4.1), as the processor at hand does it. Both ways give the same bits.
pub trait Fused {
    /// a * b + c. What is not finite gives something that is of no use.
    fn fma(a: f32, b: f32, c: f32) -> f32;
}

/// By the processor's instruction: half of the instructions of a product and a sum.
#[derive(Clone, Copy, Debug)]
pub struct Instruction;

impl Fused for Instruction {
    #[inline(always)]
    fn fma(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
}

/// Where there is none: in double precision. The product of two numbers of 24 bits is exact in 53.
/// The sum is rounded to odd: where it is inexact, the last bit of the 53 is 1. A rounding to odd
/// with at least two bits more than the result changes nothing about the rounding after it (S.
/// Boldo, G. Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms using
/// rounding to odd", IEEE Trans. Computers 57(4), 2008). The platform's `fmaf` would switch the
/// rounding mode for every number.
#[derive(Clone, Copy, Debug)]
pub struct Emulated;

impl Fused for Emulated {
    #[inline(always)]
    fn fma(a: f32, b: f32, c: f32) -> f32 {
        let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
        let sum = product + c;
        // What its rounding has left out, exactly (D. E. Knuth's TwoSum).
        let of_c = sum - product;
        let left = (product - (sum - of_c)) + (c - of_c);
        let bits = sum.to_bits();
        // Of the two neighbours of the exact sum one is odd; an even one is rounded away from it.
        let outwards = (left > 0.0) == (sum > 0.0);
        let odd = if outwards { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
        f64::from_bits(if left == 0.0 || bits & 1 == 1 { bits } else { odd }) as f32
    }
}

/// Runs `kernel` with the widest vectors that the processor has.
#[inline]
pub fn wide<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        #[allow(unsafe_code)]
        // SAFETY: the processor has just reported AVX2 and FMA, the only things that the call
        // requires.
        return unsafe { with_avx2(kernel) };
    }
    // Every processor of 64 bits by Arm has the instruction.
    #[cfg(target_arch = "aarch64")]
    return kernel.run::<Instruction>();
    #[cfg(not(target_arch = "aarch64"))]
    kernel.run::<Emulated>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn with_avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<Instruction>()
}

/// Prefetches `what` into the cache where the processor supports it: nothing waits for it, and
/// nothing but time depends on it. For data that will be read soon, is rarely in a near cache, and
/// is in several places: they come side by side. A line of memory for every 64 bytes; where `what`
/// ends in a line more, that one is left.
#[inline(always)]
pub fn prefetch<T: ?Sized>(what: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let (first, size) = (std::ptr::from_ref(what).cast::<i8>(), size_of_val(what));
        let mut at = 0;
        while at < size {
            #[allow(unsafe_code)]
            // SAFETY: SSE belongs to every x86-64 processor, and prefetching neither reads nor
            // writes, wherever it points.
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(first.wrapping_add(at));
            }
            at += LINE;
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = what;
}

/// Bytes of a cache line.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    /// It has no effect that could be seen: all that can fail here is that it reads or writes where
    /// it must not.
    #[test]
    fn what_comes_near_stays_as_it_is() {
        let bytes: Vec<u8> = (0..200).collect();
        for n in [0, 1, 63, 64, 65, 200] {
            prefetch(&bytes[..n]);
        }
        prefetch(&[(1.0, 2)][0]);
        assert_eq!(bytes[199], 199);
    }

    struct Horner<'a>(&'a [f32], &'a mut [f32]);

    impl Kernel for Horner<'_> {
        type Output = ();
        #[inline(always)]
        fn run<F: Fused>(self) {
            for (x, y) in self.0.iter().zip(self.1) {
                *y = (F::fma(x * 0.3 - 1.7, *x, 0.9)) * x / (1.0 + x * x);
            }
        }
    }

    /// With another multiplication and addition joined, about a third of these would differ in
    /// their last bit.
    #[test]
    fn wide_or_not_the_bits_are_the_same() {
        let x: Vec<f32> = (0..1003).map(|i| i as f32 * 0.017 - 8.0).collect();
        let (mut plain, mut lanes) = (vec![0.0; x.len()], vec![0.0; x.len()]);
        Horner(&x, &mut plain).run::<Emulated>();
        wide(Horner(&x, &mut lanes));
        let bits = |y: &[f32]| y.iter().map(|y| y.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&plain), bits(&lanes));
    }

    /// The same bits as `mul_add`, which the standard library guarantees to round once: numbers of
    /// all sizes, sums that nearly vanish, and sums just beside the middle between two numbers of
    /// single precision, where two roundings go wrong.
    #[test]
    fn emulated_or_not_the_bits_are_the_same() {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        let mut two_roundings = 0;
        for i in 0..300_000u64 {
            let mut number = |spread: u64| {
                let exponent = 127 - spread / 2 + next() % spread.max(1);
                f32::from_bits((next() as u32 & 0x807f_ffff) | (exponent as u32) << 23)
            };
            let (a, b) = (number(i % 40 + 1), number(i % 60 + 1));
            let c = match i % 3 {
                0 => number(i % 80 + 1),
                // What is left is the rounding of the product.
                1 => -(a * b),
                // The product is a small part of the sum: its sign decides about a middle.
                _ => number(2) * 16_777_216.0 * (a * b),
            };
            let expected = a.mul_add(b, c);
            assert_eq!(Emulated::fma(a, b, c).to_bits(), expected.to_bits(), "{a:e} * {b:e} + {c:e}");
            two_roundings += u32::from((a * b + c).to_bits() != expected.to_bits());
        }
        // (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24 lies in the middle between two numbers, and the even
        // one is below. A little more is nearer to the one above, which 53 bits do not show.
        let (a, little) = (1.0 + 1.0 / 4096.0, f32::EPSILON * f32::EPSILON / 16_384.0);
        assert_eq!(Emulated::fma(a, a, little), 1.0 + 1.0 / 2048.0 + f32::EPSILON);
        assert_eq!(Emulated::fma(a, a, -little), 1.0 + 1.0 / 2048.0);
        assert_eq!(Emulated::fma(a, a, 0.0), 1.0 + 1.0 / 2048.0);
        assert!(two_roundings > 50_000, "{two_roundings}");
    }
}

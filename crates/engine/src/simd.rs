//! Loops over many numbers, compiled a second time for processors with wide vectors.
//!
//! What is built for every x86-64 processor has four lanes of single precision. [`wide`] runs a
//! [`Kernel`] with eight where the processor has AVX2. The results are the same to the bit: the
//! operations and their order are those of the source, multiplications and additions are never
//! joined into one (FMA is not enabled), and no lane depends on their number.
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
    fn run(self) -> Self::Output;
}

/// Runs `kernel` with the widest vectors that the processor has.
#[inline]
pub fn wide<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        #[allow(unsafe_code)]
        // SAFETY: the processor has just reported AVX2, the only thing that the call
        // requires.
        return unsafe { with_avx2(kernel) };
    }
    kernel.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
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
        fn run(self) {
            for (x, y) in self.0.iter().zip(self.1) {
                *y = ((x * 0.3 - 1.7) * x + 0.9) * x / (1.0 + x * x);
            }
        }
    }

    /// With a joined multiplication and addition, about a third of these would differ in their last
    /// bit.
    #[test]
    fn wide_or_not_the_bits_are_the_same() {
        let x: Vec<f32> = (0..1003).map(|i| i as f32 * 0.017 - 8.0).collect();
        let (mut plain, mut lanes) = (vec![0.0; x.len()], vec![0.0; x.len()]);
        Horner(&x, &mut plain).run();
        wide(Horner(&x, &mut lanes));
        let bits = |y: &[f32]| y.iter().map(|y| y.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&plain), bits(&lanes));
    }
}

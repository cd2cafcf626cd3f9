//! Loops over many numbers, compiled a second time for processors with wide vectors.
//!
//! Code for every x86-64 processor has four lanes of single precision. [`wide`] runs a [`Kernel`]
//! with eight where the processor has AVX2. The results have the same bits: the operations and
//! their order are those of the source, multiplications and additions are never fused (FMA is not
//! enabled), and no lane depends on the number of lanes.
//!
//! [`prefetch`] is for loops over much memory: it loads the data of the next iteration into the
//! cache.

/// A computation with loops that are faster with wide vectors. It should process some dozen numbers
/// or more, because each call takes time.
pub trait Kernel {
    /// The result.
    type Output;
    /// Runs the computation. Write `#[inline(always)]` here and at all functions that its loops
    /// call: only code that becomes part of the kernel is compiled twice.
    fn run(self) -> Self::Output;
}

/// Runs `kernel` with the widest vectors that the processor has. Inlined, so that the caller passes
/// the kernel on without a copy.
#[inline(always)]
pub fn wide<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        #[allow(unsafe_code)]
        // SAFETY: the processor has just reported AVX2, the only thing that the call
        // requires.
        return unsafe { with_avx2(kernel) };
    }
    plain(kernel)
}

/// Runs `kernel` with the vectors of every processor. Not inlined: in its callers it would take the
/// place of the few instructions with which they call the other one.
#[inline(never)]
fn plain<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
}

/// Prefetches `what` into the cache where the processor supports it. The call does not wait and has
/// no effect on results. Use it for data that will be read soon, is rarely in the cache, and is in
/// several places, which are then loaded in parallel. It loads a cache line for every 64 bytes; if
/// `what` ends in one line more, that line is not loaded.
#[inline(always)]
pub fn prefetch<T: ?Sized>(what: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let (first, size) = (std::ptr::from_ref(what).cast::<i8>(), size_of_val(what));
        let mut at = 0;
        while at < size {
            #[allow(unsafe_code)]
            // SAFETY: SSE belongs to every x86-64 processor, and prefetching neither
            // reads nor writes, for any address.
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

    /// Prefetching has no visible effect: the test can fail only by an invalid access.
    #[test]
    fn prefetched_data_is_unchanged() {
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

    /// With a fused multiplication and addition, about a third of these would differ in their last
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

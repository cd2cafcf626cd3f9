//! The system's allocator with a count of requests: for tests and benches alone.
//!
//! A program that names anything of this crate runs on the allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static BLOCKS: AtomicI64 = AtomicI64::new(0);
static OCTETS: AtomicI64 = AtomicI64::new(0);

thread_local! {
    static ASKED: Cell<[u64; 2]> = const { Cell::new([0; 2]) };
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count(octets: usize) {
    ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    // A thread that ends has no cell any more.
    let _ended = ASKED.try_with(|asked| {
        let [number, sum] = asked.get();
        asked.set([number + 1, sum + octets as u64]);
    });
}

// SAFETY: every call is passed to the system's allocator unchanged.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        BLOCKS.fetch_add(1, Ordering::Relaxed);
        OCTETS.fetch_add(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        BLOCKS.fetch_sub(1, Ordering::Relaxed);
        OCTETS.fetch_sub(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        OCTETS.fetch_add(size as i64 - layout.size() as i64, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, size) }
    }
}

/// Allocations and reallocations of all threads since the start.
pub fn allocations() -> u64 {
    ALLOCATIONS.load(Ordering::Relaxed)
}

/// What all threads hold now: octets, and blocks of them.
pub fn held() -> [i64; 2] {
    [&OCTETS, &BLOCKS].map(|counter| counter.load(Ordering::Relaxed))
}

/// The requests of this thread since it began: allocations and reallocations, and their octets.
pub fn asked() -> [u64; 2] {
    ASKED.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By this thread, as tests run side by side: a vector of 100 octets, grown to 300, and gone.
    #[test]
    fn what_a_thread_allocates_is_counted() {
        let (before, all) = (asked(), allocations());
        let mut v: Vec<u8> = Vec::with_capacity(100);
        let one = asked();
        v.extend([1; 100]);
        v.reserve_exact(200);
        let two = asked();
        drop(v);
        let change = |a: [u64; 2], b: [u64; 2]| [b[0] - a[0], b[1] - a[1]];
        assert_eq!(
            [change(before, one), change(one, two), change(two, asked())],
            [[1, 100], [1, 300], [0, 0]]
        );
        assert!(allocations() >= all + 2);
    }

    #[test]
    fn what_is_held_grows_by_what_is_kept() {
        let [octets, blocks] = held();
        let kept = std::hint::black_box(vec![0_u8; 1 << 26]);
        // Others hold and give back much less.
        let [with, count] = held();
        assert!((with - octets - (1 << 26)).abs() < 1 << 20, "{octets} {with}");
        assert!(count - blocks > -1000 && count > 0, "{blocks} {count}");
        drop(kept);
        assert!((held()[0] - octets).abs() < 1 << 20);
    }
}

//! Callbacks of a run by wall time, by which a caller can stop a run that is far from its next
//! step.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// The caller of a run is called back this often and decides whether the run continues.
const PERIOD: Duration = Duration::from_millis(50);

/// A flag that another thread sets and a run clears. The run reads it every few events.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attention(Arc<AtomicBool>);

impl Attention {
    /// Returns whether it was set since the last call, and clears it.
    #[inline]
    pub fn taken(&self) -> bool {
        self.0.load(Ordering::Relaxed) && self.0.swap(false, Ordering::Relaxed)
    }

    /// Does `work` while a second thread sets the flag every [`PERIOD`]. The clock affects only the
    /// times of callbacks, never the results of the run.
    pub fn raised_during<T>(&self, work: impl FnOnce() -> T) -> T {
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let ticker = scope.spawn(|| {
                while !done.load(Ordering::Acquire) {
                    thread::park_timeout(PERIOD);
                    self.0.store(true, Ordering::Relaxed);
                }
            });
            // Also when `work` panics: the scope waits for the ticker.
            let _end = OnDrop(|| {
                done.store(true, Ordering::Release);
                ticker.thread().unpark();
            });
            work()
        })
    }
}

struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_is_set_while_work_continues_and_cleared_when_it_is_read() {
        let attention = Attention::default();
        assert!(!attention.taken());
        attention.raised_during(|| while !attention.taken() {});
    }

    #[test]
    fn a_panic_in_the_work_ends_the_ticker() {
        let attention = Attention::default();
        let work = || attention.raised_during(|| panic!("as expected"));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err());
    }
}

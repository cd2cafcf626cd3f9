//! Looking up from a run, by wall time: how a caller can stop a run that is far from its next step.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// The caller of a run is called back this often and decides whether the run continues.
const PERIOD: Duration = Duration::from_millis(50);

/// A flag that another thread raises and a run lowers. The run looks at it every few events.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attention(Arc<AtomicBool>);

impl Attention {
    /// Whether it was raised since the last question.
    #[inline]
    pub fn taken(&self) -> bool {
        self.0.load(Ordering::Relaxed) && self.0.swap(false, Ordering::Relaxed)
    }

    /// Does `work` while a second thread raises the flag every [`PERIOD`]. The clock decides only
    /// when the run looks up, never what happens in it.
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
    fn the_flag_rises_while_work_goes_on_and_falls_when_it_is_seen() {
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

//! Threads that share the work of a TTI.
//!
//! Work is divided into values that borrow the state they change, each a part of its own, and the
//! state that all read: no two threads can reach the same state for writing. The results are taken
//! over in one order afterwards, so they do not depend on the number of threads.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rayon::{Scope, ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use super::measure::Memory;
use crate::phy::air;

/// Least number of UEs that are shared: some 100 µs of work, at 1 to 2 µs a UE. To wake a thread
/// takes some 20 µs. Debug builds share fewer, so that tests with small networks use threads too.
pub(super) const UES: usize = if cfg!(debug_assertions) { 2 } else { 64 };
/// Least number of cells that are shared, at some 10 µs a cell with ten active UEs.
pub(super) const CELLS: usize = if cfg!(debug_assertions) { 2 } else { 8 };

/// Pieces of a thread's share: a thread that is done with its own takes those at the end of
/// another's.
const PIECES: usize = 8;

/// How often a thread looks for another one before it sleeps, some 20 to 50 ns each time. To wake
/// it takes some 20 µs.
const LOOKS: u32 = 5000;
/// The number to which this falls where another thread mostly comes later.
const LOOKS_MIN: u32 = 10;

/// Waits of one kind for another thread. Where they are too long, as on a machine that is busy,
/// the thread sleeps sooner: one that takes its core in vain gets it later when it needs it.
#[derive(Debug)]
pub(super) struct Waits(AtomicU32);

impl Default for Waits {
    fn default() -> Self {
        Waits(AtomicU32::new(LOOKS))
    }
}

impl Waits {
    /// Waits until `done`, for a limited time.
    pub fn wait(&self, mut done: impl FnMut() -> bool) {
        let looks = self.0.load(Ordering::Relaxed);
        for _ in 0..looks {
            if done() {
                self.0.store((looks + looks / 8 + 1).min(LOOKS), Ordering::Relaxed);
                return;
            }
            std::hint::spin_loop();
        }
        self.0.store((looks / 2).max(LOOKS_MIN), Ordering::Relaxed);
    }
}

/// The threads.
#[derive(Debug)]
pub(super) struct Team {
    /// All threads but the calling one.
    pool: ThreadPool,
    /// Memory of each thread, the calling one first.
    workers: Vec<Worker>,
    /// How often work was shared.
    shared: Arc<AtomicU64>,
    /// Waits for the end of shared work, and of another thread for the next one.
    ends: Waits,
    nexts: Arc<Waits>,
    /// The process of the threads. A forked process has none of them.
    process: u32,
}

/// Memory of a thread.
#[derive(Debug, Default)]
pub(super) struct Worker {
    pub air: air::Work,
    pub memory: Memory,
}

impl Worker {
    /// A thread with the memory `air`.
    pub fn new(air: air::Work) -> Worker {
        Worker { air, memory: Memory::default() }
    }
}

impl Team {
    /// Creates a team of so many threads, the calling one included; `air` makes memory for each.
    pub fn new(threads: usize, air: impl Fn() -> air::Work) -> Result<Team, ThreadPoolBuildError> {
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads.saturating_sub(1).max(1))
            .thread_name(|i| format!("tti-{}", i + 1))
            .build()?;
        let workers = (0..threads).map(|_| Worker::new(air())).collect();
        let process = std::process::id();
        let (shared, nexts) = Default::default();
        Ok(Team { pool, workers, shared, ends: Waits::default(), nexts, process })
    }

    /// Number of threads.
    pub fn size(&self) -> usize {
        self.workers.len()
    }

    /// False in a forked process, which has none of the threads but the calling one.
    pub fn is_here(&self) -> bool {
        self.process == std::process::id()
    }

    /// Does `work` in another thread, which then is ready for the next work that is shared.
    pub fn spawn(&self, work: impl FnOnce() + Send + 'static) {
        let shared = self.shared.clone();
        // A job before it that still waits for shared work ends.
        let before = shared.fetch_add(1, Ordering::Relaxed) + 1;
        let nexts = self.nexts.clone();
        self.pool.spawn(move || {
            work();
            nexts.wait(|| shared.load(Ordering::Relaxed) != before);
        });
    }

    /// The threads that share work.
    pub fn crew(&mut self) -> Crew<'_> {
        let here = self.is_here();
        let Team { pool, workers, shared, ends, .. } = self;
        shared.fetch_add(1, Ordering::Relaxed);
        let workers = if here { &mut workers[..] } else { &mut workers[..1] };
        Crew { pool: Some((pool, ends)), workers }
    }
}

/// Threads that share work, the calling one first.
pub(super) struct Crew<'a> {
    /// The pool, with the waits for it; None: that of the calling thread.
    pool: Option<(&'a ThreadPool, &'a Waits)>,
    workers: &'a mut [Worker],
}

impl<'a> Crew<'a> {
    /// The threads of the pool to which the calling one belongs, with the memory `workers`.
    pub const fn of_pool(workers: &'a mut [Worker]) -> Crew<'a> {
        Crew { pool: None, workers }
    }

    /// Does `work` with each of `items`, and returns when all are done; in one thread if they are
    /// fewer than `least`. `ahead` may prefetch for the items of its list, of which the first is
    /// next. Items at the same place in the list are mostly done by the same thread, call after
    /// call, so that their memory stays in its cache.
    pub fn each<T: Send>(
        self,
        items: &mut [T],
        least: usize,
        ahead: impl Fn(&[T]) + Sync,
        work: impl Fn(&mut Worker, &mut T) + Sync,
    ) {
        let all = |worker: &mut Worker, mut items: &mut [T]| {
            ahead(items);
            while let Some((item, rest)) = items.split_first_mut() {
                ahead(rest);
                work(worker, item);
                items = rest;
            }
        };
        let alone = items.len() < least || self.workers.len() < 2;
        let share = items.len().div_ceil(self.workers.len()).max(1);
        let piece = share.div_ceil(PIECES);
        let Some((own, others)) = self.workers.split_first_mut() else { return };
        if alone {
            return all(own, items);
        }
        let shares: Vec<_> =
            items.chunks_mut(share).map(|share| Mutex::new(share.chunks_mut(piece))).collect();
        let take = |thread: usize, of: usize| {
            let mut pieces = shares.get(of)?.lock().unwrap_or_else(PoisonError::into_inner);
            if of == thread { pieces.next() } else { pieces.next_back() }
        };
        let run = |thread: usize, worker: &mut Worker| {
            for of in (thread..shares.len()).chain(0..thread) {
                while let Some(piece) = take(thread, of) {
                    all(worker, piece);
                }
            }
        };
        let run = &run;
        let left = &AtomicUsize::new(others.len());
        let of_other = &|thread: usize, worker: &mut Worker| {
            run(thread, worker);
            left.fetch_sub(1, Ordering::Relaxed);
        };
        match self.pool {
            Some((pool, ends)) => pool.in_place_scope(|scope| {
                spawn(scope, others, of_other);
                run(0, own);
                ends.wait(|| left.load(Ordering::Relaxed) == 0);
            }),
            None => rayon::in_place_scope(|scope| {
                spawn(scope, others, of_other);
                run(0, own);
            }),
        }
    }
}

/// Runs `run` in a thread for each of `others`, of which the first is thread 1.
fn spawn<'s>(scope: &Scope<'s>, others: &'s mut [Worker], run: &'s (impl Fn(usize, &mut Worker) + Sync)) {
    for (thread, worker) in (1..).zip(others) {
        scope.spawn(move |_| run(thread, worker));
    }
}

/// Gives the items of a list at ascending places, each once.
pub(super) struct Deal<'a, T> {
    rest: &'a mut [T],
    /// The place at which `rest` begins.
    at: usize,
}

impl<'a, T> Deal<'a, T> {
    /// Deals `items`.
    pub const fn of(items: &'a mut [T]) -> Deal<'a, T> {
        Deal { rest: items, at: 0 }
    }

    /// The item at `place`; None if that is not after the last one taken, or is beyond the end.
    pub fn take(&mut self, place: usize) -> Option<&'a mut T> {
        let skipped = place.checked_sub(self.at)?;
        let rest = std::mem::take(&mut self.rest);
        let (item, rest) = rest.get_mut(skipped..)?.split_first_mut()?;
        (self.rest, self.at) = (rest, place + 1);
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The squares of up to 100 numbers: an item that is left out, or done twice, has another
    /// value.
    #[test]
    fn each_item_is_done_once() {
        for threads in [1, 2, 5] {
            let mut team = Team::new(threads, air::Work::default).unwrap();
            for n in [0, 1, 7, 8, 9, 100] {
                let mut items: Vec<u64> = (2..2 + n).collect();
                team.crew().each(&mut items, 8, |_| {}, |_, item| *item *= *item);
                assert!(items.iter().zip(2..).all(|(item, i)| *item == i * i), "{threads} {n}");
            }
        }
    }

    #[test]
    fn items_are_dealt_out_once_in_ascending_order() {
        let mut items = [10, 11, 12, 13];
        let mut deal = Deal::of(&mut items);
        assert_eq!(deal.take(1).copied(), Some(11));
        assert_eq!(deal.take(1), None, "a second time");
        assert_eq!(deal.take(3).copied(), Some(13));
        assert_eq!(deal.take(4), None, "behind the end");
    }
}

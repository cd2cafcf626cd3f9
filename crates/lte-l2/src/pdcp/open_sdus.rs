//! The account of one direction of a bearer: every SDU that entered leaves in exactly one way.
//!
//! PDCP delivers in ascending order of COUNT, so an SDU that a later one has overtaken is lost for
//! good. Such losses, the drops that entities report, and the losses on the air interface that MAC
//! reports close the account.

use std::collections::VecDeque;

use lasthop_bearer::Sdu;
use lasthop_engine::push_tight;

/// SDUs with a COUNT, in the order in which they got it.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenSdus {
    /// `None`: settled.
    entries: VecDeque<Option<Sdu>>,
    /// Number of `entries[0]`.
    first: u64,
    /// The epoch in which COUNT last started again, the number of its COUNT 0.
    epoch: u16,
    epoch_from: u64,
    open: usize,
}

impl OpenSdus {
    #[inline]
    pub fn enter(&mut self, sdu: Sdu) {
        push_tight(&mut self.entries, Some(sdu));
        self.open += 1;
    }

    /// SDUs inside.
    pub const fn len(&self) -> usize {
        self.open
    }

    #[inline]
    fn at(&self, epoch: u16, count: u32) -> Option<usize> {
        // COUNT has started again since this epoch.
        if epoch < self.epoch {
            return None;
        }
        let i = (self.epoch_from + u64::from(count)).checked_sub(self.first)? as usize;
        (i < self.entries.len()).then_some(i)
    }

    /// Settles the delivered SDU `count` and returns it, unless it is settled already; the SDUs
    /// that it has overtaken go to `lost`.
    #[inline(always)]
    pub fn deliver(&mut self, epoch: u16, count: u32, lost: impl FnMut(Sdu)) -> Option<Sdu> {
        let at = self.at(epoch, count)?;
        if at > 0 {
            self.lose(at, lost);
        }
        self.pop()
    }

    /// The first `n` SDUs are lost, unless they are settled.
    #[inline(never)]
    fn lose(&mut self, n: usize, mut lost: impl FnMut(Sdu)) {
        for _ in 0..n {
            self.pop().into_iter().for_each(&mut lost);
        }
    }

    #[inline]
    fn pop(&mut self) -> Option<Sdu> {
        let sdu = self.entries.pop_front()?;
        self.first += 1;
        self.open -= usize::from(sdu.is_some());
        sdu
    }

    /// Returns the SDU `count` of `epoch`, if it is inside.
    pub fn get(&self, epoch: u16, count: u32) -> Option<Sdu> {
        self.at(epoch, count).and_then(|i| self.entries[i])
    }

    /// Settles the SDU `count`, numbered in `epoch` or sent again in it, and returns it, unless it
    /// is settled already.
    pub fn drop(&mut self, epoch: u16, count: u32) -> Option<Sdu> {
        let at = self.at(epoch, count)?;
        let sdu = self.entries[at].take();
        self.open -= usize::from(sdu.is_some());
        sdu
    }

    /// COUNTs of the SDUs inside, in ascending order.
    pub fn counts(&self) -> impl Iterator<Item = u32> {
        let first = (self.first - self.epoch_from) as u32;
        let open = move |(i, e): (usize, &Option<Sdu>)| e.is_some().then_some(first + i as u32);
        self.entries.iter().enumerate().filter_map(open)
    }

    /// Starts COUNT again with 0 in `epoch`; SDUs inside are lost.
    pub fn begin_epoch(&mut self, epoch: u16, mut lost: impl FnMut(Sdu)) {
        while !self.entries.is_empty() {
            self.pop().into_iter().for_each(&mut lost);
        }
        self.epoch = epoch;
        self.epoch_from = self.first;
    }
}

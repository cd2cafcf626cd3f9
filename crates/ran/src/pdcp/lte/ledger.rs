//! The account of one direction of a bearer: every SDU that went in leaves in exactly one way.
//!
//! PDCP delivers in ascending order of COUNT and never goes back, so an SDU that a later one has overtaken is
//! lost for good. That, the drops that entities report, and the losses in the air that MAC reports close the
//! account.

use std::collections::VecDeque;

use crate::sdu::Sdu;

#[derive(Clone, Copy, Debug)]
struct Entry {
    sdu: Sdu,
    open: bool,
}

/// SDUs with a COUNT, in the order they got it.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    entries: VecDeque<Entry>,
    /// Number of `entries[0]`.
    first: u64,
    /// The current epoch, the number of its COUNT 0.
    epoch: u16,
    epoch_from: u64,
    open: usize,
}

impl Ledger {
    #[inline]
    pub fn enter(&mut self, sdu: Sdu) {
        self.entries.push_back(Entry { sdu, open: true });
        self.open += 1;
    }

    /// SDUs inside.
    pub const fn len(&self) -> usize {
        self.open
    }

    #[inline]
    fn at(&self, epoch: Option<u16>, count: u32) -> Option<usize> {
        if epoch.is_some_and(|e| e != self.epoch) {
            return None;
        }
        let i = (self.epoch_from + u64::from(count)).checked_sub(self.first)? as usize;
        (i < self.entries.len()).then_some(i)
    }

    /// The SDU `count` is delivered: it, unless its fate is known already; what it has overtaken goes to `lost`.
    #[inline]
    pub fn deliver(&mut self, epoch: Option<u16>, count: u32, mut lost: impl FnMut(Sdu)) -> Option<Sdu> {
        let at = self.at(epoch, count)?;
        for _ in 0..at {
            self.pop().into_iter().for_each(&mut lost);
        }
        self.pop()
    }

    #[inline]
    fn pop(&mut self) -> Option<Sdu> {
        let e = self.entries.pop_front()?;
        self.first += 1;
        self.open -= usize::from(e.open);
        e.open.then_some(e.sdu)
    }

    /// The SDU `count`, if it is inside.
    pub fn get(&self, count: u32) -> Option<Sdu> {
        self.at(None, count).map(|i| self.entries[i]).filter(|e| e.open).map(|e| e.sdu)
    }

    /// The SDU `count` of `epoch` (None: of any, where COUNT goes on) is dropped: it, unless its fate is known.
    pub fn drop(&mut self, epoch: Option<u16>, count: u32) -> Option<Sdu> {
        let at = self.at(epoch, count)?;
        let e = &mut self.entries[at];
        let was_open = std::mem::replace(&mut e.open, false);
        self.open -= usize::from(was_open);
        was_open.then_some(e.sdu)
    }

    /// COUNT starts again with 0; what is inside is lost.
    pub fn begin_epoch(&mut self, epoch: u16, mut lost: impl FnMut(Sdu)) {
        while !self.entries.is_empty() {
            self.pop().into_iter().for_each(&mut lost);
        }
        self.epoch = epoch;
        self.epoch_from = self.first;
    }
}

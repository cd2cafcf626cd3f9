//! Options that few segments carry.

use std::ops::Deref;

use super::{AccEcn, SackBlocks};
use crate::hint::Guidance;

/// The options that few segments carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RareOptions {
    /// SACK blocks (RFC 2018).
    pub sack: SackBlocks,
    /// A capacity hint of the receiver's, as an experimental option.
    pub guidance: Option<Guidance>,
    /// The AccECN option of RFC 9768.
    pub accecn: Option<AccEcn>,
}

impl RareOptions {
    /// No option.
    pub const NONE: RareOptions = RareOptions { sack: SackBlocks::NONE, guidance: None, accecn: None };
}

/// [`RareOptions`] of a segment, which take memory only where there is one: a network holds many
/// segments, and most have none. They are read as fields, and [`change`](Self::change) writes.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Rare(Option<Box<RareOptions>>);

impl Rare {
    /// No option.
    pub const NONE: Rare = Rare(None);

    /// True without options.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// These options, in memory of `spare` if that has some.
    pub(crate) fn of(options: RareOptions, spare: &mut SpareOptions) -> Rare {
        // Without an option there is no box: equal lists of options are equal as values.
        if options == RareOptions::NONE {
            return Rare::NONE;
        }
        let Some(mut memory) = spare.0.pop() else { return Rare::from(options) };
        *memory = options;
        Rare(Some(memory))
    }

    /// Lets `change` write the options.
    pub fn change(&mut self, change: impl FnOnce(&mut RareOptions)) {
        self.change_in(&mut SpareOptions::default(), change);
    }

    /// As [`change`](Self::change), with memory of `spare`.
    pub(crate) fn change_in(&mut self, spare: &mut SpareOptions, change: impl FnOnce(&mut RareOptions)) {
        let mut options = **self;
        change(&mut options);
        spare.put(std::mem::take(self));
        *self = Rare::of(options, spare);
    }
}

/// Memory of the options of segments that have arrived, for those of later segments: ACKs with SACK
/// blocks come many at a time.
#[derive(Clone, Debug, Default)]
#[allow(clippy::vec_box, reason = "the boxes are what is used again")]
pub(crate) struct SpareOptions(Vec<Box<RareOptions>>);

/// Most memory that is kept. More can come back than was given: a link may duplicate segments.
const SPARE_MAX: usize = 64;

impl SpareOptions {
    /// Takes the memory of options that are no longer read.
    pub fn put(&mut self, read: Rare) {
        if let Rare(Some(memory)) = read
            && self.0.len() < SPARE_MAX
        {
            self.0.push(memory);
        }
    }
}

impl From<RareOptions> for Rare {
    fn from(options: RareOptions) -> Rare {
        Rare((options != RareOptions::NONE).then(|| Box::new(options)))
    }
}

impl Deref for Rare {
    type Target = RareOptions;
    #[inline]
    fn deref(&self) -> &RareOptions {
        self.0.as_deref().unwrap_or(&RareOptions::NONE)
    }
}

impl std::fmt::Debug for Rare {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::{Seq, SeqRange};

    #[test]
    fn removing_all_options_frees_the_box() {
        let mut rare = Rare::NONE;
        rare.change(|o| _ = o.sack.push(SeqRange { start: Seq(1), end: Seq(2) }));
        assert_eq!((rare.is_empty(), rare.sack.len()), (false, 1));
        assert_eq!(Rare::from(*rare), rare);
        rare.change(|o| o.sack.truncate(0));
        assert_eq!((rare.is_empty(), &rare), (true, &Rare::from(RareOptions::NONE)));
        assert_eq!(*rare, RareOptions::NONE);
    }

    /// Memory comes back for each copy of a segment that a link has duplicated.
    #[test]
    fn spare_memory_has_a_bound() {
        let mut spare = SpareOptions::default();
        let mut rare = Rare::NONE;
        rare.change(|o| _ = o.sack.push(SeqRange { start: Seq(1), end: Seq(2) }));
        (0..1000).for_each(|_| spare.put(rare.clone()));
        assert_eq!(spare.0.len(), SPARE_MAX);
        assert_eq!(Rare::of(*rare, &mut spare), rare);
        assert_eq!(spare.0.len(), SPARE_MAX - 1);
    }
}

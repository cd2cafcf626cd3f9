//! A slab: items that are inserted and removed, addressed by a small typed id.

use lasthop_units::Id;

/// Storage for `T` with reuse of freed places. Debug builds detect the use of a freed id.
#[derive(Clone)]
pub struct Slab<I, T> {
    places: Vec<Option<T>>,
    free: Vec<I>,
}

impl<I: Id, T> Default for Slab<I, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I: Id + std::fmt::Debug, T> std::fmt::Debug for Slab<I, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Slab({} of {})", self.len(), self.places.len())
    }
}

impl<I: Id, T> Slab<I, T> {
    /// Creates an empty slab.
    pub const fn new() -> Self {
        Slab { places: Vec::new(), free: Vec::new() }
    }
    /// Inserts `item` and returns its id.
    #[inline(always)] // so that the caller makes the item in its place
    pub fn insert(&mut self, item: T) -> I {
        // The place first, so that the item is written there once. An assignment alone would drop
        // what was there: nothing, which this tells the compiler.
        let id = self.free.pop().unwrap_or_else(|| self.add_place());
        match &mut self.places[id.index()] {
            place @ None => *place = Some(item),
            Some(_) => unreachable!("a freed place is empty"),
        }
        id
    }
    #[cold]
    #[inline(never)]
    fn add_place(&mut self) -> I {
        self.places.push(None);
        I::from_index(self.places.len() - 1)
    }
    /// Removes the item and returns it; its id may be given again.
    ///
    /// # Panics
    /// If the place is empty: an entity used an id that it no longer owns.
    #[inline]
    #[track_caller]
    pub fn remove(&mut self, id: I) -> T {
        let item = self.places[id.index()].take().expect("id of a removed entry");
        self.free.push(id);
        item
    }
    /// Drops the item; its id may be given again. [`remove`](Self::remove) copies it out.
    ///
    /// # Panics
    /// As [`remove`](Self::remove).
    #[inline]
    #[track_caller]
    pub fn discard(&mut self, id: I) {
        let place = &mut self.places[id.index()];
        assert!(place.is_some(), "id of a removed entry");
        *place = None;
        self.free.push(id);
    }
    /// As [`discard`](Self::discard), for an item that has nothing to drop any more: the check of
    /// each of its parts is left out.
    ///
    /// # Panics
    /// As [`remove`](Self::remove).
    #[inline]
    #[track_caller]
    pub fn forget(&mut self, id: I) {
        let place = self.places[id.index()].take();
        assert!(place.is_some(), "id of a removed entry");
        std::mem::forget(place);
        self.free.push(id);
    }
    /// The item, if it is in the slab.
    pub fn get(&self, id: I) -> Option<&T> {
        self.places.get(id.index()).and_then(Option::as_ref)
    }
    /// Number of items inside.
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
    /// True if the slab is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The items inside, in order of id.
    pub fn iter(&self) -> impl Iterator<Item = (I, &T)> {
        self.places.iter().enumerate().filter_map(|(i, t)| t.as_ref().map(|t| (I::from_index(i), t)))
    }
}

impl<I: Id, T> std::ops::Index<I> for Slab<I, T> {
    type Output = T;
    #[inline]
    #[track_caller]
    fn index(&self, id: I) -> &T {
        self.places[id.index()].as_ref().expect("id of a removed entry")
    }
}
impl<I: Id, T> std::ops::IndexMut<I> for Slab<I, T> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, id: I) -> &mut T {
        self.places[id.index()].as_mut().expect("id of a removed entry")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::PacketId;

    #[test]
    fn a_freed_place_is_given_again_and_counted() {
        let mut s: Slab<PacketId, u8> = Slab::new();
        let (a, b) = (s.insert(1), s.insert(2));
        assert_eq!(s.remove(a), 1);
        assert_eq!((s.len(), s.get(a)), (1, None));
        assert_eq!(s.insert(3), a);
        assert_eq!(s.iter().map(|(_, v)| *v).collect::<Vec<_>>(), [3, 2]);
        assert_eq!(s[b], 2);
        s.discard(b);
        assert_eq!((s.len(), s.get(b)), (1, None));
        assert_eq!(s.insert(4), b);
        s.forget(b);
        assert_eq!((s.len(), s.get(b)), (1, None));
        assert_eq!(s.insert(5), b);
    }

    #[test]
    #[should_panic(expected = "removed entry")]
    fn the_use_of_a_freed_id_is_detected() {
        let mut s: Slab<PacketId, u8> = Slab::new();
        let a = s.insert(1);
        s.remove(a);
        s.remove(a);
    }
}

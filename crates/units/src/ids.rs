//! Typed handles, and the vector that they index.

use std::fmt;
use std::marker::PhantomData;
use std::num::NonZero;
use std::ops::{Index, IndexMut};

/// A handle that stands for a zero-based index.
pub trait Id: Copy + Eq {
    /// The id of index `i`.
    fn from_index(i: usize) -> Self;
    /// The zero-based index.
    fn index(self) -> usize;
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        ///
        /// Non-zero inside, so that `Option` of it costs nothing.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(NonZero<u32>);

        impl Id for $name {
            #[inline]
            fn from_index(i: usize) -> Self {
                // 2^32 - 1 entities do not fit in memory.
                $name(NonZero::new(i as u32 + 1).expect("fewer than 2^32 - 1 ids"))
            }
            #[inline]
            fn index(self) -> usize {
                (self.0.get() - 1) as usize
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.index())
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.index())
            }
        }
    )*};
}

ids! {
    /// A node: host, router, base station, UE, station.
    NodeId,
    /// An access, which carries packets from node to node: one direction of a link, a bearer, the
    /// radio of all cells, all wireless LANs.
    AccessId,
    /// A transport flow: one five-tuple.
    FlowId,
    /// One end of a transport connection.
    SocketId,
    /// An application.
    AppId,
    /// A packet in the world's slab.
    PacketId,
    /// A radio bearer: a pair of PDCP and RLC entities.
    BearerId,
    /// A user equipment.
    UeId,
    /// A cell.
    CellId,
    /// An access point of a wireless LAN.
    ApId,
    /// A station of a wireless LAN that is no access point.
    StationId,
}

/// A vector indexed by one kind of id.
#[derive(Clone, PartialEq, Eq)]
pub struct IndexVec<I, T> {
    items: Vec<T>,
    id: PhantomData<fn(I)>,
}

impl<I: Id, T> IndexVec<I, T> {
    /// Creates an empty vector.
    pub const fn new() -> Self {
        IndexVec { items: Vec::new(), id: PhantomData }
    }
    /// Creates an empty vector with memory for `items` items.
    pub fn with_capacity(items: usize) -> Self {
        IndexVec { items: Vec::with_capacity(items), id: PhantomData }
    }
    /// Two different items at once; `None` for one item twice, or for an item that does not exist.
    pub fn get_two_mut(&mut self, a: I, b: I) -> Option<(&mut T, &mut T)> {
        let [x, y] = self.items.get_disjoint_mut([a.index(), b.index()]).ok()?;
        Some((x, y))
    }
    /// Appends and returns the new id.
    pub fn push(&mut self, item: T) -> I {
        self.items.push(item);
        I::from_index(self.items.len() - 1)
    }
    /// The id that the next `push` will return.
    pub fn next_id(&self) -> I {
        I::from_index(self.items.len())
    }
    /// Number of items.
    pub fn len(&self) -> usize {
        self.items.len()
    }
    /// True if it is empty.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
    /// The item, if the id is one of this vector.
    pub fn get(&self, id: I) -> Option<&T> {
        self.items.get(id.index())
    }
    /// Items in order of id.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.items.iter()
    }
    /// Items in order of id, mutable.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.items.iter_mut()
    }
    /// Ids with their items, in order.
    pub fn enumerate(&self) -> impl Iterator<Item = (I, &T)> {
        self.items.iter().enumerate().map(|(i, t)| (I::from_index(i), t))
    }
    /// All ids, in order.
    pub fn ids(&self) -> impl Iterator<Item = I> + use<I, T> {
        (0..self.items.len()).map(I::from_index)
    }
}

impl<I: Id, T> Default for IndexVec<I, T> {
    fn default() -> Self {
        Self::new()
    }
}
impl<I: Id, T> Index<I> for IndexVec<I, T> {
    type Output = T;
    #[inline]
    fn index(&self, id: I) -> &T {
        &self.items[id.index()]
    }
}
impl<I: Id, T> IndexMut<I> for IndexVec<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.items[id.index()]
    }
}
impl<I: Id, T> FromIterator<T> for IndexVec<I, T> {
    fn from_iter<It: IntoIterator<Item = T>>(it: It) -> Self {
        IndexVec { items: it.into_iter().collect(), id: PhantomData }
    }
}
impl<I, T: fmt::Debug> fmt::Debug for IndexVec<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.items).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_optional_id_is_no_larger() {
        assert_eq!(size_of::<Option<PacketId>>(), size_of::<u32>());
        let mut v: IndexVec<NodeId, &str> = IndexVec::new();
        let id = v.push("server");
        assert_eq!((id.index(), v[id], v.len()), (0, "server", 1));
    }
}

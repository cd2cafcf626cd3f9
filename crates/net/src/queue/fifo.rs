//! The mechanism under every queue policy: items in order with their byte count and limits.

use std::collections::VecDeque;

use crate::Item;

/// The limits of a queue. `None`: no limit of that kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limit {
    /// Most packets waiting.
    pub packets: Option<u32>,
    /// Most bytes waiting.
    pub bytes: Option<u64>,
}

impl Limit {
    /// True if a queue of `packets` packets and `bytes` bytes is within the limit.
    #[inline]
    pub fn allows(&self, packets: usize, bytes: u64) -> bool {
        self.packets.is_none_or(|most| packets <= most as usize)
            && self.bytes.is_none_or(|most| bytes <= most)
    }
}

/// Items first in, first out, and how many bytes they are.
#[derive(Clone, Debug, Default)]
pub struct Fifo {
    items: VecDeque<Item>,
    bytes: u64,
}

impl Fifo {
    /// Packets waiting.
    #[inline]
    pub fn packets(&self) -> usize {
        self.items.len()
    }
    /// Bytes waiting.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
    /// The item that leaves next.
    pub fn front(&self) -> Option<&Item> {
        self.items.front()
    }
    /// Appends.
    #[inline]
    pub fn push(&mut self, item: Item) {
        self.bytes += u64::from(item.size);
        self.items.push_back(item);
    }
    /// Takes the head.
    #[inline]
    pub fn pop(&mut self) -> Option<Item> {
        let item = self.items.pop_front()?;
        self.bytes -= u64::from(item.size);
        debug_assert!(!self.items.is_empty() || self.bytes == 0, "bytes without packets");
        Some(item)
    }
    /// True if `item` would fit.
    #[inline]
    pub fn fits(&self, item: &Item, limit: &Limit) -> bool {
        limit.allows(self.items.len() + 1, self.bytes + u64::from(item.size))
    }
    /// The items, head first.
    pub fn iter(&self) -> impl Iterator<Item = &Item> {
        self.items.iter()
    }
}

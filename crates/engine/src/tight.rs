//! Growth of queues of which a run has many, and which stay long once they are.

use std::collections::VecDeque;

/// Appends `item` to `queue`. A full queue grows by a quarter.
///
/// `VecDeque::push_back` doubles the capacity: up to half of it is then unused, and its memory is
/// resident nevertheless, because the positions of a ring wrap around. Here a fifth is unused at
/// most. In return each item is copied some four times while a queue grows, not once.
#[inline]
pub fn push_tight<T>(queue: &mut VecDeque<T>, item: T) {
    if queue.len() == queue.capacity() {
        grow(queue);
    }
    queue.push_back(item);
}

#[cold]
#[inline(never)]
fn grow<T>(queue: &mut VecDeque<T>) {
    queue.reserve_exact((queue.len() / 4).max(4));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_keeps_its_order_and_has_at_most_a_quarter_of_its_items_in_room() {
        let mut queue = VecDeque::new();
        let mut allocations = 0;
        let mut next = 0;
        for i in 0..10_000 {
            let before = queue.capacity();
            push_tight(&mut queue, i);
            allocations += u32::from(queue.capacity() != before);
            assert!(queue.capacity() <= queue.len() + queue.len() / 4 + 4, "{} of {i}", queue.capacity());
            // The positions of the ring wrap around while it grows.
            if i % 5 == 0 {
                assert_eq!(queue.pop_front(), Some(next));
                next += 1;
            }
        }
        assert!(queue.into_iter().eq(next..10_000));
        assert!(allocations < 50, "{allocations} grow with the logarithm of the length");
    }
}

//! Helpers of the tests.

use lasthop_units::{FlowId, Id, Instant, PacketId};

use crate::{Content, Ecn, Item};

/// The packet `n` of `size` bytes.
pub fn item(n: usize, size: u32) -> Item {
    Item {
        id: PacketId::from_index(n),
        size,
        flow: FlowId::from_index(0),
        ecn: Ecn::NotEct,
        content: Content::new(true, false),
        enqueued: Instant::ZERO,
    }
}

//! The packets that a node forwards to the next one at a handover (TS 36.300 clause 10.1.2.3.1).

use lasthop_bearer::Sdu;
use lasthop_units::Instant;

/// An SDU that is forwarded from one node to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForwardedSdu {
    /// Its COUNT, which it keeps; None: the target gives it one.
    pub count: Option<u32>,
    /// The SDU as it was pushed.
    pub sdu: Sdu,
    /// When its discardTimer expires.
    pub expires: Instant,
}

impl ForwardedSdu {
    /// A [stamped](super::LteBearer::stamp) packet that arrives at a node that no longer serves the
    /// terminal.
    pub const fn fresh(sdu: Sdu) -> ForwardedSdu {
        ForwardedSdu { count: None, sdu, expires: Instant::MAX }
    }
}

//! What is due at the start of a later TTI, or within one.

use super::Due;

/// The network's calendar, and where it stands.
pub(super) type Agenda = lasthop_cell::calendar::Agenda<Due>;

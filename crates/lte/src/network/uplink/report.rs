//! Buffer reports of UEs whose MAC follows RLC's reports (LENA): each one reaches the eNB by itself
//! and costs nothing, and a grant is shared equally among the bearers that want something by their
//! last report.

use lasthop_units::{CellId, Instant, Tti, UeId};

use super::super::calendar::{Agenda, Due};
use super::Granting;
use crate::mac::bsr;
use crate::network::CellConfig;
use crate::phy::TTI;

/// RLC of `ue` has reported `bytes` in all: LteUeMac sends the sum of all bearers at the start of
/// the next TTI.
#[cold]
pub(super) fn pass_report_on(
    now: Instant,
    ue: UeId,
    bytes: u64,
    (cell, config): (CellId, &CellConfig),
    calendar: &mut Agenda,
) {
    let level = bsr::level(bytes);
    // What comes at the start of a TTI is still in its report.
    let here = Tti::containing(now, TTI);
    let sent = if here.start(TTI) == now { here } else { here.plus(1) };
    let received = sent.plus(config.uplink.report_delay);
    calendar.note_from(received, Due::BufferReport { cell, ue, bytes: bsr::bytes(level) });
}

impl Granting<'_> {
    /// A report of `bytes` to this cell reaches it; its scheduler forgets what it has granted
    /// since.
    pub(in crate::network) fn on_report(&mut self, cell: CellId, ue: UeId, bytes: u32) {
        if !self.links[ue].away && self.id == cell {
            self.contexts[ue].uplink.view.replace(bytes);
            self.wake(ue);
        }
    }
}

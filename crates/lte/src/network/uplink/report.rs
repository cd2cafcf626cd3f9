//! Buffer reports of UEs whose MAC follows RLC's reports (LENA): each report reaches the eNB
//! without using resources, and a grant is shared equally among the bearers with data by their last
//! report.

use lasthop_units::{CellId, Instant, Tti, UeId};

use super::super::calendar::{Agenda, Due};
use super::Granting;
use crate::mac::bsr;
use crate::network::CellConfig;
use crate::network::reach::Reach;
use crate::phy::TTI;

/// Sends a report of `bytes`, the sum of all bearers of `ue`, to the eNB: LteUeMac sends it at the
/// start of the next TTI.
#[cold]
pub(super) fn pass_report_on(
    now: Instant,
    ue: UeId,
    bytes: u64,
    (cell, config): (CellId, &CellConfig),
    calendar: &mut Agenda,
) {
    let level = bsr::level(bytes);
    // Data at the start of a TTI is still in its report.
    let here = Tti::containing(now, TTI);
    let sent = if here.start(TTI) == now { here } else { here.plus(1) };
    let received = sent.plus(config.uplink.report_delay);
    calendar.note_from(received, Due::BufferReport { cell, ue, bytes: bsr::bytes(level) });
}

impl<R: Reach> Granting<'_, R> {
    /// Takes in a report of `bytes` to this cell; its scheduler clears its record of earlier
    /// grants.
    pub(in crate::network) fn on_report(&mut self, cell: CellId, ue: UeId, bytes: u32) {
        if !self.links[ue].away && self.id == cell {
            self.contexts[ue].uplink.view.replace(bytes);
            self.wake(ue);
        }
    }
}

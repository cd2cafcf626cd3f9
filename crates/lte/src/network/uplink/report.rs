//! Buffer reports of UEs whose MAC follows RLC's reports (LENA): each one reaches the eNB by itself
//! and costs nothing, and a grant is shared equally among the bearers that want something by their
//! last report.

use lasthop_units::{CellId, Instant, Tti, UeId};

use super::super::calendar::{Agenda, Due};
use super::schedule::Granting;
use super::send::Sending;
use crate::mac::bsr;
use crate::mac::harq::process_of;
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
    let received = sent.plus(config.uplink.report_delay).max(calendar.first_open());
    calendar.note(received, Due::BufferReport { cell, ue, bytes: bsr::bytes(level) });
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

impl Sending<'_> {
    /// The UE's MAC follows RLC's reports.
    #[inline]
    pub(super) fn follows_reports(&self) -> bool {
        self.link.drbs.first().is_some_and(|b| self.layer2.reports(*b))
    }

    /// Fills a grant of `bytes` for such a UE.
    #[cold]
    pub(super) fn fill_by_reports(&mut self, bytes: u32) {
        let (drbs, layer2) = (&self.link.drbs, &mut self.layer2);
        let now = layer2.now();
        let active = drbs.iter().filter(|b| layer2.wants(**b)).count() as u32;
        let read = now + self.config.timing.uplink_fill;
        let parts = &mut self.ue.harq.get_mut(process_of(self.tti)).parts;
        for bearer in drbs {
            if layer2.wants(*bearer) {
                layer2.pull_by_reports(read, *bearer, bytes / active.max(1), parts);
            }
        }
        for bearer in drbs {
            layer2.settle(*bearer);
            if let Some(bytes) = layer2.take_report(*bearer, drbs) {
                let cell = (self.link.serving, self.config);
                pass_report_on(now, self.id, bytes, cell, layer2.calendar());
            }
        }
    }
}

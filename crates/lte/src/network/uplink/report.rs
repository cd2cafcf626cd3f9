//! Buffer reports of UEs whose MAC follows RLC's reports (LENA): each one reaches the eNB by itself
//! and costs nothing, and a grant is shared equally among the bearers that want something by their
//! last report.

use lasthop_units::{BearerId, CellId, Instant, Tti, UeId};

use super::super::{Due, NetworkOutput, RadioNetwork};
use super::send::process_of;
use crate::mac::bsr;
use crate::phy::TTI;
use lasthop_bearer::{Direction, End};

impl RadioNetwork {
    /// RLC of `bearer` may have reported: LteUeMac sends the sum of all bearers at the start of the
    /// next TTI.
    #[cold]
    pub(in crate::network) fn pass_report_on(&mut self, now: Instant, ue: UeId, bearer: BearerId) {
        if !self.bearers.take_fresh_report(bearer) {
            return;
        }
        let bytes = self.links[ue].drbs.iter().filter_map(|b| self.bearers[*b].layers.rlc(End::Ue).reports());
        let level = bsr::level(bytes.map(|r| r.total()).sum());
        let cell = self.links[ue].serving;
        let delay = self.cells[cell].config.uplink.report_delay;
        // What comes at the start of a TTI is still in its report.
        let here = Tti::containing(now, TTI);
        let sent = if here.start(TTI) == now { here } else { here.plus(1) };
        let heard = sent.plus(delay).max(self.first_open());
        self.calendar.note(heard, Due::BufferReport { cell, ue, bytes: bsr::bytes(level) });
    }

    /// A report reaches the eNB, whose scheduler forgets what it has granted since.
    pub(in crate::network) fn buffer_reported(&mut self, cell: CellId, ue: UeId, bytes: u32) {
        if self.is_away(ue) || self.links[ue].serving != cell {
            return;
        }
        self.contexts[ue].uplink.view.replace(bytes);
        self.wake(ue, Direction::Uplink);
    }

    /// Fills a grant of `bytes` for such a UE.
    #[cold]
    pub(super) fn fill_by_reports(
        &mut self,
        now: Instant,
        tti: Tti,
        ue: UeId,
        bytes: u32,
        out: &mut NetworkOutput,
    ) {
        let RadioNetwork { links, cells, bearers, .. } = self;
        let active = links[ue].drbs.iter().filter(|b| bearers[**b].layers.wants(End::Ue)).count() as u32;
        let process = process_of(tti);
        let read = now + cells[links[ue].serving].config.timing.uplink_fill;
        for i in 0..links[ue].drbs.len() {
            let bearer = links[ue].drbs[i];
            if bearers[bearer].layers.wants(End::Ue) {
                let share = bytes / active.max(1);
                let parts = &mut links[ue].uplink.harq.get_mut(process).parts;
                bearers.pull_by_reports(read, bearer, End::Ue, share, parts);
            }
        }
        for i in 0..self.links[ue].drbs.len() {
            let bearer = self.links[ue].drbs[i];
            self.settle(now, bearer, out);
        }
    }
}

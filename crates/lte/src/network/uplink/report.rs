//! Buffer reports of UEs whose MAC follows RLC's reports (LENA): each one reaches the eNB by itself
//! and costs nothing, and a grant is shared equally among the bearers that want something by their
//! last report.

use lasthop_units::{BearerId, CellId, Instant, Tti, UeId};

use super::super::calendar::{Agenda, Due};
use super::schedule::Granting;
use super::send::Sending;
use crate::mac::bsr;
use crate::mac::harq::process_of;
use crate::network::CellConfig;
use crate::network::bearers::Bearers;
use crate::network::state::Link;
use crate::phy::TTI;
use lasthop_bearer::End;

/// RLC of `bearer` of `ue` may have reported: LteUeMac sends the sum of all bearers at the start of
/// the next TTI.
#[cold]
pub(super) fn pass_report_on(
    now: Instant,
    (ue, bearer): (UeId, BearerId),
    link: &Link,
    config: &CellConfig,
    bearers: &mut Bearers,
    calendar: &mut Agenda,
) {
    if !bearers.take_fresh_report(bearer) {
        return;
    }
    let bytes = link.drbs.iter().filter_map(|b| bearers[*b].layers.rlc(End::Ue).reports());
    let level = bsr::level(bytes.map(|r| r.total()).sum());
    // What comes at the start of a TTI is still in its report.
    let here = Tti::containing(now, TTI);
    let sent = if here.start(TTI) == now { here } else { here.plus(1) };
    let received = sent.plus(config.uplink.report_delay).max(calendar.first_open());
    calendar.note(received, Due::BufferReport { cell: link.serving, ue, bytes: bsr::bytes(level) });
}

impl Granting<'_> {
    /// A report of `bytes` to this cell reaches it; its scheduler forgets what it has granted
    /// since.
    pub(in crate::network) fn hear_report(&mut self, cell: CellId, ue: UeId, bytes: u32) {
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
        let first = self.link.drbs.first();
        first.is_some_and(|b| self.layer2.bearers[*b].layers.rlc(End::Ue).reports().is_some())
    }

    /// Fills a grant of `bytes` for such a UE.
    #[cold]
    pub(super) fn fill_by_reports(&mut self, bytes: u32) {
        let (link, layer2) = (&mut *self.link, &mut self.layer2);
        let (now, bearers) = (layer2.now, &mut *layer2.bearers);
        let active = link.drbs.iter().filter(|b| bearers[**b].layers.wants(End::Ue)).count() as u32;
        let read = now + self.config.timing.uplink_fill;
        let parts = &mut self.ue.harq.get_mut(process_of(self.tti)).parts;
        for bearer in &link.drbs {
            if bearers[*bearer].layers.wants(End::Ue) {
                bearers.pull_by_reports(read, *bearer, End::Ue, bytes / active.max(1), parts);
            }
        }
        for bearer in &self.link.drbs {
            self.layer2.settle(*bearer);
            let of = (self.id, *bearer);
            pass_report_on(now, of, self.link, self.config, self.layer2.bearers, self.layer2.calendar);
        }
    }
}

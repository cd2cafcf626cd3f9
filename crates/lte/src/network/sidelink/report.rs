//! How the eNB learns what waits for a sidelink: reports in uplink blocks (TS 36.321 clause
//! 5.14.1.4).

use lasthop_units::{Tti, UeId};

use super::super::RadioNetwork;
use super::super::trace::Step;
use crate::mac::bsr::{Report, level};

/// A report of a UE's lanes: lane and level of each.
pub type SidelinkReport = Vec<(u32, u8)>;

/// What a report of `lanes` lanes takes with its subheader [B].
// TS 36.321 clause 6.1.3.1a: a destination index of 4 bits, a group of 2 and a buffer size of 6 for
// each; the subheader has a length.
const fn size(lanes: usize) -> u32 {
    2 + (lanes as u32 * 12).div_ceil(8)
}

impl RadioNetwork {
    /// A report of the lanes of `ue` for an uplink block with `room` bytes in `tti`, if one is due
    /// and fits; and its size [B].
    #[cold]
    pub(in crate::network) fn sidelink_report(
        &mut self,
        tti: Tti,
        ue: UeId,
        room: u32,
    ) -> (SidelinkReport, u32) {
        let Some(s) = &mut self.sidelink else { return (Vec::new(), 0) };
        let mut report = Vec::new();
        let fits = |n: usize| size(n) <= room;
        for i in 0..s.of_ue[ue].len() {
            let lane = s.of_ue[ue][i];
            let l = &mut s.lanes[lane as usize];
            let backlog = self.bearers[l.bearer].layers.buffer_status(l.end).total();
            if l.wants && fits(report.len() + 1) {
                (l.covered, l.wants) = (backlog, false);
                report.push((lane, level(backlog)));
            }
        }
        self.ues[ue].uplink.direct_wants = s.of_ue[ue].iter().any(|l| s.lanes[*l as usize].wants);
        if report.is_empty() {
            return (report, 0);
        }
        let bytes = report.iter().map(|(lane, _)| s.lanes[*lane as usize].covered).sum();
        self.trace.step(tti, Step::Report, ue, tti, bytes, 0);
        let size = size(report.len());
        (report, size)
    }

    /// The eNB hears a report that was written in `first`.
    #[cold]
    pub(in crate::network) fn sidelink_reported(&mut self, first: Tti, report: &SidelinkReport) {
        let Some(s) = &mut self.sidelink else { return };
        for (lane, level) in report {
            s.lanes[*lane as usize].view.on_report(first, Report::Short { group: 0, level: *level });
            s.wake(*lane);
        }
    }

    /// A report was lost with its block: what it said is said again.
    #[cold]
    pub(in crate::network) fn sidelink_report_lost(&mut self, report: &SidelinkReport) {
        for (lane, _) in report {
            let Some(s) = &mut self.sidelink else { return };
            s.lanes[*lane as usize].covered = 0;
            let bearer = s.lanes[*lane as usize].bearer;
            self.sidelink_data(bearer);
        }
    }
}

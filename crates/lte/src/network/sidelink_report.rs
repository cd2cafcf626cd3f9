//! Reports of data for sidelinks to the eNB, in uplink blocks (TS 36.321 clause 5.14.1.4).

use lasthop_units::{Tti, UeId};

use super::bearers::{Bearers, Notice};
use super::state::sidelink::{Sidelink, SidelinkGrants, SidelinkReport};
use crate::mac::bsr::{Report, level};

/// Size of a report of `destinations` destinations with its subheader [B].
// TS 36.321 clause 6.1.3.1a: a destination index of 4 bits, a group of 2 and a buffer size of 6 for
// each; the subheader has a length.
pub(super) const fn size(destinations: usize) -> u32 {
    2 + (destinations as u32 * 12).div_ceil(8)
}

impl Sidelink {
    /// A report of the destinations of `ue` for an uplink block with `room` bytes: of those with
    /// data that no report covers, as many as fit.
    #[cold]
    pub fn report(&mut self, ue: UeId, bearers: &Bearers, room: u32) -> SidelinkReport {
        let mut report = Vec::new();
        for destination in &self.of_ue[ue] {
            let (l, sender) =
                (&self.destinations[*destination as usize], &mut self.senders[*destination as usize]);
            let backlog = bearers[l.bearer].layers.buffer_status(l.end).total();
            if sender.bsr_triggered && size(report.len() + 1) <= room {
                (sender.covered, sender.bsr_triggered) = (backlog, false);
                report.push((*destination, level(backlog)));
            }
        }
        report
    }

    /// True if a report of destinations of `ue` is pending.
    pub fn is_triggered(&self, ue: UeId) -> bool {
        self.of_ue[ue].iter().any(|l| self.senders[*l as usize].bsr_triggered)
    }

    /// Triggers the report again, which was lost with its block.
    #[cold]
    pub fn lose_report(&mut self, report: &SidelinkReport, bearers: &mut Bearers) {
        for (destination, _) in report {
            self.senders[*destination as usize].covered = 0;
            bearers.notify(Notice::of(self.destinations[*destination as usize].bearer));
        }
    }
}

impl SidelinkGrants {
    /// Processes a report at the eNB that was composed in `first`.
    #[cold]
    pub fn on_report(&mut self, first: Tti, report: &SidelinkReport) {
        for (destination, level) in report {
            self.of[*destination as usize].view.on_report(first, Report::Short { group: 0, level: *level });
            self.wake(*destination);
        }
    }
}

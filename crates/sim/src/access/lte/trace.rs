//! The steps of the radio as rows of the table `steps`.

use lasthop_lte::network::trace::{Step as Act, TraceLink, TraceRecord};
use lasthop_lte::phy::TTI;
use lasthop_units::{Instant, PacketId};

use super::LteAccess;
use crate::access::{AccessOutput, Step, TraceRow};

impl LteAccess {
    /// Passes on the steps of the radio since the last call.
    #[cold]
    pub(super) fn pass_trace(&mut self, now: Instant, out: &mut AccessOutput) {
        let records: Vec<TraceRecord> = self.network.trace().drain().collect();
        if self.observed.is_some() {
            self.hand_over(now, &records, out);
        }
        if out.stages {
            self.pass_stages(now, &records, out);
        }
        if self.rlc_pdus.is_some() {
            self.pass_rlc_pdus(&records, out);
        }
        if !self.tracing {
            return;
        }
        for r in &records {
            let mut push = |packet| out.steps.push(Step::Trace(Box::new(self.trace_row(r, packet))));
            if r.packets.is_empty() {
                push(None);
            }
            r.packets.iter().for_each(|packet| push(Some(*packet)));
        }
    }

    fn trace_row(&self, r: &TraceRecord, packet: Option<PacketId>) -> TraceRow {
        let (by, to) = self.ends(r);
        TraceRow {
            time_s: r.tti.start(TTI).as_secs_f64(),
            node: by.into(),
            to: to.into(),
            step: r.step.name(),
            link: r.link.name(),
            about_s: (r.about != r.tti).then(|| r.about.start(TTI).as_secs_f64()),
            blocks: (r.blocks > 0).then_some(u64::from(r.blocks)),
            bytes: (r.bytes > 0).then_some(r.bytes),
            mcs: r.mcs.map(u64::from),
            packet,
        }
    }

    /// The acting end of a step, and the end at which it is directed.
    fn ends(&self, r: &TraceRecord) -> (&str, &str) {
        let (ue, enb) = (&*self.ues[r.ue].name, &*self.ues[r.ue].enb_name);
        let group = r.group.and_then(|destination| self.direct.group_name(destination));
        let (sender, receiver) = match r.link {
            TraceLink::Downlink => (enb, ue),
            TraceLink::Uplink => (ue, enb),
            TraceLink::Sidelink => (ue, r.peer.map_or(group.unwrap_or(enb), |p| &self.ues[p].name)),
        };
        match r.step {
            Act::Grant => (enb, ue),
            Act::ReportReceived => (enb, ue),
            Act::Decoded | Act::Failed => (receiver, sender),
            Act::Request | Act::Report => (ue, enb),
            Act::Data | Act::Again => (sender, receiver),
        }
    }
}

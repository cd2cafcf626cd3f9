//! Layer 2 at one end of the radio link: the bearers as MAC of an eNB, or of a UE, may use them.
//! The entities of the other end cannot be reached.

use lasthop_net::Ecn;
use lasthop_units::{BearerId, Bitrate, Instant, UeId};

use super::NetworkOutput;
use super::bearers::{Bearers, Calls, Waiting};
use super::calendar::Agenda;
use super::ip_buffer::IpBuffer;
use super::layer2::Layer2;
use super::reach::{Reach, Whole};
use super::state::sidelink::SidelinkReport;
use crate::mac::harq::Parts;
use crate::mac::scheduler::qci::Qos;
use lasthop_bearer::{End, Sdu};
use lasthop_lte_l2::rlc::{Format, Grant, Rlc};

/// The network's ends of bearers at a moment.
pub(super) struct EnbBearers<'a, R: Reach = Whole> {
    now: Instant,
    drbs: &'a mut R::Drbs,
    calls: &'a mut Calls,
    out: &'a mut NetworkOutput,
}

impl<'a> EnbBearers<'a> {
    /// The network's ends of `bearers`, whose drops and marks are appended to `out`.
    #[inline]
    pub const fn new(now: Instant, bearers: &'a mut Bearers, out: &'a mut NetworkOutput) -> EnbBearers<'a> {
        let (drbs, calls) = bearers.split();
        EnbBearers { now, drbs, calls, out }
    }
}

impl<'a, R: Reach> EnbBearers<'a, R> {
    /// The network's ends of `drbs`, whose drops and marks are appended to `out`, and their timers
    /// and notices to `calls`.
    pub const fn of(
        now: Instant,
        drbs: &'a mut R::Drbs,
        calls: &'a mut Calls,
        out: &'a mut NetworkOutput,
    ) -> EnbBearers<'a, R> {
        EnbBearers { now, drbs, calls, out }
    }

    pub const fn now(&self) -> Instant {
        self.now
    }
    #[inline]
    pub fn ue(&self, bearer: BearerId) -> UeId {
        self.drbs[bearer].ue
    }
    #[inline]
    pub fn qos(&self, bearer: BearerId) -> &Qos {
        &self.drbs[bearer].qos
    }
    /// The priority of its class.
    #[inline]
    pub fn priority(&self, bearer: BearerId) -> f64 {
        self.drbs[bearer].priority
    }
    #[inline]
    pub fn rlc(&self, bearer: BearerId) -> &Rlc {
        self.drbs[bearer].layers.rlc(End::Network)
    }

    /// Data that waits in RLC of `bearer`.
    #[inline]
    pub fn waiting(&mut self, bearer: BearerId) -> Waiting {
        self.drbs[bearer].waiting()
    }

    /// The IP buffer above `bearer`.
    #[inline]
    pub fn ip(&self, bearer: BearerId) -> Option<&IpBuffer> {
        self.drbs[bearer].ip.as_deref()
    }
    /// Takes packets from the IP buffer of `bearer` until the layers below have `bytes` for MAC.
    pub fn request_from_ip(&mut self, bearer: BearerId, bytes: u64) {
        let drb = &mut self.drbs[bearer];
        while drb.layers.buffer_status(End::Network).total() < bytes {
            let Some(ip) = drb.ip.as_deref_mut() else { return };
            let item = ip.dequeue(self.now);
            drb.settle_ip(self.out);
            let Some(item) = item else { return };
            let before = self.out.dropped.len();
            let sdu = Sdu::new(item.id, item.size).with_ecn(item.ecn);
            if item.ecn == Ecn::Ce {
                self.out.marked.push((bearer, End::Network, sdu));
            }
            // The packet enters at the serving eNB: after the gateway's pipes, not before them.
            self.calls.push(self.now, drb, End::Network, sdu);
            self.calls.settle_in_enb(self.now, drb, self.out);
            // A full buffer below would drop every packet of the IP buffer.
            if self.out.dropped.len() > before {
                return;
            }
        }
    }

    /// True if the AQM of the buffers of `bearer` needs the rate.
    #[inline]
    pub fn needs_rate(&self, bearer: BearerId) -> bool {
        self.drbs[bearer].tells_rate
    }
    /// Gives the rate to this AQM.
    pub fn set_rate(&mut self, bearer: BearerId, rate: Bitrate) {
        self.drbs[bearer].set_rate(self.now, rate);
    }

    /// Gives `bearer` an opportunity of `grant`; PDUs are appended to `parts`. Returns the bytes
    /// used.
    #[inline]
    pub fn pull(&mut self, bearer: BearerId, grant: Grant, parts: &mut Parts) -> u32 {
        self.calls.pull(self.now, &mut self.drbs[bearer], End::Network, grant, parts)
    }
    /// As [`pull`](Self::pull), with `bytes`, where MAC follows RLC's reports.
    pub fn pull_by_reports(&mut self, bearer: BearerId, bytes: u32, parts: &mut Parts) {
        self.calls.pull_by_reports(self.now, &mut self.drbs[bearer], End::Network, bytes, parts);
    }

    /// Passes on the output of the layers of `bearer` after they made PDUs: no delivery. RLC
    /// reaches maxRetxThreshold there if t-PollRetransmit expires at the start of this TTI.
    #[inline]
    pub fn settle(&mut self, bearer: BearerId) {
        self.calls.settle_in_enb(self.now, &mut self.drbs[bearer], self.out);
    }
}

/// The terminal's ends of bearers, and the destinations of a UE.
pub(super) struct UeLayer2<'a>(Layer2<'a>);

impl<'a> UeLayer2<'a> {
    /// The terminal's ends of `all`.
    #[inline]
    pub const fn new(all: Layer2<'a>) -> UeLayer2<'a> {
        UeLayer2(all)
    }

    pub const fn now(&self) -> Instant {
        self.0.now
    }
    #[inline]
    pub const fn calendar(&mut self) -> &mut Agenda {
        self.0.calendar
    }

    /// Data of `bearer` [B].
    #[inline]
    pub fn waiting(&self, bearer: BearerId) -> u64 {
        self.0.bearers[bearer].layers.buffer_status(End::Ue).total()
    }
    /// True if `bearer` has something to send.
    #[inline]
    pub fn has_something(&self, bearer: BearerId) -> bool {
        self.0.bearers[bearer].layers.has_something(End::Ue)
    }
    /// True if `bearer` has something to send by RLC's last report, where MAC follows those.
    pub fn needs_opportunity(&self, bearer: BearerId) -> bool {
        self.0.bearers[bearer].layers.needs_opportunity(End::Ue)
    }
    /// The format of the PDUs of `bearer`.
    #[inline]
    pub fn format(&self, bearer: BearerId) -> Format {
        self.0.bearers[bearer].layers.format(End::Ue)
    }
    /// True if MAC follows the reports of RLC of `bearer`.
    #[inline]
    pub fn reports(&self, bearer: BearerId) -> bool {
        self.0.bearers[bearer].layers.rlc(End::Ue).reports().is_some()
    }
    /// Takes the bytes that RLC of `drbs` has reported [B], if that of `bearer` has a new report.
    pub fn take_report(&mut self, bearer: BearerId, drbs: &[BearerId]) -> Option<u64> {
        self.0.bearers.take_report(bearer, drbs)
    }

    /// Gives `bearer` an opportunity of `grant`; PDUs are appended to `parts`. Returns the bytes
    /// used.
    #[inline]
    pub fn pull(&mut self, bearer: BearerId, grant: Grant, parts: &mut Parts) -> u32 {
        self.0.pull_of_ue(bearer, grant, parts)
    }
    /// As [`pull`](Self::pull), with `bytes` at the moment `read`, where MAC follows RLC's reports.
    pub fn pull_by_reports(&mut self, read: Instant, bearer: BearerId, bytes: u32, parts: &mut Parts) {
        self.0.bearers.pull_by_reports(read, bearer, End::Ue, bytes, parts);
    }

    /// Passes on the output of the layers of `bearer`, with a notice to MAC of both ends.
    pub fn settle(&mut self, bearer: BearerId) {
        self.0.settle(bearer);
    }
    /// As [`settle`](Self::settle), where MAC of the UE has checked the bearer already.
    #[inline]
    pub fn settle_for_enb(&mut self, bearer: BearerId) {
        self.0.settle_for_enb(bearer);
    }
    /// Processes a block with `parts` and `report` that HARQ has given up.
    pub fn give_up(&mut self, parts: &mut Parts, report: &SidelinkReport) {
        self.0.hand_up(End::Ue, parts, false);
        if let Some(s) = self.0.sidelink.as_deref_mut().filter(|_| !report.is_empty()) {
            s.lose_report(report, self.0.bearers);
        }
    }

    /// A report of the destinations of `ue` that fits into `room` bytes, its size [B], and whether
    /// another one is due; None without sidelinks.
    #[cold]
    pub fn sidelink_report(&mut self, ue: UeId, room: u32) -> Option<(SidelinkReport, u64, bool)> {
        let s = self.0.sidelink.as_deref_mut()?;
        let report = s.report(ue, self.0.bearers, room);
        let bytes = report.iter().map(|(destination, _)| s.senders[*destination as usize].covered).sum();
        Some((report, bytes, s.is_triggered(ue)))
    }
}

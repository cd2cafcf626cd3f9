//! Layer 2 as one end of the radio link has it: what MAC of an eNB, or of a UE, sees of bearers and
//! may ask of them. The other end's entities are out of its reach.

use lasthop_net::Ecn;
use lasthop_units::{BearerId, Bitrate, Instant, UeId};

use super::NetworkOutput;
use super::bearers::Bearers;
use super::calendar::Agenda;
use super::ip_buffer::IpBuffer;
use super::layer2::Layer2;
use super::state::sidelink::SidelinkReport;
use crate::mac::harq::Parts;
use crate::mac::scheduler::qci::Qos;
use lasthop_bearer::{End, Sdu};
use lasthop_lte_l2::rlc::{Format, Grant, Rlc};

/// The network's ends of bearers at a moment.
pub(super) struct EnbBearers<'a> {
    now: Instant,
    bearers: &'a mut Bearers,
    out: &'a mut NetworkOutput,
}

impl<'a> EnbBearers<'a> {
    /// Those of `bearers`; what they drop and mark goes to `out`.
    #[inline]
    pub const fn new(now: Instant, bearers: &'a mut Bearers, out: &'a mut NetworkOutput) -> EnbBearers<'a> {
        EnbBearers { now, bearers, out }
    }

    pub const fn now(&self) -> Instant {
        self.now
    }
    #[inline]
    pub fn ue(&self, bearer: BearerId) -> UeId {
        self.bearers[bearer].ue
    }
    #[inline]
    pub fn qos(&self, bearer: BearerId) -> &Qos {
        &self.bearers[bearer].qos
    }
    /// The priority of its class.
    #[inline]
    pub fn priority(&self, bearer: BearerId) -> f64 {
        self.bearers[bearer].priority
    }
    #[inline]
    pub fn rlc(&self, bearer: BearerId) -> &Rlc {
        self.bearers[bearer].layers.rlc(End::Network)
    }

    /// The IP buffer above `bearer`.
    #[inline]
    pub fn ip(&self, bearer: BearerId) -> Option<&IpBuffer> {
        self.bearers[bearer].ip.as_deref()
    }
    /// MAC has room for `bytes` of `bearer`: as many packets come down from the IP buffer as fill
    /// it.
    pub fn request_from_ip(&mut self, bearer: BearerId, bytes: u64) {
        while self.bearers[bearer].layers.buffer_status(End::Network).total() < bytes {
            let Some(ip) = self.bearers.ip_mut(bearer) else { return };
            let item = ip.dequeue(self.now);
            self.bearers.settle_ip(bearer, self.out);
            let Some(item) = item else { return };
            let before = self.out.dropped.len();
            let sdu = Sdu { ecn: item.ecn, ..Sdu::new(item.id, item.size) };
            if item.ecn == Ecn::Ce {
                self.out.marked.push((bearer, End::Network, sdu));
            }
            // It waits at the eNB that serves: behind the gateway's pipes, not in front of them.
            self.bearers.push(self.now, bearer, End::Network, sdu);
            self.settle(bearer);
            // A buffer below that refuses would be asked for ever.
            if self.out.dropped.len() > before {
                return;
            }
        }
    }

    /// The AQM of the buffers of `bearer` wants to know the rate.
    #[inline]
    pub fn tells_rate(&self, bearer: BearerId) -> bool {
        self.bearers[bearer].tells_rate
    }
    /// It learns of the rate.
    pub fn set_rate(&mut self, bearer: BearerId, rate: Bitrate) {
        self.bearers.set_rate(self.now, bearer, rate);
    }

    /// An opportunity of `grant`; PDUs go to `parts`. The bytes of it that are used.
    #[inline]
    pub fn pull(&mut self, bearer: BearerId, grant: Grant, parts: &mut Parts) -> u32 {
        self.bearers.pull(self.now, bearer, End::Network, grant, parts)
    }
    /// The same of `bytes` where MAC follows RLC's reports.
    pub fn pull_by_reports(&mut self, bearer: BearerId, bytes: u32, parts: &mut Parts) {
        self.bearers.pull_by_reports(self.now, bearer, End::Network, bytes, parts);
    }

    /// Passes on what the layers of `bearer` said when they were asked for PDUs: nothing that has
    /// arrived, and nothing that makes a link fail.
    #[inline]
    pub fn settle(&mut self, bearer: BearerId) {
        let failed = self.bearers.settle(self.now, bearer, None, self.out);
        debug_assert!(!failed, "RLC gives up when a STATUS report or a timer says so");
    }
}

/// The terminal's ends of bearers, and the destinations of a UE.
pub(super) struct UeLayer2<'a>(Layer2<'a>);

impl<'a> UeLayer2<'a> {
    /// Those of `all`.
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

    /// What waits in `bearer` [B].
    #[inline]
    pub fn waiting(&self, bearer: BearerId) -> u64 {
        self.0.bearers[bearer].layers.buffer_status(End::Ue).total()
    }
    /// True if `bearer` has something to send.
    #[inline]
    pub fn has_something(&self, bearer: BearerId) -> bool {
        self.0.bearers[bearer].layers.has_something(End::Ue)
    }
    /// The same by the last report of RLC, where MAC follows those.
    pub fn wants(&self, bearer: BearerId) -> bool {
        self.0.bearers[bearer].layers.wants(End::Ue)
    }
    /// The format of its PDUs.
    #[inline]
    pub fn format(&self, bearer: BearerId) -> Format {
        self.0.bearers[bearer].layers.format(End::Ue)
    }
    /// True if MAC follows the reports of RLC of `bearer`.
    #[inline]
    pub fn reports(&self, bearer: BearerId) -> bool {
        self.0.bearers[bearer].layers.rlc(End::Ue).reports().is_some()
    }
    /// What RLC of `drbs` has reported [B], if that of `bearer` has news, which are taken.
    pub fn take_report(&mut self, bearer: BearerId, drbs: &[BearerId]) -> Option<u64> {
        self.0.bearers.take_report(bearer, drbs)
    }

    /// An opportunity of `grant`; PDUs go to `parts`. The bytes of it that are used.
    #[inline]
    pub fn pull(&mut self, bearer: BearerId, grant: Grant, parts: &mut Parts) -> u32 {
        self.0.pull_of_ue(bearer, grant, parts)
    }
    /// The same of `bytes` at the moment `read` where MAC follows RLC's reports.
    pub fn pull_by_reports(&mut self, read: Instant, bearer: BearerId, bytes: u32, parts: &mut Parts) {
        self.0.bearers.pull_by_reports(read, bearer, End::Ue, bytes, parts);
    }

    /// Passes on what the layers of `bearer` said; MAC of both ends is to look at it.
    pub fn settle(&mut self, bearer: BearerId) {
        self.0.settle(bearer);
    }
    /// The same where MAC of the UE has looked itself.
    #[inline]
    pub fn settle_for_enb(&mut self, bearer: BearerId) {
        self.0.settle_for_enb(bearer);
    }
    /// HARQ has given up a block with `parts` and `report`.
    pub fn give_up(&mut self, parts: &mut Parts, report: &SidelinkReport) {
        self.0.hand_up(End::Ue, parts, false);
        if let Some(s) = self.0.sidelink.as_deref_mut().filter(|_| !report.is_empty()) {
            s.lose_report(report, self.0.bearers);
        }
    }

    /// A report of the destinations of `ue` into `room` bytes, how much it is of [B], and whether
    /// one more is due; None without sidelinks.
    #[cold]
    pub fn sidelink_report(&mut self, ue: UeId, room: u32) -> Option<(SidelinkReport, u64, bool)> {
        let s = self.0.sidelink.as_deref_mut()?;
        let report = s.report(ue, self.0.bearers, room);
        let bytes = report.iter().map(|(destination, _)| s.senders[*destination as usize].covered).sum();
        Some((report, bytes, s.is_triggered(ue)))
    }
}

//! The AM RLC entity (TS 36.322 clause 4.2.1.3): transmitting side, receiving side, and the STATUS
//! PDUs with which a receiver answers polls.
//!
//! Sequence numbers are kept unwrapped (`u64`) under the standard's names and wrap only on the
//! wire: `unwrap` with VT(A) or VR(R) is the modulus base of clause 7.1.

mod rx;
mod slot;
mod status;
mod tx;
mod window;

use lasthop_net::aqm::Aqm;
use lasthop_units::{Bitrate, Duration, Instant};

use self::rx::AmRx;
pub(super) use self::tx::blank;
use self::tx::{AmTx, amd};
use super::buffer::Backlog;
use super::config::RlcConfig;
use super::reports::{Reports, STATUS_BYTES};
use super::{
    BufferStatus, Element, Format, Grant, Payload, Pdu, RlcEvent, RlcOutput, RlcStats, Sdu, Span, StatusPdu,
};
use lasthop_bearer::End;

/// An AM RLC entity. `P` is the content of received data fields: descriptors, or bytes.
#[derive(Debug)]
pub struct Am<P: Payload = Span> {
    format: Format,
    peer: Format,
    tx: AmTx,
    rx: AmRx<P>,
    t_status_prohibit: Option<Instant>,
    status_prohibit: Duration,
    /// When the rest of a report that a grant has truncated is due.
    rest_due: Option<Instant>,
    one_pdu_per_grant: bool,
    no_reestablishment: bool,
    pub(super) reports: Option<Box<Reports>>,
    stats: RlcStats,
    spare: Vec<Vec<Element<Span>>>,
    spare_status: Vec<StatusPdu>,
}

/// LteRlcAm::ReportBufferStatusTimer.
const REPORT_PERIOD: Duration = Duration::from_millis(20);

/// Minimum delay of the rest of a truncated report, so that the PDUs that the report named may
/// arrive: 4 ms for the report, 4 ms for the retransmission, 8 ms if HARQ retransmits one of the
/// two, and 4 ms for grants.
const REST_WAIT: Duration = Duration::from_millis(20);

/// The state variables of TS 36.322 clause 7.1, wrapped as on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct AmState {
    pub vt_a: u32,
    pub vt_ms: u32,
    pub vt_s: u32,
    pub poll_sn: u32,
    pub pdu_without_poll: u32,
    pub byte_without_poll: u64,
    pub vr_r: u32,
    pub vr_mr: u32,
    pub vr_x: u32,
    pub vr_ms: u32,
    pub vr_h: u32,
}

/// Moments at which the timers of TS 36.322 clause 7.3 expire; None: not running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AmTimers {
    /// t-PollRetransmit.
    pub t_poll_retransmit: Option<Instant>,
    /// t-Reordering.
    pub t_reordering: Option<Instant>,
    /// t-StatusProhibit.
    pub t_status_prohibit: Option<Instant>,
}

impl<P: Payload> Am<P> {
    /// The entity at `end`, in its initial state.
    pub fn new(config: &RlcConfig, end: End) -> Am<P> {
        let shortcuts = config.shortcuts();
        let (format, peer) = (config.am.format(end), config.am.format(end.peer()));
        Am {
            format,
            peer,
            tx: AmTx::new(config, format),
            rx: AmRx::new(&config.am, peer),
            t_status_prohibit: None,
            status_prohibit: config.am.t_status_prohibit,
            rest_due: None,
            one_pdu_per_grant: shortcuts.one_pdu_per_grant,
            no_reestablishment: shortcuts.no_reestablishment,
            reports: shortcuts.event_reports.then(|| Box::new(Reports::new(REPORT_PERIOD))),
            stats: RlcStats::default(),
            spare: Vec::new(),
            spare_status: Vec::new(),
        }
    }

    /// Sets the rate that the link would offer to this entity's buffer.
    pub fn set_rate(&mut self, now: Instant, rate: Bitrate) {
        self.tx.buffer.set_rate(now, rate);
    }

    /// SDUs that the active queue management has marked.
    pub const fn marked(&self) -> u64 {
        self.tx.buffer.marked()
    }
    /// Installs an active queue management in the transmission buffer.
    pub fn set_aqm(&mut self, aqm: Option<Aqm>) {
        self.tx.buffer.set_aqm(aqm);
    }

    /// Takes in an SDU from upper layers.
    #[inline]
    pub fn push(&mut self, now: Instant, sdu: Sdu, out: &mut RlcOutput<P::Sdu>) {
        self.stats.sdus_in += 1;
        let before = out.dropped.len();
        self.tx.buffer.push(now, sdu, out);
        self.stats.sdus_dropped += (out.dropped.len() - before) as u64;
        if self.reports.is_some() {
            self.report(now);
            self.restart_reports(now);
        }
    }

    /// Reports the buffers to MAC, if reports are made at events only. PDUs that were sent count
    /// until they are acknowledged.
    // LteRlcAm::DoReportBufferStatus: retxQueueSize = m_retxBufferSize + m_txedBufferSize; an empty
    // report is not made.
    #[cold]
    fn report(&mut self, now: Instant) {
        let prohibited = self.t_status_prohibit.is_some_and(|t| t > now);
        let status = if self.rx.status_due && !prohibited { STATUS_BYTES } else { 0 };
        let retransmission = self.tx.window.retx_bytes() + self.tx.window.unacknowledged_bytes();
        let new_data = self.tx.buffer.backlog().bytes;
        let found = BufferStatus { status, retransmission, new_data };
        if let Some(reports) = self.reports.as_deref_mut().filter(|_| found.total() > 0) {
            reports.report(found);
        }
    }

    fn restart_reports(&mut self, now: Instant) {
        if let Some(reports) = &mut self.reports {
            reports.start_timer(now);
        }
    }

    /// Processes the expiry of the timer of reports (LteRlcAm::ExpireRbsTimer).
    #[cold]
    fn report_again(&mut self, now: Instant) {
        let window = &self.tx.window;
        let held = u64::from(window.retx_bytes() + window.unacknowledged_bytes());
        if let Some(reports) = &mut self.reports {
            reports.stop_timer();
        }
        if held + self.tx.buffer.backlog().bytes > 0 {
            self.report(now);
            self.restart_reports(now);
        }
    }

    /// Uses a transmission opportunity: appends PDUs to `pdus`, at most `grant` in all; returns the
    /// bytes used.
    // TS 36.322 v15.1.0 clause 5.1.3.1.1: control PDUs have priority over data PDUs,
    // retransmissions over new AMD PDUs.
    pub fn pull(
        &mut self,
        now: Instant,
        grant: Grant,
        pdus: &mut Vec<Pdu>,
        out: &mut RlcOutput<P::Sdu>,
    ) -> u32 {
        self.on_time(now, out);
        let dropped = out.dropped.len();
        let mut left = grant;
        self.pull_status(now, &mut left, pdus);
        while self.tx.may_send(left) && (!self.one_pdu_per_grant || left.bytes == grant.bytes) {
            let mut pdu = blank(self.spare.pop().unwrap_or_default());
            let retx = self.tx.pull_retx(now, &mut left, &mut pdu, &mut self.stats);
            if !retx && !self.pull_new(now, &mut left, &mut pdu, out) {
                self.spare.push(pdu.elements);
                break;
            }
            pdus.push(amd(pdu));
        }
        self.stats.sdus_dropped += (out.dropped.len() - dropped) as u64;
        grant.bytes - left.bytes
    }

    #[inline]
    fn pull_new(
        &mut self,
        now: Instant,
        left: &mut Grant,
        pdu: &mut super::DataPdu<Span>,
        out: &mut RlcOutput<P::Sdu>,
    ) -> bool {
        // New data does not overtake a retransmission that waits for a larger grant.
        self.tx.window.retx_is_empty() && self.tx.pull_new(now, left, pdu, &mut self.stats, out)
    }

    fn pull_status(&mut self, now: Instant, left: &mut Grant, pdus: &mut Vec<Pdu>) {
        // TS 36.322 v15.1.0 clause 5.2.3: while t-StatusProhibit does not run, a triggered STATUS
        // PDU is sent at the first transmission opportunity.
        if !self.report_is_due() {
            return;
        }
        let mut status = self.spare_status.pop().unwrap_or_default();
        // LteRlcAm reports 4 B where the standard's STATUS PDU without NACKs has 2: the other two
        // are too few for a NACK.
        let room =
            if self.reports.is_some() { left.room().saturating_sub(STATUS_BYTES - 2) } else { left.room() };
        let Some(reached) = status::build(&self.rx, self.format, room, &mut status) else {
            self.spare_status.push(status);
            return;
        };
        let size = self.format.status(&status);
        left.charge(size);
        // The part of the report for which the grant had no room stays due: its NACKs would
        // otherwise wait for another trigger. The rest waits for t-StatusProhibit and for a round
        // trip, since every report begins at VR(R): an earlier one would repeat the NACKs of PDUs
        // that the peer has just sent again, and the peer would send them once more and increment
        // RETX_COUNT. LteRlcAm discards the rest.
        self.rx.status_due = false;
        let cut = self.reports.is_none() && reached < self.rx.vr_ms;
        self.rest_due = cut.then(|| now + self.status_prohibit.max(REST_WAIT));
        self.stats.status_sent += 1;
        self.stats.bytes_sent += u64::from(size);
        // Clause 5.2.3: t-StatusProhibit starts when the STATUS PDU has gone to lower layers.
        if !self.status_prohibit.is_zero() {
            self.t_status_prohibit = Some(now + self.status_prohibit);
        }
        pdus.push(Pdu::Status(status));
    }

    /// True if [`buffer_status`](Self::buffer_status) is not empty.
    #[inline]
    pub fn needs_opportunity(&self) -> bool {
        // A status report has 15 bits at least.
        self.tx.buffer.backlog().bytes > 0 || self.tx.window.retx_bytes() > 0 || self.report_is_due()
    }
    /// True if a report, or the rest of a truncated one, may be sent now.
    const fn report_is_due(&self) -> bool {
        self.rx.status_due && self.t_status_prohibit.is_none()
    }

    /// Receives a PDU from lower layers.
    #[inline]
    pub fn receive(&mut self, now: Instant, pdu: &Pdu<P>, out: &mut RlcOutput<P::Sdu>) {
        self.on_time(now, out);
        match pdu {
            Pdu::Amd(data) => {
                let before = out.delivered.len();
                self.rx.receive(now, data, &mut self.stats, &mut out.delivered);
                if data.poll && self.reports.is_some() {
                    self.polled(now);
                }
                self.stats.sdus_out += (out.delivered.len() - before) as u64;
            }
            Pdu::Status(status) => self.tx.on_status(status, &mut self.stats, out),
            Pdu::Tmd(_) | Pdu::Umd(_) => self.stats.invalid_received += 1,
        }
    }

    /// LteRlcAm::DoReceivePdu answers a poll even if earlier PDUs are missing, and reports unless
    /// t-StatusProhibit runs.
    #[cold]
    fn polled(&mut self, now: Instant) {
        self.rx.status_due = true;
        if self.t_status_prohibit.is_none_or(|t| t <= now) {
            self.report(now);
        }
    }

    /// When a timer expires next.
    #[inline]
    pub fn poll_at(&self) -> Option<Instant> {
        Some(self.next_timer()).filter(|at| *at < Instant::MAX)
    }
    /// As `poll_at`, with the end of time for None. The minimum of two numbers needs no branch.
    #[inline]
    pub(super) fn next_timer(&self) -> Instant {
        let or_never = |t: Option<Instant>| t.unwrap_or(Instant::MAX);
        let mut at = or_never(self.tx.t_poll_retransmit).min(or_never(self.rx.t_reordering));
        if self.rx.status_due {
            at = at.min(or_never(self.t_status_prohibit));
        }
        at = at.min(or_never(self.rest_due));
        if let Some(reports) = &self.reports {
            at = at.min(or_never(reports.timer()));
        }
        at
    }

    /// Processes the timers that have expired.
    #[inline]
    pub fn on_time(&mut self, now: Instant, out: &mut RlcOutput<P::Sdu>) {
        let expired = |t: Option<Instant>| t.is_some_and(|t| t <= now);
        if expired(self.t_status_prohibit) {
            self.t_status_prohibit = None;
        }
        if expired(self.rest_due) {
            self.rest_due = None;
            self.rx.status_due = true;
        }
        if expired(self.rx.t_reordering) {
            self.rx.on_reordering_timer(now, &mut self.stats);
        }
        if expired(self.tx.t_poll_retransmit) {
            self.tx.on_poll_timer(&mut self.stats, out);
            self.report(now);
        }
        if expired(self.reports.as_ref().and_then(|r| r.timer())) {
            self.report_again(now);
        }
    }

    /// Discards `serial` at the request of upper layers; true if it was discarded and will never be
    /// delivered.
    pub fn discard(&mut self, serial: u64) -> bool {
        let discarded = self.tx.discard(serial).is_some();
        self.stats.sdus_discarded += u64::from(discarded);
        discarded
    }

    /// Re-establishes the entity at the request of upper layers (TS 36.322 clause 5.4).
    pub fn re_establish(&mut self, out: &mut RlcOutput<P::Sdu>) {
        if !self.no_reestablishment {
            self.start_anew(out);
        }
    }

    /// Returns the entity to its initial state, for another node.
    pub fn start_anew(&mut self, out: &mut RlcOutput<P::Sdu>) {
        let before = out.delivered.len();
        self.rx.re_establish(&mut self.stats, &mut out.delivered);
        self.stats.sdus_out += (out.delivered.len() - before) as u64;
        self.tx.re_establish(out);
        self.t_status_prohibit = None;
        self.rest_due = None;
        if let Some(reports) = &mut self.reports {
            **reports = Reports::new(REPORT_PERIOD);
        }
        self.stats.reestablishments += 1;
        out.events.push(RlcEvent::Reestablished);
    }

    /// The data available for transmission that MAC would report (TS 36.322 clause 4.5).
    #[inline]
    pub fn buffer_status(&self) -> BufferStatus {
        let status = if self.report_is_due() { status::estimate(&self.rx, self.format) } else { 0 };
        BufferStatus {
            status,
            retransmission: self.tx.window.retx_bytes(),
            new_data: self.tx.buffer.backlog().bytes,
        }
    }

    /// SDUs in no PDU yet.
    pub const fn backlog(&self) -> Backlog {
        self.tx.buffer.backlog()
    }

    /// SDUs of which no byte is in a PDU.
    pub fn untouched(&self) -> Backlog {
        self.tx.buffer.untouched()
    }

    /// When the oldest SDU that is not wholly sent entered.
    pub fn oldest(&self) -> Option<Instant> {
        self.tx.buffer.oldest()
    }

    /// True if the window is full: no new PDU is sent until the peer acknowledges one (TS 36.322
    /// clause 5.1.3.1.1).
    pub fn is_stalled(&self) -> bool {
        self.tx.is_stalled()
    }

    /// Returns a PDU's memory for reuse.
    #[inline]
    pub fn recycle(&mut self, pdu: Pdu) {
        match pdu {
            Pdu::Amd(mut d) | Pdu::Umd(mut d) => {
                d.elements.clear();
                self.spare.push(d.elements);
            }
            Pdu::Status(s) => self.spare_status.push(s),
            Pdu::Tmd(_) => {}
        }
    }

    /// State variables, wrapped as on the wire.
    pub fn state(&self) -> AmState {
        let (tx, rx, f, peer) = (&self.tx, &self.rx, self.format, self.peer);
        AmState {
            vt_a: f.wrap(tx.window.vt_a()),
            vt_ms: f.wrap(tx.vt_ms()),
            vt_s: f.wrap(tx.window.vt_s()),
            poll_sn: f.wrap(tx.poll_sn),
            pdu_without_poll: tx.pdu_without_poll,
            byte_without_poll: tx.byte_without_poll,
            vr_r: peer.wrap(rx.vr_r),
            vr_mr: peer.wrap(rx.vr_mr()),
            vr_x: peer.wrap(rx.vr_x),
            vr_ms: peer.wrap(rx.vr_ms),
            vr_h: peer.wrap(rx.vr_h()),
        }
    }

    /// Timers.
    pub const fn timers(&self) -> AmTimers {
        AmTimers {
            t_poll_retransmit: self.tx.t_poll_retransmit,
            t_reordering: self.rx.t_reordering,
            t_status_prohibit: self.t_status_prohibit,
        }
    }

    /// PDUs sent and not acknowledged in sequence.
    pub fn window_used(&self) -> u32 {
        (self.tx.window.vt_s() - self.tx.window.vt_a()) as u32
    }

    /// Counters.
    pub const fn stats(&self) -> &RlcStats {
        &self.stats
    }

    /// Field widths of the PDUs that the entity sends.
    pub const fn format(&self) -> Format {
        self.format
    }
    /// Field widths of the PDUs that the entity receives.
    pub const fn peer_format(&self) -> Format {
        self.peer
    }
}

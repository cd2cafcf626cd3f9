//! The UM RLC entities (TS 36.322 clause 4.2.1.2): one transmitting, one receiving, paired for a
//! bearer.

mod rx;

use lasthop_net::aqm::Aqm;
use lasthop_units::{Bitrate, Duration, Instant};

use self::rx::UmRx;
use super::am::blank;
use super::buffer::{Backlog, TxBuffer};
use super::build::fill;
use super::config::RlcConfig;
use super::reports::Reports;
use super::shortcuts::Shortcuts;
use super::{
    BufferStatus, DropCause, Element, Format, Grant, Payload, Pdu, RlcEvent, RlcOutput, RlcStats, Sdu, Span,
};
use lasthop_bearer::End;

/// A pair of UM RLC entities.
#[derive(Debug)]
pub struct Um<P: Payload = Span> {
    format: Format,
    peer: Format,
    shortcuts: Shortcuts,
    buffer: TxBuffer,
    pub(super) reports: Option<Box<Reports>>,
    /// VT(US): the SN of the next UMD PDU.
    vt_us: u64,
    rx: UmRx<P>,
    stats: RlcStats,
    spare: Vec<Vec<Element<Span>>>,
}

/// LteRlcUm reports again 10 ms after an opportunity after which data remain.
const REPORT_PERIOD: Duration = Duration::from_millis(10);

/// The state variables of TS 36.322 clause 7.1, wrapped as on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct UmState {
    pub vt_us: u32,
    pub vr_ur: u32,
    pub vr_ux: u32,
    pub vr_uh: u32,
}

impl<P: Payload> Um<P> {
    /// Creates the entities at `end`, in their initial state.
    pub fn new(config: &RlcConfig, end: End) -> Um<P> {
        let peer = config.um.format(end.peer());
        Um {
            format: config.um.format(end),
            peer,
            shortcuts: config.shortcuts(),
            buffer: TxBuffer::new(&config.buffer),
            reports: config.shortcuts().event_reports.then(|| Box::new(Reports::new(REPORT_PERIOD))),
            vt_us: 0,
            rx: UmRx::new(&config.um, peer),
            stats: RlcStats::default(),
            spare: Vec::new(),
        }
    }

    /// Sets the rate that the link would offer to this entity's buffer.
    pub fn set_rate(&mut self, now: Instant, rate: Bitrate) {
        self.buffer.set_rate(now, rate);
    }

    /// SDUs that the active queue management has marked.
    pub const fn marked(&self) -> u64 {
        self.buffer.marked()
    }
    /// Installs an active queue management in the transmission buffer.
    pub fn set_aqm(&mut self, aqm: Option<Aqm>) {
        self.buffer.set_aqm(aqm);
    }

    /// Takes in an SDU from upper layers.
    #[inline]
    pub fn push(&mut self, now: Instant, sdu: Sdu, out: &mut RlcOutput<P::Sdu>) {
        self.stats.sdus_in += 1;
        let before = out.dropped.len();
        self.buffer.push(now, sdu, out);
        self.stats.sdus_dropped += (out.dropped.len() - before) as u64;
        if self.reports.is_some() {
            self.report();
            self.set_report_timer(None);
        }
    }

    /// Reports the buffer to MAC, if reports are made at events only.
    // LteRlcUm::DoReportBufferStatus: m_txBufferSize + 2 * m_txBuffer.size ().
    #[cold]
    fn report(&mut self) {
        let waiting = self.buffer.backlog();
        let new_data = waiting.bytes + 2 * u64::from(waiting.packets);
        if let Some(reports) = &mut self.reports {
            reports.report(BufferStatus { new_data, ..BufferStatus::default() });
        }
    }

    /// Starts the timer of reports at `now`, or stops it.
    fn set_report_timer(&mut self, now: Option<Instant>) {
        match (&mut self.reports, now) {
            (Some(reports), Some(now)) => reports.start_timer(now),
            (Some(reports), None) => reports.stop_timer(),
            (None, _) => {}
        }
    }

    /// Uses a transmission opportunity: appends PDUs to `pdus`, at most `grant` in all; returns the
    /// bytes used.
    pub fn pull(
        &mut self,
        now: Instant,
        grant: Grant,
        pdus: &mut Vec<Pdu>,
        out: &mut RlcOutput<P::Sdu>,
    ) -> u32 {
        let mut left = grant;
        let before = out.dropped.len();
        while !self.buffer.is_empty() && left.room() >= self.shortcuts.data_grant_min.max(1) {
            let mut pdu = blank(self.spare.pop().unwrap_or_default());
            let widths = (self.format, &self.shortcuts);
            let filled = fill(now, &mut self.buffer, widths, left.room(), &mut pdu.elements, out, |_| ());
            let Some(filled) = filled else {
                self.spare.push(pdu.elements);
                break;
            };
            // TS 36.322 v15.1.0 clause 5.1.2.1.1: the PDU gets SN = VT(US), then VT(US) is
            // incremented.
            pdu.sn = self.format.wrap(self.vt_us);
            self.vt_us += 1;
            pdu.starts = filled.starts;
            pdu.ends = filled.ends;
            left.charge(filled.field.size());
            self.stats.pdus_new += 1;
            self.stats.bytes_sent += u64::from(filled.field.size());
            pdus.push(Pdu::Umd(pdu));
            if self.shortcuts.one_pdu_per_grant {
                break;
            }
        }
        self.stats.sdus_dropped += (out.dropped.len() - before) as u64;
        if self.reports.is_some() && !self.buffer.is_empty() {
            self.set_report_timer(Some(now));
        }
        grant.bytes - left.bytes
    }

    /// Receives a PDU from lower layers.
    #[inline]
    pub fn receive(&mut self, now: Instant, pdu: &Pdu<P>, out: &mut RlcOutput<P::Sdu>) {
        self.on_time(now, out);
        let Pdu::Umd(data) = pdu else {
            self.stats.invalid_received += 1;
            return;
        };
        let before = out.delivered.len();
        self.rx.receive(now, data, &mut self.stats, &mut out.delivered);
        self.stats.sdus_out += (out.delivered.len() - before) as u64;
    }

    /// When t-Reordering expires, or a report is due.
    pub fn poll_at(&self) -> Option<Instant> {
        let report = self.reports.as_ref().and_then(|r| r.timer());
        self.rx.t_reordering.into_iter().chain(report).min()
    }

    /// Processes the timers that have expired.
    #[inline]
    pub fn on_time(&mut self, now: Instant, out: &mut RlcOutput<P::Sdu>) {
        if self.rx.t_reordering.is_some_and(|t| t <= now) {
            let before = out.delivered.len();
            self.rx.on_reordering_timer(now, &mut self.stats, &mut out.delivered);
            self.stats.sdus_out += (out.delivered.len() - before) as u64;
        }
        if self.reports.as_ref().and_then(|r| r.timer()).is_some_and(|t| t <= now) {
            self.set_report_timer(None);
            if !self.buffer.is_empty() {
                self.report();
                self.set_report_timer(Some(now));
            }
        }
    }

    /// Discards `serial` at the request of upper layers; true if it was discarded and will never be
    /// delivered.
    pub fn discard(&mut self, serial: u64) -> bool {
        let discarded = !self.shortcuts.no_discard && self.buffer.discard(serial).is_some();
        self.stats.sdus_discarded += u64::from(discarded);
        discarded
    }

    /// Re-establishes both entities at the request of upper layers.
    // TS 36.322 v15.1.0 clause 5.4: a transmitting entity discards all SDUs; a receiving one
    // delivers, in ascending order of SN, the SDUs that it can reassemble from PDUs with SN <
    // VR(UR) and that are not delivered, and discards the other PDUs.
    pub fn re_establish(&mut self, out: &mut RlcOutput<P::Sdu>) {
        if !self.shortcuts.no_reestablishment {
            self.start_anew(out);
        }
    }

    /// Returns the entities to their initial state, for another node.
    pub fn start_anew(&mut self, out: &mut RlcOutput<P::Sdu>) {
        self.flush(out);
        self.reestablish_tx(out);
        self.stats.reestablishments += 1;
        out.events.push(RlcEvent::Reestablished);
    }

    /// Re-establishes the receiving entity.
    pub fn flush(&mut self, out: &mut RlcOutput<P::Sdu>) {
        let before = out.delivered.len();
        self.rx.re_establish(&mut self.stats, &mut out.delivered);
        self.stats.sdus_out += (out.delivered.len() - before) as u64;
    }

    /// Re-establishes the transmitting entity.
    pub fn reestablish_tx(&mut self, out: &mut RlcOutput<P::Sdu>) {
        if let Some(reports) = &mut self.reports {
            **reports = Reports::new(REPORT_PERIOD);
        }
        out.dropped.extend(self.buffer.drain().map(|(sdu, _)| (sdu, DropCause::Reestablishment)));
        self.vt_us = 0;
    }

    /// The data available for transmission that MAC would report (TS 36.322 clause 4.5).
    pub const fn buffer_status(&self) -> BufferStatus {
        BufferStatus { status: 0, retransmission: 0, new_data: self.buffer.backlog().bytes }
    }

    /// SDUs in no PDU yet.
    pub const fn backlog(&self) -> Backlog {
        self.buffer.backlog()
    }

    /// SDUs of which no byte is in a PDU.
    pub fn untouched(&self) -> Backlog {
        self.buffer.untouched()
    }

    /// When the oldest SDU that is not wholly sent entered.
    pub fn oldest(&self) -> Option<Instant> {
        self.buffer.oldest()
    }

    /// Returns a PDU's memory for reuse.
    pub fn recycle(&mut self, pdu: Pdu) {
        if let Pdu::Umd(mut d) | Pdu::Amd(mut d) = pdu {
            d.elements.clear();
            self.spare.push(d.elements);
        }
    }

    /// State variables, wrapped as on the wire.
    pub const fn state(&self) -> UmState {
        let f = self.format;
        UmState {
            vt_us: f.wrap(self.vt_us),
            vr_ur: self.peer.wrap(self.rx.vr_ur()),
            vr_ux: self.peer.wrap(self.rx.vr_ux),
            vr_uh: self.peer.wrap(self.rx.vr_uh),
        }
    }

    /// Counters.
    pub const fn stats(&self) -> &RlcStats {
        &self.stats
    }

    /// Field widths of the PDUs that it sends.
    pub const fn format(&self) -> Format {
        self.format
    }
    /// Field widths of the PDUs that it receives.
    pub const fn peer_format(&self) -> Format {
        self.peer
    }
}

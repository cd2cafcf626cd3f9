//! RLC of LTE: TS 36.322 Release 15 (v15.1.0), transparent, unacknowledged and acknowledged mode.
//!
//! # Contract
//! An [`Rlc`] is the pair of entities at one end of a bearer. It owns no clock and no randomness.
//!
//! * `push(now, sdu, out)`: an SDU from upper layers; it, or others, may be dropped and listed in
//!   `out`.
//! * `pull(now, grant, pdus, out)`: a transmission opportunity; PDUs of any kind, at most the grant
//!   in all.
//! * `receive(now, &pdu, out)`: a PDU from lower layers; SDUs in order, confirmations and events go
//!   to `out`.
//! * `poll_at()`, `on_time(now, out)`: timers. Early and late calls are allowed; `pull` and
//!   `receive` process expired timers first. After any call [`Rlc::buffer_status`] says whether
//!   there is data available for transmission.
//! * `discard(serial)`, `re_establish(out)`: for PDCP and RRC.
//! * `recycle(pdu)`: the caller no longer uses a PDU; its memory is reused.
//!
//! Every SDU pushed into an AM entity is confirmed, dropped or still inside; UM and TM release an
//! SDU with its last PDU.
//!
//! # Sources
//! Clause numbers, and the statements of comments about clauses, were compared with TS 36.322
//! v19.0.0, which has the numbers of Release 15 (`docs/citations.toml`). Titles of conformance
//! procedures in the tests: TS 36.523-1 [unverified].
//!
//! # Simplifications
//! Data fields hold whole bytes of descriptors; ciphering and integrity protection take no time.
//! The fields of Release 15 that only sidelink and MBMS use (UM_Window_Size 0) are left out. A
//! reconfiguration of timers means a new entity.

mod am;
mod assembler;
mod buffer;
mod build;
pub mod codec;
pub mod config;
mod output;
mod pdu;
mod reports;
mod shortcuts;
mod stats;
mod tm;
mod um;
pub mod wire;

use lasthop_net::aqm::Aqm;
use lasthop_units::{Bitrate, Instant};

pub use am::{Am, AmState, AmTimers};
pub use buffer::Backlog;
pub use config::{AmConfig, BufferConfig, Discipline, Mode, RlcConfig, UmConfig};
pub use lasthop_bearer::{DropCause, End, OrInfinity, Sdu};
pub use output::{RlcEvent, RlcOutput};
pub use pdu::{
    BufferStatus, DataPdu, Element, Format, Grant, Nack, Payload, Pdu, SO_END, Segment, Span, StatusPdu,
};
pub use reports::Reports;
pub use shortcuts::{Compat, Shortcuts};
pub use stats::RlcStats;
pub use tm::Tm;
pub use um::{Um, UmState};

/// The RLC entities at one end of a bearer.
#[derive(Debug)]
pub enum Rlc<P: Payload = Span> {
    /// Transparent mode.
    Tm(Box<Tm<P>>),
    /// Unacknowledged mode.
    Um(Box<Um<P>>),
    /// Acknowledged mode.
    Am(Box<Am<P>>),
}

macro_rules! each {
    ($self:ident, $e:ident => $body:expr) => {
        match $self {
            Rlc::Tm($e) => $body,
            Rlc::Um($e) => $body,
            Rlc::Am($e) => $body,
        }
    };
}

impl<P: Payload> Rlc<P> {
    /// Creates the entities at `end`, in their initial state.
    pub fn new(config: &RlcConfig, end: End) -> Rlc<P> {
        match config.mode {
            Mode::Tm => Rlc::Tm(Box::new(Tm::new(config))),
            Mode::Um => Rlc::Um(Box::new(Um::new(config, end))),
            Mode::Am => Rlc::Am(Box::new(Am::new(config, end))),
        }
    }
    /// SDUs that the active queue management has marked.
    pub const fn marked(&self) -> u64 {
        each!(self, e => e.marked())
    }
    /// Sets the rate that the link would offer to this entity's buffer, for an AQM that needs it.
    pub fn set_rate(&mut self, now: Instant, rate: Bitrate) {
        each!(self, e => e.set_rate(now, rate));
    }
    /// Installs an active queue management in the transmission buffer.
    pub fn set_aqm(&mut self, aqm: Option<Aqm>) {
        each!(self, e => e.set_aqm(aqm));
    }
    /// Takes in an SDU from upper layers.
    #[inline]
    pub fn push(&mut self, now: Instant, sdu: Sdu, out: &mut RlcOutput<P::Sdu>) {
        each!(self, e => e.push(now, sdu, out));
    }
    /// Uses a transmission opportunity; returns the bytes used.
    #[inline]
    pub fn pull(
        &mut self,
        now: Instant,
        grant: Grant,
        pdus: &mut Vec<Pdu>,
        out: &mut RlcOutput<P::Sdu>,
    ) -> u32 {
        each!(self, e => e.pull(now, grant, pdus, out))
    }
    /// Receives a PDU from lower layers.
    #[inline]
    pub fn receive(&mut self, now: Instant, pdu: &Pdu<P>, out: &mut RlcOutput<P::Sdu>) {
        match self {
            Rlc::Tm(e) => e.receive(pdu, out),
            Rlc::Um(e) => e.receive(now, pdu, out),
            Rlc::Am(e) => e.receive(now, pdu, out),
        }
    }
    /// When a timer expires next; None: no timer runs.
    #[inline]
    pub fn poll_at(&self) -> Option<Instant> {
        match self {
            Rlc::Tm(_) => None,
            Rlc::Um(e) => e.poll_at(),
            Rlc::Am(e) => e.poll_at(),
        }
    }
    /// As `poll_at`, with the end of time for None.
    #[inline]
    pub(crate) fn next_timer(&self) -> Instant {
        match self {
            Rlc::Tm(_) => Instant::MAX,
            Rlc::Um(e) => e.poll_at().unwrap_or(Instant::MAX),
            Rlc::Am(e) => e.next_timer(),
        }
    }
    /// Processes the timers that have expired.
    #[inline]
    pub fn on_time(&mut self, now: Instant, out: &mut RlcOutput<P::Sdu>) {
        match self {
            Rlc::Tm(_) => {}
            Rlc::Um(e) => e.on_time(now, out),
            Rlc::Am(e) => e.on_time(now, out),
        }
    }
    /// Discards the SDU `serial` at the request of upper layers; true if it was discarded and will
    /// never be delivered (TS 36.322 clause 5.3).
    pub fn discard(&mut self, serial: u64) -> bool {
        each!(self, e => e.discard(serial))
    }
    /// Re-establishes the entity (TS 36.322 clause 5.4): SDUs that can be reassembled are
    /// delivered, the others dropped.
    pub fn re_establish(&mut self, out: &mut RlcOutput<P::Sdu>) {
        each!(self, e => e.re_establish(out));
    }
    /// Returns the transmitting half to its initial state; waiting SDUs are reported as dropped. UM
    /// only: the halves of the other modes depend on each other.
    pub fn reestablish_tx(&mut self, out: &mut RlcOutput<P::Sdu>) {
        if let Rlc::Um(e) = self {
            e.reestablish_tx(out);
        }
    }
    /// Delivers the SDUs that the receiving half can reassemble, and returns it to its initial
    /// state. UM only.
    pub fn flush(&mut self, out: &mut RlcOutput<P::Sdu>) {
        if let Rlc::Um(e) = self {
            e.flush(out);
        }
    }
    /// As [`re_establish`](Self::re_establish), regardless of shortcuts, because another node
    /// serves the bearer.
    pub fn start_anew(&mut self, out: &mut RlcOutput<P::Sdu>) {
        match self {
            Rlc::Tm(e) => e.re_establish(out),
            Rlc::Um(e) => e.start_anew(out),
            Rlc::Am(e) => e.start_anew(out),
        }
    }
    /// Prefetches the entity before its use.
    #[inline]
    pub fn prefetch(&self) {
        each!(self, e => lasthop_engine::simd::prefetch(&**e));
    }
    /// The data available for transmission that MAC would report (TS 36.322 clause 4.5).
    #[inline]
    pub fn buffer_status(&self) -> BufferStatus {
        each!(self, e => e.buffer_status())
    }
    /// SDUs in no PDU yet.
    #[inline]
    pub const fn backlog(&self) -> Backlog {
        each!(self, e => e.backlog())
    }
    /// SDUs of which no byte is in a PDU.
    pub fn untouched(&self) -> Backlog {
        match self {
            Rlc::Tm(e) => e.backlog(),
            Rlc::Um(e) => e.untouched(),
            Rlc::Am(e) => e.untouched(),
        }
    }
    /// When the oldest SDU that is not wholly sent entered.
    pub fn oldest(&self) -> Option<Instant> {
        each!(self, e => e.oldest())
    }
    /// Data that could be sent now: the buffer status without the data that a full window holds
    /// back [B].
    #[inline]
    pub fn sendable(&self) -> u64 {
        let status = self.buffer_status();
        match self {
            Rlc::Am(e) if e.is_stalled() => u64::from(status.status) + u64::from(status.retransmission),
            _ => status.total(),
        }
    }
    /// MAC's view of the entity where reports are made at events only
    /// ([`Shortcuts::event_reports`]).
    #[inline]
    pub fn reports(&self) -> Option<&Reports> {
        match self {
            Rlc::Tm(_) => None,
            Rlc::Um(e) => e.reports.as_deref(),
            Rlc::Am(e) => e.reports.as_deref(),
        }
    }
    /// As [`reports`](Self::reports), mutable: MAC takes reports from it.
    pub fn reports_mut(&mut self) -> Option<&mut Reports> {
        match self {
            Rlc::Tm(_) => None,
            Rlc::Um(e) => e.reports.as_deref_mut(),
            Rlc::Am(e) => e.reports.as_deref_mut(),
        }
    }
    /// True if MAC has a reason to give the entity an opportunity.
    #[inline]
    pub fn needs_opportunity(&self) -> bool {
        match self.reports() {
            Some(reports) => reports.total() > 0,
            None => self.has_something(),
        }
    }
    /// True if [`buffer_status`](Self::buffer_status) is not empty.
    #[inline]
    pub fn has_something(&self) -> bool {
        match self {
            Rlc::Tm(e) => e.buffer_status().total() > 0,
            Rlc::Um(e) => e.buffer_status().total() > 0,
            Rlc::Am(e) => e.needs_opportunity(),
        }
    }
    /// Uses an opportunity from an eNB's scheduler that follows the entity's reports: one PDU of at
    /// most `bytes`.
    pub fn pull_at_enb(
        &mut self,
        now: Instant,
        bytes: u32,
        pdus: &mut Vec<Pdu>,
        out: &mut RlcOutput<P::Sdu>,
    ) {
        if let Some(reports) = self.reports_mut() {
            reports.grant_at_enb(bytes);
        }
        self.pull(now, Grant::of(bytes), pdus, out);
    }
    /// Uses a UE's grant of `bytes` for an entity whose reports MAC follows: a status report has
    /// its own opportunity, the rest is for one data PDU.
    pub fn pull_at_ue(&mut self, now: Instant, bytes: u32, pdus: &mut Vec<Pdu>, out: &mut RlcOutput<P::Sdu>) {
        // A timer that expires at this moment causes its report before the opportunity is used.
        self.on_time(now, out);
        let mut left = bytes;
        if let Some(size) = self.reports_mut().and_then(|r| r.status_opportunity(bytes)) {
            left -= size;
            self.pull(now, Grant::of(size), pdus, out);
        }
        if self.reports_mut().is_some_and(|r| r.data_opportunity(left)) {
            self.pull(now, Grant::of(left), pdus, out);
        }
    }
    /// Returns a PDU's memory for reuse.
    #[inline]
    pub fn recycle(&mut self, pdu: Pdu) {
        match self {
            Rlc::Tm(_) => {}
            Rlc::Um(e) => e.recycle(pdu),
            Rlc::Am(e) => e.recycle(pdu),
        }
    }
    /// Counters.
    pub const fn stats(&self) -> &RlcStats {
        each!(self, e => e.stats())
    }
    /// PDUs sent and not acknowledged in sequence (AM).
    pub fn window_used(&self) -> u32 {
        if let Rlc::Am(e) = self { e.window_used() } else { 0 }
    }
    /// Field widths of the PDUs that it sends; None for transparent mode, which has no header.
    pub const fn format(&self) -> Option<Format> {
        match self {
            Rlc::Tm(_) => None,
            Rlc::Um(e) => Some(e.format()),
            Rlc::Am(e) => Some(e.format()),
        }
    }
    /// Field widths of the PDUs that it receives; None for transparent mode.
    pub const fn peer_format(&self) -> Option<Format> {
        match self {
            Rlc::Tm(_) => None,
            Rlc::Um(e) => Some(e.peer_format()),
            Rlc::Am(e) => Some(e.peer_format()),
        }
    }
}

//! RLC acknowledged mode of UMTS (TS 25.322).
//!
//! There is one entity at each end; each sends and receives. Law of time and order of calls:
//!
//! * [`AmEntity::push_sdu`]: an SDU from upper layers. [`AmEntity::pull`]: MAC has room for
//!   `blocks` blocks. [`AmEntity::receive`]: a PDU from lower layers. [`AmEntity::on_time`]: a
//!   timer that [`AmEntity::poll_at`] named may have expired; an early call is harmless.
//! * [`AmEntity::has_data`] is true if a pull now would give a PDU; read it after every call above.
//! * Consequences are appended to the caller's [`Output`].
//!
//! **The account of SDUs.** The receiver's delivery is final. A sender reports an SDU as dropped
//! only when its receiver can no longer deliver it: at once if no octet of it was sent, otherwise
//! when the receiver has confirmed the move of its window (MRW ACK) or was reset. So a report of a
//! drop is never followed by a delivery, but it may follow one, when the acknowledgement was lost:
//! the account in [`Bearer`](crate::Bearer) then no longer has the [`serial`](Sdu::serial), and
//! ignores the report.

mod config;
mod poll;
mod reassembly;
mod report;
mod reset;
mod rx;
mod stats;
mod status;
mod tx;

use lasthop_units::{Bytes, Instant};

pub use config::{AmConfig, BufferPolicy, OnMaxDat, StatusFormat};
pub use stats::AmStats;

use super::pdu::{Pdu, ResetPdu, StatusPdu, Sufi};
use super::segment::DataLayout;
use crate::rlc::{Output, RlcEvent};
use lasthop_bearer::{DropCause, Sdu};
use reset::{Asked, Resetter};
use rx::Rx;
use tx::{Tx, Verdict};

/// An acknowledged mode entity.
#[derive(Clone, Debug)]
pub struct AmEntity {
    cfg: AmConfig,
    layout: DataLayout,
    tx: Tx,
    rx: Rx,
    reset: Resetter,
    /// The MRW_ACK super-field that is to be sent.
    mrw_ack: Option<Sufi>,
    stats: AmStats,
    /// STATUS PDUs of a report that did not fit yet.
    reports: Vec<StatusPdu>,
}

impl AmEntity {
    /// Creates an entity that sends PDUs with `payload` octets after the 2-octet header; its peer
    /// may use another size.
    pub fn new(cfg: AmConfig, payload: Bytes) -> Self {
        let layout = DataLayout::am(payload.0 as u32);
        AmEntity {
            cfg,
            layout,
            tx: Tx::new(cfg, layout),
            rx: Rx::new(cfg),
            reset: Resetter::default(),
            mrw_ack: None,
            stats: AmStats::default(),
            reports: Vec::new(),
        }
    }

    /// Its parameters.
    pub const fn config(&self) -> &AmConfig {
        &self.cfg
    }
    /// The layout of the PDUs that it sends.
    pub const fn layout(&self) -> DataLayout {
        self.layout
    }
    /// Its counters.
    pub const fn stats(&self) -> &AmStats {
        &self.stats
    }
    /// VT(S) with the HFN above it: the count of the next new PDU.
    pub const fn vt_s(&self) -> u64 {
        self.tx.vt_s()
    }
    /// PDUs of the transmission window in use: VT(S) - VT(A).
    pub fn tx_window_used(&self) -> u32 {
        self.tx.window_used()
    }
    /// SDUs and bytes of which no octet was sent.
    pub fn waiting(&self) -> (usize, Bytes) {
        (self.tx.buffer.waiting_sdus(), self.tx.buffer.waiting_bytes())
    }
    /// True when every SDU accepted was acknowledged or discarded.
    pub fn is_drained(&self) -> bool {
        self.tx.buffer.is_empty() && !self.reset.is_pending()
    }

    /// Takes in an SDU from upper layers (`serial`s must grow). May drop it or another, by
    /// `buffer_policy`.
    pub fn push_sdu(&mut self, now: Instant, sdu: Sdu, out: &mut Output) {
        self.tx.push(now, sdu, out, &mut self.stats);
    }

    /// True when [`pull`](Self::pull) at `now` would give a PDU.
    #[inline]
    pub fn has_data(&self, now: Instant) -> bool {
        if self.reset.is_pending() {
            return self.reset.has_pdu();
        }
        self.tx.has_data(now) || self.status_due(now) || self.reset.has_pdu()
    }

    /// Passes MAC at most `blocks` PDUs: control first, then retransmissions, then new data.
    pub fn pull(&mut self, now: Instant, blocks: usize, pdus: &mut Vec<Pdu>, out: &mut Output) {
        let end = pdus.len() + blocks;
        self.pull_resets(now, blocks, pdus);
        if self.reset.is_pending() {
            return;
        }
        let piggyback = self.cfg.piggyback;
        if !piggyback {
            self.pull_status(now, end - pdus.len(), pdus);
        }
        // A report that may be piggybacked is placed after the data.
        let start = pdus.len();
        let reserve = usize::from(piggyback && self.status_due(now));
        let room = (end - start).saturating_sub(reserve);
        let verdict = self.tx.pull(now, room, pdus, out, &mut self.stats);
        if reserve > 0 {
            self.place_status(now, start, end - pdus.len(), pdus);
        }
        self.act_on(verdict, out);
    }

    fn pull_resets(&mut self, now: Instant, blocks: usize, pdus: &mut Vec<Pdu>) {
        if blocks > 0
            && let Some(answer) = self.reset.answer(self.tx.hfn())
        {
            pdus.push(Pdu::ResetAck(answer));
            if blocks == 1 {
                return;
            }
        }
        if blocks > 0
            && let Some(request) = self.reset.request(now, &self.cfg)
        {
            pdus.push(Pdu::Reset(request));
        }
    }

    #[inline]
    fn status_due(&self, now: Instant) -> bool {
        self.rx.report.is_due(now)
            || self.mrw_ack.is_some()
            || self.tx.has_discard_order()
            || !self.reports.is_empty()
    }

    /// Appends at most `room` STATUS PDUs: those with MRW and MRW_ACK, and the report if it is due.
    fn pull_status(&mut self, now: Instant, room: usize, pdus: &mut Vec<Pdu>) {
        // In most TTIs there is none.
        if room == 0 || !self.status_due(now) {
            return;
        }
        let mut first = StatusPdu::default();
        first.sufis.extend(self.mrw_ack.take());
        first.sufis.extend(self.tx.discard_order(now));
        if self.rx.report.is_due(now) && self.reports.is_empty() {
            let bits = (self.layout.payload as usize + 2) * 8;
            report::build_report(&self.rx, self.cfg.status_format, bits, first, &mut self.reports);
            self.rx.report.sent(now, &self.cfg);
        } else if !first.sufis.is_empty() {
            self.reports.push(first);
        }
        // PDUs that do not fit into this TTI are sent in the next one.
        let n = self.reports.len().min(room);
        self.stats.status_pdus += n as u64;
        pdus.extend(self.reports.drain(..n).map(|s| Pdu::Status(Box::new(s))));
    }

    /// Puts the status into the padding of the last data PDU if it fits, else before the data.
    fn place_status(&mut self, now: Instant, start: usize, room: usize, pdus: &mut Vec<Pdu>) {
        let data_end = pdus.len();
        self.pull_status(now, room, pdus);
        let alone = pdus.len() == data_end + 1;
        if alone && data_end > start && self.fits_padding(&pdus[data_end - 1], &pdus[data_end]) {
            let status = pdus.pop();
            if let (Some(Pdu::Status(status)), Some(Pdu::Data(data))) = (status, pdus.last_mut()) {
                data.piggyback = Some(status);
            }
        } else {
            let statuses = pdus.len() - data_end;
            pdus[start..].rotate_right(statuses);
        }
    }

    fn fits_padding(&self, data: &Pdu, status: &Pdu) -> bool {
        match (data, status) {
            (Pdu::Data(data), Pdu::Status(status)) => {
                let used = self.layout.used(&data.segments) + self.layout.li;
                used as usize + status.bits().div_ceil(8) <= self.layout.payload as usize
            }
            _ => false,
        }
    }

    /// Receives a PDU from lower layers.
    #[inline]
    pub fn receive(&mut self, now: Instant, pdu: Pdu, out: &mut Output) {
        match pdu {
            Pdu::Reset(r) => self.on_reset(&r, out),
            Pdu::ResetAck(r) => self.on_reset_ack(&r, out),
            // Clause 11.4.2: during a pending reset all other PDUs are ignored.
            _ if self.reset.is_pending() => {}
            Pdu::Data(data) => {
                let (delivered, piggyback) = (out.delivered.len(), data.piggyback);
                let (label, segments) = ((data.sn, data.hfn, data.poll), data.segments);
                self.rx.receive(now, label, segments, out, &mut self.stats);
                self.count_delivered(out, delivered);
                if let Some(status) = piggyback {
                    self.on_status(now, &status, out);
                }
            }
            Pdu::Status(status) => self.on_status(now, &status, out),
            Pdu::Um(_) | Pdu::Tm(_) => debug_assert!(false, "{pdu:?} is no PDU of acknowledged mode"),
        }
    }

    #[inline]
    fn count_delivered(&mut self, out: &Output, from: usize) {
        // Most PDUs complete no SDU.
        if out.delivered.len() == from {
            return;
        }
        self.stats.sdus_out += (out.delivered.len() - from) as u64;
        self.stats.bytes_out += out.delivered[from..].iter().map(|s| u64::from(s.size())).sum::<u64>();
    }

    fn on_status(&mut self, now: Instant, status: &StatusPdu, out: &mut Output) {
        for sufi in &status.sufis {
            if let Sufi::Mrw { beyond_window, sns, n_length } = sufi
                && let Some(sn) = sns.last()
            {
                let delivered = out.delivered.len();
                self.mrw_ack = Some(self.rx.move_window(*sn, *n_length, *beyond_window, out));
                self.count_delivered(out, delivered);
            }
        }
        let verdict = self.tx.on_status(now, status, out, &mut self.stats);
        self.act_on(verdict, out);
    }

    fn act_on(&mut self, verdict: Verdict, out: &mut Output) {
        if verdict == Verdict::Reset && self.reset.start(self.tx.hfn() as u32) {
            self.stats.resets += 1;
            out.events.push(RlcEvent::ResetStarted);
        }
    }

    /// Processes a RESET PDU (clause 11.4.3). The HFNs of both directions become one more than the
    /// highest in use.
    fn on_reset(&mut self, pdu: &ResetPdu, out: &mut Output) {
        if self.reset.on_request(pdu) == Asked::New {
            self.reset_both(pdu.hfni, DropCause::RlcReset, out);
            out.events.push(RlcEvent::ResetByPeer);
        }
    }

    /// Processes a RESET ACK PDU (clause 11.4.4).
    fn on_reset_ack(&mut self, pdu: &ResetPdu, out: &mut Output) {
        if self.reset.is_answer(pdu) {
            self.reset_both(pdu.hfni, DropCause::RlcReset, out);
            self.reset.done();
            out.events.push(RlcEvent::ResetDone);
        }
    }

    fn reset_both(&mut self, peer_hfni: u32, cause: DropCause, out: &mut Output) {
        let hfn = self.reset.next_hfn(self.tx.hfn());
        self.tx.reset(hfn, cause, out, &mut self.stats);
        self.rx.reset(u64::from(peer_hfni) + 1);
        self.mrw_ack = None;
        self.reports.clear();
    }

    /// Re-establishes the entity after an unrecoverable error; both ends at once, without PDUs in
    /// transmission. SDUs in transmission are dropped, SDUs of which no octet was sent are kept.
    pub fn reestablish(&mut self, out: &mut Output) {
        self.tx.reset(0, DropCause::RadioLinkFailure, out, &mut self.stats);
        self.rx.reset(0);
        self.reset = Resetter::default();
        self.mrw_ack = None;
        self.reports.clear();
    }

    /// When a timer expires next.
    #[inline]
    pub fn poll_at(&self, now: Instant) -> Option<Instant> {
        if self.reset.is_pending() {
            return self.reset.poll_at();
        }
        Some(self.tx.poll_at(now).min(self.rx.report.poll_at(now))).filter(|at| *at < Instant::MAX)
    }

    /// Processes the timers that have expired by `now`.
    pub fn on_time(&mut self, now: Instant, out: &mut Output) {
        if self.reset.on_time(now, &self.cfg) {
            out.events.push(RlcEvent::Unrecoverable);
        }
        if self.reset.is_pending() {
            return;
        }
        self.rx.report.on_time(now, &self.cfg, self.rx.vr_r() < self.rx.vr_h());
        let verdict = self.tx.on_time(now, out, &mut self.stats);
        self.act_on(verdict, out);
    }
}

/// The expiry of a timer, [`Instant::MAX`] if it does not run.
#[inline]
const fn or_never(timer: Option<Instant>) -> Instant {
    match timer {
        Some(at) => at,
        None => Instant::MAX,
    }
}

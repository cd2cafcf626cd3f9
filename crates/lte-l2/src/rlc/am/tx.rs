//! The transmitting side of an AM entity (TS 36.322 clauses 4.2.1.3.2, 5.1.3.1, 5.2.1, 5.2.2).

use lasthop_units::Instant;

use super::window::Window;
use crate::rlc::buffer::TxBuffer;
use crate::rlc::build::{Field, fill};
use crate::rlc::config::{AmConfig, RlcConfig};
use crate::rlc::pdu::SO_END;
use crate::rlc::shortcuts::Shortcuts;
use crate::rlc::stats::RlcStats;
use crate::rlc::{DataPdu, DropCause, Format, Grant, Pdu, RlcEvent, RlcOutput, Sdu, Segment, StatusPdu};

/// State and procedures of the transmitter.
#[derive(Debug)]
pub(super) struct AmTx {
    config: AmConfig,
    format: Format,
    shortcuts: Shortcuts,
    pub buffer: TxBuffer,
    /// Contains VT(A) and VT(S).
    pub window: Window,
    /// POLL_SN.
    pub poll_sn: u64,
    /// PDU_WITHOUT_POLL.
    pub pdu_without_poll: u32,
    /// BYTE_WITHOUT_POLL.
    pub byte_without_poll: u64,
    pub t_poll_retransmit: Option<Instant>,
    /// t-PollRetransmit has expired: the next PDU carries a poll.
    poll_due: bool,
    /// Highest ACK_SN so far: below it only `holes` are unacknowledged.
    acked_to: u64,
    holes: Vec<u64>,
    /// Counts status reports.
    reports: u64,
}

impl AmTx {
    pub fn new(config: &RlcConfig, format: Format) -> AmTx {
        AmTx {
            format,
            shortcuts: config.shortcuts(),
            buffer: TxBuffer::new(&config.buffer),
            window: Window::new(format),
            poll_sn: 0,
            pdu_without_poll: 0,
            byte_without_poll: 0,
            t_poll_retransmit: None,
            poll_due: false,
            acked_to: 0,
            holes: Vec::new(),
            reports: 0,
            config: config.am.clone(),
        }
    }

    /// VT(MS) = VT(A) + AM_Window_Size.
    #[inline]
    pub fn vt_ms(&self) -> u64 {
        self.window.vt_a() + self.shortcuts.window.unwrap_or(u64::MAX).min(self.format.window())
    }

    /// True if the window admits no new PDU.
    // TS 36.322 v15.1.0 clause 5.1.3.1.1: no data PDU whose SN is outside of the transmitting
    // window goes to lower layers.
    #[inline]
    pub fn is_stalled(&self) -> bool {
        self.window.vt_s() >= self.vt_ms()
    }

    /// False if there is nothing to send or no room for a byte of it.
    #[inline]
    pub fn may_send(&self, grant: Grant) -> bool {
        grant.room() > self.format.fixed(false) && !(self.window.retx_is_empty() && self.buffer.is_empty())
    }

    /// Takes one PDU or segment from the retransmission buffer; false if nothing is pending or
    /// nothing fits.
    pub fn pull_retx(
        &mut self,
        now: Instant,
        grant: &mut Grant,
        pdu: &mut DataPdu<super::Span>,
        stats: &mut RlcStats,
    ) -> bool {
        let Some(sn) = self.window.retx_head() else { return false };
        let (from, to) = self.window.pending(sn);
        let sent = self.window.get(sn);
        let room = grant.room();
        let whole = (from, to) == (0, sent.data) && sent.size <= room;
        // TS 36.322 v15.1.0 clause 5.2.1: an AMD PDU that fits the grant whole is sent unchanged
        // but for its P field; otherwise a segment of it that fits.
        if !whole && self.shortcuts.no_resegmentation {
            return false;
        }
        let (data, size) = (sent.data, sent.size);
        let mut field = Field::new(self.format, !whole, if whole { size } else { room });
        self.window.read(sn, (from, to), &mut field, &mut pdu.elements);
        if field.data() == 0 {
            return false;
        }
        let end = from + field.data();
        self.window.take_pending(sn, field.data());
        pdu.sn = self.format.wrap(sn);
        pdu.segment = (!whole).then_some(Segment { so: from, last: end == data });
        pdu.poll = self.poll(now, stats);
        set_framing(pdu);
        grant.charge(field.size());
        stats.pdus_retx += 1;
        stats.segments_retx += u64::from(!whole);
        stats.bytes_sent += u64::from(field.size());
        true
    }

    /// Builds one new PDU; false if there is no data, no room in the grant or no room in the
    /// window.
    #[inline]
    pub fn pull_new<S>(
        &mut self,
        now: Instant,
        grant: &mut Grant,
        pdu: &mut DataPdu<super::Span>,
        stats: &mut RlcStats,
        out: &mut RlcOutput<S>,
    ) -> bool {
        let room = grant.room();
        if self.buffer.is_empty() || self.is_stalled() || room < self.shortcuts.data_grant_min {
            return false;
        }
        let Self { buffer, window, format, shortcuts, .. } = self;
        let widths = (*format, &*shortcuts);
        let begun = |sdu| window.begin_sdu(sdu);
        let Some(filled) = fill(now, buffer, widths, room, &mut pdu.elements, out, begun) else {
            return false;
        };
        pdu.sn = self.format.wrap(self.window.vt_s());
        self.window.push(&pdu.elements, &filled.field);
        // TS 36.322 v15.1.0 clause 5.2.2.1: PDU_WITHOUT_POLL counts new PDUs, BYTE_WITHOUT_POLL the
        // new bytes of their data fields.
        self.pdu_without_poll += 1;
        self.byte_without_poll += u64::from(filled.field.data());
        pdu.segment = None;
        pdu.starts = filled.starts;
        pdu.ends = filled.ends;
        pdu.poll = self.poll(now, stats);
        grant.charge(filled.field.size());
        stats.pdus_new += 1;
        stats.bytes_sent += u64::from(filled.field.size());
        true
    }

    /// Decides whether the PDU just assembled carries a poll, and updates the state variables if it
    /// does.
    #[inline]
    fn poll(&mut self, now: Instant, stats: &mut RlcStats) -> bool {
        // TS 36.322 v15.1.0 clause 5.2.2.1: a poll is sent if PDU_WITHOUT_POLL >= pollPDU, if
        // BYTE_WITHOUT_POLL >= pollByte, if transmission and retransmission buffer are empty after
        // this PDU (PDUs that wait for an acknowledgement do not count), or if no new PDU can be
        // sent after it, as when the window stalls.
        let due = self.poll_due
            || self.pdu_without_poll >= self.config.poll_pdu.value().unwrap_or(u32::MAX)
            || self.byte_without_poll >= self.config.poll_byte.value().map_or(u64::MAX, |b| b.0)
            || (self.buffer.is_empty() && self.window.retx_is_empty())
            || self.is_stalled();
        if due {
            self.pdu_without_poll = 0;
            self.byte_without_poll = 0;
            self.poll_due = false;
            // Clause 5.2.2.1: POLL_SN becomes VT(S) - 1, and t-PollRetransmit starts or starts
            // again.
            self.poll_sn = self.window.vt_s() - 1;
            self.t_poll_retransmit = Some(now + self.config.t_poll_retransmit);
            stats.polls += 1;
        }
        due
    }

    /// Processes the expiry of t-PollRetransmit.
    // TS 36.322 v15.1.0 clause 5.2.2.3: if both buffers are empty (PDUs that wait for an
    // acknowledgement do not count), or no new PDU can be sent, the AMD PDU with SN = VT(S) - 1, or
    // any that is not acknowledged, is considered for retransmission. A data PDU carries a poll.
    pub fn on_poll_timer<S>(&mut self, stats: &mut RlcStats, out: &mut RlcOutput<S>) {
        self.t_poll_retransmit = None;
        self.poll_due = true;
        stats.poll_timeouts += 1;
        let (vt_a, vt_s) = (self.window.vt_a(), self.window.vt_s());
        let idle = self.buffer.is_empty() && self.window.retx_is_empty();
        if vt_a == vt_s || !(idle || self.is_stalled()) {
            return;
        }
        if self.shortcuts.poll_timer_resends_all {
            (vt_a..vt_s).for_each(|sn| self.consider(sn, &[(0, SO_END)], stats, out));
        } else {
            let last = vt_s - 1;
            let sn = if self.window.get(last).acked { vt_a } else { last };
            self.consider(sn, &[(0, SO_END)], stats, out);
        }
    }

    /// Considers portions `[from, to)` of an AMD PDU for retransmission.
    // TS 36.322 v15.1.0 clause 5.2.1: the first time RETX_COUNT is set to zero; later it is
    // incremented, unless the PDU or a portion of it is pending for retransmission already; at
    // maxRetxThreshold upper layers are notified. The portions that one status report names are
    // considered together.
    fn consider<S>(
        &mut self,
        sn: u64,
        portions: &[(u32, u32)],
        stats: &mut RlcStats,
        out: &mut RlcOutput<S>,
    ) {
        if self.window.get(sn).acked {
            return;
        }
        let mut new = false;
        for &(from, to) in portions {
            new |= self.window.add_pending(sn, from, to);
        }
        if !new {
            return;
        }
        let count = self.window.count_retx(sn);
        if count == self.config.max_retx_threshold && !self.shortcuts.never_fails {
            stats.failures += 1;
            out.events.push(RlcEvent::MaxRetransmissions { sn: self.format.wrap(sn) });
        }
    }

    /// Processes a STATUS PDU (TS 36.322 clauses 5.2.1, 5.2.2.2).
    pub fn on_status<S>(&mut self, status: &StatusPdu, stats: &mut RlcStats, out: &mut RlcOutput<S>) {
        let vt_a = self.window.vt_a();
        let ack_sn = self.format.unwrap(status.ack_sn, vt_a);
        // TS 36.322 v15.1.0 clause 5.5.1: a PDU with invalid values is discarded. An ACK_SN outside
        // [VT(A), VT(S)] is invalid, unless it is in the window below VT(A): a newer report has
        // overtaken this one.
        if ack_sn > self.window.vt_s() {
            let overtaken = ack_sn >= self.format.modulus().max(vt_a + self.format.window());
            stats.status_overtaken += u64::from(overtaken);
            stats.invalid_received += u64::from(!overtaken);
            return;
        }
        stats.status_received += 1;
        // Clause 5.2.2.2: a report that acknowledges the PDU with SN = POLL_SN, positively or
        // negatively, stops t-PollRetransmit.
        if self.poll_sn < ack_sn {
            self.t_poll_retransmit = None;
        }
        self.reports += 1;
        if status.nacks.is_empty() && self.holes.is_empty() {
            // The usual case: all PDUs before `acked_to` have left the window, and none after it is
            // acknowledged.
            self.window.ack_to(ack_sn, &mut out.confirmed);
            self.acked_to = ack_sn.max(self.acked_to);
            return;
        }
        self.take_nacks(status, ack_sn, stats, out);
        self.take_acks(ack_sn, out);
        self.window.advance();
    }

    fn take_nacks<S>(
        &mut self,
        status: &StatusPdu,
        ack_sn: u64,
        stats: &mut RlcStats,
        out: &mut RlcOutput<S>,
    ) {
        let vt_a = self.window.vt_a();
        for group in status.nacks.chunk_by(|a, b| a.sn == b.sn) {
            // Clause 5.2.1: only if VT(A) <= SN < VT(S).
            let sn = self.format.unwrap(group[0].sn, vt_a);
            if sn >= ack_sn {
                continue;
            }
            self.window.nack(sn, self.reports);
            // A portion that names no byte of the PDU is taken for all of it.
            let data = self.window.get(sn).data;
            let portions = group.iter().map(|n| match n.portion {
                Some((from, to)) if from <= to && from < data => (from, to.saturating_add(1)),
                _ => (0, SO_END),
            });
            let portions: smallvec::SmallVec<[(u32, u32); 4]> = portions.collect();
            self.consider(sn, &portions, stats, out);
        }
    }

    /// Acknowledges the PDUs that `ack_sn` covers and this report did not name.
    fn take_acks<S>(&mut self, ack_sn: u64, out: &mut RlcOutput<S>) {
        let Self { window, holes, acked_to, reports, .. } = self;
        if !holes.is_empty() {
            holes.retain(|&sn| {
                let missing = sn >= ack_sn || window.is_nacked(sn, *reports);
                if !missing {
                    window.ack(sn, &mut out.confirmed);
                }
                missing
            });
        }
        for sn in *acked_to..ack_sn {
            if window.is_nacked(sn, *reports) {
                holes.push(sn);
            } else {
                window.ack(sn, &mut out.confirmed);
            }
        }
        *acked_to = ack_sn.max(*acked_to);
    }

    /// Returns the transmitter to its initial state; its SDUs are dropped.
    // TS 36.322 v15.1.0 clause 5.4: SDUs and AMD PDUs of the transmitting side are discarded,
    // timers stop, state variables get their initial values.
    pub fn re_establish<S>(&mut self, out: &mut RlcOutput<S>) {
        let flying = self.window.drain();
        out.dropped.extend(flying.map(|sdu| (sdu, DropCause::Reestablishment)));
        let waiting = self.buffer.drain().filter(|&(_, begun)| !begun);
        out.dropped.extend(waiting.map(|(sdu, _)| (sdu, DropCause::Reestablishment)));
        self.poll_sn = 0;
        self.pdu_without_poll = 0;
        self.byte_without_poll = 0;
        self.t_poll_retransmit = None;
        self.poll_due = false;
        self.acked_to = 0;
        self.holes.clear();
    }

    /// Discards an SDU at the request of upper layers.
    pub fn discard(&mut self, serial: u64) -> Option<Sdu> {
        if self.shortcuts.no_discard { None } else { self.buffer.discard(serial) }
    }
}

/// Sets the framing info of a PDU made of spans.
fn set_framing(pdu: &mut DataPdu<super::Span>) {
    let is_end = |e: &crate::rlc::Element<super::Span>| e.payload.offset + e.len == e.payload.sdu.size();
    pdu.starts = pdu.elements.first().is_some_and(|e| e.payload.offset == 0);
    pdu.ends = pdu.elements.last().is_some_and(is_end);
}

/// An empty data PDU around recycled memory.
pub(in crate::rlc) fn blank(elements: Vec<crate::rlc::Element<super::Span>>) -> DataPdu<super::Span> {
    DataPdu { sn: 0, poll: false, starts: true, ends: true, segment: None, elements }
}

/// Wraps a PDU as AM sends it.
pub(super) const fn amd(pdu: DataPdu<super::Span>) -> Pdu {
    Pdu::Amd(pdu)
}

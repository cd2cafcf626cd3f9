//! RLC unacknowledged mode of UMTS (TS 25.322 clauses 4.2.1.2 and 11.2): segmentation, numbering,
//! no repetition.
//!
//! SDUs with octets in a lost PDU are lost. The channel that loses a PDU identifies them by their
//! descriptors; the receiver reports those of which it discards octets.

use lasthop_units::{Bytes, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::am::BufferPolicy;
use super::pdu::{Pdu, UmPdu, UmSn};
use super::segment::{DataLayout, EndMark, Segmenter};
use crate::rlc::Output;
use lasthop_bearer::{ConfigError, Warning};
use lasthop_bearer::{DropCause, Sdu};

/// One RLC entity in unacknowledged mode.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UmConfig {
    /// A PDU that begins with an SDU has the length indicator 111 1100 (1 or 2 octets), so that the
    /// SDU is delivered although the PDU before it was lost (clause 9.2.2.8).
    pub start_indicator: bool,
    /// Most SDUs that wait for their first transmission. 0: no limit.
    pub buffer_sdus: u32,
    /// Most bytes that wait for their first transmission. 0 B: no limit.
    pub buffer_bytes: Bytes,
    /// The SDU that is dropped when the buffer is full: `drop-tail` or `drop-head`.
    pub buffer_policy: BufferPolicy,
}

impl Default for UmConfig {
    fn default() -> Self {
        UmConfig {
            start_indicator: true,
            buffer_sdus: 0,
            buffer_bytes: Bytes(64_000),
            buffer_policy: BufferPolicy::DropTail,
        }
    }
}

impl UmConfig {
    /// Accepts every combination.
    pub fn validate(&self) -> Result<Vec<Warning>, ConfigError> {
        Ok(Vec::new())
    }
}

/// Counters of an unacknowledged mode entity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UmStats {
    /// SDUs accepted from the layer above.
    pub sdus_in: u64,
    /// SDUs delivered to the layer above.
    pub sdus_out: u64,
    /// SDUs dropped here: buffer full, or an octet in a lost PDU.
    pub sdus_discarded: u64,
    /// PDUs sent.
    pub pdus_new: u64,
}

/// An unacknowledged mode entity; sends and receives.
#[derive(Clone, Debug)]
pub struct UmEntity {
    cfg: UmConfig,
    buffer: Segmenter,
    /// VT(US).
    vt_us: u64,
    /// The next PDU begins with an SDU.
    at_sdu_start: bool,
    /// VR(US).
    vr_us: UmSn,
    /// The SDU in progress and its octets so far.
    partial: Option<(Sdu, u32)>,
    /// A PDU is missing: octets up to the next beginning of an SDU are discarded.
    lost_start: bool,
    stats: UmStats,
}

impl UmEntity {
    /// Creates an entity that sends PDUs with `payload` octets after the 1-octet header, as does
    /// its peer.
    pub fn new(cfg: UmConfig, payload: Bytes) -> Self {
        UmEntity {
            cfg,
            buffer: Segmenter::new(DataLayout::um(payload.0 as u32)),
            vt_us: 0,
            at_sdu_start: true,
            vr_us: UmSn::new(0),
            partial: None,
            lost_start: false,
            stats: UmStats::default(),
        }
    }
    /// Its counters.
    pub const fn stats(&self) -> &UmStats {
        &self.stats
    }
    /// SDUs and bytes of which no octet was sent.
    pub fn waiting(&self) -> (usize, Bytes) {
        (self.buffer.waiting_sdus(), self.buffer.waiting_bytes())
    }
    /// True when a pull would give a PDU.
    pub fn has_data(&self) -> bool {
        self.buffer.has_data()
    }

    /// Takes in an SDU from upper layers.
    pub fn push_sdu(&mut self, sdu: Sdu, out: &mut Output) {
        let (most_sdus, most_bytes) = (self.cfg.buffer_sdus as usize, self.cfg.buffer_bytes.0);
        let full = |b: &Segmenter| {
            (most_sdus > 0 && b.waiting_sdus() >= most_sdus)
                || (most_bytes > 0 && b.waiting_bytes().0 + u64::from(sdu.size()) > most_bytes)
        };
        while full(&self.buffer) {
            let victim = match self.cfg.buffer_policy {
                BufferPolicy::DropTail => sdu,
                BufferPolicy::DropHead => self.buffer.drop_head().unwrap_or(sdu),
            };
            self.stats.sdus_discarded += 1;
            out.dropped.push((victim, DropCause::BufferFull));
            if victim == sdu {
                return;
            }
        }
        self.stats.sdus_in += 1;
        self.buffer.push(sdu, Instant::MAX);
    }

    /// Passes MAC at most `blocks` PDUs.
    pub fn pull(&mut self, blocks: usize, pdus: &mut Vec<Pdu>) {
        let layout = self.buffer.layout();
        for _ in 0..blocks {
            if !self.buffer.has_data() {
                return;
            }
            let starts_sdu = self.cfg.start_indicator && self.at_sdu_start;
            let room = layout.payload - if starts_sdu { layout.li } else { 0 };
            let segments = self.buffer.fill(self.vt_us, room);
            self.vt_us += 1;
            self.buffer.acknowledge(self.vt_us);
            // The end of an exactly filled PDU is indicated by the next one, which then begins with
            // that LI.
            self.at_sdu_start = segments.last().is_some_and(|s| s.end != EndMark::None);
            self.stats.pdus_new += 1;
            pdus.push(Pdu::Um(UmPdu { sn: UmSn::new(self.vt_us as u32 - 1), starts_sdu, segments }));
        }
    }

    /// Receives a PDU from lower layers. Clause 11.2.3: a gap in SN discards the SDU in progress
    /// and everything up to the next known beginning of an SDU.
    pub fn receive(&mut self, pdu: &UmPdu, out: &mut Output) {
        if pdu.sn != self.vr_us || self.is_misfit(pdu) {
            self.lost_start = !pdu.starts_sdu;
            if let Some((sdu, _)) = self.partial.take() {
                self.discard(sdu, out);
            }
        }
        self.vr_us = pdu.sn.next();
        for segment in &pdu.segments {
            let ends = segment.end != EndMark::None;
            if self.lost_start {
                self.lost_start = !ends;
                self.discard(segment.sdu, out);
                continue;
            }
            let (sdu, got) = self.partial.take().unwrap_or((segment.sdu, 0));
            let short = segment.end == EndMark::PreviousShort && !sdu.is_known();
            let got = (got + u32::from(segment.len)).saturating_sub(u32::from(short));
            if ends {
                self.stats.sdus_out += 1;
                out.delivered.push(sdu.with_size(got));
            } else {
                self.partial = Some((sdu, got));
            }
        }
    }

    /// True if the PDU does not continue the SDU in progress. After the loss of a multiple of 128
    /// PDUs the SN has no gap. A real receiver would deliver an SDU of wrong octets, which a
    /// checksum of upper layers detects; with descriptors it is detected here.
    fn is_misfit(&self, pdu: &UmPdu) -> bool {
        let Some(first) = pdu.segments.first().filter(|s| s.sdu.is_known()) else { return false };
        match self.partial {
            Some((sdu, got)) => sdu.serial != first.sdu.serial || got != first.offset,
            None => !self.lost_start && first.offset > 0,
        }
    }

    fn discard(&mut self, sdu: Sdu, out: &mut Output) {
        if sdu.is_known() && out.dropped.last().is_none_or(|(last, _)| last.serial != sdu.serial) {
            self.stats.sdus_discarded += 1;
            out.dropped.push((sdu, DropCause::RadioLoss));
        }
    }
}

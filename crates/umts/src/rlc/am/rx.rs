//! The receiving side of acknowledged mode (TS 25.322 clauses 11.3.3, 11.3.4 and 11.6.3).

use std::collections::VecDeque;

use lasthop_units::Instant;

use super::reassembly::Reassembly;
use super::status::Reporter;
use super::{AmConfig, AmStats};
use crate::rlc::Output;
use crate::rlc::bitmap::SnSet;
use crate::rlc::pdu::{AmSn, DataPdu, Sufi};
use crate::rlc::segment::Segments;

/// Receiver state. Sequence numbers are kept unwrapped, as counts: HFN and SN.
#[derive(Clone, Debug)]
pub(super) struct Rx {
    cfg: AmConfig,
    /// VR(R): the first SN not received; VR(H): one above the highest received.
    vr_r: u64,
    vr_h: u64,
    received: SnSet,
    /// Data fields of PDUs VR(R) to VR(H) - 1, where received. Unused without in-sequence delivery.
    window: VecDeque<Option<Segments>>,
    reassembly: Reassembly,
    /// In PDU `.0` the first `.1` ends belong to discarded SDUs.
    skip: Option<(u64, u8)>,
    pub report: Reporter,
}

impl Rx {
    pub fn new(cfg: AmConfig) -> Self {
        Rx {
            cfg,
            vr_r: 0,
            vr_h: 0,
            received: SnSet::default(),
            window: VecDeque::new(),
            reassembly: Reassembly::default(),
            skip: None,
            report: Reporter::default(),
        }
    }

    pub const fn vr_r(&self) -> u64 {
        self.vr_r
    }
    pub const fn vr_h(&self) -> u64 {
        self.vr_h
    }
    /// The SNs of VR(R)..VR(H) that were received.
    pub fn received(&self) -> &SnSet {
        &self.received
    }

    /// Receives a data PDU: its SN, HFN and P bit, and its data field.
    #[inline]
    pub fn receive(
        &mut self,
        now: Instant,
        (sn, hfn, poll): (AmSn, u32, bool),
        segments: Segments,
        out: &mut Output,
        stats: &mut AmStats,
    ) {
        let d = u64::from(sn.distance_from(AmSn::new(self.vr_r as u32)));
        let count = self.vr_r + d;
        // Outside VR(R) <= SN < VR(MR), or of another HFN: a repeated PDU from before the window. A
        // receiver that deciphers it with this count gets invalid data (possible only with windows
        // above 2048).
        let foreign = hfn != DataPdu::NO_HFN && u64::from(hfn) != count >> 12;
        if d >= u64::from(self.cfg.rx_window) || foreign || self.received.contains(count) {
            stats.duplicates += 1;
        } else {
            stats.pdus_received += 1;
            self.accept(count, segments, out);
        }
        // Clause 11.3.3: the P bit counts whether or not the PDU was new.
        if poll {
            self.report.trigger();
        }
        self.report.on_pdu(now, &self.cfg);
    }

    #[inline(always)] // one caller
    fn accept(&mut self, count: u64, segments: Segments, out: &mut Output) {
        if count == self.vr_r && self.vr_h == self.vr_r {
            // In order, while no other PDU waits.
            self.deliver(count, &segments, out);
            self.vr_r += 1;
            self.vr_h += 1;
            return;
        }
        let above = count >= self.vr_h;
        if above && count > self.vr_h && self.cfg.missing_pdu_indicator {
            self.report.trigger();
        }
        self.received.insert(count);
        if !self.cfg.in_sequence {
            self.deliver(count, &segments, out);
        } else if above {
            let below = (count - self.vr_r) as usize;
            if self.window.len() < below {
                self.window.resize(below, None);
            }
            self.window.push_back(Some(segments));
        } else {
            self.window[(count - self.vr_r) as usize] = Some(segments);
        }
        if above {
            self.vr_h = count + 1;
        }
        // While the first PDU of the window is missing, the others wait for it.
        if count == self.vr_r {
            self.advance(out);
        }
    }

    /// Advances VR(R) to the first PDU that is missing, and reassembles the PDUs that it passes.
    fn advance(&mut self, out: &mut Output) {
        let (from, end) = (self.vr_r, self.received.next_missing(self.vr_r, self.vr_h).unwrap_or(self.vr_h));
        self.received.remove_range(from, end);
        self.vr_r = end;
        if self.cfg.in_sequence {
            let passed = (end - from) as usize;
            for (count, segments) in (from..end).zip(self.window.range(..passed)) {
                let segments = segments.as_ref().expect("received PDUs are kept");
                self.reassembly.in_sequence(segments, skipped(self.skip, count), out);
            }
            self.window.drain(..passed);
        }
    }

    fn deliver(&mut self, count: u64, segments: &Segments, out: &mut Output) {
        let skipped = skipped(self.skip, count);
        if self.cfg.in_sequence {
            self.reassembly.in_sequence(segments, skipped, out);
        } else {
            self.reassembly.any_order(count, segments, skipped, out);
        }
    }

    /// Processes MRW: the sender has discarded all SDUs up to the one that ends in PDU `sn` with LI
    /// number `n` (or before that PDU, `n` = 0). Clause 11.6.3: SDUs that were completely received
    /// are delivered, the others are discarded, and the window moves.
    pub fn move_window(&mut self, sn: AmSn, n: u8, beyond_window: bool, out: &mut Output) -> Sufi {
        let d = u64::from(sn.distance_from(AmSn::new(self.vr_r as u32)));
        // "consider SN_MRW1 to be less than VR(MR)": any other SN is below VR(R), and the order
        // is obsolete (clause 11.6.6.1). With LENGTH 0 it is "above or equal to VR(R)": at most
        // half of the modulus above, since windows are no larger where SDUs are discarded
        // (`AmConfig::validate`).
        let above = if beyond_window { 2049 } else { self.cfg.rx_window };
        if d < u64::from(above) {
            let end = self.vr_r + d;
            self.flush_to(end, n, out);
            self.vr_h = self.vr_h.max(end);
            self.advance(out);
        }
        // Clause 11.6.3.1: N of the MRW when VR(R) is SN_MRW, else 0.
        let n = if AmSn::new(self.vr_r as u32) == sn { n } else { 0 };
        Sufi::MrwAck { n, sn: AmSn::new(self.vr_r as u32) }
    }

    /// Removes PDUs VR(R) to `end` - 1 from the window, and the SDU that LI number `n` of PDU `end`
    /// ends.
    fn flush_to(&mut self, end: u64, n: u8, out: &mut Output) {
        for count in self.vr_r..end {
            self.received.remove(count);
            if self.cfg.in_sequence {
                match self.window.pop_front().flatten() {
                    Some(segments) => self.deliver(count, &segments, out),
                    None => self.reassembly.gap(),
                }
            }
        }
        self.vr_r = end;
        if !self.cfg.in_sequence {
            self.skip = Some((end, n));
            self.reassembly.drop_discarded(end);
        } else if n == 0 {
            self.reassembly.clear();
        } else if !(end < self.vr_h && self.received.contains(end)) {
            // The octets that complete the last of the discarded SDUs have not arrived yet.
            let skipped = self.skip.filter(|(count, _)| *count == end).map_or(0, |(_, n)| n);
            self.skip = Some((end, n.max(skipped)));
            self.reassembly.clear();
        }
    }

    /// Resets the receiver (clause 11.4): received octets that are not delivered are discarded; the
    /// peer starts at SN 0 of `hfn`.
    pub fn reset(&mut self, hfn: u64) {
        let cfg = self.cfg;
        let reassembly = std::mem::take(&mut self.reassembly);
        let window = std::mem::take(&mut self.window);
        *self = Rx::new(cfg);
        self.reassembly = reassembly;
        self.reassembly.clear();
        self.window = window;
        self.window.clear();
        self.vr_r = hfn << 12;
        self.vr_h = self.vr_r;
    }
}

/// How many ends in PDU `count` belong to discarded SDUs.
#[inline]
fn skipped(skip: Option<(u64, u8)>, count: u64) -> usize {
    match skip {
        Some((c, n)) if c == count => usize::from(n),
        _ => 0,
    }
}

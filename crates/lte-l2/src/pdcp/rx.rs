//! The receiving PDCP entity (TS 36.323 clauses 5.1.2, 5.2.2, 5.3.1).

use std::collections::BTreeMap;

use super::compression::Decompressor;
use super::config::{HandoverKind, PdcpConfig};
use super::pdu::{Label, StatusReport};
use lasthop_bearer::{DropCause, Sdu};

/// The receiving side of a PDCP entity.
#[derive(Clone, Debug)]
pub struct PdcpRx {
    sn_bits: u32,
    acknowledged: bool,
    decompressor: Decompressor,
    /// Next_PDCP_RX_SN.
    next_sn: u32,
    /// RX_HFN; below zero only after an SN from before the start.
    rx_hfn: i64,
    /// COUNT of Last_Submitted_PDCP_RX_SN; -1 before the first.
    last_submitted: i64,
    /// Received and not delivered yet, by COUNT.
    stored: BTreeMap<i64, Sdu>,
    /// PDUs discarded because their SDU had been received before.
    pub duplicates: u64,
}

/// The output of the receiver.
#[derive(Clone, Debug, Default)]
pub struct PdcpRxOutput {
    /// PDUs whose SDU is delivered, in order.
    pub delivered: Vec<Sdu>,
    /// PDUs whose SDU cannot be delivered.
    pub dropped: Vec<(Sdu, DropCause)>,
}

impl PdcpRx {
    /// An entity in its initial state above an acknowledged or an unacknowledged RLC.
    pub const fn new(config: &PdcpConfig, acknowledged: bool) -> PdcpRx {
        PdcpRx {
            sn_bits: config.sn_bits,
            acknowledged,
            decompressor: Decompressor::new(config.compression),
            next_sn: 0,
            rx_hfn: 0,
            last_submitted: -1,
            stored: BTreeMap::new(),
            duplicates: 0,
        }
    }

    /// Receives a data PDU from RLC. `flushed`: the lower layer is being re-established and
    /// delivers it early; missing SDUs may be sent again. Returns the PDU if its SDU is delivered
    /// at once: it is not in `out`.
    // Inlined into the loop over the PDUs of a block: usually each is the next one.
    #[inline(always)]
    #[must_use]
    pub fn receive(&mut self, pdu: Sdu, flushed: bool, out: &mut PdcpRxOutput) -> Option<Sdu> {
        if !flushed && self.is_next(Label::of(pdu.serial).count) {
            self.next_sn += 1;
            self.wrap_next();
            self.last_submitted += 1;
            return Some(pdu);
        }
        self.receive_any(pdu, flushed, out)
    }

    /// True if an AM SDU with this COUNT is in sequence: it is delivered at once, and changes
    /// nothing but the numbers of the last one and of the next one.
    #[inline(always)]
    fn is_next(&self, count: u32) -> bool {
        let count = i64::from(count);
        self.acknowledged
            && count == self.last_submitted + 1
            && count == (self.rx_hfn << self.sn_bits) + i64::from(self.next_sn)
            && self.stored.is_empty()
            && !self.decompressor.has_context()
    }

    #[inline(never)]
    fn receive_any(&mut self, pdu: Sdu, flushed: bool, out: &mut PdcpRxOutput) -> Option<Sdu> {
        let label = Label::of(pdu.serial);
        let sn = label.count & self.max_sn();
        let count = if self.acknowledged { self.count_am(sn) } else { Some(self.count_um(sn)) };
        // A PDU that was deciphered with another COUNT than it was ciphered with contains no valid
        // packet.
        let deciphered = count.is_none_or(|c| c == i64::from(label.count));
        let restored = deciphered && self.decompressor.decompress(label.count, label.kind);
        let Some(count) = count else {
            self.duplicates += 1;
            return None;
        };
        if !restored {
            // The number is used up; no status report requests this SDU again.
            if self.acknowledged && self.stored.is_empty() && count == self.last_submitted + 1 {
                self.last_submitted = count;
            }
            let cause = if deciphered { DropCause::ContextLoss } else { DropCause::HfnDesync };
            out.dropped.push((pdu, cause));
            return None;
        }
        if !self.acknowledged {
            return Some(pdu);
        }
        // Clause 5.1.2.1.2: an SDU whose SN is stored already is discarded; any other is stored.
        if self.stored.is_empty() && !flushed {
            self.last_submitted = count;
            return Some(pdu);
        }
        if self.stored.insert(count, pdu).is_some() {
            self.duplicates += 1;
        }
        self.deliver(count, flushed, &mut out.delivered);
        None
    }

    const fn max_sn(&self) -> u32 {
        (1 << self.sn_bits) - 1
    }

    /// Returns the COUNT of a PDU with `sn`; None if the PDU is to be discarded.
    // TS 36.323 v15.1.0 clause 5.1.2.1.2: DRBs on RLC AM without the reordering function.
    #[inline]
    fn count_am(&mut self, sn: u32) -> Option<i64> {
        let window = 1i64 << (self.sn_bits - 1); // Reordering_Window
        let (max, sn) = (i64::from(self.max_sn()), i64::from(sn));
        let (next, last) = (i64::from(self.next_sn), self.last_submitted & max);
        // The same clause: discarded if SN - Last_Submitted_PDCP_RX_SN > Reordering_Window or 0 <=
        // Last_Submitted_PDCP_RX_SN - SN < Reordering_Window.
        if sn - last > window || (0 <= last - sn && last - sn < window) {
            return None;
        }
        let hfn = if next - sn > window {
            self.rx_hfn += 1;
            self.next_sn = sn as u32 + 1;
            self.rx_hfn
        } else if sn - next >= window {
            self.rx_hfn - 1
        } else if sn >= next {
            let hfn = self.rx_hfn;
            self.next_sn = sn as u32 + 1;
            self.wrap_next();
            hfn
        } else {
            self.rx_hfn
        };
        Some((hfn << self.sn_bits) + sn)
    }

    /// TS 36.323 v15.1.0 clause 5.1.2.1.3 (DRBs on RLC UM): an SN below Next_PDCP_RX_SN increments
    /// RX_HFN; Next_PDCP_RX_SN becomes SN + 1, and beyond Maximum_PDCP_SN it becomes 0 and RX_HFN
    /// is incremented.
    #[inline]
    fn count_um(&mut self, sn: u32) -> i64 {
        self.rx_hfn += i64::from(sn < self.next_sn);
        let count = (self.rx_hfn << self.sn_bits) + i64::from(sn);
        self.next_sn = sn + 1;
        self.wrap_next();
        count
    }

    #[inline]
    const fn wrap_next(&mut self) {
        if self.next_sn > self.max_sn() {
            self.next_sn = 0;
            self.rx_hfn += 1;
        }
    }

    /// Delivers the SDUs that the arrival of `count` allows.
    // Clause 5.1.2.1.2: a PDU that no re-establishment of lower layers has brought delivers, in
    // ascending order of COUNT, all stored SDUs with a smaller COUNT and those that follow its own
    // without a gap. One that a re-establishment has brought delivers only if its SN is
    // Last_Submitted_PDCP_RX_SN + 1.
    fn deliver(&mut self, count: i64, flushed: bool, out: &mut Vec<Sdu>) {
        if flushed && count != self.last_submitted + 1 {
            return;
        }
        let mut consecutive = count;
        while let Some(entry) = self.stored.first_entry() {
            let c = *entry.key();
            if c > consecutive {
                break;
            }
            out.push(entry.remove());
            self.last_submitted = c;
            consecutive = consecutive.max(c + 1);
        }
    }

    /// Re-establishes the entity, after the PDUs that RLC has flushed.
    // Clause 5.2.2.1 (AM) resets the header decompression; clause 5.2.2.2 (UM) sets Next_PDCP_RX_SN
    // and RX_HFN to 0.
    pub(super) fn re_establish(&mut self, kind: HandoverKind, out: &mut PdcpRxOutput) {
        self.decompressor.reset();
        if kind != HandoverKind::Lossless {
            self.next_sn = 0;
            self.rx_hfn = 0;
            self.last_submitted = -1;
            // SDUs that an earlier re-establishment left out of sequence: the missing ones will not
            // be sent.
            while let Some((_, pdu)) = self.stored.pop_first() {
                out.delivered.push(pdu);
            }
        }
    }

    /// The status report to send after a re-establishment (AM).
    // Clause 5.3.1: FMS is the SN of the first missing SDU. If an SDU is stored out of sequence,
    // the bitmap has a bit for each SN after that one up to the last such SDU, rounded up to whole
    // octets, or as far as a PDU of 8188 octets reaches.
    pub fn status_report(&self) -> StatusReport {
        let first = self.last_submitted + 1;
        let bits = self.stored.last_key_value().map_or(0, |(last, _)| last - first) as usize;
        let mut bitmap = vec![0; bits.div_ceil(8).min(8188 - 3)];
        for count in self.stored.keys() {
            let i = (count - first - 1) as usize;
            if let Some(byte) = bitmap.get_mut(i / 8) {
                *byte |= 0x80 >> (i % 8);
            }
        }
        StatusReport { fms: (first as u32) & self.max_sn(), bitmap }
    }

    /// Next_PDCP_RX_SN and RX_HFN.
    pub const fn next(&self) -> (u32, i64) {
        (self.next_sn, self.rx_hfn)
    }
    /// SDUs received out of order.
    pub fn stored(&self) -> usize {
        self.stored.len()
    }
}

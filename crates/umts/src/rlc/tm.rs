//! RLC transparent mode of UMTS (TS 25.322 clause 4.2.1.1): an SDU is a PDU; no header, no
//! segmentation.

use std::collections::VecDeque;

use lasthop_units::Bytes;

use super::pdu::Pdu;
use crate::rlc::Output;
use lasthop_bearer::{DropCause, Sdu};

/// Counters of a transparent mode entity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TmStats {
    /// SDUs accepted from the layer above.
    pub sdus_in: u64,
    /// SDUs delivered to the layer above.
    pub sdus_out: u64,
    /// SDUs larger than a transport block.
    pub sdus_discarded: u64,
}

/// A transparent mode entity; sends and receives.
#[derive(Clone, Debug)]
pub struct TmEntity {
    payload: Bytes,
    queue: VecDeque<Sdu>,
    waiting: Bytes,
    stats: TmStats,
}

impl TmEntity {
    /// Creates an entity whose transport blocks have `payload` octets.
    pub fn new(payload: Bytes) -> Self {
        TmEntity { payload, queue: VecDeque::new(), waiting: Bytes::ZERO, stats: TmStats::default() }
    }
    /// Its counters.
    pub const fn stats(&self) -> &TmStats {
        &self.stats
    }
    /// SDUs and bytes that wait.
    pub fn waiting(&self) -> (usize, Bytes) {
        (self.queue.len(), self.waiting)
    }
    /// True when a pull would give a PDU.
    pub fn has_data(&self) -> bool {
        !self.queue.is_empty()
    }
    /// Takes in an SDU from upper layers; one larger than a block is dropped.
    pub fn push_sdu(&mut self, sdu: Sdu, out: &mut Output) {
        if u64::from(sdu.size()) > self.payload.0 {
            self.stats.sdus_discarded += 1;
            out.dropped.push((sdu, DropCause::TooLarge));
            return;
        }
        self.stats.sdus_in += 1;
        self.waiting += Bytes(sdu.size().into());
        self.queue.push_back(sdu);
    }
    /// Passes MAC at most `blocks` PDUs.
    pub fn pull(&mut self, blocks: usize, pdus: &mut Vec<Pdu>) {
        for sdu in self.queue.drain(..blocks.min(self.queue.len())) {
            self.waiting -= Bytes(sdu.size().into());
            pdus.push(Pdu::Tm(sdu));
        }
    }
    /// Receives a PDU from lower layers.
    pub fn receive(&mut self, sdu: Sdu, out: &mut Output) {
        self.stats.sdus_out += 1;
        out.delivered.push(sdu);
    }
}

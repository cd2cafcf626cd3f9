//! Signals beside the transport blocks of UEs: preambles and their responses, requests for grants.
//! Recorded for captures; off by default.

use lasthop_units::{CellId, Id, Tti, UeId};

use crate::mac::pdu::{BACKOFF_MS, RarEntry, RarPdu};
use crate::mac::random_access::Response;
use crate::phy::RbSet;

/// A signal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signal {
    /// A UE sends a preamble.
    Preamble {
        /// The UE.
        ue: UeId,
        /// Its number (RAPID).
        preamble: u8,
        /// Number of the preamble in this procedure, from 1.
        attempt: u32,
    },
    /// A cell answers preambles of the TTI `to`.
    Responses {
        /// The TTI of the preambles.
        to: Tti,
        /// The MAC PDU.
        pdu: RarPdu,
    },
    /// A UE requests a grant.
    Request {
        /// The UE.
        ue: UeId,
        /// By SimuLTE's RAC, not on PUCCH.
        rac: bool,
    },
}

/// A signal with its TTI and cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignalRecord {
    /// The TTI.
    pub tti: Tti,
    /// The cell that sends the signal or receives it.
    pub cell: CellId,
    /// The signal and its contents.
    pub signal: Signal,
}

/// The signals that were not taken yet; None: none are recorded.
#[derive(Debug, Default)]
pub struct Signals(Option<Vec<SignalRecord>>);

impl Signals {
    /// Begins to record signals.
    pub(super) fn switch_on(&mut self) {
        self.0.get_or_insert_default();
    }

    /// The signals since the last call, in order.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = SignalRecord> + '_ {
        self.0.iter_mut().flat_map(|signals| signals.drain(..))
    }

    /// Records a signal, if signals are recorded.
    #[inline]
    pub(super) fn note(&mut self, tti: Tti, cell: CellId, signal: impl FnOnce() -> Signal) {
        if let Some(signals) = &mut self.0 {
            signals.push(SignalRecord { tti, cell, signal: signal() });
        }
    }

    /// Records the response to a preamble: a grant for Msg3 with MCS `mcs` on `rbs` of a carrier of
    /// `blocks`, and a backoff \[ms\]. Responses to preambles of one TTI, which have one RA-RNTI,
    /// are in one PDU.
    #[inline]
    pub(super) fn answer(
        &mut self,
        (tti, cell): (Tti, CellId),
        answer: &Response,
        (rbs, mcs, blocks): (RbSet, u8, u32),
        backoff: u64,
    ) {
        let Some(signals) = &mut self.0 else { return };
        let entry = RarEntry {
            preamble: answer.preamble,
            // Propagation takes no time in the model.
            timing_advance: 0,
            grant: msg3_grant(rbs, mcs, blocks),
            temporary_c_rnti: answer.ues.first().map_or(0, |ue| c_rnti(*ue)),
        };
        if let Some(SignalRecord { tti: t, cell: c, signal: Signal::Responses { to, pdu } }) =
            signals.last_mut()
            && (*t, *c, *to) == (tti, cell, answer.to)
        {
            return pdu.responses.push(entry);
        }
        let index = BACKOFF_MS.iter().position(|ms| *ms == backoff);
        let backoff = index.filter(|_| backoff > 0).map(|index| index as u8);
        let pdu = RarPdu { backoff, responses: vec![entry] };
        signals.push(SignalRecord { tti, cell, signal: Signal::Responses { to: answer.to, pdu } });
    }
}

/// The C-RNTI of a UE (TS 36.321 table 7.1-1: from 0x003D on).
pub fn c_rnti(ue: UeId) -> u16 {
    const FIRST: usize = 0x3d;
    const LAST: usize = 0xfff3;
    (FIRST + ue.index() % (LAST + 1 - FIRST)) as u16
}

/// The RA-RNTI of preambles of a TTI: 1 + t_id + 10 f_id (TS 36.321 clause 5.1.4), with one PRACH
/// in a subframe.
pub const fn ra_rnti(to: Tti) -> u16 {
    1 + (to.0 % 10) as u16
}

/// The 20 bits of an uplink grant in a response (TS 36.213 clause 6.2): hopping flag, resource
/// blocks (10: the resource indication value of clause 8.1.1), MCS (4), TPC command (3), UL delay,
/// CSI request. There is no hopping, delay or CSI request, and the command is 0 dB.
fn msg3_grant(rbs: RbSet, mcs: u8, blocks: u32) -> u32 {
    const ZERO_DB: u32 = 3;
    let (start, length) = (rbs.first().unwrap_or(0), rbs.len().max(1));
    let value = if length - 1 <= blocks / 2 {
        blocks * (length - 1) + start
    } else {
        blocks * (blocks - length + 1) + (blocks - 1 - start)
    };
    (value & 0x3ff) << 9 | u32::from(mcs & 15) << 5 | ZERO_DB << 2
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 50 blocks, 3 from block 10 on: 50 * 2 + 10 = 110, before 9 bits; 0 dB is 3, before 2.
    #[test]
    fn a_grant_in_a_response_has_the_bits_of_the_clause() {
        assert_eq!(msg3_grant(RbSet::range(10, 3), 0, 50), 110 << 9 | 3 << 2);
        // 6 blocks, 5 from block 1 on: 6 * (6 - 5 + 1) + 6 - 1 - 1 = 16.
        assert_eq!(msg3_grant(RbSet::range(1, 5), 2, 6), 16 << 9 | 2 << 5 | 3 << 2);
    }
}

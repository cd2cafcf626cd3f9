//! Transmitted PDUs of RLC, as rows of the table `rlc_pdus`.

use std::collections::{BTreeMap, VecDeque};

use lasthop_bearer::End;
use lasthop_lte::mac::harq::Parts;
use lasthop_lte::network::trace::{Step as Act, TraceLink, TraceRecord};
use lasthop_lte::phy::TTI;
use lasthop_lte_l2::rlc::Pdu;
use lasthop_units::{BearerId, Tti, UeId};

use super::LteAccess;
use super::capture::ANSWERED;
use crate::access::{AccessOutput, RlcPduRow, Step};

/// The blocks of cells in transmission, by UE and direction (downlink: true), in the order of their
/// first transmissions.
#[derive(Default)]
pub struct RlcPdus(BTreeMap<(UeId, bool), VecDeque<OnAir>>);

/// A block in transmission.
struct OnAir {
    /// Its HARQ process.
    process: u8,
    /// The TTI of its first transmission.
    first: Tti,
    /// The TTI of its last transmission.
    last: Tti,
    /// Its PDUs.
    parts: Parts,
}

impl RlcPdus {
    /// Takes in a record of a block. If the block was decoded, returns the TTI of its first
    /// transmission and its PDUs.
    fn take(&mut self, r: &TraceRecord) -> Option<(Tti, Parts)> {
        let blocks = self.0.entry((r.ue, r.link == TraceLink::Downlink)).or_default();
        while blocks.front().is_some_and(|block| block.last.0 + ANSWERED < r.tti.0) {
            blocks.pop_front();
        }
        let process = r.process;
        match r.step {
            Act::Data => {
                // A block that was given up has left its process.
                blocks.retain(|block| block.process != process);
                blocks.push_back(OnAir { process, first: r.tti, last: r.tti, parts: r.parts.clone() });
            }
            Act::Again => {
                if let Some(block) = blocks.iter_mut().find(|block| block.process == process) {
                    block.last = r.tti;
                }
            }
            Act::Decoded => {
                let found = |block: &OnAir| (block.process, block.last) == (process, r.about);
                let at = blocks.iter().position(found)?;
                return blocks.remove(at).map(|block| (block.first, block.parts));
            }
            _ => {}
        }
        None
    }
}

impl LteAccess {
    /// Starts to write rows of the table `rlc_pdus`.
    pub(super) fn note_rlc_pdus(&mut self) {
        self.noted = true;
        self.network.trace().keep_parts();
        self.rlc_pdus = Some(Box::default());
    }

    /// Writes rows for PDUs that are transmitted for the first time, and for those that have
    /// arrived.
    pub(super) fn pass_rlc_pdus(&mut self, records: &[TraceRecord], out: &mut AccessOutput) {
        let Some(mut pdus) = self.rlc_pdus.take() else { return };
        for r in records.iter().filter(|r| r.link != TraceLink::Sidelink) {
            if r.step == Act::Data {
                self.pass_rows(r, &r.parts, None, out);
            }
            if let Some((first, parts)) = pdus.take(r) {
                self.pass_rows(r, &parts, Some(first), out);
            }
        }
        self.rlc_pdus = Some(pdus);
    }

    fn pass_rows(
        &self,
        r: &TraceRecord,
        parts: &[(BearerId, Pdu)],
        sent: Option<Tti>,
        out: &mut AccessOutput,
    ) {
        let end = if r.link == TraceLink::Downlink { End::Network } else { End::Ue };
        let second = |tti: Tti| tti.start(TTI).as_secs_f64();
        for (bearer, pdu) in parts {
            let (kind, sn) = match pdu {
                Pdu::Tmd(_) => ("data", None),
                Pdu::Umd(data) | Pdu::Amd(data) => ("data", Some(u64::from(data.sn))),
                Pdu::Status(_) => ("status", None),
            };
            out.steps.push(Step::RlcPdu(Box::new(RlcPduRow {
                time_s: second(r.tti),
                bearer: self.bearers[*bearer].0.clone(),
                direction: r.link.name(),
                sent_s: sent.map(second),
                kind,
                sn,
                bytes: pdu.size(self.network.view().layers(*bearer).format(end)).into(),
            })));
        }
    }
}

#[cfg(test)]
mod tests {
    use lasthop_lte_l2::rlc::StatusPdu;
    use lasthop_units::Id;

    use super::*;

    fn record(tti: u64, step: Act, process: u8, about: u64, ack_sn: u32) -> TraceRecord {
        let status = Pdu::Status(StatusPdu { ack_sn, nacks: Vec::new() });
        TraceRecord {
            process,
            about: Tti(about),
            parts: vec![(BearerId::from_index(0), status)],
            ..TraceRecord::new(Tti(tti), step, TraceLink::Downlink, UeId::from_index(0))
        }
    }

    /// Both code words leave in TTI 10: process 3 of word 0, process 11 of word 1 (8 for each
    /// word). Word 1 is decoded in TTI 14; word 0 is sent again in TTI 18, and decoded in TTI 22.
    #[test]
    fn code_words_of_a_tti_are_distinguished_by_their_processes() {
        let mut pdus = RlcPdus::default();
        for (process, ack_sn) in [(3, 1), (11, 2)] {
            assert!(pdus.take(&record(10, Act::Data, process, 10, ack_sn)).is_none());
        }
        assert!(pdus.take(&record(14, Act::Failed, 3, 10, 0)).is_none());
        let second = pdus.take(&record(14, Act::Decoded, 11, 10, 0));
        assert_eq!(second, Some((Tti(10), record(10, Act::Data, 11, 10, 2).parts)));
        assert!(pdus.take(&record(18, Act::Again, 3, 18, 1)).is_none());
        let first = pdus.take(&record(22, Act::Decoded, 3, 18, 0));
        assert_eq!(first, Some((Tti(10), record(10, Act::Data, 3, 10, 1).parts)));
    }
}

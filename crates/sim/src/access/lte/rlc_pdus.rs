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

/// A block in transmission: its first transmission, its last one, and its contents.
struct OnAir {
    first: Tti,
    last: Tti,
    parts: Parts,
}

impl RlcPdus {
    /// Processes the record of a block; if the block was decoded, returns its first transmission
    /// and its PDUs.
    fn hear(&mut self, r: &TraceRecord) -> Option<(Tti, Parts)> {
        let blocks = self.0.entry((r.ue, r.link == TraceLink::Downlink)).or_default();
        while blocks.front().is_some_and(|block| block.last.0 + ANSWERED < r.tti.0) {
            blocks.pop_front();
        }
        match r.step {
            Act::Data => blocks.push_back(OnAir { first: r.tti, last: r.tti, parts: r.parts.clone() }),
            Act::Again => {
                if let Some(block) = blocks.iter_mut().find(|block| block.parts == r.parts) {
                    block.last = r.tti;
                }
            }
            Act::Decoded => {
                let at = blocks.iter().position(|block| block.last == r.about)?;
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
            if let Some((first, parts)) = pdus.hear(r) {
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

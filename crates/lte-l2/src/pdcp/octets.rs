//! The octets of RLC PDUs with the PDCP PDUs in them, for captures.

use lasthop_bearer::End;
use lasthop_units::Octets;

use super::bearer::LteBearer;
use super::pdu::{Kind, Label, PdcpPdu, data_header};
use crate::rlc::{Mode, Pdu, Rlc, Span, codec};

/// A PDCP PDU whose first octet is in a PDU of RLC.
pub struct Begun {
    /// A control PDU, as a status report.
    pub control: bool,
    /// A number that grows in the order in which an end first sends its PDUs; data PDUs and control
    /// PDUs are counted apart. A status report has the number of the next packet that enters, and
    /// is sent before the packets that a handover forwarded.
    pub number: u64,
    /// Its octets, as [`LteBearer::octets`] has them.
    pub octets: Octets,
}

impl LteBearer {
    /// Returns the octets of a PDU that `end` has sent, with places for those of packets. Headers
    /// are not compressed in them: a compressed header is zeros, as many octets as it has.
    pub fn octets(&self, end: End, pdu: &Pdu) -> Octets {
        let bytes = codec::encode(pdu, self.format(end), |_, len, bytes| {
            bytes.resize(bytes.len() + len as usize, 0);
        });
        let mut octets = Octets { bytes, holes: Vec::new() };
        let elements = pdu.elements();
        let data: u32 = elements.iter().map(|e| e.len).sum();
        let mut at = octets.bytes.len() - data as usize;
        for element in elements {
            self.fill(end, &element.payload, (at, element.len), &mut octets);
            at += element.len as usize;
        }
        octets
    }

    /// Returns the PDCP PDUs whose first octet is in a PDU that `end` has sent.
    pub fn begun<'a>(&'a self, end: End, pdu: &'a Pdu) -> impl Iterator<Item = Begun> + use<'a> {
        pdu.elements().iter().map(|e| e.payload).filter(|span| span.offset == 0).map(move |span| {
            let mut octets = Octets { bytes: vec![0; span.sdu.size() as usize], holes: Vec::new() };
            self.fill(end, &span, (0, span.sdu.size()), &mut octets);
            let number = span.sdu.serial;
            Begun { control: matches!(Label::of(number).kind, Kind::Control(_)), number, octets }
        })
    }

    /// Fills the octets of a part of a PDCP PDU.
    fn fill(&self, end: End, span: &Span, (at, len): (usize, u32), octets: &mut Octets) {
        let (sdu, label) = (&span.sdu, Label::of(span.sdu.serial));
        let number = self.sides[end.index()].tx.packet_number(label);
        let sn = label.count & ((1 << self.sn_bits) - 1);
        match label.kind {
            Kind::Whole => {
                octets.fill_sdu(at, &data_header(sn, self.sn_bits), (sdu.id, number), span.offset, len);
            }
            Kind::Compressed | Kind::Control(_) => {
                let own = if label.kind == Kind::Compressed {
                    data_header(sn, self.sn_bits)
                } else {
                    let report = self.sides[end.index()].controls.get(&{ sdu.serial });
                    report.map_or_else(Vec::new, |r| PdcpPdu::Status(r.clone()).encode(self.sn_bits))
                };
                let own = own.get(span.offset as usize..).unwrap_or_default();
                let own = &own[..own.len().min(len as usize)];
                octets.bytes[at..at + own.len()].copy_from_slice(own);
            }
        }
    }

    /// The mode of RLC.
    pub fn mode(&self) -> Mode {
        match &self.sides[0].rlc {
            Rlc::Tm(_) => Mode::Tm,
            Rlc::Um(_) => Mode::Um,
            Rlc::Am(_) => Mode::Am,
        }
    }
    /// The sequence numbers of PDCP \[bit\].
    pub const fn sn_bits(&self) -> u32 {
        self.sn_bits
    }
}

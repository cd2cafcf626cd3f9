//! The octets of frames (IEEE Std 802.11-2016 clause 9), without the frame check sequence.

use lasthop_units::{ApId, Id, Octets, StationId};

use super::elements::{Network, fill};
use super::{ASSOCIATION_REQUEST, ASSOCIATION_RESPONSE, FCS};

/// A MAC address.
pub type Address = [u8; 6];

/// The address of an access point: locally administered, with its number.
pub fn ap_address(ap: ApId) -> Address {
    address(1, ap.index())
}
/// The address of a station.
pub fn station_address(station: StationId) -> Address {
    address(2, station.index())
}
fn address(kind: u8, number: usize) -> Address {
    let [.., a, b] = (number as u32).to_be_bytes();
    [0x02, 0, 0, kind, a, b]
}

/// The contents of a frame besides addresses and duration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Request to send (clause 9.3.1.2).
    Rts,
    /// Clear to send (clause 9.3.1.3).
    Cts,
    /// Acknowledgement (clause 9.3.1.4).
    Ack,
    /// Compressed block ack request (clause 9.3.1.8): traffic identifier, starting sequence number.
    BlockAckRequest(u8, u16),
    /// Compressed block ack (clause 9.3.1.9): traffic identifier, starting sequence number, and a
    /// bit for each number from there on, low bit first.
    BlockAck(u8, u16, u64),
    /// Data (clause 9.3.2): sequence number, traffic identifier in QoS data, more than one MSDU,
    /// and the frame body.
    Data(u16, Option<u8>, bool, Octets),
    /// Authentication, open system (clause 9.3.3.12): sequence number, transaction 1 or 2.
    Authentication(u16, u8),
    /// Association request (clause 9.3.3.6): sequence number.
    AssociationRequest(u16, Box<Network>),
    /// Association response (clause 9.3.3.7): sequence number, association identifier.
    AssociationResponse(u16, u16, Box<Network>),
    /// ADDBA request (clause 9.6.5.2): sequence number, traffic identifier, starting sequence.
    AddbaRequest(u16, u8, u16, Box<Network>),
    /// ADDBA response (clause 9.6.5.3): sequence number, traffic identifier.
    AddbaResponse(u16, u8, Box<Network>),
    /// Beacon (clause 9.3.3.3): sequence number, timestamp \[us\], interval \[TU\], octets of the
    /// frame with its check sequence.
    Beacon(u16, u64, u16, u32, Box<Network>),
}

/// A frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MacFrame {
    /// Duration \[us\], up to 32767.
    pub duration: u16,
    /// Address 1: the receiver.
    pub receiver: Address,
    /// Address 2: the transmitter; control frames of 14 octets have none.
    pub transmitter: Address,
    /// True if the access point is the transmitter.
    pub from_ap: bool,
    /// True if the frame was sent before.
    pub retry: bool,
    /// Its contents.
    pub body: Body,
}

const BROADCAST: Address = [0xff; 6];
/// Header of a management frame.
const HEADER: usize = 24;

impl MacFrame {
    /// The octets of the frame.
    pub fn encode(&self) -> Octets {
        // Frame control: subtype and type, flags.
        let control = match &self.body {
            Body::Rts => 0xb4,
            Body::Cts => 0xc4,
            Body::Ack => 0xd4,
            Body::BlockAckRequest(..) => 0x84,
            Body::BlockAck(..) => 0x94,
            Body::Data(_, None, ..) => 0x08,
            Body::Data(_, Some(_), ..) => 0x88,
            Body::Authentication(..) => 0xb0,
            Body::AssociationRequest(..) => 0x00,
            Body::AssociationResponse(..) => 0x10,
            Body::AddbaRequest(..) | Body::AddbaResponse(..) => 0xd0,
            Body::Beacon(..) => 0x80,
        };
        let mut flags = u8::from(self.retry) << 3;
        if matches!(self.body, Body::Data(..)) {
            flags |= if self.from_ap { 2 } else { 1 };
        }
        let mut out = vec![control, flags];
        out.extend_from_slice(&self.duration.min(0x7fff).to_le_bytes());
        let broadcast = matches!(self.body, Body::Beacon(..));
        out.extend_from_slice(if broadcast { &BROADCAST } else { &self.receiver });
        if matches!(self.body, Body::Cts | Body::Ack) {
            return Octets { bytes: out, holes: Vec::new() };
        }
        out.extend_from_slice(&self.transmitter);
        match &self.body {
            Body::Rts | Body::Cts | Body::Ack => {}
            Body::BlockAckRequest(tid, start) => {
                // BAR control: compressed bitmap, traffic identifier in the upper four bits.
                out.extend_from_slice(&(4 | u16::from(*tid) << 12).to_le_bytes());
                out.extend_from_slice(&(start << 4).to_le_bytes());
            }
            Body::BlockAck(tid, start, bitmap) => {
                out.extend_from_slice(&(4 | u16::from(*tid) << 12).to_le_bytes());
                out.extend_from_slice(&(start << 4).to_le_bytes());
                out.extend_from_slice(&bitmap.to_le_bytes());
            }
            Body::Data(sn, tid, several, body) => {
                // Address 3: source or destination beyond the access point, here the access point
                // itself.
                out.extend_from_slice(if self.from_ap { &self.transmitter } else { &self.receiver });
                out.extend_from_slice(&(sn << 4).to_le_bytes());
                if let Some(tid) = tid {
                    out.extend_from_slice(&[tid | u8::from(*several) << 7, 0]);
                }
                let start = out.len() as u32;
                out.extend_from_slice(&body.bytes);
                let mut holes = body.holes.clone();
                holes.iter_mut().for_each(|hole| hole.at += start);
                return Octets { bytes: out, holes };
            }
            _ => self.management(&mut out),
        }
        Octets { bytes: out, holes: Vec::new() }
    }

    /// Appends the fields after address 2 of a management frame.
    fn management(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(if self.from_ap { &self.transmitter } else { &self.receiver });
        let (Body::Authentication(sn, _)
        | Body::AssociationRequest(sn, _)
        | Body::AssociationResponse(sn, ..)
        | Body::AddbaRequest(sn, ..)
        | Body::AddbaResponse(sn, ..)
        | Body::Beacon(sn, ..)) = self.body
        else {
            return;
        };
        out.extend_from_slice(&(sn << 4).to_le_bytes());
        let end = |body: u32| HEADER + body as usize;
        match &self.body {
            Body::Authentication(_, transaction) => out.extend_from_slice(&[0, 0, *transaction, 0, 0, 0]),
            Body::AssociationRequest(_, network) => {
                out.extend_from_slice(&network.capabilities());
                out.extend_from_slice(&[10, 0]);
                network.name_and_rates(out);
                network.station(out);
                fill(out, end(ASSOCIATION_REQUEST) - out.len());
            }
            Body::AssociationResponse(_, id, network) => {
                out.extend_from_slice(&network.capabilities());
                out.extend_from_slice(&[0, 0]);
                out.extend_from_slice(&(0xc000 | id).to_le_bytes());
                network.rates(out);
                network.access_point(out, end(ASSOCIATION_RESPONSE) - out.len());
                fill(out, end(ASSOCIATION_RESPONSE) - out.len());
            }
            Body::AddbaRequest(_, tid, start, network) => {
                out.extend_from_slice(&[3, 0, 1]);
                out.extend_from_slice(&network.block_ack(*tid));
                out.extend_from_slice(&[0, 0]);
                out.extend_from_slice(&(start << 4).to_le_bytes());
            }
            Body::AddbaResponse(_, tid, network) => {
                out.extend_from_slice(&[3, 1, 1, 0, 0]);
                out.extend_from_slice(&network.block_ack(*tid));
                out.extend_from_slice(&[0, 0]);
            }
            Body::Beacon(_, timestamp, interval, size, network) => {
                out.extend_from_slice(&timestamp.to_le_bytes());
                out.extend_from_slice(&interval.to_le_bytes());
                out.extend_from_slice(&network.capabilities());
                network.name_and_rates(out);
                // The beacon has the configured length, if its elements fit.
                let left = |out: &Vec<u8>| (*size as usize).saturating_sub(out.len() + FCS as usize);
                network.beacon(out, left(out));
                network.access_point(out, left(out));
                fill(out, left(out));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mac::{
        ACK, Access, AggregationConfig, BLOCK_ACK, BLOCK_ACK_REQUEST, CTS, Category, LLC, RTS, mpdu,
    };
    use crate::phy::{Format, Width};

    fn frame(body: Body) -> MacFrame {
        let [receiver, transmitter] =
            [station_address(StationId::from_index(0)), ap_address(ApId::from_index(0))];
        MacFrame { duration: 44, receiver, transmitter, from_ap: true, retry: false, body }
    }

    /// Frames have the lengths with which their durations are computed.
    #[test]
    fn frames_are_as_long_as_their_time_on_the_air_says() {
        let length = |body| frame(body).encode().bytes.len() as u64 + u64::from(FCS);
        assert_eq!(length(Body::Rts), RTS);
        assert_eq!(length(Body::Cts), CTS);
        assert_eq!(length(Body::Ack), ACK);
        assert_eq!(length(Body::BlockAck(0, 0, 0)), BLOCK_ACK);
        assert_eq!(length(Body::BlockAckRequest(0, 0)), BLOCK_ACK_REQUEST);
        let body = Octets { bytes: vec![0; (LLC + 1500) as usize], holes: Vec::new() };
        assert_eq!(length(Body::Data(7, Some(0), false, body.clone())), u64::from(mpdu(1500, true)));
        assert_eq!(length(Body::Data(7, None, false, body)), u64::from(mpdu(1500, false)));
        assert_eq!(length(Body::Authentication(0, 1)), 28 + 6);
        for format in [Format::Dsss, Format::Ofdm, Format::Ht, Format::Vht] {
            let qos = matches!(format, Format::Ht | Format::Vht);
            let network = || {
                Box::new(Network {
                    format,
                    channel: if format == Format::Dsss { 6 } else { 36 },
                    width: Width::W20,
                    short_guard: false,
                    streams: 1,
                    edca: qos.then(|| Category::ALL.map(|c| Access::edca(c, 15))),
                    aggregation: AggregationConfig::default(),
                })
            };
            assert_eq!(length(Body::AssociationRequest(0, network())), 28 + 66);
            assert_eq!(length(Body::AssociationResponse(0, 1, network())), 28 + 109);
            assert_eq!(length(Body::AddbaRequest(0, 0, 0, network())), 28 + 9);
            assert_eq!(length(Body::AddbaResponse(0, 0, network())), 28 + 9);
            for size in (66..200).chain([250, 320, 400, 600]) {
                assert_eq!(length(Body::Beacon(0, 0, 100, size, network())), u64::from(size), "{format:?}");
            }
        }
    }

    /// An RTS: type 01, subtype 1011, so 1011 01 00; duration 44 us; RA, TA.
    #[test]
    fn an_rts_has_the_octets_of_the_standard() {
        assert_eq!(frame(Body::Rts).encode().bytes, [0xb4, 0, 44, 0, 2, 0, 0, 2, 0, 0, 2, 0, 0, 1, 0, 0]);
    }
}

//! Encoding and decoding of UMTS RLC PDUs (TS 25.322 clause 9.2). Decoders accept any input without
//! panic.

use lasthop_bearer::bits::{BitReader, BitWriter};

use super::pdu::{AmSn, CodecError, DataPdu, Pdu, ResetPdu, UmPdu, UmSn, take};
use super::segment::{DataLayout, EndMark, Segment, Segments};
use super::sufi;
use lasthop_bearer::Sdu;
use lasthop_units::Octets;

/// Writes an SDU's octets into a PDU: called once per segment with the place to fill.
pub type Payload<'a> = dyn FnMut(&Segment, &mut [u8]) + 'a;

/// A payload source of zeros.
pub fn zeros(_: &Segment, _: &mut [u8]) {}

/// Encodes an AM PDU, exactly `layout.payload + 2` octets.
///
/// # Panics
/// If `pdu` belongs to UM or TM.
pub fn encode_am(pdu: &Pdu, layout: DataLayout, payload: &mut Payload<'_>) -> Vec<u8> {
    let size = layout.payload as usize + 2;
    match pdu {
        Pdu::Data(data) => encode_data(data, layout, payload),
        Pdu::Status(status) => sufi::encode_status(status, size),
        Pdu::Reset(r) => encode_reset(r, 1, size),
        Pdu::ResetAck(r) => encode_reset(r, 2, size),
        Pdu::Um(_) | Pdu::Tm(_) => panic!("{pdu:?} is no PDU of acknowledged mode"),
    }
}

/// Decodes an AM PDU. Its SDUs are anonymous ([`Sdu::anonymous`]).
pub fn decode_am(octets: &[u8], layout: DataLayout) -> Result<Pdu, CodecError> {
    let (&first, _) = octets.split_first().ok_or(CodecError::Truncated)?;
    if first & 0x80 != 0 {
        return decode_data(octets, layout).map(Pdu::Data);
    }
    match first >> 4 {
        0 => sufi::decode_status(octets).map(|s| Pdu::Status(Box::new(s))),
        1 => decode_reset(octets).map(Pdu::Reset),
        2 => decode_reset(octets).map(Pdu::ResetAck),
        reserved => Err(CodecError::ReservedType(reserved)),
    }
}

/// Encodes an AMD PDU (clause 9.2.1.4): D/C, 12-bit SN, P, HE; then LIs with E; then data.
fn encode_data(pdu: &DataPdu, layout: DataLayout, payload: &mut Payload<'_>) -> Vec<u8> {
    let lis = Indicators::of_data(pdu, layout);
    let he = u8::from(!lis.values.is_empty());
    let sn = pdu.sn.get();
    let mut out = Vec::with_capacity(layout.payload as usize + 2);
    out.push(0x80 | (sn >> 5) as u8);
    out.push(((sn & 0x1f) << 3) as u8 | u8::from(pdu.poll) << 2 | he);
    lis.encode(&mut out);
    encode_segments(&pdu.segments, &mut out, payload);
    if let Some(status) = &pdu.piggyback {
        // The D/C bit of a piggybacked STATUS PDU is reserved, set to zero (clause 9.2.1.6).
        out.extend(sufi::encode_status(status, 0));
    }
    out.resize(layout.payload as usize + 2, 0);
    out
}

fn decode_data(octets: &[u8], layout: DataLayout) -> Result<DataPdu, CodecError> {
    let (header, rest) = octets.split_first_chunk::<2>().ok_or(CodecError::Truncated)?;
    let sn = AmSn::new(u32::from(header[0] & 0x7f) << 5 | u32::from(header[1] >> 3));
    let poll = header[1] & 4 != 0;
    let extended = match header[1] & 3 {
        0 => false,
        1 => true,
        _ => return Err(CodecError::ReservedHeaderExtension),
    };
    let field = rest.get(..layout.payload as usize).ok_or(CodecError::Truncated)?;
    let read = read_field(field, extended, layout)?;
    if read.starts_sdu {
        return Err(CodecError::BadLengthIndicator(if layout.li == 1 { UM_START_7 } else { UM_START_15 }));
    }
    let piggyback = match read.status {
        Some(octets) => Some(Box::new(sufi::decode_status(octets)?)),
        None => None,
    };
    Ok(DataPdu { sn, hfn: DataPdu::NO_HFN, poll, segments: read.segments, piggyback })
}

/// Encodes a UMD PDU (clause 9.2.1.3): 7-bit SN, E; then LIs with E; then data. Exactly
/// `layout.payload + 1` octets.
pub fn encode_um(pdu: &UmPdu, layout: DataLayout, payload: &mut Payload<'_>) -> Vec<u8> {
    let lis = Indicators::of_um(pdu, layout);
    let mut out = Vec::with_capacity(layout.payload as usize + 1);
    out.push((pdu.sn.get() << 1) as u8 | u8::from(!lis.values.is_empty()));
    lis.encode(&mut out);
    encode_segments(&pdu.segments, &mut out, payload);
    out.resize(layout.payload as usize + 1, 0);
    out
}

/// Decodes a UMD PDU. Its SDUs are anonymous.
pub fn decode_um(octets: &[u8], layout: DataLayout) -> Result<UmPdu, CodecError> {
    let (&first, rest) = octets.split_first().ok_or(CodecError::Truncated)?;
    let field = rest.get(..layout.payload as usize).ok_or(CodecError::Truncated)?;
    let read = read_field(field, first & 1 != 0, layout)?;
    if read.status.is_some() {
        return Err(CodecError::BadLengthIndicator(PIGGYBACK_7));
    }
    Ok(UmPdu { sn: UmSn::new(u32::from(first >> 1)), starts_sdu: read.starts_sdu, segments: read.segments })
}

/// The octets of a PDU of an entity whose PDUs have `payload` octets after the header, with places
/// for those of packets. An SDU begins with the octets that `header` returns for it.
pub fn octets(pdu: &Pdu, payload: u32, header: impl Fn(&Sdu) -> Vec<u8>) -> Octets {
    let (layout, um) = (DataLayout::am(payload), DataLayout::um(payload));
    let (bytes, start, segments) = match pdu {
        Pdu::Data(data) => {
            let start = 2 + Indicators::of_data(data, layout).len();
            (encode_am(pdu, layout, &mut zeros), start, data.segments.as_slice())
        }
        Pdu::Status(_) | Pdu::Reset(_) | Pdu::ResetAck(_) => (encode_am(pdu, layout, &mut zeros), 0, &[][..]),
        Pdu::Um(data) => {
            let start = 1 + Indicators::of_um(data, um).len();
            (encode_um(data, um, &mut zeros), start, data.segments.as_slice())
        }
        Pdu::Tm(sdu) => {
            let mut octets = Octets::default();
            octets.append_sdu(&header(sdu), (sdu.id, sdu.serial), 0, sdu.size());
            return octets;
        }
    };
    let (mut octets, mut at) = (Octets { bytes, holes: Vec::new() }, start);
    for segment in segments {
        let (sdu, len) = (&segment.sdu, u32::from(segment.len));
        octets.fill_sdu(at, &header(sdu), (sdu.id, sdu.serial), segment.offset, len);
        at += len as usize;
    }
    octets
}

/// The length indicators of a PDU (clause 9.2.2.8).
struct Indicators {
    values: Vec<u16>,
    layout: DataLayout,
    /// Octets left after data and LIs.
    room: u32,
}

const PADDING_7: u16 = 0x7f;
const PIGGYBACK_7: u16 = 0x7e;
const UM_START_7: u16 = 0x7c;
const PADDING_15: u16 = 0x7fff;
const PIGGYBACK_15: u16 = 0x7ffe;
const UM_START_15: u16 = 0x7ffc;
const PREVIOUS_SHORT_15: u16 = 0x7ffb;

impl Indicators {
    fn new(layout: DataLayout, segments: &[Segment]) -> Self {
        let values = segments
            .iter()
            .filter_map(|s| match s.end {
                EndMark::None => None,
                EndMark::Here => Some(s.len),
                EndMark::Previous => Some(0),
                EndMark::PreviousShort => Some(PREVIOUS_SHORT_15),
            })
            .collect();
        Indicators { values, layout, room: layout.payload - layout.used(segments) }
    }

    fn of_data(pdu: &DataPdu, layout: DataLayout) -> Self {
        let mut lis = Indicators::new(layout, &pdu.segments);
        lis.close(pdu.piggyback.is_some());
        lis
    }

    fn of_um(pdu: &UmPdu, layout: DataLayout) -> Self {
        let mut lis = Indicators::new(layout, &pdu.segments);
        if pdu.starts_sdu {
            lis.values.insert(0, if layout.li == 1 { UM_START_7 } else { UM_START_15 });
            lis.room -= layout.li;
        }
        lis.close(false);
        lis
    }

    /// Number of octets that they take.
    fn len(&self) -> usize {
        self.values.len() * self.layout.li as usize
    }

    /// Adds the LI of padding or of a piggybacked STATUS PDU, where one is needed and fits.
    fn close(&mut self, piggyback: bool) {
        let wide = self.layout.li == 2;
        if piggyback {
            self.values.push(if wide { PIGGYBACK_15 } else { PIGGYBACK_7 });
        } else if self.room >= self.layout.li {
            self.values.push(if wide { PADDING_15 } else { PADDING_7 });
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        for (i, value) in self.values.iter().enumerate() {
            let more = u8::from(i + 1 < self.values.len());
            if self.layout.li == 2 {
                out.push((value >> 7) as u8);
            }
            out.push((value << 1) as u8 | more);
        }
    }
}

fn encode_segments(segments: &[Segment], out: &mut Vec<u8>, payload: &mut Payload<'_>) {
    for segment in segments {
        let at = out.len();
        out.resize(at + usize::from(segment.len), 0);
        payload(segment, &mut out[at..]);
    }
}

struct Field<'a> {
    segments: Segments,
    starts_sdu: bool,
    status: Option<&'a [u8]>,
}

/// Reads LIs and divides the data field among SDUs.
fn read_field(field: &[u8], extended: bool, layout: DataLayout) -> Result<Field<'_>, CodecError> {
    let mut read = Field { segments: Segments::new(), starts_sdu: false, status: None };
    let li = layout.li as usize;
    let mut lis_end = 0;
    let mut more = extended;
    while more {
        let octets = field.get(lis_end..lis_end + li).ok_or(CodecError::Truncated)?;
        more = octets[li - 1] & 1 != 0;
        lis_end += li;
    }
    let mut data = &field[lis_end..];
    for (i, octets) in field[..lis_end].chunks_exact(li).enumerate() {
        let value = octets.iter().fold(0u16, |v, o| v << 8 | u16::from(*o)) >> 1;
        let special = if li == 1 { value | 0x7f80 } else { value };
        let last = (i + 1) * li == lis_end;
        let bad = CodecError::BadLengthIndicator(value);
        match special {
            PADDING_15 if last => return Ok(read),
            PIGGYBACK_15 if last => {
                read.status = Some(data);
                return Ok(read);
            }
            UM_START_15 if i == 0 => read.starts_sdu = true,
            PREVIOUS_SHORT_15 if i == 0 && li == 2 => {
                read.segments.push(anonymous(0, EndMark::PreviousShort))
            }
            _ if value == 0 && i == 0 => read.segments.push(anonymous(0, EndMark::Previous)),
            _ if value == 0 || usize::from(value) > data.len() => return Err(bad),
            _ => {
                read.segments.push(anonymous(value, EndMark::Here));
                data = &data[usize::from(value)..];
            }
        }
    }
    // One octet after a 15-bit LI of an SDU's end is padding without an LI (clause 9.2.2.8).
    let silent_padding = li == 2 && data.len() == 1 && !read.segments.is_empty();
    if !data.is_empty() && !silent_padding {
        read.segments.push(anonymous(data.len() as u16, EndMark::None));
    }
    Ok(read)
}

fn anonymous(len: u16, end: EndMark) -> Segment {
    Segment { sdu: Sdu::anonymous(), offset: 0, len, end }
}

/// Encodes a RESET or RESET ACK PDU (clause 9.2.1.7): D/C, PDU type, RSN, R1 (3 bits), HFNI (20
/// bits), padding.
fn encode_reset(pdu: &ResetPdu, pdu_type: u32, size: usize) -> Vec<u8> {
    let mut w = BitWriter::default();
    w.put(0, 1);
    w.put(pdu_type, 3);
    w.put(pdu.rsn.into(), 1);
    w.put(0, 3);
    w.put(pdu.hfni & 0xf_ffff, 20);
    w.padded(size)
}

fn decode_reset(octets: &[u8]) -> Result<ResetPdu, CodecError> {
    let mut r = BitReader::new(octets);
    take(&mut r, 4)?;
    let rsn = take(&mut r, 1)? == 1;
    take(&mut r, 3)?;
    Ok(ResetPdu { rsn, hfni: take(&mut r, 20)? })
}

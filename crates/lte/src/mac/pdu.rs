//! MAC PDUs of DL-SCH and UL-SCH and random access responses: sizes, exact bytes on demand, and
//! decoders that accept or refuse any input without a panic (TS 36.321 v15.1.0 clause 6.1).
//!
//! Out of scope: the control elements of carrier aggregation, dual connectivity, MBMS and NB-IoT,
//! and the 16-bit L field of very long SDUs.

use thiserror::Error;

use super::bsr::Report;
use lasthop_bearer::bits::{BitReader, BitWriter};
use lasthop_units::{Hole, Octets};

/// Transport channel: an LCID stands for different control elements on each (TS 36.321 tables
/// 6.2.1-1 and 6.2.1-2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// DL-SCH.
    Downlink,
    /// UL-SCH.
    Uplink,
}

/// A control element of fixed size (TS 36.321 clause 6.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// C-RNTI, of Msg3 (uplink).
    CRnti(u16),
    /// Buffer status report (uplink).
    Bsr(Report),
    /// Sidelink buffer status report (uplink).
    SidelinkBsr(SidelinkLevels),
    /// Power headroom level, 0 to 63 (uplink).
    PowerHeadroom(u8),
    /// UE contention resolution identity: the first 48 bits of the CCCH SDU of Msg3 (downlink).
    ContentionResolution([u8; 6]),
    /// Timing advance group and command (downlink).
    TimingAdvance(u8),
    /// DRX command (downlink).
    Drx,
}

/// Contents of a sidelink buffer status report (TS 36.321 clause 6.1.3.1a): the buffer size levels
/// of destinations, all of logical channel group 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SidelinkLevels {
    count: u8,
    /// Destination index, 0 to 15, and level, 0 to 63.
    of: [(u8, u8); 16],
}

impl SidelinkLevels {
    /// The levels of at most 16 destinations.
    pub fn new(levels: impl Iterator<Item = (u8, u8)>) -> SidelinkLevels {
        let mut report = SidelinkLevels::default();
        for (place, level) in report.of.iter_mut().zip(levels) {
            (*place, report.count) = (level, report.count + 1);
        }
        report
    }
    /// Destination index and level of each destination.
    pub fn levels(&self) -> &[(u8, u8)] {
        &self.of[..usize::from(self.count)]
    }
}

/// A part of a MAC PDU, in the order of the subheaders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<S> {
    /// A control element.
    Control(Control),
    /// A MAC SDU of a logical channel: 0 is CCCH, 1 to 10 the others.
    Sdu {
        /// Logical channel identity.
        lcid: u8,
        /// The SDU: its bytes, or their number [B].
        sdu: S,
    },
}

/// Size of the subheader of an SDU of `size` bytes that is not the last part of its PDU:
/// R/R/E/LCID/F/L with a 7-bit or 15-bit L (TS 36.321 clause 6.1.2) [B].
#[inline]
pub const fn subheader(size: u32) -> u32 {
    if size < 128 { 2 } else { 3 }
}

/// The largest SDU that the L field can give [B].
pub const SDU_MAX: u32 = (1 << 15) - 1;

/// Size of the subheader R/R/E/LCID of a control element, of padding, or of an SDU that is the last
/// part [B].
pub const SHORT_SUBHEADER: u32 = 1;

impl Control {
    /// Size without the subheader [B].
    pub const fn size(self) -> u32 {
        match self {
            Control::CRnti(_) => 2,
            Control::Bsr(report) => report.size(),
            Control::SidelinkBsr(report) => (report.count as u32 * 12).div_ceil(8),
            Control::PowerHeadroom(_) | Control::TimingAdvance(_) => 1,
            Control::ContentionResolution(_) => 6,
            Control::Drx => 0,
        }
    }

    /// Size of the subheader in a PDU, as the last part or not [B].
    const fn subheader(self, last: bool) -> u32 {
        match self {
            Control::SidelinkBsr(_) if !last => subheader(self.size()),
            _ => SHORT_SUBHEADER,
        }
    }

    const fn lcid(self) -> u8 {
        match self {
            Control::ContentionResolution(_) => 0b11100,
            Control::TimingAdvance(_) => 0b11101,
            Control::Drx => 0b11110,
            Control::PowerHeadroom(_) => 0b11010,
            Control::CRnti(_) => 0b11011,
            Control::SidelinkBsr(_) => SIDELINK_BSR,
            Control::Bsr(Report::Truncated { .. }) => 0b11100,
            Control::Bsr(Report::Short { .. }) => 0b11101,
            Control::Bsr(Report::Long(_)) => 0b11110,
        }
    }

    fn put(self, w: &mut BitWriter) {
        match self {
            Control::CRnti(rnti) => w.put(u32::from(rnti), 16),
            Control::Bsr(Report::Short { group, level } | Report::Truncated { group, level }) => {
                w.put(u32::from(group), 2);
                w.put(u32::from(level), 6);
            }
            Control::SidelinkBsr(report) => {
                for (destination, level) in report.levels() {
                    w.put(u32::from(*destination), 4);
                    // Logical channel group.
                    w.put(0, 2);
                    w.put(u32::from(*level), 6);
                }
                if report.count % 2 == 1 {
                    w.put(0, 4);
                }
            }
            Control::Bsr(Report::Long(levels)) => levels.iter().for_each(|l| w.put(u32::from(*l), 6)),
            Control::PowerHeadroom(level) => w.put(u32::from(level & 63), 8),
            Control::ContentionResolution(id) => id.iter().for_each(|b| w.put(u32::from(*b), 8)),
            Control::TimingAdvance(byte) => w.put(u32::from(byte), 8),
            Control::Drx => {}
        }
    }

    /// Reads a control element; `length`: its size, if its subheader gives one [B].
    fn read(
        lcid: u8,
        length: u32,
        channel: Channel,
        r: &mut BitReader<'_>,
    ) -> Result<Control, MacDecodeError> {
        let mut take = |width| r.take(width).ok_or(MacDecodeError::Truncated);
        Ok(match (channel, lcid) {
            (Channel::Uplink, SIDELINK_BSR) => {
                let mut report = SidelinkLevels::default();
                let count = length * 8 / 12;
                if count > 16 || length != (count * 12).div_ceil(8) {
                    return Err(MacDecodeError::Reserved);
                }
                for place in &mut report.of[..count as usize] {
                    let destination = take(4)? as u8;
                    take(2)?;
                    *place = (destination, take(6)? as u8);
                }
                report.count = count as u8;
                take(count % 2 * 4)?;
                Control::SidelinkBsr(report)
            }
            (Channel::Uplink, 0b11010) => Control::PowerHeadroom(take(8)? as u8 & 63),
            (Channel::Uplink, 0b11011) => Control::CRnti(take(16)? as u16),
            (Channel::Uplink, 0b11100) => {
                Control::Bsr(Report::Truncated { group: take(2)? as u8, level: take(6)? as u8 })
            }
            (Channel::Uplink, 0b11101) => {
                Control::Bsr(Report::Short { group: take(2)? as u8, level: take(6)? as u8 })
            }
            (Channel::Uplink, 0b11110) => {
                let mut levels = [0; 4];
                for level in &mut levels {
                    *level = take(6)? as u8;
                }
                Control::Bsr(Report::Long(levels))
            }
            (Channel::Downlink, 0b11100) => {
                let mut id = [0; 6];
                for byte in &mut id {
                    *byte = take(8)? as u8;
                }
                Control::ContentionResolution(id)
            }
            (Channel::Downlink, 0b11101) => Control::TimingAdvance(take(8)? as u8),
            (Channel::Downlink, 0b11110) => Control::Drx,
            _ => return Err(MacDecodeError::Reserved),
        })
    }
}

const PADDING: u8 = 0b11111;
/// Sidelink BSR, the one control element here of variable size: its subheader has a length.
const SIDELINK_BSR: u8 = 0b10111;
/// The largest LCID of a logical channel.
const LCID_MAX: u8 = 10;

/// Reasons why bytes are not a MAC PDU (TS 36.321 clause 5.11: such a PDU is discarded).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum MacDecodeError {
    /// The PDU ends within a subheader, a control element or an SDU.
    #[error("the PDU ends within a subheader, a control element or an SDU")]
    Truncated,
    /// An LCID is reserved, or does not belong to this channel.
    #[error("an LCID is reserved")]
    Reserved,
}

/// Size of the padding of a transport block, its subheaders included, when the block carries
/// `controls` bytes of control elements with their subheaders and SDUs of the given sizes. None if
/// they do not fit.
pub fn padding(block: u32, controls: u32, sdus: &[u32]) -> Option<u32> {
    let mut used = controls;
    for (i, size) in sdus.iter().enumerate() {
        used += size + if i + 1 == sdus.len() { SHORT_SUBHEADER } else { subheader(*size) };
    }
    block.checked_sub(used)
}

/// The bytes of a MAC PDU of exactly `block` bytes; None if the parts do not fit into it.
// 6.1.2 [unverified]: Padding occurs at the end of the MAC PDU, except when single-byte or two-byte
// padding is required. [...] When single-byte or two-byte padding is required, one or two MAC PDU
// subheaders corresponding to padding are placed at the beginning of the MAC PDU before any other
// MAC PDU subheader.
pub fn encode(block: u32, parts: &[Part<&[u8]>], channel: Channel) -> Option<Vec<u8>> {
    // 6.1.2 [unverified]: MAC control elements are always placed before any MAC SDU.
    debug_assert!(parts.windows(2).all(|w| !matches!(w, [Part::Sdu { .. }, Part::Control(_)])));
    debug_assert!(parts.iter().all(|p| match p {
        Part::Control(c) => is_of(*c, channel),
        Part::Sdu { lcid, sdu } => *lcid <= LCID_MAX && sdu.len() <= SDU_MAX as usize,
    }));
    let last = parts.len().saturating_sub(1);
    let mut header = 0;
    let mut body = 0;
    for (i, part) in parts.iter().enumerate() {
        (header, body) = match part {
            Part::Control(c) => (header + c.subheader(i == last), body + c.size()),
            Part::Sdu { sdu, .. } if i == last => (header + SHORT_SUBHEADER, body + sdu.len() as u32),
            Part::Sdu { sdu, .. } => (header + subheader(sdu.len() as u32), body + sdu.len() as u32),
        };
    }
    let left = block.checked_sub(header + body)?;
    let trailing = left > 2 || parts.is_empty();
    let mut w = BitWriter::with_capacity(block as usize);
    for i in 0..if trailing { 0 } else { left } {
        let more = i + 1 < left || !parts.is_empty();
        w.put(u32::from(more) << 5 | u32::from(PADDING), 8);
    }
    for (i, part) in parts.iter().enumerate() {
        let more = u32::from(i < last || trailing) << 5;
        match part {
            Part::Control(c) => {
                w.put(more | u32::from(c.lcid()), 8);
                if more != 0 && c.lcid() == SIDELINK_BSR {
                    w.put(c.size(), 8);
                }
            }
            Part::Sdu { lcid, sdu } => {
                w.put(more | u32::from(*lcid), 8);
                if more != 0 {
                    let long = sdu.len() >= 128;
                    w.flag(long);
                    w.put(sdu.len() as u32, if long { 15 } else { 7 });
                }
            }
        }
    }
    if trailing && block > 0 {
        w.put(u32::from(PADDING), 8);
    }
    let mut bytes = w;
    for part in parts {
        match part {
            Part::Control(c) => c.put(&mut bytes),
            Part::Sdu { sdu, .. } => bytes.bytes(sdu),
        }
    }
    let mut bytes = bytes.finish();
    debug_assert!(bytes.len() <= block as usize);
    bytes.resize(block as usize, 0);
    Some(bytes)
}

/// The bytes of a MAC PDU of `block` bytes whose SDUs have places for packets, each with its LCID.
/// True if the block was enlarged because it was too small (where a profile counts no subheaders).
pub fn octets(block: u32, controls: &[Control], sdus: &[(u8, Octets)], channel: Channel) -> (Octets, bool) {
    let mut parts: Vec<Part<&[u8]>> = controls.iter().map(|control| Part::Control(*control)).collect();
    parts.extend(sdus.iter().map(|(lcid, octets)| Part::Sdu { lcid: *lcid, sdu: &octets.bytes[..] }));
    let all: u32 = sdus.iter().map(|(_, sdu)| sdu.bytes.len() as u32 + subheader(SDU_MAX)).sum();
    let most = all + controls.iter().map(|c| c.size() + c.subheader(false)).sum::<u32>();
    let mut sizes = std::iter::once(block).chain(block + 1..=most.max(block) + 2);
    let found = sizes.find_map(|size| encode(size, &parts, channel).map(|bytes| (bytes, size > block)));
    let (bytes, grown) = found.unwrap_or_default();
    let mut octets = Octets { bytes, holes: Vec::new() };
    // SDUs follow each other without gaps, after subheaders and control elements.
    let read = decode(&octets.bytes, channel).unwrap_or_default();
    let begin = octets.bytes.as_ptr() as usize;
    let places = read.iter().filter_map(|part| match part {
        Part::Sdu { sdu, .. } => Some((sdu.as_ptr() as usize - begin) as u32),
        Part::Control(_) => None,
    });
    let mut holes = Vec::new();
    for (at, (_, sdu)) in places.zip(sdus) {
        holes.extend(sdu.holes.iter().map(|hole| Hole { at: hole.at + at, ..*hole }));
    }
    octets.holes = holes;
    (octets, grown)
}

const fn is_of(control: Control, channel: Channel) -> bool {
    let uplink =
        !matches!(control, Control::ContentionResolution(_) | Control::TimingAdvance(_) | Control::Drx);
    uplink == matches!(channel, Channel::Uplink)
}

/// Reads a MAC PDU.
pub fn decode(bytes: &[u8], channel: Channel) -> Result<Vec<Part<&[u8]>>, MacDecodeError> {
    let mut r = BitReader::new(bytes);
    // Subheaders first: LCID, and L where the subheader has one.
    let mut subheaders = Vec::new();
    loop {
        let mut take = |width| r.take(width).ok_or(MacDecodeError::Truncated);
        take(2)?;
        let more = take(1)? == 1;
        let lcid = take(5)? as u8;
        let sized = lcid <= LCID_MAX || (lcid == SIDELINK_BSR && channel == Channel::Uplink);
        let length = if more && sized {
            let long = take(1)? == 1;
            Some(take(if long { 15 } else { 7 })?)
        } else {
            None
        };
        subheaders.push((lcid, length));
        if !more {
            break;
        }
    }
    let mut parts = Vec::with_capacity(subheaders.len());
    for (i, (lcid, length)) in subheaders.iter().enumerate() {
        let at = r.byte_position();
        match *lcid {
            PADDING if i + 1 == subheaders.len() => break,
            // Single-byte and two-byte padding consists of subheaders alone.
            PADDING => {}
            lcid if lcid <= LCID_MAX => {
                let end = length.map_or(bytes.len(), |l| at + l as usize);
                let sdu = bytes.get(at..end).ok_or(MacDecodeError::Truncated)?;
                r.skip(sdu.len());
                parts.push(Part::Sdu { lcid, sdu });
            }
            lcid => {
                let length = length.unwrap_or(bytes.len().saturating_sub(at) as u32);
                parts.push(Part::Control(Control::read(lcid, length, channel, &mut r)?));
            }
        }
    }
    Ok(parts)
}

/// A MAC random access response (TS 36.321 clauses 6.1.5, 6.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RarEntry {
    /// RAPID, 0 to 63.
    pub preamble: u8,
    /// Timing advance command, 11 bits.
    pub timing_advance: u16,
    /// UL grant, 20 bits (TS 36.213 clause 6.2).
    pub grant: u32,
    /// Temporary C-RNTI.
    pub temporary_c_rnti: u16,
}

/// A PDU of random access responses: the backoff indicator (an index of table 7.2-1, 0 to 15), if
/// any, and the responses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RarPdu {
    /// BI.
    pub backoff: Option<u8>,
    /// One response per preamble.
    pub responses: Vec<RarEntry>,
}

/// Backoff parameter values [ms] of the indices 0 to 12, TS 36.321 v15.1.0 table 7.2-1.
pub const BACKOFF_MS: [u64; 13] = [0, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 960];

impl RarPdu {
    /// Size [B]: E/T/R/R/BI, and E/T/RAPID with six bytes for each response.
    pub fn size(&self) -> u32 {
        u32::from(self.backoff.is_some()) + 7 * self.responses.len() as u32
    }

    /// Encodes the PDU.
    pub fn encode(&self) -> Vec<u8> {
        let mut w = BitWriter::default();
        let subheaders = usize::from(self.backoff.is_some()) + self.responses.len();
        if let Some(bi) = self.backoff {
            w.flag(subheaders > 1);
            w.put(u32::from(bi & 15), 7);
        }
        for (i, r) in self.responses.iter().enumerate() {
            w.flag(i + 1 < self.responses.len());
            w.flag(true);
            w.put(u32::from(r.preamble & 63), 6);
        }
        for r in &self.responses {
            w.put(u32::from(r.timing_advance) & 0x7ff, 12);
            w.put(r.grant & 0xf_ffff, 20);
            w.put(u32::from(r.temporary_c_rnti), 16);
        }
        w.finish()
    }

    /// Decodes a PDU; bytes after the last response are padding.
    pub fn decode(bytes: &[u8]) -> Result<RarPdu, MacDecodeError> {
        let mut r = BitReader::new(bytes);
        let mut take = |width| r.take(width).ok_or(MacDecodeError::Truncated);
        let mut pdu = RarPdu::default();
        let mut preambles = Vec::new();
        loop {
            let more = take(1)? == 1;
            if take(1)? == 1 {
                preambles.push(take(6)? as u8);
            } else if pdu.backoff.is_none() && preambles.is_empty() {
                // 6.1.5 [unverified]: a Backoff Indicator [...] is only included as the first
                // subheader.
                pdu.backoff = Some(take(6)? as u8 & 15);
            } else {
                return Err(MacDecodeError::Reserved);
            }
            if !more {
                break;
            }
        }
        for preamble in preambles {
            take(1)?;
            pdu.responses.push(RarEntry {
                preamble,
                timing_advance: take(11)? as u16,
                grant: take(20)?,
                temporary_c_rnti: take(16)? as u16,
            });
        }
        Ok(pdu)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A short BSR of group 0, level 17; an SDU of 3 bytes on channel 3 as the last part; 8 bytes
    /// in all. Subheaders: E=1 LCID 11101 = 0x3d; E=0 LCID 00011 = 0x03. BSR: 00 010001 = 0x11.
    /// 1 + 1 + 1 + 3 = 6: two bytes of padding, so two padding subheaders with E=1 LCID 11111 =
    /// 0x3f come first.
    #[test]
    fn two_bytes_of_padding_come_first() {
        let report = Control::Bsr(Report::Short { group: 0, level: 17 });
        let parts = [Part::Control(report), Part::Sdu { lcid: 3, sdu: &[0xaa, 0xbb, 0xcc][..] }];
        let bytes = encode(8, &parts, Channel::Uplink).unwrap();
        assert_eq!(bytes, [0x3f, 0x3f, 0x3d, 0x03, 0x11, 0xaa, 0xbb, 0xcc]);
        assert_eq!(decode(&bytes, Channel::Uplink).unwrap(), parts);
        assert_eq!(encode(5, &parts, Channel::Uplink), None);
    }

    /// Two SDUs of 200 and 3 octets: subheaders 3 + 1, a control element 1 + 1, so 209; a block of
    /// 100 is enlarged to that.
    #[test]
    fn places_for_packets_move_with_their_sdu() {
        use lasthop_units::{Id, PacketId};
        let hole = Hole { at: 2, len: 1, packet: PacketId::from_index(0), serial: 0, entity: 0, offset: 0 };
        let sdu = |len, fill| Octets { bytes: vec![fill; len], holes: vec![hole] };
        let sdus = [(3, sdu(200, 1)), (4, sdu(3, 2))];
        for (block, grown) in [(209, false), (100, true)] {
            let (octets, grew) = octets(block, &[Control::PowerHeadroom(5)], &sdus, Channel::Uplink);
            assert_eq!((octets.bytes.len(), grew), (209, grown));
            let at: Vec<u32> = octets.holes.iter().map(|hole| hole.at).collect();
            assert_eq!(at, [6 + 2, 6 + 200 + 2]);
            assert_eq!([8, 208].map(|at: usize| octets.bytes[at]), [1, 2]);
        }
    }

    /// The same in 9 bytes: three remain. The SDU's subheader gets an L (0x23 0x03), a padding
    /// subheader 0x1f follows, and no padding byte is needed.
    #[test]
    fn three_bytes_of_padding_are_a_length_and_a_subheader() {
        let report = Control::Bsr(Report::Short { group: 0, level: 17 });
        let parts = [Part::Control(report), Part::Sdu { lcid: 3, sdu: &[0xaa, 0xbb, 0xcc][..] }];
        let bytes = encode(9, &parts, Channel::Uplink).unwrap();
        assert_eq!(bytes, [0x3d, 0x23, 0x03, 0x1f, 0x11, 0xaa, 0xbb, 0xcc, 0x00]);
        assert_eq!(decode(&bytes, Channel::Uplink).unwrap(), parts);
    }

    /// Destinations 1 and 5 with levels 17 and 63: 0001 00 010001, 0101 00 111111; a single one is
    /// followed by four reserved bits. The subheader is E=1 LCID 10111 and L, without L as the last
    /// one.
    #[test]
    fn a_sidelink_report_has_twelve_bits_a_destination() {
        let report = |levels: &[(u8, u8)]| Control::SidelinkBsr(SidelinkLevels::new(levels.iter().copied()));
        let both = [Part::Control(report(&[(1, 17), (5, 63)])), Part::Sdu { lcid: 3, sdu: &[0xaa][..] }];
        let bytes = encode(7, &both, Channel::Uplink).unwrap();
        assert_eq!(bytes, [0x37, 3, 0x03, 0b0001_0001, 0b0001_0101, 0b0011_1111, 0xaa]);
        assert_eq!(decode(&bytes, Channel::Uplink).unwrap(), both);
        let one = [Part::Control(report(&[(1, 17)]))];
        for (block, expected) in [(3, &[0x17, 0x11, 0x10][..]), (6, &[0x37, 2, 0x1f, 0x11, 0x10, 0])] {
            let bytes = encode(block, &one, Channel::Uplink).unwrap();
            assert_eq!(bytes, expected);
            assert_eq!(decode(&bytes, Channel::Uplink).unwrap(), one);
        }
    }

    #[test]
    fn a_length_above_127_bytes_takes_fifteen_bits() {
        let (long, short) = (vec![1; 128], vec![2; 4]);
        let parts = [Part::Sdu { lcid: 4, sdu: &long[..] }, Part::Sdu { lcid: 3, sdu: &short[..] }];
        let bytes = encode(136, &parts, Channel::Downlink).unwrap();
        assert_eq!(bytes[..4], [0x24, 0x80, 0x80, 0x03]);
        assert_eq!((subheader(127), subheader(128)), (2, 3));
        assert_eq!(decode(&bytes, Channel::Downlink).unwrap(), parts);
    }

    /// E=0 T=1 RAPID 5 -> 0x45; R, TA 1 (11 bits) and the first four bits of the grant 0x12345:
    /// 0000 0000 0001 0001 0010 0011 0100 0101; then C-RNTI 0x003d.
    #[test]
    fn a_random_access_response_has_seven_bytes() {
        let response = RarEntry { preamble: 5, timing_advance: 1, grant: 0x12345, temporary_c_rnti: 0x3d };
        let mut pdu = RarPdu { backoff: None, responses: vec![response] };
        assert_eq!(pdu.encode(), [0x45, 0x00, 0x11, 0x23, 0x45, 0x00, 0x3d]);
        assert_eq!(pdu.size(), 7);
        pdu.backoff = Some(2);
        assert_eq!(pdu.encode()[..2], [0x82, 0x45]);
        assert_eq!(RarPdu::decode(&pdu.encode()), Ok(pdu));
    }

    fn control() -> impl Strategy<Value = Control> {
        let level = 0..64u8;
        prop_oneof![
            any::<u16>().prop_map(Control::CRnti),
            (0..64u8).prop_map(Control::PowerHeadroom),
            (0..4u8, level.clone()).prop_map(|(group, level)| Control::Bsr(Report::Short { group, level })),
            (0..4u8, level.clone())
                .prop_map(|(group, level)| Control::Bsr(Report::Truncated { group, level })),
            [level.clone(), level.clone(), level.clone(), level].prop_map(|l| Control::Bsr(Report::Long(l))),
        ]
    }

    proptest! {
        #[test]
        fn any_pdu_goes_round(
            controls in prop::collection::vec(control(), 0..3),
            sdus in prop::collection::vec((0..=10u8, prop::collection::vec(any::<u8>(), 1..300)), 0..4),
            spare in 0..40u32,
        ) {
            let parts: Vec<_> = controls.iter().map(|c| Part::Control(*c))
                .chain(sdus.iter().map(|(lcid, sdu)| Part::Sdu { lcid: *lcid, sdu: &sdu[..] }))
                .collect();
            prop_assume!(!parts.is_empty() || spare > 0);
            let sizes: Vec<u32> = sdus.iter().map(|(_, s)| s.len() as u32).collect();
            let controls: u32 = controls.iter().map(|c| c.size() + 1).sum();
            let least = (0..).find(|b| padding(*b, controls, &sizes).is_some()).unwrap();
            prop_assert_eq!(padding(least + spare, controls, &sizes), Some(spare));
            let bytes = encode(least + spare, &parts, Channel::Uplink).unwrap();
            prop_assert_eq!(bytes.len() as u32, least + spare);
            prop_assert_eq!(decode(&bytes, Channel::Uplink).unwrap(), parts);
            prop_assert!(least == 0 || encode(least - 1, &sdus_only(&sdus), Channel::Uplink).is_none() || controls > 0);
        }

        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            for channel in [Channel::Downlink, Channel::Uplink] {
                if let Ok(parts) = decode(&bytes, channel) {
                    let total: usize = parts.iter().map(|p| match p {
                        Part::Control(c) => c.size() as usize,
                        Part::Sdu { sdu, .. } => sdu.len(),
                    }).sum();
                    prop_assert!(total <= bytes.len());
                }
            }
            if let Ok(pdu) = RarPdu::decode(&bytes) {
                let again = RarPdu::decode(&pdu.encode());
                prop_assert_eq!(again, Ok(pdu));
            }
        }
    }

    fn sdus_only(sdus: &[(u8, Vec<u8>)]) -> Vec<Part<&[u8]>> {
        sdus.iter().map(|(lcid, sdu)| Part::Sdu { lcid: *lcid, sdu: &sdu[..] }).collect()
    }
}

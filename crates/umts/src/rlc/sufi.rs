//! STATUS PDUs and their super-fields as octets (TS 25.322 clause 9.2.2.11).

use smallvec::SmallVec;

use lasthop_bearer::bits::{BitReader, BitWriter};

use super::pdu::{AmSn, CodecError, StatusPdu, Sufi, take};

const NO_MORE: u32 = 0;
const WINDOW: u32 = 1;
const ACK: u32 = 2;
const LIST: u32 = 3;
const BITMAP: u32 = 4;
const RLIST: u32 = 5;
const MRW: u32 = 6;
const MRW_ACK: u32 = 7;

impl Sufi {
    /// Size in bits, type field included.
    pub fn bits(&self) -> usize {
        match self {
            Sufi::Window(_) | Sufi::Ack(_) => 16,
            Sufi::List(pairs) => 8 + 16 * pairs.len(),
            Sufi::Bitmap { octets, .. } => 20 + 8 * octets.len(),
            Sufi::Rlist { codewords, .. } => 20 + 4 * codewords.len(),
            Sufi::Mrw { sns, .. } => 12 + 12 * sns.len(),
            Sufi::MrwAck { .. } => 20,
        }
    }

    fn encode(&self, w: &mut BitWriter) {
        match self {
            Sufi::Window(wsn) => {
                w.put(WINDOW, 4);
                w.put((*wsn).into(), 12);
            }
            Sufi::Ack(lsn) => {
                w.put(ACK, 4);
                w.put(lsn.get(), 12);
            }
            Sufi::List(pairs) => {
                w.put(LIST, 4);
                w.put(pairs.len() as u32, 4);
                for (sn, more) in pairs {
                    w.put(sn.get(), 12);
                    w.put((*more).into(), 4);
                }
            }
            Sufi::Bitmap { fsn, octets } => {
                w.put(BITMAP, 4);
                // LENGTH: the size of the bitmap in octets equals LENGTH+1.
                w.put(octets.len() as u32 - 1, 4);
                w.put(fsn.get(), 12);
                octets.iter().for_each(|o| w.put((*o).into(), 8));
            }
            Sufi::Rlist { fsn, codewords } => {
                w.put(RLIST, 4);
                w.put(codewords.len() as u32, 4);
                w.put(fsn.get(), 12);
                codewords.iter().for_each(|c| w.put((*c).into(), 4));
            }
            Sufi::Mrw { beyond_window, sns, n_length } => {
                w.put(MRW, 4);
                w.put(if *beyond_window { 0 } else { sns.len() as u32 }, 4);
                sns.iter().for_each(|sn| w.put(sn.get(), 12));
                w.put((*n_length).into(), 4);
            }
            Sufi::MrwAck { n, sn } => {
                w.put(MRW_ACK, 4);
                w.put((*n).into(), 4);
                w.put(sn.get(), 12);
            }
        }
    }

    /// Decodes the next super-field; `None` at NO_MORE.
    fn decode(r: &mut BitReader<'_>) -> Result<Option<Sufi>, CodecError> {
        let sn = |r: &mut BitReader<'_>| take(r, 12).map(AmSn::new);
        Ok(Some(match take(r, 4)? {
            NO_MORE => return Ok(None),
            WINDOW => Sufi::Window(take(r, 12)? as u16),
            ACK => Sufi::Ack(sn(r)?),
            LIST => {
                // A LENGTH of 0 is reserved: the list is invalid (clause 9.2.2.11.4).
                let pairs = take(r, 4)?;
                if pairs == 0 {
                    return Err(CodecError::BadSuperField);
                }
                let list: Result<_, _> = (0..pairs).map(|_| Ok((sn(r)?, take(r, 4)? as u8))).collect();
                Sufi::List(list?)
            }
            BITMAP => {
                let octets = take(r, 4)? + 1;
                let fsn = sn(r)?;
                let octets: Result<_, _> = (0..octets).map(|_| take(r, 8).map(|o| o as u8)).collect();
                Sufi::Bitmap { fsn, octets: octets? }
            }
            RLIST => {
                let n = take(r, 4)?;
                let fsn = sn(r)?;
                let codewords: Result<_, _> = (0..n).map(|_| take(r, 4).map(|c| c as u8)).collect();
                Sufi::Rlist { fsn, codewords: codewords? }
            }
            MRW => {
                // LENGTH 0: one SN_MRW whose SDU extends beyond the configured window (clause
                // 9.2.2.11.8).
                let length = take(r, 4)?;
                let sns: Result<SmallVec<_>, _> = (0..length.max(1)).map(|_| sn(r)).collect();
                Sufi::Mrw { beyond_window: length == 0, sns: sns?, n_length: take(r, 4)? as u8 }
            }
            MRW_ACK => Sufi::MrwAck { n: take(r, 4)? as u8, sn: sn(r)? },
            reserved => return Err(CodecError::ReservedType(reserved as u8)),
        }))
    }
}

impl StatusPdu {
    /// Size in bits: D/C and PDU type, super-fields, NO_MORE unless ACK is last (clause 9.2.2.11.2:
    /// ACK is always the last super-field, and NO_MORE is then not needed).
    pub fn bits(&self) -> usize {
        let closing = if matches!(self.sufis.last(), Some(Sufi::Ack(_))) { 0 } else { 4 };
        4 + self.sufis.iter().map(Sufi::bits).sum::<usize>() + closing
    }
}

/// Encodes a STATUS PDU, padded with zeros to at least `size` octets.
pub(super) fn encode_status(status: &StatusPdu, size: usize) -> Vec<u8> {
    let mut w = BitWriter::default();
    w.put(0, 4);
    status.sufis.iter().for_each(|s| s.encode(&mut w));
    if !matches!(status.sufis.last(), Some(Sufi::Ack(_))) {
        w.put(NO_MORE, 4);
    }
    w.padded(size)
}

pub(super) fn decode_status(octets: &[u8]) -> Result<StatusPdu, CodecError> {
    let mut r = BitReader::new(octets);
    take(&mut r, 4)?;
    let mut status = StatusPdu::default();
    while let Some(sufi) = Sufi::decode(&mut r)? {
        let last = matches!(sufi, Sufi::Ack(_));
        status.sufis.push(sufi);
        if last {
            break;
        }
    }
    Ok(status)
}

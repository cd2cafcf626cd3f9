//! Descriptors of UMTS RLC PDUs (TS 25.322 clause 9.2): the contents of the PDUs, without octets.
//! octets.

use lasthop_bearer::bits::BitReader;
use lasthop_units::Sn;
use smallvec::SmallVec;

use super::segment::{Segments, copy_of};
use lasthop_bearer::Sdu;

/// Sequence number of acknowledged mode: 12 bits.
pub type AmSn = Sn<12>;
/// Sequence number of unacknowledged mode: 7 bits.
pub type UmSn = Sn<7>;

/// One PDU of any mode, which fills a transport block.
#[derive(Clone, Debug, PartialEq)]
pub enum Pdu {
    /// Acknowledged mode data.
    Data(DataPdu),
    /// Status report or other super-fields.
    Status(Box<StatusPdu>),
    /// Request to reset the peer.
    Reset(ResetPdu),
    /// Answer to a reset.
    ResetAck(ResetPdu),
    /// Unacknowledged mode data.
    Um(UmPdu),
    /// Transparent mode: the SDU itself.
    Tm(Sdu),
}

/// AMD PDU (clause 9.2.1.4).
#[derive(Debug, PartialEq)]
pub struct DataPdu {
    /// Sequence number.
    pub sn: AmSn,
    /// Hyper frame number above the SN. Never sent: both ends keep it for ciphering (COUNT-C, TS
    /// 33.102 clause 6.6.4). [`DataPdu::NO_HFN`] when the PDU was read from octets.
    pub hfn: u32,
    /// P bit: a status report is requested.
    pub poll: bool,
    /// Data field.
    pub segments: Segments,
    /// STATUS PDU in place of padding (TS 25.322 clause 9.2.1.6).
    pub piggyback: Option<Box<StatusPdu>>,
}

impl DataPdu {
    /// The HFN of a PDU that was read from octets.
    pub const NO_HFN: u32 = u32::MAX;

    /// HFN and SN as one number.
    pub fn count(&self) -> u64 {
        u64::from(self.hfn) << 12 | u64::from(self.sn.get())
    }
}

impl Clone for DataPdu {
    /// Clones as derived code would, but copies segments as plain memory.
    #[inline]
    fn clone(&self) -> Self {
        DataPdu { segments: copy_of(&self.segments), piggyback: self.piggyback.clone(), ..*self }
    }
}

/// STATUS PDU (clause 9.2.1.5): super-fields in order, without the closing NO_MORE.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusPdu {
    /// The super-fields.
    pub sufis: SmallVec<[Sufi; 4]>,
}

/// RESET and RESET ACK PDU (clause 9.2.1.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResetPdu {
    /// Reset sequence number, 1 bit: distinguishes a repeated RESET from a new one.
    pub rsn: bool,
    /// Hyper frame number indicator, 20 bits.
    pub hfni: u32,
}

/// UMD PDU (clause 9.2.1.3).
#[derive(Clone, Debug, PartialEq)]
pub struct UmPdu {
    /// Sequence number.
    pub sn: UmSn,
    /// The first LI indicates that the first data octet is the first octet of an SDU (LI 111 1100).
    pub starts_sdu: bool,
    /// Data field.
    pub segments: Segments,
}

/// Super-field of a STATUS PDU (clause 9.2.2.11).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sufi {
    /// Window size of the receiver (clause 9.2.2.11.3).
    Window(u16),
    /// Acknowledges all SNs before LSN that this STATUS PDU does not list as missing; the last
    /// super-field.
    Ack(AmSn),
    /// Missing PDUs: first SN and how many follow it (0 to 15); at most 15 pairs.
    List(SmallVec<[(AmSn, u8); 4]>),
    /// Bit `i` indicates whether `fsn + i` was received; 1 to 16 octets, most significant bit
    /// first.
    Bitmap {
        /// SN of the first bit.
        fsn: AmSn,
        /// The bits.
        octets: SmallVec<[u8; 16]>,
    },
    /// Missing PDUs as distances in code words of 4 bits (clause 9.2.2.11.7); at most 15.
    Rlist {
        /// The first missing PDU.
        fsn: AmSn,
        /// The code words.
        codewords: SmallVec<[u8; 16]>,
    },
    /// Move the receiving window: the discarded SDUs end in these PDUs (at most 15).
    Mrw {
        /// LENGTH is 0: the only SN is at VT(A) + Configured_Tx_Window_Size or above (clause
        /// 11.6.2.2).
        beyond_window: bool,
        /// SN_MRW of each discarded SDU; the last one counts.
        sns: SmallVec<[AmSn; 2]>,
        /// Number of the LI in the last PDU that ends the last discarded SDU; 0: the SDU ends with
        /// the PDU before.
        n_length: u8,
    },
    /// The receiving window was moved.
    MrwAck {
        /// Echo of `n_length`, or 0 when the window had moved further already.
        n: u8,
        /// VR(R) after the move.
        sn: AmSn,
    },
}

/// Why octets are not a PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// Fewer octets than the PDU needs.
    #[error("the PDU is cut short")]
    Truncated,
    /// A PDU type or super-field type that release 99 to 6 reserve.
    #[error("reserved PDU or super-field type {0}")]
    ReservedType(u8),
    /// HE values 10 and 11 (10 needs the special value of HE to be configured).
    #[error("reserved header extension")]
    ReservedHeaderExtension,
    /// A length indicator that is reserved or points beyond the PDU.
    #[error("invalid length indicator {0}")]
    BadLengthIndicator(u16),
    /// A super-field whose LENGTH the clause forbids.
    #[error("invalid length of a super-field")]
    BadSuperField,
}

impl Sufi {
    /// Calls `missing` for every SN that this super-field reports as not received.
    pub fn for_each_missing(&self, mut missing: impl FnMut(AmSn)) {
        match self {
            Sufi::List(pairs) => {
                for (sn, more) in pairs {
                    (0..=u32::from(*more)).for_each(|i| missing(*sn + i));
                }
            }
            Sufi::Bitmap { fsn, octets } => {
                for (i, octet) in octets.iter().enumerate() {
                    (0..8u32)
                        .filter(|b| octet & (0x80 >> b) == 0)
                        .for_each(|b| missing(*fsn + (i as u32 * 8 + b)));
                }
            }
            Sufi::Rlist { fsn, codewords } => rlist(*fsn, codewords, missing),
            _ => {}
        }
    }
}

/// Decodes an RLIST (clause 9.2.2.11.7): three bits of a number per code word, least significant
/// first; the fourth bit ends the number. A number is the distance to the next missing PDU; the
/// code word 0001 (the number zero) announces that the next number is the length of a burst after
/// the last missing PDU.
fn rlist(fsn: AmSn, codewords: &[u8], mut missing: impl FnMut(AmSn)) {
    missing(fsn);
    let mut at = fsn;
    let (mut number, mut shift, mut burst) = (0u32, 0u32, false);
    for cw in codewords {
        number |= u32::from(cw >> 1) << shift;
        shift = (shift + 3).min(24);
        if cw & 1 == 0 {
            continue;
        }
        if burst {
            for _ in 0..number.min(4095) {
                at = at.next();
                missing(at);
            }
            burst = false;
        } else if number == 0 {
            burst = true;
        } else {
            at = at + number;
            missing(at);
        }
        (number, shift) = (0, 0);
    }
}

/// Reads the next `width` bits.
pub(super) fn take(r: &mut BitReader<'_>, width: u32) -> Result<u32, CodecError> {
    r.take(width).ok_or(CodecError::Truncated)
}

#[cfg(test)]
mod tests {
    use super::*;
    use smallvec::smallvec;

    fn missing(s: &Sufi) -> Vec<u32> {
        let mut out = Vec::new();
        s.for_each_missing(|sn| out.push(sn.get()));
        out
    }

    #[test]
    fn lists_count_the_pdus_after_the_first() {
        let list = Sufi::List(smallvec![(AmSn::new(4095), 2), (AmSn::new(9), 0)]);
        assert_eq!(missing(&list), [4095, 0, 1, 9]);
    }

    #[test]
    fn a_zero_in_a_bitmap_is_a_missing_pdu() {
        let bitmap = Sufi::Bitmap { fsn: AmSn::new(4090), octets: smallvec![0b0111_1110, 0b1111_0111] };
        assert_eq!(missing(&bitmap), [4090, 1, 6]);
    }

    /// Distance 2 = 0101 (010, end); 0001 burst, then 3 = 0111; distance 9 = 001 then 001: low bits
    /// first, 0010 0011.
    #[test]
    fn relative_lists_follow_their_code_words() {
        let rlist =
            Sufi::Rlist { fsn: AmSn::new(10), codewords: smallvec![0b0101, 0b0001, 0b0111, 0b0010, 0b0011] };
        assert_eq!(missing(&rlist), [10, 12, 13, 14, 15, 24]);
    }
}

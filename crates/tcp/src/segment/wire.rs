//! The bytes of a segment: RFC 9293 section 3.1, RFC 7323 (window scale, timestamps), RFC 2018
//! (SACK), RFC 9768 (AccECN).

use std::net::IpAddr;

use lasthop_units::{Seq, SeqRange};

use super::{AccEcn, Flags, SackBlocks, Segment, Timestamps};
use crate::hint::Guidance;

/// Why bytes are not a TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Fewer than the 20 octets of the fixed header.
    #[error("{0} octets are too few for a TCP header of 20")]
    Truncated(usize),
    /// The data offset points into the fixed header or past the end.
    #[error("data offset of {offset} octets in a segment of {len}")]
    DataOffset {
        /// Octets that the header claims to have.
        offset: usize,
        /// Octets there are.
        len: usize,
    },
    /// An option's length octet is missing, below 2 or past the header's end.
    #[error("option {kind} has a wrong length")]
    OptionLength {
        /// The option's kind.
        kind: u8,
    },
}

/// A decoded segment with the parts a [`Segment`] does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The descriptor; `len` counts the octets after the header.
    pub segment: Segment,
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Where the data begins \[octets\].
    pub header_len: usize,
}

impl Segment {
    /// The segment's real bytes: header with checksum over the pseudo header of RFC 9293 section
    /// 3.1 (IPv4) or RFC 8200 section 8.1 (IPv6), then `payload`, cut or padded with zeros to
    /// `len` octets.
    ///
    /// Addresses of two families are invalid in one packet: then the checksum is left zero.
    pub fn encode(&self, src_port: u16, dst_port: u16, src: IpAddr, dst: IpAddr, payload: &[u8]) -> Vec<u8> {
        let header = self.header_len() as usize;
        let mut out = Vec::with_capacity(header + self.len as usize);
        self.encode_header(&mut out, [src_port, dst_port], [src, dst]);
        out.extend_from_slice(&payload[..payload.len().min(self.len as usize)]);
        out.resize(header + self.len as usize, 0);
        if let Some(sum) = pseudo_header_sum(src, dst, out.len()) {
            out[16..18].fill(0);
            let checksum = !fold(sum + sum_of(&out));
            out[16..18].copy_from_slice(&checksum.to_be_bytes());
        }
        out
    }

    /// Appends the header alone, with the checksum that it has in front of `len` octets of value 0:
    /// of a payload that the simulator does not generate.
    pub fn encode_header(&self, out: &mut Vec<u8>, ports: [u16; 2], [src, dst]: [IpAddr; 2]) {
        let (start, header) = (out.len(), self.header_len() as usize);
        out.extend_from_slice(&ports[0].to_be_bytes());
        out.extend_from_slice(&ports[1].to_be_bytes());
        out.extend_from_slice(&self.seq.0.to_be_bytes());
        out.extend_from_slice(&self.ack.0.to_be_bytes());
        out.push(((header / 4) as u8) << 4 | u8::from(self.accurate));
        out.push(self.flags.0);
        out.extend_from_slice(&self.window.to_be_bytes());
        out.extend_from_slice(&[0; 4]); // checksum, urgent pointer
        self.encode_options(out, start);
        debug_assert_eq!(out.len(), start + header);
        if let Some(sum) = pseudo_header_sum(src, dst, header + self.len as usize) {
            let checksum = !fold(sum + sum_of(&out[start..]));
            out[start + 16..start + 18].copy_from_slice(&checksum.to_be_bytes());
        }
    }

    /// Options in the order and with the padding that Linux uses, as in captures of Linux. The
    /// header begins at `start`.
    fn encode_options(&self, out: &mut Vec<u8>, start: usize) {
        if let Some(mss) = self.syn.mss() {
            out.extend_from_slice(&[2, 4]);
            out.extend_from_slice(&mss.to_be_bytes());
        }
        match (self.syn.sack_permitted(), self.timestamps) {
            (permitted, Some(t)) => {
                out.extend_from_slice(if permitted { &[4, 2] } else { &[1, 1] });
                out.extend_from_slice(&[8, 10]);
                out.extend_from_slice(&t.value.to_be_bytes());
                out.extend_from_slice(&t.echo.to_be_bytes());
            }
            (true, None) => out.extend_from_slice(&[1, 1, 4, 2]),
            (false, None) => {}
        }
        if let Some(shift) = self.syn.window_scale() {
            out.extend_from_slice(&[1, 3, 3, shift]);
        }
        if let Some(guidance) = &self.rare.guidance {
            guidance.encode(out);
        }
        let n = self.sack_blocks_that_fit();
        if let Some(accecn) = &self.rare.accecn {
            accecn.encode(out);
            let sack_head = if n > 0 { 2 } else { 0 };
            let used = out.len() - start;
            out.resize(start + (used + sack_head).next_multiple_of(4) - sack_head, 1);
        } else if n > 0 {
            out.extend_from_slice(&[1, 1]);
        }
        if n > 0 {
            out.extend_from_slice(&[5, 2 + 8 * n as u8]);
            for b in self.rare.sack.iter().take(n) {
                out.extend_from_slice(&b.start.0.to_be_bytes());
                out.extend_from_slice(&b.end.0.to_be_bytes());
            }
        }
    }

    /// Reads a segment. Unknown options are skipped (RFC 9293 section 3.1: "MUST be able to receive
    /// a TCP Option in any segment" and ignore options that it does not implement). The checksum is
    /// not verified: see [`checksum_is_right`].
    pub fn decode(bytes: &[u8]) -> Result<Decoded, DecodeError> {
        let fixed: &[u8; 20] = bytes.first_chunk().ok_or(DecodeError::Truncated(bytes.len()))?;
        let header_len = usize::from(fixed[12] >> 4) * 4;
        if header_len < 20 || header_len > bytes.len() {
            return Err(DecodeError::DataOffset { offset: header_len, len: bytes.len() });
        }
        let mut segment = Segment {
            seq: Seq(be32(&fixed[4..8])),
            ack: Seq(be32(&fixed[8..12])),
            flags: Flags(fixed[13]),
            accurate: fixed[12] & 1 != 0,
            window: be16(&fixed[14..16]),
            len: u32::try_from(bytes.len() - header_len).unwrap_or(u32::MAX),
            ..Segment::default()
        };
        decode_options(&bytes[20..header_len], &mut segment)?;
        Ok(Decoded { segment, src_port: be16(&fixed[0..2]), dst_port: be16(&fixed[2..4]), header_len })
    }
}

fn decode_options(mut rest: &[u8], segment: &mut Segment) -> Result<(), DecodeError> {
    while let Some((&kind, after)) = rest.split_first() {
        match kind {
            0 => break,
            1 => {
                rest = after;
                continue;
            }
            _ => {}
        }
        let len = usize::from(*after.first().ok_or(DecodeError::OptionLength { kind })?);
        if len < 2 || len > rest.len() {
            return Err(DecodeError::OptionLength { kind });
        }
        let body = &rest[2..len];
        match (kind, body.len()) {
            (2, 2) => segment.syn.set_mss(be16(body)),
            (3, 1) => segment.syn.set_window_scale(body[0]),
            (4, 0) => segment.syn.permit_sack(),
            (5, n) if n % 8 == 0 => segment.rare.change(|o| o.sack = decode_sack(body)),
            (8, 8) => {
                segment.timestamps = Some(Timestamps { value: be32(&body[..4]), echo: be32(&body[4..]) })
            }
            (AccEcn::KIND_ORDER0 | AccEcn::KIND_ORDER1, _) => {
                segment.rare.change(|o| o.accecn = Some(AccEcn::decode(kind, body)));
            }
            (Guidance::KIND, _) => {
                segment.rare.change(|o| o.guidance = Guidance::decode(body).or(o.guidance));
            }
            // A known option with a wrong length is a malformed one; an unknown option is skipped.
            (2 | 3 | 4 | 5 | 8, _) => return Err(DecodeError::OptionLength { kind }),
            _ => {}
        }
        rest = &rest[len..];
    }
    Ok(())
}

fn decode_sack(body: &[u8]) -> SackBlocks {
    let mut sack = SackBlocks::NONE;
    for b in body.chunks_exact(8) {
        sack.push(SeqRange { start: Seq(be32(&b[..4])), end: Seq(be32(&b[4..])) });
    }
    sack
}

/// True when the checksum of `bytes`, a whole segment between these addresses, is right.
pub fn checksum_is_right(bytes: &[u8], src: IpAddr, dst: IpAddr) -> bool {
    pseudo_header_sum(src, dst, bytes.len()).is_some_and(|sum| fold(sum + sum_of(bytes)) == 0xffff)
}

fn pseudo_header_sum(src: IpAddr, dst: IpAddr, len: usize) -> Option<u64> {
    let addresses = match (src, dst) {
        (IpAddr::V4(a), IpAddr::V4(b)) => sum_of(&a.octets()) + sum_of(&b.octets()),
        (IpAddr::V6(a), IpAddr::V6(b)) => sum_of(&a.octets()) + sum_of(&b.octets()),
        _ => return None,
    };
    const PROTOCOL: u64 = 6;
    Some(addresses + PROTOCOL + (len as u64 >> 16) + (len as u64 & 0xffff))
}

fn sum_of(bytes: &[u8]) -> u64 {
    let words = bytes.chunks_exact(2);
    let odd = words.remainder().first().map_or(0, |&b| u64::from(b) << 8);
    words.map(|w| u64::from(be16(w))).sum::<u64>() + odd
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

fn be16(b: &[u8]) -> u16 {
    u16::from_be_bytes([b[0], b[1]])
}
fn be32(b: &[u8]) -> u32 {
    u32::from_be_bytes([b[0], b[1], b[2], b[3]])
}

#[cfg(test)]
mod tests {
    use super::super::{Rare, RareOptions};
    use super::*;
    use crate::segment::SynOptions;
    use lasthop_units::Bitrate;
    use proptest::prelude::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    const A: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
    const B: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));

    fn any_segment() -> impl Strategy<Value = Segment> {
        let block = (any::<u32>(), any::<u32>()).prop_map(|(a, b)| SeqRange { start: Seq(a), end: Seq(b) });
        (
            (any::<u32>(), any::<u32>(), any::<u8>(), any::<u16>(), 0u32..2000),
            (any::<Option<u16>>(), any::<Option<u8>>(), any::<bool>(), any::<bool>()),
            proptest::option::of((any::<u32>(), any::<u32>())),
            proptest::collection::vec(block, 0..5),
            proptest::option::of((any::<u32>(), any::<u32>())),
            proptest::option::of((any::<bool>(), proptest::collection::vec(0u32..1 << 24, 0..4))),
        )
            .prop_map(
                |(
                    (seq, ack, flags, window, len),
                    (mss, window_scale, sack_permitted, accurate),
                    ts,
                    blocks,
                    hint,
                    accecn,
                )| {
                    let mut s = Segment {
                        seq: Seq(seq),
                        ack: Seq(ack),
                        flags: Flags(flags),
                        window,
                        len,
                        syn: SynOptions::new(mss, window_scale, sack_permitted),
                        timestamps: ts.map(|(value, echo)| Timestamps { value, echo }),
                        rare: Rare::from(RareOptions {
                            sack: SackBlocks::NONE,
                            guidance: hint.map(|(rate, queue)| {
                                Guidance::new(Some(Bitrate(rate.into())), Some(queue.into()), None)
                            }),
                            accecn: accecn.map(|(order1, counters)| AccEcn::of(order1, &counters)),
                        }),
                        accurate,
                        ecn: lasthop_units::Ecn::NotEct,
                    };
                    if !s.rare.accecn.is_none_or(|a| s.accecn_fits(a.fields(), 0, 40)) {
                        s.rare.change(|o| o.accecn = None);
                    }
                    for b in blocks {
                        s.rare.change(|o| _ = o.sack.push(b));
                    }
                    let n = s.sack_blocks_that_fit();
                    s.rare.change(|o| o.sack.truncate(n));
                    s
                },
            )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        #[test]
        fn what_is_encoded_is_decoded(s in any_segment(), sp: u16, dp: u16, v6: bool) {
            let (a, b) = if v6 { (Ipv6Addr::LOCALHOST.into(), Ipv6Addr::UNSPECIFIED.into()) } else { (A, B) };
            let bytes = s.encode(sp, dp, a, b, &[7; 100]);
            prop_assert_eq!(bytes.len() as u32, s.wire_len());
            prop_assert!(checksum_is_right(&bytes, a, b));
            let d = Segment::decode(&bytes).unwrap();
            prop_assert_eq!(d.header_len as u32, s.header_len());
            prop_assert_eq!((d.segment, d.src_port, d.dst_port), (s, sp, dp));
        }

        /// Zeros add nothing to the sum.
        #[test]
        fn a_header_alone_is_that_in_front_of_zeros(s in any_segment(), sp: u16, dp: u16) {
            let mut head = vec![9; 3];
            s.encode_header(&mut head, [sp, dp], [A, B]);
            let whole = s.encode(sp, dp, A, B, &[]);
            prop_assert_eq!(&head[3..], &whole[..s.header_len() as usize]);
        }

        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
            let _ = Segment::decode(&bytes);
        }

        #[test]
        fn a_damaged_segment_is_survived(s in any_segment(), at in 0usize..64, x: u8, cut in 0usize..80) {
            let mut bytes = s.encode(1, 2, A, B, &[]);
            let i = at % bytes.len();
            bytes[i] ^= x;
            bytes.truncate(bytes.len().saturating_sub(cut));
            let _ = Segment::decode(&bytes);
        }
    }

    #[test]
    fn the_checksum_is_the_one_computed_by_hand() {
        // SYN 1 -> 2, seq 0, window 0, 10.0.0.1 -> 10.0.0.2: words 0001 + 0002 + 5002 (offset 5,
        // SYN) = 5005; pseudo header 0a00 + 0001 + 0a00 + 0002 + 0006 + 0014 = 141d; sum 6422;
        // complement 9bdd.
        let s = Segment { flags: Flags::SYN, ..Segment::default() };
        assert_eq!(s.encode(1, 2, A, B, &[])[16..18], [0x9b, 0xdd]);
    }

    #[test]
    fn malformed_headers_are_named() {
        assert_eq!(Segment::decode(&[0; 19]), Err(DecodeError::Truncated(19)));
        let mut short = [0u8; 24];
        short[12] = 0x40;
        assert_eq!(Segment::decode(&short), Err(DecodeError::DataOffset { offset: 16, len: 24 }));
        short[12] = 0x60;
        short[20] = 8;
        assert_eq!(Segment::decode(&short), Err(DecodeError::OptionLength { kind: 8 }));
    }
}

//! Prefixes of the PDUs of radio protocols in a capture: the tags of Wireshark's exported PDUs and
//! the context that its dissectors of RLC and MAC read.
//!
//! The context is that of the "UDP framing" of `packet-rlc.h`, `packet-rlc-lte.h`,
//! `packet-pdcp-lte.h` and `packet-mac-lte.h` of Wireshark 4.0. The dissector of MAC is selected by
//! its name; those of RLC and PDCP are heuristic ones, which Wireshark uses when they are enabled
//! (`lasthop wireshark-profile`).

/// Tags of LINKTYPE_WIRESHARK_UPPER_PDU.
const DISSECTOR: u16 = 12;
const HEURISTIC: u16 = 13;

fn tagged(tag: u16, name: &str) -> Vec<u8> {
    let padded = name.len().next_multiple_of(4);
    let mut out = Vec::with_capacity(64);
    out.extend_from_slice(&tag.to_be_bytes());
    out.extend_from_slice(&(padded as u16).to_be_bytes());
    out.extend_from_slice(name.as_bytes());
    out.resize(4 + padded, 0);
    // The end of the tags.
    out.extend_from_slice(&[0; 4]);
    out
}

/// RLC's mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Transparent,
    Unacknowledged,
    Acknowledged,
}

impl Mode {
    /// RLC in this mode, in the table `pdus`.
    pub const fn rlc_name(self) -> &'static str {
        match self {
            Mode::Transparent => "rlc-tm",
            Mode::Unacknowledged => "rlc-um",
            Mode::Acknowledged => "rlc-am",
        }
    }
}

/// Prefix of a PDU of UMTS RLC.
pub struct UmtsRlc {
    pub mode: Mode,
    pub downlink: bool,
    /// Number of the UE: U-RNTI.
    pub ue: u32,
    /// Length indicators have 15 bits, else 7.
    pub long_indicators: bool,
    /// SDUs are IP packets without a header of PDCP.
    pub ip: bool,
}

impl UmtsRlc {
    pub fn prefix(&self) -> Vec<u8> {
        let mut out = tagged(HEURISTIC, "rlc_udp");
        out.extend_from_slice(b"umts-rlc");
        if self.ip {
            // PS_DTCH.
            out.extend_from_slice(&[2, 4]);
        }
        let mode = match self.mode {
            Mode::Transparent => 0,
            Mode::Unacknowledged => 1,
            Mode::Acknowledged => 2,
        };
        out.extend_from_slice(&[3, mode, 4, u8::from(self.downlink), 5]);
        out.extend_from_slice(&self.ue.to_be_bytes());
        // The first radio bearer of user data (TS 34.108 clause 6.10).
        out.extend_from_slice(&[6, 5, 7, if self.long_indicators { 2 } else { 1 }, 1]);
        out
    }
}

/// Prefix of a PDU of LTE RLC.
pub struct LteRlc {
    pub mode: Mode,
    pub downlink: bool,
    pub ue: u16,
    /// Number of the data radio bearer.
    pub bearer: u16,
    /// Sequence numbers \[bit\].
    pub sn_bits: u8,
    /// Length indicators have 15 bits (AM).
    pub long_indicators: bool,
}

impl LteRlc {
    pub fn prefix(&self) -> Vec<u8> {
        let mut out = tagged(HEURISTIC, "rlc_lte_udp");
        out.extend_from_slice(b"rlc-lte");
        let mode = match self.mode {
            Mode::Transparent => 1,
            Mode::Unacknowledged => 2,
            Mode::Acknowledged => 4,
        };
        out.extend_from_slice(&[mode, 2, self.sn_bits, 3, u8::from(self.downlink), 5]);
        out.extend_from_slice(&self.ue.to_be_bytes());
        // A data radio bearer.
        out.extend_from_slice(&[6, 0, 5, 7]);
        out.extend_from_slice(&self.bearer.to_be_bytes());
        if self.long_indicators {
            out.push(8);
        }
        out.push(1);
        out
    }
}

/// Prefix of a PDU of LTE PDCP.
pub struct LtePdcp {
    pub downlink: bool,
    pub ue: u16,
    /// Number of the data radio bearer.
    pub bearer: u16,
    /// Sequence numbers \[bit\].
    pub sn_bits: u8,
}

impl LtePdcp {
    pub fn prefix(&self) -> Vec<u8> {
        let mut out = tagged(HEURISTIC, "pdcp_lte_udp");
        out.extend_from_slice(b"pdcp-lte");
        // The PDU has a header, is of the user plane, and headers are not compressed.
        out.extend_from_slice(&[0, 2, 0, 2, self.sn_bits, 3, u8::from(self.downlink), 13]);
        out.extend_from_slice(&self.bearer.to_be_bytes());
        out.push(14);
        out.extend_from_slice(&self.ue.to_be_bytes());
        out.push(1);
        out
    }
}

/// Prefix of a frame of 802.11: radiotap (radiotap.org, fields of version 0).
pub struct Radiotap {
    /// Start of the PPDU \[us\].
    pub start_us: u64,
    /// True if the recipient could not decode it.
    pub bad: bool,
    pub frequency_mhz: u16,
    pub rate: Rate,
    /// In an A-MPDU: its number, and whether this frame is the last one in it.
    pub ampdu: Option<(u32, bool)>,
}

/// The rate of a PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// Of DSSS and CCK \[500 kbit/s\].
    Dsss(u8),
    /// Of OFDM \[500 kbit/s\].
    Ofdm(u8),
    /// Of HT: MCS, 40 MHz, short guard interval.
    Ht(u8, bool, bool),
    /// Of VHT: MCS, streams, bandwidth (0, 1, 4 or 11), short guard interval.
    Vht(u8, u8, u8, bool),
}

impl Radiotap {
    pub fn prefix(&self) -> Vec<u8> {
        let mut present: u32 = 0b1011;
        // Version, padding, length and the fields present, of which the last two are set below.
        let mut out = vec![0; 8];
        out.extend_from_slice(&self.start_us.to_le_bytes());
        // Flags: a bad frame check sequence.
        out.push(if self.bad { 0x40 } else { 0 });
        if let Rate::Dsss(rate) | Rate::Ofdm(rate) = self.rate {
            present |= 1 << 2;
            out.push(rate);
        }
        out.resize(out.len().next_multiple_of(2), 0);
        out.extend_from_slice(&self.frequency_mhz.to_le_bytes());
        let band = if self.frequency_mhz < 3000 { 0x0080 } else { 0x0100 };
        let kind = if matches!(self.rate, Rate::Dsss(_)) { 0x0020 } else { 0x0040 };
        out.extend_from_slice(&u16::to_le_bytes(band | kind));
        if let Rate::Ht(mcs, wide, short) = self.rate {
            present |= 1 << 19;
            // Known: bandwidth, MCS, guard interval.
            out.extend_from_slice(&[7, u8::from(wide) | u8::from(short) << 2, mcs]);
        }
        if let Some((number, last)) = self.ampdu {
            present |= 1 << 20;
            out.resize(out.len().next_multiple_of(4), 0);
            out.extend_from_slice(&number.to_le_bytes());
            // The last frame is known; this is it.
            out.extend_from_slice(&(4 | u16::from(last) << 3).to_le_bytes());
            out.extend_from_slice(&[0, 0]);
        }
        if let Rate::Vht(mcs, streams, bandwidth, short) = self.rate {
            present |= 1 << 21;
            out.resize(out.len().next_multiple_of(2), 0);
            // Known: guard interval, bandwidth.
            out.extend_from_slice(&0x0044_u16.to_le_bytes());
            out.extend_from_slice(&[u8::from(short) << 2, bandwidth, mcs << 4 | streams, 0, 0, 0]);
            // Binary convolutional coding, no group, no partial address.
            out.extend_from_slice(&[0, 0, 0, 0]);
        }
        let length = out.len() as u16;
        out[2..4].copy_from_slice(&length.to_le_bytes());
        out[4..8].copy_from_slice(&present.to_le_bytes());
        out
    }
}

/// The addressee of a MAC PDU of LTE, by the kind of RNTI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rnti {
    /// None: an event without PDU.
    None,
    /// The UEs that sent a preamble.
    Ra(u16),
    /// A UE.
    C(u16),
    /// UEs on the sidelink; the number is that of the sender.
    Sl(u16),
}

/// An event without PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MacEvent {
    /// A preamble, and the number of preambles that the UE has sent.
    Preamble { preamble: u8, attempt: u8 },
    /// A scheduling request.
    Request { ue: u16, rnti: u16 },
}

/// Prefix of a MAC PDU of LTE.
pub struct LteMac {
    pub downlink: bool,
    pub rnti: Rnti,
    pub ue: Option<u16>,
    /// The TTI, counted from the start of the run: one millisecond each.
    pub tti: u64,
    /// Number of earlier transmissions of the block.
    pub again: u8,
    /// True if the CRC was right; None: not known.
    pub decoded: Option<bool>,
    /// An event instead of a PDU.
    pub event: Option<MacEvent>,
}

impl LteMac {
    pub fn prefix(&self) -> Vec<u8> {
        let mut out = tagged(DISSECTOR, "mac-lte-framed");
        let (kind, rnti) = match self.rnti {
            Rnti::None => (0, None),
            Rnti::Ra(rnti) => (2, Some(rnti)),
            Rnti::C(rnti) => (3, Some(rnti)),
            Rnti::Sl(rnti) => (8, Some(rnti)),
        };
        // FDD, the direction, the kind of RNTI.
        out.extend_from_slice(&[1, u8::from(self.downlink), kind]);
        let mut number = |tag: u8, value: u16| {
            out.push(tag);
            out.extend_from_slice(&value.to_be_bytes());
        };
        if let Some(rnti) = rnti {
            number(2, rnti);
        }
        if let Some(ue) = self.ue {
            number(3, ue);
        }
        let (frame, subframe) = (self.tti / 10 % 1024, self.tti % 10);
        number(4, (frame << 4 | subframe) as u16);
        match self.event {
            Some(MacEvent::Preamble { preamble, attempt }) => out.extend_from_slice(&[9, preamble, attempt]),
            Some(MacEvent::Request { ue, rnti }) => {
                // One request.
                number(0x11, 1);
                out.extend([ue, rnti].into_iter().flat_map(u16::to_be_bytes));
            }
            None => out.extend_from_slice(&[6, self.again]),
        }
        if let Some(decoded) = self.decoded {
            out.extend_from_slice(&[7, u8::from(decoded)]);
        }
        out.push(1);
        out
    }
}

//! MAC PDUs of SL-SCH (TS 36.321 v15.1.0 clause 6.1.6).

use lasthop_units::Octets;

use super::pdu::{self, Channel};

/// Version, source and destination [B].
const HEADER: u32 = 6;

/// Destination of a PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// A group, by the 16 bits of its ProSe Layer-2 Group ID that the PDU carries.
    Group(u16),
    /// A UE, by the 16 bits of its ProSe UE ID that the PDU carries.
    Ue(u16),
}

/// The octets of a PDU of `block` octets from `source`, a ProSe UE ID of 24 bits, whose SDUs have
/// places for packets, each with its LCID. True if the block was enlarged because it was too small
/// (where a profile counts no headers).
// 6.1.6 [unverified]: The V field set to '0001' indicates that DST is the ProSe Layer-2 Group ID,
// '0010' that it is the ProSe UE ID; the subheaders that follow are those of 6.1.2.
pub fn octets(block: u32, source: u32, destination: Destination, sdus: &[(u8, Octets)]) -> (Octets, bool) {
    let (version, destination) = match destination {
        Destination::Group(id) => (1_u8, id),
        Destination::Ue(id) => (2, id),
    };
    let [_, a, b, c] = source.to_be_bytes();
    let [d, e] = destination.to_be_bytes();
    // The logical channels are numbered as those of UL-SCH, and there are no control elements.
    let rest = block.saturating_sub(HEADER).max(1);
    let (mut octets, grown) = pdu::octets(rest, &[], sdus, Channel::Uplink);
    octets.bytes.splice(0..0, [version << 4, a, b, c, d, e]);
    octets.holes.iter_mut().for_each(|hole| hole.at += HEADER);
    (octets, grown)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// V 0010, R 0000, SRC 0x000003, DST 0x0004; R R E 0 LCID 00011 with the SDU to the end.
    #[test]
    fn a_pdu_has_the_octets_of_the_clause() {
        let sdu = (3, Octets { bytes: vec![0xaa, 0xbb], holes: Vec::new() });
        let (octets, grown) = octets(9, 3, Destination::Ue(4), &[sdu]);
        assert_eq!((octets.bytes, grown), (vec![0x20, 0, 0, 3, 0, 4, 0x03, 0xaa, 0xbb], false));
    }
}

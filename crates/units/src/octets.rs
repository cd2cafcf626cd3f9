//! Octets of a PDU without those of packets, whose ranges are left open.

use crate::PacketId;

/// The octets of a PDU. Those of packets are zeros, and `holes` identifies the packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Octets {
    /// All octets.
    pub bytes: Vec<u8>,
    /// The ranges of packets.
    pub holes: Vec<Hole>,
}

/// A range for octets of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hole {
    /// First octet of the range in the PDU.
    pub at: u32,
    /// Number of octets.
    pub len: u32,
    /// The packet.
    pub packet: PacketId,
    /// Distinguishes the packet from others that have used its slot in the slab, among the packets
    /// of one entity.
    pub serial: u64,
    /// That entity. Code that combines several entities numbers them.
    pub entity: u64,
    /// First octet of the range in the packet.
    pub offset: u32,
}

impl Octets {
    /// The same octets with the number of their entity.
    pub fn of_entity(mut self, entity: u64) -> Octets {
        self.holes.iter_mut().for_each(|hole| hole.entity = entity);
        self
    }

    /// Appends `len` octets from `offset` on of an SDU: `header`, then the packet.
    pub fn append_sdu(&mut self, header: &[u8], (packet, serial): (PacketId, u64), offset: u32, len: u32) {
        let at = self.bytes.len();
        self.bytes.resize(at + len as usize, 0);
        self.fill_sdu(at, header, (packet, serial), offset, len);
    }

    /// As [`append_sdu`](Self::append_sdu), where the octets from `at` on exist already.
    pub fn fill_sdu(
        &mut self,
        at: usize,
        header: &[u8],
        (packet, serial): (PacketId, u64),
        offset: u32,
        len: u32,
    ) {
        let rest = header.get(offset as usize..).unwrap_or_default();
        let own = rest.len().min(len as usize);
        self.bytes[at..at + own].copy_from_slice(&rest[..own]);
        let (at, len) = (at + own, len - own as u32);
        if len > 0 {
            let offset = (offset + own as u32) - header.len() as u32;
            self.holes.push(Hole { at: at as u32, len, packet, serial, entity: 0, offset });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Id;

    #[test]
    fn a_header_goes_before_the_packet() {
        let (id, mut octets) = (PacketId::from_index(3), Octets::default());
        octets.bytes.push(9);
        octets.append_sdu(&[1, 2, 3], (id, 7), 0, 2);
        octets.append_sdu(&[1, 2, 3], (id, 7), 2, 5);
        octets.append_sdu(&[1, 2, 3], (id, 7), 7, 1);
        assert_eq!(octets.bytes, [9, 1, 2, 3, 0, 0, 0, 0, 0]);
        let hole = |at, len, offset| Hole { at, len, packet: id, serial: 7, entity: 0, offset };
        assert_eq!(octets.holes, [hole(4, 4, 0), hole(8, 1, 4)]);
    }
}

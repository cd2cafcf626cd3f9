//! The account of one direction: the packets that are inside.

use std::collections::VecDeque;

use lasthop_units::PacketId;

use lasthop_bearer::Sdu;

/// Packets inside, by serial number. Each enters once and leaves once.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenSdus {
    /// Serial number of the front.
    first: u64,
    inside: VecDeque<Option<(PacketId, u32)>>,
    len: usize,
}

impl OpenSdus {
    /// Adds a packet; returns its serial number.
    pub fn enter(&mut self, id: PacketId, size: u32) -> u64 {
        self.inside.push_back(Some((id, size)));
        self.len += 1;
        self.first + self.inside.len() as u64 - 1
    }

    /// Removes a packet; `None` if it had left already.
    pub fn leave(&mut self, serial: u64) -> Option<Sdu> {
        let at = serial.checked_sub(self.first)?;
        let (id, size) = self.inside.get_mut(at as usize)?.take()?;
        self.len -= 1;
        while let Some(None) = self.inside.front() {
            self.inside.pop_front();
            self.first += 1;
        }
        Some(Sdu { serial, ..Sdu::new(id, size) })
    }

    /// Number of packets inside.
    pub fn len(&self) -> usize {
        self.len
    }
}

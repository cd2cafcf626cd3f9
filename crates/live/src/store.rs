//! The octets of packets that are inside the simulation, by handle.

/// A packet that is inside.
#[derive(Clone, Debug, Default)]
pub struct Stored {
    /// Its octets.
    pub octets: Vec<u8>,
    /// Its hop limit ends at the router that it is sent to.
    pub expires: bool,
}

/// Packets by handle. Memory of packets that have left is used again.
#[derive(Debug, Default)]
pub struct Store {
    packets: Vec<Stored>,
    free: Vec<u32>,
}

impl Store {
    /// Keeps a copy of `octets` under a handle that is not in use.
    pub fn keep(&mut self, octets: &[u8], expires: bool) -> u32 {
        let handle = self.free.pop().unwrap_or_else(|| {
            self.packets.push(Stored::default());
            self.packets.len() as u32 - 1
        });
        let kept = &mut self.packets[handle as usize];
        kept.octets.clear();
        kept.octets.extend_from_slice(octets);
        kept.expires = expires;
        handle
    }
    /// The packet of a handle in use.
    pub fn get_mut(&mut self, handle: u32) -> &mut Stored {
        &mut self.packets[handle as usize]
    }
    /// The handle is free.
    pub fn release(&mut self, handle: u32) {
        self.free.push(handle);
    }
    /// Handles in use.
    pub fn used(&self) -> usize {
        self.packets.len() - self.free.len()
    }
}

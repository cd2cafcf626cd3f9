//! Large-scale gains between UEs that transmit to each other or interfere with each other, as far
//! as they were needed.

use lasthop_units::{Id, UeId};

/// The gain between two UEs, and the TTI until which it is valid; 0: not computed.
#[derive(Clone, Copy, Debug, Default)]
pub struct DirectGain {
    pub gain: f32,
    pub until: u64,
}

/// A triangle of gains over the UEs of sidelinks, numbered in the order of their first use: each
/// transmitter is looked up with each receiver of a TTI, for which a tree of pairs takes ten times
/// as long.
#[derive(Debug)]
pub struct DirectGains {
    /// The number of each UE; `NONE`: not used yet.
    numbers: Box<[u32]>,
    /// By number, then by a number that is not larger.
    rows: Vec<Box<[DirectGain]>>,
}

const NONE: u32 = u32::MAX;

impl DirectGains {
    /// For a network with so many UEs.
    pub fn new(ues: usize) -> DirectGains {
        DirectGains { numbers: vec![NONE; ues].into(), rows: Vec::new() }
    }

    /// The gain between two UEs, in any order.
    #[inline]
    pub fn of(&mut self, a: UeId, b: UeId) -> &mut DirectGain {
        let (a, b) = (self.number(a), self.number(b));
        &mut self.rows[a.max(b)][a.min(b)]
    }

    #[inline]
    fn number(&mut self, ue: UeId) -> usize {
        match self.numbers[ue.index()] {
            NONE => self.add(ue),
            number => number as usize,
        }
    }

    #[cold]
    fn add(&mut self, ue: UeId) -> usize {
        let number = self.rows.len();
        self.rows.push(vec![DirectGain::default(); number + 1].into());
        self.numbers[ue.index()] = number as u32;
        number
    }
}

//! When the eNB activates a semi-persistent grant again.

/// Blocks in a row that lead to a new activation. One failed block is within the target error rate
/// of link adaptation.
const MOST: u8 = 2;

/// Consecutive transport blocks of a UE that failed in all their transmissions.
///
/// A semi-persistent grant keeps its MCS and its resource blocks. On a channel that has become
/// worse every block of the grant fails until a new activation names others (TS 36.213 clause 9.2
/// has the PDCCH that activates). When to send it is left to the eNB.
#[derive(Clone, Copy, Debug)]
pub struct Renewal(u8);

impl Renewal {
    /// No block has failed.
    pub const NONE: Renewal = Renewal(0);

    /// Counts a block that was decoded, or that failed in all its transmissions.
    pub const fn on_block(&mut self, decoded: bool) {
        self.0 = if decoded { 0 } else { self.0.saturating_add(1) };
    }

    /// True if the grant is to be activated again.
    pub const fn is_due(self) -> bool {
        self.0 >= MOST
    }
}

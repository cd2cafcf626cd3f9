//! The options that only a SYN carries.

use std::fmt;

/// Maximum segment size (RFC 9293 section 3.7.1), window scale (RFC 7323 section 2) and
/// SACK-permitted (RFC 2018 section 2), in three octets: every packet of a run holds them.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct SynOptions {
    mss: [u8; 2],
    /// The shift in the low four bits, then a bit for each option that is there.
    present: u8,
}

impl SynOptions {
    /// No option.
    pub const NONE: SynOptions = SynOptions { mss: [0; 2], present: 0 };

    const SHIFT: u8 = 0x0f;
    const HAS_SCALE: u8 = 0x10;
    const HAS_MSS: u8 = 0x20;
    const SACK_PERMITTED: u8 = 0x40;

    /// These options. A window scale above 14 is taken for 14 (RFC 7323 section 2.3).
    pub const fn new(mss: Option<u16>, window_scale: Option<u8>, sack_permitted: bool) -> SynOptions {
        let mut options = SynOptions::NONE;
        if let Some(mss) = mss {
            options.set_mss(mss);
        }
        if let Some(shift) = window_scale {
            options.set_window_scale(shift);
        }
        if sack_permitted {
            options.permit_sack();
        }
        options
    }

    pub(super) const fn set_mss(&mut self, mss: u16) {
        self.mss = mss.to_ne_bytes();
        self.present |= Self::HAS_MSS;
    }
    pub(super) const fn set_window_scale(&mut self, shift: u8) {
        let shift = if shift > 14 { 14 } else { shift };
        self.present = self.present & !Self::SHIFT | Self::HAS_SCALE | shift;
    }
    pub(super) const fn permit_sack(&mut self) {
        self.present |= Self::SACK_PERMITTED;
    }

    /// True without options.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.present == 0
    }
    /// The maximum segment size that the sender takes \[octets\].
    pub const fn mss(self) -> Option<u16> {
        if self.present & Self::HAS_MSS != 0 { Some(u16::from_ne_bytes(self.mss)) } else { None }
    }
    /// The shift of the window field, 0 to 14.
    pub const fn window_scale(self) -> Option<u8> {
        if self.present & Self::HAS_SCALE != 0 { Some(self.present & Self::SHIFT) } else { None }
    }
    /// SACK-permitted.
    pub const fn sack_permitted(self) -> bool {
        self.present & Self::SACK_PERMITTED != 0
    }
}

impl fmt::Debug for SynOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SynOptions")
            .field("mss", &self.mss())
            .field("window_scale", &self.window_scale())
            .field("sack_permitted", &self.sack_permitted())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_option_differs_from_its_absence() {
        for mss in [None, Some(0), Some(1460), Some(u16::MAX)] {
            for shift in [None, Some(0), Some(7), Some(14)] {
                for sack in [false, true] {
                    let o = SynOptions::new(mss, shift, sack);
                    assert_eq!((o.mss(), o.window_scale(), o.sack_permitted()), (mss, shift, sack));
                    assert_eq!(o.is_empty(), mss.is_none() && shift.is_none() && !sack);
                }
            }
        }
    }

    /// RFC 7323 section 2.3: a shift above 14 is to be read as 14.
    #[test]
    fn a_shift_above_14_is_14() {
        assert_eq!(SynOptions::new(None, Some(255), false).window_scale(), Some(14));
    }
}

//! Channels, and their overlap.
//!
//! 5 GHz: channels of 20 MHz are 36 to 64, 100 to 144 and 149 to 177 in steps of four; wider ones
//! are made of neighbours (IEEE Std 802.11-2016 table E-4: centres 38, 46 ... of 40 MHz, 42, 58,
//! 106, 122, 138 and 155 of 80 MHz, 50 and 114 of 160 MHz). A channel is identified by one of its
//! channels of 20 MHz, the primary one.

use super::config::ApConfig;
use crate::phy::{Format, Width};

/// A band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Band {
    /// 2.4 GHz.
    Two,
    /// 5 GHz.
    Five,
}

impl Band {
    /// The band of a channel number.
    pub fn of(channel: u16) -> Option<Band> {
        match channel {
            1..=14 => Some(Band::Two),
            36..=177 => Some(Band::Five),
            _ => None,
        }
    }
}

/// First and last channel of 20 MHz of each contiguous range of 5 GHz, and the last that is part of
/// wider ones of 40, 80 and 160 MHz.
const STRETCHES: [(u16, u16, [u16; 3]); 3] =
    [(36, 64, [64, 64, 64]), (100, 144, [144, 144, 128]), (149, 177, [161, 161, 148])];

/// First and last channel of 20 MHz of the channel of a width that holds `channel`; of 2.4 GHz
/// `channel` itself. None: there is no such channel.
pub fn block(channel: u16, width: Width) -> Option<(u16, u16)> {
    match Band::of(channel)? {
        Band::Two => (width <= Width::W40).then_some((channel, channel)),
        Band::Five => {
            let (first, last, wide) = STRETCHES.into_iter().find(|(a, b, _)| (*a..=*b).contains(&channel))?;
            let last = if width == Width::W20 { last } else { wide[width as usize - 1] };
            let numbers = 4 * (width.mhz() as u16 / 20);
            let start = first + (channel - first) / numbers * numbers;
            let exists = (channel - first).is_multiple_of(4) && start + numbers - 4 <= last;
            exists.then_some((start, start + numbers - 4))
        }
    }
}

/// The numbers by which a channel of this width in 5 GHz can be identified, as text.
pub fn numbers(width: Width) -> String {
    let all: Vec<u16> = (36..=177).filter(|n| block(*n, width).is_some()).collect();
    let mut text = String::new();
    let mut run: Option<(u16, u16)> = None;
    for n in all.into_iter().map(Some).chain([None]) {
        run = match (run, n) {
            (Some((a, b)), Some(n)) if n == b + 4 => Some((a, n)),
            (ended, n) => {
                if let Some((a, b)) = ended {
                    text += if text.is_empty() { "" } else { "; " };
                    text += &format!("{a}, {} ... {b}", a + 4);
                }
                n.map(|n| (n, n))
            }
        };
    }
    text
}

impl ApConfig {
    /// Lowest and highest frequency of its channel [MHz]; None if there is no such channel. A
    /// channel of 40 MHz in 2.4 GHz extends upwards from channels 1 to 7, downwards from others.
    fn spectrum(&self) -> Option<(f64, f64)> {
        let (first, last) = block(self.channel, self.width)?;
        let centre = self.frequency().0 / 1e6;
        Some(match (Band::of(self.channel)?, self.width) {
            (Band::Five, _) => (4990.0 + 5.0 * f64::from(first), 5010.0 + 5.0 * f64::from(last)),
            (Band::Two, Width::W40) if self.channel <= 7 => (centre - 10.0, centre + 30.0),
            (Band::Two, Width::W40) => (centre - 30.0, centre + 10.0),
            _ => {
                let half = if self.standard.format() == Format::Dsss { 11.0 } else { 10.0 };
                (centre - half, centre + half)
            }
        })
    }

    /// True if the channels of two networks have different numbers but common spectrum: in this
    /// model they do not receive each other.
    pub fn overlaps_unnoticed(&self, other: &ApConfig) -> bool {
        let (Some(a), Some(b)) = (self.spectrum(), other.spectrum()) else { return false };
        self.channel != other.channel && a.0 < b.1 && b.0 < a.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Standard;

    /// Table E-4: centres of 40 MHz are 38, 46, 54, 62, 102 ... 142, 151 and 159; of 80 MHz 42, 58,
    /// 106, 122, 138 and 155; of 160 MHz 50 and 114.
    #[test]
    fn wide_channels_are_those_of_table_e_4() {
        let centres = |width| {
            let mut all: Vec<u16> =
                (36..=177).filter_map(|n| block(n, width)).map(|(a, b)| (a + b) / 2).collect();
            all.dedup();
            all
        };
        assert_eq!(centres(Width::W40), [38, 46, 54, 62, 102, 110, 118, 126, 134, 142, 151, 159]);
        assert_eq!(centres(Width::W80), [42, 58, 106, 122, 138, 155]);
        assert_eq!(centres(Width::W160), [50, 114]);
        assert_eq!(centres(Width::W20).len(), 8 + 12 + 8);
        assert_eq!(block(40, Width::W80), Some((36, 48)));
        assert_eq!(numbers(Width::W160), "36, 40 ... 64; 100, 104 ... 128");
    }

    /// 5 MHz from number to number in 2.4 GHz: 1 and 3 share 10 MHz, 1 and 5 are adjacent with 20
    /// MHz and share 2 of the 22 MHz of DSSS.
    #[test]
    fn networks_overlap_when_they_share_spectrum() {
        let ap = |standard, channel, width| ApConfig { standard, channel, width, ..ApConfig::default() };
        let ac = |channel, width| ap(Standard::Ac, channel, width);
        let n = |channel| ap(Standard::N, channel, Width::W20);
        let b = |channel| ap(Standard::B, channel, Width::W20);
        for (one, other, shared) in [
            (ac(36, Width::W80), ac(40, Width::W20), true),
            (ac(36, Width::W80), ac(52, Width::W20), false),
            (ac(36, Width::W20), ac(40, Width::W20), false),
            (ac(36, Width::W160), ac(64, Width::W20), true),
            (ac(36, Width::W20), ac(36, Width::W20), false),
            (n(1), n(3), true),
            (n(1), n(5), false),
            (b(1), b(5), true),
            (b(1), b(6), false),
            (ap(Standard::N, 1, Width::W40), n(6), true),
            (n(6), ac(36, Width::W20), false),
        ] {
            let what = format!("{} and {}", one.channel, other.channel);
            assert_eq!(
                (one.overlaps_unnoticed(&other), other.overlaps_unnoticed(&one)),
                (shared, shared),
                "{what}"
            );
        }
    }
}

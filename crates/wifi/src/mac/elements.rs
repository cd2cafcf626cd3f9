//! Elements of management frames (IEEE Std 802.11-2016 clause 9.4.2), encoded from the
//! configuration of a network.

use super::{Access, AggregationConfig, Category};
use crate::phy::{Format, Width};

/// A network as its beacons and association frames describe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// How PPDUs with data are built.
    pub format: Format,
    /// Number of the primary channel.
    pub channel: u16,
    /// Width of the channel.
    pub width: Width,
    /// True if data has the short guard interval.
    pub short_guard: bool,
    /// Spatial streams, 1 to 4.
    pub streams: u8,
    /// Parameters of contention by category, the lowest priority first; None with DCF.
    pub edca: Option<[Access; 4]>,
    /// Longest MPDU and A-MPDU, spacing of MPDUs, A-MSDU.
    pub aggregation: AggregationConfig,
}

/// The SSID of every network.
const SSID: &[u8; 8] = b"lasthop ";
/// Rates of OFDM \[500 kbit/s\]: 6 to 54 Mbit/s, with bit 7 those that every station must have
/// (clause 17.2.3.4: 6, 12 and 24).
const OFDM: [u8; 8] = [0x8c, 0x12, 0x98, 0x24, 0xb0, 0x48, 0x60, 0x6c];
/// Rates of DSSS and CCK: 1, 2, 5.5 and 11 Mbit/s, of which the first two are used for responses to
/// data.
const DSSS: [u8; 4] = [0x82, 0x84, 0x0b, 0x16];

impl Network {
    /// The capability information field (clause 9.4.1.4): ESS, and QoS with EDCA.
    pub(super) fn capabilities(&self) -> [u8; 2] {
        [1, if self.edca.is_some() { 2 } else { 0 }]
    }

    /// The block ack parameter set (clause 9.4.1.14): A-MSDU, immediate, traffic identifier, 64
    /// buffers.
    pub(super) fn block_ack(&self, tid: u8) -> [u8; 2] {
        let amsdu = u16::from(self.aggregation.amsdu);
        (amsdu | 2 | u16::from(tid) << 2 | 64 << 6).to_le_bytes()
    }

    /// SSID and Supported Rates.
    pub(super) fn name_and_rates(&self, out: &mut Vec<u8>) {
        element(out, 0, SSID);
        self.rates(out);
    }
    /// Supported Rates.
    pub(super) fn rates(&self, out: &mut Vec<u8>) {
        element(out, 1, if self.format == Format::Dsss { &DSSS } else { &OFDM });
    }
    /// HT and VHT Capabilities, of networks that have them.
    pub(super) fn station(&self, out: &mut Vec<u8>) {
        if self.has_ht() {
            element(out, 45, &self.ht_capabilities());
        }
        if self.format == Format::Vht {
            element(out, 191, &self.vht_capabilities());
        }
    }

    /// EDCA Parameter Set, then Capabilities and Operation of HT and VHT: as far as the network has
    /// them and they fit into `room` octets, of which at least 5, or none, must remain.
    pub(super) fn access_point(&self, out: &mut Vec<u8>, room: usize) {
        let end = out.len() + room;
        let mut put = |id, content: &[u8]| {
            let left = end.checked_sub(out.len() + 2 + content.len());
            if left.is_some_and(|left| left == 0 || left >= VENDOR) {
                element(out, id, content);
            }
        };
        if let Some(edca) = &self.edca {
            put(12, &edca_parameters(edca));
        }
        if self.has_ht() {
            put(45, &self.ht_capabilities());
            put(61, &self.ht_operation());
        }
        if self.format == Format::Vht {
            put(191, &self.vht_capabilities());
            put(192, &self.vht_operation());
        }
    }

    /// Elements of beacons alone: DSSS Parameter Set in 2.4 GHz, and TIM. Every beacon is a DTIM,
    /// and no data is buffered for stations in power save mode: no station uses it.
    pub(super) fn beacon(&self, out: &mut Vec<u8>, room: usize) {
        let before = out.len();
        if self.channel <= 14 && room >= 3 + VENDOR {
            element(out, 3, &[self.channel as u8]);
        }
        if room - (out.len() - before) >= 6 + VENDOR {
            element(out, 5, &[0, 1, 0, 0]);
        }
    }

    const fn has_ht(&self) -> bool {
        matches!(self.format, Format::Ht | Format::Vht)
    }

    // Clause 9.4.2.56: HT Capability Information, A-MPDU Parameters, Supported MCS Set (one octet a
    // number of streams), HT Extended Capabilities, Transmit Beamforming, ASEL.
    fn ht_capabilities(&self) -> [u8; 26] {
        let (wide, a) = (self.width > Width::W20, &self.aggregation);
        let bits: [(bool, u16); 5] = [
            (wide, 1 << 1),
            // No spatial multiplexing power save.
            (true, 3 << 2),
            (self.short_guard, 1 << 5),
            (self.short_guard && wide, 1 << 6),
            // A-MSDUs of up to 7935 octets, else 3839.
            (a.max_mpdu.0 > 3_895, 1 << 11),
        ];
        let information: u16 = bits.iter().filter(|(is, _)| *is).map(|(_, bit)| bit).sum();
        // 2^(13 + exponent) - 1 octets; HT's exponent ends at 3.
        let exponent = exponent(a.max_ampdu.0).min(3);
        let spacings = [0, 250, 500, 1_000, 2_000, 4_000, 8_000, 16_000];
        let spacing = spacings.iter().position(|s| *s == a.mpdu_spacing.0).unwrap_or(0) as u8;
        let mut out = [0; 26];
        out[..2].copy_from_slice(&information.to_le_bytes());
        out[2] = exponent | spacing << 2;
        out[3..3 + usize::from(self.streams.min(4))].fill(0xff);
        // A device can send every MCS that it can receive.
        out[15] = 1;
        out
    }

    // Clause 9.4.2.57: primary channel, offset of the secondary one, and whether it is in use.
    fn ht_operation(&self) -> [u8; 22] {
        let mut out = [0; 22];
        out[0] = self.channel as u8;
        if self.width > Width::W20 {
            let above = match self.channel {
                1..=7 => true,
                8..=14 => false,
                _ => self.place() % 8 < 4,
            };
            out[1] = if above { 1 } else { 3 } | 1 << 2;
        }
        out
    }

    // Clause 9.4.2.158: VHT Capabilities Information, then Supported VHT-MCS and NSS Set: MCS 0 to
    // 9 for each number of streams, and no highest rate below that of the map.
    fn vht_capabilities(&self) -> [u8; 12] {
        let a = &self.aggregation;
        // 3895, 7991 or 11454 octets.
        let mpdu = [3_895, 7_991].iter().filter(|most| a.max_mpdu.0 > **most).count() as u32;
        let bits: [(bool, u32); 3] = [
            (self.width == Width::W160, 1 << 2),
            (self.short_guard && self.width >= Width::W80, 1 << 5),
            (self.short_guard && self.width == Width::W160, 1 << 6),
        ];
        let bits: u32 = bits.iter().filter(|(is, _)| *is).map(|(_, bit)| bit).sum();
        let information = mpdu | bits | u32::from(exponent(a.max_ampdu.0)) << 23;
        let mut out = [0; 12];
        out[..4].copy_from_slice(&information.to_le_bytes());
        out[4..6].copy_from_slice(&self.vht_map(2));
        out[8..10].copy_from_slice(&self.vht_map(2));
        out
    }

    // Clause 9.4.2.159: width and the centres of the 80 MHz and of the 160 MHz that hold the
    // primary channel; the basic set, MCS 0 to 7 of one stream.
    fn vht_operation(&self) -> [u8; 5] {
        let centre = |channels: u16| {
            let first = self.channel - self.place() % (4 * channels);
            (first + 2 * (channels - 1)) as u8
        };
        let [a, b] = Network { streams: 1, ..self.clone() }.vht_map(0);
        match self.width {
            Width::W20 | Width::W40 => [0, 0, 0, a, b],
            Width::W80 => [1, centre(4), 0, a, b],
            Width::W160 => [1, centre(4), centre(8), a, b],
        }
    }

    /// Two bits for each of eight numbers of streams: `most` for those that the network supports, 3
    /// for others.
    fn vht_map(&self, most: u16) -> [u8; 2] {
        let of = |n: u8| if n < self.streams { most } else { 3 };
        (0..8).map(|n| of(n) << (2 * n)).sum::<u16>().to_le_bytes()
    }

    /// Distance of the channel number from the first of its band of 5 GHz (table E-1: 36, 100,
    /// 149).
    fn place(&self) -> u16 {
        [149, 100, 36].into_iter().find_map(|first| self.channel.checked_sub(first)).unwrap_or(0)
    }
}

/// The shortest Vendor Specific element.
const VENDOR: usize = 5;

/// Appends vendor specific elements of zeros until the body has `left` octets more, as far as
/// possible.
pub(super) fn fill(out: &mut Vec<u8>, mut left: usize) {
    while left >= VENDOR {
        let len = if left > 257 && left - 257 < VENDOR { 250 } else { left.min(257) };
        element(out, 221, &vec![0; len - 2]);
        left -= len;
    }
}

pub(super) fn element(out: &mut Vec<u8>, id: u8, content: &[u8]) {
    out.extend_from_slice(&[id, content.len() as u8]);
    out.extend_from_slice(content);
}

/// The exponent e of 2^(13 + e) - 1 octets.
const fn exponent(octets: u64) -> u8 {
    ((octets + 1).ilog2() as u8).saturating_sub(13)
}

/// EDCA parameters (clause 9.4.2.29): QoS info, update info, a record for each category: AIFSN and
/// index, exponents of the contention windows, TXOP limit \[32 us\].
fn edca_parameters(all: &[Access; 4]) -> [u8; 18] {
    let mut out = [0; 18];
    let order = [Category::BestEffort, Category::Background, Category::Video, Category::Voice];
    for (record, (index, category)) in out[2..].chunks_exact_mut(4).zip((0..).zip(order)) {
        let access = &all[category.index()];
        let exponent = |window: u32| (window + 1).ilog2().min(15) as u8;
        let limit = (access.txop.as_micros() / 32).min(0xffff) as u16;
        let [low, high] = limit.to_le_bytes();
        let windows = exponent(access.cw_min) | exponent(access.cw_max) << 4;
        record.copy_from_slice(&[access.aifsn | index << 5, windows, low, high]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    pub fn network() -> Network {
        Network {
            format: Format::Vht,
            channel: 44,
            width: Width::W80,
            short_guard: true,
            streams: 2,
            edca: Some(Category::ALL.map(|c| Access::edca(c, 15))),
            aggregation: AggregationConfig::default(),
        }
    }

    /// 802.11-2012 table 8-105: ECWmin and ECWmax 4 and 10 for AC_BE and AC_BK, 3 and 4 for AC_VI,
    /// 2 and 3 for AC_VO; AIFSN 3, 7, 2, 2; 3.008 ms are 94 and 1.504 ms are 47 times 32 us.
    #[test]
    fn edca_parameters_are_those_of_the_table() {
        let [a, b] = [[0, 0, 0x03, 0xa4, 0, 0], [0x27, 0xa4, 0, 0, 0x42, 0x43]];
        let expected = [&a[..], &b, &[94, 0, 0x62, 0x32, 47, 0]].concat();
        assert_eq!(edca_parameters(&network().edca.unwrap())[..], expected);
    }

    /// Channel 44 is the third of the 80 MHz from 36 on, with centre 42; its 40 MHz are 44 and 48.
    /// Of the 160 MHz the centre is 50.
    #[test]
    fn operation_names_the_channels_around_the_primary_one() {
        let n = network();
        assert_eq!(n.ht_operation()[..2], [44, 1 | 4]);
        // One stream with MCS 0 to 7: 11 11 11 11 11 11 11 00.
        assert_eq!(n.vht_operation(), [1, 42, 0, 0xfc, 0xff]);
        let wide = Network { width: Width::W160, channel: 48, ..n.clone() };
        assert_eq!((wide.ht_operation()[1], wide.vht_operation()[..3].to_vec()), (3 | 4, vec![1, 42, 50]));
        let narrow = Network { width: Width::W20, ..n };
        assert_eq!((narrow.ht_operation()[1], narrow.vht_operation()[0]), (0, 0));
    }
}

//! MAC of dedicated channels: the transport format. A dedicated logical channel on a dedicated
//! transport channel has no MAC header (TS 25.321 clause 9.2.1), so a transport block is an RLC
//! PDU.

use lasthop_units::{Bitrate, Bytes, Duration};

/// The number and size of the blocks of a TTI (TS 25.302 clause 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransportFormat {
    /// Transmission time interval.
    pub tti: Duration,
    /// Transport blocks per TTI.
    pub blocks: u32,
    /// Payload of a block after the RLC header.
    pub payload: Bytes,
}

impl TransportFormat {
    /// RLC payload rate: 12 blocks of 320 bit every 10 ms are 384 kbit/s.
    pub const fn payload_rate(&self) -> Bitrate {
        Bitrate::per(self.payload.bits() * self.blocks as u64, self.tti)
    }

    /// Error-free transmission time of `size` at the payload rate C: ceil(size / (C TTI)) TTI (Lo,
    /// Heijenk, Niemegeers, PWC 2004).
    pub const fn transmission_time(&self, size: Bytes) -> Duration {
        let per_tti = self.payload.0 * self.blocks as u64;
        Duration(size.0.div_ceil(per_tti) * self.tti.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 384 kbit/s and 10 ms carry 480 B per TTI: 552 B need 2. 64 kbit/s and 20 ms carry 160 B: 40
    /// B need 1.
    #[test]
    fn transmission_times_are_those_of_the_paper() {
        let down = TransportFormat { tti: Duration::from_millis(10), blocks: 12, payload: Bytes(40) };
        let up = TransportFormat { tti: Duration::from_millis(20), blocks: 4, payload: Bytes(40) };
        assert_eq!((down.payload_rate(), up.payload_rate()), (Bitrate(384_000), Bitrate(64_000)));
        assert_eq!(down.transmission_time(Bytes(552)), Duration::from_millis(20));
        assert_eq!(down.transmission_time(Bytes(553)), Duration::from_millis(20));
        assert_eq!(up.transmission_time(Bytes(40)), Duration::from_millis(20));
    }
}

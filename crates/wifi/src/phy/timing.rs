//! Timing parameters of the PHY that the MAC uses.

use lasthop_units::{Bytes, Duration};

use super::mode::{Format, Mode};
use super::ppdu::Compat;

/// Slot, interframe spaces and delays of a PHY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// aSlotTime.
    pub slot: Duration,
    /// aSIFSTime.
    pub sifs: Duration,
    /// aRxPHYStartDelay: from the start of a PPDU to PHY-RXSTART.
    pub rx_start: Duration,
    /// Time until a transmission is sensed (CCA time, clauses 15.4.6.5 and 17.3.10.6).
    pub sense: Duration,
    /// An ACK at the lowest mandatory rate, for EIFS.
    pub slowest_ack: Duration,
}

impl Timing {
    /// The parameters of DSSS (IEEE 802.11-2016 table 15-5), or of OFDM at 20 MHz channel spacing
    /// and formats based on it (table 17-21).
    pub fn of(format: Format) -> Timing {
        let us = Duration::from_micros;
        // Both rates exist.
        let ack =
            |mode: Result<Mode, _>| mode.map_or(us(0), |m: Mode| m.duration(Bytes(14), Compat::Standard));
        match format {
            Format::Dsss => {
                let slowest_ack = ack(Mode::dsss(10));
                Timing { slot: us(20), sifs: us(10), rx_start: us(192), sense: us(15), slowest_ack }
            }
            Format::Ofdm | Format::Ht | Format::Vht => {
                let slowest_ack = ack(Mode::ofdm(6));
                Timing { slot: us(9), sifs: us(16), rx_start: us(20), sense: us(4), slowest_ack }
            }
        }
    }

    /// PIFS: SIFS and a slot (clause 10.3.7).
    pub fn pifs(&self) -> Duration {
        self.sifs + self.slot
    }
    /// DIFS: SIFS and two slots.
    pub fn difs(&self) -> Duration {
        self.sifs + self.slot * 2
    }
    /// EIFS less DIFS: SIFS and an ACK at the lowest mandatory rate.
    pub fn extra(&self) -> Duration {
        self.sifs + self.slowest_ack
    }
    /// Time for which a sender waits for the start of a response (ACKTimeout, clause 10.3.2.9).
    pub fn ack_timeout(&self) -> Duration {
        self.sifs + self.slot + self.rx_start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// OFDM: PIFS 25, DIFS 34, EIFS 16 + 34 + 44 = 94 us. DSSS: DIFS 50, EIFS 10 + 50 + 304 = 364
    /// us.
    #[test]
    fn interframe_spaces() {
        let t = Timing::of(Format::Vht);
        let us = |d: Duration| d.as_micros();
        assert_eq!((us(t.pifs()), us(t.difs()), us(t.difs() + t.extra())), (25, 34, 94));
        let t = Timing::of(Format::Dsss);
        assert_eq!((us(t.pifs()), us(t.difs()), us(t.difs() + t.extra())), (30, 50, 364));
    }
}

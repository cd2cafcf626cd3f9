//! The ECN field of the IP header: queues write it and transports read it, so it is in a crate
//! below both.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The ECN codepoint of the IP header (RFC 3168 §5), with its two bits as value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable transport: congestion can only be signalled by dropping.
    #[default]
    NotEct = 0,
    /// ECN-capable, ECT(1): low-latency service (RFC 9331).
    Ect1 = 1,
    /// ECN-capable, ECT(0).
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

impl Ecn {
    /// The codepoint of the two low bits of `bits`.
    pub const fn from_bits(bits: u8) -> Ecn {
        match bits & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }
    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Ecn::NotEct => "not-ect",
            Ecn::Ect1 => "ect1",
            Ecn::Ect0 => "ect0",
            Ecn::Ce => "ce",
        }
    }
    /// True if a queue may mark instead of dropping.
    #[inline]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Ecn::NotEct)
    }
    /// True for the codepoints that RFC 9331 section 5 classifies as L4S: ECT(1) and CE.
    #[inline]
    pub const fn is_l4s(self) -> bool {
        matches!(self, Ecn::Ect1 | Ecn::Ce)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ecn_is_its_two_bits() {
        for bits in 0..4 {
            assert_eq!(Ecn::from_bits(bits) as u8, bits);
            // RFC 9332 appendix A.1: L4S is ecn modulo 2 == 1.
            assert_eq!(Ecn::from_bits(bits).is_l4s(), bits % 2 == 1);
        }
        assert!(!Ecn::NotEct.is_capable() && Ecn::Ce.is_capable());
    }
}

//! Bit errors: the NIST model of coded OFDM, and models of DSSS and CCK.
//!
//! OFDM, HT and VHT: bit errors of the modulation go through the union bound of the convolutional
//! code of constraint length 7 (L. E. Miller, "Validation of 802.11a/UWB coexistence simulation",
//! NIST, 2003; weight spectra of the punctured codes by P. Frenger, P. Orten, T. Ottosson, IEEE
//! Commun. Lett. 3(11), 1999). Hard decisions, perfect synchronisation. DSSS: differential BPSK and
//! QPSK at 22 chips per bit-microsecond; CCK as biorthogonal signals of 16 points (J. G.
//! Proakis, Digital Communications, 4th ed., equation 5.2-34).

use std::sync::OnceLock;

use lasthop_engine::math::{erfc, exp, ln, pow, sqrt};

/// Modulation and code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coding {
    /// Coded bits of a subcarrier; 0: DSSS.
    bits: u8,
    /// Numerator of the code rate; for DSSS the number of the rate, 0 to 3.
    n: u8,
    /// Denominator.
    d: u8,
}

impl Coding {
    pub(super) const DBPSK: Coding = Coding::new(0, 0, 1);
    pub(super) const DQPSK: Coding = Coding::new(0, 1, 1);
    pub(super) const CCK5: Coding = Coding::new(0, 2, 1);
    pub(super) const CCK11: Coding = Coding::new(0, 3, 1);

    pub(super) const fn new(bits: u8, n: u8, d: u8) -> Coding {
        Coding { bits, n, d }
    }
    /// Coded bits of a subcarrier.
    pub const fn bits(self) -> u32 {
        self.bits as u32
    }
    /// Whole data bits on `carriers` subcarriers.
    pub const fn data_bits(self, carriers: u32) -> u32 {
        carriers * self.bits as u32 * self.n as u32 / self.d as u32
    }
}

/// Probability that `bits` data bits are correct at `sinr` (linear, of one stream).
pub fn success(coding: Coding, sinr: f64, bits: f64) -> f64 {
    if coding.bits == 0 {
        return dsss(coding.n, sinr, bits);
    }
    let pe = first_event(coding, sinr);
    if pe >= 1.0 { 0.0 } else { pow(1.0 - pe, bits) }
}

/// Probability of an error event per data bit, by the union bound; may exceed 1.
fn first_event(coding: Coding, sinr: f64) -> f64 {
    let p = match coding.bits {
        1 => 0.5 * erfc(sqrt(sinr)),
        2 => 0.5 * erfc(sqrt(sinr / 2.0)),
        4 => 0.375 * erfc(sqrt(sinr / 10.0)),
        6 => 7.0 / 24.0 * erfc(sqrt(sinr / 42.0)),
        _ => 15.0 / 64.0 * erfc(sqrt(sinr / 170.0)),
    };
    let d = sqrt(4.0 * p * (1.0 - p));
    // First distance, distance between terms, punctured bits of a period, weights.
    let (first, step, share, weights): (u32, u32, f64, &[f64]) = match coding.d {
        2 => (10, 2, 2.0, &HALF),
        3 => (6, 1, 4.0, &TWO_THIRDS),
        4 => (5, 1, 6.0, &THREE_QUARTERS),
        _ => (4, 1, 10.0, &FIVE_SIXTHS),
    };
    // Horner from the last term: d^first (a0 + d^step (a1 + ...)).
    let by = if step == 2 { d * d } else { d };
    let sum = weights.iter().rev().fold(0.0, |sum, a| sum * by + a);
    let power = (0..first).fold(1.0, |x, _| x * d);
    sum * power / share
}

const HALF: [f64; 9] =
    [36.0, 211.0, 1404.0, 11633.0, 77433.0, 502_690.0, 3_322_763.0, 21_292_910.0, 134_365_911.0];
const TWO_THIRDS: [f64; 10] =
    [3.0, 70.0, 285.0, 1276.0, 6160.0, 27128.0, 117_019.0, 498_860.0, 2_103_891.0, 8_784_123.0];
const THREE_QUARTERS: [f64; 10] = [
    42.0,
    201.0,
    1492.0,
    10469.0,
    62935.0,
    379_644.0,
    2_253_373.0,
    13_073_811.0,
    75_152_755.0,
    428_005_675.0,
];
const FIVE_SIXTHS: [f64; 10] = [
    92.0,
    528.0,
    8694.0,
    79453.0,
    792_114.0,
    7_375_573.0,
    67_884_974.0,
    610_875_423.0,
    5_427_275_376.0,
    47_664_215_639.0,
];

/// Probability of correct `bits` with DSSS of kind `n` at the SINR in 22 MHz.
fn dsss(n: u8, sinr: f64, bits: f64) -> f64 {
    match n {
        // Eb/N0 is the SINR times the chips of a bit: 22 MHz over 1 and 2 Mbit/s.
        0 => pow(1.0 - (0.5 * exp(-22.0 * sinr)).min(0.5), bits),
        1 => {
            // Gray-coded differential QPSK, by its asymptote (S. Haykin; tight above 6 dB): with x
            // = Eb/N0, (sqrt 2 + 1) / sqrt(8 pi sqrt 2) x^(-1/2) e^(-(2 - sqrt 2) x).
            let x = 11.0 * sinr;
            let root = std::f64::consts::SQRT_2;
            let scale = (root + 1.0) / sqrt(8.0 * std::f64::consts::PI * root);
            let ber = scale / sqrt(x) * exp(-(2.0 - root) * x);
            pow(1.0 - ber.min(0.5), bits)
        }
        // 22 MHz over 1.375 million symbols a second: 16 times the SINR is the symbol's energy over
        // N0; half of it belongs to each of two 16-point alphabets at 11 Mbit/s.
        2 => pow(1.0 - biorthogonal16(8.0 * sinr), bits / 4.0),
        _ => {
            let one = 1.0 - biorthogonal16(4.0 * sinr);
            pow(one * one, bits / 8.0)
        }
    }
}

/// Symbol errors of 16 biorthogonal signals at half the energy over N0: Proakis, equation 5.2-34,
/// by Simpson's rule.
fn biorthogonal16(e: f64) -> f64 {
    let beta = sqrt(2.0 * e);
    const STEPS: u32 = 256;
    // The normal density is negligible beyond 8.
    let (low, high) = ((-beta).max(-8.0), 8.0);
    let h = (high - low) / f64::from(STEPS);
    let at = |i: u32| {
        let v = low + h * f64::from(i);
        let inside = 1.0 - erfc((v + beta) / std::f64::consts::SQRT_2);
        let weight = if i == 0 || i == STEPS { 1.0 } else { f64::from(2 + 2 * (i % 2)) };
        weight * pow(inside.max(0.0), 7.0) * exp(-v * v / 2.0)
    };
    let correct = (0..=STEPS).map(at).sum::<f64>() * h / 3.0 / sqrt(std::f64::consts::TAU);
    (1.0 - correct).clamp(0.0, 1.0)
}

/// SINRs of a stream between which the probability of an error has to be computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Below it no data is correct: the union bound of an error event is 1 at least.
    pub lost: f64,
    /// From it on fewer than one in 10^15 bits is wrong.
    pub sure: f64,
}

/// The bounds of a modulation and code; computed at their first use, because CCK needs thousands of
/// error functions.
pub fn bounds(coding: Coding) -> Bounds {
    static KNOWN: [OnceLock<Bounds>; EVERY.len()] = [const { OnceLock::new() }; EVERY.len()];
    let work_out = || Bounds { lost: work_out_lost(coding), sure: work_out_sure(coding) };
    match EVERY.iter().position(|c| *c == coding) {
        Some(place) => *KNOWN[place].get_or_init(work_out),
        None => work_out(),
    }
}

/// Every modulation and code of the standard.
const EVERY: [Coding; 15] = [
    Coding::new(1, 1, 2),
    Coding::new(1, 3, 4),
    Coding::new(2, 1, 2),
    Coding::new(2, 3, 4),
    Coding::new(4, 1, 2),
    Coding::new(4, 3, 4),
    Coding::new(6, 2, 3),
    Coding::new(6, 3, 4),
    Coding::new(6, 5, 6),
    Coding::new(8, 3, 4),
    Coding::new(8, 5, 6),
    Coding::DBPSK,
    Coding::DQPSK,
    Coding::CCK5,
    Coding::CCK11,
];

fn work_out_sure(coding: Coding) -> f64 {
    let wrong = |sinr: f64| {
        if coding.bits == 0 { -ln(dsss(coding.n, sinr, 1.0).max(1e-300)) } else { first_event(coding, sinr) }
    };
    between(|sinr| wrong(sinr) > 1e-15).1
}

/// DSSS has no such SINR: half of its bits are correct without a signal.
fn work_out_lost(coding: Coding) -> f64 {
    // A thousandth lower, so that rounding of the bound does not matter.
    if coding.bits == 0 { 0.0 } else { 0.999 * between(|sinr| first_event(coding, sinr) >= 1.0).0 }
}

/// The linear SINRs on both sides of the one from which `below` does not hold any more: bisection
/// between one at which all bits fail and one at which none does.
fn between(below: impl Fn(f64) -> bool) -> (f64, f64) {
    let linear = |db: f64| exp(db * std::f64::consts::LN_10 / 10.0);
    let (mut low, mut high) = (-20.0, 60.0);
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        if below(linear(middle)) { low = middle } else { high = middle }
    }
    (linear(low), linear(high))
}

#[cfg(test)]
mod tests {
    use crate::phy::{Guard, Mode, Width};
    use lasthop_engine::math::from_db;

    /// Below the bound the probability is left out because it is 0 (here down to 30 dB below it);
    /// 0.1 dB above the bound it is not.
    #[test]
    fn no_data_is_correct_below_the_bound() {
        for coding in super::EVERY.into_iter().filter(|c| c.bits() > 0) {
            let lost = super::bounds(coding).lost;
            assert!(lost > 0.0);
            for step in 0..3_000 {
                let sinr = lost * from_db(-f64::from(step) / 100.0);
                assert_eq!(super::success(coding, sinr, 1.0), 0.0, "{coding:?} {step}");
            }
            assert!(super::success(coding, lost * from_db(0.1), 1.0) > 0.0, "{coding:?}");
        }
    }

    /// Success of a frame of 2000 B over AWGN: the validation points of the NIST model.
    #[test]
    fn nist_points_to_a_thousandth() {
        let points: [(u32, &[(f64, f64)]); 8] = [
            (6, &[(3.0, 0.020), (4.0, 0.885), (5.0, 0.997)]),
            (9, &[(6.0, 0.097), (7.0, 0.918), (8.0, 0.998)]),
            (12, &[(6.0, 0.0174), (7.0, 0.881), (8.0, 0.997)]),
            (18, &[(9.5, 0.623), (10.5, 0.985)]),
            (24, &[(13.0, 0.495), (14.0, 0.974)]),
            (36, &[(15.5, 0.012), (16.5, 0.818), (17.5, 0.993)]),
            (48, &[(21.0, 0.649), (22.0, 0.983)]),
            (54, &[(22.0, 0.410), (23.0, 0.958), (24.0, 0.999)]),
        ];
        for (mbps, row) in points {
            let mode = Mode::ofdm(mbps).unwrap();
            for (db, want) in row {
                let got = mode.success(from_db(*db), 16_000.0);
                assert!((got - want).abs() < 0.001, "{mbps} Mbit/s at {db} dB: {got}, not {want}");
            }
        }
    }

    /// SNR at which one frame of 1500 B in ten is lost, VHT MCS 0 to 8.
    #[test]
    fn vht_thresholds_of_ten_per_cent() {
        let want = [3.96, 6.97, 9.86, 13.51, 16.61, 21.36, 22.62, 23.79, 28.49];
        for (mcs, db) in want.iter().enumerate() {
            let mode = Mode::vht(mcs as u8, 1, Width::W20, Guard::Long).unwrap();
            // The thresholds are rounded to 0.01 dB.
            assert!(mode.success(from_db(db - 0.006), 12_000.0) < 0.9, "MCS {mcs}");
            assert!(mode.success(from_db(db + 0.006), 12_000.0) > 0.9, "MCS {mcs}");
        }
    }

    /// Frames of 1078 B (1024 and headers) at a noise figure of 7 dB, as validated for DSSS and CCK
    /// elsewhere (ns-3's error rate tests, which allow 0.005): RSS [dBm] and success. Noise:
    /// k * 290 K * 22 MHz is -100.5523 dBm.
    #[test]
    fn dsss_and_cck_points() {
        let noise = -100.5523 + 7.0;
        let points: [(u32, &[(f64, f64)]); 4] = [
            (10, &[(-99.0, 0.0003), (-98.0, 0.202), (-97.0, 0.813), (-96.0, 0.984), (-95.0, 0.999)]),
            (20, &[(-95.0, 4.5e-6), (-94.0, 0.036), (-93.0, 0.519), (-92.0, 0.915), (-91.0, 0.993)]),
            (55, &[(-92.0, 0.0001), (-91.0, 0.132), (-90.0, 0.744), (-89.0, 0.974), (-88.0, 0.999)]),
            (110, &[(-89.0, 8.85e-5), (-88.0, 0.128), (-87.0, 0.739), (-86.0, 0.973), (-85.0, 0.999)]),
        ];
        for (tenths, row) in points {
            let mode = Mode::dsss(tenths).unwrap();
            for (rss, want) in row {
                let got = mode.success(from_db(rss - noise), 8.0 * 1078.0);
                assert!((got - want).abs() < 0.001, "{tenths} at {rss} dBm: {got}, not {want}");
            }
        }
    }

    #[test]
    fn success_never_falls_with_the_sinr() {
        for mcs in 0..9 {
            let mode = Mode::vht(mcs, 1, Width::W20, Guard::Long).unwrap();
            let mut last = 0.0;
            for tenth in -100..400 {
                let s = mode.success(from_db(f64::from(tenth) / 10.0), 12_000.0);
                assert!(s >= last && s <= 1.0, "MCS {mcs} at {tenth}: {s} after {last}");
                last = s;
            }
            assert_eq!(last, 1.0);
        }
    }
}

//! Saturation throughput of DCF against Bianchi's model.
//!
//! G. Bianchi, "Performance analysis of the IEEE 802.11 distributed coordination function", JSAC
//! 18(3), 2000, with two refinements for a winner that may transmit again at once with a back-off
//! of 0 (as in validations of simulators). With W = CWmin + 1 and m doublings
//!
//!   tau = 2 / (1 + W + p W sum over i < m of (2 p)^i),   p = 1 - (1 - tau)^(n - 1),
//!   B = 1 / W, E[P] = L / (1 - B), T_S = T_s / (1 - B) + slot,
//!   S = P_s E[P] / (P_idle slot + P_s T_S + P_c T_C),
//!
//! T_s = DATA + SIFS + ACK + DIFS, and T_C = DATA + DIFS, or with SIFS + ACK more where every
//! station waits EIFS after a collision. Here a station that collided waits for the ACK timeout,
//! the others for EIFS: the exact value is between the two.

use std::f64::consts::TAU;

use super::support::{Source, build, quiet, saturate, station};
use lasthop_engine::math;
use lasthop_units::{Bytes, Duration};
use lasthop_wifi::network::{ApConfig, Standard};
use lasthop_wifi::phy::{Compat, Mode, Timing};

struct Case {
    standard: Standard,
    rate: u8,
    data: Mode,
    ack: Mode,
    w: f64,
    m: i32,
    /// RTS and CTS before everything.
    rts: bool,
}

fn fixed_point(n: f64, w: f64, m: i32) -> f64 {
    let tau =
        |p: f64| 2.0 / (1.0 + w + p * w * (0..m).map(|i| math::pow(2.0 * p, f64::from(i))).sum::<f64>());
    // p(tau) increases and tau(p) decreases: bisection.
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..200 {
        let t = 0.5 * (low + high);
        let p = 1.0 - math::pow(1.0 - t, n - 1.0);
        if tau(p) > t { low = t } else { high = t }
    }
    low
}

/// Saturation throughput [Mbit/s] of `n` stations with payloads of 1500 B in MPDUs of 1534 B.
fn bianchi(case: &Case, n: u32, eifs: bool) -> f64 {
    let us = |d: Duration| d.0 as f64 / 1e3;
    let timing = Timing::of(case.standard.format());
    let data = us(case.data.duration(Bytes(1534), Compat::Standard));
    let ack = us(case.ack.duration(Bytes(14), Compat::Standard));
    let (slot, sifs, difs) = (us(timing.slot), us(timing.sifs), us(timing.difs()));
    let tau = fixed_point(f64::from(n), case.w, case.m);
    let busy = 1.0 - math::pow(1.0 - tau, f64::from(n));
    let success = f64::from(n) * tau * math::pow(1.0 - tau, f64::from(n) - 1.0);
    let again = 1.0 - 1.0 / case.w;
    let of = |bytes| us(case.ack.duration(Bytes(bytes), Compat::Standard));
    let (before, collides) = if case.rts { (of(20) + sifs + of(14) + sifs, of(20)) } else { (0.0, data) };
    let ts = (before + data + sifs + ack + difs) / again + slot;
    // EIFS includes an ACK at the lowest rate; where responses have another rate this is the lower
    // bound.
    let extra = if case.rts { us(timing.extra()) } else { sifs + ack };
    let tc = collides + difs + if eifs { extra } else { 0.0 };
    8.0 * 1500.0 / again * success / ((1.0 - busy) * slot + success * ts + (busy - success) * tc)
}

fn simulated(case: &Case, n: usize, seconds: f64) -> f64 {
    let ap = ApConfig {
        standard: case.standard,
        channel: if case.standard == Standard::B { 1 } else { 36 },
        short_retry: 1_000_000,
        long_retry: 1_000_000,
        rts_threshold: case.rts.then_some(Bytes(0)),
        ..quiet(case.rate)
    };
    // All stations are near the access point and each other: no capture, and each detects all
    // others.
    let ring = |i: usize| {
        let angle = TAU * i as f64 / n as f64;
        station(math::cos(angle), math::sin(angle))
    };
    let mut wlan = build(ap, (0..n).map(ring).collect(), 1);
    // MPDU 24 + 8 + 1498 + 4 = 1534 B; the payload is counted as 1500 B as in the model.
    let sources: Vec<Source> = (0..n).map(|i| Source::up(i, 1498)).collect();
    let got = saturate(&mut wlan, &sources, 1.0, 1.0 + seconds);
    got.iter().sum::<u64>() as f64 / 1498.0 * 1500.0 * 8.0 / seconds / 1e6
}

fn ofdm(rate: u8, mbps: u32, ack: u32) -> Case {
    let mode = |m| Mode::ofdm(m).unwrap();
    Case { standard: Standard::A, rate, data: mode(mbps), ack: mode(ack), w: 16.0, m: 6, rts: false }
}

fn dsss(rate: u8, tenths: u32, ack: u32) -> Case {
    let mode = |m| Mode::dsss(m).unwrap();
    Case { standard: Standard::B, rate, data: mode(tenths), ack: mode(ack), w: 32.0, m: 5, rts: false }
}

/// The formula gives the published values (802.11a, 6 and 54 Mbit/s, n = 5 and 50, exact fixed
/// points).
#[test]
fn the_formula_is_the_published_one() {
    let near = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-3, "{a} {b}");
    let (slow, fast) = (ofdm(0, 6, 6), ofdm(7, 54, 24));
    near(bianchi(&slow, 5, true), 4.6902);
    near(bianchi(&slow, 5, false), 4.7089);
    near(bianchi(&slow, 50, true), 3.4688);
    near(bianchi(&slow, 50, false), 3.5048);
    near(bianchi(&fast, 5, true), 29.2871);
    near(bianchi(&fast, 5, false), 29.8332);
    near(bianchi(&fast, 50, true), 22.4023);
    near(bianchi(&fast, 50, false), 23.5486);
    let eleven = dsss(3, 110, 20);
    // The published table has a grid error of about 0.1 %.
    assert!((bianchi(&eleven, 5, true) / 6.3821 - 1.0).abs() < 2e-3);
    assert!((bianchi(&eleven, 50, false) / 5.1745 - 1.0).abs() < 2e-3);
}

fn check(case: &Case, all: &[u32], seconds: f64) {
    let mut wrong = Vec::new();
    for n in all {
        let got = simulated(case, *n as usize, seconds);
        let (low, high) = (bianchi(case, *n, true), bianchi(case, *n, false));
        println!("{:?} n={n}: {got:.4} in {low:.4} .. {high:.4}", case.data.rate());
        if got < 0.985 * low || got > 1.015 * high {
            wrong.push((*n, got, low, high));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

const N: [u32; 5] = [5, 10, 20, 30, 50];

#[test]
fn ofdm_saturation_is_bianchis() {
    for (rate, mbps, ack) in [(0, 6, 6), (2, 12, 12), (4, 24, 24), (7, 54, 24)] {
        check(&ofdm(rate, mbps, ack), &N, 20.0);
    }
}

#[test]
fn dsss_saturation_is_bianchis() {
    for (rate, tenths, ack) in [(0, 10, 10), (3, 110, 20)] {
        check(&dsss(rate, tenths, ack), &N, 40.0);
    }
}

/// Normalised saturation throughput as in the paper of 2000 (FHSS at 1 Mbit/s: payload 8184, MAC
/// header 272, PHY header 128, ACK 112, RTS 160, CTS 112 bit and PHY headers, slot 50, SIFS 28,
/// DIFS 128, propagation 1 us): without the refinements for a winner that transmits again at once.
fn original(n: f64, w: f64, m: i32, rts: bool) -> f64 {
    let tau = fixed_point(n, w, m);
    let busy = 1.0 - math::pow(1.0 - tau, n);
    let success = n * tau * math::pow(1.0 - tau, n - 1.0);
    let (payload, header, ack, sifs, difs, hop) = (8184.0, 400.0, 240.0, 28.0, 128.0, 1.0);
    let (request, clear) = (288.0, 240.0);
    let data = header + payload;
    let exchange = data + sifs + hop + ack + difs + hop;
    let (ts, tc) = if rts {
        (request + sifs + hop + clear + sifs + hop + exchange, request + difs + hop)
    } else {
        (exchange, data + difs + hop)
    };
    success * payload / ((1.0 - busy) * 50.0 + success * ts + (busy - success) * tc)
}

/// Basic access and RTS for 5, 10, 20, 30 and 50 stations, (W, m) = (32, 3), (32, 5), (128, 3): the
/// fixed point and the use of it here are those of the paper's model.
#[test]
fn the_fixed_point_gives_the_table_of_the_original() {
    let table = [
        (32.0, 3, [0.8097, 0.7532, 0.6788, 0.6273, 0.5529], [0.8342, 0.8371, 0.8356, 0.8329, 0.8270]),
        (32.0, 5, [0.8102, 0.7579, 0.6975, 0.6603, 0.6109], [0.8342, 0.8370, 0.8362, 0.8346, 0.8317]),
        (128.0, 3, [0.8250, 0.8263, 0.7981, 0.7702, 0.7252], [0.7979, 0.8217, 0.8327, 0.8355, 0.8363]),
    ];
    for (w, m, basic, rts) in table {
        for (row, with) in [(basic, false), (rts, true)] {
            for (n, want) in N.iter().zip(row) {
                let got = original(f64::from(*n), w, m, with);
                assert!((got - want).abs() < 1e-4, "W {w}, m {m}, n {n}, RTS {with}: {got}, not {want}");
            }
        }
    }
}

/// With RTS a collision takes only the time of an RTS: saturation throughput hardly falls with the
/// number of stations (the paper's third observation).
#[test]
fn saturation_with_rts_is_bianchis() {
    for (rate, mbps, ack) in [(0, 6, 6), (7, 54, 24)] {
        let case = Case { rts: true, ..ofdm(rate, mbps, ack) };
        check(&case, &N, 20.0);
    }
}

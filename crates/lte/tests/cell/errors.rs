//! Errors, HARQ and antennas: ns-3's system tests, at their distances.
//!
//! 25 blocks, noise figure 9 dB: the noise floor is -174 + 10 log10(25 * 180 000) + 9 = -98.468
//! dBm, and the SINR of a UE is the power less the loss of [`buildings_cell`] less that. 43 dBm:
//! -5.511 dB at 1800 m, 4.432 dB at 600 m, 8.450 dB at 470 m, -9.911 dB at 2400 m; 46 dBm: 18.813
//! dB at 300 m (the reference prints -5.51, 4.43, 8.48, -9.91 dB, and nothing for 300 m).

use lasthop_lte::mac::downlink::{AmcConfig, Combining, LinkStats, PiroConfig};
use lasthop_lte::mac::scheduler::{NoParameters, SchedulerConfig};
use lasthop_lte::network::NetworkConfig;
use lasthop_units::Db;

use super::setup::{Run, buildings_cell, friis_cell};

/// `config` under round robin, with errors, Piro's model with bit error rate `ber`, and
/// `transmissions` of each block.
fn with_errors(mut config: NetworkConfig, ber: f64, transmissions: u8) -> NetworkConfig {
    for cell in config.cells.iter_mut() {
        let c = &mut cell.downlink;
        c.scheduler = SchedulerConfig::RoundRobin(NoParameters {});
        c.amc = AmcConfig::Piro(PiroConfig { ber });
        c.harq.transmissions = transmissions;
        c.data_errors = true;
    }
    config
}

fn after(config: &NetworkConfig, ms: u64, seed: u64) -> LinkStats {
    let mut run = Run::new(config, seed);
    run.until(ms);
    run.stats(0)
}

/// The PDCCH has room for two assignments, and each transport block of the two code words fails
/// again and again: there is a retransmission in most TTIs. Both code words have one assignment
/// (TS 36.212 clause 5.3.3.1.5), so two of the three UEs transmit in each TTI.
#[test]
fn an_assignment_covers_both_code_words_also_in_a_retransmission() {
    let mut config = with_errors(friis_cell(&[100.0; 3]), 0.15, 4);
    for cell in config.cells.iter_mut() {
        let d = &mut cell.downlink;
        (d.max_assignments, d.mimo.mode, d.mimo.always_two_layers) = (2, 3, true);
    }
    for ue in config.ues.iter_mut() {
        ue.radio.pinned_sinr = Some(Db(8.0));
    }
    let mut run = Run::new(&config, 1);
    let all = |run: &Run| (0..3).map(|i| run.stats(i)).collect::<Vec<_>>();
    run.until(300);
    let before = all(&run);
    run.until(900);
    let after = all(&run);
    let of = |count: fn(&LinkStats) -> u64| {
        after.iter().map(count).sum::<u64>() - before.iter().map(count).sum::<u64>()
    };
    assert!(of(|s| s.retransmissions) > 300, "{after:?}");
    assert_eq!(of(|s| s.ttis), 2 * 600);
}

/// The share of a UE's transmissions that `count` counts, over `seeds` runs of 1000 TTIs.
fn share(config: &NetworkConfig, seeds: u64, count: impl Fn(&LinkStats) -> u64) -> f64 {
    let mut sum = 0;
    for seed in 0..seeds {
        let s = after(config, 1000, seed);
        assert_eq!(s.blocks, 1000);
        sum += count(&s);
    }
    sum as f64 / (1000 * seeds) as f64
}

fn mean_sinr(s: &LinkStats) -> f64 {
    s.sinr_db_sum / s.sinr_count as f64
}

/// ns-3 lte-phy-error-model, data: n = 1000 blocks, HARQ off, BER 0.03; the number received is 1000
/// (1 - p) within the 99 % bound. Here over 20 runs, so that p of this project is known to 0.3 %.
/// UEs, distance, SINR, what the look-up adds, MCS, size of the block [byte], p, bound. The sizes
/// of 24 blocks of I_TBS 11 and 15 are 4776 and 7224 bit; ns-3 prints them with their CRCs, 4800
/// and 7272.
///
/// The distance gives the SINR, but ns-3 reads mutual information at the next point above of a
/// table over the linear SINR: from 0.013 in steps of 0.004 for QPSK, from 0.063 in steps of 0.010
/// for 16QAM. 0.2811 becomes 0.285, 2.7745 becomes 2.783, 6.998 becomes 7.003: 0.0595, 0.0133 and
/// 0.003 dB more, and ns-3's p are those of these SINRs. This project has the closed form, in which
/// the block of 256 bits fails with 0.38 at -5.51 dB, 0.011 outside the bound. So the power is
/// raised by that step, and the bounds are the reference's.
#[test]
fn data_errors_meet_the_system_points() {
    for (n, d, sinr_db, step, mcs, bytes, p, bound) in [
        (4, 1800.0, -5.511, 0.0595, 2, 32, 0.33, 39.0),
        (1, 1800.0, -5.511, 0.0595, 2, 133, 0.02, 33.0),
        (1, 600.0, 4.432, 0.0133, 12, 597, 0.3, 38.0),
        (1, 470.0, 8.450, 0.003, 16, 903, 0.14, 29.0),
    ] {
        let at = |power| with_errors(buildings_cell(n, d, power), 0.03, 1);
        let s = after(&at(43.0), 100, 0);
        assert_eq!((s.mcs_sum, s.bytes), (100 * mcs, 100 * bytes), "{d} m");
        assert!((mean_sinr(&s) - sinr_db).abs() < 0.005, "{d} m: {} dB", mean_sinr(&s));
        let found = share(&at(43.0 + step), 20, |s| s.errors);
        assert!((found - p).abs() * 1000.0 <= bound, "{n} UEs at {d} m: {found}, reference {p}");
    }
}

/// ns-3 lte-phy-error-model, control: n cells of 43 dBm at one place, one of them serves the UE.
/// Reference signals and control channels of the others are always sent: SINR = g / ((n - 1) g + N)
/// = -2, -6, -7 dB for 2, 4, 5 cells at 1078, 1250, 1260 m, where a single cell would have 2.328,
/// 0.065, -0.057 dB.
#[test]
fn control_errors_meet_the_system_points() {
    for (cells, d, sinr_db, p, bound) in
        [(2, 1078.0, -2.0, 0.007, 9.0), (4, 1250.0, -6.0, 0.206, 40.0), (5, 1260.0, -7.0, 0.343, 47.0)]
    {
        let mut config = with_errors(buildings_cell(1, d, 43.0), 0.03, 1);
        let cell = config.cells.iter_mut().next().unwrap();
        (cell.downlink.control_errors, cell.downlink.data_errors) = (true, false);
        let others = vec![cell.clone(); cells as usize - 1];
        for other in others {
            config.cells.push(other);
        }
        let alone = sinr_db_alone(&config);
        let among = -10.0
            * lasthop_engine::math::log10(
                f64::from(cells - 1) + lasthop_engine::math::pow(10.0, -alone / 10.0),
            );
        assert!((among - sinr_db).abs() < 0.01, "{cells} cells at {d} m: {among} dB");
        let missed = share(&config, 20, |s| s.missed);
        assert!((missed - p).abs() * 1000.0 <= bound, "{cells} cells at {d} m: {missed}, reference {p}");
    }
}

/// The SINR of the data of UE 0 [dB] while only its own cell transmits data.
fn sinr_db_alone(config: &NetworkConfig) -> f64 {
    let mut config = config.clone();
    config.cells.iter_mut().for_each(|c| c.downlink.control_errors = false);
    mean_sinr(&after(&config, 100, 0))
}

/// ns-3's HARQ test: 2 UEs at 2400 m (-9.91 dB), AMC for a BER of 0.12, control errors off, so that
/// no first transmission is decoded: mean transmissions T = P1 + 2 P2 + 3 (1 - P2) with P1 = 0.
/// ns-3 has P2 = 1 - 0.074, so T = 2.074, and prints 66 bytes a block: 1000 / 2.074 * 66 = 31 822
/// byte/s. 12 blocks of MCS 2 (I_TBS 2) are 520 bit = 65 bytes in the standard's table; by
/// Piro's formula -9.91 dB is eta = log2(1 + 0.1021 / 0.3405) = 0.378, so CQI 2 and MCS 2 (the
/// manual says 0). Tolerance 10 %, 2 s after 50 ms.
#[test]
fn harq_carries_what_the_reference_says() {
    let rate = |combining| {
        let mut config = with_errors(buildings_cell(2, 2400.0, 43.0), 0.12, 4);
        for cell in config.cells.iter_mut() {
            cell.downlink.harq.combining = combining;
        }
        let mut run = Run::new(&config, 1);
        run.until(50);
        let before = [0, 1].map(|u| run.stats(u).decoded_bytes);
        run.until(2050);
        [0, 1].map(|u| {
            let s = run.stats(u);
            assert_eq!((s.bytes, s.mcs_sum), (65 * s.blocks, 2 * s.blocks));
            assert!((mean_sinr(&s) + 9.911).abs() < 0.005, "{} dB", mean_sinr(&s));
            (s.decoded_bytes - before[u]) as f64 / 2.0
        })
    };
    let redundancy = rate(Combining::IncrementalRedundancy);
    assert!(redundancy.iter().all(|r| (r / 31_822.0 - 1.0).abs() < 0.1), "{redundancy:?} byte/s");
    // The reference has incremental redundancy only. Energy alone, without new parity bits, carries
    // less.
    let chase = rate(Combining::Chase);
    assert!(chase.iter().zip(redundancy).all(|(c, r)| *c < r && *c > 0.5 * r), "{chase:?} {redundancy:?}");
}

/// With one uniform draw for all transmissions of a block, the share of blocks that need another
/// one is the error probability of the combined transmissions: about 0.383 of the blocks fail at
/// first (-5.51 dB, 256 bit), and none of 20 000 fails with twice the energy.
#[test]
fn a_block_that_fails_is_sent_again_eight_ttis_later_and_combined() {
    let config = with_errors(buildings_cell(4, 1800.0, 43.0), 0.03, 4);
    let mut run = Run::new(&config, 3);
    run.until(5000);
    let s = run.stats(0);
    assert_eq!(s.blocks + s.retransmissions, s.ttis);
    let first = s.retransmissions as f64 / s.blocks as f64;
    assert!((first - 0.36).abs() < 0.05, "{first}");
    assert_eq!(s.lost, 0);
}

/// ns-3's MIMO test: 1 UE 300 m from an eNB of 46 dBm, HARQ off, RR and PF, bytes in 100 TTIs: 119
/// 100 with transmission mode 1 (MCS 20, 1191 bytes a TTI) and 183 600 with mode 2 (MCS 26, 1836
/// bytes). At 300 m the SINR is 18.813 dB: by the steps of Piro's model MCS 20 is used from 16.97
/// to 18.87 dB. Mode 2 has 4.2 dB more, 23.0 dB: MCS 26 is used from 22.6 to 24.1 dB. Mode 3 sends
/// two layers with 2.8 dB less: 16.0 dB is MCS 18, I_TBS 16 on 24 blocks, 7736 bits: 967 bytes each
/// (own arithmetic, no reference row).
#[test]
fn transmission_modes_carry_what_the_reference_says() {
    for scheduler in ["round-robin", "proportional-fair"] {
        for (mode, gain, mcs, bytes, layers) in
            [(1, 0.0, 20, 119_100.0, 1), (2, 4.2, 26, 183_600.0, 1), (3, -2.8, 18, 2.0 * 96_700.0, 2)]
        {
            let mut config = with_errors(buildings_cell(1, 300.0, 46.0), 5e-5, 1);
            for cell in config.cells.iter_mut() {
                cell.downlink.scheduler = scheduler.parse().unwrap();
                cell.downlink.mimo.mode = mode;
                cell.downlink.mimo.always_two_layers = true;
                cell.downlink.data_errors = false;
            }
            let mut run = Run::new(&config, 1);
            run.until(100);
            let before = run.stats(0);
            run.until(200);
            let s = run.stats(0);
            let carried = (s.decoded_bytes - before.decoded_bytes) as f64;
            assert!((carried / bytes - 1.0).abs() < 0.1, "{scheduler}, mode {mode}: {carried}");
            assert_eq!((s.mcs_sum, s.blocks), (mcs * s.blocks, layers * s.ttis), "{scheduler}, mode {mode}");
            assert!((mean_sinr(&s) - 18.813 - gain).abs() < 0.01, "mode {mode}: {} dB", mean_sinr(&s));
        }
    }
}

/// A pinned SINR has the rate of the same SINR at a distance.
#[test]
fn a_pinned_link_carries_what_a_place_with_its_sinr_does() {
    let mut pinned = friis_cell(&[100.0]);
    pinned.ues.iter_mut().for_each(|ue| ue.radio.pinned_sinr = Some(Db(4.432)));
    let [pinned, placed] = [pinned, buildings_cell(1, 600.0, 43.0)].map(|c| with_errors(c, 0.03, 1));
    let [pinned, placed] = [pinned, placed].map(|c| share(&c, 5, |s| s.errors));
    assert!((pinned - placed).abs() < 0.002, "{pinned} and {placed}");
}

//! Uplink power control and interference as in ns-3's tests, by the network and its radio channel.

use lasthop_bearer::Direction;
use lasthop_lte::network::NetworkConfig;
use lasthop_lte::network::config::CellProfile;
use lasthop_radio::lte::{ClosedLoop, PowerControlConfig};
use lasthop_units::{Dbm, Id, Instant, Metres, Tti, UeId};

use super::setup::{Run, friis_cell};

/// P0 -90, alpha 1, P_SRS_OFFSET 9 (+3 dB), 25 blocks, Friis at 2120 MHz.
fn cell(d: f64, closed_loop: ClosedLoop) -> NetworkConfig {
    let mut config = friis_cell(&[d]);
    for cell in config.cells.iter_mut() {
        cell.uplink.power_control = PowerControlConfig {
            p0: Dbm(-90.0),
            alpha: 1.0,
            closed_loop,
            srs_offset: 9,
            ..PowerControlConfig::default()
        };
    }
    config
}

fn powers(run: &mut Run) -> (f64, f64) {
    let ue = UeId::from_index(0);
    let mut reading = run.network.reading(Instant::ZERO, ue);
    (reading.pusch_power(25).0, reading.srs_power(25).0)
}

fn close(found: (f64, f64), expected: (f64, f64), what: &str) {
    let near = |a: f64, b: f64| (a - b).abs() <= 0.01;
    assert!(
        near(found.0, expected.0) && near(found.1, expected.1),
        "{what}: {found:?}, expected {expected:?}"
    );
}

/// PL = 20 log10(4 pi d f / c): 78.974 dB at 100 m, so 10 log10(25) - 90 + 78.974 = 2.954 dBm; 6.02
/// dB more per doubling, 23 dBm at most, -40 dBm at least.
#[test]
fn the_open_loop_makes_up_for_the_path_loss() {
    for (d, pusch, srs) in [
        (0.0, -40.0, -40.0),
        (100.0, 2.9539, 5.9539),
        (200.0, 8.9745, 11.9745),
        (400.0, 14.9951, 17.9951),
        (600.0, 18.5169, 21.5169),
        (800.0, 21.0157, 23.0),
        (1000.0, 22.9539, 23.0),
        (1200.0, 23.0, 23.0),
    ] {
        close(powers(&mut Run::new(&cell(d, ClosedLoop::Accumulated), 1)), (pusch, srs), &format!("{d} m"));
    }
}

#[test]
fn absolute_commands_count_from_the_open_loop() {
    let mut run = Run::new(&cell(100.0, ClosedLoop::Absolute), 1);
    for (command, pusch) in [(0, -1.0461), (1, 1.9539), (2, 3.9539), (3, 6.9539)] {
        run.network.command_power(Tti(0), UeId::from_index(0), command, 25);
        close(powers(&mut run), (pusch, pusch + 3.0), &format!("command {command}"));
    }
}

/// From -17.0461 dBm at 10 m: commands 0 to 3 are -1, 0, 1 and 3 dB and accumulate; below the floor
/// none does.
#[test]
fn accumulated_commands_add_up() {
    let mut run = Run::new(&cell(10.0, ClosedLoop::Accumulated), 1);
    close(powers(&mut run), (-17.0461, -14.0461), "start");
    for (times, command, expected) in [
        (20, 0, (-37.0461, -34.0461)),
        (20, 0, (-40.0, -37.0461)),
        (1, 2, (-39.0461, -36.0461)),
        (10, 3, (-9.0461, -6.0461)),
        (15, 2, (5.9539, 8.9539)),
        (1, 3, (8.9539, 11.9539)),
    ] {
        for _ in 0..times {
            run.network.command_power(Tti(0), UeId::from_index(0), command, 25);
        }
        close(powers(&mut run), expected, &format!("{times} x {command}"));
    }
}

/// Two eNBs, each with a UE at d1 from it and d2 from the other, 10 dBm without power control, all
/// of 25 blocks; noise figure 5 dB. SINR = g(d1) / (g(d2) + N) with g by Friis at 1930 MHz;
/// published linear values (MCS by Piro's formula).
#[test]
fn two_cells_meet_in_the_uplink_as_in_the_reference() {
    for (d1, d2, sinr, mcs) in [
        (50.0, 50.0, 0.999_907, 2),
        (50.0, 100.0, 3.998_520, 6),
        (50.0, 200.0, 15.976_339, 14),
        (50.0, 1000.0, 385.718_468, 28),
        (50.0, 1e4, 8_505.970_614, 28),
        (50.0, 1e5, 10_774.181_090, 28),
        (50.0, 1e6, 10_802.988_445, 28),
    ] {
        let found = received_sinr(d1, d2);
        // ns-3 uses c = 3e8 and a noise density of its own: 1.5e-3.
        assert!((found / sinr - 1.0).abs() < 2e-3, "{d1} {d2}: {found}, expected {sinr}");
        let config = two_cells(d1, d2);
        let adaptation = lasthop_lte::mac::uplink::UplinkAdaptation::new(
            config.cells.iter().next().unwrap().uplink.amc.mode(25),
            28,
        );
        assert_eq!(adaptation.mcs(lasthop_engine::math::db(found) as f32), Some(mcs), "{d1} {d2}");
    }
}

/// The layout of ns-3's test: eNBs and UEs such that each UE is d1 from its eNB, d2 from the other.
fn two_cells(d1: f64, d2: f64) -> NetworkConfig {
    let mut config = friis_cell(&[0.0]);
    let mut second = config.cells.iter().next().unwrap().clone();
    // On a line: UE1 at 0; its eNB at -d1; the other eNB at d2; UE2 mirrored about the middle of
    // the eNBs.
    let at = |x: f64| [Metres(x), Metres(0.0), Metres(0.0)];
    second.radio.position = at(d2);
    let other = config.cells.push(second);
    let mut ue = config.ues.iter().next().unwrap().clone();
    ue.serving = other;
    ue.radio.position = at(d2 - d1);
    config.ues.push(ue);
    config.cells.iter_mut().next().unwrap().radio.position = at(-d1);
    config.ues.iter_mut().next().unwrap().radio.position = at(0.0);
    // UE2 is d1 from its eNB (at d2) and d2 from the first one (at -d1).
    for cell in config.cells.iter_mut() {
        cell.uplink.power_control.enabled = false;
        // As in the reference: the whole band for any power of the UE.
        cell.uplink.power_aware = false;
        cell.uplink.pucch_blocks = 0;
        cell.uplink.amc = lasthop_lte::mac::downlink::AmcConfig::Piro(Default::default());
    }
    for ue in config.ues.iter_mut() {
        ue.radio.power = Dbm(10.0);
        ue.full_buffer = [false, true];
    }
    config
}

/// SINR at the first eNB of its UE while both UEs transmit on the whole band, by the network's
/// statistics.
fn received_sinr(d1: f64, d2: f64) -> f64 {
    let config = two_cells(d1, d2);
    let mut run = Run::new(&config, 1);
    run.until(50);
    f64::from(run.network.reading(Instant::from_millis(49), UeId::from_index(0)).uplink_sinr()[0])
}

/// One UE with 23 dBm and a full buffer, 25 blocks for it, free space: its power is the limit, not
/// the band. With all of its power on one block it has the SINR S; on n blocks 10 log10 n less.
/// SINRs for 10 % errors of a block of 256 bits: MCS 0 -6.48, 1 -5.53, 2 -5.08, 3 -3.72, 4 -2.65, 5
/// -1.63, 6 -0.75, 7 0.48 dB. Bits by TS 36.213 table 7.1.7.2.1-1:
///
/// * S = 12 dB: 25 blocks -1.98 dB, MCS 4, 1800; 20 -1.01, MCS 5, 1736; **18 -0.55, MCS 6, 1864**;
///   16 -0.04, MCS 6, 1672
/// * S = 6 dB: 16 blocks -6.04 dB, MCS 0, 424; **12 -4.79, MCS 2, 520**; 9 -3.54, MCS 3, 504; 5
///   -0.99, MCS 5, 424
/// * S = 0 dB: 4 blocks -6.02 dB, MCS 0, 88; **3 -4.77, MCS 2, 144**; 2 -3.01, MCS 3, 104; 1 0, MCS
///   5, 72
/// * S = -5 dB: **1 block, MCS 2, 32**
///
/// Headroom is reported in whole decibels downwards, and smaller blocks need half a decibel more,
/// those of some tens of bits one: the next smaller number of blocks is right too. One block in ten
/// is sent twice. 25 blocks are below the lowest MCS at 6 dB and less: an eNB that does not take
/// the UEs' power into account grants nothing there.
#[test]
fn a_ue_at_its_largest_power_gets_the_blocks_on_which_it_carries_most() {
    for (snr, least, most) in
        [(12.0, 1672.0, 1864.0), (6.0, 424.0, 520.0), (0.0, 88.0, 144.0), (-5.0, 16.0, 32.0)]
    {
        // Noise in a block: -174 + 10 log10(180e3) + 5 = -116.45 dBm; Friis at 1930 MHz: 38.16 dB
        // at 1 m.
        let d = lasthop_engine::math::pow(10.0, (23.0 + 116.45 - snr - 38.16) / 20.0);
        let mut config = friis_cell(&[d]);
        for cell in config.cells.iter_mut() {
            cell.uplink = CellProfile::Lasthop.uplink();
            cell.uplink.pucch_blocks = 0;
            cell.uplink.control_errors = false;
        }
        config.ues.iter_mut().for_each(|ue| (ue.radio.power, ue.full_buffer) = (Dbm(23.0), [false, true]));
        let mut run = Run::new(&config, 1);
        run.until(500);
        let before = run.network.view().link_stats(UeId::from_index(0), Direction::Uplink).decoded_bytes;
        run.until(2500);
        let stats = *run.network.view().link_stats(UeId::from_index(0), Direction::Uplink);
        let found = (stats.decoded_bytes - before) as f64 * 8.0 / 2000.0;
        assert!(
            (0.9 * least..=most).contains(&found),
            "{snr} dB: {found} bits a TTI, expected {least} to {most}"
        );
        let share = stats.errors as f64 / stats.ttis as f64;
        assert!(share < 0.15, "{snr} dB: {share} of the transmissions fail");
    }
}

/// Each of two cells receives its UE at 16 times the power of the other cell's (12 dB), far above
/// the noise (40 dB): sounding signals alone would allow the largest MCS. The interference that the
/// cell measures allows MCS 17 or 18 (10.1 to 10.7 dB for 10 % errors at 12.04 dB) up to 19 (11.2
/// to 11.5), and not 20 (12.1 to 12.5), without any outer loop.
#[test]
fn link_adaptation_counts_the_interference_that_the_cell_measures() {
    let mut config = two_cells(50.0, 200.0);
    for cell in config.cells.iter_mut() {
        let amc = CellProfile::Lasthop.uplink().amc;
        (cell.uplink.amc, cell.uplink.control_errors) = (amc, false);
        cell.uplink.outer_loop.enabled = false;
    }
    let mut run = Run::new(&config, 1);
    let of = |run: &Run, ue: usize| *run.network.view().link_stats(UeId::from_index(ue), Direction::Uplink);
    run.until(400);
    let before = [of(&run, 0), of(&run, 1)];
    run.until(1400);
    for (ue, before) in before.into_iter().enumerate() {
        let after = of(&run, ue);
        let blocks = after.blocks - before.blocks;
        let mcs = (after.mcs_sum - before.mcs_sum) as f64 / blocks as f64;
        let errors = (after.errors - before.errors) as f64 / (after.ttis - before.ttis) as f64;
        assert!((17.0..=19.0).contains(&mcs), "UE {ue}: MCS {mcs}");
        // 10 % and three standard deviations of 1000 blocks.
        assert!(errors < 0.13, "UE {ue}: {errors} of the blocks fail");
    }
}

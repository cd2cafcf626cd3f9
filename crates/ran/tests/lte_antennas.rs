//! Cells and UEs with several antennas: closed forms, and what many cells carry beside the verification of E-UTRA.

#[path = "lte/cell.rs"]
#[allow(dead_code, reason = "what other tests use")]
mod cell;
#[path = "../examples/layout57/mod.rs"]
mod layout57;

use cell::{Run, friis_cell};
use lasthop_ran::network::CellConfig;
use lasthop_units::{Id, UeId};

/// Without fading all antennas receive the same: n antennas have n times the SNR in both directions, 3.01 and 6.02 dB.
#[test]
fn antennas_without_fading_add_their_power() {
    let sinr = |antennas: u32, uplink: bool| {
        // 4.4 dB of one antenna in the uplink: the effective SINR is that of the blocks.
        let mut config = friis_cell(&[10_000.0]);
        for cell in config.cells.iter_mut() {
            cell.radio.receive_antennas = antennas;
            // All of the band with all of the power, however many antennas.
            (cell.uplink.power_aware, cell.uplink.power_control.enabled) = (false, false);
        }
        for ue in config.ues.iter_mut() {
            ue.radio.receive_antennas = antennas;
            ue.full_buffer = [!uplink, uplink];
        }
        let mut run = Run::new(&config, 1);
        run.until(50);
        let s = if uplink { *run.network.uplink_stats(UeId::from_index(0)) } else { run.stats(0) };
        s.sinr_db_sum / s.sinr_count as f64
    };
    for uplink in [false, true] {
        let one = sinr(1, uplink);
        for (antennas, gain) in [(2, 3.0103), (4, 6.0206)] {
            let more = sinr(antennas, uplink) - one;
            assert!((more - gain).abs() < 0.01, "{antennas} antennas, uplink {uplink}: {more} dB");
        }
    }
}

/// The keys refuse what no array has.
#[test]
fn numbers_of_antennas_are_one_two_or_four() {
    let mut cell = CellConfig::default();
    cell.radio.receive_antennas = 3;
    assert_eq!(cell.validate().unwrap_err().key, "radio.receive_antennas");
}

/// Mean [bit/s/Hz/cell] and 5 % point over UEs [bit/s/Hz] of 21 sectors with ten UEs in each, full buffers, half a second.
fn spectral_efficiency(uplink: bool, cell: &CellConfig, receive: u32) -> (f64, f64) {
    let mut ue = layout57::ue();
    ue.full_buffer = [!uplink, uplink];
    ue.radio.receive_antennas = receive;
    let mut config = layout57::cells(1, layout57::antenna(false), cell);
    layout57::drop_ues(&mut config, 7, 10, &ue, 1);
    let mut run = Run::new(&config, 1);
    let bytes = |run: &Run| -> Vec<u64> {
        let of = |i| match uplink {
            true => run.network.uplink_stats(UeId::from_index(i)).decoded_bytes,
            false => run.network.downlink_stats(UeId::from_index(i)).decoded_bytes,
        };
        (0..config.ues.len()).map(of).collect()
    };
    run.until(300);
    let before = bytes(&run);
    run.until(800);
    let mut rates: Vec<f64> =
        bytes(&run).iter().zip(before).map(|(a, b)| (a - b) as f64 * 8.0 / 0.5 / 10e6).collect();
    rates.sort_by(f64::total_cmp);
    (rates.iter().sum::<f64>() / config.cells.len() as f64, rates[rates.len() / 20])
}

/// The verification of E-UTRA (R1-072261), uplink 1x2, case 1, ten UEs a cell, full buffers: mean 0.735 bit/s/Hz/cell, 5 % point 0.024
/// bit/s/Hz. Default power control, two antennas, maximum-ratio combining. 57 sectors and longer runs are in
/// `docs/concepts/lte-many-cells.md`; here 210 UEs for half a second, of whose 5 % point (the tenth UE) drops differ by a third.
#[test]
fn the_default_uplink_of_many_cells_carries_what_the_verification_says() {
    let mut cell = CellConfig::default();
    cell.radio.receive_antennas = 2;
    let (mean, edge) = spectral_efficiency(true, &cell, 1);
    assert!((mean / 0.735 - 1.0).abs() < 0.2, "mean {mean}");
    assert!((edge / 0.024 - 1.0).abs() < 0.4, "5 % point {edge}");
}

/// A link fades as it did when antennas are added elsewhere: the cell's second antenna changes nothing in the downlink of a UE with one.
#[test]
fn antennas_of_the_uplink_leave_the_downlink_alone() {
    let run = |antennas: u32| {
        let mut cell = CellConfig::default();
        cell.radio.receive_antennas = antennas;
        let mut ue = layout57::ue();
        ue.full_buffer = [true, false];
        let mut config = layout57::cells(0, layout57::antenna(false), &cell);
        layout57::drop_ues(&mut config, 1, 2, &ue, 1);
        let mut run = Run::new(&config, 1);
        run.until(100);
        (0..config.ues.len()).map(|i| run.stats(i)).collect::<Vec<_>>()
    };
    assert_eq!(run(1), run(2));
}

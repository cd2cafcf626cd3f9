//! ns-3's reference throughputs of the uplink (lte-*-ff-mac-scheduler tests), tolerance 10 %.
//!
//! By Friis at 1930 MHz, 23 dBm over 25 blocks, noise figure 5 dB, the SINR is 13.684, 11.746,
//! 7.309 and 1.288 dB at 4800, 6000, 10 000 and 20 000 m. Piro's formula gives 2.385, 1.889, 0.981
//! and 0.314 bit per symbol, so CQI 8, 7, 5, 2 and MCS 14, 12, 8, 2 (I_TBS 13, 11, 8, 2); at 0 m 28
//! (26). Over 25 blocks that is TBS / 8 a TTI: 807, 621, 437, 137 and 2292 bytes. n UEs get
//! floor(25 / n) blocks each, at least 3, so that at most 8 are served in a TTI, in turn.

use lasthop_bearer::Direction;
use lasthop_lte::network::NetworkConfig;
use lasthop_lte::network::config::CellProfile;
use lasthop_units::{Dbm, Id, Metres, UeId};

use super::setup::{Run, friis_cell};

fn cell(d: f64, n: usize) -> NetworkConfig {
    let mut config = friis_cell(&vec![d; n]);
    for ue in config.ues.iter_mut() {
        ue.full_buffer = [false, true];
        ue.radio.power = Dbm(23.0);
    }
    for cell in config.cells.iter_mut() {
        cell.uplink = CellProfile::Ns3Release44.uplink();
        cell.uplink.data_errors = false;
        cell.uplink.power_control.enabled = false;
    }
    config
}

/// Bytes per second of each UE from 0.3 s to 0.9 s.
fn rates(config: &NetworkConfig) -> Vec<f64> {
    let mut run = Run::new(config, 1);
    let decoded = |run: &Run| -> Vec<u64> {
        (0..config.ues.len())
            .map(|u| run.network.view().link_stats(UeId::from_index(u), Direction::Uplink).decoded_bytes)
            .collect()
    };
    run.until(300);
    let before = decoded(&run);
    run.until(900);
    decoded(&run).iter().zip(before).map(|(after, before)| (after - before) as f64 / 0.6).collect()
}

#[test]
fn shares_of_the_uplink_are_those_of_the_reference() {
    for (d, expected) in [
        (0.0, [2_292_000.0, 749_000.0, 373_000.0, 246_220.0, 184_670.0, 147_730.0]),
        (4800.0, [807_000.0, 253_000.0, 125_000.0, 82_667.0, 62_000.0, 49_600.0]),
        (6000.0, [621_000.0, 201_000.0, 97_000.0, 64_889.0, 48_667.0, 38_993.0]),
        (20_000.0, [137_000.0, 41_000.0, 22_000.0, 16_000.0, 12_000.0, 9_600.0]),
    ] {
        for (n, expected) in [1, 3, 6, 9, 12, 15].into_iter().zip(expected) {
            for (ue, rate) in rates(&cell(d, n)).into_iter().enumerate() {
                assert!(
                    (rate - expected).abs() <= 0.1 * expected,
                    "{n} UEs at {d} m: UE {ue} has {rate:.0}, expected {expected:.0} byte/s"
                );
            }
        }
    }
}

/// Every new block has exactly the MCS of the derivation, and the blocks of a single UE exactly 25
/// resource blocks.
#[test]
fn the_mcs_of_the_uplink_is_that_of_the_derivation() {
    for (d, mcs, bytes) in
        [(0.0, 28, 2292), (4800.0, 14, 807), (6000.0, 12, 621), (10_000.0, 8, 437), (20_000.0, 2, 137)]
    {
        let config = cell(d, 1);
        let mut run = Run::new(&config, 1);
        run.until(200);
        let s = run.network.view().link_stats(UeId::from_index(0), Direction::Uplink);
        assert_eq!((s.mcs_sum, s.bytes), (mcs * s.blocks, bytes * s.blocks), "{d} m");
        // The first grant is in TTI 0 for TTI 4.
        assert_eq!(s.blocks, 196, "one block a TTI");
    }
}

/// At 100 km Piro's CQI is 0: there is no transmission.
#[test]
fn out_of_range_nothing_is_sent() {
    assert_eq!(rates(&cell(100_000.0, 3)), [0.0; 3]);
}

/// Lasthop's cell differs on purpose: the remainder of the division is allocated, and PUCCH takes
/// two blocks. Three UEs share 23 blocks as 6, 8, 9 in turn (7 is no size of SC-FDMA), where ns-3
/// gives each 8 of 25.
#[test]
fn the_default_cell_allocates_what_the_division_leaves() {
    let mut config = cell(6000.0, 3);
    for cell in config.cells.iter_mut() {
        cell.uplink = CellProfile::Lasthop.uplink();
        cell.uplink.data_errors = false;
        cell.uplink.power_control.enabled = false;
        cell.uplink.outer_loop.enabled = false;
    }
    let mut run = Run::new(&config, 1);
    run.until(1000);
    let blocks: u64 = (0..3)
        .map(|u| run.network.view().link_stats(UeId::from_index(u), Direction::Uplink).resource_blocks)
        .sum();
    assert_eq!(blocks, 996 * 23);
}

/// Six UEs with full buffers in a cell of six resource blocks, of which PUCCH takes two: four UEs
/// have one block each in a TTI. Proportional fair with constant rates gives each UE the same
/// share of blocks, 4 / 6, whatever its rate (R / T equal for all; S. Sesia, I. Toufik, M. Baker,
/// "LTE: the UMTS Long Term Evolution", clause 12.4). Maximum rate serves the three near UEs in
/// each TTI, and the far ones share the fourth block.
#[test]
fn policies_of_the_uplink_know_the_channel() {
    let blocks = |name: &str| -> Vec<f64> {
        let mut config = cell(0.0, 6);
        for (i, ue) in config.ues.iter_mut().enumerate() {
            ue.radio.position[0] = Metres(if i < 3 { 1000.0 } else { 40_000.0 });
        }
        for cell in config.cells.iter_mut() {
            cell.resource_blocks = 6;
            cell.uplink = CellProfile::Lasthop.uplink();
            cell.uplink.scheduler = name.parse().unwrap();
            cell.uplink.data_errors = false;
            cell.uplink.power_control.enabled = false;
            cell.uplink.outer_loop.enabled = false;
        }
        let mut run = Run::new(&config, 1);
        run.until(3000);
        let of = |u| run.network.view().link_stats(UeId::from_index(u), Direction::Uplink).resource_blocks;
        (0..6).map(|u| of(u) as f64 / 3000.0).collect()
    };
    for share in blocks("proportional-fair") {
        assert!((share - 4.0 / 6.0).abs() < 0.03, "proportional fair: {share}");
    }
    let found = blocks("fdmt");
    assert!(found[..3].iter().all(|near| *near > 0.99), "maximum rate: {found:?}");
    assert!(found[3..].iter().all(|far| (far - 1.0 / 3.0).abs() < 0.02), "maximum rate: {found:?}");
}

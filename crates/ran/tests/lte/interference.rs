//! ns-3's tests of interference and of what a CQI contains.
//!
//! Rows of SINR are tested beside the air itself (`phy/lte/air.rs`); here whole cells run.

use lasthop_engine::math::db;
use lasthop_ran::mac::lte::adaptation::CqiInterference;
use lasthop_ran::mac::lte::downlink::{AmcConfig, BlockRange, PiroConfig};
use lasthop_ran::network::NetworkConfig;
use lasthop_units::{CellId, Db, Id, Metres};

use super::cell::{Run, friis_cell};

/// Two cells and one UE each. `places`: x and y of cell 0, cell 1, UE 0, UE 1 [m].
fn two_cells(places: [(f64, f64); 4]) -> NetworkConfig {
    let mut config = friis_cell(&[0.0, 0.0]);
    let other = config.cells.iter().next().unwrap().clone();
    config.cells.push(other);
    let at = |(x, y)| [Metres(x), Metres(y), Metres(0.0)];
    for (cell, place) in config.cells.iter_mut().zip(places) {
        cell.radio.position = at(place);
    }
    for (i, (ue, place)) in config.ues.iter_mut().zip(&places[2..]).enumerate() {
        ue.radio.position = at(*place);
        ue.serving = CellId::from_index(i);
    }
    config
}

/// The one MCS that UE 0 is served with once reports of full load are in.
fn mcs(config: &NetworkConfig) -> u64 {
    let mut run = Run::new(config, 1);
    run.until(500);
    let before = run.stats(0);
    run.until(1000);
    let s = run.stats(0);
    let (sum, blocks) = (s.mcs_sum - before.mcs_sum, s.blocks - before.blocks);
    assert_eq!((blocks, sum % blocks), (500, 0));
    sum / blocks
}

/// ns-3 lte-test-interference: each cell serves a UE at d1, the other's is at d2; Piro's model. MCS exactly, and the SINR of
/// the data to 0.01 dB.
#[test]
fn two_cells_choose_the_mcs_of_the_reference() {
    for (d1, d2, sinr, expected) in [
        (50.0, 50.0, 0.999_997, 2),
        (50.0, 100.0, 3.999_955, 6),
        (50.0, 200.0, 15.999_282, 14),
        (50.0, 1000.0, 399.551_632, 28),
        (50.0, 1e4, 35_964.181_431, 28),
        (50.0, 1e6, 356_132.574_152, 28),
    ] {
        // Cells d2 apart on the x axis, the UEs d1 aside: the other cell is at sqrt(d1^2 + d2'^2) = d2.
        let apart = f64::sqrt(d2 * d2 - d1 * d1);
        let mut config = two_cells([(0.0, 0.0), (apart, 0.0), (0.0, d1), (apart, d1)]);
        for interference in [CqiInterference::Reference, CqiInterference::Data] {
            for cell in config.cells.iter_mut() {
                cell.downlink.amc = AmcConfig::Piro(PiroConfig::default());
                cell.downlink.cqi.interference = interference;
            }
            assert_eq!(mcs(&config), expected, "{d1} {d2} {interference:?}");
            let mut run = Run::new(&config, 1);
            run.until(1000);
            let s = run.stats(0);
            let mean = s.sinr_db_sum / s.sinr_count as f64;
            // Beyond 42 dB the mutual information is 1 and has no inverse.
            let expected = db(sinr).min(42.0);
            assert!(
                expected > 20.0 || (mean - expected).abs() < 0.01,
                "{d1} {d2}: {mean} dB, expected {expected}"
            );
        }
    }
}

/// ns-3 lte-cqi-generation: two cells 1000 m apart, both UEs in the middle, each cell on 12 blocks of its own. Control channels
/// and reference signals meet the other cell's (0 dB): MCS 4. The data do not: MCS 28.
#[test]
fn a_cqi_of_data_sees_frequency_reuse_and_one_of_reference_signals_does_not() {
    let mut config = two_cells([(0.0, 0.0), (1000.0, 0.0), (500.0, 0.0), (500.0, 0.0)]);
    for (cell, first) in config.cells.iter_mut().zip([0, 12]) {
        cell.downlink.blocks = Some(BlockRange { first, count: 12 });
    }
    for (interference, expected) in [(CqiInterference::Reference, 4), (CqiInterference::Data, 28)] {
        for cell in config.cells.iter_mut() {
            cell.downlink.cqi.interference = interference;
        }
        assert_eq!(mcs(&config), expected, "{interference:?}");
    }
}

/// ns-3 lte-cqi-generation with downlink power control: both UEs in the middle, all blocks in use by both cells, P_A of the
/// serving and of the other cell's UE [dB]. The SINR is their difference, less 0.001 dB of noise. The largest MCS on 2 blocks is
/// 6 at 0 dB, 9 at 3, 12 at 6, 13 at 7, 15 at 8, 16 at 9 dB, and ns-3's CQI lies strictly below.
#[test]
fn p_a_raises_the_own_signal_and_lowers_the_neighbours() {
    for (own, other, expected) in [
        (0.0, 0.0, 4),
        (0.0, -3.0, 8),
        (0.0, -6.0, 10),
        (1.0, -6.0, 12),
        (2.0, -6.0, 14),
        (3.0, -6.0, 14),
        (3.0, 0.0, 8),
    ] {
        let mut config = two_cells([(0.0, 0.0), (1000.0, 0.0), (500.0, 0.0), (500.0, 0.0)]);
        for cell in config.cells.iter_mut() {
            cell.downlink.cqi.interference = CqiInterference::Data;
        }
        // Another UE 50 m from the other cell: that cell sends even where its UE in the middle is out of range.
        let mut near = config.ues.iter().last().unwrap().clone();
        near.radio.position[0] = Metres(1050.0);
        config.ues.push(near);
        for (ue, p_a) in config.ues.iter_mut().zip([own, other, other]) {
            ue.radio.p_a = Db(p_a);
        }
        assert_eq!(mcs(&config), expected, "P_A {own} and {other} dB");
    }
}

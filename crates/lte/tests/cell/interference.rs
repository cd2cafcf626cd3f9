//! ns-3's tests of interference and of the interference in a CQI.
//!
//! Rows of SINR are tested with the radio channel itself (`src/phy/air/tests.rs`); here whole cells
//! run.

use lasthop_engine::math::db;
use lasthop_lte::mac::adaptation::CqiInterference;
use lasthop_lte::mac::downlink::{AmcConfig, PiroConfig};
use lasthop_lte::mac::reuse::{BlockRange, ReuseConfig, SoftReuse, StrictReuse};
use lasthop_lte::network::NetworkConfig;
use lasthop_units::{CellId, Db, Dbm, Id, Metres};

use super::setup::{Run, friis_cell};

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

/// The one MCS of UE 0 after reports of full load have been received.
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

/// ns-3 lte-test-interference: each cell serves a UE at d1, the other's is at d2; Piro's model. MCS
/// exactly, and the SINR of the data to 0.01 dB.
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
        // Cells d2' apart on the x axis, each UE d1 beside its cell: the other cell is at sqrt(d1^2
        // + d2'^2) = d2.
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

/// ns-3 lte-cqi-generation: two cells 1000 m apart, both UEs in the middle, each cell on 12 blocks
/// of its own. Control channels and reference signals of the cells interfere (0 dB): MCS 4. The
/// data do not: MCS 28.
#[test]
fn a_cqi_of_data_reflects_frequency_reuse_and_one_of_reference_signals_does_not() {
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

/// ns-3 lte-cqi-generation with downlink power control: both UEs in the middle, all blocks in use
/// by both cells, P_A of the serving and of the other cell's UE [dB]. The SINR is their difference,
/// less 0.001 dB of noise. The largest MCS on 2 blocks is 6 at 0 dB, 9 at 3, 12 at 6, 13 at 7, 15
/// at 8, 16 at 9 dB, and ns-3's CQI is strictly below.
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
        // Another UE 50 m from the other cell: that cell transmits even where its UE in the middle
        // is out of range.
        let mut near = config.ues.iter().last().unwrap().clone();
        near.radio.position[0] = Metres(1050.0);
        config.ues.push(near);
        for (ue, p_a) in config.ues.iter_mut().zip([own, other, other]) {
            ue.radio.p_a = Db(p_a);
        }
        assert_eq!(mcs(&config), expected, "P_A {own} and {other} dB");
    }
}

/// Two cells 1000 m apart; UEs 0 and 1, one of each cell, in the middle (geometry 0 dB), UEs 2 and
/// 3 200 m from their cells, of 10 dBm. Mean
/// SINR [dB] and resource blocks per TTI of each over a second of full load.
fn with_reuse(reuse: [ReuseConfig; 2], schedulers: &str) -> Vec<(f64, f64)> {
    let mut config = two_cells([(0.0, 0.0), (1000.0, 0.0), (500.0, 0.0), (500.0, 0.0)]);
    for (x, serving) in [(200.0, 0), (800.0, 1)] {
        let mut ue = config.ues.iter().next().unwrap().clone();
        (ue.radio.position[0], ue.serving) = (Metres(x), CellId::from_index(serving));
        config.ues.push(ue);
    }
    for (cell, reuse) in config.cells.iter_mut().zip(reuse) {
        cell.radio.power = Dbm(10.0);
        cell.downlink.scheduler = schedulers.parse().unwrap();
        cell.downlink.cqi.interference = CqiInterference::Data;
        cell.downlink.reuse = Some(reuse);
    }
    let mut run = Run::new(&config, 1);
    run.until(200);
    let before: Vec<_> = (0..4).map(|u| run.stats(u)).collect();
    run.until(1200);
    let mean = |(u, b): (usize, &lasthop_lte::mac::downlink::LinkStats)| {
        let s = run.stats(u);
        let sinr = (s.sinr_db_sum - b.sinr_db_sum) / (s.sinr_count - b.sinr_count) as f64;
        (sinr, (s.resource_blocks - b.resource_blocks) as f64 / (s.ttis - b.ttis) as f64)
    };
    before.iter().enumerate().map(mean).collect()
}

/// SINR [dB] of signal to interference `sir` [dB] and to noise at `d` m: 10 dBm - 10 log10 25 - 20
/// log10(4 pi d 2120 MHz / c) + 112.45 dBm of noise in a block at a noise figure of 9 dB. At 500 m
/// that is 15.52 dB, at 200 m 23.48 dB.
fn sinr(sir: f64, d: f64) -> f64 {
    let loss = 2.0 * db(4.0 * std::f64::consts::PI * d * 2120e6 / 3e8);
    let snr = 10.0 - db(25.0) - loss - (-174.0 + db(180e3) + 9.0);
    -db(1.0 / lasthop_radio::linear(Db(sir)) + 1.0 / lasthop_radio::linear(Db(snr)))
}

/// Strict reuse. The edge has no interference; the centre has that of the neighbour's centre: 20
/// log10(800 / 200) = 12.04 dB. The zones keep to their blocks: 12 in the centre, 6 at the edge.
#[test]
fn strict_reuse_keeps_the_edges_apart() {
    assert!((sinr(300.0, 500.0) - 15.52).abs() < 0.01);
    let cell = |first| {
        let [common, edge] = [(0, 12), (first, 6)].map(|(first, count)| BlockRange { first, count });
        let (threshold, centre_p_a, edge_p_a) = (Db(3.0), Db(0.0), Db(0.0));
        ReuseConfig::Strict(StrictReuse { common, edge, threshold, rsrq: None, centre_p_a, edge_p_a })
    };
    for scheduler in ["proportional-fair", "round-robin", "fd-bet", "tdmt"] {
        let found = with_reuse([cell(12), cell(18)], scheduler);
        for (ue, (seen, blocks)) in found.into_iter().enumerate() {
            let (expected, most) =
                if ue < 2 { (sinr(300.0, 500.0), 6.0) } else { (sinr(12.04, 200.0), 12.0) };
            assert!((seen - expected).abs() < 0.02, "{scheduler}, UE {ue}: {seen} dB, expected {expected}");
            assert_eq!(blocks, most, "{scheduler}, UE {ue}");
        }
    }
}

/// Soft reuse, P_A -6 dB in the centre. On the blocks of the edge the neighbour serves its centre:
/// 6 dB in the middle of the two (without reuse 0 dB). The centre has 16 blocks: on 8 of them the
/// neighbour's edge interferes at full power, 12.04 - 6 dB, on 8 its centre, 12.04 dB; the centre's
/// own signal has 6 dB less power.
#[test]
fn soft_reuse_makes_the_neighbours_edge_quiet() {
    // The same by RSRQ: a geometry of 3 dB is 2 / (12 * 3) = -12.55 dB; the middle has 1/24 = -13.8
    // dB.
    for (threshold, rsrq) in [(Db(3.0), None), (Db(-50.0), Some(Db(-12.55)))] {
        soft_reuse(threshold, rsrq);
    }
}

fn soft_reuse(threshold: Db, rsrq: Option<Db>) {
    let cell = |first| {
        let edge = BlockRange { first, count: 8 };
        let (centre_p_a, edge_p_a) = (Db(-6.0), Db(0.0));
        ReuseConfig::Soft(SoftReuse { edge, centre_everywhere: false, threshold, rsrq, centre_p_a, edge_p_a })
    };
    let found = with_reuse([cell(0), cell(8)], "proportional-fair");
    // 6 dB less signal with the same noise: as at a distance of 400 m.
    let centre = [sinr(6.04, 399.0), sinr(12.04, 399.0)];
    for (ue, (seen, blocks)) in found.into_iter().enumerate() {
        if ue < 2 {
            assert!((seen - sinr(6.0, 500.0)).abs() < 0.02, "UE {ue}: {seen} dB");
        } else {
            assert!(centre[0] < seen && seen < centre[1], "UE {ue}: {seen} dB, not within {centre:?}");
        }
        assert_eq!(blocks, if ue < 2 { 8.0 } else { 16.0 }, "UE {ue}");
    }
}

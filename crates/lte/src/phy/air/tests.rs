//! Two cells and two UEs as in ns-3, and the effect of fading.

use super::super::propagation::{CellRadioConfig, RadioConfig, UeRadioConfig};
use super::*;
use crate::phy::{NUMEROLOGY, TTI};
use lasthop_cell::Numerology;
use lasthop_engine::math::db;
use lasthop_radio::Mobility;
use lasthop_units::{Duration, Id, Metres, Speed};

/// (299 792 458 / 3e8)^2 is 0.9986.
const C: f64 = 1.5e-3;

/// Two cells, each with a UE at distance `d1`, `d2` from the other one, all on the ground in free
/// space.
fn two_cells(d1: f64, d2: f64) -> Air {
    two_cells_of(25, NUMEROLOGY, Dbm(30.0), d1, d2)
}

/// Two cells with so many blocks, which share the power of a cell.
fn two_cells_of<const WORDS: usize>(
    blocks: u32,
    numerology: Numerology,
    power: Dbm,
    d1: f64,
    d2: f64,
) -> Air<WORDS> {
    let cell = CellAir { power, noise_figure: Db(5.0), blocks };
    let ue = UeAir { noise_figure: Db(9.0), pinned_sinr: None };
    // Cells `apart` on the x axis, each UE at a right angle to it.
    let apart = (d2 * d2 - d1 * d1).sqrt();
    let at = |x: f64, y: f64| [Metres(x), Metres(y), Metres(0.0)];
    let cells = [at(0.0, 0.0), at(apart, 0.0)]
        .map(|position| CellRadioConfig { position, ..CellRadioConfig::default() });
    let ues =
        [at(0.0, d1), at(apart, d1)].map(|position| UeRadioConfig { position, ..UeRadioConfig::default() });
    let Numerology { tti, .. } = numerology;
    let propagation = Propagation::new(&RadioConfig::default(), tti, cells.iter(), ues.iter(), 1);
    Air::new(&[cell.clone(), cell], &[ue.clone(), ue], numerology.block(), propagation, None, 3, true)
}

/// Rows of ns-3's two-cell test: each of two cells serves one UE at d1, the other cell is at d2; 30
/// dBm and 10 dBm over 25 blocks, noise figures 9 and 5 dB. The formula is g(d1) / (g(d2) + N).
/// ns-3 has c = 3e8 m/s, this project 299 792 458: where noise matters that is 0.14 %, elsewhere
/// nothing; single precision leaves 1e-5.
#[test]
fn two_cells_interfere_as_the_reference_says() {
    let rows = [
        (50.0, 50.0, 0.999_997, 0.999_907),
        (50.0, 100.0, 3.999_955, 3.998_520),
        (50.0, 200.0, 15.999_282, 15.976_339),
        (50.0, 1000.0, 399.551_632, 385.718_468),
        (50.0, 1e4, 35_964.181_431, 8_505.970_614),
        (50.0, 1e5, 327_284.773_828, 10_774.181_090),
        (50.0, 1e6, 356_132.574_152, 10_802.988_445),
    ];
    let (cells, ues) = ([0, 1].map(CellId::from_index), [0, 1].map(UeId::from_index));
    let all = RbSet::range(0, 25);
    for (d1, d2, down, up) in rows {
        let mut air = two_cells(d1, d2);
        for i in [0, 1] {
            air.cell_transmits(Tti(7), cells[i], all, 1.0);
            air.ue_transmits(Tti(7), ues[i], all, Dbm(10.0));
        }
        for i in [0, 1] {
            let row = air.downlink(Tti(7), cells[i], ues[i], all).to_vec();
            assert!(row.len() == 25 && row.iter().all(|s| (f64::from(*s) / down - 1.0).abs() < C), "{row:?}");
            assert_eq!(air.reference(Tti(7), cells[i], ues[i], all, false)[3], row[3]);
            assert_eq!(air.reference(Tti(7), cells[i], ues[i], all, true)[3], row[3]);
            let row = air.uplink(Tti(7), cells[i], ues[i], all);
            assert!(row.len() == 25 && row.iter().all(|s| (f64::from(*s) / up - 1.0).abs() < C), "{row:?}");
        }
    }
}

/// Hard frequency reuse: at any distance the other cell uses other blocks. 356449.932732 and
/// 10803.280215, the row without interference.
#[test]
fn only_the_blocks_that_are_used_interfere() {
    let (cells, ues) = ([0, 1].map(CellId::from_index), [0, 1].map(UeId::from_index));
    let mut air = two_cells(50.0, 50.0);
    let halves = [RbSet::range(0, 12), RbSet::range(12, 13)];
    for i in [0, 1] {
        air.cell_transmits(Tti(1), cells[i], halves[i], 1.0);
        // All of the UE's power over the blocks that it uses, so that a block has the power that it
        // has in the reference.
        let power = Dbm(10.0 + db(f64::from(halves[i].len()) / 25.0));
        air.ue_transmits(Tti(1), ues[i], halves[i], power);
    }
    for i in [0, 1] {
        let down = f64::from(air.downlink(Tti(1), cells[i], ues[i], halves[i])[0]);
        let up = f64::from(air.uplink(Tti(1), cells[i], ues[i], halves[i])[0]);
        assert!(
            (down / 356_449.932_732 - 1.0).abs() < C && (up / 10_803.280_215 - 1.0).abs() < C,
            "{down} {up}"
        );
    }
    // In the next TTI no cell sends data; reference signals are always sent.
    let silent = f64::from(air.reference(Tti(2), cells[0], ues[0], RbSet::range(0, 25), true)[0]);
    let full = f64::from(air.reference(Tti(2), cells[0], ues[0], RbSet::range(0, 25), false)[0]);
    assert!((silent / 356_449.932_732 - 1.0).abs() < C && (full - 0.999_997).abs() < 1e-5);
    // The TTI before is still stored: on the upper half the other cell interferes.
    assert!(air.reference(Tti(1), cells[0], ues[0], RbSet::range(0, 25), true)[20] < 1.1);
}

/// 273 blocks of 360 kHz (NR, 100 MHz at 30 kHz: TS 38.101-1 table 5.3.2-1), each with twice the
/// power and twice the noise of the reference's blocks: the SINRs are those of its rows, with and
/// without interference, block by block. Interference is on both sides of block 128, the boundary
/// between two words of a set.
#[test]
fn a_carrier_of_nr_is_as_the_reference_too() {
    let (cells, ues) = ([0, 1].map(CellId::from_index), [0, 1].map(UeId::from_index));
    let numerology = Numerology { tti: Duration::from_micros(500), subcarrier: Hertz(30e3) };
    let over = |dbm: f64, blocks: f64| Dbm(dbm + db(2.0 * blocks / 25.0));
    let mut air = two_cells_of::<3>(273, numerology, over(30.0, 273.0), 50.0, 1000.0);
    let (all, part) = (RbSet::range(0, 273), RbSet::range(100, 150));
    for (i, rbs) in [all, part].into_iter().enumerate() {
        air.cell_transmits(Tti(7), cells[i], rbs, 1.0);
        air.ue_transmits(Tti(7), ues[i], rbs, over(10.0, f64::from(rbs.len())));
    }
    let down = air.downlink(Tti(7), cells[0], ues[0], all).to_vec();
    let up = air.uplink(Tti(7), cells[0], ues[0], all).to_vec();
    assert_eq!([down.len(), up.len()], [273, 273]);
    for b in 0..273 {
        let shared = part.contains(b);
        let expected = if shared { [399.551_632, 385.718_468] } else { [356_449.932_732, 10_803.280_215] };
        let found = [&down, &up].map(|row| f64::from(row[b as usize]));
        let close = found.iter().zip(expected).all(|(f, e)| (f / e - 1.0).abs() < C);
        assert!(close, "block {b}: {found:?} instead of {expected:?}");
    }
}

#[test]
fn a_pinned_link_has_the_sinr_that_it_is_given() {
    let cell = CellAir { power: Dbm(30.0), noise_figure: Db(5.0), blocks: 25 };
    let ue = UeAir { noise_figure: Db(9.0), pinned_sinr: Some(Db(10.0)) };
    let (cells, ues) = ([CellRadioConfig::default()], [UeRadioConfig::default()]);
    let propagation = Propagation::new(&RadioConfig::default(), TTI, cells.iter(), ues.iter(), 1);
    let mut air: Air = Air::new(&[cell], &[ue], NUMEROLOGY.block(), propagation, None, 3, false);
    let (cell, ue) = (CellId::from_index(0), UeId::from_index(0));
    assert_eq!(air.downlink(Tti(0), cell, ue, RbSet::range(3, 4)), [10.0; 4]);
    assert_eq!(air.reference(Tti(0), cell, ue, RbSet::range(0, 25), false), [10.0; 25]);
}

/// The gain of the uplink is that of the position of the downlink's gain, whenever it is asked for
/// while that holds: a UE that moves at 30 m/s, computed again after 10 TTIs.
#[test]
fn gains_of_both_carriers_are_of_one_position() {
    let ue = UeRadioConfig {
        mobility: Mobility::Linear { speed: Speed(30.0), heading: 0.3 },
        ..Default::default()
    };
    let radio = RadioConfig::default();
    let cells = [CellRadioConfig::default(); 2];
    let of = || Propagation::new(&radio, TTI, cells.iter(), [ue].iter(), 1);
    let (cell, id) = (CellId::from_index(1), UeId::from_index(0));
    let gains = |tti| of().gains(cell, id, Tti(tti)).0;
    let (air, device) = (
        CellAir { power: Dbm(30.0), noise_figure: Db(5.0), blocks: 25 },
        UeAir { noise_figure: Db(9.0), pinned_sinr: None },
    );
    let all = [air.clone(), air];
    let mut air: Air = Air::new(&all, &[device], NUMEROLOGY.block(), of(), None, 3, true);
    let [first, then] = [100, 110].map(gains);
    assert!(first.uplink != then.uplink && first.uplink != gains(107).uplink);
    assert_eq!(air.downlink_gain(Tti(100), cell, id), first.downlink);
    assert_eq!(air.uplink_gain(Tti(107), cell, id), first.uplink);
    assert_eq!(air.uplink_gain(Tti(109), cell, id), first.uplink);
    assert_eq!(air.uplink_gain(Tti(110), cell, id), then.uplink);
    assert_eq!(air.downlink_gain(Tti(115), cell, id), then.downlink);
}

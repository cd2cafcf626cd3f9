//! Effect of fading on the strongest interferers only: `cargo run --release -p lasthop-lte
//! --example faded_interferers`.
//!
//! TR 36.814 case 1: 19 sites of three sectors 500 m apart, wrapped around, every sector at full
//! power on 50 resource blocks, EVA at 3 km/h. UEs are in the sectors of the middle site. For 0, 1,
//! 2, 3, 6 and all 56 interfering links that fade the example prints lines `k,q,SINR of a
//! block,effective SINR [dB]` with the quantile q of both over UEs and moments, then lines
//! `k,rms,rms of a block,rms of the effective SINR [dB]` with the difference to all, moment by
//! moment: a link has the same fading for any number of other links that fade.

use lasthop_engine::{Draw, Purpose};
use lasthop_lte::network::{CellConfig, NetworkConfig, UeConfig};
use lasthop_lte::phy::air::{Air, CellAir, UeAir};
use lasthop_lte::phy::fading::FastFading;
use lasthop_lte::phy::{NUMEROLOGY, RbSet};
use lasthop_radio::layout::{WrapAround, hexagonal, in_sector};
use lasthop_radio::lte::{Modulation, mean_mi, sinr_db_of_mi};
use lasthop_radio::{Antenna, FadingProfile, PathLoss, decibels};
use lasthop_units::{CellId, Db, Id, Metres, Speed, Tti, UeId};

const ISD: f64 = 500.0;
const UES: usize = 600;
/// Moments of each UE, 600 ms (two wavelengths and a half at 3 km/h) apart.
const MOMENTS: u64 = 25;
const BLOCKS: u32 = 50;

fn main() {
    let config = case_1();
    let all = sinrs(&config, usize::MAX >> 1);
    for (name, k) in [("0", 0), ("1", 1), ("2", 2), ("3", 3), ("6", 6), ("all", usize::MAX >> 1)] {
        let some = if name == "all" { all.clone() } else { sinrs(&config, k) };
        let sorted = some.each_ref().map(|x| {
            let mut x = x.clone();
            x.sort_by(f64::total_cmp);
            x
        });
        for q in 1..100 {
            let at = |x: &[f64]| x[(x.len() - 1) * q / 100];
            println!("{name},{:.2},{:.4},{:.4}", q as f64 / 100.0, at(&sorted[0]), at(&sorted[1]));
        }
        let rms = |a: &[f64], b: &[f64]| {
            (a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>() / a.len() as f64).sqrt()
        };
        println!("{name},rms,{:.4},{:.4}", rms(&some[0], &all[0]), rms(&some[1], &all[1]));
    }
}

/// SINRs [dB] of blocks and of whole carriers when `k` interfering links fade.
fn sinrs(config: &NetworkConfig, k: usize) -> [Vec<f64>; 2] {
    let mut air = air(config, k);
    let (mut blocks, mut effective) = (Vec::new(), Vec::new());
    for ue in config.ues.ids() {
        let serving = config.ues[ue].serving;
        for i in 0..MOMENTS {
            let row = air.reference(Tti(600 * i), serving, ue, RbSet::range(0, BLOCKS), false);
            blocks.extend(row.iter().step_by(7).map(|s| decibels(f64::from(*s)).0));
            // 64QAM distinguishes SINRs from -10 to 25 dB.
            effective.push(sinr_db_of_mi(Modulation::Qam64, mean_mi(Modulation::Qam64, row)));
        }
    }
    [blocks, effective]
}

fn air(config: &NetworkConfig, k: usize) -> Air {
    let cells: Vec<CellAir> = config
        .cells
        .iter()
        .map(|c| CellAir { power: c.radio.power, noise_figure: c.radio.noise_figure, blocks: BLOCKS })
        .collect();
    let ues: Vec<UeAir> =
        config.ues.iter().map(|u| UeAir { noise_figure: u.radio.noise_figure, pinned_sinr: None }).collect();
    let fading = FastFading::new(
        NUMEROLOGY,
        config.radio.fading,
        cells.iter().map(|c| c.blocks),
        config.ues.iter().map(UeConfig::fading_speed),
        [config.radio.downlink, config.radio.uplink],
        1,
    );
    Air::new(&cells, &ues, NUMEROLOGY.block(), config.propagation(1), fading, k, false)
}

fn case_1() -> NetworkConfig {
    let mut config = NetworkConfig { wrap: Some(WrapAround::hexagonal(2, ISD)), ..NetworkConfig::default() };
    config.radio.path_loss = PathLoss::LogDistance {
        exponent: 3.76,
        reference_distance: Metres(1.0),
        // 128.1 + 37.6 log10(km).
        reference_loss: Some(Db(128.1 - 3.0 * 37.6)),
    };
    config.radio.shadowing = Some(Db(8.0));
    config.radio.fading = FadingProfile::Eva;
    let antenna = Antenna::Sector {
        azimuth: 0.0,
        tilt: 15.0,
        beamwidth: 70.0,
        vertical_beamwidth: 10.0,
        gain: Db(14.0),
    };
    for (site, [x, y]) in hexagonal(2, ISD).into_iter().enumerate() {
        for azimuth in [30.0, 150.0, 270.0] {
            let mut cell = CellConfig { resource_blocks: BLOCKS, ..CellConfig::default() };
            cell.radio.position = [Metres(x), Metres(y), Metres(32.0)];
            cell.radio.antenna = antenna.turned(azimuth);
            cell.radio.site = Some(site as u32);
            config.cells.push(cell);
        }
    }
    let mut places = Draw::new(1, Purpose::Mobility, 0).stream(0);
    for i in 0..UES {
        let mut ue = UeConfig::served_by(CellId::from_index(0));
        let azimuth = [30.0, 150.0, 270.0][i % 3];
        let place = std::iter::repeat_with(|| in_sector(azimuth, ISD, &mut places))
            .find(|[x, y]| x * x + y * y > 35.0 * 35.0)
            .unwrap_or_default();
        ue.radio.position = [Metres(place[0]), Metres(place[1]), Metres(1.5)];
        ue.radio.penetration_loss = Db(20.0);
        ue.radio.speed = Some(Speed(3.0 / 3.6));
        config.ues.push(ue);
    }
    let mut propagation = config.propagation(1);
    for i in 0..UES {
        let ue = UeId::from_index(i);
        if let Some(cell) = config.strongest(&mut propagation, ue, config.cells.ids()) {
            config.ues[ue].serving = cell;
        }
    }
    config
}

//! The layout of the verification of E-UTRA, case 1 (TR 25.814 table A.2.1.1-1, TR 36.814 table
//! A.2.1.1-1): 19 sites of three sectors 500 m apart, wrapped around, 128.1 + 37.6 log10(R / km),
//! shadowing 8 dB, 20 dB of penetration, EVA at 3 km/h.

use lasthop_engine::{Draw, Purpose};
use lasthop_lte::network::{CellConfig, NetworkConfig, UeConfig};
use lasthop_radio::layout::{WrapAround, hexagonal, in_sector};
use lasthop_radio::{Antenna, FadingProfile, PathLoss};
use lasthop_units::{CellId, Db, Hertz, Id, Metres, Speed, UeId};

/// Distance between sites [m].
pub const ISD: f64 = 500.0;
/// Resource blocks of a carrier of 10 MHz.
pub const BLOCKS: u32 = 50;
/// Azimuths of the sectors of a site [degree].
const AZIMUTHS: [f64; 3] = [30.0, 150.0, 270.0];
/// Smallest distance between a UE and its site [m].
const NEAREST: f64 = 35.0;

/// The cells of a site and `rings` rings around it (57 of two rings) with `antenna`, each like
/// `cell`, without UEs.
pub fn cells(rings: u32, antenna: Antenna, cell: &CellConfig) -> NetworkConfig {
    let wrap = Some(WrapAround::hexagonal(rings, ISD));
    let mut config = NetworkConfig { wrap, ..NetworkConfig::default() };
    (config.radio.downlink, config.radio.uplink) = (Hertz(2e9), Hertz(1.9e9));
    config.radio.path_loss = PathLoss::LogDistance {
        exponent: 3.76,
        reference_distance: Metres(1.0),
        // 128.1 + 37.6 log10(km).
        reference_loss: Some(Db(128.1 - 3.0 * 37.6)),
    };
    config.radio.shadowing = Some(Db(8.0));
    config.radio.shadowing_distance = Some(Metres(50.0));
    config.radio.fading = FadingProfile::Eva;
    for (site, [x, y]) in hexagonal(rings, ISD).into_iter().enumerate() {
        for azimuth in AZIMUTHS {
            let mut cell = CellConfig { resource_blocks: BLOCKS, ..cell.clone() };
            cell.radio.position = [Metres(x), Metres(y), Metres(32.0)];
            cell.radio.antenna = antenna.turned(azimuth);
            cell.radio.site = Some(site as u32);
            config.cells.push(cell);
        }
    }
    config
}

/// Places `each` UEs like `ue` in every sector of the first `sites` sites; each is served by the
/// cell with the most power at its place.
pub fn drop_ues(config: &mut NetworkConfig, sites: usize, each: usize, ue: &UeConfig, seed: u64) {
    let mut places = Draw::new(seed, Purpose::Mobility, 0).stream(0);
    for [x, y] in hexagonal(2, ISD).into_iter().take(sites) {
        for i in 0..3 * each {
            let mut ue = ue.clone();
            let place = std::iter::repeat_with(|| in_sector(AZIMUTHS[i % 3], ISD, &mut places))
                .find(|[x, y]| x * x + y * y > NEAREST * NEAREST)
                .unwrap_or_default();
            ue.radio.position = [Metres(x + place[0]), Metres(y + place[1]), Metres(1.5)];
            ue.radio.penetration_loss = Db(20.0);
            ue.radio.speed = Some(Speed(3.0 / 3.6));
            config.ues.push(ue);
        }
    }
    let mut propagation = config.propagation(seed);
    for i in 0..config.ues.len() {
        let ue = UeId::from_index(i);
        if let Some(cell) = config.strongest(&mut propagation, ue, config.cells.ids()) {
            config.ues[ue].serving = cell;
        }
    }
}

/// The sector antenna of TR 36.814 with its tilt for case 1, or that of TR 25.814, which has no
/// elevation pattern.
pub fn antenna(flat: bool) -> Antenna {
    let gain = Db(14.0);
    match flat {
        true => Antenna::Flat { azimuth: 0.0, beamwidth: 70.0, front_to_back: Db(20.0), gain },
        false => {
            Antenna::Sector { azimuth: 0.0, tilt: 15.0, beamwidth: 70.0, vertical_beamwidth: 10.0, gain }
        }
    }
}

/// A UE whose serving cell is determined later.
pub fn ue() -> UeConfig {
    UeConfig::served_by(CellId::from_index(0))
}

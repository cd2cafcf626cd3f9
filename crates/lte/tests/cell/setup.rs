//! A cell with saturated UEs, as ns-3's system tests set it up.

use lasthop_bearer::Direction;
use lasthop_engine::math::log10;
use lasthop_lte::mac::downlink::{DownlinkConfig, LinkStats};
use lasthop_lte::network::config::CellProfile;
use lasthop_lte::network::{CellConfig, NetworkConfig, NetworkOutput, RadioNetwork, UeConfig};
use lasthop_radio::PathLoss;
use lasthop_units::{Db, Dbm, Id, Instant, Metres, UeId};

/// A cell at the origin and UEs at the distances `distances` on the x axis, all on the ground; free
/// space at 2120 and 1930 MHz, 25 resource blocks, 30 dBm with a noise figure of 5 dB and 23 dBm
/// with 9 dB. No errors.
pub fn friis_cell(distances: &[f64]) -> NetworkConfig {
    let mut config = NetworkConfig::default();
    let mut cell = CellConfig { resource_blocks: 25, ..CellConfig::default() };
    cell.downlink = ns3();
    cell.radio.position = [Metres(0.0); 3];
    (cell.radio.power, cell.radio.noise_figure) = (Dbm(30.0), Db(5.0));
    let serving = config.cells.push(cell);
    for d in distances {
        let mut ue = UeConfig::served_by(serving);
        ue.radio.position = [Metres(*d), Metres(0.0), Metres(0.0)];
        ue.full_buffer = [true, false];
        config.ues.push(ue);
    }
    config
}

/// The cell of ns-3's system tests of errors, HARQ and antennas: eNB 30 m high, `n` UEs 1 m high,
/// all `d` m away, and HybridBuildings' loss outdoors at 2120 MHz.
///
/// From 200 m to 1 km that is Recommendation P.1411 over the roofs, as in this project. Beyond 1 km
/// it is COST 231's formula for a large city with 3.2 log10(11.75)^2 for a(h_m), in which -4.97 is
/// missing: 4.97 dB less than equation 4.4.3 has. Lasthop does not offer that formula, so its
/// straight line is used here: 46.3 + 33.9 log10 f - 13.82 log10 30 - 3.66 + 3 dB at 1 km, 35.22 dB
/// a decade.
pub fn buildings_cell(n: usize, d: f64, power: f64) -> NetworkConfig {
    let mut config = friis_cell(&vec![d; n]);
    config.radio.path_loss = if d > 1000.0 {
        let a = 3.2 * log10(11.75) * log10(11.75);
        let loss = 46.3 + 33.9 * log10(2120.0) - 13.82 * log10(30.0) - a + 3.0;
        PathLoss::LogDistance {
            exponent: (44.9 - 6.55 * log10(30.0)) / 10.0,
            reference_distance: Metres(1000.0),
            reference_loss: Some(Db(loss)),
        }
    } else {
        PathLoss::P1411Rooftop(Default::default())
    };
    for cell in config.cells.iter_mut() {
        (cell.radio.position[2], cell.radio.power) = (Metres(30.0), Dbm(power));
    }
    for ue in config.ues.iter_mut() {
        ue.radio.position[2] = Metres(1.0);
    }
    config
}

/// ns-3's cell, with errors switched off as in its tests of schedulers.
pub fn ns3() -> DownlinkConfig {
    DownlinkConfig { data_errors: false, control_errors: false, ..CellProfile::Ns3Release44.downlink() }
}

/// A network under simulation.
pub struct Run {
    pub network: RadioNetwork,
    out: NetworkOutput,
}

impl Run {
    pub fn new(config: &NetworkConfig, seed: u64) -> Run {
        for cell in config.cells.iter() {
            cell.validate().unwrap();
        }
        Run { network: RadioNetwork::new(config, seed), out: NetworkOutput::default() }
    }

    /// Runs all TTIs that start before `ms`.
    pub fn until(&mut self, ms: u64) {
        while let Some(now) = self.network.next_tti().filter(|t| *t < Instant::from_millis(ms)) {
            self.network.on_tti(now, &mut self.out);
        }
    }

    pub fn stats(&self, ue: usize) -> LinkStats {
        *self.network.view().link_stats(UeId::from_index(ue), Direction::Downlink)
    }
}

/// Bytes per second of each UE from 0.3 s to 0.9 s.
pub fn rates(config: &NetworkConfig) -> Vec<f64> {
    let mut run = Run::new(config, 1);
    let ues = config.ues.len();
    run.until(300);
    let before: Vec<u64> = (0..ues).map(|u| run.stats(u).decoded_bytes).collect();
    run.until(900);
    (0..ues).map(|u| (run.stats(u).decoded_bytes - before[u]) as f64 / 0.6).collect()
}

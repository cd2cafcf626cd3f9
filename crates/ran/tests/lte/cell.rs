//! A cell with saturated UEs, as ns-3's system tests set it up.

use lasthop_ran::mac::lte::downlink::{DownlinkConfig, LinkStats};
use lasthop_ran::mac::lte::profile::CellProfile;
use lasthop_ran::network::{CellConfig, NetworkConfig, NetworkOutput, RadioNetwork, UeConfig};
use lasthop_units::{Db, Dbm, Id, Instant, Metres, UeId};

/// A cell at the origin and UEs at the distances `distances` on the x axis, all on the ground; free space at 2120 and
/// 1930 MHz, 25 resource blocks, 30 dBm with a noise figure of 5 dB and 23 dBm with 9 dB. No errors.
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

/// ns-3's cell, errors switched off as its tests of schedulers do.
pub fn ns3() -> DownlinkConfig {
    DownlinkConfig { data_errors: false, control_errors: false, ..CellProfile::Ns3Release44.downlink() }
}

/// A network that runs.
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

    /// All TTIs that start before `ms`.
    pub fn until(&mut self, ms: u64) {
        while let Some(now) = self.network.next_tti().filter(|t| *t < Instant::from_millis(ms)) {
            self.network.on_tti(now, &mut self.out);
        }
    }

    pub fn stats(&self, ue: usize) -> LinkStats {
        *self.network.downlink_stats(UeId::from_index(ue))
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

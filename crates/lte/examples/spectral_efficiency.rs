//! Spectral efficiency of 57 sectors with ten full buffers each, for the verification of E-UTRA:
//!
//!     cargo run --release -p lasthop-lte --example spectral_efficiency -- downlink [KEY=VALUE]...
//!     cargo run --release -p lasthop-lte --example spectral_efficiency -- uplink p0=-60 alpha=0.6
//!
//! Keys: `antenna` (2d: TR 25.814; 3d: TR 36.814), `rings` of sites around the middle (2: 57
//! sectors; 1: 21), `seconds` that are counted, `warm` seconds
//! before them, `seeds`, `p0` [dBm] and `alpha` of the uplink's power control. Prints a line of
//! JSON for each drop: mean [bit/s/Hz/cell], the 5 % point over UEs [bit/s/Hz], share of
//! transmissions that failed, MCS and transmit power [dBm]. A UE's rate is that of its decoded
//! transport blocks.

mod layout57;

use lasthop_bearer::Direction;
use lasthop_lte::network::{CellConfig, NetworkOutput, RadioNetwork};
use lasthop_radio::mimo::Combining;
use lasthop_units::{Dbm, Id, Instant, UeId};

/// Bandwidth of the carrier [Hz].
const BANDWIDTH: f64 = 10e6;

fn main() {
    let mut args = std::env::args().skip(1);
    let uplink = args.next().is_some_and(|d| d == "uplink");
    let (mut cell, mut ue) = (CellConfig::default(), layout57::ue());
    let (mut flat, mut seconds, mut warm, mut seeds, mut rings) = (true, 1.0, 0.5, 1, 2);
    for arg in args {
        let (key, value) = arg.split_once('=').expect("KEY=VALUE");
        let number = || value.parse::<f64>().expect("a number");
        match key {
            "antenna" => flat = value == "2d",
            "seconds" => seconds = number(),
            "warm" => warm = number(),
            "seeds" => seeds = number() as u64,
            "rings" => rings = number() as u32,
            "p0" => cell.uplink.power_control.p0 = Dbm(number()),
            "receive" if uplink => cell.radio.receive_antennas = number() as u32,
            "receive" => ue.radio.receive_antennas = Some(number() as u32),
            "transmit" => cell.radio.transmit_antennas = Some(number() as u32),
            "mode" => cell.downlink.mimo.mode = number() as u8,
            "irc" => (cell.radio.combining, ue.radio.combining) = (Combining::Irc, Combining::Irc),
            "alpha" => cell.uplink.power_control.alpha = number(),
            _ => panic!("no key {key}"),
        }
    }
    ue.full_buffer = [!uplink, uplink];
    for seed in 1..=seeds {
        let mut config = layout57::cells(rings, layout57::antenna(flat), &cell);
        let sites = config.cells.len() / 3;
        layout57::drop_ues(&mut config, sites, 10, &ue, seed);
        let mut network = RadioNetwork::new(&config, seed);
        let mut out = NetworkOutput::default();
        run(&mut network, warm, &mut out);
        let ues = config.ues.len();
        let before = bytes(&network, uplink, ues);
        run(&mut network, warm + seconds, &mut out);
        let after = bytes(&network, uplink, ues);
        let rates = after.iter().zip(&before).map(|(a, b)| (a - b) as f64 * 8.0 / seconds / BANDWIDTH);
        report(&network, uplink, rates.collect(), config.cells.len());
    }
}

fn run(network: &mut RadioNetwork, until: f64, out: &mut NetworkOutput) {
    let end = Instant::from_millis((until * 1e3) as u64);
    while let Some(now) = network.next_tti().filter(|t| *t < end) {
        network.on_tti(now, out);
        *out = NetworkOutput::default();
    }
}

/// Decoded bytes of each UE.
fn bytes(network: &RadioNetwork, uplink: bool, ues: usize) -> Vec<u64> {
    let of = |ue| match uplink {
        true => network.view().link_stats(ue, Direction::Uplink).decoded_bytes,
        false => network.view().link_stats(ue, Direction::Downlink).decoded_bytes,
    };
    (0..ues).map(UeId::from_index).map(of).collect()
}

fn report(network: &RadioNetwork, uplink: bool, mut rates: Vec<f64>, cells: usize) {
    let mean = rates.iter().sum::<f64>() / cells as f64;
    rates.sort_by(f64::total_cmp);
    let edge = rates[(rates.len() - 1) / 20];
    let (mut blocks, mut sent, mut errors, mut mcs, mut power, mut n) = (0, 0, 0, 0, 0.0, 0);
    for ue in (0..rates.len()).map(UeId::from_index) {
        let s = if uplink {
            network.view().link_stats(ue, Direction::Uplink)
        } else {
            network.view().link_stats(ue, Direction::Downlink)
        };
        (blocks, sent) = (blocks + s.blocks, sent + s.blocks + s.retransmissions);
        (errors, mcs) = (errors + s.errors, mcs + s.mcs_sum);
        (power, n) = (power + s.power_dbm_sum, n + s.power_count);
    }
    println!(
        "{{\"mean\": {mean:.4}, \"edge\": {edge:.5}, \"errors\": {:.3}, \"mcs\": {:.1}, \"power\": {:.1}}}",
        errors as f64 / sent.max(1) as f64,
        mcs as f64 / blocks.max(1) as f64,
        power / n.max(1) as f64,
    );
}

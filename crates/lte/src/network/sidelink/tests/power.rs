//! The power of a transmission is a total over its blocks (TS 36.213 clause 14.1.1.5): on n of them
//! the SINR of each is 10 log10(n) below that of one.

use super::*;
use lasthop_engine::math::db;
use lasthop_radio::lte::{Mcs, McsTable};
use lasthop_radio::thermal_noise;
use lasthop_units::{Hertz, Tti};

use crate::mac::uplink::{largest_allocation, tbs_bytes};

const PLACES: [[f64; 2]; 2] = [[20.0, 0.0], [40.0, 0.0]];

/// SNR of the pair with `power` on one block [dB].
fn direct_snr(w: &mut World, power: Dbm) -> f64 {
    let gain = w.network.air.get().between(Tti(0), UeId::from_index(0), UeId::from_index(1));
    let figure = UeConfig::served_by(CellId::from_index(0)).radio.noise_figure;
    power.0 + db(f64::from(gain)) - thermal_noise(Hertz(180e3), figure).0
}

/// A link with the power at which the SNR on one block is `snr` [dB].
fn link_of(snr: f64) -> SidelinkConfig {
    let link = SidelinkConfig::default();
    let mut w = World::new(CellConfig::default(), &PLACES, &link, |_| ());
    SidelinkConfig { power: Dbm(link.power.0 + snr - direct_snr(&mut w, link.power)), ..link }
}

/// A grant has the MCS that the SNR on its own number of blocks allows, and no smaller allocation
/// carries as much. Over the 100 blocks of the band the SNR is 20 dB below that of one block: up to
/// 12 dB on one block no MCS could be sent on all of them.
#[test]
fn a_pair_has_the_mcs_of_the_blocks_that_it_is_given() {
    let cell = CellConfig { resource_blocks: 100, ..CellConfig::default() };
    let adaptation = cell.uplink.adaptation(100);
    for snr in (1..=20).map(|k| 2.0 * f64::from(k)) {
        let mcs_on = |n: u32| {
            let mcs = adaptation.mcs((snr - db(f64::from(n))) as f32)?.min(cell.sidelink.max_mcs);
            Some(Mcs::new(mcs).decodable_on(McsTable::Uplink, n as usize))
        };
        for size in [40, 1400] {
            let mut w = World::new(cell.clone(), &PLACES, &link_of(snr), |_| ());
            w.push(MS(20), 0, size);
            w.run_until(MS(4000));
            assert_eq!(w.delivered.len(), 1, "{size} B at {snr} dB");
            let is_grant = |r: &crate::network::trace::TraceRecord| {
                r.link == TraceLink::Sidelink && r.step == Step::Grant
            };
            let first = w.network.trace().drain().find(is_grant).unwrap();
            let (blocks, mcs) = (first.blocks, Mcs::new(first.mcs.unwrap()));
            assert_eq!(mcs_on(blocks), Some(mcs), "{size} B at {snr} dB");
            for fewer in (1..blocks).filter(|n| largest_allocation(*n) == *n) {
                let bytes = mcs_on(fewer).map_or(0, |m| tbs_bytes(m.index(), fewer));
                assert!(u64::from(bytes) < first.bytes, "{size} B at {snr} dB: {fewer} of {blocks} blocks");
            }
        }
    }
}

/// Modes are compared with the sender's power on the same number of blocks: direct mode where its
/// SNR is 2 dB above that of the uplink, the eNB where it is 2 dB below, whichever is the present
/// one.
#[test]
fn modes_are_compared_on_the_same_number_of_blocks() {
    let mut cell = CellConfig { resource_blocks: 100, ..CellConfig::default() };
    cell.uplink.power_control.enabled = false;
    cell.radio.receive_antennas = 1;
    let (id, tx) = (CellId::from_index(0), UeId::from_index(0));
    let noise = thermal_noise(Hertz(180e3), cell.radio.noise_figure);
    let power = |gain: f32, snr: f64| Dbm(snr + noise.0 - db(f64::from(gain)));
    let gain = World::new(cell.clone(), &PLACES, &SidelinkConfig::default(), |_| ())
        .network
        .air
        .get()
        .uplink_gain(Tti(0), id, tx);
    // On 10 blocks 0, 4 and 8 dB, MCS 4 to 13 or so: below the sidelink's highest.
    for up in [10.0, 14.0, 18.0] {
        for (above, expected) in [(2.0, Direct), (-2.0, Infrastructure)] {
            for first in [Direct, Infrastructure] {
                let mut w = World::with(
                    cell.clone(),
                    &PLACES,
                    &link_of(up + above),
                    |p| (p.selection, p.mode) = (Some(SelectionConfig::default()), [first; 2]),
                    |ue| ue.radio.power = power(gain, up),
                );
                w.run_until(MS(60));
                let mode = w.network.view().sidelinks().mode(0);
                assert_eq!(mode, Some(expected), "{up} dB to the eNB, {above} dB more directly");
            }
        }
    }
}

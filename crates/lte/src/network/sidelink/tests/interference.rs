//! Link adaptation of sidelinks that share blocks.

use super::*;
use lasthop_engine::math::db;
use lasthop_radio::thermal_noise;
use lasthop_units::{Hertz, Tti};

/// Two pairs with full buffers on the same blocks, 20 m from sender to receiver, the second pair
/// `apart` m from the first.
fn sharing(mut cell: CellConfig, apart: f64) -> World {
    cell.sidelink.reuse = Reuse::All;
    cell.uplink.data_errors = true;
    let link = SidelinkConfig { header: 0, ..SidelinkConfig::default() };
    let places = [[20.0, 0.0], [40.0, 0.0], [20.0 + apart, 0.0], [40.0 + apart, 0.0]];
    let mut w = World::new(cell, &places, &link, |_| ());
    for _ in 0..1500 {
        w.push(MS(20), 0, 1400);
        w.push(MS(20), 2, 1400);
    }
    w
}

impl World {
    /// SINR at the receiver of pair `i` while UEs of both pairs send with 23 dBm on the same 50
    /// blocks [dB].
    fn sinr_of_both(&mut self, i: usize) -> f64 {
        let ue = UeId::from_index;
        let figure = UeConfig::served_by(CellId::from_index(0)).radio.noise_figure;
        let noise = thermal_noise(Hertz(180e3), figure).0;
        let mut received = |tx: usize| {
            let gain = self.network.air.get().between(Tti(0), ue(tx), ue(2 * i + 1));
            f64::from(gain) * lasthop_radio::linear(Db(23.0 - db(50.0) - noise))
        };
        db(received(2 * i) / (1.0 + received(2 - 2 * i)))
    }

    /// Transmissions and failures of both pairs so far.
    fn failures(&self) -> [u64; 2] {
        let stats = [0, 2].map(|l| self.network.view().sidelinks().stats(l).unwrap());
        [stats.map(|s| s.ttis).iter().sum(), stats.map(|s| s.errors).iter().sum()]
    }
}

/// The MCS is that of the ratio of signal to noise and interference (TS 36.214; SimuLTE's CQI has
/// both as well), and blocks on shared resources are decoded: without the interference in the level
/// it would be the highest MCS, and every block would fail.
#[test]
fn the_mcs_follows_the_interference_on_shared_blocks() {
    for apart in [60.0, 90.0] {
        let cell = simulte();
        let adaptation = cell.uplink.adaptation(50);
        let mut w = sharing(cell, apart);
        w.run_until(MS(100));
        w.steps();
        let before = w.failures();
        w.run_until(MS(300));
        let grants: Vec<_> = w
            .network
            .trace()
            .drain()
            .filter(|r| r.link == TraceLink::Sidelink && r.step == Step::Grant)
            .map(|r| (r.ue.index() / 2, i32::from(r.mcs.unwrap())))
            .collect();
        for i in [0, 1] {
            let sinr = w.sinr_of_both(i);
            let expected = i32::from(adaptation.mcs(sinr as f32).unwrap());
            assert!((1..27).contains(&expected), "{sinr} dB: neither the lowest nor the highest");
            let of = grants.iter().filter(|g| g.0 == i).map(|g| g.1);
            let (low, high) = (of.clone().min().unwrap(), of.max().unwrap());
            assert!(expected - 1 <= low && high <= expected + 1, "{low} to {high} of {expected}, {apart} m");
        }
        let [ttis, errors] = [0, 1].map(|k| w.failures()[k] - before[k]);
        // In one TTI of twelve or so the other pair waits for a grant: the average is lower.
        assert!(ttis > 300 && errors * 5 < ttis, "{errors} of {ttis}");
    }
}

/// With the outer loop, whose target is 10 %, and power that depends on the number of blocks.
#[test]
fn shared_blocks_are_decoded_in_the_cell_of_lasthop() {
    let cell = CellConfig { resource_blocks: 50, ..CellConfig::default() };
    let mut w = sharing(cell, 60.0);
    w.run_until(MS(500));
    let before = w.failures();
    w.run_until(MS(900));
    let [ttis, errors] = [0, 1].map(|k| w.failures()[k] - before[k]);
    assert!(ttis > 300 && errors * 4 < ttis, "{errors} of {ttis}");
}

//! Sidelinks in several cells: each eNB schedules its own band.

use super::*;

/// Cells 50 km apart with two pairs each, whose UEs are 20 m apart, the pairs 30 m; pair i is in
/// cell i / 2. The last UE is in the last cell and has no pair.
fn cells(cells: Vec<CellConfig>, link: &SidelinkConfig) -> World {
    let mut config = NetworkConfig::default();
    let mut layers = LteBearerConfig::default();
    layers.rlc.mode = Mode::Um;
    let add = |config: &mut NetworkConfig, cell: usize, x: f64| {
        let mut ue = UeConfig::served_by(CellId::from_index(cell));
        ue.radio.pinned_sinr = Some(Db(40.0));
        ue.radio.position = [Metres(50_000.0 * cell as f64 + x), Metres(0.0), Metres(1.5)];
        let ue = config.ues.push(ue);
        config.bearers.push(DrbConfig { ue, layers: layers.clone(), qos: Qos::default(), ip_buffer: None });
        (ue, BearerId::from_index(ue.index()))
    };
    let last = cells.len() - 1;
    for (i, mut cell) in cells.into_iter().enumerate() {
        cell.radio.position[0] = Metres(50_000.0 * i as f64);
        cell.validate().unwrap();
        config.cells.push(cell);
        for x in [20.0, 50.0] {
            let both = [add(&mut config, i, x), add(&mut config, i, x + 20.0)];
            config.pairs.push(PairConfig {
                ues: both.map(|b| b.0),
                layers: layers.clone(),
                link: link.clone(),
                mode: [Direct; 2],
                selection: None,
                lossless: false,
                infrastructure: both.map(|b| b.1),
            });
        }
    }
    add(&mut config, last, 100.0);
    let mut network = RadioNetwork::new(&config, 1);
    network.trace().set(true);
    World {
        network,
        out: NetworkOutput::default(),
        delivered: Vec::new(),
        dropped: Vec::new(),
        switches: Vec::new(),
        packets: 0,
        pairs: config.pairs.len(),
    }
}

fn with(reuse: Reuse) -> CellConfig {
    let mut cell = simulte();
    cell.sidelink.reuse = reuse;
    cell
}

impl World {
    /// Fills the buffers of the first UEs of `pairs`, and that of the UE without a pair.
    fn saturate(&mut self, pairs: &[u32], uplink: bool) {
        for _ in 0..150 {
            for pair in pairs {
                self.push(MS(20), 2 * pair, 1400);
            }
            if uplink {
                let bearer = BearerId::from_index(2 * self.pairs);
                let sdu = Sdu::new(PacketId::from_index(self.packets), 1400);
                self.packets += 1;
                self.network.push(MS(20), bearer, End::Ue, sdu, &mut self.out);
                self.take(MS(20), None);
            }
        }
    }

    /// Most resource blocks in one TTI that `ues` transmit on.
    fn most_blocks(&mut self, ues: std::ops::Range<usize>) -> u32 {
        let mut of = std::collections::BTreeMap::<u64, u32>::new();
        let data = |r: &crate::network::trace::TraceRecord| matches!(r.step, Step::Data | Step::Again);
        for r in self.network.trace().drain().filter(|r| data(r) && ues.contains(&r.ue.index())) {
            *of.entry(r.tti.0).or_default() += r.blocks;
        }
        of.into_values().max().unwrap_or(0)
    }
}

/// Two cells whose sidelinks may share blocks, saturated, and a saturated uplink in the second. A
/// block of the second cell is for its uplink or for its sidelinks (TS 36.300 clause 23.10: the eNB
/// assigns both), whatever the first one has given to its own: the invariants of debug builds
/// compare what is sent.
#[test]
fn blocks_of_the_uplink_are_not_free_because_another_cell_has_them_for_sidelinks() {
    let mut w = cells(vec![with(Reuse::All), with(Reuse::All)], &pinned(15));
    w.saturate(&[0, 2], true);
    w.run_until(MS(3000));
    assert_eq!(w.delivered.len(), 450, "all arrive");
}

/// Neighbours are kept apart in the cell with `above`, with at most its 50 blocks in a TTI, and
/// share all 50 in the other, in both orders of the cells.
#[test]
fn each_cell_has_its_own_rule_of_sharing() {
    let above = Reuse::Above { min_sir: Db(20.0) };
    for (reuse, most) in [([Reuse::All, above], [100, 50]), ([above, Reuse::All], [50, 100])] {
        for (cell, most) in most.into_iter().enumerate() {
            let mut w = cells(reuse.map(with).to_vec(), &pinned(15));
            w.saturate(&[0, 1, 2, 3], false);
            w.run_until(MS(500));
            assert_eq!(w.most_blocks(4 * cell..4 * cell + 4), most, "cell {cell} of {reuse:?}");
        }
    }
}

/// Each eNB grants blocks of its own band: 50 km apart, where quality does not depend on the other
/// cell, pairs and the uplink of a cell have every packet at the moment at which they have it
/// alone, by grants and by persistent ones.
#[test]
fn a_far_cell_takes_no_blocks() {
    let persistent = SidelinkPersistent { period: Duration::from_millis(5), blocks: 40 };
    for persistent in [None, Some(persistent)] {
        for reuse in [Reuse::None, Reuse::All] {
            let link = SidelinkConfig { persistent, ..pinned(15) };
            let run = |both: bool| {
                let mut w = cells(vec![with(reuse); 2], &link);
                w.saturate(&[2, 3], true);
                let own = w.packets;
                if both {
                    w.saturate(&[0, 1], false);
                }
                w.run_until(MS(5000));
                w.delivered.retain(|d| d.0 < own);
                w.delivered.sort_unstable();
                assert_eq!(w.delivered.len(), 450, "{reuse:?} {persistent:?}");
                w.delivered
            };
            let (both, alone) = (run(true), run(false));
            let other = both.iter().zip(&alone).find(|(a, b)| a != b);
            assert_eq!(other, None, "{reuse:?} {persistent:?}");
        }
    }
}

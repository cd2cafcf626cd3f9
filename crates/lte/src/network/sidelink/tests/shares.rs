//! Shares of destinations that must not have the same blocks, with `reuse = "above"`.

use super::*;

/// Pairs with full buffers, 20 m from sender to receiver, the pairs 30 m from each other in a line:
/// none may share a block with another one.
fn conflicting(mut cell: CellConfig, pairs: usize) -> World {
    cell.sidelink.reuse = Reuse::Above { min_sir: Db(30.0) };
    cell.uplink.data_errors = false;
    let places: Vec<_> = (0..pairs).flat_map(|i| [20.0, 40.0].map(|x| [x, 30.0 * i as f64])).collect();
    World::new(cell, &places, &pinned(15), |_| ())
}

impl World {
    fn fill(&mut self, at: Instant, destinations: &[u32]) {
        for _ in 0..1500 {
            for destination in destinations {
                self.push(at, *destination, 1400);
            }
        }
    }

    /// 1.4 MB of UE 0 towards the eNB.
    fn fill_uplink(&mut self) {
        for _ in 0..1000 {
            let sdu = Sdu::new(PacketId::from_index(self.packets), 1400);
            self.packets += 1;
            self.network.push(MS(20), BearerId::from_index(0), End::Ue, sdu, &mut self.out);
        }
    }

    /// Decoded data [kbit], by destination.
    fn decoded(&self, destinations: &[u32]) -> Vec<u64> {
        let of = |d: &u32| self.network.view().sidelinks().stats(*d).unwrap().decoded_bytes / 125;
        destinations.iter().map(of).collect()
    }
}

fn are_equal(shares: &[u64]) -> bool {
    let [min, max] = [shares.iter().min().unwrap(), shares.iter().max().unwrap()];
    *min > 0 && 10 * max <= 11 * min
}

/// All have the same MCS and always data, so equal shares are equal numbers of decoded bits. Of the
/// 73 blocks of PUSCH in the cell of Lasthop (75 less two of PUCCH) the first pair is granted 72,
/// since an allocation has 2^a 3^b 5^c blocks, and one is left: a pair that is granted this one has
/// not had its turn. The cell of SimuLTE has 50 blocks; 48 of the 49 beside a report leave one too.
/// Within 10 %: a report has at most 150 000 B, and after them a pair waits for the next one while
/// the others have its blocks. In 300 TTIs for each pair there are about ten reports.
#[test]
fn pairs_that_conflict_have_equal_shares() {
    let lasthop = CellConfig { resource_blocks: 75, ..CellConfig::default() };
    for (name, cell) in [("lasthop", lasthop), ("simulte", simulte())] {
        for pairs in [2, 3, 4] {
            for uplink in [false, true] {
                let mut w = conflicting(cell.clone(), pairs);
                let all: Vec<u32> = (0..pairs as u32).map(|i| 2 * i).collect();
                w.fill(MS(20), &all);
                if uplink {
                    w.fill_uplink();
                }
                w.run_until(MS(20 + 300 * pairs as u64));
                let shares = w.decoded(&all);
                assert!(are_equal(&shares), "{shares:?} kbit in {name}, with uplink: {uplink}");
            }
        }
    }
}

/// With one radio per UE the directions of a pair exclude each other from a TTI. Of 75 blocks one
/// is left beside those of the other pair, of 50 none.
#[test]
fn directions_of_a_pair_with_one_radio_have_equal_shares() {
    for resource_blocks in [50, 75] {
        let mut w = conflicting(CellConfig { resource_blocks, ..CellConfig::default() }, 2);
        w.fill(MS(20), &[0, 1, 2, 3]);
        w.run_until(MS(820));
        let shares = w.decoded(&[0, 1, 2, 3]);
        assert!(are_equal(&shares), "{shares:?} kbit on {resource_blocks} blocks");
    }
}

/// A pair begins to send 180 TTIs after the other one, with the load of the other one and not with
/// 0: it sends from TTI 211 on (request 200, report 205, received 209), and of the blocks that are
/// decoded in the 24 TTIs from 215 to 238 each pair has 12 with 36 696 bits. With a load of 0 it
/// would have all of them.
#[test]
fn a_time_without_data_gives_no_priority() {
    let mut w = conflicting(simulte(), 2);
    w.fill(MS(20), &[0]);
    w.run_until(MS(200));
    w.fill(MS(200), &[2]);
    w.run_until(MS(215));
    let before = w.decoded(&[0, 2]);
    w.run_until(MS(239));
    let after = w.decoded(&[0, 2]);
    let shares: Vec<_> = after.iter().zip(before).map(|(after, before)| after - before).collect();
    assert!(are_equal(&shares), "{shares:?} kbit");
}

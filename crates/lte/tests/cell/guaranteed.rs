//! Schedulers with guaranteed rates, and packets on bearers: priority set and QoS-aware in the
//! set-up of ns-3's lte-pss- and lte-cqa-ff-mac-scheduler tests.
//!
//! A datagram of 200 B a millisecond is 228 B of IP and, with 2 B each of PDCP and RLC, 232 000
//! byte/s at RLC; that rate is guaranteed. The rates of n UEs at one distance follow from R1 of
//! [`super::schedulers`]: min(232 000, R1 / n).

use lasthop_bearer::{Direction, End, Sdu};
use lasthop_lte::mac::scheduler::qci::Qos;
use lasthop_lte::network::{DrbConfig, NetworkConfig, NetworkOutput, RadioNetwork};
use lasthop_lte_l2::pdcp::LteBearerConfig;
use lasthop_lte_l2::rlc::Mode;
use lasthop_units::{BearerId, Bitrate, Id, Instant, PacketId, UeId};

use super::setup::friis_cell;

const SCHEDULERS: [&str; 2] = ["priority-set", "qos-aware"];
/// Bytes that PDCP and RLC add to a datagram.
const OVERHEAD: u64 = 4;

/// A UE at `distance` m with a datagram of `size` B (IP) a millisecond, whose rate is guaranteed.
#[derive(Clone, Copy)]
struct User {
    distance: f64,
    size: u32,
    qci: u8,
}

impl User {
    /// Bytes per second at RLC.
    fn rate(&self) -> f64 {
        (u64::from(self.size) + OVERHEAD) as f64 * 1000.0
    }
}

/// `users`, and after them UEs with full buffers at the distances `greedy`.
fn cell(scheduler: &str, users: &[User], greedy: &[f64]) -> NetworkConfig {
    let distances: Vec<f64> = users.iter().map(|u| u.distance).chain(greedy.iter().copied()).collect();
    let mut config = friis_cell(&distances);
    for cell in config.cells.iter_mut() {
        cell.downlink.scheduler = scheduler.parse().unwrap();
    }
    for (i, user) in users.iter().enumerate() {
        let ue = UeId::from_index(i);
        config.ues[ue].full_buffer = [false, false];
        let mut layers = LteBearerConfig::default();
        layers.rlc.mode = Mode::Um;
        let qos = Qos { qci: user.qci, downlink: Bitrate(8 * user.rate() as u64), ..Qos::default() };
        config.bearers.push(DrbConfig { ue, layers, qos, ip_buffer: None });
    }
    config
}

/// Bytes per second at RLC of each of `users` from 0.5 s to 1.5 s, and the longest delay in that
/// time [ms]; then the rates of the greedy UEs.
fn run(config: &NetworkConfig, users: &[User]) -> (Vec<(f64, u64)>, Vec<f64>) {
    let mut network = RadioNetwork::new(config, 1);
    let mut out = NetworkOutput::default();
    let mut got = vec![(0.0, 0); users.len()];
    let rest: Vec<UeId> = config.ues.ids().skip(users.len()).collect();
    let carried = |network: &RadioNetwork| -> Vec<u64> {
        rest.iter().map(|ue| network.view().link_stats(*ue, Direction::Downlink).decoded_bytes).collect()
    };
    let mut before = Vec::new();
    for ms in 0..1500u64 {
        if ms == 500 {
            before = carried(&network);
        }
        let now = Instant::from_micros(1000 * ms + 500);
        for (i, user) in users.iter().enumerate() {
            let id = PacketId::from_index(ms as usize * users.len() + i);
            network.push(now, BearerId::from_index(i), End::Network, Sdu::new(id, user.size), &mut out);
        }
        let until = Instant::from_micros(1000 * ms + 1500);
        while let Some(now) =
            [network.next_tti(), network.next_timer()].into_iter().flatten().min().filter(|t| *t < until)
        {
            match network.next_tti() == Some(now) {
                true => network.on_tti(now, &mut out),
                false => network.on_timer(now, &mut out),
            }
        }
        for (bearer, _, sdu) in out.delivered.drain(..).filter(|_| ms >= 500) {
            let (bytes, longest) = &mut got[bearer.index()];
            *bytes += u64::from(sdu.size()) as f64 + OVERHEAD as f64;
            *longest = (*longest).max(ms - (sdu.id.index() / users.len()) as u64);
        }
        assert!(out.dropped.is_empty());
    }
    let after = carried(&network);
    (got, after.iter().zip(before).map(|(a, b)| (a - b) as f64).collect())
}

fn same(distance: f64, n: usize) -> Vec<User> {
    vec![User { distance, size: 228, qci: 1 }; n]
}

/// One distance: every UE has 232 000 byte/s while n of them fit into R1, and R1 / n beyond.
/// Tolerance 10 % as in the reference.
#[test]
fn guaranteed_rates_are_kept_while_they_fit_and_shared_beyond() {
    for (d, r1) in
        [(0.0, 2_196_000.0f64), (4800.0, 1_383_000.0), (6000.0, 1_191_000.0), (10_000.0, 775_000.0)]
    {
        for n in [1, 3, 6, 12] {
            let expected = (r1 / n as f64).min(232_000.0);
            for scheduler in SCHEDULERS {
                let users = same(d, n);
                for (ue, (rate, _)) in run(&cell(scheduler, &users, &[]), &users).0.into_iter().enumerate() {
                    assert!(
                        (rate / expected - 1.0).abs() < 0.1,
                        "{scheduler}, {n} UEs at {d} m: UE {ue} has {rate}, expected {expected} byte/s"
                    );
                }
            }
        }
    }
}

#[test]
fn out_of_range_a_guarantee_has_no_effect() {
    for scheduler in SCHEDULERS {
        let users = same(100_000.0, 1);
        assert_eq!(run(&cell(scheduler, &users, &[]), &users).0[0].0, 0.0, "{scheduler}");
    }
}

/// Different distances, equal rates: 232 000 (1 / 2196 + 1 / 1383 + 1 / 1191 + 1 / 775) / 1000 =
/// 0.768 of the cell, so every UE has its rate. Different rates: 132, 232 and 332 kbyte/s are
/// together 0.060 + 0.168 + 0.279 = 0.507 of it.
#[test]
fn guaranteed_rates_are_kept_whatever_the_channels() {
    let at = |distance, size| User { distance, size, qci: 1 };
    let equal = [0.0, 4800.0, 6000.0, 10_000.0].map(|d| at(d, 228));
    let unequal = [at(0.0, 128), at(4800.0, 228), at(6000.0, 328)];
    for scheduler in SCHEDULERS {
        for users in [&equal[..], &unequal[..]] {
            for (user, (rate, longest)) in users.iter().zip(run(&cell(scheduler, users, &[]), users).0) {
                let expected = user.rate();
                assert!((rate / expected - 1.0).abs() < 0.02, "{scheduler}: {rate}, expected {expected}");
                // Class 1 has a budget of 100 ms.
                assert!(longest < 100, "{scheduler}: {longest} ms");
            }
        }
    }
}

/// Against six UEs with full buffers, all at 4800 m (R = 1383 kbyte/s). A seventh sends and is
/// guaranteed G = 461, and is of an elastic class (9), so that only its guarantee raises its
/// weight. The band is given to the largest weight, so in the long run weights are equal:
/// proportional fair 1/x = 1/y, x = R/7 = 197.6. Both others raise the UE's weight by its lack,
/// G/x: G/x^2 = 1/y with y = (R - x)/6, so x^2 + 76.83 x - 76.83 R = 0 and x = 289.8.
#[test]
fn what_a_ue_lacks_raises_it_against_greedy_ones() {
    let user = [User { distance: 4800.0, size: 457, qci: 9 }];
    for (scheduler, expected) in
        [("proportional-fair", 197_600.0), ("priority-set", 289_800.0), ("qos-aware", 289_800.0)]
    {
        let (got, rest) = run(&cell(scheduler, &user, &[4800.0; 6]), &user);
        let rate = got[0].0;
        assert!((rate / expected - 1.0).abs() < 0.05, "{scheduler}: {rate}, expected {expected} byte/s");
        for other in rest {
            let share = (1_383_000.0 - expected) / 6.0;
            assert!((other / share - 1.0).abs() < 0.05, "{scheduler}: {other}, expected {share} byte/s");
        }
    }
}

/// The same UE with a class that has a delay budget (1: 100 ms): under the QoS-aware scheduler its
/// weight grows with the delay, so it gets its whole rate within the budget; the greedy UEs share
/// the rest.
#[test]
fn a_delay_budget_is_kept_against_greedy_ues() {
    let user = [User { distance: 4800.0, size: 457, qci: 1 }];
    let (got, rest) = run(&cell("qos-aware", &user, &[4800.0; 6]), &user);
    let (rate, longest) = got[0];
    assert!((rate / 461_000.0 - 1.0).abs() < 0.02 && longest < 100, "{rate} byte/s, {longest} ms");
    for other in rest {
        assert!((other / ((1_383_000.0 - 461_000.0) / 6.0) - 1.0).abs() < 0.05, "{other} byte/s");
    }
}

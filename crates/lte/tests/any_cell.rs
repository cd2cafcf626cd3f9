//! Any combination of schedulers, antennas, reports, errors and channels: debug builds check the
//! invariants of every TTI, and every packet that is pushed comes out exactly once.

use lasthop_bearer::{Direction, End, Sdu};
use lasthop_lte::mac::adaptation::{CqiInterference, McsRule, Subbands};
use lasthop_lte::mac::downlink::{AmcConfig, Combining, DrxConfig, PersistentConfig, PiroConfig};
use lasthop_lte::mac::reuse::{BlockRange, ReuseConfig, SoftReuse};
use lasthop_lte::mac::scheduler::qci::Qos;
use lasthop_lte::mac::scheduler::{Candidate, Domain, Policy, SCHEDULERS, Scheduler};
use lasthop_lte::network::{CellConfig, DrbConfig, NetworkConfig, NetworkOutput, RadioNetwork, UeConfig};
use lasthop_lte_l2::pdcp::LteBearerConfig;
use lasthop_lte_l2::rlc::Mode;
use lasthop_radio::{FadingProfile, Mobility, PathLoss};
use lasthop_units::{BearerId, Bitrate, CellId, Db, Id, Instant, Metres, PacketId, Speed, Tti, UeId};
use proptest::prelude::*;

#[derive(Clone, Debug)]
struct Plan {
    blocks: u32,
    cells: usize,
    ues: usize,
    scheduler: usize,
    mode: u8,
    subbands: u8,
    rule: u8,
    transmissions: u8,
    flags: u16,
    reach: f64,
    period: u64,
    delay: u64,
    assignments: u32,
    fading: u8,
    packets: Vec<(u16, u8, u16)>,
    seed: u64,
}

fn plans() -> impl Strategy<Value = Plan> {
    let cell = (
        prop::sample::select(vec![6u32, 15, 25, 50, 75, 100]),
        1..=3usize,
        1..=6usize,
        0..SCHEDULERS.len(),
        1..=4u8,
        0..3u8,
        0..3u8,
        1..=5u8,
    );
    let rest = (
        any::<u16>(),
        20.0..6000.0f64,
        1..=20u64,
        0..=10u64,
        0..4u32,
        0..4u8,
        prop::collection::vec((any::<u16>(), any::<u8>(), 1..3000u16), 1..150),
        any::<u64>(),
    );
    (cell, rest).prop_map(|(c, r)| Plan {
        blocks: c.0,
        cells: c.1,
        ues: c.2,
        scheduler: c.3,
        mode: c.4,
        subbands: c.5,
        rule: c.6,
        transmissions: c.7,
        flags: r.0,
        reach: r.1,
        period: r.2,
        delay: r.3,
        assignments: r.4,
        fading: r.5,
        packets: r.6,
        seed: r.7,
    })
}

impl Plan {
    fn flag(&self, bit: u32) -> bool {
        self.flags >> bit & 1 == 1
    }

    fn cell(&self, i: usize) -> CellConfig {
        let mut cell = CellConfig { resource_blocks: self.blocks, ..CellConfig::default() };
        cell.radio.position[0] = Metres(2.0 * self.reach * i as f64);
        let d = &mut cell.downlink;
        d.scheduler = SCHEDULERS[self.scheduler].name.parse().unwrap();
        d.mimo.mode = self.mode;
        d.mimo.always_two_layers = self.flag(0);
        d.cqi.subbands = [Subbands::None, Subbands::Standard, Subbands::Group][usize::from(self.subbands)];
        d.mcs_rule = [McsRule::Mean, McsRule::Lowest, McsRule::Wideband][usize::from(self.rule)];
        d.harq.transmissions = self.transmissions;
        d.harq.combining = if self.flag(1) { Combining::Chase } else { Combining::IncrementalRedundancy };
        d.exact_shares = self.flag(2);
        d.whole_groups = self.flag(3);
        d.outer_loop.enabled = self.flag(4);
        d.cqi.differential = self.flag(5);
        d.cqi.average = if self.flag(6) { 0.3 } else { 1.0 };
        d.cqi.interference = if self.flag(7) { CqiInterference::Data } else { CqiInterference::Reference };
        (d.cqi.period, d.cqi.delay, d.max_assignments) = (self.period, self.delay, self.assignments);
        if self.flag(8) {
            d.amc = AmcConfig::Piro(PiroConfig::default());
        }
        if self.flag(9) {
            d.drx = Some(DrxConfig { cycle: 20, on_duration: 3, inactivity: 5 });
        }
        if self.flag(10) {
            d.blocks = Some(BlockRange { first: 0, count: self.blocks / 2 + 1 });
        } else if self.flag(7) {
            let (edge, threshold, edge_p_a) = (BlockRange { first: 0, count: 4 }, Db(10.0), Db(0.0));
            let soft = SoftReuse {
                edge,
                centre_everywhere: i == 0,
                threshold,
                rsrq: (i == 1).then_some(Db(-12.5)),
                centre_p_a: Db(-3.0),
                edge_p_a,
            };
            d.reuse = Some(ReuseConfig::Soft(soft));
        }
        cell.validate().unwrap();
        cell
    }

    fn network(&self) -> NetworkConfig {
        let mut config = NetworkConfig::default();
        config.radio.fading =
            [FadingProfile::None, FadingProfile::Epa, FadingProfile::Etu, FadingProfile::Flat]
                [usize::from(self.fading)];
        config.radio.path_loss =
            if self.flag(11) { PathLoss::Uma(Default::default()) } else { PathLoss::Friis };
        config.radio.validate().unwrap();
        for i in 0..self.cells {
            config.cells.push(self.cell(i));
        }
        for u in 0..self.ues {
            let mut ue = UeConfig::served_by(CellId::from_index(u % self.cells));
            ue.radio.position[0] = Metres(self.reach * (u + 1) as f64 / self.ues as f64);
            ue.radio.p_a = Db(if self.flag(12) { -3.0 } else { 0.0 });
            if self.flag(13) {
                ue.radio.mobility = Mobility::Linear { speed: Speed(30.0), heading: 45.0 };
            }
            ue.full_buffer = [self.flag(14) && u == 0, false];
            if self.flag(15) && u % 2 == 0 {
                ue.persistent = Some(PersistentConfig { interval: 10, bytes: 100, release_after: 2 });
            }
            let id = config.ues.push(ue);
            for qci in [1, 9] {
                let mut layers = LteBearerConfig::default();
                layers.rlc.mode = Mode::Um;
                let qos = Qos { qci, downlink: Bitrate(64_000), ..Qos::default() };
                config.bearers.push(DrbConfig { ue: id, layers, qos, ip_buffer: None });
            }
        }
        config
    }
}

/// A policy from outside that writes unusual weights.
#[derive(Debug)]
struct Odd;

impl Policy for Odd {
    fn domain(&self) -> Domain {
        Domain::Frequency { channel_aware: true, counts_given: true }
    }
    fn weigh(&mut self, tti: Tti, _: &[Candidate], weights: &mut [f64]) {
        let odd = [f64::INFINITY, f64::NAN, -1.0, 0.0, 1e-300, f64::MAX, 3.0];
        for (i, w) in weights.iter_mut().enumerate() {
            *w = odd[(tti.0 as usize + i) % odd.len()];
        }
    }
}

/// The outcomes of the packets of a plan.
#[derive(Debug, PartialEq)]
struct Gone {
    /// The packets that were delivered or dropped, in order, and when.
    packets: Vec<(Instant, PacketId, bool)>,
    inside: usize,
    pushed: usize,
    /// The counters of all links.
    counters: String,
}

/// Carries out the plan on so many threads.
fn carry_out(plan: &Plan, threads: usize) -> Gone {
    let mut network = RadioNetwork::new(&plan.network(), plan.seed);
    network.set_threads(threads).unwrap();
    if plan.flag(15) {
        network.set_scheduler(CellId::from_index(0), Direction::Downlink, Scheduler::Custom(Box::new(Odd)));
    }
    let mut out = NetworkOutput::default();
    let mut gone = Gone { packets: Vec::new(), inside: 0, pushed: 0, counters: String::new() };
    let packet = |(i, (at, to, size)): (usize, &(u16, u8, u16))| {
        let bearer = BearerId::from_index(usize::from(*to) % (2 * plan.ues));
        (u64::from(*at) * 3_000, bearer, i, u32::from(*size))
    };
    let mut packets: Vec<(u64, BearerId, usize, u32)> = plan.packets.iter().enumerate().map(packet).collect();
    packets.sort_unstable();
    let end = Instant::from_millis(400);
    let mut next = packets.into_iter().peekable();
    loop {
        let tti = network.next_tti().into_iter().chain(network.next_timer()).min().filter(|t| *t < end);
        let arrival = next.peek().map(|p| Instant(p.0));
        let now = match (tti, arrival) {
            (None, None) => break,
            // A packet at the instant at which a TTI starts is pushed after it.
            (Some(t), a) if a.is_none_or(|a| t <= a) => {
                if network.next_tti() == Some(t) {
                    network.on_tti(t, &mut out);
                } else {
                    network.on_timer(t, &mut out);
                }
                t
            }
            (_, Some(a)) => {
                let (_, bearer, i, size) = next.next().unwrap();
                let packet = Sdu::new(PacketId::from_index(i), size);
                network.push(a, bearer, End::Network, packet, &mut out);
                gone.pushed += 1;
                a
            }
            (Some(_), None) => unreachable!(),
        };
        gone.packets.extend(out.delivered.drain(..).map(|(_, _, sdu)| (now, sdu.id, true)));
        gone.packets.extend(out.dropped.drain(..).map(|(_, _, sdu, _)| (now, sdu.id, false)));
    }
    let inside = |b: usize| network.view().inside(BearerId::from_index(b), End::Network);
    gone.inside = (0..2 * plan.ues).map(inside).sum();
    network.finish_reception();
    for ue in (0..plan.ues).map(UeId::from_index) {
        for direction in Direction::BOTH {
            gone.counters += &format!("{:?}\n", network.view().link_stats(ue, direction));
        }
    }
    gone
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn whatever_goes_in_comes_out_once_and_no_rule_of_the_air_is_broken(plan in plans()) {
        let gone = carry_out(&plan, 1);
        let mut times = vec![0u32; plan.packets.len()];
        gone.packets.iter().for_each(|(_, id, _)| times[id.index()] += 1);
        prop_assert!(times.iter().all(|n| *n <= 1), "a packet left twice");
        prop_assert_eq!(gone.packets.len() + gone.inside, gone.pushed);
        // And the same at the same time, for any number of threads.
        prop_assert_eq!(carry_out(&plan, 3), gone);
    }
}

//! The length of a TTI and the number of resource blocks are parameters of scheduling: UEs with
//! full buffers and flat channels get the shares of the closed forms on carriers of LTE and of NR.

use lasthop_bearer::Direction;
use lasthop_cell::allocation::{Band, GROUPS_MAX, Need, Rates, Rules, Scratch, allocate};
use lasthop_cell::scheduler::{
    Candidate, Policy, PrioritySetConfig, SchedulerConfig, SchedulerContext, Schedulers,
};
use lasthop_units::{Bitrate, Duration, Id, Tti, UeId};

struct Carrier {
    blocks: u32,
    group: u32,
    tti: Duration,
}

/// Blocks of a carrier, of a group of them, and the TTI:
///
/// | carrier | blocks | group | TTI |
/// |---|---|---|---|
/// | LTE, 20 MHz | 100, TS 36.101 table 5.6-1 | 4, TS 36.213 table 7.1.6.1-1 | 1 ms |
/// | NR, 100 MHz at 30 kHz | 273, TS 38.101-1 table 5.3.2-1 | 16, TS 38.214 table 5.1.2.2.1-1 | 0.5 ms |
/// | NR, 200 MHz at 60 kHz | 264, TS 38.101-2 table 5.3.2-1 | 16 | 0.25 ms |
/// | NR, 100 MHz at 120 kHz | 66 | 4 | 0.125 ms |
///
/// NR's TTI is a slot, 1 ms / 2^mu with 15 * 2^mu kHz (TS 38.211 tables 4.2-1 and 4.3.2-1).
const CARRIERS: [Carrier; 5] = [
    Carrier { blocks: 100, group: 4, tti: Duration::from_micros(1000) },
    Carrier { blocks: 273, group: 16, tti: Duration::from_micros(500) },
    Carrier { blocks: 273, group: 16, tti: Duration::from_micros(250) },
    Carrier { blocks: 264, group: 16, tti: Duration::from_micros(250) },
    Carrier { blocks: 66, group: 4, tti: Duration::from_micros(125) },
];

/// Bits of a block in a TTI, for each UE; their channels are flat.
const RATES: [f64; 3] = [100.0, 200.0, 400.0];

/// Length of the averaging window [TTI], T <- (1 - 1/a) T + R/a.
const WINDOW: f64 = 200.0;

impl Carrier {
    fn band(&self) -> Band {
        Band::new(self.blocks, self.group, false)
    }

    /// Rate of the whole carrier with `bits` a block [bit/s].
    fn whole(&self, bits: f64) -> f64 {
        bits * f64::from(self.blocks) / self.tti.as_secs_f64()
    }

    /// Rates of UEs with full buffers under `scheduler` in 6000 TTIs, after as many [bit/s].
    fn shares(&self, scheduler: &SchedulerConfig, rates: &[f64]) -> Vec<f64> {
        const TTIS: u64 = 6000;
        let (blocks, tti) = (self.blocks, self.tti);
        let place = SchedulerContext { cell: "x", direction: Direction::Downlink, blocks, tti, seed: 1 };
        let mut policy = Schedulers::default().build(scheduler, place).unwrap();
        let rules = Rules { domain: policy.domain(), window: WINDOW, exact_shares: false };
        let band = self.band();
        let by_group: Vec<Rates> = rates.iter().map(|r| [*r as f32; GROUPS_MAX]).collect();
        let ids = 0..rates.len();
        let mut candidates: Vec<Candidate> = ids.clone().map(|i| self.candidate(i, rates[i])).collect();
        let (mut got, mut weights) = (vec![0.0; rates.len()], vec![0.0; rates.len()]);
        let (mut scratch, mut given) = (Scratch::default(), Vec::new());
        for n in 0..2 * TTIS {
            policy.weigh(Tti(n), &candidates, &mut weights);
            let need = |i: usize| Need { weight: weights[i], bits: 1e9, average: candidates[i].average };
            let needs: Vec<Need> = ids.clone().map(need).collect();
            allocate(&band, &rules, band.all(), &needs, |i| &by_group[i], &mut scratch, &mut given);
            for i in ids.clone() {
                let bits = f64::from(band.count(given[i])) * rates[i];
                candidates[i].average += (bits - candidates[i].average) / WINDOW;
                candidates[i].served = if bits > 0.0 { Some(Tti(n)) } else { candidates[i].served };
                got[i] += if n < TTIS { 0.0 } else { bits };
            }
        }
        got.iter().map(|bits| bits / (TTIS as f64 * tti.as_secs_f64())).collect()
    }

    fn candidate(&self, ue: usize, bits: f64) -> Candidate {
        Candidate {
            ue: UeId::from_index(ue),
            backlog: 1_000_000,
            head_delay: Duration::ZERO,
            wideband_rate: bits * f64::from(self.blocks),
            average: 1.0,
            qci: 9,
            guaranteed: 0.0,
            served: None,
        }
    }

    fn agree(&self, scheduler: &SchedulerConfig, rates: &[f64], expected: &[f64], within: f64) {
        let found = self.shares(scheduler, rates);
        let close = found.iter().zip(expected).all(|(f, e)| (f - e).abs() <= within * e.abs());
        let (blocks, tti) = (self.blocks, self.tti);
        assert!(close, "{scheduler:?}, {blocks} blocks, {tti}: {found:?} instead of {expected:?} bit/s");
    }
}

fn named(scheduler: &str) -> SchedulerConfig {
    scheduler.parse().unwrap()
}

/// The short last group and the remainder of the division rotate too: each UE gets exactly a third
/// of the blocks.
#[test]
fn round_robin_divides_the_blocks() {
    for c in &CARRIERS {
        c.agree(&named("round-robin"), &RATES, &RATES.map(|r| c.whole(r) / 3.0), 1e-12);
    }
}

/// With flat channels proportional fair gives every UE the same share of blocks.
#[test]
fn proportional_fair_divides_the_blocks() {
    for c in &CARRIERS {
        c.agree(&named("proportional-fair"), &RATES, &RATES.map(|r| c.whole(r) / 3.0), 0.01);
    }
}

#[test]
fn the_maximum_rate_is_that_of_the_best_channel() {
    for c in &CARRIERS {
        for name in ["tdmt", "fdmt"] {
            c.agree(&named(name), &RATES, &[0.0, 0.0, c.whole(RATES[2])], 1e-12);
        }
    }
}

/// Shares s_i with s_i R_i = T and a sum of 1: T = 1 / (1/R_1 + 1/R_2 + 1/R_3).
#[test]
fn equal_throughput_is_the_harmonic_mean_divided_by_the_number() {
    let bits = 1.0 / RATES.iter().map(|r| 1.0 / r).sum::<f64>();
    for c in &CARRIERS {
        for name in ["td-bet", "fd-bet"] {
            c.agree(&named(name), &RATES, &[c.whole(bits); 3], 0.01);
        }
    }
}

/// One UE is served in a TTI. The target is three quarters of the rate of the worse channel: that
/// UE gets it, and the other, whose channel is four times better, gets a quarter of the carrier,
/// above its target. The target is a rate in bit/s, while rates served are counted by TTI.
#[test]
fn a_target_rate_is_kept_whatever_the_tti() {
    for c in &CARRIERS {
        let target = 0.75 * c.whole(100.0);
        let config = PrioritySetConfig { multiplexed: 1, target: Bitrate(target as u64) };
        let expected = [target, 0.25 * c.whole(400.0)];
        c.agree(&SchedulerConfig::PrioritySet(config), &[100.0, 400.0], &expected, 0.02);
    }
}

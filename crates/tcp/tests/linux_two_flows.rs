//! Two flows of the `linux-6` profile on one bottleneck against recordings of two flows of a real
//! Linux 6.1. Set LASTHOP_SHARED to the folder that holds `data/linux-6.1-multiflow`; without it
//! the test passes and says so. With LASTHOP_CURVES set to a folder, the samples of the first run
//! of each pair and the table of bars are written there for docs/draw_two_flows.py.
//!
//! The kernel's recording is one run. Where two flows share a drop-tail queue, a start some
//! milliseconds later gives another share, so ours is a sample of runs that differ in the second
//! flow's start and in the numbers that a control draws. The bar is the prediction interval of that
//! sample: if the kernel's run were one more of ours, it would miss any of the bars of this test
//! once in twenty times.
//!
//! Bars for single quantities do not detect a deviation that is small in all of them. So the
//! kernel's run is also tested as a whole: by the sum of the squares of its deviations, in standard
//! deviations of our runs, beside the same sum of each of ours against the others. The three
//! quantities of a pair depend on one another, and do so in both sums.

use crate::util::recorded::{Sample, as_recorded, curves, folder, recording, write_curve};
use crate::util::shared::Shared;
use lasthop_tcp::*;
use lasthop_units::{Duration, Instant};
use std::path::Path;

const PAIRS: [[&str; 2]; 11] = [
    ["cubic", "cubic"],
    ["reno", "reno"],
    ["cubic", "reno"],
    ["cubic", "bbr"],
    ["bbr", "bbr"],
    ["cubic", "vegas"],
    ["vegas", "vegas"],
    ["reno", "bbr"],
    ["westwood", "cubic"],
    ["htcp", "cubic"],
    ["illinois", "cubic"],
];
/// The recordings' path: 10 Mbit/s, 20 ms each way, a limit of 100 packets that includes those in
/// transmission.
const RATE: u64 = 10_000_000 / 8;
const DELAY: Duration = Duration::from_millis(20);
const HELD: usize = 100;
/// Octets of a write.
const WRITE: u64 = 65_536;
const END: Duration = Duration::from_secs(60);
const PERIOD: Duration = Duration::from_millis(100);
/// Runs of a pair: with the kernel's they are 100, of which 5 % is a whole number. Their offsets
/// spread over 6 s, about the time from loss to loss of the slowest pairs.
const RUNS: u64 = 99;
const OFFSET: Duration = Duration::from_micros(60_600);
/// Student's t of 98 degrees of freedom for a probability of 0.05 in all 33 comparisons (11 pairs,
/// 3 quantities), both sides: 1 - 0.05 / 66.
const QUANTILE: f64 = 3.26;
/// The kernel's run is tested as a whole at a probability of 0.05: of 100 runs of one distribution
/// each rank is as likely, so that one of the five farthest is the kernel's once in twenty times.
const FARTHEST: usize = 5;
/// The quantities compared, and the least significant deviation: one segment of the 40 that two
/// windows hold in all when no queue stands (vegas beside vegas), one retransmission.
const QUANTITIES: [(&str, f64); 3] =
    [("share", 0.025), ("retransmissions 1", 1.0), ("retransmissions 2", 1.0)];
/// What does not hold, by pair and quantity (docs/concepts/linux-two-flows.md, "Differences").
const PARTS: [(&str, &str); 1] = [("reno-bbr", "share")];

/// Samples of both flows, each from when it was established to the end.
type Both = [Vec<Sample>; 2];

/// The recordings start a flow of the same control 10 s after the first, another 2 s after.
fn second_start(pair: [&str; 2]) -> Duration {
    Duration::from_secs(if pair[0] == pair[1] { 10 } else { 2 })
}

/// The offset of the second start. BBR's first ProbeRTT comes 10.0 s after its flow's start and
/// lasts 0.2 s: in the recording of two BBR flows the second one starts into it. That is no chance,
/// so offsets stay within those 0.2 s there.
fn offset(pair: [&str; 2], run: u64) -> Duration {
    if pair == ["bbr", "bbr"] { OFFSET * run / 50 } else { OFFSET * run }
}

fn simulated(pair: [&str; 2], run: u64) -> Both {
    let config = |cc: &str| as_recorded(cc.parse().unwrap()).resolve().unwrap();
    let mut s = Shared::new(&pair.map(config), DELAY, run as u32);
    (s.links[0].rate, s.links[0].held, s.links[0].framing) = (RATE, HELD, 14);
    let second = second_start(pair);
    let start = Instant::ZERO + second + offset(pair, run);
    let counts = [END, END - second].map(|time| 1 + (time.0 / PERIOD.0) as usize);
    let mut established: [Option<Instant>; 2] = [None; 2];
    let (mut out, mut rest): (Both, _) = ([vec![], vec![]], [WRITE; 2]);
    s.connect(0);
    let mut connected = 1;
    while (0..2).any(|f| out[f].len() < counts[f]) {
        // The next moment at which something is done from outside: a sample of either flow, or the
        // second start.
        let due = |f: usize| established[f].map(|at| at + PERIOD * out[f].len() as u64);
        let due = [due(0), due(1), (connected < 2).then_some(start)];
        let limit = due.into_iter().flatten().min().unwrap_or(Instant::MAX);
        while let Some(flow) = s.step(limit) {
            if established[flow].is_some() {
                s.write_blocks(flow, WRITE, &mut rest[flow]);
            }
            if established[flow].is_none() && s.flows[flow][0].state() == State::Established {
                established[flow] = Some(s.now);
                s.write_blocks(flow, WRITE, &mut rest[flow]);
                break;
            }
        }
        for f in 0..2 {
            if due[f] == Some(s.now) {
                let time = PERIOD.as_secs_f64() * out[f].len() as f64;
                out[f].push(Sample::of(&s.flows[f][0], time));
            }
        }
        if due[2] == Some(s.now) {
            s.connect(1);
            connected = 2;
        }
    }
    for f in 0..2 {
        out[f].truncate(counts[f]);
    }
    out
}

/// Octets acknowledged between `from` and the end of the samples.
fn carried(samples: &[Sample], from: f64) -> f64 {
    let before = samples.iter().find(|s| s.time >= from - 1e-6).unwrap();
    samples.last().unwrap().acked - before.acked
}

/// The first flow's share of what both carry in the last 40 s, and the retransmissions of each.
fn summarise(both: &Both, second: Duration) -> [f64; 3] {
    let a = carried(&both[0], 20.0);
    let b = carried(&both[1], 20.0 - second.as_secs_f64());
    let sent_again = |f: usize| both[f].last().unwrap().retransmissions;
    [a / (a + b), sent_again(0), sent_again(1)]
}

fn recorded(folder: &Path, pair: [&str; 2]) -> Both {
    let name = pair.join("-");
    let read = |f: usize| {
        let file = folder.join(format!("m1-{name}-{}-{}.csv", f + 1, pair[f]));
        recording(&file)
    };
    [read(0), read(1)]
}

/// Mean, standard deviation, smallest and largest.
fn spread(values: &[f64]) -> [f64; 4] {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
    let (least, most) = values.iter().fold((f64::MAX, f64::MIN), |(l, m), &x| (l.min(x), m.max(x)));
    [mean, variance.sqrt(), least, most]
}

/// The sum of squared deviations of `one` run of each pair from the `others`, in standard
/// deviations of a further run, and how many of them lie above and below. Quantities that never
/// vary are left out.
fn distance(one: &[[f64; 3]], others: &[Vec<[f64; 3]>]) -> (f64, [usize; 2]) {
    let (mut sum, mut sides) = (0.0, [0; 2]);
    for (run, others) in one.iter().zip(others) {
        for n in 0..3 {
            let values: Vec<f64> = others.iter().map(|r| r[n]).collect();
            let [mean, deviation, ..] = spread(&values);
            if deviation > 0.0 {
                let z = (run[n] - mean) / (deviation * (1.0 + 1.0 / values.len() as f64).sqrt());
                sum += z * z;
                sides[usize::from(z < 0.0)] += 1;
            }
        }
    }
    (sum, sides)
}

/// The kernel's distance from our runs, and that of each of ours from the others, sorted.
fn distances(kernel: &[[f64; 3]], ours: &[Vec<[f64; 3]>]) -> (f64, Vec<f64>) {
    let (sum, [above, below]) = distance(kernel, ours);
    let without = |r: usize| -> Vec<Vec<[f64; 3]>> {
        let others = |runs: &Vec<[f64; 3]>| [&runs[..r], &runs[r + 1..]].concat();
        ours.iter().map(others).collect()
    };
    let one = |r: usize| distance(&ours.iter().map(|runs| runs[r]).collect::<Vec<_>>(), &without(r)).0;
    let mut each: Vec<f64> = (0..RUNS as usize).map(one).collect();
    each.sort_by(f64::total_cmp);
    println!("distance {sum:.1} of {}: {above} above, {below} below; ours {each:.1?}", above + below);
    (sum, each)
}

/// Our runs of a pair; the curves of the first are written.
fn runs(pair: [&str; 2], curves: Option<&Path>) -> Vec<[f64; 3]> {
    let one = |run: u64| {
        let both = simulated(pair, run);
        if let Some(to) = curves.filter(|_| run == 0) {
            for f in 0..2 {
                write_curve(&to.join(format!("{}-{}-{}.csv", pair.join("-"), f + 1, pair[f])), &both[f]);
            }
        }
        summarise(&both, second_start(pair))
    };
    (0..RUNS).map(one).collect()
}

#[test]
fn two_flows_share_a_bottleneck_as_the_kernels_do() {
    let Some(folder) = folder("linux-6.1-multiflow") else { return };
    let curves = curves();
    let (mut failures, mut table) = (vec![], String::from("pair,what,kernel,ours,least,most,bar,holds\n"));
    let (mut theirs, mut ours) = (vec![], vec![]);
    for pair in PAIRS {
        let name = pair.join("-");
        let kernel = summarise(&recorded(&folder, pair), second_start(pair));
        let runs = runs(pair, curves.as_deref());
        for (n, (what, least_bar)) in QUANTITIES.into_iter().enumerate() {
            let values: Vec<f64> = runs.iter().map(|r| r[n]).collect();
            let [mean, deviation, least, most] = spread(&values);
            let bar = (QUANTILE * deviation * (1.0 + 1.0 / RUNS as f64).sqrt()).max(least_bar);
            let holds = (kernel[n] - mean).abs() <= bar;
            let row =
                format!("{name},{what},{:.3},{mean:.3},{least:.3},{most:.3},{bar:.3},{holds}\n", kernel[n]);
            table += &row;
            if holds == PARTS.contains(&(&*name, what)) {
                failures.push(row);
            }
        }
        theirs.push(kernel);
        ours.push(runs);
    }
    let (kernel, each) = distances(&theirs, &ours);
    print!("{table}");
    if let Some(to) = &curves {
        std::fs::write(to.join("bars.csv"), table).unwrap();
    }
    assert!(failures.is_empty(), "{failures:#?}");
    let farther = each.iter().filter(|&&d| d > kernel).count();
    assert!(farther >= FARTHEST, "{farther} of our runs are farther than the kernel's, {kernel:.1}");
}

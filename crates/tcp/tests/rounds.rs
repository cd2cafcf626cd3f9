//! The window by round trip, for each recovery flavour and algorithm, through slow start, one loss, a burst of
//! losses and a timeout: readable goldens.
//!
//! The path: 100 ms round trip, no queue; ns-2's counting, so that each number can be followed on paper.

mod util;

use lasthop_tcp::*;
use lasthop_units::{Duration, Instant};
use util::*;

const ROUND: u64 = 100;

/// The window in the middle of each round, with `*` in fast recovery and `!` after a timeout.
fn rounds(o: &Options, drop: &[u64], n: u64) -> String {
    let mut p = Pair::of(o, Duration::from_millis(ROUND / 2));
    p.links[0].drop = drop.to_vec();
    p.connect();
    p.ends[0].write(p.now, 1 << 40);
    let mut out = vec![];
    for r in 1..=n {
        p.drive(Instant::from_millis(r * ROUND + ROUND / 2 - 1));
        let i = p.ends[0].info();
        let mark = match i.ca_state {
            CaState::Recovery => "*",
            CaState::Loss => "!",
            _ => "",
        };
        out.push(format!("{:.1}{mark}", i.snd_cwnd).replace(".0", ""));
    }
    out.join(" ")
}

fn ns2(cc: CcName, recovery: RecoveryFlavour) -> Options {
    Options {
        profile: Profile::Ns2,
        cc: Some(cc),
        recovery: Some(recovery),
        max_window: Some(32),
        ..Options::default()
    }
}

/// Segments 0, 1 are round 1; 2-5 round 2; 6-13 round 3; 14-29 round 4 with a window of 16.
const ONE: &[u64] = &[14];
const BURST: &[u64] = &[14, 16, 18];
/// Everything of round 4: no duplicate ACK can come.
const ALL: &[u64] = &[14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29];

#[test]
fn print_all() {
    use RecoveryFlavour::*;
    for f in [Tahoe, Reno, NewReno, Sack] {
        for (name, drop) in [("none", &[][..]), ("one", ONE), ("burst", BURST), ("all", ALL)] {
            println!("{f:?} {name}: {}", rounds(&ns2(CcName::Reno, f), drop, 26));
        }
    }
    for (name, drop) in [("none", &[][..]), ("one", ONE), ("burst", BURST), ("all", ALL)] {
        println!("Vegas {name}: {}", rounds(&ns2(CcName::Vegas, Reno), drop, 26));
    }
    for (name, drop) in [("none", &[][..]), ("one", &[40]), ("burst", &[40, 42, 44])] {
        println!("rfc {name}: {}", rounds(&Options::default(), drop, 16));
    }
}

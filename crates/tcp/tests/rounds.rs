//! The window by round trip, for each recovery flavour and algorithm, through slow start, one loss,
//! a burst of losses and a timeout: readable goldens.
//!
//! The path: 100 ms round trip, no queue. The ns2 profile, so that each number can be followed on
//! paper.

use crate::util::*;
use RecoveryFlavour::{NewReno, Reno, Sack, Tahoe};
use lasthop_tcp::*;
use lasthop_units::{Duration, Instant};

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
        window: WindowOptions { max_window: Some(32), ..WindowOptions::default() },
        ..Options::default()
    }
}
fn reno(recovery: RecoveryFlavour) -> Options {
    ns2(CcName::Reno, recovery)
}

/// Segments 0 and 1 leave in round 1, 2 to 5 in round 2, 6 to 13 in round 3, 14 to 29 in round 4
/// (window 16).
const ONE: &[u64] = &[14];
const BURST: &[u64] = &[14, 16, 18];
/// Everything of round 4: no duplicate ACK can come.
const ALL: &[u64] = &[14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29];

#[test]
fn slow_start_doubles_to_the_ceiling_with_every_recovery() {
    for f in [Tahoe, Reno, NewReno, Sack] {
        assert_eq!(rounds(&reno(f), &[], 8), "2 4 8 16 32 32 32 32", "{f:?}");
    }
    // Vegas doubles every other round trip.
    assert_eq!(rounds(&ns2(CcName::Vegas, Reno), &[], 9), "2 4 4 8 8 16 16 32 32");
}

#[test]
fn one_loss_costs_tahoe_a_slow_start_and_the_others_half_a_window() {
    // Window 16: ssthresh 8. Tahoe: 1, 2, 4, 8, then + 1 each round.
    assert_eq!(rounds(&reno(Tahoe), ONE, 12), "2 4 8 16 1* 2 4 8 9 9.8 10.7 11.6");
    // Reno: 8 + 15 duplicates = 23 in recovery; out of it 8, and the ACKs of the round bring it to
    // 9.
    assert_eq!(rounds(&reno(Reno), ONE, 12), "2 4 8 16 23* 9 9.8 10.7 11.6 12.5 13.4 14.4");
    assert_eq!(rounds(&reno(NewReno), ONE, 12), "2 4 8 16 23* 9 9.8 10.7 11.6 12.5 13.4 14.4");
    // SACK does not inflate: pipe does that work.
    assert_eq!(rounds(&reno(Sack), ONE, 12), "2 4 8 16 8* 8.8 9.7 10.6 11.5 12.4 13.4 14.3");
}

#[test]
fn a_burst_of_losses_silences_reno_until_a_timeout_and_costs_newreno_a_round_per_hole() {
    assert_eq!(rounds(&reno(Tahoe), BURST, 10), "2 4 8 16 1* 2 3 4 8 9");
    // Reno leaves recovery at the first partial ACK with a window of 8 and 13 outstanding: nothing
    // may be sent, so no ACK comes, for one RTO of 1 s from round 6 on.
    assert_eq!(
        rounds(&reno(Reno), BURST, 20),
        "2 4 8 16 21* 8.1 8.1 8.1 8.1 8.1 8.1 8.1 8.1 8.1 8.1 1! 2! 3 4.5 5.3"
    );
    // NewReno: three holes, three rounds.
    assert_eq!(rounds(&reno(NewReno), BURST, 10), "2 4 8 16 21* 25* 30* 9 9.8 10.7");
    // SACK: all three holes in one round.
    assert_eq!(rounds(&reno(Sack), BURST, 8), "2 4 8 16 8* 8.6 9.5 10.4");
}

#[test]
fn the_loss_of_a_whole_window_takes_every_flavour_to_a_timeout_and_slow_start() {
    for f in [Tahoe, Reno, NewReno, Sack] {
        // The last ACK came at 0.4 s and restarted the timer of 1 s: expiry at 1.4 s, round 14.
        assert_eq!(
            rounds(&reno(f), ALL, 20),
            "2 4 8 16 16 16 16 16 16 16 16 16 16 1! 2! 4! 8! 9! 9.8 10.7",
            "{f:?}"
        );
    }
}

#[test]
fn vegas_cuts_a_quarter_on_duplicate_acks_and_restarts_with_two_after_a_timeout() {
    let vegas = ns2(CcName::Vegas, Reno);
    // Segments 10 to 17 are round 4, window 8. The cut is 8 - 8/4 = 6; seven duplicates inflate it
    // to 13; the new ACK takes it back to 6, and with nothing queued (delta 0 < alpha) each round
    // adds one, or a hair less.
    assert_eq!(rounds(&vegas, &[10], 10), "2 4 4 8 13* 7 7 8 9 10");
    // The last ACK came at 0.4 s: timeout at 1.4 s, cwnd 2, ssthresh 8/2 = 4; slow start every
    // other round.
    assert_eq!(
        rounds(&vegas, &[10, 11, 12, 13, 14, 15, 16, 17], 20),
        "2 4 4 8 8 8 8 8 8 8 8 8 8 2! 2! 4! 5 6 7 8"
    );
}

#[test]
fn the_standards_grow_by_octets_with_a_delayed_ack_and_recover_with_sack() {
    // Initial window 10; an ACK for every second segment, one segment each (RFC 5681 equation 2): x
    // 1.5.
    assert_eq!(rounds(&Options::default(), &[], 8), "10 15 22 33 49 73 109 163");
    // Segments 25 to 46 are round 3, window 22; number 40 is lost. FlightSize was 30 or 31: half is
    // 15.
    assert_eq!(rounds(&Options::default(), &[40], 10), "10 15 22 15* 15 15 16 17 18 19");
    assert_eq!(rounds(&Options::default(), &[40, 42, 44], 10), "10 15 22 15* 15* 15 16 17 18 19");
}

//! Random access against its closed forms and published rates.

use lasthop_engine::{Draw, Purpose};
use lasthop_units::{Duration, Id, UeId};

use super::*;

const SEED: u64 = 20_261_120;

/// A cell without transmission errors, and `n` UEs that start in TTI 0.
struct Cell {
    config: RandomAccessConfig,
    ues: Vec<RandomAccess>,
    responder: Responder,
    /// When each UE was successful, and in which attempt.
    done: Vec<Option<(Tti, u32)>>,
    /// TTIs of Msg3, and the UEs that share each grant.
    msg3: Vec<(Tti, SmallUes)>,
}
type SmallUes = smallvec::SmallVec<[UeId; 2]>;

impl Cell {
    fn new(config: RandomAccessConfig, n: usize, run: u64) -> Cell {
        config.validate().unwrap();
        let ue = |i| {
            let mut ra = RandomAccess::new(Draw::new(SEED + run, Purpose::Test, i as u64));
            ra.start(&config, Tti(0), None);
            ra
        };
        Cell {
            config,
            ues: (0..n).map(ue).collect(),
            responder: Responder::default(),
            done: vec![None; n],
            msg3: Vec::new(),
        }
    }

    fn run(mut self, ttis: u64) -> Cell {
        for tti in (0..ttis).map(Tti) {
            for i in 0..self.ues.len() {
                match self.ues[i].on_tti(&self.config, tti) {
                    Some(Action::Preamble(p)) => self.responder.preamble(UeId::from_index(i), p),
                    Some(Action::Problem) | None => {}
                }
            }
            while let Some(answer) = self.responder.respond(&self.config, tti) {
                for ue in &mut self.ues {
                    ue.on_backoff(answer.to, self.config.backoff.as_millis());
                }
                let msg3 = tti.plus(MSG3_DELAY);
                for ue in &answer.ues {
                    assert!(self.ues[ue.index()].on_response(answer.to, answer.preamble, msg3));
                }
                self.msg3.push((msg3, answer.ues));
            }
            let (now, later) = std::mem::take(&mut self.msg3).into_iter().partition(|(t, _)| *t == tti);
            self.msg3 = later;
            let now: Vec<(Tti, SmallUes)> = now;
            for (_, ues) in now {
                for ue in &ues {
                    self.ues[ue.index()].on_msg3(&self.config, tti);
                }
                // Alone on its blocks: decoded, and the next message resolves the contention.
                if let [ue] = ues[..] {
                    let ra = &mut self.ues[ue.index()];
                    self.done[ue.index()] = Some((tti, ra.attempts()));
                    ra.stop();
                }
            }
            self.responder.close(&self.config, tti);
        }
        self
    }

    fn succeeded_within(&self, attempts: u32) -> usize {
        self.done.iter().flatten().filter(|(_, a)| *a <= attempts).count()
    }
}

/// A preamble in TTI 0, the answer in the first TTI of its window (3), Msg3 6 TTIs later.
#[test]
fn one_ue_alone_sends_msg3_in_the_ninth_tti_after_its_preamble() {
    let cell = Cell::new(RandomAccessConfig::default(), 1, 0).run(20);
    assert_eq!(cell.done, [Some((Tti(9), 1))]);
}

/// (1 - 1/P)^(n - 1): each of the others has drawn another of P preambles. P = 52: .8397, .6915,
/// .3862 for n = 10, 20, 50 (every UE of 400 runs is a trial; the bound is 4 standard errors of
/// independent trials, doubled because the UEs of one run are not independent).
#[test]
fn the_first_attempt_succeeds_as_often_as_the_closed_form_says() {
    for (n, expected) in [(10, 0.8397), (20, 0.6915), (50, 0.3862)] {
        let closed = lasthop_engine::math::pow(1.0 - 1.0 / 52.0, f64::from(n - 1));
        assert!((closed - expected).abs() < 5e-5);
        // As many responses as there are UEs, so that collisions alone decide.
        let config = RandomAccessConfig { responses_per_tti: 64, ..RandomAccessConfig::default() };
        let (runs, n) = (400, n as usize);
        let won: usize = (0..runs).map(|run| Cell::new(config, n, run).run(15).succeeded_within(1)).sum();
        let trials = (runs as usize * n) as f64;
        let bound = 8.0 * lasthop_engine::math::sqrt(expected * (1.0 - expected) / trials);
        let got = won as f64 / trials;
        assert!((got - expected).abs() < bound, "{n} UEs: {got}, expected {expected} within {bound}");
    }
}

/// ns-3's model: the preamble of TTI n, its window n + 3 to n + 5, one TTI more: 3 + 3 + 1 = 7 TTIs
/// an attempt.
#[test]
fn an_attempt_in_vain_costs_seven_ttis_in_the_profile_of_ns3() {
    let mut ra = RandomAccess::new(Draw::new(SEED, Purpose::Test, 0));
    let config = RandomAccessConfig::ns3();
    ra.start(&config, Tti(4), None);
    let mut sent = Vec::new();
    for tti in (0..30).map(Tti) {
        if let Some(Action::Preamble(_)) = ra.on_tti(&config, tti) {
            sent.push(tti.0);
        }
    }
    assert_eq!(sent, [4, 11, 18, 25]);
}

/// The rates that ns-3's test of its random access asserts: 0.99 of the UEs are successful after 5
/// attempts when up to 20 start at once, after 10 attempts when up to 50 do.
#[test]
fn success_rates_are_those_of_the_reference() {
    for (n, attempts) in [(10, 5), (20, 5), (50, 10)] {
        let runs = 100;
        let ttis = u64::from(attempts) * 7 + 20;
        let won: usize = (0..runs)
            .map(|r| Cell::new(RandomAccessConfig::ns3(), n, r).run(ttis).succeeded_within(attempts))
            .sum();
        let rate = won as f64 / (runs as usize * n) as f64;
        assert!(rate >= 0.99, "{n} UEs within {attempts} attempts: {rate}");
    }
}

#[test]
fn two_with_the_same_preamble_share_one_answer_and_try_again_after_the_contention_timer() {
    // 4 preambles to draw from, and a run in which both UEs drew the same.
    let config = RandomAccessConfig { preambles: 4, ..RandomAccessConfig::default() };
    let run = (0..).find(|r| Cell::new(config, 2, *r).run(12).done == [None, None]).unwrap();
    let early = Cell::new(config, 2, run).run(12);
    assert!(early.ues.iter().all(RandomAccess::is_resolving), "both have sent Msg3 at 9");
    // The timer ends at 9 + 48 and the next preamble follows 3 TTIs later.
    let late = Cell::new(config, 2, run).run(200);
    let first = late.done.iter().flatten().map(|(t, _)| t.0).min().unwrap();
    assert_eq!(first, 9 + 48 + 3 + 9);
}

/// Clause 5.1.4: when the counter reaches preambleTransMax + 1 the problem is indicated to upper
/// layers, once, and the selection of a resource follows. An attempt takes 3 + 3 + 1 TTIs:
/// preambles in 0, 7 and 14, the third window ends in 20, and the fourth preamble is in 21.
#[test]
fn after_preamble_trans_max_attempts_there_is_a_problem_and_the_procedure_goes_on() {
    let config = RandomAccessConfig { preamble_trans_max: 3, ..RandomAccessConfig::ns3() };
    let mut ra = RandomAccess::new(Draw::new(SEED, Purpose::Test, 0));
    ra.start(&config, Tti(0), None);
    let actions: Vec<_> = (0..30).filter_map(|t| ra.on_tti(&config, Tti(t)).map(|a| (t, a))).collect();
    let times: Vec<_> = actions.iter().map(|(t, action)| (*t, *action == Action::Problem)).collect();
    assert_eq!(times, [(0, false), (7, false), (14, false), (14 + 6, true), (21, false), (28, false)]);
    assert!(ra.is_running());
    // Each preamble has 2 dB more power: the fifth one.
    assert_eq!(ra.target_power(&config).0, -104.0 + 4.0 * 2.0);
}

#[test]
fn a_dedicated_preamble_needs_no_contention_resolution() {
    let config = RandomAccessConfig::default();
    let mut ra = RandomAccess::new(Draw::new(SEED, Purpose::Test, 0));
    ra.start(&config, Tti(2), Some(60));
    assert_eq!(ra.on_tti(&config, Tti(2)), Some(Action::Preamble(60)));
    assert!(!ra.on_response(Tti(2), 59, Tti(11)), "not its preamble");
    assert!(!ra.on_response(Tti(1), 60, Tti(11)), "not its subframe");
    assert!(ra.on_response(Tti(2), 60, Tti(11)));
    assert!(ra.sends_msg3(Tti(11)));
    ra.on_msg3(&config, Tti(11));
    assert!(!ra.is_running());
}

/// Clause 5.1.5: mac-ContentionResolutionTimer (48 ms) starts with Msg3 in TTI 11 and again with
/// its retransmission in 19; one of another Msg3, first sent in 6, does not start it.
#[test]
fn a_retransmission_of_msg3_restarts_the_contention_timer() {
    let config = RandomAccessConfig::default();
    let mut ra = RandomAccess::new(Draw::new(SEED, Purpose::Test, 0));
    ra.start(&config, Tti(2), None);
    let Some(Action::Preamble(preamble)) = ra.on_tti(&config, Tti(2)) else { panic!("no preamble") };
    assert!(ra.on_response(Tti(2), preamble, Tti(11)));
    ra.on_msg3(&config, Tti(11));
    assert_eq!(ra.poll_at(), Some(Tti(11 + 48)));
    ra.on_msg3_again(&config, Tti(6), Tti(14));
    assert_eq!(ra.poll_at(), Some(Tti(11 + 48)));
    ra.on_msg3_again(&config, Tti(11), Tti(19));
    assert_eq!(ra.poll_at(), Some(Tti(19 + 48)));
    assert_eq!((ra.unresolved(Tti(66)), ra.unresolved(Tti(67))), (None, Some(Tti(11))));
}

/// Backoff uniform on 0 to 10 ms: over many UEs the next preamble comes 4 to 14 TTIs after the
/// window's last, each delay about equally often (1000 UEs, 11 delays: 91 each with deviation 9.1,
/// bound 5 of them).
#[test]
fn the_backoff_indicator_spreads_the_next_attempt() {
    let config = RandomAccessConfig { backoff: Duration::from_millis(10), ..RandomAccessConfig::default() };
    let mut count = [0; 11];
    for ue in 0..1000 {
        let mut ra = RandomAccess::new(Draw::new(SEED, Purpose::Test, ue));
        ra.start(&config, Tti(0), None);
        ra.on_tti(&config, Tti(0));
        ra.on_backoff(Tti(0), 10);
        assert_eq!(ra.poll_at(), Some(Tti(13)));
        ra.on_tti(&config, Tti(13));
        count[ra.poll_at().unwrap().0 as usize - (12 + 4)] += 1;
    }
    assert!(count.iter().all(|c| (46..=136).contains(c)), "{count:?}");
}

/// TS 36.211 table 5.7.1-2: opportunities per 20 ms of the indices 0 to 15.
#[test]
fn opportunities_are_those_of_the_configuration_index() {
    let per_two_frames = [1, 1, 1, 2, 2, 2, 4, 4, 4, 6, 6, 6, 10, 10, 20, 1];
    for (index, expected) in per_two_frames.into_iter().enumerate() {
        let config = RandomAccessConfig { prach_config_index: index as u8, ..RandomAccessConfig::default() };
        let prach = config.prach();
        assert_eq!((0..20).filter(|t| prach.is_opportunity(Tti(*t))).count(), expected, "{index}");
    }
    let at = |index, t| {
        RandomAccessConfig { prach_config_index: index, ..RandomAccessConfig::default() }
            .prach()
            .at_or_after(Tti(t))
            .0
    };
    assert_eq!((at(14, 7), at(3, 2), at(0, 2), at(15, 10), at(12, 1)), (7, 11, 21, 29, 2));
}

/// The limit of responses holds for a TTI, however often the responder is asked in it: six
/// preambles of one TTI have four responses three TTIs later, and the others one TTI after that.
#[test]
fn a_tti_has_at_most_so_many_responses() {
    let config = RandomAccessConfig { responses_per_tti: 4, ..RandomAccessConfig::default() };
    let mut responder = Responder::default();
    (0..6).for_each(|i| responder.preamble(UeId::from_index(i), i as u8));
    responder.close(&config, Tti(10));
    let mut sent = |tti| (0..9).filter(|_| responder.respond(&config, Tti(tti)).is_some()).count();
    assert_eq!([sent(12), sent(13), sent(14), sent(15)], [0, 4, 2, 0]);
}

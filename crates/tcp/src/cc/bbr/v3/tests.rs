use super::*;
use crate::cc::bbr::fluid::Fluid;
use crate::cc::testing::*;

/// 1000 segments/s, 50 ms: BDP 50.
fn fluid() -> Fluid<Bbr3> {
    Fluid::new(Bbr3::new(&linux_like()), 1000.0, 0.05)
}

#[test]
fn startup_fills_the_pipe_drain_empties_it_and_the_cycle_holds_it() {
    let mut f = fluid();
    f.run(0.2);
    assert_eq!(f.b.mode(), "Startup");
    f.run(1.5);
    assert!(f.b.mode().starts_with("ProbeBW"), "{}", f.b.mode());
    f.run(4.5);
    assert!((f.b.bandwidth() - 1000.0).abs() < 20.0, "{}", f.b.bandwidth());
    // A probe of 1.25 for a round or two: about a quarter of a BDP per round, at most 2.25 BDP in
    // all.
    f.max_queue = 0.0;
    let delivered = f.delivered;
    f.run(4.9);
    assert!(f.max_queue < 1.25 * 50.0 + 8.0, "{}", f.max_queue);
    assert!(f.delivered - delivered > 380.0, "{}", f.delivered - delivered);
}

#[test]
fn the_cycle_runs_down_cruise_refill_up_and_a_probe_comes_every_two_to_three_seconds() {
    let mut f = fluid();
    f.run(1.5);
    let (mut seen, mut before, mut ups) = (vec![], "", vec![]);
    while f.now < 4.9 {
        f.run(f.now + 0.002);
        let mode = f.b.mode();
        if mode != before {
            seen.push(mode);
            if mode == "ProbeBW_UP" {
                ups.push(f.now);
            }
        }
        before = mode;
    }
    let cycle = ["ProbeBW_CRUISE", "ProbeBW_REFILL", "ProbeBW_UP", "ProbeBW_DOWN"];
    let at = seen.iter().position(|m| *m == "ProbeBW_CRUISE").unwrap();
    for (n, m) in seen[at..].iter().enumerate() {
        assert_eq!(*m, cycle[n % 4], "{seen:?}");
    }
    // Reno's pace would be 50 rounds of 51 ms, 2.5 s: the earlier of both counts.
    for w in ups.windows(2) {
        assert!((1.9..3.4).contains(&(w[1] - w[0])), "{ups:?}");
    }
    assert!(!ups.is_empty());
}

#[test]
fn probe_rtt_comes_every_five_seconds_for_200_ms_at_half_a_bdp() {
    let mut f = fluid();
    let (mut low, mut seen, mut least) = (0.0, 0, f64::INFINITY);
    let mut before = "";
    while f.now < 22.0 {
        let t = f.now;
        f.run(f.now + 0.002);
        let mode = f.b.mode();
        if mode == "ProbeRTT" {
            low += f.now - t;
            least = least.min(f.b.cwnd);
            seen += u32::from(before != mode);
        }
        before = mode;
    }
    assert!((2..=4).contains(&seen), "{seen}");
    assert!((0.2..0.5).contains(&(low / f64::from(seen))), "{low} s in {seen} dips");
    assert!((22.0..30.0).contains(&least), "half of 50: {least}");
    assert!(
        (f.b.bandwidth() - 1000.0).abs() < 30.0,
        "what was seen then does not count: {}",
        f.b.bandwidth()
    );
}

#[test]
fn the_first_rate_is_the_initial_window_per_handshake_times_2_77() {
    // 10 segments of 1000 octets / 50 ms * 2.77 = 554 kB/s.
    assert_eq!(fluid().b.pacing_rate, 554_000.0);
}

#[test]
fn a_loss_outside_a_probe_bounds_rate_and_volume_at_seven_tenths() {
    let mut f = fluid();
    f.run(1.9);
    let b = &mut f.b;
    b.state.go(State::Cruise);
    b.cwnd = 100.0;
    let bw = b.max_bw.get();
    // The end of a round with a loss and nothing better seen.
    b.short.reset_signals();
    b.short.loss_in_round = true;
    b.adapt_lower_bounds();
    assert!((b.short.bw - 0.7 * bw).abs() < 1e-9);
    assert_eq!(b.short.inflight, 70.0);
}

#[test]
fn the_flight_at_which_losses_passed_two_per_cent() {
    // 100 before it and none lost: 0.02 * 100 / 0.98 = 2.04 beyond. With two lost before it: (2 -
    // 2) / 0.98 = 0.
    assert!((inflight_at_loss(101.0, 1.0) - 102.040_816).abs() < 1e-6);
    assert_eq!(inflight_at_loss(101.0, 3.0), 100.0);
}

#[test]
fn a_probe_that_loses_more_than_two_per_cent_sets_the_long_term_bound_and_goes_down() {
    let mut f = fluid();
    f.run(1.9);
    let now = Instant::ZERO + Duration::from_secs_f64(f.now);
    f.b.state.go(State::Up);
    f.b.probe.is_sample = true;
    f.b.full.reset();
    let delivered = f.delivered as u64 * MSS;
    let loss = |lost| Some(LossSample { sent_in_flight: 80 * MSS, lost: lost * MSS });
    let a = AckSample { now, total_delivered: delivered, in_flight: 60 * MSS, ..ack(1) };
    f.b.on_ack(&AckSample { loss: loss(1), ..a });
    assert_eq!((*f.b.state, f.b.inflight_longterm), (State::Up, f64::INFINITY), "1 of 80 is 1.25 %");
    f.b.on_ack(&AckSample { loss: loss(2), ..a });
    // 79 before it, one lost: 79 + (1.58 - 1) / 0.98 = 79.59.
    assert_eq!(*f.b.state, State::Down);
    assert!((f.b.inflight_longterm - 79.591_836).abs() < 1e-5, "{}", f.b.inflight_longterm);
    assert!((f.b.inflight_with_headroom() - 0.85 * 79.591_836).abs() < 1e-5);
    f.b.on_undo(0.0, 0.0);
    assert_eq!((*f.b.state, f.b.inflight_longterm), (State::Refill, f64::INFINITY), "spurious");
}

/// OnEnterRTO saves the state, then HandleLostPacket is called for what the timeout marks as lost
/// (sections "Per-Loss Steps" and "Saving State Upon Loss Recovery" of the draft at 4ce5e87), so
/// that HandleSpuriousLossDetection finds undo_state = ProbeBW_UP: back by way of REFILL.
#[test]
fn a_timeout_in_up_goes_down_and_its_undo_comes_back() {
    let mut f = fluid();
    f.run(1.9);
    f.b.state.go(State::Up);
    f.b.probe.is_sample = true;
    let cwnd = f.b.cwnd;
    let loss = Some(LossSample { sent_in_flight: 80 * MSS, lost: 2 * MSS });
    f.b.on_timeout(&Congestion { loss, ..Congestion::default() });
    assert_eq!((*f.b.state, f.b.cwnd), (State::Down, 1.0));
    assert!((f.b.inflight_longterm - 79.591_836).abs() < 1e-5, "{}", f.b.inflight_longterm);
    f.b.on_undo(0.0, 0.0);
    assert_eq!((*f.b.state, f.b.inflight_longterm, f.b.cwnd), (State::Refill, f64::INFINITY, cwnd));
}

/// The path of [`fluid`] in ProbeBW after 1.9 s, in this state, and a moment 6 s later.
fn idle(state: State) -> (Bbr3, u64, u64) {
    let mut f = fluid();
    f.run(1.9);
    assert!(f.b.full.reached);
    f.b.state.go(state);
    (f.b, f.delivered as u64 * MSS, (f.now * 1000.0) as u64 + 6_000)
}
fn restart(b: &mut Bbr3, at_ms: u64, app_limited: bool) {
    let now = Instant::from_millis(at_ms);
    b.on_transmit_start(&TransmitStart { now, idle: Duration::from_secs(6), app_limited });
}
/// The first ACK after it, with a round trip of 60 ms.
fn first_ack(b: &mut Bbr3, delivered: u64, at_ms: u64) {
    b.on_ack(&AckSample { total_delivered: delivered + MSS, ..ack_at(1, at_ms + 60, 60) });
}

/// HandleRestartFromIdle: idle_restart is set, the pacing rate is 1 * bw * (100 - 1) / 100 whatever
/// the gain of the state, and cwnd stays. CheckProbeRTT: after 6 s the estimate of 5 s has expired,
/// and the first ACK renews it (UpdateMinRTT) without ProbeRTT; it ends the restart.
#[test]
fn after_idleness_the_rate_is_bw_and_probe_rtt_is_skipped() {
    for state in [State::Down, State::Cruise, State::Refill, State::Up] {
        let (mut b, delivered, at) = idle(state);
        let (cwnd, interval) = (b.cwnd, b.aggregation.since());
        restart(&mut b, at, true);
        assert!(b.idle_restart);
        assert_eq!(b.pacing_rate, 1.0 * b.bw * MSS as f64 * 0.99);
        assert_eq!(b.cwnd, cwnd);
        assert_eq!(b.aggregation.since(), Instant::from_millis(at));
        assert!(interval < b.aggregation.since());
        first_ack(&mut b, delivered, at);
        assert_ne!(*b.state, State::ProbeRtt, "from {state:?}");
        assert!(!b.idle_restart);
        assert_eq!(b.min_rtt.probe, Some(Duration::from_millis(60)));
        assert_eq!(b.min_rtt.probe_at, Instant::from_millis(at + 60));
    }
}

/// HandleRestartFromIdle needs C.app_limited: a sender that the application does not limit begins
/// ProbeRTT at the same ACK.
#[test]
fn a_sender_with_data_makes_no_restart() {
    let (mut b, delivered, at) = idle(State::Cruise);
    let rate = b.pacing_rate;
    restart(&mut b, at, false);
    assert_eq!((b.idle_restart, b.pacing_rate), (false, rate));
    first_ack(&mut b, delivered, at);
    assert_eq!(*b.state, State::ProbeRtt);
}

/// CheckProbeRTTDone at a restart: Now() > probe_rtt_done_stamp brings prior_cwnd back, schedules
/// the next ProbeRTT from now, resets the short-term model, and passes through DOWN to CRUISE where
/// the pipe has been full, else to Startup. The rate is left to the next ACK. C.app_limited is
/// ProbeRTT's own mark here.
#[test]
fn a_restart_ends_a_probe_rtt_whose_time_is_over() {
    for (full, after) in [(true, State::Cruise), (false, State::Startup)] {
        let (mut b, delivered, at) = idle(State::ProbeRtt);
        (b.full.reached, b.cwnd, b.prior_cwnd, b.short.bw) = (full, 25.0, 80.0, 500.0);
        b.limited_until = delivered + MSS;
        let rate = b.pacing_rate;
        restart(&mut b, at, false);
        assert_eq!((*b.state, b.idle_restart), (State::ProbeRtt, true), "no stamp yet");
        b.probe_rtt.done_at = Some(Instant::from_millis(at + 1));
        restart(&mut b, at + 1, false);
        assert_eq!((*b.state, b.cwnd), (State::ProbeRtt, 25.0), "at the stamp, not after it");
        restart(&mut b, at + 2, false);
        assert_eq!((*b.state, b.cwnd, b.pacing_rate), (after, 80.0, rate));
        assert_eq!(b.min_rtt.probe_at, Instant::from_millis(at + 2));
        assert!(b.short.bw.is_infinite());
    }
}

/// CheckProbeRTT calls EnterProbeRTT before SaveCwnd, which takes the larger of prior_cwnd and cwnd
/// in ProbeRTT.
#[test]
fn the_entry_into_probe_rtt_keeps_a_larger_earlier_window() {
    for (prior, saved) in [(90.0, 90.0), (60.0, 70.0)] {
        let (mut b, delivered, at) = idle(State::Cruise);
        (b.prior_cwnd, b.cwnd) = (prior, 70.0);
        first_ack(&mut b, delivered, at);
        assert_eq!((*b.state, b.prior_cwnd), (State::ProbeRtt, saved));
    }
}

/// AdvanceMaxBwFilter: BBR.cycle_count++, with or without samples in the cycle.
#[test]
fn every_cycle_counts_and_one_without_a_sample_keeps_the_last_rate() {
    let mut filter = MaxBw::default();
    filter.add(5.0);
    filter.advance(1);
    filter.advance(1);
    assert_eq!((filter.count, filter.get()), (2, 5.0));
    filter.add(3.0);
    filter.advance(1);
    assert_eq!((filter.count, filter.get()), (3, 3.0));
}

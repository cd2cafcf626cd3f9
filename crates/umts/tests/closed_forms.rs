//! Closed forms of theory, with their derivations.

use crate::common::{World, bearer};
use lasthop_bearer::{Direction, End};
use lasthop_engine::math::pow;
use lasthop_umts::rlc::am::OnMaxDat;
use lasthop_units::{Duration, Instant, Ratio};

const MS: fn(u64) -> Instant = Instant::from_millis;

/// ceil(l / (C TTI)) TTI of the paper: 553 B over 480 B per TTI are 2 TTI = 20 ms down; 41 B over
/// 160 B are 1 TTI = 20 ms up. A packet that arrives at 0 waits for the TTI at 10 (20) ms: one that
/// arrives as a TTI starts is sent in the next one.
#[test]
fn error_free_transmission_times_are_those_of_the_paper() {
    let mut w = World::new(&bearer(0.0), 1);
    w.push(End::Network, 552);
    w.push(End::Ue, 40);
    w.run_until(Instant::from_secs(5));
    assert_eq!(w.delivered, [(MS(30), End::Ue, 0, 552), (MS(40), End::Network, 1, 40)]);
    assert!(w.is_quiet(), "an idle bearer has no events");
    assert_eq!(w.bearer.dch(Direction::Downlink).stats().ttis, 3, "two of data, one of status");
}

/// Selective repeat with a window that is large enough: each block carries new data with
/// probability 1 - p, so the goodput is C (1 - p) of SDU bytes, less one LI octet per SDU (1 in
/// 554) and the header octet of PDCP (1 in 553). Blocks are Bernoulli: in T = 400 s there are n =
/// 480 000, the standard error of the share is sqrt(p (1-p) / n) <= 6.7e-4. Further terms: status
/// blocks of the other direction (none here: no uplink data) and in-sequence delivery, which holds
/// back up to a window at the end (W / n = 1024 / 480 000 = 2.1e-3). Bound: 5 errors + 2.1e-3.
#[test]
fn goodput_is_the_rate_times_the_blocks_that_survive() {
    for p in [0.0, 0.05, 0.1, 0.2, 0.3] {
        let mut cfg = bearer(p);
        cfg.rlc.am.tx_window = 2047;
        cfg.rlc.am.rx_window = 2047;
        cfg.rlc.am.on_max_dat = OnMaxDat::Unlimited;
        let mut w = World::new(&cfg, 7);
        w.source[0] = Some((552, 4));
        let t = 400;
        w.run_until(Instant::from_secs(t));
        w.check_account();
        w.check_order();
        let goodput = w.bytes(End::Ue, Instant::ZERO, Instant::MAX) as f64 * 8.0 / t as f64;
        // Duplicates (a block sent again although it had arrived) take capacity beyond the theory,
        // so the test counts them.
        let s = w.bearer.rlc(End::Network).stats();
        let useful = goodput / (384_000.0 * (1.0 - p) * 552.0 / 554.0);
        let sent = (s.pdus_new + s.pdus_retx) as f64 / s.pdus_new as f64;
        println!("p {p}: goodput {goodput:.0} bit/s, {useful:.4} of theory, {sent:.4} transmissions");
        let bound = 5.0 * (p * (1.0 - p) / 480_000.0).sqrt() / (1.0 - p) + 2.1e-3 + 2e-4;
        assert!((useful - 1.0).abs() < bound, "p {p}: {useful}");
        // Mean transmissions per block: 1/(1-p); standard error sqrt(p / ((1-p)^2 N)) < 1.2e-3 at N
        // = 3e5.
        assert!((sent * (1.0 - p) - 1.0).abs() < 6e-3, "p {p}: {sent}");
    }
}

/// W = 128, status at most every 200 ms, 80 ms of loop: at most W blocks per 280 ms = 128 * 320 /
/// 0.28 = 146 kbit/s. The loop here: poll at TTI start, 10 ms of transmission, up to 20 ms to the
/// next uplink TTI (strictly after), 20 ms of transmission: the report is sent every ceil20(200)
/// ms. The measured rate must be below W per 200 ms + loop of at least 10 + 20 and above W per
/// 200 + 80 ms.
#[test]
fn a_small_window_caps_the_rate() {
    let mut cfg = bearer(0.0);
    let am = &mut cfg.rlc.am;
    (am.tx_window, am.rx_window) = (128, 128);
    am.timer_status_prohibit = Duration::from_millis(200);
    (cfg.downlink.iub_delay, cfg.uplink.iub_delay) = (Duration::from_millis(15), Duration::from_millis(15));
    let mut w = World::new(&cfg, 1);
    w.source[0] = Some((552, 4));
    w.run_until(Instant::from_secs(100));
    let rate = w.bytes(End::Ue, Instant::ZERO, Instant::MAX) as f64 * 8.0 / 100.0;
    println!("window cap: {rate:.0} bit/s");
    let per = |seconds: f64| 128.0 * 320.0 / seconds * 552.0 / 554.0;
    assert!(rate <= per(0.2) && rate >= 0.99 * per(0.28), "{rate}");
}

/// Claim U18: a once-lost block costs at least one uplink TTI (the report), one downlink TTI (the
/// block) and the delay between them. Measured as the extra delay of a lone packet of one block,
/// over many of them, reported at once because a second packet follows in the same TTI (gap
/// detection).
#[test]
fn a_lost_block_costs_at_least_a_tti_each_way() {
    let mut cfg = bearer(0.2);
    cfg.uplink.bler = Ratio(0.0);
    cfg.rlc.am.timer_status_prohibit = Duration::ZERO;
    (cfg.downlink.iub_delay, cfg.uplink.iub_delay) = (Duration::from_millis(3), Duration::from_millis(2));
    let mut w = World::new(&cfg, 3);
    for i in 0..500 {
        w.push_at(MS(1000 * i + 5), End::Network, 400);
    }
    w.run_until(Instant::from_secs(600));
    assert_eq!(w.delivered.len(), 500);
    // Without loss: TTI at 10, arrival 20 + 3. With a repetition: report 20 ms + 2, block 10 ms +
    // 3: at least 35 ms more.
    let delays: Vec<u64> = w.delivered.iter().map(|d| d.0.0 / 1_000_000 - 1000 * d.2 as u64).collect();
    assert_eq!(delays.iter().min(), Some(&23));
    let second = delays.iter().filter(|d| **d > 23).min().unwrap();
    println!("least delay {} ms, with a repetition {second} ms", 23);
    // On the grids: report in the uplink TTI 40..60, + 2; block in the downlink TTI 70..80, + 3 =
    // 83.
    assert_eq!(*second, 83);
    assert!(second - 23 >= 20 + 10 + 5);
}

/// A sender whose buffer is never empty has no last PDU but that of the window: without polls by
/// either no poll is sent at p = 0, and the window stalls permanently. `validate` warns of it.
#[test]
fn without_polls_by_the_window_a_backlogged_sender_stalls() {
    let mut cfg = bearer(0.0);
    cfg.rlc.am.poll_window = Ratio(0.0);
    cfg.rlc.am.poll_last_pdu = false;
    assert!(cfg.validate().unwrap().iter().any(|w| w.key == "rlc.am.poll_window"));
    let mut w = World::new(&cfg, 1);
    w.source[0] = Some((552, 4));
    w.run_until(Instant::from_secs(100));
    assert_eq!(w.bearer.rlc(End::Network).stats().window_used, 1024);
    assert!(w.is_quiet(), "no timer and no data left");
    cfg.rlc.am.poll_window = Ratio(0.5);
    cfg.rlc.am.poll_last_pdu = true;
    assert!(cfg.validate().unwrap().is_empty());
    let mut w = World::new(&cfg, 1);
    w.source[0] = Some((552, 4));
    w.run_until(Instant::from_secs(100));
    assert!(w.bytes(End::Ue, Instant::ZERO, Instant::MAX) * 8 > 380_000 * 100);
}

/// "Last PDU in buffer" (TS 25.322 clause 9.7.1) includes the last PDU that the window allows, so
/// this poll alone keeps a backlogged sender going, a window at a time. W = 128 PDUs of 40 octets
/// take 11 TTIs of 12. The last is sent 100 ms after the first, arrives at 113 ms, and is
/// acknowledged in the next TTI of the uplink. If the first is sent at 10 ms (modulo 20 ms), this
/// TTI begins at 130 ms, the report arrives at 152 ms, and the next window begins at 160 ms, which
/// is again 10 ms modulo 20 ms. An SDU of 552 octets takes 554 (PDCP, LI). Over 100 s the bound is
/// two windows.
#[test]
fn the_last_pdu_of_the_window_polls() {
    let mut cfg = bearer(0.0);
    let am = &mut cfg.rlc.am;
    (am.tx_window, am.rx_window, am.poll_window) = (128, 128, Ratio(0.0));
    am.missing_pdu_indicator = false;
    assert!(cfg.validate().unwrap().is_empty());
    let mut w = World::new(&cfg, 1);
    w.source[0] = Some((552, 4));
    w.run_until(Instant::from_secs(100));
    let rate = w.bytes(End::Ue, Instant::ZERO, Instant::MAX) as f64 * 8.0 / 100.0;
    let expected = 128.0 * 320.0 / 0.160 * 552.0 / 554.0;
    assert!((rate / expected - 1.0).abs() < 2.0 * 0.160 / 100.0, "{rate} of {expected}");
}

/// MaxDAT = D: a block is lost D times in a row with probability p^D, and then the entity is reset.
/// p = 0.5, D = 4: one block in 16 (of those that are needed); with loss only in the downlink each
/// reset completes.
#[test]
fn max_dat_resets_or_discards() {
    for on in [OnMaxDat::Reset, OnMaxDat::Discard] {
        let mut cfg = bearer(0.5);
        cfg.uplink.bler = Ratio(0.2);
        cfg.rlc.am.max_dat = 4;
        cfg.rlc.am.on_max_dat = on;
        cfg.rlc.am.max_mrw = 32;
        let mut w = World::new(&cfg, 5);
        for i in 0..2000 {
            w.push_at(MS(50 * i + 5), End::Network, 100);
        }
        w.run_until(Instant::from_secs(200));
        w.check_account();
        w.check_order();
        assert!(w.is_quiet());
        assert_eq!(w.bearer.inside(End::Network), 0);
        let s = w.bearer.rlc(End::Network).stats();
        println!("{on:?}: {} delivered, {} dropped, {} resets", w.delivered.len(), w.dropped.len(), s.resets);
        assert!(!w.dropped.is_empty());
        assert_eq!(s.resets > 0, on == OnMaxDat::Reset);
    }
}

/// TS 25.322 clause 9.7.3.3: an SDU is discarded when one of its PDUs is missing after MaxDAT
/// transmissions. With independent losses of probability p a PDU fails so with p^D. 401 octets (one
/// is PDCP's) and a length indicator are 402 = 10 * 40 + 2. Where SDUs follow each other without a
/// gap the first octet is at any of 40 places of its block; the SDU then has octets or its end
/// mark in n = 11 blocks, or in 12 from one of the 40 places: 11.025 in the mean. So 1 - (1 -
/// p^D)^11.025 of the SDUs are lost: p = 0.3, D = 3: 0.260; p = 0.5, D = 2: 0.958. Status reports
/// arrive without loss and one round trip apart, so that each reports the outcome of one
/// transmission.
///
/// Neighbours share the block in which one ends and the other begins, so losses come in pairs: the
/// count of N SDUs varies as that of about N/2 independent ones, and the tolerance is 4 standard
/// deviations of that.
#[test]
fn sdu_loss_after_max_dat_is_that_of_independent_blocks() {
    for (p, max_dat, seed) in [(0.3, 3, 1), (0.5, 2, 2), (0.3, 2, 3), (0.2, 3, 4), (0.5, 4, 5)] {
        let mut cfg = bearer(0.0);
        cfg.downlink.bler = Ratio(p);
        cfg.rlc.am.max_dat = max_dat;
        cfg.rlc.am.on_max_dat = OnMaxDat::Discard;
        cfg.rlc.am.timer_status_prohibit = Duration::from_millis(100);
        let mut w = World::new(&cfg, seed);
        w.source[0] = Some((400, 4));
        w.run_until(Instant::from_secs(200));
        w.check_account();
        w.check_order();
        let all = (w.dropped.len() + w.delivered.len()) as f64;
        let lost = w.dropped.len() as f64 / all;
        let expected = 1.0 - pow(1.0 - pow(p, f64::from(max_dat)), 11.025);
        let tolerance = 4.0 * (expected * (1.0 - expected) / (all / 2.0)).sqrt();
        println!("p {p} MaxDAT {max_dat}: lost {lost:.4} of {all}, expected {expected:.4} +- {tolerance:.4}");
        assert!((lost - expected).abs() < tolerance);
    }
}

//! The RLC AM and UM end-to-end tables: SDUs of 100 bytes through a lossy channel.
//!
//! Parameters of the published suite: 1000 SDUs over 10 s (and all at once), opportunities of 150 B
//! every 3 ms in one direction and 140 B every 3 ms in the other, PDUs lost in the first direction
//! only; every SDU arrives within a margin after the nominal end. Set LASTHOP_RUNS for more
//! repetitions.

use super::support::*;
use lasthop_lte_l2::rlc::*;
use lasthop_units::{Duration, Instant};

fn runs(default: u64) -> u64 {
    std::env::var("LASTHOP_RUNS").ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

fn ways(loss: f64) -> [Way; 2] {
    let every = Duration::from_millis(3);
    [Way { grant: 150, every, loss }, Way { grant: 140, every, loss: 0.0 }]
}

/// The timers of the suite: t-PollRetransmit 20, t-Reordering 10, t-StatusProhibit 40 ms.
fn am() -> RlcConfig {
    let am = AmConfig {
        t_poll_retransmit: Duration::from_millis(20),
        t_reordering: Duration::from_millis(10),
        t_status_prohibit: Duration::from_millis(40),
        ..AmConfig::default()
    };
    RlcConfig { am, ..RlcConfig::default() }
}

/// Margin after the nominal end, by loss [s].
fn margin(loss: f64) -> u64 {
    match loss {
        x if x < 0.07 => 500,
        x if x < 0.20 => 1_000,
        x if x < 0.50 => 2_000,
        x if x < 0.70 => 10_000,
        x if x < 0.91 => 20_000,
        _ => 30_000,
    }
}

fn am_case(config: &RlcConfig, loss: f64, bulk: bool, seed: u64) -> Instant {
    let mut pair = Pair::new(config, ways(loss), seed);
    let mut now = Instant::ZERO;
    let arrivals = if bulk { Duration::from_millis(10) } else { Duration::from_secs(10) };
    for i in 0..1000 {
        while now + MS <= Instant(arrivals.0 / 1000 * i) {
            pair.tick(now);
            now += MS;
        }
        pair.ends[0].push(now, sdu(i, 100), &mut pair.out[0]);
    }
    // Nominal end: the last arrival, or 10^5 B at 150 B / 3 ms with 4 B of header in 154, (1 -
    // loss) of it.
    let capacity = 150.0 / 154.0 * 150.0 / 0.003 * (1.0 - loss);
    let nominal = arrivals.max(Duration::from_secs_f64(100_000.0 / capacity));
    let until = Instant::ZERO + nominal + Duration::from_millis(margin(loss));
    let end = pair.run_until(now, until, 1000);
    let delivered = &pair.out[1].delivered;
    assert_eq!(delivered.len(), 1000, "loss {loss}, seed {seed}, bulk {bulk}");
    assert!(delivered.iter().enumerate().all(|(i, s)| *s == sdu(i as u64, 100)), "in order, whole");
    end
}

#[test]
fn am_delivers_every_sdu_in_order_within_the_margin_at_0_to_95_percent_loss() {
    for bulk in [false, true] {
        for loss in [0.0, 0.05, 0.10, 0.15, 0.25, 0.50, 0.75, 0.90, 0.95] {
            for run in 0..runs(3) {
                am_case(&am(), loss, bulk, 1111 * (run + 1));
            }
        }
    }
}

/// With 16-bit SN and 15-bit LI, and with the default timers of a data bearer.
#[test]
fn am_delivers_every_sdu_with_wide_fields_and_default_timers() {
    let mut wide = RlcConfig::default();
    wide.am.sn_bits = 16;
    wide.am.li_bits = 15;
    for loss in [0.0, 0.25, 0.50] {
        am_case(&wide, loss, false, 7);
    }
}

/// The received fraction follows the loss: each SDU of 100 B is in one PDU or cut into two. An
/// opportunity takes 148 B, one SDU is pushed every 10 ms into an empty buffer, so it is one PDU:
/// fraction 1 - p, within 5 standard deviations sqrt(p (1 - p) / 1000).
#[test]
fn um_delivers_the_fraction_that_the_loss_leaves() {
    for loss in [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0] {
        for run in 0..runs(3) {
            let config = RlcConfig { mode: Mode::Um, ..RlcConfig::default() };
            let mut pair = Pair::new(&config, ways(loss), 1111 * (run + 1));
            for i in 0..1000 {
                pair.ends[0].push(ms(10 * i), sdu(i, 100), &mut pair.out[0]);
                (0..10).for_each(|t| pair.tick(ms(10 * i + t)));
            }
            (10_000..11_000).for_each(|t| pair.tick(ms(t)));
            let n = pair.out[1].delivered.len() as f64;
            let sigma = (1000.0 * loss * (1.0 - loss)).sqrt();
            assert!((n - 1000.0 * (1.0 - loss)).abs() <= 5.0 * sigma, "loss {loss}: {n}");
            assert!(pair.out[1].delivered.windows(2).all(|w| w[0].serial < w[1].serial));
        }
    }
}

/// ns-3's own shortcuts pass its own suite, more slowly: in at least the time that the standard's
/// procedures take.
#[test]
fn the_shortcuts_of_ns3_and_simu5g_deliver_too_and_cost_time() {
    let mut slower = 0;
    for seed in 1..=3 {
        let standard = am_case(&am(), 0.25, true, seed);
        let ns3 = am_case(&RlcConfig { compat: Compat::Ns3, ..am() }, 0.10, false, seed);
        assert!(ns3 >= Instant::from_secs(9));
        let mut fragments = RlcConfig { compat: Compat::Simu5g, ..am() };
        fragments.am.poll_pdu = OrInfinity::Value(4);
        let mut pair = Pair::new(&fragments, ways(0.0), seed);
        (0..1000).for_each(|i| pair.ends[0].push(ms(0), sdu(i, 100), &mut pair.out[0]));
        let end = pair.run_until(ms(0), ms(60_000), 1000);
        assert_eq!(pair.out[1].delivered.len(), 1000);
        slower += u32::from(end > standard);
    }
    assert_eq!(slower, 3, "30-byte fragments without loss are slower than the standard at 25 % loss");
}

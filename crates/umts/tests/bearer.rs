//! The bearer through its public interface: the account of packets in every mode, delivery order,
//! configuration.

use crate::common::{World, bearer};
use lasthop_bearer::{Direction, DropCause, End};
use lasthop_umts::BearerConfig;
use lasthop_umts::rlc::RlcEvent;
use lasthop_umts::rlc::RlcMode;
use lasthop_umts::rlc::am::OnMaxDat;
use lasthop_units::{Bytes, Duration, Instant, Ratio};

/// UM: SDUs with octets in a lost block are lost. An SDU of 552 B + 1 B PDCP spans 14 or 15 blocks,
/// so it is delivered with a probability between (1-p)^15 and (1-p)^14 at p = 2 %: 0.739..0.754. n
/// = 40 000 SDUs, errors of neighbours are correlated through shared blocks (factor below 2): the
/// bound of 5 standard errors is 5 sqrt(2 * 0.19 / 40 000) = 0.016.
#[test]
fn unacknowledged_mode_loses_what_the_air_touches() {
    let mut cfg = bearer(0.02);
    cfg.rlc.mode = RlcMode::Um;
    cfg.rlc.um.buffer_bytes = Bytes(0);
    let mut w = World::new(&cfg, 11);
    w.source[0] = Some((552, 4));
    w.run_until(Instant::from_secs(500));
    w.source[0] = None;
    w.run_until(Instant::from_secs(510));
    w.check_account();
    w.check_order();
    assert!(w.dropped.iter().all(|d| d.3 == DropCause::RadioLoss && d.1 == End::Network));
    assert_eq!(w.bearer.inside(End::Network), 0, "nothing hangs: each loss is named");
    let share = w.delivered.len() as f64 / w.pushed() as f64;
    let per_block = |n| lasthop_engine::math::pow(1.0 - 0.02, n);
    println!("{share} of {}", w.pushed());
    assert!(share > per_block(15.0) - 0.016 && share < per_block(14.0) + 0.016, "{share}");
}

#[test]
fn without_start_indicators_unacknowledged_mode_loses_no_less_and_keeps_the_account() {
    let delivered = |start_indicator| {
        let mut cfg = bearer(0.1);
        cfg.rlc.mode = RlcMode::Um;
        cfg.rlc.um.start_indicator = start_indicator;
        let mut w = World::new(&cfg, 12);
        for i in 0..2000 {
            w.push_at(Instant::from_millis(40 * i + 1), End::Ue, 100);
        }
        w.run_until(Instant::from_secs(100));
        w.check_account();
        assert_eq!(w.bearer.inside(End::Ue), 0);
        w.delivered.len()
    };
    assert!(delivered(true) > delivered(false));
}

#[test]
fn transparent_mode_drops_what_does_not_fit() {
    let mut cfg = bearer(0.1);
    cfg.rlc.mode = RlcMode::Tm;
    let mut w = World::new(&cfg, 1);
    for i in 0..1000 {
        w.push_at(Instant::from_millis(20 * i + 1), End::Network, if i % 10 == 0 { 40 } else { 39 });
    }
    w.run_until(Instant::from_secs(30));
    w.check_account();
    assert_eq!(w.bearer.inside(End::Network), 0);
    let too_large = w.dropped.iter().filter(|d| d.3 == DropCause::TooLarge).count();
    assert_eq!(too_large, 100, "40 B and a PDCP octet do not fit into 40 B");
    // 900 blocks at 10 %: 90 +- 5 * 9.
    assert!((45..=135).contains(&(w.dropped.len() - too_large)));
}

/// Claim U17: SDUs overtake each other without in-sequence delivery, never with it.
#[test]
fn sdus_overtake_only_without_in_sequence_delivery() {
    for in_sequence in [true, false] {
        let mut cfg = bearer(0.1);
        cfg.rlc.am.in_sequence = in_sequence;
        cfg.rlc.am.on_max_dat = OnMaxDat::Unlimited;
        let mut w = World::new(&cfg, 2);
        w.source[0] = Some((552, 4));
        w.run_until(Instant::from_secs(60));
        w.check_account();
        let overtakes = w.delivered.windows(2).filter(|p| p[0].2 > p[1].2).count();
        assert_eq!(overtakes > 0, !in_sequence, "{overtakes}");
        w.source[0] = None;
        w.run_until(Instant::from_secs(70));
        assert_eq!(w.bearer.inside(End::Network), 0);
    }
}

/// All blocks are lost: MaxDAT, then MaxRST unanswered RESETs, then the bearer is re-established;
/// when blocks arrive again, packets are delivered again.
#[test]
fn a_radio_link_failure_ends_when_the_air_is_back() {
    let mut cfg = bearer(0.0);
    cfg.rlc.am.max_dat = 4;
    let mut w = World::new(&cfg, 1);
    w.push(End::Network, 500);
    w.run_until(Instant::from_secs(1));
    for d in Direction::BOTH {
        w.bearer.set_bler(d, Ratio(1.0));
    }
    w.push(End::Network, 500);
    w.run_until(Instant::from_secs(20));
    assert!(w.events.iter().any(|e| e.2 == RlcEvent::Unrecoverable));
    assert_eq!(w.dropped.iter().map(|d| (d.2, d.3)).collect::<Vec<_>>(), [(1, DropCause::RadioLinkFailure)]);
    for d in Direction::BOTH {
        w.bearer.set_bler(d, Ratio(0.0));
    }
    w.push(End::Network, 500);
    w.run_until(Instant::from_secs(30));
    w.check_account();
    assert_eq!(w.delivered.iter().map(|d| d.2).collect::<Vec<_>>(), [0, 2]);
}

/// 0 blocks per TTI are an outage: no packet is lost, and all are delivered afterwards.
#[test]
fn rates_change_while_it_runs() {
    let mut w = World::new(&bearer(0.0), 1);
    w.bearer.set_blocks(w.now, Direction::Downlink, 0);
    w.push(End::Network, 500);
    w.run_until(Instant::from_secs(1));
    assert!(w.delivered.is_empty());
    w.now = Instant::from_secs(1);
    w.bearer.set_blocks(w.now, Direction::Downlink, 1);
    w.run_until(Instant::from_secs(2));
    // 501 + 1 octets are 13 blocks: TTIs at 1010 .. 1130, the last arrives at 1140.
    assert_eq!(w.delivered[0].0, Instant::from_millis(1140));
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = |seed| {
        let mut w = World::new(&bearer(0.2), seed);
        w.source = [Some((552, 4)), Some((40, 1))];
        w.run_until(Instant::from_secs(20));
        w.delivered
    };
    assert!(run(1) == run(1));
    assert!(run(1) != run(2));
}

#[test]
fn the_buffer_limit_drops_at_the_tail() {
    let mut cfg = bearer(0.0);
    cfg.rlc.am.buffer_sdus = 3;
    let mut w = World::new(&cfg, 1);
    (0..5).for_each(|_| {
        w.push(End::Network, 500);
    });
    assert_eq!(
        w.dropped.iter().map(|d| (d.2, d.3)).collect::<Vec<_>>(),
        [(3, DropCause::BufferFull), (4, DropCause::BufferFull)]
    );
    w.run_until(Instant::from_secs(1));
    w.check_account();
    assert_eq!(w.delivered.len(), 3);
}

#[test]
fn a_scenario_table_is_read_over_the_defaults_of_its_direction() {
    let text = r#"{ "downlink": { "bler": "5 %" }, "uplink": { "bler": "5 %" },
        "rlc": { "mode": "am", "am": { "tx_window": 4095, "rx_window": 4095, "on_max_dat": "unlimited",
                 "timer_status_prohibit": "60 ms", "status_format": "bitmap" } } }"#;
    let cfg: BearerConfig = serde_json::from_str(text).unwrap();
    assert_eq!((cfg.downlink.blocks, cfg.uplink.blocks), (12, 4));
    assert_eq!((cfg.downlink.tti, cfg.uplink.tti), (Duration::from_millis(10), Duration::from_millis(20)));
    assert_eq!(cfg.rlc.am.timer_status_prohibit, Duration::from_millis(60));
    assert!(cfg.validate().unwrap().is_empty());
    let again: BearerConfig = serde_json::from_str(&serde_json::to_string(&cfg).unwrap()).unwrap();
    assert_eq!(again, cfg);
    let typo = serde_json::from_str::<BearerConfig>(r#"{ "uplink": { "blocs": 4 } }"#).unwrap_err();
    assert!(typo.to_string().contains("unknown field `blocs`"), "{typo}");
}

#[test]
fn impossible_values_are_refused_by_key_with_a_remedy() {
    let mut cfg = BearerConfig::default();
    cfg.validate().unwrap();
    cfg.rlc.am.tx_window = 5000;
    let e = cfg.validate().unwrap_err();
    assert_eq!(e.to_string(), "rlc.am.tx_window: a window holds 1 to 4095 PDUs, such as 1024");
    cfg.rlc.am.tx_window = 4095;
    assert!(cfg.validate().unwrap_err().message.contains("rx_window"));
    cfg.rlc.am.rx_window = 4095;
    cfg.rlc.am.on_max_dat = OnMaxDat::Discard;
    assert!(cfg.validate().unwrap_err().message.contains("2047"));
}

/// Status reports older than a retransmission request the same block again. With a report per gap
/// and no prohibit timer this happens continually; the guard of one round trip (20..50 ms + grid)
/// prevents it.
#[test]
fn the_guard_suppresses_stale_reports() {
    let sent_twice = |guard| {
        let mut cfg = bearer(0.1);
        cfg.rlc.am.timer_status_prohibit = Duration::ZERO;
        cfg.rlc.am.on_max_dat = OnMaxDat::Unlimited;
        cfg.rlc.am.nack_guard = Duration::from_millis(guard);
        let mut w = World::new(&cfg, 3);
        w.source[0] = Some((552, 4));
        w.run_until(Instant::from_secs(60));
        w.check_account();
        let lasthop_umts::rlc::Rlc::Am(ue) = w.bearer.rlc(End::Ue) else { panic!("acknowledged mode") };
        ue.stats().duplicates
    };
    let (without, with) = (sent_twice(0), sent_twice(60));
    println!("duplicates: {without} without guard, {with} with");
    assert!(with * 10 < without);
}

/// A report that fits into padding takes no block.
#[test]
fn piggybacked_reports_save_blocks() {
    let blocks = |piggyback| {
        let mut cfg = bearer(0.0);
        cfg.rlc.am.piggyback = piggyback;
        cfg.rlc.am.timer_status_prohibit = Duration::ZERO;
        let mut w = World::new(&cfg, 3);
        for i in 0..200 {
            // Uplink data and the report on downlink data are sent in the same uplink TTI.
            w.push_at(Instant::from_millis(100 * i + 5), End::Network, 30);
            w.push_at(Instant::from_millis(100 * i + 25), End::Ue, 20);
        }
        w.run_until(Instant::from_secs(30));
        assert_eq!(w.delivered.len(), 400);
        w.bearer.dch(Direction::Uplink).stats().blocks_sent
    };
    assert_eq!((blocks(false), blocks(true)), (400, 200));
}

/// 16 blocks per TTI, 8 TTIs lost: 128 PDUs, after which the 7-bit SN shows no gap.
#[test]
fn an_outage_of_one_modulus_mixes_no_sdus() {
    let mut cfg = bearer(0.0);
    cfg.rlc.mode = RlcMode::Um;
    cfg.rlc.um.buffer_bytes = Bytes(0);
    cfg.downlink.blocks = 16;
    for start_indicator in [true, false] {
        cfg.rlc.um.start_indicator = start_indicator;
        let mut w = World::new(&cfg, 1);
        w.source[0] = Some((552, 8));
        for outage in 0..100 {
            w.run_until(Instant::from_millis(200 * outage + 105));
            w.bearer.set_bler(Direction::Downlink, Ratio(1.0));
            w.run_until(Instant::from_millis(200 * outage + 185));
            w.bearer.set_bler(Direction::Downlink, Ratio(0.0));
        }
        w.source[0] = None;
        w.run_until(Instant::from_secs(30));
        w.check_account();
        w.check_order();
        assert_eq!(w.bearer.inside(End::Network), 0);
        assert!(w.dropped.len() > 100);
    }
}

//! The network as a whole: packets in, packets out.

use lasthop_units::{BearerId, CellId, Db, Duration, Ecn, Id, Instant, PacketId, UeId};

use super::*;
use crate::mac::scheduler::qci::Qos;
use lasthop_bearer::{End, Sdu};
use lasthop_lte_l2::pdcp::LteBearerConfig;
use lasthop_lte_l2::rlc::Mode;
use lasthop_net::aqm::{AbcParams, AqmConfig};

fn one_ue(mode: Mode) -> NetworkConfig {
    let mut config = NetworkConfig::default();
    let serving = config.cells.push(CellConfig::default());
    let ue = config.ues.push(UeConfig::served_by(serving));
    let mut layers = LteBearerConfig::default();
    layers.rlc.mode = mode;
    config.bearers.push(DrbConfig { ue, layers, qos: Qos::default(), ip_buffer: None });
    config
}

/// Runs until no event is left; returns when each packet was delivered.
fn run(network: &mut RadioNetwork, out: &mut NetworkOutput) -> Vec<(u64, Instant)> {
    let mut arrivals = Vec::new();
    while let Some(now) = network.next_tti().into_iter().chain(network.next_timer()).min() {
        match network.next_tti() == Some(now) {
            true => network.on_tti(now, out),
            false => network.on_timer(now, out),
        }
        arrivals.extend(out.delivered.drain(..).map(|(_, _, sdu)| (sdu.serial, now)));
    }
    arrivals
}

/// The packet is sent in the TTI after the one in which it was pushed, and is decoded 4 TTIs after
/// its last block was sent.
#[test]
fn a_packet_reaches_the_ue_when_its_last_block_is_decoded_and_the_network_is_idle_again() {
    let mut network = RadioNetwork::new(&one_ue(Mode::Um), 1);
    let mut out = NetworkOutput::default();
    assert_eq!(network.next_tti(), None);
    let bearer = BearerId::from_index(0);
    network.push(
        Instant::from_micros(5_300),
        bearer,
        End::Network,
        Sdu::new(PacketId::from_index(0), 1500),
        &mut out,
    );
    assert_eq!(network.next_tti(), Some(Instant::from_millis(6)));
    // 46 dBm at 100 m in free space is the best MCS: one block in TTI 6 is enough.
    assert_eq!(run(&mut network, &mut out), [(0, Instant::from_millis(10))]);
    assert_eq!((network.view().inside(bearer, End::Network), network.next_tti()), (0, None));
    let _ = (CellId::from_index(0), UeId::from_index(0));
}

/// The first packet at an end makes the network schedule it or request a grant; another one that
/// joins it in RLC changes no time, and both are delivered.
#[test]
fn nothing_follows_from_a_packet_that_joins_another_one() {
    let mut network = RadioNetwork::new(&one_ue(Mode::Am), 1);
    let mut out = NetworkOutput::default();
    let mut id = 0;
    let mut push = |network: &mut RadioNetwork, end| {
        id += 1;
        let (now, sdu) =
            (Instant::from_micros(5_300 + id), Sdu::new(PacketId::from_index(id as usize), 1500));
        network.push(now, BearerId::from_index(0), end, sdu, &mut out)
    };
    for end in [End::Network, End::Ue] {
        assert!(push(&mut network, end), "{end:?}: the first one");
        let times = (network.next_tti(), network.next_timer());
        assert!(!push(&mut network, end), "{end:?}: the next one");
        assert_eq!((network.next_tti(), network.next_timer()), times, "{end:?}");
    }
    assert_eq!(run(&mut network, &mut out).len(), 4);
}

/// The share of packets that ABC marks at `n` UEs with equal channels and always some packets each.
fn marked_share(n: usize) -> f64 {
    let mut config = NetworkConfig::default();
    let serving = config.cells.push(CellConfig::default());
    for _ in 0..n {
        let mut ue = UeConfig::served_by(serving);
        ue.radio.pinned_sinr = Some(Db(30.0));
        let ue = config.ues.push(ue);
        let mut layers = LteBearerConfig::default();
        layers.rlc.mode = Mode::Um;
        // The delay of the queue has no effect.
        let params = AbcParams { threshold: Duration::from_secs(10), ..AbcParams::default() };
        layers.rlc.buffer.aqm = Some(AqmConfig::Abc(params));
        config.bearers.push(DrbConfig { ue, layers, qos: Qos::default(), ip_buffer: None });
    }
    let mut network = RadioNetwork::new(&config, 1);
    let mut out = NetworkOutput::default();
    let (mut sent, mut marked, mut id) = (0, 0, 0);
    for ms in 0..2000 {
        let now = Instant::from_millis(ms);
        if network.next_tti() == Some(now) {
            network.on_tti(now, &mut out);
        }
        while network.next_timer().is_some_and(|t| t <= now) {
            network.on_timer(now, &mut out);
        }
        if ms >= 1000 {
            sent += out.delivered.len();
            marked += out.marked.len();
        }
        out.delivered.clear();
        out.marked.clear();
        for bearer in network.bearers.ids().collect::<Vec<_>>() {
            while network.view().inside(bearer, End::Network) < 60 {
                let sdu = Sdu::new(PacketId::from_index(id), 1500).with_ecn(Ecn::Ect0);
                network.push(now, bearer, End::Network, sdu, &mut out);
                id += 1;
            }
        }
    }
    marked as f64 / sent as f64
}

/// ABC accelerates min(0.98 mu / (2 cr), 1) of the departing packets (Goyal and others, NSDI 2020,
/// section 3.1). A queue that is never empty departs at cr = mu, its UE's share of the carrier:
/// 0.49 accelerate and 0.51 are marked, for any share. Headers make cr up to 3 % less than mu. With
/// the rate of the whole carrier as mu it would be 1 - 0.98 = 0.02 of two UEs, and nothing of four.
#[test]
fn an_aqm_learns_of_the_part_of_the_carrier_that_its_ue_has_among_the_active_ones() {
    for n in [1, 2, 4] {
        let share = marked_share(n);
        assert!((0.49..0.515).contains(&share), "{n} UEs: {share}");
    }
}

/// Two bearers of one UE with 300 packets each, of these classes: the packets that each has
/// delivered 50 ms later, in which less than half of all is sent.
fn delivered_of_two(classes: [u8; 2], end: End) -> [usize; 2] {
    let mut config = NetworkConfig::default();
    let serving = config.cells.push(CellConfig::default());
    let mut ue = UeConfig::served_by(serving);
    ue.radio.pinned_sinr = Some(Db(30.0));
    let ue = config.ues.push(ue);
    for qci in classes {
        let mut layers = LteBearerConfig::default();
        layers.rlc.mode = Mode::Um;
        config.bearers.push(DrbConfig { ue, layers, qos: Qos { qci, ..Qos::default() }, ip_buffer: None });
    }
    let mut network = RadioNetwork::new(&config, 1);
    let mut out = NetworkOutput::default();
    for id in 0..600 {
        let sdu = Sdu::new(PacketId::from_index(id), 1500);
        network.push(Instant::from_millis(100), BearerId::from_index(id % 2), end, sdu, &mut out);
    }
    let mut found = [0; 2];
    while let Some(now) = network.next_tti().filter(|now| *now < Instant::from_millis(150)) {
        network.on_tti(now, &mut out);
        out.delivered.drain(..).for_each(|(bearer, ..)| found[bearer.index()] += 1);
    }
    found
}

/// TS 36.321 clause 5.4.3.1 for the uplink, and turns in the downlink: bearers of equal priority
/// are served equally. A block of 100 resource blocks has at most 75 376 bits, 6.3 packets, so that
/// turns differ by 7 packets. A bearer of higher priority is served first, also where it is the
/// second one: the other has none delivered.
#[test]
fn bearers_of_equal_priority_are_served_equally() {
    for end in [End::Network, End::Ue] {
        let [first, second] = delivered_of_two([9, 9], end);
        assert!(first.abs_diff(second) <= 7 && first > 40, "{end:?}: {first} and {second}");
        let [first, second] = delivered_of_two([9, 8], end);
        assert!(first == 0 && second > 40, "{end:?}: {first} and {second}");
    }
}

/// With two threads a job receives the blocks of a TTI until the next one, unless a result is used
/// in that: the other tests of threads compare results, whichever thread has computed them.
#[test]
fn receptions_wait_for_the_next_tti_where_no_result_is_used_in_it() {
    let open = |decode: u64, feedback: u64| {
        let mut config = one_ue(Mode::Um);
        config.cells[CellId::from_index(0)].timing = TimingConfig { decode, feedback, ..Default::default() };
        for _ in 0..3 {
            let ue = config.ues.push(UeConfig::served_by(CellId::from_index(0)));
            let drb = DrbConfig { ue, ..config.bearers[0].clone() };
            config.bearers.push(drb);
        }
        let mut network = RadioNetwork::new(&config, 1);
        network.set_threads(2).unwrap();
        let mut out = NetworkOutput::default();
        for (i, bearer) in network.bearers.ids().enumerate() {
            let sdu = Sdu::new(PacketId::from_index(i), 30_000);
            network.push(Instant::from_micros(5_300), bearer, End::Network, sdu, &mut out);
        }
        let mut jobs = 0;
        while let Some(now) = network.next_tti() {
            network.on_tti(now, &mut out);
            jobs += u32::from(network.air.began_before(Tti(u64::MAX)));
        }
        assert_eq!(out.delivered.len(), 4, "{decode} {feedback}");
        jobs
    };
    assert!(open(4, 4) > 0);
    assert!(open(2, 2) > 0);
    assert_eq!((open(1, 1), open(2, 4)), (0, 0));
}

//! The uplink where one resource block at full power has less than 0 dB.

use lasthop_bearer::{End, Sdu};
use lasthop_engine::math::{log10, pow};
use lasthop_lte::mac::scheduler::qci::Qos;
use lasthop_lte::network::{CellConfig, DrbConfig, NetworkConfig, NetworkOutput, RadioNetwork, UeConfig};
use lasthop_lte_l2::pdcp::LteBearerConfig;
use lasthop_lte_l2::rlc::Mode;
use lasthop_radio::lte::{ErrorModel, Mcs, McsTable, tbs_bits};
use lasthop_units::{BearerId, Db, Dbm, Id, Instant, Metres, PacketId};

/// Negative of the noise on one resource block with a noise figure of 5 dB [dBm]: 174 - 10
/// log10(180 000) - 5.
const NOISE: f64 = 116.447;

/// Goodput [kbit/s] over 20 s of a UE with a backlog of packets of 100 B over RLC AM, on a static
/// channel of `loss` dB between the antennas' connectors (free space at 1930 MHz, isotropic
/// antennas) with 23 dBm. The downlink has so much power that the uplink alone sets the limit.
fn goodput(loss: f64, transmissions: u8) -> f64 {
    let mut config = NetworkConfig::default();
    let mut cell = CellConfig { resource_blocks: 50, ..CellConfig::default() };
    cell.radio.position = [Metres(0.0); 3];
    (cell.radio.power, cell.radio.noise_figure) = (Dbm(66.0), Db(5.0));
    cell.uplink.harq.transmissions = transmissions;
    let serving = config.cells.push(cell);
    let mut ue = UeConfig::served_by(serving);
    let distance =
        pow(10.0, (loss - 20.0 * log10(4.0 * core::f64::consts::PI * 1930e6 / 299_792_458.0)) / 20.0);
    ue.radio.position = [Metres(distance), Metres(0.0), Metres(0.0)];
    let ue = config.ues.push(ue);
    let mut layers = LteBearerConfig::default();
    layers.rlc.mode = Mode::Am;
    config.bearers.push(DrbConfig { ue, layers, qos: Qos::default(), ip_buffer: None });
    let mut network = RadioNetwork::new(&config, 1);
    let mut out = NetworkOutput::default();
    let bearer = BearerId::from_index(0);
    let (mut delivered, mut inside, mut packets) = (0u64, 0usize, 0);
    let end = Instant::from_secs(20);
    let mut now = Instant::from_millis(100);
    loop {
        while inside < 20 {
            let sdu = Sdu::new(PacketId::from_index(packets), 100);
            network.push(now, bearer, End::Ue, sdu, &mut out);
            (packets, inside) = (packets + 1, inside + 1);
        }
        let next = network.next_tti().into_iter().chain(network.next_timer()).min();
        let Some(at) = next.filter(|at| *at < end) else { break };
        now = at.max(now);
        if network.next_tti() == Some(at) {
            network.on_tti(at, &mut out);
        } else {
            network.on_timer(at, &mut out);
        }
        delivered += out.delivered.len() as u64;
        inside -= out.delivered.len() + out.dropped.len();
        out.delivered.clear();
        out.dropped.clear();
    }
    delivered as f64 * 800.0 / 19_900.0
}

/// TS 36.213 table 7.1.7.2.1-1 has 16 bits for MCS 0 on one block, less than the headers of one
/// octet. At -6 dB on one block at full power a grant of four blocks (88 bits, at -12 dB each) with
/// HARQ retransmissions carries 11 B less 8 of headers in at most 4 ms: at least 6 kbit/s, where a
/// grant of one block gave none.
#[test]
fn a_ue_at_minus_six_decibels_has_a_rate() {
    let rate = goodput(23.0 + NOISE + 6.0, 4);
    assert!((6.0..40.0).contains(&rate), "{rate} kbit/s");
}

/// Least headers of a block with data: 1 B of MAC, 2 B of an AMD PDU (TS 36.321 clause 6.1.2, TS
/// 36.322 clause 6.2.1.4). A packet of 100 B has 2 B of PDCP.
const HEADERS: f64 = 3.0;

/// The most that any choice of blocks and MCS up to `highest` carries at `loss` dB in a process
/// that sends in each TTI [kbit/s]: the link budget. One block at 23 dBm has a SINR of 23 + 116.4 -
/// loss, n blocks have 10 log10(n) less. k transmissions have k times the energy, so that a block
/// is not decoded after k with the probability P(k) of its error model at that SINR; it takes 1 +
/// P(1) + P(2) + P(3) transmissions and is lost with P(4), which is 10 % at most.
fn budget(loss: f64, highest: u8) -> f64 {
    let mut best = 0.0f64;
    for blocks in (1..=48u32).filter(|n| [2, 3, 5].iter().fold(*n, |n, prime| without(n, *prime)) == 1) {
        for mcs in (0..=highest).map(Mcs::new) {
            let Some(model) = ErrorModel::of_grant(mcs, McsTable::Uplink, blocks as usize) else { continue };
            let size = mcs.i_tbs(McsTable::Uplink).and_then(|i| tbs_bits(blocks as usize, i)).unwrap();
            let bytes = (f64::from(size) / 8.0 - HEADERS).max(0.0) * 100.0 / 102.0;
            let once = 23.0 + NOISE - loss - 10.0 * log10(f64::from(blocks));
            let p = [1.0, 2.0, 3.0, 4.0].map(|k| model.error_at(once + 10.0 * log10(k)));
            if p[3] > 0.1 {
                // The curves are inaccurate at SINRs where nearly no block is decoded.
                continue;
            }
            best = best.max(bytes * 8.0 * (1.0 - p[3]) / (1.0 + p[0] + p[1] + p[2]));
        }
    }
    best
}

/// `n` without its factors `prime`.
fn without(mut n: u32, prime: u32) -> u32 {
    while n.is_multiple_of(prime) {
        n /= prime;
    }
    n
}

/// The rate falls with the loss, and is never above the link budget. Half of it at whole decibels
/// is an observation that may not become worse, no bound: from 143 dB on most of the difference is
/// the lowest MCS (`at_the_edge_the_rate_is_that_of_the_lowest_mcs`). The choice of the fewest
/// blocks that reach four fifths of the best, buffer status reports and polls (2 B and more per
/// block), and an error target of 10 % are the rest.
#[test]
fn the_rate_follows_the_link_budget() {
    let rates: Vec<(f64, f64)> =
        (134..=146).map(f64::from).map(|loss| (goodput(loss, 4), budget(loss, 20))).collect();
    println!("{rates:.1?}");
    assert!(rates.is_sorted_by(|a, b| a.0 >= b.0), "{rates:?}");
    for (rate, most) in &rates {
        assert!((0.5..=1.0).contains(&(rate / most)), "{rate} of {most} kbit/s: {rates:?}");
    }
}

/// The limit of 20 kbit/s on the documentation's page of the uplink, and the rate near the end.
#[test]
fn twenty_kilobits_end_between_144_6_and_144_7_decibels() {
    let [a, b, c, d, e] = [144.0, 144.6, 144.7, 145.0, 146.0].map(|loss| goodput(loss, 4));
    assert!(a > 20.0 && b > 20.0, "144 dB {a}, 144.6 dB {b} kbit/s");
    assert!(c < 20.0 && d < 20.0, "144.7 dB {c}, 145 dB {d} kbit/s");
    assert!(e > 1.0, "146 dB {e} kbit/s");
}

/// For blocks below 32 B the eNB counts on HARQ for the lowest MCS only. At 145 dB the best of MCS
/// 0 is 18 kbit/s (88 bits on four blocks), and MCS 2 would carry 34 (144 bits on three blocks).
/// The choice of blocks reaches four fifths of the best of MCS 0. There is no upper bound: blocks
/// fail independently after each transmission, so that fewer are sent than `budget` counts.
#[test]
fn at_the_edge_the_rate_is_that_of_the_lowest_mcs() {
    for loss in [142.0, 143.0, 144.0, 144.6, 144.7, 145.0, 145.4, 145.8, 146.0] {
        let (rate, most) = (goodput(loss, 4), budget(loss, 0));
        assert!(rate > 0.8 * most, "{loss} dB: {rate} of {most} kbit/s");
    }
    let of_mcs = [0, 2].map(|highest| budget(145.0, highest));
    assert!((18.0..19.0).contains(&of_mcs[0]) && (33.5..34.5).contains(&of_mcs[1]), "{of_mcs:?}");
}

/// The limit: the smallest block with headers and an octet has three resource blocks (56 bits; two
/// have 32). At full power it is decoded after n transmissions down to a SINR on one block of S +
/// 10 log10(3) - 10 log10(n), where S is the SINR that it needs in a single transmission. Twice the
/// transmissions are 3 dB of loss.
#[test]
fn the_limit_is_the_energy_of_the_smallest_block() {
    let block = ErrorModel::of_grant(Mcs::new(0), McsTable::Uplink, 3).unwrap();
    let (mut low, mut high) = (-30.0, 10.0);
    for _ in 0..40 {
        let mid = (low + high) / 2.0;
        if block.error_at(mid) > 0.1 { low = mid } else { high = mid }
    }
    for transmissions in [4, 8] {
        let limit = 23.0 + NOISE - (high + 10.0 * log10(3.0) - 10.0 * log10(f64::from(transmissions)));
        let rates = [goodput(limit - 0.2, transmissions), goodput(limit + 0.2, transmissions)];
        println!("{transmissions} transmissions: {limit:.1} dB, {rates:?} kbit/s");
        assert!(rates[0] > 1.0 && rates[1] < 1.0, "{limit} dB: {rates:?}");
    }
}

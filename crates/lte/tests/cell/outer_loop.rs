//! Cost of the outer loop on channels that never change.

use lasthop_engine::{Draw, Purpose};
use lasthop_lte::mac::downlink::DownlinkConfig;
use lasthop_radio::lte::{ErrorModel, Mcs, McsTable, tbs_bits};
use lasthop_units::Dbm;

use super::setup::{Run, friis_cell};

const TTIS: u64 = 40_000;

/// One UE at `snr` [dB]: new blocks, retransmissions, and decoded bytes in `TTIS` TTIs after 2 s.
fn cell(snr: f64, target: Option<f64>) -> [f64; 3] {
    let mut config = friis_cell(&[10_000.0]);
    for cell in config.cells.iter_mut() {
        // 30 dBm give 9.493 dB at 10 km.
        cell.radio.power = Dbm(30.0 + snr - 9.493);
        cell.downlink = DownlinkConfig { control_errors: false, ..DownlinkConfig::default() };
        cell.downlink.outer_loop.enabled = target.is_some();
        cell.downlink.outer_loop.target.0 = target.unwrap_or(0.1);
    }
    let mut run = Run::new(&config, 1);
    run.until(2_000);
    let before = run.stats(0);
    run.until(2_000 + TTIS);
    let s = run.stats(0);
    assert!((s.sinr_db_sum / s.sinr_count as f64 - snr).abs() < 0.02);
    let counts = [s.blocks - before.blocks, s.retransmissions - before.retransmissions];
    [counts[0] as f64, counts[1] as f64, (s.decoded_bytes - before.decoded_bytes) as f64]
}

fn error(m: u8, snr: f64) -> f64 {
    ErrorModel::of_grant(Mcs::new(m), McsTable::Downlink, 25).unwrap().error_at(snr)
}

fn bytes(m: u8) -> f64 {
    f64::from(tbs_bits(25, Mcs::new(m).i_tbs(McsTable::Downlink).unwrap()).unwrap() / 8)
}

/// The mean bytes of a new block under the loop: a recursion over TTIs by its definition, with
/// feedback in force `delay` TTIs after a block, and a retransmission, which decodes, after 8.
fn mean_of_the_mix(snr: f64, target: f64, reported: u8, delay: usize) -> f64 {
    let needed: Vec<f64> = (0..=28)
        .map(|m| (-2000..4000).map(|t| f64::from(t) / 100.0).find(|s| error(m, *s) <= 0.1))
        .map(|s| s.unwrap_or(f64::INFINITY))
        .collect();
    let draw = Draw::new(5, Purpose::Test, 0);
    let (mut offset, mut sum, mut blocks) = (0.0f64, 0.0, 0.0);
    // By TTI: a first transmission was lost; None: a retransmission.
    let mut sent: Vec<Option<bool>> = Vec::new();
    for t in 0..100_000usize {
        if let Some(Some(lost)) = t.checked_sub(delay).map(|i| sent[i]) {
            offset = (offset + if lost { -0.5 } else { 0.5 * target / (1.0 - target) }).clamp(-10.0, 10.0);
        }
        if t >= 8 && sent[t - 8] == Some(true) {
            sent.push(None);
            continue;
        }
        let level = needed[usize::from(reported)] + offset + 1e-4;
        let m = (0..=28).rfind(|m| needed[usize::from(*m)] <= level).unwrap_or(0);
        sent.push(Some(draw.happens(t as u64, error(m, snr))));
        (sum, blocks) = (sum + bytes(m), blocks + 1.0);
    }
    sum / blocks
}

/// Without the loop the cell uses the MCS m of the reported CQI and carries R(m) / (1 + e(m)) a
/// TTI: a second transmission decodes here. With the loop a share p of first transmissions fails,
/// so new blocks come at 1 / (1 + p) a TTI, and T = R' / (1 + p), where R' is the mean of the mix.
///
/// With feedback without delay the mix would be that of m and m + 1 with R' = R(m) (1 + p d). It is
/// not: feedback acts TTIs later, so several blocks of m + 1 fail before the first NACK, the offset
/// falls by as many steps of 0.5 dB, and the mix has MCS below m. The recursion with that delay
/// gives the R' of the cell within 1 %.
///
/// The cost against the cell without the loop depends on the reported level: at 4 and 14 dB the CQI
/// selects MCS 10 and 20, although 11 and 21 hardly fail, and the loop recovers that difference.
#[test]
fn the_outer_loop_costs_a_static_channel_one_over_one_plus_p_and_its_delay() {
    for (snr, reported) in [(4.0, 10), (10.0, 16), (14.0, 20), (18.0, 26)] {
        let [blocks, again, alone] = cell(snr, None);
        assert!((alone / TTIS as f64 * (1.0 + error(reported, snr)) / bytes(reported) - 1.0).abs() < 0.005);
        assert!((again / blocks - error(reported, snr)).abs() < 0.005);
        for p in [0.1, 0.01] {
            let [blocks, again, decoded] = cell(snr, Some(p));
            assert!((again / blocks - p).abs() < 0.001, "{snr} dB: {again} of {blocks}");
            assert!((blocks * (1.0 + p) / TTIS as f64 - 1.0).abs() < 0.001, "{snr} dB: {blocks}");
            let mean = decoded / blocks;
            // TS 36.213 clause 7.3: HARQ-ACK of subframe n - 4 in subframe n.
            let mix = mean_of_the_mix(snr, p, reported, 4);
            assert!((mix / mean - 1.0).abs() < 0.01, "{snr} dB, p = {p}: {mean} bytes, {mix}");
        }
    }
}

//! Published numbers: closed forms of exchanges beyond the ladder, and results of published
//! simulations.

use super::support::{Source, at, build, quiet, saturate, station};
use lasthop_engine::math;
use lasthop_units::{Bitrate, Bytes, Dbm, Id, StationId};
use lasthop_wifi::mac::AggregationConfig;
use lasthop_wifi::network::{ApConfig, DeviceRadioConfig, End, StationConfig, Wlan};
use lasthop_wifi::phy::{Compat, Guard, MAX_PPDU, Mode, Width};

const CONTROL: Option<Bitrate> = Some(Bitrate(24_000_000));

/// UDP goodput [Mbit/s] of datagrams of 1472 B to a station 1 m away, and mean airtime of an
/// exchange [us].
fn simulated(ap: ApConfig, seconds: f64) -> (f64, f64) {
    let mut wlan = build(ap, vec![station(1.0, 0.0)], 1);
    let got = saturate(&mut wlan, &[Source::down(0, 1500)], 0.1, 0.1 + seconds);
    let stats = wlan.link(StationId::from_index(0)).stats(End::Ap);
    (goodput(got[0], seconds), stats.airtime as f64 / stats.ppdus as f64 / 1e3)
}

fn goodput(bytes: u64, seconds: f64) -> f64 {
    bytes as f64 / 1500.0 * 1472.0 * 8.0 / seconds / 1e6
}

fn near(what: &str, got: f64, want: f64, tolerance: f64) {
    println!("{what}: {got:.3}, expected {want:.3}");
    assert!((got / want - 1.0).abs() < tolerance, "{what}: {got}, not {want}");
}

/// MCS 7, responses at 24 Mbit/s: RTS 28, SIFS 16, CTS 28, SIFS 16 before each exchange. A single
/// MPDU: 43 + 67.5 + 88 + 232 + 16 + 28 = 474.5 us for 11 776 bit, 24.82 Mbit/s. 28 in an A-MPDU:
/// 40 + 4 ceil((8 * 43 230 + 22) / 260) = 5364 us, 43 + 67.5 + 88 + 5364 + 16 + 32 = 5610.5 us,
/// 58.77 Mbit/s.
#[test]
fn rts_and_cts_cost_what_they_take() {
    let with = ApConfig { control_rate: CONTROL, rts_threshold: Some(Bytes(500)), ..quiet(7) };
    near("A-MPDU with RTS", simulated(with.clone(), 30.0).0, 58.77, 0.005);
    let aggregation = AggregationConfig { ampdu: false, ..with.aggregation };
    near("MPDU with RTS", simulated(ApConfig { aggregation, ..with }, 30.0).0, 24.82, 0.005);
}

/// MCS 7, seven packets in an A-MSDU of 30 + 6 * 1524 + 1522 = 10 696 B, no A-MPDU: 40 + 4
/// ceil((8 * 10 700 + 22) / 260) = 1360 us, 43 + 67.5 + 1360 + 16 + 28 = 1514.5 us for 7 * 11 776
/// bit, 54.43 Mbit/s.
#[test]
fn an_amsdu_gets_its_closed_form() {
    let aggregation = AggregationConfig {
        ampdu: false,
        amsdu: true,
        max_mpdu: Bytes(11_454),
        ..AggregationConfig::default()
    };
    let (got, _) = simulated(ApConfig { control_rate: CONTROL, aggregation, ..quiet(7) }, 30.0);
    near("A-MSDU", got, 54.43, 0.005);
}

/// 65535 B hold 1 + (65 535 - 1542) / 1544 = 42 MPDUs, 41 * 1544 + 1542 = 64 846 B: at 40 MHz and
/// MCS 9 (720 bit a symbol) 40 + 4 ceil((8 * 64 846 + 22) / 720) = 2924 us, with the block ack 2956
/// us of airtime.
#[test]
fn max_ampdu_limits_the_ampdu() {
    let aggregation = AggregationConfig { max_ampdu: Bytes(65_535), ..AggregationConfig::default() };
    let ap = ApConfig { width: Width::W40, control_rate: CONTROL, aggregation, ..quiet(9) };
    let (got, airtime) = simulated(ap, 10.0);
    assert!((airtime - 2956.0).abs() < 0.5, "{airtime} us");
    near("42 MPDUs", got, 42.0 * 11_776.0 / (43.0 + 67.5 + 2924.0 + 16.0 + 32.0), 0.005);
}

/// ns-3's manual (wifi-spectrum-per-example) at 50 m, free space, 5.18 GHz, noise figure 7 dB: with
/// 1 dBm an SNR of 14.25 dB, MCS 0 to 2 at their full rate, MCS 3 22.96 Mbit/s with 1 % of the
/// frames lost, none from MCS 4 on; with 16 dBm 29.27 dB, and MCS 7 58.18 Mbit/s. Its beacons, its
/// association and its A-MPDUs of at most 65535 B make 0.3 to 3 % less. Expected here: the closed
/// form of the ladder times the share of frames that the error model delivers.
#[test]
fn loss_by_distance_is_that_of_the_manual() {
    let run = |mcs, power| {
        let ap = ApConfig { control_rate: CONTROL, ..quiet(mcs) };
        let radio = DeviceRadioConfig { power: Dbm(power), ..at(0.0, 0.0) };
        let there = DeviceRadioConfig { power: Dbm(power), ..at(50.0, 0.0) };
        let stations = vec![StationConfig { radio: there, ..station(50.0, 0.0) }];
        let mut wlan: Wlan = build(ApConfig { radio, ..ap }, stations, 1);
        let got = saturate(&mut wlan, &[Source::down(0, 1500)], 1.0, 11.0);
        (goodput(got[0], 10.0), wlan.snr(StationId::from_index(0), End::Ap))
    };
    for (power, mcs, manual, loss) in [
        (1.0, 0, 5.77, 0.0),
        (1.0, 1, 11.58, 0.0),
        (1.0, 2, 17.39, 0.0),
        (1.0, 3, 22.96, 0.01),
        (16.0, 7, 58.18, 0.0),
    ] {
        let (got, snr) = run(mcs, power);
        let db = 10.0 * math::log10(snr);
        assert!((db - if power > 1.0 { 29.27 } else { 14.25 }).abs() < 0.04, "{db} dB");
        let mode = Mode::vht(mcs, 1, Width::W20, Guard::Long).unwrap();
        let arrive = mode.success(snr, 8.0 * 1538.0);
        assert!((1.0 - arrive - loss).abs() < 0.01, "MCS {mcs}: {arrive} arrive");
        let most = mode.largest(MAX_PPDU, Compat::Standard).0;
        let n = (1 + (most - 1542) / 1544).min(64);
        let ppdu = mode.duration(Bytes((n - 1) * 1544 + 1542), Compat::Standard).0 as f64 / 1e3;
        let whole = n as f64 * 11_776.0 / (43.0 + 67.5 + ppdu + 16.0 + 32.0);
        near(&format!("MCS {mcs}, {power} dBm"), got, whole * arrive, 0.01);
        assert!((1.0..1.035).contains(&(got / manual)), "MCS {mcs}: {got}, the manual has {manual}");
    }
    assert_eq!(run(4, 1.0).0, 0.0);
}

/// ns-3's regression test of its example wifi-vht-network (UDP, 1 m): at least 5 Mbit/s with MCS 0
/// at 20 MHz, at most 630 Mbit/s with MCS 9 at 160 MHz and the short guard interval, 565 with RTS;
/// in between throughput grows with the guard interval, the width and the MCS. Its A-MPDUs have at
/// most 65535 B: at MCS 9, 160 MHz 42 MPDUs take 40 + 3.6 ceil((8 * 64 846 + 28) / 3120) = 641.2
/// us, so that 42 * 11 776 bit need 799.7 us (618.5 Mbit/s), with RTS 887.7 us (557.2 Mbit/s). (64
/// MPDUs of the window would be 677 Mbit/s.)
#[test]
fn throughput_grows_with_mcs_width_and_guard_interval() {
    let aggregation = AggregationConfig { max_ampdu: Bytes(65_535), ..AggregationConfig::default() };
    for (rts, most, want) in [(None, 630.0, 618.5), (Some(Bytes(0)), 565.0, 557.2)] {
        let mut last_of_mcs = [0.0; 8];
        for mcs in 0..=9 {
            let mut row = [0.0; 8];
            let widths = [Width::W20, Width::W40, Width::W80, Width::W160];
            let columns = widths.into_iter().flat_map(|w| [(w, Guard::Long), (w, Guard::Short)]);
            for (i, (width, guard_interval)) in columns.enumerate() {
                if Mode::vht(mcs, 1, width, guard_interval).is_err() {
                    continue;
                }
                let ap = ApConfig { width, guard_interval, rts_threshold: rts, aggregation, ..quiet(mcs) };
                row[i] = simulated(ap, 0.3).0;
                assert!(row[i] > last_of_mcs[i], "MCS {mcs}: {row:?} after {last_of_mcs:?}");
                let narrower = row[..i].last().copied().unwrap_or(0.0);
                assert!(row[i] > narrower, "MCS {mcs}: {row:?}");
            }
            last_of_mcs = row;
            if mcs == 0 {
                assert!(row[0] >= 5.0, "{row:?}");
            }
        }
        assert!(last_of_mcs[7] <= most, "{last_of_mcs:?}");
        near("MCS 9, 160 MHz", last_of_mcs[7], want, 0.005);
    }
}

//! One saturated sender against closed forms.

use super::support::{Source, build, quiet, saturate, station};
use lasthop_units::{Bitrate, Bytes};
use lasthop_wifi::mac::AggregationConfig;
use lasthop_wifi::network::{ApConfig, Standard};
use lasthop_wifi::phy::{Compat, Guard, MAX_PPDU, Mode, Width};

/// UDP goodput [Mbit/s] of datagrams of 1472 B: N of them in each exchange of AIFS 43 + mean
/// back-off 7.5 * 9 + PPDU + SIFS 16 + response, with N as many subframes of 1544 B (the last 1542
/// B) as fit into 5.484 ms (and the window of 64).
fn closed_form(mode: &Mode, answer: f64, single: bool) -> f64 {
    let last = 1542;
    let most = mode.largest(MAX_PPDU, Compat::Standard).0;
    let n = if single { 1 } else { (1 + (most - last) / 1544).min(64) };
    let psdu = (n - 1) * 1544 + last;
    let ppdu = mode.duration(Bytes(psdu), Compat::Standard).0 as f64 / 1e3;
    n as f64 * 1472.0 * 8.0 / (43.0 + 67.5 + ppdu + 16.0 + answer)
}

fn simulated(ap: ApConfig) -> f64 {
    let mut wlan = build(ap, vec![station(1.0, 0.0)], 1);
    let got = saturate(&mut wlan, &[Source::down(0, 1500)], 1.0, 31.0);
    got[0] as f64 / 1500.0 * 1472.0 * 8.0 / 30.0 / 1e6
}

fn compare(name: &str, got: f64, want: f64) {
    println!("{name}: {got:.3}, closed form {want:.3}");
    assert!((got / want - 1.0).abs() < 0.005, "{name}: {got}, not {want}");
}

const CONTROL: Option<Bitrate> = Some(Bitrate(24_000_000));

/// Block acks at 24 Mbit/s: 20 + 4 ceil((22 + 256) / 96) = 32 us. The closed form itself gives the
/// numbers of the literature.
#[test]
fn ampdu_goodput_is_the_closed_form_for_every_mcs() {
    let known = [5.88, 11.89, 17.89, 23.87, 35.83, 47.74, 53.74, 59.71, 71.67];
    for mcs in 0..=8 {
        for guard in [Guard::Long, Guard::Short] {
            let mode = Mode::vht(mcs, 1, Width::W20, guard).unwrap();
            let want = closed_form(&mode, 32.0, false);
            if guard == Guard::Long {
                assert!((want - known[usize::from(mcs)]).abs() < 0.006, "MCS {mcs}: {want}");
            }
            let got = simulated(ApConfig { control_rate: CONTROL, guard_interval: guard, ..quiet(mcs) });
            compare(&format!("11ac MCS {mcs} {guard:?}"), got, want);
        }
    }
}

/// HT has A-MPDUs up to 65535 B.
#[test]
fn ht_goodput_is_the_closed_form() {
    for mcs in 0..=7 {
        let mode = Mode::ht(mcs, Width::W20, Guard::Long).unwrap();
        let got = simulated(ApConfig { standard: Standard::N, control_rate: CONTROL, ..quiet(mcs) });
        compare(&format!("11n MCS {mcs}"), got, closed_form(&mode, 32.0, false));
    }
}

/// Without aggregation: one MPDU with one delimiter, an ACK of 28 us.
#[test]
fn single_mpdus_are_acknowledged_one_by_one() {
    let known = [5.61, 10.27, 14.18, 17.56, 22.89, 27.10, 28.97, 30.47, 33.22];
    for mcs in 0..=8 {
        let mode = Mode::vht(mcs, 1, Width::W20, Guard::Long).unwrap();
        let want = closed_form(&mode, 28.0, true);
        assert!((want - known[usize::from(mcs)]).abs() < 0.006, "MCS {mcs}: {want}");
        let aggregation = AggregationConfig { ampdu: false, ..AggregationConfig::default() };
        let got = simulated(ApConfig { control_rate: CONTROL, aggregation, ..quiet(mcs) });
        compare(&format!("single MCS {mcs}"), got, want);
    }
}

/// Block acks by the standard's own rule: 6, 12 and 24 Mbit/s, that is 68, 44 and 32 us.
#[test]
fn answers_follow_the_rate_of_the_data() {
    for (mcs, answer) in [(0, 68.0), (1, 44.0), (2, 44.0), (3, 32.0), (7, 32.0)] {
        let mode = Mode::vht(mcs, 1, Width::W20, Guard::Long).unwrap();
        compare(&format!("MCS {mcs}"), simulated(quiet(mcs)), closed_form(&mode, answer, false));
    }
}

/// Wider channels: 64 MPDUs are 98816 B, which the window allows and 5.484 ms no longer limit.
#[test]
fn wide_channels_are_limited_by_the_window() {
    for (mcs, width) in [(9, Width::W40), (9, Width::W80), (8, Width::W160)] {
        let mode = Mode::vht(mcs, 1, width, Guard::Short).unwrap();
        let ap = ApConfig { width, guard_interval: Guard::Short, control_rate: CONTROL, ..quiet(mcs) };
        compare(&format!("{width:?}"), simulated(ap), closed_form(&mode, 32.0, false));
    }
}

//! Ends of a packet's time in the MAC, airtime of management, and links that change.

use super::support::{Source, at, build, packet, quiet, saturate, station};
use lasthop_engine::math;
use lasthop_radio::{FadingProfile, Mobility, PathLoss};
use lasthop_units::{ApId, Bytes, Db, Dbm, Duration, Id, IndexVec, Instant, Metres, Speed, StationId};
use lasthop_wifi::mac::Category;
use lasthop_wifi::network::{
    AirConfig, ApConfig, BeaconConfig, DeviceRadioConfig, DropCause, End, InitialState, StationConfig, Wlan,
    WlanConfig, WlanEvent, WlanOutput,
};
use lasthop_wifi::phy::{Guard, Mode, Width};
use lasthop_wifi::rate::{Ladder, RateConfig};

const FIRST: fn() -> StationId = || StationId::from_index(0);

/// Single MPDUs.
fn single(mcs: u8) -> ApConfig {
    let mut ap = quiet(mcs);
    ap.aggregation.ampdu = false;
    ap
}

/// Runs until `stop`; `look` is called with the output of each moment.
fn drive(wlan: &mut Wlan, stop: Instant, mut look: impl FnMut(Instant, &mut WlanOutput)) {
    let mut out = WlanOutput::default();
    while let Some(now) = wlan.poll_at().filter(|t| *t <= stop) {
        wlan.on_time(now, &mut out);
        look(now, &mut out);
        out.delivered.clear();
        out.dropped.clear();
        out.events.clear();
    }
}

/// A thousand packets of 1500 B at once, MCS 0: an exchange takes 43 + 67.5 + 1944 + 16 + 44 =
/// 2114.5 us. With a lifetime of 100 ms the packets whose turn comes within 100 ms are sent, 100 /
/// 2.1145 = 47.3 of them; the others are dropped with that cause. Without a lifetime all arrive.
#[test]
fn what_is_older_than_the_lifetime_is_dropped() {
    for (lifetime, expected) in [(Some(Duration::from_millis(100)), 46..=49), (None, 1000..=1000)] {
        let mut wlan = build(ApConfig { lifetime, ..single(0) }, vec![station(1.0, 0.0)], 1);
        let mut out = WlanOutput::default();
        for _ in 0..1000 {
            wlan.push(Instant::ZERO, FIRST(), End::Ap, packet(1500, 0), Category::BestEffort, &mut out);
        }
        let (mut arrived, mut old, mut latest) = (0, 0, Instant::ZERO);
        drive(&mut wlan, Instant::from_millis(5_000), |now, out| {
            arrived += out.delivered.len();
            latest = if out.delivered.is_empty() { latest } else { now };
            old += out.dropped.iter().filter(|d| d.4 == DropCause::Lifetime).count();
        });
        assert!(expected.contains(&arrived), "{arrived}");
        assert_eq!(arrived + old, 1000);
        let last = lifetime.map_or(Duration::MAX, |t| t + Duration::from_micros(2_200));
        assert!(latest.since(Instant::ZERO) <= last, "{latest:?}");
    }
}

/// At 20 dB frames with MCS 8 are always lost (28.5 dB for one in ten), RTS and responses at 24
/// Mbit/s never (14 dB). An MPDU up to the RTS threshold is sent `short_retry` = 7 times, one
/// beyond it `long_retry` = 4 times. With windows of 15, 31 ... 1023 the seven tries take 7 (AIFS
/// 43 + PPDU 200 + ACK timeout 45) + 9 (7.5 + 15.5 + 31.5 + 63.5 + 127.5 + 255.5 + 511.5) = 11
/// 128.5 us. The four take 4 (43 + RTS 28 + 16 + CTS 28 + 16 + 200 + 45) + 9 (7.5 + 15.5 + 31.5 +
/// 63.5) = 2566 us.
#[test]
fn an_mpdu_is_sent_as_often_as_the_retry_limit_says() {
    for (rts_threshold, tries, each) in [(None, 7, 11_128.5), (Some(Bytes(500)), 4, 2_566.0)] {
        let power = Dbm(20.0 - 93.97 + 46.73 + 20.0);
        let ap = ApConfig { rts_threshold, radio: DeviceRadioConfig { power, ..at(0.0, 0.0) }, ..single(8) };
        let radio = DeviceRadioConfig { power, ..at(10.0, 0.0) };
        let mut wlan = build(ap, vec![StationConfig { radio, ..station(10.0, 0.0) }], 1);
        let got = saturate(&mut wlan, &[Source::down(0, 1500)], 0.0, 30.0);
        assert_eq!(got[0], 0);
        let stats = wlan.link(FIRST()).stats(End::Ap);
        assert_eq!(stats.mpdus, stats.failed);
        let given_up = stats.mpdus as f64 / f64::from(tries);
        println!("{tries} tries: {given_up} MPDUs, {} expected", 30e6 / each);
        assert!((given_up * each / 30e6 - 1.0).abs() < 0.02, "{given_up} in 30 s");
    }
}

/// A beacon of 250 B at 6 Mbit/s: 20 + 4 ceil((8 * 250 + 22) / 24) = 360 us, and PIFS 25 before it,
/// every 102.4 ms: a sender that is never idle loses 385 / 102 400 of its time.
#[test]
fn beacons_take_their_time_on_the_air() {
    let run = |beacon| {
        let mut wlan = build(ApConfig { beacon, ..quiet(7) }, vec![station(1.0, 0.0)], 1);
        saturate(&mut wlan, &[Source::down(0, 1500)], 1.0, 61.0)[0] as f64
    };
    let ratio = run(BeaconConfig::default()) / run(quiet(7).beacon);
    println!("{ratio}");
    assert!((1.0 - ratio - 385.0 / 102_400.0).abs() < 0.0005, "{ratio}");
}

/// Authentication 34 B both ways, 20 + 4 ceil((8 * 34 + 22) / 24) = 72 us each; association request
/// 94 B 152 us, response 137 B 208 us; an ACK at 6 Mbit/s with SIFS 60 us after each but the last:
/// 684 us. The first is sent at the end of AIFS after 0 (18 us, the time before counts as SIFS),
/// each other one after AIFS 34 and up to 3 slots of 9 us.
#[test]
fn association_takes_its_frames() {
    let ap = ApConfig { start: InitialState::Attach, ..quiet(7) };
    let mut wlan = build(ap, vec![station(1.0, 0.0)], 1);
    let mut when = None;
    drive(&mut wlan, Instant::from_millis(100), |now, out| {
        if out.events.iter().any(|(_, e)| *e == WlanEvent::Associated) {
            when = when.or(Some(now));
        }
    });
    let when = when.unwrap().0 as f64 / 1e3;
    let (least, most) = (684.0 + 18.0 + 3.0 * 34.0, 684.0 + 18.0 + 27.0 + 3.0 * (34.0 + 27.0));
    println!("{when} us in {least} .. {most}");
    assert!((least..=most).contains(&when), "{when} us");
}

fn with_air(radio: AirConfig, ap: ApConfig, station: StationConfig) -> Wlan {
    let (mut aps, mut stations) = (IndexVec::<ApId, _>::new(), IndexVec::<StationId, _>::new());
    aps.push(ap);
    stations.push(station);
    Wlan::new(&WlanConfig { radio, aps, stations }, 1)
}

/// Rayleigh fading, a mean SNR of 20 dB, MCS 3, one try for each packet, one packet every 10 ms at
/// 30 m/s (five wavelengths): the share that arrives is the integral of e^-g success(100 g) over
/// the gain g. 12 000 packets: a standard error of 0.4 %.
#[test]
fn fading_lets_through_what_the_integral_says() {
    let flat = PathLoss::LogDistance {
        exponent: 0.0,
        reference_distance: Metres(1.0),
        reference_loss: Some(Db(60.0)),
    };
    let air = AirConfig { path_loss: flat, fading: FadingProfile::Flat, ..AirConfig::default() };
    // 60 dB below 6.03 dBm is 20 dB above the noise of -93.97 dBm; the preamble is detected from
    // -82 dBm on, 12 dB.
    let power = Dbm(60.0 + 20.0 - 93.97);
    let ap = ApConfig { short_retry: 1, radio: DeviceRadioConfig { power, ..at(0.0, 0.0) }, ..single(3) };
    let mobility = Mobility::Linear { speed: Speed(30.0), heading: Default::default() };
    let radio = DeviceRadioConfig { power, mobility, ..at(5.0, 0.0) };
    let mut wlan = with_air(air, ap, StationConfig { radio, ..station(5.0, 0.0) });
    let (mut out, mut arrived) = (WlanOutput::default(), 0);
    let count = 12_000;
    for i in 0..count {
        let now = Instant::from_millis(10 * i);
        wlan.push(now, FIRST(), End::Ap, packet(1500, 0), Category::BestEffort, &mut out);
        while let Some(t) = wlan.poll_at().filter(|t| *t < now + Duration::from_millis(10)) {
            wlan.on_time(t, &mut out);
        }
        arrived += out.delivered.drain(..).count();
        out.dropped.clear();
    }
    let mode = Mode::vht(3, 1, Width::W20, Guard::Long).unwrap();
    let h = 1e-3;
    let term = |i: u32| {
        let g = h * (f64::from(i) + 0.5);
        // Below -82 dBm the preamble is not detected.
        let found = if 100.0 * g >= math::pow(10.0, 1.197) { 1.0 } else { 0.0 };
        h * math::exp(-g) * found * mode.success(100.0 * g, 8.0 * 1538.0)
    };
    let want: f64 = (0..20_000).map(term).sum();
    let got = arrived as f64 / count as f64;
    println!("{got} against {want}");
    assert!((got - want).abs() < 0.015, "{got}, not {want}");
}

/// A station moves away at 10 m/s: the SNR is that of free space at its position (refreshed every
/// 10 ms), and `ideal` chooses the rate for this SNR.
#[test]
fn a_station_that_walks_away_gets_slower() {
    let ap = ApConfig { rate: RateConfig::Ideal, ..quiet(0) };
    let ladder = Ladder::new(&ap.modes());
    let mobility = Mobility::Linear { speed: Speed(10.0), heading: Default::default() };
    let radio = DeviceRadioConfig { mobility, power: Dbm(5.0), ..at(1.0, 0.0) };
    let near = DeviceRadioConfig { power: Dbm(5.0), ..at(0.0, 0.0) };
    let mut wlan = with_air(
        AirConfig::default(),
        ApConfig { radio: near, ..ap },
        StationConfig { radio, ..station(1.0, 0.0) },
    );
    let mut out = WlanOutput::default();
    let mut rates = Vec::new();
    for i in 1..=10 {
        let now = Instant::from_millis(1_000 * i);
        wlan.push(now, FIRST(), End::Ap, packet(1500, 0), Category::BestEffort, &mut out);
        while let Some(t) = wlan.poll_at().filter(|t| *t < now + Duration::from_millis(900)) {
            wlan.on_time(t, &mut out);
        }
        let metres = 1.0 + 10.0 * i as f64;
        let want = 5.0 - 46.73 - 20.0 * math::log10(metres) + 93.97;
        let db = 10.0 * math::log10(wlan.snr(FIRST(), End::Ap));
        assert!((db - want).abs() < 0.06, "{metres} m: {db} dB, not {want}");
        let rate = wlan.rate(FIRST(), End::Ap);
        assert_eq!(rate, ladder.best(wlan.snr(FIRST(), End::Ap)));
        rates.push(rate.mcs());
    }
    assert!(rates[0] > rates[9] && rates.windows(2).all(|w| w[0] >= w[1]), "{rates:?}");
}

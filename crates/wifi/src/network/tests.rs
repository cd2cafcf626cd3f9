//! Tests that need access to the internals: frames, agreements, buffers.

use super::contention::Ppdu;
use super::manage::Subject;
use super::medium::Frame;
use super::*;
use crate::mac::{Access, Agreement};
use crate::rate::RateConfig;
use lasthop_units::{Bytes, Dbm, Duration, Ecn, FlowId, Metres, PacketId};

const STATION: fn(usize) -> StationId = StationId::from_index;

fn quiet(mcs: u8) -> ApConfig {
    ApConfig {
        rate: RateConfig::Fixed { mcs, streams: None },
        beacon: BeaconConfig { interval: Duration::ZERO, ..BeaconConfig::default() },
        start: InitialState::Associated,
        buffer: BufferConfig::PerStation { packets: 1000 },
        lifetime: None,
        ..ApConfig::default()
    }
}

fn radio(x: f64, power: f64) -> DeviceRadioConfig {
    let position = [Metres(x), Metres(0.0), Metres(1.5)];
    DeviceRadioConfig { position, power: Dbm(power), ..DeviceRadioConfig::default() }
}

/// Access points in a row, `apart` from each other, each with a station at `distance`.
fn wlan(aps: &[ApConfig], apart: f64, distance: f64) -> Wlan {
    let mut config = WlanConfig::default();
    for (i, ap) in aps.iter().enumerate() {
        let (x, power) = (apart * i as f64, ap.radio.power.0);
        let ap = config.aps.push(ApConfig { radio: radio(x, power), ..ap.clone() });
        let radio = radio(x + distance, power);
        config.stations.push(StationConfig { ap, rate: None, packets: 1000, radio });
    }
    Wlan::new(&config, 1)
}

/// Keeps downloads of 1500 B to all stations running; `look` is called after every moment. Returns
/// the delivered packets, by number.
fn saturate(wlan: &mut Wlan, stop: Instant, mut look: impl FnMut(Instant, &mut Wlan)) -> Vec<usize> {
    let (mut out, mut numbers, mut delivered) = (WlanOutput::default(), 0.., Vec::new());
    let mut fill = |wlan: &mut Wlan, now, station, out: &mut WlanOutput| {
        let id = PacketId::from_index(numbers.next().unwrap());
        let flow = FlowId::from_index(0);
        let item =
            Item { id, size: 1500, flow, ecn: Ecn::NotEct, content: Default::default(), enqueued: now };
        wlan.push(now, station, End::Ap, item, Category::BestEffort, out);
    };
    for station in wlan.links.ids() {
        (0..200).for_each(|_| fill(wlan, Instant::ZERO, station, &mut out));
    }
    while let Some(now) = wlan.poll_at().filter(|t| *t <= stop) {
        wlan.on_time(now, &mut out);
        look(now, wlan);
        assert!(out.dropped.is_empty(), "{:?}", out.dropped);
        for (station, _, item) in std::mem::take(&mut out.delivered) {
            delivered.push(item.id.index());
            fill(wlan, now, station, &mut out);
        }
    }
    delivered
}

/// An ADDBA request or response arrives, but none of its ACKs does, until it is discarded: the
/// agreement is nevertheless in place, once and permanently, and MPDUs held after lost ones leave
/// in order. -14 dBm at 10 m are -14 - 66.7 + 94 = 13.2 dB: of MCS 3 more than one MPDU in ten is
/// lost (13.5 dB for one in ten).
#[test]
fn an_agreement_outlives_the_acks_of_its_frames() {
    for subject in
        [Subject::BlockAckAsked(Category::BestEffort), Subject::BlockAckAnswered(Category::BestEffort)]
    {
        let mut ap = ApConfig { start: InitialState::Attach, short_retry: 30, long_retry: 30, ..quiet(3) };
        ap.radio.power = Dbm(-14.0);
        let mut wlan = wlan(&[ap], 0.0, 10.0);
        let (mut lost, mut held, mut last) = (0, 0, Agreement::None);
        let delivered = saturate(&mut wlan, Instant::from_millis(1_000), |_, wlan| {
            let medium = &mut wlan.media[0];
            for t in medium.on_air.iter().filter(|t| t.frame == Frame::Ack && !t.over) {
                let Some(to) = t.to else { continue };
                let burst = &wlan.devices[medium.members[to]].burst;
                let of = matches!(burst.frame, Frame::Management(m) if m.subject == subject);
                if of && medium.receivers[to].locked.take().is_some() {
                    lost += 1;
                }
            }
            let tried = wlan.devices.iter().any(|d| d.management.iter().any(|m| m.arrived));
            let queue = wlan.queue(STATION(0), End::Ap, Category::BestEffort);
            if tried {
                held = held.max(queue.reorder.held());
            }
            let agreement = queue.originator.agreement;
            assert!(last != Agreement::Agreed || agreement == Agreement::Agreed, "{subject:?} thrown away");
            last = agreement;
        });
        // Transmissions may also collide with data.
        assert!((3..=30).contains(&lost), "{subject:?}: {lost} ACKs lost");
        assert!(wlan.devices.iter().all(|d| d.management.is_empty()), "{subject:?}: still tried");
        assert!(held > 0, "{subject:?}: nothing was held while ACKs were lost");
        assert!(delivered.len() > 1_000, "{subject:?}: {}", delivered.len());
        assert!(delivered.windows(2).all(|w| w[0] < w[1]), "{subject:?}: out of order");
    }
}

/// A single frame that arrived, but whose ACK was lost before the agreement began, is no gap in the
/// reorder buffer.
#[test]
fn what_came_before_the_agreement_is_not_waited_for() {
    let ap = ApConfig { start: InitialState::Attach, ..quiet(3) };
    let mut wlan = wlan(&[ap], 0.0, 10.0);
    let mut asked = false;
    let mut longest = Duration::ZERO;
    let mut since = Instant::ZERO;
    saturate(&mut wlan, Instant::from_millis(300), |now, wlan| {
        let queue = wlan.queue(STATION(0), End::Ap, Category::BestEffort);
        asked |= queue.originator.agreement == Agreement::Asked;
        let agreed = queue.originator.agreement == Agreement::Agreed;
        let held = queue.reorder.held();
        if held == 0 {
            since = now;
        }
        longest = longest.max(now.since(since));
        // Every ACK of data is lost until there is an agreement.
        let medium = &mut wlan.media[0];
        for t in medium.on_air.iter().filter(|t| t.frame == Frame::Ack && !t.over && !agreed) {
            let Some(to) = t.to else { continue };
            if wlan.devices[medium.members[to]].burst.frame == Frame::Data {
                medium.receivers[to].locked = None;
            }
        }
    });
    assert!(asked);
    assert_eq!(longest, Duration::ZERO, "held behind what had arrived");
}

/// Forty networks 3 km apart on one channel (-96 dBm from one to the next: none detects another)
/// have a PPDU in transmission at all times. The kept transmissions ended after the earliest
/// present PPDU began, at most 5.484 ms ago. The shortest exchange takes more than half of that
/// (MCS 0: two subframes are 3.8 ms), so that at most three PPDUs of data and as many responses of
/// each network are kept.
#[test]
fn what_is_over_is_dropped_though_the_channel_is_never_idle() {
    let aps: Vec<ApConfig> = (0..40).map(|i| quiet(i % 8)).collect();
    let mut wlan = wlan(&aps, 3_000.0, 1.0);
    let (mut most, mut silent) = (0, 0);
    saturate(&mut wlan, Instant::from_millis(300), |now, wlan| {
        let on_air = &wlan.media[0].on_air;
        most = most.max(on_air.len());
        silent += usize::from(now > Instant::from_millis(50) && on_air.iter().all(|t| t.over));
    });
    assert_eq!(silent, 0);
    assert!((40..=240).contains(&most), "{most}");
}

/// Durations of PPDUs with data, as (PPDU, PPDU with its response).
fn exchanges(ap: &ApConfig, stop: Instant) -> (Vec<(Duration, Duration)>, usize) {
    let mut wlan = wlan(std::slice::from_ref(ap), 0.0, 1.0);
    let (mut next, mut all) = (0, Vec::new());
    let delivered = saturate(&mut wlan, stop, |_, wlan| {
        for t in &wlan.media[0].on_air {
            if t.serial < next {
                continue;
            }
            next = t.serial + 1;
            match t.frame {
                Frame::Data => all.push((t.start, t.end.since(t.start), Duration::ZERO)),
                _ => all.last_mut().iter_mut().for_each(|(start, _, whole)| *whole = t.end.since(*start)),
            }
        }
    });
    (all.into_iter().map(|(_, ppdu, whole)| (ppdu, whole)).collect(), delivered.len())
}

/// MCS 0, MPDUs of up to 11454 B: 5.484 ms have (5484 - 40) / 4 = 1361 symbols of 26 bits, less 22
/// bits 4420 B. Of A-MSDUs of 1538, 3076 and 4600 B that holds two packets: 40 + 4 ceil((8 * 3080 +
/// 22) / 26) = 3836 us. AIFS 43, back-off 67.5, SIFS 16, ACK at 6 Mbit/s 44 us. A TXOP of 3 ms has
/// room for one packet of 40 + 4 ceil((8 * 1542 + 22) / 26) = 1944 us.
#[test]
fn an_amsdu_keeps_to_the_longest_ppdu_and_to_the_txop() {
    let mut ap = quiet(0);
    (ap.aggregation.amsdu, ap.aggregation.max_mpdu) = (true, Bytes(11_454));
    let (all, delivered) = exchanges(&ap, Instant::from_millis(4_000));
    let us = Duration::from_micros;
    assert!(all.iter().all(|(ppdu, _)| *ppdu == us(3_836)), "{:?}", &all[..4]);
    let want = 4e6 / (43.0 + 67.5 + 3836.0 + 16.0 + 44.0) * 2.0;
    assert!((delivered as f64 / want - 1.0).abs() < 0.005, "{delivered}, not {want}");

    ap.edca.best_effort = Some(Access { txop: us(3_000), ..Access::edca(Category::BestEffort, 15) });
    let (all, _) = exchanges(&ap, Instant::from_millis(1_000));
    assert!(all.iter().all(|(ppdu, _)| *ppdu == us(1_944)), "{:?}", &all[..4]);
}

/// An A-MSDU for which a turn has no time left is assembled for a whole turn: with MCS 3 a TXOP of
/// 2.56 ms has room for one A-MSDU of five packets (4 * 1524 + 1522 + 30 + 4 = 7652 B, 40 + 4
/// ceil((8 * 7652 + 22) / 104) = 2396 us). In the 100 us that are left no A-MSDU is assembled.
#[test]
fn the_rest_of_a_txop_makes_no_small_amsdus() {
    let mut ap = quiet(3);
    (ap.aggregation.amsdu, ap.aggregation.max_mpdu) = (true, Bytes(7_991));
    ap.edca.best_effort =
        Some(Access { txop: Duration::from_micros(2_560), ..Access::edca(Category::BestEffort, 15) });
    let (all, _) = exchanges(&ap, Instant::from_millis(1_000));
    let us = Duration::from_micros;
    assert!(all.iter().all(|(ppdu, whole)| *ppdu == us(2_396) && *whole <= us(2_560)), "{:?}", &all[..4]);
}

/// A channel of three members: a receiver, and two whose signals arrive there with these powers
/// [dBm].
fn channel(air: &AirConfig, powers: [f64; 2]) -> Medium {
    let mut medium = Medium::new(&quiet(0), air, 1);
    // 46.73 dB at 1 m.
    for (device, (x, power)) in
        [(0.0, 0.0), (1.0, powers[0] + 46.73), (-1.0, powers[1] + 46.73)].into_iter().enumerate()
    {
        medium.join(device, &radio(x, power), device as u64);
    }
    medium
}

/// `from` sends 1000 B to the first member.
fn begin(medium: &mut Medium, us: u64, from: usize) -> u64 {
    let mode = Mode::vht(0, 1, crate::phy::Width::W20, crate::phy::Guard::Long).unwrap();
    let (now, compat) = (Instant::from_micros(us), crate::phy::Compat::Standard);
    let (psdu, frame, nav) = (Bytes(1000), Frame::Data, Duration::ZERO);
    let ppdu = Ppdu { to: Some(0), mode, psdu, first: psdu, frame, nav };
    let times = [now, now + mode.duration(psdu, compat)];
    medium.begin(ppdu.from(from, Some(0), None, times, compat), None, |_, _, _| {})
}

/// `wlan.capture` is 5 dB: a preamble that is stronger by that is captured within 16 us of the
/// first; one of 4 dB, a later one, and any without capture are not. (Within 4 us a receiver has
/// not locked on yet and detects the one that is strong enough beside the other.)
#[test]
fn a_stronger_preamble_takes_over_within_its_window() {
    let air = AirConfig::default();
    assert_eq!(air.capture, Some(lasthop_units::Db(5.0)));
    let none = AirConfig { capture: None, ..air };
    for (air, stronger, after, taken) in [
        (air, 5.1, 15, true),
        (air, 4.9, 15, false),
        (air, 5.1, 16, false),
        (none, 30.0, 15, false),
        (none, 5.1, 3, true),
    ] {
        let mut medium = channel(&air, [-60.0, -60.0 + stronger]);
        let first = begin(&mut medium, 100, 1);
        assert_eq!(medium.receivers[0].locked.map(|l| l.0), Some(first));
        let second = begin(&mut medium, 100 + after, 2);
        let locked = medium.receivers[0].locked.map(|l| l.0);
        assert_eq!(locked, Some(if taken { second } else { first }), "{stronger} dB after {after} us");
    }
}

/// EIFS follows a PPDU whose start the PHY has indicated and that was not received (clause
/// 10.3.2.3.7). A weaker one that begins during the reception of another has no such start. Of two
/// preambles of equal power at once the receiver detects neither, and fails.
#[test]
fn eifs_does_not_follow_a_ppdu_that_began_during_a_reception() {
    for (stronger, after, bad) in [(6.0, 30, false), (0.0, 2, true)] {
        let air = AirConfig::default();
        let mut medium = channel(&air, [-60.0, -60.0 - stronger]);
        let serials = [begin(&mut medium, 100, 1), begin(&mut medium, 100 + after, 2)];
        for serial in serials {
            let i = medium.end(serial);
            let now = medium.on_air[i].end;
            let mut unsure = vec![];
            medium.end_at_receivers(now, i, None, &mut unsure);
            if serial == serials[0] {
                assert_eq!(unsure.contains(&0), !bad, "it receives the first");
                medium.receivers[0].bad = false;
            }
        }
        assert_eq!(medium.receivers[0].bad, bad, "{stronger} dB, {after} us");
    }
}

/// Clause 17.3.10.6: a preamble keeps the medium busy from -82 dBm on, anything else from -62 dBm
/// on, the sum of all signals counts: -64.9 dBm twice are -61.9 dBm.
#[test]
fn energy_keeps_the_medium_busy_from_62_dbm_on() {
    let air = AirConfig::default();
    let insensitive = AirConfig { preamble_detection: Dbm(0.0), ..air };
    for (air, power, both, idle) in [
        (air, -81.9, false, false),
        (air, -82.1, false, true),
        (insensitive, -62.1, false, true),
        (insensitive, -61.9, false, false),
        (insensitive, -64.9, false, true),
        (insensitive, -64.9, true, false),
        (insensitive, -65.2, true, true),
    ] {
        let mut medium = channel(&air, [power, power]);
        begin(&mut medium, 100, 1);
        if both {
            begin(&mut medium, 120, 2);
        }
        assert_eq!(medium.receivers[0].idle, idle, "{power} dBm");
    }
}

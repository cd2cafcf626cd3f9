//! Access points and stations in a scenario: packets in both directions, error messages, and the
//! same flow over LTE.

use std::path::Path;

use crate::common::{assert_balanced, real, run_text, whole};
use lasthop_sim::Scenario;

const HOME: &str = "[scenario]\nname = 'home'\nduration = '3 s'\n\
    [link.wired]\nbetween = ['server', 'gateway']\ndelay = '10 ms'\n\
    [ap.home]\nnode = 'gateway'\nrate = { kind = 'fixed', mcs = 7 }\n\
    [station.phone]\ncount = 3\nring = { inner = '2 m', outer = '8 m' }\n";

fn refused(text: &str) -> String {
    match Scenario::parse(text, "test.toml", Path::new(""), &[]) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(e) => e.to_string(),
    }
}

/// 80 kbit/s of 200 B: 50 datagrams in a second to each of three stations, 20 of 1000 B from one.
/// On an idle medium each takes 10 ms on the wire and a PPDU: 200 B of UDP payload are an MPDU of
/// 26 + 8 + 228 + 4 B, 40 + 4 ceil((8 (266 + 4) + 22) / 260) = 76 us; 1000 B the same way 176 us.
#[test]
fn datagrams_reach_every_station_and_come_back() {
    let output = run_text(&format!(
        "{HOME}[flow.down]\nfrom = 'server'\nto = 'phone'\ntransport = 'udp'\nstart = '1 s'\nstop = '2 s'\n\
         app = {{ kind = 'cbr', rate = '80 kbit/s', size = '200 B' }}\n\
         [flow.up]\nfrom = 'phone-2'\nto = 'server'\ntransport = 'udp'\nstart = '1 s'\nstop = '2 s'\n\
         app = {{ kind = 'cbr', rate = '160 kbit/s', size = '1000 B' }}\n"
    ));
    assert_balanced(&output);
    assert_eq!(whole(&output, "flows", "rx_packets"), [50, 50, 50, 20]);
    let delays = real(&output, "flows", "delay_min_s");
    assert!((delays[0] - 0.010_076).abs() < 1e-9, "{delays:?}");
    assert!((delays[3] - 0.010_176).abs() < 1e-9, "{delays:?}");
    // The second station's datagrams come at the same moment and wait for the first's: data, SIFS,
    // ACK, AIFS, back-off.
    assert!(delays[1..3].iter().all(|d| (0.010_076..0.0115).contains(d)), "{delays:?}");
    assert!(output.table("wifi").unwrap().0[0].num_rows() > 0);
    let (events, _) = output.table("events").unwrap();
    let kinds = events[0].column_by_name("kind").unwrap();
    let kinds: Vec<String> = (0..events[0].num_rows())
        .map(|i| arrow::util::display::array_value_to_string(kinds, i).unwrap())
        .collect();
    assert_eq!(kinds.iter().filter(|k| *k == "associated").count(), 3);
}

/// TCP over MCS 7: the goodput of UDP is 59.7 Mbit/s; TCP's ACKs use their share of the medium. The
/// same file over LTE differs in one line.
#[test]
fn a_download_goes_over_wifi_or_lte() {
    let flow = "[flow.file]\nfrom = 'server'\nto = 'phone-1'\nstart = '0.5 s'\n[cell.enb]\nenb = 'gateway'\n";
    let wifi = format!("{HOME}{flow}");
    let lte = wifi.replace("[station.phone]", "[ue.phone]");
    for (text, low, high) in [(wifi, 40e6, 59.7e6), (lte, 20e6, 75.4e6)] {
        let output = run_text(&text);
        assert_balanced(&output);
        let goodput = real(&output, "flows", "goodput_bps")[0];
        assert!((low..high).contains(&goodput), "{goodput}");
    }
}

/// MCS 7 to one station, and a window of 400 kB, which the queue holds: nothing is lost. UDP has
/// the ladder's 59.71 Mbit/s. With TCP the station has an ACK for every two segments. After an
/// A-MPDU of 28 segments (5364 + 16 + 32 us) both contend with equal chances: until the station
/// wins, the access point sends one more on average, and one contest in 16 is a collision, 2.13 /
/// 16 = 0.133 in each cycle. So a cycle has 56 segments of 1448 B in two A-MPDUs, 28 ACKs in one
/// (28 subframes of 84 B: 40 + 4 ceil((8 * 2352 + 22) / 260) = 332 us, 16 + 32), 0.133 collisions
/// of 5364 + 45 us, and 3.13 waits of AIFS 43 and some five slots: 12.2 ms, 53.1 Mbit/s, 89 %.
#[test]
fn tcp_gets_nine_tenths_of_udp() {
    let home = "[scenario]\nname = 'home'\nduration = '11 s'\n\
        [link.wired]\nbetween = ['server', 'gateway']\ndelay = '1 ms'\n\
        [ap.home]\nnode = 'gateway'\nrate = { kind = 'fixed', mcs = 7 }\nstart = 'associated'\ncontrol_rate = '24 Mbit/s'\n\
        beacon = { interval = '0 s' }\nbuffer = { kind = 'fifo', packets = 1000 }\n\
        [station.phone]\nradio = { position = ['1 m', '0 m', '1.5 m'] }\n\
        [flow.down]\nfrom = 'server'\nto = 'phone'\nstart = '1 s'\n";
    let udp = "transport = 'udp'\napp = { kind = 'cbr', rate = '75 Mbit/s', size = '1472 B' }\n";
    // The cycle above has an ACK for every two segments: they leave one by one, and none has PSH.
    let tcp = "[flow.down.tcp]\nprofile = 'linux-6'\ncc = 'reno'\nreceive_buffer = '400 kB'\ngso = false\n";
    let [udp, tcp] = [udp, tcp].map(|how| {
        let output = run_text(&format!("{home}{how}"));
        assert_balanced(&output);
        real(&output, "flows", "goodput_bps")[0] / 1e6
    });
    println!("UDP {udp}, TCP {tcp}");
    assert!((udp / 59.71 - 1.0).abs() < 0.01, "{udp}");
    let cycle = 2.0 * (5364.0 + 48.0) + 332.0 + 48.0 + 0.133 * (5364.0 + 45.0) + 3.13 * (43.0 + 5.0 * 9.0);
    let expected = 56.0 * 1448.0 * 8.0 / cycle;
    assert!((tcp / expected - 1.0).abs() < 0.02, "{tcp}, not {expected}");
    // The range reported for other simulators.
    assert!((0.88..0.94).contains(&(tcp / udp)), "{tcp} of {udp}");
}

#[test]
fn mistakes_about_stations_are_reported_with_their_remedy() {
    for (text, expected) in [
        (
            HOME.replace("[ap.home]\nnode = 'gateway'\nrate = { kind = 'fixed', mcs = 7 }\n", ""),
            "add an `[ap.<name>]` table",
        ),
        (
            HOME.replace("[station.phone]", "[ap.other]\nchannel = 40\n[station.phone]"),
            "which one is this station's",
        ),
        (HOME.replace("count = 3", "count = 3\nap = 'hom'"), "did you mean `home`?"),
        (HOME.replace("count = 3", "count = 0"), "no station at all"),
        (HOME.replace("mcs = 7", "mcs = 9"), "no MCS 9 with 1 streams at 20 MHz"),
        (HOME.replace("rate =", "channel = 7\nrate ="), "channels 36 to 177"),
        (HOME.replace("rate =", "width = '40 MHz'\nstandard = '802.11a'\nrate ="), "at most 20 MHz"),
        (
            HOME.replace("rate =", "channel = 37\nrate ="),
            "channels of 5 GHz: 36, 40 ... 64; 100, 104 ... 144",
        ),
        (
            HOME.replace("rate =", "channel = 165\nwidth = '80 MHz'\nrate ="),
            "no channel of 80 MHz holds channel 165",
        ),
        (HOME.replace("mcs = 7", "mcs = 7, streams = 3"), "set `streams = 3` there"),
        (HOME.replace("mcs = 7 }", "mcs = 15 }\nstandard = '802.11n'"), "a rate of 2 streams"),
        (
            HOME.replace("count = 3", "count = 3\nrate = { kind = 'fixed', mcs = 7, streams = 2 }"),
            "set `streams = 2` there",
        ),
        (
            HOME.replace("mcs = 7 }", "mcs = 7 }\nstandard = '802.11a'\nguard_interval = 'short'"),
            "one guard interval",
        ),
        (
            HOME.replace(
                "rate =",
                "edca.video = { aifsn = 99, cw_min = 7, cw_max = 15, txop = '0 s' }\nrate =",
            ),
            "help: 1 to 15",
        ),
        (
            HOME.replace("rate =", "width = '160 MHz'\nstandard = '802.11n'\nrate ="),
            "help: \"40 MHz\" at most",
        ),
        (HOME.replace("rate =", "rts_treshold = '500 B'\nrate ="), "rts_threshold"),
        (HOME.replace("count = 3", "count = 3\ncategory = { calls = 'voice' }"), "no flow is called `calls`"),
        (HOME.replace("count = 3", "count = 3\nmtu = '4000 B'"), "2296 B"),
    ] {
        let printed = refused(&text);
        assert!(printed.contains(expected), "expected `{expected}` in:\n{printed}");
    }
}

/// Valid scenarios that are probably mistakes: networks that overlap without detecting each other,
/// stations out of reach. Free space at 5.18 GHz costs 46.7 + 94 = 140.7 dB at 50 km: 16 dBm arrive
/// with -124.7 dBm, where a preamble needs -82 dBm.
#[test]
fn probable_mistakes_are_warned_of() {
    let warnings = |text: &str| {
        let scenario = Scenario::parse(text, "test.toml", Path::new(""), &[]).unwrap();
        scenario.warnings().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    let flow = "[flow.down]\nfrom = 'server'\nto = 'phone'\n";
    let plain = format!("{HOME}{flow}");
    assert_eq!(warnings(&plain), "");
    let ours = "count = 3\nap = 'home'";
    let two = plain.replace("count = 3", ours) + "[ap.next]\nchannel = 40\n";
    assert_eq!(warnings(&two), "");
    let two = two.replace("rate =", "width = '80 MHz'\nrate =");
    assert!(warnings(&two).contains("channel 40 overlaps with 36, which `home` uses"), "{}", warnings(&two));
    let far = plain
        .replace("ring = { inner = '2 m', outer = '8 m' }", "radio.position = ['50 km', '0 m', '1.5 m']");
    let printed = warnings(&far);
    assert!(printed.contains("3 of 3 are too far away") && printed.contains("-125 dBm"), "{printed}");
    assert_eq!(warnings(&far.replace("radio.position = ['50 km'", "radio.position = ['300 m'")), "");
}

/// The same seed gives the same bytes, and another seed others.
#[test]
fn a_run_is_repeatable() {
    let text = format!(
        "{HOME}[flow.down]\nfrom = 'server'\nto = 'phone'\nstart = '0.1 s'\n\
         [flow.up]\nfrom = 'phone'\nto = 'server'\nstart = '0.2 s'\n"
    );
    let bytes = |text: &str| whole(&run_text(text), "flows", "app_bytes");
    let first = bytes(&text);
    assert_eq!(first, bytes(&text));
    assert_ne!(first, bytes(&text.replace("duration", "seed = 2\nduration")));
}

/// The bundled scenario is valid without warnings, and Minstrel selects a rate that carries most of
/// the goodput of MCS 8: at 10 m free space leaves an SNR above 45 dB.
#[test]
fn the_bundled_download_runs_near_the_fastest_rate() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/lasthop/scenarios/wifi-download.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let scenario = Scenario::parse(&text, path, Path::new(""), &[]).unwrap();
    assert_eq!(scenario.warnings().len(), 0);
    let output = run_text(&text);
    assert_balanced(&output);
    let goodput = real(&output, "flows", "goodput_bps")[0];
    assert!((40e6..71.7e6).contains(&goodput), "{goodput}");
}

/// Saturated UDP without aggregation to one station: MCS 7 gives 30.47 Mbit/s, MCS 0 5.61 Mbit/s
/// (the ladder of single MPDUs, datagrams of 1472 B). At 3 km Friis costs 116 dB at 5.18 GHz: 20
/// dBm arrive with -96 dBm, below the -82 dBm of a preamble, and nothing is delivered. Back at 8 m
/// with A-MPDUs the ladder's 59.7 Mbit/s. A station of -20 dBm is received there at -84.8 dBm: no
/// ACK is received.
#[test]
fn access_points_and_stations_change_during_a_run() {
    let text = CHANGES;
    let output = run_text(text);
    assert_balanced(&output);
    let (packets, _) = output.table("packets").unwrap();
    let mut received = [0_u64; 5];
    for batch in packets {
        let text = |name: &str, i: usize| {
            arrow::util::display::array_value_to_string(batch.column_by_name(name).unwrap(), i).unwrap()
        };
        for i in (0..batch.num_rows()).filter(|i| text("event", *i) == "received") {
            let t: f64 = text("time_s", i).parse().unwrap();
            if t % 2.0 > 0.8 {
                received[(t / 2.0) as usize] += 1;
            }
        }
    }
    let mbps = received.map(|n| n as f64 * 1472.0 * 8.0 / 1.2 / 1e6);
    for (got, expected) in [(mbps[0], 30.47), (mbps[1], 5.61), (mbps[3], 59.7)] {
        assert!((got / expected - 1.0).abs() < 0.015, "{mbps:?}");
    }
    // Without ACKs the same MPDUs are sent seven times and received once.
    assert!(mbps[2] == 0.0 && mbps[4] < 59.7 / 7.0, "{mbps:?}");
    // The FIFO holds 1000 packets before the change; after it 10 are the limit for arriving
    // packets.
    let waiting = whole(&output, "wifi", "queue_packets");
    assert!(waiting.iter().any(|n| *n > 900) && *waiting.last().unwrap() <= 10, "{waiting:?}");
    let (events, _) = output.table("events").unwrap();
    let text = |name: &str, i: usize| {
        arrow::util::display::array_value_to_string(events[0].column_by_name(name).unwrap(), i).unwrap()
    };
    let of = |source: &str, kind: &str| -> Vec<f64> {
        let rows =
            (0..events[0].num_rows()).filter(|i| text("source", *i) == source && text("kind", *i) == kind);
        rows.map(|i| text("time_s", i).parse().unwrap()).collect()
    };
    assert_eq!((of("ap/home", "change").len(), of("station/phone", "change").len()), (4, 3));
    // Without A-MPDUs no agreement is needed; with them the first packet starts the request.
    let agreed = of("station/phone", "block-ack-agreement");
    assert!(agreed.len() == 1 && agreed[0] > 6.0 && agreed[0] < 6.1, "{agreed:?}");
}

const CHANGES: &str = "[scenario]\nname = 'changes'\nduration = '10 s'\n\
    [link.wired]\nbetween = ['server', 'gateway']\n\
    [ap.home]\nnode = 'gateway'\nrate = { kind = 'fixed', mcs = 7 }\nstart = 'associated'\n\
    beacon = { interval = '0 s' }\naggregation = { ampdu = false }\nbuffer = { kind = 'fifo', packets = 1000 }\n\
    [station.phone]\nradio = { position = ['8 m', '0 m', '1.5 m'] }\n\
    [flow.down]\nfrom = 'server'\nto = 'phone'\ntransport = 'udp'\n\
    app = { kind = 'cbr', rate = '75 Mbit/s', size = '1472 B' }\n\
    [[at]]\nt = '2 s'\nset = { 'ap.home.rate.mcs' = 0 }\n\
    [[at]]\nt = '4 s'\nset = { 'station.phone.radio.position' = ['3 km', '0 m', '1.5 m'] }\n\
    [[at]]\nt = '6 s'\nset = { 'station.phone.radio.position' = ['8 m', '0 m', '1.5 m'], 'ap.home.rate.mcs' = 7, \
    'ap.home.aggregation.ampdu' = true }\n\
    [[at]]\nt = '7.9 s'\nset = { 'ap.home.buffer.packets' = 10 }\n\
    [[at]]\nt = '8 s'\nset = { 'station.phone.radio.power' = '-20 dBm' }\n\
    [[at]]\nt = '8.1 s'\nset = { 'ap.home.edca.best_effort' = { aifsn = 7, cw_min = 31, cw_max = 1023, txop = '0 ms' } }\n\
    [output]\npackets = true\n";

#[test]
fn changes_that_cannot_be_made_are_refused_with_their_place() {
    let first = "'ap.home.rate.mcs' = 0";
    // Line 15 of the file: `set = { ` and then the key, or the second key behind
    // `'ap.home.rate.mcs' = 0, `.
    let line = 1 + CHANGES[..CHANGES.find(first).unwrap()].matches('\n').count();
    for (column, instead, expected) in [
        (9, "'ap.home.channel' = 40", "`ap.home.channel` is fixed during a run"),
        (9, "'ap.home.radio.powr' = '10 dBm'", "did you mean `ap.*.radio.power`?"),
        (9, "'ap.house.rts_threshold' = '500 B'", "did you mean `home`?"),
        (9, "'station.phon.packets' = 10", "did you mean `phone`?"),
        (9, "'station.many-1.packets' = 10", "did you mean `many`?"),
        (9, "'ap.home.rate.mcs' = 9", "no MCS 9 with 1 streams at 20 MHz"),
        (9, "'ap.home.rate.mcs' = 'nine'", "expected a whole number from 0 to 255"),
        (33, "'ap.home.rate.mcs' = 0, 'ap.home.short_retry' = 0", "1 to 1000000 transmissions"),
        (9, "'ap.home.aggregation.max_mpdus' = 65", "the window of a block ack"),
        (9, "'ap.home.buffer.packets' = 0", "capacity for at least one packet"),
        (9, "'station.phone.packets' = 0", "capacity for at least one packet"),
        (9, "'ap.home.edca.best_effort.txop' = '1 ms'", "`ap.home.edca.best_effort` may change as a whole"),
    ] {
        let many = "[station.many]\ncount = 2\n[flow.down]";
        let printed = refused(&CHANGES.replace(first, instead).replace("[flow.down]", many));
        assert!(printed.contains(expected), "expected `{expected}` in:\n{printed}");
        let place = format!("test.toml:{}:{column}", line + 2);
        assert!(printed.contains(&place) && !printed.contains("--set"), "expected `{place}` in:\n{printed}");
    }
    // A ring together with a given place is a mistake of its own.
    let ring = CHANGES.replace("radio = { position = ['8 m', '0 m', '1.5 m'] }", "ring = { outer = '9 m' }");
    let printed = refused(&ring);
    assert!(printed.contains("`ring` gives its place"), "{printed}");
}

/// A drop gives the place that a UE of a table of this name would have; rectangles and discs need
/// no layout.
#[test]
fn stations_are_dropped_like_ues() {
    let text = "[scenario]\nname = 'drop'\nduration = '1 s'\n[cell.enb]\n[ap.ap]\nnode = 'enb'\n\
        [ue.a]\ncount = 4\ndrop = { kind = 'disc', radius = '20 m' }\n\
        [station.a]\ncount = 4\ndrop = { kind = 'disc', radius = '20 m' }\n\
        [link.l]\nbetween = ['server', 'enb']\n[flow.f]\nfrom = 'server'\nto = 'a-1'\n";
    let text = text.replace("[station.a]", "[station.b]");
    let scenario = Scenario::parse(&text, "test.toml", Path::new(""), &[]).unwrap();
    let places: Vec<_> =
        scenario.spec().wireless().config.stations.iter().map(|s| s.radio.position).collect();
    assert!(places.iter().all(|[x, y, z]| x.0.hypot(y.0) <= 20.0 && z.0 == 1.5), "{places:?}");
    assert!((1..4).all(|i| places[i] != places[0]));
    for (bad, expected) in [
        ("drop = 'layout'", "which layout?"),
        ("drop = { kind = 'disc', radius = '0 m' }", "a radius of more than 0 m"),
        ("drop = { kind = 'disc', radius = '9 m' }\nring = { outer = '9 m' }", "keep one"),
    ] {
        let text = text.replace(
            "[station.b]\ncount = 4\ndrop = { kind = 'disc', radius = '20 m' }",
            &format!("[station.b]\ncount = 4\n{bad}"),
        );
        let printed = refused(&text);
        assert!(printed.contains(expected), "expected `{expected}` in:\n{printed}");
    }
}

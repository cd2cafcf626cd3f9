//! `scenario.profile = "ns3-3.44"` compared with ns-3.

use crate::common::{real, run_text, whole};

/// The result of a run: goodput of all flows together [Mbit/s], delay and jitter per IP packet
/// [ms].
#[derive(Clone, Copy, Debug)]
struct Outcome {
    goodput: f64,
    delay: f64,
    jitter: f64,
}

/// Runs a scenario and sums its flows; goodput counts from `start` to `stop` [s], as the peer's
/// programs do.
fn outcome(text: &str, start: f64, stop: f64) -> Outcome {
    let output = run_text(text);
    let packets: Vec<f64> = whole(&output, "flows", "rx_packets").iter().map(|n| *n as f64).collect();
    let weighted = |column: &str, weight: &[f64]| -> f64 {
        let values = real(&output, "flows", column);
        values.iter().zip(weight).map(|(v, w)| v * w).sum::<f64>() / weight.iter().sum::<f64>() * 1e3
    };
    let pairs: Vec<f64> = packets.iter().map(|n| n - 1.0).collect();
    let bytes: u64 = whole(&output, "flows", "app_bytes").iter().sum();
    Outcome {
        goodput: bytes as f64 * 8e-6 / (stop - start),
        delay: weighted("delay_mean_s", &packets),
        jitter: weighted("jitter_mean_s", &pairs),
    }
}

const TCP: &str = "tcp = { mss = '1460 B', send_buffer = '6291456 B', receive_buffer = '6291456 B' }\n";

/// `lte_dl` of the peer: TCP downloads of 1 Mbit/s each near one eNB, RLC buffers of 10 KiB, 2 s.
fn lte_dl(mode: &str, size: u32, ues: u32, radius: &str) -> String {
    format!(
        "[scenario]\nname = 'lte-dl'\nduration = '3 s'\nseed = 3\nprofile = 'ns3-3.44'\n\
         [link.core]\nbetween = ['server', 'enb']\nrate = '100 Gbit/s'\ndelay = '10 ms'\n\
         [cell.enb]\nradio.position = ['0 m', '0 m', '30 m']\n\
         [ue.phone]\ncount = {ues}\n{radius}rlc.mode = '{mode}'\nradio.position = ['0 m', '0 m', '1.5 m']\n\
         [flow.f]\nfrom = 'server'\nto = 'phone'\nstart = '200 ms'\nstart_spread = '100 ms'\nstop = '2 s'\n{TCP}\
         app = {{ kind = 'cbr', rate = '1 Mbit/s', size = '{size} B' }}\n"
    )
}

/// `lte_bulk` of the peer: endless TCP downloads over one cell, RLC buffers of 1 MB, 5 s.
fn lte_bulk(mode: &str, ues: u32, radius: &str) -> String {
    let spread = if ues > 1 { "start_spread = '100 ms'\n" } else { "" };
    format!(
        "[scenario]\nname = 'lte-bulk'\nduration = '5 s'\nseed = 3\nprofile = 'ns3-3.44'\n\
         [link.core]\nbetween = ['server', 'enb']\nrate = '100 Gbit/s'\ndelay = '10 ms'\n\
         [cell.enb]\nradio.position = ['0 m', '0 m', '30 m']\n\
         [ue.phone]\ncount = {ues}\n{radius}rlc.mode = '{mode}'\nrlc.buffer.bytes = '1000000 B'\n\
         radio.position = ['0 m', '0 m', '1.5 m']\n\
         [flow.f]\nfrom = 'server'\nto = 'phone'\nstart = '200 ms'\n{spread}{TCP}app = 'bulk'\n"
    )
}

const NEAR: &str = "drop = { kind = 'disc', radius = '30 m' }\n";
const WIDE: &str = "drop = { kind = 'disc', radius = '300 m' }\n";

/// `lte_handover` of the peer: one UE drives from one eNB to the next, 750 m away, while it
/// downloads; 20 s.
fn handover() -> String {
    format!(
        "[scenario]\nname = 'handover'\nduration = '20 s'\nseed = 3\nprofile = 'ns3-3.44'\n\
         [link.core]\nbetween = ['server', 'gateway']\nrate = '100 Gbit/s'\ndelay = '10 ms'\n\
         [handover]\ntrigger = {{ kind = 'a3', hysteresis = '3 dB', time_to_trigger = '256 ms' }}\n\
         [cell.west]\nradio = {{ power = '46 dBm', position = ['0 m', '0 m', '30 m'] }}\n\
         [cell.east]\nradio = {{ power = '46 dBm', position = ['750 m', '0 m', '30 m'] }}\n\
         [ue.car]\ncell = 'west'\nrlc = {{ mode = 'am', buffer.bytes = '1000000 B' }}\n\
         radio.position = ['263.889 m', '50 m', '1.5 m']\nradio.mobility = {{ kind = 'linear', speed = '40 km/h' }}\n\
         [flow.f]\nfrom = 'server'\nto = 'car'\nstart = '200 ms'\n{TCP}app = 'bulk'\n"
    )
}

/// `wifi_ac` of the peer: downloads from behind an access point of 802.11ac, 20 MHz,
/// stations within 5 m.
fn wifi(mcs: u32, stations: u32, seconds: f64, app: &str, stop: &str) -> String {
    let spread = if stations > 1 { "start_spread = '100 ms'\n" } else { "" };
    format!(
        "[scenario]\nname = 'wifi'\nduration = '{seconds} s'\nseed = 3\nprofile = 'ns3-3.44'\n\
         [link.core]\nbetween = ['server', 'home']\nrate = '100 Gbit/s'\ndelay = '10 ms'\n\
         [ap.home]\nrate = {{ kind = 'fixed', mcs = {mcs} }}\ncontrol_rate = '24 Mbit/s'\n\
         [station.laptop]\ncount = {stations}\ndrop = {{ kind = 'disc', radius = '5 m' }}\n\
         [flow.f]\nfrom = 'server'\nto = 'laptop'\nstart = '1 s'\n{spread}{stop}{TCP}app = {app}\n"
    )
}

/// A row of the comparison: a scenario, the result of ns-3, and the figures compared.
struct Row {
    name: &'static str,
    text: String,
    window: (f64, f64),
    peer: Outcome,
    /// Seeds of the means, for ns-3 and for our runs.
    seeds: std::ops::RangeInclusive<u64>,
    /// The reason why the jitter is not compared, if ours differs.
    other_jitter: Option<&'static str>,
}

const fn peer(goodput: f64, delay: f64, jitter: f64) -> Outcome {
    Outcome { goodput, delay, jitter }
}

/// The results of ns-3.37 (Debian's package, November 2026): `lte_dl --simTime=2`, `lte_bulk
/// --simTime=5 --flowMon=1`, `lte_handover --idealRrc=0 --simTime=20 --flowMon=1`, `wifi_ac
/// --simTime=2`, `wifi_ac --stas=1 --appRate=0 --simTime=20`, `wifi_ac --stas=5 --mcs=3
/// --simTime=3`, and `lte_bulk` with the UE exactly 3 km away, each with `--seed=3`, `--rlc`,
/// `--packet` and `--ues` as the row says. Six other seeds of `lte_dl` give the same within 3 %
/// (docs/concepts/ns3-peer.md).
#[allow(clippy::too_many_lines)] // a row for each run of the peer
fn table() -> Vec<Row> {
    const WIFI: &str =
        "below a millisecond, and varies by a factor of three over seeds; the mean of twelve is a third less";
    const SEED: &str = "ns-3's seed 3 has 4.00 ms, its seeds 1, 2 and 4 have 3.05 to 3.37";
    let near = |name, mode, size, ues, peer, other_jitter| Row {
        name,
        text: lte_dl(mode, size, ues, NEAR),
        window: (0.2, 2.0),
        peer,
        seeds: 3..=3,
        other_jitter,
    };
    let bulk = |name, mode, ues, peer, other_jitter| Row {
        name,
        text: lte_bulk(mode, ues, WIDE),
        window: (0.2, 5.0),
        peer,
        seeds: 3..=3,
        other_jitter,
    };
    let far = |name, mode, peer, other_jitter| {
        let text = lte_bulk(mode, 1, "").replace("['0 m', '0 m', '1.5 m']", "['3000 m', '0 m', '1.5 m']");
        Row { text, ..bulk(name, mode, 1, peer, other_jitter) }
    };
    // The jitter of one UE alone is that of its first packets: microseconds, which no figure
    // compares.
    let alone = Some("the first packets' alone");
    let cbr = "{ kind = 'cbr', rate = '1 Mbit/s', size = '1000 B' }";
    vec![
        near("AM 1000 B, 14 UEs", "am", 1000, 14, peer(13.338, 32.78, 11.86), None),
        near("AM 3000 B, 14 UEs", "am", 3000, 14, peer(13.293, 31.90, 5.785), None),
        near("UM 1000 B, 14 UEs", "um", 1000, 14, peer(13.338, 19.57, 6.730), None),
        near("UM 3000 B, 14 UEs", "um", 3000, 14, peer(13.293, 13.394, 0.0764), None),
        near("AM 1000 B, 1 UE", "am", 1000, 1, peer(0.978, 13.078, 0.0109), alone),
        near("UM 3000 B, 1 UE", "um", 3000, 1, peer(0.973, 13.078, 0.0108), alone),
        near("AM 1000 B, 5 UEs", "am", 1000, 5, peer(4.720, 16.06, 4.000), Some(SEED)),
        near("AM 1400 B, 8 UEs", "am", 1400, 8, peer(7.616, 18.745, 5.150), None),
        near("UM 500 B, 20 UEs", "um", 500, 20, peer(19.104, 22.172, 6.386), None),
        bulk("UM bulk, 1 UE", "um", 1, peer(69.88, 96.62, 0.2706), None),
        bulk("UM bulk, 10 UEs", "um", 10, peer(70.91, 312.3, 2.584), None),
        bulk("AM bulk, 1 UE", "am", 1, peer(62.93, 99.60, 0.3158), None),
        // The time at which each of ten flows leaves slow start spreads the delay of single seeds:
        // ns-3's seeds 1 to 6 have 268, 292, 269, 268, 263 and 268 ms, ours 293, 265, 320, 292, 273
        // and 278.
        Row { seeds: 1..=6, ..bulk("AM bulk, 10 UEs", "am", 10, peer(47.50, 271.4, 4.117), None) },
        Row {
            name: "UM bulk, 3 UEs, buffers of 100 kB",
            text: lte_bulk("um", 3, WIDE).replace("1000000 B", "100000 B"),
            window: (0.2, 5.0),
            peer: peer(69.9, 33.4, 0.84),
            seeds: 3..=3,
            other_jitter: None,
        },
        far("UM bulk, 1 UE at 3 km", "um", peer(36.6, 148.0, 0.40), None),
        far("AM bulk, 1 UE at 3 km", "am", peer(32.97, 191.6, 0.5116), None),
        Row {
            name: "handover",
            text: handover(),
            window: (0.2, 20.0),
            peer: peer(64.38, 103.5, 0.3171),
            seeds: 3..=3,
            other_jitter: None,
        },
        Row {
            name: "802.11ac 1000 B, 14 stations",
            text: wifi(7, 14, 3.0, cbr, "stop = '2 s'\n"),
            window: (1.0, 2.0),
            peer: peer(12.68, 10.67, 0.2393),
            seeds: 3..=3,
            other_jitter: Some(WIFI),
        },
        Row {
            name: "802.11ac MCS 3 1000 B, 5 stations",
            text: wifi(3, 5, 4.0, cbr, "stop = '3 s'\n"),
            window: (1.0, 3.0),
            peer: peer(4.756, 10.596, 0.1323),
            seeds: 3..=3,
            other_jitter: Some(WIFI),
        },
        Row {
            name: "802.11ac bulk, 1 station",
            text: wifi(7, 1, 20.0, "'bulk'", ""),
            window: (1.0, 20.0),
            peer: peer(51.84, 112.0, 0.4213),
            seeds: 3..=3,
            other_jitter: None,
        },
    ]
}

/// Returns the mean of our runs over the row's seeds.
fn mean(row: &Row) -> Outcome {
    let runs: Vec<Outcome> = row
        .seeds
        .clone()
        .map(|seed| row.text.replace("seed = 3\n", &format!("seed = {seed}\n")))
        .map(|text| outcome(&text, row.window.0, row.window.1))
        .collect();
    let of = |get: fn(&Outcome) -> f64| runs.iter().map(get).sum::<f64>() / runs.len() as f64;
    Outcome { goodput: of(|o| o.goodput), delay: of(|o| o.delay), jitter: of(|o| o.jitter) }
}

/// Goodput within 5 %, delay and jitter within 10 %.
#[test]
fn the_profile_meets_ns_3_in_every_row() {
    let mut wrong = Vec::new();
    for row in table() {
        let ours = mean(&row);
        println!("{}: ns-3 {:?}, ours {ours:?}", row.name, row.peer);
        let off = |ours: f64, peer: f64| (ours / peer - 1.0).abs();
        if off(ours.goodput, row.peer.goodput) > 0.05
            || off(ours.delay, row.peer.delay) > 0.1
            || row.other_jitter.is_none() && off(ours.jitter, row.peer.jitter) > 0.1
        {
            wrong.push(format!("{}: ns-3 {:?}, ours {ours:?}", row.name, row.peer));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A UE of ns-3 processes its grant after the three control symbols of a TTI, 214.286 us into it
/// (DL_CTRL_DELAY_FROM_SUBFRAME_START), and fills its block then: t-PollRetransmit and
/// t-StatusProhibit start there. With this the delay of AM in a full cell is ns-3's within 5 %;
/// without it the delay with 3000 B is 12 % less.
#[test]
fn am_in_a_full_cell_has_the_delay_of_ns_3() {
    for (size, theirs) in [(1000, peer(13.338, 32.78, 11.86)), (3000, peer(13.293, 31.90, 5.785))] {
        let ours = outcome(&lte_dl("am", size, 14, NEAR), 0.2, 2.0);
        println!("{size} B: ns-3 {theirs:?}, ours {ours:?}");
        let off = |ours: f64, theirs: f64| (ours / theirs - 1.0).abs();
        assert!(off(ours.goodput, theirs.goodput) < 0.02, "{size} B: {ours:?}");
        assert!(off(ours.delay, theirs.delay) < 0.05, "{size} B: {ours:?}");
        assert!(off(ours.jitter, theirs.jitter) < 0.05, "{size} B: {ours:?}");
    }
}

/// One endless download over AM, near the eNB and 3 km away. ns-3 leaves slow start with 1171 and
/// 595 segments (its SlowStartThreshold over 1448 octets), and its first recovery halves to 835 and
/// 547. The end of slow start depends on the first ACK (of one segment, at once), on an uplink
/// grant for all waiting ACKs, and on the time when the UE fills it.
#[test]
fn slow_start_over_am_ends_where_ns_3_ends_it() {
    let near = lte_bulk("am", 1, WIDE);
    let far = lte_bulk("am", 1, "").replace("['0 m', '0 m', '1.5 m']", "['3000 m', '0 m', '1.5 m']");
    for (text, segments, after) in [(near, 1171.0, 835.0), (far, 595.0, 547.0)] {
        let output = run_text(&(text + "[output]\ntcp = 'ack'\n"));
        let mut seen: Vec<f64> = real(&output, "tcp", "snd_ssthresh");
        // -1: no threshold yet.
        seen.retain(|s| *s > 0.0);
        seen.dedup();
        assert!((seen[0] / segments - 1.0).abs() < 0.01, "{segments}: {seen:?}");
        assert!((seen[1] / after - 1.0).abs() < 0.01, "{after}: {seen:?}");
    }
}

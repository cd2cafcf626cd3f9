//! A wireless LAN in a random scenario.

use super::words::Words;

/// The drawn networks, for flows and changes.
pub struct Drawn {
    /// Access points: number, whether it has EDCA, whether its rate is fixed.
    aps: Vec<(u32, bool, bool)>,
}

/// Draws an access point at the node `base` and its stations, whose nodes are new; `more` draws
/// features that earlier seeds do not have.
pub fn network(w: &mut Words, base: &str, nodes: &mut Vec<String>, more: bool) -> Drawn {
    let mut drawn = Drawn { aps: Vec::new() };
    if w.chance(0.4) {
        w.table("wlan");
        w.maybe(0.5, "path_loss", |w| {
            w.pick(&["\"friis\"", "{ kind = \"log-distance\", exponent = 3.5 }", "\"inh\""]).to_owned()
        });
        w.maybe(0.3, "shadowing", |w| w.word(&["0 dB", "4 dB", "8 dB"]));
        w.maybe(0.3, "fading", |w| w.word(&["none", "flat", "epa"]));
        w.maybe(0.3, "compat", |w| w.word(&["standard", "ns3"]));
        w.maybe(0.3, "energy_detection", |w| w.word(&["-62 dBm", "-82 dBm"]));
        if more {
            // "Unset" cannot be written: 60 dB is equivalent to no capture.
            w.maybe(0.5, "capture", |w| w.word(&["0 dB", "5 dB", "60 dB"]));
            w.maybe(0.2, "preamble_detection", |w| w.word(&["-92 dBm", "-70 dBm"]));
        }
    }
    // Networks of one channel have one width.
    let width = if more { w.pick(&["20 MHz", "40 MHz", "80 MHz", "160 MHz"]) } else { "" };
    for n in 1..=w.pick(&[1, 1, 2]) {
        drawn.aps.push(access_point(w, n, base, nodes, width));
    }
    drawn
}

/// Returns its number, whether it has EDCA, whether its rate is fixed.
#[allow(clippy::too_many_lines)] // a draw for each key
fn access_point(
    w: &mut Words,
    n: u32,
    base: &str,
    nodes: &mut Vec<String>,
    width: &str,
) -> (u32, bool, bool) {
    let more = !width.is_empty();
    let standard = w.pick(&["802.11ac", "802.11ac", "802.11n", "802.11a", "802.11b"]);
    w.table(format!("ap.a{n}"));
    w.key("node", format!("\"{base}\""));
    w.key("standard", format!("\"{standard}\""));
    // Two networks of one modulation may share a channel; widths are all the same there.
    let two = more && standard == "802.11n" && w.chance(0.5);
    let channel = match standard {
        "802.11b" => 1,
        _ if two => 6,
        "802.11a" | "802.11n" if more => 149,
        _ => w.pick(&[36, 36, 40]),
    };
    w.key("channel", channel);
    if more {
        match standard {
            "802.11ac" => w.key("width", format!("\"{width}\"")),
            "802.11n" if two => w.key("width", "\"40 MHz\""),
            _ => {}
        }
        w.maybe(0.3, "control_rate", |w| match standard {
            "802.11b" => w.word(&["1 Mbit/s", "2 Mbit/s", "11 Mbit/s"]),
            _ => w.word(&["6 Mbit/s", "24 Mbit/s", "54 Mbit/s"]),
        });
    }
    let aggregates = matches!(standard, "802.11ac" | "802.11n");
    if aggregates {
        w.maybe(0.4, "guard_interval", |w| w.word(&["long", "short"]));
        w.maybe(0.3, "streams", |w| w.int(1, 4).to_string());
    }
    let most = if standard == "802.11b" { 3 } else { 7 };
    let kind = w.int(0, 2);
    match kind {
        0 => w.key("rate", "\"minstrel\""),
        1 => w.key("rate", "\"ideal\""),
        _ => {
            let mcs = w.int(0, most);
            w.key("rate", format!("{{ kind = \"fixed\", mcs = {mcs}, streams = 1 }}"));
        }
    }
    w.maybe(0.3, "rts_threshold", |w| w.bytes(1, 3000));
    w.maybe(0.3, "short_retry", |w| w.log(1, 20).to_string());
    w.maybe(0.3, "long_retry", |w| w.log(1, 20).to_string());
    w.maybe(0.3, "lifetime", |w| w.time(1_000, 1_000_000));
    w.maybe(0.3, "reorder_timeout", |w| w.time(1_000, 200_000));
    w.maybe(0.4, "start", |w| w.word(&["attach", "associated"]));
    let packets = w.log(1, 2000);
    match w.int(0, 3) {
        0 => w.key("buffer", format!("{{ kind = \"fifo\", packets = {packets} }}")),
        1 => w.key("buffer", format!("{{ kind = \"per-station\", packets = {packets} }}")),
        2 => {
            let fair = w.flag();
            w.key(
                "buffer",
                format!("{{ kind = \"fq-codel\", packets = {packets}, airtime_fairness = {fair} }}"),
            );
        }
        _ if more => {
            let (packets, aql, fair) = (w.log(1, 1000), w.flag(), w.flag());
            let driver = format!("{{ packets = {packets}, aql = {aql} }}");
            w.key(
                "buffer",
                format!("{{ kind = \"fq-codel\", airtime_fairness = {fair}, driver = {driver} }}"),
            );
        }
        _ => {}
    }
    if more {
        for category in ["background", "best_effort", "video", "voice"] {
            if w.chance(0.3) {
                w.table(format!("ap.a{n}.edca.{category}"));
                access(w).into_iter().for_each(|(key, value)| w.key(key, value));
            }
        }
    }
    if aggregates && w.chance(0.6) {
        w.table(format!("ap.a{n}.aggregation"));
        w.maybe(0.3, "ampdu", Words::flag);
        w.maybe(0.5, "amsdu", Words::flag);
        w.maybe(0.4, "max_ampdu", |w| w.word(&["8191 B", "65535 B", "1048575 B"]));
        w.maybe(0.4, "max_mpdus", |w| w.int(1, 64).to_string());
        w.maybe(0.4, "max_mpdu", |w| w.word(&["3895 B", "7991 B", "11454 B"]));
        w.maybe(0.3, "mpdu_spacing", |w| w.word(&["0 us", "4 us", "16 us"]));
    }
    let count = w.int(1, 4);
    w.table(format!("station.s{n}"));
    w.key("count", count);
    w.key("ap", format!("\"a{n}\""));
    w.maybe(0.3, "mtu", |w| w.bytes(68, 2296));
    w.maybe(0.3, "packets", |w| w.log(1, 1000).to_string());
    w.maybe(0.5, "ring", |w| {
        let outer = w.log(3, 150);
        format!("{{ inner = \"2 m\", outer = \"{outer} m\" }}")
    });
    if w.chance(0.3) {
        w.table(format!("station.s{n}.radio"));
        w.key("mobility", "{ kind = \"linear\", speed = \"2 m/s\" }");
    }
    for i in 1..=count {
        nodes.push(if count == 1 { format!("s{n}") } else { format!("s{n}-{i}") });
    }
    (n, aggregates, kind == 2)
}

/// Returns the channel access parameters of a category.
fn access(w: &mut Words) -> [(&'static str, String); 4] {
    let low = w.int(0, 5);
    let high = w.int(low, 10);
    let txop = if w.chance(0.4) { "\"0 s\"".to_owned() } else { w.time(50, 20_000) };
    [
        ("aifsn", w.int(1, 15).to_string()),
        ("cw_min", ((1_u64 << low) - 1).to_string()),
        ("cw_max", ((1_u64 << high) - 1).to_string()),
        ("txop", txop),
    ]
}

impl Drawn {
    /// Writes the access categories of flows, once the flows have names.
    pub fn categories(&self, w: &mut Words, flows: &[String]) {
        for (n, ..) in &self.aps {
            if flows.is_empty() || w.chance(0.3) {
                continue;
            }
            w.table(format!("station.s{n}.category"));
            for flow in flows {
                w.maybe(0.5, flow, |w| w.word(&["background", "best-effort", "video", "voice"]));
            }
        }
    }

    /// Returns a change for `[[at]]`; `None` if there is no access point.
    pub fn change(&self, w: &mut Words) -> Option<String> {
        if self.aps.is_empty() {
            return None;
        }
        let (n, qos, fixed) = w.pick(&self.aps);
        let access = access(w).map(|(key, value)| format!("{key} = {value}")).join(", ");
        let (key, value) = match w.int(0, 11) {
            0 => (format!("ap.a{n}.radio.power"), w.word(&["-20 dBm", "5 dBm", "30 dBm"])),
            1 => (format!("ap.a{n}.rts_threshold"), w.bytes(1, 3000)),
            2 => (format!("ap.a{n}.short_retry"), w.log(1, 20).to_string()),
            3 => (format!("ap.a{n}.lifetime"), w.time(1_000, 1_000_000)),
            4 if qos => (format!("ap.a{n}.aggregation.ampdu"), w.flag()),
            5 if qos => (format!("ap.a{n}.aggregation.amsdu"), w.flag()),
            6 if qos => (format!("ap.a{n}.aggregation.max_mpdus"), w.int(1, 64).to_string()),
            7 => (format!("ap.a{n}.edca.best_effort"), format!("{{ {access} }}")),
            8 if fixed => (format!("ap.a{n}.rate.mcs"), w.int(0, 3).to_string()),
            8 => (format!("ap.a{n}.rate"), w.word(&["minstrel", "ideal"])),
            9 => (format!("station.s{n}.packets"), w.log(1, 1000).to_string()),
            10 => (format!("station.s{n}.rate"), w.word(&["minstrel", "ideal"])),
            _ => (format!("station.s{n}.radio.power"), w.word(&["-20 dBm", "5 dBm", "30 dBm"])),
        };
        Some(format!("{{ \"{key}\" = {value} }}"))
    }
}

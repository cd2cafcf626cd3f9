//! A wireless LAN in a random scenario.

use super::words::Words;

/// An access point at the node `base` and its stations, whose nodes are new.
pub fn network(w: &mut Words, base: &str, nodes: &mut Vec<String>) {
    if w.chance(0.4) {
        w.table("wlan");
        w.maybe(0.5, "path_loss", |w| {
            w.pick(&["\"friis\"", "{ kind = \"log-distance\", exponent = 3.5 }", "\"inh\""]).to_owned()
        });
        w.maybe(0.3, "shadowing", |w| w.word(&["0 dB", "4 dB", "8 dB"]));
        w.maybe(0.3, "fading", |w| w.word(&["none", "flat", "epa"]));
        w.maybe(0.3, "compat", |w| w.word(&["standard", "ns3"]));
        w.maybe(0.3, "energy_detection", |w| w.word(&["-62 dBm", "-82 dBm"]));
    }
    for n in 1..=w.pick(&[1, 1, 2]) {
        access_point(w, n, base, nodes);
    }
}

fn access_point(w: &mut Words, n: u32, base: &str, nodes: &mut Vec<String>) {
    let standard = w.pick(&["802.11ac", "802.11ac", "802.11n", "802.11a", "802.11b"]);
    w.table(format!("ap.a{n}"));
    w.key("node", format!("\"{base}\""));
    w.key("standard", format!("\"{standard}\""));
    // Two networks of one modulation may share a channel; widths are all the same.
    let channel = if standard == "802.11b" { 1 } else { w.pick(&[36, 36, 40]) };
    w.key("channel", channel);
    let aggregates = matches!(standard, "802.11ac" | "802.11n");
    if aggregates {
        w.maybe(0.4, "guard_interval", |w| w.word(&["long", "short"]));
        w.maybe(0.3, "streams", |w| w.int(1, 4).to_string());
    }
    let most = if standard == "802.11b" { 3 } else { 7 };
    match w.int(0, 2) {
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
        _ => {}
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
}

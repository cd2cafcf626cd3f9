//! LTE in a random scenario: bearers over a channel of grants, and cells with their UEs.

use super::words::Words;

/// Writes keys of a `kind = "lte-rlc"` bearer whose table is open.
pub fn bearer(w: &mut Words, name: &str) {
    for side in ["downlink", "uplink"] {
        if w.chance(0.8) {
            w.table(format!("bearer.{name}.{side}"));
            w.maybe(0.3, "tti", |w| w.word(&["1 ms", "2 ms", "10 ms"]));
            w.maybe(0.9, "grant", |w| w.bytes(1, 20_000));
            w.maybe(0.8, "loss", |w| w.ratio(60.0));
            w.maybe(0.4, "delay", |w| w.time(10, 50_000));
        }
    }
    layers(w, &format!("bearer.{name}"), &["codel", "pie"]);
}

/// Writes PDCP and RLC under `table`, possibly with one of `aqms`.
fn layers(w: &mut Words, table: &str, aqms: &[&str]) {
    let am = w.chance(0.7);
    w.table(format!("{table}.pdcp"));
    let bits = if am { w.pick(&[12, 15, 18]) } else { w.pick(&[7, 12]) };
    w.key("sn_bits", bits);
    w.maybe(0.3, "discard_timer", |w| w.word(&["50 ms", "100 ms", "300 ms", "1500 ms"]));
    w.maybe(0.3, "status_report", Words::flag);
    if w.chance(0.3) {
        let kind = w.word(&["none", "ideal", "context"]);
        w.key("compression", format!("{{ kind = {kind} }}"));
    }
    w.table(format!("{table}.rlc"));
    w.key("mode", if am { "\"am\"" } else { "\"um\"" });
    w.maybe(0.2, "compat", |w| w.word(&["ns3", "simu5g"]));
    w.table(format!("{table}.rlc.buffer"));
    w.maybe(0.5, "bytes", |w| w.bytes(1, 1_000_000));
    w.maybe(0.3, "packets", |w| w.log(1, 1000).to_string());
    w.maybe(0.3, "discipline", |w| w.word(&["drop-tail", "head-drop"]));
    w.maybe(0.3, "aqm", |w| w.word(aqms));
    if am {
        w.table(format!("{table}.rlc.am"));
        w.maybe(0.4, "sn_bits", |w| w.pick(&[10, 16]).to_string());
        w.maybe(0.4, "li_bits", |w| w.pick(&[11, 15]).to_string());
        w.maybe(0.4, "t_poll_retransmit", |w| w.word(&["5 ms", "45 ms", "250 ms", "500 ms"]));
        w.maybe(0.4, "t_reordering", |w| w.word(&["0 s", "5 ms", "35 ms", "200 ms"]));
        w.maybe(0.4, "t_status_prohibit", |w| w.word(&["0 s", "20 ms", "100 ms"]));
        w.maybe(0.4, "poll_pdu", |w| w.pick(&[4, 16, 256]).to_string());
        w.maybe(0.4, "poll_byte", |w| w.word(&["25 kB", "500 kB", "infinity"]));
        w.maybe(0.3, "max_retx_threshold", |w| w.pick(&[1, 2, 4, 8, 32]).to_string());
    } else {
        w.table(format!("{table}.rlc.um"));
        w.maybe(0.5, "sn_bits", |w| w.pick(&[5, 10]).to_string());
        w.maybe(0.5, "t_reordering", |w| w.word(&["0 s", "5 ms", "50 ms", "200 ms"]));
    }
}

/// Writes a cell and UEs at the node `base`, possibly with hints and IP buffers and with several
/// antennas; the UEs' nodes are new.
pub fn cell(w: &mut Words, base: &str, nodes: &mut Vec<String>, hints: bool, antennas: bool) {
    let fading = antennas && w.chance(0.5);
    if fading {
        w.table("radio");
        let profile = w.word(&["flat", "epa", "eva", "etu"]);
        w.key("fading", profile);
    }
    w.table("cell.c1");
    w.key("enb", format!("\"{base}\""));
    w.maybe(0.7, "resource_blocks", |w| w.pick(&[6, 15, 25, 50, 75, 100]).to_string());
    if antennas {
        arrays(w);
    }
    let count = w.int(1, 4);
    w.table("ue.u");
    w.key("count", count);
    w.maybe(0.3, "mtu", |w| w.bytes(68, 9000));
    if hints {
        w.maybe(0.3, "ip_buffer", |w| w.word(&["infinite", "droptail", "fq-codel", "codel"]));
    }
    let aqms: &[_] =
        if antennas { &["codel", "pie", "red", "step", "pi2", "abc"] } else { &["codel", "pie"] };
    layers(w, "ue.u", aqms);
    if antennas && w.chance(0.6) {
        w.table("ue.u.radio");
        w.maybe(0.7, "receive_antennas", |w| w.pick(&[1, 2, 4]).to_string());
        w.maybe(0.5, "combining", |w| w.word(&["mrc", "irc"]));
        w.maybe(0.5, "speed", |w| format!("\"{} km/h\"", w.log(1, 300)));
    }
    for i in 1..=count {
        nodes.push(if count == 1 { "u".to_owned() } else { format!("u-{i}") });
    }
    if hints && w.chance(0.8) {
        write_hints(w);
    }
}

/// Writes transmission mode and antennas of the cell whose table is open.
fn arrays(w: &mut Words) {
    w.table("cell.c1.radio");
    w.maybe(0.5, "receive_antennas", |w| w.pick(&[1, 2, 4]).to_string());
    w.maybe(0.5, "combining", |w| w.word(&["mrc", "irc"]));
    let mode = w.int(1, 4);
    // Constant gains apply to the SINR of one antenna.
    let physical = w.chance(0.8);
    if mode > 1 && physical {
        w.maybe(0.6, "transmit_antennas", |w| w.pick(&[2, 4]).to_string());
    }
    w.table("cell.c1.downlink.mimo");
    w.key("mode", mode);
    w.key("model", if physical { "\"physical\"" } else { "\"gains\"" });
    w.maybe(0.3, "always_two_layers", Words::flag);
}

/// Writes hints to every sender to a UE.
fn write_hints(w: &mut Words) {
    w.table("hint.h");
    w.maybe(0.5, "source", |w| w.word(&["ue", "enb"]));
    w.maybe(0.6, "carrier", |w| w.word(&["direct", "option"]));
    w.maybe(0.5, "load", |w| w.word(&["broadcast", "own", "none"]));
    w.maybe(0.5, "period", |w| format!("\"{} ms\"", w.log(1, 10_000)));
    w.maybe(0.5, "delay", |w| w.time(1, 2_000_000));
    w.maybe(0.3, "queue", Words::flag);
    w.maybe(0.3, "rate_step", |w| w.rate(1, 100_000_000));
    w.maybe(0.3, "error", |w| format!("{:.2}", w.int(0, 300) as f64 / 100.0));
    w.maybe(0.3, "bias", |w| format!("{:.2}", w.log(1, 10_000) as f64 / 100.0));
    w.maybe(0.3, "loss", |w| w.ratio(100.0));
    w.maybe(0.2, "start", |w| w.time(1000, 5_000_000));
    w.maybe(0.2, "stop", |w| w.time(1000, 10_000_000));
    w.maybe(0.3, "record", Words::flag);
}

/// Writes a UE of the cell of [`sidelinks`] that sends to the others at once, and its flow; its
/// node is new.
pub fn multicast(w: &mut Words, nodes: &mut Vec<String>) {
    w.table("ue.g");
    w.key("cell", "\"d1\"");
    w.key("rlc", "{ mode = \"um\" }");
    w.maybe(0.3, "mtu", |w| w.bytes(68, 9000));
    nodes.push("g".to_owned());
    w.table("multicast.all");
    w.key("from", "\"g\"");
    let to = if w.chance(0.5) { "[\"s\"]" } else { "[\"t\", \"s\"]" };
    w.key("to", to);
    w.maybe(0.5, "cqi", |w| w.int(1, 15).to_string());
    w.maybe(0.3, "pdcp", |_| "{ sn_bits = 7 }".to_owned());
    w.maybe(0.3, "rlc", |w| {
        let buffer = format!("{{ packets = {} }}", w.log(1, 100));
        format!("{{ mode = \"um\", buffer = {buffer} }}")
    });
    w.table("multicast.all.link");
    w.maybe(0.5, "power", |w| format!("\"{} dBm\"", w.int(0, 46) as i64 - 23));
    w.maybe(0.5, "transmissions", |w| w.int(1, 8).to_string());
    w.maybe(0.3, "persistent", |w| {
        format!("{{ period = \"{} ms\", blocks = {} }}", w.int(1, 40), w.pick(&[1, 2, 3, 4, 5, 6]))
    });
    w.table("flow.all");
    w.key("from", "\"g\"");
    w.key("to", "\"all\"");
    w.key("transport", "\"udp\"");
    w.maybe(0.2, "count", |w| w.int(1, 3).to_string());
    w.maybe(0.2, "start_spread", |w| w.time(1, 500_000));
    let (rate, size) = (w.rate(1_000, 2_000_000), w.bytes(1, 4000));
    w.key("app", format!("{{ kind = \"cbr\", rate = {rate}, size = {size} }}"));
}

/// Writes a separate cell at the node `base` with pairs of UEs that have sidelinks; the UEs' nodes
/// are new.
pub fn sidelinks(w: &mut Words, base: &str, nodes: &mut Vec<String>) {
    w.table("cell.d1");
    w.key("enb", format!("\"{base}\""));
    w.maybe(0.5, "profile", |w| w.word(&["simulte", "lasthop"]));
    w.maybe(0.7, "resource_blocks", |w| w.pick(&[6, 15, 25, 50]).to_string());
    w.maybe(0.5, "sidelink", |w| {
        let reuse = w.word(&["none", "all", "above"]);
        let above = format!("{{ kind = \"above\", min_sir = \"{} dB\" }}", w.int(0, 30));
        format!("{{ reuse = {} }}", if reuse.contains("above") { above } else { reuse })
    });
    let count = w.int(1, 3);
    for group in ["s", "t"] {
        w.table(format!("ue.{group}"));
        w.key("cell", "\"d1\"");
        w.key("count", count);
        w.key("rlc", "{ mode = \"um\" }");
        w.maybe(0.3, "mtu", |w| w.bytes(68, 9000));
        if group == "s" {
            w.maybe(0.5, "drop", |w| format!("{{ kind = \"disc\", radius = \"{} m\" }}", w.log(10, 500)));
        }
        w.maybe(0.3, "radio", |w| {
            let speed = w.int(0, 50);
            format!(
                "{{ mobility = {{ kind = \"linear\", speed = \"{speed} m/s\", heading = {} }} }}",
                w.int(0, 359)
            )
        });
        for i in 1..=count {
            nodes.push(if count == 1 { group.to_owned() } else { format!("{group}-{i}") });
        }
    }
    w.table("sidelink.pair");
    w.key("between", "[\"s\", \"t\"]");
    w.maybe(0.3, "forward", |w| w.word(&["direct", "infrastructure"]));
    w.maybe(0.3, "reverse", |w| w.word(&["direct", "infrastructure"]));
    w.maybe(0.6, "apart", |w| format!("[\"{} m\", \"{} m\"]", w.int(1, 20), w.log(20, 500)));
    w.maybe(0.5, "lossless", |w| w.chance(0.5).to_string());
    w.maybe(0.7, "selection", |w| {
        let (period, hysteresis) = (w.log(1, 2000), w.pick(&[1, 2]));
        format!(
            "{{ period = \"{period} ms\", hysteresis = {hysteresis}.0, dwell = \"{} ms\" }}",
            w.int(0, 500)
        )
    });
    w.table("sidelink.pair.link");
    w.maybe(0.3, "power", |w| format!("\"{} dBm\"", w.int(0, 23)));
    w.maybe(0.3, "header", |w| w.int(0, 6).to_string());
    w.maybe(0.3, "transmissions", |w| w.int(1, 8).to_string());
    w.maybe(0.3, "persistent", |w| {
        format!("{{ period = \"{} ms\", blocks = {} }}", w.int(1, 40), w.pick(&[1, 2, 3, 4, 5, 6]))
    });
    w.maybe(0.4, "quality", |w| {
        let (near, far) = (w.int(1, 15), w.int(1, 15));
        let steps =
            format!("{{ from = \"0 m\", cqi = {near} }}, {{ from = \"{} m\", cqi = {far} }}", w.log(1, 300));
        format!("{{ kind = \"pinned\", steps = [{steps}] }}")
    });
}

//! A random valid scenario.

use std::fs;
use std::path::Path;

use super::words::Words;
use super::{lte, tcp, trials, wlan};

/// Seeds below this draw only the features of the time when they were first run, so that those
/// which failed then keep their scenario.
const LTE_BEARERS_FROM: u64 = 10_000;
/// Likewise for cells.
const CELLS_FROM: u64 = 20_000;
/// Likewise for wireless LANs.
const WLANS_FROM: u64 = 30_000;
/// Likewise for sidelinks.
const SIDELINKS_FROM: u64 = 40_000;
/// Likewise for groups beside them.
const GROUPS_FROM: u64 = 50_000;
/// Likewise for more of wireless LANs.
const MORE_WLANS_FROM: u64 = 60_000;
/// Likewise for capacity hints, IP buffers and the applications of users: pages, 3GPP's files,
/// video, calls, games.
const HINTS_FROM: u64 = 70_000;
/// Likewise for parameters of RED and of `step`, `scenario.jitter`, the keys of Linux' TCP and
/// several antennas.
const LINUX_FROM: u64 = 200_000;
/// Likewise for policers and the table `cc`.
const POLICERS_FROM: u64 = 300_000;
/// Likewise for the features for trials of congestion controls: changes that wait for a sender,
/// rates and sizes of sources, faults and batches of links, the table `windows`.
const TRIGGERS_FROM: u64 = 400_000;
/// Likewise for receivers that divide ACKs.
const DIVIDED_ACKS_FROM: u64 = 500_000;

/// Likewise for media.
const MEDIA_FROM: u64 = 600_000;
/// Likewise for calls that end.
const CALLS_FROM: u64 = 700_000;
/// Likewise for applications that read a burst together.
const BURSTS_FROM: u64 = 800_000;
/// Likewise for receivers that acknowledge octets before they arrive.
const LEADS_FROM: u64 = 900_000;

/// The properties of a bearer that changes use.
struct BearerDrawn {
    name: String,
    /// The key of its losses.
    loss: &'static str,
}

/// The properties of a link that changes use.
pub(super) struct LinkDrawn {
    pub name: String,
    /// The link's own, forward and reverse rates that may change: not those replaced by a trace.
    pub rates: Vec<&'static str>,
}

/// The properties of a flow that later draws use.
pub(super) struct FlowDrawn {
    pub name: String,
    pub tcp: bool,
    pub app: String,
}

/// Returns the scenario of `seed` as TOML. Its traces are written to `folder`, which must exist.
pub fn draw(seed: u64, folder: &Path) -> String {
    let mut w = Words::new(seed);
    let seconds = w.log(1, 30);
    w.table("scenario");
    w.key("name", format!("\"swarm-{seed}\""));
    w.key("duration", format!("\"{seconds} s\""));
    w.key("seed", w_seed(seed));
    let linux = seed >= LINUX_FROM;
    if linux {
        w.maybe(0.3, "jitter", |w| w.time(1, 1_000_000));
    }
    let mut nodes = vec!["n0".to_owned()];
    let links = draw_links(&mut w, seed, folder, &mut nodes);
    let bearers = draw_bearers(&mut w, seed, &mut nodes);
    if seed >= CELLS_FROM && w.chance(0.4) {
        let base = nodes[w.int(0, nodes.len() as u64 - 1) as usize].clone();
        lte::cell(&mut w, &base, &mut nodes, seed >= HINTS_FROM, linux);
    }
    let mut wlans = None;
    if seed >= WLANS_FROM && w.chance(0.4) {
        let base = nodes[w.int(0, nodes.len() as u64 - 1) as usize].clone();
        let drawn = wlan::network(&mut w, &base, &mut nodes, seed >= MORE_WLANS_FROM);
        wlans = (seed >= MORE_WLANS_FROM).then_some(drawn);
    }
    if seed >= SIDELINKS_FROM && w.chance(0.5) {
        // A UE or a station is not an eNB.
        let wired: Vec<String> = nodes.iter().filter(|n| n.starts_with('n')).cloned().collect();
        let base = wired[w.int(0, wired.len() as u64 - 1) as usize].clone();
        lte::sidelinks(&mut w, &base, &mut nodes);
        if seed >= GROUPS_FROM && w.chance(0.5) {
            lte::multicast(&mut w, &mut nodes);
        }
    }
    let flows = draw_flows(&mut w, &nodes, seconds * 1_000_000, seed);
    if let Some(wlans) = &wlans {
        let names: Vec<String> = flows.iter().map(|flow| flow.name.clone()).collect();
        wlans.categories(&mut w, &names);
    }
    draw_changes(&mut w, seconds * 1_000_000, &links, &bearers, &flows, wlans.as_ref());
    output(&mut w, seed);
    if seed >= TRIGGERS_FROM && w.chance(0.7) {
        let faults = trials::faults(&mut w, &links, &flows);
        trials::triggers(&mut w, &links, &flows, &faults);
    }
    w.text
}

/// Returns the scenario's seed for any seed: TOML's integers are signed.
fn w_seed(seed: u64) -> u64 {
    seed & (i64::MAX as u64)
}

fn draw_links(w: &mut Words, seed: u64, folder: &Path, nodes: &mut Vec<String>) -> Vec<LinkDrawn> {
    let queue: fn(&mut Words) -> String = match seed {
        POLICERS_FROM.. => policing_queue,
        LINUX_FROM.. => marking_queue,
        LTE_BEARERS_FROM.. => managed_queue,
        _ => queue,
    };
    let star = w.chance(0.4);
    let count = w.int(1, 4);
    let mut links = Vec::new();
    for i in 1..=count {
        let from = if star { "n0".to_owned() } else { nodes[nodes.len() - 1].clone() };
        let to = format!("n{i}");
        let name = format!("l{i}");
        w.table(format!("link.{name}"));
        w.key("between", format!("[\"{from}\", \"{to}\"]"));
        nodes.push(to);
        w.maybe(0.3, "mtu", |w| w.bytes(68, 9000));
        let mut rates = Vec::new();
        let mut trace_of_link = false;
        match w.int(0, 9) {
            0 => w.key("delay", "\"1 ms\""),
            1..=2 => {
                trace(w, "", seed, &format!("{name}-a"), folder);
                trace_of_link = true;
                direction(w, seed, queue);
            }
            _ => {
                let rate = w.rate(20_000, 100_000_000);
                w.key("rate", rate);
                rates.push("");
                direction(w, seed, queue);
            }
        }
        for side in ["forward", "reverse"] {
            if !w.chance(0.15) {
                continue;
            }
            w.table(format!("link.{name}.{side}"));
            if w.chance(0.2) {
                trace(w, "", seed, &format!("{name}-{side}"), folder);
                // The link's own rate applies to the other direction only.
                rates.retain(|r| !r.is_empty());
            } else if w.chance(0.5) {
                let rate = w.rate(20_000, 100_000_000);
                w.key("rate", rate);
                rates.push(if side == "forward" { "forward." } else { "reverse." });
            }
            direction(w, seed, queue);
        }
        if trace_of_link {
            rates.retain(|r| !r.is_empty());
        }
        links.push(LinkDrawn { name, rates });
    }
    links
}

fn direction(w: &mut Words, seed: u64, queue: fn(&mut Words) -> String) {
    w.maybe(0.8, "delay", |w| if w.chance(0.1) { "\"0 s\"".to_owned() } else { w.time(10, 500_000) });
    w.maybe(0.25, "jitter", |w| w.time(10, 200_000));
    w.maybe(0.25, "reordering", Words::flag);
    w.maybe(0.35, "loss", |w| w.ratio(20.0));
    w.maybe(0.15, "corruption", |w| w.ratio(20.0));
    w.maybe(0.15, "duplication", |w| w.ratio(30.0));
    if seed >= POLICERS_FROM {
        w.maybe(0.2, "jitter_distribution", |w| w.word(&["uniform", "gaussian"]));
        w.maybe(0.2, "burst_loss", |w| {
            let [to_bad, loss_good] = [5.0, 1.0].map(|most| w.ratio(most));
            let most = if w.chance(0.5) { 100.0 } else { 10.0 };
            let loss_bad = w.ratio(most);
            format!(
                "{{ to_bad = {to_bad}, to_good = \"{} %\", loss_good = {loss_good}, loss_bad = {loss_bad} }}",
                w.log(1, 100)
            )
        });
    }
    if seed >= TRIGGERS_FROM {
        w.maybe(0.2, "batch", |w| w.time(1, 500_000));
    }
    w.maybe(0.6, "queue", queue);
}

/// Returns a policer at times, else one of the other queues.
fn policing_queue(w: &mut Words) -> String {
    if !w.chance(0.2) {
        return marking_queue(w);
    }
    let rate = w.rate(20_000, 100_000_000);
    let burst = w.bytes(1, 1_000_000);
    let limit = if w.chance(0.2) { format!(", packets = {}", w.log(1, 100)) } else { String::new() };
    format!("{{ kind = \"policer\", rate = {rate}, burst = {burst}{limit} }}")
}

/// Returns queues that mark, with parameters, in addition to those of [`managed_queue`].
fn marking_queue(w: &mut Words) -> String {
    let limit = |w: &mut Words| match w.int(0, 2) {
        0 => String::new(),
        1 => format!(", packets = {}", w.log(1, 1000)),
        _ => format!(", bytes = {}", w.bytes(1500, 1_000_000)),
    };
    match w.int(0, 3) {
        0 => {
            let threshold = match w.int(0, 2) {
                0 => String::new(),
                1 => format!(", threshold_packets = {}", w.log(1, 200)),
                _ => format!(", threshold_time = {}", w.time(1, 100_000)),
            };
            format!("{{ kind = \"step\"{threshold}{} }}", limit(w))
        }
        1 => {
            let low = w.log(1, 100);
            let high = if w.chance(0.3) { low } else { low + w.log(1, 100) };
            let weight = if w.chance(0.3) { "1.0" } else { "0.002" };
            format!(
                "{{ kind = \"red\", min_packets = {low}.0, max_packets = {high}.0, queue_weight = {weight}, max_p = {}, \
                 gentle = {}, ecn = {}, harddrop = {}{} }}",
                w.ratio(100.0),
                w.flag(),
                w.chance(0.8),
                w.chance(0.2),
                limit(w),
            )
        }
        _ => managed_queue(w),
    }
}

fn managed_queue(w: &mut Words) -> String {
    let kind = w.pick(&["", "red", "codel", "fq-codel", "pie", "dualpi2"]);
    if kind.is_empty() { queue(w) } else { format!("\"{kind}\"") }
}

fn queue(w: &mut Words) -> String {
    let kind = w.pick(&["droptail", "droptail", "headdrop", "infinite"]);
    if kind == "infinite" {
        return "\"infinite\"".to_owned();
    }
    match w.int(0, 3) {
        0 => format!("{{ kind = \"{kind}\", bytes = {} }}", w.bytes(100, 1_000_000)),
        1 => format!(
            "{{ kind = \"{kind}\", packets = {}, bytes = {} }}",
            w.log(1, 1000),
            w.bytes(1500, 1_000_000)
        ),
        2 => format!("{{ kind = \"{kind}\", packets = {} }}", if w.chance(0.1) { 0 } else { w.log(1, 5) }),
        _ => format!("{{ kind = \"{kind}\", packets = {} }}", w.log(1, 5000)),
    }
}

/// Writes a trace of up to a few seconds and its key.
fn trace(w: &mut Words, prefix: &str, seed: u64, name: &str, folder: &Path) {
    let mut text = String::new();
    let mut ms = 0;
    for _ in 0..w.log(1, 400) {
        ms += if w.chance(0.05) { w.log(1, 2000) } else { w.log(1, 40) - 1 };
        text.push_str(&format!("{ms}\n"));
    }
    // A trace must have a positive duration.
    text.push_str(&format!("{}\n", ms + 1));
    let file = format!("{seed}-{name}.trace");
    if let Err(e) = fs::write(folder.join(&file), text) {
        panic!("cannot write {file}: {e}");
    }
    w.key(&format!("{prefix}trace"), format!("\"{file}\""));
    w.maybe(0.3, "trace_end", |w| w.word(&["loop", "stop"]));
    w.maybe(0.3, "trace_offset", |w| w.time(1000, 5_000_000));
    w.maybe(0.2, "opportunity", |w| w.bytes(1, 9000));
}

fn draw_bearers(w: &mut Words, seed: u64, nodes: &mut Vec<String>) -> Vec<BearerDrawn> {
    let count = w.pick(&[0, 0, 1, 1, 2]);
    let mut drawn = Vec::new();
    for i in 1..=count {
        let base = nodes[w.int(0, nodes.len() as u64 - 1) as usize].clone();
        let (name, ue) = (format!("b{i}"), format!("ue{i}"));
        w.table(format!("bearer.{name}"));
        let is_lte = seed >= LTE_BEARERS_FROM && w.chance(0.5);
        w.key("kind", if is_lte { "\"lte-rlc\"" } else { "\"umts\"" });
        w.key("between", format!("[\"{base}\", \"{ue}\"]"));
        w.maybe(0.3, "mtu", |w| w.bytes(68, 9000));
        if is_lte {
            lte::bearer(w, &name);
        } else {
            umts(w, &name);
        }
        nodes.push(ue);
        drawn.push(BearerDrawn { name, loss: if is_lte { "loss" } else { "bler" } });
    }
    drawn
}

fn umts(w: &mut Words, name: &str) {
    for side in ["downlink", "uplink"] {
        if w.chance(0.8) {
            w.table(format!("bearer.{name}.{side}"));
            channel(w);
        }
    }
    if w.chance(0.4) {
        w.table(format!("bearer.{name}.pdcp"));
        let header = w.word(&["none", "pid", "sequence"]);
        w.key("header", header);
    }
    rlc(w, name);
}

fn channel(w: &mut Words) {
    let tti = w.pick(&[2, 10, 20, 40, 80]);
    w.key("tti", format!("\"{tti} ms\""));
    w.maybe(0.8, "blocks", |w| if w.chance(0.03) { "0".to_owned() } else { w.log(1, 64).to_string() });
    w.maybe(0.4, "block_payload", |w| w.bytes(10, 200));
    w.maybe(0.8, "bler", |w| w.ratio(60.0));
    w.maybe(0.4, "errors", |w| w.word(&["independent", "per-tti"]));
    w.maybe(0.2, "offset", |w| w.time(1, tti * 1000 - 1));
    w.maybe(0.4, "iub_delay", |w| w.time(10, 100_000));
}

fn rlc(w: &mut Words, bearer: &str) {
    w.table(format!("bearer.{bearer}.rlc"));
    let mode = w.pick(&["am", "am", "am", "um", "tm"]);
    w.key("mode", format!("\"{mode}\""));
    if mode == "um" && w.chance(0.6) {
        w.table(format!("bearer.{bearer}.rlc.um"));
        w.maybe(0.5, "start_indicator", Words::flag);
        buffer(w);
    }
    if mode == "am" && w.chance(0.8) {
        let rx = w.chance(0.3);
        acknowledged(w, &format!("bearer.{bearer}.rlc.am"), rx);
        // The windows of both sides must be compatible: the terminal's are then drawn from the same
        // sizes.
        if !rx && w.chance(0.3) {
            acknowledged(w, &format!("bearer.{bearer}.rlc.am_ue"), false);
        }
    }
}

fn acknowledged(w: &mut Words, table: &str, windows: bool) {
    const P: f64 = 0.2;
    let timer = |w: &mut Words| if w.chance(0.3) { "\"0 s\"".to_owned() } else { w.time(10_000, 1_000_000) };
    w.table(table);
    let action = w.pick(&["", "unlimited", "reset", "discard"]);
    let discard_timer = w.chance(P);
    if windows {
        // Discarding needs windows of half the modulus at most.
        let most = if action == "discard" || discard_timer { 2047 } else { 4095 };
        let rx = w.log(1, most);
        let tx = w.log(1, rx);
        w.key("rx_window", rx);
        w.key("tx_window", tx);
    }
    if !action.is_empty() {
        w.key("on_max_dat", format!("\"{action}\""));
    }
    if discard_timer {
        let time = w.time(50_000, 7_500_000);
        w.key("timer_discard", time);
    }
    w.maybe(P, "in_sequence", Words::flag);
    w.maybe(P, "poll_last_pdu", Words::flag);
    w.maybe(P, "poll_last_retransmission", Words::flag);
    w.maybe(P, "poll_pdu", |w| w.int(0, 128).to_string());
    w.maybe(P, "poll_sdu", |w| w.int(0, 64).to_string());
    w.maybe(P, "poll_window", |w| format!("\"{} %\"", w.int(0, 100)));
    w.maybe(P, "poll_window_repeat", |w| w.log(1, 100).to_string());
    w.maybe(P, "timer_poll", timer);
    w.maybe(P, "timer_poll_prohibit", timer);
    w.maybe(P, "timer_poll_periodic", timer);
    w.maybe(P, "missing_pdu_indicator", Words::flag);
    w.maybe(P, "timer_status_prohibit", timer);
    w.maybe(P, "timer_status_periodic", timer);
    w.maybe(P, "status_format", |w| w.word(&["bitmap", "list"]));
    w.maybe(P, "piggyback", Words::flag);
    w.maybe(P, "nack_guard", timer);
    w.maybe(P, "max_dat", |w| w.log(1, 40).to_string());
    w.maybe(P, "timer_rst", |w| w.time(10_000, 1_000_000));
    w.maybe(P, "max_rst", |w| w.log(1, 32).to_string());
    w.maybe(P, "timer_mrw", |w| w.time(10_000, 1_000_000));
    w.maybe(P, "max_mrw", |w| w.log(1, 32).to_string());
    buffer(w);
}

fn buffer(w: &mut Words) {
    w.maybe(0.3, "buffer_sdus", |w| w.int(0, 100).to_string());
    w.maybe(
        0.3,
        "buffer_bytes",
        |w| if w.chance(0.2) { "\"0 B\"".to_owned() } else { w.bytes(100, 1_000_000) },
    );
    w.maybe(0.2, "buffer_policy", |w| w.word(&["drop-tail", "drop-head"]));
}

fn draw_flows(w: &mut Words, nodes: &[String], length_us: u64, seed: u64) -> Vec<FlowDrawn> {
    let (hints, linux) = (seed >= HINTS_FROM, seed >= LINUX_FROM);
    let count = w.int(0, 8);
    let mut names = Vec::new();
    for i in 1..=count {
        let from = w.int(0, nodes.len() as u64 - 1);
        let to = (from + w.int(1, nodes.len() as u64 - 1)) % nodes.len() as u64;
        let name = format!("f{i}");
        w.table(format!("flow.{name}"));
        w.key("from", format!("\"{}\"", nodes[from as usize]));
        w.key("to", format!("\"{}\"", nodes[to as usize]));
        let tcp = w.chance(0.7);
        w.key("transport", if tcp { "\"tcp\"" } else { "\"udp\"" });
        let start = if w.chance(0.5) { 0 } else { w.log(1, length_us) };
        w.key("start", format!("\"{start} us\""));
        w.maybe(0.25, "stop", |w| w.time(start + 1, (start + 1).max(length_us)));
        w.maybe(0.1, "autostart", Words::flag);
        w.maybe(0.15, "count", |w| w.log(1, 20).to_string());
        w.maybe(0.15, "stagger", |w| w.time(1, 2_000_000));
        let own = if seed >= TRIGGERS_FROM { trials::source(w, tcp) } else { None };
        let usual = |w: &mut Words| if hints && w.chance(0.5) { peoples(w, tcp) } else { app(w, tcp) };
        let app = own.unwrap_or_else(|| usual(w));
        let app = if seed >= MEDIA_FROM && !tcp && w.chance(0.6) { media(w, seed) } else { app };
        w.key("app", &app);
        if tcp {
            if linux && w.chance(0.5) {
                tcp::linux(w, &name);
            } else {
                tcp::options(w, &name, hints);
            }
            if seed >= DIVIDED_ACKS_FROM {
                w.maybe(0.3, "split_acks", |w| w.int(1, 64).to_string());
            }
            if seed >= BURSTS_FROM {
                w.maybe(0.3, "burst_read", Words::flag);
            }
            let answers = ["request-response", "web-page", "ftp", "dash"];
            let own = w.text.rsplit("\n[").next().unwrap_or_default();
            let reads = !own.contains("manual_read = true");
            if seed >= LEADS_FROM && reads && !answers.iter().any(|kind| app.contains(kind)) {
                w.maybe(0.5, "ack_ahead", |w| w.log(1, 65_535).to_string());
            }
        }
        names.push(FlowDrawn { name, tcp, app });
    }
    names
}

fn app(w: &mut Words, tcp: bool) -> String {
    let distributions = ["constant", "exponential", "pareto"];
    match if tcp { w.int(0, 5) } else { w.int(4, 5) } {
        0 | 1 => "\"bulk\"".to_owned(),
        2 => format!("{{ kind = \"file\", size = {} }}", w.bytes(1, 5_000_000)),
        3 => {
            let count = if w.chance(0.5) { format!(", count = {}", w.log(1, 100)) } else { String::new() };
            let think = if w.chance(0.1) { "\"0 s\"".to_owned() } else { w.time(1000, 2_000_000) };
            format!(
                "{{ kind = \"request-response\", request = {}, response = {}, think = {think}, \
                 think_distribution = {}{count} }}",
                w.bytes(1, 10_000),
                w.bytes(1, 300_000),
                w.word(&distributions[..2]),
            )
        }
        4 => format!(
            "{{ kind = \"on-off\", rate = {}, size = {}, on = {}, on_distribution = {}, off = {}, \
             off_distribution = {}, shape = {:.2} }}",
            w.rate(1000, 5_000_000),
            w.bytes(20, if tcp { 100_000 } else { 65_507 }),
            w.time(1000, 3_000_000),
            w.word(&distributions),
            if w.chance(0.1) { "\"0 s\"".to_owned() } else { w.time(1000, 3_000_000) },
            w.word(&distributions),
            1.01 + w.int(0, 300) as f64 / 100.0,
        ),
        _ => format!(
            "{{ kind = \"cbr\", rate = {}, size = {} }}",
            w.rate(100, 5_000_000),
            w.bytes(20, if tcp { 100_000 } else { 65_507 })
        ),
    }
}

/// One direction of a video call.
fn media(w: &mut Words, seed: u64) -> String {
    let min = w.log(1000, 1_000_000);
    let (start, max) = (min * w.int(1, 4), min * w.int(4, 100));
    let frames = w.int(1, 60);
    let app = format!(
        "{{ kind = \"media\", control = {}, min_rate = \"{min} bit/s\", start_rate = \"{start} bit/s\", \
         max_rate = \"{max} bit/s\", frame_rate = {frames}, min_frame_rate = {}, noise = 0.{:02}, reaction = {}, \
         size = {}, audio = \"{} bit/s\", feedback = {}, ecn = {}",
        w.word(&["none", "nada", "gcc", "scream"]),
        w.int(1, frames),
        w.int(0, 50),
        w.time(1, 1_000_000),
        w.bytes(64, 9000),
        w.int(0, 100_000),
        w.time(1000, 1_000_000),
        w.word(&["not-ect", "ect0", "ect1"]),
    );
    // Drawn last, so that the seeds before keep what they drew.
    let length =
        (seed >= CALLS_FROM && w.chance(0.5)).then(|| format!(", length = {}", w.time(1, 10_000_000)));
    format!("{app}{} }}", length.unwrap_or_default())
}

/// Returns an application with a user.
fn peoples(w: &mut Words, tcp: bool) -> String {
    let count = if w.chance(0.5) { format!(", count = {}", w.log(1, 30)) } else { String::new() };
    if !tcp {
        let deadline = w.time(1000, 1_000_000);
        let kind = w.pick(&["voip", "game"]);
        return format!("{{ kind = \"{kind}\", size = {}, deadline = {deadline} }}", w.bytes(20, 1400));
    }
    match w.int(0, 2) {
        0 => format!(
            "{{ kind = \"web-page\", request = {}, reading = {}, parsing = {}, pipelined = {}{count} }}",
            w.bytes(1, 5000),
            w.time(1000, 3_000_000),
            w.time(1000, 500_000),
            w.flag(),
        ),
        1 => format!(
            "{{ kind = \"ftp\", model = {}, size = {}, interval = {}{count} }}",
            w.word(&["1", "2", "3"]),
            w.bytes(1, 3_000_000),
            w.time(10_000, 5_000_000),
        ),
        _ => {
            let segment = w.log(100, 4000);
            format!(
                "{{ kind = \"dash\", segment = \"{segment} ms\", max_buffer = \"{} ms\", startup = \"{segment} ms\", \
                 adaptation = {}{count} }}",
                segment * w.int(1, 8),
                w.word(&["throughput", "buffer"]),
            )
        }
    }
}

fn draw_changes(
    w: &mut Words,
    length_us: u64,
    links: &[LinkDrawn],
    bearers: &[BearerDrawn],
    flows: &[FlowDrawn],
    wlans: Option<&wlan::Drawn>,
) {
    if w.chance(0.5) {
        return;
    }
    let mut early = 0;
    for _ in 0..w.int(1, 6) {
        w.text.push_str("\n[[at]]\n");
        let t = if w.chance(0.1) {
            // Two changes of one key at one time are refused: at 0 s, 1 us, 2 us.
            early += 1;
            format!("\"{} us\"", early - 1)
        } else {
            w.time(1000, length_us)
        };
        w.key("t", t);
        // Seeds without them draw nothing here.
        if let Some(wlans) = wlans
            && w.chance(0.5)
            && let Some(set) = wlans.change(w)
        {
            w.key("set", set);
            continue;
        }
        let link = &links[w.int(0, links.len() as u64 - 1) as usize];
        match w.int(0, 5) {
            0 if !link.rates.is_empty() => {
                let side = w.pick(&link.rates);
                let rate = if w.chance(0.2) { "\"0 bit/s\"".to_owned() } else { w.rate(20_000, 100_000_000) };
                w.key("set", format!("{{ \"link.{}.{side}rate\" = {rate} }}", link.name));
            }
            1 if !bearers.is_empty() => {
                let bearer = &bearers[w.int(0, bearers.len() as u64 - 1) as usize];
                let side = w.pick(&["downlink", "uplink"]);
                let bler = w.ratio(100.0);
                let BearerDrawn { name, loss } = bearer;
                w.key("set", format!("{{ \"bearer.{name}.{side}.{loss}\" = {bler} }}"));
            }
            2 | 3 if !flows.is_empty() => {
                let flow = &flows[w.int(0, flows.len() as u64 - 1) as usize];
                let what = w.pick(&["start", "stop"]);
                w.key(what, format!("\"flow.{}\"", flow.name));
            }
            _ => {
                let side = w.pick(&["", "", "forward.", "reverse."]);
                let delay = w.time(10, 500_000);
                let loss = w.ratio(100.0);
                let jitter = w.time(10, 100_000);
                w.key(
                    "set",
                    format!(
                        "{{ \"link.{0}.{side}delay\" = {delay}, \"link.{0}.{side}loss\" = {loss}, \
                         \"link.{0}.{side}jitter\" = {jitter} }}",
                        link.name
                    ),
                );
            }
        }
    }
}

fn output(w: &mut Words, seed: u64) {
    w.table("output");
    w.maybe(0.5, "interval", |w| w.time(5000, 2_000_000));
    w.maybe(0.8, "tcp", |w| w.word(&["off", "interval", "ack", "change"]));
    w.maybe(0.3, "queues", Words::flag);
    w.maybe(0.3, "radio", Words::flag);
    w.maybe(0.3, "packets", Words::flag);
    if seed >= POLICERS_FROM {
        w.maybe(0.3, "cc", |w| w.word(&["interval", "ack", "change"]));
    }
    if seed >= TRIGGERS_FROM {
        w.maybe(0.3, "windows", |w| w.time(1000, 5_000_000));
    }
}

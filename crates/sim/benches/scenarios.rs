//! Speed of fixed scenarios (`make bench`): a table, and `target/bench.json` with one object a
//! case.
//!
//! Each case runs in its own process, so that the peak memory is that of the case. valgrind, where
//! it is installed, counts instructions of a shortened run: the count does not depend on other load
//! of the machine. `check` counts them again and compares with `instructions.json` (`make
//! bench-check`).
#![allow(clippy::disallowed_types)] // the one place with a wall clock

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use lasthop_sim::{Error, Files, RunOutput, Scenario, run_many, run_on};
use serde_json::{Value, json};

mod instructions;
mod scale;
use instructions::{Count, Record};

/// Makes the scenarios of a case.
type Make = fn() -> Result<Vec<Scenario>, Error>;

/// A fixed scenario or a set of them.
struct Case {
    name: &'static str,
    /// Scenarios of the timed run.
    full: Make,
    /// The scenario whose instructions are counted, if any.
    short: Option<Make>,
    /// Runs at a time; 0: every core.
    jobs: usize,
    /// Number of repetitions of the timed run, of which the fastest counts.
    times: usize,
}

const CASES: &[Case] = &[
    // Start and end of a run: one packet arrives, the SYN. This is a part of each other case.
    Case {
        name: "start",
        full: || dumbbell(1, RENO, 0.03),
        short: Some(|| dumbbell(1, RENO, 0.03)),
        jobs: 1,
        times: 3,
    },
    Case {
        name: "dumbbell1",
        full: || dumbbell(1, RENO, 60.0),
        short: Some(|| dumbbell(1, RENO, 2.0)),
        jobs: 1,
        times: 3,
    },
    Case {
        name: "dumbbell10",
        full: || dumbbell(10, RENO, 60.0),
        short: Some(|| dumbbell(10, RENO, 2.0)),
        jobs: 1,
        times: 3,
    },
    Case {
        name: "dumbbell1-cubic",
        full: || dumbbell(1, CUBIC, 60.0),
        short: Some(|| dumbbell(1, CUBIC, 2.0)),
        jobs: 1,
        times: 3,
    },
    Case {
        name: "dumbbell10-cubic",
        full: || dumbbell(10, CUBIC, 60.0),
        short: Some(|| dumbbell(10, CUBIC, 2.0)),
        jobs: 1,
        times: 3,
    },
    Case { name: "umts-am", full: || umts(1000), short: Some(|| umts(20)), jobs: 1, times: 3 },
    Case { name: "lte14", full: || lte14(60), short: Some(|| lte14(3)), jobs: 1, times: 3 },
    Case { name: "lte-bulk1", full: || bulk(1, 0, 60), short: Some(|| bulk(1, 0, 2)), jobs: 1, times: 3 },
    Case { name: "lte-bulk10", full: || bulk(10, 0, 60), short: Some(|| bulk(10, 0, 2)), jobs: 1, times: 3 },
    Case { name: "lte-bulk50", full: || bulk(50, 0, 60), short: Some(|| bulk(50, 0, 2)), jobs: 1, times: 3 },
    Case { name: "lte-up10", full: || upload(10, 60), short: Some(|| upload(10, 2)), jobs: 1, times: 3 },
    Case {
        name: "up10-silent2",
        full: || beside(false, 10),
        short: Some(|| beside(false, 2)),
        jobs: 1,
        times: 1,
    },
    Case { name: "up10-pair", full: || beside(true, 10), short: Some(|| beside(true, 2)), jobs: 1, times: 1 },
    Case { name: "d2d-pairs50", full: || pairs(50, 30), short: Some(|| pairs(50, 1)), jobs: 1, times: 3 },
    Case {
        name: "idle1000",
        full: || bulk(1, 1000, 60),
        short: Some(|| bulk(1, 1000, 2)),
        jobs: 1,
        times: 3,
    },
    Case { name: "handover2", full: || handover2(40), short: Some(|| handover2(2)), jobs: 1, times: 3 },
    Case { name: "drive7", full: || drive7(60), short: Some(|| drive7(2)), jobs: 1, times: 1 },
    Case { name: "sectors57", full: || sectors(10), short: Some(|| sectors(1)), jobs: 1, times: 2 },
    Case { name: "sectors57-10k", full: || sectors_with_idle(9430, 2), short: None, jobs: 1, times: 1 },
    Case { name: "wifi1", full: || wifi_bulk(60), short: Some(|| wifi_bulk(2)), jobs: 1, times: 3 },
    Case { name: "wifi14", full: || wifi14(60), short: Some(|| wifi14(3)), jobs: 1, times: 3 },
    Case { name: "wifi50", full: || wifi_up(60), short: Some(|| wifi_up(2)), jobs: 1, times: 3 },
    Case { name: "umts-vegas-study", full: study, short: None, jobs: 0, times: 1 },
];

/// Name and TCP of a dumbbell: SACK by the RFCs, with Reno.
const RENO: (&str, &str) = ("", "profile = \"rfc\"\ncc = \"reno\"\nrecovery = \"sack\"");
/// CUBIC as in Linux 6: RACK-TLP, packets of several segments, a receive window that grows.
const CUBIC: (&str, &str) = ("-cubic", "profile = \"linux-6\"\ncc = \"cubic\"");

/// One bottleneck of 100 Mbit/s and 40 ms round trip; its queue holds one bandwidth-delay product,
/// 500 kB.
fn dumbbell(flows: u32, (name, tcp): (&str, &str), seconds: f64) -> Result<Vec<Scenario>, Error> {
    parse(&format!(
        r#"
[scenario]
name = "dumbbell{flows}{name}"
duration = "{seconds} s"
[link.bottleneck]
between = ["server", "client"]
rate = "100 Mbit/s"
delay = "20 ms"
queue = {{ kind = "droptail", packets = 333 }}
reverse = {{ rate = "1 Gbit/s" }}
[flow.download]
from = "server"
to = "client"
count = {flows}
stagger = "10 ms"
app = "bulk"
[flow.download.tcp]
{tcp}
[output]
tcp = "off"
queues = false
radio = false
"#
    ))
    .map(|s| vec![s])
}

/// A download over one UMTS bearer in acknowledged mode that loses 5 % of its blocks.
fn umts(seconds: u32) -> Result<Vec<Scenario>, Error> {
    study_scenario("reno", "5 %", 1, seconds).map(|s| vec![s])
}

/// The full form of the study `umts-vegas` in its calibrated set, without its sensitivity runs.
fn study() -> Result<Vec<Scenario>, Error> {
    let mut all = Vec::new();
    for cc in ["reno", "vegas"] {
        for bler in ["0 %", "5 %", "10 %", "15 %", "20 %", "25 %", "30 %"] {
            for seed in 1..=10 {
                all.push(study_scenario(cc, bler, seed, 1000)?);
            }
        }
    }
    Ok(all)
}

fn study_scenario(cc: &str, bler: &str, seed: u32, seconds: u32) -> Result<Scenario, Error> {
    parse(&format!(
        r#"
[scenario]
name = "umts-{cc}"
duration = "{seconds} s"
seed = {seed}
[link.wired]
between = ["server", "rnc"]
rate = "10 Mbit/s"
delay = "28 ms"
[bearer.dch]
kind = "umts"
between = ["rnc", "ue"]
downlink = {{ tti = "10 ms", blocks = 12, bler = "{bler}", iub_delay = "1 ms" }}
uplink = {{ tti = "20 ms", blocks = 4, bler = "{bler}", iub_delay = "1 ms" }}
[bearer.dch.rlc]
mode = "am"
[bearer.dch.rlc.am]
tx_window = 4095
rx_window = 4095
timer_poll = "100 ms"
timer_status_prohibit = "60 ms"
poll_window = "50 %"
poll_window_repeat = 128
on_max_dat = "unlimited"
buffer_bytes = "0 B"
[flow.ftp]
from = "server"
to = "ue"
app = "bulk"
[flow.ftp.tcp]
profile = "ns2"
cc = "{cc}"
max_window = 64
[output]
tcp = "off"
queues = false
interval = "10 s"
"#
    ))
}

/// Common part of the LTE cases: 20 MHz, wired 10 ms, RLC AM, data and control errors, and only the
/// tables that are always written.
const LTE: &str = r#"
[link.core]
between = ["server", "enb"]
rate = "10 Gbit/s"
delay = "10 ms"
overhead = "36 B"
[cell.enb]
resource_blocks = 100
[output]
tcp = "off"
queues = false
radio = false
"#;

/// The cell of the study `lte-vs-11ac`: 14 UEs, 1 Mbit/s over TCP to each.
fn lte14(seconds: u32) -> Result<Vec<Scenario>, Error> {
    parse(&format!(
        r#"
[scenario]
name = "lte14"
duration = "{seconds} s"
{LTE}
[ue.station]
count = 14
ring = {{ inner = "50 m", outer = "250 m" }}
[flow.down]
from = "server"
to = "station"
app = {{ kind = "cbr", rate = "1 Mbit/s", size = "1000 B" }}
tcp = {{ cc = "reno" }}
"#
    ))
    .map(|s| vec![s])
}

/// The drive of the study `lte-handover`: two cells, one download, one handover.
fn handover2(seconds: u32) -> Result<Vec<Scenario>, Error> {
    parse(&format!(
        r#"
[scenario]
name = "handover2"
duration = "{seconds} s"
[link.internet]
between = ["server", "gateway"]
rate = "10 Gbit/s"
delay = "10 ms"
[radio]
path_loss = {{ kind = "log-distance", exponent = 3.0 }}
[handover]
x2 = {{ delay = "6 ms" }}
[cell.west]
resource_blocks = 50
[cell.west.radio]
position = ["0 m", "0 m", "30 m"]
[cell.east]
resource_blocks = 50
[cell.east.radio]
position = ["750 m", "0 m", "30 m"]
[ue.car]
cell = "west"
[ue.car.radio]
position = ["200 m", "10 m", "1.5 m"]
mobility = {{ kind = "linear", speed = "40 km/h" }}
[flow.ftp]
from = "server"
to = "car"
app = "bulk"
tcp = {{ profile = "linux-2.6.26", cc = "cubic" }}
[output]
tcp = "off"
radio = false
queues = false
"#
    ))
    .map(|s| vec![s])
}

/// A hundred UEs between seven cells 500 m apart, to and fro at 30 m/s, 200 kbit/s to each:
/// hundreds of handovers.
fn drive7(seconds: u32) -> Result<Vec<Scenario>, Error> {
    let hexagon: [(isize, isize); 7] =
        [(0, 0), (500, 0), (250, 433), (-250, 433), (-500, 0), (-250, -433), (250, -433)];
    let mut text = format!(
        r#"
[scenario]
name = "drive7"
duration = "{seconds} s"
[link.internet]
between = ["server", "gateway"]
rate = "10 Gbit/s"
delay = "10 ms"
[radio]
path_loss = {{ kind = "log-distance", exponent = 3.0 }}
[handover]
[output]
tcp = "off"
radio = false
queues = false
"#
    );
    for (i, (x, y)) in hexagon.iter().enumerate() {
        text += &format!(
            "[cell.c{i}]\nresource_blocks = 50\nradio = {{ position = ['{x} m', '{y} m', '30 m'] }}\n"
        );
    }
    for i in 0..100 {
        // From near one cell to near another, for each pair of cells in turn.
        let (from, to) = (i % 7, (i % 7 + 1 + i / 7 % 6) % 7);
        let (a, b, off) = (hexagon[from], hexagon[to], i as isize - 50);
        text += &format!(
            "[ue.car{i}]\ncell = 'c{from}'\n[ue.car{i}.radio]\nposition = ['{} m', '{} m', '1.5 m']\n\
             mobility = {{ kind = 'back-and-forth', speed = '30 m/s', to = ['{} m', '{} m'] }}\n\
             [flow.down{i}]\nfrom = 'server'\nto = 'car{i}'\ntransport = 'udp'\n\
             app = {{ kind = 'cbr', rate = '200 kbit/s', size = '1000 B' }}\n",
            a.0 + off,
            a.1 + 20,
            b.0 + off,
            b.1 - 20,
        );
    }
    parse(&text).map(|s| vec![s])
}

/// Full-buffer downloads to `ues` UEs at 60 km/h on an EVA channel, beside `idle` UEs that are
/// connected and silent.
fn bulk(ues: u32, idle: u32, seconds: u32) -> Result<Vec<Scenario>, Error> {
    let silent = match idle {
        0 => String::new(),
        n => format!("[ue.idle]\ncount = {n}\nring = {{ inner = '50 m', outer = '500 m' }}\n"),
    };
    parse(&format!(
        r#"
[scenario]
name = "lte-bulk{ues}-{idle}"
duration = "{seconds} s"
{LTE}
[radio]
fading = "eva"
[ue.phone]
count = {ues}
ring = {{ inner = "50 m", outer = "500 m" }}
radio = {{ speed = "60 km/h" }}
{silent}
[flow.download]
from = "server"
to = "phone"
app = "bulk"
tcp = {{ cc = "reno" }}
"#
    ))
    .map(|s| vec![s])
}

/// Full-buffer uploads of `ues` UEs at 60 km/h on an EVA channel: scheduling requests, buffer
/// reports, grants.
fn upload(ues: u32, seconds: u32) -> Result<Vec<Scenario>, Error> {
    parse(&upload_text(ues, seconds)).map(|s| vec![s])
}

/// The same with ten UEs and two more without data, as a pair with a sidelink or without: the cost
/// of a sidelink for other UEs.
fn beside(sidelink: bool, seconds: u32) -> Result<Vec<Scenario>, Error> {
    let silent = ["left", "right"].map(|name| format!("[ue.{name}]\nrlc = {{ mode = \"um\" }}\n")).concat();
    let pair = if sidelink { "[sidelink.pair]\nbetween = [\"left\", \"right\"]\n" } else { "" };
    parse(&format!("{}{silent}{pair}", upload_text(10, seconds))).map(|s| vec![s])
}

fn upload_text(ues: u32, seconds: u32) -> String {
    format!(
        r#"
[scenario]
name = "lte-up{ues}"
duration = "{seconds} s"
{LTE}
[radio]
fading = "eva"
[ue.phone]
count = {ues}
ring = {{ inner = "50 m", outer = "500 m" }}
radio = {{ speed = "60 km/h" }}
[flow.upload]
from = "phone"
to = "server"
app = "bulk"
tcp = {{ cc = "reno" }}
"#
    )
}

/// Pairs of phones 10 to 30 m apart in a disc of 250 m, one transfer each over its sidelink; pairs
/// with at least 20 dB of SIR between them share resource blocks.
fn pairs(pairs: u32, seconds: u32) -> Result<Vec<Scenario>, Error> {
    parse(&format!(
        r#"
[scenario]
name = "d2d-pairs{pairs}"
duration = "{seconds} s"
[cell.enb]
profile = "simulte"
resource_blocks = 50
sidelink = {{ reuse = {{ kind = "above", min_sir = "20 dB" }} }}
[ue.left]
count = {pairs}
drop = {{ kind = "disc", radius = "250 m" }}
rlc = {{ mode = "um" }}
[ue.right]
count = {pairs}
rlc = {{ mode = "um" }}
[sidelink.pair]
between = ["left", "right"]
apart = ["10 m", "30 m"]
[flow.ftp]
from = "left"
to = "right"
one_to_one = true
tcp = {{ profile = "inet", recovery = "sack", sack = true, receive_buffer = "65535 B" }}
[output]
tcp = "off"
queues = false
radio = false
"#
    ))
    .map(|s| vec![s])
}

/// 19 sites of three sectors, 10 full-buffer downloads in each, EVA at 3 km/h on the link that
/// serves and on the three strongest others.
fn sectors(seconds: u32) -> Result<Vec<Scenario>, Error> {
    let duration = format!("scenario.duration=\"{seconds} s\"");
    Scenario::parse(include_str!("sectors57.toml"), "sectors57.toml", Path::new(""), &[duration])
        .map(|s| vec![s])
}

/// The same with `idle` more UEs that are connected and silent.
fn sectors_with_idle(idle: u32, seconds: u32) -> Result<Vec<Scenario>, Error> {
    let sets = [
        format!("scenario.duration=\"{seconds} s\""),
        format!("ue.idle.count={idle}"),
        "ue.idle.drop={ kind = \"sector\", min_distance = \"35 m\" }".to_owned(),
    ];
    Scenario::parse(include_str!("sectors57.toml"), "sectors57.toml", Path::new(""), &sets).map(|s| vec![s])
}

/// Common part of the wireless cases: 802.11ac at 20 MHz with MCS 7 and A-MPDUs, wired 10 ms,
/// Linux' queues, and only the tables that are always written.
const WIFI: &str = r#"
[link.core]
between = ["server", "ap"]
rate = "10 Gbit/s"
delay = "10 ms"
[ap.ap]
rate = { kind = "fixed", mcs = 7 }
[output]
tcp = "off"
queues = false
radio = false
"#;

/// One station with a download without rate limit.
fn wifi_bulk(seconds: u32) -> Result<Vec<Scenario>, Error> {
    wifi("wifi1", seconds, 1, "from = 'server'\nto = 'station'\napp = 'bulk'")
}

/// The other cell of the study `lte-vs-11ac`: 14 stations, 1 Mbit/s over TCP to each.
fn wifi14(seconds: u32) -> Result<Vec<Scenario>, Error> {
    let app = "app = { kind = 'cbr', rate = '1 Mbit/s', size = '1000 B' }";
    wifi("wifi14", seconds, 14, &format!("from = 'server'\nto = 'station'\n{app}"))
}

/// 50 stations with an upload each without rate limit.
fn wifi_up(seconds: u32) -> Result<Vec<Scenario>, Error> {
    wifi("wifi50", seconds, 50, "from = 'station'\nto = 'server'\napp = 'bulk'")
}

fn wifi(name: &str, seconds: u32, count: u32, flow: &str) -> Result<Vec<Scenario>, Error> {
    parse(&format!(
        r#"
[scenario]
name = "{name}"
duration = "{seconds} s"
{WIFI}
[station.station]
count = {count}
ring = {{ inner = "5 m", outer = "20 m" }}
[flow.data]
{flow}
tcp = {{ cc = "reno" }}
"#
    ))
    .map(|s| vec![s])
}

fn parse(text: &str) -> Result<Scenario, Error> {
    Scenario::parse(text, "bench.toml", Path::new(""), &[])
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let done = match arguments.as_slice() {
        [how, name] if how == "case" => inner(name, false),
        [how, name] if how == "count" => inner(name, true),
        [how] if how == "check" => check(),
        [how] if how == "update" => update(),
        [how] if how == "scale" => scale_all(),
        [how, files @ ..] if how == "train" => train(files),
        [how, number, ms] if how == "network" => scale_one(number, ms),
        names => outer(names),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("bench: {e}");
            ExitCode::FAILURE
        }
    }
}

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Runs a case in the child process and prints its figures as one line of JSON; or, with `count`,
/// runs its short form and prints the number of delivered segments.
fn inner(name: &str, count: bool) -> Outcome<()> {
    let case = CASES.iter().find(|c| c.name == name).ok_or("no such case")?;
    if count {
        let short = case.short.ok_or("this case has no short form")?;
        let output = run_on(threads()?, &short()?[0], Files::default(), &mut |_| true)?;
        println!("{}", delivered_segments(&output)?);
        return Ok(());
    }
    let scenarios = (case.full)()?;
    let mut fastest = f64::INFINITY;
    let mut figures = json!(null);
    for _ in 0..case.times {
        let begin = Instant::now();
        let outputs = if let [one] = scenarios.as_slice() {
            vec![run_on(threads()?, one, Files::default(), &mut |_| true)?]
        } else {
            run_many(&scenarios, case.jobs, None, &mut |_, _| true)?
        };
        let seconds = begin.elapsed().as_secs_f64();
        if seconds < fastest {
            fastest = seconds;
            figures = measured(name, &outputs, seconds)?;
        }
    }
    println!("{figures}");
    Ok(())
}

/// Runs scenario files once each, for a profile that the compiler optimizes by (`make bench`).
fn train(files: &[String]) -> Outcome<()> {
    for file in files {
        let folder = Path::new(file).parent().ok_or("a scenario is a file")?;
        let scenario = Scenario::parse(&fs::read_to_string(file)?, file, folder, &[])?;
        // Networks have code of their own for several threads.
        for threads in [1, 2] {
            run_on(threads, &scenario, Files::default(), &mut |_| true)?;
        }
    }
    Ok(())
}

/// Threads of a run of a single scenario: `LASTHOP_BENCH_THREADS`, or one.
fn threads() -> Result<usize, std::num::ParseIntError> {
    std::env::var("LASTHOP_BENCH_THREADS").map_or(Ok(1), |text| text.parse())
}

fn measured(name: &str, outputs: &[RunOutput], seconds: f64) -> Outcome<Value> {
    let (mut simulated, mut events, mut segments) = (0.0, 0, 0);
    for output in outputs {
        simulated += output.summary()["duration_s"].as_f64().unwrap_or(0.0);
        events += output.summary()["events"].as_u64().unwrap_or(0);
        segments += delivered_segments(output)?;
    }
    Ok(json!({
        "name": name,
        "sim_s_per_s": simulated / seconds,
        "events_per_s": events as f64 / seconds,
        "ns_per_segment": seconds * 1e9 / segments as f64,
        "peak_rss_mib": peak_rss_mib(),
        "instructions": null,
        "seconds": seconds,
        "events": events,
        "segments": segments,
    }))
}

fn delivered_segments(output: &RunOutput) -> Outcome<u64> {
    let (batches, _) = output.table("flows")?;
    let mut sum = 0;
    for batch in &batches {
        let column = batch.column_by_name("rx_packets").ok_or("no column rx_packets")?;
        let numbers = column.as_any().downcast_ref::<arrow::array::UInt64Array>().ok_or("not a number")?;
        sum += numbers.iter().flatten().sum::<u64>();
    }
    Ok(sum)
}

/// Largest resident memory of this process, where the system reports it.
fn peak_rss_mib() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? / 1024.0)
}

/// Runs the cases (all, or the named ones), each in its own process; prints the table and writes
/// the file.
fn outer(names: &[String]) -> Outcome<()> {
    let me = std::env::current_exe()?;
    let mut all = Vec::new();
    println!(
        "{:<18} {:>10} {:>12} {:>11} {:>9} {:>14} {:>8}",
        "case", "sim s/s", "events/s", "ns/segment", "RSS MiB", "instructions", "s"
    );
    for case in CASES.iter().filter(|c| names.is_empty() || names.iter().any(|n| n == c.name)) {
        let output = Command::new(&me).args(["case", case.name]).output()?;
        if !output.status.success() {
            return Err(format!("{}: {}", case.name, String::from_utf8_lossy(&output.stderr)).into());
        }
        let mut figures: Value = serde_json::from_slice(&output.stdout)?;
        figures["instructions"] =
            json!(case.short.and_then(|_| count(&me, case.name)).map(|c| c.instructions));
        let n = |key: &str| figures[key].as_f64().unwrap_or(f64::NAN);
        let counted = figures["instructions"].as_u64().map_or_else(|| "-".to_owned(), |i| i.to_string());
        println!(
            "{:<18} {:>10.1} {:>12.0} {:>11.0} {:>9.1} {:>14} {:>8.2}",
            case.name,
            n("sim_s_per_s"),
            n("events_per_s"),
            n("ns_per_segment"),
            n("peak_rss_mib"),
            counted,
            n("seconds"),
        );
        all.push(figures);
    }
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/bench.json");
    fs::write(&path, format!("{}\n", serde_json::to_string_pretty(&all)?))?;
    println!("target/bench.json");
    Ok(())
}

/// Cases whose instructions [`check`] counts: all that have a short form but `sectors57`, whose
/// count would take longer than all the others together.
fn counted() -> impl Iterator<Item = &'static Case> {
    CASES.iter().filter(|c| c.short.is_some() && c.name != "sectors57")
}

/// The file with the expected instruction counts.
fn record_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/instructions.json")
}

/// Counts the instructions of the cases and compares them with the record.
fn check() -> Outcome<()> {
    let record = Record::parse(&fs::read_to_string(record_file())?)?;
    record.comparable_with(&instructions::tools()?)?;
    let me = std::env::current_exe()?;
    let mut wrong = 0;
    println!("{:<16} {:>13} {:>13} {:>8} {:>9}", "case", "recorded", "now", "change", "segments");
    for case in counted() {
        let now = count(&me, case.name).ok_or("valgrind gave no count")?;
        let Some(before) = record.count(case.name) else {
            println!("{:<16} {:>13} {:>13} not recorded", case.name, "-", now.instructions);
            wrong += 1;
            continue;
        };
        let verdict = instructions::judge(before, now);
        wrong += usize::from(!verdict.is_empty());
        println!(
            "{:<16} {:>13} {:>13} {:>+7.2}% {:>9} {verdict}",
            case.name,
            before.instructions,
            now.instructions,
            instructions::change_percent(before.instructions, now.instructions),
            now.segments,
        );
    }
    for name in record.names().filter(|&n| !counted().any(|c| c.name == n)) {
        println!("{name:<16} recorded, but no case that is counted");
        wrong += 1;
    }
    match wrong {
        0 => Ok(()),
        n => Err(format!(
            "{n} case(s) differ from {} (bound: {} %). Find the cause with `valgrind \
             --tool=callgrind {} count CASE`; when the change is meant, run `make bench-check \
             UPDATE=1` and say in the commit why",
            record_file().display(),
            instructions::BOUND_PERCENT,
            me.display()
        )
        .into()),
    }
}

/// Writes a new record.
fn update() -> Outcome<()> {
    let tools = instructions::tools()?;
    let me = std::env::current_exe()?;
    let mut cases = Vec::new();
    for case in counted() {
        let now = count(&me, case.name).ok_or("valgrind gave no count")?;
        println!("{:<16} {:>13} {:>9} segments", case.name, now.instructions, now.segments);
        cases.push((case.name.to_owned(), now));
    }
    fs::write(record_file(), Record { tools, cases }.to_text()?)?;
    println!("{}", record_file().display());
    Ok(())
}

/// Writes the cost of networks by their size to the data of the documentation.
fn scale_all() -> Outcome<()> {
    let me = std::env::current_exe()?;
    let mut all = Vec::new();
    for (i, network) in scale::NETWORKS.iter().enumerate() {
        let number = i.to_string();
        let counted = |ms: &str| {
            let (instructions, _) = counted_run(&me, &["network", &number, ms]).ok_or("no count")?;
            Ok::<f64, Box<dyn std::error::Error>>(instructions as f64)
        };
        // Two durations: the difference does not include the set-up.
        let [short, long] = [counted("200")?, counted("400")?];
        let output = Command::new(&me).args(["network", &number, "1000"]).output()?;
        let rss_mib = String::from_utf8_lossy(&output.stdout).trim().parse()?;
        let figures = network.figures((long - short) * 5.0, rss_mib);
        println!("{figures}");
        all.push(figures);
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/data");
    fs::create_dir_all(&folder)?;
    let path = folder.join("network-cost.json");
    fs::write(&path, format!("{}\n", serde_json::to_string_pretty(&all)?))?;
    println!("docs/data/network-cost.json");
    Ok(())
}

/// Runs network `number` for `ms` milliseconds, and prints the peak memory \[MiB\].
fn scale_one(number: &str, ms: &str) -> Outcome<()> {
    let network = scale::NETWORKS.get(number.parse::<usize>()?).ok_or("no such network")?;
    let _output = run_on(threads()?, &network.scenario(ms.parse()?)?[0], Files::default(), &mut |_| true)?;
    println!("{}", peak_rss_mib().unwrap_or(f64::NAN));
    Ok(())
}

/// Instructions of the case's short form, counted by valgrind; `None` where there is no valgrind.
fn count(me: &Path, name: &str) -> Option<Count> {
    let (instructions, stdout) = counted_run(me, &["count", name])?;
    Some(Count { instructions, segments: stdout.trim().parse().ok()? })
}

/// Instructions of this program with `arguments`, and what it prints.
fn counted_run(me: &Path, arguments: &[&str]) -> Option<(u64, String)> {
    let output = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"])
        .arg(me)
        .args(arguments)
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = text.lines().find(|l| l.contains("I   refs:") || l.contains("I refs:"))?;
    let instructions = line.rsplit(':').next()?.trim().replace(',', "").parse().ok()?;
    Some((instructions, String::from_utf8_lossy(&output.stdout).into_owned()))
}

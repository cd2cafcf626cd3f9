//! `scenario.profile = "ns3-3.44"` against ns-3 itself.

mod common;

use arrow::array::Array;
use common::{real, run_text, whole};

/// What a run gave: goodput of all flows together [Mbit/s], delay and jitter per IP packet [ms].
#[derive(Clone, Copy, Debug)]
struct Outcome {
    goodput: f64,
    delay: f64,
    jitter: f64,
}

/// Runs a scenario and sums its flows; goodput counts from `start` to `stop` [s], as the peer's programs do.
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

#[test]
fn rows() {
    let only = std::env::var("ROW").unwrap_or_default();
    for (mode, size, ues) in [
        ("am", 1000, 14),
        ("am", 3000, 14),
        ("um", 1000, 14),
        ("um", 3000, 14),
        ("am", 1000, 1),
        ("um", 3000, 1),
    ] {
        let name = format!("dl-{mode}-{size}-{ues}");
        if name.contains(&only) {
            println!("{name}: {:?}", outcome(&lte_dl(mode, size, ues, NEAR), 0.2, 2.0));
        }
    }
    for (mode, ues) in [("um", 1), ("um", 10), ("am", 1), ("am", 10)] {
        let name = format!("bulk-{mode}-{ues}");
        if name.contains(&only) {
            println!("{name}: {:?}", outcome(&lte_bulk(mode, ues, WIDE), 0.2, 5.0));
        }
    }
}

#[test]
fn probe() {
    let Ok(file) = std::env::var("PROBE") else { return };
    let text = std::fs::read_to_string(file).unwrap();
    let output = run_text(&text);
    for c in [
        "start_s",
        "delay_mean_s",
        "delay_min_s",
        "delay_max_s",
        "jitter_mean_s",
        "goodput_bps",
        "rtt_min_s",
        "rtt_mean_s",
    ] {
        println!("{c}: {:?}", real(&output, "flows", c));
    }
    for c in ["rx_packets", "tx_packets", "retransmits", "timeouts", "fast_retransmits"] {
        println!("{c}: {:?}", whole(&output, "flows", c));
    }
    let (batches, _) = output.table("radio").unwrap();
    let direction: Vec<String> = batches
        .iter()
        .flat_map(|b| {
            let a = arrow::compute::cast(
                b.column_by_name("direction").unwrap(),
                &arrow::datatypes::DataType::Utf8,
            )
            .unwrap();
            let a = a.as_any().downcast_ref::<arrow::array::StringArray>().unwrap().clone();
            (0..a.len()).map(move |i| a.value(i).to_owned()).collect::<Vec<_>>()
        })
        .collect();
    let schema = batches[0].schema();
    for f in schema.fields() {
        if *f.data_type() == arrow::datatypes::DataType::UInt64 {
            for d in ["downlink", "uplink"] {
                let v: u64 = whole(&output, "radio", f.name())
                    .iter()
                    .zip(&direction)
                    .filter(|(_, x)| *x == d)
                    .map(|(v, _)| v)
                    .sum();
                println!("{d} {}: {v}", f.name());
            }
        }
    }
    let (b, _) = output.table("rlc").unwrap();
    for f in b[0].schema().fields() {
        if *f.data_type() == arrow::datatypes::DataType::UInt64 {
            println!("rlc {}: {:?}", f.name(), whole(&output, "rlc", f.name()).iter().sum::<u64>());
        }
    }
}

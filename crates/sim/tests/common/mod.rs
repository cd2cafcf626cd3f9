//! Helpers of the integration tests.
#![allow(dead_code)] // `stopping` uses a part

use std::path::{Path, PathBuf};

use arrow::array::{Array, Float64Array, UInt64Array};
use lasthop_sim::{RunOutput, Scenario, run};

/// Returns an empty folder for this test.
pub fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _none_before = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

pub fn scenario(text: &str) -> Scenario {
    scenario_in(text, Path::new(""))
}

pub fn scenario_in(text: &str, base: &Path) -> Scenario {
    Scenario::parse(text, "test.toml", base, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

pub fn run_text(text: &str) -> RunOutput {
    run(&scenario(text), None, &mut |_| true).unwrap()
}

/// Returns a column of whole numbers.
pub fn whole(output: &RunOutput, table: &str, column: &str) -> Vec<u64> {
    let (batches, _) = output.table(table).unwrap();
    let numbers = batches.iter().flat_map(|b| {
        let array = b.column_by_name(column).unwrap().as_any().downcast_ref::<UInt64Array>().unwrap();
        (0..array.len()).map(|i| if array.is_null(i) { 0 } else { array.value(i) }).collect::<Vec<_>>()
    });
    numbers.collect()
}

/// Returns a column of numbers; missing ones are NaN.
pub fn real(output: &RunOutput, table: &str, column: &str) -> Vec<f64> {
    let (batches, _) = output.table(table).unwrap();
    let numbers = batches.iter().flat_map(|b| {
        let array = b.column_by_name(column).unwrap().as_any().downcast_ref::<Float64Array>().unwrap();
        (0..array.len()).map(|i| if array.is_null(i) { f64::NAN } else { array.value(i) }).collect::<Vec<_>>()
    });
    numbers.collect()
}

/// Asserts that credit and debit of the summary's account balance.
pub fn assert_balanced(output: &RunOutput) {
    let account = &output.summary()["packets"];
    for unit in ["packets", "bytes"] {
        let n = |name: &str| account[name][unit].as_u64().unwrap();
        assert_eq!(
            n("sent") + n("made"),
            n("delivered") + n("dropped") + n("replaced") + n("inside"),
            "{account}"
        );
    }
}

/// A scenario with many features: TCP and UDP over a wired link and a bearer, loss, changes,
/// recorded packets.
pub const BUSY: &str = r#"
[scenario]
name = "busy"
duration = "20 s"
seed = 7
[link.wired]
between = ["server", "rnc"]
rate = "10 Mbit/s"
delay = "20 ms"
jitter = "3 ms"
loss = "0.5 %"
duplication = "0.5 %"
[bearer.dch]
kind = "umts"
between = ["rnc", "ue"]
downlink = { bler = "10 %" }
uplink = { bler = "5 %" }
[flow.ftp]
from = "server"
to = "ue"
app = "bulk"
[flow.web]
from = "ue"
to = "server"
start = "1 s"
app = { kind = "request-response", response = "20 kB", think = "500 ms", think_distribution = "exponential" }
[flow.voice]
from = "server"
to = "ue"
transport = "udp"
app = { kind = "cbr", rate = "17.6 kbit/s", size = "44 B" }
[[at]]
t = "8 s"
set = { "bearer.dch.downlink.bler" = "30 %", "link.wired.delay" = "40 ms" }
[[at]]
t = "15 s"
stop = "flow.ftp"
[output]
tcp = "ack"
packets = true
"#;

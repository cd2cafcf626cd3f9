//! Measures the cost of a packet capture: processor time of a run without and with one, in the
//! program and in the kernel, and octets written. Demonstrates in particular: how a run writes a
//! capture.
//!
//! ```text
//! cargo run --release -p lasthop-sim --example capture_cost -- scenarios/lte-download.toml 10 \
//!     scenario.duration="10 s" 'output.capture.interfaces=["server"]'
//! ```
//!
//! The number is that of the repetitions. Linux only: times are those of `/proc/self/stat`.

use std::error::Error;
use std::path::Path;

use lasthop_sim::{Files, Scenario, run_into};

/// Unit of the times in `/proc/self/stat` [ms].
const TICK: f64 = 10.0;

/// Processor time so far in the program and in the kernel [ms] (proc(5): fields 14 and 15).
fn times() -> Result<[f64; 2], Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let behind_name = stat.rsplit(')').next().unwrap_or_default();
    let mut fields = behind_name.split_whitespace().skip(11).map(str::parse::<f64>);
    let mut next = || fields.next().ok_or("too few fields")?.map_err(Box::<dyn Error>::from);
    Ok([next()? * TICK, next()? * TICK])
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(scenario), Some(count)) = (arguments.next(), arguments.next()) else {
        return Err("usage: capture_cost SCENARIO.toml COUNT [KEY=VALUE]...".into());
    };
    let (count, sets): (u32, Vec<String>) = (count.parse()?, arguments.collect());
    let plain: Vec<String> = sets.iter().filter(|set| !set.starts_with("output.capture")).cloned().collect();
    let file = std::env::temp_dir().join(format!("lasthop-capture-cost-{}.pcapng", std::process::id()));
    for (name, sets, capture) in [("without", plain, None), ("with", sets, Some(&*file))] {
        let scenario = Scenario::load(Path::new(&scenario), &sets)?;
        let before = times()?;
        for _ in 0..count {
            run_into(&scenario, Files { capture, ..Files::default() }, &mut |_| true)?;
        }
        let [user, system] = times()?;
        let cost = [user - before[0], system - before[1]].map(|t| t / f64::from(count));
        let bytes = capture.map_or(Ok(0), |file| std::fs::metadata(file).map(|m| m.len()))?;
        println!(
            "{name:>8}: {:6.1} ms, of these {:5.1} ms in the kernel, {:7.1} MB",
            cost[0] + cost[1],
            cost[1],
            bytes as f64 / 1e6
        );
    }
    Ok(std::fs::remove_file(file)?)
}

//! Rates of the cells of a scenario: `cargo run --release -p lasthop-sim --example cell_rates FILE
//! [--set KEY=VALUE]...`
//!
//! Prints the goodput of the downloads by percentile, the spectral efficiency by cell, and
//! statistics of the radio, as one line of JSON. Times are processor times, which do not depend on
//! other load of the machine.
#![allow(clippy::disallowed_types, reason = "it measures time")]

use std::path::Path;

use arrow::array::{Array, Float64Array, StringArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use lasthop_sim::{RunOutput, Scenario, run};
use serde_json::json;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Seconds that this process has run on a processor (Linux).
fn on_cpu() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) * 1e-9
}

fn main() -> Outcome<()> {
    let mut args = std::env::args().skip(1);
    let file = args.next().ok_or("which file?")?;
    let sets: Vec<String> = args.filter(|a| a != "--set").collect();
    let text = std::fs::read_to_string(&file)?;
    let scenario = Scenario::parse(&text, &file, Path::new(""), &sets)?;
    let start = on_cpu();
    let output = run(&scenario, None, &mut |_| true)?;
    let seconds = on_cpu() - start;
    let mut goodput = numbers(&output, "flows", "goodput_bps")?;
    goodput.sort_by(f64::total_cmp);
    let at = |q: f64| goodput[((goodput.len() - 1) as f64 * q).round() as usize];
    let percentiles: Vec<f64> = [0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95].map(at).to_vec();
    println!(
        "{}",
        json!({
            "cpu_s": seconds,
            "events": output.summary()["events"],
            "flows": goodput.len(),
            "total_bps": goodput.iter().sum::<f64>(),
            "goodput_percentiles_bps": percentiles,
            "radio": radio(&output)?,
        })
    );
    Ok(())
}

/// Sums and means of the table `radio` over UEs and time, by direction; none if it was not written.
fn radio(output: &RunOutput) -> Outcome<serde_json::Value> {
    let Ok(direction) = names(output, "radio", "direction") else { return Ok(json!(null)) };
    let mut all = serde_json::Map::new();
    for wanted in ["downlink", "uplink"] {
        let of = |column: &str| -> Outcome<Vec<f64>> {
            let values = numbers(output, "radio", column)?;
            Ok(values.into_iter().zip(&direction).filter(|(_, d)| *d == wanted).map(|(v, _)| v).collect())
        };
        let sum = |column: &str| -> Outcome<f64> { Ok(of(column)?.iter().filter(|v| v.is_finite()).sum()) };
        let mean = |column: &str, weight: &str| -> Outcome<f64> {
            let (values, weights) = (of(column)?, of(weight)?);
            let known = || values.iter().zip(&weights).filter(|(v, _)| v.is_finite());
            Ok(known().map(|(v, w)| v * w).sum::<f64>() / known().map(|(_, w)| w).sum::<f64>())
        };
        let (blocks, retransmissions) = (sum("blocks")?, sum("retransmissions")?);
        all.insert(
            wanted.into(),
            json!({
                "blocks": blocks,
                "error_share": sum("errors")? / (blocks + retransmissions),
                "lost": sum("lost")?,
                "resource_blocks": sum("resource_blocks")?,
                "mcs": mean("mcs", "blocks")?,
                "cqi": mean("cqi", "ttis")?,
                "sinr_db": mean("sinr_db", "ttis")?,
            }),
        );
    }
    Ok(all.into())
}

/// A column of numbers; missing values are NaN.
fn numbers(output: &RunOutput, table: &str, column: &str) -> Outcome<Vec<f64>> {
    let mut all = Vec::new();
    for batch in &output.table(table)?.0 {
        let column = cast(batch.column_by_name(column).ok_or("no such column")?, &DataType::Float64)?;
        let column = column.as_any().downcast_ref::<Float64Array>().ok_or("not a number")?;
        all.extend(column.iter().map(|v| v.unwrap_or(f64::NAN)));
    }
    Ok(all)
}

/// A column of names.
fn names(output: &RunOutput, table: &str, column: &str) -> Outcome<Vec<String>> {
    let mut all = Vec::new();
    for batch in &output.table(table)?.0 {
        let column = cast(batch.column_by_name(column).ok_or("no such column")?, &DataType::Utf8)?;
        let column = column.as_any().downcast_ref::<StringArray>().ok_or("not a name")?;
        all.extend((0..column.len()).map(|i| column.value(i).to_owned()));
    }
    Ok(all)
}

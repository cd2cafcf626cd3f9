//! Measures the cost of a row, in memory and on file. Demonstrates in particular: how a table is
//! declared, filled and finished.
//!
//!     cargo run --release -p lasthop-capture --example table_cost
#![expect(clippy::disallowed_types, reason = "a benchmark reads the wall clock")]

use std::time::Instant as Clock;

use lasthop_capture::{CaptureError, Row, Sink, TableData, TableWriter, table};

table! {
    "samples", "a sample of a sender";
    pub struct Samples<'a> {
        time_s: f64, "s", "moment of the sample";
        flow: &'a str, "", "the flow";
        cwnd: u64, "packets", "congestion window";
        ssthresh: i64, "packets", "-1: infinite";
        rtt_us: Option<f64>, "us", "round-trip time";
        retransmission: bool, "", "sent again";
    }
}
const ROWS: u64 = 2_000_000;

fn main() -> Result<(), CaptureError> {
    let file = std::env::temp_dir().join("lasthop-table-cost.parquet");
    for sink in [Sink::Memory, Sink::Parquet(file.clone())] {
        let clock = Clock::now();
        let mut table = TableWriter::new(Samples::TABLE, sink)?;
        for n in 0..ROWS {
            let row = Samples {
                time_s: n as f64 * 1e-3,
                flow: "ftp",
                cwnd: n % 64,
                ssthresh: -1,
                rtt_us: (n % 3 != 0).then_some(50_000.0 + (n % 97) as f64),
                retransmission: n % 100 == 0,
            };
            row.append(&mut table)?;
        }
        let finished = table.finish()?;
        let cost = clock.elapsed().as_nanos() as f64 / ROWS as f64;
        match finished.data {
            TableData::Memory(batches) => println!("memory: {cost:.0} ns/row in {} batches", batches.len()),
            TableData::File { bytes, .. } => println!("file:   {cost:.0} ns/row, {} B/row", bytes / ROWS),
        }
    }
    let _ = std::fs::remove_file(file);
    Ok(())
}

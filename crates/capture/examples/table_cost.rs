//! What a row costs, in memory and on file. Demonstrates in particular: how a table is declared,
//! filled and finished.
//!
//!     cargo run --release -p lasthop-capture --example table_cost
#![expect(clippy::disallowed_types, reason = "a benchmark looks at the wall clock")]

use std::time::Instant as Clock;

use lasthop_capture::{CaptureError, ColumnDef, Sink, TableData, TableDef, TableWriter, Value};

const TABLE: TableDef = TableDef {
    name: "samples",
    description: "a sample of a sender",
    columns: &[
        ColumnDef::f64("time_s", "s", "moment of the sample"),
        ColumnDef::name("flow", "", "the flow"),
        ColumnDef::u64("cwnd", "packets", "congestion window"),
        ColumnDef::i64("ssthresh", "packets", "-1: infinite"),
        ColumnDef::f64("rtt_us", "us", "round-trip time").nullable(),
        ColumnDef::bool("retransmission", "", "sent again"),
    ],
};
const ROWS: u64 = 2_000_000;

fn main() -> Result<(), CaptureError> {
    let file = std::env::temp_dir().join("lasthop-table-cost.parquet");
    for sink in [Sink::Memory, Sink::Parquet(file.clone())] {
        let clock = Clock::now();
        let mut table = TableWriter::new(&TABLE, sink)?;
        let flow = table.intern("ftp");
        for n in 0..ROWS {
            let rtt = if n % 3 == 0 { Value::Null } else { Value::F64(50_000.0 + (n % 97) as f64) };
            let (time, cwnd) = (Value::F64(n as f64 * 1e-3), Value::U64(n % 64));
            table.row(&[time, Value::Name(flow), cwnd, Value::I64(-1), rtt, Value::Bool(n % 100 == 0)])?;
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

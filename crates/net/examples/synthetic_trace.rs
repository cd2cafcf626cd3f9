//! Writes the synthetic traces that come with the program. Demonstrates in particular: a trace from
//! keyed draws is the same on every machine, so the files can be made again byte for byte.
//!
//!     cargo run -p lasthop-net --example synthetic_trace -- python/lasthop/scenarios/traces

use std::fs::File;
use std::io::{BufWriter, Error};
use std::path::PathBuf;

use lasthop_net::trace::{SyntheticModel, synthetic, write_mahimahi};

fn main() -> Result<(), Error> {
    let folder = PathBuf::from(std::env::args_os().nth(1).unwrap_or_else(|| ".".into()));
    for (name, model, seed) in
        [("synthetic-lte.down", SyntheticModel::LTE_DOWN, 1), ("synthetic-lte.up", SyntheticModel::LTE_UP, 2)]
    {
        let trace = synthetic(&model, seed).map_err(Error::other)?;
        let path = folder.join(name);
        write_mahimahi(&trace, BufWriter::new(File::create(&path)?))?;
        println!("{}: {:?}", path.display(), trace.stats(1500));
    }
    Ok(())
}

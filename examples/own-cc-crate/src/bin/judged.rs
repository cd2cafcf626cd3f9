//! The program that `lasthop judge target/release/judged:aimd` calls.

use std::process::ExitCode;

use lasthop_sim::{Error, Extensions};

fn main() -> ExitCode {
    match controls() {
        Ok(extensions) => lasthop_sim::command(&extensions),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn controls() -> Result<Extensions, Error> {
    Extensions::new()
        .with_cc(own_cc::aimd())?
        .with_cc(own_cc::l4s::halves())?
        .with_rate_control(own_cc::rate::steady())
}

//! The program that `lasthop judge target/release/judged:aimd` calls.

use std::process::ExitCode;

use lasthop_sim::Extensions;

fn main() -> ExitCode {
    match Extensions::new().with_cc(own_cc::aimd()) {
        Ok(extensions) => lasthop_sim::command(&extensions),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

//! Any text as a packetdrill script: parsed and, if it is one, run; every end is a verdict.
#![no_main]

use lasthop_packetdrill::{Request, run_text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let outcome = run_text("fuzz", text, &Request::default(), true);
    let again = run_text("fuzz", text, &Request::default(), true);
    assert_eq!(outcome, again);
});

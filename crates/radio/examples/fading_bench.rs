//! Measures the cost of evaluating a link's fading: every resource block of 20 MHz, EVA, a new
//! moment each time.
//!
//!     cargo run --release -p lasthop-radio --example fading_bench

#![allow(clippy::disallowed_types, reason = "it measures time")]

use std::hint::black_box;
use std::time::Instant;

use lasthop_radio::{FadingProfile, FadingShape};

fn main() {
    for (name, profile) in
        [("EPA", FadingProfile::Epa), ("EVA", FadingProfile::Eva), ("ETU", FadingProfile::Etu)]
    {
        let shape = FadingShape::new(profile, 100);
        let Some(link) = shape.link(1, 1) else { continue };
        let (mut gains, n) = ([0.0_f32; 100], 200_000_u32);
        let started = Instant::now();
        for i in 0..n {
            link.gains(f64::from(i) * 0.111, &mut gains);
            black_box(&gains);
        }
        println!(
            "{name}: {:.0} ns per link and TTI (100 blocks)",
            started.elapsed().as_nanos() as f64 / f64::from(n)
        );
    }
}

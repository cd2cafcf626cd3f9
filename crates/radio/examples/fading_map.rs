//! Prints a link's fading as CSV, a row each millisecond and a column each resource block [dB], for
//! plots.
//!
//!     cargo run -p lasthop-radio --example fading_map -- eva 60 > eva60.csv

use lasthop_radio::{FadingProfile, FadingShape, decibels, doppler_hz};
use lasthop_units::Speed;

const CARRIER_HZ: f64 = 2e9;
const BLOCKS: usize = 100;
const MILLISECONDS: u32 = 400;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let profile = match arguments.get(1).map(String::as_str) {
        Some("epa") => FadingProfile::Epa,
        Some("eva") => FadingProfile::Eva,
        Some("etu") => FadingProfile::Etu,
        _ => return eprintln!("usage: fading_map (epa | eva | etu) KM_PER_HOUR"),
    };
    let Some(Ok(km_per_hour)) = arguments.get(2).map(|x| x.parse::<f64>()) else {
        return eprintln!("usage: fading_map (epa | eva | etu) KM_PER_HOUR");
    };
    let doppler = doppler_hz(Speed(km_per_hour / 3.6), CARRIER_HZ);
    let Some(link) = FadingShape::new(profile, BLOCKS).link(1, 1) else { return };
    let mut gains = [0.0; BLOCKS];
    for ms in 0..MILLISECONDS {
        link.gains(doppler * f64::from(ms) / 1e3, &mut gains);
        let row: Vec<String> = gains.iter().map(|g| format!("{:.2}", decibels(f64::from(*g)).0)).collect();
        println!("{}", row.join(","));
    }
}

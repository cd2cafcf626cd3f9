//! An access point, and the rates of the responses in its network.

use super::config::{ApConfig, Standard, control_mode};
use crate::phy::Mode;

/// An access point. Each PPDU asks for the rate of a response, which only the configuration and the
/// rate of the data determine: the possible ones are kept.
#[derive(Debug)]
pub struct AccessPoint {
    pub config: ApConfig,
    /// Reference rates of the data [Mbit/s] from which on the second and the third response apply.
    from: [u32; 2],
    /// Rates of responses, in ascending order.
    responses: [Mode; 3],
}

impl AccessPoint {
    pub fn new(config: ApConfig) -> AccessPoint {
        let from = if config.standard == Standard::B { [2, 2] } else { [12, 24] };
        let given = config.control_rate.and_then(|rate| control_mode(config.standard, rate));
        let basic = || {
            let [second, third] = from.map(|mbps| config.legacy(mbps));
            [config.lowest(), second, third]
        };
        let responses = given.map_or_else(basic, |mode| [mode; 3]);
        AccessPoint { config, from, responses }
    }

    /// The rate of a response to data at `mode`.
    pub fn answer(&self, mode: &Mode) -> &Mode {
        let reference = mode.reference();
        let [second, third] = self.from.map(|from| usize::from(reference >= from));
        &self.responses[second + third]
    }
}

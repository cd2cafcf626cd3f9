//! Rings: places around a node that serves others.

use lasthop_bearer::ConfigError;
use lasthop_engine::{Draw, Purpose, math};
use lasthop_units::Metres;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The ground between two circles around a cell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ring {
    /// Smallest distance.
    #[serde(default)]
    pub inner: Metres,
    /// Largest distance.
    pub outer: Metres,
}

impl Ring {
    /// Refuses an invalid ring.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let (inner, outer) = (self.inner.0, self.outer.0);
        if inner >= 0.0 && outer > inner && outer <= 1e6 {
            return Ok(());
        }
        let message = "a ring has 0 m <= inner < outer <= 1000 km".to_owned();
        Err(ConfigError { key: "ring".to_owned(), message })
    }

    /// The place of terminal number `terminal`, uniform over the area; its height is that of `at`.
    pub(super) fn place(
        &self,
        seed: u64,
        terminal: u64,
        centre: [Metres; 3],
        at: [Metres; 3],
    ) -> [Metres; 3] {
        let draw = Draw::new(seed, Purpose::Mobility, terminal);
        let mut stream = draw.stream(0);
        let (a, b) = (self.inner.0 * self.inner.0, self.outer.0 * self.outer.0);
        let radius = math::sqrt(a + (b - a) * stream.uniform());
        let angle = std::f64::consts::TAU * stream.uniform();
        let x = centre[0].0 + radius * math::cos(angle);
        let y = centre[1].0 + radius * math::sin(angle);
        [Metres(x), Metres(y), at[2]]
    }
}

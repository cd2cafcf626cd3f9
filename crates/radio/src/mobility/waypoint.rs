//! Random waypoint in its steady state: a terminal moves straight to uniform places, each at a
//! newly drawn speed, and pauses.
//!
//! A run that begins with uniform places and speeds is not in the steady state: slow legs last
//! longer, so the mean speed falls for minutes, and the density in the middle grows. The start is
//! therefore drawn from the stationary distribution (W. Navidi, T. Camp, "Stationary distributions
//! for the random waypoint mobility model", IEEE Trans. Mobile Computing 3(1), 2004).

use lasthop_engine::{Stream, math};
use lasthop_units::{Duration, Speed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Area;
use crate::layout::Ground;

/// A random waypoint walk. It begins anywhere in its area: the terminal's own place is not used.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RandomWaypoint {
    /// The area of its waypoints.
    pub area: Area,
    /// Smallest and largest speed, above 0. With 0 a leg may last for ever, and the mean speed
    /// tends to 0.
    pub speed: [Speed; 2],
    /// Shortest and longest pause at a waypoint.
    #[serde(default)]
    pub pause: [Duration; 2],
}

/// State of a terminal at time zero.
pub(super) enum Start {
    /// In a pause: place, and rest of the pause [s].
    Pause(Ground, f64),
    /// On a leg: place, destination, and speed [m/s].
    Way(Ground, Ground, f64),
}

impl RandomWaypoint {
    /// Refuses invalid values: the key, and its valid values.
    pub fn validate(&self) -> Result<(), (&'static str, &'static str)> {
        let [slow, fast] = self.speed.map(|v| v.0);
        if !(slow > 0.0 && fast >= slow && fast <= 1e4) {
            return Err(("speed", "0 m/s < smallest <= largest: with 0 the mean speed falls to nothing"));
        }
        if self.pause[1] < self.pause[0] {
            return Err(("pause", "the shortest pause comes first"));
        }
        self.area.validate().map_err(|message| ("area", message))
    }

    /// Mean speed during legs in the steady state [m/s]: the density of speeds falls as 1/v.
    pub fn mean_speed(&self) -> f64 {
        let [slow, fast] = self.speed.map(|v| v.0);
        if slow == fast { slow } else { (fast - slow) / math::ln(fast / slow) }
    }

    /// Share of time in pauses.
    pub fn share_of_pauses(&self) -> f64 {
        let pause = (self.pause[0].as_secs_f64() + self.pause[1].as_secs_f64()) / 2.0;
        // Speed and length of a leg are independent, and E[1/v] = ln(fast / slow) / (fast - slow).
        pause / (pause + self.area.mean_distance() / self.mean_speed())
    }

    /// Quantile `u` of the speed in the steady state.
    fn stationary_speed(&self, u: f64) -> f64 {
        let [slow, fast] = self.speed.map(|v| v.0);
        slow * math::pow(fast / slow, u)
    }

    /// Draws the speed of a new leg.
    pub(super) fn speed_of_leg(&self, stream: &mut Stream) -> f64 {
        let [slow, fast] = self.speed.map(|v| v.0);
        slow + (fast - slow) * stream.uniform()
    }

    /// Draws a new pause [s].
    pub(super) fn rest(&self, stream: &mut Stream) -> f64 {
        let [short, long] = self.pause.map(|p| p.as_secs_f64());
        short + (long - short) * stream.uniform()
    }

    /// Draws the state at time zero.
    pub(super) fn start(&self, stream: &mut Stream) -> Start {
        if stream.uniform() < self.share_of_pauses() {
            // A random moment is more often in a long pause: the density of its length is weighted
            // by the length, and the rest of the pause is a uniform part of it.
            let longest = self.pause[1].as_secs_f64();
            let mut pause = self.rest(stream);
            while stream.uniform() * longest > pause {
                pause = self.rest(stream);
            }
            return Start::Pause(self.area.position(stream), pause * stream.uniform());
        }
        // Long legs are weighted in the same way.
        let longest = self.area.diameter();
        loop {
            let (a, b) = (self.area.position(stream), self.area.position(stream));
            let (dx, dy) = (b[0] - a[0], b[1] - a[1]);
            if stream.uniform() * longest < math::sqrt(dx * dx + dy * dy) {
                let gone = stream.uniform();
                let speed = self.stationary_speed(stream.uniform());
                return Start::Way([a[0] + gone * dx, a[1] + gone * dy], b, speed);
            }
        }
    }
}

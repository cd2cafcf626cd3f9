//! Areas that bound a terminal's movement.

use lasthop_engine::{Stream, math};
use lasthop_units::Metres;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::layout::Ground;

/// A piece of ground.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Area {
    /// Between two corners, at least 1 m apart in x and in y.
    Rectangle {
        /// x and y of the lower left corner.
        from: [Metres; 2],
        /// x and y of the upper right corner.
        to: [Metres; 2],
    },
    /// A disc.
    Disc {
        /// x and y of its middle.
        #[serde(default)]
        centre: [Metres; 2],
        /// Radius, 1 m to 1000 km.
        radius: Metres,
    },
}

/// Shortest side or radius of an area [m]: in a smaller one a leg from border to border takes
/// almost no time.
const LEAST: f64 = 1.0;

impl Area {
    /// The smallest width [m].
    pub fn width(&self) -> f64 {
        match *self {
            Area::Rectangle { from, to } => (to[0].0 - from[0].0).min(to[1].0 - from[1].0),
            Area::Disc { radius, .. } => 2.0 * radius.0,
        }
    }

    /// What is wrong with it.
    pub fn validate(&self) -> Result<(), &'static str> {
        match *self {
            Area::Rectangle { from, to } if (0..2).all(|i| to[i].0 - from[i].0 >= LEAST) => Ok(()),
            Area::Rectangle { .. } => {
                Err("`to` must be to the right of `from` and above it, by at least 1 m")
            }
            Area::Disc { radius, .. } if radius.0 >= LEAST && radius.0 <= 1e6 => Ok(()),
            Area::Disc { .. } => Err("a radius of 1 m to 1000 km"),
        }
    }

    /// Draws a uniform place.
    pub fn position(&self, stream: &mut Stream) -> Ground {
        match *self {
            Area::Rectangle { from, to } => {
                [0, 1].map(|i| from[i].0 + (to[i].0 - from[i].0) * stream.uniform())
            }
            Area::Disc { centre, radius } => {
                let r = radius.0 * math::sqrt(stream.uniform());
                let angle = std::f64::consts::TAU * stream.uniform();
                [centre[0].0 + r * math::cos(angle), centre[1].0 + r * math::sin(angle)]
            }
        }
    }

    /// The place in the area that is nearest to `p`.
    pub fn nearest(&self, p: Ground) -> Ground {
        match *self {
            Area::Rectangle { from, to } => [0, 1].map(|i| p[i].clamp(from[i].0, to[i].0)),
            Area::Disc { centre, radius } => {
                let d = [p[0] - centre[0].0, p[1] - centre[1].0];
                let r = math::sqrt(d[0] * d[0] + d[1] * d[1]);
                if r <= radius.0 {
                    return p;
                }
                [centre[0].0 + d[0] * radius.0 / r, centre[1].0 + d[1] * radius.0 / r]
            }
        }
    }

    /// From `p` in the direction `d` (length 1): the distance to the border, and the direction
    /// after the reflection there (angle of reflection equal to that of incidence).
    pub fn border(&self, p: Ground, d: Ground) -> (f64, Ground) {
        match *self {
            Area::Rectangle { from, to } => {
                let way = |i: usize| match d[i] {
                    v if v > 0.0 => ((to[i].0 - p[i]) / v).max(0.0),
                    v if v < 0.0 => ((from[i].0 - p[i]) / v).max(0.0),
                    _ => f64::INFINITY,
                };
                let (x, y) = (way(0), way(1));
                if x < y { (x, [-d[0], d[1]]) } else { (y, [d[0], -d[1]]) }
            }
            Area::Disc { centre, radius } => {
                let q = [p[0] - centre[0].0, p[1] - centre[1].0];
                // |q + t d| = r: t^2 + 2 (q d) t + q^2 - r^2 = 0, the larger root.
                let along = q[0] * d[0] + q[1] * d[1];
                let rest = q[0] * q[0] + q[1] * q[1] - radius.0 * radius.0;
                let t = (-along + math::sqrt((along * along - rest).max(0.0))).max(0.0);
                let normal = [(q[0] + t * d[0]) / radius.0, (q[1] + t * d[1]) / radius.0];
                let outwards = d[0] * normal[0] + d[1] * normal[1];
                (t, [d[0] - 2.0 * outwards * normal[0], d[1] - 2.0 * outwards * normal[1]])
            }
        }
    }

    /// Mean distance of two uniform places [m] (B. Ghosh, "Random distances within a rectangle and
    /// between two rectangles", Bull. Calcutta Math. Soc. 43, 1951; the disc's is 128 r / (45
    /// pi)).
    pub fn mean_distance(&self) -> f64 {
        match *self {
            Area::Disc { radius, .. } => 128.0 * radius.0 / (45.0 * std::f64::consts::PI),
            Area::Rectangle { from, to } => {
                let [a, b] = [0, 1].map(|i| to[i].0 - from[i].0);
                let d = math::sqrt(a * a + b * b);
                let arcosh = |x: f64| math::ln(x + math::sqrt(x * x - 1.0));
                (a * a * a / (b * b) + b * b * b / (a * a) + d * (3.0 - a * a / (b * b) - b * b / (a * a)))
                    / 15.0
                    + (b * b / a * arcosh(d / b) + a * a / b * arcosh(d / a)) / 6.0
            }
        }
    }

    /// The largest distance of two places in the area [m].
    pub fn diameter(&self) -> f64 {
        match *self {
            Area::Disc { radius, .. } => 2.0 * radius.0,
            Area::Rectangle { from, to } => {
                let [a, b] = [0, 1].map(|i| to[i].0 - from[i].0);
                math::sqrt(a * a + b * b)
            }
        }
    }
}

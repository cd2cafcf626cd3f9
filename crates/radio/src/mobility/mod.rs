//! Movement of terminals: positions as functions of time, without events.
//!
//! [`Mobility`] is the configuration of a movement, [`Motion`] a moving terminal, [`Track`] a
//! recorded movement.

mod area;
mod levy;
mod motion;
#[cfg(test)]
mod statistics;
mod track;
mod waypoint;

pub use area::Area;
pub use levy::{LevyWalk, SpeedLaw};
pub use motion::Motion;
pub use track::Track;
pub use waypoint::RandomWaypoint;

use lasthop_units::{Metres, Speed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A place [m]: x, y, and height z.
pub type Position = [f64; 3];

/// Movement of a terminal from its initial position. The height does not change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Mobility {
    /// Not at all.
    #[default]
    Static,
    /// Straight on at constant speed.
    Linear {
        /// Speed.
        speed: Speed,
        /// Direction, counter-clockwise from the x axis [degree], -360 to 360.
        #[serde(default)]
        #[schemars(range(min = -360, max = 360))]
        heading: f64,
    },
    /// To a place and back, repeatedly, at constant speed.
    BackAndForth {
        /// Speed.
        speed: Speed,
        /// x and y of the place where it turns round.
        to: [Metres; 2],
    },
    /// Random waypoint: straight to uniformly drawn places of an area, one after the other. The
    /// movement begins in its steady state.
    RandomWaypoint(RandomWaypoint),
    /// As people walk: many short flights, few long ones, and pauses.
    LevyWalk(LevyWalk),
}

impl Mobility {
    /// Refuses invalid values: the key, and its valid values.
    pub fn validate(&self) -> Result<(), (&'static str, &'static str)> {
        match self {
            Mobility::RandomWaypoint(walk) => walk.validate(),
            Mobility::LevyWalk(walk) => walk.validate(),
            Mobility::Linear { heading, .. } if !crate::bounds::AZIMUTH.hold(*heading) => {
                Err(("heading", crate::bounds::AZIMUTH.text))
            }
            Mobility::Linear { speed, .. } | Mobility::BackAndForth { speed, .. } => {
                if speed.0 >= 0.0 {
                    Ok(())
                } else {
                    Err(("speed", "0 m/s or more: `heading` is the direction"))
                }
            }
            Mobility::Static => Ok(()),
        }
    }

    /// The position after `t` seconds of a terminal that starts at `start`; random walks do not
    /// move here, [`Motion`] evaluates them.
    pub fn position(&self, start: Position, t: f64) -> Position {
        match *self {
            Mobility::Static | Mobility::RandomWaypoint(_) | Mobility::LevyWalk(_) => start,
            Mobility::Linear { speed, heading } => {
                let angle = heading.to_radians();
                let way = speed.0 * t;
                let (dx, dy) = (lasthop_engine::math::cos(angle), lasthop_engine::math::sin(angle));
                [start[0] + way * dx, start[1] + way * dy, start[2]]
            }
            Mobility::BackAndForth { speed, to } => {
                let (dx, dy) = (to[0].0 - start[0], to[1].0 - start[1]);
                let leg = (dx * dx + dy * dy).sqrt();
                if leg == 0.0 {
                    return start;
                }
                let way = (speed.0 * t) % (2.0 * leg);
                let along = if way <= leg { way } else { 2.0 * leg - way } / leg;
                [start[0] + dx * along, start[1] + dy * along, start[2]]
            }
        }
    }

    /// Mean speed over the ground while the terminal moves [m/s].
    pub fn speed(&self) -> f64 {
        match self {
            Mobility::Static => 0.0,
            Mobility::Linear { speed, .. } | Mobility::BackAndForth { speed, .. } => speed.0,
            Mobility::RandomWaypoint(walk) => walk.mean_speed(),
            Mobility::LevyWalk(walk) => walk.mean_speed(),
        }
    }

    /// Distance travelled after `t` seconds [m], for the Doppler shift.
    pub fn travelled(&self, t: f64) -> f64 {
        self.speed() * t
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Position = [10.0, 20.0, 1.5];

    /// 10 m/s at 90 degrees: 5 s later 50 m to the north.
    #[test]
    fn linear_motion_is_exact() {
        let m = Mobility::Linear { speed: Speed(10.0), heading: 90.0 };
        let [x, y, z] = m.position(START, 5.0);
        assert!((x - 10.0).abs() < 1e-12 && (y - 70.0).abs() < 1e-12 && z == 1.5);
        assert_eq!(Mobility::Static.position(START, 1e6), START);
        assert_eq!(m.travelled(3.0), 30.0);
    }

    /// A leg of 50 m (30, 40) at 10 m/s: at the other place after 5 s, back after 10 s, always at
    /// the same speed.
    #[test]
    fn back_and_forth_turns_round_and_keeps_its_speed() {
        let m = Mobility::BackAndForth { speed: Speed(10.0), to: [Metres(40.0), Metres(60.0)] };
        for (t, x, y) in [
            (0.0, 10.0, 20.0),
            (2.5, 25.0, 40.0),
            (5.0, 40.0, 60.0),
            (7.5, 25.0, 40.0),
            (10.0, 10.0, 20.0),
            (105.0, 40.0, 60.0),
        ] {
            let position = m.position(START, t);
            assert!((position[0] - x).abs() < 1e-9 && (position[1] - y).abs() < 1e-9, "{t}: {position:?}");
        }
        for t in [0.1, 3.3, 6.1, 8.8] {
            let (a, b) = (m.position(START, t), m.position(START, t + 0.001));
            let way = ((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1])).sqrt();
            assert!((way - 0.01).abs() < 1e-9);
        }
        let nowhere = Mobility::BackAndForth { speed: Speed(10.0), to: [Metres(10.0), Metres(20.0)] };
        assert_eq!(nowhere.position(START, 7.0), START);
    }
}

//! A moving terminal: the waypoints of its walk, drawn up to the latest requested time.

use std::sync::Arc;

use lasthop_engine::{Draw, Purpose, math};

use super::waypoint::Start;
use super::{LevyWalk, Mobility, Position, RandomWaypoint, Track};
use crate::layout::Ground;

/// Separates the draws of walks from those of places.
const WALK: u64 = 1 << 62;
/// Most reflections of one flight; a flight along the border of a disc has many.
const REFLECTIONS: usize = 10_000;

/// A moving terminal. Its position at a time does not depend on earlier queries.
#[derive(Clone, Debug)]
pub struct Motion {
    mobility: Mobility,
    start: Position,
    track: Option<Arc<Track>>,
    draw: Draw,
    /// Legs drawn so far.
    legs: u64,
    /// Times and places; between two of them the movement is straight. Empty for walks in closed
    /// form.
    way: Vec<(f64, Ground)>,
}

impl Motion {
    /// Creates the walk of terminal number `terminal` in the run `seed`, from `start` on.
    pub fn new(mobility: Mobility, start: Position, seed: u64, terminal: u64) -> Motion {
        let draw = Draw::new(seed, Purpose::Mobility, WALK | terminal);
        let mut motion = Motion { mobility, start, track: None, draw, legs: 0, way: Vec::new() };
        motion.begin();
        motion
    }

    /// Creates a terminal that follows a recorded track; its height is that of `start`.
    pub fn along(track: Arc<Track>, start: Position) -> Motion {
        let draw = Draw::new(0, Purpose::Mobility, WALK);
        Motion { mobility: Mobility::Static, start, track: Some(track), draw, legs: 0, way: Vec::new() }
    }

    /// True if the terminal moves at any time.
    pub fn moves(&self) -> bool {
        self.track.is_some() || self.mobility != Mobility::Static
    }

    /// The position after `t` seconds.
    pub fn position(&mut self, t: f64) -> Position {
        if let Some(track) = &self.track {
            let [x, y] = track.position(t);
            return [x, y, self.start[2]];
        }
        if self.way.is_empty() {
            return self.mobility.position(self.start, t);
        }
        while self.way.last().is_some_and(|(until, _)| *until <= t) {
            self.leg();
        }
        let next = self.way.partition_point(|(at, _)| *at <= t);
        let [x, y] = match (next.checked_sub(1).map(|i| self.way[i]), self.way.get(next)) {
            (Some((from, a)), Some((to, b))) => {
                let share = (t - from) / (to - from);
                [a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])]
            }
            (Some((_, a)), None) => a,
            (None, _) => self.way[0].1,
        };
        [x, y, self.start[2]]
    }

    fn begin(&mut self) {
        let here = [self.start[0], self.start[1]];
        match self.mobility {
            Mobility::RandomWaypoint(walk) => match walk.start(&mut self.draw.stream(0)) {
                Start::Pause(at, rest) => self.way.extend([(0.0, at), (rest.max(1e-9), at)]),
                Start::Way(at, to, speed) => {
                    self.way.push((0.0, at));
                    self.go(to, speed);
                    self.pause(walk.rest(&mut self.draw.stream(1)));
                }
            },
            Mobility::LevyWalk(walk) => {
                self.way.push((0.0, walk.area.map_or(here, |area| area.nearest(here))));
            }
            Mobility::Static | Mobility::Linear { .. } | Mobility::BackAndForth { .. } => {}
        }
        self.legs = 2;
    }

    /// Draws the next leg and the pause after it.
    fn leg(&mut self) {
        let mut stream = self.draw.stream(self.legs);
        self.legs += 1;
        match self.mobility {
            Mobility::RandomWaypoint(walk) => {
                let RandomWaypoint { area, .. } = walk;
                self.go(area.position(&mut stream), walk.speed_of_leg(&mut stream));
                self.pause(walk.rest(&mut stream));
            }
            Mobility::LevyWalk(walk) => {
                let angle = std::f64::consts::TAU * stream.uniform();
                self.fly([math::cos(angle), math::sin(angle)], walk.length(&mut stream), &walk);
                self.pause(walk.rest(&mut stream));
            }
            // The other kinds have no waypoints; a waypoint at infinity ends the caller's loop.
            Mobility::Static | Mobility::Linear { .. } | Mobility::BackAndForth { .. } => {
                self.pause(f64::INFINITY);
            }
        }
    }

    fn here(&self) -> (f64, Ground) {
        self.way.last().copied().unwrap_or((0.0, [self.start[0], self.start[1]]))
    }

    fn go(&mut self, to: Ground, speed: f64) {
        let (t, at) = self.here();
        let (dx, dy) = (to[0] - at[0], to[1] - at[1]);
        // A leg of length 0 takes a positive time, so that times increase.
        self.way.push((t + (math::sqrt(dx * dx + dy * dy) / speed).max(1e-9), to));
    }

    fn pause(&mut self, rest: f64) {
        if rest > 0.0 {
            let (t, at) = self.here();
            self.way.push((t + rest, at));
        }
    }

    /// Adds a flight with constant speed and reflections.
    fn fly(&mut self, mut d: Ground, length: f64, walk: &LevyWalk) {
        let speed = length / walk.speed.time(length);
        let mut left = length;
        for _ in 0..REFLECTIONS {
            let (_, at) = self.here();
            let (way, then) = walk.area.map_or((f64::INFINITY, d), |area| area.border(at, d));
            let step = way.min(left);
            self.go([at[0] + step * d[0], at[1] + step * d[1]], speed);
            left -= step;
            if left <= 0.0 {
                return;
            }
            d = then;
        }
    }
}

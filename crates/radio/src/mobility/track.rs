//! Recorded movement: places with their times, and straight movement between them.

use crate::layout::Ground;

/// A recorded movement. A terminal stays at the first place before its time, and at the last place
/// after its time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Track {
    /// Time [s] and place, in order of time.
    points: Vec<(f64, Ground)>,
}

impl Track {
    /// Creates a track through `points`: time [s] and place [m]. Two points of one time are a jump,
    /// after which the later one holds.
    ///
    /// # Errors
    /// The first point that is not finite, or earlier than the one before it.
    pub fn new(points: Vec<(f64, Ground)>) -> Result<Track, usize> {
        let finite = |(t, [x, y]): &(f64, Ground)| t.is_finite() && x.is_finite() && y.is_finite();
        match (0..points.len()).find(|&i| !finite(&points[i]) || (i > 0 && points[i].0 < points[i - 1].0)) {
            Some(wrong) => Err(wrong),
            None => Ok(Track { points }),
        }
    }

    /// The points.
    pub fn points(&self) -> &[(f64, Ground)] {
        &self.points
    }

    /// The position after `t` seconds; the origin if there are no points.
    pub fn position(&self, t: f64) -> Ground {
        let next = self.points.partition_point(|(at, _)| *at <= t);
        match (next.checked_sub(1).map(|i| self.points[i]), self.points.get(next)) {
            (Some((from, a)), Some((to, b))) => {
                let share = (t - from) / (to - from);
                [a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])]
            }
            (Some((_, a)), None) => a,
            (None, Some((_, b))) => *b,
            (None, None) => [0.0, 0.0],
        }
    }

    /// Length of the track over the time of movement [m/s].
    pub fn mean_speed(&self) -> f64 {
        let (mut way, mut time) = (0.0, 0.0);
        for pair in self.points.windows(2) {
            let [(t, a), (u, b)] = pair else { continue };
            let step = ((b[0] - a[0]) * (b[0] - a[0]) + (b[1] - a[1]) * (b[1] - a[1])).sqrt();
            if step > 0.0 && u > t {
                (way, time) = (way + step, time + u - t);
            }
        }
        if time > 0.0 { way / time } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_track_is_straight_between_its_points() {
        let track = Track::new(vec![
            (10.0, [0.0, 0.0]),
            (20.0, [100.0, 0.0]),
            (20.0, [0.0, 50.0]),
            (30.0, [0.0, 50.0]),
        ]);
        let track = track.unwrap();
        for (t, expected) in
            [(0.0, [0.0, 0.0]), (15.0, [50.0, 0.0]), (20.0, [0.0, 50.0]), (99.0, [0.0, 50.0])]
        {
            assert_eq!(track.position(t), expected, "{t}");
        }
        assert_eq!(track.mean_speed(), 10.0);
        assert_eq!(Track::default().position(3.0), [0.0, 0.0]);
        assert_eq!(Track::new(vec![(1.0, [0.0; 2]), (0.5, [0.0; 2])]), Err(1));
        assert_eq!(Track::new(vec![(f64::NAN, [0.0; 2])]), Err(0));
    }
}

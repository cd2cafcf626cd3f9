//! Layouts: the positions of a network's sites, and wrap-around.
//!
//! A hexagonal layout has a site in the middle and rings around it: 1, 7, 19, 37, ... sites.
//! Neighbours are at 0, 60, ... degrees, so a site's hexagon has its corners at 30, 90, ...
//! degrees, and the three sectors of a site point to every second one (TR 36.814 clause A.2.1.1).
//!
//! With wrap-around the plane is covered with copies of the layout: for a terminal the nearest copy
//! of each site counts, so that no terminal is at an edge. The offsets of copies are the vectors
//! (k + 1, k) of the lattice of sites, turned by 60 degrees, where k is the number of rings:
//! (k + 1)^2 + (k + 1) k + k^2 = 3 k (k + 1) + 1 is the number of sites.

use lasthop_engine::Stream;
use lasthop_engine::math::{cos, sin};

/// A point or vector on the ground [m].
pub type Ground = [f64; 2];

/// cos and sin of 60 degrees.
const HALF: f64 = 0.5;
const HEIGHT: f64 = 0.866_025_403_784_438_6;

/// The point `u`, `v` of the lattice of sites with inter-site distance `isd` [m].
fn lattice(u: i64, v: i64, isd: f64) -> Ground {
    [isd * (u as f64 + HALF * v as f64), isd * HEIGHT * v as f64]
}

/// Sites in the middle and on `rings` hexagonal rings around it, in the order of the rings, each
/// from 0 degrees on counter-clockwise.
pub fn hexagonal(rings: u32, isd: f64) -> Vec<Ground> {
    let mut sites = vec![[0.0, 0.0]];
    for ring in 1..=i64::from(rings) {
        let (mut u, mut v) = (ring, 0);
        for (du, dv) in [(-1, 1), (-1, 0), (0, -1), (1, -1), (1, 0), (0, 1)] {
            for _ in 0..ring {
                sites.push(lattice(u, v, isd));
                (u, v) = (u + du, v + dv);
            }
        }
    }
    sites
}

/// Sites in `rows` of `columns`, `distance` [m] apart, around the origin; row by row from the lower
/// left.
pub fn grid(columns: u32, rows: u32, distance: f64) -> Vec<Ground> {
    let at = |i: u32, n: u32| distance * (f64::from(i) - (f64::from(n) - 1.0) / 2.0);
    (0..rows).flat_map(|r| (0..columns).map(move |c| [at(c, columns), at(r, rows)])).collect()
}

/// Draws a uniform place in the sector of a hexagonal cell with `azimuth` [degree], which must be
/// the direction of one of the hexagon's corners: a rhombus between the site and three of its
/// corners. The site is at the origin.
pub fn in_sector(azimuth: f64, isd: f64, stream: &mut Stream) -> Ground {
    let (a, b) = (stream.uniform(), stream.uniform());
    let corner = |angle: f64| {
        let angle = angle.to_radians();
        let radius = isd / (2.0 * HEIGHT);
        [radius * cos(angle), radius * sin(angle)]
    };
    let (left, right) = (corner(azimuth + 60.0), corner(azimuth - 60.0));
    [a * left[0] + b * right[0], a * left[1] + b * right[1]]
}

/// The plane as the copies of one tile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WrapAround {
    /// Two sides of the tile [m], 60 degrees apart.
    a: Ground,
    b: Ground,
}

impl WrapAround {
    /// The tile of a hexagonal layout.
    pub fn hexagonal(rings: u32, isd: f64) -> WrapAround {
        let k = i64::from(rings);
        // (u, v) turned by 60 degrees is (-v, u + v).
        WrapAround { a: lattice(k + 1, k, isd), b: lattice(-k, 2 * k + 1, isd) }
    }

    /// The shortest of the vectors to the copies of a place, where `x`, `y` is one of them.
    pub fn nearest(&self, [x, y]: Ground) -> Ground {
        let ([ax, ay], [bx, by]) = (self.a, self.b);
        let area = ax * by - ay * bx;
        // In units of the sides: the nearest copy is at one of the corners of the parallelogram
        // around the vector.
        let (s, t) = ((x * by - y * bx) / area, (ax * y - ay * x) / area);
        let (s, t) = (s.floor(), t.floor());
        let mut best = [x, y];
        let mut least = f64::INFINITY;
        for (i, j) in [(s, t), (s + 1.0, t), (s, t + 1.0), (s + 1.0, t + 1.0)] {
            let (dx, dy) = (x - i * ax - j * bx, y - i * ay - j * by);
            let square = dx * dx + dy * dy;
            // Of equal distances (within rounding) the first one counts.
            if square < least - 1e-9 {
                (best, least) = ([dx, dy], square);
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_engine::{Draw, Purpose};

    fn length([x, y]: Ground) -> f64 {
        (x * x + y * y).sqrt()
    }

    /// 3 k (k + 1) + 1 sites; the nearest neighbour of each is one inter-site distance away.
    #[test]
    fn rings_have_six_more_sites_each() {
        for (rings, n) in [(0, 1), (1, 7), (2, 19), (3, 37)] {
            let sites = hexagonal(rings, 500.0);
            assert_eq!(sites.len(), n);
            for (i, a) in sites.iter().enumerate() {
                let gap = |b: &Ground| length([a[0] - b[0], a[1] - b[1]]);
                let others = sites.iter().enumerate().filter(|(j, _)| *j != i);
                let nearest = others.map(|(_, b)| gap(b)).fold(f64::INFINITY, f64::min);
                assert!(n == 1 || (nearest - 500.0).abs() < 1e-9, "{i}: {nearest}");
            }
        }
        assert_eq!(hexagonal(1, 100.0)[1], [100.0, 0.0]);
    }

    /// With wrap-around every site has six neighbours at the inter-site distance, and the distances
    /// to all others are those of the site in the middle: no site is at an edge. Without it, this
    /// holds only for the middle of 19.
    #[test]
    fn wrapped_around_every_site_is_in_the_middle() {
        for rings in 0..4 {
            let (sites, wrap) = (hexagonal(rings, 500.0), WrapAround::hexagonal(rings, 500.0));
            let around = |a: &Ground| {
                let mut d: Vec<f64> =
                    sites.iter().map(|b| length(wrap.nearest([b[0] - a[0], b[1] - a[1]]))).collect();
                d.sort_by(f64::total_cmp);
                d
            };
            let middle = around(&sites[0]);
            for site in &sites {
                for (a, b) in around(site).iter().zip(&middle) {
                    assert!((a - b).abs() < 1e-6, "{rings}");
                }
            }
            if rings > 0 {
                assert!((middle[1] - 500.0).abs() < 1e-9 && (middle[6] - 500.0).abs() < 1e-9);
            }
            assert!((length(wrap.a) - 500.0 * (sites.len() as f64).sqrt()).abs() < 1e-6);
            assert!((length(wrap.b) - length(wrap.a)).abs() < 1e-6);
        }
    }

    /// Compares with every copy within five tiles.
    #[test]
    fn no_copy_is_nearer_than_the_nearest() {
        let wrap = WrapAround::hexagonal(2, 500.0);
        let mut stream = Draw::new(3, Purpose::Test, 0).stream(0);
        for _ in 0..2000 {
            let p = [stream.uniform() * 8000.0 - 4000.0, stream.uniform() * 8000.0 - 4000.0];
            let copies = (-5..=5).flat_map(|i| (-5..=5).map(move |j| (f64::from(i), f64::from(j))));
            let least = copies
                .map(|(i, j)| {
                    length([p[0] - i * wrap.a[0] - j * wrap.b[0], p[1] - i * wrap.a[1] - j * wrap.b[1]])
                })
                .fold(f64::INFINITY, f64::min);
            assert!((length(wrap.nearest(p)) - least).abs() < 1e-6);
        }
    }

    /// A sector is a third of a hexagon: the directions of its places from the site are within 60
    /// degrees of its azimuth, none is farther than a corner (isd / sqrt 3), and their mean is the
    /// rhombus's centre, half a radius out: standard error 0.6 m, bound at 5.
    #[test]
    fn sectors_fill_their_third_of_the_cell() {
        let n = 20_000;
        let (mut x, mut y) = (0.0, 0.0);
        for i in 0..n {
            let mut stream = Draw::new(5, Purpose::Test, 1).stream(i);
            let p = in_sector(30.0, 500.0, &mut stream);
            let angle = lasthop_engine::math::atan2(p[1], p[0]).to_degrees();
            assert!((-30.0 - 1e-9..=90.0 + 1e-9).contains(&angle) && length(p) < 288.676);
            (x, y) = (x + p[0] / n as f64, y + p[1] / n as f64);
        }
        let middle = 0.5 * 500.0 / 3.0f64.sqrt();
        let expected = [middle * HEIGHT, middle * HALF];
        assert!((x - expected[0]).abs() < 3.0 && (y - expected[1]).abs() < 3.0, "{x} {y}");
    }

    #[test]
    fn a_grid_is_centred_on_the_origin() {
        assert_eq!(grid(2, 1, 60.0), [[-30.0, 0.0], [30.0, 0.0]]);
        let office = grid(6, 2, 20.0);
        assert_eq!((office[0], office[11]), ([-50.0, -10.0], [50.0, 10.0]));
    }
}

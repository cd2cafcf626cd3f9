//! Statistics of the random walks against closed forms.

use lasthop_engine::math::{ln, sqrt};
use lasthop_engine::{Draw, Purpose};
use lasthop_units::{Duration, Metres, Speed};

use super::{Area, LevyWalk, Mobility, Motion, Position, RandomWaypoint, SpeedLaw};

const ORIGIN: Position = [0.0, 0.0, 1.5];
const SQUARE: Area =
    Area::Rectangle { from: [Metres(0.0), Metres(0.0)], to: [Metres(1000.0), Metres(1000.0)] };
const DISC: Area = Area::Disc { centre: [Metres(0.0), Metres(0.0)], radius: Metres(250.0) };

fn waypoint(area: Area, speed: [f64; 2], pause: [u64; 2]) -> RandomWaypoint {
    RandomWaypoint { area, speed: speed.map(Speed), pause: pause.map(Duration::from_secs) }
}

fn distance(a: Position, b: Position) -> f64 {
    sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]))
}

/// Speed over the next millisecond.
fn speed(motion: &mut Motion, t: f64) -> f64 {
    distance(motion.position(t), motion.position(t + 1e-3)) / 1e-3
}

/// (vmax - vmin) / ln(vmax / vmin): the density of speeds falls as 1/v because slow legs last
/// longer. 1.4427, 0.9102, 6.3424 and 2.1498 m/s. Means over 4000 walks at the start and after 300
/// and 3000 s: the same at all times, as the walk starts in its steady state. Standard error at
/// most (spread 5.3 m/s)/sqrt(4000) = 0.084 for U(1, 20).
#[test]
fn random_waypoint_keeps_its_stationary_speed_from_the_start_on() {
    for (slow, fast, expected, tolerance) in [
        (1.0, 2.0, std::f64::consts::LOG2_E, 0.02),
        (0.5, 1.5, 0.9102, 0.02),
        (1.0, 20.0, 6.3424, 0.3),
        (0.1, 10.0, 2.1498, 0.16),
    ] {
        let walk = waypoint(SQUARE, [slow, fast], [0, 0]);
        assert!((walk.mean_speed() - expected).abs() < 5e-5);
        for t in [0.0, 300.0, 3000.0] {
            let of = |i| speed(&mut Motion::new(Mobility::RandomWaypoint(walk), ORIGIN, 1, i), t);
            let mean = (0..4000).map(of).sum::<f64>() / 4000.0;
            assert!((mean - expected).abs() < tolerance, "U({slow}, {fast}) at {t} s: {mean}");
        }
    }
}

/// Mean leg of the unit square 0.521405, of a disc 0.905415 R: the formulas, and the mean of 20 000
/// pairs (standard error of the square's 0.248 / sqrt(20 000) = 0.0018).
#[test]
fn mean_legs_are_those_of_geometry() {
    assert!((SQUARE.mean_distance() / 1000.0 - 0.521_405).abs() < 1e-6);
    assert!((DISC.mean_distance() / 250.0 - 0.905_415).abs() < 1e-6);
    for area in [SQUARE, DISC] {
        let leg = |i| {
            let mut stream = Draw::new(1, Purpose::Test, 4).stream(i);
            let (a, b) = (area.position(&mut stream), area.position(&mut stream));
            distance([a[0], a[1], 0.0], [b[0], b[1], 0.0])
        };
        let mean = (0..20_000).map(leg).sum::<f64>() / 20_000.0;
        assert!((mean / area.mean_distance() - 1.0).abs() < 0.02, "{mean}");
    }
}

/// The share of time in pauses is E[pause] / (E[pause] + E[leg] E[1/v]): 60 s and 521.4 m / 1.4427
/// m/s = 361.4 s give 14.24 %. Over 6000 walks at three times, standard error 0.45 %.
#[test]
fn random_waypoint_stands_as_often_as_it_should() {
    let walk = waypoint(SQUARE, [1.0, 2.0], [0, 120]);
    assert!((walk.share_of_pauses() - 60.0 / (60.0 + 521.405 / std::f64::consts::LOG2_E)).abs() < 1e-4);
    for t in [0.0, 100.0, 2000.0] {
        let stands =
            |i: &u64| speed(&mut Motion::new(Mobility::RandomWaypoint(walk), ORIGIN, 2, *i), t) < 0.5;
        let share = (0..6000).filter(stands).count() as f64 / 6000.0;
        assert!((share - walk.share_of_pauses()).abs() < 0.016, "{t}: {share}");
    }
}

/// Without pauses the density in a disc is close to 1 - r^2 (times r): the mean of r^2 is then 1/3,
/// where a uniform one has 1/2. The exact density (C. Bettstetter, H. Hartenstein, X. Perez-Costa,
/// Wireless Networks 10(5), 2004) gives a little more than the approximation. The density is the
/// same at the start and an hour later.
#[test]
fn random_waypoint_fills_the_middle() {
    let walk = waypoint(DISC, [1.0, 2.0], [0, 0]);
    let mut found = Vec::new();
    for t in [0.0, 3600.0] {
        let square = |i| {
            let r = distance(Motion::new(Mobility::RandomWaypoint(walk), ORIGIN, 3, i).position(t), ORIGIN)
                / 250.0;
            assert!(r <= 1.0 + 1e-9);
            r * r
        };
        found.push((0..5000).map(square).sum::<f64>() / 5000.0);
    }
    assert!(found.iter().all(|m| (m - 1.0 / 3.0).abs() < 0.03), "{found:?}");
    assert!((found[0] - found[1]).abs() < 0.016, "{found:?}");
}

/// Time law k l^(1 - rho), by hand: 100 m take 18.72 * 100^0.21 = 49.24 s and 1 km 1.37 * 1000^0.64
/// = 113.9 s (2011); 30.55 * 100^0.11 = 50.70 s and 0.76 * 1000^0.72 = 109.9 s (2008). The branches
/// cross at (18.72/1.37)^(1/0.43) = 437 m and (30.55/0.76)^(1/0.61) = 426 m, so at 500 m, where the
/// law changes, a flight takes 5.6 % and 9.2 % less than by the other branch: 500^0.43 1.37/18.72 =
/// 1.0588 and 500^0.61 0.76/30.55 = 1.1017.
#[test]
fn the_levy_walks_times_follow_its_law() {
    for (law, l, expected) in [
        (SpeedLaw::Ton2011, 100.0, 49.24),
        (SpeedLaw::Ton2011, 1000.0, 113.9),
        (SpeedLaw::Infocom2008, 100.0, 50.70),
        (SpeedLaw::Infocom2008, 1000.0, 109.9),
    ] {
        assert!((law.time(l) / expected - 1.0).abs() < 2e-3, "{law:?} {l}: {}", law.time(l));
    }
    for (law, jump) in [(SpeedLaw::Ton2011, 1.0588), (SpeedLaw::Infocom2008, 1.1017)] {
        assert!((law.time(500.0) / law.time(500.0 - 1e-6) - jump).abs() < 1e-3, "{law:?}");
    }
}

/// Hill's estimator of the tail index over the upper half of 40 000 flights, far from the
/// truncation: alpha +- 0.1 (its standard error is alpha / sqrt(20 000) = 0.011), and the same for
/// the pauses. No value is outside the bounds.
#[test]
fn the_levy_walks_tails_have_their_index() {
    let walk = LevyWalk {
        flight: [Metres(10.0), Metres(1e7)],
        pause: [Duration::from_secs(1), Duration::from_secs(1_000_000_000)],
        ..LevyWalk::default()
    };
    let hill = |mut x: Vec<f64>| {
        x.sort_by(f64::total_cmp);
        let tail = &x[x.len() / 2..];
        tail.len() as f64 / tail.iter().map(|v| ln(v / tail[0])).sum::<f64>()
    };
    let streams = || (0..40_000).map(|i| Draw::new(9, Purpose::Test, 5).stream(i));
    let flights: Vec<f64> = streams().map(|mut s| walk.length(&mut s)).collect();
    let pauses: Vec<f64> = streams().map(|mut s| walk.rest(&mut s)).collect();
    assert!(flights.iter().all(|l| (10.0..=1e7).contains(l)) && pauses.iter().all(|t| *t >= 1.0));
    let (alpha, beta) = (hill(flights), hill(pauses));
    assert!((alpha - 1.6).abs() < 0.1 && (beta - 0.8).abs() < 0.1, "{alpha} {beta}");
    // Truncated at 100 times the shortest: F(l) = (1 - (10/l)^1.6) / (1 - 0.01^1.6), the median at
    // 15.42 m.
    let short = LevyWalk::default();
    let mut lengths: Vec<f64> = streams().map(|mut s| short.length(&mut s)).collect();
    lengths.sort_by(f64::total_cmp);
    assert!((lengths[20_000] - 15.42).abs() < 0.2 && lengths[39_999] <= 1000.0, "{}", lengths[20_000]);
}

/// Mean square displacement grows faster than time and slower than its square (1 < gamma < 2) over
/// the first ten minutes, and is bounded in a bounded area: at most that of uniform places, E r^2 =
/// R^2/2 from the middle of a disc.
#[test]
fn a_levy_walk_is_superdiffusive_and_then_bounded() {
    let msd = |area: Option<Area>, t: f64| {
        let walk = LevyWalk { area, flight: [Metres(10.0), Metres(5000.0)], ..LevyWalk::default() };
        let square = |i| {
            let mut motion = Motion::new(Mobility::LevyWalk(walk), ORIGIN, 5, i);
            let d = distance(motion.position(t), ORIGIN);
            assert!(area.is_none() || d <= 250.0 + 1e-6, "{d}");
            d * d
        };
        (0..4000).map(square).sum::<f64>() / 4000.0
    };
    let gamma = ln(msd(None, 600.0) / msd(None, 60.0)) / ln(10.0);
    assert!(gamma > 1.05 && gamma < 2.0, "{gamma}");
    let (hour, ten) = (msd(Some(DISC), 3600.0), msd(Some(DISC), 36_000.0));
    assert!(hour < 250.0 * 250.0 / 2.0 * 1.05 && ten < 250.0 * 250.0 / 2.0 * 1.05, "{hour} {ten}");
    assert!(ten > hour, "{hour} {ten}");
}

/// A reflected flight keeps its speed: its path has the length of the k law, whatever the border.
/// One flight of a walk in a small disc, followed in steps of 10 ms.
#[test]
fn reflection_keeps_the_speed() {
    for area in [DISC, SQUARE] {
        let walk =
            LevyWalk { area: Some(area), flight: [Metres(900.0), Metres(901.0)], ..LevyWalk::default() };
        let start = [100.0, 100.0, 1.5];
        for i in 0..20 {
            let mut motion = Motion::new(Mobility::LevyWalk(walk), start, 6, i);
            let time = walk.speed.time(900.5);
            let steps = 2000;
            let at = |m: &mut Motion, s: i32| m.position(time * 0.999 * f64::from(s) / f64::from(steps));
            let way: f64 = (0..steps).map(|s| distance(at(&mut motion, s), at(&mut motion, s + 1))).sum();
            // Chords shorten the path at reflections: the sum is a little less than the whole.
            assert!(way < 900.6 && way > 890.0, "{way}");
        }
    }
}

/// Positions do not depend on earlier evaluations, and other terminals have other positions.
#[test]
fn a_walk_is_a_function_of_time() {
    for mobility in [
        Mobility::RandomWaypoint(waypoint(SQUARE, [1.0, 20.0], [0, 30])),
        Mobility::LevyWalk(LevyWalk { area: Some(DISC), ..LevyWalk::default() }),
    ] {
        let mut forth = Motion::new(mobility, ORIGIN, 7, 3);
        let mut back = Motion::new(mobility, ORIGIN, 7, 3);
        let times: Vec<f64> = (0..500).map(|i| f64::from(i) * 7.3).collect();
        let a: Vec<Position> = times.iter().map(|t| forth.position(*t)).collect();
        let mut b: Vec<Position> = times.iter().rev().map(|t| back.position(*t)).collect();
        b.reverse();
        assert_eq!(a, b);
        assert!(a.windows(2).all(|w| distance(w[0], w[1]) <= 20.0 * 7.3 + 1e-9));
        assert_ne!(Motion::new(mobility, ORIGIN, 7, 4).position(100.0), forth.position(100.0));
    }
}

/// Compares mean length over mean time with 200 000 draws.
#[test]
fn the_mean_speed_of_a_levy_walk_is_length_over_time() {
    let walk = LevyWalk::default();
    let (mut way, mut time) = (0.0, 0.0);
    for i in 0..200_000 {
        let l = walk.length(&mut Draw::new(4, Purpose::Test, 6).stream(i));
        (way, time) = (way + l, time + walk.speed.time(l));
    }
    assert!((way / time / walk.mean_speed() - 1.0).abs() < 0.02, "{} {}", way / time, walk.mean_speed());
}

//! The models of TR 36.873 (LTE in three dimensions) and TR 38.901 (0.5 to 100 GHz): users on
//! floors of buildings.
//!
//! Distances are three-dimensional, those of the probability of line of sight horizontal and
//! outdoors. TR 36.873 v12.7.0 tables 7.2-1 and 7.2-2, TR 38.901 v16.1.0 tables 7.4.1-1 and
//! 7.4.2-1.

use lasthop_engine::math::{exp, floor, log10, pow};

use super::{Ends, Surroundings, square};

/// The distance at which the loss of a street changes from d^2 to d^4; the effective height of the
/// ground is `ground` [m]; c = 3e8 m/s as the reports have it.
fn break_point(f: f64, e: &Ends, ground: f64) -> f64 {
    4.0 * (e.bs_height - ground) * (e.ut_height - ground) * f / 3e8
}

/// Line of sight over a street: `near` = (constant, slope) and `far` = (slope, slope of the break
/// point).
fn street(f: f64, e: &Ends, ground: f64, near: (f64, f64), far: (f64, f64)) -> f64 {
    let d = e.distance_3d().max(1.0);
    let carrier = near.0 + 20.0 * log10(f / 1e9);
    let bp = break_point(f, e, ground);
    if e.distance < bp {
        return carrier + near.1 * log10(d);
    }
    carrier + far.0 * log10(d) - far.1 * log10(bp * bp + square(e.bs_height - e.ut_height))
}

/// Factor by which line of sight to the macro cell is more probable on a high floor (TR 36.873
/// table 7.2-2, note), at `d` [m] outdoors.
fn above_clutter(d: f64, height: f64) -> f64 {
    if height <= 13.0 || d <= 18.0 {
        return 0.0;
    }
    let c = pow((height.min(23.0) - 13.0) / 10.0, 1.5);
    c * 1.25e-6 * d * d * d * exp(-d / 150.0)
}

/// Effective height of the ground under a macro cell [m]: 1 m with probability 1 / (1 + C), else
/// one of 12, 15, ..., h - 1.5 (TR 36.873 table 7.2-1, note 1), by the draw of the link.
fn macro_ground(e: &Ends) -> f64 {
    let low = 1.0 / (1.0 + above_clutter(e.outdoors(), e.ut_height));
    let most = e.ut_height - 1.5;
    if e.draw < low || most < 12.0 {
        return 1.0;
    }
    let choices = floor((most - 12.0) / 3.0) + 1.0;
    let pick = floor((e.draw - low) / (1.0 - low) * choices).min(choices - 1.0);
    12.0 + 3.0 * pick
}

/// Urban macro with line of sight, the same in both reports.
pub(super) fn macro_in_sight(f: f64, e: &Ends) -> f64 {
    street(f, e, macro_ground(e), (28.0, 22.0), (40.0, 9.0))
}

/// Urban macro of TR 36.873.
pub(super) fn uma_3d(f: f64, e: &Ends, s: &Surroundings, sight: bool) -> f64 {
    let los = macro_in_sight(f, e);
    if sight {
        return los;
    }
    let (w, h) = (s.street_width.map_or(20.0, |w| w.0), s.building_height.map_or(20.0, |h| h.0));
    let d = e.distance_3d();
    let over = 161.04 - 7.1 * log10(w) + 7.5 * log10(h)
        - (24.37 - 3.7 * square(h / e.bs_height)) * log10(e.bs_height)
        + (43.42 - 3.1 * log10(e.bs_height)) * (log10(d) - 3.0)
        + 20.0 * log10(f / 1e9)
        - (3.2 * square(log10(17.625)) - 4.97)
        - 0.6 * (e.ut_height - 1.5);
    los.max(over)
}

/// Urban micro of TR 36.873.
pub(super) fn umi_3d(f: f64, e: &Ends, sight: bool) -> f64 {
    let los = street(f, e, 1.0, (28.0, 22.0), (40.0, 9.0));
    if sight {
        return los;
    }
    let around = 36.7 * log10(e.distance_3d()) + 22.7 + 26.0 * log10(f / 1e9) - 0.3 * (e.ut_height - 1.5);
    los.max(around)
}

/// Urban macro of TR 38.901.
pub(super) fn nr_uma(f: f64, e: &Ends, sight: bool) -> f64 {
    let los = macro_in_sight(f, e);
    if sight {
        return los;
    }
    los.max(13.54 + 39.08 * log10(e.distance_3d()) + 20.0 * log10(f / 1e9) - 0.6 * (e.ut_height - 1.5))
}

/// Urban micro (street canyon) of TR 38.901.
pub(super) fn nr_umi(f: f64, e: &Ends, sight: bool) -> f64 {
    let los = street(f, e, 1.0, (32.4, 21.0), (40.0, 9.5));
    if sight {
        return los;
    }
    los.max(22.4 + 35.3 * log10(e.distance_3d()) + 21.3 * log10(f / 1e9) - 0.3 * (e.ut_height - 1.5))
}

/// Rural macro of TR 38.901.
pub(super) fn nr_rma(f: f64, e: &Ends, s: &Surroundings, sight: bool) -> f64 {
    let (w, h) = (s.street_width.map_or(20.0, |w| w.0), s.building_height.map_or(5.0, |h| h.0));
    let (d, ghz, high) = (e.distance_3d(), f / 1e9, pow(h, 1.72));
    let near = |d: f64| {
        20.0 * log10(40.0 * std::f64::consts::PI * d * ghz / 3.0) + (0.03 * high).min(10.0) * log10(d)
            - (0.044 * high).min(14.77)
            + 0.002 * log10(h) * d
    };
    let bp = super::rural_break_point(f, e);
    let los = if e.distance < bp { near(d) } else { near(bp) + 40.0 * log10(d / bp) };
    if sight {
        return los;
    }
    let over = 161.04 - 7.1 * log10(w) + 7.5 * log10(h)
        - (24.37 - 3.7 * square(h / e.bs_height)) * log10(e.bs_height)
        + (43.42 - 3.1 * log10(e.bs_height)) * (log10(d) - 3.0)
        + 20.0 * log10(ghz)
        - (3.2 * square(log10(11.75 * e.ut_height)) - 4.97);
    los.max(over)
}

/// Indoor office of TR 38.901.
pub(super) fn nr_inh(f: f64, e: &Ends, sight: bool) -> f64 {
    let d = e.distance_3d().max(1.0);
    let los = 32.4 + 17.3 * log10(d) + 20.0 * log10(f / 1e9);
    if sight { los } else { los.max(38.3 * log10(d) + 17.3 + 24.9 * log10(f / 1e9)) }
}

/// Probability of line of sight under a macro cell at `d` [m] outdoors, for a terminal at `height`
/// [m].
pub(super) fn macro_probability(d: f64, height: f64) -> f64 {
    if d <= 18.0 {
        return 1.0;
    }
    let ground = 18.0 / d + exp(-d / 63.0) * (1.0 - 18.0 / d);
    (ground * (1.0 + above_clutter(d, height))).min(1.0)
}

/// Probability of line of sight in an open office (TR 38.901 table 7.4.2-1).
pub(super) fn office_probability(d: f64) -> f64 {
    match d {
        d if d <= 5.0 => 1.0,
        d if d <= 49.0 => exp(-(d - 5.0) / 70.8),
        d => 0.54 * exp(-(d - 49.0) / 211.7),
    }
}

#[cfg(test)]
mod tests {
    use super::super::PathLoss;
    use super::*;
    use lasthop_units::Hertz;

    /// Received power at 0 dBm, 5 GHz, terminal at 1.5 m: rows of ns-3's tests of the same report,
    /// to 1e-3 dB. By hand, UMa at 10 m with line of sight: d = sqrt(10^2 + 23.5^2) = 25.54 m,
    /// 28 + 22 log10 25.54 + 20 log10 5 = 72.94.
    #[test]
    #[allow(clippy::too_many_lines)] // a row for each published point
    fn tr_38_901_gives_its_published_points() {
        let at = |model: PathLoss, h: f64, d: f64, sight: bool| {
            -model.loss(Hertz(5e9), &Ends::new(d, h, 1.5), sight).0
        };
        let s = Surroundings::default();
        let rows = [
            (
                PathLoss::NrUma(s),
                25.0,
                true,
                vec![(10.0, -72.9380), (100.0, -86.2362), (1e3, -109.7252), (5e3, -137.6794)],
            ),
            (
                PathLoss::NrUma(s),
                25.0,
                false,
                vec![(10.0, -82.5131), (100.0, -106.1356), (1e3, -144.7641), (5e3, -172.0753)],
            ),
            (
                PathLoss::NrUmi(s),
                10.0,
                true,
                vec![(10.0, -69.8591), (100.0, -88.4122), (1e3, -119.3114), (5e3, -147.2696)],
            ),
            (
                PathLoss::NrUmi(s),
                10.0,
                false,
                vec![(10.0, -76.7563), (100.0, -107.9432), (1e3, -143.1886), (5e3, -167.8617)],
            ),
            (
                PathLoss::NrRma(s),
                35.0,
                true,
                vec![(10.0, -77.3784), (100.0, -87.2965), (1e3, -108.5577), (10e3, -140.3896)],
            ),
            (
                PathLoss::NrRma(s),
                35.0,
                false,
                vec![(10.0, -77.3784), (100.0, -95.7718), (1e3, -133.5223), (5e3, -160.5169)],
            ),
            (
                PathLoss::NrInh(s),
                3.0,
                true,
                vec![(1.0, -50.8072), (10.0, -63.7630), (50.0, -75.7750), (100.0, -80.9802)],
            ),
            (
                PathLoss::NrInh(s),
                3.0,
                false,
                vec![(1.0, -50.8072), (10.0, -73.1894), (50.0, -99.7824), (100.0, -111.3062)],
            ),
            (PathLoss::V2vUrban(s), 1.5, true, vec![(10.0, -68.1913), (100.0, -84.8913), (1e3, -101.5913)]),
            (PathLoss::V2vUrban(s), 1.5, false, vec![(10.0, -80.0605), (100.0, -110.0605), (1e3, -140.0605)]),
            (PathLoss::V2vHighway, 1.5, true, vec![(10.0, -66.3794), (100.0, -86.3794), (1e3, -106.3794)]),
        ];
        for (model, h, sight, points) in rows {
            for (d, expected) in points {
                let found = at(model, h, d, sight);
                assert!((found - expected).abs() < 1e-3, "{model:?} {sight} {d}: {found} and {expected}");
            }
        }
    }

    /// At street level the three-dimensional models are those of TR 36.814 at the three-dimensional
    /// distance: for a terminal at 1.5 m the only other change is that the constant 7.8 - 18
    /// log10(..) became 28 - 9 log10(..) beyond the break point.
    #[test]
    fn tr_36_873_agrees_with_tr_36_814_at_street_level() {
        let s = Surroundings::default();
        for d in [50.0, 100.0, 300.0] {
            let e = Ends::new(d, 25.0, 1.5);
            let through = Ends { distance: e.distance_3d(), ..e };
            for sight in [true, false] {
                let (a, b) = (
                    PathLoss::Uma3d(s).loss(Hertz(2e9), &e, sight).0,
                    PathLoss::Uma(s).loss(Hertz(2e9), &through, sight).0,
                );
                assert!((a - b).abs() < 0.01, "{d} {sight}: {a} {b}");
            }
            let e = Ends::new(d, 10.0, 1.5);
            let through = Ends { distance: e.distance_3d(), ..e };
            let (a, b) = (
                PathLoss::Umi3d(s).loss(Hertz(2e9), &e, false).0,
                PathLoss::Umi(s).loss(Hertz(2e9), &through, false).0,
            );
            assert!((a - b).abs() < 0.01, "{d}: {a} {b}");
        }
    }

    /// Heights of the ground under a macro cell for a terminal at 22.5 m (the eighth floor), 200 m
    /// away: C = (9.5/10)^1.5 1.25e-6 200^3 e^(-4/3) = 2.4408, so 1 m in 29.1 % of links and
    /// 12, 15, 18 and 21 m in a quarter of the rest each.
    #[test]
    fn the_ground_height_of_a_macro_cell_is_drawn_by_link() {
        let n = 10_000;
        let ground = |i: u32| {
            macro_ground(&Ends { draw: f64::from(i) / f64::from(n), ..Ends::new(200.0, 25.0, 22.5) })
        };
        let share = |h: f64| (0..n).filter(|i| ground(*i) == h).count() as f64 / f64::from(n);
        let c = 0.95f64 * 0.95f64.sqrt() * 1.25e-6 * 8e6 * exp(-4.0 / 3.0);
        assert!((share(1.0) - 1.0 / (1.0 + c)).abs() < 1e-3, "{} {c}", share(1.0));
        for h in [12.0, 15.0, 18.0, 21.0] {
            assert!((share(h) - c / (1.0 + c) / 4.0).abs() < 1e-3, "{h}: {}", share(h));
        }
        assert_eq!(macro_ground(&Ends { draw: 0.999, ..Ends::new(200.0, 25.0, 1.5) }), 1.0);
    }
}

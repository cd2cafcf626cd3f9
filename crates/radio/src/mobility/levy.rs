//! Levy walks of people (I. Rhee, M. Shin, S. Hong, K. Lee, S. J. Kim, S. Chong, "On the Levy-walk
//! nature of human mobility", INFOCOM 2008 and IEEE/ACM Transactions on Networking 19(3), 2011):
//! flights whose lengths, and pauses whose times, have truncated power laws, in uniform directions;
//! the speed grows with the length of the flight.

use lasthop_engine::{Stream, math};
use lasthop_units::{Duration, Metres};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Area;

/// A Levy walk.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LevyWalk {
    /// Exponent of flights: p(l) ~ l^-(1 + alpha). Measured: 0.53 to 1.81.
    pub alpha: f64,
    /// Exponent of pauses: p(t) ~ t^-(1 + beta). Measured: 0.45 to 1.68.
    pub beta: f64,
    /// Shortest and longest flight.
    pub flight: [Metres; 2],
    /// Shortest and longest pause.
    pub pause: [Duration; 2],
    /// How long a flight takes.
    pub speed: SpeedLaw,
    /// Area that the terminal does not leave: its way is reflected at the border. Unset: no border.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub area: Option<Area>,
}

impl Default for LevyWalk {
    fn default() -> Self {
        LevyWalk {
            alpha: 1.6,
            beta: 0.8,
            flight: [Metres(10.0), Metres(1000.0)],
            pause: [Duration::from_secs(1), Duration::from_secs(3600)],
            speed: SpeedLaw::Ton2011,
            area: None,
        }
    }
}

/// The time that a flight of length l takes: k l^(1 - rho), with other constants for long flights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SpeedLaw {
    /// k = 18.72, rho = 0.79 below 500 m; k = 1.37, rho = 0.36 from there on.
    #[default]
    #[serde(rename = "ton-2011")]
    Ton2011,
    /// k = 30.55, rho = 0.89 below 500 m; k = 0.76, rho = 0.28 from there on.
    #[serde(rename = "infocom-2008")]
    Infocom2008,
}

/// Reflections of a flight.
const MOST_REFLECTIONS: f64 = 1e4;
/// Where the constants change [m].
const LONG: f64 = 500.0;

impl SpeedLaw {
    /// Constants (k, rho) of short and long flights.
    const fn constants(self) -> [(f64, f64); 2] {
        match self {
            SpeedLaw::Ton2011 => [(18.72, 0.79), (1.37, 0.36)],
            SpeedLaw::Infocom2008 => [(30.55, 0.89), (0.76, 0.28)],
        }
    }

    /// Time of a flight of `length` [m], in seconds.
    pub fn time(self, length: f64) -> f64 {
        let (k, rho) = self.constants()[usize::from(length >= LONG)];
        k * math::pow(length, 1.0 - rho)
    }
}

impl LevyWalk {
    /// Refuses invalid values: the key, and its valid values.
    pub fn validate(&self) -> Result<(), (&'static str, &'static str)> {
        let exponent = |x: f64| x > 0.0 && x <= 10.0;
        let [least, most] = self.flight.map(|m| m.0);
        if !exponent(self.alpha) {
            return Err(("alpha", "above 0 and at most 10"));
        }
        if !exponent(self.beta) {
            return Err(("beta", "above 0 and at most 10"));
        }
        if !(least > 0.0 && most > least && most <= 1e7) {
            return Err(("flight", "0 m < shortest < longest <= 10 000 km"));
        }
        // A flight is reflected at each border.
        if self.area.is_some_and(|area| most > MOST_REFLECTIONS * area.width()) {
            return Err(("flight", "at most 10 000 times the width of `area`"));
        }
        if self.pause[0].is_zero() || self.pause[1] <= self.pause[0] {
            return Err(("pause", "0 s < shortest < longest"));
        }
        self.area.map_or(Ok(()), |area| area.validate()).map_err(|message| ("area", message))
    }

    /// Draws the length of a flight [m].
    pub fn length(&self, stream: &mut Stream) -> f64 {
        truncated(self.alpha, self.flight[0].0, self.flight[1].0, stream.uniform())
    }

    /// Draws the length of a pause [s].
    pub fn rest(&self, stream: &mut Stream) -> f64 {
        truncated(self.beta, self.pause[0].as_secs_f64(), self.pause[1].as_secs_f64(), stream.uniform())
    }

    /// Mean speed in flight [m/s]: mean length over mean time.
    pub fn mean_speed(&self) -> f64 {
        let [a, b] = self.flight.map(|m| m.0);
        let cut = LONG.clamp(a, b);
        let [(k, rho), (long_k, long_rho)] = self.speed.constants();
        let time = k * self.moment(1.0 - rho, a, cut) + long_k * self.moment(1.0 - long_rho, cut, b);
        self.moment(1.0, a, b) / time
    }

    /// Integral of l^n l^-(1 + alpha) from `a` to `b`.
    fn moment(&self, n: f64, a: f64, b: f64) -> f64 {
        let e = n - self.alpha;
        if e.abs() < 1e-9 { math::ln(b / a) } else { (math::pow(b, e) - math::pow(a, e)) / e }
    }
}

/// Quantile `u` of the density x^-(1 + exponent) between `a` and `b`: F(x) = (1 - (a/x)^e) / (1 -
/// (a/b)^e).
fn truncated(exponent: f64, a: f64, b: f64, u: f64) -> f64 {
    let whole = 1.0 - math::pow(a / b, exponent);
    (a * math::pow(1.0 - u * whole, -1.0 / exponent)).min(b)
}

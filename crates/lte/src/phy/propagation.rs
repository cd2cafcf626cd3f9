//! Positions of cells and UEs, and the gains between them.

use std::f64::consts::SQRT_2;
use std::sync::Arc;

use lasthop_engine::math::erfc;
use lasthop_engine::{Draw, Purpose};
use lasthop_radio::bounds::{ANTENNA_GAIN, Bounds, HEIGHT, LOSS, NOISE_FIGURE, POWER, SHADOWING, SINR};
use lasthop_radio::layout::WrapAround;
use lasthop_radio::mimo::Combining;
use lasthop_radio::{
    Antenna, Ends, FadingProfile, Field, Indoor, Mobility, Motion, PathLoss, Position, Seen, Shadowing, Track,
};
use lasthop_units::{CellId, Db, Dbm, Duration, Hertz, Id, IndexVec, Metres, Speed, Tti, UeId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use lasthop_bearer::{ConfigError, Direction, Warning, check, warn};

/// Allowed numbers of antennas.
const ANTENNAS: &str = "1, 2 or 4 antennas";
/// Distinguishes the keys of the fields of line of sight from those of shadowing.
const SIGHT: u64 = 1 << 32;

/// Radio parameters of all links.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RadioConfig {
    /// Carrier frequency of the downlink.
    pub downlink: Hertz,
    /// Carrier frequency of the uplink.
    pub uplink: Hertz,
    /// Path loss model between cells and UEs.
    pub path_loss: PathLoss,
    /// Standard deviation of shadowing, 0 dB to 50 dB. Unset: that of the path loss model, 0 dB
    /// where the model has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadowing: Option<Db>,
    /// Correlation distance of shadowing. Unset: that of the path loss model, 50 m where the model
    /// has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadowing_distance: Option<Metres>,
    /// Correlation of the shadowing of two sites at one place, 0 to 1 (TR 36.814 table A.2.1.1-2:
    /// 0.5).
    pub shadowing_between_sites: f64,
    /// Correlation distance of line of sight: UEs near each other are in sight of the same sites,
    /// and a moving UE enters and leaves it (TR 38.901 table 7.6.3.1-2: 50 m in urban, 60 m in
    /// rural areas, 10 m in offices). Unset: one draw a link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_of_sight_distance: Option<Metres>,
    /// Path loss model between two UEs. Unset: free space, since UEs with a sidelink are near each
    /// other and in sight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sidelink_path_loss: Option<PathLoss>,
    /// Standard deviation of the shadowing between two UEs, 0 dB to 50 dB, one constant draw for
    /// each pair (TR 36.843 clause A.2.1.2: 7 dB, independent from link to link). Unset: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sidelink_shadowing: Option<Db>,
    /// Fast fading of every link between two UEs, on the uplink's carrier. Both ends may move: the
    /// Doppler frequency is the square root of the sum of squares of the two.
    #[serde(skip_serializing_if = "no_fading")]
    pub sidelink_fading: FadingProfile,
    /// Fast fading of every link between a UE and an eNB.
    pub fading: FadingProfile,
    /// Interfering links of each UE that fade; the rest have their large-scale gain.
    pub faded_interferers: FadedInterferers,
    /// Correlation of the fading of the outermost antennas of a cell, 0 to 1; its logarithm is
    /// proportional to the square of the distance (alpha of TS 36.101 annex B.2.3: 0, 0.3 or 0.9
    /// for low, medium and high correlation).
    pub cell_correlation: f64,
    /// Correlation of the outermost antennas of a UE, likewise (beta: 0, 0.9 or 0.9).
    pub ue_correlation: f64,
    /// Least loss of a link between a cell and a UE between the antenna connectors, antenna gains
    /// included, 0 dB to 200 dB (TR 36.942 clause 4.5.1: 70 dB in urban, 80 dB in rural areas).
    /// Unset: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum_coupling_loss: Option<Db>,
    /// TTIs after which path loss and shadowing of moving UEs are computed again, at least 1.
    pub refresh: u64,
}

impl Default for RadioConfig {
    fn default() -> Self {
        // EARFCN 100 and 18100 (TS 36.101 clause 5.7.3).
        RadioConfig {
            downlink: Hertz(2120e6),
            uplink: Hertz(1930e6),
            path_loss: PathLoss::Friis,
            shadowing: None,
            shadowing_distance: None,
            shadowing_between_sites: 0.5,
            line_of_sight_distance: None,
            sidelink_path_loss: None,
            sidelink_shadowing: None,
            sidelink_fading: FadingProfile::None,
            fading: FadingProfile::None,
            faded_interferers: FadedInterferers::default(),
            cell_correlation: 0.0,
            ue_correlation: 0.0,
            minimum_coupling_loss: None,
            refresh: 10,
        }
    }
}

fn no_fading(profile: &FadingProfile) -> bool {
    *profile == FadingProfile::None
}

/// Number of a UE's interfering links that fade: a number, of the strongest ones, or all. The link
/// to the serving cell always fades.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum FadedInterferers {
    /// This number of the strongest links.
    Strongest(u32),
    /// All links.
    All(AllOfThem),
}

/// The word "all".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AllOfThem {
    /// All links.
    All,
}

impl Default for FadedInterferers {
    fn default() -> Self {
        FadedInterferers::Strongest(3)
    }
}

impl FadedInterferers {
    /// The number of links; for all, one that is never reached.
    pub const fn count(self) -> usize {
        match self {
            FadedInterferers::Strongest(n) => n as usize,
            FadedInterferers::All(_) => usize::MAX >> 1,
        }
    }
}

/// Radio parameters of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CellRadioConfig {
    /// x, y and height; a height of 0 m to 100 km.
    pub position: [Metres; 3],
    /// Power over the whole carrier, -100 dBm to 90 dBm.
    pub power: Dbm,
    /// Noise figure of the receiver, 0 dB to 50 dB.
    pub noise_figure: Db,
    /// Antenna, both ways.
    pub antenna: Antenna,
    /// Number of antennas that transmit the downlink and share its power: 1, 2 or 4 (antenna ports
    /// of cell-specific reference signals). Unset: 1 in transmission mode 1 and with
    /// `mimo.model = "gains"`, otherwise 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transmit_antennas: Option<u32>,
    /// Number of antennas that receive the uplink: 1, 2 or 4. Each has independent fading.
    pub receive_antennas: u32,
    /// Combining of the receive antennas.
    pub combining: Combining,
    /// Loss between antenna and equipment, both ways, 0 dB to 200 dB.
    pub cable_loss: Db,
    /// Cells of one site share their shadowing. Unset: a site of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<u32>,
}

impl Default for CellRadioConfig {
    fn default() -> Self {
        // TR 36.942 clause 4.5 and table 4.8: macro eNB, 46 dBm, noise figure 5 dB.
        CellRadioConfig {
            position: [Metres(0.0), Metres(0.0), Metres(30.0)],
            power: Dbm(46.0),
            noise_figure: Db(5.0),
            antenna: Antenna::default(),
            transmit_antennas: None,
            receive_antennas: 1,
            combining: Combining::Mrc,
            cable_loss: Db(0.0),
            site: None,
        }
    }
}

/// Radio parameters of a UE.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UeRadioConfig {
    /// x, y and height; a height of 0 m to 100 km.
    pub position: [Metres; 3],
    /// Largest power, -100 dBm to 90 dBm.
    pub power: Dbm,
    /// Noise figure of the receiver, 0 dB to 50 dB.
    pub noise_figure: Db,
    /// Antenna gain, both ways, -50 dB to 60 dB.
    pub gain: Db,
    /// Number of antennas that receive the downlink: 1, 2 or 4. Each has independent fading; a UE
    /// transmits from one. Unset: 2 where a cell of the network has several transmit antennas (TS
    /// 36.101 clause 7.2 has every UE with two), otherwise 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_antennas: Option<u32>,
    /// Combining of the receive antennas.
    pub combining: Combining,
    /// Loss by walls, both ways, 0 dB to 200 dB: 0 dB outdoors (TR 36.814 table A.2.1.1-2: 20 dB
    /// indoors).
    pub penetration_loss: Db,
    /// The UE is in a building. Unset: outdoors. (`penetration_loss` is a plain number of decibels
    /// instead.)
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indoor: Option<Indoor>,
    /// Movement from the position.
    pub mobility: Mobility,
    /// Speed for fading, where it differs from that of the movement because objects around the UE
    /// move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed: Option<Speed>,
    /// P_A: power of its data in the downlink relative to an equal share of the cell's power (TS
    /// 36.213 clause 5.2: -6, -4.77, -3, -1.77, 0, 1, 2 or 3 dB), -20 dB to 10 dB.
    pub p_a: Db,
    /// The SINR of every resource block in both directions, instead of the computed one, -100 dB to
    /// 100 dB.
    pub pinned_sinr: Option<Db>,
}

impl Default for UeRadioConfig {
    fn default() -> Self {
        // TR 36.942 clause 4.5 and table 4.8: 23 dBm (TS 36.101 clause 6.2.2, class 3), noise
        // figure 9 dB, height 1.5 m.
        UeRadioConfig {
            position: [Metres(100.0), Metres(0.0), Metres(1.5)],
            power: Dbm(23.0),
            noise_figure: Db(9.0),
            gain: Db(0.0),
            receive_antennas: None,
            combining: Combining::Mrc,
            penetration_loss: Db(0.0),
            indoor: None,
            mobility: Mobility::Static,
            speed: None,
            p_a: Db(0.0),
            pinned_sinr: None,
        }
    }
}

/// Refuses a value that is not physical.
fn within_bounds(bounds: Bounds, key: &str, x: f64) -> Result<(), ConfigError> {
    check(bounds.hold(x), key, bounds.text)
}

/// Largest number of a site: sites are counted from 0, and a list has a place for each up to the
/// last.
const LAST_SITE: u32 = 65_535;

impl RadioConfig {
    /// Refuses invalid values; warns of a path loss model outside its frequency range.
    pub fn validate(&self) -> Result<Vec<Warning>, ConfigError> {
        let mut warnings = Vec::new();
        for (key, f) in [("downlink", self.downlink), ("uplink", self.uplink)] {
            check(f.0 >= 1e8 && f.0 <= 1e11, key, "a carrier between 100 MHz and 100 GHz")?;
            let (low, high) = self.path_loss.range().frequency;
            let outside = f.0 < low * 0.999 || f.0 > high * 1.1;
            warn(outside, key, "the path loss model was derived for other frequencies", &mut warnings);
        }
        check(
            (0.0..=1.0).contains(&self.shadowing_between_sites),
            "shadowing_between_sites",
            "a correlation of 0 to 1",
        )?;
        for (key, deviation) in
            [("shadowing", self.shadowing), ("sidelink_shadowing", self.sidelink_shadowing)]
        {
            within_bounds(SHADOWING, key, deviation.map_or(0.0, |s| s.0))?;
        }
        check(self.shadowing_distance.is_none_or(|d| d.0 > 0.0), "shadowing_distance", "above 0 m")?;
        check(self.line_of_sight_distance.is_none_or(|d| d.0 > 0.0), "line_of_sight_distance", "above 0 m")?;
        within_bounds(LOSS, "minimum_coupling_loss", self.minimum_coupling_loss.map_or(0.0, |l| l.0))?;
        for (key, c) in [("cell_correlation", self.cell_correlation), ("ue_correlation", self.ue_correlation)]
        {
            check((0.0..=1.0).contains(&c), key, "a correlation of 0 to 1")?;
        }
        for (key, model) in
            [("path_loss", Some(self.path_loss)), ("sidelink_path_loss", self.sidelink_path_loss)]
        {
            let wrong = |(parameter, message): (&str, &str)| ConfigError {
                key: format!("{key}.{parameter}"),
                message: message.to_owned(),
            };
            model.map_or(Ok(()), |model| model.validate()).map_err(wrong)?;
        }
        check(self.refresh >= 1, "refresh", "at least 1 TTI")?;
        for (key, profile) in [("fading", self.fading), ("sidelink_fading", self.sidelink_fading)] {
            let wrong = |message: &str| ConfigError { key: key.to_owned(), message: message.to_owned() };
            profile.validate().map_err(wrong)?;
        }
        Ok(warnings)
    }
}

impl CellRadioConfig {
    /// Refuses invalid values.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let wrong = |(key, message): (&str, &str)| ConfigError {
            key: format!("antenna.{key}"),
            message: message.to_owned(),
        };
        check([1, 2, 4].contains(&self.receive_antennas), "receive_antennas", ANTENNAS)?;
        check(self.transmit_antennas.is_none_or(|n| [1, 2, 4].contains(&n)), "transmit_antennas", ANTENNAS)?;
        self.antenna.validate().map_err(wrong)?;
        within_bounds(HEIGHT, "position", self.position[2].0)?;
        within_bounds(POWER, "power", self.power.0)?;
        within_bounds(NOISE_FIGURE, "noise_figure", self.noise_figure.0)?;
        within_bounds(LOSS, "cable_loss", self.cable_loss.0)?;
        check(
            self.site.is_none_or(|site| site <= LAST_SITE),
            "site",
            "a number up to 65535: cells of one site have the same",
        )
    }
}

impl UeRadioConfig {
    /// Refuses invalid values.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let wrong = |(key, message): (&str, &str)| ConfigError {
            key: format!("mobility.{key}"),
            message: message.to_owned(),
        };
        check(self.receive_antennas.is_none_or(|n| [1, 2, 4].contains(&n)), "receive_antennas", ANTENNAS)?;
        check(
            self.indoor.is_none_or(|i| i.depth.0 >= 0.0 && i.deviation.abs() <= 10.0),
            "indoor",
            "a depth of 0 m or more, and a deviation of -10 to 10",
        )?;
        within_bounds(HEIGHT, "position", self.position[2].0)?;
        within_bounds(POWER, "power", self.power.0)?;
        within_bounds(NOISE_FIGURE, "noise_figure", self.noise_figure.0)?;
        within_bounds(ANTENNA_GAIN, "gain", self.gain.0)?;
        within_bounds(LOSS, "penetration_loss", self.penetration_loss.0)?;
        check((-20.0..=10.0).contains(&self.p_a.0), "p_a", "-20 dB to 10 dB")?;
        within_bounds(SINR, "pinned_sinr", self.pinned_sinr.map_or(0.0, |s| s.0))?;
        self.mobility.validate().map_err(wrong)
    }

    /// Speed for fading.
    pub fn fading_speed(&self) -> Speed {
        self.speed.unwrap_or(Speed(self.mobility.speed()))
    }
}

/// Linear power gains of the link between a cell and a UE.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gains {
    /// On the downlink carrier.
    pub downlink: f32,
    /// On the uplink carrier.
    pub uplink: f32,
}

/// Path loss, shadowing, antennas and movement of all links.
#[derive(Debug)]
pub struct Propagation {
    ground: Ground,
    /// By UE.
    ues: Vec<Terminal>,
}

/// State that all links share: cells, path loss and shadowing over the ground.
#[derive(Debug)]
pub struct Ground {
    config: RadioConfig,
    /// By direction: the carrier, and the path loss on it.
    carriers: [(Hertz, PathLoss); 2],
    cells: IndexVec<CellId, Site>,
    shadowing: Shadowing,
    /// Fields that determine line of sight, by site, where it is a function of the place.
    sights: Vec<Field>,
    wrap: Option<WrapAround>,
    tti: Duration,
    seed: u64,
}

#[derive(Debug)]
struct Site {
    position: Position,
    antenna: Antenna,
    loss_db: f64,
    site: usize,
}

/// Movement of a UE, and its part in the gain of each of its links.
#[derive(Debug)]
pub struct Terminal {
    motion: Motion,
    /// The TTI of the last position, and this position: usually several links need it.
    last: Option<(Tti, Position)>,
    gain_db: f64,
    indoor: Option<Indoor>,
}

impl Propagation {
    /// For cells and UEs in the order of their ids, on a grid of `tti`, with the draws of the run
    /// `seed`.
    pub fn new<'a>(
        config: &RadioConfig,
        tti: Duration,
        cells: impl Iterator<Item = &'a CellRadioConfig>,
        ues: impl Iterator<Item = &'a UeRadioConfig>,
        seed: u64,
    ) -> Propagation {
        // Sites with a number come first, in its order; the others follow.
        let all: Vec<&CellRadioConfig> = cells.collect();
        let named = all.iter().filter_map(|c| c.site).max().map_or(0, |s| s as usize + 1);
        let unnamed = all.iter().any(|c| c.site.is_none());
        let site = |(i, c): (usize, &&CellRadioConfig)| Site {
            position: c.position.map(|m| m.0),
            antenna: c.antenna,
            loss_db: c.cable_loss.0,
            site: c.site.map_or(named + i, |s| s as usize),
        };
        let terminal = |(i, u): (usize, &UeRadioConfig)| Terminal {
            motion: Motion::new(u.mobility, u.position.map(|m| m.0), seed, i as u64),
            last: None,
            gain_db: u.gain.0 - u.penetration_loss.0,
            indoor: u.indoor,
        };
        let sites = named + all.len() * usize::from(unnamed);
        let sights = if config.line_of_sight_distance.is_some() { sites } else { 0 };
        let carriers = Direction::BOTH.map(|direction| match direction {
            Direction::Downlink => config.downlink,
            Direction::Uplink => config.uplink,
        });
        let ground = Ground {
            config: *config,
            carriers: carriers.map(|carrier| (carrier, config.path_loss.on(carrier))),
            cells: all.iter().enumerate().map(site).collect(),
            shadowing: Shadowing::new(
                seed,
                named + all.len() * usize::from(unnamed),
                config.shadowing_between_sites,
            ),
            sights: (0..sights as u64).map(|site| Field::new(seed, SIGHT | site)).collect(),
            wrap: None,
            tti,
            seed,
        };
        Propagation { ground, ues: ues.enumerate().map(terminal).collect() }
    }

    /// Wraps the ground around: a UE is linked to the nearest copy of each site. UEs may move
    /// without bound; their shadowing is a function of the place in the plane, and so is continuous
    /// at the edge of a copy.
    pub fn wrapped(mut self, wrap: Option<WrapAround>) -> Propagation {
        self.ground.wrap = wrap;
        self
    }

    /// Sets a recorded track as the movement of `ue`.
    pub fn follow(&mut self, ue: UeId, track: Arc<Track>) {
        let u = &mut self.ues[ue.index()];
        (u.motion, u.last) = (Motion::along(track, u.motion.position(0.0)), None);
    }

    /// Position of `ue` at the start of `tti` [m].
    pub fn position(&mut self, ue: UeId, tti: Tti) -> Position {
        self.ground.position(&mut self.ues[ue.index()], tti)
    }

    /// Gains between `cell` and `ue` in `tti`, and the first TTI in which they are computed again
    /// (`None`: never).
    pub fn gains(&mut self, cell: CellId, ue: UeId, tti: Tti) -> (Gains, Option<Tti>) {
        let Propagation { ground, ues } = self;
        let terminal = &mut ues[ue.index()];
        let mut gain = |direction| ground.gain(direction, cell, (ue, &mut *terminal), tti);
        let gains = Gains { downlink: gain(Direction::Downlink), uplink: gain(Direction::Uplink) };
        (gains, ground.holds(terminal, tti))
    }

    /// Gains of the downlink between every cell and `ue` if it were at `position`; terms that the
    /// cells share are computed once.
    pub fn gains_at(&self, ue: UeId, position: &Position) -> impl Iterator<Item = (CellId, f32)> {
        self.ground.gains_at((ue, &self.ues[ue.index()]), position)
    }

    /// The shared state, and the UEs in the order of their ids.
    pub fn into_parts(self) -> (Ground, Vec<Terminal>) {
        (self.ground, self.ues)
    }
}

impl Ground {
    /// Position of `terminal` at the start of `tti` [m].
    pub fn position(&self, terminal: &mut Terminal, tti: Tti) -> Position {
        match terminal.last {
            Some((of, position)) if of == tti => position,
            _ => {
                let position = terminal.motion.position(tti.start(self.tti).as_secs_f64());
                terminal.last = Some((tti, position));
                position
            }
        }
    }

    /// Gain on the carrier of `direction` between `cell` and a UE in `tti`.
    pub fn gain(
        &self,
        direction: Direction,
        cell: CellId,
        (ue, terminal): (UeId, &mut Terminal),
        tti: Tti,
    ) -> f32 {
        let position = self.position(terminal, tti);
        let mut seen = self.shadowing.seen_from([position[0], position[1]]);
        self.gain_from(direction, cell, (ue, terminal), &position, &mut seen)
    }

    /// Gains of the downlink between every cell and a UE if it were at `position`; terms that the
    /// cells share are computed once.
    pub fn gains_at(
        &self,
        (ue, terminal): (UeId, &Terminal),
        position: &Position,
    ) -> impl Iterator<Item = (CellId, f32)> {
        let mut seen = self.shadowing.seen_from([position[0], position[1]]);
        let position = *position;
        let mut gain =
            move |cell| self.gain_from(Direction::Downlink, cell, (ue, terminal), &position, &mut seen);
        self.cells.ids().map(move |cell| (cell, gain(cell)))
    }

    /// The first TTI in which the gains of a UE in `tti` are computed again; None: never.
    pub fn holds(&self, terminal: &Terminal, tti: Tti) -> Option<Tti> {
        terminal.motion.moves().then(|| tti.plus(self.config.refresh))
    }

    /// The TTI in which gains were computed that [`hold`](Self::holds) until `until`.
    pub const fn computed(&self, until: Tti) -> Tti {
        Tti(until.0 - self.config.refresh)
    }

    fn gain_from(
        &self,
        direction: Direction,
        cell: CellId,
        (ue, u): (UeId, &Terminal),
        position: &Position,
        seen: &mut Seen,
    ) -> f32 {
        let (carrier, model) = &self.carriers[direction.index()];
        let c = &self.cells[cell];
        let mut ground = [position[0] - c.position[0], position[1] - c.position[1]];
        if let Some(wrap) = &self.wrap {
            ground = wrap.nearest(ground);
        }
        let ([x, y], z) = (ground, position[2] - c.position[2]);
        // One draw a link: the UE is in sight where the probability is above the draw.
        let entity = (c.site as u64) << 32 | ue.index() as u64;
        let draw = Draw::new(self.seed, Purpose::LineOfSight, entity);
        let ends = Ends {
            indoors: u.indoor.map_or(0.0, |i| i.depth.0.max(1e-3)),
            draw: if model.is_drawn() { draw.uniform(1) } else { 0.0 },
            ..Ends::new((x * x + y * y).sqrt(), c.position[2], position[2])
        };
        let sight = || match (self.sights.get(c.site), self.config.line_of_sight_distance) {
            // The distribution function of the field's normal value is uniform.
            (Some(field), Some(d)) => 0.5 * erfc(-field.at(position[0], position[1], d.0) / SQRT_2),
            _ => draw.uniform(0),
        };
        let probability = model.line_of_sight_probability(&ends);
        let in_sight = probability >= 1.0 || sight() < probability;
        let gain_db = c.antenna.gain(x, y, z).0 - c.loss_db + u.gain_db;
        let most_db = self.config.minimum_coupling_loss.map_or(f64::INFINITY, |l| -l.0);
        let wall_db = u.indoor.map_or(0.0, |i| i.loss(*carrier).0);
        let shadow_db = self.shadow_db(c, *carrier, &ends, in_sight, seen);
        let loss_db = model.loss(*carrier, &ends, in_sight).0 + shadow_db + wall_db;
        debug_assert!(!loss_db.is_nan() && !gain_db.is_nan(), "{model:?}: {ends:?}");
        lasthop_radio::linear(Db((gain_db - loss_db).min(most_db))) as f32
    }

    /// The vector between two positions [m]; on ground that is repeated, to the nearest copy.
    pub fn way(&self, from: Position, to: Position) -> Position {
        let [x, y, z] = [0, 1, 2].map(|i| to[i] - from[i]);
        let [x, y] = self.wrap.as_ref().map_or([x, y], |wrap| wrap.nearest([x, y]));
        [x, y, z]
    }

    /// Gain between two UEs, each at its position, on the uplink's carrier in `tti`, and the first
    /// TTI in which it is computed again, the same both ways. A model with a base station has the
    /// higher UE in its place.
    pub fn between(&self, [a, b]: [(UeId, &Terminal, Position); 2], tti: Tti) -> (f32, Option<Tti>) {
        let ((a, one, from), (b, other, to)) = (a, b);
        let [x, y, _] = self.way(from, to);
        let (high, low) = (from[2].max(to[2]), from[2].min(to[2]));
        let model = self.config.sidelink_path_loss.unwrap_or(PathLoss::Friis);
        let (first, second) = (a.min(b).index() as u64, a.max(b).index() as u64);
        let entity = 1 << 62 | first << 32 | second;
        let draw = Draw::new(self.seed, Purpose::LineOfSight, entity);
        let ends = Ends { draw: draw.uniform(1), ..Ends::new((x * x + y * y).sqrt(), high, low) };
        let in_sight = draw.happens(0, model.line_of_sight_probability(&ends));
        let shadow_db = self.config.sidelink_shadowing.map_or(0.0, |deviation| {
            deviation.0 * Draw::new(self.seed, Purpose::Shadowing, entity).stream(0).normal()
        });
        let loss_db = model.loss(self.config.uplink, &ends, in_sight).0 + shadow_db;
        let gain = lasthop_radio::linear(Db(one.gain_db + other.gain_db - loss_db)) as f32;
        let moves = one.motion.moves() || other.motion.moves();
        (gain, moves.then(|| tti.plus(self.config.refresh)))
    }

    /// Loss by shadowing [dB].
    fn shadow_db(&self, c: &Site, carrier: Hertz, ends: &Ends, in_sight: bool, seen: &mut Seen) -> f64 {
        let model = self.config.path_loss.shadowing(carrier, ends, in_sight);
        let deviation_db = self.config.shadowing.map(|s| s.0).or(model.map(|(sd, _)| sd)).unwrap_or(0.0);
        if deviation_db == 0.0 {
            return 0.0;
        }
        let distance = self.config.shadowing_distance.map(|d| d.0).or(model.map(|(_, d)| d)).unwrap_or(50.0);
        deviation_db * seen.at(&self.shadowing, c.site, distance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::TTI;
    use lasthop_engine::math::{db, log10};

    fn one(radio: RadioConfig, cell: CellRadioConfig, ue: UeRadioConfig) -> Propagation {
        Propagation::new(&radio, TTI, [cell].iter(), [ue].iter(), 1)
    }

    const IDS: fn() -> (CellId, UeId) = || (CellId::from_index(0), UeId::from_index(0));

    /// Cell at 30 m, UE at 1.5 m, 100 m away on the ground: a distance of 104 m. Cable 2 dB, walls
    /// 20 dB, gains 0 and 3 dB.
    #[test]
    fn a_gain_is_the_sum_of_its_parts() {
        let cell = CellRadioConfig { cable_loss: Db(2.0), ..CellRadioConfig::default() };
        let ue = UeRadioConfig { gain: Db(3.0), penetration_loss: Db(20.0), ..UeRadioConfig::default() };
        let (gains, until) = one(RadioConfig::default(), cell, ue).gains(IDS().0, IDS().1, Tti(5));
        let d: f64 = (100.0f64 * 100.0 + 28.5 * 28.5).sqrt();
        let free = |mhz: f64| 20.0 * log10(4.0 * std::f64::consts::PI * d * mhz * 1e6 / 299_792_458.0);
        assert!((db(f64::from(gains.downlink)) - (-free(2120.0) - 2.0 + 3.0 - 20.0)).abs() < 1e-4);
        assert!((db(f64::from(gains.uplink)) - (-free(1930.0) - 2.0 + 3.0 - 20.0)).abs() < 1e-4);
        assert_eq!(until, None);
    }

    /// ns-3's points of urban areas at 2 km, 30 m and 1 m, behind a wall of concrete with windows
    /// (7 dB). Okumura-Hata at 869 MHz: 137.93 + 7 dB. COST 231 for a large city at 2114 MHz:
    /// 153.64 + 7 = 160.64 dB, where ns-3 has 155.55 because it leaves 5.09 dB out of the formula
    /// (-4.97 of a(h_m), and 0.12 between the two readings of it).
    #[test]
    fn a_wall_adds_to_the_loss_of_the_town() {
        let town = |path_loss, mhz: f64| {
            let carrier = Hertz(mhz * 1e6);
            let radio =
                RadioConfig { path_loss, downlink: carrier, uplink: carrier, ..RadioConfig::default() };
            let ue = UeRadioConfig {
                position: [Metres(2000.0), Metres(0.0), Metres(1.0)],
                penetration_loss: Db(7.0),
                ..UeRadioConfig::default()
            };
            -db(f64::from(
                one(radio, CellRadioConfig::default(), ue).gains(IDS().0, IDS().1, Tti(0)).0.downlink,
            ))
        };
        let city = lasthop_radio::City::Large;
        let hata = PathLoss::OkumuraHata { environment: lasthop_radio::Environment::Urban, city };
        for (found, expected, tolerance) in
            [(town(hata, 869.0), 144.93, 0.1), (town(PathLoss::Cost231Hata { city }, 2114.0), 160.64, 0.01)]
        {
            assert!((found - expected).abs() < tolerance, "{found} and {expected}");
        }
    }

    /// 10 m/s away from 100 m: at 5 s the UE is 150 m away, with 3.52 dB less than at the start in
    /// free space on the ground.
    #[test]
    fn gains_of_a_moving_ue_are_computed_again() {
        let ground = [Metres(0.0); 3];
        let cell = CellRadioConfig { position: ground, ..CellRadioConfig::default() };
        let ue = UeRadioConfig {
            position: [Metres(100.0), Metres(0.0), Metres(0.0)],
            mobility: Mobility::Linear { speed: Speed(10.0), heading: 0.0 },
            ..UeRadioConfig::default()
        };
        let mut all = one(RadioConfig::default(), cell, ue);
        let mut at = |tti| all.gains(IDS().0, IDS().1, Tti(tti));
        assert_eq!(at(0).1, Some(Tti(10)));
        let change = db(f64::from(at(5000).0.downlink)) - db(f64::from(at(0).0.downlink));
        assert!((change + 20.0 * log10(1.5)).abs() < 1e-4, "{change}");
        assert_eq!(ue.fading_speed(), Speed(10.0));
    }

    /// Seven sites 500 m apart: a side of the tile is 2 (500, 0) + (250, 433.01) = (1250, 433.01),
    /// 1322.88 m long. A UE at 0.9 of this side is 132.288 m from the copy of a UE at the origin.
    #[test]
    fn two_ues_are_as_far_apart_as_their_nearest_copies() {
        let (x, y) = (1250.0, 500.0 * 0.75f64.sqrt());
        let ue = |share: f64| UeRadioConfig {
            position: [Metres(share * x), Metres(share * y), Metres(1.5)],
            ..UeRadioConfig::default()
        };
        let gain = |share: f64, wrap| {
            let (radio, cell) = (RadioConfig::default(), CellRadioConfig::default());
            let all = Propagation::new(&radio, TTI, [cell].iter(), [ue(0.0), ue(share)].iter(), 1);
            let (ground, mut ues) = all.wrapped(wrap).into_parts();
            let places = [0, 1].map(|i| ground.position(&mut ues[i], Tti(0)));
            let ends = [0, 1].map(|i| (UeId::from_index(i), &ues[i], places[i]));
            let [dx, dy, _] = ground.way(places[0], places[1]);
            (ground.between(ends, Tti(0)).0, (dx * dx + dy * dy).sqrt())
        };
        let (wrapped, distance) = gain(0.9, Some(WrapAround::hexagonal(1, 500.0)));
        assert!((distance - 132.288).abs() < 1e-3, "{distance}");
        assert!((wrapped / gain(0.1, None).0 - 1.0).abs() < 1e-5);
        assert!(gain(0.9, None).0 < 0.02 * wrapped, "1/81 of it in free space");
    }

    /// Sectors of one site share line of sight and shadowing; the standard deviation over UEs is
    /// the configured one.
    #[test]
    fn sectors_of_a_site_share_their_shadowing() {
        let radio = RadioConfig { shadowing: Some(Db(8.0)), ..RadioConfig::default() };
        let sector = CellRadioConfig { site: Some(0), ..CellRadioConfig::default() };
        let ues: Vec<UeRadioConfig> = (0..2000)
            .map(|i| UeRadioConfig {
                // One ring: the path loss is the same everywhere.
                position: [
                    Metres(20_000.0 * lasthop_engine::math::cos(f64::from(i))),
                    Metres(20_000.0 * lasthop_engine::math::sin(f64::from(i))),
                    Metres(1.5),
                ],
                ..UeRadioConfig::default()
            })
            .collect();
        let cells = [sector, sector, CellRadioConfig::default()];
        let mut all = Propagation::new(&radio, TTI, cells.iter(), ues.iter(), 3);
        let mut gain = |cell: usize, ue: usize| {
            db(f64::from(all.gains(CellId::from_index(cell), UeId::from_index(ue), Tti(0)).0.downlink))
        };
        let n = ues.len();
        assert!((0..n).all(|u| gain(0, u) == gain(1, u)));
        let mut of = |cell: usize| (0..n).map(|u| gain(cell, u)).collect::<Vec<f64>>();
        let (a, b) = (of(0), of(2));
        let mean = |x: &[f64]| x.iter().sum::<f64>() / n as f64;
        let (ma, mb) = (mean(&a), mean(&b));
        let covariance = a.iter().zip(&b).map(|(a, b)| (a - ma) * (b - mb)).sum::<f64>() / n as f64;
        let variance = a.iter().map(|a| (a - ma) * (a - ma)).sum::<f64>() / n as f64;
        // 2000 places 63 m apart on average, 50 m of correlation: some 1000 independent ones; 8 dB
        // +-0.2 and 0.5 +-0.03.
        assert!((variance.sqrt() - 8.0).abs() < 0.8, "{}", variance.sqrt());
        assert!((covariance / variance - 0.5).abs() < 0.15, "{}", covariance / variance);
    }
}
